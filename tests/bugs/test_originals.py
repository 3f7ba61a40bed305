"""The public faults themselves, at the commits that have them.

Opt-in: ``TILELINT_CORPUS`` names a directory of clones that has ``nki-samples`` with its history.
Files are read with ``git show`` into a temporary folder; the clones are left as they are.
"""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.bugs.support import clone, elements, needs_clone
from verifier.engine import analyze_file
from verifier.report.model import Diagnostic, FileRequest

_FOLDER = "src/nki_samples/tutorials"
_MATMUL = f"{_FOLDER}/matrix_multiplication/matrix_multiplication_nki_kernels.py"
_POOL = f"{_FOLDER}/average_pool2d/average_pool2d_nki_kernels.py"
_ATTENTION = f"{_FOLDER}/attention_fwd_performance/attention_kernels.py"

_CLONE = clone("nki-samples")
pytestmark = needs_clone("nki-samples")


@dataclass(frozen=True, slots=True)
class Original:
    """One public fault: where it is, what says so, the input of its report, its fix."""

    name: str
    commit: str
    file: str
    kernel: str
    rule: str
    lines: tuple[int, int]
    trigger: dict[str, list[int]]
    api_version: str | None = None
    fixed_by: str | None = None
    scalars: tuple[tuple[str, int], ...] = ()


_MATMUL_TRIGGER = {"lhsT.shape": [256, 256], "rhs.shape": [256, 1024]}
_DTYPE = "matmul-dtype"

ORIGINALS = (
    Original(
        "hoist-alloc",
        "3c5d277",
        _MATMUL,
        "nki_matmul_hoist_load_",
        "oversized-tile",
        (154, 156),
        _MATMUL_TRIGGER,
        fixed_by="5480d25",
    ),
    Original(
        "interp-step0",
        "6905a68",
        "contributed/interpolate_bilinear_fwd.py",
        "interpolate_bilinear_2x_fwd",
        "division-by-zero",
        (60, 62),
        {"src_arr.shape": [1, 8, 10, 10]},
        scalars=(("chunk_size", 1),),
    ),
    Original(
        "interp-step0-3d",
        "6905a68",
        "contributed/interpolate_trilinear_fwd.py",
        "interpolate_trilinear_2x_fwd",
        "division-by-zero",
        (67, 69),
        {"src_arr.shape": [1, 8, 10, 10, 10]},
        scalars=(("chunk_size", 1),),
    ),
    Original(
        "attn-v3-tail",
        "6905a68",
        _ATTENTION,
        "attn_fwd_v3",
        "uninitialised-read",
        (129, 230),
        {"q.shape": [128, 768], "k.shape": [128, 768], "v.shape": [128, 768]},
    ),
    Original(
        "avgpool-0",
        "6905a68",
        _POOL,
        "tensor_avgpool_kernel",
        "division-by-zero",
        (27, 27),
        {"in_tensor.shape": [2, 6, 6]},
        scalars=(("pool_size", 0),),
    ),
    Original(
        "avgpool-partitions",
        "6905a68",
        _POOL,
        "tensor_avgpool_kernel",
        "partition-extent",
        (41, 41),
        {"in_tensor.shape": [256, 6, 6]},
    ),
    Original(
        "dim-and-128",
        "c72a66b",
        "src/nki_samples/reference/allocated_fused_linear.py",
        "allocated_fused_rms_norm_qkv",
        "bit-test-divisibility",
        (34, 34),
        {"hidden.shape": [1, 128, 320], "weights.shape": [320, 512]},
    ),
    *(
        Original(
            f"{_DTYPE}-{kernel}",
            "6905a68",
            _MATMUL,
            f"nki_matmul_{kernel}_",
            rule,
            (line, line),
            _MATMUL_TRIGGER,
            api_version="0.3",
        )
        for kernel, rule, line in (
            ("basic", "api-signature", 59),
            ("tiled", "api-signature", 127),
            ("hoist_load", "api-signature", 207),
            ("hoist_load", "dma-store-conversion", 210),
        )
    ),
    Original(
        f"{_DTYPE}-fully_optimized",
        "6905a68",
        _MATMUL,
        "nki_matmul_fully_optimized_",
        "dma-store-conversion",
        (452, 465),
        {"lhsT.shape": [4096, 2048], "rhs.shape": [4096, 1024]},
        api_version="0.3",
    ),
    Original(
        "block-free-k",
        "6905a68",
        _MATMUL,
        "nki_matmul_block_free_dimension_",
        "input-tail-dropped",
        (260, 300),
        {"lhsT.shape": [200, 512], "rhs.shape": [200, 1024]},
    ),
)


@cache
def _check(commit: str, file: str, api_version: str | None) -> tuple[Diagnostic, ...]:
    assert _CLONE is not None
    text = subprocess.run(
        ["git", "-C", str(_CLONE), "show", f"{commit}:{file}"],
        capture_output=True,
        check=True,
    ).stdout
    with TemporaryDirectory() as folder:
        path = Path(folder) / Path(file).name
        path.write_bytes(text)
        result = analyze_file(FileRequest(path=str(path), api_version=api_version))
    assert not result.errors
    return result.diagnostics


def _findings(commit: str, original: Original) -> list[Diagnostic]:
    found = _check(commit, original.file, original.api_version)
    return [d for d in found if d.rule == original.rule and d.kernel == original.kernel]


@pytest.mark.parametrize("original", ORIGINALS, ids=lambda o: f"{o.name}-{o.rule}")
def test_the_fault_is_reported_at_its_commit(original: Original) -> None:
    first, last = original.lines
    found = [d for d in _findings(original.commit, original) if first <= d.span.line <= last]
    assert found
    assert all(d.severity in ("error", "warning") for d in found)
    smallest = min(elements(d.counterexample or original.trigger) for d in found)
    assert smallest <= elements(original.trigger)
    for diagnostic in found:
        assert diagnostic.counterexample is not None
        for name, value in original.scalars:
            assert diagnostic.counterexample[name] == value


@pytest.mark.parametrize(
    "original", [o for o in ORIGINALS if o.fixed_by], ids=lambda o: f"{o.name}-{o.rule}"
)
def test_the_fix_silences_the_finding(original: Original) -> None:
    assert original.fixed_by is not None
    assert _findings(original.fixed_by, original) == []
