"""Arguments that may be left out and are numbers if not, as annotations or assertions say."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from verifier.cli.main import main

KERNEL = """\
from typing import Optional, Union
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def kernel(x, axis{annotation}=None):
    {before}
    assert x.shape == (70, 40) and x.dtype == nl.float32
    if axis is None:
        axis = 0
    assert axis < 2
    out = nl.ndarray((70, 40), dtype=x.dtype, buffer=nl.shared_hbm)
    t = nl.ndarray((70 + axis * {extra}, 40), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=t[0:70, 0:40], src=x)
    nisa.dma_copy(dst=out, src=t[0:70, 0:40])
    return out
"""


@pytest.mark.parametrize(
    ("annotation", "before"),
    [
        (": Optional[int]", "assert isinstance(axis, int) or axis is None"),
        (": int | None", "assert axis is None or isinstance(axis, int)"),
        (": Union[None, int]", "assert isinstance(axis, (int, type(None)))"),
        ("", "assert isinstance(axis, int) or axis is None"),
    ],
)
@pytest.mark.parametrize(("extra", "status"), [(58, "verified"), (59, "violated")])
def test_what_they_are_is_known(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    annotation: str,
    before: str,
    extra: int,
    status: str,
) -> None:
    file = tmp_path / "k.py"
    text = KERNEL.format(annotation=annotation, before=before, extra=extra)
    file.write_text(text, encoding="utf-8")
    main(["check", "--no-cache", "--isolated", "--format", "json", str(file)])
    (kernel,) = json.loads(capsys.readouterr().out)["kernels"]
    assert kernel["status"] == status
