"""Equality of values in two heaps: what one trip or path left and what another did."""

from __future__ import annotations

from typing import Any

from verifier.symbolic import expr as E
from verifier.symbolic.python import model
from verifier.symbolic.python.heap import (
    Box,
    Heap,
    Item,
    ListBox,
    Many,
    ObjectBox,
    Scope,
    Segment,
    StateBox,
)
from verifier.symbolic.python.parts import COMPOUND, entries, parts
from verifier.symbolic.python.renaming import Renaming
from verifier.symbolic.python.terms import same
from verifier.symbolic.tensors import View
from verifier.symbolic.values import Guarded, Ref


def alike(
    left: Heap,
    a: object,
    right: Heap,
    b: object,
    depth: int = 0,
    *,
    before: Heap | None = None,
) -> bool:
    """As :func:`same`, for values in two heaps: other boxes are compared by their contents.

    The boxes of the heap ``before`` are objects of their own, whatever they contain.
    """
    if a is b:
        return True
    if isinstance(a, Ref) and isinstance(b, Ref):
        if a.id == b.id:
            return True  # one box: what became of its contents is told apart on its own
        if depth > 20 or _is_old(a, before) or _is_old(b, before):
            return False
        x, y = left.get(a.id), right.get(b.id)
        return x is y or alike_box(left, x, right, y, depth + 1, before)
    if isinstance(a, Guarded) and isinstance(b, Guarded):
        return len(a.cases) == len(b.cases) and all(
            g is h and alike(left, x, right, y, depth, before=before)
            for (g, x), (h, y) in zip(a.cases, b.cases, strict=True)
        )
    if type(a) is type(b) and type(a) in COMPOUND and not isinstance(a, (View, Guarded)):
        x_parts, y_parts = list(parts(a)), list(parts(b))
        if not any(isinstance(p, (Ref, tuple, Guarded)) for p in x_parts):
            return same(a, b)
        return (
            len(x_parts) == len(y_parts)
            and _shell(a) == _shell(b)
            and all(
                alike(left, p, right, q, depth, before=before)
                for p, q in zip(x_parts, y_parts, strict=True)
            )
        )
    return same(a, b)


def _is_old(ref: Ref, before: Heap | None) -> bool:
    return before is not None and before.find(ref.id) is not None


def _shell(value: object) -> object:
    """What a compound value is besides its parts."""
    if isinstance(value, model.Function):
        return id(value.definition)
    if isinstance(value, model.BoundBuiltin):
        return (value.type, value.name)
    if isinstance(value, model.TensorMethod):
        return value.name
    if isinstance(value, model.Partial):
        return tuple(name for name, _ in value.keywords)
    return None


def alike_box(
    left: Heap, x: Box, right: Heap, y: Box, depth: int, before: Heap | None = None
) -> bool:
    """Whether two boxes have the same contents."""
    if type(x) is not type(y):
        return False
    if isinstance(x, ListBox) and isinstance(y, ListBox):
        return len(x.segments) == len(y.segments) and all(
            alike_segments(left, s, right, t, depth, before=before)
            for s, t in zip(x.segments, y.segments, strict=True)
        )
    if isinstance(x, ObjectBox) and isinstance(y, ObjectBox):
        if x.cls is not y.cls:
            return False
        if not alike(left, x.payload, right, y.payload, depth, before=before):
            return False
    if isinstance(x, StateBox) and isinstance(y, StateBox) and x.kind is not y.kind:
        return False
    if isinstance(x, Scope) and isinstance(y, Scope) and x.parent != y.parent:
        return False
    return _alike_entries(left, entries(x), right, entries(y), depth, before)


def _alike_entries(
    left: Heap,
    x: dict[Any, object],
    right: Heap,
    y: dict[Any, object],
    depth: int,
    before: Heap | None,
) -> bool:
    return list(x) == list(y) and all(
        alike(left, value, right, y[key], depth, before=before) for key, value in x.items()
    )


def alike_segments(
    left: Heap,
    s: Segment,
    right: Heap,
    t: Segment,
    depth: int = 0,
    *,
    before: Heap | None = None,
) -> bool:
    """As :func:`alike`, for pieces of lists."""
    if isinstance(s, Item) and isinstance(t, Item):
        return alike(left, s.value, right, t.value, depth, before=before)
    if isinstance(s, Many) and isinstance(t, Many):
        if s.count is not t.count or len(s.values) != len(t.values):
            return False
        rename = Renaming(right, {t.index: E.from_atom(s.index)})
        return all(
            alike(left, v, right, rename.value(w), depth, before=before)
            for v, w in zip(s.values, t.values, strict=True)
        )
    return False
