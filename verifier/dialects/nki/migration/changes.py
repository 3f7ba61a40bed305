"""What has to change in a text, as data, and how changes of one text go together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from verifier.source.ir import Span

#: what a change is about: the rules that report them
NAME: Final = "migrate-name"
CALL: Final = "migrate-call"
MEANING: Final = "migrate-meaning"
PYTHON: Final = "migrate-python"

#: ``error``: the later generation takes the text and does something else; ``warning``: it rejects
#: it; ``note``: it takes it, and will not for long
Weight: TypeAlias = Literal["error", "warning", "note"]

#: a line and a column of a text
Place: TypeAlias = tuple[int, int]


class Edit(Struct, frozen=True):
    """``text`` in place of a region: lines from 1, columns from 0, the end is exclusive."""

    start: Place
    end: Place
    text: str

    def holds(self, other: Edit) -> bool:
        """Whether the region of another edit lies inside what this one replaces.

        What is inserted before it or behind it does not.
        """
        if other.start == other.end:
            return self.start < other.start < self.end
        return self.start <= other.start and other.end <= self.end


def outermost(edits: Sequence[Edit]) -> list[Edit]:
    """The edits that no other one holds; of those of one region the last, which has the others."""
    return [
        edit
        for number, edit in enumerate(edits)
        if not any(
            other.holds(edit) and (later > number or not edit.holds(other))
            for later, other in enumerate(edits)
            if later != number
        )
    ]


class Change(Struct, frozen=True):
    """One place that the later generation does not take as it is.

    ``edits`` (none: nobody but the author can say) make of it what means the same there; ``title``
    says what they do.
    """

    rule: str
    span: Span
    message: str
    weight: Weight
    facts: tuple[str, ...] = ()
    help: tuple[str, ...] = ()
    title: str = ""
    edits: tuple[Edit, ...] = ()


def together(changes: Sequence[Change]) -> list[Change]:
    """The changes with the edits of all that have to be made at once.

    An edit that replaces a region has the changes inside of it in its text. Edits that touch each
    other are made together or not at all, and so are those of one change.
    """
    owners: dict[Edit, list[int]] = {}
    for number, change in enumerate(changes):
        for edit in change.edits:
            owners.setdefault(edit, []).append(number)
    group = list(range(len(changes)))

    def of(number: int) -> int:
        while group[number] != number:
            number = group[number]
        return number

    for numbers in owners.values():
        for number in numbers[1:]:
            group[of(number)] = of(numbers[0])
    ordered = sorted(owners, key=lambda edit: (edit.start, edit.end))
    for position, edit in enumerate(ordered):
        for other in ordered[position + 1 :]:
            if other.start > edit.end:
                break
            group[of(owners[other][0])] = of(owners[edit][0])
    kept: dict[int, list[Edit]] = {}
    for edit in outermost(ordered):
        kept.setdefault(of(owners[edit][0]), []).append(edit)
    return [
        replace(change, edits=tuple(kept.get(of(number), ()))) if change.edits else change
        for number, change in enumerate(changes)
    ]
