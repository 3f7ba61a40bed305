"""Results of which nothing comes to what is stored (:mod:`rules.tpu.losses`), in tensors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from rules.memory.words import subject
from rules.tpu.losses import losses, losses_in_run
from rules.tpu.ppl_kit import declare, elementwise, function, is_device
from rules.tpu.ppl_steps import ViewSteps
from rules.tpu.rounds import astray, astray_in_run
from verifier.hardware.chips import Chip
from verifier.rulebase import Monitor, On, Replayed
from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.checks import Check
from verifier.symbolic.memory.events import Followed
from verifier.symbolic.tensors import StorageKind
from verifier.symbolic.trace import Operation, Trace

_FACTS: Final = ("ADR-11",)


def lost_results(trace: Trace, chip: Chip) -> Iterable[Check]:
    """One check per place that makes results."""
    # an operation that is not modelled may read any of them, and so may what comes after an error
    if not trace.unmodelled and trace.completes and not trace.dies:
        yield from _unread(trace)
        yield from astray(_in_order(trace), ViewSteps(trace, _stores(trace)), _Said())


def lost_in_run(event: Followed, chip: Chip) -> Iterator[Check]:
    """As :func:`lost_results`, of a run."""
    trace = event.trace
    yield from _unread(trace, run=True)
    yield from astray_in_run(_in_order(trace), ViewSteps(trace, _stores(trace)), _Said())


def _unread(trace: Trace, *, run: bool = False) -> Iterator[Check]:
    """One check per place that makes results of which nothing that is stored is made.

    ``run``: the trace is one of a run.
    """
    stores = _stores(trace)
    if not stores:  # that is told of the kernel
        return
    operations = _in_order(trace)
    judged = {id(op) for op in operations if is_device(op) and op.reads and op.writes}
    places = ViewSteps(trace, stores)
    demands = [item.condition for item in trace.assumptions]
    lost = (
        losses_in_run(operations, places, judged)
        if run
        else losses(operations, places, stores, judged, demands)
    )
    for loss in lost:
        by = None if loss.again is None else f"pl.{function(loss.again)}"
        what = f"the result of `pl.{function(loss.lost)}`"
        yield from loss.told(_told(loss.lost), what, by)


def _stores(trace: Trace) -> set[int]:
    """The operations that store, and others of which others than the kernel see something; empty
    if nothing is stored."""
    out = [
        op
        for op in trace.operations
        if not is_device(op)
        or not op.writes
        or any(not view.storage.buffer.on_chip for _, view in op.writes)
    ]
    return {id(op) for op in out} if any(op.writes for op in out) else set()


class _Said:
    facts: tuple[str, ...] = _FACTS

    def function(self, op: Operation) -> str:
        return f"pl.{function(op)}"

    def told_of(self, op: Operation, *, writes: bool) -> tuple[str, Span]:
        views = op.writes if writes else op.reads
        role, view = next((role, view) for role, view in views if view.storage.buffer.on_chip)
        made = view.storage.kind is StorageKind.RESULT and not op.operands[role].given
        what = "the result" if writes else f"`{view.storage.name}`"
        return f"{what} of `pl.{function(op)}`", op.span if made else op.span_of(role)


def _in_order(trace: Trace) -> list[Operation]:
    return sorted(trace.operations, key=lambda op: op.order)


def _told(op: Operation) -> Check:
    what, view = function(op), op.writes[0][1]
    made = view.storage.kind is StorageKind.RESULT and not op.operands[op.writes[0][0]].given
    name = f"`{view.storage.name}`"
    named = "a tensor without a name" if made else name
    return Check(
        predicate=E.FALSE,
        span=op.span if made else op.span_of(op.writes[0][0]),
        text=f"something that is stored is made of the result of `pl.{what}`",
        message=f"nothing that is stored hangs on the result of `pl.{what}`, {named}",
        facts=_FACTS,
        subject=subject(view.storage),
        help=(_help(op, made),),
        path=op.path,
        order=op.order,
    )


def _help(op: Operation, made: bool) -> str:
    for name in ("num_iter", "shift", "saturation"):
        operand = op.operands.get(name)
        if made and operand is not None and operand.given:
            return (
                f"a constant that comes last is its `{name}`, and what stands first no destination "
                "then: assign the constant to a name first"
            )
    if made:
        return "give it a destination first, or a name"
    return "use the result, or leave the operation out"


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
