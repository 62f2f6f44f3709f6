// RUN: attn-opt %s --attn-choose-config=target=sm_80 --split-input-file --verify-diagnostics

func.func @f32_on_gpu(%q: tensor<?x8x?x64xf32>, %k: tensor<?x8x?x64xf32>, %v: tensor<?x8x?x64xf32>) -> tensor<?x8x?x64xf32> {
  // expected-error @+1 {{f32 keys and values are not supported on sm_80: its matrix units take f16 and bf16; use dtype f16 or bf16, or target host}}
  %o = attn.prefill %q, %k, %v : tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32> -> tensor<?x8x?x64xf32>
  return %o : tensor<?x8x?x64xf32>
}

// -----

func.func @nothing_fits(%q: tensor<?x8x?x576xbf16>, %k: tensor<?x8x?x576xbf16>, %v: tensor<?x8x?x512xbf16>) -> tensor<?x8x?x512xbf16> {
  // expected-error @+1 {{no tile size fits sm_80 for head dims 576/512}}
  %o = attn.prefill %q, %k, %v : tensor<?x8x?x576xbf16>, tensor<?x8x?x576xbf16>, tensor<?x8x?x512xbf16> -> tensor<?x8x?x512xbf16>
  return %o : tensor<?x8x?x512xbf16>
}
