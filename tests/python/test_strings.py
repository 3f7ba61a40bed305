"""Texts of values: f-strings, ``str``, ``repr``, ``format`` and ``%``."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.python.programs import same, same_for
from tests.python.support import agrees, machine, run
from verifier.symbolic import expr as E
from verifier.symbolic.values import Opaque

VALUES = st.recursive(
    st.one_of(
        st.integers(-1000, 1000),
        st.booleans(),
        st.floats(allow_nan=False),
        st.text(max_size=4),
        st.binary(max_size=3),
        st.none(),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(st.integers(0, 9), inner, max_size=3),
    ),
    max_leaves=4,
)
SPECS = st.sampled_from(
    [
        "",
        "5",
        "<5",
        ">8",
        "^7",
        "05",
        "+",
        ",",
        ".2f",
        "x",
        "#x",
        "b",
        "e",
        "%",
        "s",
        "d",
        "*>6",
        "!",
    ]
)


@given(VALUES)
def test_texts(value: object) -> None:
    agrees(
        "(str(x), repr(x), ascii(x), f'{x}', f'{x!r:>3}', '%s' % (x,), '{}'.format(x))",
        {"x": value},
    )


@given(VALUES, SPECS)
def test_formats(value: object, spec: str) -> None:
    agrees("format(x, s)", {"x": value, "s": spec})
    agrees("f'<{x:{s}}>'", {"x": value, "s": spec})


@given(
    st.sampled_from(["%d", "%5d|", "%-5s|", "%x", "%.1f", "%r", "%%", "%s %s", "%(a)s", "%c", "%"]),
    st.one_of(VALUES, st.tuples(VALUES, VALUES), st.just({"a": 1})),
)
def test_percent(template: str, value: object) -> None:
    agrees("t % x", {"t": template, "x": value})


@given(
    st.sampled_from(
        ["{}", "{0} {0}", "{a}", "{0[1]}", "{} {}", "{!r}", "{:>5}", "{{}}", "{", "{0.real}"]
    )
)
def test_templates(template: str) -> None:
    agrees("t.format((1, 'b'), a=2)", {"t": template})
    agrees("t.format(7)", {"t": template})


PROGRAMS = {
    "what a class says": """
class A:
    def __str__(self): return "s"
    def __repr__(self): return "r"
    def __format__(self, spec): return f"<{spec}>"
class B:
    def __repr__(self): return "b"
def run():
    a, b = A(), B()
    return f"{a} {a!s} {a!r} {a:x}", str(a), str([a, b]), f"{b}"
""",
    "order of evaluation": """
def run():
    log = []
    def note(x):
        log.append(x)
        return x
    text = f"{note(1)}{note(2):{note(3)}}{note('a')!r}"
    return text, log
""",
    "no text": """
class A:
    def __str__(self): return 1
def run(): return str(A())
""",
    "dictionaries and sets": """
def run(): return str({1: [2], "a": (3,)}), repr({4}), f"{set()}", str(frozenset())
""",
    "a list in itself": """
def run():
    a = [1]
    a.append(a)
    return len(a)
""",
    "joined": """
def run(): return ", ".join(str(k) for k in (1, 2)), "-".join(["a", "b"])
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name: str) -> None:
    same(PROGRAMS[name])


def test_a_text_by_path() -> None:
    program = """
        def run(n):
            name = "a" if n > 1 else "bc"
            text = f"<{name}:{name!r}>"
            return text == "<a:'a'>", len(text), text.startswith("<b")
    """
    same_for(program, n=range(4))


def test_the_text_of_a_symbol_is_a_string_that_harms_nobody() -> None:
    for source in ("f'{n}'", "str(n)", "'%d' % n", "'{}'.format(n)", "repr([n])", "f'{n:>5}'"):
        vm = machine()
        outcome = run(vm, source, n=E.symbol("n"))
        assert isinstance(outcome.value, Opaque) and outcome.value.harmless, source
        assert not outcome.skipped and not outcome.escapes


def test_what_is_done_to_make_a_text_is_done() -> None:
    program = """
        def run(n):
            log = []
            text = f"{n} {log.append(n)} {12 // n}"
            return log[0]
    """
    same_for(program, n=range(3))
