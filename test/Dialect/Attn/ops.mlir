// RUN: attn-opt %s | attn-opt | FileCheck %s
// RUN: attn-opt %s --mlir-print-op-generic | attn-opt | FileCheck %s
// RUN: attn-opt %s --emit-bytecode | attn-opt | FileCheck %s

// CHECK-LABEL: func @prefill
func.func @prefill(%q: tensor<?x32x?x128xbf16>, %k: tensor<?x8x?x128xbf16>, %v: tensor<?x8x?x128xbf16>)
    -> (tensor<?x32x?x128xbf16>, tensor<?x32x?xf32>) {
  // CHECK: attn.prefill %{{.*}}, %{{.*}}, %{{.*}} {config = #attn.config<blockM = 128, blockN = 64, warps = 8, stages = 2, packGqa = true, qInRegisters = false>, layout = #attn.layout<bhsd>, masks = [#attn.causal<top_left>, #attn.window<1023, 0>], scale = 1.250000e-01 : f32, scores = [#attn.softcap<5.000000e+01 : f32>, #attn.alibi<40>]}
  // CHECK-SAME: : tensor<?x32x?x128xbf16>, tensor<?x8x?x128xbf16>, tensor<?x8x?x128xbf16> -> tensor<?x32x?x128xbf16>, tensor<?x32x?xf32>
  %o, %lse = attn.prefill %q, %k, %v {
      masks = [#attn.causal<top_left>, #attn.window<1023, 0>],
      scores = [#attn.softcap<5.000000e+01 : f32>, #attn.alibi<40>],
      layout = #attn.layout<bhsd>, scale = 0.125 : f32,
      config = #attn.config<blockM = 128, blockN = 64, warps = 8, stages = 2, packGqa = true, qInRegisters = false>}
      : tensor<?x32x?x128xbf16>, tensor<?x8x?x128xbf16>, tensor<?x8x?x128xbf16>
     -> tensor<?x32x?x128xbf16>, tensor<?x32x?xf32>
  return %o, %lse : tensor<?x32x?x128xbf16>, tensor<?x32x?xf32>
}

// CHECK-LABEL: func @regions
func.func @regions(%q: tensor<?x4x?x64xf16>, %k: tensor<?x4x?x64xf16>, %v: tensor<?x4x?x64xf16>,
                   %bias: tensor<?x?xf32>, %win: i32) -> tensor<?x4x?x64xf16> {
  // CHECK: attn.prefill
  // CHECK: mask {
  // CHECK: attn.yield %{{.*}} : i1
  // CHECK: } score {
  // CHECK: attn.lookup %{{.*}}[%{{.*}}, %{{.*}}] : tensor<?x?xf32> -> f32
  // CHECK: attn.yield %{{.*}} : f32
  // CHECK: } bounds {
  // CHECK: attn.yield %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} : i32, i32, i32, i32
  %o = attn.prefill %q, %k, %v
      : tensor<?x4x?x64xf16>, tensor<?x4x?x64xf16>, tensor<?x4x?x64xf16> -> tensor<?x4x?x64xf16>
  mask {
  ^bb0(%b: i32, %h: i32, %i: i32, %j: i32, %len_q: i32, %len_kv: i32):
    %near = arith.cmpi slt, %j, %win : i32
    attn.yield %near : i1
  } score {
  ^bb0(%s: f32, %b: i32, %h: i32, %i: i32, %j: i32, %len_q: i32, %len_kv: i32):
    %x = attn.lookup %bias[%i, %j] : tensor<?x?xf32> -> f32
    %y = arith.addf %s, %x : f32
    attn.yield %y : f32
  } bounds {
  ^bb0(%b: i32, %h: i32, %first: i32, %last: i32, %len_q: i32, %len_kv: i32):
    %zero = arith.constant 0 : i32
    attn.yield %zero, %zero, %zero, %len_kv : i32, i32, i32, i32
  }
  return %o : tensor<?x4x?x64xf16>
}

// CHECK-LABEL: func @varlen
func.func @varlen(%q: tensor<?x4x?x64xf32>, %k: tensor<?x4x?x64xf32>, %v: tensor<?x4x?x64xf32>,
                  %cq: tensor<?xi32>, %ck: tensor<?xi32>) -> tensor<?x4x?x64xf32> {
  // CHECK: attn.prefill %{{.*}}, %{{.*}}, %{{.*}} cu_seqlens_q(%{{.*}} : tensor<?xi32>) cu_seqlens_kv(%{{.*}} : tensor<?xi32>)
  %o = attn.prefill %q, %k, %v cu_seqlens_q(%cq : tensor<?xi32>) cu_seqlens_kv(%ck : tensor<?xi32>)
      : tensor<?x4x?x64xf32>, tensor<?x4x?x64xf32>, tensor<?x4x?x64xf32> -> tensor<?x4x?x64xf32>
  return %o : tensor<?x4x?x64xf32>
}

// CHECK-LABEL: func @paged_decode
func.func @paged_decode(%q: tensor<?x32x?x128xbf16>, %k: tensor<?x8x16x128xbf16>, %v: tensor<?x8x16x128xbf16>,
                        %lens: tensor<?xi32>, %table: tensor<?x?xi32>, %sinks: tensor<32xf32>)
    -> tensor<?x32x?x128xbf16> {
  // CHECK: attn.decode %{{.*}}, %{{.*}}, %{{.*}} kv_lens(%{{.*}} : tensor<?xi32>) block_table(%{{.*}} : tensor<?x?xi32>) sinks(%{{.*}} : tensor<32xf32>) {max_q = 8 : i64, page_size = 16 : i64}
  %o = attn.decode %q, %k, %v kv_lens(%lens : tensor<?xi32>) block_table(%table : tensor<?x?xi32>) sinks(%sinks : tensor<32xf32>)
      {max_q = 8 : i64, page_size = 16 : i64}
      : tensor<?x32x?x128xbf16>, tensor<?x8x16x128xbf16>, tensor<?x8x16x128xbf16> -> tensor<?x32x?x128xbf16>
  return %o : tensor<?x32x?x128xbf16>
}

// CHECK-LABEL: func @split_decode
func.func @split_decode(%q: tensor<?x8x?x64xf16>, %k: tensor<?x2x?x64xf16>, %v: tensor<?x2x?x128xf16>, %sinks: tensor<8xf32>)
    -> (tensor<?x8x?x128xf16>, tensor<?x8x?xf32>) {
  // CHECK: %[[O:.*]], %[[LSE:.*]] = attn.decode {{.*}} {max_q = 1 : i64, partial}
  %op, %lp = attn.decode %q, %k, %v {max_q = 1 : i64, partial}
      : tensor<?x8x?x64xf16>, tensor<?x2x?x64xf16>, tensor<?x2x?x128xf16> -> tensor<?x?x8x?x128xf32>, tensor<?x?x8x?xf32>
  // CHECK: attn.combine %[[O]], %[[LSE]] sinks(%{{.*}} : tensor<8xf32>)
  %o, %lse = attn.combine %op, %lp sinks(%sinks : tensor<8xf32>)
      : tensor<?x?x8x?x128xf32>, tensor<?x?x8x?xf32> -> tensor<?x8x?x128xf16>, tensor<?x8x?xf32>
  return %o, %lse : tensor<?x8x?x128xf16>, tensor<?x8x?xf32>
}
