"""Bodies of functions that are left out of a text until somebody asks for their statements.

Most functions of a project are defined where a kernel comes by, and never called by it. What a
definition says of its body, its last line among it, is told by the cheap parser.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from verifier.source.nodes import below
from verifier.source.outline import first_line_of, last_line_of

#: shorter bodies are not worth a text of their own
_LEAST = 6
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


class Body(Struct, frozen=True):
    """Whole lines of a text, by their numbers: the body of a function."""

    line: int
    end_line: int
    is_async: bool
    is_generator: bool
    docstring: str | None


class Outlined(Struct, frozen=True):
    """A text whose long bodies are an empty string; the bodies, and where definitions end.

    By the lines of ``def`` and ``class``; an end is a line and a column in code points.
    """

    text: str
    bodies: dict[int, Body]
    ends: dict[int, tuple[int, int]]


def outlined(text: str, statements: Iterable[ast.stmt]) -> Outlined:
    """The text without its long bodies. ``statements`` are its own."""
    lines = text.split("\n")
    bodies: dict[int, Body] = {}
    ends: dict[int, tuple[int, int]] = {}
    for node in _definitions(statements):
        end = last_line_of(node) - 1
        code = lines[end].encode()[: node.end_col_offset].decode()
        ends[node.lineno] = end + 1, len(code)
        if isinstance(node, _FUNCTIONS):
            found = _body(node, lines)
            if found is not None:
                bodies[node.lineno] = found
    for body in bodies.values():
        first = lines[body.line - 1]
        # one string: an empty line would be a node of its own
        lines[body.line - 1] = first[: len(first) - len(first.lstrip())] + '"""'
        lines[body.line : body.end_line - 1] = [""] * (body.end_line - body.line - 1)
        lines[body.end_line - 1] = '"""'
    return Outlined("\n".join(lines), bodies, ends)


def text_of(text: str, body: Body) -> str:
    """A function with the body alone, which stands in the second line."""
    lines = text.split("\n")[body.line - 1 : body.end_line]
    return "\n".join(["async def _():" if body.is_async else "def _():", *lines])


def _definitions(
    statements: Iterable[ast.stmt],
) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef]:
    """Functions and classes, with those that classes have."""
    for node in statements:
        if isinstance(node, _FUNCTIONS):
            yield node
        elif isinstance(node, ast.ClassDef):
            yield node
            yield from _definitions(node.body)


def _body(node: ast.FunctionDef | ast.AsyncFunctionDef, lines: Sequence[str]) -> Body | None:
    """The body of a function if it is long, and stands in lines of its own."""
    first, end = first_line_of(node.body[0]) - 1, last_line_of(node) - 1
    if end - first < _LEAST or first < node.lineno:
        return None
    code = lines[first].lstrip()
    before = lines[first][: len(lines[first]) - len(code)]
    if "\f" in before or node.body[0].col_offset != len(before):
        return None  # statements share a line, or white space that begins no line
    if lines[first - 1].rstrip().endswith("\\"):
        return None
    return Body(
        first + 1,
        end + 1,
        isinstance(node, ast.AsyncFunctionDef),
        any("yield" in line for line in lines[first : end + 1]) and _yields(node.body),
        ast.get_docstring(node, clean=False),
    )


def _yields(body: Iterable[ast.AST]) -> bool:
    """Whether a body has a ``yield`` of its own."""
    stack = list(body)
    while stack:
        node = stack.pop()
        if isinstance(node, (ast.Yield, ast.YieldFrom)):
            return True
        if isinstance(node, _FUNCTIONS):
            stack += node.decorator_list
            stack.append(node.args)
            stack += [node.returns] if node.returns is not None else []
        elif isinstance(node, ast.Lambda):
            stack.append(node.args)
        else:
            stack += below(node)
    return False
