"""Accumulators of engines as a place: an element for each lane."""

from __future__ import annotations

from collections.abc import Iterator

from verifier.hardware.memories import Buffer
from verifier.hardware.targets import Target
from verifier.symbolic import expr as E
from verifier.symbolic.effects import ACCUMULATORS, Accumulation, AccumulatorFile
from verifier.symbolic.memory.index import Access
from verifier.symbolic.tensors import Axis, DType, Storage, StorageKind, View
from verifier.symbolic.trace import Operation, Trace


def registers_of(operation: Operation) -> AccumulatorFile | None:
    """The accumulators that an operation uses."""
    instruction = operation.instruction
    return instruction.footprint.accumulators if instruction is not None else None


def file_of(name: str, trace: Trace, target: Target) -> Storage:
    """The accumulators of an engine: an element for each lane.

    That they are set before they are added to is said elsewhere, not where tensors are read.
    """
    return Storage(
        id=-1,
        name=name,
        buffer=Buffer.SBUF,
        dtype=DType.named("float32"),
        shape=(E.const(target.partitions),),
        partition_axis=0,
        span=trace.span,
        kind=StorageKind.ALLOC,
        initialised=True,
    )


def lanes_of(
    operation: Operation, registers: AccumulatorFile, file: Storage, trace: Trace
) -> Access:
    """The accumulators of the lanes that the data of a call streams through."""
    data = operation.view(registers.lanes)
    first = data.start_partition if data is not None else None
    step = data.partition_step if data is not None else None
    count = data.partitions if data is not None else file.shape[0]
    axis = Axis(lane(), count)
    loops = (*trace.grid, *(loop for loop in operation.loops if loop not in trace.grid))
    known = first is not None and (step is not None or count is E.const(1))
    start = E.const(0) if first is None else first
    stride = E.const(1) if step is None else step
    view = View(
        storage=file,
        instance=(),
        frame=file.shape,
        frame_partition=0,
        axes=(axis,),
        coords=(start + axis.index * stride,),
        dtype=file.dtype,
        exact=known,
        reason="" if known else "which lanes a call uses is not known",
    )
    return Access(operation, ACCUMULATORS, view, loops)


def lane() -> E.Sym:
    """A symbol for a lane."""
    symbol = E.fresh("lane", 0, None, E.Origin.AXIS).as_atom()
    assert isinstance(symbol, E.Sym)
    return symbol


def accumulating(trace: Trace, target: Target) -> Iterator[tuple[Access, Accumulation]]:
    """The calls that set accumulators, add to them or read them out, in program order.

    Those of which it is not followed what they do are left out: nothing goes on from them unsaid.
    """
    files: dict[str, Storage] = {}
    for operation in sorted(trace.operations, key=lambda op: op.order):
        registers = registers_of(operation)
        used = registers.used(operation) if registers is not None else None
        if registers is None or used is None:
            continue
        if used.begins or used.continues:
            file = files.setdefault(registers.name, file_of(registers.name, trace, target))
            yield lanes_of(operation, registers, file, trace), used
