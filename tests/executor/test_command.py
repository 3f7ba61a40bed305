"""``tilelint run``: what it prints, its exit status, and its limits."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.commands import ROOT, KernelProcess, tilelint
from verifier.cli.main import main
from verifier.engine import analyze_file
from verifier.report.model import FileRequest, FileResult

KERNELS = """
import ctypes
import os
import sys
import time
import weakref

os.environ["NEURON_PLATFORM_TARGET_OVERRIDE"] = "none"

import nki
import nki.isa as nisa
import nki.language as nl
import rules
import verifier
from verifier.tools import half


@nki.jit(mode="any")
def scaled(x, factor=half(rules.SCALE)):
    assert verifier.NAME == "mine"
    P, F = x.shape
    y = nl.ndarray((P, F), dtype=nl.float32, buffer=nl.shared_hbm)
    t = nl.ndarray((P, F), dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=t, src=x)
    nisa.tensor_scalar(dst=t, data=t, op0=nl.multiply, operand0=factor)
    nisa.dma_copy(dst=y, src=t)
    return y


@nki.jit
def forever(x):
    while True:
        t = nl.ndarray((128, 64), dtype=nl.float32, buffer=nl.sbuf)


@nki.jit
def busy(x):
    class Thing: pass
    thing = Thing()
    watched = weakref.ref(thing, lambda _: time.sleep(1.0))
    del thing
    while True:
        pass


@nki.jit
def greedy(x):
    kept = []
    while True:
        kept.append(bytearray(10_000_000))


@nki.jit
def raises(x):
    return x.shape[7]


@nki.jit
def mixes(x):
    return "rows: " + x.shape[0]


@nki.jit
def talks(x):
    raise ValueError("two\\nlines")


@nki.jit
def leaves(x):
    sys.exit(3)


@nki.jit
def quits(x):
    os._exit(0)


@nki.jit
def crashes(x):
    return ctypes.string_at(0)


@nki.jit
def interrupts(x):
    raise KeyboardInterrupt


@nki.jit
def recurses(x):
    return recurses(x)


@nki.jit
def stubborn(x):
    while True:
        try:
            forever(x)
        except BaseException:
            pass


@nki.jit
def prints(x):
    print("{not json")
    if os.fork() == 0:
        while True:
            pass
    return scaled(x)


missing = absent_elsewhere.thing
number = 3


@nki.jit
def lacks(x):
    return missing(x)
