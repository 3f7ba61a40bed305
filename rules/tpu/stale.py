"""Rests of earlier rounds in local memory: what a round computes on beyond what it has loaded
(:mod:`rules.memory.rests`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final

from rules.memory.places import off_chip as part_of
from rules.memory.rests import UNSURE, Placed, Region, Stale, stale, stale_in_order
from rules.memory.steps import OffChip, Step
from rules.tpu import flow, kit, ppl_kit
from rules.tpu.examples import pair
from rules.tpu.kit import words
from rules.tpu.local_steps import off_chip
from verifier.dialects.names import OKK
from verifier.hardware.chips import Chip
from verifier.rulebase import Monitor, On, Replayed, Rule, register
from verifier.symbolic.checks import Check, Note
from verifier.symbolic.effects import Index
from verifier.symbolic.lanes import LocalTensor, SystemTensor
from verifier.symbolic.memory.events import Followed
from verifier.symbolic.tensors import View
from verifier.symbolic.trace import Operation, Trace


def _element(op: Operation, role: str) -> Index:
    """The coordinates of any element of what a function makes."""
    return kit.any_element()


def _check(found: Stale, name: Callable[[Operation], str], run: bool) -> Check:
    op, role = found.step.operation, words(found.read.role)
    what, load = name(op), name(found.load.operation)
    return Check(
        predicate=found.fine,
        span=op.span_of(found.read.role),
        text=f"{role} of `{what}` is all that `{load}` has brought in its round",
        message=f"{role} of `{what}` reaches beyond what `{load}` brings in this round: the rest "
        "is what an earlier round has left",
        facts=("ADR-11", "BUG-03"),
        given=() if run else (*flow.within(op.loops), *found.given),
        values=(
            (f"extent of {role}", found.read.sizes[found.axis]),
            ("of it brought in this round", found.size),
        ),
        notes=(Note(found.load.operation.span, "a part of it is loaded here"),),
        help=("compute on what was loaded alone, or fill the rest in each round",),
        exact=found.sure,
        reason="" if found.sure else UNSURE,
        path=op.path,
        order=op.order,
    )


# ----------------------------------------------------------------------------- places in lanes


def _steps(trace: Trace) -> list[Placed]:
    out: list[Placed] = []
    for op in flow.in_order(trace):
        reads: list[Region] = []
        writes: list[Region] = []
        loads: list[OffChip] = []
        for touch in op.touches:
            if isinstance(touch.tensor, SystemTensor):
                if touch.reads:
                    loads.append(off_chip(touch.tensor))
            elif not touch.destroys:
                region = _of_lanes(touch.role, flow.Use(op, touch, touch.tensor).taken)
                if touch.reads:
                    reads.append(region)
                if touch.writes:
                    writes.append(region)
        out.append(Step(op, tuple(reads), tuple(writes), tuple(loads)))
    return out


def _of_lanes(role: str, tensor: LocalTensor) -> Region:
    return Region(role, id(tensor.address), (tensor.address,), tensor.shape, tensor.strides[3:])


def stale_rests(trace: Trace, chip: Chip) -> Iterable[Check]:
    """One check for each operand that is folded."""
    if not trace.unmodelled:
        yield from (
            _check(found, kit.function, run=False) for found in stale(_steps(trace), _element)
        )


def stale_in_run(event: Followed, chip: Chip) -> Iterator[Check]:
    """As :func:`stale_rests`, of a run."""
    for found in stale_in_order(_steps(event.trace), _element):
        yield _check(found, kit.function, run=True)


_PAIR = pair(
    "row_means",
    "x: okk.SystemAddr, y: okk.SystemAddr",
    """\
okk.initialize()
shape = okk.dim4(1, 20, 1, 300)
for i in range(3):
    part = min(128, 300 - i * 128)
    okk.gdma_32bit_cpy_S2L(0, x + i * 512, okk.dim4(1, 20, 1, part), None,
                           okk.dim4(6000, 300, 300, 1))
    okk.bdc_avg_pool2d(4096, 0, okk.dim4(1, 20, 1, @@), 1, @@, None, None)
    okk.gdma_32bit_cpy_L2S(y + i * 4, 4096, okk.dim4(1, 20, 1, 1), okk.dim4(60, 3, 3, 1), None)
