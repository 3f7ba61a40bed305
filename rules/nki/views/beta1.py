"""What Beta 1 takes as an index, as a mask and as the extent of a tile.

The dialect raises these rules (``verifier/dialects/nki/beta1.py``): their predicates are false
where what is written has no meaning to the compiler.
"""

from __future__ import annotations

from rules.beta1 import TWINS
from rules.nki.kit import register
from rules.nki.samples import variants
from verifier.rulebase import COMPILED, On, Rule

_READ_ONLY = variants(
    """\
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def numbered(x):
    assert x.shape == (1, 40) and x.dtype == nl.int32
    out = nl.ndarray((1, 40), dtype=nl.int32, buffer=nl.shared_hbm)
    column = nl.arange(40)[None, :]
-    column[0, 5] = 1024
-    numbers = nisa.iota(column, dtype=nl.int32)
+    numbers = nisa.iota(column, dtype=nl.int32)
+    numbers[0:1, 5:6] = 1024
    nl.store(out, nl.load(x) + numbers)
    return out
"""
)
register(
    Rule(
        id="index-read-only",
        code="NKI261",
        family="views",
        summary="index arrays and masks are not assigned to",
        reason=(
            "What `nl.arange`, `nl.mgrid` and comparisons of them return is no tile: it stands for "
            "indices while the kernel is traced, and no memory holds it. `nisa.iota` makes a tile "
            "of an index array."
        ),
        facts=("X65", "E08"),
        on=On.HOST,
        replayed=COMPILED,
        sources=("NKI Beta 1 error reference, err_cannot_assign_to_index",),
        twins=TWINS["index-read-only"],
        failing=_READ_ONLY.failing,
        passing=_READ_ONLY.passing,
    )
)

_MASK = variants(
    """\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def first_of_four(x):
    assert x.shape == (72, 4, 10) and x.dtype == nl.float32
    out = nl.ndarray((72, 4, 10), dtype=x.dtype, buffer=nl.shared_hbm)
    row = nl.arange(72)[:, None]
    column = nl.arange(40)[None, :]
    for k in nl.affine_range(4):
        tile = nl.load(x[:, k])
        nl.store(out[:, k], tile)
-        nl.store(out[:, k], tile + 1.0, mask=(k % 2) < 1)
+        nl.store(out[:, k], tile + 1.0, mask=k < 2)
    return out
"""
)
register(
    Rule(
        id="beta1-mask",
        code="NKI262",
        family="views",
        summary="a mask is a conjunction of affine comparisons of indices",
        reason=(
            "A mask becomes bounds of the access pattern: each side of a comparison is a sum of "
            "index arrays, loop indices and program ids times constants, and comparisons are "
            "joined by `&`. Remainders, products of indices, `|` and what a tile holds have no "
            "such bounds."
        ),
        facts=("X64", "E33"),
        on=On.HOST,
        replayed=COMPILED,
        sources=("NKI Beta 1, NKI API masking", "NKI Beta 1 error reference"),
        twins=TWINS["beta1-mask"],
        failing=_MASK.failing,
        passing=_MASK.passing,
    )
)

_RUNTIME = variants(
    """\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def picked(x, rows):
    assert x.shape == (500, 40) and x.dtype == nl.float32
    assert rows.shape == (72, 1) and rows.dtype == nl.int32
    out = nl.ndarray((72, 40), dtype=x.dtype, buffer=nl.shared_hbm)
    row = nl.arange(72)[:, None]
    column = nl.arange(40)[None, :]
    index = nl.load(rows)
-    grid_row, grid_column = nl.mgrid[0:72, 0:40]
-    tile = nl.load(x[index[grid_row, 0], grid_column])
+    tile = nl.load(x[index[row, 0], column])
    nl.store(out[row, column], tile)
    return out
"""
)
register(
    Rule(
        id="beta1-runtime-index",
        code="NKI263",
        family="views",
        summary="a tile of indices picks rows of a transfer",
        reason=(
            "`nl.load`, `nl.store` and `nisa.dma_copy` gather and scatter rows: one index for each "
            "partition, beside index arrays of `nl.arange`. Along a free dimension, in a "
            "transposing load or in an assignment that copies within SBUF nothing computes the "
            "addresses."
        ),
        facts=("X67", "CPY06", "E11", "E16", "E17"),
        on=On.HOST,
        replayed=COMPILED,
        sources=("NKI Beta 1 error reference", "NKI Beta 1 known issues, indexing"),
        twins=TWINS["beta1-runtime-index"],
        failing=_RUNTIME.failing,
        passing=_RUNTIME.passing,
    )
)

_STATIC = variants(
    """\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def triangle(x):
    assert x.shape == (72, 4, 40) and x.dtype == nl.float32
    out = nl.ndarray((72, 4, 40), dtype=x.dtype, buffer=nl.shared_hbm)
    for k in nl.affine_range(4):
        tile = nl.load(x[:, k])
        nl.store(out[:, k], tile)
-        nl.store(out[:, k, 0 : 10 * k + 10], tile[:, 0 : 10 * k + 10] * 2.0)
+        nl.store(out[:, k, 10 * k : 10 * k + 10], tile[:, 10 * k : 10 * k + 10] * 2.0)
    return out
"""
)
register(
    Rule(
        id="beta1-static-size",
        code="NKI264",
        family="views",
        summary="the extents of a tile are the same in every iteration",
        reason=(
            "Beta 1 traces the body of a loop once, with an index that stands for all its values: "
            "where a tile starts may depend on it, how large it is may not."
        ),
        facts=("LP11",),
        on=On.HOST,
        replayed=COMPILED,
        sources=("NKI Beta 1 programming model",),
        failing=_STATIC.failing,
        passing=_STATIC.passing,
    )
)
