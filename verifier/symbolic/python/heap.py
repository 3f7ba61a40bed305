"""The mutable state of the interpreted program, cheap to fork and possible to merge.

Everything mutable (scopes, lists, dictionaries, instances) is a *box* in a :class:`Heap`,
referred to by number. A fork shares boxes; a box is copied when a heap that does not own it
writes to it.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from verifier.symbolic import expr as E
from verifier.symbolic.expr import Expr, Sym
from verifier.symbolic.values import Ref

_owners = itertools.count(1)

Join = Callable[[E.Bool, object, object], object]

#: runs of a list, or parts that are there on some paths only, that are followed where paths meet:
#: where they do so in nested loops, they may become twice as many each time
MOST_RUNS: Final = 48


class Unbound:
    """The value of a name, attribute or key that is not there on this path."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "<unbound>"


UNBOUND = Unbound()


class Box(Struct, kw_only=True):
    """A mutable object. ``owner`` is the heap that may write to it.

    ``ghost`` marks a copy that stands for an object of some trip of a loop: it can be read, but a
    write to it would not reach the object itself.
    """

    owner: int = 0
    ghost: bool = False

    def copy(self) -> Box:
        """A box of its own with the same contents."""
        return replace(self)


class Scope(Box):
    """The names of a block. ``parent`` is the scope it closes over, if any.

    ``local`` are the names that are this block's own: without a value they are unbound, wherever
    else they may be bound. ``shared_global`` and ``shared_outer`` were declared so. ``skipped``
    marks the scope of a class, which functions do not see, ``inlined`` that of a comprehension.
    """

    names: dict[str, object] = msgspec.field(default_factory=dict)
    parent: int | None = None
    local: frozenset[str] = frozenset()
    shared_global: frozenset[str] = frozenset()
    shared_outer: frozenset[str] = frozenset()
    skipped: bool = False
    inlined: bool = False

    def copy(self) -> Scope:
        return replace(self, names=dict(self.names))


class Item(Struct, frozen=True):
    """One element of a list."""

    value: object


class Many(Struct, frozen=True):
    """A run of ``count`` times ``len(values)`` elements, ``values`` in terms of ``index``.

    ``fresh`` are the boxes among the values that each trip makes anew.
    """

    count: Expr
    index: Sym
    values: tuple[object, ...]
    fresh: frozenset[int] = frozenset()

    @property
    def length(self) -> Expr:
        return self.count * len(self.values)


Segment = Item | Many


class ListBox(Box):
    """A list: concrete items and symbolic runs, in order."""

    segments: tuple[Segment, ...] = ()

    @staticmethod
    def of(items: tuple[object, ...] | list[object]) -> ListBox:
        return ListBox(tuple(Item(item) for item in items))

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

    @property
    def runs(self) -> int:
        """How many of its parts are runs, or there on some paths only."""
        return sum(isinstance(segment, Many) for segment in self.segments)


class TupleBox(ListBox):
    """A tuple whose length depends on the inputs: one of its segments is a run.

    It is never written to; it has a box for what runs are made of, and since it is one object.
    """


@dataclass(frozen=True, slots=True)
class StandIn:
    """The key of a value that is no key itself and compares as ``key`` does."""

    key: object
    value: object = field(compare=False)

    def __hash__(self) -> int:
        return hash(self.key)

    def __eq__(self, other: object) -> bool:
        return bool(self.key == (other.key if isinstance(other, StandIn) else other))


class DictBox(Box):
    """A dictionary by host keys (see ``keys.py``), in order of insertion.

    An entry whose value may be :data:`UNBOUND` is there on some paths only. ``shuffled``: the
    order of insertion is not the same on all paths. ``removed`` counts the entries taken out, which
    a loop over the dictionary notices even if they are put back. ``inside``: it belongs to an
    object of the standard library, and is no dictionary of the kernel's.
    """

    items: dict[object, object] = msgspec.field(default_factory=dict)
    shuffled: bool = False
    removed: int = 0
    inside: bool = False

    def copy(self) -> DictBox:
        return replace(self, items=dict(self.items))


class SetBox(Box):
    """A set by host keys; the value of a key is True, or UNBOUND where it is not in the set.

    ``made`` are the insertions in order, where an order of iteration can be derived from it.
    """

    items: dict[object, object] = msgspec.field(default_factory=dict)
    frozen: bool = False

    def copy(self) -> SetBox:
        return replace(self, items=dict(self.items))


