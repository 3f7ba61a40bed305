"""The ``operator`` module: operators as functions."""

from __future__ import annotations

import operator
from typing import Final

from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.python import hierarchy
from verifier.symbolic.python.attempts import attempt
from verifier.symbolic.python.builtin import Table
from verifier.symbolic.python.concrete import OPERATORS as _SYMBOLS
from verifier.symbolic.python.concrete import asked, payload
from verifier.symbolic.python.heap import UNBOUND, ObjectBox, StateBox
from verifier.symbolic.python.integers import bounded_unknown
from verifier.symbolic.python.kinds.foretold import hinted
from verifier.symbolic.python.kinds.iterators import HINT, IteratorKind
from verifier.symbolic.python.kinds.numbers import as_expr, is_integer
from verifier.symbolic.python.library.core_numbers import NUMBERS, number_of, unusable
from verifier.symbolic.python.model import Builtin, HostType, Partial
from verifier.symbolic.python.vm import VM
from verifier.symbolic.values import Opaque, Ref

OPERATOR: Final = Table("operator")


def _binary(name: str, op: str) -> None:
    @OPERATOR.add(name, f"__{name.strip('_')}__")
    def applied(vm: VM, span: Span, a: object, b: object, /) -> object:
        return vm.binary(op, a, b, span)

    @OPERATOR.add(f"i{name.strip('_')}", f"__i{name.strip('_')}__")
    def in_place(vm: VM, span: Span, a: object, b: object, /) -> object:
        return vm.inplace(op, a, b, span)


for _op, _function in _SYMBOLS.items():
    _binary(_function.__name__, _op)
OPERATOR["and_"], OPERATOR["or_"] = OPERATOR["__and__"], OPERATOR["__or__"]


def _comparison(name: str, op: str) -> None:
    @OPERATOR.add(name, f"__{name}__")
    def compared(vm: VM, span: Span, a: object, b: object, /) -> object:
        return vm.compare(op, a, b, span)


for _name, _op in (
    ("lt", "<"), ("le", "<="), ("eq", "=="), ("ne", "!="), ("ge", ">="), ("gt", ">"),
    ("is_", "is"), ("is_not", "is not"),
):  # fmt: skip
    _comparison(_name, _op)


def _unary(names: tuple[str, ...], op: str) -> None:
    @OPERATOR.add(*names)
    def applied(vm: VM, span: Span, a: object, /) -> object:
        return vm.unary(op, a, span)


_unary(("neg", "__neg__"), "-")
_unary(("pos", "__pos__"), "+")
_unary(("inv", "invert", "__inv__", "__invert__"), "~")


@OPERATOR.add("abs", "__abs__")
def _abs(vm: VM, span: Span, a: object, /) -> object:
    return NUMBERS["abs"].handler(vm, span, a)


@OPERATOR.add("not_", "__not__")
def _not(vm: VM, span: Span, a: object, /) -> object:
    return E.not_(vm.truth(a, span))


@OPERATOR.add("truth")
def _truth(vm: VM, span: Span, a: object, /) -> object:
    return vm.truth(a, span)


@OPERATOR.add("index", "__index__")
def _index(vm: VM, span: Span, a: object, /) -> object:
    def one(value: object) -> object:
        held = payload(vm, value)
        own = UNBOUND if is_integer(held) else asked(vm, value, "__index__", (), span)
        number = number_of(vm, value if own is UNBOUND else own, span)
        return as_expr(number) if is_integer(number) else unusable(vm, "`index()`", number, span)

    return vm.each(a, one)


@OPERATOR.add("contains", "__contains__")
def _contains(vm: VM, span: Span, a: object, b: object, /) -> object:
    return vm.compare("in", b, a, span)


@OPERATOR.add("concat", "__concat__")
def _concat(vm: VM, span: Span, a: object, b: object, /) -> object:
    return vm.binary("+", a, b, span)


@OPERATOR.add("getitem", "__getitem__")
def _getitem(vm: VM, span: Span, a: object, b: object, /) -> object:
    return vm.item(a, b, span)


@OPERATOR.add("setitem", "__setitem__")
def _setitem(vm: VM, span: Span, a: object, b: object, c: object, /) -> object:
    vm.set_item(a, b, c, span)
    return None


@OPERATOR.add("delitem", "__delitem__")
def _delitem(vm: VM, span: Span, a: object, b: object, /) -> object:
    vm.set_item(a, b, UNBOUND, span)
    return None


