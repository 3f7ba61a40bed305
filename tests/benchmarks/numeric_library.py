"""The kernels of nki-library's ``core`` in the numeric table, and what they compute."""

from __future__ import annotations

from importlib.util import find_spec
from types import SimpleNamespace
from typing import Any, Final

import numpy as np

from tests.benchmarks.numeric_entry import BF16, F16, F32, Entry, counted, f, normal, plus
from tests.benchmarks.numeric_theirs import Names, Theirs

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


def nonzero_columns(input_tensor: Any, start: Any, count: int, *_: Any) -> Any:
    first = int(start[0])
    return nonzero_rows(input_tensor[:, first : first + count])


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


def routed_best(x: Any, w: Any, w_bias: Any) -> Any:
    """As before, but the softmax is over the k experts; it is 0 for the others."""
    logits, best, _ = routed(x, w, w_bias)
    chosen = np.zeros(logits.shape)
    values = softmax(np.take_along_axis(logits, best.astype(int), axis=-1))
    np.put_along_axis(chosen, best.astype(int), values, axis=-1)
    return logits, best, chosen


def largest(x: Any, k: int = 256) -> Any:
    """The k largest of each row, and where they are."""
    where = np.argsort(-x, axis=-1, kind="stable")[:, :k]
    return np.take_along_axis(x, where, axis=-1), where.astype(np.uint32)


def halves(rows: Any) -> Any:
    """(batch, sequence, hidden) as (128, rows, hidden / 128); each core has one half of hidden."""
    b, s, _ = rows.shape
    return np.concatenate(
        [half.reshape(b * s, 128, -1).transpose(1, 0, 2) for half in np.split(rows, 2, axis=-1)],
        axis=-1,
    )


def rms_halves(input: Any, gamma: Any) -> Any:
    return halves(rms(input) * f(gamma))


def normed_halves(input: Any, gamma: Any, beta: Any) -> Any:
    x = f(input) - f(input).mean(axis=-1, keepdims=True)
    return halves(x / np.sqrt((x**2).mean(axis=-1, keepdims=True) + 1e-6) * f(gamma) + f(beta))


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


def router(pre_norm: bool) -> str:
    return call(
        "router_topk.router_topk",
        "router_topk",
        "def entry(x, w, w_bias):\n"
        "    T, E = x.shape[1], w.shape[1]\n"
        "    logits = nl.ndarray((T, E), dtype=x.dtype, buffer=nl.shared_hbm)\n"
        "    affinities = nl.ndarray((T, E), dtype=x.dtype, buffer=nl.shared_hbm)\n"
        "    index = nl.ndarray((T, 4), dtype=nl.uint32, buffer=nl.shared_hbm)\n"
        "    router_topk(x, w, w_bias, logits, affinities, index, RouterActFnType.SOFTMAX, 4,\n"
        f"                x_hbm_layout=0, x_sb_layout=0, router_pre_norm={pre_norm})\n"
        "    return logits, index, affinities\n",
    )


