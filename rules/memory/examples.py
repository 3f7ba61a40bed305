"""Complete kernels, one that breaks each memory rule and one that keeps it."""

from __future__ import annotations

from typing import Final

from verifier.rulebase import Twin

_HEAD: Final = """\
import nki
import nki.isa as nisa
import nki.language as nl


"""

_BETA1: Final = """\
from neuronxcc import nki
import neuronxcc.nki.language as nl


"""

# ----------------------------------------------------------------- uninitialised-read

UNINITIALISED_FAILING: Final = (
    _HEAD
    + '''\
@nki.jit
def row_sums(scores):
    """Sums of the rows of scores[96, n]; the row buffer is filled in chunks of 256."""
    rows, n = scores.shape
    assert rows == 96
    assert n >= 256 and n <= 4096
    sums = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.shared_hbm)
    row_buf = nl.ndarray((rows, n), dtype=scores.dtype, buffer=nl.sbuf)
    for c in range(n // 256):
        nisa.dma_copy(
            dst=row_buf[0:rows, c * 256 : (c + 1) * 256],
            src=scores[0:rows, c * 256 : (c + 1) * 256],
        )
    total = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_reduce(dst=total, op=nl.add, data=row_buf, axis=1)
    nisa.dma_copy(dst=sums, src=total)
    return sums
'''
)

UNINITIALISED_PASSING: Final = UNINITIALISED_FAILING.replace(
    "    assert n >= 256 and n <= 4096\n",
    "    assert n >= 256 and n <= 4096\n    assert n % 256 == 0\n",
)


def _picked(given: str) -> str:
    return (
        _HEAD
        + f'''\
@nki.jit
def picked(x):
    """A plane of x[n, 64, 36], at an offset in a register."""
    assert x.shape == (9, 64, 36) and x.dtype == nl.float32
    out = nl.ndarray((64, 36), dtype=nl.float32, buffer=nl.shared_hbm)
    plane = nl.ndarray((64, 36), dtype=nl.float32, buffer=nl.sbuf)
    first = nl.ndarray((1, 1), dtype=nl.int32, buffer=nl.sbuf)
    nisa.memset(dst=first, value=7)
    where = nisa.register_alloc()
    {given}
    pattern = [[36, 64], [1, 36]]
    nisa.dma_copy(dst=plane, src=x.ap(pattern, scalar_offset=where, indirect_dim=0))
    nisa.dma_copy(dst=out, src=plane)
    return out
'''
    )


def _shuffled(columns: str) -> str:
    return (
        _HEAD
        + f'''\
@nki.jit
def shuffled(x, y):
    """Half of the rows of each quadrant of x[64, 18], and rows of y[64, 18] in the other half."""
    assert x.shape == (64, 18) and y.shape == (64, 18)
    assert x.dtype == nl.float32 and y.dtype == nl.float32
    out = nl.ndarray((64, 18), dtype=nl.float32, buffer=nl.shared_hbm)
    rows = nl.ndarray((64, 18), dtype=nl.float32, buffer=nl.sbuf)
    both = nl.ndarray((64, 18), dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=rows, src=x)
    nisa.dma_copy(dst=both[:, {columns}], src=y[:, {columns}])
    mask = [15 - k for k in range(16)] + [255] * 16
    nisa.nc_stream_shuffle(dst=both, src=rows, shuffle_mask=mask)
    nisa.dma_copy(dst=out, src=both)
    return out
'''
    )


def _counted(stored: str) -> str:
    return (
        _HEAD
        + f'''\
@nki.jit
def counted(x):
    """Where row 16 of x[32, 18] is not zero, and in how many places."""
    assert x.shape == (32, 18) and x.dtype == nl.int32
    out = nl.ndarray((1, 19), dtype=nl.int32, buffer=nl.shared_hbm)
    rows = nl.ndarray((32, 18), dtype=nl.int32, buffer=nl.sbuf)
    found = nl.ndarray((32, 19), dtype=nl.int32, buffer=nl.sbuf)
    nisa.dma_copy(dst=rows, src=x)
    nisa.nonzero_with_count(dst=found, src=rows)
    nisa.dma_copy(dst=out, src=found[{stored}])
    return out
'''
    )


