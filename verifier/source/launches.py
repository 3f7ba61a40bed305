"""Where files launch kernels, and with what, as far as their text shows that it is meant.

A launch that is expected to fail, that may never be reached with these arguments, or that is made
on what is not known, is left out, or the value is. Loops over what the text lists, tests with rows
and helpers that are called are read once for each of what they are given.
"""

from __future__ import annotations

import ast
import inspect
import os
import re
from collections import ChainMap
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from verifier.source import apis, ir
from verifier.source.meanings import FUNCTIONS, parameters
from verifier.source.project import Project
from verifier.source.rows import Row, given_to, items_of, rows_of, stops_early, unpacked
from verifier.source.text import SourceError
from verifier.source.values import UNREAD, Bound, Names, Value, origin_of, value_of, walk

_Function: TypeAlias = "ast.FunctionDef | ast.AsyncFunctionDef"
#: a function, by the absolute path of its file and the line of its ``def``
Place: TypeAlias = tuple[str, int]
#: the text of a file, or None if it cannot be read
Reader: TypeAlias = Callable[[str], "str | None"]

#: what is given a kernel and its arguments, and what is given a kernel and makes it a launch
_AT_ONCE: Final = frozenset({"simulate_kernel"})
_WRAPPING: Final = frozenset({"jit", "baremetal", "benchmark", "simulate", "profile"})
#: names of what expects a failure
_EXPECTING: Final = re.compile(r"rais|error|fail|suppress|except|throw|invalid|skip", re.IGNORECASE)
_DEPTH: Final = 8
#: times that blocks of a file are read with other values
_TIMES: Final = 512


class Launch(Struct, frozen=True):
    """A call that starts a kernel.

    ``grid`` is what it is launched on, None: it is not said. ``arguments`` are by parameter,
    defaults included; what is not known is left out. ``misfit``: why Python makes no such call.
    """

    kernel: Place
    span: ir.Span
    grid: Value
    arguments: Mapping[str, Value]
    misfit: str = ""


class _Tree(Struct, frozen=True, eq=False):
    """A file that has been read; ``names`` are those of its module."""

    path: str
    lines: Sequence[str]
    body: Sequence[ast.stmt]
    names: Names
    places: Mapping[int, Names]


class Launches:
    """The launches in the files of a project.

    ``kernels`` are the functions that are looked for, ``device`` others that run on a device;
    without a ``project`` each file stands alone.
    """

    def __init__(
        self,
        kernels: Collection[Place],
        device: Collection[Place],
        read: Reader,
        project: Project | None = None,
    ) -> None:
        self.kernels, self.device = kernels, device
        self._read, self._project = read, project
        self._trees: dict[str, _Tree | None] = {}

    def of(self, path: str) -> list[Launch]:
        """The launches in a file, but for those in code for a device. Nothing of a file that does
        not parse."""
        tree = self._tree(path)
        return [] if tree is None else list(_File(self, tree).block())

    def _tree(self, path: str) -> _Tree | None:
        key = os.path.abspath(path)  # noqa: PTH100  (links are not followed)
        if key not in self._trees:
            self._trees[key] = None  # of a circle of imports
            self._trees[key] = self._parsed(path)
        return self._trees[key]

    def _parsed(self, path: str) -> _Tree | None:
        text = self._read(path)
        try:
            body = ast.parse(text or "").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None
        key = os.path.abspath(path)  # noqa: PTH100
        names = Names(path=key, imported=lambda dotted: self._imported(path, dotted))
        places = {id(node): inside for node, inside in walk(body, names)}
        return _Tree(path, (text or "").splitlines(), body, names, places)

    def _imported(self, path: str, dotted: str) -> tuple[Bound, Names] | None:
        """What a dotted name that a file imports leads to in another one."""
        level = len(dotted) - len(dotted.lstrip("."))
        module, _, name = dotted[level:].rpartition(".")
        if self._project is None or not (module or level):
            return None
        try:
            file = self._project.module(Path(path))
        except SourceError:
            return None
        found = self._project.resolve_from(file, module, level, name)
        if found is None or found[1] is None or found[0] is file:
            return None
        tree = self._tree(str(found[0].path))
        return None if tree is None else tree.names.follow(ast.Name(found[1]))


def _expected(nodes: Iterator[ast.AST]) -> frozenset[str]:
    """The names of functions that are given to something that expects a failure."""
    found = set()
    for node in nodes:
        if isinstance(node, ast.Call) and expects(node.func):
            found |= {part.id for part in node.args if isinstance(part, ast.Name)}
    return frozenset(found)


