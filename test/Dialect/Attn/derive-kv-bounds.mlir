// RUN: attn-opt %s --attn-resolve-variant --attn-derive-kv-bounds --split-input-file | FileCheck %s
// RUN: attn-opt %s --attn-resolve-variant --attn-derive-kv-bounds --attn-derive-kv-bounds --split-input-file | FileCheck %s

// Without a mask every key is visible to every row.
// CHECK-LABEL: func @no_mask
func.func @no_mask(%q: tensor<?x8x?x64xf16>, %k: tensor<?x2x?x64xf16>, %v: tensor<?x2x?x64xf16>) -> tensor<?x8x?x64xf16> {
  // CHECK: bounds {
  // CHECK-NEXT: ^bb0({{.*}}, %[[LENKV:[a-z0-9]+]]: i32):
  // CHECK-NEXT: %[[ZERO:.*]] = arith.constant 0 : i32
  // CHECK-NEXT: attn.yield %[[ZERO]], %[[ZERO]], %[[LENKV]], %[[LENKV]]
  %o = attn.prefill %q, %k, %v
      : tensor<?x8x?x64xf16>, tensor<?x2x?x64xf16>, tensor<?x2x?x64xf16> -> tensor<?x8x?x64xf16>
  return %o : tensor<?x8x?x64xf16>
}

// -----

