"""Barriers that not all cores come to."""

from __future__ import annotations

from pathlib import Path

import pytest

from verifier.engine import analyze_source
from verifier.executor import simulate
from verifier.executor.machine import Options
from verifier.executor.running import Shaped

_PPL = """\
import ppl
import ppl.language as pl


# tilelint: contract (n: 1..8, src_ptr: fp16[1, 32, 1, 48], out_ptr: fp16[1, 32, 1, 48])
@ppl.jit
def k(out_ptr, src_ptr, n):
    core = pl.get_core_index()
    a = pl.make_tensor([1, 32, 1, 48], pl.float16)
    pl.dma.load(a, pl.gtensor([1, 32, 1, 48], pl.GLOBAL, src_ptr).view())
{}
    if core == 0:
        pl.dma.store(pl.gtensor([1, 32, 1, 48], pl.GLOBAL, out_ptr).view(), a)
"""

_NKI = """\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def meet(x, n: int):
    assert x.shape == (2, 64, 90)
    core = nl.program_id(0)
    assert nl.num_programs(0) == 2
    out = nl.ndarray((2, 64, 90), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray((64, 90), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x[core])
    nisa.dma_copy(dst=out[core], src=tile)
{}
    return out
"""
_SYNC = {_PPL: "pl.sync()", _NKI: "nisa.core_barrier(data=out, cores=(0, 1))"}


@pytest.mark.parametrize("kernel", [_PPL, _NKI], ids=["ppl", "nki"])
@pytest.mark.parametrize(
    ("body", "lines"),
    [
        ("    @", []),
        ("    if n == 3:\n        @", []),
        ("    for i in range(n):\n        @", []),
        ("    if core == 0:\n        @\n    else:\n        @", []),
        ("    if core >= 0:\n        @", []),
        ("    if core < n:\n        @", [2]),
        ("    if core == 0:\n        @", [2]),
        ("    if core == 0:\n        @\n    @", [2]),
        ("    for i in range(core):\n        @", [2]),
        ("    for i in range(n):\n        if core == i:\n            @", [3]),
        ("    for i in range(n):\n        if core < i:\n            @", [3]),
        ("    if core == 0:\n        @\n        @\n    else:\n        @", [3]),
    ],
)
def test_all_come_to_a_barrier(kernel: str, body: str, lines: list[int]) -> None:
    text = kernel.format(body.replace("@", _SYNC[kernel]))
    target = "bm1690" if kernel is _PPL else "trn2"
    result = analyze_source(text, target=target)
    first = kernel[: kernel.index("{}")].count("\n")
    found = [d for d in result.diagnostics if d.rule == "core-barrier-divergence"]
    assert [d.span.line - first for d in found] == lines
    assert {d.severity for d in found} <= {"error", "warning"}
    if not lines:
        assert [k.status for k in result.kernels] == ["verified"]


def test_nobody_tells_that_a_core_waits_for_ever() -> None:
    body = f"    for i in range(core, n, 2):\n        {_SYNC[_NKI]}"
    text = _NKI.format(body).replace("    assert nl.num_programs(0) == 2\n", "")
    contract = "# tilelint: contract [2](x: fp32[2, 64, 90], n: 1..8)\n@nki.jit"
    result = analyze_source(text.replace("@nki.jit", contract), target="trn2")
    assert [d.severity for d in result.diagnostics] == ["error"]
    (kernel,) = result.kernels
    assert kernel.precondition is not None and kernel.precondition.text == "n % 2 == 0"


def test_rounds_that_cores_take_in_turns_may_add_up() -> None:
    body = "    for i in range(2 * n):\n        if i % 2 == core:\n            @"
    result = analyze_source(_NKI.format(body.replace("@", _SYNC[_NKI])), target="trn2")
    assert [k.status for k in result.kernels] == ["unknown"]
    assert {d.severity for d in result.diagnostics} <= {"note"}


def test_one_core_waits_for_nobody() -> None:
    result = analyze_source(_PPL.format("    if core < n:\n        pl.sync()"), target="bm1684x")
    assert [k.status for k in result.kernels] == ["verified"]


