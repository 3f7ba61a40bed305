"""The same kernel on several chips: memory, dtypes, forms of matrix products, functions."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.ppl.support import check, one, rules
from verifier.executor import simulate

#: bytes of a lane: two tensors in float16, aligned
PAIR = """\
@ppl.jit
def paired(out_ptr, src_ptr):
    source = pl.gtensor([1, {c}, 1, {w}], pl.GLOBAL, src_ptr)
    target = pl.gtensor([1, {c}, 1, {w}], pl.GLOBAL, out_ptr)
    a = pl.make_tensor([1, {c}, 1, {w}], pl.float16)
    b = pl.make_tensor([1, {c}, 1, {w}], pl.float16)
    pl.dma.load(a, source)
    pl.tiu.fmul(b, a, 3.0)
    pl.dma.store(target, b)
"""


@pytest.mark.parametrize(
    "chip, c, w, fits",
    [
        ("bm1684x", 64, 65535, True),  # 2 * 131072 bytes, rounded up, of 262144
        ("bm1684x", 33, 65535, True),
        ("bm1688", 32, 32768, True),  # 2 * 65536 bytes of 131072
        ("bm1688", 33, 32768, False),  # a second slot in each of 32 lanes
        ("bm1688", 32, 32769, False),
        ("sg2262", 16, 32752, True),
        ("sg2262", 17, 32752, False),
        ("bm1690", 65, 65535, False),
    ],
)
def test_what_fits_into_a_lane(tmp_path: Path, chip: str, c: int, w: int, fits: bool) -> None:
    found = rules(check(tmp_path, PAIR.format(c=c, w=w), chip))
    assert ("ppl-local-capacity" not in found) is fits


def test_what_stages_hand_over_counts_twice(tmp_path: Path) -> None:
    text = """\
@ppl.jit
def streamed(out_ptr, src_ptr):
    source = pl.gtensor([1, 64, 4, {w}], pl.GLOBAL, src_ptr)
    target = pl.gtensor([1, 64, 4, {w}], pl.GLOBAL, out_ptr)
    for h in range(4):
        {pipeline}
        a = pl.make_tensor([1, 64, 1, {w}], pl.float16)
        b = pl.make_tensor([1, 64, 1, {w}], pl.float16)
        c = pl.make_tensor([1, 64, 1, {w}], pl.float16)
        pl.dma.load(a, source.sub_view([1, 64, 1, {w}], [0, 0, h, 0]))
        pl.tiu.fmul(b, a, 3.0)
        pl.tiu.fadd(c, b, a)
        pl.dma.store(target.sub_view([1, 64, 1, {w}], [0, 0, h, 0]), c)
"""
    # loaded and stored twice, the one between once: 5 * 2 * w bytes of 262144
    for width, fits in ((26208, True), (26240, False)):
        for mark in ("pl.enable_pipeline()", "pass"):
            result = check(tmp_path, text.format(w=width, pipeline=mark))
            expected = set() if fits or mark == "pass" else {"ppl-local-capacity"}
            assert set(rules(result)) == expected, (width, mark)


PRODUCT = """\
@ppl.jit
def product(out_ptr, left_ptr, right_ptr):
    a = pl.make_tensor([1, 24, 1, 40], pl.{source})
    b = pl.make_tensor([1, {b}], pl.{source})
    c = pl.make_tensor([1, 24, 1, 56], pl.{result})
    pl.dma.load(a, pl.gtensor([1, 24, 1, 40], pl.GLOBAL, left_ptr).view())
    pl.dma.load(b, pl.gtensor([1, {b}], pl.GLOBAL, right_ptr).view())
    pl.tiu.zero(c)
    pl.tiu.fmm2(c, a, b, {options})
    pl.dma.store(pl.gtensor([1, 24, 1, 56], pl.GLOBAL, out_ptr).view(), c)
