"""Where a file launches its kernels, and with what, as far as its text shows that it is meant.

A launch that is expected to fail, that may never be reached with these arguments, or that is made
on what is not known, is left out, or the value is.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final, TypeAlias

from msgspec import Struct, field

from verifier.source import apis, ir
from verifier.source.meanings import FUNCTIONS
from verifier.source.values import UNREAD, Names, Value, origin_of, value_of, walk

_Function: TypeAlias = "ast.FunctionDef | ast.AsyncFunctionDef"

#: what is given a kernel and its arguments, and what is given a kernel and makes it a launch
_AT_ONCE: Final = frozenset({"simulate_kernel"})
_WRAPPING: Final = frozenset({"jit", "baremetal", "benchmark", "simulate", "profile"})
#: names of what expects a failure
_EXPECTING: Final = re.compile(r"rais|error|fail|suppress|except|throw|invalid|skip", re.IGNORECASE)
_DEPTH: Final = 8


class Launch(Struct, frozen=True):
    """A call that starts a kernel, which is defined at ``line``.

    ``grid`` is what it is launched on, None: it is not said. ``arguments`` are by parameter,
    defaults included; what is not known is left out.
    """

    line: int
    span: ir.Span
    grid: Value
    arguments: Mapping[str, Value]


class _Kernel(Struct, frozen=True):
    """A kernel as an expression; ``started``: calling it is a launch."""

    node: _Function
    grid: Value = None
    started: bool = False


def launches(
    path: str, text: str, kernels: Collection[int], device: Collection[int]
) -> list[Launch]:
    """The launches of the functions at the lines ``kernels``, but for those in code for a device:
    in these functions and in those at the lines ``device``. Nothing of a file that does not parse.
    """
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    places = list(walk(tree.body, Names()))
    file = _File(path, text.splitlines(), kernels, device, _expected(node for node, _ in places))
    return list(file.block(tree.body, {id(node): names for node, names in places}))


def _expected(nodes: Iterator[ast.AST]) -> frozenset[str]:
    """The names of functions that are given to something that expects a failure."""
    found = set()
    for node in nodes:
        if isinstance(node, ast.Call) and _expects(node.func):
            found |= {part.id for part in node.args if isinstance(part, ast.Name)}
    return frozenset(found)


class _File(Struct):
    path: str
    lines: Sequence[str]
    kernels: Collection[int]
    device: Collection[int]
    expected: Collection[str]
    _names: Mapping[int, Names] = field(default_factory=dict)

    def block(self, body: Sequence[ast.stmt], names: Mapping[int, Names]) -> Iterator[Launch]:
        """The launches of a module."""
        self._names = names
        yield from self._block(body)

    def _block(self, body: Sequence[ast.stmt]) -> Iterator[Launch]:
        for statement in body:
            yield from self._statement(statement)
            if self._may_end(statement):
                return

    def _statement(self, node: ast.stmt) -> Iterator[Launch]:
        if isinstance(node, FUNCTIONS):
            if not self._left_out(node):
                yield from self._block(node.body)
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
            if not any(_expects(i.context_expr) for i in node.items):
                yield from self._block(node.body)
        elif isinstance(node, (ast.For, ast.AsyncFor, ast.ClassDef)):
            yield from self._block(node.body)
        elif isinstance(node, (ast.Expr, ast.Assign, ast.AnnAssign, ast.Return, ast.Assert)):
            value = node.test if isinstance(node, ast.Assert) else node.value
            if value is not None:
                yield from self._calls(value)

    def _left_out(self, node: _Function) -> bool:
        """Whether calls in a function are no launches, or are expected to fail."""
        return (
            node.lineno in self.kernels
            or node.lineno in self.device
            or node.name in self.expected
            or _EXPECTING.search(node.name) is not None
            or any(map(_expects, node.decorator_list))
        )

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
                if _expects(node.func):
                    continue
                yield from self._launch(node)
            stack.extend(reversed(list(ast.iter_child_nodes(node))))

    def _launch(self, call: ast.Call) -> Iterator[Launch]:
        names, given = self._names[id(call)], call.args
        kernel = self._kernel(call.func, names)
        if kernel is not None and not kernel.started:
            return
        if kernel is None and given and _last(origin_of(call.func, names)) in _AT_ONCE:
            kernel, given = self._kernel(given[0], names), given[1:]
        if kernel is None:
            return
        arguments = _arguments(kernel.node.args, given, call.keywords, names)
        if arguments is not None:
            span = self._span(call)
            yield Launch(kernel.node.lineno, span, kernel.grid, arguments)

    def _kernel(self, node: ast.expr, names: Names, depth: int = 0) -> _Kernel | None:
        """The kernel that an expression is."""
        if depth > _DEPTH:
            return None
        if isinstance(node, ast.Name):
            found = names.find(node.id)
            if found is None or found[0].item is not None:
                return None
            bound, there = found
            if bound.function is not None:
                known = bound.function.lineno in self.kernels
                started = bool(bound.function.decorator_list)
                return _Kernel(bound.function, started=started) if known else None
            return None if bound.value is None else self._kernel(bound.value, there, depth + 1)
        if isinstance(node, ast.Subscript):
            kernel = self._kernel(node.value, names, depth + 1)
            if kernel is None or kernel.grid is not None:
                return None
            grid = value_of(node.slice, names)
            return _Kernel(kernel.node, grid if isinstance(grid, tuple) else (grid,), True)
        if isinstance(node, ast.Call) and len(node.args) == 1 and self._wraps(node.func, names):
            kernel = self._kernel(node.args[0], names, depth + 1)
            return None if kernel is None else _Kernel(kernel.node, kernel.grid, True)
        return None

    def _wraps(self, node: ast.expr, names: Names) -> bool:
        """Whether it makes a launch of a kernel: ``nki.jit``, ``nki.jit(...)``."""
        if isinstance(node, ast.Call) and not node.args:
            node = node.func
        path = origin_of(node, names)
        return path.partition(".")[0] in apis.by_package() and _last(path) in _WRAPPING

    def _span(self, node: ast.Call) -> ir.Span:
        def column(line: int, offset: int) -> int:
            row = self.lines[line - 1] if line <= len(self.lines) else ""
            return len(row.encode("utf-8", "replace")[:offset].decode("utf-8", "replace"))

        end_line, end = node.end_lineno or node.lineno, node.end_col_offset or 0
        return ir.Span(
            self.path,
            node.lineno,
            column(node.lineno, node.col_offset),
            end_line,
            column(end_line, end),
        )


def _words(node: ast.expr) -> list[str]:
    """The names in an expression."""
    found = (getattr(part, "id", None) or getattr(part, "attr", "") for part in ast.walk(node))
    return [word for word in found if word]


def _expects(node: ast.expr) -> bool:
    """Whether an expression sounds as if something were to fail."""
    return _EXPECTING.search(" ".join(_words(node))) is not None


def _last(path: str) -> str:
    return path.rpartition(".")[2]


def _leaves(body: Sequence[ast.stmt]) -> bool:
    """Whether a block may not go on after it."""
    return any(
        isinstance(node, (ast.Return, ast.Raise, ast.Continue, ast.Break))
        or (isinstance(node, ast.Call) and _expects(node.func))
        or (isinstance(node, ast.Call) and not {"exit", "abort"}.isdisjoint(_words(node.func)))
        for statement in body
        for node in ast.walk(statement)
    )


def _arguments(
    parameters: ast.arguments,
    given: Sequence[ast.expr],
    keywords: Sequence[ast.keyword],
    names: Names,
) -> dict[str, Value] | None:
    """The values by parameter; None if it is not certain which is which."""
    spread = any(isinstance(part, ast.Starred) for part in given)
    if spread or any(keyword.arg is None for keyword in keywords):
        return None
    positional = [*parameters.posonlyargs, *parameters.args]
    every = [parameter.arg for parameter in (*positional, *parameters.kwonlyargs)]
    if len(given) > len(positional) or not {k.arg for k in keywords} <= set(every):
        return None
    defaults = zip(positional[::-1], parameters.defaults[::-1], strict=False)
    named = zip(parameters.kwonlyargs, parameters.kw_defaults, strict=True)
    found: dict[str, ast.expr] = {p.arg: d for p, d in [*defaults, *named] if d is not None}
    found |= {p.arg: part for p, part in zip(positional, given, strict=False)}
    found |= {keyword.arg: keyword.value for keyword in keywords if keyword.arg is not None}
    if set(every) - set(found):
        return None
    values = {name: value_of(part, names) for name, part in found.items()}
    return {name: value for name, value in values.items() if value is not UNREAD}
