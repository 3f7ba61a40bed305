"""A transfer does not write what it has yet to read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from rules.memory import examples
from rules.memory.cases import apart, copy
from verifier.dialects.names import NKI
from verifier.hardware.targets import Target
from verifier.rulebase import Monitor, On, Rule, register
from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.checks import Check
from verifier.symbolic.memory.events import Overlapped
from verifier.symbolic.memory.index import Access, index, tensor
from verifier.symbolic.memory.transfers import sources, taken_from
from verifier.symbolic.tensors import View
from verifier.symbolic.trace import Trace


def overlapping_transfers(trace: Trace, target: Target) -> Iterable[Check]:
    """One check per transfer within one tensor: no element is read that goes somewhere else."""
    table = index(trace)
    for uses in table.storages:
        for read in uses.reads:
            if read.role not in sources(read.operation):
                continue
            for write in uses.writes:
                if write.operation is read.operation:
                    yield from _untouched(read, write)


def _untouched(read: Access, write: Access) -> Iterator[Check]:
    """No element that is written is read, unless it is the one that goes there."""
    if _same_rows(read.view, write.view):
        return  # added to where they lie
    other = copy(read, len(read.loops), instance=tensor(write.view))
    if other is None:
        return
    different, exact = apart(write.view, other.view)
    if different is E.TRUE:
        return
    here = [axis.index for axis in write.view.axes]
    there = [axis.index for axis in other.view.axes]
    source = taken_from(read.operation, read.role, here)
    same = E.FALSE
    if source is not None and len(source) == len(there):
        same = E.and_(*(E.eq(mine, its) for mine, its in zip(source, there, strict=True)))
    else:
        exact = False
    name = write.view.storage.name
    yield replace(
        _apart(name, read.span),
        predicate=E.or_(different, same),
        given=(*write.ranges, *other.ranges),
        exact=exact,
        reason="" if exact else f"which elements of `{name}` are copied is not known exactly",
        path=read.path,
        order=read.order,
    )


def _same_rows(one: View, other: View) -> bool:
    """Whether two views are the same part of the rows that one index names."""
    if one.rows_from is None or one.rows_from is not other.rows_from or one.shape != other.shape:
        return False
    axes = zip(one.axes, other.axes, strict=True)
    renamed = E.Substitution({mine.symbol: its.index for mine, its in axes})
    return tuple(map(renamed.expr, one.coords)) == other.coords


def _apart(name: str, span: Span) -> Check:
    """What a transfer reads of a tensor it does not write elsewhere."""
    return Check(
        predicate=E.FALSE,
        span=span,
        text=f"the parts of `{name}` that one transfer reads and writes do not overlap",
        message=f"one transfer writes a part of `{name}` that it reads itself",
        facts=("NKI-DCP09",),
        help=("the order within a transfer is open: copy to another tensor first",),
    )


def overlapped(event: Overlapped, target: Target) -> Iterator[Check]:
    """A transfer of a run writes what it reads."""
    yield _apart(event.name, event.span)


register(
    Rule(
        id="transfer-overlap",
        code="MEM316",
        family="memory",
        summary="a transfer does not write what it reads itself",
        silent=True,
        reason=(
            "A DMA moves its elements in an order that nobody has promised: an element that is "
            "written before it is read goes on with the new value."
        ),
        facts=("NKI-DCP09",),
        on=On.TRACE,
        dialects=(NKI,),
        check=overlapping_transfers,
        monitors=(Monitor(Overlapped, overlapped),),
        failing=examples.TRANSFER_FAILING,
        passing=examples.TRANSFER_PASSING,
    )
)
