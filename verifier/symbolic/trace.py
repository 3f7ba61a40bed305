"""What a kernel does, as data: its operations in program order, and what it assumes and returns.

The interpreter (or the executor, on plain numbers) produces these; rules read them.
"""

from __future__ import annotations

from enum import Enum
from typing import Final, NamedTuple

from msgspec import Struct, field

from verifier.hardware.capabilities import Capability
from verifier.hardware.engines import Engine
from verifier.source.ir import Span
from verifier.symbolic.effects import Effect
from verifier.symbolic.expr import TRUE, Bool, Expr, Sym
from verifier.symbolic.generation import Generation
from verifier.symbolic.instruction import Instruction, Trait
from verifier.symbolic.lanes import Touch
from verifier.symbolic.tensors import Loop, Operand, Storage, View


class Round(NamedTuple):
    """A round of a loop that is gone round by round: which loop, and what tells the round from
    others."""

    loop: tuple[object, ...]
    value: tuple[object, ...]


class Operation(Struct, eq=False):
    """One device instruction (or allocation, load, store) with bound operands.

    ``name`` is the canonical API name without namespace generation, e.g. ``isa.nc_matmul``,
    ``language.load``. ``writes`` and ``reads`` list the views touched; ``effect`` says whether
    a write adds to what is there (matmul accumulation, ``+=``): a condition where that depends.
    """

    name: str
    operands: dict[str, Operand]
    span: Span
    generation: Generation
    loops: tuple[Loop, ...]
    path: tuple[Bool, ...]
    order: int
    reads: tuple[tuple[str, View], ...] = ()
    writes: tuple[tuple[str, View], ...] = ()
    #: as :meth:`Footprint.effect_of` gives it
    effect: Effect | Bool = Effect.SETS
    engine: Engine = Engine.UNKNOWN
    call_text: str = ""
    attributes: dict[str, object] = field(default_factory=dict)
    #: operands that are addresses (OKK); ``reads`` and ``writes`` are empty then
    touches: tuple[Touch, ...] = ()
    #: what there is to say about the function
    instruction: Instruction | None = None
    #: what the target can do beyond the first one
    capabilities: frozenset[Capability] = frozenset()
    #: arguments whose values somebody asked for, and that are not known
    unseen: set[str] = field(default_factory=set)
    #: of loops that are gone round by round, outermost first; in a run those are all that stand in
    #: no ``while``
    rounds: tuple[Round, ...] = ()
    #: the calls of functions of the user's that led to it, outermost first
    called: tuple[object, ...] = ()

    @property
    def call(self) -> tuple[object, ...]:
        """What tells the device call from others: where it stands, and how that was reached."""
        return (*self.called, self.span)

    @property
    def traits(self) -> frozenset[Trait]:
        """What is to be known of its function; empty where nothing is."""
        return self.instruction.traits if self.instruction is not None else frozenset()

    @property
    def api(self) -> str:
        """The name of the generation."""
        return self.generation.name

    def has(self, capability: Capability) -> bool:
        return capability in self.capabilities

    @property
    def adds(self) -> bool:
        """Whether it may add to its target in any way."""
        return self.effect is not Effect.SETS

    def view(self, role: str) -> View | None:
        operand = self.operands.get(role)
        return operand.view if operand is not None else None

    def value(self, role: str) -> object:
        operand = self.operands.get(role)
        if operand is None:
            return None
        if not operand.known:
            self.unseen.add(role)
        return operand.value

    def known(self, role: str) -> bool:
        """Whether the value of an argument can be seen; who asks is left open if it cannot."""
        self.value(role)
        return role not in self.unseen

    def given(self, role: str) -> bool:
        """Whether the call names an argument itself."""
        operand = self.operands.get(role)
        return operand is not None and operand.given

    def span_of(self, role: str) -> Span:
        operand = self.operands.get(role)
        return operand.span if operand is not None else self.span


class AssumptionKind(Enum):
    """Who demands something of the inputs."""

    #: said in the kernel
    ASSERT = "assert"
    CONTRACT = "contract"
    #: what holds of every value of a kind: a dimension is >= 1
    TYPE = "type"
    #: a dtype that the kernel needs without saying so
    INFERRED = "inferred"
    #: program indices lie in the grid
    GRID = "grid"
    #: no demand: what follows runs where Python has not raised the error that is reported before
    SURVIVED = "survived"


