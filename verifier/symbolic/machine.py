"""What a dialect sees of the interpreter.

A dialect sees a :class:`Machine`: it allocates tensors, emits operations and raises checks through
it, and never touches the interpreter's state. What the interpreter sees of a dialect is a
:class:`verifier.symbolic.dialect.Dialect`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

from verifier.hardware.chips import Chip
from verifier.hardware.memories import Buffer
from verifier.hardware.targets import Target
from verifier.source.ir import Span
from verifier.symbolic.checks import Details
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.generation import Generation
from verifier.symbolic.lanes import SystemAddress
from verifier.symbolic.tensors import Axis, DType, Loop, Placing, View
from verifier.symbolic.trace import AssumptionKind, LedgerKind, Operation
from verifier.symbolic.values import HostUse, RecordType, RecordValue

if TYPE_CHECKING:
    from typing_extensions import Unpack


class Arg(Struct, frozen=True):
    """An argument of a call: its value and the text it came from."""

    value: object
    span: Span


class Call(Struct, frozen=True):
    """A call as written.

    ``text`` is the callee's source, ``target_name`` the name that the result is about to be bound
    to (for naming results in messages), if it is a plain name.
    """

    args: tuple[Arg, ...]
    keywords: Mapping[str, Arg]
    span: Span
    text: str
    target_name: str | None = None


class Machine(Protocol):
    """What a dialect may do. Nothing is raised: problems become checks or ledger entries."""

    @property
    def target(self) -> Target:
        """The NeuronCore; only for the dialects that run on one."""
        ...

    @property
    def chip(self) -> Chip:
        """The TPU; only for the dialects that run on one."""
        ...

    @property
    def generation(self) -> Generation:
        """The generation in force."""
        ...

    @property
    def api(self) -> str:
        """Its name: ``beta1``, ``0.2`` ... ``0.6``."""
        ...

    def of_device(self, use: HostUse, value: object, span: Span) -> object | None:
        """What the host makes of a value that only the device knows; None: it is of the host."""
        ...

    @property
    def loops(self) -> tuple[Loop, ...]:
        """Loops around the current point, outermost first."""
        ...

    @property
    def path(self) -> tuple[Bool, ...]:
        """Conditions of the current path."""
        ...

    def next_order(self) -> int:
        """The next position in program order (operations and allocations share the numbering)."""
        ...

    def axis(self, size: Expr) -> Axis:
        """A fresh axis of that extent."""
        ...

    def allocate(
        self,
        name: str,
        shape: Sequence[Expr],
        dtype: DType,
        buffer: Buffer,
        span: Span,
        **more: Unpack[Placing],
    ) -> View:
        """A new storage in the current loops and path; the view of all of it."""
        ...

    def emit(self, operation: Operation) -> None:
        """Append an operation to the trace."""
        ...

    def check(
        self,
        rule: str,
        predicate: Bool,
        span: Span,
        text: str,
        message: str,
        *,
        compiled: bool = False,
        **details: Unpack[Details],
    ) -> None:
        """Raise a check of the host rule ``rule`` (an id) at the current point.

        ``compiled``: of what stands there, however often loops on the device come to it.
        """
        ...

    def approximate(
        self, kind: LedgerKind, message: str, span: Span, symbols: Sequence[str] = ()
    ) -> None:
        """Enter an approximation into the ledger."""
        ...

    def unmodelled(self, name: str, span: Span, lost: str = "") -> None:
        """Say that a device call has no model; the kernel cannot be called verified then.

        ``lost``: what of a call that has one is not followed.
        """
        ...

    def grid(self, axis: int) -> tuple[Expr, Expr]:
        """``(program index, number of programs)`` along an axis of the launch grid."""
        ...

    def decide(self, condition: Bool) -> bool | None:
        """Whether the path's facts settle a condition, by cheap means only."""
        ...

    def assume(self, condition: Bool, text: str, span: Span, kind: AssumptionKind) -> None:
        """Add an assumption to the rest of the path."""
        ...

    def mode(self, name: str) -> object:
        """What the device was last switched to on this path; False: to nothing."""
        ...

    def switch(self, name: str, value: object) -> None:
        """Switch the device to something."""
        ...

    # -- coercions: they force lazily typed parameters; None when the value cannot be one ------

    def as_view(self, value: object, span: Span) -> View | None:
        """The tensor a value is (a parameter used as a tensor becomes one)."""
        ...

    def is_tensor(self, value: object, otherwise: str, span: Span) -> bool:
        """Whether a value is known to be a tensor; ``otherwise``: why nothing is verified if it
        turns out to be one after all."""
        ...

    def declared(self, value: object, shape: Sequence[Expr], span: Span) -> View | None:
        """The tensor of that shape at which a pointer points."""
        ...

    def as_int(self, value: object, span: Span) -> Expr | None: ...

    def as_bool(self, value: object, span: Span) -> Bool | None: ...

    def as_dtype(self, value: object, span: Span) -> DType | None: ...

    def as_items(self, value: object, span: Span) -> tuple[object, ...] | None:
        """The items of a tuple or list of known length."""
        ...

    def as_named(self, value: object, span: Span) -> Mapping[str, object] | None:
        """The entries of a dictionary whose keys are strings."""
        ...

    def as_address(self, value: object, span: Span) -> SystemAddress | None:
        """The place in system memory a value is (a parameter used as one becomes a buffer)."""
        ...

    # -- records ------------------------------------------------------------------------------

    def record(self, kind: RecordType, values: Sequence[object], origin: object = None) -> object:
        """A new record; ``origin`` says how its fields were computed."""
        ...

    def contents(self, value: object) -> RecordValue | None:
        """What a record holds now; None if the value is no record."""
        ...

    def fill(self, value: object, values: Sequence[object], origin: object = None) -> bool:
        """Assign all fields of a record; False if the value is none that can be assigned to.

        Such is the copy of a record that stands for one of some trip of a loop.
        """
        ...


__all__ = ["Arg", "Call", "Machine"]
