"""Matrix multiplication and transposition on the Tensor Engine."""

from __future__ import annotations

from collections.abc import Iterator

from rules.nki import kit
from rules.nki.kit import at_least, check, register
from rules.nki.operands import PSUM, SBUF
from verifier.hardware import dtypes as dt
from verifier.hardware.capabilities import Capability
from verifier.hardware.memories import Buffer
from verifier.hardware.targets import Target
from verifier.rulebase import Check, Rule
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.tensors import View
from verifier.symbolic.trace import Operation


def double_row(op: Operation) -> bool:
    """Whether the call asks for one of the double-row modes."""
    mode = kit.choice(op.value("perf_mode"))
    return mode is not None and mode.startswith("double_row")


def free_columns(op: Operation, view: View) -> Expr:
    """``M`` or ``N``: free elements of a row; double row has two rows in the first free dim."""
    if double_row(op) and view.rank >= 3:
        return kit.product(view.shape[2:])
    return view.free


def tile_size(op: Operation) -> tuple[Expr, Expr] | None:
    """``(row size, column size)`` of a tiled matmul, None without tiling."""
    sizes = kit.integers(op.value("tile_size"))
    return (sizes[0], sizes[1]) if sizes is not None and len(sizes) == 2 else None


def transposes(op: Operation) -> bool | None:
    """Whether ``is_transpose`` is set; None if that is not known."""
    value = op.value("is_transpose")
    if value is None:
        return False
    return value if isinstance(value, bool) else None


# ----------------------------------------------------------------------------- memories


def _buffers(op: Operation, target: Target) -> Iterator[Check]:
    for described in kit.described(op).roles:
        role, memories, view = described.name, described.memories, op.view(described.name)
        if view is None or memories is None:
            continue
        place = kit.BUFFER_WORDS[view.buffer]
        if role == "dst":
            message = f"the Tensor Engine cannot write dst to {place}"
            help = "multiply into a PSUM tile (buffer=nl.psum), then copy it out"
        else:
            message = f"the Tensor Engine cannot read {role} from {place}"
            way = "nisa.dma_copy" if view.buffer.off_chip else "nisa.tensor_copy"
            help = f"copy it to an SBUF tile first, with {way}"
        found = kit.buffer_check(
            op, role, view, memories.buffers, message, *memories.facts, help=(help,)
        )
        if found is not None:
            yield found


register(
    Rule(
        id="matmul-operand-buffers",
        code="NKI201",
        family="matmul",
        summary="a matmul reads SBUF and writes PSUM",
        reason=(
            "The Tensor Engine's input ports lead to SBUF and its output port to PSUM, where a "
            "read-add-write unit accumulates. There is no path from HBM or PSUM into the array, "
            "and none from the array to SBUF."
        ),
        facts=("MMU01", "BUF01", "MMX02", "BUF02"),
        on="operation",
        concerns=kit.multiplies,
        check=_buffers,
        sources=("NKI ISA nc_matmul, memory types", "NKI ISA nc_matmul_mx, memory types"),
        failing="""\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def project(weights, x):
    assert weights.shape == (96, 80) and x.shape == (96, 200)
    out = nl.ndarray((80, 200), dtype=nl.float32, buffer=nl.shared_hbm)
    w = nl.ndarray((96, 80), dtype=nl.bfloat16, buffer=nl.sbuf)
    a = nl.ndarray((96, 200), dtype=nl.bfloat16, buffer=nl.sbuf)
    nisa.dma_copy(dst=w, src=weights)
    nisa.dma_copy(dst=a, src=x)
    result = nl.ndarray((80, 200), dtype=nl.float32, buffer=nl.sbuf)
    nisa.nc_matmul(dst=result, stationary=w, moving=a)
    nisa.dma_copy(dst=out, src=result)
    return out
""",
        passing="""\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def project(weights, x):
    assert weights.shape == (96, 80) and x.shape == (96, 200)
    out = nl.ndarray((80, 200), dtype=nl.float32, buffer=nl.shared_hbm)
    w = nl.ndarray((96, 80), dtype=nl.bfloat16, buffer=nl.sbuf)
    a = nl.ndarray((96, 200), dtype=nl.bfloat16, buffer=nl.sbuf)
    nisa.dma_copy(dst=w, src=weights)
    nisa.dma_copy(dst=a, src=x)
    product = nl.ndarray((80, 200), dtype=nl.float32, buffer=nl.psum)
    nisa.nc_matmul(dst=product, stationary=w, moving=a)
    result = nl.ndarray((80, 200), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_copy(dst=result, src=product)
    nisa.dma_copy(dst=out, src=result)
    return out
""",
    )
)

# ----------------------------------------------------------------------------- contraction


def _contraction(op: Operation, target: Target) -> Iterator[Check]:
    stationary, moving = op.view("stationary"), op.view("moving")
    if stationary is None or moving is None:
        return
    fact = "MMX06" if op.name == "isa.nc_matmul_mx" else "MMU02"
    yield check(
        op,
        "moving",
        E.eq(stationary.partitions, moving.partitions),
        "partitions of stationary == partitions of moving",
        "the two inputs of the matmul contract over different sizes",
        fact,
        "P12",
        values=(
            ("partitions of stationary", stationary.partitions),
            ("partitions of moving", moving.partitions),
        ),
        about=("stationary", "moving"),
        help=("both inputs need the contracted axis as their partition axis: [K, M] and [K, N]",),
    )


register(
    Rule(
        id="matmul-contraction",
        code="NKI202",
        family="matmul",
        summary="both inputs of a matmul have the same number of partitions",
        reason=(
            "The array computes stationary transposed times moving: row k of both inputs enters "
            "through lane k. The contracted axis is therefore the partition axis of both, and its "
            "size has to agree. Inputs laid out as [M, K] have to be transposed first."
        ),
        facts=("MMU02", "P12"),
        on="operation",
        concerns=kit.multiplies,
        check=_contraction,
        sources=("NKI ISA nc_matmul, tile size",),
        failing="""\
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def wrong_layout(weights, activations):
    assert weights.shape == (64, 128) and activations.shape == (128, 384)
    result = nl.ndarray((128, 384), dtype=nl.float32, buffer=nl.shared_hbm)
    w = nl.load(weights)
    a = nl.load(activations)
    product = nisa.nc_matmul(w, a)
    nl.store(result, product)
    return result
""",
        passing="""\
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def right_layout(weights_t, activations):
    assert weights_t.shape == (128, 64) and activations.shape == (128, 384)
    result = nl.ndarray((64, 384), dtype=nl.float32, buffer=nl.shared_hbm)
    w = nl.load(weights_t)
    a = nl.load(activations)
    product = nisa.nc_matmul(w, a)
    nl.store(result, product)
    return result
""",
    )
)

# ----------------------------------------------------------------------------- sizes


