// Buffers that cannot be placed are refused.
// RUN: attn-opt %s -pass-pipeline='builtin.module(func.func(host-plan-buffers))' -split-input-file -verify-diagnostics

func.func @carried(%n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = memref.alloc() : memref<16xf32>
  // expected-error@+1 {{a loop carries a buffer}}
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%b = %a) -> memref<16xf32> {
    %t = memref.alloc() : memref<16xf32>
    scf.yield %t : memref<16xf32>
  }
  return
}

// -----

func.func @dynamic(%n: index) {
  // expected-error@+1 {{a tile buffer has a static shape, got 'memref<?xf32>'}}
  %a = memref.alloc(%n) : memref<?xf32>
  return
}
