"""What a compiler knows of an expression in a text that is run: whether it is made of constants."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

from verifier.dialects.ppl.host import OF_LAUNCH

#: in place of a name: what a launch says
_LAUNCH: Final = "<launch>"


def is_settled(node: ast.expr, function: ast.FunctionDef) -> bool:
    """Whether an expression in a function is known when that is compiled.

    Its parameters are, if they are annotated with ``constexpr``; a name is that is bound to nothing
    but what is made of such. What the launch says is not.
    """
    given = function.args
    params = [*given.posonlyargs, *given.args, *given.kwonlyargs]
    params += [each for each in (given.vararg, given.kwarg) if each is not None]
    unknown = {_LAUNCH, *(each.arg for each in params if not _is_constant(each.annotation))}
    bound = list(_bound(function))
    while True:
        more = {
            name
            for targets, value in bound
            if not unknown.isdisjoint(_names(value))
            for name in _names(targets)
        }
        if more <= unknown:
            return unknown.isdisjoint(_names(node))
        unknown |= more


def _is_constant(annotation: ast.expr | None) -> bool:
    return annotation is not None and ast.unparse(annotation).endswith("constexpr")


def _bound(function: ast.FunctionDef) -> Iterator[tuple[ast.AST, ast.AST]]:
    """What a function binds names to: targets, and what their values are made of."""
    for node in ast.walk(function):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                yield target, node.value
        elif isinstance(node, (ast.AugAssign, ast.AnnAssign, ast.NamedExpr)):
            if node.value is not None:
                yield node.target, node.value
        elif isinstance(node, (ast.For, ast.comprehension)):
            yield node.target, node.iter
        elif isinstance(node, (ast.If, ast.While)):
            # what a condition decides hangs on it
            for inner in (*node.body, *node.orelse):
                for each in ast.walk(inner):
                    if isinstance(each, (ast.Assign, ast.AugAssign, ast.AnnAssign)):
                        yield each, node.test


def _names(node: ast.AST) -> set[str]:
    found = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
    asked = {each.attr for each in ast.walk(node) if isinstance(each, ast.Attribute)}
    return found | {_LAUNCH} if any(f"pl.{name}" in OF_LAUNCH for name in found | asked) else found
