"""Modules on disk: what they bind, how their imports resolve, and their statements in IR.

Imports are resolved by looking at files only. What is not on disk (an SDK, torch) is ``None``.
"""

# Resolution asks the file system thousands of times: plain strings are several times faster here
# than path objects.
# ruff: noqa: PTH100, PTH110, PTH112, PTH113, PTH118, PTH120

from __future__ import annotations

import ast
import contextlib
import hashlib
import os
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, MutableMapping
from pathlib import Path

from msgspec import Struct

from verifier.source import apis, footprint, ir, listing
from verifier.source.outline import (
    Binding,
    BindingKind,
    BrokenDefinition,
    Outline,
    StarImport,
    first_line_of,
    outline,
    preferred,
)
from verifier.source.readings import Reading, readings
from verifier.source.scopes import bound_by
from verifier.source.sources import Sources
from verifier.source.standard import is_standard
from verifier.source.text import SourceError, SourceText, may_hold_kernels

__all__ = ["EFFECTS", "Binding", "Module", "Project", "Resolved", "StarImport"]

#: the name under which it is looked at what a module does when it runs, see :mod:`.order`
EFFECTS = "<effects>"
#: statements that only bind names
_SIMPLE = (ast.Assign, ast.AnnAssign, ast.Import, ast.ImportFrom, ast.ClassDef, ast.Expr)
_WORD = re.compile(r"\w+")
# Where a project ends, walking up from a file.
_PROJECT_MARKERS = (".git", "pyproject.toml", "setup.py", "setup.cfg")


def _is_top(folder: str) -> bool:
    return any(os.path.exists(os.path.join(folder, marker)) for marker in _PROJECT_MARKERS)


def _projects_in(folder: str) -> list[str]:
    """The folders from which the projects in a folder are imported."""
    found: list[str] = []
    with contextlib.suppress(OSError):
        for inner in sorted(entry.path for entry in os.scandir(folder) if entry.is_dir()):
            if _is_top(inner):
                found += [inner, os.path.join(inner, "src")]
    return found


def project_around(path: str) -> str | None:
    """The folder of the project that a file with this absolute path is in; None: in none."""
    folder = os.path.dirname(path)
    while not _is_top(folder):
        folder, below = os.path.dirname(folder), folder
        if folder == below:
            return None
    return folder


