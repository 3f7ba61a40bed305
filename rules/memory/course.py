"""What is lost in one course of operations: a loop with some number of rounds, or all of a run.

What becomes of each result is followed (:mod:`rules.memory.fates`); here is which of those that
come to nothing are no mere surplus.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Final, Generic, TypeAlias, TypeVar

from rules.memory.fates import Fates, bits
from rules.memory.idle import Idle, WarmUp
from rules.memory.steps import Call
from verifier.symbolic.instruction import Trait
from verifier.symbolic.tensors import Loop
from verifier.symbolic.trace import Operation

PlaceT = TypeVar("PlaceT")

#: a call, however it was reached, and the loops around it: its operations under any condition
_Call: TypeAlias = tuple[Call, tuple[Loop, ...]]

#: sum up over what two operands have in common
_PRODUCTS: Final = frozenset({Trait.FIRST_PRODUCTS, Trait.SECOND_PRODUCTS})


def _call_of(op: Operation) -> _Call:
    return op.call, op.loops


def _is_behind(op: Operation, other: Operation) -> bool:
    """Whether an operation stands outside of the innermost loop around another one."""
    listed = {each.loop for each in op.rounds}
    return all(loop not in op.loops for loop in other.loops[-1:]) and all(
        each.loop not in listed for each in other.rounds[-1:]
    )


class Course(Generic[PlaceT]):
    """Operations one by one, each in a round of the loop that is looked at, or in none."""

    def __init__(self, fates: Fates[PlaceT]) -> None:
        self.fates = fates
        self._by_call: dict[_Call, int] = {}
        self._every: dict[Call, int] = {}
        for number, step in enumerate(fates.steps):
            call = _call_of(step.operation)
            self._by_call[call] = self._by_call.get(call, 0) | 1 << number
            self._every[call[0]] = self._every.get(call[0], 0) | 1 << number
        self._loads = self._other_parts()
        #: by step: those that may take something of it
        self._takers: list[list[int]] = [[] for _ in fates.steps]
        for number, taken in enumerate(fates.taken):
            for other in bits(taken):
                self._takers[other].append(number)
        #: calls that go on with what they have left in earlier rounds
        self.going_on = self._going_on()
        self._own: list[int] = []
        self._straight = 0

    @property
    def length(self) -> int:
        """How many rounds there are."""
        return len({step.round for step in self.fates.steps} - {None})

    def follow(self, sums: set[_Call]) -> None:
        """``sums``: the calls that go on with earlier rounds, if there are enough of them."""
        self.going_on = sums
        self._own = self._parts_of_their_own()
        self._straight = self._straight_to_a_store()

    def _steps(self, op: Operation) -> int:
        return self._by_call.get(_call_of(op), 0)

    def _round(self, number: int) -> int | None:
        return self.fates.steps[number].round

    def _rounds(self, steps: int) -> list[int]:
        return sorted({r for number in bits(steps) if (r := self._round(number)) is not None})

    def _call(self, number: int) -> _Call:
        return _call_of(self.fates.steps[number].operation)

    # -- loads and sums ----------------------------------------------------------------

    def _other_parts(self) -> int:
        """The loads that bring another part in each round."""
        out = 0
        for numbers in self._by_call.values():
            by_round: dict[int | None, set[tuple[object, ...]]] = {}
            for number in bits(numbers):
                part = self.fates.steps[number].part
                by_round.setdefault(self._round(number), set()).add(part)
            every = [part for parts in by_round.values() for part in parts]
            if () not in every and None not in by_round and len(every) == len(set(every)):
                out |= numbers
        return out

    def _going_on(self) -> set[_Call]:
        return {
            call
            for call, numbers in self._by_call.items()
            if any(self._goes_on(number, numbers) for number in bits(numbers))
        }

    def _goes_on(self, number: int, same: int) -> bool:
        """Whether it takes what its call has left in earlier rounds, or what another one has left
        there in its place, of other parts."""
        fates, mine = self.fates, self._round(number)
        if any(self._round(before) != mine for before in bits(fates.made_of[number] & same)):
            return True
        parts = self._rounds(fates.made_of[number] & self._loads)
        return len(parts) > 1 and any(
            self._round(before) not in (mine, None) and fates.in_one_place(before, number)
            for before in bits(fates.surely[number])
        )

    def _parts_of_their_own(self) -> list[int]:
        """By step: the loads of parts that it makes something of, not only by way of what goes on
        from round to round, while its call does not in other rounds."""
        found: list[int] = []
        for number, step in enumerate(self.fates.steps):
            parts = self._loads & 1 << number
            for other in bits(self.fates.surely[number] & (1 << number) - 1):
                parts |= found[other]
            found.append(0 if _call_of(step.operation) in self.going_on else parts)
        for numbers in self._by_call.values():
            by_round: dict[int | None, int] = {}
            for number in bits(numbers):
                by_round[self._round(number)] = by_round.get(self._round(number), 0) | found[number]
            once = several = 0
            for parts in by_round.values():
                several |= once & parts
                once |= parts
            for number in bits(numbers):
                found[number] &= ~several
        return found

    def _straight_to_a_store(self) -> int:
        """What comes to those who see it not only by way of what goes on from round to round."""
        out = 0
        for number in reversed(range(len(self.fates.steps))):
            step = self.fates.steps[number]
            goes_on = _call_of(step.operation) in self.going_on
            if self.fates.is_seen(number) or (out >> number & 1 and not goes_on):
                out |= self.fates.taken[number] | 1 << number
        return out

    # -- of which rounds something comes to a store ---------------------------------------

    def reached(self, op: Operation) -> list[int]:
        """The rounds of which something comes to those who see it."""
        return self._rounds(self._steps(op) & self.fates.reached)

    def all(self, op: Operation) -> list[int]:
        """The rounds that it is in."""
        return self._rounds(self._steps(op))

    def own(self, op: Operation, rounds: Sequence[int]) -> int | None:
        """A result of some rounds that nothing takes, if each of theirs is of its own, and no more
        than one of several that are made of a part."""
        found = [n for n in bits(self._steps(op)) if self._round(n) in rounds]
        if not all(self._own[number] and self.fates.steps[number].sure for number in found):
            return None
        if not self._adds(op) and all(map(self._is_one_of_several, found)):
            return None
        return next((number for number in found if not self._is_taken(number)), None)

    def _is_one_of_several(self, number: int) -> bool:
        """Whether something else is made of all parts of its own."""
        parts = self._own[number]
        return bool(parts) and not parts & ~self._straight

    def is_picked(self, op: Operation) -> bool:
        """Whether something in the loop that is done in some of its rounds only takes the results
        that come to something, which are no sums."""
        mine = self._steps(op)
        made = mine & self.fates.reached
        takes = [
            n for n, found in enumerate(self.fates.taken) if found & made and not mine >> n & 1
        ]
        calls = {self._call(n) for n in takes if self._round(n) is not None}
        few = any(len(self._rounds(self._by_call[c])) < len(self.all(op)) for c in calls)
        return few and not self._adds(op) and not self._is_part_of_a_sum(op)

    def _adds(self, op: Operation) -> bool:
        """Whether it adds to what it finds in its place, or to a constant."""
        steps = self.fates.steps
        return any(steps[number].adds for number in bits(self._steps(op))) or any(
            not (steps[before].reads or steps[before].part) and self._round(before) is not None
            for number in bits(self._steps(op))
            for before in bits(self.fates.surely[number])
        )

    def _is_part_of_a_sum(self, op: Operation) -> bool:
        """Whether it multiplies parts of what two operands have in common: both are others in each
        round."""
        if op.traits.isdisjoint(_PRODUCTS):
            return False
        return all(
            (self.fates.surely[number] & self._loads).bit_count() > 1
            for number in bits(self._steps(op))
        )

    def _is_taken(self, number: int) -> bool:
        return bool(self._takers[number])

    # -- what comes to nothing at all -----------------------------------------------------

    def is_for_nothing(self, op: Operation) -> bool:
        """Whether nothing comes of any result of a call, wherever it stands in loops."""
        return not self._every.get(op.call, 0) & self.fates.reached

    @property
    def useful(self) -> list[Operation]:
        """The operations of which something comes to those who see it."""
        return [self.fates.steps[number].operation for number in bits(self.fates.reached)]

    def is_done(self, op: Operation) -> bool:
        return op.call in self._every

    def is_filled(self, op: Operation) -> bool:
        """Whether something takes the place of each result of a call."""
        return all(number in self.fates.filled for number in bits(self._every.get(op.call, 0)))

    def is_read(self, op: Operation) -> bool:
        """Whether other calls take something of it."""
        mine = self._every.get(op.call, 0)
        return any(
            taken & mine and not mine >> number & 1 for number, taken in enumerate(self.fates.taken)
        )

    # -- sums ---------------------------------------------------------------------------

    def begun_anew(self, op: Operation) -> int | None:
        """What begins a sum, or goes on with one, of which nothing comes to anything, and that is
        overwritten."""
        fates = self.fates
        sums = self._sums_of_rounds
        for number in bits(self._steps(op)):
            again = fates.filled.get(number)
            if (
                again is not None
                and self._round(number) is not None
                and fates.steps[number].sure
                and fates.is_lost(number)
                and not self._is_taken(number)
                and not fates.behind[again] >> number & 1
                and fates.made_of[number] & self._loads
                and any(fates.in_one_place(number, other) for other in bits(sums))
                and not any(
                    fates.in_one_place(number, other)
                    for other in bits(fates.behind[number] & fates.reached)
                )
            ):
                return number
        return None

    @cached_property
    def _sums_of_rounds(self) -> int:
        """The steps of calls that go on with earlier rounds, or with what those before the round
        have left in the very place that they write: of few rounds no more shows."""
        fates = self.fates
        found = sum(numbers for call, numbers in self._by_call.items() if call in self.going_on)
        for number, step in enumerate(fates.steps):
            inside = step.reads[: len(step.reads) - step.off]
            if any(fates.is_filled_by(read, step) for read in inside):
                own = (
                    n for n in bits(fates.taken[number]) if self._round(n) == self._round(number)
                )
                if not any(fates.in_one_place(before, number) for before in own):
                    found |= 1 << number
        return found

    def unstored(self, op: Operation) -> int | None:
        """The last addition to a sum in a place of which nothing is stored, while something is of
        the sums in others; all parts in it are loaded for it alone."""
        if _call_of(op) not in self.going_on or not self._steps(op) & self.fates.reached:
            return None
        left = self._steps(op)
        while left:
            first = next(bits(left))
            place = sum(1 << n for n in bits(left) if self.fates.in_one_place(first, n))
            left &= ~place
            last = place.bit_length() - 1
            parts = self.fates.made_of[last] & self._loads
            if not place & self.fates.reached and parts and not parts & self.fates.reached:
                if all(self.fates.steps[n].sure for n in bits(place)):
                    return last
        return None

    def added_last(self, op: Operation) -> tuple[int, int] | None:
        """The last step of a call that goes on with a sum when that was stored for the last time,
        and what has loaded the part that is missing in it."""
        fates = self.fates
        mine = self._every.get(op.call, 0)
        if not mine:
            return None
        last = mine.bit_length() - 1
        step = fates.steps[last]
        chain = mine & fates.made_of[last] & fates.reached
        if not step.sure or not fates.is_lost(last) or not chain:
            return None
        used = {fates.steps[n].part for n in bits(fates.reached)}
        missing = [
            n
            for n in bits(fates.made_of[last] & ~fates.reached)
            if fates.steps[n].part and fates.steps[n].part not in used
        ]
        if not missing or not self._is_stored_in_one_place(chain, last):
            return None
        return last, missing[-1]

    def added_behind(self, op: Operation) -> list[int]:
        """The first steps of a call that go on with sums behind what is taken of them, if of each
        sum in a place, one after the other, something is taken once at most."""
        late: list[int] = []
        for chain in self._chains(op):
            ends = [n for n in chain if self._is_taken_elsewhere(n, chain)]
            if len(ends) > 1:
                return []
            mine = [n for n in chain if ends and n > ends[0] and self._steps(op) >> n & 1]
            if mine and self.fates.made_of[ends[0]] & self._loads and self._adds_a_part(mine[0]):
                late.append(mine[0])
        return late

    def _adds_a_part(self, number: int) -> bool:
        """Whether a step that is lost makes something of a part that nothing else is made of."""
        fates = self.fates
        parts = fates.surely[number] & self._loads
        lost = fates.steps[number].sure and fates.is_lost(number)
        return lost and bool(parts) and not parts & fates.reached

    def _is_taken_elsewhere(self, number: int, chain: Sequence[int]) -> bool:
        return any(taker not in chain for taker in self._takers[number])

    def _chains(self, op: Operation) -> Iterator[list[int]]:
        """The sums that a call has a part in."""
        mine = self._steps(op)
        yield from (chain for chain in self._sums if any(mine >> n & 1 for n in chain))

    @cached_property
    def _sums(self) -> list[list[int]]:
        """The steps that go on with what the one before has left, in its place, of each sum."""
        chains: dict[int, list[int]] = {}
        for number, sources in enumerate(self.fates.sources):
            before = [
                n for n in sources if n is not None and self.fates.in_the_same_place(n, number)
            ]
            chain = chains.pop(before[0], []) if before else []
            chain.append(number)
            chains[number] = chain
        return [*chains.values()]

    def _is_stored_in_one_place(self, results: int, last: int) -> bool:
        """Whether each call that takes what is made of some results comes to one place, whatever it
        takes; but for what leads to ``last``."""
        fates = self.fates
        mine = fates.steps[last].operation.call
        calls = {
            step.operation.call
            for number, step in enumerate(fates.steps)
            if fates.behind[number] & results and fates.reached >> number & 1
            if number != last and not fates.behind[last] >> number & 1
        }
        first: dict[Call, int] = {}
        for number, step in enumerate(fates.steps):
            call = step.operation.call
            if call in calls and call != mine:
                if not fates.in_the_same_place(first.setdefault(call, number), number):
                    return False
        return True

    # -- parts that are left out ------------------------------------------------------------

    def replaced(self, op: Operation) -> int | None:
        """What a load before the loop has left, and another one of the loop fills again: in some
        rounds only, or though nothing behind the loop would find it if there were no rounds."""
        steps, fates = self.fates.steps, self.fates
        for number in bits(self._steps(op)):
            again = fates.filled.get(number)
            if again is None or self._round(number) is not None or self._is_taken(number):
                continue
            step, other = steps[number], steps[again]
            behind = (each for each in steps[again:] if each.round is None)
            meant = not other.operation.path and any(fates.finds(each, step) for each in behind)
            loads = step.part and other.part and step.part != other.part
            if loads and other.round is not None and not meant:
                return number
        return None

    def left_out(self, op: Operation) -> int | None:
        """The results of a round, or a load, of which nothing comes to a store, while something is
        taken of as many as its call, or calls of the same tensor, have left: of some twice."""
        mine = self._steps(op)
        by_round: dict[int, int] = {}
        for number in bits(mine):
            if (round_ := self._round(number)) is not None:
                by_round[round_] = by_round.get(round_, 0) | 1 << number
        taken = self._taken_once([*by_round.values()])
        brought: dict[object, int | None] = {}
        for number in bits(mine & ~self.fates.reached if self.fates.is_clear else 0):
            part = self.fates.steps[number].part
            tensor = part[0] if part else None
            if tensor not in brought:
                same = [n for n, step in enumerate(self.fates.steps) if part[:1] == step.part[:1]]
                same = same if part else []
                if len({self.fates.steps[n].part for n in same}) < len(same):
                    return None  # some part is loaded twice
                brought[tensor] = self._taken_once([1 << n for n in same])
            for found in (taken, brought[tensor]):
                if found is not None and not found >> number & 1:
                    return number
        return None

    def _taken_once(self, groups: Sequence[int]) -> int | None:
        """The groups of steps that are taken, if they are as often as there are groups, always by
        the same function."""
        group_of = {number: group for group in groups for number in bits(group)}
        times, taken = 0, 0
        names: set[str] = set()
        for number, sources in enumerate(self.fates.sources):
            for source in sources if number not in group_of else ():
                if source is not None and source in group_of:
                    times += 1
                    taken |= group_of[source]
                    names.add(self.fates.steps[number].operation.name)
        sure = all(self.fates.steps[n].sure for n in group_of)
        return taken if sure and len(names) == 1 and times == len(groups) > 1 else None

    def idle(self, op: Operation) -> WarmUp | None:
        """What it loads in rounds of which nothing comes (:mod:`rules.memory.idle`)."""
        return next((each for each in self._idle if self._steps(op) >> each.load & 1), None)

    @cached_property
    def _idle(self) -> list[WarmUp]:
        return [*Idle(self.fates).lost()]

    def unused(self, op: Operation, *, in_full: bool) -> int | None:
        """A part that nothing takes, and nothing overwrites, while something behind the rounds
        takes most of the same call one by one, one as often as the other, and nothing within does;
        ``in_full``: all loops have as many rounds as they ever have, so that one behind these may
        be what takes them."""
        mine, fates = self._steps(op), self.fates
        takers = [n for n, found in enumerate(fates.taken) if found & mine and not mine >> n & 1]
        whole = all(fates.taken[n] & mine == mine & self._sources(n) for n in takers)
        within = any(
            self._round(n) is not None
            and not (in_full and _is_behind(fates.steps[n].operation, op))
            for n in takers
        )
        taken = [len(self._takers[n]) for n in bits(mine) if self._is_taken(n)]
        left = [n for n in bits(mine & ~fates.left) if self._is_untouched(n)]
        if within or not whole or len(set(taken)) != 1 or not mine & fates.reached:
            return None
        return left[0] if 0 < len(left) < len(taken) else None

    def _is_untouched(self, number: int) -> bool:
        """Whether a part surely was loaded, once only, is there still, and nothing takes it."""
        step, fates = self.fates.steps[number], self.fates
        there = step.sure and not self._is_taken(number) and number not in fates.filled
        return there and bool(step.part) and sum(s.part == step.part for s in fates.steps) == 1

    def _sources(self, number: int) -> int:
        """The steps that have left just what it reads."""
        found = {source for source in self.fates.sources[number] if source is not None}
        return sum(1 << source for source in found)


__all__ = ["Course"]
