"""Operations on local memory one by one (:mod:`rules.tpu.steps`), with the places they come to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rules.tpu.parts import Event, Follower, in_sections
from rules.tpu.rounds import Rounded
from rules.tpu.steps import Step, said
from verifier.hardware.chips import Chip
from verifier.symbolic.expr import Bool
from verifier.symbolic.lanes import LocalTensor, SystemTensor


class LocalSteps(Follower):
    """``stores``: the operations of which others than the kernel see something."""

    def __init__(self, chip: Chip, demands: Iterable[Bool], stores: set[int]) -> None:
        super().__init__(chip, demands)
        self._stores = stores

    def steps(self, events: Sequence[Event], rounded: Rounded) -> list[Step[LocalTensor]]:
        """Operations in turn, with the places that they come to then."""
        return [self._placed(event, section) for event, section in in_sections(events)]

    def _placed(self, event: Event, section: int | None) -> Step[LocalTensor]:
        part: tuple[object, ...] = ()
        for tensor in event.system(writes=False):
            part += _where(tensor)
        made = list(event.local(writes=True))
        return Step(
            operation=event.operation,
            round=event.round,
            sure=event.sure,
            seen=id(event.operation) in self._stores,
            reads=tuple(tensor for _, tensor in event.local(writes=False)),
            # (what a work tensor has held before, and is read after, is told otherwise)
            writes=tuple(tensor for touch, tensor in made if not touch.destroys),
            part=part,
            adds=any(touch.reads for touch, _ in made),
            said=said(event.operation, event.here),
            stored=tuple(_where(tensor) for tensor in event.system(writes=True)),
            section=section,
        )


def _where(tensor: SystemTensor) -> tuple[object, ...]:
    return (
        id(tensor.address.storage),
        tensor.address.offset,
        *tensor.shape,
        *tensor.strides,
    )


__all__ = ["LocalSteps"]
