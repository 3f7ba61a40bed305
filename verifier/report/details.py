"""What there is to say about a finding besides its message, as plain lines of text."""

from __future__ import annotations

from verifier.report.model import Counterexample, Diagnostic, Value
from verifier.report.text import one_line


def details(diagnostic: Diagnostic) -> list[str]:
    """``must hold: ...``, ``counterexample: ...``, notes and help: a line each."""
    lines = []
    if diagnostic.predicate:
        lines.append(f"must hold: {one_line(diagnostic.predicate)}")
    if diagnostic.counterexample is not None:
        lines.append(f"counterexample: {counterexample(diagnostic)}")
    lines += [f"note: {one_line(note)}" for note in diagnostic.notes]
    lines += [f"help: {one_line(text)}" for text in diagnostic.help]
    return lines


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
