"""What a call returned that no run has come by: it is in a branch that no input takes, or in a
function that no kernel of the file calls.

What holds for tiles of any number of axes holds for those that are meant; else what the rest of the
function says of a tile says how many it has.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from verifier.dialects.nki import isa
from verifier.dialects.nki.migration.forms import Form, Given
from verifier.dialects.nki.migration.recipes import Asked, Reading, Recipe
from verifier.dialects.nki.migration.text import Text
from verifier.dialects.nki.migration.visits import Visits, key_of
from verifier.hardware.memories import Buffer
from verifier.hardware.targets import TARGETS
from verifier.symbolic import expr as E
from verifier.symbolic.instruction import Instruction
from verifier.symbolic.roles import Takes
from verifier.symbolic.tensors import DType, Operand, Storage
from verifier.symbolic.views.common import whole_of

#: numbers of axes that tiles have
_RANKS: Final = (2, 3, 4)


def described(text: Text, visits: Visits, form: Form) -> Recipe | None:
    """What a call returns whatever its tiles are like, by its description."""
    instruction = isa.find(form.name)
    if instruction is None or instruction.result is None:
        return None
    tiles = [
        each
        for each in form.given
        if (role := instruction.role(each.parameter.name)) and role.takes is Takes.TILE
    ]
    known = [_rank(text, visits, each.value) for each in tiles]
    targets = TARGETS.values() if visits.target is None else (visits.target,)
    found: set[Recipe | None] = set()
    for target in targets:
        call = _Call(text, form, instruction, Reading(form.signature.generation, target), tiles)
        for rank in _RANKS:
            recipe = call.recipe([own or rank for own in known])
            general = recipe is not None and (recipe.like or recipe.asked) and None in known
            found.add(replace(recipe, shape=()) if recipe is not None and general else recipe)
    (recipe, *more) = found
    return None if more else recipe


class _Call(Struct, frozen=True):
    text: Text
    form: Form
    instruction: Instruction
    reader: Reading
    tiles: list[Given]

    def recipe(self, ranks: Sequence[int]) -> Recipe | None:
        """For tiles of so many axes each; None: also if the dtype is that of several."""
        kinds = [DType(E.symbol(f"type of {tile.parameter.name}", 0)) for tile in self.tiles]
        return self._asked(ranks, kinds).recipe(lambda one, other: one is other)

    def _asked(self, ranks: Sequence[int], kinds: Sequence[DType]) -> Asked:
        operands: dict[str, Operand] = {}
        span = self.text.span(self.form.call)
        for tile, rank, kind in zip(self.tiles, ranks, kinds, strict=True):
            role = tile.parameter.name
            shape = [E.symbol(f"axis {k} of {role}", 1) for k in range(rank)]
            storage = Storage.made(0, role, shape, kind, Buffer.SBUF, span)
            operands[role] = Operand(role, whole_of(storage, ()), span)
        for given in self.form.given:
            role = given.parameter.name
            if role not in operands and role != "dtype":
                value = _value(given)
                operands[role] = Operand(role, value, span, known=value is not None)
        return Asked(self.instruction, operands, self.reader, span, None)


def _value(given: Given) -> object:
    """A plain argument, as far as the text says it."""
    with suppress(ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return _term(ast.literal_eval(given.value))
    if isinstance(given.value, (ast.Tuple, ast.List)):  # a shape
        return tuple(E.symbol(f"part {k}", 1) for k in range(len(given.value.elts)))
    return given.known[0] if given.known else None


def _term(value: object) -> object:
    if isinstance(value, (tuple, list)):
        return tuple(map(_term, value))
    return E.const(value) if type(value) is int else value


def _rank(text: Text, visits: Visits, value: ast.expr) -> int | None:
    """How many axes a tile has, by what runs say of it elsewhere in its function."""
    spread = 0
    if isinstance(value, ast.Subscript):
        items = value.slice.elts if isinstance(value.slice, ast.Tuple) else [value.slice]
        if not all(isinstance(item, ast.Slice) for item in items):
            return None
        spread, value = len(items), value.value
    function = text.function(value)
    if not isinstance(value, ast.Name) or function is None:
        return None
    every = (n for n in ast.walk(function) if isinstance(n, ast.Name) and n.id == value.id)
    ranks = {rank for name in every for rank in visits.ranks.get(key_of(text.span(name)), ())}
    return ranks.pop() if len(ranks) == 1 and spread <= max(ranks) else None
