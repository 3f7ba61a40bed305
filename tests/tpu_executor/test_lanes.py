"""Tensors in lanes x bytes, against one element at a time."""

from __future__ import annotations

import gc
import itertools
import sys
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.sweeps import examples
from verifier.executor import simulate, tpu_running
from verifier.executor.lanes import ByteMemory, OutsideError, inside, local_place, system_place

Four: TypeAlias = tuple[int, int, int, int]
#: lanes, address, shape, strides, bytes of an item
Drawn: TypeAlias = tuple[int, int, Four, Four, int]

DTYPES: dict[int, np.dtype[Any]] = {
    1: np.dtype(np.uint8),
    2: np.dtype(np.int16),
    4: np.dtype(np.float32),
}


def places(
    lanes: int, size: int, address: int, shape: Four, strides: Four, itemsize: int
) -> dict[Four, int]:
    """``(n, c, h, w) -> byte``, by the definition (ADR-04)."""
    lane, byte = divmod(address, size)
    ns, cs, hs, ws = strides
    return {
        (n, c, h, w): (lane + c) % lanes * size
        + byte
        + itemsize * (n * ns + (lane + c) // lanes * cs + h * hs + w * ws)
        for n, c, h, w in itertools.product(*(range(extent) for extent in shape))
    }


@st.composite
def tensors(draw: st.DrawFn) -> Drawn:
    lanes = draw(st.integers(1, 5))
    shape = draw(st.tuples(*(st.integers(1, high) for high in (3, 11, 3, 4))))
    strides = draw(st.tuples(*[st.integers(0, 40)] * 4))
    itemsize = draw(st.sampled_from(sorted(DTYPES)))
    address = draw(st.integers(0, lanes - 1)) * 4096 + draw(st.integers(0, 64)) * itemsize
    return lanes, address, shape, strides, itemsize


@given(tensors())
@settings(max_examples=examples(200), deadline=None)
def test_reading_is_the_definition(tensor: Drawn) -> None:
    lanes, address, shape, strides, itemsize = tensor
    rng = np.random.default_rng(1)
    size = 4096 * lanes
    data = rng.integers(0, 200, size * 2, np.uint8)
    memory = ByteMemory(data.size, data, full=True)
    got = memory.read(
        local_place(lanes, 4096, address, shape, strides, itemsize), np.dtype(f"u{itemsize}")
    )
    for index, byte in places(lanes, 4096, address, shape, strides, itemsize).items():
        assert got[index].tobytes() == data[byte : byte + itemsize].tobytes()


@given(tensors())
@settings(max_examples=examples(200), deadline=None)
def test_writing_is_the_definition_and_the_last_one_stays(tensor: Drawn) -> None:
    lanes, address, shape, strides, itemsize = tensor
    rng = np.random.default_rng(2)
    memory = ByteMemory(8192 * lanes)
    expected = np.zeros(8192 * lanes, np.uint8)
    written = np.zeros(8192 * lanes, np.uint8)
    array = rng.integers(0, 100, shape).astype(np.dtype(f"u{itemsize}"))
    place = local_place(lanes, 4096, address, shape, strides, itemsize)
    memory.write(place, array)
    for index, byte in places(lanes, 4096, address, shape, strides, itemsize).items():
        expected[byte : byte + itemsize] = np.frombuffer(array[index].tobytes(), np.uint8)
        written[byte : byte + itemsize] = 1
    assert memory.data is not None and memory.flags is not None
    assert memory.data.tobytes() == expected.tobytes()
    assert memory.flags.tobytes() == written.tobytes()
    assert memory.written(place) and memory.touched


def test_what_nothing_wrote_is_poison() -> None:
    memory = ByteMemory(4 * 256)
    memory.write(
        local_place(4, 256, 0, (1, 2, 1, 4), (0, 0, 0, 1), 4), np.zeros((1, 2, 1, 4), "f4")
    )
    wide = local_place(4, 256, 0, (1, 3, 1, 4), (0, 0, 0, 1), 4)
    assert not memory.written(wide)
    got = memory.read(wide, np.dtype(np.float32))
    assert np.isnan(got[0, 2]).all() and not got[0, :2].any()


def test_past_the_end_of_a_lane_is_the_next_lane() -> None:
    memory = ByteMemory(4 * 256)
    memory.write(
        local_place(4, 256, 224, (1, 1, 1, 16), (16, 16, 16, 1), 4),
        np.arange(16, dtype=np.float32).reshape(1, 1, 1, 16),
    )
    got = memory.read(local_place(4, 256, 256, (1, 1, 1, 8), (8, 8, 8, 1), 4), np.dtype("f4"))
    assert got.reshape(-1).tolist() == list(range(8, 16))


def test_bytes_that_are_not_there() -> None:
    memory = ByteMemory(4 * 256)
    place = local_place(4, 256, 3 * 256 + 252, (1, 1, 1, 2), (2, 2, 2, 1), 4)
    assert not memory.inside(place)
    with pytest.raises(OutsideError):
        memory.read(place, np.dtype("f4"))
    with pytest.raises(OutsideError):
        memory.write(place, np.zeros((1, 1, 1, 2), np.float32))
    with pytest.raises(OutsideError):
        memory.mark(system_place(-4, (1, 1, 1, 2), (2, 2, 2, 1), 4))


def test_system_memory_steps_from_channel_to_channel() -> None:
    data = np.arange(120, dtype=np.float32)
    memory = ByteMemory(480, data.view(np.uint8), full=True)
    place = system_place(8, (2, 3, 2, 2), (60, 20, 5, 1), 4)
    got = memory.read(place, np.dtype("f4"))
    grid = data[2:]
    assert got[1, 2, 1, 1] == grid[60 + 40 + 5 + 1]
    memory.write(
        system_place(0, (1, 1, 1, 4), (4, 4, 4, 0), 4), np.arange(4, dtype="f4").reshape(1, 1, 1, 4)
    )
    assert data[0] == 3.0


@pytest.mark.parametrize("offset", [-40, -3, 0, 20, 55])
@pytest.mark.parametrize("strides", [(20, 9, 3, 1), (-7, 11, 2, 1), (64, 0, 1, 5)])
def test_what_reaches_outside_is_cut(offset: int, strides: Four) -> None:
    size, shape = 60, (2, 3, 2, 3)
    memory = ByteMemory(size)
    memory.mark(inside(system_place(offset, shape, strides, 1), size))
    meant = {
        offset + sum(k * step for k, step in zip(at, strides, strict=True))
        for at in itertools.product(*map(range, shape))
    }
    for byte in range(size):
        assert memory.written(system_place(byte, (1, 1, 1, 1), (1, 1, 1, 1), 1)) is (byte in meant)


def resident() -> int:
    """Bytes of this process that take memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


@pytest.mark.skipif(sys.platform != "linux", reason="/proc says what takes memory")
def test_what_nothing_touches_takes_no_memory() -> None:
    lane, lanes, dtype = 1 << 19, 64, np.dtype(np.float32)
    memory = ByteMemory(lane * lanes, watched=True)
    place = local_place(lanes, lane, 128, (1, lanes, 1, 32), (32, 32, 32, 1), 4)
    before = resident()
    memory.write(place, np.ones((1, lanes, 1, 32), dtype))
    memory.spoil(place, np.ones((1, lanes, 1, 32), np.uint8))
    assert not memory.written(place)
    assert memory.read(place, dtype).shape == (1, lanes, 1, 32)
    assert resident() - before < 8 << 20


LONG = """\
import ppl
import ppl.language as pl


@ppl.jit
def long(out_ptr, x_ptr, steps):
    x_all = pl.gtensor([1, steps, 1, 50], pl.GLOBAL, x_ptr)
    out_all = pl.gtensor([1, steps, 1, 50], pl.GLOBAL, out_ptr)
    for step in range(steps):
        x = pl.make_tensor([1, 1, 1, 50], pl.float32)
        pl.dma.load(x, x_all.sub_view([1, 1, 1, 50], [0, step, 0, 0]))
        pl.dma.store(out_all.sub_view([1, 1, 1, 50], [0, step, 0, 0]), x)
"""


def test_tensors_of_iterations_that_are_over_take_no_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left: list[int] = []

    def finish(*arguments: Any) -> None:
        left.append(sum(isinstance(each, ByteMemory) for each in gc.get_objects()))
        judge(*arguments)

    judge = tpu_running.finish
    monkeypatch.setattr(tpu_running, "finish", finish)
    path = tmp_path / "long.py"
    path.write_text(LONG, encoding="utf-8")
    gc.collect()
    before = sum(isinstance(each, ByteMemory) for each in gc.get_objects())
    rows = np.ones((400, 50), np.float32)
    simulate(f"{path}::long", "bm1684x")(out_ptr=np.zeros_like(rows), x_ptr=rows, steps=400)
    # those of the last operations, at most 200 of which are looked at together, are there
    assert len(left) == 1 and left[0] - before < 150