UNINITIALISED_TWINS: Final = (
    Twin(
        "REG06",
        _picked("other = nisa.register_alloc(7)"),
        _picked("nisa.register_load(where, first)"),
        "0.5",
        "trn2",
    ),
    Twin("SHF07", _shuffled("0:17"), _shuffled("0:18"), "0.4", "trn2"),
    Twin("NZC04", _counted("15:16, :"), _counted("16:17, :"), "0.5", "trn3"),
)

# ----------------------------------------------------------------- output-not-written

OUTPUT_FAILING: Final = (
    _HEAD
    + '''\
@nki.jit
def doubled(table):
    """2 * table, a band of 128 rows at a time."""
    height, width = table.shape
    assert height >= 128 and width <= 1024
    result = nl.ndarray((height, width), dtype=table.dtype, buffer=nl.shared_hbm)
    for band in range(height // 128):
        tile = nl.ndarray((128, width), dtype=table.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile, src=table[band * 128 : (band + 1) * 128, 0:width])
        nisa.tensor_scalar(dst=tile, data=tile, op0=nl.multiply, operand0=2.0)
        nisa.dma_copy(dst=result[band * 128 : (band + 1) * 128, 0:width], src=tile)
    return result
'''
)

OUTPUT_PASSING: Final = OUTPUT_FAILING.replace(
    "    assert height >= 128 and width <= 1024\n",
    "    assert height % 128 == 0 and width <= 1024\n",
)

# ----------------------------------------------------------------- input-tail-dropped

TAIL_FAILING: Final = (
    _HEAD
    + '''\
@nki.jit
def gram(left, right):
    """left.T @ right for left[K, 64] and right[K, 320], summed over K in steps of 128."""
    depth, m = left.shape
    depth_, n = right.shape
    assert depth == depth_ and depth >= 128
    assert m == 64 and n == 320 and left.dtype == right.dtype
    product = nl.ndarray((m, n), dtype=nl.float32, buffer=nl.shared_hbm)
    acc = nl.ndarray((m, n), dtype=nl.float32, buffer=nl.psum)
    for k in range(depth // 128):
        a = nl.ndarray((128, m), dtype=left.dtype, buffer=nl.sbuf)
        b = nl.ndarray((128, n), dtype=right.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=a, src=left[k * 128 : (k + 1) * 128, 0:m])
        nisa.dma_copy(dst=b, src=right[k * 128 : (k + 1) * 128, 0:n])
        nisa.nc_matmul(dst=acc, stationary=a, moving=b)
    out = nl.ndarray((m, n), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_copy(dst=out, src=acc)
    nisa.dma_copy(dst=product, src=out)
    return product
'''
)

TAIL_PASSING: Final = TAIL_FAILING.replace("and depth >= 128\n", "and depth % 128 == 0\n")

# ----------------------------------------------------------------- lost-product

LOST_PASSING: Final = TAIL_PASSING.replace("moving=b)", "moving=b, accumulate=k > 0)")
LOST_FAILING: Final = LOST_PASSING.replace("accumulate=k > 0", "accumulate=False")

# ----------------------------------------------------------------- lost-load

LOST_LOAD_PASSING: Final = (
    _HEAD
    + '''\
@nki.jit
def doubled_pages(pages):
    """Twice each page of pages[n, 96, 200]; the next one is loaded while one is worked on."""
    n, rows, columns = pages.shape
    assert n >= 2 and rows == 96 and columns == 200
    doubled = nl.ndarray((n, rows, columns), dtype=pages.dtype, buffer=nl.shared_hbm)
    buffers = [nl.ndarray((96, 200), dtype=pages.dtype, buffer=nl.sbuf) for _ in range(2)]
    nisa.dma_copy(dst=buffers[0], src=pages[0])
    for p in range(n):
        if p + 1 < n:
            nisa.dma_copy(dst=buffers[(p + 1) % 2], src=pages[p + 1])
        twice = nl.ndarray((96, 200), dtype=pages.dtype, buffer=nl.sbuf)
        nisa.tensor_tensor(dst=twice, data1=buffers[p % 2], data2=buffers[p % 2], op=nl.add)
        nisa.dma_copy(dst=doubled[p], src=twice)
    return doubled
'''
)
LOST_LOAD_FAILING: Final = LOST_LOAD_PASSING.replace("% 2]", "% 1]")

