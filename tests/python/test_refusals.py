"""What CPython refuses of values that are not known, and of what the library is given."""

from __future__ import annotations

import builtins
import importlib
import inspect
import math
from typing import Any

import pytest

from tests.python.support import Outcome, machine, run
from verifier.symbolic import expr as E
from verifier.symbolic.python.language import PYTHON
from verifier.symbolic.python.model import Builtin
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
    ['f"{n}".split(",")', 'int(f"{n}", base=10)', '"abc".split(sep=f"{n}")',
     'int("a" + str(n))', 'float(f"{n}x")', 'f"{n}"[99]', 'repr(n)[0]',
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
     "1 / (1 + math.exp(-(n * 0.3)))", "divmod(1.5, n * 0.3)", "1 % (n * 0.3)",
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


# ------------------------------------------------------------------------ the process


@pytest.mark.parametrize(
    ("source", "error"),
    [
        ("os.environ.update(a=1)", TypeError),
        ("os.environ.setdefault('a')", TypeError),
        ("os.putenv(1)", TypeError),
        ("logging.info()", TypeError),
        ("logging.getLogger('a').info()", TypeError),
        ("logging.getLogger(5)", TypeError),
        ("logging.getLogger('a').setLevel('BOGUS')", ValueError),
        ("logging.getLogger('a').setLevel(1.5)", TypeError),
        ("sys.platform + 1", TypeError),
        ("logging.getLogger('a').name + 1", TypeError),
    ],
)
def test_what_the_process_refuses(source: str, error: type[Exception]) -> None:
    assert outcome(source).error is error


@pytest.mark.parametrize(
    "source",
    ["os.environ.update(1)", "logging.info('x', foo=3)", "logging.error('%s', Shown())",
     "logging.getLogger('a').addFilter(len)", "logging.basicConfig(bogus=1)",
     "os.environ.setdefault('a=', '1')"],
)  # fmt: skip
def test_what_the_process_may_refuse(source: str) -> None:
    assert outcome(source).skipped


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("logging.getLogger('a') is logging.getLogger('b')", False),
        ("logging.getLogger('a') is logging.getLogger('a')", True),
        ("logging.getLogger('') is logging.getLogger('root')", True),
        ("logging.getLogger('a').getChild('b').name", "a.b"),
        ("logging.getLogger('a').setLevel('INFO')", None),
        ("logging.getLogger('a').warning('x %d', n, exc_info=True)", None),
        ("logging.basicConfig(level=logging.INFO, format='%(message)s')", None),
        ("os.environ.update({'a': 'b'}, c='d')", None),
    ],
)
def test_what_the_process_takes(source: str, value: object) -> None:
    found = outcome(source)
    assert found.host == value and is_decided(found)


# ------------------------------------------------------------------------ all models


def _models() -> list[tuple[str, Builtin, Any]]:
    """Models that take any keyword, with CPython's own of that name."""
    found: list[tuple[str, Builtin, Any]] = []
    for name, value in PYTHON.builtins.items():
        found.append((name, value, getattr(builtins, name, None)))  # type: ignore[arg-type]
    for module, names in PYTHON.modules.items():
        host = _module(module)
        found += [(f"{module}.{n}", v, getattr(host, n, None)) for n, v in names.items()]  # type: ignore[misc]
    for kind, table in PYTHON.methods.items():
        host_type = getattr(builtins, kind, None)
        found += [(f"{kind}.{n}", v, getattr(host_type, n, None)) for n, v in table.items()]
    return [
        (name, value, host)
        for name, value, host in found
        if isinstance(value, Builtin) and _takes_any(value.signature) and _refuses(host)
    ]


def _module(name: str) -> Any:
    """It, whatever else the process has imported: each worker is to find the same."""
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def _takes_any(signature: inspect.Signature) -> bool:
    return any(p.kind is p.VAR_KEYWORD for p in signature.parameters.values())


def _refuses(host: Any) -> bool:
    """Whether CPython says that a function does not take any keyword."""
    try:
        return not _takes_any(inspect.signature(host))
    except (TypeError, ValueError):
        return False


@pytest.mark.parametrize(
    ("name", "model", "host"), [pytest.param(*model, id=model[0]) for model in _models()]
)
def test_models_refuse_keywords_that_nobody_knows(name: str, model: Builtin, host: Any) -> None:
    taken = inspect.signature(host)
    needed = [
        p
        for p in taken.parameters.values()
        if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
    ]
    vm = machine()
    given: list[object] = [E.const(1)] * len(needed)
    owner = name.rpartition(".")[0]
    if given and isinstance(getattr(builtins, owner, None), type):
        text = {"float": "1.5", "str": "'a'", "bytes": "b'a'", "bytearray": "bytearray(b'a')"}
        given[0] = run(vm, text.get(owner, f"{owner}()")).value
    names = {f"a{k}": value for k, value in enumerate(given)}
    call = f"f({''.join(f'{n}, ' for n in names)}no_such_keyword=1)"
    found = run(vm, call, f=model, **names)
    assert found.error is TypeError or found.skipped, name
