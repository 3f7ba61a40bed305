"""Tensors of kernels of NKI, as they are written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tests.differential import nki_arguments
from tests.differential.kernels import Shape, Text
from verifier.executor.running import Shaped
from verifier.hardware import dtypes as dt
from verifier.hardware.memories import Buffer


@dataclass(slots=True)
class Tensors(Text):
    """The part of a kernel of NKI that makes tensors."""

    dtypes = (
        *("float32", "bfloat16", "float16") * 4,
        *("int32", "uint32", "uint8", "int8", "uint16", "int16", "float8_e4m3", "float8_e5m2") * 2,
        *(name for name, (_, k) in dt.DTYPES.items() if k in ("float", "int", "packed", "scale")),
    )
    named = nki_arguments.NAMED
    home = Buffer.SBUF
    memories = ("sbuf", "psum", "shared_hbm", "hbm")
    on_chip = ("sbuf", "psum")
    ranges = ("nl.affine_range", "nl.sequential_range", "nl.static_range", "range")

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
        shown = self.shape(shape, partition=buffer in self.on_chip)
        self.add(f"{name} = nl.ndarray({shown}, dtype=nl.{dtype}, buffer=nl.{buffer})")
        return name
