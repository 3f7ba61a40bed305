"""Which write a read in local memory is about: the last one before it that holds what is read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import lcm
from typing import Final

from msgspec import Struct

from rules.memory.cases import common_loops
from rules.tpu import flow, kit
from rules.tpu.flow import Instance, Use
from rules.tpu.recurring import divisors
from verifier.hardware.chips import Chip
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.lanes import LocalTensor
from verifier.symbolic.memory.known import MOST_TURNS, Known
from verifier.symbolic.tensors import Loop

#: iterations back in which the write that a read is about is looked for, at least: pipelines of
#: three stages
_AGES: Final = 2


class Source(Struct, frozen=True):
    """The write whose data a read is about: where it is, and how many iterations ago of a loop."""

    write: Instance
    #: how many outer loops the two share, and the age in the innermost of them
    depth: int
    age: int
    #: the loop before that has put it there, and its index then
    filled: Loop | None = None
    index: Expr | None = None


def held(use: Use, put: E.Substitution, conditions: set[int]) -> bool:
    return all(id(put.bool(fact)) in conditions for fact in use.path)


#: how a write's tensor has to lie with respect to what is read
Fit = Callable[[Chip, LocalTensor, LocalTensor], bool]


def source_of(
    chip: Chip, read: Use, writes: Sequence[Use], fits: Fit = kit.holds_all
) -> Source | None:
    """The last write before a read that certainly holds all that is read, as far as folding tells.

    It is in the same iteration, or a few iterations ago of a loop around both, or in a loop before
    the read, in the iteration that comes to its place.
    """
    conditions = {id(fact) for fact in read.path} | {id(E.TRUE)}
    for write in reversed(writes):
        depth = len(write.loops)
        if write.order >= read.order or common_loops(write.loops, read.loops) != depth:
            continue
        nowhere = E.Substitution({})
        if held(write, nowhere, conditions) and fits(chip, write.tensor, read.tensor):
            return Source(Instance(write, write.tensor, ()), depth, 0)
    for depth in range(len(read.loops), 0, -1):
        for age in _ages(read, read.loops[depth - 1]):
            put = flow.back(read.loops, depth - 1, age)
            for write in reversed(writes):
                if len(write.loops) != depth or common_loops(write.loops, read.loops) != depth:
                    continue
                found = flow.at(write, put)
                if found is not None and fits(chip, found.tensor, read.tensor):
                    return Source(found, depth, age)
    for write in reversed(writes):
        depth = common_loops(write.loops, read.loops)
        if write.order >= read.order or len(write.loops) != depth + 1:
            continue
        loop = write.loops[depth]
        index = _filled(loop, write.tensor.address, read.tensor.address)
        if index is None:
            continue
        found = flow.at(write, E.Substitution({loop.symbol: index}))
        if found is not None and fits(chip, found.tensor, read.tensor):
            return Source(found, depth, 0, loop, index)
    return None


def _ages(read: Use, loop: Loop) -> range:
    """How many iterations ago of a loop the source of a read is looked for."""
    turns = lcm(*divisors(read.tensor.address, loop.symbol))
    return range(1, max(_AGES, min(turns, MOST_TURNS)) + 1)


def _filled(loop: Loop, filled: Expr, wanted: Expr) -> Expr | None:
    """The last iteration of a loop that comes to an address, if there is one."""
    if loop.symbol not in filled.free():
        return loop.trips - 1
    start = E.Substitution({loop.symbol: E.const(0)}).expr(filled)
    step = E.Substitution({loop.symbol: E.const(1)}).expr(filled) - start
    if filled is not start + step * loop.index:
        return None
    index, rest = kit.divided(wanted - start, step)
    return index if rest is E.const(0) else None


def possible(chip: Chip, read: Use, writes: Sequence[Use]) -> Iterator[Source]:
    """The writes in the iteration of a read that may hold all that is read, and that none later
    does; that is one of its facts. Behind those of which one surely holds it there are no more."""
    conditions = {id(fact) for fact in read.path} | {id(E.TRUE)}
    known = Known(read.path, read.loops)
    nothing: Bool = E.TRUE
    for write in reversed(writes):
        depth = len(write.loops)
        if write.order >= read.order or common_loops(write.loops, read.loops) != depth:
            continue
        if not held(write, E.Substitution({}), conditions):
            continue
        holds = kit.holds(chip, write.tensor, read.tensor)
        last = E.and_(holds, nothing)
        if last is not E.FALSE:
            yield Source(Instance(write, write.tensor, (last,)), depth, 0)
        nothing = E.and_(nothing, E.not_(holds))
        if nothing is E.FALSE or known.decide_in_turn(E.not_(nothing)) is True:
            return


__all__ = ["Source", "held", "possible", "source_of"]
