"""Which functions with a jit decorator are helpers: other kernels call them, nobody launches them.

A helper is judged where it is called, with the tiles that it is given there; its parameters are no
tensors of a caller outside.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import TypeAlias

from msgspec import Struct

#: a top-level function or class and all that is in it: its file and name; "" is the module's level
Unit: TypeAlias = tuple[str, str]


class CallSite(Struct, frozen=True):
    """A call in a unit.

    ``callee``: the function of the project that is called, where it is known which. ``launched``:
    on a grid (``f[grid](...)``). ``device``: a function of a kernel API is called. ``within``: the
    qualified name of the function or class around the call.
    """

    caller: Unit
    callee: Unit | None
    launched: bool = False
    device: bool = False
    within: str = ""


def helpers(
    decorated: Collection[Unit], launched: Collection[Unit], sites: Sequence[CallSite]
) -> dict[Unit, tuple[Unit, ...]]:
    """Those of the ``decorated`` functions that are called by device code and not launched, each
    with that code as far as kernels come to it: nothing if none does.

    ``launched``: functions that are wrapped for a launch. A call in code that is not for a device
    is a launch too. Of functions that only call each other all are entry points.
    """
    calls = _calls(sites, launches=False)
    started = set(launched)
    device = set(decorated)
    for site in sites:
        if site.device:
            device.add(site.caller)
        if site.launched and site.callee is not None and site.callee != site.caller:
            started.add(site.callee)
    device = _reached(device, calls)
    for caller, callees in calls.items():
        if caller not in device:
            started |= callees
    by_device = set().union(*(calls.get(unit, ()) for unit in device))
    called = {unit for unit in decorated if unit in by_device and unit not in started}
    run = _reached((set(decorated) | started) - called, calls)
    return {
        unit: tuple(sorted(caller for caller in device & run if unit in calls.get(caller, ())))
        for unit in called & _reached(device - called, calls)
    }


def reached(start: Iterable[Unit], sites: Sequence[CallSite]) -> set[Unit]:
    """What some units come to, through any number of calls; they themselves, too."""
    return _reached(start, _calls(sites, launches=True))


def _calls(sites: Iterable[CallSite], launches: bool) -> dict[Unit, set[Unit]]:
    calls: dict[Unit, set[Unit]] = {}
    for site in sites:
        if site.callee is None or site.callee == site.caller or (site.launched and not launches):
            continue
        calls.setdefault(site.caller, set()).add(site.callee)
    return calls


def _reached(start: Iterable[Unit], calls: dict[Unit, set[Unit]]) -> set[Unit]:
    found = set(start)
    work = list(found)
    while work:
        for callee in calls.get(work.pop(), ()):
            if callee not in found:
                found.add(callee)
                work.append(callee)
    return found
