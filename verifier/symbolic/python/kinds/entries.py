"""The entries of dictionaries and sets: found, stored, and there on some paths only."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.pretty import pretty
from verifier.symbolic.python import hierarchy, keys
from verifier.symbolic.python.choices import choices
from verifier.symbolic.python.heap import (
    UNBOUND,
    DictBox,
    Item,
    ListBox,
    ObjectBox,
    Segment,
    SetBox,
    StateBox,
)
from verifier.symbolic.python.inputs import Parameter
from verifier.symbolic.python.iteration import Iteration, Live, Runs, Unknown
from verifier.symbolic.python.kinds.instancedicts import snapshot
from verifier.symbolic.python.kinds.segments import optional, raises, segments_of, values_in, watch
from verifier.symbolic.python.model import AttributeDict
from verifier.symbolic.python.terms import join, presence
from verifier.symbolic.python.vm import VM
from verifier.symbolic.values import Guarded, Opaque, Ref

Entries: TypeAlias = "DictBox | SetBox"


class Unsettled:
    """What is found under a key that is not known."""

    __slots__ = ()


UNSETTLED: Final = Unsettled()


def present(vm: VM, value: object) -> Bool:
    """When an entry is there, as far as the path says."""
    there = presence(value)
    known = vm.decide(there)
    return there if known is None else E.truth(known)


def dict_box(vm: VM, ref: object) -> DictBox:
    """The dictionary that a value is, to read."""
    box = vm.box(ref)
    assert isinstance(box, DictBox)
    return box


def dict_ref(vm: VM, value: object) -> Ref | None:
    """The dictionary that a value is or has its entries in."""
    box = vm.box(value)
    if isinstance(box, DictBox):
        assert isinstance(value, Ref)
        return value
    if isinstance(box, StateBox):
        inner = box.fields.get("entries")
        return inner if isinstance(vm.box(inner), DictBox) else None  # type: ignore[return-value]
    payload = getattr(box, "payload", None)
    return dict_ref(vm, payload) if isinstance(payload, Ref) else None


# ------------------------------------------------------------------------ finding


def find(vm: VM, box: Entries, index: object, span: Span) -> object:
    """What is stored under a key: UNBOUND (on some paths) if nothing is, or UNSETTLED."""
    key = keys.key_of(vm, index, span)
    if key is not UNBOUND:
        if isinstance(key, Ref) and any(_is_ghost(vm, other) for other in box.items):
            return UNSETTLED
        return box.items.get(key, UNBOUND)
    found = keys.matches(vm, box.items, index, span)
    if found is None:
        return UNSETTLED
    result: object = UNBOUND
    for same, other in reversed(found):
        result = join(same, box.items[other], result)
    return result


def _is_ghost(vm: VM, key: object) -> bool:
    box = vm.box(key)
    return box is not None and box.ghost


def unknown_key(vm: VM, index: object, what: str, span: Span) -> Opaque:
    """The answer where nobody knows which entry a key means."""
    if isinstance(index, Opaque):
        reason = f"{what} with a key that is not followed: {index.reason}"
    else:
        reason = f"{what} with a symbolic key"
    return vm.unfollowed(reason, span)


def said(key: object) -> str:
    """A key in words."""
    if isinstance(key, Expr):
        return repr(key.const) if key.is_const else f"`{pretty(key)}`"
    if isinstance(key, Parameter):
        return f"`{key.name}`"
    return f"`{pretty(key)}`" if isinstance(key, Bool) else repr(key)


def missing(vm: VM, index: object, found: object, span: Span) -> None:
    """Python's error for a key that is not there."""
    there = present(vm, found)
    vm.fault(
        KeyError,
        f"the dictionary has no key {said(index)}",
        span,
        when=E.not_(there),
        text=f"{said(index)} in the dictionary",
        args=(index,),
    )


def keyed(vm: VM, ref: Ref, index: object, span: Span, *, stored: bool = True) -> None:
    """A dictionary of the kernel's is given an entry, or (not ``stored``) asked for one it has."""
    if not dict_box(vm, ref).inside:
        vm.dialect.keyed(vm, index, span, stored=stored)


def entry(vm: VM, ref: Ref, index: object, span: Span) -> object:
    """``ref[index]`` of a dictionary."""
    found = find(vm, dict_box(vm, ref), index, span)
    if found is UNSETTLED:
        return unknown_key(vm, index, "an item of a dictionary", span)
    missing(vm, index, found, span)
    keyed(vm, ref, index, span, stored=False)
    return vm.settled(found)


def has(vm: VM, box: Entries, index: object, span: Span) -> Bool:
    """``index in box``."""
    found = find(vm, box, index, span)
    if found is not UNSETTLED:
        return present(vm, found)
    if not box.items:
        return E.FALSE
    if isinstance(index, Ref):
        vm.unfollowed("whether an object with an equality of its own is a key", span)
    return vm.unknown_bool("whether a symbolic key is there", span)


