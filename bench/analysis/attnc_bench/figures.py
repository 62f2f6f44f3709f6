"""The report's figures as plotly specifications, built from the study document.

A figure is {id, title, group, height, views} and may have `key`, [name, colour] pairs of a static
legend, and `note`, words beside the title.
A view is {name, data, layout}. Colours that depend on the
theme are tokens ("@ink", "@grid", "@seq", "@div") which the page resolves. A trace of an implementation
carries its id in `meta`, so that one legend rules all panels of a group. No drawing happens here.
"""

from __future__ import annotations

import math
from collections import defaultdict
from typing import Any

from . import findings, implementations
from .rows import STATUSES

Doc = dict[str, Any]
Fig = dict[str, Any]

#: One colour and marker an implementation, the same library in the same hue in both regimes.
STYLE: dict[str, tuple[str, str, str]] = {
    "P0-naive": ("#8b929c", "circle", "solid"),
    "D0-naive-kv": ("#8b929c", "circle", "solid"),
    "P1-inductor": ("#9a7fd1", "square", "solid"),
    "P1-inductor-nofuse": ("#9a7fd1", "square-open", "dash"),
    "P1-inductor-where": ("#9a7fd1", "square-dot", "dot"),
    "D1-inductor": ("#9a7fd1", "square", "solid"),
    "P2b-sdpa-mem-eff": ("#c9a227", "diamond", "solid"),
    "P2c-sdpa-flash": ("#3f83f8", "triangle-up", "solid"),
    "D2-sdpa": ("#3f83f8", "triangle-up", "solid"),
    "P2d-sdpa-cudnn": ("#2fa866", "triangle-down", "solid"),
    "P6-cudnn": ("#0f8f7e", "triangle-down-open", "dash"),
    "D7-cudnn": ("#2fa866", "triangle-down", "solid"),
    "P3-triton": ("#f28e2b", "pentagon", "solid"),
    "P4-fa2": ("#ef6f62", "hexagon", "solid"),
    "D3-fa-kvcache": ("#ef6f62", "hexagon", "solid"),
    "P4h-fa3": ("#c0293f", "star", "solid"),
    "D6-fa-prefill-at-1": ("#c99093", "x", "solid"),
    "D4-flashinfer": ("#1aa7b8", "cross", "solid"),
    "P5-attnc": ("#e6007e", "star-diamond", "solid"),
    "D5-attnc": ("#e6007e", "star-diamond", "solid"),
    "P7-hand": ("#8d6b48", "bowtie", "solid"),
    "D8-hand": ("#8d6b48", "bowtie", "solid"),
}
_SPARE = ["#5b8c5a", "#b5651d", "#6a6ad4", "#d4708f", "#4a9bb3", "#a3a847"]

STATUS_COLOR = {
    "OK": "#2fa866", "UNSUPPORTED": "#9aa1ab", "OOM_PREDICTED": "#e3bd62", "OOM": "#d98a1f",
    "ERROR": "#d64550", "INCORRECT": "#8e1b3a", "TIMEOUT": "#8067c9",
}
_FAMILY_COLOR = {
    "unfused-gemm": "#8b929c", "triton": "#f28e2b", "pytorch-flash": "#3f83f8",
    "flash-attn": "#ef6f62", "cudnn": "#2fa866", "cutlass-fmha": "#c9a227",
    "flashinfer": "#1aa7b8", "attnc": "#e6007e", "hand-written": "#8d6b48", "unknown": "#d64550",
}


#: Shares in percent; the last label must not be lost to clipping.
_SHARE_AXIS = {"range": [0, 101], "tickvals": [0, 25, 50, 75, 100],
               "ticktext": ["0", "25%", "50%", "75%", "100%"], "showgrid": False}


def style(impl: str, everyone: list[str]) -> tuple[str, str, str]:
    """(colour, marker, dash) of an implementation; unlisted ones take spare colours in order."""
    if impl in STYLE:
        return STYLE[impl]
    spare = [i for i in everyone if i not in STYLE]
    return _SPARE[spare.index(impl) % len(_SPARE)], "circle-open", "dashdot"


def everyone(doc: Doc) -> list[str]:
    """All implementation ids of the document, in id order (prefill and decode)."""
    ids = {c["implementation"] for c in doc["coverage"]}
    ids |= {i for r in doc["winners"].values() for c in r.values() for i in c}
    return sorted(ids)


