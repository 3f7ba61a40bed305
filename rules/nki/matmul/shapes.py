"""Shapes and sizes of products of matrices."""

from __future__ import annotations

from collections.abc import Iterator

from rules.nki import kinds, kit
from rules.nki.kit import check, register
from rules.nki.matmul.calls import free_columns, tile_size
from rules.nki.samples import variants
from verifier.hardware.capabilities import Capability
from verifier.hardware.targets import Target
from verifier.rulebase import On, Rule
from verifier.symbolic import expr as E
from verifier.symbolic.checks import Check
from verifier.symbolic.expr import Expr
from verifier.symbolic.trace import Operation


def _contraction(op: Operation, target: Target) -> Iterator[Check]:
    stationary, moving = op.view("stationary"), op.view("moving")
    if stationary is None or moving is None:
        return
    fact = "MMX06" if kit.packed(op) else "MMU02"
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


_MATMUL_CONTRACTION = variants(
    """\
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
-def wrong_layout(weights, activations):
-    assert weights.shape == (64, 128) and activations.shape == (128, 384)
-    result = nl.ndarray((128, 384), dtype=nl.float32, buffer=nl.shared_hbm)
-    w = nl.load(weights)
+def right_layout(weights_t, activations):
+    assert weights_t.shape == (128, 64) and activations.shape == (128, 384)
+    result = nl.ndarray((64, 384), dtype=nl.float32, buffer=nl.shared_hbm)
+    w = nl.load(weights_t)
    a = nl.load(activations)
    product = nisa.nc_matmul(w, a)
    nl.store(result, product)
    return result
"""
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
        on=On.OPERATION,
        concerns=kit.multiplies,
        check=_contraction,
        sources=("NKI ISA nc_matmul, tile size",),
        failing=_MATMUL_CONTRACTION.failing,
        passing=_MATMUL_CONTRACTION.passing,
    )
)


def _stationary_size(op: Operation, target: Target) -> Iterator[Check]:
    stationary = op.view("stationary")
    if stationary is None:
        return
    columns = free_columns(op, stationary)
    tiling = tile_size(op)
    limit: Expr = E.const(target.stationary_free_max)
    rows: Expr = E.const(target.contraction_max)
    if tiling is not None:
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
        on=On.OPERATION,
        concerns=kinds.MULTIPLIES,
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
        on=On.OPERATION,
        concerns=kinds.MULTIPLIES,
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


def _result_shape(op: Operation, target: Target) -> Iterator[Check]:
    stationary, moving, dst = op.view("stationary"), op.view("moving"), op.view("dst")
    if dst is None or stationary is None or moving is None:
        return
    mx = kit.packed(op)
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


_MATMUL_RESULT_SHAPE = variants(
    """\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
-def swapped_result(left_t, right):
+def product(left_t, right):
    assert left_t.shape == (128, 48) and right.shape == (128, 96)
-    out = nl.ndarray((96, 48), dtype=nl.float32, buffer=nl.shared_hbm)
+    out = nl.ndarray((48, 96), dtype=nl.float32, buffer=nl.shared_hbm)
    a = nl.ndarray((128, 48), dtype=nl.bfloat16, buffer=nl.sbuf)
    b = nl.ndarray((128, 96), dtype=nl.bfloat16, buffer=nl.sbuf)
    nisa.dma_copy(dst=a, src=left_t)
    nisa.dma_copy(dst=b, src=right)
-    acc = nl.ndarray((96, 48), dtype=nl.float32, buffer=nl.psum)
+    acc = nl.ndarray((48, 96), dtype=nl.float32, buffer=nl.psum)
    nisa.nc_matmul(dst=acc, stationary=a, moving=b)
-    held = nl.ndarray((96, 48), dtype=nl.float32, buffer=nl.sbuf)
+    held = nl.ndarray((48, 96), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_copy(dst=held, src=acc)
    nisa.dma_copy(dst=out, src=held)
    return out
"""
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
        on=On.OPERATION,
        concerns=kit.multiplies,
        check=_result_shape,
        sources=("NKI ISA nc_matmul, layout",),
        failing=_MATMUL_RESULT_SHAPE.failing,
        passing=_MATMUL_RESULT_SHAPE.passing,
    )
)
