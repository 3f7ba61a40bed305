"""Local memory over time: what is still needed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby

from msgspec import Struct
from msgspec.structs import replace

from rules.memory.cases import common_loops
from rules.tpu import flow, kit
from rules.tpu.beginnings import Beginning, beginning
from rules.tpu.crossed import are_of_one_input, crossed
from rules.tpu.examples import pair
from rules.tpu.flow import Instance, Use, Uses
from rules.tpu.kit import function, words
from rules.tpu.runs import is_block
from rules.tpu.sources import Source, possible, source_of
from verifier.dialects.names import OKK
from verifier.hardware.chips import Chip
from verifier.rulebase import Monitor, On, Replayed, Rule, register
from verifier.symbolic import expr as E
from verifier.symbolic.checks import Check, Note
from verifier.symbolic.expr import Bool
from verifier.symbolic.lanes import LocalTensor
from verifier.symbolic.memory.events import Stretch
from verifier.symbolic.memory.known import Known
from verifier.symbolic.trace import Operation, Trace


def _between(
    read: Use, source: Source, writes: Sequence[Use], sections: Mapping[int, int]
) -> Iterator[Instance]:
    """The writes that come between a read and the one that it is about.

    A transfer and a computation of one parallel section have no order: a rule of its own.
    """
    origin = source.write.use
    depth = source.depth
    for write in writes:
        if common_loops(write.loops, read.loops) < depth:
            continue
        races = _races(write, read, sections)
        if source.filled is not None and source.filled in write.loops:
            inner, _ = flow.fresh(write, depth)
            index, mine = inner.expr(source.filled.index), source.index
            assert mine is not None
            later = E.ge(index, mine) if write.order > origin.order else E.gt(index, mine)
            after = flow.at(write, inner, later)
            if after is not None:
                yield after
            continue
        if source.age == 0:
            if write.order > origin.order and not races:
                yield from flow.earlier(write, read, depth)
            continue
        if not races:
            yield from flow.earlier(write, read, depth)
        for age in range(1, source.age + 1):
            if age == source.age and write.order <= origin.order:
                continue
            inner, _ = flow.fresh(write, depth)
            found = flow.at(write, inner)
            if found is not None:
                back = flow.back(read.loops, depth - 1, age)
                facts = tuple(back.bool(fact) for fact in found.facts)
                index = read.loops[depth - 1].index
                facts = (*facts, E.ge(index, age))
                if not any(fact is E.FALSE for fact in facts):
                    yield Instance(write, found.tensor.at(back), facts)


def _contains(chip: Chip, outer: LocalTensor, inner: LocalTensor) -> Bool:
    """Whether the place of one tensor contains that of another, in each lane of it."""
    big, small = kit.block(chip, outer), kit.block(chip, inner)
    here = E.and_(E.le(big.start, small.start), E.le(small.end, big.end))
    together = E.eq(big.lane, small.lane)
    ends = E.le(small.address + small.length, big.address + big.length)
    plain = E.and_(E.le(big.address, small.address), ends)
    same = E.and_(together, E.le(small.channels, big.channels), plain)
    within = E.and_(
        E.le(big.lane, small.lane),
        E.le(small.lanes_end, big.lanes_end),
        E.le(big.lanes_end, chip.lanes),
    )
    return E.or_(same, E.and_(here, E.or_(within, E.le(chip.lanes, big.channels))))


def _replaces(chip: Chip, write: LocalTensor, read: LocalTensor) -> Bool:
    """Whether a tensor takes the place of another as a whole, from its lane on or all around it."""
    same = E.eq(kit.block(chip, write).lane, kit.block(chip, read).lane)
    return E.or_(E.and_(same, _contains(chip, write, read)), kit.holds(chip, write, read))


def live_overlap(trace: Trace, chip: Chip) -> Iterable[Check]:
    """Per read and write in between: no write reaches over the edge of what is still to be read,
    and none is for another operand of the function that reads.

    Where it is not clear in each iteration which write a read is about, the first iterations are
    gone through one by one, and in the others no write before may reach over an edge.
    """
    unclear: dict[tuple[int, str], list[_Unclear]] = {}
    yield from _overlaps(trace, chip, unclear=unclear)
    yield from crossed(trace, chip)
    if not unclear:
        return
    rounds = beginning(trace)
    plain = set() if rounds is None else set(unclear) - _lost(rounds)
    if rounds is not None and plain:
        yield from _in_rounds(rounds, chip, plain)
    for key, each in ((key, each) for key, found in unclear.items() for each in found):
        check = each.check
        gone = rounds if key in plain else None
        among = gone.among(each.read.operation) if gone is not None else E.FALSE
        predicate = E.or_(check.predicate, among)
        if predicate is not E.TRUE:
            yield replace(check, predicate=predicate)


class _Unclear(Struct, frozen=True):
    """A read of which it is not clear which write it is about, and that a write leaves it alone."""

    read: Use
    check: Check


def _lost(rounds: Beginning) -> set[tuple[int, str]]:
    """The reads of which it is not known in the first rounds either where they are."""
    return {
        (id(rounds.origins[read.order]), read.touch.role)
        for read in flow.uses(rounds.trace).reads
        if any(
            isinstance(symbol, E.Sym) and symbol.origin in E.OPEN
            for symbol in read.tensor.address.free()
        )
    }


def _in_rounds(rounds: Beginning, chip: Chip, wanted: set[tuple[int, str]]) -> Iterator[Check]:
    """What is to be said of these reads in the first rounds of the loops."""
    unclear: dict[tuple[int, str], list[_Unclear]] = {}
    orders = {id(op): op.order for op in rounds.origins.values()}

    def asked(read: Use) -> bool:
        return (id(rounds.origins[read.order]), read.touch.role) in wanted

    checks = list(_overlaps(rounds.trace, chip, unclear=unclear, asked=asked))
    checks += [each.check for found in unclear.values() for each in found]
    for check in checks:
        if check.predicate is not E.TRUE:
            assert check.order is not None
            yield replace(check, order=orders[id(rounds.origins[check.order])])


def overlap_in_run(event: Stretch, chip: Chip) -> Iterator[Check]:
    """As :func:`live_overlap`, of what a run reads, as far as it was written shortly before."""
    trace = event.trace
    if event.cut:
        trace = replace(trace, operations=flow.from_whole_sections(trace))
    for check in _overlaps(trace, chip, event):
        if check.predicate is not E.TRUE and check.exact:
            yield check
    if event.ended and not event.cut:
        yield from crossed(trace, chip)


def coinciding_in_run(event: Stretch, chip: Chip) -> Iterator[Check]:
    """What may be wrong with two operands of a run that lie in one place: which of them the last
    write there was for, and whether the one before was for a loop around, only the text says."""
    table = flow.uses(event.trace)
    for _, group in groupby(table.reads, key=lambda read: id(read.operation)):
        reads = list(group)
        for read in reads if reads[0].order >= event.since else ():
            others = [other for other in reads if other.touch.role != read.touch.role]
            if any(kit.same_place(other.tensor, read.tensor) for other in others):
                rest = _Others(chip, table, others)
                yield from rest.written_for_nobody(read)
                yield from rest.written_for_another(read)


def _overlaps(
    trace: Trace,
    chip: Chip,
    run: Stretch | None = None,
    unclear: dict[tuple[int, str], list[_Unclear]] | None = None,
    asked: Callable[[Use], bool] = lambda read: True,
) -> Iterator[Check]:
    """``run``: that of which the trace is a part. ``unclear``: takes what is not clear, by the
    operation and the role. ``asked``: whether a read is to be looked at."""
    table: Uses = flow.uses(trace)
    sections = {
        id(op): number
        for number, section in enumerate(flow.sections(trace))
        for op, _ in section.all()
    }
    demands = [item.condition for item in trace.assumptions]
    told: set[tuple[int, ...]] = set()
    for _, group in groupby(table.reads, key=lambda read: id(read.operation)):
        reads = list(group)
        for read in reads if run is None or reads[0].order >= run.since else ():
            if not asked(read):
                continue
            others = [other for other in reads if other.touch.role != read.touch.role]
            sure = run is not None and run.cut
            rest = _Others(chip, table, others)
            for check, key in _of_read(chip, read, table, sections, rest, sure=sure):
                if check.predicate is not E.TRUE:
                    yield check
                elif key not in told:
                    told.add(key)
                    yield check
            if run is None:
                yield from rest.written_for_nobody(read)
            if unclear is not None:
                left = _unclear(chip, read, table, sections, demands)
                if left is not None:
                    unclear[id(read.operation), read.touch.role] = list(left)


def _unclear(
    chip: Chip,
    read: Use,
    table: Uses,
    sections: Mapping[int, int],
    demands: Sequence[Bool],
) -> Iterator[_Unclear] | None:
    """The writes before a read that may reach over its edge; None: it is clear in each iteration
    which write the read is about."""
    source = source_of(chip, read, table.writes)
    if source is not None:
        about = E.and_(*source.write.facts)
    else:
        found = possible(chip, read, table.writes)
        about = E.or_(*(E.and_(*each.write.facts) for each in found))
    known = Known((*demands, *read.path, *read.within), read.loops)
    if known.decide(about) is True or not _in_one(chip, read, table, known):
        return None
    return _over_edges(chip, read, table, sections, known, about)


def _over_edges(
    chip: Chip,
    read: Use,
    table: Uses,
    sections: Mapping[int, int],
    known: Known,
    about: Bool,
) -> Iterator[_Unclear]:
    for write in table.writes:
        beside = _races(write, read, sections)
        for each in flow.earlier(write, read, 0, beside):
            fine = E.or_(
                _contains(chip, read.tensor, each.tensor),
                _replaces(chip, each.tensor, read.tensor),
                about,
            )
            check = _whole(chip, read, None, each, table.writes, fine)
            there = known.also((*each.facts, *check.given), each.use.loops)
            if there.decide_in_turn(check.predicate) is not True:
                yield _Unclear(read, check)


def _in_one(chip: Chip, read: Use, table: Uses, known: Known) -> bool:
    """Whether one write may have put all there that is read."""
    for write in table.writes:
        for each in flow.earlier(write, read, 0):
            nowhere = E.not_(kit.holds(chip, each.tensor, read.tensor))
            there = known.also(each.facts, each.use.loops)
            if there.decide_in_turn(nowhere) is not True:
                return True
    return False


def _races(write: Use, read: Use, sections: Mapping[int, int]) -> bool:
    """Whether a write is a transfer and a read a computation of one parallel section, or the other
    way round."""
    section = sections.get(id(write.operation))
    together = section is not None and section == sections.get(id(read.operation))
    return together and write.operation.engine != read.operation.engine


def _of_read(
    chip: Chip,
    read: Use,
    table: Uses,
    sections: Mapping[int, int],
    others: _Others,
    *,
    sure: bool,
) -> Iterator[tuple[Check, tuple[int, ...]]]:
    """``sure``: the write that a read is about is certain, or not looked for any further."""
    source = source_of(chip, read, table.writes)
    others_ = () if sure else possible(chip, read, table.writes)
    for each in [source] if source is not None else others_:
        for write in _between(read, each, table.writes, sections):
            if kit.same_place(write.tensor, each.write.tensor):
                continue
            rest = others.update(read, each, write)
            if rest is not E.TRUE and not sure:
                rest = E.or_(rest, others.later(read, each, write))
            check = _whole(chip, read, each, write, table.writes, rest)
            yield check, _key(read.tensor, write.tensor)
            alone = None if source is None else others.of_its_own(read, each, write)
            if alone is not None:
                yield alone, _key(read.tensor, write.tensor)
    if source is None:
        return
    own = source_of(chip, read, table.writes, _coincide)
    if own is None:
        return
    for write in _between(read, own, table.writes, sections):
        if _is_lost(chip, table, read, own, write):
            rest = _contains(chip, own.write.tensor, write.tensor)
            yield _whole(chip, read, own, write, table.writes, rest, lost=True), ()


class _Others(Struct, frozen=True):
    """The other operands that a function reads in local memory, at once with one that is judged.

    What was written for one of them is no update of what was written for another: of two tensors of
    their own the later one destroys what it takes of the earlier. Elementwise functions may
    read a tensor and a part of it that was written anew.
    """

    chip: Chip
    table: Uses
    uses: Sequence[Use]

    def update(self, read: Use, source: Source, write: Instance) -> Bool:
        """When a write over what was written for a read replaces or updates it."""
        within = _contains(self.chip, source.write.tensor, write.tensor)
        replaced = _replaces(self.chip, write.tensor, read.tensor)
        if within is E.FALSE and replaced is E.FALSE:
            return E.FALSE
        for other in self.uses:
            alike = _alike(read, other)
            mine = source_of(self.chip, other, self.table.writes, _coincide)
            if mine is None and not alike:
                mine = source_of(self.chip, other, self.table.writes)
            if mine is None or mine.write.use is not write.use:
                continue
            if kit.same_place(mine.write.tensor, write.tensor):
                return E.and_(within, E.not_(replaced)) if alike else E.FALSE
        return E.or_(within, replaced)

    def later(self, read: Use, source: Source, write: Instance) -> Bool:
        """When a write between these two holds all that is read, and this one replaces or updates
        that."""
        between = range(source.write.use.order + 1, write.use.order)
        if source.age or source.filled is not None or not between:
            return E.FALSE
        return E.or_(
            *(
                E.and_(*each.write.facts, self.update(read, each, write))
                for each in possible(self.chip, read, self.table.writes)
                if each.write.use.order in between
            )
        )

    def of_its_own(self, read: Use, source: Source, write: Instance) -> Check | None:
        """What is said of a write to a part of what is read, which something uses by itself as
        well, if that is no update of what was computed or loaded there.

        A row or a block may be a part of both; half of a row and half of the next are not.
        """
        chip, table, made = self.chip, self.table, write.use.operation
        loaded = any(touch.reads for touch in source.write.use.operation.touches)
        if not loaded or _in_place(made, write.use) or made is read.operation:
            return None
        if kit.apart(chip, write.tensor, read.tensor)[0] is E.TRUE:
            return None
        on = are_of_one_input(chip, source.write.use, write.use)
        if not _is_used(chip, table, write.use, read, on=on):
            return None
        replaced = _replaces(chip, write.tensor, read.tensor)
        check = _whole(chip, read, source, write, table.writes, replaced)
        if is_block(chip, read.tensor, write.tensor) is False:
            return check
        role = f"{words(write.use.touch.role)} of `{function(made)}`"
        reason = f"whether {role} is meant as a part of what `{function(read.operation)}` reads"
        return replace(check, exact=False, reason=f"{reason} is not known")

    def written_for_nobody(self, read: Use) -> Iterator[Check]:
        """What was to be found in the place of two operands, and was overwritten before."""
        source = source_of(self.chip, read, self.table.writes)
        twice = None if source is None else self.written_twice(read, source)
        if twice is not None:
            yield _whole(self.chip, read, *twice, (), E.FALSE, lost=True)

    def written_for_another(self, read: Use) -> Iterator[Check]:
        """What is found in the place of two operands, by the last write there."""
        source = source_of(self.chip, read, self.table.writes)
        if source is not None and not read.touch.writes:
            yield _whole(self.chip, read, source, source.write, (), E.FALSE)

    def written_twice(self, read: Use, source: Source) -> tuple[Source, Instance] | None:
        """Two writes to all of the place that a read shares with another operand, the first of
        which was for nobody: what one of the operands is to find there. The first one and the last.

        Where it wrote a constant, the place may have been cleared for the second one, unless the
        function adds to it.
        """
        last = source.write
        if source.age or source.filled or not _coincide(self.chip, last.tensor, read.tensor):
            return None
        if not any(kit.same_place(other.tensor, read.tensor) for other in self.uses):
            return None
        place = kit.block(self.chip, last.tensor)
        for use in reversed(self.table.writes):
            if use.order >= last.use.order:
                continue
            if kit.places_apart(self.chip, kit.block(self.chip, use.tensor), place) is E.TRUE:
                continue
            always = set(map(id, last.use.path)) <= set(map(id, use.path))
            beside = common_loops(use.loops, last.use.loops) == len(use.loops) == source.depth
            if not (always and beside and _coincide(self.chip, use.tensor, last.tensor)):
                return None
            made = any(touch.reads for touch in use.operation.touches)
            unread = not _read_between(self.chip, self.table, use, last.use)
            first = Source(Instance(use, use.tensor, ()), source.depth, 0)
            return (first, last) if unread and (made or read.touch.writes) else None
        return None


def _in_place(operation: Operation, write: Use) -> bool:
    """Whether an operation reads what it writes, or begins with something of no meaning."""
    local = [touch for touch in operation.touches if isinstance(touch.tensor, LocalTensor)]
    same = (
        touch.reads
        and isinstance(touch.tensor, LocalTensor)
        and kit.same_place(touch.tensor, write.tensor)
        for touch in local
    )
    return any(same) or not any(touch.reads for touch in operation.touches)


def _is_used(chip: Chip, table: Uses, write: Use, read: Use, *, on: bool) -> bool:
    """Whether a function, other than the one that reads, takes just what a write has left; ``on``:
    or what was made of that in its place."""
    for other in table.reads:
        if other.operation is read.operation or not kit.same_place(other.tensor, write.tensor):
            continue
        mine = source_of(chip, other, table.writes, _coincide)
        if mine is None or mine.write.use is not write:
            continue
        made = [
            each
            for each in table.writes
            if each.operation is other.operation and kit.same_place(each.tensor, write.tensor)
        ]
        if not made:
            return True
        behind = [each for each in made if on and each.order > write.order]
        if any(_is_used(chip, table, each, read, on=on) for each in behind):
            return True
    return False


def _alike(one: Use, other: Use) -> bool:
    """Whether a function takes two operands element by element, as they lie."""
    op = one.operation
    if kit.is_window(op) or kit.has_matrices(kit.described(op)):
        return False
    roles = one.touch.role, other.touch.role
    return kit.placed(op, roles[0]).layout == kit.placed(op, roles[1]).layout


def _key(read: LocalTensor, write: LocalTensor) -> tuple[int, ...]:
    terms = (read.address, *read.shape, *read.strides, write.address, *write.shape, *write.strides)
    return tuple(map(id, terms))


def _is_lost(chip: Chip, table: Uses, read: Use, source: Source, write: Instance) -> bool:
    """Whether what was written for the read, at the very place, has no reader but this one.

    Then a write over all of it, for a tensor that starts elsewhere, is not meant to replace it.
    """
    origin = source.write
    if not _coincide(chip, origin.tensor, read.tensor):
        return False
    if write.tensor.address is read.tensor.address:
        return False
    if kit.apart(chip, write.tensor, origin.tensor)[0] is E.TRUE:
        return False  # of lanes or channels that the read has beside those: the rest of it
    later = origin.use.order < write.use.order
    return later and not _read_between(chip, table, origin.use, write.use)


def _read_between(chip: Chip, table: Uses, first: Use, last: Use) -> bool:
    """Whether what one write left may have been read up to another one, in program order."""
    between = range(first.order + 1, last.order + 1)
    place = kit.block(chip, first.tensor)
    return any(
        other.order in between
        and kit.places_apart(chip, kit.block(chip, other.tensor), place) is not E.TRUE
        for other in table.reads
    )


def _coincide(chip: Chip, a: LocalTensor, b: LocalTensor) -> bool:
    """Whether two tensors take the same place, term by term, whatever they are made of."""
    if a.address is not b.address:
        return False
    one, other = kit.block(chip, a), kit.block(chip, b)
    return one.lane is other.lane and one.length is other.length


def _anew(chip: Chip, read: Use, write: Instance, writes: Sequence[Use]) -> Bool:
    """That what is read was written once more, after another tensor was written over it."""
    return E.or_(
        *(
            E.and_(*other.path, kit.fills(chip, other.tensor, read.tensor))
            for other in writes
            if write.use.order < other.order < read.order
            and common_loops(other.loops, read.loops) == len(other.loops)
        )
    )


def _whole(
    chip: Chip,
    read: Use,
    source: Source | None,
    write: Instance,
    writes: Sequence[Use],
    rest: Bool,
    lost: bool = False,
) -> Check:
    """A write leaves what is read alone; ``rest``: or what it does to it is fine.

    Without a ``source`` it is not known that what is read was there before.
    """
    origin = source.write if source is not None else None
    disjoint, ranges = kit.apart(chip, write.tensor, read.tensor)
    predicate = E.or_(disjoint, rest)
    if predicate is not E.TRUE:
        predicate = E.or_(predicate, _anew(chip, read, write, writes))
    mine, theirs = words(read.touch.role), words(write.use.touch.role)
    wrote = write.use.operation
    if predicate is E.TRUE:
        ranges = ()
    reader = read.operation
    return Check(
        predicate=predicate,
        span=write.use.span,
        text=f"{theirs} of `{function(wrote)}` leaves {mine} of `{function(reader)}` whole",
        message=(
            f"`{function(wrote)}` overwrites {mine} of `{function(reader)}`, "
            "which is still to be read"
            if lost
            else f"`{function(wrote)}` overwrites part of {mine} of `{function(reader)}`, "
            "which is still to be read"
        ),
        facts=("ADR-11", "BUG-03"),
        given=(*ranges, *write.facts, *(origin.facts if origin else ()), *read.within),
        values=(
            (f"{theirs} address", write.tensor.address),
            (f"bytes per lane of {theirs}", kit.block(chip, write.tensor).length),
            (f"{mine} address", read.tensor.address),
            (f"bytes per lane of {mine}", kit.block(chip, read.tensor).length),
        ),
        notes=(
            *((Note(origin.use.span, "what is read was written here"),) if origin else ()),
            Note(read.span, "and is read here"),
        ),
        help=("place the tensors so that each ends before the next begins",),
        exact=origin is not None,
        reason="" if origin else "which write put there what is read is not known",
        path=read.path,
        order=max(read.order, write.use.order),
    )


_OVERLAP = pair(
    "blend",
    "rows: int, x: okk.SystemAddr, z: okk.SystemAddr, y: okk.SystemAddr",
    """\
