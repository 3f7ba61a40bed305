"""What CPython refuses of values that are not known, and of what the library is given."""

from __future__ import annotations

import math

import pytest

from tests.python.support import Outcome, machine, run
from verifier.symbolic import expr as E
from verifier.symbolic.values import OpaqueOf

MODULES = ("logging", "math", "np", "os", "sys")
TEXT = """import logging, math, os, sys
import numpy as np
class Shown:
    def __str__(self):
        return "shown"
"""


def outcome(source: str) -> Outcome:
    vm = machine(TEXT)
    names = {name: run(vm, name).value for name in (*MODULES, "Shown")}
    size, any_size = E.symbol("n", 1, 1 << 40), E.symbol("z", 0, 1 << 40)
    return run(vm, source, n=size, z=any_size, i=E.symbol("i", -9, 9), **names)


def is_decided(found: Outcome) -> bool:
    """Whether CPython's answer is known: no cut-off, no error, no entry of what is not known."""
    return not found.ended and not found.escapes and not found.vm.trace.ledger


# ------------------------------------------------------------------------ texts


@pytest.mark.parametrize(
    "source",
    ['f"{n}".upper(1)', 'f"{n}".replace(1, 2)', '",".join([f"{n}", 1])', 'f"{n}" + 1',
     'str(n).strip(3)', 'f"{n}".startswith(1)'],
)  # fmt: skip
def test_texts_refuse_types(source: str) -> None:
    assert outcome(source).error is TypeError


@pytest.mark.parametrize("source", ['f"{n!r:d}"', 'f"{n * 0.3:d}"', 'f"{str(n):=5}"'])
def test_formats_that_no_value_takes(source: str) -> None:
    found = outcome(source)
    assert found.ended
    assert found.escapes[-1].fault is not None and found.escapes[-1].fault.error is ValueError


@pytest.mark.parametrize(
    "source",
    ['f"{n}".split(",")', 'int("a" + str(n))', 'float(f"{n}x")', 'f"{n}"[99]', 'repr(n)[0]',
     'f"{n}".index("q")', 'f"{n}".encode("bogus")', 'f"{n}".split(foo=1)', 'f"{n}".join([1, 2])',
     '"abc".index(f"{n}")', '"abc".split(f"{n}")', 'f"{n}".partition("")', 'f"{n}".format(1)',
     'list(str(n))', '[a for a, b in [f"{n}"]]', 'f"{n}"[::z]', 'f"{n}".center(1 << 50)'],
)  # fmt: skip
def test_texts_that_may_be_refused_are_not_followed(source: str) -> None:
    found = outcome(source)
    assert found.skipped or found.ended


@pytest.mark.parametrize(
    "source",
    ['f"{n}"', 'f"{n}".upper()', 'f"{n}".strip().lower()', 'f"t{n}" + "_x"', '"a" + str(n)',
     'f"{n}"[1:]', 'f"{n}".replace("1", str(n))', '"-".join(["a", f"{n}"])', 'f"{n!r:>10}"',
     'f"{n / 4:.2f}"', '"{}, {:>8}".format(n, f"{n}")', '"%d of %s" % (n, str(n))',
     'f"{n}".join(["a", str(n)])', 'f"{n}".zfill(8)', 'f"{n}".partition(",")[0]',
     'print(f"{n}", sep="", end="")', 'logging.info(f"{n}")'],
)  # fmt: skip
def test_usual_uses_of_texts_are_followed(source: str) -> None:
    assert is_decided(outcome(source))


# ------------------------------------------------------------------------ print, numpy


@pytest.mark.parametrize(
    "source",
    ["print(1, sep=2)", "print(1, end=n)", "print(end=b'')", 'np.sqrt("a")', "np.sqrt(4, foo=1)",
     "np.prod([1, 2], foo=1)", 'np.floor("a")', "np.sqrt()", "np.ceil(None)"],
)  # fmt: skip
def test_what_print_and_numpy_refuse(source: str) -> None:
    assert outcome(source).error is TypeError


@pytest.mark.parametrize(
    "source",
    ["print(1, sep=None, end='')", "print()", "np.sqrt(n)", "np.prod((2, n))", "np.prod(n)",
     "np.sqrt([4, n])", "np.ceil(1.5)", "np.floor([1.5])"],
)  # fmt: skip
def test_what_print_and_numpy_take(source: str) -> None:
    assert is_decided(outcome(source))


@pytest.mark.parametrize(
    "source",
    ["np.sqrt(4, dtype=1)", "np.prod([1, 2], axis=0)", "np.prod([[1, 2], [3, 4]])"],
)  # fmt: skip
def test_options_of_numpy_are_not_followed(source: str) -> None:
    assert outcome(source).skipped


def test_a_text_that_is_not_known_is_a_text() -> None:
    for source in ("str(n)", "repr(n)", "f'{n}'.title()", "hex(n)", "'{}'.format(n)"):
        value = outcome(source).value
        assert isinstance(value, OpaqueOf) and value.host is str, source


# ------------------------------------------------------------------------ floats


@pytest.mark.parametrize(
    "source",
    ["1 / (n * 0.3)", "1.0 / math.sqrt(n)", "1 / (math.sqrt(n) * 0.3)", "n ** -0.5", "1.5 / n",
     "(n * 0.3) ** -1.0", "math.log(n * 0.3)", "math.exp(-(n * 0.3))", "math.sin(n * 0.3)",
     "1 / (1 + math.exp(-(n * 0.3)))", "int(n * 0.3)", "divmod(1.5, n * 0.3)", "1 % (n * 0.3)",
     "(n * 0.3) / n", "abs(n * -0.3) ** 0.5", "round(n * 0.3, 2)", "math.log2(math.sqrt(n))"],
)  # fmt: skip
def test_floats_that_no_function_refuses(source: str) -> None:
    assert is_decided(outcome(source))


@pytest.mark.parametrize(
    "source",
    ["1 / (z * 0.3)", "1 % (z * 0.3)", "1.0 / math.sqrt(z)", "(z * 0.3) ** -1.0", "i ** 0.5",
     "math.sqrt(n * 0.3 - 5)", "math.log(z * 0.3)", "math.exp(n * 0.3)", 'int(n * float("inf"))',
     'int(n + float("nan"))', "divmod(1.5, z * 0.3)", "(n * 0.3).hex(1)", "(n * 0.3) / z",
     "math.pow(i * 0.3, 0.5)", "round(n * 0.3, -2)", 'math.floor(n * float("inf"))',
     "pow(i * 0.3, 0.5)", "math.log(n * 0.3, n)", "(n * 0.3) ** 1000", "math.fmod(1, z * 0.3)"],
)  # fmt: skip
def test_floats_that_may_be_refused(source: str) -> None:
    found = outcome(source)
    assert found.skipped or found.escapes or found.ended


@pytest.mark.parametrize("size", [1, 2, 7, 1000, 1 << 40])
@pytest.mark.parametrize(
    "source",
    ["n * 0.3", "1 / (n * 0.3)", "n ** -0.5", "math.exp(-n * 0.1)", "math.sqrt(n) * 0.3 - n",
     "-(n * 0.3) / 7", "abs(n * -0.1)", "math.log(n * 0.3)", "(n * 0.1) ** 2",
     "math.atan(n - 0.3)"],
)  # fmt: skip
def test_floats_lie_where_the_interval_says(source: str, size: int) -> None:
    value = outcome(source).value
    assert isinstance(value, OpaqueOf) and value.interval is not None
    low, high = value.interval
    assert low <= eval(source, {"math": math, "n": size}) <= high
