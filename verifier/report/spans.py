"""Regions of files, and what there is to say of one: of the diagnostics model."""

from __future__ import annotations

import os
from typing import Any

from msgspec import Struct
from msgspec.structs import replace


class Span(Struct, frozen=True, order=True):
    """A region of a file: 1-based lines, 0-based code-point columns, exclusive end."""

    path: str
    line: int
    column: int
    end_line: int
    end_column: int

    def touches(self, other: Span) -> bool:
        """Whether they share a place, be it only the end of one that is the start of another."""
        return (
            self.path == other.path
            and (self.line, self.column) <= (other.end_line, other.end_column)
            and (other.line, other.column) <= (self.end_line, self.end_column)
        )


def span_of(place: Any) -> Span:
    """A region of a source file, which has the same fields, as one of the diagnostics model."""
    return Span(place.path, place.line, place.column, place.end_line, place.end_column)


class Label(Struct, frozen=True):
    """A secondary place that explains the finding, such as the allocation of the operand."""

    span: Span
    text: str


class Subject(Struct, frozen=True):
    """The tensor that a finding is about, and the dimension of it; None: it is about all of it.

    ``given``: the parameter that it is; else ``made`` says where.
    """

    given: str = ""
    made: Span | None = None
    dimension: int | None = None


def subject_of(found: Any) -> Subject | None:
    """The subject of a check, which has the same fields, as one of the diagnostics model."""
    if found is None:
        return None
    made = None if found.made is None else span_of(found.made)
    return Subject(found.given, made, found.dimension)


def alike(one: Subject | None, other: Subject | None) -> bool:
    """Whether both are one tensor, and no two dimensions of it, or nothing is said of either."""
    if one is None or other is None:
        return one is other
    if None not in (one.dimension, other.dimension) and one.dimension != other.dimension:
        return False
    if one.made is None or other.made is None:
        return one.given == other.given != ""
    places = (replace(made, path=os.path.realpath(made.path)) for made in (one.made, other.made))
    return next(places).touches(next(places))
