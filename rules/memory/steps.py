"""Operations in rounds: which are gone through, and what each of them reads, writes and loads.

What becomes of what they make is followed in two ways: by numbers, each round by itself
(:mod:`rules.memory.fates`), and for any round of a loop (:mod:`rules.memory.rests`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, Generic, TypeAlias, TypeVar

from msgspec import Struct

from verifier.hardware.engines import Engine
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.lanes import LocalTensor, SystemTensor, Touch
from verifier.symbolic.tensors import Loop, Storage
from verifier.symbolic.trace import Operation
from verifier.symbolic.views.common import conjuncts

PlaceT = TypeVar("PlaceT")
#: a call in the text, and those by which it was reached (``Operation.call``)
Call: TypeAlias = tuple[object, ...]
_SAID: Final = (E.Expr, str, float, int, type(None))
_AS_IS: Final = E.Substitution({})

# ----------------------------------------------------------------------------- rounds


class Turn(Struct, frozen=True):
    """Operations that are done one after the other, with these indices of the loops around them.

    ``counted``: they stand in no further loop; else all in one, at ``depth``, whose rounds no
    number counts.
    """

    operations: Sequence[Operation]
    depth: int
    indices: Mapping[E.Sym, Expr]
    counted: bool


def _loops(op: Operation) -> Sequence[Loop]:
    return op.loops


def turns(
    operations: Sequence[Operation],
    depth: int,
    indices: Mapping[E.Sym, Expr],
    count: Callable[[Loop, E.Substitution], int | None],
    loops: Callable[[Operation], Sequence[Loop]] = _loops,
) -> Iterator[Turn]:
    """All rounds of the ``loops`` from ``depth`` on, in order; ``count``: how many a loop has, with
    the indices of those around it."""
    here = E.Substitution(indices)
    for loop, group in by_loop(operations, depth, loops):
        rounds = None if loop is None else count(loop, here)
        if loop is None or rounds is None:
            yield Turn(group, depth, indices, loop is None)
            continue
        for n in range(rounds):
            inner = {**indices, loop.symbol: E.const(n)}
            yield from turns(group, depth + 1, inner, count, loops)


def by_loop(
    operations: Sequence[Operation],
    depth: int,
    loops: Callable[[Operation], Sequence[Loop]] = _loops,
) -> Iterator[tuple[Loop | None, list[Operation]]]:
    """Runs of operations of one loop at a depth, or of none."""
    group: list[Operation] = []
    current: Loop | None = None
    for op in operations:
        loop = next(iter(loops(op)[depth:]), None)
        if group and loop is not current:
            yield current, group
            group = []
        current = loop
        group.append(op)
    if group:
        yield current, group


def path_of(op: Operation) -> list[Bool]:
    return [part for fact in op.path for part in conjuncts(fact)]


class Event(Struct, frozen=True):
    """An operation in some iteration, which is the ``round``-th one of its loop (None: of none).

    ``touches``: what it does to local memory then. ``sure``: it does happen, and once. ``here``:
    the indices of its loops then.
    """

    operation: Operation
    touches: tuple[Touch, ...] = ()
    round: int | None = None
    sure: bool = True
    here: E.Substitution = _AS_IS

    @property
    def when(self) -> tuple[object, ...]:
        """In which rounds of all its loops it is."""
        loops = self.operation.loops
        return (*self.operation.rounds, *(self.here.expr(loop.index) for loop in loops))

    def local(self, *, writes: bool) -> Iterator[tuple[Touch, LocalTensor]]:
        for touch in self.touches:
            if isinstance(touch.tensor, LocalTensor) and (touch.writes if writes else touch.reads):
                yield touch, touch.tensor

    def system(self, *, writes: bool) -> Iterator[SystemTensor]:
        for touch in self.touches:
            if isinstance(touch.tensor, SystemTensor) and (touch.writes if writes else touch.reads):
                yield touch.tensor


class Rounded(Struct, frozen=True, eq=False):
    """A number of rounds that is put in; ``within``: as bounds of what it hangs on."""

    put: E.Substitution
    within: E.Substitution

    def holds(self, fact: Bool, here: E.Substitution) -> Bool:
        """What is known of a condition then, in the round ``here``."""
        found = here.bool(self.put.bool(fact))
        bounded = self.within.bool(found)
        return bounded if bounded.kind is E.BoolKind.CONST else found

    def plain(self, terms: Iterable[Expr]) -> E.Substitution | None:
        """The minima that are numbers then: all rounds that are not the last have them."""
        if self.within.is_empty:
            return None
        found: dict[E.Atom, Expr] = {
            atom: value
            for term in terms
            for atom in term.atoms()
            if isinstance(atom, E.Extremum) and (value := self.within.atom(atom)).is_const
        }
        return E.Substitution({}, atoms=found) if found else None


AS_THEY_ARE: Final = Rounded(_AS_IS, _AS_IS)

# ----------------------------------------------------------------------------- steps


class OffChip(Struct, frozen=True, eq=False):
    """A part of a tensor off chip, in bytes from where that begins; ``where``: what tells it from
    others. ``role``: of the operand."""

    storage: Storage
    begin: Expr
    end: Expr
    where: tuple[Expr, ...]
    role: str = ""

    @property
    def key(self) -> tuple[object, ...]:
        return (id(self.storage), *self.where)


class Step(Struct, Generic[PlaceT], eq=False):
    """An operation in a round: what it reads, what it writes, what it loads.

    ``round``: of the loop that is looked at; None: it is not in it. ``when``: in which rounds of
    all its loops it is. ``sure``: it does happen.
    ``seen``: others than the kernel see something of it. ``loads``: what it takes from tensors off
    chip; ``off``: so many of the places that it reads, the last ones, are these. ``stores``: what
    it writes there. ``adds``: to what it finds. ``said``: its operands that are no tensors
    (:func:`said`). ``section``: the parallel section that it is in, whose engines are in no order.
    """

    operation: Operation
    reads: tuple[PlaceT, ...]
    writes: tuple[PlaceT, ...]
    loads: tuple[OffChip, ...] = ()
    stores: tuple[OffChip, ...] = ()
    round: int | None = None
    when: tuple[object, ...] = ()
    sure: bool = True
    seen: bool = False
    off: int = 0
    said: tuple[object, ...] = ()
    adds: bool = False
    section: int | None = None
    #: what it loads, the tensor first; empty: nothing; and the places off chip that it writes
    part: tuple[object, ...] = ()
    stored: tuple[tuple[object, ...], ...] = ()

    def __post_init__(self) -> None:
        self.part = tuple(item for region in self.loads for item in region.key)
        self.stored = tuple(region.key for region in self.stores)

    @property
    def engine(self) -> Engine | None:
        return self.operation.engine


def said(op: Operation, here: E.Substitution) -> tuple[object, ...]:
    """The numbers and names among the operands of an operation, with the indices that loops have
    then."""
    out: list[object] = []
    for role, operand in op.operands.items():
        if operand.view is None and isinstance(operand.value, _SAID):
            value = operand.value
            out += (role, here.expr(value) if isinstance(value, E.Expr) else value)
    return tuple(out)


__all__ = [
    "AS_THEY_ARE",
    "Call",
    "Event",
    "OffChip",
    "Rounded",
    "Step",
    "Turn",
    "by_loop",
    "path_of",
    "said",
    "turns",
]
