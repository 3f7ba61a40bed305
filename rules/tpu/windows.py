"""Convolutions and pools: the window, where it goes, and what comes out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from rules.tpu import kit
from rules.tpu.examples import pair
from rules.tpu.kit import check, function
from verifier.dialects.names import OKK
from verifier.hardware.chips import Chip
from verifier.rulebase import On, Rule, register
from verifier.symbolic import expr as E
from verifier.symbolic.checks import Check
from verifier.symbolic.expr import Expr
from verifier.symbolic.instruction import Trait
from verifier.symbolic.trace import Operation

_SIDES: Final = ("top", "bottom", "left", "right")


def _parameters(op: Operation, chip: Chip) -> Iterator[Check]:
    name = function(op)
    padding = kit.record(op, "padding")
    if padding is not None:
        for side, size in zip(_SIDES, padding, strict=True):
            yield _field(op, "padding", side, size, (0, chip.steps_max), "OKK-P03")
    for role, fact in (("stride", "OKK-P04"), ("dilation", "OKK-P05")):
        steps = kit.record(op, role)
        if steps is not None:
            for axis, step in zip("hw", steps, strict=True):
                yield _field(op, role, axis, step, (1, chip.steps_max), fact)
    for role in ("kernel_h", "kernel_w"):
        window = kit.number(op, role)
        if window is not None:
            yield check(
                op,
                role,
                E.ge(window, 1),
                f"{role} >= 1",
                f"the window of `{name}` is empty",
                "OKK-P06",
                values=((role, window),),
            )


def _field(
    op: Operation, role: str, field: str, value: Expr, limits: tuple[int, int], fact: str
) -> Check:
    low, most = limits
    more = () if Trait.CONVOLVES in op.traits else _also(op)
    return check(
        op,
        role,
        kit.between(value, low, most),
        f"{low} <= {role}.{field} <= {most}",
        f"{role}.{field} of `{function(op)}` does not fit its 4 bits",
        fact,
        *more,
        values=((f"{role}.{field}", value),),
    )


def _also(op: Operation) -> tuple[str, ...]:
    return ("OKK-P31",) if Trait.POOLS in op.traits else ("OKK-P21",)


def _output(op: Operation, chip: Chip) -> Iterator[Check]:
    name = function(op)
    tensor = kit.local_of(op, "input")
    padding = _or_default(op, "padding", 4, 0)
    dilation = _or_default(op, "dilation", 2, 1)
    stride = _or_default(op, "stride", 2, 1)
    if tensor is None or padding is None or dilation is None or stride is None:
        return
    top, bottom, left, right = padding
    padded = (tensor.shape[2] + top + bottom, tensor.shape[3] + left + right)
    facts = ("OKK-P32", "OKK-P31") if Trait.POOLS in op.traits else ("OKK-P06", "OKK-P02")
    for axis, total, hole, step in zip("hw", padded, dilation, stride, strict=True):
        window = kit.number(op, f"kernel_{axis}")
        if window is None:
            continue
        reach = (window - 1) * hole + 1
        values = (
            (f"{axis} of the input with its padding", total),
            (f"{axis} of the window", reach),
        )
        span = f"kernel_{axis}"
        yield check(
            op,
            span,
            E.le(reach, total),
            f"the window reaches over at most the padded input's {axis}",
            f"the window of `{name}` is larger than its input: there is no output",
            *facts,
            values=values,
        )
        out = E.floordiv(total - reach, step) + 1
        yield check(
            op,
            "input_shape",
            E.and_(E.le(total, chip.window_max), E.le(out, chip.window_max)),
            f"{axis} with padding <= {chip.window_max}",
            f"the padded input or the output of `{name}` has more than {chip.window_max} in {axis}",
            "OKK-B03",
            given=(E.ge(step, 1),),
            values=(*values[:1], (f"{axis} of the output", out)),
        )


def _or_default(op: Operation, role: str, count: int, default: int) -> tuple[Expr, ...] | None:
    if kit.is_null(op, role):
        return (E.const(default),) * count
    return kit.record(op, role)


_PARAMETERS = pair(
    "pooled",
    "pad: int, x: okk.SystemAddr, y: okk.SystemAddr",
    """\
assert 0 <= pad <= @@
okk.initialize()
shape = okk.dim4(1, 12, 20, 24)
padding = okk.Padding(pad, pad, 0, 0)
rows = (20 + 2 * pad - 4) // 2 + 1
result = okk.dim4(1, 12, rows, 11)
okk.gdma_32bit_cpy_S2L(0, x, shape, None, None)
okk.bdc_max_pool2d(4096, 0, shape, 4, 4, padding, okk.dim2(2, 2))
okk.gdma_32bit_cpy_L2S(y, 4096, result, None, None)
okk.poll()
""",
    "16",
    "15",
)

register(
    Rule(
        id="okk-window-parameters",
        code="OKK201",
        family=OKK,
        summary="padding, stride and dilation fit their fields",
        silent=True,
        reason=(
            "Instructions hold padding, strides and dilation in 4 bits: 0 to 15 for padding, 1 to "
            "15 for the others. A stride of 16 is one of 0."
        ),
        facts=("OKK-P03", "OKK-P04", "OKK-P05", "OKK-P21", "OKK-P31", "OKK-P06", "OKK-Y04"),
        on=On.OPERATION,
        concerns=kit.slides,
        check=_parameters,
        dialects=(OKK,),
        sources=("OKKernel manual, fp32_nn",),
        failing=_PARAMETERS[0],
        passing=_PARAMETERS[1],
    )
)

_OUTPUT = pair(
    "averaged",
    "rows: int, x: okk.SystemAddr, y: okk.SystemAddr",
    """\
assert @@ <= rows <= 60
okk.initialize()
shape = okk.dim4(1, 5, rows, 9)
result = okk.dim4(1, 5, rows - 2, 7)
okk.gdma_32bit_cpy_S2L(0, x, shape, None, None)
okk.bdc_avg_pool2d(8192, 0, shape, 3, 3, None, None)
okk.gdma_32bit_cpy_L2S(y, 8192, result, None, None)
okk.poll()
""",
    "1",
    "3",
)

register(
    Rule(
        id="okk-window-size",
        code="OKK202",
        family=OKK,
        summary="the window fits into the padded input, and its output into the fields",
        silent=True,
        reason=(
            "A window that is larger than the input with its padding has no place to be: the "
            "output size is 0 or negative. Convolutions stop then, pools go on with wrong sizes. "
            "Rows and columns, padding included, are counted up to 2047."
        ),
        facts=("OKK-P02", "OKK-P06", "OKK-P31", "OKK-P32", "OKK-B03", "OKK-P23"),
        on=On.OPERATION,
        concerns=kit.slides,
        check=_output,
        dialects=(OKK,),
        sources=("OKKernel manual, fp32_nn",),
        failing=_OUTPUT[0],
        passing=_OUTPUT[1],
    )
)
