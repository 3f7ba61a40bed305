"""A tensor in a layout, on plain numbers: its strides, where its elements lie, what it wastes."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from math import prod
from typing import Final, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from verifier.hardware import dtypes
from verifier.hardware.capabilities import Capability
from verifier.hardware.chips import Chip
from verifier.layouts import strides as formulas
from verifier.layouts.address import (
    Four,
    byte_of,
    ceildiv,
    channels_per_lane,
    element_offset,
    extent_bytes,
    free_strides,
    lane_of,
    lane_of_channel,
    steps,
)

#: an element's ``(n, c, h, w)``
Index: TypeAlias = "Four[int]"

#: layouts by name; ``gic`` also goes by the size of its group: ``64ic``, ``32ic``, ``16ic``
NAMES: Final = (
    "aligned",
    "compact",
    "row-aligned",
    "matrix",
    "vector",
    "4n",
    "2n",
    "2ic",
    "gic",
    "continuous",
    "free",
)

#: bytes of system memory that can be drawn: addresses have at most 40 bits
_SYSTEM_BYTES: Final = 2**40
#: elements up to which those of strides that may alias are counted one by one
_COUNTED: Final = 200_000


class LayoutError(ValueError):
    """What was asked for is no layout, or does not fit; the message is one line."""


class TooLargeError(LayoutError):
    """The tensor exceeds the memory."""


class Waste(Struct, frozen=True):
    """Bytes that the tensor takes in all lanes and that hold none of its elements.

    ``padding`` is beside elements of a feature, ``unused`` in slots without a channel; both are
    None for free strides, which do not say what lies between elements.
    """

    total: int
    allocated: int
    padding: int | None
    unused: int | None

    @property
    def percent(self) -> float:
        return round(100 * self.total / self.allocated, 1)


class Arrangement(Struct, frozen=True):
    """A tensor in memory.

    ``shape`` is what was asked for, ``tensor`` the same as ``(n, c, h, w)``, by which elements go;
    ``stored`` is the shape that ``strides`` are of, and ``unit`` the bytes of what they count (a
    word of four 8-bit elements in 4N-mode, say). ``cells`` and ``pitch`` are a shape and strides of
    units from which every place follows; they differ from ``stored`` and ``strides`` for groups of
    input channels only.
    """

    chip: Chip  # its lanes are those that take part; one lane without end is system memory
    system: bool
    layout: str
    dtype: str
    itemsize: int
    shape: tuple[int, ...]
    tensor: Index
    stored: Index
    strides: Index
    free: tuple[bool, bool, bool, bool]
    unit: int
    per_unit: int  # elements of a unit, along n
    cells: Index
    pitch: Index
    group: int  # input channels to a group; 0 where there are no groups
    columns: int  # of a matrix; 0 for other tensors
    start_lane: int
    offset: int

    @property
    def address(self) -> int:
        return self.start_lane * self.chip.local_bytes + self.offset

    @property
    def channels_per_lane(self) -> int:
        return channels_per_lane(self.chip.lanes, self.start_lane, self.stored[1])

    @property
    def elements(self) -> int:
        return prod(self.shape)

    @property
    def dummies(self) -> int:
        """Elements without a value that make up the last word, pair or group of channels."""
        if self.group:
            missing = formulas.dummies(self.tensor[0], self.group)
        else:
            missing = formulas.dummies(self.tensor[0], self.per_unit)
        return missing * prod(self.tensor[1:])

    @property
    def extent(self) -> int:
        """Bytes of a lane from the tensor's byte to behind its last element (ADR-08)."""
        return extent_bytes(self.chip, self.start_lane, self.cells, self.pitch, self.unit)

    @property
    def bytes_per_lane(self) -> int:
        """Bytes of each lane that are the tensor's: whole features, or for free strides the
        extent."""
        if self.layout == "free":
            return self.extent
        return self.cells[0] * self.pitch[0] * self.unit

    def place(self, index: Index) -> tuple[int, int]:
        """``(lane, byte within the lane)`` of an element."""
        n, c, h, w = index
        part = 0
        if self.group:
            cell = formulas.grouped_ic_index(self.group, self.tensor, index)
        else:
            n, part = divmod(n, self.per_unit)
            cell = (n, c, h, w)
        lanes = self.chip.lanes
        lane = lane_of_channel(lanes, self.start_lane, cell[1])
        units = element_offset(lanes, self.start_lane, self.pitch, cell)
        return lane, self.offset + units * self.unit + part * self.itemsize

    def held(self, cell: Index) -> tuple[Index | None, ...]:
        """The elements of a unit in the order of their bytes; None for a dummy."""
        n, c, h, w = cell
        if self.group:
            _, _, kh, kw = self.tensor
            group, row, column = h // (kh * kw), h // kw % kh, h % kw
            i = group * self.group + w
            return ((i, c, row, column) if i < self.tensor[0] else None,)
        first = n * self.per_unit
        return tuple(
            (i, c, h, w) if i < self.tensor[0] else None
            for i in range(first, first + self.per_unit)
        )

    def exists(self, cell: Index) -> bool:
        """Whether the unit is there: the last channel of a matrix may be narrower."""
        return not self.columns or cell[1] * self.stored[3] + cell[3] < self.columns

    def indices(self) -> Iterator[Index]:
        """Every element."""
        n, c, h, w = self.tensor
        for index in itertools.product(range(n), range(c), range(h), range(w)):
            if self.exists(index):
                yield index

    def slots(self, lane: int) -> range:
        """The slots of a lane that have a channel (ADR-06)."""
        first = 0 if lane >= self.start_lane else 1
        last = (self.start_lane + self.cells[1] - 1 - lane) // self.chip.lanes
        return range(first, last + 1)

    def channel(self, lane: int, slot: int) -> int:
        return slot * self.chip.lanes + lane - self.start_lane

    @property
    def distinct(self) -> int | None:
        """How many elements have a place of their own; None if that is too long to count."""
        places = steps(self.chip.lanes, self.start_lane, self.cells)
        end = 0  # of what the inner strides span
        for stride, count in sorted(zip(self.pitch, places, strict=True)):
            if count > 1:
                if stride <= end:
                    break
                end += stride * (count - 1)
        else:
            return self.elements
        if self.elements > _COUNTED:
            return None
        return len({self.place(index) for index in self.indices()})

    @property
    def waste(self) -> Waste | None:
        """None if elements may share places and are too many to count."""
        distinct = self.distinct
        if distinct is None:
            return None
        allocated = self.bytes_per_lane * self.chip.lanes
        total = allocated - distinct * self.itemsize
        if self.layout == "free":
            return Waste(total, allocated, None, None)
        empty = self.channels_per_lane * self.chip.lanes - self.cells[1]
        unused = empty * self.cells[0] * self.pitch[1] * self.unit
        return Waste(total, allocated, total - unused, unused)

    @property
    def also(self) -> tuple[str, ...]:
        """Layouts of which the strides are, too, don't-care strides apart (LAY-01, LAY-02)."""
        if self.system or self.group or self.layout == "2ic":
            return ()
        lanes, unit, start = self.chip.lanes, self.chip.eu_bytes, self.start_lane
        places = steps(lanes, start, self.stored)
        named = {
            "aligned": formulas.aligned(lanes, unit, start, self.stored, self.unit),
            "compact": formulas.compact(lanes, start, self.stored),
            "row-aligned": formulas.row_aligned(lanes, unit, start, self.stored, self.unit),
        }
        own = _BASES.get(self.layout, self.layout)
        return tuple(
            name
            for name, strides in named.items()
            if name != own
            and formulas.agree(self.strides, strides, places)
            and self.offset % alignment(self.chip, name, self.itemsize) == 0
        )


