"""Kernel entry points: which functions of a file run on a device, and how that is said."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

from msgspec import Struct

from verifier.source import apis, ir, nodes
from verifier.source.factories import made_at
from verifier.source.helpers import CallSite, Unit, helpers, reached
from verifier.source.imports import users
from verifier.source.meanings import (
    FUNCTIONS,
    Imported,
    Local,
    Scope,
    meaning_of,
    parameters,
    scope_of,
)
from verifier.source.outline import (
    BrokenDefinition,
    first_line_of,
    last_line_of,
)
from verifier.source.project import Module, Project
from verifier.source.sites import Site, column_of, name_span
from verifier.source.starts import Finder, Start
from verifier.source.text import SourceError
from verifier.source.wrappers import Names, Value, Wrapper


class How(Enum):
    """How a text says that a function is a device entry point."""

    DECORATOR = "decorator"
    #: ``nki.jit(f)`` somewhere, also in another file
    WRAPPED = "wrapped"
    #: it does not: somebody asked for the function by its name
    NAMED = "named"
    #: it does not: no kernel calls the function
    UNREACHED = "unreached"
    #: likewise, and it calls no kernel API: it may ask one for names
    HOST = "host"


@dataclass(frozen=True, slots=True)
class KernelEntry:
    """One device entry point.

    ``name`` is qualified: ``kernel``, ``outer.inner``, ``Class.method``. ``line`` is that of the
    ``def``; ``name_span`` covers the identifier. ``wrapper`` is the dotted origin of the decorator
    or wrapper, ``keywords`` its literal keyword arguments. ``nested`` is true for everything that
    is not a top-level function, but for what is made at the top level (``site``). ``error`` is set
    when the body does not parse.
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
    bound: tuple[tuple[str, Value], ...] = ()
    anonymous: bool = False
    #: where it is made, if decorators or calls make something of the function before
    site: Site | None = None


class Scanned(Struct, frozen=True):
    """What a module has for a device.

    ``kernels`` are its entry points, by place; a function of another module on disk that is wrapped
    here (``nki.jit(imported)``) has the path of the module that defines it. What kernels call and
    nobody launches is none, see :mod:`.helpers`. ``unreached`` are the top-level functions that no
    kernel calls, as far as it is seen (of no dialect where the names that they use are all that
    says what they are for), ``inside`` the methods, nested functions and lambdas of which the same
    holds, ``device`` the qualified names of what calls a kernel API, ``helpers`` the decorated ones
    that are no entry points because kernels call them. ``starts`` are the calls in it and in
    ``others`` that start its kernels.
    """

    module: Module
    kernels: tuple[KernelEntry, ...]
    unreached: tuple[KernelEntry, ...] = ()
    inside: tuple[KernelEntry, ...] = ()
    device: frozenset[str] = frozenset()
    helpers: tuple[Helper, ...] = ()
    starts: tuple[Start, ...] = ()

    def starts_of(self, entry: KernelEntry) -> tuple[Start, ...]:
        """The calls that start a kernel."""
        place = (str(entry.path), entry.line)
        return tuple(start for start in self.starts if start.place == place)


class Helper(Struct, frozen=True):
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
    found: dict[tuple[object, ...], KernelEntry] = {}
    visitor = _visited(project, module)
    others = tuple(others)
    for entry in visitor.entries(others):
        found.setdefault((*_place(entry), entry.bound, entry.name), entry)
    dialects = visitor.dialects()
    if not dialects:
        return Scanned(module, tuple(sorted(found.values(), key=_place)), _nearly(visitor))
    functions = _functions(visitor)
    mentioned = [(other, _named(functions, other)) for other in others]
    own = {visitor.unit(entry.name) for entry in visitor.decorated}
    visitors = [visitor, *(_visited(project, other) for other, names in mentioned if names & own)]
    decorated = {each.unit(entry.name) for each in visitors for entry in each.decorated}
    wrapped = {unit for each in visitors for unit in each.made}
    sites = [site for each in visitors for site in each.sites(functions)]
    called = helpers(decorated, wrapped, sites)
    helping = [e for e in visitor.decorated if not e.nested and e.name not in named]
    judged_there = [Helper(e, callers) for e in helping if (callers := called.get(_unit(e)))]
    idle = [unit for e in helping if (unit := _unit(e)) in called and not called[unit]]
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
    come_to = reached(decorated | wrapped | elsewhere | asked.keys(), sites)
    rest = (functions.keys() - come_to).union(idle)
    unreached = [_entry(module, functions[unit], dialect, How.UNREACHED) for unit in rest]
    device = {name for site in sites if site.device for name in (site.caller[1], site.within)}
    known |= {e.name for e in found.values()}
    inside = [e for e in visitor.inside(dialect, come_to, others) if e.name not in known]
    return Scanned(
        module,
        tuple(sorted(entries, key=_place)),
        tuple(sorted(unreached, key=_place)) if dialect else (),
        tuple(sorted(inside, key=_place)) if dialect else (),
        frozenset(device),
        tuple(sorted(judged_there, key=lambda helper: _place(helper.entry))),
        _starts(visitors, entries, wrapped, sites),
    )


