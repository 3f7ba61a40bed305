"""Helpers that ``ppl.language`` brings along, written in PPL themselves.

Each is one operation here: what it reads and writes, and the local memory that it takes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from verifier.dialects.ppl import tensors
from verifier.dialects.ppl.emission import accessed
from verifier.dialects.ppl.parameters import OF_ONE
from verifier.hardware import dtypes as dt
from verifier.hardware.engines import Engine
from verifier.hardware.memories import Buffer
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Expr
from verifier.symbolic.lanes import AXES
from verifier.symbolic.machine import Arg, Call, Machine
from verifier.symbolic.tensors import DType, Mark, Operand, StorageKind, View
from verifier.symbolic.trace import Operation
from verifier.symbolic.values import Opaque

_BLOCK: Final = ("block_n", "block_c", "block_h", "block_w")
_REAL: Final = ("real_n", "real_c", "real_h", "real_w")


def _numbers(
    machine: Machine, given: dict[str, Arg], names: tuple[str, ...]
) -> tuple[Expr, ...] | None:
    out: list[Expr] = []
    for name in names:
        argument = given.get(name)
        number = machine.as_int(argument.value, argument.span) if argument is not None else None
        if number is None:
            return None
        out.append(number)
    return tuple(out)


def _emit(
    machine: Machine,
    name: str,
    call: Call,
    given: dict[str, Arg],
    reads: dict[str, View],
    writes: dict[str, View],
) -> None:
    operands = {key: Operand(key, a.value, a.span) for key, a in given.items()}
    for key, view in writes.items():
        operands.setdefault(key, Operand(key, view, call.span, given=False))
    machine.emit(
        Operation(
            name=f"ppl.{name}",
            operands=operands,
            span=call.span,
            generation=machine.generation,
            capabilities=machine.chip.capabilities,
            loops=machine.loops,
            path=machine.path,
            order=machine.next_order(),
            reads=tuple((key, accessed(view)) for key, view in reads.items()),
            writes=tuple((key, accessed(view)) for key, view in writes.items()),
            engine=Engine.TIU,
            call_text=call.text,
        )
    )


def _unit(machine: Machine, dtype: DType) -> Expr:
    bits = machine.chip.eu_bytes * 8
    table = {code: bits // dt.BITS[name] for name, code in dt.CODES.items()}
    return E.table("elements per unit", dtype.code, table)


def quick_pooling(machine: Machine, call: Call) -> object:
    """Reduces w, in two steps: by units of the EU, then within one (pads the input's last unit)."""
    names = ("out_tensor", "in_tensor", *_BLOCK, *_REAL, "fill", "mode", "scale")
    given = tensors.arguments(call, *names)
    out = given["out_tensor"].value if "out_tensor" in given else None
    source = given["in_tensor"].value if "in_tensor" in given else None
    block, real = _numbers(machine, given, _BLOCK), _numbers(machine, given, _REAL)
    if not isinstance(out, View) or not isinstance(source, View) or block is None or real is None:
        machine.unmodelled("ppl.quick_pooling", call.span)
        return None
    unit = _unit(machine, source.dtype)
    partial = machine.allocate(
        "the partial result of quick_pooling",
        (block[0], block[1], E.const(1), unit),
        source.dtype,
        Buffer.LOCAL,
        call.span,
        kind=StorageKind.RESULT,
        partition_axis=None,
        marks={Mark.LAYOUT: "aligned"},
    )
    rows = tensors.box(machine, partial, (real[0], real[1], E.const(1), unit), call.span)
    _emit(machine, "quick_pooling.rows", call, given, {"in_tensor": source}, {"partial": rows})
    _emit(machine, "quick_pooling", call, given, {"partial": rows}, {"out_tensor": out})
    return None


def pooling2(machine: Machine, call: Call) -> object:
    """Reduces w with a scratch tensor of the caller's; the result is new."""
    names = ("qk_sub_tensor", "tmp_tensor", "real_q_h", "real_m", "real_k", "mode")
    given = tensors.arguments(call, *names)
    source = given["qk_sub_tensor"].value if "qk_sub_tensor" in given else None
    scratch = given["tmp_tensor"].value if "tmp_tensor" in given else None
    sizes = _numbers(machine, given, ("real_q_h", "real_m"))
    if not isinstance(source, View) or not isinstance(scratch, View) or sizes is None:
        machine.unmodelled("ppl.pooling2", call.span)
        return Opaque("the result of pooling2")
    shape = (sizes[0], sizes[1], E.const(1), E.const(1))
    out = _result(machine, call, shape, source.dtype)
    _emit(machine, "pooling2", call, given, {"qk_sub_tensor": source}, {"dst": out})
    return out


def _result(
    machine: Machine, call: Call, shape: tuple[Expr, ...], dtype: DType, name: str = ""
) -> View:
    return machine.allocate(
        name or call.target_name or call.text.rpartition(".")[2],
        shape,
        dtype,
        Buffer.LOCAL,
        call.span,
        kind=StorageKind.RESULT,
        partition_axis=None,
        marks={Mark.LAYOUT: "aligned"},
    )


def _elementwise(
    function: str, first: str, extra: tuple[str, ...], block: tuple[str, ...], real: tuple[str, ...]
) -> Callable[[Machine, Call], object]:
    """A function of one tensor whose result is a new tensor of the given block and real shape."""

    def handler(machine: Machine, call: Call) -> object:
        given = tensors.arguments(call, first, *extra, *block, *real)
        source = given[first].value if first in given else None
        memory, sizes = _numbers(machine, given, block), _numbers(machine, given, real)
        if not isinstance(source, View) or memory is None or sizes is None:
            machine.unmodelled(f"ppl.{function}", call.span)
            return Opaque(f"the result of {call.text}")
        reads = {first: source}
        for name in extra:
            value = given[name].value if name in given else None
            if isinstance(value, View):
                reads[name] = value
        _within(machine, source, memory, sizes, call)
        # the helpers keep at least one intermediate tensor beside the result
        _result(machine, call, memory, source.dtype, f"a working tensor of {function}")
        made = _result(machine, call, memory, source.dtype)
        out = tensors.box(machine, made, sizes, call.span)
        _emit(machine, function, call, given, reads, {"dst": out})
        return out

    return handler


def _within(
    machine: Machine, source: View, memory: tuple[Expr, ...], sizes: tuple[Expr, ...], call: Call
) -> None:
    for name, most, size in zip(AXES, memory, sizes, strict=True):
        if size is not most:
            machine.check(
                "ppl-real-shape",
                E.le(size, most),
                call.span,
                f"real {name} <= block {name}",
                f"the real {name} given to `{call.text}` is larger than the block",
                facts=("PPL-B01",),
                values=((f"real {name}", size), (f"block {name}", most)),
            )


HANDLERS: Final[dict[str, Callable[[Machine, Call], object]]] = {
    "pl.quick_pooling": quick_pooling,
    "pl.pooling2": pooling2,
    "pl.exp_no_overflow": _elementwise(
        "exp_no_overflow", "input", (), ("m_n", "m_c", "m_h", "m_w"), ("t_n", "t_c", "t_h", "t_w")
    ),
    "pl.prelu": _elementwise("prelu", "local_input", ("alpha",), _BLOCK, _REAL),
    "pl.softplus_f32": _elementwise("softplus_f32", "local_input", ("beta",), _BLOCK, _REAL),
    "pl.pow_f32": _elementwise("pow_f32", "base", ("exponent",), _BLOCK, _REAL),
    **{f"pl.{name}": _elementwise(name, "local_input", (), _BLOCK, _REAL) for name in OF_ONE},
}
