"""Work whose result nothing needs."""

from __future__ import annotations

from collections.abc import Iterator

from rules.nki.advice.common import advise, copies, examples, note
from verifier.hardware.memories import Buffer
from verifier.hardware.targets import Target
from verifier.symbolic import expr as E
from verifier.symbolic.checks import Check
from verifier.symbolic.instruction import Trait
from verifier.symbolic.tensors import StorageKind, View
from verifier.symbolic.trace import LedgerKind, Operation, Trace

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
        yield note(
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
    examples(
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


def _found_again(trace: Trace, target: Target) -> Iterator[Check]:
    """A search finds what one before it found: nothing has changed its tile since."""
    if trace.unmodelled or any(entry.kind is LedgerKind.SKIPPED for entry in trace.ledger):
        return  # what is not followed may change anything
    last: dict[int, Operation] = {}
    for operation in trace.operations:
        source = operation.view("src")
        described = operation.instruction
        if described is not None and Trait.SEARCHES in described.traits and _whole(source):
            assert source is not None
            before = last.get(id(source.storage))
            if before is not None and _together(before, operation):
                yield _the_same(source, before, operation)
            last[id(source.storage)] = operation
        for _, view in operation.writes:
            last.pop(id(view.storage), None)


def _the_same(source: View, before: Operation, operation: Operation) -> Check:
    return note(
        operation,
        E.FALSE,
        f"`{source.name}` has changed since `{before.call_text}` searched it",
        f"`{operation.call_text}` finds the same elements of `{source.name}` again",
        "search what `nisa.nc_match_replace8` has left of it, or use what was found",
        "TOP09",
    )


def _whole(view: View | None) -> bool:
    """Whether it is all of a tile, of which there is one."""
    return (
        view is not None
        and view.exact
        and view.shape == view.storage.shape
        and not view.storage.loops
    )


def _together(first: Operation, then: Operation) -> bool:
    """Whether an operation runs whenever the other one does, and as often."""
    return first.loops == then.loops and first.path == then.path


advise(
    "advice-search",
    17,
    "a search is made again only of what has changed",
    "The eight largest elements of a tile are the same until it is written to. What takes them out "
    "writes to another tile: that is the one to be searched next.",
    ("TOP09",),
    None,
    examples(
        (128, 640),
        "float32",
        "most = nl.ndarray((128, 8), dtype=nl.float32, buffer=nl.sbuf)\n"
        "nisa.max8(dst=most, src=x_tile)\n"
        "nisa.nc_match_replace8(dst=result, data=x_tile, vals=most, imm=-3.0e38)\n"
        "nisa.max8(dst=most, src=x_tile)\n"
        "nisa.nc_match_replace8(dst=result, data=result, vals=most, imm=-3.0e38)",
        "most = nl.ndarray((128, 8), dtype=nl.float32, buffer=nl.sbuf)\n"
        "nisa.max8(dst=most, src=x_tile)\n"
        "nisa.nc_match_replace8(dst=result, data=x_tile, vals=most, imm=-3.0e38)\n"
        "nisa.max8(dst=most, src=result)\n"
        "nisa.nc_match_replace8(dst=result, data=result, vals=most, imm=-3.0e38)",
    ),
    ("NKI ISA max8, nc_match_replace8",),
    of_trace=_found_again,
)


def _copied(trace: Trace, target: Target) -> Iterator[Check]:
    writes: dict[int, list[Operation]] = {}
    for operation in trace.operations:
        for _, view in operation.writes:
            writes.setdefault(id(view.storage), []).append(operation)
    for operation in trace.operations:
        source, into = operation.view("src"), operation.view("dst")
        described = operation.instruction
        if described is None or not copies(described) or source is None or into is None:
            continue
        if not _is_view(source, into) or writes.get(id(into.storage), []) != [operation]:
            continue
        if any(each.order > operation.order for each in writes.get(id(source.storage), [])):
            continue
        yield note(
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
    placed = into.storage.address is not None or into.storage.placed
    return same and plain and inside and not placed


advise(
    "advice-copy",
    9,
    "a tile is not copied where a view of it would do",
    "A view of a tile is free. A copy within SBUF that keeps the type, and whose source and result "
    "nobody writes afterwards, holds the same elements twice.",
    ("X02", "H57"),
    None,
    examples(
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
