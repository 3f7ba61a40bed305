"""What the caller gives a PPL function is held to what it takes, or left open."""

from __future__ import annotations

import pytest

from verifier.engine import analyze_source
from verifier.report.model import KernelReport

KERNEL = """\
import ppl
import ppl.language as pl


@ppl.jit
def kernel(x, o, n):
    given = pl.make_tensor([1, 24, 5, 16], pl.{dtype})
    made = pl.make_tensor([1, 24, 5, 16], pl.{dtype})
    source = pl.gtensor([1, 24, 5, 16], pl.GLOBAL, x)
    pl.dma.load(given, source)
    pl.tiu.{call}
    out = pl.gtensor([1, 24, 5, 16], pl.GLOBAL, o)
    pl.dma.store(out, made)
    pl.dma.store(source, given)
"""


def _checked(dtype: str, call: str) -> KernelReport:
    text = KERNEL.format(dtype=dtype, call=call)
    (kernel,) = analyze_source(text, target="sg2262").kernels
    return kernel


def test_a_number_of_steps() -> None:
    found = _checked("float32", "frsqrt(made, given, num_iter=n)")
    assert found.status == "conditional" and found.precondition is not None
    said = [part.text for part in found.precondition.conjuncts]
    assert said[2:] == ["n >= 1", "n <= 4"]
    # what is loaded and stored is as wide as `given` and `made`
    assert [text[:21] for text in said[:2]] == ["x.dtype in (float32, ", "o.dtype in (float32, "]


@pytest.mark.parametrize(("dtype", "call", "role"), [("int32", "fill(made, n)", "value")])
def test_what_no_rule_sees_is_not_verified(dtype: str, call: str, role: str) -> None:
    found = _checked(dtype, call)
    reasons = [reason.message for reason in found.reasons]
    said = f"what is asked of {role} holds: the value of {role} is not known before the kernel runs"
    assert found.status == "unknown" and reasons == [said]


def test_what_no_rule_asks_for_leaves_nothing_open() -> None:
    assert _checked("float32", "fadd(made, given, n)").status == "verified"
