// One test an id of the tile ops' constraints; the function's name is the op and the id.
// RUN: attn-opt %s -split-input-file -verify-diagnostics

// expected-error @+1 {{C1: argument 0 has type 'i64'; allowed are memref,}}
tile.kernel @kernel_C1_type(%n: i64 {tile.name = "n"}) attributes {warps = 1 : i32, role = "main", grid = 1} {
  tile.return
}

// -----

// expected-error @+1 {{C1: argument 0 has no 'tile.name'; the runtime binds arguments by name, so give it one}}
tile.kernel @kernel_C1_name(%n: i32) attributes {warps = 1 : i32, role = "main", grid = 1} {
  tile.return
}

// -----

// expected-error @+1 {{C1: two arguments are named 'n'; names must be unique}}
tile.kernel @kernel_C1_unique(%n: i32 {tile.name = "n"}, %m: i32 {tile.name = "n"})
    attributes {warps = 1 : i32, role = "main", grid = 1} {
  tile.return
}

// -----

// expected-error @+1 {{C1: a kernel has no results, got 1; write outputs through memref arguments}}
tile.kernel @kernel_C1_results() -> i32 attributes {warps = 1 : i32, role = "main", grid = 1} {
  tile.return
}

// -----

// expected-error @+1 {{C2: a CTA has 1 to 32 warps, got 33}}
tile.kernel @kernel_C2() attributes {warps = 33 : i32, role = "main", grid = 1} {
  tile.return
}

// -----

// expected-error @+1 {{C3: the role is "main" or "combine", got "merge"}}
tile.kernel @kernel_C3() attributes {warps = 1 : i32, role = "merge", grid = 1} {
  tile.return
}

// -----

// expected-error @+1 {{C4: the grid is ["div", "batch", 2]; allowed are an integer, a symbol name, or [op, a, b]}}
tile.kernel @kernel_C4() attributes {warps = 1 : i32, role = "main", grid = ["div", "batch", 2]} {
  tile.return
}

// -----

func.func @kv_loop_C1_yield(%n: i32, %x: tensor<64xf32>, %y: tensor<32xf32>) {
  // expected-error @+1 {{C1: the yielded values have types ('tensor<32xf32>') and the inits ('tensor<64xf32>'); the carried values must agree throughout}}
  %r = tile.kv_loop %n to %n full(%n to %n) step 32 init(%x : tensor<64xf32>) -> tensor<64xf32> {
  ^bb0(%n0: i32, %a: tensor<64xf32>):
    tile.yield %y : tensor<32xf32>
  }
  return
}

// -----

func.func @kv_loop_C1_arguments(%n: i32, %x: tensor<64xf32>) {
  // expected-error @+1 {{C1: the body's carried arguments have types () and the inits ('tensor<64xf32>')}}
  %r = tile.kv_loop %n to %n full(%n to %n) step 32 init(%x : tensor<64xf32>) -> tensor<64xf32> {
  ^bb0(%n0: i32):
    tile.yield %x : tensor<64xf32>
  }
  return
}

// -----

func.func @kv_loop_C1_results(%n: i32, %x: tensor<64xf32>) {
  // expected-error @+1 {{C1: the results have types ('tensor<32xf32>') and the inits ('tensor<64xf32>')}}
  %r = tile.kv_loop %n to %n full(%n to %n) step 32 init(%x : tensor<64xf32>) -> tensor<32xf32> {
  ^bb0(%n0: i32, %a: tensor<64xf32>):
    tile.yield %x : tensor<64xf32>
  }
  return
}

// -----

func.func @kv_loop_C1_start(%n: i32) {
  // expected-error @+1 {{C1: the body's first argument is the block start, an i32}}
  tile.kv_loop %n to %n full(%n to %n) step 32 {
    tile.yield
  }
  return
}

// -----

func.func @kv_loop_C2(%n: i32) {
  // expected-error @+1 {{C2: the step is 0 keys; it must be positive}}
  tile.kv_loop %n to %n full(%n to %n) step 0 {
  ^bb0(%n0: i32):
    tile.yield
  }
  return
}

// -----

func.func @mask_C1_shape(%s: tensor<64x32xf32>, %p: tensor<64xi1>) {
  // expected-error @+1 {{C1: the body must yield one 'tensor<64x32xi1>', got ('tensor<64xi1>')}}
  %0 = tile.mask %s : tensor<64x32xf32> {
    tile.yield %p : tensor<64xi1>
  }
  return
}

// -----

