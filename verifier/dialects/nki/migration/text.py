"""A file on its way to a later generation: its syntax, its places, and its names of the API."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from verifier.dialects.nki.generation import canonical, imported
from verifier.dialects.nki.migration.changes import Change, Edit, Place, outermost
from verifier.source.ir import Span


@dataclass(slots=True)
class Text:
    """``changes`` are what was found so far; what is rendered has them."""

    path: str
    lines: Sequence[str]
    tree: ast.Module
    changes: list[Change] = field(default_factory=list)
    aliases: dict[str, str] = field(default_factory=dict)
    parents: dict[ast.AST, ast.AST] = field(default_factory=dict)
    places: dict[Span, ast.expr] = field(default_factory=dict)
    #: what is written in a statement so far that is not a change yet
    pending: list[Edit] = field(default_factory=list)
    #: expressions that statements before theirs compute, and the names that stand for them
    lowered: dict[ast.expr, str] = field(default_factory=dict)
    #: expressions that compute with tiles by operators
    computing: set[ast.expr] = field(default_factory=set)
    #: names that were made up
    made_up: set[str] = field(default_factory=set)
    #: what comes to stand before statements, and is no part of what they begin with
    leads: set[Edit] = field(default_factory=set)

    def __post_init__(self) -> None:
        _, aliases = imported(self.tree)
        bound: set[str] = set()
        for node in ast.walk(self.tree):
            for child in ast.iter_child_nodes(node):
                self.parents[child] = node
            bound |= _binds(node)
        self.aliases.update((name, dotted) for name, dotted in aliases.items() if name not in bound)
        for statement in self.tree.body:  # `mod = nki.compiler.sbuf.mod_alloc`
            if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
                (target,) = statement.targets
                value = self.dotted(statement.value)
                if isinstance(target, ast.Name) and value and self._once(target.id):
                    self.aliases[target.id] = value

    def _once(self, name: str) -> bool:
        found = [n for n in ast.walk(self.tree) if name in _binds(n)]
        return len(found) == 1

    # -- places ------------------------------------------------------------------------------------

    def place(self, line: int, offset: int) -> Place:
        """A place of the syntax tree, whose columns count bytes."""
        text = self.lines[line - 1]
        if text.isascii():
            return line, offset
        return line, len(text.encode("utf-8", "surrogatepass")[:offset].decode("utf-8", "replace"))

    def start(self, node: ast.expr | ast.stmt | ast.keyword | ast.alias | ast.arg) -> Place:
        return self.place(node.lineno, node.col_offset)

    def end(self, node: ast.expr | ast.stmt | ast.keyword | ast.alias | ast.arg) -> Place:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return self.place(node.end_lineno, node.end_col_offset)

    def span(self, node: ast.expr | ast.stmt | ast.keyword | ast.alias | ast.arg) -> Span:
        return Span(self.path, *self.start(node), *self.end(node))

    def at(self, span: Span) -> ast.expr | None:
        """The outermost expression at a place, or None."""
        if not self.places:
            for node in ast.walk(self.tree):
                if isinstance(node, ast.expr):
                    self.places.setdefault(self.span(node), node)
        return self.places.get(span)

    def between(self, start: Place, end: Place) -> str:
        """The text of a region."""
        rows = list(self.lines[start[0] - 1 : end[0]])
        if not rows:
            return ""
        rows[-1] = rows[-1][: end[1]]
        rows[0] = rows[0][start[1] :]
        return "\n".join(rows)

    def written(self, node: ast.expr | ast.stmt) -> str:
        """The text of a node as it stands."""
        return self.between(self.start(node), self.end(node))

    def rendered(self, node: ast.expr | ast.stmt, more: Sequence[Edit] = ()) -> str:
        """The text of a node with all that was found to change in it, and with ``more``."""
        start, end = self.start(node), self.end(node)
        every = [*(e for c in self.changes for e in c.edits), *self.pending, *more]
        every = [edit for edit in every if edit not in self.leads]
        edits = dict.fromkeys(e for e in every if start <= e.start and e.end <= end)
        outer = outermost(list(edits))
        parts: list[str] = []
        for edit in sorted(outer, key=lambda each: (each.start, each.end)):
            parts += [self.between(start, edit.start), edit.text]
            start = edit.end
        return "".join([*parts, self.between(start, end)])

    def indent(self, statement: ast.stmt) -> str | None:
        """What stands before a statement on its line; None if that is more than white space."""
        line, column = self.start(statement)
        before = self.lines[line - 1][:column]
        return None if before.strip() else before

    def removed(self, statement: ast.stmt) -> tuple[Edit, ...]:
        """A statement that goes, if it has lines of its own."""
        (line, _), last = self.start(statement), self.end(statement)
        behind = self.lines[last[0] - 1][last[1] :].strip()
        if self.indent(statement) is None or (behind and not behind.startswith("#")):
            return ()
        parent = self.parents.get(statement)
        bodies = [getattr(parent, each, []) for each in ("body", "orelse", "finalbody")]
        body = next((each for each in bodies if statement in each), [])
        if len(body) == 1:
            return (Edit(self.start(statement), last, "pass"),)
        return (Edit((line, 0), (last[0] + 1, 0), ""),)

    # -- names -------------------------------------------------------------------------------------

    def fresh(self, name: str) -> str:
        """A name that the file does not have."""
        if not self.made_up:
            self.made_up |= {n.id for n in ast.walk(self.tree) if isinstance(n, ast.Name)}
            self.made_up |= {name for n in ast.walk(self.tree) for name in _binds(n)}
            self.made_up |= self.aliases.keys() | set(dir(builtins))
        new, number = name, 2
        while new in self.made_up:
            new, number = f"{name}{number}", number + 1
        self.made_up.add(new)
        return new

    def dotted(self, node: ast.expr) -> str | None:
        """The imported name that an expression is (``numpy.add``), or None."""
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name) or node.id not in self.aliases:
            return None
        return ".".join([self.aliases[node.id], *reversed(parts)])

    def name(self, node: ast.expr) -> str | None:
        """The canonical name of the API that an expression is (``isa.nc_matmul``), or None."""
        return canonical(node, self.aliases)

    def module(self, namespace: str) -> str | None:
        """How the file writes a namespace (``nl`` for ``language``), or None if it does not."""
        owners: list[str] = []
        for name, dotted in self.aliases.items():
            path = dotted.removeprefix("neuronxcc.")
            if path == f"nki.{namespace}":
                return name
            if path == "nki":
                owners.append(name)
        return f"{owners[0]}.{namespace}" if owners else None

    def api(self) -> Iterator[tuple[ast.expr, str]]:
        """The longest expressions that are names of the API, in the order of the text."""
        for node in ast.walk(self.tree):
            if not isinstance(node, (ast.Attribute, ast.Name)):
                continue
            parent = self.parents.get(node)
            if isinstance(parent, ast.Attribute):
                continue
            name = self.name(node) if isinstance(node.ctx, ast.Load) else None
            if name is not None:
                yield node, name

    def around(self, node: ast.AST, *types: type[ast.AST]) -> ast.AST | None:
        """The innermost node of some types around another one."""
        found = self.parents.get(node)
        while found is not None and not isinstance(found, types):
            found = self.parents.get(found)
        return found

    def function(self, node: ast.AST) -> ast.FunctionDef | None:
        """The innermost function around a node; that of a decorator is not."""
        found = self.around(node, ast.FunctionDef)
        assert found is None or isinstance(found, ast.FunctionDef)
        return found

    def statement(self, node: ast.AST) -> ast.stmt | None:
        """The innermost statement around a node."""
        found = self.around(node, ast.stmt)
        assert found is None or isinstance(found, ast.stmt)
        return found


def _binds(node: ast.AST) -> set[str]:
    """The names that a node binds, imports apart."""
    if isinstance(node, ast.Name) and isinstance(node.ctx, (ast.Store, ast.Del)):
        return {node.id}
    if isinstance(node, ast.arg):
        return {node.arg}
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return {node.name}
    return set()


def inserted(place: Place, text: str) -> Edit:
    return Edit(place, place, text)
