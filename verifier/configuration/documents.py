"""What one configuration file says, what the command line says, and what both come to."""

# Links are not followed, and one rule holds for all paths here: plain strings.
# ruff: noqa: PTH100, PTH119, PTH120, PTH123

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from verifier.configuration import table
from verifier.configuration.model import (
    NAME,
    PROJECT,
    ConfigurationError,
    Given,
    KernelContract,
    Origin,
    Overrides,
    Problem,
    Settings,
)
from verifier.configuration.reader import Reader, contract_texts, kind, patterns
from verifier.configuration.suggestions import did_you_mean
from verifier.configuration.table import BY_KEY, OVERRIDES, PATHS, Layer, Setting

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

    from verifier.configuration.names import RuleLike
    from verifier.configuration.positions import Where


class Document:
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

    def contracts(self) -> list[KernelContract]:
        """All contracts, also those of presets, whatever files they are for."""
        return [
            contract
            for layer in (self.layer, *(layer for _, layer in self.overrides))
            for contract in layer.contracts()
        ]

    def line_of(self, contract: KernelContract) -> int:
        """The line of the key that a contract stands at."""
        for layer in (self.layer, *(layer for _, layer in self.overrides)):
            for setting in (table.CONTRACTS, table.PRESETS):
                given = layer.get(setting)
                if given is not None and contract in given.value:
                    return next(e.origin.line for e in given.entries if e.key == contract.key)
        return contract.origin.line

    def concerns(self, contract: KernelContract, inside: str) -> bool:
        """Whether a contract is here and meant for a file, a path below ``base``."""
        if contract.files and not self.files[contract.files].match_file(inside):
            return False
        if contract in self.layer.contracts():
            return True
        return any(
            contract in layer.contracts() and spec.match_file(inside)
            for spec, layer in self.overrides
        )


def read_named(path: str) -> Document:
    """The file given with ``--config``; its patterns start from the current directory."""
    document = read_file(path, os.path.abspath("."))
    if document is not None:
        return document
    document = Document(path, os.path.dirname(path))
    document.problems = (Problem(path, 0, "has no [tool.tilelint]"),)
    return document


def read_file(path: str, base: str) -> Document | None:
    """A configuration file; None for a ``pyproject.toml`` that says nothing about this tool.

    ``base`` is the folder that its patterns start from.
    """
    document = Document(path, base)
    within: Where = ("tool", "tilelint") if os.path.basename(path) == PROJECT else ()

    def broken(message: str, line: int = 0) -> Document:
        document.problems = (Problem(path, line, message),)
        return document

    try:
        with open(path, "rb") as stream:
            data = stream.read()
    except OSError as error:
        return broken(f"cannot be read: {error.strerror or error}")
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


def _fill(document: Document, reader: Reader, within: Where, content: dict[str, Any]) -> None:
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
    for contract in document.contracts():
        if contract.files:
            document.files.setdefault(contract.files, _spec([contract.files]))


def _fill_overrides(document: Document, reader: Reader, where: Where, value: object) -> None:
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


def command_line(overrides: Overrides) -> Layer:
    """What the command line says, as a level above all configuration files.

    Raises:
        ConfigurationError: something that it names is not known.
    """
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


# ------------------------------------------------------------------------- what holds


def answer(
    layers: Sequence[Layer], top: Layer | None, files: frozenset[str]
) -> tuple[Settings, Layer]:
    """The settings under these layers, for a file that the patterns ``files`` match."""
    top = top or Layer()
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
        select=_besides(value(table.SELECT)),
        ignore=value(table.IGNORE),
        severity=value(table.SEVERITY),
        contracts=value(table.CONTRACTS),
        presets=value(table.PRESETS),
        timeout=value(table.TIMEOUT),
        jobs=value(table.JOBS),
        strict=value(table.STRICT),
        cache_dir=value(table.CACHE_DIR),
    )
    return settings, layer


def _besides(select: tuple[str, ...]) -> tuple[str, ...]:
    """What is checked: advice alone comes on top of everything else."""
    if not select:
        return select
    from verifier.rulebase import ADVICE, all_rules

    advice = {rule.id for rule in all_rules() if rule.family == ADVICE}
    if not advice.issuperset(select):
        return select
    return tuple(rule.id for rule in all_rules() if rule.family != ADVICE or rule.id in select)


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
