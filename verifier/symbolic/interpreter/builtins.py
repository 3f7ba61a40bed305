"""Python's built-in functions and the ``math`` module, on interpreted values."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.interpreter import arithmetic, attributes, coercions
from verifier.symbolic.interpreter.heap import UNBOUND, DictBox, Item, ListBox, Many, ObjectBox
from verifier.symbolic.interpreter.inputs import LazyShape, Parameter
from verifier.symbolic.machine import Arg
from verifier.symbolic.trace import DType, View
from verifier.symbolic.values import (
    Builtin,
    Class,
    DTypeText,
    EnumMember,
    ExternalRef,
    Function,
    Opaque,
    Range,
    Ratio,
    Ref,
    SliceValue,
)

if TYPE_CHECKING:
    from verifier.symbolic.interpreter.vm import VM

_FLOAT = Opaque("a float", harmless=True)
_Handler = Callable[["VM", tuple[Arg, ...], dict[str, Arg], Span], object]


def find(name: str) -> object:
    """The built-in of that name, or ``UNBOUND``."""
    if name in HOST and "." not in name:
        return Builtin(name, lambda *a: Opaque(name))
    if name in ("__name__", "__file__", "__doc__"):
        return name
    if name in ("True", "False", "__debug__"):
        return name != "False"
    if name in _KNOWN:
        return ExternalRef(f"builtins.{name}")
    return UNBOUND


_KNOWN = {
    "Exception", "ValueError", "TypeError", "RuntimeError", "AssertionError", "NotImplementedError",
    "NotImplemented", "Ellipsis", "object", "super", "property", "staticmethod", "classmethod",
    "open", "input", "vars", "dir", "globals", "locals", "iter", "next", "map", "filter", "bytes",
    "format", "hash", "chr", "ord", "callable", "KeyError", "IndexError", "StopIteration",
    "ArithmeticError", "ZeroDivisionError", "OSError", "ImportError", "AttributeError", "complex",
    "frozenset", "bytearray", "memoryview", "exec", "eval", "compile", "__import__", "breakpoint",
    "DeprecationWarning", "UserWarning", "Warning", "BaseException", "NameError", "repr", "ascii",
}  # fmt: skip


def call(vm: VM, name: str, args: tuple[Arg, ...], keywords: dict[str, Arg], span: Span) -> object:
    """Call a host function by name."""
    return HOST[name](vm, args, keywords, span)


def _length(vm: VM, args: tuple[Arg, ...], keywords: dict[str, Arg], span: Span) -> object:
    if not args:
        return Opaque("len()")
    return arithmetic.lift1(vm, args[0].value, lambda v: _length_of(vm, v, span))


def _length_of(vm: VM, value: object, span: Span) -> object:
    if isinstance(value, tuple):
        if value and all(isinstance(item, Expr) for item in value):
            vm.inputs.measured = True  # it may well be the shape of a tile
        return E.const(len(value))
    if isinstance(value, LazyShape):
        vm.inputs.measured = True
        return E.const(vm.inputs.rank_of(value.parameter))
    if isinstance(value, str):
        return E.const(len(value))
    if isinstance(value, Range):
        from verifier.symbolic.interpreter.loops import trips_of

        return E.maximum(trips_of(vm, value, span), 0)
    if isinstance(value, Ref):
        box = vm.heap.get(value.id)
        if isinstance(box, ListBox):
            return box.length
        if isinstance(box, DictBox):
            return E.const(len(box.items))
        if isinstance(box, ObjectBox) and isinstance(box.cls, Class):
            from verifier.symbolic.interpreter import calls, classes

            method = classes.method(vm, box.cls, "__len__")
            if isinstance(method, Function):
                return calls.call_function(vm, method, (Arg(value, span),), {}, span)
    if isinstance(value, View):
        return value.shape[0] if value.axes else E.const(0)
    if isinstance(value, Parameter) and value.kind in (None, "tensor"):
        if isinstance(value.default, tuple):
            return E.const(len(value.default))
        return vm.inputs.extent(value, 0)
    return Opaque(f"len() of {coercions.kind_name(value)}")


def _range(vm: VM, args: tuple[Arg, ...], keywords: dict[str, Arg], span: Span) -> object:
    numbers = [coercions.as_int(vm, a.value, a.span) for a in args]
    if not numbers or any(n is None for n in numbers):
        return Opaque("a range")
    start, stop, step = E.const(0), numbers[0], E.const(1)
    if len(numbers) > 1:
        start, stop = numbers[0], numbers[1]  # type: ignore[assignment]
    if len(numbers) > 2:
        step = numbers[2]  # type: ignore[assignment]
    assert isinstance(stop, Expr)
    return Range(start, stop, step, "range", span)


def _extremum(kind: str) -> _Handler:
    def handler(vm: VM, args: tuple[Arg, ...], keywords: dict[str, Arg], span: Span) -> object:
        values: tuple[object, ...] = tuple(a.value for a in args)
        if len(values) == 1:
            items = coercions.as_items(vm, values[0], span)
            if items is None:
                return Opaque(f"{kind}() of {coercions.kind_name(values[0])}")
            values = items
        if not values:
            return Opaque(f"{kind}() of nothing")
        result = values[0]
        for value in values[1:]:
            result = arithmetic.lift2(vm, result, value, lambda a, b: _pair(vm, kind, a, b, span))
        return result

    return handler


def _pair(vm: VM, kind: str, a: object, b: object, span: Span) -> object:
    pick = min if kind == "min" else max
    if isinstance(a, float) and isinstance(b, float):
        return pick(a, b)
    floats = [arithmetic._as_float(x) for x in (a, b)]
    if isinstance(a, float) or isinstance(b, float):
        if floats[0] is not None and floats[1] is not None:
            return a if pick(floats[0], floats[1]) == floats[0] else b
        return _FLOAT
    if arithmetic._floats(a) or arithmetic._floats(b):
        return _FLOAT
    if isinstance(a, Ratio) or isinstance(b, Ratio):
        return _FLOAT
    x, y = coercions.as_int(vm, a, span), coercions.as_int(vm, b, span)
    if x is None or y is None:
        return Opaque(f"{kind}()")
    return E.minimum(x, y) if kind == "min" else E.maximum(x, y)


def _absolute(vm: VM, args: tuple[Arg, ...], keywords: dict[str, Arg], span: Span) -> object:
    value = args[0].value if args else None
    if isinstance(value, float):
        return abs(value)
    number = coercions.as_int(vm, value, span)
    return E.absolute(number) if number is not None else Opaque("abs()")


def _sum(vm: VM, args: tuple[Arg, ...], keywords: dict[str, Arg], span: Span) -> object:
    items = coercions.as_items(vm, args[0].value, span) if args else None
    if items is None:
        return Opaque("sum() of a sequence of symbolic length")
    total: object = args[1].value if len(args) > 1 else E.const(0)
    for item in items:
        total = arithmetic.binary(vm, "+", total, item, span)
    return total


def _int(vm: VM, args: tuple[Arg, ...], keywords: dict[str, Arg], span: Span) -> object:
    if not args:
        return E.const(0)
    return arithmetic.lift1(vm, args[0].value, lambda v: _to_int(vm, v, span))


def _to_int(vm: VM, value: object, span: Span) -> object:
    if isinstance(value, float):
        return E.const(int(value)) if math.isfinite(value) else Opaque("int() of infinity")
    if isinstance(value, str):
        return E.const(int(value)) if value.lstrip("-").isdigit() else Opaque("int() of a string")
    if isinstance(value, Ratio):
        # int() rounds towards zero; sizes are not negative, where that is the floor
        low, _ = E.bounds(value.num)
        if low is not None and low >= 0:
            return value.num // value.den
        down, up = value.num // value.den, E.ceildiv(value.num, value.den)
        return E.ite(E.ge(value.num * value.den, 0), down, up)
    number = coercions.as_int(vm, value, span)
    return number if number is not None else Opaque("int()")


def _round_up(vm: VM, args: tuple[Arg, ...], keywords: dict[str, Arg], span: Span) -> object:
    return arithmetic.lift1(vm, args[0].value, lambda v: _rounded(vm, v, True, span))


def _round_down(vm: VM, args: tuple[Arg, ...], keywords: dict[str, Arg], span: Span) -> object:
    return arithmetic.lift1(vm, args[0].value, lambda v: _rounded(vm, v, False, span))


def _round(vm: VM, args: tuple[Arg, ...], keywords: dict[str, Arg], span: Span) -> object:
    """Python's ``round``: halves go to the even neighbour."""
    value = args[0].value if len(args) == 1 and not keywords else None
    if isinstance(value, float):
        return E.const(round(value)) if math.isfinite(value) else Opaque("rounding infinity")
    if isinstance(value, Expr):
        return value
    return Opaque("a rounded value")


