"""Which settings hold for a file, and where each of them comes from.

The configuration of a file is the nearest ``tilelint.toml``, or ``pyproject.toml`` with a table
``[tool.tilelint]``, in its folder or one above, up to the top of its repository (without a
repository: of the file system). In one folder, ``tilelint.toml`` wins. Files further up are not
looked at. From the lowest to the highest, these say what holds:

1. the defaults,
2. the configuration file,
3. its ``overrides`` whose ``paths`` match the file, later ones above earlier ones,
4. the command line.

A higher level replaces a lower one's value. Tables are replaced key by key, and ``ignore`` adds up
(see :mod:`verifier.configuration.table`).
"""

# A tree has thousands of folders: plain strings, and links are not followed.
# ruff: noqa: PTH100, PTH110, PTH112, PTH113, PTH118, PTH119, PTH120, PTH123

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from verifier.configuration import table
from verifier.configuration.model import (
    ConfigurationError,
    Given,
    KernelContract,
    Origin,
    Overrides,
    Problem,
    Resolved,
    Settings,
)
from verifier.configuration.reader import Reader, contract_texts, kind, patterns
from verifier.configuration.suggestions import did_you_mean
from verifier.configuration.table import BY_KEY, OVERRIDES, PATHS, Layer, Setting

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

    from verifier.configuration.names import RuleLike
    from verifier.configuration.positions import Where

NAME, PROJECT = "tilelint.toml", "pyproject.toml"


def for_file(path: str, overrides: Overrides | None = None) -> Resolved:
    """The settings of one file; what was read before is read again only if it has changed.

    Raises:
        ConfigurationError: the file's configuration, or ``overrides``, cannot be used.
    """
    chosen = overrides or Overrides()
    known = _kept.get(chosen)
    if known is None:
        _kept.clear()
        known = _kept[chosen] = Configurations(chosen)
    known.refresh()
    return known.for_file(path)


class _Document:
    """A configuration file that has been read."""

    __slots__ = (
        "base",
        "exclude",
        "files",
        "layer",
        "line",
        "overrides",
        "path",
        "problems",
        "shadowed",
    )

    def __init__(self, path: str, base: str) -> None:
        """``base`` is where its patterns start from."""
        self.path = path
        self.base = base
        #: where it starts to speak of this tool
        self.line = 0
        self.layer = Layer()
        #: patterns of files, and what holds for these
        self.overrides: list[tuple[GitIgnoreSpec, Layer]] = []
        self.exclude: list[tuple[GitIgnoreSpec, Origin]] = []
        #: patterns before ``::`` in tables of contracts
        self.files: dict[str, GitIgnoreSpec] = {}
        self.problems: tuple[Problem, ...] = ()
        #: a table in the same folder that is not used
        self.shadowed: Problem | None = None


def _contract_tables(
    document: _Document,
) -> Iterator[tuple[GitIgnoreSpec | None, Given[tuple[KernelContract, ...]]]]:
    """Its tables of contracts and presets, each with the pattern of the files they are for."""
    for spec, layer in ((None, document.layer), *document.overrides):
        for setting in (table.CONTRACTS, table.PRESETS):
            given = layer.get(setting)
            if given is not None:
                yield spec, given


