"""What CPython makes of the answers of special methods: truth, length, iteration, text, keys."""

from __future__ import annotations

import builtins
import enum
import sys
from typing import Final

from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.python import hierarchy
from verifier.symbolic.python.attempts import attempt
from verifier.symbolic.python.heap import (
    UNBOUND,
    DictBox,
    ListBox,
    ObjectBox,
    SetBox,
)
from verifier.symbolic.python.hierarchy import Generated, Inherited
from verifier.symbolic.python.iteration import Items, Iteration, Live, Pull, Unknown
from verifier.symbolic.python.keys import key_of
from verifier.symbolic.python.kind import Kind
from verifier.symbolic.python.model import Class, HostType
from verifier.symbolic.python.strings import concatenated, text_of
from verifier.symbolic.python.terms import as_formula
from verifier.symbolic.python.vm import VM
from verifier.symbolic.values import TEXT, Guarded, Opaque, Range, Ref


def _box(vm: VM, value: object) -> ObjectBox:
    box = vm.box(value)
    assert isinstance(box, ObjectBox)
    return box


# ------------------------------------------------------------------------ checked answers


def as_truth(vm: VM, result: object, span: Span) -> Bool:
    """What ``__bool__`` answered: a truth value, nothing else."""

    def one(answer: object) -> Bool:
        formula = as_formula(answer)
        if formula is not None:
            return formula
        if not isinstance(answer, Opaque):
            what = vm.kind(answer).describe(vm, answer)
            vm.fault(TypeError, f"`__bool__` returns {what}, which is no truth value", span)
        return vm.truth(answer, span)

    return vm.each(result, one)


def as_length(vm: VM, result: object, span: Span) -> object:
    """What ``__len__`` answered: an integer that is not negative."""

    def one(answer: object) -> object:
        formula = as_formula(answer)
        number = E.ite(formula, 1, 0) if formula is not None else answer
        if isinstance(number, Opaque):
            return number
        if not isinstance(number, Expr):
            number = converted(vm, answer, "__index__", span)
        if not isinstance(number, Expr):
            return number
        negative = E.lt(number, 0)
        vm.fault(ValueError, "`__len__()` should return >= 0", span, when=negative)
        if number.is_const and number.const > sys.maxsize:
            vm.fault(OverflowError, "what `__len__()` returns is too large", span)
        return number

    return vm.each(result, one)


def converted(vm: VM, value: object, name: str, span: Span) -> object:
    """What ``__index__``, ``__int__`` or ``__float__`` of a value says; a TypeError if it cannot.

    An integer for the first two.
    """
    box = vm.box(value)
    if not isinstance(box, ObjectBox):
        number = vm.kind(value).as_int(vm, value, span)
        if number is None:
            what = vm.kind(value).describe(vm, value)
            vm.fault(TypeError, f"{what} cannot be interpreted as an integer", span)
            return vm.unfollowed(f"{what} is used as an integer", span)
        return number

    if name == "__index__" and isinstance(box.payload, Expr):
        return box.payload  # an integer already is one: it is not asked

    def built_in(found: Inherited) -> object:
        payload = _box(vm, value).payload
        if payload is UNBOUND:
            return vm.unfollowed(f"`{name}` of a built-in type is not followed", span)
        return vm.as_int(payload, span) if name != "__float__" else payload

    def missing() -> object:
        what = vm.kind(value).describe(vm, value)
        vm.fault(TypeError, f"{what} has no `{name}`", span)
        return vm.unfollowed(f"{what} has no `{name}`", span)

    result = hierarchy.special(vm, value, name, (), span, built_in, missing)

    def one(answer: object) -> object:
        formula = as_formula(answer)
        if formula is not None:
            return E.ite(formula, 1, 0)
        wanted = float if name == "__float__" else Expr
        if isinstance(answer, (wanted, Opaque)) or name == "__float__":
            return answer
        vm.fault(TypeError, f"`{name}` returns no integer", span)
        return vm.unfollowed(f"`{name}` returns no integer", span)

    return vm.each(result, one)


# ------------------------------------------------------------------------ items


def with_missing(vm: VM, value: Ref, payload: object, index: object, span: Span) -> object:
    """``d[key]`` of a dictionary whose class says what a missing key gives."""
    there = vm.truth(vm.compare("in", index, payload, span), span)

    def otherwise() -> object:
        cls = _box(vm, value).cls
        hook = hierarchy.lookup(vm, cls, "__missing__")
        return vm.call(hierarchy.bind(vm, hook, value, cls, span), (index,), span=span)

    return vm.fork(there, lambda: vm.item(payload, index, span), otherwise)