assert 1 <= rows <= 300
okk.initialize()
shape = okk.dim4(1, 64, rows, 10)
stride = okk.aligned_stride_32bit(0, shape)
first, second = 0, @@
third = 2 * stride.n * 4
okk.gdma_32bit_cpy_S2L(first, x, shape, None, None)
okk.gdma_32bit_cpy_S2L(second, z, shape, None, None)
okk.bdc_add(third, first, second, shape, None, None, None)
okk.gdma_32bit_cpy_L2S(y, third, shape, None, None)
okk.poll()
""",
    "rows * 10 * 4 // 256 * 128",
    "stride.n * 4",
)

register(
    Rule(
        id="okk-live-overlap",
        code="OKK301",
        family=OKK,
        summary="no write reaches into a part of a tensor that is still to be read",
        silent=True,
        reason=(
            "Local memory is addressed by hand. A tensor that is larger than the room planned for "
            "it overwrites the beginning of the next one, which then is read half old, half new: "
            "two buffers of a ping-pong that are too close, or a last slice that is larger than "
            "the others. Replacing a tensor as a whole once it was read, or updating a part of it, "
            "is fine, unless that is a tensor of its own that lies across the rows of the other "
            "and that something else takes as it is. What one function reads by two operands that "
            "were written each on its own is "
            "no update: the later one destroys what it takes of the other."
        ),
        facts=("ADR-11", "BUG-03", "OKK-X07", "ADR-07"),
        on=On.TRACE,
        check=live_overlap,
        monitors=(
            Monitor(Stretch, overlap_in_run),
            Monitor(Stretch, coinciding_in_run, meant=True),
        ),
        # of tensors at one place the later one replaces the earlier, which nothing has read then
        replayed=Replayed(told_as=("okk-lost-result",)),
        dialects=(OKK,),
        sources=("OKKernel manual, layout", "OKKernel manual, programming_device"),
        failing=_OVERLAP[0],
        passing=_OVERLAP[1],
    )
)
