"""What the compiler of Beta 1 rejects: masks, indices and extents that it cannot take.

All of it ended with Beta 1: later generations have no masks and no index arrays, and their loops
run while the kernel is traced. Each check here is of a rule of ``rules/nki/views/beta1.py``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from msgspec.structs import replace

from verifier.source import ir
from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic import views
from verifier.symbolic.expr import FALSE, Bool, BoolKind, Expr, Origin, Sym
from verifier.symbolic.machine import Machine
from verifier.symbolic.pretty import pretty
from verifier.symbolic.roles import Role
from verifier.symbolic.tensors import LoopKind, Operand, View
from verifier.symbolic.trace import LedgerKind
from verifier.symbolic.values import IndexMask, SliceValue

#: what one trace stands for all values of: indices of arrays, of loops, of programs
_INDICES: Final = frozenset({Origin.LOOP, Origin.AXIS})
_BENT: Final = "what is not affine in indices"
#: loops whose bodies are traced once
ONCE: Final = frozenset({LoopKind.AFFINE, LoopKind.SEQUENTIAL, LoopKind.RANGE})


# ------------------------------------------------------------------------------- masks


def mask(machine: Machine, operand: Operand) -> None:
    """A mask is a conjunction of comparisons that are affine in indices (NKI-X64)."""
    value = operand.value
    what = ""
    if isinstance(value, View):
        what = f"the tensor `{value.name}`, which is known at run time only"
    elif isinstance(value, (IndexMask, Bool)):
        condition = value.condition if isinstance(value, IndexMask) else value
        bent = isinstance(value, IndexMask) and value.bent
        what = _BENT if bent else next(_unfit(condition), "")
    if not what:
        return
    machine.check(
        "beta1-mask",
        FALSE,
        operand.span,
        "a mask is a conjunction of affine comparisons of indices",
        f"a mask is made of {what}",
        facts=("NKI-X64", "NKI-E33"),
        help=(
            "write each condition as a comparison of sums of indices times constants, and join "
            "them by `&`; for what only the device knows, choose with `nl.where`",
        ),
    )


def _unfit(condition: Bool) -> Iterator[str]:
    """What is no conjunction of affine comparisons in it, in words."""
    if not _varies(condition.free()):
        return  # the trace settles it
    if condition.kind is BoolKind.AND:
        for part in condition.args:
            yield from _unfit(part)
    elif condition.kind is BoolKind.OR:
        yield "a disjunction"
    elif condition.expr is not None and not is_affine(condition.expr):
        yield _BENT


def is_affine(expr: Expr) -> bool:
    """Whether an expression is a sum of indices, each times what the trace knows."""
    for mono, _ in expr.terms:
        indices = 0
        for atom in mono:
            if isinstance(atom, Sym):
                indices += atom.origin in _INDICES
            elif isinstance(atom, E.Div) and _varies(E.from_atom(atom).free()):
                return False
        if indices > 1:
            return False
    return True


def _varies(symbols: Iterable[Sym]) -> bool:
    return any(symbol.origin in _INDICES for symbol in symbols)


# ------------------------------------------------------------------------------- indices


def gathered(machine: Machine, role: Role, view: View, text: str, span: Span) -> View:
    """The operand, whose elements may lie where another tile says, as far as the function cares."""
    if role.direct and view.indices:
        _runtime(
            machine,
            span,
            f"{role.name} of {text} is indexed with what the trace knows",
            f"`{text}` takes no tensor that is indexed with a tile",
            (role.direct,),
            "load the rows with `nl.load` or `nisa.dma_copy`, which take such indices, first",
        )
    if role.rows or not view.bounds:
        return view
    return replace(view, bounds=tuple(b for b in view.bounds if b.rule != views.BY_ROWS))


def assigned(machine: Machine, target: View, value: object, span: Span) -> None:
    """A copy by assignment knows where the elements lie (NKI-E11)."""
    for view in (target, value):
        if isinstance(view, View) and view.indices and view.buffer.on_chip:
            _runtime(
                machine,
                span,
                f"elements of `{view.name}` that are copied lie where the trace knows",
                f"an assignment copies elements of `{view.name}` that a tile picks",
                ("NKI-E11", "NKI-CPY06"),
                "copy with `nisa.tensor_copy_dynamic_src` or `nisa.tensor_copy_dynamic_dst`",
            )


def _runtime(
    machine: Machine, span: Span, text: str, message: str, facts: tuple[str, ...], help_: str
) -> None:
    machine.check(views.BY_ROWS, FALSE, span, text, message, facts=facts, help=(help_,))


def both_indices(machine: Machine, view: View, index: Sequence[object], span: Span) -> None:
    """A tile of one row, or of one column, is indexed in both dimensions (NKI-X68)."""
    if view.rank != 2 or not view.buffer.on_chip or len(index) != 1:
        return
    (item,) = index
    whole = isinstance(item, SliceValue) and item.start is None and item.stop is None
    if whole or item is None or item is Ellipsis:
        return
    if any(machine.decide(E.eq(size, 1)) is True for size in view.shape):
        machine.check(
            "beta1-index-rank",
            FALSE,
            span,
            f"`{view.name}` is indexed in both dimensions",
            f"`{view.name}` has one row or one column, and is indexed in one dimension",
            facts=("NKI-X68",),
            help=("write both indices: `t[0:n, 0]`, or `t[0, 0:m]`",),
        )


# ------------------------------------------------------------------------------- loops


def goes_on(machine: Machine, stmt: ir.If) -> None:
    """The body of a loop is traced once: what ends some of its rounds early is documented nowhere
    (NKI-LP12)."""
    for node in ir.own((*stmt.body, *stmt.orelse)):
        if isinstance(node, ir.Continue):
            text = "what `continue` in some rounds means to a loop that is traced once is not known"
            machine.approximate(LedgerKind.OPAQUE, text, node.span)
            return


# ------------------------------------------------------------------------------- extents


def extents(machine: Machine, sizes: tuple[Expr, ...], what: str, span: Span) -> None:
    """Sizes are known when the kernel is traced, where a loop's index is not (NKI-LP11)."""
    traced = {loop.symbol: loop.name for loop in machine.loops if loop.kind in ONCE}
    for size in sizes:
        name = next((traced[symbol] for symbol in size.free() if symbol in traced), None)
        if name is not None:
            machine.check(
                "beta1-static-size",
                FALSE,
                span,
                f"{pretty(size)} is the same in every iteration",
                f"the extent of {what} depends on `{name}`, the index of a loop",
                facts=("NKI-LP11",),
                help=(
                    "take the largest extent and leave out the rest with `mask=`, or unroll the "
                    "loop with `nl.static_range`",
                ),
            )
            return


__all__ = [
    "ONCE",
    "assigned",
    "both_indices",
    "extents",
    "gathered",
    "goes_on",
    "is_affine",
    "mask",
]
