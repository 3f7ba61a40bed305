"""Functions of the API that are no device instruction: allocation, loops, ids, registers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from verifier.dialects.binding import Bound
from verifier.dialects.nki import beta1, deviceloops, grid, isa, names, sequencers
from verifier.dialects.nki.binding import SIGNATURE_RULE
from verifier.dialects.nki.results import asked_dtype, shape_items
from verifier.dialects.nki.versions import newer
from verifier.hardware import dtypes as dt
from verifier.hardware.memories import Buffer
from verifier.source.ir import Span
from verifier.symbolic import absent, registers, views
from verifier.symbolic import expr as E
from verifier.symbolic.expr import FALSE, Expr
from verifier.symbolic.machine import Call, Machine
from verifier.symbolic.tensors import DType, LoopKind, Operand, StorageKind, View
from verifier.symbolic.trace import LedgerKind, Operation
from verifier.symbolic.values import (
    ApiRef,
    BufferValue,
    DeviceLoop,
    DynamicSlice,
    HostUse,
    Missing,
    Opaque,
    ParDim,
    Range,
    Register,
    places,
)

Handler = Callable[[Machine, Bound, Call], object]


# --------------------------------------------------------------------------- creation


def _creation(
    machine: Machine,
    bound: Bound,
    call: Call,
    shape: tuple[tuple[Expr, ...], int | None] | None,
    dtype: DType | None,
    buffer: BufferValue,
    *,
    filled: bool,
    kind: StorageKind = StorageKind.ALLOC,
) -> object:
    if shape is None:
        machine.approximate(
            LedgerKind.OPAQUE, f"the shape given to `{call.text}` is not known", call.span
        )
        return Opaque(f"a tensor of {call.text} whose shape is not known")
    sizes, partition = shape
    if machine.api == "beta1":
        beta1.extents(machine, sizes, "a tensor", call.span)
    if dtype is None:
        machine.approximate(
            LedgerKind.GUESS,
            f"the dtype given to `{call.text}` is not known: float32 taken",
            call.span,
        )
        dtype = DType.named("float32")
    address = bound.operands.get("address")
    placed = None
    if address is not None and address.value is not None:
        placed = _address(machine, address)
    given_name = bound.value("name")
    spans = {name: o.span for name, o in bound.operands.items() if o.given}
    spans["call"] = call.span
    view = machine.allocate(
        given_name if isinstance(given_name, str) and given_name else call.target_name or "tensor",
        sizes,
        dtype,
        buffer.buffer,
        call.span,
        kind=kind,
        partition_axis=partition or 0,
        address=placed,
        placement=buffer.placement,
        initialised=filled,
        argument_spans=spans,
    )
    if filled and view.buffer.on_chip and view.storage.partition_axis == 0:
        _emit(machine, bound, call, view)
    return view


def _emit(machine: Machine, bound: Bound, call: Call, written: View) -> None:
    operands = dict(bound.operands)
    operands["dst"] = Operand("dst", written, call.span, given=False)
    machine.emit(
        Operation(
            name=bound.signature.name,
            operands=operands,
            span=call.span,
            generation=machine.generation,
            capabilities=machine.target.capabilities,
            loops=machine.loops,
            path=machine.path,
            order=machine.next_order(),
            writes=(("dst", written),),
            call_text=call.text,
            instruction=isa.find(bound.signature.name),
        )
    )


def _address(machine: Machine, operand: Operand) -> tuple[Expr, Expr] | None:
    items = machine.as_items(operand.value, operand.span)
    if items is None or len(items) != 2:
        machine.approximate(LedgerKind.OPAQUE, "an `address=` that is not followed", operand.span)
        return None
    partition = machine.as_int(items[0], operand.span)
    byte = machine.as_int(items[1], operand.span)
    return None if partition is None or byte is None else (partition, byte)


def _buffer(machine: Machine, operand: Operand | None, call: Call) -> BufferValue:
    """The ``buffer`` argument; on chip memory when there is none (NKI-L05)."""
    if operand is None or operand.value is None:
        return BufferValue(Buffer.SBUF)
    value = operand.value
    if isinstance(value, BufferValue):
        return value
    if isinstance(value, str) and value in names.BUFFERS:
        if newer(machine.api, "0.3"):
            machine.check(
                SIGNATURE_RULE,
                FALSE,
                operand.span,
                "`buffer` is a memory region",
                f"`{call.text}` takes no names of buffers since NKI 0.3",
                facts=("L02", "M062"),
                help=(f"write `nl.{value}`",),
            )
        return BufferValue(names.BUFFERS[value])
    if isinstance(value, ApiRef) and value.name in ("compiler.sbuf", "compiler.psum"):
        return BufferValue(Buffer.SBUF if value.name.endswith("sbuf") else Buffer.PSUM)
    machine.approximate(
        LedgerKind.OPAQUE, f"the buffer given to `{call.text}` is not known", operand.span
    )
    return BufferValue(Buffer.UNKNOWN)


def _new(machine: Machine, bound: Bound, call: Call, *, filled: bool) -> object:
    operand = bound.operands.get("shape")
    if any(_depends(machine, bound.operands.get(name)) for name in ("shape", "dtype")):
        return Missing(f"the result of {call.text}", api=True)
    shape = None if operand is None else shape_items(machine, operand.value, operand.span)
    dtype = asked_dtype(machine, bound.operands)
    buffer = _buffer(machine, bound.operands.get("buffer"), call)
    return _creation(machine, bound, call, shape, dtype, buffer, filled=filled)


def _depends(machine: Machine, operand: Operand | None) -> bool:
    """Whether a size, or a dtype, is of a name that does not exist."""
    if operand is None or isinstance(operand.value, Missing):
        return operand is not None
    items = machine.as_items(operand.value, operand.span)
    return items is not None and absent.depends(items)


def _ndarray(machine: Machine, bound: Bound, call: Call) -> object:
    return _new(machine, bound, call, filled=False)


def _built_in(machine: Machine, bound: Bound, call: Call) -> object:
    """``sbuf.view(shape=..., dtype=...)``: a new tensor in that memory."""
    memory = BufferValue(names.BUFFERS[bound.signature.name.split(".")[1]])
    buffer = Operand("buffer", memory, call.span, given=False)
    made = Bound(bound.signature, {**bound.operands, "buffer": buffer}, bound.complete)
    return _new(machine, made, call, filled=False)


def _filled(machine: Machine, bound: Bound, call: Call) -> object:
    return _new(machine, bound, call, filled=True)


def _like(machine: Machine, bound: Bound, call: Call) -> object:
    operand = bound.operands.get("x") or bound.operands.get("a")
    model = machine.as_view(operand.value, operand.span) if operand is not None else None
    if model is None:
        return _creation(machine, bound, call, None, None, BufferValue(Buffer.SBUF), filled=False)
    zeros = bound.signature.name.endswith("zeros_like")
    dtype = asked_dtype(machine, bound.operands)
    if dtype is None and bound.value("dtype") is None:
        dtype = model.dtype
    given = bound.operands.get("buffer")
    if given is not None and given.value is not None:
        buffer = _buffer(machine, given, call)
    else:
        # zeros_like lands in SBUF, empty_like beside its model (NKI-L08)
        buffer = BufferValue(Buffer.SBUF if zeros else model.buffer)
    position = views.partition_position(model)
    return _creation(machine, bound, call, (model.shape, position), dtype, buffer, filled=zeros)


def _shared_constant(machine: Machine, bound: Bound, call: Call) -> object:
    operand = bound.operands.get("constant")
    array = operand.value if operand is not None else None
    if not isinstance(array, View):
        machine.unmodelled("nki.language.shared_constant", call.span)
        return Opaque("a constant array")
    dtype = asked_dtype(machine, bound.operands) or array.dtype
    span = operand.span if operand is not None else call.span
    check_constant(machine, dtype.name or "", call.text, span)
    return constant_array(machine, call, array.shape, dtype)


def check_constant(machine: Machine, dtype: str, text: str, span: Span) -> None:
    """What a constant holds is of a type that devices know, since NKI 0.3 (NKI-L11)."""
    if newer(machine.api, "0.3") and dtype in dt.HOST:
        machine.check(
            SIGNATURE_RULE,
            FALSE,
            span,
            "a constant has an element type that a device knows",
            f"`{text}` is given elements of {dtype}, which no constant can hold",
            facts=("L11",),
            help=("say which: `np.zeros(shape, dtype=np.float32)`; NumPy's default is float64",),
        )


def constant_array(machine: Machine, call: Call, shape: tuple[Expr, ...], dtype: DType) -> View:
    """An array of the host with known contents, as a tensor in HBM."""
    return machine.allocate(
        call.target_name or "constant",
        shape,
        dtype,
        Buffer.SHARED_HBM,
        call.span,
        kind=StorageKind.CONSTANT,
        partition_axis=None,
        initialised=True,
    )


def numpy_array(machine: Machine, path: str, call: Call) -> View | None:
    """``np.identity(n)``, ``np.zeros(shape)`` and kin as a tensor, for ``shared_constant``.

    ``path`` is one of :data:`names.ARRAY_MAKERS`; None if the shape is not known.
    """
    name = path.removeprefix("numpy.")
    first = call.args[0] if call.args else call.keywords.get("n") or call.keywords.get("shape")
    if first is None:
        return None
    read = shape_items(machine, first.value, first.span)
    if read is None:
        return None
    shape = read[0]
    if name in ("identity", "eye"):
        shape = (shape[0], shape[0])
    place = 2 if name == "full" else 1
    given = call.keywords.get("dtype") or (call.args[place] if len(call.args) > place else None)
    dtype = machine.as_dtype(given.value, given.span) if given is not None else None
    return constant_array(
        machine, call, shape, dtype or DType.named("float32" if name == "full" else "float64")
    )


def numpy_copy(machine: Machine, path: str, call: Call) -> View | None:
    """``np.tril(array)``, ``np.zeros_like(array)`` and kin: another array of the same shape.

    ``path`` is one of :data:`names.ARRAY_COPIES`; None if the first argument is no such array.
    """
    model = call.args[0].value if call.args else None
    if not isinstance(model, View) or model.storage.kind is not StorageKind.CONSTANT:
        return None
    like = path.endswith("_like")
    place = 2 if path == "numpy.full_like" else 1
    given = call.keywords.get("dtype")
    if given is None and like and len(call.args) > place:
        given = call.args[place]
    dtype = machine.as_dtype(given.value, given.span) if given is not None else None
    return constant_array(machine, call, model.shape, dtype or model.dtype)


def _identity(machine: Machine, bound: Bound, call: Call) -> object:
    into = bound.value("dst")
    operand = bound.operands.get("n")
    size = machine.as_int(operand.value, operand.span) if operand is not None else None
    dtype = asked_dtype(machine, bound.operands)
    if into is not None:
        view = machine.as_view(into, bound.span("dst", call.span))
        if view is not None:
            _emit(machine, bound, call, view)
            return view
    # Beta 1 keeps it beside the other shared constants, and kernels load it from there; later it
    # is a tile (NKI-L12)
    shared = machine.api == "beta1"
    buffer = BufferValue(Buffer.SHARED_HBM if shared else Buffer.SBUF)
    shape = None if size is None else ((size, size), None if shared else 0)
    return _creation(
        machine, bound, call, shape, dtype, buffer, filled=True, kind=StorageKind.CONSTANT
    )


# --------------------------------------------------------------------------- loops and indices


def _bounds(machine: Machine, bound: Bound, kind: LoopKind, call: Call) -> Range:
    def read(name: str, default: int) -> Expr:
        operand = bound.operands.get(name)
        if operand is None or operand.value is None:
            return E.const(default)
        if static and machine.of_device(HostUse.RANGE, operand.value, operand.span) is not None:
            message = f"`{name}` of `{call.text}` is known at run time only"
            return _runtime(machine, message, operand, E.Origin.DEVICE)
        if isinstance(operand.value, (Register, View)):
            number = registers.settled(machine, operand.value)
            return _of_device(machine, name, operand) if number is None else number
        value = machine.as_int(operand.value, operand.span)
        if value is None:
            message = f"`{name}` of `{call.text}` is not followed"
            return _runtime(machine, message, operand, E.Origin.HAVOC)
        return value

    # (loops of Beta 1 may run on the device)
    static = kind is not LoopKind.DYNAMIC and machine.api != "beta1"
    _use_registers(machine, bound, call, reads=[*bound.operands])
    single = bound.value("stop") is None
    start = E.const(0) if single else read("start", 0)
    stop = read("start", 0) if single else read("stop", 0)
    return Range(start, stop, read("step", 1), kind, call.span)


def _of_device(machine: Machine, name: str, operand: Operand) -> Expr:
    """The bound of a loop that is in memory, or in a register of which no number is followed."""
    loaded = registers.of_device(machine, operand.value)
    message = f"`{name}` of the loop is {'known at run time only' if loaded else 'not followed'}"
    return _runtime(machine, message, operand, E.Origin.DEVICE if loaded else E.Origin.HAVOC)


def _runtime(machine: Machine, message: str, operand: Operand, origin: E.Origin) -> Expr:
    value = E.fresh("runtime", 0, None, origin)
    machine.approximate(LedgerKind.HAVOC, message, operand.span, [repr(value)])
    return value


def _range(machine: Machine, bound: Bound, call: Call) -> object:
    kind = LoopKind(bound.signature.name.rpartition(".")[2].removesuffix("_range"))
    options = call.keywords.keys() - {"start", "stop", "step"}
    if kind is LoopKind.AFFINE and options:
        kind = LoopKind.SCHEDULED  # Beta 1 takes options that are documented nowhere
    return _bounds(machine, bound, kind, call)


def _fori_loop(machine: Machine, bound: Bound, call: Call) -> object:
    operands = {
        name: bound.operands[source]
        for name, source in (("start", "lower"), ("stop", "upper"), ("step", "step"))
        if source in bound.operands
    }
    bounds = _bounds(machine, Bound(bound.signature, operands, True), LoopKind.DYNAMIC, call)
    return DeviceLoop(
        bound.value("body_fun"),
        bounds,
        call.span,
        lambda value: deviceloops.returns_nothing(machine, value, call.span),
    )


def _while_loop(machine: Machine, bound: Bound, call: Call) -> object:
    _use_registers(machine, bound, call, reads=("init",))
    return DeviceLoop(
        bound.value("body_fun"),
        None,
        call.span,
        lambda value: deviceloops.returns_condition(machine, value, call.span),
        registers.carried(machine, bound.value("init")),
    )


def _arange(machine: Machine, bound: Bound, call: Call) -> object:
    bounds = _bounds(machine, bound, LoopKind.RANGE, call)
    return views.arange(machine, bounds.start, bounds.stop)


def _ds(machine: Machine, bound: Bound, call: Call) -> object:
    operand = bound.operands["size"]
    size = machine.as_int(operand.value, operand.span)
    start = bound.value("start")
    if isinstance(operand.value, Missing):
        return operand.value
    if isinstance(operand.value, (Register, View)):
        machine.check(
            SIGNATURE_RULE,
            FALSE,
            operand.span,
            "size is known when the kernel is compiled",
            f"the size of `{call.text}` is known on the device alone",
            facts=("L67",),
            help=("take the largest size, and mask what is too much; `start` may be a register",),
        )
        return Missing(f"a slice of {call.text}", api=True)
    if size is None:
        machine.approximate(LedgerKind.OPAQUE, "the size of `nl.ds` is not known", operand.span)
        return Opaque("a slice of unknown size")
    return DynamicSlice(start, size)


def _par_dim(machine: Machine, bound: Bound, call: Call) -> object:
    operand = bound.operands["size"]
    size = machine.as_int(operand.value, operand.span)
    return ParDim(size) if size is not None else Opaque("a partition dimension of unknown size")


# --------------------------------------------------------------------------- registers and the rest


#: what registers hold (NKI-REG08 lists more; what is said of them does not depend on it)
_IN_REGISTERS: Final = DType.named("int32")


def _register(machine: Machine, bound: Bound, call: Call) -> object:
    """A new register; one that is given no value holds whatever was there before (NKI-REG06)."""
    name = call.target_name or "register"
    place = machine.allocate(
        name,
        (E.const(1),),
        _IN_REGISTERS,
        Buffer.REGISTER,
        call.span,
        partition_axis=None,
        initialised=bound.value("x") is not None,
    )
    given = registers.taken(machine, bound.value("x"), bound.span("x", call.span))
    return Register(name, place, machine.record(registers.CONTENTS, (given,)))


def _set_register(machine: Machine, bound: Bound, call: Call) -> object:
    source = next(name for name in ("src", "imm") if name in bound.operands)
    _use_registers(machine, bound, call, reads=(source,), writes=("dst",))
    given = registers.taken(machine, bound.value(source), bound.span(source, call.span))
    registers.fill(machine, bound.value("dst"), given, call.span)
    return None


def _use_registers(
    machine: Machine,
    bound: Bound,
    call: Call,
    reads: Sequence[str] = (),
    writes: Sequence[str] = (),
) -> None:
    """Note that operands that only the device knows are read and written."""
    read = [
        (role, views.use(machine, view, None, bound.span(role, call.span)))
        for role in reads
        for view in places(bound.value(role))
    ]
    written = [(role, view) for role in writes for view in places(bound.value(role))]
    sequencers.use(machine, bound.signature.name, call, bound.operands, read, written)


def _device_rank(machine: Machine, bound: Bound, call: Call) -> object:
    """The rank whose data a ring has come to: a register (NKI-K11)."""
    operand = bound.operands.get("channel_id")
    channel = None if operand is None else machine.as_int(operand.value, operand.span)
    if operand is not None and channel is not None:
        machine.check(
            "collective-channels",
            E.and_(E.ge(channel, 0), E.lt(channel, isa.CHANNELS)),
            operand.span,
            f"0 <= channel_id < {isa.CHANNELS}",
            f"`{call.text}` asks for a channel that there is not",
            values=(("channel_id", channel),),
            facts=("K11",),
        )
    return Register(call.target_name or "register")


def _nothing(machine: Machine, bound: Bound, call: Call) -> object:
    return None


def _print(machine: Machine, bound: Bound, call: Call) -> object:
    """Tensors of SBUF and HBM are printed (NKI-L35)."""
    operand = bound.operands.get("tensor") or bound.operands.get("x")
    view = None if operand is None else machine.as_view(operand.value, operand.span)
    if operand is not None and view is not None:
        machine.check(
            SIGNATURE_RULE,
            E.truth(view.buffer is not Buffer.PSUM),
            operand.span,
            "the tensor is in SBUF or HBM",
            f"`{call.text}` does not print from PSUM",
            facts=("L35",),
            help=("copy it to SBUF first",),
        )
    return None


def _harmless(machine: Machine, bound: Bound, call: Call) -> object:
    return Opaque(call.text, harmless=True)


def _nc_version(machine: Machine, bound: Bound, call: Call) -> object:
    return E.const(machine.target.generation)


def _nc_sub_version(machine: Machine, bound: Bound, call: Call) -> object:
    return E.symbol("get_nc_sub_version()", 0, 1, E.Origin.INPUT)


def _rank(machine: Machine, bound: Bound, call: Call) -> object:
    """The own rank, which only the device knows: a register (NKI-K11)."""
    return Register(call.target_name or "rank_id")


def _expand_dims(machine: Machine, bound: Bound, call: Call) -> object:
    operand = bound.operands.get("x") or bound.operands.get("data")
    axis = bound.operands.get("axis")
    view = machine.as_view(operand.value, operand.span) if operand is not None else None
    if view is None or axis is None:
        return Opaque("a view of a tensor that is not followed")
    position = machine.as_int(axis.value, axis.span)
    if position is None or not position.is_const:
        machine.approximate(LedgerKind.OPAQUE, "the axis of `expand_dims` is not known", axis.span)
        return Opaque("a view along an unknown axis")
    dim = position.const + view.rank + 1 if position.const < 0 else position.const
    if machine.api == "beta1":
        machine.check(
            "view-precondition",
            E.truth(dim >= view.rank),
            axis.span,
            f"axis >= {view.rank}",
            f"`{call.text}` puts a dimension between others of `{view.name}`",
            facts=("L31",),
            help=("Beta 1 adds dimensions behind the last alone",),
        )
        dim = max(dim, view.rank)
    return views.expand_dim(machine, view, dim, call.span)


def _is_buffer(machine: Machine, bound: Bound, call: Call) -> object:
    value = bound.value("buffer")
    if not isinstance(value, BufferValue):
        view = machine.as_view(value, bound.span("buffer", call.span))
        if view is None:
            return Opaque(f"{call.text} of something that is not followed")
        value = BufferValue(view.buffer)
    asked = bound.signature.name.rpartition(".")[2]
    if asked == "is_on_chip":
        return value.buffer.on_chip
    if asked == "is_hbm":
        return value.buffer.off_chip
    return value.buffer is (Buffer.SBUF if asked == "is_sbuf" else Buffer.PSUM)


def _jit(machine: Machine, bound: Bound, call: Call) -> object:
    for name in ("fn", "func", "kernel"):
        function = bound.value(name)
        if function is not None:
            return function
    return ApiRef("jit")


def _placement(machine: Machine, bound: Bound, call: Call) -> object:
    _, memory, allocator = bound.signature.name.split(".")
    buffer = Buffer.SBUF if memory == "sbuf" else Buffer.PSUM
    if allocator == "auto_alloc":
        return BufferValue(buffer)
    placement: dict[str, object] = {"allocator": allocator}
    for name, operand in bound.operands.items():
        value = operand.value
        items = None if isinstance(value, Expr) else machine.as_items(value, operand.span)
        if items is not None:
            value = tuple(machine.as_int(item, operand.span) for item in items)
        placement[name] = value
    return BufferValue(buffer, placement)


def _number_limits(machine: Machine, bound: Bound, call: Call) -> object:
    return Opaque("limits of a dtype", harmless=True)


def _context(machine: Machine, bound: Bound, call: Call) -> object:
    function = bound.value("func")
    return function if function is not None else Opaque(call.text, harmless=True)


HANDLERS: Final[dict[str, Handler]] = {
    **{f"{memory}.view": _built_in for memory in names.BUILT_IN},
    "language.ndarray": _ndarray,
    "language.zeros": _filled,
    "language.ones": _filled,
    "language.full": _filled,
    "language.rand": _filled,
    "language.zeros_like": _like,
    "language.empty_like": _like,
    "language.shared_constant": _shared_constant,
    "language.shared_identity_matrix": _identity,
    "language.affine_range": _range,
    "language.sequential_range": _range,
    "language.static_range": _range,
    "language.dynamic_range": _range,
    "language.fori_loop": _fori_loop,
    "language.while_loop": _while_loop,
    "language.arange": _arange,
    "language.ds": _ds,
    "language.par_dim": _par_dim,
    "language.program_id": grid.program_id,
    "language.num_programs": grid.num_programs,
    "language.program_ndim": grid.program_ndim,
    deviceloops.ORDERED: _harmless,
    "language.device_print": _print,
    "language.expand_dims": _expand_dims,
    "language.is_hbm": _is_buffer,
    "language.is_sbuf": _is_buffer,
    "language.is_psum": _is_buffer,
    "language.is_on_chip": _is_buffer,
    "language.spmd_dim": _harmless,
    "language.nc": _harmless,
    "language.gemm_grid": _harmless,
    "language.gemm_stationary_grid": _harmless,
    "language.finfo": _number_limits,
    "isa.get_nc_version": _nc_version,
    "isa.get_nc_sub_version": _nc_sub_version,
    "isa.register_alloc": _register,
    "isa.register_move": _set_register,
    "compiler.allocation_scope": _context,
    "compiler.enable_stack_allocator": _context,
    "compiler.force_auto_alloc": _context,
    "compiler.multi_buffer": _context,
    "compiler.no_reorder": _context,
    "compiler.skip_middle_end_transformations": _context,
    "compiler.sbuf.alloc": _placement,
    "compiler.sbuf.mod_alloc": _placement,
    "compiler.sbuf.auto_alloc": _placement,
    "compiler.psum.alloc": _placement,
    "compiler.psum.mod_alloc": _placement,
    "compiler.psum.auto_alloc": _placement,
    "collectives.rank_id": _rank,
    "collectives.collective_permute_implicit_current_processing_rank_id": _device_rank,
    "jit": _jit,
    "trace": _jit,
    "simulate": _jit,
    "simulate_kernel": _harmless,
    "baremetal": _jit,
    "benchmark": _jit,
    "profile": _jit,
}

#: classes whose instances say nothing about shapes
HARMLESS_CLASSES: Final[frozenset[str]] = frozenset(
    {"language.nc", "typing.tensor", "typing.mutable_tensor"}
)
