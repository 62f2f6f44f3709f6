"""The analytic model: operations, bytes that must be read, arithmetic intensity.

The definitions of DESIGN section 6. Worked example: decode, B 1, N 512, Hq 32, Hkv 8, D 128, bf16.
K and V are 2 * 1 * 512 * 8 * 128 elements of 2 bytes = 2.097 MB. An implementation that expands KV
to the query heads must read 4 times that. At 61.184 us the former is 34.276 GB/s. Operations are 4
* 1 * 32 * 512 * 128 = 8.4 MFLOP, so the intensity is 4 FLOP/byte (the group), or 1 when expanded.

These are models, not measurements: the report says so wherever it draws them.
"""

from __future__ import annotations

DTYPE_BYTES = {"bf16": 2, "fp16": 2, "fp32": 4, "fp8e4m3": 1, "fp8e5m2": 1}

#: A backward pass does 5 products where the forward does 2, so both together are 3.5 forwards.
FWD_BWD_FACTOR = 3.5


def flops(cfg: dict) -> float:
    """Operations that count: 4 B Hq N^2 D for prefill, halved when causal; 4 B Hq N D for
    decode."""
    base = 4.0 * cfg["batch"] * cfg["hq"] * cfg["N"] * cfg["head_dim"]
    if cfg["regime"] == "decode":
        return base
    base *= cfg["N"] * (0.5 if cfg["causal"] else 1.0)
    return base * (FWD_BWD_FACTOR if cfg["mode"] == "fwd_bwd" else 1.0)


def kv_bytes(cfg: dict, expanded: bool) -> float:
    """Bytes of K and V that the implementation must read (times the group where it expands KV)."""
    heads = cfg["hq"] if expanded else cfg["hkv"]
    return 2.0 * cfg["batch"] * cfg["N"] * heads * cfg["head_dim"] * DTYPE_BYTES[cfg["dtype"]]


def traffic_bytes(cfg: dict, expanded: bool, materializes: bool) -> float:
    """Modelled device-memory traffic. Decode: K and V. Prefill: Q, K, V, O once each, and for an
    implementation that materializes the scores, one write and one read of the visible ones."""
    if cfg["regime"] == "decode":
        return kv_bytes(cfg, expanded)
    size = DTYPE_BYTES[cfg["dtype"]]
    q = cfg["batch"] * cfg["N"] * cfg["hq"] * cfg["head_dim"] * size
    total = 2.0 * q + kv_bytes(cfg, False)
    if materializes:
        visible = 0.5 if cfg["causal"] else 1.0
        total += 2.0 * size * cfg["batch"] * cfg["hq"] * cfg["N"] ** 2 * visible
    return total


def intensity(cfg: dict, expanded: bool, materializes: bool) -> float:
    """FLOP per byte of modelled traffic (forward)."""
    return flops({**cfg, "mode": "fwd"}) / traffic_bytes(cfg, expanded, materializes)