class Configurations:
    """The configuration of every file, under one command line. Each file is read once."""

    def __init__(self, overrides: Overrides | None = None) -> None:
        """
        Raises:
            ConfigurationError: ``overrides`` hold something unknown; or name a file that cannot
                be used as configuration.
        """
        overrides = overrides or Overrides()
        self._isolated = overrides.isolated
        self._config = os.path.abspath(overrides.config) if overrides.config else None
        self._top = _command_line(overrides)
        self._folders: dict[str, _Document | None] = {}
        self._read: dict[str, _Document] = {}
        self._answers: dict[
            tuple[int, tuple[int, ...], frozenset[str]], tuple[Settings, Layer]
        ] = {}
        #: what was looked at -> its stamp then
        self._stamps: dict[str, tuple[int, int] | None] = {}

    # -- questions

    def for_file(self, path: str) -> Resolved:
        """The settings of a file.

        Raises:
            ConfigurationError: its configuration cannot be used.
        """
        full = os.path.abspath(path)
        document = self._usable(os.path.dirname(full))
        if document is None:
            return self._resolved(path, None, (), frozenset(), None)
        inside = _relative(full, document.base)
        matching: tuple[int, ...] = ()
        files: frozenset[str] = frozenset()
        excluded = None
        if inside is not None:
            matching = tuple(
                n for n, (spec, _) in enumerate(document.overrides) if spec.match_file(inside)
            )
            files = frozenset(p for p, spec in document.files.items() if spec.match_file(inside))
            for spec, origin in document.exclude:
                verdict = spec.check_file(inside).include
                if verdict is not None:
                    excluded = origin if verdict else None
        return self._resolved(path, document, matching, files, excluded)

    def for_run(self, paths: Sequence[str]) -> Resolved:
        """The settings of a whole run: of the folder that all ``paths`` have in common.

        Raises:
            ConfigurationError: its configuration cannot be used.
        """
        folders = [
            full if os.path.isdir(full) else os.path.dirname(full)
            for full in map(os.path.abspath, paths)
        ]
        try:
            common = os.path.commonpath(folders)
        except ValueError:  # no path, or several drives
            common = os.path.abspath(".")
        return self._resolved(common, self._usable(common), (), frozenset(), None)

    def left_out(self, paths: Sequence[str]) -> list[Resolved]:
        """Those of ``paths`` that are files and that their configurations leave out."""
        files = [path for path in paths if os.path.isfile(path)]
        return [found for found in map(self.for_file, files) if found.excluded is not None]

    def problems(self) -> tuple[Problem, ...]:
        """What is wrong with the configurations met so far."""
        found = [p for document in self._read.values() for p in document.problems]
        return tuple(sorted(set(found), key=lambda p: (p.path, p.line, p.message)))

    def shadowed(self) -> tuple[Problem, ...]:
        """Tables of the configurations met so far that another file in their folder hides."""
        found = [d.shadowed for d in self._read.values() if d.shadowed is not None]
        return tuple(sorted(found, key=lambda p: p.path))

    def contracts(self) -> tuple[KernelContract, ...]:
        """Every contract of the configurations met so far, and of the command line."""
        asked = self._top.get(table.CONTRACTS)
        found = list(asked.value) if asked else []
        for document in self._read.values():
            for _, given in _contract_tables(document):
                found += given.value
        return tuple(dict.fromkeys(found))

    def folder_of(self, contract: KernelContract) -> str | None:
        """The folder for whose files a contract is meant; None for the command line's."""
        document = self._read.get(contract.origin.path)
        return document.base if document else None

    def line_of(self, contract: KernelContract) -> int:
        """The line of the key that a contract of a configuration file stands at."""
        document = self._read.get(contract.origin.path)
        for _, given in _contract_tables(document) if document else ():
            if contract in given.value:
                return next(e.origin.line for e in given.entries if e.key == contract.key)
        return contract.origin.line

    def concerns(self, contract: KernelContract, path: str) -> bool:
        """Whether a contract, by where it stands and its pattern, is meant for a file."""
        if contract.origin.source != "file":
            return True
        full = os.path.abspath(path)
        document = self._document(os.path.dirname(full))
        inside = None if document is None else _relative(full, document.base)
        if document is None or document.path != contract.origin.path or inside is None:
            return False
        if contract.files and not document.files[contract.files].match_file(inside):
            return False
        return any(
            contract in given.value and (spec is None or spec.match_file(inside))
            for spec, given in _contract_tables(document)
        )

    def refresh(self) -> None:
        """Forget what was read if any of it, or what was not there, has changed on disk."""
        if any(_stamp(path) != stamp for path, stamp in self._stamps.items()):
            self._folders.clear()
            self._read.clear()
            self._answers.clear()
            self._stamps.clear()

    # -- finding and reading

    def _usable(self, folder: str) -> _Document | None:
        document = self._document(folder)
        if document is not None and document.problems:
            raise ConfigurationError(document.problems)
        return document

    def _document(self, folder: str) -> _Document | None:
        if self._isolated:
            return None
        if self._config is not None:
            if self._config not in self._read:
                self._stamps[self._config] = _stamp(self._config)
                self._read[self._config] = _read_named(self._config)
            return self._read[self._config]
        passed: list[str] = []
        found: _Document | None = None
        while True:
            if folder in self._folders:
                found = self._folders[folder]
                break
            passed.append(folder)
            found = self._in_folder(folder)
            parent = os.path.dirname(folder)
            if found is not None or parent == folder or _is_top(folder):
                break
            folder = parent
        self._folders.update(dict.fromkeys(passed, found))
        return found

    def _in_folder(self, folder: str) -> _Document | None:
        own, shared = os.path.join(folder, NAME), os.path.join(folder, PROJECT)
        for path in (own, shared):
            self._stamps[path] = _stamp(path)
        document = None
        if self._stamps[own] is not None:
            document = _read_file(own, folder)
        if self._stamps[shared] is not None:
            other = _read_file(shared, folder)
            if document is None:
                document = other
            elif other is not None:
                message = f"[tool.tilelint] is not used: {NAME} in the same folder wins"
                document.shadowed = Problem(shared, other.line, message)
        if document is not None:
            self._read[document.path] = document
        return document

    # -- answers

    def _resolved(
        self,
        path: str,
        document: _Document | None,
        matching: tuple[int, ...],
        files: frozenset[str],
        excluded: Origin | None,
    ) -> Resolved:
        key = (id(document), matching, files)
        answer = self._answers.get(key)
        if answer is None:
            layers: list[Layer] = []
            if document is not None:
                layers = [document.layer, *(document.overrides[n][1] for n in matching)]
            answer = self._answers[key] = _answer(layers, self._top, files)
        settings, layer = answer
        file = document.path if document else None
        return Resolved(path, file, settings, layer.given(), excluded)


