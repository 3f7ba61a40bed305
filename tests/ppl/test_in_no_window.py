"""Rows of an image that lie in no window are not read, in pools and convolutions of PPL."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ppl.support import check, rules
from tests.tpu_executor.test_command import run

_KERNEL = """\
# tilelint: contract (out_ptr: fp16[{made}], x_ptr: fp16[{loaded}])
@ppl.jit
def slid(out_ptr, x_ptr):
    source = pl.gtensor([{loaded}], pl.GLOBAL, x_ptr)
    target = pl.gtensor([{made}], pl.GLOBAL, out_ptr)
    image = pl.make_tensor([{image}], pl.float16)
    result = pl.make_tensor([{made}], pl.float16)
    pl.dma.load(image.sub_view([{loaded}], [0, 0, 0, 0]), source)
    pl.tiu.{function}
    pl.dma.store(target, result)
"""
_POOL = "pool_max(result, image, {}, {}, [2, 2], [1, 1])"
_CONV = "fconv(result, image, 0.125, [3, 3], {}, {}, [0, 0, 0, 0], oc=40, out_dtype=pl.float16)"
_ROWS = "1, 24, 9, 12"


@pytest.mark.parametrize(
    ("loaded", "image", "made", "function", "right"),
    [
        (_ROWS, "1, 24, 10, 12", "1, 24, 4, 6", _POOL.format([3, 2], [0, 0, 0, 0]), True),
        (_ROWS, "1, 24, 10, 12", "1, 24, 5, 6", _POOL.format([2, 2], [0, 0, 0, 0]), False),
        (_ROWS, "1, 24, 10, 12", "1, 24, 5, 6", _POOL.format([3, 2], [0, 1, 0, 0]), False),
        (_ROWS, "1, 24, 9, 13", "1, 24, 4, 6", _POOL.format([2, 2], [0, 0, 0, 0]), True),
        (_ROWS, "1, 24, 10, 12", "1, 40, 4, 10", _CONV.format([2, 1], [1, 1]), True),
        (_ROWS, "1, 24, 10, 12", "1, 40, 8, 10", _CONV.format([1, 1], [1, 1]), False),
        # taps two rows apart, every second row: the even ones
        (_ROWS, "1, 24, 10, 12", "1, 40, 3, 10", _CONV.format([2, 1], [2, 1]), True),
        (_ROWS, "1, 24, 11, 12", "1, 40, 4, 10", _CONV.format([2, 1], [2, 1]), False),
    ],
)
def test_what_windows_leave_out(
    loaded: str, image: str, made: str, function: str, right: bool, tmp_path: Path
) -> None:
    text = _KERNEL.format(loaded=loaded, image=image, made=made, function=function)
    found = rules(check(tmp_path, text))
    assert found == ({} if right else {"uninitialised-read": "always"})
    for options in ((), ("--shapes-only",)):
        inputs = ("--arg", f"out_ptr=fp16[{made}]", "--arg", f"x_ptr=fp16[{loaded}]", *options)
        path = f"{tmp_path / 'kernel.py'}::slid"
        found_in_run = run(path, "--target", "bm1690", *inputs)
        assert found_in_run.exit_code == (0 if right else 1), found_in_run.output
