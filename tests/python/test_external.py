"""What is not of the project, and the values that there is one of."""

from __future__ import annotations

import pytest

from tests.python.programs import same
from tests.python.support import at, machine, run
from verifier.symbolic import expr as E
from verifier.symbolic.values import ExternalRef, Opaque

SINGLETONS = ("None", "...", "NotImplemented")


@pytest.mark.parametrize("name", SINGLETONS)
@pytest.mark.parametrize(
    "use",
    ["x is x", "x == x", "x != 1", "str(x)", "x + 1", "x[0]", "x()", "len(x)", "x.y",
     "x < x", "iter(x)", "{x: 1}[x]", "type(x).__name__",
     "1 in x", "-x", "[x].index(x)"],
)  # fmt: skip
def test_values_that_there_is_one_of(name: str, use: str) -> None:
    same(f"def run():\n    x = {name}\n    return {use}\n")


def test_none_is_false() -> None:
    same("def run(): return not None, bool(None), 1 if ... else 2, None or 'a'\n")


def external() -> str:
    return "import elsewhere\nfrom elsewhere.deep import thing\n"


@pytest.mark.parametrize("source", ["elsewhere", "elsewhere.a.b", "thing", "thing.c"])
def test_a_name_of_a_library(source: str) -> None:
    outcome = run(machine(external()), source)
    assert isinstance(outcome.value, ExternalRef) and not outcome.skipped and not outcome.escapes


@pytest.mark.parametrize("source", ["thing(1)", "thing[0]", "thing + 1", "-thing", "thing.f(x=2)"])
def test_what_a_library_makes_is_not_followed(source: str) -> None:
    outcome = run(machine(external()), source)
    assert isinstance(outcome.value, Opaque) and not outcome.value.harmless


@pytest.mark.parametrize(
    "source", ["thing == 1", "thing() is None", "thing()", "not thing()", "thing() in (1, 2)"]
)
def test_a_condition_on_it_is_either(source: str) -> None:
    outcome = run(machine(external()), f"1 if {source} else 2")
    assert isinstance(outcome.value, E.Expr) and E.bounds(outcome.value) == (1, 2)
    assert outcome.vm.trace.ledger


@pytest.mark.parametrize(
    "source", ["thing(a)", "thing(x=[a])", "thing(lambda: a)", "thing((a, 1))"]
)
def test_what_a_library_is_given_may_be_changed(source: str) -> None:
    vm = machine(external() + f"def run():\n    a = [1]\n    {source}\n    return len(a)\n")
    outcome = run(vm, "run()")
    assert outcome.skipped or isinstance(outcome.value, Opaque)


def test_what_it_is_not_given_stays() -> None:
    vm = machine(external() + "def run():\n    a = [1]\n    thing(2)\n    return len(a)\n")
    outcome = run(vm, "run()")
    assert at(vm, outcome.value, {}) == 1 and not outcome.skipped


@pytest.mark.parametrize(
    "test",
    ["thing is None", "thing == None", "None is thing", "thing is True", "thing is 3",
     "thing is 'a'", "thing is held", "None in [thing]", "thing != thing",
     "getattr(elsewhere, 'T', None) is None", "given() is None"],
)  # fmt: skip
def test_a_name_of_a_library_may_stand_for_anything(test: str) -> None:
    vm = machine(external() + "held = [1]\ndef given(a=thing): return a\n")
    outcome = run(vm, f"1 if {test} else 2")
    assert isinstance(outcome.value, E.Expr) and E.bounds(outcome.value) == (1, 2)


@pytest.mark.parametrize("test", ["elsewhere is None", "elsewhere == None", "elsewhere is 3"])
def test_a_module_is_not_none(test: str) -> None:
    assert at(machine(), run(machine(external()), f"1 if {test} else 2").value, {}) == 2


SEEN = """
seen = []
class Mine:
    def __radd__(self, other): seen.append(1)
    def __eq__(self, other): seen.append(1)
    def __hash__(self):
        seen.append(1)
        return 1
"""


@pytest.mark.parametrize(
    "act",
    ["y + Mine()", "Mine() + y", "y == Mine()", "Mine() in y", "y[Mine()]", "y + seen",
     "seen + y", "y << seen", "y.a = seen", "y[0] = seen", "y[Mine()] = 1", "thing + Mine()",
     "thing == Mine()", "thing[seen]", "seen in thing"],
)  # fmt: skip
def test_operators_may_ask_and_change_the_other_operand(act: str) -> None:
    text = f"def go():\n    y = thing()\n    {act}\n    return len(seen)\n"
    outcome = run(machine(external() + SEEN + text), "go()")
    assert outcome.skipped


@pytest.mark.parametrize("act", ["y + 1", "y == 'a'", "y[0]", "1 in y", "y[0] = 2", "y + [1]"])
def test_operators_leave_what_they_are_not_given(act: str) -> None:
    text = f"def go():\n    y = thing()\n    {act}\n    return len(seen)\n"
    vm = machine(external() + SEEN + text)
    outcome = run(vm, "go()")
    assert at(vm, outcome.value, {}) == 0 and not outcome.skipped


