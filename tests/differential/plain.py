"""What parameters are given that are no operands: by their name, their default, or anything."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.differential.kernels import Plain, Shape, Text, number
from verifier.dialects.signature import Parameter
from verifier.symbolic import expr as E
from verifier.symbolic.roles import Limit


def nested(value: Any) -> Plain:
    """Lists and tuples of integers."""

    def read(item: Any) -> object:
        return tuple(map(read, item)) if isinstance(item, (list, tuple)) else E.const(item)

    return Plain(repr(value), read(value))


def any_of(*values: Any) -> Callable[[Text, Shape], Plain]:
    def chosen(text: Text, shape: Shape) -> Plain:
        return nested(text.rng.choice(values))

    return chosen


def fraction(text: Text, shape: Shape) -> Plain:
    return number(text.rng.choice((0.0, 0.25, 0.5, 1.0)))


def dtype(text: Text, shape: Shape) -> Plain:
    return text.typed(text.rng.choice(text.dtypes))


def written(*texts: str) -> Callable[[Text, Shape], Plain]:
    """What a description has no use for."""

    def chosen(text: Text, shape: Shape) -> Plain:
        return Plain(text.rng.choice(texts), text)

    return chosen


def within(text: Text, limit: Limit) -> int:
    """A number that a description admits, or one beside those."""
    least, most = limit.least or 0, limit.most if limit.most is not None else 64
    near = (limit.multiple_of, *limit.among, *limit.also, least, most)
    if text.slips():
        return text.rng.choice((least - 1, most + 1, *near))
    return text.rng.choice((*limit.among, *limit.also) or near)


def plain(
    text: Text, parameter: Parameter, shape: Shape, limit: Limit | None = None
) -> Plain | None:
    """The argument of a parameter that is no operand; None: it is left out.

    ``shape``: of the operands of the call. ``limit``: what its description says of it.
    """
    default = parameter.default
    if default is not None and not text.given(parameter):
        return None
    known = text.named.get(parameter.name)
    if known is not None and not text.slips(0.3):
        return known(text, shape)
    if limit is not None:
        return number(within(text, limit))
    member = text.member(default or "")
    if member is not None:
        return member
    if default in ("True", "False"):
        return number(text.one(0.5))
    if default is None or default == "None" or text.slips(0.3):
        choices = (number(0), number(1), number(2), number(0.5), number(True), nested((1,)))
        return text.rng.choice(choices)
    return number(text.rng.choice((0, 1, 2))) if "." not in default else fraction(text, shape)
