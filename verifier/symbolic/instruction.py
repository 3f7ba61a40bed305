"""What there is to say about one device function, once: the form that every dialect fills in.

What depends on the call is a function of a :class:`Call`, on symbolic integers: rules turn its
answer into obligations, runs evaluate it on plain numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Protocol

import msgspec
from msgspec import Struct

from verifier.hardware.capabilities import Capability
from verifier.hardware.engines import Engine
from verifier.hardware.memories import Buffer
from verifier.hardware.targets import Target
from verifier.source.ir import Span
from verifier.symbolic.effects import ALWAYS, Call, Footprint, When
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.roles import In, Role, Since, StartLanes
from verifier.symbolic.tensors import DType, Operand, View


@dataclass(frozen=True, slots=True)
class Operators:
    """The operators that a parameter takes; ``needs``: what the target must have for some."""

    role: str
    admitted: frozenset[str]
    facts: tuple[str, ...]
    needs: Mapping[str, tuple[Capability, tuple[str, ...]]] = field(
        default_factory=dict, hash=False
    )
    #: which operators work on bits; facts: with one the tiles hold integers, and the other
    #: operator of the call works on bits as well
    on_bits: frozenset[str] = frozenset()
    bits: str = ""
    unmixed: str = ""
    #: which have one operand
    unary: frozenset[str] = frozenset()
    #: which it no longer takes, with the generation
    gone: Mapping[str, str] = field(default_factory=dict, hash=False)
    #: names that other uses of them have, and that are none here, with the generation
    misnamed: Mapping[str, str] = field(default_factory=dict, hash=False)


class Simulated(Struct, frozen=True):
    """From a generation on it runs in the simulator only; what to do ``instead``."""

    since: str
    fact: str
    instead: str


class Commands(Struct, frozen=True):
    """The reduce commands; the operand ``initial`` goes with ``load_reduce``."""

    admitted: frozenset[str]
    fact: str
    initial: str = ""
    #: the number that stands for no operand `initial`
    unset: int | None = None
    #: the operand that says how, which a command that reduces cannot do without
    operator: str = ""


class Reduction(Struct, frozen=True):
    """The axes that the operand ``axis`` names are the last free ones: a fact.

    ``before``: the generation from which on that is so, as it is said now. Until then the fact
    ``loosely`` says as much, but that from ``one`` on axis 1 may be the last of several; without
    that fact any free axes would do.
    ``keeps``: the generation from which on the axes stay in the result whatever is asked for.
    """

    fact: str
    before: str
    loosely: str = ""
    one: str = ""
    keeps: str = ""


@dataclass(frozen=True, slots=True)
class Program:
    """From a generation on it is a program of an engine that reaches some memories only."""

    since: str
    memories: In
    #: a fact: that operand is a tile from then on
    tiles: Mapping[str, str] = field(default_factory=dict, hash=False)


class OnePort(Struct, frozen=True):
    """Two operands of which one at most is in PSUM, from a generation on, and the fact."""

    first: str
    second: str
    fact: str
    since: str = ""


class Scratch(Struct, frozen=True):
    """A tile that it makes for itself where a condition holds: no kernel can place that one.

    ``what`` is the tile in words, ``instead`` what to write where all tiles are placed.
    """

    what: str
    facts: tuple[str, ...]
    instead: str
    when: When = ALWAYS


class Admission(Struct, frozen=True):
    """Whether an engine computes operators: ``text`` is what must hold, ``message`` what does not.

    ``memories``: where the tiles are that the one engine that computes them can reach.
    """

    holds: bool
    text: str
    message: str
    facts: tuple[str, ...]
    memories: In | None = None
    #: the sources do not agree
    advice: bool = False
    help: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Engines:
    """Who runs the call: ``default``, or one of ``on_request``, as far as the target has it."""

    default: Engine | Callable[[Call], Engine]
    on_request: frozenset[Engine] = frozenset()
    fact: str = ""
    needs: Mapping[Engine, tuple[Capability, tuple[str, ...]]] = field(
        default_factory=dict, hash=False
    )
    #: generations whose compilers do not heed the engine that a call asks for
    unheeded: frozenset[str] = frozenset()
    #: what is said of an engine and the operators that are given; None: nothing
    computes: Callable[[Call, Engine, tuple[str, ...], Target], Admission | None] | None = None

    def heeds(self, call: Call) -> bool:
        """Whether it matters whom a call asks for."""
        return call.api not in self.unheeded

    def of(self, call: Call) -> Engine:
        """Who runs a call that names nobody, or in vain."""
        return self.default if isinstance(self.default, Engine) else self.default(call)


class Indirection(Struct, frozen=True, kw_only=True):
    """Which operands may be columns that an index names (``.indirect``), and what goes with it.

    ``source``: the operand whose lanes those of the destination are; ``lanes``: the fact that says
    so. ``engines``: who runs the call then, if not all that can. ``dtypes``: what such operands
    hold, if not anything. ``pairs``: both are columns of one index, or none is. ``unless``: a flag,
    and the operand that it forbids. ``never_of``: dtypes that the call does not compute then.
    """

    operands: frozenset[str]
    source: str
    lanes: str = "NKI-TI06"
    engines: frozenset[Engine] = frozenset()
    dtypes: frozenset[int] = frozenset()
    pairs: tuple[tuple[str, str], ...] = ()
    unless: tuple[str, str] | None = None
    untiled: str = ""
    never_of: frozenset[int] = frozenset()


class Trait(Enum):
    """What rules of one kind of instruction go by."""

    MATMUL = "multiplies matrices into PSUM"
    SUMS = "leaves sums of products, which may be added to where they lie"
    #: four of them to an element, and scales for groups of elements
    PACKED = "multiplies packed elements that share scales"
    DMA = "moves data by DMA"
    COLLECTIVE = "is between ranks"
    COPIES = "copies a tile, or converts it"
    TURNS = "exchanges partitions and free elements"
    STATISTICS = "counts elements, and has their mean and their spread"
    REGISTERS = "exchanges one element with a register"
    GENERATOR = "seeds a generator of random numbers, or reads its state"
    RANDOM = "draws numbers: twice the same call is not the same"
    #: barriers, registers, code of one's own, addresses out of registers
    NO_LANES = "does not stream tiles through the lanes of an engine"
    REFUSED = "stands for a call that was reported: what it would have done is not known"
    LANGUAGE = "is of the language: the compiler of Beta 1 makes instructions of it as it needs"
    # -- of NeuronCores and TPUs
    ENUMERATES = "counts positions: `offset + partition * channel_multiplier`, and a pattern"
    GATHERS = "picks rows or elements by index"
    QUANTISES = "converts between numbers and quantised ones"
    SORTS = "picks or orders elements by what they are"
    SEARCHES = "finds the largest elements, and leaves them where they are"
    LOCATES = "tells where in each partition of its data lies what it is to look for"
    # -- of TPUs
    POOLS = "folds windows"
    PICKS = "takes one of the elements that it folds, the largest or the smallest"
    CONVOLVES = "multiplies windows with weights, and adds up"
    DEPTHWISE = "has weights for each channel of its own"
    TRANSPOSED = "puts zeros between the elements instead of steps"
    INTEGERS = "computes with integers"
    FIRST_PRODUCTS = "multiplies matrices with their rows along n"
    SECOND_PRODUCTS = "multiplies matrices with their rows along c"
    SCATTERS = "puts rows or elements where an index says"
    INITIALISES = "prepares the device: before all transfers and computation"
    POLLS = "waits until all is done"
    STARTS_PARALLEL = "from here on transfers and computation run side by side"
    ENDS_PARALLEL = "waits for both: from here on in the order of the calls"
    LOGS = "states what holds, and only writes to the log on the device"
    PIPELINES = "has the loop around it run in stages"


class Shares(Enum):
    """How much of the tensors of other ranks a collective puts into those of each, in words."""

    ALL = "as many elements as are sent"
    GATHERED = "the elements of each rank"
    SCATTERED = "a part of the elements"
    EXCHANGED = "as many elements as are sent, a part by each rank"


class Skips(Struct, frozen=True):
    """It may skip what lies outside: a fact. ``advice``: where nothing can, that does no harm."""

    fact: str
    advice: bool = False


class Picks(Enum):
    """What an index names."""

    ELEMENTS = "elements"
    ROWS = "rows"
    COLUMNS = "columns"


class Step(Struct, frozen=True):
    """One of the operators that a call does one after the other.

    ``operand``: what it takes besides; ``reverse``: the flag that puts that first. Facts:
    ``together``: both are given, or none; ``alone``: a unary operator takes no operand, and from
    the generation ``never_with`` on it may not be given one;
    ``turned``: the flag goes with an operator; ``fixed``: the flag may not be set.
    """

    operator: str
    operand: str
    reverse: str
    together: str = ""
    alone: str = ""
    never_with: str = ""
    turned: str = ""
    fixed: str = ""


class Chain(Struct, frozen=True):
    """The operators that a call does one after the other, and which pairs there are: a fact.

    ``parameter``: an operand that goes with one operator of a role: that role, the operator, and a
    fact.
    """

    steps: tuple[Step, ...]
    pairs: frozenset[tuple[str, str]] = frozenset()
    fact: str = ""
    parameter: tuple[str, str, str, str] | None = None


class Reader(Protocol):
    """What a result may ask of whoever makes it."""

    @property
    def api(self) -> str: ...

    @property
    def target(self) -> Target: ...

    def decide(self, condition: Bool) -> bool | None: ...

    def as_int(self, value: object, span: Span) -> Expr | None: ...

    def as_bool(self, value: object, span: Span) -> Bool | None: ...

    def as_items(self, value: object, span: Span) -> tuple[object, ...] | None: ...

    def as_dtype(self, value: object, span: Span) -> DType | None: ...


class AxisMap(Struct, frozen=True):
    """An axis of an operand, and which one of the result it becomes; None: it is summed over."""

    view: View
    axis: int
    result: int | None


class Made(Struct, frozen=True):
    """What a call returns; on NeuronCores the partition axis first. ``layout``: on TPUs.

    ``axes``: what becomes of the axes of the operands where these are not the result's, one by
    one; of axes that are not listed it is not known.
    """

    shape: tuple[Expr, ...]
    dtype: DType
    buffer: Buffer = Buffer.SBUF
    layout: str = ""
    axes: tuple[AxisMap, ...] | None = None


class Result(Protocol):
    """What a generation that returns results returns; None: the arguments do not settle it."""

    def of(self, reader: Reader, operands: Mapping[str, Operand], span: Span) -> Made | None: ...


class Instruction(Struct, frozen=True, eq=False, kw_only=True):
    """One device function.

    ``signatures`` maps generations to parameters (see the dialect); None: gone from there on.
    """

    name: str
    summary: str
    signatures: Mapping[str, str | None]
    roles: tuple[Role, ...]
    engines: Engines
    footprint: Footprint
    result: Result | None = None
    needs: tuple[Capability, tuple[str, ...]] | None = None
    #: a fact: no target has it
    nowhere: str = ""
    #: other names of it
    others: tuple[str, ...] = ()
    #: rows that describe it
    facts: tuple[str, ...] = ()
    #: operands that start in one lane
    lanes: StartLanes | None = None
    #: a fact: the result is not its source
    moves_out: str = ""
    operators: tuple[Operators, ...] = ()
    commands: Commands | None = None
    simulated: Simulated | None = None
    program: Program | None = None
    #: where it folds its first operand along the axes that `axis` names
    reduces: Reduction | None = None
    #: a fact: it computes on bits, and its tiles hold integers
    on_bits: str = ""
    one_psum_input: OnePort | None = None
    traits: frozenset[Trait] = frozenset()
    chain: Chain | None = None
    #: the two operands whose elements are multiplied as they are, in the array
    factors: tuple[str, str] | None = None
    #: what its operand `index` names
    picks: Picks | None = None
    #: a fact: indices of rows are read column by column, several to a partition
    flattens: str = ""
    #: which operands may be columns that an index names
    indirection: Indirection | None = None
    #: the operand that says how many rows and columns the result has
    square: str = ""
    #: facts: as many elements come as go; until which generation axes of size 1 are repeated
    counted: tuple[str, ...] = ()
    repeats_until: str = ""
    #: the order that it puts axes in, by rank; facts: there is no other rank, and no other order
    turns: Mapping[int, tuple[int, ...]] = msgspec.field(default_factory=dict)
    turned: str = ""
    #: until which generation a result of a lower rank was padded
    pads_until: str = ""
    #: from which generation on rows may be shorter than those of the hardware, and lie in planes
    shortens_since: str = ""
    #: from which generation on another function does the same and more
    succeeded: Since | None = None
    #: from which generation on the smallest tiles of the array are there on all targets
    smallest: Since | None = None
    #: a fact: it does not convert
    keeps_type: str = ""
    #: a fact: it converts through float32
    converts: str = ""
    #: when the target limits how much it sends at once
    sends_little: When | None = None
    #: what ranks receive of each other
    shares: Shares | None = None
    skips: Skips | None = None
    scratch: Scratch | None = None
    #: what to write where it is gone, and the facts of its removal
    instead: str = ""
    removal: tuple[str, ...] = ()

    def role(self, name: str) -> Role | None:
        """How the parameter of that name is taken; None where nothing is said of it."""
        return next((role for role in self.roles if name in role.names), None)

    @property
    def short(self) -> str:
        return self.name.rpartition(".")[2]

    @property
    def fills(self) -> int | str | None:
        """The number that goes everywhere, or the operand that says which; None: there is none."""
        return next((w.constant for w in self.footprint.writes if w.constant is not None), None)

    @property
    def waits(self) -> bool:
        """Whether it does nothing but put the accesses of cores in order."""
        return bool(self.footprint.orders) and not self.footprint.writes

    @property
    def computes(self) -> bool:
        """Whether a compute engine streams its tiles through its lanes."""
        return self.traits.isdisjoint((Trait.DMA, Trait.COLLECTIVE, Trait.NO_LANES))
