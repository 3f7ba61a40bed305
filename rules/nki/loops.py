"""Loops that run on the device."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from rules.nki.kit import catalogue, register
from rules.nki.samples import variants
from verifier.hardware.targets import Target
from verifier.rulebase import COMPILED, On, Rule, Twin
from verifier.symbolic import expr as E
from verifier.symbolic.checks import Check, Note
from verifier.symbolic.trace import Operation

_FRAME: Final = """\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def repeated(x, c):
    assert x.shape == (56, 330) and x.dtype == nl.float32
    assert c.shape == (1, 1) and c.dtype == nl.int32
    out = nl.ndarray((56, 330), dtype=nl.float32, buffer=nl.shared_hbm)
    rows = nl.ndarray((56, 330), dtype=nl.float32, buffer=nl.sbuf)
    held = nl.ndarray((1, 1), dtype=nl.int32, buffer=nl.sbuf)
    count = nisa.register_alloc(0)
    nisa.dma_copy(dst=rows, src=x)
    nisa.dma_copy(dst=held, src=c)
    nisa.register_load(count, held)
{body}
    nisa.dma_copy(dst=out, src=rows)
    return out
"""

_ADD: Final = "nisa.tensor_scalar(dst=rows, data=rows, op0=nl.add, operand0=1.5)"


def _kernel(*lines: str) -> str:
    return _FRAME.format(body="\n".join(f"    {line}" for line in lines))


def _fori(*more: str, step: str = "1", before: str = "pass", after: str = "pass") -> str:
    return _kernel(
        before,
        "def body(i):",
        f"    {_ADD}",
        *(f"    {line}" for line in more),
        f"nl.fori_loop(0, count, body, step={step})",
        after,
    )


def _counted(step: str, body: str = _ADD, stop: str = "count") -> str:
    return _kernel(f"for i in nl.dynamic_range(0, {stop}, {step}):", f"    {body}")


def _until(*body: str) -> str:
    return _kernel("while count:", *(f"    {line}" for line in (_ADD, *body)))


def _counting(upper: str) -> str:
    return _kernel("def body(i):", f"    {_ADD}", f"nl.fori_loop(0, {upper}, body)")


def _while(end: str, first: str = "count") -> str:
    load = "nisa.register_load(r, held)"
    return _kernel(
        "def body(r):", f"    {_ADD}", f"    {load}", f"    {end}", f"nl.while_loop({first}, body)"
    )


_LOAD: Final = "nisa.register_load(count, held)"
_STORE: Final = "nisa.register_store(held, {})"
_MOVE: Final = "nisa.register_move({}, 3)"
_MOVED: Final = "nisa.register_move(count, {})"
_INSIDE: Final = _kernel(
    "with nl.no_reorder():", "    for i in nl.dynamic_range(0, count, 1):", f"        {_ADD}"
)
_OUTSIDE: Final = _kernel(
    "for i in nl.dynamic_range(0, count, 1):", "    with nl.no_reorder():", f"        {_ADD}"
)
_STATIC: Final = _kernel(
    "with nl.no_reorder():", "    for i in nl.affine_range(2):", f"        {_ADD}"
)
_LEFT: Final = _kernel(
    "assert nl.num_programs(0) == 1",
    "for k in range(2):",
    "    with nl.no_reorder():",
    "        if nl.program_id(0) == k:",
    "            continue",
    f"        {_ADD}",
    "for i in nl.dynamic_range(0, count, 1):",
    f"    {_ADD}",
)
_CALLED: Final = _kernel(
    "def body(i):", f"    {_ADD}", "with nl.no_reorder():", "    nl.fori_loop(0, count, body)"
)
_MAKES: Final = (
    "part = nl.ndarray((56, 330), dtype=nl.float32, buffer=nl.sbuf)",
    "nisa.tensor_copy(dst=part, src=rows)",
    "kept.append(part)",
)
_ESCAPED: Final = _fori(
    *_MAKES, before="kept = []", after="nisa.tensor_copy(dst=rows, src=kept[0])"
)
_WITHIN: Final = _fori(*_MAKES, "nisa.tensor_copy(dst=rows, src=kept[-1])", before="kept = []")

_TWINS: Final = (
    Twin("LP05", _counted("0"), _counted("1"), "0.3", "trn2"),
    Twin("LP05", _counted("-1"), _counted("2"), "0.5", "trn2"),
    Twin(
        "LP05",
        _counted("2", _MOVE.format("i"), "20"),
        _counted("2", _MOVE.format("count"), "20"),
        "0.5",
        "trn2",
    ),
    Twin(
        "REG05",
        _counted("1", _MOVE.format("i")),
        _counted("1", _MOVE.format("count")),
        "0.4",
        "trn2",
    ),
    Twin("REG05", _fori(_LOAD.replace("count", "i")), _fori(_LOAD), "0.6", "trn2"),
    Twin("REG02", _kernel(_MOVE.format("7")), _kernel(_MOVE.format("count")), "0.5", "trn2"),
    Twin("REG02", _kernel(_MOVE.format("held")), _kernel(_MOVE.format("count")), "0.3", "trn2"),
    Twin("REG02", _kernel(_MOVED.format("held")), _kernel(_MOVED.format("5")), "0.6", "trn3"),
    Twin("REG02", _kernel(_MOVED.format("nl.add")), _kernel(_LOAD), "0.4", "trn2"),
    Twin("LP06", _until(), _until(_LOAD), "0.4", "trn2"),
    Twin("LP07", _fori(step="-1"), _fori(step="3"), "0.6", "trn2"),
    Twin("LP07", _ESCAPED, _WITHIN, "0.6", "trn3"),
    Twin("LP07", _counting("None"), _counting("count"), "0.6", "trn2"),
    Twin("LP07", _counting("held"), _counting("3"), "0.6", "trn2"),
    Twin("LP08", _while("return r", "1"), _while("return r"), "0.6", "trn2"),
    Twin("REG04", _kernel(_STORE.format("3")), _kernel(_STORE.format("count")), "0.5", "trn2"),
    Twin("G50", _fori("return count"), _fori(), "0.6", "trn2"),
    Twin("LP08", _while("pass"), _while("return r"), "0.6", "trn2"),
    Twin("L66", _INSIDE, _OUTSIDE, "0.4", "trn2"),
    Twin("L66", _INSIDE, _LEFT, "0.4", "trn2"),
    Twin("LP09", _CALLED, _STATIC, "0.6", "trn3"),
)


def _device_loop(op: Operation, target: Target) -> Iterator[Check]:
    """A tensor of a loop's body is not used behind the loop."""
    for role, view in (*op.reads, *op.writes):
        storage = view.storage
        if storage.until is not None and op.order > storage.until:
            yield Check(
                predicate=E.FALSE,
                span=op.span_of(role),
                text=f"`{storage.name}` is used in the loop whose body makes it",
                message=f"`{storage.name}` is made in the body of a loop on the device, and is not "
                "there behind it",
                facts=catalogue(("LP07", "LP08")),
                notes=(Note(storage.span, f"`{storage.name}` is allocated here"),),
                help=("allocate it before the loop",),
            )


