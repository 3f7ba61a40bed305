"""What is live on the chip at once: bytes of SBUF, banks of PSUM."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from heapq import heappop, heappush
from math import prod

from msgspec import Struct
from msgspec.structs import replace

from rules.memory import examples
from rules.memory.formulas import pinned
from rules.memory.meetings import Meeting, chosen, meetings
from verifier.hardware.memories import Buffer
from verifier.hardware.targets import Target
from verifier.rulebase import Monitor, On, Replayed, Rule, Shown, register
from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.checks import Check, Note
from verifier.symbolic.expr import Atom, Bool, Expr
from verifier.symbolic.memory.events import LaneLife, Lived
from verifier.symbolic.memory.index import Index, index
from verifier.symbolic.memory.lifetime import Lifetime
from verifier.symbolic.memory.lives import lifetimes
from verifier.symbolic.memory.sizes import banks
from verifier.symbolic.tensors import Loop, LoopKind, Storage
from verifier.symbolic.trace import Trace
from verifier.symbolic.views.common import conjuncts

#: shown in a breakdown
_LARGEST = 3
#: stands for a symbol of unknown size when peaks are compared with each other
_TYPICAL = 1 << 16
#: peaks that are reported each on its own; the others together
_SEPARATE = 3


def _guess(term: Expr) -> int:
    """The value for large inputs, for choosing what to show."""
    values: dict[str, int | bool] = {}
    for sym in term.free():
        low, high = sym.lo or 0, sym.hi
        values[sym.name] = max(low, _TYPICAL if high is None else min(high, _TYPICAL))
    for name in _flags(term):
        values[name] = True
    try:
        return int(E.evaluate(term, values))
    except E.EvaluationError:
        return 0


def _flags(term: Expr) -> set[str]:
    """The truth-valued variables inside conditional sizes."""
    out: set[str] = set()
    seen: set[Atom] = set()  # sizes share their parts: a walk of the tree could take for ever
    stack = [term]
    while stack:
        for atom in stack.pop().atoms():
            if isinstance(atom, E.Ite) and atom not in seen:
                seen.add(atom)
                out.update(atom.test.variables())
                stack += (atom.then, atom.other)
    return out


class Limit(Struct, frozen=True):
    """A capacity: how much of it a tensor takes, how much there is, and how to speak of it."""

    size: Callable[[Storage], Expr]
    most: int
    unit: str
    place: str
    fact: str
    help: str
    #: what is settled before the sizes are compared, beyond what asserts pin
    settled: E.Substitution | None = None
    note: str = ""
    #: one check that all peaks fit, at the largest
    together: bool = False


class _Peak(Struct, frozen=True):
    """Lifetimes that meet, what they take together, and when they do.

    ``path``: the conditions under which all of them are there.
    """

    live: list[Lifetime]
    total: Expr
    path: tuple[Bool, ...]
    again: Bool
    #: what each takes, where it is there
    sizes: list[Expr]
    #: how many tensors each stands for
    counts: list[Expr]
    #: the iterations that make these tensors
    within: tuple[Bool, ...]
    exact: bool

    @property
    def there(self) -> Bool:
        return E.and_(*self.path, *self.within)

    def fits(self, most: int) -> Bool:
        return E.or_(E.not_(self.again), E.le(self.total, most))


def _sums(table: Index, lives: list[Lifetime], limit: Limit, fixed: E.Substitution) -> list[_Peak]:
    """What each peak takes, the largest first, and when it is one.

    Where it is not known how long some tensors live, there is one for the others, too.
    """
    found: list[_Peak] = []
    for meeting in meetings(table, lives):
        sure = meeting.certain
        for part in (meeting, sure) if 0 < len(sure.live) < len(meeting.live) else (meeting,):
            found.append(_peak(part, len(part.live) == len(sure.live), limit, fixed))
    found.sort(key=lambda peak: -_guess(peak.total))
    return found


def _peak(meeting: Meeting, exact: bool, limit: Limit, fixed: E.Substitution) -> _Peak:
    live = meeting.live
    when = [
        (*map(chosen(life).bool, life.path), *conjuncts(held))
        for life, held in zip(live, meeting.held, strict=True)
    ]
    path = tuple(c for c in when[0] if c is not E.TRUE and all(c in each for each in when))
    within = [loop.within for loop in meeting.loops]
    parts: list[tuple[Bool, Expr, Expr]] = []
    for life, conditions in zip(live, when, strict=True):
        put = chosen(life)
        each, copies = put.expr(limit.size(life.storage)), put.expr(life.copies)
        # a tensor of one branch is there if that is taken, one of some trip if there is that trip
        there = E.and_(
            *(c for c in conditions if c not in path),
            *_trips_there(life, put, (each, copies, E.and_(*conditions)), meeting.loops),
            *(put.bool(other) for each in live for other in _others(life, each)),
        )
        parts.append((there, each, copies))
        # tensors of several iterations may differ in size
        several = {t.loop.symbol for t in life.together if not life.touches}
        exact = exact and several.isdisjoint(limit.size(life.storage).free())
    sizes: list[Expr] = []
    counts: list[Expr] = []
    for life, (there, each, copies) in zip(live, parts, strict=True):
        named = [
            E.ite(is_there, number, 0)
            for other, (is_there, _, number) in zip(live, parts, strict=True)
            if other.storage is life.storage and other.names_iterations
        ]
        if named and life.together and not life.names_iterations:
            copies = E.minimum(copies, _made(life.storage) - sum(named, E.const(0)))
        sizes.append(fixed.expr(E.ite(there, each * copies, 0)))
        counts.append(fixed.expr(copies))
    total = sum(sizes, E.const(0))
    given = tuple(fixed.bool(condition) for condition in within)
    return _Peak(live, total, path, fixed.bool(meeting.again), sizes, counts, given, exact)


def _made(storage: Storage) -> Expr:
    """How many tensors the loops around an allocation make."""
    trips = (loop.trips for loop in storage.loops if loop.kind is not LoopKind.GRID)
    return prod(trips, start=E.const(1))


def _trips_there(
    life: Lifetime, put: E.Substitution, terms: Sequence[Expr | Bool], loops: Sequence[Loop]
) -> Iterator[Bool]:
    """That there are the iterations, besides those that go on there, that a tensor is of.

    Where a loop does not run at all, none of its tensors are counted.
    """
    free = {symbol for term in terms for symbol in term.free()}
    for position, loop in enumerate(life.storage.loops):
        trip = put.expr(loop.index)
        if loop.kind is LoopKind.GRID or (loop in loops and trip is loop.index):
            continue
        named = bool(life.named) and life.named[position] is not None
        if named or not free.isdisjoint(trip.free()):
            yield put.bool(loop.within)


def _others(life: Lifetime, named: Lifetime) -> Iterator[Bool]:
    """When the tensor of any iteration is none that is named besides; of several, see ``_peak``."""
    if life.storage is named.storage and life is not named and not life.together:
        pairs = zip(life.storage.loops, life.named, named.named, strict=True)
        numbers = [(loop, n) for loop, own, n in pairs if own is None and n is not None]
        if numbers:
            yield E.or_(*(E.ne(loop.index, number) for loop, number in numbers))


def totals(trace: Trace, buffer: Buffer, limit: Limit) -> list[Expr]:
    """What each peak of live tensors takes of a capacity, the largest first."""
    table = index(trace)
    fixed = pinned(trace) if limit.settled is None else limit.settled
    return [peak.total for peak in _sums(table, lifetimes(table, buffer), limit, fixed)]


def peak_checks(trace: Trace, buffer: Buffer, limit: Limit) -> Iterator[Check]:
    """A check for each of the highest peaks, given that the ones before fit, and one for the rest.

    Without a peak that may be too high there is one check, which holds.
    """
    table = index(trace)
    lives = lifetimes(table, buffer)
    if not lives:
        return
    fixed = pinned(trace) if limit.settled is None else limit.settled
    sums = _sums(table, lives, limit, fixed)
    open_ = [peak for peak in sums if peak.fits(limit.most) is not E.TRUE]
    if not open_:
        yield _peak_check(sums[0], E.TRUE, (), limit)
    if limit.together and open_:
        yield _all_fit(open_, (), limit)
        return
    fitting: list[Bool] = []
    separate = _SEPARATE if len(open_) > _SEPARATE + 1 else len(open_)
    for peak in open_[:separate]:
        yield _peak_check(peak, peak.fits(limit.most), tuple(fitting), limit)
        fitting.append(E.implies(peak.there, peak.fits(limit.most)))
    if len(open_) > separate:
        yield _all_fit(open_[separate:], tuple(fitting), limit)


def _all_fit(peaks: list[_Peak], given: tuple[Bool, ...], limit: Limit) -> Check:
    """One check that all of several peaks fit, where they are."""
    each = [E.implies(peak.there, peak.fits(limit.most)) for peak in peaks]
    exact = all(peak.exact for peak in peaks)
    largest = replace(peaks[0], within=(), path=(), exact=exact)
    told = (_peak_check(p, fits, (), limit) for p, fits in zip(peaks, each, strict=True))
    return replace(_peak_check(largest, E.and_(*each), given, limit), told=tuple(told))


def _peak_check(peak: _Peak, predicate: Bool, given: tuple[Bool, ...], limit: Limit) -> Check:
    last = max(peak.live, key=lambda life: life.start)
    parts = [
        _Part(
            life.storage.name,
            life.storage.span,
            size,
            life is last,
            count,
        )
        for life, size, count in zip(peak.live, peak.sizes, peak.counts, strict=True)
    ]
    return replace(
        _fits(parts, peak.total, limit),
        predicate=predicate,
        given=(*given, *peak.within),
        path=peak.path,
        order=last.storage.order,
        exact=peak.exact,
        reason="" if peak.exact else "how long the tiles live is not followed exactly",
    )


class _Part(Struct, frozen=True):
    """Tensors of one site that are live, what they take together, and how many they are.

    ``last``: one of them began to live last of all.
    """

    name: str
    span: Span
    size: Expr
    last: bool
    count: Expr


def _fits(parts: Sequence[_Part], total: Expr, limit: Limit) -> Check:
    """What is live at once fits."""
    ordered = sorted(parts, key=lambda part: -_guess(part.size))
    shown = ordered[:_LARGEST]
    one = len(ordered) == 1
    count = sum((part.count for part in parts), E.const(0))
    many = f"{count.const} " if count.is_const else ""
    of_one = f"of `{ordered[0].name}` " if one else ""
    who = f"the {many}tiles {of_one}live at once take"
    if one and count is E.const(1):
        who = f"`{ordered[0].name}` takes"
    unit = limit.unit.split()[0]
    values = [(f"live {limit.unit}", total)]
    if not one:
        values += [(f"{unit} of {part.name}", part.size) for part in shown]
    return Check(
        predicate=E.le(total, limit.most),
        span=next(part.span for part in parts if part.last),
        text=f"live {limit.unit} <= {limit.most}",
        message=f"{who} more than the {limit.most} {limit.unit} of {limit.place}{limit.note}",
        facts=(limit.fact,),
        values=tuple(dict(values).items()),
        notes=tuple(
            Note(part.span, f"`{part.name}` is live here too") for part in shown if not part.last
        ),
        help=(limit.help,),
    )


def first_excess(lives: Iterable[LaneLife], limit: Limit) -> Iterator[Check]:
    """The first moment of a run at which what is live does not fit."""
    ends: list[tuple[int, int, LaneLife]] = []
    total = 0
    for number, life in enumerate(sorted(lives, key=lambda life: life.first)):
        while ends and ends[0][0] < life.first:
            total -= heappop(ends)[2].size
        heappush(ends, (life.last, number, life))
        total += life.size
        if total > limit.most:
            sites: dict[tuple[str, Span], list[LaneLife]] = {}
            for _, _, each in sorted(ends, key=lambda end: end[1]):
                sites.setdefault((each.name, each.span), []).append(each)
            parts = [
                _Part(
                    name,
                    span,
                    E.const(sum(each.size for each in lives_of)),
                    life in lives_of,
                    E.const(len(lives_of)),
                )
                for (name, span), lives_of in sites.items()
            ]
            yield _fits(parts, E.const(total), limit)
            return


def _lived(event: Lived, buffer: Buffer, limit: Limit) -> Iterator[Check]:
    """As :func:`peak_checks`, of the tensors of a run that the compiler places."""
    sizes: dict[int, int] = {}
    lives: list[LaneLife] = []
    for life in event.lives:
        storage = life.storage
        if (
            storage.buffer is not buffer
            or storage.address is not None
            or storage.placed
            or storage.marks
        ):
            continue
        if id(storage) not in sizes:
            sizes[id(storage)] = limit.size(storage).const
        size = sizes[id(storage)]
        lives.append(LaneLife(life.name, life.span, life.first, life.last, size))
    yield from first_excess(lives, limit)


def _sbuf(target: Target) -> Limit:
    return Limit(
        lambda storage: storage.bytes_per_partition,
        target.sbuf_usable_bytes,
        "bytes per partition",
        "SBUF",
        "NKI-B03",
        "tile the free dimension, or let tiles end their lives earlier",
    )


def sbuf_capacity(trace: Trace, target: Target) -> Iterable[Check]:
    """The peak of live bytes per partition fits into SBUF."""
    yield from peak_checks(trace, Buffer.SBUF, _sbuf(target))


def _psum(target: Target) -> Limit:
    return Limit(
        lambda storage: banks(storage, target),
        target.psum_banks,
        "banks",
        "PSUM",
        "NKI-B24",
        "copy results to SBUF before starting the next sums",
    )


def psum_banks(trace: Trace, target: Target) -> Iterable[Check]:
    """The peak of live PSUM banks fits, where tiles live as the text says."""
    if not trace.generation.fuses_loops:
        yield from peak_checks(trace, Buffer.PSUM, _psum(target))


def _sbuf_lived(event: Lived, target: Target) -> Iterable[Check]:
    return _lived(event, Buffer.SBUF, _sbuf(target))


def _psum_lived(event: Lived, target: Target) -> Iterable[Check]:
    fused = event.generation.fuses_loops
    return () if fused else _lived(event, Buffer.PSUM, _psum(target))


register(
    Rule(
        id="sbuf-capacity",
        gather=True,
        code="MEM306",
        family="memory",
        summary="the tiles that are live at once fit into SBUF",
        reason=(
            "When the live tiles exceed a partition's bytes, the compiler spills them to device "
            "memory and back, or gives up. Of each partition 16 KiB are counted as the compiler's "
            "own: that is documented for trn1 and assumed for later targets."
        ),
        facts=("NKI-B03", "NKI-H05"),
        on=On.TRACE,
        check=sbuf_capacity,
        severity="warning",
        monitors=(Monitor(Lived, _sbuf_lived),),
        replayed=Replayed(Shown.AT_THE_END),
        failing=examples.CAPACITY_FAILING,
        passing=examples.CAPACITY_PASSING,
    )
)

register(
    Rule(
        id="psum-banks",
        gather=True,
        code="MEM307",
        family="memory",
        summary="no more PSUM banks are live at once than there are",
        reason=(
            "A partition has few PSUM banks, and a matmul's result occupies a whole one. Unlike "
            "SBUF, PSUM is not spilled."
        ),
        facts=("NKI-B24",),
        on=On.TRACE,
        check=psum_banks,
        monitors=(Monitor(Lived, _psum_lived),),
        replayed=Replayed(Shown.AT_THE_END),
        failing=examples.BANKS_FAILING,
        passing=examples.BANKS_PASSING,
    )
)
