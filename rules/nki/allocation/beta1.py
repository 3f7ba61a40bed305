"""Tensors of Beta 1: where one may be made, how far its name reaches, and who places it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from rules.beta1 import TWINS
from rules.nki import kit
from rules.nki.allocation.tensors import tensor_name
from rules.nki.kit import register
from rules.nki.samples import variants
from verifier.hardware.memories import Buffer
from verifier.hardware.targets import Target
from verifier.rulebase import COMPILED, On, Rule
from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.checks import Check, Note
from verifier.symbolic.expr import Origin
from verifier.symbolic.memory.index import loops_left
from verifier.symbolic.tensors import Storage, StorageKind, View
from verifier.symbolic.trace import Operation, Trace, Turn

#: loops whose bodies are traced once, and have tensors of their own
#: what a program makes itself
_MADE = (StorageKind.ALLOC, StorageKind.RESULT)


def _of_storage(
    storage: Storage,
    argument: str,
    text: str,
    message: str,
    facts: tuple[str, ...],
    help: str,
    severity: str | None = None,
) -> Check:
    """A check of an allocation that does not hold, where it stands."""
    return Check(
        predicate=E.FALSE,
        span=storage.argument_spans.get(argument, storage.span),
        text=text,
        message=message,
        facts=kit.catalogue(facts),
        given=tuple(loop.within for loop in storage.loops),
        help=(help,),
        path=storage.path,
        order=storage.order,
        severity=severity,
    )


# ------------------------------------------------------------------------------- creation


def _creation(trace: Trace, target: Target) -> Iterator[Check]:
    if not trace.generation.scoped:
        return
    for storage in trace.storages:
        if storage.kind is not StorageKind.ALLOC:
            continue
        name = tensor_name(storage)
        where = _place(trace, storage)
        if storage.buffer is Buffer.SHARED_HBM and where:
            yield _of_storage(
                storage,
                "buffer",
                f"{name} is made in the kernel's own body",
                f"`{name}` is made in shared_hbm {where}",
                ("B21", "E25"),
                "make it at the top level of the kernel, and pass it on",
            )
        if storage.initialised and storage.buffer.off_chip:
            yield _of_storage(
                storage,
                "buffer",
                f"{name} is made without a value",
                f"`{name}` is made in HBM with an initial value",
                ("L07", "E15"),
                "make it with `nl.ndarray`, and store the value to it with `nl.store`",
            )


def _place(trace: Trace, storage: Storage) -> str:
    """Where a tensor is made that is not made at the top level of its kernel, in words."""
    if storage.depth:
        return "in a function that the kernel calls"
    looped = any(loop.kind.scoped for loop in storage.loops)
    if looped or any(turn.around(storage.order) for turn in trace.turns):
        return "in a loop"
    decided = any(s.origin is Origin.LOOP for part in storage.path for s in part.free())
    return "under a condition" if decided else ""


_CREATION = variants(
    """\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def blocks(x):
    assert x.shape == (3, 72, 40) and x.dtype == nl.float32
+    out = nl.ndarray((3, 72, 40), dtype=x.dtype, buffer=nl.shared_hbm)
    for k in nl.affine_range(3):
-        out = nl.ndarray((3, 72, 40), dtype=x.dtype, buffer=nl.shared_hbm)
        nl.store(out[k], nl.load(x[k]))
-    result = nl.zeros((3, 72, 40), dtype=x.dtype, buffer=nl.shared_hbm)
-    return result
+    return out
"""
)
register(
    Rule(
        id="beta1-creation",
        code="NKI310",
        family="allocation",
        summary="tensors in HBM are made at the top level of the kernel, without a value",
        reason=(
            "The compiler of Beta 1 gives a kernel its outputs before anything runs: a shared_hbm "
            "tensor in a loop, under a condition on an index, or in a function that the kernel "
            "calls is rejected. Nothing fills memory outside of the chip but a store."
        ),
        facts=("B21", "L07", "E15", "E25"),
        on=On.TRACE,
        check=_creation,
        replayed=COMPILED,
        sources=("NKI Beta 1 error reference",),
        twins=TWINS["beta1-creation"],
        failing=_CREATION.failing,
        passing=_CREATION.passing,
    )
)


# ------------------------------------------------------------------------------- blocks


def _block_dimension(trace: Trace, target: Target) -> Iterator[Check]:
    for storage in trace.storages:
        if storage.kind is not StorageKind.ALLOC or not storage.partition_axis:
            continue
        if storage.placed:
            continue  # which blocks share memory is what allocators are told
        name = tensor_name(storage)
        yield _of_storage(
            storage,
            "shape",
            f"the partitions are the first dimension of {name}",
            f"`{name}` has blocks before its partitions, which SDK 2.25 and newer reject",
            ("P03", "L76", "E18"),
            "make the blocks a free dimension, or a Python list of tiles",
            severity="note" if trace.generation.had_blocks else "error",
        )


_BLOCKS = variants(
    """\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def both(x):
    assert x.shape == (72, 2, 40) and x.dtype == nl.float32
    out = nl.ndarray((72, 2, 40), dtype=x.dtype, buffer=nl.shared_hbm)
