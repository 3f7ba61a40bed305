"""Tensors that are read in another arrangement than they were written in.

What was written last from an address on, and is read from there in the same shape, is meant as that
tensor. With other strides it lies elsewhere: what is read there is in part what nothing has written
for it. Axes that change places are a transposition, and an axis of one element has no stride.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from rules.tpu import flow, kit
from rules.tpu.flow import Use
from rules.tpu.kit import function, words
from rules.tpu.runs import lane_of
from verifier.hardware.chips import Chip
from verifier.symbolic import expr as E
from verifier.symbolic.checks import Check, Note
from verifier.symbolic.expr import Bool
from verifier.symbolic.memory.events import Stretch
from verifier.symbolic.trace import Trace


def arranged(trace: Trace, chip: Chip) -> Iterator[Check]:
    """One check for each read in place of what was written in the same shape, with other strides.

    Where the result lies elsewhere, what is undefined in it is followed.
    """
    if trace.unmodelled:
        return
    table = flow.uses(trace)
    for read in table.reads:
        mine = [w for w in table.writes if w.operation is read.operation]
        if not any(kit.same_place(write.tensor, read.tensor) for write in mine):
            continue
        last = _last(chip, read, table.writes)
        if last is not None and _same_shape(last, read):
            fine = _alike(chip, last, read)
            if fine is not E.TRUE:
                yield _told(read, last, fine)


def arranged_in_run(event: Stretch, chip: Chip) -> Iterable[Check]:
    """As :func:`arranged`, of a run."""
    if event.ended and not event.cut:
        for check in arranged(event.trace, chip):
            if check.predicate is not E.TRUE:
                yield replace(check, given=())


def _last(chip: Chip, read: Use, writes: Iterable[Use]) -> Use | None:
    """The last write before a read in its round, if that surely begins where the read does."""
    held = {id(fact) for fact in read.path}
    place = kit.block(chip, read.tensor)
    near = [
        write
        for write in writes
        if write.order < read.order
        and kit.places_apart(chip, kit.block(chip, write.tensor), place) is not E.TRUE
    ]
    last = near[-1] if near else None
    if last is None or last.loops != read.loops[: len(last.loops)]:
        return None
    sure = all(id(fact) in held for fact in last.path)
    return last if sure and last.tensor.address is read.tensor.address else None


def _same_shape(one: Use, other: Use) -> bool:
    pairs = zip(one.tensor.shape, other.tensor.shape, strict=True)
    return one.tensor.dtype.itemsize is other.tensor.dtype.itemsize and all(
        a is b for a, b in pairs
    )


def _alike(chip: Chip, write: Use, read: Use) -> Bool:
    """Whether elements lie where they were written, or axes have changed places."""
    a, b = write.tensor, read.tensor
    if sorted(map(id, a.strides)) == sorted(map(id, b.strides)) or E.const(0) in b.strides:
        return E.TRUE
    n, c, h, w = b.shape
    counts = (n, kit.slots(chip, lane_of(chip, b), c), h, w)
    pairs = zip(counts, a.strides, b.strides, strict=True)
    return E.and_(*(E.or_(E.le(count, 1), E.eq(x, y)) for count, x, y in pairs))


def _told(read: Use, write: Use, fine: Bool) -> Check:
    role, name = words(read.touch.role), function(read.operation)
    return Check(
        predicate=fine,
        span=read.span,
        text=f"{role} of `{name}` lies as `{function(write.operation)}` has written it",
        message=f"{role} of `{name}` has other strides than `{function(write.operation)}` has "
        "written it with: it is read where nothing was written",
        facts=("ADR-04",),
        given=read.within,
        notes=(Note(write.span, "it was written here"),),
        help=("give both the same strides: without any, a function takes the aligned ones",),
        path=read.path,
        order=read.order,
    )


__all__ = ["arranged", "arranged_in_run"]
