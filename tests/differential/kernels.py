"""A kernel as it is drawn: its text, and the inputs it is run with."""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import ClassVar, TypeAlias

from verifier.dialects.names import OKK, PPL
from verifier.dialects.signature import Parameter, Signature
from verifier.executor.running import Shaped
from verifier.hardware.catalogue import Hardware
from verifier.hardware.memories import Buffer
from verifier.symbolic import expr as E
from verifier.symbolic.instruction import Instruction

#: sizes of a kernel that are inputs of their own, at most
_NAMED_SIZES = 2

#: extents of one axis
Shape: TypeAlias = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Form:
    """How a file begins; what is said of a parameter that is a tensor, and of one that is none."""

    head: tuple[str, ...]
    tensor: str = ""
    number: str = ""


_NKI = _Form(
    (
        "import numpy as np",
        "import nki",
        "import nki.isa as nisa",
        "import nki.language as nl",
        "import nki.collectives as ncc",
        "",
        "",
        "@nki.jit",
    )
)
_FORMS = {
    "beta1": _Form(
        (
            "import numpy as np",
            "import neuronxcc.nki as nki",
            "import neuronxcc.nki.isa as nisa",
            "import neuronxcc.nki.language as nl",
            "import neuronxcc.nki.collectives as ncc",
            "",
            "",
            "@nki.jit",
        )
    ),
    OKK: _Form(("import okk", "", "", "@okk.kernel"), ": okk.SystemAddr", ": int"),
    PPL: _Form(
        ("import ppl", "import ppl.language as pl", "", "", "@ppl.jit"), number=": pl.constexpr"
    ),
}


@dataclass(frozen=True, slots=True)
class Kernel:
    """One kernel, a statement to a line; ``inputs`` are its parameters: tensors and numbers.

    ``subjects`` are the canonical names of the instructions that it was drawn for.
    """

    api: str
    target: str
    body: tuple[str, ...]
    inputs: tuple[tuple[str, Shaped | int], ...]
    grid: tuple[int, ...] = ()
    subjects: tuple[str, ...] = ()
    #: whether its text speaks of sizes by name, so that it is a kernel for any sizes
    symbolic: bool = False

    @property
    def tensors(self) -> dict[str, Shaped]:
        """The inputs that are tensors."""
        return {name: given for name, given in self.inputs if isinstance(given, Shaped)}

    @property
    def text(self) -> str:
        """The file."""
        form = _FORMS.get(self.api, _NKI)
        parameters = ", ".join(
            f"{name}{form.tensor if isinstance(given, Shaped) else form.number}"
            for name, given in self.inputs
        )
        lines = [*form.head, f"def kernel({parameters}):"]
        return "\n".join([*lines, *(f"    {line}" for line in self.body), ""])

    @property
    def contract(self) -> str:
        """The inputs that it is run with, and no others."""
        grid = f"[{', '.join(map(str, self.grid))}]" if self.grid else ""
        sizes = (f"{name}: {_said(given)}" for name, given in self.inputs)
        return f"kernel{grid}({', '.join(sizes)})"


def _said(given: Shaped | int) -> str:
    if isinstance(given, int):
        return str(given)
    return f"{given.dtype}[{', '.join(map(str, given.shape))}]"


@dataclass(frozen=True, slots=True)
class Tile:
    """What an operand is drawn as: the text that names it. ``shape`` empty: it is not known.

    ``layout``: the arguments by which a tensor is written and read that has only an address.
    """

    text: str
    buffer: str
    dtype: str
    shape: Shape
    layout: str = ""


@dataclass(frozen=True, slots=True)
class Plain:
    """An argument as it is written, and as a description reads it."""

    text: str
    value: object


def number(value: float | bool) -> Plain:
    return Plain(repr(value), E.const(value) if type(value) is int else value)


