"""What the text of a kernel shows about its parameters, for where nothing settles it.

A kernel says how many dimensions a tensor has by what it does with it: ``a, b = x.shape``,
``x[i, j]``, ``len(x.shape) == 2``. So do the project's functions that it passes the tensor to, what
it does with copies and parts of it, its annotations and the shapes in its docstring and in strings
beside it. What is found is a guess, taken where the rank is open in the end, and then listed as an
assumption. A parameter that is given a tuple where it is None, or whose items are unpacked, is no
tensor.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, pairwise
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from verifier.source import ir
from verifier.source.project import Module, Project
from verifier.source.scopes import bound_by
from verifier.source.text import SourceError
from verifier.symbolic.python.evidence import Evidence, Hint, Part
from verifier.symbolic.python.shapetexts import MOST, annotated, remarked, written

#: calls that a parameter is followed through
_DEPTH: Final = 3
#: what an assertion about a type is made of
_BUILTINS: Final = frozenset({"isinstance", "int"})
#: calls that make a tensor of a shape
_MADE: Final = ("ndarray", "zeros", "ones", "full", "empty", "rand")


def read(project: Project, module: Module, definition: ir.FunctionDef) -> dict[str, Hint]:
    """What a kernel's text shows, by parameter."""
    found = _Reader(_Readings(project), module, definition, _DEPTH, {}).read()
    asserted = _asserted(definition) if _BUILTINS.isdisjoint(module.bindings) else {}
    return {
        p.name: Hint(
            found.of(p.name),
            found.sequences.get(p.name),
            asserted.get(p.name, ""),
            found.least.get(p.name) == 1,
        )
        for p in definition.params
    }


def _asserted(definition: ir.FunctionDef) -> dict[str, str]:
    """The parameters that a kernel asserts to be integers before it may do anything else."""
    found: dict[str, str] = {}
    bound: set[str] = set()
    for stmt in definition.body:
        bound |= set(bound_by(stmt))
        if not isinstance(stmt, ir.Assert):
            if not isinstance(stmt, (ir.Assign, ir.ExprStmt)):
                break  # it may go another way where the parameter is none
            continue
        test = stmt.test
        parts = test.values if isinstance(test, ir.BoolOp) and test.op == "or" else (test,)
        names = {name for part in parts if (name := _is_integer(part)) is not None}
        if len(names) == 1 and not names & bound and bound.isdisjoint(_BUILTINS):
            (name,) = names
            if all(_is_integer(part) or _is_none(part, name) for part in parts):
                found[name] = "int" if len(parts) == 1 else "int | None"
    return found


def _is_integer(test: ir.Expr) -> str | None:
    """The name of which ``isinstance(name, int)`` asks."""
    if not (isinstance(test, ir.Call) and isinstance(test.func, ir.Name)) or test.keywords:
        return None
    if test.func.id != "isinstance" or len(test.args) != 2:
        return None
    value, kind = test.args
    asked = isinstance(value, ir.Name) and isinstance(kind, ir.Name) and kind.id == "int"
    return value.id if asked and isinstance(value, ir.Name) else None


def _is_none(test: ir.Expr, name: str) -> bool:
    """Whether a test is ``name is None``."""
    return (
        isinstance(test, ir.Compare)
        and test.ops == ("is",)
        and isinstance(test.left, ir.Name)
        and test.left.id == name
        and isinstance(test.comparators[0], ir.Const)
        and test.comparators[0].value is None
    )


class _Readings(Struct):
    """Functions that have been read, by what they are passed."""

    project: Project
    known: dict[object, Evidence] = field(default_factory=dict)


