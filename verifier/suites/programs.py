"""The programs of a file that may launch kernels: its tests row by row, and what it runs itself."""

from __future__ import annotations

import ast
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from msgspec import Struct, field

from verifier.source import ir
from verifier.source.discovery import KernelEntry
from verifier.source.ir import Span
from verifier.source.project import Module
from verifier.source.text import SourceError
from verifier.suites import fixtures, hooks, marks
from verifier.suites.hardware import targets_of
from verifier.suites.machine import LOADING, Launched, Refused, SuiteVM
from verifier.suites.marks import UnreadRowsError
from verifier.suites.saying import NotEvidentError, contract_of
from verifier.suites.values import Mark
from verifier.symbolic.python import modules
from verifier.symbolic.python.flow import AbortedRunError, Ended, Frame
from verifier.symbolic.python.heap import UNBOUND, Scope
from verifier.symbolic.python.hierarchy import lookup
from verifier.symbolic.python.model import Class, ClassMethod, Function, StaticMethod
from verifier.symbolic.values import Opaque

#: rows of a test that are run: those in between are left out evenly
MOST_ROWS: Final = 24
#: rows of a test of which no launch can be read before the others are left out
_IN_VAIN: Final = 2
_TEST: Final = "test"


class Unread(Struct, frozen=True):
    """What cannot be read, where, and why."""

    path: str
    line: int
    program: str
    reason: str


class Example(Struct, frozen=True):
    """A launch of a kernel, as a contract without the kernel's name."""

    kernel: KernelEntry
    contract: str
    span: Span
    targets: tuple[str, ...] = ()


class Outcome(Struct):
    """The launches of a program, in order; ``left_out`` are rows that were not run."""

    name: str
    line: int
    examples: list[Example] = field(default_factory=list)
    unread: list[Unread] = field(default_factory=list)
    left_out: int = 0


class _Test(Struct, frozen=True):
    """A test of a file: its function, and the classes around it."""

    name: str
    line: int
    function: Function | None
    cls: Class | None = None


def programs(vm: SuiteVM, module: Module) -> Iterator[Outcome]:
    """What the programs of a file launch, one after the other."""
    outcome = Outcome("<module>", 1)
    scope = _started(vm, module, outcome)
    if scope is None:
        yield outcome
        return
    _collect(vm, outcome)
    yield outcome
    for test in _tests(vm, module):
        yield _of_test(vm, module, test)
    yield from _scripts(vm, module, scope)


def _started(vm: SuiteVM, module: Module, outcome: Outcome) -> int | None:
    """Run a module's body; the number of its scope."""
    try:
        with vm.aside(module, LOADING):
            return modules.started(vm, module).scope.id
    except (Ended, AbortedRunError, SourceError, RecursionError) as error:
        reason = _why(vm, error)
        outcome.unread.append(Unread(str(module.path), 1, "the file", reason))
    return None


def _why(vm: SuiteVM, error: Exception) -> str:
    if isinstance(error, AbortedRunError):
        return error.reason
    if isinstance(error, RecursionError):
        return "it nests too deeply"
    if isinstance(error, Ended):
        failures = vm.found.failures
        return f"it fails: {failures[-1][0]}" if failures else "it does not come to its end"
    return str(error)


# ------------------------------------------------------------------------ tests


def _tests(vm: SuiteVM, module: Module) -> Iterator[_Test]:
    """The tests of a file, as test frameworks find them."""
    for node in module.syntax():
        if isinstance(node, ast.FunctionDef) and node.name.startswith(_TEST):
            value = _global(vm, module, node.name)
            yield _Test(node.name, node.lineno, value if isinstance(value, Function) else None)
        elif isinstance(node, ast.ClassDef):
            yield from _methods(vm, module, node)


def _global(vm: SuiteVM, module: Module, name: str) -> object:
    try:
        with vm.aside(module):
            return modules.global_value(vm, module, name)
    except (Ended, AbortedRunError, SourceError, RecursionError):
        return UNBOUND


