"""Rows and columns of an image that lie in no window are not read: they need not be written."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.apart import mark
from tests.okk.support import check
from tests.tpu_executor.test_command import run

_KERNEL = """
# tilelint: contract (y: fp32[{made}], x: fp32[2, 44, 20, 20])
@okk.kernel
def slid(y: okk.SystemAddr, x: okk.SystemAddr):
    okk.initialize()
    lies = okk.aligned_stride_32bit(0, okk.dim4({image}))
    given = okk.dim4(17600, 400, 20, 1)
    {load}
    okk.bdc_{function}
    okk.gdma_32bit_cpy_L2S(y, 65536, okk.dim4({made}), None, None)
    okk.poll()
"""
_FIRST = "okk.gdma_32bit_cpy_S2L(0, x, okk.dim4({}), lies, given)"
#: {} rows after every {} rows
_BLOCKS = (
    "for i in range({}):\n"
    "        okk.gdma_32bit_cpy_S2L(i * {} * 64, x + i * {} * 80, "
    "okk.dim4(1, 44, {}, 16), lies, given)"
)
_TAPS = "okk.gdma_32bit_cpy_S2L(131072, x, okk.dim4(1, 44, 2, 3), okk.dim4(6, 6, 3, 1), None)"


def pool(image: str, kernel: str, padding: str = "None", stride: str = "None") -> str:
    return f"max_pool2d(65536, 0, okk.dim4({image}), {kernel}, {padding}, {stride})"


def taps(stride: str) -> str:
    image = "okk.dim4(1, 44, 7, 16)"
    return f"depthwise2d(65536, 0, 131072, 0, {image}, 2, 3, False, None, {stride}, okk.dim2(2, 1))"


@pytest.mark.parametrize(
    ("image", "load", "function", "made", "right"),
    [
        # the last of seven rows
        ("1, 44, 7, 16", "1, 44, 6, 16", ("2, 2", "None", "okk.dim2(2, 2)"), "1, 44, 3, 8", True),
        ("1, 44, 7, 16", "1, 44, 5, 16", ("2, 2", "None", "okk.dim2(2, 2)"), "1, 44, 3, 8", False),
        ("1, 44, 7, 16", "1, 44, 6, 16", ("3, 2", "None", "okk.dim2(2, 2)"), "1, 44, 3, 8", False),
        # padding below puts it into a window
        (
            "1, 44, 7, 16",
            "1, 44, 6, 16",
            ("2, 2", "okk.Padding(0, 1, 0, 0)", "okk.dim2(2, 2)"),
            "1, 44, 4, 8",
            False,
        ),
        # padding above moves the windows
        (
            "1, 44, 7, 16",
            "1, 44, 6, 16",
            ("2, 2", "okk.Padding(1, 0, 0, 0)", "okk.dim2(2, 2)"),
            "1, 44, 4, 8",
            False,
        ),
        # columns
        ("2, 44, 6, 17", "2, 44, 6, 15", ("2, 3", "None", "okk.dim2(2, 3)"), "2, 44, 3, 5", True),
        ("2, 44, 6, 17", "2, 44, 6, 14", ("2, 3", "None", "okk.dim2(2, 3)"), "2, 44, 3, 5", False),
        # every third row
        (
            "1, 44, 11, 16",
            _BLOCKS.format(4, 3, 3, 2),
            ("2, 16", "None", "okk.dim2(3, 1)"),
            "1, 44, 4, 1",
            True,
        ),
        (
            "1, 44, 11, 16",
            _BLOCKS.format(4, 3, 3, 2),
            ("3, 16", "None", "okk.dim2(3, 1)"),
            "1, 44, 3, 1",
            False,
        ),
        # two rows apart, every second row: the even ones
        ("1, 44, 7, 16", _BLOCKS.format(4, 2, 2, 1), "okk.dim2(2, 1)", "1, 44, 3, 14", True),
        ("1, 44, 7, 16", _BLOCKS.format(4, 2, 2, 1), "okk.dim2(1, 1)", "1, 44, 5, 14", False),
    ],
)
def test_what_windows_leave_out(
    image: str,
    load: str,
    function: tuple[str, ...] | str,
    made: str,
    right: bool,
    tmp_path: Path,
) -> None:
    used = pool(image, *function) if isinstance(function, tuple) else taps(function)
    loaded = load if load.startswith("for") else _FIRST.format(load)
    loaded = loaded if isinstance(function, tuple) else f"{_TAPS}\n    {loaded}"
    text = _KERNEL.format(image=image, load=loaded, function=used, made=made)
    result = check(tmp_path, text)
    expected = set() if right else {"okk-uninitialised-read"}
    assert {d.rule for d in result.diagnostics} == expected, result.diagnostics
    assert [k.status for k in result.kernels] == ["verified" if right else "violated"]
    assert {d.replay for d in mark([result], jobs=1)[0].diagnostics} <= {"confirmed"}
    for options in ((), ("--shapes-only",)):
        inputs = ("--arg", f"y=fp32[{made}]", "--arg", "x=fp32[2, 44, 20, 20]", *options)
        assert run(f"{tmp_path / 'kernel.py'}::slid", *inputs).exit_code == (0 if right else 1)


def test_of_an_odd_number_of_rows_the_last_one_is_not_needed(tmp_path: Path) -> None:
    result = check(
        tmp_path,
        """
@okk.kernel
def halved(h: int, y: okk.SystemAddr, x: okk.SystemAddr):
    assert 2 <= h <= 60
    okk.initialize()
    okk.gdma_32bit_cpy_S2L(0, x, okk.dim4(1, 44, h - 1, 16), None, None)
    okk.bdc_max_pool2d(8192, 0, okk.dim4(1, 44, h, 16), 2, 2, None, okk.dim2(2, 2))
    okk.gdma_32bit_cpy_L2S(y, 8192, okk.dim4(1, 44, h // 2, 8), None, None)
    okk.poll()
""",
    )
    (kernel,) = result.kernels
    assert kernel.precondition is not None and kernel.precondition.exact
    assert [each.text for each in kernel.precondition.conjuncts] == ["h % 2 == 1"]
