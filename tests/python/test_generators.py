"""Generator functions and generator expressions, run through and asked for single items."""

from __future__ import annotations

import gc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.python.operations import check
from tests.python.programs import same, same_for, unknown
from tests.python.support import machine, program, run
from tests.sweeps import examples
from verifier.symbolic import expr as E
from verifier.symbolic.python import suspended
from verifier.symbolic.trace import LedgerKind

EXAMPLES = settings(max_examples=examples(75), deadline=None)

MIXED_STEPS = [
    "next(a)", "next(b)", "next(c)", "a.send('x')", "list(c)", "next(a, 0)", "a.send('stop')",
    "a.throw(KeyError)", "b.close()",
]  # fmt: skip
GENERATOR_STEPS = [
    "next(g)", "next(g, 'end')", "g.send(None)", "g.send(1)", "g.send('stop')",
    "g.throw(ValueError('v'))", "g.throw(KeyError)", "g.throw(RuntimeError, 'x')", "g.close()",
    "list(g)", "g.__next__()", "iter(g) is g", "2 in g", "sum(1 for _ in g)", "list(zip(g, [1]))",
    "g.nothing", "len(g)", "[v for v in g]", "bool(g)",
]  # fmt: skip

GENERATORS = """
log = []
def plain():
    for k in range(3):
        yield k
    return 'r'
def echo():
    got = None
    while got != 'stop':
        got = yield got
    return 'over'
def guarded():
    try:
        got = yield 1
        log.append(got)
        yield 2
    except ValueError as error:
        log.append(str(error))
        yield 'caught'
    finally:
        log.append('finally')
def outer():
    value = yield from inner()
    yield value
    yield from (8, 9)
def inner():
    try:
        x = yield 'a'
        y = yield x
    except KeyError:
        return 'key'
    return y
def failing():
    yield 1
    raise LookupError('gone')
def stubborn():
    while True:
        try:
            yield 1
        except GeneratorExit:
            yield 2
def deep(n):
    if n:
        yield n
        yield from deep(n - 1)
def nothing():
    return 5
    yield
def stopping():
    yield 1
    next(iter([]))
""".strip()

MAKERS = [
    "plain()", "guarded()", "outer()", "failing()", "deep(3)", "nothing()",
    "(v * 2 for v in [1, 2, 3] if v != 2)", "(v + w for v in (1, 2) for w in range(v))",
    "(w for w in failing())", "stopping()",
]  # fmt: skip


class TestSingleItems:
    @EXAMPLES
    @given(
        st.sampled_from(MAKERS),
        st.lists(
            st.sampled_from(GENERATOR_STEPS),
            max_size=7,
        ),
    )
    def test_operations(self, maker: str, steps: list[str]) -> None:
        check(f"{GENERATORS}\ng = {maker}", [*steps, "g.close()"], "log")

    @EXAMPLES
    @given(st.lists(st.sampled_from(MIXED_STEPS)))
    def test_several_at_a_time(self, steps: list[str]) -> None:
        check(f"{GENERATORS}\na, b, c = echo(), plain(), outer()", steps, "log")

    def test_the_value_that_is_returned(self) -> None:
        same(
            """
            def g():
                yield 1
                return (2, 3)

            def run():
                it = g()
                next(it)
                try:
                    next(it)
                except StopIteration as stop:
                    value = stop.value, stop.args
                try:
                    next(it)
                except StopIteration as stop:
                    return value, stop.value, stop.args
            """
        )

    def test_what_is_run_when(self) -> None:
        same(
            """
            def run():
                log = []
                def g(n):
                    log.append(('start', n))
                    for k in range(n):
                        log.append(('before', k))
                        yield k
                        log.append(('after', k))
                    log.append('end')
                it = g(2)
                log.append('made')
                for x in it:
                    log.append(('body', x))
                pulled = g(2)
                for x in zip(pulled, 'ab', 'c'):
                    log.append(x)
                return log
            """
        )

    def test_a_generator_that_is_used_by_itself(self) -> None:
        same(
            """
            def run():
                def g():
                    yield 1
                    try:
                        next(it)
                    except ValueError as error:
                        yield str(error)
                it = g()
                return next(it), next(it)
            """
        )

    def test_locals_live_on(self) -> None:
        same(
            """
            def run():
                def counter():
                    total = 0
                    def add(n):
                        nonlocal total
                        total += n
                        return total
                    while True:
                        n = yield total
                        add(n)
                c = counter()
                next(c)
                return [c.send(k) for k in (5, 6, 7)]
            """
        )


