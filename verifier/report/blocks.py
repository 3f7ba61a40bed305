"""The block of a kernel's precondition: the condition, then a line for each of its parts."""

from __future__ import annotations

from collections.abc import Sequence

from verifier.report.details import remarks
from verifier.report.model import Conjunct, Diagnostic, Precondition
from verifier.report.text import Line, Options, Piece, cells, one_line, words, wrap

_INDENT = 4
#: cells of the longest condition that has the rest of its line beside it
_BESIDE = 40
#: conditions that are told one by one
_MOST = 8
#: pieces that say something although the others are left out
_FEW = 2


def block_lines(
    diagnostic: Diagnostic, condition: Precondition, options: Options, *, fix: bool
) -> list[Line]:
    """Everything about a precondition, without frames; ``fix``: with the command that asserts it.

    Unless ``verbose``, what breaks a condition and what the kernel asserts is cut to one line, and
    of many conditions the last ones are only counted, but for silent ones.
    """
    severity = diagnostic.severity
    head: Line = [(f"{severity}[{diagnostic.rule}]", severity), (": ", "message")]
    opening = condition.headline(diagnostic.kernel, diagnostic.targets, condition=False)
    lines = wrap(head, words(opening, "message"), options.width, indent=_INDENT)
    asserted = _asserted(condition, () if options.verbose else condition.dtypes)
    if len(condition.main) > 1 and _INDENT + cells(condition.brief) <= options.width:
        head = [(" " * _INDENT, ""), (f"{condition.brief} ", "value")]
        lines += _fitted(head, asserted, options)
        asserted = []
    place = f"{diagnostic.span.path}:{diagnostic.span.line}:{diagnostic.span.column + 1}"
    presets = f"with preset {', '.join(diagnostic.presets)}" if diagnostic.presets else ""
    head = [("  --> ", "arrow"), (f"{place} ", "")]
    lines += _fitted(head, [*words(presets, "dim"), *asserted], options)
    rows = condition.conjuncts if options.verbose else _first(condition.main)
    lines += _rows(rows, diagnostic.span.path, options)
    if len(rows) < len(condition.main):
        more = len(condition.main) - len(rows)
        text = f"  {options.glyphs.ellipsis} and {more} more conditions (all with --verbose)"
        lines.append([(text, "dim")])
    if options.verbose:
        lines += _listed("not decided", condition.undecided, options)
    for note in remarks(diagnostic):
        lines += _remark("note", words(one_line(note)), "key", options)
    if fix and diagnostic.fix is not None:
        flags = "--fix" if diagnostic.fix.safe else "--fix --unsafe-fixes"
        command = f"tilelint check {flags} {diagnostic.span.path}"
        lines += _remark("fix", words(one_line(command), "help"), "help-key", options)
    return lines


def _asserted(condition: Precondition, dtypes: Sequence[Conjunct]) -> list[Piece]:
    """What the kernel says itself, and which dtypes it takes, in pieces that stay together."""
    said = _enumerated("it asserts", condition.asserted)
    types = _enumerated("it takes", [conjunct.text for conjunct in dtypes])
    if said and types:
        said[-1] += ";"
    pieces = [*said, *" ".join(types).split()]
    if not pieces:
        return []
    pieces[0] = f"({pieces[0]}"
    pieces[-1] += ")"
    return [(text, "dim") for text in pieces]


def _enumerated(what: str, texts: Sequence[str]) -> list[str]:
    """``what`` with the first text, the others each with an ``and``."""
    found = [one_line(text) for text in texts]
    return [f"{what} {found[0]}", *(f"and {text}" for text in found[1:])] if found else []


def _first(conjuncts: Sequence[Conjunct]) -> Sequence[Conjunct]:
    """The conditions that are told in any case."""
    if len(conjuncts) <= _MOST + 1:
        return conjuncts
    return [c for number, c in enumerate(conjuncts) if number < _MOST or c.silent]


def _fitted(head: Line, body: list[Piece], options: Options) -> list[Line]:
    """``head`` and as much of ``body`` as fits beside it; all of it, if ``verbose``."""
    used = sum(cells(text) for text, _ in head)
    if options.verbose or used + sum(cells(text) + 1 for text, _ in body) <= options.width:
        return wrap(head, body, options.width, indent=6)
    room = options.width - cells(options.glyphs.ellipsis) - 1
    if used + sum(cells(text) + 1 for text, _ in body[:_FEW]) > room:
        return [head]
    return [[*wrap(head, body, room)[0], (f" {options.glyphs.ellipsis}", "dim")]]


def _rows(conjuncts: Sequence[Conjunct], path: str, options: Options) -> list[Line]:
    """A line for each condition that is short, two or more for the others."""
    column = max((cells(c.text) for c in conjuncts if cells(c.text) <= _BESIDE), default=0)
    lines: list[Line] = []
    for number, conjunct in enumerate(conjuncts):
        what = _what(conjunct, options)
        if not (options.verbose or conjunct.silent) and cells(conjunct.what) > options.width:
            what = []  # it repeats what is said in other words
        place = _place(conjunct, path, options)
        about = [*what, *place] if what else place[1:]
        breach = _breach(conjunct, options, first=not number)
        if cells(conjunct.text) <= column:
            padding = " " * (column - cells(conjunct.text) + 2)
            head: Line = [("  ", ""), (conjunct.text, "value"), (padding, "")]
        else:
            lines += wrap([("  ", "")], words(conjunct.text, "value"), options.width, indent=4)
            head = [("      ", "")]
        *full, last = wrap(head, about, options.width)
        lines += [*full, *(_fitted([*last, (" ", "")], breach, options) if breach else [last])]
    return lines


def _what(conjunct: Conjunct, options: Options) -> list[Piece]:
    what = one_line(conjunct.what)
    if conjunct.silent:
        if not options.verbose:
            what = what.partition(": ")[0]  # which part of it is told by the finding
        return words(f"else {what}, silently", "unsure")
    return words(what)


def _place(conjunct: Conjunct, path: str, options: Options) -> list[Piece]:
    """Where it is needed."""
    span = conjunct.span
    place = f"line {span.line}" if span.path == path else f"{span.path}:{span.line}"
    more = {(need.span.path, need.span.line) for need in conjunct.others} - {(span.path, span.line)}
    if more:
        place += f" (and {len(more)} more)"
    return [(options.glyphs.dot, "dim"), (place, "dim")]


def _breach(conjunct: Conjunct, options: Options, *, first: bool) -> list[Piece]:
    """What breaks it."""
    if not conjunct.breach:
        return []
    *values, last = one_line(conjunct.breach).split(", ")
    texts = [*(f"{value}," for value in values), last + (" breaks it" if first else "")]
    return [(options.glyphs.dot, "dim"), *((text, "dim") for text in texts)]


def _listed(key: str, items: Sequence[str], options: Options) -> list[Line]:
    return [line for item in items for line in _remark(key, words(one_line(item)), "key", options)]


def _remark(key: str, body: list[Piece], style: str, options: Options) -> list[Line]:
    return wrap([("  = ", "gutter"), (f"{key}:", style), (" ", "")], body, options.width)
