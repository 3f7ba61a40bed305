"""What descriptions of OKK functions share: tensors by address, and what goes with them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from verifier.dialects.okk.isa import shapes
from verifier.dialects.okk.isa.shapes import Shape
from verifier.hardware.engines import Engine
from verifier.hardware.memories import Buffer
from verifier.symbolic import expr as E
from verifier.symbolic.effects import (
    ALL,
    ALWAYS,
    Among,
    Call,
    Carried,
    Decides,
    Folded,
    Footprint,
    Index,
    Line,
    Reads,
    When,
    Where,
    Writes,
)
from verifier.symbolic.expr import Bool
from verifier.symbolic.instruction import Engines, Instruction, Trait
from verifier.symbolic.roles import (
    Apart,
    Codes,
    In,
    Limit,
    Placed,
    RangeBy,
    Role,
    StartLanes,
    Takes,
    Unit,
)

F32: Final = "float32"
S32: Final = "int32"
U32: Final = "uint32"

_LOCAL: Final = In((Buffer.LOCAL,), ())
_SYSTEM: Final = In((Buffer.HBM,), ())


class Part(Struct, frozen=True):
    """A parameter, and what becomes of the operand."""

    role: Role
    reads: tuple[Reads, ...] = ()
    writes: tuple[Writes, ...] = ()


# ----------------------------------------------------------------------------- tensors


def tensor(
    name: str,
    dtype: str,
    *,
    shape: Shape = shapes.shape,
    layout: str = "",
    system: bool = False,
    choice: bool = False,
    strides: str = "",
    columns: str = "",
    unit: Unit | None = None,
    fact: str = "",
    apart: Apart | None = None,
) -> Role:
    """A tensor by its address; ``choice``: or a constant in its place.

    Without a ``layout`` it is aligned in local memory, continuous in system memory (OKK-D01).
    """
    takes = Takes.SYSTEM_ADDRESS if system else Takes.LOCAL_ADDRESS
    placed = Placed(
        dtype=dtype,
        shape=shape,
        layout=layout or ("continuous" if system else "aligned"),
        strides=strides,
        columns=columns,
        unit=unit or Unit.WORD,
        fact=fact,
    )
    return Role(
        name=name,
        takes=Takes.CHOICE if choice else takes,
        memories=_SYSTEM if system else _LOCAL,
        parameter=name if choice else f"{name}_addr",
        placed=placed,
        apart=apart,
    )


def reads(role: Role, when: When = ALWAYS, where: Where = ALL) -> Part:
    fate = Decides("it is used")
    return Part(role, (Reads(role=role.name, fate=fate, when=when, where=where),))


def same(call: Call, index: Index) -> Index:
    return index


def goes_on(part: Part, source: Callable[[Call, Index], Index] = same, to: str = "dst") -> Part:
    """A part whose elements go into elements of ``to``: ``source`` says which into which."""
    carried = (replace(entry, fate=Carried(source, to)) for entry in part.reads)
    return replace(part, reads=tuple(carried))


def folds(
    part: Part, line: Callable[[Call, Index], Line], to: str, among: Among | None = None
) -> Part:
    """A part of which the elements of a line go into one of ``to`` together."""
    folded = (replace(entry, fate=Folded(line, to, among=among)) for entry in part.reads)
    return replace(part, reads=tuple(folded))


def of_channel(call: Call, index: Index) -> Index:
    """The number of a channel, which goes into all elements of it."""
    return E.const(0), index[1], E.const(0), E.const(0)


def writes(role: Role, adds: str = "") -> Part:
    """``adds``: a flag that says if what was there is added to, element by element."""
    if not adds:
        return Part(role, (), (Writes(role=role.name),))
    sums = Reads(role=role.name, fate=Carried(same, role.name), when=when_set(adds))
    return Part(role, (sums,), (Writes(role=role.name, effect=lambda call: _flag(call, adds)),))


def updates(role: Role) -> Part:
    """What was there is read, too."""
    return Part(role, reads(role).reads, writes(role).writes)


def keeps_in(role: Role, fact: str, *others: str) -> Part:
    """A work tensor: intermediate results are left there. It is none of these operands."""
    used = replace(role, apart=Apart(fact, others))
    return Part(used, (), (Writes(role=role.name, destroys=True),))


def _flag(call: Call, role: str) -> Bool:
    value = call.value(role)
    assert isinstance(value, Bool)
    return value


def when_set(role: str) -> When:
    return When(role, lambda call: _flag(call, role))


# ----------------------------------------------------------------------------- other parameters


def given(
    name: str,
    takes: Takes,
    *,
    optional: bool = False,
    value: Limit | None = None,
    codes: Codes | None = None,
    range_by: RangeBy | None = None,
    about: str = "",
) -> Part:
    return Part(
        Role(
            name=name,
            takes=takes,
            optional=optional,
            value=value,
            codes=codes,
            range_by=range_by,
            about=about,
        )
    )


SHAPE: Final = given("shape", Takes.QUAD)
C: Final = given("C", Takes.NUMBER)


def integer(name: str, value: Limit | None = None, about: str = "") -> Part:
    return given(name, Takes.INTEGER, value=value, about=about)


def flag(name: str) -> Part:
    return given(name, Takes.FLAG)


def _strides(parts: Sequence[Part]) -> tuple[Part, ...]:
    """The stride pointers of tensors, in their order."""
    names = [part.role.placed.strides for part in parts if part.role.placed]
    return tuple(given(name, Takes.QUAD, optional=True) for name in names if name)


# ----------------------------------------------------------------------------- functions


def function(
    name: str,
    number: str,
    engine: str,
    summary: str,
    *parts: Part,
    lanes: StartLanes | None = None,
    traits: frozenset[Trait] = frozenset(),
) -> Instruction:
    """A function by its C name without ``okk_``, with its parameters in the order of C."""
    required = [part.role.parameter or part.role.name for part in parts]
    return Instruction(
        name=f"okk.{name}",
        summary=summary,
        signatures={"okk": ", ".join(f"{each}*" for each in required)},
        roles=tuple(part.role for part in parts),
        engines=Engines(Engine(engine)),
        footprint=Footprint(
            reads=tuple(entry for part in parts for entry in part.reads),
            writes=tuple(entry for part in parts for entry in part.writes),
        ),
        facts=(f"OKK-{number}",),
        lanes=lanes,
        traits=traits,
    )


#: all operands start in one lane
TOGETHER: Final = StartLanes(("OKK-C01", "ADR-12"))


def elementwise(
    name: str, number: int, summary: str, tensors: Sequence[Part], *others: Part
) -> Instruction:
    """Tensors of one shape with strides of their own; ``others`` stand before the shape."""
    strided = tuple(goes_on(_strided(part)) for part in tensors)
    parts = (*strided, *others, SHAPE, *_strides(strided))
    return function(f"bdc_{name}", f"{number:03}", "bdc", summary, *parts, lanes=TOGETHER)


def _strided(part: Part, unit: Unit = Unit.WORD, fact: str = "OKK-A01") -> Part:
    role = part.role
    assert role.placed is not None
    placed = replace(role.placed, strides=f"{role.name}_stride", unit=unit, fact=fact)
    return Part(replace(role, placed=placed), part.reads, part.writes)


def strided(
    parts: Sequence[Part], unit: Unit = Unit.WORD, fact: str = "OKK-A01"
) -> tuple[tuple[Part, ...], tuple[Part, ...]]:
    """Tensors that may be given strides, and the parameters for them."""
    found = tuple(_strided(part, unit, fact) for part in parts)
    return found, _strides(found)


def aligned(
    name: str, number: int, summary: str, tensors: Sequence[Part], *others: Part
) -> Instruction:
    """Tensors of one shape in the aligned layout, without strides (class AL)."""
    rows = tuple(goes_on(_at_rows(part)) for part in tensors)
    parts = (*rows, SHAPE, *others)
    return function(f"bdc_{name}", f"{number:03}", "bdc", summary, *parts, lanes=TOGETHER)


def _at_rows(part: Part) -> Part:
    assert part.role.placed is not None
    placed = replace(part.role.placed, unit=Unit.ROW, fact="OKK-A03")
    return Part(replace(part.role, placed=placed), part.reads, part.writes)


def dst(dtype: str = F32) -> Part:
    return writes(tensor("dst", dtype))


def src(dtype: str = F32) -> Part:
    return reads(tensor("src", dtype))


def two(dtype: str = F32, second: str = "") -> tuple[Part, Part]:
    return reads(tensor("src0", dtype)), reads(tensor("src1", second or dtype))
