// Every op of the tile dialect prints, parses and survives bytecode.
// RUN: attn-opt %s | attn-opt | FileCheck %s
// RUN: attn-opt %s -emit-bytecode | attn-opt | FileCheck %s
// RUN: attn-opt %s -mlir-print-op-generic | attn-opt | FileCheck %s

!rows = memref<?x?x?x40xbf16, strided<[?, ?, ?, 1]>>
!vector = memref<?xf32, strided<[?]>>

// CHECK-LABEL: tile.kernel @structure
// CHECK-SAME: %[[N:[a-z0-9]+]]: i32 {tile.name = "max_len_q"}
// CHECK-SAME: grid = ["mul", "batch", ["ceildiv", "max_len_q", 64]], role = "main", warps = 4 : i32
tile.kernel @structure(%n: i32 {tile.name = "max_len_q"}, %x: f32 {tile.name = "arg.x"})
    attributes {warps = 4 : i32, role = "main", grid = ["mul", "batch", ["ceildiv", "max_len_q", 64]]} {
  // CHECK: tile.program_id : i32
  %pid = tile.program_id : i32
  %c0 = arith.constant 0 : i32
  // CHECK: %[[S:.+]] = tile.splat %{{.+}} : f32 -> tensor<64x32xf32>
  %s = tile.splat %x : f32 -> tensor<64x32xf32>
  // CHECK: %[[M:.+]] = tile.splat %{{.+}} : f32 -> tensor<64xf32>
  %m = tile.splat %x : f32 -> tensor<64xf32>
  // CHECK: tile.iota : tensor<32xi32>
  %keys = tile.iota : tensor<32xi32>
  // CHECK: tile.kv_loop %{{.+}} to %[[N]] full(%{{.+}} to %[[N]]) step 32 init(%[[S]], %[[M]] : tensor<64x32xf32>, tensor<64xf32>) -> tensor<64x32xf32>, tensor<64xf32> {
  // CHECK-NEXT: ^bb0(%[[N0:.+]]: i32, %[[ACC:.+]]: tensor<64x32xf32>, %[[MAX:.+]]: tensor<64xf32>):
  %r:2 = tile.kv_loop %c0 to %n full(%c0 to %n) step 32 init(%s, %m : tensor<64x32xf32>, tensor<64xf32>)
      -> tensor<64x32xf32>, tensor<64xf32> {
  ^bb0(%n0: i32, %acc: tensor<64x32xf32>, %max: tensor<64xf32>):
    // CHECK: %[[MASKED:.+]] = tile.mask %[[ACC]] : tensor<64x32xf32> {
    %masked = tile.mask %acc : tensor<64x32xf32> {
      // CHECK: tile.broadcast %{{.+}} dim 0 : tensor<32xi32> -> tensor<64x32xi32>
      %kv = tile.broadcast %keys dim 0 : tensor<32xi32> -> tensor<64x32xi32>
      %zero = arith.constant dense<0> : tensor<64x32xi32>
      %p = arith.cmpi sge, %kv, %zero : tensor<64x32xi32>
      // CHECK: tile.yield %{{.+}} : tensor<64x32xi1>
      tile.yield %p : tensor<64x32xi1>
    }
    // CHECK: tile.softmax_step %[[MASKED]], %[[MAX]], %[[MAX]] scale 1.442690e+00 : tensor<64x32xf32>, tensor<64xf32>
    %w, %m1, %l1, %c = tile.softmax_step %masked, %max, %max scale 1.44269
        : tensor<64x32xf32>, tensor<64xf32>
    // CHECK: tile.yield %{{.+}}, %{{.+}} : tensor<64x32xf32>, tensor<64xf32>
    tile.yield %w, %m1 : tensor<64x32xf32>, tensor<64xf32>
  }
  // CHECK: tile.return
  tile.return
}

