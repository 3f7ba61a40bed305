"""Attributes and methods of tensors (catalogue sections (e.2) and (e.3), NKI-M039)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from msgspec.structs import replace

from verifier.dialects.nki import isa, names
from verifier.dialects.nki.binding import SIGNATURE_RULE, check_member
from verifier.dialects.nki.emission import perform
from verifier.dialects.nki.results import shape_items
from verifier.dialects.nki.versions import newer
from verifier.hardware.memories import Buffer
from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic import registers, views
from verifier.symbolic.expr import FALSE, Bool, Expr
from verifier.symbolic.machine import Arg, Call, Machine
from verifier.symbolic.tensors import Operand, Picked, View
from verifier.symbolic.trace import LedgerKind
from verifier.symbolic.values import BufferValue, Opaque, Register
from verifier.symbolic.views.common import product

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
    """Arguments of a method by position or name; ``bad`` once one could not be read."""

    def __init__(self, machine: Machine, call: Call, expected: tuple[str, ...]) -> None:
        self.machine = machine
        self.call = call
        self.bad = False
        self.found: dict[str, Arg] = dict(zip(expected, call.args, strict=False))
        for name, argument in call.keywords.items():
            if name not in expected:
                machine.check(
                    SIGNATURE_RULE,
                    FALSE,
                    argument.span,
                    f"`{name}` is a parameter of {call.text}",
                    f"`{call.text}` has no parameter `{name}`",
                    facts=("N02",),
                    help=(f"parameters: {', '.join(expected)}",),
                )
            else:
                self.found[name] = argument

    def value(self, name: str) -> object:
        argument = self.found.get(name)
        return argument.value if argument is not None else None

    def integer(self, name: str) -> Expr:
        argument = self.found.get(name)
        value = None
        if argument is not None:
            value = self.machine.as_int(argument.value, argument.span)
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
        argument = self.found.get(name)
        read = None
        if argument is not None:
            read = shape_items(self.machine, argument.value, argument.span)
        if read is None:
            self.bad = True
            return ()
        return read[0]


def _dims(view: View, dim: int) -> int:
    return dim + view.rank if dim < 0 else dim


def _lost(machine: Machine, call: Call) -> Opaque:
    machine.approximate(
        LedgerKind.OPAQUE, f"`{call.text}` with arguments that are not followed", call.span
    )
    return Opaque(f"a view made by {call.text}")


Method = Callable[[Machine, View, Call], object]


def _reshape(machine: Machine, view: View, call: Call) -> object:
    if len(call.args) > 1:
        sizes = [machine.as_int(a.value, a.span) for a in call.args]
        known = [size for size in sizes if size is not None]
        if len(known) != len(sizes):
            return _lost(machine, call)
        return views.reshape(machine, view, known, call.span)
    given = call.keywords.get("new_shape")
    if given is not None:
        check_member(machine, "reshape.new_shape", given.span)
    keyword = "shape" if given is None else "new_shape"
    arguments = _Arguments(machine, call, (keyword,))
    shape = arguments.sizes(keyword)
    if arguments.bad:
        return _lost(machine, call)
    return views.reshape(machine, view, shape, call.span)


def _view(machine: Machine, view: View, call: Call) -> object:
    arguments = _Arguments(machine, call, ("dtype",))
    dtype = machine.as_dtype(arguments.value("dtype"), call.span)
    return (
        _lost(machine, call) if dtype is None else views.view_dtype(machine, view, dtype, call.span)
    )


def _broadcast_to(machine: Machine, view: View, call: Call) -> object:
    arguments = _Arguments(machine, call, ("shape",))
    shape = arguments.sizes("shape")
    if arguments.bad:
        return _lost(machine, call)
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
    arguments = _Arguments(machine, call, ("dim", "size"))
    dim, size = arguments.position("dim"), arguments.integer("size")
    if arguments.bad:
        return _lost(machine, call)
    return views.broadcast(machine, view, _dims(view, dim), size, call.span)


def _permute(machine: Machine, view: View, call: Call) -> object:
    arguments = _Arguments(machine, call, ("dims",))
    dims = arguments.sizes("dims")
    if arguments.bad or not all(dim.is_const for dim in dims):
        return _lost(machine, call)
    return views.permute(machine, view, [_dims(view, d.const) for d in dims], call.span)


def _expand_dim(machine: Machine, view: View, call: Call) -> object:
    name = "axis" if call.text.endswith("expand_dims") else "dim"
    arguments = _Arguments(machine, call, (name,))
    dim = arguments.position(name)
    if arguments.bad:
        return _lost(machine, call)
    return views.expand_dim(machine, view, dim + view.rank + 1 if dim < 0 else dim, call.span)


def _squeeze_dim(machine: Machine, view: View, call: Call) -> object:
    arguments = _Arguments(machine, call, ("dim",))
    dim = arguments.position("dim")
    if arguments.bad:
        return _lost(machine, call)
    return views.squeeze_dim(machine, view, _dims(view, dim), call.span)


def _reshape_dim(machine: Machine, view: View, call: Call) -> object:
    arguments = _Arguments(machine, call, ("dim", "shape"))
    dim, shape = arguments.position("dim"), arguments.sizes("shape")
    if arguments.bad:
        return _lost(machine, call)
    return views.reshape_dim(machine, view, _dims(view, dim), shape, call.span)


def _flatten_dims(machine: Machine, view: View, call: Call) -> object:
    arguments = _Arguments(machine, call, ("start_dim", "end_dim"))
    first, last = arguments.position("start_dim"), arguments.position("end_dim")
    if arguments.bad:
        return _lost(machine, call)
    return views.flatten_dims(machine, view, _dims(view, first), _dims(view, last), call.span)


def _slice(machine: Machine, view: View, call: Call) -> object:
    arguments = _Arguments(machine, call, ("dim", "start", "end", "step"))
    dim = arguments.position("dim")
    if arguments.bad:
        return _lost(machine, call)
    start, end, step = (arguments.value(name) for name in ("start", "end", "step"))
    return views.slice_dim(
        machine, view, _dims(view, dim), start, end, step, call.span, generation=machine.api
    )


def _select(machine: Machine, view: View, call: Call) -> object:
    arguments = _Arguments(machine, call, ("dim", "index"))
    dim = arguments.position("dim")
    if arguments.bad:
        return _lost(machine, call)
    index = arguments.value("index")
    return views.select(machine, view, _dims(view, dim), index, call.span, generation=machine.api)


def _vector_select(machine: Machine, view: View, call: Call) -> object:
    arguments = _Arguments(machine, call, ("dim", "offsets"))
    dim = arguments.position("dim")
    offsets = machine.as_view(arguments.value("offsets"), call.span)
    if arguments.bad or offsets is None:
        return _lost(machine, call)
    return views.vector_select(machine, view, _dims(view, dim), offsets, call.span)


def _rearrange(machine: Machine, view: View, call: Call) -> object:
    arguments = _Arguments(machine, call, ("src_pattern", "dst_pattern", "fixed_sizes"))
    fixed = arguments.value("fixed_sizes")
    named = {} if fixed is None else machine.as_named(fixed, call.span)
    sizes: dict[str, Expr] = {}
    for name, value in (named or {}).items():
        size = machine.as_int(value, call.span)
        if size is not None:
            sizes[name] = size
    source, target = arguments.value("src_pattern"), arguments.value("dst_pattern")
    if named is None or len(sizes) < len(named) or not views.split_names(source).issuperset(sizes):
        return _lost(machine, call)  # what a size says of a whole dimension is not documented
    return views.rearrange(machine, view, source, target, sizes, call.span)


def _ap(machine: Machine, view: View, call: Call) -> object:
    expected = ("pattern", "offset", "scalar_offset", "vector_offset", "indirect_dim", "dtype")
    arguments = _Arguments(machine, call, expected)
    given = arguments.found.get("pattern")
    rows = machine.as_items(given.value, given.span) if given is not None else None
    if rows is None or given is None:
        return _lost(machine, call)
    pattern: list[tuple[Expr, Expr]] = []
    for row in rows:
        pair = machine.as_items(row, given.span)
        if pair is None or len(pair) != 2:
            return _lost(machine, call)
        step, count = (machine.as_int(item, given.span) for item in pair)
        if step is None or count is None:
            return _lost(machine, call)
        pattern.append((step, count))
    offset: Expr | None = None
    if arguments.value("offset") is not None:
        offset = arguments.integer("offset")
    elif machine.api in ("beta1", "0.2", "0.3", "0.4"):
        offset = E.const(0)  # the default was 0 before 0.5 (NKI-M112)
    dtype = None
    if arguments.value("dtype") is not None:
        dtype = machine.as_dtype(arguments.value("dtype"), call.span)
        arguments.bad = arguments.bad or dtype is None
    if arguments.bad:
        return _lost(machine, call)
    if not newer(machine.api, "0.5") and view.exact and not views.is_whole(view):
        whole = "the pattern is of a whole tensor"
        _misused(machine, view, FALSE, given, whole, "a part for the base", ("X43",))
    gathered = _check_offsets(machine, view, arguments)
    scalar, held = arguments.value("scalar_offset"), None
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


def _check_offsets(machine: Machine, view: View, arguments: _Arguments) -> object:
    """A pattern starts at a scalar or gathers rows by a vector of the device, not both.

    Returns the vector, as a tensor where it is one.
    """
    scalar, vector = arguments.found.get("scalar_offset"), arguments.found.get("vector_offset")
    one = None if scalar is None or scalar.value is None else scalar
    each = None if vector is None or vector.value is None else vector
    if one is not None and each is not None:
        _misused(machine, view, FALSE, each, "one kind of offset", "two", ("X47", "DCP07"))
    again = one or each
    if again is not None:
        direct = E.truth(not view.indirect)
        _misused(machine, view, direct, again, "no index picks from it", "an index", ("X48",))
    if one is not None and isinstance(one.value, View):
        single = E.and_(E.eq(one.value.elements, 1), E.truth(one.value.buffer is Buffer.SBUF))
        text = "the offset is a register, or one element in SBUF"
        _misused(machine, view, single, one, text, "the scalar", ("DCP06",))
    axis = arguments.value("indirect_dim")
    if one is not None and isinstance(axis, Expr):
        rank = max(view.rank, len(view.storage.shape))
        text = f"indirect_dim < {rank}"
        _misused(machine, view, E.lt(axis, rank), one, text, "the dimension", ("X45",))
    held = None if each is None else machine.as_view(each.value, each.span)
    if each is None or held is None:
        return None if each is None else each.value
    if isinstance(axis, Expr):
        first = E.eq(axis, 0)
        _misused(machine, view, first, each, "indirect_dim == 0", "the dimension", ("X46",))
    return held


def _misused(
    machine: Machine,
    view: View,
    predicate: Bool,
    argument: Arg,
    text: str,
    what: str,
    facts: tuple[str, ...],
) -> None:
    _unlike(machine, view, predicate, argument, text, f"{what} of an access pattern", facts)


def _unlike(
    machine: Machine,
    view: View,
    predicate: Bool,
    argument: Arg,
    text: str,
    what: str,
    facts: tuple[str, ...],
) -> None:
    """A view is made as its method says only where the predicate holds."""
    machine.check(
        "view-precondition",
        predicate,
        argument.span,
        text,
        f"{what} of `{view.name}`",
        facts=facts,
    )


def _indirect(machine: Machine, view: View, call: Call) -> object:
    arguments = _Arguments(machine, call, ("index", "num_elem"))
    index = machine.as_view(arguments.value("index"), call.span)
    if index is None:
        return _lost(machine, call)
    count = index.elements
    if arguments.value("num_elem") is not None:
        count = arguments.integer("num_elem")
    if arguments.bad:
        return _lost(machine, call)
    given = Arg(index, arguments.found["index"].span)
    held = E.truth(index.rank == 2 and index.buffer is Buffer.SBUF)
    fits = E.and_(held, E.eq(index.partitions, view.partitions), E.le(count, index.elements))
    text = "the index is (partitions, columns) in SBUF, with at least num_elem elements"
    _unlike(machine, view, fits, given, text, "an index that does not fit", ("TI02",))
    once = E.truth(not view.indirect)
    _unlike(machine, view, once, given, "no index picks from it yet", "a second index", ("X48",))
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
    arguments = _Arguments(machine, call, ("dtype",))
    operands = {"src": Operand("src", view, call.span)}
    dtype = arguments.found.get("dtype")
    if dtype is not None:
        operands["dtype"] = Operand("dtype", dtype.value, dtype.span)
    return perform(machine, instruction, operands, call.span, call.text, call.target_name)


def _itself(machine: Machine, view: View, call: Call) -> object:
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
