"""What is read in local memory and was never written, or was made of that: where it decides."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Final

from msgspec.structs import replace

from rules.memory.formulas import pruned, size
from rules.memory.words import decides_note
from rules.tpu import flow, kit, spoilt, written
from rules.tpu.arranged import arranged, arranged_in_run
from rules.tpu.beginnings import Beginning, beginning
from rules.tpu.examples import pair
from rules.tpu.flow import Use
from rules.tpu.kit import function, words
from rules.tpu.spoilt import LARGEST, Part, Spoilt, Threat
from rules.tpu.unwritten import beyond, of_read, read_check, written_before
from verifier.dialects.names import OKK
from verifier.hardware.chips import Chip
from verifier.rulebase import Monitor, On, Replayed, Rule, register
from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.checks import Check
from verifier.symbolic.expr import Bool
from verifier.symbolic.memory.deciding import USED
from verifier.symbolic.memory.events import Stretch, UndefinedLanes
from verifier.symbolic.memory.known import Known
from verifier.symbolic.trace import Operation, Trace


def uninitialised(trace: Trace, chip: Chip) -> Iterable[Check]:
    """Per read: some write before it touches what is read, and the only one that does covers it.

    Where it is carried on that is asked of what is made of it, where that decides. What cannot be
    said of any round of a loop is asked of the first ones, one by one.
    """
    unclear: list[Check] = []
    for check in _Reads(trace, chip).checks():
        if check.exact or check.predicate is E.TRUE:
            yield check
        else:
            unclear.append(check)
    yield from _in_rounds(trace, chip, unclear) if unclear else ()
    yield from arranged(trace, chip)


def _in_rounds(trace: Trace, chip: Chip, unclear: list[Check]) -> Iterator[Check]:
    """What is to be said of the same reads in the first rounds; and of them in others."""
    for leaving in (True, False):
        rounds = beginning(trace, leaving)
        if rounds is None:
            continue
        reads = _Reads(rounds.trace, chip)
        checks = reads.checks()
        if reads.come_again(rounds):
            break
    else:
        yield from unclear
        return
    asked = {check.span for check in unclear}
    for check in checks:
        if check.span in asked and check.predicate is not E.TRUE:
            assert check.order is not None
            yield replace(check, order=rounds.origins[check.order].order)
    # what is read in the first rounds may be stored in any later one
    yield from (replace(each, predicate=E.or_(each.predicate, rounds.all)) for each in unclear)


def _leaves_lane(chip: Chip, use: Use) -> bool:
    """Whether a tensor certainly reaches beyond the end of a lane."""
    return E.le(kit.block(chip, use.tensor).end, chip.local_bytes) is E.FALSE


#: rounds through a trace in which what comes round in its loops may be what a round makes of it
_ROUNDS: Final = 4


class _Reads:
    """The reads of one trace, and what becomes of what they find."""

    def __init__(self, trace: Trace, chip: Chip) -> None:
        self.chip = chip
        self.table = flow.uses(trace)
        #: whether every function that may write has a model
        self.known = not trace.unmodelled
        self.demands = tuple(item.condition for item in trace.assumptions)
        every = (*self.table.writes, *self.table.destroyed)
        self.beyond = [use.order for use in every if _leaves_lane(chip, use)]
        #: results that hold what is undefined, by operation
        self.spoilt: dict[int, Spoilt] = {}
        #: what was taken of those whose rounds do not come to an end; and where that is too much
        self.pinned: dict[int, Spoilt] = {}
        self.loose: set[int] = set()
        #: operations of which it is not known what they make of what is undefined
        self.lost: set[int] = set()
        self._own: dict[int, list[Check]] = {}
        self._points: dict[int, written.Point | None] = {}
        self._writes_near: dict[int, list[Use]] = {}

    def checks(self) -> list[Check]:
        found = self._round()
        if not any(use.loops for use in self.table.reads):
            return found
        for number in range(_ROUNDS + len(self.table.writes)):
            before = self._taken()
            if not before:
                return found
            found = self._round()
            now = self._taken()
            if now == before:
                break
            for key in now.keys() | before.keys() if number else ():
                if now.get(key) != before.get(key):
                    self._settle(key, first=number < _ROUNDS)
        if self.pinned.keys() & self.loose:
            return _open(found, "whether what is undefined decides in a later iteration is unknown")
        return found

    def come_again(self, rounds: Beginning) -> bool:
        """Whether the last turn before rounds that are left out leaves what the one before does."""
        return all(
            one is not None and other is not None and self._leave_alike(one, other, where)
            for one, other, where in rounds.turns()
        )

    def _leave_alike(self, later: Operation, earlier: Operation, where: Bool) -> bool:
        if self.lost & {id(later), id(earlier)}:
            return False
        one, other = self.spoilt.get(id(later)), self.spoilt.get(id(earlier))
        if one is None or other is None:
            return one is other
        known = Known((*self.demands, *later.path, where))
        found = [_by_place(each, known) for each in (one, other)]
        pairs = ([each.get(span, E.TRUE) for each in found] for span in found[0] | found[1])
        return all(_implies(a, b) and _implies(b, a) for a, b in pairs)

    def _taken(self) -> dict[int, tuple[int, ...]]:
        return {key: tuple(map(id, each.formulas)) for key, each in self.spoilt.items()}

    def _settle(self, key: int, first: bool) -> None:
        """What is found of a result is other in each round: take it to be what the ``first``
        iteration makes of it, or else undefined."""
        each = self.spoilt.get(key) or self.pinned.get(key)
        if each is None or key in self.loose:
            return
        if first and key not in self.pinned and each.write.loops:
            start = E.Substitution({each.write.loops[-1].symbol: E.const(0)})
            parts = (replace(part, formula=start.bool(part.formula)) for part in each.parts)
        else:
            self.loose.add(key)
            parts = (replace(part, formula=E.FALSE) for part in each.parts)
        self.pinned[key] = self.spoilt[key] = replace(each, parts=tuple(parts))

    def _round(self) -> list[Check]:
        """Go through all reads; what they spoil counts for those that follow."""
        found: list[Check] = []
        for key, reads in groupby(self.table.reads, key=lambda read: id(read.operation)):
            parts: list[Part] = []
            for read in reads:
                checks, more = self._judged(read)
                found += checks
                parts += more
            self.spoilt.pop(key, None)
            write = spoilt.result(self.table, read)
            if parts and write is not None:
                self.spoilt[key] = Spoilt(write, tuple(parts))
            if key in self.pinned:
                self._compare(key)
        return found

    def _compare(self, key: int) -> None:
        """Whether a round finds what a result was taken to be; what it was taken to be stays."""
        pinned, now = self.pinned[key], self.spoilt.get(key)
        self.spoilt[key] = pinned
        if now is None or not self._alike(now, pinned):
            self._settle(key, first=False)

    def _alike(self, one: Spoilt, other: Spoilt) -> bool:
        """Whether a result has the same elements of each first read, as far as folding tells."""
        use = one.write
        known = Known((*self.demands, *use.path, *use.within), use.loops)
        found = [{id(it): said for it, said in each.defined(known)} for each in (one, other)]
        pairs = ([each.get(key, E.TRUE) for each in found] for key in found[0] | found[1])
        return all(_implies(a, b) and _implies(b, a) for a, b in pairs)

    def _judged(self, read: Use) -> tuple[list[Check], list[Part]]:
        """The checks of a read; and what of its result is defined, if not all.

        What goes on is not judged; what is not known by its place alone is judged where it is read.
        """
        own = self._own.get(id(read))
        if own is None:
            own = self._own[id(read)] = list(self._written(read))
        clean = all(check.predicate is E.TRUE for check in own)
        point = None if clean and not self.spoilt else self._point(read)
        if point is None:
            if not clean:
                self.lost.add(id(read.operation))
            return own, []
        chip, table, near = self.chip, self.table, self._near(read, point)
        threats = list(spoilt.threats(chip, read, point, [*self.spoilt.values()], near))
        why = spoilt.why_it_decides(read)
        judged = [self._spoils(read, point, each, why or USED) for each in threats]
        write = spoilt.result(table, read)
        if why or write is None or (clean and not threats):
            return [*own, *judged], []
        formulas = self._defined(read, point, None if clean else _said(own), threats)
        if formulas is not None:
            parts = [spoilt.part_of(chip, read, write, point.element, *each) for each in formulas]
            return [read_check(read, E.TRUE, exact=True)], parts
        self.lost.add(id(read.operation))
        reason = f"what becomes of what is undefined in {words(read.touch.role)} is not followed"
        return _open([*own, *judged], reason), []

    def _point(self, read: Use) -> written.Point | None:
        if id(read) not in self._points:
            point = None
            if not self._leaves(read):
                point = written.point_of(self.chip, read, self.table.writes, self.demands)
            self._points[id(read)] = point
        return self._points[id(read)]

    def _near(self, read: Use, point: written.Point) -> list[Use]:
        if id(read) not in self._writes_near:
            self._writes_near[id(read)] = spoilt.near(self.chip, read, point, self.table.writes)
        return self._writes_near[id(read)]

    def _defined(
        self, read: Use, point: written.Point, own: Check | None, threats: list[Threat]
    ) -> list[tuple[Check, Bool]] | None:
        """That an element of a read is defined, as each first read of what is not has it; None:
        that cannot be said by its place alone.

        ``own``: what is said of this read if it is one.
        """
        found: dict[int, tuple[Check, list[Bool]]] = {}
        exact = self.known
        if own is not None:
            before = [
                way for write in reversed(self.table.writes) for way, _ in written.ways(write, read)
            ]
            formula, exact = written.there(self.chip, point, before)
            exact = exact and self.known
            works = [Spoilt(work) for work in self.table.destroyed]
            near = self._near(read, point)
            destroyed = spoilt.threats(self.chip, read, point, works, near)
            threats = [*threats, *(replace(each, origin=own) for each in destroyed)]
            found[id(own)] = own, [formula]
        if not exact or any(each.open or not each.exact for each in threats):
            return None
        for each in threats:
            if each.origin is not None:
                found.setdefault(id(each.origin), (each.origin, []))[1].append(each.formula)
        out = [(origin, pruned(E.and_(*parts), point.known)) for origin, parts in found.values()]
        small = size([formula for _, formula in out], LARGEST) <= LARGEST
        return [each for each in out if each[1] is not E.TRUE] if small else None

    def _spoils(self, read: Use, point: written.Point, threat: Threat, why: str) -> Check:
        """What a read finds was not made of what is undefined."""
        origin = threat.origin
        assert origin is not None  # (work tensors are asked of on their own)
        exact = threat.exact and self.known
        where = point.element
        role = words(read.touch.role)
        return replace(
            origin,
            predicate=threat.formula,
            given=(*read.within, *point.given, *threat.given),
            values=(("a lane that is read", where.lane), ("a byte in it that is read", where.byte)),
            notes=(*origin.notes, *decides_note(origin.span, read.span, why)),
            exact=exact,
            reason="" if exact else f"whether {role} was written again is not known exactly",
            path=read.path,
            order=read.order,
        )

    def _leaves(self, read: Use) -> bool:
        return _leaves_lane(self.chip, read) or any(order < read.order for order in self.beyond)

    def _written(self, read: Use) -> Iterator[Check]:
        """That something was written wherever it is read."""
        if self._leaves(read):
            reason = "a tensor reaches beyond the end of its lane"
            yield replace(read_check(read, E.FALSE, exact=False), reason=reason)
        else:
            yield from of_read(self.chip, read, self.table, self.known, self.demands)


def _by_place(spoilt: Spoilt, known: Known) -> dict[Span, Bool]:
    """That an element of a result is defined, by the place of the first read that has spoilt it."""
    found: dict[Span, Bool] = {}
    for origin, formula in spoilt.defined(known):
        found[origin.span] = E.and_(found.get(origin.span, E.TRUE), pruned(formula, known))
    return found


def _implies(one: Bool, other: Bool) -> bool:
    """Whether one formula holds only where another one does, as far as folding tells."""
    against = E.not_(other)
    if one is other or E.and_(one, against) is E.FALSE:
        return True
    pairs = (one, against), (against, one)
    return any(pruned(it, Known((given,), ())) is E.FALSE for it, given in pairs)


def _open(checks: list[Check], reason: str) -> list[Check]:
    """What can be proved by these checks, but is not refuted by them."""
    return [
        check if check.predicate is E.TRUE else replace(check, exact=False, reason=reason)
        for check in checks
    ]


def _said(checks: list[Check]) -> Check:
    """What is said of a read of which these do not hold."""
    return next(check for check in checks if check.predicate is not E.TRUE)


def undefined_lanes(event: UndefinedLanes, chip: Chip) -> Iterator[Check]:
    """Something in a run of a kernel hangs on what nothing wrote."""
    operation, role = event.operation, event.role
    adds = any(touch.role == role and touch.writes for touch in operation.touches)
    span = kit.span_of(operation, role)
    found = written_before(words(role), function(operation), span, adds, event.spoiled)
    if event.partly:
        text, message = beyond(words(role), function(operation))
        found = replace(found, text=text, message=message)
    yield replace(found, notes=decides_note(span, event.use, event.why))


_UNWRITTEN = pair(
    "weighted",
    "x: okk.SystemAddr, w: okk.SystemAddr, y: okk.SystemAddr",
    """\