class ObjectBox(Box):
    """An instance: its class and attributes.

    ``payload`` is the built-in value inside an instance of a subclass of a built-in type: the
    number of an ``IntEnum`` member, the tuple of a named tuple, the list of ``class Stack(list)``.
    """

    cls: object
    attributes: dict[str, object] = msgspec.field(default_factory=dict)
    payload: object = UNBOUND

    def copy(self) -> ObjectBox:
        return replace(self, attributes=dict(self.attributes))


class RecordBox(ObjectBox):
    """A structure of an API with named fields: ``cls`` is its :class:`RecordType`.

    Besides its fields it has how they were computed, see :mod:`.records`.
    """


class StateBox(Box):
    """An object with a fixed set of named fields: an iterator, a cell, a cache.

    ``kind`` names what it is (a class of the machine that knows what the fields mean).
    """

    kind: object
    fields: dict[str, object] = msgspec.field(default_factory=dict)

    def copy(self) -> StateBox:
        return replace(self, fields=dict(self.fields))


class Reading(Struct):
    """What is done with the boxes that are older than the ``first`` number: which were read."""

    first: int
    read: dict[int, Box] = msgspec.field(default_factory=dict)
    wrote: bool = False

    def note(self, number: int, box: Box) -> None:
        if number < self.first:
            self.read.setdefault(number, box)


class Heap:
    """Boxes by number. ``base`` holds what module level created; it is never rolled back."""

    def __init__(self, base: dict[int, Box] | None = None, ids: Iterator[int] | None = None):
        self.boxes: dict[int, Box] = {}
        self.base = base if base is not None else {}
        self.ids = ids if ids is not None else itertools.count(1)
        self.owner = next(_owners)
        #: where what is read and written is written down, also in forks
        self.reading: Reading | None = None

    def fork(self) -> Heap:
        """A heap with the same contents; from now on neither sees the other's writes."""
        other = Heap(self.base, self.ids)
        other.boxes = dict(self.boxes)
        other.reading = self.reading
        self.owner = next(_owners)
        return other

    def new(self, box: Box) -> Ref:
        box.owner = self.owner
        number = next(self.ids)
        self.boxes[number] = box
        return Ref(number)

    def get(self, number: int) -> Box:
        box = self.boxes.get(number)
        if box is None:
            box = self.base[number]
        if self.reading is not None:
            self.reading.note(number, box)
        return box

    def find(self, number: int) -> Box | None:
        """The box, None if this heap does not have it."""
        box = self.boxes.get(number)
        if box is None:
            box = self.base.get(number)
        if self.reading is not None and box is not None:
            self.reading.note(number, box)
        return box

    def write(self, number: int) -> Box:
        """The box, private to this heap."""
        box = self.get(number)
        if self.reading is not None and number < self.reading.first:
            self.reading.wrote = True
        if box.owner != self.owner or number not in self.boxes:
            box = box.copy()
            box.owner = self.owner
            self.boxes[number] = box
        return box

    def has_changed(self, before: Heap) -> bool:
        """Whether anything that an earlier fork of it has was written since."""
        if any(self.boxes.get(number) is not box for number, box in before.boxes.items()):
            return True
        return any(n in self.base for n in self.boxes.keys() - before.boxes.keys())

    def newer(self, before: Heap) -> list[int]:
        """Numbers of the boxes that an earlier fork of it does not have, in order."""
        others = self.boxes.keys() - before.boxes.keys()  # there are thousands, and few differ
        return sorted(number for number in others if number not in self.base)

    def adopt(self, other: Heap) -> None:
        """Take over the contents of a fork that is used no more."""
        self.boxes = other.boxes
        self.owner = other.owner


def merge(
    into: Heap,
    test: E.Bool,
    then: Heap,
    other: Heap,
    join: Join,
    unfollowed: Callable[[], Many],
) -> None:
    """Make ``into`` what it is after ``then`` if ``test`` holds, else after ``other``.

    ``unfollowed`` makes the one run of a list of which too many parts are there on some paths only.
    """
    out = dict(then.boxes)
    owner = next(_owners)

    def both(number: int, left: Box, right: Box) -> None:
        merged = _MERGERS[type(left)](test, left, right, join)
        if isinstance(merged, ListBox) and merged.runs > MOST_RUNS:
            merged.segments = (unfollowed(),)
        merged.owner, merged.ghost = owner, left.ghost or right.ghost
        out[number] = merged

    others, base = other.boxes, then.base
    for number, left in then.boxes.items():  # there are thousands, and few differ
        right = others.get(number)
        if right is not left:
            right = base.get(number) if right is None else right
            if right is not None and right is not left:
                both(number, left, right)
    for number, right in others.items():
        if number not in out:
            known = base.get(number)
            if known is None or known is right:
                out[number] = right
            else:
                both(number, known, right)
    into.boxes = out
    into.owner = owner


