"""Timing by events, as the measuring core does it (GpuTimer.h): the two must stay the same method.

eager: [flush if cold] event, launch, event.  graph: event, replay, event, divided by the launches in
the graph; a cold graph rotates over copies of the inputs, and is flushed if they are too small.
"""

from __future__ import annotations

import math


def copies_needed(config: dict, tensor_bytes: int, l2_bytes: int) -> int:
    if config["launch"] != "graph" or config["cache"] != "cold":
        return 1
    return min(128, max(2, -(-3 * l2_bytes // max(1, tensor_bytes))))


def flushes_before(config: dict, copies: int, tensor_bytes: int, l2_bytes: int) -> bool:
    if config["cache"] != "cold":
        return False
    return config["launch"] != "graph" or copies * tensor_bytes < 2 * l2_bytes


def launches_in_graph(launch_us: float, copies: int, target_us: float = 200.0) -> int:
    wanted = min(math.ceil(target_us / max(launch_us, 0.5)), 256)
    return copies * max(1, math.ceil(wanted / copies))


class Timer:
    """Samples of `launch(copy)`; `launch` enqueues on the current stream."""

    BATCH = 32

    def __init__(self, torch, config: dict, launch, copies: int, flush):
        self.torch = torch
        self.launch = launch
        self.flush = flush  # a tensor that exceeds the L2, or None
        self.events = [
            (torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True))
            for _ in range(self.BATCH)
        ]
        self.launches = 1
        self.graph = None
        self.kept = []  # outputs of captured launches: their memory belongs to the graph
        if config["launch"] == "graph":
            self._capture(copies)

    def _capture(self, copies: int) -> None:
        torch = self.torch
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for c in range(min(copies, 2)):
                self.launch(c)
        torch.cuda.current_stream().wait_stream(stream)
        self.launches = launches_in_graph(min(self._measure(3)), copies)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            for i in range(self.launches):
                out = self.launch(i % copies)
                if i < copies:
                    self.kept.append(out)
        self.graph = graph

    def _measure(self, count: int) -> list[float]:
        run = self.graph.replay if self.graph is not None else lambda: self.launch(0)
        for begin, end in self.events[:count]:
            if self.flush is not None:
                self.flush.fill_(0x5A)
            begin.record()
            run()
            end.record()
        self.torch.cuda.synchronize()
        return [b.elapsed_time(e) * 1000 / self.launches for b, e in self.events[:count]]

    def sample(self, count: int) -> list[float]:
        out: list[float] = []
        while len(out) < count:
            out += self._measure(min(self.BATCH, count - len(out)))
        return out
