// Buffers whose lives do not overlap share memory.
// RUN: attn-opt %s -pass-pipeline='builtin.module(func.func(host-plan-buffers))' -split-input-file | FileCheck %s

// a lives throughout (4096 bytes), b and c one after the other.
// CHECK-LABEL: func.func @share(
// CHECK: %[[ARENA:.*]] = memref.alloc() {alignment = 64 : i64} : memref<6144xi8>
// CHECK: %[[ZERO:.*]] = arith.constant 0 : index
// CHECK: %[[A:.*]] = memref.view %[[ARENA]][%[[ZERO]]][] : memref<6144xi8> to memref<1024xf32>
// CHECK: %[[AT:.*]] = arith.constant 4096 : index
// CHECK: memref.view %[[ARENA]][%[[AT]]][] : memref<6144xi8> to memref<512xf32>
// CHECK: %[[AGAIN:.*]] = arith.constant 4096 : index
// CHECK: memref.view %[[ARENA]][%[[AGAIN]]][] : memref<6144xi8> to memref<512xf32>
// CHECK: memref.dealloc %[[ARENA]]
// CHECK-NEXT: return
func.func @share(%x: f32, %i: index) -> f32 {
  %a = memref.alloc() : memref<1024xf32>
  memref.store %x, %a[%i] : memref<1024xf32>
  %b = memref.alloc() : memref<512xf32>
  memref.store %x, %b[%i] : memref<512xf32>
  %y = memref.load %b[%i] : memref<512xf32>
  %c = memref.alloc() : memref<512xf32>
  memref.store %y, %c[%i] : memref<512xf32>
  %z = memref.load %a[%i] : memref<1024xf32>
  return %z : f32
}

// -----

// What a loop reads lives until the loop's end, though its last use is early in the body, and both
// buffers an scf.if chooses from live as long as the choice: only the loop's own buffer and the one
// after the loop share.
// CHECK-LABEL: func.func @loops(
// CHECK: %[[ARENA:.*]] = memref.alloc() {alignment = 64 : i64} : memref<192xi8>
// CHECK: %[[T:.*]] = memref.view %[[ARENA]][%c128{{.*}}][]
// CHECK: %[[U:.*]] = memref.view %[[ARENA]][%c128{{.*}}][]
// CHECK: memref.store %{{.*}}, %[[T]]
// CHECK: memref.store %{{.*}}, %[[U]]
func.func @loops(%x: f32, %n: index, %p: i1) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = memref.alloc() : memref<16xf32>
  %b = memref.alloc() : memref<16xf32>
  %d = scf.if %p -> memref<16xf32> {
    scf.yield %a : memref<16xf32>
  } else {
    scf.yield %b : memref<16xf32>
  }
  scf.for %i = %c0 to %n step %c1 {
    %y = memref.load %d[%c0] : memref<16xf32>
    %t = memref.alloc() : memref<16xf32>
    memref.store %y, %t[%i] : memref<16xf32>
  }
  %u = memref.alloc() : memref<16xf32>
  memref.store %x, %u[%c0] : memref<16xf32>
  %z = memref.load %d[%c1] : memref<16xf32>
  return %z : f32
}

// -----

// Nothing to place.
// CHECK-LABEL: func.func @none(
// CHECK-NEXT: return
func.func @none() {
  return
}
