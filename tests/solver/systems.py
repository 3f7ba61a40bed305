"""Random small systems of facts and goals, shaped like the questions tiles give rise to."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from hypothesis import strategies as st

from verifier.symbolic import expr as E

#: name: (lo, hi, origin); every symbol is bounded so that a box can be searched whole
BOX: dict[str, tuple[int, int, E.Origin]] = {
    "m": (1, 4, E.Origin.INPUT),
    "n": (1, 5, E.Origin.INPUT),
    "s": (-2, 2, E.Origin.INPUT),
    "i": (0, 3, E.Origin.LOOP),
    "t": (0, 2, E.Origin.AXIS),
}


def symbol(name: str) -> E.Expr:
    lo, hi, origin = BOX[name]
    return E.symbol(name, lo, hi, origin)


def setup() -> None:
    """Fresh tables in which the symbols exist, in the order of the box."""
    E.fresh_context()
    for name in BOX:
        symbol(name)


@st.composite
def expressions(draw: st.DrawFn, depth: int = 2) -> E.Expr:
    kind = draw(st.sampled_from(["leaf", "leaf", "sum", "scale", "product", "div", "mod", "min"]))
    if depth == 0 or kind == "leaf":
        return symbol(draw(st.sampled_from(sorted(BOX))))
    left = draw(expressions(depth=depth - 1))
    if kind == "scale":
        return left * draw(st.sampled_from([-2, 2, 3, 4])) + draw(st.integers(-4, 4))
    if kind == "div":
        divisors: list[int | str] = [2, 3, 4, "m", "n"]
        divisor = draw(st.sampled_from(divisors))
        return left // (symbol(divisor) if isinstance(divisor, str) else divisor)
    if kind == "mod":
        return left % draw(st.sampled_from([2, 3, 4]))
    right = draw(expressions(depth=depth - 1))
    if kind == "sum":
        return left + right
    if kind == "product":
        return left * right
    return draw(st.sampled_from([E.minimum, E.maximum]))(left, right)


@st.composite
def comparisons(draw: st.DrawFn) -> E.Bool:
    build = draw(st.sampled_from([E.le, E.le, E.lt, E.ge, E.eq, E.ne]))
    return build(draw(expressions()), draw(st.one_of(expressions(), st.integers(-2, 12))))


@st.composite
def formulas(draw: st.DrawFn) -> E.Bool:
    first = draw(comparisons())
    kind = draw(st.sampled_from(["one", "one", "one", "or", "and", "flag"]))
    if kind == "one":
        return first
    if kind == "flag":
        return E.or_(E.bool_symbol("flag"), first)
    return (E.or_ if kind == "or" else E.and_)(first, draw(comparisons()))


def assignments(terms: Sequence[E.Bool]) -> Iterator[dict[str, int | bool]]:
    """Every point of the box, as far as the symbols of ``terms`` go."""
    names = sorted({sym.name for term in terms for sym in term.free()})
    ranges = [range(BOX[name][0], BOX[name][1] + 1) for name in names]
    flags = (False, True) if any(term.variables() for term in terms) else (False,)
    for values in itertools.product(*ranges):
        for flag in flags:
            yield {**dict(zip(names, values, strict=True)), "flag": flag}


def brute_force(facts: tuple[E.Bool, ...], goal: E.Bool) -> dict[str, int | bool] | None:
    """A counterexample within the box, which is all there is, or None."""
    every = (E.not_(goal), *facts)
    for env in assignments(every):
        if all(E.evaluate(term, env) for term in every):
            return env
    return None
