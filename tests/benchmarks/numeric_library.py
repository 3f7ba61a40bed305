"""The kernels of nki-library's ``core`` in the numeric table, and what they compute."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numeric_entry import BF16, F16, F32, Entry, counted, f, normal, plus

L: Final = "nki-library/src/nkilib_src/nkilib/core/"
CORE: Final = "nkilib_src.nkilib.core."


def uniform(low: float, high: float, dtype: Any = F32, **shapes: tuple[int, ...]) -> Any:
    def make(rng: Any) -> dict[str, Any]:
        return {k: rng.uniform(low, high, s).astype(dtype) for k, s in shapes.items()}

    return make


# --------------------------------------------------------------------------- references


def running_sum(x: Any) -> Any:
    return np.cumsum(f(x), axis=-1)


def row_max(x: Any) -> Any:
    return x.max(axis=-1, keepdims=True), x.argmax(axis=-1, keepdims=True).astype(np.int32)


def rotated_halves(x_in: Any, cos: Any, sin: Any, *_: Any) -> Any:
    """Pairs are (i, i + half) of the head dimension, which comes first."""
    half = x_in.shape[0] // 2
    a, b = f(x_in)[:half], f(x_in)[half:]
    c, s = f(cos)[:, :, None, :], f(sin)[:, :, None, :]
    return np.concatenate([a * c - b * s, b * c + a * s])


def rotated_pairs(x_in: Any, cos: Any, sin: Any, *_: Any) -> Any:
    """Pairs are (2 i, 2 i + 1)."""
    a, b = f(x_in)[0::2], f(x_in)[1::2]
    c, s = f(cos)[:, :, None, :], f(sin)[:, :, None, :]
    return np.stack([a * c - b * s, b * c + a * s], axis=1).reshape(x_in.shape)


def rotated_last(q: Any, k: Any, cos: Any, sin: Any) -> Any:
    """The head dimension comes last, with the angles of both halves."""

    def one(x: Any) -> Any:
        half = x.shape[-1] // 2
        swapped = np.concatenate([-f(x)[..., half:], f(x)[..., :half]], axis=-1)
        return f(x) * f(cos)[:, None] + swapped * f(sin)[:, None]

    return one(q), one(k)


def nonzero_rows(input_tensor: Any, *_: Any) -> Any:
    """For each column the rows that are not zero, then -1; and how many."""
    length, columns = input_tensor.shape
    indices = np.full((columns, length), -1, np.int32)
    for c in range(columns):
        rows = np.flatnonzero(input_tensor[:, c])
        indices[c, : rows.size] = rows
    return indices, np.count_nonzero(input_tensor, axis=0).astype(np.int32)


def rms(x: Any, eps: float = 1e-6) -> Any:
    return f(x) / np.sqrt((f(x) ** 2).mean(axis=-1, keepdims=True) + eps)


def normed_rows(hidden: Any, ln_w: Any) -> Any:
    """The normalised rows, and what their largest magnitude is to the range of the format."""
    rows = rms(hidden) * f(ln_w)
    return rows, np.abs(rows).max(axis=-1, keepdims=True) / 240


def unpacked_rows(found: Any) -> Any:
    """Rows of eight-bit floats that end in the four bytes of their scale."""
    scale = np.ascontiguousarray(found[..., -4:]).view(np.uint8).view(np.float32)
    return found[..., :-4].astype(np.float32) * scale, scale


def normed_static(hidden: Any, ln_w: Any, scale: Any) -> Any:
    return np.clip(rms(hidden) * f(ln_w) / f(scale)[0, 0], -240, 240)


def softmax(x: Any) -> Any:
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def routed(x: Any, w: Any, w_bias: Any, k: int = 4) -> Any:
    """Logits, the experts with the k largest, and the softmax over all experts."""
    logits = f(x).T @ f(w) + f(w_bias)
    best = np.argsort(-logits, axis=-1, kind="stable")[:, :k]
    return logits, best.astype(np.uint32), softmax(logits)


def flattened(input_tensor: Any, row_offsets: Any, size: int, length: int) -> Any:
    out = np.full(length, -1, input_tensor.dtype)
    for row, offset in zip(input_tensor, row_offsets, strict=True):
        start = int(offset) * size
        stop = min(start + row.size, length)
        out[start:stop] = row[: stop - start]
    return out


def projected(attention: Any, weight: Any, bias: Any) -> Any:
    """Heads side by side times the weight; attention is (batch, head, dimension, sequence)."""
    b, n, d, s = attention.shape
    return f(attention).transpose(0, 3, 1, 2).reshape(b, s, n * d) @ f(weight) + f(bias)


def projected_steps(attention: Any, weight: Any, bias: Any) -> Any:
    """As before, of (dimension, batch, head, sequence)."""
    d, b, n, s = attention.shape
    rows = f(attention).transpose(1, 3, 2, 0).reshape(b * s, n * d)
    return rows @ f(weight) + f(bias)


def plain_product(hidden: Any, weights: Any) -> Any:
    return f(hidden) @ f(weights)


def causal_attention(q: Any, k: Any, v: Any) -> Any:
    """q and v are (batch, sequence, dimension), k is (batch, dimension, sequence)."""
    scores = f(q) @ f(k)
    scores[:, np.triu(np.ones(scores.shape[1:], bool), 1)] = -np.inf
    return softmax(scores) @ f(v)


# -------------------------------------------------------------------------------- calls


def call(module: str, names: str, body: str) -> str:
    """A kernel that calls another one; ``names``: what it imports of its module."""
    return (
        "import nki\nimport nki.language as nl\n"
        f"from {CORE}utils.common_types import *\n"
        f"from {CORE}{module} import {names}\n\n\n@nki.jit\n{body}"
    )


NORM_ROWS: Final = call(
    "rmsnorm.rmsnorm_quant",
    "RmsNormQuantKernelArgs, rmsnorm_quant_kernel",
    "def entry(hidden, ln_w):\n"
    "    return rmsnorm_quant_kernel(hidden, ln_w, RmsNormQuantKernelArgs())\n",
)
NORM_STATIC: Final = call(
    "rmsnorm.rmsnorm_quant",
    "RmsNormQuantKernelArgs, rmsnorm_quant_kernel",
    "def entry(hidden, ln_w, scale):\n"
    "    settings = RmsNormQuantKernelArgs(quantization_type=QuantizationType.STATIC)\n"
    "    return rmsnorm_quant_kernel(hidden, ln_w, settings, scale)\n",
)
ROUTER: Final = call(
    "router_topk.router_topk",
    "router_topk",
    "def entry(x, w, w_bias):\n"
    "    T, E = x.shape[1], w.shape[1]\n"
    "    logits = nl.ndarray((T, E), dtype=nl.float32, buffer=nl.shared_hbm)\n"
    "    affinities = nl.ndarray((T, E), dtype=nl.float32, buffer=nl.shared_hbm)\n"
    "    index = nl.ndarray((T, 4), dtype=nl.uint32, buffer=nl.shared_hbm)\n"
    "    router_topk(x, w, w_bias, logits, affinities, index, RouterActFnType.SOFTMAX, 4,\n"
    "                x_hbm_layout=0, x_sb_layout=0)\n"
    "    return logits, index, affinities\n",
)
ROPE_LAST: Final = call(
    "embeddings.rope_hf",
    "rope_hf",
    "def entry(q, k, cos, sin):\n"
    "    q_out = nl.ndarray(q.shape, dtype=q.dtype, buffer=nl.shared_hbm)\n"
    "    k_out = nl.ndarray(k.shape, dtype=k.dtype, buffer=nl.shared_hbm)\n"
    "    rope_hf(q, k, q_out, k_out, cos, sin)\n"
    "    return q_out, k_out\n",
)


def sparse(length: int, columns: int, dtype: Any) -> Any:
    def make(rng: Any) -> dict[str, Any]:
        values = (rng.random((length, columns)) < 0.06) * 0.1
        return {"input_tensor": (np.ceil(values) if dtype is np.int32 else values).astype(dtype)}

    return make


def entries() -> list[Entry]:
    """Every kernel of the library that is run."""
    heads = {"x_in": (128, 1, 8, 128), "cos": (64, 1, 128), "sin": (64, 1, 128)}
    last = {"q": (1, 32, 256, 128), "k": (1, 8, 256, 128), "cos": (1, 256, 128),
            "sin": (1, 256, 128)}  # fmt: skip
    blocks = {"f_len": 256, "output_len": 10240}
    offsets = np.asarray([3, 21], np.int32)
    return [
        Entry(L + "cumsum/cumsum.py", "cumsum", normal(F32, x=(128, 2048)), running_sum),
        Entry(L + "cumsum/cumsum.py", "cumsum",
              normal(BF16, x=(64, 4, 1024)), running_sum, "bfloat16"),
        Entry(L + "max/cascaded_max.py", "cascaded_max",
              normal(F32, input_tensor=(8, 5, 4058)), row_max, "exact", grid=(2,)),
        Entry(L + "embeddings/rope.py", "RoPE",
              plus(normal(BF16, **heads), lnc_shard=True), rotated_halves, "bfloat16", grid=(2,)),
        Entry(L + "embeddings/rope.py", "RoPE",
              plus(normal(BF16, **heads), lnc_shard=True, contiguous_layout=False),
              rotated_pairs, "bfloat16", grid=(2,)),
        Entry(L + "embeddings/rope_hf.py", "entry", normal(F32, **last), rotated_last,
              grid=(2,), call=ROPE_LAST),
        Entry(L + "subkernels/find_nonzero_indices.py", "find_nonzero_indices",
              plus(sparse(4096, 128, np.int32), chunk_size=4096),
              nonzero_rows, "exact", grid=(2,)),
        Entry(L + "subkernels/find_nonzero_indices.py", "find_nonzero_indices",
              plus(sparse(10240, 128, F32), chunk_size=10240), nonzero_rows, "exact", grid=(2,)),
        Entry(L + "subkernels/indexed_flatten.py", "indexed_flatten",
              plus(counted(np.int32, input_tensor=(2, 4096)), row_offsets=offsets, **blocks),
              lambda x, o, n, m: flattened(x, o, n, m), "exact", grid=(2,)),
        Entry(L + "rmsnorm/rmsnorm_quant.py", "entry",
              normal(BF16, hidden=(1, 160, 16384), ln_w=(1, 16384)), normed_rows, "float8",
              grid=(2,), call=NORM_ROWS, after=unpacked_rows),
        Entry(L + "rmsnorm/rmsnorm_quant.py", "entry",
              plus(normal(BF16, hidden=(1, 2, 16384), ln_w=(1, 16384)),
                   scale=np.full((128, 1), 0.07, F32)),
              normed_static, "float8", grid=(2,), call=NORM_STATIC),
        Entry(L + "router_topk/router_topk.py", "entry",
              uniform(-0.1, 0.1, BF16, x=(3072, 16), w=(3072, 128), w_bias=(1, 128)),
              routed, "bfloat16", grid=(2,), call=ROUTER),
        Entry(L + "output_projection/output_projection_cte/output_projection_cte.py",
              "output_projection_cte",
              normal(BF16, attention=(1, 16, 64, 128), weight=(1024, 3072), bias=(1, 3072)),
              projected, "bfloat16", grid=(2,)),
        Entry(L + "output_projection/output_projection_tkg.py", "output_projection_tkg",
              normal(BF16, attention=(64, 4, 8, 4), weight=(512, 3072), bias=(1, 3072)),
              projected_steps, "bfloat16", grid=(2,)),
        Entry(L + "qkv/qkv.py", "qkv",
              normal(BF16, input=(1, 128, 8192), fused_qkv_weights=(8192, 384)),
              plain_product, "bfloat16", grid=(2,)),
        Entry(L + "attention/attention_cte.py", "attention_cte",
              uniform(-1, 1, F16, q=(3, 2048, 128), k=(3, 128, 2048), v=(3, 2048, 128)),
              causal_attention, "bfloat16", grid=(2,)),
    ]  # fmt: skip
