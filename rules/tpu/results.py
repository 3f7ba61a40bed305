"""What the operations of a trace leave in local memory, and what overwrites it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import Struct

from rules.memory.cases import common_loops
from rules.tpu import flow, kit
from rules.tpu.flow import Instance, Use
from rules.tpu.kit import function, words
from verifier.hardware.chips import Chip
from verifier.symbolic import expr as E
from verifier.symbolic.checks import Check, Note
from verifier.symbolic.expr import Bool
from verifier.symbolic.lanes import LocalTensor, SystemTensor
from verifier.symbolic.memory.known import Known
from verifier.symbolic.memory.lives import exclusive
from verifier.symbolic.tensors import Loop
from verifier.symbolic.trace import Operation, Trace
from verifier.symbolic.views.common import conjuncts

#: iterations in which a result is overwritten: pipelines of three stages
_AGES: Final = (1, 2)
_NOW: Final = E.Substitution({})


class Next(Struct, frozen=True):
    """A write over a result, ``age`` iterations of the loop after it."""

    use: Use
    age: int
    facts: tuple[Bool, ...]


class Results:
    """What the operations of a trace leave in local memory."""

    def __init__(self, trace: Trace, chip: Chip) -> None:
        self.chip = chip
        self.table = flow.uses(trace)
        self.demands = tuple(item.condition for item in trace.assumptions)
        self.sections = {
            id(op): number
            for number, section in enumerate(flow.sections(trace))
            for op, _ in section.all()
        }
        #: by the writes: whether they are made of something; and where they are in any iteration
        self._meant: dict[int, bool] = {}
        self._all = [(use, flow.anywhere(use, 0)) for use in self.table.writes]
        #: the writes that happen at all, where they are in the iteration at hand
        self._now = [each for use in self.table.writes if (each := flow.at(use, _NOW)) is not None]
        self._taken: dict[int, list[Use]] = {}
        for read in self.table.reads:
            self._taken.setdefault(id(read.operation), []).append(read)

    @property
    def made(self) -> Iterator[Use]:
        """The results that hang on something, each the only one of its operation."""
        for write in self.table.writes:
            touches = write.operation.touches
            alone = sum(touch.writes and not touch.destroys for touch in touches) == 1
            if any(extent.is_const and extent.const <= 0 for extent in write.tensor.shape):
                continue  # there is nothing in it
            if alone and any(touch.reads for touch in touches) and self.means(write):
                yield write

    def means(self, write: Use) -> bool:
        """Whether it is made of something: what is made of nothing that was written is no loss, and
        a fault where it decides."""
        if id(write) not in self._meant:
            taken = self._taken.get(id(write.operation), ())
            self._meant[id(write)] = all(self._written(read) for read in taken)
        return self._meant[id(write)]

    def _written(self, read: Use) -> bool:
        """Whether another operation may have written what one reads."""
        others = (found for use, found in self._all if use.operation is not read.operation)
        return any(found is not None and not self.apart(read, found) for found in others)

    def lost(self, write: Use, again: bool = False) -> Iterator[Check]:
        """The first write over all of a result that nothing may have read by then.

        ``again``: it may be one by the same call.
        """
        for later in self._over(write, again):
            if later.age or not self.unordered(write.operation, later.use.operation):
                if next(self.may_read(write, later), None) is None:
                    yield told(write, later)
                return

    def _over(self, write: Use, again: bool) -> Iterator[Next]:
        """What certainly takes the whole place of a result in the end, the earliest first."""
        held = {id(fact) for fact in write.path}
        others = [
            other
            for other in self.table.writes
            if (other.span != write.span or (again and other.order > write.order))
            and self.means(other)
            and len(other.loops) == len(write.loops) == common_loops(other.loops, write.loops)
        ]
        for other in others:
            always = all(id(fact) in held for fact in other.path)
            fits = always and other.order > write.order
            if fits and kit.fills_all(self.chip, other.tensor, write.tensor):
                if not self.repeats(write, other):
                    yield Next(other, 0, ())
        for age in _AGES if write.loops else ():
            put = flow.back(write.loops, len(write.loops) - 1, -age)
            for other in others:
                if not _scheduled(other, write.loops[-1], held) or not _goes_on(write, other):
                    continue
                found = flow.at(other, put)
                if found and kit.fills_all(self.chip, found.tensor, write.tensor):
                    yield Next(other, age, found.facts)

    def unordered(self, one: Operation, other: Operation) -> bool:
        """Whether nothing orders two operations of a parallel section: a rule of its own."""
        section = self.sections.get(id(one))
        together = section is not None and section == self.sections.get(id(other))
        return together and one.engine != other.engine

    def repeats(self, write: Use, again: Use) -> bool:
        """Whether an operation does once more what another one has done."""
        one, other = write.operation, again.operation
        if one.name != other.name or len(one.touches) != len(other.touches):
            return False
        pairs = zip(one.touches, other.touches, strict=True)
        if not all(a.role == b.role and _same(a.tensor, b.tensor) for a, b in pairs):
            return False
        between = (each for each in self._now if one.order < each.use.order < other.order)
        taken = self._taken.get(id(other), ())
        return all(self.apart(read, each) for each in between for read in taken)

    def may_read(self, write: Use, later: Next) -> Iterator[Instance]:
        """What may read some of a result before it is overwritten."""
        depth = len(write.loops)
        for read in self.table.reads:
            if common_loops(read.loops, write.loops) < depth:
                continue
            for age in range(later.age + 1):
                first = age > 0 or read.order > write.order
                beside = self.unordered(read.operation, later.use.operation)
                last = age < later.age or read.order <= later.use.order or beside
                same = later.age == 0 and exclusive(read.path, write.path)
                found = flow.at(read, flow.back(write.loops, depth - 1, -age) if age else _NOW)
                if first and last and not same and found and not self.apart(write, found):
                    yield found

    def apart(self, use: Use, other: Instance) -> bool:
        """Whether another use surely is elsewhere, in the iteration that is meant."""
        apart, ranges = kit.apart(self.chip, use.tensor, other.tensor)
        if apart is E.TRUE:
            return True
        known = Known((*self.demands, *use.path, *use.within), use.loops)
        there = known.also((*other.facts, *ranges), other.use.loops)
        return there.decide_in_turn(apart) is True


def _same(one: LocalTensor | SystemTensor, other: LocalTensor | SystemTensor) -> bool:
    """Whether two operands are the same tensor, term by term."""
    if isinstance(one, LocalTensor) and isinstance(other, LocalTensor):
        return kit.same_place(one, other)
    if isinstance(one, SystemTensor) and isinstance(other, SystemTensor):
        sizes = zip((*one.shape, *one.strides), (*other.shape, *other.strides), strict=True)
        a, b = one.address, other.address
        return a.storage is b.storage and a.offset is b.offset and all(x is y for x, y in sizes)
    return False


def _scheduled(use: Use, loop: Loop, held: set[int]) -> bool:
    """Whether a use is in all iterations from some on, or up to some: its conditions say no more
    of the index, and nothing else that is not held."""
    for fact in (part for each in use.path for part in conjuncts(each)):
        if loop.symbol not in fact.free():
            if id(fact) not in held:
                return False
        elif fact.kind is not E.BoolKind.LE or fact.expr is None:
            return False
        else:
            slope = fact.expr.coefficient(loop.symbol)
            if loop.symbol in (fact.expr - loop.index * slope).free():
                return False
    return True


def _goes_on(write: Use, other: Use) -> bool:
    """Whether the iterations of a loop do something new: a part of one of the operands."""
    symbol = write.loops[-1].symbol
    touches = (*write.operation.touches, *other.operation.touches)
    return any(symbol in term.free() for touch in touches for term in _terms(touch.tensor))


def _terms(tensor: LocalTensor | SystemTensor) -> Sequence[E.Expr]:
    at = tensor.address if isinstance(tensor, LocalTensor) else tensor.address.offset
    return (at, *tensor.shape, *tensor.strides)


def told(write: Use, later: Next) -> Check:
    name, by = function(write.operation), function(later.use.operation)
    return Check(
        predicate=E.not_(E.and_(*later.facts)),
        span=write.span,
        text=f"something reads {words(write.touch.role)} of `{name}` before it is overwritten",
        message=(
            f"{words(write.touch.role)} of `{name}` is overwritten by `{by}` before anything has "
            "read it"
        ),
        facts=("OKK-X07", "ADR-11"),
        given=write.within,
        notes=(
            Note(
                later.use.span,
                "overwritten here" + (", in a later iteration" if later.age else ""),
            ),
        ),
        help=("store or use a result before its place is filled again, or give it another place",),
        path=write.path,
        order=max(write.order, later.use.order),
    )
