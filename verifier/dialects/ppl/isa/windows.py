"""Convolutions and pools (catalogue, section e.3)."""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from verifier.dialects.ppl.isa.fates import in_windows
from verifier.dialects.ppl.isa.shared import (
    EVERY,
    FLOATS,
    FP8,
    FP32,
    INT4,
    INT8,
    INT16,
    INT32,
    Part,
    function,
    like,
    number,
    on_rows,
    option,
    source,
    target,
    types,
    vector,
)
from verifier.dialects.windows import Sliding
from verifier.hardware.capabilities import Capability
from verifier.symbolic import expr as E
from verifier.symbolic.effects import Call, Index, Where
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.instruction import Instruction, Trait
from verifier.symbolic.roles import FirstLane, Lies, Limit, PerChannel, StartLanes, Unit

_FLOAT: Final = (Capability.FLOAT8, FP8)
_WIDE: Final = (Capability.WIDE_POOLS, INT16 | INT32)
_POOL: Final = "output*, pointer*, kernel*, padding*, stride*, dilation*"

#: pools have no strides: planes lie as the layout has them, in the lanes of the result
_PLANES: Final = Lies("aligned", "TPU-C40")
_POOLED: Final = StartLanes(("TPU-C40",), ("dst", "src"))
#: strides, dilations and pads have four bits
_MOST: Final = 15


def _window(fact: str, inserted: int, *, steps: bool = True) -> tuple[Part, ...]:
    """The window and where it goes; ``inserted``: the most zeros between two elements."""
    kernel = number(
        "kernel", Limit(fact=fact, least=1, most=65535), "rows and columns of the window", entries=2
    )
    stride = number(
        "stride", Limit(fact=fact, least=1, most=_MOST), "steps down and across", entries=2
    )
    return (
        kernel,
        *((stride,) if steps else ()),
        number(
            "padding", Limit(fact=fact, least=0, most=_MOST), "top, bottom, left, right", entries=4
        ),
        number(
            "dilation", Limit(fact=fact, least=1, most=_MOST), "steps within the window", entries=2
        ),
        number(
            "ins", Limit(fact=fact, least=0, most=inserted), "zeros between elements", entries=2
        ),
    )


def _integers(call: Call, role: str) -> tuple[Expr, ...] | None:
    """The numbers of an argument, as far as they are followed."""
    value = call.value(role)
    items = value if isinstance(value, tuple) else ()
    found = tuple(E.const(item) if isinstance(item, int) else item for item in items)
    return tuple(item for item in found if isinstance(item, Expr)) if found else None


def _sliding(call: Call) -> tuple[Sliding, Sliding] | None:
    """How a window goes down and across the input; None: a number of it is not followed."""
    view = call.view("src")
    numbers = [_integers(call, role) for role in ("kernel", "padding", "dilation")]
    if view is None or view.rank != 4:
        return None
    once = (E.const(1), E.const(1))
    steps = once if call.value("stride") is None else _integers(call, "stride")
    inserted = (E.const(0), E.const(0)) if call.value("ins") is None else _integers(call, "ins")
    kernel, padding, dilation = numbers
    if not (kernel and padding and dilation and steps and inserted):
        return None
    if [len(each) for each in (kernel, padding, dilation, steps, inserted)] != [2, 4, 2, 2, 2]:
        return None
    down, across = (
        Sliding(
            view.shape[2 + axis],
            kernel[axis],
            steps[axis],
            dilation[axis],
            padding[2 * axis],
            padding[2 * axis + 1],
            inserted[axis] + 1,
        )
        for axis in (0, 1)
    )
    return down, across


def _takes(call: Call, index: Index) -> Bool | None:
    """Whether an element of the input lies in a window: with steps or holes some do not."""
    sliding = _sliding(call)
    if sliding is None or len(index) != 4:
        return None
    taken = [one.takes(at) for one, at in zip(sliding, index[2:], strict=True)]
    known = [each for each in taken if each is not None]
    return E.and_(*known) if len(known) == len(taken) else None


def _joins(call: Call, axis: int, own: Expr, made: Expr) -> Bool | None:
    """Whether a row or column of the input is in the window that makes one of the result."""
    if axis < 2:
        return E.TRUE  # of all channels
    sliding = _sliding(call)
    return None if sliding is None else sliding[axis - 2].joins(own, made)


_IN_WINDOW: Final = Where("the rows and columns that lie in a window", _takes)


def _in_windows(part: Part, planes: bool) -> Part:
    """The input of a pool or a convolution, what its windows come to. ``planes``: of each channel
    one of the result is made."""
    taken = replace(part, reads=tuple(replace(entry, where=_IN_WINDOW) for entry in part.reads))
    return in_windows(taken, 2 if planes else 1, lambda call: _sliding(call) is not None, _joins)


