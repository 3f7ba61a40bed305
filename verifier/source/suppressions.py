"""Comments that suppress findings, and the lines that they speak about.

``# tilelint: ignore[rule, ...] -- reason`` behind a statement, or alone on the line above it,
speaks about all lines of that statement; of a compound statement (and of a definition, with its
decorators) that is the header. ``# tilelint: ignore-file[rule, ...] -- reason`` speaks about the
file.

Comments are found by a scanner of our own instead of :mod:`tokenize`: that one stops at the first
offence of a file that does not parse, and accepts other files with every version of Python.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from difflib import get_close_matches
from functools import lru_cache
from typing import Final, Literal, TypeAlias

from msgspec import Struct, field

from verifier.source.ir import Span

#: what is wrong with a comment that means to suppress something
Problem: TypeAlias = Literal["", "malformed", "blanket", "reason", "misplaced"]

#: the words that may follow ``tilelint:``
DIRECTIVES: Final = ("ignore", "ignore-file", "contract")

#: in any spelling: one that does not work is to be reported
_MARKED: Final = re.compile("tilelint", re.I)


class Named(Struct, frozen=True):
    """A rule as it is named, and where."""

    name: str
    span: Span


class Suppression(Struct, frozen=True):
    """One directive in one comment.

    ``span`` covers the directive, ``names_span`` what is between its brackets. ``first`` and
    ``last`` are the lines that it speaks about; ``first`` is 0 where no statement follows.
    ``problem`` says why it suppresses nothing, and ``message`` puts that into words. ``removal`` is
    the region to delete to be rid of it.
    """

    span: Span
    whole_file: bool
    names: tuple[Named, ...] = ()
    names_span: Span | None = None
    reason: str = ""
    first: int = 0
    last: int = 0
    problem: Problem = ""
    message: str = ""
    removal: Span | None = None

    def covers(self, first: int, last: int) -> bool:
        """Whether it speaks about one of these lines."""
        return self.whole_file or (0 < self.first <= last and first <= self.last)


class Line(Struct, frozen=True):
    """A logical line: the header of a compound statement, or one or more simple statements.

    ``leaves``: it has a statement after which the next one is not run.
    """

    first: int
    last: int
    indent: int
    leaves: bool = False


class Comment(Struct, frozen=True):
    """``text`` from the ``#`` on; ``alone``: nothing else is on its line.

    ``owner`` is the number of the logical line that it is in, or that comes next.
    """

    line: int
    column: int
    text: str
    alone: bool
    owner: int


class Layout(Struct, frozen=True):
    """The logical lines of a file (decorators are one with their definition), and its comments."""

    lines: tuple[Line, ...]
    comments: tuple[Comment, ...]

    def line_at(self, number: int) -> Line | None:
        """The logical line around a line, or None (blank lines, comments)."""
        position = bisect_left([line.last for line in self.lines], number)
        if position < len(self.lines) and self.lines[position].first <= number:
            return self.lines[position]
        return None

    def block_start(self, number: int) -> int:
        """The first line of the block that the statement at ``number`` is in."""
        position = bisect_left([line.last for line in self.lines], number)
        start = number
        if position < len(self.lines):
            indent = self.lines[position].indent
            for line in reversed(self.lines[:position]):
                if line.indent < indent:
                    break
                start = line.first
        return start

    def leaves(self, first: int, before: int) -> bool:
        """Whether a jump stands in the lines from ``first`` on, before line ``before``."""
        return any(line.leaves for line in self.lines if first <= line.last < before)

    def block_end(self, number: int) -> int:
        """The last line of the block that the statement at ``number`` is in."""
        return self._end(number, 0)

    def body_end(self, number: int) -> int:
        """The last line of the body of the compound statement whose header is at ``number``."""
        return self._end(number, 1)

    def _end(self, number: int, deeper: int) -> int:
        position = bisect_left([line.last for line in self.lines], number)
        end = number
        if position < len(self.lines):
            indent = self.lines[position].indent + deeper
            for line in self.lines[position + deeper :]:
                if line.indent < indent:
                    break
                end = line.last
        return end


def may_suppress(text: str) -> bool:
    """Whether a text can hold any directive at all."""
    return _MARKED.search(text) is not None


def find(path: str, text: str) -> tuple[Suppression, ...]:
    """The suppressions of a file, in order, those that do not work as well.

    ``text`` may have line ends of any kind.
    """
    if not may_suppress(text):
        return ()
    layout = scan(text)
    rows = _LINE_END.split(text)
    out: list[Suppression] = []
    for comment in layout.comments:
        if may_suppress(comment.text):
            out.extend(_Reader(path, comment, layout, rows).directives())
    return tuple(out)


# ----------------------------------------------------------------------------- directives

_DIRECTIVE = re.compile(
    r"#[ \t]*(?P<mark>tilelint)\b[ \t]*(?P<colon>:?)[ \t]*(?P<word>[A-Za-z][\w-]*)?", re.I
)
_NAMES = re.compile(r"[ \t]*\[(?P<names>[^\]]*)\]")
_NAME = re.compile(r"[^,\s](?:[^,]*[^,\s])?")
#: how a function begins, or what decorates one
_HEADER: Final = re.compile(r"\s*(@|(async\s+)?def\b)")
#: another comment behind a reason, as other tools write theirs
_NEXT_COMMENT = re.compile(r"[ \t]+#[ \t]*[A-Za-z]")


def _close(word: str) -> str:
    """The directive that a word is likely to mean, or nothing."""
    close = get_close_matches(word.lower(), DIRECTIVES, 1, 0.6)
    return close[0] if close else ""


class _Reader:
    """Reads the directives of one comment."""

    def __init__(self, path: str, comment: Comment, layout: Layout, rows: list[str]) -> None:
        self._path = path
        self._comment = comment
        self._layout = layout
        self._rows = rows

    def directives(self) -> list[Suppression]:
        out: list[Suppression] = []
        position = 0
        text = self._comment.text
        while True:
            match = _DIRECTIVE.search(text, position)
            if match is None:
                return out
            word, colon = match["word"] or "", bool(match["colon"])
            known = match["mark"] == "tilelint"
            if word == "contract" and colon and known:
                if match.start() == 0 and not self._heads():
                    out.append(self._directive(match, word, colon, len(text.rstrip())))
                return out
            end = len(text)
            following = _NEXT_COMMENT.search(text, match.end())
            if following is not None:
                end = following.start()
            position = end
            meant = word.lower() in ("ignore", "ignore-file")
            bracket = text[match.end() :].lstrip(" \t").startswith("[")
            if not known and word.lower() not in DIRECTIVES and not (bracket and _close(word)):
                continue  # the name of the tool, as the first word of a sentence
            if not colon and not (meant and bracket):
                continue  # the name of the tool in a sentence
            end = len(text[:end].rstrip())
            out.append(self._directive(match, word, colon, end))

    def _directive(self, match: re.Match[str], word: str, colon: bool, end: int) -> Suppression:
        text = self._comment.text
        whole = word.lower() == "ignore-file"
        first, last = (0, 0) if whole else self._lines()

        def made(
            problem: Problem,
            message: str,
            names: tuple[Named, ...] = (),
            names_span: Span | None = None,
            reason: str = "",
        ) -> Suppression:
            return Suppression(
                self._span(match.start(), end),
                whole,
                names,
                names_span,
                reason,
                first,
                last,
                problem,
                message,
                self._removal(match.start(), end),
            )

        if not colon:
            return made("malformed", f"a colon is missing: `# tilelint: {word.lower()}[...]`")
        if (mark := match["mark"]) != "tilelint":
            meant = f"did you mean `tilelint: {_close(word)}`?"
            return made("malformed", f"`{mark}` is written in lower case; {meant}")
        if word == "contract":
            return made("misplaced", "it does not stand right above a function")
        if word not in ("ignore", "ignore-file"):
            known = ", ".join(f"`{name}`" for name in DIRECTIVES)
            said = f"`{word}` is no directive" if word else "no directive follows"
            close = _close(word)
            meant = f"; did you mean `{close}`?" if close else f"; there are {known}"
            return made("malformed", said + meant)
        rest = text[match.end() : end]
        if not rest.strip() or rest.lstrip().startswith("--"):
            return made("blanket", "no rule is named")
        found = _NAMES.match(rest)
        if found is None:
            missing = "`]` is missing" if rest.lstrip().startswith("[") else "brackets are missing"
            return made("malformed", f"{missing}: `# tilelint: {word}[rule] -- reason`")
        begin = match.end() + found.start("names")
        names = tuple(
            Named(item.group(), self._span(begin + item.start(), begin + item.end()))
            for item in _NAME.finditer(found["names"])
        )
        names_span = self._span(begin, begin + len(found["names"]))
        if not names:
            return made("blanket", "no rule is named")
        tail = rest[found.end() :].strip()
        if tail and not tail.startswith("--"):
            return made("malformed", "a reason starts with ` -- `", names, names_span)
        reason = tail[2:].strip()
        if not reason:
            return made("reason", "no reason is given", names, names_span)
        return made("", "", names, names_span, reason)

    def _heads(self) -> bool:
        """Whether it stands alone in the comment right above a definition of a function."""
        first, _ = self._lines()
        if not (first and self._comment.alone and _HEADER.match(self._rows[first - 1])):
            return False
        if first <= self._comment.line:
            return self._rows[first - 1].lstrip().startswith("@")  # below a decorator
        between = self._rows[self._comment.line - 1 : first - 1]
        return all(row.lstrip().startswith("#") for row in between)

    def _lines(self) -> tuple[int, int]:
        lines = self._layout.lines
        if self._comment.owner >= len(lines):
            return 0, 0
        owner = lines[self._comment.owner]
        return owner.first, owner.last

    def _span(self, start: int, end: int) -> Span:
        line, column = self._comment.line, self._comment.column
        return Span(self._path, line, column + start, line, column + end)

    def _removal(self, start: int, end: int) -> Span:
        """The directive and the blanks before it; the whole line if nothing else is on it."""
        line, column = self._comment.line, self._comment.column
        if self._comment.alone and start == 0 and end >= len(self._comment.text.rstrip()):
            if line < len(self._rows):
                return Span(self._path, line, 0, line + 1, 0)
            if line > 1:  # the last line, without an end
                return Span(self._path, line - 1, len(self._rows[line - 2]), line, len(self._row()))
        if self._comment.alone and start == 0:
            after = self._comment.text[end:]
            end += len(after) - len(after.lstrip(" \t"))
            return Span(self._path, line, column, line, column + end)
        begin = len(self._row()[: column + start].rstrip())
        if end >= len(self._comment.text.rstrip()):
            end = len(self._comment.text)
        return Span(self._path, line, begin, line, column + end)

    def _row(self) -> str:
        return self._rows[self._comment.line - 1]


# -------------------------------------------------------------------------------- scanning

_LINE_END = re.compile(r"\r\n|\r|\n")

_TOKEN = re.compile(
    r"""
    (?P<space>[ \t\f]+)
  | (?P<newline>\r\n|\r|\n)
  | (?P<joined>\\(?:\r\n|\r|\n))
  | (?P<comment>\#[^\r\n]*)
  | (?P<prefix>[A-Za-z]{0,2})(?P<quote>'''|\"\"\"|'|\")
  | (?P<word>\w+)
  | (?P<open>[(\[{])
  | (?P<close>[)\]}])
  | (?P<other>[^\s\w\#'"\\()\[\]{}:]+|.)
    """,
    re.X | re.S,
)
#: the rest of a string after its opening quote; without an end: to the end of its line or file
_REST = {
    "'": re.compile(r"(?:[^'\\\r\n]|\\(?:\r\n|[\s\S]))*'?"),
    '"': re.compile(r'(?:[^"\\\r\n]|\\(?:\r\n|[\s\S]))*"?'),
    "'''": re.compile(r"(?:[^'\\]|\\[\s\S]|'(?!''))*(?:''')?"),
    '"""': re.compile(r'(?:[^"\\]|\\[\s\S]|"(?!""))*(?:""")?'),
}
#: text of an f-string up to its end, a replacement field, or (one quote) the end of the line
_PIECE = {
    "'": re.compile(r"(?:[^'\\{}\r\n]|\\(?:\r\n|[^{}])|\{\{|\}\})*"),
    '"': re.compile(r'(?:[^"\\{}\r\n]|\\(?:\r\n|[^{}])|\{\{|\}\})*'),
    "'''": re.compile(r"(?:[^'\\{}]|\\[^{}]|'(?!'')|\{\{|\}\})*"),
    '"""': re.compile(r'(?:[^"\\{}]|\\[^{}]|"(?!"")|\{\{|\}\})*'),
}
_FORMATTED: Final = ("f", "fr", "rf", "t", "tr", "rt")
_DEFINITION = re.compile(r"[ \t\f]*(?:async[ \t]+def|def|class)[ \t]+\w+[ \t]*[(\[:]")
_JUMPS: Final = ("return", "raise", "break", "continue")
_TAB: Final = 8


class _Field(Struct):
    """A replacement field of an f-string that is being read: how deep its brackets are."""

    quote: str
    depth: int
    in_format: bool = False


class _Scanner(Struct):
    """One pass over a text."""

    text: str
    lines: list[Line] = field(default_factory=list)
    heads: list[str] = field(default_factory=list)
    comments: list[Comment] = field(default_factory=list)
    line: int = 1
    line_start: int = 0
    first: int = 0
    indent: int = 0
    head: str = ""
    jumps: bool = False
    depth: int = 0
    fields: list[_Field] = field(default_factory=list)

    def scan(self) -> Layout:
        text, position = self.text, 0
        while position < len(text):
            if self.fields and self.fields[-1].in_format:
                position = self._literal(position, self.fields.pop().quote)
                continue
            match = _TOKEN.match(text, position)
            assert match is not None  # the last alternative takes anything
            position = match.end()
            kind = match.lastgroup or ""
            if kind == "newline":
                self._newline(match)
            elif kind == "joined":
                self._token(match)
                self._moved(match)
            elif kind == "comment":
                self._comment(match)
            elif kind == "quote":
                self._token(match)
                position = self._string(match)
            elif kind != "space":
                self._token(match)
                self.jumps = self.jumps or match.group() in _JUMPS
                position = self._plain(match, kind)
        self._close_line(self.line)
        return self._merged()

    def _token(self, match: re.Match[str]) -> None:
        if not self.first:
            self.first = self.line
            lead = self.text[self.line_start : match.start()]
            self.indent = len(lead.rpartition("\f")[2].expandtabs(_TAB))
            self.head = match.group()

    def _moved(self, match: re.Match[str]) -> None:
        """Count the line ends in what was matched."""
        for end in _LINE_END.finditer(self.text, match.start(), match.end()):
            self.line += 1
            self.line_start = end.end()

    def _newline(self, match: re.Match[str]) -> None:
        open_ = self.depth or self.fields
        if open_ and _DEFINITION.match(self.text, match.end()):
            self.depth, open_ = 0, False  # a bracket that somebody forgot to close
            self.fields.clear()
        if not open_:
            self._close_line(self.line)
        self._moved(match)

    def _close_line(self, last: int) -> None:
        if self.first:
            self.lines.append(Line(self.first, last, self.indent, self.jumps))
            self.heads.append(self.head)
        self.first, self.jumps = 0, False

    def _comment(self, match: re.Match[str]) -> None:
        before = self.text[self.line_start : match.start()]
        self.comments.append(
            Comment(
                self.line,
                match.start() - self.line_start,
                match.group(),
                not before.strip(" \t\f"),
                len(self.lines),
            )
        )

    def _plain(self, match: re.Match[str], kind: str) -> int:
        inner = self.fields[-1] if self.fields else None
        if kind == "open":
            self.depth += 1
        elif kind == "close":
            if inner is not None and self.depth == inner.depth and match.group() == "}":
                self.fields.pop()
                return self._literal(match.end(), inner.quote)
            self.depth = max(0 if inner is None else inner.depth, self.depth - 1)
        elif inner is not None and self.depth == inner.depth and match.group() == ":":
            inner.in_format = True
        return match.end()

    def _string(self, match: re.Match[str]) -> int:
        quote = match["quote"]
        if match["prefix"].lower() in _FORMATTED:
            return self._literal(match.end(), quote)
        return self._skip(_REST[quote], match.end())

    def _skip(self, pattern: re.Pattern[str], position: int) -> int:
        found = pattern.match(self.text, position)
        assert found is not None  # all of them match nothing
        self._moved(found)
        return found.end()

    def _literal(self, position: int, quote: str) -> int:
        """The text of an f-string from ``position`` up to its end or its next field."""
        position = self._skip(_PIECE[quote], position)
        if self.text.startswith(quote, position):
            return position + len(quote)
        after = self.text[position : position + 1]
        if after == "{":
            self.fields.append(_Field(quote, self.depth))
            return position + 1
        if after in ("}", "\\"):  # the end of a format, or an offence
            return self._literal_again(position + 1, quote)
        return position  # the end of the line: the string is not closed

    def _literal_again(self, position: int, quote: str) -> int:
        self.fields.append(_Field(quote, self.depth, in_format=True))
        return position

    def _merged(self) -> Layout:
        """Decorators and the definition below them as one line."""
        lines: list[Line] = []
        owners: list[int] = []
        start: Line | None = None
        for line, head in zip(self.lines, self.heads, strict=True):
            owners.append(len(lines))
            start = start or line
            if not head.startswith("@"):
                lines.append(Line(start.first, line.last, start.indent, line.leaves))
                start = None
        if start is not None:
            lines.append(Line(start.first, self.lines[-1].last, start.indent))
        owners.append(len(lines))
        comments = [
            Comment(c.line, c.column, c.text, c.alone, owners[c.owner]) for c in self.comments
        ]
        return Layout(tuple(lines), tuple(comments))


@lru_cache(maxsize=8)
def scan(text: str) -> Layout:
    """The logical lines and the comments of a Python text, whether it parses or not."""
    return _Scanner(text).scan()