// CHECK-LABEL: tile.kernel @global_memory
tile.kernel @global_memory(%q: !rows {tile.name = "q"}, %lse: !vector {tile.name = "lse"},
                           %n: i32 {tile.name = "max_len_q"})
    attributes {warps = 4 : i32, role = "combine", grid = "batch"} {
  %rows = tile.iota : tensor<64xi32>
  %limit = tile.splat %n : i32 -> tensor<64xi32>
  %in = arith.cmpi slt, %rows, %limit : tensor<64xi32>
  // CHECK: tile.load %{{.+}}[%{{.+}}, %{{.+}}, %{{.+}}] limit %{{.+}} : memref<{{.+}}> -> tensor<64x48xbf16>
  %t = tile.load %q[%n, %n, %n] limit %n : !rows -> tensor<64x48xbf16>
  // CHECK: tile.store %{{.+}}, %{{.+}}[%{{.+}}, %{{.+}}, %{{.+}}] limit %{{.+}} : tensor<64x48xbf16> -> memref<{{.+}}>
  tile.store %t, %q[%n, %n, %n] limit %n : tensor<64x48xbf16> -> !rows
  // CHECK: tile.gather %{{.+}}[%{{.+}}, %{{.+}}, %{{.+}} : i32, tensor<64xi32>, i32] where %{{.+}} : tensor<64xi1> : memref<{{.+}}> -> tensor<64x48xbf16>
  %g = tile.gather %q[%n, %rows, %n : i32, tensor<64xi32>, i32] where %in : tensor<64xi1>
      : !rows -> tensor<64x48xbf16>
  // CHECK: tile.gather %{{.+}}[%{{.+}} : tensor<64xi32>] : memref<{{.+}}> -> tensor<64xf32>
  %e = tile.gather %lse[%rows : tensor<64xi32>] : !vector -> tensor<64xf32>
  // CHECK: tile.scatter %{{.+}}, %{{.+}}[%{{.+}}, %{{.+}}, %{{.+}} : i32, i32, tensor<64xi32>] : tensor<64x48xbf16> -> memref<{{.+}}>
  tile.scatter %g, %q[%n, %n, %rows : i32, i32, tensor<64xi32>] : tensor<64x48xbf16> -> !rows
  // CHECK: tile.scatter %{{.+}}, %{{.+}}[%{{.+}} : tensor<64xi32>] where %{{.+}} : tensor<64xi1> : tensor<64xf32> -> memref<{{.+}}>
  tile.scatter %e, %lse[%rows : tensor<64xi32>] where %in : tensor<64xi1> : tensor<64xf32> -> !vector
  tile.return
}

// CHECK-LABEL: func @products
func.func @products(%a: tensor<64x48xbf16>, %b: tensor<32x48xbf16>, %bt: tensor<48x32xbf16>,
                    %acc: tensor<64x32xf32>) {
  // CHECK: tile.mma %{{.+}}, %{{.+}}, %{{.+}} transpose_b : tensor<64x48xbf16>, tensor<32x48xbf16> -> tensor<64x32xf32>
  %0 = tile.mma %a, %b, %acc transpose_b : tensor<64x48xbf16>, tensor<32x48xbf16> -> tensor<64x32xf32>
  // CHECK: tile.mma %{{.+}}, %{{.+}}, %{{.+}} : tensor<64x48xbf16>, tensor<48x32xbf16> -> tensor<64x32xf32>
  %1 = tile.mma %a, %bt, %0 : tensor<64x48xbf16>, tensor<48x32xbf16> -> tensor<64x32xf32>
  // CHECK: tile.reduce <max> %{{.+}} dim 1 : tensor<64x32xf32> -> tensor<64xf32>
  %2 = tile.reduce <max> %1 dim 1 : tensor<64x32xf32> -> tensor<64xf32>
  // CHECK: tile.reduce <sum> %{{.+}} dim 0 : tensor<64x32xf32> -> tensor<32xf32>
  %3 = tile.reduce <sum> %1 dim 0 : tensor<64x32xf32> -> tensor<32xf32>
  // CHECK: tile.mma_async %{{.+}}, %{{.+}}, %{{.+}} transpose_b : tensor<64x48xbf16>, tensor<32x48xbf16> -> tensor<64x32xf32>
  %4 = tile.mma_async %a, %b, %1 transpose_b : tensor<64x48xbf16>, tensor<32x48xbf16> -> tensor<64x32xf32>
  // CHECK: tile.mma_wait 0 %{{.+}} : tensor<64x32xf32> -> tensor<64x32xf32>
  %5 = tile.mma_wait 0 %4 : tensor<64x32xf32> -> tensor<64x32xf32>
  return
}

