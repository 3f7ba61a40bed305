"""Which places windows take, against going through all windows."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.sweeps import examples
from verifier.dialects.windows import Sliding
from verifier.symbolic import expr as E

_SMALL = st.integers(1, 4)


@given(
    size=st.integers(1, 12),
    kernel=st.integers(1, 5),
    step=_SMALL,
    hole=_SMALL,
    before=st.integers(0, 3),
    after=st.integers(0, 3),
    spread=st.integers(1, 3),
)
@settings(max_examples=examples(400), deadline=None)
def test_what_windows_take(
    size: int, kernel: int, step: int, hole: int, before: int, after: int, spread: int
) -> None:
    values = (size, kernel, step, hole, before, after, spread)
    sliding = Sliding(*map(E.const, values))
    total = before + (size - 1) * spread + 1 + after
    reach = (kernel - 1) * hole + 1
    if total < reach:
        return
    begins = range(0, total - reach + 1, step)
    assert sliding.windows is E.const(len(begins))
    taken = {begin + k * hole for begin in begins for k in range(kernel)}
    for index in range(size):
        expected = before + index * spread in taken
        assert sliding.takes(E.const(index)) is E.truth(expected), index


def test_windows_that_overlap_take_all() -> None:
    size, index = E.symbol("size", 1), E.symbol("index", 0)
    assert Sliding(size, E.const(3)).takes(index) is E.TRUE
    assert Sliding(size, E.const(3), E.const(2), after=E.const(1)).takes(index) is E.TRUE
    assert Sliding(size, E.symbol("kernel", 1), hole=E.const(2)).takes(index) is None
