"""What hovering shows: the findings at a place, a tile and what is known about it, a rule."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from msgspec.structs import replace

from verifier.lsp.text import Position
from verifier.report.details import remarks
from verifier.report.model import Diagnostic, KernelReport, Precondition, Span, Tile

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
    if diagnostic.predicate and diagnostic.precondition is None:
        lines.append(f"required: `{diagnostic.predicate}`  ")
    if diagnostic.counterexample:
        lines += ["", "| input | value |", "| --- | --- |"]
        lines += [f"| `{name}` | `{value}` |" for name, value in diagnostic.counterexample.items()]
        lines.append("")
    lines += [f"- {note}" for note in remarks(diagnostic)]
    if diagnostic.assertion:
        lines.append(f"- **help**: `assert {diagnostic.assertion}`")
    lines += [f"- **help**: {text}" for text in diagnostic.help]
    return "\n".join(lines)


def known_of(kernel: KernelReport) -> str:
    """For which inputs a kernel is right, in a sentence."""
    condition = kernel.precondition
    if condition is None or kernel.status == "verified":
        return f"`{kernel.name}` is right on {kernel.target} for every input that it admits"
    if not condition.main and kernel.status == "conditional":
        return f"`{kernel.name}` is right on {kernel.target} for every input that fits its memory"
    if not condition.main:
        return f"`{kernel.name}` is not verified on {kernel.target}"
    return replace(condition, contract=kernel.contract).headline(kernel.name, (kernel.target,))


def kernels_at(
    kernels: Iterable[KernelReport], line: Callable[[int], str], place: Position
) -> list[str]:
    """What is known of the kernels whose names stand at a position, where they are defined."""
    texts = []
    for kernel in kernels:
        name = kernel.name.rpartition(".")[2]
        found = re.search(rf"\bdef\s+({re.escape(name)})\b", line(place.line))
        if kernel.precondition is None or found is None or kernel.line - 1 != place.line:
            continue
        if found.start(1) <= place.column <= found.end(1):
            texts.append(_kernel_text(kernel, kernel.precondition))
    return list(dict.fromkeys(texts))


def _kernel_text(kernel: KernelReport, condition: Precondition) -> str:
    lines = [known_of(kernel), ""]
    lines += [f"- {text}" for text in _conditions(condition)]
    lines += [f"- dtypes: `{conjunct.text}`" for conjunct in condition.dtypes]
    if condition.asserted:
        lines.append(f"- it asserts {' and '.join(f'`{text}`' for text in condition.asserted)}")
    if condition.assumed:
        lines.append(f"- it assumes {' and '.join(f'`{text}`' for text in condition.assumed)}")
    lines += [f"- not decided: {text}" for text in condition.undecided]
    return "\n".join(lines)


def _conditions(condition: Precondition) -> Iterable[str]:
    """What needs each condition, and what breaks it."""
    for c in condition.main:
        breach = f" (`{c.breach}` breaks it)" if c.breach else ""
        yield f"`{c.text}`: {c.told}{breach}"
