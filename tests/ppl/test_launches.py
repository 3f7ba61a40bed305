"""Which chips a kernel is checked for when no target is asked for."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from verifier.dialects.ppl.launches import targets
from verifier.engine import analyze_file
from verifier.executor import simulate
from verifier.executor.arguments import Argument, ArgumentKind
from verifier.executor.machine import Options
from verifier.executor.protocol import Request
from verifier.executor.runner import run
from verifier.executor.running import Shaped
from verifier.report.model import FileRequest

ALL = ("bm1684x", "bm1684xe", "bm1688", "bm1690", "sg2260e", "sg2262")
TWO = ("bm1688", "bm1690", "sg2260e", "sg2262")
FOUR = ("bm1690", "sg2260e", "sg2262")
EIGHT = ("bm1690", "sg2262")


@pytest.mark.parametrize(
    ("text", "chips"),
    [
        ("", ALL),
        ("other[(1, 8)](x)", ALL),
        ("kernel[(1,)](x)", ALL),
        ("kernel[(1, 8)](x)", EIGHT),
        ("kernel[1, 8](x)", EIGHT),
        ("module.kernel[(1, 4,)](x)", FOUR),
        ("def host(x):\n    for y in x:\n        kernel[(1, 2)](y)", TWO),
        ("kernel[(1, 2)](x)\nkernel[(1, 4)](x)", FOUR),
        ("CORES = 8\nkernel[(1, CORES)](x)", EIGHT),
        ("CORES = 8\nCORES = 4\nkernel[(1, CORES)](x)", ALL),
        ("CORES = 8\nCORES += 1\nkernel[(1, CORES)](x)", ALL),
        ("CORES = 8\ndef host(CORES):\n    kernel[(1, CORES)](x)", ALL),
        ("for CORES in (2, 4):\n    kernel[(1, CORES)](x)", ALL),
        ("kernel[(1, cores())](x)", ALL),
        ("kernel[(1, True)](x)", ALL),
        # no chip has as many: what is wrong is said on each
        ("kernel[(1, 64)](x)", ALL),
        # one is wrong on every chip: the other one says which
        ("kernel[(1, 8)](x)\nkernel[(1, 64)](x)", EIGHT),
    ],
)
def test_a_launch_says_which_chips_a_kernel_is_for(text: str, chips: tuple[str, ...]) -> None:
    assert targets(lambda: ast.parse(text).body, "kernel", ()) == chips


def test_a_contract_says_it_before_the_file_does() -> None:
    body = ast.parse("kernel[(1, 2)](x)").body
    assert targets(lambda: body, "kernel", (1, 8)) == EIGHT


KERNEL = """\
import ppl
import ppl.language as pl


@ppl.jit
def kernel(out_ptr, src_ptr):
    source = pl.gtensor([1, 40, 1, 900], pl.GLOBAL, src_ptr)
    target = pl.gtensor([1, 40, 1, 900], pl.GLOBAL, out_ptr)
    a = pl.make_tensor([1, 40, 1, {columns}], pl.float16)
    part = a.sub_view([1, 40, 1, 900], [0, 0, 0, 0])
    pl.dma.load(part, source)
    pl.dma.store(target, part)
