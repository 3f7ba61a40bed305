"""The order of execution: parallel sections, and waiting for the end."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from rules.memory.cases import common_loops
from rules.tpu import flow, kit
from rules.tpu.examples import pair
from rules.tpu.flow import Section, Use, in_order, sections
from rules.tpu.kit import function, words
from verifier.dialects.names import OKK
from verifier.hardware.chips import Chip
from verifier.hardware.engines import Engine
from verifier.rulebase import Monitor, On, Rule, register
from verifier.symbolic import expr as E
from verifier.symbolic.checks import Check, Note
from verifier.symbolic.expr import Bool
from verifier.symbolic.instruction import Trait
from verifier.symbolic.memory.events import Issued, Marked, Stretch
from verifier.symbolic.memory.lives import exclusive
from verifier.symbolic.regions import exists
from verifier.symbolic.tensors import Loop
from verifier.symbolic.trace import Operation, Trace

#: what begins, ends and waits for a parallel section
_MARKS = frozenset({Trait.STARTS_PARALLEL, Trait.ENDS_PARALLEL, Trait.POLLS})


# ----------------------------------------------------------------------------- races


def races(trace: Trace, chip: Chip) -> Iterable[Check]:
    """Per section and pair of a transfer and a computation: no memory in common that is written."""
    yield from _races(trace, chip)


def races_in_run(event: Stretch, chip: Chip) -> Iterator[Check]:
    """As :func:`races`, of what a run has added to its sections."""
    trace = event.trace
    if event.cut:
        trace = replace(trace, operations=flow.from_whole_sections(trace))
    for check in _races(trace, chip, event.since):
        if check.predicate is not E.TRUE:
            yield check


def _races(trace: Trace, chip: Chip, since: int | None = None) -> Iterator[Check]:
    """``since``: only with operations from this order on."""
    for section in sections(trace):
        everything = section.all()
        transfers = [item for item in everything if item[0].engine is Engine.GDMA]
        computations = [item for item in everything if item[0].engine is Engine.BDC]
        for one, shifted in transfers:
            for other, moved in computations:
                if since is not None and max(one.order, other.order) < since:
                    continue
                if shifted != moved or not exclusive(one.path, other.path):
                    yield from _race(chip, section, one, other, shifted, moved)


def _race(
    chip: Chip,
    section: Section,
    one: Operation,
    other: Operation,
    one_later: bool,
    other_later: bool,
) -> Iterator[Check]:
    for touch, tensor in kit.local(one):
        for with_, theirs in kit.local(other):
            if not (touch.writes or with_.writes):
                continue
            mine_at = section.instance(Use(one, touch, tensor), one_later, rename=False)
            moved = section.instance(Use(other, with_, theirs), other_later, rename=True)
            if mine_at is None or moved is None:
                continue
            mine = mine_at.tensor
            disjoint, ranges = kit.apart(chip, mine, moved.tensor)
            a, b = words(touch.role), words(with_.role)
            later = one.order > other.order
            at, role = (one, touch.role) if later else (other, with_.role)
            near, away = (other, with_.role) if later else (one, touch.role)
            yield Check(
                predicate=disjoint,
                span=kit.span_of(at, role),
                text=f"{a} of `{function(one)}` and {b} of `{function(other)}` share no memory",
                message=(
                    f"a race: `{function(one)}` {_does(touch.writes)} what `{function(other)}` "
                    f"{_does(with_.writes)} in the same parallel section"
                ),
                facts=("OKK-X05", "OKK-X07"),
                given=()
                if disjoint is E.TRUE
                else (*ranges, *mine_at.facts, *moved.facts, *flow.within(section.start.loops)),
                values=(
                    (f"{a} address", mine.address),
                    (f"bytes per lane of {a}", kit.block(chip, mine).length),
                    (f"{b} address", moved.tensor.address),
                    (f"bytes per lane of {b}", kit.block(chip, moved.tensor).length),
                ),
                notes=(
                    Note(kit.span_of(near, away), "the other one"),
                    Note(section.start.span, "the section starts here"),
                ),
                help=(
                    "transfers and computations of a section run side by side: use other buffers, "
                    "or end the section between them",
                ),
                path=section.start.path,
                order=max(one.order, other.order),
            )


def _does(writes: bool) -> str:
    return "writes" if writes else "reads"


_RACE = pair(
    "halves",
    "rows: int, x: okk.SystemAddr, y: okk.SystemAddr",
    """\
