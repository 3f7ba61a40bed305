"""Parameters of kernels, what lies outside of the project, and names of kernel APIs."""

from __future__ import annotations

from pathlib import Path

import pytest

from verifier.engine import analyze_file
from verifier.report.model import Diagnostic, FileRequest, FileResult, KernelReport

HEAD = """\
import elsewhere
import nki
import nki.isa as nisa
import nki.language as nl
from enum import Enum


class Mode(Enum):
    FAST = "fast"
    SLOW = "slow"
    SAFE = "safe"


ROWS = [128, 64]


"""

COPY = """\
@nki.jit
def kernel({parameters}):
{before}
    P, F = x.shape
    assert P <= 128 and F <= 512
    out = nl.ndarray((P, F), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray((P, F), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
{body}
    nisa.dma_copy(dst=out, src=tile)
    return out
"""


def check(tmp_path: Path, text: str, api: str | None = None) -> FileResult:
    path = tmp_path / "kernel.py"
    path.write_text(HEAD + text, encoding="utf-8")
    request = FileRequest(path=str(path), roots=(str(tmp_path),), api_version=api)
    result = analyze_file(request)
    assert not result.errors
    return result


def copy(
    tmp_path: Path, parameters: str, body: str = "", before: str = "", api: str | None = None
) -> FileResult:
    """A kernel that copies ``x``, with something done on the way."""

    def indented(lines: str) -> str:
        return "\n".join(f"    {line}" for line in (lines or "pass").splitlines())

    text = COPY.format(parameters=parameters, before=indented(before), body=indented(body))
    return check(tmp_path, text, api)


def one(result: FileResult) -> tuple[KernelReport, list[Diagnostic]]:
    (kernel,) = result.kernels
    return kernel, [d for d in result.diagnostics if d.verdict != "unknown"]


def verified(result: FileResult) -> None:
    kernel, found = one(result)
    assert kernel.status == "verified", (kernel.reasons, [d.message for d in found])


def finding(result: FileResult, rule: str) -> Diagnostic:
    _, found = one(result)
    (diagnostic,) = [d for d in found if d.rule == rule]
    return diagnostic


# ------------------------------------------------------------------------ defaults


def test_a_default_number_stands_for_any(tmp_path: Path) -> None:
    body = "part = tile[0:P, 0:F - n]"
    found = finding(copy(tmp_path, "x, n=0", body), "slice-bounds")
    assert found.verdict == "sometimes" and found.counterexample is not None
    assert found.counterexample["n"] != 0


def test_a_negative_default_admits_any_number(tmp_path: Path) -> None:
    verified(copy(tmp_path, "x, n=2", "part = tile[0, 0, 0] if n + 2 < 2 else None"))
    result = copy(tmp_path, "x, n=-2", "part = tile[0, 0, 0] if n + 2 < -2 else None")
    assert finding(result, "slice-bounds").verdict == "sometimes"
    result = copy(tmp_path, "x, n=-2", "assert n >= 0\npart = tile[0:P, 0:F + n]")
    assert finding(result, "slice-bounds").verdict == "sometimes"


def test_a_default_tuple_has_its_length(tmp_path: Path) -> None:
    verified(copy(tmp_path, "x, dims=(1, 2)", "a, b = dims\nassert len(dims) == 2"))
    result = copy(tmp_path, "x, dims=(1, 2)", "a, b, c = dims")
    assert finding(result, "unpack-mismatch").verdict == "always"


def test_a_default_flag_is_either(tmp_path: Path) -> None:
    result = copy(tmp_path, "x, flag=True", "if not flag:\n    part = tile[0, 0, 0]")
    assert finding(result, "slice-bounds").verdict == "sometimes"


@pytest.mark.parametrize(
    ("body", "value"),
    [
        ("if n:\n    for i in range(n):\n        if i == 3:\n            undefined", 4),
        ("if not n:\n    return x\nif n == 7:\n    undefined", 7),
        ("m = 3 // (n - 2) if n else 0", 2),
        ("if n and n > 3:\n    undefined", 4),
        ("m = n + 1\nif not n:\n    undefined", 0),
        ("if n:\n    if n == 'a':\n        undefined", "a"),
        ("if not n:\n    if n == '':\n        undefined", ""),
        ("if not n:\n    undefined", False),
    ],
)
def test_what_is_true_may_be_more_than_a_flag(tmp_path: Path, body: str, value: object) -> None:
    _, found = one(copy(tmp_path, "x, n", body))
    assert [d.verdict for d in found] == ["sometimes"]
    assert found[0].counterexample is not None
    assert found[0].counterexample["n"] == value


