"""The block of a kernel's precondition: the condition, then a line for each of its parts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from verifier.report.details import remarks
from verifier.report.model import Conjunct, Diagnostic, Precondition
from verifier.report.text import Line, Options, Piece, cells, folded, one_line, words, wrap

_INDENT = 4
#: cells of the longest condition that has the rest of its line beside it
_BESIDE = 40
#: the limit that a condition ends with
_BOUND = re.compile(r" <= \d+$")
#: conditions that are told one by one
_MOST = 8
_TAKES = "it takes"
#: two words beside each other: no formula
_WORDS = re.compile(r"[a-z]+ [a-z]+")
#: between two values of a breach, not between two sizes of one shape
_BETWEEN = re.compile(r", (?![^\[]*\])")


def one_block(diagnostic: Diagnostic) -> object:
    """What is the same in the blocks of a file's kernels that are told in one."""
    condition = diagnostic.precondition
    assert condition is not None
    path = diagnostic.span.path
    rows = [
        (c.text, c.what, c.silent, c.breach, len(c.needs), c.span.path != path and c.span.path)
        for c in condition.main
    ]
    said = condition.asserted, condition.assumed, [c.text for c in condition.dtypes]
    flags = condition.exact, condition.sufficient, condition.faulty, diagnostic.fix is None
    place = diagnostic.severity, diagnostic.targets, diagnostic.presets
    return repr((place, rows, said, flags, condition.contract, remarks(diagnostic)))


def across_files(same: Sequence[Diagnostic]) -> object:
    """What is the same of one file's kernels in one block and another's: the lines, too, so that
    they need to be told once."""
    rows = [[c.span.line for c in d.precondition.main] for d in same if d.precondition is not None]
    return repr((one_block(same[0]), [d.kernel for d in same], rows))


def block_lines(
    diagnostic: Diagnostic,
    condition: Precondition,
    options: Options,
    others: Sequence[Diagnostic] = (),
    *,
    fix: bool,
) -> list[Line]:
    """Everything about a precondition, without frames; ``fix``: with the command that asserts it.

    ``others`` are those of kernels of which the same is to be said (:func:`one_block`). Unless
    ``verbose``, what the kernel asserts is cut to one line, and of many conditions the last ones
    are only counted, but for silent ones.
    """
    severity = diagnostic.severity
    head: Line = [(f"{severity}[{diagnostic.rule}]", severity), (": ", "message")]
    asserted = _asserted(condition, () if options.verbose else condition.dtypes)
    shown: list[Line] = []
    if len(condition.main) > 1 and _INDENT + cells(condition.brief) <= options.width:
        whole: Line = [(" " * _INDENT, ""), (f"{condition.brief} ", "value")]
        shown += _fitted(whole, asserted, options)
        asserted = []
    place, *files = _places((diagnostic, *others))
    presets = f"with preset {', '.join(diagnostic.presets)}" if diagnostic.presets else ""
    where: Line = [("  --> ", "arrow"), (f"{place} ", "")]
    where += [(f"{presets} ", "dim")] if presets else []
    shown += _fitted(where, asserted, options)
    opening = condition.headline(
        diagnostic.kernel,
        diagnostic.targets,
        condition=False,
        some_dtypes=bool(condition.dtypes) and not options.verbose and _TAKES not in _plain(shown),
    )
    names = list(dict.fromkeys(f"`{d.kernel}`" for d in (diagnostic, *others)))
    if len(names) > 1:
        *first, last = names
        rest = opening.removeprefix(f"`{diagnostic.kernel}` is ")
        opening = f"{', '.join(first)} and {last} are {rest}"
    lines = [*wrap(head, words(opening, "message"), options.width, indent=_INDENT), *shown]
    for file in files:
        lines += wrap([("      ", ""), ("also in ", "dim")], [(file, "")], options.width)
    rows = condition.conjuncts if options.verbose else _first(condition.main)
    beside = [other.precondition.main for other in others if other.precondition is not None]
    lines += _rows(rows, beside, diagnostic.span.path, options)
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
        left = _left(condition)
        command += f" # {left}" if left else ""
        lines += _remark("fix", words(one_line(command), "help"), "help-key", options)
    return lines


