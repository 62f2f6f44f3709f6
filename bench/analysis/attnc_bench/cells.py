"""Rows -> a flat table -> cells: the step where it is decided which times count.

A time counts (the row is *eligible*) when status is OK, the result was checked against fp64 and
passed, and the median is a positive number. A cell is one configuration on one GPU; an
implementation's latency in a cell is the median over its repetitions of their medians, and likewise
its TFLOP/s and bandwidth (so with an even number of repetitions TFLOP/s is not exactly operations /
latency).
"""

from __future__ import annotations

import math
from typing import Any

import pandas as pd

from . import implementations, model
from .rows import CONFIG_KEYS

#: A runner-up at least this much slower than the winner makes a cell *separated*.
PRACTICAL_THRESHOLD = 1.1

CELL = ["gpu", *CONFIG_KEYS]


def _ineligible(row: dict[str, Any], allow_unchecked: bool) -> str | None:
    if row["status"] != "OK":
        return row["status"]
    passed = (row.get("correctness") or {}).get("pass")
    if passed is None and not allow_unchecked:
        return "not checked against fp64"
    us = row.get("median_us")
    if us is None or not math.isfinite(us) or us <= 0:
        return "no finite positive time"
    return None


def to_frame(rows: list[dict[str, Any]], allow_unchecked: bool = False) -> pd.DataFrame:
    """One line a row, flat. page_size 0 means contiguous, variant '' means none."""
    records = []
    for row in rows:
        cfg = {k: row["config"].get(k) for k in CONFIG_KEYS}
        impl = implementations.lookup(row["implementation"])
        expanded = row.get("kv_expanded")
        expanded = impl.expands_kv if expanded is None else expanded
        why = _ineligible(row, allow_unchecked)
        us = row.get("median_us") if why is None else None
        dispatch = row.get("dispatch") or {}
        correct = row.get("correctness") or {}
        memory = row.get("memory") or {}
        traffic = row.get("traffic") or {}
        intended = dispatch.get("intended") or impl.family
        reads, writes = traffic.get("dram_read_bytes"), traffic.get("dram_write_bytes")
        records.append(
            {
                **cfg,
                "page_size": cfg["page_size"] or 0,
                "variant": cfg["variant"] or "",
                "gpu": row["gpu"]["name"],
                "implementation": row["implementation"],
                "run_id": row["run_id"],
                "rep": row["rep"],
                "status": row["status"],
                "reason": row.get("reason"),
                "eligible": why is None,
                "why_not": why,
                "us": us,
                "tflops": model.flops(cfg) / us / 1e6 if us else None,
                "gbs": model.kv_bytes(cfg, expanded) / us / 1e3 if us else None,
                "kv_mb": model.kv_bytes(cfg, expanded) / 1e6,
                "ai": model.intensity(cfg, expanded, impl.materializes),
                "dram_bytes": None if reads is None or writes is None else reads + writes,
                "memory_mib": memory.get("measured_mib"),
                "observed": dispatch.get("observed") or "unprobed",
                "intended": tuple([intended] if isinstance(intended, str) else intended or ()),
                "inductor_counter": dispatch.get("inductor_counter"),
                "inductor": impl.inductor,
                "checked": correct.get("pass") is not None,
                "passed": correct.get("pass"),
                "max_abs": correct.get("max_abs"),
                "max_rel": correct.get("max_rel"),
                "min_cos": correct.get("min_cos"),
                "vs_baseline": correct.get("vs_baseline"),
                "throttled": bool(row.get("throttle")),
                "stop_unmet": not (row.get("stop") or {"met": True}).get("met", True),
            }
        )
    columns = list(records[0]) if records else [*CELL, "implementation", "status", "eligible"]
    frame = pd.DataFrame.from_records(records, columns=columns)
    for numeric in (
        "us",
        "tflops",
        "gbs",
        "memory_mib",
        "max_abs",
        "max_rel",
        "min_cos",
        "vs_baseline",
        "dram_bytes",
    ):
        if numeric in frame:
            frame[numeric] = pd.to_numeric(frame[numeric])
    return frame


def per_implementation(frame: pd.DataFrame) -> pd.DataFrame:
    """Eligible rows -> one line per (cell, implementation): medians over repetitions, and how
    many."""
    good = frame[frame["eligible"]]
    if good.empty:
        return pd.DataFrame(
            columns=[*CELL, "implementation", "us", "tflops", "gbs", "memory_mib", "kv_mb", "reps"]
        )
    grouped = good.groupby([*CELL, "implementation"], sort=True, dropna=False)
    out = grouped.agg(
        us=("us", "median"),
        tflops=("tflops", "median"),
        gbs=("gbs", "median"),
        memory_mib=("memory_mib", "median"),
        kv_mb=("kv_mb", "first"),
        reps=("us", "size"),
    )
    return out.reset_index()


def winners(times: pd.DataFrame) -> pd.DataFrame:
    """One line a cell: winner, its us, runner-up ratio (NaN when alone), spread, number of
    contenders.

    A tie goes to the alphabetically first id, so that the answer does not depend on row order; its
    ratio is 1, so it is never separated.
    """
    columns = [*CELL, "winner", "us", "ratio", "spread", "contenders"]
    if times.empty:
        return pd.DataFrame(columns=columns)
    ordered = times.sort_values(["us", "implementation"], kind="stable")
    grouped = ordered.groupby(CELL, sort=True, dropna=False)
    out = grouped.agg(
        winner=("implementation", "first"),
        us=("us", "first"),
        slowest=("us", "last"),
        contenders=("us", "size"),
    )
    second = grouped["us"].nth(1)
    second = ordered.loc[second.index, CELL].assign(second=second)
    out = out.reset_index().merge(second, on=CELL, how="left")
    out["ratio"] = out["second"] / out["us"]
    out["spread"] = (out["slowest"] / out["us"]).where(out["contenders"] > 1)
    out["separated"] = out["ratio"] >= PRACTICAL_THRESHOLD
    return out.drop(columns=["second", "slowest"])
