"""FlashInfer's batch decode over a paged cache; planned outside the time.

Without a page size the page is as long as the KV cache, as in the published study.
"""

from __future__ import annotations

from common import Peer, Unsupported, need


class FlashInferDecode(Peer):
    family = "flashinfer"

    def __init__(self, config: dict):
        if config.get("variant"):
            raise Unsupported(f"measured without variants; found {config['variant']}")
        super().__init__(config)
        self.module = need("flashinfer", "pip install flashinfer-python")

    def arrange(self, q, k, v):
        import torch

        c = self.config
        page = c.get("page_size") or c["N"]
        per = -(-c["N"] // page)
        b, h, n, d = k.shape
        cache = torch.zeros(b * per, 2, page, h, d, dtype=k.dtype, device="cuda")
        for i, x in enumerate((k, v)):
            padded = torch.zeros(b, per * page, h, d, dtype=k.dtype, device="cuda")
            padded[:, :n] = x.transpose(1, 2)
            cache[:, i] = padded.view(b * per, page, h, d)
        order = torch.randperm(b * per, device="cuda")
        shuffled = torch.empty_like(cache)
        shuffled[order] = cache
        workspace = torch.empty(128 << 20, dtype=torch.uint8, device="cuda")
        wrapper = self.module.BatchDecodeWithPagedKVCacheWrapper(
            workspace, "NHD", use_tensor_cores=self.group >= 4
        )
        wrapper.plan(
            torch.arange(0, b + 1, dtype=torch.int32, device="cuda") * per,
            order.to(torch.int32),
            torch.full((b,), n - (per - 1) * page, dtype=torch.int32, device="cuda"),
            c["hq"],
            h,
            d,
            page,
            q_data_type=q.dtype,
            kv_data_type=k.dtype,
        )
        return wrapper, q[:, :, 0].contiguous(), shuffled

    def run(self, wrapper, q, cache):
        return wrapper.run(q, cache)

    def logical(self, out):
        return out.unsqueeze(2)

    def versions(self) -> dict:
        return {"flashinfer": getattr(self.module, "__version__", "?")}
