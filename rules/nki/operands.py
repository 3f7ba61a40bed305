"""How instructions reach their operands: partitions, access patterns, memories."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from rules.nki import kit
from rules.nki.kit import at_least, check, register, tiles
from verifier.hardware.memories import Buffer
from verifier.hardware.targets import Target
from verifier.rulebase import Check, Rule
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.instruction import Instruction, Trait
from verifier.symbolic.tensors import View
from verifier.symbolic.trace import Operation

SBUF: Final = (Buffer.SBUF,)
PSUM: Final = (Buffer.PSUM,)
ON_CHIP: Final = (Buffer.SBUF, Buffer.PSUM)

# ----------------------------------------------------------------------------- start partition


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
        if role in own or start is None or view.indirect:
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
        on="operation",
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

# ----------------------------------------------------------------------------- partition step


def _partition_step(op: Operation, target: Target) -> Iterator[Check]:
    for role, view in tiles(op):
        step = view.partition_step
        if step is None or view.indirect:
            continue
        if view.broadcast and not at_least(op.api, "0.2"):
            continue  # Beta 1 repeats a row over the partitions with a matmul by ones
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
        facts=("P07",),
        on="operation",
        check=_partition_step,
        sources=("NKI access patterns, Restriction on SBUF/PSUM tensors",),
        failing="""\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def even_rows(table):
    assert table.shape == (64, 96)
    evens = nl.ndarray((32, 96), dtype=table.dtype, buffer=nl.shared_hbm)
    held = nl.ndarray((64, 96), dtype=table.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=held, src=table)
    picked = nl.ndarray((32, 96), dtype=table.dtype, buffer=nl.sbuf)
    nisa.tensor_copy(dst=picked, src=held[0:64:2, :])
    nisa.dma_copy(dst=evens, src=picked)
    return evens
""",
        passing="""\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def even_rows(table):
    assert table.shape == (64, 96)
    evens = nl.ndarray((32, 96), dtype=table.dtype, buffer=nl.shared_hbm)
    picked = nl.ndarray((32, 96), dtype=table.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=picked, src=table[0:64:2, :])
    nisa.dma_copy(dst=evens, src=picked)
    return evens
""",
    )
)

# ----------------------------------------------------------------------------- access patterns


def free_pattern(view: View) -> list[tuple[Expr, Expr]] | None:
    """``(size, stride)`` of each free axis, in elements; None if an address is not affine."""
    if not view.exact or view.indirect or view.frame_partition is None:
        return None
    address = E.const(0)
    step = E.const(1)
    for position in range(len(view.frame) - 1, -1, -1):
        if position != view.frame_partition:
            address = address + view.coords[position] * step
            step = step * view.frame[position]
    out = []
    for axis in view.axes[1:]:
        advanced = E.Substitution({axis.symbol: axis.index + 1}).expr(address)
        stride = advanced - address
        if axis.symbol in stride.free():
            return None
        out.append((axis.size, stride))
    return out


def _encodes_access(op: Operation) -> bool:
    """Whether one instruction reads the operands as they are.

    In Beta 1 the compiler splits functions of the language as it needs.
    """
    whole = op.name.startswith("isa.") or at_least(op.api, "0.2")
    return whole and kit.is_compute(op)


def _access_dims(op: Operation, target: Target) -> Iterator[Check]:
    if not _encodes_access(op):
        return
    for role, view in tiles(op):
        pattern = free_pattern(view)
        limit = target.access_dims
        if at_least(op.api, "0.2"):
            yield check(
                op,
                role,
                E.le(E.const(view.rank), limit + 1),
                f"rank of {role} <= {limit + 1}",
                f"{role} has more dimensions than a view may have",
                "A04",
                values=((f"rank of {role}", E.const(view.rank)),),
                views=(view,),
                severity="warning",
                help=("merge adjacent dimensions with reshape",),
            )
        if pattern is None:
            continue
        count = E.const(0)
        inner: tuple[Expr, Expr] | None = None
        for size, stride in reversed(pattern):
            merged = E.eq(size, 1)
            if inner is not None:
                merged = E.or_(merged, E.eq(stride, inner[0] * inner[1]))
            count = count + E.ite(merged, 0, 1)
            inner = (size, stride)
        yield check(
            op,
            role,
            E.le(count, limit),
            f"free dimensions of {role}, contiguous ones merged, <= {limit}",
            f"{role} needs more free dimensions than an access pattern has",
            "A01",
            values=((f"free dimensions of {role}", count),),
            views=(view,),
            help=("split the instruction, or copy the tile into a contiguous one first",),
        )


register(
    Rule(
        id="access-dims",
        code="NKI103",
        family="operands",
        summary="an operand's access pattern has at most four free dimensions",
        reason=(
            "An instruction describes the elements of a partition by up to four nested (step, "
            "count) pairs. Dimensions that follow on in memory merge into one; what remains has "
            "to fit into those pairs. Views of more than five dimensions are not part of the "
            "language at all."
        ),
        facts=("A01", "A04"),
        on="operation",
        check=_access_dims,
        sources=("NKI access patterns, Hardware capability", "NKI language guide, Tensor values"),
        failing="""\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def corners(x):
    assert x.shape == (128, 3, 4, 5, 6, 7)
    out = nl.ndarray((128, 32), dtype=x.dtype, buffer=nl.shared_hbm)
    block = nl.ndarray((128, 3, 4, 5, 6, 7), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=block, src=x)
    packed = nl.ndarray((128, 32), dtype=x.dtype, buffer=nl.sbuf)
    nisa.tensor_copy(dst=packed, src=block[:, 0:2, 0:2, 0:2, 0:2, 0:2])
    nisa.dma_copy(dst=out, src=packed)
    return out
