"""Result dtypes of arithmetic between tiles and scalars (NKI-T12)."""

from __future__ import annotations

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

    With a dtype that depends on an input the answer is a case distinction that is exact for
    floats of two sizes and for a float with an integer.
    """
    if a.name is not None and b.name is not None:
        return DType.named(_promote_names(a.name, b.name))
    if a.code is b.code:
        return a
    floats, integers = dt.of_class("float"), dt.of_class("int")
    wide = E.const(dt.CODES["float32"])
    mixed = E.ite(
        E.and_(a.among(floats), b.among(integers)),
        a.code,
        E.ite(E.and_(a.among(integers), b.among(floats)), b.code, wide),
    )
    return DType(E.ite(a.same(b), a.code, mixed))


def of_scalar(value: object) -> DType | None:
    """The dtype that an untyped scalar counts as: bool uint8, int int32, float float32."""
    if isinstance(value, (bool, Bool)):
        return DType.named("uint8")
    if isinstance(value, (Expr, int)):
        return DType.named("int32")
    if isinstance(value, float):
        return DType.named("float32")
    return None
