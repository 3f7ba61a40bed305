"""Tiles, their shapes and dtypes under Python's operations: as in NKI, or unknown."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.told import told
from verifier.executor import simulate

KERNEL = """\
import math

import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def kernel(x):
    P, F = x.shape
    assert P == 64 and F == 96 and x.dtype == nl.bfloat16
    out = nl.ndarray((64, F), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray((64, 96), dtype=nl.bfloat16, buffer=nl.sbuf)
    other = nl.ndarray((64, 96), dtype=nl.bfloat16, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    nisa.dma_copy(dst=other, src=x)
    nisa.dma_copy(dst=out, src=tile)
    {before}
    if {condition}:
        part = tile[0, 0, 0]
    return out
"""


def check(tmp_path: Path, condition: str, before: str = "pass") -> tuple[str, list[str]]:
    """The status of the kernel, and the rules that it breaks for sure."""
    # a generation whose compiler takes `is` (NKI-G31)
    found = told(tmp_path, KERNEL.format(condition=condition, before=before), api="0.2")
    return found.status, [d.rule for d in found.result.diagnostics if d.verdict == "always"]


TRUE = [
    "tile.shape == (64, 96)",
    "list(tile.shape) == [64, 96]",
    "tile.shape[::-1] == (96, 64) and tile.shape[-1] == 96",
    "sum(tile.shape) == 160 and math.prod(x.shape) == 6144",
    "max(tile.shape) == 96 and min(x.shape) == 64",
    "sorted(tile.shape, reverse=True) == [96, 64]",
    "96 in tile.shape and 97 not in x.shape",
    "tile.shape.index(96) == 1 and tile.shape.count(64) == 1",
    "(*tile.shape, 3)[2] == 3 and tile.shape + (1,) == (64, 96, 1)",
    "dict(zip('ab', tile.shape)) == {'a': 64, 'b': 96}",
    "{tile.shape: 5}[(64, 96)] == 5 and len({tile.shape, x.shape}) == 1",
    "tile.shape < (64, 97) and bool(tile.shape)",
    "hash(tile.shape) == hash((64, 96))",
    "f'{tile.shape[0]}' == '64' and format(tile.shape[1], '04d') == '0096'",
    "isinstance(tile.shape, tuple) and type(x.shape) is tuple",
    "isinstance(x.shape[0], int)",
    "tile.dtype in (nl.float32, nl.bfloat16)",
    "{nl.float32: 1, nl.bfloat16: 2}[tile.dtype] == 2",
    "tile.buffer == nl.sbuf and tile.buffer != nl.psum",
    "{nl.add: 1, nl.multiply: 2}[nl.multiply] == 2",
    "tile is tile and tile is not other and tile is not None",
    "len(tile) == 64 and tile.ndim == 2",
    "getattr(tile, 'nothing', 3) == 3 and not hasattr(tile, 'nothing')",
]
FALSE = [
    "tile.shape == [64, 96]",
    "x.shape == [64, 96]",
    "sorted(tile.shape) == (64, 96)",
    "tile.shape == 64 or tile.shape == None",
    "isinstance(tile, (int, tuple, str))",
    "isinstance(tile.shape[0], float)",
    "tile.dtype in [nl.float32]",
    "nl.add == nl.multiply",
    "tile is other or x is tile",
]
UNKNOWN = [
    ("tile in {tile: 1}", "pass"),
    ("False", "for row in tile:\n        pass"),
    ("False", "tile()"),
    ("False", "del tile.shape"),
]
ON_DEVICE = [
    ("tile", "pass"),
    ("not tile", "pass"),
    ("(tile and other) is tile", "pass"),
    ("x", "pass"),
    ("False", "kept = x or tile"),
    ("False", "kept = other if not tile else tile"),
    ("False", "assert tile"),
    ("any([tile, other])", "pass"),
    ("all((True, tile))", "pass"),
    ("(lambda given: given and True)(tile)", "pass"),
    ("tile[0, 0]", "pass"),
    ("not tile[:, 1:3]", "pass"),
    ("tile == other", "pass"),
    ("tile in [other]", "pass"),
    ("(tile > 0 and other) is tile", "pass"),
    ("False", "number = int(tile)"),
    ("False", "number = float(tile)"),
    ("False", "numbers = range(tile)"),
]
ERRORS = [
    ("a, b, c = tile.shape", "unpack-mismatch"),
    ("size = tile.shape[5]", "list-index"),
    ("tile.shape.append(3)", "no-attribute"),
    ("tile.shape[0] = 3", "wrong-type"),
    ("sizes = tile.shape + [1]", "wrong-type"),
    ("sizes = -tile.shape", "wrong-type"),
    ("size = tile.shape['a']", "wrong-type"),
    ("text = format(tile.shape, '5d')", "wrong-type"),
    ("part = tile.nothing", "no-attribute"),
    ("part = nl.nothing_like_it", "no-attribute"),
]


@pytest.mark.parametrize("condition", TRUE)
def test_what_holds(tmp_path: Path, condition: str) -> None:
    assert "slice-bounds" in check(tmp_path, condition)[1]


@pytest.mark.parametrize("condition", FALSE)
def test_what_does_not_hold(tmp_path: Path, condition: str) -> None:
    assert check(tmp_path, condition) == ("verified", [])


@pytest.mark.parametrize(("condition", "before"), UNKNOWN)
def test_what_is_not_followed(tmp_path: Path, condition: str, before: str) -> None:
    status, found = check(tmp_path, condition, before)
    assert status == "unknown" and not found


@pytest.mark.parametrize(("condition", "before"), ON_DEVICE)
def test_what_only_the_device_knows(tmp_path: Path, condition: str, before: str) -> None:
    assert check(tmp_path, condition, before) == ("violated", ["device-condition"])


@pytest.mark.parametrize(("before", "rule"), ERRORS)
def test_errors_of_pythons_own(tmp_path: Path, before: str, rule: str) -> None:
    assert rule in check(tmp_path, "False", before)[1]


BIASED = """\
@nki.jit
def kernel(x, bias{default}):
    use = {condition}
    P, F = x.shape
    assert P <= 128 and F <= 2048
    out = nl.ndarray((P, F), dtype=x.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=x)
    if use:
        assert bias.shape == (P, F)
        nisa.dma_copy(dst=out, src=bias)
    return out
"""
OF_0_6 = "import nki\nimport nki.isa as nisa\nimport nki.language as nl\n\n\n"


def biased(tmp_path: Path, default: str, condition: str) -> tuple[str, list[str]]:
    """As :func:`check`, where an input is a condition before anything says that it is a tensor."""
    text = OF_0_6 + BIASED.format(default=default, condition=condition)
    found = told(tmp_path, text, api="0.6")
    return found.status, found.errors


@pytest.mark.parametrize("condition", ["not not bias", "bool(bias)", "True if bias else False"])
def test_an_input_turns_out_to_be_a_tensor(tmp_path: Path, condition: str) -> None:
    assert biased(tmp_path, "", condition) == ("violated", ["device-condition"])


@pytest.mark.parametrize("condition", ["not not bias", "bool(bias)", "True if bias else False"])
def test_an_input_may_be_none(tmp_path: Path, condition: str) -> None:
    """No document says what a compiler makes of it; a comparison is taken by all."""
    assert biased(tmp_path, "=None", condition) == ("unknown", [])
    local = condition.replace("bias", "(None if bias == None else x)")
    assert biased(tmp_path, "=None", local) == ("unknown", [])
    assert biased(tmp_path, "=None", "bias != None") == ("verified", [])


def test_a_run_tells_as_well(tmp_path: Path) -> None:
    source = OF_0_6 + BIASED.format(default="=None", condition="bias != None and {}")
    given = {"x": np.zeros((48, 80), np.float32), "bias": np.zeros((48, 80), np.float32)}
    for condition, faults in (("x", 1), ("bias", 0), ("bias[0:2, 0:3]", 1), ("x.shape", 0)):
        path = tmp_path / "kernel.py"
        path.write_text(source.format(condition))
        outcome = simulate(f"{path}::kernel", keep_going=True).outcome(**given)
        assert [d.rule for d in outcome.violations] == ["device-condition"] * faults, condition
