"""Modules that compute: ``math``, ``operator``, ``bisect``, ``heapq``, and the process around."""

from __future__ import annotations

import itertools
import math
import os
from typing import Any

import pytest

from tests.python.support import UNKNOWN, agrees, agrees_for, at, execute, machine, run
from verifier.symbolic import expr as E
from verifier.symbolic.trace import LedgerKind
from verifier.symbolic.values import Opaque, Ratio

MODULE = """
import bisect, heapq, math, operator
from math import ceil, floor
from operator import itemgetter
"""

ONE = [name for name in dir(math) if not name.startswith("_") and callable(getattr(math, name))]
ARGUMENTS = [
    (),
    (-2,),
    (0,),
    (1,),
    (2,),
    (7,),
    (0.5,),
    (-1.5,),
    (float("inf"),),
    ("x",),
    (None,),
    (True,),
]
TWO = [(8, 2), (2, -1), (0, 0), (1.5, 2), (7, 7), ("x", 1), (12, 18), (3, None)]


@pytest.mark.parametrize("name", ONE)
def test_functions_on_concrete_values(name: str) -> None:
    vm = machine(MODULE)
    for args in [*ARGUMENTS, *TWO, ([1, 2, 3],), ([],), ([0.5, "x"],), ([1, 2], [3, 4])]:
        if name in ("sumprod", "dist", "fsum", "prod") or not any(
            isinstance(a, list) for a in args
        ):
            names = {f"a{k}": arg for k, arg in enumerate(args)}
            agrees(f"math.{name}({', '.join(names)})", names, MODULE, vm)


def test_constants() -> None:
    for name in ("pi", "e", "tau", "inf", "nan"):
        agrees(f"math.{name}", {}, MODULE)


def test_keywords() -> None:
    for source in ("math.isclose(1, 1.1, rel_tol=0.2)", "math.prod([2, 3], start=4)",
                   "math.comb(5, 2)",
                   "math.prod((x for x in (1, 2)), start=2)", "math.isclose(1)", "math.ceil(x=1)",
                   "math.gcd()", "math.gcd(12, 18, 4)", "math.lcm(4, 6)",
                   "math.log(8, 2)"):  # fmt: skip
        agrees(source, {}, MODULE)


SMALL = range(-6, 7)


@pytest.mark.parametrize(
    "source",
    [
        "math.ceil(a / 4)", "math.floor(a / 4)", "math.trunc(a / 4)", "ceil(a / b)", "floor(a / b)",
        "math.ceil(a)", "math.ceil(a * 0.5)", "math.ceil((a + 1) / 2) * 2", "math.gcd(a, 12)",
        "math.gcd(a)", "math.lcm(a, 6)", "math.lcm(a)", "math.isqrt(a)", "math.factorial(a)",
        "math.prod([a, b, 2])", "math.prod([a, b], start=3)", "math.isnan(a)",
        "math.isfinite(a / 2)",
        "math.fabs(a)", "math.gcd(a, 1)", "math.ceil(-a / 3)", "math.trunc(-(a / 3))",
    ],
)  # fmt: skip
def test_functions_on_symbols(source: str) -> None:
    agrees_for(source, {"a": SMALL, "b": range(1, 4)}, text=MODULE)


@pytest.mark.parametrize(
    "source",
    [
        "math.gcd(a, b)", "math.lcm(a, b)", "math.sqrt(a)", "math.log(a)", "math.log2(a)",
        "math.log10(a)",
        "math.exp(a)", "math.log(a, b)", "math.acos(a)", "math.atanh(a)", "math.sqrt(a / b)",
        "math.log1p(a)",
        "math.comb(a, b)", "math.pow(a, b)", "math.atan2(a, b)", "math.isclose(a, b)",
        "math.hypot(a, b)",
        "math.sin(a)", "math.lgamma(a)", "math.ceil(math.log2(a))", "int(math.sqrt(a))",
        "math.acosh(a)",
    ],
)  # fmt: skip
def test_functions_on_symbols_that_are_not_known_are_not_wrong(source: str) -> None:
    agrees_for(source, {"a": SMALL, "b": range(0, 4)}, known=False, text=MODULE)


