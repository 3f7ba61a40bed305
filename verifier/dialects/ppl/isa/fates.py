"""Which element of an operand goes into which element of a result, and under which sizes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from msgspec.structs import replace

from verifier.dialects.ppl.isa.shared import Part, flag
from verifier.symbolic import expr as E
from verifier.symbolic.effects import (
    ALL,
    ALWAYS,
    SOME,
    Among,
    Call,
    Carried,
    Decides,
    Folded,
    Index,
    Line,
    Reads,
    When,
    Where,
)
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.streams import as_many, in_order
from verifier.symbolic.tensors import View

Source = Callable[[Call, Index], Index | None]
Fits = Callable[[Call], Bool]

#: a condition that is undefined makes the choice a matter of chance
CONDITION: Final = Decides("it is a condition")
INDEX: Final = Decides("it is an index")
_ZERO: Final = E.const(0)
_ONE: Final = E.const(1)


def _both(call: Call, role: str, to: str) -> tuple[View, View] | None:
    """An operand and a result of as many axes."""
    view, made = call.view(role), call.view(to)
    if view is None or made is None or view.rank != made.rank:
        return None
    return view, made


def _along(own: Expr, other: Expr, at: Expr) -> Expr:
    """Where along an axis of an operand the element is that goes with ``at`` of the result: the
    one element of it goes with all."""
    if own is other:
        return at
    return _ZERO if own is _ONE else E.ite(E.eq(own, 1), _ZERO, at)


def alike(role: str, to: str) -> tuple[Source, Fits]:
    """The element at the same place; what has one element along an axis is repeated there."""

    def source(call: Call, index: Index) -> Index | None:
        found = _both(call, role, to)
        if found is None:
            return None
        view, made = found
        axes = zip(view.shape, made.shape, index, strict=True)
        return tuple(_along(own, other, at) for own, other, at in axes)

    def fits(call: Call) -> Bool:
        found = _both(call, role, to)
        if found is None:
            return E.FALSE
        pairs = zip(found[0].shape, found[1].shape, strict=True)
        return E.and_(*(E.or_(E.eq(own, other), E.eq(own, 1)) for own, other in pairs))

    return source, fits


def counted(role: str, to: str) -> tuple[Source, Fits]:
    """The element that is as far from the first one, row by row, whatever the shapes (TPU-F01)."""

    def source(call: Call, index: Index) -> Index | None:
        view, made = call.view(role), call.view(to)
        return None if view is None or made is None else in_order(view.shape, made.shape, index)

    def fits(call: Call) -> Bool:
        view, made = call.view(role), call.view(to)
        return E.FALSE if view is None or made is None else as_many(view.shape, made.shape)

    return source, fits


def permuted(order: Callable[[Call], tuple[int, ...]]) -> Callable[[str, str], tuple[Source, Fits]]:
    """With the axes exchanged: axis ``k`` of the result is axis ``order[k]`` of the operand."""

    def of(role: str, to: str) -> tuple[Source, Fits]:
        def source(call: Call, index: Index) -> Index | None:
            axes = order(call)
            if len(index) != len(axes):
                return None
            return tuple(index[axes.index(k)] for k in range(len(axes)))

        def fits(call: Call) -> Bool:
            found, axes = _both(call, role, to), order(call)
            if found is None or found[0].rank != len(axes):
                return E.FALSE
            view, made = found
            return E.and_(*(E.eq(made.shape[k], view.shape[axis]) for k, axis in enumerate(axes)))

        return source, fits

    return of


def backwards(axis: str) -> Callable[[str, str], tuple[Source, Fits]]:
    """From the last one to the first along the axis that an operand of the call names."""

    def of(role: str, to: str) -> tuple[Source, Fits]:
        same, fits = alike(role, to)

        def source(call: Call, index: Index) -> Index | None:
            given, view = call.value(axis), call.view(role)
            found = same(call, index)
            if not isinstance(given, Expr) or not given.is_const or view is None or found is None:
                return None
            if not 0 <= given.const < len(found):
                return None
            at = view.shape[given.const] - 1 - found[given.const]
            return (*found[: given.const], at, *found[given.const + 1 :])

        return source, fits

    return of


def of_channel(role: str, to: str) -> tuple[Source, Fits]:
    """The number of a channel, which goes into all elements of it."""

    def source(call: Call, index: Index) -> Index | None:
        view = call.view(role)
        if view is None or view.rank != len(index):
            return None
        return tuple(at if k == 1 else _ZERO for k, at in enumerate(index))

    def fits(call: Call) -> Bool:
        found = _both(call, role, to)
        if found is None or found[0].rank < 2:
            return E.FALSE
        view, made = found
        rest = (E.eq(size, 1) for k, size in enumerate(view.shape) if k != 1)
        return E.and_(E.eq(view.shape[1], made.shape[1]), *rest)

    return source, fits


def carried(
    role: str,
    how: Callable[[str, str], tuple[Source, Fits]] = alike,
    *,
    to: str = "dst",
    where: Where = ALL,
    when: When = ALWAYS,
    moved: bool = False,
) -> Reads:
    """A read whose elements go into those of ``to``; ``moved``: as they are."""
    source, fits = how(role, to)
    return Reads(role=role, fate=Carried(source, to, moved, fits), where=where, when=when)


def goes_on(
    part: Part,
    how: Callable[[str, str], tuple[Source, Fits]] = alike,
    *,
    to: str = "dst",
    where: Where = ALL,
    moved: bool = False,
) -> Part:
    """A part whose elements go into those of ``to``: ``how`` says which into which."""
    reads = (carried(e.role, how, to=to, where=where, when=e.when, moved=moved) for e in part.reads)
    return replace(part, reads=tuple(reads))


def chosen(part: Part, to: str = "dst") -> Part:
    """A part whose elements go on where the data says so."""
    return goes_on(part, to=to, where=SOME)


def picked(part: Part, to: str = "dst") -> Part:
    """A part of which an index says which elements go on."""
    fate = Carried(lambda call, index: None, to)
    reads = tuple(replace(entry, fate=fate, where=SOME) for entry in part.reads)
    return replace(part, reads=reads)


def decides(part: Part, why: Decides) -> Part:
    return replace(part, reads=tuple(replace(entry, fate=why) for entry in part.reads))


def absorbed(part: Part, other: str) -> Part:
    """A factor of integers, or a set of bits: a 0 of the ``other`` tensor leaves nothing of it."""
    tensors = When(f"{other} is a tensor", lambda call: E.truth(call.view(other) is not None))
    number = When(f"{other} is a number", lambda call: E.truth(call.view(other) is None))
    role = part.role.name
    return replace(
        part, reads=(carried(role, where=SOME, when=tensors), carried(role, when=number))
    )


def _settled(call: Call, role: str) -> bool | None:
    """Whether a flag is set, if that is known."""
    found = flag(call, role)
    return found is E.TRUE if found in (E.TRUE, E.FALSE) else None


def _lines_of(side: str, second: bool) -> tuple[Callable[[Call, Index], Line | None], Fits]:
    """The row of the left matrix, or the column of the right one, of which an element of a product
    is made. ``second``: rows lie along c (else along n) and columns along w (else along c and w).
    """

    def axes(call: Call) -> tuple[int, int] | None:
        """The axis that lines lie side by side along, of the operand and of the result."""
        flags = [_settled(call, name) for name in ("ltrans", "rtrans", "rst_trans")]
        if None in flags or not second:
            return None
        left, right, result = flags
        turned = result or (left and right)
        if side == "left":
            return 3 if left else 1, 3 if turned else 1
        return 1 if right else 3, 1 if turned else 3

    def line(call: Call, index: Index) -> Line | None:
        found = axes(call)
        if len(index) != 4:  # n, c, h and w
            return None
        if found is not None:
            own, other = found
            at = index[other]
            return (_ZERO, at, _ZERO, None) if own == 1 else (_ZERO, None, _ZERO, at)
        if second or _settled(call, "ltrans") is not False or _settled(call, "rtrans") is not False:
            return None
        n, *rest = index
        return (n, None, None, None) if side == "left" else (None, *rest)

    def fits(call: Call) -> Bool:
        views, found = _both(call, side, "dst"), axes(call)
        if views is None:
            return E.FALSE
        view, made = views
        if found is not None:
            return E.eq(view.shape[found[0]], made.shape[found[1]])
        lines = view.shape[:1], made.shape[:1]
        if side == "right":
            lines = view.shape[1:], made.shape[1:]
        return E.and_(*(E.eq(mine, other) for mine, other in zip(*lines, strict=True)))

    return line, fits


def multiplied(part: Part, *, second: bool) -> Part:
    """A matrix of a product: what is undefined in a row of the left one makes that row of the
    result undefined, and so of the right one with columns."""
    line, fits = _lines_of(part.role.name, second)
    fate = Folded(line, fits=fits)
    return replace(part, reads=tuple(replace(entry, fate=fate) for entry in part.reads))


def in_windows(part: Part, axes: int, known: Callable[[Call], bool], among: Among) -> Part:
    """A part of which each window goes into one number: what is undefined in a window makes that
    number undefined. ``axes``: so many go into those of the result one by one. ``known``: whether
    it can be told which windows there are."""
    role = part.role.name

    def line(call: Call, index: Index) -> Line | None:
        view = call.view(role)
        if view is None or view.rank != len(index) or not known(call):
            return None
        return tuple(at if k < axes else None for k, at in enumerate(index))

    def fits(call: Call) -> Bool:
        found = _both(call, role, "dst")
        if found is None:
            return E.FALSE
        pairs = zip(found[0].shape[:axes], found[1].shape[:axes], strict=True)
        return E.and_(*(E.eq(own, other) for own, other in pairs))

    fate = Folded(line, fits=fits, among=among)
    return replace(part, reads=tuple(replace(entry, fate=fate) for entry in part.reads))
