"""What a kernel's Python raises while it runs, as the finding of a rule where one is about it."""

from __future__ import annotations

import dis

from msgspec.structs import replace

from verifier.executor import findings, places
from verifier.executor.machine import ConcreteMachine
from verifier.report import model as report
from verifier.rulebase import Rule
from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.checks import Check


def finding(
    machine: ConcreteMachine, error: BaseException, text: str, place: Span | None
) -> report.Diagnostic | None:
    """The finding that an error is; None: no rule is about it, or the kernel's own text raises it.

    What an ``assert`` or a ``raise`` of the kernel refuses is not admitted, which is no finding.
    ``text``: the error in words. ``place``: the innermost line of the user's own code.
    """
    name = type(error).__name__
    instruction = _instruction(error)
    if instruction is None or place is None:
        return None
    for rule in machine.rules.by_id.values():
        if name in rule.replayed.raises and instruction.startswith(rule.replayed.by or "-"):
            return _told(machine, rule, text, place)
    return None


def _instruction(error: BaseException) -> str | None:
    """The instruction of CPython that raised an error; None if it is not one of the user's code."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None or not places.is_user(trace.tb_frame.f_code.co_filename):
        return None
    code = trace.tb_frame.f_code
    return next(
        (step.opname for step in dis.get_instructions(code) if step.offset == trace.tb_lasti), None
    )


def _told(machine: ConcreteMachine, rule: Rule, text: str, place: Span) -> report.Diagnostic:
    check = Check(predicate=E.FALSE, span=place, text=rule.summary, message=text)
    hardware, dialect = machine.hardware.name, machine.dialect.name
    found = findings.diagnose(rule, check, machine.kernel, hardware, dialect)
    return replace(found, notes=(*found.notes, "Python ends the trace here"))


__all__ = ["finding"]
