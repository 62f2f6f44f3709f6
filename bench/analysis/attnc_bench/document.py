"""Rows -> the study's document, key for key (the shape of the portability study's JSON).

Every number is defined by DESIGN section 6 and, term by term, in docs/Benchmarking.md. What the
study's document has no key for (inputs, notes on data quality, intervals, how the selector was
judged) goes under one extra top-level key, "attnc_bench", and nowhere else.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from . import cells as C
from . import implementations, selector
from .rows import CONFIG_KEYS, SCHEMA_VERSION, STATUSES, RowSet
from .slices import (
    DECODE_SLICE,
    MHA_SLICE,
    PREFILL_SLICE,
    choose_slice,
    curves,
    intervals,
    page_sizes,
    r3,
    speedups,
    where,
    winner_map,
    without,
)


def device_list(rowset: RowSet, times: pd.DataFrame) -> list[dict[str, Any]]:
    seen: dict[str, dict[str, Any]] = {}
    for row in rowset.rows:
        gpu = row["gpu"]
        entry = seen.setdefault(gpu["name"], {})
        for key in ("cc", "arch", "sm", "mem_gb", "l2_mb", "bw_gbs", "event_us"):
            if gpu.get(key) is not None:
                entry.setdefault(key, []).append(gpu[key])
    out = []
    for name, entry in seen.items():
        reps = times.loc[times["gpu"] == name, "reps"]
        device: dict[str, Any] = {"gpu": name}
        for key in ("cc", "arch", "sm", "mem_gb", "l2_mb", "bw_gbs", "event_us"):
            values = entry.get(key)
            if not values:
                device[key] = None
            elif isinstance(values[0], str):
                device[key] = values[0]
            else:
                median = float(np.median(values))
                device[key] = int(median) if key == "sm" else r3(median)
        device["reps"] = int(reps.min()) if len(reps) else 0
        out.append(device)

    def order(d: dict[str, Any]) -> tuple:
        digits = "".join(ch for ch in d["cc"] or "" if ch.isdigit())
        return (int(digits or 0), d["gpu"])

    return sorted(out, key=order)


def _software(rowset: RowSet) -> dict[str, str | None]:
    seen: dict[str, set] = {
        k: set()
        for k in ("torch", "cuda", "triton", "flash_attn", "flashinfer", "flash_attn_interface")
    }
    for row in rowset.rows:
        for name, version in (row.get("versions") or {}).items():
            seen.setdefault(name, set()).add(version)
    return {k: "; ".join(sorted(x for x in v if x is not None)) or None for k, v in seen.items()}


def _pairs(won: pd.DataFrame, times: pd.DataFrame, devices: list[dict]) -> list[dict[str, Any]]:
    out = []
    config = list(CONFIG_KEYS)
    for regime in ("decode", "prefill"):
        part = won[won["regime"] == regime]
        t = times[times["regime"] == regime]
        tables = {d["gpu"]: part[part["gpu"] == d["gpu"]].set_index(config) for d in devices}
        ranks = (
            {
                d["gpu"]: t[t["gpu"] == d["gpu"]]
                .pivot_table(
                    index=config,
                    columns="implementation",
                    values="us",
                    aggfunc="first",
                    dropna=False,
                )
                .dropna(how="all")
                for d in devices
            }
            if len(t)
            else {}
        )
        for a, b in combinations([d["gpu"] for d in devices], 2):
            both = tables[a].add_suffix("_a").join(tables[b].add_suffix("_b"), how="inner")
            if both.empty:
                continue
            differs = both["winner_a"] != both["winner_b"]
            sep = (both["separated_a"] & both["separated_b"]).astype(bool)
            out.append(
                {
                    "regime": regime,
                    "a": a,
                    "b": b,
                    "n": len(both),
                    "flip": r3(differs.mean()),
                    "n_sep": int(sep.sum()),
                    "flip_sep": r3(differs[sep].mean()) if sep.any() else None,
                    "spearman": _spearman(ranks[a], ranks[b]),
                }
            )
    return out


def _spearman(a: pd.DataFrame, b: pd.DataFrame) -> float | None:
    """Median over common cells of the rank correlation of at least three shared implementations."""
    index = a.index.intersection(b.index)
    columns = a.columns.intersection(b.columns)
    if not len(index) or len(columns) < 3:
        return None
    x, y = a.loc[index, columns], b.loc[index, columns]
    shared = x.notna() & y.notna()
    x, y = x.where(shared), y.where(shared)
    enough = shared.sum(axis=1) >= 3
    rho = x.rank(axis=1)[enough].corrwith(y.rank(axis=1)[enough], axis=1).dropna()
    return r3(rho.median()) if len(rho) else None


def _dispatch(frame: pd.DataFrame) -> tuple[dict[str, Any], float | None, float | None]:
    ok = frame[frame["status"] == "OK"]
    flows = [
        {"impl": i, "observed": o, "n": int(n)}
        for (i, o), n in ok.groupby(["implementation", "observed"], sort=True).size().items()
    ]

    def rates(part: pd.DataFrame) -> dict[str, float | None]:
        probed = part[part["observed"] != "unprobed"]
        judged = probed[probed["intended"].map(len) > 0]
        wrong = sum(o not in i for o, i in zip(judged["observed"], judged["intended"]))
        return {
            "probed": r3(100 * len(probed) / len(part)) if len(part) else None,
            "mismatch": r3(100 * wrong / len(probed)) if len(probed) else None,
        }

    inductor = ok[ok["inductor"].astype(bool)] if len(ok) else ok
    counters = pd.to_numeric(inductor["inductor_counter"]) if len(inductor) else pd.Series([])
    total = rates(ok)
    value = {
        "flows": flows,
        "by_gpu": {g: rates(p) for g, p in ok.groupby("gpu", sort=True)},
        "inductor_counter_fired": int((counters.fillna(0) > 0).sum()),
        "inductor_rows": len(inductor),
        "attn_kernel_in_trace": int(
            inductor["observed"].isin(implementations.ATTENTION_FAMILIES).sum()
        )
        if len(inductor)
        else 0,
    }
    return value, total["probed"], total["mismatch"]


def _correctness(frame: pd.DataFrame) -> list[dict[str, Any]]:
    checked = frame[frame["checked"] | (frame["status"] == "INCORRECT")]
    out = []
    for impl, part in checked.groupby("implementation", sort=True):
        by_cell = part.groupby(C.CELL, dropna=False)
        failed = by_cell["status"].agg(lambda s: (s == "INCORRECT").any())
        out.append(
            {
                "impl": impl,
                "n": int(by_cell.ngroups),
                "max_abs": r3(part["max_abs"].max()),
                "max_rel": r3(part["max_rel"].max()),
                "min_cos": r3(part["min_cos"].min()),
                "vs_baseline": r3(by_cell["vs_baseline"].median().median()),
                "fail": int(failed.sum()),
            }
        )
    return out


def _roofline(frame: pd.DataFrame, intensity: str) -> list[dict[str, Any]]:
    rows = frame[frame["eligible"] & (frame["mode"] == "fwd") & frame[intensity].notna()]
    medians = rows.groupby(["gpu", "regime", "implementation"], sort=True)[
        [intensity, "tflops"]
    ].median()
    return [
        {"gpu": g, "regime": r, "impl": i, "ai": r3(ai), "tflops": r3(tf)}
        for (g, r, i), (ai, tf) in zip(medians.index, medians.to_numpy())
    ]


def _not_collected(frame: pd.DataFrame, devices: list[dict]) -> list[str]:
    out = []
    if frame["dram_bytes"].notna().sum() == 0:
        out.append(
            "Hardware counters: no row carries measured device-memory traffic. "
            "The roofline here uses analytic traffic, not measured."
        )
    decode = frame[(frame["regime"] == "decode") & frame["eligible"]]
    if decode["page_size"].nunique() < 2:
        out.append(
            "Paged versus contiguous KV layout: all decode rows share one layout, so nothing here "
            "separates layout from library. The page-size sweep was not run."
        )
    if len(devices) < 2:
        out.append("Portability: one GPU only, so no pair of GPUs can be compared.")
    for regime in ("prefill", "decode"):
        if not (frame["eligible"] & (frame["regime"] == regime)).any():
            out.append(f"{regime.capitalize()}: no row whose time counts.")
    if len(frame) and (frame["observed"] == "unprobed").all():
        out.append("Dispatch: no row was probed, so which kernels really ran is not known.")
    if len(frame) and not frame["checked"].any():
        out.append("Correctness: no row was checked against fp64.")
    return out


def _quality(frame: pd.DataFrame) -> list[str]:
    ok = frame[frame["status"] == "OK"]
    notes = [
        f"{n} OK rows do not count: {why}"
        for why, n in ok.loc[~ok["eligible"], "why_not"].value_counts().items()
    ]
    if ok["throttled"].sum():
        notes.append(f"{int(ok['throttled'].sum())} OK rows were measured while the GPU throttled")
    if ok["stop_unmet"].sum():
        notes.append(
            f"{int(ok['stop_unmet'].sum())} OK rows stopped before their criteria were met"
        )
    return notes


def build(
    rowset: RowSet,
    train_gpus: list[str] | None = None,
    base: str = implementations.SPEEDUP_BASE,
    allow_unchecked: bool = False,
) -> dict[str, Any]:
    """The document of these rows. Raises ValueError when there is no row at all."""
    if not rowset.rows:
        raise ValueError("no rows: nothing to make a document of")
    frame = C.to_frame(rowset.rows, allow_unchecked)
    times = C.per_implementation(frame)
    forward = times[times["mode"] == "fwd"]
    won = C.winners(forward)
    rivals = won[won["contenders"] > 1]
    devices = device_list(rowset, times)
    dispatch, probed, mismatch = _dispatch(frame)
    try:
        chosen, selector_details, _ = selector.train(times, devices, train_gpus)
    except ValueError as e:
        if train_gpus:
            raise
        chosen = {
            "accuracy": None,
            "n": 0,
            "median_regret": None,
            "p95_regret": None,
            "rule": "",
            "vs_fixed": {},
        }
        selector_details = {"judged": f"not trained: {e}"}

    pre = choose_slice(forward, "prefill", PREFILL_SLICE)
    dec = choose_slice(forward, "decode", DECODE_SLICE)
    mha = choose_slice(forward, "decode", MHA_SLICE)
    pre_part = where(forward, "prefill", pre)
    dec_part = where(forward, "decode", dec)
    by_batch = {b: dec_part[dec_part["batch"] == b] for b in (1, 32)}
    eligible = frame[frame["eligible"] & (frame["mode"] == "fwd")]
    dec_rows = where(eligible, "decode", dec)
    fwd_bwd = C.winners(times[(times["mode"] == "fwd_bwd") & (times["regime"] == "prefill")])
    fwd_bwd = fwd_bwd[fwd_bwd["contenders"] > 1]
    counts = frame["status"].value_counts()
    mha_part = where(forward, "decode", mha).sort_values(
        ["gpu", "hkv", "batch", "N", "implementation"], ascending=[True, True, True, True, True]
    )
    versions = sorted({r["schema_version"] for r in rowset.rows})

    return {
        "generated_from": ", ".join(s["file"] for s in rowset.sources) or "rows",
        "devices": devices,
        "software": _software(rowset),
        "headline": {
            "cells": len(won),
            "cells_note": "forward prefill + decode GPU/configuration observations",
            "rows": len(frame),
            "attempt_records": rowset.lines or len(frame),
            "ok_rows": int((frame["status"] == "OK").sum()),
            "eligible_rows": int(frame["eligible"].sum()),
            "devices": len(devices),
            "dispatch_mismatch_pct": mismatch,
            "probed_pct": probed,
            "selector_median_regret": chosen["median_regret"],
            "selector_p95_regret": chosen["p95_regret"],
        },
        "separation": {
            "by_regime": {
                regime: {
                    "n": len(part),
                    "separated": r3(part["separated"].astype(float).mean()),
                    "median_ratio": r3(part["ratio"].median()),
                }
                for regime, part in rivals.groupby("regime", sort=True)
            },
            "population": "forward prefill and decode, forward-plus-backward excluded",
            "practical_threshold": C.PRACTICAL_THRESHOLD,
        },
        "pairs": _pairs(won, forward, devices),
        "winners": {
            regime: {
                gpu: {
                    k: int(v)
                    for k, v in sorted(
                        g["winner"].value_counts().items(), key=lambda kv: (-kv[1], kv[0])
                    )
                }
                for gpu, g in part.groupby("gpu", sort=True)
            }
            for regime, part in won.groupby("regime", sort=True)
        },
        "coverage": [
            {"gpu": g, "regime": r, "implementation": i, "status": s, "n": int(n)}
            for (g, r, i, s), n in frame.groupby(
                ["gpu", "regime", "implementation", "status"], sort=True
            )
            .size()
            .items()
        ],
        "dispatch": dispatch,
        "correctness": _correctness(frame),
        "prefill_slice": {k: pre[k] for k in PREFILL_SLICE},
        "prefill_latency": curves(pre_part, "us"),
        "prefill_tflops": curves(pre_part, "tflops"),
        "prefill_memory": curves(pre_part, "memory_mib"),
        "prefill_speedup": speedups(where(forward, "prefill", without(pre, "batch")), base),
        "decode_slice": {k: dec[k] for k in DECODE_SLICE},
        "decode_latency_b1": curves(by_batch[1], "us"),
        "decode_bw_b1": curves(by_batch[1], "gbs"),
        "decode_latency_b32": curves(by_batch[32], "us"),
        "decode_bw_b32": curves(by_batch[32], "gbs"),
        "decode_winner_map": winner_map(dec_part),
        "mha_vs_gqa_slice": {k: mha[k] for k in MHA_SLICE},
        "mha_vs_gqa": [
            {
                "gpu": m.gpu,
                "hkv": int(m.hkv),
                "batch": int(m.batch),
                "N": int(m.N),
                "impl": m.implementation,
                "us": r3(m.us),
                "kv_mb": r3(m.kv_mb),
            }
            for m in mha_part.itertuples(index=False)
        ],
        "roofline_population": "forward only, correctness-qualified rows",
        "roofline": _roofline(frame, "ai"),
        "roofline_is_modelled": True,
        "selector": chosen,
        "supplementary_fwd_bwd": {
            "note": "prefill forward-plus-backward: a training workload, excluded from every "
            "portability number on this page",
            "n": len(fwd_bwd),
            "separated": r3(fwd_bwd["separated"].astype(float).mean()) if len(fwd_bwd) else None,
        },
        "spread": {
            regime: r3(part["spread"].median())
            for regime, part in rivals.groupby("regime", sort=True)
        },
        "status_counts": {s: int(counts[s]) for s in STATUSES if s in counts},
        "not_collected": _not_collected(frame, devices),
        "attnc_bench": {
            "row_schema_version": SCHEMA_VERSION,
            "row_versions_after_upgrade": versions,
            "sources": rowset.sources,
            "notes": rowset.notes + _quality(frame),
            "speedup_base": base,
            "slices": {"prefill": pre, "decode": dec, "mha_vs_gqa": mha},
            "intervals": {
                "level": 0.95,
                "prefill_latency": intervals(where(eligible, "prefill", pre)),
                "decode_latency_b1": intervals(dec_rows[dec_rows["batch"] == 1]),
                "decode_latency_b32": intervals(dec_rows[dec_rows["batch"] == 32]),
            },
            "roofline_measured": _roofline(
                frame.assign(
                    ai_measured=[
                        f * u * 1e6 / b if b and b > 0 else np.nan
                        for f, u, b in zip(frame["tflops"], frame["us"], frame["dram_bytes"])
                    ]
                ),
                "ai_measured",
            ),
            "selector": selector_details,
            "page_sizes": page_sizes(forward, dec),
            "commands": sorted({r["repeat"] for r in rowset.rows})[:3],
        },
    }
