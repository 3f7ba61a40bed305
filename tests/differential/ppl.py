"""What kernels of PPL say: pointers, tensors, calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tests.differential import ppl_shapes
from tests.differential.calls import called
from tests.differential.kernels import Plain, Shape, Text, Tile, number
from tests.differential.plain import any_of, dtype, fraction, nested, written
from verifier.dialects.ppl import isa, names
from verifier.dialects.ppl.isa.shared import LAYOUTS
from verifier.dialects.signature import Parameter, Signature
from verifier.executor.running import Shaped
from verifier.hardware.catalogue import Hardware
from verifier.hardware.engines import Engine
from verifier.hardware.memories import Buffer
from verifier.symbolic.instruction import Instruction
from verifier.symbolic.tensors import DType

_BATCHES = (1, 1, 1, 2, 3)
_CHANNELS = (1, 2, 3, 5, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100, 130)
_HEIGHTS = (1, 1, 1, 2, 3, 4, 5, 7)
_WIDTHS = (1, 2, 3, 4, 7, 8, 16, 31, 32, 33, 64, 65, 100)
#: what does not fit into a lane, or into sixteen bits
_LIMITS = (0, 4096, 20000, 65535, 65536, 70000)

_DTYPES: Mapping[str, str] = {canonical: f"pl.{name}" for name, canonical in names.DTYPES.items()}
#: elements that pointers do not point at, or that runs hold no numbers of
_LOCAL_ONLY = frozenset({"int4", "uint4"})
_MODES: Mapping[str, str] = {layout: mode for mode, layout in LAYOUTS.items()}


def _window(text: Text, shape: Shape) -> Plain:
    sizes = [text.rng.randint(1, min(3, max(n, 1))) for n in shape[2:]]
    if text.slips():
        return nested(text.rng.choice(([3], [9, 9], [0, 1], [1, 1, 1])))
    return nested(sizes)


def _length(text: Text, shape: Shape) -> Plain:
    """How many of the elements are picked."""
    return number(text.rng.randint(1, max(1, min(9, shape[3]))))


_STEPS = any_of([1, 1], [1, 1], [1, 1], [2, 1], [1, 2], [2, 2], [3, 16])
_ROUND = written(*(f"pl.{name}" for name in names.ENUMS["round"]))

#: parameters whose names say what they are
_NAMED: Mapping[str, Callable[[Text, Shape], Plain]] = {
    "kernel": _window,
    "stride": _STEPS,
    "dilation": any_of([1, 1], [1, 1], [1, 1], [1, 1], [2, 1]),
    "padding": any_of([0, 0, 0, 0], [0, 0, 0, 0], [1, 1, 1, 1], [0, 1, 2, 0], [1, 1]),
    "ins": any_of([0, 0], [0, 0], [1, 0], [1, 2]),
    "oc": any_of(1, 3, 20, 33, 64, 65),
    "type": dtype,
    "out_dtype": dtype,
    "r_mode": _ROUND,
    "mode": _ROUND,
    "round_mode": _ROUND,
    "round": _ROUND,
    "dst_round_mode": _ROUND,
    "src_round_mode": _ROUND,
    "opcode": written(*(f"pl.{name}" for name in names.ENUMS["reduction"])),
    "psum": written(*(f"pl.{name}" for name in names.ENUMS["psum"])),
    "coeff_mode": written(*(f"pl.{name}" for name in names.ENUMS["coefficients"])),
    "shift": any_of(0, 1, -2, 3),
    "start": any_of(0, 1, 5),
    "step": any_of(1, 2),
    "num": _length,
    "K": _length,
    "C": any_of(0, 1),
    "end": any_of(1, 4),
    "dim": any_of(0, 1, 1, 1, 2, 3),
    "gsize": any_of(32, 64, 128, 16),
    "npu_num": any_of(0, 0, 16, 64, 65),
    "port_id": any_of(-1, 0),
    "const_val": fraction,
    "index_start_pos": any_of(0, 0, 1),
}


@dataclass(slots=True)
class PplText(Text):
    """A kernel of PPL."""

    dtypes = (
        *("float32", "float16", "bfloat16") * 4,
        *("int8", "uint8", "int16", "uint16", "int32", "uint32") * 2,
        *("float8_e4m3", "float8_e5m2", "int4", "uint4"),
    )
    named = _NAMED
    named_often = 0.06
    counted = True
    home = Buffer.LOCAL
    memories = ("local", "hbm", "l2")
    on_chip = ("local",)

    def extents(self) -> tuple[Shape, int]:
        rng = self.rng
        shape = [rng.choice(each) for each in (_BATCHES, _CHANNELS, _HEIGHTS, _WIDTHS)]
        if self.slips(0.5):
            shape[rng.randrange(4)] = rng.choice(_LIMITS)
        return tuple(shape), rng.choice(_WIDTHS)

    def call(self, instruction: Instruction, target: Hardware, shape: Shape, other: int) -> None:
        given_back = instruction.result is not None and self.one(0.3)
        first = self.signature(instruction).names[:1]
        left_out = first[0] if given_back else ""
        called(self, instruction, target, shape, other, left_out=left_out, fits=ppl_shapes.fit)

    def spoken(self, instruction: Instruction) -> str:
        name = instruction.name.removeprefix(isa.PREFIX)
        if isa.of_package(instruction.short) is instruction and self.one(0.2):
            name = instruction.short
        return f"pl.{name}"

    def signature(self, instruction: Instruction) -> Signature:
        return isa.signature(instruction)

    def typed(self, name: str) -> Plain:
        return Plain(_DTYPES[name], DType.named(name))

    def member(self, default: str) -> Plain | None:
        for members in names.ENUMS.values():
            if default in members:
                chosen = self.rng.choice(members)
                return Plain(f"pl.{chosen}", names.value(chosen))
        return None

    def given(self, parameter: Parameter) -> bool:
        # what the number of output channels is has to be said
        return self.one(0.9 if parameter.name == "oc" else 0.15)

    def anywhere(self, instruction: Instruction, role: str, written: bool) -> tuple[str, ...]:
        engine = instruction.engines.default
        return ("local",) if engine is Engine.TIU else ("local", "hbm", "hbm")

    # -- tensors ----------------------------------------------------------------------------------

    def sizes_of(self, extents: Sequence[int]) -> str:
        """A shape or an offset."""
        return f"[{', '.join(self.size(extent) for extent in extents)}]"

    def pointed(self, kind: str, dtype: str, shape: Shape) -> str:
        """A tensor in global memory: a pointer that is given a shape."""
        pointer, name = self.name(kind), self.name("g")
        self.inputs[pointer] = Shaped(dtype, shape)
        self.add(f"{name} = pl.gtensor({self.sizes_of(shape)}, pl.GLOBAL, {pointer})")
        return name

    def held(
        self, buffer: str, dtype: str, shape: Shape, *, read: bool, write: bool, layout: str = ""
    ) -> Tile:
        if len(shape) != 4 and buffer != "local":
            shape = (*shape, 1, 1, 1, 1)[:4]
        if buffer == "local":
            return self._local(dtype, shape, read=read, layout=layout)
        if dtype in _LOCAL_ONLY:
            dtype = "int8"
        if buffer == "l2":
            name = self.name("g")
            typed = _DTYPES[dtype]
            self.add(f"{name} = pl.gtensor({self.sizes_of(shape)}, pl.L2, None, {typed})")
            if read:
                self.add(f"pl.dma.zero({name})")
            return Tile(name, buffer, dtype, shape)
        return Tile(self.pointed("o" if write else "x", dtype, shape), "hbm", dtype, shape)

    def _local(self, dtype: str, shape: Shape, *, read: bool, layout: str) -> Tile:
        """A tensor in lanes: at times a block that is larger, or a part of a larger one."""
        name = self.name("t")
        if self.one(0.08) and not layout:
            layout = self.rng.choice(("aligned", "compact", "row-aligned"))
        if self.slips(0.3):
            layout = self.rng.choice(sorted(_MODES))
        mode = f", align_mode=pl.{_MODES[layout]}" if layout else ""
        text, block = name, shape
        if len(shape) == 4 and self.one(0.12):
            grown = tuple(n + self.rng.choice((0, 0, 1, 2)) for n in shape)
            block = grown if not self.slips() else shape[::-1]
        made = f"pl.make_tensor({self.sizes_of(block)}, {_DTYPES[dtype]}"
        if block == shape or len(shape) != 4:
            self.add(f"{name} = {made}{mode})")
        elif self.one(0.5):
            self.add(f"{name} = {made}, {self.sizes_of(shape)}{mode})")
        else:
            self.add(f"{name} = {made}{mode})")
            start = [self.rng.randint(0, max(0, b - n)) for b, n in zip(block, shape, strict=True)]
            text = self.name("v")
            self.add(f"{text} = {name}.sub_view({self.sizes_of(shape)}, {self.sizes_of(start)})")
        tile = Tile(text, "local", dtype, shape)
        if read or self.one(0.1):
            self._fill(tile)
        return tile

    def _fill(self, tile: Tile) -> None:
        """Write a tile: as a rule all of it, at times a part, or nothing."""
        if self.slips():
            if self.one(0.4):
                return
            part = self._part(tile)
            if part is not None:
                self._write(part)
                if self.one(0.7):
                    return
        if self.one(0.06) and self._in_rounds(tile):
            return
        if self.one(0.08) and len(tile.shape) == 4:
            halves = self._halves(tile)
            for half in halves:
                self._write(half)
            if halves:
                return
        self._write(tile)

    def _in_rounds(self, tile: Tile) -> bool:
        """Write a tensor part by part in a loop, at times in a trip less."""
        axis, count = self.rng.choice((0, 1, 2, 3)), self.rng.choice((2, 3, 4))
        if len(tile.shape) != 4 or tile.shape[axis] % count or tile.dtype in _LOCAL_ONLY:
            return False
        step, index = tile.shape[axis] // count, self.name("k")
        given = self.pointed("x", tile.dtype, tile.shape)
        shape = self.sizes_of([step if k == axis else n for k, n in enumerate(tile.shape)])
        start = ", ".join(f"{index} * {step}" if k == axis else "0" for k in range(4))
        part = f"sub_view({shape}, [{start}])"
        trips = count - 1 if self.slips() else count
        work = f"pl.dma.load({tile.text}.{part}, {given}.{part})"
        self.add(f"for {index} in range({trips}): {work}")
        return True

    def _sub(self, tile: Tile, axis: int, begin: int, end: int) -> Tile:
        shape = tuple(end - begin if k == axis else n for k, n in enumerate(tile.shape))
        start = [begin if k == axis else 0 for k in range(4)]
        text = f"{tile.text}.sub_view({self.sizes_of(shape)}, {self.sizes_of(start)})"
        return Tile(text, tile.buffer, tile.dtype, shape)

    def _part(self, tile: Tile) -> Tile | None:
        axis = self.rng.randrange(4)
        if len(tile.shape) != 4 or tile.shape[axis] < 2:
            return None
        extent = tile.shape[axis]
        return self._sub(tile, axis, 0, self.rng.choice((1, extent // 2, extent - 1)))

    def _halves(self, tile: Tile) -> list[Tile]:
        axis = self.rng.randrange(4)
        extent = tile.shape[axis]
        if extent < 2:
            return []
        parts = [self._sub(tile, axis, 0, extent // 2), self._sub(tile, axis, extent // 2, extent)]
        self.rng.shuffle(parts)
        return parts

    def _write(self, tile: Tile) -> None:
        if tile.dtype in _LOCAL_ONLY or len(tile.shape) != 4 or self.one(0.25):
            floating = tile.dtype in _LOCAL_ONLY or self.one(0.5)
            self.add(f"pl.tiu.zero({tile.text})" if floating else f"pl.tiu.fill({tile.text}, 1)")
            return
        self.add(f"pl.dma.load({tile.text}, {self.pointed('x', tile.dtype, tile.shape)})")

    def stored(self, tile: Tile) -> None:
        if tile.buffer not in self.on_chip or self.one(0.05):
            return
        if tile.dtype in _LOCAL_ONLY or len(tile.shape) != 4:
            return
        part = self._part(tile) if self.one(0.15) else None
        source = part if part is not None else tile
        shape = source.shape if not self.slips(0.3) else tile.shape
        self.add(f"pl.dma.store({self.pointed('o', tile.dtype, shape)}, {source.text})")
