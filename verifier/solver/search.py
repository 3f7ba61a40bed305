"""Search for a model by repair: it finds most models long before Z3 would.

All symbols start at small values, or at those of an earlier model. As long as some fact does not
hold, the one symbol of it is changed whose change leaves the fewest facts broken; a fact that stays
broken counts for more and more. Deterministic: the number of facts looked at is the budget.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from types import CodeType, FunctionType

from verifier.solver import terms
from verifier.symbolic import expr as E
from verifier.symbolic.expr import TRUE, Atom, Bool, Expr, Sym

#: facts looked at
BUDGET = 60_000
#: changes that are weighed for one broken fact
_MOVES = 40
#: what was changed last stays as it is for so many steps
_TABU = 4
#: values of a symbol that are all tried
_FEW = 32
#: a value that no size of a kernel exceeds
_LARGE = 1 << 40

#: characters of the text of a part above which it is a function of its own
_LONG = 400
#: how such a function is called
_CALLED = "(v, m)"
#: texts whose code is kept
_KEPT = 4096
#: a symbol in a text, or the name of a flag, which may look like one
_SYMBOL = re.compile(r"""v\[(\d+)\]|'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\"""")
#: what a term without a value raises
_UNDEFINED = (ZeroDivisionError, KeyError, RecursionError, E.EvaluationError)

#: by the number of a symbol or :func:`flag_key` of a flag
Values = dict["int | str", int]
#: by name
Model = dict[str, "int | bool"]
Function = Callable[..., int]


