// A whole warp-specialised attention kernel, as the passes before this conversion write it: 128 rows
// and 128 keys, one producer thread, two consumer groups of four warps, one tile a CTA.
// RUN: attn-opt %s --pass-pipeline='builtin.module(tile.kernel(tile-expand-softmax), canonicalize, cse, tile.kernel(tile-assign-layouts), convert-tile-to-nvvm)' | FileCheck %s

!q = !tile.shared<128x128xbf16, swizzle = 128>
!kv = !tile.shared<2x128x128xbf16, swizzle = 128>
!map = !tile.tensor_map<1x1x128x64xbf16>
!o = memref<?x?x?x128xbf16, strided<[?, ?, ?, 1]>>
!lse = memref<?x?x?xf32, strided<[?, ?, ?]>>

// CHECK: llvm.mlir.global external @attnc_shared() {addr_space = 3 : i32, alignment = 1024 : i64}
// CHECK-LABEL: llvm.func @plain
// CHECK-SAME: !llvm.ptr {llvm.align = 64 : i64, llvm.byval = !llvm.array<128 x i8>, nvvm.grid_constant}
// CHECK-SAME: nvvm.maxntid = array<i32: 384>, nvvm.minctasm = 1 : i32, tile.shared_bytes = 163912 : i64
tile.kernel @plain(%o: !o {tile.name = "o"}, %qm: !map {tile.name = "q.map"}, %km: !map {tile.name = "k.map"}, %vm: !map {tile.name = "v.map"}, %heads: i32 {tile.name = "heads_q"}, %len_q: i32 {tile.name = "max_len_q"}, %len_kv: i32 {tile.name = "max_len_kv"})
    attributes {warps = 12 : i32, role = "main", grid = ["mul", ["mul", "batch", "heads_q"], ["ceildiv", "max_len_q", 128]]} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %c128 = arith.constant 128 : i32
  %c127 = arith.constant 127 : i32
  %zero = arith.constant dense<0.0> : tensor<128x128xf32>
  %none = arith.constant dense<0xFF800000> : tensor<128xf32>
  %nothing = arith.constant dense<0.0> : tensor<128xf32>
  %one = arith.constant dense<1.0> : tensor<128xf32>
  %q = tile.alloc_shared : !q
  %k = tile.alloc_shared : !kv
  %v = tile.alloc_shared : !kv
  // CHECK: nvvm.shfl.sync idx {{.*}}tile.uniform_warp
  // CHECK: mbarrier.init.shared::cta.b64
  // CHECK: nvvm.fence.mbarrier.init
  %q_full = tile.mbarrier_alloc arrivals 1 : !tile.barriers<1>
  %k_full = tile.mbarrier_alloc arrivals 1 : !tile.barriers<2>
  %k_empty = tile.mbarrier_alloc arrivals 8 : !tile.barriers<2>
  %v_full = tile.mbarrier_alloc arrivals 1 : !tile.barriers<2>
  %v_empty = tile.mbarrier_alloc arrivals 8 : !tile.barriers<2>
  // CHECK: nvvm.barrier0
  tile.barrier
  %id = tile.program_id : i32
  %rounded = arith.addi %len_q, %c127 : i32
  %blocks = arith.divui %rounded, %c128 : i32
  %bh = arith.divui %id, %blocks : i32
  %mi = arith.remui %id, %blocks : i32
  %m0 = arith.muli %mi, %c128 : i32
  %b = arith.divui %bh, %heads : i32
  %h = arith.remui %bh, %heads : i32
  // The producer gives registers away, one thread of it copies.
  // CHECK: scf.if
  // CHECK-NEXT: nvvm.setmaxregister decrease 24
  // CHECK: arith.cmpi eq
  // CHECK-NEXT: scf.if
  // CHECK: mbarrier.arrive.expect_tx
  // CHECK-COUNT-2: cp.async.bulk.tensor.4d
  // CHECK: scf.for
  // CHECK: mbarrier.try_wait.parity
  // CHECK: } else {
  // CHECK-NEXT: nvvm.setmaxregister increase 240
  tile.warp_roles warps [4, 8] registers [24, 240] {
    %elected = tile.elect : i1
    scf.if %elected {
      tile.mbarrier_arrive %q_full[%c0] bytes 32768 : !tile.barriers<1>
      tile.tma_load %qm[%b, %h, %m0] into %q signal %q_full[%c0] : !map -> !q, !tile.barriers<1>
      %n = scf.for %n0 = %c0 to %len_kv step %c128 iter_args(%it = %c0) -> i32 : i32 {
        %stage = arith.remui %it, %c2 : i32
        %round = arith.divui %it, %c2 : i32
        %parity = arith.andi %round, %c1 : i32
        %before = arith.xori %parity, %c1 : i32
        %ks = tile.stage %k[%stage] : !kv -> !q
        %vs = tile.stage %v[%stage] : !kv -> !q
        tile.mbarrier_wait %k_empty[%stage] parity %before : !tile.barriers<2>
        tile.mbarrier_arrive %k_full[%stage] bytes 32768 : !tile.barriers<2>
        tile.tma_load %km[%b, %h, %n0] into %ks signal %k_full[%stage] : !map -> !q, !tile.barriers<2>
        tile.mbarrier_wait %v_empty[%stage] parity %before : !tile.barriers<2>
        tile.mbarrier_arrive %v_full[%stage] bytes 32768 : !tile.barriers<2>
        tile.tma_load %vm[%b, %h, %n0] into %vs signal %v_full[%stage] : !map -> !q, !tile.barriers<2>
        %next = arith.addi %it, %c1 : i32
        scf.yield %next : i32
      }
    }
  }, {
    tile.mbarrier_wait %q_full[%c0] parity %c0 : !tile.barriers<1>
    %acc, %max, %sum, %n = scf.for %n0 = %c0 to %len_kv step %c128 iter_args(%acc0 = %zero, %max0 = %none, %sum0 = %nothing, %it = %c0) -> (tensor<128x128xf32>, tensor<128xf32>, tensor<128xf32>, i32) : i32 {
      %stage = arith.remui %it, %c2 : i32
      %round = arith.divui %it, %c2 : i32
      %parity = arith.andi %round, %c1 : i32
      %ks = tile.stage %k[%stage] : !kv -> !q
      %vs = tile.stage %v[%stage] : !kv -> !q
      tile.mbarrier_wait %k_full[%stage] parity %parity : !tile.barriers<2>
      // Q·Kᵀ starts from zero: outputs only, both operands by descriptor.
      // CHECK: wgmma.fence.sync.aligned;
      // CHECK-SAME: wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {$0, $1,
      // CHECK-SAME: $63}, at, bt, no, 1, 1, 0, 0;
      // CHECK-SAME: $63}, at, bt, yes, 1, 1, 0, 0;
      // CHECK-SAME: wgmma.commit_group.sync.aligned; }", "=f,=f,
      // CHECK-SAME: =f,l,l"
      %s0 = tile.mma_async %q, %ks, %zero transpose_b : !q, !q -> tensor<128x128xf32>
      // CHECK: wgmma.wait_group.sync.aligned 0;
      %s1 = tile.mma_wait 0 %s0 : tensor<128x128xf32> -> tensor<128x128xf32>
      // CHECK: mbarrier.arrive.shared::cta.b64
      tile.mbarrier_arrive %k_empty[%stage] : !tile.barriers<2>
      %p, %max1, %sum1, %fix = tile.softmax_step %s1, %max0, %sum0 scale 0.127517432 : tensor<128x128xf32>, tensor<128xf32>
      %fixes = tile.broadcast %fix dim 1 : tensor<128xf32> -> tensor<128x128xf32>
      %acc1 = arith.mulf %acc0, %fixes : tensor<128x128xf32>
      %pb = arith.truncf %p : tensor<128x128xf32> to tensor<128x128xbf16>
      tile.mbarrier_wait %v_full[%stage] parity %parity : !tile.barriers<2>
      // P·V accumulates in place, P in registers, V transposed.
      // CHECK: wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {$0, $1,
      // CHECK-SAME: $63}, {$128, $129, $130, $131}, bt, yes, 1, 1, 1;
      // CHECK-SAME: =f,0,1,
      // CHECK-SAME: ,63,r,r,
      // CHECK-SAME: r,l"
      %acc2 = tile.mma_async %pb, %vs, %acc1 : tensor<128x128xbf16>, !q -> tensor<128x128xf32>
      // P rides along.
      // CHECK: wgmma.wait_group.sync.aligned 0;
      // CHECK-SAME: =f,=r
      %acc3, %pdone = tile.mma_wait 0 %acc2, %pb : tensor<128x128xf32>, tensor<128x128xbf16> -> tensor<128x128xf32>, tensor<128x128xbf16>
      tile.mbarrier_arrive %v_empty[%stage] : !tile.barriers<2>
      %next = arith.addi %it, %c1 : i32
      scf.yield %acc3, %max1, %sum1, %next : tensor<128x128xf32>, tensor<128xf32>, tensor<128xf32>, i32
    }
    %inv = arith.divf %one, %sum : tensor<128xf32>
    %scale = tile.broadcast %inv dim 1 : tensor<128xf32> -> tensor<128x128xf32>
    %of = arith.mulf %acc, %scale : tensor<128x128xf32>
    %ob = arith.truncf %of : tensor<128x128xf32> to tensor<128x128xbf16>
    tile.store %ob, %o[%b, %h, %m0] limit %len_q : tensor<128x128xbf16> -> !o
  }
  tile.return
}