# ----------------------------------------------------------------- lost-result

LOST_RESULT_PASSING: Final = (
    _HEAD
    + '''\
@nki.jit
def page_sum(pages):
    """The sum of pages[n, 96, 200]."""
    n, rows, columns = pages.shape
    assert rows == 96 and columns == 200
    summed = nl.ndarray((rows, columns), dtype=pages.dtype, buffer=nl.shared_hbm)
    total = nl.ndarray((96, 200), dtype=pages.dtype, buffer=nl.sbuf)
    nisa.memset(dst=total, value=0.0)
    for p in range(n):
        page = nl.ndarray((96, 200), dtype=pages.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=page, src=pages[p])
        nisa.tensor_tensor(dst=total, data1=total, data2=page, op=nl.add)
    nisa.dma_copy(dst=summed, src=total)
    return summed
'''
)
_ZERO: Final = "    nisa.memset(dst=total, value=0.0)\n"
_ROUND: Final = "    for p in range(n):\n"
LOST_RESULT_FAILING: Final = LOST_RESULT_PASSING.replace(_ZERO + _ROUND, _ROUND + "    " + _ZERO)

# ----------------------------------------------------------------- stale-rest

STALE_PASSING: Final = (
    _HEAD
    + '''\
@nki.jit
def row_totals(scores):
    """Sums of the rows of scores[80, n], 200 columns at a time."""
    rows, n = scores.shape
    assert rows == 80 and n >= 200
    totals = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.shared_hbm)
    total = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf)
    nisa.memset(dst=total, value=0.0)
    part = nl.ndarray((rows, 200), dtype=scores.dtype, buffer=nl.sbuf)
    for c in range(0, n, 200):
        width = min(200, n - c)
        nisa.dma_copy(dst=part[:, 0:width], src=scores[:, c : c + width])
        sums = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_reduce(dst=sums, op=nl.add, data=part[:, 0:width], axis=1)
        nisa.tensor_tensor(dst=total, data1=total, data2=sums, op=nl.add)
    nisa.dma_copy(dst=totals, src=total)
    return totals
'''
)
STALE_FAILING: Final = STALE_PASSING.replace("data=part[:, 0:width]", "data=part")

# ----------------------------------------------------------------- input-part-skipped

SKIPPED_PASSING: Final = """\
import ppl
import ppl.language as pl


# tilelint: contract (out_ptr: fp16[4, 40], x_ptr: fp16[4 * count, 40], count: 3..50)
@ppl.jit
def total(out_ptr, x_ptr, count):
    x_all = pl.gtensor([1, 4 * count, 1, 40], pl.GLOBAL, x_ptr)
    out_all = pl.gtensor([1, 4, 1, 40], pl.GLOBAL, out_ptr)
    sums = pl.make_tensor([1, 4, 1, 40], pl.float16)
    x = pl.make_tensor([1, 4, 1, 40], pl.float16)
    pl.tiu.zero(sums)
    for b in range(0, count):
        pl.dma.load(x, x_all.sub_view([1, 4, 1, 40], [0, 4 * b, 0, 0]))
        pl.tiu.fadd(sums, sums, x)
    pl.dma.store(out_all, sums)
"""
SKIPPED_FAILING: Final = SKIPPED_PASSING.replace("range(0, count)", "range(1, count)")

# ----------------------------------------------------------------- loop-carried-dependence

DEPENDENCE_FAILING: Final = (
    _BETA1
    + '''\
@nki.jit
def last_wins(frames):
    """Stores every frame of frames[count, 64, 200] to one place."""
    count, rows, columns = frames.shape
    assert count >= 1 and rows == 64 and columns == 200
    shown = nl.ndarray((64, 200), dtype=frames.dtype, buffer=nl.shared_hbm)
    for f in nl.affine_range(count):
        frame = nl.load(frames[f, 0:64, 0:200])
        nl.store(shown[0:64, 0:200], value=frame)
    return shown
'''
)

