"""What a contract says: its syntax tree.

Two contracts are equal when they say the same. :mod:`.grammar` reads them, :mod:`.showing` prints
them.

A path names an input: a parameter (``x``), an item of a tuple or list (``xs[1]``), an argument of
an object (``cfg.tile``).
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import Struct

BinaryOperator: TypeAlias = Literal["+", "-", "*", "//", "%"]
Comparator: TypeAlias = Literal["==", "!=", "<", "<=", ">", ">="]

# ------------------------------------------------------------------------------- integers


class Int(Struct, frozen=True):
    """An integer literal; negative values come from a minus sign directly before one."""

    value: int


class Name(Struct, frozen=True):
    """A size name (bound by its first use as a size) or the path of an integer or flag."""

    id: str


class Extent(Struct, frozen=True):
    """``x.shape[1]``"""

    tensor: str
    axis: int


class ItemSize(Struct, frozen=True):
    """``x.dtype.itemsize``: bytes of an element."""

    tensor: str


class Programs(Struct, frozen=True):
    """``num_programs(0)``: how many programs a launch has along an axis."""

    axis: int


class Negate(Struct, frozen=True):
    operand: Expression


class Binary(Struct, frozen=True):
    """Python semantics: ``//`` and ``%`` round towards minus infinity."""

    op: BinaryOperator
    left: Expression
    right: Expression


class Extreme(Struct, frozen=True):
    """``min(a, b)`` or ``max(a, b)``."""

    function: Literal["min", "max"]
    args: tuple[Expression, ...]


class Either(Struct, frozen=True):
    """``then if test else other``"""

    test: Condition
    then: Expression
    other: Expression


Leaf: TypeAlias = Name | Extent | ItemSize | Programs
Expression: TypeAlias = Int | Leaf | Negate | Binary | Extreme | Either

# ----------------------------------------------------------------------------- conditions


class Comparison(Struct, frozen=True):
    """``operands[0] ops[0] operands[1] ops[1] ...``: all must hold, as in Python."""

    operands: tuple[Expression, ...]
    ops: tuple[Comparator, ...]


class OfDType(Struct, frozen=True):
    """``x.dtype in (bf16, fp16)``; one dtype stands for ``==``."""

    tensor: str
    dtypes: tuple[str, ...]
    negated: bool = False


class SameDType(Struct, frozen=True):
    """``x.dtype == y.dtype``"""

    first: str
    second: str
    negated: bool = False


class Absent(Struct, frozen=True):
    """``x is None``"""

    path: str
    negated: bool = False


class Flag(Struct, frozen=True):
    """An input that is a truth value."""

    path: str


class Not(Struct, frozen=True):
    condition: Condition


class Junction(Struct, frozen=True):
    """Conditions joined by ``and`` or ``or``, at least two."""

    kind: Literal["and", "or"]
    parts: tuple[Condition, ...]


class Alike(Struct, frozen=True):
    """``(first) == (second)``: both conditions hold or neither does; one of them if ``negated``."""

    first: Condition
    second: Condition
    negated: bool = False


Condition: TypeAlias = Comparison | OfDType | SameDType | Absent | Flag | Not | Junction | Alike

# --------------------------------------------------------------------------------- inputs


class Anything(Struct, frozen=True):
    """``*`` or ``_``: a size or a value about which nothing is said."""


Size: TypeAlias = Expression | Anything


class TensorSpec(Struct, frozen=True):
    """A tensor of one of the ``dtypes`` (canonical; none: any); ``shape`` None: of any rank.

    A dtype without brackets is the dtype itself where the kernel uses the input as one.
    """

    dtypes: tuple[str, ...]
    shape: tuple[Size, ...] | None


class RangeSpec(Struct, frozen=True):
    """An integer between ``lower`` and ``upper``, both included."""

    lower: Expression
    upper: Expression


class IntSpec(Struct, frozen=True):
    value: Expression


class FloatSpec(Struct, frozen=True):
    value: float


class StringSpec(Struct, frozen=True):
    value: str


class LiteralSpec(Struct, frozen=True):
    """``True``, ``False`` or ``None``."""

    value: bool | None


class KindSpec(Struct, frozen=True):
    """Any value of one of Python's types.

    ``bool`` is a tensor of truth values, or their dtype, where the input is one of these.
    """

    kind: Literal["int", "bool", "float", "str"]


class SequenceSpec(Struct, frozen=True):
    """A tuple or a list of inputs."""

    kind: Literal["tuple", "list"]
    elements: tuple[Spec, ...]


class NamedSpec(Struct, frozen=True):
    """A value by its name where the kernel is defined: ``Mode.FAST``, ``nl.bfloat16``."""

    path: tuple[str, ...]


class ObjectSpec(Struct, frozen=True):
    """What a class makes of arguments: ``Config(128, bias=False)``."""

    path: tuple[str, ...]
    arguments: tuple[Spec, ...]
    keywords: tuple[Parameter, ...]


class ChoiceSpec(Struct, frozen=True):
    """One of several values: ``{64, 128}``, ``{Mode.FAST, None}``."""

    options: tuple[Spec, ...]


class DefaultSpec(Struct, frozen=True):
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


class Parameter(Struct, frozen=True):
    name: str
    spec: Spec


class Contract(Struct, frozen=True):
    """``kernel`` is None in the comment form; ``defaults``: what is not named is its default.

    ``targets`` are the hardware that it is for, by canonical names (none: whatever is asked for).
    """

    kernel: str | None
    grid: tuple[Expression, ...]
    parameters: tuple[Parameter, ...]
    conditions: tuple[Condition, ...]
    defaults: bool = False
    targets: tuple[str, ...] = ()
