"""Views of local memory with steps given by hand show the elements that the steps say."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ppl.support import check, rules

_KERNEL = """\
# tilelint: contract (out_ptr: fp32[{stored}], src_ptr: fp32[{loaded}])
@ppl.jit
def stepped(out_ptr, src_ptr):
    source = pl.gtensor([{loaded}], pl.GLOBAL, src_ptr)
    target = pl.gtensor([{stored}], pl.GLOBAL, out_ptr)
    block = pl.make_tensor([1, 20, 6, 10], pl.float32)
    pl.dma.load(block.{to}, source)
    pl.dma.store(target, block.{of})
"""
_ROWS = "1, 20, 3, 10"
_FIRST = f"sub_view([{_ROWS}], [0, 0, 0, 0])"
_SECOND = f"sub_view([{_ROWS}], [0, 0, 0, 0], [64, 64, 20, 1])"
_AGAIN = f"sub_view([{_ROWS}], [0, 0, 0, 0], [64, 64, 0, 1])"
_COLUMNS = "sub_view([1, 20, 6, 5], [0, 0, 0, 0], [64, 64, 10, 2])"


@pytest.mark.parametrize(
    ("loaded", "to", "stored", "of", "expected"),
    [
        (_ROWS, _FIRST, _ROWS, _FIRST, set()),
        (_ROWS, _FIRST, _ROWS, _SECOND, {"uninitialised-read"}),
        (_ROWS, _SECOND, _ROWS, _SECOND, set()),
        (_ROWS, _SECOND, _ROWS, _FIRST, {"uninitialised-read"}),
        ("1, 20, 1, 10", "sub_view([1, 20, 1, 10], [0, 0, 0, 0])", _ROWS, _AGAIN, set()),
        ("1, 20, 6, 10", "view()", "1, 20, 6, 5", _COLUMNS, set()),
        (
            "1, 20, 6, 8",
            "sub_view([1, 20, 6, 8], [0, 0, 0, 0])",
            "1, 20, 6, 5",
            _COLUMNS,
            {"uninitialised-read"},
        ),
    ],
)
def test_the_elements_of_steps(
    tmp_path: Path, loaded: str, to: str, stored: str, of: str, expected: set[str]
) -> None:
    text = _KERNEL.format(loaded=loaded, to=to, stored=stored, of=of)
    assert set(rules(check(tmp_path, text, "bm1684x"))) == expected


def test_steps_that_are_none_of_the_tensor_are_open(tmp_path: Path) -> None:
    close = "sub_view([1, 20, 6, 10], [0, 0, 0, 0], [64, 64, 9, 1])"
    whole = "1, 20, 6, 10"
    text = _KERNEL.format(loaded=whole, to="view()", stored=whole, of=close)
    (kernel,) = check(tmp_path, text, "bm1684x").kernels
    assert kernel.status == "unknown"
