"""What was found out about the ranks of a function's parameters, and how sure each piece is."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from verifier.symbolic.python.shapetexts import MOST

#: the rank that a tensor has if nothing is said
USUAL: Final = 2


class Hint(Struct, frozen=True):
    """What the text shows about one parameter: its rank, or that it is no tensor.

    ``ranks``: those that it may have, the surest first. ``sequence``: ``flat`` for a tuple of
    numbers, ``nested`` for one of other things. ``asserted``: the type that the kernel asserts it
    to be, as an annotation would say it. ``first``: its first dimension is all that is spoken of.
    """

    ranks: tuple[int, ...] = ()
    sequence: str | None = None
    asserted: str = ""
    first: bool = False


class Part(Struct, frozen=True):
    """What a name stands for: a parameter, or something with ``less`` dimensions made of it.

    ``what``: the ``tensor``, its ``shape``, or the ``count`` of its dimensions.
    """

    name: str
    less: int = 0
    itself: bool = True
    what: str = "tensor"


_Table = dict[str, list[int]]


class Evidence(Struct):
    """What a text says about the ranks of a function's parameters, the surest first."""

    exact: _Table = field(default_factory=dict)
    annotated: _Table = field(default_factory=dict)
    indexed: _Table = field(default_factory=dict)
    #: as the copies and parts of a parameter show, measured and indexed
    derived: _Table = field(default_factory=dict)
    followed: _Table = field(default_factory=dict)
    written: _Table = field(default_factory=dict)
    #: in strings beside the function
    remarked: _Table = field(default_factory=dict)
    least: dict[str, int] = field(default_factory=dict)
    sequences: dict[str, str] = field(default_factory=dict)
    #: parameters that have as many dimensions as each other
    alike: list[tuple[Part, Part]] = field(default_factory=list)

    def of(self, name: str) -> tuple[int, ...]:
        """The ranks that were found, those of the surest table first."""
        least = self.least.get(name, 0)
        found = [*self.exact.get(name, ()), *self.annotated.get(name, ())]
        for table in self._tables[2:]:
            found.extend(max(rank, least) for rank in table.get(name, ()))
        if least > USUAL:
            found.append(least)
        return tuple(dict.fromkeys(min(rank, MOST) for rank in found if rank >= 1))

    @property
    def _tables(self) -> tuple[_Table, ...]:
        return (
            self.exact,
            self.annotated,
            self.indexed,
            self.derived,
            self.followed,
            self.written,
            self.remarked,
        )

    def is_exact(self, part: Part, rank: int) -> None:
        """The tensor has that rank."""
        table = self.exact if part.itself else self.derived
        table.setdefault(part.name, []).append(rank + part.less)

    def is_indexed(self, part: Part, rank: int) -> None:
        """The tensor is given so many indices."""
        table = self.indexed if part.itself else self.followed
        table[part.name] = [max(*table.get(part.name, [0]), rank + part.less)]

    def is_at_least(self, part: Part, rank: int) -> None:
        """The tensor has that rank or more."""
        self.least[part.name] = max(self.least.get(part.name, 0), rank + part.less)

    def take(self, part: Part, inner: Evidence, name: str) -> None:
        """What a function says of a parameter that it is passed."""
        if not part.itself:
            for rank in inner.of(name)[:1]:
                self.is_exact(part, rank)
            return
        for mine, other in zip(self._tables, inner._tables, strict=True):
            if name in other:
                mine.setdefault(part.name, list(other[name]))
        if name in inner.least:
            self.is_at_least(part, inner.least[name])

    def even_out(self) -> None:
        """What is known of a parameter holds for those that have as many dimensions."""
        for _ in self.alike:
            before = {name: self.of(name) for pair in self.alike for name in _names(pair)}
            for pair in self.alike:
                for mine, other in (pair, pair[::-1]):
                    if not before[mine.name]:
                        for rank in before[other.name]:
                            derived = replace(mine, itself=False)
                            self.is_exact(derived, rank - other.less)


def _names(parts: Iterable[Part]) -> list[str]:
    return [part.name for part in parts]
