"""The sentences of the report: every heading states what the numbers under it say.

Each function takes the study document and returns plain text (the page escapes it). When the
document holds too little for a statement, the text says that instead of stating something weaker.
"""

from __future__ import annotations

from collections import Counter
from statistics import median
from typing import Any

from . import implementations, model

Doc = dict[str, Any]


def name(impl: str) -> str:
    """'FlashInfer (D4-flashinfer)'; an unlisted id stands alone."""
    known = implementations.lookup(impl)
    return impl if known.name == impl else f"{known.name} ({impl})"


def pct(share: float | None, digits: int = 0) -> str:
    return "n/a" if share is None else f"{100 * share:.{digits}f}%"


def count(n: float) -> str:
    return f"{n:,.0f}"


def _join(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else ", ".join(parts[:-1]) + " and " + parts[-1]


def flips(doc: Doc, regime: str) -> tuple[float | None, float | None, int, int]:
    """(flip share over all pairs, the same among separated cells, cells, separated cells)."""
    pairs = [p for p in doc["pairs"] if p["regime"] == regime]
    n, n_sep = sum(p["n"] for p in pairs), sum(p["n_sep"] for p in pairs)
    every = sum((p["flip"] or 0) * p["n"] for p in pairs) / n if n else None
    sep = sum((p["flip_sep"] or 0) * p["n_sep"] for p in pairs) / n_sep if n_sep else None
    return every, sep, n, n_sep


def title(doc: Doc) -> str:
    """The report's default title: portability is a question only where there are two GPUs."""
    gpus = [d["gpu"] for d in doc["devices"]]
    return (
        f"Attention kernels on {gpus[0]}"
        if len(gpus) == 1
        else "Is the best attention kernel portable?"
    )


def headline(doc: Doc) -> str:
    parts = []
    if doc["pairs"] and not any(p["flip"] for p in doc["pairs"]):
        return (
            "The best attention kernel on one GPU is the best on every other, in all common cells."
        )
    for regime in ("prefill", "decode"):
        share, sep, n, n_sep = flips(doc, regime)
        if share is not None:
            text = f"{pct(share)} of {regime} cells"
            parts.append(text + (f" ({pct(sep)} where both leads are clear)" if n_sep else ""))
    if not parts:
        tops = []
        for regime in sorted(doc["winners"]):
            total = Counter()
            for counts in doc["winners"][regime].values():
                total.update(counts)
            ((best, won),) = total.most_common(1)
            tops.append(f"{name(best)} wins {won} of {sum(total.values())} {regime} cells")
        where = _join([d["gpu"] for d in doc["devices"]]) if doc["devices"] else "no GPU"
        return f"On {where}, " + (_join(tops) if tops else "no time counts") + "."
    return (
        "The best attention kernel on one GPU is not the best on another in " + _join(parts) + "."
    )


def winners(doc: Doc) -> str:
    parts = []
    for regime in ("prefill", "decode"):
        total: Counter = Counter()
        for counts in doc["winners"].get(regime, {}).values():
            total.update(counts)
        if not total:
            continue
        best, won = total.most_common(1)[0]
        parts.append(f"{best} wins {pct(won / sum(total.values()))} of {regime}")
    if not parts:
        return "No cell has a winner"
    several = len({i for r in doc["winners"].values() for c in r.values() for i in c}) > 2
    return ("Nobody wins everywhere: " if several else "Who wins: ") + _join(parts)


def pairs(doc: Doc) -> str:
    if not doc["pairs"]:
        return "One GPU: no pair to compare"
    worst = max(doc["pairs"], key=lambda p: p["flip"] or 0)
    if not worst["flip"]:
        return "All GPUs have the same winner in every cell that they share"
    return (
        f"Between two GPUs the winner flips in up to {pct(worst['flip'])} of cells "
        f"({worst['regime']}, {worst['a']} and {worst['b']})"
    )


def separation(doc: Doc) -> str:
    by = doc["separation"]["by_regime"]
    parts = [
        f"{pct(v['separated'])} of {r} cells (median lead {100 * (v['median_ratio'] - 1):.0f}%)"
        for r, v in sorted(by.items(), reverse=True)
        if v["separated"] is not None
    ]
    if not parts:
        return "No cell has two contenders"
    lead = 100 * (doc["separation"]["practical_threshold"] - 1)
    few = all((v["separated"] or 0) < 0.5 for v in by.values())
    return f"The winner leads by {lead:.0f}% or more in {'only ' if few else ''}" + _join(parts)


def prefill(doc: Doc) -> str:
    tops = []
    for gpu, impls in doc["prefill_tflops"].items():
        points = [(y, x, i) for i, c in impls.items() for x, y in zip(c["x"], c["y"])]
        if points:
            tops.append((*max(points), gpu))
    if not tops:
        return "Prefill: nothing was measured in this slice"
    y, x, impl, gpu = max(tops)
    return f"Prefill peaks at {y:.0f} TFLOP/s: {impl} on {gpu} at N {x}"


def speedup(doc: Doc) -> str:
    base = base_of(doc)
    rows = doc["prefill_speedup"]
    if not rows:
        return f"No speed-ups: {base} has no time in this slice"
    best = max(rows, key=lambda r: r["speedup"])
    cells: dict[tuple, float] = {}
    for r in rows:
        key = (r["gpu"], r["B"], r["N"])
        cells[key] = max(cells.get(key, 0.0), r["speedup"])
    behind = sum(v > 1.1 for v in cells.values())
    return (
        f"Something beats {base} by over 10% in {behind} of {len(cells)} prefill cells, at most "
        f"{best['speedup']:.1f}× ({best['impl']} on {best['gpu']}, B{best['B']} N{best['N']})"
    )


def base_of(doc: Doc) -> str:
    return doc.get("attnc_bench", {}).get("speedup_base", implementations.SPEEDUP_BASE)


def ceilings(doc: Doc) -> dict[str, float]:
    return {d["gpu"]: d["bw_gbs"] for d in doc["devices"] if d.get("bw_gbs")}


def decode(doc: Doc) -> str:
    if not any(doc[f"decode_bw_b{b}"] for b in (1, 32)):
        return "Decode: nothing was measured in this slice"
    return (
        "At batch 32 and the longest KV the best decode kernel reads at "
        f"{_long_decode(doc, ceilings(doc))} of the GPU's stated ceiling"
    )


def above_ceiling(doc: Doc) -> str:
    """How many points exceed the ceiling, apart by whether their K and V fit L2; '' for none."""
    roof = ceilings(doc)
    l2 = {d["gpu"]: (d.get("l2_mb") or 0) * 1e6 for d in doc["devices"]}
    fixed = doc["decode_slice"]
    cached = beyond = total = 0
    for batch in (1, 32):
        for gpu, impls in doc[f"decode_bw_b{batch}"].items():
            if gpu not in roof:
                continue
            for c in impls.values():
                for n, y in zip(c["x"], c["y"]):
                    total += 1
                    if y <= roof[gpu]:
                        continue
                    size = model.kv_bytes({**fixed, "batch": batch, "N": n}, False)
                    cached, beyond = (
                        (cached + 1, beyond) if size <= l2[gpu] else (cached, beyond + 1)
                    )
    parts = []
    if cached:
        parts.append(
            f"{cached} of {total} points lie above the ceiling with K and V that fit L2: they say "
            "nothing about device memory."
        )
    if beyond:
        parts.append(
            f"{beyond} of {total} lie above it although K and V are larger than L2: there the "
            f"stated "
            "ceiling is lower than what the memory does, or L2 holds part of K and V."
        )
    return " ".join(parts)


def _long_decode(doc: Doc, roof: dict[str, float]) -> str:
    shares = []
    for gpu, impls in doc["decode_bw_b32"].items():
        ends = [c["y"][-1] for c in impls.values() if c["x"]]
        if ends and gpu in roof:
            shares.append(max(ends) / roof[gpu])
    if not shares:
        return "an unknown share"
    low, high = min(shares), max(shares)
    return pct(low) if pct(low) == pct(high) else f"{pct(low)} to {pct(high)}"


def winner_map(doc: Doc) -> str:
    kinds = {
        gpu: Counter(c["impl"] for c in cells)
        for gpu, cells in doc["decode_winner_map"].items()
        if cells
    }
    if not kinds:
        return "Decode winner map: no cell in this slice"
    alone = [f"{g} ({next(iter(k))})" for g, k in kinds.items() if len(k) == 1]
    most = max(kinds, key=lambda g: len(kinds[g]))
    if len(alone) == len(kinds):
        return "One decode winner holds the whole map on " + _join(alone)
    text = f"On {most} the decode winner depends on length and batch ({len(kinds[most])} winners)"
    return text + (f", on {_join(alone)} it does not" if alone else "")


def gqa(doc: Doc) -> str:
    us = {(m["gpu"], m["impl"], m["batch"], m["N"], m["hkv"]): m["us"] for m in doc["mha_vs_gqa"]}
    heads = sorted({k[4] for k in us})
    if len(heads) < 2:
        return "MHA against GQA: only one number of KV heads was measured"
    few, many = heads[0], heads[-1]
    longest = max(k[3] for k in us)
    ratios = [
        v / us[(*k[:4], few)]
        for k, v in us.items()
        if k[4] == many
        and k[3] == longest
        and (*k[:4], few) in us
        and not implementations.lookup(k[1]).expands_kv
    ]
    if not ratios:
        return "MHA against GQA: no cell has both"
    text = (
        f"{many // few}× the KV heads costs {median(ratios):.1f}× the time at N {longest} "
        "(median of what does not expand KV)"
    )
    by_impl: dict[str, list[float]] = {}
    for k, v in us.items():
        if k[4] == many and k[3] == longest and (*k[:4], few) in us:
            by_impl.setdefault(k[1], []).append(v / us[(*k[:4], few)])
    odd = [i for i, r in sorted(by_impl.items()) if max(r) < 0.9]
    return text + (f"; {_join(odd)} is faster with more of them, on every GPU" if odd else "")


def roofline(doc: Doc) -> str:
    roof = ceilings(doc)
    best: dict[str, float] = {}
    for r in doc["roofline"]:
        if r["regime"] == "decode" and r["gpu"] in roof and r["ai"] and r["tflops"]:
            share = r["tflops"] * 1e3 / (r["ai"] * roof[r["gpu"]])
            best[r["gpu"]] = max(best.get(r["gpu"], 0), share)
    if not best:
        return "Roofline: no decode rows with a known ceiling"
    how = "modelled" if doc.get("roofline_is_modelled") else "measured"
    low, high = min(best.values()), max(best.values())
    return (
        f"In decode the best kernel's median row sits at {pct(low)} to {pct(high)} of the "
        f"bandwidth "
        f"roof ({how} traffic)"
    )


def selector(doc: Doc) -> str:
    s = doc["selector"]
    if not s["n"] or s["median_regret"] is None:
        return "Selector: too few cells to judge one"
    text = (
        f"A depth-4 tree loses {100 * (s['median_regret'] - 1):.1f}% at the median and "
        f"{100 * (s['p95_regret'] - 1):.0f}% at p95"
    )
    fixed = s["vs_fixed"]
    if fixed:
        best = min(fixed, key=lambda k: fixed[k]["p95"])
        text += (
            f"; the best fixed choice ({best}) {100 * (fixed[best]['median'] - 1):.1f}% and "
            f"{100 * (fixed[best]['p95'] - 1):.0f}%, but runs in {pct(fixed[best]['coverage'])} "
            f"of cells"
        )
    return text


def coverage(doc: Doc) -> str:
    counts = doc["status_counts"]
    total = sum(counts.values())
    if not total:
        return "No rows"
    rest = [(k, v) for k, v in sorted(counts.items(), key=lambda kv: -kv[1]) if k != "OK"]
    text = f"{pct(counts.get('OK', 0) / total)} of {count(total)} rows are OK"
    return text + ("; the rest is " + _join([f"{count(v)} {k}" for k, v in rest]) if rest else "")


def dispatch(doc: Doc) -> str:
    h = doc["headline"]
    if not h["probed_pct"]:
        return "Dispatch was not probed: which kernels really ran is not known"
    return (
        f"{h['probed_pct']:.0f}% of OK rows were probed; the kernel that ran was not the "
        f"intended one "
        f"in {h['dispatch_mismatch_pct']:.2f}% of those"
    )


def correctness(doc: Doc) -> str:
    rows = doc["correctness"]
    if not rows:
        return "Correctness: nothing was checked against fp64"
    fail = sum(r["fail"] for r in rows)
    n = sum(r["n"] for r in rows)
    worse = [r["impl"] for r in rows if (r["vs_baseline"] or 0) > 1.001]
    text = f"{count(fail) if fail else 'None'} of {count(n)} checks against fp64 failed"
    if worse:
        text += f"; {_join(worse)} err more than the naive baseline"
    return text
