"""A machine to run pieces of Python on, and how to compare it with CPython itself."""

from __future__ import annotations

import ast
import itertools
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from types import CodeType
from typing import Any, cast

from verifier.hardware.targets import TARGETS
from verifier.solver.solver import Solver
from verifier.source import ir
from verifier.source.ir import Span
from verifier.source.lowering import lower
from verifier.source.project import Project
from verifier.source.sources import Sources
from verifier.symbolic import expr as E
from verifier.symbolic.dialect import Dialect
from verifier.symbolic.generation import Generation
from verifier.symbolic.python import modules
from verifier.symbolic.python.concrete import SYMBOLIC, from_host, to_host
from verifier.symbolic.python.flow import Ended, Escape, Frame, Wait
from verifier.symbolic.python.heap import UNBOUND, Item, ListBox, Scope, TupleBox
from verifier.symbolic.python.inputs import Inputs
from verifier.symbolic.python.language import PYTHON
from verifier.symbolic.python.plain import PlainDialect
from verifier.symbolic.python.renaming import Renaming
from verifier.symbolic.python.vm import VM
from verifier.symbolic.trace import LedgerEntry, LedgerKind, Trace
from verifier.symbolic.values import Guarded, Opaque, Ratio

PLACE = Path("/bench/module.py")
SPAN = Span(str(PLACE), 1, 0, 1, 1)


class NoDialect(PlainDialect):
    """A dialect without any API."""

    name = "none"

    def root(self, dotted: str) -> object | None:
        return None

    def external(self, path: str) -> object | None:
        return None

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"the dialect is asked for {name}")


def _machine(project: Project, path: Path, dialect: PlainDialect) -> VM:
    E.fresh_context()
    return VM(
        PYTHON,
        cast(Dialect[VM], dialect),  # what it does not have is not asked for, or fails
        project=project,
        hardware=next(iter(TARGETS.values())),
        generation=Generation(name="none"),
        trace=Trace("k", str(path), Span(str(path), 1, 0, 1, 1), Generation(name="none"), "none"),
        inputs=Inputs(),
        decide=Solver().decide,
    )


def machine(text: str = "", dialect: PlainDialect | None = None) -> VM:
    """A machine that is about to run a function of a module with this text."""
    project = Project([PLACE], Sources({str(PLACE): text}))
    vm = _machine(project, PLACE, NoDialect() if dialect is None else dialect)
    module = project.module(PLACE)
    scope = modules.started(vm, module).scope
    vm.frames.append(Frame(module, scope.id, 0))
    return vm


@dataclass
class Outcome:
    """What came of running something: a value on the paths that go on, errors on others."""

    vm: VM
    value: object
    escapes: list[Escape]
    #: whether no path goes on
    ended: bool = False
    skipped: list[LedgerEntry] = field(default_factory=list)

    @property
    def error(self) -> type[BaseException] | None:
        """The error that is raised on every path, None if some path goes on."""
        if not self.ended or not self.escapes or self.escapes[0].fault is None:
            return None
        return self.escapes[0].fault.error

    @property
    def host(self) -> Any:
        """The value on the host, if it is concrete."""
        return to_host(self.vm, self.value)


def bind(vm: VM, names: Mapping[str, object]) -> None:
    box = vm.heap.write(vm.frame.scope)
    assert isinstance(box, Scope)
    box.names.update(names)


def run(vm: VM, source: str, **names: object) -> Outcome:
    """Evaluate an expression with names bound to values of the machine."""
    bind(vm, names)
    statement = lower(str(PLACE), f"value = ({source})", 1)[0]
    assert isinstance(statement, ir.Assign)
    ledger = len(vm.trace.ledger)
    value: object = UNBOUND
    ended = False
    with vm.landing(Wait.HANDLERS) as landing:
        try:
            value = vm.eval(statement.value)
        except Ended:
            ended = True
    skipped = [entry for entry in vm.trace.ledger[ledger:] if entry.kind is LedgerKind.SKIPPED]
    return Outcome(vm, value, landing.escapes, ended, skipped)


