"""Element types that the device functions of PPL compute with, out of their descriptions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from rules.tpu.ppl_kit import (
    PRODUCTS,
    WINDOWS,
    bits,
    check,
    described,
    dtype_words,
    elementwise,
    function,
    number,
)
from verifier.dialects.names import PPL
from verifier.hardware import dtypes as dt
from verifier.hardware.chips import Chip
from verifier.hardware.engines import Engine
from verifier.rulebase import On, Rule, register
from verifier.symbolic import expr as E
from verifier.symbolic.checks import Check
from verifier.symbolic.expr import Bool
from verifier.symbolic.instruction import Instruction, Trait
from verifier.symbolic.roles import Match, Role, SameType, Types
from verifier.symbolic.tensors import View
from verifier.symbolic.trace import Operation


def types(op: Operation, chip: Chip) -> Iterator[Check]:
    """Each operand has a type that the function takes, and one that goes with the others."""
    instruction = described(op)
    # what is read first: what is written follows from it
    roles = sorted(instruction.roles, key=lambda r: bool(instruction.footprint.writes_of(r.name)))
    for role in roles:
        view = op.view(role.name)
        if view is not None and role.dtypes is not None and role.dtypes.when.holds(op) is E.TRUE:
            yield _one(op, chip, role, role.dtypes, view)
    for role in roles:
        view = op.view(role.name)
        if view is not None and role.same_dtype is not None:
            yield from _together(op, chip, role, role.same_dtype, view)


def _taken(chip: Chip, types: Types | None) -> frozenset[int]:
    """The types that an operand may have on a chip."""
    if types is None:
        return frozenset(dt.CODES.values())
    more = (codes for capability, codes in types.more if chip.has(capability))
    return types.codes.union(*more)


def _one(op: Operation, chip: Chip, role: Role, types: Types, view: View) -> Check:
    wanted = _taken(chip, types)
    listed = dtype_words(wanted) if types.more else types.words
    return check(
        op,
        role.name,
        view.dtype.among(wanted),
        f"{role.name} is {listed}",
        f"`pl.{function(op)}` on {chip.name} does not take {role.name} of type "
        f"{view.dtype.name or 'like that'}",
        types.fact,
        help=(f"it takes {listed}",),
    )


def _together(op: Operation, chip: Chip, role: Role, same: SameType, view: View) -> Iterator[Check]:
    other = _tensor(op, same.role)
    in_place = same.by is Match.NO_WIDER_IN_PLACE
    if other is None or (in_place and other[1].storage is not view.storage):
        return
    name, theirs = other
    problem = (
        "makes wider elements where the narrower ones lie"
        if in_place
        else "has operands of different dtypes"
    )
    text = f"{role.name} {same.by.value} {name}"
    problem = (
        f"`pl.{function(op)}` {problem}: {role.name} is {view.dtype.name or 'another'}, "
        f"{name} is {theirs.dtype.name or 'another'}"
    )
    help_ = _advice(op, same)
    if same.by is Match.TYPE and not _alike(chip, same):
        words = dtype_words(frozenset().union(*(goes_with for _, goes_with in same.pairs)))
        text = f"{role.name} is {words}"
        problem = (
            f"`pl.{function(op)}` on {chip.name} does not take {role.name} of type "
            f"{view.dtype.name or 'like that'} with {name} of type {theirs.dtype.name or 'its own'}"
        )
        help_ = (f"it takes {words}, whatever {name} is",)
    yield check(
        op,
        role.name,
        E.or_(_matches(op, chip, same, view, name, theirs), _free(op, chip, same)),
        text,
        problem,
        same.fact,
        views=(theirs,),
        help=help_,
    )


def _alike(chip: Chip, same: SameType) -> bool:
    """Whether the chip takes two operands of one type at all."""
    return same.needs is None or chip.has(same.needs)


def _advice(op: Operation, same: SameType) -> tuple[str, ...]:
    if same.by is Match.TYPE:
        return ("convert with `pl.tiu.cast` first",)
    if op.engine in (Engine.DMA, Engine.SDMA):
        return ("a transfer moves bytes as they are: convert with `pl.tiu.cast`",)
    return ()


def _tensor(op: Operation, name: str) -> tuple[str, View] | None:
    """An operand; where it is a number, the one that has its type."""
    found = op.view(name)
    if found is not None:
        return name, found
    role = described(op).role(name)
    partner = role.same_dtype.role if role is not None and role.same_dtype is not None else ""
    found = op.view(partner)
    return None if found is None else (partner, found)


def _matches(
    op: Operation, chip: Chip, same: SameType, mine: View, name: str, theirs: View
) -> Bool:
    if same.by is Match.WIDTH:
        return mine.dtype.as_wide_as(theirs.dtype)
    if same.by is not Match.TYPE:
        return E.le(bits(mine.dtype), bits(theirs.dtype))
    other = described(op).role(name)
    taken = _taken(chip, other.dtypes if other is not None else None)
    alike = E.truth(_alike(chip, same))
    found = [E.and_(alike, mine.dtype.same(theirs.dtype))]
    for codes, goes_with in same.pairs:
        if taken <= codes:  # with whatever that one may be
            found.append(mine.dtype.among(goes_with))
        elif taken & codes:
            found.append(E.and_(theirs.dtype.among(taken & codes), mine.dtype.among(goes_with)))
    return E.or_(*found)


def _free(op: Operation, chip: Chip, same: SameType) -> Bool:
    """Whether an operand that is read has a type that goes with all others."""
    reads = {read.role for read in described(op).footprint.reads}
    views = [view for role in reads if (view := op.view(role)) is not None]
    return E.or_(
        *(
            view.dtype.among(codes)
            for capability, codes in same.free
            if chip.has(capability)
            for view in views
        )
    )


#: functions whose types are judged with the rest of what is said of them
_APART: Final = frozenset(
    {*WINDOWS, *PRODUCTS, Trait.GATHERS, Trait.SCATTERS, Trait.QUANTISES, Trait.SORTS}
)


def _facts(instruction: Instruction) -> Iterator[str]:
    """The rows about element types of a function on elements."""
    if not instruction.traits.isdisjoint(_APART):
        return
    for role in instruction.roles:
        if role.dtypes is not None:
            yield role.dtypes.fact
        if role.same_dtype is not None:
            yield role.same_dtype.fact


def iterations(op: Operation, chip: Chip) -> Iterator[Check]:
    """Steps of Newton's method are in range."""
    role, steps = described(op).role("num_iter"), number(op, "num_iter")
    if role is None or role.value is None or steps is None or not op.operands["num_iter"].given:
        return
    limit = role.value
    yield check(
        op,
        "num_iter",
        limit.holds(steps),
        f"{limit.least} <= num_iter <= {limit.most}",
        f"`num_iter` of `pl.{function(op)}` is not between {limit.least} and {limit.most}",
        limit.fact,
        values=(("num_iter", steps),),
    )