"""


def checked(tmp_path: Path, text: str, *names: str) -> dict[str, str]:
    path = tmp_path / "kernel.py"
    path.write_text(text, encoding="utf-8")
    found = analyze_file(FileRequest(path=str(path), targets=names))
    assert not found.errors
    return {kernel.target: kernel.status for kernel in found.kernels}


def test_every_chip_that_it_could_be_for_is_checked(tmp_path: Path) -> None:
    verified = dict.fromkeys(ALL, "verified")
    assert checked(tmp_path, KERNEL.format(columns=900)) == verified
    # a lane of two of the chips has 128 KiB
    small = dict.fromkeys(("bm1688", "sg2262"), "violated")
    assert checked(tmp_path, KERNEL.format(columns=40000)) == {**verified, **small}
    launched = KERNEL.format(columns=40000) + "\n\nkernel[(1, 8)](None, None)\n"
    assert checked(tmp_path, launched) == {"bm1690": "verified", "sg2262": "violated"}


def test_a_target_that_is_asked_for_is_the_only_one(tmp_path: Path) -> None:
    launched = KERNEL.format(columns=900) + "\n\nkernel[(1, 2)](None, None)\n"
    assert checked(tmp_path, launched, "bm1688") == {"bm1688": "verified"}


@pytest.mark.parametrize(
    ("launch", "chip"), [("", "bm1684x"), ("kernel[(1, 2)](None, None)", "bm1688")]
)
def test_a_run_is_on_the_first_of_them(tmp_path: Path, launch: str, chip: str) -> None:
    path = tmp_path / "kernel.py"
    path.write_text(f"{KERNEL.format(columns=900)}\n\ndef host():\n    {launch or 'pass'}\n")
    assert simulate(f"{path}::kernel").target.name == chip
    found = analyze_file(FileRequest(path=str(path)))
    assert found.kernels[0].target == chip


@pytest.mark.parametrize(("grid", "ended"), [((1, 8), None), ((1, 64), "misuse")])
def test_a_run_on_many_cores_is_on_a_chip_that_has_them(
    tmp_path: Path, grid: tuple[int, ...], ended: str | None
) -> None:
    path = tmp_path / "kernel.py"
    path.write_text(KERNEL.format(columns=900), encoding="utf-8")
    planes = Argument(ArgumentKind.TENSOR, dtype="float16", shape=(1, 40, 1, 900))
    arguments = {"out_ptr": planes, "src_ptr": planes}
    reply = run(Request(str(path), "kernel", arguments, target="", grid=grid))
    assert (reply.ended and reply.ended[0]) == ended


RACING = """\
import ppl
import ppl.language as pl


@ppl.jit
def kernel(out_ptr, src_ptr):
    core, cores = pl.get_core_index(), pl.get_core_num()
    source = pl.gtensor([5, 24, 1, 60], pl.GLOBAL, src_ptr)
    target = pl.gtensor([5, 24, 1, 60], pl.GLOBAL, out_ptr)
    part = [1, 24, 1, 60]
    a = pl.make_tensor(part, pl.float16)
    for b in range(core, 5, cores):
        pl.dma.load(a, source.sub_view(part, [b, 0, 0, 0]))
        pl.dma.store(target.sub_view(part, [b, 0, 0, 0]), a)
    pl.sync()
    for b in range(core, 4, cores):
        pl.dma.load(a, target.sub_view(part, [{read}, 0, 0, 0]))
        {wait}
        pl.dma.store({to}.sub_view(part, [{written}, 0, 0, 0]), a)
"""


@pytest.mark.parametrize("shapes_only", [False, True])
@pytest.mark.parametrize(
    ("read", "written", "to", "wait", "races"),
    [
        ("b", "b", "target", "", False),
        ("b + 1", "b", "source", "", False),
        ("b + 1", "b", "target", "", True),
        ("b", "b + 1", "target", "", True),
        ("0", "b", "target", "", True),
        ("b + 1", "b", "target", "pl.sync()", False),
        ("b + cores * (b + cores < 5)", "b", "target", "", False),
    ],
)
def test_cores_race_for_what_one_reads_and_another_writes(
    tmp_path: Path, read: str, written: str, to: str, wait: str, races: bool, shapes_only: bool
) -> None:
    path = tmp_path / "kernel.py"
    text = RACING.format(read=read, written=written, to=to, wait=wait)
    path.write_text(text, encoding="utf-8")
    made = simulate(f"{path}::kernel", "bm1690", None)
    options = Options(shapes_only=shapes_only, keep_going=True)
    cores = type(made)(made.kernel, made.target, made.api_version, options, (1, 2))
    shape = (5, 24, 60)
    outcome = cores.outcome(out_ptr=Shaped("float16", shape), src_ptr=Shaped("float16", shape))
    line = text[: text.index("pl.dma.load(a, target")].count("\n") + 1
    found = [(d.rule, d.span.line) for d in outcome.diagnostics]
    assert found == ([("ppl-missing-sync", line)] if races else [])
    said = analyze_file(FileRequest(str(path), targets=("bm1690",))).diagnostics
    assert not races or "ppl-missing-sync" in {d.rule for d in said}


SUMMING = """\
import ppl
import ppl.language as pl


