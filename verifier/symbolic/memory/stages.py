"""The stages of a pipelined loop (PPL): iterations overlap, a stage of each at a time."""

from __future__ import annotations

from collections.abc import Collection
from enum import Enum

from verifier.hardware.engines import Engine


class Stage(Enum):
    """Which part of an iteration an operation belongs to."""

    LOADING = "loads"
    COMPUTING = "computes"
    STORING = "stores"


def stage_of(engine: Engine | None, *, writes: bool) -> Stage | None:
    """The stage of a use of a tensor: a transfer into it loads, and one out of it stores."""
    if engine is Engine.TIU:
        return Stage.COMPUTING
    if engine in (Engine.DMA, Engine.SDMA):
        return Stage.LOADING if writes else Stage.STORING
    return None


def crosses(stages: Collection[Stage | None]) -> bool:
    """Whether a tensor is handed from one stage to another, and so exists twice (PPL-B06)."""
    return len(frozenset(stages) - {None}) > 1


__all__ = ["Stage", "crosses", "stage_of"]
