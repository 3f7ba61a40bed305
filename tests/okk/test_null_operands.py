"""NULL for a tensor that the flags of a call say is not used (OKK-Q02)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fixtures.support import check
from tests.okk.test_functions import ALL, argument, kernel
from verifier.cli.main import main
from verifier.symbolic.effects import ALWAYS
from verifier.symbolic.instruction import Instruction
from verifier.symbolic.roles import Role

#: functions, each with a tensor that it may not use
OPTIONAL = [
    (function, role)
    for function in ALL
    for role in function.roles
    if (reads := function.footprint.reads_of(role.name))
    and role.placed is not None
    and all(read.when is not ALWAYS for read in reads)
    and not function.footprint.writes_of(role.name)
]


def test_there_are_such() -> None:
    names = {(function.short, role.name) for function, role in OPTIONAL}
    expected = {("bdc_conv2d", "bias"), ("bdc_depthwise2d", "bias"), ("bdc_matmul", "bias")}
    assert expected <= names


@pytest.mark.parametrize(("function", "role"), OPTIONAL, ids=lambda each: each.name)
@pytest.mark.parametrize("used", [False, True])
def test_what_is_not_used_may_be_null(
    function: Instruction, role: Role, used: bool, tmp_path: Path
) -> None:
    given = {role.name: "None", "using_bias": str(used)}
    arguments = [given.get(each.name, argument(each)) for each in function.roles]
    path = tmp_path / "kernel.py"
    text = kernel(f"okk.{function.short}({', '.join(arguments)})")
    path.write_text(f"import okk\n\n\n{text}", encoding="utf-8")
    found = [d.message for d in check(path).diagnostics if d.rule == "okk-signature"]
    assert bool(found) is used, found


KERNEL = """\
from dataclasses import dataclass
import okk


@dataclass
class Params:
    output: okk.SystemAddr
    left: okk.SystemAddr
    right: okk.SystemAddr
    bias: okk.SystemAddr
    flag: int


# tilelint: contract (output: fp32[3, 5], left: fp32[3, 4], right: fp32[4, 5], bias: fp32[1, 5], \
flag: 0..1)
@okk.kernel(Params)
def product(args):
    okk.initialize()
    okk.gdma_32bit_matrix_S2L(0, args.left, 3, 4, 2, 4)
    okk.gdma_32bit_matrix_S2L(1024, args.right, 4, 5, 1, 5)
    bias = None
    if args.flag == 1:
        bias = 3072
        okk.gdma_32bit_matrix_S2L(3072, args.bias, 1, 5, 1, 5)
    okk.bdc_matmul(2048, 0, 1024, {bias}, 3, 4, 5, 2, 1, {used}, False)
    okk.gdma_32bit_matrix_L2S(args.output, 2048, 3, 5, 1, 5)
    okk.poll()
"""


@pytest.mark.parametrize(
    ("bias", "used", "status", "runs"),
    [
        ("None", "False", "verified", (0, 0)),
        ("None", "True", "violated", (1, 1)),
        ("None", "args.flag == 1", "conditional", (0, 1)),
        ("bias", "bias is not None", "verified", (0, 0)),
        ("bias", "args.flag > 0", "verified", (0, 0)),
        ("bias", "args.flag == 0", "conditional", (1, 0)),
    ],
)
def test_check_and_runs_agree(
    bias: str, used: str, status: str, runs: tuple[int, int], tmp_path: Path
) -> None:
    path = tmp_path / "kernel.py"
    path.write_text(KERNEL.format(bias=bias, used=used), encoding="utf-8")
    assert [k.status for k in check(path).kernels] == [status]
    shapes = {"output": "3,5", "left": "3,4", "right": "4,5", "bias": "1,5"}
    given = [f"--arg={name}=fp32[{shape}]" for name, shape in shapes.items()]
    ended = tuple(main(["run", f"{path}::product", *given, f"--arg=flag={f}"]) for f in (0, 1))
    assert ended == runs
