"""torch FlexAttention: the peer for variants. The block mask is built outside the time."""

from __future__ import annotations

import torch
from common import Peer, Unsupported
from torch.nn.attention.flex_attention import create_block_mask, flex_attention


def slope(h, heads: int):
    """The ALiBi paper's, for any number of heads."""
    n = 1 << (heads.bit_length() - 1)
    return torch.where(
        h < n, torch.exp2(-8.0 * (h + 1) / n), torch.exp2(-4.0 * (2 * (h - n) + 1) / n)
    )


class Flex(Peer):
    family = "triton"

    def __init__(self, config: dict):
        super().__init__(config)
        if config.get("page_size"):
            raise Unsupported("measured on a contiguous KV cache; found page_size")
        torch._dynamo.reset()
        n, heads = config["N"], config["hq"]
        name, _, number = (config.get("variant") or "").partition("-")
        value = float(number) if number else 30.0
        score = None
        if name == "softcap":

            def score(s, b, h, q, k):
                return value * torch.tanh(s / value)

        elif name == "alibi":
            slopes = slope(torch.arange(heads, device="cuda"), heads).float()

            def score(s, b, h, q, k):
                return s - slopes[h] * (q - k)

        elif name not in ("", "window", "document"):
            raise Unsupported(f"no such variant here: {config['variant']}")
        length, causal = int(value), self.causal

        def mask(b, h, q, k):
            seen = q >= k if causal else q > -1
            if name == "window":
                seen = seen & (q - k < length)
            if name == "document":
                seen = seen & (q // length == k // length)
            return seen

        self.score = score
        self.block_mask = None
        if causal or name in ("window", "document"):
            self.block_mask = create_block_mask(mask, None, None, n, n, device="cuda")
        self.compiled = torch.compile(flex_attention, dynamic=False)

    def run(self, q, k, v):
        return self.compiled(
            q,
            k,
            v,
            score_mod=self.score,
            block_mask=self.block_mask,
            scale=self.scale,
            enable_gqa=self.group > 1,
        )
