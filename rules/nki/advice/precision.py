"""What would be more precise."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from rules.nki import kit
from rules.nki.advice.common import advise, examples, note
from verifier.hardware.engines import Engine
from verifier.hardware.memories import Buffer
from verifier.hardware.targets import Target
from verifier.symbolic import expr as E
from verifier.symbolic.checks import Check
from verifier.symbolic.trace import Operation

#: operators that compute, where 32 bits go through float32
_ARITHMETIC: Final = frozenset({"add", "subtract", "multiply", "divide", "power"})


# ------------------------------------------------------------------------------- precision


def _wide_integers(operation: Operation, target: Target) -> Iterator[Check]:
    if operation.engine not in (Engine.VECTOR, Engine.SCALAR):
        return
    named = {
        kit.operator_name(operation.value(role))
        for role in ("op", "op0")
        if role in operation.operands
    }
    tiles = [view for _, view in kit.tiles(operation)]
    chosen = not isinstance(kit.described(operation).engines.default, Engine)
    left = chosen and kit.engine(operation) is Engine.UNKNOWN
    if left and all(tile.buffer is not Buffer.PSUM for tile in tiles):
        return  # whoever chooses by the operands sends such integers to GpSimd (NKI-TTN06)
    if not tiles or named.isdisjoint(_ARITHMETIC):
        return
    yield note(
        operation,
        E.not_(E.and_(*(view.dtype.among(kit.INT32) for view in tiles))),
        "integers of 32 bits are not computed in float32",
        f"{operation.call_text} computes integers of 32 bits in float32, exact up to 2**24",
        "ask for `engine=nisa.engine.gpsimd`, which computes them as integers",
        "T03",
        "T04",
        "TTN06",
    )


advise(
    "advice-integer-precision",
    7,
    "integers of 32 bits are computed by the GpSimd Engine",
    "Arithmetic of the Vector and the Scalar Engine is in float32, which holds integers up to "
    "2**24 exactly; the GpSimd Engine has integers of 32 bits.",
    ("T03", "T04", "TTN06"),
    _wide_integers,
    examples(
        (128, 640),
        "int32",
        "nisa.tensor_tensor(dst=result, data1=x_tile, data2=x_tile, op=nl.add, "
        "engine=nisa.engine.vector)",
        "nisa.tensor_tensor(dst=result, data1=x_tile, data2=x_tile, op=nl.add, "
        "engine=nisa.engine.gpsimd)",
    ),
    ("NKI ISA reference, tensor_tensor",),
    concerns=lambda i: Engine.GPSIMD in i.engines.on_request and bool(i.operators),
)


def _converted(operation: Operation, target: Target) -> Iterator[Check]:
    source = operation.view("src") or operation.view("on_true_tile")
    into = operation.view("dst")
    if source is None or into is None:
        return
    wide = E.and_(source.dtype.among(kit.INT32), E.not_(source.dtype.same(into.dtype)))
    yield note(
        operation,
        E.not_(wide),
        "integers of 32 bits keep their type",
        f"{operation.call_text} converts integers of 32 bits through float32, exact up to 2**24",
        "keep the type, or make sure that the values are small",
        kit.described(operation).converts,
        values=(("bits of the source", source.dtype.bits),),
    )


advise(
    "advice-conversion",
    10,
    "integers of 32 bits are copied without a conversion",
    "A conversion goes through float32, which holds integers up to 2**24 exactly.",
    (),
    _converted,
    examples(
        (128, 640),
        "int32",
        "nisa.tensor_copy(dst=result, src=x_tile)",
        "part = nl.ndarray((128, 640), dtype=nl.int32, buffer=nl.sbuf)\n"
        "nisa.tensor_copy(dst=part, src=x_tile)\n"
        "nisa.memset(dst=result, value=1.0)",
        ((128, 640), "float32"),
    ),
    ("NKI ISA reference, tensor_copy, affine_select",),
    enforces=lambda i: (i.converts,) if i.converts else (),
)
