"""Builds rows for the tests: valid by default, every field overridable; and rows out of the study's
document, so that the document's definitions can be checked against the study's own numbers."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

CONFIG = {
    "regime": "decode",
    "batch": 1,
    "N": 512,
    "hq": 32,
    "hkv": 8,
    "head_dim": 128,
    "dtype": "bf16",
    "causal": False,
    "mode": "fwd",
    "launch": "eager",
    "cache": "warm",
}
PREFILL = {**CONFIG, "regime": "prefill", "batch": 4, "hkv": 32, "causal": True}

GPUS = {
    "A100": {
        "name": "A100",
        "cc": "sm80",
        "arch": "Ampere",
        "sm": 108,
        "mem_gb": 85.09,
        "l2_mb": 41.943,
        "bw_gbs": 1732.8,
        "event_us": 9.5,
    },
    "H100": {
        "name": "H100",
        "cc": "sm90",
        "arch": "Hopper",
        "sm": 132,
        "mem_gb": 85.02,
        "l2_mb": 52.429,
        "bw_gbs": 2979.7,
        "event_us": 5.1,
    },
    "L40": {
        "name": "L40",
        "cc": "sm89",
        "arch": "Ada",
        "sm": 142,
        "mem_gb": 47.67,
        "l2_mb": 100.663,
        "bw_gbs": 644.4,
        "event_us": 6.6,
    },
}


def row(
    us: float | list | None = 100.0,
    impl: str = "D2-sdpa",
    gpu: str = "A100",
    rep: int = 0,
    status: str = "OK",
    **over: Any,
) -> dict[str, Any]:
    """One row. `us` may be a list of raw samples; keys of the configuration may be given
    directly."""
    base = over.pop("base", CONFIG)
    config = {
        **base,
        **{k: over.pop(k) for k in list(over) if k in base or k in ("page_size", "variant")},
    }
    samples = us if isinstance(us, list) else [us]
    good = sorted(s for s in samples if s is not None)
    half = len(good) // 2
    median = None
    if good:
        median = good[half] if len(good) % 2 else (good[half - 1] + good[half]) / 2
    out: dict[str, Any] = {
        "schema_version": 1,
        "run_id": "r1",
        "rep": rep,
        "implementation": impl,
        "config": config,
        "gpu": dict(GPUS.get(gpu, {"name": gpu})),
        "status": status,
        "repeat": f"attn-bench run --impl {impl} --rep {rep}",
    }
    if status == "OK":
        out |= {
            "samples_us": samples,
            "median_us": median,
            "correctness": {
                "pass": True,
                "max_abs": 0.001,
                "max_rel": 0.01,
                "min_cos": 1.0,
                "vs_baseline": 0.7,
            },
        }
    else:
        out["reason"] = "said so by the test"
    return {**out, **over}


def prefill(us: float | list | None = 100.0, impl: str = "P4-fa2", **over: Any) -> dict[str, Any]:
    return row(us, impl, base=PREFILL, **over)


def seed_path() -> Path | None:
    """The study's document: $ATTNC_SEED, else shared/seed beside the checkout; None when absent."""
    name = "attention-portability.json"
    candidates = (
        [os.environ.get("ATTNC_SEED")]
        if os.environ.get("ATTNC_SEED")
        else [Path(__file__).resolve().parents[2].parent / "shared" / "seed" / name]
    )
    for c in candidates:
        if c and Path(c).is_file():
            return Path(c)
    return None


def rows_of_seed(seed: dict[str, Any]) -> list[dict[str, Any]]:
    """One row for each latency that the study's slices state: prefill of batch 4 (curves) and of
    the other batches (speed-up table), decode of batch 1 and 32, and the MHA half of the GQA
    table."""
    gpus = {
        d["gpu"]: {"name": d["gpu"], **{k: d[k] for k in d if k not in ("gpu", "reps")}}
        for d in seed["devices"]
    }
    out: dict[tuple, dict[str, Any]] = {}

    def add(us: float, impl: str, gpu: str, base: dict[str, Any], **cfg: Any) -> None:
        r = row(us, impl, base=base, **cfg)
        r["gpu"] = gpus[gpu]
        out.setdefault((gpu, impl, tuple(r["config"].items())), r)

    for gpu, impls in seed["prefill_latency"].items():
        for impl, c in impls.items():
            memory = dict(
                zip(seed["prefill_memory"][gpu][impl]["x"], seed["prefill_memory"][gpu][impl]["y"])
            )
            for n, us in zip(c["x"], c["y"]):
                add(us, impl, gpu, PREFILL, N=n)
                key = next(reversed(out))
                out[key]["memory"] = {"measured_mib": memory.get(n)}
    for s in seed["prefill_speedup"]:
        add(s["us"], s["impl"], s["gpu"], PREFILL, N=s["N"], batch=s["B"])
        add(s["base_us"], "P2c-sdpa-flash", s["gpu"], PREFILL, N=s["N"], batch=s["B"])
    for batch in (1, 32):
        for gpu, impls in seed[f"decode_latency_b{batch}"].items():
            for impl, c in impls.items():
                for n, us in zip(c["x"], c["y"]):
                    add(us, impl, gpu, CONFIG, N=n, batch=batch)
    for m in seed["mha_vs_gqa"]:
        add(m["us"], m["impl"], m["gpu"], CONFIG, N=m["N"], batch=m["batch"], hkv=m["hkv"])
    return list(out.values())
