"""Whether CPython refuses values for their types, whatever the values are.

An operator or a function is run on the host on samples of the types: what raises a ``TypeError``
there does so for all values of these types. Where that depends on more (``"%d" % x``), nothing is
asked.
"""

from __future__ import annotations

import builtins
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any, Final

from verifier.source.ir import Span
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.machine import Call
from verifier.symbolic.python import floatbounds
from verifier.symbolic.python.heap import DictBox, ListBox, SetBox, TupleBox
from verifier.symbolic.python.inputs import InputKind, Word
from verifier.symbolic.python.model import Builtin, Function
from verifier.symbolic.python.vm import VM
from verifier.symbolic.tensors import LoopKind
from verifier.symbolic.values import TEXT, Guarded, Opaque, OpaqueOf, Range, Ratio, SliceValue


class Unsampled:
    """What there is no sample of: its type is not known, or is the program's own."""

    __slots__ = ()


UNSAMPLED: Final = Unsampled()

_SAMPLES: Final[dict[type, Any]] = {
    bool: True, bytes: b"a", complex: 1j, float: 1.5, int: 1, str: "a", tuple: (),
}  # fmt: skip
_PLAIN: Final = (bool, float, complex, str, bytes, type(None), type(...))


def sample(vm: VM, value: object, whole: bool = False) -> Any:
    """A value of the host of the same type; :data:`UNSAMPLED` if the type is not certain.

    ``whole``: what may be an integer is one.
    """
    if isinstance(value, OpaqueOf):
        return _SAMPLES.get(int if whole and value.loose else value.host, UNSAMPLED)
    if isinstance(value, Word):
        return "a" if value.kind is InputKind.STRING else UNSAMPLED
    if isinstance(value, Expr):
        return 1
    if isinstance(value, Bool):
        return True
    if isinstance(value, Ratio):
        return 1.5
    if isinstance(value, _PLAIN):
        return value
    if isinstance(value, tuple):
        return ()
    if isinstance(value, SliceValue):
        parts = [sample(vm, part, whole) for part in (value.start, value.stop, value.step)]
        return UNSAMPLED if UNSAMPLED in parts else slice(*parts)
    if isinstance(value, Range) and value.kind is LoopKind.RANGE:
        return range(1)
    if isinstance(value, (Function, Builtin)):
        return len
    return _of_box(vm, value)


def _of_box(vm: VM, value: object) -> Any:
    box = vm.box(value)
    if isinstance(box, ListBox):
        return () if isinstance(box, TupleBox) else []
    if isinstance(box, DictBox):
        return {}
    if isinstance(box, SetBox):
        return frozenset() if box.frozen else set()
    return UNSAMPLED


def refused(vm: VM, function: Callable[..., Any], values: Sequence[object], span: Span) -> Any:
    """A sample of what a function gives for values; the types that it refuses are a fault.

    Raises:
        Ended: it refuses them.
    """
    answer, error = _tried(vm, function, values, False)
    if any(map(_is_loose, values)):
        other, second = _tried(vm, function, values, True)
        if (error is None) is not (second is None):
            vm.unfollowed(f"whether this is an error: {error or second}", span)
            return UNSAMPLED
        answer = answer if type(other) is type(answer) else UNSAMPLED
    if error is not None:
        vm.fault(TypeError, error, span)
    return answer


def _is_loose(value: object) -> bool:
    if isinstance(value, SliceValue):
        return any(map(_is_loose, (value.start, value.stop, value.step)))
    return isinstance(value, OpaqueOf) and value.loose


def _tried(
    vm: VM, function: Callable[..., Any], values: Sequence[object], whole: bool
) -> tuple[Any, str | None]:
    """What a function gives for samples, or in words why it refuses them."""
    samples = [sample(vm, value, whole) for value in values]
    if any(one is UNSAMPLED for one in samples):
        return UNSAMPLED, None
    try:
        return function(*samples), None
    except TypeError as error:
        return UNSAMPLED, str(error)
    except Exception:  # which depends on the values
        return UNSAMPLED, None


#: types of which a value may be known by
_BLURRED: Final = (float, complex, str, bytes, bool, tuple)


def blurred(answer: Any, reason: str, harmless: bool = True) -> OpaqueOf | None:
    """What is of the type of a sample; None if there is no such."""
    if type(answer) in _BLURRED:
        return OpaqueOf(reason, harmless, host=type(answer))
    return None


