"""Values that depend on the path: an operation on one is done case by case."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar

from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool
from verifier.symbolic.python.flow import AbortedRunError, Ended
from verifier.symbolic.python.heap import UNBOUND
from verifier.symbolic.python.kind import Kind, Language
from verifier.symbolic.python.machine import DeviceMachine
from verifier.symbolic.python.terms import join
from verifier.symbolic.values import Guarded, Opaque, Ref

_T = TypeVar("_T")

#: cases of one value behind which a kernel is followed at any size no further: its numbers say
#: which case it is, and without them each of many rounds would add one
_MANY: Final = 12


class CaseMachine(DeviceMachine):
    """The machine with values that depend on the path."""

    language: Language[Any]

    def kind(self, value: object) -> Kind[Any]:
        """How a value behaves."""
        key = type(self.heap.get(value.id)) if isinstance(value, Ref) else type(value)
        return self.language.kinds.get(key, self.language.default)

    def cases(self, value: object) -> list[tuple[Bool, object]]:
        """The cases of a value that the path allows; nothing unbound.

        Raises:
            AbortedRunError: there are too many for a kernel at any size.
        """
        if not isinstance(value, Guarded):
            return [(E.TRUE, value)]
        if self.at_any_size and len(value.cases) > _MANY:
            raise AbortedRunError("a value has too many cases to be followed at any size", self.at)
        live = []
        for guard, item in value.cases:
            if item is UNBOUND or self.decide(guard) is False:
                continue
            live.append((guard, item))
        return live

    def settled(self, value: object) -> object:
        """The value without the cases that the path rules out."""
        if not isinstance(value, Guarded):
            return value
        live = self.cases(value)
        if not live:
            return Opaque("a value on an impossible path", harmless=True)
        return live[0][1] if len(live) == 1 else Guarded(tuple(live))

    def each(self, value: object, action: Callable[[Any], _T]) -> _T:
        """Apply an action to each case of a value, under its guard, and join the results."""
        if not isinstance(value, Guarded):
            return action(value)
        live = self.cases(value)
        if not live:
            raise Ended
        if all(self.kind(item).pure for _, item in live):
            return self._each_pure(live, action)
        return self._each_forked(live, action)

    def apart(self, value: object, action: Callable[[Any], _T]) -> _T:
        """As :meth:`each`, for an action that may change something whatever the case is."""
        if not isinstance(value, Guarded):
            return action(value)
        live = self.cases(value)
        if not live:
            raise Ended
        return self._each_forked(live, action)

    def _each_pure(self, live: list[tuple[Bool, object]], action: Callable[[Any], _T]) -> _T:
        result: object = UNBOUND
        dead: list[Bool] = []
        for guard, item in reversed(live):
            try:
                if len(live) == 1:
                    one: object = action(item)
                else:
                    with self.guarded(guard):
                        one = action(item)
            except Ended:
                dead.append(guard)
                continue
            result = one if result is UNBOUND else join(guard, one, result)
        if len(dead) == len(live):
            raise Ended
        for guard in dead:
            self.narrow(E.not_(guard))
        return result  # type: ignore[return-value]

    def _each_forked(self, live: list[tuple[Bool, object]], action: Callable[[Any], _T]) -> _T:
        (guard, item), rest = live[0], live[1:]
        if not rest:
            return action(item)
        return self.fork(guard, lambda: action(item), lambda: self._each_forked(rest, action))
