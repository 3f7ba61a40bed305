"""The descriptions say what the tables said that they took the place of: nothing was lost.

``frozen.json`` holds those tables as they were.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from verifier.dialects.nki import isa
from verifier.dialects.nki.isa import INSTRUCTIONS
from verifier.dialects.nki.signatures import table
from verifier.dialects.nki.versions import GENERATIONS
from verifier.hardware import dtypes as dt
from verifier.hardware.engines import Engine
from verifier.hardware.targets import first_with
from verifier.symbolic.instruction import Instruction, Trait
from verifier.symbolic.roles import In, PerPartition, Role, SameType, Streams, Takes, Types

FROZEN: dict[str, Any] = json.loads((Path(__file__).parent / "frozen.json").read_text())


def described(name: str) -> Instruction:
    found = isa.find(name)
    assert found is not None, name
    return found


def role(name: str, parameter: str) -> Role:
    found = described(name).role(parameter)
    assert found is not None, (name, parameter)
    return found


def short(fact: str) -> str:
    return fact.removeprefix("NKI-")


@pytest.mark.parametrize("generation", GENERATIONS)
def test_signatures(generation: str) -> None:
    known = table(generation)
    for name, text in FROZEN["signatures"][generation].items():
        assert known[name] == text
    assert (
        not {n for n in known if n in INSTRUCTIONS}
        - FROZEN["signatures"][generation].keys()
        - {
            f"language.{name}"
            for name in ("zeros", "ones", "full", "rand", "zeros_like", "shared_identity_matrix")
        }
    )


def access(instruction: Instruction, given: Role) -> str:
    """What the tables called a parameter."""
    reads = bool(instruction.footprint.reads_of(given.name))
    writes = instruction.footprint.writes_of(given.name)
    if given.takes is Takes.TILES:
        return "ins" if reads else "outs"
    if given.takes is Takes.VECTOR:
        return "vec"
    if writes:
        return "rmw" if reads else "inout" if any(write.keeps for write in writes) else "out"
    return "in" if reads else "sync"


#: what the tables before did not say: the rest of it keeps what it was (NKI-NZC04)
NEW_ROLES = {"isa.nonzero_with_count": {"dst": "inout"}}


def test_roles() -> None:
    for name, before in FROZEN["roles"].items():
        roles = before | NEW_ROLES.get(name, {})
        instruction = described(name)
        tiles = (Takes.TILE, Takes.VECTOR, Takes.TILES)
        found = {r.name: access(instruction, r) for r in instruction.roles if r.takes in tiles}
        assert found == roles, name


def test_operators_are_read_as_operators() -> None:
    parameters = ["op", "op0", "op1", "reduce_op", "cmp_op", "comp_op0", "comp_op1", "dst_rmw_op"]
    for name in FROZEN["roles"]:
        for generation in GENERATIONS:
            text = table(generation).get(name, "")
            for part in text.split(", "):
                parameter = part.partition("=")[0].rstrip("*")
                if parameter in parameters:
                    assert role(name, parameter).takes is Takes.OPERATOR, (name, parameter)


def test_engines() -> None:
    for name, engine in FROZEN["engine"].items():
        default = described(name).engines.default
        if engine == "?":
            assert callable(default) or default is Engine.UNKNOWN
        else:
            assert default is Engine(engine)
    for name, (asked, fact) in FROZEN["engines"].items():
        engines = described(name).engines
        assert (
            engines.on_request == {*map(Engine, asked)} - {Engine.UNKNOWN}
            and short(engines.fact) == fact
        )


def test_memories() -> None:
    for name, row in FROZEN["memories"].items():
        for parameter, buffers in row["roles"].items():
            found = role(name, parameter).memories
            assert isinstance(found, In)
            assert [buffer.value for buffer in found.buffers] == buffers
            assert short(found.facts[-1]) == row["fact"]
    bare = {n for n, i in INSTRUCTIONS.items() if not any(r.memories for r in i.roles)}
    assert not bare & FROZEN["memories"].keys()
    extra = {n for n in INSTRUCTIONS if n not in bare} - FROZEN["memories"].keys()
    # those of matmuls and of collectives were in the code of rules of their own
    extra = {n for n in extra if not described(n).traits & {Trait.MATMUL, Trait.COLLECTIVE}}
    # of these nothing was said
    extra -= {"isa.tensor_copy_dynamic_src", "isa.tensor_copy_dynamic_dst", "isa.rand_set_state"}
    assert all(n.startswith("language.") for n in extra)
    hbm = role("language.atomic_rmw", "dst").memories
    assert hbm is not None and hbm.facts == ("NKI-L74",)
    extra.remove("language.atomic_rmw")
    for name in extra:
        on_chip = {r.name for r in described(name).roles if r.memories}
        assert on_chip == {"x", "y", "condition"} & {r.name for r in described(name).roles}
        assert name not in FROZEN["language_off_chip"]


def test_start_partitions() -> None:
    found = {
        name: sorted(r.name for r in i.roles if r.own_start)
        for name, i in INSTRUCTIONS.items()
        if any(r.own_start for r in i.roles)
    }
    assert found == FROZEN["own_start"]


def test_one_input_in_psum() -> None:
    found = {
        name: [*i.one_psum_input[:2], short(i.one_psum_input[2])]
        for name, i in INSTRUCTIONS.items()
        if i.one_psum_input
    }
    assert found == FROZEN["one_psum_input"]


def each_role(field: str) -> dict[tuple[str, str], Any]:
    return {
        (name, r.name): value
        for name, i in INSTRUCTIONS.items()
        for r in i.roles
        if (value := getattr(r, field)) is not None
    }


#: element types that the tables before said nothing of
NEW_ELEMENT_TYPES = {
    ("isa.affine_select", "on_true_tile"),
    ("collectives.all_gather_v", "metadata_tensor"),
    ("collectives.all_to_all_v", "metadata_tensor"),
    *(("isa.exponential", role) for role in ("max_value", "reduce_init")),
    *(("isa.rand2", role) for role in ("max", "min")),
    *(("isa.tensor_scalar_cumulative", role) for role in ("imm0", "imm1")),
    ("isa.tensor_scalar_reduce", "reduce_init"),
    ("isa.dropout", "prob"),
}


def test_element_types() -> None:
    found = each_role("dtypes")
    assert set(found) == {(name, role) for name, role, *_ in FROZEN["dtypes"]} | NEW_ELEMENT_TYPES
    for name, parameter, admitted, words, fact, since in FROZEN["dtypes"]:
        types = found[name, parameter]
        assert isinstance(types, Types)
        assert sorted(dt.NAMES[code] for code in types.codes) == admitted, (name, parameter)
        assert (types.words, short(types.fact), types.since or "beta1") == (words, fact, since)


def test_equal_element_types() -> None:
    found = each_role("same_dtype")
    assert len(found) == len(FROZEN["same_dtype"])
    for name, first, second, fact, since in FROZEN["same_dtype"]:
        same = found[name, second]
        assert isinstance(same, SameType)
        assert (same.role, short(same.fact), same.since or "beta1") == (first, fact, since)


def test_operators() -> None:
    found = {
        (name, o.role): (sorted(o.admitted), short(o.facts[0]))
        for name, i in INSTRUCTIONS.items()
        for o in i.operators
    }
    # no table said what a step of reading, folding and writing in HBM folds with
    assert found.pop(("language.atomic_rmw", "op")) == (["add"], "L74")
    assert found == {(n, r): (a, fact) for n, r, a, fact in FROZEN["operators"]}


def test_commands() -> None:
    found = {n: i.commands for n, i in INSTRUCTIONS.items() if i.commands is not None}
    commands = {n: [sorted(c.admitted), short(c.fact)] for n, c in found.items()}
    # NKI-RSL09 is about the order of accumulating calls, which no rule enforces
    commands["isa.range_select"][1] = "RSL09"
    assert commands == FROZEN["commands"]
    assert {n: c.initial for n, c in found.items() if c.initial} == FROZEN["initial"]


def test_features() -> None:
    found = {
        n: [first_with(i.needs[0]).generation, [short(fact) for fact in i.needs[1]]]
        for n, i in INSTRUCTIONS.items()
        if i.needs is not None
    }
    assert found == FROZEN["first"]


#: rows whose shape has a rule of its own; free sizes are equal for another reason then
_OWN_ROWS = {"isa.dropout", "isa.range_select"}


def test_shapes() -> None:
    found = each_role("shape")
    streams: dict[str, list[Any]] = {}
    vectors: dict[str, list[Any]] = {}
    for (name, parameter), shape in found.items():
        if isinstance(shape, Streams):
            assert shape.of == "dst"
            streams.setdefault(name, [short(shape.fact), []])[1].append(parameter)
        elif isinstance(shape, PerPartition):
            rows = vectors.setdefault(name, [shape.of, []])[1]
            rows.append([parameter, short(shape.fact)])
            assert shape.rank == (2 if parameter == "bias" else None)
    for name, (fact, roles) in FROZEN["streams"].items():
        expected = "H53" if name in _OWN_ROWS else fact
        assert streams.pop(name) == [expected, roles], name
    # no table said that copies by registers have equal partitions and free sizes, too
    for side in ("src", "dst"):
        assert streams.pop(f"isa.tensor_copy_dynamic_{side}") == ["OLD01", ["src"]]
    assert not streams
    # no table said that bounds of random numbers may be one per partition
    assert vectors.pop("isa.rand2") == ["dst", [["min", "RND02"], ["max", "RND02"]]]
    for name, (data, rows) in FROZEN["vectors"].items():
        of, given = vectors.pop(name)
        assert of == data and sorted(given) == sorted(rows), name
    assert not vectors


def test_traits() -> None:
    def having(*traits: Trait) -> set[str]:
        return {n for n, i in INSTRUCTIONS.items() if i.traits & set(traits)}

    assert having(Trait.DMA) == set(FROZEN["dma"])
    assert having(Trait.DMA, Trait.NO_LANES) == set(FROZEN["not_compute"]) & INSTRUCTIONS.keys()
    assert having(Trait.MATMUL) == {"isa.nc_matmul", "isa.nc_matmul_mx"}


def test_what_to_write_instead() -> None:
    for name, i in INSTRUCTIONS.items():
        assert i.instead == FROZEN["instead"].get(name, "")
        if None in i.signatures.values() or i.instead:
            assert [short(fact) for fact in i.removal] == FROZEN["removal_facts"].get(
                name, ["M024"]
            )


def test_every_role_of_a_footprint_is_described() -> None:
    for i in INSTRUCTIONS.values():
        footprint = i.footprint
        named = {r.role for r in footprint.reads} | {w.role for w in footprint.writes}
        assert named <= {r.name for r in i.roles}, i.name
