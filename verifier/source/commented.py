"""Contracts in comments above functions."""

from __future__ import annotations

import ast
import re
from typing import Final

from verifier.source import nodes
from verifier.source.meanings import FUNCTIONS, is_leaf
from verifier.source.outline import first_line_of
from verifier.source.project import Module

_CONTRACT: Final = re.compile(r"#\s*tilelint:\s*contract\b[ \t]*(.*?)\s*$")


def contract_comments(module: Module) -> dict[str, list[tuple[int, str]]]:
    """``# tilelint: contract ...`` comments in the block right above a function.

    Maps the qualified name of the function to (line, text after ``contract``), in order. One
    comment line is one contract; other comment lines may stand between.
    """
    if "tilelint:" not in module.text:
        return {}
    result: dict[str, list[tuple[int, str]]] = {}
    stack: list[tuple[ast.AST, str]] = [(node, "") for node in reversed(module.syntax())]
    while stack:
        node, prefix = stack.pop()
        below = prefix
        if isinstance(node, (*FUNCTIONS, ast.ClassDef)):
            name = prefix + node.name
            below = name + "."
            if isinstance(node, FUNCTIONS):
                found = _comments_above(module, first_line_of(node), node.lineno)
                if found:
                    result.setdefault(name, []).extend(found)
        children = [child for child in nodes.below(node) if not is_leaf(child)]
        stack.extend((child, below) for child in reversed(children))
    return result


def _comments_above(module: Module, first: int, def_line: int) -> list[tuple[int, str]]:
    begin = first
    while begin > 1 and module.lines[begin - 2].lstrip().startswith("#"):
        begin -= 1
    found = []
    for number in range(begin, def_line):
        match = _CONTRACT.match(module.lines[number - 1].lstrip())
        if match:
            found.append((number, match.group(1)))
    return found
