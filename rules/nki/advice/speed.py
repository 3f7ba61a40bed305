"""What would be faster."""

from __future__ import annotations

from collections.abc import Iterator

from rules.nki import kinds, kit
from rules.nki.advice.common import advise, copies, examples, moves, note, streams, tile
from rules.nki.operands.access import free_pattern
from rules.nki.samples import Examples, kernel
from verifier.hardware.engines import Engine
from verifier.hardware.memories import Buffer
from verifier.hardware.targets import Target
from verifier.symbolic import expr as E
from verifier.symbolic.checks import Check
from verifier.symbolic.instruction import Trait
from verifier.symbolic.trace import Operation

# ------------------------------------------------------------------------------- transfers


def _small_transfer(operation: Operation, target: Target) -> Iterator[Check]:
    for role, view in kit.tiles(operation):
        size = view.free_bytes
        good, least = target.dma_bytes_good, target.dma_bytes_least
        yield note(
            operation,
            E.ge(size, good),
            f"bytes per partition of {role} >= {good}",
            f"the transfer moves fewer than {good} bytes per partition",
            f"gather transfers into one of {good} bytes and more: below {least} bytes starting one "
            f"takes all of the time, and the bandwidth falls with the size",
            "D13",
            "H63",
            role=role,
            values=((f"bytes per partition of {role}", size),),
        )
        return


advise(
    "advice-dma-size",
    1,
    "a transfer moves at least 2 KiB per partition",
    "Each descriptor of a DMA has a fixed cost: transfers of less than 256 bytes per partition "
    "take as long as their start, 2 KiB use most of the bandwidth, and 4 KiB all of it.",
    ("D13", "H63"),
    _small_transfer,
    Examples(
        kernel("small", {"x": ((128, 40), "float32")}, ((128, 40), "float32"), "result = x_tile"),
        kernel("large", {"x": ((128, 640), "float32")}, ((128, 640), "float32"), "result = x_tile"),
    ),
    ("NKI DMA bandwidth guide", "NKI performance guide, optimisation 9"),
    concerns=moves,
)


# ------------------------------------------------------------------------------- operands


def _wide_step(operation: Operation, target: Target) -> Iterator[Check]:
    for role, view in kit.tiles(operation):
        pattern = free_pattern(view)
        if not pattern:
            continue
        size, stride = pattern[-1]
        step, most = stride * view.dtype.itemsize, target.stride_bytes_full
        yield note(
            operation,
            E.or_(E.le(size, 1), E.le(step, most)),
            f"innermost step of {role} in bytes <= {most}",
            f"{role} is read or written in steps of more than {most} bytes",
            "lay the tile out so that the innermost dimension is contiguous: wider steps halve "
            "the bandwidth of SBUF and PSUM",
            "A09",
            "H56",
            role=role,
            values=((f"innermost step of {role} in bytes", step),),
        )


advise(
    "advice-stride",
    2,
    "the innermost step of an operand is at most 16 bytes",
    "Memory on the chip is read in lines: elements that lie more than 16 bytes apart take twice "
    "the time.",
    ("A09", "H56"),
    _wide_step,
    examples(
        (128, 640),
        "float32",
        "nisa.tensor_copy(dst=result, src=x_tile[:, 0:640:8])",
        "nisa.tensor_copy(dst=result, src=x_tile[:, 0:80])",
        ((128, 80), "float32"),
    ),
    ("NKI architecture guide, performance consideration of access patterns",),
    concerns=streams,
)


def _few_partitions(operation: Operation, target: Target) -> Iterator[Check]:
    view = tile(operation)
    if view is None:
        return
    count, most = view.partitions, target.partitions
    yield note(
        operation,
        E.gt(count * 2, most),
        f"partitions in use > {most // 2}",
        f"{operation.call_text} uses at most half of the {most} partitions",
        "fold a part of the free dimension into the partitions: an instruction takes as long for "
        "one as for all of them, and DMA uses an engine for each 8",
        "P16",
        "H62",
        values=(("partitions in use", count),),
    )


advise(
    "advice-partitions",
    3,
    "an instruction uses more than half of the partitions",
    "The lanes of an engine work side by side: an instruction on 64 partitions or fewer takes as "
    "long as one on 128, and leaves the other lanes idle.",
    ("P16", "H62"),
    _few_partitions,
    Examples(
        *(
            kernel(
                "twice",
                {"x": ((rows, 640), "float32")},
                ((rows, 640), "float32"),
                "nisa.tensor_scalar(dst=result, data=x_tile, op0=nl.multiply, operand0=2.0)",
            )
            for rows in (64, 65)
        )
    ),
    ("NKI architecture guide, performance consideration",),
    concerns=streams,
)


# ------------------------------------------------------------------------------- engines


def _single_product(operation: Operation, target: Target) -> Iterator[Check]:
    moving, stationary = operation.view("moving"), operation.view("stationary")
    if moving is None or stationary is None or kit.flag(operation, "is_transpose") is E.TRUE:
        return
    yield note(
        operation,
        E.not_(E.and_(moving.dtype.among(kit.FP32), stationary.dtype.among(kit.FP32))),
        "the factors are not both float32",
        f"a product of float32 takes {target.single_passes} passes of the array",
        f"load the factors as bfloat16, which takes a {target.single_passes}th of the time; sums "
        "are float32 in any case",
        "MMU29",
        role="moving",
    )


def _product(dtype: str) -> str:
    return kernel(
        "multiplied",
        {"a": ((128, 128), dtype), "b": ((128, 512), dtype)},
        ((128, 512), "float32"),
        """
        sums = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.psum)
        nisa.nc_matmul(dst=sums, stationary=a_tile, moving=b_tile)
        nisa.tensor_copy(dst=result, src=sums)
        """,
    )


