"""Expressions of a wanted kind over the names in scope.

Every expression is total for the kinds of its names, except that indexing and dividing can fail
where a program is allowed to die. Factors and exponents are bounded, so that no loop blows up.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from random import Random
from typing import TypeAlias

#: the kinds of names that are followed; ``tup`` has three integers, ``opt`` is an integer or None
KINDS = ("int", "bool", "list", "dict", "tup", "str", "opt", "set")
_KEYS = ("a", "b", "c")
_WORDS = ("row", "tile", "x", "", "bf16", "k_v", "Sum")


@dataclass(slots=True)
class Names:
    """What is bound where an expression stands, by kind."""

    of: dict[str, list[str]] = field(default_factory=dict)
    #: integer variables of this very scope, which a statement may assign
    own: list[str] = field(default_factory=list)

    def copy(self) -> Names:
        """The same names, for a block that binds its own."""
        return Names({kind: list(names) for kind, names in self.of.items()}, list(self.own))

    def add(self, kind: str, name: str, *, own: bool = True) -> None:
        """Bind a name."""
        self.of.setdefault(kind, []).append(name)
        if kind == "int" and own:
            self.own.append(name)

    def get(self, kind: str) -> list[str]:
        """The names of a kind."""
        return self.of.get(kind, [])


Form: TypeAlias = Callable[["Expressions", Names, int], str]


@dataclass(slots=True)
class Expressions:
    """Draws expressions; ``features`` says which forms may occur."""

    rng: Random
    features: Collection[str]

    def draw(self, kind: str, names: Names, depth: int = 2) -> str:
        """An expression of a kind, or a hole of a template that is none."""
        return _HOLES[kind](self, names, depth)

    def one(self, *forms: str) -> str:
        """One of several texts."""
        return self.rng.choice(forms)

    def has(self, feature: str) -> bool:
        """Whether forms of a feature may occur."""
        return feature in self.features

    def name(self, kind: str, names: Names) -> str | None:
        """A name of a kind, later ones more often."""
        known = names.get(kind)
        if not known:
            return None
        return known[max(self.rng.randrange(len(known)), self.rng.randrange(len(known)))]


def _literal(e: Expressions, names: Names, depth: int) -> str:
    return str(e.rng.randrange(0, 7))


def _positive(e: Expressions, names: Names, depth: int) -> str:
    return str(e.rng.randrange(1, 6))


def _index(e: Expressions, names: Names, depth: int) -> str:
    return str(e.rng.choice((0, 0, 1, 1, 2, -1, -2)))


def _key(e: Expressions, names: Names, depth: int) -> str:
    return repr(e.rng.choice(_KEYS))


def _own(e: Expressions, names: Names, depth: int) -> str:
    return e.rng.choice(names.own)


def _bound(e: Expressions, names: Names, depth: int) -> str:
    """A small number of iterations, for inputs as well."""
    inputs = [name for name in names.get("int") if name in ("n", "m")]
    if inputs and e.rng.random() < 0.6:
        return e.rng.choice(inputs) + e.one("", "", " + 1", " // 2")
    seen = e.name("list", names)
    if seen is not None and e.rng.random() < 0.3:
        return f"len({seen})"
    return str(e.rng.randrange(1, 5))


def _int(e: Expressions, names: Names, depth: int) -> str:
    name = e.name("int", names)
    if depth <= 0 or e.rng.random() < 0.35:
        if name is None or e.rng.random() < 0.25:
            return str(e.rng.randrange(0, 10))
        return name
    return e.rng.choice(_int_forms(e, names))(e, names, depth - 1)


def _int_forms(e: Expressions, names: Names) -> list[Form]:
    forms: list[Form] = [_sum, _sum, _chosen]
    if e.has("arithmetic"):
        forms += [_divided, _bits, _numeric]
    for kind, form in (("list", _of_list), ("dict", _of_dict), ("tup", _of_tuple)):
        if names.get(kind):
            forms.append(form)
    for kind, form in (("opt", _of_optional), ("str", _of_string), ("set", _of_set)):
        if names.get(kind):
            forms.append(form)
    return forms


def _sum(e: Expressions, names: Names, depth: int) -> str:
    a, b = _int(e, names, depth), _int(e, names, depth)
    k = e.rng.randrange(2, 5)
    return e.one(f"{a} + {b}", f"({a} - {b})", f"({a} + {b})", f"{k} * ({a})", f"({a} + {k})")


def _chosen(e: Expressions, names: Names, depth: int) -> str:
    a, b, c = _int(e, names, depth), _int(e, names, depth), _bool(e, names, depth)
    return e.one(f"({a} if {c} else {b})", f"min({a}, {b})", f"max({a}, {b})", f"int({c})")


def _divided(e: Expressions, names: Names, depth: int) -> str:
    a, k = _int(e, names, depth), e.rng.choice((2, 3, 4, 5, -3))
    return e.one(
        f"({a}) // {k}",
        f"({a}) % {k}",
        f"divmod({a}, {k})[{e.rng.randrange(2)}]",
        f"-(-({a}) // {abs(k)})",
        f"math.ceil(({a}) / {abs(k)})",
    )


def _bits(e: Expressions, names: Names, depth: int) -> str:
    a, b, k = _int(e, names, depth), _int(e, names, depth), e.rng.randrange(0, 4)
    return e.one(
        f"(({a}) & {k + 3})",
        f"(({a}) | {k})",
        f"(({a}) ^ {k + 1})",
        f"(({a}) << {k})",
        f"(({a}) >> {k})",
        f"(({a}) & ({b}))",
        f"(~({a}))",
    )


def _numeric(e: Expressions, names: Names, depth: int) -> str:
    a, b = _int(e, names, depth), _int(e, names, depth)
    return e.one(
        f"abs({a} - {b})",
        f"(({a}) % 5) ** {e.rng.randrange(0, 4)}",
        f"({a}).bit_length()",
        f"pow({e.rng.randrange(2, 4)}, ({a}) % 4)",
        f"round(({a}) / 4 + 0.1)",
        f"(({a}) % 7) * (({b}) % 7)",
        f"(({a}) or {e.rng.randrange(1, 5)})",
        f"(({a}) and {b})",
    )


def _of_list(e: Expressions, names: Names, depth: int) -> str:
    a, i = e.name("list", names), _int(e, names, 0)
    return e.one(
        f"len({a})",
        f"sum({a})",
        f"{a}[{e.rng.choice((0, -1, 1))}]",
        f"{a}[({i}) % len({a})]",
        f"max({a}, default=0)",
        f"{a}.count({i})",
        f"sum({a}[{e.rng.choice(('1:', ':2', '::2', '::-2', '-2:'))}])",
    )


def _of_dict(e: Expressions, names: Names, depth: int) -> str:
    a, key = e.name("dict", names), _key(e, names, 0)
    return e.one(
        f"{a}[{key}]", f"{a}.get({key}, {_int(e, names, 0)})", f"len({a})", f"sum({a}.values())"
    )


def _of_tuple(e: Expressions, names: Names, depth: int) -> str:
    a = e.name("tup", names)
    return e.one(f"{a}[{e.rng.choice((0, 1, 2, -1))}]", f"sum({a})", f"len({a})", f"max({a})")


def _of_optional(e: Expressions, names: Names, depth: int) -> str:
    a = e.name("opt", names)
    other = _int(e, names, 0)
    return e.one(f"({a} if {a} is not None else {other})", f"({other} if {a} is None else {a} + 1)")


def _of_string(e: Expressions, names: Names, depth: int) -> str:
    a = e.name("str", names)
    return e.one(f"len({a})", f"{a}.find('x')", f"{a}.count('a')", f"int({a} == 'row')")


def _of_set(e: Expressions, names: Names, depth: int) -> str:
    a = e.name("set", names)
    return e.one(f"len({a})", f"sum({a})", f"int({_int(e, names, 0)} in {a})")


def _bool(e: Expressions, names: Names, depth: int) -> str:
    known = e.name("bool", names)
    if known is not None and e.rng.random() < 0.3:
        return known
    if depth > 0 and e.rng.random() < 0.35:
        a, b = _bool(e, names, depth - 1), _bool(e, names, depth - 1)
        return e.one(f"({a} and {b})", f"({a} or {b})", f"(not {a})", f"({a} != {b})")
    return _comparison(e, names, depth)


def _comparison(e: Expressions, names: Names, depth: int) -> str:
    a, b, k = _int(e, names, depth - 1), _int(e, names, 0), e.rng.randrange(0, 8)
    forms = [f"{a} {op} {k}" for op in ("<", ">=", "==", ">")]
    forms += [f"{a} < {b}", f"{k} <= {a} < {k + 3}", f"({a}) % 2 == {k % 2}", f"{a} in (0, {k})"]
    seen = e.name("list", names)
    if seen is not None:
        forms += [f"{b} in {seen}", f"bool({seen})", f"{seen} == sorted({seen})"]
    maybe = e.name("opt", names)
    if maybe is not None:
        forms += [f"{maybe} is None", f"{maybe} is not None and {maybe} > {k}"]
    table = e.name("dict", names)
    if table is not None:
        forms.append(f"{_key(e, names, 0)} in {table}")
    return e.one(*forms)


def _list(e: Expressions, names: Names, depth: int) -> str:
    known = e.name("list", names)
    a, b, c = (_int(e, names, depth - 1) for _ in range(3))
    forms = [f"[{a}, {b}, {c}]", f"[{a}, {b}]", f"list(range({_bound(e, names, 0)}))"]
    forms.append(f"[{a}, {b}, {c}, {_int(e, names, 0)}]")
    if e.has("comprehensions"):
        inner = names.copy()
        inner.add("int", "q", own=False)
        term = _int(e, inner, depth - 1)
        forms.append(f"[{term} for q in range({_bound(e, names, 0)})]")
        if known is not None:
            forms.append(f"[{term} for q in {known} if {_comparison(e, inner, 0)}]")
    if known is not None:
        part = e.one(":", "::-1", "1:", ":-1", "::2")
        forms += [f"{known}[{part}]", f"sorted({known})", f"({known} + [{a}])[-5:]"]
        forms.append(f"({known} * 2)[:5]")
    return e.one(*forms)


def _dict(e: Expressions, names: Names, depth: int) -> str:
    a, b = _int(e, names, depth - 1), _int(e, names, 0)
    known = e.name("dict", names)
    forms = [f"{{'a': {a}, 'b': {b}, 'c': {_literal(e, names, 0)}}}", f"dict(a={a}, b={b}, c=1)"]
    if known is not None:
        forms += [f"dict({known})", f"{{**{known}, 'a': {b}}}", f"{known}.copy()"]
    return e.one(*forms)


def _tuple(e: Expressions, names: Names, depth: int) -> str:
    a, b, c = _int(e, names, depth - 1), _int(e, names, 0), _int(e, names, 0)
    known = e.name("tup", names)
    forms = [f"({a}, {b}, {c})", f"({b},) + ({a}, {c})"]
    if known is not None:
        forms += [f"{known}[::-1]", f"{known}[:2] + ({b},)"]
    return e.one(*forms)


def _optional(e: Expressions, names: Names, depth: int) -> str:
    a, c = _int(e, names, depth - 1), _bool(e, names, 0)
    return e.one("None", a, f"({a} if {c} else None)", f"(None if {c} else {a})")


def _string(e: Expressions, names: Names, depth: int) -> str:
    known, a = e.name("str", names), _int(e, names, 0)
    forms = [repr(e.rng.choice(_WORDS)), f"f'x{{{a}}}'", f"str({a})"]
    if known is not None:
        forms += [f"{known}.upper()", f"{known} + 'a'", f"{known}[1:]", f"{known}.replace('x', '')"]
    return e.one(*forms)


def _set(e: Expressions, names: Names, depth: int) -> str:
    a, b, known = _int(e, names, depth - 1), _int(e, names, 0), e.name("list", names)
    return e.one(f"{{{a}, {b}, 3}}", "set()", f"set({known})" if known else f"{{{b}}}")


_HOLES: dict[str, Form] = {
    "int": _int,
    "small": lambda e, names, depth: _int(e, names, 0),
    "bool": _bool,
    "list": _list,
    "dict": _dict,
    "tup": _tuple,
    "opt": _optional,
    "str": _string,
    "set": _set,
    "lit": _literal,
    "pos": _positive,
    "idx": _index,
    "key": _key,
    "own": _own,
    "bound": _bound,
}
