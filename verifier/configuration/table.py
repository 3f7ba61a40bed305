"""The settings, in one table: reading, merging, showing and documenting them all start here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from msgspec import Struct

from verifier.configuration import reader as read
from verifier.configuration.model import (
    DEFAULT,
    Entry,
    Given,
    KernelContract,
    Resolved,
    Written,
)
from verifier.configuration.reader import Reader
from verifier.report.model import Severity

if TYPE_CHECKING:
    from verifier.configuration.positions import Where

T = TypeVar("T")


def replaced(_: Given[T], higher: Given[T]) -> Given[T]:
    """The higher level's value alone."""
    return higher


def added(lower: Given[tuple[str, ...]], higher: Given[tuple[str, ...]]) -> Given[tuple[str, ...]]:
    """Both levels' values."""
    value = tuple(dict.fromkeys((*lower.value, *higher.value)))
    return Given(value, (*_said(lower), *higher.entries))


def joined(
    lower: Given[Mapping[str, Severity]], higher: Given[Mapping[str, Severity]]
) -> Given[Mapping[str, Severity]]:
    """Rule by rule, the higher level's severity if it has one."""
    keys = {entry.key for entry in higher.entries}
    kept = tuple(entry for entry in _said(lower) if entry.key not in keys)
    return Given({**lower.value, **higher.value}, (*kept, *higher.entries))


def by_kernel(
    lower: Given[tuple[KernelContract, ...]], higher: Given[tuple[KernelContract, ...]]
) -> Given[tuple[KernelContract, ...]]:
    """Kernel by kernel, the higher level's contracts if it says anything about the kernel."""
    kernels = [kernel_of(entry) for entry in higher.entries]
    value = tuple(c for c in lower.value if not any(same_kernel(c.kernel, k) for k in kernels))
    kept = tuple(
        entry
        for entry in _said(lower)
        if not any(same_kernel(kernel_of(entry), k) for k in kernels)
    )
    return Given((*value, *higher.value), (*kept, *higher.entries))


def by_key(
    lower: Given[tuple[KernelContract, ...]], higher: Given[tuple[KernelContract, ...]]
) -> Given[tuple[KernelContract, ...]]:
    """Preset by preset and kernel by kernel, the higher level's contracts."""
    keys = {entry.key for entry in higher.entries}
    value = tuple(c for c in lower.value if c.key not in keys)
    kept = tuple(entry for entry in _said(lower) if entry.key not in keys)
    return Given((*value, *higher.value), (*kept, *higher.entries))


def _said(given: Given[T]) -> tuple[Entry, ...]:
    return tuple(entry for entry in given.entries if entry.origin is not DEFAULT)


def kernel_of(entry: Entry) -> str:
    """The kernel that an entry of a table of contracts is about."""
    return entry.key.rpartition("::")[2]


def same_kernel(one: str, other: str) -> bool:
    """Whether two names mean one kernel; a nested one may go by its last name."""
    return other in (one, one.rpartition(".")[2]) or one == other.rpartition(".")[2]


class Setting(Struct, Generic[T], frozen=True):
    """One setting.

    ``per_path``: overrides may set it. ``default_text`` is what people read for the default,
    ``option`` what the command line has for it.
    """

    key: str
    per_path: bool
    type_: str
    default: T
    default_text: str
    summary: str
    example: str
    read: Callable[[Reader, Where, object], Given[T] | None]
    merge: Callable[[Given[T], Given[T]], Given[T]]
    option: str = ""

    def unset(self) -> Given[T]:
        """What holds when nobody says anything."""
        written: Written = self.default if isinstance(self.default, (int, float)) else None
        return Given(self.default, (Entry(written, DEFAULT),))


_NONE: tuple[str, ...] = ()
_NO_CONTRACTS: tuple[KernelContract, ...] = ()
_NO_SEVERITIES: Mapping[str, Severity] = {}
_NOTHING: str | None = None
_ALL_CORES: int | None = None