func.func @mask_C1_arguments(%s: tensor<64x32xf32>, %p: tensor<64x32xi1>) {
  // expected-error @+1 {{C1: the body has 1 arguments; it takes none and captures what it needs}}
  %0 = tile.mask %s : tensor<64x32xf32> {
  ^bb0(%x: i32):
    tile.yield %p : tensor<64x32xi1>
  }
  return
}

// -----

func.func @softmax_step_C1_scores(%s: tensor<64x32xbf16>, %m: tensor<64xf32>) {
  // expected-error @+1 {{C1: scores are a rank-2 f32 tile, got 'tensor<64x32xbf16>'}}
  %w, %a, %b, %c = tile.softmax_step %s, %m, %m scale 1.0 : tensor<64x32xbf16>, tensor<64xf32>
  return
}

// -----

func.func @softmax_step_C1_state(%s: tensor<64x32xf32>, %m: tensor<32xf32>) {
  // expected-error @+1 {{C1: max and sum are f32 tiles of one element a row (64), got 'tensor<32xf32>'}}
  %w, %a, %b, %c = tile.softmax_step %s, %m, %m scale 1.0 : tensor<64x32xf32>, tensor<32xf32>
  return
}

// -----

func.func @softmax_step_C2(%s: tensor<64x32xf32>, %m: tensor<64xf32>) {
  // expected-error @+1 {{C2: the exponent scale is finite and positive, got -1.000000e+00}}
  %w, %a, %b, %c = tile.softmax_step %s, %m, %m scale -1.0 : tensor<64x32xf32>, tensor<64xf32>
  return
}

// -----

func.func @load_C1_indices(%q: memref<?x?x64xf16, strided<[?, ?, 1]>>, %i: i32) {
  // expected-error @+1 {{C1: the memory has 3 dimensions and there are 3 indices; rows take one index fewer than dimensions}}
  %0 = tile.load %q[%i, %i, %i] limit %i : memref<?x?x64xf16, strided<[?, ?, 1]>> -> tensor<64x64xf16>
  return
}

// -----

func.func @load_C1_element(%q: memref<?x64xf16, strided<[?, 1]>>, %i: i32) {
  // expected-error @+1 {{C1: the memory holds 'f16' and the tile 'f32'; convert the tile with arith.extf or arith.truncf}}
  %0 = tile.load %q[%i] limit %i : memref<?x64xf16, strided<[?, 1]>> -> tensor<64x64xf32>
  return
}

// -----

func.func @load_C1_stride(%q: memref<?x64xf16, strided<[?, ?]>>, %i: i32) {
  // expected-error @+1 {{C1: rows need a static last dimension of stride 1}}
  %0 = tile.load %q[%i] limit %i : memref<?x64xf16, strided<[?, ?]>> -> tensor<64x64xf16>
  return
}

// -----

func.func @load_C1_rank(%q: memref<?x64xf16, strided<[?, 1]>>, %i: i32) {
  // expected-error @+1 {{C1: rows make a block of rank 2, got shape [64]}}
  %0 = tile.load %q[%i] limit %i : memref<?x64xf16, strided<[?, 1]>> -> tensor<64xf16>
  return
}

// -----

func.func @store_C1_columns(%q: memref<?x64xf16, strided<[?, 1]>>, %i: i32, %t: tensor<16x48xf16>) {
  // expected-error @+1 {{C1: the block has 48 columns and the memory 64; it must hold a whole row}}
  tile.store %t, %q[%i] limit %i : tensor<16x48xf16> -> memref<?x64xf16, strided<[?, 1]>>
  return
}

// -----

func.func @gather_C1(%q: memref<?x?x64xf16, strided<[?, ?, 1]>>, %i: i32) {
  // expected-error @+1 {{C1: the memory has 3 dimensions and there are 1 indices; give one a dimension, for elements, or one fewer, for rows}}
  %0 = tile.gather %q[%i : i32] : memref<?x?x64xf16, strided<[?, ?, 1]>> -> tensor<64x64xf16>
  return
}

// -----

func.func @gather_C2_index(%q: memref<?x64xf16, strided<[?, 1]>>, %i: tensor<32xi32>) {
  // expected-error @+1 {{C2: an index has shape [32]; rows need [64]}}
  %0 = tile.gather %q[%i : tensor<32xi32>] : memref<?x64xf16, strided<[?, 1]>> -> tensor<64x64xf16>
  return
}

// -----

