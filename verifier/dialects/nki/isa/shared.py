"""What descriptions share: memories, kinds of parameters, conditions, and maps between operands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from verifier.hardware import dtypes as dt
from verifier.hardware.engines import Engine
from verifier.hardware.memories import Buffer
from verifier.hardware.targets import QUADRANT, SCALE_ROWS
from verifier.symbolic import expr as E
from verifier.symbolic.effects import (
    ALL,
    ALWAYS,
    Call,
    Carried,
    Decides,
    Folded,
    Index,
    Line,
    Reads,
    When,
    Where,
    Writes,
)
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.instruction import Indirection, Trait
from verifier.symbolic.roles import Against, In, Limit, Role, SameType, Shape, Since, Takes, Types
from verifier.symbolic.streams import as_many, in_order
from verifier.symbolic.tensors import View
from verifier.symbolic.values import Enumerator

SBUF: Final = (Buffer.SBUF,)
ON_CHIP: Final = (Buffer.SBUF, Buffer.PSUM)

INT: Final = dt.of_class("int")
FLOAT: Final = dt.of_class("float")
FP32: Final = dt.codes("float32")
HALF: Final = dt.codes("float16", "bfloat16")
#: of functions whose numbers are drawn
DRAWS: Final = frozenset({Trait.RANDOM})

FLOAT8: Final = dt.codes("float8_e4m3", "float8_e5m2")
EVERY: Final = frozenset(dt.CODES.values())


def words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# ----------------------------------------------------------------------------- parameters


def on_chip(fact: str) -> In:
    return In(ON_CHIP, (fact,))


def in_sbuf(fact: str) -> In:
    return In(SBUF, (fact,))


def for_tensor_engine(*facts: str) -> In:
    """Its ports in lead to SBUF."""
    return In(SBUF, facts)


def summed_in(*facts: str) -> In:
    """Its port out leads to PSUM."""
    return In((Buffer.PSUM,), facts)


def in_hbm(fact: str) -> In:
    return In((Buffer.HBM, Buffer.SHARED_HBM), (fact,))


def for_gpsimd(fact: str) -> In:
    """SBUF: GpSimd has no port to PSUM."""
    return In(SBUF, ("NKI-N07", fact))


def tile(
    name: str,
    memories: In | None = None,
    *,
    shape: Shape | None = None,
    dtypes: Types | None = None,
    same_dtype: SameType | None = None,
    partitions: Limit | None = None,
    free: Limit | None = None,
    rank: tuple[Limit, ...] = (),
    own_start: str = "",
    column: bool = False,
    direct: str = "",
    rows: str = "",
    about: str = "",
) -> Role:
    return Role(
        name=name,
        takes=Takes.TILE,
        memories=memories,
        shape=shape,
        dtypes=dtypes,
        same_dtype=same_dtype,
        partitions=partitions,
        free=free,
        rank=rank,
        own_start=own_start,
        column=column,
        direct=direct,
        rows=rows,
        about=about,
    )


def exactly(size: int, fact: str) -> Limit:
    return Limit(least=size, most=size, fact=fact)


def indirect(
    operands: str,
    source: str,
    *,
    engines: str = "",
    never_of: frozenset[int] = frozenset(),
) -> Indirection:
    """Operands that may be columns which an index names (NKI-TI09), on some engines (TI10)."""
    return Indirection(
        operands=words(operands),
        source=source,
        engines=frozenset(map(Engine, engines.split())),
        never_of=never_of,
    )


def plain(name: str, value: Limit | None = None) -> Role:
    """A number."""
    return Role(name=name, takes=Takes.PLAIN, value=value)


def constant(name: str, fact: str, exact: Since | None = None) -> Role:
    """A number that is part of the instruction as it is encoded."""
    return Role(name=name, takes=Takes.CONSTANT, constant=fact, exact=exact)


def whole(name: str, fact: str = "") -> Role:
    """An integer, of which rules say more; ``fact``: that it is one."""
    return Role(name=name, takes=Takes.INTEGER, constant=fact)


def priority(fact: str, against: Against | None = None) -> Role:
    """The class of traffic that a transfer belongs to."""
    limit = Limit(least=0, most=3, fact=fact)
    return Role(name="priority", takes=Takes.INTEGER, value=limit, against=against)


def wholes(name: str, value: Limit | None = None) -> Role:
    """A list of integers, each within a limit."""
    return Role(name=name, takes=Takes.INTEGERS, value=value)


def vector(
    name: str,
    memories: In | None = None,
    *,
    shape: Shape | None = None,
    dtypes: Types | None = None,
    same_dtype: SameType | None = None,
    arithmetic: Since | None = None,
    value: Limit | None = None,
) -> Role:
    """A number, or a tile; ``value``: what the number may be."""
    described = tile(name, memories, shape=shape, dtypes=dtypes, same_dtype=same_dtype)
    return replace(described, takes=Takes.VECTOR, arithmetic=arithmetic, value=value)


def tiles(name: str, memories: In | None = None, count: Limit | None = None) -> Role:
    """A list of tensors."""
    return Role(name=name, takes=Takes.TILES, memories=memories, count=count)


def operator(name: str, against: Against | None = None) -> Role:
    return Role(name=name, takes=Takes.OPERATOR, against=against)


#: how likely it is that an element is dropped
PROBABILITY: Final = Limit(least=0, most=1, fact="NKI-DRP04")


def probabilities(data: str) -> Types:
    """What tiles of them hold: their elements are compared with those of a random tile."""
    return Types(
        *(FP32, "float32 for integer data", "NKI-DRP02"),
        when=holds_integers(data),
        otherwise=Types(FLOAT, "a float", "NKI-DRP02"),
    )


def switch(name: str, about: str = "", fact: str = "") -> Role:
    """A flag that says what the call does; ``fact``: that it is known when compiled."""
    return Role(name=name, takes=Takes.FLAG, about=about, constant=fact)


def engines(names: str) -> frozenset[Engine]:
    return frozenset(map(Engine, names.split()))


def unless_asked(engine: Engine) -> Callable[[Call], Engine]:
    """An engine where the call does not name one, or names one that is not followed."""

    def default(call: Call) -> Engine:
        asked = call.value("engine")
        return engine if asked is None or isinstance(asked, Enumerator) else Engine.UNKNOWN

    return default


def scales(role: str, data: str, *, packed: bool = True) -> Where:
    """Four partitions of each quadrant, or one for each eight of the data (NKI-MMX10).

    ``packed``: there is a column for each element of the data, else for four of them.
    """

    def holds(call: Call, index: Index) -> Bool | None:
        view, of = call.view(role), call.view(data)
        if view is None or of is None:
            return None
        row = E.mod(index[0], QUADRANT)
        each = QUADRANT // SCALE_ROWS  # rows of data that one row of scales is for
        sparse = E.and_(E.lt(row, SCALE_ROWS), E.lt(index[0] + row * (each - 1), of.partitions))
        rows = E.or_(E.le(view.partitions * each, of.partitions), sparse)
        # several scale tensors may share a tile, one beside the other
        columns = E.lt(index[1], of.free) if packed and len(index) == 2 else E.TRUE
        return E.and_(rows, columns)

    return Where("a partition for each eight of the data", holds)


# ----------------------------------------------------------------------------- conditions


def flag(call: Call, role: str) -> Bool | None:
    """Whether a flag is set; None while that is not followed."""
    value = call.value(role)
    if value is None or isinstance(value, bool):
        return E.truth(bool(value))
    return value if isinstance(value, Bool) else None


def when_set(role: str) -> When:
    return When(role, lambda call: flag(call, role))


def unless_set(role: str) -> When:
    def holds(call: Call) -> Bool | None:
        found = flag(call, role)
        return None if found is None else E.not_(found)

    return When(f"not {role}", holds)


def when_given(role: str) -> When:
    return When(f"{role} is given", lambda call: E.truth(call.value(role) is not None))


def holds_integers(role: str) -> When:
    """Where the elements of an operand are integers."""

    def holds(call: Call) -> Bool | None:
        view = call.view(role)
        return None if view is None else view.dtype.among(INT)

    return When(f"{role} holds integers", holds)


def member(call: Call, role: str) -> str | None:
    """The name of the member of an enumeration that an operand is."""
    value = call.value(role)
    return value.name if isinstance(value, Enumerator) else None


def integer(value: object) -> int | None:
    if isinstance(value, Expr):
        return value.const if value.is_const else None
    return value if isinstance(value, int) else None


def _reduces(call: Call) -> Bool | None:
    """Functions that take no command reduce."""
    if call.value("reduce_cmd") is None:
        return E.TRUE
    name = member(call, "reduce_cmd")
    return None if name is None else E.truth(name not in ("idle", "reset"))


#: the elements that stream by go into the accumulators
REDUCES: Final = When("reduce_cmd reduces", _reduces)
LOADS: Final = When(
    "reduce_cmd is load_reduce", lambda call: E.truth(member(call, "reduce_cmd") == "load_reduce")
)


# ----------------------------------------------------------------------------- which element


def _wide(view: View) -> list[int]:
    """The axes that are not of size 1."""
    return [k for k, size in enumerate(view.shape) if size is not E.const(1)]


#: axes of an operand, each with the axis of another that goes along with it
_Pairs: TypeAlias = list[tuple[int, int]]


def _along(to: View, own: list[int]) -> _Pairs | None:
    """The axes ``own`` of a view along the axes of another that are not of size 1."""
    wide = _wide(to)
    return list(zip(own, wide, strict=True)) if len(own) == len(wide) else None


def _paired(view: View, to: View) -> _Pairs | None:
    """The axes that are not of size 1, in order; else by NumPy's rule, from the last.

    One element per partition goes along with all of that partition.
    """
    wide = _wide(view)
    found = _along(to, wide)
    gap = to.rank - view.rank
    if found is None and gap > 0 and wide == [0]:
        if E.eq(view.shape[0], to.shape[0]) is not E.FALSE:
            return [(0, 0)]
    if found is None and gap >= 0:
        found = [(k, k + gap) for k in wide]
    return found


def _sizes(view: View, axes: Sequence[int]) -> list[Expr]:
    return [view.shape[k] for k in axes]


class _Match(Struct, frozen=True):
    """Which element of a view goes along with each one of another, where its sizes ``fit``."""

    fits: Bool
    at: Callable[[Index], Index | None]


def _match(view: View, to: View, own: list[int], pairs: _Pairs | None) -> _Match | None:
    """Axis by axis as ``pairs`` say, else the axes ``own`` in the order of the other's elements."""
    if pairs is not None and (fits := _equal(view, to, pairs)) is not E.FALSE:
        return _Match(fits, lambda index: _at(view, index, pairs))
    wide = _wide(to)
    mine, others = _sizes(view, own), _sizes(to, wide)
    fits = as_many(mine, others)
    if fits is E.FALSE:
        return None

    def at(index: Index) -> Index | None:
        found = in_order(mine, others, [index[k] for k in wide])
        if found is None:
            return None
        known = dict(zip(own, found, strict=True))
        return tuple(known.get(k, E.const(0)) for k in range(view.rank))

    return _Match(fits, at)


