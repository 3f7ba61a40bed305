"""Single-token mutations of kernels, by class of mistake; deterministic.

``mutants(text)`` finds the places with the standard ``ast`` module and edits the text there, so
that a mutant differs from its original in one token (or, for a removed initialisation or assert,
in one statement) and lines stay where they are.

Classes:

* ``tile-constant``: one use of a number that sizes a tile, a loop or a step is changed (where it
  has a name, one use of the name: a changed definition changes all of them together, and makes
  another kernel that is right);
* ``slice-end``: the end of a slice or the size of ``nl.ds`` is one larger or smaller;
* ``operand-swap``: two operands with different parts in an instruction change places (a
  difference with exchanged terms is wrong arithmetic, but the hardware takes it);
* ``dropped-assert``: one demand on sizes and values (or one part of an ``and``) is gone, in an
  ``assert`` or in a helper called ``kernel_assert`` (demands on element types are left alone: DMA
  converts to the type of the tile, so that most of them document and do not protect);
* ``wrong-buffer``: a tile or tensor is allocated in another memory;
* ``removed-init``: the first write of a tile or of the result is gone.
"""

from __future__ import annotations

import ast
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from zlib import crc32

CLASSES = (
    "tile-constant",
    "slice-end",
    "operand-swap",
    "dropped-assert",
    "wrong-buffer",
    "removed-init",
)

#: Keyword operands of instructions that are mistaken for one another.
_SWAPS = (("dst", "src"), ("stationary", "moving"), ("dst", "data"), ("dst", "data1"))

#: Calls that do not take PSUM for at least one of the tiles they are given.
_SBUF_ONLY = frozenset(
    {"dma_copy", "nc_matmul", "nc_matmul_mx", "nc_transpose", "quantize_mx", "load", "store"}
)


@dataclass(frozen=True, slots=True)
class Mutant:
    """A changed text: what class of mistake, on which line, and in words."""

    kind: str
    line: int
    description: str
    text: str


@dataclass(frozen=True, slots=True)
class _Edit:
    start: int
    end: int
    new: str
    line: int
    description: str


class _Text:
    """Offsets of syntax nodes in a text."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.starts = [0]
        for line in text.splitlines(keepends=True):
            self.starts.append(self.starts[-1] + len(line))

    def span(self, node: ast.expr | ast.stmt | ast.keyword) -> tuple[int, int]:
        assert node.end_lineno is not None and node.end_col_offset is not None
        return (
            self.starts[node.lineno - 1] + node.col_offset,
            self.starts[node.end_lineno - 1] + node.end_col_offset,
        )

    def of(self, node: ast.expr | ast.stmt) -> str:
        start, end = self.span(node)
        return self.text[start:end]

    def edit(self, node: ast.expr | ast.stmt, new: str, description: str) -> _Edit:
        start, end = self.span(node)
        # The statement keeps its lines, so that findings of mutant and original compare.
        padding = "\n" * (self.text[start:end].count("\n") - new.count("\n"))
        return _Edit(start, end, new + padding, node.lineno, description)


def _called(node: ast.AST) -> str:
    """The last name of what a call calls, or the empty string."""
    if isinstance(node, ast.Call):
        if isinstance(node.func, ast.Attribute):
            return node.func.attr
        if isinstance(node.func, ast.Name):
            return node.func.id
    return ""


def _whole(node: ast.AST) -> int | None:
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return node.value
    return None


def _demands(tree: ast.AST) -> Iterator[tuple[ast.stmt, ast.expr]]:
    """The statements that demand something of the inputs, and what they demand."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assert):
            yield node, node.test
        elif isinstance(node, ast.Expr) and _called(node.value) == "kernel_assert":
            assert isinstance(node.value, ast.Call)
            yield node, node.value.args[0]


def _definitions(tree: ast.AST) -> tuple[dict[str, int], set[int]]:
    """Names for whole numbers, and the nodes of these numbers where the names are bound."""
    names: dict[str, int] = {}
    nodes: set[int] = set()
    for node in ast.walk(tree):
        pairs: list[tuple[ast.expr, ast.expr | None]]
        if isinstance(node, ast.AnnAssign):
            pairs = [(node.target, node.value)]
        elif isinstance(node, ast.Assign) and len(node.targets) == 1:
            target, value = node.targets[0], node.value
            if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
                pairs = list(zip(target.elts, value.elts, strict=False))
            else:
                pairs = [(target, value)]
        else:
            continue
        for bound, given in pairs:
            number = _whole(given) if given is not None else None
            if isinstance(bound, ast.Name) and number is not None:
                names[bound.id] = number
                nodes.add(id(given))
    return names, nodes


def _tile_constants(source: _Text, tree: ast.AST) -> Iterator[_Edit]:
    names, defining = _definitions(tree)
    demanded = {id(inner) for statement, _ in _demands(tree) for inner in ast.walk(statement)}
    for node in ast.walk(tree):
        if id(node) in demanded or id(node) in defining:
            continue
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            value = names.get(node.id)
        else:
            value = _whole(node)
        if value is None or value < 6:
            continue
        assert isinstance(node, ast.expr)
        for new in (value * 2, value + 1, value // 2):
            yield source.edit(node, str(new), f"{source.of(node)} -> {new}")


def _slice_ends(source: _Text, tree: ast.AST) -> Iterator[_Edit]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Slice) and node.upper is not None:
            ends: list[ast.expr] = [node.upper]
        elif _called(node) in ("ds", "arange") and isinstance(node, ast.Call):
            ends = [node.args[-1]]
        else:
            continue
        for end in ends:
            text = source.of(end)
            for sign in ("+", "-"):
                yield source.edit(end, f"{text} {sign} 1", f"{text} {sign} 1")


