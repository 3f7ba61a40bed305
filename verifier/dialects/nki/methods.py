"""Attributes and methods of tensors (catalogue sections (e.2) and (e.3), NKI-M039)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

from msgspec.structs import replace

from verifier.dialects.nki import isa, names, parameter_kinds
from verifier.dialects.nki.binding import bind, check_member
from verifier.dialects.nki.emission import perform
from verifier.dialects.nki.parameter_kinds import Given
from verifier.dialects.nki.results import shape_items
from verifier.dialects.nki.signatures.methods import of_method
from verifier.dialects.nki.versions import newer
from verifier.hardware.memories import Buffer
from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic import registers, views
from verifier.symbolic.expr import FALSE, Bool, Expr
from verifier.symbolic.machine import Arg, Call, Machine
from verifier.symbolic.python.vm import VM
from verifier.symbolic.tensors import DType, Operand, Picked, View
from verifier.symbolic.trace import LedgerKind
from verifier.symbolic.values import BufferValue, Missing, Opaque, OpaqueOf, Register
from verifier.symbolic.views.common import product

HOST_OFFSET_RULE: Final = "offset-of-host"

#: what :func:`attribute` knows
ATTRIBUTES: Final = ("shape", "dtype", "ndim", "size", "buffer", "itemsize", "name")


def attribute(machine: Machine, view: View, attr: str, span: Span) -> object | None:
    """``shape``, ``dtype``, ``ndim``, ``size``, ``buffer``, ``itemsize``, ``name``; else None."""
    if attr == "shape":
        return view.shape
    if attr == "dtype":
        return view.dtype
    if attr == "ndim":
        return E.const(view.rank)
    if attr == "size":
        return view.elements
    if attr == "buffer":
        return BufferValue(view.buffer)
    if attr == "itemsize":
        check_member(machine, attr, span)
        return view.dtype.itemsize
    if attr == "name":
        return view.name
    return None


class _Arguments:
    """Arguments of a method by parameter; ``bad`` once one could not be read."""

    def __init__(self, machine: Machine, call: Call, method: str) -> None:
        self.machine = machine
        self.call = call
        bound = bind(machine, of_method(method, machine.api), call)
        self.found = bound.operands
        values = (operand.value for operand in self.found.values())
        #: one is missing, or nothing that its parameter takes, which has been reported
        self.reported = not bound.complete or any(isinstance(v, Missing) and v.api for v in values)
        self.bad = self.reported

    def value(self, name: str) -> object:
        operand = self.found.get(name)
        return operand.value if operand is not None else None

    def integer(self, name: str) -> Expr:
        operand = self.found.get(name)
        value = None
        if operand is not None and not self.reported:
            value = self.machine.as_int(operand.value, operand.span)
        if value is None:
            self.bad = True
            return E.const(0)
        return value

    def position(self, name: str) -> int:
        value = self.integer(name)
        if not value.is_const:
            self.bad = True
            return 0
        return value.const

    def sizes(self, name: str) -> tuple[Expr, ...]:
        operand = self.found.get(name)
        read = None
        if operand is not None and not self.reported:
            read = shape_items(self.machine, operand.value, operand.span)
        if read is None:
            self.bad = True
            return ()
        return read[0]

    def dtype(self) -> DType | None:
        """The dtype that is given; None, and ``bad``, if that is none."""
        operand = self.found["dtype"] if not self.reported else None
        found = None if operand is None else self.machine.as_dtype(operand.value, operand.span)
        self.bad = self.bad or found is None
        return found

    def lost(self) -> Opaque:
        """What the method makes of arguments that are not followed."""
        if self.reported:
            return Missing(f"what `{self.call.text}` makes of wrong arguments", api=True)
        text = f"`{self.call.text}` with arguments that are not followed"
        self.machine.approximate(LedgerKind.OPAQUE, text, self.call.span)
        return Opaque(f"a view made by {self.call.text}")


def _dims(view: View, dim: int) -> int:
    return dim + view.rank if dim < 0 else dim


Method = Callable[[Machine, View, Call], object]


def _reshape(machine: Machine, view: View, call: Call) -> object:
    keywords = dict(call.keywords)
    for name in keywords.keys() & {"shape", "new_shape"}:
        if name == "new_shape" or machine.api != "beta1":  # nothing says that Beta 1 had no other
            check_member(machine, f"reshape.{name}", keywords[name].span)
    if "new_shape" in keywords:
        keywords.setdefault("shape", keywords.pop("new_shape"))
    if len(call.args) > 1:  # its sizes one by one, which front ends take as well
        sizes = tuple(argument.value for argument in call.args)
        call = replace(call, args=(Arg(sizes, call.args[0].span),))
    arguments = _Arguments(machine, replace(call, keywords=keywords), "reshape")
    shape = arguments.sizes("shape")
    if arguments.bad:
        return arguments.lost()
    return views.reshape(machine, view, shape, call.span)


def _view(machine: Machine, view: View, call: Call) -> object:
    arguments = _Arguments(machine, call, "view")
    dtype = arguments.dtype()
    return arguments.lost() if dtype is None else views.view_dtype(machine, view, dtype, call.span)


def _broadcast_to(machine: Machine, view: View, call: Call) -> object:
    arguments = _Arguments(machine, call, "broadcast_to")
    shape = arguments.sizes("shape")
    if arguments.bad:
        return arguments.lost()
    if view.buffer.on_chip and shape and view.rank == len(shape) and shape[0] is not view.shape[0]:
        # lanes cannot read one partition many times: Beta 1 makes a copy (NKI-L30)
        instruction = isa.find("language.broadcast_to")
        assert instruction is not None
        operands = {
            "src": Operand("src", view, call.span),
            "shape": Operand("shape", shape, arguments.found["shape"].span),
        }
        return perform(machine, instruction, operands, call.span, call.text, call.target_name)
    return views.broadcast_to(machine, view, shape, call.span)


def _broadcast(machine: Machine, view: View, call: Call) -> object:
    arguments = _Arguments(machine, call, "broadcast")
    dim, size = arguments.position("dim"), arguments.integer("size")
    if arguments.bad:
        return arguments.lost()
    return views.broadcast(machine, view, _dims(view, dim), size, call.span)


def _permute(machine: Machine, view: View, call: Call) -> object:
    arguments = _Arguments(machine, call, "permute")
    dims = arguments.sizes("dims")
    if arguments.bad or not all(dim.is_const for dim in dims):
        return arguments.lost()
    return views.permute(machine, view, [_dims(view, d.const) for d in dims], call.span)


def _expand_dim(machine: Machine, view: View, call: Call) -> object:
    old = call.text.endswith("expand_dims")
    arguments = _Arguments(machine, call, "expand_dims" if old else "expand_dim")
    dim = arguments.position("axis" if old else "dim")
    if arguments.bad:
        return arguments.lost()
    return views.expand_dim(machine, view, dim + view.rank + 1 if dim < 0 else dim, call.span)


def _squeeze_dim(machine: Machine, view: View, call: Call) -> object:
    arguments = _Arguments(machine, call, "squeeze_dim")
    dim = arguments.position("dim")
    if arguments.bad:
        return arguments.lost()
    return views.squeeze_dim(machine, view, _dims(view, dim), call.span)


def _reshape_dim(machine: Machine, view: View, call: Call) -> object:
    arguments = _Arguments(machine, call, "reshape_dim")
    dim, shape = arguments.position("dim"), arguments.sizes("shape")
    if arguments.bad:
        return arguments.lost()
    return views.reshape_dim(machine, view, _dims(view, dim), shape, call.span)


def _flatten_dims(machine: Machine, view: View, call: Call) -> object:
    arguments = _Arguments(machine, call, "flatten_dims")
    first, last = arguments.position("start_dim"), arguments.position("end_dim")
    if arguments.bad:
        return arguments.lost()
    return views.flatten_dims(machine, view, _dims(view, first), _dims(view, last), call.span)


def _slice(machine: Machine, view: View, call: Call) -> object:
    arguments = _Arguments(machine, call, "slice")
    dim = arguments.position("dim")
    if arguments.bad:
        return arguments.lost()
    start, end, step = (arguments.value(name) for name in ("start", "end", "step"))
    return views.slice_dim(
        machine, view, _dims(view, dim), start, end, step, call.span, generation=machine.api
    )


def _select(machine: Machine, view: View, call: Call) -> object:
    arguments = _Arguments(machine, call, "select")
    dim = arguments.position("dim")
    if arguments.bad:
        return arguments.lost()
    index = arguments.value("index")
    given = arguments.found["index"]
    if parameter_kinds.given(machine, index, given.span) is Given.TENSOR:
        index = machine.as_view(index, given.span)
    if isinstance(index, View):
        text = "the index is an integer, a register, or one element in SBUF"
        _unlike(
            machine,
            _single(index),
            given,
            text,
            f"`{view.name}` is selected from by an index that is no scalar in SBUF",
            ("X28",),
        )
    return views.select(machine, view, _dims(view, dim), index, call.span, generation=machine.api)


def _vector_select(machine: Machine, view: View, call: Call) -> object:
    arguments = _Arguments(machine, call, "vector_select")
    dim = arguments.position("dim")
    offsets = machine.as_view(arguments.value("vector_offset"), call.span)
    if arguments.bad or offsets is None:
        return arguments.lost()
    return views.vector_select(machine, view, _dims(view, dim), offsets, call.span)


def _rearrange(machine: Machine, view: View, call: Call) -> object:
    arguments = _Arguments(machine, call, "rearrange")
    fixed = arguments.value("fixed_sizes")
    named = {} if fixed is None else machine.as_named(fixed, call.span)
    sizes: dict[str, Expr] = {}
    for name, value in (named or {}).items():
        size = machine.as_int(value, call.span)
        if size is not None:
            sizes[name] = size
    source, target = arguments.value("src_pattern"), arguments.value("dst_pattern")
    if named is None or len(sizes) < len(named) or not views.split_names(source).issuperset(sizes):
        return arguments.lost()  # what a size says of a whole dimension is not documented
    return views.rearrange(machine, view, source, target, sizes, call.span)


def _ap(machine: Machine, view: View, call: Call) -> object:
    arguments = _Arguments(machine, call, "ap")
    given = arguments.found.get("pattern")
    pattern = None if arguments.reported or given is None else _pairs(machine, view, given)
    if pattern is None or given is None:
        return arguments.lost()
    offset: Expr | None = None
    if arguments.value("offset") is not None:
        offset = arguments.integer("offset")
    elif machine.api in ("beta1", "0.2", "0.3", "0.4"):
        offset = E.const(0)  # the default was 0 before 0.5 (NKI-M112)
    dtype = None if arguments.value("dtype") is None else arguments.dtype()
    if arguments.bad:
        return arguments.lost()
    if not newer(machine.api, "0.5") and view.exact and not views.is_whole(view):
        whole = "the pattern is of a whole tensor"
        _misused(machine, view, FALSE, given, whole, "is of a part of the tensor", ("X43",))
    scalar, held = _scalar(machine, view, arguments), None
    gathered = _check_offsets(machine, view, arguments, scalar)
    unit = _offset_unit(view, arguments) if dtype is None else None
    shift: Expr | None = None
    if isinstance(scalar, (Register, View)):
        text = f"runtime offset into `{view.name}`"
        held, number = registers.begun(scalar, text, call.span, view.held)
        shift = None if unit is None else number * unit
        held, scalar = held if unit is not None else replace(held, symbol=None), None
    elif unit is not None and isinstance(scalar, Expr):
        # one of a loop that runs as often as only the device knows is taken to stay inside
        if not registers.of_device(machine, scalar):
            shift, scalar = scalar * unit, None
    return views.ap(
        machine,
        view,
        pattern,
        offset,
        dtype,
        call.span,
        scalar_offset=scalar,
        vector_offset=gathered,
        shift=shift,
        held=held,
        unit=unit,
    )


def _scalar(machine: Machine, view: View, arguments: _Arguments) -> object:
    """The scalar of the device that a pattern begins at, as a tensor where it is one."""
    operand = arguments.found["scalar_offset"]
    if parameter_kinds.given(machine, operand.value, operand.span) is Given.TENSOR:
        return machine.as_view(operand.value, operand.span)
    number = isinstance(operand.value, (Expr, float, OpaqueOf))
    # in a run the index of a loop on the device is a number as well
    if number and isinstance(machine, VM) and machine.device_loop(operand.value) is None:
        machine.check(
            HOST_OFFSET_RULE,
            FALSE,
            operand.span,
            "scalar_offset is a register, or one element in SBUF",
            f"a pattern of `{view.name}` begins at a number of the program",
            facts=("X45", "DCP06"),
            help=("give it as `offset=`, in elements",),
        )
        return None
    return operand.value


def _pairs(machine: Machine, view: View, given: Operand) -> list[tuple[Expr, Expr]] | None:
    """The steps and counts of a pattern; None, perhaps after a finding, if they are not that."""
    rows = machine.as_items(given.value, given.span)
    if rows is None:
        return None
    pattern: list[tuple[Expr, Expr]] = []
    for row in rows:
        pair = machine.as_items(row, given.span)
        if pair is None or len(pair) != 2:
            if pair is not None or isinstance(row, Expr):
                text = "each dimension of the pattern is a step and a count"
                _misused(
                    machine,
                    view,
                    FALSE,
                    given,
                    text,
                    "has a dimension that is no step and count",
                    ("X40",),
                )
            return None
        step, count = (machine.as_int(item, given.span) for item in pair)
        if step is None or count is None:
            return None
        pattern.append((step, count))
    if not rows:
        text = "the pattern has a dimension"
        _misused(machine, view, FALSE, given, text, "has no dimension", ("X40",))
    return pattern


def _offset_unit(view: View, arguments: _Arguments) -> Expr | None:
    """How many elements a scalar offset counts by (NKI-X45); None where that is not known.

    It is the tensor's stride along a dimension: of a whole tensor in another shape, of that shape.
    """
    axis = arguments.value("indirect_dim")
    dim = 0 if axis is None else axis.const if isinstance(axis, Expr) and axis.is_const else None
    shape = view.storage.shape
    if view.frame != shape:
        if not views.is_whole(view):
            return None
        shape = view.shape
    if dim is None or not 0 <= dim < len(shape):
        return None
    return product(shape[dim + 1 :])


def _check_offsets(machine: Machine, view: View, arguments: _Arguments, scalar: object) -> object:
    """A pattern starts at a scalar or gathers rows by a vector of the device, not both.

    Returns the vector, as a tensor where it is one.
    """
    asked = partial(_misused, machine, view)
    vector = arguments.found.get("vector_offset")
    one = None if scalar is None else replace(arguments.found["scalar_offset"], value=scalar)
    each = None if vector is None or vector.value is None else vector
    if one is not None and each is not None:
        asked(FALSE, each, "one kind of offset", "has offsets of two kinds", ("X47", "DCP07"))
    again = one or each
    if again is not None:
        direct, what = E.truth(not view.indirect), "is of what an index picks"
        asked(direct, again, "no index picks from it", what, ("X48",))
    if one is not None and isinstance(one.value, View):
        text = "the offset is a register, or one element in SBUF"
        what = "starts at an offset that is no scalar in SBUF"
        asked(_single(one.value), one, text, what, ("DCP06",))
    axis = arguments.value("indirect_dim")
    if one is not None and isinstance(axis, Expr):
        rank = max(view.rank, len(view.storage.shape))
        what = "counts its offset along a dimension that is not there"
        asked(E.lt(axis, rank), one, f"indirect_dim < {rank}", what, ("X45",))
    held = None if each is None else machine.as_view(each.value, each.span)
    if each is None or held is None:
        return None if each is None else each.value
    if isinstance(axis, Expr):
        what = "gathers along another dimension than the first"
        asked(E.eq(axis, 0), each, "indirect_dim == 0", what, ("X46",))
    return held


def _single(index: View) -> Bool:
    """That a tensor is a scalar that places an access."""
    return E.and_(E.eq(index.elements, 1), E.truth(index.buffer in (Buffer.SBUF, Buffer.UNKNOWN)))


def _misused(
    machine: Machine,
    view: View,
    predicate: Bool,
    argument: Arg | Operand,
    text: str,
    what: str,
    facts: tuple[str, ...],
) -> None:
    message = f"the access pattern of `{view.name}` {what}"
    _unlike(machine, predicate, argument, text, message, facts)


def _unlike(
    machine: Machine,
    predicate: Bool,
    argument: Arg | Operand,
    text: str,
    message: str,
    facts: tuple[str, ...],
) -> None:
    """A view is made as its method says only where the predicate holds."""
    machine.check(
        "view-precondition",
        predicate,
        argument.span,
        text,
        message,
        facts=facts,
    )


def _indirect(machine: Machine, view: View, call: Call) -> object:
    arguments = _Arguments(machine, call, "indirect")
    index = machine.as_view(arguments.value("index"), call.span)
    if index is None:
        return arguments.lost()
    count = index.elements
    if arguments.value("num_elem") is not None:
        count = arguments.integer("num_elem")
    if arguments.bad:
        return arguments.lost()
    given = Arg(index, arguments.found["index"].span)
    held = E.truth(index.rank == 2 and index.buffer is Buffer.SBUF)
    fits = E.and_(held, E.eq(index.partitions, view.partitions), E.le(count, index.elements))
    text = "the index is (partitions, columns) in SBUF, with at least num_elem elements"
    _unlike(
        machine,
        fits,
        given,
        text,
        f"the index that picks from `{view.name}` does not fit it",
        ("TI02",),
    )
    once = E.truth(not view.indirect)
    _unlike(
        machine,
        once,
        given,
        "no index picks from it yet",
        f"a second index picks from `{view.name}`",
        ("X48",),
    )
    axes = (machine.axis(view.partitions), machine.axis(count))
    out = views.inexact(view, axes, "indirect access", indirect=True)
    placed = views.within(
        index,
        E.const(1),
        view.free,
        f"the columns of `{view.name}`",
        f"index of columns of `{view.name}`",
        call.span,
        ("NKI-TI02",),
        every=count is index.elements,
    )
    return replace(
        out,
        indices=(*view.indices, index),
        placed=(*view.placed, placed),
        picked=Picked(view, index),
    )


def _astype(machine: Machine, view: View, call: Call) -> object:
    instruction = isa.find("language.copy")
    assert instruction is not None
    arguments = _Arguments(machine, call, "astype")
    operands = {"src": Operand("src", view, call.span), **arguments.found}
    return perform(machine, instruction, operands, call.span, call.text, call.target_name)


def _itself(machine: Machine, view: View, call: Call) -> object:
    _Arguments(machine, call, "assert_shape")
    return view


def _is_indirect(machine: Machine, view: View, call: Call) -> object:
    return view.indirect


def _is_contiguous(machine: Machine, view: View, call: Call) -> object:
    return True if views.is_whole(view) else Opaque("whether a view is contiguous", harmless=True)


def _told(machine: Machine, view: View, call: Call) -> object:
    return Opaque(f"what {call.text} tells of a view", harmless=True)


def _pattern(machine: Machine, view: View, call: Call) -> object:
    return Opaque("the access pattern of a view", harmless=True)


METHODS: Final[dict[str, Method]] = {
    "reshape": _reshape,
    "view": _view,
    "reinterpret_cast": _view,
    "broadcast_to": _broadcast_to,
    "broadcast": _broadcast,
    "permute": _permute,
    "expand_dim": _expand_dim,
    "expand_dims": _expand_dim,
    "squeeze_dim": _squeeze_dim,
    "reshape_dim": _reshape_dim,
    "flatten_dims": _flatten_dims,
    "slice": _slice,
    "select": _select,
    "vector_select": _vector_select,
    "rearrange": _rearrange,
    "ap": _ap,
    "indirect": _indirect,
    "astype": _astype,
    "assert_shape": _itself,
    "is_indirect": _is_indirect,
    "is_contiguous": _is_contiguous,
    "is_identity": _told,
    "get_pattern": _pattern,
}


#: everything that a tensor has, in any generation
NAMES: Final = frozenset(METHODS) | frozenset(
    {"buffer", "dtype", "itemsize", "name", "ndim", "shape", "size"}
)


def members(generation: str) -> frozenset[str]:
    """What the tensors of a generation have."""
    return frozenset(name for name in NAMES if names.member_in(name, generation))


def method(machine: Machine, view: View, name: str, call: Call) -> object | None:
    """``view.name(...)``; None if tensors have no such method."""
    handler = METHODS.get(name)
    if handler is None:
        return None
    check_member(machine, name, call.span)
    return handler(machine, view, call)
