"""What is only called otherwise in another generation of NKI: changes of text, not of meaning."""

from __future__ import annotations

from typing import Final

from verifier.dialects.nki.isa import INSTRUCTIONS
from verifier.dialects.nki.signatures import lookup

#: parameters under all their names, of functions without a description (NKI-M036, NKI-M058)
_PARAMETERS: Final[dict[str, tuple[frozenset[str], ...]]] = {
    "jit": (frozenset({"func", "fn"}),),
    "isa.register_move": (frozenset({"imm", "src"}),),
    "language.device_print": (
        frozenset({"prefix", "print_prefix"}),
        frozenset({"x", "tensor"}),
    ),
}

#: functions whose first argument is a shape, with the partition dimension first (NKI-M006)
SHAPED: Final = frozenset({"ndarray", "zeros", "ones", "full", "rand"})


def parameter(function: str, keyword: str, generation: str) -> str | None:
    """The name of a keyword in a generation, or None if it is not one that was renamed.

    ``function`` is the last part of the name (``register_move``).
    """
    described = {
        name: tuple(frozenset((role.name, *role.others)) for role in found.roles if role.others)
        for name, found in INSTRUCTIONS.items()
    }
    for full, groups in {**described, **_PARAMETERS}.items():
        if full.rpartition(".")[2] != function:
            continue
        signature = lookup(full, generation)
        for names in groups:
            if signature is not None and keyword in names and keyword not in signature.names:
                return next((name for name in signature.names if name in names), None)
    return None


def drops_dtype(generation: str) -> bool:
    """Whether instructions are given ``dtype=`` without any effect (NKI-N02, NKI-M003)."""
    return generation == "0.2"
