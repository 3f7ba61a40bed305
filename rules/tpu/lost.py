"""Results in local memory that are overwritten before anything has read them.

A result that nobody reads is no fault by itself: a loop may make one more than it needs, and what
is made in every round may be wanted in the last one only. It is one where the place is taken for
something else by the schedule, whenever there is a next step: in the same iteration by what is done
under no other condition, or in a later one of the loop by what is done in all of its iterations
from some on, or up to some. What reads the place then finds what was not meant for it.

Where an operation itself fills the place again, that is so in every loop. Then it is a fault if
something waits for its results: begins some iterations later and goes on when no more are made, and
finds that the first ones are gone. Or if it takes places in turn of which one is never read
(:mod:`rules.tpu.untaken`), or of which an older one is read for a newer one
(:mod:`rules.tpu.stale`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from rules.tpu import flow, kit
from rules.tpu.examples import pair
from rules.tpu.flow import Instance, Use
from rules.tpu.kit import function, words
from rules.tpu.stale import Stale, in_order
from rules.tpu.untaken import Untaken, scheduled
from verifier.dialects.names import OKK
from verifier.hardware.chips import Chip
from verifier.rulebase import Monitor, On, Rule, register
from verifier.symbolic import expr as E
from verifier.symbolic.checks import Check, Note
from verifier.symbolic.expr import Bool
from verifier.symbolic.lanes import LocalTensor, SystemTensor
from verifier.symbolic.memory.events import Stretch, Turned
from verifier.symbolic.memory.known import Known
from verifier.symbolic.memory.lives import exclusive
from verifier.symbolic.tensors import Loop
from verifier.symbolic.trace import Operation, Trace
from verifier.symbolic.views.common import conjuncts

#: iterations in which a result is waited for: pipelines of three stages
_AGES: Final = (1, 2)
_NOW: Final = E.Substitution({})


def lost_results(trace: Trace, chip: Chip) -> Iterable[Check]:
    """One check per place that makes a result, if all that it makes is lost."""
    if trace.unmodelled:  # it may read any of them
        return
    results = _Results(trace, chip)
    by_place: dict[object, list[Check | None]] = {}
    for write in results.made:
        by_place.setdefault(write.span, []).append(next(results.lost(write), None))
    for found in by_place.values():
        sure = [check for check in found if check is not None]
        # where one of several rounds or calls makes something that is used, the others may be idle
        if len(sure) == len(found):
            yield from sure
    kept: list[Use] = []
    for write in results.made:
        if by_place[write.span] == [None]:
            overtaken = list(results.overtaken(write))
            yield from overtaken
            kept += () if overtaken else (write,)
    yield from Untaken(chip, results.table, results.demands).checks(results.made)
    yield from Stale(chip, results.table, results.demands).checks(kept)


def lost_in_run(event: Stretch, chip: Chip) -> Iterator[Check]:
    """As :func:`lost_results`, of each result of a run that is overwritten shortly after."""
    trace = event.trace
    if event.cut:
        trace = replace(trace, operations=flow.from_whole_sections(trace))
    results = _Results(trace, chip)
    for write in results.made:
        for check in results.lost(write, again=True):
            if check.order is not None and check.order >= event.since:
                yield check
    for check in in_order(results.table, [*results.made], event.ended):
        if check.order is not None and (event.ended or check.order >= event.since):
            yield check


def untaken_in_run(event: Turned, chip: Chip) -> Iterator[Check]:
    """Of the places that a run has filled in turn, those that nothing has read."""
    results = _Results(event.trace, chip)
    yield from Untaken(chip, results.table, results.demands).checks(results.made)


class _Next(Struct, frozen=True):
    """A write over a result, ``age`` iterations of the loop after it."""

    use: Use
    age: int
    facts: tuple[Bool, ...]


class _Results:
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

    @property
    def made(self) -> Iterator[Use]:
        """The results that hang on something, each the only one of its operation."""
        for write in self.table.writes:
            touches = write.operation.touches
            alone = sum(touch.writes and not touch.destroys for touch in touches) == 1
            if alone and any(touch.reads for touch in touches) and self._means(write):
                yield write

    def _means(self, write: Use) -> bool:
        """Whether it is made of something: what is made of nothing that was written is no loss, and
        a fault where it decides."""
        if id(write) not in self._meant:
            taken = [read for read in self.table.reads if read.operation is write.operation]
            self._meant[id(write)] = all(self._written(read) for read in taken)
        return self._meant[id(write)]

    def _written(self, read: Use) -> bool:
        """Whether another operation may have written what one reads."""
        others = (found for use, found in self._all if use.operation is not read.operation)
        return any(found is not None and not self._apart(read, found) for found in others)

    def lost(self, write: Use, again: bool = False) -> Iterator[Check]:
        """The first write over all of a result that nothing may have read by then.

        ``again``: it may be one by the same call.
        """
        for later in self._over(write, again):
            if later.age or not self._unordered(write.operation, later.use.operation):
                if next(self._may_read(write, later), None) is None:
                    yield _check(write, later)
                return

    def overtaken(self, write: Use) -> Iterator[Check]:
        """That an operation fills its place again no sooner than what waits for it has read it."""
        if not write.loops or not kit.computes(write.operation):
            return
        for age in _AGES:
            found = flow.at(write, flow.back(write.loops, len(write.loops) - 1, -age))
            if found is None or not kit.fills_all(self.chip, found.tensor, write.tensor):
                continue
            waiting = next((r for r in self.table.reads if self._waits(r, write, age)), None)
            if waiting is not None:
                later = _Next(write, age, found.facts)
                inner = {loop.symbol for loop in waiting.loops[len(write.loops) :]}
                cases = [
                    E.and_(*(fact for fact in read.facts if inner.isdisjoint(fact.free())))
                    for read in self._may_read(write, later)
                ]
                yield _check(write, later, E.or_(*cases), waiting)
            return

    def _waits(self, read: Use, write: Use, age: int) -> bool:
        """Whether a read takes a result so many iterations later where no more are made, and has
        nothing to take in the first iterations."""
        depth, loop = len(write.loops), write.loops[-1]
        if read.order <= write.order or len(read.loops) != depth:
            return False
        if flow.shared(read.loops, write.loops) != depth:
            return False
        begins = _bounds(read, loop, -1) - _bounds(write, loop, -1)
        ends = _bounds(write, loop, 1) - _bounds(read, loop, 1)
        if not begins or not ends:
            return False
        found = flow.at(read, flow.back(write.loops, depth - 1, -age))
        return found is not None and kit.holds_all(self.chip, write.tensor, found.tensor)

    def _over(self, write: Use, again: bool) -> Iterator[_Next]:
        """What certainly takes the whole place of a result in the end, the earliest first."""
        held = {id(fact) for fact in write.path}
        others = [
            other
            for other in self.table.writes
            if (other.span != write.span or (again and other.order > write.order))
            and self._means(other)
            and len(other.loops) == len(write.loops) == flow.shared(other.loops, write.loops)
        ]
        for other in others:
            always = all(id(fact) in held for fact in other.path)
            fits = always and other.order > write.order
            if fits and kit.fills_all(self.chip, other.tensor, write.tensor):
                if not self._repeats(write, other):
                    yield _Next(other, 0, ())
        for age in _AGES if write.loops else ():
            put = flow.back(write.loops, len(write.loops) - 1, -age)
            for other in others:
                if not scheduled(other, write.loops[-1], held) or not _goes_on(write, other):
                    continue
                found = flow.at(other, put)
                if found and kit.fills_all(self.chip, found.tensor, write.tensor):
                    yield _Next(other, age, found.facts)

    def _unordered(self, one: Operation, other: Operation) -> bool:
        """Whether nothing orders two operations of a parallel section: a rule of its own."""
        section = self.sections.get(id(one))
        together = section is not None and section == self.sections.get(id(other))
        return together and one.engine != other.engine

    def _repeats(self, write: Use, again: Use) -> bool:
        """Whether an operation does once more what another one has done."""
        one, other = write.operation, again.operation
        if one.name != other.name or len(one.touches) != len(other.touches):
            return False
        pairs = zip(one.touches, other.touches, strict=True)
        if not all(a.role == b.role and _same(a.tensor, b.tensor) for a, b in pairs):
            return False
        taken = [read for read in self.table.reads if read.operation is other]
        between = (use for use in self.table.writes if one.order < use.order < other.order)
        found = [each for use in between if (each := flow.at(use, _NOW)) is not None]
        return all(self._apart(read, each) for each in found for read in taken)

    def _may_read(self, write: Use, later: _Next) -> Iterator[Instance]:
        """What may read some of a result before it is overwritten."""
        depth = len(write.loops)
        for read in self.table.reads:
            if flow.shared(read.loops, write.loops) < depth:
                continue
            for age in range(later.age + 1):
                first = age > 0 or read.order > write.order
                beside = self._unordered(read.operation, later.use.operation)
                last = age < later.age or read.order <= later.use.order or beside
                same = later.age == 0 and exclusive(read.path, write.path)
                found = flow.at(read, flow.back(write.loops, depth - 1, -age) if age else _NOW)
                if first and last and not same and found and not self._apart(write, found):
                    yield found

    def _apart(self, use: Use, other: Instance) -> bool:
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


def _bounds(use: Use, loop: Loop, sign: int) -> set[Bool]:
    """Conditions of a use that bound the index of a loop: from above (1) or from below (-1)."""
    return {
        fact
        for each in use.path
        for fact in conjuncts(each)
        if fact.kind is E.BoolKind.LE
        and fact.expr is not None
        and fact.expr.coefficient(loop.symbol) * sign > 0
    }


def _goes_on(write: Use, other: Use) -> bool:
    """Whether the iterations of a loop do something new: a part of one of the operands."""
    symbol = write.loops[-1].symbol
    touches = (*write.operation.touches, *other.operation.touches)
    return any(symbol in term.free() for touch in touches for term in _terms(touch.tensor))


def _terms(tensor: LocalTensor | SystemTensor) -> Sequence[E.Expr]:
    at = tensor.address if isinstance(tensor, LocalTensor) else tensor.address.offset
    return (at, *tensor.shape, *tensor.strides)


def _check(write: Use, later: _Next, read: Bool = E.FALSE, waiting: Use | None = None) -> Check:
    """``read``: when it is read before; ``waiting``: what was to read it."""
    name, by = function(write.operation), function(later.use.operation)
    return Check(
        predicate=E.or_(E.not_(E.and_(*later.facts)), read),
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
            *((Note(waiting.span, "what was to read it, comes too late"),) if waiting else ()),
        ),
        help=("store or use a result before its place is filled again, or give it another place",),
        path=write.path,
        order=max(write.order, later.use.order),
    )


_PAIR = pair(
    "rectified",
    "blocks: int, x: okk.SystemAddr, y: okk.SystemAddr",
    """\
