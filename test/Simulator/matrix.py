"""Matrix units: `mma.sync` and the asynchronous `wgmma`.

A wgmma is computed as late as it may be, at the wait that covers it, from what shared memory holds
then; meanwhile its operands are marked as being read, and its registers as not to be touched. Each
warp computes its own 16 rows, as the fragments are laid out; that the four warps of a group issue
the same sequence is checked.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from arithmetic import LANES
from formats import unpack, widen
from memory import SharedMemory, SimulationFault
from program import Context, Operation, Segment, key, operation, registers, touched, written
from ptx import Immediate, Instruction, PtxError, Vector

_LANE = np.arange(LANES)
_ROW, _COLUMN = _LANE // 4, _LANE % 4 * 2


def _all_lanes(warp, mask):
    return np.ones(LANES, bool)


def a_fragment(words: np.ndarray, kind: str) -> np.ndarray:
    """uint32 [4, 32] → f32 [16, 16]: rows l/4 and l/4 + 8, columns 2 (l mod 4) and those plus 8."""
    # [register = (column half, row half), row, quad, pair] → [row half, row, column half, quad, pair]
    values = unpack(words, kind).reshape(2, 2, 8, 4, 2)
    return values.transpose(1, 2, 0, 3, 4).reshape(16, 16)


def b_fragment(words: np.ndarray, kind: str) -> np.ndarray:
    """uint32 [2, 32] → f32 [16, 8]: column l/4, rows 2 (l mod 4) and those plus 8."""
    values = unpack(words, kind).reshape(2, 8, 4, 2)  # [row half, column, quad, pair]
    return values.transpose(0, 2, 3, 1).reshape(16, 8)


def accumulator_to_matrix(words: np.ndarray) -> np.ndarray:
    """f32 [N/2, 32] → [16, N]: registers 4j … 4j+3 hold columns 8j + 2 (l mod 4), rows l/4 and plus 8."""
    n = words.shape[0] * 2
    values = words.reshape(n // 8, 2, 2, 8, 4)  # [column block, row half, pair, row, quad]
    return values.transpose(1, 3, 0, 4, 2).reshape(16, n)


def matrix_to_accumulator(matrix: np.ndarray) -> np.ndarray:
    n = matrix.shape[1]
    values = matrix.reshape(2, 8, n // 8, 4, 2)
    return values.transpose(2, 0, 4, 1, 3).reshape(n // 2, LANES)


@operation("mma.sync.aligned")
def mma(instruction: Instruction, context: Context) -> Operation:
    match = re.fullmatch(r"mma\.sync\.aligned\.m16n8k16\.row\.col\.f32\.(bf16|f16)\.\1\.f32", instruction.name)
    if not match:
        raise PtxError(f"{instruction.where}: '{instruction.name}' is not known to this simulator")
    kind = match[1]
    d, a, b, c = (_vector(context, item, instruction, bits)
                  for item, bits in zip(instruction.operands, ("f32", "b32", "b32", "f32")))

    def run(warp, group, mask):
        left = a_fragment(np.stack([get(warp) for get in a]), kind)
        right = b_fragment(np.stack([get(warp) for get in b]), kind)
        sums = np.stack([get(warp) for get in c]) + matrix_to_accumulator(left @ right)
        for get, row in zip(d, sums):
            get(warp)[:] = row

    return Operation(run, True, _all_lanes)


def _vector(context: Context, operand, instruction: Instruction, kind: str):
    if not isinstance(operand, Vector):
        raise PtxError(f"{instruction.where}: '{operand}' is not a vector of registers")
    return [context.value(item, kind, instruction) for item in operand.items]


@dataclass(frozen=True)
class Descriptor:
    """A shared-memory matrix as wgmma sees it."""
    start: int
    leading: int
    stride: int
    swizzle: int  # bytes of a swizzled row: 128, 64, 32 or 16 (none)

    @staticmethod
    def decode(bits: int) -> "Descriptor":
        if (bits >> 49) & 7:
            raise SimulationFault("a matrix descriptor with a base offset is not known to this simulator")
        return Descriptor((bits & 0x3FFF) << 4, ((bits >> 16) & 0x3FFF) << 4, ((bits >> 32) & 0x3FFF) << 4,
                          {0: 16, 1: 128, 2: 64, 3: 32}[bits >> 62])


@lru_cache(maxsize=4096)
def element_addresses(descriptor: Descriptor, rows: int, transposed: bool) -> np.ndarray:
    """Byte addresses [rows, 16] of a matrix of `rows` (M or N) by 16 (K) 16-bit elements.

    K-major: rows of `swizzle` bytes, eight to an atom, atoms `stride` apart. Transposed (M- or
    N-major): rows of K hold swizzle/2 consecutive elements; eight rows to an atom, atoms `stride` apart
    along K and `leading` apart along M or N. The swizzle xors address bits 4… with bits 7….
    """
    r, k = np.arange(rows)[:, None], np.arange(16)[None, :]
    if descriptor.swizzle == 16:
        raise SimulationFault("matrix descriptors without a swizzle are not known to this simulator")
    if transposed:
        width = descriptor.swizzle // 2
        address = (r % width) * 2 + (r // width) * descriptor.leading + (k % 8) * descriptor.swizzle \
            + (k // 8) * descriptor.stride
    else:
        address = (r % 8) * descriptor.swizzle + (r // 8) * descriptor.stride + k * 2
    return swizzle(descriptor.start + address, descriptor.swizzle)


def swizzle(address: np.ndarray, width: int) -> np.ndarray:
    """128 bytes: bits 4–6 ^= bits 7–9; 64: bits 4–5 ^= 7–8; 32: bit 4 ^= bit 7."""
    return address ^ (((address >> 7) & (width // 16 - 1)) << 4)


@lru_cache(maxsize=4096)
def operand_words(descriptor: Descriptor, rows: int, transposed: bool) -> np.ndarray:
    return np.unique(element_addresses(descriptor, rows, transposed) >> 2)


def read_matrix(shared: SharedMemory, descriptor: Descriptor, rows: int, transposed: bool, kind: str) -> np.ndarray:
    """f32 [rows, 16]."""
    addresses = element_addresses(descriptor, rows, transposed)
    return widen(shared.bytes.view(np.uint16)[addresses >> 1], kind)


@dataclass(eq=False)
class Flight:
    """One wgmma under way in one warp."""
    instruction: Instruction
    compute: object
    words: list[np.ndarray]
    accumulators: frozenset[int]
    inputs: frozenset[int]
    shape: str


class WgmmaState:
    """Of one warp."""

    def __init__(self) -> None:
        self.open: list[Flight] = []
        self.groups: list[list[Flight]] = []
        self.issued = 0
        # Registers written since the last wgmma.fence; None: everything, as before the first.
        self.unfenced: set[int] | None = None
        self.accumulators: dict[int, str] = {}  # register → shape of the wgmma under way
        self.inputs: set[int] = set()

    @property
    def busy(self) -> bool:
        return bool(self.open or self.groups)

    def check(self, segment: Segment) -> None:
        """Refuses a segment that touches what is in flight."""
        name = segment.instructions[0].opcode[0]
        if name != "wgmma":
            if self.accumulators and not segment.touched.isdisjoint(self.accumulators):
                self._fail(segment, False)
            if self.inputs and not segment.written.isdisjoint(self.inputs):
                self._fail(segment, True)
            if self.unfenced is not None:
                self.unfenced |= segment.written

    def _fail(self, segment: Segment, inputs: bool) -> None:
        for instruction in segment.instructions:
            for register in written(instruction) if inputs else touched(instruction):
                if key(register) in (self.inputs if inputs else self.accumulators):
                    what = "overwrites an A register" if inputs else "touches an accumulator"
                    raise SimulationFault(f"{instruction.where}: {register.name} {what} of a wgmma under way; "
                                          "wait for it with wgmma.wait_group first")
        raise AssertionError("no culprit")

    def refresh(self) -> None:
        flights = [f for entry in [*self.groups, self.open] for f in entry]
        self.accumulators = {r: f.shape for f in flights for r in f.accumulators}
        self.inputs = {r for f in flights for r in f.inputs}


def state(warp) -> WgmmaState:
    if warp.wgmma is None:
        warp.wgmma = WgmmaState()
    return warp.wgmma


@operation("wgmma.fence.sync.aligned")
def wgmma_fence(instruction: Instruction, context: Context) -> Operation:
    def run(warp, group, mask):
        state(warp).unfenced = set()

    return Operation(run, True, _all_lanes)


@operation("wgmma.commit_group.sync.aligned")
def wgmma_commit(instruction: Instruction, context: Context) -> Operation:
    def run(warp, group, mask):
        own = state(warp)
        own.groups.append(own.open)
        own.open = []

    return Operation(run, True, _all_lanes)


@operation("wgmma.wait_group.sync.aligned")
def wgmma_wait(instruction: Instruction, context: Context) -> Operation:
    left = instruction.operands[0].bits

    def run(warp, group, mask):
        own = state(warp)
        shared = warp.cta.shared
        while len(own.groups) > left:
            for flight in own.groups.pop(0):
                flight.compute()
                for words in flight.words:
                    shared.draining[words] -= 1
                    shared.note_read(warp.number, warp.clock, words)
        own.refresh()

    return Operation(run, True, _all_lanes)


@operation("wgmma.mma_async.sync.aligned")
def wgmma(instruction: Instruction, context: Context) -> Operation:
    match = re.fullmatch(r"wgmma\.mma_async\.sync\.aligned\.m64n(\d+)k16\.f32\.(bf16|f16)\.\2", instruction.name)
    if not match:
        raise PtxError(f"{instruction.where}: '{instruction.name}' is not known to this simulator")
    n, kind = int(match[1]), match[2]
    operands = instruction.operands
    d = _vector(context, operands[0], instruction, "f32")
    if len(d) != n // 2:
        raise PtxError(f"{instruction.where}: {len(d)} accumulator registers; m64n{n} has {n // 2}")
    in_registers = isinstance(operands[1], Vector)
    a = _vector(context, operands[1], instruction, "b32") if in_registers else \
        context.value(operands[1], "b64", instruction)
    b = context.value(operands[2], "b64", instruction)
    scale_d = context.value(operands[3], "pred", instruction)
    flags = operands[4:]
    if len(flags) != (3 if in_registers else 4) or not all(isinstance(flag, Immediate) for flag in flags) \
            or flags[0].bits != 1 or flags[1].bits != 1:
        raise PtxError(f"{instruction.where}: this form of wgmma is not known to this simulator (negated operands)")
    transposed_a = not in_registers and bool(flags[2].bits)
    transposed_b = bool(flags[-1].bits)
    accumulators = frozenset(key(r) for r in registers(operands[0]))
    inputs = frozenset(key(r) for r in registers(operands[1])) if in_registers else frozenset()
    shape = f"m64n{n}"

    def run(warp, group, mask):
        own = state(warp)
        shared = warp.cta.shared
        right = _uniform(b(warp), "B descriptor")
        accumulate = bool(scale_d(warp)[0])
        _check_fence(own, accumulators, inputs, shape)
        _check_group(warp, own, instruction, right)
        words = [operand_words(Descriptor.decode(right), n, transposed_b)]
        rows = warp.number % 4 * 16
        if not in_registers:
            left = Descriptor.decode(_uniform(a(warp), "A descriptor"))
            addresses = element_addresses(left, 64, transposed_a)
            words.append(np.unique(addresses[rows:rows + 16] >> 2))
        for item in words:
            if item[0] * 4 < shared.BASE or item[-1] * 4 >= shared.size:
                raise SimulationFault("a wgmma operand lies outside of shared memory")
            shared.check_read(warp.clock, item, True, "wgmma")
            shared.draining[item] += 1

        def compute() -> None:
            if in_registers:
                fragment = a_fragment(np.stack([get(warp) for get in a]), kind)
            else:
                fragment = read_matrix(shared, left, 64, transposed_a, kind)[rows:rows + 16]
            product = fragment @ read_matrix(shared, Descriptor.decode(right), n, transposed_b, kind).T
            values = matrix_to_accumulator(product)
            for get, row in zip(d, values):
                get(warp)[:] = get(warp) + row if accumulate else row

        own.open.append(Flight(instruction, compute, words, accumulators, inputs, shape))
        own.refresh()

    return Operation(run, True, _all_lanes)


def _uniform(values: np.ndarray, what: str) -> int:
    if (values != values[0]).any():
        raise SimulationFault(f"the lanes have different values of the {what}")
    return int(values[0])


def _check_fence(own: WgmmaState, accumulators: frozenset[int], inputs: frozenset[int], shape: str) -> None:
    if own.unfenced is None:
        raise SimulationFault("the first wgmma needs a wgmma.fence before it")
    if not own.unfenced.isdisjoint(accumulators | inputs):
        raise SimulationFault("registers of this wgmma were written after the last wgmma.fence")
    if not inputs.isdisjoint(own.accumulators):
        raise SimulationFault("an A register is an accumulator of a wgmma under way")
    if not accumulators.isdisjoint(own.inputs):
        raise SimulationFault("an accumulator is an A register of a wgmma under way")
    for register in accumulators:
        if own.accumulators.get(register, shape) != shape:
            raise SimulationFault(f"an accumulator is in use by a wgmma of another shape, {own.accumulators[register]}")


def _check_group(warp, own: WgmmaState, instruction: Instruction, right: int) -> None:
    """The four warps of a group must issue the same wgmmas in the same order."""
    log = warp.cta.matrix_log.setdefault(warp.number // 4, [])
    entry = (instruction.line, instruction.text, right)
    if own.issued == len(log):
        log.append(entry)
    elif log[own.issued] != entry:
        raise SimulationFault(f"wgmma number {own.issued} of this warp is another than its warp group's: {log[own.issued][:1]}")
    own.issued += 1
