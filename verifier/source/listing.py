"""The modules that are in a folder by the names of its files, as ``pkgutil`` finds them."""

# Plain strings, as in `project`.
# ruff: noqa: PTH112, PTH118, PTH208

from __future__ import annotations

import os
from typing import Final

#: endings of modules that are no text; which of them Python takes depends on where it runs
_COMPILED: Final = (".pyc", ".pyd", ".so")
#: what is between the names
_APART: Final = "\0"
#: what stands for a folder whose modules depend on the Python that reads it, or that is not there
UNKNOWN: Final = "?"


def listed(folder: str) -> str:
    """The modules in a folder as one text, to compare and to read with :func:`parts`."""
    found: dict[str, bool] = {}
    try:
        names = sorted(os.listdir(folder))
        for name in names:
            if name.endswith(_COMPILED):
                return UNKNOWN
            module = name.removesuffix(".py")
            if module != name:
                if module not in ("__init__", *found) and "." not in module:
                    found[module] = False
            elif _is_package(os.path.join(folder, name)) and "." not in name:
                found.setdefault(name, True)
    except OSError:
        return UNKNOWN
    return _APART.join(name + "/" * package for name, package in found.items())


def parts(text: str) -> tuple[tuple[str, bool], ...] | None:
    """What :func:`listed` says: the names, and whether each is a package; None: not known."""
    if text == UNKNOWN:
        return None
    return tuple((n.removesuffix("/"), n.endswith("/")) for n in text.split(_APART) if n)


def _is_package(folder: str) -> bool:
    return os.path.isdir(folder) and any(
        name in ("__init__.py", "__init__.pyc")
        or (name.startswith("__init__.") and name.endswith(_COMPILED[1:]))
        for name in _names(folder)
    )


def _names(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []
