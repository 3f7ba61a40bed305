"""Walks over syntax trees that were parsed: several times as fast as those of :mod:`ast`."""

from __future__ import annotations

import ast


def below(node: ast.AST) -> list[ast.AST]:
    """The nodes right below one, as :func:`ast.iter_child_nodes` gives them."""
    found: list[ast.AST] = []
    # what a parser has made has its fields in their order, and numbers behind them
    for value in node.__dict__.values():
        if type(value) is list:
            found += [item for item in value if isinstance(item, ast.AST)]
        elif isinstance(value, ast.AST):
            found.append(value)
    return found


def walk(node: ast.AST) -> list[ast.AST]:
    """A node and all below it, as :func:`ast.walk` gives them."""
    found = [node]
    for item in found:
        for value in item.__dict__.values():
            if type(value) is list:
                found += [each for each in value if isinstance(each, ast.AST)]
            elif isinstance(value, ast.AST):
                found.append(value)
    return found


#: what holds statements, in a node that is no expression
_BLOCKS = ("body", "handlers", "cases", "orelse", "finalbody")


def statements(node: ast.AST) -> list[ast.AST]:
    """A module or statement and all statements below it, in the order of :func:`ast.walk`: what is
    no part of an expression.
    """
    found = [node]
    for item in found:
        for name in _BLOCKS:
            block = getattr(item, name, None)
            if isinstance(block, list):
                found += block
    return found
