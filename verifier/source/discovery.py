"""Kernel entry points: which functions of a file run on a device, and how that is said."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

from verifier.source import apis, ir, nodes
from verifier.source.apis import KernelApi
from verifier.source.helpers import CallSite, Unit, helpers, reached
from verifier.source.imports import users
from verifier.source.meanings import (
    FUNCTIONS,
    Alias,
    Imported,
    Local,
    Scope,
    import_of,
    is_leaf,
    meaning_of,
    parameters,
    scope_of,
)
from verifier.source.outline import (
    BindingKind,
    BrokenDefinition,
    first_line_of,
    last_line_of,
)
from verifier.source.project import Module, Project
from verifier.source.text import SourceError

_CONTRACT = re.compile(r"#\s*tilelint:\s*contract\b[ \t]*(.*?)\s*$")


class How(Enum):
    """How a text says that a function is a device entry point."""

    DECORATOR = "decorator"
    #: ``nki.jit(f)`` somewhere, also in another file
    WRAPPED = "wrapped"
    #: it does not: somebody asked for the function by its name
    NAMED = "named"
    #: it does not: no kernel calls the function
    UNREACHED = "unreached"


@dataclass(frozen=True, slots=True)
class KernelEntry:
    """One device entry point.

    ``name`` is qualified: ``kernel``, ``outer.inner``, ``Class.method``. ``line`` is that of the
    ``def``; ``name_span`` covers the identifier. ``wrapper`` is the dotted origin of the decorator
    or wrapper, ``keywords`` its literal keyword arguments. ``nested`` is true for everything that
    is not a top-level function. ``error`` is set when the body does not parse.
    """

    path: Path
    name: str
    line: int
    name_span: ir.Span
    dialect: str
    how: How
    wrapper: str
    keywords: Mapping[str, object] = field(default_factory=dict, hash=False)
    nested: bool = False
    error: SourceError | None = None


@dataclass(frozen=True, slots=True)
class Scanned:
    """What a module has for a device.

    ``kernels`` are its entry points, by place; a function of another module on disk that is wrapped
    here (``nki.jit(imported)``) has the path of the module that defines it. What kernels call and
    nobody launches is none, see :mod:`.helpers`. ``unreached`` are the top-level functions that no
    kernel calls, as far as it is seen, ``device`` the names of those that call a kernel API,
    ``helpers`` the decorated ones that are no entry points because kernels call them.
    """

    module: Module
    kernels: tuple[KernelEntry, ...]
    unreached: tuple[KernelEntry, ...] = ()
    device: frozenset[str] = frozenset()
    helpers: tuple[Helper, ...] = ()


@dataclass(frozen=True, slots=True)
class Helper:
    """A function that is judged where the ``callers`` call it, not as an entry point."""

    entry: KernelEntry
    callers: tuple[Unit, ...]


def scan(
    project: Project,
    module: Module,
    others: Iterable[Module] = (),
    named: Collection[str] = (),
) -> Scanned:
    """What ``module`` has for a device.

    ``others`` are modules whose calls count, too; ``named`` are top-level functions that are entry
    points because somebody says so.
    """
    found: dict[tuple[str, int, int], KernelEntry] = {}
    visitor = _visited(project, module)
    for entry in [*visitor.decorated, *visitor.wrapped]:
        key = (str(entry.path), entry.line, entry.name_span.column)
        found.setdefault(key, entry)
    dialects = visitor.dialects()
    if not dialects:
        return Scanned(module, tuple(sorted(found.values(), key=_place)))
    functions = _functions(visitor)
    mentioned = [(other, _named(functions, other)) for other in others]
    own = {visitor.unit(entry.name) for entry in visitor.decorated}
    visitors = [visitor, *(_visited(project, other) for other, names in mentioned if names & own)]
    decorated = {each.unit(entry.name) for each in visitors for entry in each.decorated}
    wrapped = {_unit(entry) for each in visitors for entry in each.wrapped}
    sites = [site for each in visitors for site in each.sites(functions)]
    called = helpers(decorated, wrapped, sites)
    judged_there = [
        Helper(e, called[_unit(e)])
        for e in visitor.decorated
        if not e.nested and e.name not in named and _unit(e) in called
    ]
    entries = [
        e
        for e in found.values()
        if e.nested or e.error or e.name in named or _unit(e) not in called
    ]
    dialect = dialects.pop() if len(dialects) == 1 else ""
    known = {e.name for e in entries}
    asked = {unit: f for unit, f in functions.items() if f.name in named and f.name not in known}
    if dialect:
        entries += [_entry(module, local, dialect, How.NAMED) for local in asked.values()]
    # what another file names may be called there
    elsewhere = {unit for _, names in mentioned for unit in names}
    rest = functions.keys() - reached(decorated | wrapped | elsewhere | asked.keys(), sites)
    unreached = [_entry(module, functions[unit], dialect, How.UNREACHED) for unit in rest]
    device = {site.caller[1] for site in sites if site.device}
    return Scanned(
        module,
        tuple(sorted(entries, key=_place)),
        tuple(sorted(unreached, key=_place)) if dialect else (),
        frozenset(device),
        tuple(sorted(judged_there, key=lambda helper: _place(helper.entry))),
    )


def _named(functions: Iterable[Unit], other: Module) -> set[Unit]:
    """The functions whose names stand in the text of another module."""
    return {unit for unit in functions if unit[1] in other.words}


def kernels(project: Project, module: Module, others: Iterable[Module] = ()) -> list[KernelEntry]:
    """The entry points that ``module`` defines or makes, each once, by place; see :func:`scan`."""
    return list(scan(project, module, others).kernels)


def _visited(project: Project, module: Module) -> _Visitor:
    visitor = _Visitor(project, module)
    visitor.run(module.syntax())
    for definition in module.broken.values():
        visitor.broken(definition)
    return visitor


def _unit(entry: KernelEntry) -> Unit:
    return (str(entry.path), entry.name)


def _functions(visitor: _Visitor) -> dict[Unit, Local]:
    """The top-level functions of a module."""
    return {
        visitor.unit(local.name): local
        for local in visitor.globals.values()
        if isinstance(local, Local) and isinstance(local.node, ast.FunctionDef)
    }


def discover(project: Project, modules: Iterable[Module]) -> list[KernelEntry]:
    """The entry points of all ``modules``, each once, by path and line.

    A function that is decorated in one module and wrapped in another counts as decorated.
    """
    found: dict[tuple[str, int, int], KernelEntry] = {}
    known = {module.file: module for module in modules}
    callers = users(project, known)
    for file, module in known.items():
        for entry in kernels(project, module, [known[user] for user in callers[file]]):
            key = (str(entry.path.absolute()), entry.line, entry.name_span.column)
            if key not in found or (found[key].how is How.WRAPPED and entry.how is How.DECORATOR):
                found[key] = entry
    return sorted(found.values(), key=_place)


def kernel_definition(project: Project, entry: KernelEntry) -> ir.FunctionDef | None:
    """The definition of ``entry`` in IR, nested ones included; ``None`` if it does not parse.

    Raises:
        SourceError: the file cannot be read, or the definition cannot be lowered.
    """
    chain = _chain(project, entry)
    kernel = chain[-1] if chain else None
    return kernel if isinstance(kernel, ir.FunctionDef) else None


@dataclass(frozen=True, slots=True)
class Enclosing:
    """A function around a nested kernel; the first parameter of a ``method`` is an object."""

    definition: ir.FunctionDef
    method: bool


def enclosing_functions(project: Project, entry: KernelEntry) -> tuple[Enclosing, ...]:
    """The functions around a nested kernel, outermost first: it closes over their names.

    Raises:
        SourceError: as ``kernel_definition``.
    """
    chain = _chain(project, entry)
    return tuple(
        Enclosing(outer, method=position > 0 and isinstance(chain[position - 1], ir.ClassDef))
        for position, outer in enumerate(chain[:-1])
        if isinstance(outer, ir.FunctionDef)
    )


def _chain(project: Project, entry: KernelEntry) -> tuple[ir.Stmt, ...]:
    """Definitions from the top level down to the kernel's; empty if it is not found."""
    module = project.module(entry.path)
    wanted = (entry.name_span.line, entry.name_span.column)
    stack: list[tuple[ir.Stmt, tuple[ir.Stmt, ...]]] = [
        (statement, ()) for statement in module.statements_at(entry.line)
    ]
    while stack:
        statement, around = stack.pop()
        if isinstance(statement, (ir.FunctionDef, ir.ClassDef)):
            around = (*around, statement)
            span = statement.name_span
            if isinstance(statement, ir.FunctionDef) and (span.line, span.column) == wanted:
                return around
        below: list[ir.Stmt] = []
        for child in ir.children(statement):
            if isinstance(child, ir.Stmt):
                below.append(child)
            elif isinstance(child, (ir.Handler, ir.MatchCase)):
                below.extend(child.body)
        stack.extend((inner, around) for inner in below)
    return ()


