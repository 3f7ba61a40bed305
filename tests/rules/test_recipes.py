"""A rule, a target: each is added as ``rules/README.md`` says, and nothing else changes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.commands import python
from tests.trees import copied

_RULE = """

def _even_rows(op: Operation, target: Target) -> Iterator[Check]:
    dst = op.view("dst")
    if dst is not None:
        yield check(
            op,
            "dst",
            E.eq(E.mod(dst.partitions, 2), 0),
            "partitions of dst are even",
            "dst has an odd number of partitions",
            "TRN01",
            values=(("partitions of dst", dst.partitions),),
        )


register(
    Rule(
        id="even-rows",
        code="NKI699",
        family="vector",
        summary="copies are of an even number of partitions",
        reason="Partitions come in pairs.",
        facts=("TRN01",),
        on=On.OPERATION,
        concerns=lambda i: Trait.COPIES in i.traits and i.computes,
        check=_even_rows,
        sources=("none",),
        failing="",
        passing="",
    )
)
"""

#: the newest target, and one of the generation after it that can do the same
_NEWEST = '        _target("trn3", 4,'
_TARGET = """        _target(
            "trn9", 9, 320, (4096, 8192), (128, 64, 32), 2, 144, _TRN3, others=("inf9",)
        ),
"""

_KERNEL = """
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def kernel(x):
    assert x.shape == ({rows}, {columns}) and x.dtype == nl.uint8
    if nisa.get_nc_version() < nisa.nc_version.gen9:
        nisa.no_such_function()
    out = nl.ndarray((nl.tile_size.pmax * 0 + {rows}, 8), dtype=x.dtype, buffer=nl.shared_hbm)
    held = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
    copied = nl.ndarray(({rows}, 8), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=held, src=x, priority=1)
    nisa.tensor_copy(dst=copied, src=held[:, 0:8])
    nisa.dma_copy(dst=out, src=copied)
    return out
"""


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program with a rule and a target more."""
    top = copied(tmp_path_factory.mktemp("recipes"))
    with (top / "rules/nki/vector/reductions.py").open("a", encoding="utf-8") as family:
        family.write(_RULE)
    targets = top / "verifier/hardware/targets.py"
    head, mark, tail = targets.read_text(encoding="utf-8").partition(_NEWEST)
    line, end, rest = tail.partition("\n")
    targets.write_text(f"{head}{mark}{line}{end}{_TARGET}{rest}", encoding="utf-8")
    return top


def checked(tree: Path, folder: Path, target: str, rows: int, columns: int) -> dict[str, Any]:
    path = folder / "kernel.py"
    path.write_text(_KERNEL.format(rows=rows, columns=columns), encoding="utf-8")
    done = python(
        *("-m", "verifier", "check", "--no-cache", "--format", "json"),
        *("--target", target, path),
        cwd=tree,
        tree=tree,
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def errors(report: dict[str, Any]) -> set[str]:
    return {item["rule"] for item in report["diagnostics"] if item["severity"] == "error"}


@pytest.mark.parametrize("name", ["trn9", "inf9", "gen9"])
def test_a_target_is_added_by_its_entry(tree: Path, tmp_path: Path, name: str) -> None:
    # more than the others hold, less than it does
    report = checked(tree, tmp_path, name, 128, 300_000)
    assert [kernel["target"] for kernel in report["kernels"]] == ["trn9"]
    assert [kernel["status"] for kernel in report["kernels"]] == ["verified"]
    assert errors(checked(tree, tmp_path, name, 128, 330_000)) == {"sbuf-tile-size"}


def test_earlier_targets_are_told_from_it(tree: Path, tmp_path: Path) -> None:
    assert "no-attribute" in errors(checked(tree, tmp_path, "trn3", 128, 300))


def test_a_rule_is_added_in_the_file_of_its_family(tree: Path, tmp_path: Path) -> None:
    assert errors(checked(tree, tmp_path, "trn9", 128, 300)) == set()
    assert errors(checked(tree, tmp_path, "trn9", 127, 300)) == {"even-rows"}
    listed = python("-m", "verifier", "rules", cwd=tree, tree=tree).stdout
    assert "even-rows" in listed
    told = python("-m", "verifier", "explain", "even-rows", cwd=tree, tree=tree).stdout
    assert "Partitions come in pairs." in told
