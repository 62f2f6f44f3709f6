"""Reads the PTX of one module: kernels, their parameters, registers and instructions.

Only what `attnc` emits is read; anything else is a `PtxError` with its line. Registers are resolved
here: each name in each scope becomes a `Register` with a width and a row in the register file of that
width, so that nothing later deals in names. Scopes are the `{ … }` blocks of inline assembly, which
declare registers and labels of their own.
"""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass, field
from typing import Union

WIDTHS = {"pred": 1, "b8": 8, "u8": 8, "s8": 8, "b16": 16, "u16": 16, "s16": 16, "f16": 16, "bf16": 16,
          "b32": 32, "u32": 32, "s32": 32, "f32": 32, "f16x2": 32, "bf16x2": 32,
          "b64": 64, "u64": 64, "s64": 64, "f64": 64}
SPECIAL = {"tid.x", "tid.y", "tid.z", "ntid.x", "ntid.y", "ntid.z", "ctaid.x", "ctaid.y", "ctaid.z", "nctaid.x",
           "nctaid.y", "nctaid.z", "laneid", "warpid", "clusterid.x", "cluster_ctarank", "cluster_nctarank"}


class PtxError(Exception):
    """The text is not PTX that this simulator knows."""


@dataclass(frozen=True)
class Register:
    width: int  # bits; 1 for a predicate
    index: int  # row in the register file of that width
    name: str


@dataclass(frozen=True)
class Immediate:
    bits: int  # two's complement in 64 bits; a float literal's bits
    is_float: bool = False


@dataclass(frozen=True)
class Special:
    name: str  # tid.x, ctaid.x, …


@dataclass(frozen=True)
class Symbol:
    name: str  # a parameter, a shared variable or a label


@dataclass(frozen=True)
class Vector:
    items: tuple["Operand", ...]


@dataclass(frozen=True)
class Address:
    base: "Operand"
    offset: int = 0
    coordinates: tuple["Operand", ...] | None = None  # of a tensor map


@dataclass(frozen=True)
class Sink:
    """The `_` of an instruction whose result nobody wants."""


Operand = Union[Register, Immediate, Special, Symbol, Vector, Address, Sink]


@dataclass(eq=False)
class Instruction:
    opcode: tuple[str, ...]  # split at the dots
    operands: tuple[Operand, ...]
    guard: Register | None
    guard_negated: bool
    line: int
    text: str

    @property
    def name(self) -> str:
        return ".".join(self.opcode)

    @property
    def where(self) -> str:
        return f"line {self.line}: {self.text if len(self.text) < 160 else self.text[:157] + '…'}"


@dataclass
class Parameter:
    name: str
    offset: int
    size: int


@dataclass
class Kernel:
    name: str
    parameters: list[Parameter]
    instructions: list[Instruction] = field(default_factory=list)
    labels: dict[str, int] = field(default_factory=dict)  # scoped name → instruction index
    register_counts: dict[int, int] = field(default_factory=dict)  # width → rows
    max_threads: int | None = None

    @property
    def parameter_bytes(self) -> int:
        return max((p.offset + p.size for p in self.parameters), default=0)


@dataclass
class Module:
    target: str
    kernels: dict[str, Kernel]
    shared: dict[str, int]  # shared variables → bytes, 0 for the dynamic one


class _Scope:
    def __init__(self, name: str):
        self.name = name
        self.registers: dict[str, Register] = {}
        self.ranges: dict[str, tuple[int, int]] = {}  # prefix → (width, count)
        self.labels: set[str] = set()


