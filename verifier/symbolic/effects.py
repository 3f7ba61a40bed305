"""What a device function reads and writes of its operands, and what becomes of the elements.

What depends on the call is a function of a :class:`Call`, on symbolic integers: rules turn its
answer into obligations, runs evaluate it on plain numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Protocol, TypeAlias

from msgspec import Struct

from verifier.hardware.capabilities import Capability
from verifier.hardware.engines import Engine
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.tensors import View


class Call(Protocol):
    """What a description may ask of a call: an operation of the trace is one."""

    @property
    def api(self) -> str: ...

    @property
    def engine(self) -> Engine:
        """Who runs it, once that is settled."""
        ...

    def view(self, role: str) -> View | None: ...

    def value(self, role: str) -> object: ...

    def has(self, capability: Capability) -> bool:
        """Whether the target that it runs on can do something."""
        ...


#: the coordinates of an element of an operand, along the axes of its view
Index: TypeAlias = tuple[Expr, ...]


#: the coordinates of a line of elements: None where the coordinate runs
Line: TypeAlias = tuple[Expr | None, ...]


#: of an axis along which a line runs: whether its place ``own`` is in the window of the place
#: ``made`` of the result along the same axis; None: a size of the window is not followed
Among: TypeAlias = "Callable[[Call, int, Expr, Expr], Bool | None]"


class When(Struct, frozen=True):
    """A condition on the call's flags; ``text`` is how messages and hover texts say it.

    ``holds`` gives None where a flag is not followed: then it may hold.
    """

    text: str
    holds: Callable[[Call], Bool | None]


class Where(Struct, frozen=True):
    """A part of an operand: whether the element at an index along its axes is in it.

    ``exact`` False: the part depends on data (a predicate, an index): at most these elements. None:
    an argument that says which is not followed, it may be any.
    """

    text: str
    holds: Callable[[Call, Index], Bool | None]
    exact: bool = True


ALWAYS = When("", lambda call: E.TRUE)


def _anyhow(call: Call) -> Bool:
    return E.TRUE


ALL = Where("all of it", lambda call, index: E.TRUE)


SOME = Where("some of it, as the data says", lambda call, index: E.TRUE, exact=False)


class Decides(Struct, frozen=True):
    """What is undefined here makes a result wrong that nobody can tell from a right one.

    ``why``: ``it is an index``, ``it is a condition``.
    """

    why: str


class Carried(Struct, frozen=True):
    """Element ``source(call, i)`` goes into element ``i`` of ``to``, moved or computed upon.

    An undefined source makes that element of ``to`` undefined, and nothing else. ``moved``: bit for
    bit or converted, not computed upon. ``source`` gives None where it cannot be told which element
    it is: any undefined one of the operand may be. ``fits``: the sizes that are equal where it is
    so; elsewhere it cannot be told either. ``sender``: the operand that names the core whose
    element it is; without one, it is that of the core that calls.
    """

    source: Callable[[Call, Index], Index | None]
    to: str = "dst"
    moved: bool = False
    fits: Callable[[Call], Bool] = _anyhow
    sender: str = ""


class Folded(Struct, frozen=True):
    """Element ``i`` of ``to`` is made of the elements of ``line(call, i)`` together.

    An undefined element of a line makes that element of ``to`` undefined, and nothing else.
    ``line`` gives None where it cannot be told which line it is. ``fits``: as of :class:`Carried`.
    ``prefix``: of the line, only what streams by no later than element ``i``. ``among``: of the
    line, only what is in the window of element ``i``. ``kept``: the
    registers that keep what is made as well, where nothing follows it: there a line is undefined
    as a whole, or an undefined part of it decides.
    """

    line: Callable[[Call, Index], Line | None]
    to: str = "dst"
    fits: Callable[[Call], Bool] = _anyhow
    prefix: bool = False
    among: Among | None = None
    kept: str = ""


Fate: TypeAlias = Decides | Carried | Folded


class Effect(Enum):
    """What a write does with what was there before."""

    SETS = "overwrites it"
    ADDS = "reads it and adds to it"
    #: a sum of matmuls that says nothing about its beginning
    FIRST_SETS = "overwrites what no matmul wrote since it was reset, and adds to what one wrote"


def _sets(call: Call) -> Effect | Bool | None:
    return Effect.SETS


class Reads(Struct, frozen=True, kw_only=True):
    """One region of an operand that is read. One role may have several, under different flags."""

    role: str
    fate: Fate
    where: Where = ALL
    when: When = ALWAYS


class Writes(Struct, frozen=True, kw_only=True):
    """One region of an operand that is written; what ``where`` leaves out keeps what it was.

    ``effect`` may be a condition: it adds exactly when that holds (else it overwrites); None where
    the flag is not followed. ``keeps``: the fact that says that what is left out matters: whoever
    calls has written it before. ``destroys``: what is left there means nothing (a work tensor).
    ``decides``: why what is added to has to be defined there and then; without it, what is
    undefined stays so, and nothing else becomes of it. ``constant``: one number goes everywhere
    (this one, or the one that an operand gives), as long as nothing is read. ``by``: the operand
    that names the operator with which it adds; without one, it is a sum.
    """

    role: str
    where: Where = ALL
    when: When = ALWAYS
    effect: Callable[[Call], Effect | Bool | None] = _sets
    keeps: str = ""
    destroys: bool = False
    decides: str = ""
    constant: int | str | None = None
    by: str = ""


class Accumulation(Struct, frozen=True):
    """What a call does with accumulators.

    ``begins``: it sets them anew. ``adds``: data goes into them. ``to``: the operand that they are
    read out into, if the call has it. ``alters``: they mean nothing afterwards. ``operator``: how
    data is folded into them, if that is said.
    """

    begins: bool = False
    adds: bool = False
    to: str = ""
    alters: bool = False
    operator: str = ""

    @property
    def continues(self) -> bool:
        """Whether what earlier calls left there goes into a result, or into what is added up."""
        return not self.begins and (self.adds or bool(self.to))


class AccumulatorFile(Struct, frozen=True, kw_only=True):
    """Accumulators of an engine, one for each lane, that outlive a call.

    ``lanes``: the operand in whose lanes they are used; ``result``: the one that they are read out
    into: what goes into it goes into them, where data is added. ``used`` gives None where it is not
    followed what is done with them. ``command``, ``operator``: the operands that say it. ``facts``:
    those that say of the function what holds of the accumulators.
    """

    name: str
    lanes: str
    used: Callable[[Call], Accumulation | None]
    facts: tuple[str, ...] = ()
    command: str = "reduce_cmd"
    operator: str = "reduce_op"
    result: str = "reduce_res"

    def takes(self, call: Call, read: Reads) -> bool:
        """Whether what is read goes into the accumulators, as it goes into the result."""
        if isinstance(read.fate, Decides) or read.fate.to != self.result:
            return False
        used = self.used(call)
        return used is not None and used.adds


#: what accumulators are called where operands are told by their roles
ACCUMULATORS = "accumulators"


class Footprint(Struct, frozen=True):
    """What a call reads and writes of its operands."""

    reads: tuple[Reads, ...] = ()
    writes: tuple[Writes, ...] = ()
    #: the operands that are registers, and are set
    registers: tuple[str, ...] = ()
    #: those that outlive the call
    accumulators: AccumulatorFile | None = None
    #: the operands that name the cores whose accesses the call puts in order, if it does
    orders: tuple[str, ...] = ()
    #: the operand whose tensor these accesses are of; empty: they are of any
    ordered: str = ""
    #: the operand that lists the indices of loops whose iterations the call folds together, if any
    folds: str = ""

    def remembers(self, call: Call) -> bool:
        """Whether what earlier calls left in accumulators may go into the results of a call."""
        if self.accumulators is None:
            return False
        used = self.accumulators.used(call)
        return used is None or used.continues

    def reads_of(self, role: str) -> tuple[Reads, ...]:
        """The reads of an operand, or of a member of a list of operands (``srcs[0]``)."""
        name = role.partition("[")[0]
        return tuple(read for read in self.reads if read.role == name)

    def writes_of(self, role: str) -> tuple[Writes, ...]:
        name = role.partition("[")[0]
        return tuple(write for write in self.writes if write.role == name)

    def effect_of(self, call: Call) -> Effect | Bool:
        """What a call does with what its targets hold; a condition: it adds exactly when it holds.

        A flag that is not followed leaves it to what is there.
        """
        for write in self.writes:
            effect = write.effect(call)
            if effect is None:
                return Effect.FIRST_SETS
            if effect is E.TRUE:
                return Effect.ADDS
            if effect is not Effect.SETS and effect is not E.FALSE:
                return effect
        return Effect.SETS