def handed_back(vm: VM, name: str, call: Call, found: object) -> object:
    """What a model gives; it has not looked at what it hands back as it was given.

    Only functions that hand on what they are given may do so.
    """
    given = [arg.value for arg in (*call.args, *call.keywords.values())]
    if not isinstance(found, OpaqueOf) or found is TEXT:  # which is made, not handed back
        return found
    if name.rpartition(".")[2] not in _HANDED_ON:
        if any(value is found for value in given):
            return vm.unfollowed(f"`{name}()` of {found.reason} is not followed", call.span)
    return found


#: functions and methods that may hand on one of their arguments
_HANDED_ON: Final = frozenset(
    [
        "cast", "copy", "deepcopy", "fetch", "get", "getattr", "max", "min", "next", "pop",
        "reveal_type", "setdefault", "str",
    ]
)  # fmt: skip


# ------------------------------------------------------------------------ functions


#: built-in functions that refuse values for their types alone, and do nothing
_FUNCTIONS: Final = (
    "abs bin chr complex divmod enumerate float hash hex int len max min oct ord pow range "
    "reversed round sorted sum tuple list set frozenset iter"
)
#: those of them that some texts are refused by, or that have their characters one by one
_READ: Final = frozenset(
    [
        "complex",
        "float",
        "int",
        "ord",
        "max",
        "min",
        "list",
        "tuple",
        "set",
        "frozenset",
        "sorted",
        "reversed",
        "iter",
        "enumerate",
    ]
)
_OF_TEXTS: Final = (
    "center count endswith find index ljust lstrip partition replace rjust rstrip split "
    "startswith strip zfill removeprefix removesuffix expandtabs rsplit"
)
_BUILTIN: Final = frozenset(_FUNCTIONS.split())
#: functions of arrays' libraries that refuse no number
_OF_ARRAYS: Final = ("numpy.ceil", "numpy.floor", "numpy.sqrt")
#: methods of built-in types that do so, with a value to call them on
_METHODS: Final[dict[str, tuple[Any, frozenset[str]]]] = {
    "list": ([], frozenset({"insert", "pop", "extend"})),
    "str": ("a", frozenset(_OF_TEXTS.split())),
}


#: built-in functions that take any value
_TOTAL: Final = frozenset({"bool", "callable", "id", "print", "repr", "str", "type"})

#: methods of texts that give a text
_GIVING: Final = frozenset(["lstrip", "replace", "rstrip", "strip", "removeprefix", "removesuffix"])
#: methods of texts that no text refuses as their argument
_QUIET: Final = _GIVING | frozenset(
    ["count", "endswith", "find", "rfind", "startswith", "join", "format"]
)


def _function(name: str) -> Callable[..., Any] | None:
    owner, _, last = name.rpartition(".")
    if owner == "math":
        return getattr(math, last, None)
    if owner == "operator":
        return getattr(operator, last, None)
    return getattr(builtins, last) if not owner and last in _BUILTIN else None


def called(vm: VM, name: str, values: Sequence[object], span: Span) -> object:
    """Ask a built-in function whether it refuses its arguments; what it surely gives, if known.

    Raises:
        Ended: it does.
    """
    if not any(map(_vague, values)) or any(isinstance(value, Guarded) for value in values):
        return None
    if name in _OF_ARRAYS and len(values) == 1 and _is_of(values[0], float):
        return floatbounds.a_float(None)
    function = _function(name)
    if function is None:
        return None
    if name == "sum" and isinstance(sample(vm, values[0]), str):
        vm.unfollowed("`sum()` of a text is not followed", span)  # an empty one has a sum
        return None
    answer = refused(vm, function, values, span)
    if name in _READ and any(map(_is_vague_text, values)):
        vm.unfollowed(f"`{name}()` of a text that is not known", span)
        return None
    if any(_is_of(value, host) for value in values for host in (str, bytes, tuple, object)):
        return None
    floats = (float, bool) if name.startswith("math.") else (float,)
    if any(_is_of(value, host) for value in values for host in floats):
        found = _of_float(vm, name, values, answer, span)
        if found is not None:
            return found
    if name in ("float", "abs") or name.startswith("math."):
        return blurred(answer, "a float")
    return None


