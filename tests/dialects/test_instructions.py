"""Operations and results of device calls, in both styles."""

from __future__ import annotations

import pytest

from tests.dialects.fake import SPAN, FakeMachine, dialect, name_of, run, sizes
from verifier.dialects.nki import host
from verifier.dialects.nki.isa import INSTRUCTIONS
from verifier.dialects.nki.signatures import lookup, table
from verifier.dialects.nki.versions import GENERATIONS
from verifier.hardware.engines import Engine
from verifier.hardware.memories import Buffer
from verifier.symbolic import expr as E
from verifier.symbolic.effects import Effect
from verifier.symbolic.tensors import LoopKind, Mark, StorageKind, View
from verifier.symbolic.values import ApiRef, Enumerator, Opaque, Register, SliceValue


@pytest.mark.parametrize("generation", GENERATIONS)
def test_every_signature_has_a_description(generation: str) -> None:
    described = INSTRUCTIONS.keys() | host.HANDLERS.keys()
    assert not set(table(generation)) - described


def test_descriptions_name_parameters_that_exist() -> None:
    for instruction in INSTRUCTIONS.values():
        known: set[str] = {"dst"}
        for generation in GENERATIONS:
            signature = lookup(instruction.name, generation)
            if signature is not None:
                known |= set(signature.names)
        if instruction.signatures:
            for role in instruction.roles:
                assert role.name in known, (instruction.name, role.name)


def test_matmul_into_a_destination() -> None:
    machine = FakeMachine("0.3")
    a, b = machine.tile(96, 64, dtype="bfloat16"), machine.tile(96, 320, dtype="bfloat16")
    out = machine.tile(64, 320, buffer=Buffer.PSUM)
    run(machine, "isa.nc_matmul", out, a, moving=b)
    operation = machine.last
    assert operation.name == "isa.nc_matmul"
    assert [name for name, _ in operation.reads] == ["stationary", "moving"]
    assert operation.view("dst") is not None and operation.engine is Engine.TENSOR
    assert operation.effect is Effect.FIRST_SETS
    assert operation.value("perf_mode") == Enumerator("matmul_perf_mode", "none")
    run(machine, "isa.nc_matmul", out, a, b, accumulate=True)
    assert machine.last.effect is Effect.ADDS
    run(machine, "isa.nc_matmul", out, a, b, accumulate=E.bool_symbol("later"))
    later: object = machine.last.effect
    assert later is E.bool_symbol("later")
    assert not machine.checks and not machine.missing


def test_beta1_matmul_returns_a_psum_tile() -> None:
    machine = FakeMachine("beta1")
    a, b = machine.tile(96, 64, dtype="bfloat16"), machine.tile(96, 320, dtype="bfloat16")
    result = run(machine, "isa.nc_matmul", a, b)
    assert sizes(result) == (64, 320)
    assert isinstance(result, View)
    assert result.buffer is Buffer.PSUM and result.dtype.name == "float32"
    assert machine.last.view("dst") is not None
    acc = machine.tile(64, 320, buffer=Buffer.PSUM)
    dialect.store(machine, acc, result, "+", SPAN, SPAN)
    assert machine.last.name == "language.assign" and machine.last.effect is Effect.ADDS
    assert isinstance(result.storage.marks[Mark.FORWARDED], View)


@pytest.mark.parametrize(
    ("x", "y", "transpose", "expected"),
    [((64, 96), (64, 200), True, (96, 200)), ((64, 96), (96, 200), False, (64, 200))],
)
def test_nl_matmul(
    x: tuple[int, int], y: tuple[int, int], transpose: bool, expected: tuple[int, int]
) -> None:
    machine = FakeMachine("beta1")
    result = run(
        machine, "language.matmul", machine.tile(*x), machine.tile(*y), transpose_x=transpose
    )
    assert sizes(result) == expected


