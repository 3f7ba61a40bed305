"""Modules of the standard library that compute: by name, what has a model."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Final

from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.python import quotients
from verifier.symbolic.python.builtin import Table
from verifier.symbolic.python.concrete import run, to_host
from verifier.symbolic.python.heap import UNBOUND, ListBox
from verifier.symbolic.python.kind import Kind
from verifier.symbolic.python.kinds.numbers import FLOAT, as_expr, is_integer, is_number
from verifier.symbolic.python.library import numeric_runtime
from verifier.symbolic.python.library.core_numbers import number_of
from verifier.symbolic.python.library.core_order import ORDER as CORE_ORDER
from verifier.symbolic.python.library.numeric_math import CONSTANTS, MATH
from verifier.symbolic.python.library.numeric_operator import GETTERS, OPERATOR
from verifier.symbolic.python.library.numeric_ordered import BISECT, HEAPQ
from verifier.symbolic.python.lifting import lifted
from verifier.symbolic.python.model import Builtin, HostType
from verifier.symbolic.python.vm import VM
from verifier.symbolic.values import Opaque, Ratio

NUMPY: Final = Table("numpy")


# ------------------------------------------------------------------------ of arrays' libraries


def _array(vm: VM, name: str, x: object, options: bool, span: Span) -> object:
    """What a function of arrays gives for what is no number."""
    if options:
        return vm.unfollowed(f"`numpy.{name}()` with options is not followed", span)
    if isinstance(x, Opaque):
        return vm.unfollowed(x.reason, span) if x.lost else Opaque(x.reason, x.harmless)
    if x is None or isinstance(x, (str, bytes)):
        said = vm.kind(x).describe(vm, x)
        vm.fault(TypeError, f"`numpy.{name}()` does not take {said}", span)
    items = vm.items_of(x, span) if _is_array(vm, x) else None
    if items is not None and all(map(is_number, items)):
        return Opaque("an array")
    return vm.unfollowed(f"`numpy.{name}()` of these is not followed", span)


def _is_array(vm: VM, x: object) -> bool:
    return isinstance(x, tuple) or isinstance(vm.box(x), ListBox)


def _rounding(name: str) -> None:
    """Rounding that leaves a float a float."""
    exact = quotients.ceiling if name == "ceil" else quotients.floor

    def rounded(vm: VM, span: Span, x: object) -> object:
        value = number_of(vm, x, span)
        if is_integer(value):
            return Ratio(as_expr(value), E.const(1))
        if isinstance(value, Ratio):
            return Ratio(exact(vm, value, span), E.const(1))
        if isinstance(value, float):
            if not math.isfinite(value):
                return value
            whole = MATH[name].handler(vm, span, value)
            return Ratio(as_expr(whole), E.const(1)) if is_integer(whole) else whole
        return _array(vm, name, value, False, span)

    _of_arrays(name, rounded)


def _of_arrays(name: str, function: Callable[[VM, Span, object], object]) -> None:
    """Enter a function of numbers and arrays; with one of its options it is not followed."""

    @NUMPY.add(name)
    @lifted
    def computed(
        vm: VM,
        span: Span,
        x: object,
        /,
        out: object = None,
        *,
        where: object = True,
        casting: object = "same_kind",
        order: object = "K",
        dtype: object = None,
        subok: object = True,
        signature: object = None,
    ) -> object:
        plain = (None, True, "same_kind", "K", None, True, None)
        given = (out, where, casting, order, dtype, subok, signature)
        if any(one is not usual for one, usual in zip(given, plain, strict=True)):
            return _array(vm, name, x, True, span)
        return function(vm, span, x)


_rounding("ceil")
_rounding("floor")


@NUMPY.add("prod")
@lifted
def _prod(
    vm: VM,
    span: Span,
    a: object,
    axis: object = None,
    dtype: object = None,
    out: object = None,
    keepdims: object = UNBOUND,
    initial: object = UNBOUND,
    where: object = UNBOUND,
) -> object:
    options = any(value is not None for value in (axis, dtype, out))
    if options or any(value is not UNBOUND for value in (keepdims, initial, where)):
        return _array(vm, "prod", a, True, span)
    value = number_of(vm, a, span)
    if is_number(value):
        return value
    if not _is_array(vm, value):
        return _array(vm, "prod", value, False, span)
    items = vm.items_of(value, span)
    if items == ():
        return 1.0
    if items is not None and not all(is_number(one) or isinstance(one, Opaque) for one in items):
        return vm.unfollowed("a product of arrays in an array is not followed", span)
    return MATH["prod"].handler(vm, span, value)


def _extremum(name: str, of: str) -> None:
    """The larger or smaller one of two numbers; NumPy takes no third."""

    @NUMPY.add(name)
    @lifted
    def larger(
        vm: VM, span: Span, x: object, y: object, /, *others: object, **options: object
    ) -> object:
        one, other = number_of(vm, x, span), number_of(vm, y, span)
        if not others and not options and is_integer(one) and is_integer(other):
            return CORE_ORDER[of].handler(vm, span, one, other)
        return vm.unfollowed(f"`numpy.{name}()` of these is not followed", span)


_extremum("maximum", "max")
_extremum("minimum", "min")


def _sqrt(vm: VM, span: Span, x: object) -> object:
    value = number_of(vm, x, span)
    held = to_host(vm, value)
    if isinstance(held, (int, float)) and held >= 0:
        return run(vm, span, math.sqrt, held)
    if is_number(value):
        return FLOAT
    return _array(vm, "sqrt", value, False, span)


_of_arrays("sqrt", _sqrt)


MODULES: Final[dict[str, Mapping[str, object]]] = {
    "math": {**MATH, **CONSTANTS},
    "operator": {**OPERATOR, **{kind.__name__: HostType(kind) for kind in GETTERS}},
    "bisect": BISECT,
    "heapq": HEAPQ,
    "numpy": NUMPY,
    **numeric_runtime.MODULES,
}
CONSTRUCTORS: Final[dict[type, Builtin]] = GETTERS
METHODS: Final[dict[str, Table]] = numeric_runtime.METHODS
KINDS: Final[dict[type, Kind[VM]]] = numeric_runtime.KINDS
