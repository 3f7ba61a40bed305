"""Every target by name."""

from __future__ import annotations

from typing import Final, TypeAlias

from verifier.hardware import chips, targets
from verifier.hardware.chips import Chip
from verifier.hardware.targets import Target

#: what rules are judged on: a NeuronCore generation or a TPU
Hardware: TypeAlias = Target | Chip

#: names in the order of messages
NAMES: Final[tuple[str, ...]] = (*targets.TARGETS, *chips.CHIPS)


def find(name: str) -> Hardware | None:
    """The target of that name or alias."""
    return targets.find(name) or chips.find(name)
