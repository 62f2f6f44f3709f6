"""Arithmetic instructions as numpy source text.

`emit(instruction, mask, scope)` gives Python statements on one warp's registers. A register is a row
of 32 lanes; the text reaches it by its type, `F[3]` being row 3 of the 32-bit file seen as f32 (see
`VIEWS`). With a mask, the result is merged into the lanes that it names. The text of a run of
instructions is compiled to one function (program.py): that is what makes the simulator fast enough
for whole tiles.
"""

from __future__ import annotations

import numpy as np

from ptx import Immediate, Instruction, Operand, PtxError, Register, Sink, Special, Symbol, Vector

LANES = 32

# PTX type → (name of the list of rows, numpy type)
VIEWS = {"u16": ("UH", np.uint16), "b16": ("UH", np.uint16), "s16": ("SH", np.int16), "f16": ("H", np.float16),
         "bf16": ("UH", np.uint16),
         "u32": ("U", np.uint32), "b32": ("U", np.uint32), "s32": ("S", np.int32), "f32": ("F", np.float32),
         "f16x2": ("U", np.uint32), "bf16x2": ("U", np.uint32),
         "u64": ("UQ", np.uint64), "b64": ("UQ", np.uint64), "s64": ("SQ", np.int64), "f64": ("D", np.float64),
         "pred": ("P", np.bool_)}
BITS = {1: "pred", 16: "b16", 32: "b32", 64: "b64"}
ROUNDINGS = {"rn", "rz", "rm", "rp", "rna", "rni", "rzi", "rmi", "rpi"}

# Those that are one ufunc of their operands, by opcode without modifiers.
UFUNCS = {
    "add": "np.add", "sub": "np.subtract", "and": "np.bitwise_and", "or": "np.bitwise_or",
    "xor": "np.bitwise_xor", "not": "np.invert", "neg": "np.negative", "abs": "np.absolute",
    "shl": "np.left_shift", "shr": "np.right_shift", "min": "np.minimum", "max": "np.maximum",
    "sqrt": "np.sqrt", "tanh": "np.tanh", "sin": "np.sin", "cos": "np.cos",
}
COMPARISONS = {"eq": "np.equal", "ne": "np.not_equal", "lt": "np.less", "le": "np.less_equal",
               "gt": "np.greater", "ge": "np.greater_equal", "lo": "np.less", "ls": "np.less_equal",
               "hi": "np.greater", "hs": "np.greater_equal"}
# Unordered comparisons are true of a NaN: the opposite, negated.
UNORDERED = {"equ": "ne", "neu": "eq", "ltu": "ge", "leu": "gt", "gtu": "le", "geu": "lt"}


class Scope:
    """Constants of the generated code, by the names that the code calls them."""

    def __init__(self, symbols: dict[str, int]):
        self.symbols = symbols
        self.values: dict[str, object] = {}
        self.names: dict[tuple[str, bytes], str] = {}

    def array(self, value: np.ndarray) -> str:
        key = (value.dtype.str, value.tobytes())
        if key not in self.names:
            self.names[key] = f"K{len(self.names)}"
            self.values[self.names[key]] = value
        return self.names[key]

    def object(self, value: object) -> str:
        name = f"X{len(self.values)}"
        self.values[name] = value
        return name


def read(operand: Operand, kind: str, scope: Scope, instruction: Instruction) -> str:
    """Text for an operand seen as `kind`."""
    view, dtype = VIEWS[kind]
    if isinstance(operand, Register):
        width = 1 if kind == "pred" else np.dtype(dtype).itemsize * 8
        if operand.width != width:
            raise PtxError(f"{instruction.where}: {operand.name} has {operand.width} bits; .{kind} needs {width}")
        return f"{view}[{operand.index}]"
    if isinstance(operand, Immediate):
        if kind == "pred":
            return scope.array(np.full(LANES, bool(operand.bits)))
        size = np.dtype(dtype).itemsize
        bits = (operand.bits & ((1 << 8 * size) - 1)).to_bytes(size, "little")
        return scope.array(np.frombuffer(bits * LANES, dtype))
    if isinstance(operand, Special):
        return f"warp.special({operand.name!r})"
    if isinstance(operand, Symbol):
        if operand.name not in scope.symbols:
            raise PtxError(f"{instruction.where}: '{operand.name}' is not known")
        return scope.array(np.full(LANES, scope.symbols[operand.name], dtype))
    raise PtxError(f"{instruction.where}: operand {operand} cannot be read as .{kind}")


def assign(target: Operand, kind: str, expression: str, mask: str | None) -> str:
    if isinstance(target, Sink):
        return "pass"
    assert isinstance(target, Register)
    row = f"{VIEWS[kind][0]}[{target.index}]"
    where = "" if mask is None else f", where={mask}"
    return f"np.copyto({row}, {expression}, casting='unsafe'{where})"


