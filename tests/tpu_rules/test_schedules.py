"""Rules on whole OKK kernels: hand-built traces, symbolic and plain, and kernels in text."""

from __future__ import annotations

import pytest

from verifier.engine import analyze_source
from verifier.symbolic import expr as E
from verifier.symbolic.trace import Operation

from .build import Size, folds, holds, local, loop, operation, storage, system, trace

# ----------------------------------------------------------------------------- live overlap


def sum_of_two(second: Size, third: Size, width: Size) -> list[Operation]:
    """Two loads and a sum."""
    x, y = storage("x", 1, declared=False), storage("y", 1, declared=False)
    a, b, c = (local(at, 1, 20, 1, width, lane=0) for at in (0, second, third))
    return [
        operation("gdma_32bit_cpy_S2L", dst=a, src=system(x, 0, 1, 20, 1, width)),
        operation("gdma_32bit_cpy_S2L", dst=b, src=system(x, 0, 1, 20, 1, width)),
        operation("bdc_add", dst=c, src0=a, src1=b),
        operation("gdma_32bit_cpy_L2S", dst=system(y, 0, 1, 20, 1, width), src=c),
    ]


@pytest.mark.parametrize(
    ("second", "fine"), [(0, False), (128, False), (256, False), (384, True), (512, True)]
)
def test_tensors_that_reach_into_each_other(second: int, fine: bool) -> None:
    ops = sum_of_two(second, 4096, 80)  # 320 bytes; what is loaded first is for the sum, too
    assert folds("okk-live-overlap", trace(*ops)) is fine


def test_a_tensor_that_was_read_is_replaced() -> None:
    load = sum_of_two(0, 4096, 80)[0]
    a = local(0, 1, 20, 1, 80, lane=0)
    used = operation("bdc_neg", dst=local(8192, 1, 20, 1, 80, lane=0), src=a)
    assert folds("okk-live-overlap", trace(load, used, *sum_of_two(0, 4096, 80)[1:]))


def test_tensors_of_free_width() -> None:
    width = E.symbol("width", 1, 10_000)
    room = E.ceildiv(width, 32) * 128
    assert holds("okk-live-overlap", trace(*sum_of_two(room, room * 2, width)))
    assert not holds("okk-live-overlap", trace(*sum_of_two(room - 128, room * 2, width)))
    short = trace(*sum_of_two(4096, 8192, width))
    assert not holds("okk-live-overlap", short)
    assert holds("okk-live-overlap", short, E.le(width, 1024))


def test_updates_of_a_part_are_no_overlap() -> None:
    whole = local(0, 1, 20, 8, 8)
    row = local(32, 1, 20, 1, 8)
    ops = [
        operation("bdc_32bit_set_C", dst=whole),
        operation("bdc_32bit_set_C", dst=row),
        operation("bdc_neg", dst=local(4096, 1, 20, 8, 8), src=whole),
    ]
    assert folds("okk-live-overlap", trace(*ops))


@pytest.mark.parametrize("used", [False, True])
def test_a_tensor_that_nobody_has_read_is_not_replaced(used: bool) -> None:
    """Weights below the end of an input that is larger than planned; read before, they may go."""
    weights = local(2048, 1, 20, 1, 64)
    ops = [operation("bdc_32bit_set_C", dst=weights)]
    if used:
        ops.append(operation("bdc_neg", dst=local(65536, 1, 20, 1, 64), src=weights))
    ops += [
        operation("bdc_32bit_set_C", dst=local(0, 1, 20, 1, 1024)),
        operation("bdc_neg", dst=local(65536, 1, 20, 1, 64), src=weights),
    ]
    assert folds("okk-live-overlap", trace(*ops)) is used


def test_other_lanes_are_other_memory() -> None:
    def pair(lane: int) -> list[Operation]:
        first, second = local(0, 1, 8, 1, 40), local(lane * 524288 + 64, 1, 8, 1, 40)
        return [
            operation("bdc_32bit_set_C", dst=first),
            operation("bdc_32bit_set_C", dst=second),
            operation("bdc_neg", dst=local(4096, 1, 8, 1, 40), src=first),
        ]

    assert folds("okk-live-overlap", trace(*pair(8)))
    assert not holds("okk-live-overlap", trace(*pair(7)))


# ----------------------------------------------------------------------------- parallel sections


