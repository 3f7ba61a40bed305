"""Reading single values: each reader turns what TOML says into what the analysis takes.

A value that cannot be used is noted as a problem of its line, and the reader returns None.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from verifier.configuration import names
from verifier.configuration.model import Entry, Given, KernelContract, Origin, Problem, Written
from verifier.configuration.names import RuleLike, UnknownNameError
from verifier.configuration.suggestions import did_you_mean
from verifier.report.model import SEVERITIES, Severity

if TYPE_CHECKING:
    from verifier.configuration.positions import Where


class Reader:
    """What the readers need: where a value stands, which rules there are, a place for problems.

    ``base`` is the folder that relative paths start from. ``option`` is set when the values are
    those of the command line.
    """

    def __init__(
        self,
        known_rules: Callable[[], Sequence[RuleLike]],
        path: str = "",
        base: str = "",
        lines: Mapping[Where, int] | None = None,
        option: str = "",
    ) -> None:
        self.path = path
        self.base = base
        self.option = option
        self.problems: list[Problem] = []
        self._known_rules = known_rules
        self._lines = lines or {}

    def rules(self) -> Sequence[RuleLike]:
        return self._known_rules()

    def line(self, where: Where) -> int:
        """The line of a key, or of the nearest table around it; 0 if that is not known either."""
        while where:
            if where in self._lines:
                return self._lines[where]
            where = where[:-1]
        return 0

    def origin(self, where: Where) -> Origin:
        if self.option:
            return Origin("command line", option=self.option)
        return Origin("file", self.path, self.line(where))

    def problem(self, where: Where, message: str) -> None:
        self.problems.append(Problem(self.path, self.line(where), message))

    def name(self, where: Where) -> str:
        """What the user calls this place: the option, or the key."""
        return self.option or f"'{where[-1]}'"

    def expected(self, where: Where, what: str, value: object, hint: str = "") -> None:
        """The problem of a value of the wrong type."""
        key = ".".join(str(part) for part in where if isinstance(part, str))
        self.problem(where, f"'{key}' must be {what}, not {kind(value)}{hint}")


_KINDS: tuple[tuple[type, str], ...] = (
    (str, "a string"),
    (int, "an integer"),
    (float, "a float"),
    (list, "a list"),
    (dict, "a table"),
)


def kind(value: object) -> str:
    """What a TOML value is called."""
    if isinstance(value, bool):
        return "a boolean"
    for types, name in _KINDS:
        if isinstance(value, types):
            return name
    return "a date or a time"


# ------------------------------------------------------------------------- plain values


def boolean(reader: Reader, where: Where, value: object) -> Given[bool] | None:
    if not isinstance(value, bool):
        reader.expected(where, "true or false", value)
        return None
    return Given(value, (Entry(value, reader.origin(where)),))


def jobs(reader: Reader, where: Where, value: object) -> Given[int | None] | None:
    if isinstance(value, bool) or not isinstance(value, int):
        reader.expected(where, "an integer", value)
        return None
    if value < 1:
        reader.problem(where, f"'jobs' must be at least 1, not {value}")
        return None
    return Given(value, (Entry(value, reader.origin(where)),))


def seconds(reader: Reader, where: Where, value: object) -> Given[float] | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        reader.expected(where, "a number of seconds", value)
        return None
    if not value > 0 or math.isinf(value):
        reader.problem(where, f"'{where[-1]}' must be a number above 0, not {value}")
        return None
    return Given(float(value), (Entry(value, reader.origin(where)),))


def folder(reader: Reader, where: Where, value: object) -> Given[str | None] | None:
    """A path; a relative one starts from the reader's base."""
    if not isinstance(value, str):
        reader.expected(where, "a path", value)
        return None
    if not value or "\0" in value:
        reader.problem(where, f"'{where[-1]}' must be a path, not {value!r}")
        return None
    # Plain strings: `Path.resolve` would follow links.
    path = os.path.join(reader.base, os.path.expanduser(value))  # noqa: PTH111, PTH118
    full = os.path.abspath(path)  # noqa: PTH100
    return Given(full, (Entry(value, reader.origin(where)),))