def check_width(instruction: Instruction, register: Operand, kind: str) -> None:
    if isinstance(register, Register):
        width = 1 if kind == "pred" else np.dtype(VIEWS[kind][1]).itemsize * 8
        if register.width != width:
            raise PtxError(f"{instruction.where}: {register.name} has {register.width} bits; the result has {width}")


def emit(instruction: Instruction, mask: str | None, scope: Scope) -> list[str] | None:
    """Statements for an arithmetic instruction, or None where it is of another class."""
    opcode = instruction.opcode
    parts = [part for part in opcode[1:] if part not in ROUNDINGS and part not in ("ftz", "approx", "full", "uni")]
    if any(rounding in opcode for rounding in ("rz", "rm", "rp", "rna")):
        return None
    operands = instruction.operands

    def args(kind: str, first: int = 1) -> list[str]:
        return [read(item, kind, scope, instruction) for item in operands[first:]]

    def result(kind: str, expression: str) -> list[str]:
        check_width(instruction, operands[0], kind)
        return [assign(operands[0], kind, expression, mask)]

    def ufunc(name: str, kind: str, texts: list[str]) -> list[str]:
        """Writes in place where nothing is merged."""
        check_width(instruction, operands[0], kind)
        if mask is None and isinstance(operands[0], Register):
            return [f"{name}({', '.join(texts)}, out={VIEWS[kind][0]}[{operands[0].index}])"]
        return result(kind, f"{name}({', '.join(texts)})")

    name = opcode[0]
    if name == "mov":
        return _mov(instruction, mask, scope)
    if name == "cvta":
        return result(parts[-1], args(parts[-1])[0])
    if name == "cvt":
        return _cvt(instruction, parts, mask, scope)
    if name == "setp":
        return _setp(instruction, parts, mask, scope)
    kind = parts[-1] if parts else ""
    if kind not in VIEWS or kind in ("f16x2", "bf16x2", "bf16", "f16", "f64"):
        return None
    modifiers = parts[:-1]
    if name == "selp":
        a, b = (read(item, kind, scope, instruction) for item in operands[1:3])
        return result(kind, f"np.where({read(operands[3], 'pred', scope, instruction)}, {a}, {b})")
    if kind == "f32" and not modifiers:
        special = {"fma": "fma", "ex2": "exp2", "lg2": "log2", "rcp": "reciprocal", "rsqrt": "rsqrt"}.get(name)
        if special:
            return result(kind, f"{special}({', '.join(args(kind))})")
        if name in ("min", "max"):
            return ufunc("np.fmin" if name == "min" else "np.fmax", kind, args(kind))
        if name == "copysign":  # the sign of a, the magnitude of b
            a, b = args(kind)
            return result(kind, f"np.copysign({b}, {a})")
        if name == "mul":
            return ufunc("np.multiply", kind, args(kind))
        if name == "div":
            return ufunc("np.divide", kind, args(kind))
        return ufunc(UFUNCS[name], kind, args(kind)) if name in UFUNCS else None
    if kind == "f32":
        if modifiers == ["NaN"] and name in ("min", "max"):
            return ufunc(UFUNCS[name], kind, args(kind))
        return None
    return _integer(instruction, name, kind, modifiers, args, result, ufunc, scope)


def _integer(instruction, name, kind, modifiers, args, result, ufunc, scope) -> list[str] | None:
    operands = instruction.operands
    signed = kind[0] == "s"
    if modifiers == ["lo"] and name in ("mul", "mad"):
        texts = args(kind)
        return ufunc("np.multiply", kind, texts) if name == "mul" else \
            result(kind, f"{texts[0]} * {texts[1]} + {texts[2]}")
    if modifiers == ["hi"] and name == "mul" and kind in ("u32", "s32"):
        return result(kind, f"multiply_high({', '.join(args(kind))})")
    if modifiers == ["wide"] and name in ("mul", "mad") and kind in ("u32", "s32", "u16", "s16"):
        wide = {"u32": "u64", "s32": "s64", "u16": "u32", "s16": "s32"}[kind]
        a, b = (read(item, kind, scope, instruction) for item in operands[1:3])
        product = f"np.multiply({a}, {b}, dtype=np.{np.dtype(VIEWS[wide][1]).name})"
        if name == "mad":
            product += " + " + read(operands[3], wide, scope, instruction)
        return result(wide, product)
    if modifiers == ["relu"] and name in ("min", "max") and kind == "s32":
        return result(kind, f"np.maximum({UFUNCS[name]}({', '.join(args(kind))}), 0)")
    if modifiers:
        return None
    if name in ("div", "rem"):
        function = {"div": "divide", "rem": "remainder"}[name] + ("_signed" if signed else "_unsigned")
        return result(kind, f"{function}({', '.join(args(kind))})")
    if name == "bfe":
        if kind not in ("u32", "s32"):
            return None
        rest = [read(item, "u32", scope, instruction) for item in operands[2:4]]
        return result(kind, f"bit_field({read(operands[1], kind, scope, instruction)}, {', '.join(rest)})")
    if name in ("shl", "shr"):
        # The amount is always u32; shifts of the width and more clear (or fill) in numpy too.
        amount = read(operands[2], "u32", scope, instruction)
        dtype = VIEWS[kind][1]
        if dtype != np.uint32:
            amount = f"np.minimum({amount}, 255).astype(np.{np.dtype(dtype).name})"
        return ufunc(UFUNCS[name], kind, [read(operands[1], kind, scope, instruction), amount])
    if name == "not" and kind == "pred":
        return ufunc("np.logical_not", kind, args(kind))
    if name in UFUNCS and name not in ("sqrt", "tanh", "sin", "cos"):
        return ufunc(UFUNCS[name], kind, args(kind))
    return None


