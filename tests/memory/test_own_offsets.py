"""Offsets that a kernel puts into memory itself: compared, or left open, never taken on trust."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.told import told
from verifier.engine import analyze_file
from verifier.executor import simulate
from verifier.executor.machine import Options
from verifier.report.model import FileRequest

_KERNEL = """import nki
import nki.isa as nisa
import nki.language as nl

@nki.jit
def picked(x, given, far=False):
    assert x.shape == (6, 16, 24) and x.dtype == nl.float32
    assert given.shape == (1, 1) and given.dtype == nl.int32
    out = nl.ndarray((16, 24), dtype=nl.float32, buffer=nl.shared_hbm)
    tile = nl.ndarray((16, 24), dtype=nl.float32, buffer=nl.sbuf)
    nisa.memset(dst=tile, value=0.0)
    row = nl.ndarray((1, 1), dtype=nl.int32, buffer=nl.sbuf)
    where = nisa.register_alloc()
    {fill}
    nisa.register_load(dst=where, src=row)
    nisa.dma_copy(dst=tile, src={view}{mode})
    nisa.dma_copy(dst=out, src=tile)
    return out
"""
_GIVEN = "nisa.dma_copy(dst=row, src=given)"
_MORE = "nisa.tensor_scalar(dst=row, data=row, op0=nl.add, operand0=1)"
_BRANCH = "nisa.memset(dst=row, value=2)\n    if far:\n        nisa.memset(dst=row, value={})"
_SKIPS = ", oob_mode=nisa.oob_mode.skip"
_RULE = "own-offset-bounds"
_COUNTED = "nisa.iota(dst=row, pattern=[[1, 1]], offset={})"


@pytest.mark.parametrize(
    ("fill", "view", "mode", "status"),
    [
        ("nisa.memset(dst=row, value=5)", "x.select(0, where)", "", "verified"),
        ("nisa.memset(dst=row, value=6)", "x.select(0, where)", "", "violated"),
        (_COUNTED.format(5), "x.select(0, where)", "", "verified"),
        (_COUNTED.format(6), "x.select(0, where)", "", "violated"),
        (_BRANCH.format(5), "x.select(0, where)", "", "verified"),
        (_BRANCH.format(6), "x.select(0, where)", "", "unknown"),
        ("nisa.memset(dst=row, value=6)", "x.select(0, where)", _SKIPS, "verified"),
        (f"nisa.memset(dst=row, value=4)\n    {_MORE}", "x.select(0, where)", "", "unknown"),
        (_GIVEN, "x.select(0, where)", "", "verified"),
    ],
)
def test_registers(tmp_path: Path, fill: str, view: str, mode: str, status: str) -> None:
    text = _KERNEL.format(fill=fill, view=view, mode=mode)
    assert _told(tmp_path, text) == (status, [_RULE] if status == "violated" else [])


_GATHER = """import nki
import nki.isa as nisa
import nki.language as nl

@nki.jit
def gathered(x):
    assert x.shape == (32, 5, 8) and x.dtype == nl.float32
    out = nl.ndarray((32, {columns}), dtype=nl.float32, buffer=nl.shared_hbm)
    data = nl.ndarray((32, 5, 8), dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=data, src=x)
    index = nl.ndarray((32, {count}), dtype=nl.{dtype}, buffer=nl.sbuf)
    {fill}
    tile = nl.ndarray((32, {columns}), dtype=nl.float32, buffer=nl.sbuf)
    {gather}
    nisa.dma_copy(dst=out, src=tile)
    return out
