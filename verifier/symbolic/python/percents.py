"""``text % values``: one conversion after the other, each as CPython makes it."""

from __future__ import annotations

import operator
import re
from collections.abc import Iterator
from typing import Any, Final

from verifier.source.ir import Span
from verifier.symbolic.python import floatbounds, hierarchy, probes
from verifier.symbolic.python.choices import choices
from verifier.symbolic.python.concrete import SYMBOLIC, payload, run, to_host
from verifier.symbolic.python.heap import UNBOUND, DictBox, ListBox, ObjectBox, TupleBox
from verifier.symbolic.python.strings import concatenated, stand_in, text_of
from verifier.symbolic.python.vm import VM
from verifier.symbolic.values import TEXT, ExternalRef, Opaque, OpaqueOf, Ref

#: a conversion: the key in parentheses, what comes before its type, its type
_CONVERSION: Final = re.compile(
    r"%(?:\((?P<key>[^()]*)\))?(?P<how>[-+ #0]*\d*(?:\.\d*)?)[hlL]?(?P<type>[%sradiuoxXeEfFgGc])"
)
_WHOLE: Final = "diu"
#: conversions that take a number
_NUMBERS: Final = "diuoxXeEfFgGc"
#: what a class may say of the number that its instances are
_CONVERTED: Final = ("__int__", "__index__", "__float__")


class _Shown:
    """A host value that is written in one way."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text


def percent(vm: VM, text: str | bytes, values: object, span: Span) -> object:
    """``text % values``."""
    held = to_host(vm, values)
    if held is not SYMBOLIC:
        return run(vm, span, operator.mod, text, held)
    if isinstance(text, bytes):
        return vm.unfollowed("`%` on bytes is not followed", span)
    many = isinstance(vm.box(payload(vm, values)), TupleBox)
    if many or (isinstance(values, OpaqueOf) and values.host in (tuple, object)):
        return vm.unfollowed("how many values are written is not followed", span)
    told = choices(vm, values)
    if told is not None:
        return vm.each(told, lambda v: percent(vm, text, v, span))
    pieces = list(_pieces(text))
    if None in pieces:
        return vm.unfollowed("a format with `%` of a width that is given, or malformed", span)
    return _Format(vm, values, span).fill([piece for piece in pieces if piece is not None])


def _pieces(text: str) -> Iterator[str | re.Match[str] | None]:
    """The text between conversions, and these; None where one is not followed."""
    at = 0
    while at < len(text):
        found = _CONVERSION.match(text, at)
        if found is not None:
            yield found
            at = found.end()
            continue
        if text[at] == "%":
            yield None
            return
        end = text.find("%", at)
        end = len(text) if end < 0 else end
        yield text[at:end]
        at = end


class _Format:
    """The values that a text is filled with."""

    def __init__(self, vm: VM, values: object, span: Span) -> None:
        self._vm = vm
        self._span = span
        self._values = values
        inside = payload(vm, values)
        #: a tuple is many values, also one of a class that derives from it
        self._given = inside if isinstance(inside, tuple) else (values,)
        self._is_many = isinstance(inside, tuple)
        self._taken = 0
        self._by_key = False

    def fill(self, pieces: list[str | re.Match[str]]) -> object:
        out: list[object] = []
        for piece in pieces:
            if isinstance(piece, str):
                out.append(piece)
            elif piece["type"] == "%":
                out.append("%")
            else:
                out.append(self._made(piece))
        if self._taken < len(self._given) and not self._by_key:
            self._check_rest()
        return concatenated(self._vm, out)

    def _check_rest(self) -> None:
        """Values are left: an error, unless they are one that has items by keys."""
        vm, values = self._vm, self._values
        if not self._is_many:
            if isinstance(values, (Opaque, ExternalRef)):
                vm.unfollowed("whether a format takes all that it is given", self._span)
            box = vm.box(values)
            if isinstance(box, (ListBox, DictBox)):
                return
            if isinstance(values, Ref) and not isinstance(box, ObjectBox):
                vm.unfollowed("whether a format takes all that it is given", self._span)
            if isinstance(box, ObjectBox) and not isinstance(box.payload, str):
                if hierarchy.is_external(box.cls):
                    vm.unfollowed("whether a format takes all that it is given", self._span)
                if hierarchy.lookup(vm, box.cls, "__getitem__") is not UNBOUND:
                    return
        message = "not all arguments converted during string formatting"
        vm.fault(TypeError, message, self._span)

    def _made(self, found: re.Match[str]) -> object:
        value = self._next(found["key"])
        how = f"%{found['how']}{found['type']}"
        return self._vm.each(value, lambda one: self._converted(how, one))

    def _next(self, key: str | None) -> object:
        vm, span = self._vm, self._span
        if key is not None:
            self._by_key = True
            if self._is_many or isinstance(payload(vm, self._values), str):
                vm.fault(TypeError, "format requires a mapping", span)
            return vm.item(self._values, key, span)
        if self._by_key:
            return vm.unfollowed("a format with and without keys is not followed", span)
        if self._taken >= len(self._given):
            vm.fault(TypeError, "not enough arguments for format string", span)
        self._taken += 1
        return self._given[self._taken - 1]

    def _converted(self, how: str, value: object) -> object:
        """The text that a conversion makes of a value."""
        vm, span = self._vm, self._span
        if how[-1] not in _NUMBERS:
            shown = text_of(vm, value, "s" if how[-1] == "s" else "r", span)
            return vm.each(shown, lambda v: self._padded(how, v))
        held = self._number(how, value)
        if held is SYMBOLIC:
            return TEXT
        text = run(vm, span, operator.mod, how, (held,))
        return text if to_host(vm, payload(vm, value)) is not SYMBOLIC else TEXT

    def _padded(self, how: str, shown: object) -> object:
        known = payload(self._vm, shown)
        if not isinstance(known, str):
            return TEXT
        return run(self._vm, self._span, operator.mod, how, (_Shown(known),))

    def _number(self, how: str, value: object) -> Any:
        """What a conversion of a number has on the host; SYMBOLIC if nothing is known of it."""
        vm, span = self._vm, self._span
        box = vm.box(value)
        if isinstance(value, OpaqueOf):
            if value.host is float and how[-1] in _WHOLE:
                floatbounds.converted(vm, how, value.interval, span)
            sample = probes.sample(vm, value)
            if value.loose or sample is probes.UNSAMPLED:
                vm.unfollowed(f"`{how}` of a value that is not known", span)
                return SYMBOLIC
            return sample
        if isinstance(value, (Opaque, ExternalRef)):
            text_of(vm, value, "s", span)
            return SYMBOLIC
        if isinstance(box, ObjectBox):
            own = any(hierarchy.overrides(vm, box.cls, name) for name in _CONVERTED)
            if own or hierarchy.is_external(box.cls):
                vm.unfollowed(f"`{how}` of an instance that may be a number", span)
                return SYMBOLIC
            return object() if box.payload is UNBOUND else self._number(how, box.payload)
        held = stand_in(vm, value)
        if how[-1] == "c" and to_host(vm, value) is SYMBOLIC:
            vm.unfollowed("`%c` of a number that is not known", span)
            return SYMBOLIC
        if held is SYMBOLIC and isinstance(box, (ListBox, DictBox)):
            return []
        if held is SYMBOLIC:
            vm.unfollowed(f"`{how}` of a value that is not followed", span)
        return held


__all__ = ["percent"]
