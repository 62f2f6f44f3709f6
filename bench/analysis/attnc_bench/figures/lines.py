"""Figures made of lines and points: curves over N, page sizes, roofline. One panel a GPU."""

from __future__ import annotations

import math
from collections import defaultdict
from typing import Any

from .. import findings
from .palette import Doc, Fig, everyone, gpu_order, short, slug, style


def _n_axis(xs: list[int], title: str) -> dict[str, Any]:
    xs = sorted(set(xs))
    return {
        "type": "log",
        "tickvals": xs,
        "ticktext": [short(x) for x in xs],
        "title": {"text": title},
    }


def _curve_view(
    doc: Doc,
    impls: dict,
    label: str,
    unit: str,
    log: bool,
    xtitle: str,
    intervals: dict | None = None,
    ceiling: float | None = None,
) -> dict[str, Any]:
    ids = everyone(doc)
    data = []
    for impl, c in sorted(impls.items()):
        color, symbol, dash = style(impl, ids)
        ours = impl.endswith("-attnc")
        trace: dict[str, Any] = {
            "type": "scatter",
            "mode": "lines+markers",
            "name": impl,
            "meta": impl,
            "x": c["x"],
            "y": c["y"],
            "line": {"color": color, "dash": dash, "width": 3.2 if ours else 1.8},
            "marker": {"color": color, "symbol": symbol, "size": 9 if ours else 7},
            "hovertemplate": f"<b>{impl}</b><br>N %{{x}}: %{{y:,.4~g}} {unit}<extra></extra>",
        }
        band = (intervals or {}).get(impl)
        if band and band["x"] == c["x"] and band["lo"] != band["hi"]:
            trace["error_y"] = {
                "type": "data",
                "symmetric": False,
                "thickness": 1,
                "width": 2,
                "color": color,
                "array": [max(0, h - y) for h, y in zip(band["hi"], c["y"])],
                "arrayminus": [max(0, y - lo) for lo, y in zip(band["lo"], c["y"])],
            }
        data.append(trace)
    xs = [x for c in impls.values() for x in c["x"]]
    layout: dict[str, Any] = {
        "xaxis": _n_axis(xs, xtitle),
        "yaxis": {
            "title": {"text": unit},
            **(
                {"type": "log", "dtick": 1, "tickformat": "~s"}
                if log
                else {"rangemode": "tozero", "tickformat": "~s"}
            ),
        },
    }
    if ceiling and xs:
        layout["shapes"] = [
            {
                "type": "line",
                "xref": "paper",
                "x0": 0,
                "x1": 1,
                "y0": ceiling,
                "y1": ceiling,
                "line": {"color": "@ink", "width": 1.4, "dash": "dash"},
            }
        ]
    return {"name": label, "data": data, "layout": layout}


def prefill_curves(doc: Doc) -> list[Fig]:
    bands = doc.get("attnc_bench", {}).get("intervals", {}).get("prefill_latency", {})
    figs = []
    for gpu in gpu_order(doc, doc["prefill_latency"]):
        views = [
            _curve_view(
                doc,
                doc["prefill_tflops"].get(gpu, {}),
                "Throughput",
                "TFLOP/s",
                False,
                "sequence length N",
            ),
            _curve_view(
                doc,
                doc["prefill_latency"][gpu],
                "Latency",
                "µs",
                True,
                "sequence length N",
                bands.get(gpu),
            ),
        ]
        if doc["prefill_memory"].get(gpu):
            views.append(
                _curve_view(
                    doc, doc["prefill_memory"][gpu], "Peak memory", "MiB", True, "sequence length N"
                )
            )
        figs.append(
            {
                "id": f"prefill-{slug(gpu)}",
                "title": gpu,
                "group": "prefill",
                "height": 300,
                "views": views,
            }
        )
    return figs


def decode_curves(doc: Doc) -> list[Fig]:
    roof = findings.ceilings(doc)
    bands = doc.get("attnc_bench", {}).get("intervals", {})
    figs = []
    gpus = {g for b in (1, 32) for g in doc[f"decode_latency_b{b}"]}
    for gpu in gpu_order(doc, gpus):
        views = []
        for b in (32, 1):
            if gpu in doc[f"decode_bw_b{b}"]:
                views.append(
                    _curve_view(
                        doc,
                        doc[f"decode_bw_b{b}"][gpu],
                        f"Bandwidth, B {b}",
                        "GB/s",
                        False,
                        "KV length N",
                        ceiling=roof.get(gpu),
                    )
                )
        for b in (32, 1):
            if gpu in doc[f"decode_latency_b{b}"]:
                views.append(
                    _curve_view(
                        doc,
                        doc[f"decode_latency_b{b}"][gpu],
                        f"Latency, B {b}",
                        "µs",
                        True,
                        "KV length N",
                        bands.get(f"decode_latency_b{b}", {}).get(gpu),
                    )
                )
        note = f"ceiling {roof[gpu]:,.0f} GB/s" if gpu in roof else "ceiling not known"
        figs.append(
            {
                "id": f"decode-{slug(gpu)}",
                "title": gpu,
                "note": note,
                "group": "decode",
                "height": 300,
                "views": views,
            }
        )
    return figs