def _equal(view: View, to: View, pairs: _Pairs | None) -> Bool:
    """Whether axes that go along with each other are as long."""
    if pairs is None:
        return E.FALSE
    return E.and_(*(E.eq(view.shape[mine], to.shape[other]) for mine, other in pairs))


def _at(view: View, index: Index, pairs: _Pairs) -> Index:
    """The element of a view that goes along with an element of another."""
    others = dict(pairs)
    return tuple(index[others[k]] if k in others else E.const(0) for k in range(view.rank))


def _given(call: Call, role: str) -> View | None:
    """The tile of a role; of a list of tiles of one shape the first."""
    found, value = call.view(role), call.value(role)
    if found is not None:
        return found
    listed = value if isinstance(value, tuple) else (value,)
    views = [item for item in listed if isinstance(item, View)]
    alike = all(view.shape == views[0].shape for view in views)
    return views[0] if views and alike else None


def _element(role: str, to: str, *, moved: bool = False) -> Carried:
    """The element of a view that streams by with an element of another."""

    def matched(call: Call) -> _Match | None:
        view, target = _given(call, role), call.view(to)
        if view is None or target is None:
            return None
        return _match(view, target, _wide(view), _paired(view, target))

    def source(call: Call, index: Index) -> Index | None:
        found = matched(call)
        return None if found is None else found.at(index)

    def fits(call: Call) -> Bool:
        found = matched(call)
        return E.FALSE if found is None else found.fits

    return Carried(source, to, moved, fits)