def short(n: float) -> str:
    """1024 -> 1k, 512 -> 512."""
    return f"{n / 1024:g}k" if n >= 1024 and n % 1024 == 0 else f"{n:g}"


def _slug(text: str) -> str:
    return "".join(ch if ch.isalnum() else "-" for ch in text.lower())


def _n_axis(xs: list[int], title: str) -> dict[str, Any]:
    xs = sorted(set(xs))
    return {
        "type": "log", "tickvals": xs, "ticktext": [short(x) for x in xs], "title": {"text": title},
    }


def _gpu_order(doc: Doc, present) -> list[str]:
    order = [d["gpu"] for d in doc["devices"]]
    return sorted(present, key=lambda g: (order.index(g) if g in order else len(order), g))


def _curve_view(
    doc: Doc, impls: dict, label: str, unit: str, log: bool, xtitle: str,
    intervals: dict | None = None, ceiling: float | None = None,
) -> dict[str, Any]:
    ids = everyone(doc)
    data = []
    for impl, c in sorted(impls.items()):
        color, symbol, dash = style(impl, ids)
        ours = impl.endswith("-attnc")
        trace: dict[str, Any] = {
            "type": "scatter", "mode": "lines+markers", "name": impl, "meta": impl,
            "x": c["x"], "y": c["y"],
            "line": {"color": color, "dash": dash, "width": 3.2 if ours else 1.8},
            "marker": {"color": color, "symbol": symbol, "size": 9 if ours else 7},
            "hovertemplate": f"<b>{impl}</b><br>N %{{x}}: %{{y:,.4~g}} {unit}<extra></extra>",
        }
        band = (intervals or {}).get(impl)
        if band and band["x"] == c["x"] and band["lo"] != band["hi"]:
            trace["error_y"] = {
                "type": "data", "symmetric": False, "thickness": 1, "width": 2, "color": color,
                "array": [max(0, h - y) for h, y in zip(band["hi"], c["y"])],
                "arrayminus": [max(0, y - lo) for lo, y in zip(band["lo"], c["y"])],
            }
        data.append(trace)
    xs = [x for c in impls.values() for x in c["x"]]
    layout: dict[str, Any] = {
        "xaxis": _n_axis(xs, xtitle),
        "yaxis": {"title": {"text": unit}, **(
            {"type": "log", "dtick": 1, "tickformat": "~s"} if log
            else {"rangemode": "tozero", "tickformat": "~s"})},
    }
    if ceiling and xs:
        layout["shapes"] = [{
            "type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": ceiling, "y1": ceiling,
            "line": {"color": "@ink", "width": 1.4, "dash": "dash"}}]
    return {"name": label, "data": data, "layout": layout}


def prefill_curves(doc: Doc) -> list[Fig]:
    bands = doc.get("attnc_bench", {}).get("intervals", {}).get("prefill_latency", {})
    figs = []
    for gpu in _gpu_order(doc, doc["prefill_latency"]):
        views = [
            _curve_view(doc, doc["prefill_tflops"].get(gpu, {}), "Throughput", "TFLOP/s", False,
                        "sequence length N"),
            _curve_view(doc, doc["prefill_latency"][gpu], "Latency", "µs", True,
                        "sequence length N", bands.get(gpu)),
        ]
        if doc["prefill_memory"].get(gpu):
            views.append(_curve_view(doc, doc["prefill_memory"][gpu], "Peak memory", "MiB", True,
                                     "sequence length N"))
        figs.append({"id": f"prefill-{_slug(gpu)}", "title": gpu, "group": "prefill",
                     "height": 300, "views": views})
    return figs


def decode_curves(doc: Doc) -> list[Fig]:
    roof = findings.ceilings(doc)
    bands = doc.get("attnc_bench", {}).get("intervals", {})
    figs = []
    gpus = {g for b in (1, 32) for g in doc[f"decode_latency_b{b}"]}
    for gpu in _gpu_order(doc, gpus):
        views = []
        for b in (32, 1):
            if gpu in doc[f"decode_bw_b{b}"]:
                views.append(_curve_view(doc, doc[f"decode_bw_b{b}"][gpu], f"Bandwidth, B {b}",
                                         "GB/s", False, "KV length N", ceiling=roof.get(gpu)))
        for b in (32, 1):
            if gpu in doc[f"decode_latency_b{b}"]:
                views.append(_curve_view(
                    doc, doc[f"decode_latency_b{b}"][gpu], f"Latency, B {b}", "µs", True,
                    "KV length N", bands.get(f"decode_latency_b{b}", {}).get(gpu)))
        note = f"ceiling {roof[gpu]:,.0f} GB/s" if gpu in roof else "ceiling not known"
        figs.append({"id": f"decode-{_slug(gpu)}", "title": gpu, "note": note, "group": "decode",
                     "height": 300, "views": views})
    return figs


