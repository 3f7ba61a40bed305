"""What is a constant of the compiler: how a value is bound decides, not what is known of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ppl.support import check
from verifier.cli.main import main
from verifier.engine.analysis import analyze_file
from verifier.report.model import FileRequest

COPY = """\
@ppl.jit
def helper(n):
    return n * 8


@ppl.jit
def early(n):
    if n > 5:
        return 128
    return 100


{contract}
@ppl.jit
def copied(out_ptr, in_ptr, n{annotation}, block: pl.constexpr):
    src = pl.gtensor([1, 40, 1, 100], pl.GLOBAL, in_ptr)
    dst = pl.gtensor([1, 40, 1, 100], pl.GLOBAL, out_ptr)
    {before}
    x = pl.make_tensor([1, 40, 1, {memory}], pl.float32, [1, 40, 1, {width}])
    pl.dma.load(x, src.sub_view([1, 40, 1, {width}], [0, 0, 0, 0]))
    pl.dma.store(dst.sub_view([1, 40, 1, {width}], [0, 0, 0, 0]), x)
"""
CONTRACT = (
    "# tilelint: contract (in_ptr: fp32[1, 40, 1, 100], out_ptr: fp32[1, 40, 1, 100], "
    "n: {n}, block: {block})"
)
CHOICE, BLOCK, LOOP = "ppl-conditional-expression", "ppl-dynamic-block", "ppl-statement"


def _judged(folder: Path, text: str, kernel: str = "copied") -> tuple[str, set[str]]:
    """The status of a kernel, and the rules that have something against it."""
    result = check(folder, text)
    assert not result.errors
    (status,) = (k.status for k in result.kernels if k.name == kernel)
    return status, {d.rule for d in result.diagnostics if d.kernel == kernel}


def _text(
    before: str = "pass",
    *,
    n: str = "3",
    block: str = "128",
    annotation: str = "",
    memory: str = "100",
    width: str = "100",
) -> str:
    contract = CONTRACT.format(n=n, block=block)
    before = before.replace("\n", "\n    ")
    return COPY.format(
        contract=contract, annotation=annotation, before=before, memory=memory, width=width
    )


@pytest.mark.parametrize(
    ("n", "annotation", "test", "width", "wrong"),
    [
        # always the first alternative, unless n is annotated, or is 1
        ("3", "", "64 if n > 5 else 100", "w", True),
        ("3", ": pl.constexpr", "64 if n > 5 else 100", "w", False),
        ("1", "", "64 if n > 5 else 100", "w", False),
        ("1..5", "", "64 if n > 5 else 100", "w", True),
        ("2..5", "", "64 if n > 5 else 100", "w", True),
        ("1..5", ": pl.constexpr", "64 if n > 5 else 100", "w", False),
        # what the solver knows of parts of the test
        ("3", "", "64 if n - n else 100", "w", True),
        ("3", "", "64 if n * 0 else 100", "w", True),
        ("2..5", "", "64 if n // 8 else 100", "w", True),
        ("2..5", "", "64 if min(n, 8) > 8 else 100", "w", True),
        ("2..5", "", "64 if n > 5 and block > 5 else 100", "w", True),
        ("2..5", "", "64 if not n else 100", "w", True),
        ("2..5", "", "64 if n > 5 or block > 500 else 100", "w", True),
        ("2..5", ": pl.constexpr", "64 if n > 5 or block > 500 else 100", "w", False),
        # constants, whatever else there is in the alternatives
        ("2..5", "", "64 if block > 500 else 100 + n * 0", "w", False),
        ("2..5", "", "64 if block // 2 > 500 else 100", "w", False),
        ("2..5", "", "64 if int(block / 500) else 100", "w", False),
        # what functions return is a value of the run
        ("2..5", "", "64 if pl.cdiv(block, 2) > 500 else 100", "w", True),
        ("2..5", "", "64 if helper(block) > 50000 else 100", "w", True),
        ("2..5", "", "64 if max(block, 2) > 500 else 100", "w", True),
    ],
)
def test_conditional_expressions(
    tmp_path: Path, n: str, annotation: str, test: str, width: str, wrong: bool
) -> None:
    text = _text(f"w = {test}", n=n, annotation=annotation, width=width)
    status, found = _judged(tmp_path, text)
    assert (status, CHOICE in found) == ("violated" if wrong else "verified", wrong)


@pytest.mark.parametrize(
    ("before", "wrong"),
    [
        # a number that is assigned is a value of the run from there on
        ("b = block\nw = 64 if b > 500 else 100", True),
        ("wide = block > 500\nw = 64 if wide else 100", True),
        ("b: pl.constexpr = block\nw = 64 if b > 500 else 100", False),
        ("w = 64 if block > 500 else 100\nblock = n", False),
        ("block = block // 2\nw = 64 if block > 500 else 100", True),
        ("sizes = [block, 2]\nw = 64 if sizes[0] > 500 else 100", False),
        ("sizes = [n, 2]\nw = 64 if sizes[0] > 500 else 100", True),
        ("kind = pl.float32\nw = 64 if kind == pl.float16 else 100", False),
        ("w = 100\nfor i in range(2):\n    w = 64 if i > 5 else 100", True),
        ("w = 100\nfor i in pl.static_range(2):\n    w = 64 if i > 5 else 100", False),
        ("w = 64 if pl.get_core_num() > 500 else 100", True),
    ],
)
def test_names(tmp_path: Path, before: str, wrong: bool) -> None:
    status, found = _judged(tmp_path, _text(before, width="w"))
    assert (status == "verified", CHOICE in found) == (not wrong, wrong)


@pytest.mark.parametrize(
    ("n", "annotation", "before", "memory", "wrong"),
    [
        ("128", "", "pass", "n", True),
        ("128", ": pl.constexpr", "pass", "n", False),
        ("1", "", "pass", "n * 100", False),
        ("2", "", "pass", "n * 50", True),
        ("2", "", "pass", "100 + n - n", True),
        ("2..9", "", "pass", "100 + n // 100", True),
        ("2..9", "", "pass", "max(100, n)", True),
        # constants by way of names and functions are folded
        ("2", "", "half = block // 2\nfull = half + half", "full", False),
        ("2", "", "pass", "pl.cdiv(block, 16) * 16", False),
        ("2", "", "pass", "helper(block)", False),
        ("2", "", "pass", "helper(n + 12)", True),
        ("2", "", "wide = n * 64", "wide", True),
        ("2", "", "wide = 100\nif n > 5:\n    wide = 128", "wide", True),
        ("2", "", "wide = 100\nif block > 5:\n    wide = 128", "wide", False),
        ("2", "", "wide = 50\nfor i in range(2):\n    wide = wide + 50", "wide", True),
        ("2", "", "wide = 50\nfor i in pl.static_range(2):\n    wide = wide + 50", "wide", False),
        ("2", "", "shape = [1, block]", "shape[1]", False),
        ("2", "", "shape = [1, n * 64]", "shape[1]", True),
        # however a name is bound
        ("2", "", "a, (b, wide) = 1, (2, block)", "wide", False),
        ("2", "", "a, (b, wide) = 1, (2, n * 64)", "wide", True),
        ("2", "", "a, *wide = 1, block, 2", "wide[0]", False),
        ("2", "", "a, *wide = 1, n * 64, 2", "wide[0]", True),
        ("2", "", "a = (wide := block)", "wide", False),
        ("2", "", "a = (wide := n * 64)", "wide", True),
        ("2", "", "if (wide := n * 64) > 0:\n    pass", "wide", True),
        ("2", "", "g = pl.gtensor([1, 40, 1, 100], pl.GLOBAL, in_ptr)", "g.shape[3]", False),
        ("2", "", "g = pl.gtensor([1, n, 1, 100], pl.GLOBAL, in_ptr)", "g.shape[1] * 64", True),
        ("2", "", "pass", "early(block)", False),
        ("2..9", "", "pass", "early(n)", True),
    ],
)
def test_memory_shapes(
    tmp_path: Path, n: str, annotation: str, before: str, memory: str, wrong: bool
) -> None:
    text = _text(before, n=n, annotation=annotation, memory=memory)
    status, found = _judged(tmp_path, text)
    # whatever is known of what it binds
    rejected = any(text in before for text in (":=", "*wide", "(b, wide)", "g = "))
    assert (status, BLOCK in found) == ("violated" if wrong or rejected else "verified", wrong)


LOOPS = """\
@ppl.jit
def part(dst, src, n, step):
    for i in range(3, -1, step):
        x = pl.make_tensor([1, 8, 1, 64], pl.float32)
        pl.dma.load(x, src.sub_view([1, 8, 1, 64], [i, 0, 0, 0]))
        pl.dma.store(dst.sub_view([1, 8, 1, 64], [i, 0, 0, 0]), x)


# tilelint: contract (in_ptr: fp32[4, 8, 1, 64], out_ptr: fp32[4, 8, 1, 64], n: {n}, back: -1)
@ppl.jit
def rows(out_ptr, in_ptr, n, back: pl.constexpr):
    src = pl.gtensor([4, 8, 1, 64], pl.GLOBAL, in_ptr)
    dst = pl.gtensor([4, 8, 1, 64], pl.GLOBAL, out_ptr)
    {loop}
"""
_BODY = """
        x = pl.make_tensor([1, 8, 1, 64], pl.float32)
        pl.dma.load(x, src.sub_view([1, 8, 1, 64], [i, 0, 0, 0]))
        pl.dma.store(dst.sub_view([1, 8, 1, 64], [i, 0, 0, 0]), x)"""


@pytest.mark.parametrize(
    ("n", "loop", "wrong"),
    [
        ("-1", f"for i in range(3, -1, n):{_BODY}", True),
        ("1", f"for i in range(0, 4, n):{_BODY}", False),
        ("4", f"for i in range(0, n, 1):{_BODY}", False),
        ("1", f"for i in range(3, -1, -1):{_BODY}", False),
        ("1", f"for i in range(3, -1, back):{_BODY}", False),
        ("1", f"step = -1\n    for i in range(3, -1, step):{_BODY}", True),
        ("1", f"for i in range(3, -1, -n):{_BODY}", False),
        ("4", f"for i in pl.static_range(n):{_BODY}", True),
        ("4", f"for i in pl.static_range(4):{_BODY}", False),
        ("1", "part(dst, src, n, -1)", False),
        ("-1", "part(dst, src, n, back)", False),
        ("-1", "part(dst, src, 3, n)", True),
    ],
)
def test_loops(tmp_path: Path, n: str, loop: str, wrong: bool) -> None:
    status, found = _judged(tmp_path, LOOPS.format(n=n, loop=loop), "rows")
    assert (status, LOOP in found) == ("violated" if wrong else "verified", wrong)


def test_what_only_one_makes_known_is_a_condition(tmp_path: Path) -> None:
    """Any other number is a value of the run: the kernel is right for 1 alone."""
    result = check(tmp_path, _text(n="1..9", memory="n * 100"))
    (kernel,) = (k for k in result.kernels if k.name == "copied")
    assert kernel.status == "conditional"
    assert kernel.precondition is not None
    assert kernel.precondition.text == "n == 1"


@pytest.mark.parametrize(
    ("n", "annotation", "before", "refused"),
    [
        ("3", "", "w = 64 if n > 5 else 100", True),
        # what is compiled does what nobody wrote, whether it is right or not
        ("3", "", "w = 100 if n > 5 else 64", True),
        ("1", "", "w = 64 if n > 5 else 100", False),
        ("3", ": pl.constexpr", "w = 64 if n > 5 else 100", False),
        ("3", "", "b = block\nw = 64 if b > 500 else 100", True),
        ("3", "", "w = 64 if block > 500 else 100", False),
    ],
)
def test_runs_choose_as_the_front_end_does(
    tmp_path: Path, n: str, annotation: str, before: str, refused: bool
) -> None:
    file = tmp_path / "k.py"
    text = _text(before, n=n, annotation=annotation, width="w")
    file.write_text(f"import ppl\nimport ppl.language as pl\n\n\n{text}", encoding="utf-8")
    tensors = [f"--arg={name}_ptr=fp32[1,40,1,100]" for name in ("out", "in")]
    ended = main(["run", f"{file}::copied", *tensors, f"--arg=n={n}", "--arg=block=128"])
    assert ended == (1 if refused else 0)


ALIASES = "from ppl.language import constexpr as C\n\nCE = pl.constexpr\n\n\n"


@pytest.mark.parametrize(
    ("first", "annotation", "constant"),
    [
        ("", "C", True),
        ("", "CE", True),
        ("", '"pl.constexpr"', True),
        ("", "int", False),
        # a string is what is written, and so is an annotation that nobody evaluates
        ("", '"C"', False),
        ("from __future__ import annotations\n\n", "C", False),
        ("from __future__ import annotations\n\n", "pl.constexpr", True),
    ],
)
def test_a_constant_by_another_name(
    tmp_path: Path, first: str, annotation: str, constant: bool
) -> None:
    """A parameter is a constant if its annotation is, whatever the file calls it: in both."""
    text = _text("w = 64 if n > 5 else 100", n="3", annotation=f": {annotation}", width="w")
    file = tmp_path / "k.py"
    header = f"{first}import ppl\nimport ppl.language as pl\n{ALIASES}"
    file.write_text(header + text, encoding="utf-8")
    found = analyze_file(FileRequest(path=str(file), targets=("bm1690",)))
    (kernel,) = (k for k in found.kernels if k.name == "copied")
    assert kernel.status == ("verified" if constant else "violated")
    tensors = [f"--arg={name}_ptr=fp32[1,40,1,100]" for name in ("out", "in")]
    ended = main(["run", f"{file}::copied", *tensors, "--arg=n=3", "--arg=block=128"])
    assert ended == (0 if constant else 1)


def test_a_constant_of_the_kernel_by_another_name(tmp_path: Path) -> None:
    """``k: C = 5`` inside of a kernel is evaluated whatever the file says of annotations."""
    header = "from __future__ import annotations\nimport ppl\nimport ppl.language as pl\n"
    text = _text("k: C = 3\nw = 64 if k > 5 else 100", width="w")
    file = tmp_path / "k.py"
    file.write_text(header + ALIASES + text, encoding="utf-8")
    found = analyze_file(FileRequest(path=str(file), targets=("bm1690",)))
    assert [k.status for k in found.kernels if k.name == "copied"] == ["verified"]


BRANCH = """\
# tilelint: contract (out_ptr: fp32[1, 48, 1, 70], src_ptr: fp32[1, 48, 1, 70], n: 1..9)
@ppl.jit
def kernel(out_ptr, src_ptr, n):
    src = pl.gtensor([1, 48, 1, 70], pl.GLOBAL, src_ptr)
    out = pl.gtensor([1, 48, 1, 70], pl.GLOBAL, out_ptr)
    wide = 70
    if pl.get_core_index() < pl.get_core_num():
        {bound}
        {inside}
        t = pl.make_tensor([1, 48, 1, wide], pl.float32)
        pl.dma.load(t, src)
        pl.dma.store(out, t)
"""


@pytest.mark.parametrize(
    ("bound", "inside", "dynamic"),
    [
        # what a branch binds is what it is made of there, whatever decides about the branch
        ("wide = 35 * 2", "pass", False),
        ("wide = 35 * 2", "wide = wide + 0", False),
        ("wide = 70 + n - n", "pass", True),
        ("pass", "if n > 2:\n            wide = 70", True),
    ],
)
def test_what_a_branch_binds(tmp_path: Path, bound: str, inside: str, dynamic: bool) -> None:
    text = BRANCH.format(bound=bound, inside=inside)
    found = {d.rule for d in check(tmp_path, text, "bm1690").diagnostics}
    assert ("ppl-dynamic-block" in found) is dynamic
