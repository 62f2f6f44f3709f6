"""Number formats of PTX on numpy arrays: bf16, packing, and the arithmetic that numpy has no name for.

Arrays hold one element per lane. Subnormals are flushed only where it shows (reciprocal, logarithm,
exponential); a flushed sum or product differs by less than 2⁻¹²⁶, which no comparison here sees.
"""

from __future__ import annotations

import numpy as np

SMALLEST_NORMAL = np.float32(2.0 ** -126)


def bf16_to_f32(bits: np.ndarray) -> np.ndarray:
    """uint16 bf16 bits → f32, exactly."""
    return (bits.astype(np.uint32) << 16).view(np.float32)


def f32_to_bf16(values: np.ndarray) -> np.ndarray:
    """f32 → uint16 bf16 bits, to nearest even; NaN becomes 0x7FFF as in PTX."""
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
    rounded = ((bits + (np.uint32(0x7FFF) + ((bits >> 16) & 1))) >> 16).astype(np.uint16)
    return np.where(np.isnan(values), np.uint16(0x7FFF), rounded)


def f16_to_f32(bits: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(bits).view(np.float16).astype(np.float32)


def f32_to_f16(values: np.ndarray) -> np.ndarray:
    """f32 → uint16 f16 bits, to nearest even; NaN becomes 0x7FFF as in PTX."""
    bits = values.astype(np.float16).view(np.uint16)
    return np.where(np.isnan(values), np.uint16(0x7FFF), bits)


def widen(bits: np.ndarray, kind: str) -> np.ndarray:
    """uint16 bits of `f16` or `bf16` → f32."""
    return bf16_to_f32(bits) if kind == "bf16" else f16_to_f32(bits)


def narrow(values: np.ndarray, kind: str) -> np.ndarray:
    return f32_to_bf16(values) if kind == "bf16" else f32_to_f16(values)


def unpack(words: np.ndarray, kind: str) -> np.ndarray:
    """uint32 [..., n] of packed pairs → f32 [..., 2 n], the low half first."""
    return widen(np.ascontiguousarray(words).view(np.uint16), kind)


def pack(high: np.ndarray, low: np.ndarray) -> np.ndarray:
    """Two uint16 → uint32."""
    return (high.astype(np.uint32) << 16) | low


def flush(values: np.ndarray) -> np.ndarray:
    """Subnormals → zeros of their sign."""
    return np.where(np.abs(values) < SMALLEST_NORMAL, np.copysign(np.float32(0), values), values)


def fma(a, b, c):
    """a · b + c in f64, rounded to f32: the product is exact, so only a tie of f64 rounds twice."""
    return np.add(np.multiply(a, b, dtype=np.float64), c).astype(np.float32)


def exp2(a):
    return flush(np.exp2(flush(a)))


def log2(a):
    return np.log2(flush(a))


def reciprocal(a):
    return flush(np.float32(1) / flush(a))


def rsqrt(a):
    return np.float32(1) / np.sqrt(flush(a))


def divide_unsigned(a, b):
    """Division by zero gives all ones, as the hardware does."""
    return np.where(b == 0, ~np.zeros_like(a), a // np.where(b == 0, 1, b))


def divide_signed(a, b):
    """Truncates towards zero."""
    safe = np.where(b == 0, 1, b)
    quotient = a // safe
    return np.where(b == 0, -1, quotient + ((quotient < 0) & (quotient * safe != a))).astype(a.dtype)


def remainder_unsigned(a, b):
    return np.where(b == 0, a, a % np.where(b == 0, 1, b))


def remainder_signed(a, b):
    return (a - divide_signed(a, b) * b).astype(a.dtype)


def multiply_high(a, b):
    """The high 32 bits of a product."""
    wide = np.int64 if a.dtype == np.int32 else np.uint64
    return (np.multiply(a, b, dtype=wide) >> wide(32)).astype(a.dtype)


def bit_field(a, position, length):
    """bfe: `length` bits from `position`, sign-extended for signed a."""
    position, length = position & 0xFF, length & 0xFF
    field = (a.astype(np.int64) >> np.minimum(position, 63).astype(np.int64))
    width = np.minimum(length, 32).astype(np.int64)
    mask = (np.int64(1) << width) - 1
    field = field & mask
    if a.dtype == np.int32:
        sign = (field >> np.maximum(width - 1, 0)) & 1
        field = np.where((sign == 1) & (width > 0), field | ~mask, field)
    return field.astype(a.dtype)


def to_integer(a, dtype):
    """f32 → integer towards zero, saturating; NaN gives zero."""
    limits = np.iinfo(dtype)
    wide = np.trunc(np.where(np.isnan(a), 0, a).astype(np.float64))
    return np.where(wide >= limits.max, limits.max,
                    np.where(wide <= limits.min, limits.min, np.clip(wide, -2.0**62, 2.0**62).astype(np.int64))
                    ).astype(dtype)