def winner_bars(doc: Doc) -> list[Fig]:
    ids = everyone(doc)
    figs = []
    for regime in ("prefill", "decode"):
        by_gpu = doc["winners"].get(regime, {})
        if not by_gpu:
            continue
        gpus = _gpu_order(doc, by_gpu)[::-1]
        total = {g: sum(by_gpu[g].values()) for g in gpus}
        impls = sorted({i for c in by_gpu.values() for i in c},
                       key=lambda i: -sum(c.get(i, 0) for c in by_gpu.values()))
        data = []
        for impl in impls:
            won = [by_gpu[g].get(impl, 0) for g in gpus]
            share = [100 * w / total[g] for w, g in zip(won, gpus)]
            data.append({
                "type": "bar", "orientation": "h", "name": impl, "meta": impl, "y": gpus, "x": share,
                "customdata": [[w, total[g]] for w, g in zip(won, gpus)],
                "text": [f"{s:.0f}%" if s >= 9 else "" for s in share], "textposition": "inside",
                "insidetextanchor": "middle", "textangle": 0, "textfont": {"color": "#fff", "size": 12},
                "marker": {"color": style(impl, ids)[0], "line": {"color": "@panel", "width": 1}},
                "hovertemplate": f"<b>{impl}</b> on %{{y}}<br>%{{customdata[0]}} of "
                "%{customdata[1]} cells (%{x:.1f}%)<extra></extra>",
            })
        figs.append({
            "id": f"winners-{regime}", "title": f"{regime.capitalize()}: share of cells won",
            "group": f"winners-{regime}", "height": 90 + 34 * len(gpus),
            "views": [{"name": "", "data": data, "layout": {
                "barmode": "stack", "bargap": 0.25,
                "xaxis": dict(_SHARE_AXIS),
                "yaxis": {"type": "category", "showgrid": False, "ticksuffix": "  "}}}],
        })
    return figs


def flip_matrix(doc: Doc) -> list[Fig]:
    figs = []
    for regime in ("prefill", "decode"):
        pairs = [p for p in doc["pairs"] if p["regime"] == regime]
        if not pairs:
            continue
        gpus = _gpu_order(doc, {p["a"] for p in pairs} | {p["b"] for p in pairs})
        views = []
        for view, key, n_key in (("All common cells", "flip", "n"),
                                 ("Cells separated on both", "flip_sep", "n_sep")):
            value = {}
            for p in pairs:
                value[p["a"], p["b"]] = value[p["b"], p["a"]] = (p[key], p[n_key])
            z, text, hover = [], [], []
            for a in gpus:
                cells = [value.get((a, b), (None, 0)) for b in gpus]
                z.append([None if c[0] is None else 100 * c[0] for c in cells])
                text.append(["" if c[0] is None else f"{100 * c[0]:.0f}%" for c in cells])
                hover.append(["" if a == b else f"{a} and {b}<br>" + (
                    f"different winner in {100 * c[0]:.0f}% of {c[1]} cells" if c[0] is not None
                    else "no cell separated on both") for b, c in zip(gpus, cells)])
            views.append({"name": view, "data": [{
                "type": "heatmap", "x": gpus, "y": gpus, "z": z, "text": text,
                "texttemplate": "%{text}", "hovertext": hover, "hoverinfo": "text",
                "colorscale": "@seq", "zmin": 0, "zmax": 100, "xgap": 2, "ygap": 2,
                "showscale": False, "hoverongaps": False}],
                "layout": {"xaxis": {"type": "category", "showgrid": False, "side": "bottom"},
                           "yaxis": {"type": "category", "autorange": "reversed", "showgrid": False,
                                     "ticksuffix": " "}}})
        figs.append({"id": f"flip-{regime}", "title": f"{regime.capitalize()}: winner differs",
                     "group": "flip", "height": 120 + 44 * len(gpus), "views": views})
    return figs


