"""Applying the fixes of a file as the command does, in memory."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.fixtures.support import settings_of
from verifier.cli.fix import Again, Fixing
from verifier.configuration.model import Overrides
from verifier.configuration.settings import Configurations
from verifier.report.model import FileRequest, FileResult
from verifier.service.policy import Policy
from verifier.service.results import Finish


def request(path: Path) -> FileRequest:
    """The request for a fixture, with the target and generation that its first line names."""
    settings = settings_of(path.read_bytes().decode("utf-8-sig"))
    return FileRequest(
        path=str(path),
        roots=(str(path.parent),),
        targets=settings.targets,
        api_version=settings.api_version,
    )


def finish(path: Path) -> Finish:
    """The last step of a check that no configuration says anything of."""
    policy = Policy(Configurations(Overrides(isolated=True)))
    policy.settled(str(path))
    return Finish(policy)


def mend(path: Path, *, write: bool = False) -> tuple[Fixing, FileResult, FileResult]:
    """What fixing a file does, and what is reported before and after."""
    again = Again([request(path)])
    before = again({}, [str(path)])
    (first,) = finish(path)(before)
    fixing = Fixing(unsafe=True, write=write)
    after = fixing.fix(before, again, finish(path))
    texts = {name: new for name, (_, new) in fixing.changed.items()}
    (last,) = finish(path)(after, texts)
    return fixing, first, last


def copied(path: Path, folder: Path) -> Path:
    """A fixture in another folder, with what it may import of the files beside it."""
    text = path.read_text(encoding="utf-8")
    for other in path.parent.glob("*.py"):
        if other == path or other.stem.startswith("_") or other.stem in text:
            shutil.copy(other, folder)
    return folder / path.name
