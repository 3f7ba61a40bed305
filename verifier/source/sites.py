"""Places of kernels in a text: of their names, and of what makes them of other functions."""

from __future__ import annotations

import ast

from msgspec import Struct

from verifier.source.ir import Span
from verifier.source.project import Module


class Site(Struct, frozen=True):
    """The expression that makes a kernel of what decorators or calls make of a function.

    ``text``: what it is, or makes one of. ``around``: the place of the name of the function around
    it, None: it means the same at the top level of its module. ``path``: its file.
    """

    path: str
    line: int
    column: int
    text: str
    around: tuple[int, int] | None = None

    @property
    def place(self) -> tuple[str, int, int]:
        """Its start."""
        return self.path, self.line, self.column


def column_of(module: Module, node: ast.expr | ast.stmt) -> int:
    """Where a node begins: `ast` counts in UTF-8 bytes."""
    line = module.lines[node.lineno - 1]
    return len(line.encode("utf-8", "replace")[: node.col_offset].decode("utf-8", "replace"))


def name_span(module: Module, node: ast.FunctionDef | ast.AsyncFunctionDef) -> Span:
    """The identifier after ``def``, past white space and continued lines."""
    number = node.lineno
    line = module.lines[number - 1]
    column = column_of(module, node)  # before a `def` there is white space or `if x:` only
    words = ["async", "def"] if isinstance(node, ast.AsyncFunctionDef) else ["def"]
    for word in words:
        column += len(word)
        while True:
            rest = line[column:]
            blank = len(rest) - len(rest.lstrip(" \t\f"))
            column += blank
            if not line.startswith("\\", column) or number >= len(module.lines):
                break
            number += 1
            line, column = module.lines[number - 1], 0
    return Span(str(module.path), number, column, number, column + len(node.name))