def _lane(role: str) -> Callable[[Call, Index], Index | None]:
    """The one element of the same partition."""

    def source(call: Call, index: Index) -> Index | None:
        view = call.view(role)
        if view is None or not view.rank or not index:
            return None
        first = E.const(0) if view.shape[0] is E.const(1) else index[0]
        return (first, *(E.const(0) for _ in view.shape[1:]))

    return source


def _turned(role: str, to: str) -> Callable[[Call, Index], Index | None]:
    """Rows for columns."""

    def source(call: Call, index: Index) -> Index | None:
        view, target = call.view(role), call.view(to)
        if view is None or target is None or view.rank < 2 or target.rank != 2:
            return None
        free = in_order(view.shape[1:], target.shape[:1], index[:1])
        return None if free is None else (index[1], *free)

    return source


def _row(role: str) -> Callable[[Call, Index], Line | None]:
    """All elements of the same partition."""

    def line(call: Call, index: Index) -> Line | None:
        view = call.view(role)
        if view is None or not view.rank or not index:
            return None
        return (index[0], *(None for _ in view.shape[1:]))

    return line


def axes_of(call: Call, role: str, rank: int) -> frozenset[int] | None:
    """An argument that names axes, as positions; None while it depends on an input."""
    value = call.value(role)
    found: set[int] = set()
    for item in value if isinstance(value, tuple) else (value,):
        axis = integer(item)
        if axis is None:
            return None
        found.add(axis + rank if axis < 0 else axis)
    return frozenset(found)


