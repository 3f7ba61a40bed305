"""Ways out of a block: where a path that ends lands, and what it leaves behind.

A path that goes on returns; one that ends (``return``, ``break``, ``continue``, an exception)
leaves an :class:`Escape` at the :class:`Landing` that waits for it and raises :class:`Ended`.
Other paths of the same statement go on under the opposite condition.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import TYPE_CHECKING

from msgspec import Struct, field

from verifier.source.ir import Span
from verifier.symbolic.checks import Check, Note
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.python.heap import Heap
from verifier.symbolic.tensors import Loop

if TYPE_CHECKING:
    from verifier.source.project import Module
    from verifier.symbolic.python.model import Class, Function


class Exit(Enum):
    """How a path leaves a block."""

    RETURN = "return"
    BREAK = "break"
    CONTINUE = "continue"
    RAISE = "raise"


class Wait(Enum):
    """What a landing waits for."""

    CALL = "call"
    LOOP = "loop"
    TRIP = "trip"
    HANDLERS = "handlers"
    ALWAYS = "always"  # `finally`, `with`


_TAKEN: dict[Wait, frozenset[Exit]] = {
    Wait.CALL: frozenset({Exit.RETURN}),
    Wait.LOOP: frozenset({Exit.BREAK}),
    Wait.TRIP: frozenset({Exit.CONTINUE}),
    Wait.HANDLERS: frozenset({Exit.RAISE}),
    Wait.ALWAYS: frozenset(Exit),
}


class Ended(Exception):  # noqa: N818  (no error: no path goes on from here)
    """Every path through what was being interpreted has ended."""


class AbortedRunError(Exception):
    """The run cannot go on (budget); what was traced so far stays, the kernel is unknown."""

    def __init__(self, reason: str, span: Span) -> None:
        super().__init__(reason)
        self.reason = reason
        self.span = span


class Fault(Struct, frozen=True):
    """An error of Python's own: its type, and what a finding says if nothing catches it.

    ``demand``: an assertion or a ``raise`` of the kernel's, which is a demand on its inputs.
    """

    error: type[BaseException]
    message: str
    span: Span
    rule: str
    text: str
    values: tuple[tuple[str, Expr], ...] = ()
    help: tuple[str, ...] = ()
    #: what the kernel can assert against it
    assertion: str = ""
    facts: tuple[str, ...] = ()
    notes: tuple[Note, ...] = ()
    demand: bool = False
    #: a library outside the project may raise it: nobody's fault if nothing catches it
    foreign: bool = False


class Escape(Struct):
    """A path that has ended: under ``guard``, with the state that it left behind.

    ``value`` is what is returned, or the exception; ``fault`` tells of the exception's origin.
    """

    kind: Exit
    guard: Bool
    heap: Heap
    value: object = None
    span: Span | None = None
    fault: Fault | None = None


class Landing(Struct):
    """A place where paths that end are gathered. ``base`` is the length of the path outside.

    ``catches``: the program goes on there after an exception, of whatever class.
    """

    waits: Wait
    base: int
    escapes: list[Escape] = field(default_factory=list)
    catches: bool = False

    def takes(self, kind: Exit) -> bool:
        """Whether a path that ends so lands here."""
        return kind in _TAKEN[self.waits]


class Frame(Struct):
    """A running function, class body or module."""

    module: Module
    scope: int
    path_base: int
    function: Function | None = None
    #: the call that entered it, for what is reported inside
    called: Span | None = None
    #: the class whose body is running
    body_of: Class | None = None
    #: what takes the items of a running generator; what it gives back is what ``yield`` is worth
    consumer: Callable[[object], object] | None = None
    #: what becomes of what a class body binds
    binds: Callable[[str, object], object] | None = None
    #: whether it runs through a generator that stands in a ``try`` or a ``with``
    delegates: bool = False
    #: what the caller calls the result
    result_name: str | None = None


class HostCheck(Struct, frozen=True):
    """A check raised while interpreting: of the rule with that id.

    ``compiled``: of what stands there, which only a compiler looks at: nothing fails in Python.
    """

    rule: str
    check: Check
    order: int
    path: tuple[Bool, ...]
    loops: tuple[Loop, ...]
    compiled: bool


class Mark(Struct):
    """How far a run had come, to go back there."""

    heap: Heap
    path: int
    order: int
    lengths: tuple[int, ...]
    landed: tuple[int, ...]
    names: dict[str, int]
    calls: int
    dies: bool
