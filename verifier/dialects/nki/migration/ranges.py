"""Index arrays of Beta 1 as slices (NKI-M005): ``x[i * 128 + nl.arange(128)[:, None], ...]`` is
``x[i * 128:i * 128 + 128, ...]``.

An array is written anew with all others that it meets in an index, and if all that is done with
them is to index, each in an axis of its own and in their order: masks and permutations are not.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from msgspec import Struct, field

from verifier.dialects.nki.migration.changes import NAME, Change, Edit
from verifier.dialects.nki.migration.text import Text
from verifier.dialects.nki.signatures import lookup, removal
from verifier.dialects.nki.versions import said

_NAMES = ("language.arange", "language.mgrid")
#: what may stand twice in a text
_TWICE = (
    *(ast.Name, ast.Attribute, ast.Constant, ast.BinOp, ast.UnaryOp, ast.Subscript, ast.Call),
    *(ast.operator, ast.unaryop, ast.expr_context),
)
#: the members of a grid, by axis
_MEMBERS = "pxyz"
_CALLED_TWICE = ("language.program_id", "language.num_programs")


class _Array(Struct, frozen=True):
    """``start`` to ``stop`` (or so many from there on) along one of ``axes``."""

    node: ast.expr
    start: ast.expr | None
    stop: ast.expr
    axis: int
    axes: int
    added: ast.expr | None = None


class _Group(Struct):
    """Arrays that meet in indices, and what becomes of them; ``stays``: as they are."""

    nodes: list[ast.expr] = field(default_factory=list)
    edits: list[Edit] = field(default_factory=list)
    stays: bool = False


def indices(text: Text, to: str) -> Iterator[Change]:
    """Every ``nl.arange`` and ``nl.mgrid`` of a file."""
    if lookup(_NAMES[0], to) is not None:
        return
    instead, facts = removal(_NAMES[0])
    edits: dict[ast.expr, tuple[Edit, ...]] = {}
    scopes = [n for n in ast.walk(text.tree) if isinstance(n, ast.FunctionDef)]
    for scope in scopes:
        if text.function(scope) is None:
            for group in _Arrays(text, scope).groups():
                edits.update(
                    (node, () if group.stays else tuple(group.edits)) for node in group.nodes
                )
    for node, name in text.api():
        owner = next((each for each in _NAMES if name == each or name.startswith(f"{each}.")), None)
        if owner is not None:
            found = edits.get(node, ())
            yield Change(
                NAME,
                text.span(node),
                f"`{text.written(node)}` does not exist since {said('0.2')}",
                "warning",
                facts,
                (instead,),
                "write slices" if found else "",
                found,
            )


class _Arrays:
    """The index arrays of a function and of those that it defines."""

    def __init__(self, text: Text, scope: ast.FunctionDef) -> None:
        self.text = text
        self.scope = scope
        self.named: dict[str, _Array] = {}
        #: arrays that are members of one thing: `i.p`, `i.x`
        self.grids: dict[str, list[_Array]] = {}
        self.statements: dict[str, ast.stmt] = {}
        self.group_of: dict[ast.expr, _Group] = {}
        for statement in ast.walk(scope):
            if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
                self._define(statement, statement.targets[0])

    def _define(self, statement: ast.Assign, target: ast.expr) -> None:
        if isinstance(target, ast.Name):
            several = self._grid(statement.value, None)
            if several and self._once(target.id) and all(map(self._stable, several)):
                self.grids[target.id] = several
                self.statements[target.id] = statement
            found = self._sum(statement.value)
            if found is not None and self._once(target.id) and self._stable(found):
                self.named[target.id] = found
                self.statements[target.id] = statement
        elif isinstance(target, ast.Tuple):
            several = self._grid(statement.value, len(target.elts))
            names = [each.id for each in target.elts if isinstance(each, ast.Name)]
            kept = all(map(self._once, names)) and all(map(self._stable, several))
            if several and len(names) == len(several) and kept:
                self.named.update(zip(names, several, strict=True))
                self.statements.update(dict.fromkeys(names, statement))

    def _once(self, name: str) -> bool:
        parameters = (n.arg for n in ast.walk(self.scope) if isinstance(n, ast.arg))
        return self._bound(name) == 1 and name not in parameters

    def _stable(self, array: _Array) -> bool:
        """Whether what an array is made of is the same wherever the array is used."""
        parts = [each for each in (array.start, array.stop, array.added) if each is not None]
        for node in (node for part in parts for node in ast.walk(part)):
            if isinstance(node, ast.Name) and self._bound(node.id) > 1:
                return False
            if isinstance(node, ast.Subscript) and not (
                isinstance(node.value, ast.Attribute) and node.value.attr == "shape"
            ):
                return False
        return all(map(self._twice, parts))

    def _bound(self, name: str) -> int:
        """How often a name is bound, as a parameter or otherwise."""
        return sum(
            (isinstance(n, ast.Name) and n.id == name and not isinstance(n.ctx, ast.Load))
            or (isinstance(n, ast.arg) and n.arg == name)
            for n in ast.walk(self.scope)
        )

    # -- arrays ------------------------------------------------------------------------------------

    def _plain(self, node: ast.expr) -> _Array | None:
        """``nl.arange(...)[:, None]``, or the name of such an array."""
        if isinstance(node, ast.Name):
            return self.named.get(node.id)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            several = self.grids.get(node.value.id, [])
            axis = _MEMBERS.find(node.attr) if len(node.attr) == 1 else -1
            return several[axis] if 0 <= axis < len(several) else None
        axis, axes = 0, 1
        if isinstance(node, ast.Subscript):
            items = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            spread = [k for k, item in enumerate(items) if isinstance(item, ast.Slice)]
            empty = [i for i in items if isinstance(i, ast.Constant) and i.value is None]
            if len(spread) != 1 or len(spread) + len(empty) != len(items):
                return None
            whole = items[spread[0]]
            assert isinstance(whole, ast.Slice)
            if whole.lower or whole.upper or whole.step:
                return None
            axis, axes, node = spread[0], len(items), node.value
        if not isinstance(node, ast.Call) or self.text.name(node.func) != _NAMES[0]:
            return None
        if node.keywords or not 1 <= len(node.args) <= 2:
            return None
        start = node.args[0] if len(node.args) == 2 else None
        return _Array(node.func, start, node.args[-1], axis, axes)

    def _grid(self, node: ast.expr, count: int | None) -> list[_Array]:
        """``nl.mgrid[0:3, 0:4]``"""
        if not isinstance(node, ast.Subscript) or self.text.name(node.value) != _NAMES[1]:
            return []
        items = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        found = [
            _Array(node.value, item.lower, item.upper, axis, len(items))
            for axis, item in enumerate(items)
            if isinstance(item, ast.Slice) and item.upper is not None and item.step is None
        ]
        wanted = len(items) if count is None else count
        return found if len(found) == len(items) == wanted else []

    def _sum(self, node: ast.expr) -> _Array | None:
        """An array, or the sum of one and a number."""
        found = self._plain(node)
        if found is not None or not isinstance(node, ast.BinOp):
            return found
        if not isinstance(node.op, ast.Add):
            return None
        for one, other in ((node.left, node.right), (node.right, node.left)):
            array = self._sum(one)
            if array is not None and not self._arrays_in(other) and self._twice(other):
                if array.added is not None:
                    return None
                return _Array(array.node, array.start, array.stop, array.axis, array.axes, other)
        return None

    def _arrays_in(self, node: ast.expr) -> list[ast.expr]:
        """The arrays that an expression has anything of."""
        found = [
            self.named[n.id].node
            for n in ast.walk(node)
            if isinstance(n, ast.Name) and n.id in self.named
        ]
        found += [
            self.grids[n.id][0].node
            for n in ast.walk(node)
            if isinstance(n, ast.Name) and n.id in self.grids
        ]
        return found + [
            n
            for n in ast.walk(node)
            if isinstance(n, (ast.Attribute, ast.Name)) and self.text.name(n) in _NAMES
        ]

    def _twice(self, node: ast.expr) -> bool:
        return all(
            isinstance(part, _TWICE)
            and (not isinstance(part, ast.Call) or self.text.name(part.func) in _CALLED_TWICE)
            for part in ast.walk(node)
        )

    # -- uses --------------------------------------------------------------------------------------

    def groups(self) -> list[_Group]:
        """All arrays, those together that meet."""
        held: set[ast.AST] = set()
        for name, statement in self.statements.items():
            held |= set(ast.walk(statement))
            own = self.named[name] if name in self.named else self.grids[name][0]
            group = self._joined([own.node])
            edit = self._removed(statement)
            group.stays |= edit is None
            group.edits += [] if edit is None or edit in group.edits else [edit]
        for node in ast.walk(self.scope):
            if isinstance(node, ast.Subscript) and node not in held:
                self._indexed(node, held)
        for node in ast.walk(self.scope):
            if isinstance(node, (ast.Name, ast.Attribute)) and node not in held:
                arrays = self._arrays_in(node)
                if arrays:
                    self._joined(arrays).stays = True
        return list({id(group): group for group in self.group_of.values()}.values())

    def _joined(self, arrays: Sequence[ast.expr]) -> _Group:
        found = _Group()
        for group in {id(g): g for g in map(self.group_of.get, arrays) if g is not None}.values():
            found.nodes += group.nodes
            found.edits += [edit for edit in group.edits if edit not in found.edits]
            found.stays |= group.stays
        found.nodes += [node for node in arrays if node not in found.nodes]
        self.group_of.update(dict.fromkeys(found.nodes, found))
        return found

    def _indexed(self, node: ast.Subscript, held: set[ast.AST]) -> None:
        """An index: its arrays become slices, if each is that of an axis of its own."""
        if self._plain(node) is not None:
            return
        arrays = self._arrays_in(node.slice)
        if not arrays:
            return
        group = self._joined(arrays)
        held |= set(ast.walk(node.slice))
        items = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        found = [(item, self._sum(item)) for item in items]
        axes = [array.axis for _, array in found if array is not None]
        others = [item for item, array in found if array is None]
        every = {array.axes for _, array in found if array is not None}
        if axes != list(range(len(axes))) or every != {len(axes)}:
            group.stays = True
        if any(self._arrays_in(item) or not self._number(item) for item in others):
            group.stays = True
        for item, array in found:
            if array is not None:
                edit = Edit(self.text.start(item), self.text.end(item), self._slice(array))
                if self._wrapped(item):
                    group.stays = True
                group.edits.append(edit)

    def _wrapped(self, item: ast.expr) -> bool:
        """Whether parentheses stand around an index."""
        line, column = self.text.end(item)
        return self.text.lines[line - 1][column:].lstrip()[:1] not in (",", "]")

    def _number(self, item: ast.expr) -> bool:
        return not any(isinstance(n, (ast.Slice, ast.Starred)) for n in ast.walk(item)) and not (
            isinstance(item, ast.Constant) and not isinstance(item.value, int)
        )

    def _slice(self, array: _Array) -> str:
        start = "" if array.start is None else self._term(array.start)
        if array.start is not None and ast.unparse(array.start) == "0":
            start = ""
        stop = self._term(array.stop)
        if array.added is None:
            return f"{start or 0}:{stop}"
        added = self._term(array.added)
        return f"{added}{' + ' + start if start else ''}:{added} + {stop}"

    def _term(self, node: ast.expr) -> str:
        rendered = self.text.rendered(node)
        sums = isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Mult))
        plain = isinstance(node, (ast.Name, ast.Constant, ast.Attribute, ast.Call, ast.Subscript))
        return rendered if plain or sums else f"({rendered})"

    def _removed(self, statement: ast.stmt) -> Edit | None:
        """A statement that goes, if it has lines of its own and is not alone."""
        line, last = self.text.start(statement)[0], self.text.end(statement)
        behind = self.text.lines[last[0] - 1][last[1] :].strip()
        parent = self.text.parents.get(statement)
        bodies = [getattr(parent, each, []) for each in ("body", "orelse", "finalbody")]
        body = next((each for each in bodies if statement in each), [])
        gone = [s for s in body if s in self.statements.values()]
        if self.text.indent(statement) is None or (behind and not behind.startswith("#")):
            return None
        return None if len(gone) == len(body) else Edit((line, 0), (last[0] + 1, 0), "")
