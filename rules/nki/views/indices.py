"""What subscripts and indices may be combined."""

from __future__ import annotations

from rules.beta1 import TWINS
from rules.nki import twins
from rules.nki.kit import register
from rules.nki.samples import variants
from verifier.rulebase import COMPILED, On, Rule

register(
    Rule(
        id="view-precondition",
        code="NKI256",
        family="views",
        summary="a view method gets dimensions that it can work on",
        reason=(
            "Views are free because they only change extents and strides. Broadcasting and "
            "squeezing need an extent of 1, flattening needs dimensions that follow each other in "
            "memory, reinterpreting the type needs whole elements, and the partition dimension of "
            "an on-chip tile stays first and whole."
        ),
        facts=(
            "DCP05",
            "DCP06",
            "DCP07",
            "TI02",
            "X40",
            "X43",
            "X45",
            "X46",
            "X47",
            "X48",
            "X20",
            "X21",
            "X22",
            "X25",
            "L31",
            "X23",
            "X24",
            "X26",
            "X27",
            "X28",
            "X29",
            "X30",
            "P13",
        ),
        on=On.HOST,
        of_rank=True,
        sources=("NKI tensor reference, view methods",),
        twins=twins.INDICES,
        failing="""\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def turn(x):
    assert x.shape == (64, 32)
    out = nl.ndarray((32, 64), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray((64, 32), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    nisa.dma_copy(dst=out, src=tile.permute((1, 0)))
    return out
""",
        passing="""\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def turn(x):
    assert x.shape == (64, 4, 8)
    out = nl.ndarray((64, 8, 4), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray((64, 4, 8), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    nisa.dma_copy(dst=out, src=tile.permute((0, 2, 1)))
    return out
""",
    )
)


_BETA1_MIXED_INDEXING = variants(
    """\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def copy_block(x):
    assert x.shape == (72, 40)
    out = nl.ndarray((72, 40), dtype=x.dtype, buffer=nl.shared_hbm)
    row = nl.arange(72)[:, None]
-    tile = nl.load(x[row, 0:40])
-    nl.store(out, tile)
+    column = nl.arange(40)[None, :]
+    tile = nl.load(x[row, column])
+    nl.store(out[row, column], tile)
    return out
"""
)


register(
    Rule(
        id="beta1-mixed-indexing",
        code="NKI257",
        family="views",
        summary="a subscript uses index arrays or slices, not both",
        reason=(
            "Beta 1 has two ways to index, slices and arrays made by `nl.arange` or `nl.mgrid`; "
            "one subscript is of one kind. Integers and loop indices go with both."
        ),
        facts=("X62", "E35"),
        on=On.HOST,
        sources=("NKI Beta 1 programming model, advanced tensor indexing",),
        twins=TWINS["beta1-mixed-indexing"],
        failing=_BETA1_MIXED_INDEXING.failing,
        passing=_BETA1_MIXED_INDEXING.passing,
    )
)


_INDEX_SHAPES_AGREE = variants(
    """\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def copy_shifted(x):
    assert x.shape == (72, 40)
    out = nl.ndarray((72, 40), dtype=x.dtype, buffer=nl.shared_hbm)
    row = nl.arange(72)[:, None]
-    shift = nl.arange(36)[:, None]
+    shift = nl.arange(1)[:, None]
    column = nl.arange(40)[None, :]
-    tile = nl.load(x[row + 0 * shift, column])
+    tile = nl.load(x[row + shift, column])
    nl.store(out[row, column], tile)
    return out
"""
)


register(
    Rule(
        id="index-shapes-agree",
        code="NKI258",
        family="views",
        summary="index arrays along one position have one length",
        reason=(
            "Index arrays broadcast as in NumPy: along each position all of them have the same "
            "length, or length 1."
        ),
        facts=("X60",),
        on=On.HOST,
        sources=("NKI Beta 1 programming model, advanced tensor indexing",),
        failing=_INDEX_SHAPES_AGREE.failing,
        passing=_INDEX_SHAPES_AGREE.passing,
    )
)


_BETA1_INDEX_RANK = variants(
    """\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def copy_vector(x):
-    assert x.shape == (88,)
+    assert x.shape == (88, 1)
    out = nl.ndarray((88, 1), dtype=x.dtype, buffer=nl.shared_hbm)
-    tile = nl.load(x[nl.arange(88)])
-    nl.store(out, tile)
+    row = nl.arange(88)[:, None]
+    column = nl.arange(1)[None, :]
+    tile = nl.load(x[row, column])
+    nl.store(out[row, column], tile)
    return out
"""
)


register(
    Rule(
        id="beta1-index-rank",
        code="NKI259",
        family="views",
        summary="index arrays, and what indexes a row or a column, have two dimensions",
        reason=(
            "A tile has a partition and a free dimension, and so has what indexes it: `nl.arange` "
            "is written `nl.arange(n)[:, None]` or `nl.arange(n)[None, :]`. A tile of one row or "
            "one column is indexed in both as well: Beta 1 does not take `t[0:n]` for it."
        ),
        facts=("X61", "X68", "E01"),
        on=On.HOST,
        sources=("NKI Beta 1 error reference, err_1d_arange_not_supported",),
        twins=TWINS["beta1-index-rank"],
        failing=_BETA1_INDEX_RANK.failing,
        passing=_BETA1_INDEX_RANK.passing,
    )
)


_SUBSCRIPT_KEY = variants(
    """\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def spread(x):
    assert x.shape == (72, 40)
    out = nl.ndarray((72, 1, 40), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray((72, 40), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
-    nisa.dma_copy(dst=out, src=tile[:, None, :])
+    nisa.dma_copy(dst=out, src=tile.reshape((72, 1, 40)))
    return out
"""
)


register(
    Rule(
        id="subscript-key",
        code="NKI266",
        family="views",
        summary="a tensor is indexed with integers, slices, `nl.ds` and `...`",
        reason=(
            "A subscript says which elements of a tensor a view has, by numbers that are known "
            "when the kernel is traced or by a register that `nl.ds` begins at. It takes no "
            "`None`, list, text, float or truth value, and since NKI 0.2 no tensor: what a tile "
            "picks is written as an access pattern."
        ),
        facts=("X01", "M027"),
        on=On.HOST,
        sources=("NKI tensor reference, __getitem__", "NKI migration guide 0.2"),
        failing=_SUBSCRIPT_KEY.failing,
        passing=_SUBSCRIPT_KEY.passing,
    )
)


_RUNTIME_OFFSET = variants(
    """\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def later_rows(x):
    assert x.shape == (90, 40)
    out = nl.ndarray((72, 40), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray((72, 40), dtype=x.dtype, buffer=nl.sbuf)
-    later = x.ap([[40, 72], [1, 40]], scalar_offset=3)
+    later = x.ap([[40, 72], [1, 40]], offset=3 * 40)
    nisa.dma_copy(dst=tile, src=later)
    nisa.dma_copy(dst=out, src=tile)
    return out
"""
)


register(
    Rule(
        id="offset-of-host",
        code="NKI267",
        family="views",
        summary="`scalar_offset` of an access pattern is a register or an element of a tile",
        reason=(
            "`scalar_offset` names the scalar of the device that a pattern begins at when it is "
            "used. A number of the program belongs into `offset`."
        ),
        facts=("X45", "DCP06"),
        on=On.HOST,
        replayed=COMPILED,
        sources=("NKI access pattern reference, scalar dynamic access",),
        failing=_RUNTIME_OFFSET.failing,
        passing=_RUNTIME_OFFSET.passing,
    )
)