def winner_map(doc: Doc) -> list[Fig]:
    ids = everyone(doc)
    figs = []
    used = sorted({c["impl"] for cells in doc["decode_winner_map"].values() for c in cells})
    index = {impl: i for i, impl in enumerate(used)}
    scale = []
    for impl in used:
        i, k = index[impl], len(used)
        color = style(impl, ids)[0]
        scale += [[i / k, color], [(i + 1) / k, color]]
    for gpu in _gpu_order(doc, doc["decode_winner_map"]):
        cells = {(c["N"], c["y"]): c for c in doc["decode_winner_map"][gpu]}
        ns, bs = sorted({k[0] for k in cells}), sorted({k[1] for k in cells})
        z = [[index[cells[n, b]["impl"]] if (n, b) in cells else None for n in ns] for b in bs]
        text = [[cells[n, b]["impl"].split("-")[0] if (n, b) in cells else "" for n in ns]
                for b in bs]
        hover = [[(f"<b>{cells[n, b]['impl']}</b><br>N {n}, batch {b}: "
                   f"{cells[n, b]['us']:,.1f} µs") if (n, b) in cells else "no time counts"
                  for n in ns] for b in bs]
        figs.append({
            "id": f"map-{_slug(gpu)}", "title": gpu, "group": "map", "height": 90 + 38 * len(bs),
            "views": [{"name": "", "data": [{
                "type": "heatmap", "x": [short(n) for n in ns], "y": [str(b) for b in bs], "z": z,
                "text": text, "texttemplate": "%{text}", "textfont": {"color": "#fff", "size": 12},
                "hovertext": hover, "hoverinfo": "text", "colorscale": scale, "zmin": -0.5,
                "zmax": len(used) - 0.5, "showscale": False, "xgap": 2, "ygap": 2}],
                "layout": {"xaxis": {"type": "category", "title": {"text": "KV length N"},
                                     "showgrid": False},
                           "yaxis": {"type": "category", "title": {"text": "batch"},
                                     "showgrid": False}}}],
        })
    return figs


def speedups(doc: Doc) -> list[Fig]:
    rows = doc["prefill_speedup"]
    base = findings.base_of(doc)
    figs = []
    for gpu in _gpu_order(doc, {r["gpu"] for r in rows}):
        part = [r for r in rows if r["gpu"] == gpu]
        impls = sorted({r["impl"] for r in part}, reverse=True)
        views = []
        for b in sorted({r["B"] for r in rows}, key=lambda b: (b != 4, b)):
            cell = {(r["impl"], r["N"]): r for r in part if r["B"] == b}
            ns = sorted({n for _, n in cell})
            if not cell:
                continue
            z = [[max(-3, min(3, math.log2(cell[i, n]["speedup"]))) if (i, n) in cell
                  and cell[i, n]["speedup"] else None for n in ns] for i in impls]
            text = [[f"{cell[i, n]['speedup']:.2f}" if (i, n) in cell else "" for n in ns]
                    for i in impls]
            hover = [[(f"<b>{i}</b> N {n}, batch {b}<br>{cell[i, n]['speedup']:.3f}× {base}<br>"
                       f"{cell[i, n]['us']:,.1f} against {cell[i, n]['base_us']:,.1f} µs")
                      if (i, n) in cell else "no time" for n in ns] for i in impls]
            views.append({"name": f"Batch {b}", "data": [{
                "type": "heatmap", "x": [short(n) for n in ns], "y": impls, "z": z, "text": text,
                "texttemplate": "%{text}", "textfont": {"size": 11}, "hovertext": hover,
                "hoverinfo": "text", "colorscale": "@div", "zmin": -3, "zmax": 3, "xgap": 1,
                "ygap": 1, "showscale": False}],
                "layout": {"xaxis": {"type": "category", "title": {"text": "sequence length N"},
                                     "showgrid": False},
                           "yaxis": {"type": "category", "showgrid": False}}})
        figs.append({"id": f"speedup-{_slug(gpu)}", "title": gpu, "group": "speedup",
                     "height": 110 + 24 * len(impls), "views": views})
    return figs


