"""Where results are kept between runs."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

#: the folder; empty: none
VARIABLE: Final = "TILELINT_CACHE_DIR"


def folder(said: str | None) -> Path | None:
    """The folder that an option or the configuration names, else the environment, else the user's.

    None if the environment says that there is none.
    """
    if said is not None:
        return Path(said)
    variable = os.environ.get(VARIABLE)
    if variable is not None:
        return Path(variable) if variable else None
    import platformdirs

    return platformdirs.user_cache_path("tilelint", appauthor=False)