def pipeline(distance: Size) -> list[Operation]:
    """Loads into one of two buffers in turn while the other one is computed with."""
    steps = E.symbol("steps", 2, 100)
    i = loop("i", steps)
    x = storage("x", 1, declared=False)

    def buffer(index: E.Expr) -> E.Expr:
        return E.lift(distance) * E.mod(index, 2)

    mine = local(buffer(i.index), 1, 4, 1, 300, lane=0)
    other = local(buffer(i.index + 1), 1, 4, 1, 300, lane=0)
    return [
        operation("parallel_start", loops=(i,)),
        operation("gdma_32bit_cpy_S2L", loops=(i,), dst=mine, src=system(x, 0, 1, 4, 1, 300)),
        operation("bdc_neg", loops=(i,), dst=local(65536, 1, 4, 1, 300), src=other),
        operation("parallel_end", loops=(i,)),
    ]


@pytest.mark.parametrize(("distance", "fine"), [(0, False), (1152, False), (1200, True)])
def test_races(distance: int, fine: bool) -> None:
    assert holds("okk-parallel-race", trace(*pipeline(distance))) is fine


def test_races_between_iterations_of_a_loop_in_the_section() -> None:
    def section(step: int) -> list[Operation]:
        i = loop("i", E.symbol("parts", 1, 50))
        x = storage("x", 1, declared=False)
        load = local(i.index * step, 1, 4, 1, 32, lane=0)
        use = local(i.index * step + 128, 1, 4, 1, 32, lane=0)
        return [
            operation("parallel_start"),
            operation("gdma_32bit_cpy_S2L", loops=(i,), dst=load, src=system(x, 0, 1, 4, 1, 32)),
            operation("bdc_neg", loops=(i,), dst=local(65536, 1, 4, 1, 32), src=use),
            operation("parallel_end"),
        ]

    assert holds("okk-parallel-race", trace(*section(256)))
    assert not holds("okk-parallel-race", trace(*section(128)))


def test_two_readers_do_not_race() -> None:
    y = storage("y", 1, declared=False)
    source = local(0, 1, 4, 1, 32)
    ops = [
        operation("parallel_start"),
        operation("gdma_32bit_cpy_L2S", dst=system(y, 0, 1, 4, 1, 32), src=source),
        operation("bdc_neg", dst=local(128, 1, 4, 1, 32), src=source),
        operation("parallel_end"),
    ]
    assert folds("okk-parallel-race", trace(*ops))


@pytest.mark.parametrize(
    ("names", "fine"),
    [
        (("parallel_start", "parallel_end", "poll"), True),
        (("parallel_start", "poll", "parallel_end"), False),
        (("parallel_start", "parallel_start", "parallel_end"), False),
        (("parallel_end",), False),
        (("parallel_start",), False),
    ],
)
def test_nesting(names: tuple[str, ...], fine: bool) -> None:
    assert holds("okk-parallel-nesting", trace(*map(operation, names))) is fine


def test_sections_on_some_paths() -> None:
    flag = E.ge(E.symbol("n", 0, None), 5)
    taken = [operation(name, path=(flag,)) for name in ("parallel_start", "parallel_end")]
    assert holds("okk-parallel-nesting", trace(*taken, operation("poll")))
    crossed = [operation("parallel_start", path=(flag,)), operation("parallel_end")]
    assert not holds("okk-parallel-nesting", trace(*crossed))


@pytest.mark.parametrize("closed", [True, False])
def test_sections_that_reach_into_the_next_iteration(closed: bool) -> None:
    """Each iteration ends what the one before has started; the last one is ended behind."""
    i = loop("i", E.symbol("parts", 1, 50))
    later = operation("parallel_end", loops=(i,), path=(E.ne(i.index, 0),))
    ops = [later, operation("parallel_start", loops=(i,))]
    if closed:
        ops.append(operation("parallel_end"))
    assert holds("okk-parallel-nesting", trace(*ops, operation("poll"))) is closed
    always = operation("parallel_end", loops=(i,))
    again = [always, operation("parallel_start", loops=(i,)), operation("parallel_end")]
    assert not holds("okk-parallel-nesting", trace(*again))


