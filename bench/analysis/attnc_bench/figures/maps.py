"""Figures made of coloured cells: who differs from whom, who wins where, speed-ups, coverage."""

from __future__ import annotations

import math
from collections import defaultdict

from .. import findings
from ..rows import STATUSES
from .palette import Doc, Fig, everyone, gpu_order, short, slug, style


def flip_matrix(doc: Doc) -> list[Fig]:
    figs = []
    for regime in ("prefill", "decode"):
        pairs = [p for p in doc["pairs"] if p["regime"] == regime]
        if not pairs:
            continue
        gpus = gpu_order(doc, {p["a"] for p in pairs} | {p["b"] for p in pairs})
        views = []
        for view, key, n_key in (
            ("All common cells", "flip", "n"),
            ("Cells separated on both", "flip_sep", "n_sep"),
        ):
            value = {}
            for p in pairs:
                value[p["a"], p["b"]] = value[p["b"], p["a"]] = (p[key], p[n_key])
            z, text, hover = [], [], []
            for a in gpus:
                cells = [value.get((a, b), (None, 0)) for b in gpus]
                z.append([None if c[0] is None else 100 * c[0] for c in cells])
                text.append(["" if c[0] is None else f"{100 * c[0]:.0f}%" for c in cells])
                hover.append(
                    [
                        ""
                        if a == b
                        else f"{a} and {b}<br>"
                        + (
                            f"different winner in {100 * c[0]:.0f}% of {c[1]} cells"
                            if c[0] is not None
                            else "no cell separated on both"
                        )
                        for b, c in zip(gpus, cells)
                    ]
                )
            views.append(
                {
                    "name": view,
                    "data": [
                        {
                            "type": "heatmap",
                            "x": gpus,
                            "y": gpus,
                            "z": z,
                            "text": text,
                            "texttemplate": "%{text}",
                            "hovertext": hover,
                            "hoverinfo": "text",
                            "colorscale": "@seq",
                            "zmin": 0,
                            "zmax": 100,
                            "xgap": 2,
                            "ygap": 2,
                            "showscale": False,
                            "hoverongaps": False,
                        }
                    ],
                    "layout": {
                        "xaxis": {"type": "category", "showgrid": False, "side": "bottom"},
                        "yaxis": {
                            "type": "category",
                            "autorange": "reversed",
                            "showgrid": False,
                            "ticksuffix": " ",
                        },
                    },
                }
            )
        figs.append(
            {
                "id": f"flip-{regime}",
                "title": f"{regime.capitalize()}: winner differs",
                "group": "flip",
                "height": 120 + 44 * len(gpus),
                "views": views,
            }
        )
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
    for gpu in gpu_order(doc, doc["decode_winner_map"]):
        cells = {(c["N"], c["y"]): c for c in doc["decode_winner_map"][gpu]}
        ns, bs = sorted({k[0] for k in cells}), sorted({k[1] for k in cells})
        z = [[index[cells[n, b]["impl"]] if (n, b) in cells else None for n in ns] for b in bs]
        text = [
            [cells[n, b]["impl"].split("-")[0] if (n, b) in cells else "" for n in ns] for b in bs
        ]
        hover = [
            [
                (f"<b>{cells[n, b]['impl']}</b><br>N {n}, batch {b}: {cells[n, b]['us']:,.1f} µs")
                if (n, b) in cells
                else "no time counts"
                for n in ns
            ]
            for b in bs
        ]
        figs.append(
            {
                "id": f"map-{slug(gpu)}",
                "title": gpu,
                "group": "map",
                "height": 90 + 38 * len(bs),
                "views": [
                    {
                        "name": "",
                        "data": [
                            {
                                "type": "heatmap",
                                "x": [short(n) for n in ns],
                                "y": [str(b) for b in bs],
                                "z": z,
                                "text": text,
                                "texttemplate": "%{text}",
                                "textfont": {"color": "#fff", "size": 12},
                                "hovertext": hover,
                                "hoverinfo": "text",
                                "colorscale": scale,
                                "zmin": -0.5,
                                "zmax": len(used) - 0.5,
                                "showscale": False,
                                "xgap": 2,
                                "ygap": 2,
                            }
                        ],
                        "layout": {
                            "xaxis": {
                                "type": "category",
                                "title": {"text": "KV length N"},
                                "showgrid": False,
                            },
                            "yaxis": {
                                "type": "category",
                                "title": {"text": "batch"},
                                "showgrid": False,
                            },
                        },
                    }
                ],
            }
        )
    return figs