func.func @scatter_C2_predicate(%q: memref<?x?xf32, strided<[?, ?]>>, %i: i32, %p: tensor<64xi1>,
                                %t: tensor<64x32xf32>) {
  // expected-error @+1 {{C2: the predicate has shape [64]; elements need [64, 32]}}
  tile.scatter %t, %q[%i, %i : i32, i32] where %p : tensor<64xi1>
      : tensor<64x32xf32> -> memref<?x?xf32, strided<[?, ?]>>
  return
}

// -----

func.func @scatter_C1(%q: memref<?xf32, strided<[?]>>, %i: i32, %t: tensor<64xf16>) {
  // expected-error @+1 {{C1: the memory holds 'f32' and the tile 'f16'}}
  tile.scatter %t, %q[%i : i32] : tensor<64xf16> -> memref<?xf32, strided<[?]>>
  return
}

// -----

func.func @splat_C1_type(%x: f32) {
  // expected-error @+1 {{C1: the scalar is 'f32' and the tile holds 'f16'; convert the scalar first}}
  %0 = tile.splat %x : f32 -> tensor<64xf16>
  return
}

// -----

func.func @splat_C1_rank(%x: f32) {
  // expected-error @+1 {{C1: a tile has static rank 1 or 2, got 'tensor<?xf32>'}}
  %0 = tile.splat %x : f32 -> tensor<?xf32>
  return
}

// -----

func.func @iota_C1() {
  // expected-error @+1 {{C1: the result has static rank 1, got 'tensor<4x4xi32>'; use tile.broadcast to repeat it}}
  %0 = tile.iota : tensor<4x4xi32>
  return
}

// -----

func.func @broadcast_C1_dim(%x: tensor<64xf32>) {
  // expected-error @+1 {{C1: dim is 0 or 1, got 2}}
  %0 = tile.broadcast %x dim 2 : tensor<64xf32> -> tensor<64x32xf32>
  return
}

// -----

func.func @broadcast_C1_extent(%x: tensor<64xf32>) {
  // expected-error @+1 {{C1: 'tensor<64xf32>' is not 'tensor<64x32xf32>' without dimension 0}}
  %0 = tile.broadcast %x dim 0 : tensor<64xf32> -> tensor<64x32xf32>
  return
}

// -----

func.func @mma_C1_shape(%a: tensor<64x48xbf16>, %b: tensor<48x32xbf16>, %c: tensor<64x32xf32>) {
  // expected-error @+1 {{C1: a is [64, 48], b [48, 32] transposed and acc [64, 32]; they must be [M, K], [N, K] and [M, N]}}
  %0 = tile.mma %a, %b, %c transpose_b : tensor<64x48xbf16>, tensor<48x32xbf16> -> tensor<64x32xf32>
  return
}

// -----

func.func @mma_C1_types(%a: tensor<64x48xbf16>, %b: tensor<48x32xf16>, %c: tensor<64x32xf32>) {
  // expected-error @+1 {{C1: a holds 'bf16' and b 'f16'; both must hold one type}}
  %0 = tile.mma %a, %b, %c : tensor<64x48xbf16>, tensor<48x32xf16> -> tensor<64x32xf32>
  return
}

// -----

func.func @mma_C1_stage(%a: tensor<64x48xbf16>, %b: !tile.shared<2x48x32xbf16, pitch = 40>, %c: tensor<64x32xf32>) {
  // expected-error @+1 {{C1: a product has operands of rank 2, got [64, 48], [2, 48, 32] and [64, 32]; take a stage of a staged buffer with tile.stage}}
  %0 = tile.mma %a, %b, %c : tensor<64x48xbf16>, !tile.shared<2x48x32xbf16, pitch = 40> -> tensor<64x32xf32>
  return
}

// -----

func.func @mma_async_C1(%a: tensor<64x48xbf16>, %b: tensor<48x32xbf16>, %c: tensor<64x32xbf16>) {
  // expected-error @+1 {{C1: products accumulate in f32, got 'bf16'}}
  %0 = tile.mma_async %a, %b, %c : tensor<64x48xbf16>, tensor<48x32xbf16> -> tensor<64x32xbf16>
  return
}

// -----

func.func @mma_wait_C1(%a: tensor<64x48xf32>) {
  // expected-error @+1 {{C1: operands have types ('tensor<64x48xf32>') and results ('tensor<64x32xf32>')}}
  %0 = tile.mma_wait 0 %a : tensor<64x48xf32> -> tensor<64x32xf32>
  return
}

// -----

