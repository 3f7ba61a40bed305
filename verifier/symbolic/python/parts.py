"""What values are made of, and how they are made of other parts; what they lead to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from msgspec.structs import replace

from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr, Sym
from verifier.symbolic.lanes import SystemAddress
from verifier.symbolic.python import model
from verifier.symbolic.python.heap import (
    Box,
    DictBox,
    Heap,
    Item,
    ListBox,
    ObjectBox,
    Scope,
    SetBox,
    StandIn,
    StateBox,
)
from verifier.symbolic.tensors import Axis, DType, View
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
    Register,
    SliceValue,
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


# ------------------------------------------------------------------------ parts of values


def _of_struct(value: Any) -> Iterator[object]:
    return (getattr(value, name) for name in value.__struct_fields__)


def _with_parts(value: Any, new: Iterator[object]) -> object:
    return replace(value, **{name: next(new) for name in value.__struct_fields__})


def _view_parts(value: View) -> Iterator[object]:
    yield from value.instance
    yield from value.coords
    yield from value.frame
    yield from value.shape
    yield value.mask
    yield value.dtype
    yield from (held.register for held in value.held)


def _axes_parts(value: IndexTensor | IndexMask) -> Iterator[object]:
    yield value.expr if isinstance(value, IndexTensor) else value.condition
    for _, axis in value.axes:
        yield axis.size


def _rebuild_index(value: Any, new: Iterator[object]) -> object:
    first = next(new)
    axes = tuple((p, Axis(a.symbol, next(new))) for p, a in value.axes)  # type: ignore[arg-type]
    if isinstance(value, IndexTensor):
        return replace(value, expr=first, axes=axes)
    return replace(value, condition=first, axes=axes)


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
COMPOUND: dict[type, tuple[_Parts, _Rebuild]] = {
    tuple: (iter, lambda value, new: tuple(new)),
    Guarded: (_guarded_parts, _rebuild_guarded),
    DType: (_of_struct, _with_parts),
    Range: (
        lambda v: iter((v.start, v.stop, v.step)),
        lambda v, new: replace(v, start=next(new), stop=next(new), step=next(new)),
    ),
    Ratio: (_of_struct, _with_parts),
    DynamicSlice: (_of_struct, _with_parts),
    SliceValue: (_of_struct, _with_parts),
    IndexTensor: (_axes_parts, _rebuild_index),
    IndexMask: (_axes_parts, _rebuild_index),
    IndexGrid: (lambda v: iter(v.parts), lambda v, new: IndexGrid(tuple(new))),  # type: ignore[arg-type]
    SystemAddress: (lambda v: iter((v.offset,)), lambda v, new: replace(v, offset=next(new))),
    RecordValue: (
        lambda v: iter(v.fields),
        lambda v, new: replace(v, fields=tuple(new), places=None),
    ),
    View: (_view_parts, lambda value, new: value),
    Register: (
        lambda v: iter((v.place, v.held)),
        lambda v, new: replace(v, place=next(new), held=next(new)),
    ),
    model.Function: (_function_parts, _rebuild_function),
    model.Method: (_of_struct, _with_parts),
    model.BoundBuiltin: (
        lambda v: iter((v.self,)),
        lambda v, new: replace(v, self=next(new)),
    ),
    model.TensorMethod: (
        lambda v: iter((v.view,)),
        lambda v, new: replace(v, view=next(new)),
    ),
    model.Property: (_of_struct, _with_parts),
    model.StaticMethod: (_of_struct, _with_parts),
    model.ClassMethod: (_of_struct, _with_parts),
    model.Super: (_of_struct, _with_parts),
    model.AttributeDict: (_of_struct, _with_parts),
    model.Partial: (_partial_parts, _rebuild_partial),
    model.DictView: (lambda v: iter((v.ref,)), lambda v, new: replace(v, ref=next(new))),
    model.GeneratorExpression: (_generator_parts, _rebuild_generator),
}


def parts(value: object) -> Iterable[object]:
    """The values that an immutable value is made of."""
    found = COMPOUND.get(type(value))
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
