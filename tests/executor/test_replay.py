"""Counterexamples are run, apart from the process that checks, and say what came of it."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tests import apart
from tests.fixtures.support import FIXTURES, bad, check
from tests.oracles.agreement import UNJUDGED
from verifier.cli.replay import mark
from verifier.executor.replay import Answer, Item, replay
from verifier.report.model import Diagnostic, FileRequest, FileResult, RunReport, Span, Subject
from verifier.service.preconditions import stated

KERNEL = """\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def copied(x):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    nisa.dma_copy(dst=out, src=tile)
    return out
"""


def item(path: Path, text: str, **fields: Any) -> Item:
    path.write_text(text, encoding="utf-8")
    line = next(n for n, row in enumerate(text.splitlines(), 1) if "nl.sbuf" in row)
    given: dict[str, Any] = {
        "path": str(path),
        "kernel": "copied",
        "target": "trn2",
        "api_version": "0.4",
        "rule": "partition-extent",
        "span": Span(str(path), line, 0, line, 80),
        "counterexample": {"x.shape": [129, 64], "x.dtype": "float32"},
        **fields,
    }
    return Item(**given)


def test_counterexamples_of_the_bad_fixtures() -> None:
    nki = [path for path in bad() if "nki" in path.parts]
    results = apart.mark([check(path) for path in nki], jobs=2)
    found = [d for r in results for d in r.diagnostics if d.counterexample is not None]
    assert len(found) > 40
    said = {(d.kernel, d.rule): (d.replay, d.notes) for d in found if d.replay != "confirmed"}
    assert {state for state, _ in said.values()} <= {"unsupported"}, said
    assert {rule for _, rule in said} <= set(UNJUDGED), said


def test_the_sizes_do_not_matter(tmp_path: Path) -> None:
    sizes = {"x.shape": [128, 1 << 33], "x.dtype": "float32"}
    entry = item(tmp_path / "k.py", KERNEL, counterexample=sizes, rule="sbuf-tile-size")
    started = time.perf_counter()
    (answer,) = replay([entry])
    assert answer.status == "confirmed"
    assert answer.seconds <= 0.3
    assert time.perf_counter() - started < 5


def test_a_dtype_that_the_kernel_admits_is_found(tmp_path: Path) -> None:
    text = KERNEL.replace("    out =", "    assert x.dtype == nl.bfloat16\n    out =", 1)
    sizes = {"x.shape": [129, 64]}
    assert replay([item(tmp_path / "k.py", text, counterexample=sizes)]) != []
    (answer,) = replay([item(tmp_path / "k.py", text, counterexample=sizes)])
    assert answer.status == "confirmed"


def test_what_does_not_hold_diverges(tmp_path: Path) -> None:
    sizes = {"x.shape": [128, 64], "x.dtype": "float32"}
    entry = item(tmp_path / "k.py", KERNEL, counterexample=sizes)
    possible = replace(entry, sure=False)
    refused = item(
        tmp_path / "refused.py",
        KERNEL.replace("    out =", "    assert x.shape[0] <= 128\n    out =", 1),
    )
    answers = replay([entry, possible, refused])
    assert [a.status for a in answers] == ["diverged", "unsupported", "diverged"]
    assert "refuses" in answers[2].reason


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ("    while True:\n        pass\n", "still runs"),
        ("    import os\n    os._exit(3)\n", "ended"),
        ("    big = bytearray(1 << 40)\n", "memory"),
        ("    raise SystemExit(0)\n", "SystemExit"),
    ],
)
def test_kernels_that_misbehave(tmp_path: Path, change: str, reason: str) -> None:
    text = KERNEL.replace("    out =", change + "    out =", 1)
    (answer,) = replay([item(tmp_path / "k.py", text)])
    assert answer.status == "unsupported"
    assert reason in answer.reason


def test_files_that_misbehave(tmp_path: Path) -> None:
    ends = item(tmp_path / "ends.py", "import os\nos._exit(0)\n" + KERNEL)
    fine = item(tmp_path / "fine.py", "print('loud')\n" + KERNEL)
    nested = item(tmp_path / "nested.py", KERNEL, kernel="make.copied")
    assert [a.status for a in replay([ends, fine, nested], 2)] == [
        "unsupported",
        "confirmed",
        "unsupported",
    ]


def test_users_code_stays_out_of_this_process(tmp_path: Path, capfd: Any) -> None:
    where = tmp_path / "pid"
    text = f"import os\nopen({str(where)!r}, 'w').write(str(os.getpid()))\nprint('x')\n" + KERNEL
    (tmp_path / "rules.py").write_text("HERE = 1\n", encoding="utf-8")
    text = "from rules import HERE\nassert HERE == 1\n" + text
    (answer,) = replay([item(tmp_path / "k.py", text)])
    assert answer.status == "confirmed"
    assert int(where.read_text(encoding="utf-8")) != os.getpid()
    assert capfd.readouterr().out == ""


def test_a_diverged_finding_is_no_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from verifier.engine import analyze_file
    from verifier.executor import replay as module

    path = tmp_path / "k.py"
    path.write_text(KERNEL.replace("    out =", "    P, N = x.shape\n    out =", 1))
    result: FileResult = analyze_file(FileRequest(str(path)))
    assert any(d.counterexample is not None for d in result.diagnostics)
    monkeypatch.setattr(
        module, "replay", lambda items, jobs: [Answer("diverged", "made up")] * len(items)
    )
    (marked,) = mark([result], 1)
    assert {d.severity for d in marked.diagnostics} == {"note"}
    assert [k.status for k in marked.kernels] == ["unknown"]
    assert RunReport.merge([marked]).exit_status() == 0
    first: Diagnostic = marked.diagnostics[0]
    assert first.replay == "diverged" and "fault of tilelint" in first.notes[-1]


LOOPS = """\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def shifted(x):
    rows, width = x.shape
    out = nl.ndarray((rows, width), dtype=x.dtype, buffer=nl.shared_hbm)
    last = nl.ndarray((nl.par_dim(rows), 64), dtype=x.dtype, buffer=nl.sbuf)
    for k in nl.affine_range(width // 64):
        tile = nl.load(x[:, k * 64 : (k + 1) * 64])
        nl.store(out[:, k * 64 : (k + 1) * 64], value=TERM)
        last[...] = nl.copy(tile)
    return out
"""


def at(path: Path, text: str, mark: str, **fields: Any) -> Item:
    path.write_text(text, encoding="utf-8")
    line = next(n for n, row in enumerate(text.splitlines(), 1) if mark in row)
    given: dict[str, Any] = {
        "path": str(path),
        "target": "trn2",
        "api_version": "beta1",
        "span": Span(str(path), line, 0, line, 80),
        **fields,
    }
    return Item(**given)


@pytest.mark.parametrize(("term", "status"), [("last", "confirmed"), ("tile", "diverged")])
def test_iterations_that_depend_on_each_other(tmp_path: Path, term: str, status: str) -> None:
    text = LOOPS.replace("TERM", term)
    for width in (192, 192 * 64):
        entry = at(
            tmp_path / f"k{width}.py",
            text,
            "nl.store",
            kernel="shifted",
            rule="loop-carried-dependence",
            counterexample={"x.shape": [96, width], "x.dtype": "bfloat16"},
        )
        (answer,) = replay([entry])
        assert answer.status == status, answer


@pytest.mark.parametrize(("place", "status"), [("k % 2", "confirmed"), ("k", "diverged")])
def test_iterations_that_write_one_place(tmp_path: Path, place: str, status: str) -> None:
    text = f"""\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def folded(x):
    out = nl.ndarray((x.shape[0], 96, 40), dtype=x.dtype, buffer=nl.shared_hbm)
    for k in nl.affine_range(x.shape[0]):
        nl.store(out[{place}], value=nl.load(x[k]))
    return out
"""
    entry = at(
        tmp_path / "k.py",
        text,
        "nl.store",
        kernel="folded",
        rule="loop-carried-dependence",
        counterexample={"x.shape": [6, 96, 40], "x.dtype": "float32"},
    )
    (answer,) = replay([entry])
    assert answer.status == status, answer


TILES = """\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def tiled(x):
    rows, width = x.shape
    out = nl.ndarray((rows, width), dtype=x.dtype, buffer=nl.shared_hbm)
    for k in range(width // 48):
        tile = nl.ndarray((rows, WIDE), dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile[:, 0:48], src=x[:, k * 48 : (k + 1) * 48])
        nisa.dma_copy(dst=out[:, k * 48 : (k + 1) * 48], src=tile[:, 0:48])
    return out
"""


@pytest.mark.parametrize(
    ("width", "dimension", "status"),
    [(100, 1, "confirmed"), (96, 1, "diverged"), (100, 0, "diverged"), (40, 1, "confirmed")],
)
def test_the_tail_of_an_input(tmp_path: Path, width: int, dimension: int, status: str) -> None:
    entry = at(
        tmp_path / "k.py",
        TILES.replace("WIDE", "48"),
        "for k in",
        kernel="tiled",
        rule="input-tail-dropped",
        api_version="0.4",
        counterexample={"x.shape": [80, width], "x.dtype": "float16"},
        subject=Subject("x", dimension=dimension),
    )
    (answer,) = replay([entry])
    assert answer.status == status, answer


@pytest.mark.parametrize(("wide", "status"), [("64", "confirmed"), ("48", "diverged")])
def test_the_unused_end_of_a_tile(tmp_path: Path, wide: str, status: str) -> None:
    entry = at(
        tmp_path / "k.py",
        TILES.replace("WIDE", wide),
        "nl.sbuf",
        kernel="tiled",
        rule="oversized-tile",
        api_version="0.4",
        counterexample={"x.shape": [80, 144], "x.dtype": "float16"},
    )
    (answer,) = replay([entry])
    assert answer.status == status, answer


UNWRITTEN = """\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def kept(x):
    n = x.shape[0]
    out = nl.ndarray((n, 48, 8), dtype=x.dtype, buffer=nl.shared_hbm)
    kept = nl.ndarray((48, n + 1, 8), dtype=x.dtype, buffer=nl.sbuf)
    for i in range(1, n):
        nisa.dma_copy(dst=kept[:, i, :], src=x[i])
    for i in range(LAST):
        nisa.dma_copy(dst=out[i], src=kept[:, i, :])
    return out
"""


@pytest.mark.parametrize("last", ["n", "n - 1"])
def test_the_unused_end_of_a_tile_that_has_another_fault(tmp_path: Path, last: str) -> None:
    for count in (1, 2, 5) if last == "n" else (2, 5):
        entry = at(
            tmp_path / "k.py",
            UNWRITTEN.replace("LAST", last),
            "nl.sbuf",
            kernel="kept",
            rule="oversized-tile",
            api_version="0.4",
            counterexample={"x.shape": [count, 48, 8], "x.dtype": "float16"},
        )
        (answer,) = replay([entry])
        assert answer.status == "confirmed", (count, answer)


NESTED = """\
import absent_library
import nki
import nki.isa as nisa
import nki.language as nl


def make(width, scale=2):
    half = width // scale

    @nki.jit
    def copied(x):
        out = nl.ndarray((x.shape[0], half), dtype=x.dtype, buffer=nl.shared_hbm)
        tile = nl.ndarray((x.shape[0], half), dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile, src=x[:, 0:half])
        nisa.dma_copy(dst=out, src=tile)
        return out

    raise RuntimeError("what the function does with its kernel is no part of it")
"""


def test_kernels_inside_of_functions_get_the_inputs_of_both(tmp_path: Path) -> None:
    given = {"width": 70, "x.shape": [64, 34], "x.dtype": "float32"}
    fields: dict[str, Any] = {
        "kernel": "make.copied",
        "rule": "slice-bounds",
        "api_version": "0.4",
    }
    broken = at(tmp_path / "a.py", NESTED, "src=x", counterexample=given, **fields)
    fine = at(
        tmp_path / "b.py", NESTED, "src=x", counterexample={**given, "x.shape": [64, 35]}, **fields
    )
    answers = replay([broken, fine])
    assert [a.status for a in answers] == ["confirmed", "diverged"], answers


def test_what_a_contract_pins_is_replayed(tmp_path: Path) -> None:
    from verifier.engine import analyze_file

    text = (
        KERNEL.replace("def copied(x):", "def copied(x, wide, kind):")
        .replace(
            "    tile = nl.ndarray(x.shape",
            "    assert kind == 'plain'\n    tile = nl.ndarray(x.shape",
        )
        .replace("src=x)", "src=x[:, 0:wide])")
    )
    path = tmp_path / "k.py"
    path.write_text(text, encoding="utf-8")
    contract = 'copied(x: bf16[96, N], wide: 72, kind: "plain")'
    (marked,) = mark([analyze_file(FileRequest(str(path), contracts=(contract,)))], 1)
    found = [d for d in marked.diagnostics if d.counterexample is not None]
    assert found
    for diagnostic in found:
        assert diagnostic.counterexample is not None
        assert diagnostic.counterexample["wide"] == 72
        assert diagnostic.counterexample["kind"] == "plain"
        assert diagnostic.counterexample["x.dtype"] == "bfloat16"
        assert diagnostic.replay == "confirmed", diagnostic.notes


CARRIED = """\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def walked(x):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    seen = []
    for k in nl.sequential_range(x.shape[0]):
        BODY
        nl.store(out[k], value=tile)
    return out
"""


@pytest.mark.parametrize(
    "body",
    [
        "seen.append(k); tile = nl.load(x[20 if k + 1 - len(seen) else k])",
        "tile = nl.load(x[20 if k - was not in (0, 1) else k]); was = k",
        "tile = nl.load(x[k]); other = step(k); nl.load(x[other])",
    ],
)
def test_loops_that_remember_are_run_whole(tmp_path: Path, body: str) -> None:
    """With iterations left out, an element would be read that no whole run reads."""
    text = CARRIED.replace("BODY", body)
    if "was" in body:
        text = text.replace("    seen = []", "    was = 0", 1)
    if "step" in body:
        text += """
calls = []


def step(k):
    calls.append(k)
    return 20 if k + 1 - len(calls) else k
"""
    entry = at(
        tmp_path / "k.py",
        text,
        "nl.load",
        kernel="walked",
        rule="slice-bounds",
        counterexample={"x.shape": [12, 64, 32], "x.dtype": "float32"},
    )
    (answer,) = replay([entry])
    assert answer.status == "diverged", answer


def test_what_no_run_bears_out_is_undecided(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither a kernel of which several obligations were told as one stays violated, nor is it
    right exactly under conditions of which none was borne out."""

    def diverged(items: list[Item], jobs: int) -> list[Answer]:
        return [Answer("diverged", "the run does not break the rule")] * len(items)

    monkeypatch.setattr("verifier.executor.replay.replay", diverged)
    (found,) = mark([check(FIXTURES / "nki" / "memory" / "handed_on.py")], 1)
    by_name = {kernel.name: kernel for kernel in found.kernels}
    assert by_name["two_places"].status == "verified"
    for name in ("first_place_taken", "places_too_close", "begun_in_either_branch"):
        assert by_name[name].status == "unknown" and by_name[name].reasons, name
        assert by_name[name].obligations.violated == 0
    whole = stated(found, None, wanted=True, severity={})
    assert {d.severity for d in whole.diagnostics} == {"note"}
    assert {d.verdict for d in whole.diagnostics} == {"unknown"}


ROUND = """\
import nki
import nki.isa as nisa
import nki.language as nl


# tilelint: contract (x: fp32[112, 60], n: 1..8)
@nki.jit
def round_and_round(x, n):
    t = nl.ndarray((112, 60), dtype=nl.float32, buffer=nl.sbuf)
    u = nl.ndarray((112, 60), dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=t, src=x)
    for i in range(n):
        if i == 2:
            nisa.tensor_copy(dst=u, src=t)
        if i >= 1:
            nisa.tensor_tensor(dst=t, data1=t, data2=u, op=nl.add)
    out = nl.ndarray((112, 60), dtype=x.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=t)
    return out
"""


def test_what_comes_round_in_a_loop_begins_where_a_run_says_that_it_does(tmp_path: Path) -> None:
    """Each of the tiles is written from the other one, which may be undefined itself."""
    path = tmp_path / "k.py"
    path.write_text(ROUND, encoding="utf-8")
    [result] = mark([check(path)], jobs=1)
    found = [d for d in result.diagnostics if d.rule == "uninitialised-read"]
    assert [(d.span.line, d.replay) for d in found] == [(16, "confirmed")], found
    assert found[0].message.startswith("`u` is read before")
