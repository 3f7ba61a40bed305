"""Running the semantics of one instruction on plain arrays."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.rules.build import SPAN, tile
from verifier.dialects.nki import isa
from verifier.dialects.nki.versions import DESCRIBED
from verifier.executor.semantics import SEMANTICS
from verifier.executor.semantics.casts import NUMPY, cast
from verifier.hardware.engines import Engine
from verifier.hardware.targets import TARGETS, Target
from verifier.symbolic import expr as E
from verifier.symbolic.tensors import Operand, View
from verifier.symbolic.trace import Operation
from verifier.symbolic.values import Enumerator

Array = NDArray[Any]

_NAMES = {dtype: name for name, dtype in reversed(NUMPY.items())}


@dataclass
class Tensor:
    """A tensor of a dtype; ``mask``: the elements that take part."""

    array: Array
    dtype: str = ""
    mask: Array | None = None
    buffer: str = "sbuf"

    def __post_init__(self) -> None:
        if not self.dtype:
            self.dtype = _NAMES[self.array.dtype]


def out(*shape: int, dtype: str = "float32", fill: float = 0, buffer: str = "sbuf") -> Tensor:
    """A destination that holds ``fill``."""
    return Tensor(np.full(shape, fill).astype(NUMPY[dtype]), dtype, buffer=buffer)


@dataclass
class Fake:
    """The operands of one operation, in memory of their own."""

    tensors: dict[str, Tensor]
    operation: Operation
    target: Target
    api: str
    adds: bool | Array = False
    state: dict[object, object] = field(default_factory=dict)
    #: what was written of each operand; None: all
    wheres: dict[str, Array | None] = field(default_factory=dict)
    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(7))

    def has(self, role: str) -> bool:
        return role in self.tensors or self.operation.value(role) is not None

    def read(self, role: str) -> Array:
        array = self.tensors[role].array
        return array.astype(np.float32, copy=False) if array.dtype.kind in "Vf" else array

    def read_raw(self, role: str) -> Array:
        return self.tensors[role].array

    def write(self, role: str, array: Array, *, where: Array | None = None) -> None:
        tensor = self.tensors[role]
        self.wheres[role] = where
        values = np.broadcast_to(cast(np.asarray(array), tensor.dtype), tensor.array.shape)
        assert values.dtype == tensor.array.dtype
        for allowed in (where, tensor.mask):
            if allowed is not None:
                values = np.where(allowed, values, tensor.array)
        tensor.array = np.array(values)

    def add(self, role: str, array: Array) -> None:
        self.write(role, self.read(role).astype(np.float32) + array)

    def astray(self, role: str, what: str) -> None:
        raise IndexError(what)

    def scalar(self, role: str) -> Any:
        return self.read(role) if role in self.tensors else self.value(role)

    def value(self, role: str) -> Any:
        return self.operation.value(role)

    def view(self, role: str) -> View:
        found = self.operation.value(role)
        assert isinstance(found, View)
        return found

    def shape(self, role: str) -> tuple[int, ...]:
        return self.tensors[role].array.shape

    def dtype(self, role: str) -> str:
        return self.tensors[role].dtype

    def mask(self, role: str) -> Array | None:
        return self.tensors[role].mask

    def accumulates(self, role: str) -> bool | Array:
        return self.adds


_OPERATORS = {"op", "op0", "op1", "reduce_op", "cmp_op", "comp_op0", "comp_op1", "dst_rmw_op"}


def perform(
    name: str,
    *,
    engine: str = "vector",
    api: str = "0.6",
    target: str = "trn2",
    adds: bool | Array = False,
    state: dict[object, object] | None = None,
    attributes: dict[str, object] | None = None,
    **arguments: Any,
) -> Fake:
    """Run an instruction; arrays and tensors are tiles, strings in operator fields operators."""
    operands: dict[str, Operand] = {}
    tensors: dict[str, Tensor] = {}

    def bound(role: str, value: Any) -> object:
        if isinstance(value, np.ndarray):
            value = Tensor(value)
        if isinstance(value, Tensor):
            tensors[role] = value
            return tile(*value.array.shape, dtype=value.dtype, buffer=value.buffer)
        if isinstance(value, list) and value and isinstance(value[0], (np.ndarray, Tensor)):
            return tuple(bound(f"{role}[{k}]", item) for k, item in enumerate(value))
        if isinstance(value, str):
            kinds = {"reduce_cmd": "reduce_cmd", "perf_mode": "matmul_perf_mode"}
            return Enumerator("op" if role in _OPERATORS else kinds.get(role, role), value)
        if isinstance(value, int) and not isinstance(value, bool):
            return E.const(value)
        return value

    for role, value in arguments.items():
        operands[role] = Operand(role, bound(role, value), SPAN)
    operation = Operation(
        name=name,
        operands=operands,
        span=SPAN,
        generation=DESCRIBED[api],
        loops=(),
        path=(),
        order=0,
        engine=Engine(engine),
        capabilities=TARGETS[target].capabilities,
        attributes=attributes or {},
        instruction=isa.find(name),
    )
    io = Fake(tensors, operation, TARGETS[target], api, adds)
    if state is not None:
        io.state = state
    SEMANTICS[name](operation, io)
    return io


def result(name: str, dst: Tensor | None = None, **arguments: Any) -> Array:
    """What the instruction leaves in ``dst``."""
    if dst is not None:
        arguments["dst"] = dst
    return perform(name, **arguments).tensors["dst"].array