def _mov(instruction: Instruction, mask: str | None, scope: Scope) -> list[str] | None:
    kind = instruction.opcode[-1]
    target, source = instruction.operands
    if kind not in VIEWS:
        return None
    if isinstance(source, Vector):  # packs, the first item lowest
        dtype = VIEWS[kind][1]
        width = np.dtype(dtype).itemsize * 8 // len(source.items)
        texts = [f"{read(item, BITS[width], scope, instruction)}.astype(np.{np.dtype(dtype).name})"
                 + (f" << {width * i}" if i else "") for i, item in enumerate(source.items)]
        return [assign(target, kind, " | ".join(f"({text})" for text in texts), mask)]
    if isinstance(target, Vector):
        width = np.dtype(VIEWS[kind][1]).itemsize * 8 // len(target.items)
        text = read(source, kind, scope, instruction)
        lines = [f"whole = {text}.copy()"]
        for i, item in enumerate(target.items):
            lines.append(assign(item, BITS[width], f"whole >> {width * i}" if i else "whole", mask))
        return lines
    check_width(instruction, target, kind)
    return [assign(target, kind, read(source, kind, scope, instruction), mask)]


def _cvt(instruction: Instruction, parts: list[str], mask: str | None, scope: Scope) -> list[str] | None:
    operands = instruction.operands
    rounding = [part for part in instruction.opcode[1:] if part in ROUNDINGS]
    if len(parts) != 2:
        return None
    to, source = parts
    check_width(instruction, operands[0], to)
    texts = [read(item, source, scope, instruction) for item in operands[1:]]
    if source == "f32" and to in ("bf16x2", "f16x2") and rounding == ["rn"]:
        high, low = (f"narrow({text}, '{to[:-2]}')" for text in texts)
        return [assign(operands[0], to, f"pack({high}, {low})", mask)]
    if source == "f32" and to in ("bf16", "f16") and rounding == ["rn"]:
        return [assign(operands[0], "b16", f"narrow({texts[0]}, '{to}')", mask)]
    if to == "f32" and source in ("bf16", "f16"):
        text = read(operands[1], "b16", scope, instruction)
        return [assign(operands[0], to, f"widen({text}, '{source}')", mask)]
    integer = {"u16", "s16", "u32", "s32", "u64", "s64"}
    if to in integer and source in integer:
        return [assign(operands[0], to, texts[0], mask)]
    if to == "f32" and source in integer:
        return [assign(operands[0], to, texts[0], mask)] if rounding == ["rn"] else None
    if source == "f32" and to in ("s32", "u32") and rounding == ["rzi"]:
        return [assign(operands[0], to, f"to_integer({texts[0]}, np.{np.dtype(VIEWS[to][1]).name})", mask)]
    if source == "f32" and to == "f32":
        function = {"rni": "np.rint", "rmi": "np.floor", "rpi": "np.ceil", "rzi": "np.trunc"}
        if len(rounding) == 1 and rounding[0] in function:
            return [assign(operands[0], to, f"{function[rounding[0]]}({texts[0]})", mask)]
    return None


def _setp(instruction: Instruction, parts: list[str], mask: str | None, scope: Scope) -> list[str] | None:
    comparison, kind = parts[0], parts[-1]
    operands = instruction.operands
    if kind not in VIEWS or len(parts) > 3:
        return None
    a, b = (read(item, kind, scope, instruction) for item in operands[1:3])
    if comparison in UNORDERED and kind == "f32":
        text = f"~{COMPARISONS[UNORDERED[comparison]]}({a}, {b})"
    elif comparison in ("nan", "num") and kind == "f32":
        text = f"{'' if comparison == 'nan' else '~'}(np.isnan({a}) | np.isnan({b}))"
    elif comparison in COMPARISONS:
        text = f"{COMPARISONS[comparison]}({a}, {b})"
        if comparison == "ne" and kind == "f32":  # ordered: false of a NaN
            text += f" & ({a} == {a}) & ({b} == {b})"
    else:
        return None
    if len(parts) == 3:
        other = read(operands[3], "pred", scope, instruction)
        combine = {"and": "&", "or": "|", "xor": "^"}.get(parts[1])
        if combine is None:
            return None
        text = f"({text}) {combine} {other}"
    return [assign(operands[0], "pred", text, mask)]
