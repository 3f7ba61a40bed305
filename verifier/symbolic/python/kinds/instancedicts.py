"""``instance.__dict__``: the attributes of an instance, read and written as a dictionary."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from verifier.source.ir import Span
from verifier.symbolic.expr import Bool
from verifier.symbolic.machine import Arg, Call
from verifier.symbolic.python.builtin import Table
from verifier.symbolic.python.heap import UNBOUND, DictBox, ObjectBox
from verifier.symbolic.python.iteration import Iteration
from verifier.symbolic.python.kind import Kind
from verifier.symbolic.python.model import AttributeDict, BoundBuiltin, HostType
from verifier.symbolic.python.vm import VM
from verifier.symbolic.values import Ref

#: the method table
_TABLE: Final = "instance.__dict__"
#: methods that change nothing
_READING: Final = ("copy", "get", "items", "keys", "values")
_WRITING: Final = ("clear", "pop", "popitem", "setdefault", "update")


def snapshot(vm: VM, value: AttributeDict) -> Ref:
    """The attributes as they are now, as a dictionary of its own."""
    box = vm.box(value.instance)
    assert isinstance(box, ObjectBox)
    held: dict[object, object] = {
        name: item for name, item in box.attributes.items() if _is_attribute(box, name)
    }
    return vm.heap.new(DictBox(held))


def _is_attribute(box: ObjectBox, name: str) -> bool:
    """Whether what an instance keeps is an entry of its dictionary."""
    if name.startswith("<"):
        return False
    is_exception = isinstance(box.cls, HostType) and issubclass(box.cls.type, BaseException)
    return not (is_exception and name == "args")


class AttributeDictKind(Kind[VM]):
    """Reads go to the instance as it is, writes through to it."""

    name = "dict"
    complete = True

    def type_of(self, vm: VM, value: Any) -> object:
        return HostType(dict)

    def attribute(self, vm: VM, value: Any, name: str, span: Span) -> object:
        if name in DICT:
            return BoundBuiltin(_TABLE, name, value)
        if hasattr(dict, name):
            return vm.unfollowed(f"`.__dict__.{name}` is not followed", span)
        return UNBOUND

    def item(self, vm: VM, value: Any, index: object, span: Span) -> object:
        return vm.item(snapshot(vm, value), index, span)

    def set_item(self, vm: VM, value: Any, index: object, new: object, span: Span) -> None:
        copy = snapshot(vm, value)
        vm.set_item(copy, index, new, span)
        _write_back(vm, value, copy, span)

    def binary(self, vm: VM, op: str, left: Any, right: object, span: Span) -> object:
        copy = snapshot(vm, left)
        return vm.kind(copy).binary(vm, op, copy, right, span)

    def compare(self, vm: VM, op: str, left: Any, right: object, span: Span) -> object:
        copy = snapshot(vm, left)
        other = snapshot(vm, right) if isinstance(right, AttributeDict) else right
        return vm.kind(copy).compare(vm, op, copy, other, span)

    def contains(self, vm: VM, value: Any, item: object, span: Span) -> object:
        return vm.compare("in", item, snapshot(vm, value), span)

    def truth(self, vm: VM, value: Any, span: Span) -> Bool:
        return vm.truth(snapshot(vm, value), span)

    def length(self, vm: VM, value: Any, span: Span) -> object:
        return vm.length(snapshot(vm, value), span)

    def iterate(self, vm: VM, value: Any, span: Span) -> Iteration:
        return vm.iteration(snapshot(vm, value), span)

    def text(self, vm: VM, value: Any, how: str, span: Span) -> object:
        copy = snapshot(vm, value)
        return vm.kind(copy).text(vm, copy, how, span)


def _write_back(vm: VM, value: AttributeDict, copy: Ref, span: Span) -> None:
    changed = vm.heap.get(copy.id)
    assert isinstance(changed, DictBox)
    box = vm.write(value.instance, span)
    assert isinstance(box, ObjectBox)
    if not all(isinstance(name, str) for name in changed.items):
        vm.unfollowed("an attribute whose name is no string", span)
    kept = {n: v for n, v in box.attributes.items() if not _is_attribute(box, n)}
    box.attributes = {**kept, **{str(n): v for n, v in changed.items.items()}}


DICT: Final = Table(_TABLE)


def _through(name: str, *, writes: bool) -> Callable[..., object]:
    def handler(
        vm: VM, span: Span, self: AttributeDict, /, *args: object, **keywords: object
    ) -> object:
        copy = snapshot(vm, self)
        call = Call(
            tuple(Arg(arg, span) for arg in args),
            {key: Arg(arg, span) for key, arg in keywords.items()},
            span,
            name,
        )
        result = vm.invoke(vm.attribute(copy, name, span), call)
        if writes:
            _write_back(vm, self, copy, span)
        return result

    return handler


for _name in _READING:
    DICT.add(_name)(_through(_name, writes=False))
for _name in _WRITING:
    DICT.add(_name)(_through(_name, writes=True))

METHODS: Final[Mapping[str, Table]] = {_TABLE: DICT}