assert 1 <= blocks <= 50
okk.initialize()
shape = okk.dim4(1, 40, 3, 70)
size = 40 * 3 * 70 * 4
for step in range(blocks + 1):
    if step < blocks:
        okk.gdma_32bit_cpy_S2L(step % 2 * 4096, x + step * size, shape, None, None)
    if step > 0:
        okk.gdma_32bit_cpy_L2S(y + (step - 1) * size, (step - 1) % 2 * 4096, shape, None, None)
    if step < blocks:
        okk.bdc_relu(step % 2 * 4096, step % 2 * 4096, shape, None, None)
        @@
okk.poll()
""",
    "okk.gdma_32bit_cpy_S2L(step % 2 * 4096, x + step * size, shape, None, None)",
    "okk.bdc_mul_C(step % 2 * 4096, step % 2 * 4096, 0.5, shape, None, None)",
)

register(
    Rule(
        id="okk-lost-result",
        code="OKK303",
        family=OKK,
        summary="a result is read before its place is filled again",
        silent=True,
        reason=(
            "In a pipeline each buffer is filled anew every few steps. Where that comes before the "
            "result of the last step was stored or used, the step was for nothing, and what reads "
            "the place next finds other data than it was written for: a load that overwrites what "
            "was computed sends what was never computed. Repeating the very same operation, "
            "constants, and results that only some iterations need are fine."
        ),
        facts=("OKK-X07", "ADR-11"),
        on=On.TRACE,
        check=lost_results,
        monitors=(
            Monitor(Stretch, lost_in_run, meant=True),
            Monitor(Turned, untaken_in_run, meant=True),
        ),
        dialects=(OKK,),
        sources=("OKKernel manual, programming_device",),
        failing=_PAIR[0],
        passing=_PAIR[1],
    )
)