# ------------------------------------------------------------------------------- names


def version(reader: Reader, where: Where, value: object) -> Given[str | None] | None:
    if not isinstance(value, str):
        hint = f'; write "{value}"' if isinstance(value, float) else ""
        reader.expected(where, "a string", value, hint)
        return None
    try:
        known = names.api_version(value)
    except UnknownNameError as error:
        reader.problem(where, str(error))
        return None
    return Given(known, (Entry(value, reader.origin(where)),))


def targets(reader: Reader, where: Where, value: object) -> Given[tuple[str, ...]] | None:
    return _each(reader, where, value, lambda name: (names.target(name),))


def rules(reader: Reader, where: Where, value: object) -> Given[tuple[str, ...]] | None:
    place = reader.name(where)
    given = _each(reader, where, value, lambda key: names.rules(key, reader.rules(), place))
    return given and Given(tuple(sorted(given.value)), given.entries)


def patterns(reader: Reader, where: Where, value: object) -> Given[tuple[str, ...]] | None:
    """Patterns in the form of ``.gitignore``, with an entry each."""
    elements = strings(reader, where, value)
    if elements is None:
        return None
    good = [(n, text) for n, text in enumerate(elements) if pattern(reader, (*where, n), text)]
    entries = tuple(Entry(text, reader.origin((*where, n))) for n, text in good)
    return Given(tuple(text for _, text in good), entries)


def pattern(reader: Reader, where: Where, text: str) -> bool:
    """Whether a pattern can be used; a problem if not."""
    from pathspec import GitIgnoreSpec

    try:
        spec = GitIgnoreSpec.from_lines([text])
    except ValueError:
        spec = None
    if spec is None or all(p.include is None for p in spec.patterns):
        reader.problem(where, f"'{text}' is not a pattern of files as in .gitignore")
        return False
    return True


def strings(reader: Reader, where: Where, value: object) -> list[str] | None:
    if not isinstance(value, list):
        hint = f'; write ["{value}"]' if isinstance(value, str) and '"' not in value else ""
        reader.expected(where, "a list of strings", value, hint)
        return None
    for n, element in enumerate(value):
        if not isinstance(element, str):
            reader.expected((*where, n), "a list of strings", element, " in it")
            return None
    return list(value)


def _each(
    reader: Reader, where: Where, value: object, read: Callable[[str], tuple[str, ...]]
) -> Given[tuple[str, ...]] | None:
    elements = strings(reader, where, value)
    if elements is None:
        return None
    found: dict[str, None] = {}
    for n, element in enumerate(elements):
        try:
            found.update(dict.fromkeys(read(element)))
        except UnknownNameError as error:
            reader.problem((*where, n), str(error))
    written: Written = list(elements)
    return Given(tuple(found), (Entry(written, reader.origin(where)),))


# ------------------------------------------------------------------------------ tables


def severity(reader: Reader, where: Where, value: object) -> Given[Mapping[str, Severity]] | None:
    """Rule id -> severity. A key that stands for fewer rules wins over one for more."""
    if not isinstance(value, dict):
        reader.expected(where, "a table of rules and severities", value)
        return None
    said: list[tuple[tuple[str, ...], Severity]] = []
    entries: list[Entry] = []
    for key, level in value.items():
        place = (*where, key)
        chosen = next((s for s in SEVERITIES if s == level), None)
        if chosen is None:
            hint = did_you_mean(level, SEVERITIES) if isinstance(level, str) else ""
            if level in ("off", "ignore", "none", False):
                hint = f'; to leave a rule out, write ignore = ["{key}"]'
            words = ", ".join(f'"{s}"' for s in SEVERITIES[:-1])
            reader.problem(
                place, f"the severity of '{key}' must be {words} or \"{SEVERITIES[-1]}\"{hint}"
            )
            continue
        try:
            said.append((names.rules(key, reader.rules(), reader.name(where)), chosen))
        except UnknownNameError as error:
            reader.problem(place, str(error))
            continue
        entries.append(Entry(chosen, reader.origin(place), key))
    found: dict[str, Severity] = {}
    for ids, chosen in sorted(said, key=lambda item: -len(item[0])):
        found.update(dict.fromkeys(ids, chosen))
    return Given(found, tuple(entries))


