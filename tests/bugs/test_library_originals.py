"""The public faults of a library's kernels, at the commits that have them, and gone where mended.

Opt-in: ``TILELINT_CORPUS`` names a directory of clones that has ``nki-library`` with its history.
Its sources are taken out with ``git archive``; the clone is left as it is. Kernels and functions
that they call are asked about by name, with inputs on which the fault shows.
"""

from __future__ import annotations

import io
import subprocess
import tarfile
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.bugs.support import clone, needs_clone
from verifier.engine import analyze_file
from verifier.report.model import Diagnostic, FileRequest

_CLONE = clone("nki-library")
pytestmark = needs_clone("nki-library")


@dataclass(frozen=True, slots=True)
class Original:
    """One fault: where it is, what says so, an input that shows it, the commit that mends it.

    ``api_version``: the generation that it is a fault of; None: of the one it is written for.
    """

    name: str
    commit: str
    fixed_by: str
    file: str
    rule: str
    found: tuple[str, int]
    contract: str
    api_version: str | None = None


ORIGINALS = (
    Original(
        "affinity-oob",
        "1edc7bb",
        "0759719",
        "core/moe/moe_tkg/moe_tkg_affinity_masking.py",
        "runtime-offset-bounds",
        ("moe_tkg_affinity_masking.py", 94),
        "mask_expert_affinities(expert_affinities: fp32[192, 64], expert_index: int32[192, 4],"
        " rank_id: uint32[1, 1], E_L: 16, T: 192, K: 4, io_dtype: bf16,"
        " mask_unselected_experts: False)",
    ),
    Original(
        "odd-n-ap",
        "181b205",
        "d2ad3a5",
        "core/moe/moe_cte/bwmm_shard_on_block.py",
        "access-bounds",
        ("bwmm_shard_on_block.py", 248),
        "bwmm_shard_on_block[2](hidden_states: bf16[641, 1024],"
        " expert_affinities_masked: bf16[2564, 1], gate_up_proj_weight: bf16[4, 1024, 2, 512],"
        " down_proj_weight: bf16[4, 512, 1024], block_size: 128, token_position_to_id: int32[640],"
        " block_to_expert: int32[5, 1], ...)",
    ),
    Original(
        "qkv-bs",
        "0759719",
        "d2ad3a5",
        "core/qkv/qkv.py",
        "partition-extent",
        ("allocator.py", 366),
        "qkv(input: bf16[64, 4, 1024], fused_qkv_weights: bf16[1024, 512],"
        " store_output_in_sbuf: True, ...)",
    ),
    Original(
        "dma-psum",
        "0759719",
        "d2ad3a5",
        "experimental/moe/forward/bwmm_shard_on_H.py",
        "dma-buffers",
        ("bwmm_shard_on_H.py", 508),
        "blockwise_mm_baseline_shard_hidden[2](hidden_states: bf16[513, 1024],"
        " expert_affinities_masked: bf16[1026, 1], gate_up_proj_weight: bf16[2, 1024, 2, 256],"
        " down_proj_weight: bf16[2, 256, 1024], block_size: 128,"
        " token_position_to_id: int32[256], block_to_expert: int32[2, 1],"
        " gate_up_activations_T: bf16[2, 2, 256, 128], down_activations: bf16[2, 128, 1024], ...)",
        "0.3",
    ),
    Original(
        "attn-cte-name",
        "8281558",
        "1edc7bb",
        "core/attention/attention_cte.py",
        "unbound-name",
        ("attention_cte.py", 1652),
        "_load_k_tile(k_active: bf16[2, 4096, 128], k_prior: None,"
        " out: (bf16[128, 512], bf16[128, 512]), batch_id: 1,"
        " sp: SectionParams(section_offset=4096), load_dtype: bf16, tp_k: True, num_tiles: 2,"
        " sbuf_addr: 0, ...)",
    ),
)


def _findings(commit: str, original: Original, folder: Path) -> list[Diagnostic]:
    """What the rule finds at a commit, with that input."""
    packed = subprocess.run(
        ["git", "-C", str(_CLONE), "archive", commit, "src"], capture_output=True, check=True
    ).stdout
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        archive.extractall(folder)
    (path,) = folder.glob(f"src/*/nkilib/{original.file}")
    request = FileRequest(
        path=str(path),
        contracts=(original.contract,),
        roots=(str(folder),),
        timeout=60,
        api_version=original.api_version,
    )
    result = analyze_file(request)
    assert not result.errors and result.kernels
    return [d for d in result.diagnostics if d.rule == original.rule]


@pytest.mark.parametrize("original", ORIGINALS, ids=lambda o: o.name)
def test_the_fault_is_reported_at_its_commit(original: Original, tmp_path: Path) -> None:
    found = _findings(original.commit, original, tmp_path)
    places = {(Path(d.span.path).name, d.span.line) for d in found if d.severity == "error"}
    assert original.found in places, found


@pytest.mark.parametrize("original", ORIGINALS, ids=lambda o: o.name)
def test_the_fix_silences_the_finding(original: Original, tmp_path: Path) -> None:
    assert _findings(original.fixed_by, original, tmp_path) == []