// Keys up to the last row's position may be visible, those up to the first row's are to all rows.
// CHECK-LABEL: func @causal
func.func @causal(%q: tensor<?x8x?x64xf16>, %k: tensor<?x2x?x64xf16>, %v: tensor<?x2x?x64xf16>) -> tensor<?x8x?x64xf16> {
  // CHECK: bounds {
  // CHECK-NEXT: ^bb0(%{{.*}}: i32, %{{.*}}: i32, %[[FIRST:[a-z0-9]+]]: i32, %[[LAST:[a-z0-9]+]]: i32, %[[LENQ:[a-z0-9]+]]: i32, %[[LENKV:[a-z0-9]+]]: i32):
  // CHECK-NEXT: %[[ZERO:.*]] = arith.constant 0
  // CHECK-NEXT: %[[ONE:.*]] = arith.constant 1
  // CHECK-NEXT: %[[T0:.*]] = arith.addi %[[LENKV]], %[[FIRST]]
  // CHECK-NEXT: %[[P0:.*]] = arith.subi %[[T0]], %[[LENQ]]
  // CHECK-NEXT: %[[E0:.*]] = arith.addi %[[P0]], %[[ONE]]
  // CHECK-NEXT: %[[FULL:.*]] = arith.maxsi %[[E0]], %[[ZERO]]
  // CHECK-NEXT: %[[END:.*]] = arith.subi %[[LENQ]], %[[ONE]]
  // CHECK-NEXT: %[[ROW:.*]] = arith.minsi %[[LAST]], %[[END]]
  // CHECK-NEXT: %[[T1:.*]] = arith.addi %[[LENKV]], %[[ROW]]
  // CHECK-NEXT: %[[P1:.*]] = arith.subi %[[T1]], %[[LENQ]]
  // CHECK-NEXT: %[[E1:.*]] = arith.addi %[[P1]], %[[ONE]]
  // CHECK-NEXT: %[[UPPER:.*]] = arith.maxsi %[[E1]], %[[ZERO]]
  // CHECK-NEXT: attn.yield %[[ZERO]], %[[ZERO]], %[[FULL]], %[[UPPER]]
  %o = attn.prefill %q, %k, %v {masks = [#attn.causal<bottom_right>]}
      : tensor<?x8x?x64xf16>, tensor<?x2x?x64xf16>, tensor<?x2x?x64xf16> -> tensor<?x8x?x64xf16>
  return %o : tensor<?x8x?x64xf16>
}

// -----

// A prefix of keys that all rows see, given at run time: two convex pieces. Both begin at key 0, so
// that their hull needs no test for emptiness.
// CHECK-LABEL: func @prefix_lm
// CHECK-SAME: %[[PREFIX:[a-z0-9]+]]: i32)
func.func @prefix_lm(%q: tensor<?x8x?x64xf16>, %k: tensor<?x2x?x64xf16>, %v: tensor<?x2x?x64xf16>, %prefix: i32) -> tensor<?x8x?x64xf16> {
  // CHECK: bounds {
  // CHECK-NEXT: ^bb0({{.*}}, %[[LENQ:[a-z0-9]+]]: i32, %[[LENKV:[a-z0-9]+]]: i32):
  // CHECK-NOT: arith.select
  // CHECK: %[[ZERO:.*]] = arith.constant 0
  // CHECK: %[[P0:.*]] = arith.subi
  // CHECK: %[[E0:.*]] = arith.addi %[[P0]]
  // CHECK: %[[F0:.*]] = arith.maxsi %[[E0]], %[[PREFIX]]
  // CHECK: %[[F1:.*]] = arith.maxsi %[[F0]], %[[ZERO]]
  // CHECK: %[[IN:.*]] = arith.minsi %[[PREFIX]], %[[LENKV]]
  // CHECK: %[[P1:.*]] = arith.subi %{{.*}}, %[[LENQ]]
  // CHECK: %[[E1:.*]] = arith.addi %[[P1]]
  // CHECK: %[[U0:.*]] = arith.maxsi %[[IN]], %[[E1]]
  // CHECK: %[[UPPER:.*]] = arith.maxsi %[[U0]], %[[ZERO]]
  // CHECK: %[[FULL:.*]] = arith.minsi %[[F1]], %[[UPPER]]
  // CHECK: attn.yield %[[ZERO]], %[[ZERO]], %[[FULL]], %[[UPPER]]
  %o = attn.prefill %q, %k, %v
      : tensor<?x8x?x64xf16>, tensor<?x2x?x64xf16>, tensor<?x2x?x64xf16> -> tensor<?x8x?x64xf16>
  mask {
  ^bb0(%b: i32, %h: i32, %i: i32, %j: i32, %len_q: i32, %len_kv: i32):
    %past = arith.addi %i, %len_kv : i32
    %p = arith.subi %past, %len_q : i32
    %in = arith.cmpi slt, %j, %prefix : i32
    %causal = arith.cmpi sle, %j, %p : i32
    %r = arith.ori %in, %causal : i1
    attn.yield %r : i1
  }
  return %o : tensor<?x8x?x64xf16>
}

// -----

// kv >= 4 and 2·kv <= q_pos: the upper bound is a quotient. The lower one, 4, may pass len_kv.
// CHECK-LABEL: func @half
func.func @half(%q: tensor<?x8x?x64xf16>, %k: tensor<?x2x?x64xf16>, %v: tensor<?x2x?x64xf16>) -> tensor<?x8x?x64xf16> {
  // CHECK: bounds {
  // CHECK-NEXT: ^bb0({{.*}}, %[[LENKV:[a-z0-9]+]]: i32):
  // CHECK: %[[C4:.*]] = arith.constant 4
  // CHECK: %[[LOWER:.*]] = arith.minsi %[[C4]], %[[LENKV]]
  // CHECK: arith.floordivsi
  // CHECK: attn.yield %[[LOWER]],
  %o = attn.prefill %q, %k, %v
      : tensor<?x8x?x64xf16>, tensor<?x2x?x64xf16>, tensor<?x2x?x64xf16> -> tensor<?x8x?x64xf16>
  mask {
  ^bb0(%b: i32, %h: i32, %i: i32, %j: i32, %len_q: i32, %len_kv: i32):
    %past = arith.addi %i, %len_kv : i32
    %p = arith.subi %past, %len_q : i32
    %c2 = arith.constant 2 : i32
    %c4 = arith.constant 4 : i32
    %after = arith.cmpi sge, %j, %c4 : i32
    %twice = arith.muli %j, %c2 : i32
    %before = arith.cmpi sle, %twice, %p : i32
    %r = arith.andi %after, %before : i1
    attn.yield %r : i1
  }
  return %o : tensor<?x8x?x64xf16>
}

// -----

// A window given at run time may be INT_MAX: q_pos − win needs more than 32 bits.
// CHECK-LABEL: func @run_time_window
// CHECK-SAME: %[[WIN:[a-z0-9]+]]: i32)
func.func @run_time_window(%q: tensor<?x8x?x64xf16>, %k: tensor<?x2x?x64xf16>, %v: tensor<?x2x?x64xf16>, %win: i32) -> tensor<?x8x?x64xf16> {
  // CHECK: bounds {
  // CHECK: %[[WIDE:.*]] = arith.extsi %[[WIN]] : i32 to i64
  // CHECK: arith.subi %{{.*}}, %[[WIDE]] : i64
  // CHECK-COUNT-4: arith.trunci %{{.*}} : i64 to i32
  // CHECK-NEXT: attn.yield
  %o = attn.prefill %q, %k, %v
      : tensor<?x8x?x64xf16>, tensor<?x2x?x64xf16>, tensor<?x2x?x64xf16> -> tensor<?x8x?x64xf16>
  mask {
  ^bb0(%b: i32, %h: i32, %i: i32, %j: i32, %len_q: i32, %len_kv: i32):
    %past = arith.addi %i, %len_kv : i32
    %p = arith.subi %past, %len_q : i32
    %causal = arith.cmpi sge, %p, %j : i32
    %d = arith.subi %p, %j : i32
    %near = arith.cmpi slt, %d, %win : i32
    %r = arith.andi %causal, %near : i1
    attn.yield %r : i1
  }
  return %o : tensor<?x8x?x64xf16>
}

// -----

// A lookup by sequence is the same for all positions: it is copied into the bounds. One by key is
// opaque: all keys may be visible, and none is known to be.
// CHECK-LABEL: func @lookups
// CHECK-SAME: %[[LIMITS:[a-z0-9]+]]: tensor<?xi32>, %[[KEEP:[a-z0-9]+]]: tensor<?xi1>)
func.func @lookups(%q: tensor<?x8x?x64xf16>, %k: tensor<?x2x?x64xf16>, %v: tensor<?x2x?x64xf16>, %limits: tensor<?xi32>, %keep: tensor<?xi1>) -> tensor<?x8x?x64xf16> {
  // CHECK: bounds {
  // CHECK-NEXT: ^bb0(%[[B:[a-z0-9]+]]: i32,
  // CHECK-NOT: %[[KEEP]]
  // CHECK: %[[LIMIT:.*]] = attn.lookup %[[LIMITS]][%[[B]]]
  // CHECK-NEXT: %[[U0:.*]] = arith.minsi %[[LIMIT]], %{{.*}}
  // CHECK-NEXT: %[[UPPER:.*]] = arith.maxsi %[[U0]], %[[ZERO:.*]] :
  // CHECK-NEXT: attn.yield %[[ZERO]], %[[ZERO]], %[[ZERO]], %[[UPPER]]
  %o = attn.prefill %q, %k, %v
      : tensor<?x8x?x64xf16>, tensor<?x2x?x64xf16>, tensor<?x2x?x64xf16> -> tensor<?x8x?x64xf16>
  mask {
  ^bb0(%b: i32, %h: i32, %i: i32, %j: i32, %len_q: i32, %len_kv: i32):
    %limit = attn.lookup %limits[%b] : tensor<?xi32> -> i32
    %in = arith.cmpi slt, %j, %limit : i32
    %kept = attn.lookup %keep[%j] : tensor<?xi1> -> i1
    %r = arith.andi %in, %kept : i1
    attn.yield %r : i1
  }
  return %o : tensor<?x8x?x64xf16>
}

// -----

// Bounds that are there already are kept.
// CHECK-LABEL: func @keeps_bounds
func.func @keeps_bounds(%q: tensor<?x8x?x64xf16>, %k: tensor<?x2x?x64xf16>, %v: tensor<?x2x?x64xf16>) -> tensor<?x8x?x64xf16> {
  // CHECK: bounds {
  // CHECK-NEXT: ^bb0
  // CHECK-NEXT: %[[C:.*]] = arith.constant 7
  // CHECK-NEXT: attn.yield %[[C]], %[[C]], %[[C]], %[[C]]
  %o = attn.prefill %q, %k, %v
      : tensor<?x8x?x64xf16>, tensor<?x2x?x64xf16>, tensor<?x2x?x64xf16> -> tensor<?x8x?x64xf16>
  bounds {
  ^bb0(%b: i32, %h: i32, %first: i32, %last: i32, %len_q: i32, %len_kv: i32):
    %c7 = arith.constant 7 : i32
    attn.yield %c7, %c7, %c7, %c7 : i32, i32, i32, i32
  }
  return %o : tensor<?x8x?x64xf16>
}
