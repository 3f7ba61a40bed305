"""The ``--statistics`` block.

Well-known keys of the statistics that workers report (all optional; others are listed as they are
under "counters"):

- ``files``, ``kernel_files``: files collected, and those among them that went to analysis
- ``tiers``: obligations by the tier that settled them, ``{"folding": 812, "ranges": 240, ...}``
- ``rules``: obligations by rule, ``{"partition-extent": 31}`` or ``{"partition-extent":
  {"proved": 30, "violated": 1}}``
- ``queries``: solver queries; ``query_ms``: the time of each in milliseconds
- ``times_ms``: milliseconds by phase, ``{"parse": 12.0, ...}``
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from verifier.report.model import Statistics
from verifier.report.text import Line, Options, cells

_KNOWN = frozenset({"files", "kernel_files", "tiers", "rules", "queries", "query_ms", "times_ms"})


def summarise(statistics: Statistics) -> Statistics:
    """The statistics in the order of their names, ``query_ms`` with median, maximum and total."""
    result = {key: _ordered(statistics[key]) for key in sorted(statistics) if key != "query_ms"}
    times = sorted(statistics.get("query_ms", ()))
    if times or "queries" in statistics:
        result["query_ms"] = {
            "count": len(times),
            "median": median(times),
            "max": times[-1] if times else 0.0,
            "total": sum(times),
            "all": times,
        }
    return result


def _ordered(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _ordered(value[key]) for key in sorted(value)}
    return value


def median(ordered: Sequence[float]) -> float:
    """The middle of an ordered sequence; 0 when it is empty."""
    if not ordered:
        return 0.0
    middle = len(ordered) // 2
    if len(ordered) % 2:
        return float(ordered[middle])
    return (ordered[middle - 1] + ordered[middle]) / 2


def statistics_lines(statistics: Statistics, options: Options) -> list[Line]:
    """Tables of obligations by tier and by rule, the queries, and where the time went."""
    sections: list[tuple[str, list[tuple[str, str]]]] = []
    files = [
        (label, str(statistics[key]))
        for key, label in (("files", "collected"), ("kernel_files", "with kernels"))
        if key in statistics
    ]
    sections.append(("files", files))
    sections.append(("obligations by tier", _shares(statistics.get("tiers", {}))))
    sections.append(("obligations by rule", _by_rule(statistics.get("rules", {}))))
    if "queries" in statistics or "query_ms" in statistics:
        times = sorted(statistics.get("query_ms", ()))
        count = statistics.get("queries", len(times))
        rows = [("number", str(count))]
        if times:
            rows += [
                ("median", _ms(median(times))),
                ("maximum", _ms(times[-1])),
                ("total", _ms(sum(times))),
            ]
        sections.append(("solver queries", rows))
    times_ms = statistics.get("times_ms", {})
    sections.append(("time", [(name, _ms(times_ms[name])) for name in times_ms]))
    others = [(key, _other(statistics[key])) for key in sorted(statistics.keys() - _KNOWN)]
    sections.append(("counters", others))

    shown = [(title, rows) for title, rows in sections if rows]
    names = max((cells(name) for _, rows in shown for name, _ in rows), default=0)
    values = max((cells(v.split("  ")[0]) for _, rows in shown for _, v in rows), default=0)
    lines: list[Line] = [[("statistics", "message")]]
    for title, rows in shown:
        lines.append([(f"  {title}", "key")])
        for name, value in rows:
            first, _, rest = value.partition("  ")
            padding = " " * (names - cells(name) + 2 + values - cells(first))
            lines.append([(f"    {name}{padding}{first}", ""), (f"  {rest}", "dim")])
    return lines


def _shares(tiers: Mapping[str, int]) -> list[tuple[str, str]]:
    total = sum(tiers.values())
    return [
        (name, f"{tiers[name]}  {100 * tiers[name] / total:.1f} %" if total else "0")
        for name in sorted(tiers, key=lambda name: (-tiers[name], name))
    ]


def _by_rule(rules: Mapping[str, Any]) -> list[tuple[str, str]]:
    rows = []
    for rule, counts in rules.items():
        if isinstance(counts, Mapping):
            parts = ", ".join(f"{counts[key]} {key}" for key in sorted(counts) if counts[key])
            rows.append((sum(counts.values()), rule, parts))
        else:
            rows.append((counts, rule, ""))
    rows.sort(key=lambda row: (-row[0], row[1]))
    return [(rule, f"{total}  {parts}" if parts else str(total)) for total, rule, parts in rows]


def _ms(value: float) -> str:
    return f"{value / 1000:.2f} s" if value >= 1000 else f"{value:.1f} ms"


def _other(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.1f}"
    if isinstance(value, Mapping):
        return "  ".join(["", ", ".join(f"{key} {value[key]}" for key in sorted(value))]).strip()
    if isinstance(value, list):
        return f"{len(value)} values"
    return str(value)
