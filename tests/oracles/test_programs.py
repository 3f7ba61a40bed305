"""Generated programs: the check says of each what CPython does, or that it does not know."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from tests.oracles.differential import smallest
from tests.oracles.judging import judge
from tests.oracles.programs import FEATURES, Program, numbered, outcomes, programs

#: groups of features on which both agree
GROUPS = FEATURES
#: programs of each form: on concrete and on symbolic inputs
_COUNT = 30
#: the part of all of them that may be undecided
_UNKNOWN = 0.1


def _fixed(count: int) -> settings:
    """Always the same programs; they are made smaller by lines, not by Hypothesis."""
    return settings(
        max_examples=count,
        derandomize=True,
        database=None,
        deadline=None,
        phases=(Phase.generate,),
        suppress_health_check=list(HealthCheck),
    )


def test_agreement() -> None:
    kinds: Counter[str] = Counter()

    def agrees(program: Program) -> None:
        judgement = judge(program)
        kinds[judgement.kind] += 1
        if judgement.disagrees:
            small = judge(smallest(program, judgement))
            pytest.fail(
                f"{small.kind}\nright: {small.right}\nsaid:  {small.said}\n\n{small.text}",
                pytrace=False,
            )

    for symbolic in (False, True):
        _fixed(_COUNT)(given(programs(GROUPS, symbolic=symbolic))(agrees))()
    assert kinds["void"] <= kinds.total() / 20
    assert kinds["unknown"] <= _UNKNOWN * kinds.total()


@pytest.mark.parametrize("feature", FEATURES)
def test_feature_runs(feature: str) -> None:
    """Every group makes programs that most often run through under CPython, for every input."""
    made = [
        numbered(seed, (feature,), symbolic) for seed in range(10) for symbolic in (False, True)
    ]
    kinds = [{outcome.kind for _, outcome in outcomes(program)} for program in made]
    assert sum(one == {"done"} for one in kinds) >= len(made) / 2
    assert not any("endless" in one for one in kinds)


def test_same_seed_same_program() -> None:
    assert numbered(7, symbolic=True) == numbered(7, symbolic=True)
    assert numbered(7) != numbered(8)
