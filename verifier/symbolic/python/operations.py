"""Operations on values, asked of their kinds.

The machine asks the kind of a value, under the path that the value stands under, and has CPython's
rules of what to ask in which order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.python.heap import UNBOUND, ObjectBox, RecordBox
from verifier.symbolic.python.model import AttributeDict, Class, HostType
from verifier.symbolic.python.records import RecordMachine
from verifier.symbolic.python.terms import as_formula
from verifier.symbolic.tensors import Loop, LoopKind, View
from verifier.symbolic.values import (
    AddressType,
    ApiRef,
    DeviceData,
    Enumerator,
    Guarded,
    HostUse,
    ModuleRef,
    OnDevice,
    Opaque,
    Range,
    RecordType,
    Ref,
    Register,
    SliceValue,
    places,
)

if TYPE_CHECKING:
    pass

#: values of which CPython, or an API, has one object each
_ONE_EACH: Final = (
    HostType, AttributeDict, ModuleRef, ApiRef, Enumerator, RecordType, AddressType,
    type(None), type(...), type(NotImplemented),
)  # fmt: skip
#: integers of which CPython has one object each
_SMALL: Final = (-5, 256)


def of_loop(loop: Loop) -> str:
    """The index of a loop on the device, in words."""
    return f"`{loop.name}`, the index of a loop on the device"


class Operations(RecordMachine):
    """The machine with the operations on values, in the order in which CPython asks for them."""

    # -- attributes and items ---------------------------------------------------------

    def attribute(self, owner: object, name: str, span: Span) -> object:
        """``owner.name``."""
        return self.had(self.each(owner, lambda v: self._attribute(v, name, span)), span)

    def had(self, value: object, span: Span) -> object:
        """What was read from somewhere; if it is lost, what is done with it is not followed."""
        for case in (item for _, item in value.cases) if isinstance(value, Guarded) else (value,):
            if isinstance(case, Opaque) and case.lost:
                self.unfollowed(case.reason, span)
        return value

    def _attribute(self, owner: object, name: str, span: Span) -> object:
        found = self.find_attribute(owner, name, span)
        if found is UNBOUND:
            return self.kind(owner).no_attribute(self, owner, name, span)
        return found

    def find_attribute(self, owner: object, name: str, span: Span) -> object:
        """``owner.name`` of one value, :data:`UNBOUND` on paths on which there is none."""
        found = self.kind(owner).attribute(self, owner, name, span)
        if isinstance(found, Guarded):
            missing = E.or_(*(g for g, v in found.cases if v is UNBOUND))
            if missing is not E.FALSE:
                what = self.kind(owner).describe(self, owner)
                self.fault(AttributeError, f"{what} has no attribute `{name}`", span, when=missing)
            return self.settled(found)
        return found

    def set_attribute(self, owner: object, name: str, value: object, span: Span) -> None:
        """``owner.name = value``, or ``del owner.name`` where the value is UNBOUND."""
        self.each(owner, lambda v: self.kind(v).set_attribute(self, v, name, value, span))

    # -- what only the device knows ---------------------------------------------------

    def device_loop(self, value: object) -> Loop | None:
        """The loop on the device whose index a number is made of; None: it is of the host."""
        if not self._loops or not isinstance(value, Expr):
            return None
        around = [loop for loop, _ in self._loops if loop.kind is LoopKind.DYNAMIC]
        atoms = value.free() if around else frozenset()
        return next((loop for loop in around if loop.symbol in atoms), None)

    def of_device(self, use: HostUse, value: object, span: Span) -> object | None:
        """What the host makes of a value that only the device knows; None: it is of the host."""
        held = places(value)
        what = self.kind(value).describe(self, value)
        loop = self.device_loop(value)
        if loop is not None:
            data, what = DeviceData.INDEX, of_loop(loop)
        elif isinstance(value, View):
            data = DeviceData.TENSOR
        elif isinstance(value, Register):
            data = DeviceData.REGISTER
        elif isinstance(value, OnDevice):
            data, held = DeviceData.COMPUTED, value.held
        else:
            return None
        return self.dialect.on_device(self, use, data, what, span, held)

    def _holds(self, owner: object) -> bool:
        """Whether a value is a container of the host's."""
        box = self.box(owner)
        plain = isinstance(owner, (tuple, str, bytes, Range))
        return plain or (box is not None and not isinstance(box, (ObjectBox, RecordBox)))

    def _known_item(self, owner: object, index: object, span: Span) -> object | None:
        """What ``owner[index]`` is where only the device knows which; None: the host knows."""
        if not self._holds(owner):
            return None
        ends: tuple[object, ...] = (index,)
        if isinstance(index, SliceValue):
            ends = (index.start, index.stop, index.step)
        found = (self.of_device(HostUse.ITEM, end, span) for end in ends)
        return next((value for value in found if value is not None), None)

    def item(self, owner: object, index: object, span: Span) -> object:
        """``owner[index]``."""
        value = self.each(
            owner,
            lambda v: self.each(index, lambda i: self._item(v, i, span)),
        )
        return self.had(value, span)

    def _item(self, owner: object, index: object, span: Span) -> object:
        known = self._known_item(owner, index, span)
        return self.kind(owner).item(self, owner, index, span) if known is None else known

    def set_item(self, owner: object, index: object, value: object, span: Span) -> None:
        """``owner[index] = value``, or ``del owner[index]`` where the value is UNBOUND."""
        self.each(
            owner,
            lambda v: self.apart(index, lambda i: self.kind(v).set_item(self, v, i, value, span)),
        )

    # -- operators --------------------------------------------------------------------

    def unary(self, op: str, value: object, span: Span) -> object:
        """``op value``."""
        return self.each(value, lambda v: self.kind(v).unary(self, op, v, span))

    def binary(self, op: str, left: object, right: object, span: Span) -> object:
        """``left op right``."""
        if isinstance(left, Guarded) or isinstance(right, Guarded):
            return self.each(
                left, lambda a: self.each(right, lambda b: self._binary(op, a, b, span))
            )
        return self._binary(op, left, right, span)

    def _binary(self, op: str, left: object, right: object, span: Span) -> object:
        if isinstance(right, Opaque) and right.given:
            self.caller_gives(span)
        first, second = self.kind(left), self.kind(right)
        for count, of in ((left, right), (right, left)) if op == "*" else ():
            known = self.of_device(HostUse.COUNT, count, span) if self._holds(of) else None
            if known is not None:
                return known
        early = self._goes_first(left, right) and second.overloads(self, op, right, left)
        if early:
            result = second.reflected(self, op, right, left, span)
            if result is not NotImplemented:
                return result
        whole = op == "%" and isinstance(left, (str, bytes))  # it asks how to write a value
        seen = right if whole else self._seen(left, right)
        result = first.binary(self, op, left, seen, span)
        if result is not NotImplemented:
            return result
        if not early:
            result = second.reflected(self, op, right, self._seen(right, left), span)
            if result is not NotImplemented:
                return result
        return self.unsupported(op, left, right, span)

    def _goes_first(self, left: object, right: object) -> bool:
        """Whether the right operand is asked first: its class derives from the left one's."""
        box = self.box(right)
        if not isinstance(box, ObjectBox) or not isinstance(box.cls, Class):
            return False
        mine, other = box.cls, self.type_of(left)
        return mine is not other and any(other == base for base in mine.ancestors)

    def _seen(self, asked: object, other: object) -> object:
        """The other operand as the one asked sees it: a built-in type sees the value inside."""
        box = self.box(other)
        if not isinstance(box, ObjectBox) or box.payload is UNBOUND:
            return other
        return other if isinstance(self.box(asked), ObjectBox) else box.payload

    def unsupported(self, op: str, left: object, right: object, span: Span) -> object:
        """Neither operand knows the operator."""
        kinds = (self.kind(left), self.kind(right))
        for value in (left, right):
            if isinstance(value, Opaque):
                return value
        names = " and ".join(k.describe(self, v) for k, v in zip(kinds, (left, right), strict=True))
        if all(k.complete for k in kinds):
            self.fault(TypeError, f"`{op}` does not take {names}", span)
        return self.unfollowed(f"`{op}` on {names} is not followed", span)

    def inplace(self, op: str, left: object, right: object, span: Span) -> object:
        """``left op= right``: the value to bind."""

        def one(a: object, b: object) -> object:
            result = self.kind(a).inplace(self, op, a, b, span)
            return self._binary(op, a, b, span) if result is NotImplemented else result

        return self.each(left, lambda a: self.apart(right, lambda b: one(a, b)))

    # -- comparison -------------------------------------------------------------------

    def compare(self, op: str, left: object, right: object, span: Span) -> object:
        """One comparison: usually a truth value."""
        if isinstance(left, Guarded) or isinstance(right, Guarded):
            return self.each(
                left, lambda a: self.each(right, lambda b: self._compare(op, a, b, span))
            )
        return self._compare(op, left, right, span)

    def _compare(self, op: str, left: object, right: object, span: Span) -> object:
        if op in ("is", "is not"):
            same = self.identical(left, right, span)
            return same if op == "is" else E.not_(same)
        if op in ("in", "not in"):
            found = self.kind(right).contains(self, right, left, span)
            if op == "in" or isinstance(found, Opaque):
                return found
            return E.not_(self.truth(found, span))
        mirrored = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}.get(op, op)
        asked = [(left, op, right), (right, mirrored, left)]
        if self._goes_first(left, right):
            asked.reverse()
        for a, ask, b in asked:
            result = self.kind(a).compare(self, ask, a, self._seen(a, b), span)
            if result is not NotImplemented:
                return result
        if op in ("==", "!="):
            known = self._known_identity(left, right, span)
            same = E.truth(bool(left == right)) if known is None else known
            return same if op == "==" else E.not_(same)
        return self.unsupported(op, left, right, span)

    def equal(self, left: object, right: object, span: Span) -> Bool:
        """``left == right`` as containers ask it: what is identical is equal."""
        if left is right and not isinstance(left, (float, Opaque, Guarded)):
            return E.TRUE
        if isinstance(left, float) and isinstance(right, float) and left != left and right != right:
            return self.unknown_bool("whether two that are no number are one object", span)
        return self.truth(self.compare("==", left, right, span), span)

    def identical(self, left: object, right: object, span: Span) -> Bool:
        """``left is right``."""
        known = self._known_identity(left, right, span)
        return self._one_value(left, right, span) if known is None else known

    def _known_identity(self, left: object, right: object, span: Span) -> Bool | None:
        """``left is right`` of what is no plain value; None: both are."""
        for value in (left, right):
            if isinstance(value, Opaque):
                other = right if value is left else left
                if value.harmless and other is None:
                    return E.FALSE
                return self.unknown_bool(f"a condition depends on {value.reason}", span)
        for value, other in ((left, right), (right, left)):
            known = self.kind(value).identical(self, value, other, span)
            if known is not None:
                return known
        if isinstance(left, Ref) and isinstance(right, Ref):
            boxes = (self.heap.get(left.id), self.heap.get(right.id))
            if left.id != right.id and any(box.ghost for box in boxes):
                return self.unknown_bool("whether two objects of a loop are one", span)
            if left.id != right.id and not self.given.isdisjoint((left.id, right.id)):
                return self.unknown_bool("whether an object that is given is another one", span)
            return E.truth(left.id == right.id)
        a, b = as_formula(left), as_formula(right)
        if a is not None and b is not None:
            return E.or_(E.and_(a, b), E.and_(E.not_(a), E.not_(b)))
        return None

    def _one_value(self, left: object, right: object, span: Span) -> Bool:
        """Whether two values that are no boxes are one object."""
        if isinstance(left, Expr) and isinstance(right, Expr):
            return self._one_integer(left, right, span)
        if left is right:
            return E.TRUE
        if type(left) is not type(right) or left != right:
            return E.FALSE
        if isinstance(left, _ONE_EACH):
            return E.TRUE
        return self.unknown_bool("the identity of equal values is not followed", span)

    def _one_integer(self, left: Expr, right: Expr, span: Span) -> Bool:
        """Small integers are shared; of others the identity is CPython's own affair."""
        same = E.eq(left, right)
        small = E.and_(same, E.ge(left, _SMALL[0]), E.le(left, _SMALL[1]))
        if same is E.FALSE or self.decide(E.implies(same, small)) is True:
            return same
        own = self.unknown_bool("the identity of integers is not followed", span)
        return E.or_(small, E.and_(same, own))

    # -- protocols --------------------------------------------------------------------

    def truth(self, value: object, span: Span) -> Bool:
        """``bool(value)``."""
        if isinstance(value, Bool):
            return value
        if isinstance(value, bool):
            return E.TRUE if value else E.FALSE
        optional = isinstance(value, Guarded) and any(v is None for _, v in value.cases)
        result = self.each(
            value,
            lambda v: (
                self.kind(v).presence(self, v, span)
                if optional
                else self.kind(v).truth(self, v, span)
            ),
        )
        formula = as_formula(result)
        assert formula is not None
        return formula

    def length(self, value: object, span: Span) -> object:
        """``len(value)``."""
        return self.each(value, lambda v: self.kind(v).length(self, v, span))

    def type_of(self, value: object) -> object:
        """``type(value)``."""
        return self.kind(value).type_of(self, value)