DEPENDENCE_PASSING: Final = (
    _BETA1
    + '''\
@nki.jit
def each_its_own(frames):
    """Stores every frame of frames[count, 64, 200] to a place of its own."""
    count, rows, columns = frames.shape
    assert count >= 1 and rows == 64 and columns == 200
    shown = nl.ndarray((count, 64, 200), dtype=frames.dtype, buffer=nl.shared_hbm)
    for f in nl.affine_range(count):
        frame = nl.load(frames[f, 0:64, 0:200])
        nl.store(shown[f, 0:64, 0:200], value=frame)
    return shown
'''
)

# ----------------------------------------------------------------- psum-accumulation

ACCUMULATION_FAILING: Final = (
    _HEAD
    + '''\
@nki.jit
def panels(weights, inputs):
    """weights.T @ inputs for weights[128, 96], a panel of 256 columns at a time."""
    k, m = weights.shape
    k_, n = inputs.shape
    assert k == 128 and k_ == 128 and m == 96
    assert n % 256 == 0 and weights.dtype == inputs.dtype
    result = nl.ndarray((m, n), dtype=nl.float32, buffer=nl.shared_hbm)
    w = nl.ndarray((128, m), dtype=weights.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=w, src=weights)
    acc = nl.ndarray((m, 256), dtype=nl.float32, buffer=nl.psum)
    for p in range(n // 256):
        x = nl.ndarray((128, 256), dtype=inputs.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=x, src=inputs[0:128, p * 256 : (p + 1) * 256])
        nisa.nc_matmul(dst=acc, stationary=w, moving=x)
        y = nl.ndarray((m, 256), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_copy(dst=y, src=acc)
        nisa.dma_copy(dst=result[0:m, p * 256 : (p + 1) * 256], src=y)
    return result
'''
)

_ACC_LINE: Final = "    acc = nl.ndarray((m, 256), dtype=nl.float32, buffer=nl.psum)\n"
_LOOP_LINE: Final = "    for p in range(n // 256):\n"

ACCUMULATION_PASSING: Final = ACCUMULATION_FAILING.replace(
    _ACC_LINE + _LOOP_LINE, _LOOP_LINE + "    " + _ACC_LINE
)

# ----------------------------------------------------------------- accumulator-chain

CHAIN_FAILING: Final = (
    _HEAD
    + '''\
@nki.jit
def partition_sums(x):
    """exp(x) summed along the rows of x[96, 40*n], a strip of 40 columns at a time."""
    rows, width = x.shape
    assert rows == 96 and width % 40 == 0 and x.dtype == nl.float32
    out = nl.ndarray((96, 1), dtype=nl.float32, buffer=nl.shared_hbm)
    sums = nl.ndarray((96, 1), dtype=nl.float32, buffer=nl.sbuf)
    for k in range(width // 40):
        strip = nl.ndarray((96, 40), dtype=nl.float32, buffer=nl.sbuf)
        powers = nl.ndarray((96, 40), dtype=nl.float32, buffer=nl.sbuf)
        nisa.dma_copy(dst=strip, src=x[0:96, k * 40 : (k + 1) * 40])
        command = nisa.reduce_cmd.reduce
        nisa.activation(
            dst=powers,
            op=nl.exp,
            data=strip,
            reduce_op=nl.add,
            reduce_res=sums,
            reduce_cmd=command,
        )
    nisa.dma_copy(dst=out, src=sums)
    return out
'''
)

CHAIN_PASSING: Final = CHAIN_FAILING.replace(
    "command = nisa.reduce_cmd.reduce",
    "command = nisa.reduce_cmd.reset_reduce if k == 0 else nisa.reduce_cmd.reduce",
)

