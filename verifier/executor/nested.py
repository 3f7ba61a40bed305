"""Kernels that are defined inside of a function: on the way to one, the function is run."""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from verifier.executor import places
from verifier.executor.findings import MisuseError
from verifier.executor.session import Kernel, active, placed


class _FoundError(BaseException):
    """The kernel has been defined: what its function does with it is no part of the kernel."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function


def nested(outer: Callable[..., Any], name: str, qualified: str, path: Path) -> Kernel | None:
    """The kernel ``name`` in the body of ``outer``; its inputs are those of both.

    ``qualified``: its name in the file. None: the file has no such definition.
    """
    definition = _definition(qualified, path)
    if definition is None:
        return None
    around = inspect.signature(outer).parameters
    own = _parameters(definition)
    hidden = [other for other in around if any(p.name == other for p in own)]

    def enter(**given: Any) -> Any:
        if hidden:
            names = ", ".join(f"`{other}`" for other in hidden)
            raise MisuseError(f"`{qualified}` hides {names} of the function around it")
        session = active()

        def defined(function: Callable[..., Any]) -> None:
            name = _plain(getattr(function, "__qualname__", ""))
            if name == qualified or _is_decorated(definition, path):
                raise _FoundError(function)

        session.awaited = defined
        try:
            outer(**{key: value for key, value in given.items() if key in around})
        except _FoundError as found:
            inner = found.function
        else:
            raise MisuseError(f"the function around `{qualified}` does not come to it")
        finally:
            session.awaited = None
        rest = {key: value for key, value in given.items() if key not in around}
        positional, named = placed(inner, rest)
        return inner(*positional, **named)

    enter.__name__ = name
    enter.__qualname__ = qualified
    enter.__wrapped__ = inspect.unwrap(outer)  # type: ignore[attr-defined]
    merged = [
        parameter.replace(kind=parameter.KEYWORD_ONLY)
        for parameter in around.values()
        if parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
    ]
    merged += [parameter for parameter in own if parameter.name not in around]
    enter.__signature__ = inspect.Signature(merged)  # type: ignore[attr-defined]
    return Kernel(enter)


def _is_decorated(definition: ast.FunctionDef, path: Path) -> bool:
    """Whether the decorators of a definition are at work."""
    first = min((node.lineno for node in definition.decorator_list), default=definition.lineno)
    frame = sys._getframe(1)
    while frame is not None:
        if first <= frame.f_lineno <= definition.lineno:
            if Path(frame.f_code.co_filename) == path:
                return True
        frame = frame.f_back  # type: ignore[assignment]
    return False


def _plain(qualname: str) -> str:
    return qualname.replace(".<locals>", "")


def _definition(qualified: str, path: Path) -> ast.FunctionDef | None:
    """The first definition of that name, wherever in the functions around it."""
    tree = places.source(str(path)).tree
    found: ast.AST | None = tree
    for part in qualified.split("."):
        found = _below(found, part) if found is not None else None
    return found if isinstance(found, ast.FunctionDef) else None


def _below(node: ast.AST, name: str) -> ast.AST | None:
    stack = list(ast.iter_child_nodes(node))
    while stack:
        inner = stack.pop(0)
        if isinstance(inner, (ast.FunctionDef, ast.ClassDef)):
            if inner.name == name:
                return inner
            continue
        stack.extend(ast.iter_child_nodes(inner))
    return None


def _parameters(definition: ast.FunctionDef) -> list[inspect.Parameter]:
    """The named parameters; what has a default has *some* default here."""
    arguments = definition.args
    named = [*arguments.posonlyargs, *arguments.args]
    free = len(named) - len(arguments.defaults)
    optional = [position >= free for position in range(len(named))]
    named += arguments.kwonlyargs
    optional += [default is not None for default in arguments.kw_defaults]
    return [
        inspect.Parameter(
            argument.arg,
            inspect.Parameter.KEYWORD_ONLY,
            default=None if has else inspect.Parameter.empty,
        )
        for argument, has in zip(named, optional, strict=True)
    ]