_kept: dict[Overrides, Configurations] = {}


def _answer(layers: Sequence[Layer], top: Layer, files: frozenset[str]) -> tuple[Settings, Layer]:
    """The settings under these layers, for a file that the patterns ``files`` match."""
    layer = table.combined(*(_for_files(layer, files) for layer in layers), top)
    asked = top.get(table.CONTRACTS)
    below = layer.get(table.PRESETS)
    if asked and asked.value and below:  # who asks for a contract wants no other

        def stays(kernel: str) -> bool:
            return not any(table.same_kernel(kernel, c.kernel) for c in asked.value)

        left = tuple(contract for contract in below.value if stays(contract.kernel))
        entries = tuple(entry for entry in below.entries if stays(table.kernel_of(entry)))
        layer.put(table.PRESETS, Given(left, entries or table.PRESETS.unset().entries))

    def value(setting: Setting[table.T]) -> table.T:
        given = layer.get(setting)
        assert given is not None  # `combined` sets all
        return given.value

    settings = Settings(
        targets=value(table.TARGETS),
        api_version=value(table.API_VERSION),
        select=value(table.SELECT),
        ignore=value(table.IGNORE),
        severity=value(table.SEVERITY),
        contracts=value(table.CONTRACTS),
        presets=value(table.PRESETS),
        timeout=value(table.TIMEOUT),
        jobs=value(table.JOBS),
        strict=value(table.STRICT),
        replay=value(table.REPLAY),
        cache_dir=value(table.CACHE_DIR),
    )
    return settings, layer


def _for_files(layer: Layer, files: frozenset[str]) -> Layer:
    """The layer with only those contracts whose pattern is empty or among ``files``."""
    out = Layer()
    for setting in table.SETTINGS:
        given = layer.get(setting)
        if given is not None and setting.key in (table.CONTRACTS.key, table.PRESETS.key):
            value = tuple(c for c in given.value if not c.files or c.files in files)
            kept = {c.key for c in value}
            entries = tuple(e for e in given.entries if "::" not in e.key or e.key in kept)
            given = replace(given, value=value, entries=entries)
        out.put(setting, given)
    return out


def _relative(path: str, base: str) -> str | None:
    """The path below ``base`` as patterns see it; None if it is elsewhere."""
    start = base if base.endswith(os.sep) else base + os.sep
    return path[len(start) :].replace(os.sep, "/") if path.startswith(start) else None


def _is_top(folder: str) -> bool:
    """Whether a repository starts here."""
    return os.path.exists(os.path.join(folder, ".git"))


def _stamp(path: str) -> tuple[int, int] | None:
    try:
        found = os.stat(path)  # noqa: PTH116
    except (OSError, ValueError):
        return None
    return found.st_mtime_ns, found.st_size


# ------------------------------------------------------------------------------- reading


def _read_named(path: str) -> _Document:
    """The file given with ``--config``; its patterns start from the current directory."""
    document = _read_file(path, os.path.abspath("."))
    if document is not None:
        return document
    document = _Document(path, os.path.dirname(path))
    document.problems = (Problem(path, 0, "has no [tool.tilelint]"),)
    return document


