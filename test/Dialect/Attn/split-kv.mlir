// RUN: attn-opt %s -attn-split-kv | FileCheck %s

// The sink moves to the merge, so that it is counted once (case C11).
// CHECK-LABEL: func.func @split
// CHECK-SAME: %[[Q:[a-z0-9]+]]: tensor<?x8x?x64xf16> {attn.name = "q"}
// CHECK-SAME: %[[SINKS:[a-z0-9]+]]: tensor<8xf32>
func.func @split(%q: tensor<?x8x?x64xf16> {attn.name = "q"}, %k: tensor<?x2x?x64xf16> {attn.name = "k"},
                 %v: tensor<?x2x?x32xf16> {attn.name = "v"}, %lens: tensor<?xi32> {attn.name = "kv_lens"},
                 %sinks: tensor<8xf32> {attn.name = "sinks"})
    -> (tensor<?x8x?x32xf16> {attn.name = "o"}) {
  // CHECK: %[[O:.+]], %[[LSE:.+]] = attn.decode %[[Q]], %{{.+}}, %{{.+}} kv_lens(%{{.+}} : tensor<?xi32>)
  // CHECK-SAME: max_q = 4 : i64, partial, scale = 5.000000e-01 : f32
  // CHECK-SAME: -> tensor<?x?x8x?x32xf32>, tensor<?x?x8x?xf32>
  // CHECK: mask {
  // CHECK: bounds {
  // CHECK: %[[MERGED:.+]] = attn.combine %[[O]], %[[LSE]] sinks(%[[SINKS]] : tensor<8xf32>)
  // CHECK-SAME: tensor<?x?x8x?x32xf32>, tensor<?x?x8x?xf32> -> tensor<?x8x?x32xf16>
  // CHECK: return %[[MERGED]]
  %o = attn.decode %q, %k, %v kv_lens(%lens : tensor<?xi32>) sinks(%sinks : tensor<8xf32>)
      {max_q = 4 : i64, scale = 0.5 : f32,
       config = #attn.config<blockM = 16, blockN = 64, warps = 1, stages = 2, splitKv = true>}
      : tensor<?x8x?x64xf16>, tensor<?x2x?x64xf16>, tensor<?x2x?x32xf16> -> tensor<?x8x?x32xf16>
  mask {
  ^bb0(%b: i32, %h: i32, %qi: i32, %kv: i32, %lq: i32, %lk: i32):
    %p = arith.cmpi sge, %qi, %kv : i32
    attn.yield %p : i1
  } bounds {
  ^bb0(%b: i32, %h: i32, %first: i32, %last: i32, %lq: i32, %lk: i32):
    %c0 = arith.constant 0 : i32
    attn.yield %c0, %c0, %c0, %lk : i32, i32, i32, i32
  }
  return %o : tensor<?x8x?x32xf16>
}

// CHECK-LABEL: func.func @keeps_lse
func.func @keeps_lse(%q: tensor<?x8x?x64xf16> {attn.name = "q"}, %k: tensor<?x2x?x64xf16> {attn.name = "k"},
                     %v: tensor<?x2x?x64xf16> {attn.name = "v"})
    -> (tensor<?x8x?x64xf16> {attn.name = "o"}, tensor<?x8x?xf32> {attn.name = "lse"}) {
  // CHECK: attn.combine
  // CHECK-SAME: -> tensor<?x8x?x64xf16>, tensor<?x8x?xf32>
  %o, %lse = attn.decode %q, %k, %v
      {max_q = 4 : i64,
       config = #attn.config<blockM = 16, blockN = 64, warps = 1, stages = 2, splitKv = true>}
      : tensor<?x8x?x64xf16>, tensor<?x2x?x64xf16>, tensor<?x2x?x64xf16>
     -> tensor<?x8x?x64xf16>, tensor<?x8x?xf32>
  return %o, %lse : tensor<?x8x?x64xf16>, tensor<?x8x?xf32>
}

// A config that does not split, and no config, are left alone.
// CHECK-LABEL: func.func @no_split
// CHECK-NOT: partial
// CHECK-NOT: attn.combine
func.func @no_split(%q: tensor<?x8x?x64xf16> {attn.name = "q"}, %k: tensor<?x2x?x64xf16> {attn.name = "k"},
                    %v: tensor<?x2x?x64xf16> {attn.name = "v"})
    -> (tensor<?x8x?x64xf16> {attn.name = "o"}, tensor<?x8x?x64xf16> {attn.name = "o2"}) {
  %o = attn.decode %q, %k, %v
      {max_q = 4 : i64, config = #attn.config<blockM = 16, blockN = 64, warps = 1, stages = 2>}
      : tensor<?x8x?x64xf16>, tensor<?x2x?x64xf16>, tensor<?x2x?x64xf16> -> tensor<?x8x?x64xf16>
  %o2 = attn.decode %q, %k, %v {max_q = 4 : i64}
      : tensor<?x8x?x64xf16>, tensor<?x2x?x64xf16>, tensor<?x2x?x64xf16> -> tensor<?x8x?x64xf16>
  return %o, %o2 : tensor<?x8x?x64xf16>, tensor<?x8x?x64xf16>
}
