"""Results of which nothing comes to what is stored (:mod:`rules.memory.losses`), in tensors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rules.memory.losses import Asked
from rules.memory.places import ViewSteps
from rules.memory.words import subject
from rules.tpu.ppl_kit import declare, elementwise, function, is_device
from rules.tpu.rounds import lost_or_astray
from verifier.hardware.chips import Chip
from verifier.rulebase import Monitor, On, Replayed
from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.checks import Check
from verifier.symbolic.memory.events import Followed
from verifier.symbolic.tensors import StorageKind, View
from verifier.symbolic.trace import Operation, Trace


def lost_results(trace: Trace, chip: Chip) -> Iterable[Check]:
    """One check per place that makes results of which nothing that is stored is made, and one per
    loop in which parts go astray."""
    # an operation that is not modelled may read any of them, and so may what comes after an error
    if not trace.unmodelled and trace.completes and not trace.dies:
        yield from _lost(trace)


def lost_in_run(event: Followed, chip: Chip) -> Iterator[Check]:
    """As :func:`lost_results`, of a run."""
    yield from _lost(event.trace, run=True)


def _lost(trace: Trace, *, run: bool = False) -> Iterator[Check]:
    """``run``: the trace is one of a run."""
    operations = sorted(trace.operations, key=lambda op: op.order)
    stores = _stores(trace)
    # (that nothing is stored at all is told of the kernel)
    judged = {id(op) for op in operations if is_device(op) and op.reads and op.writes and stores}
    demands = [item.condition for item in trace.assumptions]
    places = ViewSteps(trace, stores)
    yield from lost_or_astray(Asked(operations, places, stores, judged, _Words(), demands, run=run))


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


class _Words:
    facts: tuple[str, ...] = ("ADR-11",)

    def function(self, op: Operation) -> str:
        return f"pl.{function(op)}"

    def told_of(self, op: Operation, *, writes: bool) -> tuple[str, Span]:
        found = list(op.writes if writes else op.reads)
        found.sort(key=lambda pair: not pair[1].storage.buffer.on_chip)
        role, view = found[0]
        what = "the result" if writes else f"`{view.storage.name}`"
        return f"{what} of `pl.{function(op)}`", _span(op, role, view)

    def never(self, op: Operation) -> Check:
        what, (role, view) = function(op), op.writes[0]
        made = _is_made(op, role, view)
        named = "a tensor without a name" if made else f"`{view.storage.name}`"
        return Check(
            predicate=E.FALSE,
            span=_span(op, role, view),
            text=f"something that is stored is made of the result of `pl.{what}`",
            message=f"nothing that is stored hangs on the result of `pl.{what}`, {named}",
            facts=self.facts,
            subject=subject(view.storage),
            help=(_help(op, made),),
            path=op.path,
            order=op.order,
        )


def _is_made(op: Operation, role: str, view: View) -> bool:
    """Whether a call makes a tensor for its result."""
    return view.storage.kind is StorageKind.RESULT and not op.operands[role].given


def _span(op: Operation, role: str, view: View) -> Span:
    return op.span if _is_made(op, role, view) else op.span_of(role)


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
    "all, and what a pipeline leaves out because one of its stages takes another buffer, or other "
    "rounds, than the stage before. Constants, and doing the very same twice, are fine.",
    ("ADR-11",),
    lost_results,
    elementwise("pl.tiu.fmul(b, a, 2.0)\npl.tiu.zero(b)"),
    elementwise("pl.tiu.zero(b)\npl.tiu.fmul(b, a, 2.0)"),
    silent=True,
    monitors=(Monitor(Followed, lost_in_run, meant=True),),
    replayed=Replayed(whole=True, told_as=("ppl-lost-result",)),
)
