"""What makes a function an entry point: the wrappers of kernel APIs, and what they are given.

A wrapper is ``nki.jit``, a call of it without a function (``nki.jit(mode=...)``), another name for
one, or a function of the project that wraps what it is given. It is given a function by its name, a
``functools.partial`` of one, or a lambda.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final, TypeAlias

from msgspec import Struct, field

from verifier.source import apis, fragments, nodes
from verifier.source.apis import KernelApi
from verifier.source.meanings import (
    FUNCTIONS,
    Alias,
    Imported,
    Local,
    Meaning,
    Scope,
    import_of,
    meaning_of,
    parameters,
    scope_of,
)
from verifier.source.outline import BindingKind, first_line_of, last_line_of
from verifier.source.project import Module, Project
from verifier.source.stars import api_imports
from verifier.source.text import SourceError

#: names that stand for names that stand for wrappers
_DEPTH: Final = 8


class Wrapper(Struct, frozen=True):
    """What makes entry points: its dotted origin and its literal keyword arguments.

    ``changes``: it makes something else of what it is given first.
    """

    dotted: str
    api: KernelApi
    keywords: Mapping[str, object]
    changes: bool = False


class Named(Struct, frozen=True):
    """A value by its name at the top level of the module."""

    path: tuple[str, ...]


#: an argument that is known before the kernel is launched
Value: TypeAlias = "int | float | str | bool | Named | None"


class Target(Struct, frozen=True):
    """What a wrapper is given: a function, or a lambda, with arguments that are ``bound``.

    An argument that is bound to what the text does not say is not among them. ``changed``: it is
    given what a decorator or another function of the project makes of it.
    """

    module: Module
    function: Local | ast.Lambda
    bound: tuple[tuple[str, Value], ...] = ()
    changed: bool = False


class Names(Struct):
    """What the names of a module mean for its kernels."""

    project: Project
    module: Module
    globals: Scope = field(default_factory=dict)
    _apis: Mapping[str, KernelApi] = field(default_factory=apis.by_package)
    #: functions of the module that have been looked through
    _seen: dict[ast.AST, dict[str, Wrapper]] = field(default_factory=dict)
    #: the names of other modules of the project, by file
    _others: dict[str, Names] = field(default_factory=dict)

    @staticmethod
    def of(project: Project, module: Module) -> Names:
        """Those of the module's top level."""
        made = Names(project, module, scope_of(module.syntax(), "", nested=False))
        for name, binding in (*module.bindings.items(), *api_imports(project, module).items()):
            if binding.kind.imports:
                made.globals[name] = import_of(binding)
        for name, path in fragments.implied(
            module.bindings, module.star_imports, module.syntax()
        ).items():
            made.globals[name] = Imported(path, 0, None)
        return made

    def _of_other(self, module: Module) -> Names:
        known = self._others.get(module.file)
        if known is None:
            known = self._others[module.file] = Names.of(self.project, module)
            known._others = self._others
        return known

    # ----------------------------------------------------------------- wrappers

    def wrapper(self, node: ast.expr, scopes: list[Scope], depth: int = 0) -> Wrapper | None:
        """The wrapper that ``node`` is (``nki.jit``) or makes (``nki.jit(mode=...)``)."""
        keywords: Mapping[str, object] = {}
        if isinstance(node, ast.Call):
            if self._is_partial(node, scopes) and node.args:
                inner = self.wrapper(node.args[0], scopes, depth + 1) if depth < _DEPTH else None
                return None if inner is None else _with(inner, literals(node.keywords))
            own = self._made_by(node, scopes, depth)
            if own is not None:
                return own
            if node.args:  # `nki.jit(f)` is a kernel, not a wrapper
                return None
            keywords = literals(node.keywords)
            node = node.func
        meaning = meaning_of(node.id, scopes) if isinstance(node, ast.Name) else None
        if isinstance(meaning, Alias) and depth < _DEPTH:
            inner = self.wrapper(meaning.value, scopes, depth + 1)
            return None if inner is None else _with(inner, keywords)
        dotted = self.dotted(node, scopes)
        if dotted is None:
            if keywords or depth >= _DEPTH or not isinstance(meaning, (Local, Imported)):
                return None
            return self._of_function(meaning, scopes, depth)
        root, last = dotted.partition(".")[0], dotted.rpartition(".")[2]
        api = self._apis[root]
        return Wrapper(dotted, api, keywords) if last in api.wrappers[root] else None

    def launched(self, node: ast.Call, scopes: list[Scope]) -> Iterator[tuple[Wrapper, ast.expr]]:
        """What a call wraps: its first argument, or those that a function of the project wraps."""
        given = [a for a in (*node.args, *(k.value for k in node.keywords)) if _may_be_given(a)]
        if not given:
            return
        if node.args and _may_be_given(node.args[0]):
            wrapper = self.wrapper(node.func, scopes)
            if wrapper is not None:
                if not isinstance(node.func, ast.Call):
                    wrapper = _with(wrapper, literals(node.keywords))
                yield wrapper, node.args[0]
                return
        found = self._local(node.func, scopes, _DEPTH)
        if found is None:
            return
        names, function, around = found
        wrapped = names._wrapped(function, around)
        for name, argument in _bound_to(function.node.args, node):
            if name in wrapped and _may_be_given(argument):
                yield wrapped[name], argument

    def _of_function(self, meaning: Meaning, scopes: list[Scope], depth: int) -> Wrapper | None:
        """The wrapper that a function of the project is: it wraps its first argument."""
        if isinstance(meaning, Imported):
            return self._elsewhere(meaning, depth)
        assert isinstance(meaning, Local)
        first = next(iter(parameters(meaning.node.args)), None)
        return self._wrapped(meaning, scopes).get(first) if first is not None else None

    def _elsewhere(self, imported: Imported, depth: int) -> Wrapper | None:
        """The wrapper that another module of the project has made or defines."""
        found = self._resolved(imported)
        if found is None:
            return None
        names, name = found
        there = names.globals.get(name)
        if isinstance(there, (Alias, Local)):
            return names.wrapper(ast.Name(name), [names.globals], depth + 1)
        return None

    def _resolved(self, imported: Imported) -> tuple[Names, str] | None:
        """Where a name that is imported from the project is defined."""
        names: Names = self
        for _ in range(_DEPTH):
            root = imported.module.partition(".")[0]
            if imported.original is None or (imported.level == 0 and root in self._apis):
                return None
            try:
                step = self.project.resolve_from(
                    names.module, imported.module, imported.level, imported.original
                )
            except SourceError:
                return None
            if step is None or step[1] is None:
                return None
            bound = step[0].all_bindings(step[1])
            may_wrap = self._may_wrap(step[0])
            if bound and not may_wrap and not any(binding.kind.imports for binding in bound):
                return None
            names = self._of_other(step[0])
            there = names.globals.get(step[1])
            if not isinstance(there, Imported):
                return (names, step[1]) if may_wrap else None
            imported = there
        return None

    def _may_wrap(self, module: Module) -> bool:
        """Whether the text of a module has the word for a wrapper at all."""
        words = module.words
        return any(word in words for api in self._apis.values() for word in _words(api))

    def _made_by(self, node: ast.Call, scopes: list[Scope], depth: int) -> Wrapper | None:
        """The wrapper that a function of the project returns: ``@kernel(mode="x")``."""
        for names, returned, inside in self.returned_by(node, scopes, depth):
            made = names.wrapper(returned, inside, depth + 1)
            if made is not None:
                return made
        return None

    def returned_by(
        self, node: ast.Call, scopes: list[Scope], depth: int
    ) -> Iterator[tuple[Names, ast.expr, list[Scope]]]:
        """What a function of the project that is called returns, with what is known there."""
        found = self._local(node.func, scopes, depth)
        if found is not None:
            names, function, around = found
            inside = [*around, names._own(function)]
            yield from ((names, returned, inside) for returned in _returned(function.node))

    def _local(
        self, func: ast.expr, scopes: list[Scope], depth: int
    ) -> tuple[Names, Local, list[Scope]] | None:
        """The function of the project that is called, where that is told by a plain name."""
        if not isinstance(func, ast.Name) or depth > _DEPTH:
            return None
        meaning = meaning_of(func.id, scopes)
        if isinstance(meaning, Local) and not isinstance(meaning.node, ast.AsyncFunctionDef):
            return self, meaning, scopes
        if isinstance(meaning, Imported):
            found = self._resolved(meaning)
            there = found[0].globals.get(found[1]) if found is not None else None
            if found is not None and isinstance(there, Local):
                return found[0], there, [found[0].globals]
        return None

    def _own(self, function: Local) -> Scope:
        own = scope_of(function.node.body, f"{function.name}.", nested=True)
        for parameter in parameters(function.node.args):
            own[parameter] = None
        return own

    def _wrapped(self, function: Local, scopes: list[Scope]) -> Mapping[str, Wrapper]:
        """The parameters of a function that it wraps, itself or in what it defines."""
        known = self._seen.get(function.node)
        if known is not None:
            return known
        found: dict[str, Wrapper] = {}
        self._seen[function.node] = found  # one that calls itself wraps nothing by that
        own = scope_of(function.node.body, "", nested=True)
        of = {name: name for name in parameters(function.node.args)}
        inside = [*scopes, self._own(function)]
        everything = [n for statement in function.node.body for n in nodes.walk(statement)]
        for node in everything:
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                made = _made_of(node.value, of)
                if made is None:
                    of.pop(node.targets[0].id, None)
                else:
                    of[node.targets[0].id] = of[made]
        for call in everything:
            name = _made_of(call.args[0], of) if isinstance(call, ast.Call) and call.args else None
            if name is None:
                continue
            assert isinstance(call, ast.Call)
            wrapper = self.wrapper(call.func, inside, 1)
            if wrapper is not None:
                given = call.args[0]
                while isinstance(given, ast.Call) and given.args:
                    if self.wrapper(given.func, inside, 1) is None:
                        break
                    given = given.args[0]
                changes = wrapper.changes or name in own or not isinstance(given, ast.Name)
                wrapper = _with(wrapper, literals(call.keywords), changes)
                found.setdefault(of[name], wrapper)
        return found

    # ----------------------------------------------------------------- origins

    def dotted(self, node: ast.expr, scopes: list[Scope]) -> str | None:
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
            return self._origin(self.module, meaning, attributes)
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
            step = self.project.resolve_from(module, imported.module, imported.level, names[0])
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
        found = self.project.resolve_name(self.module, name)
        if found is None:
            for star in self.module.star_imports:
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

    # ----------------------------------------------------------------- targets

    def target(self, node: ast.expr, scopes: list[Scope], depth: int = 0) -> Target | None:
        """What is wrapped, where it is known what that is."""
        if isinstance(node, ast.Lambda):
            return Target(self.module, node)
        if isinstance(node, ast.Call):
            if self._is_partial(node, scopes):
                return self._partial(node, scopes, depth)
            return self._changed(node, scopes, depth)
        if isinstance(node, ast.Name) and depth < _DEPTH:
            meaning = meaning_of(node.id, scopes)
            if isinstance(meaning, Alias) and isinstance(
                meaning.value, (ast.Name, ast.Lambda, ast.Call)
            ):
                return self.target(meaning.value, scopes, depth + 1)
        found = self.function(node, scopes)
        if found is None:
            return None
        names, inside = self._there(found[0], scopes)
        decorators = found[1].node.decorator_list
        return Target(*found, changed=any(names.changes(each, inside) for each in decorators))

    def _there(self, module: Module, scopes: list[Scope]) -> tuple[Names, list[Scope]]:
        """What names mean where a function is defined that ``function`` has found."""
        if module is self.module:
            return self, scopes
        names = self._of_other(module)
        return names, [names.globals]

    def changes(self, decorator: ast.expr, scopes: list[Scope]) -> bool:
        """Whether a decorator makes something else of a function than a kernel.

        Those of kernel APIs do not.
        """
        wrapper = self.wrapper(decorator, scopes)
        if wrapper is not None:
            return wrapper.changes
        made = decorator.func if isinstance(decorator, ast.Call) else decorator
        return self.dotted(made, scopes) is None

    def _launches(self, node: ast.expr, scopes: list[Scope], depth: int) -> bool:
        """Whether an expression is a kernel already, and no longer the function of one."""
        if isinstance(node, ast.Name) and depth < _DEPTH:
            meaning = meaning_of(node.id, scopes)
            if isinstance(meaning, Alias):
                return self._launches(meaning.value, scopes, depth + 1)
        if isinstance(node, (ast.Name, ast.Attribute)):
            found = self.function(node, scopes)
            if found is None:
                return False
            names, inside = self._there(found[0], scopes)
            decorators = found[1].node.decorator_list
            return any(names.wrapper(each, inside) is not None for each in decorators)
        return isinstance(node, ast.Call) and next(self.launched(node, scopes), None) is not None

    def _changed(self, node: ast.Call, scopes: list[Scope], depth: int) -> Target | None:
        """The function that a call makes something of, or that it makes."""
        given = (*node.args, *(keyword.value for keyword in node.keywords))
        if depth > _DEPTH or any(self._launches(each, scopes, depth) for each in (node, *given)):
            return None
        for argument in given:
            if isinstance(argument, (ast.Name, ast.Attribute, ast.Lambda, ast.Call)):
                found = self.target(argument, scopes, depth + 1)
                if found is not None:
                    return Target(found.module, found.function, changed=True)
        for names, returned, inside in self.returned_by(node, scopes, depth):
            if isinstance(returned, ast.Lambda) or (
                isinstance(returned, ast.Name) and returned.id in inside[-1]
            ):
                made = names.target(returned, inside, depth + 1)
                if made is not None:
                    return Target(made.module, made.function, changed=True)
        return None

    def bound_before(self, node: ast.Call, scopes: list[Scope]) -> tuple[ast.expr, ...]:
        """The function that ``functools.partial`` is given, and what it binds; else nothing."""
        if not node.args or not self._is_partial(node, scopes):
            return ()
        return (*node.args, *(keyword.value for keyword in node.keywords))

    def _partial(self, node: ast.Call, scopes: list[Scope], depth: int) -> Target | None:
        """A function some of whose arguments are bound already."""
        if depth > _DEPTH or not self.bound_before(node, scopes):
            return None
        inner = self.target(node.args[0], scopes, depth + 1)
        if inner is None:
            return None
        known = dict(inner.bound)
        rest = ast.Call(node.func, node.args[1:], node.keywords)
        own = inner.module is self.module
        local = inner.function
        arguments = local.args if isinstance(local, ast.Lambda) else local.node.args
        for name, argument in _bound_to(arguments, rest):
            told = self._value(argument, scopes) if own else _literal(argument)
            if told:
                known[name] = told[0]
        return Target(inner.module, inner.function, tuple(sorted(known.items())), inner.changed)

    def _is_partial(self, node: ast.Call, scopes: list[Scope]) -> bool:
        """Whether ``functools.partial`` is called."""
        func = node.func
        if isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name):
            meaning = meaning_of(func.value.id, scopes)
            return func.attr == "partial" and meaning == Imported("functools", 0, None)
        if isinstance(func, ast.Name):
            return meaning_of(func.id, scopes) == Imported("functools", 0, "partial")
        return False

    def _value(self, node: ast.expr, scopes: list[Scope]) -> tuple[Value] | tuple[()]:
        """What an argument is, if the text says it: empty otherwise."""
        path: list[str] = []
        inner = node
        while isinstance(inner, ast.Attribute):
            path.insert(0, inner.attr)
            inner = inner.value
        if isinstance(inner, ast.Name):
            hidden = any(inner.id in scope for scope in scopes[1:])
            known = inner.id in self.module.bindings
            return (Named((inner.id, *path)),) if known and not hidden else ()
        return _literal(node)

    def function(self, node: ast.expr, scopes: list[Scope]) -> tuple[Module, Local] | None:
        """The function that a name leads to, where it is known which one that is."""
        attributes: list[str] = []
        while isinstance(node, ast.Attribute):
            attributes.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name):
            return None
        attributes.reverse()
        meaning = meaning_of(node.id, scopes)
        if isinstance(meaning, Local):
            return None if attributes else (self.module, meaning)
        if isinstance(meaning, Alias) and not attributes and isinstance(meaning.value, ast.Name):
            again = meaning_of(meaning.value.id, scopes)
            return (self.module, again) if isinstance(again, Local) else None
        names = list(attributes)
        if isinstance(meaning, Imported):
            if meaning.original is not None:
                names.insert(0, meaning.original)
            if not names:
                return None
            found = self.project.resolve_from(
                self.module, meaning.module, meaning.level, names.pop(0)
            )
        elif meaning is None and node.id not in self.globals:
            found = self.project.resolve_name(self.module, node.id)
        else:
            return None
        while found is not None and found[1] is None and names:
            found = self.project.resolve_name(found[0], names.pop(0))
        if found is None or names:
            return None
        module, name = found
        if name is None:
            return None
        local = _top_level_function(module, name)
        return None if local is None else (module, local)