def test_load_add_store() -> None:
    machine = FakeMachine("beta1")
    source = machine.tile(100, 300, dtype="float16", buffer=Buffer.HBM)
    a = run(machine, "language.load", source)
    b = run(machine, "language.load", source, dtype=name_of(machine, "language.float32"))
    assert isinstance(a, View) and isinstance(b, View)
    assert (a.buffer, a.dtype.name, b.dtype.name) == (Buffer.SBUF, "float16", "float32")
    total = dialect.operator(machine, "+", a, b, SPAN)
    assert sizes(total) == (100, 300) and machine.last.name == "language.add"
    assert isinstance(total, View) and total.dtype.name == "float32"
    target = machine.tile(100, 300, buffer=Buffer.SHARED_HBM)
    assert isinstance(run(machine, "language.store", target, value=total), Opaque)
    assert [name for name, _ in machine.last.writes] == ["dst"]
    assert [name for name, _ in machine.last.reads] == ["value"]


def test_column_operands_stretch() -> None:
    machine = FakeMachine("beta1")
    result = dialect.operator(machine, "*", machine.tile(64, 200), machine.tile(64, 1), SPAN)
    assert sizes(result) == (64, 200)
    half = dialect.operator(machine, "*", 0.5, machine.tile(7, 9, dtype="int8"), SPAN)
    assert isinstance(half, View) and half.dtype.name == "float32"


@pytest.mark.parametrize(
    ("shape", "axis", "keepdims", "expected"),
    [
        ((64, 200), 1, False, (64, 1)),
        ((64, 200), -1, True, (64, 1)),
        ((64, 4, 50), 2, False, (64, 4)),
        ((64, 4, 50), [1, 2], False, (64, 1)),
        ((64, 4, 50), (1, 2), True, (64, 1, 1)),
    ],
)
def test_reductions(
    shape: tuple[int, ...], axis: object, keepdims: bool, expected: tuple[int, ...]
) -> None:
    machine = FakeMachine("beta1")
    result = run(machine, "language.sum", machine.tile(*shape), axis=axis, keepdims=keepdims)
    assert sizes(result) == expected


def test_results_of_beta1_instructions() -> None:
    machine = FakeMachine("beta1")
    data = machine.tile(48, 256, dtype="bfloat16")
    op = name_of(machine, "language.exp")
    assert sizes(run(machine, "isa.activation", op, data)) == (48, 256)
    assert machine.last.value("op") == Enumerator("op", "exp")
    assert sizes(run(machine, "isa.bn_stats", data)) == (48, 6)
    assert sizes(run(machine, "isa.max8", src=data)) == (48, 8)
    transposed = run(machine, "isa.nc_transpose", data)
    assert sizes(transposed) == (256, 48) and machine.last.engine is Engine.TENSOR
    assert isinstance(transposed, View) and transposed.buffer is Buffer.PSUM
    assert sizes(run(machine, "isa.tensor_copy", data)) == (48, 256)
    column = machine.tile(48, 1)
    scan = run(machine, "isa.tensor_tensor_scan", data, data, column, op0=op, op1=op)
    assert sizes(scan) == (48, 256)
    assert [name for name, _ in machine.last.reads] == ["data0", "data1", "initial"]
    zero = run(machine, "isa.memset", (16, 24), 0.0, name_of(machine, "language.bfloat16"))
    assert sizes(zero) == (16, 24)
    assert not machine.checks and not machine.missing


def test_allocation() -> None:
    machine = FakeMachine("beta1")
    rows = run(machine, "language.par_dim", 128)
    psum = name_of(machine, "language.psum")
    dtype = name_of(machine, "language.float32")
    blocks = run(machine, "language.zeros", (E.const(3), rows, E.const(512)), dtype, buffer=psum)
    assert isinstance(blocks, View)
    assert blocks.storage.partition_axis == 1 and blocks.storage.initialised
    run(machine, "language.zeros", (128, 64), dtype)
    assert machine.last.name == "language.zeros"
    machine = FakeMachine("0.6")
    placed = run(
        machine,
        "language.ndarray",
        (E.const(64), E.const(10)),
        name_of(machine, "language.bfloat16"),
        address=(0, 4096),
        name="weights",
    )
    assert isinstance(placed, View)
    assert placed.storage.address == (E.const(0), E.const(4096)) and placed.name == "weights"


