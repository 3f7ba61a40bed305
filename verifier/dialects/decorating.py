"""What a generation has against the decorator that makes a kernel."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from verifier.dialects.registry import of_generation
from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.checks import Check

#: the rule that says so
RULE: Final = "api-signature"


def checks(api: str, keywords: Iterable[str], span: Span) -> Iterator[Check]:
    """What is wrong with ``keywords`` of the decorator of a kernel that is named at ``span``."""
    for keyword in keywords:
        problem = of_generation(api).decorator_problem(api, keyword)
        if problem is not None:
            yield Check(E.FALSE, span, f"NKI {api} has it", *problem)


__all__ = ["RULE", "checks"]
