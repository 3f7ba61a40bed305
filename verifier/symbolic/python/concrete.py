"""The bridge to the host: what is concrete is computed by CPython itself.

Only operators, functions and methods of built-in types are run there, on values of built-in types
that are made for the purpose; nothing of the checked program is.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Sequence
from typing import Any, Final

from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.python import hierarchy
from verifier.symbolic.python.heap import (
    UNBOUND,
    DictBox,
    Item,
    ListBox,
    ObjectBox,
    SetBox,
    StateBox,
)
from verifier.symbolic.python.model import BoundBuiltin
from verifier.symbolic.python.terms import join
from verifier.symbolic.python.vm import VM
from verifier.symbolic.tensors import LoopKind
from verifier.symbolic.values import TEXT, Opaque, Range, Ratio, Ref, SliceValue, unsure


class Symbolic:
    """What has no value on the host."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "<symbolic>"


SYMBOLIC: Final = Symbolic()

# No kernel comes near these; a text made to exhaust the checker would.
#: bits of an integer
MAX_BITS: Final = 4096
#: elements of a string or sequence
MAX_LENGTH: Final = 65536
#: containers in containers
MAX_NESTING: Final = 20

#: values that are themselves on the host
_PLAIN: Final = (bool, str, float, bytes, complex, type(None), type(...), type(NotImplemented))
#: what a dictionary's key is where the key is the value itself
_KEYS: Final = (int, str, float, bytes, complex, type(None), type(...))

#: the operators of the language as functions of the host
OPERATORS: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": operator.pow,
    "<<": operator.lshift,
    ">>": operator.rshift,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
    "@": operator.matmul,
}
COMPARISONS: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
UNARY: Final[dict[str, Callable[[Any], Any]]] = {
    "-": operator.neg,
    "+": operator.pos,
    "~": operator.invert,
}


# ------------------------------------------------------------------------ to the host


#: the field in which a ``bytearray`` has its bytes
OCTETS: Final = "octets"


def to_host(vm: VM, value: object, depth: int = 0) -> Any:
    """The value on the host, :data:`SYMBOLIC` if anything in it is not concrete.

    Containers are copied: what the host does to them is lost.
    """
    if isinstance(value, Expr):
        return value.const if value.is_const else SYMBOLIC
    if isinstance(value, Bool):
        return value is E.TRUE if value is E.TRUE or value is E.FALSE else SYMBOLIC
    if isinstance(value, _PLAIN):
        return value
    if depth > MAX_NESTING:
        return SYMBOLIC
    if isinstance(value, tuple):
        items = _all(vm, value, depth)
        return SYMBOLIC if items is None else tuple(items)
    if isinstance(value, SliceValue):
        items = _all(vm, (value.start, value.stop, value.step), depth)
        return SYMBOLIC if items is None else slice(*items)
    if isinstance(value, Range) and value.kind is LoopKind.RANGE:
        items = _all(vm, (value.start, value.stop, value.step), depth)
        return SYMBOLIC if items is None or not items[2] else range(*items)
    if isinstance(value, Ratio):
        return _quotient(value)
    if isinstance(value, Ref):
        return _container(vm, value, depth)
    return SYMBOLIC


def _all(vm: VM, values: Sequence[object], depth: int) -> list[Any] | None:
    out = []
    for value in values:
        item = to_host(vm, value, depth + 1)
        if item is SYMBOLIC:
            return None
        out.append(item)
    return out


def _quotient(value: Ratio) -> Any:
    if not (value.num.is_const and value.den.is_const and value.den.const):
        return SYMBOLIC
    try:
        return value.num.const / value.den.const
    except OverflowError:
        return SYMBOLIC


def _container(vm: VM, ref: Ref, depth: int) -> Any:
    box = vm.heap.get(ref.id)
    if isinstance(box, StateBox):
        octets = box.fields.get(OCTETS)
        return bytearray(octets) if isinstance(octets, bytes) else SYMBOLIC
    if isinstance(box, ListBox):
        if not all(isinstance(segment, Item) for segment in box.segments):
            return SYMBOLIC
        items = _all(vm, box.concrete or (), depth)
        return SYMBOLIC if items is None else items
    if isinstance(box, DictBox):
        if box.shuffled or not all(map(_is_key, box.items)):
            return SYMBOLIC
        items = _all(vm, tuple(box.items.values()), depth)
        return SYMBOLIC if items is None else dict(zip(box.items, items, strict=True))
    if isinstance(box, SetBox):
        if not all(map(_is_key, box.items)):
            return SYMBOLIC
        if not all(value is True or value is E.TRUE for value in box.items.values()):
            return SYMBOLIC
        return frozenset(box.items) if box.frozen else set(box.items)
    return SYMBOLIC


