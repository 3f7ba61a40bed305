"""``tilelint contract``: what is printed is a contract under which the kernel is right."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from verifier.cli.main import main
from verifier.configuration.grammar import parse
from verifier.configuration.showing import text_of

KERNEL = """\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def doubled(x, y):
    R, C = x.shape
    assert C == 70 and y.shape[1] == C and x.dtype == nl.float32 and y.dtype == nl.float32
    out = nl.ndarray((R, C), dtype=x.dtype, buffer=nl.shared_hbm)
    for i in nl.affine_range(R // 128):
        rows = nl.ndarray((128, C), dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=rows, src=x[i * 128 : i * 128 + 128, :])
        more = nl.ndarray((128, C), dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=more, src=y[i * 128 : i * 128 + 128, :])
        nisa.tensor_tensor(dst=rows, data1=rows, data2=more, op=nl.add)
        nisa.dma_copy(dst=out[i * 128 : i * 128 + 128, :], src=rows)
    return out
"""
CONTRACT = "doubled(x: _[R, C], y: _[y_0, y_1]) where R % 128 == 0, R <= y_0"


@pytest.fixture
def kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "k.py"
    path.write_text(KERNEL)
    return path


def test_the_contract_is_sufficient(kernel: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["contract", "k.py", "--isolated"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines == ["# k.py:7: doubled on trn2", CONTRACT, ""]
    assert text_of(parse(CONTRACT)) == CONTRACT
    options = ["--no-cache", "--strict", "--format", "concise"]
    assert main(["check", "k.py", *options, "--contract", CONTRACT]) == 0
    weaker = CONTRACT.replace(", R <= y_0", "")
    assert main(["check", "k.py", *options, "--contract", weaker]) == 1


#: only the shapes of `w` and `v` are asked for
SHAPES = """\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def part(x, w, v):
    C, N = w.shape
    M = v.shape[0]
    out = nl.ndarray((70, N), dtype=nl.float32, buffer=nl.shared_hbm)
    rows = nl.ndarray((70, 90), dtype=nl.float32, buffer=nl.sbuf)
    assert x.shape == (70, 90) and x.dtype == nl.float32
    nisa.dma_copy(dst=rows, src=x)
    nisa.dma_copy(dst=out, src=rows[:, M : M + N])
    return out
"""


def test_what_names_stand_for_is_said(kernel: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kernel.write_text(SHAPES)
    assert main(["contract", "k.py", "--isolated"]) == 0
    _, contract, _ = capsys.readouterr().out.splitlines()
    assert contract == "part(x: _[x_0, x_1], w: _[C, N]) where N + v.shape[0] <= 90"
    options = ["--no-cache", "--strict", "--format", "concise"]
    assert main(["check", "k.py", *options, "--contract", contract]) == 0


def test_other_forms(kernel: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["contract", "k.py", "--isolated", "--format", "asserts"]) == 0
    asserts = "assert R % 128 == 0\nassert R <= y.shape[0]\n"
    assert asserts in capsys.readouterr().out
    assert main(["contract", "k.py", "--isolated", "--format", "docstring"]) == 0
    expected = "Right exactly when:\n    R % 128 == 0\n    R <= y.shape[0]\n"
    assert expected in capsys.readouterr().out
    assert main(["contract", "k.py", "--isolated", "--format", "json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)["kernels"]
    assert (found["contract"], found["exact"], found["left_out"]) == (CONTRACT, True, [])
    conjuncts = found["precondition"]["conjuncts"]
    assert [conjunct["text"] for conjunct in conjuncts] == ["R % 128 == 0", "R <= y.shape[0]"]
    assert {conjunct["assertion"]["path"] for conjunct in conjuncts} == {found["path"]}


def test_what_is_not_known_is_said(kernel: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kernel.write_text(KERNEL.replace("    return out", "    nisa.nothing(out)\n    return out"))
    assert main(["contract", "k.py", "--isolated"]) == 1
    out = capsys.readouterr().out
    assert "# not known: " in out and "doubled(" not in out


CONFIGURATION = """\
# what holds for all
[tool.tilelint]
targets = ["trn2"]  # ours

[tool.tilelint.contracts]
# of another file
"other.py::gone" = "(x: bf16[96, 70])"

# lines
[tool.black]
line-length = 88
"""


@pytest.mark.parametrize(
    "before", ["", CONFIGURATION, CONFIGURATION.partition("\n[tool.tilelint.c")[0]]
)
def test_contracts_are_written(
    before: str, kernel: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name = "pyproject.toml" if before else "tilelint.toml"
    table = "tool.tilelint.contracts" if before else "contracts"
    (kernel.parent / ".git").mkdir()
    if before:
        (kernel.parent / name).write_text(before)
    assert main(["contract", "k.py", "--write"]) == 0
    assert "wrote contracts into" in capsys.readouterr().err
    after = (kernel.parent / name).read_text()
    line = f'"k.py::doubled" = "{CONTRACT.removeprefix("doubled")}"\n'
    gone = '"other.py::gone" = "(x: bf16[96, 70])"\n'
    if gone in before:
        assert after == before.replace(gone, gone + line)
    else:
        assert after.startswith(before) and after.endswith(f"[{table}]\n{line}")
    assert main(["check", "k.py", "--no-cache", "--strict", "--format", "concise"]) == 0
    capsys.readouterr()
    assert main(["contract", "k.py", "--write"]) == 0
    assert (kernel.parent / name).read_text() == after
    assert CONTRACT in capsys.readouterr().out.splitlines()


#: as wide as what is live fits, which is another width on each target
WIDE = """\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def wide(x):
    R, C = x.shape
    assert R <= 96 and x.dtype == nl.float32
    out = nl.ndarray((R, C), dtype=nl.float32, buffer=nl.shared_hbm)
    rows = nl.ndarray((R, C), dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=rows, src=x)
    nisa.dma_copy(dst=out, src=rows)
    return out
"""


def test_contracts_of_several_targets_are_written_for_each(kernel: Path) -> None:
    kernel.write_text(WIDE)
    written = kernel.parent / "tilelint.toml"
    written.write_text('targets = ["trn2", "trn3"]\n')
    assert main(["contract", "k.py", "--write"]) == 0
    assert [line.strip() for line in written.read_text().splitlines()[3:]] == [
        '"k.py::wide" = [',
        '"(x: _[R, C]) on trn2 where C <= 53248",',
        '"(x: _[R, C]) on trn3 where C <= 61440",',
        "]",
    ]
    assert main(["check", "k.py", "--no-cache", "--strict", "--format", "concise"]) == 0


def test_what_is_found_under_a_contract_is_told_in_its_names(
    kernel: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = "(x: fp32[M, N], y: fp32[L, N]) where M % 128 == 0"
    for contract, whole in (
        (said, f"doubled{said.replace('fp32', 'float32')}, M <= L"),
        (
            "(x: fp32[M, 70], y: fp32[256, 70])",
            "doubled(x: float32[M, 70], y: float32[256, 70]) where M % 128 == 0, M <= 256",
        ),
    ):
        (kernel.parent / "tilelint.toml").write_text(f'[contracts]\n"k.py::doubled" = "{contract}"')
        before = (kernel.parent / "tilelint.toml").read_text()
        main(["contract", "k.py", "--write"])
        printed = capsys.readouterr()
        assert whole in printed.out.splitlines()
        assert "the contract of `doubled` is left as it is: it is no longer enough" in printed.err
        assert (kernel.parent / "tilelint.toml").read_text() == before


def test_a_layout_that_is_changed_by_hand(kernel: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = 'contracts = { "other.py::gone" = "(x: bf16[96, 70])" }\n'
    (kernel.parent / "tilelint.toml").write_text(text)
    assert main(["contract", "k.py", "--write"]) == 2
    assert "in no table of their own" in capsys.readouterr().err
    assert (kernel.parent / "tilelint.toml").read_text() == text
