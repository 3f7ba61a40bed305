"""The diagnostics model: what the analysis hands over and every report renders.

The contract between engine, command line and JSON output: plain picklable data, no solver terms.

Positions inside the model: lines are 1-based, columns are 0-based code points, ends are exclusive.
The JSON and concise formats print 1-based columns (``column + 1``), as ruff and most editors do.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final, Literal, TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace

from verifier.report.spans import Label as Label
from verifier.report.spans import Span as Span
from verifier.report.spans import Subject as Subject

Severity: TypeAlias = Literal["error", "warning", "note"]
Verdict: TypeAlias = Literal["always", "sometimes", "unknown"]
Replay: TypeAlias = Literal["confirmed", "diverged", "unsupported", "not-run"]
Status: TypeAlias = Literal["verified", "conditional", "violated", "unknown", "error"]
ErrorKind: TypeAlias = Literal["internal", "unreadable", "usage", "syntax"]

#: A concrete value in a counterexample; shapes are lists of ints.
Value: TypeAlias = int | float | bool | str | list[Any] | None
Counterexample: TypeAlias = Mapping[str, Value]

SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")
VERDICTS: tuple[Verdict, ...] = ("always", "sometimes", "unknown")

#: the rule of the one finding that stands for all parts of a kernel's precondition
PRECONDITION: Final = "precondition"

#: how much of a fix its title spells out
_TITLE = 80

EXIT_CLEAN = 0
EXIT_FINDINGS = 1
EXIT_FAILURE = 2


class Edit(Struct, frozen=True):
    """Text that replaces a region of a file; an empty region is an insertion."""

    span: Span
    text: str


class Fix(Struct, frozen=True):
    """A change that removes a finding. ``safe``: nothing that works today behaves otherwise."""

    title: str
    safe: bool
    edits: tuple[Edit, ...]


class Need(Struct, frozen=True):
    """A place where a rule needs a condition."""

    rule: str
    span: Span


class Conjunct(Struct, frozen=True):
    """One condition of a precondition, and what needs it.

    ``text`` is a Python expression over the kernel's parameters and the names that it binds to
    their sizes. ``what`` says what holds then, or what happens else; ``rule``, ``facts`` and
    ``span`` are those of the obligation that needs it, ``others`` the others that do.
    ``silent``: without it, the kernel goes wrong and nobody is told. ``witness`` is an input that
    breaks it alone, ``breach`` what of it does (``N = 513``). ``grid``: it is about the launch.
    ``minor``: no tensor that fits the device's memory breaks it. ``dtype``: it says only what types
    instructions take, ``rank``: of which rank a tensor was checked. ``assertion`` inserts it.
    """

    text: str
    what: str
    rule: str
    facts: tuple[str, ...]
    span: Span
    others: tuple[Need, ...] = ()
    silent: bool = False
    grid: bool = False
    minor: bool = False
    dtype: bool = False
    rank: bool = False
    exact: bool = True
    witness: Counterexample | None = None
    breach: str = ""
    assertion: Edit | None = None

    @property
    def told(self) -> str:
        """What holds then, or what happens else."""
        if not self.silent:
            return self.what
        what, colon, part = self.what.partition(": ")
        return f"else {what}, silently{colon}{part}"

    @property
    def needs(self) -> tuple[Need, ...]:
        """Everything that needs it, the first one first."""
        return (Need(self.rule, self.span), *self.others)


class Precondition(Struct, frozen=True):
    """For which of the inputs that a kernel admits it is right; no conjunct means for all.
    ``sufficient``: it is proved to be right for them, ``exact``: to go wrong for all others,
    ``faulty``: other findings tell of some among them. ``asserted`` is what the kernel and its
    contract say, ``assumed`` what is taken for granted of its integers, ``undecided`` what is not
    known, a sentence each. The conjuncts stand in an order in which all can be evaluated.
    ``shapes``: the tensors and the names of their sizes.
    """

    conjuncts: tuple[Conjunct, ...] = ()
    sufficient: bool = True
    exact: bool = True
    asserted: tuple[str, ...] = ()
    assumed: tuple[str, ...] = ()
    undecided: tuple[str, ...] = ()
    shapes: tuple[tuple[str, tuple[str, ...]], ...] = ()
    faulty: bool = False
    #: the contract that promised enough and does not, where a finding is about it
    contract: str = ""

    @property
    def text(self) -> str:
        """All conjuncts as one Python expression."""
        return joined([c.text for c in self.conjuncts])

    @property
    def brief(self) -> str:
        """The main conjuncts as one Python expression."""
        return joined([c.text for c in self.main])

    @property
    def main(self) -> tuple[Conjunct, ...]:
        """The conjuncts of sizes and values that some real input breaks."""
        return tuple(conjunct for conjunct in self.sizes if not conjunct.minor)

    @property
    def sizes(self) -> tuple[Conjunct, ...]:
        """The conjuncts that say more than which element types instructions take."""
        return tuple(conjunct for conjunct in self.conjuncts if not conjunct.dtype)

    @property
    def dtypes(self) -> tuple[Conjunct, ...]:
        """The conjuncts that say only that."""
        return tuple(conjunct for conjunct in self.conjuncts if conjunct.dtype)

    @property
    def fix(self) -> Fix | None:
        """The assertions of all conjuncts that have one; None: of none."""
        if not (edits := [c.assertion for c in self.conjuncts if c.assertion is not None]):
            return None
        text = "".join(edit.text for edit in edits)
        title = "insert " + " and ".join(f"`{edit.text.strip()}`" for edit in edits)
        if len(title) > _TITLE or text.count("\n") > len(edits):
            some = "an assertion" if len(edits) == 1 else f"{len(edits)} assertions"
            title = f"insert the precondition as {some}"
        left = len(self.sizes) - len(edits)
        title += f" (without {left} that cannot be asserted)" if left else ""
        return Fix(title, False, (Edit(edits[0].span, text),))

    def concerns(self, need: Need) -> bool:
        """Whether a conjunct is there for it."""
        return any(need in conjunct.needs for conjunct in self.conjuncts)

    def headline(
        self,
        kernel: str,
        targets: Sequence[str] = (),
        *,
        condition: bool = True,
        some_dtypes: bool = False,
    ) -> str:
        """What is known of a kernel, in one sentence that ends with the condition, if wanted.

        ``some_dtypes``: it says that only some dtypes are taken.
        """
        where = f" on {' and '.join(targets)}" if targets else ""
        where += " for some dtypes" if some_dtypes else ""
        if self.sufficient:
            how = "is right{} exactly when" if self.exact else "is right{} at least when"
        elif self.undecided:
            faults = ", but for its faults and" if self.faulty else ","
            how = f"is right{{}}{faults} as far as decided, when"
        else:
            how = "is right{}, but for its faults, when"
        if self.contract:
            needs = "also needs" if self.exact else how.format("")
            under = f"`{kernel}` is no longer right{where} under its contract `{self.contract}`"
            said = f"{under}: it {needs}"
            return f"{said} {self.brief}" if condition else said
        return f"`{kernel}` {how.format(where)}" + (f" {self.brief}" if condition else "")


def joined(texts: Sequence[str]) -> str:
    """Conditions that hold together as one Python expression."""
    if len(texts) > 1:
        texts = [f"({text})" if " or " in text or " if " in text else text for text in texts]
    return " and ".join(texts) or "True"


class Structure(Struct, frozen=True):
    """An input that a contract makes of others: an object, a tuple, a list or a value by its name.

    ``path`` is that of the input (``cfg``), ``name`` the dotted name of what makes an object, or of
    the value (empty: a counterexample says which). ``arguments`` counts those without a name, which
    have the paths ``cfg.0`` and so on in an object and ``cfg[0]`` in a sequence.
    """

    path: str
    form: Literal["object", "tuple", "list", "name"]
    name: str = ""
    arguments: int = 0
    keywords: tuple[str, ...] = ()


class Diagnostic(Struct, frozen=True):
    """One finding at one site.

    ``rule`` is the kebab-case id ("partition-extent"), ``name`` the rule's short title in words.
    ``severity`` of an ``unknown`` verdict is "note" or "warning", never "error".
    ``claim`` is what the message says of the kernel, without how sure that is; ``subject`` the
    tensor of which it says so, where that tells it apart.
    ``facts`` are the catalogue ids that the rule enforces. ``predicate`` is what had to hold, in
    the kernel's own names. ``counterexample`` maps input names ("rhs.shape") to values.
    ``help`` says what to change, one suggestion per entry, ``assertion`` what the kernel can assert
    instead; ``undecided`` is why an ``unknown`` verdict is one. ``fix`` is an edit that does it.
    It holds on ``targets`` (empty: the only one) and ``presets`` of shapes (empty: no matter).
    ``suppressed`` is the reason that a suppression in the source gives; None: not suppressed.
    ``fingerprint`` tells it apart across versions (:mod:`verifier.report.fingerprints`).
    ``part``: the kernel's precondition excludes it, which is reported in its place.
    ``precondition`` is what one of the rule :data:`PRECONDITION` is about, less what is suppressed.
    """

    rule: str
    name: str
    severity: Severity
    verdict: Verdict
    message: str
    span: Span
    kernel: str = ""
    claim: str = ""
    subject: Subject | None = None
    facts: tuple[str, ...] = ()
    predicate: str = ""
    counterexample: Counterexample | None = None
    #: how inputs of the counterexample are put together that a contract declares
    structures: tuple[Structure, ...] = ()
    replay: Replay = "not-run"
    notes: tuple[str, ...] = ()
    labels: tuple[Label, ...] = ()
    undecided: str = ""
    help: tuple[str, ...] = ()
    assertion: str = ""
    fix: Fix | None = None
    targets: tuple[str, ...] = ()
    presets: tuple[str, ...] = ()
    suppressed: str | None = None
    fingerprint: str = ""
    part: bool = False
    precondition: Precondition | None = None


class Reason(Struct, frozen=True):
    """Why a kernel could not be decided: the place and a sentence without solver terms."""

    path: str
    line: int
    message: str


class ObligationCounts(Struct, frozen=True):
    total: int = 0
    proved: int = 0
    violated: int = 0
    unknown: int = 0


class CallCounts(Struct, frozen=True):
    """Device calls reached; ``unmodelled`` holds the dotted names that have no description."""

    total: int = 0
    modelled: int = 0
    unmodelled: tuple[str, ...] = ()


class Tile(Struct, frozen=True):
    """A tile as the editor shows it, at the place where it is allocated or first named.

    ``shape`` holds one text per axis, ``bytes_per_partition`` a text too (sizes are symbols);
    ``live`` is what is live per partition at this place, ``known`` what the kernel says about each
    size (``("M", "1 .. 128")``). ``use``: the place uses the tile, or a part of it.
    """

    span: Span
    name: str
    shape: tuple[str, ...]
    dtype: str
    buffer: str
    bytes_per_partition: str = ""
    live: str = ""
    known: tuple[tuple[str, str], ...] = ()
    use: bool = False


class Judged(Struct, frozen=True):
    """Rules that came to a verdict on the lines of ``span`` (whose columns say nothing)."""

    span: Span
    proved: tuple[str, ...] = ()
    violated: tuple[str, ...] = ()


class KernelReport(Struct, frozen=True):
    """What became of one kernel on one target under one contract (or none).

    ``status`` "error" means that the analysis itself failed; a :class:`FileError` says how.
    """

    path: str
    name: str
    line: int
    dialect: str
    api_version: str
    target: str
    status: Status
    obligations: ObligationCounts = ObligationCounts()
    calls: CallCounts = CallCounts()
    assumptions: tuple[str, ...] = ()
    reasons: tuple[Reason, ...] = ()
    time_ms: float = 0.0
    contract: str = ""
    preset: str = ""
    #: only where they were asked for (:attr:`FileRequest.tiles`)
    tiles: tuple[Tile, ...] = ()
    #: undecided as it was before (:attr:`RunReport.known`)
    known: bool = False
    #: what tells whether a suppression is of any use
    judged: tuple[Judged, ...] = ()
    #: None: not known
    precondition: Precondition | None = None
    #: what it asserts, as Python expressions like those of its precondition
    demands: tuple[Label, ...] = ()
    #: its time was over before all was decided
    late: bool = False


class FileError(Struct, frozen=True):
    """A file (or argument) that could not be used. ``line`` 0 means no particular line.

    Kinds "internal", "unreadable" and "usage" make the exit status 2; "syntax" counts as an
    error-level finding (1).
    """

    path: str
    line: int
    message: str
    kind: ErrorKind = "internal"
    #: the contract that does not fit its kernel, as it reads when it is written out
    contract: str = ""


#: Counters (summed on merge), lists (concatenated) and mappings of these (merged by key).
Statistics: TypeAlias = dict[str, Any]


def chosen(rule: str, select: Collection[str], ignore: Collection[str]) -> bool:
    """Whether a rule is checked; an empty ``select`` means every rule. All are rule ids."""
    return (not select or rule in select) and rule not in ignore


class FileRequest(Struct, frozen=True):
    """What a worker needs to analyse one file.

    ``roots`` are directories in which imports are resolved. ``contracts`` are the raw texts given
    with ``--contract``. ``presets`` are (name of the preset, contract) likewise. ``select`` and
    ``ignore`` hold rule ids already resolved from codes, names and prefixes; empty: every rule.
    ``targets`` empty: the dialect's default. ``timeout`` is in seconds per kernel. ``part`` (i, n)
    asks for every n-th kernel from the i-th on. ``tiles`` asks for what the editor shows.
    ``line_length``: of the file; None: as its lines show. ``parts``: what a precondition stands for
    is shown one by one. ``users`` are the other files of the run that import this one: what their
    kernels call is no entry point. ``kernels`` are those that are checked; none: what the text
    says, and what a contract names. ``migrate_to``: what this generation rejects is reported, and
    kernels with nothing to change are judged, but for ``migrate_text_only``. ``given_only``:
    contracts in comments are left out.
    """

    path: str
    roots: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    api_version: str | None = None
    contracts: tuple[str, ...] = ()
    presets: tuple[tuple[str, str], ...] = ()
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    timeout: float | None = None
    statistics: bool = False
    part: tuple[int, int] = (0, 1)
    tiles: bool = False
    line_length: int | None = None
    parts: bool = True
    users: tuple[str, ...] = ()
    kernels: tuple[str, ...] = ()
    migrate_to: str = ""
    migrate_text_only: bool = False
    given_only: bool = False


class Caller(Struct, frozen=True, order=True):
    """A function that calls another one; ``name`` is that of the top-level one around it."""

    path: str
    name: str


class Function(Struct, frozen=True, order=True):
    """A function for a device that is not judged as a kernel; ``line`` is that of the ``def``."""

    path: str
    name: str
    line: int
    callers: tuple[Caller, ...] = ()


class FileResult(Struct, frozen=True):
    """What a worker found in one file; diagnostics may lie in files that it imports.

    ``helpers`` are judged at their calls, ``unreached`` (no kernel calls them) for what is wrong
    whatever they are given.
    """

    path: str
    kernels: tuple[KernelReport, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    errors: tuple[FileError, ...] = ()
    statistics: Statistics = field(default_factory=dict)
    helpers: tuple[Function, ...] = ()
    unreached: tuple[Function, ...] = ()


class Known(Struct, frozen=True):
    """Findings and undecided kernels that are not reported because they were there before.

    ``source`` says where they are known from ("the baseline", a revision); ``fingerprints`` are
    sorted.
    """

    source: str
    fingerprints: tuple[str, ...]


class Entry(Struct, frozen=True, order=True):
    """One finding in a baseline.

    The fingerprint says which finding it is, ``severity`` and ``verdict`` how grave it was (empty
    in files that do not say), ``conjuncts`` what a precondition consisted of; the rest is for the
    reader.
    """

    path: str
    rule: str
    kernel: str
    message: str
    fingerprint: str
    severity: str = ""
    verdict: str = ""
    conjuncts: tuple[str, ...] = ()


class Unmatched(Struct, frozen=True, order=True):
    """A contract whose kernel was not met; ``known`` are the names that it was looked for among.

    ``path`` and ``line`` say where the contract stands, ``message`` what is wrong with it.
    """

    path: str
    line: int
    kernel: str
    message: str
    known: tuple[str, ...]


class Shard(Struct, frozen=True):
    """Which part of a run this is, ``index`` of ``count`` from 1 on.

    ``contracts`` are those whose kernels are not in this part: all parts together decide.
    """

    index: int
    count: int
    contracts: tuple[Unmatched, ...] = ()


class RunReport(Struct, frozen=True):
    """Everything one invocation found, sorted and without duplicates.
    ``known`` findings are not among the diagnostics; known undecided kernels are marked. ``gone``
    are the entries of the baseline that were not found again. ``shard`` is None for a whole run.
    """

    kernels: tuple[KernelReport, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    errors: tuple[FileError, ...] = ()
    statistics: Statistics = field(default_factory=dict)
    known: tuple[Known, ...] = ()
    gone: tuple[Entry, ...] = ()
    shard: Shard | None = None
    helpers: tuple[Function, ...] = ()
    unreached: tuple[Function, ...] = ()

    @staticmethod
    def merge(results: Iterable[FileResult], errors: Iterable[FileError] = ()) -> RunReport:
        """The union of per-file results; the order of ``results`` does not matter."""
        ordered = sorted(results, key=lambda result: result.path)
        statistics: Statistics = {}
        for result in ordered:
            merge_statistics(statistics, result.statistics)
        failures = {error for result in ordered for error in result.errors} | set(errors)
        return RunReport(
            kernels=tuple(
                sorted(
                    {_kernel_key(k): k for result in ordered for k in result.kernels}.values(),
                    key=_kernel_key,
                )
            ),
            diagnostics=tuple(deduplicate(d for result in ordered for d in result.diagnostics)),
            errors=tuple(sorted(failures, key=lambda e: (e.path, e.line, e.kind, e.message))),
            statistics=statistics,
            helpers=tuple(sorted({f for result in ordered for f in result.helpers})),
            unreached=tuple(sorted({f for result in ordered for f in result.unreached})),
        )

    @property
    def shown(self) -> tuple[Diagnostic, ...]:
        """The findings that no suppression takes back and no precondition stands for."""
        return self.listed(parts=False)

    def listed(self, *, parts: bool) -> tuple[Diagnostic, ...]:
        """The findings that no suppression takes back; ``parts``: those too that the kernels'
        preconditions stand for."""
        return tuple(d for d in self.recorded(parts=parts) if d.suppressed is None)

    def recorded(self, *, parts: bool) -> tuple[Diagnostic, ...]:
        """What is listed, and what is suppressed."""
        return tuple(d for d in self.diagnostics if parts or not d.part or d.suppressed is not None)

    @property
    def undecided(self) -> tuple[KernelReport, ...]:
        """The kernels that could not be decided, but for those that are known."""
        return tuple(k for k in self.kernels if k.status == "unknown" and not k.known)

    def exit_status(self, *, strict: bool = False) -> int:
        """0 clean, 1 error-level findings (``strict``: warnings and unknowns too), 2 failure."""
        if any(error.kind != "syntax" for error in self.errors):
            return EXIT_FAILURE
        if any(kernel.status == "error" for kernel in self.kernels):
            return EXIT_FAILURE
        shown = self.shown
        if self.errors or any(d.severity == "error" for d in shown):
            return EXIT_FINDINGS
        if strict:
            if any(d.severity == "warning" or d.verdict == "unknown" for d in shown):
                return EXIT_FINDINGS
            if self.undecided:
                return EXIT_FINDINGS
        return EXIT_CLEAN


def merge_statistics(into: Statistics, more: Mapping[str, Any]) -> None:
    """Add ``more`` to ``into``: numbers sum, sequences concatenate, mappings merge by key."""
    for key, value in more.items():
        if isinstance(value, Mapping):
            merge_statistics(into.setdefault(key, {}), value)
        elif isinstance(value, (list, tuple)):
            into.setdefault(key, []).extend(value)
        else:
            into[key] = into.get(key, 0) + value


def deduplicate(diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    """One diagnostic per site, rule and kernel, in report order.

    Of several (paths, iterations, contracts, targets) the worst verdict stays, with its smallest
    counterexample; the targets and presets of all are joined. What a precondition excludes is
    apart from what none does. Preconditions that read differently stay all.
    """
    sites: dict[tuple[object, ...], list[Diagnostic]] = {}
    for diagnostic in diagnostics:
        key = (
            diagnostic.span,
            diagnostic.rule,
            diagnostic.kernel,
            diagnostic.part,
            _stated(diagnostic),
        )
        sites.setdefault(key, []).append(diagnostic)
    return sorted(map(_merged, sites.values()), key=sort_key)


def _stated(diagnostic: Diagnostic) -> tuple[object, ...]:
    """What tells the preconditions of one kernel apart."""
    found = diagnostic.precondition
    if found is None:
        return ()
    return (found.text, found.headline(diagnostic.kernel), diagnostic.notes)


def _merged(group: Sequence[Diagnostic]) -> Diagnostic:
    """One diagnostic for those of a site."""
    if len(group) == 1:
        return group[0]
    best = min(group, key=_preference)
    targets = tuple(sorted({target for d in group for target in d.targets}))
    presets = tuple(sorted({preset for d in group for preset in d.presets}))
    if targets == best.targets and presets == best.presets:
        return best
    message = best.message
    if best.precondition is not None:
        message = best.precondition.headline(best.kernel, targets)
    return replace(best, message=message, targets=targets, presets=presets)


def sort_key(diagnostic: Diagnostic) -> tuple[object, ...]:
    """The order of every report: path, line, column, rule, then kernel."""
    span = diagnostic.span
    return (
        span.path,
        span.line,
        span.column,
        diagnostic.rule,
        diagnostic.kernel,
        span.end_line,
        span.end_column,
        diagnostic.part,
        _stated(diagnostic),
    )


def _preference(diagnostic: Diagnostic) -> tuple[object, ...]:
    return (
        SEVERITIES.index(diagnostic.severity),
        VERDICTS.index(diagnostic.verdict),
        diagnostic.counterexample is None,
        magnitude(diagnostic.counterexample),
        diagnostic.message,
        # All that is left: merging in steps chooses the same one as merging at once.
        repr(replace(diagnostic, targets=(), presets=(), fingerprint="")),
    )


def magnitude(counterexample: Counterexample | None) -> tuple[int, int, str]:
    """Orders counterexamples: sum of absolute sizes, then fewest inputs, then their text."""
    if counterexample is None:
        return (0, 0, "")

    def total(value: Value) -> int:
        if isinstance(value, list):
            return sum(total(item) for item in value)
        if isinstance(value, (bool, int)):
            return abs(int(value))
        return 0

    items: Sequence[tuple[str, Value]] = list(counterexample.items())
    return (sum(total(value) for _, value in items), len(items), repr(items))


def _kernel_key(kernel: KernelReport) -> tuple[str, int, str, str, str, str, str]:
    return (
        kernel.path,
        kernel.line,
        kernel.name,
        kernel.target,
        kernel.api_version,
        kernel.contract,
        kernel.preset,
    )
