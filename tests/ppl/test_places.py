"""Where parts of local tensors lie: start lanes, addresses, steps; in checks and in runs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.ppl.support import HEADER, check, one, rules
from verifier.executor import simulate

KERNEL = """\
# tilelint: contract (out_ptr: fp16[1, 70, 3, 64], src_ptr: fp16[1, 70, 3, 64], k: 0..60)
@ppl.jit
def parts(out_ptr, src_ptr, k: pl.constexpr):
    source = pl.gtensor([1, 70, 3, 64], pl.GLOBAL, src_ptr)
    target = pl.gtensor([1, 70, 3, 64], pl.GLOBAL, out_ptr)
    a = pl.make_tensor([1, 70, 3, 64], pl.float16)
    b = pl.make_tensor([1, 70, 3, 64], pl.float16)
    pl.dma.load(a, source)
    pl.tiu.zero(b)
    {statement}
    pl.dma.store(target, b)
    pl.dma.store(source, a)
"""


#: more channels than lanes: advice
SLOTS = "ppl-lane-slots"


def broken(folder: Path, text: str) -> set[str]:
    return set(rules(check(folder, text, "bm1684x"))) - {SLOTS}


def part(tensor: str, c: object = 0, w: object = 0, *, channels: int = 6, wide: int = 64) -> str:
    return f"{tensor}.sub_view([1, {channels}, 1, {wide}], [0, {c}, 0, {w}])"


CASES = [
    (f"pl.tiu.fadd({part('b')}, {part('a')}, 1.0)", ""),
    (f"pl.tiu.fadd({part('b')}, {part('a', 3)}, 1.0)", "ppl-start-lane"),
    # lane 0 again
    (f"pl.tiu.fadd({part('b')}, {part('a', 64)}, 1.0)", ""),
    (f"pl.tiu.fadd({part('b', 2)}, {part('a', 2)}, {part('a', 1)})", "ppl-start-lane"),
    (f"pl.tiu.move({part('b', 1)}, {part('a')})", "ppl-start-lane"),
    (f"pl.tiu.cast({part('b', 1)}, {part('a')})", "ppl-start-lane"),
    # what moves between lanes may
    (f"pl.tiu.move_cross_lane({part('b', 1)}, {part('a')})", ""),
    (f"pl.dma.move({part('b', 1)}, {part('a')})", ""),
    # any column: elementwise functions have strides of their own
    (f"pl.tiu.fadd({part('b', 0, 5, wide=20)}, {part('a', 0, 9, wide=20)}, 1.0)", ""),
    (f"pl.tiu.move_cross_lane({part('b', 1, 32, wide=9)}, {part('a', 0, 0, wide=9)})", ""),
    (
        f"pl.tiu.move_cross_lane({part('b', 1, 9, wide=9)}, {part('a', 0, 0, wide=9)})",
        "ppl-operand-address",
    ),
    (
        f"pl.tiu.pool_max({part('b', wide=63)}, {part('a')}, [1, 2], [0, 0, 0, 0], [1, 1], [1, 1])",
        "",
    ),
    (
        f"pl.tiu.pool_max({part('b', 1, wide=63)}, {part('a')}, [1, 2], [0, 0, 0, 0], [1, 1], "
        "[1, 1])",
        "ppl-start-lane",
    ),
    # a channel in the last lanes
    (f"pl.tiu.broadcast({part('b', 58)}, {part('a', channels=1)})", ""),
    (f"pl.tiu.broadcast({part('b', 59)}, {part('a', channels=1)})", "ppl-start-lane"),
    (f"pl.dma.broadcast({part('b', 59)}, {part('a', channels=1)})", "ppl-start-lane"),
    (
        "c = pl.make_tensor([1, 6, 1, 9], pl.float32)\n    "
        f"pl.tiu.fmm2(c, {part('a', wide=6)}, {part('a', wide=9)}, out_dtype=pl.float32)\n    "
        f"pl.tiu.cast({part('b', wide=9)}, c)",
        "",
    ),
    (
        "c = pl.make_tensor([1, 6, 1, 9], pl.float32)\n    "
        f"pl.tiu.fmm2(c, {part('a', 1, wide=6)}, {part('a', wide=9)}, out_dtype=pl.float32)\n    "
        f"pl.tiu.cast({part('b', wide=9)}, c)",
        "ppl-start-lane",
    ),
    (
        "c = pl.make_tensor([1, 6, 1, 9], pl.float32)\n    "
        f"pl.tiu.fmm2(c, {part('a', 0, 8, wide=6)}, {part('a', wide=9)}, out_dtype=pl.float32)"
        f"\n    pl.tiu.cast({part('b', wide=9)}, c)",
        "ppl-operand-address",
    ),
]


@pytest.mark.parametrize("statement, rule", CASES)
def test_parts_in_lanes(tmp_path: Path, statement: str, rule: str) -> None:
    text = KERNEL.format(statement=statement)
    expected = {rule} if rule else set()
    assert broken(tmp_path, text) == expected
    path = tmp_path / "run.py"
    path.write_text(HEADER + text, encoding="utf-8")
    numbers = np.zeros((1, 70, 3, 64), np.float16)
    outcome = simulate(f"{path}::parts", "bm1684x").outcome(
        out_ptr=numbers.copy(), src_ptr=numbers, k=0
    )
    assert {d.rule for d in outcome.diagnostics} - {SLOTS} == expected


def test_the_lane_of_a_part_may_depend_on_an_input(tmp_path: Path) -> None:
    text = KERNEL.format(statement=f"pl.tiu.fadd({part('b', 9)}, {part('a', 'k')}, 1.0)")
    found = check(tmp_path, text, "bm1684x")
    (kernel,) = found.kernels
    assert kernel.status in ("conditional", "violated")
    shown = kernel.precondition
    assert shown is not None and "k == 9" in shown.text and shown.exact


def test_rows_of_a_part_lie_as_far_apart_as_those_of_the_tensor(tmp_path: Path) -> None:
    whole = "pl.tiu.pool_max(b.sub_view([1, 70, 2, 64], [0, 0, 0, 0]), a, [2, 1], "
    half = (
        "pl.tiu.pool_max(b.sub_view([1, 70, 2, 32], [0, 0, 0, 0]), "
        "a.sub_view([1, 70, 3, 32], [0, 0, 0, 32]), [2, 1], "
    )
    rest = "[0, 0, 0, 0], [1, 1], [1, 1])"
    # channels of the second slot follow those of the first as the larger planes have them
    assert broken(tmp_path, KERNEL.format(statement=whole + rest)) == {"ppl-operand-layout"}
    assert broken(tmp_path, KERNEL.format(statement=half + rest)) == {"ppl-operand-layout"}


def test_which_steps_a_real_shape_has_is_not_documented(tmp_path: Path) -> None:
    text = """\