advise(
    "advice-float32-product",
    4,
    "a product has factors of 16 bits or fewer",
    "The array multiplies floats of 16 bits; float32 is made of parts, in four passes.",
    ("MMU29",),
    _single_product,
    Examples(_product("float32"), _product("bfloat16")),
    ("NKI ISA reference, nc_matmul",),
    concerns=kit.multiplies,
)


def _slow_evacuation(operation: Operation, target: Target) -> Iterator[Check]:
    source = operation.view("src")
    slow = operation.engine is Engine.SCALAR and target.scalar_width < target.vector_width
    if source is None or source.buffer is not Buffer.PSUM or not slow:
        return
    times = target.vector_width // target.scalar_width
    yield note(
        operation,
        E.FALSE,
        "PSUM is copied by the fastest engine",
        f"the Scalar Engine copies PSUM at 1/{times} of the rate of the Vector Engine",
        f"leave the engine out, or ask for `nisa.vector_engine`: {target.vector_width} elements "
        f"per cycle, not {target.scalar_width}; the Scalar Engine is right where the other is busy",
        "H24",
        "H25",
        role="engine",
    )


def _evacuated(engine: str) -> str:
    return _product("bfloat16").replace("src=sums)", f"src=sums, engine=nisa.engine.{engine})")


advise(
    "advice-evacuation",
    5,
    "sums leave PSUM by the fastest engine",
    "The Vector Engine moves 256 elements of float32 per cycle on trn2 and newer, the Scalar "
    "Engine 128: a copy by the latter holds the bank twice as long.",
    ("H24", "H25"),
    _slow_evacuation,
    Examples(_evacuated("scalar"), _evacuated("vector")),
    ("NKI architecture guides, engine tables",),
    concerns=copies,
)


def _slow_reciprocal(operation: Operation, target: Target) -> Iterator[Check]:
    data = operation.view("data")
    if data is None:
        return
    cycles = target.reciprocal_cycles
    yield note(
        operation,
        E.le(data.free * (cycles - 1), target.start_cycles),
        f"{cycles} cycles for each of free elements of data fit into the start of an instruction",
        f"the Vector Engine takes {cycles} cycles for each reciprocal",
        "where the precision allows, compute it with `nisa.activation(op=nl.reciprocal)`: one "
        "cycle for each element",
        "RCP02",
        role="data",
        values=(("elements per partition", data.free),),
    )


advise(
    "advice-reciprocal",
    6,
    "reciprocals of large tiles are computed by the Scalar Engine",
    "The Vector Engine divides step by step, about 8 cycles per element; the Scalar Engine looks "
    "reciprocals up in a table.",
    ("RCP02",),
    _slow_reciprocal,
    examples(
        (128, 640),
        "float32",
        "nisa.reciprocal(dst=result, data=x_tile)",
        "nisa.activation(dst=result, op=nl.reciprocal, data=x_tile)",
    ),
    ("NKI engine selection guide",),
    operations=("isa.reciprocal",),
)

# ------------------------------------------------------------------------------- other means


def _on_chip_transfer(operation: Operation, target: Target) -> Iterator[Check]:
    source, into = operation.view("src"), operation.view("dst")
    if source is None or into is None:
        return
    inside = source.buffer is Buffer.SBUF and into.buffer is Buffer.SBUF
    rows = source.start_partition is not into.start_partition
    yield note(
        operation,
        E.truth(not inside or rows or source.indirect or into.indirect),
        "a transfer leaves the chip, or changes partitions",
        "a DMA copies within SBUF, where an engine copies faster",
        "use `nisa.tensor_copy`: no descriptor, and no trip through a queue",
        "D14",
    )


advise(
    "advice-dma-on-chip",
    11,
    "a copy within SBUF is made by an engine",
    "A DMA from SBUF to SBUF is legal, and slower than a copy by an engine.",
    ("D14",),
    _on_chip_transfer,
    examples(
        (128, 640),
        "float32",
        "nisa.dma_copy(dst=result, src=x_tile)",
        "nisa.tensor_scalar(dst=result, data=x_tile, op0=nl.multiply, operand0=2.0)",
    ),
    ("NKI ISA reference, dma_copy",),
    concerns=kinds.with_traits(Trait.DMA, Trait.COPIES),
)


def _old_form(operation: Operation, target: Target) -> Iterator[Check]:
    since = kit.described(operation).succeeded
    if since is None:
        return
    yield note(
        operation,
        E.truth(not operation.generation.at_least(since.generation)),
        "activation is given the command",
        "activation_reduce is there for compatibility",
        "write `nisa.activation` with `reduce_cmd=` and `reduce_res=`",
        since.fact,
    )


def _exponentials(call: str) -> str:
    more = "sums = nl.ndarray((128, 1), dtype=nl.float32, buffer=nl.sbuf)\n"
    given = "dst=result, op=nl.exp, data=x_tile, reduce_op=nl.add, reduce_res=sums"
    after = "\nnisa.tensor_scalar(dst=result, data=result, op0=nl.multiply, operand0=sums)"
    return f"{more}nisa.{call.replace('$', given)}{after}"


advise(
    "advice-activation-reduce",
    12,
    "sums of activations are made by nisa.activation",
    "`activation_reduce` is kept for older kernels; `activation` has the same reduction, and says "
    "what becomes of the sums.",
    ("ACR06",),
    _old_form,
    examples(
        (128, 640),
        "float32",
        _exponentials("activation_reduce($)"),
        _exponentials("activation($, reduce_cmd=nisa.reduce_cmd.reset_reduce)"),
    ),
    ("NKI ISA reference, activation_reduce",),
    concerns=lambda i: i.succeeded is not None,
)
