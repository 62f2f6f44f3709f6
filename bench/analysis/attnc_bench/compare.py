"""Two sets of rows, cell by cell: is b faster, slower, or is there no difference to be seen?

The ratio of a cell is speed of b over speed of a, latency_a / latency_b: below 1, b is slower. Its
interval is a bootstrap over repetitions (three or more on both sides), else over the raw samples,
which leaves out how repetitions differ and is marked so.

A difference needs both: an interval that leaves out 1, and an effect of at least MARGIN. Everything
else is "no difference", and "no difference, wide" when the interval spans more than WIDE, that is,
when the runs could not have seen a small one. A *regression* is a slower cell whose ratio is below
the limit, or a cell whose time counted in a and whose status in b says that it no longer works.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .rows import CONFIG_KEYS, RowSet, config_key
from .stats import resampled_medians

MARGIN = 0.02
WIDE = 0.10
#: Statuses that are a loss when the other side had a time. UNSUPPORTED and predicted OOM are too.
_LOST = ("INCORRECT", "ERROR", "TIMEOUT", "OOM", "OOM_PREDICTED", "UNSUPPORTED")


@dataclass
class Side:
    """What one side knows of one (GPU, implementation, configuration)."""

    medians: list[float] = field(default_factory=list)
    samples: list[float] = field(default_factory=list)
    bad: list[str] = field(default_factory=list)


@dataclass
class Comparison:
    """All cells, and those only one side has. `regressions` are entries of `cells`."""

    cells: list[dict[str, Any]]
    only_a: list[tuple]
    only_b: list[tuple]
    limit: float | None

    @property
    def regressions(self) -> list[dict[str, Any]]:
        return [c for c in self.cells if c["regression"]]


def _sides(rowset: RowSet, allow_unchecked: bool) -> dict[tuple, Side]:
    out: dict[tuple, Side] = defaultdict(Side)
    for row in rowset.rows:
        side = out[(row["gpu"]["name"], row["implementation"], *config_key(row["config"]))]
        passed = (row.get("correctness") or {}).get("pass")
        us = row.get("median_us")
        if row["status"] != "OK":
            side.bad.append(row["status"])
        elif passed is None and not allow_unchecked:
            side.bad.append("UNCHECKED")
        elif us is None or us <= 0:
            side.bad.append("NO_TIME")
        else:
            side.medians.append(us)
            side.samples += [s for s in row["samples_us"] if s is not None and s > 0]
    return out


def ratio_interval(a: Side, b: Side, level: float = 0.95) -> tuple[float, float, float, str]:
    """(ratio, low, high, basis): basis is 'repetitions' or 'samples'."""
    ratio = float(np.median(a.medians) / np.median(b.medians))
    enough = min(len(a.medians), len(b.medians)) >= 3
    x, y = (a.medians, b.medians) if enough else (a.samples, b.samples)
    draws = resampled_medians(np.array(x), seed=1) / resampled_medians(np.array(y), seed=2)
    lo, hi = np.percentile(draws, [50 * (1 - level), 50 * (1 + level)])
    # With samples as basis the pooled median need not equal the median of medians.
    return (
        ratio,
        min(float(lo), ratio),
        max(float(hi), ratio),
        ("repetitions" if enough else "samples"),
    )


def verdict(ratio: float, low: float, high: float, margin: float = MARGIN) -> str:
    """'faster', 'slower', 'no difference' or 'no difference, wide', of b against a."""
    if low > 1 and ratio >= 1 + margin:
        return "faster"
    if high < 1 and ratio <= 1 - margin:
        return "slower"
    return "no difference, wide" if high - low > WIDE else "no difference"


def compare(
    a: RowSet,
    b: RowSet,
    fail_below: float | None = None,
    margin: float = MARGIN,
    allow_unchecked: bool = False,
) -> Comparison:
    """Compare all cells that both sides have. `fail_below`: the least allowed ratio, or None."""
    left, right = _sides(a, allow_unchecked), _sides(b, allow_unchecked)
    cells = []
    for key in sorted(left.keys() & right.keys(), key=str):
        x, y = left[key], right[key]
        cell: dict[str, Any] = {
            "gpu": key[0],
            "implementation": key[1],
            "config": dict(zip(CONFIG_KEYS, key[2:])),
            "reps": [len(x.medians), len(y.medians)],
        }
        if x.medians and y.medians:
            ratio, low, high, basis = ratio_interval(x, y)
            word = verdict(ratio, low, high, margin)
            cell |= {
                "us": [float(np.median(x.medians)), float(np.median(y.medians))],
                "ratio": ratio,
                "low": low,
                "high": high,
                "basis": basis,
                "verdict": word,
                "regression": fail_below is not None and word == "slower" and ratio < fail_below,
            }
        elif x.medians:
            cell |= {
                "verdict": f"lost: {y.bad[0]}",
                "regression": fail_below is not None and any(s in _LOST for s in y.bad),
            }
        elif y.medians:
            cell |= {"verdict": f"gained (was {x.bad[0]})", "regression": False}
        else:
            continue
        cells.append(cell)
    only_a = sorted((k for k in left.keys() - right.keys() if left[k].medians), key=str)
    only_b = sorted((k for k in right.keys() - left.keys() if right[k].medians), key=str)
    return Comparison(cells, only_a, only_b, fail_below)


def label(config: dict[str, Any]) -> str:
    """One short line for a configuration, words only where they differ from the usual."""
    parts = [
        config["regime"],
        f"B{config['batch']}",
        f"N{config['N']}",
        f"H{config['hq']}/{config['hkv']}",
        f"D{config['head_dim']}",
        config["dtype"],
        "causal" if config["causal"] else "full",
        config["mode"],
        config["launch"],
        config["cache"],
    ]
    if config.get("page_size"):
        parts.append(f"page{config['page_size']}")
    if config.get("variant"):
        parts.append(config["variant"])
    return " ".join(parts)


def render(result: Comparison, every: bool = False) -> str:
    """The comparison as text: what differs (or every cell), then totals, then regressions."""
    out = []
    measured = [c for c in result.cells if "ratio" in c]
    for c in result.cells:
        if not every and c["verdict"].startswith("no difference"):
            continue
        head = f"{c['gpu']:<9} {c['implementation']:<18} {label(c['config'])}"
        if "ratio" in c:
            out.append(
                f"{head}\n    {c['us'][0]:.2f} -> {c['us'][1]:.2f} us, speed x{c['ratio']:.3f} "
                f"[{c['low']:.3f}, {c['high']:.3f}] over {c['basis']}: {c['verdict']}"
                + (" REGRESSION" if c["regression"] else "")
            )
        else:
            out.append(f"{head}\n    {c['verdict']}" + (" REGRESSION" if c["regression"] else ""))
    tally: dict[str, int] = defaultdict(int)
    for c in result.cells:
        tally[c["verdict"]] += 1
    out.append(
        f"{len(result.cells)} cells compared: "
        + ", ".join(f"{n} {word}" for word, n in sorted(tally.items(), key=lambda kv: -kv[1]))
    )
    by_impl: dict[str, list[float]] = defaultdict(list)
    for c in measured:
        by_impl[c["implementation"]].append(math.log(c["ratio"]))
    for impl, logs in sorted(by_impl.items()):
        out.append(
            f"  {impl:<18} geometric mean x{math.exp(sum(logs) / len(logs)):.3f} ({len(logs)})"
        )
    if measured:
        drift = np.median([abs(c["ratio"] - 1) for c in measured])
        out.append(f"median |difference| {100 * drift:.2f}%")
    for name, only in (("a", result.only_a), ("b", result.only_b)):
        if only:
            out.append(
                f"NOT COMPARED: {len(only)} cells have a time only in {name}, for example "
                f"{only[0][0]} {only[0][1]} {label(dict(zip(CONFIG_KEYS, only[0][2:])))}"
            )
    if result.limit is not None:
        n = len(result.regressions)
        out.append(f"{n} regressions (ratio below {result.limit}, or a cell that no longer works)")
    return "\n".join(out)