@pytest.mark.parametrize(
    "act",
    ["thing()", "thing.a", "thing[0]", "thing + 1", "-thing", "len(thing)", "bool(thing)",
     "thing() + 1", "thing().a", "list(thing)", "inner()", "abs(thing)", "range(thing)",
     "str(thing)", "f'{thing}'", "'%s' % thing", "'{}'.format(thing)"],
)  # fmt: skip
@pytest.mark.parametrize("catch", ["except Exception", "except", "except thing.Error"])
def test_a_library_may_raise_where_it_is_caught(act: str, catch: str) -> None:
    text = (
        "def inner():\n    try: return thing()\n    finally: pass\n"
        f"def go():\n    try:\n        {act}\n    {catch}:\n        return 2\n    return 1\n"
    )
    outcome = run(machine(external() + text), "go()")
    assert outcome.skipped or E.bounds(outcome.value) == (1, 2)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "text",
    ["try: thing()\n    finally: y = 3", "with thing(): y = 3", "thing().a\n    y = 3",
     "try: elsewhere\n    except Exception: y = 4\n    else: y = 3"],
)  # fmt: skip
def test_what_nothing_catches_is_not_raised(text: str) -> None:
    vm = machine(external() + f"def go():\n    y = 0\n    {text}\n    return y\n")
    outcome = run(vm, "go()")
    assert at(vm, outcome.value, {}) == 3 and not outcome.skipped and not outcome.escapes


def test_many_calls_that_may_raise_are_not_followed_one_by_one() -> None:
    text = "def go():\n    try:\n" + "        thing()\n" * 20 + "    except Exception: return 2\n"
    assert run(machine(external() + text), "go()").skipped


@pytest.mark.parametrize("act", ["[][0]", "raise ValueError", "return int('a')"])
def test_a_foreign_manager_may_swallow(act: str) -> None:
    text = f"def go():\n    with thing(): {act}\n    return 1\n"
    outcome = run(machine(external() + text + "def out(): return go()\n"), "out()")
    assert not outcome.ended and outcome.escapes and outcome.escapes[0].guard is not E.TRUE


def test_a_default_may_be_what_an_attribute_of_a_library_is() -> None:
    text = "held = []\ndef go():\n    getattr(thing, 'a', held).append(1)\n    return len(held)\n"
    outcome = run(machine(external() + text), "go()")
    assert outcome.skipped or E.bounds(outcome.value) == (0, 1)  # type: ignore[arg-type]


OUTSIDE = """
class Made(metaclass=thing.Meta):
    a = 1
    @staticmethod
    def f(): return 1
class Based(thing.Base):
    a = 1
    @staticmethod
    def f(): return 1
class Held:
    a = thing.field()
    b = thing.method
    c = 1
    def __init__(self): self.d = 4
"""


@pytest.mark.parametrize(
    "use",
    ["Made.a", "Based.a", "Made.f()", "Based.f()", "1 if Made else 2", "setattr(Based, 'a', 2)",
     "Held().a", "Held().b", "setattr(Held(), 'a', 3)", "setattr(Held(), 'b', 3)"],
)  # fmt: skip
def test_what_a_library_may_have_a_hand_in_is_not_followed(use: str) -> None:
    assert run(machine(external() + OUTSIDE), use).skipped


@pytest.mark.parametrize(("use", "value"), [("Held.c", 1), ("Held().c", 1), ("Held().d", 4)])
def test_what_stands_beside_it_is_followed(use: str, value: int) -> None:
    outcome = run(machine(external() + OUTSIDE), use)
    assert outcome.host == value and not outcome.skipped


@pytest.mark.parametrize(
    "act",
    ["next(iter(thing))", "[i for i in itertools.chain([1], thing)]",
     "[i for i in itertools.chain(thing, [1])]", "list(itertools.chain([1], thing))",
     "list(zip(iter(thing), itertools.count()))"],
)  # fmt: skip
def test_where_the_items_of_a_library_end_is_not_known(act: str) -> None:
    vm = machine(external() + "import itertools\n")
    assert run(vm, act).skipped and vm.steps < 1000


@pytest.mark.parametrize(
    "test",
    ["isinstance(1, thing)", "isinstance(1, (str, thing))", "issubclass(int, thing)",
     "issubclass(thing, int)", "isinstance(y, thing.A)"],
)  # fmt: skip
def test_what_may_be_no_class_may_be_refused_where_that_is_caught(test: str) -> None:
    text = (
        f"def go():\n    y = [1]\n    r = 1\n    try:\n        if {test}: r = 1\n"
        "    except TypeError:\n        r = 2\n    return r\n"
    )
    outcome = run(machine(external() + text), "go()")
    assert outcome.skipped or E.bounds(outcome.value) == (1, 2)  # type: ignore[arg-type]


def test_a_class_that_is_found_first_is_the_answer() -> None:
    text = (
        "def go():\n    try: return isinstance(1, (int, thing))\n    except TypeError: return 2\n"
    )
    outcome = run(machine(external() + text), "go()")
    assert outcome.host is True and not outcome.skipped
