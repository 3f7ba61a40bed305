"""How values behave: what a kind of value answers.

A value knows how it behaves: its :class:`Kind` answers attribute, item, operators, comparison,
truth, iteration and call. A :class:`Language` has the kinds by type of value. Both are of the
machine that asks (``VM``), of which this file only needs that it says what goes wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, TypeVar

from msgspec import Struct

from verifier.source import ir
from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.lanes import SystemAddress
from verifier.symbolic.machine import Call
from verifier.symbolic.python.faults import Faults
from verifier.symbolic.python.heap import UNBOUND
from verifier.symbolic.python.iteration import Iteration, Unknown
from verifier.symbolic.python.model import Builtin
from verifier.symbolic.tensors import DType, View
from verifier.symbolic.values import TEXT, Opaque

#: the machine that asks
M = TypeVar("M", bound=Faults)


# ---------------------------------------------------------------------------- kinds


class Kind(Generic[M]):
    """How values of a kind behave. What a kind does not define is CPython's error, or unknown.

    ``pure``: operations on such values run no code of the project and change nothing.
    ``complete``: everything that CPython defines on such values is modelled, so that what is not
    found is an error of CPython's; otherwise it is unknown.
    ``tensorless``: such values hold no tensor, whatever else is not known of them.
    """

    #: the type as CPython calls it
    name: str = "object"
    pure: bool = False
    complete: bool = False
    tensorless: bool = False

    def type_of(self, vm: M, value: Any) -> object:
        """``type(value)``: a :class:`HostType`, a :class:`Class`, or something opaque."""
        return Opaque(f"the type of {self.describe(vm, value)}")

    def describe(self, vm: M, value: Any) -> str:
        """What the value is, in words, for messages."""
        return f"a value of type `{self.name}`"

    # -- attributes and items ----------------------------------------------------------

    def attribute(self, vm: M, value: Any, name: str, span: Span) -> object:
        """``value.name``; :data:`UNBOUND` if there is none."""
        if self.complete:
            return UNBOUND
        return vm.unfollowed(f"`.{name}` of {self.describe(vm, value)} is not followed", span)

    def no_attribute(self, vm: M, value: Any, name: str, span: Span) -> object:
        """What ``value.name`` comes to where there is none: CPython's error."""
        vm.fault(AttributeError, f"{self.describe(vm, value)} has no attribute `{name}`", span)
        return UNBOUND  # pragma: no cover - the path has ended

    def set_attribute(self, vm: M, value: Any, name: str, new: object, span: Span) -> None:
        """``value.name = new``; ``new`` is UNBOUND for ``del value.name``."""
        if self.complete:
            what = self.describe(vm, value)
            vm.fault(AttributeError, f"`.{name}` of {what} cannot be assigned to", span)
            return
        vm.unfollowed(f"`.{name}` of {self.describe(vm, value)} is assigned to", span)

    def item(self, vm: M, value: Any, index: object, span: Span) -> object:
        """``value[index]``."""
        return self._missing(vm, value, "has no items", span)

    def set_item(self, vm: M, value: Any, index: object, new: object, span: Span) -> None:
        """``value[index] = new``; ``new`` is UNBOUND for ``del value[index]``."""
        self._missing(vm, value, "does not support assignment to items", span)

    # -- operators -----------------------------------------------------------------------

    def unary(self, vm: M, op: str, value: Any, span: Span) -> object:
        """``op value`` for ``-``, ``+``, ``~``."""
        return self._missing(vm, value, f"has no unary `{op}`", span)

    def binary(self, vm: M, op: str, left: Any, right: object, span: Span) -> object:
        """``left op right`` asked of the left operand; NotImplemented: ask the right one."""
        return NotImplemented

    def reflected(self, vm: M, op: str, right: Any, left: object, span: Span) -> object:
        """``left op right`` asked of the right operand."""
        return NotImplemented

    def overloads(self, vm: M, op: str, right: Any, left: object) -> bool:
        """Whether the right operand's class answers ``left op right`` in a way of its own."""
        return True

    def inplace(self, vm: M, op: str, left: Any, right: object, span: Span) -> object:
        """``left op= right``: the new value; NotImplemented: as ``left op right``."""
        return NotImplemented

    def compare(self, vm: M, op: str, left: Any, right: object, span: Span) -> object:
        """``left op right`` for ``== != < <= > >=``; NotImplemented: ask the right operand."""
        return NotImplemented

    def identical(self, vm: M, value: Any, other: object, span: Span) -> Bool | None:
        """``value is other`` where that is no matter of what the two are; None: it is."""
        return None

    def contains(self, vm: M, value: Any, item: object, span: Span) -> object:
        """``item in value``."""
        return self._missing(vm, value, "is not iterable", span)

    # -- protocols -----------------------------------------------------------------------

    def truth(self, vm: M, value: Any, span: Span) -> Bool:
        """``bool(value)``."""
        return E.TRUE

    def presence(self, vm: M, value: Any, span: Span) -> Bool:
        """``bool(value)`` where the value might as well be None, and this may be what is asked."""
        return self.truth(vm, value, span)

    def length(self, vm: M, value: Any, span: Span) -> object:
        """``len(value)``."""
        return self._missing(vm, value, "has no len()", span)

    def iterate(self, vm: M, value: Any, span: Span) -> Iteration:
        """What a loop over the value runs through."""
        self._missing(vm, value, "is not iterable", span)
        return Unknown(f"the items of {self.describe(vm, value)}")

    def call(self, vm: M, value: Any, call: Call) -> object:
        """``value(...)``."""
        return self._missing(vm, value, "is not callable", call.span)

    def key(self, vm: M, value: Any, span: Span) -> object:
        """The value as a dictionary's key on the host; :data:`UNBOUND` if that is not known."""
        return UNBOUND

    def text(self, vm: M, value: Any, how: str, span: Span) -> object:
        """``str(value)`` (how ``s``) or ``repr(value)`` (``r``)."""
        return TEXT

    # -- what dialects ask ---------------------------------------------------------------

    def as_int(self, vm: M, value: Any, span: Span) -> Expr | None:
        """The value as an integer; None if it is none."""
        return None

    def as_view(self, vm: M, value: Any, span: Span) -> View | None:
        """The tensor that a value is."""
        return None

    def is_tensor(self, vm: M, value: Any, otherwise: str, span: Span) -> bool:
        """Whether a value is known to be a tensor; ``otherwise``: what is not followed if it turns
        out to be one."""
        return isinstance(value, View)

    def as_dtype(self, vm: M, value: Any, span: Span) -> DType | None:
        return None

    def as_items(self, vm: M, value: Any, span: Span) -> tuple[object, ...] | None:
        """The items of a sequence of known length."""
        return None

    def as_named(self, vm: M, value: Any, span: Span) -> Mapping[str, object] | None:
        """The entries of a dictionary whose keys are strings."""
        return None

    def as_address(self, vm: M, value: Any, span: Span) -> SystemAddress | None:
        """The place in system memory that a value is."""
        return None

    def declared(self, vm: M, value: Any, shape: Sequence[Expr], span: Span) -> View | None:
        """The tensor of that shape at which a pointer points."""
        return None

    def _missing(self, vm: M, value: Any, what: str, span: Span) -> object:
        text = f"{self.describe(vm, value)} {what}"
        if self.complete:
            vm.fault(TypeError, text, span)
        return vm.unfollowed(f"whether {text} is not followed", span)


# ---------------------------------------------------------------------------- languages


class Language(Struct, Generic[M], frozen=True):
    """What Python is made of, by type of node and of value; put together in ``language.py``."""

    expressions: Mapping[type[ir.Expr], Callable[[M, Any], object]]
    statements: Mapping[type[ir.Stmt], Callable[[M, Any], None]]
    kinds: Mapping[type, Kind[M]]
    default: Kind[M]
    builtins: Mapping[str, object]
    #: modules of the standard library that have a model: their names
    modules: Mapping[str, Mapping[str, object]]
    #: what makes an instance of a built-in type, by type
    constructors: Mapping[type, Builtin]
    #: the methods of built-in types that have a model, by the type's name
    methods: Mapping[str, Mapping[str, Builtin]]
    iterate: Callable[..., None]
    call_function: Callable[..., object]
