"""The interpreter as its parts see it: operations on values, and calls into the language.

A value knows how it behaves: its :class:`Kind` answers attribute, item, operators, comparison,
truth, iteration and call. The machine asks it, under the path that the value stands under, and has
CPython's rules of what to ask in which order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar, cast

from verifier.source import ir
from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.lanes import SystemAddress
from verifier.symbolic.machine import Arg, Call, Dialect
from verifier.symbolic.python.flow import Ended, Escape, Exit, Fault
from verifier.symbolic.python.heap import UNBOUND, Item, ListBox, ObjectBox
from verifier.symbolic.python.model import Builtin, Class, Function, HostType
from verifier.symbolic.python.records import RecordMachine
from verifier.symbolic.python.terms import as_formula, join
from verifier.symbolic.trace import DType, View
from verifier.symbolic.values import Guarded, Opaque, Range, Ref

if TYPE_CHECKING:
    from verifier.source.project import Module

_T = TypeVar("_T")

#: the rule that reports an error of Python's own, by the error's type (nearest base class)
RULES: dict[type[BaseException], str] = {
    TypeError: "wrong-type",
    AttributeError: "no-attribute",
    NameError: "unbound-name",
    IndexError: "list-index",
    KeyError: "missing-key",
    ZeroDivisionError: "division-by-zero",
    ValueError: "wrong-value",
    BaseException: "uncaught-exception",
}


class Kind:
    """How values of a kind behave. What a kind does not define is CPython's error, or unknown.

    ``pure``: operations on such values run no code of the project and change nothing.
    ``complete``: everything that CPython defines on such values is modelled, so that what is not
    found is an error of CPython's; otherwise it is unknown.
    """

    #: the type as CPython calls it
    name: str = "object"
    pure: bool = False
    complete: bool = False

    def type_of(self, vm: VM, value: Any) -> object:
        """``type(value)``: a :class:`HostType`, a :class:`Class`, or something opaque."""
        return Opaque(f"the type of {self.describe(vm, value)}")

    def describe(self, vm: VM, value: Any) -> str:
        """What the value is, in words, for messages."""
        return f"a value of type `{self.name}`"

    # -- attributes and items ----------------------------------------------------------

    def attribute(self, vm: VM, value: Any, name: str, span: Span) -> object:
        """``value.name``; :data:`UNBOUND` if there is none."""
        if self.complete:
            return UNBOUND
        return vm.unfollowed(f"`.{name}` of {self.describe(vm, value)} is not followed", span)

    def no_attribute(self, vm: VM, value: Any, name: str, span: Span) -> object:
        """What ``value.name`` comes to where there is none: CPython's error."""
        vm.fault(AttributeError, f"{self.describe(vm, value)} has no attribute `{name}`", span)
        return UNBOUND  # pragma: no cover - the path has ended

    def set_attribute(self, vm: VM, value: Any, name: str, new: object, span: Span) -> None:
        """``value.name = new``; ``new`` is UNBOUND for ``del value.name``."""
        if self.complete:
            what = self.describe(vm, value)
            vm.fault(AttributeError, f"`.{name}` of {what} cannot be assigned to", span)
            return
        vm.unfollowed(f"`.{name}` of {self.describe(vm, value)} is assigned to", span)

    def item(self, vm: VM, value: Any, index: object, span: Span) -> object:
        """``value[index]``."""
        return self._missing(vm, value, "has no items", span)

    def set_item(self, vm: VM, value: Any, index: object, new: object, span: Span) -> None:
        """``value[index] = new``; ``new`` is UNBOUND for ``del value[index]``."""
        self._missing(vm, value, "does not support assignment to items", span)

    # -- operators -----------------------------------------------------------------------

    def unary(self, vm: VM, op: str, value: Any, span: Span) -> object:
        """``op value`` for ``-``, ``+``, ``~``."""
        return self._missing(vm, value, f"has no unary `{op}`", span)

    def binary(self, vm: VM, op: str, left: Any, right: object, span: Span) -> object:
        """``left op right`` asked of the left operand; NotImplemented: ask the right one."""
        return NotImplemented

    def reflected(self, vm: VM, op: str, right: Any, left: object, span: Span) -> object:
        """``left op right`` asked of the right operand."""
        return NotImplemented

    def overloads(self, vm: VM, op: str, right: Any, left: object) -> bool:
        """Whether the right operand's class answers ``left op right`` in a way of its own."""
        return True

    def inplace(self, vm: VM, op: str, left: Any, right: object, span: Span) -> object:
        """``left op= right``: the new value; NotImplemented: as ``left op right``."""
        return NotImplemented

    def compare(self, vm: VM, op: str, left: Any, right: object, span: Span) -> object:
        """``left op right`` for ``== != < <= > >=``; NotImplemented: ask the right operand."""
        return NotImplemented

    def identical(self, vm: VM, value: Any, other: object, span: Span) -> Bool | None:
        """``value is other`` where that is no matter of what the two are; None: it is."""
        return None

    def contains(self, vm: VM, value: Any, item: object, span: Span) -> object:
        """``item in value``."""
        return self._missing(vm, value, "is not iterable", span)

    # -- protocols -----------------------------------------------------------------------

    def truth(self, vm: VM, value: Any, span: Span) -> Bool:
        """``bool(value)``."""
        return E.TRUE

    def length(self, vm: VM, value: Any, span: Span) -> object:
        """``len(value)``."""
        return self._missing(vm, value, "has no len()", span)

    def iterate(self, vm: VM, value: Any, span: Span) -> Iteration:
        """What a loop over the value runs through."""
        self._missing(vm, value, "is not iterable", span)
        return Unknown(f"the items of {self.describe(vm, value)}")

    def call(self, vm: VM, value: Any, call: Call) -> object:
        """``value(...)``."""
        return self._missing(vm, value, "is not callable", call.span)

    def key(self, vm: VM, value: Any, span: Span) -> object:
        """The value as a dictionary's key on the host; :data:`UNBOUND` if that is not known."""
        return UNBOUND

    def text(self, vm: VM, value: Any, how: str, span: Span) -> object:
        """``str(value)`` (how ``s``) or ``repr(value)`` (``r``)."""
        return Opaque("a string", harmless=True)

    # -- what dialects ask ---------------------------------------------------------------

    def as_int(self, vm: VM, value: Any, span: Span) -> Expr | None:
        """The value as an integer; None if it is none."""
        return None

    def as_view(self, vm: VM, value: Any, span: Span) -> View | None:
        """The tensor that a value is."""
        return None

    def as_dtype(self, vm: VM, value: Any, span: Span) -> DType | None:
        return None

    def as_items(self, vm: VM, value: Any, span: Span) -> tuple[object, ...] | None:
        """The items of a sequence of known length."""
        return None

    def as_address(self, vm: VM, value: Any, span: Span) -> SystemAddress | None:
        """The place in system memory that a value is."""
        return None

    def declared(self, vm: VM, value: Any, shape: Sequence[Expr], span: Span) -> View | None:
        """The tensor of that shape at which a pointer points."""
        return None

    def _missing(self, vm: VM, value: Any, what: str, span: Span) -> object:
        text = f"{self.describe(vm, value)} {what}"
        if self.complete:
            vm.fault(TypeError, text, span)
        return vm.unfollowed(f"whether {text} is not followed", span)


