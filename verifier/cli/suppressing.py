"""Suppressions in the files of a run."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from verifier.report.model import FileResult


class Texts:
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


@dataclass(frozen=True, slots=True)
class Finish:
    """From what the analysis found to what is reported: suppressions, then severities.

    ``complete``: the results are of all kernels that may come to these files. ``narrow``: the
    command line leaves something out that is checked at other times.
    """

    selected: Callable[[str], Collection[str]]
    weighed: Callable[[FileResult], FileResult]
    complete: bool
    narrow: bool = False
    _disk: Texts = field(default_factory=lambda: Texts())

    def __call__(self, results: Sequence[FileResult], texts: Mapping[str, str]) -> list[FileResult]:
        """``texts`` stand in place of what is on disk."""

        def read(path: str) -> str | None:
            return texts[path] if path in texts else self._disk(path)

        marked = mark(
            results, read, selected=self.selected, whole=self.complete, narrow=self.narrow
        )
        return [self.weighed(result) for result in marked]


def mark(
    results: Sequence[FileResult],
    read: Callable[[str], str | None],
    *,
    selected: Callable[[str], Collection[str]] | None = None,
    whole: bool = False,
    narrow: bool = False,
) -> list[FileResult]:
    """See :func:`verifier.engine.suppressions.apply`, which is only loaded if there are any."""
    from verifier.source.suppressions import may_suppress

    paths = dict.fromkeys(result.path for result in results if result.path)
    paths |= dict.fromkeys(d.span.path for result in results for d in result.diagnostics)
    places = (j.span for r in results for kernel in r.kernels for j in kernel.judged)
    paths |= dict.fromkeys(place.path for place in places)
    texts = (read(path) for path in paths)
    if not any(text is not None and may_suppress(text) for text in texts):
        return list(results)
    from verifier.engine.suppressions import apply

    return apply(results, read, selected=selected, whole=whole, narrow=narrow)