#mma = #tile.layout<reg = [2:(0, 1), 2:(8, 0), 4:(0, 8)], lane = [4:(0, 2), 8:(1, 0)], warp = [4:(16, 0)]>

// CHECK-LABEL: func @shared_memory
func.func @shared_memory(%q: !rows, %i: i32, %rows: tensor<64xi32>, %in: tensor<64xi1>,
                         %t: tensor<64x32xf32>) {
  // CHECK: tile.convert_layout %{{.+}} : tensor<64x32xf32> -> tensor<64x32xf32, #{{.+}}>
  %c = tile.convert_layout %t : tensor<64x32xf32> -> tensor<64x32xf32, #mma>
  // CHECK: tile.alloc_shared : <2x64x48xbf16, pitch = 56>
  %buffer = tile.alloc_shared : !tile.shared<2x64x48xbf16, pitch = 56>
  // CHECK: tile.stage %{{.+}}[%{{.+}}] : <2x64x48xbf16, pitch = 56> -> <64x48xbf16, pitch = 56>
  %stage = tile.stage %buffer[%i] : !tile.shared<2x64x48xbf16, pitch = 56> -> !tile.shared<64x48xbf16, pitch = 56>
  // CHECK: tile.copy_async %{{.+}}[%{{.+}}, %{{.+}}, %{{.+}}] limit %{{.+}} into %{{.+}} : memref<{{.+}}> -> <64x48xbf16, pitch = 56>
  tile.copy_async %q[%i, %i, %i] limit %i into %stage : !rows -> !tile.shared<64x48xbf16, pitch = 56>
  // CHECK: tile.gather_async %{{.+}}[%{{.+}}, %{{.+}}, %{{.+}} : i32, i32, tensor<64xi32>] where %{{.+}} : tensor<64xi1> into %{{.+}} : memref<{{.+}}> -> <64x48xbf16, pitch = 56>
  tile.gather_async %q[%i, %i, %rows : i32, i32, tensor<64xi32>] where %in : tensor<64xi1> into %stage
      : !rows -> !tile.shared<64x48xbf16, pitch = 56>
  // CHECK: tile.async_commit
  tile.async_commit
  // CHECK: tile.async_wait 1
  tile.async_wait 1
  // CHECK: tile.barrier
  tile.barrier
  // CHECK: tile.shared_read %{{.+}} : <64x48xbf16, pitch = 56> -> tensor<64x48xbf16>
  %r = tile.shared_read %stage : !tile.shared<64x48xbf16, pitch = 56> -> tensor<64x48xbf16>
  // CHECK: tile.shared_write %{{.+}}, %{{.+}} : tensor<64x48xbf16> -> <64x48xbf16, pitch = 56>
  tile.shared_write %r, %stage : tensor<64x48xbf16> -> !tile.shared<64x48xbf16, pitch = 56>
  return
}

// CHECK-LABEL: func @roles
func.func @roles(%i: i32) {
  // CHECK: tile.mbarrier_alloc arrivals 128 : <2>
  %full = tile.mbarrier_alloc arrivals 128 : !tile.barriers<2>
  // CHECK: tile.warp_roles warps [4, 8] registers [40, 232]
  tile.warp_roles warps [4, 8] registers [40, 232] {
    // CHECK: tile.mbarrier_arrive %{{.+}}[%{{.+}}] bytes 8192 : <2>
    tile.mbarrier_arrive %full[%i] bytes 8192 : !tile.barriers<2>
  }, {
    // CHECK: tile.mbarrier_wait %{{.+}}[%{{.+}}] parity %{{.+}} : <2>
    tile.mbarrier_wait %full[%i] parity %i : !tile.barriers<2>
  }
  return
}
