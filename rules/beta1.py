"""The 36 errors of the compiler of Beta 1: kernels that each of them is about, and mended ones.

``TWINS`` maps a rule to its examples. A row of the catalogue that says the same as another one
(:mod:`rules.coverage`) is shown by that one.
"""

from __future__ import annotations

from collections.abc import Mapping
from textwrap import dedent, indent
from typing import Final

from verifier.rulebase import Twin

_FRAME: Final = """\
import neuronxcc.nki as nki
import neuronxcc.nki.compiler as ncc
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl
import neuronxcc.nki.typing as nt
import numpy as np

{before}
@nki.jit
def kernel({parameters}):
{asserts}    out = nl.ndarray(({rows}, {columns}), dtype=nl.{dtype}, buffer=nl.shared_hbm)
{body}
    return {result}
"""
_Inputs = Mapping[str, tuple[tuple[int, ...], str]]
_SQUARE: Final[_Inputs] = {"x": ((96, 40), "float32")}


def _kernel(
    body: str,
    inputs: _Inputs = _SQUARE,
    *,
    out: tuple[int, int] = (96, 40),
    dtype: str = "float32",
    annotation: str = "",
    before: str = "",
    result: str = "out",
) -> str:
    """A kernel of Beta 1; ``annotation`` is that of the first input, ``before`` stands above it."""
    names = [f"{name}{annotation if position == 0 else ''}" for position, name in enumerate(inputs)]
    asserts = "".join(
        f"    assert {name}.shape == {shape} and {name}.dtype == nl.{of}\n"
        for name, (shape, of) in inputs.items()
    )
    return _FRAME.format(
        before=before and f"{dedent(before).strip()}\n\n",
        parameters=", ".join(names),
        asserts=asserts,
        rows=out[0],
        columns=out[1],
        dtype=dtype,
        body=indent(dedent(body).strip("\n"), "    "),
        result=result,
    )


def _twin(fact: str, failing: str, passing: str) -> Twin:
    return Twin(fact, failing, passing, "beta1", "trn1")


def _both(fact: str, frame: str, wrong: str, right: str) -> Twin:
    """Two kernels that differ in what stands for ``$``."""
    return _twin(fact, _kernel(frame.replace("$", wrong)), _kernel(frame.replace("$", right)))


# ------------------------------------------------------------------------------- indices

_INDEX: Final = """
row = nl.arange(96)[:, None]
column = nl.arange(40)[None, :]
"""
_ROWS: Final[_Inputs] = {"x": ((96, 40), "float32"), "rows": ((96, 1), "int32")}
_RANK: Final = """
nl.store(out, nl.load(x))
first = nl.exp(nl.load(x)[nl.arange(96)$, 0])
nl.store(out[0:96, 0:1], first)
"""
_PART: Final = f"{_INDEX}nl.store(out[row, column], nl.load(x)[$])"
_READ_ONLY: Final = """
numbers = nl.arange(40)[None, :]
tile = nisa.iota(numbers, dtype=nl.float32).broadcast_to((96, 40))
$[0:1, 5:6] = 1.0
nl.store(out, nl.load(x) + tile)
"""
_DECIDES: Final = f"{_INDEX}tile = nl.load(x)\nnl.store(out, tile)\n"
_MASKED: Final = f"{_DECIDES}nl.store(out[row, column], tile[row, column], mask=$)"


def _gathered(text: str, out: tuple[int, int] = (96, 40)) -> str:
    return _kernel(f"{_INDEX}{text.strip()}", _ROWS, out=out)


_PICKED = _gathered("nl.store(out[row, column], nl.load(x[nl.load(rows)[row, 0], column]))")
_GRID = """
p, f = nl.mgrid[0:96, 0:40]
nl.store(out[row, column], nl.load(x[nl.load(rows)[p, 0], f]))
"""
_ALONG = "nl.store(out[row, column], nl.load(x[row, nl.load(rows)[row, 0]]) + 0.0 * nl.load(x))"
_COPIED = """
tile = nl.load(x)
index = nl.load(rows)
picked = nl.ndarray((96, 40), dtype=x.dtype, buffer=nl.sbuf)
picked[row, column] = $
nl.store(out, picked)
"""
_TURNED: Final = """
index = nl.load(rows)
nl.store(out, nl.load_transpose2d($))
"""

