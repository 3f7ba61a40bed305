"""A machine that records what a dialect does, and helpers to call API functions through it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tests.machines import Unasked
from verifier.dialects.nki import NkiDialect
from verifier.dialects.nki.versions import DESCRIBED
from verifier.hardware.memories import Buffer
from verifier.hardware.targets import TARGETS, Target
from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.checks import Check, Details
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.generation import Generation
from verifier.symbolic.machine import Arg, Call
from verifier.symbolic.python.flow import HostCheck
from verifier.symbolic.tensors import Axis, DType, Loop, Placing, Storage, View
from verifier.symbolic.trace import AssumptionKind, LedgerKind, Operation
from verifier.symbolic.values import ApiRef, Ratio, RecordType, RecordValue, Ref

if TYPE_CHECKING:
    from typing_extensions import Unpack

SPAN = Span("kernel.py", 1, 0, 1, 1)


@dataclass
class FakeMachine(Unasked):
    """Sequences are plain Python tuples and lists; nothing is lazy."""

    api: str = "0.3"
    target: Target = TARGETS["trn2"]
    loops: tuple[Loop, ...] = ()
    path: tuple[Bool, ...] = ()
    order: int = 0
    operations: list[Operation] = field(default_factory=list)
    storages: list[Storage] = field(default_factory=list)
    checks: list[HostCheck] = field(default_factory=list)
    ledger: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    records: dict[Ref, RecordValue] = field(default_factory=dict)

    @property
    def generation(self) -> Generation:
        return DESCRIBED[self.api]

    def next_order(self) -> int:
        self.order += 1
        return self.order

    def record(self, kind: RecordType, values: Sequence[object], origin: object = None) -> Ref:
        made = Ref(len(self.records))
        self.records[made] = RecordValue(kind, tuple(values), origin)
        return made

    def contents(self, value: object) -> RecordValue | None:
        return self.records.get(value) if isinstance(value, Ref) else None

    def fill(self, value: object, values: Sequence[object], origin: object = None) -> bool:
        before = self.contents(value)
        if before is None or not isinstance(value, Ref):
            return False
        self.records[value] = RecordValue(before.kind, tuple(values), origin)
        return True

    def axis(self, size: Expr) -> Axis:
        symbol = E.fresh("t", 0, None, E.Origin.AXIS).as_atom()
        assert isinstance(symbol, E.Sym)
        return Axis(symbol, size)

    def allocate(
        self,
        name: str,
        shape: Sequence[Expr],
        dtype: DType,
        buffer: Buffer,
        span: Span,
        **more: Unpack[Placing],
    ) -> View:
        storage = Storage.made(self.next_order(), name, shape, dtype, buffer, span, **more)
        self.storages.append(storage)
        axes = tuple(self.axis(size) for size in shape)
        return View(
            storage=storage,
            instance=(),
            frame=tuple(shape),
            frame_partition=storage.partition_axis,
            axes=axes,
            coords=tuple(axis.index for axis in axes),
            dtype=dtype,
            span=span,
        )

    def emit(self, operation: Operation) -> None:
        self.operations.append(operation)

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
        if predicate is not E.TRUE:
            check = Check(predicate, span, text, message, **details)
            self.checks.append(HostCheck(rule, check, self.order, (), (), compiled))

    def approximate(
        self, kind: LedgerKind, message: str, span: Span, symbols: Sequence[str] = ()
    ) -> None:
        self.ledger.append(message)

    def unmodelled(self, name: str, span: Span, lost: str = "") -> None:
        self.missing.append(name)

    def decide(self, condition: Bool) -> bool | None:
        return {E.TRUE: True, E.FALSE: False}.get(condition)

    def assume(self, condition: Bool, text: str, span: Span, kind: AssumptionKind) -> None:
        raise AssertionError(f"an assumption: {text}")

    def as_view(self, value: object, span: Span) -> View | None:
        return value if isinstance(value, View) else None

    def as_int(self, value: object, span: Span) -> Expr | None:
        if isinstance(value, Expr):
            return value
        if isinstance(value, int) and not isinstance(value, bool):
            return E.const(value)
        return None if not isinstance(value, Ratio) else E.floordiv(value.num, value.den)

    def as_bool(self, value: object, span: Span) -> Bool | None:
        if isinstance(value, Bool):
            return value
        return E.truth(value) if isinstance(value, bool) else None

    def as_dtype(self, value: object, span: Span) -> DType | None:
        return value if isinstance(value, DType) else None

    def as_named(self, value: object, span: Span) -> Mapping[str, object] | None:
        return value if isinstance(value, dict) else None

    def as_items(self, value: object, span: Span) -> tuple[object, ...] | None:
        return tuple(value) if isinstance(value, (tuple, list)) else None

    def grid(self, axis: int) -> tuple[Expr, Expr]:
        size = E.symbol(f"num_programs({axis})", 1, None, E.Origin.GRID)
        return E.symbol(f"program_id({axis})", 0, None, E.Origin.LOOP), size

    # -- helpers of tests ----------------------------------------------------------------

    def tile(
        self, *shape: int | Expr, dtype: str = "float32", buffer: Buffer = Buffer.SBUF
    ) -> View:
        """A tile or tensor that exists already."""
        return self.allocate(
            "tile",
            [E.lift(size) for size in shape],
            DType.named(dtype),
            buffer,
            SPAN,
            partition_axis=0 if buffer.on_chip else None,
        )

    @property
    def last(self) -> Operation:
        return self.operations[-1]


dialect = NkiDialect()


def run(machine: FakeMachine, name: str, /, *args: object, **keywords: object) -> object:
    """Call ``name`` (``isa.nc_matmul``) with integers as Python would give them."""

    def argument(value: object) -> Arg:
        if isinstance(value, int) and not isinstance(value, bool):
            value = E.const(value)
        return Arg(value, SPAN)

    namespace, _, short = name.rpartition(".")
    prefix = {"isa": "nisa.", "language": "nl."}.get(namespace, f"{namespace}.")
    call = Call(
        tuple(argument(a) for a in args),
        {k: argument(v) for k, v in keywords.items()},
        SPAN,
        f"{prefix}{short}",
    )
    generation = "beta1" if machine.api == "beta1" else "nki"
    # one kernel for each machine: what a kernel was written for so far is its own
    return NkiDialect().call(machine, ApiRef(name, generation), call)


def name_of(machine: FakeMachine, dotted: str) -> object:
    """``language.float32`` and kin, attribute by attribute."""
    first, *rest = dotted.split(".")
    value: object = dialect.root(f"nki.{first}")
    for attr in rest:
        assert isinstance(value, ApiRef), (dotted, value)
        value = dialect.attribute(machine, value, attr, SPAN)
    return value


def sizes(view: object) -> tuple[int | str, ...]:
    """The shape of a view with constants as integers."""
    assert isinstance(view, View), view
    return tuple(s.const if s.is_const else repr(s) for s in view.shape)