class Search:
    """Finds values that satisfy facts. Facts recur from query to query: each is compiled once."""

    def __init__(self) -> None:
        self._writer = _Writer()
        self._tests: dict[Bool, Function] = {}
        self._values: dict[Expr, Function] = {}
        self._linear: dict[tuple[Expr, Sym], bool] = {}
        #: the facts that stood in the way of the last search, whether it came to an end or not
        self.resisted: frozenset[Bool] = frozenset()

    def model(
        self,
        facts: Sequence[Bool],
        starts: Sequence[Mapping[str, int | bool]] = ({},),
        budget: int = BUDGET,
    ) -> Model | None:
        """Values of all symbols and flags that satisfy ``facts``, or None if none were found.

        ``starts``: values to begin with, one after another; for what they do not name, the least
        ones.
        """
        self.resisted = frozenset()
        repair = self.repair(facts)
        if repair is None:
            return None
        for start in starts:
            repair.start(start)
            found = repair.run(budget // len(starts))
            self.resisted |= repair.resisted
            if found:
                return repair.model()
        return None

    def repair(self, facts: Sequence[Bool]) -> Repair | None:
        """A repair of these facts; None if they are nested too deeply for Python's parser."""
        try:
            return Repair(self, facts)
        except (SyntaxError, RecursionError, MemoryError):
            return None

    def test(self, fact: Bool) -> Function:
        """The fact as a function of values."""
        found = self._tests.get(fact)
        if found is None:
            found = self._tests[fact] = self._writer.function(fact)
        return found

    def value(self, expr: Expr) -> Function:
        """The value of an expression as a function of values."""
        found = self._values.get(expr)
        if found is None:
            found = self._values[expr] = self._writer.function(expr)
        return found

    def linear(self, expr: Expr, sym: Sym) -> bool:
        """Whether ``expr`` is ``a * sym + b`` with ``a`` and ``b`` of other symbols."""
        key = expr, sym
        if key not in self._linear:
            self._linear[key] = _is_linear(expr, sym)
        return self._linear[key]


class Repair:
    """Facts, and values of their symbols and flags that are changed until all of them hold."""

    def __init__(self, search: Search, facts: Sequence[Bool]) -> None:
        self.values: Values = {}
        #: the facts that were broken at some time
        self.resisted: set[Bool] = set()
        #: what is not to be changed any more
        self.fixed: set[int | str] = set()
        self._search = search
        self._parts: list[Bool] = []
        self._tests: list[Function] = []
        #: the facts that a symbol or flag is part of
        self._about: dict[int | str, list[int]] = {}
        self._symbols: dict[int, Sym] = {}
        self._flags: dict[str, None] = {}
        self._left = 0
        for part in dict.fromkeys(_conjuncts(facts)):
            if part is not TRUE:
                self._add(part)

    def _add(self, part: Bool) -> None:
        position = len(self._parts)
        self._parts.append(part)
        self._tests.append(self._search.test(part))
        for symbol in part.free():
            self._about.setdefault(symbol.id, []).append(position)
            self._symbols[symbol.id] = symbol
        for name in part.flags():
            self._about.setdefault(flag_key(name), []).append(position)
            self._flags[name] = None

    def start(self, start: Mapping[str, int | bool]) -> None:
        """Take the values of a model; for what it does not name, the least ones."""
        symbols = sorted(self._symbols.items())
        self.values = {i: int(start.get(s.name, terms.default(s))) for i, s in symbols}
        names = sorted(self._flags)
        self.values.update((flag_key(name), int(start.get(name, False))) for name in names)

    def model(self) -> Model:
        """The values by name."""
        env: Model = {name: bool(self.values[flag_key(name)]) for name in sorted(self._flags)}
        env.update((s.name, self.values[i]) for i, s in sorted(self._symbols.items()))
        return env

    def hold(self) -> bool:
        """Whether all facts hold."""
        return all(self._holds(position) for position in range(len(self._parts)))

    def change(self, key: int | str, value: int) -> bool:
        """Change one value if all facts that held still do; whether it was changed."""
        symbol = None if isinstance(key, str) else self._symbols.get(key)
        if symbol is not None and not _within(symbol, value):
            return False
        before, self.values[key] = self.values[key], value
        if all(map(self._holds, self._about.get(key, ()))):
            return True
        self.values[key] = before
        return False

    def take(self, model: Mapping[str, int | bool]) -> bool:
        """Take the values of a model if all facts hold for them; whether they were taken."""
        before = self.values
        self.start({**self.model(), **model})
        bounded = all(_within(s, self.values[i]) for i, s in self._symbols.items())
        if bounded and self.hold():
            return True
        self.values = before
        return False

    def keep(self, fact: Bool) -> None:
        """One fact more, which holds."""
        self._add(fact)

    def meet(self, fact: Bool, budget: int) -> bool:
        """Change values so that all facts and one more hold; if that fails, nothing changes."""
        before = dict(self.values)
        self._add(fact)
        found = self.run(budget)
        self._parts.pop()
        self._tests.pop()
        for symbol in fact.free():
            self._about[symbol.id].pop()
        for name in fact.flags():
            self._about[flag_key(name)].pop()
        if not found:
            self.values = before
        return found

    def run(self, budget: int) -> bool:
        """Change values until all facts hold; False: it did not come to that."""
        self._left = budget
        self.resisted = set()
        values = self.values
        weights = [1] * len(self._parts)
        broken = {i: None for i in range(len(self._parts)) if not self._holds(i)}
        recent: list[int | str] = []
        while broken and self._left > 0:
            self.resisted.update(self._parts[i] for i in broken)
            position = min(broken)
            best: tuple[int, int, int | str, int] | None = None
            for key, value in self._moves(self._parts[position], values):
                if key in recent:
                    continue
                score = (self._change(key, value, values, broken, weights), abs(value))
                if best is None or score < best[:2]:
                    best = (*score, key, value)
            if best is None:
                if not recent:
                    return False
                recent.clear()
                weights[position] += 1
                continue
            if best[0] >= 0:
                for i in broken:
                    weights[i] += 1
            changed = best[2]
            values[changed] = best[3]
            recent = [*recent[1 - _TABU :], changed]
            for i in self._about[changed]:
                if self._holds(i):
                    broken.pop(i, None)
                else:
                    broken[i] = None
        return not broken

    def _holds(self, position: int) -> bool:
        self._left -= 1
        try:
            return bool(self._tests[position](self.values))
        except _UNDEFINED:
            return False

    def _change(
        self,
        key: int | str,
        value: int,
        values: Values,
        broken: Mapping[int, None],
        weights: Sequence[int],
    ) -> int:
        """By how much more is broken with a value changed."""
        before, values[key] = values[key], value
        total = 0
        for i in self._about[key]:
            holds = self._holds(i)
            if holds is (i in broken):
                total += -weights[i] if holds else weights[i]
        values[key] = before
        return total

    # -- changes that may mend a fact --------------------------------------------------

    def _moves(self, part: Bool, values: Values) -> Iterator[tuple[int | str, int]]:
        """Changes of one value each, different from what it is."""
        found: dict[tuple[int | str, int], None] = {}
        for literal in _literals(part):
            if self._left <= 0:
                break
            if literal.expr is None:
                names = literal.flags()
                found.update(((flag_key(n), 1 - values[flag_key(n)]), None) for n in names)
                continue
            for sym in literal.free():
                if sym.id in self.fixed:
                    continue
                for value in self._values(literal, sym, values):
                    low = value if sym.lo is None else max(value, sym.lo)
                    value = low if sym.hi is None else min(low, sym.hi)
                    if value != values[sym.id]:
                        found[sym.id, value] = None
            for name in literal.flags():
                found[flag_key(name), 1 - values[flag_key(name)]] = None
            if len(found) > _MOVES:
                break
        return iter(found)

    def _values(self, literal: Bool, sym: Sym, values: Values) -> Iterator[int]:
        """Values of one symbol with which a comparison may hold."""
        now = values[sym.id]
        if sym.lo is not None and sym.hi is not None and sym.hi - sym.lo <= _FEW:
            yield from range(sym.lo, sym.hi + 1)
            return
        assert literal.expr is not None
        if literal.kind is E.BoolKind.NE:
            yield from (now + 1, now - 1)
        elif not self._search.linear(literal.expr, sym):
            if literal.kind is E.BoolKind.EQ:
                yield from self._multiples(literal.expr, now, values)
            yield from self._ends(literal, sym, values)
        else:
            value = self._search.value(literal.expr)
            try:
                rest = value({**values, sym.id: 0})
                slope = value({**values, sym.id: 1}) - rest
            except _UNDEFINED:
                return
            if slope and literal.kind is E.BoolKind.LE:  # slope * x + rest <= 0
                yield -rest // slope if slope > 0 else -(rest // slope)
            elif slope and rest % slope == 0:
                yield -rest // slope

    def _multiples(self, remainder: Expr, now: int, values: Values) -> Iterator[int]:
        """The values next to ``now`` for which a remainder may be zero."""
        for atom in remainder.atoms():
            if isinstance(atom, E.Div) and atom.den.is_const:
                try:
                    below = now - self._search.value(remainder)(values)
                except _UNDEFINED:
                    return
                yield from (below, below + atom.den.const)

    def _ends(self, literal: Bool, sym: Sym, values: Values) -> Iterator[int]:
        """Where a comparison begins to hold, above and below: steps of growing size, halved."""
        test, before = self._search.test(literal), values[sym.id]

        def holds(value: int) -> bool:
            values[sym.id] = value
            self._left -= 1
            try:
                return bool(test(values))
            except _UNDEFINED:
                return False

        out = []
        for sign in (1, -1):
            low, step = before, 1
            while step < _LARGE:
                high = before + sign * step
                if sym.lo is not None and high < sym.lo:
                    high = sym.lo
                if holds(high):
                    while abs(high - low) > 1:
                        middle = (low + high) // 2
                        low, high = (low, middle) if holds(middle) else (middle, high)
                    out.append(high)
                    break
                if high == sym.lo:
                    break
                low, step = high, step * 2
        values[sym.id] = before
        yield from out


def _conjuncts(facts: Sequence[Bool]) -> Iterator[Bool]:
    for fact in facts:
        if fact.kind is E.BoolKind.AND:
            yield from _conjuncts(fact.args)
        else:
            yield fact


def _literals(part: Bool) -> Iterator[Bool]:
    """What a fact is put together of, each once: the same parts may stand in many of its own."""
    seen: set[Bool] = set()
    pending = [part]
    while pending:
        each = pending.pop()
        if each in seen:
            continue
        seen.add(each)
        if each.kind in E.JUNCTIONS:
            pending += reversed(each.args)
        else:
            yield each


def flag_key(name: str) -> str:
    return f"flag~{name}"


def _within(sym: Sym, value: int) -> bool:
    return (sym.lo is None or value >= sym.lo) and (sym.hi is None or value <= sym.hi)


def _is_linear(expr: Expr, sym: Sym) -> bool:
    for mono, _ in expr.terms:
        others = [atom for atom in mono if atom is not sym]
        if len(mono) - len(others) > 1 or any(sym in E.atom_free(atom) for atom in others):
            return False
    return True


def _power(base: int, exponent: int) -> int:
    """A power of a number, rounded down."""
    if exponent > E.LARGEST_EXPONENT:
        raise KeyError(exponent)
    return base**exponent if exponent >= 0 else 0


@lru_cache(maxsize=_KEPT)
def _compiled(text: str) -> CodeType:
    """The code of definitions."""
    return compile(text, "<search>", "exec")


@lru_cache(maxsize=_KEPT)
def _body(text: str) -> CodeType:
    """The code of a function of values that gives what a text comes to."""
    whole = compile(f"lambda v: {text}", "<search>", "eval")
    return next(code for code in whole.co_consts if isinstance(code, CodeType))


def _function(text: str, scope: dict[str, Function]) -> Function:
    """A text as a function of values.

    One kernel compares the same as another, of symbols with other numbers: what is compiled has
    none of these, and they are put in place in its constants.
    """
    places: dict[str, str] = {}

    def placed(found: re.Match[str]) -> str:
        number: str | None = found[1]
        if number is None:
            return found[0]
        return f"v[{places.setdefault(number, f'#{len(places)}')!r}]"

    code = _body(_SYMBOL.sub(placed, text))
    numbers = {place: int(number) for number, place in places.items()}
    constants = [numbers.get(c, c) if isinstance(c, str) else c for c in code.co_consts]
    return FunctionType(code.replace(co_consts=tuple(constants)), scope)


class _Writer:
    """Writes terms as Python functions: integers, operators, tables, and names of flags only.

    A part whose text is long is a function of its own, which is called at most once for one set of
    values: terms share parts, and a text that repeated them would grow with the number of ways to
    each.
    """

    def __init__(self) -> None:
        self._texts: dict[Atom | Bool, str] = {}
        self._scope: dict[str, Function] = {}

    def function(self, term: Bool | Expr) -> Function:
        """The value of a term as a function of values."""
        text = self._formula(term) if isinstance(term, Bool) else self._integer(term)
        if _CALLED not in text:
            return _function(text, self._scope)
        self._define(f"def function(v, m={{}}): m.clear(); return {text}")
        return self._scope["function"]

    def _define(self, text: str) -> None:
        exec(_compiled(text), self._scope)

    def _part(self, part: Atom | Bool, write: Callable[[], str]) -> str:
        found = self._texts.get(part)
        if found is None:
            found = write()
            if len(found) > _LONG:
                name = f"part{len(self._texts)}"
                self._define(
                    f"def {name}(v, m):\n if {name} not in m: m[{name}] = {found}\n"
                    f" return m[{name}]"
                )
                found = f"{name}{_CALLED}"
            self._texts[part] = found
        return found

    def _integer(self, expr: Expr) -> str:
        parts = []
        for mono, coef in expr.terms:
            factors = [self._part(atom, partial(self._atom, atom)) for atom in mono]
            if coef != 1:
                factors.insert(0, str(coef))
            parts.append("*".join(factors))
        if expr.const or not parts:
            parts.append(str(expr.const))
        return "(" + "+".join(parts) + ")"

    def _atom(self, atom: Atom) -> str:
        if isinstance(atom, Sym):
            return f"v[{atom.id}]"
        if isinstance(atom, E.Div):
            return f"({self._integer(atom.num)}//{self._integer(atom.den)})"
        if isinstance(atom, E.Extremum):
            return f"{atom.kind}({','.join(map(self._integer, atom.args))})"
        if isinstance(atom, E.Ite):
            test = self._formula(atom.test)
            return f"({self._integer(atom.then)} if {test} else {self._integer(atom.other)})"
        if isinstance(atom, E.Power):
            self._scope["power"] = _power
            return f"power({atom.base},{self._integer(atom.exponent)})"
        if isinstance(atom, E.Least):
            return self._least(atom)
        assert isinstance(atom, E.Table)
        self._scope[f"table{atom.id}"] = dict(atom.values).__getitem__
        return f"table{atom.id}({self._integer(atom.index)})"

    def _least(self, atom: E.Least) -> str:
        """Looked for once for the same values; what says what terms are says what has no value."""
        number, flags, goes_on = E.from_atom(atom), atom.test.flags(), self.function(atom.test)
        symbols = [symbol for symbol in atom.test.free() if symbol is not atom.index]

        def found(values: Values) -> int:
            key = (*(values[s.id] for s in symbols), *(values[flag_key(n)] for n in flags))
            known = atom.found.get(key)
            if known is None:
                try:
                    tried = dict(values)
                    for k in range(E.LARGEST_LEAST):
                        tried[atom.index.id] = k
                        if not goes_on(tried):
                            known = atom.found[key] = k
                            return known
                except ZeroDivisionError:
                    pass
                env: Model = {s.name: values[s.id] for s in symbols}
                env.update((name, bool(values[flag_key(name)])) for name in flags)
                known = int(E.evaluate(number, env))
            return known

        self._scope[f"least{atom.id}"] = found
        return f"least{atom.id}(v)"

    def _formula(self, term: Bool) -> str:
        return self._part(term, partial(self._written, term))

    def _written(self, term: Bool) -> str:
        if term.kind is E.BoolKind.CONST:
            return "True" if term is TRUE else "False"
        if term.kind is E.BoolKind.VAR:
            return f"bool(v[{flag_key(term.name)!r}])"
        if term.expr is not None:
            return f"({self._integer(term.expr)}{term.kind.value}0)"
        if term.kind is E.BoolKind.NOT:
            return f"(not {self._formula(term.args[0])})"
        return "(" + f" {term.kind.value} ".join(map(self._formula, term.args)) + ")"
