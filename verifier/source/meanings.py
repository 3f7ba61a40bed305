"""What names mean in the scopes of a module, as far as its kernels are concerned."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from verifier.source.outline import Binding, target_names

FUNCTIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef)


class Local(Struct, frozen=True):
    """A function defined in this module, in some scope."""

    node: ast.FunctionDef | ast.AsyncFunctionDef
    name: str
    nested: bool


class Imported(Struct, frozen=True):
    """``module`` (dotted, ``level`` dots before it), or ``original`` in it."""

    module: str
    level: int
    original: str | None


class Alias(Struct, frozen=True):
    """A name bound once to an expression, such as ``compile_it = nki.jit``."""

    value: ast.expr


# `None`: bound to something that says nothing about kernels.
Meaning = Local | Imported | Alias | None
Scope = dict[str, Meaning]


def meaning_of(name: str, scopes: list[Scope]) -> Meaning:
    for scope in reversed(scopes):
        if name in scope:
            return scope[name]
    return None


def import_of(binding: Binding) -> Imported:
    return Imported(binding.module, binding.level, binding.original)


def scope_of(body: Sequence[ast.stmt], prefix: str, *, nested: bool) -> Scope:
    """What the names bound by ``body`` mean, in that scope alone.

    Of several bindings the first import or function counts: the others are fallbacks.
    """
    return _Meanings(prefix, nested).of(body)


class _Meanings:
    """The names of one scope, gathered statement by statement."""

    def __init__(self, prefix: str, nested: bool) -> None:
        self.prefix = prefix
        self.nested = nested
        self.scope: Scope = {}
        self.assigned: dict[str, int] = {}

    def of(self, body: Sequence[ast.stmt]) -> Scope:
        stack: list[ast.AST] = list(reversed(body))
        while stack:
            node = stack.pop()
            if isinstance(node, FUNCTIONS):
                self.bind(node.name, Local(node, self.prefix + node.name, self.nested))
                continue
            if isinstance(node, ast.ClassDef):
                self.scope.setdefault(node.name, None)
                continue
            self.statement(node)
            if isinstance(node, (ast.stmt, ast.ExceptHandler)) or hasattr(node, "pattern"):
                children = reversed(list(ast.iter_child_nodes(node)))
                stack.extend(child for child in children if not is_leaf(child))
        return self.scope

    def bind(self, name: str, meaning: Meaning) -> None:
        if self.scope.get(name) is None or isinstance(self.scope[name], Alias):
            self.scope[name] = meaning

    def statement(self, node: ast.AST) -> None:
        if isinstance(node, ast.Import):
            for alias in node.names:
                top = alias.name.partition(".")[0]
                origin = Imported(alias.name if alias.asname else top, 0, None)
                self.bind(alias.asname or top, origin)
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                origin = Imported(node.module or "", node.level, alias.name)
                self.bind(alias.asname or alias.name, origin)
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                self.assignment(target, node.value)
        elif isinstance(node, (ast.For, ast.AsyncFor, ast.AnnAssign, ast.AugAssign)):
            self.hide(node.target)
        elif isinstance(node, (ast.With, ast.AsyncWith)):
            for item in node.items:
                if item.optional_vars is not None:
                    self.hide(item.optional_vars)

    def assignment(self, target: ast.expr, value: ast.expr) -> None:
        for name in target_names(target):
            self.assigned[name] = self.assigned.get(name, 0) + 1
            if isinstance(target, ast.Name) and self.assigned[name] == 1:
                self.scope.setdefault(name, Alias(value))
            elif isinstance(self.scope.get(name), Alias):
                self.scope[name] = None
            else:
                self.scope.setdefault(name, None)

    def hide(self, target: ast.expr) -> None:
        for name in target_names(target):
            self.scope[name] = None


def parameters(arguments: ast.arguments) -> list[str]:
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    every += [a for a in (arguments.vararg, arguments.kwarg) if a is not None]
    return [argument.arg for argument in every]


def is_leaf(node: ast.AST) -> bool:
    return isinstance(node, (ast.expr, ast.expr_context, ast.arguments, ast.alias))