def _setattr(vm: VM, args: tuple[Arg, ...], keywords: dict[str, Arg], span: Span) -> object:
    vm.approximate("skipped", "`setattr` is not followed", span)
    return None


def _rounded(vm: VM, value: object, up: bool, span: Span) -> object:
    if isinstance(value, Ratio):
        return E.ceildiv(value.num, value.den) if up else value.num // value.den
    if isinstance(value, float):
        if not math.isfinite(value):
            return Opaque("rounding infinity")
        return E.const(math.ceil(value) if up else math.floor(value))
    number = coercions.as_int(vm, value, span)
    return number if number is not None else Opaque("a rounded value")


def _isinstance(vm: VM, args: tuple[Arg, ...], keywords: dict[str, Arg], span: Span) -> object:
    if len(args) != 2:
        return Opaque("isinstance()")
    return arithmetic.lift1(vm, args[0].value, lambda v: _is_a(vm, v, args[1].value, span))


def _is_a(vm: VM, value: object, cls: object, span: Span) -> object:
    wanted = coercions.as_items(vm, cls, span) if not isinstance(cls, (Class,)) else (cls,)
    if wanted is None:
        wanted = (cls,)
    results = [_is_one(vm, value, w) for w in wanted]
    if any(r is True for r in results):
        return E.TRUE
    if any(r is None for r in results):
        return Opaque("isinstance() of a value that is not followed")
    return E.FALSE


