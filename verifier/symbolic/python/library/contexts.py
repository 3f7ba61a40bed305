"""``contextlib``: managers for ``with``."""

from __future__ import annotations

import contextlib
import types
from collections.abc import Mapping
from typing import Final

from verifier.source.ir import Span
from verifier.symbolic.python import hierarchy, notes
from verifier.symbolic.python.attempts import attempt
from verifier.symbolic.python.builtin import Table
from verifier.symbolic.python.heap import UNBOUND, ObjectBox
from verifier.symbolic.python.model import Builtin, HostType, Method
from verifier.symbolic.python.vm import VM
from verifier.symbolic.values import ExternalRef, Opaque, Ref


def _made(vm: VM, host: type, **attributes: object) -> Ref:
    return vm.heap.new(
        ObjectBox(HostType(host), {f"<{name}>": value for name, value in attributes.items()})
    )


def _held(vm: VM, self: object, name: str) -> object:
    box = vm.box(self)
    assert isinstance(box, ObjectBox)
    return box.attributes[f"<{name}>"]


# ------------------------------------------------------------------------ contextmanager

_GENERATED: Final = contextlib._GeneratorContextManager

GENERATED: Final = Table(_GENERATED.__name__)


def _contextmanager(vm: VM, span: Span, func: object, /) -> object:
    if isinstance(func, (Opaque, ExternalRef)):
        return func

    held = notes.all_noted(vm, func)  # as `functools.wraps` does
    held |= {"<func>": func, "__wrapped__": func}
    for name in ("__name__", "__qualname__", "__doc__", "__module__"):
        found = vm.find_attribute(func, name, span)
        if found is not UNBOUND:
            held[name] = found
    return vm.heap.new(ObjectBox(HostType(types.FunctionType), held))


#: of functions that are made of a generator function
FUNCTION: Final = Table("function")


@FUNCTION.add("__call__")
def _call(vm: VM, span: Span, self: object, /, *args: object, **keywords: object) -> object:
    made = vm.call(_held(vm, self, "func"), args, keywords, span=span)
    return _made(vm, _GENERATED, gen=made)


@FUNCTION.add("__get__")
def _get(vm: VM, span: Span, self: object, instance: object, owner: object = None, /) -> object:
    return self if instance is None else Method(self, instance)


def _next(vm: VM, generator: object, span: Span) -> object:
    return vm.call(vm.attribute(generator, "__next__", span), (), span=span)


@GENERATED.add("__enter__")
def _enter_generated(vm: VM, span: Span, self: object, /) -> object:
    generator = _held(vm, self, "gen")

    def ended(_: object) -> object:
        vm.fault(RuntimeError, "generator didn't yield", span)
        return None

    return attempt(vm, lambda: _next(vm, generator, span), StopIteration, ended)


@GENERATED.add("__exit__")
def _exit_generated(
    vm: VM, span: Span, self: object, typ: object, value: object, traceback: object, /
) -> object:
    generator = _held(vm, self, "gen")
    if typ is not None:
        return _thrown(vm, generator, value, span)

    def go_on() -> object:
        _next(vm, generator, span)
        vm.fault(RuntimeError, "generator didn't stop", span)
        return False

    return attempt(vm, go_on, StopIteration, lambda _: False)


def _thrown(vm: VM, generator: object, value: object, span: Span) -> object:
    """The block raised: the generator gets the exception where it yielded."""
    if hierarchy.derives_from_host(vm.type_of(value), StopIteration):
        return vm.unfollowed("`StopIteration` in a `with` block is not followed", span)

    def throw() -> object:
        vm.call(vm.attribute(generator, "throw", span), (value,), span=span)
        vm.fault(RuntimeError, "generator didn't stop after throw()", span)
        return False

    def is_it(error: object) -> bool:
        return vm.decide(vm.identical(error, value, span)) is True

    def is_end(error: object) -> bool:
        return hierarchy.derives_from_host(vm.type_of(error), StopIteration)

    return attempt(
        vm,
        throw,
        BaseException,
        lambda error: is_end(error),
        lambda error: is_end(error) or is_it(error),
    )


# ------------------------------------------------------------------------ small managers

_NULL: Final = contextlib.nullcontext
_CLOSING: Final = contextlib.closing
_SUPPRESS: Final = contextlib.suppress

NULL: Final = Table("nullcontext")
CLOSING: Final = Table("closing")
SUPPRESS: Final = Table("suppress")
ABSTRACT: Final = Table("AbstractContextManager")


def _nullcontext(vm: VM, span: Span, enter_result: object = None) -> object:
    ref = _made(vm, _NULL)
    box = vm.heap.write(ref.id)
    assert isinstance(box, ObjectBox)
    box.attributes["enter_result"] = enter_result
    return ref


@NULL.add("__enter__")
def _enter_null(vm: VM, span: Span, self: object, /) -> object:
    return vm.attribute(self, "enter_result", span)


@NULL.add("__exit__")
def _exit_null(vm: VM, span: Span, self: object, /, *excinfo: object) -> object:
    return None


def _closing(vm: VM, span: Span, thing: object) -> object:
    return _made(vm, _CLOSING, thing=thing)


@CLOSING.add("__enter__")
def _enter_closing(vm: VM, span: Span, self: object, /) -> object:
    return _held(vm, self, "thing")


@CLOSING.add("__exit__")
def _exit_closing(vm: VM, span: Span, self: object, /, *excinfo: object) -> object:
    vm.call(vm.attribute(_held(vm, self, "thing"), "close", span), (), span=span)
    return None


def _suppress(vm: VM, span: Span, /, *exceptions: object) -> object:
    return _made(vm, _SUPPRESS, exceptions=exceptions)


