"""What is undefined in an output of the caller's, as a run tells of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from verifier.executor import simulate

_KERNEL = """
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def kernel():
    y = nl.ndarray((48, 5), dtype=nl.float32, buffer=nl.shared_hbm)
    t = nl.ndarray((48, 5), dtype=nl.float32, buffer=nl.sbuf)
    u = nl.ndarray((48, 5), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_tensor(dst=y, data1=t, data2=u, op=nl.add)
    return y
"""


def test_of_two_undefined_operands_both_are_told(tmp_path: Path) -> None:
    path = tmp_path / "kernels.py"
    path.write_text(_KERNEL, encoding="utf-8")
    outcome = simulate(f"{path}::kernel", keep_going=True).outcome()
    told = [v for v in outcome.violations if v.rule == "uninitialised-read"]
    assert sorted(v.message.split("`")[1] for v in told) == ["t", "u"]


_CHOSEN = """
{imports}


@nki.jit
def kernel():
    y = nl.ndarray((48, 5), dtype=nl.float32, buffer=nl.shared_hbm)
    t = nl.ndarray({shape}, dtype=nl.float32, buffer=nl.sbuf)
    {rest}
    return y
"""
_BETA_2 = "import nki\nimport nki.isa as nisa\nimport nki.language as nl"
_BETA_1 = _BETA_2.replace("import nki", "import neuronxcc.nki", 3).replace(
    "nki\n", "nki as nki\n", 1
)
_HALF = """
    c = nl.ndarray((48, 5), dtype=nl.{dtype}, buffer=nl.sbuf)
    u = nl.ndarray((48, 5), dtype=nl.float32, buffer=nl.sbuf)
    nisa.memset(dst=t[:, 0:3], value=2.0)
    nisa.memset(dst=c, value=0)
    nisa.memset(dst=c[:, 0:{columns}], value=1)
"""
_REDUCED = (
    _HALF.replace("{dtype}", "uint8")
    + """
    nisa.select_reduce(dst=u, predicate=c, on_true=t, on_false=-9.5)
    nisa.dma_copy(dst=y, src=u)
"""
)
_OF_TWO = (
    _HALF.replace("{dtype}", "float32")
    + """
    nisa.memset(dst=u, value=-9.5)
    nisa.dma_copy(dst=y, src=nl.where(c, t, u))
"""
)
_BY_PLACE = """
    i, j = nl.arange(48)[:, None], nl.arange(5)[None, :]
    t[i, nl.arange(3)[None, :]] = nl.zeros((48, 3), dtype=nl.float32)
    u = nisa.affine_select(pred=(j < {columns}), on_true_tile=t, on_false_value=-9.5)
    nl.store(y, u)
"""


@pytest.mark.parametrize(
    ("imports", "rest"),
    [(_BETA_2, _REDUCED), (_BETA_2, _OF_TWO), (_BETA_1, _BY_PLACE)],
    ids=["select_reduce", "where", "affine_select"],
)
@pytest.mark.parametrize("columns", [3, 4])
def test_what_the_data_choose_of_a_tile_is_told(
    tmp_path: Path, imports: str, rest: str, columns: int
) -> None:
    """Three columns of the tile are written."""
    path = tmp_path / "kernels.py"
    shape = "(nl.par_dim(48), 5)" if imports is _BETA_1 else "(48, 5)"
    rest = rest.format(columns=columns)
    text = _CHOSEN.format(imports=imports, shape=shape, rest=rest)
    path.write_text(text, encoding="utf-8")
    outcome = simulate(f"{path}::kernel", keep_going=True).outcome()
    told = [v.rule for v in outcome.violations]
    assert told == ["uninitialised-read"] * (columns > 3)
