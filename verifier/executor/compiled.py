"""Functions that a front end compiles from their text: what it leaves out is left out of runs."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from types import ModuleType
from typing import Any

from verifier.dialects.names import PPL
from verifier.executor.shims import Api


def compiled(statement: ast.stmt, names: Mapping[str, Any]) -> ast.stmt:
    """A statement of a file, without the assertions of functions for PPL (PPL-C02).

    ``names`` are those of the file so far: they say what the decorators are.
    """
    if isinstance(statement, ast.FunctionDef) and _drops(statement, names):
        body = [_Silent().visit(inner) for inner in statement.body]
        statement.body = [ast.fix_missing_locations(inner) for inner in body]
    return statement


def _drops(function: ast.FunctionDef, names: Mapping[str, Any]) -> bool:
    for decorator in function.decorator_list:
        call = decorator if isinstance(decorator, ast.Call) else None
        value = _value(decorator if call is None else call.func, names)
        ref = value.tilelint_api if isinstance(value, Api) else None
        if ref is None or (ref.generation, ref.name) != (PPL, "jit"):
            continue
        debug = [] if call is None else [k.value for k in call.keywords if k.arg == "debug"]
        return not any(isinstance(value, ast.Constant) and value.value for value in debug)
    return False


def _value(node: ast.expr, names: Mapping[str, Any]) -> Any:
    """What a dotted name is; None for anything else."""
    if isinstance(node, ast.Name):
        return names.get(node.id)
    if not isinstance(node, ast.Attribute):
        return None
    owner = _value(node.value, names)
    return getattr(owner, node.attr, None) if isinstance(owner, (Api, ModuleType)) else None


class _Silent(ast.NodeTransformer):
    """Assertions become ``pass``; functions inside of functions are compiled on their own."""

    def visit_Assert(self, node: ast.Assert) -> ast.stmt:
        return ast.copy_location(ast.Pass(), node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.stmt:
        return node


__all__ = ["compiled"]
