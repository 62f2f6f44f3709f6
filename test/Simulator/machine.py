"""Runs a kernel: CTAs one after the other, the warps of a CTA in a random order, lanes in lockstep
where they stand at the same instruction.

Divergent lanes of a warp form groups, each with its place; the group furthest back runs first, so
that groups meet again. Instructions that need lanes together wait for them. A warp runs a random
number of segments before another is chosen, and asynchronous copies land at random times, all from
one seed: a race shows as an error (memory.py) or as another result under another seed.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from arithmetic import LANES
from memory import GlobalMemory, SharedMemory, SimulationFault
from program import Operation, Program, Segment, Wait

PARAMETER_BASE = 0x100000000
ASYNC_AGENTS = 64
LONGEST_QUANTUM = 40  # segments
LONGEST_FLIGHT = 60  # quanta until an asynchronous copy lands


@dataclass
class Launch:
    """What a launch is made of, as the driver gets it."""
    program: Program
    grid: int
    block: int
    shared_bytes: int
    parameters: np.ndarray  # uint8
    tensor_maps: dict[int, object]  # by offset in the parameters
    memory: GlobalMemory


class Group:
    """Lanes of a warp at one place."""

    def __init__(self, place: int, mask: np.ndarray):
        self.place = place
        self.mask = mask
        self.wait: Wait | None = None
        self.token: object = None  # of a barrier arrived at


@dataclass
class Counts:
    instructions: int = 0
    by_name: dict[str, int] = field(default_factory=dict)
    ctas: int = 0


class Warp:
    """Registers, lanes and what is in flight of 32 threads."""

    def __init__(self, cta: "Cta", number: int):
        self.cta = cta
        self.number = number
        self.at = None  # the instruction being executed, for messages
        self.alive = np.arange(LANES) + number * LANES < cta.launch.block
        self.groups = [Group(0, self.alive.copy())]
        self.clock = cta.shared.new_clock()
        self.clock[number] = 1
        self.wgmma = None  # matrix state, made on first use
        self.copies: list = []  # cp.async not committed
        self.copy_groups: list[list] = []
        self.bulk: dict[int, list] = {}  # lane → bulk store groups, the open one last
        self._make_registers()
        self._specials: dict[str, np.ndarray] = {}

    def _make_registers(self) -> None:
        counts = self.cta.launch.program.kernel.register_counts
        rng = self.cta.rng
        # Registers start as NaN, predicates at random: what is never written must not matter.
        files = {16: np.full((counts.get(16, 0), LANES), 0x7FFF, np.uint16),
                 32: np.full((counts.get(32, 0), LANES), 0x7FFFDEAD, np.uint32),
                 64: np.full((counts.get(64, 0), LANES), 0x7FFFDEAD7FFFDEAD, np.uint64)}
        self.files = files
        self.P = list(rng.integers(0, 2, (counts.get(1, 0), LANES)).astype(bool))
        self.UH, self.SH, self.H = list(files[16]), list(files[16].view(np.int16)), list(files[16].view(np.float16))
        self.U, self.S, self.F = list(files[32]), list(files[32].view(np.int32)), list(files[32].view(np.float32))
        self.UQ, self.SQ, self.D = list(files[64]), list(files[64].view(np.int64)), list(files[64].view(np.float64))

    @property
    def threads(self) -> np.ndarray:
        return np.arange(LANES) + self.number * LANES

    def special(self, name: str) -> np.ndarray:
        known = self._specials.get(name)
        if known is None:
            launch = self.cta.launch
            values = {"tid.x": self.threads, "ntid.x": launch.block, "ctaid.x": self.cta.number,
                      "nctaid.x": launch.grid, "laneid": np.arange(LANES), "warpid": self.number,
                      "tid.y": 0, "tid.z": 0, "ctaid.y": 0, "ctaid.z": 0, "ntid.y": 1, "ntid.z": 1,
                      "nctaid.y": 1, "nctaid.z": 1, "clusterid.x": self.cta.number, "cluster_ctarank": 0,
                      "cluster_nctarank": 1}
            known = np.broadcast_to(np.asarray(values[name], np.uint32), (LANES,)).copy()
            self._specials[name] = known
        return known

    def release(self) -> np.ndarray:
        """This warp's clock, for others to acquire; what it does afterwards is later."""
        clock = self.clock.copy()
        self.clock[self.number] += 1
        return clock

    def acquire(self, clock: np.ndarray) -> None:
        np.maximum(self.clock, clock, out=self.clock)

    @property
    def done(self) -> bool:
        return not self.groups

    def runnable(self) -> bool:
        return any(group.wait is None or group.wait.ready() for group in self.groups)

    def run(self, quantum: int) -> None:
        """Executes up to `quantum` segments; stops early when every group waits."""
        program = self.cta.launch.program
        for _ in range(quantum):
            group = self._choose()
            if group is None:
                return
            if group.place >= len(program.segments):
                raise SimulationFault("ran past the end of the kernel")
            self._execute(program, program.segments[group.place], group)
            if len(self.groups) > 1:
                self._merge()

    def _choose(self) -> Group | None:
        best = None
        for group in self.groups:
            if group.wait is not None:
                if not group.wait.ready():
                    continue
                group.wait = None
            if best is None or group.place < best.place:
                best = group
        return best

    def _merge(self) -> None:
        places: dict[int, Group] = {}
        for group in self.groups:
            other = places.get(group.place)
            if other is not None and other.token is None and group.token is None:
                other.mask = other.mask | group.mask
                other.wait = None
            elif other is not None:
                places[-1 - len(places)] = group
            else:
                places[group.place] = group
        self.groups = list(places.values())

    def _execute(self, program: Program, segment: Segment, group: Group) -> None:
        first = segment.instructions[0]
        self.at = first
        whole = bool(group.mask.all())
        if self.wgmma is not None:
            self.wgmma.check(segment)
        if segment.kind == "run":
            program.compiled(segment, whole)(self, group.mask)
            group.place += 1
        elif segment.kind == "sync":
            if self._synchronise(segment, group, first):
                return
            group.place += 1
        else:
            mask = group.mask
            if first.guard:
                guard = self.P[first.guard.index]
                mask = mask & (~guard if first.guard_negated else guard)
            self._branch(segment, group, mask)
        segment.executed += 1

    def _synchronise(self, segment: Segment, group: Group, first) -> bool:
        """Runs a synchronising operation; true when it has to wait."""
        mask = group.mask
        if first.guard:
            guard = self.P[first.guard.index]
            mask = mask & (~guard if first.guard_negated else guard)
            if not mask.any():
                return False
        made: Operation = segment.operation
        if made.together is not None:
            needed = made.together(self, mask)
            if (needed & ~mask).any():
                self._await_lanes(segment, group, needed)
                return True
        wait = made.run(self, group, mask)
        if wait is not None:
            group.wait = wait
            return True
        return False

    def _await_lanes(self, segment: Segment, group: Group, needed: np.ndarray) -> None:
        """The lanes that are missing may still come: wait until the groups have changed."""
        others = [(id(other), other.place) for other in self.groups if other is not group]
        missing = ", ".join(str(lane) for lane in np.flatnonzero(needed & ~group.mask))
        if not others:
            raise SimulationFault(f"lanes {missing} of the warp are not here, and this instruction needs them")
        group.wait = Wait(lambda: others != [(id(o), o.place) for o in self.groups if o is not group],
                          f"for lanes {missing}")

    def _branch(self, segment: Segment, group: Group, taken: np.ndarray) -> None:
        if segment.kind == "end":
            self._leave(segment, group, taken)
            return
        if not taken.any():
            group.place += 1
        elif (taken == group.mask).all():
            group.place = segment.target
        else:
            self.groups.append(Group(segment.target, taken))
            group.mask = group.mask & ~taken
            group.place += 1

    def _leave(self, segment: Segment, group: Group, leaving: np.ndarray) -> None:
        if self.wgmma is not None and self.wgmma.busy:
            raise SimulationFault("a thread ends with a wgmma under way")
        for lane in np.flatnonzero(leaving):
            if any(not store.retired for entry in self.bulk.get(lane, []) for store in entry):
                raise SimulationFault(f"lane {lane} ends before its bulk stores have read shared memory; "
                                      "use cp.async.bulk.wait_group.read 0")
        self.alive = self.alive & ~leaving
        group.mask = group.mask & ~leaving
        group.place += 1
        self.groups = [g for g in self.groups if g.mask.any()]


