"""Operations on whole values: whether one is there, joining after a branch, equality."""

from __future__ import annotations

from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr, Substitution
from verifier.symbolic.lanes import SystemAddress
from verifier.symbolic.python.heap import UNBOUND
from verifier.symbolic.tensors import DType, View
from verifier.symbolic.values import Guarded


def as_formula(value: object) -> Bool | None:
    """A truth value as a formula, or None if it is not one."""
    if isinstance(value, bool):
        return E.truth(value)
    return value if isinstance(value, Bool) else None


def presence(value: object) -> Bool:
    """When a value is there."""
    if value is UNBOUND:
        return E.FALSE
    if isinstance(value, Guarded):
        return E.not_(E.or_(*(guard for guard, item in value.cases if item is UNBOUND)))
    return E.TRUE


def some(count: Expr) -> Bool:
    """Whether a number, which is not negative, is not zero."""
    atom = count.as_atom()
    if isinstance(atom, E.Ite) and atom.then is E.const(1) and atom.other is E.const(0):
        return atom.test
    return E.gt(count, 0)


# ------------------------------------------------------------------------ joining


def join(test: Bool, then: object, other: object) -> object:
    """The value that is ``then`` if ``test`` holds, else ``other``."""
    if test is E.TRUE or same(then, other):
        return then
    if test is E.FALSE:
        return other
    if isinstance(then, Expr) and isinstance(other, Expr):
        return E.ite(test, then, other)
    left, right = as_formula(then), as_formula(other)
    if left is not None and right is not None:
        return E.or_(E.and_(test, left), E.and_(E.not_(test), right))
    if isinstance(then, DType) and isinstance(other, DType):
        return DType(E.ite(test, then.code, other.code))
    if isinstance(then, SystemAddress) and isinstance(other, SystemAddress):
        if then.storage is other.storage:
            return SystemAddress(then.storage, E.ite(test, then.offset, other.offset))
    if isinstance(then, tuple) and isinstance(other, tuple) and len(then) == len(other):
        return tuple(join(test, a, b) for a, b in zip(then, other, strict=True))
    return _choice(test, then, other)


def _choice(test: Bool, then: object, other: object) -> object:
    cases: list[tuple[Bool, object]] = []
    for guard, value in (*_cases(test, then), *_cases(E.not_(test), other)):
        if guard is E.FALSE:
            continue
        for position, (old, known) in enumerate(cases):
            if same(known, value):
                cases[position] = (E.or_(old, guard), known)
                break
            if isinstance(known, Expr) and isinstance(value, Expr):
                cases[position] = (E.or_(old, guard), E.ite(guard, value, known))
                break
        else:
            cases.append((guard, value))
    return cases[0][1] if len(cases) == 1 else Guarded(tuple(cases))


def _cases(test: Bool, value: object) -> list[tuple[Bool, object]]:
    if isinstance(value, Guarded):
        return [(E.and_(test, guard), item) for guard, item in value.cases]
    return [(test, value)]


# ------------------------------------------------------------------------ equality


def same(a: object, b: object) -> bool:
    """Whether two values are certainly the same."""
    if a is b:
        return True
    if isinstance(a, View) and isinstance(b, View):
        return same_view(a, b)
    if isinstance(a, (Expr, Bool)) or isinstance(b, (Expr, Bool)):
        return False
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b, strict=True))
    if isinstance(a, Guarded) and isinstance(b, Guarded):
        return len(a.cases) == len(b.cases) and all(
            g is h and same(x, y) for (g, x), (h, y) in zip(a.cases, b.cases, strict=True)
        )
    if type(a) is not type(b):
        return False
    if isinstance(a, float) and isinstance(b, float):
        return repr(a) == repr(b)  # nan is itself, 0.0 is not -0.0
    return bool(a == b)


def same_view(a: View, b: View) -> bool:
    """Whether two views denote the same elements of the same tensor in the same order."""
    if a.storage is not b.storage or len(a.axes) != len(b.axes) or a.exact != b.exact:
        return False
    if len(a.frame) != len(b.frame) or not a.exact:
        return False
    rename = Substitution({x.symbol: y.index for x, y in zip(a.axes, b.axes, strict=True)})
    return (
        all(x is y for x, y in zip(a.instance, b.instance, strict=True))
        and all(x is y for x, y in zip(a.frame, b.frame, strict=True))
        and all(x.size is y.size for x, y in zip(a.axes, b.axes, strict=True))
        and all(rename.expr(x) is y for x, y in zip(a.coords, b.coords, strict=True))
        and rename.bool(a.mask) is b.mask
        and a.dtype == b.dtype
    )