def _is_key(key: object) -> bool:
    """Whether a dictionary's key is its value on the host."""
    if type(key) is tuple:
        return all(map(_is_key, key))
    return isinstance(key, _KEYS)


# ------------------------------------------------------------------------ from the host


def from_host(vm: VM, value: object) -> object:
    """The value of ours, :data:`UNBOUND` if there is none such or it is too large."""
    if isinstance(value, _PLAIN):
        return UNBOUND if isinstance(value, (str, bytes)) and len(value) > MAX_LENGTH else value
    if type(value) is int:
        return E.const(value) if value.bit_length() <= MAX_BITS else UNBOUND
    if isinstance(value, slice):
        parts = [from_host(vm, part) for part in (value.start, value.stop, value.step)]
        return UNBOUND if UNBOUND in parts else SliceValue(*parts)
    if isinstance(value, range):
        start, stop, step = map(E.const, (value.start, value.stop, value.step))
        return Range(start, stop, step, LoopKind.RANGE)
    if isinstance(value, (tuple, list, dict, set, frozenset)):
        return _contained(vm, value)
    return UNBOUND


def _contained(
    vm: VM,
    value: tuple[object, ...]
    | list[object]
    | dict[object, object]
    | set[object]
    | frozenset[object],
) -> object:
    if len(value) > MAX_LENGTH:
        return UNBOUND
    if isinstance(value, (set, frozenset)):
        if not all(map(_is_key, value)):
            return UNBOUND
        return vm.heap.new(SetBox(dict.fromkeys(value, True), isinstance(value, frozenset)))
    items = value.values() if isinstance(value, dict) else value
    made = [from_host(vm, item) for item in items]
    if any(item is UNBOUND for item in made):
        return UNBOUND
    if isinstance(value, dict):
        if not all(map(_is_key, value)):
            return UNBOUND
        return vm.heap.new(DictBox(dict(zip(value, made, strict=True))))
    return tuple(made) if isinstance(value, tuple) else vm.heap.new(ListBox.of(made))


# ------------------------------------------------------------------------ on the host


def run(vm: VM, span: Span, function: Callable[..., Any], *args: Any, **keywords: Any) -> object:
    """What a pure function of the host gives for values of the host; its error is a fault.

    Raises:
        Ended: it raises.
    """
    if not _affordable(function, args, keywords):
        what = "a value that is too large to compute"
        return vm.unfollowed(what, span) if any(map(_refused, args)) else unsure(what)
    try:
        result = function(*args, **keywords)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        return failed(vm, span, error)
    except (MemoryError, RecursionError):
        return vm.unfollowed("a computation that is too large", span)
    value = from_host(vm, result)
    return unsure("a value that is too large to follow") if value is UNBOUND else value


def failed(vm: VM, span: Span, error: Exception) -> object:
    """The host has raised an error: so does the program.

    Raises:
        Ended: always.
    """
    args = from_host(vm, error.args)
    message = str(error.args[0]) if isinstance(error, KeyError) and error.args else str(error)
    vm.fault(type(error), message, span, args=args if isinstance(args, tuple) else (message,))
    raise AssertionError(message)  # pragma: no cover - the fault ends the path


def operate(vm: VM, op: str, left: Any, right: Any, span: Span) -> object:
    """``left op right`` of values of the host."""
    return run(vm, span, OPERATORS[op], left, right)


def _refused(argument: Any) -> bool:
    """Whether a format asks for more than CPython counts with."""
    if isinstance(argument, int):
        return argument > 1 << 60  # more than there can be of anything
    text = argument.decode("latin-1") if isinstance(argument, bytes) else argument
    return isinstance(text, str) and any(
        len(number) > 18 or int(number) >= 1 << 31 for number in _NUMBER.findall(text)
    )


#: functions and methods of the host whose result's size an argument says
_PADDED: Final = frozenset({"ljust", "rjust", "center", "zfill", "expandtabs", "to_bytes"})
_NUMBER: Final = re.compile(r"\d+")