assert 1 <= rows <= 400
okk.initialize()
shape = okk.dim4(1, 24, rows, 4)
size = okk.aligned_stride_32bit(0, shape).n * 4
half = 24 * rows * 4 * 4
okk.gdma_32bit_cpy_S2L(0, x, shape, None, None)
with okk.parallel():
    okk.gdma_32bit_cpy_S2L(@@, x + half, shape, None, None)
    okk.bdc_relu(2 * size, 0, shape, None, None)
okk.gdma_32bit_cpy_L2S(y, 2 * size, shape, None, None)
okk.bdc_relu(3 * size, @@, shape, None, None)
okk.gdma_32bit_cpy_L2S(y + half, 3 * size, shape, None, None)
okk.poll()
""",
    "size // 2",
    "size",
)

register(
    Rule(
        id="okk-parallel-race",
        code="OKK311",
        family=OKK,
        summary="transfers and computations of a parallel section share no memory that is written",
        silent=True,
        reason=(
            "Between parallel_start and parallel_end transfers run in their order and "
            "computations in theirs, but nothing orders the one with respect to the other. A "
            "tensor that one of them writes while the other touches it has a random value. "
            "The usual ping-pong works on two buffers in turn."
        ),
        facts=("OKK-X05", "OKK-X06", "OKK-X07", "OKK-X04"),
        on=On.TRACE,
        check=races,
        monitors=(Monitor(Stretch, races_in_run),),
        dialects=(OKK,),
        sources=("OKKernel manual, programming_device",),
        failing=_RACE[0],
        passing=_RACE[1],
    )
)

# ----------------------------------------------------------------------------- nesting


def nesting(trace: Trace, chip: Chip) -> Iterable[Check]:
    """Per start, end and poll: the parallel mode is as it must be."""
    marks = [op for op in in_order(trace) if not _MARKS.isdisjoint(op.traits)]
    mode = _Mode()
    active = mode.walk(marks, 0, E.FALSE, tell=True)
    yield from mode.checks
    if active is not E.FALSE and mode.opened is not None:
        yield _goes_on(mode.opened, active, mode.stable, marks[-1].order)


def marked(event: Marked, chip: Chip) -> Iterator[Check]:
    """As :func:`nesting`, of a call of a run."""
    mode = _Mode()
    mode.opened = event.section
    mode.walk([event.operation], 0, E.truth(event.section is not None), tell=True)
    yield from mode.checks


def left_open(event: Issued, chip: Chip) -> Iterator[Check]:
    """The parallel section that a run has begun has ended with it."""
    if event.section is not None:
        last = event.last or event.section
        yield _goes_on(event.section, E.TRUE, True, last.order)


def _goes_on(opened: Operation, active: Bool, stable: bool, order: int) -> Check:
    return Check(
        predicate=E.not_(active),
        span=opened.span,
        text="the parallel section ends",
        message="this parallel section never ends",
        facts=("OKK-X03",),
        help=("a section is `with okk.parallel():`, which always ends",),
        exact=stable,
        reason="" if stable else _UNSTABLE,
        path=(),
        order=order,
    )


_UNSTABLE = "whether parallel mode is active depends on several iterations"


class _Mode:
    """Whether parallel mode is active, through loops in which it is carried on."""

    def __init__(self) -> None:
        self.checks: list[Check] = []
        self.opened: Operation | None = None
        self.stable = True

    def walk(self, marks: list[Operation], depth: int, active: Bool, tell: bool) -> Bool:
        """The mode behind some operations of one iteration of the outermost ``depth`` loops."""
        position = 0
        while position < len(marks):
            op = marks[position]
            if len(op.loops) == depth:
                active = self._step(op, active, tell)
                position += 1
                continue
            loop = op.loops[depth]
            end = position
            while end < len(marks) and marks[end].loops[depth : depth + 1] == (loop,):
                end += 1
            active = self._loop(loop, marks[position:end], depth, active, tell)
            position = end
        return active

    def _loop(
        self, loop: Loop, marks: list[Operation], depth: int, active: Bool, tell: bool
    ) -> Bool:
        behind = self.walk(marks, depth + 1, active, tell=False)
        if behind is active:
            return self.walk(marks, depth + 1, active, tell)
        before = E.Substitution({loop.symbol: loop.index - 1}).bool(behind)
        entry = E.or_(E.and_(E.eq(loop.index, 0), active), E.and_(E.ge(loop.index, 1), before))
        if self.walk(marks, depth + 1, entry, tell) is not behind:
            self.stable = False
        last = E.Substitution({loop.symbol: loop.trips - 1}).bool(behind)
        return E.or_(E.and_(E.le(loop.trips, 0), active), E.and_(E.ge(loop.trips, 1), last))

    def _step(self, op: Operation, active: Bool, tell: bool) -> Bool:
        here = E.and_(*op.path)
        if tell:
            self._tell(op, active)
        if Trait.STARTS_PARALLEL in op.traits:
            self.opened = op
            return E.or_(active, here)
        ends = Trait.ENDS_PARALLEL in op.traits
        return E.and_(active, E.not_(here)) if ends else active

    def _tell(self, op: Operation, active: Bool) -> None:
        name = function(op)
        ends = Trait.ENDS_PARALLEL in op.traits
        notes = (Note(self.opened.span, "it was started here"),) if self.opened else ()
        self.checks.append(
            Check(
                predicate=active if ends else E.not_(active),
                span=op.span,
                text=f"parallel mode is {'active' if ends else 'not active'} at `{name}`",
                message=f"`{name}` while parallel mode is {'not ' if ends else ''}active",
                facts=("OKK-X03",),
                given=flow.within(op.loops),
                notes=() if ends else notes,
                help=("a section is `with okk.parallel():`, which always ends",),
                exact=self.stable,
                reason="" if self.stable else _UNSTABLE,
                path=op.path,
                order=op.order,
            )
        )


_NESTING = pair(
    "filled",
    "y: okk.SystemAddr",
    """\
