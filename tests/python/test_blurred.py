"""Floats and texts of which nothing but the type is known: what CPython refuses is its error."""

from __future__ import annotations

import pytest

from tests.python.support import machine, run
from verifier.symbolic import expr as E
from verifier.symbolic.values import Opaque, OpaqueOf

#: what is done with ``s``, a float or a text that is not known, and ``n``, an integer
USES = """
range(s)  range(2, s)  range(0, 9, s)  [1] * s  s * [1]  (1,) * s  "a" * s  b"a" * s  s << 1
1 << s  s & 1  1 & s  s | 1  s ^ 1  ~s  -s  +s  [1, 2][s]  (1, 2)[s]  "ab"[s]  range(3)[s]
[1, 2][s:]  [1, 2][:s]  "ab"[s:]  s[0]  s[:1]  s()  s.foo  s.real  s.upper  len(s)  chr(s)  bin(s)
hex(s)  math.gcd(s, 2)  math.factorial(s)  math.comb(s, 1)  math.isqrt(s)  round(1.5, s)
pow(2, s, 3)  pow(s, 2, 3)  sorted(s)  sum(s)  max(s)  max(s, 1)  min(1, s)  list(s)  tuple(s)
set(s)  abs(s)  1 in s  "a" in s  s in [1]  s in "ab"  s + 1  1 + s  s + "a"  "a" + s  s - 1  s / 2
s // 2  s % 2  2 % s  s ** 2  s + None  None + s  s + [1]  [1] + s  s + (1,)  s < 1  s < "a"
1 < s  s < None  s == None  s == 1  s == "a"  s != [1]  [x for x in s]  divmod(s, 2)  int(s)
float(s)  str(s)  bool(s)  f"{s}"  [1].insert(s, 2)  [1].pop(s)  "ab".center(s)  "ab".find(s)
"ab".startswith(s)  "ab".replace(s, "c")  enumerate([1], s)  operator.index(s)  math.sqrt(s)
[1] * math.sqrt(abs(s))  [1] * (s / 2)  [1] * (s + 1.5)  range(s + 1)  reversed(s)  iter(s)
slice(s)  {1: 2}.get(s)  isinstance(s, float)  isinstance(s, str)  complex(s)  hash(s)
[1] * -s  range(abs(s))  range(float(n) % 0.3)  [1] * (n % 0.3)  [1, 2][n / 3]  "ab"[n * 0.3]
"""


def _uses() -> list[str]:
    return [use.strip() for line in USES.strip().splitlines() for use in line.split("  ")]


@pytest.mark.parametrize("made", ["n % 0.3", "f'{n}'", "n * 0.1 + 0.3"])
@pytest.mark.parametrize("use", _uses())
def test_what_types_do_not_take(use: str, made: str) -> None:
    """Where CPython says TypeError or AttributeError for every value, so does the machine."""
    errors: set[type[BaseException] | None] = set()
    place: dict[str, object] = {}
    exec("import math, operator", place)
    for n in (3, 7, 100):
        try:
            exec(f"n = {n}\ns = {made}\nvalue = ({use})", place)
            errors.add(None)
        except Exception as error:
            errors.add(type(error))
    vm = machine("import math, operator")
    names = {name: run(vm, name).value for name in ("math", "operator")}
    symbol = E.symbol("n", 3, 1000)
    made_of = run(vm, made, n=symbol, **names).value
    outcome = run(vm, use, n=symbol, s=made_of, **names)
    if errors <= {TypeError, AttributeError}:
        assert outcome.error in errors or outcome.skipped, (outcome.value, errors)
        return
    assert not errors & {TypeError, AttributeError}
    assert outcome.error not in (TypeError, AttributeError), outcome.error


#: what is lost on the way, since it may be an integer
LOST = ("[1] * math.sqrt(abs(s))",)


@pytest.mark.parametrize("use", [use for use in _uses() if use not in LOST])
def test_what_may_be_an_integer_all_the_same(use: str) -> None:
    """An annotation says float: an error is one if it is for integers too, else unknown."""
    errors: list[type[BaseException] | None] = []
    for value in (3, 1.5):
        place: dict[str, object] = {"s": value, "n": 7}
        try:
            exec(f"import math, operator\nvalue = ({use})", place)
            errors.append(None)
        except Exception as error:
            errors.append(type(error))
    vm = machine("import math, operator")
    names = {name: run(vm, name).value for name in ("math", "operator")}
    loose = OpaqueOf("the float `s`", harmless=True, host=float, loose=True)
    outcome = run(vm, use, n=E.symbol("n", 3, 1000), s=loose, **names)
    refused = [error in (TypeError, AttributeError) for error in errors]
    if not any(refused):
        assert outcome.error not in (TypeError, AttributeError), outcome.error
    elif all(refused):
        assert outcome.error in errors or outcome.skipped, outcome.value
    else:
        assert outcome.error is None
        assert outcome.skipped or vm.trace.ledger, outcome.value


def test_an_integer_of_a_float_is_an_integer() -> None:
    vm = machine()
    value = run(vm, "int(n % 0.3)", n=E.symbol("n", 0)).value
    assert isinstance(value, (Opaque, E.Expr))
    assert not run(vm, "[1] * v", v=value).ended
    assert not run(vm, "range(v)", v=value).ended


def test_unpacking() -> None:
    vm = machine()
    made = run(vm, "n % 0.3", n=E.symbol("n", 0)).value
    assert run(vm, "[(a, b) for a, b in [s]]", s=made).error is TypeError
    assert run(vm, "[*s]", s=made).error is TypeError
