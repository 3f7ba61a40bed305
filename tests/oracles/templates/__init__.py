"""Statements that generated programs are made of: a text file for each group of features.

Templates are separated by ``====``. In one, ``$a`` is a fresh name, ``<int>`` an expression of a
kind over the names in scope (``<int:$k,by>``: over these names), ``⟦a|b⟧`` a choice, ``%block``
a block of further statements (``%block $i``: which may use the integer ``$i``), and a last line
``@int $a`` says what is bound afterwards. Definitions stand above ``---``: they go into the module
or, at random, into the kernel; above ``--- module`` always into the module.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.oracles.expressions import KINDS

#: groups whose statements have blocks in them are drawn more often: they are what goes wrong
_WEIGHTS = {"core": 4, "loops": 3, "branches": 2, "faults": 1, "exceptions": 2}


@dataclass(frozen=True, slots=True)
class Template:
    """One statement with what it needs defined before it, and what it binds (kind, name)."""

    group: str
    definitions: tuple[str, ...]
    module_only: bool
    body: tuple[str, ...]
    binds: tuple[tuple[str, str], ...]

    @property
    def nests(self) -> bool:
        """Whether other statements go into it."""
        return any(line.strip().startswith("%block") for line in self.body)


def _parse(group: str, text: str) -> Template:
    definitions: list[str] = []
    body: list[str] = []
    binds: list[tuple[str, str]] = []
    module_only = False
    for line in text.strip("\n").split("\n"):
        if line.startswith("---"):
            definitions, body, module_only = body, [], "module" in line
        elif line.startswith("@") and line.split(" ")[0][1:] in KINDS:
            kind, *names = line[1:].split()
            binds += [(kind, name) for name in names]
        else:
            body.append(line)
    return Template(group, tuple(definitions), module_only, tuple(body), tuple(binds))


@cache
def templates() -> dict[str, tuple[Template, ...]]:
    """All templates by group."""
    out: dict[str, tuple[Template, ...]] = {}
    for file in sorted(Path(__file__).parent.glob("*.txt")):
        parts = file.read_text(encoding="utf-8").split("\n====\n")
        out[file.stem] = tuple(_parse(file.stem, part) for part in parts)
    return out


def weight(group: str) -> int:
    """How often a group is drawn, against one that has no place in the table."""
    return _WEIGHTS.get(group, 1)
