"""What a call of a matmul asks for."""

from __future__ import annotations

from rules.nki import kit
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.tensors import View
from verifier.symbolic.trace import Operation


def double_row(op: Operation) -> bool:
    """Whether the call asks for one of the double-row modes."""
    mode = kit.choice(op.value("perf_mode"))
    return mode is not None and mode.startswith("double_row")


def free_columns(op: Operation, view: View) -> Expr:
    """``M`` or ``N``: free elements of a row; double row has two rows in the first free dim."""
    if double_row(op) and view.rank >= 3:
        return kit.product(view.shape[2:])
    return view.free


def tile_size(op: Operation) -> tuple[Expr, Expr] | None:
    """``(row size, column size)`` of a tiled matmul, None without tiling."""
    sizes = kit.integers(op.value("tile_size"))
    return (sizes[0], sizes[1]) if sizes is not None and len(sizes) == 2 else None


def transposes(op: Operation) -> Bool:
    """Whether ``is_transpose`` is set."""
    return kit.flag(op, "is_transpose")
