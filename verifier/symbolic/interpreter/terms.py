"""Operations on whole values: equality, joining after a branch, renaming loop indices."""

from __future__ import annotations

from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr, Substitution, Sym
from verifier.symbolic.interpreter.heap import (
    UNBOUND,
    Box,
    DictBox,
    Heap,
    Item,
    ListBox,
    Many,
    ObjectBox,
    Scope,
    Segment,
)
from verifier.symbolic.lanes import SystemAddress
from verifier.symbolic.trace import Axis, DType, View
from verifier.symbolic.values import (
    DynamicSlice,
    Guarded,
    IndexMask,
    IndexTensor,
    Range,
    Ratio,
    Ref,
    SliceValue,
)
from verifier.symbolic.views import substitute_view


def as_formula(value: object) -> Bool | None:
    """A truth value as a formula, or None if it is not one."""
    if isinstance(value, bool):
        return E.truth(value)
    return value if isinstance(value, Bool) else None


def join(test: Bool, then: object, other: object) -> object:
    """The value that is ``then`` if ``test`` holds, else ``other``."""
    if test is E.TRUE or same(then, other):
        return then
    if test is E.FALSE:
        return other
    if isinstance(then, Expr) and isinstance(other, Expr):
        return E.ite(test, then, other)
    left, right = as_formula(then), as_formula(other)
    if left is not None and right is not None:
        return E.or_(E.and_(test, left), E.and_(E.not_(test), right))
    if isinstance(then, DType) and isinstance(other, DType):
        return DType(E.ite(test, then.code, other.code))
    if isinstance(then, SystemAddress) and isinstance(other, SystemAddress):
        if then.storage is other.storage:
            return SystemAddress(then.storage, E.ite(test, then.offset, other.offset))
    if isinstance(then, tuple) and isinstance(other, tuple) and len(then) == len(other):
        return tuple(join(test, a, b) for a, b in zip(then, other, strict=True))
    cases: list[tuple[Bool, object]] = []
    for guard, value in (*_cases(test, then), *_cases(E.not_(test), other)):
        if guard is E.FALSE:
            continue
        for position, (old, known) in enumerate(cases):
            if same(known, value):
                cases[position] = (E.or_(old, guard), known)
                break
        else:
            cases.append((guard, value))
    return Guarded(tuple(cases))


def _cases(test: Bool, value: object) -> list[tuple[Bool, object]]:
    if isinstance(value, Guarded):
        return [(E.and_(test, guard), item) for guard, item in value.cases]
    return [(test, value)]


def same(a: object, b: object) -> bool:
    """Whether two values are certainly the same."""
    if a is b:
        return True
    if isinstance(a, View) and isinstance(b, View):
        return same_view(a, b)
    if isinstance(a, (Expr, Bool)) or isinstance(b, (Expr, Bool)):
        return False
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b, strict=True))
    if isinstance(a, Guarded) and isinstance(b, Guarded):
        return len(a.cases) == len(b.cases) and all(
            g is h and same(x, y) for (g, x), (h, y) in zip(a.cases, b.cases, strict=True)
        )
    return type(a) is type(b) and a == b


def alike(left: Heap, a: object, right: Heap, b: object, depth: int = 0) -> bool:
    """As :func:`same`, for values in two heaps: other boxes are compared by their contents."""
    if isinstance(a, Ref) and isinstance(b, Ref):
        if a.id == b.id:
            return True  # one box: what became of its contents is told apart on its own
        if depth > 20:
            return False
        x, y = left.get(a.id), right.get(b.id)
        return x is y or _alike_box(left, x, right, y, depth + 1)
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(
            alike(left, x, right, y, depth) for x, y in zip(a, b, strict=True)
        )
    if isinstance(a, Guarded) and isinstance(b, Guarded):
        return len(a.cases) == len(b.cases) and all(
            g is h and alike(left, x, right, y, depth)
            for (g, x), (h, y) in zip(a.cases, b.cases, strict=True)
        )
    return same(a, b)


