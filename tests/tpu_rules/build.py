"""OKK operations built by hand: operands at plain or symbolic addresses, for tests of rules."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from verifier.dialects.okk import isa
from verifier.dialects.okk.versions import GENERATION
from verifier.hardware.chips import CHIPS
from verifier.hardware.engines import Engine
from verifier.hardware.memories import Buffer
from verifier.layouts import strides as layouts
from verifier.rulebase import find, run
from verifier.solver import Query, Solver
from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.checks import Check
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.lanes import LocalTensor, SystemAddress, SystemTensor, Touch
from verifier.symbolic.tensors import DType, Loop, LoopKind, Mark, Operand, Storage, StorageKind
from verifier.symbolic.trace import Operation, Trace
from verifier.symbolic.values import RecordType, RecordValue

CHIP = CHIPS["bm1684"]
LANE = CHIP.local_bytes
Size = int | Expr
Sizes = tuple[Size, Size, Size, Size]

_lines: Iterator[int] = iter(range(1, 10**9))
_orders: Iterator[int] = iter(range(10**9))


def span() -> Span:
    line = next(_lines)
    return Span("kernel.py", line, 0, line, 1)


def four(values: Sequence[Size]) -> tuple[Expr, Expr, Expr, Expr]:
    a, b, c, d = map(E.lift, values)
    return a, b, c, d


def local(
    address: Size,
    *shape: Size,
    strides: Sizes | None = None,
    dtype: str = "float32",
    lane: Size | None = None,
    told: Size | None = None,
) -> LocalTensor:
    """A local tensor, in the aligned layout unless strides are given."""
    extents = four(shape)
    kind = DType.named(dtype)
    start = E.lift(address) // LANE if lane is None else E.lift(lane)
    size = kind.itemsize.const
    implied = layouts.aligned(CHIP.lanes, CHIP.eu_bytes, start, extents, size)
    return LocalTensor(
        E.lift(address),
        extents,
        implied if strides is None else four(strides),
        kind,
        "aligned" if strides is None else "free",
        strides is not None,
        None if told is None else E.lift(told),
        None if lane is None else E.lift(lane),
    )


def storage(name: str, *shape: Size, declared: bool = True, dtype: str = "float32") -> Storage:
    return Storage(
        id=-next(_orders),
        name=name,
        buffer=Buffer.HBM,
        dtype=DType.named(dtype),
        shape=tuple(map(E.lift, shape)),
        partition_axis=None,
        span=span(),
        kind=StorageKind.INPUT,
        initialised=True,
        marks={Mark.DECLARED: declared},
    )


def system(of: Storage, offset: Size, *shape: Size, strides: Sizes | None = None) -> SystemTensor:
    extents = four(shape)
    return SystemTensor(
        SystemAddress(of, E.lift(offset)),
        extents,
        layouts.continuous(extents) if strides is None else four(strides),
        DType.named("float32"),
        strides is not None,
    )


def record(name: str, *fields: Size) -> RecordValue:
    return RecordValue(RecordType(name, ()), tuple(map(E.lift, fields)))


def operation(
    name: str,
    loops: tuple[Loop, ...] = (),
    path: tuple[Bool, ...] = (),
    write: str = "dst",
    adds: bool = False,
    **operands: object,
) -> Operation:
    """An operation; tensors are touches, ``write`` names the one that is written."""
    touches: list[Touch] = []
    bound: dict[str, Operand] = {}
    for role, value in operands.items():
        if isinstance(value, (LocalTensor, SystemTensor)):
            written = role == write or role == "work"
            touches.append(Touch(role, value, (not written) or adds, written))
            bound[f"{role}_addr"] = Operand(f"{role}_addr", value, span())
        else:
            lifted = E.lift(value) if type(value) is int else value
            bound[role] = Operand(role, lifted, span())
    kind = name.partition("_")[0]
    return Operation(
        name=f"okk.{name}",
        operands=bound,
        span=span(),
        generation=GENERATION,
        loops=loops,
        path=path,
        order=next(_orders),
        engine=Engine(kind) if kind in ("gdma", "bdc") else Engine.CONTROL,
        touches=tuple(touches),
        instruction=isa.find(name),
    )


def loop(name: str, trips: Size) -> Loop:
    return Loop(E.fresh(name, 0, None, E.Origin.LOOP), E.lift(trips), LoopKind.RANGE, name, span())


def trace(*operations: Operation) -> Trace:
    out = Trace("kernel", "kernel.py", span(), GENERATION, "okk")
    out.operations.extend(operations)
    return out


def checks(rule: str, subject: Operation | Trace) -> list[Check]:
    found = find(rule)
    assert found is not None, rule
    return list(run(found, CHIP, subject))


def verdicts(rule: str, subject: Operation | Trace, *known: Bool) -> set[str]:
    """The kinds of answers other than ``proved``."""
    out = set()
    for check in checks(rule, subject):
        path: tuple[Bool, ...] = ()
        loops: tuple[Bool, ...] = ()
        if isinstance(subject, Operation):
            path, loops = subject.path, tuple(loop.within for loop in subject.loops)
        facts = (*known, *(check.path if check.path is not None else path), *loops, *check.given)
        answer = Solver().check(Query(facts, check.predicate, check.exact, check.reason))
        if not answer.proved:
            out.add(answer.kind.value)
    return out


def holds(rule: str, subject: Operation | Trace, *known: Bool) -> bool:
    """Whether every check is proved; False if one is refuted.

    Raises:
        AssertionError: one is neither.
    """
    found = verdicts(rule, subject, *known)
    assert found <= {"refuted"}, found
    return not found


def folds(rule: str, subject: Operation | Trace) -> bool:
    """What a run on plain numbers finds: every check folds to true or false."""
    results = [E.implies(E.and_(*c.given), c.predicate) for c in checks(rule, subject)]
    assert all(result in (E.TRUE, E.FALSE) for result in results), results
    return all(result is E.TRUE for result in results)


def violated(rule: str, subject: Operation) -> set[str]:
    """The catalogue rows of the checks that fold to false."""
    return {
        fact
        for check in checks(rule, subject)
        if E.implies(E.and_(*check.given), check.predicate) is E.FALSE
        for fact in check.facts
    }
