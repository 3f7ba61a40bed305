"""The modules in a folder are those that ``pkgutil`` finds there."""

from __future__ import annotations

import pkgutil
from pathlib import Path

import pytest

from verifier.source import footprint, listing
from verifier.source.project import Project

FOLDERS: dict[str, tuple[str, ...]] = {
    "modules and packages": ("b.py", "a/__init__.py", "__init__.py", "c.txt"),
    "a package in front of a module of its name": ("a.py", "a/__init__.py"),
    "a folder that is no package": ("a/b.py", "data/x.csv", "c.py"),
    "names with dots": ("a.b.py", "x.y/__init__.py", "c.py"),
    "a package whose text is elsewhere": (
        "a/__init__.pyc",
        "b/__pycache__/__init__.cpython-311.pyc",
    ),
    "names with spaces": ("a b.py", "a-b/__init__.py"),
    "what Python wrote": ("__pycache__/a.cpython-311.pyc", "a.py"),
    "nothing": (),
}


@pytest.mark.parametrize("name", FOLDERS)
def test_folders(tmp_path: Path, name: str) -> None:
    for file in FOLDERS[name]:
        path = tmp_path / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("", encoding="utf-8")
    found = Project([tmp_path]).parts(str(tmp_path))
    assert found == tuple((m.name, m.ispkg) for m in pkgutil.iter_modules([str(tmp_path)]))


def test_what_depends_on_the_python_that_reads_it_is_not_known(tmp_path: Path) -> None:
    (tmp_path / "fast.cpython-311-x86_64-linux-gnu.so").write_bytes(b"")
    assert Project([tmp_path]).parts(str(tmp_path)) is None
    assert Project([tmp_path]).parts(str(tmp_path / "nowhere")) is None


def test_a_module_more_is_seen(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("", encoding="utf-8")
    lookup = (str(tmp_path), "", footprint.LISTED)
    with footprint.recording() as seen:
        Project([tmp_path]).parts(str(tmp_path))
    assert Project([tmp_path]).located(lookup) == seen.lookups[lookup]
    (tmp_path / "b.py").write_text("", encoding="utf-8")
    assert Project([tmp_path]).located(lookup) != seen.lookups[lookup]
    assert listing.parts(listing.listed(str(tmp_path))) == (("a", False), ("b", False))
