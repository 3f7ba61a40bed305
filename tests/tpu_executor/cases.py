"""The good TPU fixtures with arguments and what they compute, by NumPy alone.

``make`` gives the arguments; ``expect`` the result from them, or a tuple of several. Sizes are
chosen so that channels do not fill the lanes evenly and that last parts are smaller than the
others.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = Any
Arguments = dict[str, Any]


@dataclass(frozen=True)
class Case:
    """``tolerance``: of the result relative to its largest element; 0: bit for bit."""

    file: str
    kernel: str
    make: Callable[[], Arguments]
    expect: Callable[[Arguments], Array]
    tolerance: float = 0.0
    dialect: str = "okk"
    target: str = "bm1684"
    grid: tuple[int, ...] = ()


def rng(name: str) -> np.random.Generator:
    return np.random.default_rng(list(name.encode()))


def floats(name: str, *shape: int) -> Array:
    return rng(name).standard_normal(shape).astype(np.float32)


def zeros(*shape: int) -> Array:
    return np.zeros(shape, np.float32)


def windows(x: Array, kernel: tuple[int, int], strides: tuple[int, int] = (1, 1)) -> Array:
    """``(n, c, out h, out w, kernel h, kernel w)``."""
    seen = np.lib.stride_tricks.sliding_window_view(x, kernel, (2, 3))
    return seen[:, :, :: strides[0], :: strides[1]]


# ------------------------------------------------------------------------ OKK


def _packed(images: Array) -> Array:
    """Four images in the bytes of each word; ``(groups, 4, channels, area)``."""
    return np.ascontiguousarray(images.transpose(0, 2, 3, 1)).view(np.int32)[..., 0]


def _add_packed() -> Arguments:
    drawn = rng("packed").integers(-128, 128, (2, 2, 4, 7, 33)).astype(np.int8)
    return {
        "groups": 2,
        "channels": 7,
        "area": 33,
        "output": np.zeros((2, 7, 33), np.int32),
        "left": _packed(drawn[0]),
        "right": _packed(drawn[1]),
    }


def _sum_packed(a: Arguments) -> Array:
    left, right = (a[k].view(np.int8).astype(np.int64) for k in ("left", "right"))
    total = np.clip((left + right + 1) >> 1, -128, 127)
    return total.astype(np.int8).view(np.int32).reshape(a["output"].shape)


def _pool() -> Arguments:
    return {
        "images": 2,
        "channels": 70,
        "height": 11,
        "width": 9,
        "output": zeros(2, 70, 5, 4),
        "source": floats("pool", 2, 70, 11, 9),
    }


def _bias() -> Arguments:
    return {
        "images": 3,
        "channels": 59,
        "height": 5,
        "width": 7,
        "output": zeros(3, 59, 5, 7),
        "source": floats("bias", 3, 59, 5, 7),
        "bias": floats("offsets", 59),
    }


def _conv(inputs: int) -> Arguments:
    pairs, outputs = (inputs + 1) // 2, 67
    weight = floats("taps", outputs, inputs, 3, 5)
    full = np.zeros((2 * pairs, outputs, 3, 5), np.float32)
    full[:inputs] = weight.transpose(1, 0, 2, 3)
    packed = full.reshape(pairs, 2, outputs, 3, 5).transpose(0, 2, 3, 4, 1)
    return {
        "images": 2,
        "inputs": inputs,
        "outputs": outputs,
        "height": 9,
        "width": 12,
        "output": zeros(2, outputs, 4, 8),
        "source": floats("image", 2, inputs, 9, 12),
        "weight": np.ascontiguousarray(packed).reshape(pairs, outputs, 3, 10),
        "bias": floats("offset", outputs),
    }


def _convolved(a: Arguments) -> Array:
    pairs, outputs = a["weight"].shape[:2]
    taps = a["weight"].reshape(pairs, outputs, 3, 5, 2).transpose(0, 4, 1, 2, 3)
    weight = taps.reshape(2 * pairs, outputs, 3, 5)[: a["inputs"]]
    seen = windows(a["source"].astype(np.float64), (3, 5), (2, 1))
    return np.einsum("ncijhw,cohw->noij", seen, weight) + a["bias"][:, None, None]


def _depthwise() -> Arguments:
    return {
        "images": 2,
        "channels": 100,
        "height": 6,
        "width": 8,
        "output": zeros(2, 100, 6, 8),
        "source": floats("bands", 2, 100, 6, 8),
        "weight": floats("kernels", 100, 3, 3),
    }


def _each_channel(a: Arguments) -> Array:
    padded = np.pad(a["source"].astype(np.float64), ((0, 0), (0, 0), (1, 1), (1, 1)))
    return np.einsum("ncijhw,chw->ncij", windows(padded, (3, 3)), a["weight"])


def _padded() -> Arguments:
    return {
        "channels": 70,
        "height": 6,
        "width": 9,
        "output": zeros(70, 6, 9),
        "source": floats("padded", 70, 6, 9) - 3,
    }


def _greatest(a: Arguments) -> Array:
    low = -np.finfo(np.float32).max
    padded = np.pad(a["source"][None], ((0, 0), (0, 0), (1, 1), (1, 1)), constant_values=low)
    return windows(padded, (3, 3)).max((4, 5))[0]


def _norm() -> Arguments:
    return {
        "rows": 75,
        "width": 130,
        "epsilon": 1e-4,
        "output": zeros(75, 130),
        "source": floats("rows", 75, 130),
        "scale": floats("scale", 130),
        "shift": floats("shift", 130),
    }


def _normed(a: Arguments) -> Array:
    x = a["source"].astype(np.float64)
    x = x - x.mean(1, keepdims=True)
    x = x / np.sqrt((x * x).mean(1, keepdims=True) + a["epsilon"])
    return x * a["scale"] + a["shift"]


def _product() -> Arguments:
    return {
        "rows": 200,
        "inner": 75,
        "columns": 100,
        "product": zeros(200, 100),
        "left": floats("left", 200, 75),
        "right": floats("right", 75, 100),
    }


def _relu() -> Arguments:
    return {
        "length": 64 * 2100,
        "output": zeros(64 * 2100),
        "source": floats("run", 64 * 2100),
    }


def _totals() -> Arguments:
    return {
        "batch": 4,
        "rows": 90,
        "width": 37,
        "totals": zeros(4, 90),
        "source": floats("batch", 4, 90, 37),
    }


def _softmax() -> Arguments:
    return {
        "rows": 130,
        "width": 45,
        "output": zeros(130, 45),
        "scores": 3 * floats("scores", 130, 45),
    }


def _soft(a: Arguments) -> Array:
    e = np.exp(a["scores"].astype(np.float64) - a["scores"].max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def _matrix() -> Arguments:
    return {
        "rows": 70,
        "columns": 1030,
        "output": zeros(1030, 70),
        "source": floats("matrix", 70, 1030),
    }


OKK = [
    Case("add_packed_int8", "add_packed_int8", _add_packed, _sum_packed),
    Case(
        "avg_pool_strided",
        "avg_pool_strided",
        _pool,
        lambda a: windows(a["source"], (3, 2), (2, 2)).astype(np.float64).mean((4, 5)),
        1e-6,
    ),
    Case(
        "channel_bias",
        "channel_bias",
        _bias,
        lambda a: a["source"] + a["bias"][:, None, None],
    ),
    Case("conv_pairs", "conv_pairs", lambda: _conv(6), _convolved, 1e-6),
    Case("conv_pairs", "conv_pairs", lambda: _conv(71), _convolved, 1e-6),
    Case("depthwise_bands", "depthwise_bands", _depthwise, _each_channel, 1e-6),
    Case("max_pool_padded", "max_pool_padded", _padded, _greatest),
    Case("layer_norm", "layer_norm", _norm, _normed, 1e-5),
    Case(
        "matmul_rows",
        "matmul_rows",
        _product,
        lambda a: a["left"].astype(np.float64) @ a["right"],
        1e-6,
    ),
    Case("relu_pieces", "relu_pieces", _relu, lambda a: np.maximum(a["source"], 0)),
    Case(
        "row_totals",
        "row_totals",
        _totals,
        lambda a: a["source"].astype(np.float64).sum(2),
        1e-6,
    ),
    Case("softmax_rows", "softmax_rows", _softmax, _soft, 1e-6),
    Case("transpose_strides", "transpose_strides", _matrix, lambda a: a["source"].T),
]

# ------------------------------------------------------------------------ PPL


def halves(name: str, *shape: int) -> Array:
    return floats(name, *shape).astype(np.float16)


def _clamped() -> Arguments:
    return {
        "out_ptr": np.zeros((70, 1601), np.float16),
        "x_ptr": halves("clamped", 70, 1601),
        "low": -0.5,
        "high": 0.75,
        "channels": 70,
        "width": 1601,
    }


def _gathered() -> Arguments:
    return {
        "out_ptr": np.zeros((33, 19), np.float16),
        "table_ptr": halves("table", 50, 19),
        "index_ptr": rng("index").integers(0, 50, 33).astype(np.uint32),
        "count": 33,
        "rows": 50,
        "width": 19,
    }


def _nt() -> Arguments:
    return {
        "out_ptr": np.zeros((100, 70), np.float16),
        "left_ptr": halves("nt left", 100, 90),
        "right_ptr": halves("nt right", 70, 90),
        "m": 100,
        "n": 70,
        "k": 90,
    }


def _pooled() -> Arguments:
    return {
        "out_ptr": zeros(3, 70, 3, 4),
        "x_ptr": floats("pooled", 3, 70, 7, 14),
        "images": 3,
        "channels": 70,
        "height": 7,
        "width": 14,
    }


def _bfloat(array: Array) -> Array:
    import ml_dtypes

    return array.astype(ml_dtypes.bfloat16)


def _row_norm() -> Arguments:
    return {
        "out_ptr": _bfloat(zeros(75, 133)),
        "x_ptr": _bfloat(floats("norm", 75, 133)),
        "epsilon": 1e-3,
        "rows": 75,
        "width": 133,
    }


def _rooted(a: Arguments) -> Array:
    x = a["x_ptr"].astype(np.float64)
    return x / np.sqrt((x * x).mean(1, keepdims=True) + a["epsilon"])


def _scaled(rows: int) -> Arguments:
    return {
        "out_ptr": zeros(rows, 65),
        "x_ptr": floats("scaled x", rows, 65),
        "y_ptr": floats("scaled y", rows, 65),
        "scale": 0.5,
        "rows": rows,
        "width": 65,
    }


def _grouped() -> Arguments:
    inputs, outputs = 45, 67
    weight = halves("grouped", outputs, inputs, 3, 3)
    depth = -(-inputs // 32)
    full = np.zeros((outputs, depth * 32, 9), np.float16)
    full[:, :inputs] = weight.reshape(outputs, inputs, 9)
    packed = full.reshape(outputs, depth, 32, 9).transpose(0, 1, 3, 2)
    return {
        "out_ptr": np.zeros((1, outputs, 12, 18), np.float16),
        "x_ptr": halves("groups", 1, inputs, 14, 20),
        "weight_ptr": np.ascontiguousarray(packed).reshape(outputs, 9 * depth, 32),
        "inputs": inputs,
        "outputs": outputs,
    }


def _ungrouped(a: Arguments) -> Array:
    outputs, depth = a["weight_ptr"].shape[0], a["weight_ptr"].shape[1] // 9
    taps = a["weight_ptr"].reshape(outputs, depth, 9, 32).transpose(0, 1, 3, 2)
    weight = taps.reshape(outputs, depth * 32, 3, 3)[:, : a["inputs"]].astype(np.float64)
    seen = windows(a["x_ptr"].astype(np.float64), (3, 3))
    return np.einsum("ncijhw,ochw->noij", seen, weight)


def _spread() -> Arguments:
    return {
        "out_ptr": zeros(75, 50),
        "x_ptr": floats("spread", 75, 50),
        "bias_ptr": floats("spread bias", 50),
        "rows": 75,
        "width": 50,
    }


def _swapped() -> Arguments:
    return {
        "out_ptr": np.zeros((11, 5, 7, 9), np.int8),
        "x_ptr": rng("swapped").integers(-128, 128, (5, 11, 7, 9)).astype(np.int8),
        "images": 5,
        "channels": 11,
        "height": 7,
        "width": 9,
    }


def _in_place() -> Arguments:
    return {"out_ptr": zeros(7, 24, 60), "x_ptr": floats("in place", 7, 24, 60)}


def _written_in_place(a: Arguments) -> tuple[Array, Array]:
    turned = (a["x_ptr"] + np.float32(1))[::-1]
    return turned, turned * turned


def _ppl(
    name: str,
    make: Callable[[], Arguments],
    expect: Callable[[Arguments], Array],
    tolerance: float = 0.0,
    target: str = "bm1684x",
    grid: tuple[int, ...] = (),
) -> Case:
    return Case(name, name, make, expect, tolerance, "ppl", target, grid)


def _scaled_sum(a: Arguments) -> Array:
    return a["x_ptr"] * np.float32(0.5) + a["y_ptr"]


PPL = [
    _ppl("clamped", _clamped, lambda a: np.clip(a["x_ptr"], np.float16(-0.5), np.float16(0.75))),
    _ppl("gathered_rows", _gathered, lambda a: a["table_ptr"][a["index_ptr"]]),
    _ppl(
        "cores_in_place",
        _in_place,
        _written_in_place,
        target="bm1690",
        grid=(1, 3),
    ),
    _ppl(
        "rounded_down",
        lambda: {"out_ptr": halves("bands", 97, 208), "rows": 97},
        lambda a: np.zeros_like(a["out_ptr"]),
    ),
    _ppl(
        "nt_matmul",
        _nt,
        lambda a: a["left_ptr"].astype(np.float64) @ a["right_ptr"].T.astype(np.float64),
        1e-3,
    ),
    _ppl(
        "pooled_planes",
        _pooled,
        lambda a: windows(a["x_ptr"], (2, 3), (2, 3)).max((4, 5)),
    ),
    _ppl("row_norm", _row_norm, _rooted, 1e-2),
    _ppl("scaled_sum", lambda: _scaled(130), _scaled_sum),
    _ppl("scaled_sum", lambda: _scaled(333), _scaled_sum, target="sg2260e", grid=(1, 4)),
    _ppl("scaled_sum", lambda: _scaled(3), _scaled_sum, target="bm1690", grid=(1, 8)),
    _ppl("small_conv", _grouped, _ungrouped, 1e-3),
    _ppl("spread_bias", _spread, lambda a: a["x_ptr"] + a["bias_ptr"]),
    _ppl("swapped_planes", _swapped, lambda a: a["x_ptr"].transpose(1, 0, 2, 3)),
]

GOOD = [*OKK, *PPL]
