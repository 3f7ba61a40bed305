"""Memories and element types of products of matrices."""

from __future__ import annotations

from collections.abc import Iterator

from rules.nki import kinds, kit
from rules.nki.kit import check, register
from rules.nki.matmul.calls import transposes
from rules.nki.samples import variants
from verifier.hardware import dtypes as dt
from verifier.hardware.capabilities import Capability
from verifier.hardware.memories import Buffer
from verifier.hardware.targets import Target
from verifier.rulebase import On, Rule
from verifier.symbolic import expr as E
from verifier.symbolic.checks import Check
from verifier.symbolic.tensors import DType, StorageKind
from verifier.symbolic.trace import Operation


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
        # where a call returns its result, the compiler copies it on for the next one
        returned = view.buffer is Buffer.PSUM and view.storage.kind is StorageKind.RESULT
        copied = role != "dst" and returned and op.generation.fits_tiles
        found = kit.buffer_check(
            op,
            role,
            view,
            memories.buffers,
            message,
            *memories.facts,
            help=(help,),
            severity="note" if copied else None,
        )
        if found is not None:
            yield found


_MATMUL_OPERAND_BUFFERS = variants(
    """\
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
+    product = nl.ndarray((80, 200), dtype=nl.float32, buffer=nl.psum)
+    nisa.nc_matmul(dst=product, stationary=w, moving=a)
    result = nl.ndarray((80, 200), dtype=nl.float32, buffer=nl.sbuf)
-    nisa.nc_matmul(dst=result, stationary=w, moving=a)
+    nisa.tensor_copy(dst=result, src=product)
    nisa.dma_copy(dst=out, src=result)
    return out
"""
)


register(
    Rule(
        id="matmul-operand-buffers",
        code="NKI201",
        family="matmul",
        summary="a matmul reads SBUF and writes PSUM",
        reason=(
            "The Tensor Engine's input ports lead to SBUF and its output port to PSUM, where a "
            "read-add-write unit accumulates. There is no path from HBM or PSUM into the array, "
            "and none from the array to SBUF. What a call of Beta 1 returns in PSUM its compiler "
            "copies to SBUF for the next one: that is a note."
        ),
        facts=("MMU01", "BUF01", "MMX02", "BUF02"),
        on=On.OPERATION,
        concerns=kit.multiplies,
        check=_buffers,
        sources=("NKI ISA nc_matmul, memory types", "NKI ISA nc_matmul_mx, memory types"),
        failing=_MATMUL_OPERAND_BUFFERS.failing,
        passing=_MATMUL_OPERAND_BUFFERS.passing,
    )
)


def _result_dtype(op: Operation, target: Target) -> Iterator[Check]:
    dst = op.view("dst")
    if dst is None or op.generation.fits_tiles or transposes(op) is E.TRUE:
        return
    if target.has(Capability.BFLOAT16_SUMS):
        allowed, fact, words = kit.FP32 | kit.BF16, "MMU08", "float32 or bfloat16"
    else:
        allowed, fact, words = kit.FP32, "MMU07", "float32"
    yield check(
        op,
        "dst",
        E.or_(transposes(op), dst.dtype.among(allowed)),
        f"dtype of dst is {words} (it is {kit.dtype_words(dst.dtype)})",
        f"{target.name} cannot write matmul results as {kit.dtype_words(dst.dtype)}",
        fact,
        help=("multiply into a float32 PSUM tile and cast when copying it out",),
    )


_MATMUL_RESULT_DTYPE = variants(
    """\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
-def half_precision_sum(left_t, right):
+def single_precision_sum(left_t, right):
    assert left_t.shape == (64, 96) and right.shape == (64, 128)
    out = nl.ndarray((96, 128), dtype=nl.bfloat16, buffer=nl.shared_hbm)
    a = nl.ndarray((64, 96), dtype=nl.bfloat16, buffer=nl.sbuf)
    b = nl.ndarray((64, 128), dtype=nl.bfloat16, buffer=nl.sbuf)
    nisa.dma_copy(dst=a, src=left_t)
    nisa.dma_copy(dst=b, src=right)
-    acc = nl.ndarray((96, 128), dtype=nl.float16, buffer=nl.psum)
+    acc = nl.ndarray((96, 128), dtype=nl.float32, buffer=nl.psum)
    nisa.nc_matmul(dst=acc, stationary=a, moving=b)
    held = nl.ndarray((96, 128), dtype=nl.bfloat16, buffer=nl.sbuf)
    nisa.tensor_copy(dst=held, src=acc)
    nisa.dma_copy(dst=out, src=held)
    return out
"""
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
        on=On.OPERATION,
        concerns=kinds.MULTIPLIES,
        check=_result_dtype,
        sources=("NKI ISA nc_matmul, data types",),
        failing=_MATMUL_RESULT_DTYPE.failing,
        passing=_MATMUL_RESULT_DTYPE.passing,
    )
)


