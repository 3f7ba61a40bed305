"""Operations on values: whom CPython asks, in which order, and what follows from no answer."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.python.programs import same, same_for
from tests.python.support import SPAN, machine, run
from verifier.symbolic import expr as E
from verifier.symbolic.python.terms import join
from verifier.symbolic.values import Guarded, Opaque

OPERATORS = {"+": "add", "-": "sub", "*": "mul", "//": "floordiv", "@": "matmul", "&": "and"}
COMPARISONS = {"<": "lt", "<=": "le", ">": "gt", "==": "eq", "!=": "ne"}
#: what a special method of a class does
ANSWERS = ["return NotImplemented", "return 'answer'", "raise KeyError(1)"]


def operand(name: str, base: str, methods: dict[str, str]) -> str:
    lines = [f"class {name}{base}:", "    pass"]
    for method, answer in methods.items():
        lines += [f"    def __{method}__(self, other):", f"        log.append('{name}.{method}')"]
        lines.append(f"        {answer}")
    return "\n".join(lines)


def methods(*names: str) -> st.SearchStrategy[dict[str, str]]:
    return st.dictionaries(st.sampled_from(names), st.sampled_from(ANSWERS))


@given(
    st.sampled_from(sorted(OPERATORS)),
    methods("{}", "r{}", "i{}"),
    methods("{}", "r{}", "i{}"),
    st.sampled_from(["", "(A)"]),
    st.sampled_from(
        ["A() {} B()", "B() {} A()", "A() {} A()", "A() {} 1", "1 {} B()", "'a' {} A()"]
    ),
    st.booleans(),
)
def test_operators(
    op: str, a: dict[str, str], b: dict[str, str], base: str, expression: str, inplace: bool
) -> None:
    name = OPERATORS[op]
    classes = "\n".join(
        (
            operand("A", "", {m.format(name): answer for m, answer in a.items()}),
            operand("B", base, {m.format(name): answer for m, answer in b.items()}),
        )
    )
    if inplace:
        left, right = expression.split(" {} ")
        steps = f"x = {left}\n        x {op}= {right}\n        out = x if x == 'answer' else 'x'"
    else:
        steps = f"out = {expression.format(op)}"
    same(f"""
log = []
{classes}
def run():
    try:
        {steps}
    except (TypeError, KeyError) as error:
        out = type(error).__name__
    return out, log
""")


@given(
    st.sampled_from(sorted(COMPARISONS)),
    methods(*COMPARISONS.values()),
    methods(*COMPARISONS.values()),
    st.sampled_from(["", "(A)"]),
    st.sampled_from(["A() {} B()", "B() {} A()", "A() {} 1", "1 {} B()"]),
)
def test_comparisons(
    op: str, a: dict[str, str], b: dict[str, str], base: str, expression: str
) -> None:
    classes = operand("A", "", a) + "\n" + operand("B", base, b)
    text = f"""
log = []
{classes}
def run():
    try:
        out = {expression.format(op)}
    except (TypeError, KeyError) as error:
        out = type(error).__name__
    return out, log
"""
    if not run(
        machine(text), "run()"
    ).skipped:  # `==` of one class and `!=` of another is not followed
        same(text)


@pytest.mark.parametrize(
    "op", ["-x", "+x", "~x", "not x", "len(x)", "x[0]", "x()", "0 in x", "iter(x)"]
)
@pytest.mark.parametrize("value", ["1", "1.5", "'a'", "(1,)", "[0]", "{0: 1}", "None", "object()"])
def test_protocols(op: str, value: str) -> None:
    same(f"""
def run():
    x = {value}
    try:
        out = {op}
        return out if isinstance(out, (int, float, str)) else "something"
    except Exception as error:
        return type(error).__name__
""")


def test_operators_by_path() -> None:
    program = """
        def run(n, m):
            a = 2 if n > 1 else "ab" if n else [5]
            b = 2
            return a * b == a, (a * b) != a, a * b == 4 * m, a * b == [5] * b
    """
    same_for(program, n=range(3), m=range(2))


def test_an_error_on_the_path_of_its_operands() -> None:
    program = """
        def run(n):
            a = None if n > 2 else n
            return a + 1
    """
    same_for(program, n=range(5))


IDENTITIES = ["None", "True", "()", "a", "b", "c", "int", "len", "...", "x", "1.5"]


def test_identity() -> None:
    for left, right in itertools.product(IDENTITIES, repeat=2):
        if left == right == "1.5":
            continue
        same(f"""
def run():
    a = [1]
    b, c = a, [1]
    x = {{}}
    left, right = {left}, {right}
    return left is right, left is not right
""")


def test_identity_of_equal_values_is_not_followed() -> None:
    outcome = run(machine(), "x is y", x="ab" * 3, y="".join(["ab", "ab", "ab"]))
    assert isinstance(outcome.value, E.Bool) and outcome.value not in (E.TRUE, E.FALSE)
    assert outcome.vm.trace.ledger


@pytest.mark.parametrize(
    "source",
    [
        "slice(3) is slice(3)",
        "complex(1, 2) is complex(int('1'), 2)",
        "int('1000') is int('1000')",
        "list[int] is list[int]",
        "(int | str) is (int | str)",
        "n / 2 is n / 2",
        "n is n",
    ],
)
def test_equal_values_may_be_one_object(source: str) -> None:
    outcome = run(machine(), source, n=E.symbol("n", 0))
    assert outcome.vm.decide(outcome.vm.truth(outcome.value, SPAN)) is None
    assert outcome.vm.trace.ledger


@pytest.mark.parametrize(
    ("source", "answer"),
    [
        ("int('7') is int('7')", True),
        ("1000 is 1001", False),
        ("range(3) is range(3)", False),
        ("None is None", True),
        ("... is ...", True),
        ("type(3) is int", True),
        ("len is len", True),
        ("1 is True", False),
        ("slice(3) == slice(3)", True),
        ("list[int] == list[int]", True),
    ],
)
def test_what_there_is_one_of_is_one_object(source: str, answer: bool) -> None:
    outcome = run(machine(), source)
    assert outcome.vm.decide(outcome.vm.truth(outcome.value, SPAN)) is answer
    assert not outcome.vm.trace.ledger


def test_what_is_identical_is_equal_for_containers() -> None:
    vm = machine()
    assert vm.equal("a", "a", SPAN) is E.TRUE
    nan = float("nan")
    assert vm.equal(nan, float("nan"), SPAN) not in (E.TRUE, E.FALSE)
    ref = vm.heap.new(type(vm.heap.get(vm.frame.scope))())
    assert vm.identical(ref, ref, SPAN) is E.TRUE


def test_what_is_not_followed_is_passed_on() -> None:
    vm = machine()
    lost = Opaque("something")
    for op in ("+", "-", "@"):
        assert vm.binary(op, lost, E.const(1), SPAN) is lost
        assert vm.binary(op, "a", lost, SPAN) is lost
    assert vm.attribute(lost, "x", SPAN) is not None
    assert not vm.trace.ledger


def test_a_coercion_of_each_case() -> None:
    vm = machine()
    p = E.eq(E.symbol("p", 0, 1), 1)
    found = vm.as_int(join(p, E.const(3), True), SPAN)
    assert found is not None
    assert [E.evaluate(found, {"p": k}) for k in (0, 1)] == [1, 3]
    absent = join(p, E.const(3), None)
    assert isinstance(absent, Guarded)
    vm.as_int(absent, SPAN)
    assert [check.rule for check in vm.checks] == ["wrong-type"]