TARGETS = Setting(
    "targets",
    True,
    "list of targets",
    _NONE,
    "of the kernel's family",
    "Hardware to check for.",
    '["trn2", "trn3"]',
    read.targets,
    replaced,
    "--target",
)
API_VERSION = Setting(
    "api-version",
    True,
    "string",
    _NOTHING,
    "inferred for each file",
    "NKI generation: beta1, 0.2 .. 0.6.",
    '"0.6"',
    read.version,
    replaced,
    "--api-version",
)
SELECT = Setting(
    "select",
    True,
    "list of rules",
    _NONE,
    "every rule but `advice`",
    "Check these rules only; `advice` alone comes on top of the rest. Sets aside what levels below "
    "this one select and ignore.",
    '["matmul", "memory"]',
    read.rules,
    replaced,
    "--select",
)
IGNORE = Setting(
    "ignore",
    True,
    "list of rules",
    _NONE,
    "no rule",
    "Leave these rules out, besides those that levels below this one ignore.",
    '["MEM309"]',
    read.rules,
    added,
    "--ignore",
)
SEVERITY = Setting(
    "severity",
    True,
    "table: rules -> error, warning, note",
    _NO_SEVERITIES,
    "each finding's own",
    "Severity of violations. Verdicts stay; what is undecided is never raised.",
    '{ api = "warning", MEM309 = "note" }',
    read.severity,
    joined,
)
CONTRACTS = Setting(
    "contracts",
    True,
    "table: kernel or path::kernel -> contract, or a list",
    _NO_CONTRACTS,
    "none",
    "Contracts, each checked on its own, for the targets that it names. The kernel's name may be "
    "left out of the text.",
    '{ gemm = "(a: bf16[K, M]) where K % 128 == 0" }',
    read.contracts,
    by_kernel,
    "--contract",
)
PRESETS = Setting(
    "presets",
    True,
    "table: preset -> kernel -> contract, or a list",
    _NO_CONTRACTS,
    "none",
    "Shapes that are shipped: contracts under a name, which findings and kernels then carry.",
    '{ decode = { gemm = "(a: bf16[4096, 1])" } }',
    read.presets,
    by_key,
)
TIMEOUT = Setting(
    "timeout",
    True,
    "number",
    60.0,
    "60",
    "Seconds of computing for each kernel; what is left over is unknown.",
    "10",
    read.seconds,
    replaced,
    "--timeout",
)
JOBS = Setting(
    "jobs",
    False,
    "integer",
    _ALL_CORES,
    "the cores available",
    "Worker processes.",
    "4",
    read.jobs,
    replaced,
    "--jobs",
)
STRICT = Setting(
    "strict",
    False,
    "boolean",
    False,
    "false",
    "Exit with 1 on warnings and unknowns, too.",
    "true",
    read.boolean,
    replaced,
    "--strict",
)
CACHE_DIR = Setting(
    "cache-dir",
    False,
    "path",
    _NOTHING,
    "the user's cache directory",
    "Where results are kept; relative to the configuration's folder.",
    '".cache/tilelint"',
    read.folder,
    replaced,
    "--cache-dir",
)
EXCLUDE = Setting(
    "exclude",
    False,
    "list of patterns",
    _NONE,
    "nothing",
    "Files to leave out, in the form of .gitignore, also when they are named.",
    '["vendor/", "*_generated.py"]',
    read.patterns,
    added,
)

#: In the order in which they are documented.
SETTINGS: tuple[Setting[Any], ...] = (
    TARGETS,
    API_VERSION,
    SELECT,
    IGNORE,
    SEVERITY,
    CONTRACTS,
    PRESETS,
    TIMEOUT,
    JOBS,
    STRICT,
    CACHE_DIR,
    EXCLUDE,
)

#: The array of tables that holds values for some files only, and the key of its patterns.
OVERRIDES, PATHS = "overrides", "paths"
BY_KEY: Mapping[str, Setting[Any]] = {setting.key: setting for setting in SETTINGS}


class Layer:
    """What one level says: the value of each setting that it mentions."""

    def __init__(self) -> None:
        self._given: dict[str, Given[Any]] = {}

    def get(self, setting: Setting[T]) -> Given[T] | None:
        return self._given.get(setting.key)

    def put(self, setting: Setting[T], given: Given[T] | None) -> None:
        if given is not None:
            self._given[setting.key] = given

    def contracts(self) -> list[KernelContract]:
        """Those of presets, too."""
        found: list[KernelContract] = []
        for setting in (CONTRACTS, PRESETS):
            given = self.get(setting)
            found.extend(given.value if given is not None else ())
        return found

    def given(self) -> Mapping[str, Given[Any]]:
        """By key, in the order of the table as far as :func:`combined` made this."""
        return self._given


def combined(*layers: Layer) -> Layer:
    """Every setting with its value in force; ``layers`` from the lowest to the highest."""
    result = Layer()
    for setting in SETTINGS:
        result.put(setting, setting.unset())
    for layer in layers:
        if layer.get(SELECT) is not None:
            result.put(IGNORE, IGNORE.unset())
        for setting in SETTINGS:
            higher, lower = layer.get(setting), result.get(setting)
            if higher is not None and lower is not None:
                result.put(setting, setting.merge(lower, higher))
    return result


def said_of(resolved: Resolved) -> Mapping[str, Given[Any]]:
    """What is said about each setting of a file, by its key."""
    return combined().given() if resolved.said is None else resolved.said
