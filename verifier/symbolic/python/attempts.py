"""Trying something of the program's own that may raise, on behalf of the machine."""

from __future__ import annotations

from collections.abc import Callable

from verifier.symbolic import expr as E
from verifier.symbolic.python.flow import Ended, Escape, Wait
from verifier.symbolic.python.hierarchy import derives_from_host
from verifier.symbolic.python.vm import VM


def attempt(
    vm: VM,
    body: Callable[[], object],
    error: type[BaseException],
    otherwise: Callable[[object], object],
    only: Callable[[object], bool] = lambda exception: True,
) -> object:
    """The value of ``body``, of ``otherwise`` where it raises an ``error``; others go on.

    ``only`` says which exceptions of that type are meant.

    Raises:
        Ended: every way through it raises something else.
    """
    value: object = None
    with vm.landing(Wait.HANDLERS) as landing:
        try:
            value = body()
            alive = True
        except Ended:
            alive = False
    base, escapes = landing.base, landing.escapes
    if not escapes:
        if not alive:
            raise Ended
        return value
    normal, rest = vm.heap, vm.guard_since(base) if alive else E.FALSE
    vm.cut_path(base)

    def caught(escape: Escape) -> object:
        exception = vm.rejoin([escape], False)

        def one(found: object) -> object:
            if derives_from_host(vm.type_of(found), error) and only(found):
                return otherwise(found)
            again = Escape(escape.kind, E.TRUE, vm.heap, found, escape.span, escape.fault)
            return vm.uncaught(again)

        return vm.each(exception, one)

    def through() -> object:
        vm.heap.adopt(normal.fork())
        vm.narrow(rest)
        return value

    def turn(position: int) -> object:
        if position == len(escapes):
            return through()
        escape = escapes[position]
        if position == len(escapes) - 1 and not alive:
            vm.narrow(escape.guard)
            return caught(escape)
        return vm.fork(escape.guard, lambda: caught(escape), lambda: turn(position + 1))

    return turn(0)
