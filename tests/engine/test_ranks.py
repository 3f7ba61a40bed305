"""Ranks that nothing states: one with which the kernel cannot run is never taken."""

from __future__ import annotations

from pathlib import Path

import pytest

from verifier.engine import analyze_file
from verifier.report.model import FileRequest, FileResult

HEAD = """\
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
"""

UNPACKED_LATER = """\
def kernel(field):
    tile = nl.load(field)
    rows, planes, columns = tile.shape
    assert rows <= 96 and planes * columns <= 300
    out = nl.ndarray((rows, planes, columns), dtype=field.dtype, buffer=nl.shared_hbm)
    nl.store(out, value=tile)
    return out
"""

INDEXED_LATER = """\
def kernel(field):
    assert field.shape[1] == 72
    out = nl.ndarray(field.shape, dtype=field.dtype, buffer=nl.shared_hbm)
    for plane in range(field.shape[0]):
        whole = field[plane]
        nl.store(out[plane, 0:72, 0:1], value=nl.load(whole[0:72, 0:1]))
    return out
"""

BROADCAST = """\
def kernel(field):
    assert field.shape[0] == 1 and field.shape[1] == 40
    out = nl.ndarray((104, 40), dtype=field.dtype, buffer=nl.shared_hbm)
    nl.store(out, value=nl.broadcast_to(nl.load(field), shape=(104, 40)))
    return out
"""

VECTORS = """\
def kernel(field, shift):
    out = nl.ndarray(field.shape, dtype=field.dtype, buffer=nl.hbm)
    for k in nl.affine_range(field.shape[0] // 96):
        tile = nl.ndarray((96, 1), dtype=field.dtype, buffer=nl.sbuf)
        other = nl.ndarray((96, 1), dtype=field.dtype, buffer=nl.sbuf)
        nisa.dma_copy(src=field[k * 96 : (k + 1) * 96], dst=tile)
        nisa.dma_copy(src=shift[k * 96 : (k + 1) * 96], dst=other)
        nisa.dma_copy(src=nl.add(tile, other), dst=out[k * 96 : (k + 1) * 96])
    return out
"""


def check(tmp_path: Path, text: str) -> FileResult:
    path = tmp_path / "kernel.py"
    path.write_text(HEAD + text, encoding="utf-8")
    result = analyze_file(FileRequest(path=str(path), roots=(str(tmp_path),)))
    assert not result.errors
    return result


@pytest.mark.parametrize(
    ("text", "fitting"),
    [(UNPACKED_LATER, 3), (INDEXED_LATER, 3), (BROADCAST, 2)],
)
def test_the_rank_that_fits_is_taken_and_said(tmp_path: Path, text: str, fitting: int) -> None:
    result = check(tmp_path, text)
    rules = {d.rule for d in result.diagnostics}
    assert not rules & {"unpack-mismatch", "slice-bounds", "view-precondition"}
    (kernel,) = result.kernels
    ranks = [a for a in kernel.assumptions if a.startswith("field has rank")]
    assert ranks == [f"field has rank {fitting}"]


def test_a_dimension_that_would_have_to_be_1_is_not_assumed(tmp_path: Path) -> None:
    (kernel,) = check(tmp_path, VECTORS).kernels
    assert kernel.precondition is not None and kernel.precondition.exact
    told = {c.text for c in kernel.precondition.main}
    assert {"field has rank 1", "shift has rank 1"} <= set(kernel.assumptions)
    assert told == {"field.shape[0] % 96 == 0", "field.shape[0] <= shift.shape[0]"}


def test_what_fails_whatever_the_rank_is_reported(tmp_path: Path) -> None:
    text = UNPACKED_LATER.replace(
        "    return out", "    low, high = rows, planes, columns\n    return out"
    )
    found = [d for d in check(tmp_path, text).diagnostics if d.rule == "unpack-mismatch"]
    assert [d.verdict for d in found] == ["always"]


def test_a_kernel_that_looks_at_the_rank_is_checked_with_it(tmp_path: Path) -> None:
    text = """\
def kernel(field):
    tile = nl.load(field)
    out = nl.ndarray(field.shape, dtype=field.dtype, buffer=nl.shared_hbm)
    if len(tile.shape) == 2:
        corner = tile[0, 0, 0]
    nl.store(out, value=tile)
    return out
"""
    assert "slice-bounds" in {d.rule for d in check(tmp_path, text).diagnostics}


def test_a_literal_index_counts_for_the_rank(tmp_path: Path) -> None:
    text = """\
def kernel(field):
    out = nl.ndarray(field.shape, dtype=field.dtype, buffer=nl.shared_hbm)
    assert field.shape[0] == 1 and field.shape[1] == 64 and field.shape[2] == 24
    nl.store(out[0], value=nl.load(field[0, 0:64, 0:24]))
    return out
"""
    (kernel,) = check(tmp_path, text).kernels
    assert kernel.status == "verified"


def test_a_parameter_that_is_only_handed_back_is_an_output(tmp_path: Path) -> None:
    result = check(tmp_path, "def kernel(field, other):\n    return field\n")
    assert "no-output" not in {d.rule for d in result.diagnostics}


# ------------------------------------------------------------------------ ahead of the guess

HIDDEN = """\
class Box:
    def __init__(self, held):
        self.held = held

    def planes(self):
        rows, planes, columns = self.held.shape
        return planes


"""

COPIED = """\
def kernel({parameters}):
    {first}
    out = nl.ndarray(field.shape, dtype=field.dtype, buffer=nl.shared_hbm)
    nl.store(out, value=nl.load(field))
{body}
    return out
"""


