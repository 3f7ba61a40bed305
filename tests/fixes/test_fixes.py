"""Every fix does what it says: the finding is gone, nothing new is there, and runs are the same."""

from __future__ import annotations

import ast
import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.fixes.support import copied, mend, request
from tests.fixtures.support import FIXTURES, bad
from tests.sweeps import examples, part
from verifier.engine.analysis import analyze_file
from verifier.report.model import Diagnostic, FileResult, Fix
from verifier.rulebase import find

HEAD = """\
import nki
import nki.isa as nisa
import nki.language as nl


"""

BODY = """\
@nki.jit
def doubled(x):
    assert x.shape == (64, 320)
    assert x.dtype == nl.float32
    out = nl.ndarray((64, 320), dtype=x.dtype, buffer=nl.shared_hbm)
    rows = nl.ndarray((64, 320), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=rows, src=x)
    twice = nl.ndarray((64, 320), dtype=x.dtype, buffer=nl.sbuf)
    nisa.tensor_tensor(dst=twice, data1=rows, data2=rows, op=nl.add)
    nisa.dma_copy(dst=out, src=twice)
    return out
"""


def fixable(result: FileResult) -> list[Diagnostic]:
    return [d for d in result.diagnostics if d.fix is not None and d.suppressed is None]


def asserted(result: FileResult) -> list[Fix]:
    """The fixes that assert preconditions."""
    found = [k.precondition.fix for k in result.kernels if k.precondition is not None]
    return [fix for fix in found if fix is not None]


FAULTY = part(bad(), 2, lambda path: [path.parent])


@pytest.mark.parametrize("path", FAULTY, ids=lambda path: path.stem)
def test_every_fix_of_every_bad_fixture(path: Path, tmp_path: Path) -> None:
    copy = copied(path, tmp_path)
    raw = copy.read_bytes()
    fixing, before, after = mend(copy)
    assert copy.read_bytes() == raw
    assert not fixing.errors and not fixing.refused
    assert bool(fixing.applied) == bool(fixable(before))
    assert not fixable(after) and not asserted(after)
    for old, new in zip(before.kernels, after.kernels, strict=True):
        condition = old.precondition
        assert condition is not None and new.precondition is not None
        if old.status == "conditional" and condition.fix is not None:
            assert new.status == "verified" or "without" in condition.fix.title
    was = {(d.rule, d.kernel) for d in before.diagnostics}
    assert {(d.rule, d.kernel) for d in after.diagnostics} <= was
    if all(d.fix is not None and not d.fix.safe for d in fixable(before)):
        for first, last in fixing.changed.values():
            assert unasserted(last) == unasserted(first)


