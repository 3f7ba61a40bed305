"""The authoritative tier: Z3 over the integers.

The only module that imports Z3, so that commands which never need it do not pay for it. Each
backend has a context of its own: what Z3 answers depends on the questions asked of this backend
before, and on nothing else in the process.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

import z3
from msgspec import Struct, field

from verifier.solver.cuts import parts_of_equal_size
from verifier.solver.query import Z3Kind
from verifier.solver.terms import default
from verifier.symbolic import expr as E
from verifier.symbolic.expr import TRUE, Atom, Bool, Expr, Sym

DEFAULT_RLIMIT = 400_000
_BACKSTOP_MS = 3_000  # wall clock; reached only if rlimit misjudges a step

#: powers that Z3 is told one by one
_POWERS = 5

_Term = TypeVar("_Term")

#: values that satisfy all of a question, made of such that satisfy most of it
Mended = Callable[["dict[str, int | bool]"], "dict[str, int | bool] | None"]


class Outcome(Struct, frozen=True):
    """What Z3 says; ``env``: the values of all symbols if they can be, ``reason`` if not known."""

    kind: Z3Kind
    env: dict[str, int | bool] | None = None
    reason: str = ""


class Backend:
    """Translates terms and asks Z3, within ``rlimit`` units of work per question.

    No question lasts longer than ``end`` (of ``time.process_time()``).
    """

    def __init__(self, rlimit: int = DEFAULT_RLIMIT, end: float | None = None) -> None:
        self.rlimit = rlimit
        self.end = end
        self.times: list[float] = []
        self._translator = _Translator(z3.Context())

    def check(
        self, facts: Sequence[Bool], likely: Collection[Bool] = (), mended: Mended | None = None
    ) -> Outcome:
        """Whether some integers satisfy all ``facts``; what a division by zero gives is free.

        ``likely``: the facts among them that are likely to matter. ``mended`` may make values that
        satisfy all facts of such that satisfy most.
        """
        started = time.perf_counter()
        outcome = self.session(facts, self.rlimit, likely).check(mended)
        self.times.append(time.perf_counter() - started)
        return outcome

    def session(self, facts: Sequence[Bool], rlimit: int, likely: Collection[Bool] = ()) -> Session:
        """A session with ``facts`` asserted, for a series of related questions."""
        left = _BACKSTOP_MS
        if self.end is not None:
            left = min(left, max(1, int(1000 * (self.end - time.process_time()))))
        session = Session(self._translator, rlimit, left)
        for fact in facts:
            session.add(fact, at_once=fact in likely)
        return session


class Session:
    """One Z3 solver with assertions that may be pushed and popped.

    Alternatives are told to Z3 only where integers that satisfy all else break them: most of them
    have nothing to do with a question, and each one is a case distinction.
    """

    def __init__(self, translator: _Translator, rlimit: int, backstop: int) -> None:
        self._translator = translator
        self._solver = z3.SimpleSolver(ctx=translator.ctx)
        # An interrupt is Python's: Z3 would take it for the end of one query.
        self._solver.set(random_seed=0, timeout=backstop, rlimit=rlimit, ctrl_c=False)
        self._known: dict[Atom, None] = {}
        self._flags: dict[str, z3.BoolRef] = {}
        self._scopes: list[_Scope] = []
        #: alternatives that Z3 has not been told
        self._waiting: list[Bool] = []

    def add(self, fact: Bool, *, at_once: bool = False) -> None:
        if fact.kind is E.BoolKind.OR and not at_once:
            self._waiting.append(fact)
        else:
            self._tell(fact)

    def _tell(self, fact: Bool) -> None:
        formula = self._translator.formula(fact)
        assertions = [formula.term]
        for atom in formula.atoms:
            if atom not in self._known:
                self._known[atom] = None
                if self._scopes:
                    self._scopes[-1].atoms.append(atom)
                assertions.extend(self._translator.lemmas(atom))
        self._flags.update(formula.flags)
        context, solver = self._translator.ctx.ref(), self._solver.solver
        for term in assertions:
            z3.Z3_solver_assert(context, solver, term.as_ast())

    @contextmanager
    def scope(self) -> Iterator[None]:
        """Assertions inside are forgotten afterwards."""
        scope = _Scope(list(self._waiting))
        self._scopes.append(scope)
        self._solver.push()
        try:
            yield
        finally:
            self._solver.pop()
            self._scopes.pop()
            for atom in scope.atoms:
                del self._known[atom]
            # what mattered inside will matter again
            left = {id(fact) for fact in self._waiting}
            self._waiting = [fact for fact in scope.waiting if id(fact) in left]
            for fact in scope.waiting:
                if id(fact) not in left:
                    self._tell(fact)

    def check(self, mended: Mended | None = None) -> Outcome:
        outcome = self._check()
        while self._waiting and outcome.kind is not Z3Kind.UNSAT:
            told = self._waiting
            if outcome.env is not None:
                told = _broken(told, outcome.env)
                if not told:
                    break
                env = None if mended is None else mended(outcome.env)
                if env is not None:
                    return Outcome(Z3Kind.SAT, env)
            self._waiting = [fact for fact in self._waiting if fact not in told]
            for fact in told:
                self._tell(fact)
            outcome = self._check()
        return outcome

    def _check(self) -> Outcome:
        try:
            result = self._solver.check()
            if result == z3.sat:
                return Outcome(Z3Kind.SAT, self._model())
            if result == z3.unsat:
                return Outcome(Z3Kind.UNSAT)
            reason = self._solver.reason_unknown()
            spent = any(word in reason for word in ("resource", "timeout", "cancel", "memout"))
            return Outcome(Z3Kind.BUDGET if spent else Z3Kind.UNKNOWN, None, reason)
        except z3.Z3Exception as error:
            return Outcome(Z3Kind.UNKNOWN, None, f"solver error: {error}")

    def _model(self) -> dict[str, int | bool]:
        model = self._solver.model()
        env: dict[str, int | bool] = {}
        for atom in self._known:
            if isinstance(atom, Sym):
                value = model.eval(self._translator.atom(atom), model_completion=True)
                env[atom.name] = value.as_long()
        for name, flag in self._flags.items():
            env[name] = z3.is_true(model.eval(flag, model_completion=True))
        return env


class _Scope(Struct):
    """What a session has to undo: alternatives that waited before, atoms that are new."""

    waiting: list[Bool]
    atoms: list[Atom] = field(default_factory=list)


def _broken(facts: Sequence[Bool], env: dict[str, int | bool]) -> list[Bool]:
    """The facts that do not hold; ``env`` gets a value for each symbol and flag of the others."""
    out = []
    for fact in facts:
        values = (
            {s.name: default(s) for s in fact.free()} | dict.fromkeys(fact.flags(), False) | env
        )
        try:
            if not E.evaluate(fact, values):
                out.append(fact)
                continue
        except E.EvaluationError:
            out.append(fact)
            continue
        env |= values
    return out


class _Formula(Struct, frozen=True):
    """A translated fact, the atoms in it (whose lemmas it needs), and its flags."""

    term: z3.BoolRef
    atoms: tuple[Atom, ...]
    flags: dict[str, z3.BoolRef]


class _Translator:
    """Terms of one context in Z3's language. Facts recur from query to query: each is made once."""

    def __init__(self, ctx: z3.Context) -> None:
        self.ctx = ctx
        self._formulas: dict[Bool, _Formula] = {}
        self._bools: dict[Bool, z3.BoolRef] = {}
        self._atoms: dict[Atom, z3.ArithRef] = {}
        self._ints: dict[int, z3.ArithRef] = {}
        self._lemmas: dict[Atom, tuple[z3.BoolRef, ...]] = {}
        self._variables = 0

    def formula(self, fact: Bool) -> _Formula:
        found = self._formulas.get(fact)
        if found is None:
            term = self._bool(fact)
            atoms: list[Atom] = []
            flags: dict[str, z3.BoolRef] = {}
            for item in E.walk(fact):
                if isinstance(item, Atom):
                    atoms.append(item)
                elif isinstance(item, Bool) and item.kind is E.BoolKind.VAR:
                    flags[item.name] = self._bool(item)
            found = self._formulas[fact] = _Formula(term, tuple(atoms), flags)
        return found

    def lemmas(self, atom: Atom) -> tuple[z3.BoolRef, ...]:
        """What holds of an atom wherever it occurs: bounds, the definition of a quotient."""
        found = self._lemmas.get(atom)
        if found is None:
            found = self._lemmas[atom] = tuple(self._defining(atom))
        return found

    def _defining(self, atom: Atom) -> Iterator[z3.BoolRef]:
        if isinstance(atom, Sym):
            variable = self.atom(atom)
            if atom.lo is not None:
                yield variable >= atom.lo
            if atom.hi is not None:
                yield variable <= atom.hi
        elif isinstance(atom, E.Table):
            index = self._expr(atom.index)
            yield z3.Or([index == key for key, _ in atom.values])
        elif isinstance(atom, E.Power):
            yield from self._powers(atom)
        elif isinstance(atom, E.Least):
            yield self.atom(atom) >= 0
        elif isinstance(atom, E.Div) and not _by_positive_number(atom):
            # floor division, exactly; Z3's own rounds otherwise for negative divisors
            den = self._expr(atom.den)
            rest = self._expr(atom.num) - den * self.atom(atom)
            lo, _ = E.bounds(atom.den)
            above = z3.And(rest >= 0, rest < den)
            if lo is not None and lo > 0:
                yield above
            else:
                yield z3.Implies(den > 0, above)
                yield z3.Implies(den < 0, z3.And(rest <= 0, rest > den))
            parts = parts_of_equal_size(atom)
            if parts is not None:
                yield self._bool(parts)

    def _powers(self, atom: E.Power) -> Iterator[z3.BoolRef]:
        """The first powers of a number, and what holds of all others."""
        base, exponent, value = atom.base, self._expr(atom.exponent), self.atom(atom)
        yield z3.Implies(exponent < 0, value == 0)
        for k in range(_POWERS):
            yield z3.Implies(exponent == k, value == base**k)
        more = base**_POWERS
        yield z3.Implies(exponent >= _POWERS, z3.And(value >= more * (exponent - _POWERS + 1)))
        yield z3.Implies(exponent >= _POWERS, value % more == 0)

    def atom(self, atom: Atom) -> z3.ArithRef:
        found = self._atoms.get(atom)
        if found is None:
            found = self._atoms[atom] = self._build(atom)
        return found

    def _variable(self, sort: Callable[[str, z3.Context], _Term]) -> _Term:
        """A variable that is known by its number: what Z3 finds hangs on names, and those of ours
        hang on how many symbols were made before.
        """
        self._variables += 1
        return sort(f"v{self._variables}", self.ctx)

    def _build(self, atom: Atom) -> z3.ArithRef:
        if isinstance(atom, Sym):
            return self._variable(z3.Int)
        if isinstance(atom, (E.Power, E.Least)):
            return self._variable(z3.Int)
        if isinstance(atom, E.Div):
            if _by_positive_number(atom):
                return self._expr(atom.num) / self._int(atom.den.const)
            return self._variable(z3.Int)
        if isinstance(atom, E.Extremum):
            result = self._expr(atom.args[0])
            for arg in atom.args[1:]:
                other = self._expr(arg)
                first = result <= other if atom.kind == "min" else result >= other
                result = z3.If(first, result, other)
            return result
        if isinstance(atom, E.Ite):
            return z3.If(self._bool(atom.test), self._expr(atom.then), self._expr(atom.other))
        if isinstance(atom, E.Table):
            index = self._expr(atom.index)
            result = self._int(atom.values[-1][1])
            for key, value in reversed(atom.values[:-1]):
                result = z3.If(index == key, self._int(value), result)
            return result
        raise AssertionError(atom)  # pragma: no cover - the atom kinds above are all there are

    def _int(self, value: int) -> z3.ArithRef:
        found = self._ints.get(value)
        if found is None:
            found = self._ints[value] = z3.IntVal(value, self.ctx)
        return found

    # Z3's C functions: its operators look at the types of their operands again and again.

    def _expr(self, expr: Expr) -> z3.ArithRef:
        terms: list[z3.ArithRef] = []
        for mono, coef in expr.terms:
            product = self.atom(mono[0])
            for atom in mono[1:]:
                product = self._arithmetic(z3.Z3_mk_mul, [product, self.atom(atom)])
            if coef != 1:
                product = self._arithmetic(z3.Z3_mk_mul, [self._int(coef), product])
            terms.append(product)
        if expr.const or not terms:
            terms.append(self._int(expr.const))
        return terms[0] if len(terms) == 1 else self._arithmetic(z3.Z3_mk_add, terms)

    def _arithmetic(self, make: Callable[..., z3.Ast], args: Sequence[z3.ArithRef]) -> z3.ArithRef:
        return z3.ArithRef(make(self.ctx.ref(), len(args), _array(args)), self.ctx)

    def _bool(self, term: Bool) -> z3.BoolRef:
        found = self._bools.get(term)
        if found is None:
            found = self._bools[term] = self._connective(term)
        return found

    def _connective(self, term: Bool) -> z3.BoolRef:
        ctx = self.ctx.ref()
        if term.kind is E.BoolKind.CONST:
            return z3.BoolVal(term is TRUE, self.ctx)
        if term.kind is E.BoolKind.VAR:
            return self._variable(z3.Bool)
        if term.expr is not None:
            make = z3.Z3_mk_le if term.kind is E.BoolKind.LE else z3.Z3_mk_eq
            value, zero = self._expr(term.expr), self._int(0)
            made = z3.BoolRef(make(ctx, value.as_ast(), zero.as_ast()), self.ctx)
            if term.kind is not E.BoolKind.NE:
                return made
            args = [made]
        else:
            args = [self._bool(arg) for arg in term.args]
        if term.kind in (E.BoolKind.NOT, E.BoolKind.NE):
            return z3.BoolRef(z3.Z3_mk_not(ctx, args[0].as_ast()), self.ctx)
        make = z3.Z3_mk_and if term.kind is E.BoolKind.AND else z3.Z3_mk_or
        return z3.BoolRef(make(ctx, len(args), _array(args)), self.ctx)


def _array(terms: Sequence[z3.ExprRef]) -> object:
    return (z3.Ast * len(terms))(*(term.as_ast() for term in terms))


def _by_positive_number(atom: E.Div) -> bool:
    return atom.den.is_const and atom.den.const > 0
