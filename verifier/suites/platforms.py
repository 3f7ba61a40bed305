"""What names targets in programs of the host."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from verifier.hardware import catalogue, targets
from verifier.source.ir import Span
from verifier.suites.given import items_of
from verifier.symbolic.python.heap import DictBox, ObjectBox
from verifier.symbolic.python.model import Class
from verifier.symbolic.python.vm import VM
from verifier.symbolic.values import Enumerator, Ref

_VERSIONS: Final = {target.version: target.name for target in targets.TARGETS.values()}


def named_by(vm: VM, value: object, span: Span) -> frozenset[str]:
    """The targets that a text, a member of an enumeration, or several of these name."""
    if isinstance(value, str):
        found = catalogue.find(value.lower())
        return frozenset() if found is None else frozenset({found.name})
    if isinstance(value, Enumerator):
        known = _VERSIONS.get(value.name) if value.kind == "nc_version" else None
        return frozenset() if known is None else frozenset({known})
    box = vm.box(value)
    if isinstance(box, ObjectBox):
        if not (isinstance(box.cls, Class) and "enum" in box.cls.traits):
            return frozenset()
        said = (box.attributes.get(name) for name in ("_value_", "_name_"))
        texts = (named_by(vm, text, span) for text in said if isinstance(text, str))
        return next(filter(None, texts), frozenset())
    if isinstance(value, tuple) or (isinstance(value, Ref) and not isinstance(box, DictBox)):
        return named_among(vm, items_of(vm, value, span) or (), span)
    return frozenset()


def named_among(vm: VM, values: Iterable[object], span: Span) -> frozenset[str]:
    """The targets that any of some values names."""
    return frozenset().union(*(named_by(vm, vm.settled(value), span) for value in values))


__all__ = ["named_among", "named_by"]