def _stationary_size(op: Operation, target: Target) -> Iterator[Check]:
    stationary = op.view("stationary")
    if stationary is None:
        return
    columns = free_columns(op, stationary)
    tiling = tile_size(op)
    limit: Expr = E.const(target.stationary_free_max)
    rows: Expr = E.const(target.contraction_max)
    if tiling is not None and op.name == "isa.nc_matmul":
        rows, limit = tiling
    name = "the tile's column size" if tiling is not None else str(target.stationary_free_max)
    yield check(
        op,
        "stationary",
        E.le(columns, limit),
        f"stationary free size <= {name}",
        "stationary tile has too many columns for one matmul",
        "MMU03",
        values=(("stationary free size", columns),),
        help=(f"split the stationary operand into tiles of at most {limit!r} columns",),
    )
    yield check(
        op,
        "stationary",
        E.le(stationary.partitions, rows),
        f"partitions of stationary <= {rows!r}",
        "the contraction is longer than the array has rows",
        "MMU03",
        values=(("partitions of stationary", stationary.partitions),),
    )


register(
    Rule(
        id="matmul-stationary-size",
        code="NKI203",
        family="matmul",
        summary="the stationary operand fits into the array: at most 128 rows and columns",
        reason=(
            "The stationary operand is loaded into the array of processing elements, 128 rows by "
            "128 columns; with tiling it has to fit into the chosen tile. More columns or a longer "
            "contraction take several matmuls, the latter accumulating into the same PSUM tile."
        ),
        facts=("MMU03",),
        on="operation",
        operations=("isa.nc_matmul",),
        check=_stationary_size,
        sources=("NKI ISA nc_matmul, tile size",),
        failing="""\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def narrow_tile(keys, queries):
    assert keys.shape == (64, 96) and queries.shape == (64, 256)
    scores = nl.ndarray((96, 256), dtype=nl.float32, buffer=nl.shared_hbm)
    k = nl.ndarray((64, 96), dtype=nl.bfloat16, buffer=nl.sbuf)
    q = nl.ndarray((64, 256), dtype=nl.bfloat16, buffer=nl.sbuf)
    nisa.dma_copy(dst=k, src=keys)
    nisa.dma_copy(dst=q, src=queries)
    acc = nl.ndarray((96, 256), dtype=nl.float32, buffer=nl.psum)
    nisa.nc_matmul(dst=acc, stationary=k, moving=q, tile_position=(0, 0), tile_size=(64, 64))
    held = nl.ndarray((96, 256), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_copy(dst=held, src=acc)
    nisa.dma_copy(dst=scores, src=held)
    return scores
""",
        passing="""\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def split_stationary(keys, queries):
    assert keys.shape == (64, 192) and queries.shape == (64, 256)
    scores = nl.ndarray((192, 256), dtype=nl.float32, buffer=nl.shared_hbm)
    k = nl.ndarray((64, 192), dtype=nl.bfloat16, buffer=nl.sbuf)
    q = nl.ndarray((64, 256), dtype=nl.bfloat16, buffer=nl.sbuf)
    nisa.dma_copy(dst=k, src=keys)
    nisa.dma_copy(dst=q, src=queries)
    for half in range(2):
        acc = nl.ndarray((96, 256), dtype=nl.float32, buffer=nl.psum)
        nisa.nc_matmul(dst=acc, stationary=k[:, half * 96 : half * 96 + 96], moving=q)
        held = nl.ndarray((96, 256), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_copy(dst=held, src=acc)
        nisa.dma_copy(dst=scores[half * 96 : half * 96 + 96, :], src=held)
    return scores
""",
    )
)


def _moving_size(op: Operation, target: Target) -> Iterator[Check]:
    moving, dst = op.view("moving"), op.view("dst")
    if moving is None:
        return
    columns = free_columns(op, moving)
    narrow, wide = target.moving_free_max, target.moving_free_max_bf16
    fits = E.le(columns, narrow)
    if wide > narrow and dst is not None:
        fits = E.or_(fits, E.and_(dst.dtype.among(kit.BF16), E.le(columns, wide)))
        text = f"moving free size <= {narrow}, or <= {wide} into bfloat16"
    else:
        text = f"moving free size <= {narrow}"
    yield check(
        op,
        "moving",
        fits,
        text,
        "moving tile has too many columns for one matmul",
        "MMU05" if target.has(Capability.WIDE_SUMS) else "MMU04",
        values=(("moving free size", columns),),
        about=("moving", "dst"),
        help=(f"split the moving operand into tiles of at most {narrow} columns",),
    )


register(
    Rule(
        id="matmul-moving-size",
        code="NKI204",
        family="matmul",
        summary="the moving operand has at most as many columns as one matmul can stream",
        reason=(
            "One matmul streams the columns of the moving operand through the array and leaves one "
            "PSUM element per column and partition. A PSUM bank has 512 float32 elements per "
            "partition; from the fourth generation on, one instruction may span the eight banks."
        ),
        facts=("MMU04", "MMU05"),
        on="operation",
        operations=("isa.nc_matmul",),
        check=_moving_size,
        sources=("NKI ISA nc_matmul, tile size",),
        failing="""\
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def long_rows(lhs_t, rhs):
    depth, columns = rhs.shape
    assert lhs_t.shape == (128, 72)
    assert depth == 128 and columns == 640
    result = nl.ndarray((72, columns), dtype=nl.float32, buffer=nl.shared_hbm)
    left = nl.load(lhs_t)
    right = nl.load(rhs)
    nl.store(result, nisa.nc_matmul(left, right))
    return result
""",
        passing="""\
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def long_rows(lhs_t, rhs):
    assert lhs_t.shape == (128, 72)
    assert rhs.shape == (128, 640)
    result = nl.ndarray((72, 640), dtype=nl.float32, buffer=nl.shared_hbm)
    left = nl.load(lhs_t)
    for part in nl.affine_range(2):
        right = nl.load(rhs[:, nl.ds(part * 320, 320)])
        nl.store(result[:, nl.ds(part * 320, 320)], nisa.nc_matmul(left, right))
    return result
""",
    )
)

# ----------------------------------------------------------------------------- result


def _result_shape(op: Operation, target: Target) -> Iterator[Check]:
    stationary, moving, dst = op.view("stationary"), op.view("moving"), op.view("dst")
    if dst is None or stationary is None or moving is None:
        return
    mx = op.name == "isa.nc_matmul_mx"
    fact = "MMX09" if mx else "MMU06"
    rows = free_columns(op, stationary)
    columns = free_columns(op, moving)
    yield check(
        op,
        "dst",
        E.eq(dst.partitions, rows),
        "partitions of dst == stationary free size",
        "dst has another number of partitions than stationary has columns",
        fact,
        values=(("partitions of dst", dst.partitions), ("stationary free size", rows)),
        about=("dst", "stationary"),
    )
    yield check(
        op,
        "dst",
        E.eq(dst.free, columns),
        "dst free size == moving free size",
        "dst has another number of columns than moving",
        fact,
        *(() if mx else ("MMU30",)),
        values=(("dst free size", dst.free), ("moving free size", columns)),
        about=("dst", "moving"),
    )


