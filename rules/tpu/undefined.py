"""What is read in local memory and was never written, or was made of that: where it decides."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, product
from typing import Final

from msgspec.structs import replace

from rules.memory.cases import common_loops
from rules.memory.formulas import size
from rules.memory.words import decides_note
from rules.tpu import covering, destroyed, flow, kit, spoilt, written
from rules.tpu.arranged import arranged, arranged_in_run
from rules.tpu.beginnings import beginning
from rules.tpu.examples import pair
from rules.tpu.flow import Use, Uses
from rules.tpu.kit import function, words
from rules.tpu.sources import held, source_of
from rules.tpu.spoilt import LARGEST, Part, Spoilt, Threat
from verifier.dialects.names import OKK
from verifier.hardware.chips import Chip
from verifier.rulebase import Monitor, On, Replayed, Rule, register
from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.checks import Check, Note
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.lanes import LocalTensor
from verifier.symbolic.memory.deciding import USED
from verifier.symbolic.memory.events import Stretch, UndefinedLanes
from verifier.symbolic.memory.known import Known
from verifier.symbolic.regions import exists
from verifier.symbolic.tensors import Loop
from verifier.symbolic.trace import Trace

#: ways to choose iterations of a write that are tried for one read
_WITNESSES: Final = 48


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
    rounds = beginning(trace)
    if rounds is None:
        yield from unclear
        return
    asked = {check.span for check in unclear}
    for check in _Reads(rounds.trace, chip).checks():
        if check.span in asked and check.predicate is not E.TRUE:
            assert check.order is not None
            yield replace(check, order=rounds.origins[check.order].order)
    operations = {op.order: op for op in rounds.origins.values()}
    for check in unclear:
        assert check.order is not None
        among = rounds.among(operations[check.order])
        yield replace(check, predicate=E.or_(check.predicate, among))


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
        self._own: dict[int, list[Check]] = {}
        self._points: dict[int, written.Point | None] = {}

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
        found = [each.defined(known) for each in (one, other)]
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
            return own, []
        chip, table = self.chip, self.table
        spoilers = list(self.spoilt.values())
        threats = list(spoilt.threats(chip, read, point, spoilers, table.writes))
        why = spoilt.why_it_decides(read)
        judged = [self._spoils(read, point, each, why or USED) for each in threats]
        write = spoilt.result(table, read)
        if why or write is None or (clean and not threats):
            return [*own, *judged], []
        formulas = self._defined(read, point, None if clean else _said(own), threats)
        if formulas is not None:
            parts = [spoilt.part_of(chip, read, write, point.element, *each) for each in formulas]
            return [_read_check(read, E.TRUE, exact=True)], parts
        reason = f"what becomes of what is undefined in {words(read.touch.role)} is not followed"
        return _open([*own, *judged], reason), []

    def _point(self, read: Use) -> written.Point | None:
        if id(read) not in self._points:
            point = None
            if not self._leaves(read):
                point = written.point_of(self.chip, read, self.table.writes, self.demands)
            self._points[id(read)] = point
        return self._points[id(read)]

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
            destroyed = spoilt.threats(self.chip, read, point, works, self.table.writes)
            threats = [*threats, *(replace(each, origin=own) for each in destroyed)]
            found[id(own)] = own, [formula]
        if not exact or any(each.open or not each.exact for each in threats):
            return None
        for each in threats:
            if each.origin is not None:
                found.setdefault(id(each.origin), (each.origin, []))[1].append(each.formula)
        out = [(origin, _pruned(E.and_(*parts), point.known)) for origin, parts in found.values()]
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
            yield replace(_read_check(read, E.FALSE, exact=False), reason=reason)
        else:
            yield from _of_read(self.chip, read, self.table, self.known, self.demands)


def _pruned(formula: Bool, known: Known) -> Bool:
    """A formula without what is known to hold, or not to."""
    if known.decide(formula) is True:
        return E.TRUE
    if known.decide(E.not_(formula)) is True:
        return E.FALSE
    if formula.kind is E.BoolKind.AND:
        return E.and_(*(_pruned(part, known) for part in formula.args))
    if formula.kind is E.BoolKind.OR:
        return E.or_(*(_pruned(part, known) for part in formula.args))
    return formula


def _implies(one: Bool, other: Bool) -> bool:
    """Whether one formula holds only where another one does, as far as folding tells."""
    against = E.not_(other)
    if one is other or E.and_(one, against) is E.FALSE:
        return True
    pairs = (one, against), (against, one)
    return any(_pruned(it, Known((given,), ())) is E.FALSE for it, given in pairs)


def _open(checks: list[Check], reason: str) -> list[Check]:
    """What can be proved by these checks, but is not refuted by them."""
    return [
        check if check.predicate is E.TRUE else replace(check, exact=False, reason=reason)
        for check in checks
    ]


def _said(checks: list[Check]) -> Check:
    """What is said of a read of which these do not hold."""
    return next(check for check in checks if check.predicate is not E.TRUE)


def _of_read(
    chip: Chip, read: Use, table: Uses, known: bool, demands: tuple[Bool, ...]
) -> Iterator[Check]:
    partly = covering.leaves_out(chip, read, table.writes) if known else None
    if partly is None:
        found = written.covered(chip, read, table.writes, demands)
    else:  # all places are numbers: this is exact
        found = written.Covered(E.truth(not partly), True)
    source = source_of(chip, read, table.writes, kit.fills_all)
    if partly is None and source is not None:
        held = {id(fact) for fact in (*read.path, *read.within)}
        happened = (fact for fact in source.write.facts if id(fact) not in held)
        reaches = flow.reaches(source.write.use, read)
        found = replace(found, predicate=E.or_(found.predicate, E.and_(reaches, *happened)))
        source = source if reaches is E.TRUE else None
    if found.predicate is E.TRUE:
        yield _read_check(read, E.TRUE, exact=True)
        own = source is not None and source.age == 0 and source.filled is None
        if source is not None and own and not source.write.facts:
            since = source.write.use.order
            yield from _destroyed(chip, read, table, known, source.depth, since)
        else:
            yield from _destroyed(chip, read, table, known)
        return
    predicate, exact = _written(chip, read, table.writes)
    yield _read_check(read, predicate, exact and (known or predicate is E.TRUE))
    if predicate is E.FALSE:
        return
    nowhere = E.not_(predicate) if exact else E.FALSE
    if not exact and known and read.loops:
        predicate, exact = _written(chip, read, table.writes, first=True)
        if exact and predicate is not E.TRUE:
            again = (E.ge(loop.index, 1) for loop in read.loops)
            predicate = E.or_(predicate, *again)
            yield _read_check(read, predicate, exact=True)
            nowhere = E.not_(predicate)  # in the first iteration: of others it says nothing
    if partly:
        yield _left_out(read)
    else:
        part = _covered(chip, read, table.writes) if known and _is_whole(read) else None
        if part is not None:
            yield part
        yield _everywhere(read, found, nowhere, known)
    yield from _destroyed(chip, read, table, known)


def _everywhere(read: Use, found: written.Covered, nowhere: Bool, known: bool) -> Check:
    """Each element of a read was written before; ``nowhere``: none was, which is told."""
    role, where = words(read.touch.role), found.where
    exact = found.exact and known
    return replace(
        _left_out(read),
        predicate=E.or_(found.predicate, nowhere),
        given=(*read.within, *found.given),
        values=()
        if where is None
        else (("a lane that is read", where.lane), ("a byte in it that is read", where.byte)),
        exact=exact,
        reason="" if exact else f"whether all of {role} was written before is not known",
    )


def _destroyed(
    chip: Chip, read: Use, table: Uses, known: bool, depth: int = 0, since: int = -1
) -> Iterator[Check]:
    works = table.destroyed
    for found in destroyed.read_of_destroyed(chip, read, depth, since, works, table.writes):
        yield found if known else replace(found, exact=False)


def _written(
    chip: Chip, read: Use, writes: Sequence[Use], first: bool = False
) -> tuple[Bool, bool]:
    """Whether a write came before and touches what is read: the formula, and if it is exact.

    Of a write in other iterations some are tried: the formula may be too strong then. With
    ``first``, the loops around the read are in their first iteration.
    """
    if not writes:
        return E.FALSE, True
    cases: list[Bool] = []
    exact = True
    for write in reversed(writes):
        if write.operation is read.operation and not write.loops:
            continue
        for condition, sure in _touched(chip, read, write, first):
            if condition is E.TRUE:
                return E.TRUE, True
            cases.append(condition)
            exact = exact and sure
    return E.or_(*cases), exact


def _is_whole(read: Use) -> bool:
    """Whether all of its tensor is read, or all up to the end of it in each lane."""
    return read.part(kit.any_element()) is E.TRUE


def _covered(chip: Chip, read: Use, writes: Sequence[Use]) -> Check | None:
    """Where one write of the same iteration is all that a read is about, it holds all of it."""
    small, end = kit.block(chip, read.tensor), read.end(chip)
    conditions = {id(fact) for fact in read.path} | {id(E.TRUE)}
    write: Use | None = None
    others: list[Use] = []
    again: list[Bool] = []
    for use in reversed(writes):
        common = common_loops(use.loops, read.loops)
        if use.order >= read.order and not common:
            continue
        if use.operation is read.operation:
            again += [E.ge(loop.index, 1) for loop in use.loops]
            continue
        if written.depends(use, use.loops):
            anywhere = flow.anywhere(use, 0)
            if anywhere is None or _meet(chip, anywhere.tensor, read.tensor) is E.FALSE:
                continue
            if len(use.loops) > common:
                return None  # something of it may have been written in other iterations
            again += [E.ge(loop.index, 1) for loop in use.loops if written.depends(use, (loop,))]
        if _meet(chip, use.tensor, read.tensor) is E.FALSE:
            continue
        others.append(use)
        big = kit.block(chip, use.tensor)
        same = use.order < read.order and common == len(use.loops)
        if same and E.le(big.start, small.start) is E.TRUE and big.lane is small.lane:
            write = use if write is None or kit.holds_all(chip, use.tensor, write.tensor) else write
    if write is None or not held(write, E.Substitution({}), conditions):
        return None
    inner = [use for use in others if not kit.holds_all(chip, write.tensor, use.tensor)]
    meets = [_meet(chip, use.tensor, read.tensor) for use in inner]
    big = kit.block(chip, write.taken)
    lanes = E.or_(E.le(small.channels, big.channels), _rounds(chip, write.taken, end))
    whole = E.and_(lanes, E.le(end, big.end))
    there = _meet(chip, write.tensor, read.tensor)
    inside = E.or_(whole, E.not_(there), *meets, *again)
    if inside is E.TRUE:
        return None
    check = _read_check(read, inside, exact=True)
    role = words(read.touch.role)
    wrote = f"`{function(write.operation)}`"
    return replace(
        check,
        text=f"all that {role} of `{function(read.operation)}` reads was written before",
        message=f"{role} of `{function(read.operation)}` reaches beyond what was written there",
        given=(*read.within, *kit.nonempty(read.tensor.shape)),
        values=(
            (f"channels that {wrote} wrote", big.channels),
            ("channels that are read", small.channels),
            (f"bytes in a lane that {wrote} wrote end at", big.end),
            ("bytes in a lane that are read end at", end),
        ),
        notes=(Note(write.span, "what is read was written here"),),
    )


def _left_out(read: Use) -> Check:
    """Some bytes of a read were written, and some certainly were not."""
    text, message = _beyond(words(read.touch.role), function(read.operation))
    return replace(_read_check(read, E.FALSE, exact=True), text=text, message=message)


def _beyond(role: str, name: str) -> tuple[str, str]:
    return (
        f"all that {role} of `{name}` reads was written before",
        f"{role} of `{name}` reaches beyond what was written there",
    )


def _rounds(chip: Chip, wrote: LocalTensor, end: Expr) -> Bool:
    """Whether a write goes round all lanes, and full rounds of it reach up to a byte of each.

    In the last round it may leave lanes out: of several batches each has such a gap then.
    """
    n, channels, h, w = wrote.shape
    rest = E.mod(channels, chip.lanes)
    full = kit.block(chip, replace(wrote, shape=(n, channels - rest, h, w)))
    gapless = E.or_(E.eq(rest, 0), E.le(n, 1))
    return E.and_(E.le(chip.lanes, channels), gapless, E.le(end, full.end))


def _touched(chip: Chip, read: Use, write: Use, first: bool = False) -> Iterator[tuple[Bool, bool]]:
    common = common_loops(write.loops, read.loops)
    if write.order < read.order:
        yield from _chosen(chip, read, write, common, None)
    if first:
        return
    for level in range(common):
        if write.order < read.order and not written.depends(write, write.loops[level:common]):
            continue  # the same iteration does what the earlier one did
        yield from _chosen(chip, read, write, level, read.loops[level])


def _chosen(
    chip: Chip, read: Use, write: Use, kept: int, loop: Loop | None
) -> Iterator[tuple[Bool, bool]]:
    """For iterations of the loops of a write that the read does not share: it touches the read.

    With ``loop``, the first of them is an earlier iteration of it.
    """
    free = list(write.loops[kept:])
    options: list[list[Expr]] = []
    for position, own in enumerate(free):
        if loop is not None and position == 0:
            ago = [own.index - 1, own.index - 2, E.const(0)]
            options.append(ago if written.depends(write, (own,)) else ago[:1])
        elif not written.depends(write, (own,)):
            options.append([E.const(0)])
        else:
            indices = [other.index for other in read.loops[kept:]]
            options.append([*indices, E.const(0), own.trips - 1])
    certain = all(len(values) == 1 for values in options)
    if not certain:
        general = flow.anywhere(write, kept)
        if general is None or _meet(chip, general.tensor, read.tensor) is E.FALSE:
            return  # in no iteration at all
        some = _in_some_iteration(chip, read, write, kept, loop)
        if some is not None:
            yield some, True
            return
    for count, values in enumerate(product(*options)):
        if count >= _WITNESSES:
            return
        put = E.Substitution({own.symbol: value for own, value in zip(free, values, strict=True)})
        facts = [E.lt(values[0], loop.index)] if loop is not None else []
        found = flow.at(write, put, *facts)
        if found is None:
            continue
        meets = _meet(chip, found.tensor, read.tensor)
        kept_facts = (fact for fact in found.facts if fact not in (*read.path, *read.within))
        yield E.and_(meets, *kept_facts), certain


def _in_some_iteration(
    chip: Chip, read: Use, write: Use, kept: int, loop: Loop | None
) -> Bool | None:
    """As :func:`_chosen`, of all iterations together; None: that cannot be said without them."""
    put, loops = flow.fresh(write, kept)
    facts = [E.lt(put.expr(loops[0].index), loop.index)] if loop is not None else []
    found = flow.at(write, put, *facts)
    if found is None:
        return E.FALSE
    known = Known((*read.path, *read.within), read.loops)
    meets = _meet(chip, found.tensor, read.tensor)
    private = flow.extents(put, loops)
    formula, exact = exists(private, [*found.facts, meets], decide=known.decide)
    if not exact or size([formula], LARGEST) > LARGEST:
        return None
    return _pruned(formula, known)


def _meet(chip: Chip, written: LocalTensor, read: LocalTensor) -> Bool:
    if kit.same_place(written, read):
        return E.TRUE
    return E.not_(kit.places_apart(chip, kit.block(chip, written), kit.block(chip, read)))


def _read_check(read: Use, predicate: Bool, exact: bool) -> Check:
    role = words(read.touch.role)
    name = function(read.operation)
    return replace(
        _written_before(role, name, read.span, adds=read.touch.writes),
        predicate=predicate,
        given=() if predicate is E.TRUE else (*read.within, *kit.nonempty(read.tensor.shape)),
        values=((f"{role} address", read.tensor.address),),
        exact=exact,
        reason="" if exact else "in which iteration it was written is not known exactly",
        path=read.path,
        order=read.order,
    )


def _written_before(role: str, name: str, span: Span, adds: bool, spoiled: bool = False) -> Check:
    """What a function reads in local memory was written; ``spoiled``: but not left as it was."""
    message = f"{role} of `{name}` is read, but nothing has written there before"
    if adds:
        message = f"`{name}` adds to {role}, which nothing has written before"
    if spoiled:
        message += " since a function had it as its work tensor"
    return Check(
        predicate=E.FALSE,
        span=span,
        text=f"what {role} of `{name}` reads was written before",
        message=message,
        facts=("OKK-P08", "OKK-Q06") if adds else ("ADR-07",),
        help=("local memory holds whatever was there before: load or compute it first",),
    )


def undefined_lanes(event: UndefinedLanes, chip: Chip) -> Iterator[Check]:
    """Something in a run of a kernel hangs on what nothing wrote."""
    operation, role = event.operation, event.role
    adds = any(touch.role == role and touch.writes for touch in operation.touches)
    span = kit.span_of(operation, role)
    found = _written_before(words(role), function(operation), span, adds, event.spoiled)
    if event.partly:
        text, message = _beyond(words(role), function(operation))
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
