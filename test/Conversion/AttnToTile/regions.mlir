// Score and mask regions on tiles, lookups, captured values, sinks.
// RUN: attn-opt %s -convert-attn-to-tile -canonicalize -cse | FileCheck %s
#cfg = #attn.config<blockM = 64, blockN = 32, warps = 4, stages = 2>

// A score takes scaled logits, so that the exponent is log2(e) alone. Scalars meet the tile in a
// splat; ops between arguments outside the region come along; unused arguments do not.
// CHECK-LABEL: tile.kernel @softcap
// CHECK-NOT: arg.unused
// CHECK-SAME: %[[CAP:[a-z0-9]+]]: f32 {tile.name = "arg.cap"}
// CHECK-DAG: %[[SCALE:.+]] = arith.constant dense<1.250000e-01> : tensor<64x32xf32>
// CHECK: %[[INV:.+]] = arith.divf %{{.+}}, %[[CAP]] : f32
// CHECK: %[[RAW:.+]] = tile.mma
// CHECK: %[[S:.+]] = arith.mulf %[[RAW]], %[[SCALE]]
// CHECK: %[[INV2:.+]] = tile.splat %[[INV]] : f32 -> tensor<64x32xf32>
// CHECK: %[[X:.+]] = arith.mulf %[[S]], %[[INV2]] fastmath<contract>
// CHECK: %[[T:.+]] = math.tanh %[[X]]
// CHECK: %[[CAP2:.+]] = tile.splat %[[CAP]] : f32 -> tensor<64x32xf32>
// CHECK: %[[Y:.+]] = arith.mulf %[[T]], %[[CAP2]]
// CHECK: tile.mask %[[Y]]
// CHECK: tile.softmax_step %{{.+}} scale 1.44269502
func.func @softcap(%q: tensor<?x4x?x64xbf16> {attn.name = "q"}, %k: tensor<?x4x?x64xbf16> {attn.name = "k"},
                   %v: tensor<?x4x?x64xbf16> {attn.name = "v"}, %unused: f32 {attn.name = "arg.unused"},
                   %cap: f32 {attn.name = "arg.cap"})
    -> (tensor<?x4x?x64xbf16> {attn.name = "o"}) {
  %one = arith.constant 1.0 : f32
  %inv = arith.divf %one, %cap : f32
  %o = attn.prefill %q, %k, %v {config = #cfg}
      : tensor<?x4x?x64xbf16>, tensor<?x4x?x64xbf16>, tensor<?x4x?x64xbf16> -> tensor<?x4x?x64xbf16>
  score {
  ^bb0(%s: f32, %b: i32, %h: i32, %qi: i32, %kv: i32, %lq: i32, %lk: i32):
    %x = arith.mulf %s, %inv fastmath<contract> : f32
    %t = math.tanh %x : f32
    %y = arith.mulf %t, %cap : f32
    attn.yield %y : f32
  }
  bounds {
  ^bb0(%b: i32, %h: i32, %first: i32, %last: i32, %lq: i32, %lk: i32):
    %c0 = arith.constant 0 : i32
    attn.yield %c0, %c0, %lk, %lk : i32, i32, i32, i32
  }
  return %o : tensor<?x4x?x64xbf16>
}

// Each lookup is read along the axes of its indices, and only for rows and keys that exist.
// CHECK-LABEL: tile.kernel @lookups
// CHECK-SAME: %[[BIAS:[a-z0-9]+]]: memref<?x?x?x?xf32, strided<[?, ?, ?, ?]>> {tile.name = "bias"}
// CHECK-SAME: %[[SLOPES:[a-z0-9]+]]: memref<?xf32, strided<[?]>> {tile.name = "arg.slopes"}
// CHECK-SAME: %[[DOCQ:[a-z0-9]+]]: memref<?x?xi32, strided<[?, ?]>> {tile.name = "arg.doc_q"}
// CHECK-SAME: %[[DOCK:[a-z0-9]+]]: memref<?x?xi32, strided<[?, ?]>> {tile.name = "arg.doc_k"}
// CHECK-SAME: %[[TAIL:[a-z0-9]+]]: memref<?xf32, strided<[?]>> {tile.name = "arg.tail"}
// CHECK-SAME: %[[LENKV:[a-z0-9]+]]: i32 {tile.name = "max_len_kv"}
// CHECK: %[[EXISTS:.+]] = arith.cmpi slt, %[[ROWS:.+]], %{{.+}} : tensor<64xi32>
// CHECK: %[[HASKEYS:.+]] = arith.cmpi sgt, %[[LENKV]]
// By head only: a scalar, before the loop.
// CHECK: memref.load %[[SLOPES]]
// By a length: a scalar too, but inside the tensor only if there is a key.
// CHECK: scf.if %[[HASKEYS]] -> (f32) {
// CHECK:   memref.load %[[TAIL]]
// CHECK: } else {
// By query: a column, before the loop.
// CHECK: %[[SOMEKEYS:.+]] = tile.splat %[[HASKEYS]] : i1 -> tensor<64xi1>
// CHECK: %[[MAYREAD:.+]] = arith.andi %[[EXISTS]], %[[SOMEKEYS]]
// CHECK: %[[DQ:.+]] = tile.gather %[[DOCQ]][%[[B:.+]], %[[ROWS]] : i32, tensor<64xi32>] where %[[MAYREAD]] : {{.+}} -> tensor<64xi32>
// CHECK: tile.kv_loop
// CHECK: %[[KEYIN:.+]] = arith.cmpi slt, %[[KV:.+]], %{{.+}} : tensor<32xi32>
// By both: a tile.
// CHECK-DAG: %[[KV2:.+]] = tile.broadcast %[[KV]] dim 0 : tensor<32xi32> -> tensor<64x32xi32>
// CHECK-DAG: %[[Q2:.+]] = tile.broadcast %[[ROWS]] dim 1 : tensor<64xi32> -> tensor<64x32xi32>
// CHECK-DAG: %[[KEYIN2:.+]] = tile.broadcast %[[KEYIN]] dim 0
// CHECK-DAG: %[[EXISTS2:.+]] = tile.broadcast %[[EXISTS]] dim 1
// CHECK: %[[BOTH:.+]] = arith.andi %[[EXISTS2]], %[[KEYIN2]]
// CHECK: tile.gather %[[BIAS]][%[[B]], %{{.+}}, %[[Q2]], %[[KV2]] : i32, i32, tensor<64x32xi32>, tensor<64x32xi32>] where %[[BOTH]]
// CHECK: tile.mask
// By key: a row, in the loop.
// CHECK:   %[[DK:.+]] = tile.gather %[[DOCK]][%[[B]], %[[KV]] : i32, tensor<32xi32>] where %[[KEYIN]] : {{.+}} -> tensor<32xi32>
// CHECK:   %[[DQ2:.+]] = tile.broadcast %[[DQ]] dim 1
// CHECK:   %[[DK2:.+]] = tile.broadcast %[[DK]] dim 0
// CHECK:   arith.cmpi eq, %[[DQ2]], %[[DK2]] : tensor<64x32xi32>
func.func @lookups(%q: tensor<?x4x?x64xbf16> {attn.name = "q"}, %k: tensor<?x4x?x64xbf16> {attn.name = "k"},
                   %v: tensor<?x4x?x64xbf16> {attn.name = "v"}, %bias: tensor<?x?x?x?xf32> {attn.name = "bias"},
                   %slopes: tensor<?xf32> {attn.name = "arg.slopes"}, %docq: tensor<?x?xi32> {attn.name = "arg.doc_q"},
                   %dock: tensor<?x?xi32> {attn.name = "arg.doc_k"}, %tail: tensor<?xf32> {attn.name = "arg.tail"})
    -> (tensor<?x4x?x64xbf16> {attn.name = "o"}) {
  %o = attn.prefill %q, %k, %v {config = #cfg}
      : tensor<?x4x?x64xbf16>, tensor<?x4x?x64xbf16>, tensor<?x4x?x64xbf16> -> tensor<?x4x?x64xbf16>
  mask {
  ^bb0(%b: i32, %h: i32, %qi: i32, %kv: i32, %lq: i32, %lk: i32):
    %dq = attn.lookup %docq[%b, %qi] : tensor<?x?xi32> -> i32
    %dk = attn.lookup %dock[%b, %kv] : tensor<?x?xi32> -> i32
    %p = arith.cmpi eq, %dq, %dk : i32
    attn.yield %p : i1
  } score {
  ^bb0(%s: f32, %b: i32, %h: i32, %qi: i32, %kv: i32, %lq: i32, %lk: i32):
    %slope = attn.lookup %slopes[%h] : tensor<?xf32> -> f32
    %d = arith.subi %kv, %qi : i32
    %df = arith.sitofp %d : i32 to f32
    %m = arith.mulf %slope, %df : f32
    %x = arith.addf %s, %m : f32
    %bb = attn.lookup %bias[%b, %h, %qi, %kv] : tensor<?x?x?x?xf32> -> f32
    %y = arith.addf %x, %bb : f32
    %c1 = arith.constant 1 : i32
    %lastKey = arith.subi %lk, %c1 : i32
    %t = attn.lookup %tail[%lastKey] : tensor<?xf32> -> f32
    %z = arith.addf %y, %t : f32
    attn.yield %z : f32
  } bounds {
  ^bb0(%b: i32, %h: i32, %first: i32, %last: i32, %lq: i32, %lk: i32):
    %c0 = arith.constant 0 : i32
    attn.yield %c0, %c0, %c0, %lk : i32, i32, i32, i32
  }
  return %o : tensor<?x4x?x64xbf16>
}

// The sink enters the denominator once, after the loop (case C9).
// CHECK-LABEL: tile.kernel @sinks
// CHECK-SAME: %[[SINKS:[a-z0-9]+]]: memref<?xf32, strided<[?]>> {tile.name = "sinks"}
// CHECK: %[[R:.+]]:3 = tile.kv_loop
// CHECK: tile.yield
// CHECK: tile.yield
// CHECK: %[[SINK:.+]] = memref.load %[[SINKS]]
// CHECK: %[[MAX2:.+]] = arith.mulf %[[R]]#1
// CHECK: %[[SPLAT:.+]] = tile.splat %[[SINK]] : f32 -> tensor<64xf32>
// CHECK: %[[SINK2:.+]] = arith.mulf %[[SPLAT]]
// CHECK: %[[TOP:.+]] = arith.maxnumf %[[MAX2]], %[[SINK2]]
// CHECK: %[[SAFE:.+]] = arith.select %{{.+}}, %{{.+}}, %[[TOP]]
// CHECK: %[[D:.+]] = arith.subf %[[MAX2]], %[[SAFE]]
// CHECK: %[[NUM:.+]] = math.exp2 %[[D]]
// CHECK: %[[E:.+]] = arith.subf %[[SINK2]], %[[SAFE]]
// CHECK: %[[WEIGHT:.+]] = math.exp2 %[[E]]
// CHECK: %[[DEN:.+]] = math.fma %[[R]]#2, %[[NUM]], %[[WEIGHT]]
// CHECK: %[[DIV:.+]] = arith.select %{{.+}}, %{{.+}}, %[[DEN]]
// CHECK: arith.divf %[[NUM]], %[[DIV]]
// CHECK: arith.addf %[[TOP]], %{{.+}}
func.func @sinks(%q: tensor<?x4x?x64xbf16> {attn.name = "q"}, %k: tensor<?x4x?x64xbf16> {attn.name = "k"},
                 %v: tensor<?x4x?x64xbf16> {attn.name = "v"}, %sinks: tensor<4xf32> {attn.name = "sinks"})
    -> (tensor<?x4x?x64xbf16> {attn.name = "o"}, tensor<?x4x?xf32> {attn.name = "lse"}) {
  %o, %lse = attn.prefill %q, %k, %v sinks(%sinks : tensor<4xf32>) {config = #cfg}
      : tensor<?x4x?x64xbf16>, tensor<?x4x?x64xbf16>, tensor<?x4x?x64xbf16>
     -> tensor<?x4x?x64xbf16>, tensor<?x4x?xf32>
  bounds {
  ^bb0(%b: i32, %h: i32, %first: i32, %last: i32, %lq: i32, %lk: i32):
    %c0 = arith.constant 0 : i32
    attn.yield %c0, %c0, %lk, %lk : i32, i32, i32, i32
  }
  return %o, %lse : tensor<?x4x?x64xbf16>, tensor<?x4x?xf32>
}
