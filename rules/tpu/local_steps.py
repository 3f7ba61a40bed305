"""Operations on local memory one by one (:mod:`rules.memory.steps`), with their places."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence

from rules.memory.steps import Event, OffChip, Rounded, Step, said
from rules.tpu import kit
from rules.tpu.runs import meet
from verifier.hardware.chips import Chip
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool
from verifier.symbolic.instruction import Trait
from verifier.symbolic.lanes import LocalTensor, SystemTensor
from verifier.symbolic.memory.known import Known


class LocalSteps:
    """``stores``: the operations of which others than the kernel see something."""

    def __init__(self, chip: Chip, demands: Iterable[Bool], stores: set[int]) -> None:
        self.chip = chip
        self._stores = stores
        self._known = Known(demands)
        #: the tensors in rounds, each of them one object; and how two of them lie to each other
        self._placed: dict[tuple[object, ...], LocalTensor] = {}
        self._met: dict[tuple[int, int], bool] = {}
        self._filled: dict[tuple[int, int], bool] = {}

    def steps(self, events: Sequence[Event], rounded: Rounded) -> list[Step[LocalTensor]]:
        """Operations in turn, with the places that they come to then."""
        return [self._step(event, section) for event, section in _in_sections(events)]

    def _step(self, event: Event, section: int | None) -> Step[LocalTensor]:
        made = [(t, self._one(tensor)) for t, tensor in event.local(writes=True)]
        return Step(
            operation=event.operation,
            round=event.round,
            when=event.when,
            sure=event.sure,
            seen=id(event.operation) in self._stores,
            reads=tuple(self._one(tensor) for _, tensor in event.local(writes=False)),
            # (what a work tensor has held before, and is read after, is told otherwise)
            writes=tuple(tensor for touch, tensor in made if not touch.destroys),
            loads=tuple(map(off_chip, event.system(writes=False))),
            stores=tuple(map(off_chip, event.system(writes=True))),
            adds=any(touch.reads for touch, _ in made),
            said=said(event.operation, event.here),
            section=section,
        )

    def _one(self, tensor: LocalTensor) -> LocalTensor:
        terms = (tensor.address, *tensor.shape, *tensor.strides, tensor.lane, tensor.stride_lane)
        key = (*map(id, terms), id(tensor.dtype), tensor.layout, tensor.given)
        return self._placed.setdefault(key, tensor)

    def kind(self, place: LocalTensor) -> Hashable:
        """All of local memory is one."""
        return None

    def meet(self, one: LocalTensor, other: LocalTensor) -> bool:
        """Whether they may have a byte in common."""
        key = (id(one), id(other))
        if key not in self._met:
            self._met[key] = kit.same_place(one, other) or self._meet(one, other)
        return self._met[key]

    def _meet(self, one: LocalTensor, other: LocalTensor) -> bool:
        apart, ranges = kit.apart(self.chip, one, other)
        known = self._known.also(ranges, ()) if ranges else self._known
        return not (apart is E.TRUE or known.decide(apart) is True)

    def share(self, one: LocalTensor, other: LocalTensor) -> bool:
        """Whether they surely have a byte in common, as far as places tell."""
        if kit.holds_all(self.chip, one, other) or kit.holds_all(self.chip, other, one):
            return True
        return meet(self.chip, one, other) is True

    def fills(self, one: LocalTensor, other: LocalTensor) -> bool:
        """Whether the first one surely has all elements of the other one."""
        key = (id(one), id(other))
        if key not in self._filled:
            self._filled[key] = kit.fills_all(self.chip, one, other)
        return self._filled[key]

    def begin_alike(self, one: LocalTensor, other: LocalTensor) -> bool:
        """Whether their first elements are the same."""
        return one.address is other.address


def _in_sections(events: Iterable[Event]) -> Iterator[tuple[Event, int | None]]:
    """Each operation with the number of the parallel section that it is in; None: it is in none."""
    section, sections = None, 0
    for event in events:
        traits = event.operation.traits
        if Trait.STARTS_PARALLEL in traits:
            sections += 1
            section = sections
        elif Trait.ENDS_PARALLEL in traits:
            section = None
        yield event, section


def off_chip(tensor: SystemTensor) -> OffChip:
    begin, end = kit.system_block(tensor)
    where = (begin, *tensor.shape, *tensor.strides)
    return OffChip(tensor.address.storage, begin, end, where)


__all__ = ["LocalSteps", "off_chip"]
