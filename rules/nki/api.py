"""Calls that the API generation of the file does not have, or does not have in this form.

The dialect raises both rules when it binds a call: their predicate is false, so they fail wherever
the call is reached.
"""

from __future__ import annotations

from rules.beta1 import TWINS
from rules.nki import twins
from rules.nki.samples import variants
from verifier.rulebase import COMPILED, On, Rule, register

_API_SIGNATURE = variants(
    """\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def largest_of_rows(x):
    assert x.shape == (96, 640)
    assert x.dtype == nl.bfloat16
    out = nl.ndarray((96, 1), dtype=x.dtype, buffer=nl.shared_hbm)
    rows = nl.ndarray((96, 640), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=rows, src=x)
    largest = nl.ndarray((96, 1), dtype=x.dtype, buffer=nl.sbuf)
-    nisa.tensor_reduce(dst=largest, op=nl.maximum, data=rows, axis=1, keep_dims=True)
+    nisa.tensor_reduce(dst=largest, op=nl.maximum, data=rows, axis=1, keepdims=True)
    nisa.dma_copy(dst=out, src=largest)
    return out
"""
)
register(
    Rule(
        id="api-signature",
        code="NKI191",
        family="api",
        summary="a call of the NKI API fits the function's parameters in this API generation",
        reason=(
            "Parameters come and go between generations of NKI: instructions take their "
            "destination first since 0.2 and lost `dtype=` and `mask=` with it, `dma_copy` lost "
            "`dst_rmw_op` in 0.3, `nc_matmul` gained `accumulate`. A keyword that a function does "
            "not know was dropped silently up to SDK 2.27 and is an error since, and a positional "
            "argument lands in whatever parameter is now at its place."
        ),
        facts=(
            "N01",
            "N02",
            "N03",
            "N05",
            "N09",
            "N13",
            "TSC02",
            "L46",
            "L02",
            "L35",
            "L67",
            "K10",
            "K13",
            "K15",
            "MMU23",
            "NZC05",
            "REG01",
            "AFS03",
            "DCM10",
            "MST01",
            "T01",
            "L71",
            "M067",
            "TRN09",
            "SHF06",
            "DCP10",
            "OLD04",
            "L11",
            "K11",
            "M002",
            "M003",
            "M004",
            "M020",
            "M027",
            "M031",
            "M053",
            "M061",
            "M062",
            "M072",
            "M074",
            "M094",
        ),
        on=On.HOST,
        unreached=True,
        sources=("NKI ISA reference", "NKI migration guides 0.2 to 0.6"),
        twins=twins.SIGNATURE,
        failing=_API_SIGNATURE.failing,
        passing=_API_SIGNATURE.passing,
    )
)

_API_REMOVED = variants(
    """\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def doubled(x):
    assert x.shape == (64, 320)
    assert x.dtype == nl.float32
    out = nl.ndarray((64, 320), dtype=x.dtype, buffer=nl.shared_hbm)
    rows = nl.ndarray((64, 320), dtype=x.dtype, buffer=nl.sbuf)
-    each = nl.arange(64)
+    each = nl.ds(0, 64)
    nisa.dma_copy(dst=rows, src=x[each, 0:320])
    twice = nl.ndarray((64, 320), dtype=x.dtype, buffer=nl.sbuf)
    nisa.tensor_tensor(dst=twice, data1=rows, data2=rows, op=nl.add)
    nisa.dma_copy(dst=out, src=twice)
    return out
"""
)
register(
    Rule(
        id="api-removed",
        code="NKI192",
        family="api",
        summary="a name of the NKI API exists in this API generation",
        reason=(
            "Beta 1's index arrays, `nki.compiler` and most of its `nki.language` functions are "
            "gone from the `nki` namespace, and from 0.3 on `par_dim`; part of the functions came "
            "back in 0.3 in another form, `tensor_copy_dynamic_src` and `neuronxcc.nki` itself "
            "ended with 0.4. A name used before the generation that introduced it fails in the "
            "same way, be it a method of tensors."
        ),
        facts=(
            "L22",
            "L54",
            "L55",
            "G42",
            "T08",
            "M001",
            "M032",
            "M021",
            "M005",
            "M006",
            "M023",
            "M024",
            "M025",
            "M069",
            "M079",
            "M091",
            "M092",
            "OLD01",
            "OLD02",
            "X73",
            "G12",
            "M039",
            "M104",
            "M138",
            "M113",
            "M114",
        ),
        on=On.HOST,
        unreached=True,
        sources=("NKI migration guides 0.2 to 0.6", "NKI release notes"),
        failing=_API_REMOVED.failing,
        passing=_API_REMOVED.passing,
    )
)

