"""Operands of one function of PPL that share memory: in place, element by element, or not at all.

What a function reads and writes, and which element goes where, is said by its footprint. The
chips' manuals promise no order in which the elements of one instruction are taken. Where each
element is read for the result that lies in its place alone, none is needed; everywhere else, what
is written first may be what has yet to be read.
"""

from __future__ import annotations

from collections.abc import Iterator

from rules.tpu.ppl_kit import check, declare, described, elementwise, function, is_device
from verifier.hardware.chips import Chip
from verifier.rulebase import On
from verifier.symbolic import expr as E
from verifier.symbolic.checks import Check
from verifier.symbolic.effects import Carried, Fate, Folded
from verifier.symbolic.expr import Bool
from verifier.symbolic.instruction import Instruction
from verifier.symbolic.roles import Elements, Match
from verifier.symbolic.tensors import Box, View
from verifier.symbolic.trace import Operation


def partly_in_place(op: Operation, chip: Chip) -> Iterator[Check]:
    """A result lies exactly where a source does that it is made of element by element, or apart
    from it."""
    if not is_device(op) or described(op).moves_out:
        return
    instruction = described(op)
    for target, written in op.writes:
        for source, read in op.reads:
            if source == target or written.storage is not read.storage:
                continue
            if written.instance != read.instance or _converted(instruction, target, written, read):
                continue
            by_element = _by_element(op, source, target, written)
            if by_element and op.view(source) is op.view(target):
                continue
            fine = _apart_or_same(written, read, by_element)
            if fine is E.TRUE:
                continue
            how = "are the same elements, or share none" if by_element else "share no elements"
            yield check(
                op,
                target,
                E.FALSE if fine is None else fine,
                f"{target} and {source} {how}",
                f"{target} of `pl.{function(op)}` overlaps its {source}"
                + (" in part" if by_element else ""),
                "ADR-11",
                views=(read,),
                help=(
                    "what is read before it is overwritten is documented nowhere: give the result "
                    "a tensor of its own",
                ),
                exact=fine is not None,
                reason="" if fine is not None else "which elements both are is not known exactly",
            )


def _converted(instruction: Instruction, target: str, written: View, read: View) -> bool:
    """Whether elements become others of another width where they lie, which has a rule (B10)."""
    role = instruction.role(target)
    same = role.same_dtype if role is not None else None
    converts = same is not None and same.by is Match.NO_WIDER_IN_PLACE
    return converts and written.dtype.itemsize is not read.dtype.itemsize


def _by_element(op: Operation, source: str, target: str, written: View) -> bool:
    """Whether an element of a source matters to the element at the same place alone."""
    instruction = described(op)
    role = instruction.role(source)
    paired = role is not None and isinstance(role.shape, Elements)
    here = tuple(axis.index for axis in written.axes)

    def there(fate: Fate) -> bool:
        if isinstance(fate, Carried) and fate.to == target:
            index = fate.source(op, here)
            return index == here or (index is None and paired)
        return not isinstance(fate, Folded) and paired

    reads = instruction.footprint.reads_of(source)
    return bool(reads) and all(there(read.fate) for read in reads)


def _apart_or_same(written: View, read: View, by_element: bool) -> Bool | None:
    """None: which elements they are is not known."""
    one, other = _box(written), _box(read)
    if one is None or other is None or written.frame != read.frame:
        return None
    if written.dtype.itemsize is not read.dtype.itemsize:
        return None
    pairs = list(zip(one, other, strict=True))
    apart = E.or_(
        *(E.or_(E.le(a + m, b), E.le(b + n, a)) for (a, m), (b, n) in pairs),
    )
    if not by_element:
        return apart
    same = E.and_(*(E.and_(E.eq(a, b), E.eq(m, n)) for (a, m), (b, n) in pairs))
    return E.or_(same, apart)


def _box(view: View) -> Box | None:
    """Start and extent along each dimension, if the axes of the view are those of its tensor."""
    if not view.exact or view.mask is not E.TRUE or len(view.axes) != len(view.coords):
        return None
    straight = all(
        axis.symbol in coord.free() or axis.size is E.const(1)
        for axis, coord in zip(view.axes, view.coords, strict=True)
    )
    return view.box if straight else None


declare(
    "ppl-partly-in-place",
    "PPL078",
    On.OPERATION,
    "a result lies exactly where its source does, or shares nothing with it",
    "Functions that work element by element may work in place: each element is read before the one "
    "in its place is written. Windows, products and transpositions read an element for several "
    "results, and parts that overlap are shifted against each other: there the order decides in "
    "which the hardware takes elements, and no document says one.",
    ("ADR-11",),
    partly_in_place,
    elementwise(
        "pl.tiu.fmul(b, a, 2.0)\n"
        "pl.tiu.fadd(b.sub_view([1, rows, 1, 64], [0, 0, 0, 32]), "
        "b.sub_view([1, rows, 1, 64], [0, 0, 0, 0]), 1.0)"
    ),
    elementwise(
        "pl.tiu.fmul(b, a, 2.0)\n"
        "pl.tiu.fadd(b.sub_view([1, rows, 1, 64], [0, 0, 0, 32]), "
        "b.sub_view([1, rows, 1, 64], [0, 0, 0, 32]), 1.0)"
    ),
    severity="warning",
)


__all__ = ["partly_in_place"]
