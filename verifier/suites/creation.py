"""Functions of array libraries by name: what they make arrays of."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from typing import Final

from verifier.suites.given import NUMBER, Given, array_of, items_of
from verifier.suites.shapes import FUNCTIONS, joined
from verifier.suites.values import Array, ArrayFunction
from verifier.symbolic.machine import Arg, Call
from verifier.symbolic.python.concrete import to_host
from verifier.symbolic.python.heap import UNBOUND
from verifier.symbolic.python.vm import VM

#: the libraries by the packages that they are imported as, longest first, and the type that their
#: functions make where none is asked for
_PACKAGES: Final[tuple[tuple[str, str], ...]] = (
    ("numpy.random", "random"),
    ("numpy", "numpy"),
    ("torch.nn.functional", "torch"),
    ("torch", "torch"),
    ("jax.numpy", "jax"),
    ("jax.random", "keyed"),
    ("jax.nn", "jax"),
    ("jax", "jax"),
    # the functions of the libraries of element types convert arrays
    ("neuron_dtypes", "dtypes"),
    ("ml_dtypes", "dtypes"),
)
_FLOATS: Final = {"numpy": "float64", "random": "float64"}
_INTEGERS: Final = {"numpy": "int64", "random": "int64", "torch": "int64"}

Maker = Callable[[Given, str], "object | None"]

_MAKERS: Final[dict[str, Maker]] = {}
#: functions that draw numbers: the position of the shape in ``numpy.random``
_DRAWN: Final = {
    "random": 0, "random_sample": 0, "standard_normal": 0, "ranf": 0, "sample": 0,
    "standard_exponential": 0, "exponential": 1, "poisson": 1, "choice": 1, "geometric": 1,
    "uniform": 2, "normal": 2, "randint": 2, "integers": 2, "beta": 2, "gamma": 2, "binomial": 2,
    "laplace": 2, "lognormal": 2, "gumbel": 2, "logistic": 2,
}  # fmt: skip
_WHOLE: Final = frozenset({"randint", "integers", "binomial", "poisson", "geometric"})


def _named(*names: str) -> Callable[[Maker], Maker]:
    def enter(maker: Maker) -> Maker:
        _MAKERS.update(dict.fromkeys(names, maker))
        return maker

    return enter


def function_of(path: str) -> ArrayFunction | None:
    """The function of an array library that a dotted name is, as far as there is a model."""
    for package, library in _PACKAGES:
        if path.startswith(f"{package}."):
            name = path[len(package) + 1 :]
            if "." in name:
                return None
            return ArrayFunction(library, name) if name in _names(library) else None
    return None


def made(vm: VM, function: ArrayFunction, call: Call) -> object | None:
    """What a call of a function of arrays gives; None if that is not known."""
    given, name = Given(vm, call), function.name
    if function.library == "random" and name in _DRAWN:
        return _drawn(given, name)
    if function.library == "keyed":
        return _keyed(given, name)
    operation = FUNCTIONS.get(name)
    first = given.value(0, "input", "a", "x", "arr", "array")
    if operation is not None and isinstance(first, Array):
        return operation(given if call.args else _first(given, first), first, 1)
    maker = _MAKERS.get(name)
    return None if maker is None else maker(given, function.library)


def _first(given: Given, array: Array) -> Given:
    """The same call with its first argument where it belongs."""
    call = given.call
    span = call.span
    return Given(given.vm, Call((Arg(array, span),), call.keywords, span, call.text))


def _float(library: str) -> str:
    return _FLOATS.get(library, "float32")


def _whole(library: str) -> str:
    return _INTEGERS.get(library, "int32")


def _made(shape: tuple[int, ...] | None, dtype: str | None) -> Array | None:
    return None if shape is None else Array(shape, dtype)


@_named("zeros", "ones", "empty", "ndarray")
def _filled(given: Given, library: str) -> object | None:
    dtype = given.dtype(-1 if library == "torch" else 1, _float(library))
    named = given.value(-1, "shape", "size")
    if named is not UNBOUND:
        return _made(given.shape(-1, "shape", "size"), dtype)
    if library == "torch":
        return _made(given.sizes(0), dtype)
    return _made(given.shape(0), dtype)


@_named("broadcast_to")
def _broadcast(given: Given, library: str) -> object | None:
    """Whatever it is made of, its shape is said."""
    return _made(given.shape(1, "shape", "size"), None)


@_named("ShapeDtypeStruct")
def _described(given: Given, library: str) -> object | None:
    return _made(given.shape(0, "shape"), given.dtype(1, None))


@_named("rand", "randn")
def _of_sizes(given: Given, library: str) -> object | None:
    if given.value(-1, "size") is not UNBOUND:
        return _made(given.shape(-1, "size"), given.dtype(-1, _float(library)))
    if not given.call.args:
        return NUMBER if library == "random" else None
    return _made(given.sizes(0), given.dtype(-1, _float(library)))


@_named("full")
def _full(given: Given, library: str) -> object | None:
    value = to_host(given.vm, given.value(1, "fill_value"))
    default: str | None = None
    if isinstance(value, (int, float)):
        default = "bool_" if value is True or value is False else _whole(library)
        default = _float(library) if isinstance(value, float) else default
    dtype = given.dtype(-1 if library == "torch" else 2, default)
    return _made(given.shape(0, "shape", "size"), dtype)


@_named("eye", "identity")
def _eye(given: Given, library: str) -> object | None:
    rows = given.number(0, "n", "N")
    columns = given.number(1, "M", "m")
    if rows is None:
        return None
    return Array((rows, rows if columns is None else columns), given.dtype(-1, _float(library)))


@_named("arange")
def _arange(given: Given, library: str) -> object | None:
    parts = [to_host(given.vm, arg.value) for arg in given.call.args[:3]]
    parts += [to_host(given.vm, given.value(-1, name)) for name in ("stop", "step")
              if given.value(-1, name) is not UNBOUND]  # fmt: skip
    if not parts or not all(isinstance(part, (int, float)) for part in parts):
        return None
    start, stop, step = (0, parts[0], 1) if len(parts) == 1 else (*parts, 1)[:3]
    if not step:
        return None
    count = max(0, math.ceil((stop - start) / step))
    whole = all(isinstance(part, int) for part in parts)
    return Array((count,), given.dtype(3, _whole(library) if whole else _float(library)))


@_named("linspace", "logspace")
def _linspace(given: Given, library: str) -> object | None:
    count = given.number(2, "num", "steps")
    count = 50 if count is None and given.value(2, "num", "steps") is UNBOUND else count
    return None if count is None else Array((count,), given.dtype(-1, _float(library)))


@_named("zeros_like", "ones_like", "empty_like", "full_like", "rand_like", "randn_like")
def _like(given: Given, library: str) -> object | None:
    model = given.value(0, "a", "prototype", "input", "x")
    if not isinstance(model, Array):
        return None
    shape = given.shape(-1, "shape")
    return Array(model.shape if shape is None else shape, given.dtype(-1, model.dtype))


@_named("array", "asarray", "tensor", "as_tensor")
def _array(given: Given, library: str) -> object | None:
    found = array_of(given.vm, given.value(0, "object", "data", "a"), given.span)
    if found is None:
        return None
    name = {"float64": _float(library), "int64": _whole(library)}.get(
        found.dtype or "", found.dtype
    )
    return Array(found.shape, given.dtype(1 if library != "torch" else -1, name))


@_named("randint")
def _randint(given: Given, library: str) -> object | None:
    """``torch.randint(high, size)``, ``torch.randint(low, high, size)``."""
    named = given.shape(-1, "size")
    last = given.call.args[2:3] or given.call.args[1:2]
    shape = named if named is not None or not last else given.shape(len(given.call.args[:3]) - 1)
    return _made(shape, given.dtype(-1, _whole(library)))


@_named("randperm", "permutation")
def _permutation(given: Given, library: str) -> object | None:
    value = given.value(0, "x", "n")
    if isinstance(value, Array):
        return value.alike
    count = given.number(0, "x", "n")
    return None if count is None else Array((count,), given.dtype(-1, _whole(library)))


@_named("normal")
def _normal(given: Given, library: str) -> object | None:
    """``torch.normal(mean, std, size)``"""
    return _made(given.shape(2, "size"), given.dtype(-1, _float(library)))


@_named("concatenate", "concat", "cat", "hstack", "vstack", "stack")
def _joined(given: Given, library: str) -> object | None:
    items = items_of(given.vm, given.value(0, "arrays", "tensors"), given.span)
    arrays = [item for item in items or () if isinstance(item, Array)]
    name = given.call.text.rpartition(".")[2]
    if not arrays or items is None or len(arrays) != len(items) or name.startswith(("hs", "vs")):
        return None
    return joined(given, arrays, new=name.startswith("stack"))


def _drawn(given: Given, name: str) -> object | None:
    """Numbers that are drawn by ``numpy.random``, or a single one."""
    value = given.value(_DRAWN[name], "size")
    if value is UNBOUND or value is None:
        most = 1 if name == "choice" else 0  # one of a row of numbers
        bounds = [array_of(given.vm, arg.value, given.span) for arg in given.call.args]
        plain = all(one is not None and len(one.shape) <= most for one in bounds)
        return NUMBER if plain and not given.call.keywords else None
    dtype = "int64" if name in _WHOLE else "float64"
    if name == "choice":
        source = array_of(given.vm, given.value(0, "a"), given.span)
        dtype = source.dtype or "" if source is not None and source.shape else "int64"
    return _made(given.shape(_DRAWN[name], "size"), given.dtype(-1, dtype or None))


#: functions of ``jax.random``, whose first argument is a key: the default type
_KEYED: Final = {
    "normal": "float32", "uniform": "float32", "randint": "int32", "bernoulli": "bool_",
    "truncated_normal": "float32", "exponential": "float32", "gumbel": "float32",
}  # fmt: skip


def _keyed(given: Given, name: str) -> object | None:
    if name not in _KEYED:
        return None
    place = {"bernoulli": 2, "truncated_normal": 3}.get(name, 1)
    after = {"randint": 4, "truncated_normal": 4}.get(name, 2)
    dtype = _KEYED[name] if name == "bernoulli" else given.dtype(after, _KEYED[name])
    return _made(given.shape(place, "shape"), dtype)


def _names(library: str) -> Collection[str]:
    """The functions of a library that have a model."""
    if library == "random":
        return (*_DRAWN, "rand", "randn", "permutation")
    if library == "keyed":
        return _KEYED
    return ("static_cast",) if library == "dtypes" else {**_MAKERS, **FUNCTIONS}


__all__ = ["function_of", "made"]
