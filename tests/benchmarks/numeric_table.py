"""Kernels that others wrote, on the executor, against what NumPy says they compute.

``python -m tests.benchmarks.numeric_table --corpus DIR``: DIR holds clones of ``nki-samples``,
``aws-neuron-sdk`` and ``nki-library``. Prints one line per kernel; exit status 1 if one of them
disagrees or does not run. Our references are in this file and in ``numeric_library.py``. Kernels
of nki-library are compared with the library's own references too if torch can be imported.

An error is the largest difference over the largest magnitude of the reference (of each output).
``exact``: not one bit may differ; integers never may. ``R+A`` is what the library's own test
allows: a difference of A and R times the largest magnitude of the reference.

At the end stand the kernels of nki-samples and of the SDK's examples that no line is about, each
with what is wrong with it.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Final

import numpy as np

from tests.benchmarks import numeric_library, numeric_theirs
from tests.benchmarks.numeric_entry import (
    BF16,
    E4M3,
    E5M2,
    F16,
    F32,
    TOLERANCE,
    Entry,
    Make,
    counted,
    f,
    normal,
    plus,
)
from tests.benchmarks.numeric_theirs import Theirs

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

# --------------------------------------------------------------------------- references


def total(a: Any, b: Any) -> Any:
    return f(a) + f(b)


def product(left: Any, right: Any) -> Any:
    return f(left).T @ f(right)


def exponential(x: Any) -> Any:
    return np.exp(f(x))


def even_odd(x: Any) -> Any:
    return x[:, ::2], x[:, 1::2]


def row_transposes(in_tensor: Any, shape2D: tuple[int, int]) -> Any:  # noqa: N803 - its name
    rows = in_tensor.shape[0]
    return in_tensor.reshape(rows, *shape2D).swapaxes(1, 2).reshape(rows, -1)


def windows(x: Any, size: int) -> Any:
    c, h, w = x.shape
    return x.reshape(c, h // size, size, w // size, size)


def average_pool(in_tensor: Any, pool_size: int) -> Any:
    return windows(f(in_tensor), pool_size).mean(axis=(2, 4))


def max_pool(in_tensor: Any, sz_pool: int) -> Any:
    return windows(in_tensor, sz_pool).max(axis=(2, 4))


def max_pool_every(in_tensor: Any, pool_size: int) -> Any:
    shape = (pool_size, pool_size)
    return np.lib.stride_tricks.sliding_window_view(in_tensor, shape).max(axis=(2, 3))


def attention(q: Any, k: Any, v: Any) -> Any:
    """Operands are (head dimension, sequence)."""
    scores = f(q).T @ f(k)
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    return weights @ f(v).T / weights.sum(axis=1, keepdims=True)


def mamba_inputs(batch: int, channels: int, states: int, steps: int) -> Make:
    def make(rng: Any) -> dict[str, Any]:
        return {
            "delta": rng.uniform(0.1, 0.9, (batch, channels, steps)).astype(F32),
            "u": rng.standard_normal((batch, channels, steps), np.float32),
            "A": -rng.uniform(0.1, 1.5, (channels, states)).astype(F32),
            "B": rng.standard_normal((batch, states, steps), np.float32),
            "C": rng.standard_normal((batch, states, steps), np.float32),
        }

    return make


def mamba(delta: Any, u: Any, A: Any, B: Any, C: Any) -> Any:  # noqa: N803 - their names
    """One step after the other: ``h = exp(delta A) h + delta u B``, ``y = sum(h C)``."""
    state = np.zeros((delta.shape[0], delta.shape[1], A.shape[1]))
    out = np.empty(delta.shape)
    for t in range(delta.shape[2]):
        d = f(delta)[:, :, t, None]
        drive = d * f(u)[:, :, t, None] * f(B)[:, None, :, t]
        state = np.exp(d * f(A)) * state + drive
        out[:, :, t] = (state * f(C)[:, None, :, t]).sum(axis=2)
    return out


def doubled(src_arr: Any, chunk_size: int = 0) -> Any:
    """Twice the size along all axes but the first two, linear between the centres of cells."""
    out = f(src_arr)
    for axis in range(2, out.ndim):
        size = out.shape[axis]
        where = np.clip((np.arange(2 * size) + 0.5) / 2 - 0.5, 0, size - 1)
        low = np.floor(where).astype(int)
        high = np.minimum(low + 1, size - 1)
        part = (where - low).reshape([-1 if k == axis else 1 for k in range(out.ndim)])
        out = out.take(low, axis) * (1 - part) + out.take(high, axis) * part
    return out


# -------------------------------------------------------------------------------- table

S: Final = "nki-samples/src/nki_samples/tutorials/"
T: Final = "nki-samples/contributed/"
X: Final = "aws-neuron-sdk/nki/examples/"


def additions() -> list[Entry]:
    pair = {"a_input": (256, 1024), "b_input": (256, 1024)}
    small = {"a_input": (96, 257), "b_input": (96, 257)}
    spmd = S + "tensor_addition/"
    return [
        Entry(spmd + "spmd_tensor_addition_nki_kernels.py", "nki_tensor_add_kernel_",
              normal(F32, **pair), total, grid=(2, 2)),
        Entry(spmd + "tensor_addition_nki_kernels.py", "nki_tensor_add_kernel_",
              normal(F16, **pair), total, "float16", grid=(2, 2)),
        Entry(spmd + "spmd_multiple_nc_tensor_addition_nki_kernels.py", "nki_tensor_add_nc2",
              normal(BF16, a_input=(512, 1024), b_input=(512, 1024)), total, "bfloat16"),
        Entry(X + "tensor_addition/tensor_addition_nki_kernels.py", "nki_tensor_add",
              normal(F32, a_input=(256, 1536), b_input=(256, 1536)), total),
        Entry(X + "getting_started_baremetal.py", "nki_tensor_add_kernel",
              normal(F16, **small), total, "float16"),
        Entry(X + "getting_started_jax.py", "nki_tensor_add_kernel", normal(F32, **small), total),
        Entry(X + "getting_started_torch.py", "nki_tensor_add_kernel",
              normal(BF16, **small), total, "bfloat16"),
        Entry(X + "simulate/nki_simulate_example.py", "add_kernel",
              normal(F32, a_ptr=(128, 512), b_ptr=(128, 512)), total),
        Entry("nki-samples/test/unit/test_neuron_profile.py", "nki_tensor_tensor_add",
              normal(F16, a_tensor=(128, 512), b_tensor=(128, 512)), total, "float16"),
    ]  # fmt: skip


def movements() -> list[Entry]:
    return [
        Entry(S + "transpose2d/transpose2d_nki_kernels.py", "tensor_transpose2D_kernel_",
              plus(counted(np.int8, in_tensor=(5, 12)), shape2D=(3, 4)), row_transposes, "exact"),
        Entry(S + "transpose2d/transpose2d_nki_kernels.py", "tensor_transpose2D_kernel_",
              plus(counted(F32, in_tensor=(100, 21 * 34)), shape2D=(21, 34)),
              row_transposes, "exact"),
        Entry(X + "transpose2d/transpose2d_nki_kernels.py", "tensor_transpose2D_kernel_",
              plus(counted(F32, in_tensor=(77, 13 * 24)), shape2D=(13, 24)),
              row_transposes, "exact"),
        Entry(X + "index-case-1.py", "tensor_split_kernel_",
              counted(F32, in_tensor=(67, 345)), even_odd, "exact"),
        Entry(X + "index-case-3.py", "tensor_maxpool_kernel_",
              plus(normal(F32, in_tensor=(90, 24, 36)), sz_pool=3), max_pool, "exact"),
        Entry(T + "maxpooling.py", "max_pooling_2d_stride_1",
              plus(normal(F32, in_tensor=(448, 448)), pool_size=3), max_pool_every, "exact"),
    ]  # fmt: skip


def pointwise() -> list[Entry]:
    return [
        Entry(X + "layout-pass.py", "tensor_exp_kernel_",
              normal(F32, in_tensor=(128, 512)), exponential),
        Entry(S + "average_pool2d/average_pool2d_nki_kernels.py", "tensor_avgpool_kernel",
              plus(normal(F16, in_tensor=(2, 6, 6)), pool_size=2), average_pool, "float16"),
        Entry(S + "average_pool2d/average_pool2d_nki_kernels.py", "tensor_avgpool_kernel",
              plus(normal(F32, in_tensor=(128, 24, 45)), pool_size=3), average_pool),
        Entry(X + "average_pool2d/average_pool2d_nki_kernels.py", "tensor_avgpool_kernel",
              plus(normal(F32, in_tensor=(111, 32, 20)), pool_size=4), average_pool),
        Entry(T + "interpolate_bilinear_fwd.py", "interpolate_bilinear_2x_fwd",
              normal(F32, src_arr=(2, 64, 37, 40)), doubled),
        Entry(T + "interpolate_trilinear_fwd.py", "interpolate_trilinear_2x_fwd",
              normal(F32, src_arr=(2, 64, 7, 11, 13)), doubled),
    ]  # fmt: skip


def products() -> list[Entry]:
    out = []
    for folder in (S, X):
        path = folder + "matrix_multiplication/matrix_multiplication_nki_kernels.py"
        bf16 = {"dtype": BF16}
        sized = normal(lhsT=(1024, 2048), rhs=(1024, 1024), **bf16)
        out += [
            Entry(path, "nki_matmul_basic_",
                  normal(lhsT=(128, 64), rhs=(128, 512), **bf16), product, "bfloat16"),
            Entry(path, "nki_matmul_tiled_",
                  normal(F32, lhsT=(384, 256), rhs=(384, 1024)), product),
            Entry(path, "nki_matmul_hoist_load_",
                  normal(F32, lhsT=(256, 384), rhs=(256, 512)), product),
            Entry(path, "nki_matmul_block_free_dimension_",
                  normal(F32, lhsT=(256, 512), rhs=(256, 2048)), product),
            Entry(path, "nki_matmul_fully_optimized_", sized, product, "bfloat16"),
        ]  # fmt: skip
    out.append(
        Entry(T + "matmul.py", "matmul",
              normal(F16, A_DRAM=(2048, 512), B_DRAM=(2048, 2048)), product, "float16")
    )  # fmt: skip
    return out


def attentions() -> list[Entry]:
    path = S + "attention_fwd_performance/attention_kernels.py"
    out = []
    for version in ("1", "2", "3", "4", "5", "6", "7", "8", "8a", "9", "10", "11"):
        steps = 128 if version in ("1", "2") else 1024

        def make(rng: Any, steps: int = steps) -> dict[str, Any]:
            return {k: rng.uniform(-1, 1, (128, steps)).astype(F32) for k in "qkv"}

        narrow = version not in ("1", "2", "3", "4", "5", "6")
        tolerance = "bfloat16" if narrow else "float32"
        out.append(Entry(path, f"attn_fwd_v{version}", make, attention, tolerance))
    return out


def mambas() -> list[Entry]:
    return [
        Entry(folder + "fused_mamba/mamba_nki_kernels.py", f"mamba_v{version}",
              mamba_inputs(1, 256, 4, 1024 if version == 3 else 500), mamba)
        for folder in (S, X)
        for version in (1, 2, 3)
    ]  # fmt: skip


def packed(dtype: Any, rng: Any, rows: int, columns: int, spread: float) -> tuple[Any, Any]:
    """Words of four elements each, and the exponents of groups of eight rows."""
    values = (rng.standard_normal((rows, columns * 4)) * spread).astype(dtype)
    scales = rng.integers(122, 130, (rows // 8, columns)).astype(np.uint8)
    return np.ascontiguousarray(values).view(np.uint32), scales


def unpacked(words: Any, scales: Any, dtype: Any) -> Any:
    """As (rows, columns, 4), scaled."""
    values = f(words.view(dtype)).reshape(*words.shape, 4)
    return values * np.repeat(2.0 ** (f(scales) - 127), 8, axis=0)[:, :, None]


def microscaled(a: Any, a_scale: Any, b: Any, b_scale: Any, kind: Any) -> Any:
    dtype = E5M2 if "e5m2" in repr(kind.name) else E4M3
    left, right = unpacked(a, a_scale, dtype), unpacked(b, b_scale, dtype)
    return np.einsum("pmj,pnj->mn", left, right)


def rounded(x: Any, dtype: Any) -> Any:
    """(rows, columns, 4), each block of 8 rows and 4 elements at the scale of its largest one."""
    largest = {E5M2: 57344.0, E4M3: 448.0}[dtype]
    blocks = f(x).reshape(x.shape[0] // 8, 8, -1, 4)
    top = np.abs(blocks).max(axis=(1, 3), keepdims=True)
    scale = 2.0 ** (np.floor(np.log2(top)) - np.floor(np.log2(largest)))
    kept = np.clip(blocks / scale, -largest, largest).astype(F32).astype(dtype)
    return (f(kept) * scale).reshape(x.shape[0], -1, 4)


def half_microscaled(a: Any, a_scale: Any, b: Any, *_: Any) -> Any:
    return np.einsum("pmj,pnj->mn", unpacked(a, a_scale, E5M2), rounded(b, E5M2))


def rounded_product(a: Any, b: Any, kind: Any, *_: Any) -> Any:
    """Of (512, n): the four quarters of the rows lie side by side in the packed words."""
    dtype = E5M2 if "e5m2" in repr(kind.name) else E4M3

    def one(x: Any) -> Any:
        return rounded(x.reshape(4, 128, -1).transpose(1, 2, 0).reshape(128, -1), dtype)

    return np.einsum("pmj,pnj->mn", one(a), one(b))


def microscaled_products() -> list[Entry]:
    """Factors in blocks of eight-bit floats that share an exponent."""

    def kind(name: str) -> Any:
        from verifier.executor.names import DTypeProxy

        return DTypeProxy(name)

    def offline(name: str, dtype: Any, spread: float) -> Make:
        def make(rng: Any) -> dict[str, Any]:
            a, a_scale = packed(dtype, rng, 128, 128, spread)
            b, b_scale = packed(dtype, rng, 128, 512, spread)
            return {"stationary_mx_data": a, "stationary_mx_scale": a_scale, "moving_mx_data": b,
                    "moving_mx_scale": b_scale, "mx_dtype": kind(name)}  # fmt: skip

        return make

    def on_device(rng: Any) -> dict[str, Any]:
        a, a_scale = packed(E5M2, rng, 128, 128, 1.0)
        b = rng.standard_normal((128, 2048), np.float32).astype(BF16)
        e5m2 = kind("float8_e5m2_x4")
        return {"stationary_mx_data": a, "stationary_mx_scale": a_scale, "moving_data_bf16": b,
                "stationary_mx_dtype": e5m2, "moving_mx_dtype": e5m2}  # fmt: skip

    def strided(name: str, through_sbuf: bool) -> Make:
        tensors = normal(BF16, stationary_hbm=(512, 128), moving_hbm=(512, 512))
        more = {"mx_dtype": lambda rng: kind(name), "use_tensor_copy": through_sbuf}
        return plus(tensors, **more)

    path = S + "mxfp-matmul/mx_kernels.py"
    name = "kernel_offline_quantized_mx_matmul"
    copy = "kernel_copy_strided_quantize_matmul_mx"
    return [
        Entry(path, name, offline("float8_e5m2_x4", E5M2, 8.0), microscaled, "bfloat16",
              target="trn3"),
        Entry(path, name, offline("float8_e4m3fn_x4", E4M3, 8.0), microscaled, "bfloat16",
              target="trn3"),
        Entry(path, "kernel_on_device_quantize_matmul_mx", on_device, half_microscaled, "bfloat16",
              target="trn3"),
        Entry(path, copy, strided("float8_e4m3fn_x4", True), rounded_product, "bfloat16",
              target="trn3"),
        Entry(path, copy, strided("float8_e5m2_x4", False), rounded_product, "bfloat16",
              target="trn3"),
    ]  # fmt: skip


#: kernels that are not valid, and what they are given: shapes of bfloat16 tensors, other values
INVALID: Final[dict[tuple[str, str], tuple[tuple[str, Any], ...]]] = {
    (X + "layout-loop.py", "tensor_exp_kernel_"): (("in_tensor", (256, 512)),),
    (X + "layout-dynamic-loop.py", "tensor_exp_kernel_"): (("in_tensor", (256, 512)),),
    (X + "layout-violation.py", "tensor_exp_kernel_"): (("in_tensor", (256, 512)),),
    (T + "pipelined_attention.py", "flash_fwd"): (
        ("q", (1, 128, 16384)),
        ("k", (1, 128, 16384)),
        ("v", (1, 16384, 128)),
        ("softmax_scale", 0.125),
        ("use_causal_mask", False),
    ),
}


def table() -> list[Entry]:
    """Every kernel that is run."""
    return [
        *additions(),
        *movements(),
        *pointwise(),
        *products(),
        *attentions(),
        *mambas(),
        *microscaled_products(),
        *numeric_library.entries(),
    ]


# -------------------------------------------------------------------------------- running


@dataclass(frozen=True)
class Compared:
    """``reference``: ``library`` or ``ours``. ``error``: the largest."""

    reference: str
    tolerance: str
    error: float
    good: bool


@dataclass(frozen=True)
class Row:
    """One line, as printed."""

    kernel: str
    shapes: str
    dtype: str
    compared: tuple[Compared, ...]
    seconds: float
    result: str

    @property
    def agrees(self) -> bool:
        return self.result == "agrees"


def parts(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (tuple, list)) else [value]


def distance(found: Any, wanted: Any) -> float:
    """The largest difference over the largest magnitude; infinite for other shapes or NaN."""
    if found.shape != np.shape(wanted):
        return float("inf")
    a, b = f(found), f(wanted)
    if not a.size:
        return 0.0
    largest = float(np.abs(a - b).max())
    return largest / max(float(np.abs(b).max()), 1e-30) if largest == largest else float("inf")


def with_ours(found: Any, wanted: Any, tolerance: str) -> Compared:
    pairs = list(zip(parts(found), parts(wanted), strict=True))
    error = max(distance(a, b) for a, b in pairs)
    exact = [(a, b) for a, b in pairs if tolerance == "exact" or np.asarray(b).dtype.kind in "iu"]
    good = all(np.array_equal(a, b) for a, b in exact)
    if tolerance == "exact":
        return Compared("ours", "exact", error, good)
    allowed = TOLERANCE[tolerance]
    return Compared("ours", f"{allowed:g} {tolerance}", error, good and error <= allowed)


def with_theirs(found: Any, wanted: list[Any], entry: Theirs) -> Compared:
    """As the library's tests compare; integers may not differ here."""
    error, good = 0.0, True
    stated: list[str] = []
    for number, (a, b) in enumerate(zip(parts(found), wanted, strict=True)):
        rtol, atol = entry.allowed(number)
        stated.append(f"{rtol:g}+{atol:g}" if rtol or atol else "exact")
        error = max(error, distance(a, b))
        most = float(np.abs(f(b)).max(initial=0.0))
        if a.shape != b.shape or not np.all(np.abs(f(a) - f(b)) <= atol + rtol * most):
            good = False
        if b.dtype.kind in "iu" and not np.array_equal(a, b):
            good = False
    return Compared("library", " ".join(dict.fromkeys(stated)), error, good)