@pytest.mark.parametrize(
    "body",
    [
        "if n and n == 0:\n    undefined",
        "if not n and n > 0:\n    undefined",
        "if n > 3:\n    pass\nif n == 0 and n:\n    undefined",
        "if n and n == '':\n    undefined",
    ],
)
def test_what_is_true_fits_what_it_is_later(tmp_path: Path, body: str) -> None:
    verified(copy(tmp_path, "x, n", body))


@pytest.mark.parametrize(
    "body",
    [
        "if n is not None:\n    if not n:\n        undefined",
        "m = n or 5\nif n is not None and m == 5 and n == 0:\n    undefined",
        "if n:\n    m = n + 1\nelif n is not None:\n    undefined",
    ],
)
def test_what_may_be_none_may_be_false_too(tmp_path: Path, body: str) -> None:
    _, found = one(copy(tmp_path, "x, n=None", body))
    assert [d.verdict for d in found] == ["sometimes"]


def test_what_turns_out_to_be_a_tensor_was_no_condition(tmp_path: Path) -> None:
    kernel, found = one(copy(tmp_path, "x, n", "if n:\n    sizes = n.shape"))
    assert kernel.status == "violated"
    assert [d.message for d in found] == [
        "a condition depends on a tensor, which is known on the device alone"
    ]


def test_whether_a_tensor_that_may_be_none_is_true_is_not_known(tmp_path: Path) -> None:
    for parameters, body in (
        ("x, b=None", "if b:\n    rows = b.shape[0]\nelif b is not None:\n    undefined"),
        ("x, b: nl.tensor = None", "if b is not None and not b:\n    undefined"),
    ):
        kernel, found = one(copy(tmp_path, parameters, body))
        assert kernel.status == "unknown" and not found, (body, kernel, found)
    verified(copy(tmp_path, "x, b=None", "if b is not None:\n    rows = b.shape[0]"))


def test_whether_an_input_is_a_flag_is_not_known(tmp_path: Path) -> None:
    # later compilers know no `is`
    kernel, found = one(copy(tmp_path, "x, n", "if n is True:\n    undefined", api="0.2"))
    assert kernel.status == "unknown" and not found
    body = "if n is True:\n    return x\nif n == 7:\n    undefined"
    kernel, _ = one(copy(tmp_path, "x, n", body, api="0.2"))
    assert kernel.status != "verified"


def test_none_is_one_of_the_values(tmp_path: Path) -> None:
    found = finding(copy(tmp_path, "x, n=None", "m = n + 1"), "wrong-type")
    assert found.verdict == "sometimes" and found.counterexample is not None
    assert found.counterexample["n"] is None
    verified(copy(tmp_path, "x, n=None", "m = 1 if n is None else n + 1"))


def test_what_stands_in_for_none_says_what_a_parameter_is(tmp_path: Path) -> None:
    before = "if steps is None:\n    steps = (1, 1)"
    verified(copy(tmp_path, "x, steps=None", "width = (F - 1) * steps[0] + 1", before))


@pytest.mark.parametrize("body", ["m = s + 1", "m = 1 - s", "m = s.shape", "m = s @ s[0]"])
def test_what_no_tuple_does(tmp_path: Path, body: str) -> None:
    _, found = one(copy(tmp_path, "x, s: tuple", body))
    assert [(d.verdict, d.severity) for d in found] == [("always", "error")]


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("a, b = s", "s has 2 items"),
        ("a = s[3]", "s has at least 4 items"),
        ("a = s[-2]", "s has at least 2 items"),
        ("a = s[0]\na, b = s", "s has 2 items"),
    ],
)
def test_how_many_items_an_input_has_is_listed(tmp_path: Path, body: str, said: str) -> None:
    result = copy(tmp_path, "x, s: tuple", body)
    verified(result)
    assert said in result.kernels[0].assumptions


@pytest.mark.parametrize(
    ("body", "value"),
    [
        ("if len(s) == 3:\n    undefined", [0, 0, 0]),
        ("if not s:\n    undefined", []),
        ("if s and len(s) < 2:\n    undefined", [0]),
        ("assert len(s) >= 2\nif s[1] == 5 and len(s) == 2:\n    undefined", [0, 5]),
    ],
)
def test_an_input_has_any_number_of_items(tmp_path: Path, body: str, value: list[int]) -> None:
    _, found = one(copy(tmp_path, "x, s: tuple", body))
    assert [d.verdict for d in found] == ["sometimes"]
    assert found[0].counterexample is not None
    assert found[0].counterexample["s"] == value


def test_an_item_that_is_not_there(tmp_path: Path) -> None:
    result = copy(tmp_path, "x, s: tuple", "if len(s) < 2:\n    a = s[1]")
    assert [d.severity for d in one(result)[1]]
    kernel, _ = one(copy(tmp_path, "x, s: list", "s.append(3)\nif not s:\n    undefined"))
    assert kernel.status == "unknown"


