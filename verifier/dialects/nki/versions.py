"""The generations of NKI, oldest first."""

from __future__ import annotations

from typing import Final

GENERATIONS: Final[tuple[str, ...]] = ("beta1", "0.2", "0.3", "0.4", "0.5", "0.6")


def newer(generation: str, than: str) -> bool:
    """Whether ``generation`` is ``than`` or later."""
    return GENERATIONS.index(generation) >= GENERATIONS.index(than)


def said(generation: str) -> str:
    """A generation as messages say it."""
    return "NKI Beta 1" if generation == "beta1" else f"NKI {generation}"
