// Head dims and element types of the tiles, and packed query heads.
// RUN: attn-opt %s -convert-attn-to-tile -canonicalize -cse | FileCheck %s

// Tiles are padded to a multiple of 16 columns; the padding reads as zero and is not written.
// CHECK-LABEL: tile.kernel @padded_dims
// CHECK-SAME: memref<?x?x?x40xf16, strided<[?, ?, ?, 1]>> {tile.name = "q"}
// CHECK-SAME: memref<?x?x?x24xf16, strided<[?, ?, ?, 1]>> {tile.name = "o"}
// CHECK: tile.load %{{.+}} : memref<?x?x?x40xf16, strided<[?, ?, ?, 1]>> -> tensor<64x48xf16>
// CHECK: tile.kv_loop
// CHECK: tile.load %{{.+}} : memref<?x?x?x40xf16, strided<[?, ?, ?, 1]>> -> tensor<32x48xf16>
// CHECK: tile.load %{{.+}} : memref<?x?x?x24xf16, strided<[?, ?, ?, 1]>> -> tensor<32x32xf16>
// CHECK: tile.mma %{{.+}} transpose_b : tensor<64x48xf16>, tensor<32x48xf16> -> tensor<64x32xf32>
// 1/sqrt(40) · log2(e): of the real dim, not of the padded one.
// CHECK: tile.softmax_step %{{.+}} scale 0.22811012
// CHECK: arith.truncf %{{.+}} : tensor<64x32xf32> to tensor<64x32xf16>
// CHECK: tile.mma %{{.+}} : tensor<64x32xf16>, tensor<32x32xf16> -> tensor<64x32xf32>
// CHECK: tile.store %{{.+}} : tensor<64x32xf16> -> memref<?x?x?x24xf16, strided<[?, ?, ?, 1]>>
func.func @padded_dims(%q: tensor<?x4x?x40xf16> {attn.name = "q"}, %k: tensor<?x4x?x40xf16> {attn.name = "k"},
                       %v: tensor<?x4x?x24xf16> {attn.name = "v"})
    -> (tensor<?x4x?x24xf16> {attn.name = "o"}) {
  %o = attn.prefill %q, %k, %v
      {config = #attn.config<blockM = 64, blockN = 32, warps = 4, stages = 2>}
      : tensor<?x4x?x40xf16>, tensor<?x4x?x40xf16>, tensor<?x4x?x24xf16> -> tensor<?x4x?x24xf16>
  bounds {
  ^bb0(%b: i32, %h: i32, %first: i32, %last: i32, %lq: i32, %lk: i32):
    %c0 = arith.constant 0 : i32
    attn.yield %c0, %c0, %lk, %lk : i32, i32, i32, i32
  }
  return %o : tensor<?x4x?x24xf16>
}

// f32 tensors need no rounding.
// CHECK-LABEL: tile.kernel @f32
// CHECK-NOT: arith.truncf
// CHECK: tile.mma %{{.+}} : tensor<64x32xf32>, tensor<32x64xf32> -> tensor<64x64xf32>
// CHECK-NOT: arith.truncf
// CHECK: tile.store %{{.+}} : tensor<64x64xf32>
func.func @f32(%q: tensor<?x4x?x64xf32> {attn.name = "q"}, %k: tensor<?x4x?x64xf32> {attn.name = "k"},
               %v: tensor<?x4x?x64xf32> {attn.name = "v"})
    -> (tensor<?x4x?x64xf32> {attn.name = "o"}) {
  %o = attn.prefill %q, %k, %v
      {config = #attn.config<blockM = 64, blockN = 32, warps = 4, stages = 2>}
      : tensor<?x4x?x64xf32>, tensor<?x4x?x64xf32>, tensor<?x4x?x64xf32> -> tensor<?x4x?x64xf32>
  bounds {
  ^bb0(%b: i32, %h: i32, %first: i32, %last: i32, %lq: i32, %lk: i32):
    %c0 = arith.constant 0 : i32
    attn.yield %c0, %c0, %lk, %lk : i32, i32, i32, i32
  }
  return %o : tensor<?x4x?x64xf32>
}

// The 4 query heads of a KV head and the query tokens are the rows of one tile: row r is query r / 4,
// head 4·hk + r % 4. Bounds that depend on the head are united over the group.
// CHECK-LABEL: tile.kernel @packed
// CHECK-SAME: %[[Q:[a-z0-9]+]]: memref<{{[^%]+}}> {tile.name = "q"}
// CHECK-SAME: %[[O:[a-z0-9]+]]: memref<{{[^%]+}}> {tile.name = "o"}
// CHECK-SAME: %[[LSE:[a-z0-9]+]]: memref<{{[^%]+}}> {tile.name = "lse"}
// CHECK-SAME: %[[WINS:[a-z0-9]+]]: memref<?xi32, strided<[?]>> {tile.name = "arg.windows"}
// CHECK-SAME: %[[LENQ:[a-z0-9]+]]: i32 {tile.name = "max_len_q"}
// CHECK-SAME: grid = ["mul", ["mul", "batch", 2], ["ceildiv", ["mul", "max_len_q", 4], 16]]
// CHECK-SAME: q_in_shared
// CHECK-DAG: %[[G:.+]] = arith.constant dense<4> : tensor<16xi32>
// CHECK-DAG: %[[C4:.+]] = arith.constant 4 : i32
// CHECK: %[[NROWS:.+]] = arith.muli %[[LENQ]], %[[C4]]
// CHECK: %[[M0:.+]] = arith.muli
// CHECK: arith.cmpi slt, %[[M0]], %[[NROWS]]
// CHECK: %[[ROW:.+]] = arith.addi %{{.+}}, %{{.+}} : tensor<16xi32>
// CHECK: %[[EXISTS:.+]] = arith.cmpi slt, %[[ROW]], %{{.+}} : tensor<16xi32>
// CHECK: %[[QI:.+]] = arith.divui %[[ROW]], %[[G]]
// CHECK: %[[REM:.+]] = arith.remui %[[ROW]], %[[G]]
// CHECK: %[[H:.+]] = arith.addi %{{.+}}, %[[REM]]
// CHECK-COUNT-4: memref.load %[[WINS]]
// CHECK: tile.gather %[[Q]][%[[B:.+]], %[[H]], %[[QI]] : i32, tensor<16xi32>, tensor<16xi32>] where %[[EXISTS]]
// CHECK: tile.kv_loop
// CHECK: tile.scatter %{{.+}}, %[[O]][%[[B]], %[[H]], %[[QI]] : i32, tensor<16xi32>, tensor<16xi32>] where %[[EXISTS]] : tensor<16xi1> : tensor<16x64xbf16>
// CHECK: tile.scatter %{{.+}}, %[[LSE]][%[[B]], %[[H]], %[[QI]] : i32, tensor<16xi32>, tensor<16xi32>] where %[[EXISTS]] : tensor<16xi1> : tensor<16xf32>
func.func @packed(%q: tensor<?x8x?x64xbf16> {attn.name = "q"}, %k: tensor<?x2x?x64xbf16> {attn.name = "k"},
                  %v: tensor<?x2x?x64xbf16> {attn.name = "v"}, %windows: tensor<8xi32> {attn.name = "arg.windows"})
    -> (tensor<?x8x?x64xbf16> {attn.name = "o"}, tensor<?x8x?xf32> {attn.name = "lse"}) {
  %o, %lse = attn.decode %q, %k, %v
      {max_q = 4 : i64, config = #attn.config<blockM = 16, blockN = 64, warps = 1, stages = 2,
                                              packGqa = true, qInRegisters = false>}
      : tensor<?x8x?x64xbf16>, tensor<?x2x?x64xbf16>, tensor<?x2x?x64xbf16>
     -> tensor<?x8x?x64xbf16>, tensor<?x8x?xf32>
  bounds {
  ^bb0(%b: i32, %h: i32, %first: i32, %last: i32, %lq: i32, %lk: i32):
    %c0 = arith.constant 0 : i32
    %w = attn.lookup %windows[%h] : tensor<8xi32> -> i32
    %start = arith.subi %lk, %w : i32
    %lower = arith.maxsi %start, %c0 : i32
    attn.yield %lower, %lower, %lk, %lk : i32, i32, i32, i32
  }
  return %o, %lse : tensor<?x8x?x64xbf16>, tensor<?x8x?xf32>
}
