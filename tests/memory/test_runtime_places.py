"""What only the data decides is stated; what the text decides is decided."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fixtures.support import check

_HEAD = "import nki\nimport nki.isa as nisa\nimport nki.language as nl\n\n"

_SCATTER = """@nki.jit
def scattered(x, where):
    assert x.shape == ({rows}, 40) and where.shape == ({rows}, 1) and where.dtype == nl.int32
    out = nl.ndarray((96, 40), dtype=x.dtype, buffer=nl.shared_hbm)
    index = nl.ndarray(({rows}, 1), dtype=nl.int32, buffer=nl.sbuf)
    nisa.dma_copy(dst=index, src=where)
    tile = nl.ndarray(({rows}, 40), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    to = out.ap([[40, {rows}], [1, {columns}]], vector_offset=index, indirect_dim=0)
    nisa.dma_copy(dst=to, src=tile[:, :{columns}])
    return out
"""
_COMPLETE = "runtime places in `out`: taken to make it complete before it is returned"


def _checked(tmp_path: Path, text: str) -> tuple[str, tuple[str, ...]]:
    path = tmp_path / "kernel.py"
    path.write_text(_HEAD + text, encoding="utf-8")
    (kernel,) = check(path).kernels
    return kernel.status, kernel.assumptions


@pytest.mark.parametrize(
    ("rows", "columns", "status"),
    [(96, 40, "verified"), (95, 40, "violated"), (96, 39, "violated")],
)
def test_as_many_elements_as_there_are_may_be_all(
    tmp_path: Path, rows: int, columns: int, status: str
) -> None:
    found, assumptions = _checked(tmp_path, _SCATTER.format(rows=rows, columns=columns))
    assert found == status
    assert (_COMPLETE in assumptions) is (status == "verified")


@pytest.mark.parametrize(
    ("offset", "pattern", "status"),
    [
        ("3840 * part", "[40, 96], [1, 40]", "verified"),
        ("0", "[40, 96], [1, 40]", "verified"),
        # the same half of the columns twice: nothing is ever put into the other one
        ("0", "[40, 192], [1, 20]", "violated"),
        # the first row is before all places
        ("40", "[40, 96], [1, 40]", "unknown"),
        ("3840 * part + 40", "[40, 96], [1, 40]", "unknown"),
        # all of them where the data adds nothing, in whatever order
        ("3840 * (1 - part)", "[40, 96], [1, 40]", "verified"),
        ("3800 * (1 - part) + 40", "[40, 96], [1, 40]", "unknown"),
    ],
)
def test_what_no_place_reaches_is_not_taken_to_be_written(
    tmp_path: Path, offset: str, pattern: str, status: str
) -> None:
    rows, columns = (int(pair.split(", ")[1].strip("]")) for pair in pattern.split(", ["))
    found, assumptions = _checked(
        tmp_path,
        f"""@nki.jit
def parts(x, where):
    assert x.shape == (192, 40) and where.shape == (192, 1) and where.dtype == nl.int32
    out = nl.ndarray((192, 40), dtype=x.dtype, buffer=nl.shared_hbm)
    for part in range(2):
        for half in range({rows} // 96):
            index = nl.ndarray((96, 1), dtype=nl.int32, buffer=nl.sbuf)
            nisa.dma_copy(dst=index, src=where[96 * part : 96 * part + 96])
            tile = nl.ndarray((96, {columns}), dtype=x.dtype, buffer=nl.sbuf)
            nisa.dma_copy(dst=tile, src=x[96 * half : 96 * half + 96, :{columns}])
            to = out.ap([[40, 96], [1, {columns}]], offset={offset}, vector_offset=index,
                        indirect_dim=0)
            nisa.dma_copy(dst=to, src=tile)
    return out
""",
    )
    assert found == status
    assert (_COMPLETE in assumptions) is (status == "verified")


_BLOCKS = """@nki.jit
def blocks(x, where, trips: int):
    rows, columns = x.shape
    assert {demand} and columns <= 500
    assert x.dtype == nl.float32 and where.shape == (rows, 1) and where.dtype == nl.int32
    out = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    for b in range({trips}):
        index = nl.ndarray((90, 1), dtype=nl.int32, buffer=nl.sbuf)
        tile = nl.ndarray((90, columns), dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=index, src=where[b * 90 : b * 90 + 90])
        nisa.dma_copy(dst=tile, src=x[b * 90 : b * 90 + 90])
        to = out.ap([[columns, 90], [1, columns]], vector_offset=index, indirect_dim=0)
        nisa.dma_copy(dst=to, src=tile)
    return out
"""


@pytest.mark.parametrize(
    ("demand", "trips", "status"),
    [
        ("rows % 90 == 0", "rows // 90", "verified"),
        ("rows >= 90", "rows // 90", "unknown"),  # and an error: the rest
        ("rows == 90 * trips", "trips", "verified"),
        ("rows == 90 * trips + 1", "trips", "violated"),
    ],
)
def test_as_many_blocks_as_there_are_may_be_all(
    tmp_path: Path, demand: str, trips: str, status: str
) -> None:
    found, assumptions = _checked(tmp_path, _BLOCKS.format(demand=demand, trips=trips))
    assert found == status
    assert (_COMPLETE in assumptions) is (status == "verified")


@pytest.mark.parametrize(
    ("index", "rows", "columns", "status"),
    [
        ("ip, 0", 90, 40, "verified"),
        ("ip, 0", 80, 40, "violated"),
        ("ip, 0", 90, 39, "violated"),
        ("0 * ip, 0", 90, 40, "unknown"),  # one row, ninety times
    ],
)
def test_rows_that_an_index_array_names_may_be_all(
    tmp_path: Path, index: str, rows: int, columns: int, status: str
) -> None:
    path = tmp_path / "kernel.py"
    path.write_text(f"""from neuronxcc import nki
import neuronxcc.nki.language as nl


@nki.jit
def scattered(x, where):
    assert x.shape == (90, 40) and where.shape == (90, 1) and where.dtype == nl.int32
    out = nl.ndarray((90, 40), dtype=x.dtype, buffer=nl.shared_hbm)
    tile, to = nl.load(x), nl.load(where)
    ip, jf = nl.arange({rows})[:, None], nl.arange({columns})[None, :]
    nl.store(out[to[{index}], jf], value=tile[ip, jf])
    return out
""")
    (kernel,) = check(path).kernels
    assert kernel.status == status
    assert (_COMPLETE in kernel.assumptions) is (status == "verified")


_LOOP = """@nki.jit
def tiles(x, count):
    assert x.shape == (384, 40) and count.shape == (1, 1) and count.dtype == nl.int32
    out = nl.ndarray((384, 40), dtype=x.dtype, buffer=nl.shared_hbm)
    held = nl.ndarray((1, 1), dtype=nl.int32, buffer=nl.sbuf)
    nisa.dma_copy(dst=held, src=count)
    trips = nisa.register_alloc()
    nisa.register_load(trips, held)
    start = nl.ndarray((1, 1), dtype=nl.int32, buffer=nl.sbuf)
    nisa.memset(dst=start, value=0)
    for _ in nl.dynamic_range(0, trips, 1):
        tile = nl.ndarray((128, 40), dtype=x.dtype, buffer=nl.sbuf)
        pattern = [[40, 128], [1, 40]]
        nisa.dma_copy(dst=tile, src=x.ap(pattern, scalar_offset=start, indirect_dim=0))
        nisa.dma_copy(dst=out.ap(pattern, scalar_offset=start, indirect_dim=0), src=tile)
        nisa.tensor_scalar(dst=start, data=start, op0=nl.add, operand0=128)
    {behind}
    return out
"""


def test_a_loop_on_the_device_may_write_all(tmp_path: Path) -> None:
    status, assumptions = _checked(tmp_path, _LOOP.format(behind="pass"))
    assert status == "verified" and _COMPLETE in assumptions
    status, assumptions = _checked(tmp_path, _LOOP.format(behind="nisa.dma_copy(dst=out, src=out)"))
    read = "runtime places in `out`: taken to make it complete before it is read"
    assert status == "verified" and read in assumptions


_PIECES = """@nki.jit
def tiles(x, count, F):
    assert x.shape == (384, F) and F % 40 == {rest}
    assert count.shape == (1, 1) and count.dtype == nl.int32
    out = nl.ndarray((384, F), dtype=x.dtype, buffer=nl.shared_hbm)
    held = nl.ndarray((1, 1), dtype=nl.int32, buffer=nl.sbuf)
    nisa.dma_copy(dst=held, src=count)
    trips = nisa.register_alloc()
    nisa.register_load(trips, held)
    start = nl.ndarray((1, 1), dtype=nl.int32, buffer=nl.sbuf)
    nisa.memset(dst=start, value=0)
    for _ in nl.dynamic_range(0, trips, 1):
        for piece in nl.affine_range(F // 40{less}):
            tile = nl.ndarray((128, 40), dtype=x.dtype, buffer=nl.sbuf)
            nisa.dma_copy(
                dst=tile,
                src=x.ap([[F, 128], [1, 40]], 40 * piece, scalar_offset=start, indirect_dim=0),
            )
            nisa.dma_copy(
                dst=out.ap([[F, 128], [1, {width}]], {step} * piece, scalar_offset=start,
                           indirect_dim=0),
                src=tile[:, :{width}],
            )
        nisa.tensor_scalar(dst=start, data=start, op0=nl.add, operand0=128)
    return out
"""


@pytest.mark.parametrize(
    ("rest", "less", "width", "step", "complete"),
    [
        (0, "", 40, 40, True),
        (1, "", 40, 40, False),  # the last column
        (0, " - 1", 40, 40, False),  # the last piece
        (0, "", 39, 40, False),  # a column of each piece
        (0, "", 40, 0, False),  # the first piece each time
    ],
)
def test_pieces_of_rows_side_by_side_are_whole_rows(
    tmp_path: Path, rest: int, less: str, width: int, step: int, complete: bool
) -> None:
    text = _PIECES.format(rest=rest, less=less, width=width, step=step)
    status, assumptions = _checked(tmp_path, text)
    assert (_COMPLETE in assumptions) is complete
    assert status in (("verified", "conditional") if complete else ("unknown", "violated"))


_SLABS = """# tilelint: contract [2](x: fp32[96, 80], where: int32[3, 1])
@nki.jit
def slabs(x, where):
    out = nl.ndarray((3, 2, 64, 80), dtype=x.dtype, buffer=nl.shared_hbm)
    to = nl.ndarray((1, 1), dtype=nl.int32, buffer=nl.sbuf)
    for part in range({parts}):
        nisa.dma_copy(dst=to, src=where[part : part + 1])
        for column in range(2):
            for row in range(2):
                tile = nl.ndarray((32, 40), dtype=x.dtype, buffer=nl.sbuf)
                nisa.dma_copy(dst=tile, src=x[32 * part : 32 * part + 32, :40])
                nisa.dma_copy(
                    dst=out.ap([[80, {rows}], [1, 40]], {offset}, scalar_offset=to, indirect_dim=0),
                    src=tile[:{rows}],
                )
    return out
"""
_WHERE = "5120 * nl.program_id(0) + 2560 * row + 40 * column"


@pytest.mark.parametrize(
    ("parts", "rows", "offset", "complete"),
    [
        (3, 32, _WHERE, True),
        (2, 32, _WHERE, False),  # a slab too few
        (3, 31, _WHERE, False),  # a row of each block
        (3, 32, _WHERE.replace("5120", "0"), False),  # the first program's half twice
        (3, 32, _WHERE.replace("40", "0"), False),  # the first columns twice
        (3, 32, _WHERE + " + 10240", False),  # no place comes before the second slab
    ],
)
def test_blocks_of_programs_and_loops_are_whole_slabs_in_any_order(
    tmp_path: Path, parts: int, rows: int, offset: str, complete: bool
) -> None:
    text = _SLABS.format(parts=parts, rows=rows, offset=offset)
    status, assumptions = _checked(tmp_path, text)
    assert (_COMPLETE in assumptions) is complete
    assert status in (("verified",) if complete else ("unknown", "violated"))


_PLANES = """@nki.jit
def planes(x, where):
    assert x.shape == (6, 24, 40) and where.shape == (6, 1) and where.dtype == nl.int32
    out = nl.ndarray((6, 24, 40), dtype=x.dtype, buffer=nl.shared_hbm)
    mid = nl.ndarray((6, 24, 40), dtype=x.dtype, buffer=nl.private_hbm)
    row = nl.ndarray((1, 1), dtype=nl.int32, buffer=nl.sbuf)
    tile = nl.ndarray((24, 40), dtype=x.dtype, buffer=nl.sbuf)
    to = nisa.register_alloc()
    {first}
    for k in range(6):
        {each}
        nisa.dma_copy(dst=tile, src=x[k])
        nisa.dma_copy(dst={target}.select(0, to), src=tile)
        {behind}
    {after}
    return out
"""
_LOADED = "nisa.dma_copy(dst=row, src=where[{}]); nisa.register_load(dst=to, src=row)"
_EACH = (
    "tiles = [nl.ndarray((1, 1), dtype=nl.int32, buffer=nl.sbuf) for _ in range(6)]\n"
    "    for k in range(6):\n        nisa.dma_copy(dst=tiles[k], src=where[k : k + 1])"
)
_BACK = "nisa.dma_copy(dst=out[k], src=mid[{}])"


@pytest.mark.parametrize(
    ("first", "each", "status"),
    [
        ("", _LOADED.format("k : k + 1"), "verified"),
        (_LOADED.format("0:1"), "pass", "violated"),  # loaded once: one place
        ("", _LOADED.format("0:1"), "violated"),  # the same element each time
        (_EACH, "nisa.register_load(dst=to, src=tiles[k])", "verified"),
        (_EACH, "nisa.register_load(dst=to, src=tiles[k // 2])", "three"),
        (_EACH, "nisa.register_load(dst=to, src=tiles[k % 3])", "three"),
        (_EACH, "if k < 3: nisa.register_load(dst=to, src=tiles[k])", "three"),
        ("nisa.register_move(dst=to, src=2)", "pass", "violated"),
        (
            "nisa.memset(dst=row, value=0)",
            "nisa.register_load(dst=to, src=row);"
            " nisa.tensor_scalar(dst=row, data=row, op0=nl.add, operand0=1)",
            "counts",
        ),
        ("", _LOADED.format("k : k + 1") + "; nisa.dma_copy(dst=out[0], src=x[0])", "verified"),
    ],
)
def test_rounds_that_all_write_at_one_place_count_once(
    tmp_path: Path, first: str, each: str, status: str
) -> None:
    text = _PLANES.format(first=first, each=each, target="out", behind="pass", after="pass")
    found, assumptions = _checked(tmp_path, text)
    # how far it counts is not followed
    assert found == {"three": "unknown", "counts": "unknown"}.get(status, status)
    assert (_COMPLETE in assumptions) is (status in ("verified", "counts"))


_HALVES = """@nki.jit
def halves(x, where):
    assert x.shape == (12, 24, 40) and where.shape == (12, 12) and where.dtype == nl.int32
    out = nl.ndarray((12, 24, 40), dtype=x.dtype, buffer=nl.shared_hbm)
    row = nl.ndarray((1, 1), dtype=nl.int32, buffer=nl.sbuf)
    tile = nl.ndarray((24, 40), dtype=x.dtype, buffer=nl.sbuf)
    for b in range(3):
        for k in range(4):
            nisa.dma_copy(dst=row, src=where[{row}, {column}])
            to = nisa.register_alloc()
            nisa.register_load(dst=to, src=row)
            nisa.dma_copy(dst=tile, src=x[b * 4 + k])
            nisa.dma_copy(dst=out.select(0, to), src=tile)
    return out
"""


@pytest.mark.parametrize(
    ("row", "column", "complete"),
    [
        ("0:1", "b * 4 + k : b * 4 + k + 1", True),
        ("0:1", "b + k * 3 : b + k * 3 + 1", True),
        ("b : b + 1", "k : k + 1", True),
        ("b : b + 1", "b + k : b + k + 1", True),
        ("0:1", "b + k : b + k + 1", False),
        ("b + k : b + k + 1", "b + k : b + k + 1", False),
        ("0:1", "b * 3 + k : b * 3 + k + 1", False),
        ("k // 2 : k // 2 + 1", "b * 2 + k % 2 : b * 2 + k % 2 + 1", True),
        ("k // 3 : k // 3 + 1", "b * 2 + k % 2 : b * 2 + k % 2 + 1", False),
    ],
)
def test_rounds_that_only_both_counts_tell_apart(
    tmp_path: Path, row: str, column: str, complete: bool
) -> None:
    status, assumptions = _checked(tmp_path, _HALVES.format(row=row, column=column))
    assert (_COMPLETE in assumptions) is complete
    assert status in (("verified",) if complete else ("unknown", "violated"))


_PICKED = """@nki.jit
def picked(x, where):
    assert x.shape == (50, 40) and where.shape == (30, 1) and where.dtype == nl.int32
    out = nl.ndarray((30, 40), dtype=x.dtype, buffer=nl.shared_hbm)
    mid = nl.ndarray((50, 40), dtype=x.dtype, buffer=nl.private_hbm)
    index = nl.ndarray((30, 1), dtype=nl.int32, buffer=nl.sbuf)
    tile = nl.ndarray((30, 40), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=index, src=where)
    for k in range(2):
        {before}
        found = mid.ap([[40, 30], [1, 40]], vector_offset=index, indirect_dim=0)
        nisa.dma_copy(dst=tile, src=found)
        {behind}
    nisa.dma_copy(dst=out, src=tile)
    return out
"""


@pytest.mark.parametrize(
    ("before", "behind", "status"),
    [
        ("nisa.dma_copy(dst=mid[0:20], src=x[0:20])", "pass", "verified"),
        ("nisa.dma_copy(dst=mid[:, 0:39], src=x[:, 0:39])", "pass", "unknown"),
        ("pass", "nisa.dma_copy(dst=mid[0:20], src=x[0:20])", "unknown"),  # in the first round
    ],
)
def test_what_is_picked_may_have_been_written(
    tmp_path: Path, before: str, behind: str, status: str
) -> None:
    found, assumptions = _checked(tmp_path, _PICKED.format(before=before, behind=behind))
    read = "runtime places in `mid`: taken to have been written before it is read"
    assert found == status
    assert (read in assumptions) is (status == "verified")


@pytest.mark.parametrize(
    ("behind", "after", "status"),
    [
        ("pass", "for k in range(6): " + _BACK.format("5 - k"), "verified"),
        (_BACK.format("5 - k"), "pass", "unknown"),  # one of six is there in the first round
    ],
)
def test_what_is_read_in_the_loop_that_fills_it_is_not_complete(
    tmp_path: Path, behind: str, after: str, status: str
) -> None:
    each = _LOADED.format("k : k + 1")
    text = _PLANES.format(first="", each=each, target="mid", behind=behind, after=after)
    found, assumptions = _checked(tmp_path, text)
    assert found == status
    read = "runtime places in `mid`: taken to make it complete before it is read"
    assert (read in assumptions) is (status == "verified")


def test_what_nothing_writes_is_no_question_of_the_data(tmp_path: Path) -> None:
    text = _LOOP.format(behind="pass").replace("dst=out.ap", "dst=x.ap")
    status, assumptions = _checked(tmp_path, text)
    assert status == "violated" and _COMPLETE not in assumptions


_PROGRAMS = """# tilelint: contract [2](x: fp32[192, 40], where: int32[192, 1])
@nki.jit
def shared(x, where):
    mine = nl.program_id(0)
    out = nl.ndarray((192, 40), dtype=x.dtype, buffer=nl.shared_hbm)
    index = nl.ndarray((96, 1), dtype=nl.int32, buffer=nl.sbuf)
    nisa.dma_copy(dst=index, src=where[96 * mine : 96 * mine + 96])
    tile = nl.ndarray((96, 40), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x[96 * mine : 96 * mine + 96])
    to = out.ap([[40, 96], [1, 40]], offset={offset}, vector_offset=index, indirect_dim=0)
    nisa.dma_copy(dst=to, src=tile)
    return out
"""
_APART = "runtime places in `out`: taken to be others in each instance"


def test_programs_with_places_of_their_own_are_taken_to_be_apart(tmp_path: Path) -> None:
    status, assumptions = _checked(tmp_path, _PROGRAMS.format(offset="3840 * mine"))
    assert status == "verified" and _APART in assumptions
    status, assumptions = _checked(tmp_path, _PROGRAMS.format(offset="0"))
    assert status == "unknown" and _APART not in assumptions
