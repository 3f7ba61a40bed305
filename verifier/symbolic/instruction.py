"""What there is to say about one device function, once: the form that every dialect fills in.

What depends on the call is a function of a :class:`Call`, on symbolic integers: rules turn its
answer into obligations, runs evaluate it on plain numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Protocol, TypeAlias

from verifier.hardware.capabilities import Capability
from verifier.hardware.memories import Buffer
from verifier.hardware.targets import Target
from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.tensors import DType, Operand, View


class Call(Protocol):
    """What a description may ask of a call: an operation of the trace is one."""

    @property
    def api(self) -> str: ...

    def view(self, role: str) -> View | None: ...

    def value(self, role: str) -> object: ...


#: the coordinates of an element of an operand, along the axes of its view
Index: TypeAlias = tuple[Expr, ...]
#: the coordinates of a line of elements: None where the coordinate runs
Line: TypeAlias = tuple[Expr | None, ...]

# ------------------------------------------------------------------- conditions and regions


@dataclass(frozen=True, slots=True)
class When:
    """A condition on the call's flags; ``text`` is how messages and hover texts say it.

    ``holds`` gives None where a flag is not followed: then it may hold.
    """

    text: str
    holds: Callable[[Call], Bool | None]


@dataclass(frozen=True, slots=True)
class Where:
    """A part of an operand: whether the element at an index along its axes is in it.

    ``exact`` False: the part depends on data (a predicate, an index): at most these elements. None:
    an argument that says which is not followed, it may be any.
    """

    text: str
    holds: Callable[[Call, Index], Bool | None]
    exact: bool = True


ALWAYS = When("", lambda call: E.TRUE)
ALL = Where("all of it", lambda call, index: E.TRUE)
SOME = Where("some of it, as the data says", lambda call, index: E.TRUE, exact=False)

# ------------------------------------------------------------------- what becomes of elements


@dataclass(frozen=True, slots=True)
class Decides:
    """What is undefined here makes a result wrong that nobody can tell from a right one.

    ``why``: ``it is an index``, ``it is a condition``.
    """

    why: str


@dataclass(frozen=True, slots=True)
class Carried:
    """Element ``source(call, i)`` goes into element ``i`` of ``to``, moved or computed upon.

    An undefined source makes that element of ``to`` undefined, and nothing else. ``moved``: bit for
    bit or converted, not computed upon. ``source`` gives None where it cannot be told which element
    it is: any undefined one of the operand may be.
    """

    source: Callable[[Call, Index], Index | None]
    to: str = "dst"
    moved: bool = False


@dataclass(frozen=True, slots=True)
class Folded:
    """Element ``i`` of ``to`` is made of the elements of ``line(call, i)`` together.

    A line that is undefined as a whole is carried; an undefined part of one decides. ``line`` gives
    None where it cannot be told which line it is.
    """

    line: Callable[[Call, Index], Line | None]
    to: str = "dst"


Fate: TypeAlias = Decides | Carried | Folded


class Effect(Enum):
    """What a write does with what was there before."""

    SETS = "overwrites it"
    ADDS = "reads it and adds to it"
    #: a sum of matmuls that says nothing about its beginning
    FIRST_SETS = "overwrites what no matmul wrote since it was reset, and adds to what one wrote"


def _sets(call: Call) -> Effect | Bool | None:
    return Effect.SETS


@dataclass(frozen=True, slots=True, kw_only=True)
class Reads:
    """One region of an operand that is read. One role may have several, under different flags."""

    role: str
    fate: Fate
    where: Where = ALL
    when: When = ALWAYS


@dataclass(frozen=True, slots=True, kw_only=True)
class Writes:
    """One region of an operand that is written; what ``where`` leaves out keeps what it was.

    ``effect`` may be a condition: it adds exactly when that holds (else it overwrites); None where
    the flag is not followed. ``keeps``: the fact that says that what is left out matters: whoever
    calls has written it before. ``destroys``: what is left there means nothing (a work tensor).
    """

    role: str
    where: Where = ALL
    when: When = ALWAYS
    effect: Callable[[Call], Effect | Bool | None] = _sets
    keeps: str = ""
    destroys: bool = False


@dataclass(frozen=True, slots=True)
class Footprint:
    """What a call reads and writes of its operands."""

    reads: tuple[Reads, ...] = ()
    writes: tuple[Writes, ...] = ()
    #: registers of an engine that outlive the call: which, and the operand that says what is done
    state: tuple[tuple[str, str], ...] = ()
    #: the operands that name the cores whose accesses the call puts in order, if it does
    orders: tuple[str, ...] = ()

    def reads_of(self, role: str) -> tuple[Reads, ...]:
        """The reads of an operand, or of a member of a list of operands (``srcs[0]``)."""
        name = role.partition("[")[0]
        return tuple(read for read in self.reads if read.role == name)

    def writes_of(self, role: str) -> tuple[Writes, ...]:
        name = role.partition("[")[0]
        return tuple(write for write in self.writes if write.role == name)


# ------------------------------------------------------------------- operands


class Takes(Enum):
    """What a parameter is given."""

    TILE = "a tile or a tensor"
    VECTOR = "a number, or a tile of one number per partition"
    TENSOR_OR_NUMBER = "a tensor or a number"
    TILES = "a list of tensors"
    OPERATOR = "an operator"
    FLAG = "a truth value"
    PLAIN = "a plain value"
    INTEGER = "an integer"
    NUMBER = "a number"
    #: operands by address, and what goes with them
    LOCAL_ADDRESS = "a local address, a plain integer"
    SYSTEM_ADDRESS = "an address in system memory"
    CHOICE = "`okk.fp32_or_addr(...)` or `okk.x32_or_addr(...)`"
    QUAD = "a `dim4`"
    PAIR = "a `dim2`"
    PADDING = "a `Padding`"
    QUAD_OUT = "a `dim4` to write to"
    WORD = "a constant such as `okk.x32.fp32(0.0)`"
    HALF_WORD = "a constant such as `okk.x16.s16(0)`"
    BYTE = "a constant such as `okk.x8.s8(0)`"


@dataclass(frozen=True, slots=True)
class In:
    """The memories that an operand may be in, and where that is said."""

    buffers: tuple[Buffer, ...]
    facts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Types:
    """The element types that an operand may have, in words too, from a generation on."""

    codes: frozenset[int]
    words: str
    fact: str
    since: str = ""
    #: types besides, where the target can do something
    more: tuple[tuple[Capability, frozenset[int]], ...] = ()
    when: When = ALWAYS


class Match(Enum):
    """What of two element types has to agree."""

    TYPE = "has the dtype of"
    WIDTH = "is as wide as"
    NO_WIDER = "is not wider than"
    #: only where both are of one tensor
    NO_WIDER_IN_PLACE = "is not wider than what it overwrites,"


@dataclass(frozen=True, slots=True)
class SameType:
    """The operand has the element type of another one, from a generation on.

    ``pairs``: types of that one, and of this one, that go together as well. ``free``: nothing is
    demanded where the target can do something and an operand has one of these types. ``needs``:
    what the target has to be able to do; elsewhere only ``pairs`` go together.
    """

    role: str
    fact: str
    since: str = ""
    by: Match = Match.TYPE
    pairs: tuple[tuple[frozenset[int], frozenset[int]], ...] = ()
    free: tuple[tuple[Capability, frozenset[int]], ...] = ()
    needs: Capability | None = None


@dataclass(frozen=True, slots=True)
class Streams:
    """One element for each element of another operand: equal partitions, equal free sizes."""

    of: str
    fact: str


@dataclass(frozen=True, slots=True)
class Lanes:
    """As many partitions as another operand, and any free size."""

    of: str


@dataclass(frozen=True, slots=True)
class PerPartition:
    """One element for each partition of another operand; ``rank``: with so many dimensions."""

    of: str
    fact: str
    rank: int | None = None


@dataclass(frozen=True, slots=True)
class Elements:
    """One element for each element of another operand, which may be left out of the call.

    ``repeats``: one element along n, h or w stands for as many as the other has.
    """

    of: str
    fact: str
    repeats: bool = False


@dataclass(frozen=True, slots=True)
class Counted:
    """As many elements as another operand, in one order, whatever the shapes."""

    of: str
    fact: str


@dataclass(frozen=True, slots=True)
class Permuted:
    """The sizes of another operand, in the order of axes that the call asks for."""

    of: str
    order: Callable[[Call], tuple[int, ...]]
    fact: str


@dataclass(frozen=True, slots=True)
class Spread:
    """The one channel of another operand, for each of its own: in so many lanes at most."""

    of: str
    fact: str


@dataclass(frozen=True, slots=True)
class Sized:
    """So many partitions and elements as follow from another operand; ``words``: as one says it."""

    of: str
    rows: Callable[[View], Expr]
    columns: Callable[[View], Expr]
    words: str
    fact: str


Shape: TypeAlias = Sized | Streams | Lanes | PerPartition | Elements | Counted | Permuted | Spread


@dataclass(frozen=True, slots=True)
class Lies:
    """The layout that the function takes an operand to have."""

    layout: str
    fact: str


@dataclass(frozen=True, slots=True)
class Codes:
    """The numbers that mean something, under the flags of the call; ``wrong``: of any other."""

    admitted: Callable[[Call], frozenset[int]]
    what: str
    wrong: str
    facts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RangeBy:
    """The range of a number, by the code that another operand is."""

    role: str
    bounds: Callable[[int], tuple[int, int]]
    what: str
    wrong: str
    facts: tuple[str, ...]


class Unit(Enum):
    """What addresses are multiples of."""

    ELEMENT = "an element"
    WORD = "a word of 4 bytes"
    PAIR = "a pair of words"
    ROW = "a row of the execution units"
    #: of a row; of a word where strides are given
    ROW_UNLESS_STRIDED = "a row of the execution units, unless strides are given"


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """What an operand by address is: elements of a dtype in a shape that the arguments give.

    ``layout``: ``aligned``, ``compact``, ``continuous``, ``matrix``, ``rows``, ``2ic``, ``4n``,
    ``2n``; ``words``: the strides of 32-bit elements, whatever the width; ``chosen``: aligned or
    compact, as the flag says. ``strides``: the argument that has others. ``columns``: of a matrix,
    the argument that says how many there are: its last channel may have fewer than the others.
    """

    dtype: str
    shape: Callable[[Call], tuple[Expr, Expr, Expr, Expr]]
    layout: str
    strides: str = ""
    columns: str = ""
    unit: Unit = Unit.WORD
    fact: str = ""


@dataclass(frozen=True, slots=True)
class Apart:
    """The operand shares no memory with others: with these, or with all."""

    fact: str
    roles: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class StartLanes:
    """Operands that start in one lane, or all of them; ``first``: in lane 0."""

    facts: tuple[str, ...]
    roles: tuple[str, ...] = ()
    first: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """What the documentation says of a size, a count or a value: a number with its fact."""

    fact: str
    least: int | None = None
    most: int | None = None
    among: tuple[int, ...] = ()
    multiple_of: int = 1
    #: values with a meaning of their own
    also: tuple[int, ...] = ()
    #: the generation that it holds from, and the one that it no longer holds in
    since: str = ""
    until: str = ""
    #: the generation from which on it is advice
    advice_from: str | None = None

    def holds(self, value: Expr) -> Bool:
        parts: list[Bool] = []
        if self.least is not None and self.least == self.most:
            parts.append(E.eq(value, self.least))
        else:
            parts += [E.ge(value, self.least)] if self.least is not None else []
            parts += [E.le(value, self.most)] if self.most is not None else []
        if self.among:
            parts.append(E.or_(*(E.eq(value, each) for each in self.among)))
        if self.multiple_of != 1:
            parts.append(E.eq(E.mod(value, self.multiple_of), 0))
        return E.or_(*(E.eq(value, each) for each in self.also), E.and_(*parts))


@dataclass(frozen=True, slots=True, kw_only=True)
class Role:
    """One parameter. Those that are not described are carried along as they are."""

    name: str
    takes: Takes
    memories: In | None = None
    dtypes: Types | None = None
    same_dtype: SameType | None = None
    shape: Shape | None = None
    #: a fact: the partition that it starts at follows a rule of its own
    own_start: str = ""
    #: where it may be of rank 1, and stands for one column then
    column: bool = False
    #: partitions, elements per partition, dimensions (of several the last that holds already)
    partitions: Limit | None = None
    free: Limit | None = None
    rank: tuple[Limit, ...] = ()
    #: what a number may be, or each of a list of them; how many a list may have
    value: Limit | None = None
    count: Limit | None = None
    #: names under which other generations have it, or calls may give it
    others: tuple[str, ...] = ()
    #: the parameter that it is given by, where that has another name
    parameter: str = ""
    #: NULL may stand for it
    optional: bool = False
    lies: Lies | None = None
    placed: Placed | None = None
    apart: Apart | None = None
    codes: Codes | None = None
    range_by: RangeBy | None = None
    about: str = ""


# ------------------------------------------------------------------- choices


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


@dataclass(frozen=True, slots=True)
class Simulated:
    """From a generation on it runs in the simulator only; what to do ``instead``."""

    since: str
    fact: str
    instead: str


@dataclass(frozen=True, slots=True)
class Commands:
    """The reduce commands; the operand ``initial`` goes with ``load_reduce``."""

    admitted: frozenset[str]
    fact: str
    initial: str = ""
    #: the number that stands for no operand `initial`
    unset: int | None = None
    #: the operand that says how, which a command that reduces cannot do without
    operator: str = ""


@dataclass(frozen=True, slots=True)
class Reduction:
    """The axes that the operand ``axis`` names are the last free ones: a fact.

    ``before``: the generation from which on that is so, as it is said now. Until then axis 1 stood
    for the last of several, as the fact ``loosely`` says; without one any free axes would do.
    """

    fact: str
    before: str
    loosely: str = ""


@dataclass(frozen=True, slots=True)
class Program:
    """From a generation on it is a program of an engine that reaches some memories only."""

    since: str
    memories: In
    #: a fact: that operand is a tile from then on
    tiles: Mapping[str, str] = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True)
class Admission:
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

    default: str | Callable[[Call], str]
    on_request: frozenset[str] = frozenset()
    fact: str = ""
    needs: Mapping[str, tuple[Capability, tuple[str, ...]]] = field(
        default_factory=dict, hash=False
    )
    #: what is said of an engine and the operators that are given; None: nothing
    computes: Callable[[str, tuple[str, ...], Target], Admission | None] | None = None


class Trait(Enum):
    """What rules of one kind of instruction go by."""

    MATMUL = "multiplies matrices into PSUM"
    SUMS = "leaves sums of products, which may be added to where they lie"
    #: four of them to an element, and scales for groups of elements
    PACKED = "multiplies packed elements that share scales"
    DMA = "moves data by DMA"
    COLLECTIVE = "is between ranks"
    RANDOM = "draws numbers: twice the same call is not the same"
    #: barriers, registers, code of one's own, addresses out of registers
    NO_LANES = "does not stream tiles through the lanes of an engine"
    # -- of TPUs
    POOLS = "folds windows"
    CONVOLVES = "multiplies windows with weights, and adds up"
    DEPTHWISE = "has weights for each channel of its own"
    TRANSPOSED = "puts zeros between the elements instead of steps"
    INTEGERS = "computes with integers"
    FIRST_PRODUCTS = "multiplies matrices with their rows along n"
    SECOND_PRODUCTS = "multiplies matrices with their rows along c"
    GATHERS = "picks rows or elements by index"
    SCATTERS = "puts rows or elements where an index says"
    QUANTISES = "converts between numbers and quantised ones"
    SORTS = "picks or orders elements by what they are"


# ------------------------------------------------------------------- results


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


@dataclass(frozen=True, slots=True)
class Made:
    """What a call returns; on NeuronCores the partition axis first. ``layout``: on TPUs."""

    shape: tuple[Expr, ...]
    dtype: DType
    buffer: Buffer = Buffer.SBUF
    layout: str = ""


class Result(Protocol):
    """What a generation that returns results returns; None: the arguments do not settle it."""

    def of(self, reader: Reader, operands: Mapping[str, Operand], span: Span) -> Made | None: ...


# ------------------------------------------------------------------- the instruction


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Instruction:
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
    #: two operands that are not both in PSUM, and the fact
    one_psum_input: tuple[str, str, str] | None = None
    traits: frozenset[Trait] = frozenset()
    #: what to write where it is gone, and the facts of its removal
    instead: str = ""
    removal: tuple[str, ...] = ()

    def role(self, name: str) -> Role | None:
        return next(
            (r for r in self.roles if name in (r.name, r.parameter) or name in r.others), None
        )

    @property
    def short(self) -> str:
        return self.name.rpartition(".")[2]

    @property
    def waits(self) -> bool:
        """Whether it does nothing but put the accesses of cores in order."""
        return bool(self.footprint.orders) and not self.footprint.writes

    @property
    def computes(self) -> bool:
        """Whether a compute engine streams its tiles through its lanes."""
        return self.traits.isdisjoint((Trait.DMA, Trait.COLLECTIVE, Trait.NO_LANES))
