"""Functions of ``ppl.language`` that make no device operation, or several."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from verifier.dialects.ppl import frontend, isa, library, tensors
from verifier.dialects.ppl.isa.shared import LAYOUTS
from verifier.dialects.ppl.steps import eu_elements, tensor_strides
from verifier.hardware import dtypes as dt
from verifier.hardware.capabilities import Capability
from verifier.hardware.engines import Engine
from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Expr
from verifier.symbolic.instruction import Instruction
from verifier.symbolic.machine import Call, Machine
from verifier.symbolic.pretty import pretty
from verifier.symbolic.python.kinds.numbers import FLOAT
from verifier.symbolic.python.model import Builtin
from verifier.symbolic.python.vm import VM
from verifier.symbolic.tensors import DType, LoopKind
from verifier.symbolic.trace import AssumptionKind, Operation
from verifier.symbolic.values import Enumerator, Opaque, Range

Handler = Callable[[Machine, Call], object]

#: axes of the launch grid: cores, and groups of them (PPL-A01)
CORES, GROUPS = 0, 1


def _index(axis: int) -> Handler:
    return lambda machine, call: machine.grid(axis)[0]


def _count(axis: int) -> Handler:
    return lambda machine, call: machine.grid(axis)[1]


def _block_index(machine: Machine, call: Call) -> object:
    core, cores = machine.grid(CORES)
    group, _ = machine.grid(GROUPS)
    return group * cores + core


def _block_count(machine: Machine, call: Call) -> object:
    return machine.grid(CORES)[1] * machine.grid(GROUPS)[1]


def _lanes(machine: Machine, call: Call) -> object:
    return E.const(machine.chip.lanes)


def _dtype(machine: Machine, call: Call) -> DType | None:
    given = [*call.args, *call.keywords.values()]
    return machine.as_dtype(given[0].value, given[0].span) if given else None


def _eu_num(machine: Machine, call: Call) -> object:
    dtype = _dtype(machine, call)
    return eu_elements(machine, dtype) if dtype is not None else Opaque("elements per unit")


def _nic(machine: Machine, call: Call) -> object:
    """Input channels per group of weights (CHIP-24)."""
    dtype = _dtype(machine, call)
    if dtype is None:
        return Opaque("input channels per group")
    groups = machine.chip.groups
    if not machine.chip.has(Capability.KNOWN_GROUPS):
        machine.check(
            "ppl-weight-groups",
            E.not_(dtype.among(dt.codes("float32", "int4", "uint4"))),
            call.span,
            "get_nic knows the chip",
            f"`{call.text}` does not know {machine.chip.name}: "
            "float32 has groups of 16 instead of 1, elements of four bits divide by zero",
            facts=("PPL-C13",),
            help=("write the number of input channels per group: 1 for float32",),
        )
        groups = {}
    table = {
        code: groups.get(name, max(machine.chip.lanes * 8 // dt.BITS[name], 1))
        for name, code in dt.CODES.items()
    }
    return E.table("channels per group", dtype.code, table)


def _integers(machine: Machine, call: Call, *names: str) -> list[Expr] | None:
    given = tensors.arguments(call, *names)
    out: list[Expr] = []
    for name in names:
        argument = given.get(name)
        number = machine.as_int(argument.value, argument.span) if argument is not None else None
        if number is None:
            return None
        out.append(number)
    return out


def _fraction(call: Call) -> tuple[float, float] | None:
    """Constants of which one is no integer: functions of Python compute with them as it does."""
    given = tensors.arguments(call, "x", "div")
    values = [given[name].value for name in ("x", "div") if name in given]
    plain = [v.const if isinstance(v, Expr) and v.is_const else v for v in values]
    numbers = [float(v) for v in plain if isinstance(v, (int, float))]
    fractions = any(isinstance(v, float) for v in values)
    return (numbers[0], numbers[1]) if fractions and len(numbers) == len(values) == 2 else None


def _rounded(x: float, div: float) -> float | None:
    return (x + div - 1) // div if div else None


def _cdiv(machine: Machine, call: Call) -> object:
    fraction = _fraction(call)
    if fraction is not None and (rounded := _rounded(*fraction)) is not None:
        return rounded
    numbers = _integers(machine, call, "x", "div")
    return Opaque("a quotient") if numbers is None else E.ceildiv(numbers[0], numbers[1])


def _align(machine: Machine, call: Call) -> object:
    fraction = _fraction(call)
    if fraction is not None and (rounded := _rounded(*fraction)) is not None:
        return rounded * fraction[1]
    numbers = _integers(machine, call, "x", "div")
    return Opaque("a multiple") if numbers is None else E.ceildiv(*numbers) * numbers[1]


def _strides(machine: Machine, call: Call, last: str) -> object:
    names = ("N", "C", "H", "W", "align_mode", "start_idx", last)
    given = tensors.arguments(call, *names)
    sizes = _integers(machine, call, "N", "C", "H", "W")
    positions = {name: given[name] for name in names if name in given}
    start = positions.get("start_idx")
    lane = machine.as_int(start.value, start.span) if start is not None else E.const(0)
    mode = positions.get("align_mode")
    unit_given = positions.get(last)
    layout = "aligned"
    if mode is not None and isinstance(mode.value, Enumerator):
        layout = LAYOUTS.get(mode.value.name, layout)
    if len(call.args) >= 4:
        sizes = []
        for argument in call.args[:4]:
            number = machine.as_int(argument.value, argument.span)
            if number is None:
                return Opaque("strides of a tensor")
            sizes.append(number)
    if sizes is None or lane is None or unit_given is None:
        return Opaque("strides of a tensor")
    unit: Expr | None
    if last == "dtype":
        dtype = machine.as_dtype(unit_given.value, unit_given.span)
        unit = eu_elements(machine, dtype) if dtype is not None else None
    else:
        unit = machine.as_int(unit_given.value, unit_given.span)
    if unit is None:
        return Opaque("strides of a tensor")
    shape = (sizes[0], sizes[1], sizes[2], sizes[3])
    return tensor_strides(machine.chip.lanes, layout, lane, shape, unit)


def _aligned_stride(machine: Machine, call: Call) -> object:
    return _strides(machine, call, "dtype")


def _get_stride(machine: Machine, call: Call) -> object:
    return _strides(machine, call, "eu_num")


def control(instruction: Instruction) -> Handler:
    """An operation without operands: a mark that rules and runs look for."""

    def handler(machine: Machine, call: Call) -> object:
        machine.emit(
            Operation(
                name=instruction.name,
                operands={},
                span=call.span,
                generation=machine.generation,
                capabilities=machine.chip.capabilities,
                loops=machine.loops,
                path=machine.path,
                order=machine.next_order(),
                engine=Engine.CONTROL,
                call_text=call.text,
                instruction=instruction,
            )
        )
        return None

    return handler


def _nothing(machine: Machine, call: Call) -> object:
    return None


def _static_assert(machine: Machine, call: Call) -> object:
    """``static_assert``: what the kernel demands of what is known when it is compiled.

    Of anything else the front end cannot ask it: it ends there.
    """
    if call.args:
        argument = call.args[0]
        condition = machine.as_bool(argument.value, argument.span)
        what = "what `static_assert` asks"
        settled = frontend.settles(machine, argument, what) if isinstance(machine, VM) else E.TRUE
        if condition is not None and settled is not E.FALSE:
            asked = E.or_(E.not_(settled), condition)
            machine.assume(asked, pretty(condition), argument.span, AssumptionKind.ASSERT)
    return None


def of_number(vm: VM, value: object, name: str) -> object | None:
    """Attributes of the objects that the front end has for numbers (``language/core.py``).

    What a conversion makes of an integer is that integer where it has room for all of 32 bits.
    """
    if name == "value":
        return value
    if name in ("dtype", "type", "shape", "numel", "handle"):
        return Opaque(f"`.{name}` of a number", harmless=True)
    if name != "to":
        return None

    def convert(vm: VM, span: Span, dtype: object, bitcast: object = False, /) -> object:
        wanted = vm.as_dtype(dtype, span)
        code = None if wanted is None else wanted.code
        if code is None or bitcast is not False or not code.is_const:
            return Opaque("a number that is converted", harmless=True)
        if code.const in dt.codes("int32", "int64") and isinstance(value, Expr):
            return value
        floats = dt.codes("float16", "bfloat16", "float32", "float64")
        return FLOAT if code.const in floats else Opaque("a number", harmless=True)

    return Builtin.of(name, convert)


def _scalar_dtype(machine: Machine, call: Call) -> object:
    return _dtype(machine, call) or Opaque("a dtype")


def _constant(machine: Machine, call: Call) -> object:
    return call.args[0].value if call.args else Opaque("a constant")


def _static_range(machine: Machine, call: Call) -> object:
    """A loop that the front end runs; it has to know its bounds."""
    if isinstance(machine, VM):
        for argument in (*call.args, *call.keywords.values()):
            frontend.settles(machine, argument, "a bound of `static_range`")
    numbers = [machine.as_int(a.value, a.span) for a in call.args]
    if "step" in call.keywords:
        step = call.keywords["step"]
        numbers = [*numbers, machine.as_int(step.value, step.span)]
    known = [number for number in numbers if number is not None]
    if not known or len(known) != len(numbers):
        return Opaque("a range")
    zero, one = E.const(0), E.const(1)
    if len(known) == 1:
        return Range(zero, known[0], one, LoopKind.STATIC, call.span)
    return Range(
        known[0], known[1], known[2] if len(known) > 2 else one, LoopKind.STATIC, call.span
    )


HANDLERS: Final[dict[str, Handler]] = {
    "pl.get_core_index": _index(CORES),
    "pl.get_core_num": _count(CORES),
    "pl.get_group_index": _index(GROUPS),
    "pl.get_group_num": _count(GROUPS),
    "pl.get_block_index": _block_index,
    "pl.get_block_num": _block_count,
    "pl.lane_num": _lanes,
    "pl.get_eu_num": _eu_num,
    "pl.get_nic": _nic,
    "pl.cdiv": _cdiv,
    "pl.align": _align,
    "pl.aligned_stride_4d": _aligned_stride,
    "pl.get_stride": _get_stride,
    "pl.make_tensor": tensors.make_tensor,
    "pl.gtensor": tensors.gtensor,
    "pl.get_scalar_dtype": _scalar_dtype,
    "pl.constexpr": _constant,
    "pl.static_range": _static_range,
    "pl.static_assert": _static_assert,
    # whether the device stops there is not said, and it comes too late for what went before
    "pl.device_assert": _nothing,
    "pl.static_print": _nothing,
    "pl.device_print": _nothing,
    **{f"pl.{i.short}": control(i) for i in isa.CONTROL.values()},
    **library.HANDLERS,
}