def contract_comments(module: Module) -> dict[str, list[tuple[int, str]]]:
    """``# tilelint: contract ...`` comments in the block right above a function.

    Maps the qualified name of the function to (line, text after ``contract``), in order. One
    comment line is one contract; other comment lines may stand between.
    """
    if "tilelint:" not in module.text:
        return {}
    result: dict[str, list[tuple[int, str]]] = {}
    stack: list[tuple[ast.AST, str]] = [(node, "") for node in reversed(module.syntax())]
    while stack:
        node, prefix = stack.pop()
        below = prefix
        if isinstance(node, (*FUNCTIONS, ast.ClassDef)):
            name = prefix + node.name
            below = name + "."
            if isinstance(node, FUNCTIONS):
                found = _comments_above(module, first_line_of(node), node.lineno)
                if found:
                    result.setdefault(name, []).extend(found)
        children = [child for child in nodes.below(node) if not is_leaf(child)]
        stack.extend((child, below) for child in reversed(children))
    return result


def _comments_above(module: Module, first: int, def_line: int) -> list[tuple[int, str]]:
    begin = first
    while begin > 1 and module.lines[begin - 2].lstrip().startswith("#"):
        begin -= 1
    found = []
    for number in range(begin, def_line):
        match = _CONTRACT.match(module.lines[number - 1].lstrip())
        if match:
            found.append((number, match.group(1)))
    return found


