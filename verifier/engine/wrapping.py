"""An assertion over as many lines as it needs, laid out as the common formatters do."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from itertools import pairwise

_STEP = "    "
_OPERATORS = (
    *("or ", "and ", "if ", "else ", "in ", "not in ", "== ", "!= ", "<= ", ">= ", "< ", "> "),
    *("+ ", "- ", "* ", "// ", "% "),
)
_SUMS = (ast.Add, ast.Sub)
#: the lengths of lines that formatters are set to most often
_NARROW, _WIDE = 88, 100
#: how strongly an operator binds, the weakest first: long expressions break at these
_LEVELS: tuple[tuple[type[ast.AST], ...], ...] = (
    (ast.Or,),
    (ast.And,),
    (ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE),
    (ast.Add, ast.Sub),
)


def width(said: int | None, lines: Sequence[str]) -> int:
    """How long a line of a file may be: what is ``said``, else what its other lines show."""
    if said is not None:
        return said
    return _WIDE if any(len(line) > _NARROW for line in lines) else _NARROW


def statement(condition: str, margin: str, width: int) -> str:
    """``assert condition`` behind a margin, in lines of at most ``width`` where that is possible.

    The text has no line end behind it.
    """
    line = f"{margin}assert {condition}"
    if len(line) <= width:
        return line
    inner = margin + _STEP
    if len(inner + condition) <= width:
        return f"{margin}assert (\n{inner}{condition}\n{margin})"
    lines = "".join(f"{line}\n" for line in _broken(condition, inner, width))
    return f"{margin}assert (\n{lines}{margin})"


def _broken(text: str, margin: str, width: int) -> list[str]:
    """The lines of an expression that is inside parentheses, which may start with an operator."""
    if len(margin + text) <= width or not text.isascii():  # columns of the tree are in bytes
        return [margin + text]
    lead = next((operator for operator in _OPERATORS if text.startswith(operator)), "")
    body = text[len(lead) :]
    tree = ast.parse(body, mode="eval").body
    if tree.col_offset > 0 and body.startswith("(") and body.endswith(")"):
        inner = _broken(body[1:-1], margin + _STEP, width)
        return [f"{margin}{lead}(", *inner, f"{margin})"]
    if isinstance(tree, ast.Tuple):
        elements = [f"{margin}{_STEP}{ast.unparse(element)}," for element in tree.elts]
        return [f"{margin}{lead}(", *elements, f"{margin})"]
    parts = _parts(tree)
    if len(parts) == 1:
        return [margin + text]
    first, *rest = _pieces(body, parts)
    lines = _broken(lead + first, margin, width)
    for piece in rest:
        lines += _broken(piece, margin, width)
    return lines


def _pieces(text: str, parts: Sequence[ast.expr]) -> list[str]:
    """A text in pieces, a part in each, behind the operator that stands before it."""
    cuts = [0]
    for before, part in pairwise(parts):
        end = before.end_col_offset or 0
        gap = text[end : part.col_offset]
        # parentheses around the part before belong to it
        cuts.append(end + len(gap) - len(gap.lstrip(") ")))
    return [text[a:b].rstrip() for a, b in zip(cuts, [*cuts[1:], len(text)], strict=True)]


def _parts(tree: ast.expr) -> list[ast.expr]:
    """The operands between which a line may end."""
    if isinstance(tree, ast.BoolOp):
        return tree.values
    if isinstance(tree, ast.Compare):
        return [tree.left, *tree.comparators]
    if isinstance(tree, ast.BinOp):
        return _operands(tree, type(tree.op) in _SUMS)
    if isinstance(tree, ast.IfExp):
        return [tree.body, tree.test, *_otherwise(tree.orelse)]
    return [tree]


def _operands(tree: ast.expr, sum_: bool) -> list[ast.expr]:
    if isinstance(tree, ast.BinOp) and (type(tree.op) in _SUMS) is sum_:
        return [*_operands(tree.left, sum_), tree.right]
    return [tree]


def _otherwise(tree: ast.expr) -> list[ast.expr]:
    return _parts(tree) if isinstance(tree, ast.IfExp) else [tree]
