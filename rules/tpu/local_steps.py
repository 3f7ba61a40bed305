"""Operations on local memory one by one (:mod:`rules.tpu.steps`), with the places they come to."""

from __future__ import annotations

from collections.abc import Sequence

from rules.tpu import kit
from rules.tpu.parts import Event, Follower
from rules.tpu.rounds import Rounded
from rules.tpu.steps import Step
from verifier.symbolic import expr as E
from verifier.symbolic.instruction import Trait
from verifier.symbolic.lanes import LocalTensor


class LocalSteps:
    """``stores``: the operations of which others than the kernel see something."""

    def __init__(self, follower: Follower, stores: set[int]) -> None:
        self._follower = follower
        self._stores = stores

    def steps(self, events: Sequence[Event], rounded: Rounded) -> list[Step[LocalTensor]]:
        """Operations in turn, with the places that they come to then."""
        out: list[Step[LocalTensor]] = []
        section, sections = None, 0
        for event in events:
            traits = kit.traits(event.operation)
            if Trait.STARTS_PARALLEL in traits:
                sections += 1
                section = sections
            elif Trait.ENDS_PARALLEL in traits:
                section = None
            out.append(self._step(event, section))
        return out

    def _step(self, event: Event, section: int | None) -> Step[LocalTensor]:
        part: tuple[E.Expr, ...] = ()
        for tensor in event.system(writes=False):
            part = (*part, tensor.address.offset, *tensor.shape, *tensor.strides)
        return Step(
            operation=event.operation,
            round=event.round,
            sure=event.sure,
            seen=id(event.operation) in self._stores,
            reads=tuple(tensor for _, tensor in event.local(writes=False)),
            writes=tuple(tensor for _, tensor in event.local(writes=True)),
            part=part,
            section=section,
        )

    def meet(self, one: LocalTensor, other: LocalTensor) -> bool:
        """Whether they may have a byte in common."""
        return self._follower.meet(one, other)

    def share(self, one: LocalTensor, other: LocalTensor) -> bool:
        """Whether they surely have a byte in common."""
        return self._follower.share(one, other)

    def fills(self, one: LocalTensor, other: LocalTensor) -> bool:
        """Whether the first one surely has all elements of the other one."""
        return self._follower.fills(one, other)


__all__ = ["LocalSteps"]
