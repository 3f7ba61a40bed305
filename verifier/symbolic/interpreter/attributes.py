"""Attributes and items of values, and the methods of Python's own containers and strings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Expr
from verifier.symbolic.interpreter import arithmetic, classes, coercions, names, pointers
from verifier.symbolic.interpreter.heap import (
    UNBOUND,
    DictBox,
    Item,
    ListBox,
    Many,
    ObjectBox,
    Segment,
)
from verifier.symbolic.interpreter.inputs import LazyShape, Parameter, RankConflictError
from verifier.symbolic.interpreter.terms import Renaming, join
from verifier.symbolic.machine import Arg, Call
from verifier.symbolic.pretty import pretty
from verifier.symbolic.trace import Buffer, DType, View
from verifier.symbolic.values import (
    ApiRef,
    BufferValue,
    Builtin,
    Class,
    EnumMember,
    ExternalRef,
    Function,
    Guarded,
    IndexGrid,
    IndexTensor,
    ModuleRef,
    Opaque,
    Range,
    Ref,
    SliceValue,
)
from verifier.symbolic.views import grid_part, index_subscript

if TYPE_CHECKING:
    from verifier.symbolic.interpreter.vm import VM


def get(vm: VM, owner: object, attr: str, span: Span) -> object:
    """``owner.attr``."""
    if isinstance(owner, Guarded):
        return arithmetic.lift1(vm, owner, lambda v: get(vm, v, attr, span))
    if isinstance(owner, ApiRef):
        value = vm.dialect.attribute(vm, owner, attr, span)
        return value if value is not None else Opaque(f"`{owner.name}.{attr}`")
    if isinstance(owner, ModuleRef):
        if owner.module is None:
            return names.external(vm, f"{owner.path}.{attr}")
        value = names.module_global(vm, owner.module, attr)
        if value is UNBOUND:
            sub = vm.project.resolve_from(owner.module, "", 1, attr)
            if sub is not None and sub[1] is None:
                return ModuleRef(str(sub[0].path), sub[0])
            return Opaque(f"`{attr}` of a module")
        return value
    if isinstance(owner, ExternalRef):
        return names.external(vm, f"{owner.path}.{attr}", owner.imported, owner.where)
    if isinstance(owner, Ref):
        return _object_attribute(vm, owner, attr, span)
    if isinstance(owner, View):
        return _tensor_attribute(vm, owner, attr, span)
    if isinstance(owner, Parameter):
        return _parameter_attribute(vm, owner, attr, span)
    if isinstance(owner, Class):
        value = classes.method(vm, owner, attr)
        if isinstance(value, Function):
            return classes.bound(value, owner, None)
        if attr == "__name__":
            return owner.definition.name
        return value if value is not UNBOUND else Opaque(f"`{owner.definition.name}.{attr}`")
    if isinstance(owner, EnumMember):
        return owner.value if attr == "value" else owner.name if attr == "name" else Opaque(attr)
    if isinstance(owner, IndexGrid):
        part = grid_part(owner, attr)
        return part if part is not None else Opaque(f"`.{attr}` of an index grid")
    if isinstance(owner, DType):
        if attr in ("name", "__name__"):
            return owner.name or Opaque("a dtype's name", harmless=True)
        return owner.itemsize if attr == "itemsize" else Opaque(f"`dtype.{attr}`")
    if isinstance(owner, str):
        return Builtin(attr, lambda *a: _string_method(owner, attr, a))
    if isinstance(owner, Range):
        return {"start": owner.start, "stop": owner.stop, "step": owner.step}.get(
            attr, Opaque(attr)
        )
    if isinstance(owner, SliceValue) and attr in ("start", "stop", "step"):
        return getattr(owner, attr)
    if isinstance(owner, BufferValue):
        return owner.buffer.value if attr in ("name", "value") else Opaque(f"`buffer.{attr}`")
    if isinstance(owner, Function) and attr == "__name__":
        return owner.qualname
    if isinstance(owner, (tuple, LazyShape)):
        return Builtin(attr, lambda *a: _tuple_method(vm, owner, attr, a, span))
    if isinstance(owner, Opaque):
        return owner
    return Opaque(f"`.{attr}` of {coercions.kind_name(owner)}")


def _tensor_attribute(vm: VM, view: View, attr: str, span: Span) -> object:
    value = vm.dialect.view_attribute(vm, view, attr, span)
    if attr == "ndim":
        vm.inputs.measured = True
    if value is not None:
        return value
    return Method(vm, view, attr)


class Method:
    """A bound method of a tensor; the dialect gives it meaning when it is called."""

    def __init__(self, vm: VM, view: View, name: str) -> None:
        self.view = view
        self.name = name
        self._vm = vm

    def call(self, call: Call) -> object:
        result = self._vm.dialect.view_method(self._vm, self.view, self.name, call)
        if result is None:
            self._vm.unmodelled(f"tensor.{self.name}", call.span)
            return Opaque(f"`.{self.name}()` of a tensor")
        return result


def _parameter_attribute(vm: VM, p: Parameter, attr: str, span: Span) -> object:
    if vm.api == "ppl":
        return pointers.attribute(vm, p, attr)
    if p.kind in (None, "tensor"):
        if attr == "shape":
            p.kind = "tensor"
            pinned = p.pinned is not None and p.pinned.shape is not None
            return vm.inputs.shape(p) if pinned else LazyShape(p)
        if attr == "dtype":
            p.kind = "tensor"
            return vm.inputs.dtype(p)
        if attr == "ndim":
            vm.inputs.measured = True
            return E.const(vm.inputs.rank_of(p))
        if attr == "buffer":
            p.kind = "tensor"
            return BufferValue(Buffer.HBM)
        if p.kind == "tensor" or attr in _TENSOR_METHODS:
            return _tensor_attribute(vm, vm.inputs.tensor(p), attr, span)
        return Opaque(f"`{p.name}.{attr}`")
    return Opaque(f"`{p.name}.{attr}`")


_TENSOR_METHODS = {"reshape", "ap", "view", "broadcast_to", "permute", "size", "expand_dims"}


def _object_attribute(vm: VM, ref: Ref, attr: str, span: Span) -> object:
    box = vm.heap.get(ref.id)
    if isinstance(box, ObjectBox):
        if attr in box.attributes:
            value = box.attributes[attr]
            if isinstance(value, Guarded):
                live = [(g, v) for g, v in arithmetic.live_cases(vm, value) if v is not UNBOUND]
                if len(live) == 1:
                    return live[0][1]
                return Guarded(tuple(live)) if live else Opaque(f"`.{attr}`, never set")
            return value
        if isinstance(box.cls, Class):
            found = classes.method(vm, box.cls, attr)
            if isinstance(found, Function):
                bound = classes.bound(found, box.cls, ref)
                if any(
                    classes._base_name(d) == "property"
                    for d in getattr(found.definition, "decorators", ())
                ):
                    from verifier.symbolic.interpreter import calls

                    return calls.call_function(vm, bound, (), {}, span)
                return bound
            if found is not UNBOUND:
                return found
            if attr == "__class__":
                return box.cls
        return Opaque(f"the attribute `.{attr}`")
    if isinstance(box, ListBox):
        return Builtin(attr, lambda *a: _list_method(vm, ref, attr, a, span))
    return Builtin(attr, lambda *a: _dict_method(vm, ref, attr, a, span))


# ------------------------------------------------------------------------ items


def item(vm: VM, owner: object, index: object, span: Span) -> object:
    """``owner[index]``."""
    if isinstance(owner, Guarded):
        return arithmetic.lift1(vm, owner, lambda v: item(vm, v, index, span))
    if isinstance(index, Guarded):
        return arithmetic.lift1(vm, index, lambda i: item(vm, owner, i, span))
    if isinstance(owner, View):
        return _tensor_item(vm, owner, index, span)
    if isinstance(owner, Parameter):
        return _parameter_item(vm, owner, index, span)
    if isinstance(owner, LazyShape):
        return _shape_item(vm, owner, index, span)
    if isinstance(owner, tuple):
        return _tuple_item(vm, owner, index, span)
    if isinstance(owner, Ref):
        box = vm.heap.get(owner.id)
        if isinstance(box, DictBox):
            return _dict_item(vm, box, index, span)
        if isinstance(box, ListBox):
            if isinstance(index, SliceValue):
                return _list_slice(vm, box, index, span)
            number = coercions.as_int(vm, index, span)
            if number is None:
                return Opaque("an item of a list")
            return list_item(vm, box, number, span)
        if isinstance(box, ObjectBox):
            return _object_item(vm, owner, box, index, span)
    if isinstance(owner, (IndexTensor,)):
        return index_subscript(vm, owner, index, span)
    if isinstance(owner, IndexGrid):
        number = coercions.as_int(vm, index, span)
        if number is not None and number.is_const and 0 <= number.const < len(owner.parts):
            return owner.parts[number.const]
        return Opaque("an item of an index grid")
    if isinstance(owner, ApiRef):
        return vm.dialect.api_subscript(vm, owner, index, span)
    if isinstance(owner, Function):
        return owner  # kernel[grid]: the launch grid is the callee's contract, not a value
    if isinstance(owner, Class):
        if isinstance(index, str):
            return get(vm, owner, index, span)
        return owner
    if isinstance(owner, str):
        number = index if isinstance(index, Expr) else None
        if number is not None and number.is_const and -len(owner) <= number.const < len(owner):
            return owner[number.const]
        return Opaque("part of a string", harmless=True)
    if isinstance(owner, Range):
        number = coercions.as_int(vm, index, span)
        return owner.start + owner.step * number if number is not None else Opaque("a range's item")
    if isinstance(owner, Opaque):
        return owner
    return Opaque(f"an item of {coercions.kind_name(owner)}")


def _tensor_item(vm: VM, view: View, index: object, span: Span) -> object:
    if isinstance(index, tuple) and any(isinstance(x, Guarded) for x in index):
        position = next(k for k, x in enumerate(index) if isinstance(x, Guarded))
        return arithmetic.lift1(
            vm,
            index[position],
            lambda x: _tensor_item(vm, view, (*index[:position], x, *index[position + 1 :]), span),
        )
    return vm.dialect.subscript(vm, view, index, span)


def _parameter_item(vm: VM, p: Parameter, index: object, span: Span) -> object:
    if (
        p.kind == "tuple"
        or isinstance(p.default, tuple)
        or (p.kind is None and p.annotation.startswith(("tuple", "Tuple", "list", "List")))
        or (p.pinned is not None and isinstance(p.pinned.value, tuple))
    ):
        if isinstance(index, Expr) and index.is_const:
            return vm.inputs.item(p, index.const)
        return Opaque(f"an item of `{p.name}`")
    if p.kind not in (None, "tensor"):
        return Opaque(f"an item of `{p.name}`")
    if p.rank is None and p.name not in vm.inputs.ranks:
        if isinstance(index, IndexGrid):
            index = index.parts
        arity = len(index) if isinstance(index, tuple) else 1
        if isinstance(index, tuple) and Ellipsis not in index:
            vm.inputs.settle_rank(p, arity)
        else:
            p.min_rank = max(p.min_rank, arity)
    return _tensor_item(vm, vm.inputs.tensor(p), index, span)


def _shape_item(vm: VM, shape: LazyShape, index: object, span: Span) -> object:
    p = shape.parameter
    if isinstance(index, Expr) and index.is_const and index.const >= 0:
        assumed = p.rank if p.rank is not None else vm.inputs.ranks.get(p.name)
        if assumed is not None and index.const >= assumed:
            if not vm.inputs.revisable(p):
                return _tuple_item(vm, vm.inputs.shape(p), index, span)
            raise RankConflictError(p.name, index.const + 1)
        p.min_rank = max(p.min_rank, index.const + 1)
        return vm.inputs.extent(p, index.const)
    return _tuple_item(vm, vm.inputs.shape(p), index, span)


def _tuple_item(vm: VM, items: tuple[object, ...], index: object, span: Span) -> object:
    if isinstance(index, SliceValue):
        bounds = _constant_slice(vm, index, span)
        return items[bounds] if bounds is not None else Opaque("a slice of a tuple")
    number = coercions.as_int(vm, index, span)
    if number is None:
        return Opaque("an item of a tuple")
    return list_item(vm, ListBox(tuple(Item(x) for x in items)), number, span)


def _constant_slice(vm: VM, index: SliceValue, span: Span) -> slice | None:
    parts: list[int | None] = []
    for part in (index.start, index.stop, index.step):
        if part is None:
            parts.append(None)
            continue
        number = coercions.as_int(vm, part, span)
        if number is None or not number.is_const:
            return None
        parts.append(number.const)
    return slice(*parts)


def list_item(vm: VM, box: ListBox, index: Expr, span: Span) -> object:
    """``list[index]``; an index outside the list is a violation."""
    length = box.length
    if index.is_const and index.const < 0:
        index = length + index.const
    low, _ = E.bounds(index)
    if not (index.is_const and length.is_const and 0 <= index.const < length.const):
        negative = E.truth(True) if low is not None and low >= 0 else E.ge(index, -length)
        vm.check(
            "list-index",
            E.and_(negative, E.lt(index, length)),
            span,
            f"{pretty(index)} < {pretty(length)}",
            f"list index `{pretty(index)}` is out of range",
            values=(("index", index), ("length", length)),
        )
    return _pick(vm, box.segments, index)


def _pick(vm: VM, segments: tuple[Segment, ...], index: Expr) -> object:
    if len(segments) == 1 and isinstance(segments[0], Many):
        return _of_run(vm, segments[0], index)
    position = E.const(0)
    cases: list[tuple[E.Bool, object]] = []
    for segment in segments:
        if isinstance(segment, Item):
            here = E.eq(index, position)
            value: object = segment.value
            position = position + 1
        else:
            here = E.and_(E.ge(index, position), E.lt(index, position + segment.length))
            if here is E.FALSE or vm.decide(here) is False:
                position = position + segment.length
                continue
            value = _of_run(vm, segment, index - position)
            position = position + segment.length
        if here is E.TRUE or vm.decide(here) is True:
            return value
        if here is not E.FALSE and vm.decide(here) is not False:
            cases.append((here, _known_where(vm, here, value)))
    if not cases:
        return Opaque("an item outside the list")
    result = cases[-1][1]
    for guard, value in reversed(cases[:-1]):
        result = join(guard, value, result)
    return result


def _known_where(vm: VM, here: E.Bool, value: object) -> object:
    """A value with the cases that ``here`` rules out left away, if one remains."""
    if not isinstance(value, Guarded):
        return value
    with vm.guarded(here):
        cases = arithmetic.live_cases(vm, value)
    return cases[0][1] if len(cases) == 1 else value


def _of_run(vm: VM, run: Many, index: Expr) -> object:
    width = len(run.values)
    if width == 1:
        value = Renaming(vm.heap, {run.index: index}).value(run.values[0])
        return settle(vm, value)
    trip, place = index // width, index % width
    result: object = UNBOUND
    for position in reversed(range(width)):
        value = Renaming(vm.heap, {run.index: trip}).value(run.values[position])
        here = E.eq(place, position)
        if here is E.FALSE:
            continue
        result = value if result is UNBOUND else join(here, value, result)
    return result


def settle(vm: VM, value: object) -> object:
    """A tile of a flattened nest of loops, its loop indices told apart where the facts allow it."""
    if isinstance(value, View) and any(
        isinstance(atom, E.Div) for part in value.instance for atom in part.atoms()
    ):
        return replace(value, instance=tuple(vm.settled(part) for part in value.instance))
    return value


def _list_slice(vm: VM, box: ListBox, index: SliceValue, span: Span) -> object:
    items = box.concrete
    bounds = _constant_slice(vm, index, span)
    if bounds is None:
        return Opaque("a slice of a list")
    if items is None:
        if bounds == slice(None, None, None):
            return vm.heap.new(ListBox(box.segments))
        return Opaque("a slice of a list of symbolic length")
    return vm.heap.new(ListBox(tuple(Item(x) for x in items[bounds])))


def key_of(value: object) -> object | None:
    """A value as a dictionary key, or None if it cannot be one."""
    if isinstance(value, Expr):
        return value.const if value.is_const else None
    if isinstance(value, (str, bool, float, EnumMember, tuple)):
        return value
    if isinstance(value, DType):
        return value.name
    return None


def _dict_item(vm: VM, box: DictBox, index: object, span: Span) -> object:
    key = key_of(index)
    if key is None:
        return Opaque("a dictionary item with a symbolic key")
    if key in box.items:
        return box.items[key]
    vm.check(
        "missing-key",
        E.FALSE,
        span,
        f"{key!r} in the dictionary",
        f"the dictionary has no key {key!r}",
    )
    vm.dies()
    return None


def _object_item(vm: VM, ref: Ref, box: ObjectBox, index: object, span: Span) -> object:
    from verifier.symbolic.interpreter import calls

    if isinstance(box.cls, Class):
        getter = classes.method(vm, box.cls, "__getitem__")
        if isinstance(getter, Function):
            return calls.call_function(vm, getter, (Arg(ref, span), Arg(index, span)), {}, span)
    return Opaque("an item of an object")


def store_item(vm: VM, ref: Ref, index: object, value: object, op: str | None, span: Span) -> None:
    """``ref[index] = value`` or ``ref[index] op= value`` for lists, dictionaries and objects."""
    box = vm.heap.get(ref.id)
    if isinstance(box, ListBox) and op is not None:
        number = coercions.as_int(vm, index, span)
        old = list_item(vm, box, number, span) if number is not None else Opaque("an item")
        if isinstance(old, View):
            vm.dialect.store(vm, old, value, op, span, span)
            return
        value = arithmetic.binary(vm, op, old, value, span)
    elif isinstance(box, DictBox) and op is not None:
        value = arithmetic.binary(vm, op, _dict_item(vm, box, index, span), value, span)
    box = vm.heap.write(ref.id)
    if isinstance(box, DictBox):
        key = key_of(index)
        if key is None:
            vm.approximate("opaque", "a dictionary item with a symbolic key is stored", span)
        else:
            box.items[key] = value
        return
    if isinstance(box, ListBox):
        _store_in_list(vm, box, index, value, span)
        return
    vm.approximate("opaque", "assignment to an item of an object", span)


def _store_in_list(vm: VM, box: ListBox, index: object, value: object, span: Span) -> None:
    number = coercions.as_int(vm, index, span)
    items = box.concrete
    if number is None or items is None:
        vm.approximate("opaque", "an item of a list of symbolic length is stored", span)
        return
    if number.is_const:
        position = number.const + len(items) if number.const < 0 else number.const
        if 0 <= position < len(items):
            segments = list(box.segments)
            segments[position] = Item(value)
            box.segments = tuple(segments)
        return
    box.segments = tuple(Item(join(E.eq(number, k), value, old)) for k, old in enumerate(items))


# ------------------------------------------------------------------------ methods


def append(vm: VM, ref: Ref, value: object) -> None:
    box = vm.heap.write(ref.id)
    assert isinstance(box, ListBox)
    box.segments = (*box.segments, Item(value))


def extend_list(vm: VM, ref: Ref, value: object, span: Span) -> None:
    """``list += value``."""
    segments = arithmetic._segments(vm, value)
    if segments is None:
        vm.approximate("opaque", "a list is extended by something that is not followed", span)
        return
    box = vm.heap.write(ref.id)
    if isinstance(box, ListBox):
        box.segments = (*box.segments, *segments)


def _list_method(vm: VM, ref: Ref, name: str, args: tuple[object, ...], span: Span) -> object:
    box = vm.heap.get(ref.id)
    assert isinstance(box, ListBox)
    if name in ("append", "add") and args:
        append(vm, ref, args[0])
        return None
    if name == "extend" and args:
        extend_list(vm, ref, args[0], span)
        return None
    items = box.concrete
    if items is None:
        if name == "copy":
            return vm.heap.new(ListBox(box.segments))
        return Opaque(f"`.{name}()` of a list of symbolic length")
    if name == "index" and args:
        for k, candidate in enumerate(items):
            if arithmetic.compare(vm, "==", candidate, args[0], span) is E.TRUE:
                return E.const(k)
        return None
    if name == "count":
        return E.const(len(items))
    writable = vm.heap.write(ref.id)
    assert isinstance(writable, ListBox)
    values = list(items)
    result: object = None
    if name == "pop":
        position = args[0].const if args and isinstance(args[0], Expr) and args[0].is_const else -1
        if values and -len(values) <= position < len(values):
            result = values.pop(position)
    elif name == "insert" and len(args) == 2 and isinstance(args[0], Expr) and args[0].is_const:
        values.insert(args[0].const, args[1])
    elif name == "reverse":
        values.reverse()
    elif name == "clear":
        values.clear()
    elif name == "remove" and args:
        values = [v for v in values if arithmetic.compare(vm, "==", v, args[0], span) is not E.TRUE]
    elif name == "copy":
        return vm.heap.new(ListBox(box.segments))
    elif name == "sort":
        numbers = [v.const for v in values if isinstance(v, Expr) and v.is_const]
        if len(numbers) != len(values):
            return Opaque("a sorted list")
        values = [E.const(n) for n in sorted(numbers)]
    else:
        return Opaque(f"`.{name}()` of a list")
    writable.segments = tuple(Item(v) for v in values)
    return result


def _dict_method(vm: VM, ref: Ref, name: str, args: tuple[object, ...], span: Span) -> object:
    box = vm.heap.get(ref.id)
    assert isinstance(box, DictBox)

    def back(key: object) -> object:
        return E.const(key) if isinstance(key, int) and not isinstance(key, bool) else key

    if name == "get" and args:
        key = key_of(args[0])
        return box.items.get(key, args[1] if len(args) > 1 else None)
    if name == "keys":
        return tuple(back(k) for k in box.items)
    if name == "values":
        return tuple(box.items.values())
    if name == "items":
        return tuple((back(k), v) for k, v in box.items.items())
    writable = vm.heap.write(ref.id)
    assert isinstance(writable, DictBox)
    if name == "update" and args:
        if isinstance(args[0], Ref):
            other = vm.heap.get(args[0].id)
            if isinstance(other, DictBox):
                writable.items.update(other.items)
                return None
        return Opaque("a dictionary update")
    if name == "setdefault" and args:
        key = key_of(args[0])
        return writable.items.setdefault(key, args[1] if len(args) > 1 else None)
    if name == "pop" and args:
        return writable.items.pop(key_of(args[0]), args[1] if len(args) > 1 else None)
    if name == "copy":
        return vm.heap.new(DictBox(dict(box.items)))
    return Opaque(f"`.{name}()` of a dictionary")


_STRING_METHODS = {
    "lower", "upper", "strip", "startswith", "endswith", "replace", "split", "join", "format",
    "lstrip", "rstrip", "find", "isdigit", "title", "capitalize",
}  # fmt: skip


def _string_method(text: str, name: str, args: tuple[object, ...]) -> object:
    if name in _STRING_METHODS and all(isinstance(a, str) for a in args) and name != "join":
        method: Callable[..., object] = getattr(text, name)
        try:
            result = method(*args)
        except (TypeError, ValueError, IndexError, KeyError):
            return Opaque("a string", harmless=True)
        if isinstance(result, bool):
            return E.truth(result)
        if isinstance(result, int):
            return E.const(result)
        return tuple(result) if isinstance(result, list) else result
    return Opaque("a string", harmless=True)


def _tuple_method(vm: VM, owner: object, name: str, args: tuple[object, ...], span: Span) -> object:
    items = coercions.as_items(vm, owner, span)
    if items is not None and args:
        hits = [
            k
            for k, x in enumerate(items)
            if arithmetic.compare(vm, "==", x, args[0], span) is E.TRUE
        ]
        if name == "index":
            return E.const(hits[0]) if hits else None
        if name == "count":
            return E.const(len(hits))
    return Opaque(f"`.{name}()` of a tuple")