_EXCHANGE = """\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def swap(x, n: int):
    assert x.shape == (2, 48, 40) and x.dtype == nl.float32
    assert nl.num_programs(0) == 2 and n >= 1
    core = nl.program_id(0)
    out = nl.ndarray((2, 48, 40), dtype=x.dtype, buffer=nl.shared_hbm)
    own = nl.ndarray((48, 40), dtype=x.dtype, buffer=nl.sbuf)
    other = nl.ndarray((48, 40), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=own, src=x[core])
    nisa.dma_copy(dst=other, src=x[core])
    wide = 40 if core == 0 else 20
{}
    nisa.dma_copy(dst=out[core], src=other)
    return out
"""


def _sent(to: str = "1 - core", source: str = "1 - core", pipe: str = "0", part: str = "") -> str:
    return (
        f"nisa.sendrecv(src=own{part}, dst=other{part}, send_to_rank={to}, "
        f"recv_from_rank={source}, pipe_id={pipe})"
    )


def _half(other: str) -> str:
    return _sent(other, other, part="[:, 0:20]")


def _apart(first: list[str], second: list[str]) -> str:
    """What core 0 does, and core 1."""
    lines = ["if core == 0:", *(f"    {line}" for line in first), "else:"]
    return "\n".join(f"    {line}" for line in (*lines, *(f"    {line}" for line in second)))


_SENT, _ONE, _TWO = _sent(), _sent("1", "1"), _sent("0", "0")
#: three pipes, one after the other
_ROUNDS = [["for i in range(3):", f"    {_sent(to, to, 'i')}"] for to in "10"]


@pytest.mark.parametrize(
    ("body", "lines"),
    [
        (f"    {_SENT}", []),
        (f"    if n == 3:\n        {_SENT}", []),
        (f"    for i in range(n):\n        {_SENT}", []),
        (f"    {_sent(pipe='n')}", []),
        (f"    {_sent('core', 'core', 'core')}", []),
        (f"    for i in range(2):\n        {_sent('(core + i) % 2', '(core + i) % 2')}", []),
        (f"    if core == 0:\n        {_sent('1', '1')}\n    else:\n        {_sent('0', '0')}", []),
        (f"    {_sent(part='[:, 0:20]')}", []),
        (f"    if core == 0:\n        {_SENT}", [2]),
        (f"    if core == n:\n        {_SENT}", [2]),
        (f"    for i in range(core + 1):\n        {_SENT}", [2]),
        (f"    {_sent(pipe='core')}", [1]),
        (f"    {_sent('0', '1')}", [1]),
        (f"    {_sent('1 - core', 'core')}", [1]),
        (f"    {_sent(part='[:, 0:wide]')}", [1]),
        (
            f"    if core == 0:\n        {_SENT}\n    else:\n        {_sent(pipe='1')}",
            [2, 4],
        ),
        (_apart([_ONE], [_TWO, _TWO]), [5]),
        (_apart([_ONE, _ONE], [_TWO, _TWO]), []),
        (_apart(["for i in range(2):", f"    {_ONE}"], ["for i in range(3):", f"    {_TWO}"]), [6]),
        (_apart(["for i in range(n):", f"    {_ONE}"], ["for i in range(n):", f"    {_TWO}"]), []),
        (_apart(_ROUNDS[0], _ROUNDS[1]), []),
        (_apart(_ROUNDS[0], [_TWO, _sent("0", "0", "1"), _sent("0", "0", "2")]), []),
        (_apart(_ROUNDS[0], [_TWO, _sent("0", "0", "1"), _sent("0", "0", "3")]), [3, 7]),
        (_apart([_ONE, _half("1")], [_TWO, _half("0")]), []),
        (_apart([_ONE, _half("1")], [_half("0"), _TWO]), [2, 3, 5, 6]),
        (
            f"    for i in range(n):\n        if core == 0:\n            {_ONE}\n        else:\n"
            f"            {_TWO}\n            if i == 1:\n                {_TWO}",
            [5],
        ),
    ],
)
def test_what_a_core_waits_for_is_sent(body: str, lines: list[int]) -> None:
    result = analyze_source(_EXCHANGE.format(body), target="trn2")
    first = _EXCHANGE[: _EXCHANGE.index("{}")].count("\n")
    found = [d for d in result.diagnostics if d.rule == "core-barrier-divergence"]
    assert [d.span.line - first for d in found] == lines
    assert {d.severity for d in found} <= {"error", "warning"}
    if not lines:
        assert [k.status for k in result.kernels] == ["verified"]