_DEVICE_CONDITION = variants(
    """\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def clipped(x):
    assert x.shape == (80, 360)
    assert x.dtype == nl.float32
    out = nl.ndarray((80, 360), dtype=x.dtype, buffer=nl.shared_hbm)
    rows = nl.ndarray((80, 360), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=rows, src=x)
-    if rows[0, 0] > 0:
-        nisa.tensor_scalar(dst=rows, data=rows, op0=nl.minimum, operand0=6.0)
+    nisa.tensor_scalar(dst=rows, data=rows, op0=nl.minimum, operand0=6.0)
    nisa.dma_copy(dst=out, src=rows)
    return out
"""
)
register(
    Rule(
        id="device-condition",
        code="NKI193",
        family="api",
        summary="what decides on the host is known when the kernel is traced",
        reason=(
            "A kernel is traced once, before there is any data: an `if`, `and`, `not`, `int()` or "
            "`range()` of a tile, a register or the index of a loop on the device has nothing to "
            "ask. The front end raises TypeError; where it does not, one branch is compiled "
            "whatever the data is. Only loops can depend on data."
        ),
        facts=("G37", "G38", "G39", "G49", "REG07", "X66", "E05", "E10", "E12", "E36"),
        on=On.HOST,
        replayed=COMPILED,
        sources=("NKI language guide", "NKI ISA VirtualRegister", "NKI Beta 1 errors"),
        twins=TWINS["device-condition"],
        failing=_DEVICE_CONDITION.failing,
        passing=_DEVICE_CONDITION.passing,
    )
)

_PYTHON_SUBSET = variants(
    """\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def halved(x, twice=True):
    assert x.shape == (80, 360)
    out = nl.ndarray((80, 360), dtype=x.dtype, buffer=nl.shared_hbm)
    rows = nl.ndarray((80, 360), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=rows, src=x)
-    if twice is True:
+    if twice == True:
        nisa.tensor_scalar(dst=rows, data=rows, op0=nl.multiply, operand0=0.5)
    nisa.dma_copy(dst=out, src=rows)
    return out
"""
)
register(
    Rule(
        id="python-subset",
        code="NKI194",
        family="api",
        summary="a kernel is written in the Python that its compiler reads",
        reason=(
            "Since NKI 0.2 a compiler reads the text of kernels and of the functions that they "
            "call: classes are objects of NKI's, dictionaries have texts as keys, and kernels "
            "of 0.2 call no kernels. Since 0.3 it takes no `*` in a signature, no lists as "
            "arguments, and `==` in place of `is`, but for `is None` and `is not None`, which "
            "released kernels of every version are full of: these are let pass. CPython runs "
            "all of it, and so does the simulator."
        ),
        facts=(
            "G30",
            "G31",
            "G32",
            "G33",
            "G34",
            "G35",
            "G41",
            "G44",
            "G46",
            "G47",
            "G48",
            "N12",
            "G36",
            "G40",
            "L77",
        ),
        on=On.HOST,
        replayed=COMPILED,
        sources=("NKI language guide", "NKI migration guides 0.2 and 0.3"),
        twins=twins.PYTHON_SUBSET,
        failing=_PYTHON_SUBSET.failing,
        passing=_PYTHON_SUBSET.passing,
    )
)
