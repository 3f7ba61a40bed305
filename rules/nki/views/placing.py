"""Offsets that are known at run time only: what moves an access where only the device knows."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from rules.memory.numbers import Numbers, counted, numbers
from rules.nki import kit
from rules.nki.kit import register
from rules.nki.samples import variants
from verifier.hardware.targets import Target
from verifier.rulebase import Monitor, On, Replayed, Rule
from verifier.symbolic import expr as E
from verifier.symbolic import views
from verifier.symbolic.checks import Check, Note
from verifier.symbolic.effects import Carried, Decides
from verifier.symbolic.instruction import Instruction, Trait
from verifier.symbolic.memory.content import skips
from verifier.symbolic.memory.events import Outside
from verifier.symbolic.memory.index import Index, index
from verifier.symbolic.pretty import pretty
from verifier.symbolic.tensors import Bound, Placed, View
from verifier.symbolic.trace import Operation, Trace


def _stays_inside(trace: Trace, target: Target) -> Iterator[Check]:
    """Where the device says where an access lies, all of it lies in the tensor."""
    table = index(trace)
    for op in trace.operations:
        if skips(op):
            continue
        around = tuple(loop.within for loop in op.loops)
        for placed in _all_placed(op, target):
            for each in _compared(table, op, placed):
                yield replace(each, path=op.path, order=op.order, given=(*each.given, *around))


def _all_placed(op: Operation, target: Target) -> Iterator[Placed]:
    """What numbers in memory place: a view where an access lies, or each element of a gather."""
    for _, view in (*op.reads, *op.writes):
        for placed in view.placed if view.indirect else ():
            index = placed.index
            if placed.every is None and index is not None:
                single = index.elements is E.const(1) or index.elements is view.shape[0]
                placed = replace(placed, every=single and view.mask is E.TRUE)
            yield placed
    if op.instruction is not None and Trait.GATHERS in op.instruction.traits:
        yield from _gathered(op, op.instruction, target)


def _gathered(op: Operation, instruction: Instruction, target: Target) -> Iterator[Placed]:
    """Elements of each partition that numbers in a tile of indices name."""
    reads = instruction.footprint.reads
    data, index = (
        next((op.view(read.role) for read in reads if isinstance(read.fate, fate)), None)
        for fate in (Carried, Decides)
    )
    if data is None or index is None:
        return
    role = next(read.role for read in reads if isinstance(read.fate, Decides))
    text, span = f"index into `{data.name}`", op.span_of(role)
    width = op.operands.get("num_elem_per_idx")
    given = E.const(1) if width is None else kit.as_expr(op.value("num_elem_per_idx"))
    if given is None:
        yield Placed(index, None, (), text, span)
        return
    where = f"the {pretty(data.free)} elements of a partition of `{data.name}`"
    facts = ("NKI-NGA04",) if given is E.const(1) else ("NKI-LGA07",)
    every = index.mask is E.TRUE and _each_is_used(op, index, target.core_partitions)
    yield views.within(index, given, data.free, where, text, span, facts, every=every)


def _each_is_used(op: Operation, index: View, cores: int) -> bool:
    """Whether no index of a gather is left out, by a count of those that are valid."""
    counted = op.operands.get("num_valid_indices")
    if counted is None or counted.value is None:
        return True
    valid = kit.as_expr(op.value("num_valid_indices"))
    return valid is not None and valid * index.partitions is index.elements * cores


def _compared(table: Index, op: Operation, placed: Placed) -> Iterator[Check]:
    """What numbers in memory say that a kernel has put there, and what its caller answers for."""
    stated = set()
    held = [counted(table, op, placed.span)]
    if placed.index is not None:
        held = numbers(table, placed.index, op)
    for found in held:
        if found.caller or found.value is None or placed.symbol is None or not placed.bounds:
            about = (found.caller, found.reason)
            if about not in stated:
                stated.add(about)
                yield _open(placed, found)
            continue
        for bound in placed.bounds:
            yield _in_bounds(placed, found, bound)


def _in_bounds(placed: Placed, found: Numbers, bound: Bound) -> Check:
    """A bound, with a number of the kernel's in the place of the symbol for it."""
    assert placed.symbol is not None and placed.index is not None and found.value is not None
    put, index = E.Substitution({placed.symbol: found.value}), placed.index
    exact = found.exact and placed.every is True
    return Check(
        predicate=put.bool(bound.predicate),
        span=bound.span,
        text=bound.text,
        message=bound.message,
        facts=("NKI-X49", *(fact for fact in bound.facts if fact != "NKI-X49")),
        given=found.within,
        values=tuple((text, put.expr(term)) for text, term in bound.values),
        notes=(Note(found.span, f"`{index.name}` gets its number here"),),
        exact=exact,
        reason="" if exact else f"what `{index.name}` holds is known in part",
    )


def _open(placed: Placed, found: Numbers) -> Check:
    """Numbers that nobody can compare: a caller's are taken to be right, a kernel's are not."""
    reason = found.reason or "how the number places it is not followed"
    return Check(
        predicate=E.FALSE,
        span=placed.span,
        text=f"{placed.text} stays inside",
        message=f"{placed.text} may leave it",
        facts=("NKI-X49",),
        exact=False,
        reason="" if found.caller else reason,
        runtime=f"{placed.text}: taken to stay inside" if found.caller else "",
    )


def outside(event: Outside, target: Target) -> Iterator[Check]:
    """An index of a run names no element, and nothing says that a DMA skips it."""
    yield Check(
        predicate=E.FALSE,
        span=event.span,
        text="every index that is known at run time only names an element",
        message=event.what,
        facts=("NKI-D11", "NKI-X09", "NKI-X49"),
        notes=(Note(event.allocated, f"`{event.name}` is allocated here"),),
    )


_PLACED = variants(
    """\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def every_fourth_row(x):
    assert x.shape == (192, 40)
    out = nl.ndarray((48, 40), dtype=x.dtype, buffer=nl.shared_hbm)
    rows = nl.ndarray((48, 1), dtype=nl.int32, buffer=nl.sbuf)
-    nisa.iota(dst=rows, pattern=[[1, 1]], offset=4, channel_multiplier=4)
+    nisa.iota(dst=rows, pattern=[[1, 1]], offset=3, channel_multiplier=4)
    tile = nl.ndarray((48, 40), dtype=x.dtype, buffer=nl.sbuf)
    picked = x.ap([[40, 48], [1, 40]], offset=0, vector_offset=rows, indirect_dim=0)
    nisa.dma_copy(dst=tile, src=picked)
    nisa.dma_copy(dst=out, src=tile)
    return out
"""
)


register(
    Rule(
        id="own-offset-bounds",
        code="NKI265",
        family="views",
        summary="numbers in registers and tiles that place an access keep it inside its tensor",
        reason=(
            "The device does not clamp offsets that come from registers or tiles of indices. What "
            "the kernel itself puts there is compared with the tensor; what it hands on from its "
            "caller is taken to stay inside, and the report says so."
        ),
        facts=("X49", "D11", "LGA07", "NGA04"),
        on=On.TRACE,
        check=_stays_inside,
        monitors=(Monitor(Outside, outside),),
        replayed=Replayed(whole=True, numbers=True),
        sources=("NKI access pattern reference, dynamic access", "NKI ISA dma_copy, oob_mode"),
        failing=_PLACED.failing,
        passing=_PLACED.passing,
    )
)
