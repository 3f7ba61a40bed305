"""What gives meaning to the names and calls of kernel APIs, a package per dialect."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from verifier.dialects.nki import NkiDialect
from verifier.dialects.nki.isa import INSTRUCTIONS
from verifier.dialects.okk import OkkDialect
from verifier.dialects.ppl import PplDialect
from verifier.symbolic.dialect import Dialect
from verifier.symbolic.instruction import Instruction
from verifier.symbolic.python.vm import VM

#: the dialects that are interpreted, by the names that discovery gives them
DIALECTS: Final[Mapping[str, Callable[[], Dialect[VM]]]] = {
    "nki": NkiDialect,
    "okk": OkkDialect,
    "ppl": PplDialect,
}


def instructions() -> tuple[Instruction, ...]:
    """Every function that is described."""
    return tuple(INSTRUCTIONS.values())