class TestRunThrough:
    def test_ways_to_consume(self) -> None:
        same(
            """
            def g(n):
                for k in range(n):
                    yield k

            def run():
                a, b, *c = g(4)
                f = lambda *args, **kw: args
                it = g(3)
                return (list(g(3)), tuple(g(2)), set(g(2)), sum(g(4)), a, b, c, f(*g(2)),
                        [*g(2), 9], max(g(3)), sorted(g(3), reverse=True), any(g(3)), all(g(3)),
                        2 in g(3),
                        dict(enumerate(g(2))), list(map(str, g(2))), list(zip(g(2), g(3))),
                        {k: v for k, v in zip(g(2), 'ab')}, ','.join(str(k) for k in g(3)),
                        list(it), list(it), [x for x in g(3) for y in g(x)],
                        list(reversed(list(g(2)))))
            """
        )

    def test_leaving_the_loop(self) -> None:
        same(
            """
            def g():
                for k in range(6):
                    yield k

            def first(limit):
                for x in g():
                    if x > limit:
                        return x

            def run():
                out = []
                for x in g():
                    if x == 1:
                        continue
                    if x == 4:
                        break
                    out.append(x)
                else:
                    out.append('else')
                for x in g():
                    pass
                else:
                    out.append('all')
                try:
                    for x in g():
                        if x == 2:
                            raise KeyError(x)
                except KeyError as error:
                    out.append(error.args)
                return out, first(2), first(9)
            """
        )

    def test_endless(self) -> None:
        same(
            """
            def fibonacci():
                a, b = 0, 1
                while True:
                    yield a
                    a, b = b, a + b

            def run():
                out = []
                for x in fibonacci():
                    if x > 30:
                        break
                    out.append(x)
                return out, [x for _, x in zip(range(5), fibonacci())]
            """
        )

    def test_the_body_is_not_inside_the_generator(self) -> None:
        same(
            """
            def g():
                try:
                    yield 1
                    yield 2
                except ValueError:
                    yield 'never'

            def run():
                out = []
                for x in g():
                    try:
                        raise ValueError
                    except ValueError:
                        out.append(x)
                return out
            """
        )

    def test_expressions_see_what_is_around_them(self) -> None:
        same(
            """
            def run():
                n, xs = 2, [1, 2, 3]
                late = (x * n for x in xs)
                n, xs = 10, []
                scaled = list(late)
                fs = [f for f in (lambda: k for k in range(3))]
                return scaled, [f() for f in fs], [[y for y in range(x)] for x in (1, 2)]
            """
        )

    def test_delegation_returns_a_value(self) -> None:
        same(
            """
            def inner(n):
                for k in range(n):
                    yield k
                return n * 10

            def outer():
                a = yield from inner(2)
                b = yield from inner(1)
                c = yield from [7]
                return [a, b, c]

            def last():
                value = yield from outer()
                yield value

            def run():
                return list(outer()), list(last())
            """
        )


class TestErrors:
    @pytest.mark.parametrize("use", ["list(g())", "[x for x in g()]", "next(g())", "sum(g())"])
    def test_an_error_in_the_generator(self, use: str) -> None:
        same(f"def g():\n    {{}}['k']\n    yield 1\n\ndef run():\n    return {use}\n")

    @pytest.mark.parametrize("use", ["list(g())", "next(g())", "[x for x in g()]"])
    def test_stop_iteration_inside_is_a_runtime_error(self, use: str) -> None:
        same(f"def g():\n    next(iter([]))\n    yield 1\n\ndef run():\n    return {use}\n")
        same(f"def g():\n    raise StopIteration\n    yield 1\n\ndef run():\n    return {use}\n")

    def test_an_error_ends_it(self) -> None:
        same(
            """
            def g():
                yield 1
                raise KeyError('k')

            def run():
                out = []
                for way in (0, 1):
                    it = g()
                    try:
                        if way:
                            next(it), next(it)
                        else:
                            for x in it:
                                out.append(x)
                    except KeyError:
                        out.append(list(it))
                return out
            """
        )

    def test_closing(self) -> None:
        same(
            f"""
{GENERATORS}

def run():
    out = []
    for g in (guarded(), plain(), deep(2)):
        out.append(next(g))
        g.close()
        out.append(next(g, 'closed'))
    g = guarded()
    g.close()
    out.append(list(g))
    s = stubborn()
    next(s)
    try:
        s.close()
    except RuntimeError as error:
        out.append(str(error))
    return out, log
"""
        )