def copied(
    tmp_path: Path, body: str, parameters: str = "field", first: str = "pass", before: str = ""
) -> tuple[str, list[str], list[str]]:
    """The status, what is said of ranks, and what is found wrong with the ranks of a kernel."""
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    text = COPIED.format(parameters=parameters, first=first, body=lines)
    path = tmp_path / "kernel.py"
    head = HEAD.replace("@nki.jit\n", before + "@nki.jit\n")
    path.write_text(head + text, encoding="utf-8")
    result = analyze_file(FileRequest(path=str(path), roots=(str(tmp_path),)))
    assert not result.errors
    (kernel,) = result.kernels
    ranks = [a for a in kernel.assumptions if "has rank" in a]
    shapes = ("unpack-mismatch", "slice-bounds", "list-index", "no-admitted-input")
    found = [d.rule for d in result.diagnostics if d.rule in shapes and d.verdict != "unknown"]
    return kernel.status, ranks, found


@pytest.mark.parametrize(
    ("body", "rank"),
    [
        ("sizes = field.shape\na, b, c = sizes", 3),
        ("count = len(field.shape)\nassert count == 4", 4),
        ("count = field.ndim\nassert count == 1", 1),
        ("assert len(field.shape) in (3, 4)", 3),
        ("(a, b, c), d = field.shape, 3", 3),
        ("part = out[0, 0, 0, 0]", 4),
        ("demand(field, 3)", 3),
        ("demand(rank=1, other=field)", 1),
        ("demand_usual(field)", 4),
        ("assert len(tuple(field.shape)) == 3", 3),
        ("assert other.shape == field.shape\na, b, c = other.shape", 3),
        ("assert len(other.shape) == len(field.shape)\na, b, c = other.shape", 3),
        ("alike(other, field)\na, b, c = other.shape", 3),
    ],
)
def test_the_text_behind_is_read_ahead(tmp_path: Path, body: str, rank: int) -> None:
    helpers = """\
def demand(other, rank):
    if len(other.shape) != rank:
        raise ValueError


def demand_usual(other, rank=4):
    assert other.ndim == rank


def alike(one, two):
    assert one.shape == two.shape


"""
    _, ranks, found = copied(tmp_path, body, "field, other", before=helpers)
    assert not found
    assert f"field has rank {rank}" in ranks


@pytest.mark.parametrize(
    ("parameter", "rank"),
    [
        ("field: 'bf16[K, M, N]'", 3),
        ("field: Float[Tensor, 'b s h d']", 4),
        ("\n    field,  # [B, S, H]\n    other=None,  # [in] of shape [B, S]\n", 3),
    ],
)
def test_shapes_in_annotations_and_comments(tmp_path: Path, parameter: str, rank: int) -> None:
    _, ranks, _ = copied(
        tmp_path, "pass", parameter, before="from jaxtyping import Float, Tensor\n\n\n"
    )
    assert ranks == [f"field has rank {rank}"]


@pytest.mark.parametrize(
    "body",
    [
        "Box(field).planes()",
        "part = Box(field).held[0, 0, 0]",
        "planes = Box(field).held.shape[2]",
        "assert len(Box(field).held.shape) == 3",
        "if flag:\n    assert len(Box(field).held.shape) == 3",
        "if flag:\n    Box(field).planes()",
        "if len(Box(field).held.shape) != 3:\n    raise ValueError",
        "tile = Box(nl.load(field))\na, b, c = tile.held.shape",
        "tile = Box(nl.load(field))\npart = tile.held[0, 0, 0]",
    ],
)
def test_what_an_assumed_rank_does_not_fit_is_undecided(tmp_path: Path, body: str) -> None:
    first = "assert field.shape[0] <= 128 and field.shape[1] <= 512"
    status, ranks, found = copied(tmp_path, body, "field, flag: bool", first, HIDDEN)
    assert (status, ranks, found) == ("unknown", ["field has rank 2"], [])


@pytest.mark.parametrize(
    ("body", "rule"),
    [
        ("assert len(field.shape) == 3\na, b = field.shape", "unpack-mismatch"),
        ("a, b, c = field.shape\npart = field.shape[3]", "list-index"),
    ],
)
def test_what_contradicts_itself_is_found_whatever_was_assumed(
    tmp_path: Path, body: str, rule: str
) -> None:
    _, _, found = copied(tmp_path, body)
    assert rule in found


def test_other_demands_are_no_doubt(tmp_path: Path) -> None:
    body = "if flag:\n    raise NotImplementedError\nassert field.ndim == 2"
    first = "assert field.shape[0] <= 128 and field.shape[1] <= 512"
    assert copied(tmp_path, body, "field, flag: bool", first)[0] == "verified"


@pytest.mark.parametrize(
    "text", ["a, b, c = field.shape\nassert len(field.shape) == 2", "assert field.shape[2] == 1\n"]
)
def test_demands_that_exclude_each_other_prove_nothing(tmp_path: Path, text: str) -> None:
    first = "assert len(field.shape) == 2" if "a, b" not in text else "pass"
    assert copied(tmp_path, text, first=first)[0] != "verified"


def test_a_part_whose_shape_an_assumed_rank_does_not_fit_closes_no_door(tmp_path: Path) -> None:
    body = "for i in range(len(gates)):\n    assert gates[i][0].shape == (2, 5)"
    first = "assert field.shape[0] <= 128 and field.shape[1] <= 512"
    status, _, found = copied(tmp_path, body, "field, gates", first)
    assert (status, found) == ("unknown", [])