def measure(job: tuple[str, int]) -> Row:
    """Run one entry of the table."""
    from verifier.executor import simulate

    corpus, number = job
    entry = table()[number]
    path = Path(corpus, entry.path)
    arguments = entry.make(np.random.default_rng(number))
    arrays = [v for v in arguments.values() if isinstance(v, np.ndarray)]
    shapes = " ".join("x".join(map(str, a.shape)) for a in arrays)
    dtypes = " ".join(sorted({a.dtype.name for a in arrays}))
    wanted = entry.reference(*arguments.values())
    started = time.perf_counter()
    compared: list[Compared] = []
    try:
        with tempfile.TemporaryDirectory() as folder:
            tempfile.tempdir = folder  # what kernels leave behind goes as well
            file = path
            if entry.call:
                file = Path(folder, "call.py")
                root = path.parents[len(path.parts) - path.parts.index("src") - 2]
                head = f"import sys\n\nsys.path.insert(0, {str(root)!r})\n"
                file.write_text(head + entry.call, encoding="utf-8")
            kernel = simulate(f"{file}::{entry.kernel}", target=entry.target, api_version=entry.api)
            if entry.grid:
                kernel = kernel[entry.grid]
            with contextlib.redirect_stdout(io.StringIO()):  # some of them print
                found = kernel(**arguments)
        seconds = time.perf_counter() - started
        if entry.theirs is not None and numeric_theirs.available():
            root = Path(corpus, entry.path.partition("/")[0])
            theirs = numeric_theirs.wanted(root, entry.theirs, arguments)
            part = entry.theirs.compared
            compared.append(with_theirs(part(found) if part else found, theirs, entry.theirs))
        ours = entry.after(found) if entry.after is not None else found
        compared.append(with_ours(ours, wanted, entry.tolerance))
        result = "agrees" if all(item.good for item in compared) else "DISAGREES"
    except Exception as problem:  # every entry has its line, whatever becomes of it
        seconds = time.perf_counter() - started
        result = f"FAILS: {type(problem).__name__}: {problem}"
    finally:
        tempfile.tempdir = None
    name = f"{entry.path.partition('/')[0]}:{path.stem}.{entry.kernel}"
    if entry.api is not None:
        name += f" (NKI {entry.api})"
    return Row(name, shapes, dtypes, tuple(compared), seconds, result)