# tilelint: contract (out_ptr: fp16[1, 9, 4, 20], src_ptr: fp16[1, 9, 5, 20])
@ppl.jit
def real(out_ptr, src_ptr):
    a = pl.make_tensor([1, 9, 5, 32], pl.float16, [1, 9, 5, 20])
    b = pl.make_tensor([1, 9, 4, 20], pl.float16)
    source = pl.gtensor([1, 9, 5, 20], pl.GLOBAL, src_ptr)
    pl.dma.load(a, source)
    pl.tiu.pool_max(b, {part}, [2, 1], [0, 0, 0, 0], [1, 1], [1, 1])
    target = pl.gtensor([1, 9, 4, 20], pl.GLOBAL, out_ptr)
    pl.dma.store(target, b)
"""
    assert rules(check(tmp_path, text.format(part="a"), "bm1684x")) == {}
    taken = text.format(part="a.sub_view([1, 9, 5, 20], [0, 0, 0, 0])")
    assert rules(check(tmp_path, taken, "bm1684x")) == {}
    second = text.replace("pl.float16, [1, 9, 5, 20]", "pl.float16, [1, 9, 6, 20]").replace(
        "pl.make_tensor([1, 9, 5, 32]", "pl.make_tensor([1, 9, 6, 32]"
    )
    second = second.replace("dma.load(a,", "dma.load(a.sub_view([1, 9, 5, 20], [0, 0, 0, 0]),")
    found = one(
        check(tmp_path, second.format(part="a.sub_view([1, 9, 5, 20], [0, 0, 0, 0])"), "bm1684x"),
        "ppl-operand-layout",
    )
    assert found.verdict == "unknown"
