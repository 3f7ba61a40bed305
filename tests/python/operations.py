"""Programs that do one thing after the other to some containers and write down what happens."""

from __future__ import annotations

from collections.abc import Iterable

from hypothesis import strategies as st

from tests.python.programs import same


def program(setup: str, operations: Iterable[str], shown: str) -> str:
    """A module whose ``run()`` gives the results of operations, errors too, and what is left."""
    lines = ["def run():", *(f"    {line}" for line in setup.splitlines()), "    out = []"]
    for operation in operations:
        if operation.startswith(("del ", "for ")) or _assigns(operation):
            body = [operation]
        else:
            body = [f"out.append({operation})"]
        lines.append("    try:")
        lines.extend(f"        {line}" for line in body)
        lines.append("    except Exception as error:")
        lines.append("        out.append(type(error).__name__)")
    lines.append(f"    return out, {shown}")
    return "\n".join(lines) + "\n"


def _assigns(operation: str) -> bool:
    """Whether an operation is an assignment: it has `` = `` or ``op= `` outside of brackets."""
    depth = 0
    for position, char in enumerate(operation):
        depth += char in "([{"
        depth -= char in ")]}"
        if char == "=" and not depth and operation[position + 1] == " ":
            if operation[position - 1] not in "=!<>":
                return True
    return False


def check(setup: str, operations: Iterable[str], shown: str) -> None:
    """Assert that the machine does what CPython does."""
    same(program(setup, operations, shown))


def numbers(low: int = -5, high: int = 6) -> st.SearchStrategy[str]:
    return st.integers(low, high).map(str)


def bounds() -> st.SearchStrategy[str]:
    """The part of a slice in brackets."""
    part = st.one_of(st.just(""), numbers(-6, 7))
    step = st.one_of(st.just(""), st.sampled_from([":", ":1", ":2", ":-1", ":-2", ":3", ":0"]))
    return st.tuples(part, part, step).map(lambda p: f"{p[0]}:{p[1]}{p[2]}")


__all__ = ["bounds", "check", "numbers", "program"]
