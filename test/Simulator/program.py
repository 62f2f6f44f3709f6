"""Cuts a kernel into segments that run without interruption, and compiles them.

A segment is a run of instructions that no branch enters in the middle, a single branch, or a single
instruction that may block or that needs the warp's lanes together. Runs are compiled to one Python
function (see arithmetic.py), once for whole warps and once for parts of one; operations that are not
arithmetic are closures made by the factories that `operation` registers.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Callable

import numpy as np

import formats
from arithmetic import LANES, Scope, VIEWS, emit, read
from ptx import (Address, Immediate, Instruction, Kernel, Operand, PtxError, Register, Special, Symbol, Vector)

# Opcodes whose first operand is not a result.
NO_RESULT = {"st", "bra", "bar", "barrier", "cp", "fence", "membar", "ret", "exit", "red", "setmaxnreg",
             "stmatrix", "wgmma", "nanosleep", "griddepcontrol", "prefetch", "trap"}
MAX_RUN = 400  # instructions of one compiled function; longer ones compile slowly

# run(warp, mask) for plain operations; run(warp, group, mask) for synchronising ones, which return None
# when done or a Wait.
Run = Callable[..., object]


@dataclass
class Wait:
    """Why a group of lanes stands still, and how to know that it may try again."""
    ready: Callable[[], bool]
    reason: str


@dataclass
class Operation:
    run: Run
    sync: bool = False  # may block, or needs lanes together: gets a segment of its own
    # The lanes that must arrive together: None for no such rule, else a function of the warp and mask.
    together: Callable[..., np.ndarray] | None = None


@dataclass(eq=False)
class Segment:
    kind: str  # run, branch, sync, end
    instructions: list[Instruction]
    touched: frozenset[int] = frozenset()
    written: frozenset[int] = frozenset()
    target: int = -1  # of a branch, as a segment
    operation: Operation | None = None
    whole: Callable[..., None] | None = None
    partial: Callable[..., None] | None = None
    executed: int = 0


Factory = Callable[[Instruction, "Context"], "Operation | None"]
_FACTORIES: dict[str, Factory] = {}


def operation(*prefixes: str) -> Callable[[Factory], Factory]:
    """Registers the factory of every instruction whose name starts with one of the prefixes."""
    def register(factory: Factory) -> Factory:
        for prefix in prefixes:
            _FACTORIES[prefix] = factory
        return factory
    return register


@dataclass
class Context:
    """What factories may know: the kernel and its symbols."""
    kernel: Kernel
    scope: Scope
    uses_wgmma: bool = False

    def value(self, operand: Operand, kind: str, instruction: Instruction) -> Callable[..., np.ndarray]:
        """A function of the warp that gives an operand's 32 lanes."""
        if isinstance(operand, Register):
            text = read(operand, kind, self.scope, instruction)  # checks the width
            view, index = text[:text.index("[")], operand.index
            return lambda warp: getattr(warp, view)[index]
        if isinstance(operand, Special):
            name = operand.name
            return lambda warp: warp.special(name)
        constant = self.scope.values[read(operand, kind, self.scope, instruction)]
        return lambda warp: constant

    def address(self, operand: Operand, instruction: Instruction) -> Callable[..., np.ndarray]:
        """A function of the warp that gives an address operand's 32 addresses as int64."""
        if not isinstance(operand, Address):
            raise PtxError(f"{instruction.where}: '{operand}' is not an address")
        base, offset = operand.base, operand.offset
        kind = "u32" if isinstance(base, Register) and base.width == 32 else "u64"
        get = self.value(base, kind, instruction)
        return lambda warp: get(warp).astype(np.int64) + offset


def key(register: Register) -> int:
    return register.width << 24 | register.index


def registers(operand: Operand | None) -> list[Register]:
    if isinstance(operand, Register):
        return [operand]
    if isinstance(operand, Vector):
        return [r for item in operand.items for r in registers(item)]
    if isinstance(operand, Address):
        items = registers(operand.base)
        return items + [r for item in operand.coordinates or () for r in registers(item)]
    return []


