"""Names that loops and branches of the device bind: what the front end hands on (PPL-C04)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ppl.support import HEADER, check
from verifier.cli.main import main

_KERNEL = """\
@ppl.jit
def more(a, b):
    for k in range(b):
        a = a + 1
    return a


# tilelint: contract (out_ptr: fp32[50, 70], x_ptr: fp32[50, 70], m: 0..20, k: 1..9)
@ppl.jit
def kernel(out_ptr, x_ptr, m, k{annotation}):
    x = pl.make_tensor([1, 50, 1, 70], pl.float32)
    pl.dma.load(x, pl.gtensor([1, 50, 1, 70], pl.GLOBAL, x_ptr).view())
{body}
    pl.dma.store(pl.gtensor([1, 50, 1, 70], pl.GLOBAL, out_ptr).view(), x)
"""
_TILE = "pl.make_tensor([1, 50, 1, 70], pl.{})"
_RULE = "ppl-statement"


def _loop(before: str, inside: str, header: str = "for i in range(m):") -> str:
    return f"{before}\n{header}\n    {inside}"


def _judged(folder: Path, body: str, annotation: str = "") -> tuple[str, set[str]]:
    lines = "\n".join("    " + line for line in body.splitlines())
    result = check(folder, _KERNEL.format(body=lines, annotation=annotation), "bm1684x")
    assert not result.errors
    (status,) = (k.status for k in result.kernels if k.name == "kernel")
    return status, {d.rule for d in result.diagnostics if d.kernel == "kernel"}


@pytest.mark.parametrize(
    ("body", "wrong"),
    [
        (_loop("s = 8", "s = s // 3 + i"), False),
        (_loop("s = 8", "s = s / 2"), True),
        (_loop("s = 8", "s = s * 0.5"), True),
        (_loop("s = 8.0", "s = s * 2"), False),
        (_loop("s = 8", "s = i > 3"), True),
        (_loop("s = False", "s = i > 3"), False),
        (_loop("s = 0\nj = 0", "j += 1\n    s = 0.5", "while j < m:"), True),
        # a tensor has its element type, whatever its shape
        (_loop(f"t = {_TILE.format('float16')}", f"t = {_TILE.format('float32')}"), True),
        (_loop(f"t = {_TILE.format('float32')}", f"t = {_TILE.format('float32')}"), False),
        # what is no value of the device
        (_loop("t = None", f"t = {_TILE.format('float32')}"), True),
        (_loop("place = [0, 0, 0, 0]", "place = [0, 0, 0, 1]"), True),
        (_loop("mode = 'a'", "mode = 'b'"), True),
        # nothing is handed on, or the front end runs the loop
        ("for i in range(m):\n    s = 8\n    s = 0.5", False),
        (_loop("s = 8", "s = 0.5", "for i in pl.static_range(3):"), False),
        # targets of an assignment are no reads of what an earlier loop has bound
        ("for i in range(m):\n    s, t = i, 3\nfor i in range(m):\n    s, t = 3, i", False),
        ("for i in range(m):\n    s, t = i, 3\nfor i in range(m):\n    a, b = s, i", True),
        # what is bound under a condition of the run, and what both branches bind
        ("s = 8\nif m > 3:\n    s = 16\nelse:\n    s = 4", False),
        ("if m + k > 30:\n    s = 8\nelse:\n    s = 4", False),
    ],
)
def test_one_type_from_trip_to_trip(tmp_path: Path, body: str, wrong: bool) -> None:
    status, found = _judged(tmp_path, body)
    assert (status, _RULE in found) == ("violated" if wrong else "verified", wrong)


@pytest.mark.parametrize(
    "body",
    [
        "s = 8\nif m > 3:\n    s = 0.5",
        "if m > 3:\n    place = [0, 0, 0, 0]\nelse:\n    place = [0, 0, 0, 1]",
        "if m > 3:\n    s = 8\nelse:\n    s = 0.5",
    ],
)
def test_branches(tmp_path: Path, body: str) -> None:
    """With a constant the front end takes one of them, as it does with a number that is 1."""
    assert _judged(tmp_path, body)[0] == "conditional"
    assert _judged(tmp_path, body.replace("m >", "k >"), ": pl.constexpr")[0] == "verified"


@pytest.mark.parametrize(
    ("annotation", "status"), [("", "conditional"), (": pl.constexpr", "violated")]
)
def test_a_constant_is_not_bound_anew(tmp_path: Path, annotation: str, status: str) -> None:
    assert _judged(tmp_path, _loop("pass", "k = k + 1"), annotation)[0] == status
    assert _judged(tmp_path, _loop("n = k", "n = n + 1"), annotation)[0] == "verified"


def test_what_a_function_is_given_may_be_a_constant(tmp_path: Path) -> None:
    assert _judged(tmp_path, "s = m * 2\ns = more(s, m)")[0] == "verified"
    assert _judged(tmp_path, "s = more(4, m)")[0] == "violated"


@pytest.mark.parametrize(
    ("header", "wrong"), [("for i in range(3):", True), ("for i in pl.static_range(3):", False)]
)
@pytest.mark.parametrize("name", ["t", "i"])
def test_what_a_loop_alone_binds(tmp_path: Path, header: str, name: str, wrong: bool) -> None:
    """Behind a loop of the device its names are gone, and so is its counter."""
    body = f"{header}\n    t = i * 2\npl.tiu.fmul(x, x, {name})"
    status, found = _judged(tmp_path, body)
    assert (status, _RULE in found) == ("violated" if wrong else "verified", wrong)


def test_names_of_one_loop_after_another(tmp_path: Path) -> None:
    loop = "for i in range(3):\n    t = i\n    pl.tiu.fadd(x, x, t)\n"
    assert _judged(tmp_path, loop + loop)[0] == "verified"
    assert _judged(tmp_path, loop + "t = 3\npl.tiu.fadd(x, x, t)")[0] == "verified"


@pytest.mark.parametrize("first", ["for i in range(3):", "if m > 3:"])
def test_what_is_gone_is_not_handed_on(tmp_path: Path, first: str) -> None:
    """A list that an earlier loop has bound, or one branch, is not there before the next loop."""
    body = f"{first}\n    place = [0, 0, 0, 0]\nfor j in range(m):\n    place = [0, 0, 0, 0]"
    assert _judged(tmp_path, body)[0] == "verified"


@pytest.mark.parametrize(
    ("body", "annotation", "refused"),
    [
        (_loop("s = 8", "s = s // 3"), "", False),
        (_loop("s = 8", "s = s / 2"), "", True),
        (_loop("s = 8", "s = s / 2\n    break"), "", True),
        (_loop("pass", "k = k + 1"), "", False),
        (_loop("pass", "k = k + 1"), ": pl.constexpr", True),
        ("y = pl.make_tensor([1, 50, 1, k], pl.float32)\npl.tiu.zero(y)", "", True),
        ("y = pl.make_tensor([1, 50, 1, k], pl.float32)\npl.tiu.zero(y)", ": pl.constexpr", False),
    ],
)
def test_a_run_tells_what_is_not_compiled(
    tmp_path: Path, body: str, annotation: str, refused: bool
) -> None:
    """Python runs the kernel; its compiler does not take it, and the run says so."""
    lines = "\n".join("    " + line for line in body.splitlines())
    file = tmp_path / "kernel.py"
    text = _KERNEL.format(body=lines, annotation=annotation)
    file.write_text(HEADER + text, encoding="utf-8")
    tensors = [f"--arg={name}_ptr=fp32[50,70]" for name in ("out", "x")]
    ended = main(["run", f"{file}::kernel", *tensors, "--arg=m=5", "--arg=k=7"])
    assert ended == (1 if refused else 0)


@pytest.mark.parametrize(
    "body",
    [
        "sizes = {'a': 2.0}\npl.tiu.fmul(x, x, sizes['a'])",
        "sizes = [s for s in (2.0, 3.0)]\npl.tiu.fmul(x, x, sizes[0])",
        "if m in (1, 2):\n    pl.tiu.fmul(x, x, 2.0)",
        "if (n := m + 2) > 3:\n    pl.tiu.fmul(x, x, n)",
        "place = [0, 0, 0, 0]\ny = x.sub_view([1, 50, 1, 70], [*place])",
    ],
)
def test_what_the_front_end_has_nothing_for(tmp_path: Path, body: str) -> None:
    """Its visitor has no method for such a node, and rejects what it has none for (PPL-C05)."""
    status, found = _judged(tmp_path, body)
    assert (status, _RULE in found) == ("violated", True)
