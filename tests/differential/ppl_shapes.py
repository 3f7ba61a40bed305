"""Shapes of operands of PPL that go together, where a rule says which do and no description."""

from __future__ import annotations

from math import ceil

from tests.differential.kernels import Shape
from tests.differential.operands import Call
from verifier.hardware.chips import Chip
from verifier.symbolic.instruction import Trait
from verifier.symbolic.roles import Crossed, PerChannel


def fit(call: Call) -> None:
    """Give the operands of windows, products, gathers and sorts shapes that fit."""
    traits = call.instruction.traits
    if not traits.isdisjoint((Trait.POOLS, Trait.CONVOLVES, Trait.DEPTHWISE)):
        _window(call)
    elif Trait.SECOND_PRODUCTS in traits:
        _product(call)
    elif Trait.FIRST_PRODUCTS in traits:
        _first_product(call)
    elif not traits.isdisjoint((Trait.GATHERS, Trait.SCATTERS)):
        _gather(call)
    elif isinstance(_shape_of(call, "dst"), Crossed):
        _, c, _, w = call.base
        _put(call, "src0", (1, min(c, 33), 1, 1))
        _put(call, "src1", (1, 1, 1, w))
        _put(call, "dst", (1, min(c, 33), 1, w))
    elif "num" in call.signature.names:
        assert isinstance(call.target, Chip)
        _put(call, "dst", (1, call.target.lanes, 1, _number(call, "num", 1)))
    elif "K" in call.signature.names:
        _put(call, "src", (1, 1, 1, max(call.base[3], 9)))
        _put(call, "dst", (1, 1, 1, _number(call, "K", 1)))
    for role in ("scale", "bias", "quant", "requant", "dst_cnt"):
        if role in call.shapes and traits.isdisjoint((Trait.SECOND_PRODUCTS, Trait.FIRST_PRODUCTS)):
            _put(call, role, _per_channel(call, role))


def _shape_of(call: Call, role: str) -> object:
    described = call.instruction.role(role)
    return described.shape if described is not None else None


def _per_channel(call: Call, role: str) -> Shape:
    """One number for each channel of what is made, or several; for each row of a count."""
    n, c = (*call.shapes.get("dst", call.base), 1, 1)[:2]
    shape = _shape_of(call, role)
    columns = shape.columns if isinstance(shape, PerChannel) else 1
    return (n if role == "dst_cnt" else 1, c, 1, columns)


def _put(call: Call, role: str, shape: Shape) -> None:
    if role in call.shapes:
        call.shapes[role] = shape


def _number(call: Call, role: str, otherwise: int) -> int:
    value = getattr(call.value(role), "const", otherwise)
    return value if isinstance(value, int) else otherwise


def _window(call: Call) -> None:
    """A window over the rows and columns of the source (TPU-C01, C20, C40)."""
    if len(call.shapes["src"]) != 4:
        return
    n, c, h, w = call.shapes["src"]
    kernel, dilation = call.numbers("kernel", (1, 1)), call.numbers("dilation", (1, 1))
    stride, inserted = call.numbers("stride", (1, 1)), call.numbers("ins", (0, 0))
    padding = call.numbers("padding", (0, 0, 0, 0))
    if (len(kernel), len(padding), len(stride), len(dilation)) != (2, 4, 2, 2):
        return
    if Trait.TRANSPOSED in call.instruction.traits:
        stride = (1, 1)
    made = []
    for k, size in enumerate((h, w)):
        padded = (size - 1) * (inserted[k] + 1) + 1 + padding[2 * k] + padding[2 * k + 1]
        reach = (kernel[k] - 1) * dilation[k] + 1
        made.append(max(1, (padded - reach) // max(stride[k], 1) + 1))
    outputs = _number(call, "oc", c) if call.instruction.role("oc") is not None else c
    _put(call, "dst", (n, outputs, *made))
    _put(call, "weight", _weights(call, c, outputs, kernel))


def _weights(call: Call, channels: int, outputs: int, kernel: Shape) -> Shape:
    if Trait.DEPTHWISE in call.instruction.traits:
        return (1, channels, *kernel)
    assert isinstance(call.target, Chip)
    group = call.target.groups.get(call.dtypes.get("weight", ""), 1)
    return (1, outputs, ceil(channels / group) * kernel[0] * kernel[1], group)


def _set(call: Call, flag: str) -> bool:
    return call.value(flag) is True


def _product(call: Call) -> None:
    """Rows along c and columns along w (TPU-D10)."""
    m, k, n = call.base[1], call.base[3], call.other
    left, right = _set(call, "ltrans"), _set(call, "rtrans")
    _put(call, "left", (1, k, 1, m) if left else (1, m, 1, k))
    _put(call, "right", (1, n, 1, k) if right else (1, k, 1, n))
    _put(call, "dst", (1, n, 1, m) if left and right else (1, m, 1, n))
    _put(call, "bias", (1, m if left and right else 1, 1, n))


def _first_product(call: Call) -> None:
    """Rows along n, columns along c and w (TPU-D01)."""
    n, c, _, w = call.base
    rows, inner = n + 1, c * w
    columns = (call.other, 1, 3)
    _put(call, "left", (inner, 1, 1, rows) if _set(call, "ltrans") else (rows, c, 1, w))
    _put(call, "right", (inner, *columns))
    _put(call, "dst", (rows, *columns))
    _put(call, "bias", (1, *columns))


def _gather(call: Call) -> None:
    """Rows, columns or elements of a table (TPU-E06 to E08, TPU-F09)."""
    n, c, h, w = call.base
    scatters = Trait.SCATTERS in call.instruction.traits
    whole, part = ("dst", "param") if scatters else ("param", "dst")
    picked = call.instruction.name.rpartition("_")[2]
    if picked == "h":
        _put(call, whole, (n, c, call.other, w))
        _put(call, part, (n, c, h, w))
        _put(call, "index", (n, c, h, 1))
    elif picked == "w":
        _put(call, whole, (n, c, 1, call.other))
        _put(call, part, (n, c, 1, w))
        _put(call, "index", (1, c, 1, w))
    else:
        _put(call, whole, (n, c, call.other, w))
        _put(call, part, (n, c, h, w))
        _put(call, "index", (1, h * w, 1, 2))