def test_a_root_of_a_size_is_a_harmless_float() -> None:
    vm = machine(MODULE)
    outcome = run(vm, "1 / math.sqrt(d)", d=E.symbol("d", 1))
    assert isinstance(outcome.value, Opaque) and outcome.value.harmless
    assert not outcome.escapes and not outcome.skipped


def test_bounds_of_what_is_not_known() -> None:
    vm = machine(MODULE)
    a, b = E.symbol("a", 1, 100), E.symbol("b", 1, 60)
    gcd, root = run(vm, "math.gcd(a, b)", a=a, b=b).value, run(vm, "math.isqrt(a)", a=a).value
    assert isinstance(gcd, E.Expr) and E.bounds(gcd) == (1, 60)
    assert isinstance(root, E.Expr) and E.bounds(root) == (1, 10)


# ------------------------------------------------------------------------ operator


@pytest.mark.parametrize(
    "source",
    [
        "operator.add(1, 2)", "operator.mul('a', 3)", "operator.truediv(1, 2)",
        "operator.floordiv(7, 2)",
        "operator.mod(7, 4)", "operator.pow(2, 3)", "operator.lshift(1, 3)", "operator.and_(6, 3)",
        "operator.or_(6, 3)", "operator.xor(6, 3)", "operator.lt(1, 2)", "operator.eq(1, 1.0)",
        "operator.is_(None, None)", "operator.is_not(1, None)", "operator.not_(0)",
        "operator.truth([])",
        "operator.neg(3)", "operator.pos(3)", "operator.invert(3)", "operator.abs(-3)",
        "operator.index(3)",
        "operator.index(1.0)", "operator.contains([1], 1)", "operator.concat([1], [2])",
        "operator.getitem([1, 2], 1)", "operator.iadd(1, 2)", "operator.__add__(1, 2)",
        "operator.itemgetter(1)([5, 6])", "operator.itemgetter(0, 1)([5, 6])",
        "operator.attrgetter('real')(3)",
        "operator.attrgetter('real.imag', 'imag')(3)", "operator.methodcaller('upper')('x')",
        "operator.methodcaller('split', ',', maxsplit=1)('a,b,c')",
        "sorted([(1, 'b'), (0, 'c')], key=itemgetter(1))",
        "operator.itemgetter('x')([1])", "operator.attrgetter(3)", "operator.add(1, None)",
        "operator.add(1)",
    ],
)  # fmt: skip
def test_operators_as_functions(source: str) -> None:
    agrees(source, {}, MODULE)


def test_items_are_set_and_deleted_by_functions() -> None:
    vm = machine(MODULE)
    source = """
x = [1, 2, 3]
operator.setitem(x, 0, 9)
operator.delitem(x, 1)
result = x
"""
    assert execute(vm, source).host == [9, 3]


# ------------------------------------------------------------------------ bisect, heapq


def test_places_among_ordered_values() -> None:
    vm = machine(MODULE)
    for name, x in itertools.product(("bisect", "bisect_left", "bisect_right"), range(-1, 8)):
        for rest in ("", ", 1", ", 1, 3", ", lo=2", ", key=lambda v: v"):
            agrees(f"bisect.{name}([1, 2, 2, 5, 6], {x}{rest})", {}, MODULE, vm)
    agrees("bisect.bisect([1], 'a')", {}, MODULE)
    agrees("bisect.bisect([1], 1, -1)", {}, MODULE)


def test_the_place_of_a_symbol() -> None:
    agrees_for("bisect.bisect_left([1, 2, 2, 5, 6], a)", {"a": range(-1, 9)}, text=MODULE)
    agrees_for("bisect.bisect([1, 2, 2, 5, 6], a)", {"a": range(-1, 9)}, text=MODULE)