class _Kernel(Struct, frozen=True):
    """A kernel as an expression; ``started``: calling it is a launch.

    ``plain``: nothing else than a kernel API has wrapped it, which may give it arguments.
    """

    node: _Function
    place: Place
    #: of its module
    names: Names
    grid: Value = None
    started: bool = False
    plain: bool = False


class _File:
    """The launches of a file; ``_names`` are those of its nodes, with what they are bound to at
    the moment."""

    def __init__(self, project: Launches, tree: _Tree) -> None:
        self._project, self._tree = project, tree
        self._names: Mapping[int, Names] = tree.places
        self._expected = _expected(node for part in tree.body for node in ast.walk(part))
        self._left = _TIMES
        self._depth = 0

    def block(self) -> Iterator[Launch]:
        """The launches of a module."""
        yield from self._block(self._tree.body)

    def _block(self, body: Sequence[ast.stmt]) -> Iterator[Launch]:
        for statement in body:
            yield from self._statement(statement)
            if self._may_end(statement):
                return

    def _statement(self, node: ast.stmt) -> Iterator[Launch]:
        if isinstance(node, FUNCTIONS):
            yield from self._function(node)
        elif isinstance(node, (ast.If, ast.While)):
            known = self._test(node.test)
            if known is not False and not self._hangs_on_values(node.test, known):
                yield from self._block(node.body)
            if known is not True and not self._hangs_on_values(node.test, known):
                yield from self._block(node.orelse)
        elif isinstance(node, ast.Try) or type(node).__name__ == "TryStar":
            if not getattr(node, "handlers", None):
                yield from self._block(node.body)  # type: ignore[attr-defined]
                yield from self._block(node.finalbody)  # type: ignore[attr-defined]
        elif isinstance(node, (ast.With, ast.AsyncWith)):
            if not any(expects(i.context_expr) for i in node.items):
                yield from self._block(node.body)
        elif isinstance(node, ast.For):
            yield from self._loop(node)
        elif isinstance(node, (ast.AsyncFor, ast.ClassDef)):
            yield from self._block(node.body)
        elif isinstance(node, (ast.Expr, ast.Assign, ast.AnnAssign, ast.Return, ast.Assert)):
            value = node.test if isinstance(node, ast.Assert) else node.value
            if value is not None:
                yield from self._calls(value)

    # ------------------------------------------------------------------- what is read again

    def _function(self, node: _Function) -> Iterator[Launch]:
        if self._left_out(node):
            return
        rows = rows_of(node, self._names[id(node)], self._names)
        for row in rows:
            yield from self._called(node, row)
        if not rows:
            yield from self._block(node.body)

    def _called(self, node: _Function, row: Row) -> Iterator[Launch]:
        """The launches of a function that is given what ``row`` says."""
        names = Names(self._names[id(node)])
        for parameter in parameters(node.args):
            names.bind(parameter, row.get(parameter))
        yield from self._again(node.body, {id(n): inside for n, inside in walk(node.body, names)})

    def _loop(self, node: ast.For) -> Iterator[Launch]:
        names = self._names[id(node)]
        items = items_of(node.iter, names)
        rows = [unpacked(node.target, item) for item in items or ()]
        own = names.bindings
        if items is None or not all(
            row is not None and all(own.get(name) == [None] for name in row) for row in rows
        ):
            yield from self._block(node.body)
            return
        for row in rows[:1] if stops_early(node.body) else rows:
            once = names.again(row or {})
            inside = (part for statement in node.body for part in ast.walk(statement))
            places = {id(n): once for n in inside if self._names.get(id(n)) is names}
            yield from self._again(node.body, places)

    def _again(self, body: Sequence[ast.stmt], names: Mapping[int, Names]) -> Iterator[Launch]:
        self._left -= 1
        if self._left < 0:
            return
        before = self._names
        self._names = ChainMap(dict(names), *getattr(before, "maps", [before]))
        yield from self._block(body)
        self._names = before

    def _left_out(self, node: _Function) -> bool:
        """Whether calls in a function are no launches, or are expected to fail."""
        return (
            self._place(node) in self._project.kernels
            or self._place(node) in self._project.device
            or node.name in self._expected
            or _EXPECTING.search(node.name) is not None
            or any(map(expects, node.decorator_list))
        )

    def _place(self, node: _Function) -> Place:
        return self._tree.names.path, node.lineno

    # ------------------------------------------------------------------- whether it is reached

    def _test(self, test: ast.expr) -> Value:
        value = value_of(test, self._names[id(test)])
        return value if isinstance(value, bool) else UNREAD

    def _hangs_on_values(self, test: ast.expr, known: Value) -> bool:
        """Whether a test that is not known may be about the arguments of a launch."""
        if known is not UNREAD:
            return False
        return any(
            value_of(node, self._names[id(node)]) is not UNREAD
            for node in ast.walk(test)
            if isinstance(node, ast.Name)
        )

    def _may_end(self, node: ast.stmt) -> bool:
        """Whether what comes after a statement may not be reached because of the values."""
        if isinstance(node, (ast.Return, ast.Raise, ast.Continue, ast.Break)):
            return True
        if isinstance(node, ast.Assert):
            known = self._test(node.test)
            return known is False or self._hangs_on_values(node.test, known)
        if isinstance(node, ast.If) and (_leaves(node.body) or _leaves(node.orelse)):
            known = self._test(node.test)
            body = known is True and _leaves(node.body)
            orelse = known is False and _leaves(node.orelse)
            return body or orelse or self._hangs_on_values(node.test, known)
        return False

    # ---------------------------------------------------------------------------- the launches

    def _calls(self, value: ast.expr) -> Iterator[Launch]:
        stack: list[ast.AST] = [value]
        while stack:
            node = stack.pop()
            if isinstance(node, (ast.Lambda, ast.IfExp, ast.BoolOp)):
                continue  # it may never be run
            if isinstance(node, ast.Call):
                if expects(node.func):
                    continue
                yield from self._launch(node)
            stack.extend(reversed(list(ast.iter_child_nodes(node))))

    def _launch(self, call: ast.Call) -> Iterator[Launch]:
        names, given = self._names[id(call)], call.args
        kernel = self._kernel(call.func, names)
        if kernel is not None and not kernel.started:
            return
        if kernel is None:
            yield from self._helped(call, names)
        if kernel is None and given and _last(origin_of(call.func, names)) in _AT_ONCE:
            kernel, given = self._kernel(given[0], names), given[1:]
        if kernel is None:
            return
        span, arguments = self._span(call), _arguments(kernel, given, call.keywords, names)
        if arguments is not None:
            yield Launch(kernel.place, span, kernel.grid, arguments)
        elif kernel.plain and kernel.started:
            misfit = _misfit(kernel.node.args, _spread(given, names), call.keywords)
            if misfit:
                yield Launch(kernel.place, span, kernel.grid, {}, misfit)

    def _helped(self, call: ast.Call, names: Names) -> Iterator[Launch]:
        """The launches of a function of the file that is called with something."""
        found = names.find(call.func.id) if isinstance(call.func, ast.Name) else None
        function = None if found is None else found[0].function
        if function is None or self._depth >= _DEPTH or self._left_out(function):
            return
        row = given_to(function, call, names)
        if row is not None:
            self._depth += 1
            yield from self._called(function, row)
            self._depth -= 1

    def _kernel(self, node: ast.expr, names: Names, depth: int = 0) -> _Kernel | None:
        """The kernel that an expression is."""
        if depth > _DEPTH:
            return None
        if isinstance(node, (ast.Name, ast.Attribute)):
            found = names.follow(node, depth)
            if found is None or found[0].item is not None:
                return None
            bound, there = found
            if bound.function is not None:
                place = (there.module.path, bound.function.lineno)
                if place not in self._project.kernels:
                    return None
                around = bound.function.decorator_list
                plain = all(self._wraps(each, there.module) for each in around)
                return _Kernel(bound.function, place, there, started=bool(around), plain=plain)
            inside = bound.names or there
            return None if bound.value is None else self._kernel(bound.value, inside, depth + 1)
        if isinstance(node, ast.Subscript):
            kernel = self._kernel(node.value, names, depth + 1)
            if kernel is None or kernel.grid is not None:
                return None
            grid = value_of(node.slice, names)
            grid = grid if isinstance(grid, tuple) else (grid,)
            return replace(kernel, grid=grid, started=True)
        if isinstance(node, ast.Call) and len(node.args) == 1 and self._wraps(node.func, names):
            kernel = self._kernel(node.args[0], names, depth + 1)
            return None if kernel is None else replace(kernel, started=True)
        return None

    def _wraps(self, node: ast.expr, names: Names) -> bool:
        """Whether it makes a launch of a kernel: ``nki.jit``, ``nki.jit(...)``."""
        if isinstance(node, ast.Call) and not node.args:
            node = node.func
        path = origin_of(node, names)
        return path.partition(".")[0] in apis.by_package() and _last(path) in _WRAPPING

    def _span(self, node: ast.Call) -> ir.Span:
        def column(line: int, offset: int) -> int:
            rows = self._tree.lines
            row = rows[line - 1] if line <= len(rows) else ""
            return len(row.encode("utf-8", "replace")[:offset].decode("utf-8", "replace"))

        end_line, end = node.end_lineno or node.lineno, node.end_col_offset or 0
        return ir.Span(
            self._tree.path,
            node.lineno,
            column(node.lineno, node.col_offset),
            end_line,
            column(end_line, end),
        )


