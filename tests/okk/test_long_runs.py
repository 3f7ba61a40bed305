"""What is wrong at the end of a run is found however many operations went before."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.sweeps import part
from verifier.cli.main import main

KERNEL = """\
from dataclasses import dataclass
import okk


@dataclass
class Params:
    output: okk.SystemAddr
    data: okk.SystemAddr
    trips: int
    width: int


@okk.kernel(Params)
def blend(args):
    okk.initialize()
    shape = okk.dim4(1, 64, 3, args.width)
    {before}
    for i in range(args.trips):
        okk.gdma_32bit_cpy_S2L(0, args.data, shape, None, None)
        okk.gdma_32bit_cpy_L2S(args.output, 0, shape, None, None)
    {after}
    okk.gdma_32bit_cpy_S2L(0, args.data, shape, None, None)
    okk.gdma_32bit_cpy_S2L(384, args.data, shape, None, None)
    okk.bdc_add(4096, 0, 384, shape, None, None, None)
    okk.gdma_32bit_cpy_L2S(args.output, 4096, shape, None, None)
    okk.poll()
"""
PLAIN = {"before": "pass", "after": "pass"}
#: the section begins long before what is looked at
PARALLEL = {"before": "okk.parallel_start()", "after": "okk.parallel_end()"}


@pytest.mark.parametrize("around", [PLAIN, PARALLEL], ids=["plain", "parallel"])
@pytest.mark.parametrize("trips", [3, 97, 100, 140])
@pytest.mark.parametrize(("width", "overlap"), [(32, False), (33, True)])
def test_the_last_operations_are_judged(
    width: int,
    overlap: bool,
    trips: int,
    around: dict[str, str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = tmp_path / "kernel.py"
    path.write_text(KERNEL.format(**around), encoding="utf-8")
    given = [f"--arg={name}=fp32[64,{3 * width}]" for name in ("output", "data")]
    given += [f"--arg=trips={trips}", f"--arg=width={width}"]
    ended = main(["run", f"{path}::blend", *given, "--shapes-only"])
    said = capsys.readouterr().out
    assert ("okk-live-overlap" in said) is overlap, said
    assert ended == (1 if overlap else 0)


STEPS = """\
import okk


@okk.kernel
def steps(y: okk.SystemAddr, x: okk.SystemAddr, trips: int, late: int):
    shape = okk.dim4(1, 64, 3, 8)
    {begin}
    for i in range(trips):
        okk.parallel_start()
        okk.gdma_32bit_cpy_S2L(0, x, shape, None, None)
        {body}
        okk.parallel_end()
        okk.gdma_32bit_cpy_L2S(y, 0, shape, None, None)
    {end}
"""
RIGHT = {"begin": "okk.initialize()", "body": "pass", "end": "okk.poll()"}
FAULTS = [
    ({}, ""),
    ({"begin": "pass"}, "okk-missing-poll"),
    ({"end": "pass"}, "okk-missing-poll"),
    (
        {"end": "okk.poll()\n    okk.gdma_32bit_cpy_L2S(y, 0, shape, None, None)"},
        "okk-missing-poll",
    ),
    ({"end": "okk.parallel_start()"}, "okk-parallel-nesting"),
    ({"end": "okk.parallel_end()\n    okk.poll()"}, "okk-parallel-nesting"),
    (
        {"body": "if i == trips - 1:\n            okk.bdc_neg(4096, 0, shape, None, None)"},
        "okk-parallel-race",
    ),
    (
        # the two are apart by more operations than are kept otherwise
        {
            "body": "if i == trips - 1:\n"
            "            okk.bdc_32bit_set_C(9216, okk.x32.fp32(0.0), shape, None)\n"
            "            for k in range(late):\n"
            "                okk.gdma_32bit_cpy_S2L(k % 9 * 1024, x, shape, None, None)\n"
            "            okk.gdma_32bit_cpy_S2L(9216, x, shape, None, None)"
        },
        "okk-parallel-race",
    ),
]


#: each fault with each number of trips
JUDGED: list[tuple[int, dict[str, str], str]] = [
    (trips, change, rule) for change, rule in FAULTS for trips in (2, 25, 60)
]
SOME: list[tuple[int, dict[str, str], str]] = part(
    JUDGED, 1, lambda case: [str(case[1]), (case[0], case[2] == "")]
)


@pytest.mark.parametrize(("trips", "change", "rule"), SOME)
def test_the_order_of_a_long_run_is_judged(
    trips: int,
    change: dict[str, str],
    rule: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = tmp_path / "kernel.py"
    path.write_text(STEPS.format(**{**RIGHT, **change}), encoding="utf-8")
    given = [f"--arg={name}=fp32[64,3,8]" for name in "yx"]
    given += [f"--arg=trips={trips}", "--arg=late=250"]
    ended = main(["run", f"{path}::steps", *given, "--shapes-only"])
    said = capsys.readouterr().out
    assert (f"error[{rule}]" in said) if rule else ended == 0, said


TAIL = """\
import okk