def searched(vm: VM, value: Ref, item: object, span: Span) -> object:
    """``item in value`` of a class that can only be iterated over: the first equal item ends it."""
    source = vm.iteration(value, span)
    if isinstance(source, Items):
        same = (vm.equal(held, item, span) for held in source.items)
        return E.or_(*same)
    if not isinstance(source, (Live, Pull)):
        return vm.unfollowed(f"whether {vm.kind(value).describe(vm, value)} has an item", span)
    count = 0
    while True:
        held = source.at(count) if isinstance(source, Live) else source.next()
        if isinstance(held, Guarded) and any(v is UNBOUND for _, v in held.cases):
            return vm.unfollowed("how many items there are depends on the inputs", span)
        if held is UNBOUND:
            return E.FALSE
        found = vm.equal(held, item, span)
        known = vm.decide(found)
        if known is None:
            return vm.unfollowed("which item is the first equal one depends on the inputs", span)
        if known:
            return E.TRUE
        count += 1
        vm.step(span)


def iteration(vm: VM, value: Ref, span: Span, kind: Kind[VM]) -> Iteration:
    """What a loop over an instance runs through."""
    cls = _box(vm, value).cls
    found = hierarchy.lookup(vm, cls, "__iter__")
    if isinstance(found, Guarded):
        return Unknown("the items of an object whose class depends on the inputs")
    if found is None:
        vm.fault(TypeError, f"{kind.describe(vm, value)} is not iterable", span)
        return Unknown("the items of what is not iterable")
    if found is UNBOUND:
        return _by_index(vm, value, span, kind)
    payload = _box(vm, value).payload
    if isinstance(found, Inherited) and not issubclass(found.type, enum.Enum):
        if payload is not UNBOUND:
            return vm.iteration(payload, span)
    bound = hierarchy.bind(vm, found, value, cls, span)
    iterator = vm.settled(vm.call(bound, (), span=span))
    box = vm.box(iterator)
    check_iterator(vm, iterator, span)
    if isinstance(box, ObjectBox) and isinstance(iterator, Ref):
        return Pull(lambda: advance(vm, iterator, span))
    if isinstance(iterator, Guarded):
        return Unknown("the items of one of several iterators")
    return vm.iteration(iterator, span)


def check_iterator(vm: VM, iterator: object, span: Span) -> None:
    """What ``__iter__`` returns has to be an iterator."""
    box = vm.box(iterator)
    wrong = _is_no_iterator(vm, iterator)
    if isinstance(box, ObjectBox) and not hierarchy.is_external(box.cls):
        wrong = hierarchy.lookup(vm, box.cls, "__next__") in (UNBOUND, None)
    if wrong:
        what = vm.kind(iterator).describe(vm, iterator)
        vm.fault(TypeError, f"`__iter__` returns {what}, which is no iterator", span)


def _is_no_iterator(vm: VM, value: object) -> bool:
    """Whether ``iter()`` refuses a value as the answer of ``__iter__``."""
    if isinstance(vm.box(value), (ListBox, DictBox, SetBox)):
        return True
    return isinstance(value, (tuple, str, bytes, Range, Expr, bool, float)) or value is None


def _by_index(vm: VM, value: Ref, span: Span, kind: Kind[VM]) -> Iteration:
    """The old protocol: ``value[0]``, ``value[1]`` ... until there is an IndexError."""
    cls = _box(vm, value).cls
    getter = hierarchy.lookup(vm, cls, "__getitem__")
    if getter is UNBOUND or isinstance(getter, Guarded):
        if hierarchy.is_external(cls):
            return Unknown(f"the items of {kind.describe(vm, value)}")
        vm.fault(TypeError, f"{kind.describe(vm, value)} is not iterable", span)
        return Unknown("the items of what is not iterable")

    def at(k: int) -> object:
        return attempt(vm, lambda: vm.item(value, E.const(k), span), IndexError, lambda _: UNBOUND)

    return Live(lambda k: attempt(vm, lambda: at(k), StopIteration, lambda _: UNBOUND))


def advance(vm: VM, iterator: Ref, span: Span) -> object:
    """``next(iterator)`` of an instance; :data:`UNBOUND` at the end."""
    cls = _box(vm, iterator).cls
    found = hierarchy.lookup(vm, cls, "__next__")
    if found is UNBOUND:
        what = vm.kind(iterator).describe(vm, iterator)
        vm.fault(TypeError, f"{what} is no iterator", span)
        return UNBOUND
    bound = hierarchy.bind(vm, found, iterator, cls, span)
    return attempt(vm, lambda: vm.call(bound, (), span=span), StopIteration, lambda _: UNBOUND)


# ------------------------------------------------------------------------ keys


