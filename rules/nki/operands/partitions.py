"""Partitions that operands start at, and step by."""

from __future__ import annotations

from collections.abc import Iterator

from rules.beta1 import TWINS
from rules.nki import kit
from rules.nki.kit import check, register, tiles
from rules.nki.samples import variants
from verifier.hardware.targets import Target
from verifier.rulebase import On, Rule
from verifier.symbolic import expr as E
from verifier.symbolic.checks import Check
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.trace import Operation
from verifier.symbolic.views import partition_position


def start_predicate(start: Expr, count: Expr, target: Target) -> Bool:
    """Whether ``count`` partitions may begin at ``start`` (P04 to P06)."""
    half = target.partitions // 2
    quadrants = range(0, target.partitions, target.quadrant)
    return E.or_(
        E.eq(start, 0),
        E.and_(E.le(count, half), kit.one_of(start, (0, half))),
        E.and_(E.le(count, target.quadrant), kit.one_of(start, quadrants)),
    )


def _start_partition(op: Operation, target: Target) -> Iterator[Check]:
    if not kit.is_compute(op):
        return
    own = {role.name for role in kit.described(op).roles if role.own_start}
    for role, view in tiles(op):
        start = view.start_partition
        if role in own or start is None:
            continue
        count = view.partitions
        values = ((f"start partition of {role}", start), (f"partitions of {role}", count))
        yield check(
            op,
            role,
            start_predicate(start, count, target),
            f"start partition of {role} is 0, "
            f"or {target.partitions // 2} with at most {target.partitions // 2} partitions, "
            f"or a multiple of {target.quadrant} with at most {target.quadrant}",
            f"{role} starts at a partition that an instruction cannot start at",
            "P04",
            "P05",
            "P06",
            values=values,
            views=(view,),
            help=(
                f"start the tile at partition 0, or at a multiple of {target.quadrant} "
                f"with at most {target.quadrant} partitions",
            ),
            severity="warning" if kit.made_as_needed(op) else None,
        )
        yield check(
            op,
            role,
            E.le(start + count, target.partitions),
            f"start partition of {role} + its partitions <= {target.partitions}",
            f"{role} reaches beyond the last partition",
            "P08",
            values=values,
            views=(view,),
            given=(E.le(count, target.partitions),),
        )


register(
    Rule(
        id="start-partition",
        code="NKI101",
        family="operands",
        summary="an operand of an engine instruction starts at a partition the engine can start at",
        reason=(
            "The compute engines reach SBUF and PSUM through lanes that are wired in quadrants of "
            "32 partitions. An operand of more than 64 partitions starts at partition 0, one of 33 "
            "to 64 at 0 or 64, and one of at most 32 at 0, 32, 64 or 96; it never reaches beyond "
            "the last partition. Data moves between partitions only by whole halves or quadrants "
            "for the same reason. DMA is not bound by this."
        ),
        facts=("P04", "P05", "P06", "P08", "P10"),
        on=On.OPERATION,
        check=_start_partition,
        sources=("Trainium/Inferentia2 architecture, Accessing SBUF/PSUM tensors",),
        failing="""\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def lower_rows(x):
    assert x.shape == (48, 640)
    out = nl.ndarray((32, 640), dtype=x.dtype, buffer=nl.shared_hbm)
    rows = nl.ndarray((48, 640), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=rows, src=x)
    lower = nl.ndarray((32, 640), dtype=x.dtype, buffer=nl.sbuf)
    nisa.tensor_copy(dst=lower, src=rows[16:48, :])
    nisa.dma_copy(dst=out, src=lower)
    return out
""",
        passing="""\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def upper_half(x):
    assert x.shape == (96, 320)
    out = nl.ndarray((32, 320), dtype=x.dtype, buffer=nl.shared_hbm)
    rows = nl.ndarray((96, 320), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=rows, src=x)
    upper = nl.ndarray((32, 320), dtype=x.dtype, buffer=nl.sbuf)
    nisa.tensor_copy(dst=upper, src=rows[64:96, :])
    nisa.dma_copy(dst=out, src=upper)
    return out
""",
    )
)


def _partition_step(op: Operation, target: Target) -> Iterator[Check]:
    for role, view in tiles(op):
        position = partition_position(view)
        if position:
            yield check(
                op,
                role,
                E.and_(*(E.eq(size, 1) for size in view.shape[:position])),
                f"the partitions are the first axis of {role}",
                f"{role} has blocks before its partitions",
                "P03",
                "E14",
                views=(view,),
                help=(f"take one block at a time: `{view.name}[i]`",),
            )
            continue
        step = view.partition_step
        if step is None:
            continue
        if view.broadcast and op.generation.fits_tiles:
            continue  # a matmul by ones repeats a row over the partitions
        yield check(
            op,
            role,
            E.or_(E.eq(step, 1), E.eq(view.partitions, 1)),
            f"partition step of {role} == 1",
            f"{role} skips or repeats partitions",
            "P07",
            values=((f"partition step of {role}", step),),
            views=(view,),
            help=("gather the rows with a DMA, or lay the data out so that its rows follow on",),
        )


_PARTITION_STEP = variants(
    """\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def even_rows(table):
    assert table.shape == (64, 96)
    evens = nl.ndarray((32, 96), dtype=table.dtype, buffer=nl.shared_hbm)
-    held = nl.ndarray((64, 96), dtype=table.dtype, buffer=nl.sbuf)
-    nisa.dma_copy(dst=held, src=table)
    picked = nl.ndarray((32, 96), dtype=table.dtype, buffer=nl.sbuf)
-    nisa.tensor_copy(dst=picked, src=held[0:64:2, :])
+    nisa.dma_copy(dst=picked, src=table[0:64:2, :])
    nisa.dma_copy(dst=evens, src=picked)
    return evens
"""
)


register(
    Rule(
        id="partition-step",
        code="NKI102",
        family="operands",
        summary="the partitions of an on-chip operand are consecutive",
        reason=(
            "An access pattern on chip has steps along the free axes only. Along the partition "
            "axis an operand is a start and a count: every lane in between takes part. A stepped "
            "slice of the first axis, or a repeated row, cannot be encoded in an instruction."
        ),
        facts=("P03", "P07", "E14"),
        on=On.OPERATION,
        check=_partition_step,
        sources=("NKI access patterns, Restriction on SBUF/PSUM tensors",),
        twins=TWINS["partition-step"],
        failing=_PARTITION_STEP.failing,
        passing=_PARTITION_STEP.passing,
    )
)
