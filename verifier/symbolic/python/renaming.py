"""Renaming loop indices in values, with copies of what depends on them."""

from __future__ import annotations

from msgspec.structs import replace

from verifier.symbolic.expr import Bool, Expr, Substitution, Sym
from verifier.symbolic.python.heap import (
    Box,
    DictBox,
    Heap,
    Item,
    ListBox,
    ObjectBox,
    Segment,
    SetBox,
    StandIn,
)
from verifier.symbolic.python.parts import COMPOUND, entries, mentions, reachable
from verifier.symbolic.tensors import View
from verifier.symbolic.values import Ref
from verifier.symbolic.views import substitute_view


class Renaming:
    """Replaces symbols in values; lists and objects that depend on them are copied.

    So are the ``fresh`` boxes, which each trip of a loop makes anew. The copies are ghosts: they
    can be read, a write to one would be lost. ``own``: the boxes that a trip makes anew; the
    others stay what they are, whatever they hold by then.
    """

    def __init__(
        self,
        heap: Heap,
        symbols: dict[Sym, Expr],
        fresh: frozenset[int] = frozenset(),
        *,
        own: frozenset[int] | None = None,
    ) -> None:
        self._own = own
        self._heap = heap
        self._symbols = frozenset(symbols)
        self._fresh = fresh
        self._substitution = Substitution(symbols)
        self._copies: dict[int, Ref] = {}

    def value(self, value: object) -> object:
        """The value with the symbols replaced."""
        if isinstance(value, Expr):
            return self._substitution.expr(value)
        if isinstance(value, Bool):
            return self._substitution.bool(value)
        if isinstance(value, View):
            held = tuple(replace(h, register=self.value(h.register)) for h in value.held)
            return replace(substitute_view(value, self._substitution), held=held)
        if isinstance(value, Ref):
            return self._ref(value)
        compound = COMPOUND.get(type(value))
        if compound is None:
            return value
        old = list(compound[0](value))
        new = [self.value(part) for part in old]
        if all(x is y for x, y in zip(old, new, strict=True)):
            return value
        return compound[1](value, iter(new))

    def _ref(self, ref: Ref) -> Ref:
        if ref.id in self._copies:
            return self._copies[ref.id]
        if not self._depends(ref):
            return ref
        box = self._heap.get(ref.id)
        if self._own is not None and ref.id not in self._own and not box.ghost:
            return ref
        box = box.copy()
        box.ghost = True
        copy = self._heap.new(box)
        self._copies[ref.id] = copy
        self._rename_box(box)
        return copy

    def _depends(self, ref: Ref) -> bool:
        if self._fresh and any(n in self._fresh for n in reachable(self._heap, (ref,))):
            return True
        return mentions(ref, self._symbols, self._heap)

    def _rename_box(self, box: Box) -> None:
        if isinstance(box, ListBox):
            box.segments = tuple(self.segment(x) for x in box.segments)
        elif isinstance(box, (DictBox, SetBox)):
            box.items = {self._key(k): self.value(v) for k, v in box.items.items()}
        else:
            held = entries(box)
            for key, value in list(held.items()):
                held[key] = self.value(value)
        if isinstance(box, ObjectBox):
            box.payload = self.value(box.payload)

    def _key(self, key: object) -> object:
        if isinstance(key, StandIn):
            return StandIn(key.key, self.value(key.value))
        return self.value(key) if isinstance(key, (Ref, tuple)) else key

    def segment(self, segment: Segment) -> Segment:
        if isinstance(segment, Item):
            return Item(self.value(segment.value))
        count = self._substitution.expr(segment.count)
        return replace(segment, count=count, values=tuple(self.value(v) for v in segment.values))
