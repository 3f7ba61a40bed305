"""How a transfer is described: who makes descriptors, priorities, indices out of range."""

from __future__ import annotations

from collections.abc import Iterator

from rules.nki import kinds, kit, twins
from rules.nki.kit import check, register
from rules.nki.samples import variants
from verifier.hardware.capabilities import Capability
from verifier.hardware.engines import Engine
from verifier.hardware.memories import Buffer
from verifier.hardware.targets import Target, needing
from verifier.rulebase import On, Rule
from verifier.symbolic import expr as E
from verifier.symbolic.checks import Check
from verifier.symbolic.memory.content import skips
from verifier.symbolic.tensors import View
from verifier.symbolic.trace import Operation


def _dge_mode(op: Operation, target: Target) -> Iterator[Check]:
    mode = kit.choice(op.value("dge_mode"))
    if mode is None and "dge_mode" in op.operands:
        return
    indirect = [role for role in ("dst", "src") if (v := op.view(role)) is not None and v.indirect]
    if mode == "hwdge":
        yield check(
            op,
            "dge_mode",
            E.truth(target.has(Capability.HARDWARE_DESCRIPTORS)),
            f"the target is {needing(Capability.HARDWARE_DESCRIPTORS)} (it is {target.name})",
            f"{target.name} has no hardware descriptor engine",
            "D03",
            "H74",
            about=(),
        )
    yield from _addresses(op, mode, indirect, target)
    trigger = kit.engine(op)
    if trigger not in (None, Engine.UNKNOWN):
        yield check(
            op,
            "engine",
            E.truth(trigger in (Engine.SYNC, Engine.SCALAR) and mode == "hwdge"),
            "engine is sync or scalar, with dge_mode hwdge",
            f"engine {trigger.value} cannot trigger this DMA",
            "D05",
            about=(),
            help=("an engine is chosen together with dge_mode=nisa.dge_mode.hwdge only",),
        )


def _addresses(
    op: Operation, mode: str | None, indirect: list[str], target: Target
) -> Iterator[Check]:
    """Addresses that are known at run time only, by a scalar or one for each row."""
    gathered = [role for role in indirect if _gathers(op.view(role))]
    if mode in ("hwdge", "none") and gathered:
        yield check(
            op,
            "dge_mode",
            E.FALSE,
            "gather and scatter use dge_mode unknown or swdge",
            f"dge_mode {mode} cannot gather or scatter",
            *(("D06", "D08") if mode == "hwdge" else ("D06", "D07")),
            about=tuple(gathered),
            help=("leave dge_mode open, or use nisa.dge_mode.swdge",),
        )
    elif mode == "none" and indirect:
        # whether a scalar offset is one that is excluded is an open question (NKI-OQ05)
        yield check(
            op,
            "dge_mode",
            E.FALSE,
            "addresses that are known at run time use another dge_mode than none",
            "dge_mode none cannot follow an address that is known at run time only",
            "D07",
            about=tuple(indirect),
            severity="warning",
        )
    for role in gathered:
        yield check(
            op,
            role,
            E.truth(target.has(Capability.INDIRECT_DMA)),
            f"the target is {needing(Capability.INDIRECT_DMA)} (it is {target.name})",
            f"DMA of {target.name} cannot gather or scatter by an index",
            "H75",
            about=(),
        )
    yield from _apart(op, "dge_mode", mode)
    yield from _gathered_from(op, gathered)


def _apart(op: Operation, role: str, choice: str | None) -> Iterator[Check]:
    """Parameters that are not given where another one is a certain choice."""
    for each in kit.described(op).roles:
        against = each.against
        if against is None or against.role != role or against.choice != choice:
            continue
        later = bool(against.until) and op.generation.at_least(against.until)
        until = f" before NKI {against.until}" if against.until else ""
        yield check(
            op,
            role,
            E.truth(later or kit.is_absent(op, each.name)),
            f"a DMA with {each.name} has another {role} than {choice}",
            f"{role} {choice} takes no {each.name}{until}",
            against.fact,
            about=(),
        )


def _gathers(view: View | None) -> bool:
    return view is not None and view.rows_from is not None


def _gathered_from(op: Operation, gathered: list[str]) -> Iterator[Check]:
    """Rows are gathered from HBM, and scattered to it."""
    for role in gathered:
        view = op.view(role)
        assert view is not None
        outside = kit.buffer_check(
            op,
            role,
            view,
            (Buffer.HBM, Buffer.SHARED_HBM),
            f"{role} is indexed row by row on chip, which DMA does in HBM only",
            "DCP05",
        )
        if outside is not None:
            yield outside


_DGE_MODE = variants(
    """\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
-def vector_queue(x):
+def scalar_queue(x):
    assert x.shape == (80, 512)
    out = nl.ndarray((80, 512), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray((80, 512), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(
-        dst=tile, src=x, dge_mode=nisa.dge_mode.hwdge, engine=nisa.engine.vector
+        dst=tile, src=x, dge_mode=nisa.dge_mode.hwdge, engine=nisa.engine.scalar
    )
    nisa.dma_copy(dst=out, src=tile)
    return out
"""
)