# ------------------------------------------------------------------------ storing


def put(box: Entries, key: object, value: object) -> None:
    """Enter a value, which may be there on some paths only, in a box that may be written to."""
    old = box.items.get(key, UNBOUND)
    if old is UNBOUND:
        box.items.pop(key, None)
        if value is not UNBOUND:
            box.items[key] = value
        return
    if isinstance(box, DictBox) and presence(old) is not E.TRUE:
        # where it is there it keeps its place, elsewhere it comes last
        box.shuffled = box.shuffled or next(reversed(box.items)) != key
    there = presence(value)
    box.items[key] = value if there is E.TRUE else join(there, _bound(value), old)


def _bound(value: object) -> object:
    """The cases of a value in which it is there, as one value."""
    if not isinstance(value, Guarded):
        return value
    cases = [(guard, item) for guard, item in value.cases if item is not UNBOUND]
    result = cases[-1][1]
    for guard, item in reversed(cases[:-1]):
        result = join(guard, item, result)
    return result


def writable(vm: VM, ref: Ref, span: Span) -> DictBox:
    box = vm.write(ref, span)
    assert isinstance(box, DictBox)
    return box


def store(vm: VM, ref: Ref, index: object, value: object, span: Span) -> None:
    """``ref[index] = value`` of a dictionary, or ``del`` where the value is UNBOUND."""
    if value is UNBOUND:
        delete(vm, ref, index, span)
        return
    keyed(vm, ref, index, span)
    key = keys.key_of(vm, index, span)
    if key is not UNBOUND:
        put(writable(vm, ref, span), key, value)
        return
    box = dict_box(vm, ref)
    found = keys.matches(vm, box.items, index, span)
    if found is None or vm.decide(E.or_(*(same for same, _ in found))) is not True:
        told = choices(vm, index)
        if told is not None:
            vm.apart(told, lambda one: store(vm, ref, one, value, span))
            return
        unknown_key(vm, index, "a dictionary is written to", span)
        return
    box = writable(vm, ref, span)
    for same, other in found:
        box.items[other] = join(same, value, box.items[other])


def delete(vm: VM, ref: Ref, index: object, span: Span) -> object:
    """Take out the entry of a key, which has to be there; what it held."""
    box = dict_box(vm, ref)
    found = find(vm, box, index, span)
    if found is UNSETTLED:
        return unknown_key(vm, index, "an entry of a dictionary is taken out", span)
    missing(vm, index, found, span)
    take(vm, writable(vm, ref, span), index, span)
    return vm.settled(found)


def take(vm: VM, box: Entries, index: object, span: Span) -> None:
    """Take out an entry that is there, or not be surprised if it is not."""
    if isinstance(box, DictBox):
        box.removed += 1
    key = keys.key_of(vm, index, span)
    if key is not UNBOUND:
        box.items.pop(key, None)
        return
    for same, other in keys.matches(vm, box.items, index, span) or ():
        left = join(same, UNBOUND, box.items[other])
        if left is UNBOUND:
            del box.items[other]
        else:
            box.items[other] = left


def merged(vm: VM, ref: Ref, other: Ref, span: Span) -> None:
    """``ref.update(other)`` of dictionaries."""
    if other.id == ref.id:
        return
    source = dict_box(vm, other)
    box = writable(vm, ref, span)
    fresh = [key for key in source.items if key not in box.items]
    if source.shuffled and len(fresh) > 1:
        box.shuffled = True
    for key, value in source.items.items():
        put(box, key, value)


def updated(vm: VM, ref: Ref, other: object, span: Span) -> None:
    """``ref.update(other)``: another mapping, or an iterable of pairs."""
    if isinstance(other, AttributeDict):
        other = snapshot(vm, other)
    source = dict_ref(vm, other)
    if source is not None and not _runs_its_own_way(vm, other):
        merged(vm, ref, source, span)
        return
    if isinstance(other, Opaque):
        vm.unfollowed(f"a dictionary is updated from {other.reason}", span)
        return
    if vm.kind(other).attribute(vm, other, "keys", span) is not UNBOUND:
        _from_mapping(vm, ref, other, span)
        return
    _from_pairs(vm, ref, other, span)


def _runs_its_own_way(vm: VM, value: object) -> bool:
    """Whether a dictionary's class has a loop over it of its own: then its methods are asked."""
    box = vm.box(value)
    return isinstance(box, ObjectBox) and hierarchy.overrides(vm, box.cls, "__iter__")


