"""What may be in a place when a trip starts: loops whose bodies change it on some paths only.

Whatever CPython does for some number of trips has to be among what the machine says may happen.
"""

from __future__ import annotations

import itertools
import textwrap
import time
from collections.abc import Mapping
from typing import Any, Final

import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from tests.python.support import UNKNOWN, Outcome, assignments, at, execute, executed, machine, run
from tests.python.test_forms import context
from tests.sweeps import examples, part
from verifier.symbolic import expr as E
from verifier.symbolic.python.carried import ORDER, WHOLE, Place
from verifier.symbolic.python.flow import AbortedRunError
from verifier.symbolic.python.heap import UNBOUND, Heap, Item, ListBox, Scope
from verifier.symbolic.python.vm import VM
from verifier.symbolic.python.widening import (
    FEW,
    TIMES,
    AnyList,
    Loose,
    May,
    Shuffled,
    Widened,
    loosened,
    may,
)
from verifier.symbolic.trace import LedgerKind
from verifier.symbolic.values import Guarded, Opaque

HEAD = """
class C:
    pass

class D(C):
    kind = 2

class S(list):
    pass
"""


def possible(vm: VM, value: object, env: Mapping[str, int], expected: object) -> bool:
    """Whether a value may be the expected one, whatever is not known."""
    if isinstance(value, Guarded):
        return any(
            holds(guard, env) is not False and possible(vm, case, env, expected)
            for guard, case in value.cases
        )
    if isinstance(value, tuple) and isinstance(expected, tuple):
        return len(value) == len(expected) and all(
            possible(vm, v, env, e) for v, e in zip(value, expected, strict=True)
        )
    found = at(vm, value, env)
    if found is UNKNOWN and isinstance(value, E.Expr):
        return type(expected) is int
    if found is UNKNOWN and isinstance(value, E.Bool):
        return type(expected) is bool
    if found is UNKNOWN or (isinstance(found, list) and UNKNOWN in found):
        return True
    return type(found) is type(expected) and found == expected


def holds(guard: E.Bool, env: Mapping[str, int]) -> bool | None:
    """Whether a condition holds; None: that depends on what is not known."""
    try:
        return bool(E.evaluate(guard, env))
    except E.EvaluationError:
        return None


def covered(body: str, *, most: float | None = None, **ranges: range) -> Outcome:
    """Assert that what CPython does for each choice is among what the machine says.

    Raises:
        AbortedRunError: the machine has not come to its end after ``most`` seconds.
    """
    text = HEAD + textwrap.dedent(body)
    vm = machine(text)
    vm.deadline = None if most is None else time.process_time() + most
    names: dict[str, object] = {n: E.symbol(n, r[0], r[-1]) for n, r in ranges.items()}
    outcome = run(vm, f"run({', '.join(ranges)})", **names)
    if outcome.skipped:
        return outcome
    for env in assignments(ranges):
        place = executed(text, __name__=__name__)
        try:
            expected = place["run"](**env)
        except Exception as error:
            raised = [e for e in outcome.escapes if holds(e.guard, env) is not False]
            assert any(e.fault is not None and e.fault.error is type(error) for e in raised), (
                text,
                env,
                error,
            )
            continue
        assert not any(holds(e.guard, env) for e in outcome.escapes), (text, env, expected)
        assert not outcome.ended, (text, env, expected)
        assert possible(vm, outcome.value, env, expected), (text, env, expected, outcome.value)
    return outcome


# ------------------------------------------------------------------------ one by one

