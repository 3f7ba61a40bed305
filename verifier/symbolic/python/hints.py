"""What the text of a kernel shows about its parameters, for where nothing settles it.

A kernel says how many dimensions a tensor has by what it does with it: ``a, b = x.shape``,
``x[i, j]``, ``len(x.shape) == 2``. So do the project's functions that it passes the tensor to, what
it does with copies and parts of it, its annotations and the shapes in its docstring. What is found
is a guess, taken where the rank is open in the end, and then listed as an assumption. A parameter
that is given a tuple where it is None, or whose items are unpacked, is no tensor.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from verifier.source import ir
from verifier.source.project import Module, Project
from verifier.source.scopes import bound_by
from verifier.source.text import SourceError

#: calls that a parameter is followed through
_DEPTH: Final = 3
#: dimensions that a tensor may have, and that it has if nothing is said
_MOST: Final = 8
_USUAL: Final = 2
#: ``w: [H]``
_ROW: Final = re.compile(r"\b(\w+)\s*:\s*\[\s*(\w+)\s*\]")
#: ``x: [B, S, H]``, ``x (tensor): of shape (n, k)``
_SHAPE: Final = re.compile(
    r"\b(\w+)\b[`'\"]?\s*(?:\([^()\[\]]*\)\s*)?(?::|=|--?|is|of|has)[^\n\[(]{0,60}?[\[(]"
    r"([\w\s*+/,.-]*,[\w\s*+/,.-]*)[\])]"
)


@dataclass(frozen=True, slots=True)
class Hint:
    """What the text shows about one parameter: its rank, or that it is no tensor.

    ``sequence``: ``flat`` for a tuple of numbers, ``nested`` for one of other things.
    """

    rank: int | None = None
    sequence: str | None = None


@dataclass(frozen=True, slots=True)
class _Part:
    """What a name stands for: a parameter, or something with ``less`` dimensions made of it."""

    name: str
    less: int = 0
    itself: bool = True


@dataclass(slots=True)
class _Hints:
    """What a text says about the ranks of a function's parameters, the surest first."""

    exact: dict[str, int] = field(default_factory=dict)
    annotated: dict[str, int] = field(default_factory=dict)
    indexed: dict[str, int] = field(default_factory=dict)
    #: as the copies and parts of a parameter show, measured and indexed
    derived: dict[str, int] = field(default_factory=dict)
    followed: dict[str, int] = field(default_factory=dict)
    written: dict[str, int] = field(default_factory=dict)
    least: dict[str, int] = field(default_factory=dict)
    sequences: dict[str, str] = field(default_factory=dict)

    def of(self, name: str) -> int | None:
        """The rank that the surest of what was found says."""
        for found in self._tables:
            if name in found:
                return max(found[name], self.least.get(name, 0))
        least = self.least.get(name, 0)
        return least if least > _USUAL else None

    @property
    def _tables(self) -> tuple[dict[str, int], ...]:
        return (
            self.exact,
            self.annotated,
            self.indexed,
            self.derived,
            self.followed,
            self.written,
        )

    def is_exact(self, part: _Part, rank: int) -> None:
        """The tensor has that rank."""
        table = self.exact if part.itself else self.derived
        table.setdefault(part.name, rank + part.less)

    def is_indexed(self, part: _Part, rank: int) -> None:
        """The tensor is given so many indices."""
        table = self.indexed if part.itself else self.followed
        table[part.name] = max(table.get(part.name, 0), rank + part.less)

    def is_at_least(self, part: _Part, rank: int) -> None:
        """The tensor has that rank or more."""
        self.least[part.name] = max(self.least.get(part.name, 0), rank + part.less)

    def take(self, part: _Part, inner: _Hints, name: str) -> None:
        """What a function says of a parameter that it is passed."""
        if not part.itself:
            rank = inner.of(name)
            if rank is not None:
                self.is_exact(part, rank)
            return
        for mine, other in zip(self._tables, inner._tables, strict=True):
            if name in other:
                mine.setdefault(part.name, other[name])
        if name in inner.least:
            self.is_at_least(part, inner.least[name])


def read(project: Project, module: Module, definition: ir.FunctionDef) -> dict[str, Hint]:
    """What a kernel's text shows, by parameter."""
    found = _Reader(project, module, definition, _DEPTH).read()
    out = {}
    for param in definition.params:
        rank = found.of(param.name)
        out[param.name] = Hint(
            None if rank is None else min(rank, _MOST), found.sequences.get(param.name)
        )
    return out


