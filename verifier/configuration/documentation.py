"""The settings as text for people, from the one table of them."""

from __future__ import annotations

from collections.abc import Sequence

from verifier.configuration.table import OVERRIDES, PATHS, SETTINGS, Setting

HEADER = ("Key", "Value", "Default", "Per path", "Option", "Meaning")


_OVERRIDES = (
    OVERRIDES,
    f"list of tables with {PATHS}",
    "none",
    "no",
    "",
    f"Other values for files that match {PATHS}, a list of patterns in the form of .gitignore.",
)


def rows() -> list[tuple[str, ...]]:
    """One row per setting, under :data:`HEADER`."""
    return [*(_row(setting) for setting in SETTINGS), _OVERRIDES]


def _row(setting: Setting[object]) -> tuple[str, ...]:
    return (
        setting.key,
        setting.type_,
        setting.default_text,
        "yes" if setting.per_path else "no",
        setting.option,
        setting.summary,
    )


def markdown() -> str:
    """The settings as a table for the page of this folder; a test compares them."""
    lines = [_line(HEADER), "|" + "|".join(" --- " for _ in HEADER) + "|"]
    for key, *middle, option, summary in rows():
        lines.append(_line((f"`{key}`", *middle, f"`{option}`" if option else "", summary)))
    return "\n".join(lines) + "\n"


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
