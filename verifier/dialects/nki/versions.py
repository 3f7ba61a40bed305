"""The generations of NKI, oldest first, and what they have otherwise than later ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from msgspec.structs import replace

from verifier.symbolic.generation import Generation

GENERATIONS: Final[tuple[str, ...]] = ("beta1", "0.2", "0.3", "0.4", "0.5", "0.6")


def newer(generation: str, than: str) -> bool:
    """Whether ``generation`` is ``than`` or later."""
    return GENERATIONS.index(generation) >= GENERATIONS.index(than)


#: what all have
_NKI: Final = Generation(name="", undefined="NKI-B20", hbm_private=True)


def _generation(name: str) -> Generation:
    beta1, before_0_3 = name == "beta1", name in ("beta1", "0.2")
    return replace(
        _NKI,
        name=name,
        earlier=GENERATIONS[: GENERATIONS.index(name)],
        hbm_returned=before_0_3,  # NKI-B18, NKI-M060
        had_blocks=beta1,  # NKI-L76: SDK 2.25 ended them
        declares_updates=beta1,  # NKI-B26
        looks_at_uses=beta1,  # NKI-P02: a rank that does not do is told where it is indexed
        scoped=beta1,  # NKI-B21, NKI-E25
        only_outputs_placed=beta1,  # NKI-B13
        reorders=beta1,  # NKI-LP02: `affine_range`
        sums_by_operator=beta1,  # NKI-OLD03
        fuses_loops=beta1,  # direct allocation: NKI-B24 counts what is placed by hand
        fits_tiles=beta1,  # NKI-L21, NKI-TRN06: what later generations reject it converts or copies
        fits_language=before_0_3,  # NKI-L26, NKI-L27, NKI-L33
        fits_transfers=before_0_3,  # NKI-B27, NKI-DCP02, NKI-D04
        multiplies_ocp=newer(name, "0.4"),  # NKI-H84, NKI-M104
        scales_typed=newer(name, "0.5"),  # NKI-MMX04, NKI-M116
        multiplies_wide=newer(name, "0.5"),  # NKI-MMX08, NKI-M117
    )


#: by name
DESCRIBED: Final[Mapping[str, Generation]] = {name: _generation(name) for name in GENERATIONS}


#: the package of Beta 1 stays in the SDKs of 0.2 and 0.3, with a warning (NKI-M001): what 0.2
#: brought may be found there, too, as the tests of SDK 2.27 do
_BESIDE: Final[Mapping[str, str]] = {"beta1": "0.2"}


def insists(generation: str, since: str) -> str | None:
    """How severe it is that a name came with a later generation; None: as the rule says."""
    return "warning" if _BESIDE.get(generation) == since else None


def following(generation: str) -> str:
    """The generation after one that is not the last."""
    return GENERATIONS[GENERATIONS.index(generation) + 1]


def said(generation: str) -> str:
    """A generation as messages say it."""
    return "NKI Beta 1" if generation == "beta1" else f"NKI {generation}"