class _Reader:
    """One reading of a function, in the order of its text."""

    def __init__(
        self, project: Project, module: Module, definition: ir.FunctionDef, depth: int
    ) -> None:
        self._project = project
        self._module = module
        self._definition = definition
        self._depth = depth
        self._parts = {param.name: _Part(param.name) for param in definition.params}
        self._out = _Hints()

    def read(self) -> _Hints:
        """All that the text says."""
        for param in self._definition.params:
            rank = _annotated(param.annotation)
            if rank is not None:
                self._out.annotated[param.name] = rank
        for name, rank in _written(self._definition.docstring or ""):
            if name in self._parts:
                self._out.written.setdefault(name, rank)
        for node in _in_order(self._definition.body):
            if isinstance(node, _Bound):
                self._bind(node.stmt)
            elif isinstance(node, ir.Compare):
                self._comparison(node)
            elif isinstance(node, ir.Subscript):
                self._subscript(node)
            elif isinstance(node, ir.Call) and self._depth > 0:
                self._call(node)
        return self._out

    # -- names ---------------------------------------------------------------------------

    def _bind(self, stmt: ir.Stmt) -> None:
        """What a statement binds stands for something else from here on."""
        part = None
        if isinstance(stmt, ir.Assign) and len(stmt.targets) == 1:
            self._unpacking(stmt.targets[0], stmt.value)
            self._replaced(stmt.targets[0], stmt.value)
            part = self._made_of(stmt.value)
        for name in bound_by(stmt):
            self._parts.pop(name, None)
        if part is not None and isinstance(stmt, ir.Assign):
            target = stmt.targets[0]
            if isinstance(target, ir.Name):
                self._parts[target.id] = part

    def _made_of(self, node: ir.Expr) -> _Part | None:
        """The parameter that a value is, or is a copy or a part of."""
        if isinstance(node, ir.Name):
            return self._parts.get(node.id)
        if isinstance(node, ir.Call) and isinstance(node.func, ir.Attribute) and node.args:
            part = self._made_of(node.args[0])
            return None if part is None else _Part(part.name, part.less, itself=False)
        if isinstance(node, ir.Subscript):
            part = self._made_of(node.value)
            if part is None:
                return None
            items = node.index.elements if isinstance(node.index, ir.TupleExpr) else (node.index,)
            return _Part(part.name, part.less + sum(map(_drops, items)), itself=False)
        return None

    def _named(self, node: ir.Expr) -> _Part | None:
        return self._parts.get(node.id) if isinstance(node, ir.Name) else None

    def _shape_of(self, node: ir.Expr) -> _Part | None:
        """What ``.shape`` is taken of."""
        if isinstance(node, ir.Attribute) and node.attr == "shape":
            return self._named(node.value)
        return None

    def _measured(self, node: ir.Expr) -> _Part | None:
        """What ``len(x.shape)`` or ``x.ndim`` measures."""
        if isinstance(node, ir.Call) and isinstance(node.func, ir.Name) and node.func.id == "len":
            return self._shape_of(node.args[0]) if len(node.args) == 1 else None
        if isinstance(node, ir.Attribute) and node.attr == "ndim":
            return self._named(node.value)
        return None

    # -- uses ----------------------------------------------------------------------------

    def _unpacking(self, target: ir.Expr, value: ir.Expr) -> None:
        """``a, b = x.shape``."""
        if not isinstance(target, (ir.TupleExpr, ir.ListExpr)):
            return
        part = self._named(value.value) if isinstance(value, ir.Subscript) else None
        if part is not None and part.itself:
            self._out.sequences[part.name] = "nested"
        part = self._shape_of(value)
        if part is None:
            return
        starred = sum(isinstance(e, ir.Starred) for e in target.elements)
        if starred:
            self._out.is_at_least(part, len(target.elements) - starred)
        else:
            self._out.is_exact(part, len(target.elements))

    def _replaced(self, target: ir.Expr, value: ir.Expr) -> None:
        """``if x is None: x = (1, 1)``: what stands in for a parameter is what it is."""
        part = self._named(target)
        if part is None or not part.itself or not isinstance(value, (ir.TupleExpr, ir.ListExpr)):
            return
        plain = all(_number(e) is not None or isinstance(e, ir.Name) for e in value.elements)
        self._out.sequences.setdefault(part.name, "flat" if plain else "nested")

    def _comparison(self, node: ir.Compare) -> None:
        """``len(x.shape) == n``, ``x.ndim == n``, ``x.shape == (a, b)``."""
        if node.ops not in (("==",), ("!=",)) and set(node.ops) != {"=="}:
            return
        operands = (node.left, *node.comparators)
        shapes = [e for e in operands if isinstance(e, (ir.TupleExpr, ir.ListExpr))]
        numbers = [n for n in map(_number, operands) if n is not None and 1 <= n <= _MOST]
        for operand in operands:
            part = self._shape_of(operand)
            if part is not None and shapes:
                self._out.is_exact(part, len(shapes[0].elements))
            part = self._measured(operand)
            if part is not None and numbers:
                self._out.is_exact(part, numbers[0])

    def _subscript(self, node: ir.Subscript) -> None:
        """``x[i, j]`` without an ellipsis or a new axis; ``x.shape[k]``."""
        part = self._named(node.value)
        if part is not None and isinstance(node.index, ir.TupleExpr):
            items = node.index.elements
            if not any(_is_filler(item) for item in items):
                self._out.is_indexed(part, len(items))
        part = self._shape_of(node.value)
        if part is None:
            return
        if isinstance(node.index, ir.SliceExpr):
            ends = [_number(e) for e in (node.index.lower, node.index.upper) if e is not None]
            least = [abs(end) for end in ends if end is not None]
            self._out.is_at_least(part, max(least, default=1))
        position = _number(node.index)
        if position is not None:
            self._out.is_at_least(part, position + 1 if position >= 0 else -position)

    def _call(self, node: ir.Call) -> None:
        """What a function of the project shows about what it is passed."""
        given: dict[int | str, _Part] = {}
        for position, arg in enumerate(node.args):
            if isinstance(arg, ir.Starred):
                break
            part = self._made_of(arg)
            if part is not None:
                given[position] = part
        for keyword in node.keywords:
            part = self._made_of(keyword.value)
            if keyword.name is not None and part is not None:
                given[keyword.name] = part
        found = self._function(node.func) if given else None
        if found is None:
            return
        inner = _Reader(self._project, *found, self._depth - 1).read()
        takes = [p.name for p in found[1].params if p.kind in ("positional-only", "positional")]
        for where, part in given.items():
            if isinstance(where, str):
                self._out.take(part, inner, where)
            elif where < len(takes):
                self._out.take(part, inner, takes[where])

    def _function(self, node: ir.Expr) -> tuple[Module, ir.FunctionDef] | None:
        """The function of the project that a plain name stands for."""
        if not isinstance(node, ir.Name):
            return None
        try:
            found = self._project.resolve_name(self._module, node.id)
            owner, name = found if found is not None else (self._module, node.id)
            definition = owner.definition(name) if name is not None else None
        except SourceError:
            return None
        return (owner, definition) if isinstance(definition, ir.FunctionDef) else None