#: what is there before, what a trip reads, what it changes on some paths
CHANGES = {
    "an attribute is deleted": ("c = C()\n    c.v = 1", "q = c.v", "del c.v"),
    "an attribute becomes None": ("c = C()\n    c.v = 1", "q = c.v + 1", "c.v = None"),
    "an attribute becomes a text": ("c = C()\n    c.v = 1", "q = c.v + 1", "c.v = 'a'"),
    "an attribute is made": ("c = C()", "q = getattr(c, 'v', 0)", "c.v = 1"),
    "an entry is deleted": ("c = {'v': 1}", "q = c['v']", "del c['v']"),
    "a dictionary is emptied": ("c = {'v': 1}", "q = c['v']", "c.clear()"),
    "another dictionary": ("c = {'v': 1}", "q = c['v']", "c = {}"),
    "an entry is made": ("c = {}", "q = 'v' in c", "c['v'] = 1"),
    "another list": ("c = [1]", "q = c[0]", "c = []"),
    "a list is emptied": ("c = [1]", "q = c[0]", "c.clear()"),
    "an item becomes None": ("c = [1]", "q = c[0] + 1", "c[0] = None"),
    "an item is taken out": ("c = [1, 2, 3]", "q = c[0]", "c.pop()"),
    "a name is deleted": ("c = 1", "q = c", "del c"),
    "a name becomes None": ("c = 1", "q = c + 1", "c = None"),
    "a name becomes a float": ("c = 1", "q = c", "c = c + 0.5"),
    "a name becomes a truth value": ("c = 1", "q = isinstance(c, bool)", "c = i > 2"),
    "a flag is turned": ("c = False", "q = c", "c = not c"),
    "a choice of texts": ("c = 'a'", "q = c", "c = 'b' if c == 'a' else 'c'"),
    "a number is doubled": ("c = 1", "q = c", "c = c * 2"),
    "an object of another class": ("c = C()", "q = isinstance(c, D)", "c = D()"),
    "the class of an object": ("c = C()", "q = isinstance(c, D)", "c.__class__ = D"),
    "a list inside an object": ("c = S()", "q = len(c)", "c.append(i)"),
    "the order of a dictionary": (
        "c = {'a': 1, 'b': 2}",
        "q = list(c)[0]",
        "c['a'] = c.pop('a')",
    ),
    "a set": ("c = {1, 2}", "q = 1 in c", "c.discard(1)"),
    "an iterator": ("c = iter([1, 2, 3])", "q = 0", "q = next(c)"),
    "an alias": ("a = [1]\n    b = [2]\n    c = a", "q = c[0]", "c = b"),
}
WAYS = {
    "in the loop": "",
    "after the loop": "after",
    "caught around the loop": "caught",
    "caught in the loop": "within",
    "in a loop that is left": "left",
    "in an inner loop": "inner",
    "while": "while",
}


def program(start: str, read: str, change: str, test: str, way: str) -> str:
    """``def run(n)`` that reads and changes in a loop."""
    trip = f"{read}\nif {test}:\n    {change}"
    if way == "within":
        trip = f"try:\n    {read}\nexcept Exception:\n    q = 'caught'\nif {test}:\n    {change}"
    elif way == "after":
        trip = f"if {test}:\n    {change}"
    elif way == "left":
        trip += "\nif i == 5:\n    break"
    elif way == "inner":
        trip = "for j in range(2):\n" + textwrap.indent(trip, "    ")
    loop = "for i in range(n):\n" + textwrap.indent(trip, "    ")
    if way == "while":
        loop = f"i = 0\nwhile i < n:\n{textwrap.indent(trip, '    ')}\n    i += 1"
    if way == "caught":
        loop = f"try:\n{textwrap.indent(loop, '    ')}\nexcept Exception as e:\n    q = 'caught'"
    elif way == "after":
        loop += f"\n{read}"
    body = textwrap.indent(f"q = 'never'\n{loop}\nreturn q", "    ")
    return f"def run(n):\n    {start}\n{body}\n"


CASES = [(c, w, t) for c in CHANGES for w in WAYS for t in ("i == 3", "i > 3", "i % 2 == 1")]
SOME: list[tuple[str, str, str]] = part(CASES, 4, lambda case: [case[:1], case[1:]])


@pytest.mark.parametrize(("change", "way", "test"), SOME)
def test_what_some_trips_change(change: str, way: str, test: str) -> None:
    covered(program(*CHANGES[change], test, WAYS[way]), n=range(0, 40))


# ------------------------------------------------------------------------ at random

#: seconds for what is drawn: lists that each path of nested loops changes take as long as they are
#: given, as the checks of a kernel do
MOST: Final = 15.0

