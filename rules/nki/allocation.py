"""Tiles as they are allocated: extent, rank, size, and placement by hand."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rules.nki import kit
from rules.nki.kit import register
from rules.nki.operands import start_predicate
from verifier.hardware.capabilities import Capability
from verifier.hardware.memories import Buffer
from verifier.hardware.targets import Target
from verifier.rulebase import Check, Rule
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.tensors import Storage, View
from verifier.symbolic.trace import Operation


def _name(storage: Storage) -> str:
    return storage.name or ("result" if storage.kind == "result" else "tile")


def storage_check(
    storage: Storage,
    argument: str,
    predicate: Bool,
    text: str,
    message: str,
    *facts: str,
    values: tuple[tuple[str, Expr], ...] = (),
    help: tuple[str, ...] = (),
    given: tuple[Bool, ...] = (),
    severity: str | None = None,
) -> Check:
    """A check of an allocation, at its argument ``argument`` if the dialect kept its place."""
    return Check(
        predicate=predicate,
        span=storage.argument_spans.get(argument, storage.span),
        text=text,
        message=message,
        facts=kit.catalogue(facts),
        given=given,
        values=values,
        help=help,
        severity=severity,
    )


# ----------------------------------------------------------------------------- extent and rank


def _partition_extent(storage: Storage, target: Target) -> Iterator[Check]:
    axis = storage.partition_axis
    if not storage.buffer.on_chip or axis is None or axis >= len(storage.shape):
        return
    extent = storage.shape[axis]
    name = _name(storage)
    yield storage_check(
        storage,
        "shape",
        E.le(extent, target.partitions),
        f"partitions of {name} <= {target.partitions}",
        f"{name} has more partitions than the hardware",
        "P01",
        "N10",
        values=((f"partitions of {name}", extent),),
        help=(
            f"split the first axis into tiles of at most {target.partitions} "
            "(nl.tile_size.pmax) rows",
        ),
    )


register(
    Rule(
        id="partition-extent",
        code="NKI301",
        family="allocation",
        summary="an on-chip tile has at most 128 partitions",
        reason=(
            "SBUF and PSUM are 128 partitions wide: two-dimensional memories whose rows are wired "
            "to the lanes of the engines. The partition axis of a tile is laid across those rows, "
            "so it cannot be longer; longer tensors are processed in tiles."
        ),
        facts=("P01", "N10"),
        on="storage",
        check=_partition_extent,
        sources=("NKI tiling overview, tile size considerations",),
        failing="""\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def add_one(x):
    rows, columns = x.shape
    assert columns == 300
    out = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    whole = nl.load(x)
    nl.store(out, nl.add(whole, 1.0))
    return out
""",
        passing="""\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def add_one(x):
    rows, columns = x.shape
    assert rows <= 128 and columns == 300
    out = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    whole = nl.load(x)
    nl.store(out, nl.add(whole, 1.0))
    return out
""",
    )
)


def _tile_rank(storage: Storage, target: Target) -> Iterator[Check]:
    if not storage.buffer.on_chip or storage.kind != "alloc":
        return
    rank = len(storage.shape)
    axis = storage.partition_axis or 0
    single = rank == 1 and storage.shape[0] is E.const(1)
    name = _name(storage)
    yield storage_check(
        storage,
        "shape",
        E.truth(rank - axis >= 2),
        f"rank of {name} >= 2",
        f"{name} has no free axis",
        "P02",
        *(("OQ42",) if single else ()),
        values=((f"rank of {name}", E.const(rank)),),
        severity="warning" if single else None,
        help=("give the tile a second axis: (1, n) for one partition, (n, 1) for one column",),
    )


register(
    Rule(
        id="tile-rank",
        code="NKI302",
        family="allocation",
        summary="an on-chip tile has a partition axis and a free axis",
        reason=(
            "A tile on chip is addressed by partition and by position within the partition. A "
            "one-dimensional shape says nothing about the second, and the compiler rejects it."
        ),
        facts=("P02", "OQ42"),
        on="storage",
        check=_tile_rank,
        of_rank=True,
        sources=("NKI language guide, view primitives",),
        failing="""\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def copy_vector(v):
    assert v.shape == (64,)
    out = nl.ndarray((64,), dtype=v.dtype, buffer=nl.shared_hbm)
    line = nl.ndarray((64,), dtype=v.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=line, src=v)
    nisa.dma_copy(dst=out, src=line)
    return out
