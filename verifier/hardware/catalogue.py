"""Every target by name, and which dialects it runs."""

from __future__ import annotations

from typing import Final, TypeAlias

from verifier.hardware import chips, targets
from verifier.hardware.chips import Chip
from verifier.hardware.targets import Target

#: what rules are judged on: a NeuronCore generation or a TPU
Hardware: TypeAlias = Target | Chip

#: names in the order of messages
NAMES: Final[tuple[str, ...]] = (*targets.TARGETS, *chips.CHIPS)

#: the target of a dialect when none is asked for
DEFAULTS: Final[dict[str, str]] = {"nki": targets.DEFAULT, "okk": "bm1684", "ppl": "bm1684x"}


def find(name: str) -> Hardware | None:
    """The target of that name or alias."""
    return targets.find(name) or chips.find(name)


def runs(hardware: Hardware, dialect: str) -> bool:
    """Whether kernels of the dialect run on it."""
    dialects = hardware.dialects if isinstance(hardware, Chip) else ("nki",)
    return dialect in dialects


def chosen(names: tuple[str, ...], dialect: str) -> tuple[Hardware, ...]:
    """The targets among ``names`` that run the dialect; its default if there is none."""
    found = [hardware for name in names if (hardware := find(name)) and runs(hardware, dialect)]
    if not found:
        default = find(DEFAULTS[dialect])
        assert default is not None
        found = [default]
    return tuple(found)
