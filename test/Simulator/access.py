"""Loads, stores, `cp.async` and the matrix fragments that go through shared memory.

Every shared access asks memory.py whether it is ordered after what it conflicts with.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from arithmetic import LANES, VIEWS
from machine import PARAMETER_BASE
from memory import SimulationFault
from program import Context, Operation, operation
from ptx import Address, Immediate, Instruction, PtxError, Register, Symbol, Vector

# Modifiers that change caching or ordering, never the value; execution here is sequentially consistent.
HINTS = {"nc", "ca", "cg", "cs", "lu", "cv", "wb", "wt", "relaxed", "acquire", "release", "cta", "gpu", "sys",
         "weak", "volatile", "L1::no_allocate", "L1::evict_last", "L1::evict_first", "L1::evict_normal",
         "L2::128B", "L2::256B", "L2::64B"}


def _shape(instruction: Instruction, skip: int) -> tuple[str, int]:
    """(type, elements) of a load or store."""
    parts = [part for part in instruction.opcode[skip:] if part not in HINTS]
    count = 1
    if parts and parts[0] in ("v2", "v4"):
        count = int(parts.pop(0)[1:])
    if len(parts) != 1 or parts[0] not in VIEWS or parts[0] == "pred":
        raise PtxError(f"{instruction.where}: '{instruction.name}' is not known to this simulator")
    return parts[0], count


def _rows(context: Context, operand, kind: str, count: int, instruction: Instruction):
    """Functions for the registers of a (vector) operand. A wider register is taken whole: loads extend
    by the type's sign, stores take the low bits."""
    items = operand.items if isinstance(operand, Vector) else (operand,)
    if len(items) != count:
        raise PtxError(f"{instruction.where}: {count} elements into {len(items)} registers")
    size = np.dtype(VIEWS[kind][1]).itemsize * 8
    rows = []
    for item in items:
        wider = isinstance(item, Register) and item.width > size
        rows.append(context.value(item, f"{'s' if kind[0] == 's' else 'u'}{item.width}" if wider else kind,
                                  instruction))
    return rows


@operation("ld.param")
def load_parameter(instruction: Instruction, context: Context) -> Operation:
    kind, count = _shape(instruction, 2)
    rows = _rows(context, instruction.operands[0], kind, count, instruction)
    address = instruction.operands[1]
    offsets = {p.name: p.offset for p in context.kernel.parameters}
    if not isinstance(address, Address) or not isinstance(address.base, Symbol) or address.base.name not in offsets:
        raise PtxError(f"{instruction.where}: ld.param takes a parameter's name")
    start = offsets[address.base.name] + address.offset
    dtype = np.dtype(VIEWS[kind][1])

    def run(warp, mask):
        data = warp.cta.launch.parameters
        for i, row in enumerate(rows):
            at = start + i * dtype.itemsize
            value = data[at:at + dtype.itemsize].view(dtype)[0]
            np.copyto(row(warp), value, where=True if mask is None else mask)

    return Operation(run)


@operation("ld.global")
def load_global(instruction: Instruction, context: Context) -> Operation:
    kind, count = _shape(instruction, 2)
    rows = _rows(context, instruction.operands[0], kind, count, instruction)
    address = context.address(instruction.operands[1], instruction)
    dtype = np.dtype(VIEWS[kind][1])
    size = dtype.itemsize

    def run(warp, mask):
        memory = warp.cta.launch.memory
        at = address(warp)
        if mask is not None:
            at = at[mask]
        if count > 1 and (at & (size * count - 1)).any():
            raise SimulationFault(f"misaligned global vector read of {size * count} bytes")
        for i, row in enumerate(rows):
            values = memory.load(at + i * size, size).view(dtype)
            if mask is None:
                row(warp)[:] = values
            else:
                row(warp)[mask] = values

    return Operation(run)


@operation("st.global")
def store_global(instruction: Instruction, context: Context) -> Operation:
    kind, count = _shape(instruction, 2)
    rows = _rows(context, instruction.operands[1], kind, count, instruction)
    address = context.address(instruction.operands[0], instruction)
    size = np.dtype(VIEWS[kind][1]).itemsize

    def run(warp, mask):
        memory = warp.cta.launch.memory
        at = address(warp)
        if mask is not None:
            at = at[mask]
        if count > 1 and (at & (size * count - 1)).any():
            raise SimulationFault(f"misaligned global vector write of {size * count} bytes")
        for i, row in enumerate(rows):
            values = row(warp) if mask is None else row(warp)[mask]
            memory.store(at + i * size, low_bits(values, size))

    return Operation(run)


