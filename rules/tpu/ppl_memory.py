"""Memory of PPL kernels: what fits into a lane, what cores and stages of a pipeline share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from msgspec.structs import replace

from rules.memory.capacity import Limit, first_excess, peak_checks, totals
from rules.memory.order import Barriers, Foreign, disordered, reader, reads_of_others
from rules.tpu.ppl_kit import declare, example
from verifier.hardware.chips import Chip
from verifier.hardware.memories import Buffer
from verifier.rulebase import COMPILED, REFUSED, Monitor, On, Replayed, Shown
from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.checks import Check, Note
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.memory.events import (
    CoresMet,
    LanesLived,
    SharedLived,
    StagesShared,
)
from verifier.symbolic.memory.index import index
from verifier.symbolic.memory.lives import crosses_stages, pipelined
from verifier.symbolic.memory.sizes import lane_bytes, whole_bytes
from verifier.symbolic.tensors import StorageKind
from verifier.symbolic.trace import Trace

# ----------------------------------------------------------------------------- capacity


def limit(trace: Trace, chip: Chip, *, settle: bool = True) -> Limit:
    """Local memory as a capacity; blocks that a tiling callback chooses count as 1 if asked to."""
    smallest = {
        symbol: E.const(1)
        for storage in trace.storages
        for size in storage.shape
        for symbol in size.free()
        if settle and symbol.name in trace.chosen
    }
    lanes = _lanes(chip)
    if not smallest:
        return lanes
    note = ", whatever blocks the tiling callback chooses"
    return replace(lanes, settled=E.Substitution(smallest), note=note)


def _lanes(chip: Chip) -> Limit:
    return Limit(
        lambda storage: lane_bytes(chip, storage),
        chip.local_bytes,
        "bytes per lane",
        f"local memory of {chip.name}",
        "PPL-B06",
        "make the blocks smaller; in a pipelined loop what passes between stages exists twice",
        together=True,
    )


def _shared(chip: Chip) -> Limit:
    """The memory that cores share, as a capacity."""
    return Limit(
        whole_bytes,
        chip.l2_bytes,
        "bytes",
        f"L2 memory of {chip.name}",
        "PPL-A07",
        "keep in global memory what does not fit, or share smaller blocks",
        together=True,
    )


def fitting(trace: Trace, chip: Chip) -> tuple[Bool, ...]:
    """What holds of the sizes if the kernel compiles: every peak of local memory fits.

    A peak that never fits is a fault of its own, and must not hide others.
    """
    most = limit(trace, chip, settle=False)
    fits = (E.le(total, most.most) for total in totals(trace, Buffer.LOCAL, most))
    return tuple(fit for fit in fits if fit is not E.FALSE)


def local_capacity(trace: Trace, chip: Chip) -> Iterable[Check]:
    """The peak of live bytes per lane fits."""
    yield from peak_checks(trace, Buffer.LOCAL, limit(trace, chip))


def shared_capacity(trace: Trace, chip: Chip) -> Iterable[Check]:
    """The peak of live bytes fits into the memory that cores share."""
    if chip.l2_bytes:  # see ppl-chip-dtype for chips without
        yield from peak_checks(trace, Buffer.L2, _shared(chip))


def lanes_lived(event: LanesLived, chip: Chip) -> Iterator[Check]:
    """As :func:`local_capacity`, of the tensors of a run."""
    yield from first_excess(event.lives, _lanes(chip))


def lanes_perhaps_lived(event: LanesLived, chip: Chip) -> Iterator[Check]:
    """The same, with uses that the run has not come to."""
    if not any(check.predicate is E.FALSE for check in lanes_lived(event, chip)):
        yield from first_excess(event.at_most, _lanes(chip))


def shared_lived(event: SharedLived, chip: Chip) -> Iterator[Check]:
    """As :func:`shared_capacity`, of the tensors of a run."""
    if chip.l2_bytes:
        yield from first_excess(event.lives, _shared(chip))


# ----------------------------------------------------------------------------- pipelines


def shared_between_stages(trace: Trace, chip: Chip) -> Iterator[Check]:
    """What stages of a pipelined loop hand over is made in the loop."""
    table = index(trace)
    for loop in pipelined(table).values():
        for uses in table.storages:
            storage = uses.storage
            if storage.buffer is not Buffer.LOCAL or loop in storage.loops:
                continue
            inside = [a for a in uses.all if loop in a.operation.loops]
            written = any(a in uses.writes for a in inside)
            if not inside or not written or not crosses_stages(uses, inside):
                continue
            first = inside[0]
            found = _made_within(storage.name, storage.span, first.span)
            yield replace(found, path=first.path, order=first.order)


def _made_within(name: str, made: Span, span: Span) -> Check:
    """What stages of a pipelined loop hand over is made in the loop."""
    return Check(
        predicate=E.FALSE,
        span=span,
        text=f"`{name}` is made in the pipelined loop",
        message=f"stages of the pipelined loop share `{name}`, which exists once",
        facts=("PPL-B10",),
        notes=(Note(made, f"`{name}` is made outside of the loop"),),
        help=("make it with `make_tensor` in the loop, so that it is buffered twice",),
    )


def made_before(event: StagesShared, chip: Chip) -> Iterator[Check]:
    """Stages of a loop of a run share a tensor."""
    yield _made_within(event.name, event.made, event.span)


# ----------------------------------------------------------------------------- cores


def unsynchronised(trace: Trace, chip: Chip) -> Iterator[Check]:
    """Cores synchronise between a write of one to shared memory and a read of another.

    Whichever of the two stands first in the text: cores run on their own. A core may read what it
    wrote itself: the places of different cores have to differ.
    """
    if not trace.grid:
        return
    barriers = Barriers.of(trace)
    table = index(trace)
    for uses in table.storages:
        if uses.storage.kind is StorageKind.CONSTANT or uses.storage.buffer.on_chip:
            continue
        for found in reads_of_others(table, uses, barriers):
            yield _other_core(found)


def _other_core(found: Foreign) -> Check:
    """Where a core reads, no other core writes."""
    read, name = found.read, found.read.view.storage.name
    given = found.given
    values: tuple[tuple[str, Expr], ...] = ()
    if found.predicate is not E.TRUE and found.there:
        roles = ("core that reads", "core that writes")
        one, another = (E.fresh(role, 0, None, E.Origin.POINT) for role in roles)
        given = (*given, E.eq(one, found.here[0]), E.eq(another, found.there[0]))
        values = ((roles[0], one), (roles[1], another))
    return replace(
        _synchronised(name, read.span),
        predicate=found.predicate,
        given=given,
        values=values,
        notes=(Note(found.write.operation.span, "written here"),),
        exact=found.exact,
        reason="" if found.exact else f"where `{name}` is accessed is not known exactly",
        path=read.path,
        order=read.order,
    )


def _synchronised(name: str, span: Span) -> Check:
    """All cores wait for each other between a write of one and a read of another."""
    return Check(
        predicate=E.FALSE,
        span=span,
        text=f"`pl.sync()` between writing and reading `{name}`",
        message=f"a core reads what another writes to `{name}`, without a `pl.sync()` in between",
        facts=("PPL-B11",),
        help=("call `pl.sync()` between what one core reads and what another one writes",),
    )


def core_read(event: CoresMet, chip: Chip) -> Iterator[Check]:
    """A core of a run reads what another one writes."""
    if disordered(event):
        read, write = reader(event)
        found = _synchronised(event.name, read.span)
        yield replace(found, notes=(Note(write.span, "written here"),))


def slots(trace: Trace, chip: Chip) -> Iterator[Check]:
    """A block has no more channels than there are lanes."""
    for storage in trace.storages:
        if storage.buffer is not Buffer.LOCAL or storage.kind is not StorageKind.ALLOC:
            continue
        c = storage.shape[1]
        if not c.is_const:
            continue  # blocks that a caller chooses are the caller's affair
        yield Check(
            predicate=E.le(c, chip.lanes),
            span=storage.argument_spans.get("mem_shape", storage.span),
            text=f"c <= {chip.lanes}",
            message=f"`{storage.name}` has more channels than {chip.name} has lanes",
            facts=("PPL-B08", "ADR-03"),
            values=(("c", c),),
            help=("each lane then holds several channels: split the block, or use h and w",),
            path=storage.path,
            order=storage.order,
        )


_BLOCKS: Final = example(
    """