READS = (
    "q = c.v",
    "q = d['a']",
    "q = l[0]",
    "q = v",
    "q = (v, len(l), 'a' in d, hasattr(c, 'v'))",
    "q = v + 1",
    "q = [type(v) is int, type(v) is float, v is None]",
    "q = c.v is d.get('a')",
    "q = 'yes' if f else 'no'",
)
STORES = (
    "del c.v",
    "c.v = None",
    "c.v = i",
    "c.v = v",
    "del d['a']",
    "d.clear()",
    "d['a'] = c.v",
    "d = {'a': 'x'}",
    "l.clear()",
    "l.append(i)",
    "l[0] = v",
    "l = [v]",
    "del v",
    "v = None",
    "v = v + 1.5",
    "v = v * 2",
    "v, c.v = c.v, v",
    "f = not f",
    "f = v",
    "c = C()",
    "continue",
    "break",
)
TESTS = ("i == 2", "i > 3", "i % 3 == 1", "f", "len(l) > 1", "v is None", "i == k")


@st.composite
def trips(draw: st.DrawFn) -> list[str]:
    """The statements of a loop's body."""
    out = []
    for kind in draw(st.lists(st.sampled_from("rrsst"), min_size=2, max_size=5)):
        read, store = draw(st.sampled_from(READS)), draw(st.sampled_from(STORES))
        if kind == "r":
            out.append(read)
        elif kind == "s":
            out += [f"if {draw(st.sampled_from(TESTS))}:", f"    {store}"]
        else:
            change = "q = 'again'" if store in ("continue", "break") else store
            out += ["try:", f"    {read}", "except Exception:", f"    {change}"]
    return out


def drawn(lines: list[str]) -> None:
    text = textwrap.indent("\n".join(lines), "    ")
    try:
        covered(f"def run(n, k):\n{text}", most=MOST, n=range(12), k=range(3))
    except AbortedRunError:
        reject()


@settings(max_examples=examples(60), deadline=None)
@given(trips(), st.sampled_from(READS), st.booleans())
def test_loops_that_change_things_on_some_paths(body: list[str], last: str, caught: bool) -> None:
    loop = ["for i in range(n):", *(f"    {line}" for line in body)]
    if caught:
        loop = ["try:", *(f"    {line}" for line in loop), "except Exception as e:", "    f = True"]
    start = ["c, d, l, v, f, q = C(), {'a': 1}, [1], 1, False, 0", "c.v = 1"]
    lines = [*start, *loop, last, "return q"]
    drawn(lines)


def looped(body: list[str], how: str) -> list[str]:
    """The lines of a loop with a body, in some way other than ``for`` over a range."""
    if how == "while":
        lines = [line.replace("continue", "q = 5") for line in body]
        return ["i = 0", "while i < n:", *(f"    {line}" for line in lines), "    i += 1"]
    if how == "nested":
        inner = (f"        {line}" for line in body)
        return ["for i in range(n):", "    for j in range(3):", *inner]
    if how == "calls":
        lines = [line.replace("continue", "return").replace("break", "return") for line in body]
        head = ["def body(i):", "    nonlocal c, d, l, v, f, q"]
        return [*head, *(f"    {line}" for line in lines), "for i in range(n):", "    body(i)"]
    return ["for i in (x for x in range(n) if x != k):", *(f"    {line}" for line in body)]


@settings(max_examples=examples(40), deadline=None)
@given(trips(), st.sampled_from(["while", "nested", "calls", "generated"]))
def test_other_loops_that_change_things_on_some_paths(body: list[str], how: str) -> None:
    start = ["c, d, l, v, f, q = C(), {'a': 1}, [1], 1, False, 0", "c.v = 1"]
    drawn([*start, *looped(body, how), "return q"])


def test_a_name_of_another_function_that_is_deleted_in_some_trip() -> None:
    covered(
        """
        def run(n):
            v = 1
            def body(i):
                nonlocal v
                if i > 3:
                    del v
            for i in range(n):
                body(i)
            return 3
        """,
        n=range(0, 12),
    )


# ------------------------------------------------------------------------ what is known still