@SUPPRESS.add("__enter__")
def _enter_suppress(vm: VM, span: Span, self: object, /) -> object:
    return None


@SUPPRESS.add("__exit__")
def _exit_suppress(
    vm: VM, span: Span, self: object, exctype: object, excinst: object, exctb: object, /
) -> object:
    if exctype is None:
        return None
    wanted = _held(vm, self, "exceptions")
    return vm.call(vm.language.builtins["issubclass"], (exctype, wanted), span=span)


@ABSTRACT.add("__enter__")
def _enter_abstract(vm: VM, span: Span, self: object, /) -> object:
    return self


@ABSTRACT.add("__exit__")
def _exit_abstract(vm: VM, span: Span, self: object, /, *excinfo: object) -> object:
    return None


# ------------------------------------------------------------------------ ExitStack

_STACK: Final = contextlib.ExitStack

STACK: Final = Table("ExitStack")


def _exit_stack(vm: VM, span: Span) -> object:
    return _made(vm, _STACK, callbacks=())


def _push(vm: VM, self: object, entry: tuple[object, ...], span: Span) -> None:
    assert isinstance(self, Ref)
    callbacks = _held(vm, self, "callbacks")
    if not isinstance(callbacks, tuple):
        vm.unfollowed("what an ExitStack leaves depends on the inputs", span)
        callbacks = ()
    box = vm.write(self, span)
    assert isinstance(box, ObjectBox)
    box.attributes["<callbacks>"] = (*callbacks, entry)


@STACK.add("__enter__")
def _enter_stack(vm: VM, span: Span, self: object, /) -> object:
    return self


@STACK.add("enter_context")
def _enter_context(vm: VM, span: Span, self: object, cm: object) -> object:
    for name in ("__enter__", "__exit__"):
        if vm.kind(cm).attribute(vm, cm, name, span) is UNBOUND:
            return vm.unfollowed(f"`enter_context()` of what has no `{name}`", span)
    leave = vm.attribute(cm, "__exit__", span)
    entered = vm.call(vm.attribute(cm, "__enter__", span), (), span=span)
    _push(vm, self, (True, leave, (), ()), span)
    return entered


@STACK.add("push")
def _push_exit(vm: VM, span: Span, self: object, exit: object) -> object:
    leave = vm.kind(exit).attribute(vm, exit, "__exit__", span)
    _push(vm, self, (True, exit if leave is UNBOUND else leave, (), ()), span)
    return exit


@STACK.add("callback")
def _callback(
    vm: VM, span: Span, self: object, callback: object, /, *args: object, **keywords: object
) -> object:
    _push(vm, self, (False, callback, args, tuple(keywords.items())), span)
    return callback


@STACK.add("pop_all")
def _pop_all(vm: VM, span: Span, self: object, /) -> object:
    made = _made(vm, _STACK, callbacks=_held(vm, self, "callbacks"))
    _forget(vm, self, span)
    return made


def _forget(vm: VM, self: object, span: Span) -> None:
    assert isinstance(self, Ref)
    box = vm.write(self, span)
    assert isinstance(box, ObjectBox)
    box.attributes["<callbacks>"] = ()


@STACK.add("close")
def _close(vm: VM, span: Span, self: object, /) -> object:
    _leave_all(vm, self, (None, None, None), span)
    return None


@STACK.add("__exit__")
def _exit_of_stack(vm: VM, span: Span, self: object, /, *details: object) -> object:
    return _leave_all(vm, self, details, span)


def _leave_all(vm: VM, self: object, details: tuple[object, ...], span: Span) -> object:
    """Leave what was entered, the last one first; whether the exception is swallowed."""
    callbacks = _held(vm, self, "callbacks")
    if not isinstance(callbacks, tuple) or not all(isinstance(e, tuple) for e in callbacks):
        return vm.unfollowed("what an ExitStack leaves depends on the inputs", span)
    _forget(vm, self, span)
    entries = list(reversed(callbacks))

    def turn(position: int, current: tuple[object, ...], swallowed: bool) -> object:
        if position == len(entries):
            return swallowed
        is_exit, function, args, keywords = entries[position]

        def run() -> object:
            if is_exit:
                return vm.call(function, current, span=span)
            vm.call(function, args, dict(keywords), span=span)
            return False

        def raised(_: object) -> object:
            if position + 1 < len(entries):
                return vm.unfollowed("leaving a block of an ExitStack raises", span)
            return False

        last = position + 1 == len(entries)
        answer = run() if last else attempt(vm, run, BaseException, raised)
        if current[0] is None:
            return turn(position + 1, current, swallowed)
        return vm.fork(
            vm.truth(answer, span),
            lambda: turn(position + 1, (None, None, None), True),
            lambda: turn(position + 1, current, swallowed),
        )

    return turn(0, details, False)


CONSTRUCTORS: Final[dict[type, Builtin]] = {
    _NULL: Builtin.of("nullcontext", _nullcontext),
    _CLOSING: Builtin.of("closing", _closing),
    _SUPPRESS: Builtin.of("suppress", _suppress),
    _STACK: Builtin.of("ExitStack", _exit_stack),
}
METHODS: Final[Mapping[str, Table]] = {
    **{t.owner: t for t in (GENERATED, FUNCTION, NULL, CLOSING, SUPPRESS, STACK, ABSTRACT)},
    "_BaseExitStack": STACK,
}
MODULES: Final[dict[str, dict[str, object]]] = {
    "contextlib": {
        "contextmanager": Builtin.of("contextmanager", _contextmanager),
        "nullcontext": HostType(_NULL),
        "closing": HostType(_CLOSING),
        "suppress": HostType(_SUPPRESS),
        "ExitStack": HostType(_STACK),
        "AbstractContextManager": HostType(contextlib.AbstractContextManager),
    }
}