register(
    Rule(
        id="matmul-result-shape",
        code="NKI205",
        family="matmul",
        summary="the result of a matmul is [columns of stationary, columns of moving]",
        reason=(
            "Column m of the stationary operand produces partition m of the result, and column n "
            "of the moving operand its element n. A destination of another shape would be written "
            "partly, or beyond its end."
        ),
        facts=("MMU06", "MMU30", "MMX09"),
        on="operation",
        concerns=kit.multiplies,
        check=_result_shape,
        sources=("NKI ISA nc_matmul, layout",),
        failing="""\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def swapped_result(left_t, right):
    assert left_t.shape == (128, 48) and right.shape == (128, 96)
    out = nl.ndarray((96, 48), dtype=nl.float32, buffer=nl.shared_hbm)
    a = nl.ndarray((128, 48), dtype=nl.bfloat16, buffer=nl.sbuf)
    b = nl.ndarray((128, 96), dtype=nl.bfloat16, buffer=nl.sbuf)
    nisa.dma_copy(dst=a, src=left_t)
    nisa.dma_copy(dst=b, src=right)
    acc = nl.ndarray((96, 48), dtype=nl.float32, buffer=nl.psum)
    nisa.nc_matmul(dst=acc, stationary=a, moving=b)
    held = nl.ndarray((96, 48), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_copy(dst=held, src=acc)
    nisa.dma_copy(dst=out, src=held)
    return out
""",
        passing="""\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def product(left_t, right):
    assert left_t.shape == (128, 48) and right.shape == (128, 96)
    out = nl.ndarray((48, 96), dtype=nl.float32, buffer=nl.shared_hbm)
    a = nl.ndarray((128, 48), dtype=nl.bfloat16, buffer=nl.sbuf)
    b = nl.ndarray((128, 96), dtype=nl.bfloat16, buffer=nl.sbuf)
    nisa.dma_copy(dst=a, src=left_t)
    nisa.dma_copy(dst=b, src=right)
    acc = nl.ndarray((48, 96), dtype=nl.float32, buffer=nl.psum)
    nisa.nc_matmul(dst=acc, stationary=a, moving=b)
    held = nl.ndarray((48, 96), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_copy(dst=held, src=acc)
    nisa.dma_copy(dst=out, src=held)
    return out
""",
    )
)


def _result_dtype(op: Operation, target: Target) -> Iterator[Check]:
    dst = op.view("dst")
    if dst is None or not at_least(op.api, "0.2") or transposes(op) is not False:
        return
    if target.has(Capability.BFLOAT16_SUMS):
        allowed, fact, words = kit.FP32 | kit.BF16, "MMU08", "float32 or bfloat16"
    else:
        allowed, fact, words = kit.FP32, "MMU07", "float32"
    yield check(
        op,
        "dst",
        dst.dtype.among(allowed),
        f"dtype of dst is {words} (it is {kit.dtype_words(dst.dtype)})",
        f"{target.name} cannot write matmul results as {kit.dtype_words(dst.dtype)}",
        fact,
        help=("multiply into a float32 PSUM tile and cast when copying it out",),
    )


register(
    Rule(
        id="matmul-result-dtype",
        code="NKI206",
        family="matmul",
        summary="matmul results are float32 in PSUM (or bfloat16 from trn3 on)",
        reason=(
            "The array accumulates in float32 and PSUM stores what it produces. Only the fourth "
            "generation can round to bfloat16 on the way into PSUM; transposes pass their input's "
            "16-bit elements through."
        ),
        facts=("MMU07", "MMU08", "H83"),
        on="operation",
        operations=("isa.nc_matmul",),
        check=_result_dtype,
        sources=("NKI ISA nc_matmul, data types",),
        failing="""\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def half_precision_sum(left_t, right):
    assert left_t.shape == (64, 96) and right.shape == (64, 128)
    out = nl.ndarray((96, 128), dtype=nl.bfloat16, buffer=nl.shared_hbm)
    a = nl.ndarray((64, 96), dtype=nl.bfloat16, buffer=nl.sbuf)
    b = nl.ndarray((64, 128), dtype=nl.bfloat16, buffer=nl.sbuf)
    nisa.dma_copy(dst=a, src=left_t)
    nisa.dma_copy(dst=b, src=right)
    acc = nl.ndarray((96, 128), dtype=nl.float16, buffer=nl.psum)
    nisa.nc_matmul(dst=acc, stationary=a, moving=b)
    held = nl.ndarray((96, 128), dtype=nl.bfloat16, buffer=nl.sbuf)
    nisa.tensor_copy(dst=held, src=acc)
    nisa.dma_copy(dst=out, src=held)
    return out
""",
        passing="""\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def single_precision_sum(left_t, right):
    assert left_t.shape == (64, 96) and right.shape == (64, 128)
    out = nl.ndarray((96, 128), dtype=nl.bfloat16, buffer=nl.shared_hbm)
    a = nl.ndarray((64, 96), dtype=nl.bfloat16, buffer=nl.sbuf)
    b = nl.ndarray((64, 128), dtype=nl.bfloat16, buffer=nl.sbuf)
    nisa.dma_copy(dst=a, src=left_t)
    nisa.dma_copy(dst=b, src=right)
    acc = nl.ndarray((96, 128), dtype=nl.float32, buffer=nl.psum)
    nisa.nc_matmul(dst=acc, stationary=a, moving=b)
    held = nl.ndarray((96, 128), dtype=nl.bfloat16, buffer=nl.sbuf)
    nisa.tensor_copy(dst=held, src=acc)
    nisa.dma_copy(dst=out, src=held)
    return out
""",
    )
)

# ----------------------------------------------------------------------------- input dtypes


def _dtypes(op: Operation, target: Target) -> Iterator[Check]:
    views = {role: op.view(role) for role in ("stationary", "moving")}
    allowed = kit.F8_LEGACY | kit.HALF | kit.F32
    if target.has(Capability.OCP_FLOAT8):
        allowed |= kit.F8_OCP
    for role, view in views.items():
        if view is not None:
            yield check(
                op,
                role,
                view.dtype.among(allowed),
                f"dtype of {role} is one the array multiplies (it is "
                f"{kit.dtype_words(view.dtype)})",
                f"the Tensor Engine of {target.name} cannot multiply {role} as "
                f"{kit.dtype_words(view.dtype)}",
                "MMU09",
            )
    stationary, moving = views["stationary"], views["moving"]
    if stationary is None or moving is None:
        return
    left, right = stationary.dtype.among(kit.F32), moving.dtype.among(kit.F32)
    names = f"{kit.dtype_words(stationary.dtype)} and {kit.dtype_words(moving.dtype)}"
    yield check(
        op,
        "moving",
        E.and_(E.implies(left, right), E.implies(right, left)),
        f"stationary and moving are both float32 or neither is (they are {names})",
        "a float32 operand meets one of another precision",
        "MMU10",
        "T06",
        about=("stationary", "moving"),
        help=("cast one operand so that both are float32, or neither is",),
    )
    if target.has(Capability.OCP_FLOAT8):
        legacy = dt.codes("float8_e4m3")
        mixed = E.or_(
            E.and_(stationary.dtype.among(legacy), moving.dtype.among(kit.F8_OCP)),
            E.and_(moving.dtype.among(legacy), stationary.dtype.among(kit.F8_OCP)),
        )
        yield check(
            op,
            "moving",
            E.not_(mixed),
            f"float8_e4m3 and float8_e4m3fn do not meet (they are {names})",
            "the two float8 e4m3 formats meet in one matmul",
            "MMU11",
            "T05",
            about=("stationary", "moving"),
        )