@okk.kernel
def moved(y: okk.SystemAddr, x: okk.SystemAddr, trips: int):
    okk.initialize()
    for i in range(trips):
        shape = okk.dim4(1, 20, 1, 10)
        okk.gdma_32bit_cpy_S2L(0, x + i * 800, shape, None, None)
        okk.gdma_32bit_cpy_L2S(y + i * 800, 0, shape, None, None)
    shape = okk.dim4(1, 1, 1, 70)
    okk.gdma_32bit_cpy_S2L(0, x + {at}, shape, None, None)
    okk.gdma_32bit_cpy_L2S(y + {at}, 0, shape, None, None)
    okk.poll()
"""


@pytest.mark.parametrize("trips", [3, 60, 450])
@pytest.mark.parametrize(("at", "again"), [("trips * 800", False), ("(trips - 1) * 800", True)])
def test_what_is_stored_again_at_the_end(
    at: str, again: bool, trips: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "kernel.py"
    path.write_text(TAIL.format(at=at), encoding="utf-8")
    given = [f"--arg={name}=fp32[{trips * 200 + 70}]" for name in "yx"]
    main(["run", f"{path}::moved", *given, f"--arg=trips={trips}", "--shapes-only"])
    said = capsys.readouterr().out
    assert ("okk-written-twice" in said) is again, said
    assert "not looked at" not in said


WIDE = """\
import ppl
import ppl.language as pl


@ppl.jit
def doubled(y_ptr, x_ptr, n: pl.constexpr, trips):
    x = pl.gtensor([1, 1, 1, n], pl.GLOBAL, x_ptr)
    y = pl.gtensor([1, 1, 1, n], pl.GLOBAL, y_ptr)
    for i in range(trips):
        part = pl.make_tensor([1, 1, 1, 40], pl.{dtype})
        pl.tiu.zero(part)
    whole = pl.make_tensor([1, 1, 1, n], pl.int8)
    pl.dma.load(whole, x)
    pl.dma.store(y, whole)
"""


@pytest.mark.parametrize("trips", [3, 120])
@pytest.mark.parametrize(
    ("n", "dtype", "rule"),
    [
        (65535, "int8", ""),
        (65536, "int8", "ppl-size-range"),
        (90, "float8e4", "ppl-chip-dtype"),
    ],
)
def test_sizes_and_types_of_a_long_run(
    n: int, dtype: str, rule: str, trips: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "kernel.py"
    path.write_text(WIDE.format(dtype=dtype), encoding="utf-8")
    given = [f"--arg={name}_ptr=int8[{n}]" for name in "yx"]
    given += [f"--arg=n={n}", f"--arg=trips={trips}"]
    main(["run", f"{path}::doubled", *given, "--shapes-only"])
    said = capsys.readouterr().out
    assert (f"error[{rule}]" in said) if rule else "no violations" in said, said
