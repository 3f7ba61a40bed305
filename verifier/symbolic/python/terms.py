"""Operations on whole values: equality, joining after a branch, renaming loop indices."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields, replace
from typing import Any

from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr, Substitution, Sym
from verifier.symbolic.lanes import SystemAddress
from verifier.symbolic.python import model
from verifier.symbolic.python.heap import (
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
    SetBox,
    StandIn,
    StateBox,
)
from verifier.symbolic.trace import Axis, DType, View
from verifier.symbolic.values import (
    DynamicSlice,
    Guarded,
    IndexGrid,
    IndexMask,
    IndexTensor,
    Range,
    Ratio,
    RecordValue,
    Ref,
    SliceValue,
)
from verifier.symbolic.views import substitute_view


def as_formula(value: object) -> Bool | None:
    """A truth value as a formula, or None if it is not one."""
    if isinstance(value, bool):
        return E.truth(value)
    return value if isinstance(value, Bool) else None


def presence(value: object) -> Bool:
    """When a value is there."""
    if value is UNBOUND:
        return E.FALSE
    if isinstance(value, Guarded):
        return E.not_(E.or_(*(guard for guard, item in value.cases if item is UNBOUND)))
    return E.TRUE


def some(count: Expr) -> Bool:
    """Whether a number, which is not negative, is not zero."""
    atom = count.as_atom()
    if isinstance(atom, E.Ite) and atom.then is E.const(1) and atom.other is E.const(0):
        return atom.test
    return E.gt(count, 0)


# ------------------------------------------------------------------------ joining


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
    return _choice(test, then, other)


def _choice(test: Bool, then: object, other: object) -> object:
    cases: list[tuple[Bool, object]] = []
    for guard, value in (*_cases(test, then), *_cases(E.not_(test), other)):
        if guard is E.FALSE:
            continue
        for position, (old, known) in enumerate(cases):
            if same(known, value):
                cases[position] = (E.or_(old, guard), known)
                break
            if isinstance(known, Expr) and isinstance(value, Expr):
                cases[position] = (E.or_(old, guard), E.ite(guard, value, known))
                break
        else:
            cases.append((guard, value))
    return cases[0][1] if len(cases) == 1 else Guarded(tuple(cases))


def _cases(test: Bool, value: object) -> list[tuple[Bool, object]]:
    if isinstance(value, Guarded):
        return [(E.and_(test, guard), item) for guard, item in value.cases]
    return [(test, value)]


# ------------------------------------------------------------------------ equality


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
    if type(a) is not type(b):
        return False
    if isinstance(a, float) and isinstance(b, float):
        return repr(a) == repr(b)  # nan is itself, 0.0 is not -0.0
    return bool(a == b)


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


def alike(left: Heap, a: object, right: Heap, b: object, depth: int = 0) -> bool:
    """As :func:`same`, for values in two heaps: other boxes are compared by their contents."""
    if a is b:
        return True
    if isinstance(a, Ref) and isinstance(b, Ref):
        if a.id == b.id:
            return True  # one box: what became of its contents is told apart on its own
        if depth > 20:
            return False
        x, y = left.get(a.id), right.get(b.id)
        return x is y or alike_box(left, x, right, y, depth + 1)
    if isinstance(a, Guarded) and isinstance(b, Guarded):
        return len(a.cases) == len(b.cases) and all(
            g is h and alike(left, x, right, y, depth)
            for (g, x), (h, y) in zip(a.cases, b.cases, strict=True)
        )
    if type(a) is type(b) and type(a) in _COMPOUND and not isinstance(a, (View, Guarded)):
        x_parts, y_parts = list(parts(a)), list(parts(b))
        if not any(isinstance(p, (Ref, tuple, Guarded)) for p in x_parts):
            return same(a, b)
        return (
            len(x_parts) == len(y_parts)
            and _shell(a) == _shell(b)
            and all(alike(left, p, right, q, depth) for p, q in zip(x_parts, y_parts, strict=True))
        )
    return same(a, b)


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


def alike_box(left: Heap, x: Box, right: Heap, y: Box, depth: int) -> bool:
    """Whether two boxes have the same contents."""
    if type(x) is not type(y):
        return False
    if isinstance(x, ListBox) and isinstance(y, ListBox):
        return len(x.segments) == len(y.segments) and all(
            alike_segments(left, s, right, t, depth)
            for s, t in zip(x.segments, y.segments, strict=True)
        )
    if isinstance(x, ObjectBox) and isinstance(y, ObjectBox):
        if x.cls is not y.cls or not alike(left, x.payload, right, y.payload, depth):
            return False
    if isinstance(x, StateBox) and isinstance(y, StateBox) and x.kind is not y.kind:
        return False
    if isinstance(x, Scope) and isinstance(y, Scope) and x.parent != y.parent:
        return False
    return _alike_entries(left, entries(x), right, entries(y), depth)


def _alike_entries(
    left: Heap, x: dict[Any, object], right: Heap, y: dict[Any, object], depth: int
) -> bool:
    return list(x) == list(y) and all(
        alike(left, value, right, y[key], depth) for key, value in x.items()
    )


def entries(box: Box) -> dict[Any, object]:
    """The values in a box by name or key (none of a list's)."""
    if isinstance(box, Scope):
        return box.names
    if isinstance(box, ObjectBox):
        return box.attributes
    if isinstance(box, StateBox):
        return box.fields
    if isinstance(box, (DictBox, SetBox)):
        return box.items
    return {}


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


# ------------------------------------------------------------------------ parts of values


def _of_dataclass(value: Any) -> Iterator[object]:
    return (getattr(value, f.name) for f in fields(value))


def _with_parts(value: Any, new: Iterator[object]) -> object:
    return replace(value, **{f.name: next(new) for f in fields(value)})


def _view_parts(value: View) -> Iterator[object]:
    yield from value.instance
    yield from value.coords
    yield from value.frame
    yield from value.shape
    yield value.mask
    yield value.dtype


def _axes_parts(value: IndexTensor | IndexMask) -> Iterator[object]:
    yield value.expr if isinstance(value, IndexTensor) else value.condition
    for _, axis in value.axes:
        yield axis.size


def _rebuild_index(value: Any, new: Iterator[object]) -> object:
    first = next(new)
    axes = tuple((p, Axis(a.symbol, next(new))) for p, a in value.axes)  # type: ignore[arg-type]
    if isinstance(value, IndexTensor):
        return IndexTensor(first, value.ndim, axes)  # type: ignore[arg-type]
    return IndexMask(first, value.ndim, axes)  # type: ignore[arg-type]


def _guarded_parts(value: Guarded) -> Iterator[object]:
    for guard, item in value.cases:
        yield guard
        yield item


def _rebuild_guarded(value: Guarded, new: Iterator[object]) -> object:
    cases: list[tuple[Bool, object]] = []
    for _ in value.cases:
        guard, item = next(new), next(new)
        assert isinstance(guard, Bool)
        if guard is not E.FALSE:
            cases.append((guard, item))
    if len(cases) == 1 or (cases and cases[0][0] is E.TRUE):
        return cases[0][1]
    return Guarded(tuple(cases))


def _function_parts(value: model.Function) -> Iterator[object]:
    yield value.closure
    for _, default in value.defaults:
        yield default


def _rebuild_function(value: model.Function, new: Iterator[object]) -> object:
    closure = next(new)
    assert closure is None or isinstance(closure, Ref)
    defaults = tuple((name, next(new)) for name, _ in value.defaults)
    return replace(value, closure=closure, defaults=defaults)


def _partial_parts(value: model.Partial) -> Iterator[object]:
    yield value.function
    yield from value.args
    for _, item in value.keywords:
        yield item


def _rebuild_partial(value: model.Partial, new: Iterator[object]) -> object:
    function, args = next(new), tuple(next(new) for _ in value.args)
    return replace(
        value,
        function=function,
        args=args,
        keywords=tuple((n, next(new)) for n, _ in value.keywords),
    )


def _generator_parts(value: model.GeneratorExpression) -> Iterator[object]:
    yield value.first
    yield value.scope


def _rebuild_generator(value: model.GeneratorExpression, new: Iterator[object]) -> object:
    first, scope = next(new), next(new)
    assert isinstance(scope, Ref)
    return replace(value, first=first, scope=scope)


_Parts = Callable[[Any], Iterator[object]]
_Rebuild = Callable[[Any, Iterator[object]], object]

#: values made of other values: what they are made of, and how they are made of other parts
_COMPOUND: dict[type, tuple[_Parts, _Rebuild]] = {
    tuple: (iter, lambda value, new: tuple(new)),
    Guarded: (_guarded_parts, _rebuild_guarded),
    DType: (_of_dataclass, _with_parts),
    Range: (
        lambda v: iter((v.start, v.stop, v.step)),
        lambda v, new: replace(v, start=next(new), stop=next(new), step=next(new)),
    ),
    Ratio: (_of_dataclass, _with_parts),
    DynamicSlice: (_of_dataclass, _with_parts),
    SliceValue: (_of_dataclass, _with_parts),
    IndexTensor: (_axes_parts, _rebuild_index),
    IndexMask: (_axes_parts, _rebuild_index),
    IndexGrid: (lambda v: iter(v.parts), lambda v, new: IndexGrid(tuple(new))),  # type: ignore[arg-type]
    SystemAddress: (lambda v: iter((v.offset,)), lambda v, new: replace(v, offset=next(new))),
    RecordValue: (
        lambda v: iter(v.fields),
        lambda v, new: replace(v, fields=tuple(new), places=None),
    ),
    View: (_view_parts, lambda value, new: value),
    model.Function: (_function_parts, _rebuild_function),
    model.Method: (_of_dataclass, _with_parts),
    model.BoundBuiltin: (
        lambda v: iter((v.self,)),
        lambda v, new: replace(v, self=next(new)),
    ),
    model.TensorMethod: (
        lambda v: iter((v.view,)),
        lambda v, new: replace(v, view=next(new)),
    ),
    model.Property: (_of_dataclass, _with_parts),
    model.StaticMethod: (_of_dataclass, _with_parts),
    model.ClassMethod: (_of_dataclass, _with_parts),
    model.Super: (_of_dataclass, _with_parts),
    model.AttributeDict: (_of_dataclass, _with_parts),
    model.Partial: (_partial_parts, _rebuild_partial),
    model.DictView: (lambda v: iter((v.ref,)), lambda v, new: replace(v, ref=next(new))),
    model.GeneratorExpression: (_generator_parts, _rebuild_generator),
}


def parts(value: object) -> Iterable[object]:
    """The values that an immutable value is made of."""
    found = _COMPOUND.get(type(value))
    return () if found is None else found[0](value)


def box_parts(box: Box) -> Iterator[object]:
    """The values in a box."""
    if isinstance(box, ListBox):
        for segment in box.segments:
            if isinstance(segment, Item):
                yield segment.value
            else:
                yield segment.count
                yield from segment.values
        return
    yield from entries(box).values()
    if isinstance(box, (DictBox, SetBox)):
        for key in box.items:
            if isinstance(key, StandIn):
                yield key.value
            elif isinstance(key, (Ref, tuple)):
                yield key
    if isinstance(box, ObjectBox):
        yield box.payload
    if isinstance(box, Scope) and box.parent is not None:
        yield Ref(box.parent)


def reachable(heap: Heap, values: Iterable[object]) -> dict[int, None]:
    """The boxes that some values lead to, in the order they are met."""
    found: dict[int, None] = {}
    stack = list(values)
    while stack:
        value = stack.pop()
        if isinstance(value, Ref):
            if value.id not in found:
                found[value.id] = None
                box = heap.find(value.id)
                if box is not None:
                    stack.extend(box_parts(box))
        elif isinstance(value, model.Class):
            stack.append(value.namespace)
        else:
            stack.extend(parts(value))
    return found


def mentions(
    value: object, symbols: frozenset[Sym], heap: Heap, seen: set[int] | None = None
) -> bool:
    """Whether a value depends on one of some symbols, also through lists and objects."""
    seen = set() if seen is None else seen
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, (Expr, Bool)):
            if not symbols.isdisjoint(item.free()):
                return True
        elif isinstance(item, Ref):
            if item.id not in seen:
                seen.add(item.id)
                box = heap.find(item.id)
                if box is not None:
                    stack.extend(box_parts(box))
        else:
            stack.extend(parts(item))
    return False


