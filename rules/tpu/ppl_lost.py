"""Results of PPL kernels that are overwritten before anything has read them.

What :mod:`rules.tpu.lost` asks of places in local memory, of tensors: a result that the next access
of its tensor, in the same iteration and under no other condition, fills again is for nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rules.memory.cases import contains
from rules.memory.overwritten import repeats
from rules.memory.words import subject
from rules.tpu.ppl_kit import declare, elementwise, function, is_device
from rules.tpu.ppl_unread import unread_results
from verifier.hardware.chips import Chip
from verifier.rulebase import Monitor, On, Replayed
from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.checks import Check, Note
from verifier.symbolic.memory.events import Followed
from verifier.symbolic.memory.index import Access, Uses, index, tensor
from verifier.symbolic.trace import Trace


def lost_results(trace: Trace, chip: Chip) -> Iterable[Check]:
    """One check per place that makes a result, if all that it makes is lost."""
    if trace.unmodelled:  # it may read any of them
        return
    if trace.completes and not trace.dies:  # what would have been read after the error is open
        yield from unread_results(trace)
    yield from _filled_again(trace)


def lost_in_run(event: Followed, chip: Chip) -> Iterator[Check]:
    """As :func:`lost_results`, of a run: its rounds one after the other, and what each of them
    stores to a tensor of the caller's that it does not read."""
    yield from unread_results(event.trace)
    found = (
        check
        for uses in _kept(event.trace)
        for write in uses.writes
        if _is_result(write) and (check := _lost(write, uses, event.trace)) is not None
    )
    yield from {check.span: check for check in found}.values()


def _kept(trace: Trace) -> Iterator[Uses]:
    """The tensors of which the kernel itself says what is read: those on chip, and of the caller's
    those that it writes only."""
    for uses in index(trace).storages:
        if uses.storage.buffer.on_chip or not uses.reads:
            yield uses


def _filled_again(trace: Trace) -> Iterator[Check]:
    """What is lost since its place is filled again."""
    by_place: dict[Span, list[Check | None]] = {}
    for uses in _kept(trace):
        for write in uses.writes:
            if _is_result(write):
                by_place.setdefault(write.span, []).append(_lost(write, uses, trace))
    for found in by_place.values():
        sure = [check for check in found if check is not None]
        # where several rounds or calls make something that is used, the others may be idle; not
        # those of a loop of which the last round alone is used
        if len(sure) == len(found) or (len(sure) == len(found) - 1 and found[-1] is None):
            yield from sure


def _is_result(write: Access) -> bool:
    """Whether it hangs on something, and is the only one of its operation."""
    op = write.operation
    return is_device(op) and bool(op.reads) and len(op.writes) == 1


def _lost(write: Access, uses: Uses, trace: Trace) -> Check | None:
    """A finding where the next access of the tensor fills all of the result again."""
    accesses = sorted((*uses.writes, *uses.reads, *uses.targets), key=lambda a: a.order)
    after = [access for access in accesses if access.order > write.order]
    if not after:
        return None
    following = [access for access in after if access.order == after[0].order]
    if len(following) > 1 or following[0] not in uses.writes or following[0] in uses.sums:
        return None
    later = following[0]
    held = {id(condition) for condition in (*write.path, *write.given)}
    certain = all(id(condition) in held for condition in (*later.path, *later.given))
    if not certain or later.loops != write.loops or tensor(later.view) != tensor(write.view):
        return None
    if not contains(later.view, write.view) or repeats(write.operation, later.operation, trace):
        return None
    name = write.view.storage.name
    return Check(
        predicate=E.FALSE,
        span=write.span,
        text=f"the result of `pl.{function(write.operation)}` is read before `{name}` is filled",
        message=f"`{name}` is overwritten before anything reads the result of "
        f"`pl.{function(write.operation)}`",
        facts=("ADR-11",),
        subject=subject(write.view.storage),
        notes=(Note(later.span, f"`pl.{function(later.operation)}` fills it here"),),
        help=("use the result first, or leave the operation out",),
        path=write.path,
        order=write.order,
    )


declare(
    "ppl-lost-result",
    "PPL080",
    On.TRACE,
    "a result is read before its tensor is filled again",
    "A tensor that is cleared, loaded or computed anew before anything has read it held a result "
    "for nothing: as a rule two statements are in the wrong order, or one names the wrong tensor. "
    "What reads the tensor then finds other data than was meant for it. So is what a round of a "
    "loop makes of data of its own if the next one overwrites it, and what comes to no store at "
    "all. Constants, and doing the very same twice, are fine.",
    ("ADR-11",),
    lost_results,
    elementwise("pl.tiu.fmul(b, a, 2.0)\npl.tiu.zero(b)"),
    elementwise("pl.tiu.zero(b)\npl.tiu.fmul(b, a, 2.0)"),
    silent=True,
    monitors=(Monitor(Followed, lost_in_run, meant=True),),
    replayed=Replayed(whole=True),
)