# ------------------------------------------------------------------------------- tensors


def _activated(argument: str, dtype: str, shape: tuple[int, int] = (96, 1)) -> str:
    body = f"nl.store(out, nisa.activation(op=nl.exp, data=nl.load(x), {argument}=nl.load(each)))"
    return _kernel(body, {"x": ((96, 40), "float32"), "each": (shape, dtype)})


_PLACED: Final = "nl.float32, buffer=ncc.sbuf.mod_alloc(base_addr={}))"
_BY_HAND: Final = f"""
tile = nl.$((nl.par_dim(96), 40), {_PLACED.format(0)}
bias = nl.ndarray((nl.par_dim(96), 1), {_PLACED.format(192)}
tile[...] = nl.load(x)
bias[...] = nl.load(x[0:96, 0:1])
tile[...] = nisa.activation(op=nl.exp, data=tile, bias=bias)
"""
_OURS = _kernel(f"{_BY_HAND.replace('$', 'ndarray')}nl.store(out, tile)")


def _placed(old: str, new: str) -> str:
    """The kernel that places its tiles, with something else instead of a part of it."""
    assert old in _OURS, old
    return _OURS.replace(old, new)


_TWICE: Final = """
tile = nl.ndarray((nl.par_dim(32), 32), nl.float32, buffer=ncc.sbuf.mod_alloc(base_addr=0))
turned = nl.ndarray((nl.par_dim(32), 32), nl.float32, buffer=ncc.$.mod_alloc({}))
tile[...] = nl.load(x)
turned[...] = nisa.nc_transpose(tile{})
nl.store(out, turned)
"""
_SMALL: Final[_Inputs] = {"x": ((32, 32), "float32")}
_BY_TENSOR = _TWICE.format("base_addr=192", "").replace("$", "sbuf")
_BY_VECTOR = _TWICE.format("base_addr=192", ", engine=nisa.vector_engine").replace("$", "sbuf")
_BLOCKS: Final = """
tiles = nl.ndarray((2, nl.par_dim(96), 40), dtype=x.dtype, buffer=nl.sbuf)
for k in nl.affine_range(2):
    tiles[k] = nl.load(x)
"""
_LATER_BLOCKS: Final = """\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def second(x):
    assert x.shape == (96, 40) and x.dtype == nl.float32
    out = nl.ndarray((96, 40), dtype=x.dtype, buffer=nl.shared_hbm)
    tiles = nl.ndarray(($, 40), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tiles[1], src=x)
    nisa.dma_copy(dst=out, src=tiles[1])
    return out
"""
_FLAT: Final = """
tiles = nl.ndarray((nl.par_dim(96), 2, 40), dtype=x.dtype, buffer=nl.sbuf)
for k in nl.affine_range(2):
    tiles[:, k] = nl.load(x)
"""
_INNER: Final = """
@nki.trace
def store_doubled(into, source):
    nl.store(into, nl.load(source) * 2.0)
"""
_LAST: Final = """
def last(x):
    for k in nl.{}:
        tile = nl.load(x)
    return tile
"""
_SCOPE: Final = """
for k in nl.affine_range(4):
    tile = nl.ndarray((96, 10), dtype=x.dtype, buffer=nl.sbuf)
    if k < 2:
        $ = nl.load(x[0:96, 10 * k : 10 * k + 10])
    else:
        $ = nl.load(x[0:96, 10 * k : 10 * k + 10]) * 2.0
    nl.store(out[0:96, 10 * k : 10 * k + 10], tile)
"""
_SHARED: Final = "nl.ndarray((96, 40), dtype=nl.float32, buffer=nl.shared_hbm)"
_MADE: Final = "nl.{}((96, 40), {}dtype=nl.float32, buffer=nl.{})"


def _shaped(rows: int, columns: int, body: str) -> str:
    return _kernel(body, {"x": ((rows, columns), "float32")}, out=(rows, columns))