class _Reader:
    """One reading of a function, in the order of its text."""

    def __init__(
        self,
        readings: _Readings,
        module: Module,
        definition: ir.FunctionDef,
        depth: int,
        numbers: Mapping[str, int],
    ) -> None:
        self._readings = readings
        self._module = module
        self._definition = definition
        self._depth = depth
        self._parts = {param.name: Part(param.name) for param in definition.params}
        #: names that stand for a number
        self._numbers = dict(numbers)
        self._out = Evidence()

    def read(self) -> Evidence:
        """All that the text says."""
        lines = [param.span.line for param in self._definition.params]
        for param in self._definition.params:
            rank = annotated(param.annotation)
            if rank is not None:
                self._out.annotated[param.name] = [rank]
            line = param.span.line
            remark = remarked(self._module.lines[line - 1]) if lines.count(line) == 1 else None
            if remark is not None:
                self._out.written[param.name] = [remark]
        for name, rank in written(self._definition.docstring or ""):
            if name in self._parts:
                self._out.written.setdefault(name, [rank])
        for name, rank in chain.from_iterable(map(written, self._module.remarks())):
            if name in self._parts:
                self._out.remarked.setdefault(name, [rank])
        for node in _in_order(self._definition.body):
            if isinstance(node, _Bound):
                self._bind(node.stmt)
            elif isinstance(node, ir.Compare):
                self._comparison(node)
            elif isinstance(node, ir.Subscript):
                self._subscript(node)
            elif isinstance(node, ir.Call) and self._depth > 0:
                self._call(node)
        self._out.even_out()
        return self._out

    # -- names ---------------------------------------------------------------------------

    def _bind(self, stmt: ir.Stmt) -> None:
        """What a statement binds stands for something else from here on."""
        bound: list[tuple[str, Part | int]] = []
        if isinstance(stmt, ir.Assign) and len(stmt.targets) == 1:
            for target, value in _pairs(stmt.targets[0], stmt.value):
                self._unpacking(target, value)
                self._replaced(target, value)
                meant = self._meaning(value)
                if meant is not None and isinstance(target, ir.Name):
                    bound.append((target.id, meant))
        for name in bound_by(stmt):
            self._parts.pop(name, None)
            self._numbers.pop(name, None)
        for name, meant in bound:
            if isinstance(meant, int):
                self._numbers[name] = meant
            else:
                self._parts[name] = meant

    def _meaning(self, node: ir.Expr) -> Part | int | None:
        """What a name stands for that is bound to a value."""
        number = self._number(node)
        if number is not None:
            return number
        part = self._made_of(node)
        if part is None:
            shape, count = self._shape_of(node), self._measured(node)
            if shape is not None:
                return replace(shape, what="shape")
            return replace(count, what="count") if count is not None else None
        return part

    def _made_of(self, node: ir.Expr) -> Part | None:
        """The parameter that a value is, or is a copy or a part of."""
        if isinstance(node, ir.Name):
            return self._named(node)
        if isinstance(node, ir.Call) and isinstance(node.func, ir.Attribute) and node.args:
            part = self._made_of(node.args[0])
            if part is None and node.func.attr in _MADE:
                part = self._shape_of(node.args[0])
            return None if part is None else Part(part.name, part.less, itself=False)
        if isinstance(node, ir.Subscript):
            part = self._made_of(node.value)
            if part is None:
                return None
            items = node.index.elements if isinstance(node.index, ir.TupleExpr) else (node.index,)
            return Part(part.name, part.less + sum(map(_drops, items)), itself=False)
        return None

    def _named(self, node: ir.Expr, what: str = "tensor") -> Part | None:
        part = self._parts.get(node.id) if isinstance(node, ir.Name) else None
        return part if part is not None and part.what == what else None

    def _number(self, node: ir.Expr) -> int | None:
        if isinstance(node, ir.Name):
            return self._numbers.get(node.id)
        return _literal(node)

    def _shape_of(self, node: ir.Expr) -> Part | None:
        """What ``.shape`` is taken of."""
        if isinstance(node, ir.Attribute) and node.attr == "shape":
            return self._named(node.value)
        if isinstance(node, ir.Call) and isinstance(node.func, ir.Name) and len(node.args) == 1:
            return self._shape_of(node.args[0]) if node.func.id in ("tuple", "list") else None
        return self._named(node, "shape")

    def _measured(self, node: ir.Expr) -> Part | None:
        """What ``len(x.shape)`` or ``x.ndim`` measures."""
        if isinstance(node, ir.Call) and isinstance(node.func, ir.Name) and node.func.id == "len":
            return self._shape_of(node.args[0]) if len(node.args) == 1 else None
        if isinstance(node, ir.Attribute) and node.attr == "ndim":
            return self._named(node.value)
        return self._named(node, "count")

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
        plain = all(_literal(e) is not None or isinstance(e, ir.Name) for e in value.elements)
        self._out.sequences.setdefault(part.name, "flat" if plain else "nested")

    def _comparison(self, node: ir.Compare) -> None:
        """``len(x.shape) == n``, ``x.ndim in (n, m)``, ``x.shape == (a, b)``, ``!=`` too."""
        operands = (node.left, *node.comparators)
        if node.ops in (("in",), ("not in",)):
            part, among = self._measured(operands[0]), operands[1]
            if part is not None and isinstance(among, (ir.TupleExpr, ir.ListExpr, ir.SetExpr)):
                self._is_one_of(part, among.elements)
            return
        if node.ops != ("!=",) and set(node.ops) != {"=="}:
            return
        shapes = [e for e in operands if isinstance(e, (ir.TupleExpr, ir.ListExpr))]
        for operand in operands:
            part = self._shape_of(operand)
            if part is not None and shapes:
                self._out.is_exact(part, len(shapes[0].elements))
            part = self._measured(operand)
            if part is not None:
                self._is_one_of(part, operands)
        for way in (self._shape_of, self._measured):
            parts = [part for part in map(way, operands) if part is not None]
            self._out.alike.extend(pairwise(parts))

    def _is_one_of(self, part: Part, values: Iterable[ir.Expr]) -> None:
        for number in map(self._number, values):
            if number is not None and 1 <= number <= MOST:
                self._out.is_exact(part, number)

    def _subscript(self, node: ir.Subscript) -> None:
        """``x[i, j]`` without an ellipsis or a new axis; ``x[a:b]``, ``x[i]``; ``x.shape[k]``."""
        part = self._named(node.value)
        if part is not None and isinstance(node.index, ir.TupleExpr):
            items = node.index.elements
            if not any(_is_filler(item) for item in items):
                self._out.is_indexed(part, len(items))
        elif part is not None and not _is_filler(node.index):
            # a single element is no tile
            self._out.is_at_least(part, 1 if isinstance(node.index, ir.SliceExpr) else 2)
        part = self._shape_of(node.value)
        if part is None:
            return
        if isinstance(node.index, ir.SliceExpr):
            ends = [_literal(e) for e in (node.index.lower, node.index.upper) if e is not None]
            least = [abs(end) for end in ends if end is not None]
            self._out.is_at_least(part, max(least, default=1))
        position = self._number(node.index)
        if position is not None:
            self._out.is_at_least(part, position + 1 if position >= 0 else -position)

    def _call(self, node: ir.Call) -> None:
        """What a function of the project shows about what it is passed."""
        given: dict[int | str, ir.Expr] = {}
        for position, arg in enumerate(node.args):
            if isinstance(arg, ir.Starred):
                break
            given[position] = arg
        given.update((k.name, k.value) for k in node.keywords if k.name is not None)
        parts = {where: self._made_of(arg) for where, arg in given.items()}
        if not any(parts.values()):
            return
        found = self._function(node.func)
        if found is None:
            return
        definition = found[1]
        takes = [
            p.name
            for p in definition.params
            if p.kind in (ir.ParamKind.POSITIONAL_ONLY, ir.ParamKind.POSITIONAL)
        ]
        numbers = {p.name: _literal(p.default) for p in definition.params if p.default is not None}
        passed: dict[str, Part] = {}
        for where, arg in given.items():
            if isinstance(where, int) and where >= len(takes):
                continue
            name = where if isinstance(where, str) else takes[where]
            numbers[name] = self._number(arg)
            part = parts[where]
            if part is not None:
                passed[name] = part
        inner = self._reading(*found, {k: n for k, n in numbers.items() if n is not None})
        for name, part in passed.items():
            self._out.take(part, inner, name)
        self._out.alike.extend(
            (passed[a.name], passed[b.name])
            for a, b in inner.alike
            if a.name in passed and b.name in passed and a.less == b.less
        )

    def _reading(
        self, module: Module, definition: ir.FunctionDef, numbers: Mapping[str, int]
    ) -> Evidence:
        key = (str(module.path), definition.span, self._depth, tuple(sorted(numbers.items())))
        known = self._readings.known.get(key)
        if known is None:
            reader = _Reader(self._readings, module, definition, self._depth - 1, numbers)
            known = self._readings.known[key] = reader.read()
        return known

    def _function(self, node: ir.Expr) -> tuple[Module, ir.FunctionDef] | None:
        """The function of the project that a name stands for, or a name of a module's."""
        project = self._readings.project
        try:
            if isinstance(node, ir.Attribute) and isinstance(node.value, ir.Name):
                found = project.resolve_name(self._module, node.value.id)
                if found is None or found[1] is not None:
                    return None
                owner, name = project.resolve_name(found[0], node.attr) or (found[0], node.attr)
            elif isinstance(node, ir.Name):
                found = project.resolve_name(self._module, node.id)
                owner, name = found if found is not None else (self._module, node.id)
            else:
                return None
            definition = owner.definition(name) if name is not None else None
        except SourceError:
            return None
        return (owner, definition) if isinstance(definition, ir.FunctionDef) else None


# ------------------------------------------------------------------------ the text


class _Bound(Struct, frozen=True):
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
        below: list[ir.Node | _Bound] = [*ir.children(node)]
        if isinstance(node, (ir.Assign, ir.AnnAssign, ir.AugAssign)):
            below.append(_Bound(node))
        elif isinstance(node, ir.Stmt):
            below.insert(0, _Bound(node))
        stack.extend(reversed(below))


def _pairs(target: ir.Expr, value: ir.Expr) -> Iterator[tuple[ir.Expr, ir.Expr]]:
    """What is assigned to what: ``a, b = x, y`` is ``a = x`` and ``b = y``."""
    kinds = (ir.TupleExpr, ir.ListExpr)
    if isinstance(target, kinds) and isinstance(value, kinds):
        starred = any(isinstance(e, ir.Starred) for e in (*target.elements, *value.elements))
        if not starred and len(target.elements) == len(value.elements):
            for part, item in zip(target.elements, value.elements, strict=True):
                yield from _pairs(part, item)
            return
    yield target, value


def _literal(node: ir.Expr) -> int | None:
    if isinstance(node, ir.UnaryOp) and node.op == "-":
        inner = _literal(node.operand)
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


__all__ = ["Hint", "read"]