register(
    Rule(
        id="matmul-dtypes",
        code="NKI207",
        family="matmul",
        summary="a matmul multiplies floats the array knows, and float32 only with float32",
        reason=(
            "The array multiplies fp8, 16-bit and 32-bit floats; integers it cannot. A 32-bit "
            "operand takes several passes with the other operand in 32 bits as well, so the two "
            "cannot be mixed. The OCP format float8_e4m3fn came with the fourth generation and "
            "does not meet its older namesake in one instruction."
        ),
        facts=("MMU09", "MMU10", "MMU11", "T05", "T06", "H84"),
        on="operation",
        operations=("isa.nc_matmul",),
        check=_dtypes,
        sources=("NKI ISA nc_matmul, data types",),
        failing="""\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def mixed_precision(left_t, right):
    assert left_t.shape == (80, 40) and right.shape == (80, 500)
    out = nl.ndarray((40, 500), dtype=nl.float32, buffer=nl.shared_hbm)
    a = nl.ndarray((80, 40), dtype=nl.float32, buffer=nl.sbuf)
    b = nl.ndarray((80, 500), dtype=nl.bfloat16, buffer=nl.sbuf)
    nisa.dma_copy(dst=a, src=left_t)
    nisa.dma_copy(dst=b, src=right)
    acc = nl.ndarray((40, 500), dtype=nl.float32, buffer=nl.psum)
    nisa.nc_matmul(dst=acc, stationary=a, moving=b)
    held = nl.ndarray((40, 500), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_copy(dst=held, src=acc)
    nisa.dma_copy(dst=out, src=held)
    return out
""",
        passing="""\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def one_precision(left_t, right):
    assert left_t.shape == (80, 40) and right.shape == (80, 500)
    out = nl.ndarray((40, 500), dtype=nl.float32, buffer=nl.shared_hbm)
    a = nl.ndarray((80, 40), dtype=nl.float16, buffer=nl.sbuf)
    b = nl.ndarray((80, 500), dtype=nl.bfloat16, buffer=nl.sbuf)
    nisa.dma_copy(dst=a, src=left_t)
    nisa.dma_copy(dst=b, src=right)
    acc = nl.ndarray((40, 500), dtype=nl.float32, buffer=nl.psum)
    nisa.nc_matmul(dst=acc, stationary=a, moving=b)
    held = nl.ndarray((40, 500), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_copy(dst=held, src=acc)
    nisa.dma_copy(dst=out, src=held)
    return out
""",
    )
)

# ----------------------------------------------------------------------------- PE tiling


def _given_tuple(op: Operation, role: str) -> bool:
    value = op.value(role)
    return value is not None and value != ()


def _tiling(op: Operation, target: Target) -> Iterator[Check]:
    if kit.is_unknown(op.value("tile_position")) or kit.is_unknown(op.value("tile_size")):
        return
    position, size = _given_tuple(op, "tile_position"), _given_tuple(op, "tile_size")
    mx = op.name == "isa.nc_matmul_mx"
    both = "MMX13" if mx else "MMU12"
    if position or size:
        yield check(
            op,
            "tile_position" if position else "tile_size",
            E.truth(position and size),
            "tile_position and tile_size are given together",
            "tile_position and tile_size only work together",
            both,
            about=(),
        )
    sizes, starts = kit.integers(op.value("tile_size")), kit.integers(op.value("tile_position"))
    if not (position and size):
        return
    if sizes is None or starts is None or len(sizes) != 2 or len(starts) != 2:
        yield check(
            op,
            "tile_size",
            E.FALSE,
            "tile_position and tile_size are pairs of integers",
            "tile_position and tile_size have to be pairs of integers",
            "MMX13" if mx else "MMU16",
            about=(),
        )
        return
    options = ", ".join(map(str, sorted(target.pe_tile_sizes)))
    fact = "MMX13" if mx else ("MMU14" if target.has(Capability.SMALL_TILES) else "MMU13")
    limits = (target.contraction_max, target.stationary_free_max)
    for axis, start, extent, limit in zip(("row", "column"), starts, sizes, limits, strict=True):
        values = ((f"start {axis}", start), (f"{axis} size", extent))
        if mx and axis == "column":
            yield check(
                op,
                "tile_size",
                E.and_(E.eq(start, 0), E.eq(extent, limit)),
                f"start column == 0 and column size == {limit}",
                "an MX matmul can be tiled by rows only",
                "MMX13",
                values=values,
                about=(),
            )
            continue
        yield check(
            op,
            "tile_size",
            kit.one_of(extent, target.pe_tile_sizes),
            f"{axis} size is one of {options}",
            f"the array of {target.name} has no tiles of this {axis} size",
            fact,
            values=values,
            about=(),
        )
        yield check(
            op,
            "tile_position",
            E.and_(E.eq(E.mod(start, extent), 0), E.le(start + extent, limit)),
            f"start {axis} is a multiple of the {axis} size and the tile ends within {limit}",
            "the tile does not lie on the array's grid",
            "MMX13" if mx else "MMU15",
            values=values,
            about=(),
        )
    small_tiles = target.has(Capability.SMALL_TILES)
    if not small_tiles and not mx and not at_least(op.api, "0.2"):
        small = E.and_(E.le(sizes[0], 32), E.le(sizes[1], 32))
        yield check(
            op,
            "tile_size",
            E.not_(small),
            "row size and column size are not both 32",
            "the array has no tiles of 32 by 32",
            "OLD03",
            about=(),
        )


