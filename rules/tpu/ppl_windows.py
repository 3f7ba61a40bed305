"""Convolutions and pools of PPL: parameters in range, sizes and types that go together."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from rules.tpu.kit import between
from rules.tpu.ppl_kit import (
    FLOATS,
    FP8,
    FP32,
    INT4,
    INT8,
    INT16,
    INT32,
    SIGNED,
    UNSIGNED,
    check,
    declare,
    dtype_words,
    example,
    flag,
    function,
    implies,
    number,
    numbers,
    tiu,
)
from verifier.hardware.capabilities import Capability
from verifier.hardware.chips import Chip
from verifier.rulebase import Check
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Expr
from verifier.symbolic.trace import Operation

POOLS: Final = tiu("pool_avg pool_max pool_min")
CONVOLUTIONS: Final = tiu("fconv conv")
DEPTHWISE: Final = tiu("fdw_conv dw_conv")
TRANSPOSED: Final = tiu("fdeconv deconv fdw_deconv dw_deconv")
WINDOWS: Final = POOLS | CONVOLUTIONS | DEPTHWISE | TRANSPOSED

#: strides, dilations and pads have four bits; inserted zeros four or three (section e.3)
MOST_STRIDE: Final = 15
MOST_PAD: Final = 15
MOST_DILATION: Final = 15
MOST: Final = 65535


def parameters(op: Operation, chip: Chip) -> Iterator[Check]:
    """Kernel, stride, padding, dilation and inserted zeros fit their fields."""
    if function(op) not in WINDOWS:
        return
    inserts = 14 if function(op) in CONVOLUTIONS or "oc" in op.operands else 7
    fields = (
        ("kernel", 1, MOST, 2),
        ("stride", 1, MOST_STRIDE, 2),
        ("padding", 0, MOST_PAD, 4),
        ("dilation", 1, MOST_DILATION, 2),
        ("ins", 0, inserts, 2),
    )
    for role, low, high, length in fields:
        items = numbers(op, role)
        if items is None:
            continue
        yield check(
            op,
            role,
            E.truth(len(items) == length),
            f"{role} has {length} entries",
            f"{role} of `pl.{function(op)}` has {len(items)} entries, not {length}",
            "TPU-C43",
        )
        for item in items:
            # a window that fits its input is as small as that: see ppl-size-range
            plain = item.is_const or role != "kernel"
            yield check(
                op,
                role,
                between(item, low, high) if plain else E.ge(item, low),
                f"{low} <= {role} <= {high}",
                f"an entry of {role} of `pl.{function(op)}` is not between {low} and {high}",
                _fact(op),
                "TPU-C43",
                values=((role, item),),
                help=("the order is kernel, padding, stride, dilation",)
                if function(op) in POOLS
                else (),
            )


def _fact(op: Operation) -> str:
    name = function(op)
    if name in TRANSPOSED:
        return "TPU-C20"
    return "TPU-C40" if name in POOLS else "TPU-C01" if name == "tiu.fconv" else "TPU-C10"


def sizes(op: Operation, chip: Chip) -> Iterator[Check]:
    """The result is as large as the window, its steps and the padded input say."""
    if function(op) not in WINDOWS:
        return
    source, target = op.view("src"), op.view("dst")
    kernel, stride = numbers(op, "kernel"), numbers(op, "stride")
    if function(op) in TRANSPOSED:  # the steps are in the zeros between the elements
        stride = (E.const(1), E.const(1))
    padding, dilation = numbers(op, "padding"), numbers(op, "dilation")
    lists = (kernel, stride, padding, dilation)
    if source is None or target is None or None in lists:
        return
    assert kernel is not None and stride is not None
    assert padding is not None and dilation is not None
    if (len(kernel), len(stride), len(padding), len(dilation)) != (2, 2, 4, 2):
        return
    inserted = numbers(op, "ins") or (E.const(0), E.const(0))
    for k, axis in enumerate("hw"):
        size = source.shape[2 + k]
        zeros = inserted[k] if k < len(inserted) else E.const(0)
        before, after = padding[2 * k], padding[2 * k + 1]
        extended = (size - 1) * (zeros + 1) + 1 + before + after
        reach = (kernel[k] - 1) * dilation[k] + 1
        steps = E.floordiv(extended - reach, stride[k]) + 1
        out = target.shape[2 + k]
        yield check(
            op,
            "dst",
            E.eq(out, steps),
            f"{axis} of dst == ({axis} + pads - reach) // stride + 1",
            f"{axis} of the result of `pl.{function(op)}` is not what its window makes",
            _fact(op),
            values=((f"{axis} of dst", out), ("steps of the window", steps)),
            views=(source,),
            given=(E.ge(stride[k], 1),),
        )
        yield check(
            op,
            "kernel",
            E.and_(E.le(reach, extended), E.ge(extended, 1)),
            f"the window fits the padded {axis}",
            f"the window of `pl.{function(op)}` is larger than the padded {axis}",
            _fact(op),
            values=(("reach of the window", reach), (f"padded {axis}", extended)),
            views=(source,),
        )
    yield check(
        op,
        "dst",
        E.eq(target.shape[0], source.shape[0]),
        "n of dst == n of src",
        f"`pl.{function(op)}` keeps n",
        _fact(op),
        views=(source,),
    )
    channels: Expr | None = source.shape[1]
    if "oc" in op.operands:
        channels = number(op, "oc") if op.operands["oc"].given else None
    if channels is not None:
        yield check(
            op,
            "dst",
            E.eq(target.shape[1], channels),
            "c of dst is the number of output channels",
            f"c of the result of `pl.{function(op)}` is not the number of output channels",
            _fact(op),
            values=(("c of dst", target.shape[1]), ("output channels", channels)),
            views=(source,),
        )


def dtypes(op: Operation, chip: Chip) -> Iterator[Check]:
    """Input, weight, bias and result have types that go together, on this chip."""
    name = function(op)
    source, target, weight = op.view("src"), op.view("dst"), op.view("weight")
    if name not in WINDOWS or source is None or target is None:
        return
    floats = FLOATS | (FP8 if chip.has(Capability.FLOAT8) else frozenset())
    if name in POOLS:
        taken = floats | INT8
        if chip.has(Capability.WIDE_POOLS):
            taken |= INT16 | INT32
        yield check(
            op,
            "src",
            source.dtype.among(taken),
            f"src is {dtype_words(taken)}",
            f"`pl.{name}` does not take elements of type {source.dtype.name or 'like that'}",
            "TPU-C40",
        )
        same = target.dtype.same(source.dtype)
        if name == "tiu.pool_avg":
            wide = INT8 | INT16 | INT32
            same = E.or_(
                same,
                E.and_(source.dtype.among(floats), target.dtype.among(FP32)),
                E.and_(source.dtype.among(INT8), target.dtype.among(wide)),
            )
        yield check(
            op,
            "dst",
            same,
            "dst goes with src",
            f"the result of `pl.{name}` is of another dtype than its input",
            "TPU-C41",
            "TPU-C42",
            views=(source,),
        )
        return
    integer = name in ("tiu.conv", "tiu.dw_conv", "tiu.deconv", "tiu.dw_deconv")
    taken = INT8 | INT4 if integer else floats
    fact = "TPU-C10" if integer else "TPU-C03"
    yield check(
        op,
        "src",
        source.dtype.among(taken),
        f"src is {dtype_words(taken)}",
        f"`pl.{name}` does not take elements of type {source.dtype.name or 'like that'}",
        fact,
        "TPU-C31",
    )
    if weight is not None:
        fits = weight.dtype.among(taken) if integer else weight.dtype.same(source.dtype)
        yield check(
            op,
            "weight",
            fits,
            "the weight has the dtype of the input",
            f"weight and input of `pl.{name}` have different dtypes",
            "TPU-C06",
            "TPU-C31",
            views=(source,),
        )
    result = INT8 | INT16 | INT32 if integer else FP32
    good = target.dtype.among(result)
    if not integer:
        good = E.or_(good, target.dtype.same(source.dtype))
    yield check(
        op,
        "dst",
        good,
        f"dst is {dtype_words(result)}" + ("" if integer else " or as the input"),
        f"`pl.{name}` cannot make elements of type {target.dtype.name or 'like that'}",
        fact,
        "TPU-C06",
        views=(source,),
    )
    bias = op.view("bias")
    if bias is not None and not integer:
        single = not chip.has(Capability.HALF_BIAS)
        yield check(
            op,
            "bias",
            E.or_(bias.dtype.among(FP32), E.FALSE if single else bias.dtype.same(source.dtype)),
            "the bias is float32" + ("" if single else " or as the input"),
            f"the bias of `pl.{name}` is of another dtype",
            "TPU-C04",
        )


def options(op: Operation, chip: Chip) -> Iterator[Check]:
    """Options that exclude each other, or that the chip does not have."""
    name = function(op)
    if name not in CONVOLUTIONS:
        return
    relu = flag(op, "result_relu")
    scalar = op.view("weight") is None
    yield check(
        op,
        "result_relu",
        implies(relu, E.truth(not scalar)),
        "a scalar weight goes without relu",
        f"`pl.{name}` with a number as weight has no relu",
        "TPU-C07",
        "TPU-C32",
    )
    if name == "tiu.conv":
        yield from _integer_options(op, chip)
    if name == "tiu.fconv":
        yield check(
            op,
            "result_relu",
            implies(relu, E.truth(chip.has(Capability.CONVOLUTION_RELU))),
            f"{chip.name} has relu for fconv",
            f"`pl.fconv` on {chip.name} has no relu",
            "TPU-C07",
        )


def _integer_options(op: Operation, chip: Chip) -> Iterator[Check]:
    """Signs, bias and requantisation of the convolution of integers."""
    relu, symmetric = flag(op, "result_relu"), flag(op, "sym")
    source, target, bias = op.view("src"), op.view("dst"), op.view("bias")
    weight = op.view("weight")
    yield check(
        op,
        "sym",
        implies(E.not_(symmetric), E.and_(E.not_(relu), E.truth(bias is None))),
        "no relu and no bias with sym=False",
        "an asymmetric convolution has neither relu nor bias",
        "TPU-C12",
    )
    if target is not None:
        yield check(
            op,
            "dst",
            E.or_(symmetric, target.dtype.among(INT16 | INT32)),
            "sums of an asymmetric convolution are wide",
            "an asymmetric convolution makes 16 or 32 bits",
            "TPU-C12",
        )
        yield check(
            op,
            "dst",
            implies(E.and_(symmetric, relu), target.dtype.among(UNSIGNED)),
            "what relu leaves is unsigned",
            "the result of a convolution with relu is unsigned",
            "TPU-C11",
        )
        for role, view in (("src", source), ("weight", weight)):
            if view is not None:
                signed = E.and_(symmetric, E.not_(relu), view.dtype.among(SIGNED))
                yield check(
                    op,
                    "dst",
                    implies(signed, target.dtype.among(SIGNED)),
                    f"dst is signed as {role} is",
                    f"{role} is signed and the result is not",
                    "TPU-C11",
                    views=(view,),
                )
    if bias is not None:
        wanted = INT32 if chip.has(Capability.WIDE_BIAS) else INT16
        yield check(
            op,
            "bias",
            bias.dtype.among(wanted),
            f"the bias is {dtype_words(wanted)}",
            f"the bias of `pl.conv` on {chip.name} is of another dtype",
            "TPU-C11",
        )
    shift = number(op, "rq_shift")
    if shift is not None:
        yield check(
            op,
            "rq_shift",
            between(shift, -128, 127),
            "-128 <= rq_shift <= 127",
            "the shift of the requantisation does not fit its field",
            "TPU-C13",
            values=(("rq_shift", shift),),
        )
    zero = number(op, "out_zp")
    if zero is not None:
        yield check(
            op,
            "out_zp",
            between(zero, -(1 << 15), (1 << 15) - 1),
            "out_zp fits 16 bits",
            "the zero point of the result does not fit its field",
            "TPU-C13",
            values=(("out_zp", zero),),
        )


_POOL: Final = example(
    """
