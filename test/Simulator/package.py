"""Reads a kernel package and binds arguments to its kernels, as the runtime does (docs/Runtime.md)."""

from __future__ import annotations

import json
import math
import struct
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import access  # noqa: F401  registers instructions
import barriers  # noqa: F401
import matrix  # noqa: F401
from machine import Launch
from memory import Buffer, GlobalMemory, SharedMemory
from program import Program
from ptx import Module, parse
from tensor_copy import TensorMap

MANY_MULTIPROCESSORS = 2**31 - 1
BYTES = {"f16": 2, "bf16": 2, "f32": 4, "i32": 4, "i64": 8, "bool": 1}


@dataclass
class Package:
    manifest: dict
    ptx: str
    module: Module

    @staticmethod
    def load(path: Path) -> "Package":
        data = path.read_bytes()
        if data[:8] != b"ATTNPKG1":
            raise ValueError(f"{path} is not a kernel package")
        (size,) = struct.unpack("<Q", data[8:16])
        manifest = json.loads(data[16:16 + size])
        blob = manifest["blobs"]["ptx"]
        start = 16 + size + blob["offset"]
        ptx = data[start:start + blob["size"]].rstrip(b"\0").decode()
        return Package(manifest, ptx, parse(ptx))


def evaluate(expression, symbols: dict[str, int]) -> int:
    """A grid or workspace expression."""
    if isinstance(expression, int):
        return expression
    if isinstance(expression, str):
        return symbols[expression]
    op, left, right = expression[0], evaluate(expression[1], symbols), evaluate(expression[2], symbols)
    return {"add": left + right, "sub": left - right, "mul": left * right,
            "ceildiv": -(-left // right) if right else 0, "min": min(left, right), "max": max(left, right)}[op]


@dataclass
class Tensor:
    """A bound tensor: its buffer, logical shape and strides in elements."""
    buffer: Buffer
    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]


class Binding:
    """Arguments of a package's kernels in one global memory."""

    def __init__(self, package: Package, symbols: dict[str, int], scalars: dict[str, float]):
        self.package = package
        self.symbols = symbols  # batch, max_len_q, …, multiprocessors
        self.scalars = scalars  # scale and arg.NAME
        self.memory = GlobalMemory()
        self.tensors: dict[str, Tensor] = {}
        for item in package.manifest["workspace"]:
            shape = tuple(evaluate(side, symbols) for side in item["shape"])
            size = math.prod(shape) * BYTES[item["dtype"]]
            buffer = self.memory.allocate(item["name"], size, True)
            buffer.data[:] = 0xFF
            self.tensors[item["name"]] = Tensor(buffer, item["dtype"], shape, contiguous(shape))

    def bind(self, name: str, dtype: str, data: np.ndarray, shape, strides, writable: bool) -> None:
        """`data`: the bytes of the whole allocation."""
        flat = np.ascontiguousarray(data).view(np.uint8).reshape(-1)
        buffer = self.memory.allocate(name, flat.size, writable)
        buffer.data[:] = flat
        self.tensors[name] = Tensor(buffer, dtype, tuple(shape), tuple(strides))

    def launches(self) -> list[Launch]:
        """One for each kernel, in order. The memory is sealed by then."""
        result = []
        for kernel in self.package.manifest["kernels"]:
            code = self.package.module.kernels[kernel["entry"]]
            program = Program(code, {name: SharedMemory.BASE for name in self.package.module.shared})
            parameters = np.full(code.parameter_bytes, 0xFF, np.uint8)
            slots = iter(code.parameters)
            maps: dict[int, object] = {}

            def put(raw: bytes) -> None:
                slot = next(slots)
                if slot.size != len(raw):
                    raise ValueError(f"parameter {slot.name} has {slot.size} bytes; the manifest gives {len(raw)}")
                parameters[slot.offset:slot.offset + slot.size] = np.frombuffer(raw, np.uint8)

            for param in kernel["params"]:
                if param["kind"] == "tensor":
                    tensor = self.tensor(param)
                    put(struct.pack("<Q", tensor.buffer.address))
                    for stride in tensor.strides[:-1] if param.get("unit_inner") else tensor.strides:
                        put(struct.pack("<q", stride))
                elif param["kind"] == "tensor_map":
                    slot = next(slots)
                    maps[slot.offset] = make_map(self.tensor(param), param)
                else:
                    put(struct.pack({"i32": "<i", "i64": "<q", "f32": "<f"}[param["kind"]],
                                    self.scalar(param["name"], param["kind"])))
            if next(slots, None) is not None:
                raise ValueError(f"kernel {kernel['entry']} has more parameters than its manifest")
            result.append(Launch(program, evaluate(kernel["grid"], self.symbols), kernel["block"],
                                 kernel["shared_bytes"], parameters, maps, self.memory))
        return result

    def tensor(self, param: dict) -> Tensor:
        tensor = self.tensors[param["name"]]
        if (tensor.dtype, len(tensor.shape)) != (param["dtype"], param["rank"]):
            raise ValueError(f"tensor '{param['name']}' is {tensor.dtype} of rank {len(tensor.shape)}; the kernel "
                             f"takes {param['dtype']} of rank {param['rank']}")
        return tensor

    def scalar(self, name: str, kind: str):
        aliases = {"len_q": "max_len_q", "len_kv": "max_len_kv"}
        value = self.scalars.get(name, self.symbols.get(aliases.get(name, name)))
        if value is None:
            raise ValueError(f"scalar parameter '{name}' has no value")
        return float(value) if kind == "f32" else int(value)


def contiguous(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(math.prod(shape[i + 1:]) for i in range(len(shape)))


def make_map(tensor: Tensor, param: dict) -> TensorMap:
    """As runtime/lib/TensorMaps.cpp makes it: innermost first; a dimension of one element, whose stride
    means nothing, gets one row."""
    size = BYTES[tensor.dtype]
    dims, strides, box = [], [], []
    for i, d in enumerate(reversed(range(len(tensor.shape)))):
        dims.append(tensor.shape[d])
        box.append(param["box"][d])
        row = -(-tensor.shape[-1] * size // 16) * 16
        strides.append(size if i == 0 else tensor.strides[d] * size if tensor.shape[d] > 1 else row)
    return TensorMap(tensor.buffer.address, tuple(dims), tuple(strides), tuple(box), size, param.get("swizzle", 0))
