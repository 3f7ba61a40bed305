"""Arrays of libraries, and how arguments are said in contracts."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.suites.conftest import KERNELS
from verifier.cli.main import main
from verifier.configuration.grammar import parse
from verifier.configuration.showing import text_of

Contracts = Callable[..., list[str]]

HEAD = """\
import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import torch
import nki.language as nl
import kernels
from kernels import Config, Mode, Pair, Plan, added, copied
"""

ARRAYS = {
    "np.random.rand(3, 70)": "float64[3, 70]",
    "np.random.rand(3, 70).astype(np.float32)": "float32[3, 70]",
    "np.random.random_sample([3, 70]) * 2.0 - 1.0": "float64[3, 70]",
    "np.random.uniform(-1, 1, (3, 70)).astype('float16')": "float16[3, 70]",
    "np.random.randint(0, 9, size=(3, 70), dtype=np.int32)": "int32[3, 70]",
    "np.random.RandomState(3).randn(3, 70)": "float64[3, 70]",
    "np.random.default_rng(3).integers(0, 9, (3, 70))": "int64[3, 70]",
    "np.zeros((3, 70), dtype=ml_dtypes.bfloat16)": "bfloat16[3, 70]",
    "np.zeros((3, 70), np.float32).T": "float32[70, 3]",
    "np.full((3, 70), 7)": "int64[3, 70]",
    "np.full((3, 70), 7.0, dtype=np.float32)": "float32[3, 70]",
    "np.array([[1, 2, 3]], dtype=np.uint8)": "uint8[1, 3]",
    "np.arange(0, 70, 3, dtype=np.int32)": "int32[24]",
    "np.arange(12.0).reshape(3, -1)": "float64[3, 4]",
    "np.expand_dims(np.eye(7), 0)[:, 2:-1:2, None]": "float64[1, 2, 1, 7]",
    "np.concatenate([np.ones((3, 5)), np.ones((4, 5))], axis=0)": "float64[7, 5]",
    "np.stack([np.ones((3, 5))] * 2, axis=-1)": "float64[3, 5, 2]",
    "np.tile(np.ones((3, 5), np.float32), (2, 1, 3))": "float32[2, 3, 15]",
    "np.repeat(np.ones((3, 5), np.int8), 4, axis=1)": "int8[3, 20]",
    "np.transpose(np.ones((3, 5, 7)), (2, 0, 1))": "float64[7, 3, 5]",
    "np.ones((3, 5)) @ np.ones((5, 7))": "float64[3, 7]",
    "np.ones((3, 1)) + np.ones((5,))": "float64[3, 5]",
    "np.zeros_like(np.ones((3, 5), np.int16))": "int16[3, 5]",
    "np.exp(np.ones((3, 5), np.float16))": "float16[3, 5]",
    "np.pad(np.ones((3, 5)), ((0, 1), (2, 3)))": "float64[4, 10]",
    "np.ones((3, 6), np.float32).view(np.uint8)": "uint8[3, 24]",
    "torch.randn(3, 70)": "float32[3, 70]",
    "torch.rand((3, 70), dtype=torch.bfloat16, device='cpu')": "bfloat16[3, 70]",
    "torch.zeros(3, 70).to(torch.float16)": "float16[3, 70]",
    "torch.randint(0, 9, (3, 70))": "int64[3, 70]",
    "torch.ones([3, 70]).half().unsqueeze(1).contiguous()": "float16[3, 1, 70]",
    "torch.randn(3, 5, 7).permute(2, 0, 1).to(device=jax.devices()[0])": "float32[7, 3, 5]",
    "torch.randn(3, 5, 7).transpose(1, 2)": "float32[3, 7, 5]",
    "torch.cat((torch.ones(3, 5), torch.ones(3, 6)), dim=1)": "float32[3, 11]",
    "torch.from_numpy(np.ones((3, 5), np.int32))": "int32[3, 5]",
    "jnp.zeros((3, 70), dtype=jnp.bfloat16)": "bfloat16[3, 70]",
    "jnp.ones((3, 70))": "float32[3, 70]",
    "jax.random.normal(jax.random.PRNGKey(0), (3, 70), dtype=jnp.float16)": "float16[3, 70]",
    "jax.random.randint(key, (3, 70), 0, 9)": "int32[3, 70]",
    "nl.static_cast(np.ones((3, 70)), nl.bfloat16)": "bfloat16[3, 70]",
    "np.ones((3, 70)).astype(np.float32 if np.issubdtype(np.int8, np.integer) else int)": (
        "float32[3, 70]"
    ),
    "nl.static_cast(np.ones((3, 72)), nl.float8_e4m3fn_x4)": "float8_e4m3fn_x4[3, 18]",
    "nl.static_cast(nl.static_cast(np.ones((3, 72)), nl.float8_e4m3fn_x4), np.float32)": (
        "float32[3, 72]"
    ),
    "np.ones((3, 70)).astype(key)": "_[3, 70]",
    "np.ones(3, dtype=np.int8 if isinstance(nl.bfloat16, str) else nl.bfloat16)": "bfloat16[3]",
    "torch.ones(3, 70).to(key)": "_[3, 70]",
    "torch.ones(3, 70).to('cpu').to(device=key)": "float32[3, 70]",
    "np.arange(5).repeat(3).astype(np.int32)": "int32[15]",
    "np.array([[np.random.RandomState(3).randint(0, 7)]], dtype=np.uint32)": "uint32[1, 1]",
    "np.array([np.random.choice([-1, 1]), np.random.rand()], np.float32)": "float32[2]",
    "np.broadcast_to(key, (3, 70)).astype(np.int32)": "int32[3, 70]",
    "torch.logsumexp(torch.ones(3, 70), dim=-1).to(torch.bfloat16)": "bfloat16[3]",
}


@pytest.mark.parametrize("made", ARRAYS)
def test_arrays(made: str, contracts: Contracts) -> None:
    text = f"{HEAD}\ndef test_it(key):\n    copied({made})\n"
    assert contracts(text) == [f"copied(source: {ARRAYS[made]})"]


UNKNOWN = [
    "np.random.rand(3)[np.random.rand(3) > 0.5]",
    "np.ones((3, 5)).reshape(4, -1)",
    "np.ones((int(np.random.rand(3).max()), 5))",
    "np.einsum('ij,jk', np.ones((3, 5)), np.ones((5, 7)))",
    "np.nonzero(np.ones((3, 5)))",
    "np.ones((np.random.randint(3, 7), 5))",
    "np.array([np.random.choice([(3, 5), (7, 9)])])",
    "np.array([np.random.normal(np.ones((3, 5)))])",
]


@pytest.mark.parametrize("made", UNKNOWN)
def test_a_shape_that_depends_on_elements_is_not_guessed(made: str, contracts: Contracts) -> None:
    assert contracts(f"{HEAD}\ndef test_it():\n    copied({made})\n") == []


COUNTS = {
    "counts[4] += left": "37",
    "counts[-1] = left + counts[4]": "37",
    "counts[1] += left // 2\n    counts[4] += left - left // 2": "37",
    "counts[1] = 3\n    left = 37 - counts.sum()\n    counts[4] += left\n    counts[1] += 5": "42",
    "counts[4] += left\n    np.cumsum(counts)\n    counts = counts.astype(np.int64)": "",
    "counts[4] += left\n    counts[key] = 3": "",
    "counts[4] += left\n    counts[:3] = 3": "",
    "counts[4] += left\n    counts += 3": "",
    "other = counts\n    counts[4] += left\n    other *= 3": "",
    "part = counts[1:]\n    counts[4] += left\n    part[0] = 7": "",
    "counts[4] += left\n    key(counts)": "",
    "counts[4] += left\n    counts.fill(3)": "",
    "if key: counts[4] += left": "",
    "if key: counts[4] += left\n    else: counts[1] += left": "37",
    "counts[4] += left\n    counts = np.abs(counts)": "",
    "counts[4] += 3": "",
}


@pytest.mark.parametrize("steps", COUNTS)
def test_counts_that_come_to_a_number_are_added_up(steps: str, contracts: Contracts) -> None:
    """Whatever is drawn, and nothing where something else may have changed them."""
    text = f"""