_MEET = "nisa.core_barrier(data=out, cores=(0, 1))"
_AGAIN = "nisa.core_barrier(data=own_hbm, cores=(0, 1))"


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (_apart([_ONE, _MEET], [_TWO, _MEET]), "verified"),
        (_apart([_ONE, _MEET], [_MEET, _TWO]), "unknown"),
        (_apart([_MEET, _AGAIN], [_MEET, _AGAIN]), "verified"),
        (_apart([_MEET, _AGAIN], [_AGAIN, _MEET]), "unknown"),
        (_apart([_MEET], [_AGAIN]), "unknown"),
        (_apart(_ROUNDS[0], [*_ROUNDS[1], _MEET]), "violated"),
        (
            _apart(
                ["for i in range(n):", f"    {_ONE}", f"    {_MEET}"],
                ["for i in range(n):", f"    {_TWO}", f"    {_MEET}"],
            ),
            "verified",
        ),
        (
            _apart(
                ["for i in range(n):", f"    {_ONE}", f"    {_MEET}"],
                ["for i in range(n):", f"    {_TWO}", "for i in range(n):", f"    {_MEET}"],
            ),
            "unknown",
        ),
        (
            "    for i in range(2):\n        if i == core:\n"
            f"            {_SENT}\n        {_MEET}\n        if i != core:\n            {_SENT}",
            "unknown",
        ),
        (f"    {_sent(pipe='core')}\n    {_sent(pipe='1 - core')}", "unknown"),
    ],
)
def test_cores_that_come_in_another_order_are_left_open(body: str, status: str) -> None:
    made = "    own_hbm = nl.ndarray((8, 9), dtype=x.dtype, buffer=nl.shared_hbm)\n"
    result = analyze_source(_EXCHANGE.format(made + body), target="trn2")
    assert [k.status for k in result.kernels] == [status]
    found = [d for d in result.diagnostics if d.rule == "core-barrier-divergence"]
    assert ([d.severity for d in found] == ["note"]) == (status == "unknown")


def test_a_dst_of_another_shape_is_no_exchange_without_an_answer() -> None:
    body = """\
    got = nl.ndarray((64, 91), dtype=x.dtype, buffer=nl.sbuf)
    nisa.sendrecv(
        src=tile, dst=got, send_to_rank=1 - core, recv_from_rank=1 - core, pipe_id=0
    )
    nisa.dma_copy(dst=out[core], src=got[:, 0:90])"""
    found = analyze_source(_NKI.format(body), target="trn2").diagnostics
    rules = {d.rule for d in found if d.severity == "error"}
    assert "sendrecv" in rules and "core-barrier-divergence" not in rules


@pytest.mark.parametrize(("last", "waits"), [("0", False), ("1", True)])
def test_pipes_do_not_wait_for_each_other(tmp_path: Path, last: str, waits: bool) -> None:
    body = _apart([_ONE, _sent("1", "1", "1")], [_sent("0", "0", "1"), _sent("0", "0", last)])
    path = tmp_path / "kernel.py"
    path.write_text(_EXCHANGE.format(body), encoding="utf-8")
    (kernel,) = analyze_source(path.read_text(encoding="utf-8"), target="trn2").kernels
    assert kernel.status == ("violated" if waits else "unknown")  # if they hold up the text
    made = simulate(f"{path}::swap", "trn2", None)
    options = Options(shapes_only=True)
    run = type(made)(made.kernel, made.target, made.api_version, options, (2,))
    outcome = run.outcome(x=Shaped("float32", (2, 48, 40)), n=3)
    found = {d.rule for d in outcome.diagnostics}
    assert found == ({"core-barrier-divergence"} if waits else set())
    assert waits or "in other orders" in str(outcome.ended)