def test_a_string_is_compared(tmp_path: Path) -> None:
    body = 'if name == "other":\n    part = tile[0, 0, 0]'
    found = finding(copy(tmp_path, 'x, name="this"', body), "slice-bounds")
    assert found.counterexample is not None and found.counterexample["name"] == "other"


@pytest.mark.parametrize("test", ["mode is Mode.SAFE", "mode == Mode.SAFE", 'mode.value == "safe"'])
def test_a_member_of_an_enumeration_is_any_of_them(tmp_path: Path, test: str) -> None:
    body = f"if {test}:\n    part = tile[0, 0, 0]"
    found = finding(copy(tmp_path, "x, mode=Mode.FAST", body), "slice-bounds")
    assert found.counterexample is not None
    assert found.counterexample["mode"] == "Mode.SAFE"


def test_every_member_is_a_key(tmp_path: Path) -> None:
    body = "cost = {Mode.FAST: 1, Mode.SLOW: 2, Mode.SAFE: 3}[mode]\nassert cost <= 3"
    verified(copy(tmp_path, "x, mode=Mode.FAST", body))


# ------------------------------------------------------------------------ ranks


@pytest.mark.parametrize(
    ("said", "rank"),
    [
        ("assert len(t.shape) == 3", 3),
        ("assert 1 == len(t.shape)", 1),
        ("if t.ndim != 4:\n    raise ValueError", 4),
        ("assert t.shape == (2, 3, 4)", 3),
        ("part = t[0, 0, 0, 0]", 4),
        ("last = t.shape[2]", 3),
        ("rest = t.shape[1:4]", 4),
        ("whole = t[0]\npart = whole[0, 0]", 3),
        ("same = t\na, b, c = same.shape", 3),
        ("measured(t)", 3),
    ],
)
def test_the_rank_that_the_text_shows(tmp_path: Path, said: str, rank: int) -> None:
    helper = "def measured(other):\n    a, b, c = other.shape\n\n\n"
    lines = "\n".join(f"    {line}" for line in said.splitlines())
    text = f"""\
{helper}@nki.jit
def kernel(t):
    out = nl.ndarray(t.shape, dtype=t.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=t)
{lines}
    return out
"""
    kernel, _ = one(check(tmp_path, text))
    assert f"t has rank {rank}" in kernel.assumptions


@pytest.mark.parametrize(
    ("line", "rank"), [("t: [B, S, H]", 3), ("t: [H]", 1), ("t (tensor): of shape (n, k)", 2)]
)
def test_the_rank_that_a_docstring_shows(tmp_path: Path, line: str, rank: int) -> None:
    text = f'''\
@nki.jit
def kernel(t):
    """{line}"""
    out = nl.ndarray(t.shape, dtype=t.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=t)
    return out
'''
    kernel, _ = one(check(tmp_path, text))
    assert f"t has rank {rank}" in kernel.assumptions


def test_a_guess_that_cannot_be_is_given_up(tmp_path: Path) -> None:
    text = """\
def demand(other, rank):
    if len(other.shape) != rank:
        raise ValueError


@nki.jit
def kernel(t):
    out = nl.ndarray(t.shape, dtype=t.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=t)
    demand(t, 3)
    return out
"""
    result = check(tmp_path, text)
    verified(result)
    assert "t has rank 3" in result.kernels[0].assumptions


def test_shapes_are_compared_without_a_guess(tmp_path: Path) -> None:
    text = """\
@nki.jit
def kernel(a, b):
    assert a.shape == b.shape
    P, F = a.shape
    assert P <= 128 and F <= 512
    out = nl.ndarray((P, F), dtype=b.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray((P, F), dtype=b.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=b)
    nisa.dma_copy(dst=out, src=tile)
    return out
"""
    verified(check(tmp_path, text))


# ------------------------------------------------------------------------ outside of the project


@pytest.mark.parametrize(
    "body",
    [
        "elsewhere.log(P, F)",
        "elsewhere.log([P, F], {'rows': P})",
        "elsewhere.log(Mode.FAST)",
    ],
)
def test_what_gets_values_alone_changes_nothing(tmp_path: Path, body: str) -> None:
    verified(copy(tmp_path, "x", body))


@pytest.mark.parametrize(
    "body",
    [
        "elsewhere.change(ROWS)",
        "sizes = [P, F]\nelsewhere.change(sizes)",
        "elsewhere.change(lambda: None)",
        "elsewhere.change(tile)",
        "elsewhere.change(Mode)",
    ],
)
def test_what_gets_an_object_may_change_it(tmp_path: Path, body: str) -> None:
    kernel, _ = one(copy(tmp_path, "x", body))
    assert kernel.status == "unknown"


