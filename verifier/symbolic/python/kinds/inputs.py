"""Parameters of the kernel: the first use decides what they are."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from msgspec.structs import replace

from verifier.hardware.memories import Buffer
from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.machine import Call
from verifier.symbolic.python import probes, ranks, tied
from verifier.symbolic.python.concrete import OPERATORS
from verifier.symbolic.python.faults import meant
from verifier.symbolic.python.flow import HostCheck
from verifier.symbolic.python.heap import UNBOUND, ListBox
from verifier.symbolic.python.inputs import InputKind, LazyShape, Parameter, Word
from verifier.symbolic.python.iteration import Items, Iteration, Unknown
from verifier.symbolic.python.kind import Kind
from verifier.symbolic.python.kinds.external import unknown_call
from verifier.symbolic.python.kinds.tensors import TensorKind
from verifier.symbolic.python.library import enums
from verifier.symbolic.python.model import HostType
from verifier.symbolic.python.state import IS_THERE, SUCCEEDS
from verifier.symbolic.python.terms import as_formula
from verifier.symbolic.python.vm import VM
from verifier.symbolic.tensors import DType, StorageKind, View
from verifier.symbolic.trace import AssumptionKind
from verifier.symbolic.values import (
    TEXT,
    TRUTH,
    ApiRef,
    BufferValue,
    DTypeText,
    Enumerator,
    ExternalRef,
    IndexGrid,
    IndexMask,
    IndexTensor,
    Opaque,
    OpaqueOf,
    PendingAdd,
    Ratio,
    SliceValue,
)

#: what a parameter is that has been used as a number
_NUMBERS: Final = (None, InputKind.INTEGER, InputKind.FLAG)
#: the host's types of the kinds that have one
_HOSTS: Final[Mapping[InputKind | None, type]] = {
    InputKind.INTEGER: int,
    InputKind.FLAG: bool,
    InputKind.STRING: str,
    InputKind.TUPLE: tuple,
}
#: annotations of what has items and is no tensor
_SEQUENCES: Final = ("tuple", "Tuple", "list", "List", "Sequence")
#: operands that an operator with a parameter belongs to
_TENSORS: Final = (View, PendingAdd, IndexTensor, IndexMask)
#: attributes that only tensors have, where the dialect does not list them
_TENSOR_NAMES: Final = frozenset(
    {"reshape", "ap", "view", "broadcast_to", "permute", "size", "expand_dims"}
)


#: where attributes are noted that parameters may not have
_DOUBTS: Final = "attributes of parameters"


def doubts(vm: VM) -> list[HostCheck]:
    """What was read of parameters that turned out to be tensors, which have no such attribute."""
    held = vm.memo.get(_DOUBTS, {})
    assert isinstance(held, dict)
    return [
        check
        for (name, _), check in held.items()
        if vm.inputs.parameters[name].kind is InputKind.TENSOR
    ]


def asked(vm: VM, what: str, span: Span, demanded: str = SUCCEEDS) -> Opaque:
    """What comes of asking something of a parameter that is none of what is followed."""
    vm.caller_gives(span, demanded)
    return Opaque(what, given=True)


class ParameterKind(TensorKind):
    """A parameter of the kernel."""

    name = "parameter"
    pure = True

    def describe(self, vm: VM, value: Any) -> str:
        return "a tensor" if value.kind is InputKind.TENSOR else f"the parameter `{value.name}`"

    def type_of(self, vm: VM, value: Any) -> object:
        known = _HOSTS.get(value.kind)
        return HostType(known) if known is not None else Opaque(f"the type of `{value.name}`")

    # -- attributes and items ----------------------------------------------------------

    def attribute(self, vm: VM, value: Any, name: str, span: Span) -> object:
        p: Parameter = value
        if p.kind in (InputKind.INTEGER, InputKind.FLAG, InputKind.DTYPE):
            if p.kind is not InputKind.DTYPE and not hasattr(int, name):
                self._of_two_kinds(vm, p, span)
            return vm.attribute(self._plain(vm, p), name, span)
        if self._is_sequence(p):
            if hasattr(tuple, name) or hasattr(list, name):
                return vm.unfollowed(f"`.{name}` of `{p.name}` is not followed", span)
            return UNBOUND
        if p.kind not in (None, InputKind.TENSOR):
            if p.kind is InputKind.STRING and hasattr(str, name):
                return Opaque(f"`{p.name}.{name}`")
            return asked(vm, f"`{p.name}.{name}`", span, IS_THERE)
        if name == "shape":
            p.kind = InputKind.TENSOR
            return ranks.shape_of(vm, p)
        if name == "dtype":
            p.kind = InputKind.TENSOR
            return vm.inputs.dtype(p)
        if name == "ndim":
            return ranks.count(vm, p)
        if name == "buffer":
            p.kind = InputKind.TENSOR
            return BufferValue(Buffer.HBM)
        known = vm.dialect.view_names()
        if name in (_TENSOR_NAMES if known is None else known):
            return super().attribute(vm, p, name, span)
        if known is not None and not name.startswith("_"):
            self._doubt(vm, p, name, span, known)
        if not hasattr(int, name):
            tied.of_a_number(vm, p, f"`{p.name}` is used as a number, and has `.{name}`", span)
        tied.of_a_tensor(vm, p, f"`.{name}` of the tensor `{p.name}` is not followed", span)
        return asked(vm, f"`{p.name}.{name}`", span, IS_THERE)

    def _doubt(self, vm: VM, p: Parameter, name: str, span: Span, known: frozenset[str]) -> None:
        """An attribute that the parameter does not have if it turns out to be a tensor.

        Only one that is spelled like another is held against it: what behaves as a tensor may be
        an object of the user's, which has more.
        """
        help = meant(name, known)
        if vm.catching or vm.awaited is not None or not help:
            return
        text = f"a tensor has no attribute `{name}`"
        vm.check("no-attribute", E.FALSE, span, text, text, help=help)
        held = vm.memo.setdefault(_DOUBTS, {})
        assert isinstance(held, dict)
        held[p.name, span] = vm.checks.pop()

    @staticmethod
    def _of_two_kinds(vm: VM, p: Parameter, span: Span) -> None:
        """A parameter is used as a number and as a text, which only its annotation can settle."""
        if not p.annotation and p.pinned is None:
            vm.unfollowed(f"`{p.name}` is used as a number and as something else", span)

    def set_attribute(self, vm: VM, value: Any, name: str, new: object, span: Span) -> None:
        vm.unfollowed(f"`.{name}` of `{value.name}` is assigned to", span)

    def item(self, vm: VM, value: Any, index: object, span: Span) -> object:
        p: Parameter = value
        if self._is_sequence(p):
            return self._item(vm, p, index, span)
        if p.kind not in (None, InputKind.TENSOR) or self._may_be_sequence(p, index):
            return asked(vm, f"an item of `{p.name}`", span, IS_THERE)
        return super().item(vm, p, index, span)

    def _item(self, vm: VM, p: Parameter, index: object, span: Span) -> object:
        """An item of a tuple or list; that there is one is listed."""
        if isinstance(index, SliceValue):
            return Opaque(f"an item of `{p.name}`")
        if not isinstance(index, Expr) or not index.is_const:
            return vm.unfollowed(f"an item of `{p.name}` is not followed", span)
        least = index.const + 1 if index.const >= 0 else -index.const
        there = E.ge(vm.inputs.length(p), least)
        if vm.decide(there) is None:
            ranks.caught(vm, f"the length of `{p.name}`", span)
            vm.assume(there, f"{p.name} has at least {least} items", span, AssumptionKind.TYPE)
        else:
            text = f"`{p.name}` has fewer than {least} items"
            vm.fault(IndexError, text, span, when=E.not_(there))
        return (
            vm.inputs.item(p, index.const) if index.const >= 0 else Opaque(f"an item of `{p.name}`")
        )

    def set_item(self, vm: VM, value: Any, index: object, new: object, span: Span) -> None:
        if value.kind not in (None, InputKind.TENSOR) or self._is_sequence(value):
            vm.unfollowed(f"an item of `{value.name}` is assigned to", span)
            return
        super().set_item(vm, value, index, new, span)

    @staticmethod
    def _is_sequence(p: Parameter) -> bool:
        named = p.kind is None and p.annotation.startswith(_SEQUENCES)
        return p.kind is InputKind.TUPLE or named

    @staticmethod
    def _may_be_sequence(p: Parameter, index: object) -> bool:
        """Whether nothing says that an optional input which is indexed once is a tensor."""
        return p.kind is None and p.has_default and not p.hints and isinstance(index, Expr)

    def _view(self, vm: VM, value: Any, span: Span, index: object = None) -> View:
        if isinstance(index, IndexGrid):
            index = index.parts
        items = index if isinstance(index, tuple) else (index,)
        least = max(1, sum(item is not None and item is not Ellipsis for item in items))
        return ranks.tensor(vm, value, span, least)

    # -- operators -----------------------------------------------------------------------

    def unary(self, vm: VM, op: str, value: Any, span: Span) -> object:
        if value.kind is InputKind.TENSOR:
            return super().unary(vm, op, value, span)
        if value.kind in _NUMBERS:
            return vm.unary(op, self._plain(vm, value), span)
        return asked(vm, f"`{op}` on `{value.name}`", span)

    def binary(self, vm: VM, op: str, left: Any, right: object, span: Span) -> object:
        if self._is_sequence(left):
            return self._joined(vm, op, (left, right), right, span)
        return self._computed(vm, op, left, right, span, lambda p, x: vm.binary(op, p, x, span))

    def reflected(self, vm: VM, op: str, right: Any, left: object, span: Span) -> object:
        if self._is_sequence(right):
            return self._joined(vm, op, (left, right), left, span)
        return self._computed(vm, op, right, left, span, lambda p, x: vm.binary(op, x, p, span))

    def inplace(self, vm: VM, op: str, left: Any, right: object, span: Span) -> object:
        return NotImplemented

    def _joined(
        self, vm: VM, op: str, sides: tuple[object, object], other: object, span: Span
    ) -> object:
        """An operator on a tuple or list; what neither takes is an error."""
        if isinstance(other, Opaque):
            return other
        p = sides[1] if sides[0] is other else sides[0]
        assert isinstance(p, Parameter)
        held = probes.sample(vm, other)
        if held is probes.UNSAMPLED:
            return vm.unfollowed(f"`{op}` on `{p.name}` is not followed", span)
        refused = 0
        sequences: tuple[Any, ...] = ((), [])
        for sequence in sequences:
            given = (sequence if side is p else held for side in sides)
            try:
                OPERATORS[op](*given)
            except TypeError:
                refused += 1
        if refused == 2:
            vm.fault(TypeError, f"`{op}` does not take {vm.kind(p).describe(vm, p)}", span)
        elif refused:
            return vm.unfollowed(f"`{op}` on `{p.name}` is not followed", span)
        return asked(vm, f"`{op}` on `{p.name}`", span)

    def _computed(
        self,
        vm: VM,
        op: str,
        p: Parameter,
        other: object,
        span: Span,
        again: Callable[[object, object], object],
    ) -> object:
        if p.kind is InputKind.TENSOR:
            return again(self._view(vm, p, span), other)
        if isinstance(other, _TENSORS) or (
            isinstance(other, Parameter) and other.kind is InputKind.TENSOR
        ):
            return NotImplemented
        if isinstance(other, Opaque):
            return other
        if p.kind not in _NUMBERS:
            if (
                p.kind is InputKind.STRING
                and not isinstance(p, Word)
                and not isinstance(other, (str, Word))
            ):
                self._of_two_kinds(vm, p, span)
            return asked(vm, f"`{op}` on `{p.name}`", span)
        if isinstance(other, float) and p.kind is None:
            return OpaqueOf("a float", harmless=True, host=float)
        if isinstance(other, (str, Word)):
            if p.kind is not None:
                self._of_two_kinds(vm, p, span)
                return again(self._plain(vm, p), other)
            tied.of_a_number(vm, p, f"`{p.name}` is used as a text and as a number", span)
            return TEXT
        if isinstance(other, (tuple, LazyShape)) and op == "+":
            return asked(vm, f"`+` on `{p.name}`", span)
        if isinstance(vm.box(other), ListBox) and op == "+":
            return asked(vm, f"`+` on `{p.name}`", span)
        return again(self._plain(vm, p), other)

    def _plain(self, vm: VM, p: Parameter) -> object:
        """The parameter as the value that it is by now; a number if nothing has decided."""
        if p.kind is InputKind.FLAG:
            return vm.inputs.flag(p)
        if p.kind is InputKind.DTYPE:
            return vm.inputs.as_dtype(p)
        return self._number(vm, p)

    def _number(self, vm: VM, p: Parameter) -> Expr:
        """The parameter as a number; it was true before if it is not zero."""
        number = vm.inputs.integer(p)
        tied.tie(vm, p, E.ne(number, 0))
        return number

    def _string_equals(self, vm: VM, p: Parameter, text: str, said: str | None = None) -> Bool:
        """Whether the parameter is a string; it was true before if it is not empty."""
        same = vm.inputs.string_equals(p, text, said)
        if p.asked is not None:
            tied.tie(vm, p, E.not_(vm.inputs.string_equals(p, "")))
        return same

    # -- comparison ----------------------------------------------------------------------

    def compare(self, vm: VM, op: str, left: Any, right: object, span: Span) -> object:
        p: Parameter = left
        if p.kind is InputKind.TENSOR:
            if isinstance(right, Parameter):
                return NotImplemented
            return vm.compare(op, self._view(vm, p, span), right, span)
        if isinstance(right, _TENSORS) or (
            isinstance(right, Parameter) and right.kind is InputKind.TENSOR
        ):
            return NotImplemented
        if isinstance(right, Opaque):
            return right
        if isinstance(right, Word) and not isinstance(p, Word):
            return NotImplemented
        if op not in ("==", "!="):
            return self._ordered(vm, op, p, right, span)
        same = self._equals(vm, p, right, span)
        formula = as_formula(same)
        if formula is None:
            return same
        return formula if op == "==" else E.not_(formula)

    def _ordered(self, vm: VM, op: str, p: Parameter, right: object, span: Span) -> object:
        if p.kind not in _NUMBERS or isinstance(right, (str, tuple)):
            if p.kind in (InputKind.INTEGER, InputKind.FLAG):
                self._of_two_kinds(vm, p, span)
            elif p.kind is None:
                what = f"`{p.name}` is used as a number, and `{op}` on it"
                tied.of_a_number(vm, p, what, span)
            return asked(vm, f"`{op}` on `{p.name}`", span)
        if isinstance(right, float) and p.kind is None:
            return TRUTH
        return vm.compare(op, self._plain(vm, p), right, span)

    def _equals(self, vm: VM, p: Parameter, right: object, span: Span) -> object:
        """Whether the parameter equals a value, which is no tensor."""
        if right is None:
            return E.FALSE
        if right is p:
            return E.TRUE
        if isinstance(right, (DType, DTypeText)):
            if p.kind not in (None, InputKind.DTYPE, InputKind.STRING):
                return E.FALSE
            return vm.compare("==", vm.inputs.as_dtype(p), right, span)
        constant = self._constant(vm, p, right, span)
        return self._equals_number(vm, p, right, span) if constant is None else constant

    def _constant(self, vm: VM, p: Parameter, right: object, span: Span) -> Bool | None:
        """Whether the parameter is one of several constants, None if the other value is none."""
        if isinstance(right, str):
            if p.kind is InputKind.DTYPE:
                dtype = vm.as_dtype(right, span)
                return E.FALSE if dtype is None else vm.inputs.as_dtype(p).same(dtype)
            if p.kind in (InputKind.INTEGER, InputKind.FLAG):
                return self._unlike(vm, p, span)
            return self._string_equals(vm, p, right)
        flag = as_formula(right)
        if flag is not None and p.kind is InputKind.FLAG:
            own = vm.inputs.flag(p)
            return E.or_(E.and_(own, flag), E.and_(E.not_(own), E.not_(flag)))
        if isinstance(right, (Enumerator, ApiRef)):
            return self._string_equals(vm, p, right.name, right.name)
        if isinstance(right, BufferValue):
            return self._string_equals(vm, p, right.buffer.value, right.buffer.value)
        member = enums.member_name(vm, right)
        return None if member is None else self._string_equals(vm, p, member, member)

    @staticmethod
    def _unlike(vm: VM, p: Parameter, span: Span) -> Bool:
        """Whether a parameter equals a value of another kind than it has been used as."""
        if p.annotation or p.pinned is not None or isinstance(p, Word):
            return E.FALSE
        return vm.unknown_bool(f"`{p.name}` is used as a number and as a text", span)

    def _equals_number(self, vm: VM, p: Parameter, right: object, span: Span) -> object:
        if isinstance(right, float) and p.kind is None:
            return TRUTH
        if isinstance(right, (Expr, Ratio, float, Parameter)) or as_formula(right) is not None:
            if p.kind not in _NUMBERS:
                return self._unlike(vm, p, span)
            if isinstance(right, Parameter) and right.kind not in _NUMBERS:
                return Opaque(f"a comparison of `{p.name}` and `{right.name}`")
            return vm.compare("==", self._plain(vm, p), right, span)
        if isinstance(right, ExternalRef):
            return Opaque("a comparison with an external value")
        return Opaque(f"a comparison of `{p.name}`")

    def identical(self, vm: VM, value: Any, other: object, span: Span) -> Bool | None:
        p: Parameter = value
        if other is None:
            return E.FALSE  # the case of None was split off when the parameter was bound
        if other is p:
            return E.TRUE
        if isinstance(other, Parameter):
            return vm.unknown_bool(f"whether `{p.name}` is `{other.name}` is not followed", span)
        if p.kind is InputKind.TENSOR or isinstance(other, _TENSORS):
            given = isinstance(other, View) and other.storage.kind is StorageKind.INPUT
            return vm.unknown_bool(f"whether `{p.name}` is the tensor", span) if given else E.FALSE
        if as_formula(other) is not None and p.kind is None:
            same = vm.truth(vm.compare("==", p, other, span), span)
            own = vm.unknown_bool(f"whether `{p.name}` is a truth value is not followed", span)
            return E.and_(same, own)
        if isinstance(other, Expr):
            return vm.identical(self._plain(vm, p), other, span) if p.kind in _NUMBERS else E.FALSE
        constant = self._constant(vm, p, other, span)
        if constant is not None and isinstance(other, str):
            own = vm.unknown_bool("the identity of equal values is not followed", span)
            return E.and_(constant, own)
        if constant is not None:
            return constant
        if isinstance(other, DType):
            return vm.truth(vm.compare("==", p, other, span), span)
        return vm.unknown_bool(f"a condition depends on the identity of `{p.name}`", span)

    def contains(self, vm: VM, value: Any, item: object, span: Span) -> object:
        if value.kind in (InputKind.INTEGER, InputKind.FLAG):
            return vm.compare("in", item, self._plain(vm, value), span)
        tied.of_a_tensor(vm, value, f"`in` on the tensor `{value.name}` is not followed", span)
        return asked(vm, f"`in` on `{value.name}`", span)

    # -- protocols -----------------------------------------------------------------------

    def truth(self, vm: VM, value: Any, span: Span) -> Bool:
        # the case of None was split off when the parameter was bound
        return self._truth(vm, value, span, value.has_default and value.default is None)

    def presence(self, vm: VM, value: Any, span: Span) -> Bool:
        return self._truth(vm, value, span, True)

    def _truth(self, vm: VM, p: Parameter, span: Span, optional: bool) -> Bool:
        if p.kind is InputKind.TENSOR or (p.kind is None and tied.is_tensor(p)):
            return self._of_tensor(vm, span, optional)
        if self._is_sequence(p):
            return E.ne(vm.inputs.length(p), 0)
        if p.kind is InputKind.FLAG:
            return vm.inputs.flag(p)
        if p.kind is InputKind.INTEGER:
            return E.ne(vm.inputs.integer(p), 0)
        if p.kind is InputKind.STRING:
            return E.not_(vm.inputs.string_equals(p, ""))
        if p.kind in (None, InputKind.DTYPE):
            if p.kind is None:
                tied.true_of_a_tensor(vm, p, span, optional)
            if p.asked is None:
                p.asked = vm.next_order()
            return vm.inputs.truth(p)
        return vm.unknown_bool(f"a condition depends on `{p.name}`", span)

    def length(self, vm: VM, value: Any, span: Span) -> object:
        p: Parameter = value
        if self._is_sequence(p):
            return vm.inputs.length(p)
        if p.kind in (InputKind.INTEGER, InputKind.FLAG):
            return vm.length(self._plain(vm, p), span)
        if p.kind not in (None, InputKind.TENSOR):
            return asked(vm, f"the length of `{p.name}`", span)
        p.kind = InputKind.TENSOR
        ranks.at_least(vm, p, 1, span)
        return vm.inputs.extent(p, 0)

    def iterate(self, vm: VM, value: Any, span: Span) -> Iteration:
        known = self.as_items(vm, value, span)
        return Items(known) if known is not None else Unknown(f"`{value.name}`")

    def call(self, vm: VM, value: Any, call: Call) -> object:
        vm.caller_gives(call.span)
        out = unknown_call(vm, call, f"`{value.name}`", call.text or value.name)
        return replace(out, given=True) if isinstance(out, Opaque) else out

    def text(self, vm: VM, value: Any, how: str, span: Span) -> object:
        if how == "s" and value.kind in (None, InputKind.DTYPE) and "dtype" in value.name:
            return DTypeText(vm.inputs.as_dtype(value))
        return TEXT

    # -- what dialects ask ---------------------------------------------------------------

    def as_int(self, vm: VM, value: Any, span: Span) -> Expr | None:
        if value.kind is InputKind.FLAG:
            return E.ite(vm.inputs.flag(value), 1, 0)
        return self._number(vm, value) if value.kind in (None, InputKind.INTEGER) else None

    def as_view(self, vm: VM, value: Any, span: Span) -> View | None:
        return self._view(vm, value, span) if value.kind in (None, InputKind.TENSOR) else None

    def is_tensor(self, vm: VM, value: Any, otherwise: str, span: Span) -> bool:
        if value.kind is InputKind.TENSOR:
            return True
        tied.of_a_tensor(vm, value, otherwise, span)
        return False

    def as_dtype(self, vm: VM, value: Any, span: Span) -> DType | None:
        if value.kind in (None, InputKind.DTYPE, InputKind.STRING):
            return vm.inputs.as_dtype(value)
        return vm.inputs.dtype(value) if value.kind is InputKind.TENSOR else None


KINDS: Final[dict[type, Kind[VM]]] = {Parameter: ParameterKind()}

__all__ = ["KINDS", "ParameterKind", "doubts"]
