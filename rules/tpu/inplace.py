"""Operands of one function that share memory."""

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
from verifier.symbolic.lanes import LocalTensor
from verifier.symbolic.trace import Operation


def _work(op: Operation, chip: Chip) -> Iterator[Check]:
    operands = {touch.role: tensor for touch, tensor in kit.local(op)}
    roles = [role for role in kit.described(op).roles if role.name in operands]
    apart = {role.name: role.apart for role in roles if role.apart}
    done: set[str] = set()
    for role, wanted in apart.items():
        work = operands[role]
        done.add(role)
        for other, tensor in operands.items():
            if other in done or (wanted.roles and other not in wanted.roles):
                continue
            disjoint, ranges = kit.apart(chip, work, tensor)
            yield check(
                op,
                role,
                disjoint,
                f"{words(role)} and {words(other)} share no memory",
                f"{words(role)} of `{function(op)}` overlaps its {words(other)}",
                wanted.fact,
                given=ranges,
                values=(
                    (f"{words(role)} address", work.address),
                    (f"{words(other)} address", tensor.address),
                    (f"bytes per lane of {words(other)}", kit.block(chip, tensor).length),
                ),
                help=("give it a tensor of its own: it holds intermediate results",),
            )


_WORK_EXAMPLE = pair(
    "exponential",
    "x: okk.SystemAddr, y: okk.SystemAddr",
    """\
okk.initialize()
shape = okk.dim4(2, 30, 3, 3)
okk.gdma_32bit_cpy_S2L(0, x, shape, None, None)
okk.bdc_exp(1024, 0, @@, shape)
okk.gdma_32bit_cpy_L2S(y, 1024, shape, None, None)
okk.poll()
""",
    "1024",
    "2048",
)

register(
    Rule(
        id="okk-work-tensor",
        code="OKK231",
        family=OKK,
        summary="a work tensor shares no memory with the other operands",
        silent=True,
        reason=(
            "Functions with a work tensor keep intermediate results there while they read the "
            "source and write the result. Shared with either of them, the results are garbage."
        ),
        facts=("OKK-E01", "OKK-E02"),
        on=On.OPERATION,
        check=_work,
        dialects=(OKK,),
        sources=("OKKernel manual, fp32_unary",),
        failing=_WORK_EXAMPLE[0],
        passing=_WORK_EXAMPLE[1],
    )
)


def _partly_in_place(op: Operation, chip: Chip) -> Iterator[Check]:
    if not kit.computes(op) and not kit.transfers(op):
        return
    operands = [(touch, tensor) for touch, tensor in kit.local(op) if not touch.destroys]
    results = [(touch, tensor) for touch, tensor in operands if touch.writes]
    for touch, result in results:
        for other, source in operands:
            if other is touch or not other.reads:
                continue
            disjoint, ranges = kit.apart(chip, result, source)
            in_place = _in_place(op, chip, result, source)
            yield check(
                op,
                touch.role,
                E.or_(in_place, disjoint),
                f"{words(touch.role)} and {words(other.role)} are the same or share no memory",
                f"{words(touch.role)} of `{function(op)}` overlaps its {words(other.role)} in part",
                "OKK-E04",
                "OKK-E03",
                given=() if in_place is E.TRUE else ranges,
                values=(
                    (f"{words(touch.role)} address", result.address),
                    (f"{words(other.role)} address", source.address),
                    (f"bytes per lane of {words(other.role)}", kit.block(chip, source).length),
                ),
                help=("which elements are read before they are overwritten is not defined",),
            )


def _in_place(op: Operation, chip: Chip, result: LocalTensor, source: LocalTensor) -> E.Bool:
    """Whether each element of the result lies where the function reads the same element."""
    if kit.is_window(op) or kit.has_matrices(kit.described(op)):
        return E.FALSE
    counts = (
        result.shape[0],
        kit.slots(chip, lane_of(chip, result), result.shape[1]),
        result.shape[2],
        result.shape[3],
    )
    return E.and_(
        E.eq(result.address, source.address),
        E.eq(result.dtype.itemsize, source.dtype.itemsize),
        *(E.eq(a, b) for a, b in zip(result.shape, source.shape, strict=True)),
        *(
            E.or_(E.le(count, 1), E.eq(a, b))
            for count, a, b in zip(counts, result.strides, source.strides, strict=True)
        ),
    )


_PARTLY = pair(
    "shift_rows",
    "x: okk.SystemAddr, y: okk.SystemAddr",
    """\
okk.initialize()
shape = okk.dim4(1, 16, 10, 8)
okk.gdma_32bit_cpy_S2L(0, x, shape, None, None)
okk.bdc_add_C(@@, 0, 1.0, shape, None, None)
okk.gdma_32bit_cpy_L2S(y, @@, shape, None, None)
okk.poll()
""",
    "128",
    "0",
)

register(
    Rule(
        id="okk-partly-in-place",
        code="OKK232",
        family=OKK,
        summary="a result lies exactly where its source does, or shares nothing with it",
        silent=True,
        reason=(
            "Elementwise functions may work in place: each element is read before it is written. "
            "When ranges overlap at different addresses, the order in which the hardware takes "
            "elements decides, and nobody promises one: the same is true of a copy within local "
            "memory. Windows and matrices never work in place."
        ),
        facts=("OKK-E03", "OKK-E04"),
        on=On.OPERATION,
        check=_partly_in_place,
        dialects=(OKK,),
        sources=("OKKernel manual, refined interface",),
        failing=_PARTLY[0],
        passing=_PARTLY[1],
    )
)
