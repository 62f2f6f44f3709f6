"""Inputs as a function of (seed, tensor, index): the same bits as the measuring core's Inputs.h.

Change one and the other must follow; test_worker.py compares them.
"""

from __future__ import annotations

TENSORS = {"q": 0, "k": 1, "v": 2}
_MASK = 0xFFFFFFFF
#: Elements made at once; eight bytes each while they are integers.
_CHUNK = 1 << 24


def _mix(x):
    x = x ^ (x >> 16)
    x = (x * 0x85EBCA6B) & _MASK
    x = x ^ (x >> 13)
    x = (x * 0xC2B2AE35) & _MASK
    return x ^ (x >> 16)


def value(seed: int, tensor: str, index: int) -> int:
    """The integer that is scaled to the value; plain Python, for tests."""
    high = _mix(((index >> 32) + seed * 0x9E3779B9 + TENSORS[tensor] * 0x85EBCA77) & _MASK)
    h = _mix((index & _MASK) ^ high)
    return sum((h >> s) & 255 for s in (0, 8, 16, 24)) - 510


def make(torch, shape, dtype, seed: int, tensor: str):
    """A tensor of `shape` on the current CUDA device, contiguous."""
    count = 1
    for n in shape:
        count *= n
    out = torch.empty(count, dtype=dtype, device="cuda")
    factor = torch.tensor(0.006765899, dtype=torch.float32, device="cuda")
    for start in range(0, count, _CHUNK):
        end = min(count, start + _CHUNK)
        # A chunk does not straddle a multiple of 2^32, since its size divides it.
        high = _mix(((start >> 32) + seed * 0x9E3779B9 + TENSORS[tensor] * 0x85EBCA77) & _MASK)
        i = torch.arange(start & _MASK, (start & _MASK) + end - start, device="cuda")
        h = _mix(i ^ high)
        total = (h & 255) + ((h >> 8) & 255) + ((h >> 16) & 255) + (h >> 24) - 510
        out[start:end] = (total.to(torch.float32) * factor).to(dtype)
    return out.view(shape)