@pytest.mark.parametrize("name", ["kernel_assert", "require"])
def test_a_library_may_demand_what_it_is_given(tmp_path: Path, name: str) -> None:
    body = f"elsewhere.{name}(n < F, 'too many')\npart = tile[0:P, 0:F - n]"
    kernel, _ = one(copy(tmp_path, "x, n: int", body))
    assert kernel.status == "unknown"
    assert any(f"`{name}` of `elsewhere`" in one.message for one in kernel.reasons)
    body = f"if n >= F:\n    elsewhere.{name}(False, 'too many')\npart = tile[0:P, 0:F - n]"
    kernel, _ = one(copy(tmp_path, "x, n: int", body))
    assert kernel.status == "unknown"
    verified(copy(tmp_path, "x, n: int", f"elsewhere.{name}(n < F, 'too many')"))


def test_an_import_that_may_fail(tmp_path: Path) -> None:
    text = """\
@nki.jit
def kernel(x):
    try:
        import missing_module
    except ImportError:
        part = x[0, 0, 0]
    P, F = x.shape
    out = nl.ndarray((P, F), dtype=x.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=x)
    return out
"""
    kernel, _ = one(check(tmp_path, text))
    assert kernel.status == "unknown"


# ------------------------------------------------------------------------ attributes


@pytest.mark.parametrize("line", ["found = 3 in x", "tile = 3 in x.copy"])
def test_what_is_done_with_a_tensor_before_it_is_known_as_one(tmp_path: Path, line: str) -> None:
    kernel, found = one(copy(tmp_path, "x", before=line))
    assert kernel.status == "unknown" and not found


def test_nothing_is_in_a_number(tmp_path: Path) -> None:
    result = copy(tmp_path, "x, n", "m = n + 1\nfound = 3 in n")
    assert finding(result, "wrong-type").verdict == "always"


@pytest.mark.parametrize(
    ("parameters", "test"),
    [
        ("x, b", "x is b"),
        ("x, b", "x is not b"),
        ("x, b", "b.shape == x.shape and x is b"),
        ("x, a: str", "a is 'fast'"),
        ("x, n", "n is 1000"),
    ],
)
def test_two_inputs_may_be_one_object(tmp_path: Path, parameters: str, test: str) -> None:
    kernel, found = one(copy(tmp_path, parameters, f"if {test}:\n    undefined", api="0.2"))
    assert kernel.status == "unknown" and not found


def test_an_attribute_that_no_tensor_has(tmp_path: Path) -> None:
    found = finding(copy(tmp_path, "x", "rows = tile.shpae[0]"), "no-attribute")
    assert found.message == "a tensor has no attribute `shpae`"
    assert "did you mean `shape`?" in found.help


def test_a_parameter_may_be_more_than_a_tensor(tmp_path: Path) -> None:
    kernel, found = one(copy(tmp_path, "x", before="inner = x.base_tensor"))
    assert kernel.status == "unknown" and not found
    verified(copy(tmp_path, "x, other", before="inner = other.base_tensor"))
    found_ = finding(copy(tmp_path, "x", before="inner = x.shpae"), "no-attribute")
    assert found_.verdict == "always"


def test_a_name_that_the_api_does_not_have(tmp_path: Path) -> None:
    found = finding(copy(tmp_path, "x", "nisa.core_barier(tile)"), "no-attribute")
    assert found.message == "`isa` has no attribute `core_barier`"
    assert "did you mean `core_barrier`?" in found.help


def test_asking_for_an_attribute_is_no_fault(tmp_path: Path) -> None:
    verified(copy(tmp_path, "x", "if hasattr(nisa, 'core_barier'):\n    part = tile[0, 0, 0]"))
    kernel, found = one(copy(tmp_path, "x", "other = getattr(tile, 'shpae', None)"))
    assert kernel.status == "verified" and not found


# ------------------------------------------------------------------------ calls of the API


def test_a_call_for_each_case_of_an_argument(tmp_path: Path) -> None:
    text = """\
@nki.jit
def kernel(x, wide=False):
    P, F = x.shape
    assert P <= 128 and F <= 512
    out = nl.ndarray((P, F), dtype=x.dtype, buffer=nl.shared_hbm)
    first = nl.ndarray((P, F), dtype=x.dtype, buffer=nl.sbuf)
    second = nl.ndarray((P, F), dtype=x.dtype, buffer=nl.sbuf)
    chosen = first if wide else second
    nisa.dma_copy(dst=chosen, src=x)
    nisa.dma_copy(dst=out, src={source})
    return out
"""
    verified(check(tmp_path, text.format(source="chosen")))
    wrong = check(tmp_path, text.format(source="first"))
    assert finding(wrong, "uninitialised-read").verdict == "sometimes"