-    tiles = nl.ndarray((2, nl.par_dim(72), 40), dtype=x.dtype, buffer=nl.sbuf)
+    tiles = nl.ndarray((nl.par_dim(72), 2, 40), dtype=x.dtype, buffer=nl.sbuf)
    for k in nl.affine_range(2):
-        tiles[k] = nl.load(x[:, k])
-        nl.store(out[:, k], tiles[k])
+        tiles[:, k] = nl.load(x[:, k])
+        nl.store(out[:, k], tiles[:, k])
    return out
"""
)
register(
    Rule(
        id="block-dimension",
        code="NKI311",
        family="allocation",
        summary="the partitions are the first dimension of a tile",
        reason=(
            "Up to SDK 2.24 dimensions before `nl.par_dim` were blocks, each a tile of its own. "
            "The compiler warns of them from 2.24 on and rejects them from 2.25 on, and which "
            "SDK a kernel of Beta 1 is compiled with it does not say: this is a note. NKI 0.2, "
            "which still has `nl.par_dim`, is of SDK 2.27: an error."
        ),
        facts=("P03", "L76", "E18"),
        on=On.TRACE,
        check=_block_dimension,
        replayed=COMPILED,
        severity="note",
        sources=("NKI block dimension migration guide", "NKI Beta 1 error reference"),
        twins=TWINS["block-dimension"],
        failing=_BLOCKS.failing,
        passing=_BLOCKS.passing,
    )
)


# ------------------------------------------------------------------------------- scopes


def _scopes(trace: Trace, target: Target) -> Iterator[Check]:
    if not trace.generation.scoped:
        return
    for operation in trace.operations:
        seen: set[int] = set()
        for role, view in (*operation.reads, *operation.writes):
            storage = view.storage
            if storage.kind in _MADE and id(storage) not in seen:
                seen.add(id(storage))
                yield from _reached(trace, operation, role, view)


def _reached(trace: Trace, operation: Operation, role: str, view: View) -> Iterator[Check]:
    """A tensor is used within the block that it is made in."""
    storage = view.storage
    place = operation.span_of(role)
    left = [
        # the condition of a while loop is of the loop, whose trips decide it for the next one
        *(x.name for x in loops_left(storage, operation) if not _inside(place, x.span)),
        *(turn.name for turn in trace.turns if _behind(turn, storage, operation)),
    ]
    if left:
        block = f"the loop over `{left[-1]}`"
    elif any(
        _left(block.span, block.within, storage, operation) for block in trace.blocks.values()
    ):
        block = "the branch"
    else:
        return
    name = tensor_name(storage)
    yield Check(
        predicate=E.FALSE,
        span=place,
        text=f"{name} is used where it is made",
        message=f"`{name}` is used outside of {block} that it is made in",
        facts=kit.catalogue(("LP13", "E19")),
        given=tuple(loop.within for loop in operation.loops),
        notes=(Note(storage.span, f"`{name}` is made here"),),
        help=(
            f"make `{name}` before the block with `nl.ndarray`, and assign to all of it there: "
            f"`{name}[...] = ...`",
        ),
        path=operation.path,
        order=operation.order,
    )


def _behind(turn: Turn, storage: Storage, operation: Operation) -> bool:
    """Whether a tensor is made in a loop of one trip, and used behind it."""
    return turn.around(storage.order) and operation.order > turn.last


def _left(block: Span, within: Span, storage: Storage, operation: Operation) -> bool:
    """Whether a tensor is made in a block of a function, and used in the function behind it."""
    return (
        _inside(storage.span, block)
        and _inside(operation.span, within)
        and not _inside(operation.span, block)
        and operation.order > storage.order
    )


def _inside(inner: Span, outer: Span) -> bool:
    return (
        inner.path == outer.path
        and (outer.line, outer.column) <= (inner.line, inner.column)
        and (inner.end_line, inner.end_column) <= (outer.end_line, outer.end_column)
    )


_SCOPES = variants(
    """\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def summed(x):
    assert x.shape == (3, 72, 40) and x.dtype == nl.float32
    out = nl.ndarray((72, 40), dtype=x.dtype, buffer=nl.shared_hbm)
    total = nl.zeros((72, 40), dtype=x.dtype, buffer=nl.sbuf)
    for k in nl.sequential_range(3):
-        total = nl.add(total, nl.load(x[k]))
+        total[...] = nl.add(total, nl.load(x[k]))
    nl.store(out, total)
    return out
