// What convert-attn-to-tile refuses, and what it says to do.
// RUN: attn-opt %s -convert-attn-to-tile -split-input-file -verify-diagnostics
!t = tensor<?x4x?x64xf16>

func.func @no_config(%q: !t {attn.name = "q"}, %k: !t {attn.name = "k"}, %v: !t {attn.name = "v"})
    -> (!t {attn.name = "o"}) {
  // expected-error @+1 {{has no config; run attn-choose-config first, or set config = #attn.config<…>}}
  %o = attn.prefill %q, %k, %v : !t, !t, !t -> !t
  return %o : !t
}

// -----
!t = tensor<?x4x?x64xf16>

func.func @no_bounds(%q: !t {attn.name = "q"}, %k: !t {attn.name = "k"}, %v: !t {attn.name = "v"})
    -> (!t {attn.name = "o"}) {
  // expected-error @+1 {{has no bounds region; run attn-derive-kv-bounds first}}
  %o = attn.prefill %q, %k, %v {config = #attn.config<blockM = 64, blockN = 64, warps = 4, stages = 2>}
      : !t, !t, !t -> !t
  return %o : !t
}

// -----
!t = tensor<?x4x?x64xf16>

func.func @named_mask(%q: !t {attn.name = "q"}, %k: !t {attn.name = "k"}, %v: !t {attn.name = "v"})
    -> (!t {attn.name = "o"}) {
  // expected-error @+1 {{has named masks or scores; run attn-resolve-variant first, which turns them into regions}}
  %o = attn.prefill %q, %k, %v {masks = [#attn.causal<bottom_right>]} : !t, !t, !t -> !t
  return %o : !t
}

// -----
!t = tensor<?x4x?x64xf16>

func.func @block_size(%q: !t {attn.name = "q"}, %k: !t {attn.name = "k"}, %v: !t {attn.name = "v"})
    -> (!t {attn.name = "o"}) {
  // expected-error @+1 {{config has blockM = 60, blockN = 64, warps = 4; blocks are positive multiples of 16 and warps 1 to 32}}
  %o = attn.prefill %q, %k, %v {config = #attn.config<blockM = 60, blockN = 64, warps = 4, stages = 2>}
      : !t, !t, !t -> !t
  return %o : !t
}

// -----
!t = tensor<?x4x?x64xf16>

// expected-error @+1 {{argument 1 has no 'attn.name'; the runtime binds arguments by name, so give it one}}
func.func @unnamed(%q: !t {attn.name = "q"}, %k: !t, %v: !t {attn.name = "v"}) -> (!t {attn.name = "o"}) {
  %o = attn.prefill %q, %k, %v {config = #attn.config<blockM = 64, blockN = 64, warps = 4, stages = 2>}
      : !t, !t, !t -> !t
  bounds {
  ^bb0(%b: i32, %h: i32, %first: i32, %last: i32, %lq: i32, %lk: i32):
    %c0 = arith.constant 0 : i32
    attn.yield %c0, %c0, %lk, %lk : i32, i32, i32, i32
  }
  return %o : !t
}

// -----
!t = tensor<?x4x?x64xf16>

func.func @not_returned(%q: !t {attn.name = "q"}, %k: !t {attn.name = "k"}, %v: !t {attn.name = "v"}) {
  // expected-error @+1 {{the function does not return the output; the kernel would compute nothing}}
  %o = attn.prefill %q, %k, %v {config = #attn.config<blockM = 64, blockN = 64, warps = 4, stages = 2>}
      : !t, !t, !t -> !t
  bounds {
  ^bb0(%b: i32, %h: i32, %first: i32, %last: i32, %lq: i32, %lk: i32):
    %c0 = arith.constant 0 : i32
    attn.yield %c0, %c0, %lk, %lk : i32, i32, i32, i32
  }
  return
}

// -----
!t = tensor<?x4x?x64xf16>

func.func @computed_operand(%q: !t {attn.name = "q"}, %k: !t {attn.name = "k"}, %v: !t {attn.name = "v"})
    -> (!t {attn.name = "o"}) {
  // expected-error @+1 {{an operand of an attention op is computed in the function; the kernel can read only the function's arguments; pass it as an argument}}
  %k2 = arith.addf %k, %k : !t
  %o = attn.prefill %q, %k2, %v {config = #attn.config<blockM = 64, blockN = 64, warps = 4, stages = 2>}
      : !t, !t, !t -> !t
  bounds {
  ^bb0(%b: i32, %h: i32, %first: i32, %last: i32, %lq: i32, %lk: i32):
    %c0 = arith.constant 0 : i32
    attn.yield %c0, %c0, %lk, %lk : i32, i32, i32, i32
  }
  return %o : !t
}

// -----
!t = tensor<?x4x?x64xf16>

func.func @captured_tensor(%q: !t {attn.name = "q"}, %k: !t {attn.name = "k"}, %v: !t {attn.name = "v"},
                           %bias: tensor<?xf32> {attn.name = "arg.bias"}) -> (!t {attn.name = "o"}) {
  // expected-error @+1 {{a region captures the result of 'arith.negf'; only arguments and pure ops on scalars can be captured}}
  %neg = arith.negf %bias : tensor<?xf32>
  %o = attn.prefill %q, %k, %v {config = #attn.config<blockM = 64, blockN = 64, warps = 4, stages = 2>}
      : !t, !t, !t -> !t
  score {
  ^bb0(%s: f32, %b: i32, %h: i32, %qi: i32, %kv: i32, %lq: i32, %lk: i32):
    %x = attn.lookup %neg[%kv] : tensor<?xf32> -> f32
    attn.yield %x : f32
  }
  bounds {
  ^bb0(%b: i32, %h: i32, %first: i32, %last: i32, %lq: i32, %lk: i32):
    %c0 = arith.constant 0 : i32
    attn.yield %c0, %c0, %lk, %lk : i32, i32, i32, i32
  }
  return %o : !t
}

// -----
!t = tensor<?x4x?x64xf16>

func.func @control_flow(%q: !t {attn.name = "q"}, %k: !t {attn.name = "k"}, %v: !t {attn.name = "v"})
    -> (!t {attn.name = "o"}) {
  %o = attn.prefill %q, %k, %v {config = #attn.config<blockM = 64, blockN = 64, warps = 4, stages = 2>}
      : !t, !t, !t -> !t
  score {
  ^bb0(%s: f32, %b: i32, %h: i32, %qi: i32, %kv: i32, %lq: i32, %lk: i32):
    %p = arith.cmpi sge, %qi, %kv : i32
    // expected-error @+1 {{'scf.if' in a score, mask or bounds region cannot be written on tiles; allowed are attn.lookup and the elementwise arith and math ops (use arith.select instead of control flow)}}
    %x = scf.if %p -> f32 {
      scf.yield %s : f32
    } else {
      %zero = arith.constant 0.0 : f32
      scf.yield %zero : f32
    }
    attn.yield %x : f32
  }
  bounds {
  ^bb0(%b: i32, %h: i32, %first: i32, %last: i32, %lq: i32, %lk: i32):
    %c0 = arith.constant 0 : i32
    attn.yield %c0, %c0, %lk, %lk : i32, i32, i32, i32
  }
  return %o : !t
}

// -----
!t = tensor<?x4x?x64xf16>

// expected-error @+1 {{holds 2 attention ops and 0 attn.combine; a function holds at most one of each}}
func.func @two_problems(%q: !t {attn.name = "q"}, %k: !t {attn.name = "k"}, %v: !t {attn.name = "v"})
    -> (!t {attn.name = "o"}, !t {attn.name = "o2"}) {
  %o = attn.prefill %q, %k, %v : !t, !t, !t -> !t
  %o2 = attn.prefill %q, %k, %v : !t, !t, !t -> !t
  return %o, %o2 : !t, !t
}

// -----
!t = tensor<?x4x?x64xf16>

func.func @unmerged(%q: !t {attn.name = "q"}, %k: !t {attn.name = "k"}, %v: !t {attn.name = "v"})
    -> (tensor<?x?x4x?x64xf32> {attn.name = "o"}) {
  // expected-error @+1 {{is partial, but nothing merges its results; add an attn.combine}}
  %o, %lse = attn.decode %q, %k, %v {max_q = 1 : i64, partial}
      : !t, !t, !t -> tensor<?x?x4x?x64xf32>, tensor<?x?x4x?xf32>
  return %o : tensor<?x?x4x?x64xf32>
}

// -----
!t = tensor<?x4x?x64xf16>

// expected-error @+1 {{result 1 has no 'attn.name'; the runtime binds results by name, so give it one}}
func.func @unnamed_result(%q: !t {attn.name = "q"}, %k: !t {attn.name = "k"}, %v: !t {attn.name = "v"})
    -> (!t {attn.name = "o"}, tensor<?x4x?xf32>) {
  %o, %lse = attn.prefill %q, %k, %v : !t, !t, !t -> !t, tensor<?x4x?xf32>
  return %o, %lse : !t, tensor<?x4x?xf32>
}

// -----
!t = tensor<?x4x?x64xf16>

// expected-error @+1 {{result 0 is not computed by 'attn.prefill'; a kernel writes the outputs of the attention op and no others}}
func.func @other_result(%q: !t {attn.name = "q"}, %k: !t {attn.name = "k"}, %v: !t {attn.name = "v"})
    -> (!t {attn.name = "o"}) {
  %o = attn.prefill %q, %k, %v : !t, !t, !t -> !t
  %neg = arith.negf %o : !t
  return %neg : !t
}

// -----
!t = tensor<?x4x?x64xf16>

func.func @under_control_flow(%q: !t {attn.name = "q"}, %k: !t {attn.name = "k"}, %v: !t {attn.name = "v"},
                              %p: i1) -> (!t {attn.name = "o"}) {
  %r = scf.if %p -> !t {
    // expected-error @+1 {{is under control flow; a kernel computes it always, so place it at the top level of a function of one block}}
    %o = attn.prefill %q, %k, %v : !t, !t, !t -> !t
    scf.yield %o : !t
  } else {
    scf.yield %q : !t
  }
  return %r : !t
}

// -----

func.func @other_parts(%a: tensor<?x?x4x?x64xf32> {attn.name = "o_parts"}, %b: tensor<?x?x4x?xf32> {attn.name = "lse_parts"})
    -> (tensor<?x4x?x64xf16> {attn.name = "o"}) {
  %c = arith.negf %b : tensor<?x?x4x?xf32>
  // expected-error @+1 {{o_parts and lse_parts are neither the results of one partial attention op nor arguments; run attn-split-kv on an attn.decode to get this form}}
  %o = attn.combine %a, %c : tensor<?x?x4x?x64xf32>, tensor<?x?x4x?xf32> -> tensor<?x4x?x64xf16>
  return %o : tensor<?x4x?x64xf16>
}