@ppl.jit
def kernel(out_ptr, src_ptr):
    sums = pl.gtensor([1, 16, 1, 64], pl.L2, dtype=pl.float16)
    a = pl.make_tensor([1, 16, 1, 64], pl.float16)
    pl.dma.load(a, pl.gtensor([1, 16, 1, 64], pl.GLOBAL, src_ptr).view())
    pl.dma.zero(sums.view())
    {cleared}
    pl.dma.reduce(sums.view(), a, pl.ALL_REDUCE_PSUM_WR, pl.ALL_REDUCE_ADD)
    {summed}
    if pl.get_core_index() == 0:
        pl.sdma.move(pl.gtensor([1, 16, 1, 64], pl.GLOBAL, out_ptr).view(), sums.view())
"""


@pytest.mark.parametrize(
    ("cleared", "summed", "line"), [("sync", "sync", 0), ("", "sync", 12), ("sync", "", 15)]
)
def test_sums_in_memory_come_in_any_order_but_before_they_are_read(
    tmp_path: Path, cleared: str, summed: str, line: int
) -> None:
    path = tmp_path / "kernel.py"
    waits = {"": "", "sync": "pl.sync()"}
    text = SUMMING.format(cleared=waits[cleared], summed=waits[summed])
    path.write_text(text, encoding="utf-8")
    made = simulate(f"{path}::kernel", "bm1690", None)
    options = Options(keep_going=True)
    cores = type(made)(made.kernel, made.target, made.api_version, options, (1, 3))
    shape = (1, 16, 1, 64)
    outcome = cores.outcome(out_ptr=Shaped("float16", shape), src_ptr=Shaped("float16", shape))
    found = {(d.rule, d.span.line) for d in outcome.diagnostics}
    assert found == ({("ppl-missing-sync", line)} if line else set())


@pytest.mark.parametrize(
    ("launch", "message"),
    [
        ("kernel[(1, 9)](y, x)", "the launch asks for 9 cores; bm1690 has 8 cores"),
        ("kernel[1, 9](y, x)", "the launch asks for 9 cores; bm1690 has 8 cores"),
        ("CORES = 9\nkernel[(1, CORES)](y, x)", "the launch asks for 9 cores; bm1690 has 8 cores"),
        ("kernel[(9,)](y, x)", "the launch asks for 9 groups; bm1690 has 8 cores"),
        ("kernel[(1, 8)](y, x)", ""),
        ("kernel[(1, cores())](y, x)", ""),
    ],
)
def test_a_launch_asks_for_cores_that_are_there(tmp_path: Path, launch: str, message: str) -> None:
    """Also of a kernel that never asks which core it is on."""
    path = tmp_path / "kernel.py"
    path.write_text(KERNEL.format(columns=900) + f"\n\n{launch}\n", encoding="utf-8")
    found = analyze_file(FileRequest(path=str(path), targets=("bm1690",)))
    counted = [d for d in found.diagnostics if d.rule == "ppl-core-count"]
    assert [d.message for d in counted] == [message] * bool(message)
    assert [d.verdict for d in counted] == ["always"] * bool(message)
    assert all(d.span.line == KERNEL.count("\n") + launch.count("\n") + 3 for d in counted)


def test_a_contract_asks_for_cores_that_are_there(tmp_path: Path) -> None:
    path = tmp_path / "kernel.py"
    text = KERNEL.format(columns=900).replace("@ppl", "# tilelint: contract [1, 9]()\n@ppl")
    path.write_text(text, encoding="utf-8")
    found = analyze_file(FileRequest(path=str(path), targets=("bm1690",)))
    assert "ppl-core-count" in {d.rule for d in found.diagnostics}
