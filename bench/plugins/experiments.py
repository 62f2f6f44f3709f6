"""Plug-ins for three kernel experiments that live outside this repository.

ATTNC_EXPERIMENTS names a directory with hopper-prefill/ (cubins in out/), hopper-decode/ (t.so) and
mma-sync-prefill/ (cubins in out/); each has a bench.py that launches its kernels. Nothing of them
is here: this file only adapts their calls.
"""

from __future__ import annotations

import importlib.util
import os
import sys

import torch
from common import Unsupported


def _bench(name: str, needs: str):
    root = os.environ.get("ATTNC_EXPERIMENTS", "")
    directory = os.path.join(root, name)
    if not root or not os.path.isfile(os.path.join(directory, "bench.py")):
        raise Unsupported(f"no {name}/bench.py in ATTNC_EXPERIMENTS ({root or 'not set'})")
    if not os.path.exists(os.path.join(directory, needs)):
        raise Unsupported(f"{name} is not built: {needs} is missing")
    key = "attnc_experiment_" + name.replace("-", "_")
    if key not in sys.modules:
        spec = importlib.util.spec_from_file_location(key, os.path.join(directory, "bench.py"))
        module = importlib.util.module_from_spec(spec)
        sys.modules[key] = module
        sys.path.insert(0, directory)
        spec.loader.exec_module(module)
    return sys.modules[key]


def _plain(config: dict, regime: str, dims: tuple) -> None:
    if config["regime"] != regime:
        raise Unsupported(f"{regime} only")
    if config["dtype"] != "bf16" or config.get("variant") or config.get("page_size"):
        raise Unsupported("bf16, contiguous, without variants only")
    if config["head_dim"] not in dims:
        raise Unsupported(f"head dimensions {dims} only; found {config['head_dim']}")


def hopper_prefill(config, q, k, v):
    """The sm_90a schedule: warp roles, TMA, wgmma, flat persistent loop."""
    _plain(config, "prefill", (64, 128))
    tile = 128
    if config["hq"] != config["hkv"] or config["N"] % tile:
        raise Unsupported(f"Hq = Hkv and lengths that are multiples of {tile} only")
    if torch.cuda.get_device_capability() != (9, 0):
        raise Unsupported("sm_90 only")
    bench = _bench("hopper-prefill", "out/meta.json")
    name = ("fnt" if config["head_dim"] == 128 else "d64n") + ("_c" if config["causal"] else "_n")
    if name not in bench.meta:
        raise Unsupported(f"{name} is not built")
    o = torch.empty_like(q)
    run = bench.Run(name, q, k, v, o, "lpt")

    def launch():
        run()
        return o

    return launch


def hopper_decode(config, q, k, v):
    """The split-KV decode kernel; merged through a cluster where a batch leaves CTAs idle."""
    _plain(config, "decode", (128,))
    bench = _bench("hopper-decode", "t.so")
    b, hkv, n, _ = k.shape
    group = config["hq"] // hkv
    if group > 8:
        raise Unsupported("at most 8 query heads a KV head")
    cell = bench.Cell(b, hkv, group, n)
    o = torch.empty_like(q)
    cell.q, cell.o, cell.k, cell.v = q, o, k.view(1, *k.shape), v.view(1, *v.shape)
    heads = b * hkv
    name, parts = ("c4s3", 1) if heads > 132 else ("c8s3", 1)
    if heads <= 66:
        parts = 1
        while parts * 2 <= min(8, 132 // heads):
            parts *= 2
        if parts > 1:
            name = "c8s3_cl"

    def launch():
        bench.launch(cell, name, 0, parts)
        return o

    return launch


def mma_sync_prefill(config, q, k, v):
    """The sm_80-class prefill kernel."""
    _plain(config, "prefill", (128,))
    name = "k5" if config["N"] >= 2048 else "k0"
    tile = 256 if name == "k5" else 128
    if config["hq"] != config["hkv"] or config["N"] % tile:
        raise Unsupported(f"Hq = Hkv and lengths that are multiples of {tile} only")
    bench = _bench("mma-sync-prefill", f"out/{name}.cubin")
    o = torch.empty_like(q)
    causal = int(config["causal"])
    kernel = bench.kern(name, causal)

    def launch():
        # CuPy has a current stream of its own.
        with bench.cp.cuda.ExternalStream(torch.cuda.current_stream().cuda_stream):
            bench.launch(name, causal, q, k, v, o, f=kernel)
        return o

    return launch
