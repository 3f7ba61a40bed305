"""Random inputs that a kernel admits: everything that it assumes of them holds."""

from __future__ import annotations

import ast
import math
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from verifier.engine.diagnostics import counterexample
from verifier.hardware import dtypes as dt
from verifier.solver.query import Model, Query
from verifier.solver.solver import Solver
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr, Sym
from verifier.symbolic.python.entry import Run
from verifier.symbolic.python.inputs import MAX_RANK, InputKind, Parameter
from verifier.symbolic.python.pins import NamedPin, ObjectPin, SequencePin, ValuePin

#: sizes around which hardware and kernels change their ways
SIZES: tuple[int, ...] = (1, 2, 3, 5, 8, 31, 32, 33, 64, 96, 127, 128, 129, 200, 256, 300, 384)
SIZES += (512, 513, 640, 1024, 2048, 2500)
#: dtypes that kernels are mostly written for; the others come now and then
USUAL = ("float32", "bfloat16", "float16", "int32")
#: numbers of programs along one axis of a launch grid
PROGRAMS = (1, 1, 2, 2, 3, 4)
#: elements of the tensors of one run
MOST = 1 << 23

#: values that are tried for one unknown, and how far it may go if none of them is admitted
_TRIES, _FAR = 4, 4096
#: the largest size that is tried, smaller and smaller where the tensors turn out too large
_LIMITS = (1 << 20, 1024, 300, 64)
#: constants beyond which no size lies
_LARGE = 70_000


@dataclass(slots=True)
class Inputs:
    """Draws inputs of one finished run."""

    run: Run
    solver: Solver
    constants: Sequence[int]
    facts: tuple[Bool, ...] = ()
    _symbols: list[Sym] = field(default_factory=list)
    _flags: list[Bool] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.facts = tuple(known_facts(self.run))
        for parameter in self.run.inputs.parameters.values():
            self._add(parameter)
        for loop in self.run.trace.grid:
            self._symbols += loop.trips.free()
        terms = [*self.facts]
        named = {s.name for s in self._symbols} | {flag.name for flag in self._flags}
        for term in terms:
            self._symbols += [s for s in term.free() if s.origin is E.Origin.INPUT]
            self._flags += [f for n, f in term.variables().items() if n not in named]
        self._symbols = list(dict.fromkeys(self._symbols))
        self._flags = list(dict.fromkeys(self._flags))

    def _add(self, p: Parameter) -> None:
        """The unknowns of a parameter."""
        inputs = self.run.inputs
        if isinstance(p.pinned, (ValuePin, NamedPin, SequencePin, ObjectPin)):
            return
        if p.has_default and p.default is None:
            self._flags.append(E.bool_symbol(f"{p.name} is None"))
        free: list[Expr] = []
        if p.kind is InputKind.TENSOR:
            count = inputs.rank_symbol(p)
            rank = count.const if count.is_const else p.rank or max(p.views, default=0)
            free += [count, inputs.dtype(p).code, *inputs.shape(p, rank)]
            if p.views and not count.is_const:  # a pointer is what it is declared as
                self.facts = (*self.facts, E.or_(*(E.eq(count, known) for known in p.views)))
        elif p.kind is InputKind.INTEGER:
            free.append(inputs.integer(p))
        elif p.kind is InputKind.DTYPE:
            free.append(inputs.as_dtype(p).code)
        elif p.kind is InputKind.STRING:
            free.append(E.symbol(p.name, 0, None))
        elif p.kind is InputKind.FLAG:
            self._flags.append(inputs.flag(p))
        elif isinstance(p.default, tuple):
            items = [(position, item) for position, item in enumerate(p.default)]
            numbers = [(k, x) for k, x in items if isinstance(x, Expr)]
            known = [E.eq(inputs.item(p, k), x) for k, x in numbers]
            flags = [(E.bool_symbol(f"{p.name}[{k}]"), x) for k, x in items if type(x) is bool]
            known += [flag if x else E.not_(flag) for flag, x in flags]
            if _whole(p.default):
                free += [inputs.item(p, position) for position, _ in numbers]
            else:
                self.facts = (*self.facts, *known)
        self._symbols += [s for term in free for s in term.free()]

    def draw(self, rng: random.Random) -> dict[str, Any] | None:
        """Inputs as counterexamples have them; None if none were found that are small enough."""
        for limit in _LIMITS:
            model = self.model(rng, limit)
            found = None if model is None else self.given(model)
            if found is None or elements(found) <= MOST:
                return found
        return None

    @property
    def symbols(self) -> list[Sym]:
        """The unknowns that are numbers or element types."""
        return [s for s in self._symbols if not s.name.endswith(".rank")]

    @property
    def numbers(self) -> list[Sym]:
        """The unknowns that are numbers."""
        return [s for s in self.symbols if s.domain is None]

    @property
    def flags(self) -> list[Bool]:
        """The unknowns that are true or false."""
        return self._flags

    def model(self, rng: random.Random, limit: int) -> Model | None:
        """Values of all unknowns for which the facts hold."""
        facts = self.facts
        answer = self.solver.check(Query(facts, E.FALSE))
        if answer.model is None:
            return None
        unknowns: list[Sym | Bool] = [*self._symbols, *self._flags]
        rng.shuffle(unknowns)
        for unknown in unknowns:
            for fact in self._choices(unknown, rng, limit):
                tried = self.solver.check(Query((*facts, fact), E.FALSE))
                if tried.model is not None:
                    facts, answer = (*facts, fact), tried
                    break
        return answer.model

    def given(self, model: Model) -> dict[str, Any] | None:
        """Inputs as counterexamples have them; None if the values do not say what they are."""
        found = dict(counterexample(self.run, model))
        for name, p in self.run.inputs.parameters.items():
            if isinstance(p.default, tuple) and p.pinned is None and not _whole(p.default):
                found.pop(name, None)  # it is its default
            default = p.has_default and p.default is None
            if default and model.get(f"{name} is None") is False and not _given(name, found):
                return None  # something, and nothing says what
        return found

    def _choices(self, unknown: Sym | Bool, rng: random.Random, limit: int) -> Iterator[Bool]:
        """What to try for an unknown, one after the other."""
        if isinstance(unknown, Bool):
            value = rng.random() < 0.5
            yield unknown if value else E.not_(unknown)
            return
        value_of = E.from_atom(unknown)
        for _ in range(_TRIES):
            number = self._candidate(unknown, rng, limit)
            inside = (unknown.lo is None or number >= unknown.lo) and (
                unknown.hi is None or number <= unknown.hi
            )
            if inside:
                yield E.eq(value_of, number)
        yield E.le(value_of, min(limit, _FAR))

    def _candidate(self, unknown: Sym, rng: random.Random, limit: int) -> int:
        name = unknown.name
        if unknown.domain is dt.NAMES:
            names = USUAL if rng.random() < 0.8 else dt.NAMES
            return dt.CODES[rng.choice(names)]
        if name.endswith(".rank"):
            return rng.randint(1, MAX_RANK)
        if unknown.origin is E.Origin.GRID or name.startswith("num_programs("):
            return rng.choice(PROGRAMS)
        p = self.run.inputs.parameters.get(name)
        if p is not None and p.kind is InputKind.STRING:
            return rng.randint(0, len(self.run.inputs.strings) + 1)
        sizes = [s for s in rng.choice((SIZES, self.constants or SIZES)) if s <= limit]
        small = unknown.lo == 0 and rng.random() < 0.3
        return rng.randint(0, 4) if small or not sizes else rng.choice(sizes)