def _methods(vm: SuiteVM, module: Module, node: ast.ClassDef) -> Iterator[_Test]:
    """The tests in a class: of one that is called a test, or that derives from a test case."""
    cases = any("TestCase" in ast.unparse(base) for base in node.bases)
    if not (node.name.startswith("Test") or cases):
        return
    wanted = [n for n in node.body if isinstance(n, ast.FunctionDef) and n.name.startswith(_TEST)]
    if not wanted:
        return
    cls = _global(vm, module, node.name)
    for method in wanted:
        name = f"{node.name}.{method.name}"
        found = lookup(vm, cls, method.name) if isinstance(cls, Class) else UNBOUND
        if isinstance(found, (StaticMethod, ClassMethod)):
            found = found.function
        function = found if isinstance(found, Function) else None
        yield _Test(name, method.lineno, function, cls if isinstance(cls, Class) else None)


def _of_test(vm: SuiteVM, module: Module, test: _Test) -> Outcome:
    """What a test launches in its rows."""
    outcome = Outcome(test.name, test.line)
    path = str(module.path)

    def unread(reason: str) -> Outcome:
        outcome.unread.append(Unread(path, test.line, test.name, reason))
        return outcome

    if test.function is None:
        return unread("what its decorators make of it is not followed")
    own = [*marks.marks_of(vm, test.function), *marks.marks_of(vm, test.cls)]
    own += marks.marks_in(vm, _global(vm, module, marks.MARKS), _span(test))
    if any(marks.left_out(mark) for mark in own):
        return outcome
    try:
        with vm.aside(module):
            rows = _rows(vm, module, test, own)
            if not rows:
                return unread("its tables have no rows")
            _run_rows(vm, module, test, rows, outcome)
    except UnreadRowsError as error:
        return unread(error.reason)
    except (Ended, AbortedRunError, RecursionError) as error:
        return unread(f"its rows are not evident: {_why(vm, error)}")
    return outcome


def _run_rows(
    vm: SuiteVM,
    module: Module,
    test: _Test,
    rows: Sequence[Mapping[str, object]],
    outcome: Outcome,
) -> None:
    """Run a test on rows, which are of the heap of now."""
    chosen = _spread(rows, MOST_ROWS)
    outcome.left_out = len(rows) - len(chosen)
    for position, row in enumerate(chosen, 1):
        _run_row(vm, module, test, row, outcome)
        if position == _IN_VAIN and not outcome.examples:
            outcome.left_out += len(chosen) - position
            break


def _rows(
    vm: SuiteVM, module: Module, test: _Test, own: Sequence[Mark]
) -> list[Mapping[str, object]]:
    """All combinations of the values that the marks give, with the marks of each."""
    span = _span(test)
    tables = [marks.parametrised(vm, mark, span) for mark in own if mark.name == "parametrize"]
    assert test.function is not None
    params = tuple(p.name for p in test.function.definition.params if p.kind in _NAMED)
    generated = hooks.tables(vm, module, test.function, test.cls, params)
    tables += [marks.rows_of(vm, names, values, span) for names, values in generated]
    if math.prod(map(len, tables)) > 100_000:
        raise UnreadRowsError("there are too many rows")
    out: list[Mapping[str, object]] = []
    for parts in itertools.product(*tables):
        row: dict[str, object] = {marks.MARKS: tuple(own)}
        for part in parts:
            row.update({**part, marks.MARKS: (*_marks(row), *_marks(part))})
        out.append(row)
    return out


def _marks(row: Mapping[str, object]) -> tuple[Mark, ...]:
    """The marks of a row."""
    held = row.get(marks.MARKS)
    return held if isinstance(held, tuple) else ()


def _span(test: _Test) -> Span:
    assert test.function is not None
    return test.function.definition.span