def _place(entry: KernelEntry) -> tuple[str, int, int]:
    return (str(entry.path), entry.line, entry.name_span.column)


@dataclass(frozen=True, slots=True)
class _Wrapper:
    dotted: str
    api: KernelApi
    keywords: Mapping[str, object]


class _Visitor:
    """One walk over a module, with the scopes in which its names mean what they mean."""

    def __init__(self, project: Project, module: Module) -> None:
        self._project = project
        self._module = module
        self._apis = apis.by_package()
        self.decorated: list[KernelEntry] = []
        self.wrapped: list[KernelEntry] = []
        self.globals: Scope = {}
        #: every call, in which unit and scopes
        self._calls: list[tuple[Unit, ast.expr, list[Scope]]] = []

    def run(self, statements: Sequence[ast.stmt]) -> None:
        self.globals = scope_of(statements, "", nested=False)
        for name, binding in self._module.bindings.items():
            if binding.kind.imports:
                self.globals[name] = import_of(binding)
        self._block(statements, "", [self.globals])

    def broken(self, definition: BrokenDefinition) -> None:
        """List a definition whose body does not parse by its decorators."""
        if not definition.is_function:
            return
        wrapper = self._first_wrapper(definition.decorators, [self.globals])
        if wrapper is None:
            return
        line = definition.def_line
        column = definition.column
        span = ir.Span(str(self._module.path), line, column, line, column + len(definition.name))
        self.decorated.append(
            KernelEntry(
                self._module.path,
                definition.name,
                line,
                span,
                wrapper.api.dialect,
                How.DECORATOR,
                wrapper.dotted,
                wrapper.keywords,
                error=definition.error,
            )
        )

    # ----------------------------------------------------------------- walking

    def _block(self, statements: Sequence[ast.stmt], prefix: str, scopes: list[Scope]) -> None:
        work: list[tuple[ast.AST, str, list[Scope]]] = [
            (statement, prefix, scopes) for statement in reversed(statements)
        ]
        while work:
            node, prefix, scopes = work.pop()
            inner_prefix, inner_scopes = prefix, scopes
            if isinstance(node, FUNCTIONS):
                self._function(node, prefix, scopes)
                inner_prefix = f"{prefix}{node.name}."
                own = scope_of(node.body, inner_prefix, nested=True)
                for parameter in parameters(node.args):
                    own.setdefault(parameter, None)
                inner_scopes = [*scopes, own]
                outside = [*node.decorator_list, node.args]
                work.extend((child, inner_prefix, inner_scopes) for child in reversed(node.body))
                work.extend((child, prefix, scopes) for child in reversed(outside))
                continue
            if isinstance(node, ast.ClassDef):
                # Class scopes are invisible to the methods inside; nothing is looked up in them.
                inner_prefix = f"{prefix}{node.name}."
            elif isinstance(node, ast.Call):
                self._calls.append((self.unit(prefix), node.func, scopes))
                self._call(node, scopes)
            children = nodes.below(node)
            work.extend((child, inner_prefix, inner_scopes) for child in reversed(children))

    def _function(
        self,
        node: ast.FunctionDef | ast.AsyncFunctionDef,
        prefix: str,
        scopes: list[Scope],
    ) -> None:
        wrapper = self._first_wrapper(node.decorator_list, scopes)
        if wrapper is not None:
            local = Local(node, prefix + node.name, bool(prefix))
            self.decorated.append(
                _entry(self._module, local, wrapper.api.dialect, How.DECORATOR, wrapper)
            )

    def _first_wrapper(
        self, decorators: Sequence[ast.expr], scopes: list[Scope]
    ) -> _Wrapper | None:
        for decorator in decorators:
            wrapper = self._wrapper(decorator, scopes)
            if wrapper is None and isinstance(decorator, ast.Call):
                # `@kernel(Params)`: the argument is the type of what the kernel is given
                made = self._wrapper(decorator.func, scopes)
                wrapper = made if made is not None and made.api.typed else None
            if wrapper is not None:
                return wrapper
        return None

    def _call(self, node: ast.Call, scopes: list[Scope]) -> None:
        if not node.args or not isinstance(node.args[0], (ast.Name, ast.Attribute)):
            return
        wrapper = self._wrapper(node.func, scopes)
        if wrapper is None:
            return
        if not isinstance(node.func, ast.Call):
            wrapper = _Wrapper(wrapper.dotted, wrapper.api, _literals(node.keywords))
        target = self._target(node.args[0], scopes)
        if target is not None:
            module, local = target
            self.wrapped.append(_entry(module, local, wrapper.api.dialect, How.WRAPPED, wrapper))

    def dialects(self) -> set[str]:
        """The dialects whose packages the module imports."""
        imported = (m for m in self.globals.values() if isinstance(m, Imported))
        roots = [m.module.partition(".")[0] for m in imported if m.level == 0]
        roots += [star.module.partition(".")[0] for star in self._module.star_imports]
        return {self._apis[root].dialect for root in roots if root in self._apis}

    def unit(self, name: str) -> Unit:
        """The unit that a qualified name of the module is in."""
        return (str(self._module.path), name.partition(".")[0])

    def sites(self, wanted: Collection[Unit]) -> Iterator[CallSite]:
        """The calls of kernel APIs, of the module's own functions and of the ``wanted`` ones."""
        names = {name for _, name in wanted}
        for caller, func, scopes in self._calls:
            launched = isinstance(func, ast.Subscript)
            if isinstance(func, ast.Subscript):
                func = func.value
            if not isinstance(func, (ast.Name, ast.Attribute)):
                continue
            dotted = self._dotted(func, scopes)
            if dotted is not None:
                root, last = dotted.partition(".")[0], dotted.rpartition(".")[2]
                api = self._apis[root]
                if root not in api.frameworks and last not in api.wrappers[root]:
                    yield CallSite(caller, None, device=True)
            elif self._may_be(func, scopes, names):
                target = self._target(func, scopes)
                if target is not None:
                    yield CallSite(caller, (str(target[0].path), target[1].name), launched)

    def _may_be(self, func: ast.expr, scopes: list[Scope], names: Collection[str]) -> bool:
        """Whether a call may be of a function of the module or of one with one of the names."""
        if isinstance(func, ast.Attribute):
            return func.attr in names
        assert isinstance(func, ast.Name)
        meaning = meaning_of(func.id, scopes)
        if isinstance(meaning, Imported):
            return meaning.original in names
        return meaning is not None or func.id in names

    # ----------------------------------------------------------------- meaning

    def _wrapper(self, node: ast.expr, scopes: list[Scope], depth: int = 0) -> _Wrapper | None:
        """The wrapper that ``node`` is (``nki.jit``) or makes (``nki.jit(mode=...)``)."""
        keywords: Mapping[str, object] = {}
        if isinstance(node, ast.Call):
            if node.args:  # `nki.jit(f)` is a kernel, not a wrapper
                return None
            keywords = _literals(node.keywords)
            node = node.func
        meaning = meaning_of(node.id, scopes) if isinstance(node, ast.Name) else None
        if isinstance(meaning, Alias) and depth < 8:
            inner = self._wrapper(meaning.value, scopes, depth + 1)
            if inner is None:
                return None
            return _Wrapper(inner.dotted, inner.api, {**inner.keywords, **keywords})
        dotted = self._dotted(node, scopes)
        if dotted is None:
            return None
        root, last = dotted.partition(".")[0], dotted.rpartition(".")[2]
        api = self._apis[root]
        return _Wrapper(dotted, api, keywords) if last in api.wrappers[root] else None

    def _dotted(self, node: ast.expr, scopes: list[Scope]) -> str | None:
        """The path in a known package that an expression leads to, as ``nki.isa.memset``."""
        attributes: list[str] = []
        while isinstance(node, ast.Attribute):
            attributes.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name):
            return None
        attributes.reverse()
        meaning = meaning_of(node.id, scopes)
        if isinstance(meaning, Imported):
            return self._origin(self._module, meaning, attributes)
        if meaning is None and node.id not in self.globals:
            return self._star_origin(node.id, attributes)
        return None

    def _origin(self, module: Module, imported: Imported, attributes: Sequence[str]) -> str | None:
        """The dotted path in a known package that an imported name leads to, else ``None``."""
        for _ in range(32):  # longer chains of re-exports are cycles
            path = imported.module.split(".") if imported.module else []
            if imported.level == 0 and path and path[0] in self._apis:
                tail = [imported.original] if imported.original is not None else []
                return ".".join([*path, *tail, *attributes])
            names = list(attributes)
            if imported.original is not None:
                names.insert(0, imported.original)
            if not names:
                return None
            step = self._project.resolve_from(module, imported.module, imported.level, names[0])
            if step is None:
                return None
            module, name = step
            if name is None:
                if len(names) < 2:
                    return None
                name, attributes = names[1], names[2:]
            else:
                attributes = names[1:]
            binding = module.bindings.get(name)
            if binding is None or not binding.kind.imports:
                return None
            imported = import_of(binding)
        return None

    def _star_origin(self, name: str, attributes: Sequence[str]) -> str | None:
        found = self._project.resolve_name(self._module, name)
        if found is None:
            for star in self._module.star_imports:
                root = star.module.partition(".")[0]
                api = self._apis.get(root)
                if star.level == 0 and api is not None and name in api.wrappers[root]:
                    return ".".join([star.module, name, *attributes])
            return None
        module, inner = found
        binding = None if inner is None else module.bindings.get(inner)
        if binding is None or not binding.kind.imports:
            return None
        return self._origin(module, import_of(binding), attributes)

    def _target(self, node: ast.expr, scopes: list[Scope]) -> tuple[Module, Local] | None:
        """The function that is wrapped, where it is known which one that is."""
        attributes: list[str] = []
        while isinstance(node, ast.Attribute):
            attributes.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name):
            return None
        attributes.reverse()
        meaning = meaning_of(node.id, scopes)
        if isinstance(meaning, Local):
            return None if attributes else (self._module, meaning)
        if isinstance(meaning, Alias) and not attributes and isinstance(meaning.value, ast.Name):
            again = meaning_of(meaning.value.id, scopes)
            return (self._module, again) if isinstance(again, Local) else None
        names = list(attributes)
        if isinstance(meaning, Imported):
            if meaning.original is not None:
                names.insert(0, meaning.original)
            if not names:
                return None
            found = self._project.resolve_from(
                self._module, meaning.module, meaning.level, names.pop(0)
            )
        elif meaning is None and node.id not in self.globals:
            found = self._project.resolve_name(self._module, node.id)
        else:
            return None
        while found is not None and found[1] is None and names:
            found = self._project.resolve_name(found[0], names.pop(0))
        if found is None or names:
            return None
        module, name = found
        if name is None:
            return None
        local = _top_level_function(module, name)
        return None if local is None else (module, local)