#: the layout in which matrices and storage modes keep their tensor
_BASES: Final = {"matrix": "aligned", "vector": "aligned", "4n": "aligned", "2n": "aligned"}


def alignment(chip: Chip, layout: str, itemsize: int) -> int:
    """What the address must be a multiple of (catalogue section c; ADR-14, ADR-15, INC-17)."""
    base = _BASES.get(layout, layout)
    if base in ("aligned", "row-aligned"):
        return chip.eu_bytes
    if base in ("compact", "gic"):
        return formulas.COMPACT_ALIGNMENT
    return formulas.PAIR_BYTES if base == "2ic" else itemsize


def canonical(name: str) -> str | None:
    """A layout's one name (``64ic`` is ``gic``), or None."""
    name = name.lower()
    if name != "2ic" and re.fullmatch(r"[0-9]+ic", name):
        return "gic"
    return name if name in NAMES else None


def itemsize_of(chip: Chip, dtype: str) -> tuple[str, int]:
    """The dtype's full name and its bytes.

    Raises:
        LayoutError: it is no dtype, the chip lacks it, or its elements are no whole bytes.
    """
    name = dtypes.canonical(dtype.lower()) or dtype.lower()
    whole = sorted(kind for kind in chip.dtypes if dtypes.BITS[kind] % 8 == 0)
    if name in whole:
        return name, dtypes.DTYPES[name][0]
    if name in chip.dtypes:
        raise LayoutError(f"elements of {name} are no whole bytes: give the layout of the bytes")
    known = f"{chip.name} has {', '.join(whole)}"
    if name in dtypes.DTYPES:
        raise LayoutError(f"no {name}: {known}")
    raise LayoutError(f"unknown dtype '{dtype}': {known}")


