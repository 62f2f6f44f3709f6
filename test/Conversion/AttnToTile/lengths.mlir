// Where lengths come from, and where a sequence starts in its tensors.
// RUN: attn-opt %s -convert-attn-to-tile -canonicalize -cse | FileCheck %s

// A length above the tensor's extent must not be read past it (case S14), one below 0 is 0.
// CHECK-LABEL: tile.kernel @kv_lens
// CHECK-SAME: %[[LENS:[a-z0-9]+]]: memref<?xi32, strided<[?]>> {tile.name = "kv_lens"}
// CHECK-SAME: %[[CAP:[a-z0-9]+]]: i32 {tile.name = "max_len_kv"}
// CHECK: %[[L:.+]] = memref.load %[[LENS]]
// CHECK: %[[L1:.+]] = arith.minsi %[[L]], %[[CAP]]
// CHECK: %[[LEN:.+]] = arith.maxsi %[[L1]], %{{.+}}
// CHECK: tile.kv_loop %{{.+}} to %[[LEN]] full(%{{.+}} to %[[LEN]]) step 32
// CHECK: tile.load %{{.+}} limit %[[LEN]] : {{.+}} -> tensor<32x64xf16>
// CHECK: tile.load %{{.+}} limit %[[LEN]] : {{.+}} -> tensor<32x64xf16>
// No log-sum-exp is asked for.
// CHECK: tile.store
// CHECK-NOT: tile.scatter
func.func @kv_lens(%q: tensor<?x4x?x64xf16> {attn.name = "q"}, %k: tensor<?x4x?x64xf16> {attn.name = "k"},
                   %v: tensor<?x4x?x64xf16> {attn.name = "v"}, %lens: tensor<?xi32> {attn.name = "kv_lens"})
    -> (tensor<?x4x?x64xf16> {attn.name = "o"}) {
  %o = attn.prefill %q, %k, %v kv_lens(%lens : tensor<?xi32>)
      {config = #attn.config<blockM = 64, blockN = 32, warps = 4, stages = 2>}
      : tensor<?x4x?x64xf16>, tensor<?x4x?x64xf16>, tensor<?x4x?x64xf16> -> tensor<?x4x?x64xf16>
  bounds {
  ^bb0(%b: i32, %h: i32, %first: i32, %last: i32, %lq: i32, %lk: i32):
    %c0 = arith.constant 0 : i32
    attn.yield %c0, %c0, %lk, %lk : i32, i32, i32, i32
  }
  return %o : tensor<?x4x?x64xf16>
}

// Sequences one after the other: batch index 0, rows shifted by the sequence's start and limited by
// the next one's.
// CHECK-LABEL: tile.kernel @varlen
// CHECK-SAME: %[[CUQ:[a-z0-9]+]]: memref<?xi32, strided<[?]>> {tile.name = "cu_seqlens_q"}
// CHECK-SAME: %[[CUKV:[a-z0-9]+]]: memref<?xi32, strided<[?]>> {tile.name = "cu_seqlens_kv"}
// CHECK-DAG: %[[C0:.+]] = arith.constant 0 : i32
// CHECK: %[[M0:.+]] = arith.muli %{{.+}}, %{{.+}} : i32
// CHECK: %[[QS:.+]] = memref.load %[[CUQ]]
// CHECK: %[[QE:.+]] = memref.load %[[CUQ]]
// CHECK: %[[LENQ:.+]] = arith.subi %[[QE]], %[[QS]]
// CHECK: %[[KS:.+]] = memref.load %[[CUKV]]
// CHECK: %[[KE:.+]] = memref.load %[[CUKV]]
// CHECK: %[[LENKV:.+]] = arith.subi %[[KE]], %[[KS]]
// CHECK: %[[ANY:.+]] = arith.cmpi slt, %[[M0]], %[[LENQ]]
// CHECK: scf.if %[[ANY]]
// CHECK: %[[QROWS:.+]] = arith.addi %{{.+}}, %{{.+}} : tensor<64xi32>
// CHECK: %[[TROWS:.+]] = arith.addi %[[QROWS]], %{{.+}} : tensor<64xi32>
// CHECK: %[[QROW:.+]] = arith.addi %[[QS]], %[[M0]]
// CHECK: tile.load %{{.+}}[%[[C0]], %{{.+}}, %[[QROW]]] limit %[[QE]]
// CHECK: tile.kv_loop %{{.+}} to %[[LENKV]]
// CHECK: ^bb0(%[[N0:.+]]: i32
// CHECK: %[[KROW:.+]] = arith.addi %[[KS]], %[[N0]]
// CHECK: tile.load %{{.+}}[%[[C0]], %{{.+}}, %[[KROW]]] limit %[[KE]]
// CHECK: tile.store %{{.+}}, %{{.+}}[%[[C0]], %{{.+}}, %[[QROW]]] limit %[[QE]]
// CHECK: tile.scatter %{{.+}}, %{{.+}}[%[[C0]], %{{.+}}, %[[TROWS]] : i32, i32, tensor<64xi32>]
func.func @varlen(%q: tensor<1x4x?x64xf16> {attn.name = "q"}, %k: tensor<1x2x?x64xf16> {attn.name = "k"},
                  %v: tensor<1x2x?x64xf16> {attn.name = "v"},
                  %cq: tensor<?xi32> {attn.name = "cu_seqlens_q"},
                  %ckv: tensor<?xi32> {attn.name = "cu_seqlens_kv"})
    -> (tensor<1x4x?x64xf16> {attn.name = "o"}, tensor<1x4x?xf32> {attn.name = "lse"}) {
  %o, %lse = attn.prefill %q, %k, %v cu_seqlens_q(%cq : tensor<?xi32>) cu_seqlens_kv(%ckv : tensor<?xi32>)
      {config = #attn.config<blockM = 64, blockN = 32, warps = 4, stages = 2>}
      : tensor<1x4x?x64xf16>, tensor<1x2x?x64xf16>, tensor<1x2x?x64xf16>
     -> tensor<1x4x?x64xf16>, tensor<1x4x?xf32>
  bounds {
  ^bb0(%b: i32, %h: i32, %first: i32, %last: i32, %lq: i32, %lk: i32):
    %c0 = arith.constant 0 : i32
    attn.yield %c0, %c0, %lk, %lk : i32, i32, i32, i32
  }
  return %o, %lse : tensor<1x4x?x64xf16>, tensor<1x4x?xf32>
}

// Pages: the table says which, and only keys below the length are looked up.
// CHECK-LABEL: tile.kernel @paged
// CHECK-SAME: %[[K:[a-z0-9]+]]: memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>> {tile.name = "k"}
// CHECK-SAME: %[[V:[a-z0-9]+]]: memref<?x?x?x64xbf16, strided<[?, ?, ?, 1]>> {tile.name = "v"}
// CHECK-SAME: %[[TABLE:[a-z0-9]+]]: memref<?x?xi32, strided<[?, ?]>> {tile.name = "block_table"}
// CHECK-DAG: %[[C16:.+]] = arith.constant dense<16> : tensor<64xi32>
// CHECK: tile.kv_loop
// CHECK: %[[KV:.+]] = arith.addi %{{.+}}, %{{.+}} : tensor<64xi32>
// CHECK: %[[IN:.+]] = arith.cmpi slt, %[[KV]], %{{.+}} : tensor<64xi32>
// CHECK: %[[PAGE:.+]] = arith.divui %[[KV]], %[[C16]]
// CHECK: %[[ID:.+]] = tile.gather %[[TABLE]][%[[B:.+]], %[[PAGE]] : i32, tensor<64xi32>] where %[[IN]]
// CHECK: %[[SLOT:.+]] = arith.remui %[[KV]], %[[C16]]
// CHECK: tile.gather %[[K]][%[[ID]], %[[HK:.+]], %[[SLOT]] : tensor<64xi32>, i32, tensor<64xi32>] where %[[IN]] : tensor<64xi1> : {{.+}} -> tensor<64x64xbf16>
// CHECK: tile.gather %[[V]][%[[ID]], %[[HK]], %[[SLOT]] : tensor<64xi32>, i32, tensor<64xi32>] where %[[IN]]
func.func @paged(%q: tensor<?x8x?x64xbf16> {attn.name = "q"}, %k: tensor<?x2x16x64xbf16> {attn.name = "k"},
                 %v: tensor<?x2x16x64xbf16> {attn.name = "v"}, %lens: tensor<?xi32> {attn.name = "kv_lens"},
                 %table: tensor<?x?xi32> {attn.name = "block_table"})
    -> (tensor<?x8x?x64xbf16> {attn.name = "o"}) {
  %o = attn.decode %q, %k, %v kv_lens(%lens : tensor<?xi32>) block_table(%table : tensor<?x?xi32>)
      {page_size = 16 : i64, max_q = 1 : i64,
       config = #attn.config<blockM = 16, blockN = 64, warps = 1, stages = 2>}
      : tensor<?x8x?x64xbf16>, tensor<?x2x16x64xbf16>, tensor<?x2x16x64xbf16> -> tensor<?x8x?x64xbf16>
  bounds {
  ^bb0(%b: i32, %h: i32, %first: i32, %last: i32, %lq: i32, %lk: i32):
    %c0 = arith.constant 0 : i32
    attn.yield %c0, %c0, %lk, %lk : i32, i32, i32, i32
  }
  return %o : tensor<?x8x?x64xbf16>
}
