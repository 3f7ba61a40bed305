"""Texts of LibCST tokens: the values of strings, and names as Python compares them."""

from __future__ import annotations

import ast
import re
import unicodedata
import warnings
from collections.abc import Sequence

import libcst as cst


def string_value(token: str) -> object:
    """The value of a string or bytes literal without interpolation."""
    if "\\" not in token:
        quote = token[0]
        if quote in "\"'":
            width = 3 if len(token) >= 6 and token.startswith(quote * 3) else 1
            return token[width:-width]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        value: object = ast.literal_eval(token)
    return value


_ESCAPE_OR_QUOTE = re.compile(r"""\\.|["']""", re.DOTALL)


def unescape(text: str) -> str:
    """The value of a literal part of an f-string, which may contain or touch any quotes."""
    if "\\" not in text:
        return text
    quoted = _ESCAPE_OR_QUOTE.sub(lambda m: m[0] if m[0][0] == "\\" else f"\\{m[0]}", text)
    try:
        return str(string_value(f'"""{quoted}"""'))
    except (SyntaxError, ValueError):
        return text  # an escape that LibCST has cut in two


def adjacent(node: cst.BaseExpression) -> list[cst.BaseExpression]:
    """The strings that are concatenated implicitly, or the expression alone."""
    found: list[cst.BaseExpression] = []
    while isinstance(node, cst.ConcatenatedString):
        found.append(node.left)
        node = node.right
    return [*found, node]


def docstring(body: Sequence[cst.CSTNode]) -> str | None:
    """The docstring of a definition with this body."""
    if not body:
        return None
    first: cst.CSTNode = body[0]
    if isinstance(first, cst.SimpleStatementLine):
        first = first.body[0]
    if not isinstance(first, cst.Expr):
        return None
    tokens = adjacent(first.value)
    values = [string_value(t.value) for t in tokens if isinstance(t, cst.SimpleString)]
    texts = [value for value in values if isinstance(value, str)]
    return "".join(texts) if len(texts) == len(tokens) else None


def identifier(text: str) -> str:
    """A name as Python compares it: normalised, which matters outside ASCII only."""
    return text if text.isascii() else unicodedata.normalize("NFKC", text)


def dotted(node: cst.BaseExpression) -> str:
    """The text of a dotted name without the space in it."""
    parts: list[str] = []
    while isinstance(node, cst.Attribute):
        parts.append(identifier(node.attr.value))
        node = node.value
    if isinstance(node, cst.Name):
        parts.append(identifier(node.value))
    return ".".join(reversed(parts))