# ------------------------------------------------------------------------ renaming


class Renaming:
    """Replaces symbols in values; lists and objects that depend on them are copied.

    So are the ``fresh`` boxes, which each trip of a loop makes anew. The copies are ghosts: they
    can be read, a write to one would be lost. ``own``: the boxes that a trip makes anew; the
    others stay what they are, whatever they hold by then.
    """

    def __init__(
        self,
        heap: Heap,
        symbols: dict[Sym, Expr],
        fresh: frozenset[int] = frozenset(),
        *,
        own: frozenset[int] | None = None,
    ) -> None:
        self._own = own
        self._heap = heap
        self._symbols = frozenset(symbols)
        self._fresh = fresh
        self._substitution = Substitution(symbols)
        self._copies: dict[int, Ref] = {}

    def value(self, value: object) -> object:
        """The value with the symbols replaced."""
        if isinstance(value, Expr):
            return self._substitution.expr(value)
        if isinstance(value, Bool):
            return self._substitution.bool(value)
        if isinstance(value, View):
            return substitute_view(value, self._substitution)
        if isinstance(value, Ref):
            return self._ref(value)
        compound = _COMPOUND.get(type(value))
        if compound is None:
            return value
        old = list(compound[0](value))
        new = [self.value(part) for part in old]
        if all(x is y for x, y in zip(old, new, strict=True)):
            return value
        return compound[1](value, iter(new))

    def _ref(self, ref: Ref) -> Ref:
        if ref.id in self._copies:
            return self._copies[ref.id]
        if not self._depends(ref):
            return ref
        box = self._heap.get(ref.id)
        if self._own is not None and ref.id not in self._own and not box.ghost:
            return ref
        box = box.copy()
        box.ghost = True
        copy = self._heap.new(box)
        self._copies[ref.id] = copy
        self._rename_box(box)
        return copy

    def _depends(self, ref: Ref) -> bool:
        if self._fresh and any(n in self._fresh for n in reachable(self._heap, (ref,))):
            return True
        return mentions(ref, self._symbols, self._heap)

    def _rename_box(self, box: Box) -> None:
        if isinstance(box, ListBox):
            box.segments = tuple(self.segment(x) for x in box.segments)
        elif isinstance(box, (DictBox, SetBox)):
            box.items = {self._key(k): self.value(v) for k, v in box.items.items()}
        else:
            held = entries(box)
            for key, value in list(held.items()):
                held[key] = self.value(value)
        if isinstance(box, ObjectBox):
            box.payload = self.value(box.payload)

    def _key(self, key: object) -> object:
        if isinstance(key, StandIn):
            return StandIn(key.key, self.value(key.value))
        return self.value(key) if isinstance(key, (Ref, tuple)) else key

    def segment(self, segment: Segment) -> Segment:
        if isinstance(segment, Item):
            return Item(self.value(segment.value))
        count = self._substitution.expr(segment.count)
        return replace(segment, count=count, values=tuple(self.value(v) for v in segment.values))
