"""A kernel as it is drawn: its text, and the inputs it is run with."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from verifier.executor.running import Shaped

#: extents of one axis
Shape: TypeAlias = tuple[int, ...]

_HEAD = {
    "beta1": (
        "import numpy as np",
        "import neuronxcc.nki as nki",
        "import neuronxcc.nki.isa as nisa",
        "import neuronxcc.nki.language as nl",
        "import neuronxcc.nki.collectives as ncc",
    ),
    "": (
        "import numpy as np",
        "import nki",
        "import nki.isa as nisa",
        "import nki.language as nl",
        "import nki.collectives as ncc",
    ),
}


@dataclass(frozen=True, slots=True)
class Kernel:
    """One kernel, a statement to a line; ``inputs`` are its tensors by parameter.

    ``subjects`` are the canonical names of the instructions that it was drawn for.
    """

    api: str
    target: str
    body: tuple[str, ...]
    inputs: tuple[tuple[str, Shaped], ...]
    grid: tuple[int, ...] = ()
    subjects: tuple[str, ...] = ()
    #: whether its text speaks of sizes by name, so that it is a kernel for any sizes
    symbolic: bool = False

    @property
    def text(self) -> str:
        """The file."""
        head = _HEAD.get(self.api, _HEAD[""])
        parameters = ", ".join(name for name, _ in self.inputs)
        lines = [*head, "", "", "@nki.jit", f"def kernel({parameters}):"]
        return "\n".join([*lines, *(f"    {line}" for line in self.body), ""])

    @property
    def contract(self) -> str:
        """The inputs that it is run with, and no others."""
        grid = f"[{', '.join(map(str, self.grid))}]" if self.grid else ""
        sizes = (f"{n}: {t.dtype}[{', '.join(map(str, t.shape))}]" for n, t in self.inputs)
        return f"kernel{grid}({', '.join(sizes)})"


@dataclass(frozen=True, slots=True)
class Tile:
    """What an operand is drawn as: the text that names it. ``shape`` empty: it is not known."""

    text: str
    buffer: str
    dtype: str
    shape: Shape


@dataclass(slots=True)
class Text:
    """The body of a kernel while it is written."""

    rng: random.Random
    api: str
    lines: list[str] = field(default_factory=list)
    inputs: dict[str, Shaped] = field(default_factory=dict)
    #: extents by the names that stand for them
    sizes: dict[int, str] = field(default_factory=dict)
    #: tensors that are returned, and tiles that later instructions may take
    returned: list[str] = field(default_factory=list)
    tiles: list[Tile] = field(default_factory=list)
    #: those of the tiles that were written by what is drawn
    written: list[Tile] = field(default_factory=list)
    #: how often something is drawn that does not fit
    boldness: float = 0.0
    #: how often a size is a name and not a number
    naming: float = 0.0
    _count: int = 0

    def slips(self, times: float = 1.0) -> bool:
        """Whether to draw what does not fit."""
        return self.rng.random() < self.boldness * times

    def one(self, chance: float) -> bool:
        return self.rng.random() < chance

    def name(self, kind: str) -> str:
        self._count += 1
        return f"{kind}{self._count}"

    def add(self, line: str) -> None:
        self.lines.append(line)

    def size(self, extent: int) -> str:
        """An extent as it is written."""
        known = self.sizes.get(extent)
        return known if known is not None and self.one(self.naming) else str(extent)

    def shape(self, extents: Sequence[int], partition: bool = False) -> str:
        """A shape as it is written; ``partition``: of a tile, with the axis that Beta 1 marks."""
        written = [self.size(extent) for extent in extents]
        if partition and self.api == "beta1" and written and not self.slips(0.2):
            written[0] = f"nl.par_dim({written[0]})"
        return f"({', '.join(written)}{',' if len(written) == 1 else ''})"

    def parameter(self, dtype: str, shape: Shape) -> str:
        """A tensor that is an input; its sizes are known by names from now on."""
        name = self.name("x")
        self.inputs[name] = Shaped(dtype, shape)
        fresh = [n for n in shape if n not in self.sizes]
        if self.naming and fresh and len(shape) == 2:
            rows, columns = f"m{self._count}", f"n{self._count}"
            self.add(f"{rows}, {columns} = {name}.shape")
            if fresh == list(shape) and self.one(0.8):
                self.add(f"assert {rows} <= {max(shape[0], 128)} and {columns} <= {shape[1]}")
            for extent, text in zip(shape, (rows, columns), strict=True):
                self.sizes.setdefault(extent, text)
        elif self.naming and self.one(0.9):
            self.add(f"assert {name}.shape == {self.shape(shape)}")
        if self.naming and self.one(0.9):
            self.add(f"assert {name}.dtype == nl.{dtype}")
        return name

    def allocated(self, buffer: str, dtype: str, shape: Shape) -> str:
        """A tensor that holds nothing yet."""
        name = self.name("t")
        on_chip = buffer in ("sbuf", "psum")
        shown = self.shape(shape, partition=on_chip)
        self.add(f"{name} = nl.ndarray({shown}, dtype=nl.{dtype}, buffer=nl.{buffer})")
        return name
