"""The standard library: which modules and names are not there to be imported.

The Python that runs this tells what its standard library has, as far as it has loaded that for its
own use: nothing is imported to find out. What cannot be told is taken to be there.
"""

from __future__ import annotations

import importlib.util
import sys
from functools import lru_cache
from importlib.machinery import EXTENSION_SUFFIXES
from types import ModuleType


def is_standard(dotted: str) -> bool:
    """Whether a module is one of the standard library's, or would be."""
    return dotted.partition(".")[0] in sys.stdlib_module_names


def module_error(dotted: str) -> str | None:
    """What ``import dotted`` fails with, ``None`` if it is not known to fail."""
    if not is_standard(dotted):
        return None
    names = dotted.split(".")
    for count in range(2, len(names) + 1):
        found = _submodule_error(".".join(names[:count]))
        if found is not None:
            return found
    return None


def name_error(dotted: str, name: str) -> str | None:
    """What ``from dotted import name`` fails with, ``None`` if it is not known to fail."""
    found = module_error(dotted)
    if found is not None or has(dotted, name) is not False:
        return found
    return f"cannot import name '{name}' from '{dotted}'"


@lru_cache(maxsize=4096)
def has(dotted: str, name: str) -> bool | None:
    """Whether a module of the standard library has a name; ``None`` if that is not known."""
    module = _module(dotted)
    if module is None:
        return None
    if hasattr(module, name):
        return True
    return hasattr(module, "__path__") and _is_found(f"{dotted}.{name}")


@lru_cache(maxsize=256)
def exports(dotted: str) -> frozenset[str] | None:
    """The names that ``from dotted import *`` binds; ``None`` if that is not known."""
    module = _module(dotted)
    if module is None:
        return None
    public = (name for name in dir(module) if not name.startswith("_"))
    return frozenset(getattr(module, "__all__", None) or public)


@lru_cache(maxsize=4096)
def _submodule_error(dotted: str) -> str | None:
    owner = dotted.rpartition(".")[0]
    module = _module(owner)
    if dotted in sys.modules or module is None:
        return None
    if not hasattr(module, "__path__"):
        return f"No module named '{dotted}'; '{owner}' is not a package"
    return None if _is_found(dotted) else f"No module named '{dotted}'"


@lru_cache(maxsize=256)
def is_compiled(dotted: str) -> bool:
    """Whether a module is not written in Python: nobody puts names into it, as libraries do into
    ``logging``."""
    origin = getattr(getattr(_module(dotted), "__spec__", None), "origin", None) or ""
    return origin.endswith(("built-in", *EXTENSION_SUFFIXES))


def _module(dotted: str) -> ModuleType | None:
    """A module of the standard library that can be looked at."""
    return sys.modules.get(dotted) if is_standard(dotted) else None


def _is_found(dotted: str) -> bool:
    try:
        return importlib.util.find_spec(dotted) is not None
    except (ImportError, ValueError, AttributeError):
        return False
