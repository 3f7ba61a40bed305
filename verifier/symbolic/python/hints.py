"""Ranks of tensors that the text of a kernel shows, for where nothing settles them.

A kernel says how many dimensions a tensor has by what it does with it: ``a, b = x.shape``,
``x[i, j]``, ``len(x.shape) == 2``. So do the project's functions that it passes the tensor to, its
annotations and the shapes in its comments. What is found is a guess, taken where the rank is open
in the end, and then listed as an assumption.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from verifier.source import ir
from verifier.source.project import Module, Project
from verifier.source.scopes import bound_by
from verifier.source.text import SourceError

#: calls that a parameter is followed through
_DEPTH: Final = 3
#: ``x: [B, S, H]``, ``x: (128, 512)``, ``x of shape (n, k)``
_SHAPE: Final = re.compile(
    r"\b(\w+)\b[`'\"]?\s*(?:\([^()\[\]]*\)\s*)?(?::|=|--?|is|of|has)[^\n\[(]{0,60}?[\[(]"
    r"([\w\s*+/,.-]*,[\w\s*+/,.-]*)[\])]"
)
#: numbers below are steps and flags of a comment, not sizes: ``dilation: (1, 1)``
_SMALL: Final = 16
#: ``w: [H]``
_VECTOR: Final = re.compile(r"\b(\w+)\s*:\s*\[\s*\w+\s*\]")


class _Hints:
    """What one text says about the ranks of some names."""

    def __init__(self) -> None:
        self.exact: dict[str, int] = {}
        self.indexed: dict[str, int] = {}
        self.least: dict[str, int] = {}
        self.annotated: dict[str, int] = {}
        self.written: dict[str, int] = {}

    def of(self, name: str) -> int | None:
        """The rank that the surest of what was found says."""
        for found in (self.exact, self.annotated, self.indexed, self.written):
            if name in found:
                return max(found[name], self.least.get(name, 0))
        return None


def ranks(project: Project, module: Module, definition: ir.FunctionDef) -> dict[str, int]:
    """The ranks that a kernel's text shows, by parameter."""
    found = _collected(project, module, definition, _DEPTH)
    out = {}
    for param in definition.params:
        rank = found.of(param.name)
        if rank is not None:
            out[param.name] = rank
    return out


def _collected(
    project: Project, module: Module, definition: ir.FunctionDef, depth: int
) -> _Hints:
    names = {param.name for param in definition.params}
    out = _Hints()
    for param in definition.params:
        rank = _annotated(param.annotation)
        if rank is not None:
            out.annotated[param.name] = rank
    for name, rank in _written(definition.docstring or ""):
        if name in names:
            out.written.setdefault(name, rank)
    calls: list[ir.Call] = []
    first = _rebound(definition.body)
    for node in _walk(definition.body):
        # a name that is bound anew may be another tensor from there on
        open_names = {n for n in names if node.span.line <= first.get(n, node.span.line)}
        _look(node, open_names, out)
        if isinstance(node, ir.Call):
            calls.append(node)
    if depth > 0:
        for call in calls:
            open_names = {n for n in names if call.span.line <= first.get(n, call.span.line)}
            _passed(project, module, call, open_names, out, depth)
    return out


def _rebound(body: tuple[ir.Stmt, ...]) -> dict[str, int]:
    """The line of the first statement that binds a name, by name."""
    out: dict[str, int] = {}
    for node in _walk(body):
        if isinstance(node, (ir.Stmt, ir.MatchCase)):
            for name in bound_by(node):
                out.setdefault(name, node.span.line)
    return out


def _walk(body: tuple[ir.Stmt, ...]) -> Iterator[ir.Node]:
    """Every node of a body in the order of the text; nested functions are of the kernel too."""
    stack: list[ir.Node] = list(reversed(body))
    while stack:
        node = stack.pop()
        yield node
        stack.extend(reversed(list(ir.children(node))))


# ------------------------------------------------------------------------ what a use shows


def _look(node: ir.Node, names: set[str], out: _Hints) -> None:
    if isinstance(node, ir.Assign) and len(node.targets) == 1:
        _unpacking(node.targets[0], node.value, names, out)
    elif isinstance(node, ir.Compare):
        _comparison(node, names, out)
    elif isinstance(node, ir.Subscript):
        _subscript(node, names, out)


def _unpacking(target: ir.Expr, value: ir.Expr, names: set[str], out: _Hints) -> None:
    """``a, b = x.shape``."""
    name = _shape_of(value, names)
    if name is None or not isinstance(target, (ir.TupleExpr, ir.ListExpr)):
        return
    starred = sum(isinstance(e, ir.Starred) for e in target.elements)
    if starred:
        _raise(out.least, name, len(target.elements) - starred)
    else:
        out.exact.setdefault(name, len(target.elements))


def _comparison(node: ir.Compare, names: set[str], out: _Hints) -> None:
    """``len(x.shape) == n``, ``x.ndim == n``, ``x.shape == (a, b)``."""
    if node.ops != ("==",):
        return
    sides = (node.left, node.comparators[0])
    for one, other in (sides, sides[::-1]):
        name = _shape_of(one, names)
        if name is not None and isinstance(other, (ir.TupleExpr, ir.ListExpr)):
            out.exact.setdefault(name, len(other.elements))
        measured = _measured(one, names)
        if measured is not None and isinstance(other, ir.Const) and _is_rank(other.value):
            assert isinstance(other.value, int)
            out.exact.setdefault(measured, other.value)


