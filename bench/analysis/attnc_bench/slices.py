"""Slices: the study looks at curves and maps with all but one or two quantities fixed."""

from __future__ import annotations

import math
from typing import Any

import pandas as pd

from . import cells as C
from .stats import bootstrap_median

#: The slices of the study; taken when there are rows in them, otherwise the fullest slice is.
PREFILL_SLICE = {
    "batch": 4,
    "head_dim": 128,
    "dtype": "bf16",
    "hq": 32,
    "hkv": 32,
    "mode": "fwd",
    "launch": "eager",
    "cache": "warm",
    "causal": True,
}

DECODE_SLICE = {"hkv": 8, "head_dim": 128, "dtype": "bf16", "launch": "eager", "cache": "warm"}

MHA_SLICE = {"batch": 1, "head_dim": 128, "dtype": "bf16", "launch": "eager", "cache": "warm"}

#: Fixed within a slice though the study does not name them; preferred value first.
_ALSO_FIXED = {"page_size": 0, "variant": "", "hq": 32, "causal": False, "mode": "fwd"}


def r3(value: Any) -> float | None:
    """Round to the document's three decimals; NaN and infinity become null."""
    if value is None or not math.isfinite(value):
        return None
    return round(float(value), 3)


def choose_slice(times: pd.DataFrame, regime: str, wanted: dict[str, Any]) -> dict[str, Any]:
    """The study's slice where it has data; otherwise each key takes the value with most points
    left."""
    left = times[times["regime"] == regime]
    chosen: dict[str, Any] = {}
    for key, value in {
        **wanted,
        **{k: v for k, v in _ALSO_FIXED.items() if k not in wanted},
    }.items():
        counts = left[key].value_counts() if len(left) else {}
        if len(counts) and value not in counts.index:
            best = max(counts)
            value = sorted((v for v in counts.index if counts[v] == best), key=str)[0]
            value = value.item() if hasattr(value, "item") else value
        chosen[key] = value
        if len(left):
            left = left[left[key] == value]
    return chosen


def where(frame: pd.DataFrame, regime: str, fixed: dict[str, Any]) -> pd.DataFrame:
    mask = frame["regime"] == regime
    for key, value in fixed.items():
        mask &= frame[key] == value
    return frame[mask]


def without(fixed: dict[str, Any], *keys: str) -> dict[str, Any]:
    return {k: v for k, v in fixed.items() if k not in keys}


def curves(frame: pd.DataFrame, column: str) -> dict[str, dict[str, dict[str, list]]]:
    """{gpu: {implementation: {x: N, y: column}}}, ascending N, points without a value left out."""
    out: dict[str, dict[str, dict[str, list]]] = {}
    frame = frame[frame[column].notna()].sort_values(["gpu", "implementation", "N"])
    for (gpu, impl), group in frame.groupby(["gpu", "implementation"], sort=True):
        out.setdefault(gpu, {})[impl] = {
            "x": [int(n) for n in group["N"]],
            "y": [r3(v) for v in group[column]],
        }
    return out


def winner_map(part: pd.DataFrame) -> dict[str, list[dict[str, Any]]]:
    won = C.winners(part).sort_values(["gpu", "N", "batch"])
    return {
        gpu: [
            {"N": int(c.N), "y": int(c.batch), "impl": c.winner, "us": r3(c.us)}
            for c in group.itertuples(index=False)
        ]
        for gpu, group in won.groupby("gpu", sort=True)
    }


def speedups(part: pd.DataFrame, base: str) -> list[dict[str, Any]]:
    out = []
    for (gpu, batch, n), group in part.groupby(["gpu", "batch", "N"], sort=True):
        us = dict(zip(group["implementation"], group["us"]))
        if base not in us:
            continue
        out += [
            {
                "gpu": gpu,
                "B": int(batch),
                "N": int(n),
                "impl": impl,
                "speedup": r3(us[base] / us[impl]),
                "us": r3(us[impl]),
                "base_us": r3(us[base]),
            }
            for impl in sorted(us)
            if impl != base
        ]
    return out


def intervals(part: pd.DataFrame) -> dict[str, dict[str, dict[str, list]]]:
    out: dict[str, dict[str, dict[str, list]]] = {}
    for (gpu, impl), group in part.groupby(["gpu", "implementation"], sort=True):
        xs, los, his = [], [], []
        for n, reps in group.groupby("N", sort=True):
            lo, hi = bootstrap_median(reps["us"].to_numpy())
            xs.append(int(n)), los.append(r3(lo)), his.append(r3(hi))
        out.setdefault(gpu, {})[impl] = {"x": xs, "lo": los, "hi": his}
    return out


def page_sizes(forward: pd.DataFrame, dec: dict[str, Any]) -> list[dict[str, Any]]:
    """The page-size sweep, which the study lacks: latency by page size in the decode slice."""
    part = where(forward, "decode", without(dec, "page_size"))
    if part["page_size"].nunique() < 2:
        return []
    swept = part.groupby(["gpu", "batch", "N"])["page_size"].transform("nunique") > 1
    part = part[swept]
    return [
        {
            "gpu": p.gpu,
            "impl": p.implementation,
            "batch": int(p.batch),
            "N": int(p.N),
            "page_size": int(p.page_size) or None,
            "us": r3(p.us),
        }
        for p in part.itertuples(index=False)
    ]