"""
#: columns of the result, of the index, and its type
_OWN = (7, 7, "uint32", "nisa.nc_n_gather(dst=tile, data=data, indices=index)")
_FLAT = (7, 7, "uint32", "tile = nl.gather_flattened(data, index)")
_LOCAL = "nisa.local_gather(dst=tile, src_buffer=data, index=index, num_elem_per_idx={}{})"
_ONE = (48, 3, "uint16", _LOCAL.format(1, ", num_valid_indices=48"))
_FOUR = (192, 3, "uint16", _LOCAL.format(4, ", num_valid_indices=48"))
_SOME = (20, 3, "uint16", _LOCAL.format(1, ", num_valid_indices=20"))
_PICKED = (
    32,
    1,
    "uint16",
    "nisa.tensor_copy(dst=tile, src=data.reshape((32, 40)).indirect(index))",
)


def _counted(offset: int, count: int, by_lane: int = 0) -> str:
    return (
        f"nisa.iota(dst=index, pattern=[[1, {count}]], offset={offset}, "
        f"channel_multiplier={by_lane})"
    )


@pytest.mark.parametrize(
    ("shape", "fill", "status"),
    [
        (_OWN, _counted(33, 7), "verified"),  # the last one is 39
        (_OWN, _counted(34, 7), "violated"),
        (_OWN, _counted(2, 7, 1), "verified"),  # 2 + 31 + 6
        (_OWN, _counted(3, 7, 1), "violated"),
        (_OWN, f"{_counted(0, 7)}\n    {_MORE.replace('row', 'index')}", "unknown"),
        (_FLAT, _counted(33, 7), "verified"),
        (_FLAT, _counted(34, 7), "violated"),
        (_ONE, _counted(6, 3, 1), "verified"),
        (_ONE, _counted(7, 3, 1), "violated"),
        (_FOUR, "nisa.memset(dst=index, value=36)", "verified"),  # 36 .. 39
        (_FOUR, "nisa.memset(dst=index, value=37)", "violated"),
        (_SOME, _counted(7, 3, 1), "unknown"),  # which of them are valid is not followed
        (_SOME, _counted(6, 3, 1), "verified"),
    ],
)
def test_gathers(tmp_path: Path, shape: tuple[int, int, str, str], fill: str, status: str) -> None:
    columns, count, dtype, gather = shape
    text = _GATHER.format(columns=columns, count=count, dtype=dtype, gather=gather, fill=fill)
    wanted = [_RULE] if status == "violated" else []
    assert _told(tmp_path, text) == (status, wanted)
    if status == "unknown":
        return
    made = simulate(f"{tmp_path / 'kernel.py'}::gathered")
    run = type(made)(made.kernel, made.target, made.api_version, Options(keep_going=True))
    outcome = run.outcome(np.zeros((32, 5, 8), np.float32))
    assert outcome.ended is None
    assert [d.rule for d in outcome.violations] == wanted


@pytest.mark.parametrize(("offset", "status"), [(8, "verified"), (9, "violated")])
def test_columns_that_an_index_names(tmp_path: Path, offset: int, status: str) -> None:
    columns, count, dtype, gather = _PICKED
    fill = _counted(offset, count, 1)
    text = _GATHER.format(columns=columns, count=count, dtype=dtype, gather=gather, fill=fill)
    wanted = [_RULE] if status == "violated" else []
    assert _told(tmp_path, text, "trn3") == (status, wanted)


def _told(tmp_path: Path, text: str, target: str = "trn2") -> tuple[str, list[str]]:
    """The status of the kernel, and the rules that it breaks."""
    found = told(tmp_path, text, target)
    return found.status, found.errors


_SEARCHED = """import nki
import nki.isa as nisa
import nki.language as nl

@nki.jit
def searched(x, names):
    assert x.shape == ({rows}, 40) and x.dtype == nl.float32
    assert names.shape == (64, 24) and names.dtype == nl.int32
    out = nl.ndarray((64, 40), dtype=nl.float32, buffer=nl.shared_hbm)
    data = nl.ndarray((64, 24), dtype=nl.int32, buffer=nl.sbuf)
    {fill}
    wanted = nl.ndarray((64, 8), dtype=nl.uint32, buffer=nl.sbuf)
    nisa.iota(dst=wanted, pattern=[[0, 8]], offset=0, channel_multiplier=1)
    places = nl.ndarray((64, 8), dtype=nl.uint32, buffer=nl.sbuf)
    nisa.nc_find_index8(dst=places, data=data, vals=wanted)
    tile = nl.ndarray((64, 40), dtype=nl.float32, buffer=nl.sbuf)
    first = places.ap([[8, 64], [1, 1]])
    view = x.ap([[40, 64], [1, 40]], offset=0, vector_offset=first, indirect_dim=0)
    nisa.dma_copy(dst=tile, src=view)
    nisa.dma_copy(dst=out, src=tile)
    return out
