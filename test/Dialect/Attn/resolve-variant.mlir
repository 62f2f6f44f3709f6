// RUN: attn-opt %s --attn-resolve-variant --split-input-file | FileCheck %s
// RUN: attn-opt %s --attn-resolve-variant --attn-resolve-variant --split-input-file | FileCheck %s

// CHECK-LABEL: func @causal
func.func @causal(%q: tensor<?x8x?x64xf16>, %k: tensor<?x2x?x64xf16>, %v: tensor<?x2x?x64xf16>) -> tensor<?x8x?x64xf16> {
  // CHECK: attn.prefill
  // CHECK-NOT: masks
  // CHECK: mask {
  // CHECK-NEXT: ^bb0(%{{[a-z0-9]+}}: i32, %{{[a-z0-9]+}}: i32, %[[Q:[a-z0-9]+]]: i32, %[[KV:[a-z0-9]+]]: i32, %[[LQ:[a-z0-9]+]]: i32, %[[LKV:[a-z0-9]+]]: i32):
  // CHECK-NEXT: %[[SUM:.*]] = arith.addi %[[Q]], %[[LKV]]
  // CHECK-NEXT: %[[POS:.*]] = arith.subi %[[SUM]], %[[LQ]]
  // CHECK-NEXT: %[[SEES:.*]] = arith.cmpi sle, %[[KV]], %[[POS]]
  // CHECK-NEXT: attn.yield %[[SEES]] : i1
  // CHECK-NEXT: }
  // CHECK-NEXT: return
  %o = attn.prefill %q, %k, %v {masks = [#attn.causal<bottom_right>]}
      : tensor<?x8x?x64xf16>, tensor<?x2x?x64xf16>, tensor<?x2x?x64xf16> -> tensor<?x8x?x64xf16>
  return %o : tensor<?x8x?x64xf16>
}

// -----

// CHECK-LABEL: func @causal_top_left
func.func @causal_top_left(%q: tensor<?x8x?x64xf16>, %k: tensor<?x2x?x64xf16>, %v: tensor<?x2x?x64xf16>) -> tensor<?x8x?x64xf16> {
  // CHECK: mask {
  // CHECK-NEXT: ^bb0(%{{[a-z0-9]+}}: i32, %{{[a-z0-9]+}}: i32, %[[Q:[a-z0-9]+]]: i32, %[[KV:[a-z0-9]+]]: i32,
  // CHECK-NEXT: %[[SEES:.*]] = arith.cmpi sle, %[[KV]], %[[Q]]
  // CHECK-NEXT: attn.yield %[[SEES]] : i1
  %o = attn.prefill %q, %k, %v {masks = [#attn.causal<top_left>]}
      : tensor<?x8x?x64xf16>, tensor<?x2x?x64xf16>, tensor<?x2x?x64xf16> -> tensor<?x8x?x64xf16>
  return %o : tensor<?x8x?x64xf16>
}

// -----

// All masks must hold; of two bounds on one side the tighter one is kept, and the causal mask is
// the right bound 0.
// CHECK-LABEL: func @causal_and_windows
func.func @causal_and_windows(%q: tensor<?x8x?x64xf16>, %k: tensor<?x2x?x64xf16>, %v: tensor<?x2x?x64xf16>) -> tensor<?x8x?x64xf16> {
  // CHECK: mask {
  // CHECK-NEXT: ^bb0(%{{[a-z0-9]+}}: i32, %{{[a-z0-9]+}}: i32, %[[Q:[a-z0-9]+]]: i32, %[[KV:[a-z0-9]+]]: i32,
  // CHECK: %[[POS:.*]] = arith.subi
  // CHECK-NEXT: %[[CAUSAL:.*]] = arith.cmpi sle, %[[KV]], %[[POS]]
  // CHECK-NEXT: %[[LEFT:.*]] = arith.constant 100 : i32
  // CHECK-NEXT: %[[FIRST:.*]] = arith.subi %[[POS]], %[[LEFT]]
  // CHECK-NEXT: %[[INWINDOW:.*]] = arith.cmpi sge, %[[KV]], %[[FIRST]]
  // CHECK-NEXT: %[[BOTH:.*]] = arith.andi %[[CAUSAL]], %[[INWINDOW]]
  // CHECK-NEXT: attn.yield %[[BOTH]] : i1
  %o = attn.prefill %q, %k, %v {masks = [#attn.window<1023, 5>, #attn.causal<bottom_right>, #attn.window<100, -1>]}
      : tensor<?x8x?x64xf16>, tensor<?x2x?x64xf16>, tensor<?x2x?x64xf16> -> tensor<?x8x?x64xf16>
  return %o : tensor<?x8x?x64xf16>
}

// -----

// A window without bounds hides nothing: no region.
// CHECK-LABEL: func @unbounded_window
func.func @unbounded_window(%q: tensor<?x8x?x64xf16>, %k: tensor<?x2x?x64xf16>, %v: tensor<?x2x?x64xf16>) -> tensor<?x8x?x64xf16> {
  // CHECK: attn.prefill
  // CHECK-NOT: mask
  // CHECK: return
  %o = attn.prefill %q, %k, %v {masks = [#attn.window<-1, -1>]}
      : tensor<?x8x?x64xf16>, tensor<?x2x?x64xf16>, tensor<?x2x?x64xf16> -> tensor<?x8x?x64xf16>
  return %o : tensor<?x8x?x64xf16>
}

// -----

// Scores apply in the order of the list.
// CHECK-LABEL: func @softcap_then_alibi
func.func @softcap_then_alibi(%q: tensor<?x8x?x64xf16>, %k: tensor<?x2x?x64xf16>, %v: tensor<?x2x?x64xf16>, %lens: tensor<?xi32>) -> tensor<?x8x?x64xf16> {
  // CHECK: attn.decode
  // CHECK-NOT: scores
  // CHECK: score {
  // CHECK-NEXT: ^bb0(%[[S:[a-z0-9]+]]: f32, %{{[a-z0-9]+}}: i32, %[[H:[a-z0-9]+]]: i32, %{{[a-z0-9]+}}: i32, %[[KV:[a-z0-9]+]]: i32,
  // CHECK-NEXT: %[[CAP:.*]] = arith.constant 5.000000e+01 : f32
  // CHECK-NEXT: %[[RATIO:.*]] = arith.divf %[[S]], %[[CAP]] fastmath<arcp>
  // CHECK-NEXT: %[[TANH:.*]] = math.tanh %[[RATIO]]
  // CHECK-NEXT: %[[CAPPED:.*]] = arith.mulf %[[TANH]], %[[CAP]]
  // A power-of-two head count needs no select.
  // CHECK-NOT: arith.select
  // CHECK: %[[SCALE:.*]] = arith.constant -5.000000e-01 : f32
  // CHECK: %[[SLOPE:.*]] = math.exp2
  // CHECK: %[[DIST:[0-9]+]] = arith.subi %{{[0-9]+}}, %[[KV]]
  // CHECK: %[[DISTF:.*]] = arith.sitofp %[[DIST]]
  // CHECK: %[[BIAS:.*]] = arith.mulf %[[SLOPE]], %[[DISTF]]
  // CHECK: %[[RESULT:.*]] = arith.subf %[[CAPPED]], %[[BIAS]]
  // CHECK: attn.yield %[[RESULT]] : f32
  %o = attn.decode %q, %k, %v kv_lens(%lens : tensor<?xi32>) {max_q = 1, scores = [#attn.softcap<5.000000e+01 : f32>, #attn.alibi<8>]}
      : tensor<?x8x?x64xf16>, tensor<?x2x?x64xf16>, tensor<?x2x?x64xf16> -> tensor<?x8x?x64xf16>
  return %o : tensor<?x8x?x64xf16>
}

// -----

// 40 heads: the first 32 take the powers of 2^(-8/32), the other 8 the odd powers of 2^(-4/32).
// CHECK-LABEL: func @alibi_40_heads
func.func @alibi_40_heads(%q: tensor<?x40x?x64xf16>, %k: tensor<?x40x?x64xf16>, %v: tensor<?x40x?x64xf16>) -> tensor<?x40x?x64xf16> {
  // CHECK: score {
  // CHECK-NEXT: ^bb0(%{{[a-z0-9]+}}: f32, %{{[a-z0-9]+}}: i32, %[[H:[a-z0-9]+]]: i32,
  // CHECK-NEXT: %[[TWICE:.*]] = arith.addi %[[H]], %[[H]]
  // CHECK: %[[FIRST:.*]] = arith.addi %[[TWICE]], %c2_i32
  // CHECK: %[[BEYOND:.*]] = arith.addi %[[TWICE]], %c-63_i32
  // CHECK: %[[ISFIRST:.*]] = arith.cmpi slt, %[[H]], %c32_i32
  // CHECK: arith.select %[[ISFIRST]], %[[FIRST]], %[[BEYOND]]
  // CHECK: arith.constant -1.250000e-01 : f32
  %o = attn.prefill %q, %k, %v {scores = [#attn.alibi<40>]}
      : tensor<?x40x?x64xf16>, tensor<?x40x?x64xf16>, tensor<?x40x?x64xf16> -> tensor<?x40x?x64xf16>
  return %o : tensor<?x40x?x64xf16>
}

// -----

// Sugar and a region of the other kind live side by side; an op without sugar is left alone.
// CHECK-LABEL: func @keeps_regions
func.func @keeps_regions(%q: tensor<?x8x?x64xf16>, %k: tensor<?x2x?x64xf16>, %v: tensor<?x2x?x64xf16>, %cap: f32) -> tensor<?x8x?x64xf16> {
  // CHECK: attn.prefill
  // CHECK-NOT: mask
  // CHECK: score {
  // CHECK-NEXT: ^bb0(%[[S:[a-z0-9]*]]: f32,
  // CHECK-NEXT: %[[X:.*]] = arith.mulf %[[S]], %{{.*}} : f32
  // CHECK-NEXT: attn.yield %[[X]] : f32
  // CHECK-NEXT: }
  // CHECK-NEXT: return
  %o = attn.prefill %q, %k, %v : tensor<?x8x?x64xf16>, tensor<?x2x?x64xf16>, tensor<?x2x?x64xf16> -> tensor<?x8x?x64xf16>
  score {
  ^bb0(%s: f32, %b: i32, %h: i32, %i: i32, %j: i32, %len_q: i32, %len_kv: i32):
    %x = arith.mulf %s, %cap : f32
    attn.yield %x : f32
  }
  return %o : tensor<?x8x?x64xf16>
}