def text(row: Row) -> str:
    both = "; ".join(f"{c.reference} {c.error:.1e} of {c.tolerance}" for c in row.compared)
    return (
        f"{row.kernel:<78} {row.shapes:<50} {row.dtype:<16} {row.seconds:>7.2f} "
        f"{row.result:<9} {both}"
    )


def left_out(corpus: Path, chosen: str) -> tuple[list[str], bool]:
    """Kernels that no line is about: what a run of each breaks. Whether that is said of all."""
    from verifier.cli.candidates import gather, roots_of
    from verifier.source.discovery import discover
    from verifier.source.project import Project

    places = [str(corpus / "nki-samples"), str(corpus / X)]
    files = gather(tuple(places)).files
    project = Project(Path(root) for root in roots_of(tuple(places)))
    entries = discover(project, [project.module(Path(file)) for file in sorted(files)])
    run = {(entry.path, entry.kernel) for entry in table()}
    lines: list[str] = []
    good = True
    for kernel in entries:
        path = kernel.path.relative_to(corpus).as_posix()
        if (path, kernel.name) in run or chosen not in f"{path}::{kernel.name}":
            continue
        reason = refusal(corpus, path, kernel.name)
        good = good and reason is not None
        lines.append(f"{path}::{kernel.name}: {reason or 'HAS NO LINE'}")
    return lines, good