register(
    Rule(
        id="dge-mode",
        code="NKI505",
        family="dma",
        summary="the way descriptors are generated can do what the copy asks for",
        reason=(
            "Descriptors are computed ahead of time, by software on the GpSimd, or by hardware "
            "triggered from the Sync or Scalar engine (trn2 and newer). Only software can follow "
            "an index per row, and only the hardware way lets the call choose an engine."
        ),
        facts=("D03", "D05", "D06", "D07", "D08", "H74", "H75", "DCP04", "DCP05", "D09"),
        on=On.OPERATION,
        concerns=kinds.both(kinds.by_dma, kinds.moves),
        check=_dge_mode,
        sources=("NKI ISA dma_copy", "NKI descriptor generation guide"),
        twins=twins.DGE_MODE,
        failing=_DGE_MODE.failing,
        passing=_DGE_MODE.passing,
    )
)


def _dma_priority(op: Operation, target: Target) -> Iterator[Check]:
    value = op.value("priority")
    level = kit.as_expr(value)
    if level is None:
        return
    limit = kit.value_limit(op, "priority")
    if limit is None:
        return
    yield check(
        op,
        "priority",
        limit.holds(level),
        f"{limit.least} <= priority <= {limit.most}",
        "there is no such DMA priority",
        limit.fact,
        values=(("priority", level),),
        about=(),
    )
    yield check(
        op,
        "priority",
        E.truth(target.has(Capability.DMA_PRIORITIES)),
        f"the target is {needing(Capability.DMA_PRIORITIES)} (it is {target.name})",
        f"{target.name} has no DMA priorities",
        limit.fact,
        "H88",
        about=(),
        help=("leave priority out",),
    )


_DMA_PRIORITY = variants(
    """\
# target: trn3
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def urgent(x):
    assert x.shape == (128, 700)
    out = nl.ndarray((128, 700), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray((128, 700), dtype=x.dtype, buffer=nl.sbuf)
-    nisa.dma_copy(dst=tile, src=x, priority=4)
+    nisa.dma_copy(dst=tile, src=x, priority=0)
    nisa.dma_copy(dst=out, src=tile)
    return out
"""
)


register(
    Rule(
        id="dma-priority",
        code="NKI506",
        family="dma",
        summary="DMA priorities are 0 to 3, on trn3 and newer",
        reason=(
            "The DMA engines of the fourth generation sort traffic into four classes, 0 being the "
            "highest. Earlier engines have a single one."
        ),
        facts=("D09", "K12", "H88"),
        on=On.OPERATION,
        concerns=kinds.taking("priority"),
        check=_dma_priority,
        sources=("NKI ISA dma_copy", "Trainium3 architecture, DMA traffic shaping"),
        failing=_DMA_PRIORITY.failing,
        passing=_DMA_PRIORITY.passing,
    )
)


def _oob_mode(op: Operation, target: Target) -> Iterator[Check]:
    yield from _apart(op, "oob_mode", kit.choice(op.value("oob_mode")))
    described = kit.described(op).skips
    if described is None or not skips(op):
        return
    value = op.value("srcs")
    sources = value if isinstance(value, tuple) else (op.view("src"),)
    views = [view for view in (op.view("dst"), *sources) if isinstance(view, View)]
    if not views:
        return
    yield check(
        op,
        "oob_mode",
        E.truth(any(view.indirect for view in views)),
        "an operand is addressed at run time",
        "oob_mode skip has nothing to skip: every address of this DMA is static",
        described.fact,
        about=(),
        severity="note" if described.advice else None,  # nothing is skipped then
    )


_OOB_MODE = variants(
    """\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
-def lenient(x):
+def strict(x):
    assert x.shape == (64, 130)
    out = nl.ndarray((64, 130), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray((64, 130), dtype=x.dtype, buffer=nl.sbuf)
-    nisa.dma_copy(dst=tile, src=x, oob_mode=nisa.oob_mode.skip)
+    nisa.dma_copy(dst=tile, src=x, oob_mode=nisa.oob_mode.error)
    nisa.dma_copy(dst=out, src=tile)
    return out
"""
)


register(
    Rule(
        id="oob-mode",
        code="NKI507",
        family="dma",
        summary="oob_mode skip goes with addresses that are known at run time only",
        reason=(
            "Skipping elements whose address is out of range is a feature of indirect accesses. "
            "On static addresses it hides a mistake that could be found before running."
        ),
        facts=("OLD04",),
        on=On.OPERATION,
        enforces=lambda i: (i.skips.fact,) if i.skips is not None else (),
        check=_oob_mode,
        sources=("NKI ISA dma_transpose", "NKI 0.4 release notes, dma_compute"),
        failing=_OOB_MODE.failing,
        passing=_OOB_MODE.passing,
    )
)
