"""Records: structures of an API whose fields kernels read and assign."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from verifier.symbolic import expr as E
from verifier.symbolic.interpreter import arithmetic
from verifier.symbolic.interpreter.heap import UNBOUND, ObjectBox
from verifier.symbolic.interpreter.terms import join, same
from verifier.symbolic.values import Guarded, RecordType, RecordValue, Ref

if TYPE_CHECKING:
    from verifier.symbolic.interpreter.vm import VM

#: where a record keeps how its fields were computed; no field can have that name
_ORIGIN = "<origin>"


def new(vm: VM, kind: RecordType, values: Sequence[object], origin: object = None) -> Ref:
    """A record with these fields."""
    attributes = dict(zip(kind.fields, values, strict=True))
    return vm.heap.new(ObjectBox(kind, {**attributes, _ORIGIN: origin}))


def contents(vm: VM, value: object) -> RecordValue | None:
    """What a record holds now, None if the value is no record.

    Of records that depend on the path, each field depends on it.
    """
    if isinstance(value, RecordValue):
        return value
    if isinstance(value, Guarded):
        return _of_cases(vm, value)
    box = vm.heap.get(value.id) if isinstance(value, Ref) else None
    if not isinstance(box, ObjectBox) or not isinstance(box.cls, RecordType):
        return None
    fields = tuple(box.attributes.get(name) for name in box.cls.fields)
    origin = box.attributes.get(_ORIGIN)
    return RecordValue(box.cls, fields, None if isinstance(origin, Guarded) else origin)


def merged(vm: VM, value: Guarded) -> object:
    """The value with its records made one; what else the path chooses from stays apart."""
    live = [(g, v) for g, v in arithmetic.live_cases(vm, value) if v is not UNBOUND]
    mine = [(g, v) for g, v in live if contents(vm, v) is not None]
    several = Guarded(tuple(mine))
    record = _of_cases(vm, several) if mine else None
    if record is None:
        return value
    record = replace(record, places=several)
    others = [(g, v) for g, v in live if contents(vm, v) is None]
    return Guarded.of([*others, (E.or_(*(g for g, _ in mine)), record)]) if others else record


def _of_cases(vm: VM, value: Guarded) -> RecordValue | None:
    result: RecordValue | None = None
    for guard, item in reversed(arithmetic.live_cases(vm, value)):
        if item is UNBOUND:
            continue
        one = contents(vm, item)
        if one is None or (result is not None and one.kind is not result.kind):
            return None
        if result is None:
            result = one
            continue
        fields = tuple(join(guard, a, b) for a, b in zip(one.fields, result.fields, strict=True))
        origin = one.origin if same(one.origin, result.origin) else None
        result = RecordValue(one.kind, fields, origin)
    return result


def fill(vm: VM, value: object, values: Sequence[object], origin: object = None) -> bool:
    """Assign all fields of a record, or of the one that the path chooses."""
    if isinstance(value, RecordValue) and value.places is not None:
        return fill(vm, value.places, values, origin)
    for guard, item in arithmetic.live_cases(vm, value):
        box = vm.heap.get(item.id) if isinstance(item, Ref) else None
        if not isinstance(box, ObjectBox) or not isinstance(box.cls, RecordType):
            return False
        assert isinstance(item, Ref)
        written = vm.heap.write(item.id)
        assert isinstance(written, ObjectBox)
        new_values = {**dict(zip(box.cls.fields, values, strict=True)), _ORIGIN: origin}
        sole = not isinstance(value, Guarded)
        for name, field in new_values.items():
            old = written.attributes.get(name)
            written.attributes[name] = field if sole else join(guard, field, old)
    return True


def copy(vm: VM, value: object) -> Ref | None:
    """A record of its own with the same fields, None if the value is no record."""
    held = contents(vm, value)
    return None if held is None else new(vm, held.kind, held.fields, held.origin)