# ------------------------------------------------------------------------ the text


@dataclass(frozen=True, slots=True)
class _Bound:
    """The place where a statement binds its names."""

    stmt: ir.Stmt


def _in_order(body: tuple[ir.Stmt, ...]) -> Iterator[ir.Node | _Bound]:
    """Every node of a body in the order of the text, nested functions too, and what is bound.

    An assignment binds behind its value, other statements before what is in them.
    """
    stack: list[ir.Node | _Bound] = list(reversed(body))
    while stack:
        node = stack.pop()
        yield node
        if isinstance(node, _Bound):
            continue
        below: list[ir.Node | _Bound] = list(ir.children(node))
        if isinstance(node, (ir.Assign, ir.AnnAssign, ir.AugAssign)):
            below.append(_Bound(node))
        elif isinstance(node, ir.Stmt):
            below.insert(0, _Bound(node))
        stack.extend(reversed(below))


def _number(node: ir.Expr) -> int | None:
    if isinstance(node, ir.UnaryOp) and node.op == "-":
        inner = _number(node.operand)
        return None if inner is None else -inner
    value = node.value if isinstance(node, ir.Const) else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _is_filler(node: ir.Expr) -> bool:
    """``...`` or ``None`` in an index."""
    return isinstance(node, ir.Const) and (node.value is None or node.value is Ellipsis)


def _drops(node: ir.Expr) -> int:
    """How many dimensions an index takes away: an integer one, a slice none."""
    if isinstance(node, ir.Const) and node.value is None:
        return -1
    return int(not isinstance(node, (ir.SliceExpr, ir.Call)) and not _is_filler(node))


def _annotated(node: ir.Expr | None) -> int | None:
    """``nt.tensor[128, 512]``."""
    if isinstance(node, ir.Subscript) and isinstance(node.value, ir.Attribute):
        if node.value.attr in ("tensor", "mutable_tensor"):
            return len(node.index.elements) if isinstance(node.index, ir.TupleExpr) else 1
    return None


def _written(text: str) -> Iterator[tuple[str, int]]:
    """Shapes in a docstring: ``x: [B, S, H]``."""
    for match in _ROW.finditer(text):
        yield match.group(1), 1
    for match in _SHAPE.finditer(text):
        sizes = [size for size in match.group(2).split(",") if size.strip()]
        if sizes and len(sizes) <= _MOST:
            yield match.group(1), len(sizes)


__all__ = ["Hint", "read"]
