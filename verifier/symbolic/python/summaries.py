"""What calls give that are the same each time: a helper of plain values is followed a few times.

A call with plain arguments (numbers, texts, names of the API) gives the same again as long as what
it read is as it was, if it did nothing else: it asked nothing about the inputs, told nothing to the
device, left no finding and wrote to nothing that was there before. Objects that it makes are made
anew each time, so that no two calls share one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Final, cast

from msgspec import Struct

from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.python.heap import (
    UNBOUND,
    Box,
    DictBox,
    Item,
    ListBox,
    ObjectBox,
    Reading,
)
from verifier.symbolic.python.model import Class, Function
from verifier.symbolic.python.parts import reachable
from verifier.symbolic.python.vm import VM
from verifier.symbolic.values import ApiRef, Enumerator, Ref

#: calls of a function that turned out to do something, after which none is looked at any more
_TRIES: Final = 2
_NAMES: Final = (ApiRef, Enumerator, Class, Function)
_MADE: Final = (ListBox, DictBox, ObjectBox)

Key = tuple[object, ...]


class Summary(Struct, frozen=True):
    """What a call gave: boxes that it read, as they were, and boxes that it made."""

    read: Mapping[int, Box]
    made: Mapping[int, Box]
    value: object


class Summaries:
    """The calls of one run that may come again."""

    def __init__(self) -> None:
        #: calls that were followed once; what a second one does is written down
        self._seen: set[Key] = set()
        self._known: dict[Key, Summary] = {}
        self._failed: Counter[Function] = Counter()
        self._recording = False

    def repeated(self, vm: VM, function: Function, bound: Mapping[str, object]) -> Key | None:
        """A call that was followed before, to be asked for; None: it is to be followed."""
        if self._failed[function] >= _TRIES or vm.dialect.judges_statements:
            return None
        if vm.importing or vm.handled:  # modules are on their way, or an exception is
            return None
        key = _key(function, bound)
        if key is None or key in self._known:
            return key
        if key in self._seen:
            return None if self._recording else key
        self._seen.add(key)
        return None

    def call(self, vm: VM, function: Function, key: Key, run: Callable[[], object]) -> object:
        """The value of a repeated call: of an earlier one, or of the ``run`` of its body.

        Raises:
            Ended: every way through it raises.
        """
        known = self._known.get(key)
        if known is not None:
            if all(vm.heap.find(number) is box for number, box in known.read.items()):
                return _again(vm, known)
            del self._known[key]
        return run() if self._recording else self._recorded(vm, function, key, run)

    def _recorded(self, vm: VM, function: Function, key: Key, run: Callable[[], object]) -> object:
        """The value of a call, which is written down if it comes out the same each time."""
        before = vm.mark()  # from now on, what is written to is copied
        done = _done(vm)
        reading = vm.heap.reading = Reading(next(vm.heap.ids))
        heap, self._recording = vm.heap, True
        self._failed[function] += 1
        try:
            value = run()
        finally:
            heap.reading = vm.heap.reading = None
            self._recording = False
        quiet = done == _done(vm) and not reading.wrote
        made = _made(vm, value, reading.first) if quiet and vm.is_as_at(before) else None
        if made is not None:
            self._known[key] = Summary(reading.read, made, value)
            self._failed[function] -= 1
        return value


def summaries_of(vm: VM) -> Summaries:
    """What is known of the calls of a run."""
    found = vm.memo.get(Summaries)
    if found is None:  # it is asked for at each call
        found = vm.memo[Summaries] = Summaries()
    return cast(Summaries, found)


def _done(vm: VM) -> tuple[object, ...]:
    """What neither the heap nor the trace shows: modules, questions about inputs, launches."""
    return len(vm.base), vm.questions, vm.done()


def _key(function: Function, bound: Mapping[str, object]) -> Key | None:
    """A call by its arguments; None if one of them may be something else another time."""
    out: list[object] = [function]
    for name, value in bound.items():
        plain = _plain(value)
        if plain is None:
            return None
        out += name, plain
    return tuple(out)


def _plain(value: object) -> tuple[object, object] | None:
    """A value that nothing changes, told apart from equal ones of other types."""
    kind = type(value)
    if isinstance(value, Expr):
        return (kind, value) if value.is_const else None
    if isinstance(value, Bool):
        return (kind, value) if value is E.TRUE or value is E.FALSE else None
    if type(value) is tuple:
        items = tuple(map(_plain, value))
        return None if None in items else (kind, items)
    if value is None or kind is str or isinstance(value, _NAMES):
        return kind, value
    return (kind, repr(value)) if kind in (bool, int, float) else None


def _made(vm: VM, value: object, first: int) -> dict[int, Box] | None:
    """The boxes of a value from the ``first`` number on; None: it is made of other things, too."""
    out: dict[int, Box] = {}
    for number in reachable(vm.heap, (value,)):
        box = vm.heap.get(number)
        if number >= first:
            if type(box) not in _MADE or box.ghost:
                return None
            out[number] = box
    contents = [value, *(item for box in out.values() for item in _contents(box))]
    return out if all(map(_is_movable, contents)) else None


def _contents(box: Box) -> list[object]:
    if isinstance(box, ListBox):
        return [item.value if isinstance(item, Item) else item for item in box.segments]
    if isinstance(box, DictBox):
        return [*box.items, *box.items.values()]
    assert isinstance(box, ObjectBox)
    return [box.cls, *box.attributes.values(), *(() if box.payload is UNBOUND else (box.payload,))]


def _is_movable(value: object) -> bool:
    """Whether a value is the same in each call, or a box that can be made anew."""
    if type(value) is tuple:
        return all(map(_is_movable, value))
    return isinstance(value, Ref) or _plain(value) is not None


def _again(vm: VM, known: Summary) -> object:
    """The value of a call with boxes of its own."""
    numbers = {number: vm.heap.new(box.copy()) for number, box in known.made.items()}

    def moved(value: object) -> object:
        if isinstance(value, Ref):
            return numbers.get(value.id, value)
        return tuple(map(moved, value)) if isinstance(value, tuple) else value

    for ref in numbers.values():
        _fill(vm.heap.write(ref.id), moved)
    return moved(known.value)


def _fill(box: Box, moved: Callable[[object], object]) -> None:
    """Put other contents into a box."""
    if isinstance(box, ListBox):
        items = (Item(moved(s.value)) for s in box.segments if isinstance(s, Item))
        box.segments = tuple(items)
    elif isinstance(box, DictBox):
        box.items = {moved(key): moved(item) for key, item in box.items.items()}
    elif isinstance(box, ObjectBox):
        box.attributes = {name: moved(item) for name, item in box.attributes.items()}
        box.payload = moved(box.payload)


__all__ = ["Summaries", "Summary", "summaries_of"]
