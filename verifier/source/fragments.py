"""Parts of files, as documents and questions show them: a kernel without the imports above it.

The decorator leaves no doubt about them: its package is bound nowhere, and nothing could bind it.
Such a text is read as if the imports that everybody writes stood above it. So are the names that a
front end has for kernels without an import.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, TypeGuard

from verifier.source import apis, nodes
from verifier.source.project import Module

#: what the host has that kernels are written with, by the names that everybody gives it
_HOST: Final[Mapping[str, str]] = {"math": "math", "np": "numpy"}

#: the first name of a decorator
_DECORATES: Final = re.compile(r"@[\s(]*(\w+)")


def meaning(module: Module, name: str) -> str | None:
    """The dotted module that a name stands for which a fragment does not bind, else None."""
    if name in module.bindings:
        return None
    if name in apis.provided():
        return _provided(module.bindings, module.star_imports, module.syntax()).get(name)
    return _left_out(module).get(name) if name in apis.shorthands() or name in _HOST else None


def is_fragment(module: Module) -> bool:
    """Whether a text uses a kernel API that it does not import: more may be left out of it."""
    return bool(_left_out(module))


def _left_out(module: Module) -> Mapping[str, str]:
    """As :func:`implied`. What a text decorates with is seen without parsing it."""
    unbound = apis.shorthands().keys() - module.bindings.keys()
    if module.star_imports or unbound.isdisjoint(_DECORATES.findall(module.text)):
        return {}
    return _of_fragment(module.bindings, module.star_imports, module.syntax())


def implied(
    bound: Iterable[str], stars: Iterable[object], statements: Iterable[ast.stmt]
) -> Mapping[str, str]:
    """The names that a text uses as if they were imported, with what they stand for.

    It binds the names ``bound``, and what ``stars`` import.
    """
    bound, stars, statements = set(bound), list(stars), list(statements)
    found = _of_fragment(bound, stars, statements)
    return {**_provided(bound, stars, statements), **found}


def _provided(
    bound: Iterable[str], stars: Iterable[object], statements: Sequence[ast.stmt]
) -> Mapping[str, str]:
    """Names that the front end of an imported package has, where the text binds none of them."""
    packages = {path.partition(".")[0] for path in apis.provided().values()}
    if any(True for _ in stars) or packages.isdisjoint(_imported(statements)):
        return {}
    every = [node for statement in statements for node in nodes.walk(statement)]
    used = {n.value.id for n in every if isinstance(n, ast.Attribute) and _is_read(n.value)}
    used -= {n.id for n in every if isinstance(n, ast.Name) and not _is_read(n)}
    used -= {n.arg for n in every if isinstance(n, ast.arg)} | set(bound)
    return {name: path for name, path in apis.provided().items() if name in used}


def _imported(statements: Iterable[ast.stmt]) -> Iterator[str]:
    """The packages that a text imports from."""
    for statement in statements:
        for node in (statement, *nodes.statements(statement)):
            if isinstance(node, ast.Import):
                yield from (alias.name.partition(".")[0] for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                yield node.module.partition(".")[0]


def _is_read(node: ast.AST) -> TypeGuard[ast.Name]:
    return isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)


def _of_fragment(
    bound: Iterable[str], stars: Iterable[object], statements: Iterable[ast.stmt]
) -> Mapping[str, str]:
    known = set(bound)
    if any(True for _ in stars):
        return {}
    for statement in statements:
        if not isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        for decorator in statement.decorator_list:
            func = decorator.func if isinstance(decorator, ast.Call) else decorator
            if not isinstance(func, ast.Attribute) or not isinstance(func.value, ast.Name):
                continue
            root = func.value.id
            api = apis.by_package().get(apis.shorthands().get(root, ""))
            if api is not None and root not in known and func.attr in api.wrappers[root]:
                usual = {**_HOST, **api.shorthands}
                return {name: path for name, path in usual.items() if name not in known}
    return {}