register(
    Rule(
        id="matmul-tiling",
        code="NKI208",
        family="matmul",
        summary="a tile of the array has a size the array can be cut into, on that grid",
        reason=(
            "The array can be cut into smaller ones that work independently. Sizes are powers of "
            "two down to 32 (64 on the second generation), a tile starts at a multiple of its "
            "size, and both its position and its size have to be said."
        ),
        facts=("MMU12", "MMU13", "MMU14", "MMU15", "MMU16", "MMX13", "H71", "OLD03"),
        on="operation",
        concerns=kit.multiplies,
        check=_tiling,
        sources=("NKI ISA nc_matmul, tiling mode",),
        failing="""\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def quarter_array(left_t, right):
    assert left_t.shape == (32, 24) and right.shape == (32, 160)
    out = nl.ndarray((24, 160), dtype=nl.float32, buffer=nl.shared_hbm)
    a = nl.ndarray((32, 24), dtype=nl.bfloat16, buffer=nl.sbuf)
    b = nl.ndarray((32, 160), dtype=nl.bfloat16, buffer=nl.sbuf)
    nisa.dma_copy(dst=a, src=left_t)
    nisa.dma_copy(dst=b, src=right)
    acc = nl.ndarray((24, 160), dtype=nl.float32, buffer=nl.psum)
    nisa.nc_matmul(
        dst=acc, stationary=a, moving=b, tile_position=(16, 0), tile_size=(32, 128)
    )
    held = nl.ndarray((24, 160), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_copy(dst=held, src=acc)
    nisa.dma_copy(dst=out, src=held)
    return out
""",
        passing="""\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def quarter_array(left_t, right):
    assert left_t.shape == (32, 24) and right.shape == (32, 160)
    out = nl.ndarray((24, 160), dtype=nl.float32, buffer=nl.shared_hbm)
    a = nl.ndarray((32, 24), dtype=nl.bfloat16, buffer=nl.sbuf)
    b = nl.ndarray((32, 160), dtype=nl.bfloat16, buffer=nl.sbuf)
    nisa.dma_copy(dst=a, src=left_t)
    nisa.dma_copy(dst=b, src=right)
    acc = nl.ndarray((24, 160), dtype=nl.float32, buffer=nl.psum)
    nisa.nc_matmul(
        dst=acc, stationary=a, moving=b, tile_position=(0, 0), tile_size=(32, 128)
    )
    held = nl.ndarray((24, 160), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_copy(dst=held, src=acc)
    nisa.dma_copy(dst=out, src=held)
    return out
""",
    )
)

# ----------------------------------------------------------------------------- double row


def _double_row(op: Operation, target: Target) -> Iterator[Check]:
    if not double_row(op):
        return
    yield check(
        op,
        "perf_mode",
        E.truth(target.has(Capability.DOUBLE_ROW)),
        f"the target is trn2 or newer (it is {target.name})",
        f"{target.name} has no double-row matmul",
        "MMU18",
        "H70",
        about=(),
    )
    allowed = kit.F8_LEGACY | (kit.F8_OCP if target.has(Capability.OCP_FLOAT8) else frozenset())
    for role in ("stationary", "moving"):
        view = op.view(role)
        if view is None:
            continue
        yield check(
            op,
            role,
            view.dtype.among(allowed),
            f"dtype of {role} is an 8-bit float (it is {kit.dtype_words(view.dtype)})",
            "the double-row mode multiplies 8-bit floats only",
            "MMU19",
        )
        yield check(
            op,
            role,
            E.eq(view.shape[1], 2) if view.rank >= 3 else E.FALSE,
            f"{role} has shape [K, 2, columns]",
            f"the double-row mode needs the two rows of {role} as its first free dimension",
            "MMU20",
            values=((f"rank of {role}", E.const(view.rank)),)
            if view.rank < 3
            else ((f"first free dimension of {role}", view.shape[1]),),
        )
    columns = tile_size(op)
    whole = columns is None or columns[1] is E.const(target.stationary_free_max)
    yield check(
        op,
        "perf_mode",
        E.truth(whole and transposes(op) is not True),
        "double row comes without column tiling and without transposition",
        "the double-row mode excludes column tiling and transposition",
        "MMU21",
        about=(),
    )


register(
    Rule(
        id="matmul-double-row",
        code="NKI209",
        family="matmul",
        summary="a double-row matmul has 8-bit floats in two rows, on trn2 and newer",
        reason=(
            "In the double-row mode each processing element holds two 8-bit weights and contracts "
            "two rows per step. The two rows are the first free dimension of both operands, and "
            "the mode takes the whole width of the array."
        ),
        facts=("MMU18", "MMU19", "MMU20", "MMU21", "H70"),
        on="operation",
        operations=("isa.nc_matmul",),
        check=_double_row,
        sources=("NKI ISA nc_matmul, performance mode", "Trainium2 architecture, Double FP8"),
        failing="""\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def doubled(left_t, right):
    assert left_t.shape == (128, 2, 96) and right.shape == (128, 2, 256)
    out = nl.ndarray((96, 256), dtype=nl.float32, buffer=nl.shared_hbm)
    a = nl.ndarray((128, 2, 96), dtype=nl.bfloat16, buffer=nl.sbuf)
    b = nl.ndarray((128, 2, 256), dtype=nl.bfloat16, buffer=nl.sbuf)
    nisa.dma_copy(dst=a, src=left_t)
    nisa.dma_copy(dst=b, src=right)
    acc = nl.ndarray((96, 256), dtype=nl.float32, buffer=nl.psum)
    nisa.nc_matmul(
        dst=acc, stationary=a, moving=b, perf_mode=nisa.matmul_perf_mode.double_row
    )
    held = nl.ndarray((96, 256), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_copy(dst=held, src=acc)
    nisa.dma_copy(dst=out, src=held)
    return out
""",
        passing="""\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def doubled(left_t, right):
    assert left_t.shape == (128, 2, 96) and right.shape == (128, 2, 256)
    out = nl.ndarray((96, 256), dtype=nl.float32, buffer=nl.shared_hbm)
    a = nl.ndarray((128, 2, 96), dtype=nl.float8_e4m3, buffer=nl.sbuf)
    b = nl.ndarray((128, 2, 256), dtype=nl.float8_e4m3, buffer=nl.sbuf)
    nisa.dma_copy(dst=a, src=left_t)
    nisa.dma_copy(dst=b, src=right)
    acc = nl.ndarray((96, 256), dtype=nl.float32, buffer=nl.psum)
    nisa.nc_matmul(
        dst=acc, stationary=a, moving=b, perf_mode=nisa.matmul_perf_mode.double_row
    )
    held = nl.ndarray((96, 256), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_copy(dst=held, src=acc)
    nisa.dma_copy(dst=out, src=held)
    return out
""",
    )
)

# ----------------------------------------------------------------------------- MX


def _mx_dtypes(op: Operation, target: Target) -> Iterator[Check]:
    for role in ("stationary", "moving"):
        view = op.view(role)
        if view is not None:
            yield check(
                op,
                role,
                view.dtype.among(kit.PACKED),
                f"dtype of {role} is a packed x4 type (it is {kit.dtype_words(view.dtype)})",
                f"{role} of an MX matmul is not packed",
                "MMX03",
                help=("quantize it with nisa.quantize_mx, or view it with an x4 dtype",),
            )
    for role in ("stationary_scale", "moving_scale"):
        view = op.view(role)
        if view is not None:
            yield check(
                op,
                role,
                view.dtype.among(kit.SCALES),
                f"dtype of {role} is float8_e8m0fnu or uint8 (it is {kit.dtype_words(view.dtype)})",
                f"{role} is not a scale",
                "MMX04",
            )
    dst = op.view("dst")
    if dst is not None:
        yield check(
            op,
            "dst",
            dst.dtype.among(kit.FP32 | kit.BF16),
            f"dtype of dst is float32 or bfloat16 (it is {kit.dtype_words(dst.dtype)})",
            "an MX matmul writes float32 or bfloat16",
            "MMX05",
        )


