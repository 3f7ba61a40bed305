"""Models that are asked for each case of their arguments."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from verifier.source.ir import Span
from verifier.symbolic.python.builtin import Handler
from verifier.symbolic.python.heap import UNBOUND
from verifier.symbolic.python.vm import VM
from verifier.symbolic.python.words import told
from verifier.symbolic.values import (
    ExternalRef,
    Guarded,
    Opaque,
    OpaqueOf,
)


def unfollowed_operand(vm: VM, values: Sequence[object], span: Span) -> Opaque | None:
    """What a model gives that is not meant for what is not followed; None: all operands are.

    A function of something of a library's is not followed either, nor is what it may raise; one of
    a value of Python's own is not known to take it.
    """
    found: Opaque | None = None
    for value in values:
        if isinstance(value, ExternalRef):
            value = Opaque(value.said)
        if isinstance(value, Opaque):
            if value.lost or isinstance(value, OpaqueOf):
                return vm.unfollowed(f"a function of {value.reason} is not followed", span)
            if found is None or found.harmless:
                found = value
    if found is not None and not found.harmless:
        vm.may_raise(f"a function of {found.reason}", span)
    return found


def lifted(handler: Handler) -> Handler:
    """A model that is asked for each case of its arguments, none of them opaque."""

    @functools.wraps(handler)
    def asked(vm: VM, span: Span, /, *args: object, **keywords: object) -> object:
        known = unfollowed_operand(vm, (*args, *keywords.values()), span)
        if known is not None:
            return known
        args = tuple(told(vm, value) for value in args)
        keywords = {name: told(vm, value) for name, value in keywords.items()}
        for position, value in enumerate(args):
            if isinstance(value, Guarded):

                def placed(case: object, position: int = position) -> object:
                    given = (*args[:position], case, *args[position + 1 :])
                    return asked(vm, span, *given, **keywords)

                others = (*args[:position], *args[position + 1 :], *keywords.values())
                return each(vm, value, others, placed)
        for name, value in keywords.items():
            if isinstance(value, Guarded):

                def named(case: object, name: str = name) -> object:
                    return asked(vm, span, *args, **{**keywords, name: case})

                others = (*args, *(v for key, v in keywords.items() if key != name))
                return each(vm, value, others, named)
        return handler(vm, span, *args, **keywords)

    return asked


def each(
    vm: VM, value: Guarded, others: Sequence[object], action: Callable[[Any], object]
) -> object:
    """As :meth:`VM.each`, for an action that also works on other values."""
    if all(_pure(vm, other) for other in others):
        return vm.each(value, action)
    return vm.apart(value, action)


def _pure(vm: VM, value: object) -> bool:
    """Whether operations on a value run no code and change nothing."""
    if isinstance(value, Guarded):
        return all(_pure(vm, item) for _, item in value.cases if item is not UNBOUND)
    return vm.kind(value).pure
