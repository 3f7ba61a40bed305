"""Reads of what was never written, and outputs that are not complete, on symbolic sizes."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from rules.memory.initialisation import uninitialised_reads, unwritten_outputs
from tests.memory.build import Kernel
from tests.memory.decide import TRN2, verdicts
from verifier.hardware.engines import Engine
from verifier.symbolic import expr as E
from verifier.symbolic.effects import SOME, Carried, Effect, Footprint, Reads, Writes
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.instruction import Engines, Instruction
from verifier.symbolic.tensors import Loop, LoopKind
from verifier.symbolic.trace import Assumption, AssumptionKind


@pytest.fixture(autouse=True)
def _context() -> None:
    E.fresh_context()


def size(name: str) -> Expr:
    return E.symbol(name, 1, None)


def divides(d: int, e: Expr) -> Bool:
    return E.eq(e % d, 0)


def row_buffer(columns: Expr, chunk: int) -> Kernel:
    """A buffer filled in chunks and read whole."""
    kernel = Kernel()
    source = kernel.input("source", (96, columns))
    buf = kernel.storage("buf", (96, columns))
    with kernel.loop("c", columns // chunk) as c:
        part = ((0, 96), (c * chunk, chunk))
        kernel.copy(kernel.view(buf, *part), kernel.view(source, *part))
    kernel.read(kernel.view(buf))
    return kernel


def test_a_rounded_down_loop_leaves_columns_unwritten() -> None:
    n = size("n")
    found = verdicts(uninitialised_reads, row_buffer(n, 256).trace, E.ge(n, 256))
    assert found == {"refuted": ["`buf` is read before all of it was written"]}


def test_a_divisible_size_is_written_whole() -> None:
    n = size("n")
    assert not verdicts(uninitialised_reads, row_buffer(n, 256).trace, divides(256, n))


def test_notes_say_what_is_written() -> None:
    n = size("n")
    (check,) = uninitialised_reads(row_buffer(n, 256).trace, TRN2)
    assert [note.text for note in check.notes] == [
        "only columns 0 to 256*(n // 256) - 1 are written here",
        "`buf` is allocated here",
    ]


def test_nothing_writes_it() -> None:
    kernel = Kernel()
    tile = kernel.storage("tile", (128, 8))
    kernel.read(kernel.view(tile))
    kernel.read(kernel.view(tile))  # said once
    found = verdicts(uninitialised_reads, kernel.trace)
    assert found == {"refuted": ["`tile` is read, but nothing writes it"]}


def test_a_write_of_a_later_iteration_does_not_count() -> None:
    n = size("n")
    kernel = Kernel()
    buf = kernel.storage("buf", (64, n))
    with kernel.loop("i", n) as i:
        kernel.read(kernel.view(buf, (0, 64), (i, 1)))
        kernel.write(kernel.view(buf, (0, 64), (i, 1)))
    assert "refuted" in verdicts(uninitialised_reads, kernel.trace)


def test_a_write_of_an_earlier_iteration_counts() -> None:
    n = size("n")
    kernel = Kernel()
    buf = kernel.storage("buf", (64, n))
    kernel.write(kernel.view(buf, (0, 64), (0, 1)))
    with kernel.loop("i", n - 1) as i:
        kernel.read(kernel.view(buf, (0, 64), (i, 1)))
        kernel.write(kernel.view(buf, (0, 64), (i + 1, 1)))
    assert not verdicts(uninitialised_reads, kernel.trace)


def test_a_tile_of_the_loop_body_is_new_in_each_iteration() -> None:
    n = size("n")
    kernel = Kernel()
    with kernel.loop("i", n) as i:
        tile = kernel.storage("tile", (64, 32))
        with kernel.when(E.eq(i, 0)):
            kernel.write(kernel.view(tile))
        kernel.read(kernel.view(tile))
    assert "refuted" in verdicts(uninitialised_reads, kernel.trace)


def test_a_list_of_tiles_is_read_after_the_loop_that_fills_it() -> None:
    n = size("n")
    kernel = Kernel()
    with kernel.loop("i", n):
        tile = kernel.storage("tile", (64, 32))
        kernel.write(kernel.view(tile))
    with kernel.loop("j", n) as j:
        kernel.read(kernel.view(tile, instance=(j,)))
    with kernel.loop("k", n + 1) as k:
        kernel.read(kernel.view(tile, (0, 64), (3, 4), instance=(k,)))
    found = verdicts(uninitialised_reads, kernel.trace)
    assert found == {"refuted": ["`tile` is read before all of it was written"]}


def test_both_branches_together_write_all() -> None:
    n = size("n")
    kernel = Kernel()
    tile = kernel.storage("tile", (128, 40))
    with kernel.when(E.lt(n, 5)):
        kernel.write(kernel.view(tile))
    with kernel.when(E.ge(n, 5)):
        kernel.write(kernel.view(tile, (0, 128), (0, 24)))
        kernel.write(kernel.view(tile, (0, 128), (24, 16)))
    kernel.read(kernel.view(tile))
    assert not verdicts(uninitialised_reads, kernel.trace)


def test_an_indirect_write_is_no_proof_and_no_refutation() -> None:
    kernel = Kernel()
    tile = kernel.storage("tile", (128, 40))
    kernel.write(kernel.view(tile, exact=False))
    kernel.read(kernel.view(tile))
    found = verdicts(uninitialised_reads, kernel.trace)
    assert list(found) == ["unknown"]


def test_adding_to_a_tile_reads_it() -> None:
    kernel = Kernel("beta1")
    tile = kernel.storage("tile", (128, 40))
    kernel.op("tensor_tensor", writes=[kernel.view(tile)], effect=Effect.ADDS)
    assert not verdicts(uninitialised_reads, kernel.trace)  # the sum is not used
    kernel.op("tensor_tensor", reads=[kernel.view(tile)])
    assert "refuted" in verdicts(uninitialised_reads, kernel.trace)


def test_a_predicated_copy_writes_perhaps() -> None:
    kernel = Kernel()
    tile = kernel.storage("tile", (128, 40))
    op = kernel.op("tensor_copy_predicated", writes=[kernel.view(tile)])
    op.instruction = Instruction(
        name=op.name,
        summary="copies where a condition says so",
        signatures={},
        roles=(),
        engines=Engines(Engine.VECTOR),
        footprint=Footprint(writes=(Writes(role="dst0", where=SOME),)),
    )
    kernel.read(kernel.view(tile))
    assert list(verdicts(uninitialised_reads, kernel.trace)) == ["unknown"]


def tiled_output(m: Expr, n: Expr, tm: int, tn: int) -> Kernel:
    kernel = Kernel()
    out = kernel.output("out", (m, n))
    with kernel.loop("i", m // tm) as i, kernel.loop("j", n // tn) as j:
        kernel.write(kernel.view(out, (i * tm, tm), (j * tn, tn)))
    kernel.returns(out)
    return kernel


def test_output_tiles() -> None:
    m, n = size("m"), size("n")
    trace = tiled_output(m, n, 128, 512).trace
    assert not verdicts(unwritten_outputs, trace, divides(128, m), divides(512, n))
    assert verdicts(unwritten_outputs, trace, divides(128, m)) == {
        "refuted": [
            "`out` is returned, but not all of it is written: only rows 0 to 128*(m // 128) - 1, "
            "columns 0 to 512*(n // 512) - 1 are stored"
        ]
    }


def test_output_with_a_ragged_tail() -> None:
    m = size("m")
    kernel = Kernel()
    out = kernel.output("out", (m, 48))
    with kernel.loop("i", (m + 127) // 128) as i:
        rows = E.minimum(128, m - i * 128)
        kernel.write(kernel.view(out, (i * 128, rows), (0, 48)))
    kernel.returns(out)
    assert not verdicts(unwritten_outputs, kernel.trace)


def test_output_of_a_masked_store() -> None:
    m = size("m")
    kernel = Kernel("beta1")
    out = kernel.output("out", (m, 48))
    with kernel.loop("i", (m + 127) // 128) as i:
        view = kernel.view(out, (i * 128, 128), (0, 48))
        mask = E.lt(view.coords[0], m)
        kernel.op("store", writes=[replace(view, mask=mask)])
    kernel.returns(out)
    assert not verdicts(unwritten_outputs, kernel.trace)


def test_output_in_two_steps_and_a_rest() -> None:
    m = size("m")
    kernel = Kernel()
    out = kernel.output("out", (m,))
    with kernel.loop("i", m // 100) as i:
        kernel.write(kernel.view(out, (i * 100, 100)))
    rest = m % 100
    with kernel.when(E.gt(rest, 0)):
        kernel.write(kernel.view(out, (m - rest, rest)))
    kernel.returns(out)
    assert not verdicts(unwritten_outputs, kernel.trace)


def test_all_program_instances_together_write_the_output() -> None:
    shards, m = size("shards"), size("m")
    span = Kernel._span(1)
    grid = Loop(
        E.symbol("pid", 0, None, E.Origin.GRID), shards, LoopKind.GRID, "program_id(0)", span
    )
    kernel = Kernel(grid=[grid])
    out = kernel.output("out", (m * shards, 30))
    kernel.write(kernel.view(out, (grid.index * m, m), (0, 30)))
    kernel.returns(out)
    assert not verdicts(unwritten_outputs, kernel.trace)


def test_nothing_is_stored() -> None:
    kernel = Kernel()
    out = kernel.output("out", (12, 30))
    kernel.returns(out)
    assert verdicts(unwritten_outputs, kernel.trace) == {
        "refuted": ["`out` is returned, but nothing is stored to it"]
    }


def patched(columns: Expr, where: Expr | None) -> Kernel:
    """A half that was written, copied with what is beside it; then, perhaps, the rest written."""
    kernel = Kernel()
    source = kernel.input("source", (96, 2 * columns))
    half = kernel.storage("half", (96, 2 * columns))
    both = kernel.storage("both", (96, 2 * columns))
    first = ((0, 96), (0, columns))
    kernel.copy(kernel.view(half, *first), kernel.view(source, *first))
    op = kernel.copy(kernel.view(both), kernel.view(half))
    op.instruction = Instruction(
        name=op.name,
        summary="copies",
        signatures={},
        roles=(),
        engines=Engines(Engine.VECTOR),
        footprint=Footprint(
            reads=(Reads(role="src0", fate=Carried(lambda call, index: index, "dst0")),),
            writes=(Writes(role="dst0"),),
        ),
    )
    if where is not None:
        rest = ((0, 96), (where, columns))
        kernel.copy(kernel.view(both, *rest), kernel.view(source, *rest))
    kernel.read(kernel.view(both))
    return kernel


def test_what_a_whole_write_carried_may_be_written_over_in_part() -> None:
    n = size("n")
    assert not verdicts(uninitialised_reads, patched(n, n).trace)


@pytest.mark.parametrize("again", [False, True])
def test_what_a_whole_write_carried_is_undefined_where_it_was(again: bool) -> None:
    kernel = patched(size("n"), E.const(0) if again else None)
    found = verdicts(uninitialised_reads, kernel.trace)
    assert found.get("refuted") == ["`half` is read before all of it was written"]


@pytest.mark.parametrize(("last", "whole"), [(2, True), (3, False)])
def test_branches_that_tell_three_cases_apart(last: int, whole: bool) -> None:
    kernel = Kernel()
    source = kernel.input("source", (96, 64))
    with kernel.loop("g", size("n")) as g:
        buf = kernel.storage("buf", (96, 64))
        for case in (E.eq(g, 0), E.eq(g, 1), E.ge(g, last)):
            with kernel.when(case):
                kernel.copy(kernel.view(buf), kernel.view(source))
        kernel.read(kernel.view(buf))
    assert (not verdicts(uninitialised_reads, kernel.trace)) is whole


def test_ends_of_what_is_written_are_the_last_ones() -> None:
    kernel = Kernel()
    out = kernel.output("out", (E.const(30), E.const(24)))
    kernel.write(kernel.view(out, (E.const(0), E.const(30)), (E.const(0), E.const(23))))
    kernel.returns(out)
    (check,) = unwritten_outputs(kernel.trace, TRN2)
    assert check.message.endswith("not all of it is written: only columns 0 to 22 are stored")


def test_elements_counted_from_the_start_are_no_dimension() -> None:
    kernel = Kernel()
    out = kernel.output("out", (E.const(30), E.const(24)))
    view = kernel.view(out, (E.const(0), E.const(30)), (E.const(0), E.const(12)))
    row, column = (axis.index for axis in view.axes)
    kernel.write(replace(view, frame=(E.const(720),), coords=(row * 24 + column * 2,)))
    kernel.returns(out)
    (check,) = unwritten_outputs(kernel.trace, TRN2)
    assert check.message.endswith(": only some of elements 0 to 718 are stored")


def test_what_a_condition_on_the_index_leaves_out_is_not_said_to_be_stored() -> None:
    kernel = Kernel()
    out = kernel.output("out", (E.const(512), E.const(24)))
    with kernel.loop("i", E.const(4)) as i, kernel.when(E.lt(i, 2)):
        kernel.write(kernel.view(out, (i * 128, E.const(128)), (E.const(0), E.const(24))))
    kernel.returns(out)
    (check,) = unwritten_outputs(kernel.trace, TRN2)
    assert check.message.endswith("not all of it is written")


@pytest.mark.parametrize(("wide", "some"), [(29, "some of "), (30, "")])
def test_gaps_between_the_steps_of_a_loop_are_told(wide: int, some: str) -> None:
    kernel = Kernel()
    out = kernel.output("out", (E.const(8), size("w")))
    with kernel.loop("i", E.floordiv(size("w"), 30)) as i:
        kernel.write(kernel.view(out, (E.const(0), E.const(8)), (i * 30, E.const(wide))))
    kernel.returns(out)
    (check,) = unwritten_outputs(kernel.trace, TRN2)
    assert f"only {some}columns 0 to 30*(w // 30) - " in check.message


def test_a_triangle_of_blocks_is_not_said_to_be_all_that_it_spans() -> None:
    kernel = Kernel()
    out = kernel.output("out", (size("n"), size("n")))
    with kernel.loop("i", E.floordiv(size("n"), 128)) as i, kernel.loop("j", i + 1) as j:
        kernel.write(kernel.view(out, (i * 128, E.const(128)), (j * 128, E.const(128))))
    kernel.returns(out)
    (check,) = unwritten_outputs(kernel.trace, TRN2)
    assert "stored" not in check.message


def test_sizes_that_are_demanded_to_be_numbers_are_told_as_numbers() -> None:
    kernel = Kernel()
    out = kernel.output("out", (E.const(384), E.const(100)))
    two = E.eq(size("programs"), 2)
    kernel.trace.assumptions.append(Assumption(two, "programs == 2", None, AssumptionKind.ASSERT))
    with kernel.loop("i", size("programs")) as i:
        kernel.write(kernel.view(out, (i * 128, E.const(128)), (E.const(0), E.const(100))))
    kernel.returns(out)
    (check,) = unwritten_outputs(kernel.trace, TRN2)
    assert check.message.endswith(": only rows 0 to 255 are stored")