def unasserted(text: str) -> str:
    """The code without its assertions."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            node.body = [s for s in node.body if not isinstance(s, ast.Assert)] or [ast.Pass()]
    return ast.unparse(tree)


def test_the_fixtures_have_fixes() -> None:
    assert len(bad()) > 60


# ---------------------------------------------------------------------------------- renames


def source(api: str, before: str, after: str) -> tuple[str, str]:
    head = f"# fixture: api={api}\n"
    assert before in BODY or before == ""
    return head + HEAD + BODY, head + HEAD + BODY.replace(before, after)


RENAMES = [
    pytest.param("0.3", "(64, 320), dtype=x.dtype, buffer=nl.sbuf", old, new, id=name)
    for name, old, new in [
        (
            "par_dim",
            "(nl.par_dim(64), 320), dtype=x.dtype, buffer=nl.sbuf",
            "(64, 320), dtype=x.dtype, buffer=nl.sbuf",
        ),
        (
            "par_dim in a keyword",
            "shape=[nl.par_dim(2 * 32), 320], dtype=x.dtype, buffer=nl.sbuf",
            "shape=[2 * 32, 320], dtype=x.dtype, buffer=nl.sbuf",
        ),
        (
            "a region as a string",
            '(64, 320), dtype=x.dtype, buffer="sbuf"',
            "(64, 320), dtype=x.dtype, buffer=nl.sbuf",
        ),
    ]
]


@pytest.mark.parametrize(("api", "place", "old", "new"), RENAMES)
def test_what_is_called_otherwise(api: str, place: str, old: str, new: str, tmp_path: Path) -> None:
    path = tmp_path / "k.py"
    before, expected = source(api, place, old)[1], source(api, place, new)[1]
    path.write_text(before)
    fixing, first, last = mend(path)
    found = fixable(first)
    assert found and all(d.fix is not None and d.fix.safe for d in found)
    ((was, now),) = fixing.changed.values()
    assert (was, now) == (before, expected)
    assert not last.diagnostics and last.kernels[0].status == "verified"


@pytest.mark.parametrize(
    ("api", "line", "expected"),
    [
        ("0.3", "nisa.register_move(count, imm=7)", "nisa.register_move(count, src=7)"),
        (
            "0.3",
            "nisa.register_move(count,\n        imm = 7)",
            "nisa.register_move(count,\n        src = 7)",
        ),
        ("0.2", "nisa.register_move(count, src=7)", "nisa.register_move(count, imm=7)"),
        (
            "0.3",
            'nl.device_print(prefix="p", x=rows)',
            'nl.device_print(print_prefix="p", tensor=rows)',
        ),
        (
            "0.2",
            "nisa.tensor_copy(dst=twice, src=rows, dtype=nl.float32)",
            "nisa.tensor_copy(dst=twice, src=rows)",
        ),
        (
            "0.2",
            "nisa.tensor_copy(dtype=nl.float32, dst=twice, src=rows)",
            "nisa.tensor_copy(dst=twice, src=rows)",
        ),
    ],
)
def test_parameters(api: str, line: str, expected: str, tmp_path: Path) -> None:
    path = tmp_path / "k.py"
    count = "    count = nisa.register_alloc()\n" if "count" in line else ""
    head = f"# fixture: api={api}\n" + HEAD
    before = head + BODY.replace(
        "    nisa.tensor_tensor", f"{count}    {line}\n    nisa.tensor_tensor"
    )
    path.write_text(before)
    fixing, first, last = mend(path)
    assert fixable(first), [d.message for d in first.diagnostics]
    ((_, now),) = fixing.changed.values()
    assert now == before.replace(line, expected)
    assert not [d for d in last.diagnostics if d.rule.startswith("api-")]


@pytest.mark.parametrize(
    "line",
    [
        "bad = nl.ndarray((2, nl.par_dim(64), 320), dtype=x.dtype, buffer=nl.sbuf)",
        "bad = nl.ndarray((nl.par_dim(  # why\n        64), 320), dtype=x.dtype, buffer=nl.sbuf)",
        "nisa.tensor_copy(dst=twice, src=rows, mask=rows)",
        "nisa.tensor_copy(dst=twice, src=rows, dtype=nl.float32)",
        "nisa.tensor_reduce(dst=twice, op=nl.add, data=rows, axis=1, keep_dims=True)",
        "nisa.register_move(count, imm=7, src=8)",
    ],
)
def test_what_means_something_else_is_left_alone(line: str, tmp_path: Path) -> None:
    path = tmp_path / "k.py"
    head = "# fixture: api=0.3\n" + HEAD
    path.write_text(
        head + BODY.replace("    nisa.tensor_tensor", f"    {line}\n    nisa.tensor_tensor")
    )
    fixing, first, _ = mend(path)
    assert first.diagnostics and not fixing.changed


# ---------------------------------------------------------------------------- preconditions


def rows(header: str, *, top: str = "", margin: str = "    ") -> str:
    body = [
        "r, c = x.shape",
        "dst = nl.ndarray((r, c), dtype=x.dtype, buffer=nl.shared_hbm)",
        "tile = nl.ndarray((r, c), dtype=x.dtype, buffer=nl.sbuf)",
        "nisa.dma_copy(dst=tile, src=x[0:r, 0:c])",
        "nisa.dma_copy(dst=dst, src=tile)",
        "return dst",
    ]
    return header + top + "".join(f"{margin}{line}\n" for line in body)


@pytest.mark.parametrize(
    "top",
    [
        "",
        '    """What it does."""\n',
        '    """What\n    # it does.\n    """\n',
        "    # the sizes\n    # of the input\n",
        "    assert x.dtype == nl.bfloat16\n",
        "    assert x.dtype == nl.bfloat16; scale = 2\n",
    ],
)
def test_an_assertion_stands_behind_what_binds_its_names(top: str, tmp_path: Path) -> None:
    path = tmp_path / "k.py"
    text = rows(HEAD + "@nki.jit\ndef copied(x):\n", top=top)
    path.write_text(text)
    fixing, _, last = mend(path)
    (_, now), *_ = fixing.changed.values()
    bound = "    r, c = x.shape\n"
    assert now.startswith(text[: text.index(bound)] + bound + "    assert r <= 128\n")
    assert now.endswith(text[text.index("    dst = ") :])
    assert last.kernels[0].status == "verified", last.diagnostics


