"""The mutable state of the interpreted program, cheap to fork and possible to merge.

Everything mutable (scopes, lists, dictionaries, instances) is a *box* in a :class:`Heap`,
referred to by number. A fork shares boxes; a box is copied when a heap that does not own it
writes to it.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from verifier.symbolic import expr as E
from verifier.symbolic.expr import Expr, Sym
from verifier.symbolic.values import Ref

_owners = itertools.count(1)


class Unbound:
    """The value of a name that no statement has bound on this path."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "<unbound>"


UNBOUND = Unbound()


@dataclass(slots=True)
class Scope:
    """A function's or module's names. ``parent`` is the scope it closes over, if any."""

    names: dict[str, object] = field(default_factory=dict)
    parent: int | None = None
    owner: int = 0

    def copy(self, owner: int) -> Scope:
        return Scope(dict(self.names), self.parent, owner)


@dataclass(frozen=True, slots=True)
class Item:
    """One element of a list."""

    value: object


@dataclass(frozen=True, slots=True)
class Many:
    """A run of ``count`` times ``len(values)`` elements, ``values`` in terms of ``index``."""

    count: Expr
    index: Sym
    values: tuple[object, ...]

    @property
    def length(self) -> Expr:
        return self.count * len(self.values)


Segment = Item | Many


@dataclass(slots=True)
class ListBox:
    """A list: concrete items and symbolic runs, in order. ``kind`` is ``list`` or ``set``."""

    segments: tuple[Segment, ...] = ()
    kind: str = "list"
    owner: int = 0

    def copy(self, owner: int) -> ListBox:
        return ListBox(self.segments, self.kind, owner)

    @property
    def concrete(self) -> tuple[object, ...] | None:
        """The items if all are concrete."""
        out = []
        for segment in self.segments:
            if not isinstance(segment, Item):
                return None
            out.append(segment.value)
        return tuple(out)

    @property
    def length(self) -> Expr:
        total = E.const(0)
        for segment in self.segments:
            total = total + (1 if isinstance(segment, Item) else segment.length)
        return total


@dataclass(slots=True)
class DictBox:
    items: dict[object, object] = field(default_factory=dict)
    owner: int = 0

    def copy(self, owner: int) -> DictBox:
        return DictBox(dict(self.items), owner)


@dataclass(slots=True)
class ObjectBox:
    """An instance: its class and attributes."""

    cls: object
    attributes: dict[str, object] = field(default_factory=dict)
    owner: int = 0

    def copy(self, owner: int) -> ObjectBox:
        return ObjectBox(self.cls, dict(self.attributes), owner)


Box = Scope | ListBox | DictBox | ObjectBox


class Heap:
    """Boxes by number. ``base`` holds what module level created; it is never rolled back."""

    def __init__(self, base: dict[int, Box] | None = None, ids: Iterator[int] | None = None):
        self.boxes: dict[int, Box] = {}
        self.base = base if base is not None else {}
        self.ids = ids if ids is not None else itertools.count(1)
        self.owner = next(_owners)

    def fork(self) -> Heap:
        """A heap with the same contents; from now on neither sees the other's writes."""
        other = Heap(self.base, self.ids)
        other.boxes = dict(self.boxes)
        self.owner = next(_owners)
        return other

    def new(self, box: Box) -> Ref:
        box.owner = self.owner
        number = next(self.ids)
        self.boxes[number] = box
        return Ref(number)

    def new_base(self, box: Box) -> Ref:
        """A box of module level: visible on every path, whatever is rolled back later."""
        number = next(self.ids)
        self.base[number] = box
        return Ref(number)

    def get(self, number: int) -> Box:
        box = self.boxes.get(number)
        return self.base[number] if box is None else box

    def write(self, number: int) -> Box:
        """The box, private to this heap."""
        box = self.get(number)
        if box.owner != self.owner or number not in self.boxes:
            box = box.copy(self.owner)
            self.boxes[number] = box
        return box

    def adopt(self, other: Heap) -> None:
        """Take over the contents of a fork that is used no more."""
        self.boxes = other.boxes
        self.owner = other.owner


def merge(
    into: Heap,
    test: E.Bool,
    then: Heap,
    other: Heap,
    join: Callable[[E.Bool, object, object], object],
) -> None:
    """Make ``into`` what it is after ``then`` if ``test`` holds, else after ``other``."""
    out: dict[int, Box] = {}
    owner = next(_owners)
    numbers = dict.fromkeys([*then.boxes, *other.boxes])
    for number in numbers:
        left, right = then.boxes.get(number), other.boxes.get(number)
        if left is None:
            left = then.base.get(number)
        if right is None:
            right = other.base.get(number)
        if left is None or right is None or left is right:
            box = left if left is not None else right
            assert box is not None
            out[number] = box
        else:
            out[number] = _merge_box(test, left, right, join, owner)
    into.boxes = out
    into.owner = owner


def _merge_names(
    test: E.Bool,
    left: dict[str, object],
    right: dict[str, object],
    join: Callable[[E.Bool, object, object], object],
) -> dict[str, object]:
    return {
        name: join(test, left.get(name, UNBOUND), right.get(name, UNBOUND))
        for name in dict.fromkeys([*left, *right])
    }


def _merge_box(
    test: E.Bool,
    left: Box,
    right: Box,
    join: Callable[[E.Bool, object, object], object],
    owner: int,
) -> Box:
    if isinstance(left, Scope) and isinstance(right, Scope):
        return Scope(_merge_names(test, left.names, right.names, join), left.parent, owner)
    if isinstance(left, ObjectBox) and isinstance(right, ObjectBox):
        names = _merge_names(test, left.attributes, right.attributes, join)
        return ObjectBox(left.cls, names, owner)
    if isinstance(left, DictBox) and isinstance(right, DictBox):
        keys = dict.fromkeys([*left.items, *right.items])
        items = {
            k: join(test, left.items.get(k, UNBOUND), right.items.get(k, UNBOUND)) for k in keys
        }
        return DictBox(items, owner)
    if isinstance(left, ListBox) and isinstance(right, ListBox):
        return ListBox(_merge_segments(test, left.segments, right.segments, join), left.kind, owner)
    raise AssertionError((left, right))  # pragma: no cover - a number never changes its kind


def _merge_segments(
    test: E.Bool,
    left: tuple[Segment, ...],
    right: tuple[Segment, ...],
    join: Callable[[E.Bool, object, object], object],
) -> tuple[Segment, ...]:
    out: list[Segment] = []
    common = min(len(left), len(right))
    for a, b in zip(left[:common], right[:common], strict=True):
        if a is b or a == b:
            out.append(a)
        elif isinstance(a, Item) and isinstance(b, Item):
            out.append(Item(join(test, a.value, b.value)))
        else:
            break
    else:
        a_rest, b_rest = left[common:], right[common:]
        for segment in a_rest:
            out.append(_optional(test, segment))
        for segment in b_rest:
            out.append(_optional(E.not_(test), segment))
        return tuple(out)
    done = len(out)
    out.extend(_optional(test, s) for s in left[done:])
    out.extend(_optional(E.not_(test), s) for s in right[done:])
    return tuple(out)


def _optional(test: E.Bool, segment: Segment) -> Segment:
    """A segment that is there only if ``test`` holds: a run of length one or zero."""
    if isinstance(segment, Many):
        return Many(E.ite(test, segment.count, 0), segment.index, segment.values)
    index = E.fresh("item", 0, origin="loop").as_atom()
    assert isinstance(index, Sym)
    return Many(E.ite(test, 1, 0), index, (segment.value,))
