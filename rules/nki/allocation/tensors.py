"""Checks of tensors, and where they lie."""

from __future__ import annotations

from collections.abc import Mapping

from rules.nki import kit
from verifier.symbolic import expr as E
from verifier.symbolic.checks import Check
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.tensors import Storage, StorageKind, View


def tensor_name(storage: Storage) -> str:
    return storage.name or ("result" if storage.kind is StorageKind.RESULT else "tile")


def storage_check(
    storage: Storage,
    argument: str,
    predicate: Bool,
    text: str,
    message: str,
    *facts: str,
    values: tuple[tuple[str, Expr], ...] = (),
    help: tuple[str, ...] = (),
    given: tuple[Bool, ...] = (),
    severity: str | None = None,
) -> Check:
    """A check of an allocation, at its argument ``argument`` if the dialect kept its place."""
    return Check(
        predicate=predicate,
        span=storage.argument_spans.get(argument, storage.span),
        text=text,
        message=message,
        facts=kit.catalogue(facts),
        given=given,
        values=values,
        help=help,
        severity=severity,
    )


def byte_range(view: View) -> tuple[Expr, Expr] | None:
    """First and last byte per partition that a view touches, from the start of its tile."""
    if not view.exact or view.frame_partition is None:
        return None
    axis = view.frame_partition
    first: Expr = E.const(0)
    step: Expr = E.const(1)
    for position in range(len(view.frame) - 1, axis, -1):
        first = first + view.coords[position] * step
        step = step * view.frame[position]
    low = E.Substitution({a.symbol: E.const(0) for a in view.axes}).expr(first)
    high = E.Substitution({a.symbol: a.size - 1 for a in view.axes}).expr(first)
    size = view.dtype.itemsize
    return low * size, high * size + size - 1


def placed_at(placement: Mapping[str, object], key: str) -> Expr | None:
    return kit.as_expr(placement.get(key))
