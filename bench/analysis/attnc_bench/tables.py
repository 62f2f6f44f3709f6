"""The report's tables, and the selector's rule as a readable tree. HTML strings, all text
escaped."""

from __future__ import annotations

import math
import re
from html import escape
from typing import Any

from . import findings

Doc = dict[str, Any]


def _cell(value: Any) -> str:
    if value is None:
        return '<td class="none" data-v="">–</td>'
    if isinstance(value, bool):
        return f"<td>{'yes' if value else 'no'}</td>"
    if isinstance(value, int):
        return f'<td class="num" data-v="{value}">{value:,}</td>'
    if isinstance(value, float):
        text = f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
        return f'<td class="num" data-v="{value}">{text}</td>'
    return f"<td>{escape(str(value))}</td>"


def table(head: list[str], rows: list[list[Any]]) -> str:
    """A table whose columns sort when their heading is clicked (page.js); '' without rows."""
    top = "".join(f'<th scope="col"><button type="button">{escape(h)}</button></th>' for h in head)
    if not rows:
        return ""
    body = "".join("<tr>" + "".join(_cell(v) for v in r) + "</tr>" for r in rows)
    return (
        f'<div class="scroll"><table class="sortable"><thead><tr>{top}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def _percent(share: float | None) -> float | None:
    return None if share is None else round(100 * share, 1)


def pair_table(doc: Doc) -> str:
    return table(
        [
            "Regime",
            "GPU a",
            "GPU b",
            "Cells",
            "Winner differs, %",
            "Separated on both",
            "Differs there, %",
            "Rank correlation",
        ],
        [
            [
                p["regime"],
                p["a"],
                p["b"],
                p["n"],
                _percent(p["flip"]),
                p["n_sep"],
                _percent(p["flip_sep"]),
                p["spearman"],
            ]
            for p in doc["pairs"]
        ],
    )


def separation_table(doc: Doc) -> str:
    rows = []
    for regime, v in sorted(doc["separation"]["by_regime"].items(), reverse=True):
        flip, sep, _, _ = findings.flips(doc, regime)
        rows.append(
            [
                regime,
                v["n"],
                _percent(v["separated"]),
                v["median_ratio"],
                doc["spread"].get(regime),
                _percent(flip),
                _percent(sep),
            ]
        )
    return table(
        [
            "Regime",
            "Cells",
            "Separated, %",
            "Median runner-up / winner, ×",
            "Median slowest / fastest, ×",
            "Flip over all pairs, %",
            "Flip, separated, %",
        ],
        rows,
    )


def device_table(doc: Doc) -> str:
    return table(
        [
            "GPU",
            "SM version",
            "Architecture",
            "SMs",
            "Memory, GB",
            "L2, MB",
            "Read ceiling, GB/s",
            "Empty event pair, µs",
            "Repetitions",
        ],
        [
            [
                d["gpu"],
                d["cc"],
                d["arch"],
                d["sm"],
                d["mem_gb"],
                d["l2_mb"],
                d["bw_gbs"],
                d["event_us"],
                d["reps"],
            ]
            for d in doc["devices"]
        ],
    )


def dispatch_table(doc: Doc) -> str:
    d = doc["dispatch"]
    rows = [[g, v["probed"], v["mismatch"]] for g, v in d["by_gpu"].items()]
    note = (
        f"torch.compile: its attention-pattern counter fired in {d['inductor_counter_fired']:,} of "
        f"{d['inductor_rows']:,} rows; an attention kernel was in the trace in "
        f"{d['attn_kernel_in_trace']:,}."
    )
    return table(["GPU", "Probed, % of OK rows", "Not the intended kernel, % of probed"], rows) + (
        f"<p>{escape(note)}</p>"
    )


def correctness_table(doc: Doc) -> str:
    return table(
        [
            "Implementation",
            "Checks",
            "Failures",
            "Largest absolute error",
            "Largest relative error",
            "Least cosine",
            "Error over the naive baseline's, ×",
        ],
        [
            [
                c["impl"],
                c["n"],
                c["fail"],
                c["max_abs"],
                c["max_rel"],
                c["min_cos"],
                c["vs_baseline"],
            ]
            for c in doc["correctness"]
        ],
    )


def selector_table(doc: Doc) -> str:
    s = doc["selector"]
    if not s["n"]:
        return ""
    rows = [
        [
            "decision tree",
            s["median_regret"],
            s["p95_regret"],
            None,
            _percent(s["accuracy"]),
            s["n"],
        ]
    ]
    rows += [
        [f"always {k}", v["median"], v["p95"], _percent(v["coverage"]), None, None]
        for k, v in s["vs_fixed"].items()
    ]
    return table(
        [
            "Choice",
            "Median regret, ×",
            "p95 regret, ×",
            "Runs in, % of cells",
            "Names the winner, %",
            "Cells judged",
        ],
        rows,
    )


_WORDS = {
    "is_decode": ("prefill", "decode"),
    "log_len": "N",
    "log_batch": "batch",
    "gqa": "query heads per KV head",
    "bw_gbs": "read ceiling",
    "sm": "multiprocessors",
}


def condition(feature: str, op: str, threshold: float) -> str:
    """'log_len', '<=', 10.5 -> 'N ≤ 1,448'; a log threshold is turned back into the quantity."""
    words = _WORDS.get(feature, feature)
    if isinstance(words, tuple):
        return words[0 if op == "<=" else 1]
    sign = "≤" if op == "<=" else ">"
    if feature.startswith("log_"):
        value = 2.0**threshold
        text = f"{math.floor(value):,}"
    else:
        text = f"{threshold:,.4g}" if threshold < 1000 else f"{threshold:,.0f}"
    return f"{words} {sign} {text}" + (" GB/s" if feature == "bw_gbs" else "")


def rule_tree(rule: str) -> str:
    """scikit-learn's rule text as nested lists with conditions in words; text as is when
    unreadable."""
    out, depth = ["<ul class='tree'>"], 0
    for line in rule.splitlines():
        m = re.match(r"^((?:\|   )*)\|--- (.*)$", line)
        if not m:
            continue
        level = len(m.group(1)) // 4
        while depth > level:
            out.append("</ul></li>")
            depth -= 1
        body = m.group(2)
        if body.startswith("class: "):
            out.append(f"<li class='leaf'>{escape(body[7:])}</li>")
            continue
        parts = re.match(r"^(\S+)\s+(<=|>)\s+(\S+)$", body)
        words = condition(parts[1], parts[2], float(parts[3])) if parts else body
        out.append(f"<li><span>{escape(words)}</span><ul>")
        depth += 1
    out.append("</ul></li>" * depth + "</ul>")
    return "".join(out)