"""


def line(text: str, after: str = "") -> int:
    """The line of the kernels' file that holds a text."""
    start = KERNELS.index(after)
    return KERNELS[: KERNELS.index(text, start)].count("\n") + 1


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A kernel file whose own helpers have the names of our packages."""
    (tmp_path / "rules.py").write_text("SCALE = 3.0\n")
    (tmp_path / "verifier").mkdir()
    (tmp_path / "verifier" / "__init__.py").write_text("NAME = 'mine'\n")
    (tmp_path / "verifier" / "tools.py").write_text("def half(x):\n    return x / 2\n")
    path = tmp_path / "kernels.py"
    path.write_text(KERNELS)
    return path


def command(*arguments: object, forked: bool = True) -> subprocess.CompletedProcess[str]:
    return tilelint("run", *arguments, forked=forked)


@pytest.mark.parametrize(
    ("name", "argument", "rule", "message"),
    [
        ("scaled", "x=fp32[4,4,4]", "unpack-mismatch", "too many values to unpack (expected 2)"),
        ("scaled", "x=fp32[4]", "unpack-mismatch", "not enough values to unpack (expected 2"),
        ("raises", "x=fp32[4,4]", "list-index", "tuple index out of range"),
    ],
)
def test_what_python_refuses_is_a_finding(
    file: Path, name: str, argument: str, rule: str, message: str
) -> None:
    done = command(f"{file}::{name}", "--arg", argument)
    assert done.returncode == 1, done.stderr
    assert f"error[{rule}]" in done.stdout
    assert message in done.stdout
    assert f"{name}: 1 violation" in done.stdout


def test_what_a_check_has_python_refuse_is_a_finding(file: Path) -> None:
    done = command(f"{file}::mixes", "--arg", "x=fp32[4,4]")
    assert done.returncode == 1, done.stderr
    assert "error[wrong-type]" in done.stdout and "raises TypeError" in done.stderr


def test_a_clean_run_saves_inputs_and_results(file: Path, tmp_path: Path) -> None:
    saved = tmp_path / "out.npz"
    done = command(
        f"{file}::scaled", "--arg", "x=fp32[64,32]", "--seed", 5, "--save", saved, forked=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "no violations" in done.stdout and "out0: float32[64, 32]" in done.stdout
    arrays = np.load(saved)
    assert sorted(arrays.files) == ["out0", "x"]
    np.testing.assert_allclose(arrays["out0"], arrays["x"] * 1.5)


def test_a_packed_argument_keeps_its_dtype(tmp_path: Path) -> None:
    path = tmp_path / "packed.py"
    path.write_text(
        "import nki\nimport nki.isa as nisa\nimport nki.language as nl\n\n@nki.jit\n"
        "def copied(x):\n    assert x.dtype == nl.float8_e4m3fn_x4\n"
        "    y = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)\n"
        "    nisa.dma_copy(dst=y, src=x)\n    return y\n"
    )
    saved = tmp_path / "out.npz"
    x = "x=float8_e4m3fn_x4[64,32]"
    done = command(f"{path}::copied", "--target", "trn3", "--arg", x, "--save", saved)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    arrays = np.load(saved)
    np.testing.assert_array_equal(arrays["out0"], arrays["x"])


def test_an_array_of_a_file_is_an_argument(file: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.ones((4, 8), np.float32))
    saved = tmp_path / "out.npz"
    x = f"x=@{tmp_path / 'x.npy'}"
    done = command(f"{file}::scaled", "--arg", x, "--arg", "factor=4", "--save", saved)
    assert done.returncode == 0
    np.testing.assert_array_equal(np.load(saved)["out0"], 4)


def test_a_violation_is_shown_with_its_line(file: Path) -> None:
    done = command(f"{file}::scaled", "--arg", "x=fp32[200,32]")
    assert done.returncode == 1
    assert "error[partition-extent]" in done.stdout and "t = nl.ndarray((P, F)" in done.stdout
    assert f"kernels.py:{line('t = nl.ndarray((P')}:20" in done.stdout


def test_a_huge_tensor_is_checked_by_its_shape(file: Path) -> None:
    done = command(f"{file}::scaled", "--arg", "x=fp32[100000,300000]", "--shapes-only")
    assert done.returncode == 1 and "partition-extent" in done.stdout


_KEPT = """\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def kept(x, p):
    out = nl.ndarray((64, 80), dtype=nl.float32, buffer=nl.shared_hbm)
    t = nl.ndarray((64, 80), dtype=nl.float32, buffer=nl.sbuf)
    m = nl.ndarray((64, 80), dtype=nl.uint8, buffer=nl.sbuf)
    r = nl.ndarray((64, 80), dtype=nl.float32, buffer=nl.sbuf)
    FIRST
    nisa.dma_copy(dst=t, src=x)
    nisa.dma_copy(dst=m, src=p)
    nisa.tensor_copy_predicated(dst=r, src=t, predicate=m)
    nisa.dma_copy(dst=out, src=r)
    return out
