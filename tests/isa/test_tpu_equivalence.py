"""The descriptions of TPU functions say what the tables said that they took the place of.

``frozen_tpu.json`` holds those tables as they were.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from verifier.dialects.okk import isa as okk
from verifier.dialects.okk.isa.control import ANSWERS, RETURNING
from verifier.dialects.ppl import isa as ppl
from verifier.dialects.signature import Parameter, parse
from verifier.hardware import dtypes as dt
from verifier.hardware.engines import Engine
from verifier.hardware.memories import Buffer
from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.instruction import Instruction, Trait
from verifier.symbolic.roles import Counted, Elements, Permuted, Role, Takes, Unit
from verifier.symbolic.tensors import Operand
from verifier.symbolic.trace import Operation

FROZEN: dict[str, Any] = json.loads((Path(__file__).parent / "frozen_tpu.json").read_text())
PPL: dict[str, Any] = FROZEN["ppl"]
OKK: dict[str, Any] = FROZEN["okk"]
SHORT = {name.removeprefix(ppl.PREFIX): i for name, i in ppl.INSTRUCTIONS.items()}


def access(instruction: Instruction, parameter: Parameter, first: bool) -> str:
    """What the tables called a parameter."""
    role = next((r for r in instruction.roles if r.name == parameter.name), None)
    if role is None or role.takes not in (Takes.TILE, Takes.TENSOR_OR_NUMBER):
        return ""
    reads = instruction.footprint.reads_of(role.name)
    if instruction.footprint.writes_of(role.name):
        return "rmw" if reads else "out?" if first and instruction.result else "out"
    return "vec" if role.takes is Takes.TENSOR_OR_NUMBER else "in"


def written(instruction: Instruction) -> list[str]:
    text = instruction.signatures["ppl"]
    assert text is not None
    found = []
    for position, p in enumerate(parse(instruction.name, "ppl", text).parameters):
        said = access(instruction, p, position == 0)
        name = "|" * p.keyword_only + p.name + (f":{said}" if said else "")
        found.append(name if p.default is None else f"{name} {p.default}")
    return found


#: a tensor may be the shift of a sum, and both numbers of `fscale` may be left out
_MENDED = {
    **dict.fromkeys(("tiu.add", "tiu.sub", "tiu.mul"), ("shift -100", "shift:vec -100")),
    "tiu.fscale": ("|scale:vec", "|scale:vec None"),
}


def test_ppl_signatures() -> None:
    assert SHORT.keys() == PPL["signatures"].keys()
    for name, parameters in PPL["signatures"].items():
        old, new = _MENDED.get(name, ("", ""))
        expected = [new if p == old else p for p in parameters]
        if name == "tiu.fscale":
            expected[-1] += " None"
        assert written(SHORT[name]) == expected, name


def test_ppl_names() -> None:
    for name, meant in PPL["aliases"].items():
        assert ppl.find(name) is SHORT[meant]
    for name, meant in PPL["of_package"].items():
        found = ppl.of_package(name)
        assert found is not None and found.name == f"ppl.{meant}", name
    for instruction in SHORT.values():
        for keyword, meant in PPL["other_names"].items():
            role = instruction.role(keyword)
            names = [r.name for r in instruction.roles]
            assert (role.name if role else None) == (meant if meant in names else None)


def test_ppl_chips() -> None:
    found: dict[str, list[str | None]] = {}
    for name, i in SHORT.items():
        if i.needs is not None:
            found[name] = [i.needs[0].name, *i.needs[1]]
        elif i.nowhere:
            found[name] = [None, i.nowhere]
    assert found == PPL["needs"]


def test_ppl_layouts() -> None:
    found = [
        [name, r.name, r.lies.layout, r.lies.fact]
        for name, i in SHORT.items()
        for r in i.roles
        if r.lies
    ]
    # of functions that gather along h a rule said it, which went by their names
    rows = [
        [f"dma.{name}_h", operand, "row-aligned", "TPU-F09"]
        for name in ("gather", "scatter")
        for operand in ("dst", "param")
    ]
    assert sorted(found) == sorted([*PPL["layouts"], *rows])


def shaped(kind: type) -> set[str]:
    return {n for n, i in SHORT.items() if any(isinstance(r.shape, kind) for r in i.roles)}


def test_ppl_shapes() -> None:
    repeats = {
        n
        for n, i in SHORT.items()
        if any(isinstance(r.shape, Elements) and r.shape.repeats for r in i.roles)
    }
    assert repeats - {"tiu.fadd_sqr", "tiu.fsub_sqr"} == {*PPL["broadcasting"], *PPL["copying"]}
    assert shaped(Elements) - repeats == set(PPL["same_shape"])
    assert shaped(Elements) == {f"tiu.{name}" for name in PPL["elementwise"]}
    assert shaped(Counted) == set(PPL["counted"])
    assert shaped(Permuted) == {*PPL["swap_cw"], *PPL["swap_nc"], *PPL["swap_chosen"]}


@pytest.mark.parametrize(
    ("trait", "tables"),
    [
        (Trait.POOLS, ["pools"]),
        (Trait.TRANSPOSED, ["transposed"]),
        (Trait.SECOND_PRODUCTS, ["second"]),
    ],
)
def test_ppl_traits(trait: Trait, tables: list[str]) -> None:
    expected = {name for table in tables for name in PPL[table]}
    assert {n for n, i in SHORT.items() if trait in i.traits} == expected


def test_ppl_windows() -> None:
    def having(trait: Trait) -> set[str]:
        found = {n for n, i in SHORT.items() if trait in i.traits}
        return found - set(PPL["transposed"])

    assert having(Trait.CONVOLVES) == set(PPL["convolutions"])
    assert having(Trait.DEPTHWISE) == set(PPL["depthwise"])


def outside(role: str) -> set[str]:
    return {
        n
        for n, i in SHORT.items()
        for r in i.roles
        if r.name == role and r.memories and len(r.memories.buffers) > 1
    }


def test_ppl_memories() -> None:
    assert outside("src") == {*PPL["loads"], *PPL["sdma"]}
    # `reduce` and the selections go to global memory, too
    others = {"dma.reduce", "dma.mask_select", "dma.nonzero"}
    assert outside("dst") == {*PPL["stores"], *PPL["sdma"], *others}


def test_every_role_of_a_footprint_is_described() -> None:
    for i in SHORT.values():
        footprint = i.footprint
        named = {r.role for r in footprint.reads} | {w.role for w in footprint.writes}
        assert named <= {r.name for r in i.roles}, i.name


# ----------------------------------------------------------------------------- OKK

FUNCTIONS = {i.short: i for i in okk.INSTRUCTIONS.values()}

_KINDS = {
    Takes.LOCAL_ADDRESS: "local",
    Takes.SYSTEM_ADDRESS: "system",
    Takes.CHOICE: "choice",
    Takes.QUAD: "dim4",
    Takes.PAIR: "dim2",
    Takes.PADDING: "padding",
    Takes.QUAD_OUT: "out",
    Takes.INTEGER: "int",
    Takes.NUMBER: "float",
    Takes.FLAG: "bool",
    Takes.WORD: "x32",
    Takes.HALF_WORD: "x16",
    Takes.BYTE: "x8",
}
#: the tables had a flag that decides about a read in the place of a condition
_FLAGS = {"bias": "using_bias", "output": "result_add"}


def kind(role: Role) -> str:
    null = role.optional and role.takes is not Takes.QUAD_OUT
    return f"{role.parameter or role.name} {_KINDS[role.takes]}{' null' * null}"


def touched(instruction: Instruction, role: Role) -> str:
    """Access and flag, as the tables had them."""
    reads = instruction.footprint.reads_of(role.name)
    writes = instruction.footprint.writes_of(role.name)
    if any(write.destroys for write in writes):
        return "d -"
    flagged = any(read.when.text for read in reads)
    call = Operation(
        name=instruction.name,
        operands={name: Operand(name, E.TRUE, SPAN) for name in _FLAGS.values()},
        span=SPAN,
        api="okk",
        loops=(),
        path=(),
        order=0,
    )
    flagged |= any(write.effect(call) is E.TRUE for write in writes)
    read = "r" if reads else ""
    return f"{read}{'w' * bool(writes)} {_FLAGS[role.name] if flagged else '-'}"


SPAN = Span("kernel.py", 1, 0, 1, 0)


@pytest.mark.parametrize("name", OKK["operations"])
def test_okk_functions(name: str) -> None:
    row, instruction = OKK["operations"][name], FUNCTIONS[name]
    assert instruction.facts == (row["fact"],)
    assert instruction.engines.default is Engine(row["engine"])
    assert [kind(role) for role in instruction.roles] == row["parameters"]
    tensors = [role for role in instruction.roles if role.placed]
    for role, text in zip(tensors, row["tensors"], strict=True):
        short, parameter, access, flag, dtype, space, layout, shape, stride = text.split()
        assert role.placed is not None and role.memories is not None
        assert (role.name, role.parameter) == (short, parameter)
        assert touched(instruction, role) == f"{access} {flag}"
        assert role.placed.dtype == dtype
        assert (role.memories.buffers == (Buffer.LOCAL,)) == (space == "local")
        # `words` was `as_words`, and the layouts of packed operands stood with their shapes
        packed = {"4n": "4n", "2n": "2n"}.get(shape, layout)
        packed = layout if layout == "chosen" else packed
        assert role.placed.layout == ("words" if packed == "as_words" else packed)
        assert (role.placed.strides or "-") == stride


def test_okk_functions_are_all_described() -> None:
    assert FUNCTIONS.keys() == OKK["operations"].keys()
    answers = {i.short: i for i in (*ANSWERS, *RETURNING)}
    assert answers.keys() == OKK["answers"].keys()
    for name, row in OKK["answers"].items():
        assert [kind(role) for role in answers[name].roles] == row["parameters"]
        assert answers[name].facts == (row["fact"],)
    assert sorted(okk.all_names()) == sorted(OKK["names"])


def test_okk_alignment() -> None:
    units = {Unit.ELEMENT: 0, Unit.WORD: 4, Unit.PAIR: 8, Unit.ROW: 128}
    for place, (unit, fact) in OKK["units"].items():
        name, short, how = place.split(".")
        role = next(r for r in FUNCTIONS[name].roles if r.name == short)
        assert role.placed is not None
        wanted = role.placed.unit
        if wanted is Unit.ROW_UNLESS_STRIDED:
            wanted = Unit.WORD if how == "given" else Unit.ROW
        size = units[wanted] or dt.ITEMSIZE[dt.CODES[role.placed.dtype]]
        assert (size, role.placed.fact) == (unit, fact), place


def test_okk_classes() -> None:
    def having(trait: Trait) -> set[str]:
        return {n for n, i in FUNCTIONS.items() if trait in i.traits}

    windows = having(Trait.CONVOLVES) | having(Trait.DEPTHWISE) | having(Trait.POOLS)
    assert windows == set(OKK["windows"])
    assert having(Trait.POOLS) == set(OKK["pools"])
    laid = {n: {r.placed.layout for r in i.roles if r.placed} for n, i in FUNCTIONS.items()}
    matrices = {n for n, layouts in laid.items() if "matrix" in layouts}
    assert matrices == {*OKK["matrix_transfers"], "bdc_matmul"}
    assert {n for n, layouts in laid.items() if "chosen" in layouts} == set(OKK["conversions"])
    columns = [
        [i.name, r.name, r.placed.columns]
        for i in FUNCTIONS.values()
        for r in i.roles
        if r.placed and r.placed.columns
    ]
    assert sorted(columns) == sorted(OKK["columns"])


def test_okk_limits() -> None:
    limits = {(n, r.name): r.value for n, i in FUNCTIONS.items() for r in i.roles if r.value}
    series = {n for n, role in limits if role == "num_series"}
    assert series == set(OKK["series"])
    for name, (most, fact) in OKK["shifts"].items():
        found = limits[name, "C"]
        assert (found.least, found.most, found.fact) == (-most, most, fact)
    for name, i in FUNCTIONS.items():
        apart = [r.apart for r in i.roles if r.apart]
        assert all((each.roles == ("dst",)) == (name in OKK["result_only"]) for each in apart)
    together = {n: i.lanes.roles for n, i in FUNCTIONS.items() if i.lanes and i.lanes.roles}
    assert together == {name: tuple(roles) for name, roles in OKK["together"].items()}


@pytest.mark.parametrize("name", OKK["kinds"])
@pytest.mark.parametrize(("position", "signed"), [(0, None), (1, True), (2, False)])
def test_okk_packed_types(name: str, position: int, signed: bool | None) -> None:
    kind_, fact = OKK["kinds"][name]
    role = FUNCTIONS[f"bdc_fixed_point_packed_{name}"].role("op_type")
    assert role is not None and role.codes is not None
    operand = Operand("is_origin_dst_signed", signed, SPAN)
    call = Operation(
        name=name,
        operands={operand.role: operand},
        span=SPAN,
        api="okk",
        loops=(),
        path=(),
        order=0,
    )
    assert sorted(role.codes.admitted(call)) == OKK["typed"][kind_][position]
    assert role.codes.facts[0] == fact