def _extreme(name: str, what: str, needs: tuple[Capability, str] | None = None) -> Instruction:
    return function(
        f"tiu.{name}",
        f"dst = the {what} of each window of src",
        _POOL,
        target("dst", None, like("src", "TPU-C40"), lies=_PLANES),
        _in_windows(
            source("src", types(FLOATS | INT8, "TPU-C40", _FLOAT, _WIDE), lies=_PLANES), planes=True
        ),
        *_window("TPU-C40", 7)[:-1],
        needs=needs,
        traits=frozenset({Trait.POOLS, Trait.PICKS}),
        lanes=_POOLED,
    )


_POOL_AVG: Final = function(
    "tiu.pool_avg",
    "dst = the sum of each window of src, times scale",
    f"{_POOL}, scale*, rshift=0, ins=None",
    target(
        "dst",
        None,
        like("src", "TPU-C41", (FLOATS | FP8, FP32), (INT8, INT8 | INT16 | INT32)),
        lies=_PLANES,
    ),
    _in_windows(
        source("src", types(FLOATS | INT8, "TPU-C40", _FLOAT, _WIDE), lies=_PLANES), planes=True
    ),
    *_window("TPU-C40", 7),
    vector("scale"),
    traits=frozenset({Trait.POOLS}),
    lanes=_POOLED,
)

#: one of three ways to convolve, and its fact
_CONVOLVES: Final = frozenset({Trait.CONVOLVES})
_DEPTHWISE: Final = frozenset({Trait.DEPTHWISE})


#: the zero point of the weights of each channel
_POINTS: Final = PerChannel("dst", "TPU-C12")
#: the input of a convolution goes to all lanes
_CONVOLVED: Final = StartLanes(("TPU-C01",), ("dst", "weight", "bias"))


def _operands(layouts: dict[str, str], depthwise: bool) -> dict[str, Lies]:
    """Weights and bias are packed; where they start depends on what they are (TPU-C02, TPU-C30)."""
    unit = Unit.ELEMENT if depthwise else Unit.ROW
    return {
        role: Lies("compact", row, unit if role == "weight" else None, FP32)
        for role, row in layouts.items()
    }


def _convolution(
    name: str,
    summary: str,
    signature: str,
    fact: str,
    traits: frozenset[Trait],
    *,
    integers: bool = False,
    layouts: dict[str, str] | None = None,
    inserted: int = 14,
    adds: bool = False,
    vectors: tuple[str, ...] = (),
    numbers: tuple[Part, ...] = (),
    needs: tuple[Capability, str] | None = None,
) -> Instruction:
    depthwise = Trait.DEPTHWISE in traits
    lies = _operands(layouts or {}, depthwise)
    taken = types(INT8 | INT4, "TPU-C10") if integers else types(FLOATS, "TPU-C03", _FLOAT)
    planes = Lies("aligned", "TPU-C30") if depthwise else None
    result = planes or on_rows("TPU-C02")
    first = None if depthwise else FirstLane("TPU-C10" if integers else "TPU-C01", FP32)
    wide = types(INT8 | INT16 | INT32, "TPU-C10")
    made = target("dst", wide, adds="result_add" * adds, lies=result)
    weight = vector("weight", taken, lies=lies.get("weight"))
    # one for each channel of what is made
    each = PerChannel("dst", "TPU-C30" if depthwise else "TPU-C05")
    bias = vector("bias", shape=each, lies=lies.get("bias"))
    if not integers:
        same = like("src", "TPU-C03", (EVERY, FP32))
        made = target("dst", None, same, adds="result_add" * adds, lies=result)
        weight = vector("weight", None, like("src", "TPU-C06"), lies=lies.get("weight"))
        # BM1684X: the compiler asks for a bias of float32 whatever the input is, but not of a
        # convolution of each channel by itself
        half = None if depthwise else Capability.HALF_BIAS
        fact = "TPU-C30" if depthwise else "TPU-C04"
        single = like("src", fact, (EVERY, FP32), needs=half)
        bias = vector("bias", None, single, shape=each, lies=lies.get("bias"))
    return function(
        f"tiu.{name}",
        summary,
        signature,
        made,
        _in_windows(source("src", taken, lies=planes, first_lane=first), planes=depthwise),
        weight,
        bias,
        *_window(fact, inserted, steps=Trait.TRANSPOSED not in traits),
        *(vector(role, shape=_POINTS if role == "quant" else None) for role in vectors),
        *numbers,
        needs=needs,
        traits=traits | ({Trait.INTEGERS} if integers else frozenset()),
        lanes=StartLanes(("TPU-C30",)) if depthwise else _CONVOLVED,
    )


_INTEGER: Final = (Capability.INTEGER_CONVOLUTIONS, "TPU-C14")

