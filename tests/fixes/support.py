"""Applying the fixes of a file as the command does, in memory."""

from __future__ import annotations

from pathlib import Path

from tests.fixtures.support import settings_of
from verifier.cli.fix import Again, Fixing
from verifier.cli.suppressing import Finish
from verifier.report.model import FileRequest, FileResult
from verifier.rulebase import all_rules


def request(path: Path) -> FileRequest:
    """The request for a fixture, with the target and generation that its first line names."""
    settings = settings_of(path.read_bytes().decode("utf-8-sig"))
    return FileRequest(
        path=str(path),
        roots=(str(path.parent),),
        targets=settings.targets,
        api_version=settings.api_version,
    )


def finish() -> Finish:
    rules = {rule.id for rule in all_rules()}
    return Finish(lambda _: rules, lambda result: result, complete=False)


def mend(path: Path, *, write: bool = False) -> tuple[Fixing, FileResult, FileResult]:
    """What fixing a file does, and what is reported before and after."""
    again = Again([request(path)])
    before = again({}, [str(path)])
    (first,) = finish()(before, {})
    fixing = Fixing(unsafe=True, write=write)
    after = fixing.fix(before, again, finish())
    texts = {name: new for name, (_, new) in fixing.changed.items()}
    (last,) = finish()(after, texts)
    return fixing, first, last