def _affordable(
    function: Callable[..., Any], args: tuple[Any, ...], keywords: dict[str, Any]
) -> bool:
    """Whether the host computes it in little time and memory."""
    name = getattr(function, "__name__", "")
    limit = _LIMITS.get(function)
    if limit is not None and len(args) == 2:
        return limit(args[0], args[1])
    if name in _PADDED or function in (bytes, bytearray):
        widths = (*args[1:], *keywords.values()) if name in _PADDED else args[:1]
        return all(not isinstance(w, int) or w <= MAX_LENGTH for w in widths)
    if name == "replace" and len(args) >= 3:
        text, old, new = args[:3]
        if all(isinstance(part, (str, bytes)) for part in (text, old, new)):
            pieces = len(text) // max(len(old), 1) + 1
            return len(text) + pieces * len(new) <= 16 * MAX_LENGTH
    if name == "join" and len(args) >= 2 and isinstance(args[1], (tuple, list)):
        lengths = sum(len(part) for part in args[1] if isinstance(part, (str, bytes)))
        return lengths + len(args[0]) * len(args[1]) <= 16 * MAX_LENGTH
    return True


def _product(left: Any, right: Any) -> bool:
    for sequence, count in ((left, right), (right, left)):
        if isinstance(sequence, (str, bytes, tuple, list)) and isinstance(count, int):
            return len(sequence) * max(count, 0) <= MAX_LENGTH
    if isinstance(left, int) and isinstance(right, int):
        return left.bit_length() + right.bit_length() <= 2 * MAX_BITS
    return True


def _power(base: Any, exponent: Any) -> bool:
    if isinstance(base, int) and isinstance(exponent, int):
        return abs(exponent) * max(base.bit_length(), 1) <= 2 * MAX_BITS
    return True


def _shift(left: Any, right: Any) -> bool:
    return not isinstance(right, int) or right <= 2 * MAX_BITS


def _rest(left: Any, right: Any) -> bool:
    """``%``, which also formats."""
    if not isinstance(left, (str, bytes)):
        return True
    values = right if isinstance(right, tuple) else (right,)
    text = left if isinstance(left, str) else left.decode("latin-1")
    if "*" in text and any(isinstance(v, int) and abs(v) > MAX_LENGTH for v in values):
        return False
    return modest(text)


def modest(text: str) -> bool:
    """Whether no number in a format asks for much."""
    return all(len(number) <= 5 for number in _NUMBER.findall(text))


def _formatted(value: Any, spec: Any) -> bool:
    return not isinstance(spec, str) or modest(spec)


_LIMITS: Final[dict[Callable[..., Any], Callable[[Any, Any], bool]]] = {
    operator.mul: _product,
    operator.pow: _power,
    operator.lshift: _shift,
    operator.mod: _rest,
    format: _formatted,
}


# ------------------------------------------------------------------------ by case


def forked(vm: VM, live: list[tuple[Bool, object]], action: Callable[[Any], object]) -> object:
    """Apply an action that may change something to each case of a value."""
    if not live:
        return Opaque("a value on an impossible path", harmless=True)
    (guard, item), rest = live[0], live[1:]
    if not rest:
        return action(item)
    return vm.fork(guard, lambda: action(item), lambda: forked(vm, rest, action))


def selected(cases: Sequence[tuple[Bool, object]]) -> object:
    """The value that is each case's where its condition holds, the last one's elsewhere."""
    result = cases[-1][1]
    for guard, item in reversed(cases[:-1]):
        result = join(guard, item, result)
    return result


# ------------------------------------------------------------------------ classes


def asked(vm: VM, value: object, name: str, args: Sequence[object], span: Span) -> object:
    """What a special method of an instance's class gives; :data:`UNBOUND` if no class defines it.

    Those of built-in types are not asked.
    """
    if not isinstance(vm.box(value), ObjectBox):
        return UNBOUND
    return hierarchy.special(
        vm, value, name, args, span, lambda inherited: UNBOUND, lambda: UNBOUND
    )


def payload(vm: VM, value: object) -> object:
    """The built-in value inside an instance of a subclass of a built-in type, else the value."""
    box = vm.box(value)
    if isinstance(box, ObjectBox) and box.payload is not UNBOUND:
        return box.payload
    return value


def host_attribute(vm: VM, value: object, host: type, name: str, span: Span) -> object:
    """An attribute of a value of a built-in type: what has no model is unknown or not there."""
    if name == "__class__":
        return vm.type_of(value)
    if name == "__doc__":
        return TEXT
    if name.startswith("__") and getattr(host, name, name) is None:
        return None  # the type says that it has none: `[].__hash__`
    if not hasattr(host, name):
        return UNBOUND
    if name in vm.language.methods.get(hierarchy.SPECIAL, {}):
        return BoundBuiltin(hierarchy.SPECIAL, name, value)
    return vm.unfollowed(f"`.{name}` of a `{host.__name__}` is not followed", span)
