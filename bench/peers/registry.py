"""Implementation id -> class, imported only when asked for."""

from __future__ import annotations

import importlib

from common import Peer, Unsupported

PEERS = {
    "P0-naive": ("torch_peers", "Naive"),
    "P1-inductor": ("torch_peers", "Inductor"),
    "P1-inductor-nofuse": ("torch_peers", "InductorNoFuse"),
    "P1-inductor-where": ("torch_peers", "InductorWhere"),
    "P2b-sdpa-mem-eff": ("torch_peers", "SdpaMemEff"),
    "P2c-sdpa-flash": ("torch_peers", "SdpaFlash"),
    "P2d-sdpa-cudnn": ("torch_peers", "SdpaCudnn"),
    "P3-triton": ("triton_peer", "TritonPrefill"),
    "P4-fa2": ("flash_peers", "FlashAttention2"),
    "P4h-fa3": ("flash_peers", "FlashAttention3"),
    "P8-flex": ("flex_peer", "Flex"),
    "D0-naive-kv": ("torch_peers", "Naive"),
    "D1-inductor": ("torch_peers", "Inductor"),
    "D2-sdpa": ("torch_peers", "SdpaDefault"),
    "D3-fa-kvcache": ("flash_peers", "FlashKvCache"),
    "D4-flashinfer": ("flashinfer_peer", "FlashInferDecode"),
    "D6-fa-prefill-at-1": ("flash_peers", "FlashAttention2"),
}


def make(impl: str, config: dict) -> Peer:
    if impl not in PEERS:
        raise Unsupported(f"the worker knows no implementation {impl}")
    module, name = PEERS[impl]
    return getattr(importlib.import_module(module), name)(config)
