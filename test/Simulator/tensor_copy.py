"""Bulk tensor copies through tensor maps (TMA), and their bulk groups.

A load lands at a random later time: then it writes shared memory and completes bytes on its
mbarrier. A store reads shared memory at a random later time, at the latest when its thread waits for
the reading, and writes global memory when it finishes.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np

from arithmetic import LANES
from barriers import MBarrier, find
from machine import PARAMETER_BASE
from matrix import swizzle
from memory import GlobalMemory, SimulationFault
from program import Context, Operation, operation
from ptx import Address, Instruction, PtxError


@dataclass(frozen=True)
class TensorMap:
    """What cuTensorMapEncodeTiled is told; dimensions innermost first."""
    address: int
    dims: tuple[int, ...]
    strides: tuple[int, ...]  # bytes; the first is the element
    box: tuple[int, ...]
    element_bytes: int
    swizzle: int  # bytes; 0 for none

    def __post_init__(self) -> None:
        inner = self.box[0] * self.element_bytes
        wrong = [what for what, bad in [
            ("the base address is not a multiple of 16", self.address % 16),
            ("a stride is not a multiple of 16 below 2^40", any(s % 16 or s >= 1 << 40 for s in self.strides[1:])),
            ("a box side is not from 1 to 256", not all(1 <= side <= 256 for side in self.box)),
            ("the box's inner side is not a multiple of 16 bytes", inner % 16),
            ("the box's inner side is wider than the swizzle", self.swizzle and inner > self.swizzle),
            ("a dimension is not from 1 to 2^32", not all(1 <= d <= 1 << 32 for d in self.dims)),
            ("it has more than five dimensions", len(self.dims) > 5)] if bad]
        if wrong:
            raise SimulationFault("cuTensorMapEncodeTiled refuses the tensor map: " + "; ".join(wrong))

    @property
    def bytes(self) -> int:
        return int(np.prod(self.box)) * self.element_bytes

    def rows(self, origin: tuple[int, ...]):
        """(offset in the box, global address, elements before, elements inside) of each inner row of the
        box; nothing is inside for a row out of bounds."""
        first = max(0, -origin[0])
        count = max(0, min(self.box[0], self.dims[0] - origin[0]) - first)
        for index, outer in enumerate(product(*(range(side) for side in reversed(self.box[1:])))):
            at = [o + i for o, i in zip(origin[1:], reversed(outer))]
            inside = all(0 <= a < d for a, d in zip(at, self.dims[1:]))
            address = self.address + sum(a * s for a, s in zip(at, self.strides[1:]))
            address += (origin[0] + first) * self.element_bytes
            yield index * self.box[0] * self.element_bytes, address, first, count if inside else 0

    def gather(self, memory: GlobalMemory, origin: tuple[int, ...]) -> np.ndarray:
        """The box's bytes, zeros out of bounds."""
        data = np.zeros(self.bytes, np.uint8)
        for offset, address, first, count in self.rows(origin):
            if count:
                size = count * self.element_bytes
                memory.index(np.array([address, address + size - 1]), 1, False)
                start = offset + first * self.element_bytes
                data[start:start + size] = memory.bytes[address - memory.BASE:address - memory.BASE + size]
        return data

    def scatter(self, memory: GlobalMemory, origin: tuple[int, ...], data: np.ndarray) -> None:
        """Writes the box, nothing out of bounds."""
        for offset, address, first, count in self.rows(origin):
            if count:
                size = count * self.element_bytes
                memory.index(np.array([address, address + size - 1]), 1, True)
                start = offset + first * self.element_bytes
                memory.bytes[address - memory.BASE:address - memory.BASE + size] = data[start:start + size]

    def shared_addresses(self, start: int) -> np.ndarray:
        """Where each 16-byte piece of the box stands, one swizzled row after the other."""
        align = {0: 128, 32: 256, 64: 512, 128: 1024}[self.swizzle]
        if start % 128 or start % align:
            raise SimulationFault(f"the box's place in shared memory is not a multiple of {align}")
        pieces = start + np.arange(0, self.bytes, 16)
        return swizzle(pieces, self.swizzle) if self.swizzle else pieces


@dataclass(eq=False)
class Load:
    warp: object
    barrier: MBarrier
    addresses: np.ndarray
    words: np.ndarray
    map: TensorMap
    origin: tuple[int, ...]
    due: int = 0

    def finish(self) -> None:
        cta = self.warp.cta
        data = self.map.gather(cta.launch.memory, self.origin)
        cta.shared.landing[self.words] -= 1
        cta.shared.store_rows(self.addresses, data.reshape(-1, 16))
        self.barrier.copy_time += 1
        cta.shared.note_write(self.barrier.agent, self.barrier.copy_time, self.words)
        self.barrier.clock[self.barrier.agent] = self.barrier.copy_time
        self.barrier.bytes -= self.map.bytes
        self.barrier.complete()


