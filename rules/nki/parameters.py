"""What a kernel of Beta 1 does with its parameters, and where it may be launched from."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from rules.beta1 import TWINS
from rules.nki import kit
from rules.nki.kit import register
from rules.nki.samples import variants
from verifier.hardware.targets import Target
from verifier.rulebase import COMPILED, Monitor, On, Replayed, Rule, Shown
from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.checks import Check
from verifier.symbolic.memory.events import Updated
from verifier.symbolic.tensors import Storage, StorageKind
from verifier.symbolic.trace import Operation, Trace


def _updates(trace: Trace, target: Target) -> Iterator[Check]:
    if not trace.generation.declares_updates:
        return
    written: dict[int, tuple[Storage, list[Operation]]] = {}
    for operation in trace.operations:
        for _, view in operation.writes:
            # the parts of a list, or of an object, have no annotation of their own
            if view.storage.kind is StorageKind.INPUT and view.storage.name.isidentifier():
                _, first = written.setdefault(id(view.storage), (view.storage, []))
                if not any({*other.path} <= {*operation.path} for other in first):
                    first.append(operation)
    ends = [
        ({id(view.storage) for view in views}, path, span) for path, views, span in trace.returns
    ]
    if not ends and trace.completes:
        ends = [(set(), (), trace.span)]
    returns = any(views for views, _, _ in ends)
    writes = [(storage, each) for storage, found in written.values() for each in found]
    for storage, operation in writes:
        if storage.name not in trace.mutable:
            # kernels that return nothing write what they are given: so it was before `nki.jit`
            yield _immutable(storage, operation, returns)
            continue
        for views, path, span in ends:
            if id(storage) not in views and not trace.opaque_return:
                yield replace(
                    _kept(storage, span),
                    path=(*path, *operation.path),
                    given=tuple(loop.within for loop in operation.loops),
                    order=operation.order,
                )


def _updated(event: Updated, target: Target) -> Iterator[Check]:
    """As :func:`_updates`, of a parameter that a run wrote."""
    if not event.storage.name.isidentifier():
        return
    if not event.declared:
        yield _immutable(event.storage, event.operation, event.returns)
    elif not event.returned:
        yield _kept(event.storage, event.kernel)


def _kept(storage: Storage, span: Span) -> Check:
    return Check(
        predicate=E.FALSE,
        span=span,
        text=f"`{storage.name}` is returned",
        message=f"`{storage.name}` is updated, and it is not returned",
        facts=kit.catalogue(("B26", "E20")),
        help=(f"return `{storage.name}` besides: it is an output of the kernel",),
    )


def _immutable(storage: Storage, operation: Operation, returns: bool) -> Check:
    name = storage.name
    return Check(
        predicate=E.FALSE,
        span=operation.span,
        text=f"`{name}` is not written to",
        message=f"`{name}` is a parameter, which is not declared to be updated",
        facts=kit.catalogue(("B26", "E09")),
        given=tuple(loop.within for loop in operation.loops),
        help=(
            f"declare it, `{name}: nt.mutable_tensor`, and return it; or return a tensor in "
            "shared_hbm instead",
        ),
        path=operation.path,
        order=operation.order,
        severity=None if returns else "note",
    )


_UPDATES = variants(
    """\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl
import neuronxcc.nki.typing as nt


@nki.jit
-def doubled(x):
+def doubled(x: nt.mutable_tensor):
    assert x.shape == (72, 40) and x.dtype == nl.float32
    tile = nl.load(x)
    nl.store(x, tile * 2.0)
    return x
"""
)
register(
    Rule(
        id="parameter-update",
        code="NKI197",
        family="api",
        summary="a parameter that is written is declared so, and returned",
        reason=(
            "The parameters of a kernel are read-only in Beta 1: one that is annotated as "
            "`nt.mutable_tensor`, or `nt.tensor[nt.mutable]`, is an output as well, and outputs "
            "are what the kernel returns. A kernel that returns nothing and declares nothing is of "
            "the older form, in which outputs were parameters: that is a note."
        ),
        facts=("B26", "E09", "E20"),
        on=On.TRACE,
        check=_updates,
        monitors=(Monitor(Updated, _updated),),
        replayed=Replayed(Shown.AT_THE_END, whole=True),
        sources=("NKI Beta 1 error reference",),
        twins=TWINS["parameter-update"],
        failing=_UPDATES.failing,
        passing=_UPDATES.passing,
    )
)

_NESTED = variants(
    """\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.trace
def store_doubled(into, source):
    nl.store(into, nl.load(source) * 2.0)


@nki.jit
def doubled(x):
    assert x.shape == (72, 40) and x.dtype == nl.float32
    out = nl.ndarray((72, 40), dtype=x.dtype, buffer=nl.shared_hbm)
-    store_doubled[2](out, x)
+    store_doubled(out, x)
    return out
"""
)
register(
    Rule(
        id="nested-grid",
        code="NKI198",
        family="api",
        summary="a kernel is given a launch grid outside of kernels",
        reason=(
            "A launch grid makes programs out of a kernel, and a program launches no others: to "
            "a kernel, other kernels are functions."
        ),
        facts=("L62", "E21"),
        on=On.HOST,
        replayed=COMPILED,
        sources=("NKI Beta 1 error reference, err_nested_kernel_with_spmd_grid",),
        twins=TWINS["nested-grid"],
        failing=_NESTED.failing,
        passing=_NESTED.passing,
    )
)

_LAUNCH = variants(
    """\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def copied(x):
    assert x.shape == (72, 40) and x.dtype == nl.float32
    out = nl.ndarray((72, 40), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray((72, 40), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x, name="load")
    nisa.dma_copy(dst=out, src=tile, name="store")
    return out


def launched(x):
-    return copied[1, 2](x)
+    return copied[2](x)
"""
)
register(
    Rule(
        id="launch-grid",
        code="NKI199",
        family="api",
        summary="a kernel is launched as its generation and its target launch kernels",
        reason=(
            "Since NKI 0.2 a launch grid is one number: of the cores of a logical core that run "
            "the kernel together, two at most. `program_id` has that one axis alone, and an "
            "order that `with_schedule` adds is of instructions that the kernel has."
        ),
        facts=("L60", "L61", "L70", "H41"),
        on=On.HOST,
        replayed=COMPILED,
        sources=("NKI logical core guide", "NKI scheduling guide", "NKI jit"),
        failing=_LAUNCH.failing,
        passing=_LAUNCH.passing,
    )
)

_OUTSIDE = variants(
    """\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl

-OFFSET = nl.full((72, 40), 0.5, dtype=nl.float32, buffer=nl.sbuf)
+OFFSET = 0.5


@nki.jit
def shifted(x):
    assert x.shape == (72, 40) and x.dtype == nl.float32
    out = nl.ndarray((72, 40), dtype=x.dtype, buffer=nl.shared_hbm)
    nl.store(out, nl.load(x) + OFFSET)
    return out
"""
)
register(
    Rule(
        id="outside-kernel",
        code="NKI196",
        family="api",
        summary="tensors are made and instructions are called inside of kernels",
        reason=(
            "What makes a tensor or an instruction has a meaning while a kernel is traced. In the "
            "body of a module, which runs when it is imported, it raises."
        ),
        facts=("N12", "G46", "E22"),
        on=On.HOST,
        replayed=COMPILED,
        sources=("NKI Beta 1 error reference, err_nki_api_outside_of_nki_kernel",),
        twins=TWINS["outside-kernel"],
        failing=_OUTSIDE.failing,
        passing=_OUTSIDE.passing,
    )
)
