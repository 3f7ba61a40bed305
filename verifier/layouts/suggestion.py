"""The width of a matrix's channels and the start lane with the least waste."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from verifier.hardware.chips import Chip
from verifier.layouts.address import align, ceildiv, channels_per_lane, lane_of
from verifier.layouts.arrangement import (
    Arrangement,
    LayoutError,
    TooLargeError,
    arrange,
    canonical,
    itemsize_of,
    sizes_of,
)


class Suggestion(Struct, frozen=True):
    """What to choose. Lanes ``start_lane`` to ``last_lane`` are as good as each other; ``asked`` is
    what was asked for, None if that was left open or does not fit."""

    best: Arrangement
    last_lane: int
    asked: Arrangement | None

    @property
    def width(self) -> int | None:
        return self.best.stored[3] if self.best.columns else None

    @property
    def text(self) -> str:
        """One line."""
        best = self.best
        start = f"start NPU {best.start_lane}"
        if self.last_lane > 0:
            start += f" (0 to {self.last_lane} are as good)"
        chosen = f"width {self.width}, {start}" if self.width is not None else start
        used = f"{best.bytes_per_lane} bytes per NPU"
        if self.asked is not None:
            before = self.asked.bytes_per_lane
            same = before == best.bytes_per_lane
            used += ", no less than what was asked for" if same else f" instead of {before}"
        return f"{chosen}: {used}"


def suggest(
    chip: Chip,
    layout: str,
    shape: Sequence[int],
    dtype: str,
    *,
    start_lane: int | None = None,
    address: int | None = None,
    strides: Sequence[int] | None = None,
    width: int | None = None,
) -> Suggestion:
    """The best width and start lane; what was asked for stays where nothing is better.

    Raises:
        LayoutError: the arguments do not go together, or the tensor fits nowhere.
    """
    name = canonical(layout)
    if name == "continuous":
        raise LayoutError("there is nothing to suggest for system memory")
    flat = name in ("matrix", "vector")
    asked: Arrangement | None = None
    if width is not None or not flat:
        try:
            asked = arrange(
                chip,
                layout,
                shape,
                dtype,
                start_lane=start_lane,
                address=address,
                strides=strides,
                width=width,
            )
        except TooLargeError:
            asked = None
    start = start_lane or (lane_of(chip, address) if address is not None else 0)
    offset = address % chip.local_bytes if address is not None else 0
    if flat:
        columns = sizes_of(name or layout, shape)[-1]
        width = best_width(chip, columns, itemsize_of(chip, dtype)[1])
    first = arrange(chip, layout, shape, dtype, address=offset, strides=strides, width=width)
    last = last_start(chip, first.stored[1])
    lane = start if start <= last else 0
    best = arrange(
        chip,
        layout,
        shape,
        dtype,
        address=lane * chip.local_bytes + offset,
        strides=strides,
        width=width,
    )
    if asked is not None and asked.bytes_per_lane <= best.bytes_per_lane:
        best = asked
        last = last_start(chip, best.stored[1])
    return Suggestion(best, last, asked)


def best_width(chip: Chip, columns: int, itemsize: int) -> int:
    """The width at which a matrix's rows take the least of each lane, spread over most lanes
    (LAY-05)."""
    unit = chip.eu_bytes // itemsize
    best, least, slots = columns, 0, 1
    # With `slots` channels per lane, they are narrowest at ceil(M / (slots * X)) columns.
    while not least or slots * unit < least:
        width = ceildiv(columns, slots * chip.lanes)
        taken = ceildiv(ceildiv(columns, width), chip.lanes) * align(width, unit)
        if not least or taken < least:
            best, least = width, taken
        slots += 1
    return best


def last_start(chip: Chip, channels: int) -> int:
    """The last start lane at which lanes have no more slots than from lane 0 (LAY-04)."""
    slots = channels_per_lane(chip.lanes, 0, channels)
    return slots * chip.lanes - channels
