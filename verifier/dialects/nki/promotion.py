"""Result dtypes of arithmetic between tiles and scalars (NKI-T12)."""

from __future__ import annotations

from collections.abc import Collection
from functools import cache
from typing import Final

from verifier.hardware import dtypes as dt
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.tensors import DType

_RANK: Final[dict[str, int]] = {name: size for name, (size, _) in dt.DTYPES.items()}


def _promote_names(a: str, b: str) -> str:
    if a == b:
        return a
    kind_a, kind_b = dt.DTYPES[a][1], dt.DTYPES[b][1]
    if kind_a == "float" and kind_b != "float":
        return a
    if kind_b == "float" and kind_a != "float":
        return b
    if kind_a == "float":
        if {a, b} <= {"float32", "tfloat32"}:
            return "float32"
        if _RANK[a] != _RANK[b]:
            return a if _RANK[a] > _RANK[b] else b
        return "float32" if _RANK[a] == 2 else "bfloat16"
    if _RANK[a] != _RANK[b]:
        return a if _RANK[a] > _RANK[b] else b
    widened = {1: "int16", 2: "int32"}
    return widened.get(_RANK[a], "float32")


def promote(a: DType, b: DType) -> DType:
    """The dtype of ``a op b`` on tiles: the wider one, or one that holds both.

    With a dtype that depends on an input the answer is a case distinction.
    """
    if a.name is not None and b.name is not None:
        return DType.named(_promote_names(a.name, b.name))
    if a.code is b.code:
        return a
    if a.name is not None:
        a, b = b, a  # the order says nothing, and the answer is shorter
    pairs = {(x, y): _promoted(x, y) for x in _possible(a) for y in _possible(b)}
    second = {pair for pair, code in pairs.items() if code == pair[1]}
    first = {pair for pair, code in pairs.items() if code == pair[0]} - second
    found = b.code
    rest = pairs.keys() - first - second
    for code in sorted({pairs[pair] for pair in rest}):
        third = {pair for pair in rest if pairs[pair] == code}
        found = E.ite(_among(a, b, third), code, found)
    return DType(E.ite(_among(a, b, first), a.code, found))


def _possible(dtype: DType) -> tuple[int, ...]:
    """The codes that a dtype may have."""
    low, high = E.bounds(dtype.code)
    last = len(dt.NAMES) - 1
    return tuple(range(low or 0, (last if high is None else min(high, last)) + 1))


@cache
def _promoted(a: int, b: int) -> int:
    return dt.CODES[_promote_names(dt.NAMES[a], dt.NAMES[b])]


def _among(a: DType, b: DType, pairs: Collection[tuple[int, int]]) -> Bool:
    """Whether the dtypes are one of the pairs; those that have the same partners are one case."""
    partners: dict[int, set[int]] = {}
    for x, y in pairs:
        partners.setdefault(x, set()).add(y)
    cases: dict[frozenset[int], set[int]] = {}
    for x, codes in partners.items():
        cases.setdefault(frozenset(codes), set()).add(x)
    return E.or_(*(E.and_(_one_of(a, x), _one_of(b, y)) for y, x in cases.items()))


def _one_of(dtype: DType, codes: Collection[int]) -> Bool:
    return E.TRUE if set(_possible(dtype)) <= set(codes) else dtype.among(frozenset(codes))


def of_scalar(value: object) -> DType | None:
    """The dtype that an untyped scalar counts as: bool uint8, int int32, float float32."""
    if isinstance(value, (bool, Bool)):
        return DType.named("uint8")
    if isinstance(value, (Expr, int)):
        return DType.named("int32")
    if isinstance(value, float):
        return DType.named("float32")
    return None
