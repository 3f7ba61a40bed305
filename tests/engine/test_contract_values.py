"""Contracts that give objects, members, sequences, choices and defaults, and their replay."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.frontends import CPYTHON
from verifier.engine import analyze_file
from verifier.executor.replay import Item, replay
from verifier.report.model import FileRequest, FileResult, KernelReport

MODULE = """\
from dataclasses import dataclass
from enum import Enum

import nki
import nki.isa as nisa
import nki.language as nl


class Mode(Enum):
    COPY = 0
    CLEAR = 1


@dataclass
class Inner:
    rows: int
    deep: tuple = (1, 2)


@dataclass
class Config:
    tile: int
    weights: object = None
    inner: Inner = None
    bias: bool = True


@nki.jit
def staged(x, cfg, mode=Mode.COPY, parts=None, dtype=nl.float32, scale=2):
    p, f = x.shape
    out = nl.ndarray((p, f), dtype=dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray((p, f), dtype=dtype, buffer=nl.sbuf)
    if cfg.bias:
        bias = nl.ndarray((scale * cfg.tile, 3), dtype=dtype, buffer=nl.sbuf)
    if cfg.weights is not None:
        rows, columns = cfg.weights.shape
        w = nl.ndarray((rows, columns), dtype=dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=w, src=cfg.weights)
    for part in parts or []:
        held = nl.ndarray(part.shape, dtype=part.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=held, src=part)
    if mode == Mode.CLEAR:
        nisa.memset(dst=tile, value=0.0)
    else:
        nisa.dma_copy(dst=tile, src=x)
    nisa.dma_copy(dst=out, src=tile)
    return out
"""


def checked(folder: Path, contract: str, targets: tuple[str, ...] = ("trn2",)) -> FileResult:
    path = folder / "kernel.py"
    path.write_text(MODULE, encoding="utf-8")
    request = FileRequest(
        str(path),
        targets=targets,
        contracts=(f"staged{contract}",),
        parts=True,
        timeout=30,
        ignore=CPYTHON,
    )
    return analyze_file(request)


def only(result: FileResult) -> KernelReport:
    assert result.errors == ()
    [kernel] = result.kernels
    return kernel


@pytest.mark.parametrize(
    "contract",
    [
        "(x: fp32[96, 8], cfg: Config(64), ...)",
        "(x: fp32[96, 8], cfg: Config(tile=128, bias=False), scale: 9, ...)",
        "(x: fp32[96, 8], cfg: Config(tile=T, weights=fp32[7, N]), ...) where N <= T <= 64",
        "(x: fp32[96, 8], cfg: Config(1, bias={True, False}), scale: S, ...) where 1 <= S <= 128",
        "(x: bf16[96, 8], cfg: Config(12..64), mode: Mode.COPY, dtype: bf16, ...)",
        "(x: {bf16, fp32}[96, 8], cfg: Config(3), mode: {Mode.CLEAR}, dtype: {bf16, fp32}, ...)",
        "(x: fp32[96, 8], cfg: Config(9, inner=Inner(4, deep=(5, 6))), parts: [u8[5, M]], ...)"
        " where M <= 9 or M == 40",
        "(x: fp32[96, 8], cfg: Config({8, 64}, {None, fp32[4, 5]}), parts=default, ...)",
        "(x: fp32[R, 8], cfg: Config(1), mode: Mode.CLEAR, ...) where not (R > 128)",
        "(x: _[R, 8], cfg: Config(1), ...) where R <= 4 and x.dtype in (float32,)",
    ],
)
def test_right_ones_are_verified(tmp_path: Path, contract: str) -> None:
    result = checked(tmp_path, contract)
    assert only(result).status == "verified", result.diagnostics


@pytest.mark.parametrize(
    ("contract", "rule", "told"),
    [
        ("(x: fp32[96, 8], cfg: Config(65), ...)", "partition-extent", {"cfg.0": 65}),
        (
            "(x: fp32[96, 8], cfg: Config(tile={64, 96}), ...)",
            "partition-extent",
            {"cfg.tile": 96},
        ),
        (
            "(x: fp32[96, 8], cfg: Config(9, weights=fp32[K, 7]), mode: Mode.CLEAR, ...)",
            "partition-extent",
            {"cfg.weights.shape": [129, 7], "mode": "Mode.CLEAR"},
        ),
        (
            "(x: fp32[96, 8], cfg: Config(9), parts: [u8[5, 6], u8[K, 9]], ...)",
            "partition-extent",
            {"parts[0].shape": [5, 6], "parts[1].shape": [129, 9]},
        ),
        (
            "(x: fp32[96, 8], cfg: Config(T, bias={True, False}), ...) where T >= 65",
            "partition-extent",
            {"cfg.bias": True},
        ),
        (
            "(x: fp32[96, 8], cfg: Config(1), scale: {1.5, 129}, mode: {Mode.COPY}, ...)",
            "partition-extent",
            {"scale": 129},
        ),
        (
            "(x: fp32[96, 8], cfg: Config(9, {None, fp32[K, 5]}), ...) where K == 201",
            "partition-extent",
            {"cfg.1.shape": [201, 5]},
        ),
    ],
)
def test_wrong_ones_are_told_with_all_parts(
    tmp_path: Path, contract: str, rule: str, told: dict[str, object]
) -> None:
    result = checked(tmp_path, contract)
    kernel = only(result)
    found = [d for d in result.diagnostics if d.rule == rule]
    assert found, result.diagnostics
    given = found[0].counterexample
    assert given is not None
    assert {name: given.get(name) for name in told} == told
    item = Item.of(found[0], kernel)
    assert item is not None
    [answer] = replay([item])
    assert answer.status == "confirmed", answer


@pytest.mark.parametrize(
    ("contract", "message"),
    [
        ("(y: fp32[96, 8])", "`staged` has no parameter `y`"),
        ("(cgf: Config(3))", "did you mean 'cfg'?"),
        ("(cfg: Conffig(3))", "its module has no name `Conffig`; did you mean `Config`?"),
        ("(cfg: Config(3), mode: Mode.CLAER)", "there is no `Mode.CLAER`"),
        ("(x=default)", "`x` has no default"),
        ("(x: fp32[K, 8]) where L <= 3", "`L` is not a size or a parameter"),
        ("(x: fp32[K, 8]) where x.shape[2] <= 3", "`x` has 2 dimensions, not 3"),
        ("(x: {fp32[3, 4], bf16[7]})", "`x` is at most one tensor"),
        ("(cfg: Config(tile=3)) where cfg.tile <= 3", "`tile=T`, and speak of `T`"),
        ("(x: fp32[cfg.tile, 3], cfg: Config(3))", "`tile=T`, and speak of `T`"),
        ("(mode: Mode.COPY) where mode >= 1", "`mode` is not given as an integer"),
        ("(scale: {None, 2}) where scale >= 1", "`scale` is not given as an integer"),
        ("(x: fp32[scale, 8], scale=default)", "`scale` is its default: say which number"),
        ("(x: fp32[scale, 8], ...)", "`scale` is its default: say which number"),
        ("(x: fp32[3, 8]) where mode == 0", "say what `mode` is"),
        ("(scale: {0, False})", "some of {0, False} are equal"),
        ("(x: fp32[3, 8]) where x", "`x` is not given as a truth value"),
        ("(scale: 3) where cfg.weights.dtype == bf16", "name its sizes"),
        ("(cfg: Config(tyle=3))", "`Config(...)` makes nothing of what it is given"),
        ("[0](x: fp32[3, 8])", "a launch grid has at least one program"),
        ("(x: fp32[3, 8]) on bm1684, bm1690", "no kernel of NKI runs on bm1684 or bm1690"),
    ],
)
def test_what_does_not_fit_is_said(tmp_path: Path, contract: str, message: str) -> None:
    result = checked(tmp_path, contract)
    [error] = result.errors
    assert error.kind == "usage" and message in error.message
    assert [kernel.status for kernel in result.kernels] == ["error"]


@pytest.mark.parametrize(
    ("asked", "judged"),
    [
        ((), ["trn1", "trn3"]),
        (("trn3", "trn2"), ["trn3"]),
        (("trn2",), ["trn1", "trn3"]),
    ],
)
def test_a_contract_is_checked_for_its_targets(
    tmp_path: Path, asked: tuple[str, ...], judged: list[str]
) -> None:
    result = checked(tmp_path, "(x: fp32[96, 8]) on trn1, bm1684, trn3", targets=asked)
    assert [kernel.target for kernel in result.kernels] == judged and not result.errors


BANDED = """\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def banded(x, dtype):
    rows = 96 if dtype == nl.bfloat16 else 160
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    band = nl.ndarray((rows, 3), dtype=dtype, buffer=nl.sbuf)
    nisa.memset(dst=band, value=0.0)
    nisa.dma_copy(dst=out, src=x)
    return out
"""


@pytest.mark.parametrize(
    ("dtypes", "status"), [("bf16", "verified"), ("fp32", "violated"), ("{bf16, fp32}", "violated")]
)
def test_a_fault_of_a_dtype_that_is_named_is_a_fault(
    tmp_path: Path, dtypes: str, status: str
) -> None:
    path = tmp_path / "kernel.py"
    path.write_text(BANDED, encoding="utf-8")
    contract = f"banded(x: fp32[5, 7], dtype: {dtypes})"
    result = analyze_file(
        FileRequest(str(path), targets=("trn2",), contracts=(contract,), ignore=CPYTHON)
    )
    broken = {d.rule for d in result.diagnostics}
    assert ("partition-extent" in broken) == (status == "violated")
    assert only(result).status in (status, "conditional" if broken else status)


ONE_OF_SEVERAL = """\
import nki
import nki.isa as nisa
import nki.language as nl


# tilelint: contract (x: fp32[7, 12], s: {None, 3, fp32[K, 1]})
@nki.jit
def scaled(x, s, mode: str = "fast"):
    tile = nl.ndarray((7, 12), dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    out = nl.ndarray((7, 12), dtype=nl.float32, buffer=nl.shared_hbm)
    if s is not None:
        nisa.tensor_scalar(dst=tile, data=tile, op0=nl.multiply, operand0=s)
    if mode != "fast":
        wide = nl.ndarray((129, 12), dtype=nl.float32, buffer=nl.sbuf)
        nisa.memset(dst=wide, value=0.0)
    nisa.dma_copy(dst=out, src=tile)
    return out
"""


def test_what_breaks_a_condition_is_shown_as_the_input_that_it_is(tmp_path: Path) -> None:
    path = tmp_path / "kernel.py"
    path.write_text(ONE_OF_SEVERAL, encoding="utf-8")
    (kernel,) = analyze_file(FileRequest(str(path), targets=("trn2",), ignore=CPYTHON)).kernels
    assert kernel.precondition is not None
    told = {c.text: (c.breach, c.witness) for c in kernel.precondition.conjuncts}
    breach, witness = told["s is None or s == 3"]
    assert breach == "s.shape = [1, 1]"
    assert witness is not None and "s" not in witness and witness["s.shape"] == [1, 1]
    assert told['mode == "fast"'][0] == "mode = another value"


def test_a_contract_above_a_function_makes_it_a_kernel(tmp_path: Path) -> None:
    path = tmp_path / "kernel.py"
    plain = ONE_OF_SEVERAL.replace("@nki.jit\n", "")
    path.write_text(plain, encoding="utf-8")
    (kernel,) = analyze_file(FileRequest(str(path), targets=("trn2",), ignore=CPYTHON)).kernels
    assert (kernel.name, kernel.status) == ("scaled", "conditional")
    path.write_text(plain.replace("# tilelint: contract", "# about"), encoding="utf-8")
    assert analyze_file(FileRequest(str(path), targets=("trn2",), ignore=CPYTHON)).kernels == ()


BLOCKS = """\
import math

import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def blocks(x):
    R, C = x.shape
    out = nl.ndarray((R, C), dtype=x.dtype, buffer=nl.shared_hbm)
    for i in range(COUNT):
        rows = min(128, R - i * 128)
        t = nl.ndarray((128, C), dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=t[0:rows], src=x[i * 128:i * 128 + rows])
        nisa.dma_copy(dst=out[i * 128:i * 128 + rows], src=t[0:rows])
    return out
"""


@pytest.mark.parametrize(
    ("count", "contract", "status"),
    [
        ("math.ceil(R / 128)", "(x: bf16[R, 64])", "verified"),
        ("int((R + 127) / 128)", "(x: bf16[R, 64])", "verified"),
        ("math.floor((R - 1) / 128) + 1", "(x: bf16[R, C]) where C <= 64", "verified"),
        ("int(R / 128) + (R % 128 > 0)", "(x: bf16[R, 64])", "verified"),
        ("int(R / 128)", "(x: bf16[R, 64])", "conditional"),
        ("math.floor(R / 128)", "(x: bf16[R, 64])", "conditional"),
        ("math.ceil(R * R / 128 / R)", "(x: bf16[R, 64])", "unknown"),
        ("math.ceil(R * R / (128 * R))", "(x: bf16[R, 64])", "unknown"),
    ],
)
def test_floats_made_of_sizes_that_a_contract_names(
    tmp_path: Path, count: str, contract: str, status: str
) -> None:
    path = tmp_path / "blocks.py"
    path.write_text(BLOCKS.replace("COUNT", count), encoding="utf-8")
    request = FileRequest(str(path), targets=("trn2",), contracts=(f"blocks{contract}",))
    result = analyze_file(request)
    kernel = only(result)
    assert kernel.status == status, (kernel.reasons, [d.message for d in result.diagnostics])
    if status == "unknown":  # what is larger than the device may have been rounded
        assert kernel.reasons
        return
    assert "x.shape[0] < 2**40" in kernel.assumptions
    for d in result.diagnostics:
        assert not {"wrong-value", "uncaught-exception"} & {d.rule}
        shape = dict(d.counterexample or {}).get("x.shape", [])
        assert isinstance(shape, list) and all(int(size) < 10**6 for size in shape)
        assert "2**" not in d.message and "9007199254740993" not in "".join(d.help)