def _alike_box(left: Heap, x: Box, right: Heap, y: Box, depth: int) -> bool:
    if isinstance(x, ListBox) and isinstance(y, ListBox):
        return len(x.segments) == len(y.segments) and all(
            alike_segments(left, s, right, t, depth)
            for s, t in zip(x.segments, y.segments, strict=True)
        )
    if isinstance(x, DictBox) and isinstance(y, DictBox):
        return x.items.keys() == y.items.keys() and all(
            alike(left, v, right, y.items[k], depth) for k, v in x.items.items()
        )
    if isinstance(x, ObjectBox) and isinstance(y, ObjectBox):
        return (
            x.cls is y.cls
            and x.attributes.keys() == y.attributes.keys()
            and all(alike(left, v, right, y.attributes[k], depth) for k, v in x.attributes.items())
        )
    return False


def alike_segments(left: Heap, s: Segment, right: Heap, t: Segment, depth: int = 0) -> bool:
    if isinstance(s, Item) and isinstance(t, Item):
        return alike(left, s.value, right, t.value, depth)
    if isinstance(s, Many) and isinstance(t, Many):
        if s.count is not t.count or len(s.values) != len(t.values):
            return False
        rename = Renaming(right, {t.index: E.from_atom(s.index)})
        return all(
            alike(left, v, right, rename.value(w), depth)
            for v, w in zip(s.values, t.values, strict=True)
        )
    return False


def same_view(a: View, b: View) -> bool:
    """Whether two views denote the same elements of the same tensor in the same order."""
    if a.storage is not b.storage or len(a.axes) != len(b.axes) or a.exact != b.exact:
        return False
    if len(a.frame) != len(b.frame) or not a.exact:
        return False
    rename = Substitution({x.symbol: y.index for x, y in zip(a.axes, b.axes, strict=True)})
    return (
        all(x is y for x, y in zip(a.instance, b.instance, strict=True))
        and all(x is y for x, y in zip(a.frame, b.frame, strict=True))
        and all(x.size is y.size for x, y in zip(a.axes, b.axes, strict=True))
        and all(rename.expr(x) is y for x, y in zip(a.coords, b.coords, strict=True))
        and rename.bool(a.mask) is b.mask
        and a.dtype == b.dtype
    )


def mentions(value: object, symbol: Sym, heap: Heap, seen: frozenset[int] = frozenset()) -> bool:
    """Whether a value depends on a symbol, also through lists and objects."""
    if isinstance(value, (Expr, Bool)):
        return symbol in value.free()
    if isinstance(value, View):
        exprs = (*value.instance, *value.coords, *value.frame, *value.shape)
        return symbol in value.mask.free() or any(symbol in e.free() for e in exprs)
    if isinstance(value, tuple):
        return any(mentions(item, symbol, heap, seen) for item in value)
    if isinstance(value, DType):
        return symbol in value.code.free()
    if isinstance(value, SystemAddress):
        return symbol in value.offset.free()
    if isinstance(value, Guarded):
        return any(symbol in g.free() or mentions(v, symbol, heap, seen) for g, v in value.cases)
    if isinstance(value, Range):
        return any(symbol in e.free() for e in (value.start, value.stop, value.step))
    if isinstance(value, Ratio):
        return symbol in value.num.free() or symbol in value.den.free()
    if isinstance(value, (DynamicSlice, SliceValue)):
        parts = (
            (value.start, value.size)
            if isinstance(value, DynamicSlice)
            else (value.start, value.stop, value.step)
        )
        return any(mentions(part, symbol, heap, seen) for part in parts)
    if isinstance(value, IndexTensor):
        return symbol in value.expr.free()
    if isinstance(value, IndexMask):
        return symbol in value.condition.free()
    if isinstance(value, Ref) and value.id not in seen:
        return box_mentions(heap.get(value.id), symbol, heap, seen | {value.id})
    return False