@pytest.mark.parametrize(
    ("top", "line"),
    [
        ("", 0),
        ('    """What it does."""\n', 1),
        ("    # the sizes\n    # of the input\n", 0),
        ('    """Doc."""\n\n    # the sizes\n', 2),
        ("    assert x.dtype == nl.bfloat16\n", 1),
    ],
)
def test_parameters_have_names_from_the_start(top: str, line: int, tmp_path: Path) -> None:
    path = tmp_path / "k.py"
    header = HEAD + "@nki.jit\ndef copied(x):\n"
    unnamed = rows("").replace("    r, c = x.shape\n", "")
    unnamed = unnamed.replace("(r, c)", "(x.shape[0], 70)").replace("[0:r, 0:c]", "[:, 0:70]")
    path.write_text(header + top + unnamed)
    fixing, first, last = mend(path)
    ((_, now),) = fixing.changed.values()
    above = (header + top).splitlines(keepends=True)[: header.count("\n") + line]
    (fix,) = asserted(first)
    assert now.startswith("".join(above) + fix.edits[0].text)
    assert "    assert x.shape[0] <= 128\n" in fix.edits[0].text
    assert last.kernels[0].status == "verified", last.diagnostics


def test_a_kernel_with_several_missing_preconditions(tmp_path: Path) -> None:
    path = tmp_path / "k.py"
    path.write_text(rows(HEAD + "@nki.jit\ndef copied(x):\n"))
    fixing, first, last = mend(path)
    (fix,) = asserted(first)
    assert fixing.applied == {str(path): [fix.title]}
    assert fix.edits[0].text.count("assert ") == 2
    assert last.kernels[0].status == "verified" and not last.diagnostics


def test_what_cannot_be_asserted_is_said_to_be_left_out(tmp_path: Path) -> None:
    """Without the module that has the dtypes there is no name for one."""
    path = tmp_path / "k.py"
    text = rows(HEAD + "@nki.jit\ndef copied(x):\n")
    text = text.replace("import nki.language as nl\n", "from nki.language import ndarray, sbuf\n")
    text = text.replace("import nki.isa", "from nki.language import shared_hbm\nimport nki.isa")
    path.write_text(text.replace("nl.", ""))
    fixing, first, last = mend(path)
    (fix,) = asserted(first)
    assert fix.title == "insert `assert r <= 128` (without 1 that cannot be asserted)"
    assert not fixing.refused and last.kernels[0].status == "conditional"
    assert last.kernels[0].precondition is not None
    assert [c.rule for c in last.kernels[0].precondition.conjuncts] == ["sbuf-capacity"]


@pytest.mark.parametrize(("width", "lines"), [(None, 20), (60, 26), (240, 1)])
def test_an_assertion_is_wrapped(width: int | None, lines: int, tmp_path: Path) -> None:
    path = tmp_path / "k.py"
    path.write_text(rows(HEAD + "@nki.jit\ndef copied(x):\n"))
    result = analyze_file(replace(request(path), line_length=width))
    (fix,) = asserted(result)
    new = fix.edits[0].text.splitlines()
    assert len(new) == lines + 1 and max(map(len, new)) <= (width or 88)
    (bound,) = (s for s in ast.parse("if 1:\n" + fix.edits[0].text).body[0].body[1:])  # type: ignore[attr-defined]
    assert ast.unparse(bound).startswith("assert c * (4 if x.dtype in (nl.float32, ")


@pytest.mark.parametrize(
    "header",
    [
        "@nki.jit\ndef copied(x=None):\n",
        "@nki.jit\ndef copied(x): ",
    ],
)
def test_where_no_assertion_can_be_written(header: str, tmp_path: Path) -> None:
    path = tmp_path / "k.py"
    text = rows(HEAD + header).replace("    r, c = x.shape\n", "")
    text = text.replace("(r, c)", "(x.shape[0], 70)").replace("[0:r, 0:c]", "[:, 0:70]")
    if header.endswith(" "):
        text = HEAD + header + "; ".join(line.strip() for line in rows("").splitlines()) + "\n"
    path.write_text(text)
    ast.parse(text)
    fixing, first, _ = mend(path)
    assert first.diagnostics and not fixing.changed