class _Body:
    """Turns the text between a kernel's braces into instructions."""

    def __init__(self, kernel: Kernel):
        self.kernel = kernel
        self.scopes = [_Scope("")]
        self.scope_count = 0
        # Labels may be used before their definition, so branches are bound at the end.
        self.scope_of: list[list[_Scope]] = []

    def read(self, text: str, line: int) -> None:
        statement, start, depth = "", line, 0
        position = 0
        while position < len(text):
            char = text[position]
            position += 1
            if char == "\n":
                line += 1
            if not statement:
                if char.isspace():
                    continue
                start = line
                if char == "{":
                    self.scope_count += 1
                    self.scopes.append(_Scope(f"{self.scope_count}:"))
                    continue
                if char == "}":
                    self.scopes.pop()
                    continue
            if char in "{[":
                depth += 1
            elif char in "}]":
                depth -= 1
            if char == ";" and depth == 0:
                self.statement(" ".join(statement.split()), start)
                statement = ""
            elif char == ":" and re.fullmatch(r"[\w$]+", statement) and text[position:position + 1] != ":":
                self.label(statement, start)
                statement = ""
            else:
                statement += char
        if statement.strip():
            raise PtxError(f"line {start}: '{statement.strip()}' has no end")
        self.bind_labels()

    def label(self, name: str, line: int) -> None:
        scope = self.scopes[-1]
        if name in scope.labels:
            raise PtxError(f"line {line}: label '{name}' is defined twice")
        scope.labels.add(name)
        self.kernel.labels[scope.name + name] = len(self.kernel.instructions)

    def statement(self, text: str, line: int) -> None:
        if text.startswith(".reg"):
            self.declare(text, line)
            return
        if text.split()[0] in (".pragma", ".loc"):
            return
        if text.startswith("."):
            raise PtxError(f"line {line}: directive '{text}' is not known to this simulator")
        guard, negated, rest = None, False, text
        if match := re.match(r"@(!?)([%\w$]+)\s+(.*)", text):
            negated, rest = bool(match[1]), match[3]
            guard = self.register(match[2])
            if guard is None:
                raise PtxError(f"line {line}: guard '{match[2]}' is not a register")
        opcode, _, arguments = rest.partition(" ")
        operands = tuple(self.operand(item, line) for item in split_operands(arguments))
        self.kernel.instructions.append(
            Instruction(tuple(opcode.split(".")), operands, guard, negated, line, text))
        self.scope_of.append(list(self.scopes))

    def declare(self, text: str, line: int) -> None:
        match = re.fullmatch(r"\.reg\s+\.(\w+)\s+(.*)", text)
        if not match or match[1] not in WIDTHS:
            raise PtxError(f"line {line}: '{text}' is not a declaration of registers")
        width, scope = WIDTHS[match[1]], self.scopes[-1]
        for name in (item.strip() for item in match[2].split(",")):
            if ranged := re.fullmatch(r"([%\w$]+)<(\d+)>", name):
                scope.ranges[ranged[1]] = (width, int(ranged[2]))
            else:
                scope.registers[name] = self.allocate(width, name)

    def allocate(self, width: int, name: str) -> Register:
        counts = self.kernel.register_counts
        index = counts.get(width, 0)
        counts[width] = index + 1
        return Register(width, index, name)

    def register(self, name: str) -> Register | None:
        match = re.fullmatch(r"([%\w$]*?\D)(\d+)", name)
        for scope in reversed(self.scopes):
            if name in scope.registers:
                return scope.registers[name]
            if match and match[1] in scope.ranges:
                width, count = scope.ranges[match[1]]
                if int(match[2]) < count:
                    scope.registers[name] = self.allocate(width, name)
                    return scope.registers[name]
        return None

    def operand(self, text: str, line: int) -> Operand:
        if text == "_":
            return Sink()
        if text.startswith("{"):
            return Vector(tuple(self.operand(item, line) for item in split_operands(text[1:-1])))
        if text.startswith("["):
            parts = split_operands(text[1:-1])
            match = re.fullmatch(r"([%\w$]+)\s*(?:\+\s*(-?\d+))?", parts[0])
            if not match:
                raise PtxError(f"line {line}: '{text}' is not an address")
            offset = int(match[2] or 0)
            coordinates = None
            if len(parts) == 2:
                vector = self.operand(parts[1], line)
                if not isinstance(vector, Vector):
                    raise PtxError(f"line {line}: '{text}' is not an address")
                coordinates = vector.items
            elif len(parts) > 2:
                raise PtxError(f"line {line}: '{text}' is not an address")
            return Address(self.operand(match[1], line), offset, coordinates)
        if register := self.register(text):
            return register
        if "|" in text:  # a pair of results
            return Vector(tuple(self.operand(item.strip(), line) for item in text.split("|")))
        if text.startswith("%"):
            if text[1:] not in SPECIAL:
                raise PtxError(f"line {line}: special register '{text}' is not known to this simulator")
            return Special(text[1:])
        if immediate := parse_immediate(text):
            return immediate
        if re.fullmatch(r"[\w$]+", text):
            return Symbol(text)
        raise PtxError(f"line {line}: operand '{text}' is not known to this simulator")

    def bind_labels(self) -> None:
        """Gives branches the scoped names of their targets."""
        for instruction, scopes in zip(self.kernel.instructions, self.scope_of):
            if instruction.opcode[0] != "bra":
                continue
            target = instruction.operands[0]
            assert isinstance(target, Symbol)
            for scope in reversed(scopes):
                if target.name in scope.labels:
                    instruction.operands = (Symbol(scope.name + target.name),)
                    break
            else:
                raise PtxError(f"{instruction.where}: no label '{target.name}' in scope")


