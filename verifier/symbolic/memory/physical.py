"""Where Beta 1 allocators put tiles, and which tiles of a tensor lie in one place.

``mod_alloc`` puts the tile with the block indices ``idx`` at the place ``idx mod num_tiles``, along
each block dimension; tiles whose indices are alike for all that it counts share their memory
(NKI-B10).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from verifier.hardware.memories import Buffer
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Expr
from verifier.symbolic.tensors import DType, Storage

#: where the first place begins: partition, byte, bank
_BEGINS = ("base_partition", "base_addr", "base_bank")
#: what of a place is counted: rows of partitions, bytes, banks
_COUNTED = ("num_par_tiles", "num_free_tiles", "num_bank_tiles")


@dataclass(frozen=True, slots=True)
class Places:
    """By block dimension, how many tiles have places of their own, in all that is counted."""

    counts: tuple[tuple[Expr, ...], ...]

    def enough(self, storage: Storage) -> bool:
        """Whether each tile has a place of its own, whatever the inputs."""
        return all(
            any(E.le(extent, count) is E.TRUE for count in counts)
            for extent, counts in zip(storage.shape, self.counts, strict=False)
        )


def is_placed(storage: Storage) -> bool:
    """Whether an allocator was asked to place a tensor."""
    return bool(storage.placement.get("allocator"))


def is_counted(storage: Storage) -> bool:
    """Whether an allocator was asked to place the tiles of a tensor with blocks."""
    return is_placed(storage) and bool(storage.partition_axis)


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
    found = places(storage)
    if found is None:
        return None
    blocks = storage.partition_axis or 0
    counts = {name: _product(storage.placement.get(name), blocks) for name in _COUNTED}
    starts = [storage.placement.get(name, 0) for name in _BEGINS]
    given = [E.const(start) if type(start) is int else start for start in starts]
    known = [start for start in given if isinstance(start, Expr)]
    if len(known) < len(given):
        return None
    row, byte, first = known
    rows = storage.shape[storage.partition_axis or 0] * counts["num_par_tiles"]
    size = storage.bytes_per_partition * counts["num_free_tiles"]
    if storage.buffer is Buffer.PSUM:
        byte, size = byte + first * bank, counts["num_bank_tiles"] * bank
    return replace(
        storage,
        shape=(rows, size),
        dtype=DType.named("uint8"),
        partition_axis=0,
        address=(row, byte),
        placement={},
    )


def _product(counts: object, blocks: int) -> Expr:
    total = E.const(1)
    for count in counts if isinstance(counts, tuple) and blocks else ():
        total = total * count
    return total


__all__ = ["Places", "is_counted", "is_placed", "places", "window"]
