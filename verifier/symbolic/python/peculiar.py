"""What fields of a kernel API's own classes ask for that is documented for data classes only."""

from __future__ import annotations

from collections.abc import Collection
from enum import Enum
from typing import Final


class Peculiar(Enum):
    """What is open of a field, in words."""

    #: ``field(init=False)``, ``ClassVar``: no parameter
    NO_PARAMETER = "is no parameter"
    #: ``field(kw_only=True)``, and all behind ``KW_ONLY``: a parameter by keyword
    KEYWORD = "is a parameter by keyword only"
    #: ``InitVar``: a parameter, of ``__post_init__`` as well
    HANDED_ON = "is handed on to `__post_init__`"
    #: ``field(compare=False)``
    LEFT_OUT = "is left out of comparison"

    def decides(self, name: str, positional: Collection[str], keywords: Collection[str]) -> bool:
        """Whether a constructor that is given fields by these names hangs on it for one of them."""
        named = self is Peculiar.NO_PARAMETER and name in keywords
        placed = self is not Peculiar.LEFT_OUT and name in positional
        return named or placed or self is Peculiar.HANDED_ON


#: markers in annotations
MARKERS: Final = {
    "ClassVar": Peculiar.NO_PARAMETER,
    "KW_ONLY": Peculiar.KEYWORD,
    "InitVar": Peculiar.HANDED_ON,
}

__all__ = ["MARKERS", "Peculiar"]