#: why something was not done
LATE: Final = "the time for this kernel is used up"
#: what somebody has written down
SAID: Final = (AssumptionKind.ASSERT, AssumptionKind.CONTRACT)


class Assumption(Struct, frozen=True):
    """Something the kernel demands of its inputs.

    ``order`` is its place in program order. ``everywhere``: no branch and no loop stands
    around it, so that whatever is traced, this is demanded too. ``guard``: the path that it is
    demanded on; ``condition`` says that it holds there.
    """

    condition: Bool
    text: str
    span: Span | None
    kind: AssumptionKind
    order: int = 0
    everywhere: bool = False
    guard: Bool = TRUE


class LedgerKind(Enum):
    """What was not followed, or who knows it."""

    #: a value: its symbols stand for any
    HAVOC = "havoc"
    #: a call of an API without a description
    UNMODELLED = "unmodelled"
    #: a demand of the kernel that may exclude inputs
    ASSUMPTION = "assumption"
    #: what a library may demand
    DEMAND = "demand"
    #: a choice that the kernel leaves open, taken one way
    GUESS = "guess"
    #: a value of which nothing is known
    OPAQUE = "opaque"
    #: what may have done anything
    SKIPPED = "skipped"
    #: only the device knows
    RUNTIME = "runtime"
    #: demanded of what a caller gives
    CALLER = "caller"


class LedgerEntry(Struct, frozen=True):
    """An approximation: what was not followed exactly, where, and the symbols that stand for it."""

    kind: LedgerKind
    message: str
    span: Span
    symbols: tuple[str, ...] = ()
    order: int = 0


class Block(Struct, frozen=True):
    """A statement whose branches have tensors of their own, and the function that it stands in."""

    span: Span
    within: Span


class Turn(NamedTuple):
    """The one trip of a loop that is traced once: what happened in it, by order."""

    name: str
    first: int
    last: int

    def around(self, order: int) -> bool:
        return self.first < order < self.last


class Unmodelled(NamedTuple):
    """A device call whose effects are not known: it has no description, or an operand is lost."""

    name: str
    span: Span
    #: what of a call with a description is not followed
    lost: str = ""

    @property
    def said(self) -> str:
        """Why nothing is known of it, as a reason."""
        return self.lost or f"`{self.name}` is not modelled"

    def may(self, what: str) -> str:
        """Why something is not decided: what the call may do."""
        return (
            f"{self.lost}: the call {what}"
            if self.lost
            else f"`{self.name}` has no model: it {what}"
        )


class Trace(Struct):
    """Everything one kernel run produced, in program order."""

    kernel: str
    path: str
    span: Span
    generation: Generation
    dialect: str
    storages: list[Storage] = field(default_factory=list)
    operations: list[Operation] = field(default_factory=list)
    #: value of ``return``: the returned views, each under its path condition
    returns: list[tuple[tuple[Bool, ...], tuple[View, ...], Span]] = field(default_factory=list)
    #: of the indices of returned sequences, which tell their tensors apart: how many there are
    elements: dict[Sym, Expr] = field(default_factory=dict)
    assumptions: list[Assumption] = field(default_factory=list)
    #: that an error of Python's, which is reported on its own, was not raised
    survived: list[Assumption] = field(default_factory=list)
    ledger: list[LedgerEntry] = field(default_factory=list)
    grid: tuple[Loop, ...] = ()
    #: how the kernel asks for the sizes of its axes
    grid_counts: tuple[str, ...] = ()
    #: the kernel asks for its place in the grid, or for how large that is, if there is one
    grid_asked: bool = True
    #: the block sizes that a tiling callback tries until they fit
    chosen: tuple[str, ...] = ()
    #: inputs that are declared to be updated (NKI Beta 1)
    mutable: set[str] = field(default_factory=set)
    #: `if` statements that indices decide, whose tensors stay inside, by place (NKI Beta 1)
    blocks: dict[Span, Block] = field(default_factory=dict)
    #: loops of one trip that have tensors of their own as others do
    turns: list[Turn] = field(default_factory=list)
    unmodelled: list[Unmodelled] = field(default_factory=list)
    calls: int = 0
    #: some path ends in an error of Python's that is reported on its own
    dies: bool = False
    #: all of it was run, and some path comes to the kernel's end
    completes: bool = True
    #: what is returned is not known: a value was not followed, or the run ended early
    opaque_return: bool = False

    @property
    def unknown(self) -> int:
        """How much of the kernel is approximated or not followed at all."""
        return len(self.ledger) + len(self.unmodelled)
