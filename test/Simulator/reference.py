"""The definition in fp64 (docs/Spec.md, docs/Semantics.md), one sequence and head at a time."""

from __future__ import annotations

import math

import numpy as np

from problem import Problem
from spec import Expression


def alibi_slopes(heads: int) -> np.ndarray:
    """The ALiBi paper's, for any number of heads."""
    power = 1 << (heads.bit_length() - 1)
    slopes = [2.0 ** (-8 * (i + 1) / power) for i in range(power)]
    slopes += [2.0 ** (-4 * (2 * i + 1) / power) for i in range(heads - power)]
    return np.array(slopes)


def evaluate(problem: Problem) -> dict[str, np.ndarray]:
    """o and lse in logical order, and `weight`: the sum of |p · v| that o's error is measured by."""
    spec, shape = problem.spec, problem.shape
    q, k, v = (problem.arrays[name].logical() for name in "qkv")
    o = np.zeros(problem.arrays["o"].shape)
    weight = np.zeros_like(o)
    lse = np.zeros(o.shape[:3])
    tensors = {name[4:]: array.logical() for name, array in problem.arrays.items() if name.startswith("arg.")}
    scalars = {name[4:]: value for name, value in problem.scalars.items() if name.startswith("arg.")}
    scale = spec.scale if spec.scale is not None else 1 / math.sqrt(spec.dim_qk)
    start_q, start_kv = np.cumsum([0, *shape.lens_q]), np.cumsum([0, *shape.lens_kv])
    slopes = alibi_slopes(spec.heads_q)
    for b, (len_q, len_kv) in enumerate(zip(shape.lens_q, shape.lens_kv)):
        block, first = (0, start_q[b]) if problem.packed else (b, 0)
        rows = slice(first, first + len_q)
        keys, values = _cache(problem, k, v, b, start_kv[b], len_kv)
        i, j = np.arange(len_q)[:, None], np.arange(len_kv)[None, :]
        for h in range(spec.heads_q):
            kv_head = h * spec.heads_kv // spec.heads_q
            names = {**tensors, **scalars, "b": b, "h": h, "q_idx": i, "q_pos": i + len_kv - len_q, "kv_pos": j,
                     "len_q": len_q, "len_kv": len_kv}
            s = scale * (q[block, h, rows] @ keys[kv_head].T)
            s = _score(problem, s, names, slopes[h])
            if spec.bias:
                s = s + problem.arrays["bias"].logical()[b, h, :len_q, :len_kv]
            s = np.where(_mask(problem, names, s.shape), s, -np.inf)
            sink = problem.arrays["sinks"].logical()[h] if spec.sinks else -np.inf
            top = np.maximum(s.max(axis=1, initial=-np.inf), sink)
            safe = np.where(np.isinf(top), 0, top)
            p = np.exp(s - safe[:, None])
            total = p.sum(axis=1) + np.exp(sink - safe)
            with np.errstate(divide="ignore", invalid="ignore"):
                lse[block, h, rows] = np.log(total) + safe
                p = np.where(total[:, None] > 0, p / total[:, None], 0)
            o[block, h, rows] = p @ values[kv_head]
            weight[block, h, rows] = p @ np.abs(values[kv_head])
    return {"o": o, "lse": lse, "weight": weight}


def _cache(problem: Problem, k, v, b: int, start: int, length: int):
    """The keys and values [heads, length, dim] of a sequence."""
    if problem.packed:
        return k[0, :, start:start + length], v[0, :, start:start + length]
    if not problem.spec.page:
        return k[b, :, :length], v[b, :, :length]
    table = problem.arrays["block_table"].data[b]
    pages = [int(table[p]) for p in range(-(-length // problem.spec.page))]
    if not pages:
        return k[0, :, :0], v[0, :, :0]
    return tuple(np.concatenate([x[page] for page in pages], axis=1)[:, :length] for x in (k, v))


def _score(problem: Problem, s, names, slope):
    for part in problem.spec.scores:
        if part == "alibi":
            s = s - slope * (names["q_pos"] - names["kv_pos"])
        elif isinstance(part, dict) and "softcap" in part:
            s = part["softcap"] * np.tanh(s / part["softcap"])
        elif isinstance(part, dict) and "alibi" in part:
            s = s - names[part["alibi"]][names["h"]] * (names["q_pos"] - names["kv_pos"])
        else:
            s = Expression(part["expr"] if isinstance(part, dict) else part)({**names, "s": s})
    return s


def _mask(problem: Problem, names, shape) -> np.ndarray:
    visible = np.ones(shape, bool)
    q_pos, kv_pos = names["q_pos"], names["kv_pos"]
    for part in problem.spec.masks:
        if part == "causal":
            seen = kv_pos <= q_pos
        elif part == "causal_top_left":
            seen = kv_pos <= names["q_idx"]
        elif isinstance(part, dict) and "window_tokens" in part:
            seen = (kv_pos > q_pos - part["window_tokens"]) & (kv_pos <= q_pos)
        elif isinstance(part, dict) and "window" in part:
            window = part["window"]
            left, right = window if isinstance(window, list) else (window.get("left", -1), window.get("right", -1))
            seen = ((left < 0) | (kv_pos >= q_pos - left)) & ((right < 0) | (kv_pos <= q_pos + right))
        elif isinstance(part, dict) and "prefix_lm" in part:
            length = names[part["prefix_lm"]]
            seen = (kv_pos <= q_pos) | (kv_pos < (length[names["b"]] if isinstance(length, np.ndarray) else length))
        elif isinstance(part, dict) and "document" in part:
            document = names[part["document"]][names["b"]]
            # A query before the first key belongs to no document.
            size = document.shape[0]
            at = np.clip(q_pos, 0, max(0, size - 1))
            seen = (document[at] == document[kv_pos]) & (q_pos >= 0) if size else visible
        else:
            seen = Expression(part["expr"] if isinstance(part, dict) else part)(names)
        visible = visible & seen
    return visible
