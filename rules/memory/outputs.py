"""What a kernel returns, and from where."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from rules.memory import examples
from verifier.hardware.catalogue import Hardware
from verifier.hardware.memories import Buffer
from verifier.hardware.targets import Target
from verifier.rulebase import Monitor, On, Replayed, Rule, Shown, Whose, register
from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.checks import Check, Note
from verifier.symbolic.memory.events import Ended, Wasted
from verifier.symbolic.memory.index import index
from verifier.symbolic.tensors import StorageKind
from verifier.symbolic.trace import Trace


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


def some_output(trace: Trace, target: Target) -> Iterable[Check]:
    """One check per kernel: it returns a tensor or writes one of its parameters."""
    if trace.dies or trace.opaque_return:  # the kernel is not called verified then, anyway
        return
    table = index(trace)
    returned = any(views for _, views, _ in trace.returns)
    written = any(uses.writes and uses.storage.kind is StorageKind.INPUT for uses in table.storages)
    modelled = not trace.unmodelled
    # the end of the kernel stands behind everything, also behind what was not followed
    last = max([table.last, *(entry.order for entry in trace.ledger)]) + 1
    if returned:
        for path, views, span in trace.returns:
            if views:
                continue
            yield Check(
                predicate=E.FALSE,
                span=span,
                text=f"`{trace.kernel}` returns a tensor on every path",
                message=f"`{trace.kernel}` returns a tensor on some paths and nothing on this one",
                facts=("NKI-E30",),
                help=("return the output on every path, or assert that this one is not taken",),
                path=path,
                order=last,
            )
    yield replace(
        _something(trace, returned or written),
        exact=modelled,
        reason="" if modelled else "a call without a model may write a parameter",
        path=(),
        order=last,
    )


def _something(trace: Trace, fine: bool) -> Check:
    """A kernel has an effect."""
    return Check(
        predicate=E.truth(fine),
        span=trace.span,
        text=f"`{trace.kernel}` returns a tensor",
        message=f"`{trace.kernel}` returns nothing: its work is lost",
        facts=("NKI-E30",),
        help=(
            ("allocate a tensor with buffer=nl.shared_hbm, store the result to it and return it",)
            if trace.generation.returns
            else ("store the result to a global tensor",)
        ),
    )


def ended_without(event: Ended, target: Target) -> Iterator[Check]:
    """A run that had no effect."""
    returned = any(views for _, views, _ in event.trace.returns)
    yield _something(event.trace, returned or event.wrote)


def wasted(event: Wasted, target: Hardware) -> Iterator[Check]:
    """A run that wrote none of its buffers: of others that may be otherwise."""
    yield no_buffer_written(event.kernel, event.span)


def no_buffer_written(kernel: str, span: Span) -> Check:
    """A kernel writes to what it is given."""
    return Check(
        predicate=E.FALSE,
        span=span,
        text=f"`{kernel}` writes to a buffer",
        message=f"`{kernel}` writes to none of its buffers: its work is lost",
    )


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
        summary="a kernel returns a tensor or writes one of its parameters",
        reason="Nothing of what it computes can be seen; the compiler rejects it.",
        facts=("NKI-E30", "PPL-A03"),
        on=On.TRACE,
        check=some_output,
        monitors=(Monitor(Ended, ended_without), Monitor(Wasted, wasted, meant=True)),
        replayed=Replayed(Shown.AT_THE_END, whole=True),
        whose=Whose.OF_TENSORS,
        failing=examples.NO_OUTPUT_FAILING,
        passing=examples.NO_OUTPUT_PASSING,
    )
)