okk.initialize()
shape = okk.dim4(1, 48, 4, 12)
okk.gdma_32bit_cpy_S2L(0, x, shape, None, None)
okk.gdma_32bit_cpy_S2L(1024, w, shape, None, None)
okk.bdc_mul_C(@@, 0, 0.25, shape, None, None)
okk.bdc_mac(4096, 0, 1024, shape, None, None, None)
okk.gdma_32bit_cpy_L2S(y, 4096, shape, None, None)
okk.poll()
""",
    "2048",
    "4096",
)

register(
    Rule(
        id="okk-uninitialised-read",
        code="OKK302",
        family=OKK,
        summary="what an operation reads in local memory was written before",
        silent=True,
        reason=(
            "Local memory holds what the kernel before left there. Functions that add to their "
            "result (mac, convolutions and products with result_add) read it as well. What a "
            "function leaves in its work tensor means nothing. A function in place that takes "
            "other strides than its tensor was written with reads where nothing was written, too."
        ),
        facts=("OKK-P08", "OKK-Q06", "OKK-049", "OKK-050", "ADR-07", "OKK-E01", "OKK-E02"),
        on=On.TRACE,
        check=uninitialised,
        monitors=(
            Monitor(UndefinedLanes, undefined_lanes),
            Monitor(Stretch, arranged_in_run, meant=True),
        ),
        replayed=Replayed(whole=True),
        dialects=(OKK,),
        sources=("OKKernel manual, fp32_nn",),
        failing=_UNWRITTEN[0],
        passing=_UNWRITTEN[1],
    )
)