def _is_one(vm: VM, value: object, cls: object) -> bool | None:
    name = cls.name if isinstance(cls, Builtin) else ""
    if isinstance(cls, ExternalRef):
        name = cls.path.rpartition(".")[2]
    if isinstance(value, Opaque):
        return None
    if isinstance(cls, Class):
        if isinstance(value, Ref):
            box = vm.heap.get(value.id)
            return isinstance(box, ObjectBox) and box.cls is cls
        if isinstance(value, EnumMember):
            return value.cls_name == cls.definition.name
        return None if isinstance(value, Parameter) and value.kind is None else False
    table: dict[str, bool] = {
        "int": isinstance(value, Expr),
        "bool": isinstance(value, (bool, Bool)),
        "float": isinstance(value, (float, Ratio)),
        "str": isinstance(value, str),
        "tuple": isinstance(value, tuple),
    }
    if isinstance(value, Parameter):
        if value.kind == "int":
            return name == "int"
        if value.kind == "tensor":
            return None if name not in table else False
        return None
    if name in ("list", "dict", "set"):
        held = vm.heap.get(value.id) if isinstance(value, Ref) else None
        return isinstance(held, ListBox) if name == "list" else isinstance(held, DictBox)
    if name in table:
        return table[name]
    return None if isinstance(value, (View, Ref)) else False


