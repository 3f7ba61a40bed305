"""Which calls launch a kernel, and with what.

A kernel is launched where it is called, on a grid or not, and where it is given to something that
is not of the project together with its arguments: one by one, in a sequence, by name in a
dictionary, or side by side in an object.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from msgspec.structs import replace

from verifier.dialects.registry import DIALECTS
from verifier.source import ir
from verifier.suites.given import whole
from verifier.suites.machine import Launched, Refused, SuiteVM
from verifier.suites.platforms import named_among
from verifier.suites.values import Array, Launcher
from verifier.symbolic import expr as E
from verifier.symbolic.machine import Arg, Call
from verifier.symbolic.python.flow import Ended
from verifier.symbolic.python.heap import DictBox, ListBox, ObjectBox
from verifier.symbolic.python.model import Function, Partial
from verifier.symbolic.values import Opaque, Ref

#: objects in objects that are looked through for arguments
_DEPTH: Final = 3


def launch(vm: SuiteVM, kernel: Launcher, call: Call) -> object:
    """A call of a kernel; its result is not known."""
    function = kernel.function
    bound = bound_by(function, [arg.value for arg in call.args], _values(call.keywords))
    if bound is None:
        name = function.qualname
        vm.found.launches.append(
            Refused(f"the arguments do not fit the parameters of `{name}`", call.span, function)
        )
    else:
        vm.found.launches.append(_launched(vm, kernel, bound, call))
    return Opaque(f"the result of `{function.qualname}`")


def _values(keywords: Mapping[str, Arg]) -> dict[str, object]:
    return {name: arg.value for name, arg in keywords.items()}


def bound_by(
    function: Function, args: Sequence[object], keywords: Mapping[str, object]
) -> dict[str, object] | None:
    """The arguments by parameter; None if they are not what the function takes."""
    params = function.definition.params
    if any(p.kind in (ir.ParamKind.STAR, ir.ParamKind.DOUBLE_STAR) for p in params):
        return None
    places = [p.name for p in params if p.kind is not ir.ParamKind.KEYWORD]
    if len(args) > len(places):
        return None
    bound = dict(zip(places, args, strict=False))
    if bound.keys() & keywords.keys() or keywords.keys() - {p.name for p in params}:
        return None
    bound.update(keywords)
    missing = {p.name for p in params if p.default is None} - bound.keys()
    return None if missing else bound


def by_name(vm: SuiteVM, function: Function, value: object) -> dict[str, object] | None:
    """The arguments that a dictionary has by the names of parameters.

    ``x.remark`` is a name with a remark: no parameter has a dot in it.
    """
    box = vm.box(value)
    if not isinstance(box, DictBox) or not box.items:
        return None
    named: dict[str, object] = {}
    for key, item in box.items.items():
        if not isinstance(key, str):
            return None
        named[key.partition(".")[0]] = vm.settled(item)
    return bound_by(function, (), named)


def launched_by(vm: SuiteVM, call: Call) -> object | None:
    """What a call of something that is not of the project launches: its result; None: nothing.

    A kernel that is given alone comes back: it is launched when that is called.
    """
    values = [arg.value for arg in call.args]
    named = _values(call.keywords)
    direct = [value for value in (*values, *named.values()) if _kernel(vm, value)]
    if len(direct) == 1:
        return _given(vm, call, direct[0], values, named)
    if not direct:
        for value in (*values, *named.values()):
            if isinstance(value, Ref) and _in_object(vm, call, value):
                return Opaque("the result of a launch")
    return None


def _kernel(vm: SuiteVM, value: object) -> Launcher | None:
    """The kernel that a value is."""
    if isinstance(value, Launcher):
        return value
    if isinstance(value, Function) and vm.kernel_of(value, given=True) is not None:
        return Launcher(value)
    return None


def _given(
    vm: SuiteVM,
    call: Call,
    given: object,
    values: Sequence[object],
    named: Mapping[str, object],
) -> object:
    """A kernel among the arguments of a call."""
    kernel = _kernel(vm, given)
    assert kernel is not None
    place = next((k for k, value in enumerate(values) if value is given), -1)
    before, rest = values[: max(place, 0)], list(values[place + 1 :])
    others = {name: value for name, value in named.items() if value is not given}
    bound = _fitting(vm, kernel.function, [*before, *rest, *others.values()])
    if bound is None and not any(_has_array(vm, v) for v in (*before, *rest, *others.values())):
        return replace(kernel, targets=_targets(vm, call) or kernel.targets)
    if bound is None:
        known = {p.name for p in kernel.function.definition.params}
        own = {name: value for name, value in others.items() if name in known}
        bound = bound_by(kernel.function, rest, own)
    _record(vm, kernel, bound, call)
    return Opaque(f"the result of `{kernel.function.qualname}`")


def _fitting(
    vm: SuiteVM, function: Function, candidates: Sequence[object]
) -> dict[str, object] | None:
    """The arguments that one of several values has all together."""
    for value in candidates:
        bound = by_name(vm, function, value)
        if bound is None and (isinstance(value, tuple) or isinstance(vm.box(value), ListBox)):
            items = vm.items_of(value, vm.at) if _has_array(vm, value) else None
            bound = None if items is None else bound_by(function, items, {})
        if bound is not None:
            return bound
    return None


def _record(vm: SuiteVM, kernel: Launcher, bound: dict[str, object] | None, call: Call) -> None:
    function = kernel.function
    if bound is None:
        reason = f"what is given with `{function.qualname}` does not fit its parameters"
        vm.found.launches.append(Refused(reason, call.span, function))
    else:
        vm.found.launches.append(_launched(vm, kernel, bound, call))


def _launched(vm: SuiteVM, kernel: Launcher, bound: Mapping[str, object], call: Call) -> Launched:
    targets = _targets(vm, call) or kernel.targets
    grid = _programs(vm, kernel, call) if kernel.grid is None else kernel.grid
    return Launched(kernel.function, grid, bound, call.span, targets, vm.path)


def _programs(vm: SuiteVM, kernel: Launcher, call: Call) -> tuple[object, ...] | None:
    """The grid that something says which is given with a kernel, not to it; None: nothing does."""
    entry = vm.kernel_of(kernel.function, given=True)
    names = DIALECTS[entry.dialect].programs if entry is not None else frozenset()
    if not names.isdisjoint(p.name for p in kernel.function.definition.params):
        return None
    held = [*_values(call.keywords).items()]
    for value in [arg.value for arg in call.args] + [value for _, value in held]:
        held += _attributes(vm, value, _DEPTH)
    found = {whole(vm, value) for name, value in held if name in names}
    count = found.pop() if len(found) == 1 else None
    return None if count is None or count < 1 else (E.const(count),)


def _targets(vm: SuiteVM, call: Call) -> frozenset[str]:
    """The targets that the arguments of a call name, or objects among them."""
    given = [arg.value for arg in (*call.args, *call.keywords.values())]
    held = [part for value in given for _, part in _attributes(vm, value, _DEPTH)]
    return named_among(vm, (*given, *held), call.span)


def _in_object(vm: SuiteVM, call: Call, ref: Ref) -> bool:
    """Whether an object that is given away has a kernel and its arguments in it."""
    parts = [part for _, part in _attributes(vm, ref, _DEPTH)]
    kernels = [kernel for part in parts if (kernel := _kernel(vm, part)) is not None]
    if len({id(kernel.function) for kernel in kernels}) != 1:
        return False
    bound = _fitting(vm, kernels[0].function, parts)
    if bound is None:
        bound = _fitting(vm, kernels[0].function, list(_made_later(vm, parts, call)))
    _record(vm, kernels[0], bound, call)
    return True


def _made_later(vm: SuiteVM, parts: Sequence[object], call: Call) -> Iterator[object]:
    """What the functions among some values give that take nothing, or a number: that of a rank."""
    for part in parts:
        if not isinstance(part, Function) or vm.kernel_of(part, given=True) is not None:
            continue
        needed = [p.name for p in part.definition.params if p.default is None]
        if len(needed) <= 1:
            given = dict.fromkeys(needed, E.const(0))
            try:
                yield vm.call(part, (), given, span=call.span)
            except Ended:
                vm.found.failures.clear()


def _attributes(vm: SuiteVM, value: object, depth: int) -> Iterator[tuple[str, object]]:
    """What the attributes of an object hold, by name, and those of objects in them."""
    box = vm.box(value)
    if not isinstance(box, ObjectBox) or depth == 0:
        return
    for name, item in box.attributes.items():
        held = vm.settled(item)
        yield name, held
        yield from _attributes(vm, held, depth - 1)


def _has_array(vm: SuiteVM, value: object, depth: int = _DEPTH) -> bool:
    if isinstance(value, Array):
        return True
    if depth == 0 or isinstance(value, (Function, Partial)):
        return False
    box = vm.box(value)
    items: Sequence[object] = ()
    if isinstance(value, tuple):
        items = value
    elif isinstance(box, ListBox):
        items = box.concrete or ()
    elif isinstance(box, DictBox):
        items = tuple(box.items.values())
    return any(_has_array(vm, item, depth - 1) for item in items)


__all__ = ["bound_by", "by_name", "launch", "launched_by"]
