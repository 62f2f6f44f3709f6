// RUN: attn-opt %s -tile-split-kv-range -split-input-file | FileCheck %s

// Both ends of the range have partial blocks: three loops, the middle one without mask.
// CHECK-LABEL: tile.kernel @three_loops
// CHECK-SAME: %[[LO:[a-z0-9]+]]: i32 {tile.name = "lo"}, %[[HI:[a-z0-9]+]]: i32 {tile.name = "hi"}, %[[FLO:[a-z0-9]+]]: i32 {tile.name = "flo"}, %[[FHI:[a-z0-9]+]]: i32 {tile.name = "fhi"}
tile.kernel @three_loops(%lo: i32 {tile.name = "lo"}, %hi: i32 {tile.name = "hi"},
                         %flo: i32 {tile.name = "flo"}, %fhi: i32 {tile.name = "fhi"},
                         %x: f32 {tile.name = "arg.x"})
    attributes {warps = 1 : i32, role = "main", grid = 1} {
  %init = tile.splat %x : f32 -> tensor<16x64xf32>
  %c0 = arith.constant 0 : i32
  // CHECK-DAG: %[[STEP:.+]] = arith.constant 64 : i32
  // CHECK-DAG: %[[C63:.+]] = arith.constant 63 : i32
  // First full block: the full range rounded up, kept inside [lo, hi].
  // CHECK: %[[A:.+]] = arith.addi %[[FLO]], %[[C63]] : i32
  // CHECK: %[[B:.+]] = arith.divui %[[A]], %[[STEP]] : i32
  // CHECK: %[[C:.+]] = arith.muli %[[B]], %[[STEP]] : i32
  // CHECK: %[[D:.+]] = arith.maxsi %[[C]], %[[LO]] : i32
  // CHECK: %[[BEGIN:.+]] = arith.minsi %[[D]], %[[HI]] : i32
  // End of the full blocks: the full range rounded down.
  // CHECK: %[[E:.+]] = arith.divui %[[FHI]], %[[STEP]] : i32
  // CHECK: %[[F:.+]] = arith.muli %[[E]], %[[STEP]] : i32
  // CHECK: %[[G:.+]] = arith.minsi %[[F]], %[[HI]] : i32
  // CHECK: %[[END:.+]] = arith.maxsi %[[G]], %[[BEGIN]] : i32
  // CHECK: %[[L1:.+]]:2 = scf.for %[[N0:.+]] = %[[LO]] to %[[BEGIN]] step %{{.+}} iter_args(%[[S:.+]] = %{{.+}}, %[[STAGE:.+]] = %{{.+}}) -> (tensor<16x64xf32>, i32)
  // CHECK:   %[[KEYS:.+]] = tile.iota : tensor<64xi32>
  // CHECK:   %[[ROW:.+]] = arith.cmpi
  // CHECK:   %[[P:.+]] = tile.broadcast %[[ROW]] dim 0 : tensor<64xi1> -> tensor<16x64xi1>
  // CHECK:   %[[NEG:.+]] = arith.constant dense<0xFF800000> : tensor<16x64xf32>
  // CHECK:   %[[MASKED:.+]] = arith.select %[[P]], %[[S]], %[[NEG]] : tensor<16x64xi1>, tensor<16x64xf32>
  // CHECK:   scf.yield %[[MASKED]], %{{.+}} : tensor<16x64xf32>, i32
  // CHECK: %[[L2:.+]]:2 = scf.for %{{.+}} = %[[BEGIN]] to %[[END]] step %{{.+}} iter_args(%[[S2:.+]] = %[[L1]]#0, %[[STAGE2:.+]] = %[[L1]]#1)
  // CHECK-NOT: tile.iota
  // CHECK-NOT: arith.select
  // CHECK:   %[[NEXT:.+]] = arith.addi %[[STAGE2]]
  // CHECK:   scf.yield %[[S2]], %[[NEXT]] : tensor<16x64xf32>, i32
  // CHECK: %[[L3:.+]]:2 = scf.for %{{.+}} = %[[END]] to %[[HI]] step %{{.+}} iter_args(%{{.+}} = %[[L2]]#0, %{{.+}} = %[[L2]]#1)
  // CHECK:   arith.select
  // CHECK-NOT: scf.for
  // CHECK-NOT: tile.kv_loop
  // CHECK-NOT: tile.mask
  %r:2 = tile.kv_loop %lo to %hi full(%flo to %fhi) step 64 init(%init, %c0 : tensor<16x64xf32>, i32)
      -> tensor<16x64xf32>, i32 {
  ^bb0(%n0: i32, %s: tensor<16x64xf32>, %stage: i32):
    %c1 = arith.constant 1 : i32
    %iota = tile.iota : tensor<64xi32>
    %start = tile.splat %n0 : i32 -> tensor<64xi32>
    %kv = arith.addi %iota, %start : tensor<64xi32>
    %limit = tile.splat %hi : i32 -> tensor<64xi32>
    %in = arith.cmpi slt, %kv, %limit : tensor<64xi32>
    %masked = tile.mask %s : tensor<16x64xf32> {
      %p = tile.broadcast %in dim 0 : tensor<64xi1> -> tensor<16x64xi1>
      tile.yield %p : tensor<16x64xi1>
    }
    %next = arith.addi %stage, %c1 : i32
    tile.yield %masked, %next : tensor<16x64xf32>, i32
  }
  tile.return
}