@OPERATOR.add("length_hint")
def _length_hint(vm: VM, span: Span, obj: object, default: object = UNBOUND, /) -> object:
    other = E.const(0) if default is UNBOUND else payload(vm, default)
    if not is_integer(other):
        return unusable(vm, "`length_hint()`", other, span)

    def one(value: object) -> object:
        found = _expected(vm, value, span)
        return as_expr(other) if found is None else found

    return vm.each(obj, one)


def _expected(vm: VM, value: object, span: Span) -> object:
    """How many items there may be; None if a value does not say."""
    box = vm.box(value)
    cls = vm.type_of(value)
    if isinstance(value, Opaque) or hierarchy.is_external(cls):
        return bounded_unknown(vm, "how many items there may be is not followed", span, 0)
    if isinstance(box, StateBox) and isinstance(box.kind, IteratorKind):
        assert isinstance(value, Ref)
        return box.kind.expected(vm, value, span) if box.kind.hints(vm, value) else None
    if isinstance(box, ObjectBox):
        hints = hierarchy.overrides(vm, cls, HINT)

        def refused(error: object) -> object:
            return hinted(vm, value, cls, span) if hints else None

        if hierarchy.lookup(vm, cls, "__len__") is UNBOUND:
            return refused(None)
        return attempt(vm, lambda: vm.length(value, span), TypeError, refused)
    if isinstance(cls, HostType):
        return vm.length(value, span) if hasattr(cls.type, "__len__") else None
    return vm.unfollowed("how many items there may be is not followed", span)


@OPERATOR.add("countOf", "indexOf")
def _not_followed(vm: VM, span: Span, /, *args: object) -> object:
    return vm.unfollowed("this function of `operator` is not followed", span)


@OPERATOR.add("call")
def _call(vm: VM, span: Span, obj: object, /, *args: object, **keywords: object) -> object:
    return vm.call(obj, args, keywords, span=span)


# ------------------------------------------------------------------------ getters


def _get_items(vm: VM, span: Span, keys: object, obj: object, /) -> object:
    assert isinstance(keys, tuple)
    items = tuple(vm.item(obj, key, span) for key in keys)
    return items[0] if len(items) == 1 else items


def _get_attributes(vm: VM, span: Span, names: object, obj: object, /) -> object:
    assert isinstance(names, tuple)
    out = []
    for name in names:
        value = obj
        for part in str(name).split("."):
            value = vm.attribute(value, part, span)
        out.append(value)
    return out[0] if len(out) == 1 else tuple(out)


def _call_method(vm: VM, span: Span, call: object, obj: object, /, **keywords: object) -> object:
    assert isinstance(call, tuple)
    name, *args = call
    return vm.call(vm.attribute(obj, str(name), span), args, keywords, span=span)


_ITEMS: Final = Builtin.of("itemgetter", _get_items)
_ATTRIBUTES: Final = Builtin.of("attrgetter", _get_attributes)
_METHOD: Final = Builtin.of("methodcaller", _call_method)


def _itemgetter(vm: VM, span: Span, item: object, /, *items: object) -> object:
    return Partial(_ITEMS, ((item, *items),), ())


def _attrgetter(vm: VM, span: Span, attr: object, /, *attrs: object) -> object:
    names = tuple(payload(vm, name) for name in (attr, *attrs))
    if not all(isinstance(name, str) for name in names):
        if any(vm.kind(name).complete and not isinstance(name, str) for name in names):
            vm.fault(TypeError, "attribute name must be a string", span)
        return vm.unfollowed("`attrgetter()` of a name that is not followed", span)
    return Partial(_ATTRIBUTES, (names,), ())


def _methodcaller(vm: VM, span: Span, name: object, /, *args: object, **keywords: object) -> object:
    text = payload(vm, name)
    if not isinstance(text, str):
        if vm.kind(text).complete:
            vm.fault(TypeError, "method name must be a string", span)
        return vm.unfollowed("`methodcaller()` of a name that is not followed", span)
    return Partial(_METHOD, ((text, *args),), tuple(keywords.items()))


#: what makes functions that get something, by their type
GETTERS: Final[dict[type, Builtin]] = {
    operator.itemgetter: Builtin.of("operator.itemgetter", _itemgetter),
    operator.attrgetter: Builtin.of("operator.attrgetter", _attrgetter),
    operator.methodcaller: Builtin.of("operator.methodcaller", _methodcaller),
}
