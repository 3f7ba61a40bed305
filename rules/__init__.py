"""The rules of tilelint, a family per module. :func:`load` registers them all."""

from __future__ import annotations

import importlib
import pkgutil


def load() -> None:
    """Import every module of this package; each registers its rules when imported."""
    for info in pkgutil.walk_packages(__path__, prefix=f"{__name__}."):
        importlib.import_module(info.name)