source = pl.gtensor([1, 64, 1, total], pl.GLOBAL, src_ptr)
target = pl.gtensor([1, 64, 1, total], pl.GLOBAL, out_ptr)
for start in range(0, total, 16384):
    pl.enable_pipeline()
    size = min(16384, total - start)
    a = pl.make_tensor([1, 64, 1, 16384], pl.float16, [1, 64, 1, size])
    pl.dma.load(a, source.sub_view([1, 64, 1, size], [0, 0, 0, start]))
    b = pl.make_tensor([1, 64, 1, 16384], pl.float16, [1, 64, 1, size])
    pl.tiu.fadd(b, a, 1.0)
    pl.dma.store(target.sub_view([1, 64, 1, size], [0, 0, 0, start]), b)
""",
    "out_ptr, src_ptr, total",
    "total: 1..60000, out_ptr: fp16[1, 64, 1, total], src_ptr: fp16[1, 64, 1, total]",
)
_FAILING_BLOCKS: Final = _BLOCKS.replace("16384", "40000")

_OUTSIDE: Final = _BLOCKS.replace("16384", "4096")
_MADE: Final = "    a = pl.make_tensor([1, 64, 1, 4096], pl.float16, [1, 64, 1, size])\n"
_SHARED: Final = _OUTSIDE.replace("    " + _MADE, "").replace(
    "    for start", "    whole = pl.make_tensor([1, 64, 1, 4096], pl.float16)\n    for start"
)
_SHARED_FAILING: Final = _SHARED.replace(
    "        pl.dma.load(a,",
    "        a = whole.sub_view([1, 64, 1, size], [0, 0, 0, 0])\n        pl.dma.load(a,",
)

_EXCHANGE: Final = example(
    """
