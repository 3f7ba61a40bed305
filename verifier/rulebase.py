"""What a rule is, what it yields, and how rules are found.

A rule is a predicate over an operation, an allocation, a view or the whole trace of a kernel, and a
hardware target. It is written once: on symbolic integers its checks become obligations for the
solver; on plain ones the predicate folds to true or false at once.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from enum import Enum
from typing import Any, Final

from msgspec import Struct, field
from msgspec.structs import replace

from verifier.dialects.names import NKI
from verifier.hardware.catalogue import Hardware
from verifier.symbolic import expr as E
from verifier.symbolic.checks import Check
from verifier.symbolic.instruction import Instruction
from verifier.symbolic.tensors import Storage
from verifier.symbolic.trace import Operation, Trace


class Monitor(Struct, frozen=True):
    """A rule on numbers: judges what a run meets in memory.

    ``event`` is the class of what it judges (:mod:`verifier.symbolic.memory.events`); ``judge``
    gets one such event and the hardware. ``asked``: only where a run is made for the sake of this
    rule, because it costs time. ``meant``: what it sees may be meant, and one input cannot tell; it
    counts where a run is made for this rule, or if a check of all inputs says the same.
    """

    event: type
    judge: Callable[[Any, Any], Iterable[Check]]
    asked: bool = False
    meant: bool = False


class Shown(Enum):
    """Where a run that breaks a rule shows it."""

    THERE = "at the place of the finding, while it runs"
    AT_THE_END = "when the run is over, wherever"
    SUBJECT = "when the run is over, of the tensor that the finding is about"
    NEVER = "not at all"


class Replayed(Struct, frozen=True):
    """What the replay of a counterexample has to know about a rule.

    ``raises``: errors of Python that show it as well, where they arise; ``by``: how the names of
    the instructions of CPython begin that raise them for nothing else. ``whole``: it asks what was
    not done, so no iteration may be left out. ``numbers``: it asks what memory holds, so shapes are
    not enough. ``why``: what no run shows it for. ``refused``: the compiler takes no kernel that
    breaks it, whatever the run, or makes something else of it, which the run then shows.
    ``told_as``: rules that a run breaks in its stead where what is apart for other inputs is one
    and the same, at a place that the finding speaks of.
    """

    shown: Shown = Shown.THERE
    raises: tuple[str, ...] = ()
    by: tuple[str, ...] = ()
    whole: bool = False
    numbers: bool = False
    why: str = ""
    refused: bool = False
    told_as: tuple[str, ...] = ()


#: of most rules
AT_ONCE: Final = Replayed()
#: of rules about what a compiler makes of the text of a kernel
COMPILED: Final = Replayed(
    Shown.NEVER, why="it is about what the compiler makes of the text, which is not run"
)

#: of those about what the compiler does not take, or takes for something else
REFUSED: Final = replace(COMPILED, refused=True)


class Twin(Struct, frozen=True):
    """A row of the catalogue at its limit: a kernel that breaks it, and its like that keeps it.

    ``api`` is the generation and ``target`` the hardware that both are written for; ``to`` the
    generation that they are to fit, for a rule about that.
    """

    fact: str
    failing: str
    passing: str
    api: str
    target: str
    to: str = ""


class On(Enum):
    """What a rule is asked about, which its ``check`` is given."""

    #: one of those that ``operations`` names; of all, if that is empty
    OPERATION = "a call of a device function"
    STORAGE = "a tensor that the kernel makes"
    TRACE = "a whole kernel"
    #: the interpreter raises it: there is no ``check``
    HOST = "what becomes of Python while a kernel is traced"
    #: the engine raises it: there is no ``check``
    TEXT = "the text of a file"


class Whose(Enum):
    """Kernels that a rule is about, whatever the dialect."""

    EVERYBODYS = "every kernel"
    OF_TENSORS = "kernels whose operands are tensors, not addresses"


class Rule(Struct, frozen=True):
    """A rule with everything about itself.

    ``on`` says what ``check`` receives. ``severity`` caps the severity of a violation: a
    ``warning`` rule never makes an error. ``failing`` and ``passing`` are complete kernel sources
    that a test runs through the command, and so are its ``twins``.
    """

    id: str
    code: str
    family: str
    summary: str
    reason: str
    facts: tuple[str, ...]
    on: On
    failing: str
    passing: str
    #: further examples, of single rows, generations and targets
    twins: tuple[Twin, ...] = ()
    check: Callable[..., Iterable[Check]] | None = None
    #: the same on numbers, for rules about what memory holds
    monitors: tuple[Monitor, ...] = ()
    replayed: Replayed = AT_ONCE
    operations: tuple[str, ...] = ()
    #: the functions that it judges, by their description, instead of ``operations``
    concerns: Callable[[Instruction], bool] | None = None
    #: the facts in a function's description that it enforces: it judges the functions for which
    #: there are some, and cites them besides ``facts``
    enforces: Callable[[Instruction], Iterable[str]] | None = None
    severity: str = "error"
    sources: tuple[str, ...] = ()
    #: whose kernels it judges: those of some dialects, or of all that are of a kind
    dialects: tuple[str, ...] = (NKI,)
    whose: Whose | None = None
    #: violations of one kernel that hang on the same inputs are one finding, at the tightest place
    gather: bool = False
    #: what does not exist is one finding of a kernel, with all places that ask for it
    once: bool = False
    #: after a violation, what would have prevented it is taken for granted
    learns: bool = True
    #: what it demands of the dtypes of inputs alone is no finding (:func:`infers_dtypes`)
    infer_dtypes: bool = True
    #: a tensor of another rank may keep it: no violation is certain where a rank is only assumed
    of_rank: bool = False
    #: what breaks it goes wrong without anybody being told
    silent: bool = False
    #: no run goes wrong where it is broken, unless a check is an error: it is about what the text
    #: tells its readers, or about what costs time or memory; no status and no precondition has it
    remark: bool = False
    #: it is about how loops go through a tensor: where they go trip by trip, or where sizes are
    #: numbers, it finds less. Says of a trace whether there is anything to find, so that it has to
    #: be asked of the kernel at sizes that nobody has fixed
    of_loops: Callable[[Trace], bool] | None = None
    #: of a tensor: what becomes of a result decides, so that it is judged when a run has ended
    by_use: bool = False
    #: what breaks it is the target alone: where nobody has named one it is a warning, as nothing
    #: says that the kernel is for the one that is taken then
    of_target: bool = False
    #: needs no inputs: functions that no kernel reaches are judged, too
    unreached: bool = False


#: the family of rules that nothing breaks: what would be faster, or more precise
ADVICE: Final = "advice"


#: the families that judge what a kernel makes of its sizes and values, dtypes among them
_OF_VALUES: Final = frozenset({"views", "memory", "host", "allocation"})


def infers_dtypes(rule: Rule) -> bool:
    """Whether a demand of the rule on the dtypes of inputs alone says what instructions take.

    It is no finding then. What nobody is told of is one, and what a kernel itself chooses by a
    dtype: an index, a path, a size.
    """
    return rule.infer_dtypes and not rule.silent and rule.family not in _OF_VALUES


def is_checked(rule: Rule, select: Collection[str], ignore: Collection[str]) -> bool:
    """Whether a rule is checked; advice is given only where somebody asks for it.

    ``select`` and ``ignore`` are ids; an empty ``select`` means all rules but advice.
    """
    if rule.id in ignore:
        return False
    return rule.id in select or not (select or rule.family == ADVICE)


class _Registry(Struct):
    rules: dict[str, Rule] = field(default_factory=dict)
    loaded: bool = False
    #: by code; None: not known since a rule was added
    ordered: tuple[Rule, ...] | None = None


_registry = _Registry()


def register(rule: Rule) -> Rule:
    """Add a rule; ids and codes are unique.

    Raises:
        ValueError: the id or code is taken.
    """
    for other in _registry.rules.values():
        if other.id == rule.id or other.code == rule.code:
            raise ValueError(f"rule {rule.id} ({rule.code}) clashes with {other.id} ({other.code})")
    _registry.rules[rule.id] = rule
    _registry.ordered = None
    return rule


def of_dialect(dialect: str) -> list[Rule]:
    """The rules that judge kernels of a dialect, ordered by code."""
    return [rule for rule in all_rules() if dialect in rule.dialects]


def all_rules() -> Sequence[Rule]:
    """Every rule, ordered by code."""
    if not _registry.loaded:
        import rules

        rules.load()
        for name, rule in _registry.rules.items():
            _registry.rules[name] = _derived(rule)
        _registry.loaded, _registry.ordered = True, None
    if _registry.ordered is None:
        ordered = sorted(_registry.rules.values(), key=lambda rule: rule.code)
        _registry.ordered = tuple(ordered)
    return _registry.ordered


def _derived(rule: Rule) -> Rule:
    """The rule with the dialects and the functions that it judges, and the facts that it enforces,
    out of descriptions."""
    from verifier.dialects import registry

    if rule.whose is not None:
        every = rule.whose is Whose.EVERYBODYS
        whose = (d.name for d in registry.DIALECTS.values() if every or not d.by_address)
        rule = replace(rule, dialects=tuple(whose))
    instructions = registry.instructions(rule.dialects)
    if rule.enforces is not None:
        found = {i.name: tuple(rule.enforces(i)) for i in instructions}
        facts = sorted({fact for each in found.values() for fact in each} - {*rule.facts})
        names = tuple(name for name, each in found.items() if each)
        rule = replace(rule, facts=(*rule.facts, *facts), operations=names)
    if rule.concerns is not None:
        rule = replace(rule, operations=tuple(i.name for i in instructions if rule.concerns(i)))
    return rule


def find(key: str) -> Rule | None:
    """The rule with that id or code."""
    return next((rule for rule in all_rules() if key in (rule.id, rule.code)), None)


def run(rule: Rule, target: Hardware, subject: Operation | Storage | Trace) -> Iterator[Check]:
    """The checks of one rule on one subject.

    What it asks of an operation and nobody knows leaves one open, the first time that it is asked:
    the rule would count as kept otherwise.
    """
    if rule.check is None:
        return
    if not isinstance(subject, Operation):
        yield from rule.check(subject, target)
        return
    before = set(subject.unseen)
    yield from rule.check(subject, target)
    for role in sorted(subject.unseen - before):
        yield unseen(subject, role)


def unseen(operation: Operation, role: str, facts: tuple[str, ...] = ()) -> Check:
    """A check that stays open: the argument is given, but its value is not known."""
    return Check(
        predicate=E.FALSE,
        span=operation.span_of(role),
        text=f"what is asked of {role} holds",
        message=f"{role} may be anything",
        facts=facts,
        exact=False,
        reason=f"the value of {role} is not known before the kernel runs",
    )


def markdown(rule: Rule, level: int = 1) -> str:
    """Everything about a rule, in Markdown; ``level`` is that of its heading."""
    title, section = "#" * level, "#" * (level + 1)
    parts = [
        f"{title} {rule.id} ({rule.code})",
        f"{rule.summary.strip().rstrip('.')}.",
        f"**Severity:** {rule.severity}  \n"
        f"**Family:** {rule.family}  \n"
        f"**Dialect:** {', '.join(rule.dialects)}",
        f"{section} Why\n\n{rule.reason.strip()}",
    ]
    if rule.failing.strip():
        parts.append(f"{section} Reported\n\n```python\n{rule.failing.strip()}\n```")
    if rule.passing.strip():
        parts.append(f"{section} Accepted\n\n```python\n{rule.passing.strip()}\n```")
    if rule.facts:
        parts.append(f"{section} Facts\n\n{', '.join(rule.facts)}")
    if rule.sources:
        sources = "\n".join(f"- {source}" for source in rule.sources)
        parts.append(f"{section} Sources\n\n{sources}")
    return "\n\n".join(parts) + "\n"
