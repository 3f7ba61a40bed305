"""Instances of classes: attributes, and operators through the special methods of the class."""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from typing import Any, Final

from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.machine import Call
from verifier.symbolic.python import attributes, hierarchy
from verifier.symbolic.python.heap import UNBOUND, ObjectBox
from verifier.symbolic.python.hierarchy import Inherited
from verifier.symbolic.python.iteration import Iteration
from verifier.symbolic.python.kind import Kind
from verifier.symbolic.python.kinds import protocols
from verifier.symbolic.python.model import Class, HostType
from verifier.symbolic.python.vm import VM
from verifier.symbolic.values import Opaque, Ref

#: the special methods of operators, without the underscores
_BINARY: Final = {
    "+": "add", "-": "sub", "*": "mul", "/": "truediv", "//": "floordiv", "%": "mod",
    "**": "pow", "@": "matmul", "<<": "lshift", ">>": "rshift", "&": "and", "|": "or", "^": "xor",
}  # fmt: skip
_UNARY: Final = {"-": "__neg__", "+": "__pos__", "~": "__invert__"}
_COMPARED: Final = {
    "==": "__eq__", "!=": "__ne__", "<": "__lt__", "<=": "__le__", ">": "__gt__", ">=": "__ge__",
}  # fmt: skip
_MIRRORED: Final = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}


#: types of which a value can be repeated
_REPEATED: Final = tuple(map(HostType, (str, bytes, bytearray, tuple, list)))


