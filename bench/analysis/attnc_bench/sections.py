"""The report's sections: heading, words, panels and tables of each. HTML strings; all text escaped.

The panels are empty boxes that page.js draws into; the figures themselves come from figures/.
"""

from __future__ import annotations

import re
from html import escape
from typing import Any

from . import figures, findings, implementations
from .tables import (
    correctness_table,
    device_table,
    dispatch_table,
    pair_table,
    rule_tree,
    selector_table,
    separation_table,
    table,
)

Doc = dict[str, Any]


def _p(text: str, cls: str = "") -> str:
    return f'<p class="{cls}">{escape(text)}</p>' if cls else f"<p>{escape(text)}</p>"


def _slice_words(fixed: dict[str, Any]) -> str:
    words = {
        "batch": "B {}",
        "head_dim": "D {}",
        "dtype": "{}",
        "hq": "{} query heads",
        "hkv": "{} KV heads",
        "mode": "{}",
        "launch": "{} launch",
        "cache": "{} cache",
    }
    parts = [words[k].format(v) for k, v in fixed.items() if k in words]
    if "causal" in fixed:
        parts.append("causal" if fixed["causal"] else "not causal")
    return ", ".join(parts)


def _grid(figs: list[dict], wide: bool = False, legends_of: Doc | None = None) -> str:
    """The panels of a group; each has a title and an empty box that page.js draws into. With
    `legends_of`, each panel has a legend of its own."""
    if not figs:
        return '<p class="empty">Nothing to plot: the document has no data here.</p>'
    panels = "".join(
        f'<figure class="panel"><figcaption>{escape(f["title"])}{_note(f)}</figcaption>'
        f"{_key(f)}{_legend(legends_of, [f]) if legends_of else ''}"
        f'<div class="plot" id="plot-{f["id"]}" style="height:{f["height"]}px" role="img" '
        f'aria-label="{escape(f["title"])}"></div></figure>'
        for f in figs
    )
    return f'<div class="grid{" wide" if wide else ""}">{panels}</div>'


def _note(fig: dict) -> str:
    return f" <small>{escape(fig['note'])}</small>" if fig.get("note") else ""


def _key(fig: dict) -> str:
    """The static legend of a figure whose colours are not implementations."""
    chips = "".join(
        f'<span class="key"><i style="background:{_css(color)}"></i>{escape(name)}</span>'
        for name, color in fig.get("key", [])
    )
    return f'<div class="keys">{chips}</div>' if chips else ""


def _css(color: str) -> str:
    return f"var(--{color[1:]})" if color.startswith("@") else color


def _tabs(figs: list[dict]) -> str:
    names: list[str] = []
    for f in figs:
        names += [v["name"] for v in f["views"] if v["name"] and v["name"] not in names]
    if len(names) < 2:
        return ""
    buttons = "".join(
        f'<button type="button" data-view="{escape(n)}" '
        f'aria-pressed="{"true" if i == 0 else "false"}">'
        f"{escape(n)}</button>"
        for i, n in enumerate(names)
    )
    return f'<div class="tabs" role="group" data-group="{figs[0]["group"]}">{buttons}</div>'


def _legend(doc: Doc, figs: list[dict]) -> str:
    used = sorted({t["meta"] for f in figs for v in f["views"] for t in v["data"] if "meta" in t})
    return _chips(doc, used, figs[0]["group"] if figs else "")


def _chips(doc: Doc, used: list[str], group: str, active: bool = True) -> str:
    everyone = figures.everyone(doc)
    out = []
    for impl in used:
        color, _, dash = figures.style(impl, everyone)
        label = implementations.lookup(impl).name
        style = "dashed" if dash != "solid" else "solid"
        ident = f"<small>{escape(impl)}</small>" if label != impl else ""
        inner = f'<i style="border-top:3px {style} {color}"></i>{escape(label)} {ident}'
        out.append(
            f'<button type="button" class="chip" data-impl="{escape(impl)}" aria-pressed="true">'
            f"{inner}</button>"
            if active
            else f'<span class="chip">{inner}</span>'
        )
    hint = '<span class="hint">tap to hide, double-tap for one alone</span>' if active else ""
    return f'<div class="legend" data-group="{group}">{"".join(out)}{hint}</div>' if out else ""


def _heading(text: str) -> str:
    # Ids hold hyphens: a heading must not break inside one.
    text = re.sub(r"\bN (?=\d)", "N\u00a0", escape(text))
    return re.sub(r"\b[PD]\d\w?(?:-[\w]+)+", r'<span class="id">\g<0></span>', text)


def _section(sid: str, nav: str, heading: str, body: str) -> tuple[str, str]:
    link = f'<a href="#{sid}">{escape(nav)}</a>'
    return link, (
        f'<section id="{sid}"><p '
        f'class="eyebrow">{escape(nav)}</p><h2>{_heading(heading)}</h2>{body}</section>'
    )


