"""What the server knows about rules: loaded when it is first asked for, in a thread."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass

from verifier.report.model import Edit, Span


@dataclass(frozen=True, slots=True)
class RuleText:
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


def _suppression(text: str, span: Span, rule: str, reason: str) -> Edit:
    from verifier.engine.suppressions import suppression_edit

    return suppression_edit(text, span, rule, reason)
