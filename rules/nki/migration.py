"""What a later generation of NKI does not take as it is: reported by ``check --migrate-to`` alone.

The engine finds it in the text (:mod:`verifier.dialects.nki.migration`); the rules here say what it
is about. Their examples are written for the generation that they come from.
"""

from __future__ import annotations

from rules.nki import migration_twins
from rules.nki.samples import variants
from verifier.rulebase import COMPILED, On, Rule, register

_SOURCES = ("NKI migration guides 0.2 to 0.6", "NKI release notes")

_NAME = variants(
    """\
-import neuronxcc.nki as nki
-import neuronxcc.nki.language as nl
+import nki
+import nki.language as nl


@nki.jit
def copied(x):
    assert x.shape == (96, 640)
    out = nl.ndarray((96, 640), dtype=x.dtype, buffer=nl.shared_hbm)
    rows = nl.load(x)
    nl.store(out, rows)
    return out
"""
)
register(
    Rule(
        id="migrate-name",
        code="NKI491",
        family="migration",
        summary="a later generation has the name",
        reason=(
            "Modules, functions, dtypes and operators were removed or renamed from one generation "
            "of NKI to the next; some stay for a while and are deprecated."
        ),
        facts=(
            *("NKI-M001", "NKI-M005", "NKI-M006", "NKI-M020", "NKI-M021", "NKI-M022", "NKI-M023"),
            *("NKI-M024", "NKI-M025", "NKI-M042", "NKI-M083", "NKI-M091", "NKI-M093", "NKI-M130"),
            *("NKI-M113", "NKI-M137"),
        ),
        on=On.TEXT,
        replayed=COMPILED,
        sources=_SOURCES,
        twins=migration_twins.NAMES,
        failing=_NAME.failing,
        passing=_NAME.passing,
    )
)

_CALL = variants(
    """\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def copied(x):
    assert x.shape == (96, 640)
    out = nl.ndarray((96, 640), dtype=x.dtype, buffer=nl.shared_hbm)
    rows = nl.ndarray((96, 640), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=rows, src=x)
    more = nl.ndarray((96, 640), dtype=x.dtype, buffer=nl.sbuf)
-    nisa.tensor_copy(dst=more, src=rows, dtype=x.dtype)
+    nisa.tensor_copy(dst=more, src=rows)
    nisa.dma_copy(dst=out, src=more)
    return out
"""
)
register(
    Rule(
        id="migrate-call",
        code="NKI492",
        family="migration",
        summary="a later generation takes the arguments of a call, in this form",
        reason=(
            "Instructions returned their result in Beta 1 and write into `dst`, their first "
            "argument, since 0.2; `dtype=`, `mask=` and other parameters went, some have another "
            "name, and some another place."
        ),
        facts=(
            *(f"NKI-M{number:03}" for number in (2, 3, 4, 7, 8, 9, *range(11, 18), 19, 28, 36, 37)),
            *(f"NKI-M{number:03}" for number in (52, 53, 56, 57, 58, 59, 61, 62, 67, 68, 72, 74)),
            *("NKI-M076", "NKI-M094"),
            "NKI-M101",
        ),
        on=On.TEXT,
        replayed=COMPILED,
        sources=_SOURCES,
        twins=migration_twins.CALLS,
        failing=_CALL.failing,
        passing=_CALL.passing,
    )
)

_MEANING = variants(
    """\
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def shuffled(x):
    assert x.shape == (96, 640)
    out = nl.ndarray((96, 640), dtype=x.dtype, buffer=nl.shared_hbm)
    rows = nl.load(x)
    more = nl.ndarray((96, 640), dtype=x.dtype, buffer=nl.sbuf)
-    nisa.nc_stream_shuffle(rows, more, [31] + list(range(31)))
+    nisa.nc_stream_shuffle(src=rows, dst=more, shuffle_mask=[31] + list(range(31)))
    nl.store(out, more)
    return out
"""
)
register(
    Rule(
        id="migrate-meaning",
        code="NKI493",
        family="migration",
        summary="a later generation means the same by a call",
        reason=(
            "Where parameters traded places, a default is another one, or an engine that was asked "
            "for in vain is heeded, the later generation takes the call and does something else: "
            "nobody is told."
        ),
        facts=tuple(f"NKI-M{number:03}" for number in (10, 31, 33, 55, 71, 75, 98)),
        on=On.TEXT,
        silent=True,
        replayed=COMPILED,
        sources=_SOURCES,
        twins=migration_twins.MEANINGS,
        failing=_MEANING.failing,
        passing=_MEANING.passing,
    )
)

_PYTHON = variants(
    """\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
-def copied(x, *, width=640):
+def copied(x, width=640):
    assert x.shape == (96, 640) and width == 640
    out = nl.ndarray((96, width), dtype=x.dtype, buffer=nl.shared_hbm)
    rows = nl.ndarray((96, width), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=rows, src=x)
    nisa.dma_copy(dst=out, src=rows)
    return out
"""
)
register(
    Rule(
        id="migrate-python",
        code="NKI494",
        family="migration",
        summary="the front end of a later generation reads the Python around the calls",
        reason=(
            "Operators on tiles, assignments to parts of them, tiles in subscripts and grids of "
            "several dimensions are of Beta 1; later front ends take no `*` in the parameters of a "
            "kernel, no lists as its arguments, no loops on registers."
        ),
        facts=(
            *("NKI-M023", "NKI-M027", "NKI-M029", "NKI-M030", "NKI-M039", "NKI-M040", "NKI-M041"),
            *("NKI-M064", "NKI-M065", "NKI-M066", "NKI-M097", "NKI-M120", "NKI-M131", "NKI-X33"),
            *("NKI-M054", "NKI-M060", "NKI-L55"),
        ),
        on=On.TEXT,
        replayed=COMPILED,
        sources=_SOURCES,
        twins=migration_twins.PYTHON,
        failing=_PYTHON.failing,
        passing=_PYTHON.passing,
    )
)
