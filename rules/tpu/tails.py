"""Inputs in system memory of which only whole parts are read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rules.memory.tails import tail_unread, unread_tails
from rules.tpu import buffers, flow, kit
from verifier.dialects.names import OKK
from verifier.hardware.chips import Chip
from verifier.rulebase import Monitor, On, Replayed, Rule, Shown, register
from verifier.symbolic.checks import Check
from verifier.symbolic.lanes import SystemTensor, Touch
from verifier.symbolic.memory.events import Reached
from verifier.symbolic.memory.index import Access, Uses
from verifier.symbolic.memory.known import Known
from verifier.symbolic.tensors import Mark, Storage, View
from verifier.symbolic.trace import Operation, Trace


def dropped_tails(trace: Trace, chip: Chip) -> Iterable[Check]:
    """One check per dimension of a declared buffer of which only whole parts are read."""
    if not trace.completes:
        return
    known = Known([item.condition for item in trace.assumptions])
    moved: dict[int, list[tuple[Operation, Touch, SystemTensor]]] = {}
    for op in sorted(trace.operations, key=lambda op: op.order):
        for touch, tensor in kit.system(op):
            if tensor.address.storage.marks.get(Mark.DECLARED) is True:
                moved.setdefault(id(tensor.address.storage), []).append((op, touch, tensor))
    found = [_uses(each[0][2].address.storage, each, known) for each in moved.values()]
    yield from unread_tails([uses for uses in found if uses is not None], trace)


def _uses(
    storage: Storage, moved: list[tuple[Operation, Touch, SystemTensor]], known: Known
) -> Uses | None:
    """What is moved from and to a buffer as parts of it, seen in rows in which it is such."""
    for frame in buffers.frames(storage, [(op, tensor) for op, _, tensor in moved]):
        views = [_part(storage, frame, op, tensor, known) for op, _, tensor in moved]
        if None in views:
            continue
        uses = Uses(storage)
        for (op, touch, _), view in zip(moved, views, strict=True):
            assert view is not None
            access = Access(op, touch.role, view, op.loops)
            (uses.writes if touch.writes else uses.reads).append(access)
        return uses
    return None


def _part(
    storage: Storage, frame: buffers.Frame, op: Operation, tensor: SystemTensor, known: Known
) -> View | None:
    here = known.also((*op.path, *flow.within(op.loops)), op.loops)
    found = buffers.placed(storage, frame, tensor, here, op.loops)
    return found.view if found.exact else None


def tail_unread_in_run(event: Reached, chip: Chip) -> Iterator[Check]:
    """A buffer that a run reads, but not to its end, or neither reads nor writes."""
    if event.read or not event.written:
        yield from tail_unread(event, chip)


_FAILING = """\
import okk


# tilelint: contract (depth: K, y: fp32[21, 90], a: fp32[21, K], b: fp32[K, 90]) where K >= 256
@okk.kernel
def product(depth: int, y: okk.SystemAddr, a: okk.SystemAddr, b: okk.SystemAddr):
    okk.initialize()
    for s in range(depth // 256):
        okk.gdma_32bit_matrix_S2L(0, a + s * 1024, 21, 256, 16, depth)
        okk.gdma_32bit_matrix_S2L(65536, b + s * 256 * 360, 256, 90, 15, 90)
        okk.bdc_matmul(131072, 0, 65536, 0, 21, 256, 90, 16, 15, False, s > 0)
    okk.gdma_32bit_matrix_L2S(y, 131072, 21, 90, 15, 90)
    okk.poll()
"""
_PASSING = _FAILING.replace("where K >= 256", "where K >= 256, K % 256 == 0")

register(
    Rule(
        id="okk-input-tail",
        code="OKK405",
        family=OKK,
        summary="a loop over `n // part` parts leaves no rest of a declared input unread",
        silent=True,
        reason=(
            "When the part does not divide the dimension, the last one is skipped. Along a "
            "dimension that is summed over, such as the contraction of a matrix multiplication, "
            "the result is complete and wrong. How large the input is must be declared in a "
            "contract."
        ),
        facts=("BUG-01", "BUG-03"),
        on=On.TRACE,
        check=dropped_tails,
        monitors=(Monitor(Reached, tail_unread_in_run, meant=True),),
        replayed=Replayed(Shown.SUBJECT, whole=True),
        dialects=(OKK,),
        sources=("OKKernel manual, gdma",),
        failing=_FAILING,
        passing=_PASSING,
    )
)