okk.poll()
""",
    "128",
    "part",
)
_REASON: Final = (
    "The last part of a loop is often smaller than the others. Behind it, in its place, lies what "
    "the round before has left. Computing on it does no harm where nothing comes of it; a sum, a "
    "mean or a product that takes it in is wrong."
)

register(
    Rule(
        id="okk-stale-rest",
        code="OKK304",
        family=OKK,
        summary="what a round folds was loaded in that round",
        silent=True,
        reason=_REASON,
        facts=("ADR-11", "BUG-03"),
        on=On.TRACE,
        check=stale_rests,
        monitors=(Monitor(Followed, stale_in_run, meant=True),),
        dialects=(OKK,),
        sources=("OKKernel manual, gdma",),
        failing=_PAIR[0],
        passing=_PAIR[1],
    )
)

# ----------------------------------------------------------------------------- tensors


def _steps_of_tensors(trace: Trace) -> list[Placed]:
    out: list[Placed] = []
    for op in sorted(trace.operations, key=lambda op: op.order):
        if not ppl_kit.is_device(op):
            continue
        reads = [_of_view(role, view) for role, view in op.reads if view.storage.buffer.on_chip]
        writes = [_of_view(role, view) for role, view in op.writes if view.storage.buffer.on_chip]
        loads = [part_of(view) for _, view in op.reads if not view.storage.buffer.on_chip]
        out.append(Step(op, tuple(reads), tuple(writes), tuple(loads)))
    return out


def _of_view(role: str, view: View) -> Region:
    box = view.box
    if box is None:
        return Region(role, id(view.storage), (), ())
    begin = tuple(start for start, _ in box)
    sizes = tuple(size for _, size in box)
    return Region(role, id(view.storage), begin, sizes, (), view.storage.loops)


def stale_tensors(trace: Trace, chip: Chip) -> Iterable[Check]:
    """As :func:`stale_rests`, of tensors."""
    if not trace.unmodelled:
        found = stale(_steps_of_tensors(trace), _element)
        yield from (_check(each, ppl_kit.function, run=False) for each in found)


def stale_tensors_in_run(event: Followed, chip: Chip) -> Iterator[Check]:
    """As :func:`stale_tensors`, of a run."""
    for found in stale_in_order(_steps_of_tensors(event.trace), _element):
        yield _check(found, ppl_kit.function, run=True)


_TENSORS = """\
import ppl
import ppl.language as pl


@ppl.jit
def kernel(y_ptr, x_ptr):
    x_all = pl.gtensor([1, 12, 1, 700], pl.GLOBAL, x_ptr)
    y_all = pl.gtensor([1, 12, 1, 1], pl.GLOBAL, y_ptr)
    t = pl.make_tensor([1, 12, 1, 512], pl.float32)
    total = pl.make_tensor([1, 12, 1, 1], pl.float32)
    mean = pl.make_tensor([1, 12, 1, 1], pl.float32)
    pl.tiu.zero(total)
    for c in range(0, 700, 512):
        part = [1, 12, 1, min(512, 700 - c)]
        {clear}
        pl.dma.load(t.sub_view(part, [0, 0, 0, 0]), x_all.sub_view(part, [0, 0, 0, c]))
        pl.tiu.pool_avg(mean, t, [1, 512], [0, 0, 0, 0], [1, 1], [1, 1], 1.0)
        pl.tiu.fadd(total, total, mean)
    pl.dma.store(y_all, total)
"""

ppl_kit.declare(
    "ppl-stale-rest",
    "PPL082",
    On.TRACE,
    "what a round folds was loaded in that round",
    _REASON,
    ("ADR-11",),
    stale_tensors,
    _TENSORS.format(clear="pass"),
    _TENSORS.format(clear="pl.tiu.zero(t)"),
    silent=True,
    monitors=(Monitor(Followed, stale_tensors_in_run, meant=True),),
    replayed=Replayed(whole=True),
)
