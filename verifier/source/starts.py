"""Which calls of a file start its kernels from outside: ``kernel(x)``, ``kernel[2](x)``.

A kernel goes by any name that leads to it: an imported one, another name, what wraps it, what a
function of the project makes, a ``functools.partial`` of it.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from verifier.source import nodes
from verifier.source.launches import expects
from verifier.source.meanings import FUNCTIONS, Alias, Imported, Local, Scope, meaning_of
from verifier.source.project import Module
from verifier.source.wrappers import Names

#: a function or class, by its qualified name, wherever it is defined in a module
Definitions: TypeAlias = Mapping[str, Sequence[ast.AST]]
#: names that stand for names that stand for kernels
_DEPTH = 8


class Start(Struct, frozen=True, eq=False):
    """A call that starts a kernel, or a method of one (``kernel.with_schedule(...)``).

    ``path``: the file that it is in. ``place``: the file and the line of the kernel. ``layers``:
    what is made of the kernel before it is called, from the call inwards: ``kernel[2]`` of
    ``kernel[2](x)``. ``given``: what it is given, by this call and before. ``host``: whether that
    is certainly no call of a function on a device.
    """

    path: str
    place: tuple[str, int]
    call: ast.Call
    layers: tuple[ast.expr, ...]
    given: tuple[ast.expr, ...]
    host: bool


class _Kernel(Struct, frozen=True, eq=False):
    """What an expression is of a kernel; ``wrapped``: calling it starts the kernel."""

    module: Module
    local: Local
    layers: tuple[ast.expr, ...] = ()
    given: tuple[ast.expr, ...] = ()
    wrapped: bool = False


class Finder(Struct, eq=False):
    """The starts in a module.

    ``kernels`` are the functions that are looked for, ``decorated`` the places of those that are
    kernels by their decorators. ``assigned``: what names are assigned.
    """

    names: Names
    definitions: Definitions
    assigned: Mapping[ast.AST, str]
    kernels: Collection[str]
    decorated: Collection[tuple[str, int]]

    def starts(
        self,
        calls: Iterable[tuple[str, ast.Call, list[Scope]]],
        device: Iterable[str],
    ) -> Iterator[Start]:
        """Each call with the function around it; ``device``: functions that run on a device."""
        found = [
            (call, prefix[:-1], kernel)
            for prefix, call, scopes in calls
            for kernel in self._called(call, scopes)
        ]
        if not found:
            return
        reached = _reached(device, self.definitions)
        failing = _expected_to_fail(self.names.module.syntax())
        for call, inside, kernel in found:
            if call in failing:
                continue
            place = (str(kernel.module.path), kernel.local.node.lineno)
            parts = inside.split(".")
            around = {".".join(parts[: k + 1]) for k in range(len(parts))}
            given = (*kernel.given, *call.args, *(k.value for k in call.keywords))
            host = (kernel.wrapped or place in self.decorated) and not around & reached
            path = str(self.names.module.path)
            yield Start(path, place, call, kernel.layers, given, host)

    def _called(self, call: ast.Call, scopes: list[Scope]) -> Iterator[_Kernel]:
        if self.names.dotted(call.func, scopes) is not None:
            return  # of the API
        kernel = self._kernel(self.names, call.func, scopes)
        if kernel is None and isinstance(call.func, ast.Attribute):
            kernel = self._kernel(self.names, call.func.value, scopes)
            if kernel is not None:
                kernel = replace(kernel, layers=(call.func, *kernel.layers))
        if kernel is not None:
            yield kernel

    def _kernel(
        self, names: Names, node: ast.expr, scopes: list[Scope], depth: int = 0
    ) -> _Kernel | None:
        """The kernel that an expression is of; None: it may be something else."""
        if depth > _DEPTH:
            return None
        if isinstance(node, ast.Subscript):
            inner = self._kernel(names, node.value, scopes, depth + 1)
            return None if inner is None else replace(inner, layers=(node, *inner.layers))
        if isinstance(node, ast.Call):
            return self._made(names, node, scopes, depth)
        if isinstance(node, ast.Name):
            meaning = meaning_of(node.id, scopes)
            if isinstance(meaning, Alias):
                return self._kernel(names, meaning.value, scopes, depth + 1)
        found = names.function(node, scopes) if self._may_be(node, scopes) else None
        return None if found is None else self._once(names, _Kernel(*found), scopes, depth)

    def _may_be(self, node: ast.expr, scopes: list[Scope]) -> bool:
        """Whether a name may be that of a kernel, without looking into other modules."""
        if isinstance(node, ast.Attribute):
            return node.attr in self.kernels
        meaning = meaning_of(node.id, scopes) if isinstance(node, ast.Name) else None
        if isinstance(meaning, Imported):
            return meaning.original in self.kernels
        return isinstance(meaning, Local) and meaning.name.rpartition(".")[2] in self.kernels

    def _made(
        self, names: Names, node: ast.Call, scopes: list[Scope], depth: int
    ) -> _Kernel | None:
        """What a call makes of a kernel, or which one it makes."""
        for _, given in names.launched(node, scopes):
            inner = self._kernel(names, given, scopes, depth + 1)
            return None if inner is None else replace(inner, wrapped=True)
        bound = names.bound_before(node, scopes)
        if bound:
            inner = self._kernel(names, bound[0], scopes, depth + 1)
            return None if inner is None else replace(inner, given=(*inner.given, *bound[1:]))
        made = [*names.returned_by(node, scopes, depth)]
        if len(made) == 1:
            there, value, inside = made[0]
            return self._kernel(there, value, inside, depth + 1)
        if isinstance(node.func, ast.Attribute):
            inner = self._kernel(names, node.func.value, scopes, depth + 1)
            return None if inner is None else replace(inner, layers=(node, *inner.layers))
        return None

    def _once(
        self, names: Names, kernel: _Kernel, scopes: list[Scope], depth: int
    ) -> _Kernel | None:
        """The kernel, if its name is bound to nothing else, but for what wraps it."""
        if kernel.module is not self.names.module:
            return kernel
        name = kernel.local.name
        if len(self.definitions.get(name, ())) > 1:
            return None
        short = name.rpartition(".")[2]
        for value in [value for value, other in self.assigned.items() if other == short]:
            again = isinstance(value, ast.Call) and depth < _DEPTH
            wraps = (
                [*names.launched(value, scopes)] if again and isinstance(value, ast.Call) else []
            )
            if not any(isinstance(g, ast.Name) and g.id == short for _, g in wraps):
                return None
            kernel = replace(kernel, wrapped=True)
        return kernel


def _reached(device: Iterable[str], definitions: Definitions) -> set[str]:
    """What may run on a device: some functions, and all that has a name which these say."""
    named: dict[str, list[str]] = {}
    for name in definitions:
        named.setdefault(name.rpartition(".")[2], []).append(name)
    seen: set[str] = set()
    left = [*device]
    while left:
        name = left.pop()
        if name in seen:
            continue
        seen.add(name)
        for node in (n for each in definitions.get(name, ()) for n in nodes.walk(each)):
            said = getattr(node, "id", None) or getattr(node, "attr", None)
            left += named.get(said, ()) if isinstance(said, str) else ()
    return seen


def _expected_to_fail(statements: Iterable[ast.stmt]) -> set[ast.AST]:
    """The calls that something expects to fail, and the calls of what does."""
    found: set[ast.AST] = set()
    stack: list[tuple[ast.AST, bool]] = [(statement, False) for statement in statements]
    while stack:
        node, fails = stack.pop()
        if isinstance(node, ast.Call):
            fails = fails or expects(node.func)
            if fails:
                found.add(node)
        elif isinstance(node, (ast.With, ast.AsyncWith)):
            fails = fails or any(expects(item.context_expr) for item in node.items)
        elif isinstance(node, FUNCTIONS):
            fails = fails or any(map(expects, (ast.Name(node.name), *node.decorator_list)))
        stack.extend((child, fails) for child in nodes.below(node))
    return found


__all__ = ["Finder", "Start"]
