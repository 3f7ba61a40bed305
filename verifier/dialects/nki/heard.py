"""What a run has come by that the text does not say: the calls as they were bound, and loops."""

from __future__ import annotations

from msgspec import Struct, field

from verifier.source.ir import Span
from verifier.symbolic.machine import Call


class Heard(Struct):
    """``calls``: functions of the API by their canonical names, whatever the text calls them, with
    all that they were given; ``loops``: what goes on while a register says so."""

    calls: list[tuple[str, Call]] = field(default_factory=list)
    loops: list[Span] = field(default_factory=list)