def execute(vm: VM, source: str, **names: object) -> Outcome:
    """Run statements; the value is that of the name ``result``."""
    bind(vm, names)
    statements = lower(str(PLACE), source, 1)
    ledger = len(vm.trace.ledger)
    ended = False
    with vm.landing(Wait.HANDLERS) as landing:
        try:
            vm.exec(statements)
        except Ended:
            ended = True
    skipped = [entry for entry in vm.trace.ledger[ledger:] if entry.kind is LedgerKind.SKIPPED]
    scope = vm.heap.get(vm.frame.scope)
    assert isinstance(scope, Scope)
    value = scope.names.get("result", UNBOUND)
    return Outcome(vm, value, landing.escapes, ended, skipped)


def given(vm: VM, value: Any) -> object:
    """A value of the host as one of the machine's."""
    made = from_host(vm, value)
    assert made is not UNBOUND
    return made


# ------------------------------------------------------------------------ concrete


@lru_cache(maxsize=256)
def _compiled(text: str) -> CodeType:
    return compile(text, "<program>", "exec", dont_inherit=True)


def executed(text: str, **names: Any) -> dict[str, Any]:
    """What a module with this text binds, executed by CPython now; ``names`` are there before.

    Classes and caches keep what they are given: who calls something twice may want two modules.
    """
    exec(_compiled(text), names)
    return names


def agrees(source: str, names: Mapping[str, Any], text: str = "", vm: VM | None = None) -> None:
    """Assert that an expression on concrete values is what CPython says: value or error."""
    vm = vm if vm is not None else machine(text)
    outcome = run(vm, source, **{name: given(vm, value) for name, value in names.items()})
    place = executed(text)
    try:
        expected = eval(source, {**place, **names})
    except Exception as error:
        assert outcome.error is not None, (source, names, error, outcome.value, outcome.skipped)
        assert outcome.error is type(error), (source, names, error, outcome.error)
        return
    assert not outcome.ended, (source, names, expected, outcome.error)
    assert not outcome.skipped, (source, names, outcome.skipped)
    held = outcome.host
    assert held is not SYMBOLIC, (source, names, expected, outcome.value)
    assert type(held) is type(expected), (source, names, expected, held)
    assert held == expected or repr(held) == repr(expected), (source, names, expected, held)


# ------------------------------------------------------------------------ symbolic

UNKNOWN = object()


def at(vm: VM, value: object, env: Mapping[str, int | bool]) -> Any:
    """The value on the host for given inputs; UNKNOWN where it is not followed."""
    try:
        return _at(vm, value, env)
    except E.EvaluationError:
        return UNKNOWN


def _at(vm: VM, value: object, env: Mapping[str, int | bool]) -> Any:
    if isinstance(value, (E.Expr, E.Bool)):
        return E.evaluate(value, env)
    if isinstance(value, Opaque):
        return UNKNOWN
    if isinstance(value, Ratio):
        return E.evaluate(value.num, env) / E.evaluate(value.den, env)
    if isinstance(value, Guarded):
        found = [item for guard, item in value.cases if E.evaluate(guard, env)]
        assert len(found) == 1, (value, env)
        return _at(vm, found[0], env)
    if isinstance(value, tuple):
        return tuple(_at(vm, item, env) for item in value)
    box = vm.box(value)
    if isinstance(box, ListBox):
        items = [_at(vm, item, env) for item in _items_at(vm, box, env)]
        return tuple(items) if isinstance(box, TupleBox) else items
    return to_host(vm, value)


def _items_at(vm: VM, box: ListBox, env: Mapping[str, int | bool]) -> Iterator[object]:
    """The items of a list for given inputs, those of its symbolic runs one by one."""
    for segment in box.segments:
        if isinstance(segment, Item):
            yield segment.value
            continue
        for trip in range(int(E.evaluate(segment.count, env))):
            rename = Renaming(vm.heap, {segment.index: E.const(trip)}, segment.fresh)
            yield from (rename.value(value) for value in segment.values)