def _literals(keywords: Sequence[ast.keyword]) -> dict[str, object]:
    found: dict[str, object] = {}
    for keyword in keywords:
        if keyword.arg is None:
            continue
        try:
            found[keyword.arg] = ast.literal_eval(keyword.value)
        except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
            continue  # not a literal
    return found


def _top_level_function(module: Module, name: str) -> Local | None:
    binding = module.bindings.get(name)
    if binding is None or binding.kind is not BindingKind.FUNCTION or name in module.broken:
        return None
    for statement in module.syntax():
        if not first_line_of(statement) <= binding.line <= last_line_of(statement):
            continue
        for node in nodes.walk(statement):
            if isinstance(node, FUNCTIONS) and (node.name, node.lineno) == (
                name,
                binding.def_line,
            ):
                return Local(node, name, False)
    return None


def _entry(
    module: Module, local: Local, dialect: str, how: How, wrapper: _Wrapper | None = None
) -> KernelEntry:
    return KernelEntry(
        module.path,
        local.name,
        local.node.lineno,
        _name_span(module, local.node),
        dialect,
        how,
        "" if wrapper is None else wrapper.dotted,
        {} if wrapper is None else wrapper.keywords,
        local.nested,
    )


def _name_span(module: Module, node: ast.FunctionDef | ast.AsyncFunctionDef) -> ir.Span:
    """The identifier after ``def``, past white space and continued lines."""
    number = node.lineno
    line = module.lines[number - 1]
    # `ast` counts columns in UTF-8 bytes; before a `def` there is white space or `if x:` only.
    column = len(line.encode("utf-8", "replace")[: node.col_offset].decode("utf-8", "replace"))
    words = ["async", "def"] if isinstance(node, ast.AsyncFunctionDef) else ["def"]
    for word in words:
        column += len(word)
        while True:
            rest = line[column:]
            blank = len(rest) - len(rest.lstrip(" \t\f"))
            column += blank
            if not line.startswith("\\", column) or number >= len(module.lines):
                break
            number += 1
            line, column = module.lines[number - 1], 0
    return ir.Span(str(module.path), number, column, number, column + len(node.name))
