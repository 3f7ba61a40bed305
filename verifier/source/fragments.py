"""Parts of files, as documents and questions show them: a kernel without the imports above it.

The decorator leaves no doubt about them: its package is bound nowhere, and nothing could bind it.
Such a text is read as if the imports that everybody writes stood above it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping
from typing import Final

from verifier.source import apis
from verifier.source.project import Module

#: what the host has that kernels are written with, by the names that everybody gives it
_HOST: Final[Mapping[str, str]] = {"math": "math", "np": "numpy"}

#: the first name of a decorator
_DECORATES: Final = re.compile(r"@[\s(]*(\w+)")


def meaning(module: Module, name: str) -> str | None:
    """The dotted module that a name stands for which a fragment does not bind, else None."""
    if name in module.bindings or not (name in apis.shorthands() or name in _HOST):
        return None
    return _left_out(module).get(name)


def is_fragment(module: Module) -> bool:
    """Whether a text uses a kernel API that it does not import: more may be left out of it."""
    return bool(_left_out(module))


def _left_out(module: Module) -> Mapping[str, str]:
    """As :func:`implied`. What a text decorates with is seen without parsing it."""
    unbound = apis.shorthands().keys() - module.bindings.keys()
    if module.star_imports or unbound.isdisjoint(_DECORATES.findall(module.text)):
        return {}
    return implied(module.bindings, module.star_imports, module.syntax())


def implied(
    bound: Iterable[str], stars: Iterable[object], statements: Iterable[ast.stmt]
) -> Mapping[str, str]:
    """The names that a text uses as if they were imported, with what they stand for.

    It binds the names ``bound``, and what ``stars`` import.
    """
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