_K = TypeVar("_K")


def _merge_items(
    test: E.Bool, left: dict[_K, object], right: dict[_K, object], join: Join
) -> dict[_K, object]:
    if left.keys() == right.keys() and list(left) == list(right):
        return {key: join(test, value, right[key]) for key, value in left.items()}
    return {
        key: join(test, left.get(key, UNBOUND), right.get(key, UNBOUND))
        for key in dict.fromkeys([*left, *right])
    }


def _merge_scopes(test: E.Bool, left: Scope, right: Scope, join: Join) -> Scope:
    return replace(left, names=_merge_items(test, left.names, right.names, join))


def _merge_objects(test: E.Bool, left: ObjectBox, right: ObjectBox, join: Join) -> ObjectBox:
    return replace(
        left,
        cls=left.cls if left.cls is right.cls else join(test, left.cls, right.cls),
        attributes=_merge_items(test, left.attributes, right.attributes, join),
        payload=join(test, left.payload, right.payload),
    )


def _merge_states(test: E.Bool, left: StateBox, right: StateBox, join: Join) -> StateBox:
    return replace(left, fields=_merge_items(test, left.fields, right.fields, join))


def _merge_dicts(test: E.Bool, left: DictBox, right: DictBox, join: Join) -> DictBox:
    items = _merge_items(test, left.items, right.items, join)
    shuffled = left.shuffled or right.shuffled or not _keeps_order(items, right.items)
    removed = max(left.removed, right.removed)
    return replace(left, items=items, shuffled=shuffled, removed=removed)


def _keeps_order(merged: dict[object, object], part: dict[object, object]) -> bool:
    return [key for key in merged if key in part] == list(part)


def _merge_sets(test: E.Bool, left: SetBox, right: SetBox, join: Join) -> SetBox:
    return replace(left, items=_merge_items(test, left.items, right.items, join))


def _merge_lists(test: E.Bool, left: ListBox, right: ListBox, join: Join) -> ListBox:
    a, b = left.segments, right.segments
    out: list[Segment] = []
    for x, y in zip(a, b, strict=False):
        if x is y or x == y:
            out.append(x)
        elif isinstance(x, Item) and isinstance(y, Item):
            out.append(Item(join(test, x.value, y.value)))
        elif (run := _one_run(test, x, y)) is not None:
            out.append(run)
        else:
            break
    done = len(out)
    out.extend(_optional(test, s) for s in a[done:])
    out.extend(_optional(E.not_(test), s) for s in b[done:])
    return replace(left, segments=tuple(out))


def _one_run(test: E.Bool, left: Segment, right: Segment) -> Segment | None:
    """One run of as many of the same elements as there are on either side; None: they differ.

    Without it a list of what is there on some paths only is twice as long wherever paths meet.
    """
    if isinstance(left, Item) or isinstance(right, Item) or left.index is not right.index:
        return None
    if left.values != right.values or left.fresh != right.fresh:
        return None
    return replace(left, count=E.ite(test, left.count, right.count))


def _optional(test: E.Bool, segment: Segment) -> Segment:
    """A segment that is there only if ``test`` holds: a run of length one or zero."""
    if isinstance(segment, Many):
        return replace(segment, count=E.ite(test, segment.count, 0))
    index = E.fresh("item", 0, origin=E.Origin.LOOP).as_atom()
    assert isinstance(index, Sym)
    return Many(E.ite(test, 1, 0), index, (segment.value,))


_MERGERS: dict[type[Box], Callable[..., Box]] = {
    Scope: _merge_scopes,
    ListBox: _merge_lists,
    TupleBox: _merge_lists,
    DictBox: _merge_dicts,
    SetBox: _merge_sets,
    ObjectBox: _merge_objects,
    RecordBox: _merge_objects,
    StateBox: _merge_states,
}
