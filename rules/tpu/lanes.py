"""In which lanes the operands of OKK functions start, and strides that depend on it."""

from __future__ import annotations

from collections.abc import Iterator

from rules.tpu import kit
from rules.tpu.examples import pair
from rules.tpu.kit import check, function, words
from rules.tpu.runs import lane_of
from verifier.dialects.names import OKK
from verifier.hardware.chips import Chip
from verifier.rulebase import On, Rule, register
from verifier.symbolic import expr as E
from verifier.symbolic.checks import Check
from verifier.symbolic.trace import Operation


def _start_lane(op: Operation, chip: Chip) -> Iterator[Check]:
    wanted = op.instruction.lanes if op.instruction is not None else None
    if wanted is None:
        return
    name = function(op)
    operands = list(kit.local(op))
    if wanted.first:
        for touch, tensor in operands:
            yield check(
                op,
                touch.role,
                E.lt(tensor.address, chip.local_bytes),
                f"{words(touch.role)} starts in lane 0",
                f"{words(touch.role)} of `{name}` does not start in lane 0",
                *wanted.facts,
                given=(E.ge(tensor.address, 0),),
                values=((f"lane of {words(touch.role)}", lane_of(chip, tensor)),),
            )
        return
    if wanted.roles:
        operands = [(touch, tensor) for touch, tensor in operands if touch.role in wanted.roles]
    for (first, one), (touch, tensor) in zip(operands[:1] * len(operands), operands, strict=True):
        if touch is first:
            continue
        a, b = lane_of(chip, one), lane_of(chip, tensor)
        yield check(
            op,
            touch.role,
            E.eq(a, b),
            f"{words(touch.role)} and {words(first.role)} start in the same lane",
            f"{words(touch.role)} of `{name}` starts in another lane than {words(first.role)}",
            *wanted.facts,
            values=((f"lane of {words(first.role)}", a), (f"lane of {words(touch.role)}", b)),
            help=("an NPU computes with what lies in its own memory",),
        )


_LANE = pair(
    "shifted",
    "x: okk.SystemAddr, y: okk.SystemAddr",
    """\
okk.initialize()
shape = okk.dim4(2, 20, 6, 6)
lane = okk.local_mem_size_per_npu()
start = 3 * lane
result = @@
okk.gdma_32bit_cpy_S2L(start, x, shape, None, None)
okk.bdc_add_C(result, start, 1.5, shape, None, None)
okk.gdma_32bit_cpy_L2S(y, result, shape, None, None)
okk.poll()
""",
    "2048",
    "start + 2048",
)

register(
    Rule(
        id="okk-start-lane",
        code="OKK104",
        family=OKK,
        summary="the operands of a function start in the same lane",
        silent=True,
        reason=(
            "Each NPU reads and writes its own memory: channel c of every operand must lie in the "
            "same lane. Only the input of a convolution and the left matrix go to all NPUs and "
            "are free; packed fixed-point operands start in lane 0. Elsewhere the results are "
            "those of other channels, without a message."
        ),
        facts=(
            "OKK-C01",
            "OKK-C02",
            "OKK-C03",
            "OKK-C04",
            "OKK-Q05",
            "OKK-P20",
            "OKK-P30",
            "ADR-12",
            "ADR-13",
        ),
        on=On.OPERATION,
        check=_start_lane,
        dialects=(OKK,),
        sources=("OKKernel manual, refined interface",),
        failing=_LANE[0],
        passing=_LANE[1],
    )
)


def _stride_lane(op: Operation, chip: Chip) -> Iterator[Check]:
    for touch, tensor in kit.local(op):
        made = kit.origin(op, touch.role)
        if made is None or made.start_lane is None:
            continue
        told, actual = made.start_lane, lane_of(chip, tensor)
        channels, taken = made.shape[1], tensor.shape[1]
        there, here = kit.slots(chip, told, channels), kit.slots(chip, actual, channels)
        own = kit.slots(chip, actual, taken)
        # some channels of a tensor, which start in a lane of theirs, have the strides of all
        part = E.and_(E.lt(taken, channels), E.le(own, there))
        yield check(
            op,
            kit.stride_role(op, touch.role) or touch.role,
            E.or_(
                E.eq(told, actual),
                E.eq(there, here),
                E.eq(there, own),
                part,
                E.le(tensor.shape[0], 1),
            ),
            f"the strides of {words(touch.role)} are those of the lane it starts in",
            f"the strides of {words(touch.role)} were computed for another start lane",
            "LAY-06",
            "ADR-22",
            values=(
                (f"lane of {words(touch.role)}", actual),
                ("lane that the strides are for", told),
                ("channels per lane here", here),
                ("channels per lane there", there),
            ),
            help=("give the stride helper the lane of the address: okk.start_npu_index(address)",),
        )
    for touch, system in kit.system(op):
        made = kit.origin(op, touch.role)
        if made is None or made.start_lane is None:
            continue
        n, c, _, _ = system.shape
        yield check(
            op,
            kit.stride_role(op, touch.role) or touch.role,
            E.or_(E.le(n, 1), E.le(c, 1)),
            f"the strides of {words(touch.role)} are those of system memory",
            f"{words(touch.role)} lies in system memory, its strides are those of local memory",
            "ADR-20",
            values=((f"{words(touch.role)}.n", n), (f"{words(touch.role)}.c", c)),
            help=(
                "in local memory channels share the lanes, in system memory they follow each "
                "other: okk.continuous_stride",
            ),
        )


_STRIDE_LANE = pair(
    "placed",
    "x: okk.SystemAddr, y: okk.SystemAddr",
    """\
okk.initialize()
shape = okk.dim4(3, 60, 2, 5)
start = 10 * okk.local_mem_size_per_npu()
stride = okk.aligned_stride_32bit(@@, shape)
okk.gdma_32bit_cpy_S2L(start, x, shape, stride, None)
okk.gdma_32bit_cpy_L2S(y, start, shape, None, stride)
okk.poll()
""",
    "0",
    "okk.start_npu_index(start)",
)

register(
    Rule(
        id="okk-stride-lane",
        code="OKK105",
        family=OKK,
        summary="strides are used in the lane that they were computed for",
        silent=True,
        reason=(
            "How many channels a lane holds depends on the lane in which a tensor starts, and the "
            "batch stride counts them. Strides of another start lane put batches on top of each "
            "other, or leave gaps that no other function expects. In system memory channels "
            "follow each other, so that strides of local memory put batches into each other."
        ),
        facts=("LAY-06", "ADR-20", "ADR-21", "ADR-22"),
        on=On.OPERATION,
        check=_stride_lane,
        dialects=(OKK,),
        sources=("OKKernel manual, layout",),
        failing=_STRIDE_LANE[0],
        passing=_STRIDE_LANE[1],
    )
)
