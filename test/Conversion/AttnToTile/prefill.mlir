// The plain form: dense tensors, causal, 32 query heads on 8 KV heads.
// RUN: attn-opt %s -convert-attn-to-tile -canonicalize -cse | FileCheck %s

// CHECK-NOT: func.func
// CHECK-LABEL: tile.kernel @causal
// CHECK-SAME: %[[Q:[a-z0-9]+]]: memref<?x?x?x128xbf16, strided<[?, ?, ?, 1]>> {tile.name = "q"}
// CHECK-SAME: %[[K:[a-z0-9]+]]: memref<?x?x?x128xbf16, strided<[?, ?, ?, 1]>> {tile.name = "k"}
// CHECK-SAME: %[[V:[a-z0-9]+]]: memref<?x?x?x128xbf16, strided<[?, ?, ?, 1]>> {tile.name = "v"}
// CHECK-SAME: %[[O:[a-z0-9]+]]: memref<?x?x?x128xbf16, strided<[?, ?, ?, 1]>> {tile.name = "o"}
// CHECK-SAME: %[[LSE:[a-z0-9]+]]: memref<?x?x?xf32, strided<[?, ?, ?]>> {tile.name = "lse"}
// CHECK-SAME: i32 {tile.name = "batch"}, %[[LENQ:[a-z0-9]+]]: i32 {tile.name = "max_len_q"}, %[[LENKV:[a-z0-9]+]]: i32 {tile.name = "max_len_kv"})
// CHECK-SAME: grid = ["mul", ["mul", "batch", 32], ["ceildiv", "max_len_q", 64]]
// CHECK-SAME: role = "main", tile.schedule = {stages = 2 : i64}, warps = 4 : i32
func.func @causal(%q: tensor<?x32x?x128xbf16> {attn.name = "q"},
                  %k: tensor<?x8x?x128xbf16> {attn.name = "k"},
                  %v: tensor<?x8x?x128xbf16> {attn.name = "v"})
    -> (tensor<?x32x?x128xbf16> {attn.name = "o"}, tensor<?x32x?xf32> {attn.name = "lse"}) {
  // Program id to block, head and sequence; the last rows, which see most keys, come first.
  // CHECK-DAG: %[[C64:.+]] = arith.constant 64 : i32
  // CHECK-DAG: %[[C32:.+]] = arith.constant 32 : i32
  // CHECK-DAG: %[[C4:.+]] = arith.constant 4 : i32
  // CHECK-DAG: %[[ZERO:.+]] = arith.constant dense<0.000000e+00> : tensor<64x64xf32>
  // CHECK: %[[PID:.+]] = tile.program_id
  // CHECK: %[[NB:.+]] = arith.divui %{{.+}}, %[[C64]]
  // CHECK: %[[BLOCK:.+]] = arith.remui %[[PID]], %[[NB]]
  // CHECK: %[[BH:.+]] = arith.divui %[[PID]], %[[NB]]
  // CHECK: %[[LAST:.+]] = arith.subi %[[NB]], %{{.+}}
  // CHECK: %[[MB:.+]] = arith.subi %[[LAST]], %[[BLOCK]]
  // CHECK: %[[H:.+]] = arith.remui %[[BH]], %[[C32]]
  // CHECK: %[[B:.+]] = arith.divui %[[BH]], %[[C32]]
  // CHECK: %[[M0:.+]] = arith.muli %[[MB]], %[[C64]]
  // CHECK: %[[HK:.+]] = arith.divui %[[H]], %[[C4]]
  // CHECK: %[[ANY:.+]] = arith.cmpi slt, %[[M0]], %[[LENQ]]
  // CHECK: scf.if %[[ANY]] {
  // CHECK: %[[ROWS:.+]] = arith.addi %{{.+}}, %{{.+}} : tensor<64xi32>
  // CHECK: %[[EXISTS:.+]] = arith.cmpi slt, %[[ROWS]], %{{.+}} : tensor<64xi32>
  // CHECK: %[[QT:.+]] = tile.load %[[Q]][%[[B]], %[[H]], %[[M0]]] limit %[[LENQ]] : {{.+}} -> tensor<64x128xbf16>
  // What depends on the query alone is computed before the loop.
  // CHECK: %[[QPOS:.+]] = arith.addi %[[ROWS]], %{{.+}} : tensor<64xi32>
  // CHECK: %[[R:.+]]:3 = tile.kv_loop %{{.+}} to %{{.+}} full(%{{.+}} to %{{.+}}) step 64 init(
  // CHECK: ^bb0(%[[N0:.+]]: i32, %[[ACC:.+]]: tensor<64x128xf32>, %[[MAX:.+]]: tensor<64xf32>, %[[SUM:.+]]: tensor<64xf32>):
  // CHECK: %[[KV:.+]] = arith.addi %{{.+}}, %{{.+}} : tensor<64xi32>
  // CHECK: %[[KEYIN:.+]] = arith.cmpi slt, %[[KV]], %{{.+}} : tensor<64xi32>
  // CHECK: %[[KT:.+]] = tile.load %[[K]][%[[B]], %[[HK]], %[[N0]]] limit %[[LENKV]]
  // CHECK: %[[VT:.+]] = tile.load %[[V]][%[[B]], %[[HK]], %[[N0]]] limit %[[LENKV]]
  // CHECK: %[[S:.+]] = tile.mma %[[QT]], %[[KT]], %[[ZERO]] transpose_b
  // CHECK: %[[MASKED:.+]] = tile.mask %[[S]] : tensor<64x64xf32> {
  // CHECK:   %[[IN2:.+]] = tile.broadcast %[[KEYIN]] dim 0
  // CHECK:   %[[Q2:.+]] = tile.broadcast %[[QPOS]] dim 1
  // CHECK:   %[[KV2:.+]] = tile.broadcast %[[KV]] dim 0
  // CHECK:   %[[P:.+]] = arith.cmpi sge, %[[Q2]], %[[KV2]] : tensor<64x64xi32>
  // CHECK:   %[[VISIBLE:.+]] = arith.andi %[[P]], %[[IN2]]
  // CHECK:   tile.yield %[[VISIBLE]] : tensor<64x64xi1>
  // The score is the identity: the scale goes into the exponent, log2(e)/sqrt(128).
  // CHECK: %[[W:.+]], %[[M1:.+]], %[[L1:.+]], %[[CORR:.+]] = tile.softmax_step %[[MASKED]], %[[MAX]], %[[SUM]] scale 0.127517432
  // CHECK: %[[CORR2:.+]] = tile.broadcast %[[CORR]] dim 1
  // CHECK: %[[SCALED:.+]] = arith.mulf %[[ACC]], %[[CORR2]]
  // CHECK: %[[WB:.+]] = arith.truncf %[[W]] : tensor<64x64xf32> to tensor<64x64xbf16>
  // CHECK: %[[NEXT:.+]] = tile.mma %[[WB]], %[[VT]], %[[SCALED]] :
  // CHECK: tile.yield %[[NEXT]], %[[M1]], %[[L1]]
  // A row without keys divides by one and its log-sum-exp is −∞.
  // CHECK: %[[OFFSET:.+]] = arith.mulf %[[R]]#1
  // CHECK: %[[NONE:.+]] = arith.cmpf oeq, %[[R]]#2
  // CHECK: %[[DIV:.+]] = arith.select %[[NONE]], %{{.+}}, %[[R]]#2
  // CHECK: %[[INV:.+]] = arith.divf %{{.+}}, %[[DIV]]
  // CHECK: %[[INV2:.+]] = tile.broadcast %[[INV]] dim 1
  // CHECK: %[[OT:.+]] = arith.mulf %[[R]]#0, %[[INV2]]
  // CHECK: %[[LOG:.+]] = math.log2 %[[DIV]]
  // CHECK: %[[LSE2:.+]] = arith.addf %[[OFFSET]], %[[LOG]]
  // CHECK: %[[LSET:.+]] = arith.mulf %[[LSE2]]
  // CHECK: %[[OB:.+]] = arith.truncf %[[OT]]
  // CHECK: tile.store %[[OB]], %[[O]][%[[B]], %[[H]], %[[M0]]] limit %[[LENQ]]
  // CHECK: tile.scatter %[[LSET]], %[[LSE]][%[[B]], %[[H]], %[[ROWS]] : i32, i32, tensor<64xi32>] where %[[EXISTS]]
  %o, %lse = attn.prefill %q, %k, %v
      {config = #attn.config<blockM = 64, blockN = 64, warps = 4, stages = 2>}
      : tensor<?x32x?x128xbf16>, tensor<?x8x?x128xbf16>, tensor<?x8x?x128xbf16>
     -> tensor<?x32x?x128xbf16>, tensor<?x32x?xf32>
  mask {
  ^bb0(%b: i32, %h: i32, %qi: i32, %kv: i32, %lq: i32, %lk: i32):
    %shift = arith.subi %lk, %lq : i32
    %pos = arith.addi %qi, %shift : i32
    %p = arith.cmpi sge, %pos, %kv : i32
    attn.yield %p : i1
  } bounds {
  ^bb0(%b: i32, %h: i32, %first: i32, %last: i32, %lq: i32, %lk: i32):
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %shift = arith.subi %lk, %lq : i32
    %lastPos = arith.addi %last, %shift : i32
    %end = arith.addi %lastPos, %c1 : i32
    %endMax = arith.maxsi %end, %c0 : i32
    %upper = arith.minsi %endMax, %lk : i32
    %firstPos = arith.addi %first, %shift : i32
    %fullEnd = arith.addi %firstPos, %c1 : i32
    %fullMax = arith.maxsi %fullEnd, %c0 : i32
    %fullUpper = arith.minsi %fullMax, %lk : i32
    attn.yield %c0, %c0, %fullUpper, %upper : i32, i32, i32, i32
  }
  return %o, %lse : tensor<?x32x?x128xbf16>, tensor<?x32x?xf32>
}

// A function without attention ops stays.
// CHECK-LABEL: func.func @other
func.func @other(%x: f32) -> f32 {
  return %x : f32
}