class TestSymbolic:
    def test_branches(self) -> None:
        same_for(
            """
            def g(i):
                yield 1
                if i > 1:
                    yield 2
                if i > 2:
                    return
                yield i

            def run(i):
                items = list(g(i))
                total = 0
                for x in g(i):
                    total = total * 10 + x
                return len(items), items[-1], sum(g(i)), total, [x for x in g(i)][0]
            """,
            i=range(0, 5),
        )

    def test_loops(self) -> None:
        same_for(
            """
            def g(n):
                for k in range(n):
                    yield k * k

            def run(n):
                trips, last = 0, None
                for x in g(n):
                    trips += 1
                    last = x
                items = list(g(n))
                return (trips, last, len(items), items[-1] if n else None, len([x for x in g(n)]),
                        sum(1 for _ in g(n)))
            """,
            n=range(0, 5),
        )

    def test_single_items(self) -> None:
        same_for(
            """
            def g(n):
                yield 1
                yield n
                if n > 9:
                    yield 'never'

            def run(n):
                it = g(n)
                a = next(it)
                if n > 2:
                    b = 5
                else:
                    b = 6
                return a, next(it), b, next(it, 'end')
            """,
            n=range(0, 5),
        )

    def test_the_first_of_some(self) -> None:
        same_for(
            """
            def run(n):
                xs = [1, 3, 4]
                a = next((x for x in xs if x > n), -1)
                b = next((x for x in xs if x > 0), -1)
                return a, b, next(x for x in xs if x >= n)
            """,
            n=range(0, 7),
        )

    def test_errors_on_some_paths(self) -> None:
        same_for(
            """
            def g(n):
                if n > 3:
                    raise ValueError('x')
                yield 1
                yield 10 // n

            def run(n):
                it = g(n)
                try:
                    a = next(it)
                except ValueError:
                    return 'value'
                try:
                    return a, next(it)
                except ZeroDivisionError:
                    return 'zero', next(it, 'end')
            """,
            n=range(0, 6),
        )

    def test_leaving_on_some_paths(self) -> None:
        same_for(
            """
            def g():
                yield 1
                yield 2
                yield 3

            def run(i):
                out = []
                for x in g():
                    if x == i:
                        break
                    out.append(x)
                return len(out), sum(out)
            """,
            i=range(0, 5),
        )


class TestNotFollowed:
    def test_several_paths_go_on(self) -> None:
        text = """
def g():
    yield 1
    yield 2
    yield 3

def run(i):
    it = g()
    next(it)
    if i > 2:
        next(it)
    return next(it)
"""
        assert run(machine(text), "run(i)", i=E.symbol("i")).skipped

    def test_a_step_in_the_middle_of_a_branch(self) -> None:
        text = """
def g(i):
    if i > 2:
        yield 1
    yield 2

def run(i):
    return list(zip(g(i), 'ab'))
"""
        assert run(machine(text), "run(i)", i=E.symbol("i")).skipped

    def test_a_loop_is_left_inside_of_try(self) -> None:
        unknown(
            """
            def g():
                try:
                    yield 1
                finally:
                    print('closed')

            def run():
                for x in g():
                    break
            """
        )

    def test_one_that_is_dropped_inside_of_try(self) -> None:
        text = """
def g():
    try:
        yield 1
    finally:
        print('closed')

def run():
    it = g()
    return next(it)
"""
        vm = machine(text)
        outcome = run(vm, "run()")
        assert not outcome.skipped and vm.stacks
        suspended.forget_all(vm)
        assert not vm.stacks
        assert [entry.kind for entry in vm.trace.ledger] == [LedgerKind.SKIPPED]


class TestStacks:
    def test_they_are_given_up_without_a_trace(self) -> None:
        """A generator that nobody finishes leaves the machine as it was."""
        text = """
def g():
    with_value = [k for k in range(3)]
    for k in with_value:
        for other in (1, 2):
            yield k, other

def run():
    its = [g() for _ in range(3)]
    return [next(it) for it in its], [next(it) for it in its]
"""
        vm = machine(text)
        outcome = run(vm, "run()")
        expected = ([(0, 1)] * 3, [(0, 2)] * 3)
        assert outcome.host == expected
        assert len(vm.stacks) == 3
        before = (vm.frames, vm.landings, vm.path, vm.depth)
        suspended.forget_all(vm)
        gc.collect()
        assert (vm.frames, vm.landings, vm.path, vm.depth) == before
        assert not vm.trace.ledger

    def test_one_that_nobody_can_resume_does_not_matter_to_loops(self) -> None:
        vm = machine("def run():\n    x = next(v for v in [1, 2])\n    return x\n")
        assert run(vm, "run()").host == 1
        assert vm.stacks and not suspended.at_hand(vm)
        vm = machine("it = None\ndef run():\n    global it\n    it = iter([1])\n    return 1\n")
        assert run(vm, "run()").host == 1 and not suspended.at_hand(vm)

    def test_one_that_ends_gives_its_stack_back(self) -> None:
        vm = machine("def run():\n    it = (v for v in [1])\n    return next(it), next(it, 0)\n")
        assert run(vm, "run()").host == (1, 0)
        assert not vm.stacks


def test_exits_and_errors_through_yield_from() -> None:
    program(
        """\
trace = []
def f():
    try:
        yield 1
    except GeneratorExit:
        trace.append("f")
        return
def g():
    yield from f()
    trace.append("never")
i = g()
next(i)
try:
    i.throw(GeneratorExit)
except GeneratorExit:
    trace.append("out")
j = g()
next(j)
j.close()
result = trace
"""
    )
    program(
        """\
def f():
    try:
        yield 1
    except ValueError as e:
        yield e.args
def g(i):
    yield from i
i = f()
h = g(i)
def k():
    j = f()
    first = next(j)
    return first
h2 = f()
def delegate(x):
    yield next(x)
    yield from x
d = delegate(h2)
result = [next(h), h.throw(ValueError("a")), k()]
"""
    )
