// An attn.combine on its own merges parts that the caller made; there is no workspace.
// RUN: attn-opt %s -convert-attn-to-tile -canonicalize -cse | FileCheck %s

// CHECK-NOT: tile.workspace
// CHECK-LABEL: tile.kernel @merge(
// CHECK-SAME: %[[OP:[a-z0-9]+]]: memref<?x?x?x?x64xf32, strided<[?, ?, ?, ?, 1]>> {tile.name = "o_parts"}
// CHECK-SAME: %[[LP:[a-z0-9]+]]: memref<?x?x?x?xf32, strided<[?, ?, ?, ?]>> {tile.name = "lse_parts"}
// CHECK-SAME: {tile.name = "o"}
// CHECK-SAME: {tile.name = "batch"}
// CHECK-SAME: {tile.name = "max_len_q"}
// CHECK-SAME: {tile.name = "splits"}
// CHECK-SAME: grid = ["mul", "batch", ["mul", "heads_q", "max_len_q"]], role = "combine", warps = 1 : i32
// CHECK: memref.load %[[LP]]
// CHECK: tile.gather %[[OP]]
// The largest log-sum-exp weighs 1: a part (0, −∞) changes nothing (case E5).
// CHECK: arith.divf
// CHECK: tile.scatter
func.func @merge(%a: tensor<?x?x4x?x64xf32> {attn.name = "o_parts"}, %b: tensor<?x?x4x?xf32> {attn.name = "lse_parts"})
    -> (tensor<?x4x?x64xf16> {attn.name = "o"}) {
  %o = attn.combine %a, %b : tensor<?x?x4x?x64xf32>, tensor<?x?x4x?xf32> -> tensor<?x4x?x64xf16>
  return %o : tensor<?x4x?x64xf16>
}
