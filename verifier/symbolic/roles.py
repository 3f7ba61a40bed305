"""What a device function takes: its parameters, with memories, element types, shapes and limits."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Final, TypeAlias

from msgspec import Struct

from verifier.hardware.capabilities import Capability
from verifier.hardware.memories import Buffer
from verifier.symbolic import expr as E
from verifier.symbolic.effects import ALWAYS, Call, When
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.tensors import View

#: the end of the role of a tile whose numbers say where an operand lies
INDEX: Final = ".index"


class Takes(Enum):
    """What a parameter is given."""

    TILE = "a tile or a tensor"
    VECTOR = "a number, or a tile of one number per partition"
    TENSOR_OR_NUMBER = "a tensor or a number"
    TILES = "a list of tensors"
    OPERATOR = "an operator"
    FLAG = "a truth value"
    CONSTANT = "a number that is known when the kernel is compiled"
    PLAIN = "a plain value"
    INTEGER = "an integer"
    INTEGERS = "a list of integers"
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


class In(Struct, frozen=True):
    """The memories that an operand may be in, from a generation on, and where that is said."""

    buffers: tuple[Buffer, ...]
    facts: tuple[str, ...]
    since: str = ""
    #: those before that generation
    before: tuple[Buffer, ...] = ()
    #: how grave another one is before that generation, if less than from it on
    severity: str | None = None


class Types(Struct, frozen=True):
    """The element types that an operand may have, in words too, from a generation on."""

    codes: frozenset[int]
    words: str
    fact: str
    since: str = ""
    #: what held before that generation, if anything did
    before: Types | None = None
    #: types besides, where the target can do something
    more: tuple[tuple[Capability, frozenset[int]], ...] = ()
    when: When = ALWAYS
    #: where the condition does not hold
    otherwise: Types | None = None


class Since(Struct, frozen=True):
    """Something that holds from a generation on, as a fact says."""

    generation: str
    fact: str


class Against(Struct, frozen=True):
    """A parameter that is not given where another one is a certain choice.

    ``until``: the generation from which on it may be; none takes it if that is empty.
    """

    role: str
    choice: str
    fact: str
    until: str = ""


class Beside(Struct, frozen=True):
    """A number that counts from a generation on only where another parameter is given, too.

    Where that one is left out, it is taken for ``otherwise``.
    """

    role: str
    otherwise: int
    fact: str
    since: str = ""


class Match(Enum):
    """What of two element types has to agree."""

    TYPE = "has the dtype of"
    WIDTH = "is as wide as"
    NO_WIDER = "is not wider than"
    #: only where both are of one tensor
    NO_WIDER_IN_PLACE = "is not wider than what it overwrites,"


class SameType(Struct, frozen=True):
    """The operand has the element type of another one, from a generation on.

    ``pairs``: types of that one, and of this one, that go together as well. ``free``: nothing is
    demanded where the target can do something and an operand has one of these types. ``needs``:
    what the target has to be able to do; elsewhere only ``pairs`` go together. ``earlier``: where
    it has it in generations before.
    """

    role: str
    fact: str
    since: str = ""
    by: Match = Match.TYPE
    pairs: tuple[tuple[frozenset[int], frozenset[int]], ...] = ()
    free: tuple[tuple[Capability, frozenset[int]], ...] = ()
    needs: Capability | None = None
    earlier: When | None = None


class Streams(Struct, frozen=True):
    """One element for each element of another operand: equal partitions, equal free sizes.

    ``column``: a fact: one element per partition is not repeated. ``alike``: equal shapes.
    """

    of: str
    fact: str
    column: str = ""
    alike: bool = False


class Lanes(Struct, frozen=True):
    """As many partitions as another operand, and any free size."""

    of: str


class PerPartition(Struct, frozen=True):
    """One element for each partition of another operand; ``rank``: with so many dimensions."""

    of: str
    fact: str
    rank: int | None = None


class Elements(Struct, frozen=True):
    """One element for each element of another operand, which may be left out of the call.

    ``repeats``: one element along n, h or w stands for as many as the other has.
    """

    of: str
    fact: str
    repeats: bool = False


class PerChannel(Struct, frozen=True):
    """So many numbers for each channel of another operand: ``[1, C, 1, columns]``."""

    of: str
    fact: str
    columns: int = 1


class Counted(Struct, frozen=True):
    """As many elements as another operand, in one order, whatever the shapes."""

    of: str
    fact: str


class Permuted(Struct, frozen=True):
    """The sizes of another operand, in the order of axes that the call asks for."""

    of: str
    order: Callable[[Call], tuple[int, ...]]
    fact: str


class Spread(Struct, frozen=True):
    """The one channel of another operand, for each of its own: in so many lanes at most."""

    of: str
    fact: str


class Crossed(Struct, frozen=True):
    """One element for each pair of an element of one operand and one of another: in one batch."""

    of: tuple[str, str]
    fact: str


class Sized(Struct, frozen=True):
    """So many partitions and elements as follow from another operand; ``words``: as one says it.

    ``extents``: the whole shape, where more than its size is documented; None: of this one it is
    not.
    """

    of: str
    rows: Callable[[View], Expr]
    columns: Callable[[View], Expr]
    words: str
    fact: str
    extents: Callable[[View], tuple[Expr, ...] | None] | None = None


Shape: TypeAlias = (
    Sized
    | Streams
    | Lanes
    | PerPartition
    | Elements
    | PerChannel
    | Counted
    | Permuted
    | Spread
    | Crossed
)


class Codes(Struct, frozen=True):
    """The numbers that mean something, under the flags of the call; ``wrong``: of any other."""

    admitted: Callable[[Call], frozenset[int]]
    what: str
    wrong: str
    facts: tuple[str, ...]


class RangeBy(Struct, frozen=True):
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


class Lies(Struct, frozen=True):
    """How the function takes an operand to lie, and what its address is a multiple of.

    ``layout``: empty where the function takes strides. ``unit``: by the layout if it is not said;
    operands of the types ``single`` start at any word.
    """

    layout: str
    fact: str
    unit: Unit | None = None
    single: frozenset[int] = frozenset()

    @property
    def multiple(self) -> Unit:
        """What the address is a multiple of: packed layouts take any word (LAY-K)."""
        return self.unit or (Unit.WORD if self.layout == "compact" else Unit.ROW)


class FirstLane(Struct, frozen=True):
    """The operand starts in lane 0, unless it is of one of the types ``single``."""

    fact: str
    single: frozenset[int] = frozenset()


class Placed(Struct, frozen=True, kw_only=True):
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


class Apart(Struct, frozen=True):
    """The operand shares no memory with others: with these, or with all."""

    fact: str
    roles: tuple[str, ...] = ()


class StartLanes(Struct, frozen=True):
    """Operands that start in one lane, or all of them; ``first``: in lane 0."""

    facts: tuple[str, ...]
    roles: tuple[str, ...] = ()
    first: bool = False


class Limit(Struct, frozen=True, kw_only=True):
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

    def holds(self, value: Expr | float) -> Bool:
        if isinstance(value, float):
            return E.truth(self._admits(value))
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

    def _admits(self, value: float) -> bool:
        """The same of a plain number; none of the comparisons holds of ``nan``."""
        within = (self.least is None or value >= self.least) and (
            self.most is None or value <= self.most
        )
        listed = not self.among or value in self.among
        steps = self.multiple_of == 1 or value % self.multiple_of == 0
        return value in self.also or (value == value and within and listed and steps)


class Barred(Struct, frozen=True):
    """Members of an enumeration that a parameter does not take, and where that is said."""

    members: tuple[str, ...]
    fact: str


class Role(Struct, frozen=True, kw_only=True):
    """One parameter. Those that are not described are carried along as they are."""

    name: str
    takes: Takes
    memories: In | None = None
    dtypes: Types | None = None
    same_dtype: SameType | None = None
    shape: Shape | None = None
    #: the fact that says what it takes, of a constant
    constant: str = ""
    #: a fact: the partition that it starts at follows a rule of its own
    own_start: str = ""
    #: where it may be of rank 1, and stands for one column then
    column: bool = False
    #: facts: Beta 1 takes no tensor there that is indexed with a tile; it takes one whose rows are
    direct: str = ""
    rows: str = ""
    #: partitions, elements per partition, dimensions (of several the last that holds already)
    partitions: Limit | None = None
    free: Limit | None = None
    rank: tuple[Limit, ...] = ()
    #: what a number may be, or each of a list of them; how many a list may have
    value: Limit | None = None
    count: Limit | None = None
    #: of a flag: what the target must have where it is set, and where that is said
    needs: tuple[Capability, tuple[str, ...]] | None = None
    #: of a number: a float is not written to integers
    exact: Since | None = None
    #: of a tile: it holds float32 where an operator computes on numbers
    arithmetic: Since | None = None
    against: Against | None = None
    beside: Beside | None = None
    #: names under which other generations have it, or calls may give it
    others: tuple[str, ...] = ()
    #: the parameter that it is given by, where that has another name
    parameter: str = ""
    #: NULL may stand for it
    optional: bool = False
    #: before that generation a number may stand for it, which goes everywhere
    number_until: str = ""
    lies: Lies | None = None
    first_lane: FirstLane | None = None
    placed: Placed | None = None
    apart: Apart | None = None
    codes: Codes | None = None
    range_by: RangeBy | None = None
    barred: Barred | None = None
    about: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """What parameters may be called that it is given by."""
        return (self.name, *((self.parameter,) if self.parameter else ()), *self.others)
