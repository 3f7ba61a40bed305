"""The grammar of contracts: what a user says about a kernel's inputs from outside.

A contract reads like a signature::

    matmul_tiled(lhsT: bf16[K, M], rhs: bf16[K, N], tiles: 1..16) where K % 128 == 0, M == 64
    add[2, 2](a: fp32[256, 1024], b: fp32[256, 1024])            # launched on a 2 x 2 grid
    pool(x: fp32[C, H, W], size: 2, shape2d: (3, 4), bias: None) where C <= 128

Above a kernel, in a comment, the name is left out. The grammar::

    contract   = [name] [ "[" sum {"," sum} "]" ] "(" [param {"," param}] ")" [ "where" conditions ]
    param      = identifier ":" spec
    spec       = dtype [ "[" (size {"," size} | "...") "]" ]   a tensor; `_` stands for any dtype
               | sum ".." sum                                   an integer range, both ends included
               | sum                                            an integer; names are shared
               | float | string | True | False | None | "*" | "_"
               | "(" spec "," {spec ","} ")" | "[" spec {"," spec} "]"
    size       = sum | "*" | "_"
    conditions = comparison { ("," | "and") comparison }
    comparison = sum op sum {op sum}                            op: == != < <= > >=
    sum        = integers, names, + - * // % and parentheses, with Python's precedence

Everything after a ``#`` outside a string is ignored. Columns are 0-based code points of the text.
"""

from __future__ import annotations

import ast
import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NoReturn

from verifier.configuration.contracts import (
    Anything,
    Binary,
    BinaryOperator,
    Comparator,
    Comparison,
    Contract,
    Expression,
    FloatSpec,
    Int,
    IntSpec,
    LiteralSpec,
    Name,
    Negate,
    Parameter,
    RangeSpec,
    SequenceSpec,
    Size,
    Spec,
    StringSpec,
    TensorSpec,
)
from verifier.configuration.suggestions import NEAR

#: Canonical dtype names and the other spellings that users write (catalogue T00a to T00j).
DTYPE_ALIASES: Mapping[str, tuple[str, ...]] = {
    "bfloat16": ("bf16",),
    "float16": ("fp16", "f16", "half"),
    "float32": ("fp32", "f32"),
    "float64": ("fp64", "f64"),
    "tfloat32": ("tf32",),
    "float8_e4m3": ("fp8_e4m3", "f8_e4m3"),
    "float8_e4m3fn": ("fp8_e4m3fn", "f8_e4m3fn"),
    "float8_e5m2": ("fp8_e5m2", "f8_e5m2"),
    "float8_e8m0fnu": ("fp8_e8m0fnu", "f8_e8m0fnu"),
    "float8_e4m3fn_x4": ("fp8_e4m3fn_x4", "f8_e4m3fn_x4"),
    "float8_e5m2_x4": ("fp8_e5m2_x4", "f8_e5m2_x4"),
    "float4_e2m1fn_x4": ("fp4_e2m1fn_x4", "f4_e2m1fn_x4"),
    "int4": ("i4",),
    "int8": ("i8",),
    "int16": ("i16",),
    "int32": ("i32",),
    "int64": ("i64",),
    "uint4": ("u4",),
    "uint8": ("u8",),
    "uint16": ("u16",),
    "uint32": ("u32",),
    "uint64": ("u64",),
    "bool_": ("bool",),
}

_CANONICAL = {
    spelling: name for name, aliases in DTYPE_ALIASES.items() for spelling in (name, *aliases)
}
_LITERALS: Mapping[str, bool | None] = {"True": True, "False": False, "None": None}
_COMPARATORS = frozenset({"==", "!=", "<", "<=", ">", ">="})
_RESERVED = frozenset({"where", "and", "or", "not", *_LITERALS})


