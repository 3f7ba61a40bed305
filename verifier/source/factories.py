"""Functions that make a kernel and are called: each such kernel is one of its own.

What the function is given says what its kernel computes with, so the kernel is judged as it is made
at each call, and on inputs of its own for what it closes over only where a call does not say.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from msgspec import Struct

from verifier.source import nodes
from verifier.source.meanings import Alias, Local, Scope
from verifier.source.outline import BindingKind
from verifier.source.sites import Site, column_of
from verifier.source.wrappers import Names

#: calls of one function that are looked at
_MOST: Final = 16
#: names that stand for others
_DEPTH: Final = 8
#: what values are written with
_SAID: Final = (
    *(ast.Constant, ast.Attribute, ast.Tuple, ast.UnaryOp, ast.BinOp),
    *(ast.operator, ast.unaryop, ast.expr_context),
)


class Made(Struct, frozen=True):
    """``calls``: of kernels by their names what each is called that a call makes, and the call;
    ``settled``: the functions of which no other call makes one."""

    calls: tuple[tuple[str, str, Site], ...]
    settled: frozenset[str]


def made_at(
    names: Names,
    kernels: Iterable[str],
    calls: Sequence[tuple[str, ast.Call, list[Scope]]],
    assigned: Mapping[ast.AST, str],
) -> Made:
    """The kernels that the functions around ``kernels`` make where the module calls them.

    ``calls``: each with the prefix of the names around it and its scopes; ``assigned``: the names
    that values are bound to.
    """
    by_maker: dict[str, list[str]] = {}
    for kernel in kernels:
        maker, _, rest = kernel.partition(".")
        if rest and "." not in rest and isinstance(names.globals.get(maker), Local):
            by_maker.setdefault(maker, []).append(kernel)
    found: list[tuple[str, str, Site]] = []
    settled: set[str] = set()
    for maker, inner in by_maker.items():
        made = [
            (prefix, call, scopes)
            for prefix, call, scopes in calls
            if not prefix.startswith(f"{maker}.") and _is_call_of(names, call, scopes, maker)
        ]
        free = [(prefix, call) for prefix, call, scopes in made if _is_free(names, call, scopes)]
        if len(inner) != 1 or len(made) > _MOST:
            continue
        found += _named(names, inner[0], free, assigned)
        if free and len(free) == len(made) == _times(names, maker):
            settled.add(maker)
    return Made(tuple(found), frozenset(settled))


def _is_call_of(names: Names, call: ast.Call, scopes: list[Scope], maker: str) -> bool:
    if not isinstance(call.func, ast.Name):
        return False
    found = names.function(call.func, scopes)
    return found is not None and found[0] is names.module and found[1].name == maker


def _is_free(names: Names, call: ast.Call, scopes: list[Scope]) -> bool:
    """Whether a call means the same at the top level of the module, and the text says what."""
    said = {node.id for node in nodes.walk(call) if isinstance(node, ast.Name)}
    if any(said & scope.keys() for scope in scopes[1:]):
        return False
    given = (*call.args, *(keyword.value for keyword in call.keywords))
    return all(_is_said(names, each, _DEPTH) for each in given)


def _is_said(names: Names, node: ast.AST, depth: int) -> bool:
    """Whether a text says what an expression is: in literals, and names of these, of functions and
    classes, and of what is imported."""
    if isinstance(node, ast.Name):
        bindings = names.module.all_bindings(node.id)
        if len(bindings) != 1 or depth == 0:
            return False
        if bindings[0].kind is not BindingKind.ASSIGN:
            return bindings[0].kind is not BindingKind.OTHER
        meaning = names.globals.get(node.id)
        return isinstance(meaning, Alias) and _is_said(names, meaning.value, depth - 1)
    if not isinstance(node, _SAID):
        return False
    return all(_is_said(names, child, depth) for child in ast.iter_child_nodes(node))


def _times(names: Names, maker: str) -> int:
    """How often the module names a function."""
    every = (node for statement in names.module.syntax() for node in nodes.walk(statement))
    return sum(isinstance(node, ast.Name) and node.id == maker for node in every)


def _named(
    names: Names,
    kernel: str,
    calls: Sequence[tuple[str, ast.Call]],
    assigned: Mapping[ast.AST, str],
) -> Iterator[tuple[str, str, Site]]:
    taken: set[str] = set()
    for prefix, call in calls:
        name = prefix + (assigned.get(call) or kernel.rpartition(".")[2])
        if name in taken:
            name = f"{name}:{call.lineno}"
        taken.add(name)
        text, column = f"`{ast.unparse(call)}`", column_of(names.module, call)
        yield kernel, name, Site(str(names.module.path), call.lineno, column, text)


__all__ = ["Made", "made_at"]
