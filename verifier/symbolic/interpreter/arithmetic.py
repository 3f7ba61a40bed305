"""Python's operators on interpreted values."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING

from verifier.hardware import dtypes as dt
from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.interpreter import addresses, coercions
from verifier.symbolic.interpreter.heap import UNBOUND, DictBox, Item, ListBox, Many, ObjectBox
from verifier.symbolic.interpreter.inputs import LazyShape, Parameter
from verifier.symbolic.interpreter.terms import join, same
from verifier.symbolic.trace import DType, View
from verifier.symbolic.values import (
    ApiRef,
    BufferValue,
    Class,
    DTypeText,
    Enumerator,
    EnumMember,
    ExternalRef,
    Function,
    Guarded,
    IndexMask,
    IndexTensor,
    Opaque,
    Ratio,
    Ref,
)
from verifier.symbolic.views import index_binop, mask_binop

if TYPE_CHECKING:
    from verifier.symbolic.interpreter.vm import VM

_FLOAT: dict[str, Callable[[float, float], object]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": operator.pow,
}

_FLOAT_RESULT = Opaque("a float", harmless=True)

# No kernel comes near these; a text made to exhaust the checker would.
#: bits of an integer
MAX_BITS = 4096
#: products of terms in one multiplication
MAX_TERMS = 4096
#: factors of one product
MAX_DEGREE = 16
#: elements of a string or sequence put together
MAX_LENGTH = 65536


def _overloads(vm: VM, op: str, left: object, right: object) -> bool:
    """Whether an operand is an object whose class says what the comparison means."""
    from verifier.symbolic.interpreter import classes

    for value in (left, right):
        box = vm.heap.get(value.id) if isinstance(value, Ref) else None
        if isinstance(box, ObjectBox) and isinstance(box.cls, Class):
            if op not in ("==", "!="):
                return True
            return any(
                classes.method(vm, box.cls, name) is not UNBOUND for name in ("__eq__", "__ne__")
            )
    return False


def binary(vm: VM, op: str, left: object, right: object, span: Span) -> object:
    """``left op right``."""
    if isinstance(left, Guarded) or isinstance(right, Guarded):
        return lift2(vm, left, right, lambda a, b: binary(vm, op, a, b, span))
    if isinstance(left, (View,)) or isinstance(right, View):
        return _tile(vm, op, left, right, span)
    if _is_tensor(left) or _is_tensor(right):
        a = coercions.as_view(vm, left, span) if _is_tensor(left) else left
        b = coercions.as_view(vm, right, span) if _is_tensor(right) else right
        return _tile(vm, op, a, b, span)
    if isinstance(left, (IndexTensor, IndexMask)) or isinstance(right, (IndexTensor, IndexMask)):
        return _index(vm, op, left, right, span)
    if op in ("//", "%") and isinstance(left, Expr) and left in vm.counters:
        count, quotient, remainder = vm.counters[left]
        if right is count:
            return quotient if op == "//" else remainder
    if addresses.is_address(left) or addresses.is_address(right):
        return addresses.binary(vm, op, left, right, span)
    if coercions.is_object(vm, left) or coercions.is_object(vm, right):
        vm.approximate("skipped", f"`{op}` of an object is not followed", span)
        return Opaque(f"`{op}` of an object")
    if isinstance(left, tuple) or isinstance(right, tuple) or isinstance(left, (Ref, LazyShape)):
        return _sequence(vm, op, left, right, span)
    if isinstance(right, (Ref, LazyShape)):
        return _sequence(vm, op, left, right, span)
    if isinstance(left, str) or isinstance(right, str):
        return _string(op, left, right)
    if isinstance(left, Bool | bool) and isinstance(right, Bool | bool) and op in "&|^":
        return _logic(
            op,
            E.truth(left) if isinstance(left, bool) else left,
            E.truth(right) if isinstance(right, bool) else right,
        )
    if isinstance(left, float) or isinstance(right, float):
        return _float(vm, op, left, right, span)
    if isinstance(left, Ratio) or isinstance(right, Ratio):
        return _ratio(op, left, right)
    if _floats(left) or _floats(right):
        return _FLOAT_RESULT
    a_int = coercions.as_int(vm, left, span) if _numeric(left) else None
    b_int = coercions.as_int(vm, right, span) if _numeric(right) else None
    if a_int is not None and b_int is not None:
        return integer(vm, op, a_int, b_int, span)
    if isinstance(left, Opaque) or isinstance(right, Opaque):
        first = left if isinstance(left, Opaque) else right
        assert isinstance(first, Opaque)
        return first
    for side in (left, right):
        if isinstance(side, ExternalRef):
            return Opaque(side.said)
    return Opaque(f"`{op}` on {coercions.kind_name(left)} and {coercions.kind_name(right)}")


def _is_tensor(value: object) -> bool:
    return isinstance(value, Parameter) and value.kind == "tensor"


def _floats(value: object) -> bool:
    if isinstance(value, Opaque):
        return value.harmless
    return isinstance(value, Parameter) and (
        value.annotation.startswith("float") or isinstance(value.default, float)
    )


def _numeric(value: object) -> bool:
    if isinstance(value, Parameter):
        return value.kind in (None, "int", "bool")
    return isinstance(value, (Expr, Bool, bool))


def _logic(op: str, a: Bool, b: Bool) -> Bool:
    if op == "&":
        return E.and_(a, b)
    if op == "|":
        return E.or_(a, b)
    return E.or_(E.and_(a, E.not_(b)), E.and_(E.not_(a), b))


def integer(vm: VM, op: str, a: Expr, b: Expr, span: Span) -> object:
    """An operator on integers; division by zero is an obligation."""
    if op == "+":
        return a + b
    if op == "-":
        return a - b
    if op == "*":
        return _product(a, b)
    if op in ("//", "%", "/"):
        nonzero(vm, b, span)
        if b is E.const(0):
            return Opaque("a division by zero")
        if op == "//":
            return a // b
        if op == "%":
            return a % b
        if a.is_const and b.is_const and a.const % b.const:
            try:
                return a.const / b.const
            except OverflowError:
                return _FLOAT_RESULT
        return Ratio(a, b)
    if op == "**":
        return _power(a, b)
    if op in ("<<", ">>"):
        if b.is_const and 0 <= b.const < 64:
            factor = 1 << b.const
            return a * factor if op == "<<" else a // factor
        return Opaque("a shift by a symbolic amount")
    if op in ("&", "|", "^"):
        return _bits(op, a, b)
    return Opaque(f"`{op}` on integers")


def nonzero(vm: VM, divisor: Expr, span: Span) -> None:
    """Division at trace time must not be by zero."""
    from verifier.symbolic.pretty import pretty

    if divisor.is_const and divisor.const != 0:
        return
    text = f"{pretty(divisor)} != 0"
    vm.check(
        "division-by-zero",
        E.ne(divisor, 0),
        span,
        text,
        f"division by zero: `{pretty(divisor)}` can be 0",
        values=((pretty(divisor), divisor),),
        help=(f"assert {text}",) if not divisor.is_const else (),
    )


def _power(a: Expr, b: Expr) -> object:
    if not b.is_const:
        return Opaque("a power with a symbolic exponent")
    if a.is_const and b.const >= 0:
        if a.const.bit_length() * b.const <= MAX_BITS:
            return E.const(a.const**b.const)
        return Opaque("a power that is too large")
    if b.const < 0 or b.const > 16:
        try:
            return float(a.const) ** b.const if a.is_const else _FLOAT_RESULT
        except (OverflowError, ZeroDivisionError):
            return _FLOAT_RESULT
    out: object = E.const(1)
    for _ in range(b.const):
        if isinstance(out, Expr):
            out = _product(out, a)
    return out


def _product(a: Expr, b: Expr) -> object:
    if a.is_const and b.is_const:
        if a.const.bit_length() + b.const.bit_length() > MAX_BITS:
            return Opaque("an integer that is too large")
    elif len(a.terms) * len(b.terms) > MAX_TERMS or _degree(a) + _degree(b) > MAX_DEGREE:
        return Opaque("an expression that is too large")
    return a * b


def _degree(a: Expr) -> int:
    return max((len(factors) for factors, _ in a.terms), default=0)


def _bits(op: str, a: Expr, b: Expr) -> object:
    if a.is_const and b.is_const:
        x, y = a.const, b.const
        return E.const(x & y if op == "&" else x | y if op == "|" else x ^ y)
    if a.is_const:
        a, b = b, a
    if op == "&" and b.is_const and b.const > 0:
        mask = b.const
        if mask & (mask + 1) == 0:  # x & (2**k - 1)  ==  x % 2**k
            return a % (mask + 1)
        total = E.const(0)
        bit = 1
        while bit <= mask:
            if mask & bit:  # bit k of x  ==  x // 2**k % 2
                total = total + ((a // bit) % 2) * bit
            bit *= 2
        return total
    return Opaque(f"`{op}` on symbolic integers")


def _float(vm: VM, op: str, left: object, right: object, span: Span) -> object:
    a = _as_float(left)
    b = _as_float(right)
    if a is None or b is None:
        return _FLOAT_RESULT
    if op in ("/", "//", "%") and b == 0:
        nonzero(vm, E.const(0), span)
        return _FLOAT_RESULT
    action = _FLOAT.get(op)
    if action is None:
        return _FLOAT_RESULT
    try:
        result = action(a, b)
    except (OverflowError, ZeroDivisionError, ValueError):
        return _FLOAT_RESULT
    return result if isinstance(result, float) else _FLOAT_RESULT


def _as_float(value: object) -> float | None:
    if isinstance(value, (float, bool)):
        return float(value)
    if isinstance(value, Expr) and value.is_const:
        try:
            return float(value.const)
        except OverflowError:
            return None
    if isinstance(value, Ratio) and value.num.is_const and value.den.is_const:
        try:
            return value.num.const / value.den.const
        except (OverflowError, ZeroDivisionError):
            return None
    return None


def _ratio(op: str, left: object, right: object) -> object:
    a = left if isinstance(left, Ratio) else _whole(left)
    b = right if isinstance(right, Ratio) else _whole(right)
    if a is None or b is None:
        return _FLOAT_RESULT
    if op == "*":
        return Ratio(a.num * b.num, a.den * b.den)
    if op == "/":
        return Ratio(a.num * b.den, a.den * b.num)
    if op == "+":
        return Ratio(a.num * b.den + b.num * a.den, a.den * b.den)
    if op == "-":
        return Ratio(a.num * b.den - b.num * a.den, a.den * b.den)
    return _FLOAT_RESULT


def _whole(value: object) -> Ratio | None:
    if isinstance(value, Expr):
        return Ratio(value, E.const(1))
    if isinstance(value, bool):
        return Ratio(E.const(int(value)), E.const(1))
    return None


def _tile(vm: VM, op: str, left: object, right: object, span: Span) -> object:
    result = vm.dialect.operator(vm, op, left, right, span)
    return Opaque(f"`{op}` on a tensor") if result is None else result


def _index(vm: VM, op: str, left: object, right: object, span: Span) -> object:
    for side in (left, right):
        if isinstance(side, (Opaque, float)):
            return Opaque(f"`{op}` on an index tensor and {coercions.kind_name(side)}")
    if isinstance(left, IndexMask) or isinstance(right, IndexMask):
        mask = mask_binop(vm, left, right, span) if op == "&" else None
        return mask if mask is not None else Opaque(f"`{op}` on a mask")
    result = index_binop(vm, op, left, right, span)
    return result if result is not None else Opaque(f"`{op}` on an index tensor")


def _string(op: str, left: object, right: object) -> object:
    if op == "+" and isinstance(left, str) and isinstance(right, str):
        if len(left) + len(right) > MAX_LENGTH:
            return Opaque("a string that is too long", harmless=True)
        return left + right
    if op == "*" and isinstance(right, Expr) and right.is_const and isinstance(left, str):
        return left * min(right.const, 1000)
    if op == "%" and isinstance(left, str):
        return Opaque("a formatted string", harmless=True)
    return Opaque("a string", harmless=True)


def _sequence(vm: VM, op: str, left: object, right: object, span: Span) -> object:
    if op == "+":
        a, b = _segments(vm, left), _segments(vm, right)
        if a is not None and b is not None:
            if len(a) + len(b) > MAX_LENGTH:
                return Opaque("a sequence that is too long")
            if isinstance(left, Ref):
                return vm.heap.new(ListBox((*a, *b)))
            items = [s.value for s in (*a, *b) if isinstance(s, Item)]
            if len(items) == len(a) + len(b):
                return tuple(items)
    if op == "*":
        seq, times = (left, right) if not isinstance(left, Expr) else (right, left)
        count = coercions.as_int(vm, times, span)
        parts = _segments(vm, seq)
        if count is not None and parts is not None:
            if count.is_const and count.const * len(parts) <= 4096:
                repeated = parts * max(count.const, 0)
                if isinstance(seq, tuple):
                    return tuple(s.value for s in repeated if isinstance(s, Item))
                return vm.heap.new(ListBox(repeated))
            values = tuple(s.value for s in parts if isinstance(s, Item))
            if len(values) == len(parts):
                index = vm.loop_symbol("repeat")
                return vm.heap.new(ListBox((Many(E.maximum(count, 0), index, values),)))
    return Opaque(f"`{op}` on {coercions.kind_name(left)}")


def _segments(vm: VM, value: object) -> tuple[Item | Many, ...] | None:
    if isinstance(value, Ref):
        box = vm.heap.get(value.id)
        return box.segments if isinstance(box, ListBox) else None
    items = coercions.as_items(vm, value, vm.trace.span)
    return None if items is None else tuple(Item(x) for x in items)


def unary(vm: VM, op: str, value: object, span: Span) -> object:
    """``op value`` for ``-``, ``+``, ``~`` (``not`` is a truth value's business)."""
    if isinstance(value, Guarded):
        return lift1(vm, value, lambda v: unary(vm, op, v, span))
    if isinstance(value, float):
        return -value if op == "-" else value
    if isinstance(value, View) or _is_tensor(value):
        tile = coercions.as_view(vm, value, span)
        result = vm.dialect.operator(vm, op, tile, None, span)
        return Opaque(f"`{op}` on a tensor") if result is None else result
    if isinstance(value, IndexTensor):
        return _index(vm, "*", value, E.const(-1), span) if op == "-" else value
    if isinstance(value, IndexMask) and op == "~":
        return IndexMask(E.not_(value.condition), value.ndim, value.axes)
    if isinstance(value, Ratio):
        return Ratio(-value.num, value.den) if op == "-" else value
    if _floats(value) or isinstance(value, Opaque):
        return value if isinstance(value, Opaque) else _FLOAT_RESULT
    if _numeric(value):
        number = coercions.as_int(vm, value, span)
        if number is not None:
            return -number if op == "-" else number if op == "+" else -number - 1
    return Opaque(f"`{op}` on {coercions.kind_name(value)}")


# ------------------------------------------------------------------------ comparison


def compare(vm: VM, op: str, left: object, right: object, span: Span) -> object:
    """One comparison; a truth value, a mask, or something opaque."""
    if isinstance(left, Guarded) or isinstance(right, Guarded):
        return lift2(vm, left, right, lambda a, b: compare(vm, op, a, b, span))
    if isinstance(left, IndexTensor) or isinstance(right, IndexTensor):
        return _index(vm, op, left, right, span)
    ordered = op in ("==", "!=", "<", "<=", ">", ">=") and left is not None and right is not None
    if ordered and (addresses.is_address(left) or addresses.is_address(right)):
        return addresses.compare(vm, op, left, right)
    if op in ("is", "is not") and isinstance(left, Ref) and isinstance(right, Ref):
        return E.truth((left.id == right.id) == (op == "is"))
    if op not in ("is", "is not", "in", "not in") and _overloads(vm, op, left, right):
        return coercions.unknown_bool(vm, f"a condition depends on `{op}` of an object", span)
    if op in ("==", "!=", "is", "is not"):
        equal = equals(vm, left, right, span)
        if isinstance(equal, Bool):
            return equal if op in ("==", "is") else E.not_(equal)
        return equal
    if op in ("in", "not in"):
        found = _contains(vm, left, right, span)
        if isinstance(found, Bool):
            return found if op == "in" else E.not_(found)
        return found
    if isinstance(left, View) or isinstance(right, View) or _is_tensor(left) or _is_tensor(right):
        return _tile(vm, op, left, right, span)
    return _ordering(vm, op, left, right, span)


def _ordering(vm: VM, op: str, left: object, right: object, span: Span) -> object:
    a_float, b_float = _as_float(left), _as_float(right)
    if a_float is not None and b_float is not None:
        table = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
        return E.truth(table[op](a_float, b_float))
    if isinstance(left, Ratio) or isinstance(right, Ratio):
        a, b = (x if isinstance(x, Ratio) else _whole(x) for x in (left, right))
        if a is not None and b is not None:
            # a.num / a.den < b.num / b.den with positive denominators
            return _order(op, a.num * b.den, b.num * a.den)
    if isinstance(left, tuple) and isinstance(right, tuple):
        return Opaque("an ordering of tuples", harmless=True)
    if isinstance(left, str) and isinstance(right, str):
        return E.truth(
            {"<": left < right, "<=": left <= right, ">": left > right}.get(op, left >= right)
        )
    if _floats(left) or _floats(right) or isinstance(left, float) or isinstance(right, float):
        return Opaque("a comparison of floats", harmless=True)
    a_int = coercions.as_int(vm, left, span) if _numeric(left) else None
    b_int = coercions.as_int(vm, right, span) if _numeric(right) else None
    if a_int is not None and b_int is not None:
        return _order(op, a_int, b_int)
    for side in (left, right):
        if isinstance(side, Opaque):
            return side
    return Opaque(f"`{op}` on {coercions.kind_name(left)} and {coercions.kind_name(right)}")


def _order(op: str, a: Expr, b: Expr) -> Bool:
    return {"<": E.lt, "<=": E.le, ">": E.gt, ">=": E.ge}[op](a, b)


def equals(vm: VM, left: object, right: object, span: Span) -> object:
    """``left == right`` (also ``is``)."""
    if left is None or right is None:
        return _is_none(right if left is None else left)
    if isinstance(left, (Opaque, ExternalRef)) or isinstance(right, (Opaque, ExternalRef)):
        return _opaque_equals(left, right)
    if isinstance(left, Parameter) and left is right:
        return E.TRUE
    if isinstance(left, (LazyShape, tuple)) or isinstance(right, (LazyShape, tuple)):
        return _shape_equals(vm, left, right, span)
    if isinstance(left, (DType, DTypeText)) or isinstance(right, (DType, DTypeText)):
        return _dtype_equals(vm, left, right, span)
    for a, b in ((left, right), (right, left)):
        if isinstance(a, Parameter) and a.kind != "tensor":
            if isinstance(b, str):
                return vm.inputs.string_equals(a, b)
            if isinstance(b, EnumMember):
                return vm.inputs.string_equals(a, f"{b.cls_name}.{b.name}")
            if isinstance(b, bool):
                flag = vm.inputs.flag(a)
                return flag if b else E.not_(flag)
    if isinstance(left, View) or isinstance(right, View):
        if isinstance(left, View) and isinstance(right, View):
            return E.truth(same(left, right))
        return _tile(vm, "==", left, right, span)
    if isinstance(left, (BufferValue, Enumerator, EnumMember, ApiRef, Function)) or isinstance(
        right, (BufferValue, Enumerator, EnumMember, ApiRef, Function)
    ):
        return _constant_equals(left, right)
    if isinstance(left, str) and isinstance(right, str):
        return E.truth(left == right)
    a_float, b_float = _as_float(left), _as_float(right)
    if a_float is not None and b_float is not None:
        return E.truth(a_float == b_float)
    if isinstance(left, Ratio) or isinstance(right, Ratio):
        x, y = (v if isinstance(v, Ratio) else _whole(v) for v in (left, right))
        if x is not None and y is not None:
            return E.eq(x.num * y.den, y.num * x.den)
    if isinstance(left, Bool | bool) and isinstance(right, Bool | bool):
        p = E.truth(left) if isinstance(left, bool) else left
        q = E.truth(right) if isinstance(right, bool) else right
        return E.or_(E.and_(p, q), E.and_(E.not_(p), E.not_(q)))
    if _numeric(left) and _numeric(right):
        a, b = coercions.as_int(vm, left, span), coercions.as_int(vm, right, span)
        if a is not None and b is not None:
            return E.eq(a, b)
    if isinstance(left, Ref) and isinstance(right, Ref):
        if left.id == right.id:
            return E.TRUE
        return _shape_equals(vm, left, right, span)
    if _floats(left) or _floats(right):
        return Opaque("a comparison of floats", harmless=True)
    return E.truth(same(left, right)) if type(left) is type(right) else E.FALSE


def _is_none(value: object) -> object:
    if value is None:
        return E.TRUE
    if isinstance(value, Opaque) and not value.harmless:
        return Opaque(f"whether {value.reason} is None")
    return E.FALSE


def _opaque_equals(left: object, right: object) -> object:
    if isinstance(left, ExternalRef) and isinstance(right, ExternalRef):
        return E.truth(left.path == right.path)
    for side in (left, right):
        if isinstance(side, Opaque):
            return side
    return Opaque("a comparison with an external value")


def _shape_equals(vm: VM, left: object, right: object, span: Span) -> object:
    for a, b in ((left, right), (right, left)):
        if isinstance(a, LazyShape) and a.parameter.rank is None:
            if isinstance(b, LazyShape):
                known = b.parameter.rank
                if known is None:
                    known = vm.inputs.rank_of(b.parameter)
                vm.inputs.settle_rank(a.parameter, known)
            else:
                items = coercions.as_items(vm, b, span)
                if items is not None:
                    vm.inputs.settle_rank(a.parameter, len(items))
    x, y = coercions.as_items(vm, left, span), coercions.as_items(vm, right, span)
    if x is None or y is None:
        return Opaque("a comparison of sequences")
    if len(x) != len(y):
        return E.FALSE
    parts = []
    for a, b in zip(x, y, strict=True):
        part = compare(vm, "==", a, b, span)
        if not isinstance(part, Bool):
            return part
        parts.append(part)
    return E.and_(*parts)


def _dtype_equals(vm: VM, left: object, right: object, span: Span) -> object:
    for a, b in ((left, right), (right, left)):
        if isinstance(a, DTypeText) and isinstance(b, str):
            name = dt.canonical(b)
            return a.dtype.among(dt.codes(name)) if name is not None else E.FALSE
    x = left.dtype if isinstance(left, DTypeText) else coercions.as_dtype(vm, left, span)
    y = right.dtype if isinstance(right, DTypeText) else coercions.as_dtype(vm, right, span)
    if x is None or y is None:
        return E.FALSE
    return x.same(y)


def _constant_equals(left: object, right: object) -> object:
    if isinstance(left, BufferValue) and isinstance(right, BufferValue):
        return E.truth(left.buffer == right.buffer)
    names = []
    for side in (left, right):
        if isinstance(side, ApiRef):
            names.append(side.name.rpartition(".")[2])
        elif isinstance(side, Enumerator):
            names.append(side.name)
        else:
            return E.truth(same(left, right))
    return E.truth(names[0] == names[1])


def _contains(vm: VM, item: object, container: object, span: Span) -> object:
    if isinstance(container, Ref):
        box = vm.heap.get(container.id)
        if isinstance(box, DictBox):
            return E.truth(isinstance(item, str) and item in box.items)
    if isinstance(container, str) and isinstance(item, str):
        return E.truth(item in container)
    items = coercions.as_items(vm, container, span)
    if items is None:
        return Opaque("membership in an unknown sequence")
    parts = []
    for candidate in items:
        part = compare(vm, "==", item, candidate, span)
        if not isinstance(part, Bool):
            return part
        parts.append(part)
    return E.or_(*parts)


# ------------------------------------------------------------------------ guarded values


def live_cases(vm: VM, value: object) -> list[tuple[Bool, object]]:
    """The cases of a value that the path allows."""
    if not isinstance(value, Guarded):
        return [(E.TRUE, value)]
    return [(g, v) for g, v in value.cases if vm.decide(g) is not False]


def lift1(vm: VM, value: object, action: Callable[[object], object]) -> object:
    """Apply an action to each case of a value, under its guard, and join the results."""
    cases = [(g, v) for g, v in live_cases(vm, value) if v is not UNBOUND]
    if not cases:
        return Opaque("a value on an impossible path", harmless=True)
    if len(cases) == 1:
        return action(cases[0][1])
    result: object = UNBOUND
    for position, (guard, item) in enumerate(reversed(cases)):
        with vm.guarded(guard):
            one = action(item)
        result = one if position == 0 else join(guard, one, result)
    return result


def lift2(vm: VM, a: object, b: object, action: Callable[[object, object], object]) -> object:
    return lift1(vm, a, lambda x: lift1(vm, b, lambda y: action(x, y)))
