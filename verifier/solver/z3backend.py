"""The authoritative tier: Z3 over the integers.

The only module that imports Z3, so that commands which never need it do not pay for it. Each
backend has a context of its own: what Z3 answers depends on the questions asked of this backend
before, and on nothing else in the process.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import z3

from verifier.symbolic import expr as E
from verifier.symbolic.expr import TRUE, Atom, Bool, Expr, Sym

DEFAULT_RLIMIT = 400_000
_BACKSTOP_MS = 3_000  # wall clock; reached only if rlimit misjudges a step


@dataclass(frozen=True, slots=True)
class Outcome:
    """``sat`` with values of all symbols, ``unsat``, ``budget``, or ``unknown`` with a reason."""

    kind: str
    env: dict[str, int | bool] | None = None
    reason: str = ""


class Backend:
    """Translates terms and asks Z3, within ``rlimit`` units of work per question."""

    def __init__(self, rlimit: int = DEFAULT_RLIMIT) -> None:
        self.rlimit = rlimit
        self.times: list[float] = []
        self._ctx = z3.Context()

    def check(self, facts: Sequence[Bool], rlimit: int | None = None) -> Outcome:
        """Whether some integers satisfy all ``facts``; what a division by zero gives is free."""
        session = Session(self._ctx, rlimit or self.rlimit, self.times)
        for fact in facts:
            session.add(fact)
        return session.check()

    def session(self, facts: Sequence[Bool], rlimit: int) -> Session:
        """A session with ``facts`` asserted, for a series of related questions."""
        session = Session(self._ctx, rlimit, self.times)
        for fact in facts:
            session.add(fact)
        return session


class Session:
    """One Z3 solver with assertions that may be pushed and popped."""

    def __init__(self, ctx: z3.Context, rlimit: int, times: list[float]) -> None:
        self._ctx = ctx
        self._rlimit = rlimit
        self._times = times
        self._solver = z3.SimpleSolver(ctx=ctx)
        self._solver.set("random_seed", 0)
        self._solver.set("timeout", _BACKSTOP_MS)
        self._solver.set("rlimit", rlimit)
        self._atoms: dict[int, z3.ArithRef] = {}
        self._symbols: dict[str, z3.ArithRef] = {}
        self._flags: dict[str, z3.BoolRef] = {}
        self._scopes: list[list[int]] = []

    # -- questions -------------------------------------------------------------------

    def add(self, fact: Bool) -> None:
        self._solver.add(self._bool(fact))

    @contextmanager
    def scope(self) -> Iterator[None]:
        """Assertions inside are forgotten afterwards. Only known symbols may occur in them."""
        self._scopes.append([])
        self._solver.push()
        try:
            yield
        finally:
            self._solver.pop()
            for key in self._scopes.pop():
                del self._atoms[key]

    def check(self) -> Outcome:
        started = time.perf_counter()
        try:
            result = self._solver.check()
            if result == z3.sat:
                return Outcome("sat", self._model())
            if result == z3.unsat:
                return Outcome("unsat")
            reason = self._solver.reason_unknown()
            spent = any(word in reason for word in ("resource", "timeout", "cancel", "memout"))
            return Outcome("budget" if spent else "unknown", None, reason)
        except z3.Z3Exception as error:
            return Outcome("unknown", None, f"solver error: {error}")
        finally:
            self._times.append(time.perf_counter() - started)

    def _model(self) -> dict[str, int | bool]:
        model = self._solver.model()
        env: dict[str, int | bool] = {}
        for name, variable in self._symbols.items():
            env[name] = model.eval(variable, model_completion=True).as_long()
        for name, flag in self._flags.items():
            env[name] = z3.is_true(model.eval(flag, model_completion=True))
        return env

    # -- translation -----------------------------------------------------------------

    def _int(self, value: int) -> z3.ArithRef:
        return z3.IntVal(value, self._ctx)

    def expr(self, expr: Expr) -> z3.ArithRef:
        terms: list[z3.ArithRef] = []
        for mono, coef in expr.terms:
            factors = [self._atom(atom) for atom in mono]
            if coef != 1:
                factors.insert(0, self._int(coef))
            product = factors[0]
            for factor in factors[1:]:
                product = product * factor
            terms.append(product)
        if expr.const or not terms:
            terms.append(self._int(expr.const))
        return terms[0] if len(terms) == 1 else z3.Sum(terms)

    def _atom(self, atom: Atom) -> z3.ArithRef:
        found = self._atoms.get(atom.id)
        if found is None:
            found = self._build(atom)
            self._atoms[atom.id] = found
            if self._scopes and not isinstance(atom, Sym):
                self._scopes[-1].append(atom.id)
        return found

    def _build(self, atom: Atom) -> z3.ArithRef:
        if isinstance(atom, Sym):
            variable = z3.Int(atom.name, self._ctx)
            self._symbols[atom.name] = variable
            if self._scopes:
                # bounds asserted here are popped with the scope; so is the knowledge of the symbol
                self._scopes[-1].append(atom.id)
            if atom.lo is not None:
                self._solver.add(variable >= atom.lo)
            if atom.hi is not None:
                self._solver.add(variable <= atom.hi)
            return variable
        if isinstance(atom, E.Div):
            return self._quotient(atom)
        if isinstance(atom, E.Extremum):
            result = self.expr(atom.args[0])
            for arg in atom.args[1:]:
                other = self.expr(arg)
                first = result <= other if atom.kind == "min" else result >= other
                result = z3.If(first, result, other)
            return result
        if isinstance(atom, E.Ite):
            return z3.If(self._bool(atom.test), self.expr(atom.then), self.expr(atom.other))
        if isinstance(atom, E.Table):
            index = self.expr(atom.index)
            self._solver.add(z3.Or([index == key for key, _ in atom.values]))
            result = self._int(atom.values[-1][1])
            for key, value in reversed(atom.values[:-1]):
                result = z3.If(index == key, self._int(value), result)
            return result
        raise AssertionError(atom)  # pragma: no cover - the atom kinds above are all there are

    def _quotient(self, atom: E.Div) -> z3.ArithRef:
        """Floor division, exactly; Z3's own rounds otherwise for negative divisors."""
        num = self.expr(atom.num)
        if atom.den.is_const and atom.den.const > 0:
            return num / self._int(atom.den.const)
        den = self.expr(atom.den)
        quotient = z3.Int(f"div~{atom.id}", self._ctx)
        rest = num - den * quotient
        lo, _ = E.bounds(atom.den)
        above = z3.And(rest >= 0, rest < den)
        if lo is not None and lo > 0:
            self._solver.add(above)
        else:
            below = z3.And(rest <= 0, rest > den)
            self._solver.add(z3.And(z3.Implies(den > 0, above), z3.Implies(den < 0, below)))
        return quotient

    def _bool(self, term: Bool) -> z3.BoolRef:
        if term.kind == "const":
            return z3.BoolVal(term is TRUE, self._ctx)
        if term.kind == "var":
            flag = self._flags.get(term.name)
            if flag is None:
                flag = self._flags[term.name] = z3.Bool(f"flag~{term.name}", self._ctx)
            return flag
        if term.expr is not None:
            value = self.expr(term.expr)
            if term.kind == "le":
                return value <= 0
            return value == 0 if term.kind == "eq" else value != 0
        args = [self._bool(arg) for arg in term.args]
        if term.kind == "not":
            return z3.Not(args[0])
        return z3.And(args) if term.kind == "and" else z3.Or(args)
