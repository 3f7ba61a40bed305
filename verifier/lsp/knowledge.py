"""What the server knows about rules: loaded when it is first asked for, in a thread."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from verifier.report.model import Edit, Span

if TYPE_CHECKING:
    from verifier.engine.functions import Function


class RuleText(Struct, frozen=True):
    """A rule's id, its summary in a sentence, and all about it in Markdown."""

    id: str
    summary: str
    markdown: str


class Knowledge:
    """The texts of all rules, by id and by code."""

    def __init__(self) -> None:
        self._rules: asyncio.Task[Mapping[str, RuleText]] | None = None

    async def rule(self, name: str) -> RuleText | None:
        """The rule with an id or a code."""
        if self._rules is None:
            self._rules = asyncio.create_task(asyncio.to_thread(_load))
        return (await asyncio.shield(self._rules)).get(name.lower())

    async def functions(self, text: str, line: str, column: int) -> Sequence[Function]:
        """The functions of kernel APIs that may be meant at a place."""
        return await asyncio.to_thread(_offered, text, line, column)

    async def function(self, text: str, line: str, column: int) -> str:
        """All about the function that is named at a place; empty if there is none."""
        return await asyncio.to_thread(_named, text, line, column)

    async def suppression(self, text: str, span: Span, rule: str, reason: str) -> Edit:
        """The edit that suppresses a rule at a place."""
        return await asyncio.to_thread(_suppression, text, span, rule, reason)


def _load() -> Mapping[str, RuleText]:
    from verifier.rulebase import all_rules, markdown

    found: dict[str, RuleText] = {}
    for rule in all_rules():
        text = RuleText(rule.id, rule.summary, markdown(rule))
        found[rule.id] = found[rule.code.lower()] = text
    return found


def _offered(text: str, line: str, column: int) -> Sequence[Function]:
    from verifier.engine.functions import offered

    return offered(text, line, column)


def _named(text: str, line: str, column: int) -> str:
    from verifier.engine.functions import named

    found = named(text, line, column)
    return found.text if found is not None else ""


def _suppression(text: str, span: Span, rule: str, reason: str) -> Edit:
    from verifier.engine.suppressions import suppression_edit

    return suppression_edit(text, span, rule, reason)
