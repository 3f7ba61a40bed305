"""What is undefined and goes round in loops, against a run of drawn kernels place by place.

Whole tensors are loaded, copied, added and stored, in places that are plain or taken in turn, some
of it in some rounds only. Then each place is defined or it is not, and a set of places tells which.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from tests.fixtures.support import check
from tests.sweeps import thinned

_PLACES: Final = 5
#: places of a step: the one that it writes, or stores, comes first
_CALLS: Final = {
    "load": "okk.gdma_32bit_cpy_S2L({0}, x, shape, None, None)",
    "copy": "okk.bdc_32bit_cpy({0}, {1}, shape, None, None)",
    "add": "okk.bdc_add({0}, {1}, {2}, shape, None, None, None)",
    "store": "okk.gdma_32bit_cpy_L2S(y, {0}, shape, None, None)",
}


class Step(NamedTuple):
    call: str
    places: tuple[str, ...]
    condition: str = "True"

    def line(self) -> str:
        return _CALLS[self.call].format(*(f"({place}) * 4096" for place in self.places))


class Drawn(NamedTuple):
    before: list[Step]
    body: list[Step]
    after: list[Step]
    #: the fewest and the most rounds
    rounds: tuple[int, int]

    def text(self, name: str) -> str:
        low, high = self.rounds
        lines = [
            "# tilelint: contract (x: fp32[1, 40, 60], y: fp32[1, 40, 60], t: T)",
            "@okk.kernel",
            f"def {name}(x: okk.SystemAddr, y: okk.SystemAddr, t: int):",
            f"    assert t == {low}" if low == high else f"    assert {low} <= t <= {high}",
            "    okk.initialize()",
            "    shape = okk.dim4(1, 40, 1, 60)",
            *(f"    {step.line()}" for step in self.before),
            f"    for i in range({low if low == high else 't'}):",
        ]
        for step in self.body:
            lines += [f"        if {step.condition}:", f"            {step.line()}"]
        lines += [f"    {step.line()}" for step in self.after]
        return "\n".join([*lines, "    okk.poll()", "", ""])

    def stores_garbage(self) -> bool:
        """For some number of rounds."""
        low, high = self.rounds
        return any(self._stores_garbage(rounds) for rounds in range(low, high + 1))

    def _stores_garbage(self, rounds: int) -> bool:
        defined: set[int] = set()
        stored = [_done(step, {}, defined) for step in self.before]
        for i in range(rounds):
            at = {"i": i, "t": rounds}
            stored += [_done(s, at, defined) for s in self.body if eval(s.condition, {}, dict(at))]
        stored += [_done(step, {}, defined) for step in self.after]
        return not all(stored)


def _done(step: Step, at: Mapping[str, int], defined: set[int]) -> bool:
    """Whether a step stores nothing that is undefined; ``defined`` goes on."""
    first, *sources = (eval(place, {}, dict(at)) for place in step.places)
    if step.call == "store":
        return first in defined
    (defined.add if all(each in defined for each in sources) else defined.discard)(first)
    return True


def drawn(rng: random.Random) -> Drawn:
    turns = rng.choice([1, 1, 2, 3])

    def place() -> str:
        if turns > 1 and rng.random() < 0.4:
            return f"(i + {rng.randrange(turns)}) % {turns}"
        return str(rng.randrange(_PLACES))

    def step() -> Step:
        call = rng.choice(["load", "copy", "copy", "copy", "add", "add", "store"])
        count = {"copy": 2, "add": 3}.get(call, 1)
        conditions = ["i == 0", "i > 0", "i == 1", f"i % {max(2, turns)} == 0", "i + 1 < t"]
        condition = rng.choice(conditions) if rng.random() < 0.25 else "True"
        return Step(call, tuple(place() for _ in range(count)), condition)

    before = [Step("load", (str(at),)) for at in range(_PLACES) if rng.random() < 0.5]
    body = [step() for _ in range(rng.randint(2, 6))]
    low = rng.choice([1, 3, 12, 20])
    rounds = (low, low + rng.choice([0, 0, 2, 9, 30]))
    return Drawn(before, body, [Step("store", (str(rng.randrange(_PLACES)),))], rounds)


@pytest.mark.parametrize("seed", range(6 // thinned(1)))
def test_drawn_loops(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    kernels = {f"kernel_{number}": drawn(rng) for number in range(8)}
    path = tmp_path / "kernels.py"
    texts = [kernel.text(name) for name, kernel in kernels.items()]
    path.write_text("\n\n".join(["import okk\n", *texts]), encoding="utf-8")
    result = check(path)
    assert not result.errors and len(result.kernels) == len(kernels)
    told: dict[str, set[str]] = {name: set() for name in kernels}
    for found in result.diagnostics:
        if found.rule in ("okk-uninitialised-read", "precondition"):
            told[found.kernel or ""].add(found.verdict)
    for name, kernel in kernels.items():
        if told[name] != {"unknown"}:
            assert bool(told[name]) is kernel.stores_garbage(), kernel.text(name)
    undecided = [name for name, verdicts in told.items() if verdicts == {"unknown"}]
    assert len(undecided) <= 2