""",
        passing="""\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def corners(x):
    assert x.shape == (128, 4, 5, 6, 7)
    out = nl.ndarray((128, 16), dtype=x.dtype, buffer=nl.shared_hbm)
    block = nl.ndarray((128, 4, 5, 6, 7), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=block, src=x)
    packed = nl.ndarray((128, 16), dtype=x.dtype, buffer=nl.sbuf)
    nisa.tensor_copy(dst=packed, src=block[:, 0:2, 0:2, 0:2, 0:2])
    nisa.dma_copy(dst=out, src=packed)
    return out
""",
    )
)


def _access_size(op: Operation, target: Target) -> Iterator[Check]:
    if not _encodes_access(op):
        return
    for role, view in tiles(op):
        for position, axis in enumerate(view.axes[1:], start=1):
            yield check(
                op,
                role,
                E.le(axis.size, target.access_size_max),
                f"dimension {position} of {role} <= {target.access_size_max} elements",
                f"a dimension of {role} is longer than an access pattern can count",
                "A02",
                values=((f"dimension {position} of {role}", axis.size),),
                views=(view,),
                given=(E.le(kit.tile_bytes(view.storage), target.sbuf_bytes),),
                help=("split the dimension over several instructions",),
            )


register(
    Rule(
        id="access-size",
        gather=True,
        code="NKI104",
        family="operands",
        summary="no dimension of an operand has more elements than a 16-bit count holds",
        reason=(
            "The count of each (step, count) pair of an access pattern is a 16-bit field in the "
            "instruction. A longer dimension has to be processed in pieces."
        ),
        facts=("A02",),
        on="operation",
        check=_access_size,
        sources=("Trainium/Inferentia2 architecture, Accessing SBUF/PSUM tensors",),
        failing="""\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def clear_long_rows():
    out = nl.ndarray((16, 70000), dtype=nl.uint8, buffer=nl.shared_hbm)
    row = nl.ndarray((16, 70000), dtype=nl.uint8, buffer=nl.sbuf)
    nisa.memset(dst=row, value=0)
    nisa.dma_copy(dst=out, src=row)
    return out
""",
        passing="""\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def clear_long_rows():
    out = nl.ndarray((16, 70000), dtype=nl.uint8, buffer=nl.shared_hbm)
    row = nl.ndarray((16, 70000), dtype=nl.uint8, buffer=nl.sbuf)
    for part in range(2):
        nisa.memset(dst=row[:, part * 35000 : (part + 1) * 35000], value=0)
    nisa.dma_copy(dst=out, src=row)
    return out