def speedups(doc: Doc) -> list[Fig]:
    rows = doc["prefill_speedup"]
    base = findings.base_of(doc)
    figs = []
    for gpu in gpu_order(doc, {r["gpu"] for r in rows}):
        part = [r for r in rows if r["gpu"] == gpu]
        impls = sorted({r["impl"] for r in part}, reverse=True)
        views = []
        for b in sorted({r["B"] for r in rows}, key=lambda b: (b != 4, b)):
            cell = {(r["impl"], r["N"]): r for r in part if r["B"] == b}
            ns = sorted({n for _, n in cell})
            if not cell:
                continue
            z = [
                [
                    max(-3, min(3, math.log2(cell[i, n]["speedup"])))
                    if (i, n) in cell and cell[i, n]["speedup"]
                    else None
                    for n in ns
                ]
                for i in impls
            ]
            text = [
                [f"{cell[i, n]['speedup']:.2f}" if (i, n) in cell else "" for n in ns]
                for i in impls
            ]
            hover = [
                [
                    (
                        f"<b>{i}</b> N {n}, batch {b}<br>{cell[i, n]['speedup']:.3f}× {base}<br>"
                        f"{cell[i, n]['us']:,.1f} against {cell[i, n]['base_us']:,.1f} µs"
                    )
                    if (i, n) in cell
                    else "no time"
                    for n in ns
                ]
                for i in impls
            ]
            views.append(
                {
                    "name": f"Batch {b}",
                    "data": [
                        {
                            "type": "heatmap",
                            "x": [short(n) for n in ns],
                            "y": impls,
                            "z": z,
                            "text": text,
                            "texttemplate": "%{text}",
                            "textfont": {"size": 11},
                            "hovertext": hover,
                            "hoverinfo": "text",
                            "colorscale": "@div",
                            "zmin": -3,
                            "zmax": 3,
                            "xgap": 1,
                            "ygap": 1,
                            "showscale": False,
                        }
                    ],
                    "layout": {
                        "xaxis": {
                            "type": "category",
                            "title": {"text": "sequence length N"},
                            "showgrid": False,
                        },
                        "yaxis": {"type": "category", "showgrid": False},
                    },
                }
            )
        figs.append(
            {
                "id": f"speedup-{slug(gpu)}",
                "title": gpu,
                "group": "speedup",
                "height": 110 + 24 * len(impls),
                "views": views,
            }
        )
    return figs


def coverage(doc: Doc) -> list[Fig]:
    figs = []
    for regime in ("prefill", "decode"):
        part = [c for c in doc["coverage"] if c["regime"] == regime]
        if not part:
            continue
        gpus = gpu_order(doc, {c["gpu"] for c in part})
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
                hs.append(
                    "not run"
                    if not total
                    else f"<b>{i}</b> on {g}<br>"
                    + "<br>".join(f"{s}: {counts[s]:,}" for s in STATUSES if s in counts)
                )
            z.append(zs), text.append(ts), hover.append(hs)
        figs.append(
            {
                "id": f"coverage-{regime}",
                "title": f"{regime.capitalize()}: % of rows OK",
                "group": "coverage",
                "height": 110 + 27 * len(impls),
                "views": [
                    {
                        "name": "",
                        "data": [
                            {
                                "type": "heatmap",
                                "x": gpus,
                                "y": impls,
                                "z": z,
                                "text": text,
                                "texttemplate": "%{text}",
                                "textfont": {"size": 11, "color": "#fff"},
                                "hovertext": hover,
                                "hoverinfo": "text",
                                "colorscale": "@cover",
                                "zmin": 0,
                                "zmax": 100,
                                "xgap": 2,
                                "ygap": 2,
                                "showscale": False,
                            }
                        ],
                        "layout": {
                            "xaxis": {"type": "category", "showgrid": False},
                            "yaxis": {"type": "category", "showgrid": False},
                        },
                    }
                ],
            }
        )
    return figs