def _read_file(path: str, base: str) -> _Document | None:
    """A configuration file; None for a ``pyproject.toml`` that says nothing about this tool."""
    document = _Document(path, base)
    within: Where = ("tool", "tilelint") if os.path.basename(path) == PROJECT else ()

    def broken(message: str, line: int = 0) -> _Document:
        document.problems = (Problem(path, line, message),)
        return document

    try:
        with open(path, "rb") as stream:
            data = stream.read()
    except OSError as error:
        return broken(f"cannot be read: {error.strerror or error}")
    if within and b"tilelint" not in data:
        return None
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        return broken("is not UTF-8", data.count(b"\n", 0, error.start) + 1)
    from verifier.configuration import positions, toml

    try:
        content = toml.load(text)
    except toml.BadTomlError as error:
        return broken(error.message, error.line)
    for key in within:
        if key not in content:
            return None
        content = content[str(key)]
        if not isinstance(content, dict):
            line = positions.lines(text).get(within, 0)
            return broken(f"[tool.tilelint] must be a table, not {kind(content)}", line)
    lines = positions.lines(text)
    document.line = lines.get(within, 0)
    reader = Reader(_all_rules, path, base, lines)
    _fill(document, reader, within, content)
    document.problems = tuple(sorted(reader.problems, key=lambda p: (p.line, p.message)))
    return document


def _fill(document: _Document, reader: Reader, within: Where, content: dict[str, Any]) -> None:
    for key, value in content.items():
        where = (*within, key)
        if key == OVERRIDES:
            _fill_overrides(document, reader, where, value)
        elif key in BY_KEY:
            setting = BY_KEY[key]
            document.layer.put(setting, setting.read(reader, where, value))
        else:
            hint = did_you_mean(key, [*BY_KEY, OVERRIDES])
            if key == "tool" and not within:
                hint = f"; in {NAME}, keys stand at the top, without [tool.tilelint]"
            reader.problem(where, f"unknown key '{key}'{hint}")
    from_file = document.layer.get(table.EXCLUDE)
    if from_file is not None and not reader.problems:
        document.exclude = [
            (_spec([str(entry.value)]), entry.origin) for entry in from_file.entries
        ]
    if reader.problems:
        return
    for _, given in _contract_tables(document):
        for contract in given.value:
            if contract.files:
                document.files.setdefault(contract.files, _spec([contract.files]))


def _fill_overrides(document: _Document, reader: Reader, where: Where, value: object) -> None:
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        reader.problem(
            where, f"'{OVERRIDES}' must be a list of tables ([[{OVERRIDES}]]), not {kind(value)}"
        )
        return
    for index, content in enumerate(value):
        place = (*where, index)
        given = None
        if PATHS in content:
            given = patterns(reader, (*place, PATHS), content[PATHS])
        else:
            reader.problem(place, f"an override needs '{PATHS}', a list of patterns of files")
        layer = Layer()
        for key, said in content.items():
            if key == PATHS:
                continue
            setting = BY_KEY.get(key)
            if setting is not None and setting.per_path:
                layer.put(setting, setting.read(reader, (*place, key), said))
                continue
            allowed = [s.key for s in table.SETTINGS if s.per_path]
            if setting is not None:
                message = f"'{key}' holds for a whole run and cannot be overridden for some paths"
            else:
                message = f"unknown key '{key}'{did_you_mean(key, [*allowed, PATHS])}"
            reader.problem((*place, key), message)
        if given is not None:
            document.overrides.append((_spec(given.value), layer))


def _spec(lines: Iterable[str]) -> GitIgnoreSpec:
    from pathspec import GitIgnoreSpec

    return GitIgnoreSpec.from_lines(list(lines))


def _all_rules() -> Sequence[RuleLike]:
    from verifier.rulebase import all_rules

    return all_rules()


# -------------------------------------------------------------------- the command line


def _command_line(overrides: Overrides) -> Layer:
    layer = Layer()
    problems: list[Problem] = []

    def say(setting: Setting[Any], value: object) -> None:
        reader = Reader(_all_rules, base=os.path.abspath("."), option=setting.option)
        layer.put(setting, setting.read(reader, (setting.key,), value))
        problems.extend(reader.problems)

    for setting, values in (
        (table.TARGETS, overrides.targets),
        (table.SELECT, overrides.select),
        (table.IGNORE, overrides.ignore),
    ):
        split = [part.strip() for value in values for part in value.split(",") if part.strip()]
        if split:
            say(setting, split)
    for one, value in (
        (table.API_VERSION, overrides.api_version),
        (table.TIMEOUT, overrides.timeout),
        (table.JOBS, overrides.jobs),
        (table.STRICT, overrides.strict),
        (table.REPLAY, overrides.replay),
        (table.CACHE_DIR, overrides.cache_dir),
    ):
        if value is not None:
            say(one, value)
    if overrides.contracts:
        reader = Reader(_all_rules, option=table.CONTRACTS.option)
        layer.put(table.CONTRACTS, contract_texts(reader, overrides.contracts))
        problems.extend(reader.problems)
    if problems:
        raise ConfigurationError(tuple(problems))
    return layer
