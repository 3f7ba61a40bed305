"""Parameters that are strings: the strings that a path leaves, against CPython, and kernels."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from tests.python.support import SPAN, UNKNOWN, at, machine, run
from verifier.engine import analyze_file
from verifier.report.details import advice
from verifier.report.model import FileRequest, FileResult
from verifier.symbolic import expr as E
from verifier.symbolic.python.concrete import SYMBOLIC
from verifier.symbolic.python.inputs import InputKind, Word
from verifier.symbolic.trace import AssumptionKind

STRINGS = ("a", "bcd", "x1", "")

#: what is done with the parameter
USES = """
mode < 3  mode < "b"  mode >= "bcd"  mode + 1  mode + "z"  "z" + mode  1 + mode  mode * 2  2 * mode
mode * "a"  mode("a")  mode.foo  mode.upper()  mode.upper  len(mode)  3 in mode  "c" in mode
mode in "abcd"  mode in ("a", "x1")  mode in {"a": 1}  mode[0]  mode[2]  mode[1:]  mode["a"]
mode.split("x")  mode.split(1)  [0] + mode  (0,) + mode  min(mode, 3)  min(mode, "b")  max(mode)
sum([mode])  sum(mode)  mode == "a"  mode != "a"  mode == 1  mode != 1  mode == None  mode is None
bool(mode)  not mode  list(mode)  tuple(mode)  sorted(mode)  mode.startswith("b")  -mode  ~mode
mode % 3  mode << 1  mode & 1  f"{mode}!"  str(mode)  repr(mode)  "-".join([mode, mode])  int(mode)
{"a": 1, "bcd": 2, "x1": 3, "": 4}[mode]  {"a": 1}.get(mode, 5)  {"a": 1}[mode]  mode.find("c")
{"a": 1, "bcd": 2}[mode] if len(mode) in (1, 3) else 9  [1, 2][len(mode) % 2]  ord(mode)
{"a": 1}[mode] if mode.startswith("a") else 3  {"a": 1, "": 7}[mode] if len(mode) < 2 else 3
{"bcd": 1}[mode] if "c" in mode else 3  {"a": 1}[mode] if mode == "a" else 2  mode.count("c")
[c for c in mode]  [(a, b) for a, b in [mode]]  [*mode]
isinstance(mode, str)  isinstance(mode, int)  range(mode)  [1, 2][mode]  mode.isdigit()  mode.real
"abc".replace(mode, "z")  "x1bcd".find(mode)  chr(mode)  float(mode)  mode == mode  mode is mode
"""


def _uses() -> list[str]:
    return [use.strip() for line in USES.strip().splitlines() for use in line.split("  ")]


@pytest.mark.parametrize("use", _uses())
def test_one_of_some_strings(use: str) -> None:
    """Where the path says which strings there are, each gives what CPython gives it, or unknown."""
    vm = machine()
    mode = Word("mode", SPAN, kind=InputKind.STRING)
    codes = {text: vm.inputs.string_equals(mode, text) for text in STRINGS}
    vm.assume(E.or_(*codes.values()), "", SPAN, AssumptionKind.ASSERT)
    outcome = run(vm, use, mode=mode)
    for text in STRINGS:
        env = {"mode": vm.inputs.strings[text]}
        raised = [e for e in outcome.escapes if E.evaluate(e.guard, env)]
        try:
            expected = eval(use, {"mode": text})
        except Exception as error:
            if outcome.skipped:
                continue
            assert raised and raised[0].fault is not None, (text, error, outcome.value)
            assert issubclass(type(error), raised[0].fault.error), (text, error, raised[0].fault)
            continue
        assert not raised, (text, expected, raised[0].fault)
        if outcome.skipped or use == "mode.upper":
            continue
        assert not outcome.ended, (text, expected)
        found = at(vm, outcome.value, env)
        same = found is UNKNOWN or found is SYMBOLIC or found == expected
        assert same, (text, found, expected)


@pytest.mark.parametrize("use", _uses())
def test_any_string(use: str) -> None:
    """What no string takes is an error; what some do is not followed, or what it is for each."""
    vm = machine()
    mode = Word("mode", SPAN, kind=InputKind.STRING)
    outcome = run(vm, use, mode=mode)
    errors: set[type[BaseException] | None] = set()
    for text in STRINGS:
        try:
            eval(use, {"mode": text})
            errors.add(None)
        except Exception as error:
            errors.add(type(error))
    if None in errors and len(errors) == 1:  # others may raise
        assert not outcome.ended
        assert not any(escape.guard is E.TRUE for escape in outcome.escapes), outcome.escapes
    elif None in errors or len(errors) > 1:
        assert outcome.skipped or outcome.escapes, outcome.value
    else:
        assert outcome.error in errors or outcome.skipped, (outcome.value, errors)


# ------------------------------------------------------------------------ kernels

HEAD = """\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def kernel(x, mode: str = "a"):
    assert x.shape == (128, 64) and x.dtype == nl.float32
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=x)
    w = 3
"""
TAIL = """\
    t = nl.ndarray((w, 64), dtype=nl.float32, buffer=nl.sbuf)
    nisa.memset(dst=t, value=0.0)
    return out
"""


def check(tmp_path: Path, body: str) -> FileResult:
    path = tmp_path / "kernel.py"
    path.write_text(HEAD + textwrap.indent(textwrap.dedent(body), "    ") + TAIL)
    result = analyze_file(FileRequest(path=str(path), roots=(str(tmp_path),)))
    assert not result.errors
    return result


def test_a_kernel_that_looks_a_mode_up(tmp_path: Path) -> None:
    body = """\
        assert mode in ("a", "abcd", "b")
        w = {"a": 3, "abcd": 7}[mode] if mode.startswith("a") else 20
    """
    assert check(tmp_path, body).kernels[0].status == "verified"


def test_what_is_to_be_asserted_is_said_in_strings(tmp_path: Path) -> None:
    body = """\
        w = {"a": 3, "b": 5}[mode]
    """
    result = check(tmp_path, body)
    found = [d for d in result.diagnostics if d.rule == "missing-key"]
    assert found and any('"a"' in line and '"b"' in line for line in advice(found[0])), found
    assert not any("mode == 1" in line for line in advice(found[0]))


@pytest.mark.parametrize("body", ["w = 5 if mode < 3 else 4", "mode + 1", "mode()", "mode.foo"])
def test_a_string_is_no_number(tmp_path: Path, body: str) -> None:
    assert check(tmp_path, body + "\n").kernels[0].status == "violated"