""",
    )
)


def _access_stride(op: Operation, target: Target) -> Iterator[Check]:
    if not _encodes_access(op):
        return
    low, high = target.access_stride_min, target.access_stride_max
    for role, view in tiles(op):
        pattern = free_pattern(view)
        if pattern is None:
            continue
        inner: tuple[Expr, Expr] | None = None
        for size, stride in reversed(pattern):
            follows = inner is not None and stride is inner[0] * inner[1]
            inner = (size, stride)
            if follows:
                continue
            yield check(
                op,
                role,
                E.or_(E.le(size, 1), E.and_(E.ge(stride, low), E.le(stride, high))),
                f"{low} <= step of {role} <= {high} elements",
                f"{role} steps further than an access pattern can",
                "A03",
                values=((f"step of {role}", stride),),
                views=(view,),
                given=(E.le(kit.tile_bytes(view.storage), target.sbuf_bytes),),
            )


register(
    Rule(
        id="access-stride",
        gather=True,
        code="NKI105",
        family="operands",
        summary="the steps of an operand's access pattern fit into 16 bits",
        reason=(
            "The step of each (step, count) pair is a signed 16-bit number of elements. Two "
            "elements of one dimension that lie further apart cannot be reached by one pattern."
        ),
        facts=("A03",),
        on="operation",
        check=_access_stride,
        sources=("Trainium/Inferentia2 architecture, Accessing SBUF/PSUM tensors",),
        failing="""\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def first_and_last(x):
    assert x.shape == (32, 80000)
    out = nl.ndarray((32, 2), dtype=nl.uint8, buffer=nl.shared_hbm)
    wide = nl.ndarray((32, 80000), dtype=nl.uint8, buffer=nl.sbuf)
    nisa.dma_copy(dst=wide, src=x)
    pair = nl.ndarray((32, 2), dtype=nl.uint8, buffer=nl.sbuf)
    nisa.tensor_copy(dst=pair, src=wide[:, 0:80000:40000])
    nisa.dma_copy(dst=out, src=pair)
    return out
""",
        passing="""\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def first_and_middle(x):
    assert x.shape == (32, 60000)
    out = nl.ndarray((32, 2), dtype=nl.uint8, buffer=nl.shared_hbm)
    wide = nl.ndarray((32, 60000), dtype=nl.uint8, buffer=nl.sbuf)
    nisa.dma_copy(dst=wide, src=x)
    pair = nl.ndarray((32, 2), dtype=nl.uint8, buffer=nl.sbuf)
    nisa.tensor_copy(dst=pair, src=wide[:, 0:60000:30000])
    nisa.dma_copy(dst=out, src=pair)
    return out
""",
    )
)

# ----------------------------------------------------------------------------- memories


def _operand_buffers(op: Operation, target: Target) -> Iterator[Check]:
    for role in kit.described(op).roles:
        view = op.view(role.name)
        if role.memories is None or view is None:
            continue
        hint: tuple[str, ...] = ()
        facts = role.memories.facts
        if view.buffer.off_chip:
            message = f"{role.name} is in HBM, where compute engines cannot reach it"
            hint = ("copy it to an SBUF tile with nisa.dma_copy first",)
            facts = ("N09", facts[-1])
        elif role.memories.buffers == SBUF:
            message = f"{role.name} has to be in SBUF"
            hint = ("copy it to SBUF with nisa.tensor_copy on the Vector Engine first",)
        else:
            message = f"{role.name} has to be on chip"
        found = kit.buffer_check(
            op, role.name, view, role.memories.buffers, message, *facts, help=hint
        )
        if found is not None:
            yield found
    if kit.engine(op) == "gpsimd":
        for name, view in tiles(op):
            found = kit.buffer_check(
                op,
                name,
                view,
                SBUF,
                f"{name} is in PSUM, which GpSimd cannot reach",
                "N07",
                help=("run the instruction on the Vector Engine, or copy the tile to SBUF first",),
            )
            if found is not None:
                yield found


def _memory_facts(instruction: Instruction) -> Iterator[str]:
    if instruction.computes and Trait.MATMUL not in instruction.traits:
        for role in instruction.roles:
            yield from role.memories.facts if role.memories is not None else ()


register(
    Rule(
        id="operand-buffers",
        code="NKI106",
        family="operands",
        summary="each operand of a compute instruction is in a memory its engine can reach",
        reason=(
            "The engines read and write SBUF, and all but GpSimd also PSUM. None of them reaches "
            "HBM: data comes from and goes there by DMA only. GpSimd has no port to PSUM, and some "
            "instructions of the other engines read SBUF alone."
        ),
        facts=(
            "N07",
            "N09",
            "L56",
            "BUF07",
            "CPY03",
            "TTN07",
            "TSC12",
            "NGA01",
            "LGA06",
            "SQB04",
            "PRD03",
            "QMX07",
            "AFS01",
        ),
        on="operation",
        enforces=_memory_facts,
        check=_operand_buffers,
        sources=("NKI ISA, memory types of each instruction", "Neuron architecture guides"),
        failing="""\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def positive_part(values):
    assert values.shape == (128, 96)
    out = nl.ndarray((128, 96), dtype=values.dtype, buffer=nl.shared_hbm)
    held = nl.ndarray((128, 96), dtype=values.dtype, buffer=nl.sbuf)
    nisa.activation(dst=held, op=nl.relu, data=values)
    nisa.dma_copy(dst=out, src=held)
    return out
