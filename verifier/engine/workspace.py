"""Files under edit: checked again and again, each time only where something has changed."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from verifier.engine.analysis import analyze_file, project_of
from verifier.engine.memo import MemoryMemo
from verifier.report.model import FileRequest, FileResult
from verifier.source.project import Project
from verifier.source.recent import RecentModules
from verifier.source.sources import Sources

#: results that are kept: so many times what the files need that are checked, and some
_RESULTS_TIMES = 2
_RESULTS_MORE = 32


class Workspace:
    """The files of an editor: what is on disk, and the buffers that are not saved yet.

    Every check looks at the files anew; a kernel is analysed again only if a definition that it
    reaches has another text, or an import leads elsewhere.
    """

    def __init__(self) -> None:
        self._buffers: dict[str, str] = {}
        self._modules = RecentModules()
        self._memo = MemoryMemo()
        #: how many results a file needs
        self._needed: dict[str, int] = {}

    def open(self, path: str, text: str | None) -> None:
        """Take ``text`` in place of what a file holds; None: the file itself again."""
        file = os.path.abspath(path)  # noqa: PTH100  (links are not followed)
        if text is None:
            self._buffers.pop(file, None)
            self._needed.pop(file, None)
        else:
            self._buffers[file] = text

    @property
    def buffers(self) -> Mapping[str, str]:
        """The texts that are not saved yet, by absolute path."""
        return self._buffers

    def project(self, request: FileRequest) -> Project:
        """The files as they are now."""
        return project_of(request, Sources(self._buffers), self._modules)

    def check(self, request: FileRequest) -> FileResult:
        """The report of one file, as :func:`verifier.engine.analyze_file` gives it."""
        self._memo.asked.clear()
        result = analyze_file(request, self._memo, self.project(request))
        file = os.path.abspath(request.path)  # noqa: PTH100
        if file in self._buffers:
            self._needed[file] = len(self._memo.asked)
        self._memo.keep(_RESULTS_TIMES * sum(self._needed.values()) + _RESULTS_MORE)
        return result

    def text(self, path: str) -> str:
        """The text of a file, with ``\\n`` line ends.

        Raises:
            SourceError: the file cannot be read or decoded.
        """
        return Sources(self._buffers).text(Path(path)).text