"""
_NAMES = "nisa.dma_copy(dst=data, src=names)"
_SPREAD = """for half in range(2):
        mine = data[32 * half : 32 * half + 32, 0:24]
        nisa.nc_stream_shuffle(dst=mine, src=data[0:1, 0:24], shuffle_mask=[0] * 32)"""


@pytest.mark.parametrize(
    ("rows", "fill", "assumed", "reason"),
    [
        (24, _NAMES, True, ""),
        (24, f"{_NAMES}\n    {_SPREAD}", True, ""),  # hands on what it has written itself
        (23, _NAMES, True, "what `places` holds is known in part"),  # the last place found
        (24, "nisa.memset(dst=data, value=1)", False, "finds all that it looks for"),
    ],
)
def test_places_that_are_searched_for_lie_in_what_is_searched(
    tmp_path: Path, rows: int, fill: str, assumed: bool, reason: str
) -> None:
    path = tmp_path / "k.py"
    path.write_text(_SEARCHED.format(rows=rows, fill=fill))
    (kernel,) = analyze_file(FileRequest(str(path))).kernels
    told = [text for text in kernel.assumptions if "taken to stay inside" in text]
    assert bool(told) == assumed, kernel.assumptions
    assert kernel.status == ("unknown" if reason else "verified"), kernel.reasons
    assert [reason in r.message for r in kernel.reasons] == [True] * bool(reason), kernel.reasons


_COUNTERS = """import nki
import nki.isa as nisa
import nki.language as nl

@nki.jit
def columns(x):
    assert x.shape == (8, 24) and x.dtype == nl.int32
    out = nl.ndarray((8, {length}), dtype=nl.int32, buffer=nl.shared_hbm)
    begins = nl.ndarray((1, 8), dtype=nl.int32, buffer=nl.sbuf)
    nisa.memset(dst=begins, value=0)
    for odd in range(2):
        for pair in range(4):
            row = nl.ndarray((1, 1), dtype=nl.int32, buffer=nl.sbuf)
            tile = nl.ndarray((1, 24), dtype=nl.int32, buffer=nl.sbuf)
            nisa.tensor_copy(dst=row, src=begins[:, {read} : {read} + 1])
            nisa.dma_copy(dst=tile, src=x[2 * pair + odd : 2 * pair + odd + 1, :])
            nisa.dma_copy(
                dst=out.ap([[{length}, 1], [1, 24]], (2 * pair + odd) * {length},
                           scalar_offset=row, indirect_dim=1),
                src=tile,
            )
            mine = begins[:, {own} : {own} + 1]
            nisa.tensor_tensor(dst=mine, data1=mine, data2=tile[:, :1], op=nl.add)
    return out
"""


@pytest.mark.parametrize(
    ("read", "own", "length", "status"),
    [
        ("2 * pair", "2 * pair", 24, "unknown"),  # the other half's counter, of the same pair
        ("2 * pair + odd", "2 * pair + odd", 24, "verified"),
        ("2 * pair + odd", "2 * pair + odd", 23, "violated"),
        ("2 * pair + odd", "2 * pair + odd", 25, "violated"),  # a column that nothing writes
        ("2 * pair + odd", "(2 * pair + odd + 1) % 8", 24, "unknown"),
        ("pair", "pair + 1", 24, "unknown"),  # of the round before
    ],
)
def test_an_element_of_its_own_is_set_by_no_other_round(
    tmp_path: Path, read: str, own: str, length: int, status: str
) -> None:
    text = _COUNTERS.format(read=read, own=own, length=length)
    assert _told(tmp_path, text)[0] == status