# ---------------------------------------------------------------------------- iteration


@dataclass(frozen=True, slots=True)
class Items:
    """Items that are all there: the loop is exactly its trips."""

    items: tuple[object, ...]


@dataclass(frozen=True, slots=True)
class Live:
    """Items that are looked up one after the other, since the loop may change them (a list).

    ``at(k)`` gives item ``k``, UNBOUND when there is none any more.
    """

    at: Callable[[int], object]


@dataclass(frozen=True, slots=True)
class Trips:
    """An arithmetic progression, with what the loop promises."""

    range: Range


@dataclass(frozen=True, slots=True)
class Runs:
    """A list with symbolic runs: a run is a loop of its own.

    ``watch`` is asked before each trip and after the last one: it says so if what is run through
    is no longer what it was.
    """

    ref: ListBox
    watch: Callable[[], None] | None = None


@dataclass(frozen=True, slots=True)
class Pull:
    """An iterator: ``next()`` gives the next item, and UNBOUND (after an escape) at the end."""

    next: Callable[[], object]


@dataclass(frozen=True, slots=True)
class Push:
    """Code that hands each item to a body: a generator that is run inside its loop."""

    run: Callable[[Callable[[object], None]], None]


@dataclass(frozen=True, slots=True)
class Mapped:
    """Items that are made of others, one by one as the loop gets there.

    ``hand(item, body)`` hands what becomes of an item to the loop's body, or nothing; it does so
    once and last.
    """

    items: Iteration
    hand: Callable[[object, Callable[[object], None]], None]