def gqa(doc: Doc) -> list[Fig]:
    heads = sorted({m["hkv"] for m in doc["mha_vs_gqa"]})
    if len(heads) < 2:
        return []
    few, many = heads[0], heads[-1]
    us = {(m["gpu"], m["impl"], m["N"], m["hkv"]): m["us"] for m in doc["mha_vs_gqa"]}
    figs = []
    for gpu in gpu_order(doc, {m["gpu"] for m in doc["mha_vs_gqa"]}):
        impls: dict[str, dict[str, list]] = defaultdict(lambda: {"x": [], "y": []})
        for (g, impl, n, h), t in sorted(us.items()):
            if g == gpu and h == many and (g, impl, n, few) in us:
                impls[impl]["x"].append(n)
                impls[impl]["y"].append(round(t / us[g, impl, n, few], 3))
        view = _curve_view(doc, impls, "", "×", False, "KV length N")
        view["layout"]["yaxis"] |= {"title": {"text": f"time, {many} over {few} KV heads"}}
        view["layout"]["shapes"] = [
            {
                "type": "line",
                "xref": "paper",
                "x0": 0,
                "x1": 1,
                "y0": y,
                "y1": y,
                "line": {"color": "@ink", "width": 1, "dash": "dot"},
            }
            for y in (1, many / few)
        ]
        figs.append(
            {
                "id": f"gqa-{slug(gpu)}",
                "title": gpu,
                "group": "gqa",
                "height": 280,
                "views": [view],
            }
        )
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
    for gpu in gpu_order(doc, {r["gpu"] for r in every}):
        views = []
        for label, rows in sets:
            points = [r for r in rows if r["gpu"] == gpu and r["ai"] and r["tflops"]]
            data: list[dict[str, Any]] = []
            if gpu in roof:
                top = max([r["tflops"] for r in points], default=1) * 2
                end = min(high, top * 1e3 / roof[gpu])
                data.append(
                    {
                        "type": "scatter",
                        "mode": "lines",
                        "x": [low, end],
                        "y": [low * roof[gpu] / 1e3, end * roof[gpu] / 1e3],
                        "hoverinfo": "skip",
                        "line": {"color": "@ink", "width": 1.4, "dash": "dash"},
                        "showlegend": False,
                    }
                )
            for r in points:
                color, symbol, _ = style(r["impl"], ids)
                data.append(
                    {
                        "type": "scatter",
                        "mode": "markers",
                        "name": r["impl"],
                        "meta": r["impl"],
                        "x": [r["ai"]],
                        "y": [r["tflops"]],
                        "marker": {"color": color, "symbol": symbol, "size": 11},
                        "hovertemplate": f"<b>{r['impl']}</b> ({r['regime']})<br>%{{x:.4~g}} "
                        f"FLOP/byte, "
                        "%{y:.4~g} TFLOP/s<extra></extra>",
                    }
                )
            views.append(
                {
                    "name": label if len(sets) > 1 else "",
                    "data": data,
                    "layout": {
                        "xaxis": {
                            "type": "log",
                            "title": {"text": "FLOP / byte"},
                            "dtick": 1,
                            "tickformat": "~g",
                            "range": [math.log10(low), math.log10(high)],
                        },
                        "yaxis": {
                            "type": "log",
                            "title": {"text": "TFLOP/s"},
                            "dtick": 1,
                            "tickformat": "~g",
                        },
                    },
                }
            )
        figs.append(
            {
                "id": f"roofline-{slug(gpu)}",
                "title": gpu,
                "group": "roofline",
                "height": 300,
                "views": views,
            }
        )
    return figs


def pages(doc: Doc) -> list[Fig]:
    """The page-size sweep, where the rows have one: latency by page size, one panel a GPU."""
    rows = doc.get("attnc_bench", {}).get("page_sizes", [])
    ids = everyone(doc)
    figs = []
    for gpu in gpu_order(doc, {r["gpu"] for r in rows}):
        part = [r for r in rows if r["gpu"] == gpu]
        views = []
        for b, n in sorted({(r["batch"], r["N"]) for r in part}, key=lambda k: -k[0] * k[1])[:4]:
            data = []
            for impl in sorted({r["impl"] for r in part}):
                pts = sorted(
                    (r["page_size"] or 0, r["us"])
                    for r in part
                    if (r["impl"], r["batch"], r["N"]) == (impl, b, n)
                )
                color, symbol, dash = style(impl, ids)
                data.append(
                    {
                        "type": "scatter",
                        "mode": "lines+markers",
                        "name": impl,
                        "meta": impl,
                        "x": ["contiguous" if p == 0 else str(p) for p, _ in pts],
                        "y": [u for _, u in pts],
                        "line": {"color": color, "dash": dash},
                        "marker": {"color": color, "symbol": symbol, "size": 8},
                        "hovertemplate": f"<b>{impl}</b><br>page %{{x}}: %{{y:,.4~g}} "
                        f"µs<extra></extra>",
                    }
                )
            order = [
                "contiguous",
                *[str(p) for p in sorted({r["page_size"] or 0 for r in part}) if p],
            ]
            views.append(
                {
                    "name": f"B {b}, N {short(n)}",
                    "data": data,
                    "layout": {
                        "xaxis": {
                            "type": "category",
                            "categoryorder": "array",
                            "categoryarray": order,
                            "title": {"text": "tokens a page"},
                        },
                        "yaxis": {"title": {"text": "µs"}, "rangemode": "tozero"},
                    },
                }
            )
        figs.append(
            {
                "id": f"pages-{slug(gpu)}",
                "title": gpu,
                "group": "pages",
                "height": 300,
                "views": views,
            }
        )
    return figs