def _spread(rows: Sequence[Mapping[str, object]], most: int) -> list[Mapping[str, object]]:
    """At most so many of the rows, from the first to the last."""
    if len(rows) <= most:
        return list(rows)
    return [rows[k * (len(rows) - 1) // (most - 1)] for k in range(most)]


def _run_row(
    vm: SuiteVM, module: Module, test: _Test, row: Mapping[str, object], outcome: Outcome
) -> None:
    function = test.function
    assert function is not None and isinstance(function.definition, ir.FunctionDef)
    with vm.aside(module):
        try:
            first: tuple[object, ...] = ()
            if test.cls is not None:
                first = (vm.call(test.cls, (), span=function.definition.span),)
            names = [p.name for p in function.definition.params if p.kind in _NAMED][len(first) :]
            given = {name: _argument(vm, module, test, name, row) for name in names}
            defaults = dict(function.defaults)
            for name, value in list(given.items()):
                if value is UNBOUND and name in defaults:
                    del given[name]
                elif value is UNBOUND:
                    given[name] = Opaque(f"the fixture `{name}`")
            vm.call(function, first, given, span=function.definition.span)
            _collect(vm, outcome, _marks(row))
        except (Ended, AbortedRunError, RecursionError) as error:
            _collect_failed(vm, outcome, test, module, error)


_NAMED: Final = (ir.ParamKind.POSITIONAL_ONLY, ir.ParamKind.POSITIONAL, ir.ParamKind.KEYWORD)


def _argument(
    vm: SuiteVM, module: Module, test: _Test, name: str, row: Mapping[str, object]
) -> object:
    """What a parameter of a test is given: of its row, or by a fixture; UNBOUND: nothing known."""
    if name in row:
        return row[name]
    return fixtures.value(vm, module, test.cls, name)


def _collect(vm: SuiteVM, outcome: Outcome, own: Sequence[Mark] = ()) -> None:
    """Take over what has been launched, ``own``: under which marks."""
    for one in vm.found.launches:
        reason = one.reason if isinstance(one, Refused) else _taken(vm, outcome, one, own)
        if reason is not None:
            outcome.unread.append(Unread(one.span.path, one.span.line, outcome.name, reason))
    vm.found.launches.clear()


def _taken(vm: SuiteVM, outcome: Outcome, one: Launched, own: Sequence[Mark]) -> str | None:
    """Take over a launch; why not, if it is not."""
    kernel = vm.kernel_of(one.function, given=True)
    assert kernel is not None
    try:
        targets = targets_of(vm, one, kernel.dialect, own)
        text = contract_of(vm, one, targets)
    except NotEvidentError as error:
        return f"the arguments of `{kernel.name}` are not evident: {error.reason}"
    outcome.examples.append(Example(kernel, text, one.span, targets))
    return None


def _collect_failed(
    vm: SuiteVM, outcome: Outcome, test: _Test, module: Module, error: Exception
) -> None:
    """A program that does not come to its end: what it launches is no good example."""
    vm.found.launches.clear()
    failures = vm.found.failures
    where = failures[-1][1] if failures else None
    path = str(module.path) if where is None else where.path
    line = test.line if where is None else where.line
    outcome.unread.append(Unread(path, line, test.name, _why(vm, error)))


# ------------------------------------------------------------------------ scripts


def _scripts(vm: SuiteVM, module: Module, scope: int) -> Iterator[Outcome]:
    """What a file does when it is run by its name."""
    for node in module.syntax():
        if not (isinstance(node, ast.If) and _asks_for_main(node.test)):
            continue
        outcome = Outcome("__main__", node.lineno)
        with vm.aside(module):
            vm.frames.append(Frame(module, scope, 0))
            box = vm.heap.write(scope)
            assert isinstance(box, Scope)
            box.names["__name__"] = "__main__"
            try:
                vm.exec(module.statements_at(node.lineno))
                _collect(vm, outcome)
            except (Ended, AbortedRunError, SourceError, RecursionError) as error:
                test = _Test("__main__", node.lineno, None)
                _collect_failed(vm, outcome, test, module, error)
        yield outcome


def _asks_for_main(test: ast.expr) -> bool:
    return ast.unparse(test).replace('"', "'") in (
        "__name__ == '__main__'",
        "'__main__' == __name__",
    )


__all__ = ["MOST_ROWS", "Outcome", "Unread", "programs"]
