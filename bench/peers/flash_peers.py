"""flash-attn 2, FlashAttention-3, and their KV cache entry, in [B, S, H, D]."""

from __future__ import annotations

from common import Peer, Unsupported, bshd, need, plain_only

FA2 = "pip install flash-attn --no-build-isolation"
FA3 = "build flash_attn_interface from the hopper/ folder of FlashAttention"


class FlashAttention2(Peer):
    family = "flash-attn"

    def __init__(self, config: dict):
        plain_only(config, "flash-attn")
        super().__init__(config)
        self.module = need("flash_attn", FA2)
        if config["dtype"] == "fp32":
            raise Unsupported("flash-attn takes fp16 and bf16; found fp32")

    def arrange(self, q, k, v):
        return bshd(q), bshd(k), bshd(v)

    def run(self, q, k, v):
        return self.module.flash_attn_func(q, k, v, causal=self.causal)

    def logical(self, out):
        return out.transpose(1, 2)

    def versions(self) -> dict:
        return {"flash_attn": getattr(self.module, "__version__", "?")}


class FlashAttention3(FlashAttention2):
    def __init__(self, config: dict):
        plain_only(config, "FlashAttention-3")
        Peer.__init__(self, config)
        import torch

        if torch.cuda.get_device_capability()[0] != 9:
            raise Unsupported("FlashAttention-3 runs on Hopper (sm_90) only")
        self.module = need("flash_attn_interface", FA3)

    def run(self, q, k, v):
        out = self.module.flash_attn_func(q, k, v, causal=self.causal)
        return out[0] if isinstance(out, tuple) else out

    def versions(self) -> dict:
        return {"flash_attn_interface": getattr(self.module, "__version__", "?")}


class FlashKvCache(FlashAttention2):
    def arrange(self, q, k, v):
        import torch

        lens = torch.full((q.shape[0],), k.shape[2], dtype=torch.int32, device="cuda")
        return bshd(q), bshd(k), bshd(v), lens

    def run(self, q, k, v, lens):
        return self.module.flash_attn_with_kvcache(q, k, v, cache_seqlens=lens)