KNOWN = {
    "what is there stays there": """
        def run(n):
            c, seen = {'a': 1}, False
            for i in range(n):
                if i % 3 == 1:
                    c['a'] = 2
            return 'a' in c
        """,
    "one of a few types": """
        def run(n):
            v = 1
            for i in range(n):
                if i % 3 == 1:
                    v = None
                elif i % 3 == 2:
                    v = 5
            return v is None or isinstance(v, int)
        """,
    "a float stays a float": """
        def run(n):
            s = 0.5
            for i in range(n):
                s = s + 1.0
            return isinstance(s, float)
        """,
    "a flag is a truth value": """
        def run(n):
            f = False
            for i in range(n):
                f = not f if i % 3 == 1 else f
            return isinstance(f, bool)
        """,
    "items that are not touched": """
        def run(n):
            l = [1, 2]
            for i in range(n):
                if i % 3 == 1:
                    l[0] = None
            return (len(l), l[1])
        """,
}


@pytest.mark.parametrize("name", KNOWN)
def test_what_is_known_nevertheless(name: str) -> None:
    outcome = covered(KNOWN[name], n=range(0, 12))
    assert not outcome.skipped
    assert not outcome.escapes
    assert all(entry.symbols for entry in outcome.vm.trace.ledger)


def test_what_may_raise_is_no_certain_end() -> None:
    """What only a later trip meets is caught around the loop and in it."""
    outcome = covered(
        """
        def run(n):
            d, w = 1, 3
            try:
                for i in range(n):
                    q = d + 1
                    d = None
            except TypeError:
                w = 20
            return w
        """,
        n=range(0, 12),
    )
    assert not outcome.skipped and not outcome.escapes


def test_a_condition_is_met_by_another_unknown_in_each_trip() -> None:
    """What holds of the first trip of a ``while`` loop and of its last one, holds of two values."""
    source = """
i, v, r = 0, n, 0
while i + v == n:
    i += 1
    v = n - i if i < k else v * v + 1
    r += 1
result = r
"""
    vm = machine()
    ranges = {"n": range(20, 40), "k": range(30)}
    outcome = execute(
        vm, source, **{name: E.symbol(name, r[0], r[-1]) for name, r in ranges.items()}
    )
    env = {"n": 20, "k": 9}
    place: dict[str, Any] = dict(env)
    exec(source, place)
    assert place["result"] > 3
    value = outcome.value
    assert isinstance(value, E.Expr)
    facts: tuple[E.Expr | E.Bool, ...] = (value, *vm.path)
    unknown = sorted({s.name for fact in facts for s in fact.free()} - {*env})
    choices = itertools.product(range(25), repeat=len(unknown))
    assert any(
        E.evaluate(value, choice) == place["result"]
        and all(E.evaluate(fact, choice) for fact in vm.path)
        for choice in ({**env, **dict(zip(unknown, c, strict=True))} for c in choices)
    )


# ------------------------------------------------------------------------ one form by itself


def test_joined_values() -> None:
    one, two, three = (May((E.const(k),)) for k in (1, 2, 3))
    assert one.joined(two).values == (E.const(1), E.const(2))
    assert one.joined(two).joined(three) == May(number=True, low=1)
    assert May((True,)).joined(May(truth=True)) == May(truth=True)
    floats = May((0.5,)).joined(May((1.5,)))
    assert floats.covers(May((2.5,))) and not floats.covers(May(("text",)))
    texts = May(("a",)).joined(May(("b",)))
    assert texts.covers(May(("a",))) and not texts.covers(May(("c",)))
    assert texts.coarse().covers(May(("c",)))
    many = May(tuple(f"value {k}" for k in range(FEW + 1))).simple()
    assert many == May(anything=True)
    gone = May((UNBOUND,)).joined(many)
    assert gone == May((UNBOUND,), anything=True)
    assert gone.covers(one) and not many.covers(gone)


def test_what_a_value_may_be_in_any_trip() -> None:
    loop = context()
    heap = loop.vm.heap
    loop.before = heap.fork()
    old = loop.vm.frame.scope
    assert may(loop, loop.loop.index) == May(number=True, low=0)
    assert may(loop, loop.loop.index * -1) == May(number=True)
    assert may(loop, E.eq(loop.loop.index, 2)) == May(truth=True)
    assert may(loop, (1.5, "text")) == May(((1.5, "text"),))
    assert may(loop, (loop.loop.index, "text")) == May(anything=True)
    assert may(loop, heap.new(ListBox())) == May(anything=True)
    some = Guarded(((E.eq(loop.loop.index, 2), UNBOUND), (E.ne(loop.loop.index, 2), None)))
    assert may(loop, some) == May((UNBOUND, None))
    assert old in loop.before.boxes or loop.before.find(old) is not None


