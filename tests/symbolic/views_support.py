"""A machine that records, and brute-force enumeration of views, for the tests of this folder."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tests.machines import Unasked
from verifier.hardware.memories import Buffer
from verifier.hardware.targets import TARGETS, Target
from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.checks import Details
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.generation import Generation
from verifier.symbolic.tensors import Axis, DType, Loop, Placing, Storage, View
from verifier.symbolic.trace import AssumptionKind, LedgerKind, Operation

if TYPE_CHECKING:
    from typing_extensions import Unpack

SPAN = Span("kernel.py", 1, 0, 1, 1)


@dataclass
class Raised:
    rule: str
    predicate: Bool
    text: str
    message: str
    given: tuple[Bool, ...]
    facts: tuple[str, ...]


@dataclass
class Recorder(Unasked):
    """A :class:`verifier.symbolic.machine.Machine` that only records what it is told."""

    api: str = "0.6"
    checks: list[Raised] = field(default_factory=list)
    ledger: list[str] = field(default_factory=list)
    facts: list[Bool] = field(default_factory=list)
    count: int = 0

    @property
    def generation(self) -> Generation:
        return Generation(name=self.api)

    @property
    def target(self) -> Target:
        return TARGETS["trn2"]

    @property
    def loops(self) -> tuple[Loop, ...]:
        return ()

    @property
    def path(self) -> tuple[Bool, ...]:
        return tuple(self.facts)

    def next_order(self) -> int:
        self.count += 1
        return self.count

    def axis(self, size: Expr) -> Axis:
        symbol = E.fresh("axis", 0, None, E.Origin.AXIS).as_atom()
        assert isinstance(symbol, E.Sym)
        return Axis(symbol, size)

    def allocate(
        self,
        name: str,
        shape: Sequence[Expr | int],
        dtype: DType | str,
        buffer: Buffer,
        span: Span = SPAN,
        **more: Unpack[Placing],
    ) -> View:
        sizes = tuple(E.lift(size) for size in shape)
        element = DType.named(dtype) if isinstance(dtype, str) else dtype
        storage = Storage.made(self.next_order(), name, sizes, element, buffer, span, **more)
        axes = tuple(self.axis(size) for size in sizes)
        return View(
            storage,
            (),
            sizes,
            storage.partition_axis,
            axes,
            tuple(axis.index for axis in axes),
            storage.dtype,
        )

    def emit(self, operation: Operation) -> None:
        raise AssertionError(operation)

    def check(
        self,
        rule: str,
        predicate: Bool,
        span: Span,
        text: str,
        message: str,
        *,
        compiled: bool = False,
        **details: Unpack[Details],
    ) -> None:
        given, facts = details.get("given", ()), details.get("facts", ())
        self.checks.append(Raised(rule, predicate, text, message, given, facts))

    def approximate(
        self, kind: LedgerKind, message: str, span: Span, symbols: Sequence[str] = ()
    ) -> None:
        self.ledger.append(message)

    def unmodelled(self, name: str, span: Span, lost: str = "") -> None:
        raise AssertionError(name)

    def decide(self, condition: Bool) -> bool | None:
        if condition is E.TRUE or condition in self.facts:
            return True
        return False if condition is E.FALSE else None

    def assume(self, condition: Bool, text: str, span: Span, kind: AssumptionKind) -> None:
        self.facts.append(condition)

    def as_view(self, value: object, span: Span) -> View | None:
        return value if isinstance(value, View) else None

    def as_int(self, value: object, span: Span) -> Expr | None:
        return E.lift(value) if isinstance(value, (int, Expr)) else None

    def as_bool(self, value: object, span: Span) -> Bool | None:
        return value if isinstance(value, Bool) else None

    def as_dtype(self, value: object, span: Span) -> DType | None:
        return value if isinstance(value, DType) else None

    def as_items(self, value: object, span: Span) -> tuple[object, ...] | None:
        return tuple(value) if isinstance(value, (tuple, list)) else None

    def as_named(self, value: object, span: Span) -> Mapping[str, object] | None:
        return value if isinstance(value, dict) else None

    # -- what tests ask ------------------------------------------------------------------

    def broken(self) -> list[str]:
        """Rules of the checks that fold to false."""
        return [check.rule for check in self.checks if check.predicate is E.FALSE]

    def texts(self) -> list[str]:
        return [check.text for check in self.checks]


def addresses(
    view: View, env: Mapping[str, int] | None = None, *, masked: bool = True
) -> dict[tuple[int, ...], int]:
    """Element index -> row-major position in the frame, by enumeration."""
    env = dict(env or {})
    frame = [int(E.evaluate(size, env)) for size in view.frame]
    out: dict[tuple[int, ...], int] = {}
    shape = [int(E.evaluate(size, env)) for size in view.shape]
    for element in itertools.product(*(range(size) for size in shape)):
        for axis, value in zip(view.axes, element, strict=True):
            env[axis.symbol.name] = value
        if masked and not E.evaluate(view.mask, env):
            continue
        position = 0
        for coord, size in zip(view.coords, frame, strict=True):
            position = position * size + int(E.evaluate(coord, env))
        out[element] = position
    return out


def as_array(view: View, env: Mapping[str, int] | None = None):  # type: ignore[no-untyped-def]
    """The view as an integer array of positions, to compare with NumPy on ``arange``."""
    import numpy as np

    shape = tuple(int(E.evaluate(size, dict(env or {}))) for size in view.shape)
    out = np.full(shape, -1, dtype=int)
    for element, position in addresses(view, env).items():
        out[element] = position
    return out


def flat(*shape: int):  # type: ignore[no-untyped-def]
    """NumPy's tensor of positions of that shape."""
    import numpy as np

    return np.arange(int(np.prod(shape))).reshape(shape)