_MX = """\
# target: trn3
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def {name}(left_t, right, left_scale, right_scale):
    assert left_t.dtype == {packed} and right.dtype == {packed}
    assert left_t.shape == ({k}, {m}) and right.shape == ({k}, {n})
    assert left_scale.shape == ({k}, {m}) and right_scale.shape == ({k}, {n})
    assert left_scale.dtype == nl.uint8 and right_scale.dtype == nl.uint8
    out = nl.ndarray(({m}, {n}), dtype=nl.float32, buffer=nl.shared_hbm)
    a = nl.ndarray(({k}, {m}), dtype={packed}, buffer=nl.sbuf)
    b = nl.ndarray(({k}, {n}), dtype={packed}, buffer=nl.sbuf)
    sa = nl.ndarray(({k}, {m}), dtype={scale}, buffer=nl.sbuf)
    sb = nl.ndarray(({k}, {n}), dtype={scale}, buffer=nl.sbuf)
    nisa.dma_copy(dst=a, src=left_t)
    nisa.dma_copy(dst=b, src=right)
    nisa.dma_copy(dst=sa, src=left_scale)
    nisa.dma_copy(dst=sb, src=right_scale)
    acc = nl.ndarray(({m}, {n}), dtype=nl.float32, buffer=nl.psum)
    nisa.nc_matmul_mx(
        dst=acc, stationary=a, moving=b, stationary_scale=sa, moving_scale=sb
    )
    held = nl.ndarray(({m}, {n}), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_copy(dst=held, src=acc)
    nisa.dma_copy(dst=out, src=held)
    return out
"""


def _mx(name: str, k: int, m: int, n: int, scale: str = "nl.uint8") -> str:
    packed = "nl.float8_e4m3fn_x4"
    return _MX.format(name=name, k=k, m=m, n=n, scale=scale, packed=packed)


register(
    Rule(
        id="mx-matmul-dtypes",
        code="NKI210",
        family="matmul",
        summary="an MX matmul multiplies packed x4 operands with exponent scales",
        reason=(
            "The MX mode reads four packed 4- or 8-bit floats per element and one 8-bit exponent "
            "per group of 32 values. Other element types have no meaning to it. Results are "
            "float32 or bfloat16."
        ),
        facts=("MMX03", "MMX04", "MMX05"),
        on="operation",
        operations=("isa.nc_matmul_mx",),
        check=_mx_dtypes,
        sources=("NKI ISA nc_matmul_mx, data types",),
        failing=_mx("float_scales", 64, 96, 256, scale="nl.bfloat16"),
        passing=_mx("exponent_scales", 64, 96, 256),
    )
)


def scales_fit(scale: View, data: View, target: Target) -> Bool:
    """Whether ``scale`` has the four rows of every quadrant of ``data`` (MMX10, QMX05).

    A scale tile may start four, eight or twelve partitions into its quadrant, and ends at least
    four rows into the last one.
    """
    spare = target.quadrant - 4
    return E.and_(
        E.ge(scale.partitions, data.partitions - spare), E.le(scale.partitions, data.partitions)
    )


def _mx_shape(op: Operation, target: Target) -> Iterator[Check]:
    stationary, moving, dst = op.view("stationary"), op.view("moving"), op.view("dst")
    for role, view in (("stationary", stationary), ("moving", moving)):
        if view is None:
            continue
        yield check(
            op,
            role,
            E.and_(
                kit.divisible(view.partitions, target.quadrant),
                E.le(view.partitions, target.contraction_max),
            ),
            f"partitions of {role} are a multiple of {target.quadrant} "
            f"and <= {target.contraction_max}",
            f"{role} of an MX matmul does not fill whole quadrants",
            "MMX06",
            "P15",
            values=((f"partitions of {role}", view.partitions),),
        )
    if stationary is not None:
        yield check(
            op,
            "stationary",
            E.and_(
                kit.divisible(stationary.free, 2),
                E.le(stationary.free, target.stationary_free_max),
            ),
            f"stationary free size is even and <= {target.stationary_free_max}",
            "stationary tile of an MX matmul has an odd or too large number of columns",
            "MMX07",
            values=(("stationary free size", stationary.free),),
        )
    if moving is None:
        return
    narrow, wide = target.moving_free_max, target.moving_free_max_bf16
    bank = target.psum_bank_bytes // 4
    fits = E.le(moving.free, narrow)
    if dst is not None and wide > narrow:
        fits = E.or_(fits, E.and_(dst.dtype.among(kit.BF16), E.le(moving.free, wide)))
    values = (("moving free size", moving.free),)
    yield check(
        op,
        "moving",
        fits,
        f"moving free size <= {narrow}, or <= {wide} into bfloat16",
        "moving tile has too many columns for one MX matmul",
        "MMX08",
        values=values,
        about=("moving", "dst"),
    )
    yield check(
        op,
        "moving",
        E.le(moving.free, bank),
        f"moving free size <= {bank}",
        f"the MX guide promises moving tiles of at most {bank} columns only",
        "MMX08",
        values=values,
        given=(fits,),
        severity="warning",
        help=(f"split the moving operand into tiles of {bank} columns to be safe",),
    )
    for role, scale_role in (("stationary", "stationary_scale"), ("moving", "moving_scale")):
        data, scale = op.view(role), op.view(scale_role)
        if data is None or scale is None:
            continue
        yield check(
            op,
            scale_role,
            E.and_(E.eq(scale.free, data.free), scales_fit(scale, data, target)),
            f"{scale_role} has the free size of {role} and reaches into its last quadrant",
            f"{scale_role} does not match {role}",
            "MMX10",
            values=(
                (f"partitions of {scale_role}", scale.partitions),
                (f"{scale_role} free size", scale.free),
                (f"partitions of {role}", data.partitions),
                (f"{role} free size", data.free),
            ),
            about=(role, scale_role),
        )


register(
    Rule(
        id="mx-matmul-shape",
        code="NKI211",
        family="matmul",
        summary="operands of an MX matmul fill quadrants, and their scales match them",
        reason=(
            "Scaling groups are eight partitions of four packed values. Data enters by quadrants "
            "of 32 partitions, with four scales per quadrant and column; stationary columns are "
            "loaded in pairs."
        ),
        facts=("MMX06", "MMX07", "MMX08", "MMX10", "P15"),
        on="operation",
        operations=("isa.nc_matmul_mx",),
        check=_mx_shape,
        sources=("NKI ISA nc_matmul_mx, tile size", "MX matmul guide, scale tensor"),
        failing=_mx("odd_columns", 64, 95, 256),
        passing=_mx("even_columns", 96, 94, 300),
    )
)