def _words(api: KernelApi) -> frozenset[str]:
    return frozenset().union(*api.wrappers.values())


def literals(keywords: Sequence[ast.keyword]) -> dict[str, object]:
    """The keyword arguments that are literals."""
    found: dict[str, object] = {}
    for keyword in keywords:
        if keyword.arg is None:
            continue
        try:
            found[keyword.arg] = ast.literal_eval(keyword.value)
        except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
            continue  # not a literal
    return found


def _literal(node: ast.expr) -> tuple[Value] | tuple[()]:
    found = literals([ast.keyword("value", node)])
    value = found.get("value", ...)
    return (value,) if value is None or isinstance(value, (int, float, str)) else ()


def _with(wrapper: Wrapper, keywords: Mapping[str, object], changes: bool = False) -> Wrapper:
    keywords = {**wrapper.keywords, **keywords}
    return Wrapper(wrapper.dotted, wrapper.api, keywords, changes or wrapper.changes)


def _made_of(node: ast.expr, names: Collection[str]) -> str | None:
    """One of the names, if an expression is it or a call that is given it."""
    if isinstance(node, ast.Name):
        return node.id if node.id in names else None
    if not isinstance(node, ast.Call):
        return None
    given = (*node.args, *(keyword.value for keyword in node.keywords))
    return next((found for each in given if (found := _made_of(each, names))), None)