def test_it(key):
    n = 37
    counts = np.ceil(np.random.rand(5) * 4).astype(np.int32)
    left = n - np.sum(counts)
    {steps}
    copied(np.arange(5).repeat(counts))
"""
    wanted = [f"copied(source: int64[{COUNTS[steps]}])"] if COUNTS[steps] else []
    assert contracts(HEAD + text) == wanted


def test_loops_that_fill_arrays_take_no_time(contracts: Contracts) -> None:
    text = """
def test_it():
    x = np.zeros((4096, 4096), np.float32)
    for i in range(0, 4096, 2):
        for j in range(4096):
            k = np.random.randint(0, 7)
            x[i, j] = 1.5 * k
    for m in range(3, 5):
        copied(x[:m])
"""
    sizes = ("3, 4096", "4, 4096")
    assert contracts(HEAD + text) == [f"copied(source: float32[{size}])" for size in sizes]


ARGUMENTS = {
    "mode=Mode.SLOW": "mode: Mode.SLOW",
    "config=Config()": "config: Config()",
    "config=Config(32, mode=kernels.Mode.SLOW)": "config: Config(tile=32, mode=Mode.SLOW)",
    "config=Config(tile=32, extra=(x, [x, None]))": "config: Config(tile=32, "
    "extra=(float32[3, 5], [float32[3, 5], None]))",
    "plan=Plan(3)": "plan: Plan(3)",
    "plan=Plan(3, last=2)": "plan: Plan(3, last=2)",
    "plan=Pair(3, columns=5)": "plan: Pair(rows=3, columns=5)",
    "op=nl.multiply": "op: nl.multiply",
    "config=nl.sbuf": "config: nl.sbuf",
    "config=np.float16": "config: float16[...]",
    "sizes=(3, -5)": "sizes: (3, -5)",
    "sizes=(), config=1e-5": "config: 1e-05, sizes: ()",
    "plan='wide \"x\"', config=True": "config: True, plan: 'wide \"x\"'",
}


@pytest.mark.parametrize("given", ARGUMENTS)
def test_arguments(given: str, contracts: Contracts) -> None:
    text = f"""