def _str(vm: VM, args: tuple[Arg, ...], keywords: dict[str, Arg], span: Span) -> object:
    value = args[0].value if args else ""
    if isinstance(value, DType):
        return DTypeText(value)
    if isinstance(value, Parameter) and value.kind in (None, "dtype") and "dtype" in value.name:
        return DTypeText(vm.inputs.as_dtype(value))
    if isinstance(value, str):
        return value
    if isinstance(value, Expr) and value.is_const:
        return str(value.const)
    return Opaque("a string", harmless=True)


def _tuple(vm: VM, args: tuple[Arg, ...], keywords: dict[str, Arg], span: Span) -> object:
    if not args:
        return ()
    if isinstance(args[0].value, LazyShape):
        return args[0].value
    items = coercions.as_items(vm, args[0].value, span)
    return items if items is not None else args[0].value


def _list(vm: VM, args: tuple[Arg, ...], keywords: dict[str, Arg], span: Span) -> object:
    if not args:
        return vm.heap.new(ListBox())
    value = args[0].value
    segments = arithmetic._segments(vm, value)
    if segments is None and isinstance(value, Range):
        from verifier.symbolic.interpreter.loops import trips_of

        index = vm.loop_symbol("item")
        item = value.start + value.step * E.from_atom(index)
        segments = (Many(E.maximum(trips_of(vm, value, span), 0), index, (item,)),)
    if segments is None:
        return Opaque(f"a list of {coercions.kind_name(value)}")
    return vm.heap.new(ListBox(segments))


def _dict(vm: VM, args: tuple[Arg, ...], keywords: dict[str, Arg], span: Span) -> object:
    box = DictBox()
    if args and isinstance(args[0].value, Ref):
        other = vm.heap.get(args[0].value.id)
        if isinstance(other, DictBox):
            box.items.update(other.items)
    box.items.update({key: arg.value for key, arg in keywords.items()})
    return vm.heap.new(box)


def _enumerate(vm: VM, args: tuple[Arg, ...], keywords: dict[str, Arg], span: Span) -> object:
    if not args:
        return Opaque("enumerate()")
    value = args[0].value
    start = coercions.as_int(vm, args[1].value, span) if len(args) > 1 else E.const(0)
    if "start" in keywords:
        start = coercions.as_int(vm, keywords["start"].value, span)
    start = start if start is not None else E.const(0)
    items = coercions.as_items(vm, value, span)
    if items is not None:
        return tuple((start + k, item) for k, item in enumerate(items))
    if isinstance(value, Ref):
        box = vm.heap.get(value.id)
        if (
            isinstance(box, ListBox)
            and len(box.segments) == 1
            and isinstance(box.segments[0], Many)
        ):
            run = box.segments[0]
            if len(run.values) == 1:
                pair = (start + E.from_atom(run.index), run.values[0])
                return vm.heap.new(ListBox((Many(run.count, run.index, (pair,)),)))
    return Opaque("enumerate() of a sequence that is not followed")


def _zip(vm: VM, args: tuple[Arg, ...], keywords: dict[str, Arg], span: Span) -> object:
    sequences = [coercions.as_items(vm, a.value, a.span) for a in args]
    if any(s is None for s in sequences):
        return Opaque("zip() of sequences that are not followed")
    return tuple(zip(*(s for s in sequences if s is not None), strict=False))


def _reversed(vm: VM, args: tuple[Arg, ...], keywords: dict[str, Arg], span: Span) -> object:
    value = args[0].value if args else ()
    if isinstance(value, Range):
        from verifier.symbolic.interpreter.loops import trips_of

        trips = trips_of(vm, value, span)
        last = value.start + value.step * (trips - 1)
        return Range(last, value.start - value.step, -value.step, value.kind, span)
    items = coercions.as_items(vm, value, span)
    return tuple(reversed(items)) if items is not None else Opaque("reversed()")


def _all_any(kind: str) -> _Handler:
    def handler(vm: VM, args: tuple[Arg, ...], keywords: dict[str, Arg], span: Span) -> object:
        items = coercions.as_items(vm, args[0].value, span) if args else None
        if items is None:
            return Opaque(f"{kind}() of a sequence that is not followed")
        parts = [coercions.truth(vm, item, span) for item in items]
        return E.and_(*parts) if kind == "all" else E.or_(*parts)

    return handler


