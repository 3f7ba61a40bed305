"""Local memory over time: what is still needed, and what was never written."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Final

from rules.tpu import covering, destroyed, flow, kit, written
from rules.tpu.examples import pair
from rules.tpu.flow import Instance, Use, Uses
from rules.tpu.kit import function, words
from verifier.dialects.names import OKK
from verifier.hardware.chips import Chip
from verifier.rulebase import Check, Monitor, Note, Replayed, Rule, register
from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.lanes import LocalTensor, stores
from verifier.symbolic.memory.events import UndefinedLanes
from verifier.symbolic.tensors import Loop
from verifier.symbolic.trace import Trace

#: iterations back in which the write that a read is about is looked for: pipelines of three stages
_AGES: Final = (1, 2)
#: ways to choose iterations of a write that are tried for one read
_WITNESSES: Final = 48


@dataclass(frozen=True, slots=True)
class _Source:
    """The write whose data a read is about: where it is, and how many iterations ago of a loop."""

    write: Instance
    #: how many outer loops the two share, and the age in the innermost of them
    depth: int
    age: int
    #: the loop before that filled what the read's loop goes through, at the same index
    filled: Loop | None = None


def _held(use: Use, put: E.Substitution, conditions: set[int]) -> bool:
    return all(id(put.bool(fact)) in conditions for fact in use.path)


#: how a write's tensor has to lie with respect to what is read
Fit = Callable[[Chip, LocalTensor, LocalTensor], bool]


def _source(
    chip: Chip, read: Use, writes: Sequence[Use], fits: Fit = kit.holds_all
) -> _Source | None:
    """The last write before a read that certainly holds all that is read, as far as folding tells.

    It is in the same iteration, or one or two iterations ago of a loop around both, or in a loop
    of as many iterations before the read's.
    """
    conditions = {id(fact) for fact in read.path} | {id(E.TRUE)}
    for write in reversed(writes):
        depth = len(write.loops)
        if write.order >= read.order or flow.shared(write.loops, read.loops) != depth:
            continue
        nowhere = E.Substitution({})
        if _held(write, nowhere, conditions) and fits(chip, write.tensor, read.tensor):
            return _Source(Instance(write, write.tensor, ()), depth, 0)
    for depth in range(len(read.loops), 0, -1):
        for age in _AGES:
            put = flow.back(read.loops, depth - 1, age)
            for write in reversed(writes):
                if len(write.loops) != depth or flow.shared(write.loops, read.loops) != depth:
                    continue
                found = flow.at(write, put)
                if found is not None and fits(chip, found.tensor, read.tensor):
                    return _Source(found, depth, age)
    for write in reversed(writes):
        depth = flow.shared(write.loops, read.loops)
        if write.order >= read.order or len(write.loops) != depth + 1:
            continue
        if len(read.loops) <= depth or write.loops[depth].trips is not read.loops[depth].trips:
            continue
        put = E.Substitution({write.loops[depth].symbol: read.loops[depth].index})
        found = flow.at(write, put)
        if found is not None and fits(chip, found.tensor, read.tensor):
            return _Source(found, depth, 0, write.loops[depth])
    return None


def _between(
    read: Use, source: _Source, writes: Sequence[Use], sections: Mapping[int, int]
) -> Iterator[Instance]:
    """The writes that come between a read and the one that it is about.

    A transfer and a computation of one parallel section have no order: a rule of its own.
    """
    origin = source.write.use
    depth = source.depth
    for write in writes:
        if flow.shared(write.loops, read.loops) < depth:
            continue
        section = sections.get(id(write.operation))
        races = (
            section is not None
            and section == sections.get(id(read.operation))
            and write.operation.engine != read.operation.engine
        )
        if source.filled is not None and source.filled in write.loops:
            inner, _ = flow.fresh(write, depth)
            index, mine = inner.expr(source.filled.index), read.loops[depth].index
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
                    yield Instance(write, kit.moved(found.tensor, back), facts)


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
    """Whether a tensor takes the place of another as a whole, from the same lane on."""
    same = E.eq(kit.block(chip, write).lane, kit.block(chip, read).lane)
    return E.and_(same, _contains(chip, write, read))


def live_overlap(trace: Trace, chip: Chip) -> Iterable[Check]:
    """Per read and write in between: no write reaches over the edge of what is still to be read."""
    table: Uses = flow.uses(trace)
    sections = {
        id(op): number
        for number, section in enumerate(flow.sections(trace))
        for op, _ in section.all()
    }
    told: set[tuple[int, ...]] = set()
    for read in table.reads:
        source = _source(chip, read, table.writes)
        if source is None:
            continue
        for write in _between(read, source, table.writes, sections):
            if kit.same_place(write.tensor, source.write.tensor):
                continue
            key = _key(read.tensor, write.tensor)
            check = _whole(chip, read, source, write, table.writes, lost=False)
            if check.predicate is E.TRUE:
                if key not in told:
                    told.add(key)
                    yield check
                continue
            yield check
        own = _source(chip, read, table.writes, _coincide)
        if own is None or own.write.use is source.write.use:
            continue
        for write in _between(read, own, table.writes, sections):
            if _is_lost(chip, table, read, own, write):
                yield _whole(chip, read, own, write, table.writes, lost=True)


def _key(read: LocalTensor, write: LocalTensor) -> tuple[int, ...]:
    terms = (read.address, *read.shape, *read.strides, write.address, *write.shape, *write.strides)
    return tuple(map(id, terms))


def _is_lost(chip: Chip, table: Uses, read: Use, source: _Source, write: Instance) -> bool:
    """Whether what was written for the read, at the very place, has no reader but this one.

    Then a write over all of it, for a tensor that starts elsewhere, is not meant to replace it.
    """
    origin = source.write
    if not _coincide(chip, origin.tensor, read.tensor):
        return False
    if write.tensor.address is read.tensor.address:
        return False
    between = range(origin.use.order + 1, write.use.order + 1)
    place = kit.block(chip, origin.use.tensor)
    return bool(between) and not any(
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
            and flow.shared(other.loops, read.loops) == len(other.loops)
        )
    )


def _whole(
    chip: Chip, read: Use, source: _Source, write: Instance, writes: Sequence[Use], lost: bool
) -> Check:
    origin = source.write
    disjoint, ranges = kit.apart(chip, write.tensor, read.tensor)
    replaced = E.FALSE if lost else _replaces(chip, write.tensor, read.tensor)
    predicate = E.or_(disjoint, _contains(chip, origin.tensor, write.tensor), replaced)
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
        given=(*ranges, *write.facts, *origin.facts, *read.within),
        values=(
            (f"{theirs} address", write.tensor.address),
            (f"bytes per lane of {theirs}", kit.block(chip, write.tensor).length),
            (f"{mine} address", read.tensor.address),
            (f"bytes per lane of {mine}", kit.block(chip, read.tensor).length),
        ),
        notes=(
            Note(origin.use.span, "what is read was written here"),
            Note(read.span, "and is read here"),
        ),
        help=("place the tensors so that each ends before the next begins",),
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
            "is fine."
        ),
        facts=("ADR-11", "BUG-03", "OKK-X07", "ADR-07"),
        on="trace",
        check=live_overlap,
        dialects=(OKK,),
        sources=("OKKernel manual, layout", "OKKernel manual, programming_device"),
        failing=_OVERLAP[0],
        passing=_OVERLAP[1],
    )
)

# ----------------------------------------------------------------------------- never written


def uninitialised(trace: Trace, chip: Chip) -> Iterable[Check]:
    """Per read: some write before it touches what is read, and the only one that does covers it.

    What reaches beyond the end of its lane lies in the next one: then this is not told by lanes.
    """
    table = flow.uses(trace)
    known = not trace.unmodelled
    demands = tuple(item.condition for item in trace.assumptions)
    beyond = [use.order for use in (*table.writes, *table.destroyed) if _leaves_lane(chip, use)]
    for read in table.reads:
        if _leaves_lane(chip, read) or any(order < read.order for order in beyond):
            reason = "a tensor reaches beyond the end of its lane"
            yield replace(_read_check(read, E.FALSE, exact=False), reason=reason)
        else:
            yield from _of_read(chip, read, table, known, demands)


def _leaves_lane(chip: Chip, use: Use) -> bool:
    """Whether a tensor certainly reaches beyond the end of a lane."""
    return E.le(kit.block(chip, use.tensor).end, chip.local_bytes) is E.FALSE


def _of_read(
    chip: Chip, read: Use, table: Uses, known: bool, demands: tuple[Bool, ...]
) -> Iterator[Check]:
    partly = covering.leaves_out(chip, read, table.writes) if known else None
    if partly is None:
        found = written.covered(chip, read, table.writes, demands)
    else:  # all places are numbers: this is exact
        found = written.Covered(E.truth(not partly), True)
    source = _source(chip, read, table.writes, kit.fills_all)
    if partly is None and source is not None:
        held = {id(fact) for fact in (*read.path, *read.within)}
        happened = (fact for fact in source.write.facts if id(fact) not in held)
        found = replace(found, predicate=E.or_(found.predicate, E.and_(*happened)))
    if found.predicate is E.TRUE:
        yield _read_check(read, E.TRUE, exact=True)
        if source is not None and source.age == 0 and not source.write.facts:
            since = source.write.use.order
            yield from _destroyed(chip, read, table, known, source.depth, since)
        else:
            yield from _destroyed(chip, read, table, known)
        return
    predicate, exact = _written(chip, read, table.writes)
    yield _read_check(read, predicate, exact and (known or predicate is E.TRUE))
    if not exact and known and read.loops:
        predicate, exact = _written(chip, read, table.writes, first=True)
        if exact and predicate is not E.TRUE:
            again = (E.ge(loop.index, 1) for loop in read.loops)
            yield _read_check(read, E.or_(predicate, *again), exact=True)
    if predicate is E.FALSE:
        return
    harm = None if _decides(chip, read, table) else "warning"
    if partly:
        yield replace(_left_out(read), severity=harm)
    else:
        part = _covered(chip, read, table.writes) if known else None
        if part is not None:
            yield replace(part, severity=harm)
        nowhere = E.not_(predicate) if exact else E.FALSE
        yield replace(_everywhere(read, found, nowhere, known), severity=harm)
    yield from _destroyed(chip, read, table, known)


def _decides(chip: Chip, read: Use, table: Uses) -> bool:
    """Whether what is undefined in a read does harm: it is stored, or the result is used whole."""
    if stores(read.operation.touches):
        return True
    results = [use for use in table.writes if use.operation is read.operation]
    later = [
        use for use in table.reads if use.order > read.order and use.operation is not read.operation
    ]
    return any(kit.fills_all(chip, use.tensor, made.tensor) for made in results for use in later)


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


def _covered(chip: Chip, read: Use, writes: Sequence[Use]) -> Check | None:
    """Where one write of the same iteration is all that a read is about, it holds all of it."""
    small, end = kit.block(chip, read.tensor), read.end(chip)
    conditions = {id(fact) for fact in read.path} | {id(E.TRUE)}
    write: Use | None = None
    others: list[Use] = []
    again: list[Bool] = []
    for use in reversed(writes):
        common = flow.shared(use.loops, read.loops)
        if use.order >= read.order and not common:
            continue
        if use.operation is read.operation:
            again += [E.ge(loop.index, 1) for loop in use.loops]
            continue
        if _depends(use, use.loops):
            anywhere = flow.anywhere(use, 0)
            if anywhere is None or _meet(chip, anywhere.tensor, read.tensor) is E.FALSE:
                continue
            if len(use.loops) > common:
                return None  # something of it may have been written in other iterations
            again += [E.ge(loop.index, 1) for loop in use.loops if _depends(use, (loop,))]
        if _meet(chip, use.tensor, read.tensor) is E.FALSE:
            continue
        others.append(use)
        big = kit.block(chip, use.tensor)
        same = use.order < read.order and common == len(use.loops)
        if same and E.le(big.start, small.start) is E.TRUE and big.lane is small.lane:
            write = use if write is None or kit.holds_all(chip, use.tensor, write.tensor) else write
    if write is None or not _held(write, E.Substitution({}), conditions):
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
    role = words(read.touch.role)
    return replace(
        _read_check(read, E.FALSE, exact=True),
        text=f"all that {role} of `{function(read.operation)}` reads was written before",
        message=f"{role} of `{function(read.operation)}` reaches beyond what was written there",
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
    common = flow.shared(write.loops, read.loops)
    if write.order < read.order:
        yield from _chosen(chip, read, write, common, None)
    if first:
        return
    for level in range(common):
        if write.order < read.order and not _depends(write, write.loops[level:common]):
            continue  # the same iteration does what the earlier one did
        yield from _chosen(chip, read, write, level, read.loops[level])


def _depends(write: Use, loops: Sequence[Loop]) -> bool:
    wanted = {loop.symbol for loop in loops}
    tensor = write.tensor
    terms: list[Expr | Bool] = [tensor.address, *tensor.shape, *tensor.strides, *write.path]
    terms += [loop.trips for loop in write.loops]
    return any(symbol in wanted for term in terms for symbol in term.free())


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
            options.append(ago if _depends(write, (own,)) else ago[:1])
        elif not _depends(write, (own,)):
            options.append([E.const(0)])
        else:
            indices = [other.index for other in read.loops[kept:]]
            options.append([*indices, E.const(0), own.trips - 1])
    certain = all(len(values) == 1 for values in options)
    if not certain:
        general = flow.anywhere(write, kept)
        if general is None or _meet(chip, general.tensor, read.tensor) is E.FALSE:
            return  # in no iteration at all
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
    """A function of a run reads what nothing wrote."""
    operation, role = event.operation, event.role
    adds = any(touch.role == role and touch.writes for touch in operation.touches)
    span = kit.span_of(operation, role)
    found = _written_before(words(role), function(operation), span, adds, event.spoiled)
    yield replace(found, severity=None if event.certain else "warning")


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
            "function leaves in its work tensor means nothing."
        ),
        facts=("OKK-P08", "OKK-Q06", "OKK-049", "OKK-050", "ADR-07", "OKK-E01", "OKK-E02"),
        on="trace",
        check=uninitialised,
        monitors=(Monitor(UndefinedLanes, undefined_lanes),),
        replayed=Replayed(whole=True),
        dialects=(OKK,),
        sources=("OKKernel manual, fp32_nn",),
        failing=_UNWRITTEN[0],
        passing=_UNWRITTEN[1],
    )
)
