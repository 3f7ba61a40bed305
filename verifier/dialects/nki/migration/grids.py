"""Launch grids: programs along several axes, one after the other, in Beta 1; since 0.2 the number
of the cores that share a kernel (NKI-M041, NKI-L61), and that is deprecated (NKI-M120).
"""

from __future__ import annotations

import ast
import math
from collections.abc import Collection, Iterator
from typing import Final

from verifier.dialects.nki.migration.changes import PYTHON, Change, Edit, Weight
from verifier.dialects.nki.migration.text import Text
from verifier.dialects.nki.migration.visits import Visits
from verifier.dialects.nki.versions import newer, said

_FACTS: Final = ("NKI-M041", "NKI-L61")
_CORES: Final = "since NKI 0.2 a grid is the number of cores that share the kernel"
_LOOP: Final = (
    "loop over the programs in the kernel: `for i in range(...)` for `nl.program_id(...)`"
)
#: what says of a grid that it is to be written anew
_MARKED: Final = ("spmd_dim", "nc", "gemm_grid", "gemm_stationary_grid")
_AXES: Final = {"language.program_id": "axis", "language.num_programs": "axes"}


def grids(
    text: Text, visits: Visits, kernels: Collection[str], since: str, to: str
) -> Iterator[Change]:
    """The launches of a file, and what its kernels say of the grid."""
    most = visits.cores

    def launches(node: ast.Subscript) -> bool:
        of_kernel = isinstance(node.value, ast.Name) and node.value.id in kernels
        called = isinstance(text.parents.get(node), (ast.Call, ast.keyword))
        return node in visits.launches or (of_kernel and called)

    every = (node for node in ast.walk(text.tree) if isinstance(node, ast.Subscript))
    for node in sorted(filter(launches, every), key=text.start):
        change = _launch(text, node, most, since, to)
        if change is not None:
            yield change
    if since == "beta1":
        yield from _axes(text, visits, to)
    for span in sorted(visits.grids, key=lambda each: (each.line, each.column)):
        if span.path == text.path:
            yield Change(
                PYTHON,
                span,
                f"this asks for a grid that there is no longer: {_CORES}, {most} at most",
                "warning",
                _FACTS,
                (_LOOP,),
            )


def _launch(text: Text, node: ast.Subscript, most: int, since: str, to: str) -> Change | None:
    """``kernel[grid]``"""
    grid = _value(text, node.slice)
    if any(
        (text.name(part) or "").rpartition(".")[2] in _MARKED
        for part in ast.walk(grid)
        if isinstance(part, (ast.Name, ast.Attribute))
    ):
        return None  # told by its name
    dims = grid.elts if isinstance(grid, ast.Tuple) else [grid]
    sizes = [_number(text, size) for size in dims]
    kernel = text.written(node.value)
    edits: tuple[Edit, ...] = ()
    weight: Weight = "warning"
    help_: tuple[str, ...] = (_LOOP,)
    facts: tuple[str, ...] = _FACTS
    title = ""
    if len(dims) > 1:
        what = f"`{kernel}` is launched on a grid of {len(dims)} dimensions: {_CORES}"
        if all(size == 1 for size in sizes[1:]) and grid is node.slice and (sizes[0] or 0) <= most:
            assert isinstance(grid, ast.Tuple)
            first = text.written(grid.elts[0])
            help_, title = (f"write `{kernel}[{first}]`",), f"write `{kernel}[{first}]`"
            start, end = text.end(node.value), text.end(node)
            edits = (Edit(start, end, f"[{first}]"),)
    elif sizes[0] is not None and sizes[0] > most:
        what = f"`{kernel}` is launched on {sizes[0]} programs: {_CORES}, {most} at most"
    elif sizes[0] is None and since == "beta1":
        what = f"`{kernel}` is launched on a number of programs that is not known here: {_CORES}, "
        what += f"{most} at most"
    elif newer(to, "0.5"):
        what, weight = "launch grids are deprecated since NKI 0.5", "note"
        help_, facts = (), ("NKI-M041", "NKI-M120")
    else:
        return None
    return Change(PYTHON, text.span(node), what, weight, facts, help_, title, edits)


def _axes(text: Text, visits: Visits, to: str) -> Iterator[Change]:
    """Axes of the grid beside the first one, in a kernel."""
    for node, name in text.api():
        call = text.parents.get(node)
        if name not in _AXES or not isinstance(call, ast.Call) or call.func is not node:
            continue
        given = call.args[0] if call.args else None
        given = next((k.value for k in call.keywords if k.arg == _AXES[name]), given)
        if given is None:
            continue
        parts = given.elts if isinstance(given, (ast.Tuple, ast.List)) else [given]
        known = {n for part in parts for n in (_number(text, part), *_given(text, visits, part))}
        others = sorted(n for n in known if isinstance(n, int) and n > 0)
        if others:
            yield Change(
                PYTHON,
                text.span(call),
                f"`{text.written(node)}` asks for axis {others[0]} of the grid, which has one axis "
                f"in {said(to)}: {_CORES}",
                "warning",
                (*_FACTS, "NKI-L60"),
                (_LOOP,),
            )


def _given(text: Text, visits: Visits, part: ast.expr) -> Iterator[int]:
    yield from (n for n in visits.values(text.span(part)) if type(n) is int)


def _value(text: Text, node: ast.expr) -> ast.expr:
    """What a name is that is bound once, in the function or in the file."""
    if not isinstance(node, ast.Name):
        return node
    function = text.function(node)
    for scope in (function, text.tree):
        bound = [
            each
            for each in (ast.walk(scope) if scope is not None else ())
            if isinstance(each, ast.Name) and each.id == node.id
            if not isinstance(each.ctx, ast.Load)
        ]
        if bound:
            statement = text.parents.get(bound[0])
            simple = isinstance(statement, ast.Assign) and statement.targets == bound
            return statement.value if simple and isinstance(statement, ast.Assign) else node
        if isinstance(scope, ast.FunctionDef) and node.id in _parameters(scope):
            return node
    return node


def _parameters(function: ast.FunctionDef) -> set[str]:
    return {n.arg for n in ast.walk(function.args) if isinstance(n, ast.arg)}


def _number(text: Text, node: ast.expr) -> int | None:
    node = _value(text, node)
    if isinstance(node, ast.Constant):
        return node.value if type(node.value) is int else None
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        sides = [_number(text, side) for side in (node.left, node.right)]
        return math.prod(s for s in sides if s is not None) if None not in sides else None
    return None


__all__ = ["grids"]
