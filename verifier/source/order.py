"""Whether it can be seen in which order the modules of a program run, and which statements then do.

Most modules only define things: nothing is lost if a module runs when something of it is asked for,
and a statement when its name is. A program in which one module changes another is different: there
every import runs where it stands, and so does each statement that reads a name.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from verifier.source import footprint
from verifier.source.effects import never_runs, root_name
from verifier.source.imports import Import
from verifier.source.project import EFFECTS, Module, Project

_WITH_DEFAULTS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


@dataclass(frozen=True, slots=True)
class Reading:
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


class Order:
    """The order of execution in the modules of one project."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._readings: dict[str, tuple[Reading, ...]] = project.readings
        self._shared: dict[tuple[str, str], bool] = {}
        self._matters: dict[str, bool] = {}

    def matters(self, module: Module) -> bool:
        """Whether some module of the program of ``module`` changes another one when it runs."""
        known = self._matters.get(module.file)
        if known is None:
            reached = self._reached(module)
            known = len(reached) > 1 and any(self._reaches_out(each) for each in reached)
            self._matters[module.file] = known
        return known

    def running(self, module: Module) -> tuple[int, ...]:
        """The chunks of a module that run in order where the order of modules matters."""
        out = []
        for reading in self._read(module):
            moving = any(not self._is_foreign(module, name) for name in reading.reads)
            ours = any(self.starts(module, wanted) for wanted in reading.imports)
            if reading.effect or reading.assigns or moving or ours:
                out.append(reading.chunk)
        return tuple(dict.fromkeys(out))

    def imports(self, module: Module) -> Iterator[tuple[int, Import]]:
        """The imports that run when a module does, each with its chunk."""
        for reading in self._read(module):
            for wanted in reading.imports:
                yield reading.chunk, wanted

    def starting(self, module: Module) -> Mapping[int, list[Module]]:
        """The modules of the project that a module's imports start, by chunk."""
        out: dict[int, list[Module]] = {}
        for chunk, wanted in self.imports(module):
            found = self.starts(module, wanted)
            if found:
                out.setdefault(chunk, []).extend(found)
        return out

    def starts(self, module: Module, wanted: Import) -> list[Module]:
        """The modules of the project that an import starts, in order."""
        project = self._project
        names = wanted.module.split(".") if wanted.module else []
        packages = [".".join(names[: k + 1]) for k in range(len(names))]
        tried = [wanted.module] if wanted.level else packages
        found = [project.resolve_import(module, name, wanted.level) for name in tried]
        if wanted.name is not None and wanted.name != "*":
            part = project.resolve_from(module, wanted.module, wanted.level, wanted.name)
            if part is not None and part[1] is None:
                found.append(part[0])
        return list({m.file: m for m in found if m is not None}.values())

    # -- the program -----------------------------------------------------------------

    def _reached(self, module: Module) -> Collection[Module]:
        """The modules of the project that a module's imports lead to, itself among them."""
        known: dict[str, Module] = {}
        stack = [module]
        while stack:
            item = stack.pop()
            if item.file not in known:
                known[item.file] = item
                footprint.note_name(item.file, EFFECTS)
                for reading in self._read(item):
                    for wanted in reading.imports:
                        stack.extend(self.starts(item, wanted))
        return known.values()

    def _reaches_out(self, module: Module) -> bool:
        """Whether a statement that a module runs may change, or depend on, another one's state."""
        readings = self._read(module)
        for reading in readings:
            if any(self._is_shared(module, *one) for one in reading.calls | reading.loads):
                return True
            if reading.effect and any(_is_import(module, name) for name in reading.changes):
                return True
            used = _closure(readings, reading.uses) if reading.effect else set()
            if any(self._is_shared(module, name) for name in used):
                return True
        return False

    def _is_shared(self, module: Module, name: str, attribute: str = "") -> bool:
        """Whether an imported name, or what a module has under it, is or touches shared data."""
        found = self._meant(module, name)
        if found is not None and found[1] is None and attribute:
            owner = found[0]
            found = self._project.resolve_name(owner, attribute) or (owner, attribute)
        if found is None:
            return False
        owner, original = found
        if original is None:
            return True
        key = (owner.file, original)
        known = self._shared.get(key)
        if known is None:
            self._shared[key] = False  # for what refers to itself
            readings = self._read(owner)
            used = _closure(readings, frozenset({original}))
            moving = [r for r in readings if (r.assigns or r.effect) and not r.constant]
            data = {name for reading in moving for name in reading.binds}
            touched = {name for reading in readings for name in reading.touches}
            # data that its own module leaves alone is shared with who gets at it from outside
            shared = (data & touched) | (data & {original})
            shared.update(name for r in readings for name in r.binds if r.stateful)
            shared.update(name for reading in readings for name in reading.rebinds)
            known = not used.isdisjoint(shared) or any(
                self._is_shared(owner, n) for n in used if n != original
            )
            self._shared[key] = known
        return known

    # -- names -----------------------------------------------------------------------

    def _is_foreign(self, module: Module, name: str) -> bool:
        return _is_import(module, name) and self._meant(module, name) is None

    def _meant(self, module: Module, name: str) -> tuple[Module, str | None] | None:
        """What of the project's an imported name stands for."""
        if not _is_import(module, name):
            return None
        found = self._project.resolve_name(module, name)
        return None if found is None or found[0] is module else found

    def _read(self, module: Module) -> tuple[Reading, ...]:
        """What the statements of a module mention."""
        known = self._readings.get(module.file)
        if known is None:
            known = self._readings[module.file] = tuple(_readings(module))
        return known


def _is_import(module: Module, name: str) -> bool:
    binding = module.bindings.get(name)
    return binding is not None and binding.kind in ("import", "from")


def _is_constant(statement: ast.stmt) -> bool:
    """Whether a statement binds a name to a literal that nothing can change."""
    if not isinstance(statement, (ast.Assign, ast.AnnAssign)) or statement.value is None:
        return False
    try:
        value: object = ast.literal_eval(statement.value)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return False
    return isinstance(value, (int, float, complex, str, bytes, tuple, type(None)))


def _closure(readings: Iterable[Reading], names: frozenset[str]) -> set[str]:
    """Names, and all that the definitions of names among them mention."""
    uses: dict[str, set[str]] = {}
    for reading in readings:
        for name in reading.binds:
            uses.setdefault(name, set()).update(reading.uses)
    out: set[str] = set()
    stack = list(names)
    while stack:
        name = stack.pop()
        if name not in out:
            out.add(name)
            stack.extend(uses.get(name, ()))
    return out


def _readings(module: Module) -> Iterator[Reading]:
    effects = set(module.effect_chunks)
    bound = module.bindings
    binds: dict[int, list[str]] = {}
    for name, binding in bound.items():
        binds.setdefault(binding.chunk, []).append(name)
    for chunk, statement in module.chunked_syntax():
        running, nodes = list(_running(statement)), list(ast.walk(statement))
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
            stack.extend(ast.iter_child_nodes(node))


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
        if any(isinstance(node, ast.Call) for node in ast.walk(statement.value)):
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
        for part in ast.walk(node)
    )


def _wanted(running: Iterable[ast.AST]) -> Iterator[Import]:
    for node in running:
        if isinstance(node, ast.Import):
            yield from (Import(alias.name, 0, None) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            yield from (Import(module, node.level, alias.name) for alias in node.names)