def _words(node: ast.expr) -> list[str]:
    """The names in an expression."""
    found = (getattr(part, "id", None) or getattr(part, "attr", "") for part in ast.walk(node))
    return [word for word in found if word]


def expects(node: ast.expr) -> bool:
    """Whether an expression sounds as if something were to fail."""
    return _EXPECTING.search(" ".join(_words(node))) is not None


def _last(path: str) -> str:
    return path.rpartition(".")[2]


def _leaves(body: Sequence[ast.stmt]) -> bool:
    """Whether a block may not go on after it."""
    return any(
        isinstance(node, (ast.Return, ast.Raise, ast.Continue, ast.Break))
        or (isinstance(node, ast.Call) and expects(node.func))
        or (isinstance(node, ast.Call) and not {"exit", "abort"}.isdisjoint(_words(node.func)))
        for statement in body
        for node in ast.walk(statement)
    )


def _arguments(
    kernel: _Kernel, args: Sequence[ast.expr], keywords: Sequence[ast.keyword], names: Names
) -> dict[str, Value] | None:
    """The values by parameter; None if it is not certain which is which."""
    parameters = kernel.node.args
    if parameters.vararg or parameters.kwarg or any(keyword.arg is None for keyword in keywords):
        return None
    given = _spread(args, names)
    positional = [*parameters.posonlyargs, *parameters.args]
    every = [parameter.arg for parameter in (*positional, *parameters.kwonlyargs)]
    if given is None or len(given) > len(positional):
        return None
    if not {k.arg for k in keywords} <= set(every[len(given) :]):
        return None
    defaults = zip(positional[::-1], parameters.defaults[::-1], strict=False)
    named = zip(parameters.kwonlyargs, parameters.kw_defaults, strict=True)
    found = {p.arg: Bound(d, names=kernel.names) for p, d in [*defaults, *named] if d is not None}
    found |= {p.arg: bound for p, bound in zip(positional, given, strict=False)}
    found |= {k.arg: Bound(k.value, names=names) for k in keywords if k.arg is not None}
    if set(every) - set(found):
        return None
    values = {
        name: value_of(bound.value, bound.names or names)
        for name, bound in found.items()
        if bound.value is not None
    }
    return {name: value for name, value in values.items() if value is not UNREAD}


