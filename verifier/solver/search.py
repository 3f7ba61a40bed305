"""Bounded search for a model over friendly values, for when Z3 gives up.

Symbols get values one after another, inputs first; a fact is checked as soon as all of its symbols
have one. Facts that bound a symbol by earlier ones give its extremes. Deterministic: the number of
values tried is the budget.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from verifier.solver import terms
from verifier.symbolic import expr as E
from verifier.symbolic.expr import FALSE, TRUE, Atom, Bool, Expr, Sym

#: Values that kernels meet in practice, and their neighbours.
FRIENDLY = (
    *(1, 2, 3, 4, 8, 16, 32, 64, 100, 127, 128, 129, 192, 255, 256, 257, 320, 384, 511, 512, 513),
    *(640, 768, 1023, 1024, 1025, 2047, 2048, 2049, 4096, 4097, 8192, 8193, 16384, 32768, 65536),
)
_BUDGET = 6_000
#: characters of the text of a part above which it is a function of its own
_LONG = 400
_ORIGINS = {
    E.Origin.INPUT: 0,
    E.Origin.SOLVER: 0,
    E.Origin.GRID: 1,
    E.Origin.HAVOC: 2,
    E.Origin.LOOP: 3,
    E.Origin.AXIS: 4,
    E.Origin.POINT: 4,
}

Values = list[int]
Function = Callable[[Values], int]


class _SpentError(Exception):
    """The budget is used up."""


@dataclass(slots=True)
class _Step:
    """One symbol: what bounds it, and the facts that can be checked once it has a value."""

    sym: Sym | None
    uppers: list[tuple[Function, Function]] = field(default_factory=list)
    lowers: list[tuple[Function, Function]] = field(default_factory=list)
    tests: list[Function] = field(default_factory=list)


def search(facts: Sequence[Bool], budget: int = _BUDGET) -> dict[str, int | bool] | None:
    """Values of all symbols and flags that satisfy ``facts``, or None if none were found."""
    if any(fact is FALSE for fact in facts):
        return None
    syms = sorted(terms.symbols(facts), key=lambda sym: (_ORIGINS[sym.origin], sym.id))
    names = sorted({name: None for fact in facts for name in fact.flags()})
    position = {f"flag~{name}": i for i, name in enumerate(names)}
    for sym in syms:
        position[sym.name] = len(position)
    steps = [_Step(None) for _ in names] + [_Step(sym) for sym in syms]
    compiler = _Compiler(position)
    ready: list[Function] = []
    for fact in facts:
        for part in fact.args if fact.kind is E.BoolKind.AND else (fact,):
            if part is TRUE:
                continue
            last = _last(part, position)
            try:
                test = compiler.function(compiler.formula(part))
                (steps[last].tests if last >= 0 else ready).append(test)
                if last >= len(names):
                    _limit(part, steps[last], compiler)
            except (SyntaxError, RecursionError, MemoryError):
                return None  # nested too deeply for Python's parser
    try:
        if any(not test([]) for test in ready):
            return None
    except (ZeroDivisionError, KeyError, RecursionError):
        return None
    values = [0] * len(steps)
    try:
        found = _assign(steps, 0, values, [budget])
    except (_SpentError, RecursionError):
        return None
    if not found:
        return None
    env: dict[str, int | bool] = {name: bool(values[i]) for i, name in enumerate(names)}
    env.update({sym.name: values[position[sym.name]] for sym in syms})
    return env


def _last(term: Bool, position: Mapping[str, int]) -> int:
    places = [position[sym.name] for sym in term.free()]
    places.extend(position[f"flag~{name}"] for name in term.flags())
    return max(places, default=-1)


def _limit(fact: Bool, step: _Step, compiler: _Compiler) -> None:
    """If the fact is linear in the step's symbol, note the bound it gives."""
    if fact.kind not in (E.BoolKind.LE, E.BoolKind.EQ) or fact.expr is None or step.sym is None:
        return
    sym = step.sym
    slope: dict[tuple[Atom, ...], int] = {}
    rest: dict[tuple[Atom, ...], int] = {}
    slope_const = 0
    for mono, coef in fact.expr.terms:
        count = sum(1 for atom in mono if atom is sym)
        others = tuple(atom for atom in mono if atom is not sym)
        if count > 1 or any(sym in E.atom_free(atom) for atom in others):
            return
        if count == 0:
            rest[mono] = coef
        elif others:
            slope[others] = coef
        else:
            slope_const = coef
    a = compiler.function(compiler.integer(Expr.make(slope, slope_const)))
    b = compiler.function(compiler.integer(Expr.make(rest, fact.expr.const)))
    step.uppers.append((a, b))
    if fact.kind is E.BoolKind.EQ:
        step.lowers.append((a, b))


