"""``while`` loops of any number of trips, against CPython's."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.python.support import execute, machine, program_for, right_or_unknown
from tests.sweeps import examples
from verifier.engine.analysis import analyze_source
from verifier.symbolic import expr as E
from verifier.symbolic.python import whiles
from verifier.symbolic.trace import LedgerKind

RANGES = {"n": range(7), "m": range(1, 4)}

CLOSED = {
    "up": "k = 0\nwhile k < n:\n    k += 1\nresult = k",
    "up by a step": "k = 0\nwhile k < n:\n    k += m\nresult = k",
    "down": "k = n\nwhile k > 0:\n    k -= m\nresult = k",
    "down to one below": "k = n\nwhile k >= 0:\n    k -= 1\nresult = k",
    "a rest": """
left, done = n, 0
while left > 0:
    piece = min(left, m)
    done += piece
    left -= piece
result = (left, done)
""",
    "with else": "k = 0\nwhile k < n:\n    k += 1\nelse:\n    k += 10\nresult = k",
    "what the trips leave": """
k, last, xs = 0, None, []
while k < n:
    last = k
    xs.append(k * m)
    k += 1
result = (last, len(xs))
""",
    "a condition that does something": """
log = []
k = 0
def more():
    log.append(k)
    return k < 3
while more():
    k += 1
result = (k, len(log))
""",
    "a walrus in the condition": "k = 0\nwhile (j := k * 2) < n:\n    k += 1\nresult = (j, k)",
    "a counting walrus": "i, s = -1, []\nwhile (i := i + 1) < n: s.append(i * m)\nresult = (i, s)",
    "a counting walrus from one": "i, t = 0, 0\nwhile (i := i + m) < n: t += 1\nresult = (i, t)",
    "a constant condition": "k = 0\nwhile True:\n    k += 1\n    if k > 4: break\nresult = k",
    "no trips": "while n < 0:\n    n = 1\nresult = n",
    "halved": "k, c = 12, 0\nwhile k > 1:\n    k //= 2\n    c += 1\nresult = (k, c)",
    "halved from an input": "k, c = n, 0\nwhile k > 1:\n    k //= 2\n    c += 1\nresult = (k, c)",
    "two loops": """
a, total = 0, 0
while a < n:
    b = 0
    while b < m:
        total += 1
        b += 1
    a += 1
result = total
""",
}


@pytest.mark.parametrize("name", CLOSED)
def test_closed_forms(name: str) -> None:
    program_for(CLOSED[name], RANGES)


#: loops that something in them ends, with what they leave
LEFT = {
    "a break that comes first": """
k, xs = 0, []
while True:
    if n - k < m: break
    xs.append(k)
    k += m
result = (k, len(xs))
""",
    "a break in the middle": """
k = last = 0
while True:
    end = k + m
    if end > n: break
    last, k = k, end
result = (k, end, last)
""",
    "a break at the end": "k = 0\nwhile True:\n    k += m\n    if k + m > n: break\nresult = (k,)",
    "a break in another branch": """
k = c = 0
while True:
    if k + 2 <= n:
        k += 2
    else:
        c = k * 10
        break
result = (k, c)
""",
    "a condition, and a break": """
k, why = 0, 'all'
while k < n:
    if n - k < m:
        why = 'rest'
        break
    k += m
else:
    why += '!'
result = (k, why)
""",
    "two breaks": """
k = 0
while True:
    if k >= 9: break
    k += 1
    if k > n: break
result = (k,)
""",
    "a break where something is met": """
k = c = 0
while k < n:
    k += 1
    if k == m: break
    c += 1
result = (k, c)
""",
    "a return": """
def found():
    k = 0
    while True:
        if k * m >= n: return k, 'found'
        k += 1
result = found()
""",
    "a continue, and a break": """
k = c = 0
while True:
    k += 1
    if k <= 2: continue
    if k > n: break
    c += k
