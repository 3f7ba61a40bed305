"""Rows about indirect operands at their limits: twins of their rules.

Each is a kernel that breaks the row, and the same kernel mended.
"""

from __future__ import annotations

from typing import Final

from rules.nki.samples import kernel
from verifier.rulebase import Twin

_FRAME: Final = """\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def named(x, i):
    assert x.shape == (64, 80) and x.dtype == nl.{dtype}
    assert i.shape == (64, 3) and i.dtype == nl.uint16
    out = nl.ndarray((64, 48), dtype=nl.{dtype}, buffer=nl.shared_hbm)
    tile = nl.ndarray((64, 80), dtype=nl.{dtype}, buffer=nl.{memory}{tile})
    held = nl.ndarray((64, 80), dtype=nl.{dtype}, buffer=nl.sbuf)
    index = nl.ndarray((64, 3), dtype=nl.uint16, buffer=nl.sbuf{index})
    other = nl.ndarray((64, 3), dtype=nl.uint16, buffer=nl.sbuf{other})
    kept = nl.ndarray((64, 48), dtype=nl.{dtype}, buffer=nl.sbuf)
    nisa.dma_copy(dst=index, src=i)
    nisa.dma_copy(dst=other, src=i)
    nisa.dma_copy(dst=held, src=x)
    nisa.tensor_copy(dst=tile, src=held)
    {call}
    nisa.dma_copy(dst=out, src=kept)
    return out
"""
_COLUMNS: Final = "tile.indirect(index, num_elem=48)"


def _named(
    call: str,
    *,
    dtype: str = "bfloat16",
    memory: str = "sbuf",
    tile: str = "",
    index: str = "",
    other: str = "",
) -> str:
    return _FRAME.format(call=call, dtype=dtype, memory=memory, tile=tile, index=index, other=other)


def _copied(source: str = _COLUMNS, more: str = "") -> str:
    return f"nisa.tensor_copy(dst=kept, src={source}{more})"


def _engine(name: str) -> str:
    return _copied(more=f", engine=nisa.engine.{name}")


def _at(partition: int, byte: int = 0) -> str:
    return f", address=({partition}, {byte})"


def _scattered(engine: str, memory: str) -> str:
    """The result of a copy is scattered over a tile that holds zeros."""
    scatter = f"dst=spread.indirect(i_tile, num_elem=40), src=x_tile, engine=nisa.engine.{engine}"
    return kernel(
        "scattered",
        {"x": ((96, 40), "float32"), "i": ((96, 3), "uint16")},
        ((96, 200), "float32"),
        f"""
        spread = nl.zeros((96, 200), dtype=nl.float32, buffer=nl.{memory})
        nisa.tensor_copy({scatter})
        nisa.tensor_copy(dst=result, src=spread)
        """,
    )


def _placed(source: str, start: int, index: int, memory: str = "sbuf") -> str:
    """The destination is scattered; data and index lie where they are put."""
    return f"""\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def placed(x, i):
    assert x.shape == (32, 40) and x.dtype == nl.float32
    assert i.shape == (32, 3) and i.dtype == nl.uint16
    out = nl.ndarray((32, 200), dtype=nl.float32, buffer=nl.shared_hbm)
    held = nl.ndarray((32, 40), dtype=nl.float32, buffer=nl.sbuf)
    tile = nl.ndarray((32, 40), dtype=nl.float32, buffer=nl.{memory}, address=({start}, 0))
    index = nl.ndarray((32, 3), dtype=nl.uint16, buffer=nl.sbuf, address=({index}, 4096))
    other = nl.ndarray((32, 3), dtype=nl.uint16, buffer=nl.sbuf, address=({start}, 8192))
    spread = nl.zeros((32, 200), dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=index, src=i)
    nisa.dma_copy(dst=other, src=i)
    nisa.dma_copy(dst=held, src=x)
    nisa.tensor_copy(dst=tile, src=held)
    nisa.tensor_copy(dst=spread.indirect(index, num_elem=40), src={source})
    nisa.dma_copy(dst=out, src=spread)
    return out
"""


_MOVING: Final = "b_tile.indirect(i_tile, num_elem=32)"


def _product(dtype: str = "bfloat16", more: str = "", moving: str = _MOVING) -> str:
    return kernel(
        "product",
        {"a": ((64, 48), dtype), "b": ((64, 32), dtype), "i": ((64, 2), "uint16")},
        ((48, 32), "float32"),
        f"""
        sums = nl.ndarray((48, 32), dtype=nl.float32, buffer=nl.psum)
        nisa.nc_matmul(dst=sums, stationary=a_tile, moving={moving}{more})
        nisa.tensor_copy(dst=result, src=sums)
        """,
    )