def box_mentions(box: Box, symbol: Sym, heap: Heap, seen: frozenset[int]) -> bool:
    if isinstance(box, ListBox):
        for segment in box.segments:
            if isinstance(segment, Item):
                if mentions(segment.value, symbol, heap, seen):
                    return True
            elif symbol in segment.count.free() or any(
                mentions(v, symbol, heap, seen) for v in segment.values
            ):
                return True
        return False
    if isinstance(box, DictBox):
        return any(mentions(v, symbol, heap, seen) for v in box.items.values())
    if isinstance(box, ObjectBox):
        return any(mentions(v, symbol, heap, seen) for v in box.attributes.values())
    return False


class Renaming:
    """Replaces symbols in values; lists and objects that mention them are copied."""

    def __init__(self, heap: Heap, symbols: dict[Sym, Expr]):
        self._heap = heap
        self._symbols = symbols
        self._substitution = Substitution(symbols)
        self._copies: dict[int, Ref] = {}

    def value(self, value: object) -> object:
        s = self._substitution
        if isinstance(value, Expr):
            return s.expr(value)
        if isinstance(value, Bool):
            return s.bool(value)
        if isinstance(value, View):
            return substitute_view(value, s)
        if isinstance(value, tuple):
            return tuple(self.value(item) for item in value)
        if isinstance(value, DType):
            return DType(s.expr(value.code))
        if isinstance(value, SystemAddress):
            return SystemAddress(value.storage, s.expr(value.offset))
        if isinstance(value, Guarded):
            cases = [(s.bool(g), self.value(v)) for g, v in value.cases]
            live = [(g, v) for g, v in cases if g is not E.FALSE]
            if len(live) == 1 or (live and live[0][0] is E.TRUE):
                return live[0][1]
            return Guarded(tuple(live))
        if isinstance(value, Range):
            return Range(
                s.expr(value.start), s.expr(value.stop), s.expr(value.step), value.kind, value.span
            )
        if isinstance(value, Ratio):
            return Ratio(s.expr(value.num), s.expr(value.den))
        if isinstance(value, DynamicSlice):
            return DynamicSlice(self.value(value.start), s.expr(value.size))
        if isinstance(value, SliceValue):
            return SliceValue(
                self.value(value.start), self.value(value.stop), self.value(value.step)
            )
        if isinstance(value, IndexTensor):
            axes = tuple((p, Axis(a.symbol, s.expr(a.size))) for p, a in value.axes)
            return IndexTensor(s.expr(value.expr), value.ndim, axes)
        if isinstance(value, IndexMask):
            axes = tuple((p, Axis(a.symbol, s.expr(a.size))) for p, a in value.axes)
            return IndexMask(s.bool(value.condition), value.ndim, axes)
        if isinstance(value, Ref):
            return self._ref(value)
        return value

    def _ref(self, ref: Ref) -> Ref:
        if ref.id in self._copies:
            return self._copies[ref.id]
        if not any(mentions(ref, symbol, self._heap) for symbol in self._symbols):
            return ref
        box = self._heap.get(ref.id)
        copy = self._heap.new(box.copy(self._heap.owner))
        self._copies[ref.id] = copy
        fresh = self._heap.get(copy.id)
        if isinstance(fresh, ListBox):
            fresh.segments = tuple(self.segment(x) for x in fresh.segments)
        elif isinstance(fresh, DictBox):
            fresh.items = {k: self.value(v) for k, v in fresh.items.items()}
        elif isinstance(fresh, ObjectBox):
            fresh.attributes = {k: self.value(v) for k, v in fresh.attributes.items()}
        elif isinstance(fresh, Scope):  # pragma: no cover - scopes are not values
            fresh.names = {k: self.value(v) for k, v in fresh.names.items()}
        return copy

    def segment(self, segment: Segment) -> Segment:
        if isinstance(segment, Item):
            return Item(self.value(segment.value))
        count = self._substitution.expr(segment.count)
        return Many(count, segment.index, tuple(self.value(v) for v in segment.values))


__all__ = [
    "UNBOUND",
    "Renaming",
    "alike",
    "alike_segments",
    "as_formula",
    "join",
    "mentions",
    "same",
    "same_view",
]
