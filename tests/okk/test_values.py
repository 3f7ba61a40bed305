"""Records, addresses and lists of them: the trace says what Python does, for every input.

Each kernel is followed once on symbols; the trace is then evaluated for many inputs and compared
with what a recording module saw when Python ran the same text.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.okk.support import Address, events, in_any_order, interpret, operations, recorded
from tests.sweeps import examples
from verifier.hardware.engines import Engine
from verifier.symbolic.lanes import LocalTensor, SystemTensor
from verifier.symbolic.pretty import pretty
from verifier.symbolic.python.entry import Run

PING_PONG = """\
def parts_of(a, b):
    return (a - 1) // b + 1


@okk.kernel
def kernel(rows: int, per: int, width: int, out: okk.SystemAddr, given: okk.SystemAddr):
    part = okk.dim4(per, 3, 2, width)
    stride = okk.dim4()
    okk.okk_128_byte_aligned_stride_for_32bit(stride, 0, part)
    local = part.n * stride.n * 4
    whole = part.n * part.c * part.h * part.w * 4
    output = [0, local]
    source = (local * 2, local * 3)
    parts = parts_of(rows, per)
    last = okk.dim4(rows - (parts - 1) * per, 3, 2, width)
    okk.initialize()
    for i in range(parts + 2):
        okk.parallel_start()
        if i < parts:
            shape = last if i == parts - 1 else part
            okk.gdma_32bit_cpy_S2L(source[i % 2], given + i * whole, shape, None, None)
        if i > 0 and i < parts + 1:
            shape = last if i - 1 == parts - 1 else part
            okk.bdc_add_C(output[(i - 1) % 2], source[(i - 1) % 2], 1.0, shape, None, None)
        if i > 1:
            shape = last if i - 2 == parts - 1 else part
            okk.gdma_32bit_cpy_L2S(out + (i - 2) * whole, output[i % 2], shape, None, None)
        okk.parallel_end()
    okk.poll()
"""

#: a structure that is changed and handed on, an address that moves, a copy of a record
TAIL = """\
@dataclass
class Piece:
    out: okk.SystemAddr
    given: okk.SystemAddr
    rows: int
    width: int


def add_one(piece, lane):
    shape = okk.dim4(n=piece.rows, c=5, h=1, w=piece.width)
    stride = okk.aligned_stride_32bit(lane, shape)
    at = lane * 524288
    okk.gdma_32bit_cpy_S2L(at, piece.given, shape, stride, None)
    okk.bdc_add_C(at, at, 1.0, shape, None, stride)
    okk.gdma_32bit_cpy_L2S(piece.out, at, shape, None, stride)


