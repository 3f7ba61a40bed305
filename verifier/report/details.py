"""What there is to say about a finding besides its message, as plain lines of text."""

from __future__ import annotations

from typing import Final

from verifier.report.model import Conjunct, Counterexample, Diagnostic, Value
from verifier.report.text import one_line

#: of a place that a finding is about as well as of its own
AGAIN: Final = "and here"
#: how the message of a finding begins that is not decided
POSSIBLE: Final = "possible: "


def details(diagnostic: Diagnostic) -> list[str]:
    """``must hold: ...``, ``counterexample: ...``, notes and help: a line each.

    Of a precondition: its conditions, a line each, with what needs them and what breaks them.
    """
    lines: list[str] = []
    if diagnostic.precondition is not None:
        lines += map(condition, diagnostic.precondition.main)
        dtypes = " and ".join(conjunct.text for conjunct in diagnostic.precondition.dtypes)
        lines += [f"it takes {one_line(dtypes)}"] if dtypes else []
        lines += [f"not decided: {one_line(text)}" for text in diagnostic.precondition.undecided]
    elif diagnostic.predicate:
        lines.append(f"must hold: {one_line(diagnostic.predicate)}")
    if diagnostic.counterexample is not None:
        lines.append(f"counterexample: {counterexample(diagnostic)}")
    lines += [f"note: {one_line(note)}" for note in remarks(diagnostic)]
    lines += [f"help: {one_line(text)}" for text in advice(diagnostic)]
    return lines


def remarks(diagnostic: Diagnostic) -> tuple[str, ...]:
    """The notes, and last why it is not decided."""
    why = (f"not decided: {diagnostic.undecided}",) if diagnostic.undecided else ()
    return (*diagnostic.notes, *why)


def advice(diagnostic: Diagnostic) -> tuple[str, ...]:
    """What to change: the assertion first."""
    first = (f"assert {diagnostic.assertion}",) if diagnostic.assertion else ()
    return (*first, *diagnostic.help)


def condition(conjunct: Conjunct) -> str:
    """A condition, what needs it at which line, and what breaks it, on one line."""
    breach = f"; {conjunct.breach} breaks it" if conjunct.breach else ""
    return one_line(f"{conjunct.text}: {conjunct.told} (line {conjunct.span.line}{breach})")


def counterexample(diagnostic: Diagnostic) -> str:
    """The counterexample on one line, and what came of its replay."""
    text = ", ".join(assignments(diagnostic.counterexample or {}))
    if diagnostic.verdict == "always":
        text = "every input that the kernel admits" + (f", such as {text}" if text else "")
    text = one_line(text or "any input")
    if diagnostic.replay != "not-run":
        text += f" (replay: {diagnostic.replay})"
    return text


def assignments(counterexample: Counterexample) -> list[str]:
    """``name = value`` for every input, in the order given."""
    return [f"{name} = {show_value(value)}" for name, value in counterexample.items()]


def show_value(value: Value) -> str:
    """A value as it is written in Python."""
    if isinstance(value, list):
        return f"[{', '.join(show_value(item) for item in value)}]"
    return repr(value)