INSTRUCTIONS: Final = (
    _POOL_AVG,
    _extreme("pool_max", "maximum"),
    _extreme("pool_min", "minimum", (Capability.MINIMUM_POOLS, "TPU-C40")),
    _convolution(
        "fconv",
        "dst = src convolved with weight, plus bias",
        "output*, input*, filter*, kernel*, stride*, dilation*, padding*, bias=None, oc=0, "
        "ins=None, result_relu=False, result_add=False, out_dtype=void, has_bias=True, "
        "saturate=False, kernel_rotate=False",
        "TPU-C01",
        _CONVOLVES,
        layouts={"weight": "TPU-C05", "bias": "TPU-C02"},
        adds=True,
        numbers=(option("result_relu"), option("result_add"), number("oc")),
    ),
    _convolution(
        "conv",
        "dst = src convolved with weight, plus bias, of integers",
        "output*, input*, filter*, oc*, kernel*, stride*, dilation*, padding*, bias=None, "
        "ins=None, pad_val=0, result_relu=False, result_add=False, out_dtype=void, has_bias=False, "
        "sym=True, quant=0, rq=False, requant=0, rq_shift=0, out_zp=0, saturate=False, "
        "round=RM_HALF_UP, kernel_rotate=False",
        "TPU-C10",
        _CONVOLVES,
        integers=True,
        layouts={"weight": "TPU-C05"},
        adds=True,
        vectors=("pad_val", "quant", "requant"),
        numbers=(
            option("result_relu"),
            option("result_add"),
            option("sym", "weights without a zero point"),
            number("oc"),
            number(
                "rq_shift",
                Limit(fact="TPU-C13", least=-128, most=127),
                "the shift of the requantisation",
            ),
            number(
                "out_zp",
                Limit(fact="TPU-C13", least=-(1 << 15), most=(1 << 15) - 1),
                "the zero point",
            ),
        ),
        needs=_INTEGER,
    ),
    _convolution(
        "fdeconv",
        "dst = src with zeros between its elements, convolved with weight, plus bias",
        "output*, src*, weight*, bias*, oc*, kernel*, dilation*, padding*, insert*, "
        "result_add*, out_dtype*, has_bias*",
        "TPU-C20",
        frozenset({Trait.CONVOLVES, Trait.TRANSPOSED}),
        adds=True,
        numbers=(option("result_add"), number("oc")),
    ),
    _convolution(
        "deconv",
        "dst = src with zeros between its elements, convolved with weight, of integers",
        "output*, src*, weight*, bias*, oc*, kernel*, dilation*, padding*, insert*, "
        "has_bias*, pad_val=None, insert_val=0, result_relu=False, result_add=False, "
        "out_dtype=void, sym=True, quant=0",
        "TPU-C20",
        frozenset({Trait.CONVOLVES, Trait.TRANSPOSED}),
        integers=True,
        adds=True,
        vectors=("pad_val", "quant"),
        numbers=(option("result_relu"), option("result_add"), number("oc")),
        needs=_INTEGER,
    ),
    _convolution(
        "fdw_conv",
        "dst = each channel of src convolved with weights of its own, plus bias",
        "output*, src*, weight*, bias*, kernel*, stride*, dilation*, padding*, has_bias*",
        "TPU-C10",
        _DEPTHWISE,
        layouts={"weight": "TPU-C30", "bias": "TPU-C30"},
        inserted=7,
    ),
    _convolution(
        "dw_conv",
        "dst = each channel of src convolved with weights of its own, of integers",
        "output*, src*, weight*, bias*, kernel*, stride*, dilation*, padding*, pad_val*, "
        "result_relu*, out_dtype*, has_bias*, round_mode*, rshift=0, rq=False, requant=None, "
        "saturate=False",
        "TPU-C10",
        _DEPTHWISE,
        integers=True,
        layouts={"weight": "TPU-C30"},
        inserted=7,
        vectors=("pad_val", "requant"),
        numbers=(option("result_relu"),),
    ),
    _convolution(
        "fdw_deconv",
        "dst = each channel of src with zeros between its elements, convolved, plus bias",
        "output*, src*, weight*, bias*, kernel*, dilation*, padding*, insert*, "
        "out_dtype*, has_bias*",
        "TPU-C20",
        frozenset({Trait.DEPTHWISE, Trait.TRANSPOSED}),
        inserted=7,
    ),
    _convolution(
        "dw_deconv",
        "dst = each channel of src with zeros between its elements, convolved, of integers",
        "output*, src*, weight*, bias*, kernel*, dilation*, padding*, insert*, "
        "pad_val*, result_relu*, out_dtype*, has_bias*, rshift*, round_mode*",
        "TPU-C20",
        frozenset({Trait.DEPTHWISE, Trait.TRANSPOSED}),
        integers=True,
        inserted=7,
        vectors=("pad_val",),
        numbers=(option("result_relu"),),
    ),
)