def agrees_for(
    source: str, ranges: Mapping[str, range], *, known: bool = True, text: str = ""
) -> None:
    """Assert that an expression on symbols is what CPython says for each of their values.

    ``known``: it must be followed, else it may also be unknown.
    """
    vm = machine(text)
    names: dict[str, object] = {
        name: E.symbol(name, values[0], values[-1]) for name, values in ranges.items()
    }
    outcome = run(vm, source, **names)
    if outcome.skipped:
        assert not known, (source, outcome.skipped)
        return
    place = executed(text)
    for env in assignments(ranges):
        raised = _raised(outcome, env)
        if raised is UNKNOWN:
            assert not known, (source, env, outcome.escapes)
            continue
        try:
            expected = eval(source, {**place, **env})
        except Exception as error:
            lost = raised is None and at(vm, outcome.value, env) is UNKNOWN
            if not known and (lost or isinstance(error, TypeError)):
                continue  # what is not known takes every operator
            assert raised is type(error), (source, env, error, raised)
            continue
        assert raised is None, (source, env, expected, raised)
        found = at(vm, outcome.value, env)
        if found is UNKNOWN or (isinstance(found, tuple) and UNKNOWN in found):
            assert not known, (source, env, outcome.value)
            continue
        assert found == expected, (source, env, expected, found)


def _raised(outcome: Outcome, env: Mapping[str, int | bool]) -> Any:
    """The error that is raised for given inputs, None if there is none."""
    try:
        for escape in outcome.escapes:
            if E.evaluate(escape.guard, env):
                assert escape.fault is not None
                return escape.fault.error
    except E.EvaluationError:
        return UNKNOWN
    return None


def assignments(ranges: Mapping[str, range]) -> Iterator[dict[str, int]]:
    for values in itertools.product(*ranges.values()):
        yield dict(zip(ranges, values, strict=True))


def right_or_unknown(source: str, ranges: Mapping[str, range], bounded: bool = True) -> None:
    """Assert that all that is said of the items of ``result``, a tuple, is what CPython says.

    ``bounded``: it is known where each integer's range ends.
    """
    vm = machine()
    symbols: dict[str, object] = {
        name: E.symbol(name, values[0], values[-1] if bounded else None)
        for name, values in ranges.items()
    }
    outcome = execute(vm, source, **symbols)
    if outcome.skipped:
        return
    for env in assignments(ranges):
        place: dict[str, object] = dict(env)
        exec(source, place)
        expected = place["result"]
        assert all(at(vm, escape.guard, env) in (False, UNKNOWN) for escape in outcome.escapes)
        assert isinstance(outcome.value, tuple) and isinstance(expected, tuple)
        for mine, theirs in zip(outcome.value, expected, strict=True):
            found = at(vm, mine, env)
            assert found is UNKNOWN or found == theirs, (source, env, mine, theirs)


# ------------------------------------------------------------------------ whole programs


def imported(folder: Path) -> tuple[VM, object]:
    """The machine after it has imported ``main``, and the value of ``result`` in it."""
    project = Project([folder])
    path = folder / "main.py"
    vm = _machine(project, path, NoDialect())
    try:
        return vm, modules.global_value(vm, project.module(path), "result")
    except Ended:
        return vm, UNBOUND


def result_of(folder: Path) -> object:
    """What CPython leaves in ``result`` when it imports ``main``."""
    command = [sys.executable, "-c", "import main; print(repr(main.result))"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    return ast.literal_eval(done.stdout)


def program(source: str) -> None:
    """Assert that statements leave in ``result`` what CPython leaves there, or die of the same."""
    outcome = execute(machine(), source)
    try:
        place = executed(source)
    except Exception as error:
        assert outcome.error is type(error), (error, outcome.error, outcome.value, outcome.skipped)
        return
    assert not outcome.ended, outcome.error
    assert not outcome.skipped, outcome.skipped
    assert outcome.host == place["result"]


def program_for(source: str, ranges: Mapping[str, range]) -> None:
    """The same for symbolic integers, each of which lies in a range; for every choice of them."""
    vm = machine()
    symbols = {name: E.symbol(name, values[0], values[-1]) for name, values in ranges.items()}
    outcome = execute(vm, source, **symbols)
    assert not outcome.skipped, outcome.skipped
    assert not vm.trace.ledger, vm.trace.ledger
    for choice in itertools.product(*ranges.values()):
        env = dict(zip(ranges, choice, strict=True))
        place: dict[str, Any] = dict(env)
        try:
            exec(source, place)
        except Exception as error:
            raised = [e for e in outcome.escapes if E.evaluate(e.guard, env)]
            assert raised and raised[0].fault is not None, (env, error)
            assert raised[0].fault.error is type(error), (env, error)
            continue
        assert not any(E.evaluate(e.guard, env) for e in outcome.escapes), env
        assert at(vm, outcome.value, env) == place["result"], env
