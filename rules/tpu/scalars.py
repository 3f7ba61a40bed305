"""Numbers among the arguments: terms of a series, amounts of shifts, types of packed operands."""

from __future__ import annotations

from collections.abc import Iterator

from rules.tpu import kit
from rules.tpu.examples import pair
from rules.tpu.kit import check, function
from verifier.dialects.names import OKK
from verifier.hardware.chips import Chip
from verifier.rulebase import On, Rule, register
from verifier.symbolic import expr as E
from verifier.symbolic.checks import Check
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.roles import RangeBy, Role
from verifier.symbolic.trace import Operation


def _scalars(op: Operation, chip: Chip) -> Iterator[Check]:
    for role in kit.described(op).roles:
        limit, value = role.value, kit.number(op, role.name)
        if limit is None or value is None:
            continue
        yield check(
            op,
            role.name,
            limit.holds(value),
            f"{limit.least} <= {role.name} <= {limit.most}",
            f"{role.about} of `{function(op)}` is not between {limit.least} and {limit.most}",
            limit.fact,
            values=((role.name, value),),
        )
        if (limit.least, limit.most) == (-chip.shift_end, chip.shift_end):
            yield check(
                op,
                role.name,
                E.and_(E.ne(value, chip.shift_end), E.ne(value, -chip.shift_end)),
                f"the amount is not {chip.shift_end}",
                f"a shift by {chip.shift_end} does not fit the 6 bits of the instruction",
                "OKK-Y03",
                "OQ-02",
                values=((role.name, value),),
                severity="warning",
            )


_NAMES_SERIES = pair(
    "exponential",
    "terms: int, x: okk.SystemAddr, y: okk.SystemAddr",
    """\
assert 1 <= terms <= @@
okk.initialize()
shape = okk.dim4(1, 33, 2, 50)
okk.gdma_32bit_cpy_S2L(0, x, shape, None, None)
okk.bdc_taylor_exp(1024, 0, shape, terms)
okk.gdma_32bit_cpy_L2S(y, 1024, shape, None, None)
okk.poll()
""",
    "65",
    "64",
)

register(
    Rule(
        id="okk-scalar-range",
        code="OKK221",
        family=OKK,
        summary="numbers among the arguments lie in the range that the function admits",
        silent=True,
        reason=(
            "A series has 1 to 64 terms, a 32-bit shift goes by at most 32 and a 16-bit shift by "
            "at most 16 places, a packed result is shifted right by 0 to 31. Other numbers are "
            "cut to the bits of their field."
        ),
        facts=(
            "OKK-N04",
            "OKK-068",
            "OKK-069",
            "OKK-114",
            "OKK-115",
            "OKK-Y03",
            "OQ-02",
            "OKK-T4",
            "OKK-T7",
            "OKK-PK2",
        ),
        on=On.OPERATION,
        check=_scalars,
        dialects=(OKK,),
        sources=("OKKernel manual, refined interface",),
        failing=_NAMES_SERIES[0],
        passing=_NAMES_SERIES[1],
    )
)

# ----------------------------------------------------------------------------- packed operands


def _packed_types(op: Operation, chip: Chip) -> Iterator[Check]:
    for role in kit.described(op).roles:
        value = kit.number(op, role.name)
        if role.codes is not None and value is not None:
            yield check(
                op,
                role.name,
                _one_of(value, role.codes.admitted(op)),
                role.codes.what,
                role.codes.wrong,
                *role.codes.facts,
                values=((role.name, value),),
                help=("the wrong type is not noticed: bytes are read as what they are not",),
            )
        if role.range_by is not None and value is not None:
            yield from _range_by_type(op, role, role.range_by, value)


def _range_by_type(op: Operation, role: Role, by: RangeBy, value: Expr) -> Iterator[Check]:
    """A constant is a number of the type that another argument gives it."""
    named, code = kit.described(op).role(by.role), kit.number(op, by.role)
    if named is None or named.codes is None or code is None:
        return
    fits = (
        E.or_(E.ne(code, each), kit.between(value, *by.bounds(each)))
        for each in sorted(named.codes.admitted(op))
    )
    yield check(
        op,
        role.name,
        E.and_(*fits),
        by.what,
        by.wrong,
        *by.facts,
        values=((role.name, value), (by.role, code)),
    )


def _one_of(value: Expr, options: frozenset[int]) -> Bool:
    return E.or_(*(E.eq(value, option) for option in sorted(options)))


_TYPES = pair(
    "add_bytes",
    "x: okk.SystemAddr, y: okk.SystemAddr",
    """\
okk.initialize()
shape = okk.dim4(4, 6, 5, 5)
words = okk.dim4(1, 6, 5, 5)
okk.gdma_32bit_cpy_S2L(0, x, words, None, None)
okk.bdc_fixed_point_packed_add_C(4096, 0, 3, shape, None, None, @@, 1)
okk.gdma_32bit_cpy_L2S(y, 4096, words, None, None)
okk.poll()
""",
    "15",
    "31",
)

register(
    Rule(
        id="okk-packed-types",
        code="OKK222",
        family=OKK,
        summary="a packed fixed-point function has the types that its op_type names",
        silent=True,
        reason=(
            "The bits of op_type name the width and sign of sources and result. Not all of them "
            "exist: sums of which one is signed are signed, differences always are, products "
            "take 8-bit sources. Others are not refused but computed as something else."
        ),
        facts=(
            "OKK-T1",
            "OKK-T2",
            "OKK-T3",
            "OKK-T4",
            "OKK-T5",
            "OKK-T6",
            "OKK-T7",
            "OKK-100",
            "OKK-118",
            "INC-20",
        ),
        on=On.OPERATION,
        check=_packed_types,
        dialects=(OKK,),
        sources=("OKKernel manual, fixed_point",),
        failing=_TYPES[0],
        passing=_TYPES[1],
    )
)
