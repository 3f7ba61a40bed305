"""What a call returned, in terms of its arguments.

The description of an instruction says what it returns: its ``result`` is asked once more, with a
symbol for each size and each type of the operands: what it answers is in terms of the arguments.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from verifier.dialects.nki.results import Shaped
from verifier.hardware.dtypes import CODES
from verifier.hardware.memories import Buffer
from verifier.hardware.targets import Target
from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.instruction import Instruction, Made
from verifier.symbolic.tensors import DType, Operand, View
from verifier.symbolic.values import Enumerator

#: a size: a number, or that of an axis of an argument, or the product of several
Size = int | tuple[tuple[str, int], ...]
#: whether two sizes, or the codes of two element types, are certainly equal
Same = Callable[[Expr, Expr], bool]

#: two element types of which Beta 1 makes a third thing if it is given both
_TYPES: Final = (DType.named("bfloat16"), DType.named("float32"))


class Recipe(Struct, frozen=True):
    """What a call returned, in terms of its arguments.

    ``shape``: sizes of axes, a number for none; ``like``: the argument that it has the whole shape
    of; ``asked``: whether an argument is its shape; ``dtype``: the argument that it has the dtype
    of, or ``named``: the dtype.
    """

    shape: tuple[Size, ...]
    like: str
    dtype: str
    named: str
    buffer: Buffer
    asked: bool = False


class Asked(Struct, frozen=True):
    """An instruction with what it is given, and what it returned, if that is known."""

    instruction: Instruction
    operands: Mapping[str, Operand]
    reader: Reading
    span: Span
    result: View | None

    def recipe(self, same: Same) -> Recipe | None:
        """Symbols for sizes and types that differ wherever they may, else for those that are equal
        here (``same``: of types)."""
        found = self._recipe(None) or self._recipe(same)
        asked = self.operands.get("dtype")
        if found is None or not found.dtype or (asked is not None and asked.given):
            return found
        kinds = [view.dtype.code for _, view in self._tiles()]
        if self._alone(found.dtype) or all(same(kinds[0], kind) for kind in kinds[1:]):
            return found
        named = self._promoted(same)
        return replace(found, dtype="", named=named) if named else None

    def _tiles(self) -> Iterator[tuple[str, View]]:
        for role, operand in self.operands.items():
            if operand.view is not None and role != "dst":
                yield role, operand.view

    def _typed(self, kinds: Mapping[str, DType]) -> DType | None:
        """The element type of the result where the tiles have these."""
        operands = dict(self.operands)
        for role, view in self._tiles():
            operands[role] = replace(operands[role], value=replace(view, dtype=kinds[role]))
        made = None
        if self.instruction.result is not None:
            made = self.instruction.result.of(self.reader, operands, self.span)
        return None if made is None else made.dtype

    def _alone(self, role: str) -> bool:
        """Whether the type of one tile is that of the result, whatever those of the others are."""
        return all(
            self._typed({each: one if each == role else other for each, _ in self._tiles()}) == one
            for one, other in (_TYPES, _TYPES[::-1])
        )

    def _promoted(self, same: Same) -> str:
        """The type that comes of those of several tiles, if these are known."""
        kinds: dict[str, DType] = {}
        for role, view in self._tiles():
            known = (DType.named(name) for name in CODES)
            found = next((each for each in known if same(view.dtype.code, each.code)), None)
            if found is None:
                return ""
            kinds[role] = found
        made = self._typed(kinds)
        return "" if made is None else made.name or ""

    def _recipe(self, same: Same | None) -> Recipe | None:
        instruction = self.instruction
        if instruction.result is None:
            return None
        sizes: dict[Expr, Size] = {}
        dtypes: dict[Expr, str] = {}
        operands: dict[str, Operand] = {}
        shapes: dict[str, tuple[Expr, ...]] = {}
        merged: dict[Expr, Expr] = {}
        types: dict[Expr, Expr] = {}
        for role, operand in self.operands.items():
            view = operand.view
            if role in ("dst", "dtype"):
                continue
            if view is not None:
                own = tuple(
                    self._symbol(role, *axis, merged, same) for axis in enumerate(view.shape)
                )
                shapes[role] = own
                for axis, size in enumerate(own):
                    sizes.setdefault(size, ((role, axis),))
                code = _once(
                    view.dtype.code, E.symbol(f"type of the argument {role}", 0), types, same
                )
                dtypes.setdefault(code, role)
                axes = [replace(a, size=s) for a, s in zip(view.axes, own, strict=True)]
                view = replace(view, axes=tuple(axes), dtype=DType(code))
                operand = replace(operand, value=view)
            operands[role] = operand
        made = instruction.result.of(self.reader, operands, self.span)
        if made is None:
            return None
        if isinstance(instruction.result, Shaped):
            return Recipe((), "", "", made.dtype.name or "", made.buffer, asked=True)
        return self._told(made, sizes, dtypes, shapes)

    def _symbol(
        self, role: str, axis: int, size: Expr, merged: dict[Expr, Expr], same: Same | None
    ) -> Expr:
        if size.is_const and size.const == 1:
            return size
        fresh = E.symbol(f"size {axis} of the argument {role}", 1)
        if same is None and size.is_const:
            return fresh
        return _once(size, fresh, merged, same)

    def _told(
        self,
        made: Made,
        sizes: Mapping[Expr, Size],
        dtypes: Mapping[Expr, str],
        shapes: Mapping[str, tuple[Expr, ...]],
    ) -> Recipe | None:
        known = dict(sizes)
        for role, own in shapes.items():
            for first, last in itertools.combinations(range(1, len(own) + 1), 2):
                total = E.const(1)
                for size in own[first:last]:
                    total = total * size
                known.setdefault(total, tuple((role, k) for k in range(first, last)))
        plain = (o.value for o in self.operands.values() if o.given and o.view is None)
        numbers = [value for value in plain if not isinstance(value, Enumerator)]
        shape: list[Size] = []
        for size in made.shape:
            if size in known:
                shape.append(known[size])
            elif size.is_const and (size.const == 1 or not numbers):  # the instruction's own
                shape.append(size.const)
            else:
                return None
        result = self.result
        like = next((role for role, own in shapes.items() if own == made.shape), "")
        dtype = dtypes.get(made.dtype.code, "")
        named = made.dtype.name or ("" if result is None else result.dtype.name) or ""
        if not dtype and not named:
            return None
        if result is not None and result.buffer is not made.buffer:
            return None
        return Recipe(tuple(shape), like, dtype, "" if dtype else named, made.buffer)


def _once(value: Expr, fresh: Expr, known: dict[Expr, Expr], same: Same | None) -> Expr:
    """The symbol of a value, or of one that it equals."""
    if value not in known and same is not None:
        equal = next((each for each in known if same(each, value)), None)
        if equal is not None:
            return known[equal]
    return known.setdefault(value, fresh)


class Reading(Struct, frozen=True):
    """:class:`verifier.symbolic.instruction.Reader` over values that have been read before."""

    api: str
    target: Target

    def decide(self, condition: Bool) -> bool | None:
        return {E.TRUE: True, E.FALSE: False}.get(condition)

    def as_int(self, value: object, span: Span) -> Expr | None:
        if isinstance(value, Expr):
            return value
        return E.const(value) if type(value) is int else None

    def as_bool(self, value: object, span: Span) -> Bool | None:
        if isinstance(value, bool):
            return E.truth(value)
        return value if isinstance(value, Bool) else None

    def as_items(self, value: object, span: Span) -> tuple[object, ...] | None:
        return value if isinstance(value, tuple) else None

    def as_dtype(self, value: object, span: Span) -> DType | None:
        return value if isinstance(value, DType) else None
