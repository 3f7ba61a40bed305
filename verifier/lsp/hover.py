"""What hovering shows: the findings at a place, a tile and what is known about it, a rule."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

from verifier.lsp.text import Position
from verifier.report.model import Diagnostic, KernelReport, Span, Tile

_COMMENT: Final = re.compile(r"#\s*tilelint:\s*ignore(?:-file)?\s*\[([^\]]*)\]")
_NAME: Final = re.compile(r"[^\W\d]\w*")
_RULE: Final = re.compile(r"[\w-]+")


def contains(span: Span, place: Position) -> bool:
    """Whether a position is in a span; the end counts, as a cursor may stand there."""
    start = Position(span.line - 1, span.column)
    end = Position(span.end_line - 1, span.end_column)
    return start <= place <= end


def rule_at(line: str, column: int) -> str | None:
    """The rule that a suppression names at a column, if one does."""
    for comment in _COMMENT.finditer(line):
        for name in _RULE.finditer(line, comment.start(1), comment.end(1)):
            if name.start() <= column <= name.end():
                return name.group()
    return None


def tile_at(
    tiles: Sequence[tuple[KernelReport, Tile]], line: str, place: Position
) -> list[tuple[KernelReport, Tile]]:
    """The tiles at a position, one per kernel and target.

    The innermost place of a tile wins; on a name elsewhere it is the tile of that name that was
    made or used last before.
    """
    here = [(k, t) for k, t in tiles if t.use and contains(t.span, place)]
    if here:
        smallest = min(_size(t.span) for _, t in here)
        return _first_of_each((k, t) for k, t in here if _size(t.span) == smallest)
    word = next(
        (m.group() for m in _NAME.finditer(line) if m.start() <= place.column <= m.end()), ""
    )
    named = [(k, t) for k, t in tiles if t.name == word and not t.use]
    before = [(k, t) for k, t in named if t.span.line - 1 <= place.line] or named[:1]
    if before:
        last = max(t.span.line for _, t in before)
        return _first_of_each((k, t) for k, t in before if t.span.line == last)
    made = [(k, t) for k, t in tiles if not t.use and contains(t.span, place)]
    return _first_of_each(made)


def _size(span: Span) -> tuple[int, int]:
    return span.end_line - span.line, span.end_column - span.column


def _first_of_each(
    tiles: Iterable[tuple[KernelReport, Tile]],
) -> list[tuple[KernelReport, Tile]]:
    found: dict[tuple[str, str, str, Tile], tuple[KernelReport, Tile]] = {}
    for kernel, tile in tiles:
        found.setdefault((kernel.name, kernel.target, kernel.contract, tile), (kernel, tile))
    return list(found.values())


def tile_text(found: Sequence[tuple[KernelReport, Tile]]) -> str:
    """Everything about a tile; several kernels that say the same of it are named together."""
    texts: dict[str, list[str]] = {}
    for kernel, tile in found:
        texts.setdefault(described(tile), []).append(kernel.name)
    if len(texts) == 1:
        return next(iter(texts))
    return "\n\n".join(
        f"in {', '.join(f'`{n}`' for n in dict.fromkeys(names))}:\n\n{text}"
        for text, names in texts.items()
    )


def described(tile: Tile) -> str:
    """What is known about a tile."""
    lines = [f"```python\n{tile.name}: {tile.dtype}[{', '.join(tile.shape)}]  # {tile.buffer}\n```"]
    if tile.bytes_per_partition:
        lines.append(f"**bytes per partition** {tile.bytes_per_partition}  ")
    if tile.live:
        lines.append(f"**live here** {tile.live}  ")
    lines += [f"- `{size}`: {what}" for size, what in tile.known]
    return "\n".join(lines)


def finding_text(diagnostic: Diagnostic, summary: str) -> str:
    """A finding with everything it comes with."""
    lines = [f"**{diagnostic.rule}**: {diagnostic.message}", ""]
    if summary:
        lines.append(f"*{summary}*  ")
    if diagnostic.predicate:
        lines.append(f"required: `{diagnostic.predicate}`  ")
    if diagnostic.counterexample:
        lines += ["", "| input | value |", "| --- | --- |"]
        lines += [f"| `{name}` | `{value}` |" for name, value in diagnostic.counterexample.items()]
        lines.append("")
    lines += [f"- {note}" for note in diagnostic.notes]
    lines += [
        f"- **help**: `{text}`" if _code(text) else f"- **help**: {text}"
        for text in diagnostic.help
    ]
    return "\n".join(lines)


def _code(text: str) -> bool:
    return text.startswith("assert ") and "`" not in text
