"""The strides that OKK functions are given: their fields, and elements at one place."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations

from rules.tpu import kit
from rules.tpu.examples import pair
from rules.tpu.kit import check, function, words
from rules.tpu.runs import lane_of
from verifier.dialects.names import OKK
from verifier.hardware.chips import Chip
from verifier.rulebase import On, Rule, register
from verifier.symbolic import expr as E
from verifier.symbolic.checks import Check
from verifier.symbolic.expr import Expr
from verifier.symbolic.instruction import Trait
from verifier.symbolic.lanes import AXES, LocalTensor, Quad, SystemTensor
from verifier.symbolic.trace import Operation


def _stride_fields(op: Operation, chip: Chip) -> Iterator[Check]:
    name = function(op)
    paired = Trait.CONVOLVES in op.traits
    if paired:
        yield check(
            op,
            "kernel_stride",
            E.truth(op.value("kernel_stride") is not None),
            "kernel_stride is given",
            f"`{name}` needs the strides of its weights",
            "OKK-D02",
            help=("okk.compact_stride of the weights' shape in pairs of input channels",),
        )
    copies = kit.transfers(op) and bool(kit.described(op).footprint.reads)
    for touch in op.touches:
        tensor = touch.tensor
        role = kit.stride_role(op, touch.role)
        if not tensor.given or role is None:
            continue
        if copies:
            step = tensor.strides[3]
            yield check(
                op,
                role,
                E.eq(step, 1),
                f"{role}.w == 1",
                f"`{name}` copies rows without gaps only: {role}.w is not 1",
                "OKK-D03",
                values=((f"{role}.w", step),),
            )
        elif kit.computes(op):
            given = tensor.strides[:2] if paired else tensor.strides
            fact = "OKK-P12" if paired else "OKK-D04"
            yield check(
                op,
                role,
                E.and_(*(kit.between(step, 0, (1 << chip.stride_bits) - 1) for step in given)),
                f"0 <= every stride of {role} < {1 << chip.stride_bits}",
                f"a stride in {role} of `{name}` does not fit its field",
                fact,
                values=tuple(
                    (f"{role}.{axis}", step) for axis, step in zip(AXES, given, strict=False)
                ),
            )


_FIELDS = pair(
    "columns",
    "x: okk.SystemAddr, y: okk.SystemAddr",
    """\