// The same with P·V of the block before in flight during the softmax.
// CHECK-LABEL: llvm.func @overlapped
tile.kernel @overlapped(%o: !o {tile.name = "o"}, %qm: !map {tile.name = "q.map"}, %km: !map {tile.name = "k.map"}, %vm: !map {tile.name = "v.map"}, %heads: i32 {tile.name = "heads_q"}, %len_q: i32 {tile.name = "max_len_q"}, %len_kv: i32 {tile.name = "max_len_kv"})
    attributes {warps = 12 : i32, role = "main", grid = ["mul", ["mul", "batch", "heads_q"], ["ceildiv", "max_len_q", 128]]} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %c128 = arith.constant 128 : i32
  %c127 = arith.constant 127 : i32
  %zero = arith.constant dense<0.0> : tensor<128x128xf32>
  %none = arith.constant dense<0xFF800000> : tensor<128xf32>
  %nothing = arith.constant dense<0.0> : tensor<128xf32>
  %one = arith.constant dense<1.0> : tensor<128xf32>
  %q = tile.alloc_shared : !q
  %k = tile.alloc_shared : !kv
  %v = tile.alloc_shared : !kv
  %q_full = tile.mbarrier_alloc arrivals 1 : !tile.barriers<1>
  %k_full = tile.mbarrier_alloc arrivals 1 : !tile.barriers<2>
  %k_empty = tile.mbarrier_alloc arrivals 8 : !tile.barriers<2>
  %v_full = tile.mbarrier_alloc arrivals 1 : !tile.barriers<2>
  %v_empty = tile.mbarrier_alloc arrivals 8 : !tile.barriers<2>
  tile.barrier
  %id = tile.program_id : i32
  %rounded = arith.addi %len_q, %c127 : i32
  %blocks = arith.divui %rounded, %c128 : i32
  %bh = arith.divui %id, %blocks : i32
  %mi = arith.remui %id, %blocks : i32
  %m0 = arith.muli %mi, %c128 : i32
  %b = arith.divui %bh, %heads : i32
  %h = arith.remui %bh, %heads : i32
  tile.warp_roles warps [4, 8] registers [24, 240] {
    %elected = tile.elect : i1
    scf.if %elected {
      tile.mbarrier_arrive %q_full[%c0] bytes 32768 : !tile.barriers<1>
      tile.tma_load %qm[%b, %h, %m0] into %q signal %q_full[%c0] : !map -> !q, !tile.barriers<1>
      %n = scf.for %n0 = %c0 to %len_kv step %c128 iter_args(%it = %c0) -> i32 : i32 {
        %stage = arith.remui %it, %c2 : i32
        %round = arith.divui %it, %c2 : i32
        %parity = arith.andi %round, %c1 : i32
        %before = arith.xori %parity, %c1 : i32
        %ks = tile.stage %k[%stage] : !kv -> !q
        %vs = tile.stage %v[%stage] : !kv -> !q
        tile.mbarrier_wait %k_empty[%stage] parity %before : !tile.barriers<2>
        tile.mbarrier_arrive %k_full[%stage] bytes 32768 : !tile.barriers<2>
        tile.tma_load %km[%b, %h, %n0] into %ks signal %k_full[%stage] : !map -> !q, !tile.barriers<2>
        tile.mbarrier_wait %v_empty[%stage] parity %before : !tile.barriers<2>
        tile.mbarrier_arrive %v_full[%stage] bytes 32768 : !tile.barriers<2>
        tile.tma_load %vm[%b, %h, %n0] into %vs signal %v_full[%stage] : !map -> !q, !tile.barriers<2>
        %next = arith.addi %it, %c1 : i32
        scf.yield %next : i32
      }
    }
  }, {
    tile.mbarrier_wait %q_full[%c0] parity %c0 : !tile.barriers<1>
    %k0 = tile.stage %k[%c0] : !kv -> !q
    tile.mbarrier_wait %k_full[%c0] parity %c0 : !tile.barriers<2>
    %f0 = tile.mma_async %q, %k0, %zero transpose_b : !q, !q -> tensor<128x128xf32>
    %f1 = tile.mma_wait 0 %f0 : tensor<128x128xf32> -> tensor<128x128xf32>
    tile.mbarrier_arrive %k_empty[%c0] : !tile.barriers<2>
    %p0, %m1, %l1, %x1 = tile.softmax_step %f1, %none, %nothing scale 0.127517432 : tensor<128x128xf32>, tensor<128xf32>
    %pb0 = arith.truncf %p0 : tensor<128x128xf32> to tensor<128x128xbf16>
    // CHECK: scf.for
    %acc, %max, %sum, %pl, %xl, %n = scf.for %n0 = %c128 to %len_kv step %c128 iter_args(%acc0 = %zero, %max0 = %m1, %sum0 = %l1, %pb = %pb0, %fix = %x1, %it = %c1) -> (tensor<128x128xf32>, tensor<128xf32>, tensor<128xf32>, tensor<128x128xbf16>, tensor<128xf32>, i32) : i32 {
      %stage = arith.remui %it, %c2 : i32
      %round = arith.divui %it, %c2 : i32
      %parity = arith.andi %round, %c1 : i32
      %last = arith.subi %it, %c1 : i32
      %vstage = arith.remui %last, %c2 : i32
      %vround = arith.divui %last, %c2 : i32
      %vparity = arith.andi %vround, %c1 : i32
      %ks = tile.stage %k[%stage] : !kv -> !q
      %vs = tile.stage %v[%vstage] : !kv -> !q
      tile.mbarrier_wait %k_full[%stage] parity %parity : !tile.barriers<2>
      %s0 = tile.mma_async %q, %ks, %zero transpose_b : !q, !q -> tensor<128x128xf32>
      %fixes = tile.broadcast %fix dim 1 : tensor<128xf32> -> tensor<128x128xf32>
      %acc1 = arith.mulf %acc0, %fixes : tensor<128x128xf32>
      tile.mbarrier_wait %v_full[%vstage] parity %vparity : !tile.barriers<2>
      %acc2 = tile.mma_async %pb, %vs, %acc1 : tensor<128x128xbf16>, !q -> tensor<128x128xf32>
      // CHECK: wgmma.wait_group.sync.aligned 1;
      %s1 = tile.mma_wait 1 %s0 : tensor<128x128xf32> -> tensor<128x128xf32>
      tile.mbarrier_arrive %k_empty[%stage] : !tile.barriers<2>
      %p, %max1, %sum1, %fix1 = tile.softmax_step %s1, %max0, %sum0 scale 0.127517432 : tensor<128x128xf32>, tensor<128xf32>
      // CHECK: wgmma.wait_group.sync.aligned 0;
      %acc3, %pdone = tile.mma_wait 0 %acc2, %pb : tensor<128x128xf32>, tensor<128x128xbf16> -> tensor<128x128xf32>, tensor<128x128xbf16>
      tile.mbarrier_arrive %v_empty[%vstage] : !tile.barriers<2>
      %pb1 = arith.truncf %p : tensor<128x128xf32> to tensor<128x128xbf16>
      %next = arith.addi %it, %c1 : i32
      scf.yield %acc3, %max1, %sum1, %pb1, %fix1, %next : tensor<128x128xf32>, tensor<128xf32>, tensor<128xf32>, tensor<128x128xbf16>, tensor<128xf32>, i32
    }
    %last = arith.subi %n, %c1 : i32
    %stage = arith.remui %last, %c2 : i32
    %round = arith.divui %last, %c2 : i32
    %parity = arith.andi %round, %c1 : i32
    %vs = tile.stage %v[%stage] : !kv -> !q
    %fixes = tile.broadcast %xl dim 1 : tensor<128xf32> -> tensor<128x128xf32>
    %acc1 = arith.mulf %acc, %fixes : tensor<128x128xf32>
    tile.mbarrier_wait %v_full[%stage] parity %parity : !tile.barriers<2>
    %acc2 = tile.mma_async %pl, %vs, %acc1 : tensor<128x128xbf16>, !q -> tensor<128x128xf32>
    %acc3, %pdone = tile.mma_wait 0 %acc2, %pl : tensor<128x128xf32>, tensor<128x128xbf16> -> tensor<128x128xf32>, tensor<128x128xbf16>
    %inv = arith.divf %one, %sum : tensor<128xf32>
    %scale = tile.broadcast %inv dim 1 : tensor<128xf32> -> tensor<128x128xf32>
    %of = arith.mulf %acc3, %scale : tensor<128x128xf32>
    %ob = arith.truncf %of : tensor<128x128xf32> to tensor<128x128xbf16>
    tile.store %ob, %o[%b, %h, %m0] limit %len_q : tensor<128x128xbf16> -> !o
  }
  tile.return
}
