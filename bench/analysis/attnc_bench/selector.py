"""The selector: a small decision tree that names the implementation to use for a configuration.

Features, in order: is_decode (0/1), log_len (log2 N), log_batch (log2 B), gqa (Hq/Hkv), bw_gbs
(measured read ceiling of the GPU), sm (its multiprocessors). The label of a cell is its winner. The
tree has depth 4, as in the study. Its *regret* in a cell is time(chosen) / time(winner); cells
where the choice does not run have no regret and are counted apart.

How it is judged matters more than how it is trained: a tree judged on the cells it was trained on
says nothing. With `train_gpus` it is trained there and judged on all other GPUs (the study: A100,
H100); otherwise each GPU is judged by a tree that never saw it; with one GPU only, five folds over
shapes, the launch and cache variants of a shape staying in one fold. The exported tree is trained
on everything (or on `train_gpus`).

This file does not choose at run time: it exports a JSON tree that a runtime walks. The format is in
docs/Benchmarking.md; `walk` below is its reference reader.
"""

from __future__ import annotations

import math
from collections import defaultdict
from typing import Any

import numpy as np
import pandas as pd
from sklearn.tree import DecisionTreeClassifier, export_text

from .cells import CELL
from .cells import winners as find_winners

FEATURES = ["is_decode", "log_len", "log_batch", "gqa", "bw_gbs", "sm"]
MAX_DEPTH = 4
FORMAT = "attnc-selector"
FORMAT_VERSION = 1

#: A fixed choice is listed when it runs in at least this share of the judged cells (as in the
#: study).
MIN_COVERAGE = 0.5


def features(cell: dict[str, Any], device: dict[str, Any]) -> list[float]:
    """The feature vector of one configuration on one GPU; unknown bandwidth or SM count is 0."""
    return [
        1.0 if cell["regime"] == "decode" else 0.0,
        math.log2(cell["N"]),
        math.log2(cell["batch"]),
        cell["hq"] / cell["hkv"],
        float(device.get("bw_gbs") or 0.0),
        float(device.get("sm") or 0.0),
    ]


class _Data:
    """Cells as arrays: x, winner, the times of every implementation, and the grouping keys."""

    def __init__(self, times: pd.DataFrame, devices: list[dict[str, Any]]):
        by_gpu = {d["gpu"]: d for d in devices}
        won = find_winners(times)
        table: dict[tuple, dict[str, float]] = defaultdict(dict)
        for key, impl, us in zip(
            times[CELL].itertuples(index=False, name=None), times["implementation"], times["us"]
        ):
            table[key][impl] = us
        cells = won[CELL].to_dict("records")
        self.x = np.array([features(c, by_gpu[c["gpu"]]) for c in cells]).reshape(-1, len(FEATURES))
        self.y = won["winner"].to_numpy(dtype=object)
        self.gpu = won["gpu"].to_numpy(dtype=object)
        self.times = [table[k] for k in won[CELL].itertuples(index=False, name=None)]
        self.shape = [(c["regime"], c["batch"], c["N"], c["hq"], c["hkv"]) for c in cells]
        self.regime = won["regime"].to_numpy(dtype=object)


def _fit(x: np.ndarray, y: np.ndarray) -> DecisionTreeClassifier:
    tree = DecisionTreeClassifier(max_depth=MAX_DEPTH, random_state=0)
    return tree.fit(x, y.astype(str))


def _splits(data: _Data, train_gpus: list[str] | None) -> tuple[list[tuple], str]:
    gpus = sorted(set(data.gpu))
    everything = np.arange(len(data.y))
    if train_gpus:
        unknown = sorted(set(train_gpus) - set(gpus))
        if unknown:
            raise ValueError(f"no rows of GPU {', '.join(unknown)}; there are {', '.join(gpus)}")
        inside = np.isin(data.gpu, train_gpus)
        if inside.all():
            raise ValueError("every GPU is a training GPU: none is left to judge the tree on")
        method = f"trained on {', '.join(train_gpus)}; judged on the other GPUs"
        return [(everything[inside], everything[~inside])], method
    if len(gpus) > 1:
        folds = [(everything[data.gpu != g], everything[data.gpu == g]) for g in gpus]
        return folds, "each GPU judged by a tree that never saw it"
    shapes = sorted(set(data.shape))
    k = min(5, len(shapes))
    if k < 2:
        return [], "not judged: one shape on one GPU"
    fold_of = {s: i % k for i, s in enumerate(shapes)}
    fold = np.array([fold_of[s] for s in data.shape])
    folds = [(everything[fold != f], everything[fold == f]) for f in range(k)]
    return folds, f"{k} folds over shapes of the one GPU"