_UPDATED = "nl.store(out, nl.load(x))\nnl.store(x, nl.load(x) * 2.0)"
_WHOLE: Final = "nl.store(out, nl.load(x))"
_COUNTED: Final = """
nl.store(out, nl.load(x))
count = nl.load(x[0:1, 0:1])
$:
    count[...] = count + 1.0
"""

_BLANK: Final = """
blank = nl.zeros($, dtype=nl.float32, buffer=nl.sbuf)
twice = nl.add(blank, 3.0)
"""
_EIGHT: Final = "for k in nl.sequential_range(8):"
_CUT: Final = """
turned = nisa.nc_transpose(nl.load(x))
nl.store(out, nl.copy(turned[0:40, 0:96]))
"""
_ASSIGNED: Final = """
tile = nl.zeros((96, $), dtype=nl.float32, buffer=nl.sbuf)
tile[...] = nl.load(x)
nl.store(out, nl.load(x) + tile)
"""

_REPEATED: Final = """
a = nl.load(x)
nl.store(out, nisa.tensor_tensor(a, a[:, 3:$], op=nl.add))
"""

TWINS: Final[Mapping[str, tuple[Twin, ...]]] = {
    "free-size-mismatch": (_both("TTN01", _REPEATED, "5", "4"),),
    "beta1-index-rank": (_both("E01", _RANK, "", "[:, None]"),),
    "operand-dtype": (
        _twin("E02", _activated("bias", "int8"), _activated("bias", "bfloat16")),
        _twin("E03", _activated("scale", "float16"), _activated("scale", "float32")),
    ),
    "vector-operand-shape": (
        _twin("ACT04", _activated("scale", "float32", (96, 2)), _activated("scale", "float32")),
    ),
    "device-condition": (
        _both("E05", "tile = nl.load(x)\nnl.store(out, $)", "not (tile > 0.0)", "~(tile > 0.0)"),
        _twin(
            "E10",
            _kernel(f"{_DECIDES}if column > 20:\n    nl.store(out, tile * 2.0)"),
            _kernel(f"{_DECIDES}nl.store(out[row, column], tile[row, column], mask=column > 20)"),
        ),
        _twin(
            "E12",
            _kernel(f"{_WHOLE}\nif nl.load(x[0:1, 0:1]):\n    nl.store(out, nl.load(x) * 2.0)"),
            _kernel(f"{_WHOLE}\nif x.shape[0] == 96:\n    nl.store(out, nl.load(x) * 2.0)"),
        ),
        _both("E36", _COUNTED, "while count < 10.0", "for k in nl.sequential_range(10)"),
    ),
    "annotation-mismatch": (
        _both("E06", "t: nt.tensor[96, $] = nl.load(x)\nnl.store(out, t)", "41", "40"),
    ),
    "direct-allocation": (
        _twin("E07", _placed(", bias=bias", ""), _OURS),
        _twin("E29", _placed("tile = nl.ndarray", "tile = nl.zeros"), _OURS),
        _twin(
            "E31",
            _kernel(_BY_TENSOR, _SMALL, out=(32, 32)),
            _kernel(_BY_VECTOR, _SMALL, out=(32, 32)),
        ),
        _twin(
            "B11", _placed("nl.float32, buffer=ncc.sbuf.mod_alloc(base_addr=192)", "x.dtype"), _OURS
        ),
        _twin(
            "B12",
            _placed("nisa.activation(op=nl.exp, data=tile, bias=bias)", "nl.exp(tile)"),
            _OURS,
        ),
    ),
    "index-read-only": (_both("E08", _READ_ONLY, "numbers", "tile"),),
    "parameter-update": (
        _twin(
            "E09",
            _kernel(_UPDATED),
            _kernel(_UPDATED, annotation=": nt.mutable_tensor", result="out, x"),
        ),
        _twin(
            "B26",
            _kernel(_UPDATED, annotation=": nt.tensor", result="out, x"),
            _kernel(_UPDATED, annotation=": nt.tensor[nt.mutable]", result="out, x"),
        ),
        _twin(
            "E20",
            _kernel(_UPDATED, annotation=": nt.mutable_tensor", result="None"),
            _kernel(_UPDATED, annotation=": nt.mutable_tensor", result="x, out"),
        ),
        _twin(
            "E20",
            _kernel(_UPDATED, annotation=": nt.mutable_tensor"),
            _kernel(_UPDATED, annotation=": nt.mutable_tensor", result="out, x"),
        ),
    ),
    "beta1-runtime-index": (
        _twin(
            "E11",
            _gathered(_COPIED.replace("$", "tile[index[row, 0], column]")),
            _gathered(_COPIED.replace("$", "tile[row, column]")),
        ),
        _twin(
            "E16",
            _gathered(_TURNED.replace("$", "x[index[row, 0], column]"), (40, 96)),
            _gathered(_TURNED.replace("$", "x[row, column]"), (40, 96)),
        ),
        _twin("E17", _gathered(_GRID), _PICKED),
        _twin("E17", _gathered(_ALONG), _PICKED),
        _twin("X67", _PICKED.replace("nl.load(rows)", "rows"), _PICKED),
        _twin("X67", _PICKED.replace("nl.load(rows)[row, 0]", "rows"), _PICKED),
    ),
    "language-transpose": (
        _twin(
            "L29",
            _kernel("nl.store(out, nl.transpose(nl.load(x)))", {"x": ((40, 96, 1), "float32")}),
            _kernel("nl.store(out, nl.transpose(nl.load(x)))", {"x": ((40, 96), "float32")}),
        ),
    ),
    "partition-step": (
        _twin(
            "E14",
            _kernel(f"{_BLANK.replace('$', '(2, nl.par_dim(96), 40)')}nl.store(out, twice[0])"),
            _kernel(f"{_BLANK.replace('$', '(nl.par_dim(96), 40)')}nl.store(out, twice)"),
        ),
    ),
    "beta1-creation": (
        _twin(
            "E15",
            _kernel(f"{_WHOLE}\nmore = {_MADE.format('full', '1.0, ', 'shared_hbm')}"),
            _kernel(
                f"more = {_MADE.format('full', '1.0, ', 'sbuf')}\nnl.store(out, nl.load(x) + more)"
            ),
        ),
        _twin(
            "E25",
            _kernel(f"{_WHOLE}\n{_EIGHT}\n    more = {_SHARED}\n    nl.store(more, nl.load(x))"),
            _kernel(f"{_WHOLE}\nmore = {_SHARED}\n{_EIGHT}\n    nl.store(more, nl.load(x))"),
        ),
        _twin(
            "E25",
            _kernel(f"{_WHOLE}\nfor k in nl.affine_range(1):\n    more = {_SHARED}"),
            _kernel(f"{_WHOLE}\nfor k in nl.static_range(1):\n    more = {_SHARED}"),
        ),
        _twin(
            "E25",
            _kernel(f"{_WHOLE}\nif nl.program_id(0) >= 1:\n    more = {_SHARED}"),
            _kernel(f"{_WHOLE}\nmore = {_SHARED}"),
        ),
    ),
    "block-dimension": (
        _twin(
            "E18",
            _kernel(f"{_BLOCKS}nl.store(out, tiles[1])"),
            _kernel(f"{_FLAT}nl.store(out, tiles[:, 1])"),
        ),
        Twin(
            "P03",
            _LATER_BLOCKS.replace("$", "2, nl.par_dim(96)"),
            _LATER_BLOCKS.replace("$", "nl.par_dim(96), 2").replace("tiles[1]", "tiles[:, 1]"),
            "0.2",
            "trn2",
        ),
    ),
    "beta1-scope": (
        _both("E19", _SCOPE, "tile", "tile[...]"),
        _twin(
            "LP13",
            _kernel("for k in nl.affine_range(4):\n    tile = nl.load(x)\nnl.store(out, tile)"),
            _kernel(
                "for k in nl.affine_range(4):\n    tile = nl.load(x)\nnl.store(out, nl.load(x))"
            ),
        ),
        _twin(
            "LP13",  # a loop of one trip is a loop; a comprehension is Python's own
            _kernel("for k in nl.affine_range(1):\n    tile = nl.load(x)\nnl.store(out, tile)"),
            _kernel("tiles = [nl.load(x) for k in range(1)]\nnl.store(out, tiles[0])"),
        ),
        _twin(
            "LP13",
            _kernel("nl.store(out, last(x))", before=_LAST.format("sequential_range(1)")),
            _kernel("nl.store(out, last(x))", before=_LAST.format("static_range(1)")),
        ),
    ),
    "nested-grid": (
        _twin(
            "E21",
            _kernel("store_doubled[2](out, x)", before=_INNER),
            _kernel("store_doubled(out, x)", before=_INNER),
        ),
    ),
    "outside-kernel": (
        _twin(
            "E22",
            _kernel(_WHOLE, before="ONES = nl.ones((96, 40), dtype=nl.float32, buffer=nl.sbuf)"),
            _kernel(_WHOLE, before="ROWS = nl.tile_size.pmax"),
        ),
    ),
    "partition-extent": (_twin("P01", _shaped(129, 40, _WHOLE), _shaped(128, 40, _WHOLE)),),
    "partition-mismatch": (
        _twin(
            "P09",
            _kernel(
                "nl.store(out, nisa.tensor_tensor(nl.load(x), nl.load(x[0:95, 0:40]), op=nl.add))"
            ),
            _kernel(
                "nl.store(out, nisa.tensor_tensor(nl.load(x), nl.load(x[0:96, 0:40]), op=nl.add))"
            ),
        ),
    ),
    "transpose-size": (
        _twin(
            "TRN02",
            _kernel(_CUT, {"x": ((96, 129), "float32")}, out=(40, 96)),
            _kernel(_CUT, {"x": ((96, 128), "float32")}, out=(40, 96)),
        ),
    ),
    "assignment-shape": (
        _both(
            "X69",
            _ASSIGNED,
            "1",
            "40",
        ),
    ),
    "slice-bounds": (
        _both(
            "X63",
            f"{_INDEX}{_WHOLE}\nnl.store(out[row, column], nl.load(x[row + $, column]))",
            "1",
            "0",
        ),
    ),
    "output-not-written": (
        _both(
            "E30", "for k in nl.affine_range(96 // $):\n    nl.store(out, nl.load(x))", "97", "96"
        ),
    ),
    "loop-carried-dependence": (
        _both(
            "E32",
            "for k in nl.$(4):\n    nl.store(out, nl.load(x))",
            "affine_range",
            "sequential_range",
        ),
        _both(
            "E32",
            "tile = nl.ndarray((nl.par_dim(96), 40), dtype=nl.float32, buffer=nl.sbuf)\n"
            "for k in nl.affine_range(4):\n"
            "    $[...] = nl.load(x)\n"
            "tile[...] = nl.load(x)\n"
            "nl.store(out, tile)",
            "tile",
            "own = nl.ndarray((nl.par_dim(96), 40), dtype=nl.float32, buffer=nl.sbuf)\n    own",
        ),
    ),
    "beta1-mask": (
        _both("E33", _MASKED, "column % 4 < 2", "column < 2"),
        _both("E33", _MASKED, "tile > 0.0", "column < 40"),
        _both("X64", _MASKED, "(row < 3) | (column < 2)", "(row < 3) & (column < 2)"),
        _both("X64", _MASKED, "(row < 3) and (column < 2)", "(row < 3) & (column < 2)"),
        _both("X64", _MASKED, "column % 64 < 64", "column < 64"),
        _both("X64", _MASKED, "(row < 96) & (row // 96 == 0)", "(row < 96) & (row >= 0)"),
        _both("X64", _MASKED, "3 <= column < 20", "(3 <= column) & (column < 20)"),
    ),
    "operand-buffers": (_both("N09", "nl.store(out, nl.exp($))", "x", "nl.load(x)"),),
    "beta1-mixed-indexing": (_both("E35", _PART, "row, 0:40", "row, column"),),
}
