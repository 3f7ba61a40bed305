"""Constant operands that the kernel computes from its inputs; the same floats as integers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.okk.support import check
from tests.tpu_executor.test_okk_functions import drawn
from verifier.dialects.okk import isa
from verifier.executor import simulate
from verifier.symbolic.instruction import Instruction
from verifier.symbolic.roles import Takes

#: what a number comes to for W = 7
COMPUTED = {
    "float(W)": 7.0,
    "1.0 / W": 1 / 7,
    "W * 1.0": 7.0,
    "W / 3": 7 / 3,
    "-2 / W": -2 / 7,
    "W": 7.0,
    "W // 2": 3.0,
    "1.0 / W if wide else 0.5": 1 / 7,
}
#: of two constants, the one that an operand holds, as it is written
_HELD = {
    Takes.NUMBER: "{}",
    Takes.WORD: "okk.x32.fp32({})",
    Takes.CHOICE: "okk.fp32_or_addr(value={})",
}
_OTHERS = {
    Takes.LOCAL_ADDRESS: "{at}",
    Takes.SYSTEM_ADDRESS: "x",
    Takes.QUAD: "shape",
    Takes.INTEGER: "1",
    Takes.FLAG: "False",
}
FLOATS = [
    instruction
    for instruction in isa.INSTRUCTIONS.values()
    if any(role.takes is Takes.NUMBER for role in instruction.roles)
]

KERNEL = """\
@okk.kernel
def tried(W: int, wide: bool, x: okk.SystemAddr, y: okk.SystemAddr):
    assert {bounds}
    okk.initialize()
    shape = okk.dim4(1, 5, 1, W)
    okk.gdma_32bit_cpy_S2L(0, x, shape, None, None)
    {call}
    okk.gdma_32bit_cpy_L2S(y, 4096, shape, None, None)
    okk.poll()
"""


def _call(instruction: Instruction, number: str) -> str:
    """A call of a function, with addresses apart from each other and no optional argument."""
    given = []
    for position, role in enumerate(instruction.roles):
        if role.takes in _HELD:
            given.append(_HELD[role.takes].format(number))
        elif role.optional:
            given.append("None")
        else:
            given.append(_OTHERS[role.takes].format(at=65536 * position))
    return f"{instruction.name}({', '.join(given)})"


@pytest.mark.parametrize("function", FLOATS, ids=lambda found: found.name)
def test_every_function_takes_them(function: Instruction, tmp_path: Path) -> None:
    text = KERNEL.format(bounds="1 <= W <= 200", call=_call(function, "1.0 / W"))
    found = check(tmp_path, text)
    assert not {"wrong-type", "okk-signature"} & {d.rule for d in found.diagnostics}
    assert found.kernels[0].calls.unmodelled == ()


@pytest.mark.parametrize("number", COMPUTED)
@pytest.mark.parametrize(
    "call",
    [
        "okk.bdc_add_C(4096, 0, {}, shape, None, None)",
        "okk.bdc_32bit_set_C(4096, {}, shape, None)\n"
        "    okk.bdc_add(4096, 4096, 0, shape, None, None, None)",
    ],
)
def test_right_for_all_inputs_and_in_runs(call: str, number: str, tmp_path: Path) -> None:
    constant = f"okk.x32.fp32({number})" if "set_C" in call else number
    text = KERNEL.format(bounds="1 <= W <= 200", call=call.format(constant))
    (kernel,) = check(tmp_path, text).kernels
    assert kernel.status == "verified"

    x, y = drawn(3, 1, 5, 1, 7), np.zeros((1, 5, 1, 7), np.float32)
    run = simulate(f"{tmp_path / 'kernel.py'}::tried", "bm1684")
    expected = np.float32(COMPUTED[number]) + x
    assert np.array_equal(run(7, True, x, y), expected)


@pytest.mark.parametrize(
    "call",
    [
        "okk.gdma_32bit_cpy_S2L(4096, x, okk.dim4(1, 5, 1, W / 2), None, None)",
        "okk.gdma_32bit_cpy_S2L(1.0 * W, x, shape, None, None)",
        "okk.gdma_32bit_cpy_S2L(4096, x + W / 4, shape, None, None)",
        "okk.bdc_taylor_exp(4096, 0, shape, W / 8)",
    ],
)
def test_no_integers(call: str, tmp_path: Path) -> None:
    """The run ends there, so whether it would have waited is no question."""
    text = KERNEL.format(bounds="1 <= W <= 200", call=call)
    assert {d.rule for d in check(tmp_path, text).diagnostics} == {"wrong-type"}


def test_what_follows_is_checked(tmp_path: Path) -> None:
    call = "okk.bdc_mul_C(4096, 0, 1.0 / W, shape, None, None)"
    text = KERNEL.format(bounds="1 <= W <= 200", call=call).replace("    okk.poll()\n", "")
    (missing,) = check(tmp_path, text).diagnostics
    assert (missing.rule, missing.severity) == ("okk-missing-poll", "error")
