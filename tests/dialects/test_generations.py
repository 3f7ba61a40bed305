"""What generations of an API have otherwise than others: properties, and which is later."""

from __future__ import annotations

import pytest

from verifier.dialects.nki.versions import DESCRIBED, GENERATIONS, newer
from verifier.dialects.registry import DIALECTS


@pytest.mark.parametrize("name", GENERATIONS)
def test_a_generation_knows_which_ones_it_comes_after(name: str) -> None:
    generation = DESCRIBED[name]
    assert [generation.at_least(other) for other in GENERATIONS] == [
        newer(name, other) for other in GENERATIONS
    ]
    assert generation.at_least("")


def test_what_ended_with_beta_1_does_not_come_back() -> None:
    for kept in ("reorders", "sums_by_operator", "fits_tiles", "scoped"):
        assert [getattr(DESCRIBED[name], kept) for name in GENERATIONS] == [True] + 5 * [False]
    for kept in ("fits_language", "fits_transfers", "hbm_returned"):
        assert [getattr(DESCRIBED[name], kept) for name in GENERATIONS] == 2 * [True] + 4 * [False]


def test_every_dialect_says_of_each_generation_what_it_is() -> None:
    for dialect in DIALECTS.values():
        assert [*dialect.generations] == [g.name for g in dialect.generations.values()]
        returning = {g.returns for g in dialect.generations.values()}
        assert returning == {not dialect.numbers_only}
