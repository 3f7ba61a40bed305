"""What would be faster or more precise: nothing that it speaks of is wrong.

Advice is given where somebody selects it, and where it is good for every input; it is a note, which
no status and no precondition depends on. Each names the cost as the documentation has it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final

from rules.nki import kinds, kit
from rules.nki.kit import register
from rules.nki.operands.access import free_pattern
from rules.nki.samples import Examples, Shape, kernel
from verifier.hardware.engines import Engine
from verifier.hardware.memories import Buffer
from verifier.hardware.targets import Target
from verifier.rulebase import ADVICE, COMPILED, Check, Rule
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.instruction import Instruction, Trait
from verifier.symbolic.tensors import StorageKind, View
from verifier.symbolic.trace import LedgerKind, Operation, Trace

#: operators that compute, where 32 bits go through float32
_ARITHMETIC: Final = frozenset({"add", "subtract", "multiply", "divide", "power"})


def _advice(
    operation: Operation,
    predicate: Bool,
    text: str,
    message: str,
    help: str,
    *facts: str,
    role: str = "",
    values: tuple[tuple[str, Expr], ...] = (),
) -> Check:
    return Check(
        predicate=predicate,
        span=operation.span_of(role),
        text=text,
        message=message,
        facts=kit.catalogue(facts),
        values=values,
        help=(help,),
        severity="note",
        given=tuple(loop.within for loop in operation.loops),
        path=operation.path,
        order=operation.order,
    )


def advise(
    id: str,
    number: int,
    summary: str,
    reason: str,
    facts: tuple[str, ...],
    check: Callable[[Operation, Target], Iterator[Check]] | None,
    examples: Examples,
    sources: tuple[str, ...],
    *,
    concerns: Callable[[Instruction], bool] | None = None,
    enforces: Callable[[Instruction], Iterable[str]] | None = None,
    operations: tuple[str, ...] = (),
    of_trace: Callable[[Trace, Target], Iterator[Check]] | None = None,
) -> None:
    register(
        Rule(
            id=id,
            code=f"ADV{number:03d}",
            family=ADVICE,
            summary=summary,
            reason=reason,
            facts=facts,
            on="operation" if of_trace is None else "trace",
            check=check if of_trace is None else of_trace,
            concerns=concerns,
            enforces=enforces,
            operations=operations,
            replayed=COMPILED,
            severity="note",
            learns=False,
            infer_dtypes=False,
            sources=sources,
            failing=examples.failing,
            passing=examples.passing,
        )
    )


def _examples(
    shape: Shape, dtype: str, wrong: str, right: str, other: tuple[Shape, str] | None = None
) -> Examples:
    """Two kernels that load ``x`` and make ``result`` of it in another way."""
    inputs = {"x": (shape, dtype)}
    result = (shape, dtype) if other is None else other
    return Examples(*(kernel("made", inputs, result, body) for body in (wrong, right)))


def _moves(instruction: Instruction) -> bool:
    return Trait.DMA in instruction.traits


def _copies(instruction: Instruction) -> bool:
    return Trait.COPIES in instruction.traits and instruction.computes


def _streams(instruction: Instruction) -> bool:
    return instruction.computes


def _tile(operation: Operation) -> View | None:
    """The tile that decides how long an instruction takes: the widest that is known."""
    found = [view for _, view in kit.tiles(operation)]
    return max(found, key=lambda view: view.free.const if view.free.is_const else 0, default=None)


# ------------------------------------------------------------------------------- transfers


def _small_transfer(operation: Operation, target: Target) -> Iterator[Check]:
    for role, view in kit.tiles(operation):
        size = view.free_bytes
        good, least = target.dma_bytes_good, target.dma_bytes_least
        yield _advice(
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
    concerns=_moves,
)


# ------------------------------------------------------------------------------- operands


def _wide_step(operation: Operation, target: Target) -> Iterator[Check]:
    for role, view in kit.tiles(operation):
        pattern = free_pattern(view)
        if not pattern:
            continue
        size, stride = pattern[-1]
        step, most = stride * view.dtype.itemsize, target.stride_bytes_full
        yield _advice(
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
    _examples(
        (128, 640),
        "float32",
        "nisa.tensor_copy(dst=result, src=x_tile[:, 0:640:8])",
        "nisa.tensor_copy(dst=result, src=x_tile[:, 0:80])",
        ((128, 80), "float32"),
    ),
    ("NKI architecture guide, performance consideration of access patterns",),
    concerns=_streams,
)


def _few_partitions(operation: Operation, target: Target) -> Iterator[Check]:
    view = _tile(operation)
    if view is None:
        return
    count, most = view.partitions, target.partitions
    yield _advice(
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
    concerns=_streams,
)


# ------------------------------------------------------------------------------- engines


def _single_product(operation: Operation, target: Target) -> Iterator[Check]:
    moving, stationary = operation.view("moving"), operation.view("stationary")
    if moving is None or stationary is None or kit.flag(operation, "is_transpose") is E.TRUE:
        return
    yield _advice(
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
    yield _advice(
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
    concerns=_copies,
)


def _slow_reciprocal(operation: Operation, target: Target) -> Iterator[Check]:
    data = operation.view("data")
    if data is None:
        return
    cycles = target.reciprocal_cycles
    yield _advice(
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
    _examples(
        (128, 640),
        "float32",
        "nisa.reciprocal(dst=result, data=x_tile)",
        "nisa.activation(dst=result, op=nl.reciprocal, data=x_tile)",
    ),
    ("NKI engine selection guide",),
    operations=("isa.reciprocal",),
)


# ------------------------------------------------------------------------------- precision


def _wide_integers(operation: Operation, target: Target) -> Iterator[Check]:
    if operation.engine not in (Engine.VECTOR, Engine.SCALAR):
        return
    named = {
        kit.operator_name(operation.value(role))
        for role in ("op", "op0")
        if role in operation.operands
    }
    tiles = [view for _, view in kit.tiles(operation)]
    if not tiles or named.isdisjoint(_ARITHMETIC):
        return
    yield _advice(
        operation,
        E.not_(E.and_(*(view.dtype.among(kit.INT32) for view in tiles))),
        "integers of 32 bits are not computed in float32",
        f"{operation.call_text} computes integers of 32 bits in float32, exact up to 2**24",
        "ask for `engine=nisa.engine.gpsimd`, which computes them as integers",
        "T03",
        "T04",
        "TTN06",
    )


advise(
    "advice-integer-precision",
    7,
    "integers of 32 bits are computed by the GpSimd Engine",
    "Arithmetic of the Vector and the Scalar Engine is in float32, which holds integers up to "
    "2**24 exactly; the GpSimd Engine has integers of 32 bits.",
    ("T03", "T04", "TTN06"),
    _wide_integers,
    _examples(
        (128, 640),
        "int32",
        "nisa.tensor_tensor(dst=result, data1=x_tile, data2=x_tile, op=nl.add, "
        "engine=nisa.engine.vector)",
        "nisa.tensor_tensor(dst=result, data1=x_tile, data2=x_tile, op=nl.add, "
        "engine=nisa.engine.gpsimd)",
    ),
    ("NKI ISA reference, tensor_tensor",),
    concerns=lambda i: Engine.GPSIMD in i.engines.on_request and bool(i.operators),
)


def _converted(operation: Operation, target: Target) -> Iterator[Check]:
    source = operation.view("src") or operation.view("on_true_tile")
    into = operation.view("dst")
    if source is None or into is None:
        return
    wide = E.and_(source.dtype.among(kit.INT32), E.not_(source.dtype.same(into.dtype)))
    yield _advice(
        operation,
        E.not_(wide),
        "integers of 32 bits keep their type",
        f"{operation.call_text} converts integers of 32 bits through float32, exact up to 2**24",
        "keep the type, or make sure that the values are small",
        kit.described(operation).converts,
        values=(("bits of the source", source.dtype.bits),),
    )


advise(
    "advice-conversion",
    10,
    "integers of 32 bits are copied without a conversion",
    "A conversion goes through float32, which holds integers up to 2**24 exactly.",
    (),
    _converted,
    _examples(
        (128, 640),
        "int32",
        "nisa.tensor_copy(dst=result, src=x_tile)",
        "part = nl.ndarray((128, 640), dtype=nl.int32, buffer=nl.sbuf)\n"
        "nisa.tensor_copy(dst=part, src=x_tile)\n"
        "nisa.memset(dst=result, value=1.0)",
        ((128, 640), "float32"),
    ),
    ("NKI ISA reference, tensor_copy, affine_select",),
    enforces=lambda i: (i.converts,) if i.converts else (),
)


# ------------------------------------------------------------------------------- other means


def _on_chip_transfer(operation: Operation, target: Target) -> Iterator[Check]:
    source, into = operation.view("src"), operation.view("dst")
    if source is None or into is None:
        return
    inside = source.buffer is Buffer.SBUF and into.buffer is Buffer.SBUF
    rows = source.start_partition is not into.start_partition
    yield _advice(
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
    _examples(
        (128, 640),
        "float32",
        "nisa.dma_copy(dst=result, src=x_tile)",
        "nisa.tensor_scalar(dst=result, data=x_tile, op0=nl.multiply, operand0=2.0)",
    ),
    ("NKI ISA reference, dma_copy",),
    concerns=kinds.with_traits(Trait.DMA, Trait.COPIES),
)


def _old_form(operation: Operation, target: Target) -> Iterator[Check]:
    yield _advice(
        operation,
        E.truth(not kit.at_least(operation.api, "0.2")),
        "activation is given the command",
        "activation_reduce is there for compatibility",
        "write `nisa.activation` with `reduce_cmd=` and `reduce_res=`",
        "ACR06",
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
    _examples(
        (128, 640),
        "float32",
        _exponentials("activation_reduce($)"),
        _exponentials("activation($, reduce_cmd=nisa.reduce_cmd.reset_reduce)"),
    ),
    ("NKI ISA reference, activation_reduce",),
    operations=("isa.activation_reduce",),
)


# ------------------------------------------------------------------------------- dead work


def _unused(trace: Trace, target: Target) -> Iterator[Check]:
    if trace.dies or trace.opaque_return or trace.unmodelled:
        return
    if any(entry.kind is LedgerKind.SKIPPED for entry in trace.ledger):
        return  # what is not followed may use anything
    used = {id(view.storage) for op in trace.operations for _, view in op.reads}
    used |= {id(view.storage) for _, views, _ in trace.returns for view in views}
    for operation in trace.operations:
        written = [view for _, view in operation.writes]
        if not written or any(id(view.storage) in used for view in written):
            continue
        if any(view.buffer.off_chip or view.storage.kind is StorageKind.INPUT for view in written):
            continue
        size = _work(written)
        yield _advice(
            operation,
            E.FALSE,
            f"what {operation.call_text} makes is used",
            f"nothing reads what `{operation.call_text}` writes",
            f"leave it out{size}",
            "H57",
        )


def _work(written: list[View]) -> str:
    """What is written in vain, in words, where that is known."""
    sizes = [view.free_bytes for view in written]
    total = sum(size.const for size in sizes if size.is_const)
    known = all(size.is_const for size in sizes)
    return f": {total} bytes per partition are moved or computed in vain" if known else ""


advise(
    "advice-unused",
    8,
    "what is loaded or computed is used",
    "A transfer or an instruction whose result nothing reads takes its time, at least the 64 "
    "cycles that starting an instruction takes, and holds its memory.",
    ("H57",),
    None,
    _examples(
        (128, 640),
        "float32",
        "nisa.tensor_scalar(dst=result, data=x_tile, op0=nl.multiply, operand0=2.0)\n"
        "spare = nl.ndarray((128, 640), dtype=nl.float32, buffer=nl.sbuf)\n"
        "nisa.dma_copy(dst=spare, src=x)",
        "nisa.tensor_scalar(dst=result, data=x_tile, op0=nl.multiply, operand0=2.0)",
    ),
    ("NKI architecture guide",),
    of_trace=_unused,
)


def _copied(trace: Trace, target: Target) -> Iterator[Check]:
    writes: dict[int, list[Operation]] = {}
    for operation in trace.operations:
        for _, view in operation.writes:
            writes.setdefault(id(view.storage), []).append(operation)
    for operation in trace.operations:
        source, into = operation.view("src"), operation.view("dst")
        described = operation.instruction
        if described is None or not _copies(described) or source is None or into is None:
            continue
        if not _is_view(source, into) or writes.get(id(into.storage), []) != [operation]:
            continue
        if any(each.order > operation.order for each in writes.get(id(source.storage), [])):
            continue
        yield _advice(
            operation,
            E.not_(source.dtype.same(into.dtype)),
            "the copy changes something",
            f"`{into.name}` is a copy of a part of `{source.name}`, which nothing changes",
            f"use the view of `{source.name}` in its place: that costs nothing, where the copy "
            f"costs {target.start_cycles} cycles and more",
            "X02",
            "H57",
        )


def _is_view(source: View, into: View) -> bool:
    """Whether a view of a tile does for a copy: in the same memory, lanes and iteration."""
    same = source.buffer is Buffer.SBUF and into.buffer is Buffer.SBUF
    plain = source.exact and into.exact and source.start_partition is into.start_partition
    inside = source.storage.loops == into.storage.loops
    placed = into.storage.address is not None or kit.is_placed(into.storage)
    return same and plain and inside and not placed


advise(
    "advice-copy",
    9,
    "a tile is not copied where a view of it would do",
    "A view of a tile is free. A copy within SBUF that keeps the type, and whose source and result "
    "nobody writes afterwards, holds the same elements twice.",
    ("X02", "H57"),
    None,
    _examples(
        (128, 640),
        "float32",
        "part = nl.ndarray((128, 320), dtype=nl.float32, buffer=nl.sbuf)\n"
        "nisa.tensor_copy(dst=part, src=x_tile[:, 0:320])\n"
        "nisa.tensor_scalar(dst=result, data=part, op0=nl.multiply, operand0=2.0)",
        "nisa.tensor_scalar(dst=result, data=x_tile[:, 0:320], op0=nl.multiply, operand0=2.0)",
        ((128, 320), "float32"),
    ),
    ("NKI language guide, anatomy of a tensor",),
    of_trace=_copied,
)
