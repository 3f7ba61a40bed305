"""From what the engine found to what is reported: suppressions, preconditions, severities."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct, field

from verifier.report.model import FileResult
from verifier.service.launched import launched, with_launching
from verifier.service.policy import Policy

if TYPE_CHECKING:
    from verifier.source.project import Project

#: the text of a file, or None if it cannot be read
Reader: TypeAlias = Callable[[str], str | None]


class Disk:
    """The texts of files on disk, each read once."""

    def __init__(self) -> None:
        self._texts: dict[str, str | None] = {}

    def __call__(self, path: str) -> str | None:
        """The text of a file, or None if it cannot be read."""
        if path not in self._texts:
            from verifier.source.text import SourceError, decode, read_bytes

            try:
                self._texts[path] = decode(Path(path), read_bytes(Path(path))).text
            except SourceError:
                self._texts[path] = None
        return self._texts[path]


class Finish(Struct, frozen=True):
    """The last step of every check.

    ``complete``: the results are of all kernels that may come to these files. ``others`` are files
    without kernels that are checked with them, ``project`` makes one in which imports are looked up
    (None: they are not followed).
    """

    policy: Policy
    complete: bool = False
    read: Reader = field(default_factory=Disk)
    others: Sequence[str] = ()
    project: Callable[[], Project] | None = None

    def __call__(
        self, results: Sequence[FileResult], texts: Mapping[str, str] | None = None
    ) -> list[FileResult]:
        """``texts`` stand in place of what ``read`` says."""
        return [self.policy.weighed(result) for result in self._marked(results, texts or {})]

    def _marked(
        self, results: Sequence[FileResult], texts: Mapping[str, str]
    ) -> Sequence[FileResult]:
        """See :func:`verifier.engine.suppressions.apply`, which is only loaded if there are any."""
        from verifier.source.suppressions import may_suppress

        def read(path: str) -> str | None:
            return texts[path] if path in texts else self.read(path)

        results = with_launching(results, self.others, read)
        paths = dict.fromkeys(result.path for result in results if result.path)
        paths |= dict.fromkeys(d.span.path for result in results for d in result.diagnostics)
        places = (j.span for r in results for kernel in r.kernels for j in kernel.judged)
        paths |= dict.fromkeys(place.path for place in places)

        def stated(results: Sequence[FileResult]) -> list[FileResult]:
            found = launched(results, self.policy, read, self.project)
            return [self.policy.stated(result, read) for result in found]

        known = (read(path) for path in paths)
        if not any(text is not None and may_suppress(text) for text in known):
            return stated(results)
        from verifier.engine.suppressions import apply

        return apply(
            results,
            read,
            stated,
            selected=self.policy.selected,
            whole=self.complete,
            narrow=self.policy.configurations.overrides.narrow,
        )
