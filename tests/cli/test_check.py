from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

from verifier.cli.main import main
from verifier.hardware.catalogue import NAMES

from .fake_engine import write

pytestmark = pytest.mark.usefixtures("engine")


def check(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    status = main(["check", *arguments])
    captured = capsys.readouterr()
    return status, captured.out, captured.err


@pytest.mark.parametrize(
    ("what", "status", "strict"),
    [("fine", 0, 0), ("warning", 0, 1), ("unknown", 0, 1), ("error", 1, 1)],
)
def test_exit_status(
    project: Path, capsys: pytest.CaptureFixture[str], what: str, status: int, strict: int
) -> None:
    write(project, "gemm.py", what)
    assert check(capsys, "gemm.py")[0] == status
    assert check(capsys, "--strict", "gemm.py")[0] == strict


def test_output_does_not_depend_on_jobs(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for index in range(12):
        write(project, f"part{index % 3}/k{index:02}.py", "error" if index % 2 else "fine")
    (project / "plain.py").write_text("x = 1\n")
    outputs = {check(capsys, "--jobs", jobs)[:2] for jobs in ("1", "2", "5")}
    assert len(outputs) == 1
    status, text = outputs.pop()
    assert status == 1
    assert "12 kernels in 13 files: 6 verified, 6 with faults" in text


def test_json(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(project, "gemm.py", "error")
    status, out, err = check(
        capsys,
        "--format",
        "json",
        "--target",
        "trn1,trn3",
        "--api-version",
        "beta1",
        "--statistics",
    )
    document = json.loads(out)
    assert (status, err) == (1, "")
    assert document["kernels"][0]["target"] == "trn1"
    assert document["kernels"][0]["api_version"] == "beta1"
    assert document["diagnostics"][0]["message"] == "trn1 trn3 found"
    assert document["statistics"]["query_ms"]["median"] == 1.5
    assert document["statistics"]["files"] == 1


def test_broken_inputs_lose_nothing(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for index in range(10):
        write(project, f"good{index}.py")
    write(project, "crash.py", "crash")
    write(project, "die.py", "die")
    status, out, err = check(capsys, "--jobs", "3", "--format", "concise", ".", "nowhere")
    assert status == 2
    lines = sorted(err.splitlines())
    assert len(lines) == 3
    assert re.fullmatch(
        r"tilelint: error: crash.py: internal error: RuntimeError: something broke( at .*)?",
        lines[0],
    )
    assert lines[1].startswith("tilelint: error: die.py: internal error: the worker process died")
    assert lines[2] == "tilelint: error: nowhere: no such file or directory"
    status, out, _ = check(capsys, "--jobs", "3", "--format", "json", ".", "nowhere")
    document = json.loads(out)
    assert status == 2
    assert len(document["kernels"]) == 10
    assert [error["path"] for error in document["errors"]] == ["crash.py", "die.py", "nowhere"]


def test_crash_in_process(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(project, "crash.py", "crash")
    status, out, err = check(capsys, "crash.py")
    assert status == 2
    assert err.count("\n") == 1
    assert "1 failure" in out


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_unreadable_file(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(project, "good.py")
    write(project, "secret.py")
    (project / "secret.py").chmod(0)
    status, out, err = check(capsys)
    assert status == 2
    assert err == "tilelint: error: secret.py: cannot read file: Permission denied\n"
    assert "good" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--target", "trm2"], "unknown target 'trm2'; did you mean 'trn2'?"),
        (["--target", "gpu"], f"unknown target 'gpu' (known: {', '.join(NAMES)})"),
        (["--api-version", "9"], "unknown API version '9' (known: beta1, 0.2, 0.3, 0.4, 0.5, 0.6)"),
        (
            ["--contract", "gemm(x: bf17[K])"],
            "bad contract 'gemm(x: bf17[K])': column 9: 'bf17' is not a dtype; "
            "did you mean 'bf16'?",
        ),
        (
            ["--contract", "gem(x: bf16[K])"],
            "contract for 'gem': no such kernel in the files checked; did you mean 'gemm'?",
        ),
        (["--format", "sarif9"], "(see 'tilelint check --help')"),
        (["--jobs", "0"], "(see 'tilelint check --help')"),
        (["--timeout", "0"], "(see 'tilelint check --help')"),
    ],
)
def test_bad_arguments_are_one_line(
    project: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    write(project, "gemm.py")
    status, _, err = check(capsys, "gemm.py", *arguments)
    assert status == 2
    assert err.startswith("tilelint: error: ") and err.endswith(f"{message}\n")
    assert err.count("\n") == 1


def test_a_contract_reaches_its_kernel(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(project, "gemm.py")
    assert check(capsys, "gemm.py", "--contract", "gemm(x: bf16[K])")[0] == 0


def test_a_directory_without_kernels(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "a.py").write_text("x = 1\n")
    assert check(capsys) == (0, "No kernels in 1 file\n", "")
