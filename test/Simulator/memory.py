"""Global memory and a CTA's shared memory, with the checks that hardware does not make.

Global memory is one array with guard bytes between the buffers; every access is checked against the
buffer's bounds, alignment and direction.

Shared memory keeps, for each 4-byte word, who wrote and who read it last, in vector clocks: an access
that no barrier orders after a conflicting one is an error in every schedule, not only in the unlucky
one. It also knows the words that asynchronous operations still read or write, and those that ordinary
stores wrote and no `fence.proxy.async` has published to the asynchronous proxy.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

GUARD = 4096
GUARD_BYTE = 0xA5
POISON_BYTE = 0xFF  # a NaN in f16, bf16 and f32


class SimulationFault(Exception):
    """The program did something undefined, or nothing at all any more."""


@dataclass
class Buffer:
    name: str
    address: int
    data: np.ndarray  # uint8 view into global memory
    writable: bool


class GlobalMemory:
    """Allocate everything first, then `seal`, then run."""

    BASE = 0x7F0000000000

    def __init__(self) -> None:
        self.buffers: list[Buffer] = []
        self.size = GUARD
        self.bytes = np.zeros(0, np.uint8)
        self.state = np.zeros(0, np.uint8)  # 0: guard, 1: readable, 2: also writable

    def allocate(self, name: str, size: int, writable: bool) -> Buffer:
        offset = (self.size + 255) // 256 * 256
        self.size = offset + size + GUARD
        buffer = Buffer(name, self.BASE + offset, np.zeros(size, np.uint8), writable)
        self.buffers.append(buffer)
        return buffer

    def seal(self) -> None:
        """Moves the buffers' contents behind their addresses."""
        self.bytes = np.full((self.size + 255) // 256 * 256, GUARD_BYTE, np.uint8)
        self.state = np.zeros(self.bytes.size, np.uint8)
        for buffer in self.buffers:
            start = buffer.address - self.BASE
            view = self.bytes[start:start + buffer.data.size]
            view[:] = buffer.data
            buffer.data = view
            self.state[start:start + buffer.data.size] = 2 if buffer.writable else 1

    def describe(self, address: int) -> str:
        for buffer in self.buffers:
            if buffer.address - GUARD < address < buffer.address + buffer.data.size + GUARD // 2:
                return (f"{buffer.name} has {buffer.data.size} bytes{'' if buffer.writable else ', read-only'}; "
                        f"byte {address - buffer.address}")
        return f"address {address:#x} is in no buffer"

    def index(self, address: np.ndarray, size: int, write: bool) -> np.ndarray:
        """Offsets of an access of `size` bytes at each address, checked."""
        offset = address.astype(np.int64) - self.BASE
        if (offset & (size - 1)).any():
            bad = int(address[(offset & (size - 1)) != 0][0])
            raise SimulationFault(f"misaligned global access of {size} bytes: {self.describe(bad)}")
        inside = (offset >= 0) & (offset < self.state.size)
        level = self.state[np.where(inside, offset, 0)]
        wrong = ~inside | (level < (2 if write else 1))
        if wrong.any():
            bad = int(address[wrong][0])
            raise SimulationFault(f"global {'write' if write else 'read'} out of bounds: {self.describe(bad)}")
        return offset

    def load(self, address: np.ndarray, size: int) -> np.ndarray:
        """Unsigned integers of `size` bytes (1, 2, 4, 8), or rows of 16 bytes."""
        offset = self.index(address, size, False)
        if size == 16:
            return self.bytes.reshape(-1, 16)[offset >> 4]
        return self.bytes.view(f"u{size}")[offset // size]

    def store(self, address: np.ndarray, values: np.ndarray) -> None:
        size = values.dtype.itemsize
        self.bytes.view(f"u{size}")[self.index(address, size, True) // size] = values


class SharedMemory:
    """One CTA's. Addresses are those of the shared window; the dynamic part starts at `BASE`, so that
    nothing rests on it being zero."""

    BASE = 1024

    def __init__(self, size: int, warps: int, async_agents: int):
        self.size = self.BASE + (size + 15) // 16 * 16
        words = self.size // 4
        self.bytes = np.full(self.size, POISON_BYTE, np.uint8)
        self.warps = warps
        # Agents: the warps, then one for each mbarrier that bulk copies complete on; the last stands
        # for "never written" and is known to everybody.
        self.agents = warps + async_agents + 1
        self.never = self.agents - 1
        self.writer = np.full(words, self.never, np.int16)
        self.write_time = np.zeros(words, np.int32)
        self.read_time = np.zeros((warps, words), np.int32)
        self.landing = np.zeros(words, np.uint16)  # asynchronous writes under way
        self.draining = np.zeros(words, np.uint16)  # asynchronous reads under way
        self.unpublished = np.zeros(words, np.int32)  # 1 + thread of an ordinary write, 0: published
        self.pending_publish: dict[int, list[tuple[np.ndarray, np.ndarray]]] = {}

    def new_clock(self) -> np.ndarray:
        clock = np.zeros(self.agents, np.int32)
        clock[self.never] = np.iinfo(np.int32).max
        return clock

    def words(self, address: np.ndarray, size: int) -> np.ndarray:
        """Words touched by accesses of `size` bytes, any shape, checked for bounds and alignment."""
        address = address.astype(np.int64)
        if (address & (size - 1)).any():
            raise SimulationFault(f"misaligned shared access of {size} bytes at "
                                  f"{int(address[(address & (size - 1)) != 0][0])}")
        if address.size and (address.min() < self.BASE or address.max() + size > self.size):
            bad = int(address.min()) if address.min() < self.BASE else int(address.max())
            raise SimulationFault(f"shared access of {size} bytes at {bad - self.BASE} of {self.size - self.BASE}")
        first = address >> 2
        return first if size <= 4 else (first[..., None] + np.arange(size // 4)).reshape(-1)

    def _place(self, words: np.ndarray, wrong: np.ndarray) -> str:
        word = int(words.reshape(-1)[np.flatnonzero(wrong.reshape(-1))[0]])
        return f"shared byte {word * 4 - self.BASE}"

    def check_read(self, clock: np.ndarray, words: np.ndarray, async_proxy: bool, what: str) -> None:
        """An error where the words may not be there yet for a reader with this clock."""
        busy = self.landing[words]
        if busy.any():
            raise SimulationFault(f"{what} reads {self._place(words, busy > 0)}, which an asynchronous copy "
                                  "still has to write; wait for that copy first")
        late = clock[self.writer[words]] < self.write_time[words]
        if late.any():
            word = words.reshape(-1)[np.flatnonzero(late.reshape(-1))[0]]
            raise SimulationFault(f"{what} reads {self._place(words, late)}, written by {self.agent(word)} with no "
                                  "barrier between that the reader has passed")
        if async_proxy and self.unpublished[words].any():
            wrong = self.unpublished[words] > 0
            thread = int(self.unpublished[words][wrong][0]) - 1
            raise SimulationFault(f"{what} reads {self._place(words, wrong)} through the asynchronous proxy, which "
                                  f"thread {thread} wrote without a fence.proxy.async after it")

    def check_write(self, clock: np.ndarray, words: np.ndarray, async_proxy: bool, what: str) -> None:
        """An error where somebody may still read, or has yet to write, what is there."""
        busy = self.draining[words]
        if busy.any():
            raise SimulationFault(f"{what} writes {self._place(words, busy > 0)}, which an asynchronous operation "
                                  "still reads (a wgmma or bulk store without its wait)")
        busy = self.landing[words]
        if busy.any():
            raise SimulationFault(f"{what} writes {self._place(words, busy > 0)}, which an asynchronous copy still "
                                  "has to write")
        late = clock[self.writer[words]] < self.write_time[words]
        if late.any():
            word = words.reshape(-1)[np.flatnonzero(late.reshape(-1))[0]]
            raise SimulationFault(f"{what} overwrites {self._place(words, late)}, written by {self.agent(word)} with "
                                  "no barrier between")
        flat = words.reshape(-1)
        early = self.read_time[:, flat] > clock[:self.warps, None]
        if early.any():
            warp, at = (int(item[0]) for item in np.nonzero(early))
            raise SimulationFault(f"{what} overwrites shared byte {int(flat[at]) * 4 - self.BASE}, which warp {warp} "
                                  "read with no barrier between")
        if async_proxy and self.unpublished[words].any():
            wrong = self.unpublished[words] > 0
            raise SimulationFault(f"{what} overwrites {self._place(words, wrong)} through the asynchronous proxy, "
                                  f"which thread {int(self.unpublished[words][wrong][0]) - 1} wrote without a "
                                  "fence.proxy.async after it")

    def agent(self, word: int) -> str:
        agent = int(self.writer[word])
        return f"warp {agent}" if agent < self.warps else f"a bulk copy of mbarrier {agent - self.warps}"

    def note_read(self, warp: int, clock: np.ndarray, words: np.ndarray) -> None:
        self.read_time[warp, words] = clock[warp]

    def note_write(self, agent: int, time: int, words: np.ndarray) -> None:
        self.writer[words] = agent
        self.write_time[words] = time

    def note_generic_write(self, warp: int, words: np.ndarray, threads: np.ndarray) -> None:
        """Ordinary stores: `threads` wrote `words` (same shape)."""
        self.unpublished[words] = threads + 1
        self.pending_publish.setdefault(warp, []).append((words, threads))

    def publish(self, warp: int, threads: np.ndarray) -> None:
        """fence.proxy.async by these threads of a warp."""
        kept = []
        for words, writers in self.pending_publish.pop(warp, []):
            mine = np.isin(writers, threads)
            own = words[mine]
            still = self.unpublished[own] == writers[mine] + 1
            self.unpublished[own[still]] = 0
            if not mine.all():
                kept.append((words[~mine], writers[~mine]))
        if kept:
            self.pending_publish[warp] = kept

    def load(self, address: np.ndarray, size: int) -> np.ndarray:
        if size == 16:
            return self.bytes.reshape(-1, 16)[address.astype(np.int64) >> 4]
        return self.bytes.view(f"u{size}")[address.astype(np.int64) // size]

    def store(self, address: np.ndarray, values: np.ndarray) -> None:
        size = values.dtype.itemsize
        self.bytes.view(f"u{size}")[address.astype(np.int64) // size] = values

    def store_rows(self, address: np.ndarray, rows: np.ndarray) -> None:
        """Rows of 16 bytes."""
        self.bytes.reshape(-1, 16)[address.astype(np.int64) >> 4] = rows