@operation("ld.shared")
def load_shared(instruction: Instruction, context: Context) -> Operation:
    kind, count = _shape(instruction, 2)
    rows = _rows(context, instruction.operands[0], kind, count, instruction)
    address = context.address(instruction.operands[1], instruction)
    dtype = np.dtype(VIEWS[kind][1])
    size = dtype.itemsize

    def run(warp, mask):
        shared = warp.cta.shared
        at = address(warp)
        if mask is not None:
            at = at[mask]
        words = shared.words(at, size * count)
        shared.check_read(warp.clock, words, False, "the load")
        shared.note_read(warp.number, warp.clock, words)
        for i, row in enumerate(rows):
            values = shared.load(at + i * size, size).view(dtype)
            if mask is None:
                row(warp)[:] = values
            else:
                row(warp)[mask] = values

    return Operation(run)


@operation("st.shared")
def store_shared(instruction: Instruction, context: Context) -> Operation:
    kind, count = _shape(instruction, 2)
    rows = _rows(context, instruction.operands[1], kind, count, instruction)
    address = context.address(instruction.operands[0], instruction)
    size = np.dtype(VIEWS[kind][1]).itemsize

    def run(warp, mask):
        shared = warp.cta.shared
        at = address(warp)
        threads = warp.threads
        if mask is not None:
            at, threads = at[mask], threads[mask]
        write_generic(warp, shared.words(at, size * count), np.repeat(threads, max(1, size * count // 4)), "the store")
        for i, row in enumerate(rows):
            values = row(warp) if mask is None else row(warp)[mask]
            shared.store(at + i * size, low_bits(values, size))

    return Operation(run)


def low_bits(values: np.ndarray, size: int) -> np.ndarray:
    """As unsigned integers of `size` bytes."""
    values = np.ascontiguousarray(values)
    return values.view(f"u{values.dtype.itemsize}").astype(f"u{size}")


def write_generic(warp, words: np.ndarray, threads: np.ndarray, what: str) -> None:
    """Checks and notes an ordinary write by `threads` to `words`."""
    shared = warp.cta.shared
    shared.check_write(warp.clock, words, False, what)
    shared.note_write(warp.number, int(warp.clock[warp.number]), words)
    shared.note_generic_write(warp.number, words, threads)


@dataclass(eq=False)
class Copy:
    """A cp.async: 16-byte rows on their way to shared memory."""
    address: np.ndarray
    rows: np.ndarray
    words: np.ndarray
    threads: np.ndarray


@operation("cp.async.cg.shared.global", "cp.async.ca.shared.global")
def copy_async(instruction: Instruction, context: Context) -> Operation:
    operands = instruction.operands
    rest = [part for part in instruction.opcode[5:] if part not in HINTS]
    if rest or not isinstance(operands[2], Immediate) or operands[2].bits not in (4, 8, 16):
        raise PtxError(f"{instruction.where}: this form of cp.async is not known to this simulator")
    size = operands[2].bits
    to = context.address(operands[0], instruction)
    source = context.address(operands[1], instruction)
    valid = context.value(operands[3], "u32", instruction) if len(operands) > 3 else None

    def run(warp, mask):
        shared = warp.cta.shared
        lanes = np.arange(LANES) if mask is None else np.flatnonzero(mask)
        at, origin = to(warp)[lanes], source(warp)[lanes]
        count = np.full(lanes.size, size) if valid is None else valid(warp)[lanes].astype(np.int64)
        if (count > size).any():
            raise SimulationFault(f"cp.async copies {int(count.max())} of {size} bytes")
        words = shared.words(at, size)
        shared.check_write(warp.clock, words, False, "cp.async")
        rows = np.zeros((lanes.size, size), np.uint8)
        # Nothing is read of lanes that copy no byte: their address may be anything.
        for i in np.flatnonzero((count > 0) & (count < size)):
            rows[i, :count[i]] = warp.cta.launch.memory.load(origin[i] + np.arange(count[i]), 1)
        full = count == size
        if full.any():
            rows[full] = warp.cta.launch.memory.load(origin[full], size).view(np.uint8).reshape(-1, size)
        shared.landing[words] += 1
        warp.copies.append(Copy(at, rows, words, np.repeat(warp.threads[lanes], size // 4)))

    return Operation(run)


@operation("cp.async.commit_group")
def copy_commit(instruction: Instruction, context: Context) -> Operation:
    def run(warp, group, mask):
        warp.copy_groups.append(warp.copies)
        warp.copies = []

    # Groups are kept for whole warps, although PTX keeps them for threads.
    return Operation(run, True, lambda warp, mask: warp.alive)


@operation("cp.async.wait_group", "cp.async.wait_all")
def copy_wait(instruction: Instruction, context: Context) -> Operation:
    everything = instruction.opcode[2] == "wait_all"
    left = 0 if everything else instruction.operands[0].bits

    def run(warp, group, mask):
        if everything:
            warp.copy_groups.append(warp.copies)
            warp.copies = []
        shared = warp.cta.shared
        while len(warp.copy_groups) > left:
            for copy in warp.copy_groups.pop(0):
                size = copy.rows.shape[1]
                shared.landing[copy.words] -= 1
                shared.bytes.reshape(-1, size)[copy.address // size] = copy.rows
                shared.note_write(warp.number, int(warp.clock[warp.number]), copy.words)
                shared.note_generic_write(warp.number, copy.words, copy.threads)

    return Operation(run, True, lambda warp, mask: warp.alive)


@operation("ldmatrix.sync.aligned.m8n8")
def load_matrix(instruction: Instruction, context: Context) -> Operation:
    parts = [part for part in instruction.opcode[4:] if part != "shared::cta"]
    count = int(parts[0][1:])
    transposed = "trans" in parts
    if set(parts[1:]) - {"trans", "shared", "b16"}:
        raise PtxError(f"{instruction.where}: this form of ldmatrix is not known to this simulator")
    rows = _rows(context, instruction.operands[0], "b32", count, instruction)
    address = context.address(instruction.operands[1], instruction)

    def run(warp, group, mask):
        shared = warp.cta.shared
        at = address(warp)[:8 * count]
        words = shared.words(at, 16)
        shared.check_read(warp.clock, words, False, "ldmatrix")
        shared.note_read(warp.number, warp.clock, words)
        matrices = shared.load(at, 16).reshape(count, 8, 16)
        if transposed:
            halves = matrices.view(np.uint16).transpose(0, 2, 1)
            matrices = np.ascontiguousarray(halves).view(np.uint8)
        # Lane l holds row l / 4, elements 2 (l mod 4) and the next.
        fragments = np.ascontiguousarray(matrices).view(np.uint32).reshape(count, LANES)
        for row, fragment in zip(rows, fragments):
            row(warp)[:] = fragment

    return Operation(run, True, lambda warp, mask: np.ones(LANES, bool))


@operation("stmatrix.sync.aligned.m8n8")
def store_matrix(instruction: Instruction, context: Context) -> Operation:
    parts = [part for part in instruction.opcode[4:] if part != "shared::cta"]
    count = int(parts[0][1:])
    transposed = "trans" in parts
    if set(parts[1:]) - {"trans", "shared", "b16"}:
        raise PtxError(f"{instruction.where}: this form of stmatrix is not known to this simulator")
    address = context.address(instruction.operands[0], instruction)
    rows = _rows(context, instruction.operands[1], "b32", count, instruction)

    def run(warp, group, mask):
        shared = warp.cta.shared
        at = address(warp)[:8 * count]
        # The instruction's write counts for the whole warp: any lane's fragment may land in any row. Each
        # row is noted as its address lane's, so all lanes have to fence.
        write_generic(warp, shared.words(at, 16), np.repeat(warp.threads[:8 * count], 4), "stmatrix")
        matrices = np.stack([row(warp) for row in rows]).reshape(count, 8, 4).view(np.uint16)
        if transposed:
            matrices = matrices.transpose(0, 2, 1)
        shared.store_rows(at, np.ascontiguousarray(matrices).view(np.uint8).reshape(8 * count, 16))

    return Operation(run, True, lambda warp, mask: np.ones(LANES, bool))


@operation("cvta.param", "mov.b64", "mov.u64")
def parameter_address(instruction: Instruction, context: Context) -> Operation | None:
    """The address of a parameter; every other mov is arithmetic."""
    source = instruction.operands[1]
    offsets = {p.name: p.offset for p in context.kernel.parameters}
    if not isinstance(source, Symbol) or source.name not in offsets:
        return None
    into = context.value(instruction.operands[0], "b64", instruction)
    value = np.uint64(PARAMETER_BASE + offsets[source.name])

    def run(warp, mask):
        np.copyto(into(warp), value, where=True if mask is None else mask)

    return Operation(run)
