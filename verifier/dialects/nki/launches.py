"""How a file launches its kernels, and what of the file they depend on.

``kernel[n](...)``, ``kernel.with_schedule([...])``: programs of the host are not run, what they
show of a launch is what they say with constants. A kernel is compiled once for inputs that are
alike: what functions of the module bind anew is not looked at again.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Collection, Iterator
from typing import Final, NamedTuple

from verifier.dialects.descriptor import Misuse
from verifier.dialects.nki.versions import newer
from verifier.hardware.catalogue import Hardware
from verifier.hardware.targets import Target
from verifier.source import nodes

#: the rule about them
_GRID: Final = "launch-grid"
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
    for node in found.calls:
        function = node.func
        if isinstance(function, ast.Subscript) and _is(function.value, kernel):
            yield from _grid(function.slice, kernel, target)
        elif isinstance(function, ast.Attribute) and function.attr == _SCHEDULED:
            scheduled = function.value
            if isinstance(scheduled, ast.Subscript):
                scheduled = scheduled.value
            if _is(scheduled, kernel) and node.args and names is not None:
                yield from _schedule(node.args[0], kernel, names)


class _Found(NamedTuple):
    """What a file has that may concern launches of any of its kernels."""

    #: of what is subscripted, and of methods
    calls: tuple[ast.Call, ...]
    #: the names of the module that functions bind anew
    rebound: frozenset[str]


@functools.lru_cache(maxsize=1)  # the kernels of a file are asked about one after the other
def _found(statements: tuple[ast.stmt, ...]) -> _Found:
    calls, rebound = [], set()
    for statement in statements:
        for node in nodes.walk(statement):
            if isinstance(node, ast.Call):
                if isinstance(node.func, (ast.Subscript, ast.Attribute)):
                    calls.append(node)
            elif isinstance(node, ast.Global):
                rebound.update(node.names)
    return _Found(tuple(calls), frozenset(rebound))


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
                    "python-subset",
                    "warning",
                )
            elif node.id in functions:
                left.append(node.id)


_DEFINITIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef)


def _bound(function: ast.FunctionDef | ast.AsyncFunctionDef) -> set[str]:
    """The names of a function's own."""
    every = nodes.walk(function)
    shared = {n for node in every if isinstance(node, ast.Global) for n in node.names}
    own = {node.arg for node in every if isinstance(node, ast.arg)}
    for node in every:
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            own.add(node.id)
    return own - shared


__all__ = ["problems"]
