"""Parameters that are strings: which strings one may be on a path."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.python.inputs import InputKind, Word
from verifier.symbolic.python.vm import VM
from verifier.symbolic.values import Guarded, OpaqueOf


def told(vm: VM, value: object) -> object:
    """The strings that a parameter may be on this path, if the path says so; else the value.

    They are among those that the program compares parameters with.
    """
    if not isinstance(value, Word) or value.kind is not InputKind.STRING:
        return value
    cases = []
    for here, text in vm.inputs.any_of_strings(value):
        known = vm.decide(here)
        if known is True:
            return text
        if known is None:
            cases.append((here, text))
    if not cases or vm.decide(E.or_(*(here for here, _ in cases))) is not True:
        return value
    return Guarded(tuple(cases))


def each(
    vm: VM, word: Word, action: Callable[[str], object], otherwise: Callable[[], object]
) -> object:
    """Apply an action to each string that a parameter may be, if they are known."""
    found = told(vm, word)
    return otherwise() if isinstance(found, Word) else vm.each(found, action)


#: methods that give a string for every string
_CHANGES: Final = "lower upper strip lstrip rstrip casefold capitalize title swapcase replace"
_CHANGING: Final = frozenset(_CHANGES.split())


def method_of(vm: VM, word: Word, name: str, args: Sequence[Any], span: Span) -> object | None:
    """A method of a string that is not known; None if its arguments or the string may not do."""
    try:
        getattr("a", name)(*args)
    except (TypeError, ValueError, LookupError):
        return None
    if name in _CHANGING:
        return OpaqueOf(f"`{word.name}.{name}()`", harmless=True, host=str)
    if name in ("startswith", "endswith") or name.startswith("is"):
        return vm.unknown_bool(f"`{word.name}.{name}()` is not followed", span)
    return None


__all__ = ["each", "method_of", "told"]
