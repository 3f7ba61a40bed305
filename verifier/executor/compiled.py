"""Functions that a front end compiles from their text: in runs they do what it makes of them."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Mapping
from types import ModuleType
from typing import Any

from verifier.dialects.descriptor import Rewrites
from verifier.dialects.registry import of_name
from verifier.executor.shims import Api
from verifier.source.nodes import walk
from verifier.symbolic.values import ApiRef


def compiled(
    statement: ast.stmt,
    names: Mapping[str, Any],
    called: Collection[str] = (),
    *,
    postponed: bool = False,
) -> ast.stmt:
    """A statement of a file; a kernel as what its front end makes of it.

    ``names`` are those of the file so far: they say what the decorators are. ``called``:
    :func:`helpers`. ``postponed``: annotations of the file are not evaluated.
    """
    found = _made(statement, names) if isinstance(statement, ast.FunctionDef) else None
    if isinstance(statement, ast.FunctionDef) and found is not None:
        rewrites, kept = found
        rewrites(
            statement,
            lambda node: _named(node, names),
            asserts=kept,
            helper=statement.name in called,
            postponed=postponed,
        )
    return statement


def _made(function: ast.FunctionDef, names: Mapping[str, Any]) -> tuple[Rewrites, bool] | None:
    """How the text of a kernel is read, and whether its assertions are kept; None: as Python."""
    for decorator in function.decorator_list:
        call = decorator if isinstance(decorator, ast.Call) else None
        ref = _named(decorator if call is None else call.func, names)
        if ref is None:
            continue
        dialect = of_name(ref)
        if dialect.rewrites is not None and ref.name in dialect.api.makers:
            given = () if call is None else call.keywords
            debug = [k.value for k in given if k.arg == dialect.debug_keyword]
            kept = any(isinstance(value, ast.Constant) and value.value for value in debug)
            return dialect.rewrites, kept or dialect.asserts_kept
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


def helpers(statements: Iterable[ast.stmt]) -> frozenset[str]:
    """The names that functions of a file call."""
    return frozenset(
        node.func.id
        for statement in statements
        if isinstance(statement, ast.FunctionDef)
        for node in walk(statement)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    )


__all__ = ["compiled", "helpers"]