def _dtypes(op: Operation, target: Target) -> Iterator[Check]:
    factors = kit.described(op).factors
    if factors is None or kit.made_as_needed(op):
        return
    views = {role: op.view(role) for role in factors}
    allowed = kit.F8_LEGACY | kit.HALF | kit.F32
    there = target.has(Capability.OCP_FLOAT8)
    if there and op.generation.multiplies_ocp:
        allowed |= kit.F8_OCP
    by = f"Tensor Engine of {target.name}" if not there else "matmul of this generation"
    for role, view in views.items():
        if view is not None:
            yield check(
                op,
                role,
                view.dtype.among(allowed),
                f"dtype of {role} is one the array multiplies (it is "
                f"{kit.dtype_words(view.dtype)})",
                f"the {by} cannot multiply {role} as {kit.dtype_words(view.dtype)}",
                "MMU09",
                *(() if not there or op.generation.multiplies_ocp else ("H84", "M104")),
            )
    one, other = (views[role] for role in factors)
    if one is not None and other is not None:
        yield from _meeting(op, factors, one.dtype, other.dtype, target)


def _meeting(
    op: Operation, factors: tuple[str, str], one: DType, other: DType, target: Target
) -> Iterator[Check]:
    """The two element types go together in one product."""
    left, right = one.among(kit.F32), other.among(kit.F32)
    names = f"{kit.dtype_words(one)} and {kit.dtype_words(other)}"
    yield check(
        op,
        factors[1],
        E.and_(E.implies(left, right), E.implies(right, left)),
        f"{factors[0]} and {factors[1]} are both float32 or neither is (they are {names})",
        "a float32 operand meets one of another precision",
        "MMU10",
        "T06",
        about=factors,
        help=("cast one operand so that both are float32, or neither is",),
    )
    if target.has(Capability.OCP_FLOAT8):
        legacy = dt.codes("float8_e4m3")
        mixed = E.or_(
            E.and_(one.among(legacy), other.among(kit.F8_OCP)),
            E.and_(other.among(legacy), one.among(kit.F8_OCP)),
        )
        yield check(
            op,
            factors[1],
            E.not_(mixed),
            f"float8_e4m3 and float8_e4m3fn do not meet (they are {names})",
            "the two float8 e4m3 formats meet in one matmul",
            "MMU11",
            "T05",
            about=factors,
        )


_MATMUL_DTYPES = variants(
    """\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
-def mixed_precision(left_t, right):
+def one_precision(left_t, right):
    assert left_t.shape == (80, 40) and right.shape == (80, 500)
    out = nl.ndarray((40, 500), dtype=nl.float32, buffer=nl.shared_hbm)
-    a = nl.ndarray((80, 40), dtype=nl.float32, buffer=nl.sbuf)
+    a = nl.ndarray((80, 40), dtype=nl.float16, buffer=nl.sbuf)
    b = nl.ndarray((80, 500), dtype=nl.bfloat16, buffer=nl.sbuf)
    nisa.dma_copy(dst=a, src=left_t)
    nisa.dma_copy(dst=b, src=right)
    acc = nl.ndarray((40, 500), dtype=nl.float32, buffer=nl.psum)
    nisa.nc_matmul(dst=acc, stationary=a, moving=b)
    held = nl.ndarray((40, 500), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_copy(dst=held, src=acc)
    nisa.dma_copy(dst=out, src=held)
    return out
"""
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
            "does not meet its older namesake in one instruction. nl.matmul is such a product from "
            "NKI 0.3 on; the compiler of Beta 1 makes of it what its operands need."
        ),
        facts=("MMU09", "MMU10", "MMU11", "T05", "T06", "H84", "M104"),
        on=On.OPERATION,
        concerns=lambda instruction: instruction.factors is not None,
        check=_dtypes,
        sources=("NKI ISA nc_matmul, data types",),
        failing=_MATMUL_DTYPES.failing,
        passing=_MATMUL_DTYPES.passing,
    )
)
