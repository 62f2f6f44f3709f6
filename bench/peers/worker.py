"""The worker process of attn-bench: measures implementations that live in Python.

One JSON object a line on standard input, one answer a line on (the original) standard output;
whatever libraries print goes to standard error.

    {"op": "prepare", "impl": ID, "config": {...}, "seed": n, "l2_bytes": n, "flush_bytes": n,
     "output": PATH or null, "plugin": "path.py:function" or null}
      -> {"ok": true, "handle": h, "setup_us": t, "peak_mib": m, "kv_expanded": b,
          "versions": {...}, "dispatch": {"kernels": [...], "intended": FAMILY}}
    {"op": "sample", "handle": h, "count": n} -> {"ok": true, "us": [...]}
    {"op": "release", "handle": h}            -> {"ok": true}

    failure -> {"ok": false, "status": UNSUPPORTED | OOM | ERROR, "reason": TEXT, "restart": b}

`prepare` makes its own inputs (inputs.py: a function of the seed), runs once into poisoned memory
and leaves O, contiguous [B, Hq, Sq, D], in PATH for the core to check against fp64. `restart`: the
CUDA context is unusable, the core should start another worker. The worker never judges a result.
"""

from __future__ import annotations

import argparse
import gc
import importlib.util
import json
import os
import sys
import time
import traceback

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import inputs  # noqa: E402
import registry  # noqa: E402
import timing  # noqa: E402
from common import Peer, Unsupported  # noqa: E402

TORCH_LINE = "pip install torch"


class PluginPeer(Peer):
    """`function(config, q, k, v)` returns a callable without arguments that returns O."""

    family = None

    def __init__(self, config: dict, function):
        super().__init__(config)
        self.function = function

    def arrange(self, q, k, v):
        return (self.function(dict(self.config), q, k, v),)

    def run(self, launch):
        return launch()


def load_plugin(text: str):
    path, _, name = text.rpartition(":")
    spec = importlib.util.spec_from_file_location("attn_bench_plugin", path)
    if spec is None or spec.loader is None or not os.path.exists(path):
        raise Unsupported(f"plug-in: no Python file {path}")
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    spec.loader.exec_module(module)
    if not hasattr(module, name):
        raise Unsupported(f"plug-in: {path} has no function {name}")
    return getattr(module, name)


def import_torch(device: int):
    try:
        import torch
    except ImportError as e:
        raise Unsupported(f"torch is not installed ({e}); {TORCH_LINE}") from None
    if not torch.cuda.is_available():
        raise Unsupported("torch sees no GPU")
    torch.cuda.set_device(device)
    return torch


def probe(torch, launch) -> tuple[list[dict], str | None]:
    """Kernels of one launch by torch's profiler (CUPTI), or why there are none."""
    import tempfile

    try:
        from torch.profiler import ProfilerActivity, profile

        with profile(activities=[ProfilerActivity.CUDA, ProfilerActivity.CPU]) as p:
            launch()
            torch.cuda.synchronize()
        with tempfile.NamedTemporaryFile(suffix=".json") as f:
            p.export_chrome_trace(f.name)
            with open(f.name) as trace:
                events = json.load(trace)["traceEvents"]
    except Exception as e:  # noqa: BLE001 - a profiler that fails must not fail the cell
        return [], f"{type(e).__name__}: {e}"
    kernels = [
        {
            "name": e["name"],
            "grid": e.get("args", {}).get("grid", []),
            "block": e.get("args", {}).get("block", []),
            "us": e.get("dur"),
        }
        for e in events
        if e.get("cat") == "kernel"
    ]
    return kernels[:32], None if kernels else "the profiler saw no kernel"


