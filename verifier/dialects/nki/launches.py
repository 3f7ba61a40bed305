"""How a file launches its kernels, and what of the file they depend on.

``kernel[n](...)``, ``kernel.with_schedule([...])``: programs of the host are not run, what they
show of a launch is what they say with constants. A kernel is compiled once for inputs that are
alike: what functions of the module bind anew is not looked at again.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Collection, Iterator, Sequence
from typing import Final, NamedTuple, TypeAlias

from verifier.dialects.descriptor import Misuse
from verifier.dialects.nki.versions import newer
from verifier.hardware.catalogue import Hardware
from verifier.hardware.targets import Target
from verifier.source import nodes
from verifier.source.launches import expects

#: the rule about them
_GRID: Final = "launch-grid"
#: the rule about what kernels are given
_SUBSET: Final = "python-subset"
_Function: TypeAlias = "ast.FunctionDef | ast.AsyncFunctionDef"
_DEFINITIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef)
#: how a schedule is given to a kernel
_SCHEDULED: Final = "with_schedule"


def problems(
    statements: tuple[ast.stmt, ...],
    kernel: str,
    generation: str,
    target: Hardware,
    names: Collection[str] | None,
) -> Iterator[Misuse]:
    """What no launch of a kernel may be; ``names``: those of its instructions, None: not known."""
    if not newer(generation, "0.2") or not isinstance(target, Target):
        return  # Beta 1 runs grids of any rank, one program after the other
    found = _found(statements)
    yield from _stale(statements, found.rebound, kernel)
    for node, inside in found.calls:
        function = node.func
        if isinstance(function, ast.Subscript) and _is(function.value, kernel):
            yield from _grid(function.slice, kernel, target)
        elif isinstance(function, ast.Attribute) and function.attr == _SCHEDULED:
            scheduled = function.value
            if isinstance(scheduled, ast.Subscript):
                scheduled = scheduled.value
            if _is(scheduled, kernel) and node.args and names is not None:
                yield from _schedule(node.args[0], kernel, names)
        if _is(_launched(function), kernel) and _is_of_host(inside, kernel, found):
            yield from _arguments(node, kernel, generation)


class _Found(NamedTuple):
    """What a file has that may concern launches of any of its kernels."""

    #: the calls of names, of what is subscripted, and of methods, each with the functions around
    #: it; none that is expected to fail
    calls: tuple[tuple[ast.Call, tuple[_Function, ...]], ...]
    #: the names of the module that functions bind anew
    rebound: frozenset[str]
    #: the functions that their names start as kernels, and those that may run on a device
    kernels: frozenset[str]
    device: frozenset[str]


@functools.lru_cache(maxsize=1)  # the kernels of a file are asked about one after the other
def _found(statements: tuple[ast.stmt, ...]) -> _Found:
    calls: list[tuple[ast.Call, tuple[_Function, ...]]] = []
    rebound: set[str] = set()
    stack: list[tuple[ast.AST, tuple[_Function, ...]]] = [(s, ()) for s in reversed(statements)]
    while stack:
        node, inside = stack.pop()
        if isinstance(node, ast.Call):
            if expects(node.func):
                continue
            if isinstance(node.func, (ast.Name, ast.Subscript, ast.Attribute, ast.Call)):
                calls.append((node, inside))
        elif isinstance(node, ast.Global):
            rebound.update(node.names)
        elif isinstance(node, (ast.With, ast.AsyncWith)):
            if any(expects(item.context_expr) for item in node.items):
                continue
        elif isinstance(node, _DEFINITIONS):
            inside = (*inside, node)
        stack.extend((child, inside) for child in reversed(nodes.below(node)))
    return _Found(tuple(calls), frozenset(rebound), _started(statements), _reached(statements))


def _started(statements: tuple[ast.stmt, ...]) -> frozenset[str]:
    """The functions of a module that are kernels by their decorators, and nothing else besides."""
    kernels: list[str] = []
    other: set[str] = set()
    for statement in statements:
        if isinstance(statement, _DEFINITIONS):
            jits = any(
                "jit" in (getattr(n, "id", ""), getattr(n, "attr", ""))
                for decorator in statement.decorator_list
                for n in nodes.walk(decorator)
            )
            (kernels.append if jits else other.add)(statement.name)
        elif not isinstance(statement, ast.ClassDef):
            other |= {
                node.id
                for node in nodes.walk(statement)
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
            }
    return frozenset(name for name in kernels if kernels.count(name) == 1 and name not in other)


def _reached(statements: tuple[ast.stmt, ...]) -> frozenset[str]:
    """The functions of a module that may run on a device: kernels, what they name, and what names
    instructions."""
    functions = {node.name: node for node in statements if isinstance(node, _DEFINITIONS)}
    names = {
        name: {n.id for n in nodes.walk(node) if isinstance(n, ast.Name)}
        for name, node in functions.items()
    }
    device = {
        alias.asname or alias.name
        for statement in statements
        if isinstance(statement, (ast.Import, ast.ImportFrom))
        for alias in statement.names
        if (alias.asname or isinstance(statement, ast.ImportFrom))
        and f"{getattr(statement, 'module', '')}.{alias.name}".strip(".").startswith("nki.")
    }
    seen: set[str] = set()
    left = [*_started(statements), *(name for name, said in names.items() if said & device)]
    while left:
        name = left.pop()
        if name in functions and name not in seen:
            seen.add(name)
            left += names[name]
    return frozenset(seen)


def _launched(function: ast.expr) -> ast.expr:
    """What is launched: without the grid and the schedule."""
    if isinstance(function, ast.Call) and isinstance(function.func, ast.Attribute):
        function = function.func.value if function.func.attr == _SCHEDULED else function
    return function.value if isinstance(function, ast.Subscript) else function


def _is_of_host(inside: Sequence[_Function], kernel: str, found: _Found) -> bool:
    """Whether a call by a name launches the kernel: in a kernel it calls a function."""
    return kernel in found.kernels and not any(
        function.name in found.device or kernel in _bound(function) for function in inside
    )


def _arguments(call: ast.Call, kernel: str, generation: str) -> Iterator[Misuse]:
    """What no argument of a kernel may be (NKI-G32, NKI-L77), and none at all (NKI-G47)."""
    if not newer(generation, "0.3"):
        if not call.args and not call.keywords:
            yield Misuse(
                call,
                "a kernel is given something",
                f"`{kernel}` is called with no arguments, which fails in NKI 0.2",
                ("G47",),
                _SUBSET,
            )
        return
    for value in (*call.args, *(keyword.value for keyword in call.keywords)):
        if isinstance(value, (ast.List, ast.ListComp)):
            yield Misuse(
                value,
                "arguments are tuples",
                f"`{kernel}` is given a list, which is no argument of a kernel since NKI 0.3: "
                "write a tuple",
                ("G32",),
                _SUBSET,
            )
        elif isinstance(value, (ast.Dict, ast.DictComp, ast.Set, ast.SetComp)):
            kind = "dictionary" if isinstance(value, (ast.Dict, ast.DictComp)) else "set"
            yield Misuse(
                value,
                "arguments are tensors, numbers, texts, tuples, functions or objects of NKI's",
                f"`{kernel}` is given a {kind}, which is no argument of a kernel",
                ("L77",),
                _SUBSET,
            )


def _is(node: ast.expr, kernel: str) -> bool:
    return isinstance(node, ast.Name) and node.id == kernel


def _grid(grid: ast.expr, kernel: str, target: Target) -> Iterator[Misuse]:
    """One number: of the cores that run the kernel together (NKI-L61)."""
    facts = ("L61", "H41")
    if isinstance(grid, ast.Tuple) and len(grid.elts) > 1:
        yield Misuse(
            grid,
            "a kernel is launched on one number of cores",
            f"`{kernel}` is launched on a grid of {len(grid.elts)} dimensions: since NKI 0.2 there "
            "is one number, of the cores that run it",
            facts,
            _GRID,
        )
        return
    size = grid.elts[0] if isinstance(grid, ast.Tuple) and grid.elts else grid
    if isinstance(size, ast.Constant) and type(size.value) is int:
        most = target.lnc_max
        if not 1 <= size.value <= most:
            yield Misuse(
                grid,
                f"a kernel is launched on 1 to {most} cores",
                f"`{kernel}` is launched on {size.value} cores: a logical core of {target.name} "
                f"has at most {most}",
                facts,
                _GRID,
            )


def _schedule(edges: ast.expr, kernel: str, names: Collection[str]) -> Iterator[Misuse]:
    """Both sides of an edge are instructions of the kernel (NKI-L70)."""
    if isinstance(edges, (ast.List, ast.Tuple)):
        for each in edges.elts:
            yield from _schedule(each, kernel, names)
    elif isinstance(edges, ast.Constant) and isinstance(edges.value, str):
        if edges.value not in names:
            yield Misuse(
                edges,
                "a schedule orders instructions of the kernel",
                f"no instruction of `{kernel}` is named `{edges.value}`",
                ("L70",),
                _GRID,
            )


def _stale(
    statements: tuple[ast.stmt, ...], rebound: Collection[str], kernel: str
) -> Iterator[Misuse]:
    """Names of the module that its functions bind anew, where a kernel reads them (NKI-G40)."""
    if not rebound:
        return
    functions = {node.name: node for node in statements if isinstance(node, _DEFINITIONS)}
    seen: set[str] = set()
    left = [kernel]
    while left:
        function = functions.get(left.pop())
        if function is None or function.name in seen:
            continue
        seen.add(function.name)
        own = _bound(function)
        said: set[str] = set()
        for node in nodes.walk(function):
            if not isinstance(node, ast.Name) or node.id in own or node.id in said:
                continue
            if node.id in rebound:
                said.add(node.id)
                yield Misuse(
                    node,
                    f"`{node.id}` is the same whenever the kernel is called",
                    f"`{node.id}` is a global that functions bind anew: the kernel that was "
                    "compiled for the value of the first call may run for later ones",
                    ("G40",),
                    _SUBSET,
                    "warning",
                )
            elif node.id in functions:
                left.append(node.id)


def _bound(function: _Function) -> set[str]:
    """The names of a function's own."""
    every = nodes.walk(function)
    shared = {n for node in every if isinstance(node, ast.Global) for n in node.names}
    own = {node.arg for node in every if isinstance(node, ast.arg)}
    for node in every:
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            own.add(node.id)
    return own - shared


__all__ = ["problems"]