def key(vm: VM, value: Ref, span: Span) -> object:
    """An instance as a key: what it is equal to and what it hashes as go together."""
    cls = _box(vm, value).cls
    found = hierarchy.lookup(vm, cls, "__hash__")
    if found is None:
        vm.fault(TypeError, f"unhashable type: {hierarchy.described(cls)}", span)
        return UNBOUND
    if isinstance(found, Generated):
        fields = hierarchy.trait(cls, "hashed")
        equal = hierarchy.lookup(vm, cls, "__eq__")
        if isinstance(fields, tuple) and isinstance(equal, Generated):
            return _of_fields(vm, value, fields, span)
        return UNBOUND
    if isinstance(found, Inherited) and not hierarchy.overrides(vm, cls, "__eq__"):
        payload = _box(vm, value).payload
        if payload is UNBOUND or found.type is object:
            return value
    return UNBOUND


_MARK: Final = "fields of"


def _of_fields(vm: VM, value: Ref, fields: tuple[str, ...], span: Span) -> object:
    box = _box(vm, value)
    keys = []
    for name in fields:
        held = box.attributes.get(name, UNBOUND)
        one = UNBOUND if isinstance(held, Guarded) else key_of(vm, held, span)
        if one is UNBOUND:
            return UNBOUND
        keys.append(one)
    return (_MARK, box.cls, *keys)


# ------------------------------------------------------------------------ text


def text(vm: VM, value: Ref, how: str, span: Span) -> object:
    """``str(instance)`` or ``repr(instance)``."""
    cls = _box(vm, value).cls
    name = "__str__" if how == "s" else "__repr__"
    found = hierarchy.lookup(vm, cls, name)

    def one(attribute: object) -> object:
        if isinstance(attribute, Inherited):
            return _built_in_text(vm, value, attribute, how, span)
        bound = hierarchy.bind(vm, attribute, value, cls, span)
        return vm.each(vm.call(bound, (), span=span), lambda t: _checked(vm, t, name, span))

    return hierarchy.split(vm, found, one)


def _checked(vm: VM, answer: object, name: str, span: Span) -> object:
    if isinstance(answer, (str, Opaque)):
        return answer
    if vm.type_of(answer) == HostType(str):
        return answer
    if not hierarchy.derives_from_host(vm.type_of(answer), str):
        vm.fault(TypeError, f"`{name}` returns something that is no string", span)
    return TEXT


def _built_in_text(vm: VM, value: Ref, found: Inherited, how: str, span: Span) -> object:
    box = _box(vm, value)
    if issubclass(found.type, BaseException):
        return of_exception(vm, box, how, span)
    if found.type is object:
        if found.name == "__str__":
            return text(vm, value, "r", span)
        return TEXT  # it has the object's address in it
    if box.payload is not UNBOUND and not issubclass(found.type, enum.Enum):
        shown = text_of(vm, box.payload, "r" if found.name == "__repr__" else "s", span)
        return vm.each(shown, lambda text: _with_class(box, found, text))
    table = hierarchy.table_of(vm, found.type, found.name)
    if table is not None:
        bound = hierarchy.bind(vm, found, value, box.cls, span)
        return vm.call(bound, (), span=span)
    return TEXT


def _with_class(box: ObjectBox, found: Inherited, text: object) -> object:
    """What a built-in type writes of an instance of a class that derives from it."""
    if not issubclass(found.type, hierarchy.SAY_THEIR_CLASS):
        return text
    if not isinstance(text, str) or not isinstance(box.cls, Class):
        return TEXT
    name = f"{found.type.__name__}("
    if text.startswith(name):
        return f"{box.cls.name}({text[len(name) :]}"
    return f"{box.cls.name}({text})" if found.type is set else TEXT


#: exceptions that are written in ways of their own
_WRITTEN: Final = (OSError, SyntaxError, UnicodeError, ImportError)


def _is_group(cls: object) -> bool:
    """Whether instances are groups of exceptions, which there are from 3.11 on."""
    found = getattr(builtins, "BaseExceptionGroup", None)
    return isinstance(found, type) and hierarchy.derives_from_host(cls, found)


def of_exception(vm: VM, box: ObjectBox, how: str, span: Span) -> object:
    """``str(error)`` or ``repr(error)`` as built-in exceptions have it."""
    args = box.attributes.get("args", ())
    if not isinstance(args, tuple):
        return TEXT
    special = any(hierarchy.derives_from_host(box.cls, host) for host in _WRITTEN)
    if (special and len(args) > 1) or _is_group(box.cls):
        return TEXT
    if how == "s":
        if not args:
            return ""
        if len(args) == 1:
            is_key = hierarchy.derives_from_host(box.cls, KeyError)
            return text_of(vm, args[0], "r" if is_key else "s", span)
        return text_of(vm, args, "s", span)
    shown = concatenated(vm, [text_of(vm, arg, "r", span) for arg in args], ", ")
    name = box.cls.name if isinstance(box.cls, (Class, HostType)) else "Exception"
    return concatenated(vm, [f"{name}(", shown, ")"])