result = (k, c)
""",
    "down": "k = n\nwhile True:\n    k -= m\n    if k < 0: break\nresult = (k,)",
}


@pytest.mark.parametrize("name", LEFT)
def test_loops_that_are_left(name: str) -> None:
    right_or_unknown(LEFT[name], {"n": range(17), "m": range(1, 4)})


def test_a_loop_that_is_left_after_so_many_rounds_is_followed() -> None:
    text = LEFT["a break in the middle"].replace("m", "3")
    program_for(text, {"n": range(0, 40, 3)})


SEARCHED = {
    "doubled": "k = 1\nwhile k < n: k *= 2\nresult = k",
    "tripled from an input": "k, c = m, 0\nwhile k * 2 <= n: k, c = 3 * k, c + 1\nresult = (k, c)",
    "a root": "k = n\nwhile k * k > n: k -= 1\nresult = k",
    "a divisor from below": "k = 1\nwhile (n + m) % k or k < m: k += 1\nresult = k",
    "halved": "k = n\nwhile k * m > 3: k //= 2\nresult = k",
    "halved, rounded up": "k, c = n, 0\nwhile k > m: k, c = -(-k // 2), c + 1\nresult = (k, c)",
}


@pytest.mark.parametrize("name", SEARCHED)
def test_the_first_number_of_many(name: str) -> None:
    vm = machine()
    outcome = execute(vm, SEARCHED[name], n=E.symbol("n", 1), m=E.symbol("m", 1, 12))
    assert not vm.trace.ledger and not outcome.ended
    values = outcome.value if isinstance(outcome.value, tuple) else (outcome.value,)
    for n, m in ((1, 1), (7, 2), (12, 12), (64, 3), (65, 5), (97, 1)):
        names: dict[str, object] = {"n": n, "m": m}
        exec(SEARCHED[name], names)
        wanted = names["result"] if isinstance(names["result"], tuple) else (names["result"],)
        told = [E.evaluate(v, {"n": n, "m": m}) for v in values if isinstance(v, E.Expr)]
        assert (*told,) == wanted


def test_a_number_that_may_not_be_there_is_not_looked_for() -> None:
    vm = machine()
    execute(vm, "k = n\nwhile k % m != 1: k += m\nresult = k", n=E.symbol("n"), m=E.symbol("m"))
    assert any(entry.kind is LedgerKind.HAVOC for entry in vm.trace.ledger)


TESTS = ("k < n", "k <= n", "k != n", "n - k > 0", "k < n and k < 4", "k * 2 < n", "not k >= n")
STEPS = (
    "k += 1",
    "k += m",
    "k = k + 2",
    "c += k",
    "c = k",
    "if k > 2: c += 1",
    "if k == 3: break",
    "a, c = c, a",
    "xs.append(k)",
    "c -= 1",
)


@settings(max_examples=examples(50), deadline=None)
@given(
    st.sampled_from(TESTS),
    st.lists(st.sampled_from(STEPS), max_size=3),
    st.sampled_from(["k += 1", "k += m", "k += 2"]),
)
def test_what_is_said_of_any_loop_is_right(test: str, steps: list[str], last: str) -> None:
    body = "\n".join(f"    {step}" for step in (*steps, last, "if k > 40: break"))
    source = f"k, c, a, xs = 0, 0, 1, []\nwhile {test}:\n{body}\nresult = (k, c, a, len(xs))\n"
    right_or_unknown(source, RANGES)


def test_the_condition_is_false_after_a_loop_of_any_length() -> None:
    vm = machine()
    source = "k = n\nwhile k * k > m:\n    k = k * 3 // 4 - 1\nresult = k\n"
    n, m = E.symbol("n", 0), E.symbol("m", 0)
    outcome = execute(vm, source, n=n, m=m)
    assert isinstance(outcome.value, E.Expr)
    assert any(entry.kind is LedgerKind.HAVOC for entry in vm.trace.ledger)
    assert vm.decide(E.le(outcome.value * outcome.value, m)) is True


def test_a_loop_that_does_not_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(whiles, "LIMIT", 50)
    outcome = execute(machine(), "while True: pass\nresult = 1\n")
    assert outcome.ended or outcome.skipped


PACKED = """
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def pack(x):
    heads, size, columns = x.shape
    assert {demand}
    group = heads
    while heads % group or group * size > 128:
        group -= 1
    out = nl.ndarray((group * size, 24), dtype=nl.bfloat16, buffer=nl.shared_hbm)
    t = nl.ndarray((group * size, 24), dtype=nl.bfloat16, buffer=nl.sbuf)
    nisa.memset(t, value=0.0)
    nisa.dma_copy(dst=out, src=t)
    return out
"""


def test_what_a_search_runs_into_is_seen() -> None:
    asked = analyze_source(PACKED.format(demand="size <= 128"))
    (free,) = analyze_source(PACKED.format(demand="size > 0")).diagnostics
    assert not asked.diagnostics, asked.diagnostics
    assert free.rule == "division-by-zero" and free.counterexample is not None
    shape = free.counterexample["x.shape"]
    assert isinstance(shape, list) and shape[1] == 129


def test_a_function_that_calls_itself_twice_without_end() -> None:
    """It is followed down once, not on each of the ways that it would go."""
    text = """
import nki


def halves(n):
    return halves(n + 1) + halves(n + 2)


@nki.jit
def kernel(x):
    return halves(0)
"""
    (report,) = analyze_source(text).kernels
    assert report.status == "unknown"
    assert any("nest deeper" in reason.message for reason in report.reasons)
