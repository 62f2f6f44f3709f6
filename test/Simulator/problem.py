"""A problem of a spec: random tensors in the layout of the spec, and what the kernel needs to be told.

Bytes that a kernel must not depend on are poison: keys beyond a sequence's length, pages that no table
names, outputs before the run.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from formats import f32_to_bf16, f32_to_f16, widen
from spec import Spec

MANY = 2**31 - 1


@dataclass
class Array:
    """A logical array in memory: `data` in memory order, `shape` and `strides` (elements) logical."""
    dtype: str
    data: np.ndarray
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    def logical(self) -> np.ndarray:
        """The values in f64 (or integers), in logical order."""
        flat = self.data.reshape(-1)
        if self.dtype in ("bf16", "f16"):
            flat = widen(flat, self.dtype)
        view = np.lib.stride_tricks.as_strided(flat, self.shape, [s * flat.itemsize for s in self.strides])
        return view.astype(np.float64) if view.dtype.kind == "f" else view.copy()


@dataclass
class Shape:
    batch: int = 2
    queries: int = 1
    keys: int = 1
    lens_q: list[int] = field(default_factory=list)
    lens_kv: list[int] = field(default_factory=list)

    @staticmethod
    def parse(text: str) -> "Shape":
        """b=2,sq=5,skv=7"""
        names = {"b": "batch", "sq": "queries", "skv": "keys"}
        shape = Shape()
        for item in filter(None, text.split(",")):
            name, _, value = item.partition("=")
            if name not in names or not value.isdigit():
                raise ValueError(f"'{item}' is not a size; sizes are b=N, sq=N and skv=N")
            setattr(shape, names[name], int(value))
        return shape


class Problem:
    def __init__(self, spec: Spec, shape: Shape, seed: int, scalars: dict[str, float] | None = None):
        self.spec, self.shape = spec, shape
        self.rng = np.random.default_rng(seed)
        self.arrays: dict[str, Array] = {}
        self.pages = 0
        self._choose_lengths()
        self._make_tensors()
        self._make_arguments()
        self.scalars = self._make_scalars(scalars or {})

    @property
    def packed(self) -> bool:
        return self.spec.seq == "varlen"

    def _choose_lengths(self) -> None:
        shape, rng = self.shape, self.rng

        def some(longest: int, count: int) -> list[int]:
            """The longest first, then any; short ones are the interesting ones."""
            return [longest] + [int(rng.integers(0, longest + 1)) for _ in range(count - 1)] if count else []

        shape.lens_q = some(shape.queries, shape.batch) if self.packed else [shape.queries] * shape.batch
        shape.lens_kv = [shape.keys] * shape.batch if self.spec.seq == "dense" else some(shape.keys, shape.batch)

    def _random(self, size: tuple[int, ...], dtype: str) -> np.ndarray:
        values = self.rng.standard_normal(size).astype(np.float32)
        return {"bf16": f32_to_bf16, "f16": f32_to_f16}.get(dtype, lambda v: v)(values)

    def _ordered(self, dtype: str, batch: int, heads: int, tokens: int, dim: int) -> Array:
        """[batch, heads, tokens, dim] in the spec's memory order."""
        swap = self.spec.layout == "bshd"
        memory = (batch, tokens, heads, dim) if swap else (batch, heads, tokens, dim)
        strides = [math.prod(memory[i + 1:]) for i in range(4)]
        if swap:
            strides[1], strides[2] = strides[2], strides[1]
        return Array(dtype, self._random(memory, dtype), (batch, heads, tokens, dim), tuple(strides))

    def _make_tensors(self) -> None:
        spec, shape = self.spec, self.shape
        total_q, total_kv = sum(shape.lens_q), sum(shape.lens_kv)
        rows_q = (1, total_q) if self.packed else (shape.batch, shape.queries)
        self.arrays["q"] = self._ordered(spec.dtype_q, rows_q[0], spec.heads_q, rows_q[1], spec.dim_qk)
        self.arrays["o"] = self._ordered(spec.dtype_o, rows_q[0], spec.heads_q, rows_q[1], spec.dim_v)
        rows_kv = (1, total_kv) if self.packed else (shape.batch, shape.keys)
        if spec.page:
            self.max_pages = -(-shape.keys // spec.page)
            self.pages = shape.batch * self.max_pages + 3
            rows_kv = (self.pages, spec.page)
        for name, dim in (("k", spec.dim_qk), ("v", spec.dim_v)):
            self.arrays[name] = self._ordered(spec.dtype_kv, rows_kv[0], spec.heads_kv, rows_kv[1], dim)
        if spec.page:
            self._make_pages()
        elif spec.seq == "kv_lens":
            for name in ("k", "v"):
                array = self.arrays[name]
                for b, length in enumerate(shape.lens_kv):
                    self._poison(array, b, length)
        if spec.seq == "kv_lens":
            self._plain("kv_lens", "i32", np.array(shape.lens_kv, np.int32))
        if self.packed:
            for name, lens in (("cu_seqlens_q", shape.lens_q), ("cu_seqlens_kv", shape.lens_kv)):
                self._plain(name, "i32", np.cumsum([0, *lens]).astype(np.int32))
        if spec.lse:
            self._plain("lse", "f32", np.zeros((rows_q[0], spec.heads_q, rows_q[1]), np.float32))

    def _poison(self, array: Array, block: int, start: int) -> None:
        """Rows from `start` on of one sequence or page hold NaN."""
        bits = array.data.view(np.uint16 if array.dtype != "f32" else np.uint32)
        view = bits[block] if self.spec.layout == "bhsd" else bits[block].swapaxes(0, 1)
        view[:, start:] = np.iinfo(bits.dtype).max

    def _make_pages(self) -> None:
        spec, shape = self.spec, self.shape
        order = self.rng.permutation(self.pages)
        # Entries beyond a length name no page.
        table = np.full((shape.batch, self.max_pages), 0x7FFFFFF, np.int32)
        used = iter(order)
        named: dict[int, int] = {}
        for b, length in enumerate(shape.lens_kv):
            for p in range(-(-length // spec.page)):
                table[b, p] = page = int(next(used))
                named[page] = min(spec.page, length - p * spec.page)
        for name in ("k", "v"):
            for page in range(self.pages):
                self._poison(self.arrays[name], page, named.get(page, 0))
        self._plain("block_table", "i32", table)

    def _plain(self, name: str, dtype: str, data: np.ndarray) -> None:
        strides = tuple(math.prod(data.shape[i + 1:]) for i in range(data.ndim))
        self.arrays[name] = Array(dtype, data, data.shape, strides)

    def _make_arguments(self) -> None:
        spec, shape, rng = self.spec, self.shape, self.rng
        if spec.sinks:
            self._plain("sinks", "f32", (2 * rng.standard_normal(spec.heads_q)).astype(np.float32))
        if spec.bias:
            size = (shape.batch, spec.heads_q, shape.queries, shape.keys)
            self._plain("bias", spec.bias, self._random(size, spec.bias))
        slopes = [part["alibi"] for part in spec.scores if isinstance(part, dict) and "alibi" in part]
        prefixes = [part["prefix_lm"] for part in spec.masks if isinstance(part, dict) and "prefix_lm" in part]
        documents = [part["document"] for part in spec.masks if isinstance(part, dict) and "document" in part]
        for name, (dtype, extents) in spec.args.items():
            if extents is None:
                continue
            # An open extent: the batch first, then keys, as prefixes and documents are.
            open_ = [shape.batch, shape.keys] if dtype == "i32" else [spec.heads_q, shape.keys]
            size = tuple(e if e is not None else open_[min(i, 1)] for i, e in enumerate(extents))
            if name in slopes:
                data = (2.0 ** (-8 * (np.arange(size[0]) + 1) / size[0])).astype(np.float32)
            elif name in prefixes:
                data = rng.integers(0, shape.keys + 1, size).astype(np.int32)
            elif name in documents:
                data = np.broadcast_to(np.arange(size[1]) * 5 // max(1, size[1]), size).astype(np.int32)
            elif dtype == "i32":
                data = rng.integers(0, 4, size).astype(np.int32)
            elif dtype == "bool":
                data = (rng.random(size) < 0.7).astype(np.uint8)
            else:
                data = self._random(size, dtype)
            self._plain(f"arg.{name}", dtype, data)

    def _make_scalars(self, given: dict[str, float]) -> dict[str, float]:
        scalars = {"scale": 1 / math.sqrt(self.spec.dim_qk)}
        for name, (dtype, extents) in self.spec.args.items():
            if extents is None:
                scalars[f"arg.{name}"] = given.get(name, max(1, self.shape.keys // 3) if dtype == "i32" else 30.0)
        return scalars

    def symbols(self, splits: int, multiprocessors: int) -> dict[str, int]:
        spec, shape = self.spec, self.shape
        symbols = {"batch": shape.batch, "heads_q": spec.heads_q, "heads_kv": spec.heads_kv,
                   "max_len_q": shape.queries, "max_len_kv": shape.keys, "splits": splits,
                   "total_q": sum(shape.lens_q) if self.packed else shape.batch * shape.queries,
                   "total_kv": sum(shape.lens_kv) if self.packed else shape.batch * shape.keys,
                   "multiprocessors": multiprocessors}
        if spec.page:
            symbols |= {"pages": self.pages, "max_pages": self.max_pages, "page_size": spec.page}
        return symbols
