"""What kernels of NKI say: tensors, calls, assignments."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tests.differential import contents
from tests.differential.calls import called
from tests.differential.kernels import Plain, Shape, Tile
from tests.differential.nki_tensors import Tensors
from verifier.dialects.nki import names
from verifier.dialects.nki.signatures import lookup
from verifier.dialects.nki.versions import GENERATIONS
from verifier.dialects.signature import Signature
from verifier.hardware.catalogue import Hardware
from verifier.symbolic.instruction import Instruction, Trait
from verifier.symbolic.tensors import DType
from verifier.symbolic.values import Enumerator

#: extents of the partition axis, and of the others; what lies at limits is drawn more seldom
_ROWS = (1, 2, 3, 4, 5, 8, 16, 16, 32, 32, 32, 64, 64, 96, 128, 128)
_COLUMNS = (1, 2, 3, 4, 4, 5, 6, 7, 8, 8, 8, 12, 16, 16, 24, 32, 32, 33, 64, 64, 96, 128, 128)
_LIMITS = (127, 129, 256, 511, 512, 513, 1024, 2048, 4096, 4097, 8193, 16385, 60000)

_MODULES = {"isa": "nisa", "language": "nl", "collectives": "ncc"}
_IN_PLACE = ("", "", "", "+", "-", "*", "/")


@dataclass(slots=True)
class NkiText(Tensors):
    """A kernel of NKI."""

    def extents(self) -> tuple[Shape, int]:
        rng = self.rng
        columns = rng.choice(_COLUMNS)
        shape: Shape = (rng.choice(_ROWS), columns)
        if self.slips(0.5):
            axis = rng.randrange(2)
            shape = tuple(rng.choice(_LIMITS) if k == axis else n for k, n in enumerate(shape))
        if self.one(0.12) and columns % 2 == 0:
            shape = (shape[0], columns // 2, 2)
        elif self.one(0.05):
            shape = (shape[0], rng.choice((1, 2, 3)), rng.choice((1, 3, 4)), 2)
        return shape, rng.choice(_COLUMNS)

    def call(self, instruction: Instruction, target: Hardware, shape: Shape, other: int) -> None:
        if instruction.signatures:
            called(self, instruction, target, shape, other)
        else:
            self._assigned(instruction, shape)

    def _assigned(self, instruction: Instruction, shape: Shape) -> None:
        """``tile[...] = value``, of a tile or of a number."""
        operator = self.rng.choice(_IN_PLACE)
        dtype, buffer = self.rng.choice(self.dtypes), self.rng.choice(("sbuf", "sbuf", "psum"))
        tile = self.held(buffer, dtype, shape, read=bool(operator), write=True)
        self.tiles.append(tile)
        self.written.append(tile)
        value = self.rng.choice(("0", "1.0", "2"))
        assert instruction.role("value") is not None
        if instruction.footprint.reads_of("value"):
            value = self.held("sbuf", dtype, shape, read=True, write=False).text
        place = tile.text if "[" in tile.text else f"{tile.text}[...]"
        self.add(f"{place} {operator}= {value}")

    def stored(self, tile: Tile) -> None:
        contents.stored(self, tile)

    def masked(
        self,
        shapes: Mapping[str, Shape],
        tiles: Mapping[str, object],
        arguments: dict[str, str],
        signature: Signature,
    ) -> None:
        """Beta 1: tiles by indices, of which a condition leaves out some."""
        shape = next((s for s in shapes.values() if len(s) == 2), ())
        if self.api != "beta1" or "mask" not in signature.names or not shape or not self.one(0.3):
            return
        rows, columns = self.name("i"), self.name("j")
        self.add(f"{rows} = nl.arange({self.size(shape[0])})[:, None]")
        self.add(f"{columns} = nl.arange({self.size(shape[1])})[None, :]")
        for name, tile in tiles.items():
            if isinstance(tile, Tile) and tile.shape == shape and tile.text.isidentifier():
                arguments[name] = f"{tile.text}[{rows}, {columns}]"
        parts = []
        for index, extent in ((rows, shape[0]), (columns, shape[1])):
            bound = self.rng.choice((1, max(1, extent // 2), max(1, extent - 1), extent))
            parts.append(f"({index} < {self.size(bound)})")
        arguments["mask"] = self.rng.choice((*parts, " & ".join(parts)))

    def ended(self) -> None:
        if self.returned:
            # a name that is assigned on one path only, or twice, is returned once
            self.add(f"return {', '.join(dict.fromkeys(self.returned))}")

    def grid(self) -> tuple[int, ...]:
        return (2,) if any("program_id" in line for line in self.lines) else ()

    def spoken(self, instruction: Instruction) -> str:
        module, _, name = instruction.name.rpartition(".")
        return f"{_MODULES[module]}.{name}"

    def held(
        self, buffer: str, dtype: str, shape: Shape, *, read: bool, write: bool, layout: str = ""
    ) -> Tile:
        return contents.held(self, buffer, dtype, shape, read=read, write=write)

    def typed(self, name: str) -> Plain:
        return Plain(f"nl.{name}", DType.named(name))

    def member(self, default: str) -> Plain | None:
        kind = default.partition(".")[0]
        if kind not in names.ENUMS:
            return None
        if self.slips(0.3):
            kind = self.rng.choice(sorted(names.ENUMS))
        name = self.rng.choice(sorted(names.ENUMS[kind]))
        return Plain(f"nisa.{kind}.{name}", Enumerator(kind, name))

    def signature(self, instruction: Instruction) -> Signature | None:
        found = lookup(instruction.name, self.api)
        if found is None and instruction.signatures:  # of another generation: it is an error there
            having = (lookup(instruction.name, api) for api in GENERATIONS)
            return next(each for each in having if each is not None)
        return found

    def anywhere(self, instruction: Instruction, role: str, written: bool) -> tuple[str, ...]:
        if Trait.COLLECTIVE in instruction.traits:
            return ("shared_hbm",) if written else ("hbm",)
        if Trait.DMA in instruction.traits:
            return ("sbuf", "shared_hbm" if written else "hbm")
        return ("sbuf", "sbuf", "sbuf", "psum")
