"""Rows about transfers by an index at their limits: twins of their rules.

Each is a kernel that breaks the row, and the same kernel mended.
"""

from __future__ import annotations

from typing import Final

from verifier.rulebase import Twin

_TURNED: Final = """\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def turned(x, i):
    assert x.shape == (512, 96) and x.dtype == nl.bfloat16
    assert i.shape == ({rows}, {columns}) and i.dtype == nl.{dtype}
    out = nl.ndarray((96, {count}), dtype=x.dtype, buffer=nl.shared_hbm)
    index = nl.ndarray(({rows}, {columns}), dtype=nl.{dtype}, buffer=nl.sbuf)
    result = nl.ndarray((96, {count}), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=index, src=i)
    picked = x.ap([[96, {count}], [1, 96]], vector_offset=index, indirect_dim=0, offset=0)
    nisa.dma_transpose(dst=result, src=picked)
    nisa.dma_copy(dst=out, src=result)
    return out
"""


def _turned(rows: int, columns: int, count: int, dtype: str = "uint32") -> str:
    return _TURNED.format(rows=rows, columns=columns, count=count, dtype=dtype)


TRANSPOSED: Final = (
    Twin("DTR09", _turned(48, 1, 48, "int32"), _turned(48, 1, 48), "0.5", "trn2"),
    Twin("DTR09", _turned(64, 3, 192), _turned(128, 3, 384), "0.6", "trn2"),
    Twin("DTR09", _turned(128, 2, 272), _turned(128, 2, 256), "0.6", "trn3"),
    Twin("DTR09", _turned(24, 1, 16), _turned(32, 1, 16), "0.4", "trn2"),
)

_ADDED: Final = """\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def added(table, x, i):
    assert table.shape == (300, 72) and table.dtype == nl.float32
    assert x.shape == (64, 72) and x.dtype == nl.float32
    assert i.shape == (64, 1) and i.dtype == nl.int32
    out = nl.ndarray((300, 72), dtype=nl.float32, buffer=nl.shared_hbm)
    few = nl.ndarray((64, 72), dtype=nl.float32, buffer=nl.shared_hbm)
    index = nl.ndarray((64, 1), dtype=nl.int32, buffer=nl.sbuf)
    held = nl.ndarray((64, 72), dtype=nl.float32, buffer=nl.sbuf)
    other = nl.ndarray((64, 72), dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=index, src=i)
    nisa.dma_copy(dst=held, src=x)
    nisa.dma_copy(dst=other, src=x)
    nisa.dma_copy(dst=out, src=table)
    {call}
    nisa.dma_copy(dst=few, src=held)
    return out, few
"""
_PART: Final = ".ap([[72, 64], [1, 72]], offset=0, vector_offset=index, indirect_dim=0)"


def _added(dst: str, *sources: str) -> str:
    call = f"nisa.dma_compute(dst={dst}, srcs=[{', '.join(sources)}], reduce_op=nl.add)"
    return _ADDED.format(call=call)


_ROWS: Final = f"out{_PART}"

COMPUTED: Final = (
    Twin("DCM05", _added(_ROWS, _ROWS, "x"), _added(_ROWS, _ROWS, "held"), "0.5", "trn2"),
    Twin("DCM05", _added(_ROWS, "other", "held"), _added(_ROWS, "held", _ROWS), "0.6", "trn3"),
    Twin(
        "DCM06",
        _added("held", "other", f"table{_PART}"),
        _added("held", "held", f"table{_PART}"),
        "0.6",
        "trn2",
    ),
)