def gqa(doc: Doc) -> list[Fig]:
    heads = sorted({m["hkv"] for m in doc["mha_vs_gqa"]})
    if len(heads) < 2:
        return []
    few, many = heads[0], heads[-1]
    us = {(m["gpu"], m["impl"], m["N"], m["hkv"]): m["us"] for m in doc["mha_vs_gqa"]}
    figs = []
    for gpu in _gpu_order(doc, {m["gpu"] for m in doc["mha_vs_gqa"]}):
        impls: dict[str, dict[str, list]] = defaultdict(lambda: {"x": [], "y": []})
        for (g, impl, n, h), t in sorted(us.items()):
            if g == gpu and h == many and (g, impl, n, few) in us:
                impls[impl]["x"].append(n)
                impls[impl]["y"].append(round(t / us[g, impl, n, few], 3))
        view = _curve_view(doc, impls, "", "×", False, "KV length N")
        view["layout"]["yaxis"] |= {"title": {"text": f"time, {many} over {few} KV heads"}}
        view["layout"]["shapes"] = [
            {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": y, "y1": y,
             "line": {"color": "@ink", "width": 1, "dash": "dot"}} for y in (1, many / few)]
        figs.append({"id": f"gqa-{_slug(gpu)}", "title": gpu, "group": "gqa", "height": 280,
                     "views": [view]})
    return figs


def roofline(doc: Doc) -> list[Fig]:
    roof = findings.ceilings(doc)
    ids = everyone(doc)
    sets = [("Modelled traffic", doc["roofline"])]
    measured = doc.get("attnc_bench", {}).get("roofline_measured")
    if measured:
        sets.append(("Measured traffic", measured))
    every = [r for _, rows in sets for r in rows if r["ai"] and r["tflops"]]
    if not every:
        return []
    low, high = min(r["ai"] for r in every) / 2, max(r["ai"] for r in every) * 2
    figs = []
    for gpu in _gpu_order(doc, {r["gpu"] for r in every}):
        views = []
        for label, rows in sets:
            points = [r for r in rows if r["gpu"] == gpu and r["ai"] and r["tflops"]]
            data: list[dict[str, Any]] = []
            if gpu in roof:
                top = max([r["tflops"] for r in points], default=1) * 2
                end = min(high, top * 1e3 / roof[gpu])
                data.append({
                    "type": "scatter", "mode": "lines", "x": [low, end],
                    "y": [low * roof[gpu] / 1e3, end * roof[gpu] / 1e3], "hoverinfo": "skip",
                    "line": {"color": "@ink", "width": 1.4, "dash": "dash"}, "showlegend": False})
            for r in points:
                color, symbol, _ = style(r["impl"], ids)
                data.append({
                    "type": "scatter", "mode": "markers", "name": r["impl"], "meta": r["impl"],
                    "x": [r["ai"]], "y": [r["tflops"]],
                    "marker": {"color": color, "symbol": symbol, "size": 11},
                    "hovertemplate": f"<b>{r['impl']}</b> ({r['regime']})<br>%{{x:.4~g}} FLOP/byte, "
                    "%{y:.4~g} TFLOP/s<extra></extra>"})
            views.append({"name": label if len(sets) > 1 else "", "data": data, "layout": {
                "xaxis": {"type": "log", "title": {"text": "FLOP / byte"}, "dtick": 1,
                          "tickformat": "~g", "range": [math.log10(low), math.log10(high)]},
                "yaxis": {"type": "log", "title": {"text": "TFLOP/s"}, "dtick": 1,
                          "tickformat": "~g"}}})
        figs.append({"id": f"roofline-{_slug(gpu)}", "title": gpu, "group": "roofline",
                     "height": 300, "views": views})
    return figs