def written(instruction: Instruction) -> list[Register]:
    if instruction.opcode[0] in NO_RESULT or not instruction.operands:
        return []
    if instruction.opcode[0] == "mbarrier" and isinstance(instruction.operands[0], Address):
        return []
    return registers(instruction.operands[0])


def touched(instruction: Instruction) -> list[Register]:
    items = [r for operand in instruction.operands for r in registers(operand)]
    return items + ([instruction.guard] if instruction.guard else [])


def find_factory(instruction: Instruction) -> Factory | None:
    for length in range(len(instruction.opcode), 0, -1):
        if factory := _FACTORIES.get(".".join(instruction.opcode[:length])):
            return factory
    return None


class Program:
    """A kernel ready to run: segments, entered at their number."""

    def __init__(self, kernel: Kernel, symbols: dict[str, int]):
        self.kernel = kernel
        self.scope = Scope(symbols)
        self.context = Context(kernel, self.scope, any(i.opcode[0] == "wgmma" for i in kernel.instructions))
        self.segments: list[Segment] = []
        self._build()

    def _build(self) -> None:
        instructions = self.kernel.instructions
        entries = set(self.kernel.labels.values())
        start_of: dict[int, int] = {}
        run: list[Instruction] = []

        def close() -> None:
            if run:
                self.segments.append(self._segment("run", list(run)))
                run.clear()

        for index, instruction in enumerate(instructions):
            if index in entries or len(run) >= MAX_RUN:
                close()
            if not run:
                start_of[index] = len(self.segments)
            name = instruction.opcode[0]
            if name in ("bra", "ret", "exit"):
                close()
                start_of[index] = len(self.segments)
                self.segments.append(self._segment("branch" if name == "bra" else "end", [instruction]))
                continue
            made = None
            if factory := find_factory(instruction):
                made = factory(instruction, self.context)
            if made and made.sync:
                close()
                start_of[index] = len(self.segments)
                segment = self._segment("sync", [instruction])
                segment.operation = made
                self.segments.append(segment)
                continue
            if made is None and emit(instruction, None, self.scope) is None:
                raise PtxError(f"{instruction.where}: instruction '{instruction.name}' is not known to this simulator")
            instruction.operation = made  # type: ignore[attr-defined]
            run.append(instruction)
        close()
        for segment in self.segments:
            if segment.kind == "branch":
                label = segment.instructions[0].operands[0]
                assert isinstance(label, Symbol)
                target = self.kernel.labels[label.name]
                segment.target = start_of.get(target, len(self.segments))

    def _segment(self, kind: str, items: list[Instruction]) -> Segment:
        return Segment(kind, items,
                       frozenset(key(r) for i in items for r in touched(i)),
                       frozenset(key(r) for i in items for r in written(i)))

    def compiled(self, segment: Segment, whole: bool) -> Callable[..., None]:
        """The function of a run: f(warp, mask), the mask unused for a whole warp."""
        known = segment.whole if whole else segment.partial
        if known is None:
            known = self._compile(segment, whole)
            if whole:
                segment.whole = known
            else:
                segment.partial = known
        return known

    def _compile(self, segment: Segment, whole: bool) -> Callable[..., None]:
        lines = []
        for instruction in segment.instructions:
            mask = None if whole else "mask"
            if instruction.guard:
                guard = f"{'~' if instruction.guard_negated else ''}P[{instruction.guard.index}]"
                lines.append(f"active = {guard}" if whole else f"active = mask & {guard}")
                mask = "active"
            made = instruction.operation  # type: ignore[attr-defined]
            if made:
                call = f"{self.scope.object(made.run)}(warp, {mask})"
                place = self.scope.object(instruction)
                lines.append(f"warp.at = {place}")
                lines.append(f"if active.any(): {call}" if mask == "active" else call)
            else:
                emitted = emit(instruction, mask, self.scope)
                assert emitted is not None
                lines.extend(emitted)
        views = sorted({view for view, _ in VIEWS.values()})
        body = "\n ".join([f"{view} = warp.{view}" for view in views] + lines)
        source = f"def run(warp, mask):\n {body}\n"
        namespace = {"np": np, **vars(formats), **self.scope.values}
        exec(compile(source, f"<{self.kernel.name} line {segment.instructions[0].line}>", "exec"), namespace)
        return namespace["run"]
