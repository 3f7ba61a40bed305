"""Sequences: tuples, lists, ranges, slices, and the shapes of parameters."""

from __future__ import annotations

from typing import Final

from verifier.symbolic.python.kind import Kind
from verifier.symbolic.python.kinds import lists, longtuples, ranges, tuples
from verifier.symbolic.python.kinds.segments import pick, segments_of, values_in
from verifier.symbolic.python.vm import VM

KINDS: Final[dict[type, Kind[VM]]] = {
    **tuples.KINDS,
    **longtuples.KINDS,
    **lists.KINDS,
    **ranges.KINDS,
}
METHODS: Final = {**tuples.METHODS, **lists.METHODS, **ranges.METHODS}

__all__ = ["KINDS", "METHODS", "pick", "segments_of", "values_in"]