""",
        passing="""\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def positive_part(values):
    assert values.shape == (128, 96)
    out = nl.ndarray((128, 96), dtype=values.dtype, buffer=nl.shared_hbm)
    held = nl.ndarray((128, 96), dtype=values.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=held, src=values)
    nisa.activation(dst=held, op=nl.relu, data=held)
    nisa.dma_copy(dst=out, src=held)
    return out
""",
    )
)

# ----------------------------------------------------------------------------- two PSUM inputs


def _two_psum_inputs(op: Operation, target: Target) -> Iterator[Check]:
    pair = kit.described(op).one_psum_input
    if pair is None:
        return
    first, second, fact = pair
    a, b = op.view(first), op.view(second)
    if a is None or b is None or Buffer.UNKNOWN in (a.buffer, b.buffer):
        return
    yield check(
        op,
        second,
        E.truth(not (a.buffer is Buffer.PSUM and b.buffer is Buffer.PSUM)),
        f"{first} and {second} are not both in PSUM",
        f"{first} and {second} are both in PSUM",
        "N08",
        fact,
        about=(first, second),
        help=(f"copy {first} or {second} to SBUF with nisa.tensor_copy first",),
    )


register(
    Rule(
        id="two-psum-inputs",
        code="NKI107",
        family="operands",
        summary="at most one of two full-size inputs is in PSUM",
        reason=(
            "The Vector Engine has one read port to PSUM. An instruction that streams two tiles at "
            "a time takes at least one of them from SBUF."
        ),
        facts=("N08",),
        on="operation",
        enforces=lambda instruction: (instruction.one_psum_input or ())[2:],
        check=_two_psum_inputs,
        sources=("NKI ISA tensor_tensor, scalar_tensor_tensor, tensor_tensor_scan",),
        failing="""\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def difference_of_products(weights, left, right):
    assert weights.shape == (128, 64)
    assert left.shape == (128, 256) and right.shape == (128, 256)
    out = nl.ndarray((64, 256), dtype=nl.float32, buffer=nl.shared_hbm)
    w = nl.ndarray((128, 64), dtype=nl.bfloat16, buffer=nl.sbuf)
    a = nl.ndarray((128, 256), dtype=nl.bfloat16, buffer=nl.sbuf)
    b = nl.ndarray((128, 256), dtype=nl.bfloat16, buffer=nl.sbuf)
    nisa.dma_copy(dst=w, src=weights)
    nisa.dma_copy(dst=a, src=left)
    nisa.dma_copy(dst=b, src=right)
    first = nl.ndarray((64, 256), dtype=nl.float32, buffer=nl.psum)
    second = nl.ndarray((64, 256), dtype=nl.float32, buffer=nl.psum)
    nisa.nc_matmul(dst=first, stationary=w, moving=a)
    nisa.nc_matmul(dst=second, stationary=w, moving=b)
    result = nl.ndarray((64, 256), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_tensor(dst=result, data1=first, data2=second, op=nl.subtract)
    nisa.dma_copy(dst=out, src=result)
    return out
""",
        passing="""\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def product_minus(weights, left, offset):
    assert weights.shape == (128, 64)
    assert left.shape == (128, 256) and offset.shape == (64, 256)
    out = nl.ndarray((64, 256), dtype=nl.float32, buffer=nl.shared_hbm)
    w = nl.ndarray((128, 64), dtype=nl.bfloat16, buffer=nl.sbuf)
    a = nl.ndarray((128, 256), dtype=nl.bfloat16, buffer=nl.sbuf)
    shift = nl.ndarray((64, 256), dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=w, src=weights)
    nisa.dma_copy(dst=a, src=left)
    nisa.dma_copy(dst=shift, src=offset)
    product = nl.ndarray((64, 256), dtype=nl.float32, buffer=nl.psum)
    nisa.nc_matmul(dst=product, stationary=w, moving=a)
    nisa.tensor_tensor(dst=shift, data1=product, data2=shift, op=nl.subtract)
    nisa.dma_copy(dst=out, src=shift)
    return out
""",
    )
)
