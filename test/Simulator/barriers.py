"""Barriers, fences and warp-wide exchanges.

A barrier carries vector clocks from those who arrive to those who pass it (memory.py). An mbarrier
keeps the clock of its complete phases apart from that of the phase under way, so that a waiter learns
of nothing later than what it waited for.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from arithmetic import LANES
from memory import SimulationFault
from program import Context, Operation, Wait, operation
from ptx import Address, Immediate, Instruction, PtxError, Register, Sink, Vector


@dataclass(eq=False)
class NamedBarrier:
    number: int
    clock: np.ndarray
    arrived: int = 0
    expected: int = 0
    generation: int = 0
    open_clock: np.ndarray | None = None  # of the last complete generation

    def arrive(self, clock: np.ndarray, threads: int, expected: int) -> int:
        if self.arrived and expected != self.expected:
            raise SimulationFault(f"barrier {self.number} is used with {expected} and with {self.expected} threads "
                                  "at the same time")
        self.expected = expected
        self.clock = np.maximum(self.clock, clock)
        self.arrived += threads
        ticket = self.generation
        if self.arrived > expected:
            raise SimulationFault(f"{self.arrived} threads arrive at barrier {self.number} of {expected}")
        if self.arrived == expected:
            self.generation += 1
            self.arrived = 0
            self.open_clock = self.clock
        return ticket

    def __str__(self) -> str:
        return f"barrier {self.number}: {self.arrived} of {self.expected} threads, generation {self.generation}"


@dataclass(eq=False)
class MBarrier:
    address: int
    agent: int  # of the copies that complete on it
    expected: int
    clock: np.ndarray  # of the phase under way
    done_clock: np.ndarray  # of complete phases
    pending: int = 0
    bytes: int = 0
    phase: int = 0
    copy_time: int = 0
    fenced: bool = False  # its initialisation is published to the asynchronous proxy

    def arrive(self, clock: np.ndarray, count: int = 1) -> None:
        self.clock = np.maximum(self.clock, clock)
        self.pending -= count
        if self.pending < 0:
            raise SimulationFault(f"more arrivals than the {self.expected} that {self} expects in a phase")
        self.complete()

    def complete(self) -> None:
        if self.pending == 0 and self.bytes == 0:
            self.phase += 1
            self.pending = self.expected
            self.done_clock = np.maximum(self.done_clock, self.clock)

    def passed(self, parity: int) -> bool:
        return (self.phase & 1) != parity

    def __str__(self) -> str:
        return (f"mbarrier at shared byte {self.address}: phase {self.phase}, {self.pending} of {self.expected} "
                f"arrivals and {self.bytes} bytes to come")


def find(cta, warp, address: int) -> MBarrier:
    barrier = cta.mbarriers.get(address)
    if barrier is None:
        raise SimulationFault(f"there is no mbarrier at shared byte {address - cta.shared.BASE}")
    words = np.array([address >> 2, (address >> 2) + 1])
    cta.shared.check_read(warp.clock, words, False, "the mbarrier operation")
    return barrier


def _alive(warp, mask):
    return warp.alive


def _named(cta, number: int) -> NamedBarrier:
    if not 0 <= number < 16:
        raise SimulationFault(f"barrier {number} does not exist; there are 0 to 15")
    if number not in cta.named_barriers:
        cta.named_barriers[number] = NamedBarrier(number, cta.shared.new_clock())
    return cta.named_barriers[number]


@operation("bar.sync", "barrier.sync", "bar.cta.sync", "barrier.cta.sync", "bar.arrive", "barrier.arrive",
           "barrier.cta.arrive", "bar.cta.arrive")
def bar(instruction: Instruction, context: Context) -> Operation:
    aligned = instruction.opcode[0] == "bar" or "aligned" in instruction.opcode
    waits = "sync" in instruction.opcode
    get = [context.value(item, "u32", instruction) for item in instruction.operands]
    if not 1 <= len(get) <= 2 or not waits and len(get) != 2:
        raise PtxError(f"{instruction.where}: a barrier takes its number and, for a part of the CTA, its threads")

    def run(warp, group, mask):
        lane = int(np.argmax(mask))
        cta = warp.cta
        barrier = _named(cta, int(get[0](warp)[lane]))
        if group.token is None:
            block = cta.launch.block
            expected = int(get[1](warp)[lane]) if len(get) == 2 else (block + LANES - 1) // LANES * LANES
            if expected % LANES:
                raise SimulationFault(f"a barrier of {expected} threads; it must be a multiple of {LANES}")
            # The barrier counts warps: every arrival stands for 32 threads.
            group.token = (barrier.arrive(warp.release(), LANES, expected),)
            if not waits:
                group.token = None
                return None
        ticket = group.token[0]
        if barrier.generation == ticket:
            return Wait(lambda: barrier.generation != ticket, f"at {barrier}")
        group.token = None
        warp.acquire(barrier.open_clock)
        return None

    return Operation(run, True, _alive if aligned else None)


@operation("mbarrier.init")
def mbarrier_init(instruction: Instruction, context: Context) -> Operation:
    address = context.address(instruction.operands[0], instruction)
    count = context.value(instruction.operands[1], "u32", instruction)

    def run(warp, mask):
        cta = warp.cta
        lanes = np.flatnonzero(mask) if mask is not None else range(LANES)
        for lane in lanes:
            at = int(address(warp)[lane])
            words = cta.shared.words(np.array([at]), 8)
            cta.shared.check_write(warp.clock, words, False, "mbarrier.init")
            expected = int(count(warp)[lane])
            if not 0 < expected < 1 << 20:
                raise SimulationFault(f"an mbarrier of {expected} arrivals; allowed are 1 to 1048575")
            if at in cta.mbarriers:
                raise SimulationFault(f"the mbarrier at shared byte {at - cta.shared.BASE} is initialised twice")
            agent = cta.shared.warps + len(cta.mbarriers)
            if agent >= cta.shared.never:
                raise SimulationFault("more mbarriers than this simulator has agents for")
            zero = cta.shared.new_clock()
            cta.mbarriers[at] = MBarrier(at, agent, expected, zero, zero.copy(), expected)
            cta.shared.note_write(warp.number, int(warp.clock[warp.number]), words)

    return Operation(run)


@operation("mbarrier.arrive")
def mbarrier_arrive(instruction: Instruction, context: Context) -> Operation:
    expect = "expect_tx" in instruction.opcode
    unknown = set(instruction.opcode[2:]) - {"expect_tx", "shared", "shared::cta", "b64", "release", "cta"}
    operands = instruction.operands
    if unknown or not isinstance(operands[0], Sink):
        raise PtxError(f"{instruction.where}: this form of mbarrier.arrive is not known to this simulator")
    address = context.address(operands[1], instruction)
    count = context.value(operands[2], "u32", instruction) if len(operands) > 2 else None

    def run(warp, mask):
        lanes = np.flatnonzero(mask) if mask is not None else range(LANES)
        clock = warp.release()
        for lane in lanes:
            barrier = find(warp.cta, warp, int(address(warp)[lane]))
            if expect:
                barrier.bytes += int(count(warp)[lane])
            barrier.arrive(clock, 1 if expect or count is None else int(count(warp)[lane]))

    return Operation(run)


@operation("mbarrier.expect_tx")
def mbarrier_expect(instruction: Instruction, context: Context) -> Operation:
    address = context.address(instruction.operands[0], instruction)
    count = context.value(instruction.operands[1], "u32", instruction)

    def run(warp, mask):
        for lane in (np.flatnonzero(mask) if mask is not None else range(LANES)):
            find(warp.cta, warp, int(address(warp)[lane])).bytes += int(count(warp)[lane])

    return Operation(run)


@operation("mbarrier.try_wait", "mbarrier.test_wait")
def mbarrier_wait(instruction: Instruction, context: Context) -> Operation:
    blocking = instruction.opcode[1] == "try_wait"
    unknown = set(instruction.opcode[2:]) - {"parity", "shared", "shared::cta", "b64", "acquire", "cta"}
    operands = instruction.operands
    if unknown or "parity" not in instruction.opcode or not isinstance(operands[0], Register):
        raise PtxError(f"{instruction.where}: this form of mbarrier wait is not known to this simulator")
    address = context.address(operands[1], instruction)
    parity = context.value(operands[2], "u32", instruction)
    result = context.value(operands[0], "pred", instruction)

    def run(warp, group, mask):
        lanes = np.flatnonzero(mask)
        at = address(warp)[lanes]
        bit = parity(warp)[lanes]
        if (at != at[0]).any() or (bit != bit[0]).any():
            raise SimulationFault("the lanes wait for different mbarriers or phases, which this simulator does not do")
        if bit[0] > 1:
            raise SimulationFault(f"the parity of a phase is {int(bit[0])}; it is 0 or 1")
        barrier = find(warp.cta, warp, int(at[0]))
        passed = barrier.passed(int(bit[0]))
        if passed:
            warp.acquire(barrier.done_clock)
        elif blocking and warp.cta.rng.random() < 0.9:
            # A try_wait may also give up: now and then it does, so that the loop around it runs.
            return Wait(lambda: barrier.passed(int(bit[0])), f"for parity {int(bit[0])} of {barrier}")
        np.copyto(result(warp), passed, where=mask)
        return None

    return Operation(run, True)


@operation("fence.mbarrier_init")
def fence_init(instruction: Instruction, context: Context) -> Operation:
    def run(warp, mask):
        for barrier in warp.cta.mbarriers.values():
            barrier.fenced = True

    return Operation(run)


@operation("fence.proxy.async")
def fence_proxy(instruction: Instruction, context: Context) -> Operation:
    if set(instruction.opcode[3:]) - {"shared::cta", "global"}:
        raise PtxError(f"{instruction.where}: this form of fence.proxy.async is not known to this simulator")

    def run(warp, mask):
        warp.cta.shared.publish(warp.number, warp.threads if mask is None else warp.threads[mask])
        for barrier in warp.cta.mbarriers.values():
            barrier.fenced = True

    return Operation(run)


@operation("fence", "membar")
def fence(instruction: Instruction, context: Context) -> Operation:
    """Orders memory; execution here is sequentially consistent already."""
    known = {"acq_rel", "sc", "cta", "gpu", "sys", "cl", "gl", "cluster"}
    if set(instruction.opcode[1:]) - known:
        raise PtxError(f"{instruction.where}: '{instruction.name}' is not known to this simulator")
    return Operation(lambda warp, mask: None)


@operation("setmaxnreg.dec.sync.aligned.u32", "setmaxnreg.inc.sync.aligned.u32")
def setmaxnreg(instruction: Instruction, context: Context) -> Operation:
    count = instruction.operands[0]
    if not isinstance(count, Immediate) or not 24 <= count.bits <= 256 or count.bits % 8:
        raise PtxError(f"{instruction.where}: the number of registers is a multiple of 8 from 24 to 256")
    return Operation(lambda warp, group, mask: None, True, _alive)


def _member_lanes(get):
    """Lanes that a member mask names and that are alive."""
    def lanes(warp, mask):
        bits = int(get(warp)[int(np.argmax(mask))])
        members = (bits >> np.arange(LANES)) & 1 == 1
        if (mask & ~members).any():
            raise SimulationFault(f"the member mask {bits:#010x} leaves out a lane that executes the instruction")
        return members & warp.alive
    return lanes


@operation("bar.warp.sync")
def bar_warp(instruction: Instruction, context: Context) -> Operation:
    members = context.value(instruction.operands[0], "u32", instruction)
    return Operation(lambda warp, group, mask: None, True, _member_lanes(members))


@operation("shfl.sync")
def shuffle(instruction: Instruction, context: Context) -> Operation:
    mode = instruction.opcode[2]
    target, source, lane, clamp, members = instruction.operands
    if mode not in ("bfly", "idx", "down", "up") or not isinstance(target, Register):
        raise PtxError(f"{instruction.where}: this form of shfl is not known to this simulator")
    into = context.value(target, "b32", instruction)
    get = context.value(source, "b32", instruction)
    by, limit = context.value(lane, "u32", instruction), context.value(clamp, "u32", instruction)
    own = np.arange(LANES)

    def run(warp, group, mask):
        b, c = by(warp).astype(np.int64) & 31, limit(warp).astype(np.int64)
        segment, top = (c >> 8) & 31, c & 31
        low = own & segment
        high = low | (top & ~segment)
        index = {"bfly": own ^ b, "idx": low | (b & ~segment), "down": own + b, "up": own - b}[mode]
        inside = index >= low if mode == "up" else index <= high
        index = np.where(inside, index, own)
        if not mask[index[mask]].all():
            raise SimulationFault("shfl reads a lane that does not take part")
        np.copyto(into(warp), get(warp)[index], where=mask)

    return Operation(run, True, _member_lanes(context.value(members, "u32", instruction)))


@operation("vote.sync")
def vote(instruction: Instruction, context: Context) -> Operation:
    mode, kind = instruction.opcode[2], instruction.opcode[-1]
    if (mode, kind) not in (("any", "pred"), ("all", "pred"), ("uni", "pred"), ("ballot", "b32")):
        raise PtxError(f"{instruction.where}: this form of vote is not known to this simulator")
    into = context.value(instruction.operands[0], kind, instruction)
    get = context.value(instruction.operands[1], "pred", instruction)
    members = context.value(instruction.operands[2], "u32", instruction)

    def run(warp, group, mask):
        voted = get(warp)[mask]
        if mode == "ballot":
            value = int(np.sum((get(warp) & mask).astype(np.uint64) << np.arange(LANES, dtype=np.uint64)))
        else:
            value = {"any": voted.any(), "all": voted.all(), "uni": voted.all() or not voted.any()}[mode]
        np.copyto(into(warp), value, where=mask, casting="unsafe")

    return Operation(run, True, _member_lanes(members))


@operation("elect.sync")
def elect(instruction: Instruction, context: Context) -> Operation:
    pair = instruction.operands[0]
    if not isinstance(pair, Vector) or len(pair.items) != 2:
        raise PtxError(f"{instruction.where}: elect.sync gives 'lane|predicate'")
    lane, chosen = (None if isinstance(item, Sink) else context.value(item, kind, instruction)
                    for item, kind in zip(pair.items, ("b32", "pred")))
    members = context.value(instruction.operands[1], "u32", instruction)

    def run(warp, group, mask):
        leader = int(np.argmax(mask))
        if lane:
            np.copyto(lane(warp), np.uint32(leader), where=mask)
        if chosen:
            np.copyto(chosen(warp), np.arange(LANES) == leader, where=mask)

    return Operation(run, True, _member_lanes(members))


@operation("activemask.b32")
def activemask(instruction: Instruction, context: Context) -> Operation:
    into = context.value(instruction.operands[0], "b32", instruction)

    def run(warp, mask):
        bits = (1 << LANES) - 1 if mask is None else sum(1 << int(lane) for lane in np.flatnonzero(mask))
        np.copyto(into(warp), np.uint32(bits), where=True if mask is None else mask)

    return Operation(run)