def _details(summary: str, body: str) -> str:
    return f"<details><summary>{escape(summary)}</summary>{body}</details>"


def tiles(doc: Doc) -> str:
    h = doc["headline"]
    counts = doc["status_counts"]
    total = sum(counts.values())
    tiles = [
        (str(h["devices"]), "GPU" if h["devices"] == 1 else "GPUs"),
        (findings.count(h["cells"]), "cells measured"),
        (findings.count(h["rows"]), "rows, each one repetition"),
        (findings.pct(counts.get("OK", 0) / total if total else None), "rows OK"),
    ]
    for regime in ("prefill", "decode"):
        share = doc["separation"]["by_regime"].get(regime, {}).get("separated")
        if share is not None:
            tiles.append((findings.pct(share), f"{regime} cells with a clear winner"))
    if h["selector_median_regret"] is not None:
        tiles.append((f"{h['selector_median_regret']:.3f}×", "selector's median regret"))
    return (
        '<div class="tiles">'
        + "".join(f"<div><b>{escape(a)}</b><span>{escape(b)}</span></div>" for a, b in tiles)
        + "</div>"
    )


def sections(doc: Doc) -> tuple[list[tuple[str, str]], list[dict]]:
    every: list[dict] = []

    def use(figs: list[dict]) -> list[dict]:
        every.extend(figs)
        return figs

    out = []
    bars = use(figures.winner_bars(doc))
    out.append(
        _section(
            "winners",
            "Winners",
            findings.winners(doc),
            _p(
                "A cell is one configuration on one GPU. Its winner has the least median "
                "latency among "
                "the implementations whose result passed the check against fp64."
            )
            + _grid(bars, True, doc),
        )
    )
    flip = use(figures.flip_matrix(doc))
    out.append(
        _section(
            "flips",
            "Portability",
            findings.pairs(doc),
            _p(
                "Share of the cells common to two GPUs in which they have different winners. "
                "Near-ties flip "
                "by noise; the second view keeps only cells where the winner leads clearly on both."
            )
            + (
                _tabs(flip) + _grid(flip, True) + _details("All pairs as a table", pair_table(doc))
                if flip
                else _p("A flip needs two GPUs with common cells.", "empty")
            ),
        )
    )
    out.append(
        _section(
            "separation",
            "Separation",
            findings.separation(doc),
            _p(
                "A cell is separated when the runner-up is at least "
                f"{doc['separation']['practical_threshold']}× the winner. Below that, choosing "
                f"the second "
                "best costs little. Spread is slowest over fastest, median over cells."
            )
            + separation_table(doc),
        )
    )
    pre = use(figures.prefill_curves(doc))
    out.append(
        _section(
            "prefill",
            "Prefill",
            findings.prefill(doc),
            _p(
                f"Slice: {_slice_words(doc['prefill_slice'])}. TFLOP/s count 4·B·Hq·N²·D "
                f"operations, half "
                "of that when causal. Each panel has its own vertical scale."
            )
            + (_tabs(pre) + _legend(doc, pre) if pre else "")
            + _grid(pre),
        )
    )
    speed = use(figures.speedups(doc))
    out.append(
        _section(
            "speedup",
            "Speed-up",
            findings.speedup(doc),
            _p(
                f"Latency of {findings.base_of(doc)} over that of each implementation: above 1 "
                f"is faster. "
                "Colour is logarithmic and stops at 8×."
            )
            + _tabs(speed)
            + _grid(speed),
        )
    )
    dec = use(figures.decode_curves(doc))
    out.append(
        _section(
            "decode",
            "Decode",
            findings.decode(doc),
            _p(
                f"Slice: {_slice_words(doc['decode_slice'])}. Bandwidth counts the bytes of K "
                f"and V that "
                "the implementation must read; one that expands KV to the query heads must read "
                "the group "
                "times more. The dashed line is the GPU's stated read ceiling. "
                + findings.above_ceiling(doc)
            )
            + (_tabs(dec) + _legend(doc, dec) if dec else "")
            + _grid(dec),
        )
    )
    maps = use(figures.winner_map(doc))
    used = sorted({c["impl"] for cells in doc["decode_winner_map"].values() for c in cells})
    out.append(
        _section(
            "map",
            "Winner map",
            findings.winner_map(doc),
            _p(
                f"Fastest decode implementation by KV length and batch. Slice: "
                f"{_slice_words(doc['decode_slice'])}."
            )
            + _chips(doc, used, "", False)
            + _grid(maps),
        )
    )
    gqa = use(figures.gqa(doc))
    out.append(
        _section(
            "gqa",
            "MHA and GQA",
            findings.gqa(doc),
            _p(
                f"Slice: {_slice_words(doc['mha_vs_gqa_slice'])}. Dotted lines: no cost, and cost "
                "proportional to the bytes of K and V."
            )
            + (_legend(doc, gqa) if gqa else "")
            + _grid(gqa),
        )
    )
    pages = use(figures.pages(doc))
    if pages:
        out.append(
            _section(
                "pages",
                "Page size",
                "Paged against contiguous KV",
                _tabs(pages) + _legend(doc, pages) + _grid(pages),
            )
        )
    roof = use(figures.roofline(doc))
    out.append(
        _section(
            "roofline",
            "Roofline",
            findings.roofline(doc),
            _p(
                "Median over rows of intensity and throughput; population: "
                f"{doc.get('roofline_population', 'not stated')}. The dashed line is the stated "
                f"read "
                "ceiling; a point above it was helped by a cache or shows that the ceiling is "
                "too low. No "
                "compute roof is drawn, since none was measured. Decode lies at intensities "
                "from 1 to the "
                "group size, prefill far to the right."
            )
            + _tabs(roof)
            + (_legend(doc, roof) if roof else "")
            + _grid(roof),
        )
    )
    regret = use(figures.regret(doc))
    how = doc.get("attnc_bench", {}).get("selector", {}).get("judged")
    out.append(
        _section(
            "selector",
            "Selector",
            findings.selector(doc),
            _p(
                "Regret is the chosen implementation's time over the winner's. The percentage "
                "beside a fixed choice is the share of cells in which it runs at all; its regret "
                "covers only those." + (f" How the tree was judged: {how}." if how else "")
            )
            + _grid(regret, True)
            + selector_table(doc)
            + (
                _details("The rule, as a tree", rule_tree(doc["selector"]["rule"]))
                + _details("The rule, as text", f"<pre>{escape(doc['selector']['rule'])}</pre>")
                if doc["selector"]["rule"]
                else ""
            ),
        )
    )
    disp = use(figures.dispatch(doc))
    out.append(
        _section(
            "dispatch",
            "Dispatch",
            findings.dispatch(doc),
            _p("The name of an implementation is a claim; the profiler says which kernel ran.")
            + (_grid(disp, True) + dispatch_table(doc) if disp else ""),
        )
    )
    out.append(
        _section(
            "correctness",
            "Correctness",
            findings.correctness(doc),
            _p(
                "Against fp64 on the same inputs. A wrong result has no speed: rows that fail are "
                "INCORRECT and count nowhere else."
            )
            + correctness_table(doc),
        )
    )
    cov, fail = use(figures.coverage(doc)), use(figures.failures(doc))
    out.append(
        _section(
            "coverage",
            "Coverage and failures",
            findings.coverage(doc),
            _grid(cov, True) + (_grid(fail, True) if fail else _p("No row failed.")),
        )
    )
    out.append(
        _section("provenance", "Provenance", "Where these numbers come from", _provenance(doc))
    )
    missing = "".join(f"<li>{escape(t)}</li>" for t in doc["not_collected"])
    out.append(
        _section(
            "missing",
            "Not collected",
            "What this study does not know",
            f"<ul class='prose'>{missing}</ul>" if missing else _p("Nothing is marked as missing."),
        )
    )
    return out, every


