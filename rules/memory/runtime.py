"""What hangs on places that only the device knows, and is taken for granted there.

Where a row goes that an index on the device names is in the data. What the text decides is
decided; of the rest the kernel's report says what it rests on.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from operator import mul

from verifier.symbolic import expr as E
from verifier.symbolic.expr import Expr
from verifier.symbolic.memory.index import Access
from verifier.symbolic.tensors import Loop, LoopKind, View


def elements(shape: Iterable[Expr]) -> Expr:
    """How many elements a shape has."""
    return reduce(mul, shape, E.const(1))


def may_cover(writes: Iterable[Access], needed: Expr) -> bool:
    """Whether some writes are of enough elements to cover so many, wherever they are.

    ``needed``: elements. A loop on the device runs as often as the data says.
    """
    total = E.const(0)
    for write in writes:
        around = [loop for loop in write.loops if loop not in write.view.storage.loops]
        if any(loop.kind is LoopKind.DYNAMIC for loop in around):
            return True
        trips = [loop.trips for loop in around]
        total = total + elements((*write.view.shape, *trips))
    return E.ge(total, needed) is E.TRUE


def covered_there(
    blame: Access | None, shape: Iterable[Expr], writes: Iterable[Access], when: str
) -> str:
    """What is assumed of writes at places known at run time only; empty if nothing may be.

    ``blame``: the access because of which it is not known that all of a part of a tensor, of this
    ``shape``, is written; ``when``: by when it has to be.
    """
    held = list(writes)
    if blame is None or not blame.view.indirect or not held:
        return ""
    reads = all(not write.view.indirect for write in held)
    if not reads and not may_cover(held, elements(shape)):
        return ""
    name = blame.view.storage.name
    if reads:
        return f"runtime places in `{name}`: taken to have been written {when}"
    return f"runtime places in `{name}`: taken to make it complete {when}"


def apart_there(first: View, second: View, loop: Loop) -> str:
    """What is assumed of writes in two instances, one of them at places known at run time only.

    Nothing is where no place depends on the instance in the text.
    """
    if not first.indirect and not second.indirect:
        return ""
    if not any(loop.symbol in coord.free() for coord in first.coords):
        return ""
    return f"runtime places in `{first.storage.name}`: taken to be others in each instance"
