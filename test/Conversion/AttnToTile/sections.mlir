// Heaviest tiles first within sections of heads whose K and V share the L2 cache.
// RUN: attn-opt %s -attn-resolve-variant -attn-derive-kv-bounds -convert-attn-to-tile -canonicalize -cse | FileCheck %s

// 1 MiB of section over 512 bytes a key is 2048 keys: 2048 / len_kv KV heads, times 4 query heads each.
// CHECK-LABEL: tile.kernel @causal
// CHECK: %[[PID:.+]] = tile.program_id
// CHECK: %[[BLOCKS:.+]] = arith.divui %{{.+}}, %c64_i32
// CHECK: %[[HEADS:.+]] = arith.muli %{{.+}}, %c8_i32
// CHECK: %[[LEN:.+]] = arith.maxsi %{{.+}}, %c1_i32
// CHECK: arith.divui %c2048_i32, %[[LEN]]
// CHECK: %[[ENOUGH:.+]] = arith.maxsi %{{.+}}, %c4_i32
// CHECK: %[[PER:.+]] = arith.minsi %[[ENOUGH]], %[[HEADS]]
// CHECK: %[[TILES:.+]] = arith.muli %[[PER]], %[[BLOCKS]]
// CHECK: %[[SECTION:.+]] = arith.divui %[[PID]], %[[TILES]]
// CHECK: %[[IN:.+]] = arith.remui %[[PID]], %[[TILES]]
// CHECK: %[[FIRST:.+]] = arith.muli %[[SECTION]], %[[PER]]
// CHECK: %[[LEFT:.+]] = arith.subi %[[HEADS]], %[[FIRST]]
// CHECK: %[[HERE:.+]] = arith.minsi %[[PER]], %[[LEFT]]
// CHECK: %[[RANK:.+]] = arith.divui %[[IN]], %[[HERE]]
// CHECK: arith.remui %[[IN]], %[[HERE]]
func.func @causal(%q: tensor<?x8x?x128xbf16> {attn.name = "q"}, %k: tensor<?x2x?x128xbf16> {attn.name = "k"}, %v: tensor<?x2x?x128xbf16> {attn.name = "v"})
    -> (tensor<?x8x?x128xbf16> {attn.name = "o"}) {
  %o = attn.prefill %q, %k, %v {masks = [#attn.causal<bottom_right>],
      config = #attn.config<blockM = 64, blockN = 64, warps = 4, stages = 2, sectionBytes = 1048576>}
      : tensor<?x8x?x128xbf16>, tensor<?x2x?x128xbf16>, tensor<?x2x?x128xbf16> -> tensor<?x8x?x128xbf16>
  return %o : tensor<?x8x?x128xbf16>
}