def arrange(
    chip: Chip,
    layout: str,
    shape: Sequence[int],
    dtype: str,
    *,
    start_lane: int | None = None,
    address: int | None = None,
    strides: Sequence[int] | None = None,
    width: int | None = None,
) -> Arrangement:
    """A tensor in one of the layouts of :data:`NAMES`, from lane ``start_lane`` or an address.

    ``shape`` has four sizes, or one and two for a vector and a matrix, whose channels have
    ``width`` columns. ``strides`` are those of the layout ``free``.

    Raises:
        LayoutError: the arguments do not go together.
        TooLargeError: the tensor does not fit.
    """
    name = _named(layout)
    dtype, itemsize = itemsize_of(chip, dtype)
    system = name == "continuous"
    _options(name, start_lane, strides, width)
    if system:
        chip = replace(chip, lanes=1, local_bytes=_SYSTEM_BYTES)
    start, offset = _start(chip, name, start_lane, address, itemsize)
    sizes = sizes_of(name, shape)
    tensor, columns = _tensor(name, sizes, width)
    group = _group(chip, layout, dtype) if name == "gic" else 0
    per_unit = _mode(chip, name, dtype)
    stored = _stored(tensor, per_unit)
    unit = itemsize * per_unit
    cells = formulas.grouped_ic(group, tensor) if name == "gic" else stored
    pitch = _strides(strides) if strides is not None else _pitch(chip, name, start, cells, unit)
    free = free_strides(steps(chip.lanes, start, stored))
    if name == "gic":
        free = (True, *free[1:])
    found = Arrangement(
        chip=chip,
        system=system,
        layout=name,
        dtype=dtype,
        itemsize=itemsize,
        shape=sizes,
        tensor=tensor,
        stored=stored,
        strides=formulas.grouped_ic_strides(group, tensor) if name == "gic" else pitch,
        free=free,
        unit=unit,
        per_unit=per_unit,
        cells=cells,
        pitch=pitch,
        group=group,
        columns=columns,
        start_lane=start,
        offset=offset,
    )
    _fits(found)
    return found


def _named(layout: str) -> str:
    name = canonical(layout)
    if name is None:
        raise LayoutError(f"unknown layout '{layout}': there are {', '.join(NAMES)}")
    return name


def _pitch(chip: Chip, name: str, start: int, cells: Index, unit: int) -> Index:
    """The strides of units in a layout that says them."""
    if name == "continuous":
        return formulas.continuous(cells)
    if name in ("compact", "2ic", "gic"):
        return formulas.compact(chip.lanes, start, cells)
    formula = formulas.row_aligned if name == "row-aligned" else formulas.aligned
    return formula(chip.lanes, chip.eu_bytes, start, cells, unit)


def _fits(found: Arrangement) -> None:
    chip, offset = found.chip, found.offset
    if offset + found.extent > chip.local_bytes:
        behind = f" from byte {offset} on" if offset else ""
        memory = "system" if found.system else "local"
        limit = "" if found.system else f" of each NPU, and {chip.name} has {chip.local_bytes}"
        raise TooLargeError(
            f"the tensor exceeds {memory} memory: it takes {found.extent} bytes{behind}{limit}"
        )


def _options(
    name: str, start_lane: int | None, strides: Sequence[int] | None, width: int | None
) -> None:
    if strides is not None and name != "free":
        raise LayoutError(f"strides are given for the layout free, not for {name}")
    if strides is None and name == "free":
        raise LayoutError("the layout free needs strides")
    if width is not None and name not in ("matrix", "vector"):
        raise LayoutError(f"a width is given for a matrix or a vector, not for {name}")
    if start_lane is not None and name == "continuous":
        raise LayoutError("the layout continuous is in system memory, which has no NPUs")