def _round(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else round(float(value), 3)


def _quantiles(values: list[float]) -> dict[str, float | None]:
    if not values:
        return {"median": None, "p95": None}
    return {
        "median": _round(float(np.median(values))),
        "p95": _round(float(np.percentile(values, 95))),
    }


def _fixed(data: _Data, judged: np.ndarray, regime: str | None = None) -> dict[str, dict]:
    rows = [i for i in judged if regime is None or data.regime[i] == regime]
    regrets: dict[str, list[float]] = defaultdict(list)
    for i in rows:
        best = min(data.times[i].values())
        for impl, us in data.times[i].items():
            regrets[impl].append(us / best)
    return {
        impl: {**_quantiles(r), "coverage": _round(len(r) / len(rows))}
        for impl, r in sorted(regrets.items())
    }


def train(
    times: pd.DataFrame, devices: list[dict[str, Any]], train_gpus: list[str] | None = None
) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """(the study's `selector` value, details beyond it, the exportable JSON tree).

    `times` is cells.per_implementation's table. Raises ValueError when there is no cell or a
    training GPU is unknown.
    """
    data = _Data(times, devices)
    if len(data.y) == 0:
        raise ValueError("no eligible cell: nothing to train on")
    folds, method = _splits(data, train_gpus)
    judged: list[int] = []
    hits = 0
    regret: list[float] = []
    with_fallback: list[float] = []
    per_regime: dict[str, list[float]] = defaultdict(list)
    absent = 0
    for inside, outside in folds:
        tree = _fit(data.x[inside], data.y[inside])
        exported = _export(tree, data, inside)
        for i in outside:
            judged.append(int(i))
            ranking = walk(exported, data.x[i])
            best = min(data.times[i].values())
            choice = ranking[0]
            hits += choice == data.y[i]
            if choice in data.times[i]:
                regret.append(data.times[i][choice] / best)
                per_regime[data.regime[i]].append(regret[-1])
            else:
                absent += 1
            usable = next((r for r in ranking if r in data.times[i]), None)
            if usable:
                with_fallback.append(data.times[i][usable] / best)
    rows = np.array(judged, dtype=int)
    final_rows = (
        np.flatnonzero(np.isin(data.gpu, train_gpus)) if train_gpus else np.arange(len(data.y))
    )
    final = _fit(data.x[final_rows], data.y[final_rows])
    rule = (
        export_text(final, feature_names=FEATURES)
        if final.tree_.node_count > 1
        else f"|--- class: {final.classes_[0]}\n"
    )
    fixed = _fixed(data, rows)
    quantiles = _quantiles(regret)
    summary = {
        "accuracy": _round(hits / len(rows)) if len(rows) else None,
        "n": len(rows),
        "median_regret": quantiles["median"],
        "p95_regret": quantiles["p95"],
        "rule": rule,
        "vs_fixed": {k: v for k, v in fixed.items() if v["coverage"] >= MIN_COVERAGE},
    }
    details = {
        "judged": method,
        "choice_absent": absent,
        "with_fallback": {**_quantiles(with_fallback), "n": len(with_fallback)},
        "by_regime": {r: {**_quantiles(v), "n": len(v)} for r, v in sorted(per_regime.items())},
        "vs_fixed_by_regime": {
            r: _fixed(data, rows, r) for r in sorted(set(data.regime)) if len(rows)
        },
    }
    document = {
        **_export(final, data, final_rows),
        "trained": {"gpus": sorted(set(data.gpu[final_rows])), "cells": len(final_rows)},
        "judged": {k: summary[k] for k in ("accuracy", "n", "median_regret", "p95_regret")}
        | {"method": method},
    }
    return summary, details, document


def _leaf(data: _Data, rows: np.ndarray) -> list[dict[str, Any]]:
    """Ranked choices of a leaf: first by share of cells won, then by geometric-mean slowdown."""
    won: dict[str, int] = defaultdict(int)
    logs: dict[str, list[float]] = defaultdict(list)
    for i in rows:
        won[data.y[i]] += 1
        best = min(data.times[i].values())
        for impl, us in data.times[i].items():
            logs[impl].append(math.log(us / best))
    ranked = sorted(logs, key=lambda k: (-won[k], sum(logs[k]) / len(logs[k]), k))
    return [
        {
            "implementation": k,
            "share": round(won[k] / len(rows), 4),
            "slowdown": round(math.exp(sum(logs[k]) / len(logs[k])), 4),
        }
        for k in ranked
    ]


def _export(tree: DecisionTreeClassifier, data: _Data, rows: np.ndarray) -> dict[str, Any]:
    t = tree.tree_
    leaf_of = tree.apply(data.x[rows])
    nodes: list[dict[str, Any]] = []
    for n in range(t.node_count):
        if t.children_left[n] == -1:
            nodes.append({"choices": _leaf(data, rows[leaf_of == n])})
        else:
            nodes.append(
                {
                    "feature": int(t.feature[n]),
                    "threshold": float(t.threshold[n]),
                    "left": int(t.children_left[n]),
                    "right": int(t.children_right[n]),
                }
            )
    return {
        "format": FORMAT,
        "version": FORMAT_VERSION,
        "features": list(FEATURES),
        "nodes": nodes,
    }


def walk(tree: dict[str, Any], x: list[float] | np.ndarray) -> list[str]:
    """The reference reader: from node 0, left when x[feature] <= threshold, until a leaf; returns
    the leaf's implementations, best first. The caller takes the first that it has."""
    node = tree["nodes"][0]
    while "choices" not in node:
        left = float(x[node["feature"]]) <= node["threshold"]
        node = tree["nodes"][node["left" if left else "right"]]
    return [c["implementation"] for c in node["choices"]]