""",
        passing="""\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def copy_vector(v):
    assert v.shape == (1, 64)
    out = nl.ndarray((1, 64), dtype=v.dtype, buffer=nl.shared_hbm)
    line = nl.ndarray((1, 64), dtype=v.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=line, src=v)
    nisa.dma_copy(dst=out, src=line)
    return out
""",
    )
)


def _empty_shape(storage: Storage, target: Target) -> Iterator[Check]:
    if storage.kind != "alloc":
        return
    name = _name(storage)
    for position, extent in enumerate(storage.shape):
        yield storage_check(
            storage,
            "shape",
            E.ge(extent, 1),
            f"dimension {position} of {name} >= 1",
            f"{name} is empty",
            "L03",
            values=((f"dimension {position} of {name}", extent),),
        )


register(
    Rule(
        id="empty-shape",
        code="NKI303",
        family="allocation",
        summary="every dimension of an allocated tensor is at least 1",
        reason=(
            "A tensor without elements cannot be allocated. Sizes that come from a floor division "
            "become 0 when the divisor is the larger one."
        ),
        facts=("L03",),
        on="storage",
        check=_empty_shape,
        sources=("NKI language ndarray",),
        failing="""\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def half_columns(x):
    rows, columns = x.shape
    assert rows == 128 and columns <= 8
    out = nl.ndarray((rows, columns // 2), dtype=nl.float32, buffer=nl.shared_hbm)
    tile = nl.ndarray((rows, columns // 2), dtype=nl.float32, buffer=nl.sbuf)
    nisa.memset(dst=tile, value=0.5)
    nisa.dma_copy(dst=out, src=tile)
    return out
""",
        passing="""\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def half_columns(x):
    rows, columns = x.shape
    assert rows == 128 and columns >= 2 and columns <= 8
    out = nl.ndarray((rows, columns // 2), dtype=nl.float32, buffer=nl.shared_hbm)
    tile = nl.ndarray((rows, columns // 2), dtype=nl.float32, buffer=nl.sbuf)
    nisa.memset(dst=tile, value=0.5)
    nisa.dma_copy(dst=out, src=tile)
    return out
""",
    )
)

# ----------------------------------------------------------------------------- sizes


def _sbuf_tile_size(storage: Storage, target: Target) -> Iterator[Check]:
    if storage.buffer is not Buffer.SBUF or kit.is_temporary(storage):
        return
    size = kit.tile_bytes(storage)
    name = _name(storage)
    values = ((f"bytes of {name} per partition", size),)
    # where the compiler is not known to keep some to itself, the rule on all live tiles warns
    hard = target.sbuf_hard_bytes
    yield storage_check(
        storage,
        "shape",
        E.le(size, hard),
        f"bytes of {name} per partition <= {hard}",
        f"{name} is larger than SBUF",
        "B01",
        values=values,
        help=("process the free axis in tiles",),
    )


register(
    Rule(
        id="sbuf-tile-size",
        gather=True,
        code="NKI304",
        family="allocation",
        summary="one SBUF tile fits into the bytes of a partition",
        reason=(
            "Every partition of SBUF has the same number of bytes, and a tile lies at the same "
            "bytes in each of its partitions. A tile that takes more bytes per partition than "
            "there are cannot be placed, whatever else is live."
        ),
        facts=("B01",),
        on="storage",
        check=_sbuf_tile_size,
        sources=("Neuron architecture guides", "NKI ISA, tile size of each instruction"),
        failing="""\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def long_rows(x):
    assert x.shape == (64, 60000)
    out = nl.ndarray((64, 60000), dtype=nl.float32, buffer=nl.shared_hbm)
    row = nl.ndarray((64, 60000), dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=row, src=x)
    nisa.dma_copy(dst=out, src=row)
    return out
""",
        passing="""\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def long_rows(x):
    assert x.shape == (64, 60000)
    out = nl.ndarray((64, 60000), dtype=nl.float32, buffer=nl.shared_hbm)
    for part in range(3):
        columns = slice(part * 20000, (part + 1) * 20000)
        row = nl.ndarray((64, 20000), dtype=nl.float32, buffer=nl.sbuf)
        nisa.dma_copy(dst=row, src=x[:, columns])
        nisa.dma_copy(dst=out[:, columns], src=row)
    return out
""",
    )
)


def _psum_tile_size(storage: Storage, target: Target) -> Iterator[Check]:
    if storage.buffer is not Buffer.PSUM:
        return
    size = kit.tile_bytes(storage)
    name = _name(storage)
    yield storage_check(
        storage,
        "shape",
        E.le(size, target.psum_bytes),
        f"bytes of {name} per partition <= {target.psum_bytes}",
        f"{name} is larger than PSUM",
        "B05",
        values=((f"bytes of {name} per partition", size),),
        help=(f"PSUM has {target.psum_banks} banks of {target.psum_bank_bytes} bytes",),
    )


register(
    Rule(
        id="psum-tile-size",
        code="NKI305",
        family="allocation",
        summary="one PSUM tile fits into the bytes of a partition",
        reason=(
            "A partition of PSUM has 16 KiB in eight banks of 2 KiB. A tile with more bytes per "
            "partition cannot be placed."
        ),
        facts=("B05",),
        on="storage",
        check=_psum_tile_size,
        sources=("Trainium/Inferentia2 architecture, near-memory accumulation in PSUM",),
        failing="""\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def zeros():
    out = nl.ndarray((16, 5000), dtype=nl.float32, buffer=nl.shared_hbm)
    acc = nl.ndarray((16, 5000), dtype=nl.float32, buffer=nl.psum)
    nisa.memset(dst=acc, value=0.0)
    held = nl.ndarray((16, 5000), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_copy(dst=held, src=acc)
    nisa.dma_copy(dst=out, src=held)
    return out
""",
        passing="""\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def zeros():
    out = nl.ndarray((16, 500), dtype=nl.float32, buffer=nl.shared_hbm)
    acc = nl.ndarray((16, 500), dtype=nl.float32, buffer=nl.psum)
    nisa.memset(dst=acc, value=0.0)
    held = nl.ndarray((16, 500), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_copy(dst=held, src=acc)
    nisa.dma_copy(dst=out, src=held)
    return out
""",
    )
)

# ----------------------------------------------------------------------------- banks


def byte_range(view: View) -> tuple[Expr, Expr] | None:
    """First and last byte per partition that a view touches, from the start of its tile."""
    if not view.exact or view.indirect or view.frame_partition is None:
        return None
    axis = view.frame_partition
    first: Expr = E.const(0)
    step: Expr = E.const(1)
    for position in range(len(view.frame) - 1, axis, -1):
        first = first + view.coords[position] * step
        step = step * view.frame[position]
    low = E.Substitution({a.symbol: E.const(0) for a in view.axes}).expr(first)
    high = E.Substitution({a.symbol: a.size - 1 for a in view.axes}).expr(first)
    size = view.dtype.itemsize
    return low * size, high * size + size - 1


def _psum_bank_crossing(op: Operation, target: Target) -> Iterator[Check]:
    dst = op.view("dst")
    if dst is None or dst.buffer is not Buffer.PSUM or target.has(Capability.WIDE_SUMS):
        return
    bank = target.psum_bank_bytes
    size = dst.free_bytes
    yield kit.check(
        op,
        "dst",
        E.le(size, bank),
        f"bytes of dst per partition <= {bank}",
        "dst does not fit into one PSUM bank",
        "B04",
        "OQ04",
        values=(("bytes of dst per partition", size),),
        given=(E.le(dst.free, target.moving_free_max),),
        help=(f"one bank holds {bank // 4} float32 elements per partition",),
    )
    touched = byte_range(dst)
    whole = kit.tile_bytes(dst.storage)
    if touched is None or whole is size:
        return
    first, last = touched
    if dst.storage.address is not None:
        first, last = first + dst.storage.address[1], last + dst.storage.address[1]
    same = E.eq(E.floordiv(first, bank), E.floordiv(last, bank))
    if dst.storage.address is None:
        same = E.or_(E.le(whole, bank), same)
    yield kit.check(
        op,
        "dst",
        same,
        "first and last byte of dst are in the same PSUM bank",
        "dst crosses the border between two PSUM banks",
        "B06",
        values=(("first byte of dst", first), ("last byte of dst", last)),
        given=(E.le(size, bank),),
        help=(f"start the tiles of a PSUM tensor at multiples of {bank} bytes",),
    )


register(
    Rule(
        id="psum-bank-crossing",
        code="NKI306",
        family="allocation",
        summary="one matmul writes into one PSUM bank",
        reason=(
            "A matmul accumulates into one bank of 2 KiB per partition. On trn1 and trn2 a "
            "destination that is larger, or that begins in one bank and ends in the next, cannot "
            "be addressed by one instruction."
        ),
        facts=("B04", "B06", "OQ04"),
        on="operation",
        concerns=kit.multiplies,
        check=_psum_bank_crossing,
        sources=("NKI tiling overview, tile-size constraints", "Direct allocation guide"),
        failing="""\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def two_products(left_t, right):
    assert left_t.shape == (128, 64) and right.shape == (128, 800)
    out = nl.ndarray((64, 800), dtype=nl.float32, buffer=nl.shared_hbm)
    a = nl.ndarray((128, 64), dtype=nl.bfloat16, buffer=nl.sbuf)
    b = nl.ndarray((128, 800), dtype=nl.bfloat16, buffer=nl.sbuf)
    nisa.dma_copy(dst=a, src=left_t)
    nisa.dma_copy(dst=b, src=right)
    acc = nl.ndarray((64, 800), dtype=nl.float32, buffer=nl.psum)
    for part in range(2):
        columns = slice(part * 400, (part + 1) * 400)
        nisa.nc_matmul(dst=acc[:, columns], stationary=a, moving=b[:, columns])
    held = nl.ndarray((64, 800), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_copy(dst=held, src=acc)
    nisa.dma_copy(dst=out, src=held)
    return out
""",
        passing="""\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def two_products(left_t, right):
    assert left_t.shape == (128, 64) and right.shape == (128, 1024)
    out = nl.ndarray((64, 1024), dtype=nl.float32, buffer=nl.shared_hbm)
    a = nl.ndarray((128, 64), dtype=nl.bfloat16, buffer=nl.sbuf)
    b = nl.ndarray((128, 1024), dtype=nl.bfloat16, buffer=nl.sbuf)
    nisa.dma_copy(dst=a, src=left_t)
    nisa.dma_copy(dst=b, src=right)
    acc = nl.ndarray((64, 1024), dtype=nl.float32, buffer=nl.psum)
    for part in range(2):
        columns = slice(part * 512, (part + 1) * 512)
        nisa.nc_matmul(dst=acc[:, columns], stationary=a, moving=b[:, columns])
    held = nl.ndarray((64, 1024), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_copy(dst=held, src=acc)
    nisa.dma_copy(dst=out, src=held)
    return out
""",
    )
)

# ----------------------------------------------------------------------------- placement


def _number(placement: Mapping[str, object], key: str) -> Expr | None:
    return kit.as_expr(placement.get(key))


def _psum_placement(storage: Storage, target: Target) -> Iterator[Check]:
    if storage.buffer is not Buffer.PSUM:
        return
    name = _name(storage)
    placement = storage.placement
    if kit.is_placed(storage):
        for key in ("base_addr", "base_partition"):
            value = _number(placement, key)
            if value is not None:
                yield storage_check(
                    storage,
                    key,
                    E.eq(value, 0),
                    f"{key} of {name} == 0",
                    f"{name} does not start at the beginning of a PSUM bank",
                    "B08",
                    values=((f"{key} of {name}", value),),
                )
        bank = _number(placement, "base_bank")
        if bank is not None:
            yield storage_check(
                storage,
                "base_bank",
                E.and_(E.ge(bank, 0), E.lt(bank, target.psum_banks)),
                f"0 <= base_bank of {name} < {target.psum_banks}",
                f"{name} lies in a PSUM bank that does not exist",
                "B08",
                values=((f"base_bank of {name}", bank),),
            )
        size = kit.tile_bytes(storage)
        yield storage_check(
            storage,
            "shape",
            E.le(size, target.psum_bank_bytes),
            f"bytes of {name} per partition <= {target.psum_bank_bytes}",
            f"a tile of {name} does not fit into one PSUM bank",
            "B08",
            values=((f"bytes of {name} per partition", size),),
        )
        return
    if storage.address is None:
        return
    offset = storage.address[1]
    size = kit.tile_bytes(storage)
    yield storage_check(
        storage,
        "address",
        kit.divisible(offset, target.psum_bank_bytes),
        f"byte offset of {name} is a multiple of {target.psum_bank_bytes}",
        f"{name} does not start at the beginning of a PSUM bank",
        "B07",
        values=((f"byte offset of {name}", offset),),
    )
    yield storage_check(
        storage,
        "address",
        E.and_(E.ge(offset, 0), E.le(offset + size, target.psum_bytes)),
        f"byte offset of {name} + its bytes <= {target.psum_bytes}",
        f"{name} reaches beyond the end of PSUM",
        "B07",
        values=((f"byte offset of {name}", offset), (f"bytes of {name} per partition", size)),
    )


register(
    Rule(
        id="psum-placement",
        code="NKI307",
        family="allocation",
        summary="a PSUM tile placed by hand starts at a bank",
        reason=(
            "Accumulation works on whole banks: a tile of PSUM starts at the first byte of one of "
            "the eight banks. A tile that starts within a bank shares it with its neighbour."
        ),
        facts=("B07", "B08"),
        on="storage",
        check=_psum_placement,
        sources=("NKI migration guide, improved allocation API", "Direct allocation guide"),
        failing="""\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def placed(left_t, right):
    assert left_t.shape == (128, 32) and right.shape == (128, 200)
    out = nl.ndarray((32, 200), dtype=nl.float32, buffer=nl.shared_hbm)
    a = nl.ndarray((128, 32), dtype=nl.bfloat16, buffer=nl.sbuf)
    b = nl.ndarray((128, 200), dtype=nl.bfloat16, buffer=nl.sbuf)
    nisa.dma_copy(dst=a, src=left_t)
    nisa.dma_copy(dst=b, src=right)
    acc = nl.ndarray((32, 200), dtype=nl.float32, buffer=nl.psum, address=(0, 1024))
    nisa.nc_matmul(dst=acc, stationary=a, moving=b)
    held = nl.ndarray((32, 200), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_copy(dst=held, src=acc)
    nisa.dma_copy(dst=out, src=held)
    return out
""",
        passing="""\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def placed(left_t, right):
    assert left_t.shape == (128, 32) and right.shape == (128, 200)
    out = nl.ndarray((32, 200), dtype=nl.float32, buffer=nl.shared_hbm)
    a = nl.ndarray((128, 32), dtype=nl.bfloat16, buffer=nl.sbuf)
    b = nl.ndarray((128, 200), dtype=nl.bfloat16, buffer=nl.sbuf)
    nisa.dma_copy(dst=a, src=left_t)
    nisa.dma_copy(dst=b, src=right)
    acc = nl.ndarray((32, 200), dtype=nl.float32, buffer=nl.psum, address=(0, 4096))
    nisa.nc_matmul(dst=acc, stationary=a, moving=b)
    held = nl.ndarray((32, 200), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_copy(dst=held, src=acc)
    nisa.dma_copy(dst=out, src=held)
    return out
""",
    )
)


def _sbuf_placement(storage: Storage, target: Target) -> Iterator[Check]:
    if storage.buffer is not Buffer.SBUF:
        return
    name = _name(storage)
    size = kit.tile_bytes(storage)
    base: Expr | None = None
    where = "address"
    if kit.is_placed(storage):
        partition = _number(storage.placement, "base_partition")
        if partition is not None:
            yield storage_check(
                storage,
                "base_partition",
                E.eq(partition, 0),
                f"base_partition of {name} == 0",
                f"{name} does not start at partition 0",
                "B09",
                values=((f"base_partition of {name}", partition),),
            )
        base = _number(storage.placement, "base_addr")
        where = "base_addr"
    elif storage.address is not None:
        base = storage.address[1]
    if base is None:
        return
    limit = target.sbuf_hard_bytes
    values = ((f"byte offset of {name}", base), (f"bytes of {name} per partition", size))
    yield storage_check(
        storage,
        where,
        E.and_(E.ge(base, 0), E.le(base + size, limit)),
        f"byte offset of {name} + its bytes <= {limit}",
        f"{name} reaches beyond the end of SBUF",
        "B02",
        values=values,
    )
    yield storage_check(
        storage,
        where,
        E.eq(E.mod(base, storage.dtype.itemsize), 0),
        f"byte offset of {name} is a multiple of its element size",
        f"{name} starts in the middle of an element",
        "B22",
        values=values,
        severity="warning",
        help=("addresses are in bytes, not in elements",),
    )


register(
    Rule(
        id="sbuf-placement",
        gather=True,
        code="NKI308",
        family="allocation",
        summary="an SBUF tile placed by hand lies within the partition",
        reason=(
            "Addresses count bytes within a partition. A tile placed by hand has to end before the "
            "partition does, on trn1 before the last 16 KiB, which the compiler keeps to itself."
        ),
        facts=("B02", "B09", "B22", "OQ01"),
        on="storage",
        check=_sbuf_placement,
        sources=("Direct allocation guide", "NKI language ndarray, address"),
        failing="""\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def high_address(x):
    assert x.shape == (128, 4096)
    out = nl.ndarray((128, 4096), dtype=nl.float32, buffer=nl.shared_hbm)
    tile = nl.ndarray((128, 4096), dtype=nl.float32, buffer=nl.sbuf, address=(0, 215040))
    nisa.dma_copy(dst=tile, src=x)
    nisa.dma_copy(dst=out, src=tile)
    return out
""",
        passing="""\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def low_address(x):
    assert x.shape == (128, 4096)
    out = nl.ndarray((128, 4096), dtype=nl.float32, buffer=nl.shared_hbm)
    tile = nl.ndarray((128, 4096), dtype=nl.float32, buffer=nl.sbuf, address=(0, 65536))
    nisa.dma_copy(dst=tile, src=x)
    nisa.dma_copy(dst=out, src=tile)
    return out
""",
    )
)


def _placement_start(storage: Storage, target: Target) -> Iterator[Check]:
    if storage.address is None or not storage.buffer.on_chip or not storage.shape:
        return
    axis = storage.partition_axis or 0
    start, count = storage.address[0], storage.shape[axis]
    name = _name(storage)
    half = target.partitions // 2
    yield storage_check(
        storage,
        "address",
        E.and_(start_predicate(start, count, target), E.le(start + count, target.partitions)),
        f"start partition of {name} is 0, or {half} with at most {half} partitions, or a "
        f"multiple of {target.quadrant} with at most {target.quadrant}",
        f"{name} is placed at a partition that its size does not allow",
        "L04",
        values=((f"start partition of {name}", start), (f"partitions of {name}", count)),
    )


register(
    Rule(
        id="placement-start",
        code="NKI309",
        family="allocation",
        summary="a tile placed by hand starts at a partition that its size allows",
        reason=(
            "Engines reach partitions in quadrants of 32: a tile of more than 64 partitions starts "
            "at partition 0, one of more than 32 at 0 or 64, a smaller one at any quadrant."
        ),
        facts=("L04",),
        on="storage",
        check=_placement_start,
        sources=("NKI language ndarray, address", "Direct allocation guide"),
        failing="""\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def shifted(x):
    assert x.shape == (48, 100)
    out = nl.ndarray((48, 100), dtype=nl.float32, buffer=nl.shared_hbm)
    tile = nl.ndarray((48, 100), dtype=nl.float32, buffer=nl.sbuf, address=(32, 0))
    nisa.dma_copy(dst=tile, src=x)
    nisa.dma_copy(dst=out, src=tile)
    return out
""",
        passing="""\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def shifted(x):
    assert x.shape == (48, 100)
    out = nl.ndarray((48, 100), dtype=nl.float32, buffer=nl.shared_hbm)
    tile = nl.ndarray((48, 100), dtype=nl.float32, buffer=nl.sbuf, address=(64, 0))
    nisa.dma_copy(dst=tile, src=x)
    nisa.dma_copy(dst=out, src=tile)
    return out
""",
    )
)
