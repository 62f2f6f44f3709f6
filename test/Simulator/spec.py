"""Reads the canonical text of a spec, which every package carries, and evaluates its expressions.

This is no second implementation of the language (docs/Spec.md): the compiler has checked the text.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field

import numpy as np


def parse_flow(text: str):
    """A YAML flow value: {a: 1, b: [x, "y"]}, a number, a word."""
    value, rest = _flow(text.strip())
    if rest.strip():
        raise ValueError(f"'{text}' is not a value")
    return value


def _flow(text: str):
    if text[0] == "{":
        result, rest = {}, text[1:].lstrip()
        while rest[0] != "}":
            name, _, rest = rest.partition(":")
            result[name.strip()], rest = _flow(rest.lstrip())
            rest = rest.lstrip().lstrip(",").lstrip()
        return result, rest[1:]
    if text[0] == "[":
        items, rest = [], text[1:].lstrip()
        while rest[0] != "]":
            item, rest = _flow(rest)
            items.append(item)
            rest = rest.lstrip().lstrip(",").lstrip()
        return items, rest[1:]
    if text[0] in "\"'":
        end = text.index(text[0], 1)
        return text[1:end], text[end + 1:]
    match = re.match(r"[^,{}\[\]]+", text)
    word = match[0].strip()
    rest = text[match.end():]
    for kind in (int, float):
        try:
            return kind(word), rest
        except ValueError:
            pass
    return {"true": True, "false": False}.get(word, word), rest


@dataclass
class Spec:
    kind: str
    heads_q: int
    heads_kv: int
    dim_qk: int
    dim_v: int
    dtype_q: str
    dtype_kv: str
    dtype_o: str
    layout: str
    seq: str  # dense, kv_lens, varlen
    page: int | None
    max_q: int  # of a decode
    masks: list = field(default_factory=list)
    scores: list = field(default_factory=list)
    args: dict = field(default_factory=dict)  # name → (dtype, extents or None for a scalar)
    bias: str | None = None
    sinks: bool = False
    scale: float | None = None
    lse: bool = False

    @staticmethod
    def parse(text: str) -> "Spec":
        keys, block = {}, None
        for line in text.splitlines():
            if not line.strip() or line.lstrip().startswith("#"):
                continue
            if line.startswith((" ", "-")):  # block lists and maps below a key
                item = line.strip()
                if item.startswith("- "):
                    entry = item[2:].strip()
                    keys.setdefault(block, []) if keys.get(block) else keys.__setitem__(block, [])
                    keys[block].append(parse_flow("{" + entry + "}" if re.match(r"\w+:", entry) else entry))
                else:
                    keys[block] = keys.get(block) or {}
                    name, _, value = item.partition(":")
                    keys[block][name] = parse_flow(value)
                continue
            block, _, value = line.partition(":")
            keys[block] = parse_flow(value) if value.strip() else None
        return Spec._of(keys)

    @staticmethod
    def _of(keys: dict) -> "Spec":
        def pair(value, first, second):
            return (value[first], value[second]) if isinstance(value, dict) else (value, value)

        def parts(value):
            return [] if value is None else value if isinstance(value, list) else [value]

        heads = pair(keys["heads"], "q", "kv")
        dims = pair(keys["dim"], "qk", "v")
        dtype = keys["dtype"]
        types = (dtype["q"], dtype["kv"], dtype["o"]) if isinstance(dtype, dict) else (dtype,) * 3
        seq = keys.get("seq") or {}
        lengths = "varlen" if "varlen" in seq else "kv_lens" if seq.get("kv") == "lens" else "dense"
        page = re.fullmatch(r"paged\(page=(\d+)\)", str(keys.get("kv", "")))
        most = str(seq.get("q", 1)).split("..")[-1]
        args = {}
        for name, kind in (keys.get("args") or {}).items():
            if isinstance(kind, dict):
                shape = kind.get("shape") or [None] * kind["rank"]
                args[name] = (kind["tensor"], [s if isinstance(s, int) else None for s in shape])
            else:
                dtype_, _, extents = kind.partition("[")
                args[name] = (dtype_, [int(e) if e.strip().isdigit() else None for e in extents[:-1].split(",")]
                              if extents else None)
        return Spec(keys["kind"], *heads, *dims, *types, keys.get("layout", "bshd"), lengths,
                    int(page[1]) if page else None, int(most), parts(keys.get("mask")), parts(keys.get("score")),
                    args, keys.get("bias"), bool(keys.get("sinks", False)), keys.get("scale"),
                    "lse" in parts(keys.get("out")))


class Expression:
    """An expression of the language on arrays."""

    FUNCTIONS = {"abs": np.abs, "exp": np.exp, "exp2": np.exp2, "log": np.log, "log2": np.log2, "sqrt": np.sqrt,
                 "tanh": np.tanh, "floor": np.floor, "where": np.where,
                 "int": lambda x: np.trunc(x).astype(np.int64), "float": lambda x: np.asarray(x, np.float64),
                 "min": lambda *items: np.minimum.reduce(np.broadcast_arrays(*items)),
                 "max": lambda *items: np.maximum.reduce(np.broadcast_arrays(*items))}
    BINARY = {ast.Add: np.add, ast.Sub: np.subtract, ast.Mult: np.multiply, ast.Div: np.true_divide,
              ast.FloorDiv: np.floor_divide, ast.Mod: np.mod}
    COMPARE = {ast.Lt: np.less, ast.LtE: np.less_equal, ast.Gt: np.greater, ast.GtE: np.greater_equal,
               ast.Eq: np.equal, ast.NotEq: np.not_equal}

    def __init__(self, text: str):
        text = re.sub(r"\btrue\b", "True", re.sub(r"\bfalse\b", "False", text))
        self.tree = ast.parse(text.strip(), mode="eval").body

    def __call__(self, names: dict):
        return self._evaluate(self.tree, names)

    def _evaluate(self, node, names):
        def value(child):
            return self._evaluate(child, names)

        match node:
            case ast.Constant():
                return node.value
            case ast.Name():
                return names[node.id]
            case ast.BinOp():
                return self.BINARY[type(node.op)](value(node.left), value(node.right))
            case ast.UnaryOp(op=ast.Not()):
                return np.logical_not(value(node.operand))
            case ast.UnaryOp():
                return np.negative(value(node.operand))
            case ast.BoolOp():
                combine = np.logical_and if isinstance(node.op, ast.And) else np.logical_or
                return combine.reduce(np.broadcast_arrays(*map(value, node.values)))
            case ast.Compare():
                return self.COMPARE[type(node.ops[0])](value(node.left), value(node.comparators[0]))
            case ast.IfExp():
                return np.where(value(node.test), value(node.body), value(node.orelse))
            case ast.Call():
                return self.FUNCTIONS[node.func.id](*map(value, node.args))
            case ast.Subscript():
                index = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
                return value(node.value)[tuple(np.asarray(value(i)) for i in index)]
        raise ValueError(f"{ast.dump(node)} is not in the language")