def _starts(
    visitors: Sequence[_Visitor],
    kernels: Iterable[KernelEntry],
    wrapped: Iterable[Unit],
    sites: Iterable[CallSite],
) -> tuple[Start, ...]:
    """The calls in some modules that start ``kernels``."""
    names = {entry.name.rpartition(".")[2] for entry in kernels if not entry.error}
    decorated = {(str(e.path), e.line) for each in visitors for e in each.decorated}
    device: dict[str, set[str]] = {}
    for file, name in wrapped:
        device.setdefault(file, set()).add(name)
    for each in visitors:
        device.setdefault(str(each.module.path), set()).update(e.name for e in each.decorated)
    for site in sites:
        if site.device:
            device.setdefault(site.caller[0], set()).add(site.within)
    return tuple(
        start
        for each in visitors
        for start in each.starts(names, decorated, device[str(each.module.path)])
    )


def _nearly(visitor: _Visitor) -> tuple[KernelEntry, ...]:
    """The functions of a module without kernel APIs that use one by a name that nothing binds."""
    module = visitor.module
    missing = (apis.shorthands().keys() & module.words) - module.bindings.keys()
    if not missing or module.star_imports:
        return ()
    return tuple(
        _entry(module, local, "", How.UNREACHED)
        for _, local in sorted(_functions(visitor).items())
        if any(isinstance(n, ast.Name) and n.id in missing for n in nodes.walk(local.node))
    )


def _said(statements: Iterable[ast.stmt]) -> set[str]:
    """The names and attributes that a text reads, and its strings."""
    found: set[str] = set()
    for node in (each for statement in statements for each in nodes.walk(statement)):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            found.add(node.id)
        elif isinstance(node, ast.Attribute):
            found.add(node.attr)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found.add(node.value)
    return found


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
    found: dict[tuple[object, ...], KernelEntry] = {}
    known = {module.file: module for module in modules}
    callers = users(project, known)
    for file, module in known.items():
        for entry in kernels(project, module, [known[user] for user in callers[file]]):
            key = (
                str(entry.path.absolute()),
                entry.line,
                entry.name_span.column,
                entry.bound,
                entry.name,
            )
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


class Enclosing(Struct, frozen=True):
    """A function around a nested kernel; the first parameter of a ``method`` is an object."""

    definition: ir.FunctionDef
    method: bool


def enclosing_functions(project: Project, entry: KernelEntry) -> tuple[Enclosing, ...]:
    """The functions around a nested kernel, outermost first: it closes over their names.

    Raises:
        SourceError: as ``kernel_definition``.
    """
    if entry.site is None:
        chain = _chain(project, entry)
    elif entry.site.around is None:
        chain = ()
    else:
        line, column = entry.site.around
        span = ir.Span(entry.site.path, line, column, line, column)
        path = Path(entry.site.path)
        outer = dataclasses.replace(entry, path=path, line=line, name_span=span, anonymous=False)
        around = _chain(project, outer)
        chain = (*around, around[-1]) if around else ()
    return tuple(
        Enclosing(outer, method=position > 0 and isinstance(chain[position - 1], ir.ClassDef))
        for position, outer in enumerate(chain[:-1])
        if isinstance(outer, ir.FunctionDef)
    )