def _divmod(vm: VM, args: tuple[Arg, ...], keywords: dict[str, Arg], span: Span) -> object:
    if len(args) != 2:
        return Opaque("divmod()")
    a, b = args[0].value, args[1].value
    return (
        arithmetic.binary(vm, "//", a, b, span),
        arithmetic.binary(vm, "%", a, b, span),
    )


def _power(vm: VM, args: tuple[Arg, ...], keywords: dict[str, Arg], span: Span) -> object:
    if len(args) != 2:
        return Opaque("pow()")
    return arithmetic.binary(vm, "**", args[0].value, args[1].value, span)


def _slice(vm: VM, args: tuple[Arg, ...], keywords: dict[str, Arg], span: Span) -> object:
    values = [a.value for a in args]
    if len(values) == 1:
        return SliceValue(None, values[0], None)
    return SliceValue(*(values + [None] * (3 - len(values)))[:3])


def _bool(vm: VM, args: tuple[Arg, ...], keywords: dict[str, Arg], span: Span) -> object:
    return coercions.truth(vm, args[0].value, span) if args else False


def _float(vm: VM, args: tuple[Arg, ...], keywords: dict[str, Arg], span: Span) -> object:
    value = args[0].value if args else 0.0
    if isinstance(value, str):
        try:
            return float(value)
        except ValueError:
            return _FLOAT
    known = arithmetic._as_float(value)
    if known is not None:
        return known
    if isinstance(value, Expr):
        return Ratio(value, E.const(1))
    return _FLOAT


def _harmless(text: str) -> _Handler:
    def handler(vm: VM, args: tuple[Arg, ...], keywords: dict[str, Arg], span: Span) -> object:
        return Opaque(text, harmless=True)

    return handler


def _nothing(vm: VM, args: tuple[Arg, ...], keywords: dict[str, Arg], span: Span) -> object:
    return None


def _hasattr(vm: VM, args: tuple[Arg, ...], keywords: dict[str, Arg], span: Span) -> object:
    if len(args) >= 2 and isinstance(args[1].value, str):
        value = args[0].value
        if isinstance(value, Ref):
            box = vm.heap.get(value.id)
            if isinstance(box, ObjectBox):
                found = attributes.get(vm, value, args[1].value, span)
                return E.truth(not isinstance(found, Opaque))
    return Opaque("hasattr()")


def _getattr(vm: VM, args: tuple[Arg, ...], keywords: dict[str, Arg], span: Span) -> object:
    if len(args) >= 2 and isinstance(args[1].value, str):
        found = attributes.get(vm, args[0].value, args[1].value, span)
        if isinstance(found, Opaque) and len(args) > 2:
            return args[2].value
        return found
    return Opaque("getattr()")


def _type(vm: VM, args: tuple[Arg, ...], keywords: dict[str, Arg], span: Span) -> object:
    if args and isinstance(args[0].value, Ref):
        box = vm.heap.get(args[0].value.id)
        if isinstance(box, ObjectBox):
            return box.cls
    return Opaque("type()")


def _float_function(function: Callable[[float], float]) -> _Handler:
    def handler(vm: VM, args: tuple[Arg, ...], keywords: dict[str, Arg], span: Span) -> object:
        value = arithmetic._as_float(args[0].value) if args else None
        if value is None:
            return _FLOAT
        try:
            return function(value)
        except (ValueError, OverflowError):
            return _FLOAT

    return handler


def _log2(vm: VM, args: tuple[Arg, ...], keywords: dict[str, Arg], span: Span) -> object:
    value = args[0].value if args else None
    if isinstance(value, Expr) and value.is_const and value.const > 0:
        return math.log2(value.const)
    return _FLOAT if not isinstance(value, Expr) else Opaque("a logarithm of a size")