def _from_mapping(vm: VM, ref: Ref, other: object, span: Span) -> None:
    """The entries of what has a method ``keys``, which are asked for one by one."""
    held = vm.call(vm.attribute(other, "keys", span), (), span=span)
    names = None if isinstance(held, (Guarded, Opaque)) else vm.items_of(held, span)
    if names is None:
        vm.unfollowed("a dictionary is updated from a mapping of the program's own", span)
        return
    for name in names:
        store_each(vm, ref, name, vm.item(other, name, span), span)


def _from_pairs(vm: VM, ref: Ref, other: object, span: Span) -> None:
    segments = segments_of(vm, other, span)
    pairs = None if segments is None else values_in(segments)
    if pairs is None:
        vm.unfollowed("a dictionary is filled from pairs that are not followed", span)
        return
    for number, pair in enumerate(pairs):
        pair = vm.settled(pair)
        items = None if isinstance(pair, Guarded) else vm.items_of(pair, span)
        if items is None:
            vm.unfollowed("a dictionary is filled from pairs that are not followed", span)
            return
        if len(items) != 2:
            message = (
                f"dictionary update sequence element #{number} has length {len(items)}; "
                "2 is required"
            )
            raises(vm, ValueError, message, span)
        store_each(vm, ref, items[0], items[1], span)


def store_each(vm: VM, ref: Ref, index: object, value: object, span: Span) -> None:
    """``ref[index] = value`` where the key depends on the path."""
    vm.set_item(ref, index, value, span)


# ------------------------------------------------------------------------ running through


def size(vm: VM, box: Entries) -> Expr:
    """How many entries there are."""
    total = E.const(0)
    for value in box.items.values():
        total = total + E.ite(present(vm, value), 1, 0)
    return total


def has_any(vm: VM, box: Entries) -> Bool:
    return E.or_(*(present(vm, value) for value in box.items.values()))


Element: TypeAlias = Callable[[object, object], object]


def listed(vm: VM, box: Entries, element: Element) -> tuple[Segment, ...]:
    """What ``element`` makes of each entry, in the order of the box."""
    out: list[Segment] = []
    for key, value in box.items.items():
        there = present(vm, value)
        if there is E.TRUE:
            out.append(Item(element(key, vm.settled(value))))
        elif there is not E.FALSE:
            out.extend(optional(vm, there, element(key, _bound(value))))
    return tuple(out)


def iteration(vm: VM, ref: Ref, element: Element, span: Span) -> Iteration:
    """What a loop over a dictionary or a set with a known order runs through."""
    box = entries_of(vm, ref)
    if isinstance(box, DictBox) and box.shuffled and len(box.items) > 1:
        reason = "a dictionary whose order depends on the path"
        vm.unfollowed(f"a loop over {reason}", span)
        return Unknown(reason)
    if any(present(vm, value) is not E.TRUE for value in box.items.values()):
        return Runs(ListBox(listed(vm, box, element)), watch(vm, (ref,), span))
    start = tuple(box.items)
    removed = box.removed if isinstance(box, DictBox) else 0
    lost = False

    def item(position: int) -> object:
        nonlocal lost
        if lost:  # one item that is not followed stands for all: nothing behind it counts
            return UNBOUND
        found = at(vm, ref, start, position, element, span)
        now = entries_of(vm, ref)
        if isinstance(now, DictBox) and now.removed != removed:
            lost = True
            return vm.unfollowed("entries are taken out and put back in a loop over them", span)
        return found

    return Live(item)


def entries_of(vm: VM, ref: object) -> Entries:
    """The dictionary or set that a value is, to read."""
    box = vm.box(ref)
    assert isinstance(box, (DictBox, SetBox))
    return box


def at(
    vm: VM,
    ref: Ref,
    start: tuple[object, ...],
    position: int,
    element: Element,
    span: Span,
) -> object:
    """What an iterator over the keys ``start`` hands out next, UNBOUND at the end.

    That the keys are not those any more is Python's error.
    """
    now = entries_of(vm, ref)
    name = "dictionary" if isinstance(now, DictBox) else "Set"
    if set(now.items) != set(start) or len(now.items) != len(start):
        changed = E.ne(size(vm, now), len(start))
        raises(vm, RuntimeError, f"{name} changed size during iteration", span, changed)
        vm.unfollowed("what is run through changes", span)
        return UNBOUND
    if any(present(vm, value) is not E.TRUE for value in now.items.values()):
        changed = E.ne(size(vm, now), len(start))
        raises(vm, RuntimeError, f"{name} changed size during iteration", span, changed)
    if position >= len(start):
        return UNBOUND
    if isinstance(now, DictBox) and tuple(now.items) != start:
        if tuple(now.items) != start[::-1]:
            vm.unfollowed("the keys of a dictionary change under a loop over it", span)
            return UNBOUND
    key = start[position]
    return element(key, vm.settled(now.items[key]))
