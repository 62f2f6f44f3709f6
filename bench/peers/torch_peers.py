"""Implementations that need only torch: naive, torch.compile, SDPA by backend."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from common import Peer, plain_only
from torch.nn.attention import SDPBackend, sdpa_kernel


def expand(x, group: int):
    return x if group == 1 else x.repeat_interleave(group, dim=1)


def attention_masked(q, k, v, scale: float, hidden):
    s = torch.matmul(q, k.transpose(-2, -1)) * scale
    if hidden is not None:
        s = s.masked_fill(hidden, float("-inf"))
    return torch.matmul(torch.softmax(s, dim=-1), v)


def attention_where(q, k, v, scale: float, hidden):
    s = torch.matmul(q, k.transpose(-2, -1)) * scale
    if hidden is not None:
        s = torch.where(hidden, torch.full_like(s, float("-inf")), s)
    return torch.matmul(torch.softmax(s, dim=-1), v)


class Naive(Peer):
    """Eager matmul, softmax, matmul; under a causal mask with a ready-made mask tensor."""

    family = "unfused-gemm"

    def __init__(self, config: dict):
        plain_only(config, "the naive implementation")
        super().__init__(config)
        self.kv_expanded = self.group > 1
        n = config["N"]
        self.hidden = None
        if self.causal:
            self.hidden = torch.ones(n, n, dtype=torch.bool, device="cuda").triu(1)

    def run(self, q, k, v):
        k, v = expand(k, self.group), expand(v, self.group)
        return attention_masked(q, k, v, self.scale, self.hidden)


class Inductor(Naive):
    """torch.compile of the naive form; inductor may replace it by a fused kernel and counts so."""

    family = "triton"
    function = staticmethod(attention_masked)
    options: dict = {}

    def __init__(self, config: dict):
        super().__init__(config)
        import torch._dynamo.utils  # seconds; only where it is needed

        torch._dynamo.reset()
        torch._dynamo.utils.counters.clear()
        group, scale, function = self.group, self.scale, self.function

        def body(q, k, v, hidden):
            return function(q, expand(k, group), expand(v, group), scale, hidden)

        self.compiled = torch.compile(body, dynamic=False, options=self.options or None)

    def run(self, q, k, v):
        return self.compiled(q, k, v, self.hidden)

    def details(self) -> dict:
        counters = torch._dynamo.utils.counters["inductor"]
        return {"inductor_counter": int(counters.get("fuse_attention", 0))}


class InductorNoFuse(Inductor):
    """Without inductor's pattern matcher, which is what replaces attention."""

    options = {"pattern_matcher": False}


class InductorWhere(Inductor):
    function = staticmethod(attention_where)


class Sdpa(Peer):
    backend: SDPBackend | None = None

    def __init__(self, config: dict):
        plain_only(config, "SDPA")
        super().__init__(config)

    def call(self, q, k, v):
        return F.scaled_dot_product_attention(
            q, k, v, is_causal=self.causal, enable_gqa=self.group > 1
        )

    def run(self, q, k, v):
        if self.backend is None:
            return self.call(q, k, v)
        with sdpa_kernel(self.backend):
            return self.call(q, k, v)


class SdpaDefault(Sdpa):
    family = "pytorch-flash"


class SdpaMemEff(Sdpa):
    family = "cutlass-fmha"
    backend = SDPBackend.EFFICIENT_ATTENTION


class SdpaFlash(Sdpa):
    family = "pytorch-flash"
    backend = SDPBackend.FLASH_ATTENTION


class SdpaCudnn(Sdpa):
    family = "cudnn"
    backend = SDPBackend.CUDNN_ATTENTION

    def versions(self) -> dict:
        return {"cudnn": str(torch.backends.cudnn.version())}