RMS_NORM: Final = call(
    "subkernels.rmsnorm_tkg",
    "rmsnorm_tkg",
    "def entry(input, gamma):\n"
    "    b, s, h = input.shape\n"
    "    out = nl.ndarray((128, b * s, h // 128), dtype=input.dtype, buffer=nl.shared_hbm)\n"
    "    rmsnorm_tkg(input, gamma, out)\n"
    "    return out\n",
)
LAYER_NORM: Final = call(
    "subkernels.layernorm_tkg",
    "layernorm_tkg",
    "def entry(input, gamma, beta):\n"
    "    b, s, h = input.shape\n"
    "    out = nl.ndarray((128, b * s, h // 128), dtype=input.dtype, buffer=nl.shared_hbm)\n"
    "    layernorm_tkg(input, gamma, out, beta)\n"
    "    return out\n",
)
TOP_K: Final = (
    "import nki\nimport nki.language as nl\n"
    f"from {CORE}topk.rotational_topk import *\n\n"
    "shape = (40, 4058)\n"
    "topk_config = create_topk_config(shape, nl.float32, 256, True, 2)\n"
    "config = prepare_rotational_constants(create_rotational_topk_config(shape, topk_config))\n\n\n"
    "@nki.jit\n"
    "def entry(inp):\n"
    "    return rotational_topk(inp, config)\n"
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


# ------------------------------------------------------------------ the library's references


def theirs(path: str, name: str, rtol: Any, atol: float, **more: Any) -> Theirs:
    return Theirs(f"src/nkilib_src/nkilib/core/{path}.py", name, rtol, atol, **more)


def quantized(kind: str, scale: bool) -> Theirs:
    """The tests of rmsnorm_quant have their reference with them."""

    def given(names: Names) -> dict[str, Any]:
        more = {"lower_bound": 0.0, "quant_only": False}
        more["quant_type"] = getattr(names["QuantizationType"], kind)
        return more if scale else {**more, "input_dequant_scale": None}

    def packed(found: Any) -> Any:
        last = np.ascontiguousarray(found[..., -4:]).view(np.uint8).view(np.float32)
        return found[..., :-4].astype(np.float32), last

    return Theirs(
        "test/integration/nkilib/core/rmsnorm/test_rmsnorm_quant.py",
        "rmsnorm_quant_ref",
        (0.072, 0.007),
        1e-8,
        given=given,
        renamed=(("hidden", "inp"), ("ln_w", "gamma"), ("scale", "input_dequant_scale")),
        compared=None if scale else packed,
    )


def routing(pre_norm: bool) -> Theirs:
    def given(names: Names) -> dict[str, Any]:
        unused = dict.fromkeys(("router_logits", "expert_affinities", "expert_index"))
        kind = {"act_fn": names["RouterActFnType"].SOFTMAX, "k": 4}
        layout = {"x_hbm_layout": 0, "x_sb_layout": 0, "router_pre_norm": pre_norm}
        return {**unused, **kind, **layout}

    return theirs(
        "router_topk/router_topk_torch", "router_topk_torch_ref", 2e-2, 1e-5, given=given,
        results=("router_logits", "expert_index", "expert_affinities"),
    )  # fmt: skip


def fused_projection() -> Theirs:
    def given(names: Names) -> dict[str, Any]:
        return {"gamma": None, "dtype": np.float32, "norm_type": names["NormType"].NO_NORM}

    return Theirs(
        "test/integration/nkilib/core/qkv/test_qkv_common.py",
        "norm_qkv_ref",
        2e-2,
        1e-5,
        given=given,
        renamed=(("input", "hidden"), ("fused_qkv_weights", "qkv_weights")),
    )


def no(*names: str) -> Any:
    """Parameters that references have and do not look at."""
    return lambda _: dict.fromkeys(names)


SUM: Final = ("cumsum/cumsum_torch", "cumsum_torch_ref")
ROTATED: Final = theirs(
    "embeddings/rope_torch", "rope_torch_ref", 2**-7, 1e-3, results=("x_out",)
)  # fmt: skip
NONZERO: Final = theirs(
    "subkernels/find_nonzero_indices_torch", "find_nonzero_indices_torch_ref", 0.0, 0.0,
    results=("indices", "nonzero_counts"),
)  # fmt: skip
PROJECTED: Final = "output_projection/output_projection_"


def rotated_heads(narrow: bool) -> Theirs:
    return theirs(
        "embeddings/rope_hf_torch", "rope_hf_torch_ref", 1e-6, 1e-6, narrow=narrow,
        given=no("q_out", "k_out"), results=("q_out", "k_out"),
    )  # fmt: skip


def entries() -> list[Entry]:
    """Every kernel of the library that is run."""
    return [*_reductions(), *_rotations(), *_indices(), *_norms(), *_routers(), *_products()]


def _reductions() -> list[Entry]:
    return [
        Entry(L + "cumsum/cumsum.py", "cumsum", normal(F32, x=(128, 2048)), running_sum,
              theirs=theirs(*SUM, 1e-3, 1e-3, results=("output_0",))),
        Entry(L + "cumsum/cumsum.py", "cumsum",
              normal(BF16, x=(64, 4, 1024)), running_sum, "bfloat16",
              theirs=theirs(*SUM, 1e-2, 1e-3, results=("output_0",))),
        Entry(L + "max/cascaded_max.py", "cascaded_max",
              normal(F32, input_tensor=(8, 5, 4058)), row_max, "exact", grid=(2,),
              theirs=theirs("max/cascaded_max_torch", "cascaded_max_torch_ref", 1e-5, 1e-5,
                            results=("max_values", "max_indices"))),
        *([Entry(L + "topk/rotational_topk.py", "entry", normal(F32, inp=(40, 4058)), largest,
              "exact", grid=(2,), call=TOP_K,
              theirs=theirs("topk/torch_ref", "topk_torch_ref", 1e-5, 1e-8,
                            given=lambda _: {"config": SimpleNamespace(
                                topk_config=SimpleNamespace(k=256, sorted=True))},
                            results=("topk_values", "topk_indices")))]
          if find_spec("scipy") else []),  # the library makes tables for it with scipy
    ]  # fmt: skip


def _rotations() -> list[Entry]:
    heads = {"x_in": (128, 1, 8, 128), "cos": (64, 1, 128), "sin": (64, 1, 128)}
    last = {"q": (1, 32, 256, 128), "k": (1, 8, 256, 128), "cos": (1, 256, 128),
            "sin": (1, 256, 128)}  # fmt: skip
    return [
        Entry(L + "embeddings/rope.py", "RoPE",
              plus(normal(BF16, **heads), lnc_shard=True), rotated_halves, "bfloat16", grid=(2,),
              theirs=ROTATED),
        Entry(L + "embeddings/rope.py", "RoPE",
              plus(normal(BF16, **heads), lnc_shard=True, contiguous_layout=False),
              rotated_pairs, "bfloat16", grid=(2,), theirs=ROTATED),
        Entry(L + "embeddings/rope_hf.py", "entry", normal(F32, **last), rotated_last,
              grid=(2,), call=ROPE_LAST, theirs=rotated_heads(narrow=False)),
    ]  # fmt: skip


def _indices() -> list[Entry]:
    blocks = {"f_len": 256, "output_len": 9216}
    offsets = np.asarray([3, 20], np.int32)
    columns = {"col_start_id": np.asarray([16], np.int32), "n_cols": 16, "chunk_size": 10240}
    return [
        Entry(L + "subkernels/find_nonzero_indices.py", "find_nonzero_indices",
              plus(sparse(4096, 128, np.int32), chunk_size=4096),
              nonzero_rows, "exact", grid=(2,), theirs=NONZERO),
        Entry(L + "subkernels/find_nonzero_indices.py", "find_nonzero_indices",
              plus(sparse(10240, 128, F32), **columns),
              nonzero_columns, "exact", grid=(2,), theirs=NONZERO),
        Entry(L + "subkernels/indexed_flatten.py", "indexed_flatten",
              plus(counted(np.int32, input_tensor=(2, 4096)), row_offsets=offsets, **blocks),
              lambda x, o, n, m: flattened(x, o, n, m), "exact", grid=(2,),
              theirs=theirs("subkernels/indexed_flatten_torch", "indexed_flatten_torch_ref",
                            0.0, 0.0, results=("flattened_array",))),
    ]  # fmt: skip


def _norms() -> list[Entry]:
    steps = {"input": (4, 8, 8192), "gamma": (1, 8192)}
    return [
        Entry(L + "subkernels/rmsnorm_tkg.py", "entry",
              normal(F16, **steps), rms_halves, "float16", grid=(2,), api="0.2", call=RMS_NORM,
              theirs=theirs("subkernels/rmsnorm_torch", "rmsnorm_tkg_torch_ref", 2e-2, 1e-5,
                            given=no("output"), results=("out",))),
        Entry(L + "subkernels/layernorm_tkg.py", "entry",
              normal(F16, **steps, beta=(1, 8192)), normed_halves, "float16", grid=(2,),
              api="0.2", call=LAYER_NORM,
              theirs=theirs("subkernels/layernorm_torch", "layernorm_tkg_torch_ref", 2e-2, 1e-5,
                            given=no("output"), results=("out",))),
        Entry(L + "rmsnorm/rmsnorm_quant.py", "entry",
              normal(BF16, hidden=(1, 160, 16384), ln_w=(1, 16384)), normed_rows, "float8",
              grid=(2,), call=NORM_ROWS, after=unpacked_rows, theirs=quantized("ROW", False)),
        Entry(L + "rmsnorm/rmsnorm_quant.py", "entry",
              plus(normal(BF16, hidden=(1, 2, 16384), ln_w=(1, 16384)),
                   scale=np.full((128, 1), 0.07, F32)),
              normed_static, "float8", grid=(2,), call=NORM_STATIC,
              theirs=quantized("STATIC", True)),
    ]  # fmt: skip


def _routers() -> list[Entry]:
    return [
        Entry(L + "router_topk/router_topk.py", "entry",
              uniform(-0.1, 0.1, BF16, x=(3072, 32), w=(3072, 128), w_bias=(1, 128)),
              routed, "bfloat16", grid=(2,), call=router(True), theirs=routing(True)),
        Entry(L + "router_topk/router_topk.py", "entry",
              uniform(-0.1, 0.1, BF16, x=(3072, 16), w=(3072, 128), w_bias=(1, 128)),
              routed_best, "bfloat16", grid=(2,), call=router(False), theirs=routing(False)),
    ]  # fmt: skip


def _products() -> list[Entry]:
    return [
        Entry(L + "output_projection/output_projection_cte/output_projection_cte.py",
              "output_projection_cte",
              normal(BF16, attention=(1, 16, 64, 128), weight=(1024, 3072), bias=(1, 3072)),
              projected, "bfloat16", grid=(2,),
              theirs=theirs(PROJECTED + "cte/output_projection_cte_torch",
                            "output_projection_cte_torch_ref", 2e-2, 1e-5)),
        Entry(L + "output_projection/output_projection_tkg.py", "output_projection_tkg",
              normal(BF16, attention=(64, 4, 8, 4), weight=(512, 3072), bias=(1, 3072)),
              projected_steps, "bfloat16", grid=(2,),
              theirs=theirs(PROJECTED + "tkg_torch", "output_projection_tkg_torch_ref",
                            2e-2, 1e-5, results=("out",))),
        Entry(L + "qkv/qkv.py", "qkv",
              normal(BF16, input=(1, 128, 8192), fused_qkv_weights=(8192, 384)),
              plain_product, "bfloat16", grid=(2,), theirs=fused_projection()),
        Entry(L + "attention/attention_cte.py", "attention_cte",
              uniform(-1, 1, F16, q=(3, 2048, 128), k=(3, 128, 2048), v=(3, 2048, 128)),
              causal_attention, "bfloat16", grid=(2,),
              theirs=theirs("attention/attention_cte_torch", "attention_cte_torch_ref",
                            2e-2, 1e-5)),
    ]  # fmt: skip
