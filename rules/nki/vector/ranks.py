"""Ranks that an instruction demands, and transpositions by `nki.language`."""

from __future__ import annotations

from collections.abc import Iterator

from rules.beta1 import TWINS
from rules.nki import kinds, kit
from rules.nki.kit import check, register
from rules.nki.samples import variants
from verifier.hardware.memories import Buffer
from verifier.hardware.targets import Target
from verifier.rulebase import On, Rule
from verifier.symbolic import expr as E
from verifier.symbolic.checks import Check
from verifier.symbolic.instruction import Trait
from verifier.symbolic.trace import Operation


def _rank(op: Operation, target: Target) -> Iterator[Check]:
    for described in kit.described(op).roles:
        role, view = described.name, op.view(described.name)
        limit = kit.in_force(op, described.rank)
        if limit is None or view is None:
            continue
        short, exact = kit.described(op).short, limit.least == limit.most
        yield check(
            op,
            role,
            limit.holds(E.const(view.rank)),
            f"rank of {role} {'==' if exact else '<='} {limit.most}",
            f"{short} takes two-dimensional {role}"
            if exact
            else f"{role} has too many dimensions for {short}",
            limit.fact,
            values=((f"rank of {role}", E.const(view.rank)),),
        )


_OPERAND_RANK = variants(
    """\
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def fused(x, y):
-    assert x.shape == (128, 6, 20) and y.shape == (128, 6, 20)
-    out = nl.ndarray((128, 6, 20), dtype=nl.float32, buffer=nl.shared_hbm)
+    assert x.shape == (128, 120) and y.shape == (128, 120)
+    out = nl.ndarray((128, 120), dtype=nl.float32, buffer=nl.shared_hbm)
    a = nl.load(x)
    b = nl.load(y)
    both = nisa.scalar_tensor_tensor(
        data=a, op0=nl.multiply, operand0=3.0, op1=nl.add, operand1=b
    )
    nl.store(out, both)
    return out
"""
)


register(
    Rule(
        id="operand-rank",
        code="NKI628",
        family="vector",
        summary="operands have no more dimensions than the instruction encodes",
        reason=(
            "Some instructions spend so many bits on their arguments that fewer dimensions of the "
            "access pattern are left: exponential has three free ones, scalar_tensor_tensor had "
            "one in Beta 1."
        ),
        facts=("A08", "STT05"),
        on=On.OPERATION,
        concerns=lambda i: any(r.rank for r in i.roles) and not kinds.searches(i),
        check=_rank,
        of_rank=True,
        sources=("NKI ISA exponential", "Beta 1 scalar_tensor_tensor"),
        failing=_OPERAND_RANK.failing,
        passing=_OPERAND_RANK.passing,
    )
)


def _language_transpose(op: Operation, target: Target) -> Iterator[Check]:
    x = op.view("x")
    if x is None:
        return
    limit = target.stationary_free_max
    yield check(
        op,
        "x",
        E.and_(E.truth(x.rank == 2), E.le(x.partitions, limit), E.le(x.free, limit)),
        f"x is two-dimensional, at most {limit} by {limit}",
        "the tile is too large for nl.transpose",
        "L29",
        values=(("partitions of x", x.partitions), ("x free size", x.free)),
        help=(f"transpose blocks of {limit} by {limit}",),
    )
    if x.buffer is Buffer.PSUM and not op.generation.fits_tiles:
        most = target.transpose_vector_max
        yield check(
            op,
            "x",
            E.and_(E.le(x.partitions, most), E.le(x.free, most)),
            f"x is in SBUF, or at most {most} by {most}",
            "the Tensor Engine cannot read x in PSUM, and for the Vector Engine it is too large",
            "TRN04",
            "TRN03",
            values=(("partitions of x", x.partitions), ("x free size", x.free)),
            help=("copy x to SBUF with nisa.tensor_copy first",),
            severity="warning",
        )


register(
    Rule(
        id="language-transpose",
        code="NKI629",
        family="vector",
        summary="nl.transpose takes a tile of at most 128 by 128",
        reason=(
            "nl.transpose is one pass through the Tensor Engine's array of 128 by 128 processing "
            "elements, which reads SBUF only. The Vector Engine could transpose blocks of 32 by 32 "
            "in PSUM."
        ),
        facts=("L29", "TRN03", "TRN04"),
        on=On.OPERATION,
        concerns=kinds.with_traits(Trait.TURNS, Trait.LANGUAGE, but=(Trait.DMA,)),
        check=_language_transpose,
        sources=("NKI language transpose",),
        twins=TWINS["language-transpose"],
        failing="""\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def turn(x):
    assert x.shape == (64, 5, 12)
    out = nl.ndarray((60, 64), dtype=x.dtype, buffer=nl.shared_hbm)
    nl.store(out, nl.transpose(nl.load(x)))
    return out
""",
        passing="""\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def turn(x):
    assert x.shape == (64, 160)
    out = nl.ndarray((160, 64), dtype=x.dtype, buffer=nl.shared_hbm)
    for part in nl.affine_range(2):
        turned = nl.transpose(nl.load(x[:, nl.ds(part * 80, 80)]))
        nl.store(out[nl.ds(part * 80, 80), :], turned)
    return out
""",
    )
)
