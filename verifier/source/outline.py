"""The cheap first pass over a file: what it binds at top level, where, and whether it parses.

Uses :mod:`ast` (about 7 ms per 1,000 lines), lines only. A file that does not parse as a whole is
cut at its top-level statements and each piece is parsed on its own, so that what is sound stays
usable.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

from msgspec import Struct

from verifier.source.effects import effects
from verifier.source.text import SourceError, SourceText

_MAIN, _ALTERNATIVE, _SCRIPT = 0, 1, 2

_DEFINITION = re.compile(r"(?:async[ \t]+def|def|class)\b[ \t]*(\w*)")
_BOUNDARY = re.compile(r"(?!(?:else|elif|except|finally)\b)[^\W\d]|@")
_OPEN_STRING = "unterminated triple-quoted"
_OPEN_BRACKET = "never closed"
_MAX_STRING_JUMPS = 8
_MAX_STATEMENT_JUMPS = 64
# Recovery is for files that a person broke. It stops when a file is broken all over.
_MAX_PIECES = 20_000
_MAX_BROKEN_PIECES = 200


class BindingKind(Enum):
    """The kind of statement that binds a name."""

    FUNCTION = "function"
    CLASS = "class"
    ASSIGN = "assign"
    IMPORT = "import"
    FROM = "from"
    #: targets of loops and ``with``, ``except ... as``, walrus, ``type``
    OTHER = "other"

    @property
    def imports(self) -> bool:
        return self in (BindingKind.IMPORT, BindingKind.FROM)


class Binding(Struct, frozen=True):
    """One top-level statement that binds ``name``.

    ``line`` and ``end_line`` cover the whole statement with its decorators; ``def_line`` is the
    line of ``def`` or ``class``.

    For ``import a.b as d``: ``module`` is ``a.b``, ``imported`` is ``a.b``. For ``import a.b``:
    the name is ``a``, ``module`` is ``a``, ``imported`` is ``a.b``. For ``from ..m import f as
    g``: ``module`` is ``m``, ``level`` is 2, ``original`` is ``f``.

    ``rank`` is 0 on the main path (also in a ``try`` or ``if`` body), 1 in an alternative
    (``except``, ``else``, ...), 2 in ``if __name__ == "__main__"``. ``partial`` marks statements
    that do not bind afresh: augmented assignments and bare annotations.
    """

    name: str
    kind: BindingKind
    line: int
    end_line: int
    def_line: int
    chunk: int
    module: str = ""
    level: int = 0
    original: str | None = None
    imported: str = ""
    rank: int = 0
    partial: bool = False


class StarImport(Struct, frozen=True):
    module: str
    level: int
    line: int


class Chunk(Struct, frozen=True):
    """Whole lines of the file that hold one or more top-level statements.

    ``error`` is set when the lines do not parse on their own.
    """

    line: int
    end_line: int
    error: SourceError | None = None


class BrokenDefinition(Struct, frozen=True):
    """A top-level ``def`` or ``class`` whose body does not parse, with the decorators that do."""

    name: str
    line: int
    def_line: int
    column: int
    is_function: bool
    decorators: tuple[ast.expr, ...]
    error: SourceError


@dataclass(frozen=True, slots=True)
class Outline:
    """What a file holds at top level.

    ``errors`` has at most one entry, the first offence of the file. ``exports`` is ``__all__``
    where that is a literal. ``effects`` are the positions of the chunks that must run in order
    when the module is imported. ``syntax`` holds the top-level statements that parse, with true
    line numbers.
    """

    bindings: Mapping[str, tuple[Binding, ...]]
    star_imports: tuple[StarImport, ...]
    chunks: tuple[Chunk, ...]
    errors: tuple[SourceError, ...]
    broken: tuple[BrokenDefinition, ...]
    exports: tuple[str, ...] | None
    effects: tuple[int, ...]
    syntax: tuple[ast.stmt, ...] = field(repr=False)


def preferred(bindings: tuple[Binding, ...]) -> Binding:
    """The binding that a reader of the finished module most likely meets.

    The last full binding on the main path; without one, the first alternative; statements under
    ``if __name__ == "__main__"`` and partial ones only when nothing else binds the name.
    """
    for rank, position in ((_MAIN, -1), (_ALTERNATIVE, 0), (_SCRIPT, -1)):
        candidates = [b for b in bindings if b.rank == rank and not b.partial]
        if candidates:
            return candidates[position]
    return bindings[0]


def outline(source: SourceText) -> Outline:
    """Outline ``source``. Never raises for bad syntax: that is in ``errors``."""
    lines = source.text.split("\n")
    try:
        pieces = [_Piece(1, len(lines), tuple(parse_text(source.path, source.text)), None)]
        error = None
    except SourceError as whole:
        pieces = list(_recover(source.path, lines, whole))
        local = [p.error for p in pieces if p.error is not None]
        error = min(local, key=lambda e: (e.line, e.column), default=whole)
    collector = _Collector()
    broken: list[BrokenDefinition] = []
    for piece in pieces:
        if piece.error is None:
            collector.add(piece.statements)
        else:
            header = _header(source.path, lines, piece, piece.error)
            collector.add_broken(piece, header)
            if header is not None:
                broken.append(header)
    return Outline(
        bindings={name: tuple(found) for name, found in collector.bindings.items()},
        star_imports=tuple(collector.stars),
        chunks=tuple(collector.chunks),
        errors=() if error is None else (error,),
        broken=tuple(broken),
        exports=collector.exports if collector.exports_known else None,
        effects=collector.effects(),
        syntax=tuple(s for piece in pieces for s in piece.statements),
    )


def parse_text(
    path: Path | str, text: str, first_line: int = 1, *, own_lines: bool = False
) -> list[ast.stmt]:
    """Parse ``text``, which starts at ``first_line`` of the file, without printing warnings.

    ``own_lines``: the lines of what is found are those of the text, not those of the file.

    Raises:
        SourceError: bad syntax, NUL characters, or nesting deeper than Python can parse.
    """
    nul = text.find("\0")
    if nul >= 0:
        line = text.count("\n", 0, nul)
        column = nul - (text.rfind("\n", 0, nul) + 1)
        raise SourceError(path, first_line + line, column, "source contains a NUL character")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            module = ast.parse(text)
    except SyntaxError as error:
        last = text.rstrip().count("\n") + 1  # the parser may point past the end
        line = min(max(error.lineno or 1, 1), last)
        column = max((error.offset or 1) - 1, 0)
        raise SourceError(path, first_line - 1 + line, column, error.msg) from None
    except (RecursionError, MemoryError):
        raise SourceError(path, first_line, 0, "source is nested too deeply to parse") from None
    except ValueError as error:  # text that cannot be encoded, over-long integer literals
        raise SourceError(path, first_line, 0, f"cannot parse source: {error}") from None
    if first_line > 1 and not own_lines:
        ast.increment_lineno(module, first_line - 1)
    return module.body


def first_line_of(node: ast.stmt) -> int:
    """The first line of a statement, decorators included."""
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(d.lineno for d in decorators)])


def last_line_of(node: ast.stmt) -> int:
    return node.end_lineno if node.end_lineno is not None else node.lineno


def nested_bodies(node: ast.AST) -> Iterator[tuple[str, list[ast.stmt]]]:
    """The statement lists of a compound statement that share its scope, by field name."""
    for name in ("body", "handlers", "orelse", "finalbody", "cases"):
        value = getattr(node, name, None)
        if not isinstance(value, list):
            continue
        if name in ("handlers", "cases"):
            for part in value:
                yield name, part.body
        else:
            yield name, value


# --------------------------------------------------------------------------- collecting bindings


class _Piece(Struct, frozen=True):
    line: int
    end_line: int
    statements: tuple[ast.stmt, ...]
    error: SourceError | None


class _Collector:
    def __init__(self) -> None:
        self.bindings: dict[str, list[Binding]] = {}
        self.stars: list[StarImport] = []
        self.chunks: list[Chunk] = []
        self.exports: tuple[str, ...] | None = None
        self.exports_known = True
        self._statements: list[ast.stmt] = []
        self._chunk_of: list[int] = []

    def effects(self) -> tuple[int, ...]:
        """The chunks with statements that must run in order."""
        bound = {
            name: sum(b.rank != _SCRIPT for b in found) for name, found in self.bindings.items()
        }
        foreign = {
            name for name, found in self.bindings.items() if all(b.kind.imports for b in found)
        }
        modules = {
            name: found[0].module
            for name, found in self.bindings.items()
            if name in foreign and found[0].kind is BindingKind.IMPORT
        }
        origins = {
            name: "" if self.bindings[name][0].level else self.bindings[name][0].module or name
            for name in foreign
        }
        origins = {name: module.partition(".")[0] for name, module in origins.items()}
        positions = effects(self._statements, bound, foreign, modules, origins)
        return tuple(dict.fromkeys(self._chunk_of[p] for p in sorted(positions)))

    def add(self, statements: Iterable[ast.stmt]) -> None:
        for statement in statements:
            first, last = first_line_of(statement), last_line_of(statement)
            previous = self.chunks[-1] if self.chunks else None
            if previous is not None and previous.error is None and first <= previous.end_line:
                self.chunks[-1] = Chunk(previous.line, max(previous.end_line, last))
            else:
                self.chunks.append(Chunk(first, last))
            self._statements.append(statement)
            self._chunk_of.append(len(self.chunks) - 1)
            self._statement(statement, _MAIN)

    def add_broken(self, piece: _Piece, header: BrokenDefinition | None) -> None:
        self.chunks.append(Chunk(piece.line, piece.end_line, piece.error))
        if header is None:
            return
        kind = BindingKind.FUNCTION if header.is_function else BindingKind.CLASS
        binding = Binding(
            header.name, kind, piece.line, piece.end_line, header.def_line, len(self.chunks) - 1
        )
        self.bindings.setdefault(header.name, []).append(binding)

    def _bind(
        self,
        name: str,
        kind: BindingKind,
        node: ast.stmt,
        rank: int,
        *,
        module: str = "",
        level: int = 0,
        original: str | None = None,
        imported: str = "",
        partial: bool = False,
    ) -> None:
        binding = Binding(
            name,
            kind,
            first_line_of(node),
            last_line_of(node),
            node.lineno,
            len(self.chunks) - 1,
            module,
            level,
            original,
            imported,
            rank,
            partial,
        )
        self.bindings.setdefault(name, []).append(binding)

    def _statement(self, root: ast.stmt, root_rank: int) -> None:
        # An explicit stack: `elif` chains nest once per branch.
        stack = [(root, root_rank)]
        while stack:
            node, rank = stack.pop()
            self._own(node, rank)
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                continue
            inner: list[tuple[ast.stmt, int]] = []
            if _is_main_guard(node):
                rank = _SCRIPT
            for field_name, body in nested_bodies(node):
                lower = field_name in ("handlers", "orelse") or field_name == "cases"
                alternative = lower and not isinstance(node, (ast.For, ast.AsyncFor, ast.While))
                # `try: ... else:` runs when the body succeeds: the main path.
                if field_name == "orelse" and hasattr(node, "handlers"):
                    alternative = False
                below = max(rank, _ALTERNATIVE) if alternative else rank
                inner.extend((statement, below) for statement in body)
            stack.extend(reversed(inner))

    def _own(self, node: ast.stmt, rank: int) -> None:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            self._bind(node.name, BindingKind.FUNCTION, node, rank)
        elif isinstance(node, ast.ClassDef):
            self._bind(node.name, BindingKind.CLASS, node, rank)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            self._imports(node, rank)
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                for name in target_names(target):
                    self._bind(name, BindingKind.ASSIGN, node, rank)
            self._exports(node)
        elif isinstance(node, ast.AnnAssign):
            for name in target_names(node.target):
                self._bind(name, BindingKind.ASSIGN, node, rank, partial=node.value is None)
        elif isinstance(node, ast.AugAssign):
            for name in target_names(node.target):
                self._bind(name, BindingKind.ASSIGN, node, rank, partial=True)
                if name == "__all__":
                    self.exports_known = False
        else:
            for name in _other_names(node):
                self._bind(name, BindingKind.OTHER, node, rank)

    def _imports(self, node: ast.Import | ast.ImportFrom, rank: int) -> None:
        if isinstance(node, ast.Import):
            for alias in node.names:
                name = alias.asname or alias.name.partition(".")[0]
                module = alias.name if alias.asname is not None else name
                self._bind(name, BindingKind.IMPORT, node, rank, module=module, imported=alias.name)
            return
        module = node.module or ""
        for alias in node.names:
            if alias.name == "*":
                self.stars.append(StarImport(module, node.level, node.lineno))
                continue
            self._bind(
                alias.asname or alias.name,
                BindingKind.FROM,
                node,
                rank,
                module=module,
                level=node.level,
                original=alias.name,
            )

    def _exports(self, node: ast.Assign) -> None:
        if not any(isinstance(t, ast.Name) and t.id == "__all__" for t in node.targets):
            return
        if isinstance(node.value, (ast.List, ast.Tuple)):
            values = [e.value for e in node.value.elts if isinstance(e, ast.Constant)]
            if len(values) == len(node.value.elts):
                self.exports = tuple(v for v in values if isinstance(v, str))


def target_names(target: ast.expr) -> Iterator[str]:
    """The names that an assignment target binds, left to right."""
    stack = [target]
    while stack:
        node = stack.pop()
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, (ast.Tuple, ast.List)):
            stack.extend(reversed(node.elts))
        elif isinstance(node, ast.Starred):
            stack.append(node.value)


def _other_names(node: ast.stmt) -> Iterator[str]:
    if isinstance(node, (ast.For, ast.AsyncFor)):
        yield from target_names(node.target)
    elif isinstance(node, (ast.With, ast.AsyncWith)):
        for item in node.items:
            if item.optional_vars is not None:
                yield from target_names(item.optional_vars)
    elif type(node).__name__ == "TypeAlias":  # Python 3.12
        name: object = getattr(node, "name", None)
        if isinstance(name, ast.expr):
            yield from target_names(name)
    for handler in getattr(node, "handlers", ()):
        if handler.name:
            yield handler.name
    for case in getattr(node, "cases", ()):
        yield from _captures(case.pattern)
    for value in _tested(node):
        if isinstance(value, ast.expr):
            for inner in ast.walk(value):
                if isinstance(inner, ast.NamedExpr):
                    yield from target_names(inner.target)


def _tested(node: ast.stmt) -> Iterator[object]:
    """The expressions of a statement in which a walrus binds, as people write them."""
    for name in ("test", "value", "subject"):
        yield getattr(node, name, None)
    for case in getattr(node, "cases", ()):
        yield case.guard


def _captures(pattern: ast.pattern) -> Iterator[str]:
    for node in ast.walk(pattern):
        if isinstance(node, (ast.MatchAs, ast.MatchStar)) and node.name is not None:
            yield node.name
        elif isinstance(node, ast.MatchMapping) and node.rest is not None:
            yield node.rest


def _is_main_guard(node: ast.stmt) -> bool:
    if not isinstance(node, ast.If) or not isinstance(node.test, ast.Compare):
        return False
    left = node.test.left
    return isinstance(left, ast.Name) and left.id == "__name__"


# --------------------------------------------------------------------------- recovery


def _recover(path: Path, lines: list[str], whole: SourceError) -> Iterator[_Piece]:
    """Cut broken text at statements that start in column 0 and parse the pieces one by one.

    A piece that ends inside a triple-quoted string or an open bracket is extended to where the
    string or the statement may end; what still does not parse is a broken piece that ends where
    the next statement starts. ``whole`` is the error of the file; it stands for the rest when too
    much is broken.
    """
    starts = [i for i, line in enumerate(lines) if _BOUNDARY.match(line)]
    opens_definition = [_DEFINITION.match(lines[i]) is not None for i in starts]
    starts.append(len(lines))
    if starts[0] > 0:  # blank lines, comments, or stray indented text
        yield _attempt(path, lines, 0, starts[0])
    index = pieces = broken = 0
    while index < len(starts) - 1:
        if pieces > _MAX_PIECES or broken > _MAX_BROKEN_PIECES:
            yield _Piece(starts[index] + 1, len(lines), (), whole)
            return
        stop = index + 1
        if lines[starts[index]].startswith("@"):
            while stop < len(opens_definition) and not opens_definition[stop]:
                stop += 1
            stop = min(stop + 1, len(starts) - 1)
        piece, stop = _extend(path, lines, starts, opens_definition, index, stop)
        yield piece
        pieces += 1
        broken += piece.error is not None
        index = stop


def _extend(
    path: Path,
    lines: list[str],
    starts: list[int],
    opens_definition: list[bool],
    index: int,
    stop: int,
) -> tuple[_Piece, int]:
    """The piece that begins at boundary ``index``, and the boundary at which it ends."""
    last = len(starts) - 1
    first_try, first_stop = _attempt(path, lines, starts[index], starts[stop]), stop
    piece = first_try
    string_jumps = statement_jumps = 0
    while piece.error is not None and stop < last:
        if _OPEN_STRING in piece.error.message:
            closing = _next_triple_quote(lines, starts[stop])
            string_jumps += 1
            if closing is None or string_jumps > _MAX_STRING_JUMPS:
                break
            while stop < last and starts[stop] <= closing:
                stop += 1
        elif _OPEN_BRACKET in piece.error.message and not (
            opens_definition[stop] or lines[starts[stop]].startswith("@")
        ):
            statement_jumps += 1
            if statement_jumps > _MAX_STATEMENT_JUMPS:
                break
            stop += 1
        else:
            break
        piece = _attempt(path, lines, starts[index], starts[stop])
    if piece.error is None:
        return piece, stop
    return first_try, first_stop


def _attempt(path: Path, lines: list[str], begin: int, end: int) -> _Piece:
    try:
        statements = parse_text(path, "\n".join(lines[begin:end]) + "\n", begin + 1)
    except SourceError as error:
        return _Piece(begin + 1, end, (), error)
    return _Piece(begin + 1, end, tuple(statements), None)


def _next_triple_quote(lines: list[str], begin: int) -> int | None:
    for index in range(begin, len(lines)):
        if '"""' in lines[index] or "'''" in lines[index]:
            return index
    return None


def _header(
    path: Path, lines: list[str], piece: _Piece, error: SourceError
) -> BrokenDefinition | None:
    """Name and decorators of a broken definition, as far as they can be read."""
    for index in range(piece.line - 1, piece.end_line):
        match = _DEFINITION.match(lines[index])
        if match is None:
            continue
        name = match.group(1)
        if not name:
            return None
        try:
            text = "\n".join([*lines[piece.line - 1 : index], "class _: pass"])
            statements = parse_text(path, text, piece.line)
        except SourceError:
            statements = []
        decorators: list[ast.expr] = []
        if len(statements) == 1 and isinstance(statements[0], ast.ClassDef):
            decorators = statements[0].decorator_list
        is_function = not lines[index].startswith("class")
        return BrokenDefinition(
            name, piece.line, index + 1, match.start(1), is_function, tuple(decorators), error
        )
    return None