class Cta:
    """One block: its shared memory, barriers, warps and what its copies still have to do."""

    def __init__(self, launch: Launch, number: int, rng: np.random.Generator):
        self.launch = launch
        self.number = number
        self.rng = rng
        count = (launch.block + LANES - 1) // LANES
        self.shared = SharedMemory(launch.shared_bytes, count, ASYNC_AGENTS)
        self.mbarriers: dict[int, object] = {}
        self.named_barriers: dict[int, object] = {}
        self.flights: list = []  # asynchronous operations not finished
        self.matrix_log: dict[int, list] = {}  # warpgroup → its wgmmas in order
        self.now = 0
        self.warps = [Warp(self, i) for i in range(count)]
        self.longest_flight = int(rng.integers(1, LONGEST_FLIGHT))

    def fly(self, flight) -> None:
        """Starts an asynchronous operation, which finishes at a random time."""
        flight.due = self.now + 1 + int(self.rng.integers(0, self.longest_flight))
        self.flights.append(flight)

    def finish(self, flight) -> None:
        if flight in self.flights:
            self.flights.remove(flight)
            flight.finish()

    def run(self) -> None:
        warps = list(self.warps)
        while warps:
            for flight in [f for f in self.flights if f.due <= self.now]:
                self.finish(flight)
            ready = [warp for warp in warps if warp.runnable()]
            if not ready:
                if not self.flights:
                    raise SimulationFault("deadlock: no warp can go on\n" + self.describe())
                self.now = min(f.due for f in self.flights)
                continue
            warp = ready[int(self.rng.integers(len(ready)))]
            try:
                warp.run(1 + int(self.rng.integers(LONGEST_QUANTUM)))
            except SimulationFault as fault:
                where = warp.at.where if warp.at else "?"
                raise SimulationFault(f"CTA {self.number}, warp {warp.number}, {where}: {fault}") from None
            if warp.done:
                warps.remove(warp)
            self.now += 1
        while self.flights:
            self.finish(self.flights[0])

    def describe(self) -> str:
        """Where every warp stands, and the state of the barriers."""
        lines = []
        for warp in self.warps:
            for group in warp.groups:
                segments = self.launch.program.segments
                place = segments[group.place].instructions[0].where if group.place < len(segments) else "the end"
                lines.append(f"  warp {warp.number}, {int(group.mask.sum())} lanes at {place}"
                             f"{' waits ' + group.wait.reason if group.wait else ''}")
        lines += [f"  {barrier}" for barrier in [*self.mbarriers.values(), *self.named_barriers.values()]]
        return "\n".join(lines)


def run_launch(launch: Launch, seed: int, ctas: list[int] | None = None) -> Counts:
    """Runs a grid. Raises SimulationFault at the first thing that is undefined."""
    if launch.program.kernel.max_threads is not None and launch.block > launch.program.kernel.max_threads:
        raise SimulationFault(f"{launch.block} threads are launched; .maxntid is {launch.program.kernel.max_threads}")
    numbers = list(range(launch.grid)) if ctas is None else ctas
    rng = np.random.default_rng(seed)
    counts = Counts(ctas=len(numbers))
    with np.errstate(all="ignore"):
        for number in rng.permutation(numbers):
            Cta(launch, int(number), rng).run()
    for segment in launch.program.segments:
        for instruction in segment.instructions:
            counts.instructions += segment.executed
            counts.by_name[instruction.name] = counts.by_name.get(instruction.name, 0) + segment.executed
        segment.executed = 0
    return counts
