"""What every Python implementation shares: the base class and the way to refuse."""

from __future__ import annotations

import importlib


class Unsupported(Exception):
    """This implementation cannot run this configuration here; the text says why."""


def need(module: str, line: str):
    """Imports `module`, or refuses with the line that installs it."""
    try:
        return importlib.import_module(module)
    except ImportError as e:
        raise Unsupported(f"{module} is not installed ({e}); {line}") from None


def plain_only(config: dict, what: str) -> None:
    if config.get("variant"):
        raise Unsupported(f"{what} is measured without variants; found {config['variant']}")
    if config.get("page_size"):
        raise Unsupported(f"{what} is measured on a contiguous KV cache; found page_size")


class Peer:
    """One implementation on one configuration. q is [B, Hq, Sq, D], k and v [B, Hkv, N, D]."""

    #: Kernel family it is meant to run.
    family: str | None = None
    #: K and V are repeated to the query heads before they are read.
    kv_expanded = False

    def __init__(self, config: dict):
        self.config = config
        self.causal = bool(config["causal"]) and config["regime"] == "prefill"
        self.group = config["hq"] // config["hkv"]
        self.scale = config["head_dim"] ** -0.5

    def arrange(self, q, k, v) -> tuple:
        """Arguments of `run` in the layout it wants; outside the time."""
        return q, k, v

    def run(self, *args):
        raise NotImplementedError

    def logical(self, out):
        """The result of `run` as [B, Hq, Sq, D], any strides."""
        return out

    def versions(self) -> dict:
        return {}

    def details(self) -> dict:
        """Members to add to the row's `dispatch`."""
        return {}


def bshd(x):
    return x.transpose(1, 2).contiguous()
