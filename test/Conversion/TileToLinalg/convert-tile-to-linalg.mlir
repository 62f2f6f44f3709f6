// The shape of what convert-tile-to-linalg writes for each tile op.
// RUN: attn-opt %s -convert-tile-to-linalg -canonicalize -cse -split-input-file | FileCheck %s

// Rows below the limit are copied, the others zeroed, and so are the columns past the source.
// CHECK-LABEL: func.func @load(
// CHECK-SAME: %[[SRC:.*]]: memref<?x?x40xbf16, strided<[?, ?, 1]>>, %[[LIMIT:[^:]*]]: i32, %[[PID:.*]]: i32)
// CHECK-SAME: attributes {llvm.emit_c_interface}
// CHECK: %[[BUFFER:.*]] = memref.alloc() : memref<16x48xbf16>
// CHECK: %[[COUNT:.*]] = arith.minsi
// CHECK: scf.for %[[ROW:.*]] = %{{.*}} to %[[COUNT]]
// CHECK-DAG: memref.subview %[[BUFFER]][%[[ROW]], 0] [1, 40]
// CHECK-DAG: memref.subview %[[SRC]]
// CHECK: linalg.copy
// CHECK: memref.subview %[[BUFFER]][%[[ROW]], 40] [1, 8]
// CHECK: linalg.fill
// CHECK: scf.for %{{.*}} = %[[COUNT]] to
// CHECK: linalg.fill
// The store goes from the buffer to rows below the limit, and only the columns that exist.
// CHECK: scf.for %[[OUT:.*]] = %{{.*}} to %[[COUNT]]
// CHECK-DAG: memref.subview %[[SRC]][{{.*}}] [1, 1, 40]
// CHECK-DAG: memref.subview %[[BUFFER]][%[[OUT]], 0] [1, 40]
// CHECK: linalg.copy
!src = memref<?x?x40xbf16, strided<[?, ?, 1]>>
tile.kernel @load(%src: !src {tile.name = "q"}, %limit: i32 {tile.name = "max_len_q"})
    attributes {warps = 4 : i32, role = "main", grid = "batch"} {
  %c0 = arith.constant 0 : i32
  %pid = tile.program_id : i32
  %t = tile.load %src[%pid, %c0] limit %limit : !src -> tensor<16x48xbf16>
  tile.store %t, %src[%pid, %c0] limit %limit : tensor<16x48xbf16> -> !src
  tile.return
}

// -----

// Operands become f32 once, b transposed; the product is linalg's.
// CHECK-LABEL: func.func @mma(
// CHECK: %[[A:.*]] = linalg.generic {{.*}} ins(%{{.*}} : tensor<16x32xf16>)
// CHECK: arith.extf %{{.*}} : f16 to f32
// CHECK: %[[B:.*]] = linalg.generic {indexing_maps = [#[[T:.*]], #{{.*}}], {{.*}} ins(%{{.*}} : tensor<64x32xf16>) outs(%{{.*}} : tensor<32x64xf32>)
// CHECK: arith.extf
// CHECK: linalg.matmul ins(%[[A]], %[[B]] : tensor<16x32xf32>, tensor<32x64xf32>)
!a = memref<?x32xf16, strided<[?, 1]>>
!o = memref<?x64xf32, strided<[?, 1]>>
tile.kernel @mma(%a: !a {tile.name = "q"}, %o: !o {tile.name = "o"})
    attributes {warps = 4 : i32, role = "main", grid = 1 : i64} {
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %zero = arith.constant dense<0.0> : tensor<16x64xf32>
  %q = tile.load %a[%c0] limit %c64 : !a -> tensor<16x32xf16>
  %k = tile.load %a[%c0] limit %c64 : !a -> tensor<64x32xf16>
  %s = tile.mma %q, %k, %zero transpose_b : tensor<16x32xf16>, tensor<64x32xf16> -> tensor<16x64xf32>
  tile.store %s, %o[%c0] limit %c64 : tensor<16x64xf32> -> !o
  tile.return
}

// -----

// Predicates are bytes in memory; a load is inside its predicate.
// CHECK-LABEL: func.func @gather(
// CHECK-SAME: %[[X:.*]]: memref<?xf32, strided<[?]>>
// CHECK: linalg.generic {{.*}} ins(%{{.*}}, %[[OK:.*]] : tensor<16xi32>, tensor<16xi8>)
// CHECK: %[[BIT:.*]] = arith.trunci %{{.*}} : i8 to i1
// CHECK: scf.if %[[BIT]] -> (f32) {
// CHECK-NEXT: memref.load %[[X]]
// CHECK: else
// CHECK: scf.for
// CHECK: scf.if
// CHECK: memref.store %{{.*}}, %[[X]]
!x = memref<?xf32, strided<[?]>>
tile.kernel @gather(%x: !x {tile.name = "sinks"}, %n: i32 {tile.name = "batch"})
    attributes {warps = 4 : i32, role = "main", grid = 1 : i64} {
  %i = tile.iota : tensor<16xi32>
  %nt = tile.splat %n : i32 -> tensor<16xi32>
  %ok = arith.cmpi slt, %i, %nt : tensor<16xi32>
  %v = tile.gather %x[%i : tensor<16xi32>] where %ok : tensor<16xi1> : !x -> tensor<16xf32>
  tile.scatter %v, %x[%i : tensor<16xi32>] where %ok : tensor<16xi1> : tensor<16xf32> -> !x
  tile.return
}

// -----

// A function that is no kernel is left alone.
// CHECK-LABEL: func.func @other
// CHECK-NEXT: arith.addf %{{.*}}, %{{.*}} : f32
func.func @other(%a: f32) -> f32 {
  %0 = arith.addf %a, %a : f32
  return %0 : f32
}