"""
PLAIN, TURNED = "40, 1, 56", "56, 1, 40"


@pytest.mark.parametrize(
    "chip, source, result, b, options, rule",
    [
        ("bm1684x", "float16", "float16", PLAIN, "", None),
        ("bm1684x", "float16", "float32", PLAIN, "result_add=True", None),
        ("bm1684x", "float16", "float16", TURNED, "rtrans=True", None),
        (
            "bm1684x",
            "float16",
            "float32",
            TURNED,
            "rtrans=True, result_add=True",
            "ppl-matmul-form",
        ),
        ("bm1690", "float16", "float32", TURNED, "rtrans=True, result_add=True", None),
        ("bm1684x", "float16", "float16", PLAIN, "result_add=True", "ppl-matmul-form"),
        ("bm1684x", "float16", "float16", PLAIN, "ltrans=True", "ppl-matmul-form"),
        ("bm1684x", "float16", "float16", PLAIN, "do_relu=True", "ppl-matmul-form"),
        ("bm1690", "float16", "float16", PLAIN, "do_relu=True", None),
        ("bm1684x", "float32", "float32", PLAIN, "", "ppl-matmul-dtypes"),
        ("bm1690", "float32", "float32", PLAIN, "", None),
        ("bm1690", "float8e4", "float16", PLAIN, "", None),
        ("bm1684x", "float16", "bfloat16", PLAIN, "", "ppl-matmul-dtypes"),
        ("bm1684x", "float16", "float16", TURNED, "", "ppl-matmul-shape"),
    ],
)
def test_forms_of_matrix_products(
    tmp_path: Path, chip: str, source: str, result: str, b: str, options: str, rule: str | None
) -> None:
    text = PRODUCT.format(source=source, result=result, b=b, options=options)
    found = set(rules(check(tmp_path, text, chip)))
    assert (rule in found) if rule else not found, found


def test_eight_bit_floats_need_a_newer_chip(tmp_path: Path) -> None:
    text = PRODUCT.format(source="float8e4", result="float16", b=PLAIN, options="")
    assert "ppl-chip-dtype" in rules(check(tmp_path, text, "bm1684x"))
    assert "ppl-chip-dtype" in rules(check(tmp_path, text, "bm1688"))


SHARED = """\
@ppl.jit
def shared(out_ptr, src_ptr):
    l2 = pl.gtensor([1, 16, 1, 64], pl.L2, dtype=pl.float16)
    a = pl.make_tensor([1, 16, 1, 64], pl.float16)
    pl.dma.load(a, pl.gtensor([1, 16, 1, 64], pl.GLOBAL, src_ptr).view())
    pl.dma.zero(l2.view())
    pl.sync()
    pl.dma.reduce(l2.view(), a, pl.ALL_REDUCE_PSUM_WR, pl.ALL_REDUCE_ADD)
    pl.sync()
    if pl.get_core_index() == 0:
        pl.sdma.move(pl.gtensor([1, 16, 1, 64], pl.GLOBAL, out_ptr).view(), l2.view())
"""


def test_cores_may_all_clear_and_add_but_have_to_wait(tmp_path: Path) -> None:
    assert rules(check(tmp_path, SHARED)) == {}
    text = SHARED.replace("    pl.sync()\n    if", "    if")
    assert rules(check(tmp_path, text)) == {"ppl-missing-sync": "sometimes"}


def test_shared_memory_is_there_on_some_chips(tmp_path: Path) -> None:
    found = one(check(tmp_path, SHARED, "bm1688"), "ppl-chip-dtype")
    assert found.verdict == "always" and "L2" in found.message


@pytest.mark.parametrize("chip", ["bm1684x", "bm1684xe", "bm1688", "bm1690"])
@pytest.mark.parametrize("where", ["source", "target"])
def test_a_pointer_into_shared_memory_needs_it_as_well(
    tmp_path: Path, chip: str, where: str
) -> None:
    there = {"source": "GLOBAL", "target": "GLOBAL", where: "L2"}
    text = f"""\
