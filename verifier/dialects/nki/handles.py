"""What an instruction returns since NKI 0.6: a handle, by which others are put behind it (NKI-N13).

It is no tile: what was computed is in ``dst`` (NKI-M002). What may be done with it: ``orders.py``.
"""

from __future__ import annotations

from verifier.dialects.nki.binding import SIGNATURE_RULE
from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Sym
from verifier.symbolic.machine import Machine
from verifier.symbolic.tensors import LoopKind
from verifier.symbolic.values import Guarded, Missing, Opaque


class Handle(Opaque, frozen=True):
    """An instruction that was issued; ``within``: the indices of the device's loops around it.

    ``number`` tells it from others.
    """

    within: tuple[Sym, ...] = ()
    text: str = ""
    number: int = -1


def issued(machine: Machine, text: str, number: int) -> Handle:
    """The handle of the instruction that is issued now, at a place in the program's order."""
    loops = (loop for loop in machine.loops if loop.kind is LoopKind.DYNAMIC)
    within = tuple(loop.symbol for loop in loops)
    said = "handle of an instruction"
    return Handle(said, harmless=True, within=within, text=text, number=number)


def tile_of(machine: Machine, value: object, span: Span) -> object:
    """A value that is used as a tile, without the paths on which it is the handle of an
    instruction: these are reported, and what there is on them alone is taken to be a tile."""
    cases = value.cases if isinstance(value, Guarded) else ((E.TRUE, value),)
    found = [(guard, item) for guard, item in cases if isinstance(item, Handle)]
    if not found:
        return value
    guards, (handle, *_) = zip(*found, strict=True)
    text = handle.text
    machine.check(
        SIGNATURE_RULE,
        E.not_(E.or_(*guards)),
        span,
        f"the result of `{text}` is used as no tile",
        f"`{text}` returns no tile: what it computes is in its `dst` alone",
        facts=("M002",),
        help=(f"call `{text}` without assigning its result, and use the tile given as `dst`",),
    )
    rest = [case for case in cases if case not in found]
    if not rest:
        return Missing(f"the result of `{text}`", api=True)
    return rest[0][1] if len(rest) == 1 else Guarded(tuple(rest))


__all__ = ["Handle", "issued", "tile_of"]
