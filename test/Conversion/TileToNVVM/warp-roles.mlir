// RUN: attn-opt %s --convert-tile-to-nvvm --split-input-file --verify-diagnostics | FileCheck %s

#vec = #tile.layout<reg = [], lane = [32:(1)], warp = [2:(32)]>

// Barriers, election and layouts count from the role's first warp.
// CHECK-LABEL: llvm.func @roles_count_from_their_first_warp
// CHECK-DAG: %[[BACK:.*]] = arith.constant -1 : i32
// CHECK-DAG: %[[ONE:.*]] = arith.constant 1 : i32
// CHECK-DAG: %[[TWO:.*]] = arith.constant 2 : i32
// CHECK-DAG: %[[THREADS1:.*]] = arith.constant 32 : i32
// CHECK-DAG: %[[THREADS2:.*]] = arith.constant 64 : i32
// CHECK: nvvm.barrier0
// CHECK: scf.if
// CHECK-NEXT: nvvm.barrier id = %[[ONE]] number_of_threads = %[[THREADS1]]
// CHECK: } else {
// CHECK: nvvm.barrier id = %[[TWO]] number_of_threads = %[[THREADS2]]
// CHECK: arith.cmpi eq, %{{.*}}, %[[THREADS1]]
// CHECK-NEXT: scf.if
// CHECK: arith.shrui
// CHECK-NEXT: arith.addi %{{.*}}, %[[BACK]]
tile.kernel @roles_count_from_their_first_warp(%x: memref<?xi32, strided<[?]>> {tile.name = "arg.x"}) attributes {warps = 3 : i32, role = "main", grid = 1} {
  %bars = tile.mbarrier_alloc arrivals 1 : !tile.barriers<1>
  %c0 = arith.constant 0 : i32
  tile.barrier
  tile.warp_roles warps [1, 2] registers [0, 0] {
    tile.barrier
  }, {
    tile.barrier
    %e = tile.elect : i1
    scf.if %e {
      tile.mbarrier_arrive %bars[%c0] bytes 16 : !tile.barriers<1>
    }
    %i = tile.iota : tensor<64xi32, #vec>
    tile.scatter %i, %x[%i : tensor<64xi32, #vec>] : tensor<64xi32, #vec> -> memref<?xi32, strided<[?]>>
  }
  tile.return
}

// -----

tile.kernel @budget_of_half_a_group(%n: i32 {tile.name = "max_len_q"}) attributes {warps = 6 : i32, role = "main", grid = 1} {
  // expected-error @+1 {{registers are moved between groups of four warps; the role of warps 0 to 1 does not consist of such groups}}
  tile.warp_roles warps [2, 4] registers [24, 240] {
    tile.barrier
  }, {
    tile.barrier
  }
  tile.return
}

// -----

tile.kernel @budget_of_no_unit(%n: i32 {tile.name = "max_len_q"}) attributes {warps = 4 : i32, role = "main", grid = 1} {
  // expected-error @+1 {{a register budget is a multiple of 8 from 24 to 256, got 25}}
  tile.warp_roles warps [4] registers [25] {
    tile.barrier
  }
  tile.return
}

// -----

tile.kernel @budgets_over_the_pool(%n: i32 {tile.name = "max_len_q"}) attributes {warps = 12 : i32, role = "main", grid = 1} {
  // expected-error @+1 {{the roles' budgets take 68608 registers; an SM has 65536}}
  tile.warp_roles warps [4, 8] registers [56, 240] {
    tile.barrier
  }, {
    tile.barrier
  }
  tile.return
}

// -----

tile.kernel @more_warps_than_the_kernel(%n: i32 {tile.name = "max_len_q"}) attributes {warps = 2 : i32, role = "main", grid = 1} {
  // expected-error @+1 {{the roles take 3 warps; the kernel has 2}}
  tile.warp_roles warps [1, 2] registers [0, 0] {
    tile.barrier
  }, {
    tile.barrier
  }
  tile.return
}

// -----

#acc = #tile.layout<reg = [2:(0, 1), 2:(8, 0), 8:(0, 8)], lane = [4:(0, 2), 8:(1, 0)], warp = [2:(16, 0)]>
!s = !tile.shared<64x64xbf16, swizzle = 128>

tile.kernel @product_of_half_a_group(%n: i32 {tile.name = "max_len_q"}) attributes {warps = 2 : i32, role = "main", grid = 1} {
  %z = arith.constant dense<0.0> : tensor<32x64xf32, #acc>
  %b = tile.alloc_shared : !s
  %a = arith.constant dense<1.0> : tensor<32x64xbf16, #acc>
  // expected-error @+2 {{a product of 32 rows needs 2 warps in groups of four; 2 warps execute it}}
  // expected-error @+1 {{failed to legalize operation 'tile.mma_async'}}
  %r = tile.mma_async %a, %b, %z : tensor<32x64xbf16, #acc>, !s -> tensor<32x64xf32, #acc>
  tile.return
}