def _iterates(instruction: Instruction) -> tuple[str, ...]:
    role = instruction.role("num_iter")
    return () if role is None or role.value is None else (role.value.fact,)


_DOUBLED: Final = elementwise("pl.tiu.fmul(b, a, 2.0)")
_ROOT: Final = elementwise("pl.tiu.frsqrt(b, a, num_iter=3)", dtype="fp32")

register(
    Rule(
        id="ppl-dtypes",
        code="PPL040",
        family=PPL,
        summary="device functions get elements that they compute with",
        reason=(
            "Arithmetic on floats and on integers are different instructions, most of which want "
            "all operands of one type; the checker that would say so exists for the models of some "
            "chips only, and not at all for BM1684X. Transfers and moves between lanes have one "
            "format for both sides: elements of another width arrive as something else."
        ),
        facts=(),
        on=On.OPERATION,
        enforces=_facts,
        check=types,
        failing=elementwise("pl.tiu.fmul(b, a, 2.0)", dtype="fp16", out="fp32"),
        passing=_DOUBLED,
        dialects=(PPL,),
    )
)

register(
    Rule(
        id="ppl-iterations",
        code="PPL041",
        family=PPL,
        summary="iterative functions take up to four steps",
        reason="The number of steps has a small field in the instruction.",
        facts=(),
        on=On.OPERATION,
        enforces=_iterates,
        check=iterations,
        failing=_ROOT.replace("num_iter=3", "num_iter=5"),
        passing=_ROOT,
        dialects=(PPL,),
    )
)
