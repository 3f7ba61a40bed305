"""Assignment: to what, in which order, and the errors of unpacking."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.python.programs import same, same_for
from tests.python.support import SPAN, machine, program, program_for
from verifier.symbolic import expr as E
from verifier.symbolic.python.binding import unpacked
from verifier.symbolic.python.flow import Ended
from verifier.symbolic.python.terms import join
from verifier.symbolic.values import Opaque

NAMES = "abcd"
TARGETS = st.recursive(
    st.sampled_from(NAMES),
    lambda inner: st.lists(inner, min_size=1, max_size=3).map(lambda p: f"({', '.join(p)},)"),
    max_leaves=4,
)
STARRED = st.builds(
    lambda before, star, after: f"({', '.join([*before, '*' + star, *after])},)",
    st.lists(st.sampled_from(NAMES), max_size=2),
    st.sampled_from(NAMES),
    st.lists(st.sampled_from(NAMES), max_size=2),
)
VALUES = st.recursive(
    st.sampled_from(["1", "'xy'", "None", "range(3)", "{1: 2, 3: 4}"]),
    lambda inner: st.lists(inner, max_size=3).map(lambda p: f"({', '.join(p)}{',' * bool(p)})"),
    max_leaves=5,
)


@given(st.one_of(TARGETS, STARRED), VALUES)
def test_what_is_unpacked(target: str, value: str) -> None:
    held = "".join(
        f"try: result.append({name})\nexcept NameError: result.append('unbound')\n"
        for name in NAMES
    )
    source = (
        "result = []\n"
        f"try:\n    {target} = {value}\n"
        "except Exception as error:\n    result.append(type(error).__name__)\n"
        f"{held}"
    )
    program(source)


PROGRAMS = {
    "the value first, then targets from left to right": """
def run():
    log = []
    def note(x):
        log.append(x)
        return x
    items = [0, 0]
    items[note(0)] = items[note(1)] = note("value")
    return log, items
""",
    "a target that is used by the next": """
def run():
    items = [5, 6]
    i = 0
    i, items[i] = 1, "new"
    return i, items
""",
    "an augmented item is looked up once": """
def run():
    log = []
    items = [1, 2]
    def at(k):
        log.append(k)
        return k
    items[at(1)] += 5
    return log, items
""",
    "augmented in place": """
def run():
    a = b = [1]
    a += [2]
    c = d = (1,)
    c += (2,)
    return a is b, b, c, d
""",
    "augmented in place in a tuple": """
def run():
    t = ([1],)
    try:
        t[0] += [2]
    except TypeError:
        return t
""",
    "augmented attributes": """
class A:
    x = 1
def run():
    a = A()
    a.x += 1
    return a.x, A.x
""",
    "a starred list is a new one": """
def run():
    items = [1, 2, 3]
    *rest, last = items
    rest.append(9)
    return items, rest, last
""",
    "deleted": """
def run():
    out = []
    a, items, d = 1, [1, 2, 3], {"k": 1}
    del a, items[0], d["k"]
    for what in (lambda: items, lambda: d):
        out.append(what())
    try:
        del d["k"]
    except KeyError as error:
        out.append(error.args)
    try:
        return a
    except UnboundLocalError:
        return out
""",
    "deleted twice": """
def run():
    x = 1
    del x
    del x
""",
    "mangled names": """
class A:
    def __init__(self):
        self.__x = 1
        self.__x += 1
    def show(self): return self.__x
def run():
    a = A()
    return a.show(), a._A__x, hasattr(a, "__x")
""",
    "the target of a loop is any target": """
def run():
    d, out = {}, []
    for d["k"], (a, *b) in [(1, (2, 3)), (4, "xyz")]:
        out.append((d["k"], a, b))
    return out
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name: str) -> None:
    same(PROGRAMS[name])


def test_a_list_whose_length_depends_on_the_inputs() -> None:
    source = """
        def run(n):
            items = [k for k in range(n)]
            a, b = items
            return a + b
    """
    same_for(source, n=range(5))


def test_an_item_that_depends_on_the_inputs() -> None:
    program_for(
        "items = [1, 2, 3]\nitems[n] = 9\nitems[n] += m\nresult = (items[0], items[1], items[2])",
        {"n": range(3), "m": range(3)},
    )


def test_values_by_path() -> None:
    source = """
        def run(n):
            a, b = (1, 2) if n > 1 else (3, 4) if n else (5, 6, 7)
            return a, b
    """
    same_for(source, n=range(4))


def test_the_message_of_a_mismatch() -> None:
    vm = machine()
    with pytest.raises(Ended):
        unpacked(vm, ("a", "b", "c"), 2, None, SPAN)
    (check,) = vm.checks
    assert check.rule == "unpack-mismatch"
    assert check.check.message == "cannot unpack 3 values into 2 names"


def test_what_is_not_followed_has_as_many_items_as_are_asked_for() -> None:
    vm = machine()
    lost = Opaque("something")
    assert unpacked(vm, lost, 3, None, SPAN) == (lost, lost, lost)
    assert not vm.trace.ledger
    p = E.eq(E.symbol("p", 0, 1), 1)
    found = unpacked(vm, join(p, ("a", "b"), lost), 2, None, SPAN)
    assert len(found) == 2


@pytest.mark.parametrize("count", [1, 2, 3, 4])
@pytest.mark.parametrize(
    "kind", ["({}  for _ in range(count))", "made(count)", "map(note, range(count))"]
)
def test_unpacking_a_generator_runs_it_to_its_end(kind: str, count: int) -> None:
    same(f"""
        def run():
            log = []
            count = {count}
            def note(k=None):
                log.append(k)
                return len(log)
            def made(n):
                for k in range(n):
                    yield note(k)
                log.append("end")
            try:
                a, b = {kind.format("note()")}
            except ValueError:
                return "wrong number"
            return a, b, log
    """)


def test_items_of_a_generator_that_depend_on_an_input() -> None:
    same_for(
        """
        def run(n):
            try:
                a, b = (k + n for k in range(n))
            except ValueError:
                return None
            return a, b
        """,
        n=range(0, 5),
    )


def test_parts_of_a_tuple_are_evaluated_before_any_is_bound() -> None:
    same("""
        def run():
            log = []
            class Box:
                pass
            box = Box()
            a, b = 1, 2
            a, b = b, a
            box.x, a = a, (log.append("first"), b)
            return a, b, box.x, log
    """)


@pytest.mark.parametrize("target", ["a, *b", "*a, b", "a, *b, c", "*a,", "a, *b, c, d, e"])
def test_a_generator_is_unpacked_around_a_star(target: str) -> None:
    same(f"""
        def run():
            a = b = c = None
            try:
                {target} = (k * k for k in range(4))
            except ValueError:
                return "too few"
            return a, b, c
    """)
