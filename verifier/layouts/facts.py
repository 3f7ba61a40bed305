"""What there is to say of a tensor in memory, in words, for every way of printing it."""

from __future__ import annotations

from verifier.hardware.capabilities import Capability
from verifier.layouts import strides as formulas
from verifier.layouts.arrangement import Arrangement
from verifier.symbolic.lanes import AXES


def title(of: Arrangement) -> str:
    """``aligned float32[2, 3, 4, 5] in 4 NPUs of bm1684, from NPU 2``."""
    name = f"{of.group}ic" if of.group else of.layout
    what = f"{name} {of.dtype}[{_listed(of.shape)}]"
    if of.system:
        return f"{what} in system memory"
    byte = f" byte {of.offset}" if of.offset else ""
    return f"{what} in {of.chip.lanes} NPUs of {of.chip.name}, from NPU {of.start_lane}{byte}"


def free_names(of: Arrangement) -> list[str]:
    """The axes whose strides make no sense."""
    return [axis for axis, free in zip(AXES, of.free, strict=True) if free]


def facts(of: Arrangement) -> list[tuple[str, str]]:
    """``(name, value)`` of everything but the picture."""
    found = [("strides", f"{_listed(of.strides)}  ({_counted(of)})")]
    found.append(("free strides", ", ".join(_reasons(of)) or "none"))
    if of.columns:
        last = formulas.last_channel_columns(of.columns, of.stored[3])
        width = of.stored[3]
        number = of.stored[1]
        share = f"{_number(number, 'channel')} of {_number(width, 'column')}"
        found.append(("channels", share if last == width else f"{share}, the last has {last}"))
    if of.group:
        distance = formulas.grouped_ic_distance(of.group, of.tensor)
        number = -(-of.tensor[0] // of.group)
        apart = f", {distance} elements apart" if number > 1 else ""
        found.append(("input channels", f"{_number(number, 'group')} of {of.group}{apart}"))
    if of.dummies:
        found.append(("dummies", _number(of.dummies, "element")))
    if of.system:
        found.append(("bytes", str(of.bytes_per_lane)))
    else:
        found.append(("channels per NPU", f"{of.channels_per_lane}{_used(of)}"))
        size = of.chip.local_bytes
        part = 100 * of.bytes_per_lane / size
        share = f"{part:.1f} %" if part >= 1 else f"{part:.2g} %"
        behind = f", from byte {of.offset} on" if of.offset else ""
        found.append(("bytes per NPU", f"{of.bytes_per_lane} of {size} ({share}){behind}"))
    found.append(("waste", _waste(of)))
    if of.also:
        found.append(("is also", ", ".join(of.also)))
    return found


def notes(of: Arrangement) -> list[str]:
    """What to beware of."""
    found = []
    distinct = of.distinct
    if distinct is None:
        found.append("elements may share places: such strides are for sources only")
    elif distinct < of.elements:
        shared = of.elements - distinct
        found.append(
            f"{shared} of {of.elements} elements share the place of another: "
            "such strides are for sources only"
        )
    if of.layout in ("4n", "2n") and not of.chip.has(Capability.STORAGE_MODES):
        found.append(f"{of.layout} is a mode of OKK, which {of.chip.name} does not run")
    return found


def _listed(numbers: tuple[int, ...]) -> str:
    return ", ".join(map(str, numbers))


def _number(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _counted(of: Arrangement) -> str:
    if of.per_unit == 1:
        return "in elements" if not of.columns else f"in elements of {_tensor(of)}"
    what = "pairs" if of.layout == "2ic" else "words"
    return f"in {what} of {of.unit} bytes, of {_tensor(of)}"


def _tensor(of: Arrangement) -> str:
    return f"the tensor ({_listed(of.stored)})"


def _reasons(of: Arrangement) -> list[str]:
    """Each free stride with the reason."""
    reasons = {
        "n": "input channels are innermost" if of.group else "N = 1",
        "c": "C = 1" if of.system else "one channel per NPU",
        "h": "H = 1",
        "w": "W = 1",
    }
    return [f"{axis} ({reasons[axis]})" for axis in free_names(of)]


def _used(of: Arrangement) -> str:
    """Which NPUs have channels, if not all do."""
    number, total = of.stored[1], of.chip.lanes
    if number >= total:
        return ""
    first, last = of.start_lane, (of.start_lane + number - 1) % total
    if number == 1:
        return f" (in NPU {first})"
    if first <= last:
        return f" (in NPUs {first} to {last})"
    front = f"{first} to {total - 1}" if first < total - 1 else str(first)
    back = f"0 to {last}" if last else "0"
    return f" (in NPUs {front} and {back})"


def _waste(of: Arrangement) -> str:
    waste = of.waste
    if waste is None:
        return "unknown"
    if not waste.total:
        return "none"
    where = "" if of.system else f" in {_number(of.chip.lanes, 'NPU')}"
    text = f"{waste.total} of {waste.allocated} bytes{where} ({waste.percent} %)"
    if waste.padding is None or waste.unused is None:
        return text
    parts = [
        f"{number} {what}"
        for number, what in ((waste.padding, "padding"), (waste.unused, "unused"))
        if number
    ]
    return f"{text}: {', '.join(parts)}"
