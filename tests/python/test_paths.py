"""The machine's state: forks and what joins them, landings, facts, faults, and going back."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.python.support import SPAN, machine
from verifier.symbolic import expr as E
from verifier.symbolic.python import state
from verifier.symbolic.python.faults import RULES
from verifier.symbolic.python.flow import AbortedRunError, Ended, Exit, Fault, Wait
from verifier.symbolic.python.heap import UNBOUND, ListBox, Scope
from verifier.symbolic.python.terms import join
from verifier.symbolic.python.vm import VM
from verifier.symbolic.tensors import Loop, LoopKind
from verifier.symbolic.trace import AssumptionKind, LedgerKind
from verifier.symbolic.values import Guarded, Opaque, Ref


def flag(name: str) -> E.Bool:
    return E.eq(E.symbol(name, 0, 1), 1)


def held(vm: VM, ref: Ref) -> object:
    box = vm.heap.get(ref.id)
    assert isinstance(box, Scope)
    return box.names.get("x", UNBOUND)


def put(vm: VM, ref: Ref, value: object) -> None:
    box = vm.heap.write(ref.id)
    assert isinstance(box, Scope)
    box.names["x"] = value


def at(value: object, env: dict[str, int]) -> object:
    if isinstance(value, Guarded):
        (value,) = [item for guard, item in value.cases if E.evaluate(guard, env)]
    return E.evaluate(value, env) if isinstance(value, (E.Expr, E.Bool)) else value


# ------------------------------------------------------------------------ forks

#: trees of branches: a leaf ends in one of the ways, a node asks a flag
LEAVES = st.tuples(st.sampled_from(["on", "return", "raise"]), st.integers(0, 5))
TREES = st.recursive(
    LEAVES, lambda inner: st.tuples(st.sampled_from("pqr"), inner, inner), max_leaves=6
)


def walk(tree: object, env: dict[str, int]) -> tuple[str, int]:
    assert isinstance(tree, tuple)
    if len(tree) == 2:
        return tree
    name, then, other = tree
    return walk(then if env[name] else other, env)


@given(TREES)
def test_paths_of_any_shape(tree: object) -> None:
    """What goes on, what lands, and what each leaves behind, for each choice of the flags."""
    vm = machine()
    ref = vm.heap.new(Scope())

    def run(node: object) -> object:
        assert isinstance(node, tuple)
        if len(node) == 2:
            end, number = node
            put(vm, ref, E.const(number))
            if end == "on":
                return E.const(number * 10)
            vm.leave(Exit.RETURN if end == "return" else Exit.RAISE, E.const(number))
        name, then, other = node
        return vm.fork(flag(name), lambda: run(then), lambda: run(other))

    alive, value = True, None
    with vm.landing(Wait.HANDLERS) as handlers, vm.landing(Wait.CALL) as call:
        try:
            value = run(tree)
        except Ended:
            alive = False
    for bits in range(8):
        env = {"p": bits & 1, "q": bits >> 1 & 1, "r": bits >> 2 & 1}
        end, number = walk(tree, env)
        for name, landing in (("raise", handlers), ("return", call)):
            here = [e for e in landing.escapes if E.evaluate(e.guard, env)]
            assert len(here) == (end == name)
            for escape in here:
                assert at(escape.value, env) == number
                box = escape.heap.get(ref.id)
                assert isinstance(box, Scope) and at(box.names["x"], env) == number
        goes_on = alive and all(E.evaluate(fact, env) for fact in vm.path)
        assert goes_on == (end == "on")
        if end == "on":
            assert at(value, env) == number * 10
            assert at(held(vm, ref), env) == number


@given(TREES)
def test_ends_are_joined_with_what_goes_on(tree: object) -> None:
    vm = machine()
    ref = vm.heap.new(Scope())

    def run(node: object) -> object:
        assert isinstance(node, tuple)
        if len(node) == 2:
            end, number = node
            put(vm, ref, E.const(number))
            if end == "return":
                vm.leave(Exit.RETURN, E.const(number))
            return E.const(number)
        name, then, other = node
        return vm.fork(flag(name), lambda: run(then), lambda: run(other))

    value = vm.gathered(Wait.CALL, lambda: run(tree))
    for bits in range(8):
        env = {"p": bits & 1, "q": bits >> 1 & 1, "r": bits >> 2 & 1}
        number = walk(tree, env)[1]
        assert at(value, env) == number and at(held(vm, ref), env) == number
        assert all(E.evaluate(fact, env) for fact in vm.path)


def test_what_the_facts_settle_is_no_fork() -> None:
    vm = machine()
    n = E.symbol("n", 0, 3)

    def never() -> object:
        raise AssertionError

    assert vm.fork(E.ge(n, 0), lambda: "yes", never) == "yes"
    assert vm.fork(E.gt(n, 3), never, lambda: "no") == "no"
    vm.narrow(E.gt(n, 1))
    assert vm.fork(E.eq(n, 0), never, lambda: "no") == "no"


def test_no_side_goes_on() -> None:
    vm = machine()

    def dies() -> object:
        raise Ended

    with pytest.raises(Ended):
        vm.fork(flag("p"), dies, dies)
    vm.fork(flag("q"), dies, lambda: None)
    assert vm.path == (E.not_(flag("q")),)


def test_a_guard_is_dropped_with_what_was_learnt_under_it() -> None:
    vm = machine()
    with vm.guarded(flag("p")):
        assert vm.decide(flag("p")) is True and vm.forking == 1
        vm.narrow(flag("q"))
    assert vm.path == () and vm.forking == 0


def test_what_lands_where() -> None:
    vm = machine()
    with vm.landing(Wait.ALWAYS) as outer, vm.landing(Wait.LOOP) as loop, vm.landing(Wait.TRIP):
        for kind in (Exit.BREAK, Exit.RETURN):
            with pytest.raises(Ended):
                vm.leave(kind)
    assert [e.kind for e in loop.escapes] == [Exit.BREAK]
    assert [e.kind for e in outer.escapes] == [Exit.RETURN]


def test_a_call_lets_exceptions_through_only() -> None:
    vm = machine()
    with (
        vm.landing(Wait.HANDLERS) as handlers,
        vm.landing(Wait.LOOP) as loop,
        vm.landing(Wait.CALL),
    ):
        assert vm.catching
        for kind in (Exit.RAISE, Exit.BREAK):
            with pytest.raises(Ended):
                vm.leave(kind)
    assert len(handlers.escapes) == 1 and not loop.escapes
    assert not vm.catching


# ------------------------------------------------------------------------ going back


def test_everything_is_undone() -> None:
    vm = machine()
    ref = vm.heap.new(Scope())
    put(vm, ref, 1)
    mark = vm.mark()
    for _ in range(2):  # as often as one likes
        put(vm, ref, 2)
        vm.narrow(flag("p"))
        vm.unfollowed("something", SPAN)
        vm.unmodelled("nki.isa.x", SPAN)
        vm.assume(flag("q"), "q", SPAN, AssumptionKind.ASSERT)
        vm.check("rule", flag("q"), SPAN, "q", "message")
        assert repr(vm.loop_symbol("i")) == "i"
        vm.next_order()
        vm.back_to(mark)
        assert held(vm, ref) == 1
        trace = vm.trace
        assert not (vm.path or trace.ledger or trace.unmodelled or trace.assumptions or vm.checks)
        assert vm.order == mark.order


# ------------------------------------------------------------------------ state


def test_facts_are_those_of_the_point() -> None:
    vm = machine()
    n = E.symbol("n", 0)
    symbol = vm.loop_symbol("i")
    loop = Loop(E.from_atom(symbol), n, LoopKind.RANGE, "i", SPAN)
    assert vm.facts() == ()
    with vm.inside(loop):
        assert vm.facts() == (loop.within,)
        assert vm.decide(E.gt(n, 0)) is True
        vm.narrow(E.ge(n, 7))
        assert vm.decide(E.ge(n, 6)) is True
    assert vm.facts() == () and vm.decide(E.gt(n, 0)) is None


def test_what_is_assumed_on_a_path_holds_on_that_path() -> None:
    vm = machine()
    with vm.guarded(flag("p")):
        vm.assume(flag("q"), "q", SPAN, AssumptionKind.ASSERT)
    (made,) = vm.trace.assumptions
    assert not made.everywhere
    for p in (0, 1):
        for q in (0, 1):
            assert E.evaluate(made.condition, {"p": p, "q": q}) == (not p or bool(q))
    vm.assume(E.TRUE, "nothing", SPAN, AssumptionKind.ASSERT)
    assert len(vm.trace.assumptions) == 1


def test_what_is_not_known_is_listed_once() -> None:
    vm = machine()
    assert isinstance(vm.unfollowed("a reason", SPAN), Opaque)
    vm.unfollowed("a reason", SPAN)
    a, b = vm.unknown_int("a number", SPAN), vm.unknown_int("a number", SPAN)
    assert a is not b
    kinds = [(entry.kind, entry.message, len(entry.symbols)) for entry in vm.trace.ledger]
    assert kinds == [(LedgerKind.SKIPPED, "a reason", 0), (LedgerKind.OPAQUE, "a number", 2)]


def test_an_object_of_some_trip_is_not_written() -> None:
    vm = machine()
    ref = vm.heap.new(ListBox())
    vm.write(ref, SPAN)
    assert not vm.trace.ledger
    vm.heap.get(ref.id).ghost = True
    vm.write(ref, SPAN)
    assert [entry.kind for entry in vm.trace.ledger] == [LedgerKind.SKIPPED]


def test_loop_indices_are_told_apart() -> None:
    vm = machine()
    assert [repr(vm.loop_symbol(name)) for name in ("i", "j", "i")] == ["i", "j", "i'2"]


def test_budgets(monkeypatch: pytest.MonkeyPatch) -> None:
    vm = machine()
    monkeypatch.setattr(state, "MAX_STEPS", 3)
    for _ in range(3):
        vm.step(SPAN)
    with pytest.raises(AbortedRunError, match="too long"):
        vm.step(SPAN)
    late = machine()
    late.deadline = time.process_time() - 1
    with pytest.raises(AbortedRunError, match="time"):
        late.step(SPAN)


# ------------------------------------------------------------------------ faults


@pytest.mark.parametrize(
    ("error", "rule"),
    [
        (TypeError, "wrong-type"),
        (UnboundLocalError, "unbound-name"),
        (IndexError, "list-index"),
        (UnicodeError, "wrong-value"),
        (RuntimeError, "uncaught-exception"),
        (KeyboardInterrupt, "uncaught-exception"),
    ],
)
def test_the_rule_of_an_error_is_that_of_its_nearest_base(
    error: type[BaseException], rule: str
) -> None:
    vm = machine()
    with pytest.raises(Ended):
        vm.fault(error, "no", SPAN)
    assert [check.rule for check in vm.checks] == [rule] and vm.trace.dies
    assert rule in RULES.values()


def test_an_error_on_some_paths() -> None:
    vm = machine()
    vm.fault(ValueError, "no", SPAN, when=E.FALSE)
    assert not vm.checks
    vm.fault(ValueError, "no", SPAN, when=flag("p"))
    (check,) = vm.checks
    assert check.check.predicate is E.not_(flag("p")) and not vm.trace.dies


def test_an_error_that_may_be_caught_lands() -> None:
    vm = machine()
    with vm.landing(Wait.HANDLERS) as landing:
        vm.fault(KeyError, "no", SPAN, when=flag("p"), args=("key",))
        assert vm.decide(flag("p")) is False  # what follows runs if it is not raised
    (escape,) = landing.escapes
    assert escape.fault is not None and escape.fault.error is KeyError
    assert escape.guard is flag("p") and not vm.checks


def test_a_demand_of_the_kernels_is_an_assumption() -> None:
    vm = machine()
    fault = Fault(AssertionError, "no", SPAN, "uncaught-exception", "p", demand=True)
    vm.reported(fault, E.not_(flag("p")))
    assert [a.condition for a in vm.trace.assumptions] == [flag("p")] and not vm.checks


# ------------------------------------------------------------------------ values by path


def each(vm: VM, value: object, action: Callable[[object], object]) -> object:
    return vm.each(value, action)


def test_an_operation_on_each_case() -> None:
    vm = machine()
    value = join(flag("p"), "a", join(flag("q"), None, E.const(3)))
    seen = []

    def action(item: object) -> object:
        seen.append((item, vm.decide(flag("p"))))
        return f"<{item}>"

    found = each(vm, value, action)
    for p in (0, 1):
        for q in (0, 1):
            expected = "<a>" if p else "<None>" if q else "<3>"
            assert at(found, {"p": p, "q": q}) == expected
    assert ("a", True) in seen and vm.path == ()


def test_a_case_that_ends_is_excluded_after_it() -> None:
    vm = machine()

    def action(item: object) -> object:
        if item == "a":
            raise Ended
        return item

    assert each(vm, join(flag("p"), "a", "b"), action) == "b"
    assert vm.decide(flag("p")) is False
    with pytest.raises(Ended):
        each(machine(), join(flag("p"), "a", ("a",)), lambda item: (_ for _ in ()).throw(Ended))


def test_cases_that_the_path_excludes_are_not_asked() -> None:
    vm = machine()
    value = join(flag("p"), "a", "b")
    with vm.guarded(flag("p")):
        assert vm.settled(value) == "a" and vm.cases(value) == [(flag("p"), "a")]
    unbound = join(flag("p"), "a", UNBOUND)
    assert [item for _, item in vm.cases(unbound)] == ["a"]


def test_an_action_that_changes_something_is_done_on_its_path_alone() -> None:
    vm = machine()
    ref = vm.heap.new(Scope())
    put(vm, ref, "before")
    vm.apart(join(flag("p"), "a", join(flag("q"), "b", "c")), lambda item: put(vm, ref, item))
    for p in (0, 1):
        for q in (0, 1):
            assert at(held(vm, ref), {"p": p, "q": q}) == ("a" if p else "b" if q else "c")
