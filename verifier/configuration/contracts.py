"""What a contract says: its syntax tree.

Two contracts are equal when they say the same. :mod:`.grammar` reads them, :mod:`.showing` prints
them.

A path names an input: a parameter (``x``), an item of a tuple or list (``xs[1]``), an argument of
an object (``cfg.tile``).
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from verifier.records import dataclass

BinaryOperator: TypeAlias = Literal["+", "-", "*", "//", "%"]
Comparator: TypeAlias = Literal["==", "!=", "<", "<=", ">", ">="]

# ------------------------------------------------------------------------------- integers


@dataclass(frozen=True, slots=True)
class Int:
    """An integer literal; negative values come from a minus sign directly before one."""

    value: int


@dataclass(frozen=True, slots=True)
class Name:
    """A size name (bound by its first use as a size) or the path of an integer or flag."""

    id: str


@dataclass(frozen=True, slots=True)
class Extent:
    """``x.shape[1]``"""

    tensor: str
    axis: int


@dataclass(frozen=True, slots=True)
class ItemSize:
    """``x.dtype.itemsize``: bytes of an element."""

    tensor: str


@dataclass(frozen=True, slots=True)
class Programs:
    """``num_programs(0)``: how many programs a launch has along an axis."""

    axis: int


@dataclass(frozen=True, slots=True)
class Negate:
    operand: Expression


@dataclass(frozen=True, slots=True)
class Binary:
    """Python semantics: ``//`` and ``%`` round towards minus infinity."""

    op: BinaryOperator
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Extreme:
    """``min(a, b)`` or ``max(a, b)``."""

    function: Literal["min", "max"]
    args: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Either:
    """``then if test else other``"""

    test: Condition
    then: Expression
    other: Expression


Expression: TypeAlias = (
    Int | Name | Extent | ItemSize | Programs | Negate | Binary | Extreme | Either
)

# ----------------------------------------------------------------------------- conditions


@dataclass(frozen=True, slots=True)
class Comparison:
    """``operands[0] ops[0] operands[1] ops[1] ...``: all must hold, as in Python."""

    operands: tuple[Expression, ...]
    ops: tuple[Comparator, ...]


@dataclass(frozen=True, slots=True)
class OfDType:
    """``x.dtype in (bf16, fp16)``; one dtype stands for ``==``."""

    tensor: str
    dtypes: tuple[str, ...]
    negated: bool = False


@dataclass(frozen=True, slots=True)
class SameDType:
    """``x.dtype == y.dtype``"""

    first: str
    second: str
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Absent:
    """``x is None``"""

    path: str
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Flag:
    """An input that is a truth value."""

    path: str


@dataclass(frozen=True, slots=True)
class Not:
    condition: Condition


@dataclass(frozen=True, slots=True)
class Junction:
    """Conditions joined by ``and`` or ``or``, at least two."""

    kind: Literal["and", "or"]
    parts: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Alike:
    """``(first) == (second)``: both conditions hold or neither does; one of them if ``negated``."""

    first: Condition
    second: Condition
    negated: bool = False


Condition: TypeAlias = Comparison | OfDType | SameDType | Absent | Flag | Not | Junction | Alike

# --------------------------------------------------------------------------------- inputs


@dataclass(frozen=True, slots=True)
class Anything:
    """``*`` or ``_``: a size or a value about which nothing is said."""


Size: TypeAlias = Expression | Anything


@dataclass(frozen=True, slots=True)
class TensorSpec:
    """A tensor of one of the ``dtypes`` (canonical; none: any); ``shape`` None: of any rank.

    A dtype without brackets is the dtype itself where the kernel uses the input as one.
    """

    dtypes: tuple[str, ...]
    shape: tuple[Size, ...] | None


@dataclass(frozen=True, slots=True)
class RangeSpec:
    """An integer between ``lower`` and ``upper``, both included."""

    lower: Expression
    upper: Expression


@dataclass(frozen=True, slots=True)
class IntSpec:
    value: Expression


@dataclass(frozen=True, slots=True)
class FloatSpec:
    value: float


@dataclass(frozen=True, slots=True)
class StringSpec:
    value: str


@dataclass(frozen=True, slots=True)
class LiteralSpec:
    """``True``, ``False`` or ``None``."""

    value: bool | None


@dataclass(frozen=True, slots=True)
class KindSpec:
    """Any value of one of Python's types.

    ``bool`` is a tensor of truth values, or their dtype, where the input is one of these.
    """

    kind: Literal["int", "bool", "float", "str"]


@dataclass(frozen=True, slots=True)
class SequenceSpec:
    """A tuple or a list of inputs."""

    kind: Literal["tuple", "list"]
    elements: tuple[Spec, ...]


@dataclass(frozen=True, slots=True)
class NamedSpec:
    """A value by its name where the kernel is defined: ``Mode.FAST``, ``nl.bfloat16``."""

    path: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ObjectSpec:
    """What a class makes of arguments: ``Config(128, bias=False)``."""

    path: tuple[str, ...]
    arguments: tuple[Spec, ...]
    keywords: tuple[Parameter, ...]


@dataclass(frozen=True, slots=True)
class ChoiceSpec:
    """One of several values: ``{64, 128}``, ``{Mode.FAST, None}``."""

    options: tuple[Spec, ...]


@dataclass(frozen=True, slots=True)
class DefaultSpec:
    """``default``: what the input is where a caller leaves it out."""


Spec: TypeAlias = (
    TensorSpec
    | RangeSpec
    | IntSpec
    | FloatSpec
    | StringSpec
    | LiteralSpec
    | KindSpec
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


@dataclass(frozen=True, slots=True)
class Contract:
    """``kernel`` is None in the comment form; ``defaults``: what is not named is its default."""

    kernel: str | None
    grid: tuple[Expression, ...]
    parameters: tuple[Parameter, ...]
    conditions: tuple[Condition, ...]
    defaults: bool = False
