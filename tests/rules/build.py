"""Operations built by hand: tiles of plain or symbolic sizes, for tests of single rules."""

from __future__ import annotations

from collections.abc import Iterator

from verifier.dialects.nki import isa
from verifier.dialects.nki.versions import DESCRIBED
from verifier.hardware.memories import Buffer
from verifier.hardware.targets import TARGETS
from verifier.rulebase import find, run
from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.checks import Check
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.tensors import Axis, DType, Mark, Operand, Storage, StorageKind, View
from verifier.symbolic.trace import Operation
from verifier.symbolic.values import Enumerator

Size = int | Expr

SPAN = Span("kernel.py", 1, 0, 1, 1)
_numbers: Iterator[int] = iter(range(10**9))


def storage(
    *shape: Size,
    buffer: str = "sbuf",
    dtype: str = "float32",
    address: tuple[Size, Size] | None = None,
    kind: StorageKind = StorageKind.ALLOC,
    placement: dict[str, object] | None = None,
    marks: dict[Mark, object] | None = None,
    partition_axis: int = 0,
) -> Storage:
    memory = Buffer(buffer)
    number = next(_numbers)
    return Storage(
        id=number,
        name=f"tile{number}",
        buffer=memory,
        dtype=DType.named(dtype),
        shape=tuple(E.lift(size) for size in shape),
        partition_axis=partition_axis if memory.on_chip else None,
        span=SPAN,
        kind=kind,
        address=None if address is None else (E.lift(address[0]), E.lift(address[1])),
        placement=placement or {},
        marks=marks or {},
    )


def tile(
    *shape: Size,
    buffer: str = "sbuf",
    dtype: str = "float32",
    of: Storage | None = None,
    start: tuple[Size, ...] = (),
    step: tuple[Size, ...] = (),
    **more: object,
) -> View:
    """A view of ``shape`` into ``of`` (a storage of that shape if not given), from ``start``."""
    base = of if of is not None else storage(*shape, buffer=buffer, dtype=dtype)
    axes = []
    coords = []
    for position, size in enumerate(shape):
        symbol = E.symbol(f"axis{next(_numbers)}", 0, None, E.Origin.AXIS).as_atom()
        assert isinstance(symbol, E.Sym)
        axis = Axis(symbol, E.lift(size))
        axes.append(axis)
        first = start[position] if start else 0
        stride = step[position] if step else 1
        coords.append(axis.index * E.lift(stride) + E.lift(first))
    return View(
        storage=base,
        instance=(),
        frame=base.shape,
        frame_partition=base.partition_axis,
        axes=tuple(axes),
        coords=tuple(coords),
        dtype=base.dtype,
        indirect=bool(more.get("indirect", False)),
        broadcast=bool(more.get("broadcast", False)),
        reason=str(more.get("reason", "")),
    )


def number(value: int) -> Expr:
    return E.const(value)


def op(name: str) -> Enumerator:
    return Enumerator("op", name)


def engine(name: str) -> Enumerator:
    return Enumerator("engine", name)


def operation(name: str, api: str = "0.6", **operands: object) -> Operation:
    return Operation(
        name=name,
        operands={role: Operand(role, value, SPAN) for role, value in operands.items()},
        span=SPAN,
        generation=DESCRIBED[api],
        loops=(),
        path=(),
        order=0,
        instruction=isa.find(name),
    )


def checks(rule: str, subject: Operation | Storage, target: str = "trn2") -> list[Check]:
    found = find(rule)
    assert found is not None, rule
    return list(run(found, TARGETS[target], subject))


def verdict(rule: str, subject: Operation | Storage, target: str = "trn2") -> Bool:
    """The conjunction of every check of the rule (as far as what they are given holds)."""
    return E.and_(
        *(E.implies(E.and_(*c.given), c.predicate) for c in checks(rule, subject, target))
    )


def holds(rule: str, subject: Operation | Storage, target: str = "trn2") -> bool:
    result = verdict(rule, subject, target)
    assert result in (E.TRUE, E.FALSE), result
    return result is E.TRUE


def violated(rule: str, subject: Operation | Storage, target: str = "trn2") -> set[str]:
    """The catalogue rows of the checks that fail."""
    return {
        fact.removeprefix("NKI-")
        for c in checks(rule, subject, target)
        if E.implies(E.and_(*c.given), c.predicate) is E.FALSE
        for fact in c.facts
    }