def _gcd(vm: VM, args: tuple[Arg, ...], keywords: dict[str, Arg], span: Span) -> object:
    numbers = [coercions.as_int(vm, a.value, a.span) for a in args]
    known = [n.const for n in numbers if n is not None and n.is_const]
    if len(known) == len(args):
        return E.const(math.gcd(*known))
    result = E.fresh("gcd", 0)
    vm.approximate("opaque", "gcd of symbolic integers is not followed", span, [repr(result)])
    return result


def _prod(vm: VM, args: tuple[Arg, ...], keywords: dict[str, Arg], span: Span) -> object:
    items = coercions.as_items(vm, args[0].value, span) if args else None
    if items is None:
        return Opaque("a product of a sequence that is not followed")
    total: object = E.const(1)
    for item in items:
        total = arithmetic.binary(vm, "*", total, item, span)
    return total


def _sorted(vm: VM, args: tuple[Arg, ...], keywords: dict[str, Arg], span: Span) -> object:
    items = coercions.as_items(vm, args[0].value, span) if args else None
    if items is not None:
        numbers = [x.const for x in items if isinstance(x, Expr) and x.is_const]
        if len(numbers) == len(items) and not keywords:
            ordered = tuple(Item(E.const(n)) for n in sorted(numbers))
            return vm.heap.new(ListBox(ordered))
    return Opaque("sorted()")


def _id(vm: VM, args: tuple[Arg, ...], keywords: dict[str, Arg], span: Span) -> object:
    return Opaque("id()", harmless=True)


def _copy(vm: VM, args: tuple[Arg, ...], keywords: dict[str, Arg], span: Span) -> object:
    """``copy.copy`` and ``dataclasses.replace`` of records and instances; fields are shared."""
    return arithmetic.lift1(vm, args[0].value if args else None, lambda v: _copied(vm, v, keywords))


def _copied(vm: VM, value: object, changes: dict[str, Arg]) -> object:
    box = vm.heap.get(value.id) if isinstance(value, Ref) else None
    if isinstance(box, ObjectBox):
        changed = {name: arg.value for name, arg in changes.items()}
        return vm.heap.new(ObjectBox(box.cls, {**box.attributes, **changed}))
    if isinstance(box, ListBox):
        return vm.heap.new(ListBox(box.segments, box.kind))
    if isinstance(box, DictBox):
        return vm.heap.new(DictBox(dict(box.items)))
    return value


HOST: dict[str, _Handler] = {
    "len": _length,
    "range": _range,
    "min": _extremum("min"),
    "max": _extremum("max"),
    "abs": _absolute,
    "sum": _sum,
    "int": _int,
    "float": _float,
    "bool": _bool,
    "str": _str,
    "tuple": _tuple,
    "list": _list,
    "set": _list,
    "dict": _dict,
    "enumerate": _enumerate,
    "zip": _zip,
    "reversed": _reversed,
    "sorted": _sorted,
    "all": _all_any("all"),
    "any": _all_any("any"),
    "divmod": _divmod,
    "pow": _power,
    "slice": _slice,
    "round": _round,
    "print": _nothing,
    "isinstance": _isinstance,
    "hasattr": _hasattr,
    "getattr": _getattr,
    "setattr": _setattr,
    "type": _type,
    "id": _id,
    "copy.copy": _copy,
    "dataclasses.replace": _copy,
    "math.ceil": _round_up,
    "math.floor": _round_down,
    "math.trunc": _int,
    "math.sqrt": _float_function(math.sqrt),
    "math.exp": _float_function(math.exp),
    "math.log": _float_function(math.log),
    "math.log2": _log2,
    "math.gcd": _gcd,
    "math.prod": _prod,
    "math.isqrt": _harmless("an integer square root"),
    "math.pow": _harmless("a power"),
    "math.isinf": _harmless("a float test"),
    "math.isnan": _harmless("a float test"),
    "numpy.prod": _prod,
    "numpy.ceil": _round_up,
    "numpy.floor": _round_down,
    "numpy.sqrt": _float_function(math.sqrt),
}