@pytest.mark.parametrize(("buffers", "fine"), [(2, True), (1, False)])
def test_races_with_the_next_iteration(buffers: int, fine: bool) -> None:
    """A result is stored while the next one is cleared."""
    parts = E.symbol("parts", 2, 50)
    i = loop("i", parts)
    y = storage("y", 1, declared=False)
    out = local(E.mod(i.index, buffers) * 1024, 1, 8, 1, 200, lane=0)
    ops = [
        operation("bdc_32bit_set_C", loops=(i,), dst=out),
        operation("parallel_end", loops=(i,), path=(E.ne(i.index, 0),)),
        operation("bdc_relu", loops=(i,), dst=out, src=out),
        operation("parallel_start", loops=(i,)),
        operation("gdma_32bit_cpy_L2S", loops=(i,), dst=system(y, 0, 1, 8, 1, 200), src=out),
        operation("parallel_end"),
    ]
    assert holds("okk-parallel-race", trace(*ops)) is fine


# ----------------------------------------------------------------------------- kernels in text

_PIPELINE = """\
import okk


@okk.kernel
def plus(n: int, c: int, h: int, w: int, x: okk.SystemAddr, y: okk.SystemAddr):
    assert 1 <= n <= 1000 and 1 <= c <= 200 and 1 <= h <= 100 and 1 <= w <= 100
    batch = okk.aligned_stride_32bit(0, okk.dim4(1, c, h, w)).n * 4
    assert batch * 4 <= okk.local_mem_size_per_npu()
    m = okk.local_mem_size_per_npu() // 4 // batch
    assert m <= 65535
    size = m * batch
    out = [0, size]
    inp = [2 * size, @@]
    steps = (n + m - 1) // m
    part = m * c * h * w * 4
    okk.initialize()
    for i in range(steps + 2):
        with okk.parallel():
            if i < steps:
                k = n - (steps - 1) * m if i == steps - 1 else m
                shape = okk.dim4(k, c, h, w)
                okk.gdma_32bit_cpy_S2L(inp[i % 2], x + i * part, shape, None, None)
            if i > 0 and i < steps + 1:
                k = n - (steps - 1) * m if i - 1 == steps - 1 else m
                shape = okk.dim4(k, c, h, w)
                okk.bdc_add_C(out[(i - 1) % 2], inp[(i - 1) % 2], 1.0, shape, None, None)
            if i > 1:
                k = n - (steps - 1) * m if i - 2 == steps - 1 else m
                shape = okk.dim4(k, c, h, w)
                okk.gdma_32bit_cpy_L2S(y + (i - 2) * part, out[(i - 2) % 2], shape, None, None)
    okk.poll()
"""


def found(text: str) -> dict[str, dict[str, object]]:
    """Rule -> counterexample; what is not decided has none."""
    result = analyze_source(text, target="bm1684")
    assert not result.errors
    return {d.rule: dict(d.counterexample or {}) for d in result.diagnostics}


def test_ping_pong() -> None:
    assert found(_PIPELINE.replace("@@", "3 * size")) == {}


def test_ping_pong_that_is_too_close() -> None:
    problems = found(_PIPELINE.replace("@@", "2 * size + size // 2"))
    assert "okk-parallel-race" in problems and problems["okk-parallel-race"]["n"]


def changed(text: str, *pairs: tuple[str, str]) -> str:
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new)
    return text


_ROWS = """\
import okk


@okk.kernel
def rows(n: int, m: int, x: okk.SystemAddr, y: okk.SystemAddr):
    assert 1 <= n <= 100 and 1 <= m <= 1000
    okk.initialize()
    shape = okk.dim4(1, 1, 1, m)
    for i in range(n):
        okk.gdma_32bit_cpy_S2L(i * 4096, x + i * m * 4, shape, None, None)
    for i in range(n):
        okk.bdc_neg(i * 4096, i * 4096, shape, None, None)
    whole = okk.dim4(n, 1, 1, m)
    okk.gdma_32bit_cpy_L2S(y, 0, whole, None, okk.dim4(1024, 1024, 1024, 1))
    okk.poll()
"""


def test_loops_that_fill_and_use_a_buffer() -> None:
    assert found(_ROWS) == {}


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        (("m <= 1000", "m <= 1100"), "okk-live-overlap"),
        (("n <= 100", "n <= 200"), "okk-local-extent"),
        (("    okk.poll()\n", ""), "okk-missing-poll"),
        (("    okk.initialize()\n", ""), "okk-missing-poll"),
        (("i * 4096, i * 4096, shape", "i * 4096, i * 4096 + 500000, shape"), ""),
        (("i * 4096, x + i", "i * 4096 + 2, x + i"), "okk-address-alignment"),
    ],
)
def test_faults_in_loops(change: tuple[str, str], rule: str) -> None:
    problems = found(changed(_ROWS, change))
    assert problems and (not rule or rule in problems), problems


def test_an_early_return_for_empty_inputs_is_fine() -> None:
    head = "    okk.initialize()\n"
    empty = changed(_ROWS, ("1 <= n", "0 <= n"), (head, "    if n == 0:\n        return\n" + head))
    assert "okk-early-return" not in found(empty)
    many = changed(_ROWS, (head, "    if n > 64:\n        return\n" + head))
    assert found(many)["okk-early-return"]["n"] == 65


_SHIFTED = """\
import okk


@okk.kernel
def shifted(length: int, x: okk.SystemAddr, y: okk.SystemAddr):
    assert 1000 <= length <= 1999
    okk.initialize()
    shape = okk.dim4(1, 1, 1, 1000)
    okk.gdma_32bit_cpy_S2L(0, x, shape, None, None)
    okk.gdma_32bit_cpy_L2S(y, 0, shape, None, None)
    rest = okk.dim4(1, 1, 1, @@)
    first = length - @@
    okk.gdma_32bit_cpy_S2L(0, x + first * 4, rest, None, None)
    okk.gdma_32bit_cpy_L2S(y + first * 4, 0, rest, None, None)
    okk.poll()
"""


def test_a_last_tile_that_is_shifted_back_is_fine() -> None:
    # for a length of 1000 it stores the first tile once more
    text = changed(_SHIFTED, ("@@", "1000"), ("1000 <= length", "1001 <= length"))
    assert found(text) == {}


# ----------------------------------------------------------------------------- outputs

_PARTS = """\
import okk


# tilelint: contract (m: 1..20, x: fp32[n, c, h], y: fp32[n, c, h])
@okk.kernel
def parts(n: int, m: int, c: int, h: int, x: okk.SystemAddr, y: okk.SystemAddr):
    assert n <= 1000 and c <= 64 and h <= 20
    size = m * c * h * 4
    okk.initialize()
    for i in range((n + m - 1) // m):
        shape = okk.dim4(min(m, n - m * i), c, 1, h)
        okk.gdma_32bit_cpy_S2L(0, x + i * size, shape, None, None)
        okk.gdma_32bit_cpy_L2S(y + i * size, 0, shape, None, None)
    okk.poll()
"""

_COLUMNS = """\
import okk


# tilelint: contract (x: fp32[n, c], y: fp32[n, c])
@okk.kernel
def columns(n: int, c: int, x: okk.SystemAddr, y: okk.SystemAddr):
    assert n <= 60 and c <= 600
    okk.initialize()
    pitch = okk.dim4(c, c, c, 1)
    for i in range((c + 99) // 100):
        shape = okk.dim4(1, n, 1, min(100, c - 100 * i))
        okk.gdma_32bit_cpy_S2L(0, x + i * 400, shape, None, pitch)
        okk.gdma_32bit_cpy_L2S(y + i * 400, 0, shape, pitch, None)
    okk.poll()
"""


@pytest.mark.parametrize("text", [_PARTS, _COLUMNS], ids=["parts", "columns"])
def test_outputs_that_are_written_in_parts(text: str) -> None:
    assert found(text) == {}


@pytest.mark.parametrize(
    ("text", "change", "rule"),
    [
        (_PARTS, ("(n + m - 1) // m", "n // m"), "okk-output-coverage"),
        (_PARTS, ("min(m, n - m * i)", "m"), "okk-system-extent"),
        (_COLUMNS, ("(c + 99) // 100", "c // 100"), "okk-output-coverage"),
        (_COLUMNS, ("i * 400, 0, shape", "i * 396, 0, shape"), "okk-output-coverage"),
        (_COLUMNS, ("pitch = okk.dim4(c, c", "pitch = okk.dim4(c, c + 1"), "okk-system-extent"),
    ],
)
def test_outputs_with_gaps(text: str, change: tuple[str, str], rule: str) -> None:
    assert rule in found(changed(text, change))


# ----------------------------------------------------------------------------- never written

_ADDED = """\
import okk


@okk.kernel
def added(m: int, n: int, k: int, c: okk.SystemAddr, a: okk.SystemAddr, b: okk.SystemAddr):
    assert 1 <= m <= 64 and 32 <= n <= 1024 and 32 <= k and k % 32 == 0
    okk.initialize()
    right = m * 128
    out = right + 1024 * 128
    for first in range(0, k, 1024):
        inner = min(1024, k - first)
        okk.gdma_32bit_matrix_S2L(0, a + first * 4, m, inner, 32, k)
        okk.gdma_32bit_matrix_S2L(right, b + first * n * 4, inner, n, 32, n)
        okk.bdc_matmul(out, 0, right, 0, m, inner, n, 32, 32, False, first > 0)
    okk.gdma_32bit_matrix_L2S(c, out, m, n, 32, n)
    okk.poll()
"""

_PLACED = """\
import okk


@okk.kernel
def placed(c: int, w: int, y: okk.SystemAddr, x: okk.SystemAddr):
    assert 1 <= c <= 50 and 4 <= w <= 900
    okk.initialize()
    shape = okk.dim4(1, c, 1, w)
    okk.gdma_32bit_cpy_S2L(4096, x, shape, None, None)
    for step in range(3):
        okk.bdc_mul_C(4096, 4096, 0.5, shape, None, None)
    okk.gdma_32bit_cpy_L2S(y, 4096, okk.dim4(1, c, 1, w), None, None)
    okk.poll()
"""


def test_a_sum_starts_with_the_first_product() -> None:
    assert found(_ADDED) == {}
    text = _ADDED.replace("first > 0", "True")
    assert set(found(text)) == {"okk-uninitialised-read"}


@pytest.mark.parametrize(
    ("change", "fine"),
    [
        (("okk.dim4(1, c, 1, w), None, None)", "okk.dim4(1, c, 1, w - 3), None, None)"), True),
        (("okk.dim4(1, c, 1, w), None, None)", "okk.dim4(1, c, 1, w + 1), None, None)"), False),
        (("okk.dim4(1, c, 1, w), None, None)", "okk.dim4(1, c + 1, 1, w), None, None)"), False),
        (("(y, 4096,", "(y, 4100,"), False),
        (("(y, 4096, okk.dim4(1, c, 1, w)", "(y, 4100, okk.dim4(1, c, 1, w - 1)"), True),
    ],
)
def test_all_that_is_read_was_written(change: tuple[str, str], fine: bool) -> None:
    assert found(_PLACED) == {}
    assert ("okk-uninitialised-read" in found(changed(_PLACED, change))) is not fine


_LEFT = """\
import okk


@okk.kernel
def shifted(n: int, x: okk.SystemAddr, y: okk.SystemAddr):
    assert 1 <= n <= 9
    okk.initialize()
    shape = okk.dim4(1, 20, 1, 3)
    okk.gdma_32bit_cpy_S2L(40000, x, shape, None, None)
    okk.gdma_32bit_cpy_L2S(y, 40000, shape, None, None)
    for i in range(n):
        with okk.parallel():
            okk.gdma_32bit_cpy_S2L(i * 128, x + i * 240, shape, None, None)
            if i == 0:
                @@
            okk.bdc_neg((i - 1) * 128, (i - 1) * 128, shape, None, None)
    okk.poll()
"""


@pytest.mark.parametrize("way, unused", [("continue", {"okk-lost-result"}), ("break", set())])
def test_a_section_ends_on_each_way_out(way: str, unused: set[str]) -> None:
    assert set(found(_LEFT.replace("@@", way))) == unused  # no store hangs on what it computes


def test_a_race_behind_an_early_way_out_of_a_section() -> None:
    text = _LEFT.replace("@@", "continue").replace("(i - 1) * 128", "i * 128")
    assert set(found(text)) == {"okk-parallel-race", "okk-lost-result"}


def test_a_return_out_of_a_section_ends_it() -> None:
    text = _LEFT.replace("@@", "return")
    assert set(found(text)) == {"okk-missing-poll"}
    text = text.replace("                return", "                okk.parallel_end()")
    assert "okk-parallel-nesting" in found(text)