"""


@pytest.mark.parametrize(
    ("first", "decided"), [("pass", False), ("nisa.memset(dst=r, value=0.0)", True)]
)
def test_what_hangs_on_data_is_not_decided_by_shapes(
    tmp_path: Path, first: str, decided: bool
) -> None:
    path = tmp_path / "kept.py"
    path.write_text(_KEPT.replace("FIRST", first))
    given = ("--arg", "x=fp32[64,80]", "--arg", "p=uint8[64,80]", "--shapes-only")
    done = command(f"{path}::kept", *given)
    assert done.returncode == 0
    assert ("not decided in this run: uninitialised-read" in done.stdout) is not decided


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["scaled"], "needs `x`: give it with --arg x=..."),
        (["scaled", "--arg", "x=fp33[4,4]"], "unknown dtype 'fp33'"),
        (["scaled", "--arg", "x=fp32[4,-4]"], "'-4' is no size"),
        (["scaled", "--arg", "x=fp32[4"], "a tensor is DTYPE[SIZE,SIZE...]"),
        (["scaled", "--arg", "x=@nowhere.npy"], "nowhere.npy: no such file"),
        (["scaled", "--arg", "x=fp32[4,4]", "--arg", "z=1"], "has no parameter `z`"),
        (["scaled", "--arg", "x=fp32[4,4]", "--target", "gpu"], "unknown target 'gpu'"),
        (["scaled", "--arg", "x=fp32[4,4]", "--grid", "2,0"], "a grid is one to three"),
        (["absent", "--arg", "x=fp32[4,4]"], "has no kernel `absent`"),
        (["scaled", "--arg", "x=3"], "raises AttributeError: 'int' object has no"),
        (["scaled", "--arg", "x=fp32[0,4]"], "'0' is no size"),
        (["scaled", "--arg", "x=fp32[]"], "a tensor has at least one size"),
        (["scaled", "--arg", "x"], "an argument is NAME=VALUE, not 'x'"),
        (["scaled", "--arg", "x=@"], "'@' is followed by a file"),
        (["scaled", "--arg", "x=fp32[4,4]", "--arg", "x=1"], "argument 'x' is given twice"),
        (["scaled", "--arg", f"x=fp32[{10**20},4]"], "MB of the 4096 MB that the kernel may use"),
        (["scaled", "--arg", "x=fp32[4,4]", "--save", "/no/x.npz"], "no such directory"),
        (["number", "--arg", "x=fp32[4,4]"], "`number` in"),
        *(
            ([name, "--arg", "x=fp32[4,4]", *more], f"kernels.py:{line(at, name)}: {message}")
            for name, at, message, *more in (
                ("talks", "raise Value", "`talks` raises ValueError: two lines"),
                ("leaves", "sys.exit", "`leaves` raises SystemExit: 3"),
                ("quits", "os._exit", "the process of the kernel ended with status 0"),
                ("crashes", "return ctypes", "the process of the kernel was ended by SIGSEGV"),
                ("interrupts", "raise Key", "`interrupts` raises KeyboardInterrupt"),
                ("recurses", "return rec", "`recurses` raises RecursionError"),
                ("lacks", "return miss", "`lacks` raises NameError: name 'missing' is not"),
                (
                    "greedy",
                    "kept.app",
                    "the kernel needs more memory than the 300 MB",
                    "--memory",
                    "300",
                ),
            )
        ),
        (
            ["lacks", "--arg", "x=fp32[4,4]"],
            f"(line {line('missing =')}: NameError: name 'absent_elsewhere' is not defined)",
        ),
        (
            ["forever", "--arg", "x=fp32[4,4]", "--timeout", "0.5"],
            "the kernel still runs after 0.5 seconds",
        ),
        (
            ["busy", "--arg", "x=fp32[4,4]", "--timeout", "0.5"],
            "the kernel still runs after 0.5 seconds",
        ),
    ],
)
def test_misuse_is_one_line(file: Path, arguments: list[str], message: str) -> None:
    name, *rest = arguments
    done = command(f"{file}::{name}", *rest)
    assert done.returncode == 2 and done.stdout == ""
    assert message in done.stderr and done.stderr.count("\n") == 1


@pytest.mark.parametrize(("short", "name"), [("u8", "uint8"), ("f8_e4m3", "float8_e4m3")])
def test_dtypes_are_named_as_in_contracts(short: str, name: str) -> None:
    from verifier.executor.arguments import parse

    assert parse(f"x={short}[4,3]")[1].dtype == name


def test_a_kernel_that_will_not_stop_is_stopped_and_its_line_is_known(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from verifier.executor import runner
    from verifier.executor.arguments import Argument, ArgumentKind
    from verifier.executor.protocol import Request

    monkeypatch.setattr(runner, "_GRACE", 3.0)
    monkeypatch.setattr(runner, "_start", KernelProcess)  # starting may take longer than that
    x = {"x": Argument(ArgumentKind.TENSOR, dtype="float32", shape=(4, 4))}
    reply = runner.run(Request(str(file), "stubborn", x, "trn2", timeout=1.0))
    assert reply.ended is not None and reply.ended[0] == "time"
    assert reply.ended[2] == str(file) and reply.ended[3] in range(
        line("def forever"), line("def greedy")
    )


def test_what_a_kernel_prints_and_starts_does_no_harm(file: Path) -> None:
    done = command(f"{file}::prints", "--arg", "x=fp32[4,4]", forked=False)
    assert done.returncode == 0 and "{not json" in done.stdout and "no violations" in done.stdout


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (np.asarray([{}, []], object), "it holds Python objects (a pickle), not numbers"),
        (np.asarray(["a", "b"]), "there are no tensors of dtype <U1"),
        (np.ones((2, 2), complex), "there are no tensors of dtype complex128"),
        (b"junk", "it is no array of NumPy"),
        (b"", "it is no array of NumPy"),
    ],
)
def test_a_file_without_usable_numbers(
    file: Path, tmp_path: Path, content: Any, message: str
) -> None:
    path = tmp_path / "x.npy"
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        np.save(path, content, allow_pickle=True)
    done = command(f"{file}::scaled", "--arg", f"x=@{path}")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert "argument 'x': " in done.stderr and message in done.stderr


def test_files_beside_the_kernel_may_have_any_name(tmp_path: Path) -> None:
    for name in ("numpy", "ml_dtypes", "json", "random", "secrets", "ast", "zipfile", "nki"):
        (tmp_path / f"{name}.py").write_text("raise ImportError('not this one')\n")
    path = tmp_path / "copying.py"
    path.write_text(
        "import numpy as np\nimport nki\nimport nki.isa as nisa\nimport nki.language as nl\n\n\n"
        "@nki.jit\ndef copied(x):\n"
        "    y = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)\n"
        "    nisa.dma_copy(dst=y, src=x)\n    return y\n"
    )
    saved = tmp_path / "out.npz"
    done = command(f"{path}::copied", "--arg", "x=bf16[4,4]", "--save", saved, forked=False)
    assert (done.returncode, done.stderr) == (0, "") and saved.is_file()


def test_a_missing_file_and_a_missing_name() -> None:
    assert "no such file" in command("nowhere.py::kernel").stderr
    assert "FILE::KERNEL" in command("nowhere.py").stderr


def test_a_file_that_does_not_parse(tmp_path: Path) -> None:
    path = tmp_path / "broken.py"
    path.write_text("def f(:\n")
    done = command(f"{path}::f")
    assert done.returncode == 2 and "broken.py:1: the file does not parse" in done.stderr
    path.write_bytes(b"x = '\xff'\n")
    done = command(f"{path}::f")
    assert done.returncode == 2 and "it is not UTF-8 text" in done.stderr
    path.write_text("x = " + "-" * 100_000 + "1\n")
    done = command(f"{path}::f")
    assert done.returncode == 2 and "the file does not parse" in done.stderr


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("raise SystemExit(4)\n", "has no kernel `f` (line 1: SystemExit: 4)"),
        ("import os\nos._exit(0)\n", ".py:2: the process of the kernel ended with status 0"),
        ("import ctypes\nctypes.string_at(0)\n", ".py:2: the process of the kernel was ended"),
        ("while True:\n    pass\n", "the kernel still runs after 1 seconds"),
    ],
)
def test_a_file_that_does_not_load(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "loaded.py"
    path.write_text(text)
    done = command(f"{path}::f", "--timeout", "1")
    assert done.returncode == 2 and message in done.stderr and done.stderr.count("\n") == 1


def test_an_order_that_matters_is_a_violation(tmp_path: Path) -> None:
    path = tmp_path / "last.py"
    path.write_text(
        "import nki\nimport nki.isa as nisa\nimport nki.language as nl\n\n\n@nki.jit\n"
        "def last(x):\n"
        "    y = nl.ndarray((4, 8), dtype=x.dtype, buffer=nl.shared_hbm)\n"
        "    z = nl.ndarray((16, 8), dtype=x.dtype, buffer=nl.shared_hbm)\n"
        "    t = nl.ndarray((4, 8), dtype=x.dtype, buffer=nl.sbuf)\n"
        "    for i in nl.affine_range(4):\n"
        "        nisa.dma_copy(dst=t, src=x[i * 4 : (i + 1) * 4, :])\n"
        "        nisa.dma_copy(dst=z[i * 4 : (i + 1) * 4, :], src=t)\n"
        "    nisa.dma_copy(dst=y, src=t)\n"
        "    return y, z\n"
    )
    assert command(f"{path}::last", "--arg", "x=fp32[16,8]").returncode == 0
    done = command(f"{path}::last", "--arg", "x=fp32[16,8]", "--loop-order", "reversed")
    assert done.returncode == 1 and "loop-carried-dependence" in done.stdout
    assert "in last on trn2" in done.stdout
    both = ("--loop-order", "reversed", "--shapes-only")
    done = command(f"{path}::last", "--arg", "x=fp32[16,8]", *both)
    assert done.returncode == 2 and "--shapes-only computes none" in done.stderr


@pytest.mark.parametrize(
    ("kernel", "arguments", "said"),
    [
        ("tail_of_a_parameter", ["y=fp32[300,40]", "rows=300"], True),
        ("tail_of_a_parameter", ["y=fp32[288,40]", "rows=288"], False),
        ("one_row_of_a_table", ["a=fp32[1,40]", "table=fp32[16,40]"], False),
    ],
)
def test_a_parameter_written_in_part_is_reported_as_check_does(
    kernel: str, arguments: list[str], said: bool
) -> None:
    """One input does not tell whether a part was meant: all of them do."""
    twins = ROOT / "fixtures/nki/memory/output_twins.py"
    given = [word for argument in arguments for word in ("--arg", argument)]
    done = command(f"{twins}::{kernel}", *given, "--shapes-only")
    assert done.returncode == int(said)  # with other inputs it writes all of it: silently wrong
    assert ("error[output-not-written]: not all of `y` is written" in done.stdout) is said


TAIL = """\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def summed(x):
    P, D = x.shape
    assert P == 30 and x.dtype == nl.float32 and D >= 50
    out = nl.ndarray((P, 1), dtype=nl.float32, buffer=nl.shared_hbm)
    s = nl.ndarray((P, 1), dtype=nl.float32, buffer=nl.sbuf)
    nisa.memset(dst=s, value=0.0)
    for j in range({trips}):
        t = nl.ndarray((P, 50), dtype=nl.float32, buffer=nl.sbuf)
        p = nl.ndarray((P, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.dma_copy(dst=t, src=x[:, nl.ds(50 * j, 50)])
        nisa.tensor_reduce(dst=p, op=nl.add, data=t, axis=1)
        nisa.tensor_tensor(dst=s, data1=s, data2=p, op=nl.add)
    nisa.dma_copy(dst=out, src=s)
    return out
"""


@pytest.mark.parametrize(
    ("trips", "depth", "said"),
    [("D // 50", 151, True), ("D // 50", 150, False), ("1", 151, False)],
)
def test_a_tail_that_is_never_read_is_reported_as_check_does(
    tmp_path: Path, trips: str, depth: int, said: bool
) -> None:
    """A kernel may mean to read the beginning only: the one whose loop rounds down does not."""
    path = tmp_path / "kernel.py"
    path.write_text(TAIL.format(trips=trips), encoding="utf-8")
    done = command(f"{path}::summed", "--arg", f"x=fp32[30,{depth}]")
    assert done.returncode == int(said), done.stdout
    message = "error[input-tail-dropped]: the tail of `x` along dimension 1 is never read"
    assert (message in done.stdout) is said


def test_only_the_kernel_that_is_run_is_checked_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The others of its file may take longer than it does."""
    path = tmp_path / "kernel.py"
    both = TAIL.format(trips="D // 50")
    path.write_text(both + both.partition("language as nl\n")[2].replace("summed", "other"))
    asked: list[FileRequest] = []

    def looked(request: FileRequest) -> FileResult:
        asked.append(request)
        return analyze_file(request)

    monkeypatch.setattr("verifier.engine.analyze_file", looked)
    status = main(["run", f"{path}::other", "--arg", "x=fp32[30,151]"])
    assert (status, [each.kernels for each in asked]) == (1, [("other",)])
