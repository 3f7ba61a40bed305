"""Selections by position."""

from __future__ import annotations

from collections.abc import Iterator

from rules.nki import kinds, kit
from rules.nki.kit import check, register
from rules.nki.samples import kernel
from verifier.hardware import dtypes as dt
from verifier.hardware.targets import Target
from verifier.rulebase import On, Rule
from verifier.symbolic import expr as E
from verifier.symbolic.checks import Check
from verifier.symbolic.expr import Expr
from verifier.symbolic.trace import Operation


def _start(op: Operation) -> Expr | None:
    """The first index, a whole number (RSL05), which NKI 0.4 writes as ``0.0``."""
    value = op.value("range_start")
    if isinstance(value, float) and value.is_integer():
        return E.const(int(value))
    return kit.as_expr(value)


def _range_select(op: Operation, target: Target) -> Iterator[Check]:
    data = op.view("on_true_tile")
    start = _start(op)
    if data is not None and start is not None:
        limit = dt.EXACT_IN_FLOAT32
        yield check(
            op,
            "range_start",
            E.le(start + data.free, limit),
            f"range_start + on_true_tile free size <= {limit}",
            "the range counts beyond what float32 holds exactly",
            "RSL05",
            values=(("range_start", start), ("on_true_tile free size", data.free)),
            about=("on_true_tile",),
        )
    value = op.value("on_false_value")
    if kit.is_number(value):
        number = kit.constant(value)
        yield check(
            op,
            "on_false_value",
            # a number that depends on inputs is an integer: that one is none of them
            E.truth(number is not None and abs(number + 3.4028235e38) < 1e31),
            "on_false_value is the smallest float32",
            "on_false_value has to be the smallest float32",
            "RSL06",
            about=(),
            help=("leave on_false_value out",),
        )


register(
    Rule(
        id="range-select",
        code="NKI627",
        family="vector",
        summary="range_select counts within float32 and fills with the smallest float32",
        reason=(
            "The instruction compares element indices as float32 numbers, which are exact up to "
            "2 to the 24th, and knows one fill value."
        ),
        facts=("RSL05", "RSL06"),
        on=On.OPERATION,
        concerns=kinds.taking("range_start"),
        check=_range_select,
        sources=("NKI ISA range_select",),
        failing=kernel(
            "window",
            {
                "x": ((128, 200), "float32"),
                "low": ((128, 1), "float32"),
                "high": ((128, 1), "float32"),
            },
            ((128, 200), "float32"),
            """
            nisa.range_select(
                dst=result,
                on_true_tile=x_tile,
                comp_op0=nl.greater_equal,
                comp_op1=nl.less,
                bound0=low_tile,
                bound1=high_tile,
                on_false_value=0.0,
            )
            """,
        ),
        passing=kernel(
            "window",
            {
                "x": ((128, 200), "float32"),
                "low": ((128, 1), "float32"),
                "high": ((128, 1), "float32"),
            },
            ((128, 200), "float32"),
            """
            nisa.range_select(
                dst=result,
                on_true_tile=x_tile,
                comp_op0=nl.greater_equal,
                comp_op1=nl.less,
                bound0=low_tile,
                bound1=high_tile,
            )
            """,
        ),
    )
)
