"""Convolutions, pools and products of matrices (OKK-092 to OKK-096)."""

from __future__ import annotations

from typing import Final

from verifier.dialects.okk.isa import shapes
from verifier.dialects.okk.isa.shapes import Shape
from verifier.dialects.okk.isa.shared import (
    F32,
    Part,
    flag,
    folds,
    function,
    given,
    goes_on,
    integer,
    of_channel,
    reads,
    tensor,
    when_set,
    writes,
)
from verifier.symbolic import expr as E
from verifier.symbolic.effects import Call, Index, Line
from verifier.symbolic.instruction import Instruction, Trait
from verifier.symbolic.roles import Role, StartLanes, Takes, Unit

_IMAGE: Final = given("input_shape", Takes.QUAD)
_WINDOW: Final = (integer("kernel_h"), integer("kernel_w"))
_PADDING: Final = given("padding", Takes.PADDING, optional=True)
_STEPS: Final = given("stride", Takes.PAIR, optional=True, about="steps down and across")
_HOLES: Final = given("dilation", Takes.PAIR, optional=True, about="steps within the window")


def _rows(name: str, shape: Shape, fact: str = "OKK-A03") -> Role:
    """A tensor that starts at a row of the execution units."""
    return tensor(name, F32, shape=shape, unit=Unit.ROW, fact=fact)


def _numbers(name: str, shape: Shape) -> Role:
    """A number for each channel, or weights of it."""
    return tensor(name, F32, shape=shape, layout="compact", fact="OKK-A06")


def _bias(name: str, shape: Shape) -> Part:
    """A number for each channel of the output."""
    return goes_on(reads(_numbers(name, shape), when_set("using_bias")), of_channel, "output")


def _of_plane(call: Call, index: Index) -> Line:
    return index[0], index[1], None, None


CONV2D: Final = function(
    "bdc_conv2d",
    "092",
    "bdc",
    "output = input convolved with weight, plus bias; with result_add, plus what output holds",
    writes(_rows("output", shapes.convolved), adds="result_add"),
    folds(
        reads(
            tensor(
                "input",
                F32,
                shape=shapes.image,
                strides="input_stride",
                unit=Unit.ROW_UNLESS_STRIDED,
                fact="OKK-A04",
            ),
            where=shapes.IN_DILATED_WINDOW,
        ),
        lambda call, index: (index[0], None, None, None),
        "output",
        shapes.DILATED_WINDOW,
    ),
    folds(
        reads(
            tensor(
                "weight",
                "uint64",
                shape=shapes.weights,
                layout="2ic",
                strides="kernel_stride",
                unit=Unit.PAIR,
                fact="OKK-A05",
            )
        ),
        lambda call, index: (None, index[1], None, None),
        "output",
    ),
    _bias("bias", shapes.output_channels),
    _IMAGE,
    integer("output_c"),
    *_WINDOW,
    given("input_stride", Takes.QUAD, optional=True),
    given("kernel_stride", Takes.QUAD, optional=True),
    flag("using_bias"),
    flag("result_add"),
    _PADDING,
    _STEPS,
    _HOLES,
    lanes=StartLanes(("OKK-C02", "ADR-12"), ("output", "weight", "bias")),
    traits=frozenset({Trait.CONVOLVES}),
)
DEPTHWISE2D: Final = function(
    "bdc_depthwise2d",
    "093",
    "bdc",
    "output = each channel of input convolved with weights of its own, plus bias",
    writes(_rows("output", shapes.convolved_by_channel)),
    folds(
        reads(_rows("input", shapes.image), where=shapes.IN_DILATED_WINDOW),
        _of_plane,
        "output",
        shapes.DILATED_WINDOW,
    ),
    folds(
        reads(_numbers("weight", shapes.window)),
        lambda call, index: (E.const(0), index[1], None, None),
        "output",
    ),
    _bias("bias", shapes.image_channels),
    _IMAGE,
    *_WINDOW,
    flag("using_bias"),
    _PADDING,
    _STEPS,
    _HOLES,
    lanes=StartLanes(("OKK-C01", "ADR-12", "OKK-P20")),
    traits=frozenset({Trait.DEPTHWISE}),
)


def _pool(name: str, number: str, what: str, *traits: Trait) -> Instruction:
    return function(
        f"bdc_{name}_pool2d",
        number,
        "bdc",
        f"output = the {what} of each window of input",
        writes(_rows("output", shapes.pooled)),
        folds(
            reads(_rows("input", shapes.image), where=shapes.IN_WINDOW),
            _of_plane,
            "output",
            shapes.WINDOW,
        ),
        _IMAGE,
        *_WINDOW,
        _PADDING,
        _STEPS,
        lanes=StartLanes(("OKK-C01", "ADR-12", "OKK-P30")),
        traits=frozenset({Trait.POOLS, *traits}),
    )


def _matrix(name: str, rows: str, columns: str, width: str) -> Role:
    return _of_columns(name, shapes.matrix(rows, columns, width), columns)


def _of_columns(name: str, shape: Shape, columns: str) -> Role:
    return tensor(
        name,
        F32,
        shape=shape,
        layout="matrix",
        columns=columns,
        unit=Unit.ROW,
        fact="OKK-Q02",
    )


def _of_column(call: Call, index: Index) -> Line:
    """All rows of the column."""
    return None, index[1], index[2], index[3]


_SIZES: Final[tuple[Part, ...]] = (
    integer("left_rows"),
    integer("left_cols"),
    integer("right_cols"),
    integer("left_cols_per_channel", about="columns of the left matrix in one channel"),
    integer("right_cols_per_channel", about="columns of the right matrix in one channel"),
)
MATMUL: Final = function(
    "bdc_matmul",
    "096",
    "bdc",
    "output = left @ right, plus bias; with result_add, plus what output holds",
    writes(
        _matrix("output", "left_rows", "right_cols", "right_cols_per_channel"), adds="result_add"
    ),
    folds(
        reads(_matrix("left", "left_rows", "left_cols", "left_cols_per_channel")),
        lambda call, index: (index[0], None, None, None),
        "output",
    ),
    folds(
        reads(_matrix("right", "left_cols", "right_cols", "right_cols_per_channel")),
        _of_column,
        "output",
    ),
    folds(
        reads(_of_columns("bias", shapes.row, "right_cols"), when_set("using_bias")),
        _of_column,
        "output",
    ),
    *_SIZES,
    flag("using_bias"),
    flag("result_add"),
    lanes=StartLanes(("OKK-C03", "ADR-12", "OKK-Q05"), ("output", "right", "bias")),
    traits=frozenset({Trait.FIRST_PRODUCTS}),
)

INSTRUCTIONS: Final = (
    CONV2D,
    DEPTHWISE2D,
    _pool("avg", "094", "mean"),
    _pool("max", "095", "maximum", Trait.PICKS),
    MATMUL,
)
