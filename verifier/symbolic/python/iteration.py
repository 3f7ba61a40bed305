"""What a loop over a value runs through."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from msgspec import Struct

from verifier.symbolic.python.heap import ListBox
from verifier.symbolic.values import Range


class Items(Struct, frozen=True):
    """Items that are all there: the loop is exactly its trips."""

    items: tuple[object, ...]


class Live(Struct, frozen=True):
    """Items that are looked up one after the other, since the loop may change them (a list).

    ``at(k)`` gives item ``k``, UNBOUND when there is none any more.
    """

    at: Callable[[int], object]


class Trips(Struct, frozen=True):
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


class Pull(Struct, frozen=True):
    """An iterator: ``next()`` gives the next item, and UNBOUND (after an escape) at the end."""

    next: Callable[[], object]


class Push(Struct, frozen=True):
    """Code that hands each item to a body: a generator that is run inside its loop."""

    run: Callable[[Callable[[object], None]], None]


class Mapped(Struct, frozen=True):
    """Items that are made of others, one by one as the loop gets there.

    ``hand(item, body)`` hands what becomes of an item to the loop's body, or nothing; it does so
    once and last.
    """

    items: Iteration
    hand: Callable[[object, Callable[[object], None]], None]


class Unknown(Struct, frozen=True):
    """Items that are not followed, nor how many."""

    reason: str


Iteration = Items | Live | Trips | Runs | Pull | Push | Mapped | Unknown
