"""At least 95% of single-token mistakes in the good fixtures are caught.

The normal run takes a third of the classes for each fixture, one mutant of each;
``TILELINT_MUTATION=all`` takes all of them (a minute or two). ``-s`` shows the table and the
survivors.
"""

from __future__ import annotations

import os

import pytest

from tests.fixtures.support import good
from tests.mutation.measure import measure
from tests.mutation.mutate import CLASSES, mutants

_ALL = os.environ.get("TILELINT_MUTATION") == "all"


def test_mutations_are_caught(capsys: pytest.CaptureFixture[str]) -> None:
    score = measure(1000) if _ALL else measure(1, every=6)
    if _ALL:
        with capsys.disabled():
            print("\n" + score.table())
    else:
        print(score.table())
    assert not score.wronged
    assert score.share() >= 0.95, score.table()


@pytest.mark.parametrize("kind", CLASSES)
def test_mutants_are_chosen_the_same_each_time(kind: str) -> None:
    for path in good("nki"):
        text = path.read_text(encoding="utf-8")
        once = mutants(text, path.stem, kind, 3)
        assert once == mutants(text, path.stem, kind, 3)
        assert len(once) <= 3
        assert all(m.text != text for m in once)
        assert all(m.text.count("\n") == text.count("\n") for m in once)


def test_every_class_has_mutants() -> None:
    for kind in CLASSES:
        assert any(mutants(p.read_text(encoding="utf-8"), p.stem, kind, 1) for p in good("nki"))
