"""What kernels of PPL are interpreted as: launches, cores, inputs, loops, and the front end."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from tests.ppl.support import HEADER, check, interpret, one, rules, status
from verifier.dialects.ppl import isa
from verifier.dialects.ppl.host import HANDLERS
from verifier.dialects.ppl.names import HOST
from verifier.executor import simulate
from verifier.symbolic.pretty import pretty
from verifier.symbolic.tensors import StorageKind

#: rows are dealt out to the cores; each takes its share in blocks of 24 rows
DEALT = """\
@ppl.jit
def dealt(out_ptr, src_ptr, rows, width: pl.constexpr):
    cores = pl.get_core_num()
    share = pl.cdiv(rows, cores)
    first = pl.get_core_index() * share
    last = min(first + share, rows)
    source = pl.gtensor([1, rows, 1, width], pl.GLOBAL, src_ptr)
    target = pl.gtensor([1, rows, 1, width], pl.GLOBAL, out_ptr)
    for start in range(first, last, 24):
        count = min(24, last - start)
        a = pl.make_tensor([1, 24, 1, width], pl.float16, [1, count, 1, width])
        b = pl.make_tensor([1, 24, 1, width], pl.float16, [1, count, 1, width])
        pl.dma.load(a, source.sub_view([1, count, 1, width], [0, start, 0, 0]))
        pl.tiu.fmul(b, a, 0.25)
        pl.dma.store(target.sub_view([1, count, 1, width], [0, start, 0, 0]), b)
"""
SIZES = "# tilelint: contract (rows: 1..5000, width: 1..900)\n"


def test_every_core_is_looked_at(tmp_path: Path) -> None:
    result = check(tmp_path, SIZES + DEALT)
    assert rules(result) == {}
    assert status(result) == [("dealt", "verified")]
    (kernel,) = result.kernels
    assert "get_core_index() < get_core_num()" in kernel.assumptions
    assert kernel.calls.total == kernel.calls.modelled


def test_a_share_that_is_declared_as_the_whole_is_left_by_the_second_core(tmp_path: Path) -> None:
    text = DEALT.replace("pl.gtensor([1, rows, 1, width]", "pl.gtensor([1, share, 1, width]")
    found = [d for d in check(tmp_path, SIZES + text).diagnostics if d.rule == "ppl-sub-view"]
    assert [(d.counterexample or {})["get_core_num()"] for d in found] == [2, 2]


def test_one_core_leaves_nothing(tmp_path: Path) -> None:
    text = DEALT.replace("pl.gtensor([1, rows, 1, width]", "pl.gtensor([1, share, 1, width]")
    assert rules(check(tmp_path, SIZES + text, "bm1684x")) == {}


def test_a_last_core_past_the_end_is_found(tmp_path: Path) -> None:
    text = DEALT.replace("last = min(first + share, rows)", "last = first + share")
    assert "ppl-sub-view" in rules(check(tmp_path, SIZES + text))


def test_cores_that_write_one_place_are_found(tmp_path: Path) -> None:
    text = DEALT.replace(
        "pl.dma.store(target.sub_view([1, count, 1, width], [0, start, 0, 0])",
        "pl.dma.store(target.sub_view([1, count, 1, width], [0, start - first, 0, 0])",
    )
    assert "loop-carried-dependence" in rules(check(tmp_path, SIZES + text))


def test_rows_that_no_core_writes_are_found(tmp_path: Path) -> None:
    text = DEALT.replace("share = pl.cdiv(rows, cores)", "share = rows // cores")
    found = one(check(tmp_path, SIZES + text), "output-not-written")
    assert found.verdict == "sometimes"
    four = "# tilelint: contract [1, 4](rows: 1..5000, width: 64)\n"
    assert rules(check(tmp_path, four + text)).get("output-not-written") == "sometimes"
    assert rules(check(tmp_path, four + DEALT)) == {}


def test_a_launch_grid_pins_the_cores(tmp_path: Path) -> None:
    contract = "# tilelint: contract [1, 4](rows: 10, width: 64)\n"
    text = contract + DEALT.replace("rows, 1, width], pl.GLOBAL", "share, 1, width], pl.GLOBAL")
    found = check(tmp_path, text).diagnostics
    assert {d.rule for d in found} == {"ppl-sub-view"}
    assert all((d.counterexample or {})["get_core_num()"] == 4 for d in found)
    assert rules(check(tmp_path, contract + DEALT)) == {}


def test_contracts_name_inputs_and_declare_what_pointers_point_at(tmp_path: Path) -> None:
    contract = (
        "# tilelint: contract (rows: 1..64, width: 40, out_ptr: fp16[{}], "
        "src_ptr: fp16[1, rows, 1, 40])\n"
    )
    enough = contract.format("1, rows, 1, 40")
    assert rules(check(tmp_path, enough + DEALT)) == {}
    short = contract.format("1, rows, 1, 39")
    assert rules(check(tmp_path, short + DEALT)) == {"ppl-tensor-storage": "always"}


def test_a_loop_over_a_product_is_two_loops(tmp_path: Path) -> None:
    text = """\
