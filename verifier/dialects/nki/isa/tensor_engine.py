"""What the Tensor Engine does: products of matrices, and transpositions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from verifier.dialects.nki.isa.families import language
from verifier.dialects.nki.isa.shared import (
    FLOAT8,
    HALF,
    decides,
    engines,
    flag,
    for_tensor_engine,
    member,
    on_chip,
    scales,
    summed_in,
    switch,
    tile,
    turned,
    unless_set,
    wholes,
    words,
    written,
)
from verifier.dialects.nki.results import Product, Sum, Turned, TurnedByEngine
from verifier.hardware import dtypes as dt
from verifier.hardware.capabilities import Capability
from verifier.hardware.engines import Engine
from verifier.hardware.memories import Buffer
from verifier.symbolic import expr as E
from verifier.symbolic.effects import (
    Call,
    Effect,
    Folded,
    Footprint,
    Index,
    Line,
    Reads,
    When,
    Writes,
)
from verifier.symbolic.expr import Bool
from verifier.symbolic.instruction import Engines, Indirection, Instruction, Scratch, Trait
from verifier.symbolic.roles import Role, Since, Sized, Takes
from verifier.symbolic.streams import as_many, in_order
from verifier.symbolic.values import Enumerator


def _row_of_sum(call: Call, index: Index) -> Line | None:
    """Column ``m`` of stationary, over all partitions: row ``m`` of the product."""
    view, dst = call.view("stationary"), call.view("dst")
    if view is None or dst is None or not index:
        return None
    # the first free dimension may hold two rows, which are added up (NKI-MMU20)
    summed = 2 if view.rank == 3 and _double_row(call) else 1
    free = in_order(view.shape[summed:], dst.shape[:1], index[:1])
    return None if free is None else (*(None for _ in range(summed)), *free)


def _column_of_sum(call: Call, index: Index) -> Line | None:
    """Column ``n`` of moving, over all partitions: column ``n`` of the product."""
    view, dst = call.view("moving"), call.view("dst")
    if view is None or dst is None:
        return None
    summed = 2 if _double_row(call) else 1
    if as_many(view.shape[summed:], dst.shape[1:]) is not E.TRUE:
        return None
    free = in_order(view.shape[summed:], dst.shape[1:], index[1:])
    return None if free is None else (*(None for _ in range(summed)), *free)


def _double_row(call: Call) -> bool:
    return (member(call, "perf_mode") or "").startswith("double_row")


def _row_of_product(call: Call, index: Index) -> Line | None:
    view, transposed = call.view("x"), flag(call, "transpose_x")
    if view is None or view.rank != 2 or not index:
        return None
    if transposed is E.TRUE:
        return (None, index[0])
    # transposed first, by a product that sums over its rows where there is no other way
    row = index[0] if call.has(Capability.EXACT_TRANSPOSE) else None
    return (row, None) if transposed is E.FALSE else None


def _column_of_product(call: Call, index: Index) -> Line | None:
    view = call.view("y")
    return (None, *index[1:]) if view is not None and view.rank == len(index) else None


def _accumulates(call: Call) -> Effect | Bool | None:
    """What ``accumulate`` says (NKI-MMU25 to NKI-MMU28); Beta 1 sums with ``+=`` only."""
    if call.api == "beta1":
        return Effect.SETS
    if call.value("accumulate") is None:
        return Effect.FIRST_SETS
    adds = flag(call, "accumulate")
    if adds is E.TRUE:
        return Effect.ADDS
    return Effect.SETS if adds is E.FALSE else adds


def _transposing(call: Call) -> Engine:
    """From SBUF into PSUM it is the Tensor Engine, else the Vector Engine (NKI-N21)."""
    data, dst = call.view("data"), call.view("dst")
    engine = call.value("engine")
    if data is None or dst is None or not (engine is None or isinstance(engine, Enumerator)):
        return Engine.UNKNOWN
    tensor = data.buffer is Buffer.SBUF and dst.buffer is Buffer.PSUM
    return Engine.TENSOR if tensor else Engine.VECTOR


def _transposes(call: Call) -> Bool | None:
    """Whether a matmul moves its factor: the flag is but a hint where there is no such mode."""
    return flag(call, "is_transpose") if call.has(Capability.EXACT_TRANSPOSE) else E.FALSE


def _multiplies(call: Call) -> Bool | None:
    moves = _transposes(call)
    return None if moves is None else E.not_(moves)


def _by_product(call: Call) -> Bool | None:
    """Whether a transposition is a matmul with an identity, which sums what it moves."""
    if call.engine is Engine.UNKNOWN:
        return None
    return E.truth(call.engine is Engine.TENSOR and not call.has(Capability.EXACT_TRANSPOSE))


def _by_move(call: Call) -> Bool | None:
    product = _by_product(call)
    return None if product is None else E.not_(product)


def _row_of_transposed(role: str) -> Callable[[Call, Index], Line | None]:
    """Column ``m`` of what is multiplied by an identity: row ``m`` of the transposed."""

    def line(call: Call, index: Index) -> Line | None:
        view, dst = call.view(role), call.view("dst")
        if view is None or dst is None or view.rank < 2 or dst.rank != 2:
            return None
        free = in_order(view.shape[1:], dst.shape[:1], index[:1])
        return None if free is None else (None, *free)

    return line


def _transposed(role: str) -> tuple[Reads, ...]:
    """A transposition moves its operand, or multiplies it (NKI-TRN08, NKI-TRN10, NKI-H31)."""
    return (
        turned(role, when=When("it moves the elements", _by_move)),
        Reads(
            role=role,
            when=When("it is a product with an identity", _by_product),
            fate=Folded(_row_of_transposed(role)),
        ),
    )


def _factors(*facts: str) -> tuple[Role, ...]:
    """What is multiplied, and where the products are summed."""
    into = for_tensor_engine(*facts)
    return (tile("dst", summed_in(*facts)), tile("stationary", into), tile("moving", into))


#: NKI-H72
MULTIPLIES: Final = When("it is no transposition by a mode of its own", _multiplies)
TRANSPOSES: Final = When("is_transpose, where that is a mode of its own", _transposes)
_ACCUMULATE: Final = switch(
    "accumulate",
    "None: the first matmul into a location overwrites, later ones add",
    "NKI-MMU23",
)

NC_MATMUL: Final = Instruction(
    name="isa.nc_matmul",
    summary="dst (+)= stationary.T @ moving, contracted over the partitions, in float32",
    signatures={
        "beta1": (
            "stationary*, moving*, |, is_stationary_onezero=False, is_moving_onezero=False, "
            "is_transpose=False, tile_position=(), tile_size=(), perf_mode=None, mask=None, **"
        ),
        "0.2": (
            "dst*, stationary*, moving*, is_stationary_onezero=False, is_moving_onezero=False, "
            "is_transpose=False, tile_position=(), tile_size=(), "
            "perf_mode=matmul_perf_mode.none, name=None"
        ),
        "0.3": (
            "dst*, stationary*, moving*, is_stationary_onezero=False, is_moving_onezero=False, "
            "is_transpose=False, accumulate=None, tile_position=(), tile_size=(), "
            "perf_mode=matmul_perf_mode.none, name=None"
        ),
    },
    roles=(
        *_factors("NKI-MMU01", "NKI-BUF01"),
        # misnamed in SDK 2.27 (NKI-M037)
        Role(name="is_moving_onezero", takes=Takes.PLAIN, others=("is_moving_zero",)),
        switch("is_transpose", "stationary is transposed: moving is the identity"),
        _ACCUMULATE,
        wholes("tile_position"),
        wholes("tile_size"),
    ),
    engines=Engines(Engine.TENSOR),
    indirection=Indirection(
        operands=words("dst stationary moving"),
        source="stationary",
        lanes="NKI-TI11",
        dtypes=HALF | FLOAT8 | dt.codes("float8_e4m3fn"),
        unless=("is_transpose", "moving"),
        untiled="NKI-TI11",
    ),
    footprint=Footprint(
        reads=(
            Reads(role="stationary", when=MULTIPLIES, fate=Folded(_row_of_sum)),
            turned("stationary", when=TRANSPOSES),
            Reads(role="moving", when=MULTIPLIES, fate=Folded(_column_of_sum)),
            decides("moving", "it is the identity of a transposition", when=TRANSPOSES),
        ),
        writes=(Writes(role="dst", effect=_accumulates),),
    ),
    smallest=Since("0.2", "NKI-OLD03"),
    factors=("stationary", "moving"),
    result=Sum(),
    traits=frozenset({Trait.MATMUL, Trait.SUMS}),
)

NC_MATMUL_MX: Final = Instruction(
    name="isa.nc_matmul_mx",
    summary="dst (+)= stationary.T @ moving of packed elements, each group of them scaled",
    signatures={
        "0.2": (
            "dst*, stationary*, moving*, stationary_scale*, moving_scale*, tile_position=None, "
            "tile_size=None, name=None"
        ),
        "0.3": (
            "dst*, stationary*, moving*, stationary_scale*, moving_scale*, tile_position=None, "
            "tile_size=None, accumulate=None, name=None"
        ),
    },
    roles=(
        *_factors("NKI-MMX02", "NKI-BUF02"),
        tile(
            "stationary_scale", for_tensor_engine("NKI-MMX02", "NKI-BUF02"), own_start="NKI-MMX11"
        ),
        tile("moving_scale", for_tensor_engine("NKI-MMX02", "NKI-BUF02"), own_start="NKI-MMX11"),
        _ACCUMULATE,
        wholes("tile_position"),
        wholes("tile_size"),
    ),
    engines=Engines(Engine.TENSOR),
    needs=(Capability.MX_MATMUL, ("NKI-MMX01", "NKI-H82")),
    indirection=Indirection(
        operands=words("dst stationary moving stationary_scale moving_scale"),
        source="stationary",
        lanes="NKI-TI06",
        pairs=(("stationary", "stationary_scale"), ("moving", "moving_scale")),
        untiled="NKI-TI12",
    ),
    footprint=Footprint(
        reads=(
            Reads(role="stationary", fate=Folded(_row_of_sum)),
            Reads(role="moving", fate=Folded(_column_of_sum)),
            decides(
                "stationary_scale",
                "it scales what is summed",
                where=scales("stationary_scale", "stationary"),
            ),
            decides(
                "moving_scale", "it scales what is summed", where=scales("moving_scale", "moving")
            ),
        ),
        writes=(Writes(role="dst", effect=_accumulates),),
    ),
    traits=frozenset({Trait.MATMUL, Trait.SUMS, Trait.PACKED}),
)

NC_TRANSPOSE: Final = Instruction(
    name="isa.nc_transpose",
    summary="dst = data with partitions and free elements exchanged",
    signatures={
        "beta1": "data*, |, mask=None, dtype=None, engine=engine.unknown, **",
        "0.2": "dst*, data*, engine=engine.unknown, name=None",
    },
    roles=(
        tile(
            "dst",
            shape=Sized(
                "data",
                lambda data: data.free,
                lambda data: data.partitions,
                "the transposed shape of data",
                "NKI-TRN01",
            ),
        ),
        tile("data"),
    ),
    # asked for in vain before 0.4 (NKI-TRN07)
    engines=Engines(_transposing, engines("tensor vector"), "NKI-N21", unheeded=words("0.2 0.3")),
    footprint=Footprint(reads=_transposed("data"), writes=written("dst")),
    result=TurnedByEngine("data"),
    traits=frozenset({Trait.TURNS}),
    scratch=Scratch(
        "an identity matrix",
        ("NKI-B12", "NKI-E31"),
        "ask for `engine=nisa.vector_engine` (up to 32 by 32), or multiply by an identity matrix "
        "that is placed with `nisa.nc_matmul`",
        When(
            "the Vector Engine is not asked for",
            lambda call: E.truth(member(call, "engine") != "vector"),
        ),
    ),
)

LANGUAGE_MATMUL: Final = language(
    "matmul",
    "x @ y in PSUM",
    ("x*, y*, |, transpose_x=False, mask=None, **", "x*, y*, transpose_x=False"),
    tile("x"),
    tile("y"),
    switch("transpose_x", "x is given transposed, as the Tensor Engine takes it"),
    reads=(
        Reads(role="x", fate=Folded(_row_of_product)),
        Reads(role="y", fate=Folded(_column_of_product)),
    ),
    engine=Engine.TENSOR,
    factors=("x", "y"),
    result=Product(),
    traits=frozenset({Trait.SUMS}),
    scratch=Scratch(
        "x transposed",
        ("NKI-B12", "NKI-E31"),
        "give it x transposed, with `transpose_x=True`",
        unless_set("transpose_x"),
    ),
)

LANGUAGE_TRANSPOSE: Final = language(
    "transpose",
    "x with partitions and free elements exchanged",
    ("x*, |, dtype=None, mask=None, **", "x*, dtype=None"),
    tile("x", on_chip("NKI-L56")),
    reads=_transposed("x"),
    engine=Engine.TENSOR,
    result=Turned("x", Buffer.PSUM),
    traits=frozenset({Trait.TURNS}),
)

INSTRUCTIONS: Final = (
    NC_MATMUL,
    NC_MATMUL_MX,
    NC_TRANSPOSE,
    LANGUAGE_MATMUL,
    LANGUAGE_TRANSPOSE,
)
