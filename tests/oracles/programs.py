"""Whole NKI kernels for the differential test: generated, short, and most of them run through.

A program computes an integer ``r`` from the state that it built up, and a tile has too many
partitions unless ``r`` is what CPython makes of it. So the right verdict hangs on every statement
that ``r`` depends on.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from random import Random

from hypothesis import strategies as st

from tests.oracles.expressions import Expressions, Names
from tests.oracles.running import Inputs, Outcome, run
from tests.oracles.templates import Template, templates, weight

#: every group of features, each a file of templates
FEATURES: tuple[str, ...] = tuple(templates())
#: groups without which no program can be made
ALWAYS = frozenset({"core"})

_CHOICE = re.compile(r"⟦([^⟦⟧]*)⟧")
_HOLE = re.compile(r"<(\w+)(?::([^<>]*))?>")
_FRESH = re.compile(r"\$(\w+)")
_HEAD = """\
import math
import nki
import nki.isa as nisa
import nki.language as nl"""
#: what the statements may need, and the import of it; taken only where the text has the name
_IMPORTS = {
    "functools": "import functools",
    "itertools": "import itertools",
    "dataclass": "from dataclasses import dataclass",
    "field(": "from dataclasses import field",
    "replace(": "from dataclasses import replace",
    "NamedTuple": "from typing import NamedTuple",
    "(Enum)": "from enum import Enum",
    "(IntEnum)": "from enum import IntEnum",
    "auto()": "from enum import auto",
    "contextmanager": "from contextlib import contextmanager",
}


@dataclass(frozen=True, slots=True)
class Program:
    """A kernel in parts: what is made of it depends on what CPython computes.

    ``sums`` are the terms of ``r``, ``ranges`` the inputs: the name, the smallest and the largest
    value. ``right`` says whether the tile's height agrees with CPython, ``form`` how it is written.
    """

    definitions: tuple[str, ...]
    body: tuple[str, ...]
    sums: tuple[str, ...]
    ranges: tuple[tuple[str, int, int], ...] = ()
    right: bool = True
    form: int = 0
    groups: frozenset[str] = frozenset()

    def inputs(self) -> list[Inputs]:
        """Every input that the assertions on the ranges admit."""
        values = [range(low, high + 1) for _, low, high in self.ranges]
        names = [name for name, _, _ in self.ranges]
        return [dict(zip(names, chosen, strict=True)) for chosen in product(*values)]

    def text(self, results: Sequence[tuple[Inputs, int]] | None = None) -> str:
        """The file; without results it returns ``r`` and makes no tile."""
        probe = ["return r"] if results is None else self._probe(results)
        inside = [*self._opening(), *self.body, f"r = {' + '.join(self.sums) or 0}", *probe]
        kernel = [f"def kernel({', '.join(self._parameters())}):", *_indented(inside)]
        rest = "\n".join([*self.definitions, "", "", "@nki.jit", *kernel])
        needed = [line for word, line in _IMPORTS.items() if word in rest]
        return "\n".join([*needed, _HEAD, "", "", rest.lstrip("\n")]) + "\n"

    def _parameters(self) -> list[str]:
        return ["x", *(n + (": bool" if n == "flag" else ": int") for n in self._scalars())]

    def _scalars(self) -> list[str]:
        return [name for name, _, _ in self.ranges if name != "m"]

    def _opening(self) -> list[str]:
        sized = any(name == "m" for name, _, _ in self.ranges)
        lines = ["m, columns = x.shape"] if sized else []
        shape = "columns == 8" if sized else "x.shape == (128, 8)"
        lines.append(f"assert {shape} and x.dtype == nl.float32")
        for name, low, high in self.ranges:
            if name != "flag":
                lines.append(f"assert {low} <= {name} <= {high}")
        return lines

    def _probe(self, results: Sequence[tuple[Inputs, int]]) -> list[str]:
        rows = "m" if any(name == "m" for name, _, _ in self.ranges) else "128"
        return [
            *self._height(results),
            "t = nl.ndarray((height, 8), dtype=nl.float32, buffer=nl.sbuf)",
            f"nisa.dma_copy(dst=t[0:{rows}, :], src=x)",
            f"y = nl.ndarray(({rows}, 8), dtype=nl.float32, buffer=nl.shared_hbm)",
            f"nisa.dma_copy(dst=y, src=t[0:{rows}, :])",
            "return y",
        ]

    def _height(self, results: Sequence[tuple[Inputs, int]]) -> list[str]:
        if not results:
            return ["height = 128 if r == 0 else 128"]
        values = [value for _, value in results]
        off = 0 if self.right else 1
        if self.form == 1:
            low, high = min(values), max(values) - off
            return [f"height = 128 if {low} <= r <= {high} else 129"]
        wanted = _table(results, off)
        if self.form == 2:
            return ["height = 128", f"if r != {wanted}:", "    height = 129"]
        return [f"height = 128 if r == {wanted} else 129"]


def _table(results: Sequence[tuple[Inputs, int]], off: int) -> str:
    """The value of ``r`` as an expression in the inputs; ``off`` makes it wrong for one of them."""
    (*others, (_, last)) = results
    if all(value == last for _, value in others):
        return str(last + off)
    cases = [f"{value} if {_these(inputs)} else" for inputs, value in others]
    return "(" + " ".join([*cases, str(last + off)]) + ")"


def _these(inputs: Inputs) -> str:
    return " and ".join(
        (name if value else f"not {name}") if name == "flag" else f"{name} == {value}"
        for name, value in inputs.items()
    )


def _indented(lines: Sequence[str], by: int = 1) -> list[str]:
    return ["    " * by + line if line else line for line in lines]


# ------------------------------------------------------------------------- running it


def outcomes(program: Program) -> list[tuple[Inputs, Outcome]]:
    """What CPython makes of the program without a fault in its last tile, for every input."""
    return run(program.text(), program.inputs())


def finished(program: Program) -> str | None:
    """The file with the right or the wrong expectation of ``r``; None if there is no telling."""
    results = outcomes(program)
    if any(outcome.kind == "endless" for _, outcome in results):
        return None
    values = [(inputs, o.value) for inputs, o in results if o.kind == "done"]
    if not all(type(value) in (int, bool) for _, value in values):
        return None
    known = [(inputs, int(value)) for inputs, value in values if isinstance(value, int)]
    return program.text(known)


# -------------------------------------------------------------------------- making one


@dataclass(slots=True)
class _Maker:
    """Fills templates for one program."""

    rng: Random
    features: frozenset[str]
    expressions: Expressions
    definitions: list[str] = field(default_factory=list)
    used: set[str] = field(default_factory=set)
    count: int = 0
    budget: int = 0

    def block(self, names: Names, depth: int, most: int) -> list[str]:
        """Up to so many statements; ``names`` gains what they bind."""
        lines: list[str] = []
        for _ in range(self.rng.randrange(1, most + 1)):
            if self.budget <= 0 and lines:
                break
            lines += self.statement(names, depth)
        return lines

    def statement(self, names: Names, depth: int) -> list[str]:
        groups = [g for g in sorted(self.features) for _ in range(weight(g))]
        while True:
            template = self.rng.choice(templates()[self.rng.choice(groups)])
            if depth > 0 or not template.nests:
                return self.fill(template, names, depth)

    def fill(self, template: Template, names: Names, depth: int) -> list[str]:
        """The lines of one template."""
        self.used.add(template.group)
        fresh: dict[str, str] = {}
        lines = [self._line(line, names, fresh, depth) for line in template.body]
        flat = [line for some in lines for line in some]
        above = [self._line(line, Names(), fresh, 0)[0] for line in template.definitions]
        for kind, name in template.binds:
            names.add(kind, self._named(name, fresh))
        self.budget -= len(flat) + len(above)
        if template.module_only or (above and self.rng.random() < 0.6):
            self.definitions += ["", "", *above]
            return flat
        return above + flat

    def _line(self, line: str, names: Names, fresh: dict[str, str], depth: int) -> list[str]:
        while (found := _CHOICE.search(line)) is not None:
            chosen = self.rng.choice(found[1].split("|"))
            line = line[: found.start()] + chosen + line[found.end() :]
        line = self._named(line, fresh)
        stripped = line.lstrip()
        if stripped.startswith("%block"):
            inner = names.copy()
            for name in stripped.split()[1:]:
                inner.add("int", name, own=False)
            by = (len(line) - len(stripped)) // 4
            return _indented(self.block(inner, depth - 1, 2), by)
        return [_HOLE.sub(lambda hole: self._hole(hole, names), line)]

    def _hole(self, hole: re.Match[str], names: Names) -> str:
        kind, only = hole[1], hole[2]
        if only is None:
            return self.expressions.draw(kind, names)
        scope = Names()
        for name in only.split(","):
            scope.add("int", name.strip())
        return self.expressions.draw(kind, scope, 1)

    def _named(self, text: str, fresh: dict[str, str]) -> str:
        def name(found: re.Match[str]) -> str:
            if found[1] not in fresh:
                self.count += 1
                fresh[found[1]] = f"{found[1]}{self.count}"
            return fresh[found[1]]

        return _FRESH.sub(name, text)


def _ranges(rng: Random, symbolic: bool) -> tuple[tuple[str, int, int], ...]:
    """Inputs with at most twelve combinations."""
    if not symbolic:
        return ()
    low = rng.randrange(0, 3)
    n = ("n", low, low + rng.randrange(1, 5))
    m = ("m", 1, rng.randrange(2, 6))
    return rng.choice(((n,), (n,), (m,), (n, ("flag", 0, 1)), (("m", 1, 3), ("n", 0, 2))))


def _attempt(rng: Random, features: frozenset[str], symbolic: bool) -> Program:
    maker = _Maker(rng, features | ALWAYS, Expressions(rng, features), budget=rng.randrange(6, 20))
    names = Names()
    ranges = _ranges(rng, symbolic)
    for name, _, _ in ranges:
        names.add("bool" if name == "flag" else "int", name, own=False)
    body = []
    for _ in range(2):
        maker.count += 1
        body.append(f"v{maker.count} = {maker.expressions.draw('small', names)}")
        names.add("int", f"v{maker.count}")
    while maker.budget > 0:
        body += maker.statement(names, 2)
    sums = _sums(rng, names)
    right, form = rng.random() < 0.5, rng.randrange(3)
    used = frozenset(maker.used)
    return Program(tuple(maker.definitions), tuple(body), sums, ranges, right, form, used)


_SUMMARIES: Mapping[str, str] = {
    "int": "{}",
    "bool": "int({})",
    "list": "sum({})",
    "dict": "sum({}.values())",
    "tup": "sum({})",
    "str": "len({})",
    "opt": "(0 if {0} is None else {0})",
    "set": "len({})",
}


def _sums(rng: Random, names: Names) -> tuple[str, ...]:
    """The terms of ``r``, from the state at the end: most of it, each part with its own factor."""
    inputs = ("n", "m", "flag")
    parts = [
        form.format(name)
        for kind, form in _SUMMARIES.items()
        for name in names.get(kind)
        if name not in inputs
    ]
    chosen = [part for part in parts if rng.random() < 0.8] or parts[-1:]
    return tuple(part if i == 0 else f"{i + 1} * {part}" for i, part in enumerate(chosen))


def make(rng: Random, features: Collection[str] = FEATURES, symbolic: bool = False) -> Program:
    """A program from a source of randomness: one in five may die, the others are drawn until
    they run through for every input (but not for ever).
    """
    wanted, mortal = frozenset(features), rng.random() < 0.2
    program = _attempt(rng, wanted, symbolic)
    for _ in range(5):
        kinds = {outcome.kind for _, outcome in outcomes(program)}
        if "endless" not in kinds and (mortal or kinds == {"done"}):
            break
        program = _attempt(rng, wanted, symbolic)
    return program


def numbered(seed: int, features: Collection[str] = FEATURES, symbolic: bool = False) -> Program:
    """The program of a seed, the same on every machine."""
    return make(Random(f"{seed}/{symbolic}"), features, symbolic)


def programs(
    features: Collection[str] = FEATURES, *, symbolic: bool | None = None
) -> st.SearchStrategy[Program]:
    """Programs for Hypothesis; ``symbolic`` None draws both forms.

    One integer decides, which keeps drawing cheap; failing programs are made smaller by lines
    (:mod:`tests.oracles.shrinking`), which says more than smaller random numbers do.
    """
    forms = st.booleans() if symbolic is None else st.just(symbolic)
    seeds = st.integers(0, 2**32 - 1)
    return st.builds(lambda seed, form: numbered(seed, features, form), seeds, forms)