class _Trees:
    """The syntax trees of the modules that were asked for theirs last, ``most`` characters of text.

    Trees are large, and who looks through a file asks for those of the files that it imports.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._size = 0
        self._kept: dict[Module, tuple[ast.stmt, ...]] = {}

    def of(self, module: Module) -> tuple[ast.stmt, ...] | None:
        return self._kept.get(module)

    def keep(self, module: Module, tree: tuple[ast.stmt, ...]) -> None:
        if self._kept.pop(module, None) is None:
            self._size += len(module.text)
        self._kept[module] = tree
        while self._size > self._most and len(self._kept) > 1:
            oldest = next(iter(self._kept))
            del self._kept[oldest]
            self._size -= len(oldest.text)


_TREES = _Trees(2_000_000)


class Module:
    """One source file: its outline at once, its statements in IR on demand."""

    __slots__ = (
        "_digests",
        "_outline",
        "_readings",
        "_remarks",
        "_words",
        "bindings",
        "file",
        "lines",
        "path",
        "text",
    )

    def __init__(self, path: Path, text: str) -> None:
        """``text`` as :func:`verifier.source.text.decode` gives it."""
        self.path = path
        self.file = os.path.abspath(path)
        self.text = text
        self._digests: dict[str, tuple[str, tuple[tuple[int, int], ...]]] = {}
        self._words: frozenset[str] | None = None
        self.lines: tuple[str, ...] = tuple(text.split("\n"))
        found = outline(SourceText(path, text))
        _TREES.keep(self, found.syntax)
        self._remarks = tuple(filter(None, map(_remark, found.syntax)))
        self._readings: tuple[Reading, ...] | None = None
        self._outline = Outline(
            found.bindings,
            found.star_imports,
            found.chunks,
            found.errors,
            found.broken,
            found.exports,
            found.effects,
            (),
        )
        self.bindings: Mapping[str, Binding] = {
            name: preferred(bindings) for name, bindings in found.bindings.items()
        }

    @property
    def words(self) -> frozenset[str]:
        """The words of its text, names among them."""
        if self._words is None:
            self._words = frozenset(_WORD.findall(self.text))
        return self._words

    def __repr__(self) -> str:
        return f"Module({str(self.path)!r})"

    @property
    def errors(self) -> tuple[SourceError, ...]:
        """The first syntax error of the file, if it has one. What parses stays available."""
        return self._outline.errors

    @property
    def star_imports(self) -> tuple[StarImport, ...]:
        return self._outline.star_imports

    @property
    def exports(self) -> tuple[str, ...] | None:
        """``__all__`` where it is a literal, else ``None``."""
        return self._outline.exports

    @property
    def broken(self) -> Mapping[str, BrokenDefinition]:
        """Top-level definitions whose body does not parse, by name."""
        return {definition.name: definition for definition in self._outline.broken}

    def all_bindings(self, name: str) -> tuple[Binding, ...]:
        """Every top-level binding of ``name``, in source order."""
        return self._outline.bindings.get(name, ())

    def remarks(self) -> tuple[str, ...]:
        """The strings that stand on their own at the top level, its docstring among them."""
        footprint.note_name(self.file, EFFECTS)
        return self._remarks

    def binding(self, name: str) -> Binding | None:
        """The binding that a reader of the finished module most likely meets."""
        footprint.note_name(self.file, name)
        return self.bindings.get(name)

    def digest(self, name: str) -> tuple[str, tuple[tuple[int, int], ...]]:
        """What the module says about ``name``, wherever its lines stand, and these lines.

        The first and last line of each piece of text that binds the name; the digest covers their
        text, in order, and, where nothing binds it, what star imports might.
        """
        known = self._digests.get(name)
        if known is not None:
            return known
        if name == EFFECTS:
            return self._order_digest()
        parts: list[object] = [name in self.broken]
        chunks: dict[int, None] = {}
        for b in self.all_bindings(name):
            start = self._outline.chunks[b.chunk].line
            parts.append((b.kind.value, b.line - start, b.module, b.level, b.original, b.imported))
            parts.append((b.rank, b.partial))
            chunks[b.chunk] = None
        if not chunks:
            parts += [(s.module, s.level) for s in self.star_imports]
        parts.append(self.exports is None or name in self.exports)
        places = []
        for index in chunks:
            chunk = self._outline.chunks[index]
            places.append((chunk.line, chunk.end_line))
            parts.append("\n".join(self.lines[chunk.line - 1 : chunk.end_line]))
        found = (hashlib.blake2b(repr(parts).encode(), digest_size=16).hexdigest(), tuple(places))
        self._digests[name] = found
        return found

    def _order_digest(self) -> tuple[str, tuple[tuple[int, int], ...]]:
        """What the module does when it runs, and what its definitions mention."""
        parts = [reading.spelled() for reading in self.readings()]
        places = []
        for index, statement in self.chunked_syntax():
            chunk = self._outline.chunks[index]
            if index in self._outline.effects or isinstance(statement, _SIMPLE):
                places.append((chunk.line, chunk.end_line))
                parts.append("\n".join(self.lines[chunk.line - 1 : chunk.end_line]))
        found = (hashlib.blake2b(repr(parts).encode(), digest_size=16).hexdigest(), tuple(places))
        self._digests[EFFECTS] = found
        return found

    def chunk_at(self, line: int) -> tuple[int, int] | None:
        """The first and the last line of the piece of text around ``line``."""
        for chunk in self._outline.chunks:
            if chunk.line <= line <= chunk.end_line:
                return chunk.line, chunk.end_line
        return None

    def syntax(self) -> tuple[ast.stmt, ...]:
        """The top-level statements that parse; not to be changed, others are given the same."""
        found = _TREES.of(self)
        if found is None:
            found = outline(SourceText(self.path, self.text)).syntax
        _TREES.keep(self, found)
        return found

    def definition(self, name: str) -> ir.Stmt | None:
        """The statement that binds ``name`` (:attr:`bindings`), found inside ``try`` or ``if`` too.

        ``None`` when nothing binds it or its lines do not parse (see :attr:`broken`).

        Raises:
            SourceError: the lines parse, but not with LibCST, or are nested too deeply.
        """
        binding = self.binding(name)
        if binding is None:
            return None
        found = None
        for statement in _flatten(self._lowered(binding.chunk)):
            if name in bound_by(statement):
                if statement.span.line == binding.line:
                    return statement
                found = found or statement
        return found

    def statements_binding(self, name: str) -> tuple[ir.Stmt, ...]:
        """All top-level statements that bind ``name``, in order.

        A binding inside ``try`` or ``if`` gives the whole compound statement, once.

        Raises:
            SourceError: as :meth:`definition`.
        """
        footprint.note_name(self.file, name)
        result: list[ir.Stmt] = []
        for chunk in sorted({b.chunk for b in self._outline.bindings.get(name, ())}):
            for statement in self._lowered(chunk):
                if any(name in bound_by(inner) for inner in _flatten((statement,))):
                    result.append(statement)
        return tuple(result)

    def effects(self) -> tuple[ir.Stmt, ...]:
        """The top-level statements that must run in order when the module is imported.

        Raises:
            SourceError: as :meth:`definition`.
        """
        return tuple(s for index in self._outline.effects for s in self._lowered(index))

    @property
    def effect_chunks(self) -> tuple[int, ...]:
        """The positions of the chunks that :meth:`effects` gives."""
        return self._outline.effects

    def chunked_syntax(self) -> Iterator[tuple[int, ast.stmt]]:
        """The top-level statements that parse, each with the position of its chunk."""
        starts = [chunk.line for chunk in self._outline.chunks]
        for statement in self.syntax():
            yield bisect_right(starts, first_line_of(statement)) - 1, statement

    def readings(self) -> tuple[Reading, ...]:
        """What the top-level statements that parse mention."""
        if self._readings is None:
            found = readings(self.chunked_syntax(), self._outline.effects, self.bindings)
            self._readings = tuple(found)
        return self._readings

    def statements_of(self, chunk: int) -> tuple[ir.Stmt, ...]:
        """The statements of a chunk.

        Raises:
            SourceError: as :meth:`definition`.
        """
        return self._lowered(chunk)

    def binding_chunks(self, name: str) -> tuple[int, ...]:
        """The positions of the chunks that bind a name."""
        return tuple(b.chunk for b in self.all_bindings(name))

    def is_deferred(self, name: str) -> bool:
        """Whether a name may be bound when it is first asked for."""
        return all(b.chunk not in self._outline.effects for b in self.all_bindings(name))

    def statements_at(self, line: int) -> tuple[ir.Stmt, ...]:
        """The top-level statements of the lines around ``line``; empty if they do not parse.

        Raises:
            SourceError: as :meth:`definition`.
        """
        for index, chunk in enumerate(self._outline.chunks):
            if chunk.line <= line <= chunk.end_line:
                return self._lowered(index)
        return ()

    def statements(self) -> tuple[ir.Stmt, ...]:
        """All top-level statements that parse, in order.

        Raises:
            SourceError: as :meth:`definition`.
        """
        chunks = range(len(self._outline.chunks))
        return tuple(statement for index in chunks for statement in self._lowered(index))

    def _lowered(self, index: int) -> tuple[ir.Stmt, ...]:
        chunk = self._outline.chunks[index]
        if chunk.error is not None:
            return ()
        # LibCST takes a tenth of a second to import: only for files that are really analysed.
        from verifier.source.lowering import lower

        text = "\n".join(self.lines[chunk.line - 1 : chunk.end_line])
        return lower(str(self.path), text, chunk.line)


def _remark(statement: ast.stmt) -> str | None:
    """A string that is a statement."""
    value = statement.value if isinstance(statement, ast.Expr) else None
    text = value.value if isinstance(value, ast.Constant) else None
    return text if isinstance(text, str) else None


def _flatten(statements: Iterable[ir.Stmt]) -> Iterator[ir.Stmt]:
    """``statements`` and those nested in them that share their scope, in source order."""
    stack = list(statements)[::-1]
    while stack:
        statement = stack.pop()
        yield statement
        inner: tuple[ir.Stmt, ...] = ()
        if isinstance(statement, (ir.If, ir.For, ir.While)):
            inner = statement.body + statement.orelse
        elif isinstance(statement, ir.With):
            inner = statement.body
        elif isinstance(statement, ir.Try):
            handlers = tuple(s for handler in statement.handlers for s in handler.body)
            inner = statement.body + handlers + statement.orelse + statement.finalbody
        elif isinstance(statement, ir.Match):
            inner = tuple(s for case in statement.cases for s in case.body)
        stack.extend(reversed(inner))


Resolved = tuple[Module, "str | None"]
"""A name in a module, or (with ``None``) the module itself."""


class _Location(Struct, frozen=True):
    """Where a dotted module name is: its file, and the folder its submodules are in."""

    file: str | None
    folder: str | None


class Project:
    """The files under check and whatever they import from disk. Modules are read once."""

    def __init__(
        self,
        roots: Iterable[Path],
        sources: Sources | None = None,
        kept: MutableMapping[tuple[str, str], Module] | None = None,
    ) -> None:
        """``roots``: the files and folders that the user named; ``sources``: what files hold.

        ``kept`` has modules of earlier projects by absolute path and digest; new ones are added.
        """
        self.sources = sources or Sources()
        self._kept = kept
        # Absolute folder -> the folder as the user wrote it, so that paths in reports look alike
        # whether a file was named or reached through an import.
        self._roots: dict[str, Path] = {}
        for root in roots:
            folder = root if root.is_dir() else root.parent
            self._roots.setdefault(os.path.abspath(folder), folder)
        self._modules: dict[str, Module | SourceError] = {}
        #: where the projects that a folder holds are imported from
        self._inside: dict[str, list[str]] = {}
        self._search: dict[str, tuple[str, ...]] = {}
        self._locations: dict[tuple[str, str], _Location | None] = {}

    @property
    def errors(self) -> tuple[SourceError, ...]:
        """Files that were needed but could not be read or decoded, by path."""
        errors = [m for m in self._modules.values() if isinstance(m, SourceError)]
        return tuple(sorted(errors, key=lambda e: (e.path, e.line)))

    def module(self, path: Path) -> Module:
        """The module in file ``path``.

        Raises:
            SourceError: the file cannot be read or decoded. Bad syntax is in ``Module.errors``.
        """
        key = os.path.abspath(path)
        footprint.note_file(key)
        if key not in self._modules:
            try:
                self._modules[key] = self._made(path, key)
            except SourceError as error:
                self._modules[key] = error
        return self._get(key)

    def _made(self, path: Path, key: str) -> Module:
        if self._kept is None:
            return Module(path, self.sources.text(path).text)
        known = self._kept.get((key, self.sources.digest(key)))
        if known is None:
            text = self.sources.text(path).text
            known = Module(path, text)
            self._kept[key, self.sources.digest(key)] = known
        return known

    def candidate(self, path: Path) -> Module | None:
        """The module in ``path`` if a kernel could be in it, else ``None`` at the cost of reading.

        Raises:
            SourceError: the file cannot be read, or might hold a kernel and cannot be decoded.
        """
        key = os.path.abspath(path)
        if key not in self._modules:
            try:
                if not may_hold_kernels(self.sources.read(path)):
                    return None
                text = self.sources.text(path).text
                self._modules[key] = Module(path, text)
            except SourceError as error:
                self._modules[key] = error
        return self._get(key)

    def _get(self, key: str) -> Module:
        found = self._modules[key]
        if isinstance(found, SourceError):
            raise found.with_traceback(None)
        return found

    # ----------------------------------------------------------------- names

    def resolve_import(self, module: Module, dotted: str, level: int = 0) -> Module | None:
        """The module that ``import dotted`` (or ``from ..dotted import``) in ``module`` means.

        ``None`` when it is not on disk, is a folder without ``__init__.py``, or cannot be read.
        """
        location = self._locate(module, dotted, level)
        return None if location is None else self._load(location.file)

    def resolve_from(self, module: Module, dotted: str, level: int, name: str) -> Resolved | None:
        """What ``from dotted import name`` in ``module`` means.

        Re-exports are followed to the module that defines the name. Where they lead out of what
        is on disk, the result is the last module on disk, whose binding is that import. A
        submodule gives ``(submodule, None)``.
        """
        return self._resolve_from(module, dotted, level, name, set())

    def resolve_name(self, module: Module, name: str) -> Resolved | None:
        """What the global ``name`` of ``module`` means, followed through imports.

        ``None`` when the module does not bind it, not even through a star import on disk.
        """
        return self._lookup(module, name, set())

    def _resolve_from(
        self, module: Module, dotted: str, level: int, name: str, seen: set[tuple[str, str]]
    ) -> Resolved | None:
        location = self._locate(module, dotted, level)
        if location is None:
            return None
        source = self._load(location.file)
        if source is not None:
            found = self._lookup(source, name, seen)
            if found is not None:
                return found
        if level == 0 and self._stands_in(f"{dotted}.{name}", location):
            return None
        return self._submodule(location, name)

    def _lookup(self, module: Module, name: str, seen: set[tuple[str, str]]) -> Resolved | None:
        key = (str(module.path), name)
        if key in seen:
            return None
        seen.add(key)
        binding = module.binding(name)
        if binding is None:
            for star in reversed(module.star_imports):
                found = self._through_star(module, star, name, seen)
                if found is not None:
                    return found
            return None
        if binding.kind is BindingKind.FROM and binding.original is not None:
            target = self._resolve_from(
                module, binding.module, binding.level, binding.original, seen
            )
            if target is None and self._is_cycle(module, binding):
                return None
            return target or (module, name)
        if binding.kind is BindingKind.IMPORT:
            imported = self.resolve_import(module, binding.module)
            return (module, name) if imported is None else (imported, None)
        return module, name

    def _is_cycle(self, module: Module, binding: Binding) -> bool:
        """``from . import x`` in the package's own ``__init__``: a submodule or nothing."""
        source = self.resolve_import(module, binding.module, binding.level)
        return source is module and binding.original == binding.name

    def _through_star(
        self, module: Module, star: StarImport, name: str, seen: set[tuple[str, str]]
    ) -> Resolved | None:
        location = self._locate(module, star.module, star.level)
        source = None if location is None else self._load(location.file)
        if location is None or source is None:
            return None
        footprint.note_name(source.file, name)
        if source.exports is None:
            return None if name.startswith("_") else self._lookup(source, name, seen)
        if name not in source.exports:
            return None
        found = self._lookup(source, name, seen)
        return found or self._submodule(location, name)  # Python imports what `__all__` lists

    def _submodule(self, package: _Location, name: str) -> Resolved | None:
        """The submodule ``name`` of a package."""
        if package.folder is None:
            return None
        found = self._load(self.located((package.folder, name, footprint.BELOW))[0])
        return None if found is None else (found, None)

    # ----------------------------------------------------------------- files

    def _load(self, file: str | None) -> Module | None:
        if file is None:
            return None
        try:
            return self.module(self._displayed(file))
        except SourceError:
            return None  # listed in `errors`; to the importer the module is opaque

    def _displayed(self, file: str) -> Path:
        for absolute, given in self._roots.items():
            if file.startswith(os.path.join(absolute, "")):
                return given / file[len(os.path.join(absolute, "")) :]
        return Path(file)

    def located(self, lookup: footprint.Lookup) -> tuple[str | None, str | None]:
        """The file and the folder that an import leads to, see :class:`footprint.Footprint`."""
        folder, dotted, level = lookup
        if level == footprint.LISTED:
            names = listing.listed(folder)
            footprint.note_lookup(lookup, names, None)
            return names, None
        if level == footprint.BELOW:
            found: _Location | None = self._below(folder, dotted)
        else:
            found = self._locate_from(folder, dotted, level)
        result = (None, None) if found is None else (found.file, found.folder)
        footprint.note_lookup(lookup, *result)
        return result

    def parts(self, folder: str) -> tuple[tuple[str, bool], ...] | None:
        """The modules that are in a folder, and whether each is a package; None: not known."""
        names, _ = self.located((folder, "", footprint.LISTED))
        return None if names is None else listing.parts(names)

    def _locate(self, module: Module, dotted: str, level: int) -> _Location | None:
        file, folder = self.located((os.path.dirname(module.file), dotted, level))
        return None if file is None and folder is None else _Location(file, folder)

    def _locate_from(self, folder: str, dotted: str, level: int) -> _Location | None:
        if level > 0:
            for _ in range(level - 1):
                folder = os.path.dirname(folder)
            return self._find(folder, dotted)
        if not dotted:
            return None
        fallback: _Location | None = None
        standard = is_standard(dotted)
        for base in self._search_path(folder):
            # a part of a package hides no module of the standard library but from scripts beside it
            if standard and os.path.isfile(os.path.join(base, "__init__.py")):
                continue
            found = self._find(base, dotted)
            if found is not None and self._stands_in(dotted, found):
                found = _Location(None, found.folder)
            if found is not None and found.file is not None:
                return found
            fallback = fallback or found
        return fallback

    def _stands_in(self, dotted: str, found: _Location) -> bool:
        """Whether what is on disk takes the place of a kernel API: devices run the API itself.

        A package that has the name of an API's, and no part of it, is the project's own.
        """
        modules = apis.modules()
        if dotted not in modules:
            return False
        below = f"{dotted}."
        parts = [m.removeprefix(below) for m in modules if m.startswith(below)]
        folder = found.folder
        return not parts or (
            folder is not None
            and any(self._below(folder, part).file is not None for part in parts if "." not in part)
        )

    def _search_path(self, folder: str) -> tuple[str, ...]:
        """Folders where absolute imports of a file in ``folder`` are looked up, best first."""
        known = self._search.get(folder)
        if known is not None:
            return known
        package_root = folder
        while os.path.isfile(os.path.join(package_root, "__init__.py")):
            parent = os.path.dirname(package_root)
            if parent == package_root:
                break
            package_root = parent
        bases = [package_root, folder]
        # Up to the folder that holds the project: namespace packages and `src` layouts. Behind
        # them what it holds beside: a repository may be of several projects.
        above: list[str] = []
        current = package_root
        while True:
            above += [current, os.path.join(current, "src")]
            parent = os.path.dirname(current)
            if parent == current:
                above = []
                break
            if _is_top(current):
                if current not in self._inside:
                    self._inside[current] = _projects_in(current)
                above += self._inside[current]
                break
            current = parent
        bases += above
        for root in self._roots:
            bases += [root, os.path.join(root, "src")]
        result = tuple(dict.fromkeys(base for base in bases if os.path.isdir(base)))
        self._search[folder] = result
        return result

    def _find(self, base: str, dotted: str) -> _Location | None:
        key = (base, dotted)
        if key not in self._locations:
            self._locations[key] = self._find_uncached(base, dotted)
        return self._locations[key]

    def _find_uncached(self, base: str, dotted: str) -> _Location | None:
        if not dotted:
            initial = os.path.join(base, "__init__.py")
            return _Location(initial if os.path.isfile(initial) else None, base)
        *parents, last = dotted.split(".")
        folder = os.path.join(base, *parents)
        if "\0" in folder or not os.path.isdir(folder):
            return None
        found = self._below(folder, last)
        return None if found.file is None and found.folder is None else found

    @staticmethod
    def _below(folder: str, name: str) -> _Location:
        inner = os.path.join(folder, name)
        initial = os.path.join(inner, "__init__.py")
        if os.path.isfile(initial):
            return _Location(initial, inner)
        if os.path.isfile(inner + ".py"):
            return _Location(inner + ".py", None)
        return _Location(None, inner if os.path.isdir(inner) else None)