def test_insertions_keep_order() -> None:
    for name in ("insort", "insort_left"):
        source = f"x = [1, 3, 3]\nbisect.{name}(x, 3)\nbisect.{name}(x, 0)\nresult = x"
        assert execute(machine(MODULE), source).host == [0, 1, 3, 3, 3]


HEAPS = """
h = [5, 3, 8, 1]
heapq.heapify(h)
heapq.heappush(h, 2)
first = heapq.heappop(h)
second = heapq.heapreplace(h, 9)
third = heapq.heappushpop(h, 0)
result = (first, second, third, h, heapq.nlargest(2, h), heapq.nsmallest(2, h, key=lambda v: -v))
"""


def test_heaps() -> None:
    place: dict[str, Any] = {}
    exec(MODULE + HEAPS, place)
    assert execute(machine(MODULE), HEAPS).host == place["result"]
    assert run(machine(MODULE), "heapq.heappop([])").error is IndexError
    assert run(machine(MODULE), "heapq.heappush(3, 1)").error is TypeError
    vm = machine(MODULE)
    assert run(vm, "heapq.heappush([a], b)", a=E.symbol("a"), b=E.symbol("b")).skipped


# ------------------------------------------------------------------------ the process

PROCESS = "import os, sys, logging\nfrom os import environ, getenv"


def test_the_environment_is_assumed_to_be_empty() -> None:
    vm = machine(PROCESS)
    for source, expected in (
        ("os.environ.get('BLOCK', '32')", "32"),
        ("os.environ.get('BLOCK')", None),
        ("os.getenv('BLOCK', 3)", 3),
        ("getenv('BLOCK')", None),
        ("int(environ.get('N', '7')) * 2", 14),
        ("'BLOCK' in os.environ", False),
        ("os.environ.__contains__('BLOCK')", False),
        ("'BLOCK' not in os.environ", True),
        ("[k for k, v in os.environ.items()]", []),
    ):
        outcome = run(vm, source)
        assert outcome.host == expected and not outcome.skipped, source
    said = {entry.message for entry in vm.trace.ledger}
    assert "the environment variable `BLOCK` is not set" in said
    assert {entry.kind for entry in vm.trace.ledger} == {LedgerKind.RUNTIME}
    (escape,) = run(vm, "os.environ['BLOCK']").escapes  # which is handled here
    assert escape.fault is not None and escape.fault.error is KeyError


def test_an_environment_that_the_program_changes_is_not_known() -> None:
    vm = machine(PROCESS)
    outcome = execute(vm, "os.environ['A'] = '1'\nresult = os.environ.get('A')")
    assert isinstance(outcome.value, Opaque) and not outcome.skipped


def test_loggers_leave_the_program_as_it_is() -> None:
    vm = machine(PROCESS)
    source = """
log = logging.getLogger(__name__)
items = [1, 2]
log.setLevel(logging.DEBUG)
log.debug("x %s", items)
logging.info("y", extra={"a": items})
log.getChild("z").warning(items)
result = (items, logging.INFO)
"""
    outcome = execute(vm, source)
    assert outcome.host == ([1, 2], 20) and not outcome.skipped and not outcome.escapes


def test_what_the_system_is() -> None:
    vm = machine(PROCESS)
    assert run(vm, "sys.maxsize").host == 2**63 - 1
    assert isinstance(run(vm, "sys.version_info >= (3, 9)").value, Opaque)
    assert os.environ is not None


def test_arrays_are_rounded_to_floats() -> None:
    vm = machine("import numpy as np")
    n = E.symbol("n", 0)
    assert at(vm, run(vm, "int(np.ceil(n / 4))", n=n).value, {"n": 9}) == 3
    assert isinstance(run(vm, "np.ceil(n / 4)", n=n).value, Ratio)
    assert at(vm, run(vm, "np.prod([n, 2])", n=n).value, {"n": 9}) == 18
    assert at(vm, run(vm, "np.sqrt(n)", n=n).value, {"n": 9}) is UNKNOWN
