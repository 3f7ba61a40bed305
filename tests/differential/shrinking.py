"""The part of a kernel that a disagreement needs."""

from __future__ import annotations

import re
from dataclasses import replace

from tests.differential.judging import Judgement, judge
from tests.differential.kernels import Kernel


def shrunk(drawn: Kernel, judgement: Judgement) -> Kernel:
    """The kernel without the statements and results that its first problem does not need."""
    wanted = _about(judgement.problems[0])

    def fails(candidate: Kernel) -> bool:
        return any(_about(problem) == wanted for problem in judge(candidate).problems)

    changed = True
    while changed:
        changed = False
        for candidate in _smaller(drawn):
            if fails(candidate):
                drawn, changed = candidate, True
                break
    return drawn


def _smaller(drawn: Kernel) -> list[Kernel]:
    """The kernel without one statement, or with one result less."""
    out = []
    for position in reversed(range(len(drawn.body))):
        line = drawn.body[position]
        rest = (*drawn.body[:position], *drawn.body[position + 1 :])
        if line.startswith("return "):
            names = line.removeprefix("return ").split(", ")
            for name in names if len(names) > 1 else ():
                kept = f"return {', '.join(n for n in names if n != name)}"
                out.append(replace(drawn, body=(*rest, kept)))
            continue
        made = line.partition(" = ")[0]
        if made.isidentifier() and any(re.search(rf"\b{made}\b", other) for other in rest):
            continue
        out.append(replace(drawn, body=rest))
    for name, _ in drawn.inputs:
        if not any(re.search(rf"\b{name}\b", line) for line in drawn.body):
            kept_ = tuple(item for item in drawn.inputs if item[0] != name)
            out.append(replace(drawn, inputs=kept_))
    return out


def _about(problem: str) -> str:
    """A problem without places and numbers."""
    return re.sub(r"/\S+|\d+|\{.*?\}", "", problem)[:80]
