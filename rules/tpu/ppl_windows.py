"""Convolutions and pools of PPL: parameters in range, sizes and types that go together."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from msgspec import Struct

from rules.tpu.ppl_dtypes import types
from rules.tpu.ppl_kit import (
    INT16,
    INT32,
    SIGNED,
    UNSIGNED,
    WINDOWS,
    check,
    declare,
    described,
    dtype_words,
    example,
    flag,
    function,
    having,
    implies,
    number,
    numbers,
)
from verifier.hardware import dtypes as dt
from verifier.hardware.capabilities import Capability
from verifier.hardware.chips import Chip
from verifier.rulebase import On
from verifier.symbolic import expr as E
from verifier.symbolic.checks import Check
from verifier.symbolic.expr import Expr
from verifier.symbolic.instruction import Trait
from verifier.symbolic.lanes import AXES
from verifier.symbolic.roles import Limit
from verifier.symbolic.tensors import View
from verifier.symbolic.trace import Operation


def parameters(op: Operation, chip: Chip) -> Iterator[Check]:
    """Kernel, stride, padding, dilation and inserted zeros fit their fields."""
    for role in described(op).roles:
        if role.value is None or role.count is None:
            continue
        items = numbers(op, role.name)
        if items is not None:
            yield from _entries(op, role.name, role.value, role.count, items)


def _entries(
    op: Operation, name: str, limit: Limit, count: Limit, items: tuple[Expr, ...]
) -> Iterator[Check]:
    yield check(
        op,
        name,
        count.holds(E.const(len(items))),
        f"{name} has {count.most} entries",
        f"{name} of `pl.{function(op)}` has {len(items)} entries, not {count.most}",
        count.fact,
    )
    low, high = limit.least or 0, limit.most
    for item in items:
        # a window that fits its input is as small as that: see ppl-size-range
        plain = item.is_const or name != "kernel"
        yield check(
            op,
            name,
            limit.holds(item) if plain else E.ge(item, low),
            f"{low} <= {name} <= {high}",
            f"an entry of {name} of `pl.{function(op)}` is not between {low} and {high}",
            limit.fact,
            "TPU-C43",
            values=((name, item),),
            help=("the order is kernel, padding, stride, dilation",)
            if Trait.POOLS in op.traits
            else (),
        )


def _fact(op: Operation) -> str:
    role = described(op).role("kernel")
    assert role is not None and role.value is not None
    return role.value.fact


class _Window(Struct, frozen=True):
    """The arguments that say where a window goes, along h and w."""

    kernel: tuple[Expr, ...]
    stride: tuple[Expr, ...]
    padding: tuple[Expr, ...]
    dilation: tuple[Expr, ...]
    inserted: tuple[Expr, ...]

    def reach(self, k: int) -> Expr:
        """Over so many rows or columns it goes."""
        return (self.kernel[k] - 1) * self.dilation[k] + 1

    def padded(self, size: Expr, k: int) -> Expr:
        """The size of the input with the zeros in it and around it."""
        zeros = self.inserted[k] if k < len(self.inserted) else E.const(0)
        return (size - 1) * (zeros + 1) + 1 + self.padding[2 * k] + self.padding[2 * k + 1]


def _window(op: Operation) -> _Window | None:
    kernel, stride = numbers(op, "kernel"), numbers(op, "stride")
    if Trait.TRANSPOSED in op.traits:  # the steps are in the zeros between the elements
        stride = (E.const(1), E.const(1))
    padding, dilation = numbers(op, "padding"), numbers(op, "dilation")
    if kernel is None or stride is None or padding is None or dilation is None:
        return None
    if (len(kernel), len(stride), len(padding), len(dilation)) != (2, 2, 4, 2):
        return None
    inserted = numbers(op, "ins") or (E.const(0), E.const(0))
    return _Window(kernel, stride, padding, dilation, inserted)


def sizes(op: Operation, chip: Chip) -> Iterator[Check]:
    """The result is as large as the window, its steps and the padded input say."""
    source, target = op.view("src"), op.view("dst")
    window = _window(op)
    if source is None or target is None or window is None:
        return
    for k, axis in enumerate("hw"):
        extended, reach = window.padded(source.shape[2 + k], k), window.reach(k)
        steps = E.floordiv(extended - reach, window.stride[k]) + 1
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
            given=(E.ge(window.stride[k], 1),),
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
    yield from _outer_sizes(op, source, target)


def _outer_sizes(op: Operation, source: View, target: View) -> Iterator[Check]:
    """Batches and channels of the result."""
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


def weights(op: Operation, chip: Chip) -> Iterator[Check]:
    """There are weights for each output channel, each input channel and each element of a window.

    Those of a convolution are packed in groups of input channels (TPU-C05).
    """
    weight, source, target = op.view("weight"), op.view("src"), op.view("dst")
    kernel = numbers(op, "kernel")
    if weight is None or source is None or target is None or kernel is None or len(kernel) != 2:
        return
    taps = kernel[0] * kernel[1]
    n, c, h, w = weight.shape
    values = [(f"{axis} of weight", size) for axis, size in zip(AXES, weight.shape, strict=True)]
    if Trait.DEPTHWISE in op.traits:
        fine = E.and_(E.eq(h, kernel[0]), E.eq(w, kernel[1]))
        text, fact = "weight is [1, c of dst, rows, columns of the window]", "TPU-C30"
    else:
        group = _group(weight, chip)
        blocks = taps * E.ceildiv(source.shape[1], group)
        packed = E.and_(E.eq(h, blocks), E.eq(w, group))
        fine = E.or_(packed, E.and_(E.eq(group, 1), E.eq(h * w, blocks)))
        text = "weight is [1, c of dst, rows * columns * groups of input channels, channels each]"
        fact = "TPU-C05"
        values += [("channels of a group", group), ("groups * rows * columns", blocks)]
    yield check(
        op,
        "weight",
        E.and_(E.eq(n, 1), E.eq(c, target.shape[1]), fine),
        text,
        f"the weights of `pl.{function(op)}` are not those of its channels and its window",
        fact,
        values=(*values, ("c of dst", target.shape[1]), ("c of src", source.shape[1])),
        views=(source,),
        help=("`pl.get_nic(dtype)` says how many input channels are in a group",),
    )


def _group(weight: View, chip: Chip) -> Expr:
    """Input channels that lie together (CHIP-24)."""
    table = {
        code: chip.groups.get(name, max(chip.lanes * dt.BYTE // dt.BITS[name], 1))
        for name, code in dt.CODES.items()
    }
    return E.table("channels per group", weight.dtype.code, table)


def options(op: Operation, chip: Chip) -> Iterator[Check]:
    """Options that exclude each other, or that the chip does not have."""
    name = function(op)
    if Trait.TRANSPOSED in op.traits:
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
    if Trait.INTEGERS in op.traits:
        yield from _asymmetric(op)
        yield from _signs(op)
        yield from _numbers_of_integers(op, chip)
    else:
        yield check(
            op,
            "result_relu",
            implies(relu, E.truth(chip.has(Capability.CONVOLUTION_RELU))),
            f"{chip.name} has relu for fconv",
            f"`pl.fconv` on {chip.name} has no relu",
            "TPU-C07",
        )


def _asymmetric(op: Operation) -> Iterator[Check]:
    """Weights with a zero point: no relu, no bias, wide sums."""
    relu, symmetric = flag(op, "result_relu"), flag(op, "sym")
    target, bias = op.view("dst"), op.view("bias")
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


def _signs(op: Operation) -> Iterator[Check]:
    """The result of a symmetric convolution is signed where a source is, and relu is not."""
    relu, symmetric = flag(op, "result_relu"), flag(op, "sym")
    target = op.view("dst")
    if target is None:
        return
    yield check(
        op,
        "dst",
        implies(E.and_(symmetric, relu), target.dtype.among(UNSIGNED)),
        "what relu leaves is unsigned",
        "the result of a convolution with relu is unsigned",
        "TPU-C11",
    )
    for role in ("src", "weight"):
        view = op.view(role)
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


def _numbers_of_integers(op: Operation, chip: Chip) -> Iterator[Check]:
    """The bias, and what requantisation goes by."""
    bias = op.view("bias")
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
    for role in described(op).roles:
        limit = role.value
        value = number(op, role.name) if limit is not None else None
        if limit is None or value is None:
            continue
        yield check(
            op,
            role.name,
            limit.holds(value),
            f"{limit.least} <= {role.name} <= {limit.most}",
            f"{role.about} of `pl.{function(op)}` does not fit its field",
            limit.fact,
            values=((role.name, value),),
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
_WEIGHTS: Final = (
    _CONV.replace("[1, 24, 10", "[1, 33, 10")
    .replace(
        "pl.dma.load(a, source)\n",
        "pl.dma.load(a, source)\n"
        "    weights = pl.gtensor([1, 40, 18, 32], pl.GLOBAL, w_ptr)\n"
        "    w = pl.make_tensor([1, 40, 18, 32], pl.float16, align_mode=pl.TPU_COMPACT)\n"
        "    pl.dma.load_compact(w, weights)\n",
    )
    .replace("a, 0.125,", "a, w,")
    .replace("out_dtype=pl.float16", "out_dtype=pl.float16, has_bias=False")
    .replace("sample(out_ptr, src_ptr)", "sample(out_ptr, src_ptr, w_ptr)")
    .replace("contract (", "contract (w_ptr: fp16[1, 40, 18, 32], ")
)


declare(
    "ppl-window-parameters",
    "PPL050",
    On.OPERATION,
    "windows, steps and padding fit their fields",
    "Steps, dilations and padding have four bits each. The pools take padding before the step, "
    "the convolutions after: exchanged lists are in range only by chance.",
    ("TPU-C01", "TPU-C10", "TPU-C40", "TPU-C43", "PPL-C11"),
    parameters,
    _POOL.replace("[0, 0, 0, 0], [2, 2]", "[2, 2], [0, 0, 0, 0]"),
    _POOL,
    concerns=having(*WINDOWS),
)
declare(
    "ppl-window-size",
    "PPL051",
    On.OPERATION,
    "the result of a convolution or pool has the size that its window makes",
    "The instruction computes as many rows and columns as it is told: too many read beyond the "
    "input, too few leave a part out.",
    ("TPU-C01", "TPU-C10", "TPU-C20", "TPU-C40"),
    sizes,
    _POOL.replace("7, 9]", "7, 10]"),
    _POOL,
    concerns=having(*WINDOWS),
)
declare(
    "ppl-window-dtypes",
    "PPL052",
    On.OPERATION,
    "input, weight, bias and result of a convolution or pool have types that go together",
    "Weights are of the input's type; the result is of that type or float32.",
    ("TPU-C03", "TPU-C04", "TPU-C06", "TPU-C10", "TPU-C31", "TPU-C40", "TPU-C41", "TPU-C42"),
    types,
    _CONV.replace(
        "b = pl.make_tensor([1, 40, 10, 12], pl.float16)",
        "b = pl.make_tensor([1, 40, 10, 12], pl.bfloat16)",
    ),
    _CONV,
    concerns=having(*WINDOWS),
)
declare(
    "ppl-weight-shape",
    "PPL054",
    On.OPERATION,
    "there are weights for each output channel, input channel and element of the window",
    "The instruction reads as many weights as channels and window say, in groups of input "
    "channels: of a tensor of another shape it reads others, or what lies behind.",
    ("TPU-C05", "TPU-C30"),
    weights,
    _WEIGHTS.replace("[1, 40, 18, 32]", "[1, 40, 9, 32]"),
    _WEIGHTS,
    concerns=having(Trait.CONVOLVES, Trait.DEPTHWISE),
    silent=True,
)
declare(
    "ppl-window-options",
    "PPL053",
    On.OPERATION,
    "options of a convolution exist on the chip and go together",
    "BM1684X convolves floats without relu; a number in the place of the weights has none either.",
    ("TPU-C07", "TPU-C11", "TPU-C12", "TPU-C13", "TPU-C32"),
    options,
    _CONV.replace("oc=40,", "oc=40, result_relu=True,"),
    _CONV,
    concerns=having(Trait.CONVOLVES),
)
