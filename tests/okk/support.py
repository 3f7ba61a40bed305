"""Kernels as the interpreter follows them, and the same text run by Python on a recording module.

The recording module knows nothing of the dialect: it notes what each call was given, with layouts
written out from their definitions.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.told import told
from verifier.dialects.okk.versions import GENERATION
from verifier.dialects.registry import DIALECTS
from verifier.engine.analysis import analyze_file
from verifier.report import model as report
from verifier.solver.solver import Solver
from verifier.source.discovery import kernel_definition, kernels
from verifier.source.project import Project
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.lanes import LocalTensor, SystemTensor
from verifier.symbolic.python.entry import Request, Run, interpreted
from verifier.symbolic.trace import Operation

#: BM1684 (CHIP-01)
LANES, LOCAL, EU = 64, 524288, 128

HEADER = "from dataclasses import dataclass\nimport copy\nimport okk\n\n\n"

#: what an operation touched: role, access, address in bytes, shape, strides
Place = tuple[str, str, int, tuple[int, ...], tuple[int, ...]]
Event = tuple[str, tuple[Place, ...]]


def status_of(folder: Path, text: str) -> str:
    """How the only kernel of the text is judged."""
    return told(folder, text).status


def interpret(folder: Path, text: str, name: str | None = None) -> Run:
    """The one run of a kernel of the text (its only one, unless named)."""
    path = folder / "kernel.py"
    path.write_text(HEADER + text, encoding="utf-8")
    project = Project((folder,))
    module = project.module(path)
    found = [e for e in kernels(project, module) if name in (None, e.name)]
    (entry,) = found
    definition = kernel_definition(project, entry)
    assert definition is not None
    E.fresh_context()
    (chip,) = DIALECTS["okk"].targets((), entry.name, module.syntax, {}, ())
    request = Request(name=entry.name, definition=definition, module=module)
    return interpreted(
        project, DIALECTS["okk"].make(), chip, GENERATION, request, Solver(deadline=20).decide
    )


def check(folder: Path, text: str, contract: str | None = None) -> report.FileResult:
    """The report of a file with the text."""
    path = folder / "kernel.py"
    path.write_text(HEADER + text, encoding="utf-8")
    contracts = (contract,) if contract is not None else ()
    return analyze_file(report.FileRequest(path=str(path), contracts=contracts))


def operations(run: Run, *names: str) -> list[Operation]:
    """The operations with these names (without ``okk.``), all if none is given."""
    wanted = {f"okk.{name}" for name in names}
    return [op for op in run.trace.operations if not names or op.name in wanted]


# ------------------------------------------------------------------------ the trace on numbers


def events(run: Run, values: Mapping[str, int]) -> list[Event]:
    """What the trace says happens for these inputs; calls of one loop nest in no fixed order."""
    out: list[Event] = []
    for op in run.trace.operations:
        for env in _iterations(op, dict(values)):
            if all(_truth(condition, env) for condition in op.path):
                out.append((op.name.removeprefix("okk."), tuple(_places(op, env))))
    return out


def _iterations(op: Operation, env: dict[str, int | bool]) -> Iterator[dict[str, int | bool]]:
    loops = op.loops
    if not loops:
        yield env
        return

    def descend(depth: int, inner: dict[str, int | bool]) -> Iterator[dict[str, int | bool]]:
        if depth == len(loops):
            yield inner
            return
        for index in range(max(0, number(loops[depth].trips, inner))):
            yield from descend(depth + 1, {**inner, loops[depth].symbol.name: index})

    yield from descend(0, env)


def _places(op: Operation, env: Mapping[str, int | bool]) -> Iterator[Place]:
    for touch in op.touches:
        tensor = touch.tensor
        access = "r" * touch.reads + "w" * touch.writes
        where = tensor.address if isinstance(tensor, LocalTensor) else tensor.address.offset
        yield (
            touch.role,
            access,
            number(where, env),
            tuple(number(x, env) for x in tensor.shape),
            tuple(number(x, env) for x in tensor.strides),
        )


def number(term: Expr, env: Mapping[str, int | bool]) -> int:
    return int(E.evaluate(term, env))


def _truth(term: Bool, env: Mapping[str, int | bool]) -> bool:
    return bool(E.evaluate(term, env))


def tensor_of(op: Operation, role: str) -> LocalTensor | SystemTensor:
    (found,) = [t.tensor for t in op.touches if t.role == role]
    return found


# ------------------------------------------------------------------------ Python's own run


@dataclass
class Address:
    """Bytes from the start of a buffer."""

    offset: int = 0

    def __add__(self, distance: int) -> Address:
        return Address(self.offset + distance)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        if isinstance(other, Address):
            return self.offset - other.offset
        return Address(self.offset - other)

    def __lt__(self, other: Address) -> bool:
        return self.offset < other.offset


def ceildiv(a: int, b: int) -> int:
    return -(-a // b)


def aligned(lane: int, shape: Sequence[int], itemsize: int) -> tuple[int, ...]:
    """LAY-A, from its definition."""
    _, c, h, w = shape
    unit = EU // itemsize
    feature = ceildiv(h * w, unit) * unit
    return ceildiv(lane + c, LANES) * feature, feature, w, 1


class Recorder:
    """A stand-in for the module ``okk`` that notes copies and element-wise calls."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def module(self) -> types.ModuleType:
        made = types.ModuleType("okk")

        @dataclass
        class Dim4:
            n: int = 0
            c: int = 0
            h: int = 0
            w: int = 0

        def sized(shape: Any) -> tuple[int, ...]:
            return shape.n, shape.c, shape.h, shape.w

        def strides(target: Any, lane: int, shape: Any) -> None:
            target.n, target.c, target.h, target.w = aligned(lane, sized(shape), 4)

        def local(role: str, access: str, address: int, shape: Any, stride: Any) -> Place:
            implied = aligned(address // LOCAL, sized(shape), 4)
            used = implied if stride is None else sized(stride)
            return role, access, address, sized(shape), used

        def system(role: str, access: str, address: Address, shape: Any, stride: Any) -> Place:
            _, c, h, w = sized(shape)
            used = (c * h * w, h * w, w, 1) if stride is None else sized(stride)
            return role, access, address.offset, sized(shape), used

        def load(dst: int, src: Address, shape: Any, dst_stride: Any, src_stride: Any) -> None:
            into = local("dst", "w", dst, shape, dst_stride)
            self.note("gdma_32bit_cpy_S2L", into, system("src", "r", src, shape, src_stride))

        def store(dst: Address, src: int, shape: Any, dst_stride: Any, src_stride: Any) -> None:
            into = system("dst", "w", dst, shape, dst_stride)
            self.note("gdma_32bit_cpy_L2S", into, local("src", "r", src, shape, src_stride))

        def add(dst: int, src: int, c: float, shape: Any, to: Any, of: Any) -> None:
            into = local("dst", "w", dst, shape, to)
            self.note("bdc_add_C", into, local("src", "r", src, shape, of))

        def plain(name: str) -> Any:
            return lambda: self.note(name)

        def demand(condition: bool) -> None:
            assert condition
            self.note("okkernel_assert")

        made.__dict__.update(
            dim4=Dim4,
            SystemAddr=Address,
            kernel=lambda given: given if isinstance(given, types.FunctionType) else lambda f: f,
            okk_128_byte_aligned_stride_for_32bit=strides,
            aligned_stride_32bit=lambda lane, shape: Dim4(*aligned(lane, sized(shape), 4)),
            local_mem_size_per_npu=lambda: LOCAL,
            npu_num=lambda: LANES,
            gdma_32bit_cpy_S2L=load,
            gdma_32bit_cpy_L2S=store,
            bdc_add_C=add,
            okkernel_assert=demand,
            **{n: plain(n) for n in ("initialize", "poll", "parallel_start", "parallel_end")},
        )
        return made

    def note(self, name: str, *places: Place) -> None:
        self.events.append((name, places))


def recorded(text: str, name: str, arguments: Mapping[str, object]) -> list[Event]:
    """What happens when Python runs the kernel, in order."""
    recorder = Recorder()
    before = sys.modules.get("okk")
    sys.modules["okk"] = recorder.module()
    try:
        scope: dict[str, Any] = {"__name__": __name__}
        exec(compile(HEADER + text, "kernel.py", "exec"), scope)
        scope[name](**arguments)
    finally:
        del sys.modules["okk"]
        if before is not None:
            sys.modules["okk"] = before
    return recorder.events


def in_any_order(found: Iterable[Event]) -> list[Event]:
    return sorted(found)
