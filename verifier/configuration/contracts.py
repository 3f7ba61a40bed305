"""What a contract says: its syntax tree, and its text.

Columns are 0-based code points of the text that was read; they take no part in equality: two
contracts are equal when they say the same. :mod:`.grammar` reads them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

BinaryOperator: TypeAlias = Literal["+", "-", "*", "//", "%"]
Comparator: TypeAlias = Literal["==", "!=", "<", "<=", ">", ">="]

_PRECEDENCE: Mapping[str, int] = {"+": 1, "-": 1, "*": 2, "//": 2, "%": 2}


@dataclass(frozen=True, slots=True)
class Int:
    """An integer literal; negative values come from a minus sign directly before one."""

    value: int
    column: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Name:
    """A size name (bound by its first use as a size) or a parameter of the kernel."""

    id: str
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


Expression: TypeAlias = Int | Name | Negate | Binary


@dataclass(frozen=True, slots=True)
class Anything:
    """``*`` or ``_``: a size or a value about which nothing is said."""

    column: int = field(default=0, compare=False)


Size: TypeAlias = Int | Name | Negate | Binary | Anything


@dataclass(frozen=True, slots=True)
class TensorSpec:
    """A tensor; ``dtype`` is canonical, or None for any; ``shape`` None leaves the rank free."""

    dtype: str | None
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
    """A tuple or a list of values or tensors."""

    kind: Literal["tuple", "list"]
    elements: tuple[Spec, ...]
    column: int = field(default=0, compare=False)


Spec: TypeAlias = (
    TensorSpec
    | RangeSpec
    | IntSpec
    | FloatSpec
    | StringSpec
    | LiteralSpec
    | SequenceSpec
    | Anything
)


@dataclass(frozen=True, slots=True)
class Parameter:
    name: str
    spec: Spec
    column: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Comparison:
    """``operands[0] ops[0] operands[1] ops[1] ...``: all must hold, as in Python."""

    operands: tuple[Expression, ...]
    ops: tuple[Comparator, ...]
    column: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Contract:
    """``kernel`` is None in the comment form. ``str()`` prints the canonical text."""

    kernel: str | None
    grid: tuple[Expression, ...]
    parameters: tuple[Parameter, ...]
    conditions: tuple[Comparison, ...]

    def __str__(self) -> str:
        grid = f"[{', '.join(show(size) for size in self.grid)}]" if self.grid else ""
        inner = ", ".join(f"{p.name}: {_show_spec(p.spec)}" for p in self.parameters)
        text = f"{self.kernel or ''}{grid}({inner})"
        if self.conditions:
            text += " where " + ", ".join(show_comparison(c) for c in self.conditions)
        return text

    def size_names(self) -> tuple[str, ...]:
        """Names that stand alone as a size of a tensor somewhere, in order: these are bound."""
        seen: dict[str, None] = {}
        for size in self._sizes():
            if isinstance(size, Name):
                seen.setdefault(size.id)
        return tuple(seen)

    def free_names(self) -> tuple[Name, ...]:
        """First use of every name that is neither a bound size nor a parameter named here.

        They must be parameters of the kernel that the contract leaves free, or they are mistakes.
        """
        bound = {*self.size_names(), *(parameter.name for parameter in self.parameters)}
        seen: dict[str, Name] = {}
        for expression in self._expressions():
            for name in names(expression):
                if name.id not in bound:
                    seen.setdefault(name.id, name)
        return tuple(seen.values())

    def _specs(self) -> Iterator[Spec]:
        pending: list[Spec] = [parameter.spec for parameter in reversed(self.parameters)]
        while pending:
            spec = pending.pop()
            yield spec
            if isinstance(spec, SequenceSpec):
                pending.extend(reversed(spec.elements))

    def _sizes(self) -> Iterator[Size]:
        for spec in self._specs():
            if isinstance(spec, TensorSpec):
                yield from spec.shape or ()

    def _expressions(self) -> Iterator[Expression]:
        yield from self.grid
        for spec in self._specs():
            if isinstance(spec, TensorSpec):
                yield from (size for size in spec.shape or () if not isinstance(size, Anything))
            elif isinstance(spec, RangeSpec):
                yield from (spec.lower, spec.upper)
            elif isinstance(spec, IntSpec):
                yield spec.value
        for condition in self.conditions:
            yield from condition.operands


def names(expression: Expression) -> Iterator[Name]:
    """Every name in an expression, from left to right."""
    if isinstance(expression, Name):
        yield expression
    elif isinstance(expression, Negate):
        yield from names(expression.operand)
    elif isinstance(expression, Binary):
        yield from names(expression.left)
        yield from names(expression.right)


def evaluate(expression: Expression, values: Mapping[str, int]) -> int:
    """The value of an expression; KeyError for a missing name, ZeroDivisionError as in Python."""
    if isinstance(expression, Int):
        return expression.value
    if isinstance(expression, Name):
        return values[expression.id]
    if isinstance(expression, Negate):
        return -evaluate(expression.operand, values)
    left = evaluate(expression.left, values)
    right = evaluate(expression.right, values)
    if expression.op == "+":
        return left + right
    if expression.op == "-":
        return left - right
    if expression.op == "*":
        return left * right
    if expression.op == "//":
        return left // right
    return left % right


# ---------------------------------------------------------------------------------- printing


def show(size: Size, precedence: int = 0) -> str:
    """The text of an expression, with the fewest parentheses that keep its structure."""
    if isinstance(size, Anything):
        return "_"
    if isinstance(size, Int):
        return str(size.value)
    if isinstance(size, Name):
        return size.id
    if isinstance(size, Negate):
        return f"-{show(size.operand, 3)}"
    own = _PRECEDENCE[size.op]
    text = f"{show(size.left, own)} {size.op} {show(size.right, own + 1)}"
    return f"({text})" if own < precedence else text


def show_comparison(condition: Comparison) -> str:
    parts = [show(condition.operands[0])]
    for op, operand in zip(condition.ops, condition.operands[1:], strict=True):
        parts += [op, show(operand)]
    return " ".join(parts)


def _show_spec(spec: Spec) -> str:
    if isinstance(spec, TensorSpec):
        dtype = spec.dtype or "_"
        if spec.shape is None:
            return f"{dtype}[...]"
        return f"{dtype}[{', '.join(show(size) for size in spec.shape)}]"
    if isinstance(spec, RangeSpec):
        return f"{show(spec.lower)}..{show(spec.upper)}"
    if isinstance(spec, IntSpec):
        return show(spec.value)
    if isinstance(spec, (FloatSpec, StringSpec, LiteralSpec)):
        return repr(spec.value)
    if isinstance(spec, SequenceSpec):
        inner = ", ".join(_show_spec(element) for element in spec.elements)
        if spec.kind == "list":
            return f"[{inner}]"
        return f"({inner},)" if len(spec.elements) == 1 else f"({inner})"
    return "_"