def _over(role: str, to: str, axes: str) -> Folded:
    """All elements along the axes that an operand names."""

    def matched(call: Call) -> tuple[frozenset[int], _Match] | None:
        view, target = call.view(role), call.view(to)
        if view is None or target is None:
            return None
        gone = axes_of(call, axes, view.rank)
        if gone is None or (gone == {1} and view.rank > 2 and call.api in ("beta1", "0.2")):
            return None  # up to 0.2 axis 1 could name the last of several (NKI-RED02)
        own = [k for k in _wide(view) if k not in gone]
        pairs = _along(target, own)
        if (pairs is None or _equal(view, target, pairs) is E.FALSE) and target.rank == view.rank:
            again = [(k, k) for k in range(view.rank)]  # the result is spread over the line again
            pairs = again if _equal(view, target, again) is not E.FALSE else pairs
        found = _match(view, target, own, pairs)
        return None if found is None else (gone, found)

    def line(call: Call, index: Index) -> Line | None:
        found = matched(call)
        at = None if found is None else found[1].at(index)
        if found is None or at is None:
            return None
        return tuple(None if k in found[0] else coordinate for k, coordinate in enumerate(at))

    def fits(call: Call) -> Bool:
        found = matched(call)
        return E.FALSE if found is None else found[1].fits

    return Folded(line, to, fits)


# ----------------------------------------------------------------------------- reads and writes


def streamed(
    role: str,
    to: str = "dst",
    *,
    where: Where = ALL,
    when: When = ALWAYS,
) -> Reads:
    """Computed upon, element by element."""
    return Reads(role=role, where=where, when=when, fate=_element(role, to))


def moved(role: str, to: str = "dst", *, where: Where = ALL, when: When = ALWAYS) -> Reads:
    """Copied or converted, element by element."""
    return Reads(role=role, where=where, when=when, fate=_element(role, to, moved=True))


def turned(role: str, to: str = "dst", *, when: When = ALWAYS) -> Reads:
    """Copied, rows for columns."""
    return Reads(role=role, when=when, fate=Carried(_turned(role, to), to, True))


def picked(role: str, to: str = "dst", *, where: Where = ALL) -> Reads:
    """Copied from wherever an index says."""
    return Reads(role=role, where=where, fate=Carried(lambda call, index: None, to, True))


def per_lane(role: str, to: str = "dst", *, when: When = ALWAYS) -> Reads:
    """Held in its lane while the data streams by."""
    return Reads(role=role, when=when, fate=Carried(_lane(role), to))


def received(role: str, sender: str, to: str = "dst") -> Reads:
    """Copied, element by element, from the core that the operand ``sender`` names."""
    return Reads(role=role, fate=replace(_element(role, to, moved=True), sender=sender))


def folded(
    role: str, to: str = "dst", *, where: Where = ALL, when: When = ALWAYS, kept: str = ""
) -> Reads:
    """All elements of a partition together; ``kept``: the registers that keep what they make."""
    return Reads(role=role, where=where, when=when, fate=Folded(_row(role), to, kept=kept))


def folded_so_far(role: str, to: str = "dst") -> Reads:
    """With each element all that stream by before it."""
    return Reads(role=role, fate=Folded(_row(role), to, prefix=True))


def folded_over(role: str, axes: str, to: str = "dst") -> Reads:
    """All elements along the axes that the operand ``axes`` names."""
    return Reads(role=role, fate=_over(role, to, axes))


def decides(role: str, why: str, *, where: Where = ALL, when: When = ALWAYS) -> Reads:
    return Reads(role=role, where=where, when=when, fate=Decides(why))


def written(*roles: str) -> tuple[Writes, ...]:
    """Overwritten as a whole, where they are given."""
    return tuple(Writes(role=role) for role in roles)


def filled(number: int | str) -> tuple[Writes, ...]:
    """One number everywhere in ``dst``: this one, or that of an operand."""
    return (Writes(role="dst", constant=number),)
