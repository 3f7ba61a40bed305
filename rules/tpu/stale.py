"""Results in places that are taken in turn, of which an older one is read for a newer one.

What reads the places in turn, so many iterations behind what fills them, reads for a second time
what it has read before, if it goes on after that has stopped. And what is read behind the loop is
an older one, if nothing ever reads the one that the last iteration has left.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rules.tpu import flow, kit
from rules.tpu.flow import Use, Uses
from rules.tpu.kit import function, words
from rules.tpu.untaken import Turn, scheduled, turn_of
from verifier.hardware.chips import Chip
from verifier.symbolic import expr as E
from verifier.symbolic.checks import Check, Note
from verifier.symbolic.expr import Bool
from verifier.symbolic.lanes import LocalTensor
from verifier.symbolic.memory.known import Known
from verifier.symbolic.trace import Operation
from verifier.symbolic.views.common import conjuncts


class Stale:
    """The older results that the operations of a trace read."""

    def __init__(self, chip: Chip, table: Uses, demands: Sequence[Bool]) -> None:
        self.chip = chip
        self.table = table
        self.demands = tuple(demands)

    def checks(self, made: Iterable[Use]) -> Iterator[Check]:
        """Per result that is put in places in turn; ``made``: those that hang on something."""
        for write in made:
            turn = turn_of(write)
            if turn is None or turn.loop is not write.loops[-1] or not self._alone(write):
                continue
            held = {id(fact) for fact in write.path}
            if not scheduled(write, turn.loop, held):
                continue
            if _ends(write, turn):
                yield from self._outlasted(write, turn, held)
            else:
                yield from self._left_behind(write, turn)

    def _alone(self, write: Use) -> bool:
        """Whether nothing else may write to any of its places."""
        mine = flow.anywhere(write, 0)
        others = (use for use in (*self.table.writes, *self.table.destroyed) if use is not write)
        return mine is not None and all(
            (found := flow.anywhere(use, 0)) is None
            or self._apart(write, mine.tensor, found.tensor)
            for use in others
        )

    def _outlasted(self, write: Use, turn: Turn, held: set[int]) -> Iterator[Check]:
        """Reads in the same loop that go on after the last result."""
        depth, symbol = len(write.loops), turn.loop.symbol
        for read in self.table.reads:
            if read.operation is write.operation or len(read.loops) != depth:
                continue
            if flow.shared(read.loops, write.loops) != depth:
                continue
            if not scheduled(read, turn.loop, held):
                continue
            age = self._age(write, read, turn)
            if age is None:
                continue
            then = E.Substitution({symbol: turn.loop.index - age})
            before = E.Substitution({symbol: turn.loop.index - age - turn.count})
            there = [before.bool(fact) for fact in write.path]
            yield _check(
                read,
                write.operation,
                E.and_(*(then.bool(fact) for fact in _ends(write, turn))),
                (*read.within, *there, E.ge(before.expr(turn.loop.index), 0)),
            )

    def _age(self, write: Use, read: Use, turn: Turn) -> int | None:
        """How many iterations ago what a read takes was made."""
        for age in range(turn.count + 1):
            if (age == 0 and read.order < write.order) or (
                age == turn.count and read.order > write.order
            ):
                continue
            at = E.Substitution({turn.loop.symbol: turn.loop.index - age})
            if kit.fills_all(self.chip, kit.moved(write.tensor, at), read.tensor):
                return age
        return None

    def _left_behind(self, write: Use, turn: Turn) -> Iterator[Check]:
        """Reads behind a loop of what its last iteration but one has left, if nothing reads what
        the last one has."""
        loop, depth = turn.loop, len(write.loops) - 1
        last = E.Substitution({loop.symbol: loop.trips - 1})
        older = E.Substitution({loop.symbol: loop.trips - 2})
        place = kit.moved(write.tensor, last)
        reads: list[Use] = []
        for read in self.table.reads:
            if read.order < write.order and flow.shared(read.loops, write.loops) <= depth:
                continue
            if read.loops[: depth + 1] == write.loops:  # in the last iteration, behind the write
                if read.order > write.order and not self._apart(
                    write, place, kit.moved(read.tensor, last)
                ):
                    return
                continue
            found = flow.anywhere(read, depth)
            if found is None:
                continue
            if not self._apart(write, place, found.tensor):
                return
            if read.loops == write.loops[:depth]:
                reads.append(read)
        for read in reads:
            if kit.fills_all(self.chip, kit.moved(write.tensor, older), read.tensor):
                there = [put.bool(fact) for put in (last, older) for fact in write.path]
                given = (*read.within, *there, E.ge(loop.trips, 2))
                yield _check(read, write.operation, E.FALSE, given)

    def _apart(self, use: Use, one: LocalTensor, other: LocalTensor) -> bool:
        apart, ranges = kit.apart(self.chip, one, other)
        if apart is E.TRUE:
            return True
        known = Known((*self.demands, *use.within), use.loops).also(ranges, ())
        return known.decide_in_turn(apart) is True


def _ends(write: Use, turn: Turn) -> list[Bool]:
    """The conditions of a result that bound the index from above."""
    return [
        fact
        for each in write.path
        for fact in conjuncts(each)
        if fact.kind is E.BoolKind.LE
        and fact.expr is not None
        and fact.expr.coefficient(turn.loop.symbol) > 0
    ]


def in_order(table: Uses, made: Sequence[Use], ended: bool) -> Iterator[Check]:
    """Of the operations of a run one by one: what is read for a second time by one call, is what
    another call has left than the time before (:mod:`rules.tpu.sources`), or is older than what is
    never read. ``ended``: nothing comes behind them."""
    news = {id(use) for use in made}
    #: by address, what is there; by call, the results it has made and where
    there: dict[object, Use] = {}
    places: dict[object, set[object]] = {}
    newest: dict[object, Use] = {}
    #: what was read of whom, and where a call has read last
    seen: dict[tuple[object, int], None] = {}
    taken: set[int] = set()
    at: dict[object, object] = {}
    #: by call, what it has read last, and whether it was there before it read the one before
    latest: dict[tuple[object, str], tuple[Use, bool, int]] = {}
    often: dict[tuple[object, str], int] = {}
    behind: list[tuple[Use, Use]] = []
    for use in sorted((*table.reads, *table.writes), key=lambda use: (use.order, use.touch.writes)):
        address = use.tensor.address
        if use.touch.reads and (result := there.get(address)) is not None:
            taken.add(id(result))
            key = (use.span, id(result))
            turns = len(places[result.span]) > 1 and at.get(use.span, address) is not address
            before = latest.get((use.span, use.touch.role))
            late = _behind(result, use) or (before is not None and before[2] > result.order)
            latest[use.span, use.touch.role] = result, late, use.order
            often[use.span, use.touch.role] = often.get((use.span, use.touch.role), 0) + 1
            other = before is not None and before[0].span != result.span and (late or before[1])
            if other or (key in seen and turns):
                yield _check(use, result.operation, E.FALSE, ())
            if newest[result.span] is not result:
                behind.append((use, result))
            seen[key] = None
            at[use.span] = address
        if use.touch.writes:
            there.pop(address, None)
            if id(use) in news:
                there[address] = newest[use.span] = use
                places.setdefault(use.span, set()).add(address)
    once = [latest[key][0] for key, count in often.items() if count == 1]
    for result in once[:1] if ended else ():  # a run of one part does not tell what was meant
        yield _check(result, result.operation, E.eq(E.fresh("parts"), 0), ())
    for read, result in behind if ended else ():
        last = newest[result.span]
        if last.order < read.order and id(last) not in taken:
            yield _check(read, result.operation, E.FALSE, ())


def _behind(write: Use, read: Use) -> bool:
    """Whether a result comes from further down in a text: from an earlier iteration."""
    a, b = write.span, read.span
    return a.path == b.path and (a.line, a.column) > (b.line, b.column)


def _check(read: Use, by: Operation, predicate: Bool, given: tuple[Bool, ...]) -> Check:
    role, name, maker = words(read.touch.role), function(read.operation), function(by)
    return Check(
        predicate=predicate,
        span=read.span,
        text=f"{role} of `{name}` is the newest result of `{maker}` that it is to read",
        message=f"{role} of `{name}` is an older result of `{maker}` than the one that is due",
        facts=("OKK-X07", "ADR-11"),
        given=given,
        notes=(Note(by.span, "this fills places in turn, and has stopped"),),
        help=("let what reads go on exactly as far behind as it begins",),
        path=read.path,
        order=read.order,
    )
