"""Tails, dependences, accumulation, capacity, addresses and outputs on hand-built traces."""

from __future__ import annotations

import pytest

from rules.memory.accumulation import accumulation_protocol
from rules.memory.addresses import address_overlap
from rules.memory.capacity import psum_banks, sbuf_capacity
from rules.memory.dependence import carried_dependences
from rules.memory.initialisation import unwritten_outputs
from rules.memory.outputs import output_buffers, some_output
from rules.memory.tails import dropped_tails, oversized_tiles
from tests.memory.build import Kernel
from tests.memory.decide import verdicts
from verifier.hardware.memories import Buffer
from verifier.hardware.targets import TARGETS
from verifier.symbolic import expr as E
from verifier.symbolic.effects import Effect
from verifier.symbolic.expr import Expr
from verifier.symbolic.tensors import Loop, LoopKind


@pytest.fixture(autouse=True)
def _context() -> None:
    E.fresh_context()


def size(name: str) -> Expr:
    return E.symbol(name, 1, None)


# ------------------------------------------------------------------------------------- tails


def contraction(k: Expr, tail: bool = False) -> Kernel:
    kernel = Kernel()
    left = kernel.input("left", (k, 64))
    out = kernel.output("out", (64, 64))
    acc = kernel.storage("acc", (64, 64), Buffer.PSUM)
    with kernel.loop("s", k // 128) as s:
        tile = kernel.storage("tile", (128, 64))
        kernel.copy(kernel.view(tile), kernel.view(left, (s * 128, 128), (0, 64)))
        kernel.matmul(kernel.view(acc), kernel.view(tile))
    if tail:
        with kernel.when(E.gt(k % 128, 0)):
            rest = kernel.storage("rest", (128, 64))
            kernel.copy(
                kernel.view(rest, (0, k % 128), (0, 64)),
                kernel.view(left, (k - k % 128, k % 128), (0, 64)),
            )
    kernel.copy(kernel.view(out), kernel.view(acc))
    kernel.returns(out)
    return kernel


def test_the_tail_of_a_contraction() -> None:
    k = size("k")
    assert verdicts(dropped_tails, contraction(k).trace, E.ge(k, 128)) == {
        "refuted": ["the tail of `left` along dimension 0 is never read"]
    }
    assert not verdicts(dropped_tails, contraction(k).trace, E.eq(k % 128, 0))


def test_the_tail_is_spoken_of_as_a_remainder() -> None:
    k, width = size("k"), size("width")
    (check,) = dropped_tails(contraction(k).trace, TARGETS["trn2"])
    assert check.text == "left.shape[0] % 128 == 0"
    kernel = Kernel()
    left = kernel.input("left", (k, 64))
    with kernel.loop("s", k // (width * 2)) as s:
        kernel.read(kernel.view(left, (s * width * 2, width * 2), (0, 64)))
    (check,) = dropped_tails(kernel.trace, TARGETS["trn2"])
    assert check.text == "left.shape[0] % (2*width) == 0"
    left.shape = (k * 64,)  # what is read is a matrix made of it
    (check,) = dropped_tails(kernel.trace, TARGETS["trn2"])
    assert check.message == "the tail of `left` along dimension 0 is never read"
    assert check.text == "its size % (2*width) == 0"


def test_the_tail_is_handled_elsewhere() -> None:
    k = size("k")
    assert not verdicts(dropped_tails, contraction(k, tail=True).trace)


def test_the_tail_on_plain_numbers() -> None:
    assert "refuted" in verdicts(dropped_tails, contraction(E.const(200)).trace)
    assert not verdicts(dropped_tails, contraction(E.const(384)).trace)


def test_a_nested_tiling() -> None:
    k = size("k")
    kernel = Kernel()
    left = kernel.input("left", (k, 64))
    with kernel.loop("b", k // 512) as b, kernel.loop("s", 4) as s:
        kernel.read(kernel.view(left, ((b * 4 + s) * 128, 128), (0, 64)))
    assert "refuted" in verdicts(dropped_tails, kernel.trace, E.eq(k % 128, 0))
    assert not verdicts(dropped_tails, kernel.trace, E.eq(k % 512, 0))


def test_a_window_may_leave_a_rest() -> None:
    h = size("h")
    kernel = Kernel()
    image = kernel.input("image", (16, h))
    out = kernel.output("out", (16, h // 3))
    with kernel.loop("w", h // 3) as w:
        tile = kernel.storage("tile", (16, 3))
        kernel.copy(kernel.view(tile), kernel.view(image, (0, 16), (w * 3, 3)))
        kernel.copy(kernel.view(out, (0, 16), (w, 1)), kernel.view(tile, (0, 16), (0, 1)))
    kernel.returns(out)
    assert not list(dropped_tails(kernel.trace, TARGETS["trn2"]))


def test_a_tail_that_the_output_misses_too_is_said_there() -> None:
    m = size("m")
    kernel = Kernel()
    source = kernel.input("source", (m, 30))
    out = kernel.output("out", (m, 30))
    with kernel.loop("i", m // 128) as i:
        rows = ((i * 128, 128), (0, 30))
        kernel.copy(kernel.view(out, *rows), kernel.view(source, *rows))
    kernel.returns(out)
    assert not list(dropped_tails(kernel.trace, TARGETS["trn2"]))


def test_tiles_wider_than_their_use() -> None:
    n = size("n")
    kernel = Kernel("beta1")
    tiles = kernel.storage("tiles", (n, 128, 512), partition_axis=1)
    with kernel.loop("i", n) as i:
        kernel.write(kernel.view(tiles, i, (0, 128), (0, 128)))
        kernel.read(kernel.view(tiles, i, (0, 128), (0, 128)))
    assert verdicts(oversized_tiles, kernel.trace) == {
        "refuted": [
            "`tiles` is allocated 512 wide along dimension 2, but only 128 of it are ever used"
        ]
    }


def test_a_tile_used_whole_by_some_inputs() -> None:
    n = size("n")
    kernel = Kernel()
    tile = kernel.storage("tile", (128, 512))
    width = E.minimum(n, 512)
    kernel.write(kernel.view(tile, (0, 128), (0, width)))
    kernel.read(kernel.view(tile, (0, 128), (0, width)))
    assert not verdicts(oversized_tiles, kernel.trace)


# ------------------------------------------------------------------------------- dependences


def test_iterations_write_one_place() -> None:
    n = size("n")
    kernel = Kernel("beta1")
    out = kernel.output("out", (128, 60))
    with kernel.loop("i", n, LoopKind.AFFINE):
        kernel.write(kernel.view(out))
    assert "refuted" in verdicts(carried_dependences, kernel.trace)
    assert not verdicts(carried_dependences, kernel.trace, E.le(n, 1))


def test_iterations_write_places_of_their_own() -> None:
    n, m = size("n"), size("m")
    kernel = Kernel("beta1")
    out = kernel.output("out", (n * 128, m))
    with kernel.loop("i", n, LoopKind.AFFINE) as i, kernel.loop("j", m, LoopKind.AFFINE) as j:
        kernel.write(kernel.view(out, (i * 128, 128), (j, 1)))
    assert not verdicts(carried_dependences, kernel.trace)


def test_scratch_that_each_iteration_writes_first_is_written_by_all_and_carries_nothing() -> None:
    n = size("n")
    kernel = Kernel("beta1")
    scratch = kernel.storage("scratch", (128, 60))
    with kernel.loop("i", n, LoopKind.AFFINE):
        kernel.write(kernel.view(scratch))
        kernel.read(kernel.view(scratch, (0, 128), (10, 20)))
    found = verdicts(carried_dependences, kernel.trace)
    message = "two iterations of the loop over `i` write the same part of `scratch`"
    assert found == {"refuted": [message]}
    assert not verdicts(carried_dependences, kernel.trace, E.le(n, 1))


def test_a_sum_carries_nothing() -> None:
    n = size("n")
    kernel = Kernel("beta1")
    total = kernel.storage("total", (128, 60))
    with kernel.loop("i", n, LoopKind.AFFINE):
        view = kernel.view(total)
        kernel.op("add", writes=[view], reads=[view], effect=Effect.ADDS)
    assert not verdicts(carried_dependences, kernel.trace)


def test_a_running_value_is_carried() -> None:
    n = size("n")
    kernel = Kernel("beta1")
    state = kernel.storage("state", (128, 60))
    kernel.write(kernel.view(state))
    with kernel.loop("i", n, LoopKind.AFFINE):
        kernel.op("maximum", writes=[kernel.view(state)], reads=[kernel.view(state)])
    found = verdicts(carried_dependences, kernel.trace)
    message = "an iteration of the loop over `i` reads what another one writes to `state`"
    assert set(found.pop("refuted")) == {message} and not found


@pytest.mark.parametrize("distance", [-3, -1, 1, 3])
def test_what_another_iteration_writes_is_carried_before_it_as_behind_it(distance: int) -> None:
    n = size("n")
    kernel = Kernel("beta1")
    row = kernel.storage("row", (128, n + 6))
    kernel.write(kernel.view(row))
    with kernel.loop("i", n, LoopKind.AFFINE) as i:
        kernel.read(kernel.view(row, (0, 128), (i + 3 + distance, 1)))
        kernel.write(kernel.view(row, (0, 128), (i + 3, 1)))
    found = verdicts(carried_dependences, kernel.trace)
    message = "an iteration of the loop over `i` reads what another one writes to `row`"
    assert set(found.pop("refuted")) == {message} and not found
    assert not verdicts(carried_dependences, kernel.trace, E.le(n, abs(distance)))


def test_what_an_iteration_wrote_itself_others_may_not_write_as_well() -> None:
    n = size("n")
    kernel = Kernel("beta1")
    row = kernel.storage("row", (128, n + 1))
    with kernel.loop("i", n, LoopKind.AFFINE) as i:
        kernel.write(kernel.view(row, (0, 128), (i, 2)))
        kernel.read(kernel.view(row, (0, 128), (i, 1)))
        kernel.read(kernel.view(row, (0, 128), (i + 1, 1)))
    found = verdicts(carried_dependences, kernel.trace)
    assert found == {
        "refuted": ["two iterations of the loop over `i` write the same part of `row`"]
    }


def test_a_read_in_place_is_of_its_own_iteration() -> None:
    n = size("n")
    kernel = Kernel("beta1")
    row = kernel.storage("row", (128, n * 5))
    kernel.write(kernel.view(row))
    with kernel.loop("i", n, LoopKind.AFFINE) as i:
        view = kernel.view(row, (0, 128), (i * 5, 5))
        kernel.op("exp", writes=[view], reads=[view])
    assert not verdicts(carried_dependences, kernel.trace)


def test_order_is_promised_by_other_loops_and_later_generations() -> None:
    n = size("n")
    for api, kind in (("beta1", LoopKind.SEQUENTIAL), ("0.3", LoopKind.AFFINE)):
        kernel = Kernel(api)
        state = kernel.storage("state", (128, 60))
        with kernel.loop("i", n, kind):
            kernel.op("maximum", writes=[kernel.view(state)], reads=[kernel.view(state)])
        assert not list(carried_dependences(kernel.trace, TARGETS["trn2"]))


def test_program_instances() -> None:
    shards, m = size("shards"), size("m")
    index = E.symbol("pid", 0, None, E.Origin.GRID)
    grid = Loop(index, shards, LoopKind.GRID, "program_id(0)", Kernel._span(1))
    kernel = Kernel(grid=[grid])
    out = kernel.output("out", (m * shards, 30))
    kernel.write(kernel.view(out, (index * m, m), (0, 30)))
    assert not verdicts(carried_dependences, kernel.trace)
    kernel.write(kernel.view(out, (0, 1), (0, 30)))
    found = verdicts(carried_dependences, kernel.trace)
    assert set(found["refuted"]) == {"two program instances write the same part of `out`"}


# ------------------------------------------------------------------------------ accumulation


def test_a_sum_that_nothing_starts() -> None:
    kernel = Kernel()
    acc = kernel.storage("acc", (128, 60), Buffer.PSUM)
    kernel.matmul(kernel.view(acc), effect=Effect.ADDS)
    assert verdicts(accumulation_protocol, kernel.trace) == {
        "refuted": ["the first matmul into `acc` adds to what was there before"]
    }


def test_a_sum_started_by_the_first_iteration() -> None:
    n = size("n")
    kernel = Kernel()
    acc = kernel.storage("acc", (128, 60), Buffer.PSUM)
    with kernel.loop("k", n) as k:
        kernel.matmul(kernel.view(acc), effect=E.gt(k, 0))
    kernel.read(kernel.view(acc))
    assert not verdicts(accumulation_protocol, kernel.trace)


def test_a_sum_over_zeros() -> None:
    n = size("n")
    for target, kind in (("trn2", "refuted"), ("trn3", None)):
        kernel = Kernel()
        acc = kernel.storage("acc", (128, 60), Buffer.PSUM)
        kernel.write(kernel.view(acc))
        with kernel.loop("k", n):
            kernel.matmul(kernel.view(acc), effect=Effect.FIRST_SETS)
        found = verdicts(accumulation_protocol, kernel.trace, target=TARGETS[target])
        assert list(found) == ([kind] if kind else [])


def test_zeros_that_a_matmul_overwrites() -> None:
    kernel = Kernel()
    acc = kernel.storage("acc", (128, 60), Buffer.PSUM)
    kernel.write(kernel.view(acc))
    kernel.matmul(kernel.view(acc))
    kernel.matmul(kernel.view(acc), effect=Effect.ADDS)
    assert not verdicts(accumulation_protocol, kernel.trace)


def panels(inside: bool) -> Kernel:
    n, depth = size("n"), size("depth")
    kernel = Kernel()
    acc = kernel.storage("acc", (128, 60), Buffer.PSUM)
    with kernel.loop("p", n):
        if inside:
            acc = kernel.storage("acc", (128, 60), Buffer.PSUM)
        with kernel.loop("k", depth):
            kernel.matmul(kernel.view(acc), effect=Effect.FIRST_SETS)
        kernel.read(kernel.view(acc))
    return kernel


def test_a_stale_sum() -> None:
    found = verdicts(accumulation_protocol, panels(inside=False).trace)
    assert found == {
        "refuted": [
            "from the second iteration of `p` on, this matmul adds to the sum of the iteration "
            "before: nothing resets `acc`"
        ]
    }
    assert not verdicts(accumulation_protocol, panels(inside=True).trace)


def test_every_iteration_sums_into_a_part_of_its_own() -> None:
    n = size("n")
    kernel = Kernel()
    acc = kernel.storage("acc", (128, n * 60), Buffer.PSUM)
    with kernel.loop("p", n) as p:
        part = ((0, 128), (p * 60, 60))
        kernel.matmul(kernel.view(acc, *part), effect=Effect.FIRST_SETS)
        kernel.read(kernel.view(acc, *part))
    assert not verdicts(accumulation_protocol, kernel.trace)


# ---------------------------------------------------------------------------------- capacity


def test_tiles_live_together() -> None:
    n = size("n")
    kernel = Kernel()
    a, b = kernel.storage("a", (128, n)), kernel.storage("b", (128, n))
    kernel.write(kernel.view(a))
    kernel.copy(kernel.view(b), kernel.view(a))
    kernel.read(kernel.view(b))
    limit = TARGETS["trn2"].sbuf_usable_bytes
    assert not verdicts(sbuf_capacity, kernel.trace, E.le(n * 8, limit))
    assert "refuted" in verdicts(sbuf_capacity, kernel.trace, E.le(n * 4, limit))


def test_tiles_that_follow_each_other_share() -> None:
    n = size("n")
    kernel = Kernel()
    for name in "abc":
        tile = kernel.storage(name, (128, n))
        kernel.write(kernel.view(tile))
        kernel.read(kernel.view(tile))
    limit = TARGETS["trn2"].sbuf_usable_bytes
    assert not verdicts(sbuf_capacity, kernel.trace, E.le(n * 4, limit))


def test_a_value_read_in_every_iteration_stays() -> None:
    kernel = Kernel()
    weights, scratch = kernel.storage("w", (128, 30000)), kernel.storage("s", (128, 30000))
    kernel.write(kernel.view(weights))
    with kernel.loop("i", size("n")):
        kernel.read(kernel.view(weights))
        kernel.write(kernel.view(scratch))
        kernel.read(kernel.view(scratch))
    assert "refuted" in verdicts(sbuf_capacity, kernel.trace)


def test_a_list_of_tiles_takes_all_of_them() -> None:
    n = size("n")
    kernel = Kernel()
    with kernel.loop("i", n):
        tile = kernel.storage("tile", (128, 512), Buffer.PSUM)
        kernel.write(kernel.view(tile))
    with kernel.loop("j", n) as j:
        kernel.read(kernel.view(tile, instance=(j,)))
    assert not verdicts(psum_banks, kernel.trace, E.le(n, 8))
    assert "refuted" in verdicts(psum_banks, kernel.trace, E.le(n, 9))


def pipeline(window: int, width: Expr, after: int | None = None) -> Kernel:
    """A tile per iteration, used ``window`` iterations later as well."""
    n = size("n")
    kernel = Kernel()
    with kernel.loop("i", n) as i:
        tile = kernel.storage("tile", (128, width))
        kernel.write(kernel.view(tile))
        with kernel.when(E.ge(i, window)):
            kernel.read(kernel.view(tile, instance=(i - window,)))
    if after is not None:
        kernel.read(kernel.view(tile, instance=(n - 1 - after,)))
    return kernel


@pytest.mark.parametrize(
    ("window", "after", "copies"),
    [(0, None, 1), (1, None, 2), (3, None, 4), (0, 0, 1), (1, 0, 2), (0, 2, 3), (2, 1, 3)],
)
def test_a_pipeline_keeps_the_last_few_tiles(window: int, after: int | None, copies: int) -> None:
    width = size("width")
    trace = pipeline(window, width, after).trace
    limit = TARGETS["trn2"].sbuf_usable_bytes
    fits = E.le(width * (4 * copies), limit)
    over = E.ge(width * (4 * copies), limit + 1)
    assert not verdicts(sbuf_capacity, trace, fits)
    assert "refuted" in verdicts(sbuf_capacity, trace, over)


def test_a_pipeline_of_few_iterations_keeps_no_more_than_these() -> None:
    width = size("width")
    trace = pipeline(3, width).trace
    limit = TARGETS["trn2"].sbuf_usable_bytes
    assert not verdicts(sbuf_capacity, trace, E.eq(size("n"), 2), E.le(width * 8, limit))


def test_a_tile_of_an_iteration_that_is_not_constant_may_keep_all() -> None:
    n = size("n")
    kernel = Kernel()
    with kernel.loop("i", n) as i:
        tile = kernel.storage("tile", (128, 512), Buffer.PSUM)
        kernel.write(kernel.view(tile))
        kernel.read(kernel.view(tile, instance=(i // 2,)))
    assert not verdicts(psum_banks, kernel.trace, E.le(n, 8))
    # of nine trips the last reads tile 4: five of them are needed then, and no more
    assert set(verdicts(psum_banks, kernel.trace, E.le(n, 9))) == {"unknown"}


def test_blocks_take_a_bank_each() -> None:
    n = size("n")
    kernel = Kernel()
    tile = kernel.storage("tile", (n, 128, 16), Buffer.PSUM, partition_axis=1)
    kernel.write(kernel.view(tile))
    assert not verdicts(psum_banks, kernel.trace, E.le(n, 8))
    assert "refuted" in verdicts(psum_banks, kernel.trace, E.le(n, 9))


@pytest.mark.parametrize(("start", "kind"), [(1199, "refuted"), (1200, None)])
def test_placed_tiles(start: int, kind: str | None) -> None:
    kernel = Kernel()
    a = kernel.storage("a", (128, 300), address=(0, 0))
    b = kernel.storage("b", (128, 300), address=(0, start))
    kernel.write(kernel.view(a))
    kernel.write(kernel.view(b))
    kernel.read(kernel.view(a))
    assert list(verdicts(address_overlap, kernel.trace)) == ([kind] if kind else [])


def test_placed_tiles_one_after_the_other() -> None:
    kernel = Kernel()
    for name in "ab":
        tile = kernel.storage(name, (128, 300), address=(0, 64))
        kernel.write(kernel.view(tile))
        kernel.read(kernel.view(tile))
    assert not verdicts(address_overlap, kernel.trace)


# ----------------------------------------------------------------------------------- outputs


@pytest.mark.parametrize(
    ("buffer", "fine"),
    [(Buffer.SHARED_HBM, True), (Buffer.HBM, False), (Buffer.SBUF, False), (Buffer.PSUM, False)],
)
def test_where_outputs_live(buffer: Buffer, fine: bool) -> None:
    kernel = Kernel()
    kernel.returns(kernel.storage("out", (128, 60), buffer))
    assert list(verdicts(output_buffers, kernel.trace)) == ([] if fine else ["refuted"])


def test_some_output() -> None:
    kernel = Kernel()
    source = kernel.input("source", (128, 60))
    kernel.read(kernel.view(source))
    assert "refuted" in verdicts(some_output, kernel.trace)
    kernel.write(kernel.view(source))
    assert not verdicts(some_output, kernel.trace)


def test_a_kernel_that_ends_in_an_error_is_not_judged_by_what_it_left_undone() -> None:
    k = size("k")
    kernel = contraction(k)
    wide = kernel.storage("wide", (128, 900))
    kernel.write(kernel.view(wide, (0, 128), (0, 70)))
    kernel.read(kernel.view(wide, (0, 128), (0, 70)))
    rest = kernel.output("rest", (k, 20))
    kernel.returns(rest)
    rules = (unwritten_outputs, dropped_tails, oversized_tiles)
    assert all(verdicts(rule, kernel.trace) for rule in rules)
    kernel.trace.dies = True
    kernel.trace.completes = False
    assert not any(list(rule(kernel.trace, TARGETS["trn2"])) for rule in (*rules, some_output))