_CHAIN: Final = (
    _HEAD
    + '''\
@nki.jit
def chain(x):
    """Two strips of x[80, 54], reduced together."""
    assert x.shape == (80, 54) and x.dtype == nl.float32
    out = nl.ndarray((80, 1), dtype=nl.float32, buffer=nl.shared_hbm)
    a = nl.ndarray((80, 27), dtype=nl.float32, buffer=nl.sbuf)
    b = nl.ndarray((80, 27), dtype=nl.float32, buffer=nl.sbuf)
    made = nl.ndarray((80, 27), dtype=nl.float32, buffer=nl.sbuf)
    other = nl.ndarray((80, 1), dtype=nl.float32, buffer=nl.sbuf)
    sums = nl.ndarray((80, 1), dtype=nl.float32, buffer=nl.sbuf)
    low = nl.ndarray((80, 1), dtype=nl.float32, buffer=nl.sbuf)
    high = nl.ndarray((80, 1), dtype=nl.float32, buffer=nl.sbuf)
    mask = nl.ndarray((80, 27), dtype=nl.uint8, buffer=nl.sbuf)
    nisa.memset(dst=low, value=3.0)
    nisa.memset(dst=high, value=19.0)
    nisa.memset(dst=mask, value=1)
    nisa.dma_copy(dst=a, src=x[:, 0:27])
    nisa.dma_copy(dst=b, src=x[:, 27:54])
'''
)


def _calls(*lines: str) -> str:
    """A chain of calls: each is a function with a command and what the result is read out into."""
    made: list[str] = []
    for line in lines:
        call, data, command, to = line.split()
        head, tail = _CALLS[call]
        result = "" if to == "-" else f", reduce_res={to}"
        command = f", reduce_cmd=nisa.reduce_cmd.{command}" if command != "-" else ""
        made.append(f"    nisa.{head}(dst=made, {tail.format(data)}{command}{result})\n")
    return _CHAIN + "".join(made) + "    nisa.dma_copy(dst=out, src=sums)\n    return out\n"


_CALLS: Final = {
    "act": ("activation", "op=nl.square, data={}, reduce_op=nl.add"),
    "actr": ("activation_reduce", "op=nl.square, data={}, reduce_op=nl.add"),
    "tsr": ("tensor_scalar_reduce", "data={}, op0=nl.add, operand0=2.0, reduce_op=nl.maximum"),
    "least": ("tensor_scalar_reduce", "data={}, op0=nl.add, operand0=2.0, reduce_op=nl.minimum"),
    "exp": ("exponential", "src={}"),
    "range": (
        "range_select",
        "on_true_tile={}, comp_op0=nl.greater, comp_op1=nl.less, bound0=low, bound1=high",
    ),
    "select": ("select_reduce", "predicate=mask, on_true={}, on_false=1.5"),
}

_LONG: Final = "reset_reduce -"
_ENDS: Final = "reduce sums"

CHAIN_TWINS: Final = (
    Twin(
        "AC01",
        _calls(f"act a {_LONG}", "actr b - other", f"act b {_ENDS}"),
        _calls("actr b - other", f"act a {_LONG}", f"act b {_ENDS}"),
        "0.5",
        "trn2",
    ),
    Twin(
        "AC02",
        _calls(f"tsr a {_LONG}", "range b reset_reduce other", f"tsr b {_ENDS}"),
        _calls(f"tsr a {_LONG}", f"tsr b {_ENDS}", "range b reset_reduce other"),
        "0.6",
        "trn3",
    ),
    Twin(
        "AC03",
        _calls(f"tsr a {_LONG}", "least a reset_reduce other", f"tsr b {_ENDS}"),
        _calls("least a reset_reduce other", f"tsr a {_LONG}", f"tsr b {_ENDS}"),
        "0.6",
        "trn2",
    ),
    Twin("AC04", _calls(f"act a {_ENDS}"), _calls("act a reset_reduce sums"), "0.4", "trn2"),
    Twin(
        "ACT13",
        _calls("act a idle sums"),
        _calls(f"act a {_LONG}", f"act b {_ENDS}"),
        "0.3",
        "trn2",
    ),
    Twin(
        "ACR04",
        _calls("actr a - other", f"act b {_ENDS}"),
        _calls("actr a - other", "act b reset_reduce sums"),
        "0.4",
        "trn2",
    ),
    Twin(
        "AC05",
        _calls(f"tsr a {_LONG}", "select b idle -", f"tsr b {_ENDS}"),
        _calls("select b idle -", f"tsr a {_LONG}", f"tsr b {_ENDS}"),
        "0.6",
        "trn2",
    ),
    Twin("TSR10", _calls(f"tsr a {_ENDS}"), _calls("tsr a reset_reduce sums"), "0.6", "trn2"),
    Twin(
        "EXP08",
        _calls("exp a idle sums"),
        _calls("exp a idle -", "exp a reset_reduce sums"),
        "0.6",
        "trn3",
    ),
    Twin(
        "RSL09",
        _calls(f"range a {_ENDS}"),
        _calls(f"range a {_LONG}", f"range b {_ENDS}"),
        "0.5",
        "trn3",
    ),
    Twin(
        "SLR08",
        _calls(f"select a {_LONG}", "select b idle -", f"select b {_ENDS}"),
        _calls(f"select a {_LONG}", f"select b {_ENDS}", "select b idle -"),
        "0.5",
        "trn2",
    ),
)