def _chain(project: Project, entry: KernelEntry) -> tuple[ir.Stmt, ...]:
    """Definitions from the top level down to the kernel's; empty if it is not found."""
    module = project.module(entry.path)
    wanted = (entry.name_span.line, entry.name_span.column)
    stack: list[tuple[ir.Node, tuple[ir.Stmt, ...]]] = [
        (statement, ()) for statement in module.statements_at(entry.line)
    ]
    while stack:
        node, around = stack.pop()
        if isinstance(node, (ir.FunctionDef, ir.ClassDef)):
            around = (*around, node)
            span = node.name_span
            if isinstance(node, ir.FunctionDef) and (span.line, span.column) == wanted:
                return around
        elif isinstance(node, ir.LambdaExpr) and (node.span.line, node.span.column) == wanted:
            return (*around, _named_lambda(entry, node))
        below: list[ir.Node] = []
        for child in ir.children(node):
            if isinstance(child, ir.Stmt) or entry.anonymous:
                below.append(child)
            elif isinstance(child, (ir.Handler, ir.MatchCase)):
                below.extend(child.body)
        stack.extend((inner, around) for inner in below)
    return ()


def _named_lambda(entry: KernelEntry, node: ir.LambdaExpr) -> ir.FunctionDef:
    """The function with the name of the entry that does what a lambda does."""
    name = entry.name.rpartition(".")[2]
    block = ir.Block.of((ir.Return(node.body.span, node.body),))
    return ir.FunctionDef(
        node.span, name, node.params, block, (), entry.name_span, is_generator=node.is_generator
    )


def _place(entry: KernelEntry) -> tuple[str, int, int]:
    return (str(entry.path), entry.line, entry.name_span.column)


