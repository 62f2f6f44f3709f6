"""Study document -> one self-contained HTML file: no network, no other file, readable without
plots.

The page is page/page.html with page.css, page.js and plotly inlined. plotly.js goes in
gzip-compressed (2.0 MB instead of 4.8) and is unpacked by the browser; `compress=False` inlines it
as it is. All text from the document is escaped: a row's reason or a plug-in's name may hold
anything.
"""

from __future__ import annotations

import base64
import gzip
import json
from functools import lru_cache
from html import escape
from pathlib import Path
from typing import Any

from . import __version__, findings
from .sections import sections, tiles

Doc = dict[str, Any]
_PAGE = Path(__file__).parent / "page"

#: Every key that a study document must have for a report.
REQUIRED = (
    "devices",
    "software",
    "headline",
    "separation",
    "pairs",
    "winners",
    "coverage",
    "dispatch",
    "correctness",
    "prefill_slice",
    "prefill_latency",
    "prefill_tflops",
    "prefill_memory",
    "prefill_speedup",
    "decode_slice",
    "decode_latency_b1",
    "decode_bw_b1",
    "decode_latency_b32",
    "decode_bw_b32",
    "decode_winner_map",
    "mha_vs_gqa_slice",
    "mha_vs_gqa",
    "roofline",
    "selector",
    "supplementary_fwd_bwd",
    "spread",
    "status_counts",
    "not_collected",
)


@lru_cache(maxsize=1)
def _plotly() -> str:
    from plotly.offline import get_plotlyjs

    return get_plotlyjs()


def _script_json(value: Any) -> str:
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def check(doc: Doc) -> None:
    """Raise ValueError when `doc` is not a study document."""
    missing = [k for k in REQUIRED if k not in doc]
    if missing:
        raise ValueError(f"not a study document: missing {', '.join(missing)}")


def render(doc: Doc, title: str | None = None, compress: bool = True) -> str:
    """The whole page as a string. Raises ValueError on a document with missing keys."""
    check(doc)
    parts_of_page, every = sections(doc)
    title = title or findings.title(doc)
    js = _plotly()
    if compress:
        packed = base64.b64encode(gzip.compress(js.encode("utf-8"), 9, mtime=0)).decode("ascii")
        plotly = f'<script type="application/gzip+base64" id="plotly-packed">{packed}</script>'
    else:
        plotly = f"<script>{js}</script>"
    page = (_PAGE / "page.html").read_text(encoding="utf-8")
    parts = {
        "TITLE": escape(title),
        "LEAD": escape(findings.headline(doc)),
        "CSS": (_PAGE / "page.css").read_text(encoding="utf-8"),
        "NAV": "".join(link for link, _ in parts_of_page),
        "TILES": tiles(doc),
        "BODY": "".join(body for _, body in parts_of_page),
        "VERSION": escape(__version__),
        "COUNT": str(len(every)),
        "FIGURES": _script_json(every),
        "DOCUMENT": _script_json(doc),
        "JS": (_PAGE / "page.js").read_text(encoding="utf-8"),
        "PLOTLY": plotly,
    }
    # One pass over the template: inserted text is never searched for placeholders again.
    pieces = page.split("{{")
    out = [pieces[0]]
    for piece in pieces[1:]:
        key, rest = piece.split("}}", 1)
        out += [parts[key], rest]
    return "".join(out)