UNREAD_FAILING: Final = _calls(f"act a {_LONG}", "act b reset_reduce sums")
UNREAD_PASSING: Final = _calls(f"act a {_LONG}", "act b reduce sums")

# ----------------------------------------------------------------- sbuf-capacity

CAPACITY_FAILING: Final = (
    _HEAD
    + '''\
@nki.jit
def scaled_sum(a, b):
    """a + b for two tensors of 128 rows, each held on the chip as a whole."""
    rows, width = a.shape
    assert rows == 128 and b.shape == a.shape
    assert a.dtype == nl.float32 and b.dtype == nl.float32
    assert width >= 1 and width <= 40000
    out = nl.ndarray((128, width), dtype=nl.float32, buffer=nl.shared_hbm)
    left = nl.ndarray((128, width), dtype=nl.float32, buffer=nl.sbuf)
    right = nl.ndarray((128, width), dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=left, src=a)
    nisa.dma_copy(dst=right, src=b)
    nisa.tensor_tensor(dst=left, data1=left, data2=right, op=nl.add)
    nisa.dma_copy(dst=out, src=left)
    return out
'''
)

CAPACITY_PASSING: Final = CAPACITY_FAILING.replace("width <= 40000", "width <= 16384")

# ----------------------------------------------------------------- psum-banks

_BANKS_BODY: Final = '''\
@nki.jit
def {name}(weights, inputs):
    """weights.T @ inputs for weights[64, 128] and inputs[64, {columns}]."""
    assert weights.shape == (64, 128) and inputs.shape == (64, {columns})
    assert weights.dtype == inputs.dtype
    result = nl.ndarray((128, {columns}), dtype=nl.float32, buffer=nl.shared_hbm)
    w = nl.ndarray((64, 128), dtype=weights.dtype, buffer=nl.sbuf)
    x = nl.ndarray((64, {columns}), dtype=inputs.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=w, src=weights)
    nisa.dma_copy(dst=x, src=inputs)
    sums = []
    for j in range({panels}):
        acc = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.psum)
        nisa.nc_matmul(dst=acc, stationary=w, moving=x[0:64, j * 512 : (j + 1) * 512])
        sums.append(acc)
    for j in range({panels}):
        y = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_copy(dst=y, src=sums[j])
        nisa.dma_copy(dst=result[0:128, j * 512 : (j + 1) * 512], src=y)
    return result
'''

BANKS_FAILING: Final = _HEAD + _BANKS_BODY.format(name="ten_panels", columns=5120, panels=10)
BANKS_PASSING: Final = _HEAD + _BANKS_BODY.format(name="six_panels", columns=3072, panels=6)

# ----------------------------------------------------------------- output-buffer

BUFFER_FAILING: Final = (
    _HEAD
    + '''\
@nki.jit
def negated(vector):
    """-vector for vector[32, 100]."""
    assert vector.shape == (32, 100)
    out = nl.ndarray((32, 100), dtype=vector.dtype, buffer=nl.private_hbm)
    tile = nl.ndarray((32, 100), dtype=vector.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=vector)
    nisa.tensor_scalar(dst=tile, data=tile, op0=nl.multiply, operand0=-1.0)
    nisa.dma_copy(dst=out, src=tile)
    return out
'''
)

BUFFER_PASSING: Final = BUFFER_FAILING.replace("buffer=nl.private_hbm", "buffer=nl.shared_hbm")

