from __future__ import annotations

from pathlib import Path

from verifier.configuration.model import ConfigurationError, Overrides
from verifier.configuration.settings import Configurations


def tree(root: Path, **files: str) -> None:
    """Files of a repository; ``__`` in a name stands for ``/``, and each ends in ``.toml``."""
    (root / ".git").mkdir(exist_ok=True)
    for name, text in files.items():
        file = root / f"{name.replace('__', '/')}.toml"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")


def mistakes(path: str, overrides: Overrides | None = None) -> list[str]:
    """What is wrong with the configuration of a file."""
    try:
        Configurations(overrides).for_file(path)
    except ConfigurationError as error:
        return str(error).splitlines()
    return []
