// A decode split over the keys: one kernel for the parts, one that merges them.
// RUN: attn-opt %s -attn-split-kv -convert-attn-to-tile -canonicalize -cse | FileCheck %s

// CHECK: module attributes {tile.workspace = [
// CHECK-SAME: {dtype = "f32", name = "o_part", shape = ["splits", 1, "heads_q", "total_q", 64]},
// CHECK-SAME: {dtype = "f32", name = "lse_part", shape = ["splits", 1, "heads_q", "total_q"]}]}

// Split s visits the s-th run of ⌈blocks / splits⌉ blocks.
// CHECK-LABEL: tile.kernel @decode(
// CHECK-SAME: %[[OP:[a-z0-9]+]]: memref<?x?x?x?x64xf32, strided<[?, ?, ?, ?, 1]>> {tile.name = "o_part"}
// CHECK-SAME: %[[LP:[a-z0-9]+]]: memref<?x?x?x?xf32, strided<[?, ?, ?, ?]>> {tile.name = "lse_part"}
// CHECK-NOT: sinks
// CHECK-SAME: %[[SPLITS:[a-z0-9]+]]: i32 {tile.name = "splits"}
// CHECK-SAME: grid = ["mul", ["mul", ["mul", "batch", 2], ["ceildiv", ["mul", "max_len_q", 4], 16]], "splits"]
// CHECK-DAG: %[[C64:.+]] = arith.constant 64 : i32
// CHECK: %[[PID:.+]] = tile.program_id
// CHECK: %[[SPLIT:.+]] = arith.remui %[[PID]], %[[SPLITS]]
// CHECK: %[[BLOCKS:.+]] = arith.divui %{{.+}}, %[[C64]]
// CHECK: %[[LESS:.+]] = arith.subi %[[SPLITS]]
// CHECK: %[[SUM:.+]] = arith.addi %[[BLOCKS]], %[[LESS]]
// CHECK: %[[PER:.+]] = arith.divui %[[SUM]], %[[SPLITS]]
// CHECK: %[[KEYS:.+]] = arith.muli %[[PER]], %[[C64]]
// CHECK: %[[LO:.+]] = arith.muli %[[SPLIT]], %[[KEYS]]
// CHECK: %[[NEXT:.+]] = arith.addi %[[LO]], %[[KEYS]]
// CHECK: %[[HI:.+]] = arith.minsi %{{.+}}, %[[NEXT]]
// CHECK: tile.kv_loop %[[LO]] to %[[HI]] full(%[[LO]] to %[[HI]]) step 64
// CHECK: tile.scatter %{{.+}}, %[[OP]][%[[SPLIT]], %{{.+}}, %{{.+}}, %{{.+}} : i32, i32, tensor<16xi32>, tensor<16xi32>] where %{{.+}} : tensor<16xi1> : tensor<16x64xf32>
// CHECK: tile.scatter %{{.+}}, %[[LP]][%[[SPLIT]], %{{.+}}, %{{.+}}, %{{.+}} : i32, i32, tensor<16xi32>, tensor<16xi32>] where %{{.+}} : tensor<16xi1> : tensor<16xf32>