# tilelint: contract (out_ptr: fp16[32, 40], src_ptr: fp16[32, 40])
@ppl.jit
def moved(out_ptr, src_ptr):
    source = pl.gtensor([1, 32, 1, 40], pl.{there["source"]}, src_ptr)
    target = pl.gtensor([1, 32, 1, 40], pl.{there["target"]}, out_ptr)
    a = pl.make_tensor([1, 32, 1, 40], pl.float16)
    pl.dma.load(a, source)
    pl.dma.store(target, a)
"""
    expected = {} if chip == "bm1690" else {"ppl-chip-dtype": "always"}
    assert rules(check(tmp_path, text, chip)) == expected
    array = np.zeros((32, 40), np.float16)
    kernel = simulate(f"{tmp_path / 'kernel.py'}::moved", chip)
    outcome = kernel.outcome(out_ptr=array, src_ptr=array)
    assert {d.rule for d in outcome.diagnostics} == set(expected)


@pytest.mark.parametrize(
    ("chip", "rows", "fits"),
    [("sg2260e", 2048, True), ("sg2260e", 4097, False), ("bm1690", 4097, True)],
)
def test_what_cores_share_has_to_fit(tmp_path: Path, chip: str, rows: int, fits: bool) -> None:
    """16 MiB, or 128: 2048 rows of 64 channels and 32 words are 16 MiB."""
    text = f"""\
@ppl.jit
def shared(out_ptr, src_ptr):
    part = [1, 64, 1, 32]
    l2 = pl.gtensor([1, 64, {rows}, 32], pl.L2, dtype=pl.float32)
    a = pl.make_tensor(part, pl.float32)
    pl.dma.load(a, pl.gtensor(part, pl.GLOBAL, src_ptr).view())
    if pl.get_core_index() == 0:
        pl.dma.store(l2.sub_view(part, [0, 0, 0, 0]), a)
    pl.sync()
    pl.dma.load(a, l2.sub_view(part, [0, 0, 0, 0]))
    if pl.get_core_index() == 0:
        pl.dma.store(pl.gtensor(part, pl.GLOBAL, out_ptr).view(), a)
"""
    found = rules(check(tmp_path, text, chip))
    assert found == ({} if fits else {"ppl-shared-capacity": "always"})


EXCHANGED = """\
# tilelint: contract (out_ptr: fp32[64, 500], src_ptr: fp32[64, 500], tmp_ptr: fp32[64, 500])
@ppl.jit
def exchanged(out_ptr, src_ptr, tmp_ptr):
    core, cores = pl.get_core_index(), pl.get_core_num()
    source = pl.gtensor([1, 64, 1, 500], pl.GLOBAL, src_ptr)
    target = pl.gtensor([1, 64, 1, 500], pl.GLOBAL, out_ptr)
    between = pl.gtensor([1, 64, 1, 500], pl.{memory}, {pointer})
    part = [1, 8, 1, 500]
    for piece in range(core, 8, cores):
        a = pl.make_tensor(part, pl.float32)
        pl.dma.load(a, source.sub_view(part, [0, piece * 8, 0, 0]))
        pl.dma.store(between.sub_view(part, [0, piece * 8, 0, 0]), a)
    {wait}
    for piece in range(core, 8, cores):
        b = pl.make_tensor(part, pl.float32)
        pl.dma.load(b, between.sub_view(part, [0, {place}, 0, 0]))
        pl.tiu.fadd(b, b, 1.0)
        pl.dma.store(target.sub_view(part, [0, piece * 8, 0, 0]), b)
"""


@pytest.mark.parametrize("memory", ["L2", "GLOBAL"])
@pytest.mark.parametrize("pointer", ["tmp_ptr", "None, pl.float32"])
def test_cores_wait_only_for_what_others_write(tmp_path: Path, memory: str, pointer: str) -> None:
    def found(place: str, wait: str = "") -> set[str]:
        text = EXCHANGED.format(memory=memory, pointer=pointer, place=place, wait=wait)
        return set(rules(check(tmp_path, text))) - {"ppl-unused-tensor"}  # (`tmp_ptr`)

    assert found("piece * 8") == set()  # its own
    assert found("56 - piece * 8") == {"ppl-missing-sync"}
    assert found("56 - piece * 8", "pl.sync()") == set()
