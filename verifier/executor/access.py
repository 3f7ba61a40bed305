"""From views to elements: strides where coordinates are affine, positions where they are not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from verifier.executor.regions import Gather, Geometry, positions_of
from verifier.symbolic import expr as E
from verifier.symbolic.expr import TRUE, Bool, Expr
from verifier.symbolic.tensors import View

Values = Mapping[str, Any]


class NotConcreteError(Exception):
    """A term has a symbol without a value."""


def integer(term: Expr) -> int:
    """The value of a constant term.

    Raises:
        NotConcreteError: it is not constant.
    """
    if not term.is_const:
        raise NotConcreteError(repr(term))
    return term.const


def locate(view: View) -> Geometry | Gather:
    """Where the elements of an exact view lie.

    Raises:
        NotConcreteError: the view has symbols other than those of its axes.
    """
    place = affine(view)
    if view.mask is TRUE and place is not None:
        return place
    shape = tuple(integer(axis.size) for axis in view.axes)
    values = indices(view, shape)
    mask: NDArray[np.bool_] | None = None
    if view.mask is not TRUE:
        mask = np.broadcast_to(np.asarray(truth(view.mask, values), np.bool_), shape)
        if bool(mask.all()):
            if place is not None:
                return place
            mask = None
    if place is not None:
        positions = positions_of(place)
    else:
        total: Any = np.zeros(shape, np.int64)
        for size, coord in zip(view.frame, view.coords, strict=True):
            total = total * integer(size) + value(coord, values)
        positions = np.broadcast_to(np.asarray(total, np.int64), shape)
    if mask is not None:
        positions = np.where(mask, positions, 0)
    name = view.dtype.name
    assert name is not None
    return Gather(positions, mask, name)


def affine(view: View) -> Geometry | None:
    """Offset and strides of a view whose coordinates are linear in its axes, else None."""
    name = view.dtype.name
    assert name is not None
    shape = tuple(integer(axis.size) for axis in view.axes)
    place = {axis.symbol: k for k, axis in enumerate(view.axes)}
    strides = [0] * len(shape)
    offset = 0
    step = 1
    for size, coord in zip(reversed(view.frame), reversed(view.coords), strict=True):
        offset += step * coord.const
        for mono, coef in coord.terms:
            position = place.get(mono[0]) if len(mono) == 1 else None  # type: ignore[call-overload]
            if position is None:
                return None
            strides[position] += step * coef
        step *= integer(size)
    return Geometry(offset, shape, tuple(strides), name)


def indices(view: View, shape: tuple[int, ...]) -> dict[str, Any]:
    """The index arrays of a view's axes, by symbol."""
    out: dict[str, Any] = {}
    for k, (axis, size) in enumerate(zip(view.axes, shape, strict=True)):
        along = [1] * len(shape)
        along[k] = size
        out[axis.symbol.name] = np.arange(size, dtype=np.int64).reshape(along)
    return out


def value(term: Expr, values: Values) -> Any:
    """A term on arrays of values.

    Raises:
        NotConcreteError: a symbol has no value.
    """
    total: Any = term.const
    for mono, coef in term.terms:
        product: Any = coef
        for atom in mono:
            product = product * _atom(atom, values)
        total = total + product
    return total


def _atom(atom: E.Atom, values: Values) -> Any:
    if isinstance(atom, E.Sym):
        if atom.name not in values:
            raise NotConcreteError(atom.name)
        return values[atom.name]
    if isinstance(atom, E.Div):
        return value(atom.num, values) // value(atom.den, values)
    if isinstance(atom, E.Extremum):
        fold = np.minimum if atom.kind == "min" else np.maximum
        total = value(atom.args[0], values)
        for arg in atom.args[1:]:
            total = fold(total, value(arg, values))
        return total
    if isinstance(atom, E.Ite):
        return np.where(
            truth(atom.test, values), value(atom.then, values), value(atom.other, values)
        )
    if isinstance(atom, E.Table):
        table = dict(atom.values)
        return np.vectorize(table.__getitem__)(value(atom.index, values))
    raise NotConcreteError(repr(atom))


def truth(fact: Bool, values: Values) -> Any:
    """A formula on arrays of values.

    Raises:
        NotConcreteError: a symbol has no value.
    """
    if fact.kind is E.BoolKind.CONST:
        return fact is TRUE
    if fact.expr is not None:
        number = value(fact.expr, values)
        if fact.kind is E.BoolKind.LE:
            return number <= 0
        return number == 0 if fact.kind is E.BoolKind.EQ else number != 0
    if fact.kind is E.BoolKind.NOT:
        return np.logical_not(truth(fact.args[0], values))
    if fact.kind in E.JUNCTIONS:
        fold = np.logical_and if fact.kind is E.BoolKind.AND else np.logical_or
        total = truth(fact.args[0], values)
        for arg in fact.args[1:]:
            total = fold(total, truth(arg, values))
        return total
    raise NotConcreteError(fact.name)