def _may_be_given(node: ast.expr) -> bool:
    """Whether an argument has the form of something that can be wrapped."""
    return isinstance(node, (ast.Name, ast.Attribute, ast.Lambda)) or (
        isinstance(node, ast.Call) and bool(node.args)
    )


def _bound_to(arguments: ast.arguments, call: ast.Call) -> Iterator[tuple[str, ast.expr]]:
    """What the parameters are given by a call, as far as that is told by its text."""
    positional = [a.arg for a in (*arguments.posonlyargs, *arguments.args)]
    for name, argument in zip(positional, call.args, strict=False):
        if isinstance(argument, ast.Starred):
            break
        yield name, argument
    named = {a.arg for a in (*arguments.args, *arguments.kwonlyargs)}
    for keyword in call.keywords:
        if keyword.arg in named:
            assert keyword.arg is not None
            yield keyword.arg, keyword.value


def _returned(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[ast.expr]:
    """What a function returns, its own body alone."""
    stack: list[ast.AST] = list(reversed(function.body))
    while stack:
        node = stack.pop()
        if isinstance(node, ast.Return) and node.value is not None:
            yield node.value
        if not isinstance(node, (*FUNCTIONS, ast.ClassDef, ast.expr)):
            stack.extend(reversed(list(ast.iter_child_nodes(node))))


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
