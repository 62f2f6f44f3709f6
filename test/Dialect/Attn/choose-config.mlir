// RUN: attn-opt %s --attn-choose-config=target=sm_80 --split-input-file | FileCheck %s --check-prefixes=CHECK,SM80
// RUN: attn-opt %s --attn-choose-config=target=sm_120 --split-input-file | FileCheck %s --check-prefixes=CHECK,SM120
// RUN: attn-opt %s --attn-choose-config=target=host --split-input-file | FileCheck %s --check-prefix=HOST
// RUN: attn-opt %s --attn-choose-config=target=sm_90a --split-input-file | FileCheck %s --check-prefixes=CHECK,SM90A
// RUN: attn-opt %s --attn-choose-config="target=sm_90a config=block_m=64,block_n=32,warps=4,stages=3" --split-input-file | FileCheck %s --check-prefix=FORCED

// CHECK-LABEL: func.func @prefill
// SM80: config = #attn.config<blockM = {{[0-9]+}}, blockN = {{[0-9]+}}, warps = {{[48]}}, stages = 2
// SM120: config = #attn.config<
// HOST: config = #attn.config<blockM = 64, blockN = 64, warps = 1, stages = 2>
// FORCED: config = #attn.config<blockM = 64, blockN = 32, warps = 4, stages = 3
// SM90A: config = #attn.config<blockM = 128, blockN = 128, warps = 8, stages = 2, qInRegisters = false, warpSpecialized = true, persistent = true
func.func @prefill(%q: tensor<?x8x?x128xbf16>, %k: tensor<?x8x?x128xbf16>, %v: tensor<?x8x?x128xbf16>) -> tensor<?x8x?x128xbf16> {
  %o = attn.prefill %q, %k, %v : tensor<?x8x?x128xbf16>, tensor<?x8x?x128xbf16>, tensor<?x8x?x128xbf16> -> tensor<?x8x?x128xbf16>
  return %o : tensor<?x8x?x128xbf16>
}

// -----

// A decode packs the heads of a KV head and splits the keys on a GPU.
// CHECK-LABEL: func.func @decode
// CHECK: config = #attn.config<blockM = 16, {{.*}}packGqa = true{{.*}}splitKv = true
// HOST-LABEL: func.func @decode
// HOST: config = #attn.config<blockM = 16, blockN = 64, warps = 1, stages = 2, packGqa = true>
func.func @decode(%q: tensor<?x32x?x128xbf16>, %k: tensor<?x8x?x128xbf16>, %v: tensor<?x8x?x128xbf16>) -> tensor<?x32x?x128xbf16> {
  %o = attn.decode %q, %k, %v {max_q = 1} : tensor<?x32x?x128xbf16>, tensor<?x8x?x128xbf16>, tensor<?x8x?x128xbf16> -> tensor<?x32x?x128xbf16>
  return %o : tensor<?x32x?x128xbf16>
}

// -----

// What is configured stays.
// CHECK-LABEL: func.func @keeps
// CHECK: config = #attn.config<blockM = 16, blockN = 16, warps = 1, stages = 2>
func.func @keeps(%q: tensor<?x8x?x64xbf16>, %k: tensor<?x8x?x64xbf16>, %v: tensor<?x8x?x64xbf16>) -> tensor<?x8x?x64xbf16> {
  %o = attn.prefill %q, %k, %v {config = #attn.config<blockM = 16, blockN = 16, warps = 1, stages = 2>} : tensor<?x8x?x64xbf16>, tensor<?x8x?x64xbf16>, tensor<?x8x?x64xbf16> -> tensor<?x8x?x64xbf16>
  return %o : tensor<?x8x?x64xbf16>
}