def _regret_fig(fid: str, title: str, tree: dict | None, fixed: dict, ids: list[str]) -> Fig:
    entries = []
    if tree and tree["median"] is not None:
        entries.append(("decision tree", tree["median"], tree["p95"], None, "@ink"))
    for impl, v in sorted(fixed.items(), key=lambda kv: -kv[1]["coverage"]):
        entries.append((impl, v["median"], v["p95"], v["coverage"], style(impl, ids)[0]))
    entries.sort(key=lambda e: -(e[2] or 0))
    names = [e[0] if e[3] is None else f"{e[0]} · {100 * e[3]:.0f}%" for e in entries]
    loss = [[max(0.05, 100 * (v - 1)) for v in (e[1], e[2])] for e in entries]
    data: list[dict[str, Any]] = [
        {"type": "scatter", "mode": "lines", "x": loss[k], "y": [names[k]] * 2, "hoverinfo": "skip",
         "line": {"color": e[4], "width": 5}, "opacity": 0.45, "showlegend": False}
        for k, e in enumerate(entries)]
    for j, (label, symbol) in enumerate((("median", "circle"), ("p95", "diamond"))):
        data.append({
            "type": "scatter", "mode": "markers", "name": label, "y": names,
            "x": [v[j] for v in loss], "customdata": [[e[1 + j]] for e in entries],
            "marker": {"color": [e[4] for e in entries], "size": 12, "symbol": symbol,
                       "line": {"color": "@panel", "width": 1.5}},
            "hovertemplate": f"<b>%{{y}}</b><br>{label} regret %{{customdata[0]:.3f}}×<extra></extra>"})
    return {"id": fid, "title": title, "group": "regret", "height": 110 + 32 * len(entries),
            "views": [{"name": "", "data": data, "layout": {
                "xaxis": {"type": "log", "title": {"text": "slower than the winner (● median, ◆ p95)"},
                          "tickvals": [0.1, 1, 10, 100, 900, 9900],
                          "ticktext": ["0.1%", "1%", "10%", "2×", "10×", "100×"]},
                "yaxis": {"type": "category", "showgrid": False,
                          "categoryarray": names, "ticksuffix": " "}}}]}


def regret(doc: Doc) -> list[Fig]:
    s = doc["selector"]
    ids = everyone(doc)
    tree = {"median": s["median_regret"], "p95": s["p95_regret"]}
    figs = []
    if s["n"]:
        figs.append(_regret_fig("regret", "All judged cells", tree, s["vs_fixed"], ids))
    details = doc.get("attnc_bench", {}).get("selector", {})
    for regime, fixed in sorted(details.get("vs_fixed_by_regime", {}).items(), reverse=True):
        figs.append(_regret_fig(f"regret-{regime}", f"{regime.capitalize()} cells only",
                                details.get("by_regime", {}).get(regime), fixed, ids))
    return figs


def dispatch(doc: Doc) -> list[Fig]:
    flows = doc["dispatch"]["flows"]
    if not flows:
        return []
    impls = sorted({f["impl"] for f in flows}, reverse=True)
    total = {i: sum(f["n"] for f in flows if f["impl"] == i) for i in impls}
    families = sorted({f["observed"] for f in flows},
                      key=lambda o: (o == "unprobed", o == "unknown", o))
    n = {(f["impl"], f["observed"]): f["n"] for f in flows}
    data = [{
        "type": "bar", "orientation": "h", "name": fam, "y": impls,
        "x": [100 * n.get((i, fam), 0) / total[i] for i in impls],
        "customdata": [[n.get((i, fam), 0)] for i in impls],
        "marker": {"color": _FAMILY_COLOR.get(fam, "@faint" if fam == "unprobed" else _SPARE[0]),
                   "line": {"color": "@panel", "width": 1}},
        "hovertemplate": f"<b>%{{y}}</b><br>{fam}: %{{customdata[0]:,}} rows (%{{x:.1f}}%)<extra></extra>",
    } for fam in families]
    keys = [[t["name"], t["marker"]["color"]] for t in data]
    return [{"id": "dispatch", "title": "Kernel family observed, share of OK rows",
             "group": "dispatch", "key": keys, "height": 70 + 25 * len(impls),
             "views": [{"name": "", "data": data, "layout": {
                 "barmode": "stack", "bargap": 0.22,
                 "xaxis": dict(_SHARE_AXIS),
                 "yaxis": {"type": "category", "showgrid": False, "ticksuffix": " "}}}]}]