@dataclass(frozen=True, slots=True)
class Unknown:
    """Items that are not followed, nor how many."""

    reason: str


Iteration = Items | Live | Trips | Runs | Pull | Push | Mapped | Unknown


# ---------------------------------------------------------------------------- the machine


@dataclass(frozen=True)
class Language:
    """What Python is made of, by type of node and of value; put together in ``language.py``."""

    expressions: Mapping[type[ir.Expr], Callable[[VM, Any], object]]
    statements: Mapping[type[ir.Stmt], Callable[[VM, Any], None]]
    kinds: Mapping[type, Kind]
    default: Kind
    builtins: Mapping[str, object]
    #: modules of the standard library that have a model: their names
    modules: Mapping[str, Mapping[str, object]]
    #: what makes an instance of a built-in type, by type
    constructors: Mapping[type, Builtin]
    #: the methods of built-in types that have a model, by the type's name
    methods: Mapping[str, Mapping[str, Builtin]]
    iterate: Callable[..., None]
    call_function: Callable[..., object]


@dataclass(frozen=True, slots=True)
class Awaited:
    """A definition that is entered as soon as it is made: a kernel inside another function."""

    definition: ir.FunctionDef
    enter: Callable[[Function], None]


@dataclass(slots=True)
class Globals:
    """A module of the project while it runs: its scope, and what has been started of it."""

    scope: Ref
    running: set[str] = field(default_factory=set)
    done: bool = False


