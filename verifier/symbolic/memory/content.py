"""What a location of PSUM holds, and what operations without operands write."""

from __future__ import annotations

from enum import Enum

from verifier.symbolic.expr import Expr
from verifier.symbolic.trace import Operation


class Content(Enum):
    """What a location of PSUM holds."""

    NOTHING = "no sum"
    ZEROS = "zeros that no multiplication wrote"
    FOREIGN = "what no multiplication wrote"
    SUM = "a sum"
    USED = "a sum that was read"


def written(operation: Operation) -> Content:
    """What the locations hold that an operation writes which is no multiplication."""
    return Content.ZEROS if constant(operation) == 0 else Content.FOREIGN


def constant(operation: Operation) -> int | float | None:
    """The number that an operation writes everywhere, if it reads nothing and that is known."""
    if operation.reads or len(operation.writes) != 1:
        return None
    if operation.name.rpartition(".")[2].startswith("zeros"):
        return 0
    for role in ("value", "fill_value", "constant"):
        value = operation.value(role)
        if isinstance(value, Expr) and value.is_const:
            return value.const
        if isinstance(value, int | float):
            return value
    return None
