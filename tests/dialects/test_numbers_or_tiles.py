"""What an operand that may be a number or a tile is, where the kernel does not say it."""

from __future__ import annotations

import pytest

from verifier.dialects.nki import isa
from verifier.engine import analyze_source

KERNEL = """\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def kernel(x, s{default}):
    assert x.shape == (128, 64) and x.dtype == nl.float32
    out = nl.ndarray((128, 64), dtype=nl.float32, buffer=nl.shared_hbm)
    t = nl.ndarray((128, 64), dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=t, src=x)
    {before}
    nisa.tensor_scalar(dst=t, data=t, op0=nl.add, operand0=s)
    {behind}
    nisa.dma_copy(dst=out, src=t)
    return out
"""


@pytest.mark.parametrize(
    ("default", "before", "behind", "status"),
    [
        ("=2.0", "", "", "verified"),
        ("", "rows = s.shape[0]", "", "violated"),  # it is in device memory
        ("", "", "rows = s.shape[0]", "unknown"),
        ("", "", "u = nl.ndarray(s.shape, dtype=s.dtype, buffer=nl.sbuf)", "unknown"),
        ("=None", "assert s is not None", "rows = s.shape[0]", "unknown"),
    ],
)
def test_what_turns_out_to_be_a_tensor_was_no_number(
    default: str, before: str, behind: str, status: str
) -> None:
    text = KERNEL.format(default=default, before=before, behind=behind)
    (kernel,) = analyze_source(text).kernels
    assert kernel.status == status


def test_a_role_has_no_empty_name() -> None:
    assert not any(instruction.role("") for instruction in isa.INSTRUCTIONS.values())
