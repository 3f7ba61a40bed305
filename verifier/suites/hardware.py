"""For which targets a program launches a kernel: what its marks say, what is given together with
the kernel, and what it has asked of the hardware on the way there."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from verifier.dialects.registry import DIALECTS
from verifier.hardware import catalogue
from verifier.source.ir import Span
from verifier.suites.machine import Launched, SuiteVM
from verifier.suites.platforms import named_by
from verifier.suites.values import Mark
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool

#: marks that are about other things, whatever their arguments are called
_OTHERS: Final = frozenset({"parametrize", "usefixtures", "filterwarnings", "skip", "xfail"})
#: names of marks, and of their keywords, for what a test does not run on
_EXCLUDING: Final = re.compile(r"exclu|skip|except|without|unsupported|(^|_)(not?|un)(_|$)", re.I)


def targets_of(
    vm: SuiteVM, launched: Launched, dialect: str, own: Sequence[Mark]
) -> tuple[str, ...]:
    """The targets that a launch is for, ``own``: the marks of its test; none: nothing says it."""
    descriptor = DIALECTS[dialect]
    hardware = (catalogue.find(name) for name in catalogue.NAMES)
    runs = [one.name for one in hardware if one is not None and descriptor.runs(one)]
    given = [name for name in runs if name in launched.targets]
    if given:
        return tuple(given)
    facts = (*launched.facts, *_conditions(own))
    left = [name for name in runs if _may_be(vm, facts, name)]
    only: set[str] = set()
    for excluding, names in _said(vm, own, launched.span):
        if excluding:
            left = [name for name in left if name not in names]
        else:
            only |= names
    left = [name for name in left if name in only] if only.intersection(left) else left
    return () if len(left) == len(runs) else tuple(left)


def _may_be(vm: SuiteVM, facts: Iterable[Bool], name: str) -> bool:
    """Whether what a program has asked before allows that it runs on a target."""
    answers = {atom: E.const(int(name in names)) for atom, names in vm.asked.items()}
    put = E.Substitution(answers)
    return all(put.bool(fact) is not E.FALSE for fact in facts)


def _conditions(own: Sequence[Mark]) -> Iterator[Bool]:
    """What holds of a test that is not skipped."""
    for mark in own:
        if mark.name == "skipif" and mark.args and isinstance(mark.args[0], Bool):
            yield E.not_(mark.args[0])


def _said(vm: SuiteVM, own: Sequence[Mark], span: Span) -> Iterator[tuple[bool, frozenset[str]]]:
    """The targets that marks name, and whether they are those that a test does not run on."""
    for mark in own:
        if mark.name in _OTHERS:
            continue
        named = named_by(vm, mark.name, span)
        values = [("", value) for value in mark.args] + [*mark.keywords]
        if named:
            yield False, named
        for keyword, value in values:
            found = named_by(vm, vm.settled(value), span)
            if found:
                excluding = _EXCLUDING.search(keyword) or _EXCLUDING.search(mark.name)
                yield excluding is not None, found


__all__ = ["targets_of"]
