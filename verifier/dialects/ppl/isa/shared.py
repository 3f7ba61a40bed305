"""What descriptions of PPL functions share: element types, operands, results."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from verifier.hardware import dtypes as dt
from verifier.hardware.capabilities import Capability
from verifier.hardware.engines import Engine
from verifier.hardware.memories import Buffer
from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.effects import ALWAYS, Call, Decides, Effect, Footprint, Reads, When, Writes
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.instruction import Engines, Instruction, Made, Picks, Reader, Result, Trait
from verifier.symbolic.roles import (
    Barred,
    Elements,
    FirstLane,
    In,
    Lies,
    Limit,
    Match,
    Role,
    SameType,
    Shape,
    StartLanes,
    Takes,
    Types,
)
from verifier.symbolic.tensors import DType, Operand, View
from verifier.symbolic.values import Enumerator

FP32: Final = dt.codes("float32")
HALF: Final = dt.codes("float16", "bfloat16")
FP8: Final = dt.codes("float8_e4m3", "float8_e5m2")
FLOATS: Final = FP32 | HALF
INT4: Final = dt.codes("int4", "uint4")
INT8: Final = dt.codes("int8", "uint8")
INT16: Final = dt.codes("int16", "uint16")
INT32: Final = dt.codes("int32", "uint32")
INTS: Final = INT8 | INT16 | INT32
FIXED: Final = INTS | INT4
SIGNED: Final = dt.codes("int8", "int16", "int32", "int4")
UNSIGNED: Final = dt.codes("uint8", "uint16", "uint32", "uint4")
EVERY: Final = frozenset(dt.CODES.values())

LOCAL: Final = (Buffer.LOCAL,)
#: memory that is not in lanes
OUTSIDE: Final = (Buffer.HBM, Buffer.L2)

#: align modes -> layouts (LAY-09)
LAYOUTS: Final[Mapping[str, str]] = {
    "CONTINUOUS": "continuous",
    "TPU_ALIGN": "aligned",
    "TPU_COMPACT": "compact",
    "TPU_ROW_ALIGN": "row-aligned",
    "NONE_ALIGN": "free",
}

#: functions have operands under several names: their signatures say which
_OTHER_NAMES: Final[Mapping[str, tuple[str, ...]]] = {
    "dst": ("output",),
    "src": ("input", "pointer"),
    "weight": ("filter",),
    "ins": ("insert",),
}


class Part(Struct, frozen=True):
    """A parameter, and what becomes of the operand."""

    role: Role
    reads: tuple[Reads, ...] = ()
    writes: tuple[Writes, ...] = ()


# ----------------------------------------------------------------------------- element types


def types(
    codes: frozenset[int],
    fact: str,
    *more: tuple[Capability, frozenset[int]],
    when: When = ALWAYS,
) -> Types:
    names = (dt.NAMES[code] for code in sorted(codes))
    words = "anything but " + ", ".join(dt.NAMES[code] for code in sorted(EVERY - codes))
    words = words if len(codes) > len(EVERY) // 2 else ", ".join(names)
    return Types(codes, words, fact, more=more, when=when)


def like(
    role: str,
    fact: str,
    *pairs: tuple[frozenset[int], frozenset[int]],
    by: Match = Match.TYPE,
    free: tuple[tuple[Capability, frozenset[int]], ...] = (),
    needs: Capability | None = None,
) -> SameType:
    return SameType(role, fact, by=by, pairs=pairs, free=free, needs=needs)


# ----------------------------------------------------------------------------- operands


def _role(
    name: str,
    takes: Takes,
    dtypes: Types | None,
    same: SameType | None,
    shape: Shape | None,
    lies: Lies | None,
    memories: In | None,
    first_lane: FirstLane | None = None,
) -> Role:
    return Role(
        name=name,
        takes=takes,
        memories=memories,
        dtypes=dtypes,
        same_dtype=same,
        shape=shape,
        lies=lies,
        first_lane=first_lane,
        others=_OTHER_NAMES.get(name, ()),
    )


#: of what is mixed with other elements, unless :mod:`verifier.dialects.ppl.isa.fates` says more
_USED: Final = Decides("it is used")


def _read(name: str, when: When = ALWAYS) -> Reads:
    return Reads(role=name, fate=_USED, when=when)


def source(
    name: str = "src",
    dtypes: Types | None = None,
    same: SameType | None = None,
    *,
    shape: Shape | None = None,
    lies: Lies | None = None,
    memories: In | None = None,
    first_lane: FirstLane | None = None,
) -> Part:
    """A tensor that is read."""
    role = _role(name, Takes.TILE, dtypes, same, shape, lies, memories, first_lane)
    return Part(role, (_read(name),))


def vector(
    name: str,
    dtypes: Types | None = None,
    same: SameType | None = None,
    *,
    shape: Shape | None = None,
    lies: Lies | None = None,
) -> Part:
    """A tensor or a number."""
    return Part(
        _role(name, Takes.TENSOR_OR_NUMBER, dtypes, same, shape, lies, None), (_read(name),)
    )


def target(
    name: str = "dst",
    dtypes: Types | None = None,
    same: SameType | None = None,
    *,
    shape: Shape | None = None,
    lies: Lies | None = None,
    memories: In | None = None,
    adds: str = "",
    first_lane: FirstLane | None = None,
    constant: int | str | None = None,
) -> Part:
    """A tensor that is written; ``adds``: a flag that says if what was there is added to.

    ``constant``: one number goes everywhere: this one, or that of an operand.
    """
    role = _role(name, Takes.TILE, dtypes, same, shape, lies, memories, first_lane)
    if adds:
        added = Writes(role=name, effect=lambda call: flag(call, adds), decides=_USED.why)
        return Part(role, (), (added,))
    return Part(role, (), (Writes(role=name, constant=constant),))


def filled(constant: int | str) -> Part:
    """The one tensor of a function, which is called its input, and is written."""
    part = target(constant=constant)
    return replace(part, role=replace(part.role, others=("input", "output")))


def updated(
    name: str = "dst",
    dtypes: Types | None = None,
    same: SameType | None = None,
    *,
    lies: Lies | None = None,
    memories: In | None = None,
) -> Part:
    """A tensor that is read and written."""
    role = _role(name, Takes.TILE, dtypes, same, None, lies, memories)
    return Part(role, (_read(name),), (Writes(role=name),))


def _combines(call: Call) -> Effect | None:
    """Whether ``psum`` and ``opcode`` have the memory compute with what is there (TPU-F12)."""
    sums, operator = call.value("psum"), call.value("opcode")
    if not (isinstance(sums, Enumerator) and isinstance(operator, Enumerator)):
        return None
    over = sums.name == "ALL_REDUCE_PSUM_WO" or operator.name == "ALL_REDUCE_NOP"
    return Effect.SETS if over else Effect.ADDS


def combined(name: str = "dst", *, memories: In) -> Part:
    """A tensor that the memory combines with what comes, as ``opcode`` says."""
    when = When("it combines", lambda call: E.truth(_combines(call) is not Effect.SETS))
    return Part(
        _role(name, Takes.TILE, None, None, None, None, memories),
        (Reads(role=name, fate=_USED, when=when),),
        (Writes(role=name, effect=_combines, by="opcode"),),
    )


def number(name: str, value: Limit | None = None, about: str = "", *, entries: int = 0) -> Part:
    """A number, or a list of so many."""
    others = _OTHER_NAMES.get(name, ())
    role = Role(
        name=name,
        takes=Takes.INTEGER,
        value=value,
        count=Limit(fact="TPU-C43", least=entries, most=entries) if entries else None,
        about=about,
        others=others,
    )
    return Part(role)


def option(name: str, about: str = "") -> Part:
    """A truth value."""
    return Part(Role(name=name, takes=Takes.FLAG, about=about))


def rounding(name: str, barred: Barred) -> Part:
    """A way to round, and those that it is not."""
    return Part(Role(name=name, takes=Takes.PLAIN, barred=barred))


def flag(call: Call, role: str) -> Bool:
    """Whether a flag is set; one that is not followed is taken as not set."""
    value = call.value(role)
    if isinstance(value, Bool):
        return value
    return E.ne(value, 0) if isinstance(value, Expr) else E.truth(value is True)


def when_set(role: str) -> When:
    return When(role, lambda call: flag(call, role))


def unless_set(role: str) -> When:
    return When(f"not {role}", lambda call: E.not_(flag(call, role)))


def elements(fact: str = "TPU-A09", of: str = "dst") -> Elements:
    return Elements(of, fact)


def repeated(fact: str = "TPU-A09", of: str = "dst") -> Elements:
    return Elements(of, fact, repeats=True)


# ----------------------------------------------------------------------------- results


class Joined(Struct, frozen=True):
    """A tensor of the sizes that the operands have together, of the first one's type.

    ``typed``: the argument that may say another type; ``aligned``: the one that says the layout.
    ``alone``: the operand that a call with numbers only gives back, worked out by the compiler.
    """

    layout: str = "aligned"
    typed: str = ""
    aligned: str = ""
    alone: str = ""

    def of(self, reader: Reader, operands: Mapping[str, Operand], span: Span) -> Made | None:
        tensors = [o.value for o in operands.values() if isinstance(o.value, View)]
        if not tensors:
            return None
        shape = tensors[0].shape
        for view in tensors[1:]:
            shape = tuple(_wider(reader, a, b) for a, b in zip(shape, view.shape, strict=False))
        dtype = tensors[0].dtype
        said = operands.get(self.typed)
        if said is not None and not isinstance(said.value, Enumerator):
            wanted = reader.as_dtype(said.value, said.span)
            dtype = wanted if isinstance(wanted, DType) else dtype
        mode = operands.get(self.aligned)
        layout = self.layout
        if mode is not None and isinstance(mode.value, Enumerator):
            layout = LAYOUTS.get(mode.value.name, layout)
        return Made(shape, dtype, Buffer.LOCAL, layout)


def _wider(reader: Reader, a: Expr, b: Expr) -> Expr:
    """The extent that two operands have together: one element is repeated."""
    one = E.eq(a, 1)
    if a is b or b is E.const(1):
        return a
    single = reader.decide(one)
    return E.ite(one, b, a) if single is None else b if single else a


NEW: Final = Joined()

# ----------------------------------------------------------------------------- functions

_TIU: Final = In(LOCAL, ("TPU-A12",))
#: each lane computes with what lies in its own memory
TOGETHER: Final = StartLanes(("TPU-A05",))


def on_rows(fact: str) -> Lies:
    """The operand has strides of its own, and starts at a row of the execution units."""
    return Lies("", fact)


def function(
    name: str,
    summary: str,
    signature: str,
    *parts: Part,
    result: Result | None = None,
    needs: tuple[Capability, str] | None = None,
    nowhere: str = "",
    others: tuple[str, ...] = (),
    moves_out: str = "",
    traits: frozenset[Trait] = frozenset(),
    picks: Picks | None = None,
    lanes: StartLanes | None = TOGETHER,
) -> Instruction:
    """A function of ``pl.tiu``, ``pl.dma``, ``pl.sdma`` or ``pl.hau`` by its name there.

    ``result``: what it returns where its destination, the first parameter, is left out.
    ``lanes``: which operands of a function of ``pl.tiu`` start in one lane; None: those of a
    function that moves data from lane to lane.
    """
    engine = name.partition(".")[0]
    roles = tuple(part.role for part in parts)
    if engine == "tiu":
        roles = tuple(
            replace(role, memories=role.memories or _TIU)
            if role.takes in (Takes.TILE, Takes.TENSOR_OR_NUMBER)
            else role
            for role in roles
        )
    return Instruction(
        name=f"ppl.{name}",
        summary=summary,
        signatures={"ppl": signature},
        roles=roles,
        engines=Engines(Engine(engine)),
        footprint=Footprint(
            reads=tuple(entry for part in parts for entry in part.reads),
            writes=tuple(entry for part in parts for entry in part.writes),
        ),
        result=result,
        needs=None if needs is None else (needs[0], (needs[1],)),
        nowhere=nowhere,
        others=tuple(f"ppl.{other}" for other in others),
        moves_out=moves_out,
        traits=traits,
        picks=picks,
        lanes=lanes if engine == "tiu" else None,
    )