class ContractError(ValueError):
    """A contract that does not follow the grammar.

    ``column`` is 0-based and ``length`` at least 1; ``str()`` is one line, :meth:`frame` adds the
    text with carets under the place.
    """

    def __init__(self, message: str, text: str, column: int, length: int = 1) -> None:
        super().__init__(message)
        self.message = message
        self.text = text
        self.column = column
        self.length = max(1, length)

    def __str__(self) -> str:
        return f"bad contract '{self.text.strip()}': column {self.column + 1}: {self.message}"

    def frame(self) -> str:
        """The message, the text and a line of carets, for a terminal."""
        text = self.text.replace("\t", " ").replace("\n", " ")
        return f"{self.message}\n  {text}\n  {' ' * self.column}{'^' * self.length}"


_TOKEN = re.compile(
    r"""
    (?P<space>\s+|\#.*)
  | (?P<float>\d+\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+)
  | (?P<int>\d[\d_]*)
  | (?P<name>[^\W\d]\w*)
  | (?P<string>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')
  | (?P<op>\.\.\.|\.\.|==|!=|<=|>=|//|[-+*%()\[\],:<>.])
    """,
    re.VERBOSE,
)

_MAX_DEPTH = 100  # of nesting: keeps every walk over a contract far from the recursion limit
_MAX_TERMS = 200  # of one sum or product, for the same reason


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    column: int


def parse(text: str, *, comment: bool = False) -> Contract:
    """Read one contract; ``comment`` is the form without the kernel's name.

    Raises:
        ContractError: the text does not follow the grammar, or a parameter is given twice.
    """
    return _Parser(text).contract(comment)


