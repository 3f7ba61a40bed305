"""What top-level statements mention: names, calls, imports, what they may change."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from verifier.source.effects import never_runs, root_name
from verifier.source.nodes import below, walk
from verifier.source.outline import Binding

_WITH_DEFAULTS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


class Import(Struct, frozen=True):
    """``import module``, or ``from ..module import name`` (``level`` 2; ``*`` for all names)."""

    module: str
    level: int
    name: str | None


class Reading(Struct, frozen=True):
    """What a top-level statement mentions, by the names that its module binds.

    ``uses``: anywhere in it; ``reads``: when it runs; ``calls``: what it calls then, by the name
    and the first attribute; ``changes``: names of what it assigns into; ``touches``: names of what
    anything in it assigns into, calls a method of or passes on; ``rebinds``: names that a function
    in it declares global. ``constant``: it binds a name to a literal.
    """

    chunk: int
    effect: bool
    assigns: bool
    constant: bool
    imports: tuple[Import, ...]
    binds: frozenset[str]
    uses: frozenset[str]
    reads: frozenset[str]
    calls: frozenset[tuple[str, str]]
    changes: frozenset[str]
    touches: frozenset[str]
    rebinds: frozenset[str]
    stateful: bool
    loads: frozenset[tuple[str, str]]

    def spelled(self) -> str:
        """All of it as a text, the same one in each process."""
        values = (getattr(self, name) for name in self.__struct_fields__)
        return repr([sorted(v) if isinstance(v, frozenset) else v for v in values])


def readings(
    statements: Iterable[tuple[int, ast.stmt]],
    effects: Collection[int],
    bound: Mapping[str, Binding],
) -> Iterator[Reading]:
    """What each top-level statement mentions.

    ``statements``: each with the position of its chunk; ``effects``: the chunks that do more than
    bind names; ``bound``: what the module binds.
    """
    binds: dict[int, list[str]] = {}
    for name, binding in bound.items():
        binds.setdefault(binding.chunk, []).append(name)
    for chunk, statement in statements:
        running, nodes = list(_running(statement)), walk(statement)
        names = [node.id for node in nodes if isinstance(node, ast.Name)]
        yield Reading(
            chunk,
            chunk in effects,
            isinstance(statement, (ast.Assign, ast.AnnAssign)),
            _is_constant(statement),
            tuple(_wanted(running)),
            frozenset(binds.get(chunk, ())),
            frozenset(name for name in names if name in bound),
            frozenset(
                node.id
                for node in running
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
                if node.id in bound
            ),
            frozenset(_called(running)),
            frozenset(map(root_name, _changed(running))) & bound.keys(),
            frozenset(_touched(statement, nodes)),
            frozenset(
                name for node in nodes if isinstance(node, ast.Global) for name in node.names
            ),
            _is_stateful(statement, nodes),
            frozenset(_loaded(running)),
        )


def _is_constant(statement: ast.stmt) -> bool:
    """Whether a statement binds a name to a literal that nothing can change."""
    if not isinstance(statement, (ast.Assign, ast.AnnAssign)) or statement.value is None:
        return False
    try:
        value: object = ast.literal_eval(statement.value)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return False
    return isinstance(value, (int, float, complex, str, bytes, tuple, type(None)))


def _running(statement: ast.stmt) -> Iterator[ast.AST]:
    """The nodes that are evaluated when a statement runs: no bodies of functions."""
    stack: list[ast.AST] = [statement]
    while stack:
        node = stack.pop()
        yield node
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            defaults = [d for d in (*node.args.defaults, *node.args.kw_defaults) if d is not None]
            stack.extend((*node.decorator_list, *defaults))
        elif isinstance(node, ast.If) and never_runs(node.test):
            stack.extend(node.orelse)
        elif isinstance(node, ast.Lambda):
            stack.extend(d for d in (*node.args.defaults, *node.args.kw_defaults) if d is not None)
        else:
            stack.extend(below(node))


def _called(running: Iterable[ast.AST]) -> Iterator[tuple[str, str]]:
    """What is called: functions, decorators, the bases of a class."""
    for node in running:
        called: list[ast.expr] = []
        if isinstance(node, ast.Call):
            called.append(node.func)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            called.extend(node.decorator_list)
        if isinstance(node, ast.ClassDef):  # `__init_subclass__`, a metaclass
            called.extend((*node.bases, *(keyword.value for keyword in node.keywords)))
        for part in called:
            attribute = ""
            while isinstance(part, (ast.Attribute, ast.Subscript, ast.Call)):
                attribute = part.attr if isinstance(part, ast.Attribute) else ""
                part = part.func if isinstance(part, ast.Call) else part.value
            if isinstance(part, ast.Name):
                yield part.id, attribute


def _loaded(running: Iterable[ast.AST]) -> Iterator[tuple[str, str]]:
    """Whose attributes and items are read, which may run code: by name and first attribute."""
    for node in running:
        if isinstance(node, (ast.Attribute, ast.Subscript)):
            attribute = ""
            part: ast.expr = node
            while isinstance(part, (ast.Attribute, ast.Subscript)):
                attribute = part.attr if isinstance(part, ast.Attribute) else ""
                part = part.value
            if isinstance(part, ast.Name):
                yield part.id, attribute


def _changed(running: Iterable[ast.AST]) -> Iterator[ast.expr]:
    """What is assigned into: the owner of an attribute or an item."""
    for node in running:
        if isinstance(node, (ast.Attribute, ast.Subscript)) and not isinstance(node.ctx, ast.Load):
            yield node


def _touched(statement: ast.stmt, nodes: Sequence[ast.AST]) -> Iterator[str]:
    """What a statement may change, now or when a function of it is called."""
    if isinstance(statement, (ast.Assign, ast.AnnAssign)) and statement.value is not None:
        if any(isinstance(node, ast.Call) for node in walk(statement.value)):
            # an object of a class of its own may be changed by whatever is done with it
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            yield from map(root_name, targets)
    yield from map(root_name, _changed(nodes))
    for node in nodes:
        if isinstance(node, ast.Call):
            arguments = (*node.args, *(keyword.value for keyword in node.keywords))
            yield from map(root_name, (node.func, *arguments))
        elif isinstance(node, ast.Return) and isinstance(node.value, ast.Name):
            yield node.value.id


def _is_stateful(statement: ast.stmt, nodes: Sequence[ast.AST]) -> bool:
    """Whether a function or a class has something of its own that its code may change."""
    if isinstance(statement, ast.ClassDef):
        values = [s.value for s in statement.body if isinstance(s, (ast.Assign, ast.AnnAssign))]
        if any(value is not None and not _is_literal(value) for value in values):
            return True
        changed = {root_name(node) for node in _changed(nodes)}
        if not changed.isdisjoint(("cls", statement.name, "")):
            return True
    elif not isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return False
    else:
        changed = {root_name(node) for node in _changed(nodes)}
        if statement.name in changed:
            return True
    arguments = [node.args for node in nodes if isinstance(node, _WITH_DEFAULTS)]
    defaults = [d for args in arguments for d in (*args.defaults, *args.kw_defaults)]
    kinds = (ast.List, ast.Dict, ast.Set, ast.Call)
    return any(isinstance(default, kinds) for default in defaults)


def _is_literal(node: ast.expr) -> bool:
    """Whether a value in a class body is one that nothing can change, or a field's description."""
    if isinstance(node, ast.Call):
        return isinstance(node.func, (ast.Name, ast.Attribute)) and (
            ast.unparse(node.func).rpartition(".")[2] == "field"
        )
    return not any(
        isinstance(part, (ast.List, ast.Dict, ast.Set, ast.Call, ast.comprehension))
        for part in walk(node)
    )


def _wanted(running: Iterable[ast.AST]) -> Iterator[Import]:
    for node in running:
        if isinstance(node, ast.Import):
            yield from (Import(alias.name, 0, None) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            yield from (Import(module, node.level, alias.name) for alias in node.names)