func.func @reduce_C1(%x: tensor<64x32xf32>) {
  // expected-error @+1 {{C1: 'tensor<32xf32>' is not 'tensor<64x32xf32>' without dimension 1}}
  %0 = tile.reduce <max> %x dim 1 : tensor<64x32xf32> -> tensor<32xf32>
  return
}

// -----

func.func @convert_layout_C1(%x: tensor<64x32xf32>) {
  // expected-error @+1 {{C1: 'tensor<64x32xf32>' becomes 'tensor<32x64xf32>'; only the layout may change}}
  %0 = tile.convert_layout %x : tensor<64x32xf32> -> tensor<32x64xf32>
  return
}

// -----

func.func @stage_C1_rank(%b: !tile.shared<64x32xbf16, pitch = 40>, %i: i32) {
  // expected-error @+1 {{C1: the buffer has 2 dimensions; stages need 3, the first counting them}}
  %0 = tile.stage %b[%i] : !tile.shared<64x32xbf16, pitch = 40> -> !tile.shared<64x32xbf16, pitch = 40>
  return
}

// -----

func.func @stage_C1_pitch(%b: !tile.shared<2x64x32xbf16, pitch = 40>, %i: i32) {
  // expected-error @+1 {{is that type without its first extent}}
  %0 = tile.stage %b[%i] : !tile.shared<2x64x32xbf16, pitch = 40> -> !tile.shared<64x32xbf16, pitch = 32>
  return
}

// -----

func.func @copy_async_C1_stage(%q: memref<?x32xbf16, strided<[?, 1]>>, %b: !tile.shared<2x64x32xbf16, pitch = 40>, %i: i32) {
  // expected-error @+1 {{copies go to one stage, so take it with tile.stage}}
  tile.copy_async %q[%i] limit %i into %b : memref<?x32xbf16, strided<[?, 1]>> -> !tile.shared<2x64x32xbf16, pitch = 40>
  return
}

// -----

func.func @copy_async_C1_columns(%q: memref<?x64xbf16, strided<[?, 1]>>, %b: !tile.shared<64x32xbf16, pitch = 40>, %i: i32) {
  // expected-error @+1 {{C1: the block has 32 columns and the memory 64; it must hold a whole row}}
  tile.copy_async %q[%i] limit %i into %b : memref<?x64xbf16, strided<[?, 1]>> -> !tile.shared<64x32xbf16, pitch = 40>
  return
}

// -----

func.func @gather_async_C1(%q: memref<?x32xbf16, strided<[?, 1]>>, %b: !tile.shared<64x32xbf16, pitch = 40>, %i: i32) {
  // expected-error @+1 {{C1: the memory has 2 dimensions and there are 2 indices; give one fewer, for rows}}
  tile.gather_async %q[%i, %i : i32, i32] into %b : memref<?x32xbf16, strided<[?, 1]>> -> !tile.shared<64x32xbf16, pitch = 40>
  return
}

// -----

func.func @gather_async_C2(%q: memref<?x32xbf16, strided<[?, 1]>>, %b: !tile.shared<64x32xbf16, pitch = 40>, %i: tensor<32xi32>) {
  // expected-error @+1 {{C2: an index has shape [32]; rows need [64]}}
  tile.gather_async %q[%i : tensor<32xi32>] into %b : memref<?x32xbf16, strided<[?, 1]>> -> !tile.shared<64x32xbf16, pitch = 40>
  return
}

// -----

func.func @shared_read_C1(%b: !tile.shared<64x32xbf16, pitch = 40>) {
  // expected-error @+1 {{shape and element type must agree}}
  %0 = tile.shared_read %b : !tile.shared<64x32xbf16, pitch = 40> -> tensor<64x32xf16>
  return
}

// -----

func.func @shared_write_C1(%b: !tile.shared<64x32xbf16, pitch = 40>, %t: tensor<32x32xbf16>) {
  // expected-error @+1 {{shape and element type must agree}}
  tile.shared_write %t, %b : tensor<32x32xbf16> -> !tile.shared<64x32xbf16, pitch = 40>
  return
}

// -----

func.func @warp_roles_C1_count() {
  // expected-error @+1 {{C1: there are 1 regions, 2 warps entries and 1 registers entries; each role needs one of each}}
  tile.warp_roles warps [4, 8] registers [40] {
    tile.barrier
  }
  return
}

// -----

func.func @warp_roles_C1_positive() {
  // expected-error @+1 {{C1: a role has at least 1 warp, got 0}}
  tile.warp_roles warps [0] registers [40] {
    tile.barrier
  }
  return
}
