"""Integer arithmetic of the compute engine: shifts, and saturating numbers packed into words.

In 4N-mode the bytes of a word are the numbers of four consecutive ``n``, in 2N-mode its halves
those of two (LAY-4N, LAY-2N).
"""

from __future__ import annotations

from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]

#: by bits and whether there is a sign
TYPES: Final = {
    (bits, signed): np.dtype(f"{'i' if signed else 'u'}{bits // 8}")
    for bits in (8, 16, 32)
    for signed in (False, True)
}


def shift(x: Array, by: Array | int, *, arithmetic: bool, bits: int = 32) -> Array:
    """Left by positive amounts, right by negative ones; sign fill or zero fill.

    Amounts lie in ``[-bits, bits]``. By the whole width of a word nothing moves (OKK-068).
    """
    kind = TYPES[bits, arithmetic]
    value = x.view(kind) if x.dtype.itemsize == kind.itemsize else x.astype(kind)
    amount = np.asarray(by).astype(np.int64)
    if bits == 32:
        amount = np.where(np.abs(amount) == bits, 0, amount)
    count = np.minimum(np.abs(amount), bits).astype(np.int64)
    wide = value.astype(np.int64)
    left = (wide << count).astype(kind)
    right = (wide >> count).astype(kind)
    return np.where(amount > 0, left, right).astype(kind)


def saturate(values: Array, bits: int, signed: bool) -> Array:
    """As the nearest number of that type."""
    kind = TYPES[bits, signed]
    info = np.iinfo(kind)
    return np.clip(values, info.min, info.max).astype(kind)


def rounded_shift(values: NDArray[np.int64], rshift: int) -> NDArray[np.int64]:
    """``(values + half) >> rshift`` (OKK-PK2)."""
    if rshift <= 0:
        return values
    return (values + (1 << (rshift - 1))) >> rshift


def unpack(words: Array, bits: int, signed: bool) -> Array:
    """Words ``(M, C, H, W)`` as the numbers ``(M * 32 / bits, C, H, W)`` in them."""
    m, c, h, w = words.shape
    count = 32 // bits
    each = np.ascontiguousarray(words).view(TYPES[bits, signed]).reshape(m, c, h, w, count)
    return np.moveaxis(each, 4, 1).reshape(m * count, c, h, w)


def pack(values: Array) -> NDArray[np.uint32]:
    """Numbers of 8 or 16 bits as words; what is missing in the last ones is zero."""
    n, c, h, w = values.shape
    count = 4 // values.dtype.itemsize
    m = -(-n // count)
    full = np.zeros((m * count, c, h, w), values.dtype)
    full[:n] = values
    each = np.ascontiguousarray(np.moveaxis(full.reshape(m, count, c, h, w), 1, 4))
    return each.view(np.uint32).reshape(m, c, h, w)
