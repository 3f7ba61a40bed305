"""What kernels of OKK say: addresses, records, calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from tests.differential.kernels import Plain, Shape, Text, Tile, number
from tests.differential.okk_places import Lay, Placing
from tests.differential.plain import any_of, nested, within
from verifier.dialects.okk import isa
from verifier.dialects.okk.records import DIM2, DIM4, PADDING
from verifier.dialects.signature import Signature
from verifier.executor.running import Shaped
from verifier.hardware.catalogue import Hardware
from verifier.hardware.chips import Chip
from verifier.hardware.memories import Buffer
from verifier.symbolic import expr as E
from verifier.symbolic.instruction import Instruction
from verifier.symbolic.roles import Role, Takes
from verifier.symbolic.values import RecordType, RecordValue

_BATCHES = (1, 1, 1, 2, 3, 4, 5)
_CHANNELS = (1, 2, 3, 5, 16, 31, 33, 63, 64, 65, 100, 130)
_HEIGHTS = (1, 1, 1, 2, 3, 4, 5, 7)
_WIDTHS = (1, 2, 3, 4, 7, 8, 16, 31, 32, 33, 64, 65, 100)
#: what does not fit into a lane, or into a field of the instruction
_LIMITS = (0, 2047, 2048, 4095, 4096, 20000, 65535, 65536)
#: members of typed constants, with values
_CONSTANTS: Mapping[Takes, tuple[str, ...]] = {
    Takes.WORD: (
        "x32.fp32(1.5)",
        "x32.fp32(0.0)",
        "x32.s32(-1)",
        "x32.u32(7)",
        "x32.s8x4((1, 2, 3, 4))",
    ),
    Takes.HALF_WORD: ("x16.s16(-3)", "x16.u16(9)"),
    Takes.BYTE: ("x8.s8(-3)", "x8.u8(9)"),
}


def _columns(text: Text, shape: Shape) -> Plain:
    """Columns of a matrix in one channel."""
    return nested(text.rng.choice((16, 16, 32, shape[3])))


def _size(text: Text, shape: Shape) -> Plain:
    extent = text.rng.choice((1, 2, 5, 16, 33, 100, shape[3]))
    return Plain(text.size(extent), E.const(extent))


def _window(text: Text, shape: Shape) -> Plain:
    most = max(1, min(3, *shape[2:]))
    return nested(text.rng.randint(1, most) if not text.slips() else text.rng.choice((0, 12, 3)))


#: parameters whose names say what they are
_NAMED: Mapping[str, Callable[[Text, Shape], Plain]] = {
    "rows": _size,
    "cols": _size,
    "left_rows": _size,
    "left_cols": _size,
    "right_cols": _size,
    "cols_per_channel": _columns,
    "left_cols_per_channel": _columns,
    "right_cols_per_channel": _columns,
    "row_stride": any_of(100, 100, 128, 3),
    "kernel_h": _window,
    "kernel_w": _window,
    "output_c": any_of(1, 3, 33, 64, 65),
}


@dataclass(slots=True)
class OkkText(Text):
    """A kernel of OKK."""

    dtypes = ("float32",)
    named = _NAMED
    named_often = 0.06
    counted = True
    home = Buffer.LOCAL
    memories = ("local", "hbm")
    on_chip = ("local",)

    #: the first byte of a lane that nothing was put into yet
    free: int = 0
    #: how tensors lie by the text of their tile
    lays: dict[str, Lay] = field(default_factory=dict)
    #: whether a parallel section is open
    open: bool = False

    def begun(self) -> None:
        if not self.one(0.03):
            self.add("okk.initialize()")

    def ended(self) -> None:
        self._closed(0.9)
        if not self.one(0.05):
            self.add("okk.poll()")

    def _closed(self, chance: float) -> None:
        if self.open and self.one(chance):
            self.add("okk.parallel_end()")
            self.open = False

    def extents(self) -> tuple[Shape, int]:
        rng = self.rng
        shape = [rng.choice(each) for each in (_BATCHES, _CHANNELS, _HEIGHTS, _WIDTHS)]
        if self.slips(0.5):
            shape[rng.randrange(4)] = rng.choice(_LIMITS)
        return tuple(shape), rng.choice(_WIDTHS)

    def spoken(self, instruction: Instruction) -> str:
        return f"okk.{instruction.short}"

    def signature(self, instruction: Instruction) -> Signature:
        return isa.signature(instruction)

    # -- calls ------------------------------------------------------------------------------------

    def call(self, instruction: Instruction, target: Hardware, shape: Shape, other: int) -> None:
        assert isinstance(target, Chip)
        placing = Placing(instruction, target)
        arguments: dict[str, str] = {}
        # flags before the codes that depend on them, codes before the values that those bound
        plain = [role for role in instruction.roles if role.placed is None]
        plain.sort(key=lambda role: (role.takes is not Takes.FLAG, role.range_by is not None))
        for role in plain:
            found = self._plain(role, placing, shape)
            arguments[role.name] = found.text
            placing.give(role.name, found.value)
        for name in placing.stridden:
            strides = self._strides(placing, name)
            if strides is not None:
                arguments[name] = strides.text
                placing.give(name, strides.value)
        lane = self.rng.randrange(target.lanes) if self.one(0.12) else 0
        tiles: list[tuple[Role, Tile]] = []
        for role in instruction.roles:
            if role.placed is not None:
                text, tile = self._operand(role, placing, lane)
                arguments[role.parameter] = text
                tiles += [(role, tile)] if tile is not None else []
        self._written(instruction, arguments)
        footprint = instruction.footprint
        for role, tile in tiles:
            if tile.buffer in self.on_chip and not any(
                write.destroys for write in footprint.writes_of(role.name)
            ):
                self.tiles.append(tile)
                if footprint.writes_of(role.name):
                    self.written.append(tile)

    def _written(self, instruction: Instruction, arguments: dict[str, str]) -> None:
        """The call, in the order of C; at times the last arguments by name."""
        names = [name for name in self.signature(instruction).names if name in arguments]
        if self.slips(0.2) and names:
            del names[self.rng.randrange(len(names))]
        named = self.rng.randint(0, 2) if self.one(0.1) else 0
        split = len(names) - named
        parts = [arguments[name] for name in names[:split]]
        parts += [f"{name}={arguments[name]}" for name in names[split:]]
        self.add(f"{self.spoken(instruction)}({', '.join(parts)})")
        if instruction.short == "parallel_start":
            self.open = True
        elif instruction.short == "parallel_end":
            self.open = False

    def _plain(self, role: Role, placing: Placing, shape: Shape) -> Plain:
        """An argument that is no tensor."""
        rng, takes = self.rng, role.takes
        if role.optional and (takes is Takes.QUAD or self.one(0.5)):
            return Plain("None", None)
        if takes is Takes.QUAD:
            return self.record(DIM4, self._spoilt(shape))
        if takes is Takes.PAIR:
            steps = ((1, 1), (1, 1), (2, 1), (1, 2), (2, 2))
            return self.record(DIM2, rng.choice(((0, 1), (16, 1)) if self.slips() else steps))
        if takes is Takes.PADDING:
            pads = ((0, 0, 0, 0), (0, 0, 0, 0), (1, 1, 1, 1), (0, 1, 2, 0))
            return self.record(PADDING, (16, 0, 0, -1) if self.slips() else rng.choice(pads))
        if takes is Takes.FLAG:
            value = self.one(0.5)
            if not instruction_decides(role):
                value = True
            return Plain(repr(value), E.truth(value))
        if takes is Takes.NUMBER:
            return number(rng.choice((0.0, 1.0, -2.5, 3)))
        if takes in _CONSTANTS:
            return Plain(f"okk.{rng.choice(_CONSTANTS[takes])}", None)
        return self._integer(role, placing, shape)

    def _integer(self, role: Role, placing: Placing, shape: Shape) -> Plain:
        rng = self.rng
        if role.codes is not None and not self.slips():
            return nested(rng.choice(sorted(role.codes.admitted(placing.operation))))
        if role.range_by is not None:
            low, high = role.range_by.bounds(placing.number(role.range_by.role))
            return nested(rng.choice((low - 1, high + 1) if self.slips() else (low, 0, high)))
        if role.value is not None:
            return nested(within(self, role.value))
        known = self.named.get(role.name)
        return known(self, shape) if known is not None else nested(rng.choice((0, 1, 2, 31)))

    def _spoilt(self, shape: Shape) -> Shape:
        if not self.slips():
            return shape
        axis = self.rng.randrange(4)
        changed = self.rng.choice((0, shape[axis] + 1, shape[axis] * 2, -1))
        return tuple(changed if k == axis else n for k, n in enumerate(shape))

    def record(self, kind: RecordType, values: Shape) -> Plain:
        fields = tuple(E.const(value) for value in values)
        text = ", ".join(self.size(value) for value in values)
        return Plain(f"okk.{kind.name}({text})", RecordValue(kind, fields))

    # -- tensors ----------------------------------------------------------------------------------

    def _strides(self, placing: Placing, name: str) -> Plain | None:
        """Strides that a call gives: those of a layout, or of one element more; None: NULL."""
        if not self.one(0.2):
            return None
        lay = placing.lay(placing.stridden[name], 0)
        n, c, h, w = lay.strides
        if self.slips():
            return self.record(DIM4, self.rng.choice(((n, c, h, 0), (n, 0, h, w), (n, c, 1, w))))
        return self.record(DIM4, self.rng.choice(((n, c, h, w), (n + 32, c + 32, h, w))))

    def _operand(self, role: Role, placing: Placing, lane: int) -> tuple[str, Tile | None]:
        """The argument for a tensor, and the tensor; what is read is written before."""
        footprint = placing.instruction.footprint
        reads = bool(footprint.reads_of(role.name))
        writes = footprint.writes_of(role.name)
        if role.takes is Takes.CHOICE and self.one(0.4):
            word = role.placed is not None and role.placed.dtype != "float32"
            value = "okk.x32.fp32(1.0)" if word else "0.5"
            return f"okk.{'x32' if word else 'fp32'}_or_addr(value={value})", None
        if self.slips(0.1):
            return self.rng.choice(("None", "1.5", "okk.dim4(1, 1, 1, 1)")), None
        if role.takes is Takes.SYSTEM_ADDRESS:
            lay = placing.lay(role, 0)
            name = self._buffer("o" if writes else "x", lay)
            text = f"{name} + {lay.itemsize}" if self.slips() else name
            return text, Tile(text, "hbm", lay.dtype, lay.shape)
        if self.slips(0.5):
            lane = self.rng.randrange(placing.chip.lanes)
        lay = placing.lay(role, lane)
        tile = self._local(placing, lay, anew=bool(writes))
        adds = any(callable(w.effect) for w in writes) and self.one(0.6)
        if tile.text not in {known.text for known in self.tiles} and (reads or adds):
            self._fill(tile)
        if role.takes is not Takes.CHOICE:
            return tile.text, tile
        kind = "fp32_or_addr" if lay.dtype == "float32" else "x32_or_addr"
        return f"okk.{kind}(addr={tile.text})", tile

    def _buffer(self, kind: str, lay: Lay) -> str:
        """A parameter that is a buffer of the size that an operand needs."""
        name = self.name(kind)
        self.inputs[name] = Shaped(lay.dtype if lay.itemsize < 8 else "float32", lay.buffer)
        return name

    def _local(self, placing: Placing, lay: Lay, *, anew: bool) -> Tile:
        """A place in local memory: that of an earlier tensor, or one of its own."""
        known = [t for t in self.tiles if self.lays[t.text].same(lay)]
        if known and self.one(0.2 if anew else 0.6):
            return self.rng.choice(known)
        chip = placing.chip
        if self.free + lay.bytes > chip.local_bytes or self.slips(0.3):
            self.free = 0
        start = self.free + (self.rng.choice((2, 4, 64)) if self.slips(0.3) else 0)
        self.free = -(-(start + lay.bytes) // 128) * 128
        name = self.name("a")
        first = f"{lay.lane} * okk.local_mem_size_per_npu() + " if lay.lane else ""
        self.add(f"{name} = {first}{self.size(start)}")
        self.lays[name] = lay
        return Tile(name, "local", lay.dtype, lay.shape)

    def _fill(self, tile: Tile) -> None:
        """Write a tensor: as a rule all of it, at times a part, or nothing."""
        lay = self.lays[tile.text]
        if self.slips() and self.one(0.4):
            return
        if self.slips():
            axis = self.rng.randrange(4)
            lay = lay.cut(axis, max(1, lay.shape[axis] - 1))
        given = self._buffer("x", lay)
        self.add(
            f"okk.gdma_{lay.bits}bit_cpy_S2L({tile.text}, {given}, {self._dim(lay.words)}, "
            f"{self._said(lay)}, None)"
        )

    def _dim(self, shape: Shape) -> str:
        return self.record(DIM4, shape).text

    def _said(self, lay: Lay) -> str:
        """The strides of a tensor as a transfer is told them."""
        if lay.aligned and self.one(0.8):
            return "None"
        if lay.compact and self.one(0.5):
            return f"okk.compact_stride({lay.lane}, {self._dim(lay.words)})"
        return self._dim(lay.steps)

    def stored(self, tile: Tile) -> None:
        lay = self.lays[tile.text]
        self._closed(0.6)
        if lay.matrix and not self.slips():
            rows, columns, width = lay.matrix
            name = self.name("o")
            self.inputs[name] = Shaped("float32", (rows, columns))
            self.add(
                f"okk.gdma_32bit_matrix_L2S({name}, {tile.text}, {rows}, {columns}, {width}, "
                f"{columns})"
            )
            return
        if self.one(0.1):
            axis = self.rng.randrange(4)
            lay = lay.cut(axis, max(1, lay.shape[axis] // 2))
        out = self._buffer("o", lay)
        self.add(
            f"okk.gdma_{lay.bits}bit_cpy_L2S({out}, {tile.text}, {self._dim(lay.words)}, None, "
            f"{self._said(lay)})"
        )


def instruction_decides(role: Role) -> bool:
    """Whether a flag may have either value: an assertion holds."""
    return role.name != "assertion"
