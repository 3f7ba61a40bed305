"""Layouts: the strides that a tensor has in each, and how storage modes pack its elements.

Strides count elements of what is stored: words of 4 bytes in the 4N and 2N modes, pairs of 8 bytes
in the 2IC mode (LAY-07). ``start_lane`` must be the lane of the tensor's address; alignment of the
address is an obligation of its own (LAY-06).

Every function serves plain integers and symbolic ones (:class:`~verifier.symbolic.expr.Expr`); a
plain argument may stand among symbolic ones.
"""

from __future__ import annotations

from typing import Final, overload

from verifier.layouts.address import Four, Number, align, ceildiv, channels_per_lane, one
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr

#: bytes that the compact layout wants an address to be a multiple of (LAY-K)
COMPACT_ALIGNMENT: Final = 4
#: bytes of a word of the 4N and 2N modes, and of a pair of the 2IC mode (LAY-07)
WORD_BYTES: Final = 4
PAIR_BYTES: Final = 8


# ------------------------------------------------------------------------------------- layouts


def continuous(shape: Four[Number]) -> Four[Number]:
    """System memory without gaps (LAY-C): ``(C*H*W, H*W, W, 1)``."""
    _, c, h, w = shape
    return c * h * w, h * w, w, one(w)


def aligned(
    lanes: int,
    eu_bytes: int,
    start_lane: Number | int,
    shape: Four[Number],
    itemsize: Number | int,
) -> Four[Number]:
    """Features padded to multiples of ``eu_bytes`` (LAY-A: "128-byte", "64-byte" aligned)."""
    _, c, h, w = shape
    feature = align(h * w, eu_bytes // itemsize)
    return channels_per_lane(lanes, start_lane, c) * feature, feature, w, one(w)


def compact(lanes: int, start_lane: Number | int, shape: Four[Number]) -> Four[Number]:
    """Features without padding (LAY-K)."""
    _, c, h, w = shape
    return channels_per_lane(lanes, start_lane, c) * h * w, h * w, w, one(w)


def row_aligned(
    lanes: int,
    eu_bytes: int,
    start_lane: Number | int,
    shape: Four[Number],
    itemsize: Number | int,
) -> Four[Number]:
    """Rows padded to multiples of ``eu_bytes`` (LAY-R: "line aligned")."""
    _, c, h, w = shape
    row = align(w, eu_bytes // itemsize)
    return channels_per_lane(lanes, start_lane, c) * h * row, h * row, row, one(w)


def matrix_shape(rows: Number, columns: Number, width: Number | int) -> Four[Number]:
    """The tensor that a matrix is, ``width`` columns to a channel; it is :func:`aligned` (LAY-M).

    Element ``(r, m)`` is ``(r, m div width, 0, m mod width)``. A vector is a matrix of one row
    (LAY-V).
    """
    return rows, ceildiv(columns, width), one(rows), columns * 0 + width


def last_channel_columns(columns: Number, width: Number | int) -> Number:
    """Columns in the last channel of a matrix, 1 to ``width``: also when ``width`` divides them
    (INC-10)."""
    return columns - (ceildiv(columns, width) - 1) * width


# ------------------------------------------------------------------------------- storage modes


def four_n(shape: Four[Number]) -> Four[Number]:
    """The words of an 8-bit tensor in 4N-mode, ``(ceil(N / 4), C, H, W)``: element ``(n, c, h, w)``
    is byte ``n mod 4`` of word ``(n div 4, c, h, w)`` (LAY-4N)."""
    return _packed(shape, 4)


def two_n(shape: Four[Number]) -> Four[Number]:
    """The words of a 16-bit tensor in 2N-mode, ``(ceil(N / 2), C, H, W)``: element ``(n, c, h, w)``
    is half ``n mod 2`` of word ``(n div 2, c, h, w)`` (LAY-2N)."""
    return _packed(shape, 2)


def two_ic(shape: Four[Number]) -> Four[Number]:
    """The pairs of fp32 weights ``[I, O, KH, KW]``, ``(ceil(I / 2), O, KH, KW)``: element
    ``(i, o, h, w)`` is half ``i mod 2`` of pair ``(i div 2, o, h, w)`` (LAY-2IC)."""
    return _packed(shape, 2)


def _packed(shape: Four[Number], group: int) -> Four[Number]:
    n, c, h, w = shape
    return ceildiv(n, group), c, h, w


def dummies(count: Number, group: int) -> Number:
    """Elements without a value in the last group: none when ``group`` divides them (INC-09)."""
    return (-count) % group


def grouped_ic(group: Number | int, shape: Four[Number]) -> Four[Number]:
    """Weights ``[I, O, KH, KW]`` in groups of input channels (LAY-gIC: 64IC, 32IC), as the compact
    tensor ``(1, O, KH * KW * ceil(I / g), g)`` that they are."""
    i, o, h, w = shape
    return one(o), o, h * w * ceildiv(i, group), i * 0 + group


def grouped_ic_index(group: Number | int, shape: Four[Number], index: Four[Number]) -> Four[Number]:
    """Element ``(i, o, h, w)`` of the weights as an element of :func:`grouped_ic`'s tensor."""
    _, _, kh, kw = shape
    i, o, h, w = index
    return i * 0, o, ((i // group) * kh + h) * kw + w, i % group


def grouped_ic_strides(group: Number | int, shape: Four[Number]) -> Four[Number]:
    """The strides that manuals give for the weights.

    From an output channel of a lane to the next ``g * KW * KH * ceil(I / g)``, from row to row
    ``g * KW``, from column to column ``g``. The first of the four repeats the second and makes no
    sense: input channels are innermost (INC-07).
    """
    i, _, h, w = shape
    channel = group * w * h * ceildiv(i, group)
    return channel, channel, group * w, w * 0 + group


def grouped_ic_distance(group: Number | int, shape: Four[Number]) -> Number:
    """Elements from one group of input channels to the next, in a lane."""
    return group * shape[2] * shape[3]


# ---------------------------------------------------------------------------------- comparison


@overload
def agree(strides: Four[int], others: Four[int], places: Four[int]) -> bool: ...
@overload
def agree(strides: Four[Expr], others: Four[Expr], places: Four[Expr]) -> Bool: ...
def agree(
    strides: Four[int] | Four[Expr],
    others: Four[int] | Four[Expr],
    places: Four[int] | Four[Expr],
) -> bool | Bool:
    """Whether two strides put a tensor in the same places: those that make no sense are not
    compared (LAY-01). ``places`` as for :func:`verifier.layouts.address.free_strides`."""
    first: tuple[int | Expr, ...] = strides
    second: tuple[int | Expr, ...] = others
    counts: tuple[int | Expr, ...] = places
    same = E.and_(
        *(
            E.or_(E.eq(count, 1), E.eq(a, b))
            for a, b, count in zip(first, second, counts, strict=True)
        )
    )
    return same if isinstance(places[0], Expr) else same is E.TRUE
