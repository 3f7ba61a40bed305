"""Where Beta 1 allocators put tiles, and which tiles of a tensor lie in one place.

``mod_alloc`` puts the tile with the block indices ``idx`` at the place ``idx mod num_tiles``, along
each block dimension; tiles whose indices are alike for all that it counts share their memory
(NKI-B10).
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from verifier.hardware.memories import Buffer
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Expr
from verifier.symbolic.tensors import DType, Storage

#: where the first place begins: partition, byte, bank
_BEGINS = ("base_partition", "base_addr", "base_bank")
#: what of a place is counted: rows of partitions, bytes, banks
_COUNTED = ("num_par_tiles", "num_free_tiles", "num_bank_tiles")


class Places(Struct, frozen=True):
    """By block dimension, how many tiles have places of their own, in all that is counted."""

    counts: tuple[tuple[Expr, ...], ...]

    def enough(self, storage: Storage) -> bool:
        """Whether each tile has a place of its own, whatever the inputs."""
        return all(
            any(E.le(extent, count) is E.TRUE for count in counts)
            for extent, counts in zip(storage.shape, self.counts, strict=False)
        )


class Spot(Struct, frozen=True):
    """Where an element lies: its partition, and its first byte there."""

    row: Expr
    byte: Expr


def is_counted(storage: Storage) -> bool:
    """Whether an allocator was asked to place the tiles of a tensor with blocks."""
    return storage.placed and bool(storage.partition_axis)


def places(storage: Storage) -> Places | None:
    """The places of the tiles of a tensor with blocks; None if they are not known."""
    if storage.placement.get("allocator") != "mod_alloc":
        return None
    blocks = storage.partition_axis or 0
    found: list[tuple[Expr, ...]] = [() for _ in range(blocks)]
    for name in _COUNTED:
        counts = storage.placement.get(name)
        if counts is None or counts == ():
            continue  # one for all
        if not isinstance(counts, tuple):
            return None
        # what counts no block dimension says nothing
        for position, count in enumerate(counts[:blocks]):
            if not isinstance(count, Expr):
                return None
            found[position] = (*found[position], count)
    return Places(tuple(found))


def window(storage: Storage, bank: int) -> Storage | None:
    """All places of a tensor that an allocator was asked to place, as one tile with an address.

    ``bank``: bytes of a PSUM bank per partition. None: it is not known where they lie.
    """
    first = _first(storage, bank)
    if first is None:
        return None
    blocks = storage.partition_axis or 0
    counts = {name: _product(storage.placement.get(name), blocks) for name in _COUNTED}
    rows = storage.shape[storage.partition_axis or 0] * counts["num_par_tiles"]
    size = _tile_bytes(storage) * counts["num_free_tiles"]
    if storage.buffer is Buffer.PSUM:
        size = counts["num_bank_tiles"] * bank
    return replace(
        storage,
        shape=(rows, size),
        dtype=DType.named("uint8"),
        partition_axis=0,
        address=(first.row, first.byte),
        placement={},
    )


def spot(storage: Storage, coords: Sequence[Expr], bank: int) -> Spot | None:
    """Where an element lies of a tensor that was placed, tile by tile; None: it is not known.

    ``coords``: of the element, in the tensor's own dimensions. ``bank``: bytes of a PSUM bank per
    partition.
    """
    first = _first(storage, bank) if storage.placed else _addressed(storage)
    if first is None or len(coords) != len(storage.shape):
        return None
    blocks = storage.partition_axis or 0
    row, byte = first.row + coords[blocks], first.byte
    inner = E.const(0)
    for coord, extent in zip(coords[blocks + 1 :], storage.shape[blocks + 1 :], strict=True):
        inner = inner * extent + coord
    byte = byte + inner * storage.dtype.itemsize
    steps = (storage.shape[blocks], _tile_bytes(storage), E.const(bank))
    tiles = [_place(storage.placement.get(name), coords[:blocks]) for name in _COUNTED]
    row = row + tiles[0] * steps[0]
    byte = byte + tiles[1] * steps[1] + tiles[2] * steps[2]
    return Spot(row, byte)


def tile_by_tile(one: Storage, other: Storage) -> bool:
    """Whether two tensors have tiles in places of which it is known when each of them is in use."""
    return (
        one.buffer is other.buffer
        and (is_counted(one) or is_counted(other))
        and all(is_told(storage) for storage in (one, other))
    )


def is_told(storage: Storage) -> bool:
    """Whether it is known where each tile of a tensor lies, and which tensor is meant."""
    if storage.loops:  # which of the tensors of one allocation is meant is not told
        return False
    return storage.address is not None or places(storage) is not None


def _first(storage: Storage, bank: int) -> Spot | None:
    """Where the first place of a tensor begins that an allocator was asked to place."""
    if places(storage) is None:
        return None
    starts = [storage.placement.get(name, 0) for name in _BEGINS]
    given = [E.const(start) if type(start) is int else start for start in starts]
    known = [start for start in given if isinstance(start, Expr)]
    if len(known) < len(given):
        return None
    row, byte, first = known
    return Spot(row, byte + first * bank if storage.buffer is Buffer.PSUM else byte)


def _addressed(storage: Storage) -> Spot | None:
    return None if storage.address is None else Spot(*storage.address)


def _place(counts: object, blocks: Sequence[Expr]) -> Expr:
    """The number of the place of a tile, of those that are counted in one way."""
    number = E.const(0)
    for index, count in zip(blocks, counts if isinstance(counts, tuple) else (), strict=False):
        number = number * count + E.mod(index, count)
    return number


def _tile_bytes(storage: Storage) -> Expr:
    """Bytes per partition of one tile."""
    size = storage.dtype.itemsize
    for extent in storage.shape[(storage.partition_axis or 0) + 1 :]:
        size = size * extent
    return size


def _product(counts: object, blocks: int) -> Expr:
    total = E.const(1)
    for count in counts if isinstance(counts, tuple) and blocks else ():
        total = total * count
    return total


__all__ = [
    "Places",
    "Spot",
    "is_counted",
    "is_told",
    "places",
    "spot",
    "tile_by_tile",
    "window",
]