def test_it():
    x = np.zeros((3, 5), np.float32)
    added(x, y=x, {given})
"""
    (found,) = contracts(HEAD + text)
    assert found == f"added(x: float32[3, 5], y: float32[3, 5], {ARGUMENTS[given]}, ...)"
    assert text_of(parse(found)) == found


CHANGED = """
def test_it():
    x = np.zeros((3, 5), np.float32)
    config, plan = Config(3), Plan(3)
    config.tile = 5
    added(x, x, config=config)
    plan.steps = 7
    added(x, x, plan=plan)
"""


def test_an_object_that_was_changed_is_said_as_it_is_or_not_at_all(contracts: Contracts) -> None:
    assert contracts(HEAD + CHANGED) == [
        "added(x: float32[3, 5], y: float32[3, 5], config: Config(tile=5), ...)"
    ]


WORKING = """\
import enum
import nki
import nki.isa as nisa
import nki.language as nl


class Mode(enum.Enum):
    ONCE = 1
    TWICE = 2


@nki.jit
def scaled(x, mode=Mode.ONCE):
    R, C = x.shape
    out = nl.ndarray((R, C), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray((R, C), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    for _ in range(mode.value):
        nisa.tensor_scalar(dst=tile, data=tile, op0=nl.multiply, operand0=2.0)
    nisa.dma_copy(dst=out, src=tile)
    return out
"""
TESTS = """\
import numpy as np
import pytest
from scaled import Mode, scaled


@pytest.mark.parametrize("rows", [96, 130])
@pytest.mark.parametrize("mode", list(Mode))
def test_scaled(rows, mode):
    scaled(np.ones((rows, 70), np.float32), mode=mode)
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tilelint.toml").write_text("strict = true\n")
    (tmp_path / "scaled.py").write_text(WORKING)
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_scaled.py").write_text(TESTS)
    return tmp_path


def test_presets_are_written_and_checked(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["contract", "--from-tests", "tests", "scaled.py"]
    assert main(command) == 0
    lines = capsys.readouterr().out.splitlines()
    said = [
        f"(x: float32[{rows}, 70], mode: Mode.{mode})"
        for mode in ("ONCE", "TWICE")
        for rows in (96, 130)
    ]
    assert lines == [
        "# scaled.py:13: scaled",
        *(f"scaled{text}  # tests/test_scaled.py:9: test_scaled" for text in said),
        "",
    ]
    assert main([*command, "--write"]) == 0
    assert "wrote presets into" in capsys.readouterr().err
    written = (project / "tilelint.toml").read_text()
    assert written == (
        'strict = true\n\n[presets.test_scaled]\n"scaled.py::scaled" = [\n'
        + "".join(f'    "{text}",\n' for text in said)
        + "]\n"
    )
    assert main(["check", "scaled.py", "--no-cache", "--format", "json"]) == 1
    kernels = json.loads(capsys.readouterr().out)["kernels"]
    # 96 rows fit, 130 do not
    assert sorted(kernel["status"] for kernel in kernels) == ["verified"] * 2 + ["violated"] * 2
    assert main([*command, "--write"]) == 0
    assert (project / "tilelint.toml").read_text() == written


def test_a_limit_and_what_is_not_read_are_said(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with (project / "tests" / "test_scaled.py").open("a") as file:
        file.write("\n\ndef test_more(size):\n    scaled(np.ones(size))\n")
    assert main(["contract", "--from-tests", "tests", "--at-most", "1", "scaled.py"]) == 0
    told = capsys.readouterr().err
    assert "scaled: 3 more contracts left out (--at-most)" in told
    assert "tests/test_scaled.py:13: test_more: not read: " in told
    assert main(["contract", "--from-tests", "tests", "--format", "asserts", "scaled.py"]) == 2
    (project / "tests" / "test_scaled.py").write_text("x = 3\n")
    assert main(["contract", "--from-tests", "tests", "scaled.py"]) == 1


def test_kernels_of_fixtures_parse() -> None:
    compile(KERNELS, "kernels.py", "exec")


@pytest.mark.parametrize(("member", "status"), [("ROWS", 0), ("COLUMNS", 1)])
def test_a_contract_names_what_the_kernel_does_not_import(
    member: str, status: int, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "pack").mkdir()
    (project / "pack" / "__init__.py").write_text("")
    (project / "pack" / "modes.py").write_text(
        "import enum\n\nclass Order(enum.Enum):\n    ROWS = 1\n    COLUMNS = 500\n"
    )
    text = WORKING.replace("range(mode.value)", "range(1)").replace("(R, C), dtype=x.dtype, buffer"
        "=nl.sbuf", "(R * mode.value, C), dtype=x.dtype, buffer=nl.sbuf")  # fmt: skip
    (project / "scaled.py").write_text(text.replace("dst=tile, src=x", "dst=tile[0:R], src=x"))
    contract = f"scaled(x: fp32[96, 70], mode: pack.modes.Order.{member})"
    command = ["check", "scaled.py", "--no-cache", "--format", "concise", "--contract", contract]
    assert main(command) == status, capsys.readouterr().out
    wrong = contract.replace(member, "ROW")
    assert main([*command[:-1], wrong]) == 2 or "no `pack.modes.Order.ROW`" in "".join(
        capsys.readouterr()
    )