// One warp merges one row; rows past the last sequence are left as they are (case S11).
// CHECK-LABEL: tile.kernel @decode_combine(
// CHECK-SAME: %[[OP:[a-z0-9]+]]: memref<{{[^>]+>>}} {tile.name = "o_part"}
// CHECK-SAME: %[[LP:[a-z0-9]+]]: memref<{{[^>]+>>}} {tile.name = "lse_part"}
// CHECK-SAME: %[[O:[a-z0-9]+]]: memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>> {tile.name = "o"}
// CHECK-SAME: %[[LSE:[a-z0-9]+]]: memref<?x?x?xf32, strided<[?, ?, ?]>> {tile.name = "lse"}
// CHECK-SAME: %[[CU:[a-z0-9]+]]: memref<?xi32, strided<[?]>> {tile.name = "cu_seqlens_q"}
// CHECK-SAME: %[[SINKS:[a-z0-9]+]]: memref<?xf32, strided<[?]>> {tile.name = "sinks"}
// CHECK-SAME: grid = ["mul", "heads_q", "total_q"], role = "combine", warps = 1 : i32
// CHECK-DAG: %[[NEG:.+]] = arith.constant 0xFF800000 : f32
// CHECK-DAG: %[[ZERO:.+]] = arith.constant 0.000000e+00 : f32
// CHECK: %[[END:.+]] = memref.load %[[CU]]
// CHECK: %[[EXISTS:.+]] = arith.cmpi slt, %[[ROW:.+]], %[[END]]
// CHECK: scf.if %[[EXISTS]] {
// CHECK: %[[SINK:.+]] = memref.load %[[SINKS]]
// CHECK: %[[TOP:.+]] = scf.for %[[S:.+]] = %{{.+}} iter_args(%[[M:.+]] = %[[SINK]]) -> (f32)
// CHECK:   %[[L:.+]] = memref.load %[[LP]]
// CHECK:   arith.maxnumf %[[M]], %[[L]]
// CHECK: %[[NONE:.+]] = arith.cmpf oeq, %[[TOP]], %[[NEG]]
// CHECK: %[[SAFE:.+]] = arith.select %[[NONE]], %[[ZERO]], %[[TOP]]
// CHECK: %[[SINKW:.+]] = math.exp2
// CHECK: %[[R:.+]]:2 = scf.for %{{.+}} iter_args(%{{.+}} = %[[SINKW]], %{{.+}} = %{{.+}}) -> (f32, tensor<64xf32>)
// CHECK:   %[[W:.+]] = math.exp2
// CHECK:   %[[PART:.+]] = tile.gather %[[OP]][%{{.+}}, %{{.+}}, %{{.+}}, %[[ROW]], %{{.+}} : i32, i32, i32, i32, tensor<64xi32>]
// CHECK:   %[[W2:.+]] = tile.splat %[[W]]
// CHECK:   math.fma %[[W2]], %[[PART]]
// CHECK: tile.scatter %{{.+}}, %[[O]][%{{.+}}, %{{.+}}, %[[ROW]], %{{.+}} : i32, i32, i32, tensor<64xi32>] : tensor<64xbf16>
// CHECK: tile.scatter %{{.+}}, %[[LSE]][%{{.+}}, %{{.+}}, %[[ROW]] : i32, i32, i32] : tensor<1xf32>
func.func @decode(%q: tensor<1x8x?x64xbf16> {attn.name = "q"}, %k: tensor<1x2x?x64xbf16> {attn.name = "k"},
                  %v: tensor<1x2x?x64xbf16> {attn.name = "v"}, %cq: tensor<?xi32> {attn.name = "cu_seqlens_q"},
                  %ckv: tensor<?xi32> {attn.name = "cu_seqlens_kv"}, %sinks: tensor<8xf32> {attn.name = "sinks"})
    -> (tensor<1x8x?x64xbf16> {attn.name = "o"}, tensor<1x8x?xf32> {attn.name = "lse"}) {
  %o, %lse = attn.decode %q, %k, %v cu_seqlens_q(%cq : tensor<?xi32>) cu_seqlens_kv(%ckv : tensor<?xi32>)
      sinks(%sinks : tensor<8xf32>)
      {max_q = 4 : i64, config = #attn.config<blockM = 16, blockN = 64, warps = 1, stages = 2,
                                              packGqa = true, splitKv = true>}
      : tensor<1x8x?x64xbf16>, tensor<1x2x?x64xbf16>, tensor<1x2x?x64xbf16>
     -> tensor<1x8x?x64xbf16>, tensor<1x8x?xf32>
  bounds {
  ^bb0(%b: i32, %h: i32, %first: i32, %last: i32, %lq: i32, %lk: i32):
    %c0 = arith.constant 0 : i32
    attn.yield %c0, %c0, %lk, %lk : i32, i32, i32, i32
  }
  return %o, %lse : tensor<1x8x?x64xbf16>, tensor<1x8x?xf32>
}
