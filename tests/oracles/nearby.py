"""Inputs near the bounds of a precondition, on both sides of them."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.oracles.drawing import MOST, SIZES, Inputs, elements
from verifier.solver.query import Model
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Sym
from verifier.symbolic.pretty import pretty

#: how far from a bound the solver is to find inputs
_NEAR = (0, 0, 1, 127, 4096)
#: how far numbers are moved at once, and by how many such steps they miss a bound
_STEPS = (1, 1, -1, -1, 2, 32, 64, 128, -128, 512)
_MISSES = (-1, 0, 0, 1, -1, 0, 0, 1, -2, 2, -5, 7, 31)
_FARTHEST = 1 << 20
#: demands that are met again after a number has been moved; inputs tried for each wanted one, and
#: however few are wanted
_REPAIRS, _TRIES, _LEAST = 6, 40, 4000


@dataclass(frozen=True, slots=True)
class Side:
    """Whether an input meets the precondition, and which conditions it breaks."""

    inside: bool
    broken: str = ""


@dataclass(frozen=True, slots=True)
class Bounds:
    """The parts of a precondition: what is ``said`` of the inputs before it, and what is
    ``wanted``, in an order in which it can be evaluated; ``unseen``: of these the ones whose breach
    no run shows."""

    said: tuple[Bool, ...]
    wanted: tuple[Bool, ...]
    unseen: frozenset[Bool] = frozenset()

    def side(self, rng: random.Random) -> tuple[Bool, ...]:
        """What holds on a side that is drawn, near one of the conditions."""
        condition, near = rng.choice(self.wanted), rng.choice(_NEAR)
        if condition in self.unseen or rng.random() < 0.5:
            return (*self.wanted, *_within(condition, near))
        broken = E.not_(condition)
        others = (other for other in self.wanted if other is not condition)
        return (*others, broken, *_within(broken, near))

    def of(self, model: Model) -> Side | None:
        """The side of an input; None: it is not admitted, or nothing is said of it."""
        if any(holds(fact, model) is not True for fact in self.said):
            return None
        broken: list[Bool] = []
        for condition in self.wanted:
            met = holds(condition, model)
            if met is None and not broken:
                return None
            if met is False:
                broken.append(condition)
        if self.unseen.intersection(broken):
            return None
        return Side(not broken, ", ".join(map(pretty, broken)))


def holds(condition: Bool, model: Model) -> bool | None:
    """Whether numbers meet a condition; None: it has no value for them."""
    try:
        return bool(E.evaluate(condition, model))
    except E.EvaluationError:
        return None


def _within(condition: Bool, near: int) -> tuple[Bool, ...]:
    """What holds of inputs that are ``near`` to the bound of a comparison."""
    if condition.kind is not E.BoolKind.LE or condition.expr is None:
        return ()
    return (E.ge(condition.expr, -near),)


@dataclass(slots=True)
class Walk:
    """Inputs that are found one from the other: something is changed, one number is moved to where
    a condition starts or ceases to hold, or beside there, and what the kernel demands is met again.

    ``pool`` are inputs to begin with; ``most``: elements that the tensors of an input may have.
    """

    inputs: Inputs
    bounds: Bounds
    rng: random.Random
    pool: list[Model] = field(default_factory=list)
    most: int = MOST
    _seen: set[str] = field(default_factory=set)

    def seed(self, limit: int) -> bool:
        """Let the solver find one more input to begin with; whether there is one."""
        self.inputs.facts = (*self.bounds.said, *self.bounds.side(self.rng))
        model = self.inputs.model(self.rng, limit)
        if model is not None:
            self.pool.append(model)
        return model is not None

    def draw(self, wanted: Mapping[bool, int]) -> Iterator[tuple[Side, Mapping[str, Any]]]:
        """So many new inputs inside (True) and outside; more of one where the other has too few."""
        left = dict(wanted)
        fresh = list(self.pool)
        total = sum(left.values())
        tries = max(_TRIES * total, _LEAST) if self.pool else 0
        for turn in range(tries):
            model = fresh.pop() if fresh else self._near(self.rng.random() < 0.5)
            side = self.bounds.of(model)
            if side is None:
                continue
            if left[side.inside] <= 0:
                if turn < tries // 2 or wanted[side.inside] == 0:
                    continue
                left[not side.inside] -= 1
                left[side.inside] += 1
            given = self.inputs.given(model)
            if given is None or elements(given) > self.most or repr(given) in self._seen:
                continue
            self._seen.add(repr(given))
            self.pool.append(model)
            left[side.inside] -= 1
            yield side, given
            if max(left.values()) <= 0 or sum(left.values()) <= 0:
                return

    def _near(self, inside: bool) -> Model:
        model = dict(self.rng.choice(self.pool))
        for _ in range(self.rng.choice((0, 1, 1, 2, 3))):
            self._change(model)
        if self.rng.random() < 0.8:
            self._approach(model, self.rng.choice(self.bounds.wanted))
        self._repair(model, (*self.bounds.said, *(self.bounds.wanted if inside else ())))
        return model

    def _change(self, model: dict[str, int | bool]) -> None:
        """Another value for one unknown."""
        unknowns: list[Sym | Bool] = [*self.inputs.symbols, *self.inputs.flags]
        unknown = self.rng.choice(unknowns)
        if isinstance(unknown, Bool):
            (name,) = unknown.flags()
            model[name] = not model.get(name, False)
        elif unknown.domain is not None:
            self._set(model, unknown, self.rng.randrange(len(unknown.domain)))
        else:
            value = int(model.get(unknown.name, 1))
            sizes = (*SIZES, *self.inputs.constants, 0, 2, value * 2, value // 2)
            moved = value + self.rng.choice(_STEPS) * self.rng.choice((1, 1, 2, 3))
            self._set(model, unknown, self.rng.choice((moved, self.rng.choice(sizes))))

    def _approach(self, model: dict[str, int | bool], condition: Bool) -> None:
        """Move a number to where the condition is another one, or beside there."""
        numbers = [s for s in condition.free() if s in self.inputs.numbers] or self.inputs.numbers
        if not numbers:
            return
        number, step = self.rng.choice(numbers), self.rng.choice(_STEPS)
        start = int(model.get(number.name, 1))
        turn = _turn(model, number, step, condition)
        self._set(model, number, start + (turn + self.rng.choice(_MISSES)) * step)

    def _repair(self, model: dict[str, int | bool], facts: Sequence[Bool]) -> None:
        """Meet comparisons that are not met, one number each."""
        for _ in range(_REPAIRS):
            broken = next((fact for fact in facts if holds(fact, model) is False), None)
            while broken is not None and broken.kind in E.JUNCTIONS:
                parts = [part for part in broken.args if holds(part, model) is False]
                broken = self.rng.choice(parts) if parts else None
            if broken is None or broken.expr is None:
                return
            numbers = [s for s in broken.free() if s in self.inputs.numbers]
            if not numbers:
                return
            number = self.rng.choice(numbers)
            distance = _distance(model, number, broken)
            if distance is not None:
                self._set(model, number, int(model.get(number.name, 1)) + distance)

    @staticmethod
    def _set(model: dict[str, int | bool], number: Sym, value: int) -> None:
        low = value if number.lo is None else max(value, number.lo)
        model[number.name] = low if number.hi is None else min(low, number.hi)


def _distance(model: Model, number: Sym, fact: Bool) -> int | None:
    """By how much a number is to change for a comparison to hold that is linear in it from here;
    None: it does not hang on it, or no whole number will do."""
    assert fact.expr is not None
    start = int(model.get(number.name, 1))
    try:
        here, there = (
            int(E.evaluate(fact.expr, {**model, number.name: start + move})) for move in (0, 1)
        )
    except E.EvaluationError:
        return None
    slope = there - here
    if slope == 0 or (fact.kind is E.BoolKind.EQ and here % slope):
        return None
    return -here // slope if slope > 0 else -(here // slope)


def _turn(model: Model, number: Sym, step: int, condition: Bool) -> int:
    """After how many steps a condition is another one than at the beginning; 0: never seen."""

    def met(steps: int) -> bool | None:
        value = int(model.get(number.name, 1)) + steps * step
        if number.lo is not None and value < number.lo:
            return None
        return holds(condition, {**model, number.name: value})

    first, low, high = met(0), 0, 1
    while high < _FARTHEST and met(high) == first:
        low, high = high, 2 * high
    if met(high) is None or met(high) == first:
        return 0
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if met(middle) == first else (low, middle)
    return high
