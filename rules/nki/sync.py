"""Registers, barriers, messages between cores, collectives."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from rules.nki import kinds, kit, twins
from rules.nki.kit import check, register
from rules.nki.operands.access import contiguous
from rules.nki.operands.memories import SBUF
from rules.nki.samples import kernel, variants
from verifier.hardware import dtypes as dt
from verifier.hardware.memories import Buffer
from verifier.hardware.targets import Target
from verifier.rulebase import On, Rule
from verifier.symbolic import expr as E
from verifier.symbolic.checks import Check
from verifier.symbolic.expr import Expr
from verifier.symbolic.instruction import Shares, Trait
from verifier.symbolic.roles import Takes
from verifier.symbolic.tensors import StorageKind, View
from verifier.symbolic.trace import Operation
from verifier.symbolic.values import RankGroups

_REACHED: Final = (Buffer.SBUF, Buffer.HBM, Buffer.SHARED_HBM)


def _register_operand(op: Operation, target: Target) -> Iterator[Check]:
    load = bool(kit.described(op).footprint.reads)
    role, fact = ("src", "REG03") if load else ("dst", "REG04")
    view = op.view(role)
    if view is None:
        return
    narrow = frozenset(code for code, size in dt.ITEMSIZE.items() if size <= 4)
    yield check(
        op,
        role,
        E.and_(E.eq(view.elements, 1), view.dtype.among(narrow)),
        f"{role} is one element of at most 32 bits",
        "a register holds a single element",
        fact,
        values=((f"elements of {role}", view.elements),),
    )
    found = kit.buffer_check(
        op,
        role,
        view,
        _REACHED,
        f"registers are loaded and stored in SBUF or HBM, and {role} is in "
        f"{kit.BUFFER_WORDS[view.buffer]}",
        fact,
        "BUF39",
    )
    if found is not None:
        yield found


register(
    Rule(
        id="register-operand",
        code="NKI651",
        family="sync",
        summary="a register is loaded from, or stored to, a single element in SBUF or HBM",
        reason=(
            "The sequencers of the engines have registers of 32 bits, which they exchange with "
            "memory one element at a time. They do not reach PSUM."
        ),
        facts=("REG03", "REG04", "BUF39"),
        on=On.OPERATION,
        concerns=kinds.with_traits(Trait.REGISTERS),
        check=_register_operand,
        sources=("NKI ISA register_load, register_store",),
        failing=kernel(
            "read_size",
            {"sizes": ((1, 4), "int32")},
            ((1, 4), "int32"),
            """
            nisa.tensor_copy(dst=result, src=sizes_tile)
            size = nisa.register_alloc()
            nisa.register_load(dst=size, src=sizes_tile)
            """,
        ),
        passing=kernel(
            "read_size",
            {"sizes": ((1, 4), "int32")},
            ((1, 4), "int32"),
            """
            nisa.tensor_copy(dst=result, src=sizes_tile)
            size = nisa.register_alloc()
            nisa.register_load(dst=size, src=sizes_tile[0:1, 2:3])
            """,
        ),
    )
)


def _core_barrier(op: Operation, target: Target) -> Iterator[Check]:
    view = op.view("data")
    if view is not None:
        found = kit.buffer_check(
            op,
            "data",
            view,
            (Buffer.SHARED_HBM, Buffer.HBM)
            if view.storage.kind is StorageKind.INPUT
            else (Buffer.SHARED_HBM,),
            "cores meet over a tensor in shared HBM, and data is not there",
            "BAR01",
            "BUF37",
            help=("allocate it with buffer=nl.shared_hbm",),
        )
        if found is not None:
            yield found
    given = op.value("cores")
    # a kernel that is launched on one core alone has it wait for itself
    alone = isinstance(given, Expr)
    cores = (given,) if isinstance(given, Expr) else kit.integers(given)
    if cores is not None:
        wanted = (0,) if alone else (0, 1)
        same = len(cores) == len(wanted)
        yield check(
            op,
            "cores",
            E.and_(*map(E.eq, cores, wanted)) if same else E.FALSE,
            "cores == (0, 1)",
            "a barrier joins the two cores 0 and 1",
            "BAR01",
            about=(),
        )


_CORE_BARRIER = variants(
    """\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def meet(x):
    assert x.shape == (64, 90)
    out = nl.ndarray((64, 90), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray((64, 90), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    nisa.dma_copy(dst=out, src=tile)
-    nisa.core_barrier(data=tile, cores=(0, 1))
+    nisa.core_barrier(data=out, cores=(0, 1))
    return out
"""
)
register(
    Rule(
        id="core-barrier",
        code="NKI652",
        family="sync",
        summary="a barrier joins cores 0 and 1 over a tensor in shared HBM",
        reason=(
            "A logical core of degree two consists of two physical ones that see each other's "
            "writes through shared HBM only. The barrier orders accesses to one such tensor."
        ),
        facts=("BAR01", "BUF37"),
        on=On.OPERATION,
        concerns=lambda i: i.waits,
        check=_core_barrier,
        sources=("NKI ISA core_barrier",),
        failing=_CORE_BARRIER.failing,
        passing=_CORE_BARRIER.passing,
    )
)


def _sendrecv(op: Operation, target: Target) -> Iterator[Check]:
    src, dst = op.view("src"), op.view("dst")
    for role, view in (("src", src), ("dst", dst)):
        if view is None:
            continue
        found = kit.buffer_check(
            op,
            role,
            view,
            SBUF,
            f"cores exchange SBUF tiles, and {role} is in {kit.BUFFER_WORDS[view.buffer]}",
            "SRV02",
            "BUF38",
        )
        if found is not None:
            yield found
    for role in ("send_to_rank", "recv_from_rank"):
        rank, ranks = kit.as_expr(op.value(role)), kit.role(op, role).value
        if rank is not None and ranks is not None:
            yield check(
                op,
                role,
                ranks.holds(rank),
                f"{role} is {ranks.least} or {ranks.most}",
                f"{role} names a core that does not exist",
                ranks.fact,
                values=((role, rank),),
                about=(),
            )
    if src is None or dst is None:
        return
    yield from kit.sized(op, "dst")
    little = kit.described(op).sends_little
    if little is not None and little.holds(op) is E.TRUE:
        yield from _sent_by_gpsimd(op, src, target)


def _sent_by_gpsimd(op: Operation, src: View, target: Target) -> Iterator[Check]:
    """GpSimd has a DMA of its own, for little messages."""
    most = target.core_message_max
    yield check(
        op,
        "src",
        E.le(src.free, most),
        f"src free size <= {most}",
        f"GpSimd's DMA sends at most {most} elements per partition",
        "SRV03",
        values=(("src free size", src.free),),
    )
    rows = kit.role(op, "src").partitions
    limit = None if rows is None else kit.in_force(op, (rows,))
    if limit is not None:
        yield check(
            op,
            "src",
            limit.holds(src.partitions),
            f"partitions of src are a multiple of {limit.multiple_of}",
            f"GpSimd's DMA sends groups of {limit.multiple_of} partitions before NKI {limit.until}",
            "SRV03",
            limit.fact,
            values=(("partitions of src", src.partitions),),
        )


register(
    Rule(
        id="sendrecv",
        code="NKI653",
        family="sync",
        summary="two cores exchange SBUF tiles of one shape",
        reason=(
            "sendrecv copies a tile of one core's SBUF into the other's. Both sides have the same "
            "shape; through GpSimd's own DMA at most 256 elements per partition."
        ),
        facts=("SRV01", "SRV02", "SRV03", "BUF38", "M099"),
        on=On.OPERATION,
        concerns=kinds.exchanges,
        check=_sendrecv,
        sources=("NKI ISA sendrecv",),
        failing=kernel(
            "swap_halves",
            {"x": ((128, 60), "float32")},
            ((128, 50), "float32"),
            """
            nisa.sendrecv(
                src=x_tile, dst=result, send_to_rank=1, recv_from_rank=1, pipe_id=0
            )
            """,
        ),
        passing=kernel(
            "swap_halves",
            {"x": ((128, 60), "float32")},
            ((128, 60), "float32"),
            """
            nisa.sendrecv(
                src=x_tile, dst=result, send_to_rank=1, recv_from_rank=1, pipe_id=0
            )
            """,
        ),
    )
)

# ----------------------------------------------------------------------------- collectives


def _metadata(op: Operation) -> Iterator[Check]:
    """Three rows of numbers for each rank, four with displacements; one partition on chip."""
    view, displaced = op.view("metadata_tensor"), op.value("has_rdispls")
    if view is None or not isinstance(displaced, bool):
        return
    rows, first = 4 if displaced else 3, 1 if view.buffer.on_chip else 0
    shaped = view.rank == first + 2
    size = view.shape[first] if shaped else E.const(rows)
    alone = E.eq(view.shape[0], 1) if shaped and first else E.TRUE
    yield check(
        op,
        "metadata_tensor",
        E.and_(E.truth(shaped), E.eq(size, rows), alone),
        f"metadata_tensor has shape ({'1, ' if first else ''}{rows}, ranks)",
        "the sizes for the ranks do not have the shape that is read",
        "K06",
    )
    follows = contiguous(view)
    if follows is not None:
        yield check(
            op,
            "metadata_tensor",
            follows,
            "the elements of metadata_tensor follow one on another",
            "the sizes for the ranks are read as they lie, and other elements lie between them",
            "K06",
            help=("copy them into a tensor of their own first",),
        )
    counts = {len(group) for group in _groups(op)}
    if shaped and len(counts) == 1:
        ranks = counts.pop()
        yield check(
            op,
            "metadata_tensor",
            E.eq(view.shape[first + 1], ranks),
            f"metadata_tensor has a column for each of the {ranks} ranks of a group",
            "the sizes for the ranks are not those of the ranks of a group",
            "K06",
            values=(("columns of metadata_tensor", view.shape[first + 1]),),
        )


def _groups(op: Operation) -> tuple[tuple[Expr, ...], ...]:
    """The lists of ranks of a collective; the caller is to know of those that it gives."""
    operand = op.operands.get("replica_group")
    value = operand.value if operand is not None else None
    return value.groups if isinstance(value, RankGroups) else ()


def _ranks(op: Operation) -> Iterator[Check]:
    """No rank is in two lists, and each list has as many as are described."""
    groups = _groups(op)
    ranks = [rank for group in groups for rank in group]
    if ranks and all(rank.is_const for rank in ranks):
        yield check(
            op,
            "replica_group",
            E.truth(len({rank.const for rank in ranks}) == len(ranks)),
            "no rank is named twice",
            "the lists of ranks of a replica group are not disjoint",
            "K13",
            about=(),
        )
    negative = [rank for rank in ranks if E.ge(rank, 0) is not E.TRUE]
    if negative:
        yield check(
            op,
            "replica_group",
            E.and_(*(E.ge(rank, 0) for rank in negative)),
            "ranks are not negative",
            "a replica group names a rank that there is not",
            "K13",
            about=(),
        )
    role = kit.described(op).role("replica_group")
    if role is not None and role.count is not None and groups:
        yield check(
            op,
            "replica_group",
            E.truth(all(len(group) == role.count.least for group in groups)),
            f"each list of ranks has {role.count.least}",
            f"{kit.described(op).short} works in groups of {role.count.least} ranks",
            role.count.fact,
            about=(),
        )


def _collective(op: Operation, target: Target) -> Iterator[Check]:
    yield from _metadata(op)
    yield from _ranks(op)
    lists = {
        role: [item for item in value if isinstance(item, View)]
        for role in ("srcs", "dsts")
        if isinstance(value := op.value(role), tuple)
    }
    yield from _memories_of_collective(op, lists)
    yield from _shares(op)
    axis, limit = kit.as_expr(op.value("collective_dim")), kit.value_limit(op, "collective_dim")
    if axis is not None and limit is not None:
        chip = any(view.buffer is Buffer.SBUF for items in lists.values() for view in items)
        admitted = (*limit.among, *(limit.also if chip else ()))
        yield check(
            op,
            "collective_dim",
            kit.one_of(axis, admitted),
            f"collective_dim is {kit.alternatives(admitted)}",
            "the collective cannot run along this dimension",
            limit.fact,
            values=(("collective_dim", axis),),
            about=(),
        )
    for role, items in lists.items():
        # along other dimensions it runs on chip, and there in tiles of rows alone (NKI-K03)
        chosen = [view for view in items if view.buffer is Buffer.SBUF]
        if chosen and limit is not None and limit.also:
            yield check(
                op,
                role,
                E.truth(all(view.rank == 2 for view in chosen)),
                f"tiles of {role} have a free dimension",
                f"tiles of {role} in SBUF have more than one free dimension",
                limit.fact,
                about=(),
                views=chosen,
            )
    displaced = kit.value_limit(op, "has_rdispls")
    if displaced is not None:
        yield check(
            op,
            "has_rdispls",
            E.not_(kit.flag(op, "has_rdispls")),
            "has_rdispls is False",
            f"{kit.described(op).short} has no receive displacements",
            displaced.fact,
            about=(),
        )


def _shares(op: Operation) -> Iterator[Check]:
    """What each rank receives has the size of what all of them send it."""
    shares, roles = kit.described(op).shares, kit.described(op).roles
    named = [role.name for role in roles if role.takes is Takes.TILES]
    values = [value for name in named if isinstance(value := op.value(name), tuple)]
    if shares is None or len(values) < len(named):
        return
    *sent, received = values
    facts = _facts_of_shares(op)
    for name, each in zip(named, sent, strict=False):
        yield check(
            op,
            name,
            E.truth(len(each) == len(received)),
            f"as many tensors in {named[-1]} as in {name}",
            f"{len(each)} tensors are sent, and {len(received)} receive",
            *facts,
            about=(),
        )
        if len(each) != len(received):
            continue
        for src, dst in zip(each, received, strict=True):
            if isinstance(src, View) and isinstance(dst, View):
                yield from _share(op, name, src, dst, shares, facts)


def _facts_of_shares(op: Operation) -> tuple[str, ...]:
    limit, role = kit.value_limit(op, "collective_dim"), kit.described(op).role("channel_ids")
    count = role.count if role is not None else None
    return (limit.fact if limit is not None else count.fact if count is not None else "K01",)


def _share(
    op: Operation, role: str, src: View, dst: View, shares: Shares, facts: tuple[str, ...]
) -> Iterator[Check]:
    """``dst`` takes what ranks send of ``src``: on chip dimension by dimension, in HBM in all."""
    counts = {len(group) for group in _groups(op)}
    axis = kit.as_expr(op.value("collective_dim"))
    ranks = 1
    if shares is not Shares.ALL:
        if len(counts) != 1 or axis is None or not axis.is_const:
            return  # the groups are not known, or not of one size
        ranks = counts.pop()
    more, less = (src, dst) if shares is Shares.SCATTERED else (dst, src)
    factor = ranks if shares in (Shares.GATHERED, Shares.SCATTERED) else 1
    place = 0 if axis is None else axis.const
    same = E.eq(more.elements, less.elements * factor)
    if src.buffer.on_chip and dst.buffer.on_chip:
        same = E.FALSE
        if src.rank == dst.rank and 0 <= place < src.rank:
            same = E.and_(
                *(
                    E.eq(large, small * factor if k == place else small)
                    for k, (large, small) in enumerate(zip(more.shape, less.shape, strict=True))
                )
            )
    yield check(
        op,
        role,
        same,
        f"{'a destination' if more is dst else 'a source'} has {factor} times the elements"
        if factor > 1
        else "a destination has as many elements as its source",
        f"a destination of {kit.described(op).short} does not have {shares.value}",
        *facts,
        values=(("elements sent", src.elements), ("elements received", dst.elements)),
        views=(src, dst),
    )
    if shares in (Shares.SCATTERED, Shares.EXCHANGED) and 0 <= place < src.rank:
        yield check(
            op,
            role,
            kit.divisible(src.shape[place], ranks),
            f"dimension {place} of a source divides among {ranks} ranks",
            f"{kit.described(op).short} does not divide a source among the ranks",
            *facts,
            values=((f"extent of dimension {place}", src.shape[place]),),
            views=(src,),
        )


def _memories_of_collective(op: Operation, lists: Mapping[str, list[View]]) -> Iterator[Check]:
    """Tensors in HBM, as many as they like; in SBUF one and one, where that is described."""
    views = [view for items in lists.values() for view in items]
    sources = kit.described(op).role("srcs")
    memories = sources.memories if sources is not None else None
    facts = memories.facts if memories is not None else ("K01",)
    only_hbm = memories is not None and Buffer.SBUF not in memories.buffers
    single = all(len(items) == 1 for items in lists.values())
    if views:
        on_chip = [view for view in views if view.buffer is Buffer.SBUF]
        allowed = not on_chip or (not only_hbm and len(on_chip) == len(views) and single)
        yield check(
            op,
            "srcs",
            E.truth(allowed and all(view.buffer is not Buffer.PSUM for view in views)),
            "all tensors are in HBM"
            + ("" if only_hbm else ", or one source and one destination in SBUF"),
            "the tensors of the collective are in memories that it cannot combine",
            *facts,
            views=views,
        )
    if sources is not None and sources.count is not None and lists:
        yield check(
            op,
            "srcs",
            E.truth(single),
            "one source and one destination",
            f"{kit.described(op).short} takes one source and one destination",
            *facts,
            about=(),
        )


# ------------------------------------------------------------------------------- channels


def _channels(op: Operation, target: Target) -> Iterator[Check]:
    """One tensor for each channel, and the channels are 0, 1, ... (NKI-K10)."""
    given = kit.integers(op.value("channel_ids")) or (E.const(0),)
    limit = kit.role(op, "channel_ids").count
    assert limit is not None
    place = "channel_ids" if op.operands["channel_ids"].given else "replica_group"
    yield check(
        op,
        place,
        E.and_(
            limit.holds(E.const(len(given))),
            *(E.eq(channel, number) for number, channel in enumerate(given)),
        ),
        f"channel_ids counts up from 0, to {limit.most - 1 if limit.most else 0} at most",
        "the channels are not numbered from 0 on, or there are not so many",
        limit.fact,
        about=(),
    )
    for role in kit.described(op).roles:
        value = op.value(role.name)
        if role.takes is Takes.TILES and isinstance(value, tuple):
            yield check(
                op,
                role.name,
                E.truth(len(value) == len(given)),
                f"{role.name} has one tensor for each of {len(given)} channels",
                f"{role.name} has {len(value)} tensors, for {len(given)} channels of one each",
                limit.fact,
                about=(),
            )


_CHANNELS = variants(
    """\
import nki
import nki.collectives as ncc
import nki.isa as nisa
import nki.language as nl


@nki.jit
def passed_on(x):
    assert x.shape == (64, 30)
    out = nl.ndarray((64, 30), dtype=x.dtype, buffer=nl.shared_hbm)
    sent = nl.ndarray((64, 30), dtype=x.dtype, buffer=nl.hbm)
    nisa.dma_copy(dst=sent, src=x)
    group = ncc.ReplicaGroup([[0, 1, 2, 3]])
-    ncc.collective_permute_implicit([[sent]], [[out]], replica_group=group, channel_ids=[1])
+    ncc.collective_permute_implicit([[sent]], [[out]], replica_group=group, channel_ids=[0])
    return out
"""
)
register(
    Rule(
        id="collective-channels",
        code="NKI655",
        family="sync",
        summary="a ring sends one tensor over each of its channels, which count up from 0",
        reason=(
            "A ring between ranks has up to four channels (two where it leaves out devices of a "
            "node), and the outer lists have an entry for each: a list of one tensor."
        ),
        facts=("K10", "K11"),
        on=On.OPERATION,
        concerns=lambda instruction: instruction.role("channel_ids") is not None,
        check=_channels,
        sources=("NKI collectives",),
        failing=_CHANNELS.failing,
        passing=_CHANNELS.passing,
    )
)

_COLLECTIVE_OPERANDS = variants(
    """\
import nki
import nki.collectives as ncc
import nki.isa as nisa
import nki.language as nl


@nki.jit
def reduce_over_devices(x):
    assert x.shape == (64, 30)
    out = nl.ndarray((64, 30), dtype=x.dtype, buffer=nl.shared_hbm)
-    tile = nl.ndarray((64, 30), dtype=x.dtype, buffer=nl.sbuf)
-    nisa.dma_copy(dst=tile, src=x)
+    staged = nl.ndarray((64, 30), dtype=x.dtype, buffer=nl.hbm)
+    nisa.dma_copy(dst=staged, src=x)
    group = ncc.ReplicaGroup([[0, 1]])
-    ncc.all_reduce(srcs=[tile], dsts=[out], replica_group=group, op=nl.add)
+    ncc.all_reduce(srcs=[staged], dsts=[out], replica_group=group, op=nl.add)
    return out
"""
)
register(
    Rule(
        id="collective-operands",
        code="NKI654",
        family="sync",
        summary="a collective works on tensors of one memory, along its dimension",
        reason=(
            "Collectives are programs of DMA engines across devices. They combine tensors that lie "
            "in HBM, or single tiles in SBUF, never a mixture, and split them along the first "
            "dimension."
        ),
        facts=("K01", "K03", "K04", "K05", "K06", "K07", "K09", "K13"),
        on=On.OPERATION,
        concerns=kinds.with_traits(Trait.COLLECTIVE),
        check=_collective,
        sources=("NKI collectives",),
        twins=twins.COLLECTIVES,
        failing=_COLLECTIVE_OPERANDS.failing,
        passing=_COLLECTIVE_OPERANDS.passing,
    )
)
