// The whole host pipeline: no call, no libgcc conversion, vectors of the asked width.
// RUN: attn-opt %s -tile-to-host-llvm | FileCheck %s
// RUN: attn-opt %s "-tile-to-host-llvm=lanes=8 rows=4 columns=2" | FileCheck %s --check-prefix=NARROW
// RUN: attn-opt %s -tile-to-host-llvm | FileCheck %s --check-prefix=CALLS

// CHECK-LABEL: llvm.func @scale(
// CHECK: llvm.load %{{.*}} : !llvm.ptr -> vector<16xbf16>
// CHECK: llvm.shl %{{.*}}, %{{.*}} : vector<16xi32>
// CHECK: llvm.intr.fma(%{{.*}}) : (vector<16xf32>, vector<16xf32>, vector<16xf32>) -> vector<16xf32>
// CHECK: llvm.store %{{.*}}, %{{.*}} : vector<16xbf16>, !llvm.ptr
// CHECK: llvm.func @_mlir_ciface_scale(
// NARROW: llvm.intr.fma(%{{.*}}) : (vector<8xf32>, vector<8xf32>, vector<8xf32>) -> vector<8xf32>
// One arena is all a kernel allocates.
// CALLS-LABEL: llvm.func @scale(
// CALLS: llvm.call @malloc
// CALLS-NOT: llvm.call
// CALLS: llvm.call @free
// CALLS-NOT: llvm.call
// CALLS: llvm.func @_mlir_ciface_scale(
!x = memref<?x?x32xbf16, strided<[?, ?, 1]>>
tile.kernel @scale(%x: !x {tile.name = "q"}, %o: !x {tile.name = "o"}, %n: i32 {tile.name = "max_len_q"})
    attributes {warps = 4 : i32, role = "main", grid = "batch"} {
  %c0 = arith.constant 0 : i32
  %pid = tile.program_id : i32
  %t = tile.load %x[%pid, %c0] limit %n : !x -> tensor<16x32xbf16>
  %f = arith.extf %t : tensor<16x32xbf16> to tensor<16x32xf32>
  %e = math.exp2 %f : tensor<16x32xf32>
  %s = tile.reduce <sum> %e dim 1 : tensor<16x32xf32> -> tensor<16xf32>
  %sb = tile.broadcast %s dim 1 : tensor<16xf32> -> tensor<16x32xf32>
  %d = arith.divf %e, %sb : tensor<16x32xf32>
  %b = arith.truncf %d : tensor<16x32xf32> to tensor<16x32xbf16>
  tile.store %b, %o[%pid, %c0] limit %n : tensor<16x32xbf16> -> !x
  tile.return
}