def _swapped(call: ast.Call) -> Iterator[tuple[ast.expr, ast.expr, str]]:
    keywords = {k.arg: k.value for k in call.keywords if k.arg is not None}
    for first, second in _SWAPS:
        if first in keywords and second in keywords:
            yield keywords[first], keywords[second], f"{first} <-> {second}"
    if _called(call) == "nc_matmul" and len(call.args) == 2:
        yield call.args[0], call.args[1], "operands exchanged"


def _operand_swaps(source: _Text, tree: ast.AST) -> Iterator[_Edit]:
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        for first, second, words in _swapped(node):
            one, two = source.of(first), source.of(second)
            if one == two:
                continue
            (a, b), (c, d) = sorted((source.span(first), source.span(second)))
            left, right = source.text[a:b], source.text[c:d]
            new = right + source.text[b:c] + left
            yield _Edit(a, d, new, node.lineno, f"{_called(node)}: {words}")


def _dropped_asserts(source: _Text, tree: ast.AST) -> Iterator[_Edit]:
    for statement, test in _demands(tree):
        if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
            for part in test.values:
                if ".dtype" not in source.of(part):
                    yield source.edit(part, "True", f"without {source.of(part)}")
        elif ".dtype" not in source.of(test):
            yield source.edit(statement, "pass", f"without {source.of(test)}")


def _wrong_buffers(source: _Text, tree: ast.AST) -> Iterator[_Edit]:
    beta1 = "neuronxcc" in source.text
    bound_to_sbuf = {
        inner.id
        for node in ast.walk(tree)
        if _called(node) in _SBUF_ONLY
        for inner in ast.walk(node)
        if isinstance(inner, ast.Name)
    }
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Assign) and isinstance(node.value, ast.Call)):
            continue
        target = node.targets[0]
        name = target.id if isinstance(target, ast.Name) else ""
        for keyword in node.value.keywords:
            value = keyword.value
            if keyword.arg != "buffer" or not isinstance(value, ast.Attribute):
                continue
            if value.attr == "shared_hbm":
                new = "sbuf"
            elif beta1:
                # Instructions return tiles and copy what they are given: both memories are fine.
                new = "shared_hbm"
            elif value.attr == "psum":
                new = "sbuf"
            else:
                # Vector and Scalar Engine work on PSUM, too: only HBM is wrong for their tiles.
                new = "psum" if name in bound_to_sbuf else "shared_hbm"
            yield source.edit(value, f"nl.{new}", f"{name}: {value.attr} -> {new}")


def _base(node: ast.expr) -> str:
    """The variable that an operand is a part of."""
    while True:
        if isinstance(node, ast.Subscript):
            node = node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            node = node.func.value
        else:
            return node.id if isinstance(node, ast.Name) else ""


def _removed_inits(source: _Text, tree: ast.AST) -> Iterator[_Edit]:
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef):
            continue
        fresh: set[str] = set()
        for node in _in_order(function):
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                if _called(node.value) == "ndarray":
                    fresh.add(node.targets[0].id)
            if not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)):
                continue
            call = node.value
            written = next((k.value for k in call.keywords if k.arg == "dst"), None)
            if written is None and _called(call) == "store":
                written = call.args[0]
            name = _base(written) if written is not None else ""
            if name in fresh:
                fresh.remove(name)
                yield source.edit(node, "pass", f"without {_called(call)} to {name}")


def _in_order(node: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(node):
        yield child
        yield from _in_order(child)


_FINDERS: dict[str, Callable[[_Text, ast.AST], Iterator[_Edit]]] = {
    "tile-constant": _tile_constants,
    "slice-end": _slice_ends,
    "operand-swap": _operand_swaps,
    "dropped-assert": _dropped_asserts,
    "wrong-buffer": _wrong_buffers,
    "removed-init": _removed_inits,
}


def mutants(text: str, name: str, kind: str, limit: int) -> list[Mutant]:
    """At most ``limit`` mutants of one class; the choice depends on ``name`` and ``kind`` only.

    Args:
        text: the source of a kernel.
        name: what to seed the choice with, the fixture's name.
        kind: one of :data:`CLASSES`.
        limit: how many to choose at most.
    """
    source, tree = _Text(text), ast.parse(text)
    edits = sorted(set(_FINDERS[kind](source, tree)), key=lambda e: (e.start, e.end, e.new))
    chooser = random.Random(crc32(f"{name}/{kind}".encode()))
    chosen = edits if len(edits) <= limit else chooser.sample(edits, limit)
    return [
        Mutant(kind, e.line, e.description, text[: e.start] + e.new + text[e.end :])
        for e in sorted(chosen, key=lambda e: (e.start, e.end, e.new))
    ]