def _mx_scale_start(op: Operation, target: Target) -> Iterator[Check]:
    roles = ("dst_scale",) if op.name == "isa.quantize_mx" else ("stationary_scale", "moving_scale")
    fact = "QMX06" if op.name == "isa.quantize_mx" else "MMX11"
    for role in roles:
        view = op.view(role)
        start = view.start_partition if view is not None else None
        if view is None or start is None or view.indirect:
            continue
        offset = E.mod(start, target.quadrant)
        yield check(
            op,
            role,
            kit.one_of(offset, range(0, target.quadrant // 2, 4)),
            f"start partition of {role} in its quadrant is 0, 4, 8 or 12",
            f"{role} starts at a partition that scales cannot start at",
            fact,
            values=((f"start partition of {role}", start),),
        )


register(
    Rule(
        id="mx-scale-start",
        code="NKI212",
        family="matmul",
        summary="scales start at partition 0, 4, 8 or 12 of a quadrant",
        reason=(
            "A quadrant of 32 data partitions has four scales per column. The scales of up to four "
            "tensors can be packed into the first sixteen partitions of a quadrant, four "
            "partitions each."
        ),
        facts=("MMX11", "QMX06"),
        on="operation",
        operations=("isa.nc_matmul_mx", "isa.quantize_mx"),
        check=_mx_scale_start,
        sources=("MX matmul guide, packing scale values",),
        failing="""\
# target: trn3
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def quantize_into_corner(x):
    assert x.shape == (32, 256) and x.dtype == nl.bfloat16
    packed = nl.ndarray((32, 64), dtype=nl.float8_e4m3fn_x4, buffer=nl.shared_hbm)
    scales = nl.ndarray((4, 64), dtype=nl.uint8, buffer=nl.shared_hbm)
    held = nl.ndarray((32, 256), dtype=nl.bfloat16, buffer=nl.sbuf)
    nisa.dma_copy(dst=held, src=x)
    data = nl.ndarray((32, 64), dtype=nl.float8_e4m3fn_x4, buffer=nl.sbuf)
    scale = nl.ndarray((32, 64), dtype=nl.uint8, buffer=nl.sbuf)
    nisa.quantize_mx(dst=data, src=held, dst_scale=scale[6:10, :])
    nisa.dma_copy(dst=packed, src=data)
    nisa.dma_copy(dst=scales, src=scale[6:10, :])
    return packed, scales
""",
        passing="""\
# target: trn3
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def quantize_into_corner(x):
    assert x.shape == (32, 256) and x.dtype == nl.bfloat16
    packed = nl.ndarray((32, 64), dtype=nl.float8_e4m3fn_x4, buffer=nl.shared_hbm)
    scales = nl.ndarray((4, 64), dtype=nl.uint8, buffer=nl.shared_hbm)
    held = nl.ndarray((32, 256), dtype=nl.bfloat16, buffer=nl.sbuf)
    nisa.dma_copy(dst=held, src=x)
    data = nl.ndarray((32, 64), dtype=nl.float8_e4m3fn_x4, buffer=nl.sbuf)
    scale = nl.ndarray((32, 64), dtype=nl.uint8, buffer=nl.sbuf)
    nisa.quantize_mx(dst=data, src=held, dst_scale=scale[8:12, :])
    nisa.dma_copy(dst=packed, src=data)
    nisa.dma_copy(dst=scales, src=scale[8:12, :])
    return packed, scales
""",
    )
)

# ----------------------------------------------------------------------------- nl.matmul


def _language_matmul(op: Operation, target: Target) -> Iterator[Check]:
    x, y = op.view("x"), op.view("y")
    transposed = op.value("transpose_x")
    if transposed is None:
        transposed = False
    if not isinstance(transposed, bool):
        return
    if not transposed and at_least(op.api, "0.3"):
        yield check(
            op,
            "transpose_x",
            E.FALSE,
            "transpose_x is True",
            "nl.matmul works with transpose_x=True only",
            "L27",
            about=(),
            help=("pass the left operand as [K, M] and transpose_x=True",),
        )
        return
    if x is None or y is None:
        return
    if at_least(op.api, "0.3"):
        for role, view in (("x", x), ("y", y)):
            found = kit.buffer_check(
                op, role, view, SBUF, f"{role} of nl.matmul has to be in SBUF", "L26"
            )
            if found is not None:
                yield found
    depth, columns = (x.partitions, x.free) if transposed else (x.free, x.partitions)
    fact = "L26" if transposed else "L28"
    side = "partitions of x" if transposed else "x free size"
    yield check(
        op,
        "y",
        E.eq(depth, y.partitions),
        f"{side} == partitions of y",
        "the two inputs of nl.matmul contract over different sizes",
        fact,
        values=((side, depth), ("partitions of y", y.partitions)),
        about=("x", "y"),
    )
    yield check(
        op,
        "x",
        E.and_(E.le(depth, target.contraction_max), E.le(columns, target.stationary_free_max)),
        f"contraction <= {target.contraction_max} and rows of the result <= "
        f"{target.stationary_free_max}",
        "x is too large for one matmul",
        fact,
        values=(("contraction", depth), ("rows of the result", columns)),
    )
    limit = target.psum_bank_bytes // 4
    yield check(
        op,
        "y",
        E.le(y.free, limit),
        f"y free size <= {limit}",
        "y has too many columns for one matmul",
        fact,
        values=(("y free size", y.free),),
        help=(f"split y into tiles of at most {limit} columns",),
    )


register(
    Rule(
        id="language-matmul",
        code="NKI213",
        family="matmul",
        summary="operands of nl.matmul fit into one matmul instruction",
        reason=(
            "nl.matmul stands for one matmul instruction (and, in Beta 1, a transposition of x "
            "before it): the contraction is at most 128 long, the result has at most 128 rows and "
            "512 columns. From NKI 0.3 on only the transposed form is supported."
        ),
        facts=("L26", "L27", "L28"),
        on="operation",
        operations=("language.matmul",),
        check=_language_matmul,
        sources=("NKI language matmul", "NKI 0.4 known issues"),
        failing="""\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def similarity(keys, queries):
    assert keys.shape == (100, 60) and queries.shape == (90, 300)
    scores = nl.ndarray((60, 300), dtype=nl.float32, buffer=nl.shared_hbm)
    k = nl.load(keys)
    q = nl.load(queries)
    nl.store(scores, nl.matmul(k, q, transpose_x=True))
    return scores
""",
        passing="""\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def similarity(keys, queries):
    assert keys.shape == (100, 60) and queries.shape == (100, 300)
    scores = nl.ndarray((60, 300), dtype=nl.float32, buffer=nl.shared_hbm)
    k = nl.load(keys)
    q = nl.load(queries)
    nl.store(scores, nl.matmul(k, q, transpose_x=True))
    return scores
""",
    )
)

# ----------------------------------------------------------------------------- transposition


def _transpose_engine(op: Operation) -> str | None:
    """``tensor`` or ``vector``; None if the call leaves it open or it is not known."""
    named = kit.engine(op)
    if named in ("tensor", "vector"):
        return named
    dst = op.view("dst")
    if named == "unknown" and at_least(op.api, "0.2") and dst is not None:
        return "vector" if dst.buffer is Buffer.SBUF else None
    return None


def _transpose_shape(op: Operation, target: Target) -> Iterator[Check]:
    data, dst = op.view("data"), op.view("dst")
    if data is None or dst is None:
        return
    yield check(
        op,
        "dst",
        E.and_(E.eq(dst.partitions, data.free), E.eq(dst.free, data.partitions)),
        "partitions of dst == data free size and dst free size == partitions of data",
        "dst does not have the transposed shape of data",
        "TRN01",
        values=(
            ("partitions of dst", dst.partitions),
            ("dst free size", dst.free),
            ("partitions of data", data.partitions),
            ("data free size", data.free),
        ),
        about=("dst", "data"),
    )


_TRANSPOSE = """\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def {name}(x):
    assert x.shape == ({p}, {f}) and x.dtype == nl.{dtype}
    out = nl.ndarray(({p2}, {f2}), dtype=nl.{dtype}, buffer=nl.shared_hbm)
    tile = nl.ndarray(({p}, {f}), dtype=nl.{dtype}, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    turned = nl.ndarray(({p2}, {f2}), dtype=nl.{turned}, buffer=nl.{buffer})
    nisa.nc_transpose(dst=turned, data=tile{engine})
    held = nl.ndarray(({p2}, {f2}), dtype=nl.{dtype}, buffer=nl.sbuf)
    nisa.tensor_copy(dst=held, src=turned)
    nisa.dma_copy(dst=out, src=held)
    return out
"""


def _transposing(
    name: str,
    shape: tuple[int, int],
    result: tuple[int, int],
    dtype: str = "bfloat16",
    turned: str = "bfloat16",
    buffer: str = "psum",
    engine: str = "",
) -> str:
    (p, f), (p2, f2) = shape, result
    chosen = f", engine=nisa.engine.{engine}" if engine else ""
    return _TRANSPOSE.format(
        name=name,
        p=p,
        f=f,
        p2=p2,
        f2=f2,
        dtype=dtype,
        turned=turned,
        buffer=buffer,
        engine=chosen,
    )


register(
    Rule(
        id="transpose-shape",
        code="NKI214",
        family="matmul",
        summary="the destination of a transpose has the transposed shape",
        reason=(
            "A transposition turns the partition axis into the free axis: a tile of P partitions "
            "and F elements becomes one of F partitions and P elements, its free axes flattened."
        ),
        facts=("TRN01",),
        on="operation",
        operations=("isa.nc_transpose",),
        check=_transpose_shape,
        sources=("NKI ISA nc_transpose, layout",),
        failing=_transposing("flip", (96, 40), (96, 40)),
        passing=_transposing("flip", (96, 40), (40, 96)),
    )
)


def _transpose_size(op: Operation, target: Target) -> Iterator[Check]:
    data = op.view("data")
    if data is None:
        return
    engine = _transpose_engine(op)
    if engine == "vector":
        limit, fact = target.transpose_vector_max, "TRN03"
        message = "the Vector Engine transposes blocks of at most 32 by 32"
    else:
        limit, fact = target.stationary_free_max, "TRN02"
        message = "the tile is too large for one transpose"
    yield check(
        op,
        "data",
        E.and_(E.le(data.partitions, limit), E.le(data.free, limit)),
        f"partitions of data <= {limit} and data free size <= {limit}",
        message,
        fact,
        values=(("partitions of data", data.partitions), ("data free size", data.free)),
        help=("transpose on the Tensor Engine, with a PSUM tile as dst",)
        if engine == "vector"
        else (f"transpose blocks of {limit} by {limit}",),
    )


register(
    Rule(
        id="transpose-size",
        code="NKI215",
        family="matmul",
        summary="a transpose fits into its engine: 128 by 128, or 32 by 32 on the Vector Engine",
        reason=(
            "The Tensor Engine transposes by passing a tile through its array of 128 by 128. The "
            "Vector Engine exchanges rows and columns within blocks of 32 by 32. Which one runs "
            "depends on engine= and on where dst lies: the Tensor Engine cannot write SBUF."
        ),
        facts=("TRN02", "TRN03", "TRN07"),
        on="operation",
        operations=("isa.nc_transpose",),
        check=_transpose_size,
        sources=("NKI ISA nc_transpose, tile size", "NKI 0.4 release notes"),
        failing=_transposing("small_flip", (64, 48), (48, 64), buffer="sbuf", engine="vector"),
        passing=_transposing("small_flip", (32, 24), (24, 32), buffer="sbuf", engine="vector"),
    )
)


def _transpose_buffers(op: Operation, target: Target) -> Iterator[Check]:
    if not at_least(op.api, "0.2"):
        return
    tensor = kit.engine(op) == "tensor"
    for role in ("data", "dst"):
        view = op.view(role)
        if view is None:
            continue
        allowed = (SBUF if role == "data" else PSUM) if tensor else (Buffer.SBUF, Buffer.PSUM)
        found = kit.buffer_check(
            op,
            role,
            view,
            allowed,
            f"{role} of a transpose cannot be in {kit.BUFFER_WORDS[view.buffer]}",
            *(("TRN04", "BUF03") if tensor else ("TRN05", "BUF04")),
        )
        if found is not None:
            yield found


register(
    Rule(
        id="transpose-buffers",
        code="NKI216",
        family="matmul",
        summary="a transpose on the Tensor Engine reads SBUF and writes PSUM",
        reason=(
            "On the Tensor Engine a transposition is a pass through the array, from SBUF to PSUM. "
            "The Vector Engine reads and writes either memory, but not HBM."
        ),
        facts=("TRN04", "TRN05", "BUF03", "BUF04"),
        on="operation",
        operations=("isa.nc_transpose",),
        check=_transpose_buffers,
        sources=("NKI ISA nc_transpose, memory types",),
        failing=_transposing("turn", (90, 70), (70, 90), buffer="sbuf", engine="tensor"),
        passing=_transposing("turn", (90, 70), (70, 90), engine="tensor"),
    )
)


def _transpose_dtype(op: Operation, target: Target) -> Iterator[Check]:
    data, dst = op.view("data"), op.view("dst")
    if data is None or dst is None or not at_least(op.api, "0.2"):
        return
    yield check(
        op,
        "dst",
        dst.dtype.same(data.dtype),
        f"dtype of dst == dtype of data (they are {kit.dtype_words(dst.dtype)} and "
        f"{kit.dtype_words(data.dtype)})",
        "a transpose does not convert: dst has another dtype than data",
        "TRN06",
        about=("dst", "data"),
        help=("give dst the dtype of data, and cast when copying it on",),
    )


register(
    Rule(
        id="transpose-dtype",
        code="NKI217",
        family="matmul",
        summary="a transpose keeps the element type",
        reason=(
            "A transposition moves bits. The destination has the element type of the data; a "
            "conversion is a separate copy."
        ),
        facts=("TRN06",),
        on="operation",
        operations=("isa.nc_transpose",),
        check=_transpose_dtype,
        sources=("NKI ISA nc_transpose, data types",),
        failing=_transposing("cast_flip", (60, 20), (20, 60), turned="float32"),
        passing=_transposing("copy_flip", (60, 20), (20, 60), "float32", "float32"),
    )
)
