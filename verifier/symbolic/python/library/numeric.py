"""Modules of the standard library that compute: by name, what has a model."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.python import quotients
from verifier.symbolic.python.builtin import Table
from verifier.symbolic.python.concrete import SYMBOLIC, run, to_host
from verifier.symbolic.python.kind import Kind
from verifier.symbolic.python.kinds.numbers import as_expr, is_integer
from verifier.symbolic.python.library import numeric_runtime
from verifier.symbolic.python.library.core_numbers import number_of, unusable
from verifier.symbolic.python.library.numeric_math import CONSTANTS, MATH
from verifier.symbolic.python.library.numeric_operator import GETTERS, OPERATOR
from verifier.symbolic.python.library.numeric_ordered import BISECT, HEAPQ
from verifier.symbolic.python.lifting import lifted
from verifier.symbolic.python.model import Builtin, HostType
from verifier.symbolic.python.vm import VM
from verifier.symbolic.values import Opaque, Ratio

NUMPY: Final = Table("numpy")


# ------------------------------------------------------------------------ of arrays' libraries


def _rounding(name: str) -> None:
    """Rounding that leaves a float a float."""
    exact = quotients.ceiling if name == "ceil" else quotients.floor

    @NUMPY.add(name)
    @lifted
    def rounded(vm: VM, span: Span, x: object, /) -> object:
        value = number_of(vm, x, span)
        if is_integer(value):
            return Ratio(as_expr(value), E.const(1))
        if isinstance(value, Ratio):
            return Ratio(exact(vm, value, span), E.const(1))
        if isinstance(value, float) and to_host(vm, value) is not SYMBOLIC:
            whole = MATH[name].handler(vm, span, value)
            return Ratio(as_expr(whole), E.const(1)) if is_integer(whole) else whole
        return unusable(vm, f"`numpy.{name}()`", value, span)


_rounding("ceil")
_rounding("floor")


@NUMPY.add("prod")
def _prod(vm: VM, span: Span, a: object, /, *args: object, **keywords: object) -> object:
    if args or keywords:
        return Opaque("a product of an array")
    return MATH["prod"].handler(vm, span, a)


@NUMPY.add("sqrt")
@lifted
def _sqrt(vm: VM, span: Span, x: object, /, *args: object, **keywords: object) -> object:
    held = to_host(vm, number_of(vm, x, span))
    if isinstance(held, (int, float)) and held >= 0 and not args and not keywords:
        return run(vm, span, math.sqrt, held)
    return Opaque("a float", harmless=True)


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
KINDS: Final[dict[type, Kind]] = numeric_runtime.KINDS