def test_an_assertion_that_needs_another_one(tmp_path: Path) -> None:
    rule = find("division-by-zero")
    assert rule is not None
    path = tmp_path / "k.py"
    path.write_text(rule.failing)  # the strip's width is divided by in an assertion
    fixing, _, last = mend(path)
    assert not fixing.refused and last.kernels[0].status == "verified"
    now = path_text(fixing, path)
    assert now.index("strip >= 1") < now.index("cols % strip")


def test_a_precondition_of_a_helper_goes_into_the_kernel(tmp_path: Path) -> None:
    (tmp_path / "helper.py").write_text(
        "import nki.isa as nisa\nimport nki.language as nl\n\n\n"
        "def loaded(t):\n"
        "    n, m = t.shape\n"
        "    tile = nl.ndarray((n, m), dtype=t.dtype, buffer=nl.sbuf)\n"
        "    nisa.dma_copy(dst=tile, src=t)\n"
        "    return tile\n"
    )
    path = tmp_path / "k.py"
    path.write_text(
        HEAD.replace("import nki\n", "import nki\nfrom helper import loaded\n")
        + "@nki.jit\ndef copied(source):\n"
        "    assert source.shape[1] == 500\n"
        "    dst = nl.ndarray(source.shape, dtype=source.dtype, buffer=nl.shared_hbm)\n"
        "    nisa.dma_copy(dst=dst, src=loaded(source))\n"
        "    return dst\n"
    )
    fixing, first, last = mend(path)
    assert str(tmp_path / "helper.py") in {d.span.path for d in first.diagnostics}
    assert list(fixing.changed) == [str(path)]
    assert "    assert source.shape[1] == 500\n    assert source.shape[0] <= 128\n" in path_text(
        fixing, path
    )
    assert last.kernels[0].status == "verified"


def path_text(fixing: object, path: Path) -> str:
    changed: dict[str, tuple[str, str]] = fixing.changed  # type: ignore[attr-defined]
    return changed[str(path)][1]


# ------------------------------------------------------------------------- odd formatting


@given(
    end=st.sampled_from(["\n", "\r\n"]),
    margin=st.sampled_from(["  ", "\t", "    ", "\t  "]),
    mark=st.booleans(),
    comments=st.lists(
        st.sampled_from(["# één", "#\t", "# tilelint: ignore[dma-size] -- never"]), max_size=2
    ),
    tail=st.sampled_from(["", "\n\n", "x = 1", "\f\ny = 'é'\n"]),
)
@settings(
    max_examples=examples(75),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_the_rest_of_the_file_is_untouched(
    end: str, margin: str, mark: bool, comments: list[str], tail: str, tmp_path: Path
) -> None:
    path = tmp_path / "k.py"
    top = "".join(f"{margin}{comment}\n" for comment in comments)
    text = rows(HEAD + "@nki.jit\ndef copied(x):\n", top=top, margin=margin) + tail
    raw = (b"\xef\xbb\xbf" if mark else b"") + text.replace("\n", end).encode()
    path.write_bytes(raw)
    fixing, first, last = mend(path, write=True)
    assert fixing.changed and last.kernels[0].status == "verified"
    written = path.read_bytes()
    assert b"assert r <= 128" in written and b"ignore[dma-size]" not in written
    assert written.startswith(b"\xef\xbb\xbf") == mark
    assert written.count(b"\r\n") == (written.count(b"\n") if end == "\r\n" else 0)
    ends = end.encode()
    (edit,) = (e for f in asserted(first) for e in f.edits)
    new = edit.text.replace("\n", end).encode()
    kept = written.replace(new, b"").split(ends)
    assert kept == [line for line in raw.split(ends) if b"tilelint" not in line]


# ------------------------------------------------------------------------------- execution


def test_runs_of_admitted_inputs_are_the_same(tmp_path: Path) -> None:
    import numpy as np

    from verifier.executor import simulate

    source = FIXTURES / "nki" / "bad" / "rows_over_partitions.py"
    copy = tmp_path / source.name
    shutil.copy(source, copy)
    tall = np.arange(96 * 200, dtype=np.float32).reshape(96, 200)
    first = simulate(f"{copy}::halve").outcome(x=tall)
    mend(copy, write=True)
    last = simulate(f"{copy}::halve").outcome(x=tall)
    assert first.diagnostics == last.diagnostics == []
    assert all((a == b).all() for a, b in zip(first.outputs, last.outputs, strict=True))