def coverage(doc: Doc) -> list[Fig]:
    figs = []
    for regime in ("prefill", "decode"):
        part = [c for c in doc["coverage"] if c["regime"] == regime]
        if not part:
            continue
        gpus = _gpu_order(doc, {c["gpu"] for c in part})
        impls = sorted({c["implementation"] for c in part}, reverse=True)
        n: dict[tuple, dict[str, int]] = defaultdict(dict)
        for c in part:
            n[c["implementation"], c["gpu"]][c["status"]] = c["n"]
        z, text, hover = [], [], []
        for i in impls:
            zs, ts, hs = [], [], []
            for g in gpus:
                counts = n.get((i, g), {})
                total = sum(counts.values())
                ok = 100 * counts.get("OK", 0) / total if total else None
                zs.append(ok)
                ts.append("" if ok is None else f"{ok:.0f}")
                hs.append("not run" if not total else f"<b>{i}</b> on {g}<br>" + "<br>".join(
                    f"{s}: {counts[s]:,}" for s in STATUSES if s in counts))
            z.append(zs), text.append(ts), hover.append(hs)
        figs.append({"id": f"coverage-{regime}", "title": f"{regime.capitalize()}: % of rows OK",
                     "group": "coverage", "height": 110 + 27 * len(impls),
                     "views": [{"name": "", "data": [{
                         "type": "heatmap", "x": gpus, "y": impls, "z": z, "text": text,
                         "texttemplate": "%{text}", "textfont": {"size": 11}, "hovertext": hover,
                         "hoverinfo": "text", "colorscale": "@cover", "zmin": 0, "zmax": 100,
                         "xgap": 2, "ygap": 2, "showscale": False}],
                         "layout": {"xaxis": {"type": "category", "showgrid": False},
                                    "yaxis": {"type": "category", "showgrid": False}}}]})
    return figs


def failures(doc: Doc) -> list[Fig]:
    bad = [c for c in doc["coverage"] if c["status"] != "OK"]
    if not bad:
        return []
    total: dict[str, int] = defaultdict(int)
    n: dict[tuple, int] = defaultdict(int)
    for c in bad:
        total[c["implementation"]] += c["n"]
        n[c["implementation"], c["status"]] += c["n"]
    impls = sorted(total, key=lambda i: total[i])
    data = [{
        "type": "bar", "orientation": "h", "name": s, "y": impls, "x": [n[i, s] for i in impls],
        "marker": {"color": STATUS_COLOR[s], "line": {"color": "@panel", "width": 1}},
        "hovertemplate": f"<b>%{{y}}</b><br>{s}: %{{x:,}} rows<extra></extra>",
    } for s in STATUSES if any(c["status"] == s for c in bad)]
    keys = [[t["name"], t["marker"]["color"]] for t in data]
    return [{"id": "failures", "title": "Rows without a time, by reason", "group": "failures",
             "key": keys, "height": 70 + 25 * len(impls), "views": [{"name": "", "data": data, "layout": {
                 "barmode": "stack", "bargap": 0.25,
                 "xaxis": {"title": {"text": "rows"}, "tickformat": "~s"},
                 "yaxis": {"type": "category", "showgrid": False, "ticksuffix": " "}}}]}]


def pages(doc: Doc) -> list[Fig]:
    """The page-size sweep, where the rows have one: latency by page size, one panel a GPU."""
    rows = doc.get("attnc_bench", {}).get("page_sizes", [])
    ids = everyone(doc)
    figs = []
    for gpu in _gpu_order(doc, {r["gpu"] for r in rows}):
        part = [r for r in rows if r["gpu"] == gpu]
        views = []
        for b, n in sorted({(r["batch"], r["N"]) for r in part}, key=lambda k: (-k[0] * k[1]))[:4]:
            data = []
            for impl in sorted({r["impl"] for r in part}):
                pts = sorted((r["page_size"] or 0, r["us"]) for r in part
                             if (r["impl"], r["batch"], r["N"]) == (impl, b, n))
                color, symbol, dash = style(impl, ids)
                data.append({
                    "type": "scatter", "mode": "lines+markers", "name": impl, "meta": impl,
                    "x": ["contiguous" if p == 0 else str(p) for p, _ in pts],
                    "y": [u for _, u in pts], "line": {"color": color, "dash": dash},
                    "marker": {"color": color, "symbol": symbol, "size": 8},
                    "hovertemplate": f"<b>{impl}</b><br>page %{{x}}: %{{y:,.4~g}} µs<extra></extra>"})
            order = ["contiguous", *[str(p) for p in sorted({r["page_size"] or 0 for r in part}) if p]]
            views.append({"name": f"B {b}, N {short(n)}", "data": data, "layout": {
                "xaxis": {"type": "category", "categoryorder": "array", "categoryarray": order,
                          "title": {"text": "tokens a page"}},
                "yaxis": {"title": {"text": "µs"}, "rangemode": "tozero"}}})
        figs.append({"id": f"pages-{_slug(gpu)}", "title": gpu, "group": "pages", "height": 300,
                     "views": views})
    return figs
