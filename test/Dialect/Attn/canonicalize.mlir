// RUN: attn-opt %s --canonicalize --split-input-file | FileCheck %s

!q = tensor<?x8x?x64xf16>
!kv = tensor<?x2x?x64xf16>

// CHECK-LABEL: func @merges_masks
func.func @merges_masks(%q: !q, %k: !kv, %v: !kv) -> (!q, !q, !q, !q) {
  // The tighter bound of each side; a right bound of 0 is causal.
  // CHECK: masks = [#attn.causal<bottom_right>, #attn.window<10, -1>]
  %0 = attn.prefill %q, %k, %v {masks = [#attn.window<10, 3>, #attn.causal<bottom_right>, #attn.window<99, -1>, #attn.causal<bottom_right>]} : !q, !kv, !kv -> !q
  // CHECK: masks = [#attn.causal<bottom_right>]}
  %1 = attn.prefill %q, %k, %v {masks = [#attn.window<-1, 0>]} : !q, !kv, !kv -> !q
  // CHECK: masks = [#attn.causal<top_left>, #attn.window<3, 2>]
  %2 = attn.decode %q, %k, %v {masks = [#attn.window<3, 7>, #attn.causal<top_left>, #attn.window<5, 2>], max_q = 1} : !q, !kv, !kv -> !q
  // Canonical already.
  // CHECK: masks = [#attn.causal<bottom_right>, #attn.causal<top_left>, #attn.window<4, -1>]
  %3 = attn.prefill %q, %k, %v {masks = [#attn.causal<bottom_right>, #attn.causal<top_left>, #attn.window<4, -1>]} : !q, !kv, !kv -> !q
  return %0, %1, %2, %3 : !q, !q, !q, !q
}

// -----

!q = tensor<?x8x?x64xf16>
!kv = tensor<?x2x?x64xf16>

// CHECK-LABEL: func @drops_what_says_nothing
func.func @drops_what_says_nothing(%q: !q, %k: !kv, %v: !kv) -> (!q, !q) {
  // CHECK: attn.prefill
  // CHECK-NOT: masks
  // CHECK-NOT: scores
  // CHECK-NOT: mask {
  // CHECK-NOT: score {
  // CHECK: return
  %0 = attn.prefill %q, %k, %v {masks = [#attn.window<-1, -1>], scores = []} : !q, !kv, !kv -> !q
  %1 = attn.prefill %q, %k, %v : !q, !kv, !kv -> !q
  mask {
  ^bb0(%b: i32, %h: i32, %i: i32, %j: i32, %len_q: i32, %len_kv: i32):
    %true = arith.constant true
    %r = arith.ori %true, %true : i1
    attn.yield %r : i1
  } score {
  ^bb0(%s: f32, %b: i32, %h: i32, %i: i32, %j: i32, %len_q: i32, %len_kv: i32):
    attn.yield %s : f32
  }
  return %0, %1 : !q, !q
}

// -----

!q = tensor<?x8x?x64xf16>
!kv = tensor<?x2x?x64xf16>

// A mask that hides everything, and a score that is not the identity, stay.
// CHECK-LABEL: func @keeps_what_says_something
func.func @keeps_what_says_something(%q: !q, %k: !kv, %v: !kv) -> !q {
  // CHECK: mask {
  // CHECK: attn.yield %false
  // CHECK: score {
  // CHECK: attn.yield
  %0 = attn.prefill %q, %k, %v : !q, !kv, !kv -> !q
  mask {
  ^bb0(%b: i32, %h: i32, %i: i32, %j: i32, %len_q: i32, %len_kv: i32):
    %false = arith.constant false
    attn.yield %false : i1
  } score {
  ^bb0(%s: f32, %b: i32, %h: i32, %i: i32, %j: i32, %len_q: i32, %len_kv: i32):
    %x = arith.negf %s : f32
    attn.yield %x : f32
  }
  return %0 : !q
}