def contracts(
    reader: Reader, where: Where, value: object
) -> Given[tuple[KernelContract, ...]] | None:
    """Kernel, or ``pattern::kernel``, -> a contract or several."""
    if not isinstance(value, dict):
        reader.expected(where, "a table of kernels and contracts", value)
        return None
    found: list[KernelContract] = []
    entries: list[Entry] = []
    for key, said in value.items():
        found += _contracts(reader, (*where, key), key, said)
        entries.append(_contract_entry(reader, (*where, key), key, said))
    return Given(tuple(found), tuple(entries))


def presets(
    reader: Reader, where: Where, value: object
) -> Given[tuple[KernelContract, ...]] | None:
    """Name of a preset -> kernel -> a contract or several."""
    if not isinstance(value, dict):
        reader.expected(where, "a table of presets", value)
        return None
    found: list[KernelContract] = []
    entries: list[Entry] = []
    for name, table in value.items():
        place = (*where, name)
        if not isinstance(table, dict):
            reader.problem(
                place,
                f"preset '{name}' must be a table of kernels and contracts, not {kind(table)}",
            )
            continue
        if not name.strip() or not name.isprintable():
            reader.problem(place, f"{name!r} is not a name for a preset")
            continue
        for key, said in table.items():
            entry = f"{name}.{key}"
            found += _contracts(reader, (*place, key), key, said, name, entry)
            entries.append(_contract_entry(reader, (*place, key), entry, said))
    return Given(tuple(found), tuple(entries))


def _contract_entry(reader: Reader, where: Where, key: str, said: object) -> Entry:
    written: Written = None
    if isinstance(said, str):
        written = said
    elif isinstance(said, list):
        written = [text for text in said if isinstance(text, str)]
    return Entry(written, reader.origin(where), key)


def _contracts(
    reader: Reader, where: Where, key: str, said: object, preset: str = "", entry: str = ""
) -> list[KernelContract]:
    files, _, kernel = key.rpartition("::")
    if not all(part.isidentifier() for part in kernel.split(".")):
        reader.problem(where, f"'{key}' is not the name of a kernel, or path::kernel")
        return []
    if files and not pattern(reader, where, files):
        return []
    texts: list[tuple[Where, object]] = [(where, said)]
    if isinstance(said, list):
        texts = [((*where, n), text) for n, text in enumerate(said)]
    found = []
    for place, text in texts:
        if not isinstance(text, str):
            reader.problem(
                place, f"the contract of '{key}' must be a string or a list, not {kind(text)}"
            )
            continue
        full = _full_text(reader, place, kernel, text)
        if full is not None:
            found.append(
                KernelContract(kernel, full, reader.origin(place), entry or key, files, preset)
            )
    return found


def _full_text(reader: Reader, where: Where, kernel: str, text: str) -> str | None:
    """The contract with the kernel's name in front, once its grammar is checked."""
    from verifier.configuration.grammar import ContractError, parse

    start = text.lstrip()[:1]
    named = start.isidentifier()
    try:
        contract = parse(text, comment=not named)
    except ContractError as error:
        reader.problem(where, str(error).replace("\n", " "))
        return None
    if named and contract.kernel != kernel:
        reader.problem(where, f"this contract is for '{contract.kernel}', but stands at '{kernel}'")
        return None
    return text if named else f"{kernel}{text.lstrip()}"


def contract_texts(reader: Reader, texts: Sequence[str]) -> Given[tuple[KernelContract, ...]]:
    """Contracts that name their kernels, as ``--contract`` takes them."""
    from verifier.configuration.grammar import ContractError, parse

    found: list[KernelContract] = []
    entries: list[Entry] = []
    origin = reader.origin(())
    for text in dict.fromkeys(texts):
        try:
            kernel = parse(text).kernel or ""
        except ContractError as error:
            reader.problem((), str(error).replace("\n", " "))
            continue
        found.append(KernelContract(kernel, text, origin, kernel))
        entries.append(Entry(text, origin, kernel))
    return Given(tuple(found), tuple(entries))
