"""Functions that a front end compiles from their text: what it leaves out is left out of runs."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from types import ModuleType
from typing import Any

from verifier.dialects.names import PPL
from verifier.executor.constants import is_settled
from verifier.executor.shims import Api


def compiled(statement: ast.stmt, names: Mapping[str, Any]) -> ast.stmt:
    """A statement of a file, without what functions for PPL assert that nobody asks (PPL-C02).

    ``names`` are those of the file so far: they say what the decorators are.
    """
    calls = _jit(statement, names) if isinstance(statement, ast.FunctionDef) else None
    if isinstance(statement, ast.FunctionDef) and calls is not None:
        debug = [k.value for call in calls for k in call.keywords if k.arg == "debug"]
        kept = any(isinstance(value, ast.Constant) and value.value for value in debug)
        silent = _Silent(statement, names, kept)
        body = [silent.visit(inner) for inner in statement.body]
        statement.body = [ast.fix_missing_locations(inner) for inner in body]
    return statement


def _jit(function: ast.FunctionDef, names: Mapping[str, Any]) -> list[ast.Call] | None:
    """How a function is decorated as one of PPL's; None: it is none."""
    for decorator in function.decorator_list:
        call = decorator if isinstance(decorator, ast.Call) else None
        if _is(decorator if call is None else call.func, "jit", names):
            return [] if call is None else [call]
    return None


def _is(node: ast.expr, name: str, names: Mapping[str, Any]) -> bool:
    value = _value(node, names)
    ref = value.tilelint_api if isinstance(value, Api) else None
    return ref is not None and (ref.generation, ref.name) == (PPL, name)


def _value(node: ast.expr, names: Mapping[str, Any]) -> Any:
    """What a dotted name is; None for anything else."""
    if isinstance(node, ast.Name):
        return names.get(node.id)
    if not isinstance(node, ast.Attribute):
        return None
    owner = _value(node.value, names)
    return getattr(owner, node.attr, None) if isinstance(owner, (Api, ModuleType)) else None


class _Silent(ast.NodeTransformer):
    """What is not asked becomes ``pass``; functions inside of functions are compiled on their own.

    That is: assertions, but for ``kept``, and what is asked of the compiler that it does not know.
    """

    def __init__(self, function: ast.FunctionDef, names: Mapping[str, Any], kept: bool) -> None:
        self._function = function
        self._names = names
        self._kept = kept

    def visit_Assert(self, node: ast.Assert) -> ast.stmt:
        return node if self._kept else ast.copy_location(ast.Pass(), node)

    def visit_Expr(self, node: ast.Expr) -> ast.stmt:
        call = node.value
        if not (isinstance(call, ast.Call) and call.args):
            return node
        if not _is(call.func, "pl.static_assert", self._names):
            return node
        settled = is_settled(call.args[0], self._function)
        return node if settled else ast.copy_location(ast.Pass(), node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.stmt:
        return node


__all__ = ["compiled"]
