"""Inputs in system memory of which only whole parts are read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from itertools import product

from rules.memory.skipped import part_unread, unread_parts
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
from verifier.symbolic.tensors import Loop, Mark, Storage, View
from verifier.symbolic.trace import Operation, Trace


def dropped_tails(trace: Trace, chip: Chip) -> Iterable[Check]:
    """One check per dimension of a declared buffer of which only whole parts are read."""
    if trace.completes:
        yield from unread_tails(list(_declared(trace)), trace)


def skipped_parts(trace: Trace, chip: Chip) -> Iterable[Check]:
    """One check per read of a declared buffer and gap that the loop around it leaves there.

    Only of loops that add up, as :mod:`rules.memory.skipped` says.
    """
    if trace.completes:
        adds_up = partial(_adds_up, trace)
        yield from unread_parts(_declared(trace), trace, adds_up, adds_up)


def _adds_up(trace: Trace, loop: Loop) -> bool:
    """Whether something in a loop goes on with what it finds in its place, and what the loop stores
    goes to one place."""
    inside = [op for op in trace.operations if any(loop is other for other in op.loops)]
    stored = (t for op in inside for touch, t in kit.system(op) if touch.writes)
    if any(loop.symbol in term.free() for t in stored for term in (t.address.offset, *t.shape)):
        return False
    return any(
        written.writes
        and read.reads
        and loop.symbol not in a.address.free()
        and kit.same_place(a, b)
        for op in inside
        for (written, a), (read, b) in product(kit.local(op), kit.local(op))
    )


def _declared(trace: Trace) -> Iterator[Uses]:
    """What is moved from and to the declared buffers, as parts of them."""
    known = Known([item.condition for item in trace.assumptions])
    moved: dict[int, list[tuple[Operation, Touch, SystemTensor]]] = {}
    for op in sorted(trace.operations, key=lambda op: op.order):
        for touch, tensor in kit.system(op):
            if tensor.address.storage.marks.get(Mark.DECLARED) is True:
                moved.setdefault(id(tensor.address.storage), []).append((op, touch, tensor))
    for each in moved.values():
        uses = _uses(each[0][2].address.storage, each, known)
        if uses is not None:
            yield uses


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

_SUM = """\
import okk


# tilelint: contract (blocks: B, y: fp32[24, 90], x: fp32[B, 24, 90]) where B >= 2, B <= 500
@okk.kernel
def total(blocks: int, y: okk.SystemAddr, x: okk.SystemAddr):
    okk.initialize()
    shape = okk.dim4(1, 24, 1, 90)
    okk.bdc_32bit_set_C(4096, okk.x32.fp32(0.0), shape, None)
    for b in range(@@blocks):
        okk.gdma_32bit_cpy_S2L(0, x + b * 8640, shape, None, None)
        okk.bdc_add(4096, 4096, 0, shape, None, None, None)
    okk.gdma_32bit_cpy_L2S(y, 4096, shape, None, None)
    okk.poll()
"""

register(
    Rule(
        id="okk-input-part",
        code="OKK406",
        family=OKK,
        summary="a loop that adds up a declared input leaves out no part of it",
        silent=True,
        reason=(
            "A sum that begins with the second block, ends before the last one, takes every other "
            "block or the first one each time is complete and wrong. Loops that copy a part to "
            "places of its own are not judged. How large the input is must be declared in a "
            "contract."
        ),
        facts=("BUG-01", "BUG-03"),
        on=On.TRACE,
        check=skipped_parts,
        monitors=(Monitor(Reached, part_unread, meant=True),),
        replayed=Replayed(Shown.SUBJECT, whole=True),
        dialects=(OKK,),
        sources=("OKKernel manual, gdma",),
        failing=_SUM.replace("@@", "1, "),
        passing=_SUM.replace("@@", ""),
    )
)
