"""Whole kernels: loops over blocks, rests, rings of buffers, sums, shares of cores, helpers.

Each is a text with holes. What fits into a hole is right, or wrong in a way that kernels are: of
most kernels one hole is filled wrongly. What is wrong need not matter for the sizes that are drawn.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from string import Formatter

from tests.differential.kernels import Kernel
from verifier.executor.running import Shaped

#: how often a kernel is one for any sizes, too: that takes much longer
_ANY = 0.35
#: how many holes are filled wrongly
_WRONG = (0, 0, 1, 1, 1, 1, 2)


@dataclass(frozen=True, slots=True)
class Hole:
    """What is written in one place: ``right``, or ``wrong``."""

    right: tuple[str, ...]
    wrong: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Whole:
    """A kernel: its text, what fits into its holes, the sizes it is run with, and its tensors.

    ``sizes``: by the names that tensors have their extents by; those in ``given`` are parameters.
    ``grids``: what it may be launched on.
    """

    name: str
    dialect: str
    apis: tuple[str, ...]
    targets: tuple[str, ...]
    text: str
    holes: Mapping[str, Hole]
    sizes: Mapping[str, tuple[int, ...]]
    tensors: Mapping[str, tuple[str, str]]
    given: tuple[str, ...] = ()
    grids: tuple[tuple[int, ...], ...] = field(default=((),))
    #: whether it is asked about any sizes, too, which takes longer, as do runs of many rounds
    symbolic: bool = True


def drawn(whole: Whole, rng: random.Random) -> Kernel:
    """A kernel of these."""
    wrong = set(rng.sample(sorted(whole.holes), min(rng.choice(_WRONG), len(whole.holes))))
    filled = {}
    for name, hole in whole.holes.items():
        choices = hole.wrong if name in wrong and hole.wrong else hole.right
        filled[name] = rng.choice(choices)
    sizes = {name: rng.choice(choices) for name, choices in whole.sizes.items()}
    inputs: dict[str, Shaped | int] = {}
    for name, (dtype, shape) in whole.tensors.items():
        extents = eval(f"({shape},)", {"__builtins__": {}}, sizes)
        inputs[name] = Shaped(dtype.format(**filled), tuple(extents))
    inputs |= {name: sizes[name] for name in whole.given}
    return Kernel(
        rng.choice(whole.apis),
        rng.choice(whole.targets),
        tuple(_lines(whole.text, filled)),
        tuple(inputs.items()),
        rng.choice(whole.grids),
        (whole.name,),
        symbolic=whole.symbolic and rng.random() < _ANY,
    )


def _lines(text: str, filled: Mapping[str, str]) -> Sequence[str]:
    """The text with its holes filled; what is several statements stands at one depth."""
    out: list[str] = []
    for line in text.strip().splitlines():
        indent = line[: len(line) - len(line.lstrip())]
        while any(name for _, name, _, _ in Formatter().parse(line)):
            line = line.format(**filled)
        out += [indent + part for part in line.strip().split(" ;; ")]
    return out


def hole(*right: str, wrong: Sequence[str] = ()) -> Hole:
    return Hole(right, tuple(wrong))


__all__ = ["Hole", "Whole", "drawn", "hole"]
