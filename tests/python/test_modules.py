"""Modules of the project: what their bodies do, in which order, and what imports bring."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

import pytest

from tests.python.programs import same
from tests.python.support import NoDialect, Outcome, machine, run
from verifier.hardware.targets import TARGETS
from verifier.solver.solver import Solver
from verifier.source.ir import Span
from verifier.source.project import Project
from verifier.source.sources import Sources
from verifier.symbolic import expr as E
from verifier.symbolic.generation import Generation
from verifier.symbolic.python import modules
from verifier.symbolic.python.flow import Frame
from verifier.symbolic.python.inputs import Inputs
from verifier.symbolic.python.language import PYTHON
from verifier.symbolic.python.vm import VM
from verifier.symbolic.trace import Trace
from verifier.symbolic.values import Opaque

BODIES = {
    "a name that is bound again": """
import math
x = math.ceil(1.5)
math = 1
def run(): return x, math
""",
    "two imports of one name": """
import math
def f(): return math.ceil(1.5)
x = f()
import operator as math
def run(): return x, math.add(1, 2)
""",
    "a list that grows": """
log = []
def note(x):
    log.append(x)
    return len(log)
a = note("a")
b = note("b")
def run(): return log, a, b
""",
    "a copy of before": """
log = [1]
before = list(log)
log.append(2)
def run(): return log, before
""",
    "a loop at top level": """
table = {}
for k in range(3):
    table[k] = k * k
def run(): return list(table.items()), k
""",
    "a function redefined": """
def f(): return 1
x = f()
def f(): return 2
def run(): return x, f()
""",
    "a value of before": """
a = 1
b = a
a = 2
def run(): return a, b
""",
    "definitions on conditions": """
if len("ab") == 2:
    def f(): return "new"
else:
    def f(): return "old"
try:
    import math
except ImportError:
    math = None
def run(): return f(), math.floor(2.5)
""",
    "what is said for whom it is run": """
x = 1
if __name__ == "__main__":
    x = 2
def run(): return x
""",
    "a name that a function binds in the module": """
count = 0
def tick():
    global count
    count += 1
    return count
tick()
def run(): return tick(), count
""",
    "names of built-in functions": """
max = min
def run(): return max(1, 2)
""",
}


@pytest.mark.parametrize("name", BODIES)
def test_bodies(name: str) -> None:
    same(BODIES[name])


def test_what_a_body_gives_away_is_not_followed() -> None:
    outcome = run(machine("import elsewhere\nlog = []\nelsewhere.fill(log)\n"), "len(log)")
    assert isinstance(outcome.value, Opaque) and not outcome.value.harmless


def test_a_name_that_is_deleted_is_not_followed() -> None:
    outcome = run(machine("a = 1\ndel a\n"), "a")
    assert outcome.error is NameError or isinstance(outcome.value, Opaque)


# ------------------------------------------------------------------------ several modules


def project(root: Path, **texts: str) -> Outcome:
    """``run()`` of the module ``main``, beside others."""
    E.fresh_context()
    for name, text in texts.items():
        path = root / f"{name.replace('__', '/')}.py"
        path.parent.mkdir(exist_ok=True)
        (path.parent / "__init__.py").touch() if path.parent != root else None
        path.write_text(textwrap.dedent(text), encoding="utf-8")
    place = root / "main.py"
    whole = Project([root], Sources())
    span = Span(str(place), 1, 0, 1, 1)
    state: dict[str, Any] = {
        "hardware": next(iter(TARGETS.values())),
        "generation": Generation(name="none"),
        "trace": Trace("k", str(place), span, Generation(name="none"), "none"),
        "inputs": Inputs(),
        "decide": Solver().decide,
    }
    vm = VM(PYTHON, NoDialect(), project=whole, **state)
    module = whole.module(place)
    scope = modules.started(vm, module).scope
    vm.frames.append(Frame(module, scope.id, 0))
    return run(vm, "run()")


def test_names_of_another_module(tmp_path: Path) -> None:
    outcome = project(
        tmp_path,
        main="""
            import helper
            from helper import double as twice, LIMIT
            def run(): return helper.double(2), twice(LIMIT)
        """,
        helper="""
            LIMIT = 5
            def double(x): return x * 2
        """,
    )
    assert outcome.host == (4, 10) and not outcome.skipped


def test_a_module_is_run_once(tmp_path: Path) -> None:
    outcome = project(
        tmp_path,
        main="""
            import helper
            import other
            def run(): return helper.log, other.seen
        """,
        helper="""
            log = []
            log.append("helper")
        """,
        other="""
            import helper
            helper.log.append("other")
            seen = len(helper.log)
        """,
    )
    assert outcome.host == (["helper", "other"], 2)


def test_a_module_of_a_package(tmp_path: Path) -> None:
    outcome = project(
        tmp_path,
        main="""
            import tools.sizes
            from tools import sizes as other
            def run(): return tools.sizes.WIDTH + other.WIDTH
        """,
        tools__sizes="WIDTH = 4\n",
    )
    assert outcome.host == 8


def test_everything_of_a_module(tmp_path: Path) -> None:
    outcome = project(
        tmp_path,
        main="""
            from helper import *
            def run():
                try:
                    return a, _b
                except NameError:
                    return a
        """,
        helper="a, _b = 1, 2\n",
    )
    assert outcome.host == 1


def test_modules_that_import_each_other(tmp_path: Path) -> None:
    outcome = project(
        tmp_path,
        main="""
            import helper
            x = 3
            def run(): return helper.read()
        """,
        helper="""
            import main
            def read(): return main.x
        """,
    )
    assert outcome.host == 3


def test_a_name_that_a_module_does_not_have(tmp_path: Path) -> None:
    outcome = project(
        tmp_path,
        main="""
            import helper
            def run(): return helper.missing
        """,
        helper="a = 1\n",
    )
    assert outcome.error is AttributeError


def test_a_name_that_cannot_be_imported(tmp_path: Path) -> None:
    outcome = project(
        tmp_path,
        main="""
            def run():
                try:
                    from helper import missing
                except ImportError:
                    return 1
                return 2
        """,
        helper="a = 1\n",
    )
    assert outcome.host == 1


def test_a_module_is_changed_from_outside(tmp_path: Path) -> None:
    outcome = project(
        tmp_path,
        main="""
            import helper
            helper.width = 7
            def run(): return helper.read(), helper.width
        """,
        helper="""
            width = 1
            def read(): return width
        """,
    )
    assert outcome.host == (7, 7)