"""
)
register(
    Rule(
        id="beta1-scope",
        code="NKI312",
        family="allocation",
        summary="a tensor is used within the loop or the branch that it is made in",
        reason=(
            "A loop's body is traced once, and what it makes is memory of one iteration: behind "
            "the loop, or behind an `if` on an index, there is no such tensor. Binding a name "
            "again in a loop (`t = t + x`) makes another tensor as well; `t[...] = t + x` "
            "updates the one that is there."
        ),
        facts=("LP13", "E19"),
        on=On.TRACE,
        check=_scopes,
        replayed=COMPILED,
        sources=("NKI Beta 1 error reference, err_local_variable_used_out_of_scope",),
        twins=TWINS["beta1-scope"],
        failing=_SCOPES.failing,
        passing=_SCOPES.passing,
    )
)


# ------------------------------------------------------------------------------- placement


def _by_hand(storage: Storage) -> bool:
    """Whether an allocator was told where in SBUF or PSUM the tensor is."""
    placed = storage.placement.get("allocator") in ("alloc", "mod_alloc")
    return placed and storage.buffer.on_chip


def _direct(trace: Trace, target: Target) -> Iterator[Check]:
    placed = next((s for s in trace.storages if _by_hand(s)), None)
    if placed is None:
        return
    note = Note(placed.span, f"`{tensor_name(placed)}` is placed by hand")
    for storage in trace.storages:
        name = tensor_name(storage)
        if _by_hand(storage):
            if storage.initialised:
                yield _of_storage(
                    storage,
                    "buffer",
                    f"{name} is made without a value",
                    f"`{name}` is placed by hand and made with an initial value",
                    ("B12", "E29"),
                    "make it with `nl.ndarray`, and assign the value to it",
                )
        elif storage.buffer.on_chip and storage.kind in _MADE and not storage.passing:
            found = _of_storage(
                storage,
                "buffer",
                "all tiles of a kernel are placed by hand, or none",
                f"`{name}` is not placed by hand, as other tiles of the kernel are",
                ("B11",),
                "place it with `mod_alloc`, or assign the result to a tile that is placed",
            )
            yield replace(found, notes=(note,))
        elif (
            storage.buffer.off_chip
            and storage.kind in _MADE
            and trace.generation.only_outputs_placed
        ):
            yield from _internal(trace, storage, note)
    for operation in trace.operations:
        yield from _hidden(operation, note)


def _internal(trace: Trace, storage: Storage, note: Note) -> Iterable[Check]:
    """Tensors in HBM are those that the kernel returns (NKI-B13)."""
    name = tensor_name(storage)
    returned = any(view.storage is storage for _, views, _ in trace.returns for view in views)
    if storage.buffer is Buffer.SHARED_HBM and (returned or trace.opaque_return):
        return
    found = _of_storage(
        storage,
        "buffer",
        f"{name} is in shared_hbm, and returned",
        f"`{name}` is in HBM and no output, in a kernel that places tiles by hand",
        ("B13",),
        "keep it in SBUF, or return it",
    )
    yield replace(found, notes=(note,))


def _hidden(operation: Operation, note: Note) -> Iterable[Check]:
    """A call makes no tile of its own, which nobody could place."""
    instruction = operation.instruction
    scratch = None if instruction is None else instruction.scratch
    if scratch is None:
        return
    made = scratch.when.holds(operation)
    yield Check(
        predicate=E.FALSE if made is None else E.not_(made),
        span=operation.span,
        text=f"{operation.call_text} makes no tile of its own",
        message=f"`{operation.call_text}` needs {scratch.what}, in a kernel that places its tiles",
        facts=kit.catalogue(scratch.facts),
        given=tuple(loop.within for loop in operation.loops),
        notes=(note,),
        help=(scratch.instead,),
        exact=made is not None,
        reason="" if made is not None else "it depends on a flag that is not followed",
        path=operation.path,
        order=operation.order,
    )


_DIRECT = variants(
    """\
import neuronxcc.nki as nki
import neuronxcc.nki.compiler as ncc
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def exponentials(x, zero):
    assert x.shape == (72, 40) and x.dtype == nl.float32
    assert zero.shape == (72, 1) and zero.dtype == nl.float32
    out = nl.ndarray((72, 40), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray((nl.par_dim(72), 40), nl.float32, buffer=ncc.sbuf.mod_alloc(base_addr=0))
    bias = nl.ndarray((nl.par_dim(72), 1), nl.float32, buffer=ncc.sbuf.mod_alloc(base_addr=192))
    tile[...] = nl.load(x)
    bias[...] = nl.load(zero)
-    tile[...] = nl.exp(tile)
+    tile[...] = nisa.activation(op=nl.exp, data=tile, bias=bias)
    nl.store(out, tile)
    return out
"""
)
register(
    Rule(
        id="direct-allocation",
        code="NKI313",
        family="allocation",
        summary="a kernel that places tiles by hand places all of them",
        reason=(
            "With `sbuf.alloc` or `mod_alloc` the compiler takes the kernel's word for where all "
            "tiles are: one that is left to it, or that an instruction makes for itself (a bias of "
            "zeros, the identity of a transpose, an initial value), has no place."
        ),
        facts=("B11", "B12", "B13", "E07", "E29", "E31"),
        on=On.TRACE,
        check=_direct,
        replayed=COMPILED,
        sources=("NKI Beta 1 direct allocation guide, common errors",),
        twins=TWINS["direct-allocation"],
        failing=_DIRECT.failing,
        passing=_DIRECT.passing,
    )
)