def test_modular_placement_keeps_its_values() -> None:
    machine = FakeMachine("beta1")
    buffer = run(machine, "compiler.sbuf.mod_alloc", base_addr=1024, num_free_tiles=(2,))
    tile = run(
        machine, "language.ndarray", (128, 32), name_of(machine, "language.float32"), buffer=buffer
    )
    assert isinstance(tile, View)
    placement = tile.storage.placement
    assert placement["allocator"] == "mod_alloc"
    assert placement["base_addr"] is E.const(1024)
    assert placement["num_free_tiles"] == (E.const(2),)


def test_masks_restrict_reads_and_writes() -> None:
    machine = FakeMachine("beta1")
    n = E.symbol("n", 1, 500)
    grid = dialect.api_subscript(
        machine,
        name_of(machine, "language.mgrid"),  # type: ignore[arg-type]
        (SliceValue(None, E.const(128), None), SliceValue(None, E.const(512), None)),
        SPAN,
    )
    i_p, i_f = grid.parts  # type: ignore[attr-defined]
    tensor = machine.tile(128, n, buffer=Buffer.HBM)
    mask = dialect.operator(machine, "<", i_f, n, SPAN)
    view = dialect.subscript(machine, tensor, (i_p, i_f), SPAN)
    loaded = run(machine, "language.load", view, mask=mask)
    assert sizes(loaded) == (128, 512)
    assert machine.last.reads[0][1].mask is not E.TRUE
    assert machine.last.writes[0][1].mask is not E.TRUE
    assert isinstance(loaded, View) and loaded.mask is E.TRUE


def test_registers_and_loops() -> None:
    machine = FakeMachine("0.6")
    register = run(machine, "isa.register_alloc")
    assert isinstance(register, Register)
    run(machine, "isa.register_load", register, machine.tile(1, 1, dtype="int32"))
    assert machine.last.reads[0][0] == "src"
    loop = run(machine, "language.fori_loop", 0, register, "body")
    assert getattr(loop, "body", None) == "body" and machine.ledger
    bounds = run(machine, "language.affine_range", 2, 10)
    assert getattr(bounds, "kind", None) is LoopKind.AFFINE


def test_something_else_than_a_tile_is_reported() -> None:
    machine = FakeMachine("0.3")
    run(
        machine,
        "isa.tensor_tensor",
        machine.tile(4, 4),
        machine.tile(4, 4),
        2.0,
        op=Enumerator("op", "add"),
    )
    assert [check.rule for check in machine.checks] == ["api-signature"]


def test_constant_arrays_of_the_host() -> None:
    machine = FakeMachine("beta1")
    assert dialect.external("numpy.identity") == ApiRef("numpy.identity", "beta1")
    array = run(machine, "numpy.identity", 64)
    constant = run(
        machine, "language.shared_constant", array, dtype=name_of(machine, "language.bfloat16")
    )
    assert isinstance(constant, View) and sizes(constant) == (64, 64)
    assert constant.dtype.name == "bfloat16" and constant.buffer is Buffer.SHARED_HBM
    assert constant.storage.kind is StorageKind.CONSTANT and not machine.operations


def test_a_loaded_column_has_two_dimensions() -> None:
    machine = FakeMachine("beta1")
    column = machine.tile(96, buffer=Buffer.HBM)
    assert sizes(run(machine, "language.load", column)) == (96, 1)
    assert machine.last.reads[0][1].rank == 2


def test_broadcast_over_partitions_makes_a_copy() -> None:
    machine = FakeMachine("beta1")
    row = machine.tile(1, 200)
    spread = run(machine, "language.broadcast_to", row, shape=(64, 200))
    assert sizes(spread) == (64, 200) and machine.last.name == "language.broadcast_to"
    column = machine.tile(64, 1)
    run(machine, "language.broadcast_to", column, shape=(64, 200))
    assert len(machine.operations) == 1


@pytest.mark.parametrize("mode", ["double_row_gen3", Enumerator("matmul_perf_mode", "double_row")])
def test_beta1_double_row_adds_up_the_two_rows(mode: object) -> None:
    machine = FakeMachine("beta1")
    a = machine.tile(96, 2, 40, dtype="float8_e4m3")
    b = machine.tile(96, 2, 312, dtype="float8_e4m3")
    assert sizes(run(machine, "isa.nc_matmul", a, b, perf_mode=mode)) == (40, 312)
    assert sizes(run(machine, "isa.nc_matmul", a, b)) == (80, 2, 312)