def _assign(steps: list[_Step], index: int, values: Values, budget: list[int]) -> bool:
    if index == len(steps):
        return True
    step = steps[index]
    for value in _candidates(step, values):
        budget[0] -= 1
        if budget[0] < 0:
            raise _SpentError
        values[index] = value
        if _passes(step, values) and _assign(steps, index + 1, values, budget):
            return True
    values[index] = 0
    return False


def _passes(step: _Step, values: Values) -> bool:
    try:
        return all(test(values) for test in step.tests)
    except (ZeroDivisionError, KeyError):
        return False


def _candidates(step: _Step, values: Values) -> list[int]:
    sym = step.sym
    if sym is None:
        return [0, 1]
    try:
        lo, hi = _interval(step, sym, values)
    except (ZeroDivisionError, KeyError):
        return []
    out: dict[int, None] = {}
    if lo is not None:
        out[lo] = None
    if hi is not None:
        out[hi] = None
    if lo is not None and hi is not None:
        if hi < lo:
            return []
        out[(lo + hi) // 2] = None
        if hi - lo <= 16:
            out.update(dict.fromkeys(range(lo, hi + 1)))
    for value in (0, *FRIENDLY):
        if (lo is None or value >= lo) and (hi is None or value <= hi):
            out[value] = None
    return sorted(out, key=lambda v: (v < 0, abs(v)))


def _interval(step: _Step, sym: Sym, values: Values) -> tuple[int | None, int | None]:
    """The bounds that the linear facts set for a symbol, given the values of those before it."""
    lo, hi = sym.lo, sym.hi
    lines = [(slope(values), rest(values)) for slope, rest in step.uppers]
    lines += [(-slope(values), -rest(values)) for slope, rest in step.lowers]
    for a, b in lines:  # a * x + b <= 0
        if a > 0:
            hi = -b // a if hi is None else min(hi, -b // a)
        elif a < 0:
            lo = _ceil(b, -a) if lo is None else max(lo, _ceil(b, -a))
    return lo, hi


def _ceil(a: int, b: int) -> int:
    return -(-a // b)


class _Compiler:
    """Turns terms into Python functions of the list of values.

    The generated text consists of integers, operators and positions only. A part whose text is long
    is a function of its own, which is called at most once for one list of values: terms share
    parts, and a text that repeated them would grow with the number of ways to each.
    """

    def __init__(self, position: Mapping[str, int]) -> None:
        self._position = position
        self._texts: dict[Atom | Bool, str] = {}
        self._scope: dict[str, Function] = {}

    def function(self, text: str) -> Function:
        self._define(f"def function(v, m={{}}): m.clear(); return {text}")
        return self._scope["function"]

    def _define(self, text: str) -> None:
        exec(compile(text, "<search>", "exec"), self._scope)

    def _part(self, part: Atom | Bool, text: Callable[[], str]) -> str:
        found = self._texts.get(part)
        if found is None:
            found = text()
            if len(found) > _LONG:
                name = f"part{len(self._texts)}"
                self._define(
                    f"def {name}(v, m):\n if {name} not in m: m[{name}] = {found}\n"
                    f" return m[{name}]"
                )
                found = f"{name}(v, m)"
            self._texts[part] = found
        return found

    def integer(self, expr: Expr) -> str:
        parts = []
        for mono, coef in expr.terms:
            factors = [self._part(atom, lambda atom=atom: self._atom(atom)) for atom in mono]  # type: ignore[misc]
            if coef != 1:
                factors.insert(0, str(coef))
            parts.append("*".join(factors))
        if expr.const or not parts:
            parts.append(str(expr.const))
        return "(" + "+".join(parts) + ")"

    def _atom(self, atom: Atom) -> str:
        if isinstance(atom, Sym):
            return f"v[{self._position[atom.name]}]"
        if isinstance(atom, E.Div):
            return f"({self.integer(atom.num)}//{self.integer(atom.den)})"
        if isinstance(atom, E.Extremum):
            return f"{atom.kind}({','.join(map(self.integer, atom.args))})"
        if isinstance(atom, E.Ite):
            test = self.formula(atom.test)
            return f"({self.integer(atom.then)} if {test} else {self.integer(atom.other)})"
        assert isinstance(atom, E.Table)
        return f"{dict(atom.values)!r}[{self.integer(atom.index)}]"

    def formula(self, term: Bool) -> str:
        return self._part(term, lambda: self._formula(term))

    def _formula(self, term: Bool) -> str:
        if term.kind is E.BoolKind.CONST:
            return "True" if term is TRUE else "False"
        if term.kind is E.BoolKind.VAR:
            return f"bool(v[{self._position['flag~' + term.name]}])"
        if term.expr is not None:
            return f"({self.integer(term.expr)}{term.kind.value}0)"
        if term.kind is E.BoolKind.NOT:
            return f"(not {self.formula(term.args[0])})"
        return "(" + f" {term.kind.value} ".join(map(self.formula, term.args)) + ")"