lanes = pl.LANE_NUM()
source = pl.gtensor([1, 32, 1, 48], pl.GLOBAL, src_ptr)
target = pl.gtensor([1, 32, 1, 48], pl.GLOBAL, out_ptr)
shared = pl.gtensor([1, 32, 1, 48], pl.L2, dtype=pl.float16)
a = pl.make_tensor([1, 32, 1, 48], pl.float16)
pl.dma.load(a, source)
if pl.get_core_index() == 0:
    pl.dma.store(shared.view(), a)
pl.sync()
b = pl.make_tensor([1, 32, 1, 48], pl.float16)
pl.dma.load(b, shared.view())
if pl.get_core_index() == 0:
    pl.dma.store(target, b)
""",
    "out_ptr, src_ptr",
    "out_ptr: fp16[1, 32, 1, 48], src_ptr: fp16[1, 32, 1, 48]",
    "bm1690",
)
_SHARED_FITS: Final = (
    _EXCHANGE.replace("bm1690", "sg2260e")
    .replace("pl.gtensor([1, 32, 1, 48], pl.L2", "pl.gtensor([1, 32, 2048, 96], pl.L2")
    .replace("shared.view()", "shared.sub_view([1, 32, 1, 48], [0, 0, 0, 0])")
)


declare(
    "ppl-local-capacity",
    "PPL020",
    On.TRACE,
    "the local tensors that are live at once fit into a lane",
    "The compiler places tensors by their lifetimes; what does not fit ends with the error code "
    "of address assignment. In a pipelined loop whatever passes between loading, computing and "
    "storing exists twice, also what is only loaded and stored. Blocks that a tiling callback "
    "tries count with their least size: the error means that no choice fits.",
    ("PPL-B06", "PPL-A09", "TPU-A12", "TPU-D18"),
    local_capacity,
    _FAILING_BLOCKS,
    _BLOCKS,
    gather=True,
    monitors=(
        Monitor(LanesLived, lanes_lived),
        Monitor(LanesLived, lanes_perhaps_lived, meant=True),
    ),
    replayed=Replayed(Shown.AT_THE_END),
)
declare(
    "ppl-dynamic-block",
    "PPL021",
    On.HOST,
    "memory shapes are known when the kernel is compiled",
    "Local memory is assigned while compiling: a block that depends on a run-time value ends with "
    "error code 0x1F.",
    ("PPL-B07",),
    None,
    _BLOCKS.replace(
        "[1, 64, 1, 16384], pl.float16, [1, 64, 1, size])", "[1, 64, 1, size], pl.float16)", 1
    ),
    _BLOCKS,
    replayed=REFUSED,
)
declare(
    "ppl-pipeline-sharing",
    "PPL022",
    On.TRACE,
    "what the stages of a pipelined loop hand over is made in the loop",
    "A tensor that is made before the loop exists once: loading the next part into it races with "
    "computing on this one, or the loop is not pipelined at all.",
    ("PPL-B10",),
    shared_between_stages,
    _SHARED_FAILING,
    _OUTSIDE,
    severity="warning",
    monitors=(Monitor(StagesShared, made_before),),
    replayed=COMPILED,
)
declare(
    "ppl-missing-sync",
    "PPL023",
    On.TRACE,
    "cores synchronise between a read of L2 or global memory and what others write there",
    "Cores run on their own: without `pl.sync()` a core may read the shared memory before it is "
    "written, or after what it was to find there has been overwritten. What a core wrote itself it "
    "may read at once.",
    ("PPL-B11",),
    unsynchronised,
    _EXCHANGE.replace("    pl.sync()\n", ""),
    _EXCHANGE,
    monitors=(Monitor(CoresMet, core_read),),
    silent=True,
)
declare(
    "ppl-lane-slots",
    "PPL024",
    On.TRACE,
    "a block of constant size has no more channels than there are lanes",
    "More channels than lanes are legal, but every lane then holds several slots of each tensor: "
    "bytes per lane double at once, also for one channel too many.",
    ("PPL-B08", "ADR-03"),
    slots,
    example(
        """
a = pl.make_tensor([1, 65, 1, 48], pl.float16)
pl.dma.load(a, pl.gtensor([1, 65, 1, 48], pl.GLOBAL, src_ptr).view())
pl.dma.store(pl.gtensor([1, 65, 1, 48], pl.GLOBAL, out_ptr).view(), a)
""",
        "out_ptr, src_ptr",
        "out_ptr: fp16[1, 65, 1, 48], src_ptr: fp16[1, 65, 1, 48]",
    ),
    _BLOCKS,
    severity="note",
    replayed=COMPILED,
)
declare(
    "ppl-shared-capacity",
    "PPL077",
    On.TRACE,
    "the tensors in L2 that are live at once fit there",
    "All cores share one L2 memory. The compiler places its tensors by their lifetimes; what does "
    "not fit ends with the error code of address assignment.",
    ("PPL-A07", "CHIP-05", "CHIP-06"),
    shared_capacity,
    _SHARED_FITS.replace("2048", "4096"),
    _SHARED_FITS,
    gather=True,
    monitors=(Monitor(SharedLived, shared_lived),),
    replayed=Replayed(Shown.AT_THE_END),
)
