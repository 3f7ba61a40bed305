"""The arrangement and its picture as data for ``--format json``."""

from __future__ import annotations

from typing import Any, Final

from verifier.layouts.arrangement import Arrangement
from verifier.layouts.facts import free_names, notes
from verifier.layouts.picture import Block, Gap, Row, draw

#: elements up to which the place of each is listed
_LISTED: Final = 1024
_LINES: Final = 128
_LANES: Final = 16


def document(of: Arrangement) -> dict[str, Any]:
    """A JSON object; sizes in bytes, strides in units of ``stored.itemsize`` bytes.

    In system memory ``npus``, ``start_npu`` and ``channels_per_npu`` are null, and
    ``bytes_per_npu`` is all there is.
    """
    waste = of.waste
    return {
        "schema_version": 1,
        "chip": of.chip.name,
        "npus": None if of.system else of.chip.lanes,
        "memory": "system" if of.system else "local",
        "layout": f"{of.group}ic" if of.group else of.layout,
        "dtype": of.dtype,
        "itemsize": of.itemsize,
        "shape": list(of.shape),
        "stored": {"shape": list(of.stored), "itemsize": of.unit},
        "strides": list(of.strides),
        "free_strides": free_names(of),
        "channels_per_npu": None if of.system else of.channels_per_lane,
        "bytes_per_npu": of.bytes_per_lane,
        "extent": of.extent,
        "start_npu": None if of.system else of.start_lane,
        "offset": of.offset,
        "address": of.address,
        "width": of.stored[3] if of.columns else None,
        "group": of.group or None,
        "dummies": of.dummies,
        "also": list(of.also),
        "waste": None
        if waste is None
        else {
            "bytes": waste.total,
            "allocated": waste.allocated,
            "percent": waste.percent,
            "padding": waste.padding,
            "unused": waste.unused,
        },
        "notes": notes(of),
        "elements": _elements(of),
        "picture": _picture(of),
    }


def _elements(of: Arrangement) -> list[dict[str, Any]] | None:
    """Where each element is; None if they are too many."""
    if of.elements > _LISTED:
        return None
    found = []
    for index in of.indices():
        lane, byte = of.place(index)
        found.append({"index": list(index), "npu": None if of.system else lane, "byte": byte})
    return found


def _picture(of: Arrangement) -> dict[str, Any]:
    picture = draw(of, across=1, lanes=_LANES, lines=_LINES, fold=2)
    return {
        "npus": None if of.system else list(picture.lanes),
        "lines": [_line(line) for line in picture.lines],
    }


def _line(line: Row | Gap) -> dict[str, Any]:
    if isinstance(line, Gap):
        return {"byte": line.byte, "bytes": line.size, "kind": line.kind}
    return {"byte": line.byte, "blocks": [_block(block) for (block,) in line.blocks]}


def _block(block: Block) -> str:
    """The label, or what the block is."""
    return block.label if block.kind == "data" else block.kind
