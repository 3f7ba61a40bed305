"""NKI's own objects: a field for each annotated name."""

from __future__ import annotations

import pytest

from tests.python.programs import RECORD_IMPORTS
from tests.python.support import NoDialect, Outcome, machine, run
from verifier.symbolic.values import ApiRef


class _Nki(NoDialect):
    """A dialect that has the base class of NKI's objects."""

    def root(self, dotted: str) -> object | None:
        return ApiRef("language.NKIObject") if dotted == "nki.language.NKIObject" else None


def nki(program: str) -> Outcome:
    """What comes of ``run()`` where NKI's rules hold."""
    return run(
        machine(RECORD_IMPORTS + "from nki.language import NKIObject\n" + program, _Nki()), "run()"
    )


def test_every_field_is_an_optional_parameter() -> None:
    outcome = nki(
        """
@dataclass
class Cut(NKIObject):
    width: int = 4
    height: int
    names = ("a", "b")
    found: list = field(default_factory=list)
    def __post_init__(self):
        self.area = self.width * (self.height or 1)
    def twice(self): return self.area * 2
    @staticmethod
    def make(): return Cut(2, 3)
class Loose(NKIObject):
    left: int
    right: int
class Sub(Loose):
    more = 5
def run():
    cut, pair, sub = Cut(height=3), Loose(1), Sub(1, 2)
    pair.extra = 4
    a, b = Cut(), Cut()
    a.found.append(1)
    return (
        cut.area, cut.found, cut.names, Cut().height, Cut(5, 2).area, pair.right, pair.extra,
        b.found, cut.twice(), Cut.make().area, sub.left, sub.right, sub.more,
        isinstance(sub, Loose),
        Loose(other=5).other,
    )
"""
    )
    assert not outcome.skipped and not outcome.ended
    expected: object = (12, [], ("a", "b"), None, 10, None, 4, [], 24, 6, 1, 2, 5, True, 5)
    assert outcome.host == expected


def test_a_constructor_of_one_s_own_is_used() -> None:
    outcome = nki(
        """
class Own(NKIObject):
    x: int
    def __init__(self, v):
        self.x, self.y = v, v + 1
def run(): return Own(3).x, Own(v=3).y
"""
    )
    assert outcome.host == (3, 4)


@pytest.mark.parametrize("call", ["Loose(1, 2)", "Loose(1, x=2)"])
def test_too_many_values(call: str) -> None:
    outcome = nki(f"class Loose(NKIObject):\n    x: int\ndef run(): return {call}")
    assert outcome.error is TypeError


def test_a_field_that_is_changed_is_not_followed() -> None:
    program = "class Tiling(NKIObject):\n    rows = 3\ndef run():\n    made = Tiling()\n    {}\n"
    assert nki(program.format("return made.rows")).host == 3
    assert nki(program.format("Tiling.rows = 7; return made.rows")).skipped
    assert nki(program.format("Tiling.other = 7; return made.other")).host == 7
