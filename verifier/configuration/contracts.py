"""What a contract says: its syntax tree.

Columns are 0-based code points of the text that was read; they take no part in equality: two
contracts are equal when they say the same. :mod:`.grammar` reads them, :mod:`.showing` prints them.

A path names an input: a parameter (``x``), an item of a tuple or list (``xs[1]``), an argument of
an object (``cfg.tile``).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

BinaryOperator: TypeAlias = Literal["+", "-", "*", "//", "%"]
Comparator: TypeAlias = Literal["==", "!=", "<", "<=", ">", ">="]

# ------------------------------------------------------------------------------- integers


@dataclass(frozen=True, slots=True)
class Int:
    """An integer literal; negative values come from a minus sign directly before one."""

    value: int
    column: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Name:
    """A size name (bound by its first use as a size) or the path of an integer or flag."""

    id: str
    column: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Extent:
    """``x.shape[1]``"""

    tensor: str
    axis: int
    column: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class ItemSize:
    """``x.dtype.itemsize``: bytes of an element."""

    tensor: str
    column: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Programs:
    """``num_programs(0)``: how many programs a launch has along an axis."""

    axis: int
    column: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Negate:
    operand: Expression
    column: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Binary:
    """Python semantics: ``//`` and ``%`` round towards minus infinity."""

    op: BinaryOperator
    left: Expression
    right: Expression
    column: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Extreme:
    """``min(a, b)`` or ``max(a, b)``."""

    function: Literal["min", "max"]
    args: tuple[Expression, ...]
    column: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Either:
    """``then if test else other``"""

    test: Condition
    then: Expression
    other: Expression
    column: int = field(default=0, compare=False)


Expression: TypeAlias = (
    Int | Name | Extent | ItemSize | Programs | Negate | Binary | Extreme | Either
)

# ----------------------------------------------------------------------------- conditions


@dataclass(frozen=True, slots=True)
class Comparison:
    """``operands[0] ops[0] operands[1] ops[1] ...``: all must hold, as in Python."""

    operands: tuple[Expression, ...]
    ops: tuple[Comparator, ...]
    column: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class OfDType:
    """``x.dtype in (bf16, fp16)``; one dtype stands for ``==``."""

    tensor: str
    dtypes: tuple[str, ...]
    negated: bool = False
    column: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class SameDType:
    """``x.dtype == y.dtype``"""

    first: str
    second: str
    negated: bool = False
    column: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Absent:
    """``x is None``"""

    path: str
    negated: bool = False
    column: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Flag:
    """An input that is a truth value."""

    path: str
    column: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Not:
    condition: Condition
    column: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Junction:
    """Conditions joined by ``and`` or ``or``, at least two."""

    kind: Literal["and", "or"]
    parts: tuple[Condition, ...]
    column: int = field(default=0, compare=False)


Condition: TypeAlias = Comparison | OfDType | SameDType | Absent | Flag | Not | Junction

# --------------------------------------------------------------------------------- inputs


@dataclass(frozen=True, slots=True)
class Anything:
    """``*`` or ``_``: a size or a value about which nothing is said."""

    column: int = field(default=0, compare=False)


Size: TypeAlias = Expression | Anything


@dataclass(frozen=True, slots=True)
class TensorSpec:
    """A tensor of one of the ``dtypes`` (canonical; none: any); ``shape`` None: of any rank.

    A dtype without brackets is the dtype itself where the kernel uses the input as one.
    """

    dtypes: tuple[str, ...]
    shape: tuple[Size, ...] | None
    column: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class RangeSpec:
    """An integer between ``lower`` and ``upper``, both included."""

    lower: Expression
    upper: Expression
    column: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class IntSpec:
    value: Expression
    column: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class FloatSpec:
    value: float
    column: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class StringSpec:
    value: str
    column: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class LiteralSpec:
    """``True``, ``False`` or ``None``."""

    value: bool | None
    column: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class SequenceSpec:
    """A tuple or a list of inputs."""

    kind: Literal["tuple", "list"]
    elements: tuple[Spec, ...]
    column: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class NamedSpec:
    """A value by its name where the kernel is defined: ``Mode.FAST``, ``nl.bfloat16``."""

    path: tuple[str, ...]
    column: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class ObjectSpec:
    """What a class makes of arguments: ``Config(128, bias=False)``."""

    path: tuple[str, ...]
    arguments: tuple[Spec, ...]
    keywords: tuple[Parameter, ...]
    column: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class ChoiceSpec:
    """One of several values: ``{64, 128}``, ``{Mode.FAST, None}``."""

    options: tuple[Spec, ...]
    column: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class DefaultSpec:
    """``default``: what the input is where a caller leaves it out."""

    column: int = field(default=0, compare=False)


Spec: TypeAlias = (
    TensorSpec
    | RangeSpec
    | IntSpec
    | FloatSpec
    | StringSpec
    | LiteralSpec
    | SequenceSpec
    | NamedSpec
    | ObjectSpec
    | ChoiceSpec
    | DefaultSpec
    | Anything
)


@dataclass(frozen=True, slots=True)
class Parameter:
    name: str
    spec: Spec
    column: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Contract:
    """``kernel`` is None in the comment form; ``defaults``: what is not named is its default."""

    kernel: str | None
    grid: tuple[Expression, ...]
    parameters: tuple[Parameter, ...]
    conditions: tuple[Condition, ...]
    defaults: bool = False

    def inputs(self) -> Iterator[tuple[str, Spec]]:
        """All inputs that it speaks of, a parameter before its parts."""
        pending = [(p.name, p.spec) for p in reversed(self.parameters)]
        while pending:
            path, spec = pending.pop()
            yield path, spec
            pending.extend(reversed(list(parts(path, spec))))


def parts(path: str, spec: Spec) -> Iterator[tuple[str, Spec]]:
    """The inputs that one is made of, by their paths."""
    if isinstance(spec, SequenceSpec):
        yield from ((f"{path}[{k}]", item) for k, item in enumerate(spec.elements))
    elif isinstance(spec, ObjectSpec):
        yield from ((f"{path}.{k}", item) for k, item in enumerate(spec.arguments))
        yield from ((f"{path}.{item.name}", item.spec) for item in spec.keywords)