def refusal(corpus: Path, path: str, name: str) -> str | None:
    """Why a kernel is no line of the table, by a run on shapes; None if there is no reason."""
    from verifier.executor.api import KernelError, Simulation, simulate
    from verifier.executor.machine import Options
    from verifier.executor.running import Shaped

    invalid = INVALID.get((path, name))
    if invalid is None:
        return None
    arguments = {k: Shaped("bfloat16", v) if isinstance(v, tuple) else v for k, v in invalid}
    shapes = " ".join("x".join(map(str, v)) for _, v in invalid if isinstance(v, tuple))
    try:
        made = simulate(f"{corpus / path}::{name}", "trn2")
    except KernelError as error:
        return str(error).replace(f"{corpus}/", "")
    options = Options(shapes_only=True)
    outcome = Simulation(made.kernel, made.target, made.api_version, options).outcome(**arguments)
    if outcome.diagnostics:
        first = outcome.diagnostics[0]
        return f"line {first.span.line}: {first.rule}: {first.message} ({shapes})"
    if outcome.ended is not None and outcome.ended[0] == "raised":
        _, message, span = outcome.ended
        return f"line {span.line if span else 0}: {message} ({shapes})"
    return None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--corpus", type=Path, required=True, help="the folder of the clones")
    parser.add_argument("--only", default="", help="kernels whose path or name contains this")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    corpus = options.corpus.absolute()
    chosen = [
        (str(corpus), k)
        for k, entry in enumerate(table())
        if options.only in f"{entry.path}::{entry.kernel}"
    ]
    started = time.perf_counter()
    print(f"{'kernel':<78} {'shapes':<50} {'dtype':<16} {'seconds':>7} result    errors")
    rows: list[Row] = []
    with ProcessPoolExecutor(options.jobs, mp_context=get_context("spawn")) as pool:
        others = pool.submit(left_out, corpus, options.only)
        for row in pool.map(measure, chosen):
            print(text(row), flush=True)
            rows.append(row)
        lines, said = others.result()
    if lines:
        print("\nnot run, for they break a rule with the inputs that they are written for:")
        print("\n".join(lines))
    good = sum(row.agrees for row in rows)
    by = {name: sum(any(c.reference == name for c in row.compared) for row in rows)
          for name in ("library", "ours")}  # fmt: skip
    kernels = len({row.kernel for row in rows})
    print(
        f"\n{good} of {len(rows)} agree ({kernels} kernels; {by['library']} compared with the "
        f"library's own references, {by['ours']} with ours), {time.perf_counter() - started:.1f} s"
    )
    if not numeric_theirs.available():
        print("torch is not there: the library's own references are not looked at")
    return 0 if good == len(rows) and said else 1


if __name__ == "__main__":
    sys.exit(main())