def _scales(picked: str) -> str:
    """A product of packed elements whose columns an index picks."""
    return kernel(
        "product",
        {
            "a": ((64, 96), "float8_e4m3fn_x4"),
            "b": ((64, 256), "float8_e4m3fn_x4"),
            "s": ((64, 96), "uint8"),
            "t": ((64, 256), "uint8"),
            "i": ((64, 4), "uint16"),
        },
        ((96, 256), "float32"),
        f"""
        sums = nl.ndarray((96, 256), dtype=nl.float32, buffer=nl.psum)
        moving = b_tile.indirect(i_tile, num_elem=256)
        scales = t_tile{picked}
        nisa.nc_matmul_mx(sums, a_tile, moving, s_tile, scales)
        nisa.tensor_copy(dst=result, src=sums)
        """,
    )


def _scaled(dtype: str) -> str:
    data = "x_tile.indirect(i_tile, num_elem=40)"
    return kernel(
        "scaled",
        {"x": ((96, 80), dtype), "i": ((96, 3), "uint16")},
        ((96, 40), dtype),
        f"nisa.tensor_scalar(dst=result, data={data}, op0=nl.add, operand0=4)",
    )


_PLAIN: Final = _named(_copied())
_ADDED: Final = "nisa.tensor_tensor(dst=kept, data1={}, data2={}, op=nl.add)"
_PART: Final = "tile[:, 0:48]"

_HALVES: Final = (
    "nisa.tensor_copy(dst=kept[0:32], src=tile[{}].indirect(index[0:32], num_elem=48))\n"
    "    nisa.tensor_copy(dst=kept[32:64], src=tile[32:64].indirect(index[32:64], num_elem=48))"
)


def _spread(part: str) -> str:
    """The first quadrant of the result is scattered over, by the index beside it."""
    return kernel(
        "spread",
        {"x": ((96, 40), "float32"), "i": ((96, 3), "uint16")},
        ((96, 200), "float32"),
        f"""
        nisa.memset(dst=result, value=0.0)
        spread = result[0:32].indirect(i_tile[0:32], num_elem=40)
        nisa.tensor_copy(dst=spread, src=x_tile[{part}])
        """,
    )


INDIRECTION: Final = (
    Twin("TI01", _PLAIN, _named(_copied(_PART)), "0.6", "trn2"),
    Twin("H87", _PLAIN, _named(_copied(_PART)), "0.5", "trn1"),
    Twin(
        "TI09",
        _named(_ADDED.format(_PART, _COLUMNS)),
        _named(_ADDED.format(_COLUMNS, _PART)),
        "0.6",
        "trn3",
    ),
    Twin("TI09", _named(f"nisa.dma_copy(dst=kept, src={_COLUMNS})"), _PLAIN, "0.5", "trn3"),
    Twin("TI10", _named(_engine("gpsimd")), _named(_engine("scalar")), "0.6", "trn3"),
    Twin("TI08", _scattered("scalar", "psum"), _scattered("vector", "psum"), "0.6", "trn3"),
    Twin("TI08", _scattered("scalar", "psum"), _scattered("scalar", "sbuf"), "0.5", "trn3"),
    Twin(
        "TI04",
        _named(_copied(), index=_at(16, 4096)),
        _named(_copied(), index=_at(64, 4096)),
        "0.6",
        "trn3",
    ),
    Twin(
        "TI05",
        _named(_copied(), tile=_at(0, 8192), index=_at(64, 4096)),
        _named(_copied(), tile=_at(64, 8192), index=_at(64, 4096)),
        "0.6",
        "trn3",
    ),
    Twin("TI05", _named(_HALVES.format("32:64")), _named(_HALVES.format("0:32")), "0.6", "trn3"),
    Twin("TI06", _spread("32:64"), _spread("0:32"), "0.5", "trn3"),
    Twin("TI06", _placed("tile", 32, 64), _placed("tile", 64, 64), "0.6", "trn3"),
    Twin(
        "TI07",
        _placed("tile.indirect(other, num_elem=40)", 32, 64, "psum"),
        _placed("tile.indirect(other, num_elem=40)", 64, 64, "psum"),
        "0.6",
        "trn3",
    ),
    Twin("TI11", _product("float32"), _product("float16"), "0.6", "trn3"),
    Twin(
        "TI11",
        _product(more=", tile_position=(0, 64), tile_size=(64, 64)"),
        _product(),
        "0.6",
        "trn3",
    ),
    Twin("TI12", _scales(""), _scales(".indirect(i_tile, num_elem=256)"), "0.6", "trn3"),
    Twin("TI13", _scaled("int32"), _scaled("int16"), "0.6", "trn3"),
)
