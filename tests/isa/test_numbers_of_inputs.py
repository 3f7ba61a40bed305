"""What the caller gives is held to what the instruction takes that gets it, or left open."""

from __future__ import annotations

import pytest

from verifier.engine import analyze_source
from verifier.report.model import KernelReport

KERNEL = """\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def gather(data, index, width, valid):
    assert data.shape == (32, 96) and index.shape == (32, 5)
    assert data.dtype == nl.float32 and index.dtype == nl.uint16
    out = nl.ndarray((32, 64), dtype=nl.float32, buffer=nl.shared_hbm)
    rows = nl.ndarray((32, 96), dtype=nl.float32, buffer=nl.sbuf)
    picks = nl.ndarray((32, 5), dtype=nl.uint16, buffer=nl.sbuf)
    found = nl.ndarray((32, 64), dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=rows, src=data)
    nisa.dma_copy(dst=picks, src=index)
    nisa.memset(dst=found, value=0.0)
    nisa.local_gather(
        dst=found, src_buffer=rows, index=picks, num_elem_per_idx=width, num_valid_indices=valid
    )
    nisa.dma_copy(dst=out, src=found)
    return out
"""


def test_the_rules_see_them() -> None:
    (kernel,) = analyze_source(KERNEL, target="trn2").kernels
    condition = kernel.precondition
    assert kernel.status == "conditional" and condition is not None and condition.exact
    texts = {conjunct.text for conjunct in condition.conjuncts}
    assert any(text == "width in (1, 2, 4, 8, 16, 32)" for text in texts)
    assert any("valid" in text for text in texts)


CALL = """\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def kernel(x, {given}):
    assert x.shape == (32, 96) and x.dtype == nl.{dtype}
    out = nl.ndarray((32, 96), dtype=nl.{dtype}, buffer=nl.shared_hbm)
    tile = nl.ndarray((32, 96), dtype=nl.{dtype}, buffer=nl.sbuf)
    made = nl.ndarray((32, 96), dtype=nl.{dtype}, buffer=nl.sbuf)
    bound = nl.ndarray((32, 1), dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    nisa.memset(dst=made, value=0)
    nisa.memset(dst=bound, value=0.0)
    nisa.{call}
    nisa.dma_copy(dst=out, src=made)
    return out
"""

_RANGE = (
    "range_select(dst=made, on_true_tile=tile, comp_op0=nl.greater, comp_op1=nl.less, "
    "bound0=bound, bound1=bound, {}=n)"
)
_REDUCE = "tensor_reduce(dst=made[:, 0:1], op=nl.{}, data=tile, axis={}, negate={})"


def _checked(given: str, dtype: str, call: str) -> KernelReport:
    text = CALL.format(given=given, dtype=dtype, call=call)
    (kernel,) = analyze_source(text, target="trn3").kernels
    return kernel


@pytest.mark.parametrize(
    ("given", "dtype", "call", "condition"),
    [
        ("n", "int32", "iota(dst=made, pattern=[[1, 96]], offset=n)", "n <= 2147483552"),
        ("n: int", "int32", "iota(dst=made, pattern=[[1, 96]], offset=n)", "n <= 2147483552"),
        (
            "n",
            "int32",
            "iota(dst=made, pattern=[[1, 96]], offset=0, channel_multiplier=n)",
            "n <= 69273662",
        ),
        ("n", "int32", "iota(dst=made, pattern=[[n, 96]], offset=0)", "n <= 22605091"),
        ("n", "float32", _RANGE.format("range_start"), "n <= 16777120"),
        ("n", "float32", "dma_copy(dst=made, src=tile, priority=n)", "n <= 3"),
        ("n: bool", "int32", _REDUCE.format("bitwise_and", 1, "n"), "not n"),
        ("n: int", "int8", "memset(dst=made, value=n)", "n <= 127"),
        (
            "n",
            "float32",
            "nc_stream_shuffle(dst=made, src=tile, shuffle_mask=[n] * 32)",
            "n == 255 or n <= 31",
        ),
    ],
)
def test_a_number_without_a_limit_of_its_own(
    given: str, dtype: str, call: str, condition: str
) -> None:
    found = _checked(given, dtype, call)
    assert found.status == "conditional" and found.precondition is not None
    assert [conjunct.text for conjunct in found.precondition.conjuncts] == [condition]


@pytest.mark.parametrize(
    ("dtype", "call", "role"),
    [
        ("float32", "tensor_scalar(dst=made, data=tile, op0=n, operand0=1.0)", "op0"),
        ("float32", "tensor_copy(dst=made, src=tile, engine=n)", "engine"),
        ("float32", "dma_copy(dst=made, src=tile, dge_mode=n)", "dge_mode"),
        ("float32", "dma_copy(dst=made, src=tile, oob_mode=n)", "oob_mode"),
        ("float32", "dma_copy(dst=made, src=tile, engine=n.engine)", "engine"),
        ("float32", _RANGE.format("on_false_value"), "on_false_value"),
        ("float32", _REDUCE.format("add", "n", "False"), "axis"),
        ("int32", _REDUCE.format("bitwise_and", 1, "n"), "negate"),
        ("int8", "memset(dst=made, value=n)", "value"),
        ("int32", "iota(dst=made, pattern=n, offset=0)", "pattern"),
        ("float32", "rand2(dst=made, min=n, max=1.0)", "min"),
    ],
)
def test_what_no_rule_sees_is_not_verified(dtype: str, call: str, role: str) -> None:
    found = _checked("n", dtype, call)
    reasons = [reason.message for reason in found.reasons]
    said = f"what is asked of {role} holds: the value of {role} is not known before the kernel runs"
    assert found.status == "unknown" and reasons == [said]


@pytest.mark.parametrize(
    ("dtype", "call"),
    [
        ("float32", "memset(dst=made, value=n)"),
        ("float32", _REDUCE.format("add", 1, "n")),
        ("float32", "tensor_scalar(dst=made, data=tile, op0=nl.add, operand0=n)"),
    ],
)
def test_what_no_rule_asks_for_leaves_nothing_open(dtype: str, call: str) -> None:
    assert _checked("n", dtype, call).status == "verified"


@pytest.mark.parametrize(
    ("dtype", "call"),
    [
        ("float32", "tensor_scalar(dst=made, data=tile, op0=2.0, operand0=1.0)"),
        ("float32", "tensor_scalar(dst=made, data=tile, op0='add', operand0=1.0)"),
        ("float32", "tensor_scalar(dst=made, data=tile, op0=tile, operand0=1.0)"),
        ("float32", "tensor_scalar(dst=made, data=tile, op0=nl.add, operand0=nl.equal)"),
        ("int32", "iota(dst=made, pattern=[[1, 96]], offset=0.5)"),
        ("int32", "iota(dst=made, pattern=96, offset=0)"),
        ("int32", "iota(dst=made, pattern=[[1.5, 96]], offset=0)"),
        ("float32", "dma_copy(dst=made, src=tile, priority='high')"),
    ],
)
def test_what_is_of_another_kind_is_refused(dtype: str, call: str) -> None:
    (found,) = analyze_source(
        CALL.format(given="n", dtype=dtype, call=call), target="trn3"
    ).diagnostics[:1]
    assert (found.rule, found.verdict) == ("api-signature", "always")