@ppl.jit
def blocks(out_ptr, src_ptr, rows, columns, tall: pl.constexpr, wide: pl.constexpr):
    source = pl.gtensor([1, rows, 1, columns], pl.GLOBAL, src_ptr)
    target = pl.gtensor([1, rows, 1, columns], pl.GLOBAL, out_ptr)
    down = pl.cdiv(rows, tall)
    across = pl.cdiv(columns, wide)
    for number in range(down * across):
        c = (number // across) * tall
        w = (number % across) * wide
        m = min(tall, rows - c)
        n = min(wide, columns - w)
        a = pl.make_tensor([1, tall, 1, wide], pl.float16, [1, m, 1, n])
        pl.dma.load(a, source.sub_view([1, m, 1, n], [0, c, 0, w]))
        pl.dma.store(target.sub_view([1, m, 1, n], [0, c, 0, w]), a)
"""
    contract = "# tilelint: contract (rows: 1..900, columns: 1..900, tall: 1..64, wide: 1..512)\n"
    assert status(check(tmp_path, contract + text)) == [("blocks", "verified")]
    run = interpret(tmp_path, text)
    names = [loop.name for loop in run.trace.operations[0].loops]
    assert names == ["(number // across)", "(number % across)"]


def test_numbers_that_a_condition_binds_in_a_loop_keep_their_value(tmp_path: Path) -> None:
    text = """\
@ppl.jit
def divided(out_ptr, width):
    parts = 1
    for k in range(2, 9):
        if width % k == 0:
            parts = k
    target = pl.gtensor([1, 16, 1, width], pl.GLOBAL, out_ptr)
    a = pl.make_tensor([1, 16, 1, 8], pl.float16, [1, 16, 1, parts])
    pl.tiu.zero(a)
    pl.dma.store(target.sub_view([1, 16, 1, parts], [0, 0, 0, 0]), a)
"""
    run = interpret(tmp_path, text)
    (_, view), *_ = run.trace.operations[0].writes
    shown = pretty(view.shape[3])
    assert "8" in shown and "if" in shown and shown != "1"
    assert "ppl-sub-view" not in rules(check(tmp_path, text))


TILED = """\
def halve(fn, out_ptr, src_ptr, width, block):
    while block > 0:
        found = fn(out_ptr, src_ptr, width, block)
        if found.errorCode == 0:
            return found
        block = block // 2
    raise RuntimeError("nothing fits")


@ppl.jit(tiling=halve)
def tiled(out_ptr, src_ptr, width, block: pl.constexpr):
    source = pl.gtensor([1, 64, 1, width], pl.GLOBAL, src_ptr)
    target = pl.gtensor([1, 64, 1, width], pl.GLOBAL, out_ptr)
    for start in range(0, width, block):
        pl.enable_pipeline()
        size = min(block, width - start)
        a = pl.make_tensor([1, 64, 1, block], pl.float16, [1, 64, 1, size])
        b = pl.make_tensor([1, 64, 1, block], pl.float16, [1, 64, 1, size])
        pl.dma.load(a, source.sub_view([1, 64, 1, size], [0, 0, 0, start]))
        pl.tiu.fadd(b, a, 1.0)
        pl.dma.store(target.sub_view([1, 64, 1, size], [0, 0, 0, start]), b)
"""


def test_a_tiling_callback_makes_blocks_fit(tmp_path: Path) -> None:
    result = check(tmp_path, TILED)
    assert rules(result) == {}
    (kernel,) = result.kernels
    assert kernel.status == "verified"
    said = "the tiling callback chooses `block` so that local memory suffices"
    assert said in kernel.assumptions


def test_a_callback_may_have_block_sizes_of_its_own(tmp_path: Path) -> None:
    text = TILED.replace("src_ptr, width, block):\n    while", "src_ptr, width):\n    while")
    text = text.replace("    while block", "    block = 4096\n    while block")
    for call in ("width, block)", "width, block=block)"):
        result = check(
            tmp_path,
            text.replace("fn(out_ptr, src_ptr, width, block)", f"fn(out_ptr, src_ptr, {call}"),
        )
        assert rules(result) == {}


def test_without_the_callback_the_caller_has_to_choose(tmp_path: Path) -> None:
    found = rules(check(tmp_path, TILED.replace("@ppl.jit(tiling=halve)", "@ppl.jit")))
    assert found == {"ppl-local-capacity": "sometimes"}


def test_a_callback_cannot_help_what_does_not_depend_on_blocks(tmp_path: Path) -> None:
    text = TILED.replace(
        "    for start",
        "    big = pl.make_tensor([1, 64, 1, 140000], pl.float16)\n"
        "    pl.tiu.zero(big)\n    for start",
    )
    text = text.replace(
        "        pl.tiu.fadd(b, a, 1.0)",
        "        pl.tiu.fadd(b, a, big.sub_view([1, 64, 1, size], [0, 0, 0, 0]))",
    )
    found = one(check(tmp_path, text), "ppl-local-capacity")
    assert found.verdict == "always" and "tiling callback" in found.message


def test_flags_and_pointers_that_may_be_missing(tmp_path: Path) -> None:
    text = """\
@ppl.jit
def shifted(out_ptr, src_ptr, bias_ptr, with_bias: pl.constexpr):
    source = pl.gtensor([1, 32, 1, 50], pl.GLOBAL, src_ptr)
    target = pl.gtensor([1, 32, 1, 50], pl.GLOBAL, out_ptr)
    a = pl.make_tensor([1, 32, 1, 50], src_ptr.dtype)
    pl.dma.load(a, source)
    if with_bias:
        bias = pl.gtensor([1, 1, 1, 50], pl.GLOBAL, bias_ptr)
        row = pl.make_tensor([1, 1, 1, 50], src_ptr.dtype)
        pl.dma.load(row, bias)
        wide = pl.make_tensor([1, 32, 1, 50], src_ptr.dtype)
        pl.tiu.broadcast(wide, row)
        pl.tiu.fadd(a, a, wide)
    pl.dma.store(target, a)
"""
    result = check(tmp_path, text)
    assert status(result) == [("shifted", "verified")]
    (kernel,) = result.kernels
    assert any(text.startswith("src_ptr.dtype in") for text in kernel.assumptions)


def test_results_may_be_returned_instead_of_written(tmp_path: Path) -> None:
    text = """\
@ppl.jit
def summed(out_ptr, left_ptr, right_ptr):
    left = pl.dma.load(pl.gtensor([1, 20, 1, 30], pl.GLOBAL, left_ptr).view())
    right = pl.dma.load(pl.gtensor([1, 20, 1, 30], pl.GLOBAL, right_ptr).view())
    total = pl.tiu.cast(left + right, pl.float32)
    pl.dma.store(pl.gtensor([1, 20, 1, 30], pl.GLOBAL, out_ptr).view(), total)
"""
    run = interpret(tmp_path, text)
    assert [op.name for op in run.trace.operations] == [
        "ppl.dma.load",
        "ppl.dma.load",
        "ppl.tiu.fadd",
        "ppl.tiu.cast",
        "ppl.dma.store",
    ]
    made = [s for s in run.trace.storages if s.kind is StorageKind.RESULT]
    assert [str(s.dtype) for s in made[-1:]] == ["float32"]
    assert not run.trace.unmodelled


def test_every_described_function_is_found_by_its_name() -> None:
    assert len(isa.INSTRUCTIONS) > 110
    for name, instruction in isa.INSTRUCTIONS.items():
        assert isa.find(name.removeprefix(isa.PREFIX)) is instruction
        names = isa.signature(instruction).names
        assert names and len(set(names)) == len(names), name
    short = {"fmm2": "fmm2", "max": "maximum", "fmul": "fmul"}
    for given, meant in short.items():
        assert isa.of_package(given) is isa.find(f"tiu.{meant}")
    assert isa.of_package("dot") is None and isa.find("tiu.dot") is isa.find("tiu.fmm2")
    assert isa.of_package("load") is isa.find("dma.load")
    assert isa.of_package("move") is isa.find("sdma.move")


def test_every_host_function_has_a_meaning() -> None:
    assert {f"pl.{name}" for name in HOST} - set(HANDLERS) == {"pl.make_gtensor_permute"}


@pytest.mark.parametrize(
    "chip, lanes, unit, group",
    [
        ("bm1684x", 64, 32, 32),
        ("bm1688", 32, 8, 16),
        ("bm1690", 64, 32, 32),
        ("sg2262", 16, 16, 16),
    ],
)
def test_numbers_of_the_chip(tmp_path: Path, chip: str, lanes: int, unit: int, group: int) -> None:
    text = """\
@ppl.jit
def numbers(out_ptr):
    shape = [pl.LANE_NUM(), 1, pl.get_eu_num(pl.float16), pl.get_nic(pl.float16)]
    n, c, h, w = pl.aligned_stride_4d(2, 70, 3, 5, pl.TPU_ALIGN, 0, pl.float16)
    a = pl.make_tensor([1, 1, n, c], pl.float16)
    pl.tiu.zero(a)
    pl.dma.zero(pl.gtensor(shape, pl.GLOBAL, out_ptr).view())
"""
    run = interpret(tmp_path, text, chip)
    (_, tile), *_ = run.trace.operations[0].writes
    (_, view), *_ = run.trace.operations[1].writes
    assert [pretty(size) for size in view.shape] == [str(lanes), "1", str(unit), str(group)]
    feature = -(-15 // unit) * unit
    assert [pretty(size) for size in tile.shape[2:]] == [
        str(-(-70 // lanes) * feature),
        str(feature),
    ]


ASSERTED = """\
# tilelint: contract (out_ptr: fp32[R, 60], x_ptr: fp32[R, 60], rows: R) where R <= 100
@{decorator}
def asserted(out_ptr, x_ptr, rows):
    assert rows <= 64
    x_all = pl.gtensor([1, rows, 1, 60], pl.GLOBAL, x_ptr)
    out_all = pl.gtensor([1, rows, 1, 60], pl.GLOBAL, out_ptr)
    x = pl.make_tensor([1, 64, 1, 60], pl.float32, [1, rows, 1, 60])
    pl.dma.load(x, x_all)
    pl.dma.store(out_all, x)
"""


def test_an_assertion_that_is_dropped_keeps_nothing_out(tmp_path: Path) -> None:
    dropped = ASSERTED.format(decorator="ppl.jit")
    found = check(tmp_path, dropped)
    assert rules(found).keys() == {"ppl-dropped-assert", "ppl-real-shape"}
    (kernel,) = found.kernels
    assert kernel.status == "violated"  # its contract admits more than 64 rows
    assert not any("64" in assumption for assumption in kernel.assumptions)
    kept = check(tmp_path, ASSERTED.format(decorator="ppl.jit(debug=True)"))
    assert rules(kept) == {} and kept.kernels[0].status == "verified"


@pytest.mark.parametrize("decorator, dies", [("ppl.jit", False), ("ppl.jit(debug=True)", True)])
def test_runs_leave_it_out_as_well(tmp_path: Path, decorator: str, dies: bool) -> None:
    path = tmp_path / "asserted.py"
    path.write_text(HEADER + ASSERTED.format(decorator=decorator), encoding="utf-8")
    numbers = np.ones((80, 60), np.float32)
    outcome = simulate(f"{path}::asserted", "bm1684x").outcome(
        out_ptr=np.zeros((80, 60), np.float32), x_ptr=numbers, rows=80
    )
    ended = outcome.ended
    assert ended is not None and (ended[0] != "violation") is dies
    assert {d.rule for d in outcome.diagnostics} == (set() if dies else {"ppl-real-shape"})


MISSPELT = """\
@ppl.jit
def misspelt(out_ptr, src_ptr):
    source = pl.gtensor([1, 9, 1, 60], pl.GLOBAL, src_ptr)
    target = pl.gtensor([1, 9, 1, 60], pl.GLOBAL, out_ptr)
    a = pl.make_tensor([1, 9, 1, 60], pl.float32, align_mode=pl.TPU_ALIGN)
    pl.dma.load(a, source.sub_view([1, 9, 1, 60], [0, 0, 0, 0]))
    pl.tiu.fmul(a, a, 2.0 + pl.get_core_index() - pl.get_core_index())
    pl.dma.store(target, a)
"""


@pytest.mark.parametrize(
    "name, slip",
    [
        ("pl.GLOBAL, src_ptr", "pl.GLOBLA, src_ptr"),
        ("pl.TPU_ALIGN", "pl.TPU_ALLIGN"),
        ("pl.float32", "pl.float31"),
        ("pl.tiu.fmul(", "pl.tiu.fmull("),
        ("sub_view(", "subview("),
        ("pl.get_core_index()", "pl.get_core_idx()"),
    ],
)
def test_a_name_that_is_misspelt_is_an_error(tmp_path: Path, name: str, slip: str) -> None:
    assert rules(check(tmp_path, MISSPELT, "bm1684x")) == {}
    found = check(tmp_path, MISSPELT.replace(name, slip, 1), "bm1684x")
    (shown,) = [d for d in found.diagnostics if d.rule == "ppl-unknown-name"]
    assert shown.severity == "error" and found.kernels[0].status != "verified"
    meant = re.split(r"[(,]", name)[0].rpartition(".")[2]
    assert any(f"did you mean `{meant}`?" in text for text in shown.help)


@pytest.mark.parametrize(
    "name, other", [("pl.GLOBAL, src_ptr", "pl.SHARED, src_ptr"), ("pl.TPU_ALIGN", "pl.TPU_ROWS")]
)
def test_a_mode_that_there_is_not_is_not_taken_for_another(
    tmp_path: Path, name: str, other: str
) -> None:
    found = check(tmp_path, MISSPELT.replace(name, other, 1), "bm1684x")
    assert found.kernels[0].status == "violated"
    assert "ppl-unknown-name" in {d.rule for d in found.diagnostics}


@pytest.mark.parametrize(
    "call, known",
    [
        ("pl.static_assert(True)", False),
        ("pl.static_print(3)", False),
        ("pl.device_print(3)", False),
        ("pl.device_assert(True)", False),
        ("pl.get_stride(1, 2, 3, 4, pl.TPU_ALIGN, 0, 16)", False),
        ("pl.core.static_assert(True)", True),
        ("pl.core.static_print(3)", True),
        ("print('rows', 3)", True),
    ],
)
def test_what_the_modules_of_the_language_do_not_hand_on(
    tmp_path: Path, call: str, known: bool
) -> None:
    first = "    target = pl.gtensor"
    assert first in MISSPELT
    found = check(tmp_path, MISSPELT.replace(first, f"    {call}\n{first}", 1), "bm1684x")
    assert rules(found) == ({} if known else {"ppl-unknown-name": "always"})