# ----------------------------------------------------------------- oversized-tile

OVERSIZED_FAILING: Final = (
    _HEAD
    + '''\
@nki.jit
def narrow(image):
    """A copy of image[128, 192] through a tile of another width."""
    assert image.shape == (128, 192)
    out = nl.ndarray((128, 192), dtype=image.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray((128, 512), dtype=image.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile[0:128, 0:192], src=image)
    nisa.dma_copy(dst=out, src=tile[0:128, 0:192])
    return out
'''
)

OVERSIZED_PASSING: Final = OVERSIZED_FAILING.replace("(128, 512)", "(128, 192)")

# ----------------------------------------------------------------- address-overlap

ADDRESS_FAILING: Final = (
    _HEAD
    + '''\
@nki.jit
def placed(a, b):
    """a + b for two tensors [128, 300], in tiles placed by hand."""
    assert a.shape == (128, 300) and b.shape == (128, 300)
    assert a.dtype == nl.float32 and b.dtype == nl.float32
    out = nl.ndarray((128, 300), dtype=nl.float32, buffer=nl.shared_hbm)
    left = nl.ndarray((128, 300), dtype=nl.float32, buffer=nl.sbuf, address=(0, 0))
    right = nl.ndarray((128, 300), dtype=nl.float32, buffer=nl.sbuf, address=(0, 1024))
    nisa.dma_copy(dst=left, src=a)
    nisa.dma_copy(dst=right, src=b)
    nisa.tensor_tensor(dst=left, data1=left, data2=right, op=nl.add)
    nisa.dma_copy(dst=out, src=left)
    return out
'''
)

ADDRESS_PASSING: Final = ADDRESS_FAILING.replace("address=(0, 1024)", "address=(0, 1280)")

# ----------------------------------------------------------------- no-output

NO_OUTPUT_FAILING: Final = (
    _HEAD
    + '''\
@nki.jit
def forgotten(source):
    """Copies source[16, 80] and forgets to return it."""
    assert source.shape == (16, 80)
    target = nl.ndarray((16, 80), dtype=source.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray((16, 80), dtype=source.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=source)
    nisa.dma_copy(dst=target, src=tile)
'''
)

NO_OUTPUT_PASSING: Final = NO_OUTPUT_FAILING + "    return target\n"

# ----------------------------------------------------------------- tile-displaced

TILES_FAILING: Final = (
    _BETA1.replace(
        "import neuronxcc.nki.language",
        "import neuronxcc.nki.compiler as ncc\nimport neuronxcc.nki.language",
    )
    + '''\
@nki.jit
def rotating(x):
    """Copies x[3, 64, 50] through three tiles, all of which are loaded before one is stored."""
    assert x.shape == (3, 64, 50)
    out = nl.ndarray((3, 64, 50), dtype=nl.float32, buffer=nl.shared_hbm)
    placed = ncc.sbuf.mod_alloc(base_addr=0, num_free_tiles=(2,))
    tiles = nl.ndarray((3, nl.par_dim(64), 50), dtype=nl.float32, buffer=placed)
    for i in nl.affine_range(3):
        tiles[i] = nl.load(x[i])
    for i in nl.affine_range(3):
        nl.store(out[i], value=tiles[i])
    return out
'''
)

TILES_PASSING: Final = TILES_FAILING.replace("num_free_tiles=(2,)", "num_free_tiles=(3,)")

# ----------------------------------------------------------------- transfer-overlap

TRANSFER_FAILING: Final = (
    _HEAD
    + '''\
@nki.jit
def shifted(x):
    """x[64, 24] with each row but the first replaced by the one before it."""
    assert x.shape == (64, 24) and x.dtype == nl.float32
    out = nl.ndarray((64, 24), dtype=nl.float32, buffer=nl.shared_hbm)
    tile = nl.ndarray((64, 24), dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    nisa.dma_copy(dst=out, src=tile)
    nisa.dma_copy(dst=out[1:64, :], src=out[0:63, :])
    return out
'''
)

TRANSFER_PASSING: Final = TRANSFER_FAILING.replace("src=out[0:63, :]", "src=tile[0:63, :]")