def _provenance(doc: Doc) -> str:
    extra = doc.get("attnc_bench", {})
    h = doc["headline"]
    fb = doc["supplementary_fwd_bwd"]
    words = [
        f"Generated from: {doc.get('generated_from', 'not stated')}.",
        f"{findings.count(h['attempt_records'])} attempt records, "
        f"{findings.count(h['rows'])} rows, "
        f"{findings.count(h['ok_rows'])} OK, of which {findings.count(h['eligible_rows'])} count.",
        f"Cells: {h['cells_note']}.",
    ]
    if fb["n"]:
        words.append(
            f"Supplement: {fb['n']} cells of {fb['note']}; "
            f"{findings.pct(fb['separated'])} of them separated."
        )
    software = table(
        ["Library", "Version"],
        [
            [k, v if v is not None else "not installed or not stated"]
            for k, v in doc["software"].items()
        ],
    )
    out = "".join(_p(w) for w in words) + "<h3>Devices</h3>" + device_table(doc)
    out += "<h3>Software</h3>" + software
    if extra.get("notes"):
        out += (
            "<h3>Notes on the data</h3><ul class='prose'>"
            + "".join(f"<li>{escape(n)}</li>" for n in extra["notes"])
            + "</ul>"
        )
    if extra.get("commands"):
        out += "<h3>To repeat a row</h3><pre>" + escape("\n".join(extra["commands"])) + "</pre>"
    return (
        out
        + '<p><button type="button" id="save" class="plain">Save the document as JSON</button></p>'
    )