@dataclass(slots=True)
class Text(ABC):
    """The body of a kernel while it is written; what it says is a matter of its dialect."""

    rng: random.Random
    api: str
    #: how often something is drawn that does not fit
    boldness: float = 0.0
    #: how often a size is a name and not a number
    naming: float = 0.0
    lines: list[str] = field(default_factory=list)
    inputs: dict[str, Shaped | int] = field(default_factory=dict)
    #: extents by the names that stand for them
    sizes: dict[int, str] = field(default_factory=dict)
    #: tensors that are returned, and tiles that later instructions may take
    returned: list[str] = field(default_factory=list)
    tiles: list[Tile] = field(default_factory=list)
    #: those of the tiles that were written by what is drawn
    written: list[Tile] = field(default_factory=list)
    _count: int = 0

    #: element types that kernels name: the common ones more often
    dtypes: ClassVar[tuple[str, ...]]
    #: how often a kernel is one for any sizes
    named_often: ClassVar[float] = 0.2
    #: whether sizes are inputs of their own
    counted: ClassVar[bool] = False
    #: parameters whose names say what they are
    named: ClassVar[Mapping[str, Callable[[Text, Shape], Plain]]]
    #: where results are, of which nothing else is said
    home: ClassVar[Buffer]
    #: what loops go through
    ranges: ClassVar[tuple[str, ...]] = ("range",)
    #: names of all memories
    memories: ClassVar[tuple[str, ...]]
    #: names of those on the chip, which are lost when the kernel ends
    on_chip: ClassVar[tuple[str, ...]]

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
        few = self.counted and len(self.sizes) < _NAMED_SIZES
        if few and self.naming and extent > 1 and extent not in self.sizes:
            name = self.sizes[extent] = self.name("n")
            self.inputs[name] = extent
        known = self.sizes.get(extent)
        return known if known is not None and self.one(self.naming) else str(extent)

    def round(self, chance: float) -> str:
        """The head of a loop around a statement, or nothing."""
        if not self.one(chance):
            return ""
        count = self.rng.choice((1, 2, 3))
        return f"for {self.name('k')} in {self.rng.choice(self.ranges)}({count}): "

    # -- what a dialect says ----------------------------------------------------------------------

    @abstractmethod
    def extents(self) -> tuple[Shape, int]:
        """Extents that the operands of the kernel share, and one more."""

    @abstractmethod
    def call(self, instruction: Instruction, target: Hardware, shape: Shape, other: int) -> None:
        """Draw the operands of an instruction, and write its call."""

    @abstractmethod
    def stored(self, tile: Tile) -> None:
        """Bring a tile to where its numbers are seen."""

    def begun(self) -> None:  # noqa: B027
        """What is written before everything else."""

    def ended(self) -> None:  # noqa: B027
        """What is written behind everything else."""

    def masked(  # noqa: B027
        self,
        shapes: Mapping[str, Shape],
        tiles: Mapping[str, object],
        arguments: dict[str, str],
        signature: Signature,
    ) -> None:
        """At times, have a call leave out a part of its operands, where a dialect can say that."""

    def grid(self) -> tuple[int, ...]:
        """The grid that the kernel is launched on."""
        return ()

    # -- what is said of the operands of tiles ----------------------------------------------------

    def spoken(self, instruction: Instruction) -> str:
        """A function as kernels name it."""
        raise NotImplementedError

    def held(
        self, buffer: str, dtype: str, shape: Shape, *, read: bool, write: bool, layout: str = ""
    ) -> Tile:
        """An operand in a memory, with something in it if it is read."""
        raise NotImplementedError

    def typed(self, name: str) -> Plain:
        """An element type."""
        raise NotImplementedError

    def member(self, default: str) -> Plain | None:
        """A member of the enumeration that a default is of, or of another one."""
        raise NotImplementedError

    def signature(self, instruction: Instruction) -> Signature | None:
        """The parameters that an instruction has; None: it is written as an assignment."""
        raise NotImplementedError

    def anywhere(self, instruction: Instruction, role: str, written: bool) -> tuple[str, ...]:
        """The memories that an operand is in of which its description does not speak."""
        raise NotImplementedError

    def given(self, parameter: Parameter) -> bool:
        """Whether an argument is drawn for a parameter that has a default."""
        return self.one(0.3)
