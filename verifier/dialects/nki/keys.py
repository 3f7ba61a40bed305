"""What a tensor may be indexed with: integers, slices, `nl.ds`, `...`, and in Beta 1 index arrays.

Where they point is for :mod:`verifier.symbolic.views` to check; what is none of them is an error at
once (NKI-X01).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from verifier.dialects.nki import parameter_kinds
from verifier.dialects.nki.parameter_kinds import Given
from verifier.dialects.nki.versions import newer
from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.machine import Machine
from verifier.symbolic.tensors import View
from verifier.symbolic.values import DynamicSlice, IndexMask, Missing, Range, SliceValue

KEY_RULE: Final = "subscript-key"

_KEYS: Final = "integers, slices, `nl.ds` and one `...`"
#: what may stand in a subscript, as far as is known of what it is
_INDICES: Final = frozenset(
    {None, Given.NUMBER, Given.REGISTER, Given.SLICE, Given.ELLIPSIS, Given.INDICES}
)
#: what may bound a slice, besides nothing
_BOUNDS: Final = frozenset({None, Given.NUMBER, Given.REGISTER, Given.INDICES})


def told(machine: Machine, view: View, items: Sequence[object], span: Span) -> Sequence[object]:
    """The items of a subscript as what they are: inputs of Beta 1 that are tensors of indices."""
    if machine.api == "beta1":
        tensor = (parameter_kinds.given(machine, i, span) is Given.TENSOR for i in items)
        return [
            (machine.as_view(item, span) or item) if known else item
            for item, known in zip(items, tensor, strict=True)
        ]
    return _sliced(machine, view, items, span)


def _sliced(machine: Machine, view: View, items: Sequence[object], span: Span) -> Sequence[object]:
    """The items of a subscript, its ranges as the slices that they go along.

    NKI 0.4 takes them so: `t[rows, columns]` of two `nl.affine_range` is the part that they span,
    as what ran on trn2 shows (aws-neuron/nkipy, examples/playground/simple_nki_kernel.py at
    5dbfb1a). Of 0.3 that is not known.
    """
    if not newer(machine.api, "0.3") or not any(isinstance(item, Range) for item in items):
        return items
    if not newer(machine.api, "0.4"):
        machine.check(
            KEY_RULE,
            E.FALSE,
            span,
            f"`{view.name}` is indexed with {_KEYS}",
            f"`{view.name}` is indexed with a range, of which NKI 0.4 and later make a slice",
            facts=("X01",),
            severity="warning",
        )
    return [
        SliceValue(item.start, item.stop, item.step) if isinstance(item, Range) else item
        for item in items
    ]


def checked(machine: Machine, view: View, items: Sequence[object], span: Span) -> Missing | None:
    """A subscript with an item that is none of what there may be; None if there is no such item."""
    old = machine.api == "beta1"
    for what, fact in _wrong(machine, items, old, span):
        arrays = ", or index arrays" if old else ""
        machine.check(
            KEY_RULE,
            E.FALSE,
            span,
            f"`{view.name}` is indexed with {_KEYS}{arrays}",
            f"`{view.name}` is indexed with {what}",
            facts=(fact,),
            help=_INSTEAD.get(what, ()),
        )
        return Missing(f"a part of `{view.name}`", api=True, part_of=view)
    return None


def _wrong(
    machine: Machine, items: Sequence[object], old: bool, span: Span
) -> Iterator[tuple[str, str]]:
    """What is wrong with the items of a subscript, and the row that says so."""
    if sum(item is Ellipsis for item in items) > 1:
        yield "more than one `...`", "X01"
    # Beta 1 had index arrays and dynamic indices, and does not say that an axis is made by None
    arrays = frozenset({Given.TENSOR, Given.NONE}) if old else frozenset()
    for item in items:
        found = parameter_kinds.given(machine, item, span)
        if isinstance(item, SliceValue):
            for bound in (item.start, item.stop, item.step):
                kind = parameter_kinds.given(machine, bound, span)
                if (bound is not None and kind not in _BOUNDS | arrays) or isinstance(bound, float):
                    assert kind is not None
                    yield _said(kind, bound, "a slice with {} for a bound")
        elif found not in _INDICES | arrays or isinstance(item, (float, IndexMask)):
            assert found is not None
            yield _said(found, item, "{}")
        elif isinstance(item, DynamicSlice) and isinstance(item.start, float):
            yield "`nl.ds` from a float on", "X01"


def _said(found: Given, value: object, text: str) -> tuple[str, str]:
    words = "a float" if isinstance(value, float) else found.value
    return text.format(words), "M027" if found is Given.TENSOR else "X01"


_INSTEAD: Final = {
    Given.NONE.value: ("`expand_dim` (from NKI 0.5 on) and `reshape` make an axis of extent 1",),
    Given.TENSOR.value: (
        "write `.ap(..., scalar_offset=t)` for one index, `vector_offset=` for one of each row",
    ),
}

__all__ = ["KEY_RULE", "checked", "told"]
