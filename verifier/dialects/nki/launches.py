"""How a file launches its kernels, and what of the file they depend on.

``kernel[n](...)``, ``kernel.with_schedule([...])``: programs of the host are not run, what they
show of a launch is what they say with constants. A kernel is compiled once for inputs that are
alike: what functions of the module bind anew is not looked at again.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Collection, Iterator
from typing import Final, TypeAlias

from msgspec.structs import replace

from verifier.dialects.descriptor import Misuse
from verifier.dialects.nki.versions import newer
from verifier.hardware.catalogue import Hardware
from verifier.hardware.targets import Target
from verifier.source import nodes
from verifier.source.starts import Start

#: the rule about them
_GRID: Final = "launch-grid"
#: the rule about what kernels are given
_SUBSET: Final = "python-subset"
_Function: TypeAlias = "ast.FunctionDef | ast.AsyncFunctionDef"
_DEFINITIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef)
#: how a schedule is given to a kernel
_SCHEDULED: Final = "with_schedule"


def problems(
    starts: tuple[Start, ...],
    statements: tuple[ast.stmt, ...],
    kernel: str,
    generation: str,
    target: Hardware,
    names: Collection[str] | None,
) -> Iterator[Misuse]:
    """What no launch of a kernel may be; ``names``: those of its instructions, None: not known."""
    if not newer(generation, "0.2") or not isinstance(target, Target):
        return  # Beta 1 runs grids of any rank, one program after the other
    yield from _stale(statements, _rebound(statements), kernel)
    seen: set[ast.expr] = set()
    for start in starts:
        for found in _of_start(start, seen, kernel, generation, target, names):
            yield replace(found, path=start.path)


def _of_start(
    start: Start,
    seen: set[ast.expr],
    kernel: str,
    generation: str,
    target: Target,
    names: Collection[str] | None,
) -> Iterator[Misuse]:
    """What one launch may not be; ``seen``: what other ones share with it."""
    for layer in start.layers:
        if layer not in seen and isinstance(layer, ast.Subscript):
            yield from _grid(layer.slice, kernel, target)
        seen.add(layer)
    scheduled = any(isinstance(e, ast.Attribute) and e.attr == _SCHEDULED for e in start.layers)
    if scheduled and start.call.args and names is not None:
        yield from _schedule(start.call.args[0], kernel, names)
    if start.host and all(isinstance(e, ast.Subscript) or _schedules(e) for e in start.layers):
        yield from _arguments(start, kernel, generation)


def _schedules(layer: ast.expr) -> bool:
    """Whether a kernel is given a schedule, and called after that."""
    called = layer.func if isinstance(layer, ast.Call) else None
    return isinstance(called, ast.Attribute) and called.attr == _SCHEDULED


@functools.lru_cache(maxsize=1)  # the kernels of a file are asked about one after the other
def _rebound(statements: tuple[ast.stmt, ...]) -> frozenset[str]:
    """The names of a module that functions bind anew."""
    every = (node for statement in statements for node in nodes.walk(statement))
    return frozenset(name for node in every if isinstance(node, ast.Global) for name in node.names)


def _arguments(start: Start, kernel: str, generation: str) -> Iterator[Misuse]:
    """What no argument of a kernel may be (NKI-G32, NKI-L77), and none at all (NKI-G47)."""
    if not newer(generation, "0.3"):
        if not start.given:
            yield Misuse(
                start.call,
                "a kernel is given something",
                f"`{kernel}` is called with no arguments, which fails in NKI 0.2",
                ("G47",),
                _SUBSET,
            )
        return
    for value in start.given:
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
