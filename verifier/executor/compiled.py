"""Functions that a front end compiles from their text: what it leaves out is left out of runs."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from types import ModuleType
from typing import Any

from verifier.dialects.descriptor import DialectDescriptor
from verifier.dialects.registry import of_name
from verifier.executor.constants import is_settled
from verifier.executor.shims import Api
from verifier.symbolic.values import ApiRef


def compiled(statement: ast.stmt, names: Mapping[str, Any]) -> ast.stmt:
    """A statement of a file, without what functions assert and their front end drops.

    ``names`` are those of the file so far: they say what the decorators are.
    """
    found = _made(statement, names) if isinstance(statement, ast.FunctionDef) else None
    if isinstance(statement, ast.FunctionDef) and found is not None:
        dialect, given = found
        debug = [k.value for k in given if k.arg == dialect.debug_keyword]
        kept = any(isinstance(value, ast.Constant) and value.value for value in debug)
        silent = _Silent(statement, names, kept)
        body = [silent.visit(inner) for inner in statement.body]
        statement.body = [ast.fix_missing_locations(inner) for inner in body]
    return statement


def _made(
    function: ast.FunctionDef, names: Mapping[str, Any]
) -> tuple[DialectDescriptor, list[ast.keyword]] | None:
    """The dialect that drops assertions of a function, and the keywords of what makes it a kernel;
    None: none does."""
    for decorator in function.decorator_list:
        call = decorator if isinstance(decorator, ast.Call) else None
        ref = _named(decorator if call is None else call.func, names)
        if ref is None:
            continue
        dialect = of_name(ref)
        if not dialect.asserts_kept and ref.name in dialect.api.makers:
            return dialect, [] if call is None else call.keywords
    return None


def _named(node: ast.expr, names: Mapping[str, Any]) -> ApiRef | None:
    """The name of a kernel API that an expression is."""
    value = _value(node, names)
    return value.tilelint_api if isinstance(value, Api) else None


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
        ref = _named(call.func, self._names)
        if ref is None or ref.name != of_name(ref).compiler_asserts:
            return node
        settled = is_settled(call.args[0], self._function)
        return node if settled else ast.copy_location(ast.Pass(), node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.stmt:
        return node


__all__ = ["compiled"]