def _start(
    chip: Chip, name: str, start_lane: int | None, address: int | None, itemsize: int
) -> tuple[int, int]:
    """``(lane, byte)``."""
    if start_lane is not None and not 0 <= start_lane < chip.lanes:
        raise LayoutError(
            f"start NPU {start_lane} is beyond the {chip.lanes} NPUs (0 to {chip.lanes - 1})"
        )
    if address is None:
        return start_lane or 0, 0
    if not 0 <= address < chip.memory_bytes:
        raise LayoutError(f"address {address} is not in 0 to {chip.memory_bytes - 1}")
    lane, byte = lane_of(chip, address), byte_of(chip, address)
    if start_lane is not None and start_lane != lane:
        raise LayoutError(f"address {address} is in NPU {lane}, not in NPU {start_lane}")
    unit = alignment(chip, name, itemsize)
    if byte % unit:
        raise LayoutError(f"address {address} is not a multiple of {unit}, as {name} demands")
    return lane, byte


def sizes_of(name: str, shape: Sequence[int]) -> tuple[int, ...]:
    """The sizes that a layout's shape has: a matrix may be given as ``n,1,1,m``, too.

    Raises:
        LayoutError: there are not so many, or not such.
    """
    text = ",".join(map(str, shape))
    allowed = {"matrix": (2, 4), "vector": (1, 4)}.get(name, (4,))
    if len(shape) not in allowed:
        wanted = {"matrix": "2 sizes (rows,columns)", "vector": "1 size"}.get(
            name, "4 sizes (n,c,h,w)"
        )
        raise LayoutError(f"the layout {name} takes {wanted}, not {len(shape)}: {text}")
    if min(shape) < 1:
        raise LayoutError(f"sizes are at least 1, not {text}")
    if len(shape) == allowed[0]:
        return tuple(shape)
    n, c, h, w = shape
    if c != 1 or h != 1 or (name == "vector" and n != 1):
        form = "n,1,1,m" if name == "matrix" else "1,1,1,m"
        raise LayoutError(f"as four sizes a {name} is {form}, not {text}")
    return (n, w) if name == "matrix" else (w,)


def _tensor(name: str, shape: tuple[int, ...], width: int | None) -> tuple[Index, int]:
    """The tensor that the shape stands for, and the columns if it is a matrix."""
    if name not in ("matrix", "vector"):
        n, c, h, w = shape
        return (n, c, h, w), 0
    rows, columns = shape if name == "matrix" else (1, shape[0])
    if width is None:
        raise LayoutError(f"the layout {name} needs the width of a channel, 1 to {columns}")
    if not 1 <= width <= columns:
        raise LayoutError(f"width {width} is not in 1 to {columns}, the columns of the {name}")
    return formulas.matrix_shape(rows, columns, width), columns


def _group(chip: Chip, asked: str, dtype: str) -> int:
    """Input channels to a group (CHIP-24)."""
    group = chip.groups.get(dtype)
    if group is None or group == 1 or not chip.has(Capability.GROUPED_WEIGHTS):
        kinds = [f"{size}ic {kind}" for kind, size in sorted(chip.groups.items()) if size > 1]
        raise LayoutError(f"{chip.name} has no groups for {dtype} weights: {', '.join(kinds)}")
    digits = asked.lower().removesuffix("ic")
    if digits != "g" and int(digits) != group:
        raise LayoutError(f"{dtype} weights of {chip.name} are in groups of {group}: {group}ic")
    return group


#: storage mode -> (elements of a unit, bytes of an element)
_MODES: Final = {"4n": (4, 1), "2n": (2, 2)}


def _mode(chip: Chip, name: str, dtype: str) -> int:
    """Elements to a unit."""
    if name == "2ic":
        if chip.groups.get(dtype) != 2:
            raise LayoutError(f"{chip.name} has no 2ic {dtype} weights: bm1684 has them of float32")
        return 2
    if name not in _MODES:
        return 1
    number, size = _MODES[name]
    itemsize, kind = dtypes.DTYPES[dtype]
    if itemsize != size or kind != "int":
        raise LayoutError(f"{name} is a mode of int{8 * size} and uint{8 * size}, not of {dtype}")
    return number


def _stored(tensor: Index, per_unit: int) -> Index:
    n, c, h, w = tensor
    return ceildiv(n, per_unit), c, h, w


def _strides(strides: Sequence[int]) -> Index:
    text = ",".join(map(str, strides))
    if len(strides) != 4:
        raise LayoutError(f"there are 4 strides, not {len(strides)} ({text})")
    if min(strides) < 0:
        raise LayoutError(f"strides are not negative: {text}")
    n, c, h, w = strides
    return n, c, h, w