def named(vm: VM, name: str, call: Call) -> None:
    """A built-in function is called, by its name: what it may refuse of what is not followed.

    What the kernel's caller gives is to be what the function takes. What a function that is called
    with keywords may refuse is not followed.
    """
    given = [arg.value for arg in (*call.args, *call.keywords.values())]
    if name not in _TOTAL and any(isinstance(v, Opaque) and v.given for v in given):
        vm.caller_gives(call.span)
    last = name.removeprefix("str.")
    reads = last not in _QUIET if name.startswith("str.") else name in _READ
    if reads and call.keywords and any(map(_is_vague_text, given)):
        vm.unfollowed(f"`{last}()` of a text that is not known", call.span)


def _of_float(vm: VM, name: str, values: Sequence[object], answer: Any, span: Span) -> object:
    """A function of floats that are not known: it may refuse some."""
    known = floatbounds.interval_of(vm, values[0], span)
    alone = len(values) == 1
    loose = any(map(_is_loose, values))
    if name.startswith("math."):
        last = name.removeprefix("math.")
        if not alone and last not in floatbounds.TOTAL:
            vm.unfollowed(f"`{name}()` of floats that are not known", span)
            return None
        found = floatbounds.function(vm, last, values[0], span)
        fits = isinstance(found, Expr) or isinstance(answer, float)
        return found if fits else None
    if name == "int" or (name == "round" and (alone or values[1] is None)):
        return floatbounds.converted(vm, name, known, span)
    if name in ("max", "min") and not alone:
        return _extreme(vm, name, values, span)
    if name == "divmod" and not loose:
        floatbounds.divides(vm, values[1], span)
        return (floatbounds.a_float(None), floatbounds.a_float(None))
    if name in ("pow", "divmod") or (name == "round" and not _is_natural(values[1])):
        return vm.unfollowed(f"`{name}()` of floats that are not known", span)
    if name == "round":
        return OpaqueOf("a float", harmless=True, host=float, loose=loose)
    if name == "abs" and loose:
        return OpaqueOf("a float", harmless=True, host=float, loose=True)
    if name == "abs" and known is not None:
        low, high = sorted(map(abs, known))
        return floatbounds.a_float((0.0 if known[0] <= 0 <= known[1] else low, high))
    if name == "float":
        return floatbounds.a_float(known)
    return blurred(answer, "a float") if name == "abs" else None


def _extreme(vm: VM, name: str, values: Sequence[object], span: Span) -> object:
    """``max`` or ``min`` of numbers of which one is a float that is not known."""
    if not all(isinstance(v, (Expr, Bool, bool, float, Ratio)) or _is_of(v, float) for v in values):
        return None
    floats = [
        isinstance(v, (float, Ratio)) or (_is_of(v, float) and not _is_loose(v)) for v in values
    ]
    if not all(floats):
        return OpaqueOf("a float", harmless=True, host=float, loose=True)
    known = [floatbounds.interval_of(vm, value, span) for value in values]
    ends = [interval for interval in known if interval is not None]
    best = max if name == "max" else min
    if len(ends) < len(known):
        return floatbounds.a_float(None)
    return floatbounds.a_float((best(low for low, _ in ends), best(high for _, high in ends)))


def _is_natural(value: object) -> bool:
    return isinstance(value, Expr) and value.is_const and value.const >= 0


def method_called(
    vm: VM, host: str, name: str, values: Sequence[object], span: Span
) -> OpaqueOf | None:
    """Ask a method of a built-in type whether it refuses its arguments; what it surely gives.

    Raises:
        Ended: it does.
    """
    owner, names = _METHODS.get(host, (None, frozenset()))
    if name in names and any(map(_vague, values)):
        answer = refused(vm, getattr(type(owner)(owner), name), values, span)
        if host == "str" and name in _GIVING and all(not _is_loose(value) for value in values):
            return blurred(answer, "a text")
    if host == "str" and name not in _QUIET and any(map(_is_vague_text, values)):
        vm.unfollowed(f"`.{name}()` with a text that is not known", span)
    return None


def _is_of(value: object, host: type) -> bool:
    return isinstance(value, OpaqueOf) and value.host is host


def _is_vague_text(value: object) -> bool:
    return isinstance(value, OpaqueOf) and value.host in (str, bytes) and not value.loose


def _vague(value: object) -> bool:
    return isinstance(value, (OpaqueOf, Word))
