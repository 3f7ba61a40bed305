"""What the front end of PPL has for names, values and operators (PPL-C05)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ppl.support import check
from verifier.cli.main import main

_KERNEL = """\
import ppl
import ppl.language as pl
from ppl.language import static_range as unrolled

BLOCK = 64
(ROWS, _), COLUMNS = (7, 2), pl.constexpr(9)
WRAPPED = pl.constexpr(64)
SHAPE = (1, 50, 1, 70)
OPTIONS = {{"rows": 50}}
again = pl.static_range
counted = range


@ppl.jit
def scaled(t, factor{helper}):
    pl.tiu.fmul(t, t, factor)


# tilelint: contract (out_ptr: fp32[50, 70], x_ptr: fp32[50, 70], m: 2..20, k: 3)
@ppl.jit
def kernel(out_ptr, x_ptr, m{annotation}, k: pl.constexpr):
    x = pl.make_tensor([1, 50, 1, 70], pl.float32)
    pl.dma.load(x, pl.gtensor([1, 50, 1, 70], pl.GLOBAL, x_ptr).view())
{body}
    pl.dma.store(pl.gtensor([1, 50, 1, 70], pl.GLOBAL, out_ptr).view(), x)
"""
_RULE = "ppl-statement"


def _text(body: str, annotation: str = "", helper: str = "") -> str:
    lines = "\n".join("    " + line for line in body.splitlines())
    return _KERNEL.format(body=lines, annotation=annotation, helper=helper)


def _judged(folder: Path, text: str) -> tuple[str, bool]:
    result = check(folder, text, "bm1684x")
    assert not result.errors
    (status,) = (k.status for k in result.kernels if k.name == "kernel")
    return status, any(d.rule == _RULE for d in result.diagnostics)


def _compiled(folder: Path, body: str, annotation: str = "", helper: str = "") -> bool:
    status, found = _judged(folder, _text(body, annotation, helper))
    assert (status, found) in (("verified", False), ("violated", True))
    return not found


_USES = "\npl.tiu.fadd(x, x, a)"
_ADDED = "\npl.tiu.fadd(x, x, y)"


@pytest.mark.parametrize(
    ("body", "compiled"),
    [
        # functions of Python: a short list
        ("a = abs(m)", False),
        ("a = len([1, 2])", False),
        ("a = sum([1, m])", False),
        ("a = bool(m)", False),
        ("for i in reversed(range(3)):\n    pl.tiu.fadd(x, x, 1.0)", False),
        ("a = max(m, 3) - min(k, m)", True),
        ("a = min(m, k, 3)", False),
        # numbers of the file as they are, bound singly or among others
        ("a = min(BLOCK, m)", False),
        ("a = min(ROWS, m)", False),
        ("a = min(COLUMNS, m)", True),
        ("a = min(1.5, 2.5)", False),
        ("a = min(m, 3, key=None)", False),
        ("print(m)", False),
        ("if isinstance(k, int):\n    pl.tiu.fadd(x, x, 1.0)", True),
        ("if isinstance(m, int):\n    pl.tiu.fadd(x, x, 1.0)", False),
        # `int` and `float` are Python's own, and take constants
        ("a = int(k)", True),
        ("a = int(m)", False),
        ("a = float(k)", True),
        ("a = float(m)", False),
        # where an `if` that the front end decides does not lead
        ("if k > 5:\n    a = abs(m)", True),
        ("if k > 2:\n    a = abs(m)", False),
        ("if m > 500:\n    a = abs(m)", False),
        ("n = m * 2\nif n > 500:\n    a = abs(m)", False),
        ("a = 3 if k > 2 else abs(m)", True),
    ],
)
def test_functions_of_python(tmp_path: Path, body: str, compiled: bool) -> None:
    assert _compiled(tmp_path, body) == compiled


@pytest.mark.parametrize(
    ("body", "compiled"),
    [
        ("a: int = 3", False),
        ("a: pl.constexpr = 3" + _USES, True),
        ("a: 'int' = 3", False),
        ("for i in range(m):\n    a: pl.constexpr = 3", False),
        ("for i in pl.static_range(2):\n    a: pl.constexpr = 3", False),
        ("for i in pl.static_range(1):\n    a: pl.constexpr = 3", True),
        ("a: pl.constexpr = 3\na: pl.constexpr = 4", False),
        # one name has one value
        ("a = (3, 4)", False),
        ("a = SHAPE", False),
        ("a = [3, 4]", True),
        ("a, b = 3, 4" + _USES, True),
        ("a, b = [3, 4]", False),
        ("[a, b] = 3, 4", False),
        ("(a, b), c = (3, 4), 5", False),
        # values of the device, lists, texts, dtypes, None
        ("mode = pl.RM_DOWN", False),
        ("mode = pl.TPU_ALIGN", False),
        ("where = pl.GLOBAL", False),
        ("add = pl.tiu.fadd", False),
        ("smaller = min", False),
        ("part = scaled", False),
        ("kind = pl.float16", True),
        ("a = None", True),
        ("a = 'text'", True),
        ("x += 1.0", True),
        ("x = x + 1.0", True),
        # a tensor of the front end has the shape [1]
        ("a = x.shape[3]", False),
        ("n, c, h, w = x.shape", False),
        ("kind = x.dtype", True),
        ("a = x.rows", False),
        ("a = x.view", False),
        ("a = OPTIONS['rows']", False),
        ("if [m]:\n    pl.tiu.fadd(x, x, 1.0)", False),
    ],
)
def test_assignments(tmp_path: Path, body: str, compiled: bool) -> None:
    assert _compiled(tmp_path, body) == compiled


@pytest.mark.parametrize(
    ("body", "compiled"),
    [
        # values of the run do not have all operators
        ("a = m ** 2", False),
        ("a = k ** 2", True),
        ("a = +m", False),
        ("a = +k", True),
        ("a = -m", True),
        ("a = 1 << m", False),
        ("a = m << 1", True),
        ("a = 1 == m", False),
        ("a = m == 1", True),
        ("a = 3 == k", True),
        ("a = 1 < m", True),
        ("a = not m", False),
        ("a = not (m > 3)", True),
        ("a = m > 3 and k", False),
        ("a = m > 3 and k > 2", True),
        ("a = k and 7", True),
        ("a = f'{m}'", False),
        ("a = f'{k}'", True),
        ("a = m.bit_length()", False),
        ("while k > 2:\n    pl.tiu.fadd(x, x, 1.0)\n    m = m - 1", False),
        # numbers of the file are no constants, unless they are made ones
        ("a = BLOCK * 2", False),
        ("a = 2 * BLOCK", False),
        ("a = BLOCK // k", False),
        ("a = BLOCK * m", True),
        ("a = BLOCK * BLOCK", True),
        ("a = WRAPPED * 2", True),
        ("a = -BLOCK", True),
        ("a = min(BLOCK, m)", False),
        ("a = min(WRAPPED, m)", True),
        ("if BLOCK > 3:\n    pl.tiu.fadd(x, x, 1.0)", False),
        ("if BLOCK:\n    pl.tiu.fadd(x, x, 1.0)", True),
        ("pl.tiu.fadd(x, x, BLOCK)", False),
        ("pl.tiu.fadd(x, x, WRAPPED)", True),
        ("y = pl.make_tensor([1, 50, 1, 70], pl.float32)\npl.tiu.fill(y, BLOCK)" + _ADDED, True),
        ("y = pl.make_tensor([1, BLOCK, 1, 70], pl.float16)", True),
        ("y = pl.make_tensor([1, BLOCK // 2, 1, 70], pl.float16)", False),
        ("for i in range(0, m, BLOCK):\n    pl.tiu.fadd(x, x, 1.0)", True),
        ("for i in pl.static_range(BLOCK):\n    pl.tiu.fadd(x, x, 1.0)", False),
        ("a = pl.cdiv(BLOCK, 2)", True),
        ("a = BLOCK * 2 if k > 5 else 3", True),
        ("a: pl.constexpr = BLOCK\nb = a * 2", True),
        # what an `if` may ask
        ("if 0.5:\n    pl.tiu.fadd(x, x, 1.0)", False),
        ("if SHAPE:\n    pl.tiu.fadd(x, x, 1.0)", False),
        ("if m:\n    pl.tiu.fadd(x, x, 1.0)", True),
        # what is compared is an object of the front end
        ("a = m is None", True),
    ],
)
def test_operators(tmp_path: Path, body: str, compiled: bool) -> None:
    assert _compiled(tmp_path, body) == compiled


@pytest.mark.parametrize(
    ("body", "compiled"),
    [
        ("if m > 3:\n    a = 3\nelse:\n    b = 3" + _USES, False),
        ("if m > 3:\n    a = 3\nelse:\n    a = 4" + _USES, True),
        ("if m > 3:\n    a = 3\nif m > 3:\n    pl.tiu.fadd(x, x, a)", False),
        ("if k > 2:\n    a = 3" + _USES, True),
        ("if k > 2:\n    a = 3\nif m > 3:\n    a = 4" + _USES, True),
        ("if k > 2:\n    if m > 1:\n        a = 3" + _USES, False),
        ("if m > 1:\n    if k > 2:\n        a = 3" + _USES, False),
        ("a = 1\nif m > 4:\n    a = 3" + _USES, True),
        ("for i in range(m):\n    if i > 2:\n        a = 3\n    else:\n        a = 4" + "", True),
    ],
)
def test_names_of_one_branch(tmp_path: Path, body: str, compiled: bool) -> None:
    """Behind an `if` of the device only names that both branches bind, or were there, are known."""
    assert _compiled(tmp_path, body) == compiled


@pytest.mark.parametrize(
    ("annotation", "compiled"),
    [("", True), (": int", True), (": bool", False), (": 'bool'", True), (": str", False)],
)
def test_annotations_are_looked_up(tmp_path: Path, annotation: str, compiled: bool) -> None:
    assert _compiled(tmp_path, "pass", annotation) == compiled


@pytest.mark.parametrize(
    ("default", "compiled"),
    [(": pl.constexpr = 3.0", True), (" = 3.0", True), (": float = 3.0", False)],
)
def test_defaults_are_assignments(tmp_path: Path, default: str, compiled: bool) -> None:
    assert _compiled(tmp_path, "scaled(x)", helper=default) == compiled


@pytest.mark.parametrize(
    ("name", "front_end"),
    [("unrolled", True), ("again", True), ("pl.static_range", True), ("counted", False)],
)
def test_ranges_by_other_names(tmp_path: Path, name: str, front_end: bool) -> None:
    """A name of the file is what it stands for; the loop of the device hands on one type."""
    assert _compiled(tmp_path, f"for i in {name}(3):\n    pl.tiu.fadd(x, x, 1.0)")
    body = f"a = 8\nfor i in {name}(3):\n    a = 0.5"
    assert _compiled(tmp_path, body) == front_end
    body = f"for i in {name}(3):\n    a = i\npl.tiu.fadd(x, x, a)"
    assert _compiled(tmp_path, body) == front_end


def test_the_step_of_an_unrolled_loop_is_given_by_its_place(tmp_path: Path) -> None:
    assert _compiled(tmp_path, "for i in pl.static_range(0, 4, 2):\n    pass")
    assert not _compiled(tmp_path, "for i in pl.static_range(0, 4, step=2):\n    pass")


@pytest.mark.parametrize("body", ["a = 2 ** m", "a = m * BLOCK"])
def test_a_number_that_is_1_is_a_constant(tmp_path: Path, body: str) -> None:
    """PPL-A02: what is wrong with values of the run is fine for it, and the other way round."""
    text = _text(body).replace("m: 2..20", "m: 1..20")
    assert _judged(tmp_path, text)[0] == "conditional"


@pytest.mark.parametrize(
    ("body", "compiled"), [("a = abs(m)", False), ("a = (3, 4)", False), ("a = min(m, 3)", True)]
)
def test_a_run_tells_of_it(tmp_path: Path, body: str, compiled: bool) -> None:
    file = tmp_path / "kernel.py"
    file.write_text(_text(body), encoding="utf-8")
    tensors = [f"--arg={name}_ptr=fp32[50,70]" for name in ("out", "x")]
    assert main(["run", f"{file}::kernel", *tensors, "--arg=m=4", "--arg=k=3"]) == (not compiled)


@pytest.mark.parametrize(
    ("body", "used"),
    [
        ("y = pl.gtensor([1, 50, 1, 70], pl.GLOBAL, y_ptr)", False),
        ("y = pl.gtensor([1, 50, 1, 70], pl.GLOBAL, y_ptr)\npl.dma.load(x, y)", True),
        (
            "y = pl.gtensor([1, 50, 1, 70], pl.GLOBAL, y_ptr)\nif k > 5:\n    pl.dma.load(x, y)",
            True,
        ),
        # a part of it, in a loop, which comes to nothing; and one that is loaded
        (
            "y = pl.gtensor([1, 50, 1, 70], pl.GLOBAL, y_ptr)\nfor i in range(m):\n"
            "    part = y.sub_view([1, 5, 1, 70], [0, i, 0, 0])",
            False,
        ),
        (
            "y = pl.gtensor([1, 50, 1, 70], pl.GLOBAL, y_ptr)\n"
            "z = y.view()\npart = z\npl.dma.load(x, part)",
            True,
        ),
        # another name of a tensor that is used
        ("y = pl.gtensor([1, 50, 1, 70], pl.GLOBAL, x_ptr)\nz = y_ptr.dtype", True),
        # by a function
        ("y = declared(y_ptr)", False),
        ("y = declared(y_ptr)\npl.dma.load(x, y)", True),
    ],
)
def test_declared_for_nothing(tmp_path: Path, body: str, used: bool) -> None:
    """PPL079; of what the text does not even name it is a warning, which no status has."""
    text = _text(body, ", y_ptr").replace("m: 2..20", "m: 2..20, y_ptr: fp32[50, 70]")
    text += "\n\n@ppl.jit\ndef declared(p):\n    return pl.gtensor([1, 50, 1, 70], pl.GLOBAL, p)\n"
    result = check(tmp_path, text, "bm1684x")
    found = [(d.rule, d.severity) for d in result.diagnostics if d.rule == "ppl-unused-tensor"]
    assert found == ([] if used else [("ppl-unused-tensor", "error")])
    text = _text("k = k", ", y_ptr").replace("m: 2..20", "m: 2..20, y_ptr: fp32[50, 70]")
    result = check(tmp_path, text, "bm1684x")
    assert [(d.rule, d.severity) for d in result.diagnostics] == [("ppl-unused-tensor", "warning")]
    assert [k.status for k in result.kernels if k.name == "kernel"] == ["verified"]


_PAIR = "a = [1.0, 2.0]\n"


@pytest.mark.parametrize(
    ("body", "compiled"),
    [
        ("pl.tiu.fadd(x, x, a[0])\npl.tiu.fadd(x, x, a[k - 2])", True),
        ("for i in pl.static_range(4):\n    pl.tiu.fadd(x, x, a[i % 2])", True),
        ("for i in range(4):\n    pl.tiu.fadd(x, x, a[i % 2])", False),
        ("for i in pl.static_range(2):\n    j = i\n    pl.tiu.fadd(x, x, a[j])", False),
        ("pl.tiu.fadd(x, x, a[m % 2])", False),
        ("b = a[: k - 1]\npl.tiu.fadd(x, x, b[-1])", True),
        ("j = 1\nb = a[:j]\npl.tiu.fadd(x, x, b[0])", False),
        ("b = [a, a]\npl.tiu.fadd(x, x, b[1][0])", True),
        ("b = [a, a]\npl.tiu.fadd(x, x, b[1][m % 2])", False),
        ("b = [2.0] * k\npl.tiu.fadd(x, x, b[2])", True),
        ("j = 3\nb = [2.0] * j\npl.tiu.fadd(x, x, b[2])", False),
    ],
)
def test_lists_are_indexed_by_constants(tmp_path: Path, body: str, compiled: bool) -> None:
    assert _compiled(tmp_path, _PAIR + body) == compiled
