"""Where an expression is computed before the statement that it is in.

An instruction that writes into a destination is a statement of its own: what was one expression
becomes several. What is evaluated under a condition, again and again or later (the sides of a
conditional expression, the elements of a list, the body of a lambda) becomes a statement that does
so, too.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator, Sequence
from typing import Final, TypeAlias

from msgspec import Struct, field

from verifier.dialects.nki import names
from verifier.dialects.nki.migration.changes import Edit
from verifier.dialects.nki.migration.text import Text

#: expressions that become statements
Container: TypeAlias = ast.IfExp | ast.ListComp | ast.Lambda
#: the statement that something is evaluated before, or the part of a container that it is in
Anchor: TypeAlias = tuple[ast.AST, str]

_State: TypeAlias = "tuple[dict[Anchor, list[str]], list[Edit], dict[ast.expr, str]]"

_CONTAINERS: Final = (ast.IfExp, ast.ListComp, ast.Lambda)
_STEP: Final = "    "
#: methods that change nothing
_VIEWS: Final = frozenset({"reshape", "view", "ap", "append", "format"}) | names.MEMBERS.keys()


class Lowered(Struct):
    """A statement and what comes to stand before it; ``blocks``: lines, by what they stand in; one
    that goes on in others does so between parentheses."""

    text: Text
    statement: ast.stmt
    indent: str
    #: what a line of its own for the statement takes
    lead: tuple[Edit, ...] = ()
    blocks: dict[Anchor, list[str]] = field(default_factory=dict)

    def copy(self) -> _State:
        blocks = {anchor: list(lines) for anchor, lines in self.blocks.items()}
        return blocks, list(self.text.pending), dict(self.text.lowered)

    def restore(self, state: _State) -> None:
        """As it was when it was copied."""
        blocks, pending, lowered_ = state
        self.blocks = {anchor: list(lines) for anchor, lines in blocks.items()}
        self.text.pending[:] = pending
        self.text.lowered = dict(lowered_)

    # -- where -------------------------------------------------------------------------------------

    def anchor(self, node: ast.AST) -> Anchor | None:
        """What an expression is evaluated in, or None if nothing can be written there."""
        child: ast.AST = node
        parent = self.text.parents[node]
        while not isinstance(parent, ast.stmt):
            inside = _part(parent, child)
            if inside is None:
                return None
            if inside and isinstance(parent, _CONTAINERS):
                return parent, inside
            child, parent = parent, self.text.parents[parent]
        return (parent, "") if _first(parent, child) else None

    def containers(self, nodes: Sequence[ast.AST]) -> list[Container]:
        """The expressions that have to become statements for some others in them to do so."""
        found: list[Container] = []
        for node in nodes:
            anchor = self.anchor(node)
            while anchor is not None and isinstance(anchor[0], _CONTAINERS):
                if anchor[0] not in found:
                    found.append(anchor[0])
                anchor = self.anchor(anchor[0])
        return found

    def in_order(self, node: ast.expr) -> bool:
        """Whether nothing is evaluated before an expression that may do something to its parts, and
        would come after it."""
        start = self.text.start(node)
        gone: set[ast.AST] = {n for each in self.text.lowered for n in ast.walk(each)}
        return not any(
            isinstance(call, ast.Call)
            and call not in gone
            and self.text.end(call) <= start
            and not self._harmless(call)
            for call in ast.walk(self.statement)
        )

    def _harmless(self, call: ast.Call) -> bool:
        func = call.func
        if self.text.name(func) is not None:
            return True
        if isinstance(func, ast.Name):
            return hasattr(builtins, func.id) and func.id not in self.text.aliases
        return isinstance(func, ast.Attribute) and func.attr in _VIEWS

    # -- what --------------------------------------------------------------------------------------

    def put(self, node: ast.expr, name: str, lines: Sequence[str]) -> bool:
        """``name``, which the lines define before, in place of an expression."""
        anchor = self.anchor(node)
        if anchor is None or not self.in_order(node):
            return False
        self.blocks.setdefault(anchor, []).extend(lines)
        self.text.pending.append(Edit(self.text.start(node), self.text.end(node), name))
        self.text.lowered[node] = name
        return True

    def line(self, node: ast.AST, new: str) -> bool:
        """A line of its own before what an expression is in."""
        anchor = self.anchor(node)
        if anchor is not None:
            self.blocks.setdefault(anchor, []).append(new)
        return anchor is not None

    def contain(self, node: Container) -> bool:
        """A container as a statement, if something in it has become one; whether it could."""
        if not any((node, part) in self.blocks for part in ("body", "orelse", "elt")):
            return True
        kind = {ast.IfExp: "chosen", ast.ListComp: "made", ast.Lambda: "function"}[type(node)]
        if isinstance(node, ast.ListComp) and not self._alone(node):
            return False
        name = self.text.fresh(kind)
        return self.put(node, name, list(self._statement(node, name)))

    def _statement(self, node: Container, name: str) -> Iterator[str]:
        text = self.text
        if isinstance(node, ast.IfExp):
            yield f"if {text.rendered(node.test)}:"
            yield from self._inside(node, "body", f"{name} = {text.rendered(node.body)}")
            yield "else:"
            yield from self._inside(node, "orelse", f"{name} = {text.rendered(node.orelse)}")
        elif isinstance(node, ast.Lambda):
            yield f"def {name}({ast.unparse(node.args)}):"
            yield from self._inside(node, "body", f"return {text.rendered(node.body)}")
        else:
            (loop,) = node.generators
            yield f"{name} = []"
            yield f"for {text.written(loop.target)} in {text.rendered(loop.iter)}:"
            deeper = ""
            for test in loop.ifs:
                deeper += _STEP
                yield f"{deeper}if {text.rendered(test)}:"
            last = f"{name}.append({text.rendered(node.elt)})"
            yield from (deeper + line for line in self._inside(node, "elt", last))

    def _inside(self, node: Container, part: str, last: str) -> Iterator[str]:
        for line in (*self.blocks.get((node, part), ()), last):
            yield _STEP + line

    def _alone(self, node: ast.ListComp) -> bool:
        """Whether a loop may bind the names of a list: nobody else in the function has them."""
        if len(node.generators) != 1 or node.generators[0].is_async:
            return False
        own = {n.id for n in ast.walk(node.generators[0].target) if isinstance(n, ast.Name)}
        inside = set(ast.walk(node))
        around: ast.AST = self.text.function(node) or self.text.tree
        return not any(
            (isinstance(n, ast.Name) and n.id in own) or (isinstance(n, ast.arg) and n.arg in own)
            for n in ast.walk(around)
            if n not in inside
        )

    def edits(self) -> tuple[Edit, ...]:
        """The statement and all before it."""
        lines = self.blocks.get((self.statement, ""), [])
        before = "".join(f"{line}\n{self.indent}" for line in lines)
        start = self.text.start(self.statement)
        first = [Edit(start, start, before)] if before else []
        self.text.leads.update(first)
        return (*self.lead, *first, *self.text.pending)


def lowered(text: Text, statement: ast.stmt) -> Lowered | None:
    """What can be written before a statement; None: nothing can."""
    indent = text.indent(statement)
    if indent is not None:
        start = text.start(statement)
        line = text.lines[start[0] - 1][start[1] :]
        return None if line.startswith("elif") else Lowered(text, statement, indent)
    parent = text.parents.get(statement)
    for name in ("body", "orelse", "finalbody"):
        body = getattr(parent, name, [])
        if statement in body:
            return _split(text, statement, parent, body)
    return None


def _split(
    text: Text, statement: ast.stmt, parent: ast.AST | None, body: Sequence[ast.stmt]
) -> Lowered | None:
    """A statement that shares its line, on one of its own."""
    position, start = list(body).index(statement), text.start(statement)
    first = body[0]
    header: tuple[Edit, ...] = ()
    indent = text.indent(first)
    if indent is None:  # all of it stands behind what it is the body of
        outer = text.indent(parent) if isinstance(parent, ast.stmt) else None
        line, column = text.start(first)
        row = text.lines[line - 1][:column].rstrip()
        if outer is None or not row.endswith(":"):
            return None
        indent = outer + _STEP
        header = (Edit((line, len(row)), (line, column), f"\n{indent}"),)
    if not position:
        return Lowered(text, statement, indent, header)
    before = text.end(body[position - 1])
    if text.between(before, start).strip() != ";":
        return None
    return Lowered(text, statement, indent, (*header, Edit(before, start, f"\n{indent}")))


def _part(parent: ast.AST, child: ast.AST) -> str | None:
    """The part of a container that a child is; empty: it is evaluated where its parent is; None:
    perhaps not at all, or not once."""
    if isinstance(parent, ast.IfExp):
        return "" if child is parent.test else "body" if child is parent.body else "orelse"
    if isinstance(parent, ast.Lambda):
        return "body" if child is parent.body else ""
    if isinstance(parent, (ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp)):
        if isinstance(parent, ast.ListComp) and child is parent.elt:
            return "elt"
        return "" if child is parent.generators[0] else None
    if isinstance(parent, ast.comprehension):
        return "" if child is parent.iter else None
    if isinstance(parent, ast.BoolOp):
        return "" if child is parent.values[0] else None
    if isinstance(parent, ast.Compare):
        return "" if child in (parent.left, parent.comparators[0]) else None
    if isinstance(parent, (ast.ExceptHandler, ast.match_case)):
        return None
    return ""


def _first(statement: ast.stmt, child: ast.AST) -> bool:
    """Whether a part of a statement is evaluated once, and before all else that it does."""
    if isinstance(statement, ast.Assert):
        return child is statement.test
    if isinstance(statement, (ast.With, ast.AsyncWith)):
        return child is statement.items[0]
    definitions = (ast.While, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return not isinstance(statement, definitions)


__all__ = ["Container", "Lowered", "lowered"]