def _left(condition: Precondition) -> str:
    """What is wrong, or may be, for inputs that meet all conditions, too; empty: nothing."""
    if condition.sufficient:
        return ""
    faulty = condition.faulty or not condition.undecided
    return "leaves its faults" if faulty else "leaves what is not decided"


def _places(kernels: Sequence[Diagnostic]) -> list[str]:
    """Where kernels are, file by file."""
    files: dict[str, list[str]] = {}
    for kernel in kernels:
        span = kernel.span
        files.setdefault(span.path, []).append(f"{span.line}:{span.column + 1}")
    return [f"{path}:{', '.join(places)}" for path, places in files.items()]


def _asserted(condition: Precondition, dtypes: Sequence[Conjunct]) -> list[str]:
    """What the kernel says itself, what is taken for granted, and which dtypes it takes, in pieces
    that stay together; the dtypes are the last one."""
    parts = [
        # what its contract says stands in the headline
        _enumerated("it asserts", [a for a in condition.asserted if a not in condition.contract]),
        _enumerated("it assumes", condition.assumed),
        [" ".join(_enumerated(_TAKES, [c.text for c in dtypes]))] if dtypes else [],
    ]
    *before, last = [part for part in parts if part] or [[]]
    for part in before:
        part[-1] += ";"
    return [piece for part in (*before, last) for piece in part]


def _enumerated(what: str, texts: Sequence[str]) -> list[str]:
    """``what`` with the first text, the others each with an ``and``."""
    found = [one_line(text) for text in texts]
    return [f"{what} {found[0]}", *(f"and {text}" for text in found[1:])] if found else []


def _first(conjuncts: Sequence[Conjunct]) -> Sequence[Conjunct]:
    """The conditions that are told in any case."""
    if len(conjuncts) <= _MOST + 1:
        return conjuncts
    return [c for number, c in enumerate(conjuncts) if number < _MOST or c.silent]


def _fitted(head: Line, notes: Sequence[str], options: Options) -> list[Line]:
    """``head`` and beside it, in parentheses, as many of the notes as there is room for; all, if
    ``verbose``. Which dtypes are taken comes last, or that not all are."""
    if not notes:
        return wrap(head, [], options.width)
    room = options.width - sum(cells(text) for text, _ in head) - len("()")
    whole = " ".join(notes)
    if options.verbose or cells(whole) <= room:
        parts = [f"({notes[0]}", *notes[1:]]
        return wrap(
            head, [(t, "dim") for t in (*parts[:-1], f"{parts[-1]})")], options.width, indent=6
        )
    typed = notes[-1].startswith(_TAKES)
    before, last = (notes[:-1], f"{_TAKES} some dtypes only") if typed else (notes, "")
    kept: list[str] = []
    for note in (*before, ""):
        cut = [] if len(kept) == len(before) else [options.glyphs.ellipsis]
        ending = [*cut, last] if last else cut
        if not note or cells(" ".join([*kept, note, options.glyphs.ellipsis, last])) > room:
            break
        kept.append(note)
    line = f"({' '.join([*kept, *ending])})"
    if cells(line) <= room + len("()") and (kept or last):
        return [[*head, (line, "dim")]]
    return [head]


def _plain(lines: Sequence[Line]) -> str:
    return "\n".join("".join(text for text, _ in line) for line in lines)


