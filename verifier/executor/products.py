"""Products of the Tensor Engine that lie in a tile of PSUM, and whether anything has read them.

A product is lost when all of it has been overwritten, and nothing has read any of it before. A
location holds what one multiplication has begun and others have added to.
"""

from __future__ import annotations

from functools import partial
from itertools import count
from typing import Any, Final

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from verifier.executor.contents import NOTHING, Contents
from verifier.executor.regions import Gather, Geometry
from verifier.symbolic.trace import Operation

#: so many sets of products are remembered before those that are gone are swept out
_SWEEP: Final = 256


class _Product(Struct, eq=False):
    """``left``: how many of its bytes nothing has overwritten yet."""

    operation: Operation
    left: int


#: what elements hold that loads bring to: what the last one has brought, and an earlier one
_LAST: Final = 1
_EARLIER: Final = 2


class Brought:
    """What loads have brought to a place where they begin, or end, at one element, or what was
    computed there; ``operation``: the last of them."""

    __slots__ = ("_held", "ends", "loaded", "operation")

    def __init__(self, memory: Any) -> None:
        self.operation: Operation | None = None
        self.loaded = False
        #: the first and the last element that it has brought
        self.ends = (0, 0)
        self._held = Contents(memory)

    def bring(
        self,
        operation: Operation,
        place: Geometry | Gather,
        ends: tuple[int, int],
        *,
        loaded: bool,
    ) -> None:
        """Something is brought there: what else there is comes from earlier loads."""
        self.operation, self.ends, self.loaded = operation, ends, loaded
        held = self._held
        if held.every == _LAST:
            held.every = _EARLIER
        elif held.numbers is not None:
            held.numbers[held.numbers == _LAST] = _EARLIER
        held.put(place, _LAST)

    def fill(self, place: Geometry | Gather) -> None:
        """Something else is written there."""
        self._held.put(place, NOTHING)

    def rests(self, place: Geometry | Gather) -> bool:
        """Whether any of it comes from earlier loads."""
        every = self._held.every
        return every == _EARLIER if every is not None else _EARLIER in self._held.counted(place)

    def divide(self, parts: int) -> None:
        """Elements have so many entries from now on."""
        self._held.divide(parts)


class Products:
    """The products in a tile, by location: each set of products that lie in one has a number."""

    __slots__ = ("_next", "_products", "_sets", "held")

    def __init__(self, memory: Any) -> None:
        self.held = Contents(memory, np.int32)
        self._sets: dict[int, tuple[int, ...]] = {}
        self._products: dict[int, _Product] = {}
        self._next = count(1)

    def read(self, place: Geometry | Gather) -> None:
        """Something takes the products there."""
        for held in self.held.counted(place) if self._products else ():
            for product in self._sets.pop(held, ()):
                self._products.pop(product, None)

    def overwritten(self, place: Geometry | Gather) -> list[Operation]:
        """What has made what is gone now, of which nothing is left, and that nothing has read."""
        if isinstance(place, Gather) and place.anywhere:
            self.read(place)
            return []
        gone: list[Operation] = []
        for held, size in self.held.counted(place).items() if self._products else ():
            for number in self._live(held):
                product = self._products[number]
                product.left -= size
                if product.left <= 0:
                    gone.append(self._products.pop(number).operation)
        self.held.put(place, 0)
        return gone

    def made(self, operation: Operation, place: Geometry | Gather) -> None:
        """There is a new product, or one that goes on with those there."""
        held = self.held.counted(place)
        size = sum(held.values())
        last = self._live(next(iter(held)))[-1:] if len(held) == 1 else ()
        if last and self._products[last[0]].left == size:
            self._products[last[0]].operation = operation  # it adds to the very same
            return
        new = next(self._next)
        self._products[new] = _Product(operation, size)
        sets: dict[int, int] = {}
        for old in held:
            live = self._live(old)
            sets[old] = number = next(self._next) if live else new
            self._sets[number] = (*live, new)
        if len(sets) == 1:
            self.held.put(place, *sets.values())
        else:
            self.held.change(place, partial(_renamed, sets))
        if len(self._sets) > _SWEEP and len(self._sets) > 2 * len(self._products):
            self._sets = {number: live for number in self._sets if (live := self._live(number))}

    def _live(self, held: int) -> tuple[int, ...]:
        """Those of a set that nothing has read, and of which something is left."""
        return tuple(each for each in self._sets.get(held, ()) if each in self._products)


def _renamed(names: dict[int, int], held: NDArray[Any]) -> NDArray[Any]:
    old = sorted(names)
    new = np.array([names[each] for each in old], np.int32)
    found: NDArray[Any] = new[np.searchsorted(old, held)]
    return found
