"""The interpreter as its parts see it: operations on values, and calls into the language."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeVar

from msgspec import Struct, field

from verifier.source import ir
from verifier.source.ir import Span
from verifier.source.sites import Site
from verifier.symbolic import expr as E
from verifier.symbolic.dialect import Dialect
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.lanes import SystemAddress
from verifier.symbolic.machine import Arg, Call
from verifier.symbolic.python.flow import Ended, Escape
from verifier.symbolic.python.heap import Item, ListBox
from verifier.symbolic.python.iteration import Items, Iteration, Runs, Trips, Unknown
from verifier.symbolic.python.kind import Language
from verifier.symbolic.python.model import Function
from verifier.symbolic.python.operations import Operations
from verifier.symbolic.tensors import DType, View
from verifier.symbolic.values import Guarded, Ref

if TYPE_CHECKING:
    from verifier.source.order import Order
    from verifier.source.project import Module


_T = TypeVar("_T")

#: decorators of kernels, which leave a function what it is, as far as a trace can tell
LAUNCHING: Final = frozenset(
    {
        "jit", "trace", "baremetal", "benchmark", "profile", "simulate", "simulate_kernel",
        "nki_jit", "kernel",
    }
)  # fmt: skip
#: the places where a value becomes a kernel: of the call or decorator, and of the calls around it
Places = frozenset[tuple[str, int, int]]


class Awaited(Struct, frozen=True):
    """A definition that is entered as soon as it is made: a kernel inside another function.

    With a ``site``, what becomes a kernel there is.
    """

    definition: ir.FunctionDef
    enter: Callable[[Function], None]
    site: Site | None = None
    launch: Callable[[object], None] | None = None


class Globals(Struct):
    """A module of the project while it runs: its scope, and what has been started of it."""

    scope: Ref
    #: the box with what has been asked for of the names that wait
    waiting: Ref
    running: set[str] = field(default_factory=set)
    #: the pieces of its text that run in order, and the one that runs now
    ordered: frozenset[int] | None = None
    at: int | None = None
    #: the library whose names, which nobody knows, ``import *`` has put before the built-in ones
    hiding: str = ""


class VM(Operations):
    """One run of one kernel on one target in one API generation."""

    language: Language[VM]
    dialect: Dialect[VM]

    def __init__(self, language: Language[VM], dialect: Dialect[VM], **state: Any) -> None:
        super().__init__(**state)
        self.language = language
        self.dialect = dialect
        self.depth = 0
        #: the methods of built-in types that are running as functions
        self.methods_running: list[object] = []
        self.target_name: str | None = None
        self.modules: dict[str, Globals] = {}
        #: in which order modules run, and whether that can be seen
        self.program: Order | None = None
        self.ordered = False
        #: what has been made once and is asked for again, by key: enum classes, caches, calls
        self.memo: dict[object, object] = {}
        #: the exceptions that the running handlers handle, innermost last
        self.handled: list[Escape] = []
        #: generators that stand at a ``yield`` on a stack of their own, by the number of their box
        self.stacks: dict[int, Any] = {}
        #: whether a module's body is running, not the kernel
        self.importing = False
        #: the function of the call that is being evaluated
        self.callee: Span | None = None
        #: the nested definition that the run is on its way to
        self.awaited: Awaited | None = None
        #: what became a kernel, and where
        self.launched: list[tuple[Places, object]] = []
        self.counters = {}

    def globals_of(self, module: Module) -> Globals:
        """The names of a module of the project."""
        return self.modules[str(module.path)]

    def done(self) -> int | None:
        """How much it has done that no heap shows, where trips that change nothing need not be run
        one by one; None: they may have to."""
        return None

    # -- evaluation -------------------------------------------------------------------

    def made_before(self, action: Callable[[], object]) -> object:
        """What a call gives that makes a decorator."""
        return action()

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
            self.dialect.statement(self, stmt)
            statements[type(stmt)](self, stmt)

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

    def launches(self, value: object, span: Span) -> None:
        """A value becomes a kernel here.

        Raises:
            Ended: it was awaited.
        """
        spans = (span, *(frame.called for frame in self.frames if frame.called is not None))
        places = frozenset((each.path, each.line, each.column) for each in spans)
        self.launched.append((places, value))
        waited = self.awaited
        if waited is not None and waited.site is not None and waited.site.place in places:
            assert waited.launch is not None
            self.awaited = None
            waited.launch(value)
            raise Ended  # what the enclosing function does with its kernel is no part of it

    # -- iteration --------------------------------------------------------------------

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

    # -- coercions, as dialects ask for them ------------------------------------------

    def as_int(self, value: object, span: Span) -> Expr | None:
        """The value as an integer; what cannot be followed becomes a symbol in the ledger."""
        if isinstance(value, Expr):
            return self.without_choices(value)
        if isinstance(value, Guarded):
            absent = E.or_(*(guard for guard, item in self.cases(value) if item is None))
            self.fault(TypeError, "`None` is used as an integer", span, when=absent)
            return self._joined(value, lambda v: self.as_int(v, span))
        return self.kind(value).as_int(self, value, span)

    def as_bool(self, value: object, span: Span) -> Bool | None:
        return self.truth(value, span)

    def as_view(self, value: object, span: Span) -> View | None:
        """The tensor a value is; None where it may be none, or one of several."""
        if isinstance(value, Guarded):
            live = self.cases(value)
            return self.as_view(live[0][1], span) if len(live) == 1 else None
        return self.kind(value).as_view(self, value, span)

    def is_tensor(self, value: object, otherwise: str, span: Span) -> bool:
        """Whether a value is known to be a tensor; see :class:`.Kind`."""
        cases = self.cases(value) if isinstance(value, Guarded) else [(E.TRUE, value)]
        found = [self.kind(item).is_tensor(self, item, otherwise, span) for _, item in cases]
        return found == [True]

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

    def as_named(self, value: object, span: Span) -> Mapping[str, object] | None:
        """The entries of a dictionary whose keys are strings."""
        if isinstance(value, Guarded):
            live = self.cases(value)
            return self.as_named(live[0][1], span) if len(live) == 1 else None
        return self.kind(value).as_named(self, value, span)

    def _joined(self, value: Guarded, one: Callable[[object], _T | None]) -> _T | None:
        """The cases of a value as one, each under its guard; None if one is of another kind."""
        there = tuple(case for case in self.cases(value) if case[1] is not None)
        others: list[object] = []

        def single(item: object) -> _T | None:
            found = one(item)
            if found is None:
                others.append(item)
            return found

        result = self.each(Guarded(there), single) if there else None
        return None if others else result
