"""Lists, dtypes, modes and None as constants of the front end, and as objects (PPL-C05)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ppl.support import check

_KERNEL = """\
SHAPE = [1, 50, 1, 70]


@ppl.jit
def helped(part, t, ptr):
{helper}


# tilelint: contract (out_ptr: fp32[50, 70], m: 2..20)
@ppl.jit
def kernel(out_ptr, m, k: pl.constexpr):
    x = pl.make_tensor([1, 50, 1, 70], pl.float32)
    pl.tiu.zero(x)
{body}
    pl.dma.store(pl.gtensor([1, 50, 1, 70], pl.GLOBAL, out_ptr).view(), x)
"""


def _indented(text: str) -> str:
    return "\n".join("    " + line for line in text.splitlines())


def _compiled(folder: Path, body: str, helper: str = "pass") -> bool:
    text = _KERNEL.format(body=_indented(body), helper=_indented(helper))
    result = check(folder, text, "bm1684x")
    assert not result.errors
    (status,) = (k.status for k in result.kernels if k.name == "kernel")
    found = any(d.rule == "ppl-statement" for d in result.diagnostics)
    assert (status, found) in (("verified", False), ("violated", True))
    return not found


_LIST = "helped([1, 50, 1, 70], x, out_ptr)"


@pytest.mark.parametrize(
    ("body", "helper", "compiled"),
    [
        # a list that is handed on has no items, until a name of its own is given to it
        (_LIST, "y = pl.make_tensor([1, part[1], 1, 70], pl.float32)", False),
        (_LIST, "own = part\ny = pl.make_tensor([1, own[1], 1, 70], pl.float32)", True),
        (_LIST, "y = pl.make_tensor(part, pl.float32)\npl.tiu.zero(y)", True),
        (_LIST, "y = pl.make_tensor([1, 50, 1, 70], pl.float32, part)", True),
        (_LIST, "pl.tiu.zero(t.sub_view(part, [0, 0, 0, 0]))", False),
        (_LIST, "own = part\npl.tiu.zero(t.sub_view(own, [0, 0, 0, 0]))", True),
        (_LIST, "pl.tiu.zero(t.view(part))", False),
        (_LIST, "y = pl.gtensor(part, pl.GLOBAL, ptr)\npl.dma.zero(y)", False),
        (_LIST, "a, b, c, d = part", False),
        (_LIST, "own = [0] + part", False),
        # dtypes and modes likewise
        ("helped(pl.float32, x, m)", "y = pl.make_tensor([1, 2, 3, 4], part)", False),
        ("helped(pl.float32, x, m)", "own = part\ny = pl.make_tensor([1, 2, 3, 4], own)", True),
        ("helped(pl.float32, x, m)", "if part == pl.float32:\n    pl.tiu.zero(t)", False),
        ("helped(pl.float32, x, m)", "n = pl.get_eu_num(part)", True),
        ("helped(pl.RM_UP, x, m)", "pl.tiu.round(t, t, r_mode=part)", True),
        ("helped(pl.GLOBAL, x, out_ptr)", "pl.dma.zero(pl.gtensor(SHAPE, part, ptr))", False),
        # None stands for what is left out where it is asked for as a constant
        ("helped(None, x, m)", "if part is None:\n    pl.tiu.zero(t)", True),
        ("y = pl.make_tensor([1, 2, 3, 4], pl.float32, None)", "pass", True),
        ("y = x.sub_view([1, 20, 1, 70], [0, 30, 0, 0], None)", "pass", False),
        ("y = x.sub_view([1, 20, 1, 70], [0, 30, 0, 0])", "pass", True),
        # what functions return
        ("helped(3, x, m)", "return [1, 2]", False),
        ("helped(3, x, m)", "return pl.float32", False),
        ("helped(3, x, m)", "return part, ptr", True),
        ("helped(3, x, m)", "return None", True),
    ],
)
def test_what_is_handed_on(tmp_path: Path, body: str, helper: str, compiled: bool) -> None:
    assert _compiled(tmp_path, body, helper) == compiled


@pytest.mark.parametrize(
    ("body", "compiled"),
    [
        ("a = [0] * 2", True),
        ("a = 2 * [0]", False),
        ("a = k * [0]", False),
        ("a = [0] + [1]", True),
        ("a = SHAPE[1]", True),
        ("a = 'b' + 'c'", True),
        ("a = 'b'\nc = a + 'd'", False),
        ("a = f'{k}'", True),
        ("a = pl.float32\nb = f'{a}'", False),
        ("if x.dtype == pl.float32:\n    pl.tiu.zero(x)", True),
        ("if m == pl.float32:\n    pl.tiu.zero(x)", False),
        ("a = None\nif a is None:\n    pl.tiu.zero(x)", True),
        ("a = None\nif a == None:\n    pl.tiu.zero(x)", False),
        ("if m == None:\n    pl.tiu.zero(x)", False),
        ("a = None\nif not a:\n    pl.tiu.zero(x)", False),
        ("a: pl.constexpr = [1, 2]\nb = a[1]", False),
    ],
)
def test_operators_of_what_is_no_number(tmp_path: Path, body: str, compiled: bool) -> None:
    assert _compiled(tmp_path, body) == compiled
