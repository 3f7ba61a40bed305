"""Functions with some of their arguments given: ``functools.partial``, ``operator.itemgetter``."""

from __future__ import annotations

import functools
import operator
from typing import Any, Final

from verifier.source.ir import Span
from verifier.symbolic.machine import Arg, Call
from verifier.symbolic.python import notes
from verifier.symbolic.python.heap import UNBOUND, DictBox
from verifier.symbolic.python.kind import Kind
from verifier.symbolic.python.model import Builtin, HostType, Partial
from verifier.symbolic.python.vm import VM
from verifier.symbolic.values import TEXT, Guarded, Ref

#: what the ``operator`` module makes of given arguments
_GETTERS: Final[dict[str, type]] = {
    "itemgetter": operator.itemgetter,
    "attrgetter": operator.attrgetter,
    "methodcaller": operator.methodcaller,
}
#: under which the keywords of a partial function are kept, once somebody has asked for them
_KEYWORDS: Final = "<keywords>"
_OWN: Final = ("func", "args", "keywords")


def host_of(value: Partial) -> type:
    """The type of such a function as CPython has it."""
    function = value.function
    name = function.name if isinstance(function, Builtin) else ""
    return _GETTERS.get(name, functools.partial)


def keywords_of(vm: VM, value: Partial) -> dict[str, object] | None:
    """The keywords that are given; None: somebody may have changed them."""
    held = notes.noted(vm, value, _KEYWORDS)
    if held is UNBOUND:
        return dict(value.keywords)
    box = vm.box(held)
    if not isinstance(box, DictBox) or box.shuffled:
        return None
    out: dict[str, object] = {}
    for name, item in box.items.items():
        if not isinstance(name, str) or isinstance(item, Guarded):
            return None
        out[name] = item
    return out


def is_plain(vm: VM, value: Partial) -> bool:
    """Whether a partial function of this one is one of its function."""
    given = notes.all_noted(vm, value)
    return host_of(value) is functools.partial and not given.keys() - {_KEYWORDS}


class PartialKind(Kind[VM]):
    """A function with some of its arguments given."""

    name = "partial"
    complete = True

    def type_of(self, vm: VM, value: Any) -> object:
        return HostType(host_of(value))

    def attribute(self, vm: VM, value: Any, name: str, span: Span) -> object:
        host = host_of(value)
        if host is functools.partial:
            if name == "func":
                return value.function
            if name == "args":
                return value.args
            if name == "keywords":
                return self._keywords(vm, value)
        if name == "__call__":
            return value
        given = notes.noted(vm, value, name)
        if given is not UNBOUND:
            return given
        if hasattr(host, name):
            return vm.unfollowed(f"`.{name}` of a partial function is not followed", span)
        return UNBOUND

    def _keywords(self, vm: VM, value: Any) -> object:
        """The dictionary itself: who changes it changes what the function is called with."""
        held = notes.noted(vm, value, _KEYWORDS)
        if not isinstance(held, Ref):
            held = vm.heap.new(DictBox(dict(value.keywords)))
            notes.note(vm, value, _KEYWORDS, held)
        return held

    def set_attribute(self, vm: VM, value: Any, name: str, new: object, span: Span) -> None:
        host = host_of(value)
        is_own = name in _OWN or host is not functools.partial
        missing = new is UNBOUND and notes.noted(vm, value, name) is UNBOUND
        if hasattr(host, name) and not is_own:
            vm.unfollowed(f"`.{name}` of a partial function is assigned to", span)
        elif is_own or missing:
            what = f"`.{name}` of a `{host.__name__}`"
            vm.fault(AttributeError, f"{what} cannot be assigned to", span)
        else:
            notes.note(vm, value, name, new)

    def call(self, vm: VM, value: Any, call: Call) -> object:
        given = keywords_of(vm, value)
        if given is None:
            return vm.unfollowed("the keywords of a partial function are not followed", call.span)
        keywords = {name: Arg(item, call.span) for name, item in given.items()}
        args = tuple(Arg(item, call.span) for item in value.args)
        made = Call((*args, *call.args), {**keywords, **call.keywords}, call.span, call.text)
        return vm.invoke(value.function, made)

    def key(self, vm: VM, value: Any, span: Span) -> object:
        return value

    def text(self, vm: VM, value: Any, how: str, span: Span) -> object:
        return TEXT


KINDS: Final[dict[type, Kind[VM]]] = {Partial: PartialKind()}