def _is_rank(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= 8


def _subscript(node: ir.Subscript, names: set[str], out: _Hints) -> None:
    """``x[i, j]`` without an ellipsis or a new axis; ``x.shape[k]``."""
    if isinstance(node.value, ir.Name) and node.value.id in names:
        if isinstance(node.index, ir.TupleExpr):
            constants = [e.value for e in node.index.elements if isinstance(e, ir.Const)]
            if not any(value is None or value is Ellipsis for value in constants):
                _raise(out.indexed, node.value.id, len(node.index.elements))
        return
    name = _shape_of(node.value, names)
    position = _number(node.index)
    if name is not None and position is not None:
        _raise(out.least, name, position + 1 if position >= 0 else -position)


def _number(node: ir.Expr) -> int | None:
    if isinstance(node, ir.UnaryOp) and node.op == "-":
        inner = _number(node.operand)
        return None if inner is None else -inner
    value = node.value if isinstance(node, ir.Const) else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _shape_of(node: ir.Expr, names: set[str]) -> str | None:
    """The name in ``name.shape``."""
    if isinstance(node, ir.Attribute) and node.attr == "shape":
        owner = node.value
        if isinstance(owner, ir.Name) and owner.id in names:
            return owner.id
    return None


def _measured(node: ir.Expr, names: set[str]) -> str | None:
    """The name in ``len(name.shape)`` and ``name.ndim``."""
    if isinstance(node, ir.Call) and isinstance(node.func, ir.Name) and node.func.id == "len":
        return _shape_of(node.args[0], names) if len(node.args) == 1 else None
    if isinstance(node, ir.Attribute) and node.attr == "ndim":
        owner = node.value
        return owner.id if isinstance(owner, ir.Name) and owner.id in names else None
    return None


def _raise(table: dict[str, int], name: str, rank: int) -> None:
    table[name] = max(table.get(name, 0), rank)


# ------------------------------------------------------------------------ annotations, comments


def _annotated(node: ir.Expr | None) -> int | None:
    """``nt.tensor[128, 512]``."""
    if isinstance(node, ir.Subscript) and isinstance(node.value, ir.Attribute):
        if node.value.attr in ("tensor", "mutable_tensor"):
            return len(node.index.elements) if isinstance(node.index, ir.TupleExpr) else 1
    return None


def _written(text: str) -> Iterator[tuple[str, int]]:
    """Shapes in a comment: ``x: [B, S, H]``."""
    for match in _SHAPE.finditer(text):
        sizes = [size for size in match.group(2).split(",") if size.strip()]
        flags = all(size.strip().isdigit() and int(size) < _SMALL for size in sizes)
        if 1 < len(sizes) <= 8 and not flags:
            yield match.group(1), len(sizes)
    for match in _VECTOR.finditer(text):
        yield match.group(1), 1


# ------------------------------------------------------------------------ calls


def _passed(
    project: Project,
    module: Module,
    call: ir.Call,
    names: set[str],
    out: _Hints,
    depth: int,
) -> None:
    """What a function of the project shows about the parameters that it is passed."""
    given = _arguments(call, names)
    if not given:
        return
    found = _function(project, module, call.func)
    if found is None:
        return
    home, definition = found
    inner = _collected(project, home, definition, depth - 1)
    for position, name in given.items():
        if isinstance(position, str):
            param: str | None = position
        else:
            takes = [p for p in definition.params if p.kind in ("positional-only", "positional")]
            param = takes[position].name if position < len(takes) else None
        if param is None:
            continue
        for mine, other in (
            (out.exact, inner.exact),
            (out.indexed, inner.indexed),
            (out.annotated, inner.annotated),
            (out.written, inner.written),
        ):
            if param in other:
                mine.setdefault(name, other[param])
        if param in inner.least:
            _raise(out.least, name, inner.least[param])


def _arguments(call: ir.Call, names: set[str]) -> Mapping[int | str, str]:
    """The parameters among the arguments of a call, by position or keyword."""
    out: dict[int | str, str] = {}
    for position, node in enumerate(call.args):
        if isinstance(node, ir.Starred):
            break
        if isinstance(node, ir.Name) and node.id in names:
            out[position] = node.id
    for keyword in call.keywords:
        if keyword.name is not None and isinstance(keyword.value, ir.Name):
            if keyword.value.id in names:
                out[keyword.name] = keyword.value.id
    return out


def _function(
    project: Project, module: Module, node: ir.Expr
) -> tuple[Module, ir.FunctionDef] | None:
    """The function of the project that a plain name stands for."""
    if not isinstance(node, ir.Name):
        return None
    try:
        found = project.resolve_name(module, node.id)
        owner, name = found if found is not None else (module, node.id)
        definition = owner.definition(name) if name is not None else None
    except SourceError:
        return None
    return (owner, definition) if isinstance(definition, ir.FunctionDef) else None