class VM(RecordMachine):
    """One run of one kernel on one target in one API generation."""

    def __init__(self, language: Language, dialect: Dialect, **state: Any) -> None:
        super().__init__(**state)
        self.language = language
        self.dialect = dialect
        self.depth = 0
        self.target_name: str | None = None
        self.modules: dict[str, Globals] = {}
        #: what has been made once and is asked for again: enum classes, caches, by key
        self.memo: dict[object, object] = {}
        #: the exceptions that the running handlers handle, innermost last
        self.handled: list[Escape] = []
        #: generators that stand at a ``yield`` on a stack of their own, by the number of their box
        self.stacks: dict[int, Any] = {}
        #: whether a module's body is running, not the kernel
        self.importing = False
        #: the nested definition that the run is on its way to
        self.awaited: Awaited | None = None
        self.counters = {}

    def kind(self, value: object) -> Kind:
        """How a value behaves."""
        key = type(self.heap.get(value.id)) if isinstance(value, Ref) else type(value)
        return self.language.kinds.get(key, self.language.default)

    # -- evaluation ----------------------------------------------------------------------

    def eval(self, node: ir.Expr) -> object:
        """The value of an expression."""
        return self.language.expressions[type(node)](self, node)

    def exec(self, body: Sequence[ir.Stmt]) -> None:
        """Run a block.

        Raises:
            Ended: no path comes to its end.
        """
        statements = self.language.statements
        for stmt in body:
            self.step(stmt.span)
            statements[type(stmt)](self, stmt)

    # -- values that depend on the path ---------------------------------------------------

    def cases(self, value: object) -> list[tuple[Bool, object]]:
        """The cases of a value that the path allows; nothing unbound."""
        if not isinstance(value, Guarded):
            return [(E.TRUE, value)]
        live = []
        for guard, item in value.cases:
            if item is UNBOUND or self.decide(guard) is False:
                continue
            live.append((guard, item))
        return live

    def settled(self, value: object) -> object:
        """The value without the cases that the path rules out."""
        if not isinstance(value, Guarded):
            return value
        live = self.cases(value)
        if not live:
            return Opaque("a value on an impossible path", harmless=True)
        return live[0][1] if len(live) == 1 else Guarded(tuple(live))

    def each(self, value: object, action: Callable[[Any], _T]) -> _T:
        """Apply an action to each case of a value, under its guard, and join the results."""
        if not isinstance(value, Guarded):
            return action(value)
        live = self.cases(value)
        if not live:
            raise Ended
        if all(self.kind(item).pure for _, item in live):
            return self._each_pure(live, action)
        return self._each_forked(live, action)

    def _each_pure(self, live: list[tuple[Bool, object]], action: Callable[[Any], _T]) -> _T:
        result: object = UNBOUND
        dead: list[Bool] = []
        for guard, item in reversed(live):
            try:
                if len(live) == 1:
                    one: object = action(item)
                else:
                    with self.guarded(guard):
                        one = action(item)
            except Ended:
                dead.append(guard)
                continue
            result = one if result is UNBOUND else join(guard, one, result)
        if len(dead) == len(live):
            raise Ended
        for guard in dead:
            self.narrow(E.not_(guard))
        return result  # type: ignore[return-value]

    def apart(self, value: object, action: Callable[[Any], _T]) -> _T:
        """As :meth:`each`, for an action that may change something whatever the case is."""
        if not isinstance(value, Guarded):
            return action(value)
        live = self.cases(value)
        if not live:
            raise Ended
        return self._each_forked(live, action)

    def _each_forked(self, live: list[tuple[Bool, object]], action: Callable[[Any], _T]) -> _T:
        (guard, item), rest = live[0], live[1:]
        if not rest:
            return action(item)
        return self.fork(guard, lambda: action(item), lambda: self._each_forked(rest, action))

    # -- errors of Python's own ------------------------------------------------------------

    def fault(
        self,
        error: type[BaseException],
        message: str,
        span: Span,
        *,
        when: Bool = E.TRUE,
        rule: str = "",
        text: str = "",
        values: tuple[tuple[str, Expr], ...] = (),
        help: tuple[str, ...] = (),
        args: tuple[object, ...] | None = None,
    ) -> None:
        """CPython raises ``error`` here if ``when`` holds; what follows runs if it does not.

        Raises:
            Ended: it always does.
        """
        if when is E.FALSE or self.decide(when) is False:
            return
        if not rule:
            rule = next(RULES[cls] for cls in error.__mro__ if cls in RULES)
        fault = Fault(error, message, span, rule, text or message, values, help)
        if not self.catching:
            self._uncaught(fault, when)
            return
        # the words of a finding are not CPython's
        said = (Opaque("the message of an error", harmless=True),)
        exception = self.exception(error, said if args is None else args)
        self.raised(exception, fault, when)

    def raised(self, exception: object, fault: Fault, when: Bool = E.TRUE) -> None:
        """An exception is raised if ``when`` holds, and something may catch it."""
        certain = when is E.TRUE or self.decide(when) is True

        def leave() -> None:
            self.leave(Exit.RAISE, exception, fault.span, fault)

        if certain:
            leave()
        self.fork(when, leave, lambda: None)

    def _uncaught(self, fault: Fault, when: Bool) -> None:
        if fault.demand:
            self.assume(E.not_(when), fault.text, fault.span, "assert")
        else:
            self.check(
                fault.rule,
                E.not_(when),
                fault.span,
                fault.text,
                fault.message,
                values=fault.values,
                help=fault.help,
                facts=fault.facts,
                notes=(*fault.notes, *self.call_notes(fault.span)),
            )
        if when is E.TRUE or self.decide(when) is True:
            if fault.demand:
                raise Ended
            self.dies()

    def uncaught(self, escape: Escape) -> NoReturn:
        """An exception that nothing caught, where it would have been; the path is its path."""
        assert escape.fault is not None
        if self.catching:
            self.leave(Exit.RAISE, escape.value, escape.span, escape.fault)
        self._uncaught(escape.fault, E.TRUE)
        raise Ended

    def exception(self, error: type[BaseException], args: tuple[object, ...]) -> Ref:
        """An instance of a built-in exception type."""
        return self.heap.new(ObjectBox(HostType(error), {"args": args}))

    def call_notes(self, span: Span) -> tuple[tuple[Span, str], ...]:
        """Where the running functions were called, if the place is inside one of them."""
        notes = []
        for frame in reversed(self.frames):
            if frame.called is not None and frame.function is not None and frame.called != span:
                notes.append((frame.called, f"in the call of `{frame.function.qualname}` here"))
        return tuple(notes[:4])

    # -- operations ------------------------------------------------------------------------

    def attribute(self, owner: object, name: str, span: Span) -> object:
        """``owner.name``."""
        return self.each(owner, lambda v: self._attribute(v, name, span))

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

    def item(self, owner: object, index: object, span: Span) -> object:
        """``owner[index]``."""
        return self.each(
            owner,
            lambda v: self.each(index, lambda i: self.kind(v).item(self, v, i, span)),
        )

    def set_item(self, owner: object, index: object, value: object, span: Span) -> None:
        """``owner[index] = value``, or ``del owner[index]`` where the value is UNBOUND."""
        self.each(
            owner,
            lambda v: self.apart(index, lambda i: self.kind(v).set_item(self, v, i, value, span)),
        )

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
        first, second = self.kind(left), self.kind(right)
        early = self._goes_first(left, right) and second.overloads(self, op, right, left)
        if early:
            result = second.reflected(self, op, right, left, span)
            if result is not NotImplemented:
                return result
        result = first.binary(self, op, left, self._seen(left, right), span)
        if result is not NotImplemented:
            return result
        if not early:
            result = second.reflected(self, op, right, left, span)
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

    def _seen(self, left: object, right: object) -> object:
        """The right operand as the left one sees it: a built-in type sees the value inside."""
        box = self.box(right)
        if not isinstance(box, ObjectBox) or box.payload is UNBOUND:
            return right
        return right if isinstance(self.box(left), ObjectBox) else box.payload

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
            result = self.kind(a).compare(self, ask, a, b, span)
            if result is not NotImplemented:
                return result
        if op in ("==", "!="):
            same = self.identical(left, right, span)
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
            return E.truth(left.id == right.id)
        a, b = as_formula(left), as_formula(right)
        if a is not None and b is not None:
            return E.or_(E.and_(a, b), E.and_(E.not_(a), E.not_(b)))
        if isinstance(left, Expr) and isinstance(right, Expr):
            # small integers are shared; of others the identity is CPython's own affair
            return E.eq(left, right)
        if left is right:
            return E.TRUE
        if type(left) is not type(right):
            return E.FALSE
        if isinstance(left, (str, tuple, bytes, float)):
            if left != right:
                return E.FALSE
            return self.unknown_bool("the identity of equal values is not followed", span)
        return E.truth(left == right)

    def truth(self, value: object, span: Span) -> Bool:
        """``bool(value)``."""
        if isinstance(value, Bool):
            return value
        if isinstance(value, bool):
            return E.TRUE if value else E.FALSE
        result = self.each(value, lambda v: self.kind(v).truth(self, v, span))
        formula = as_formula(result)
        assert formula is not None
        return formula

    def length(self, value: object, span: Span) -> object:
        """``len(value)``."""
        return self.each(value, lambda v: self.kind(v).length(self, v, span))

    def iteration(self, value: object, span: Span) -> Iteration:
        """What a loop over one value runs through."""
        return self.kind(value).iterate(self, value, span)

    def iterate(self, iterable: object, body: Callable[[object], None], span: Span) -> None:
        """Hand each item to ``body``, exactly or by a trip that stands for all.

        ``iterable`` may also be the :data:`Iteration` of a value that is being run through.
        """
        self.language.iterate(self, iterable, body, span)

    def items_of(self, value: object, span: Span) -> tuple[object, ...] | None:
        """All items of an iterable, consumed; None if they cannot be listed."""
        kind = self.kind(value)
        known = kind.as_items(self, value, span)
        if known is not None:
            return known
        iteration = kind.iterate(self, value, span)
        if isinstance(iteration, Items):
            return iteration.items
        if isinstance(iteration, (Trips, Runs, Unknown)):
            return None
        return self.gathered_items(iteration, span).concrete

    def gathered_items(self, iteration: Iteration, span: Span) -> ListBox:
        """What is run through, as a list."""
        made = self.heap.new(ListBox())

        def add(item: object) -> None:
            box = self.heap.write(made.id)
            assert isinstance(box, ListBox)
            box.segments = (*box.segments, Item(item))

        self.iterate(iteration, add, span)
        box = self.heap.get(made.id)
        assert isinstance(box, ListBox)
        return box

    def call(
        self,
        callee: object,
        args: Sequence[object] = (),
        keywords: Mapping[str, object] | None = None,
        *,
        span: Span,
        text: str = "",
    ) -> object:
        """Call a value with values."""
        given = tuple(Arg(value, span) for value in args)
        named = {name: Arg(value, span) for name, value in (keywords or {}).items()}
        return self.invoke(callee, Call(given, named, span, text))

    def invoke(self, callee: object, call: Call) -> object:
        """Call a value."""
        return self.each(callee, lambda v: self.kind(v).call(self, v, call))

    def call_function(self, function: Function, call: Call) -> object:
        """Interpret a function of the project in place."""
        return self.language.call_function(self, function, call)

    def type_of(self, value: object) -> object:
        """``type(value)``."""
        return self.kind(value).type_of(self, value)

    # -- coercions, as dialects ask for them -----------------------------------------------

    def as_int(self, value: object, span: Span) -> Expr | None:
        """The value as an integer; what cannot be followed becomes a symbol in the ledger."""
        if isinstance(value, Expr):
            return value
        if isinstance(value, Guarded):
            absent = E.or_(*(guard for guard, item in self.cases(value) if item is None))
            self.fault(TypeError, "`None` is used as an integer", span, when=absent)
            return self._joined(value, lambda v: self.as_int(v, span))
        return self.kind(value).as_int(self, value, span)

    def as_bool(self, value: object, span: Span) -> Bool | None:
        return self.truth(value, span)

    def as_view(self, value: object, span: Span) -> View | None:
        """The tensor a value is."""
        if isinstance(value, Guarded):
            live = [(g, v) for g, v in self.cases(value) if v is not None]
            return self.as_view(live[0][1], span) if len(live) == 1 else None
        return self.kind(value).as_view(self, value, span)

    def as_dtype(self, value: object, span: Span) -> DType | None:
        if isinstance(value, Guarded):
            return self._joined(value, lambda v: self.as_dtype(v, span))
        return self.kind(value).as_dtype(self, value, span)

    def as_address(self, value: object, span: Span) -> SystemAddress | None:
        """The place in system memory that a value is."""
        if isinstance(value, Guarded):
            return self._joined(value, lambda v: self.as_address(v, span))
        return self.kind(value).as_address(self, value, span)

    def declared(self, value: object, shape: Sequence[Expr], span: Span) -> View | None:
        """The tensor of that shape at which a pointer points."""
        if isinstance(value, Guarded):
            live = [(g, v) for g, v in self.cases(value) if v is not None]
            return self.declared(live[0][1], shape, span) if len(live) == 1 else None
        return self.kind(value).declared(self, value, shape, span)

    def as_items(self, value: object, span: Span) -> tuple[object, ...] | None:
        """The items of a sequence of known length."""
        if isinstance(value, Guarded):
            live = self.cases(value)
            return self.as_items(live[0][1], span) if len(live) == 1 else None
        return self.kind(value).as_items(self, value, span)

    def _joined(self, value: Guarded, one: Callable[[object], _T | None]) -> _T | None:
        """The cases of a value as one; None if one of them is not of the kind."""
        result: _T | None = None
        for guard, item in reversed(self.cases(value)):
            if item is None:
                continue
            single = one(item)
            if single is None:
                return None
            if result is not None:
                single = cast(_T, join(guard, single, result))
            result = single
        return result

    # -- modules ---------------------------------------------------------------------------

    def globals_of(self, module: Module) -> Globals:
        """The names of a module of the project."""
        return self.modules[str(module.path)]


__all__ = [
    "RULES",
    "VM",
    "Escape",
    "Globals",
    "Items",
    "Iteration",
    "Kind",
    "Language",
    "Live",
    "Mapped",
    "Pull",
    "Push",
    "Runs",
    "Trips",
    "Unknown",
]