def _misfit(
    parameters: ast.arguments, given: Sequence[Bound] | None, keywords: Sequence[ast.keyword]
) -> str:
    """What CPython says of a call with these arguments, if it is certain that it makes none."""
    if given is None or any(keyword.arg is None for keyword in keywords):
        return ""
    kinds = inspect.Parameter
    plain = [*parameters.posonlyargs, *parameters.args]
    required = len(plain) - len(parameters.defaults)
    each = [
        kinds(
            parameter.arg,
            kinds.POSITIONAL_ONLY
            if parameter in parameters.posonlyargs
            else kinds.POSITIONAL_OR_KEYWORD,
            default=kinds.empty if place < required else None,
        )
        for place, parameter in enumerate(plain)
    ]
    if parameters.vararg is not None:
        each.append(kinds(parameters.vararg.arg, kinds.VAR_POSITIONAL))
    for parameter, default in zip(parameters.kwonlyargs, parameters.kw_defaults, strict=True):
        absent = kinds.empty if default is None else None
        each.append(kinds(parameter.arg, kinds.KEYWORD_ONLY, default=absent))
    if parameters.kwarg is not None:
        each.append(kinds(parameters.kwarg.arg, kinds.VAR_KEYWORD))
    try:
        inspect.Signature(each).bind(*given, **{k.arg: k for k in keywords if k.arg is not None})
    except TypeError as error:
        return str(error)
    return ""


def _spread(args: Sequence[ast.expr], names: Names) -> list[Bound] | None:
    """The arguments one by one."""
    given: list[Bound] = []
    for part in args:
        if isinstance(part, ast.Starred):
            items = items_of(part.value, names)
            if items is None:
                return None
            given += items
        else:
            given.append(Bound(part, names=names))
    return given
