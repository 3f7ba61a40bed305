"""What a loop over a value runs through."""

from __future__ import annotations

from collections.abc import Callable

from verifier.records import dataclass
from verifier.symbolic.python.heap import ListBox
from verifier.symbolic.values import Range


@dataclass(frozen=True, slots=True)
class Items:
    """Items that are all there: the loop is exactly its trips."""

    items: tuple[object, ...]


@dataclass(frozen=True, slots=True)
class Live:
    """Items that are looked up one after the other, since the loop may change them (a list).

    ``at(k)`` gives item ``k``, UNBOUND when there is none any more.
    """

    at: Callable[[int], object]


@dataclass(frozen=True, slots=True)
class Trips:
    """An arithmetic progression, with what the loop promises."""

    range: Range


@dataclass(frozen=True, slots=True)
class Runs:
    """A list with symbolic runs: a run is a loop of its own.

    ``watch`` is asked before each trip and after the last one: it says so if what is run through
    is no longer what it was.
    """

    ref: ListBox
    watch: Callable[[], None] | None = None


@dataclass(frozen=True, slots=True)
class Pull:
    """An iterator: ``next()`` gives the next item, and UNBOUND (after an escape) at the end."""

    next: Callable[[], object]


@dataclass(frozen=True, slots=True)
class Push:
    """Code that hands each item to a body: a generator that is run inside its loop."""

    run: Callable[[Callable[[object], None]], None]


@dataclass(frozen=True, slots=True)
class Mapped:
    """Items that are made of others, one by one as the loop gets there.

    ``hand(item, body)`` hands what becomes of an item to the loop's body, or nothing; it does so
    once and last.
    """

    items: Iteration
    hand: Callable[[object, Callable[[object], None]], None]


@dataclass(frozen=True, slots=True)
class Unknown:
    """Items that are not followed, nor how many."""

    reason: str


Iteration = Items | Live | Trips | Runs | Pull | Push | Mapped | Unknown