def _rows(
    conjuncts: Sequence[Conjunct],
    beside: Sequence[Sequence[Conjunct]],
    path: str,
    options: Options,
) -> list[Line]:
    """A line for each condition that is short, two or more for the others.

    ``beside`` are the same conditions of other kernels.
    """
    column = max((cells(c.text) for c in conjuncts if cells(c.text) <= _BESIDE), default=0)
    lines: list[Line] = []
    said = False
    for conjunct, place, about in _told(conjuncts, beside, path, options):
        breach = _breach(conjunct, options, first=not said)
        said = said or bool(conjunct.breach)
        if cells(conjunct.text) <= column:
            padding = " " * (column - cells(conjunct.text) + 2)
            head: Line = [("  ", ""), (conjunct.text, "value"), (padding, "")]
            row = wrap(head, [*about, *breach], options.width)
            if len(row) > 1 and _repeats(conjunct, options):
                row = wrap(head, [*place[1:], *breach], options.width)
            lines += row
        else:
            text = folded(conjunct.text, options)
            lines += wrap([("  ", "")], words(text, "value"), options.width, indent=4)
            lines += wrap([("      ", "")], [*about, *breach], options.width)
    return lines


def _told(
    conjuncts: Sequence[Conjunct],
    beside: Sequence[Sequence[Conjunct]],
    path: str,
    options: Options,
) -> Iterator[tuple[Conjunct, list[Piece], list[Piece]]]:
    """Each condition with its place, and what is said of it; those of which the same is to be said
    stand together, and it is said once, unless ``verbose``."""
    groups: dict[object, list[tuple[Conjunct, list[Piece], list[Piece]]]] = {}
    for number, conjunct in enumerate(conjuncts):
        what = _what(conjunct, options)
        same_words = conjunct.what == conjunct.text
        if _repeats(conjunct, options) and (same_words or cells(conjunct.what) > options.width):
            what = []
        same = [conjunct, *(others[number] for others in beside)]
        place = _place(same, path, options)
        about = [*what, *place] if what else place[1:]
        key = repr(about) if conjunct.silent and not options.verbose else number
        groups.setdefault(key, []).append((conjunct, place, about))
    for first, *others in groups.values():
        yield first
        for conjunct, place, _ in others:
            yield conjunct, place, words("likewise", "unsure")


def _repeats(conjunct: Conjunct, options: Options) -> bool:
    """Whether what a condition is needed for may be left out: a formula that says the same."""
    return not (options.verbose or conjunct.silent or _WORDS.search(conjunct.what))


def _what(conjunct: Conjunct, options: Options) -> list[Piece]:
    said = one_line(conjunct.told)
    if cells(conjunct.text) > _BESIDE and not options.verbose:
        said = said.removesuffix(_limit(conjunct))
    return words(folded(said, options), "unsure" if conjunct.silent else "")


def _limit(conjunct: Conjunct) -> str:
    """The number that a condition is bounded to, as its text ends with it."""
    found = _BOUND.search(conjunct.text)
    return "" if found is None else found.group()


def _place(same: Sequence[Conjunct], path: str, options: Options) -> list[Piece]:
    """Where it is needed, in one kernel or in several."""
    first = same[0]
    span = first.span
    lines = list(dict.fromkeys(str(conjunct.span.line) for conjunct in same))
    place = f"line{'s' * (len(lines) > 1)} " if span.path == path else f"{span.path}:"
    place += ", ".join(lines)
    more = {(need.span.path, need.span.line) for need in first.others} - {(span.path, span.line)}
    if more:
        place += f" (and {len(more)} more)"
    return [(options.glyphs.dot, "dim"), (place, "dim")]


def _breach(conjunct: Conjunct, options: Options, *, first: bool) -> list[Piece]:
    """What breaks it; of equal values their names together."""
    if not conjunct.breach:
        return []
    names: dict[str, list[str]] = {}
    for part in _BETWEEN.split(one_line(conjunct.breach)):
        name, equals, value = part.rpartition(" = ")
        names.setdefault(value, []).append(name + equals)
    *values, last = ("".join(of) + value for value, of in names.items())
    texts = [*(f"{value}," for value in values), last + (" breaks it" if first else "")]
    return [(options.glyphs.dot, "dim"), *((text, "dim") for text in texts)]


def _listed(key: str, items: Sequence[str], options: Options) -> list[Line]:
    return [line for item in items for line in _remark(key, words(one_line(item)), "key", options)]


def _remark(key: str, body: list[Piece], style: str, options: Options) -> list[Line]:
    return wrap([("  = ", "gutter"), (f"{key}:", style), (" ", "")], body, options.width)
