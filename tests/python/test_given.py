"""What a parameter's name is bound to when the kernel starts."""

from __future__ import annotations

from tests.python.support import SPAN, at, machine, run
from verifier.symbolic import expr as E
from verifier.symbolic.python.given import initial_value
from verifier.symbolic.python.inputs import InputKind, Parameter
from verifier.symbolic.python.vm import VM
from verifier.symbolic.values import Guarded, Opaque

ENUM = """
from enum import Enum, Flag
class Mode(Enum):
    FAST = 1
    SLOW = 2
class Bits(Flag):
    A = 1
    B = 2
"""


def parameter(
    vm: VM, default: object = None, *, annotation: str = "", has: bool = True
) -> Parameter:
    made = Parameter("p", SPAN, annotation=annotation, default=default, has_default=has)
    vm.inputs.parameters["p"] = made
    return made


def value(default: object, annotation: str = "", has: bool = True) -> object:
    vm = machine()
    return initial_value(vm, parameter(vm, default, annotation=annotation, has=has))


def test_a_number_stands_for_any_number() -> None:
    found = value(E.const(3))
    assert isinstance(found, E.Expr) and not found.is_const
    assert isinstance(value(None, "int", has=False), E.Expr)


def test_a_flag_is_either() -> None:
    for found in (value(True), value(None, "bool", has=False), value(E.const(1), "bool")):
        assert isinstance(found, E.Bool) and found not in (E.TRUE, E.FALSE)


def test_none_is_one_of_the_values() -> None:
    found = value(None, "int")
    assert isinstance(found, Guarded)
    (absent, nothing), (present, number) = found.cases
    assert nothing is None and isinstance(number, E.Expr) and present is E.not_(absent)


def test_a_float_does_no_harm() -> None:
    for found in (value(1.5), value(None, "float", has=False)):
        assert isinstance(found, Opaque) and found.harmless


def test_a_tuple_has_its_length() -> None:
    found = value((E.const(1), True, 2.5, "a"))
    assert isinstance(found, tuple) and len(found) == 4
    assert isinstance(found[0], E.Expr) and isinstance(found[1], E.Bool)
    assert isinstance(found[2], Opaque) and found[2].harmless
    assert isinstance(found[3], Parameter) and found[3].default == "a"


def test_what_nothing_is_said_about_is_the_parameter() -> None:
    vm = machine()
    p = parameter(vm, has=False)
    assert initial_value(vm, p) is p and p.kind is None
    assert initial_value(vm, p, sequence="flat") is p and p.kind is InputKind.TUPLE
    nested = initial_value(vm, p, sequence="nested")
    assert isinstance(nested, Opaque) and not nested.harmless
    text = parameter(vm, "a")
    assert initial_value(vm, text) is text and text.kind is InputKind.STRING


def test_a_member_stands_for_any_member() -> None:
    vm = machine(ENUM)
    default = run(vm, "Mode.SLOW").value
    found = initial_value(vm, parameter(vm, default))
    assert isinstance(found, Guarded) and len(found.cases) == 2
    outcome = run(vm, "(p is Mode.FAST, p is Mode.SLOW, p.value, p.name)", p=found)
    guard = found.cases[0][0]
    (symbol,) = guard.free()
    assert {at(vm, outcome.value, {symbol.name: k}) for k in (0, 1)} == {
        (True, False, 1, "FAST"),
        (False, True, 2, "SLOW"),
    }


def test_another_object_is_the_default_or_not_followed() -> None:
    vm = machine(ENUM + "class A: pass\ndef f(): pass\n")
    for source in ("Bits.A", "A()", "A", "f", "len", "[1]"):
        default = run(vm, source).value
        found = initial_value(vm, parameter(vm, default))
        assert isinstance(found, Guarded), source
        (left_out, held), (_, other) = found.cases
        assert held is default and repr(left_out) == "p is its default", source
        assert isinstance(other, Opaque) and other.given and not other.harmless, source