_DEVICE_LOOP = variants(
    """\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def repeated(x):
    assert x.shape == (56, 330) and x.dtype == nl.float32
    out = nl.ndarray((56, 330), dtype=nl.float32, buffer=nl.shared_hbm)
    rows = nl.ndarray((56, 330), dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=rows, src=x)

    def body(i):
        nisa.tensor_scalar(dst=rows, data=rows, op0=nl.add, operand0=1.5)

-    nl.fori_loop(6, 0, body, step=-1)
+    nl.fori_loop(0, 6, body, step=1)
    nisa.dma_copy(dst=out, src=rows)
    return out
"""
)


register(
    Rule(
        id="device-loop",
        code="NKI195",
        family="api",
        summary="a loop on the device counts up by a constant and hands nothing out",
        reason=(
            "The body of a loop on the device is compiled once. Its index is a register that the "
            "loop alone writes, its step a positive constant; tensors of the body are gone behind "
            "it, and what goes from one iteration to the next lies in SBUF or HBM. A body returns "
            "nothing, but for the next condition of `while_loop`. `no_reorder` keeps straight "
            "code in order, and holds no such loop."
        ),
        facts=(
            "G50",
            "L66",
            "LP05",
            "LP06",
            "LP07",
            "LP08",
            "LP09",
            "N13",
            "REG02",
            "REG04",
            "REG05",
        ),
        on=On.OPERATION,
        replayed=COMPILED,
        check=_device_loop,
        sources=("NKI migration guide 0.6, rules for migrated loops", "NKI language guide"),
        twins=_TWINS,
        failing=_DEVICE_LOOP.failing,
        passing=_DEVICE_LOOP.passing,
    )
)