def parse_immediate(text: str) -> Immediate | None:
    """A literal: 12, -1, 0x7F, 0f3F800000 (f32 bits), 0d… (f64 bits), 1.5."""
    mask = (1 << 64) - 1
    if match := re.fullmatch(r"0[fF]([0-9a-fA-F]{8})|0[dD]([0-9a-fA-F]{16})", text):
        return Immediate(int(match[1] or match[2], 16), True)
    if re.fullmatch(r"-?\d+", text):
        return Immediate(int(text) & mask)
    if re.fullmatch(r"-?0[xX][0-9a-fA-F]+U?", text):
        return Immediate(int(text.rstrip("U"), 16) & mask)
    if re.fullmatch(r"-?\d+\.\d*(e[+-]?\d+)?", text):
        return Immediate(struct.unpack("<I", struct.pack("<f", float(text)))[0], True)
    return None


def split_operands(text: str) -> list[str]:
    """Splits at the commas that are in no bracket."""
    items, depth, item = [], 0, ""
    for char in text:
        depth += (char in "{[(") - (char in "}])")
        if char == "," and depth == 0:
            items.append(item.strip())
            item = ""
        else:
            item += char
    if item.strip():
        items.append(item.strip())
    return items


def parse_parameters(text: str, line: int) -> list[Parameter]:
    """Lays the parameters out as the driver does: in order, each at its alignment."""
    parameters, offset = [], 0
    for item in split_operands(" ".join(text.split())):
        words = item.split()
        match = re.fullmatch(r"(\w+)(?:\[(\d+)\])?", words[-1])
        kind = next((w[1:] for w in words[1:-1] if w[1:] in WIDTHS), None)
        if words[0] != ".param" or not match or kind is None:
            raise PtxError(f"line {line}: '{item}' is not a parameter")
        size = WIDTHS[kind] // 8
        align = size
        if match[2]:  # the .align of a pointer is its target's, that of an array its own
            size *= int(match[2])
            align = int(words[words.index(".align") + 1]) if ".align" in words else align
        offset = (offset + align - 1) // align * align
        parameters.append(Parameter(match[1], offset, size))
        offset += size
    return parameters


def parse(text: str) -> Module:
    """Reads a module. Raises PtxError for what it does not know."""
    text = re.sub(r"//[^\n]*", "", text)
    target = re.search(r"\.target\s+(\w+)", text)
    if not target:
        raise PtxError("the module has no .target")
    shared = {m[1]: int(m[2] or 0)
              for m in re.finditer(r"\.shared\s+(?:\.align\s+\d+\s+)?\.b8\s+(\w+)\[(\d*)\]", text)}
    module = Module(target[1], {}, shared)
    for match in re.finditer(r"\.visible\s+\.entry\s+(\w+)\s*\(([^)]*)\)([^{]*)\{", text):
        line = text.count("\n", 0, match.start()) + 1
        kernel = Kernel(match[1], parse_parameters(match[2], line))
        if limit := re.search(r"\.(?:max|req)ntid\s+(\d+)", match[3]):
            kernel.max_threads = int(limit[1])
        end, depth = match.end(), 1
        while depth:
            depth += {"{": 1, "}": -1}.get(text[end], 0)
            end += 1
        _Body(kernel).read(text[match.end():end - 1], text.count("\n", 0, match.end()) + 1)
        module.kernels[kernel.name] = kernel
    if not module.kernels:
        raise PtxError("the module has no .visible .entry")
    return module
