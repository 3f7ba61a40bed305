"""Trying something that may raise, and models that are asked for each case of their arguments."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.python.programs import same_for
from tests.python.support import SPAN, machine
from verifier.symbolic import expr as E
from verifier.symbolic.python.attempts import attempt
from verifier.symbolic.python.flow import Ended, Wait
from verifier.symbolic.python.heap import UNBOUND, Scope
from verifier.symbolic.python.lifting import lifted, unfollowed_operand
from verifier.symbolic.python.terms import join
from verifier.symbolic.python.vm import VM
from verifier.symbolic.values import Guarded, Opaque


def flag(name: str) -> E.Bool:
    return E.eq(E.symbol(name, 0, 1), 1)


def at(value: object, env: dict[str, int]) -> object:
    if isinstance(value, Guarded):
        (value,) = [item for guard, item in value.cases if E.evaluate(guard, env)]
    return value


ERRORS = [None, KeyError, LookupError, IndexError, ValueError]
ENDS = st.sampled_from(range(len(ERRORS)))


@given(ENDS, ENDS, ENDS)
def test_which_errors_are_taken(first: int, second: int, third: int) -> None:
    """A body that raises one thing or another on each path, where LookupErrors are meant."""
    vm = machine()
    ref = vm.heap.new(Scope())

    def leaf(number: int) -> object:
        error = ERRORS[number]
        box = vm.heap.write(ref.id)
        assert isinstance(box, Scope)
        box.names["x"] = number
        if error is not None:
            vm.fault(error, "no", SPAN)
        return "fine"

    def body() -> object:
        return vm.fork(
            flag("p"),
            lambda: leaf(first),
            lambda: vm.fork(flag("q"), lambda: leaf(second), lambda: leaf(third)),
        )

    alive, value = True, None
    with vm.landing(Wait.HANDLERS) as landing:
        try:
            value = attempt(vm, body, LookupError, lambda exception: "taken")
        except Ended:
            alive = False
    for p in (0, 1):
        for q in (0, 1):
            env = {"p": p, "q": q}
            number = first if p else second if q else third
            error = ERRORS[number]
            raised = [e for e in landing.escapes if E.evaluate(e.guard, env)]
            if error is ValueError:
                assert len(raised) == 1
                assert raised[0].fault is not None and raised[0].fault.error is error
                continue
            assert not raised and alive
            assert at(value, env) == ("fine" if error is None else "taken")
            assert all(E.evaluate(fact, env) for fact in vm.path)
            box = vm.heap.get(ref.id)
            assert isinstance(box, Scope) and at(box.names["x"], env) == number


def test_only_some_exceptions_of_a_type_are_meant() -> None:
    vm = machine()

    def body() -> object:
        vm.fault(KeyError, "no", SPAN)
        return None

    with vm.landing(Wait.HANDLERS) as landing, pytest.raises(Ended):
        attempt(vm, body, KeyError, lambda exception: "taken", lambda exception: False)
    assert len(landing.escapes) == 1


def test_an_end_of_another_kind_goes_on() -> None:
    vm = machine()

    def body() -> object:
        raise Ended

    with pytest.raises(Ended):
        attempt(vm, body, KeyError, lambda exception: "taken")


def test_getattr_with_a_default() -> None:
    program = """
        class A:
            def __init__(self, n):
                if n > 1:
                    self.x = n
            @property
            def y(self):
                if self.x > 2:
                    raise ValueError
                return 5
        def run(n):
            a = A(n)
            return getattr(a, "x", -1), hasattr(a, "x"), getattr(a, "y", 7)
    """
    same_for(program, n=range(4))


# ------------------------------------------------------------------------ lifting


def test_a_model_is_asked_for_each_case() -> None:
    vm = machine()
    seen = []

    def handler(vm: VM, span: object, /, a: object, *, b: object = None) -> object:
        seen.append((a, b))
        return f"{a}{b}"

    asked = lifted(handler)
    a, b = join(flag("p"), "x", None), join(flag("q"), "y", "z")
    found = asked(vm, SPAN, a, b=b)
    for p in (0, 1):
        for q in (0, 1):
            expected = f"{'x' if p else None}{'y' if q else 'z'}"
            assert at(found, {"p": p, "q": q}) == expected
    assert not any(isinstance(item, Guarded) for pair in seen for item in pair)


def test_a_model_is_not_asked_of_what_is_not_followed() -> None:
    def handler(vm: VM, span: object, /, a: object, b: object) -> object:
        raise AssertionError

    lost = Opaque("something")
    assert lifted(handler)(machine(), SPAN, "a", lost) is lost


def test_which_operand_the_result_depends_on() -> None:
    vm = machine()
    harmless, lost = Opaque("a float", harmless=True), Opaque("something")
    assert unfollowed_operand(vm, ["a", harmless], SPAN) is harmless
    assert unfollowed_operand(vm, [harmless, lost], SPAN) is lost
    assert unfollowed_operand(vm, [lost, harmless], SPAN) is lost
    assert unfollowed_operand(vm, [UNBOUND, "a", E.symbol("n")], SPAN) is None