@okk.kernel(Piece)
def kernel(args):
    okk.initialize()
    first = Piece(out=args.out, given=args.given, rows=args.rows // 2, width=args.width)
    if first.rows > 0:
        add_one(first, 0)
    rest = copy.copy(first)
    rest.rows = args.rows - first.rows
    done = first.rows * 5 * args.width * 4
    rest.out += done
    rest.given = rest.given + done
    if rest.rows > 3:
        rest.rows -= 3
        rest.width = min(rest.width, 40)
    if rest.rows:
        add_one(rest, 62)
    if rest.out - args.out < 4000:
        okk.poll()
"""

#: addresses and fields that grow from iteration to iteration
MOVING = """\
@okk.kernel
def kernel(rows: int, width: int, out: okk.SystemAddr, given: okk.SystemAddr):
    shape = okk.dim4(1, 4, 1, width)
    strides = okk.dim4()
    okk.initialize()
    source = given
    at = 0
    for r in range(rows):
        shape.h = r + 1
        okk.okk_128_byte_aligned_stride_for_32bit(strides, 0, shape)
        okk.gdma_32bit_cpy_S2L(at, source, shape, strides, None)
        okk.gdma_32bit_cpy_L2S(out + (source - given), at, shape, None, strides)
        source += 16 * width
        at += 256
    shape.w = shape.h + rows
    okk.bdc_add_C(at, 0, 0.5, shape, None, None)
    okk.poll()
"""

#: where the path chooses a record, a null pointer, or what to write to
CHOICES = """\
@okk.kernel
def kernel(rows: int, width: int, out: okk.SystemAddr, given: okk.SystemAddr):
    small = okk.dim4(1, 2, 3, width)
    large = okk.dim4(rows, 2, 3, 40)
    wide, narrow = okk.dim4(), okk.dim4(1, 1, 1, 1)
    okk.initialize()
    shape = small if width > 40 else large
    target = wide if rows > 2 else narrow
    okk.okk_128_byte_aligned_stride_for_32bit(target, 0, shape)
    stride = None if rows == 5 else target
    okk.gdma_32bit_cpy_S2L(0, given, shape, stride, None)
    place = given if width % 3 else given + 128
    okk.gdma_32bit_cpy_S2L(65536 if rows % 2 else 131072, place, narrow, None, wide)
    okk.poll()
"""


def arguments(values: Mapping[str, int]) -> dict[str, object]:
    return {**values, "out": Address(), "given": Address()}


def structure(text: str, values: Mapping[str, int]) -> dict[str, object]:
    class Given:
        pass

    made = Given()
    made.__dict__.update(arguments(values))
    return {"args": made} if "def kernel(args)" in text else arguments(values)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Run]:
    texts = {"ping": PING_PONG, "tail": TAIL, "moving": MOVING, "choices": CHOICES}
    return {k: interpret(tmp_path_factory.mktemp(k), t) for k, t in texts.items()}


def agree(run: Run, text: str, values: dict[str, int]) -> None:
    assert run.ended is None and not run.trace.unmodelled
    found = in_any_order(events(run, values))
    assert found == in_any_order(recorded(text, "kernel", structure(text, values)))


relaxed = settings(
    max_examples=examples(60), deadline=None, suppress_health_check=list(HealthCheck)
)


@relaxed
@given(st.integers(1, 40), st.integers(1, 9), st.integers(1, 70))
def test_ping_pong_is_followed_exactly(
    runs: dict[str, Run], rows: int, per: int, width: int
) -> None:
    run = runs["ping"]
    assert not run.trace.ledger
    agree(run, PING_PONG, {"rows": rows, "per": per, "width": width})


@relaxed
@given(st.integers(0, 40), st.integers(1, 70))
def test_structures_are_changed_and_handed_on(runs: dict[str, Run], rows: int, width: int) -> None:
    run = runs["tail"]
    assert not run.trace.ledger
    agree(run, TAIL, {"rows": rows, "width": width})


@relaxed
@given(st.integers(0, 12), st.integers(1, 50))
def test_what_moves_in_a_loop_has_a_closed_form(
    runs: dict[str, Run], rows: int, width: int
) -> None:
    run = runs["moving"]
    assert not run.trace.ledger
    agree(run, MOVING, {"rows": rows, "width": width})


@relaxed
@given(st.integers(1, 12), st.integers(1, 90))
def test_what_the_path_chooses(runs: dict[str, Run], rows: int, width: int) -> None:
    run = runs["choices"]
    assert not run.trace.ledger
    agree(run, CHOICES, {"rows": rows, "width": width})


def test_one_record_of_several_is_one_operation(runs: dict[str, Run]) -> None:
    loads = operations(runs["ping"], "gdma_32bit_cpy_S2L")
    assert len(loads) == 1
    chosen = operations(runs["choices"], "gdma_32bit_cpy_S2L")
    assert len(chosen) == 3  # a null pointer or strides, then the other copy


def test_the_lane_that_strides_were_computed_for(tmp_path: Path) -> None:
    text = """\
@okk.kernel
def kernel(n: int, lane: int, out: okk.SystemAddr):
    shape = okk.dim4(n, 6, 2, 2)
    strides = okk.aligned_stride_32bit(lane, shape)
    okk.bdc_neg(0, 0, shape, strides, None)
    other = copy.copy(strides)
    okk.bdc_neg(0, 0, shape, other, strides if n > 3 else other)
    other.n += 4
    okk.bdc_neg(0, 0, shape, other, None)
    okk.okk_continuous_stride(other, shape)
    okk.gdma_32bit_cpy_L2S(out, 0, shape, other, None)
"""
    told = []
    for op in operations(interpret(tmp_path, text)):
        for touch in op.touches:
            if isinstance(touch.tensor, LocalTensor):
                lane = touch.tensor.stride_lane
                told.append(None if lane is None else pretty(lane))
    assert told == ["lane", None, "lane", "lane", None, None, None]


def test_addresses_compare_within_their_buffer(tmp_path: Path) -> None:
    text = """\
@okk.kernel
def kernel(n: int, out: okk.SystemAddr, given: okk.SystemAddr):
    shape = okk.dim4(1, 1, 1, 1)
    end = given + 400
    if given + n * 4 < end and given != 0 and not (out == given):
        okk.gdma_32bit_cpy_S2S(out + 8 - 4, end - 4, shape, None, None)
"""
    run = interpret(tmp_path, text)
    (op,) = run.trace.operations
    assert [pretty(c) for c in op.path] == ["n <= 99"]
    offsets = {
        t.role: t.tensor.address.offset.const
        for t in op.touches
        if isinstance(t.tensor, SystemTensor)
    }
    assert offsets == {"dst": 4, "src": 396}


def test_a_section_is_the_two_calls(tmp_path: Path) -> None:
    text = """\
@okk.kernel
def kernel(n: int, out: okk.SystemAddr):
    okk.initialize()
    for i in range(n):
        with okk.parallel():
            okk.bdc_neg(0, 0, okk.dim4(1, 1, 1, 8), None, None)
    okk.poll()
"""
    ops = operations(interpret(tmp_path, text))
    names = [op.name.removeprefix("okk.") for op in ops]
    assert names == ["initialize", "parallel_start", "bdc_neg", "parallel_end", "poll"]
    assert [len(op.loops) for op in ops] == [0, 1, 1, 1, 0]
    assert {op.engine for op in ops} == {Engine.CONTROL, Engine.BDC}
