"""What a kernel returns, and from where."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from msgspec.structs import replace

from rules.memory import examples
from verifier.hardware.catalogue import Hardware
from verifier.hardware.memories import Buffer
from verifier.hardware.targets import Target
from verifier.rulebase import Monitor, On, Replayed, Rule, Shown, Whose, register
from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.checks import Check, Note
from verifier.symbolic.lanes import SystemTensor
from verifier.symbolic.memory.events import Ended, Wasted
from verifier.symbolic.memory.index import index
from verifier.symbolic.tensors import StorageKind
from verifier.symbolic.trace import Trace

_FACTS: Final = ("NKI-E30", "PPL-A03", "BUG-04")


def output_buffers(trace: Trace, target: Target) -> Iterable[Check]:
    """One check per returned tensor and return: it lives where the caller can see it."""
    for path, views, span in trace.returns:
        seen: set[int] = set()
        for view in views:
            storage = view.storage
            if id(storage) in seen or storage.buffer is Buffer.UNKNOWN:
                continue
            seen.add(id(storage))
            fine = storage.kind is StorageKind.INPUT or storage.buffer is Buffer.SHARED_HBM
            fine |= storage.buffer is Buffer.HBM and trace.generation.hbm_returned
            where = storage.buffer.value
            yield Check(
                predicate=E.truth(fine),
                span=storage.argument_spans.get("buffer", storage.span),
                text=f"`{storage.name}` is in shared_hbm",
                message=f"`{storage.name}` is returned, but it is in {where}",
                facts=("NKI-B17", "NKI-B18") if storage.buffer.on_chip else ("NKI-B18",),
                notes=(Note(span, "returned here"),),
                help=(
                    "allocate the result with buffer=nl.shared_hbm"
                    + (" and copy the tile there" if storage.buffer.on_chip else ""),
                ),
                # a return that a flag selects may be meant for callers that are kernels themselves
                severity="warning" if path else None,
                path=path,
                order=index(trace).last + 1,
            )


def some_output(trace: Trace, target: Hardware) -> Iterable[Check]:
    """One check per kernel: it returns a tensor or writes to what it is given."""
    if trace.dies or trace.opaque_return:  # the kernel is not called verified then, anyway
        return
    if not (trace.generation.returns or trace.storages or trace.operations):
        return  # it does nothing on the device: a function that counts for kernels which call it
    table = index(trace)
    returned = any(views for _, views, _ in trace.returns)
    written = any(uses.writes and uses.storage.kind is StorageKind.INPUT for uses in table.storages)
    written |= any(
        touch.writes and isinstance(touch.tensor, SystemTensor)
        for op in trace.operations
        for touch in op.touches
    )
    # the end of the kernel stands behind everything, also behind what was not followed
    orders = [*(op.order for op in trace.operations), *(entry.order for entry in trace.ledger)]
    last = max([table.last, *orders]) + 1
    if returned:
        for path, views, span in trace.returns:
            if views:
                continue
            yield Check(
                predicate=E.FALSE,
                span=span,
                text=f"`{trace.kernel}` returns a tensor on every path",
                message=f"`{trace.kernel}` returns a tensor on some paths and nothing on this one",
                facts=_FACTS,
                help=("return the output on every path, or assert that this one is not taken",),
                path=path,
                order=last,
            )
    reason = ""
    if trace.unmodelled:
        reason = trace.unmodelled[0].may("may write to what the kernel is given")
    yield replace(
        _something(trace.kernel, trace.span, trace.generation.returns),
        predicate=E.truth(returned or written),
        exact=not reason,
        reason=reason,
        path=(),
        order=last,
    )


def _something(kernel: str, span: Span, returns: bool) -> Check:
    """A kernel has an effect; ``returns``: kernels return what they make."""
    check = Check(
        predicate=E.FALSE,
        span=span,
        text=f"`{kernel}` writes to a buffer",
        message=f"`{kernel}` writes to none of its buffers: its work is lost",
        facts=_FACTS,
        help=("store the result to one of its buffers, in a place that is come to",),
    )
    if not returns:
        return check
    return replace(
        check,
        text=f"`{kernel}` returns a tensor",
        message=f"`{kernel}` returns nothing: its work is lost",
        help=("allocate a tensor with buffer=nl.shared_hbm, store the result to it and return it",),
    )


def ended_without(event: Ended, target: Target) -> Iterator[Check]:
    """A run that had no effect."""
    trace = event.trace
    returned = any(views for _, views, _ in trace.returns)
    found = _something(trace.kernel, trace.span, trace.generation.returns)
    yield replace(found, predicate=E.truth(returned or event.wrote))


def wasted(event: Wasted, target: Hardware) -> Iterator[Check]:
    """A run that wrote none of its buffers: of others that may be otherwise."""
    yield _something(event.kernel, event.span, returns=False)


def returned_buffers(event: Ended, target: Target) -> Iterable[Check]:
    """As :func:`output_buffers`, of what a run returned."""
    return output_buffers(event.trace, target)


register(
    Rule(
        id="output-buffer",
        code="MEM308",
        family="memory",
        summary="a returned tensor is in shared_hbm",
        reason=(
            "The caller sees device memory only, and of that only what is allocated as shared: "
            "returning a tile or a private tensor does not compile."
        ),
        facts=("NKI-B17", "NKI-B18"),
        on=On.TRACE,
        check=output_buffers,
        monitors=(Monitor(Ended, returned_buffers),),
        replayed=Replayed(Shown.AT_THE_END, whole=True),
        failing=examples.BUFFER_FAILING,
        passing=examples.BUFFER_PASSING,
    )
)

register(
    Rule(
        id="no-output",
        code="MEM311",
        family="memory",
        summary="a kernel returns a tensor or writes to what it is given",
        reason=(
            "Nothing of what it computes can be seen. The compiler of NKI rejects it; on a TPU "
            "every output stays as it was, where no store is come to, whatever the input: there is "
            "none, its loop has no iteration, its condition does not hold."
        ),
        facts=_FACTS,
        on=On.TRACE,
        check=some_output,
        monitors=(Monitor(Ended, ended_without), Monitor(Wasted, wasted, meant=True)),
        replayed=Replayed(Shown.AT_THE_END, whole=True),
        whose=Whose.EVERYBODYS,
        failing=examples.NO_OUTPUT_FAILING,
        passing=examples.NO_OUTPUT_PASSING,
    )
)