source = pl.gtensor([2, channels, 14, 20], pl.GLOBAL, src_ptr)
target = pl.gtensor([2, channels, 7, 9], pl.GLOBAL, out_ptr)
a = pl.make_tensor([2, channels, 14, 20], pl.float16)
b = pl.make_tensor([2, channels, 7, 9], pl.float16)
pl.dma.load(a, source)
pl.tiu.pool_max(b, a, [2, 4], [0, 0, 0, 0], [2, 2], [1, 1])
pl.dma.store(target, b)
""",
    "out_ptr, src_ptr, channels: pl.constexpr",
    "channels: 1..64, out_ptr: fp16[2, channels, 7, 9], src_ptr: fp16[2, channels, 14, 20]",
)
_CONV: Final = example(
    """
source = pl.gtensor([1, 24, 10, 12], pl.GLOBAL, src_ptr)
target = pl.gtensor([1, 40, 10, 12], pl.GLOBAL, out_ptr)
a = pl.make_tensor([1, 24, 10, 12], pl.float16)
b = pl.make_tensor([1, 40, 10, 12], pl.float16)
pl.dma.load(a, source)
pl.tiu.fconv(b, a, 0.125, [3, 3], [1, 1], [1, 1], [1, 1, 1, 1], oc=40, out_dtype=pl.float16)
pl.dma.store(target, b)
""",
    "out_ptr, src_ptr",
    "out_ptr: fp16[1, 40, 10, 12], src_ptr: fp16[1, 24, 10, 12]",
)


declare(
    "ppl-window-parameters",
    "PPL050",
    "operation",
    "windows, steps and padding fit their fields",
    "Steps, dilations and padding have four bits each. The pools take padding before the step, "
    "the convolutions after: exchanged lists are in range only by chance.",
    ("TPU-C01", "TPU-C10", "TPU-C40", "TPU-C43", "PPL-C11"),
    parameters,
    _POOL.replace("[0, 0, 0, 0], [2, 2]", "[2, 2], [0, 0, 0, 0]"),
    _POOL,
)
declare(
    "ppl-window-size",
    "PPL051",
    "operation",
    "the result of a convolution or pool has the size that its window makes",
    "The instruction computes as many rows and columns as it is told: too many read beyond the "
    "input, too few leave a part out.",
    ("TPU-C01", "TPU-C10", "TPU-C20", "TPU-C40"),
    sizes,
    _POOL.replace("7, 9]", "7, 10]"),
    _POOL,
)
declare(
    "ppl-window-dtypes",
    "PPL052",
    "operation",
    "input, weight, bias and result of a convolution or pool have types that go together",
    "Weights are of the input's type; the result is of that type or float32.",
    ("TPU-C03", "TPU-C04", "TPU-C06", "TPU-C10", "TPU-C31", "TPU-C40", "TPU-C41", "TPU-C42"),
    dtypes,
    _CONV.replace(
        "b = pl.make_tensor([1, 40, 10, 12], pl.float16)",
        "b = pl.make_tensor([1, 40, 10, 12], pl.bfloat16)",
    ),
    _CONV,
)
declare(
    "ppl-window-options",
    "PPL053",
    "operation",
    "options of a convolution exist on the chip and go together",
    "BM1684X convolves floats without relu; a number in the place of the weights has none either.",
    ("TPU-C07", "TPU-C11", "TPU-C12", "TPU-C13", "TPU-C32"),
    options,
    _CONV.replace("oc=40,", "oc=40, result_relu=True,"),
    _CONV,
)
