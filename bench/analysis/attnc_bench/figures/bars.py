"""Figures made of bars and ranges: shares of wins, regret, kernel families, failures."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from ..rows import STATUSES
from .palette import (
    FAMILY_COLOR,
    SHARE_AXIS,
    SPARE,
    STATUS_COLOR,
    Doc,
    Fig,
    everyone,
    gpu_order,
    style,
)


def winner_bars(doc: Doc) -> list[Fig]:
    ids = everyone(doc)
    figs = []
    for regime in ("prefill", "decode"):
        by_gpu = doc["winners"].get(regime, {})
        if not by_gpu:
            continue
        gpus = gpu_order(doc, by_gpu)[::-1]
        total = {g: sum(by_gpu[g].values()) for g in gpus}
        impls = sorted(
            {i for c in by_gpu.values() for i in c},
            key=lambda i: -sum(c.get(i, 0) for c in by_gpu.values()),
        )
        data = []
        for impl in impls:
            won = [by_gpu[g].get(impl, 0) for g in gpus]
            share = [100 * w / total[g] for w, g in zip(won, gpus)]
            data.append(
                {
                    "type": "bar",
                    "orientation": "h",
                    "name": impl,
                    "meta": impl,
                    "y": gpus,
                    "x": share,
                    "customdata": [[w, total[g]] for w, g in zip(won, gpus)],
                    "text": [f"{s:.0f}%" if s >= 9 else "" for s in share],
                    "textposition": "inside",
                    "insidetextanchor": "middle",
                    "textangle": 0,
                    "textfont": {"color": "#fff", "size": 12},
                    "marker": {
                        "color": style(impl, ids)[0],
                        "line": {"color": "@panel", "width": 1},
                    },
                    "hovertemplate": f"<b>{impl}</b> on %{{y}}<br>%{{customdata[0]}} of "
                    "%{customdata[1]} cells (%{x:.1f}%)<extra></extra>",
                }
            )
        figs.append(
            {
                "id": f"winners-{regime}",
                "title": f"{regime.capitalize()}: share of cells won",
                "group": f"winners-{regime}",
                "height": 90 + 34 * len(gpus),
                "views": [
                    {
                        "name": "",
                        "data": data,
                        "layout": {
                            "barmode": "stack",
                            "bargap": 0.25,
                            "xaxis": dict(SHARE_AXIS),
                            "yaxis": {"type": "category", "showgrid": False, "ticksuffix": "  "},
                        },
                    }
                ],
            }
        )
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
        {
            "type": "scatter",
            "mode": "lines",
            "x": loss[k],
            "y": [names[k]] * 2,
            "hoverinfo": "skip",
            "line": {"color": e[4], "width": 5},
            "opacity": 0.45,
            "showlegend": False,
        }
        for k, e in enumerate(entries)
    ]
    for j, (label, symbol) in enumerate((("median", "circle"), ("p95", "diamond"))):
        data.append(
            {
                "type": "scatter",
                "mode": "markers",
                "name": label,
                "y": names,
                "x": [v[j] for v in loss],
                "customdata": [[e[1 + j]] for e in entries],
                "marker": {
                    "color": [e[4] for e in entries],
                    "size": 12,
                    "symbol": symbol,
                    "line": {"color": "@panel", "width": 1.5},
                },
                "hovertemplate": f"<b>%{{y}}</b><br>{label} regret "
                f"%{{customdata[0]:.3f}}×<extra></extra>",
            }
        )
    return {
        "id": fid,
        "title": title,
        "note": "● median  ◆ p95",
        "group": "regret",
        "height": 110 + 32 * len(entries),
        "views": [
            {
                "name": "",
                "data": data,
                "layout": {
                    "xaxis": {
                        "type": "log",
                        "title": {"text": "slower than the winner"},
                        "tickvals": [0.1, 1, 10, 100, 900, 9900],
                        "ticktext": ["0.1%", "1%", "10%", "2×", "10×", "100×"],
                    },
                    "yaxis": {
                        "type": "category",
                        "showgrid": False,
                        "categoryarray": names,
                        "ticksuffix": " ",
                    },
                },
            }
        ],
    }


def regret(doc: Doc) -> list[Fig]:
    s = doc["selector"]
    ids = everyone(doc)
    tree = {"median": s["median_regret"], "p95": s["p95_regret"]}
    figs = []
    if s["n"]:
        figs.append(_regret_fig("regret", "All judged cells", tree, s["vs_fixed"], ids))
    details = doc.get("attnc_bench", {}).get("selector", {})
    for regime, fixed in sorted(details.get("vs_fixed_by_regime", {}).items(), reverse=True):
        figs.append(
            _regret_fig(
                f"regret-{regime}",
                f"{regime.capitalize()} cells only",
                details.get("by_regime", {}).get(regime),
                fixed,
                ids,
            )
        )
    return figs


def dispatch(doc: Doc) -> list[Fig]:
    flows = doc["dispatch"]["flows"]
    if all(f["observed"] == "unprobed" for f in flows):
        return []
    impls = sorted({f["impl"] for f in flows}, reverse=True)
    total = {i: sum(f["n"] for f in flows if f["impl"] == i) for i in impls}
    families = sorted(
        {f["observed"] for f in flows}, key=lambda o: (o == "unprobed", o == "unknown", o)
    )
    n = {(f["impl"], f["observed"]): f["n"] for f in flows}
    data = [
        {
            "type": "bar",
            "orientation": "h",
            "name": fam,
            "y": impls,
            "x": [100 * n.get((i, fam), 0) / total[i] for i in impls],
            "customdata": [[n.get((i, fam), 0)] for i in impls],
            "marker": {
                "color": FAMILY_COLOR.get(fam, "@faint" if fam == "unprobed" else SPARE[0]),
                "line": {"color": "@panel", "width": 1},
            },
            "hovertemplate": f"<b>%{{y}}</b><br>{fam}: %{{customdata[0]:,}} rows "
            f"(%{{x:.1f}}%)<extra></extra>",
        }
        for fam in families
    ]
    keys = [[t["name"], t["marker"]["color"]] for t in data]
    return [
        {
            "id": "dispatch",
            "title": "Kernel family observed, share of OK rows",
            "group": "dispatch",
            "key": keys,
            "height": 70 + 25 * len(impls),
            "views": [
                {
                    "name": "",
                    "data": data,
                    "layout": {
                        "barmode": "stack",
                        "bargap": 0.22,
                        "xaxis": dict(SHARE_AXIS),
                        "yaxis": {"type": "category", "showgrid": False, "ticksuffix": " "},
                    },
                }
            ],
        }
    ]


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
    data = [
        {
            "type": "bar",
            "orientation": "h",
            "name": s,
            "y": impls,
            "x": [n[i, s] for i in impls],
            "marker": {"color": STATUS_COLOR[s], "line": {"color": "@panel", "width": 1}},
            "hovertemplate": f"<b>%{{y}}</b><br>{s}: %{{x:,}} rows<extra></extra>",
        }
        for s in STATUSES
        if any(c["status"] == s for c in bad)
    ]
    keys = [[t["name"], t["marker"]["color"]] for t in data]
    return [
        {
            "id": "failures",
            "title": "Rows without a time, by reason",
            "group": "failures",
            "key": keys,
            "height": 70 + 25 * len(impls),
            "views": [
                {
                    "name": "",
                    "data": data,
                    "layout": {
                        "barmode": "stack",
                        "bargap": 0.25,
                        "xaxis": {"title": {"text": "rows"}, "tickformat": "~s"},
                        "yaxis": {"type": "category", "showgrid": False, "ticksuffix": " "},
                    },
                }
            ],
        }
    ]
