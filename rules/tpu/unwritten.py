"""That something in local memory was written before it is read, at any place of it and at each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Final

from msgspec.structs import replace

from rules.memory.cases import common_loops
from rules.memory.formulas import pruned, size
from rules.tpu import covering, destroyed, flow, kit, written
from rules.tpu.flow import Use, Uses
from rules.tpu.kit import function, words
from rules.tpu.sources import held, source_of
from rules.tpu.spoilt import LARGEST
from verifier.hardware.chips import Chip
from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.checks import Check, Note
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.lanes import LocalTensor
from verifier.symbolic.memory.known import Known
from verifier.symbolic.regions import exists
from verifier.symbolic.tensors import Loop

#: ways to choose iterations of a write that are tried for one read
_WITNESSES: Final = 48


def of_read(
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
        yield read_check(read, E.TRUE, exact=True)
        own = source is not None and source.age == 0 and source.filled is None
        if source is not None and own and not source.write.facts:
            since = source.write.use.order
            yield from _destroyed(chip, read, table, known, source.depth, since)
        else:
            yield from _destroyed(chip, read, table, known)
        return
    predicate, exact = _written(chip, read, table.writes)
    yield read_check(read, predicate, exact and (known or predicate is E.TRUE))
    if predicate is E.FALSE:
        return
    nowhere = E.not_(predicate) if exact else E.FALSE
    if not exact and known and read.loops:
        predicate, exact = _written(chip, read, table.writes, first=True)
        if exact and predicate is not E.TRUE:
            again = (E.ge(loop.index, 1) for loop in read.loops)
            predicate = E.or_(predicate, *again)
            yield read_check(read, predicate, exact=True)
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
    check = read_check(read, inside, exact=True)
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
    text, message = beyond(words(read.touch.role), function(read.operation))
    return replace(read_check(read, E.FALSE, exact=True), text=text, message=message)


def beyond(role: str, name: str) -> tuple[str, str]:
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
    return pruned(formula, known)


def _meet(chip: Chip, written: LocalTensor, read: LocalTensor) -> Bool:
    if kit.same_place(written, read):
        return E.TRUE
    return E.not_(kit.places_apart(chip, kit.block(chip, written), kit.block(chip, read)))


def read_check(read: Use, predicate: Bool, exact: bool) -> Check:
    role = words(read.touch.role)
    name = function(read.operation)
    return replace(
        written_before(role, name, read.span, adds=read.touch.writes),
        predicate=predicate,
        given=() if predicate is E.TRUE else (*read.within, *kit.nonempty(read.tensor.shape)),
        values=((f"{role} address", read.tensor.address),),
        exact=exact,
        reason="" if exact else "in which iteration it was written is not known exactly",
        path=read.path,
        order=read.order,
    )


def written_before(role: str, name: str, span: Span, adds: bool, spoiled: bool = False) -> Check:
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


__all__ = ["beyond", "of_read", "read_check", "written_before"]