class _Visitor:
    """One walk over a module, with the scopes in which its names mean what they mean."""

    def __init__(self, project: Project, module: Module) -> None:
        self.module = module
        self._apis = apis.by_package()
        self._names = Names.of(project, module)
        self.globals = self._names.globals
        self.decorated: list[KernelEntry] = []
        self.wrapped: list[KernelEntry] = []
        #: the functions that are wrapped
        self.made: set[Unit] = set()
        #: the lines of functions of the module that wrap what they are given, and are used
        self._wrapping: set[int] = set()
        #: what calls are given as a name, by the calls
        self._assigned: dict[ast.AST, str] = {}
        #: every call, in which function and scopes
        self._calls: list[tuple[str, ast.Call, list[Scope]]] = []
        #: functions and classes, by qualified name
        self._defined: dict[str, list[ast.AST]] = {}
        #: methods, nested functions and lambdas, in which function or class
        self._inside: list[tuple[ast.FunctionDef | ast.Lambda, str]] = []

    def run(self, statements: Sequence[ast.stmt]) -> None:
        self._block(statements, "", [self.globals])
        # in a function that wraps what it is given there is no kernel but those that it makes
        self.wrapped = [
            entry
            for entry in self.wrapped
            if entry.site is None
            or entry.site.around is None
            or entry.site.around[0] not in self._wrapping
        ]

    def entries(self, others: Sequence[Module]) -> list[KernelEntry]:
        """The entry points, those that functions of the module make each by itself; ``others``
        may call such a function otherwise."""
        every = [*self.decorated, *self.wrapped]
        by_name = {entry.name: entry for entry in every}
        made = made_at(self._names, [e.name for e in every], self._calls, self._assigned)
        settled = {name for name in made.settled if not any(name in o.words for o in others)}
        return [
            *(
                dataclasses.replace(by_name[kernel], name=name, site=site, nested=False, bound=())
                for kernel, name, site in made.calls
            ),
            *(entry for entry in every if entry.name.partition(".")[0] not in settled),
        ]

    def broken(self, definition: BrokenDefinition) -> None:
        """List a definition whose body does not parse by its decorators."""
        if not definition.is_function:
            return
        wrapper = self._first_wrapper(definition.decorators, [self.globals])
        if wrapper is None:
            return
        line = definition.def_line
        column = definition.column
        span = ir.Span(str(self.module.path), line, column, line, column + len(definition.name))
        self.decorated.append(
            KernelEntry(
                self.module.path,
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
                self._defined.setdefault(prefix + node.name, []).append(node)
            elif isinstance(node, ast.Lambda):
                self._inside.append((node, prefix))
            elif isinstance(node, ast.Call):
                self._calls.append((prefix, node, scopes))
                self._call(node, prefix, scopes)
            elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                self._assigned[node.value] = node.targets[0].id
            children = nodes.below(node)
            work.extend((child, inner_prefix, inner_scopes) for child in reversed(children))

    def _function(
        self,
        node: ast.FunctionDef | ast.AsyncFunctionDef,
        prefix: str,
        scopes: list[Scope],
    ) -> None:
        wrapper = self._first_wrapper(node.decorator_list, scopes)
        self._defined.setdefault(prefix + node.name, []).append(node)
        if prefix and isinstance(node, ast.FunctionDef):
            self._inside.append((node, prefix))
        if wrapper is not None:
            local = Local(node, prefix + node.name, bool(prefix))
            entry = _entry(self.module, local, wrapper.api.dialect, How.DECORATOR, wrapper)
            site = self._decorated_at(node.decorator_list, prefix, scopes)
            self.decorated.append(dataclasses.replace(entry, site=site))

    def _decorated_at(
        self, decorators: Sequence[ast.expr], prefix: str, scopes: list[Scope]
    ) -> Site | None:
        """The decorator that makes a kernel of what those below it make."""
        wrappers = [self._wrapper_of(each, scopes) for each in decorators]
        first = next(k for k, wrapper in enumerate(wrappers) if wrapper is not None)
        changing = [
            decorator
            for decorator, wrapper in zip(decorators[first:], wrappers[first:], strict=True)
            if (self._names.changes(decorator, scopes) if wrapper is None else wrapper.changes)
        ]
        if not changing:
            return None
        self._wraps(decorators[first], scopes)
        text = " and ".join(f"`@{ast.unparse(each)}`" for each in changing)
        return self._site(decorators[first], text, prefix)

    def _wraps(self, node: ast.expr, scopes: list[Scope]) -> None:
        found = self._names.function(node.func if isinstance(node, ast.Call) else node, scopes)
        if found is not None and found[0] is self.module:
            self._wrapping.add(found[1].node.lineno)

    def _site(self, node: ast.expr, text: str, prefix: str) -> Site:
        around = None
        name = prefix[:-1]
        while name and around is None:
            for each in self._defined.get(name, ()):
                if isinstance(each, FUNCTIONS):
                    if first_line_of(each) <= node.lineno <= last_line_of(each):
                        span = name_span(self.module, each)
                        around = (span.line, span.column)
            name = name.rpartition(".")[0]
        column = column_of(self.module, node)
        return Site(str(self.module.path), node.lineno, column, text, around)

    def _first_wrapper(self, decorators: Sequence[ast.expr], scopes: list[Scope]) -> Wrapper | None:
        found = (self._wrapper_of(decorator, scopes) for decorator in decorators)
        return next((wrapper for wrapper in found if wrapper is not None), None)

    def _wrapper_of(self, decorator: ast.expr, scopes: list[Scope]) -> Wrapper | None:
        wrapper = self._names.wrapper(decorator, scopes)
        if wrapper is None and isinstance(decorator, ast.Call):
            # `@kernel(Params)`: the argument is the type of what the kernel is given
            made = self._names.wrapper(decorator.func, scopes)
            wrapper = made if made is not None and made.api.typed else None
        return wrapper

    def _call(self, node: ast.Call, prefix: str, scopes: list[Scope]) -> None:
        for wrapper, given in self._names.launched(node, scopes):
            target = self._names.target(given, scopes)
            if target is None:
                continue
            if isinstance(target.function, ast.Lambda):
                name = self._assigned.get(node) or self._assigned.get(target.function)
                entry = _lambda_entry(
                    self.module,
                    target.function,
                    prefix,
                    name,
                    wrapper.api.dialect,
                    How.WRAPPED,
                    wrapper,
                )
            else:
                local, dialect = target.function, wrapper.api.dialect
                entry = _entry(target.module, local, dialect, How.WRAPPED, wrapper)
            self.made.add(_unit(entry))
            if target.bound:
                entry = dataclasses.replace(entry, bound=target.bound)
            if wrapper.changes or target.changed:
                self._wraps(node, scopes)
                said = {n.id for n in nodes.walk(node) if isinstance(n, ast.Name)}
                free = not any(said & scope.keys() for scope in scopes[1:])
                site = self._site(node, f"`{ast.unparse(node)}`", "" if free else prefix)
                name = self._assigned.get(node) or entry.name.rpartition(".")[2]
                entry = dataclasses.replace(
                    entry, site=site, name=prefix + name, nested=site.around is not None, bound=()
                )
            self.wrapped.append(entry)

    def dialects(self) -> set[str]:
        """The dialects whose packages the module imports."""
        imported = (m for m in self.globals.values() if isinstance(m, Imported))
        roots = [m.module.partition(".")[0] for m in imported if m.level == 0]
        roots += [star.module.partition(".")[0] for star in self.module.star_imports]
        return {self._apis[root].dialect for root in roots if root in self._apis}

    def unit(self, name: str) -> Unit:
        """The unit that a qualified name of the module is in."""
        return (str(self.module.path), name.partition(".")[0])

    def sites(self, wanted: Collection[Unit]) -> Iterator[CallSite]:
        """The calls of kernel APIs, of the module's own functions and of the ``wanted`` ones."""
        names = {name for _, name in wanted}
        for prefix, call, scopes in self._calls:
            func, caller = call.func, self.unit(prefix)
            launched = isinstance(func, ast.Subscript)
            if isinstance(func, ast.Subscript):
                func = func.value
            if not isinstance(func, (ast.Name, ast.Attribute)):
                continue
            dotted = self._names.dotted(func, scopes)
            if dotted is not None:
                root, last = dotted.partition(".")[0], dotted.rpartition(".")[2]
                api = self._apis[root]
                if root not in api.frameworks and last not in api.wrappers[root]:
                    yield CallSite(caller, None, device=True, within=prefix[:-1])
            elif self._may_be(func, scopes, names):
                target = self._names.function(func, scopes)
                if target is not None:
                    yield CallSite(caller, (str(target[0].path), target[1].name), launched)

    def starts(
        self,
        kernels: Collection[str],
        decorated: Collection[tuple[str, int]],
        device: Collection[str],
    ) -> Iterator[Start]:
        """The calls that start ``kernels``; ``device``: functions that run on a device."""
        finder = Finder(self._names, self._defined, self._assigned, kernels, decorated)
        return finder.starts(self._calls if kernels else (), device)

    def inside(
        self, dialect: str, come_to: Collection[Unit], others: Iterable[Module]
    ) -> Iterator[KernelEntry]:
        """The methods, nested functions and lambdas that no kernel comes to: those inside of what
        it does not come to, and those whose name nothing says.

        Calls lead to functions only; a class or a lambda is come to where its name is said.
        """
        said: set[str] = set()
        for node, prefix in self._inside:
            said = said or _said(self.module.syntax()).union(*(other.words for other in others))
            around = prefix.partition(".")[0]
            name = self._assigned.get(node) if isinstance(node, ast.Lambda) else node.name
            if isinstance(self.globals.get(around), Local):
                used = self.unit(prefix) in come_to
            else:
                used = not around or around in said
            if used and (name is None or name in said or name.startswith("__")):
                continue
            if isinstance(node, ast.Lambda):
                yield _lambda_entry(self.module, node, prefix, name, dialect, How.UNREACHED)
            else:
                local = Local(node, prefix + node.name, True)
                yield _entry(self.module, local, dialect, How.UNREACHED)

    def _may_be(self, func: ast.expr, scopes: list[Scope], names: Collection[str]) -> bool:
        """Whether a call may be of a function of the module or of one with one of the names."""
        if isinstance(func, ast.Attribute):
            return func.attr in names
        assert isinstance(func, ast.Name)
        meaning = meaning_of(func.id, scopes)
        if isinstance(meaning, Imported):
            return meaning.original in names
        return meaning is not None or func.id in names


def _entry(
    module: Module, local: Local, dialect: str, how: How, wrapper: Wrapper | None = None
) -> KernelEntry:
    return KernelEntry(
        module.path,
        local.name,
        local.node.lineno,
        name_span(module, local.node),
        dialect,
        how,
        "" if wrapper is None else wrapper.dotted,
        {} if wrapper is None else wrapper.keywords,
        local.nested,
    )


def _lambda_entry(
    module: Module,
    node: ast.Lambda,
    prefix: str,
    name: str | None,
    dialect: str,
    how: How,
    wrapper: Wrapper | None = None,
) -> KernelEntry:
    """A lambda goes by the name that it, or what is made of it, is assigned to."""
    column = column_of(module, node)
    span = ir.Span(str(module.path), node.lineno, column, node.lineno, column + len("lambda"))
    return KernelEntry(
        module.path,
        prefix + (name or "<lambda>"),
        node.lineno,
        span,
        dialect,
        how,
        "" if wrapper is None else wrapper.dotted,
        {} if wrapper is None else wrapper.keywords,
        nested=bool(prefix),
        anonymous=True,
    )
