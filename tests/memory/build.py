"""Traces by hand: a small language for tests of the memory rules."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from verifier.dialects.nki.versions import DESCRIBED
from verifier.hardware.engines import Engine
from verifier.hardware.memories import Buffer
from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.effects import Effect, Footprint
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.instruction import Engines, Instruction, Trait
from verifier.symbolic.tensors import (
    Axis,
    DType,
    Loop,
    LoopKind,
    Operand,
    Storage,
    StorageKind,
    View,
)
from verifier.symbolic.trace import Operation, Trace

#: ``(start, size)``, or ``(start, size, step)``, or one index
Part = "tuple[Expr | int, Expr | int] | tuple[Expr | int, Expr | int, int] | Expr | int"


_MATMUL = Instruction(
    name="isa.nc_matmul",
    summary="a sum of products",
    signatures={},
    roles=(),
    engines=Engines(Engine.TENSOR),
    footprint=Footprint(),
    traits=frozenset({Trait.SUMS}),
)


class Kernel:
    """Collects a trace: statements are methods, loops and branches are context managers."""

    def __init__(self, api: str = "0.3", grid: Sequence[Loop] = ()) -> None:
        self.trace = Trace(
            "kernel", "kernel.py", self._span(1), DESCRIBED[api], "nki", grid=tuple(grid)
        )
        self._loops: list[Loop] = []
        self._path: list[Bool] = []
        self._order = 0
        self._line = 1

    def __repr__(self) -> str:
        lines = [f"{s.order}: {s.name}{s.shape} in {s.loops}" for s in self.trace.storages]
        for op in self.trace.operations:
            loops = [f"{loop.index}<{loop.trips}" for loop in op.loops]
            parts = [
                f"{what} {v.name}{v.coords} {[f'{a.index}<{a.size}' for a in v.axes]}"
                for what, views in (("write", op.writes), ("read", op.reads))
                for _, v in views
            ]
            lines.append(f"{op.order}: {op.name} {loops} when {op.path}: {'; '.join(parts)}")
        return "\n".join(lines)

    @staticmethod
    def _span(line: int) -> Span:
        return Span("kernel.py", line, 0, line, 1)

    def _next(self) -> tuple[int, Span]:
        self._order += 1
        self._line += 1
        return self._order, self._span(self._line)

    # -- structure -------------------------------------------------------------------

    @contextmanager
    def loop(
        self, name: str, trips: Expr | int, kind: LoopKind = LoopKind.SEQUENTIAL
    ) -> Iterator[Expr]:
        index = E.fresh(name, 0, None, E.Origin.LOOP)
        _, span = self._next()
        self._loops.append(Loop(index, E.lift(trips), kind, name, span))
        yield index
        self._loops.pop()

    @contextmanager
    def when(self, condition: Bool) -> Iterator[None]:
        self._path.append(condition)
        yield
        self._path.pop()

    # -- memory ----------------------------------------------------------------------

    def storage(
        self,
        name: str,
        shape: Sequence[Expr | int],
        buffer: Buffer = Buffer.SBUF,
        dtype: str = "float32",
        kind: StorageKind = StorageKind.ALLOC,
        partition_axis: int | None = 0,
        address: tuple[int, int] | None = None,
        initialised: bool = False,
    ) -> Storage:
        order, span = self._next()
        out = Storage(
            id=len(self.trace.storages),
            name=name,
            buffer=buffer,
            dtype=DType.named(dtype),
            shape=tuple(map(E.lift, shape)),
            partition_axis=partition_axis if buffer.on_chip else None,
            span=span,
            kind=kind,
            loops=tuple(self._loops),
            path=tuple(self._path),
            address=None if address is None else (E.const(address[0]), E.const(address[1])),
            order=order,
            initialised=initialised,
        )
        self.trace.storages.append(out)
        return out

    def input(self, name: str, shape: Sequence[Expr | int]) -> Storage:
        return self.storage(name, shape, Buffer.HBM, kind=StorageKind.INPUT)

    def output(self, name: str, shape: Sequence[Expr | int]) -> Storage:
        return self.storage(name, shape, Buffer.SHARED_HBM)

    def view(
        self,
        storage: Storage,
        *parts: object,
        instance: Sequence[Expr] | None = None,
        mask: Bool = E.TRUE,
        exact: bool = True,
    ) -> View:
        """The part of a storage; no parts: all of it."""
        chosen: Sequence[object] = parts or [(0, extent) for extent in storage.shape]
        axes: list[Axis] = []
        coords: list[Expr] = []
        for part in chosen:
            if isinstance(part, tuple):
                start, size = E.lift(part[0]), E.lift(part[1])
                step = part[2] if len(part) == 3 else 1
                symbol = E.fresh("t", 0, None, E.Origin.AXIS).as_atom()
                assert isinstance(symbol, E.Sym)
                axis = Axis(symbol, size)
                axes.append(axis)
                coords.append(start + axis.index * step)
            else:
                assert isinstance(part, (Expr, int))
                coords.append(E.lift(part))
        return View(
            storage=storage,
            instance=tuple(
                instance if instance is not None else (loop.index for loop in storage.loops)
            ),
            frame=storage.shape,
            frame_partition=storage.partition_axis,
            axes=tuple(axes),
            coords=tuple(coords),
            dtype=storage.dtype,
            mask=mask,
            exact=exact,
            span=storage.span,
        )

    def op(
        self,
        name: str,
        *,
        writes: Sequence[View] = (),
        reads: Sequence[View] = (),
        effect: Effect | Bool = Effect.SETS,
        engine: Engine = Engine.UNKNOWN,
        instruction: Instruction | None = None,
    ) -> Operation:
        order, span = self._next()
        sources = tuple((f"src{n}", view) for n, view in enumerate(reads))
        targets = tuple((f"dst{n}", view) for n, view in enumerate(writes))
        out = Operation(
            name=f"isa.{name}",
            operands={role: Operand(role, view, span) for role, view in (*targets, *sources)},
            span=span,
            generation=self.trace.generation,
            loops=tuple(self._loops),
            path=tuple(self._path),
            order=order,
            reads=sources,
            writes=targets,
            effect=effect,
            engine=engine,
            instruction=instruction,
        )
        self.trace.operations.append(out)
        return out

    def matmul(
        self, target: View, *sources: View, effect: Effect | Bool = Effect.SETS
    ) -> Operation:
        return self.op(
            "nc_matmul",
            writes=[target],
            reads=sources,
            effect=effect,
            instruction=_MATMUL,
        )

    def copy(self, target: View, source: View) -> Operation:
        return self.op("dma_copy", writes=[target], reads=[source])

    def write(self, target: View) -> Operation:
        return self.op("memset", writes=[target])

    def read(self, source: View) -> Operation:
        return self.op("sink", reads=[source])

    def returns(self, *storages: Storage) -> None:
        _, span = self._next()
        views = tuple(self.view(storage) for storage in storages)
        self.trace.returns.append((tuple(self._path), views, span))