def test_another_unknown_each_time() -> None:
    loop = context()
    form = Widened(May(number=True), "a")
    inside, after = form.at(loop, loop.loop.index), form.after(loop)
    assert isinstance(inside, E.Expr) and isinstance(after, E.Expr)
    assert inside is not after and not inside.is_const
    assert not form.exact and form.holds(loop, inside, loop.vm.heap)
    assert not form.holds(loop, None, loop.vm.heap)
    assert not form.holds(loop, UNBOUND, loop.vm.heap)
    assert [entry.kind for entry in loop.vm.trace.ledger] == [LedgerKind.HAVOC]
    anything = Widened(May(anything=True), "b").at(loop, loop.loop.index)
    assert isinstance(anything, Opaque) and anything.lost
    assert len(loop.vm.trace.ledger) == 1  # whoever reads it is not followed


def test_widening_comes_to_an_end() -> None:
    loop = context()
    heap = Heap()
    ref = heap.new(Scope({"a": "text"}))
    form = loosened(loop, Place(ref.id, "a"), "text", "texttext", heap, heap)
    for k in range(3, TIMES + 6):
        if form.holds(loop, "text" * k, heap):
            break
        form = form.wider(loop, "text" * k, heap)
    else:
        raise AssertionError(form)
    assert form.holds(loop, "another", heap) and not form.holds(loop, None, heap)
    for value in (None, 1.5, (1,), b"", ..., UNBOUND):
        form = form.wider(loop, value, heap)
    assert form.holds(loop, {}, heap) and form.holds(loop, UNBOUND, heap)


def test_lists_and_orders() -> None:
    loop = context()
    heap = loop.vm.heap
    ref = heap.new(ListBox((Item("a"), Item("kept"))))
    place = Place(ref.id, WHOLE)
    was = (Item("a"), Item("kept"))
    form = loosened(loop, place, was, (Item(None), Item("kept")), heap, heap)
    assert isinstance(form, Loose) and form.items[1] is None
    assert form.holds(loop, was, heap)
    assert form.holds(loop, (Item(None), Item("kept")), heap)
    assert not form.holds(loop, (Item("b"), Item("kept")), heap)
    assert not form.holds(loop, (Item("a"), Item("lost")), heap)
    assert not form.holds(loop, (Item("a"),), heap)
    wider = form.wider(loop, (Item("a"), Item("lost")), heap)
    assert wider.holds(loop, (Item("a"), Item("lost")), heap)
    assert isinstance(form.wider(loop, (Item("a"),), heap), AnyList)
    assert isinstance(loosened(loop, place, was, (), heap, heap), AnyList)
    assert isinstance(loosened(loop, Place(ref.id, ORDER), False, True, heap, heap), Shuffled)


@pytest.mark.parametrize(
    ("step", "least"),
    [("p *= 2", 1), ("p += n // p", 1), ("p = max(p - 1, 3)", 1), ("p -= n * p", None),
     ("p = 3 - p * p", None), ("p = p // 2 + 1", None), ("p = abs(p - n * n)", None)],
)  # fmt: skip
def test_what_integers_are_at_least_is_known_where_each_trip_keeps_it(
    step: str, least: int | None
) -> None:
    text = f"def run(n, m):\n    p = 1\n    for _ in range(m):\n        {step}\n    return p\n"
    vm = machine(text)
    found = run(vm, "run(n, m)", n=E.symbol("n", 1), m=E.symbol("m", 0)).value
    assert isinstance(found, E.Expr)
    low, _ = E.bounds(found)
    assert least is None or low == least
    for n in range(1, 6):
        for m in range(6):
            value = executed(text)["run"](n, m)
            assert low is None or value >= low


def test_a_number_that_doubles_is_never_zero() -> None:
    vm = machine("def run(n):\n    p = 1\n    while p < n:\n        p *= 2\n    return p\n")
    outcome = run(vm, "run(n)", n=E.symbol("n", 1))
    assert isinstance(outcome.value, E.Expr) and E.bounds(outcome.value)[0] == 1
