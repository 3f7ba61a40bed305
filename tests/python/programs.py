"""Small programs that are run by CPython and by the machine, and have to agree."""

from __future__ import annotations

import textwrap
from typing import Final

from tests.python.support import (
    UNKNOWN,
    Outcome,
    agrees,
    assignments,
    at,
    executed,
    machine,
    run,
)
from verifier.symbolic import expr as E

#: what programs with data classes and named tuples import
RECORD_IMPORTS: Final = """
from dataclasses import (
    KW_ONLY, MISSING, FrozenInstanceError, InitVar, asdict, astuple, dataclass, field, fields,
    is_dataclass, replace,
)
from enum import Enum
from typing import (
    TYPE_CHECKING, Callable, ClassVar, Dict, Generic, List, NamedTuple, NewType, Optional, Tuple,
    TypeVar, cast,
)
import collections
import copy
import dataclasses
import typing
"""


def same(program: str) -> None:
    """Assert that ``run()`` of a module gives the machine what it gives CPython."""
    agrees("run()", {}, textwrap.dedent(program))


def same_for(program: str, **ranges: range) -> None:
    """Assert that ``run(a, b, ...)`` on symbols is what CPython says for each of their values."""
    text = textwrap.dedent(program)
    vm = machine(text)
    names: dict[str, object] = {
        name: E.symbol(name, values[0], values[-1]) for name, values in ranges.items()
    }
    outcome = run(vm, f"run({', '.join(ranges)})", **names)
    assert not outcome.skipped, outcome.skipped
    for env in assignments(ranges):
        place = executed(text, __name__=__name__)
        raised = [e for e in outcome.escapes if E.evaluate(e.guard, env)]
        try:
            expected = place["run"](**env)
        except Exception as error:
            assert raised, (env, error)
            assert raised[0].fault is not None
            assert raised[0].fault.error is type(error), (env, error, raised[0].fault)
            continue
        assert not raised, (env, expected, raised[0].fault)
        found = at(vm, outcome.value, env)
        assert found is not UNKNOWN, (env, outcome.value)
        assert found == expected, (env, expected, found)


def unknown(program: str) -> Outcome:
    """Assert that the machine does not follow ``run()``."""
    outcome = run(machine(textwrap.dedent(program)), "run()")
    assert outcome.skipped, outcome.value
    return outcome