okk.initialize()
shape = okk.dim4(1, 8, 9, 11)
okk.parallel_start()
okk.gdma_32bit_set_C_system(y, okk.x32.fp32(0.5), shape, None)
@@
""",
    "okk.poll()",
    "okk.parallel_end()\nokk.poll()",
)

register(
    Rule(
        id="okk-parallel-nesting",
        code="OKK312",
        family=OKK,
        summary="parallel sections are not nested, they end, and no poll stands in one",
        reason=(
            "poll and parallel_start are for the sequential mode only, parallel_end for the "
            "parallel one. The chip stops where it is told otherwise."
        ),
        facts=("OKK-X03",),
        on=On.TRACE,
        check=nesting,
        monitors=(Monitor(Marked, marked), Monitor(Issued, left_open)),
        dialects=(OKK,),
        sources=("OKKernel manual, common",),
        failing=_NESTING[0],
        passing=_NESTING[1],
    )
)

# ----------------------------------------------------------------------------- beginning, end


def _works(op: Operation) -> bool:
    return kit.transfers(op) or kit.computes(op)


def begins_and_ends(trace: Trace, chip: Chip) -> Iterable[Check]:
    """Everything stands behind an ``initialize`` and before a ``poll``."""
    ops = in_order(trace)
    work = [op for op in ops if _works(op)]
    if not work:
        return
    first, last = work[0], work[-1]
    starts = [op for op in ops if Trait.INITIALISES in op.traits]
    yield _begins(first, *_certain(starts, first, later=False))
    if trace.dies:  # a path that an error of Python's ends comes to no poll
        return
    told: set[tuple[int, ...]] = set()
    for op in reversed(work):
        key = tuple(map(id, op.path))
        if key in told:
            continue
        told.add(key)
        polls = [other for other in ops if Trait.POLLS in other.traits]
        yield _ends(op, *_certain(polls, op, later=True), last)


def begun_and_ended(event: Issued, chip: Chip) -> Iterator[Check]:
    """As :func:`begins_and_ends`, of a run."""
    if event.first is not None and event.last is not None:
        yield _begins(event.first, E.truth(event.prepared), True)
        yield _ends(event.last, E.truth(event.awaited), True, event.last)


def _begins(first: Operation, holds: Bool, exact: bool) -> Check:
    return Check(
        predicate=holds,
        span=first.span,
        text="`initialize` comes first",
        message=f"`{function(first)}` before `initialize`",
        facts=("OKK-X01",),
        given=flow.within(first.loops),
        help=("call okk.initialize() at the beginning of the kernel",),
        exact=exact,
        reason="" if exact else "in which rounds `initialize` is called is too irregular",
        path=first.path,
        order=first.order,
    )


def _ends(op: Operation, holds: Bool, exact: bool, last: Operation) -> Check:
    return Check(
        predicate=holds,
        span=op.span,
        text=f"`poll` comes after the last operation, `{function(op)}`",
        message=f"the kernel ends without waiting for `{function(op)}`",
        facts=("OKK-X02",),
        given=flow.within(op.loops),
        help=("call okk.poll() at the end of every path through the kernel",),
        exact=exact,
        reason="" if exact else "in which rounds `poll` is called is too irregular",
        path=op.path,
        order=last.order + 1,
    )


def _certain(candidates: list[Operation], op: Operation, *, later: bool) -> tuple[Bool, bool]:
    """Whether one of some operations happens behind (or else before) ``op`` wherever that does,
    in its own round or in another one, and exactness."""
    cases: list[Bool] = []
    exact = True
    for other in candidates:
        common = common_loops(op.loops, other.loops)
        own_round = other.order > op.order if later else other.order < op.order
        for level in range(common + own_round):
            found, known = _in_rounds(other, op, level, level < common, later)
            cases.append(found)
            exact = exact and known
    holds = E.or_(*cases)
    return holds, exact or holds is E.TRUE


def _in_rounds(
    other: Operation, op: Operation, level: int, apart: bool, later: bool
) -> tuple[Bool, bool]:
    """When an operation happens in some round that has the indices of ``op`` in the loops outside
    of ``level`` and, if ``apart``, a later (or earlier) one in that loop; exactness."""
    moved, loops = flow.fresh(other, level)
    held = {id(fact) for fact in op.path}
    facts = [moved.bool(fact) for fact in other.path]
    facts = [fact for fact in facts if id(fact) not in held]
    if apart:
        here = op.loops[level].index
        there = moved.expr(here)
        facts.append(E.lt(here, there) if later else E.lt(there, here))
    return exists(flow.extents(moved, loops), facts)


_POLLED = pair(
    "copied",
    "x: okk.SystemAddr, y: okk.SystemAddr",
    """\
okk.initialize()
shape = okk.dim4(2, 3, 5, 7)
okk.gdma_32bit_cpy_S2S(y, x, shape, None, None)
@@
""",
    "return",
    "okk.poll()",
)

register(
    Rule(
        id="okk-missing-poll",
        code="OKK313",
        family=OKK,
        summary="a kernel initializes first and polls last",
        reason=(
            "Functions only issue instructions. Without poll the kernel reports its end while "
            "they are still running, and the host reads results that are not there yet; without "
            "initialize the device is in the state that the kernel before left."
        ),
        facts=("OKK-X01", "OKK-X02"),
        on=On.TRACE,
        check=begins_and_ends,
        monitors=(Monitor(Issued, begun_and_ended),),
        silent=True,
        dialects=(OKK,),
        sources=("OKKernel manual, common",),
        failing=_POLLED[0],
        passing=_POLLED[1],
    )
)
