"""What was found, in the text it was found in, and where it is by now."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from verifier.lsp.messages import Answer
from verifier.lsp.text import Buffer, Change, moved, touched
from verifier.report.model import (
    Diagnostic,
    Edit,
    FileError,
    Fix,
    KernelReport,
    Label,
    Span,
    Tile,
    deduplicate,
)

#: revision of every buffer, by path, at the time of an analysis
Revisions = Mapping[str, int]


class Checked(Struct, frozen=True):
    """What an analysis of a file found.

    ``kept`` is of earlier ones: findings in definitions that do not parse at the moment, and of
    kernels that were not finished. Each comes with the revisions it belongs to.
    """

    path: str
    revisions: Revisions
    diagnostics: tuple[Diagnostic, ...]
    kernels: tuple[KernelReport, ...]
    errors: tuple[FileError, ...] = ()
    kept: tuple[tuple[Diagnostic, Revisions], ...] = ()
    kept_kernels: tuple[tuple[KernelReport, Revisions], ...] = ()


class Found(Struct, frozen=True):
    """A diagnostic at its place in the text as it is now.

    ``about`` is the file that was analysed. ``kept``: it is of an earlier text.
    """

    diagnostic: Diagnostic
    about: str
    kept: bool = False


class Findings:
    """The last results of every file that is open."""

    def __init__(self, buffers: Mapping[str, Buffer]) -> None:
        self._buffers = buffers
        self._checked: dict[str, Checked] = {}

    def __contains__(self, path: str) -> bool:
        return path in self._checked

    def checked(self, path: str) -> Checked | None:
        return self._checked.get(path)

    def revision(self, path: str) -> int | None:
        """The revision of a buffer that was analysed last."""
        found = self._checked.get(path)
        return found.revisions.get(path) if found is not None else None

    def drop(self, path: str) -> None:
        """The file is closed."""
        self._checked.pop(path, None)

    def take(self, path: str, revisions: Revisions, answer: Answer) -> None:
        """The result of an analysis takes the place of the one before, unless it was refused."""
        assert answer.result is not None
        before = self._checked.get(path)
        result = answer.result
        if answer.refused and before is not None:
            kept_findings, known = tuple(_diagnostics(before)), tuple(_kernels(before))
            self._checked[path] = Checked(
                path, revisions, (), (), result.errors, kept_findings, known
            )
            return
        cut = set(answer.short)
        kept: list[tuple[Diagnostic, Revisions]] = []
        kept_kernels: list[tuple[KernelReport, Revisions]] = []
        if before is not None and (answer.broken or cut):
            names = {kernel.name for kernel in result.kernels}
            if answer.broken:
                cut |= {k.name for k, _ in _kernels(before) if k.name not in names}
            for diagnostic, of in _diagnostics(before):
                if diagnostic.kernel in cut or self._inside(
                    diagnostic.span, of, path, revisions, answer
                ):
                    kept.append((diagnostic, of))
            kept_kernels = [(k, of) for k, of in _kernels(before) if k.name in cut]
        self._checked[path] = Checked(
            path,
            revisions,
            result.diagnostics,
            result.kernels,
            result.errors,
            tuple(kept),
            tuple(kept_kernels),
        )

    def _inside(self, span: Span, of: Revisions, path: str, now: Revisions, answer: Answer) -> bool:
        """Whether a place was in what does not parse any more."""
        buffer = self._buffers.get(path)
        if span.path != path or buffer is None or path not in of or path not in now:
            return False
        changes = buffer.between(of[path], now[path])
        place = moved(span, changes) if changes is not None else None
        return place is not None and any(a <= place.line <= b for a, b in answer.broken)

    # ----------------------------------------------------------------- where things are by now

    def paths(self) -> set[str]:
        """The files that findings or errors lie in."""
        found = set(self._checked)
        for checked in self._checked.values():
            found.update(diagnostic.span.path for diagnostic, _ in _diagnostics(checked))
            found.update(error.path for error in checked.errors)
        return found

    def found(self, *, parts: bool) -> list[Found]:
        """Everything that was found and is not suppressed, once each; ``parts``: also what the
        kernels' preconditions stand for."""
        by_place: dict[tuple[Span, str, str], list[Found]] = {}
        for about, checked in self._checked.items():
            for number, (diagnostic, of) in enumerate(_diagnostics(checked)):
                if diagnostic.suppressed is not None or (diagnostic.part and not parts):
                    continue
                placed = self._placed(diagnostic, of)
                if placed is not None:
                    item = Found(placed, about, number >= len(checked.diagnostics))
                    key = (placed.span, placed.rule, placed.kernel)
                    by_place.setdefault(key, []).append(item)
        out = []
        # a kernel that was given another name has its earlier findings under the old one
        anew = {(span, rule) for (span, rule, _), items in by_place.items() if not _all_kept(items)}
        for (span, rule, _), items in by_place.items():
            if (span, rule) in anew and _all_kept(items):
                continue
            for best in deduplicate(item.diagnostic for item in items):
                own = next((i for i in items if i.about == best.span.path), items[0])
                out.append(Found(best, own.about, _all_kept(items)))
        return out

    def tiles(self, path: str) -> Iterator[tuple[KernelReport, Tile]]:
        """The tiles that are shown in a file, with the kernels they are of."""
        for checked in self._checked.values():
            for kernel, of in _kernels(checked):
                for tile in kernel.tiles:
                    if tile.span.path == path:
                        span = self._moved(tile.span, of)
                        if span is not None:
                            yield kernel, replace(tile, span=span)

    def errors(self, path: str) -> list[FileError]:
        """What is wrong with a file as a whole, at the lines where that is now, each once: also
        with a configuration, which the files that it is for tell."""
        out: dict[FileError, None] = {}
        for checked in self._checked.values():
            for error in checked.errors:
                if error.path == path:
                    line = self._line(path, error.line, checked.revisions)
                    out[replace(error, line=line)] = None
        return list(out)

    def kernels(self, path: str) -> list[KernelReport]:
        """The kernels of a file, at the lines where they are now."""
        checked = self._checked.get(path)
        if checked is None:
            return []
        return [
            replace(kernel, line=self._line(path, kernel.line, of))
            for kernel, of in _kernels(checked)
            if kernel.path == path
        ]

    def _line(self, path: str, line: int, of: Revisions) -> int:
        place = self._moved(Span(path, line, 0, line, 0), of)
        return place.line if place is not None else line

    def _changes(self, path: str, of: Revisions) -> Sequence[Change] | None:
        buffer = self._buffers.get(path)
        if buffer is None:
            return ()
        if path not in of:  # it was opened afterwards: as it is on disk, unless it was edited
            return buffer.since(0)
        return buffer.since(of[path])

    def _moved(self, span: Span, of: Revisions) -> Span | None:
        changes = self._changes(span.path, of)
        return moved(span, changes) if changes is not None else None

    def _placed(self, diagnostic: Diagnostic, of: Revisions) -> Diagnostic | None:
        span = self._moved(diagnostic.span, of)
        if span is None:
            return None
        labels = []
        for label in diagnostic.labels:
            place = self._moved(label.span, of)
            if place is not None:
                labels.append(Label(place, label.text))
        return replace(
            diagnostic, span=span, labels=tuple(labels), fix=self._fix(diagnostic.fix, of)
        )

    def _fix(self, fix: Fix | None, of: Revisions) -> Fix | None:
        if fix is None:
            return None
        edits = []
        for edit in fix.edits:
            changes = self._changes(edit.span.path, of)
            place = moved(edit.span, changes) if changes is not None else None
            if changes is None or place is None or touched(edit.span, changes):
                return None
            edits.append(Edit(place, edit.text))
        return replace(fix, edits=tuple(edits))


def _diagnostics(checked: Checked) -> Iterable[tuple[Diagnostic, Revisions]]:
    for diagnostic in checked.diagnostics:
        yield diagnostic, checked.revisions
    yield from checked.kept


def _kernels(checked: Checked) -> Iterable[tuple[KernelReport, Revisions]]:
    for kernel in checked.kernels:
        yield kernel, checked.revisions
    yield from checked.kept_kernels


def _all_kept(items: Iterable[Found]) -> bool:
    return all(item.kept for item in items)
