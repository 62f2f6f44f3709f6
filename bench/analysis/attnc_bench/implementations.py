"""The implementations of the study: ids, names, kernel families, KV expansion, colours.

An unknown id (a plug-in) is legal everywhere: it gets a name equal to its id, no intended family
and a colour derived from its position. This file decides nothing about which of them can run.
"""

from __future__ import annotations

from dataclasses import dataclass

#: Speed-ups are relative to this one (DESIGN section 6).
SPEEDUP_BASE = "P2c-sdpa-flash"

#: Kernel families that are an attention kernel, as opposed to a chain of products and softmaxes.
ATTENTION_FAMILIES = frozenset(
    {"pytorch-flash", "flash-attn", "cudnn", "cutlass-fmha", "flashinfer", "attnc"}
)


@dataclass(frozen=True)
class Implementation:
    """What the analysis knows about one id.

    `expands_kv`: K and V are repeated for each query head before the product, so the bytes that
    must be read are those of Hq heads, not Hkv. `materializes`: the N x N scores go through memory.
    """

    id: str
    name: str
    family: str | None = None
    expands_kv: bool = False
    materializes: bool = False
    inductor: bool = False


_ALL = [
    Implementation("P0-naive", "naive, eager", "unfused-gemm", materializes=True),
    Implementation("P1-inductor", "torch.compile", "triton", materializes=True, inductor=True),
    Implementation(
        "P1-inductor-nofuse", "torch.compile, no fusion", "triton", materializes=True, inductor=True
    ),
    Implementation(
        "P1-inductor-where", "torch.compile, where-mask", "triton", materializes=True, inductor=True
    ),
    Implementation("P2b-sdpa-mem-eff", "SDPA memory-efficient", "cutlass-fmha"),
    Implementation("P2c-sdpa-flash", "SDPA flash", "pytorch-flash"),
    Implementation("P2d-sdpa-cudnn", "SDPA cuDNN", "cudnn"),
    Implementation("P3-triton", "Triton", "triton"),
    Implementation("P4-fa2", "FlashAttention-2", "flash-attn"),
    Implementation("P4h-fa3", "FlashAttention-3", "flash-attn"),
    Implementation("P5-attnc", "attnc", "attnc"),
    Implementation("P6-cudnn", "cuDNN, direct", "cudnn"),
    Implementation("P7-hand", "hand-written CUDA", "hand-written"),
    Implementation("D0-naive-kv", "naive, eager", "unfused-gemm", expands_kv=True),
    Implementation("D1-inductor", "torch.compile", "triton", expands_kv=True, inductor=True),
    Implementation("D2-sdpa", "SDPA", "pytorch-flash"),
    Implementation("D3-fa-kvcache", "FlashAttention KV cache", "flash-attn"),
    Implementation("D4-flashinfer", "FlashInfer", "flashinfer"),
    Implementation("D5-attnc", "attnc", "attnc"),
    Implementation("D6-fa-prefill-at-1", "FlashAttention prefill, one query", "flash-attn"),
    Implementation("D7-cudnn", "cuDNN, direct", "cudnn"),
    Implementation("D8-hand", "hand-written CUDA", "hand-written"),
]

BY_ID = {i.id: i for i in _ALL}


def lookup(impl_id: str) -> Implementation:
    """The entry of `impl_id`, or a neutral one for an id this file does not list."""
    return BY_ID.get(impl_id) or Implementation(impl_id, impl_id)
