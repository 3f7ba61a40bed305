"""Beta 1: NumPy's functions on numbers of the host, index arrays and modules that nobody lists."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from verifier.cli.main import main

HEAD = """\
import numpy as np
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl
"""


def checked(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, text: str
) -> tuple[str, set[str], list[str]]:
    """The status of the one kernel, the rules of its errors, and the conditions that it needs."""
    file = tmp_path / "k.py"
    file.write_text(HEAD + text, encoding="utf-8")
    main(["check", "--no-cache", "--isolated", "--format", "json", str(file)])
    found = json.loads(capsys.readouterr().out)
    (kernel,) = found["kernels"]
    errors = {d["rule"] for d in found["diagnostics"] if d["severity"] == "error"}
    needed = [c["text"] for c in (kernel.get("precondition") or {}).get("conjuncts", ())]
    return kernel["status"], errors, needed


FOLDED = """
@nki.jit
def folded(x):
    rows = int(np.prod(x.shape[:2]))
    assert rows <= 96 and x.shape[2] == 40 and x.dtype == nl.float32
    out = nl.ndarray((rows, 40), dtype=x.dtype, buffer=nl.shared_hbm)
    t = nl.load(x.reshape((rows, 40)))
    nl.store(out, nl.multiply(t, t))
    return out
"""

ROUNDED = """
@nki.jit
def rounded(x):
    R = x.shape[0]
    assert x.shape[1] == 40 and x.dtype == nl.float32
    out = nl.ndarray((R, 40), dtype=x.dtype, buffer=nl.shared_hbm)
    for i in nl.affine_range(int(np.ceil(R / 96))):
        p, f = i * 96 + nl.arange(np.minimum(96, R))[:, None], nl.arange(40)[None, :]
        nl.store(out[p, f], nl.load(x[p, f], mask=p < R), mask=p < R)
    return out
"""

FEWER = """
@nki.jit
def fewer(x):
    R, C = x.shape
    assert R <= 96 and C <= 200 and x.dtype == nl.float32
    out = nl.ndarray((R, C), dtype=x.dtype, buffer=nl.shared_hbm)
    access = [None] * (2 if C != 1 else 1)
    access[0] = slice(None, None, None)
    p, f = nl.arange(R)[tuple(access)], nl.arange(C)[None, :] if C != 1 else 0
    nl.store(out[p, f], nl.load(x[p, f]))
    return out
"""

HIDDEN = """
import neuronxcc.nki.language.sizes as sizes
from neuronxcc.nki.language.sizes import size_of
@nki.jit
def hidden(x):
    assert x.shape == (70, 40) and x.dtype == nl.float32
    out = nl.ndarray((70, 40), dtype=x.dtype, buffer=nl.shared_hbm)
    nl.store(out, nl.load(x))
    return out
"""


@pytest.mark.parametrize("text", [FOLDED, ROUNDED])
def test_functions_of_numpy_compute_with_sizes(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, text: str
) -> None:
    assert checked(capsys, tmp_path, text) == ("verified", set(), [])


def test_an_index_array_is_indexed_with_a_tuple_of_either_length(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    status, _, needed = checked(capsys, tmp_path, FEWER)
    assert (status, needed) == ("conditional", ["C != 1"])
    # one column: the index array has one dimension, which Beta 1 does not take
    assert main(["run", f"{tmp_path / 'k.py'}::fewer", "--arg", "x=float32[70,1]"]) == 1
    assert main(["run", f"{tmp_path / 'k.py'}::fewer", "--arg", "x=float32[70,40]"]) == 0


def test_what_an_index_array_is_indexed_with_may_not_be_known(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    text = FEWER.replace("(2 if C != 1 else 1)", "x.shape[0]")
    assert checked(capsys, tmp_path, text)[0] == "unknown"


def test_a_module_that_is_not_listed_may_be_there(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert checked(capsys, tmp_path, HIDDEN)[:2] == ("verified", set())
    misspelt = HIDDEN.replace("nki.language.sizes as", "nki.languag as")
    assert checked(capsys, tmp_path, misspelt)[1] == {"uncaught-exception"}


SPREAD = """
@nki.jit
def spread(x):
    M, N = x.shape
    assert M <= 96 and x.dtype == nl.float32
    out = nl.ndarray((M, N), dtype=x.dtype, buffer=nl.shared_hbm)
    T = min(N, 40)
    for n in nl.affine_range((N + T - 1) // T):
        i, j = nl.arange(M)[None, :], n * T + nl.arange(T)[None, :]
        nl.store(out[i, j], nl.zeros((M, T), dtype=x.dtype), mask=(i < M) & (j < N))
    return out
"""


def test_what_a_mask_that_is_not_followed_leaves_out_is_not_known(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    # both index arrays lie along the columns: of the one that is longer the mask has no axis
    status, _, needed = checked(capsys, tmp_path, SPREAD)
    assert status == "unknown"
    assert not any("%" in text for text in needed), needed


ROUNDS = """
@nki.jit
def copied(x):
    assert x.shape == (384, 40) and x.dtype == nl.float32
    out = nl.ndarray((384, 40), dtype=nl.float32, buffer=nl.shared_hbm)
    for i in {range}:
        {leaves}
        nl.store(out[i * 96 : i * 96 + 96, :], nl.load(x[i * 96 : i * 96 + 96, :]))
    return out
"""


@pytest.mark.parametrize(
    ("rounds", "leaves", "status"),
    [
        ("range(4)", "pass", "verified"),
        ("nl.static_range(9)", "if i == 4: break", "verified"),
        # what that means to a loop whose body is traced once is not documented
        ("range(9)", "if i == 4: break", "unknown"),
        ("nl.affine_range(9)", "if i >= 4: break", "unknown"),
        ("nl.sequential_range(9)", "if i > 3: continue", "unknown"),
    ],
)
def test_rounds_that_end_early(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, rounds: str, leaves: str, status: str
) -> None:
    text = ROUNDS.format(range=rounds, leaves=leaves)
    assert checked(capsys, tmp_path, text)[:2] == (status, set())


MASKED = """
def made(rows):
    best = 0
    for i in range(rows):
        if i > 3:
            continue
        best = max(best, i)

    @nki.jit
    def copied(x):
        assert x.shape == (96, 40) and x.dtype == nl.float32
        out = nl.ndarray((96, 40), dtype=nl.float32, buffer=nl.shared_hbm)
        nl.store(out, nl.load(x))
        return out

    return copied
"""


def test_loops_around_a_kernel_are_those_of_python(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert checked(capsys, tmp_path, MASKED)[:2] == ("verified", set())
