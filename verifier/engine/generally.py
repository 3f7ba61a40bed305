"""A kernel on sizes that nobody has fixed, where what its loops are for is asked.

That a loop over ``n // tile`` blocks drops a tail shows in how it depends on ``n``. A contract that
makes ``n`` a number, or an assertion under which a ``while`` loop is its trips, hides that: there
are only so many parts that are read then, and each of them might be meant. So rules about loops are
asked of the kernel as it is for all sizes, and what they find is judged at the sizes that are
given: a verdict on an input does not depend on how it is said which inputs there are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from msgspec import Struct
from msgspec.structs import replace

from verifier.symbolic import expr as E
from verifier.symbolic.checks import Check
from verifier.symbolic.expr import Expr, Sym
from verifier.symbolic.python.entry import Request, Run
from verifier.symbolic.python.pins import IntegerPin, Pin, TensorPin, ValuePin
from verifier.symbolic.trace import Trace


class General(Struct, frozen=True):
    """The trace of a kernel without some of its numbers, and these."""

    trace: Trace
    numbers: Mapping[Sym, Expr]

    def at_the_numbers(self, check: Check) -> Check:
        """A check of this trace as one of the kernel with its numbers.

        It stands behind all that the kernel demands: what is read of an input is told at the end.
        """
        put = E.Substitution(self.numbers)
        return replace(
            check,
            predicate=put.bool(check.predicate),
            required=put.bool(check.required),
            enough=put.bool(check.enough),
            given=tuple(map(put.bool, check.given)),
            values=tuple((name, put.expr(value)) for name, value in check.values),
            path=None if check.path is None else tuple(map(put.bool, check.path)),
            order=None,
        )


def general(job: Request, run: Run, again: Callable[[Request], Run]) -> General | None:
    """The kernel without the numbers that are given for its sizes, if it can be followed as well.

    First without those of integers, too; these may say what a kernel is, not only how large.
    """
    for integers in (True, False):
        numbers = dict(_numbers(job.pinned, integers))
        pinned = {path: _freed(pin, path in numbers) for path, pin in job.pinned.items()}
        found = again(
            replace(
                job,
                pinned=pinned,
                conditions=(),
                at_any_size=True,
                exactly=False,
                at_most_unknown=run.trace.unknown,
            )
        )
        # (what is told at the end may come on top of what a run is given up for)
        fine = found.ended is None and not found.late and found.trace.completes
        if fine and found.trace.unknown <= run.trace.unknown:
            # symbols are those of the run, which says how small they may be
            symbols = {_symbol(E.symbol(name)): E.const(put) for name, put in numbers.items()}
            return General(found.trace, symbols)
    return None


def _numbers(pinned: Mapping[str, Pin], integers: bool) -> Iterator[tuple[str, int]]:
    """The sizes, and the integers if they are asked for, that are numbers."""
    for path, pin in pinned.items():
        if isinstance(pin, TensorPin):
            for axis, size in enumerate(pin.shape or ()):
                if size is not None and size.is_const:
                    yield f"{path}.shape[{axis}]", size.const
        elif integers and isinstance(pin, ValuePin) and type(pin.value) is int and pin.value >= 0:
            yield path, pin.value


def _freed(pin: Pin, number: bool) -> Pin:
    """What is said of an input besides numbers; ``number``: it is one itself."""
    if isinstance(pin, TensorPin) and pin.shape is not None:
        free = (None if size is not None and size.is_const else size for size in pin.shape)
        return replace(pin, shape=tuple(free))
    return IntegerPin() if number else pin


def _symbol(term: Expr) -> Sym:
    symbol = term.as_atom()
    assert isinstance(symbol, Sym)
    return symbol


__all__ = ["General", "general"]