class Session:
    def __init__(self, device: int):
        self.device = device
        self.torch = None
        self.handles: dict[int, tuple] = {}
        self.next = 0
        self.flush = None

    def prepare(self, r: dict) -> dict:
        config = r["config"]
        torch = self.torch = self.torch or import_torch(self.device)
        start = time.perf_counter()
        if r.get("plugin"):
            peer = PluginPeer(config, load_plugin(r["plugin"]))
        else:
            peer = registry.make(r["impl"], config)
        dtype = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32}[
            config["dtype"]
        ]
        b, n, hq, hkv, d = (config[x] for x in ("batch", "N", "hq", "hkv", "head_dim"))
        lq = 1 if config["regime"] == "decode" else n

        def tensors():
            return (
                inputs.make(torch, (b, hq, lq, d), dtype, r["seed"], "q"),
                inputs.make(torch, (b, hkv, n, d), dtype, r["seed"], "k"),
                inputs.make(torch, (b, hkv, n, d), dtype, r["seed"], "v"),
            )

        arranged = [peer.arrange(*tensors())]
        # What the allocator hands out next is full of NaN, so that an output that was not written
        # shows as such.
        if (size := b * hq * lq * d) and config["dtype"] != "fp32":
            torch.full((size,), float("nan"), dtype=dtype, device="cuda")
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
        with torch.no_grad():
            out = peer.run(*arranged[0])
            torch.cuda.synchronize()
        peak = torch.cuda.max_memory_allocated() / 2**20
        setup = (time.perf_counter() - start) * 1e6
        logical = peer.logical(out)
        if tuple(logical.shape) != (b, hq, lq, d) or logical.dtype != dtype:
            raise RuntimeError(
                f"O has shape {tuple(logical.shape)} and dtype {logical.dtype}, expected "
                f"{(b, hq, lq, d)} and {dtype}"
            )
        if r.get("output"):
            host = logical.contiguous().view(torch.uint8).cpu().numpy()
            with open(r["output"], "wb") as f:
                f.write(memoryview(host.reshape(-1)))
            del host
        del out, logical
        with torch.no_grad():
            kernels, why = probe(torch, lambda: peer.run(*arranged[0]))
            # What a launch reads and writes, as the core counts it (Config::tensorBytes).
            size = 2 * (b * hq * lq * d + b * hkv * n * d) * dtype.itemsize
            copies = timing.copies_needed(config, size, r["l2_bytes"])
            while len(arranged) < copies:
                arranged.append(peer.arrange(*tensors()))
            for extra in arranged[1:2]:
                peer.run(*extra)
            timer = timing.Timer(
                torch,
                config,
                lambda c: peer.run(*arranged[c]),
                copies,
                self.flush_buffer(r)
                if timing.flushes_before(config, copies, size, r["l2_bytes"])
                else None,
            )
        self.next += 1
        self.handles[self.next] = (timer, peer, arranged)
        dispatch = {"kernels": kernels, "intended": peer.family}
        if why:
            dispatch["why_unprobed"] = why
        dispatch.update(peer.details())
        return {
            "handle": self.next,
            "setup_us": setup,
            "peak_mib": peak,
            "kv_expanded": peer.kv_expanded,
            "versions": {"torch": torch.__version__, "cuda": torch.version.cuda, **peer.versions()},
            "dispatch": dispatch,
        }

    def flush_buffer(self, r: dict):
        """One for all handles: it is as big as three L2 caches."""
        size = max(1, r["flush_bytes"])
        if self.flush is None or self.flush.numel() != size:
            self.flush = self.torch.empty(size, dtype=self.torch.uint8, device="cuda")
        return self.flush

    def sample(self, r: dict) -> dict:
        timer = self.handles[r["handle"]][0]
        with self.torch.no_grad():
            return {"us": timer.sample(r["count"])}

    def release(self, r: dict) -> dict:
        self.handles.pop(r["handle"], None)
        self.clean()
        return {}

    def clean(self) -> None:
        gc.collect()
        if self.torch is not None:
            self.torch.cuda.empty_cache()


def failed(session: Session, what: dict) -> dict:
    try:
        session.clean()
    except Exception:  # noqa: BLE001 - a lost context; the answer says restart
        pass
    return {"ok": False, **what}


def answer(session: Session, line: str) -> dict:
    try:
        r = json.loads(line)
        op = {"prepare": session.prepare, "sample": session.sample, "release": session.release}[
            r["op"]
        ]
        return {"ok": True, **op(r)}
    except Unsupported as e:
        return failed(session, {"status": "UNSUPPORTED", "reason": str(e)})
    except Exception as e:  # noqa: BLE001 - every failure is an answer
        text = f"{type(e).__name__}: {e}".strip().split("\n")[0][:400]
        traceback.print_exc(file=sys.stderr)
        name = type(e).__name__
        if name == "OutOfMemoryError" or "out of memory" in text:
            status, restart = "OOM", False
        elif name == "NoValidChoicesError" or "No available kernel" in text:
            status, restart = "UNSUPPORTED", False
        else:
            status = "ERROR"
            restart = name == "AcceleratorError" or "CUDA error" in text
        e.__traceback__ = None  # its frames hold tensors
        return failed(session, {"status": status, "reason": text, "restart": restart})


def main() -> None:
    p = argparse.ArgumentParser()
    p.add_argument("--device", type=int, default=0)
    args = p.parse_args()
    protocol = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    session = Session(args.device)
    for line in sys.stdin:
        protocol.write(json.dumps(answer(session, line)) + "\n")
        protocol.flush()
    os._exit(0)  # Not worth waiting for the CUDA context to go.


if __name__ == "__main__":
    main()
