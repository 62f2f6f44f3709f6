"""Our own Triton kernel: plain flash attention, autotuned over a few tiles. A yardstick for what a
page of Triton gives, not a tuned library."""

from __future__ import annotations

import torch
from common import Peer, Unsupported, need, plain_only

triton = need("triton", "pip install triton")
import triton.language as tl  # noqa: E402


@triton.autotune(
    configs=[
        triton.Config({"BM": bm, "BN": bn}, num_warps=warps, num_stages=stages)
        for bm, bn, warps, stages in (
            (128, 64, 4, 3),
            (128, 64, 8, 3),
            (128, 128, 8, 2),
            (64, 64, 4, 3),
            (64, 32, 4, 2),
        )
    ],
    key=["n", "D", "CAUSAL"],
)
@triton.jit
def attention_forward_triton(
    q, k, v, o, hq, hkv, n, scale_log2,
    D: tl.constexpr, CAUSAL: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
):  # fmt: skip
    # Heavy blocks first: under a causal mask the last rows see the most keys.
    block = tl.num_programs(0) - 1 - tl.program_id(0)
    head = tl.program_id(1).to(tl.int64)
    kv_head = head // hq * hkv + head % hq // (hq // hkv)
    rows = block * BM + tl.arange(0, BM)
    dims = tl.arange(0, D)
    q_at = head * n * D + rows[:, None] * D + dims[None, :]
    tile_q = tl.load(q + q_at, mask=rows[:, None] < n, other=0.0)
    top = tl.full([BM], float("-inf"), tl.float32)
    total = tl.zeros([BM], tl.float32)
    acc = tl.zeros([BM, D], tl.float32)
    base = kv_head * n * D
    end = tl.minimum((block + 1) * BM, n) if CAUSAL else n
    for start in range(0, end, BN):
        keys = start + tl.arange(0, BN)
        tile_k = tl.load(
            k + base + keys[None, :] * D + dims[:, None], mask=keys[None, :] < n, other=0.0
        )
        s = tl.dot(tile_q, tile_k) * scale_log2
        seen = keys[None, :] < n
        if CAUSAL:
            seen = seen & (keys[None, :] <= rows[:, None])
        s = tl.where(seen, s, float("-inf"))
        new = tl.maximum(top, tl.max(s, 1))
        p = tl.math.exp2(s - new[:, None])
        correct = tl.math.exp2(top - new)
        total = total * correct + tl.sum(p, 1)
        tile_v = tl.load(
            v + base + keys[:, None] * D + dims[None, :], mask=keys[:, None] < n, other=0.0
        )
        acc = tl.dot(p.to(tile_v.dtype), tile_v, acc * correct[:, None])
        top = new
    tl.store(o + q_at, (acc / total[:, None]).to(o.dtype.element_ty), mask=rows[:, None] < n)


class TritonPrefill(Peer):
    family = "triton"

    def __init__(self, config: dict):
        plain_only(config, "the Triton kernel")
        super().__init__(config)
        d = config["head_dim"]
        if d & (d - 1) or d < 16 or d > 256:
            raise Unsupported(f"the Triton kernel takes powers of two from 16 to 256; found {d}")
        if config["dtype"] == "fp32":
            raise Unsupported("the Triton kernel takes bf16 and fp16; found fp32")

    def run(self, q, k, v):
        b, hq, n, d = q.shape
        o = torch.empty_like(q)
        attention_forward_triton[lambda meta: (triton.cdiv(n, meta["BM"]), b * hq)](
            q, k, v, o, hq, k.shape[1], n, self.scale * 1.4426950408889634, D=d, CAUSAL=self.causal
        )
        return o

    def versions(self) -> dict:
        return {"triton": triton.__version__}