okk.initialize()
shape = okk.dim4(1, 5, 8, 6)
okk.gdma_32bit_cpy_S2L(0, x, shape, None, @@)
okk.gdma_32bit_cpy_L2S(y, 0, shape, None, None)
okk.poll()
""",
    "okk.dim4(480, 96, 12, 2)",
    "okk.dim4(480, 96, 12, 1)",
)

register(
    Rule(
        id="okk-stride-fields",
        code="OKK106",
        family=OKK,
        summary="strides are given where they must be, and fit their fields",
        silent=True,
        reason=(
            "Copies move rows whose elements follow each other: the w stride must be 1. Compute "
            "functions hold strides in 19 bits without a sign. A convolution has no default for "
            "the strides of its weights and crashes without them."
        ),
        facts=("OKK-D01", "OKK-D02", "OKK-D03", "OKK-D04", "OKK-P07", "OKK-P12"),
        on=On.OPERATION,
        check=_stride_fields,
        dialects=(OKK,),
        sources=("OKKernel manual, refined interface",),
        failing=_FIELDS[0],
        passing=_FIELDS[1],
    )
)


def _lost_writes(op: Operation, chip: Chip) -> Iterator[Check]:
    for touch in op.touches:
        tensor = touch.tensor
        if not touch.writes or not tensor.given:
            continue
        counts = _counts(chip, tensor)
        role = kit.stride_role(op, touch.role)
        span = role or touch.role
        # of no more channels than there are lanes no two are in one lane, wherever they start
        spread = isinstance(tensor, LocalTensor)
        spare = E.le(tensor.shape[1], chip.lanes) if spread else E.FALSE
        single = (E.FALSE, spare, E.FALSE, E.FALSE)
        yield check(
            op,
            span,
            E.and_(
                *(
                    E.or_(E.le(count, 1), E.ne(step, 0), alone)
                    for count, step, alone in zip(counts, tensor.strides, single, strict=True)
                )
            ),
            f"no stride of {words(touch.role)} is 0 along more than one element",
            f"`{function(op)}` writes many elements to one place: a stride of "
            f"{words(touch.role)} is 0",
            "ADR-23",
            "OKK-D05",
            values=tuple(
                (f"{role}.{axis}", step) for axis, step in zip(AXES, tensor.strides, strict=True)
            ),
            help=("a stride of 0 repeats a source; of a result only the last element remains",),
        )
        if all(step.is_const and step.const == 0 for step in tensor.strides):
            continue
        yield _injective(op, span, touch.role, tensor, counts, chip)


def _counts(chip: Chip, tensor: LocalTensor | SystemTensor) -> Quad:
    n, c, h, w = tensor.shape
    if isinstance(tensor, SystemTensor):
        return n, c, h, w
    return n, kit.slots(chip, lane_of(chip, tensor), c), h, w


def _injective(
    op: Operation,
    span: str,
    role: str,
    tensor: LocalTensor | SystemTensor,
    counts: Quad,
    chip: Chip,
) -> Check:
    """No two elements at one place: two of them, in one lane, whose index differs."""
    first = [_position(axis, count) for axis, count in zip(AXES, counts, strict=True)]
    second = [_position(axis, count) for axis, count in zip(AXES, counts, strict=True)]
    here, there = E.const(0), E.const(0)
    for a, b, step in zip(first, second, tensor.strides, strict=True):
        here, there = here + a * step, there + b * step
    same = E.and_(*(E.eq(a, b) for a, b in zip(first, second, strict=True)))
    nested = _nested(tensor.strides, counts)
    apart = E.FALSE
    if isinstance(tensor, LocalTensor):
        apart = _lanes_apart(chip, tensor, first[1], second[1])
    predicate = E.TRUE
    if nested is not E.TRUE:
        predicate = E.or_(nested, same, E.ne(here, there), apart)
    ranges = tuple(
        E.lt(position, count)
        for position, count in zip((*first, *second), (*counts, *counts), strict=True)
    )
    return check(
        op,
        span,
        predicate,
        f"no two elements of {words(role)} lie at one place",
        f"`{function(op)}` writes two elements of {words(role)} to one place",
        "ADR-24",
        given=() if predicate is E.TRUE else tuple(f for f in ranges if f is not E.TRUE),
        values=tuple(
            (f"stride of {words(role)} along {axis}", step)
            for axis, step in zip(AXES, tensor.strides, strict=True)
        ),
    )


def _lanes_apart(chip: Chip, tensor: LocalTensor, one: Expr, other: Expr) -> E.Bool:
    """Whether no lane has both of two rounds of channels (ADR-06).

    The first round begins at the start lane, and a later one ends before it where the channels are
    used up: then the two are in different lanes. All others are in lane 0.
    """
    lane, channels = lane_of(chip, tensor), tensor.shape[1]
    if lane.is_const and lane.const == 0:
        return E.FALSE

    def ends(first: Expr, later: Expr) -> E.Bool:
        used_up = E.le(channels, later * chip.lanes)
        return E.and_(E.eq(first, 0), E.gt(later, 0), used_up)

    return E.or_(ends(one, other), ends(other, one))


def _position(axis: str, count: Expr) -> Expr:
    if count.is_const and count.const == 1:
        return E.const(0)
    return E.fresh(axis, 0, None, E.Origin.POINT)


def _nested(strides: Quad, counts: Quad) -> E.Bool:
    """Whether each stride is not below the extent of the axes within it.

    Which axes lie within which is tried out; of the orders the one is taken of which folding tells
    most. That suffices for elements at different places, it is not needed.
    """
    best: list[E.Bool] | None = None
    for order in permutations((3, 2, 1, 0)):
        reach: Expr = E.const(1)
        facts: list[E.Bool] = []
        for axis in order:
            step, count = strides[axis], counts[axis]
            once = E.eq(count, 1)
            facts.append(E.or_(once, E.ge(step, reach)))
            if once is not E.TRUE:
                reach = reach + (count - 1) * step
        open_ = [fact for fact in facts if fact is not E.TRUE]
        if E.FALSE not in open_ and (best is None or len(open_) < len(best)):
            best = open_
        if not open_:
            break
    return E.FALSE if best is None else E.and_(*best)


_LOST = pair(
    "spread",
    "x: okk.SystemAddr, y: okk.SystemAddr",
    """\
okk.initialize()
shape = okk.dim4(1, 7, 4, 10)
stride = okk.dim4(0, 0, @@, 1)
okk.gdma_32bit_cpy_S2L(0, x, shape, stride, None)
okk.gdma_32bit_cpy_L2S(y, 0, shape, None, stride)
okk.poll()
""",
    "9",
    "10",
)

register(
    Rule(
        id="okk-overlapping-elements",
        code="OKK107",
        family=OKK,
        summary="the elements of a result lie at different places",
        silent=True,
        reason=(
            "Strides that are smaller than what lies within them, or 0, put several elements of "
            "a result at one place: the last one remains. For a source that is a way to repeat "
            "elements."
        ),
        facts=("ADR-23", "ADR-24", "OKK-D05", "LAY-F"),
        on=On.OPERATION,
        check=_lost_writes,
        dialects=(OKK,),
        sources=("OKKernel manual, layout",),
        failing=_LOST[0],
        passing=_LOST[1],
    )
)