@dataclass(eq=False)
class Store:
    """Takes its bytes at a random time; its source stays taken until its thread has waited."""
    warp: object
    addresses: np.ndarray
    words: np.ndarray
    map: TensorMap
    origin: tuple[int, ...]
    due: int = 0
    retired: bool = False  # its thread knows that the source was read

    def finish(self) -> None:
        data = self.warp.cta.shared.load(self.addresses, 16).reshape(-1)
        self.map.scatter(self.warp.cta.launch.memory, self.origin, data)

    def retire(self) -> None:
        if not self.retired:
            self.retired = True
            self.warp.cta.finish(self)
            shared = self.warp.cta.shared
            shared.draining[self.words] -= 1
            shared.note_read(self.warp.number, self.warp.clock, self.words)


def _tensor_map(warp, address: int) -> TensorMap:
    launch = warp.cta.launch
    found = launch.tensor_maps.get(address - PARAMETER_BASE)
    if found is None:
        raise SimulationFault(f"there is no tensor map at address {address:#x}")
    return found


def _coordinates(context: Context, operand, instruction: Instruction):
    if not isinstance(operand, Address) or not operand.coordinates:
        raise PtxError(f"{instruction.where}: '{operand}' is not a tensor map with coordinates")
    return [context.value(item, "s32", instruction) for item in operand.coordinates]


def _check_rank(map: TensorMap, origin: tuple[int, ...]) -> None:
    if len(map.dims) != len(origin):
        raise SimulationFault(f"{len(origin)} coordinates for a tensor map of {len(map.dims)} dimensions")


def _rank(instruction: Instruction) -> None:
    if instruction.opcode[4] not in ("1d", "2d", "3d", "4d", "5d"):
        raise PtxError(f"{instruction.where}: '{instruction.name}' is not known to this simulator")


@operation("cp.async.bulk.tensor")
def tensor_copy(instruction: Instruction, context: Context) -> Operation:
    _rank(instruction)
    rest = [part for part in instruction.opcode[5:] if part not in ("tile", "L2::cache_hint")]
    if rest in (["shared::cluster", "global", "mbarrier::complete_tx::bytes"],
                ["shared::cta", "global", "mbarrier::complete_tx::bytes"]):
        return _load(instruction, context)
    if rest == ["global", "shared::cta", "bulk_group"]:
        return _store(instruction, context)
    raise PtxError(f"{instruction.where}: '{instruction.name}' is not known to this simulator")


def _load(instruction: Instruction, context: Context) -> Operation:
    operands = instruction.operands
    to = context.address(operands[0], instruction)
    source = context.address(operands[1], instruction)
    coordinates = _coordinates(context, operands[1], instruction)
    barrier_at = context.address(operands[2], instruction)

    def run(warp, mask):
        shared = warp.cta.shared
        for lane in (range(LANES) if mask is None else np.flatnonzero(mask)):
            map = _tensor_map(warp, int(source(warp)[lane]))
            origin = tuple(int(get(warp)[lane]) for get in coordinates)
            _check_rank(map, origin)
            barrier = find(warp.cta, warp, int(barrier_at(warp)[lane]))
            if not barrier.fenced:
                raise SimulationFault("the mbarrier was initialised without a fence for the asynchronous proxy "
                                      "(fence.mbarrier_init or fence.proxy.async)")
            addresses = map.shared_addresses(int(to(warp)[lane]))
            words = shared.words(addresses, 16)
            shared.check_write(warp.clock, words, True, "the bulk load")
            shared.landing[words] += 1
            warp.cta.fly(Load(warp, barrier, addresses, words, map, origin))

    return Operation(run)


def _store(instruction: Instruction, context: Context) -> Operation:
    operands = instruction.operands
    to = context.address(operands[0], instruction)
    coordinates = _coordinates(context, operands[0], instruction)
    source = context.address(operands[1], instruction)

    def run(warp, mask):
        shared = warp.cta.shared
        for lane in (range(LANES) if mask is None else np.flatnonzero(mask)):
            map = _tensor_map(warp, int(to(warp)[lane]))
            origin = tuple(int(get(warp)[lane]) for get in coordinates)
            _check_rank(map, origin)
            addresses = map.shared_addresses(int(source(warp)[lane]))
            words = shared.words(addresses, 16)
            shared.check_read(warp.clock, words, True, "the bulk store")
            shared.draining[words] += 1
            store = Store(warp, addresses, words, map, origin)
            groups = warp.bulk.setdefault(int(lane), [[]])
            groups[-1].append(store)
            warp.cta.fly(store)

    return Operation(run)


@operation("cp.async.bulk.commit_group")
def bulk_commit(instruction: Instruction, context: Context) -> Operation:
    def run(warp, mask):
        for lane in (range(LANES) if mask is None else np.flatnonzero(mask)):
            warp.bulk.setdefault(int(lane), [[]]).append([])

    return Operation(run)


@operation("cp.async.bulk.wait_group")
def bulk_wait(instruction: Instruction, context: Context) -> Operation:
    """With or without .read: no kernel reads in one CTA what its bulk stores wrote to global memory."""
    left = instruction.operands[0].bits

    def run(warp, mask):
        for lane in (range(LANES) if mask is None else np.flatnonzero(mask)):
            groups = warp.bulk.setdefault(int(lane), [[]])
            while len(groups) - 1 > left:  # the last one is still open and is never waited for
                for store in groups.pop(0):
                    store.retire()

    return Operation(run)
