"""Attributes of what cannot be changed itself, as functions: who was given which."""

from __future__ import annotations

from typing import Final

from verifier.symbolic.python.heap import UNBOUND, StateBox
from verifier.symbolic.python.vm import VM
from verifier.symbolic.values import Ref

_NOTES: Final = "attributes"
#: says of a function that a decorator that is not followed was applied to it
WRAPPED: Final = "<wrapped>"


def _of(vm: VM, key: object) -> Ref:
    """The attributes that something immutable was given, as of functions.

    Their box is made below every path: on a path that sets none there is none.
    """
    number = vm.memo.get((_NOTES, key))
    if not isinstance(number, int):
        number = next(vm.heap.ids)
        vm.memo[_NOTES, key] = number
        vm.base[number] = StateBox(_NOTES)
    return Ref(number)


def noted(vm: VM, key: object, name: str) -> object:
    """An attribute that a function was given; :data:`UNBOUND` if it was not."""
    if (_NOTES, key) not in vm.memo:
        return UNBOUND
    box = vm.heap.get(_of(vm, key).id)
    assert isinstance(box, StateBox)
    return box.fields.get(name, UNBOUND)


def all_noted(vm: VM, key: object) -> dict[str, object]:
    """All attributes that a function was given."""
    if (_NOTES, key) not in vm.memo:
        return {}
    box = vm.heap.get(_of(vm, key).id)
    assert isinstance(box, StateBox)
    return dict(box.fields)


def note(vm: VM, key: object, name: str, value: object) -> None:
    """Give a function an attribute; take it away with :data:`UNBOUND`."""
    box = vm.heap.write(_of(vm, key).id)
    assert isinstance(box, StateBox)
    if value is UNBOUND:
        box.fields.pop(name, None)
    else:
        box.fields[name] = value
