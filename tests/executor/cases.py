"""Inputs for the fixture kernels, and what the good ones compute."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

BF16 = np.dtype(ml_dtypes.bfloat16)
F32 = np.dtype(np.float32)
F16 = np.dtype(np.float16)

Reference = Callable[..., Any]


@dataclass(frozen=True)
class Case:
    """Arguments of a kernel: ``(dtype, shape)`` for a random tensor, or the value itself.

    ``made_by``: the function that makes the kernel, and its arguments.
    """

    file: str
    kernel: str
    arguments: dict[str, Any]
    reference: Reference | None = None
    tolerance: float = 1e-5
    grid: tuple[int, ...] = ()
    target: str = "trn2"
    made_by: tuple[Any, ...] = ()

    def make(self, seed: int = 0) -> dict[str, Any]:
        rng = np.random.default_rng(seed)
        out: dict[str, Any] = {}
        for name, value in self.arguments.items():
            if callable(value):
                value = value(rng)
            elif isinstance(value, tuple) and isinstance(value[0], np.dtype):
                dtype, shape = value
                value = np.asarray(rng.standard_normal(shape, np.float32)).astype(dtype)
            out[name] = value
        return out


def f(x: Any) -> Any:
    return np.asarray(x).astype(np.float64)


def softmax(x: Any) -> Any:
    e = np.exp(f(x) - f(x).max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def silu(x: Any) -> Any:
    return f(x) / (1 + np.exp(-f(x)))


def pooled(x: Any, k: int, fold: Any) -> Any:
    c, h, w = x.shape
    return fold(f(x).reshape(c, h // k, k, w // k, k), axis=(2, 4))


def product(a: Any, b: Any) -> Any:
    return f(a).T @ f(b)


def rmsnorm(x: Any, residual: Any, gain: Any) -> Any:
    s = f(x) + f(residual)
    return s / np.sqrt((s * s).mean(axis=1, keepdims=True) + 1e-5) * f(gain)


def layernorm(h: Any) -> Any:
    x = f(h)
    return (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-6)


def scanned(decay: Any, drive: Any) -> Any:
    state, out = np.zeros(decay.shape[0]), np.zeros(decay.shape)
    for t in range(decay.shape[1]):
        state = f(decay[:, t]) * state + f(drive[:, t])
        out[:, t] = state
    return out


def rotated(x: Any, cos: Any, sin: Any) -> Any:
    half = x.shape[1] // 2
    a, b = f(x[:, :half]), f(x[:, half:])
    return np.concatenate([a * f(cos) - b * f(sin), b * f(cos) + a * f(sin)], axis=1)


def scattered(cache: Any, fresh: Any, slots: Any) -> Any:
    out = f(cache).copy()
    out[slots[:, 0]] = f(fresh)
    return out


def from_next(x: Any) -> Any:
    """Every other block is the exponential of the next one."""
    out = f(x).copy()
    out[::2] = np.exp(out[1::2])
    return out


def shifted(x: Any) -> Any:
    """All columns but the last are the exponentials of the next ones."""
    return np.concatenate([np.exp(f(x)[:, 1:]), f(x)[:, -1:]], axis=1)


def centred(x: Any) -> Any:
    bands = f(x).reshape(8, 128, -1)
    return (bands - bands.mean(axis=0, keepdims=True)).reshape(x.shape)


def heads(q_t: Any, k_t: Any, v: Any) -> Any:
    return softmax(0.125 * (f(q_t).T @ f(k_t))) @ f(v)


def turned(x: Any, rows: int, cols: int) -> Any:
    return x.reshape(-1, rows, cols).transpose(0, 2, 1).reshape(x.shape)


def _indices(count: int, most: int) -> Any:
    return lambda rng: rng.permutation(most)[:count].astype(np.int32).reshape(count, 1)


GOOD = [
    Case(
        "affine_tails",
        "scale_shift",
        {"x": (F32, (200, 700)), "factor": 2.0, "offset": 0.5},
        lambda x, factor, offset: factor * f(x) + offset,
    ),
    Case(
        "attention_head",
        "one_head",
        {"q_t": (BF16, (64, 256)), "k_t": (BF16, (64, 384)), "v": (BF16, (384, 96))},
        heads,
        3e-2,
    ),
    Case(
        "beta1_add_index",
        "tensor_sum",
        {"a": (F32, (256, 384)), "b": (F32, (256, 384))},
        lambda a, b: f(a) + f(b),
    ),
    Case("beta1_affine_apart", "interleaved", {"x": (F32, (4, 72, 40))}, from_next),
    Case("beta1_affine_apart", "in_order", {"x": (F32, (104, 7))}, shifted),
    Case("beta1_affine_apart", "scratch", {"x": (F32, (3, 72, 40))}, lambda x: f(x) + np.exp(f(x))),
    Case("beta1_blocks", "centre", {"x": (F32, (1024, 500))}, centred),
    Case("beta1_grid", "grid_scale", {"x": (F32, (256, 1024))}, lambda x: 2 * f(x), grid=(2, 2)),
    Case(
        "beta1_masked_statistics",
        "moments",
        {"x": (F32, (200, 1024))},
        lambda x: np.stack([f(x).mean(axis=1), f(x).var(axis=1)], axis=1),
        1e-4,
    ),
    Case("beta1_masked_square", "squares", {"x": (F32, (200, 700))}, lambda x: f(x) ** 2),
    Case(
        "beta1_matmul", "product", {"w_t": (F32, (256, 64)), "x": (F32, (256, 512))}, product, 1e-4
    ),
    Case(
        "beta1_pool_index",
        "avgpool",
        {"x": (F32, (24, 12, 30)), "k": 3},
        lambda x, k: pooled(x, k, np.mean),
    ),
    Case(
        "beta1_scan",
        "running_product",
        {"x": lambda rng: rng.uniform(0.9, 1.1, (64, 400)).astype(np.float32)},
        lambda x: np.cumprod(f(x), axis=1),
        1e-4,
    ),
    Case("beta1_softmax", "softmax", {"x": (F32, (200, 90))}, softmax),
    Case(
        "ceil_div_tails",
        "relu_sum",
        {"a": (BF16, (100, 900)), "b": (BF16, (100, 900))},
        lambda a, b: np.maximum(f(a) + f(b), 0),
        1e-2,
    ),
    Case(
        "closure_steps",
        "clamp",
        {"x": (F32, (96, 300)), "low": -0.5, "high": 0.75},
        lambda x, low, high: np.clip(f(x), low, high),
    ),
    Case(
        "column_sums",
        "column_sums",
        {"table": (F32, (256, 300))},
        lambda table: f(table).sum(axis=0, keepdims=True),
        1e-4,
    ),
    Case("config_object", "negate", {"x": (F32, (256, 800))}, lambda x: -f(x)),
    Case(
        "decay_scan",
        "decay_scan",
        {
            "decay": lambda rng: rng.uniform(0.1, 0.9, (100, 960)).astype(np.float32),
            "drive": (F32, (100, 960)),
        },
        scanned,
        1e-4,
    ),
    Case("double_buffer", "gelu_stream", {"x": (BF16, (112, 1280))}),
    Case(
        "early_return",
        "stretch",
        {"x": (F32, (100, 300)), "factor": 3},
        lambda x, factor: f(x) * factor,
    ),
    Case("enum_activation", "activate_all", {"x": (BF16, (96, 500))}),
    Case(
        "gated_unit",
        "gated_unit",
        {"gate": (BF16, (256, 300)), "up": (BF16, (256, 300))},
        lambda gate, up: silu(gate) * f(up),
        2e-2,
    ),
    Case(
        "gather_rows",
        "embed",
        {"ids": _indices(256, 300), "table": (BF16, (300, 130))},
        lambda ids, table: f(table)[ids[:, 0]],
        0.0,
    ),
    Case(
        "grid_add",
        "grid_add",
        {"a": (BF16, (256, 300)), "b": (BF16, (256, 300))},
        lambda a, b: f(a) + f(b),
        1e-2,
        grid=(2,),
    ),
    Case(
        "kernel_assert_helper",
        "batched_max",
        {"x": (F32, (3, 128, 200)), "y": (F32, (3, 128, 200))},
        lambda x, y: np.maximum(f(x), f(y)),
        0.0,
    ),
    Case("layernorm_stats", "layernorm", {"h": (F32, (96, 1024))}, layernorm, 1e-4),
    Case(
        "matmul_blocked",
        "blocked",
        {"x_t": (BF16, (256, 384)), "y": (BF16, (256, 1024))},
        product,
        2e-2,
    ),
    Case(
        "matmul_hoisted",
        "hoisted",
        {"at": (F16, (256, 256)), "b": (F16, (256, 1024))},
        product,
        1e-2,
    ),
    Case(
        "matmul_tiled",
        "project",
        {"weights_t": (BF16, (256, 128)), "tokens": (BF16, (256, 512))},
        product,
        2e-2,
    ),
    Case(
        "maxpool_ap",
        "maxpool",
        {"frames": (F32, (30, 12, 20)), "window": 4},
        lambda frames, window: pooled(frames, window, np.max),
        0.0,
    ),
    Case(
        "mx_product",
        "mx_product",
        {"w": (BF16, (128, 256)), "x": (BF16, (128, 1280))},
        target="trn3",
    ),
    Case("pipeline_stages", "pipelined_square", {"x": (F32, (100, 768))}, lambda x: f(x) ** 2),
    Case(
        "placed_by_hand",
        "placed",
        {"x": (F32, (128, 1024)), "y": (F32, (128, 1024))},
        lambda x, y: f(x) * f(y) + f(x),
    ),
    Case(
        "psum_accumulate",
        "grouped",
        {"a_t": (BF16, (3, 256, 96)), "b": (BF16, (3, 256, 480))},
        lambda a_t, b: np.stack([product(x, y) for x, y in zip(a_t, b, strict=True)]),
        2e-2,
    ),
    Case(
        "rmsnorm_residual",
        "rmsnorm_residual",
        {"x": (F32, (256, 200)), "residual": (F32, (256, 200)), "gain": (F32, (1, 200))},
        rmsnorm,
        1e-4,
    ),
    Case(
        "rope_halves",
        "rope",
        {"x": (F32, (128, 60)), "cos": (F32, (128, 30)), "sin": (F32, (128, 30))},
        rotated,
    ),
    Case("decorated_jit", "blocks", {"x": (F32, (144, 70))}, f, 0.0),
    Case("row_extremes", "extremes", {"x": (F32, (80, 700))}),
    Case(
        "scatter_cache",
        "update_cache",
        {"cache": (BF16, (200, 70)), "fresh": (BF16, (96, 70)), "slots": _indices(96, 200)},
        scattered,
        0.0,
    ),
    Case(
        "round_robin",
        "summed",
        {"x": (F32, (240, 70))},
        lambda x: f(x).reshape(3, 80, 70).sum(axis=0),
    ),
    Case("softmax_rows", "row_softmax", {"logits": (F32, (256, 300))}, softmax),
    Case("top8_router", "router", {"scores": (F32, (100, 64))}),
    Case("transpose_blocks", "flip", {"image": (BF16, (128, 192))}, lambda image: f(image).T, 0.0),
    Case(
        "transpose_free_ap", "swap_inner", {"x": (F32, (50, 35)), "rows": 5, "cols": 7}, turned, 0.0
    ),
    Case(
        "value_style",
        "smooth",
        {"x": (F32, (128, 1200)), "y": (F32, (128, 1200))},
        lambda x, y: np.exp(f(x)) + f(y) ** 2,
        1e-4,
    ),
]

#: for the comparison with the check alone: one is made by a function; of the others, what they
#: raise is the point, or the order of a loop
OTHERS = [
    Case(
        "factory_scale",
        "make_scale.scale",
        {"x": (F32, (144, 500)), "factor": 0.5},
        made_by=("make_scale", 48, 3),
    ),
    Case("beta1_affine_shift", "shifted", {"x": (F32, (4, 72, 40))}),
    Case("beta1_affine_shift", "halves", {"x": (F32, (104, 60))}),
    Case("beta1_affine_carry", "carried", {"x": (F32, (256, 512))}),
    Case("beta1_overlapping_writes", "overlapping", {"x": (F32, (128, 300))}),
    Case("contraction_tail", "correlate", {"x_t": (BF16, (256, 72)), "y": (BF16, (256, 400))}),
    Case("contradiction", "impossible", {"x": (F32, (64, 100))}),
    Case("helper_arguments", "helped", {"x": (F32, (256, 96))}),
    Case("list_index", "rotating", {"x": (F32, (64, 900))}),
    Case("missing_key", "by_type", {"x": (F16, (100, 1024))}),
    Case("ring_too_short", "shifted", {"x": (F32, (384, 40))}),
    Case("unbound_on_a_path", "affine", {"x": (F32, (100, 300)), "use_bias": True}),
    Case("unpack_rank", "unpacked", {"x": (F32, (100, 300))}),
    Case("window_zero", "strided_mean", {"x": (F32, (100, 300)), "window": 4}),
]

#: faults that a run shows: inputs that the kernel admits and that break the rule
BAD = [
    Case("accumulate_first", "blocks_sum", {"a": (BF16, (512, 40)), "b": (BF16, (512, 300))}),
    Case("accumulator_not_cleared", "running_max", {"x": (F32, (100, 512))}),
    Case("ap_past_end", "shifted_rows", {"x": (BF16, (100, 300))}),
    Case("ap_row_step", "even_columns", {"x": (F32, (96, 640))}),
    Case("beta1_arange_end", "negated", {"x": (F32, (100, 300))}),
    Case("beta1_matmul_depth", "deep", {"a": (F32, (256, 64)), "b": (F32, (256, 512))}),
    Case("beta1_tall_load", "loaded_whole", {"x": (F32, (200, 64))}),
    Case("beta1_unmasked_store", "roots", {"x": (F32, (200, 220))}),
    Case("bf16_accumulator", "outer_sum", {"u": (BF16, (64, 48)), "v": (BF16, (64, 200))}),
    Case("bf16_scale_vector", "scaled_rows", {"x": (BF16, (90, 512)), "factors": (BF16, (90, 1))}),
    Case("bias_rows", "shifted_exp", {"x": (F32, (64, 700)), "bias": (F32, (128, 1))}),
    Case("ceil_without_clamp", "copy_bands", {"x": (F32, (200, 333))}),
    Case("decorated_jit", "wrapped", {"x": (F32, (64, 70))}),
    Case("dma_from_psum", "scores", {"q": (BF16, (64, 100)), "k": (BF16, (64, 500))}),
    Case("dma_size", "trimmed", {"x": (BF16, (100, 272))}),
    Case("everything_resident", "two_passes", {"x": (F32, (128, 65536))}),
    Case("few_experts", "best_experts", {"s": (F32, (100, 4))}),
    Case("first_tile_kept", "summed", {"x": (F32, (160, 30000))}),
    Case("forgotten_return", "absolute", {"x": (F32, (100, 300))}),
    Case("free_size_mismatch", "neighbours", {"x": (F32, (100, 300))}),
    Case("gpsimd_psum", "copied_by_gpsimd", {"u": (BF16, (64, 48)), "v": (BF16, (64, 200))}),
    Case("half_written", "rotate_half", {"x": (F32, (128, 64))}),
    Case("helper_overrun", "shifted", {"x": (F32, (256, 96))}),
    Case("matmul_into_sbuf", "direct", {"u": (F16, (100, 32)), "v": (F16, (100, 256))}),
    Case("moving_too_wide", "wide_product", {"w": (BF16, (128, 96)), "x": None}),
    Case("mx_on_trn2", "quantise", {"x": (BF16, (128, 256))}),
    Case("nine_banks", "nine_products", {"w": (BF16, (9, 128, 64)), "x": (BF16, (128, 512))}),
    Case("output_tail", "bands", {"x": (BF16, (100, 300))}),
    Case("overlapping_addresses", "difference", {"x": (F32, (128, 600)), "y": (F32, (128, 600))}),
    Case("private_output", "tripled", {"x": (F32, (100, 300))}),
    Case("psum_bank_crossing", "side_by_side", {"w": (BF16, (128, 128)), "x": (BF16, (128, 768))}),
    Case("psum_between_banks", "placed_sum", {"u": (BF16, (128, 128)), "v": (BF16, (128, 256))}),
    Case("psum_reused", "per_group", {"a": (BF16, (2, 128, 56)), "b": (BF16, (2, 128, 320))}),
    Case("reduce_partitions", "total", {"x": (F32, (128, 450))}),
    Case("reduce_result", "pooled", {"x": (F32, (100, 12, 40))}),
    Case("removed_name", "pick", {"x": (F32, (128, 256))}),
    Case("rows_over_partitions", "halve", {"x": (F32, (129, 64))}),
    Case("slice_off_by_one", "strip_copy", {"x": (BF16, (128, 1000))}),
    Case("start_partition", "lower_rows", {"x": (F32, (128, 350))}),
    Case("statistics_width", "moments", {"x": (F32, (100, 600))}),
    Case("swapped_operands", "gram", {"p": (BF16, (100, 64)), "q": (BF16, (100, 120))}),
    Case("transpose_dtype", "turn_wide", {"x": (BF16, (128, 64))}),
    Case("transpose_shape", "turn", {"x": (BF16, (96, 56))}),
    Case("two_psum_operands", "sum_of_products", {"u": (BF16, (64, 80)), "v": (BF16, (64, 144))}),
]