def _tokens(text: str) -> list[_Token]:
    tokens = []
    position = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            character = text[position]
            if character in "\"'":
                raise ContractError("this string is not closed", text, position)
            hint = {
                "=": "; compare with '=='",
                "/": "; integer division is '//'",
                "&": "; join conditions with ',' or 'and'",
            }.get(character, "")
            raise ContractError(f"unexpected {character!r}{hint}", text, position)
        if match.lastgroup is not None and match.lastgroup != "space":
            tokens.append(_Token(match.lastgroup, match.group(), position))
        position = match.end()
    tokens.append(_Token("end", "", len(text.rstrip())))
    return tokens


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = _tokens(text)
        self.index = 0
        self.depth = 0

    # -- small tools

    @property
    def token(self) -> _Token:
        return self.tokens[self.index]

    def peek(self, offset: int = 1) -> _Token:
        return self.tokens[min(self.index + offset, len(self.tokens) - 1)]

    def advance(self) -> _Token:
        token = self.token
        if token.kind != "end":
            self.index += 1
        return token

    def at(self, *texts: str) -> bool:
        return self.token.kind in ("op", "name") and self.token.text in texts

    def accept(self, text: str) -> bool:
        if self.at(text):
            self.advance()
            return True
        return False

    def fail(self, message: str, token: _Token | None = None) -> NoReturn:
        place = token or self.token
        raise ContractError(message, self.text, place.column, len(place.text))

    def expect(self, text: str, after: str) -> _Token:
        if not self.at(text):
            self.fail(f"expected '{text}' {after}, found {self.found()}")
        return self.advance()

    def found(self) -> str:
        return "the end" if self.token.kind == "end" else f"'{self.token.text}'"

    def identifier(self, what: str) -> _Token:
        if self.token.kind != "name" or self.token.text in _RESERVED:
            self.fail(f"expected {what}, found {self.found()}")
        return self.advance()

    # -- grammar

    def contract(self, comment: bool) -> Contract:
        kernel = None
        if self.token.kind == "name" and self.token.text not in _RESERVED:
            first = self.token
            kernel = self.advance().text
            while self.accept("."):
                kernel += "." + self.identifier("a name after '.'").text
            if comment:
                self.fail(
                    "a contract in a comment belongs to the kernel below; omit the name", first
                )
        elif not comment:
            self.fail(f"expected the name of a kernel, found {self.found()}")
        grid: tuple[Expression, ...] = ()
        if self.accept("["):
            grid = self.grid()
        self.expect("(", "before the parameters")
        parameters = self.parameters()
        conditions: tuple[Comparison, ...] = ()
        if self.accept("where"):
            conditions = self.conditions()
        if self.token.kind != "end":
            expected = "',' or 'and' or the end" if conditions else "'where' or the end"
            self.fail(f"expected {expected}, found {self.found()}")
        return Contract(kernel, grid, parameters, conditions)

    def grid(self) -> tuple[Expression, ...]:
        sizes = [self.sum()]
        while self.accept(",") and not self.at("]"):
            sizes.append(self.sum())
        self.expect("]", "after the grid")
        return tuple(sizes)

    def parameters(self) -> tuple[Parameter, ...]:
        found: dict[str, Parameter] = {}
        while not self.at(")"):
            name = self.identifier("a parameter")
            if name.text in found:
                self.fail(f"parameter '{name.text}' is given twice", name)
            self.expect(":", f"after parameter '{name.text}'")
            found[name.text] = Parameter(name.text, self.spec(), name.column)
            if not self.accept(","):
                break
        self.expect(")", "after the parameters")
        return tuple(found.values())

    def spec(self) -> Spec:
        token = self.token
        column = token.column
        self.enter(token)
        try:
            if token.kind == "string":
                return StringSpec(self.string(), column)
            if token.kind == "float":
                return FloatSpec(float(self.advance().text), column)
            if self.at("-") and self.peek().kind == "float":
                self.advance()
                return FloatSpec(-float(self.advance().text), column)
            if token.text in _LITERALS and token.kind == "name":
                self.advance()
                return LiteralSpec(_LITERALS[token.text], column)
            if self.at("["):
                return self.sequence("list")
            if self.at("(") and self.is_tuple():
                return self.sequence("tuple")
            if token.kind == "name" and self.peek().kind == "op" and self.peek().text == "[":
                return self.tensor(self.dtype())
            if token.kind == "name" and token.text in _CANONICAL:
                self.advance()
                return TensorSpec(_CANONICAL[token.text], None, column)
            if self.at("*", "_"):
                self.advance()
                return Anything(column)
            return self.integers()
        finally:
            self.depth -= 1

    def enter(self, token: _Token) -> None:
        self.depth += 1
        if self.depth > _MAX_DEPTH:
            self.fail("nested too deeply", token)

    def count(self, terms: int, start: _Token) -> int:
        if terms == _MAX_TERMS:
            self.fail("too many terms in one expression", start)
        return terms + 1

    def string(self) -> str:
        token = self.advance()
        try:
            value = ast.literal_eval(token.text)
        except (SyntaxError, ValueError):
            self.fail("this string has a bad escape", token)
        if not isinstance(value, str):
            self.fail("expected a string", token)
        return value

    def dtype(self) -> str | None:
        token = self.advance()
        if token.text == "_":
            return None
        if token.text not in _CANONICAL:
            close = difflib.get_close_matches(token.text, _CANONICAL, 1, NEAR)
            hint = f"; did you mean '{close[0]}'?" if close else ""
            self.fail(f"'{token.text}' is not a dtype{hint}", token)
        return _CANONICAL[token.text]

    def tensor(self, dtype: str | None) -> TensorSpec:
        column = self.tokens[self.index - 1].column
        self.expect("[", "before the shape")
        if self.accept("..."):
            self.expect("]", "after '...'")
            return TensorSpec(dtype, None, column)
        sizes: list[Size] = []
        while not self.at("]"):
            sizes.append(self.size())
            if not self.accept(","):
                break
        self.expect("]", "after the shape")
        return TensorSpec(dtype, tuple(sizes), column)

    def size(self) -> Size:
        if self.at("*", "_"):
            return Anything(self.advance().column)
        return self.sum()

    def is_tuple(self) -> bool:
        """At "(": whether it opens a tuple; one expression in parentheses is no tuple."""
        depth = 0
        for offset, token in enumerate(self.tokens[self.index :]):
            if token.kind == "op" and token.text in "([":
                depth += 1
            elif token.kind == "op" and token.text in ")]":
                depth -= 1
                if depth == 0:
                    return offset == 1
            elif token.kind == "op" and token.text == "," and depth == 1:
                return True
        return False

    def sequence(self, kind: Literal["tuple", "list"]) -> SequenceSpec:
        opening = self.advance()
        closing = ")" if kind == "tuple" else "]"
        elements: list[Spec] = []
        while not self.at(closing):
            elements.append(self.spec())
            if not self.accept(","):
                break
        self.expect(closing, f"at the end of the {kind}")
        return SequenceSpec(kind, tuple(elements), opening.column)

    def integers(self) -> RangeSpec | IntSpec:
        column = self.token.column
        lower = self.sum()
        if self.accept(".."):
            upper = self.sum()
            if isinstance(lower, Int) and isinstance(upper, Int) and lower.value > upper.value:
                raise ContractError(
                    f"the range {lower.value}..{upper.value} is empty", self.text, column
                )
            return RangeSpec(lower, upper, column)
        return IntSpec(lower, column)

    def conditions(self) -> tuple[Comparison, ...]:
        found = [self.comparison()]
        while self.accept(",") or self.accept("and"):
            if self.token.kind == "end":
                break
            found.append(self.comparison())
        if self.at("or"):
            self.fail("'or' is not part of a contract: write one contract for each case")
        return tuple(found)

    def comparison(self) -> Comparison:
        if self.at("not"):
            self.fail("'not' is not part of a contract: turn the comparison round")
        column = self.token.column
        operands = [self.sum()]
        ops: list[Comparator] = []
        while self.token.kind == "op" and self.token.text in _COMPARATORS:
            ops.append(_comparator(self.advance().text))
            operands.append(self.sum())
        if not ops:
            self.fail(f"expected a comparison such as '<=', found {self.found()}")
        return Comparison(tuple(operands), tuple(ops), column)

    def sum(self) -> Expression:
        start = self.token
        left = self.product()
        terms = 1
        while self.at("+", "-"):
            terms = self.count(terms, start)
            op: BinaryOperator = "+" if self.advance().text == "+" else "-"
            left = Binary(op, left, self.product(), left.column)
        return left

    def product(self) -> Expression:
        start = self.token
        left = self.factor()
        terms = 1
        while self.at("*", "//", "%"):
            terms = self.count(terms, start)
            text = self.advance().text
            op: BinaryOperator = "*" if text == "*" else "//" if text == "//" else "%"
            left = Binary(op, left, self.factor(), left.column)
        return left

    def factor(self) -> Expression:
        token = self.token
        self.enter(token)
        try:
            if self.accept("-"):
                operand = self.factor()
                if isinstance(operand, Int) and operand.value > 0:
                    return Int(-operand.value, token.column)
                return Negate(operand, token.column)
            if self.accept("("):
                inner = self.sum()
                self.expect(")", "to close the parenthesis")
                return inner
            if token.kind == "int":
                self.advance()
                return self.integer(token)
            if token.kind == "name" and token.text not in _RESERVED and token.text != "_":
                return self.name()
            self.fail(f"expected an integer or a name, found {self.found()}")
        finally:
            self.depth -= 1

    def integer(self, token: _Token) -> Int:
        try:
            return Int(int(token.text), token.column)
        except ValueError:
            self.fail(f"'{token.text}' is not an integer", token)

    def name(self) -> Name:
        token = self.advance()
        if self.at("."):
            self.fail(
                f"'{token.text}.' is not part of a contract: name the size instead, as in "
                f"'{token.text}: _[K, M]'"
            )
        if self.at("(", "["):
            self.fail(f"'{token.text}{self.token.text}' is not part of a contract's expression")
        return Name(token.text, token.column)


def _comparator(text: str) -> Comparator:
    for op in ("==", "!=", "<", "<=", ">", ">="):
        if op == text:
            return op
    raise ValueError(text)
