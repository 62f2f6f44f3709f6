"""Colours, markers and labels shared by all figures: one look an implementation, everywhere."""

from __future__ import annotations

from typing import Any

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

SPARE = ["#5b8c5a", "#b5651d", "#6a6ad4", "#d4708f", "#4a9bb3", "#a3a847"]

STATUS_COLOR = {
    "OK": "#2fa866",
    "UNSUPPORTED": "#9aa1ab",
    "OOM_PREDICTED": "#e3bd62",
    "OOM": "#d98a1f",
    "ERROR": "#d64550",
    "INCORRECT": "#8e1b3a",
    "TIMEOUT": "#8067c9",
}

FAMILY_COLOR = {
    "unfused-gemm": "#8b929c",
    "triton": "#f28e2b",
    "pytorch-flash": "#3f83f8",
    "flash-attn": "#ef6f62",
    "cudnn": "#2fa866",
    "cutlass-fmha": "#c9a227",
    "flashinfer": "#1aa7b8",
    "attnc": "#e6007e",
    "hand-written": "#8d6b48",
    "unknown": "#d64550",
}

#: Shares in percent; the last label must not be lost to clipping.
SHARE_AXIS = {
    "range": [0, 101],
    "tickvals": [0, 25, 50, 75, 100],
    "ticktext": ["0", "25%", "50%", "75%", "100%"],
    "showgrid": False,
}


def style(impl: str, everyone: list[str]) -> tuple[str, str, str]:
    """(colour, marker, dash) of an implementation; unlisted ones take spare colours in order."""
    if impl in STYLE:
        return STYLE[impl]
    spare = [i for i in everyone if i not in STYLE]
    return SPARE[spare.index(impl) % len(SPARE)], "circle-open", "dashdot"


def everyone(doc: Doc) -> list[str]:
    """All implementation ids of the document, in id order (prefill and decode)."""
    ids = {c["implementation"] for c in doc["coverage"]}
    ids |= {i for r in doc["winners"].values() for c in r.values() for i in c}
    return sorted(ids)


def short(n: float) -> str:
    """1024 -> 1k, 512 -> 512."""
    return f"{n / 1024:g}k" if n >= 1024 and n % 1024 == 0 else f"{n:g}"


def slug(text: str) -> str:
    return "".join(ch if ch.isalnum() else "-" for ch in text.lower())


def gpu_order(doc: Doc, present) -> list[str]:
    order = [d["gpu"] for d in doc["devices"]]
    return sorted(present, key=lambda g: (order.index(g) if g in order else len(order), g))