// -----

// The full range starts where the range does: no leading partial loop.
// CHECK-LABEL: tile.kernel @causal_has_two_loops
// CHECK-SAME: %[[HI:[a-z0-9]+]]: i32 {tile.name = "hi"}
tile.kernel @causal_has_two_loops(%hi: i32 {tile.name = "hi"}, %fhi: i32 {tile.name = "fhi"},
                                  %x: f32 {tile.name = "arg.x"})
    attributes {warps = 1 : i32, role = "main", grid = 1} {
  %c0 = arith.constant 0 : i32
  %other0 = arith.constant 0 : i32
  %init = tile.splat %x : f32 -> tensor<16x64xf32>
  %p = arith.constant dense<true> : tensor<16x64xi1>
  // CHECK: %[[END:.+]] = arith.maxsi
  // CHECK: scf.for %{{.+}} = %{{.+}} to %[[END]]
  // CHECK-NOT: arith.select
  // CHECK: scf.for %{{.+}} = %[[END]] to %[[HI]]
  // CHECK: arith.select
  // CHECK-NOT: scf.for
  %r = tile.kv_loop %c0 to %hi full(%other0 to %fhi) step 64 init(%init : tensor<16x64xf32>)
      -> tensor<16x64xf32> {
  ^bb0(%n0: i32, %s: tensor<16x64xf32>):
    %masked = tile.mask %s : tensor<16x64xf32> {
      tile.yield %p : tensor<16x64xi1>
    }
    tile.yield %masked : tensor<16x64xf32>
  }
  tile.return
}

// -----

// A whole number of blocks known to be full: one loop, no mask.
// CHECK-LABEL: tile.kernel @all_full
tile.kernel @all_full(%x: f32 {tile.name = "arg.x"})
    attributes {warps = 1 : i32, role = "main", grid = 1} {
  %c0 = arith.constant 0 : i32
  %c128 = arith.constant 128 : i32
  %init = tile.splat %x : f32 -> tensor<16x64xf32>
  %p = arith.constant dense<true> : tensor<16x64xi1>
  // CHECK: scf.for
  // CHECK-NOT: arith.select
  // CHECK-NOT: scf.for
  %r = tile.kv_loop %c0 to %c128 full(%c0 to %c128) step 64 init(%init : tensor<16x64xf32>)
      -> tensor<16x64xf32> {
  ^bb0(%n0: i32, %s: tensor<16x64xf32>):
    %masked = tile.mask %s : tensor<16x64xf32> {
      tile.yield %p : tensor<16x64xi1>
    }
    tile.yield %masked : tensor<16x64xf32>
  }
  tile.return
}

// -----

// No mask in the body: nothing to split.
// CHECK-LABEL: tile.kernel @no_mask
// CHECK-SAME: %[[LO:[a-z0-9]+]]: i32 {tile.name = "lo"}, %[[HI:[a-z0-9]+]]: i32
tile.kernel @no_mask(%lo: i32 {tile.name = "lo"}, %hi: i32 {tile.name = "hi"},
                     %x: f32 {tile.name = "arg.x"})
    attributes {warps = 1 : i32, role = "main", grid = 1} {
  // CHECK: scf.for %{{.+}} = %[[LO]] to %[[HI]]
  // CHECK-NOT: scf.for
  %r = tile.kv_loop %lo to %hi full(%lo to %lo) step 64 init(%x : f32) -> f32 {
  ^bb0(%n0: i32, %s: f32):
    %t = arith.addf %s, %x : f32
    tile.yield %t : f32
  }
  tile.return
}

// -----

// A mask under control flow in the body is found too.
// CHECK-LABEL: tile.kernel @nested_mask
tile.kernel @nested_mask(%lo: i32 {tile.name = "lo"}, %hi: i32 {tile.name = "hi"},
                         %x: f32 {tile.name = "arg.x"})
    attributes {warps = 1 : i32, role = "main", grid = 1} {
  %init = tile.splat %x : f32 -> tensor<16x64xf32>
  %p = arith.constant dense<true> : tensor<16x64xi1>
  // CHECK: scf.for
  // CHECK-NOT: arith.select
  // CHECK: scf.if
  // CHECK: scf.for
  // CHECK: scf.if
  // CHECK: arith.select
  %r = tile.kv_loop %lo to %hi full(%lo to %hi) step 64 init(%init : tensor<16x64xf32>)
      -> tensor<16x64xf32> {
  ^bb0(%n0: i32, %s: tensor<16x64xf32>):
    %first = arith.cmpi eq, %n0, %lo : i32
    %masked = scf.if %first -> tensor<16x64xf32> {
      %m = tile.mask %s : tensor<16x64xf32> {
        tile.yield %p : tensor<16x64xi1>
      }
      scf.yield %m : tensor<16x64xf32>
    } else {
      scf.yield %s : tensor<16x64xf32>
    }
    tile.yield %masked : tensor<16x64xf32>
  }
  tile.return
}

// -----

// Nothing to do.
// CHECK-LABEL: tile.kernel @no_loop
// CHECK-NEXT: tile.return
tile.kernel @no_loop() attributes {warps = 1 : i32, role = "main", grid = 1} {
  tile.return
}