def _whole(items: Sequence[object]) -> bool:
    """Whether all items of a tuple are numbers, so that others can be given."""
    return all(isinstance(item, Expr) and item.is_const for item in items)


def _given(name: str, found: Mapping[str, Any]) -> bool:
    """Whether inputs say what a parameter is."""
    return any(key == name or key.startswith((f"{name}.", f"{name}[")) for key in found)


def known_facts(run: Run) -> Iterator[Bool]:
    """What the kernel assumes of its inputs alone; what speaks of unknown values is left out."""
    lost = {name for entry in run.trace.ledger for name in entry.symbols}
    for assumption in run.trace.assumptions:
        condition = assumption.condition
        known = all(sym.origin in E.GIVEN and sym.name not in lost for sym in condition.free())
        if known and lost.isdisjoint(condition.variables()):
            yield condition


def elements(given: Mapping[str, Any]) -> int:
    """Elements of all tensors of an input."""
    shapes = [value for name, value in given.items() if name.endswith(".shape")]
    return sum(math.prod(shape) for shape in shapes)


@cache
def constants(path: Path) -> tuple[int, ...]:
    """The numbers in a file, and those beside them: where its behaviour changes."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found = {
        n.value for n in ast.walk(tree) if isinstance(n, ast.Constant) and type(n.value) is int
    }
    near = {c + d for c in found if 1 < c < _LARGE for d in (-1, 0, 1)}
    return tuple(sorted(near | {2 * c for c in found if 1 < c < 4096}))
