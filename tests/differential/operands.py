"""Operands for one call of an instruction, as its description asks for them, and at times not."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from msgspec.structs import replace

from tests.differential.kernels import Plain, Shape, Text, Tile, number
from tests.differential.plain import plain
from verifier.dialects.nki import names
from verifier.dialects.nki.versions import newer
from verifier.dialects.signature import Signature
from verifier.executor.findings import UnsupportedError
from verifier.executor.machine import ConcreteMachine, Options
from verifier.executor.places import NOWHERE
from verifier.executor.session import Session
from verifier.hardware import dtypes as dt
from verifier.hardware.capabilities import Capability
from verifier.hardware.catalogue import Hardware
from verifier.hardware.engines import Engine
from verifier.hardware.memories import Buffer
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Expr
from verifier.symbolic.instruction import Instruction, Made
from verifier.symbolic.roles import (
    Counted,
    Crossed,
    Elements,
    Lanes,
    Permuted,
    PerPartition,
    Role,
    Sized,
    Spread,
    Takes,
    Types,
)
from verifier.symbolic.tensors import DType, Operand, View
from verifier.symbolic.values import Enumerator

#: memories that operands are drawn in
_BUFFERS: Mapping[Buffer, str] = {
    buffer: str(buffer.value)
    for buffer in (
        Buffer.SBUF,
        Buffer.PSUM,
        Buffer.HBM,
        Buffer.SHARED_HBM,
        Buffer.LOCAL,
        Buffer.L2,
    )
}
#: what parameters take that are given tensors
_TENSORS = (Takes.TILE, Takes.VECTOR, Takes.TENSOR_OR_NUMBER, Takes.TILES)
_VECTORS = (0.0, 1.0, 2.0, -1.5, 1, 3)


@dataclass(slots=True)
class Call:
    """The arguments of one call while they are drawn."""

    text: Text
    instruction: Instruction
    signature: Signature
    target: Hardware
    #: the extents that operands without a shape of their own have
    base: Shape
    other: int
    arguments: dict[str, Plain | Tile | list[Tile]] = field(default_factory=dict)
    shapes: dict[str, Shape] = field(default_factory=dict)
    dtypes: dict[str, str] = field(default_factory=dict)
    made: Made | None = None
    #: the parameter that is left out, so that the call gives back what it makes
    left_out: str = ""
    #: gives operands the shapes that go together, where descriptions do not say which do
    fits: Callable[[Call], None] | None = None

    @property
    def api(self) -> str:
        return self.signature.generation

    @property
    def engine(self) -> Engine:
        return Engine.UNKNOWN

    def has(self, capability: Capability) -> bool:
        return self.target.has(capability)

    def view(self, role: str) -> View | None:
        """An operand as a description may ask for it: no tensor is made yet."""
        return None

    def value(self, role: str) -> object:
        """A plain argument as a description reads it."""
        found = self.arguments.get(role)
        return found.value if isinstance(found, Plain) else None

    def numbers(self, role: str, otherwise: Shape = ()) -> Shape:
        """A list of numbers among the arguments."""
        value = self.value(role)
        if not isinstance(value, tuple) or not all(isinstance(item, Expr) for item in value):
            return otherwise
        return tuple(item.const for item in value)


def drawn(call: Call) -> None:
    """Draw all arguments of a call: plain ones first, what is made of others last."""
    listed = {parameter.name: parameter for parameter in call.signature.parameters}
    text, roles = call.text, call.instruction.roles
    for name, parameter in listed.items():
        role = call.instruction.role(name)
        plainly = (Takes.PLAIN, Takes.FLAG, Takes.INTEGER, Takes.INTEGERS)
        if role is None or role.takes in plainly:
            limit = role.value if role is not None else None
            found = plain(text, parameter, call.base, limit) if name != "mask" else None
            if found is not None:
                call.arguments[name] = found
        elif role.takes is Takes.OPERATOR and (parameter.default is None or text.one(0.5)):
            call.arguments[name] = operator(call, role)
    wanted = [
        role
        for role in roles
        if (known := listed.get(_named(call, role))) is not None
        and role.takes in _TENSORS
        and (known.default is None or text.one(0.5))
    ]
    for role in wanted:
        _plan(call, role)
    if call.fits is not None and not text.slips():
        call.fits(call)
    if call.instruction.result is not None and (call.left_out or _free(call, "dst")):
        _make(call)
    for role in wanted:
        if role.name == call.left_out:
            continue
        call.arguments[_named(call, role)] = _operand(call, role)


def _named(call: Call, role: Role) -> str:
    """The name that a generation has for a parameter."""
    names_ = call.signature.names
    return next((name for name in (role.name, *role.others) if name in names_), role.name)


def operator(call: Call, role: Role) -> Plain:
    """An operator that the parameter takes, or one that it may not take."""
    rng = call.text.rng
    listed = next((o for o in call.instruction.operators if o.role == role.name), None)
    admitted = sorted(listed.admitted if listed is not None else names.OPERATORS)
    if call.text.slips(0.5):
        admitted = sorted(names.OPERATORS)
    name = rng.choice(admitted)
    common = [n for n in ("add", "multiply", "maximum") if n in admitted]
    if common and call.text.one(0.4):
        name = rng.choice(common)
    # what NumPy has under the same name will do as well
    library = "np" if name in ("add", "multiply", "maximum") and call.text.one(0.2) else "nl"
    return Plain(f"{library}.{name}", Enumerator("op", name))


# ----------------------------------------------------------------------------- shapes and types


def _free(call: Call, name: str) -> bool:
    """Whether no other operand has its shape from this one, nor it from another."""
    roles = call.instruction.roles
    own = call.instruction.role(name)
    return not any(_model(role) == name for role in roles) and (own is None or _model(own) is None)


def _roles(call: Call) -> tuple[Role, ...]:
    return call.instruction.roles


def _model(role: Role) -> str | None:
    """The operand that the shape of another follows."""
    shape = role.shape
    return shape.of if shape is not None and not isinstance(shape, Crossed) else None


def _plan(call: Call, role: Role) -> None:
    """The shape and the element type of an operand, those that it follows before it."""
    if role.name not in call.shapes:
        model = _model(role)
        before = call.instruction.role(model) if model is not None else None
        if before is not None:
            _plan(call, before)
        call.shapes[role.name] = _shape(call, role)
    if role.name not in call.dtypes:
        same = role.same_dtype
        before = call.instruction.role(same.role) if same is not None else None
        if before is not None and before.name not in call.dtypes:
            call.dtypes[before.name] = _dtype(call, before)
        call.dtypes[role.name] = _dtype(call, role)


def _shape(call: Call, role: Role) -> Shape:
    text, rng = call.text, call.text.rng
    model = _model(role)
    if model is None or model not in call.shapes:
        shape = call.base
        if any(isinstance(r.shape, Spread) and r.shape.of == role.name for r in _roles(call)):
            shape = (shape[0], 1, *shape[2:])
        if text.one(0.15) and len(shape) == 2 and _free(call, role.name):
            shape = (shape[0], call.other)
    else:
        shape = _following(call, role, call.shapes[model])
    if text.slips():
        axis = rng.randrange(len(shape)) if shape else 0
        swapped = shape[::-1]
        wrong = tuple(
            max(1, n + rng.choice((-1, 1, n))) if k == axis else n for k, n in enumerate(shape)
        )
        shape = rng.choice((wrong, wrong, swapped, shape[:-1], (*shape, 1)))
    return shape


def _following(call: Call, role: Role, model: Shape) -> Shape:
    text = call.text
    if isinstance(role.shape, PerPartition):
        rank = role.shape.rank or 2
        return (*model[:1], *(1 for _ in range(rank - 1)))
    if isinstance(role.shape, Lanes):
        return (*model[:1], call.other)
    if isinstance(role.shape, Sized):
        view = _view(_machine(call), text.home, role.shape.of, model, "float32")
        sizes = (role.shape.rows(view), role.shape.columns(view))
        return tuple(max(1, size.const) for size in sizes if size.is_const) or model
    if isinstance(role.shape, Elements) and role.shape.repeats:
        # one element may stand for all along an axis that is not the one of the lanes
        return tuple(1 if k != 1 and text.one(0.1) else n for k, n in enumerate(model))
    if isinstance(role.shape, Permuted):
        order = role.shape.order(call)
        return tuple(model[axis] for axis in order if axis < len(model))
    if isinstance(role.shape, Spread):
        return (model[0], text.rng.choice((model[1], call.base[1], 16)), *model[2:])
    if isinstance(role.shape, Counted) and text.one(0.2):
        return (model[0] * model[2], model[1], 1, *model[3:])
    if len(model) == 3 and text.one(0.2):
        return (model[0], model[1] * model[2])
    return model


def _dtype(call: Call, role: Role) -> str:
    text, rng = call.text, call.text.rng
    if text.slips():
        return rng.choice(text.dtypes)
    same = role.same_dtype
    if same is not None and same.role in call.dtypes:
        return call.dtypes[same.role]
    admitted = _admitted(role.dtypes, call.api)
    common = [name for name in text.dtypes if admitted is None or name in admitted]
    first = next(iter(call.dtypes.values()), None)
    if first is not None and first in common and text.one(0.6):
        return first
    return rng.choice(common or sorted(admitted or ("float32",)))


def _admitted(types: Types | None, api: str) -> set[str] | None:
    if types is None or (types.since and not newer(api, types.since)):
        return None
    return {dt.NAMES[code] for code in types.codes if dt.DTYPES[dt.NAMES[code]][1] != "host"}


def _machine(call: Call) -> ConcreteMachine:
    """A machine that makes views and judges nothing."""
    session = Session(call.target, call.api, Options(shapes_only=True, keep_going=True))
    machine = session.current()
    machine.rules = replace(machine.rules, storage=[])
    return machine


def _view(machine: ConcreteMachine, home: Buffer, name: str, shape: Shape, dtype: str) -> View:
    sizes = tuple(E.const(n) for n in shape)
    return machine.allocate(name, sizes, DType.named(dtype), home, NOWHERE)


def _make(call: Call) -> None:
    """What the call makes of its operands, as its description says: the shape of `dst` as well."""
    machine = _machine(call)
    operands: dict[str, Operand] = {}
    for name, argument in call.arguments.items():
        if isinstance(argument, Plain):
            operands[name] = Operand(name, argument.value, NOWHERE)
    for name, shape in call.shapes.items():
        if name == "dst" or any(n < 0 for n in shape) or not shape:
            continue
        try:
            view = _view(machine, call.text.home, name, shape, call.dtypes[name])
        except UnsupportedError:
            continue
        operands[name] = Operand(name, view, NOWHERE)
    result = call.instruction.result
    assert result is not None
    try:
        made = result.of(machine, operands, NOWHERE)
    except TypeError:  # an axis is half a number: that is judged, nothing is made of it here
        return
    if made is None or not all(size.is_const for size in made.shape):
        return
    call.made = made
    if "dst" in call.shapes and not call.text.slips():
        shape = tuple(size.const for size in made.shape)
        if shape and all(0 <= n < 1 << 17 for n in shape):
            call.shapes["dst"] = shape
        if made.dtype.name in dt.DTYPES and call.text.one(0.6):
            call.dtypes["dst"] = made.dtype.name


# ----------------------------------------------------------------------------- operands


def _operand(call: Call, role: Role) -> Plain | Tile | list[Tile]:
    text = call.text
    shape, dtype = call.shapes[role.name], call.dtypes[role.name]
    if role.takes is Takes.TILES:
        return [_tile(call, role, shape, dtype) for _ in range(text.rng.choice((1, 1, 2, 3)))]
    if role.takes in (Takes.VECTOR, Takes.TENSOR_OR_NUMBER) or _may_be_number(call, role):
        vector = isinstance(role.shape, PerPartition)
        tiles = [a for a in call.arguments.values() if isinstance(a, Tile)]
        if text.one(0.5) and (vector or tiles):
            return number(text.rng.choice(_VECTORS))
    if text.slips(0.1):
        return Plain(text.rng.choice(("None", "1", text.typed("float32").text, "'t'")), None)
    return _tile(call, role, shape, dtype)


def _may_be_number(call: Call, role: Role) -> bool:
    return bool(role.number_until) and not newer(call.text.api, role.number_until)


def _tile(call: Call, role: Role, shape: Shape, dtype: str) -> Tile:
    text = call.text
    footprint = call.instruction.footprint
    reads, writes = bool(footprint.reads_of(role.name)), footprint.writes_of(role.name)
    buffer = _buffer(call, role, bool(writes))
    known = [t for t in text.tiles if t.buffer == buffer and (t.shape == shape or text.slips(0.3))]
    known = [t for t in known if t.dtype == dtype or text.slips()]
    if known and text.one(0.2 if writes else 0.6):
        tile = text.rng.choice(known)
        if writes:
            text.written.append(tile)
        return tile
    # what adds to what is there, or leaves some of it alone, is given something
    kept = any(write.keeps or not write.where.exact for write in writes) and text.one(0.7)
    layout = role.lies.layout if role.lies is not None else ""
    tile = text.held(buffer, dtype, shape, read=reads or kept, write=bool(writes), layout=layout)
    if tile.buffer in text.on_chip:
        text.tiles.append(tile)
        if writes:
            text.written.append(tile)
    return tile


def _buffer(call: Call, role: Role, written: bool) -> str:
    text: Text = call.text
    rng = text.rng
    if text.slips():
        return rng.choice(text.memories)
    if role.memories is not None:
        admitted = [_BUFFERS[buffer] for buffer in role.memories.buffers if buffer in _BUFFERS]
        return rng.choice((admitted[0], admitted[0], *admitted))
    anywhere = text.anywhere(call.instruction, role.name, written)
    if role.name == "dst" and call.made is not None and set(anywhere) <= set(text.on_chip):
        return _BUFFERS.get(call.made.buffer, anywhere[0])
    return rng.choice(anywhere)


def shown(arguments: Mapping[str, Plain | Tile | list[Tile]]) -> dict[str, str]:
    """The arguments as they are written."""
    out: dict[str, str] = {}
    for name, argument in arguments.items():
        if isinstance(argument, list):
            out[name] = f"[{', '.join(tile.text for tile in argument)}]"
        else:
            out[name] = argument.text
    return out
