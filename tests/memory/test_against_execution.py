"""The memory rules against element-by-element execution of small random kernels."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from rules.memory.dependence import carried_dependences
from rules.memory.initialisation import uninitialised_reads, unwritten_outputs
from rules.memory.meetings import meetings
from tests.memory import oracle
from tests.memory.build import Kernel
from tests.sweeps import thinned
from verifier.hardware.memories import Buffer
from verifier.hardware.targets import TARGETS
from verifier.symbolic import expr as E
from verifier.symbolic.checks import Check
from verifier.symbolic.effects import Effect
from verifier.symbolic.expr import Expr
from verifier.symbolic.memory.index import index
from verifier.symbolic.memory.lifetime import lifetime
from verifier.symbolic.tensors import LoopKind, Storage, View

TARGET = TARGETS["trn2"]
SETTINGS = settings(
    max_examples=150 // thinned(1),
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


def _index(draw: st.DrawFn, loops: list[Expr]) -> Expr:
    """An affine index over the loops around."""
    out = E.const(draw(st.integers(0, 2)))
    for loop in loops:
        out = out + loop * draw(st.sampled_from([0, 0, 1, 2]))
    return out


def _part(draw: st.DrawFn, kernel: Kernel, storage: Storage, loops: list[Expr], size: Expr) -> View:
    parts: list[object] = []
    for extent in storage.shape:
        form = draw(st.sampled_from(["whole", "tile", "tile", "slice", "strided", "index"]))
        if form == "whole" or (form == "tile" and not loops):
            parts.append((0, extent))
        elif form == "tile":
            width = draw(st.sampled_from([1, 2, 2, 3]))
            parts.append((draw(st.sampled_from(loops)) * width, width))
        elif form == "index":
            parts.append(_index(draw, loops))
        else:
            step = 2 if form == "strided" else 1
            parts.append((_index(draw, loops), draw(st.integers(1, 3)), step))
    view = kernel.view(storage, *parts)
    if view.axes and draw(st.integers(0, 5)) == 0:
        edge = E.const(draw(st.integers(1, 5)))
        view = replace(view, mask=E.lt(view.coords[0], draw(st.sampled_from([edge, size]))))
    return view


def _trips(draw: st.DrawFn, n: Expr, loops: list[Expr]) -> Expr:
    options = [E.const(draw(st.integers(0, 3))), n, n // 2]
    if loops:
        options.append(loops[-1] + 1)
    return draw(st.sampled_from(options))


@st.composite
def kernels(
    draw: st.DrawFn, kind: LoopKind = LoopKind.SEQUENTIAL, api: str = "0.3", sums: bool = False
) -> Kernel:
    E.fresh_context()
    n = E.symbol("n", 0, 3)
    kernel = Kernel(api)
    size = draw(st.sampled_from([E.const(6), n + 4, n * 2, n * 3]))
    tiles: list[tuple[Storage, int]] = []
    shapes: list[tuple[Expr | int, ...]] = [(size,), (size,), (size, 2)]
    shape = draw(st.sampled_from(shapes))
    out = kernel.output("out", shape)
    tiles.append((out, 0))

    def body(depth: int, loops: list[Expr]) -> None:
        for _ in range(draw(st.integers(1, 3))):
            form = draw(st.sampled_from(["loop", "write", "write", "read", "alloc", "branch"]))
            if form == "loop" and depth < 3:
                with kernel.loop("ijk"[depth], _trips(draw, n, loops), kind) as index:
                    body(depth + 1, [*loops, index])
                while tiles and tiles[-1][1] > depth:
                    tiles.pop()
            elif form == "branch" and depth < 3:
                condition = E.ge(n, 2)
                inner: bool = draw(st.booleans()) if loops else False
                if inner:
                    condition = E.ge(loops[-1], 1)
                with kernel.when(condition):
                    storage = draw(st.sampled_from(tiles))[0]
                    kernel.write(_part(draw, kernel, storage, loops, n))
            elif form == "alloc":
                tiles.append((kernel.storage(f"t{depth}", shape), depth))
            else:
                storage = draw(st.sampled_from(tiles))[0]
                view = _part(draw, kernel, storage, loops, n)
                if form == "write":
                    effects = [Effect.SETS] * 4 + [Effect.ADDS]
                    effect = draw(st.sampled_from(effects)) if sums else Effect.SETS
                    kernel.op("memset", writes=[view], effect=effect)
                else:
                    kernel.read(view)

    body(0, [])
    kernel.returns(out)
    return kernel


def _inside(kernel: Kernel, n: int) -> bool:
    """Whether no operation reaches out of bounds: such kernels are another rule's business."""
    sizes = {
        s.id: tuple(int(E.evaluate(e, {"n": n})) for e in s.shape) for s in kernel.trace.storages
    }
    for event in oracle.run(kernel.trace, {"n": n}).events:
        for touched in (*event.reads.values(), *event.writes.values()):
            for storage, _, coords in touched:
                if any(not 0 <= c < e for c, e in zip(coords, sizes[storage], strict=True)):
                    return False
    return True


