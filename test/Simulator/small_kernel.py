"""Hand-written PTX for the simulator's own tests: a body, buffers and tensor maps → what it wrote."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

import package  # noqa: F401  registers the instructions
from machine import Launch, run_launch
from memory import GlobalMemory, SharedMemory
from program import Program
from ptx import parse
from tensor_copy import TensorMap

HEADER = """
.version 8.0
.target sm_90a
.address_size 64
.extern .shared .align 1024 .b8 smem[];
.visible .entry k({parameters})
{{
 .reg .pred %p<16>; .reg .b16 %rs<64>; .reg .b32 %r<512>; .reg .b64 %rd<64>;
"""


@dataclass
class Map:
    """A tensor map on an input or output of rank 2, [rows, columns] of 16-bit elements."""
    buffer: str
    box: tuple[int, int]  # rows, columns
    swizzle: int = 128


@dataclass
class SmallKernel:
    """Parameters: a pointer `out`, one for each input by name, then `map0`, `map1`, …"""
    body: str
    inputs: dict[str, np.ndarray] = field(default_factory=dict)
    out: np.ndarray = field(default_factory=lambda: np.zeros(32, np.uint32))
    maps: list[Map] = field(default_factory=list)
    block: int = 32
    shared_bytes: int = 65536

    def run(self, seed: int = 0) -> np.ndarray:
        memory = GlobalMemory()
        buffers = {"out": memory.allocate("out", self.out.nbytes, True)}
        buffers["out"].data[:] = 0xFF
        arrays = {"out": self.out, **self.inputs}
        for name, array in self.inputs.items():
            buffers[name] = memory.allocate(name, array.nbytes, False)
            buffers[name].data[:] = np.ascontiguousarray(array).view(np.uint8).reshape(-1)
        memory.seal()
        parameters = [f".param .u64 {name}" for name in buffers]
        parameters += [f".param .align 64 .b8 map{i}[128]" for i in range(len(self.maps))]
        text = HEADER.format(parameters=", ".join(parameters)) + self.body + "\n ret;\n}\n"
        kernel = parse(text).kernels["k"]
        program = Program(kernel, {"smem": SharedMemory.BASE})
        values = np.zeros(kernel.parameter_bytes, np.uint8)
        slots = {p.name: p for p in kernel.parameters}
        for name, buffer in buffers.items():
            values[slots[name].offset:slots[name].offset + 8] = np.array([buffer.address]).view(np.uint8)
        maps = {slots[f"map{i}"].offset: self._map(map, buffers, arrays) for i, map in enumerate(self.maps)}
        run_launch(Launch(program, 1, self.block, self.shared_bytes, values, maps, memory), seed)
        return buffers["out"].data.view(self.out.dtype).reshape(self.out.shape)

    def _map(self, map: Map, buffers, arrays) -> TensorMap:
        rows, columns = arrays[map.buffer].shape
        return TensorMap(buffers[map.buffer].address, (columns, rows), (2, columns * 2), (map.box[1], map.box[0]),
                         2, map.swizzle)