class ObjectKind(Kind[VM]):
    """Instances of classes of the project, exceptions, and objects of the standard library."""

    complete = True

    def type_of(self, vm: VM, value: Any) -> object:
        return _box(vm, value).cls

    def describe(self, vm: VM, value: Any) -> str:
        return f"an instance of {hierarchy.described(_box(vm, value).cls)}"

    # -- attributes and items ----------------------------------------------------------

    def attribute(self, vm: VM, value: Any, name: str, span: Span) -> object:
        return attributes.read(vm, value, name, span)

    def no_attribute(self, vm: VM, value: Any, name: str, span: Span) -> object:
        """A finding; with an object of the project on, as if it had been there."""
        box = _box(vm, value)
        if not isinstance(box.cls, Class):
            return super().no_attribute(vm, value, name, span)
        text = f"{self.describe(vm, value)} has no attribute `{name}`"
        known = {*box.attributes, *hierarchy.names_of(vm, box.cls)}
        return vm.absent(AttributeError, text, span, f"{box.cls.name}.{name}", known)

    def set_attribute(self, vm: VM, value: Any, name: str, new: object, span: Span) -> None:
        attributes.assign(vm, value, name, new, span)

    def item(self, vm: VM, value: Any, index: object, span: Span) -> object:
        cls = _box(vm, value).cls

        def inside(payload: object) -> object:
            if hierarchy.overrides(vm, cls, "__missing__"):
                return protocols.with_missing(vm, value, payload, index, span)
            return vm.item(payload, index, span)

        return self._asked(vm, value, "__getitem__", (index,), span, inside, "is not subscriptable")

    def set_item(self, vm: VM, value: Any, index: object, new: object, span: Span) -> None:
        name = "__delitem__" if new is UNBOUND else "__setitem__"
        args = (index,) if new is UNBOUND else (index, new)
        self._asked(
            vm,
            value,
            name,
            args,
            span,
            lambda payload: vm.set_item(payload, index, new, span),
            "does not support assignment to items",
        )

    def contains(self, vm: VM, value: Any, item: object, span: Span) -> object:
        def found(result: object) -> object:
            return result if isinstance(result, Opaque) else vm.truth(result, span)

        def one(attribute: object) -> object:
            if attribute is UNBOUND:
                return protocols.searched(vm, value, item, span)
            return found(
                self._asked(
                    vm,
                    value,
                    "__contains__",
                    (item,),
                    span,
                    lambda payload: vm.compare("in", item, payload, span),
                    "is not iterable",
                )
            )

        return hierarchy.split(vm, hierarchy.lookup(vm, _box(vm, value).cls, "__contains__"), one)

    # -- operators -----------------------------------------------------------------------

    def unary(self, vm: VM, op: str, value: Any, span: Span) -> object:
        return self._asked(
            vm,
            value,
            _UNARY[op],
            (),
            span,
            lambda payload: vm.unary(op, payload, span),
            f"has no unary `{op}`",
        )

    def binary(self, vm: VM, op: str, left: Any, right: object, span: Span) -> object:
        def inside(payload: object) -> object:
            other = content(vm, right)
            return vm.each(payload, lambda p: vm.kind(p).binary(vm, op, p, other, span))

        result = self._operator(vm, left, f"__{_BINARY[op]}__", right, span, inside)
        if result is NotImplemented and op == "*" and self._counts(vm, left, right):
            return vm.binary(op, protocols.converted(vm, left, "__index__", span), right, span)

        def other_side() -> object:
            answer = vm.kind(right).reflected(vm, op, right, left, span)
            if answer is NotImplemented:
                return vm.unsupported(op, left, right, span)
            return answer

        return hierarchy.answered(vm, result, other_side)

    def reflected(self, vm: VM, op: str, right: Any, left: object, span: Span) -> object:
        if vm.type_of(left) == _box(vm, right).cls:
            return NotImplemented  # CPython asks operands of one type once

        def inside(payload: object) -> object:
            first = vm.kind(left).binary(vm, op, left, payload, span)
            if first is not NotImplemented or isinstance(vm.box(left), ObjectBox):
                return first
            return vm.each(payload, lambda p: vm.kind(p).reflected(vm, op, p, left, span))

        result = self._operator(vm, right, f"__r{_BINARY[op]}__", left, span, inside)
        if result is NotImplemented and op == "*" and self._counts(vm, right, left):
            return vm.binary(op, left, protocols.converted(vm, right, "__index__", span), span)
        return hierarchy.answered(vm, result, lambda: vm.unsupported(op, left, right, span))

    def _counts(self, vm: VM, value: Any, other: object) -> bool:
        """Whether an instance says how often a sequence is to be repeated."""
        return vm.type_of(other) in _REPEATED and hierarchy.overrides(
            vm, _box(vm, value).cls, "__index__"
        )

    def inplace(self, vm: VM, op: str, left: Any, right: object, span: Span) -> object:
        def inside(payload: object) -> object:
            result = vm.kind(payload).inplace(vm, op, payload, right, span)
            return left if result == payload and isinstance(payload, Ref) else result

        result = self._operator(vm, left, f"__i{_BINARY[op]}__", right, span, inside)
        return hierarchy.answered(vm, result, lambda: vm.binary(op, left, right, span))

    def overloads(self, vm: VM, op: str, right: Any, left: object) -> bool:
        """Whether the class has a reflected operator that the left operand's class has not."""
        name = f"__r{_BINARY[op]}__"
        mine = hierarchy.lookup(vm, _box(vm, right).cls, name)
        return mine is not UNBOUND and mine != hierarchy.lookup(vm, vm.type_of(left), name)

    def compare(self, vm: VM, op: str, left: Any, right: object, span: Span) -> object:
        name = _COMPARED[op]
        if op == "!=" and not hierarchy.overrides(vm, _box(vm, left).cls, name):
            if hierarchy.overrides(vm, _box(vm, left).cls, "__eq__"):
                return self._unequal(vm, left, right, span)

        def inside(payload: object) -> object:
            other = content(vm, right)
            return vm.each(payload, lambda p: vm.kind(p).compare(vm, op, p, other, span))

        result = self._operator(vm, left, name, right, span, inside)

        def other_side() -> object:
            answer = vm.kind(right).compare(vm, _MIRRORED[op], right, left, span)
            if answer is not NotImplemented:
                return answer
            if op in ("==", "!="):
                same = vm.identical(left, right, span)
                return same if op == "==" else E.not_(same)
            return vm.unsupported(op, left, right, span)

        return hierarchy.answered(vm, result, other_side)

    def _unequal(self, vm: VM, left: Any, right: object, span: Span) -> object:
        """``!=`` of a class that defines ``==`` only."""
        inherited = hierarchy.lookup(vm, _box(vm, left).cls, "__ne__")
        if isinstance(inherited, Inherited) and inherited.type is not object:
            payload = _box(vm, left).payload
            if payload is not UNBOUND:
                return vm.compare("!=", payload, content(vm, right), span)
        other = vm.box(right)
        if isinstance(other, ObjectBox) and hierarchy.overrides(vm, other.cls, "__ne__"):
            return vm.unfollowed("`!=` of a class with `==` and one with `!=`", span)
        same = self.compare(vm, "==", left, right, span)
        if same is NotImplemented or isinstance(same, Opaque):
            return same
        return E.not_(vm.truth(same, span))

    def _operator(
        self,
        vm: VM,
        value: Any,
        name: str,
        other: object,
        span: Span,
        inside: Callable[[object], object],
    ) -> object:
        """Ask for an operator's special method; NotImplemented if there is none."""

        def built_in(found: Inherited) -> object:
            payload = _box(vm, value).payload
            if found.type is object:
                return NotImplemented
            heir = hierarchy.heir_method(vm, found, value)
            if heir is not UNBOUND:
                return vm.call(heir, (other,), span=span)
            if payload is not UNBOUND and not issubclass(found.type, enum.Enum):
                return inside(payload)
            return self._call_built_in(vm, value, found, (other,), span)

        cls = _box(vm, value).cls
        result = hierarchy.special(
            vm, value, name, (other,), span, built_in, lambda: NotImplemented
        )
        asked = name not in ("__eq__", "__ne__") and result is not NotImplemented
        if asked and isinstance(cls, Class) and hierarchy.trait(cls, "enum") is not None:
            vm.dialect.operates(vm, cls, name, span)
        return result

    # -- protocols -----------------------------------------------------------------------

    def truth(self, vm: VM, value: Any, span: Span) -> Bool:
        def built_in(found: Inherited) -> object:
            payload = _box(vm, value).payload
            if payload is not UNBOUND and not issubclass(found.type, enum.Enum):
                return vm.truth(payload, span)
            return vm.truth(self._call_built_in(vm, value, found, (), span), span)

        def by_length() -> object:
            length = hierarchy.lookup(vm, _box(vm, value).cls, "__len__")
            if length is UNBOUND:
                return E.TRUE
            return vm.truth(self.length(vm, value, span), span)

        result = hierarchy.special(
            vm,
            value,
            "__bool__",
            (),
            span,
            built_in,
            by_length,
        )
        return protocols.as_truth(vm, result, span)

    def length(self, vm: VM, value: Any, span: Span) -> object:
        def inside(payload: object) -> object:
            return vm.length(payload, span)

        result = self._asked(vm, value, "__len__", (), span, inside, "has no len()")
        return protocols.as_length(vm, result, span)

    def iterate(self, vm: VM, value: Any, span: Span) -> Iteration:
        return protocols.iteration(vm, value, span, self)

    def call(self, vm: VM, value: Any, call: Call) -> object:
        found = hierarchy.lookup(vm, _box(vm, value).cls, "__call__")

        def one(attribute: object) -> object:
            if attribute is UNBOUND or attribute is None:
                return self._missing(vm, value, "is not callable", call.span)
            bound = hierarchy.bind(vm, attribute, value, _box(vm, value).cls, call.span)
            return vm.invoke(bound, call)

        return hierarchy.split(vm, found, one)

    def key(self, vm: VM, value: Any, span: Span) -> object:
        return protocols.key(vm, value, span)

    def text(self, vm: VM, value: Any, how: str, span: Span) -> object:
        return protocols.text(vm, value, how, span)

    # -- what dialects ask ---------------------------------------------------------------

    def as_int(self, vm: VM, value: Any, span: Span) -> Expr | None:
        payload = _box(vm, value).payload
        if payload is not UNBOUND:
            return vm.as_int(payload, span)
        if not hierarchy.overrides(vm, _box(vm, value).cls, "__index__"):
            return None
        result = protocols.converted(vm, value, "__index__", span)
        return result if isinstance(result, Expr) else None

    def as_items(self, vm: VM, value: Any, span: Span) -> tuple[object, ...] | None:
        box = _box(vm, value)
        if box.payload is UNBOUND or hierarchy.overrides(vm, box.cls, "__iter__"):
            return None
        return vm.as_items(box.payload, span)

    # -- how they ask --------------------------------------------------------------------

    def _asked(
        self,
        vm: VM,
        value: Any,
        name: str,
        args: Sequence[object],
        span: Span,
        inside: Callable[[object], object],
        lacks: str,
    ) -> object:
        """Call a special method that has to be there."""

        def built_in(found: Inherited) -> object:
            payload = _box(vm, value).payload
            if payload is not UNBOUND and not issubclass(found.type, enum.Enum):
                return inside(payload)
            return self._call_built_in(vm, value, found, args, span)

        return hierarchy.special(
            vm,
            value,
            name,
            args,
            span,
            built_in,
            lambda: self._missing(vm, value, lacks, span),
        )

    def _call_built_in(
        self, vm: VM, value: Any, found: Inherited, args: Sequence[object], span: Span
    ) -> object:
        bound = hierarchy.bind(vm, found, value, _box(vm, value).cls, span)
        return vm.call(bound, args, span=span)

    def _missing(self, vm: VM, value: Any, what: str, span: Span) -> object:
        if hierarchy.is_external(_box(vm, value).cls):
            return vm.unfollowed(f"whether {self.describe(vm, value)} {what}", span)
        return super()._missing(vm, value, what, span)


def _box(vm: VM, value: object) -> ObjectBox:
    box = vm.box(value)
    assert isinstance(box, ObjectBox)
    return box


def content(vm: VM, value: object) -> object:
    """The built-in value that a method of a built-in type sees in an instance."""
    box = vm.box(value)
    if isinstance(box, ObjectBox) and box.payload is not UNBOUND:
        return box.payload
    return value


KINDS: Final[dict[type, Kind[VM]]] = {ObjectBox: ObjectKind()}

__all__ = ["KINDS", "ObjectKind"]