def _verdicts(checks: list[Check], kernel: Kernel, n: int) -> tuple[bool, bool]:
    """Whether all hold, and whether a check that fails is exact."""
    failed = [c for c in checks if not oracle.holds(c, kernel.trace, {"n": n})]
    return not failed, any(check.exact for check in failed)


def _compare(checks: list[Check], kernel: Kernel, n: int, fine: bool) -> None:
    proved, refuted = _verdicts(checks, kernel, n)
    if proved:
        assert fine, "proved, but the run breaks it"
    if refuted:
        assert not fine, "refuted, but the run keeps it"


@SETTINGS
@given(kernels(sums=True), st.integers(0, 3))
def test_reads_before_writes(kernel: Kernel, n: int) -> None:
    if _inside(kernel, n):
        checks = list(uninitialised_reads(kernel.trace, TARGET))
        _compare(checks, kernel, n, not oracle.run(kernel.trace, {"n": n}).early)


@SETTINGS
@given(kernels(), st.integers(0, 3))
def test_unwritten_outputs(kernel: Kernel, n: int) -> None:
    if _inside(kernel, n):
        (check,) = unwritten_outputs(kernel.trace, TARGET)
        run = oracle.run(kernel.trace, {"n": n})
        missing = oracle.box(kernel.trace.storages[0], {"n": n}) - run.written
        _compare([check], kernel, n, not missing)


@SETTINGS
@given(kernels(kind=LoopKind.AFFINE, api="beta1"), st.integers(0, 3))
def test_carried_dependences(kernel: Kernel, n: int) -> None:
    if not _inside(kernel, n):
        return
    run = oracle.run(kernel.trace, {"n": n})
    loops = {loop: None for op in kernel.trace.operations for loop in op.loops}
    fine = True
    for storage in kernel.trace.storages:
        for loop in loops:
            if loop in storage.loops:
                continue
            if storage.buffer is not Buffer.SBUF and oracle.overlapping(run, storage, loop):
                fine = False
            if storage.buffer is Buffer.SBUF and oracle.leftovers(run, storage, loop):
                fine = False
            if oracle.carried(run, storage, loop):
                fine = False
    checks = list(carried_dependences(kernel.trace, TARGET))
    _compare(checks, kernel, n, fine)


@SETTINGS
@given(kernels(), st.integers(0, 3))
def test_live_tiles_are_never_undercounted(kernel: Kernel, n: int) -> None:
    if not _inside(kernel, n):
        return
    kernel.trace.operations[:] = [
        op for op in kernel.trace.operations if all(not condition.free() for condition in op.path)
    ]
    table = index(kernel.trace)
    lives = [
        lifetime(table, uses)
        for uses in table.storages
        if uses.storage.buffer is Buffer.SBUF and uses.all
    ]
    claimed = 0
    for meeting in meetings(table, sorted(lives, key=lambda life: life.start)):
        if not E.evaluate(meeting.again, {"n": n}):
            continue
        total = E.const(0)
        for life in meeting.live:
            total = total + life.storage.free_elements * life.copies
        claimed = max(claimed, int(E.evaluate(total, {"n": n})))
    run = oracle.run(kernel.trace, {"n": n})
    assert claimed >= oracle.peak(run, kernel.trace, {"n": n}, Buffer.SBUF)
