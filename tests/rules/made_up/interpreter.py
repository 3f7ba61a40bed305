"""What its names and calls mean, what its instructions are, and all else there is to say of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from verifier.dialects import spoken
from verifier.dialects.binding import assigned, bound, literal
from verifier.dialects.descriptor import DialectDescriptor
from verifier.dialects.signature import Parameter, parse
from verifier.hardware import targets
from verifier.hardware.engines import Engine
from verifier.hardware.memories import Buffer
from verifier.hardware.targets import Target
from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic import views
from verifier.symbolic.effects import Call as Operands
from verifier.symbolic.effects import Carried, Footprint, Index, Reads, Writes
from verifier.symbolic.expr import Bool
from verifier.symbolic.generation import Generation
from verifier.symbolic.instruction import Engines, Instruction
from verifier.symbolic.machine import Arg, Call, Machine
from verifier.symbolic.python.plain import PlainDialect
from verifier.symbolic.roles import Role, Takes
from verifier.symbolic.tensors import DType, Operand, View
from verifier.symbolic.trace import LedgerKind, Operation
from verifier.symbolic.values import ApiRef, Opaque

from .api import API, NAME

GENERATION: Final = Generation(name=NAME, undefined="VEC-01", hbm_private=True)


def _alike(call: Operands) -> Bool:
    dst, src = call.view("dst"), call.view("src")
    if dst is None or src is None or dst.rank != src.rank:
        return E.FALSE
    return E.and_(*(E.eq(a, b) for a, b in zip(dst.shape, src.shape, strict=True)))


def _same(call: Operands, index: Index) -> Index | None:
    return index


def _instruction(name: str, summary: str, parameters: str, *more: Role) -> Instruction:
    return Instruction(
        name=f"{NAME}.{name}",
        summary=summary,
        signatures={NAME: parameters},
        roles=(Role(name="dst", takes=Takes.TILE), Role(name="src", takes=Takes.TILE), *more),
        engines=Engines(Engine.VECTOR),
        footprint=Footprint(
            reads=(Reads(role="src", fate=Carried(_same, fits=_alike, moved=not more)),),
            writes=(Writes(role="dst"),),
        ),
    )


INSTRUCTIONS: Final[Mapping[str, Instruction]] = {
    instruction.short: instruction
    for instruction in (
        _instruction("move", "dst = src", "dst*, src*"),
        _instruction(
            *("scale", "dst = src * factor", "dst*, src*, factor=1"),
            Role(name="factor", takes=Takes.INTEGER),
        ),
    )
}
_MEMORIES: Final = {"tile": Buffer.SBUF, "output": Buffer.SHARED_HBM}
_NAMES: Final = {"kernel", *_MEMORIES, *INSTRUCTIONS}


class _Unfit:
    """Arguments that do not fit: the call has no meaning then."""

    def __init__(self) -> None:
        self.found = False

    def crowded(self, first: Arg, most: int) -> None:
        self.found = True

    def unknown(self, keyword: str, argument: Arg) -> str | None:
        self.found = True
        return None

    def twice(self, keyword: str, argument: Arg) -> None:
        self.found = True

    def missing(self, parameters: tuple[Parameter, ...]) -> None:
        self.found = True


class VecDialect(PlainDialect):
    """:class:`verifier.symbolic.dialect.Dialect` of ``vec``."""

    name = NAME

    def root(self, dotted: str) -> object | None:
        package, _, name = dotted.partition(".")
        if package != NAME or (name and name not in _NAMES):
            return None
        return ApiRef(name or NAME, NAME)

    def external(self, path: str) -> object | None:
        return None

    def attribute(self, machine: Machine, owner: ApiRef, attr: str, span: Span) -> object | None:
        return self.root(f"{NAME}.{attr}") if owner.name == NAME else None

    def call(self, machine: Machine, api: ApiRef, call: Call) -> object:
        if api.name == "kernel":
            return Opaque("a kernel", harmless=True)
        instruction = INSTRUCTIONS.get(api.name)
        made = _made(machine, api, call) if instruction is None else None
        if made is None and (instruction is None or not _performed(machine, instruction, call)):
            machine.unmodelled(f"{NAME}.{api.name}", call.span)
            return Opaque(f"the result of `{call.text}`, which is not followed")
        return made

    def api_subscript(self, machine: Machine, api: ApiRef, index: object, span: Span) -> object:
        return Opaque(f"{api.name}[...]")

    def view_attribute(self, machine: Machine, view: View, attr: str, span: Span) -> object | None:
        return view.shape if attr == "shape" else None

    def view_method(self, machine: Machine, view: View, method: str, call: Call) -> object | None:
        return None

    def subscript(self, machine: Machine, view: View, index: object, span: Span) -> object:
        return views.subscript(machine, view, index, span, generation=NAME)

    def operator(
        self, machine: Machine, op: str, left: object, right: object, span: Span
    ) -> object | None:
        return None

    def store(
        self,
        machine: Machine,
        target: View,
        value: object,
        op: str | None,
        span: Span,
        value_span: Span,
    ) -> None:
        machine.approximate(LedgerKind.OPAQUE, f"a store to `{target.name}` is not followed", span)


def _made(machine: Machine, api: ApiRef, call: Call) -> View | None:
    """A tile, or a result of the kernel."""
    buffer = _MEMORIES.get(api.name)
    items = machine.as_items(call.args[0].value, call.span) if call.args else None
    sizes = [machine.as_int(item, call.span) for item in items or ()]
    shape = [size for size in sizes if size is not None]
    if buffer is None or not shape or len(shape) < len(sizes):
        return None
    name = call.target_name or api.name
    return machine.allocate(name, shape, DType.named("float32"), buffer, call.span)


def _performed(machine: Machine, instruction: Instruction, call: Call) -> bool:
    """Emit the operation of a call, unless its arguments do not fit."""
    signature = parse(instruction.name, NAME, instruction.signatures[NAME] or "")
    unfit = _Unfit()
    given = bound(signature, call, assigned(signature, call, unfit), literal)
    dst, src = (_operand(machine, given.operands.get(role)) for role in ("dst", "src"))
    if unfit.found or not given.complete or dst is None or src is None:
        return False
    operands = {**given.operands, "dst": dst[0], "src": src[0]}
    factor = operands.get("factor")
    if factor is not None:
        number = machine.as_int(factor.value, factor.span)
        operands["factor"] = Operand("factor", number, factor.span, known=number is not None)
    machine.emit(
        Operation(
            name=instruction.name,
            operands=operands,
            span=call.span,
            generation=machine.generation,
            loops=machine.loops,
            path=machine.path,
            order=machine.next_order(),
            reads=(("src", src[1]),),
            writes=(("dst", dst[1]),),
            engine=Engine.VECTOR,
            call_text=call.text,
            instruction=instruction,
        )
    )
    return True


def _operand(machine: Machine, given: Operand | None) -> tuple[Operand, View] | None:
    view = machine.as_view(given.value, given.span) if given is not None else None
    if given is None or view is None:
        return None
    used = views.use(machine, view, None, given.span)
    return Operand(given.role, used, given.span), used


DESCRIPTOR: Final = DialectDescriptor(
    name=NAME,
    label="Vec",
    api=API,
    make=VecDialect,
    floats="float32",
    runs=lambda hardware: isinstance(hardware, Target),
    target=targets.DEFAULT,
    generations={NAME: GENERATION},
    instructions={instruction.name: instruction for instruction in INSTRUCTIONS.values()},
    functions=lambda name, text: spoken.listed(NAME, INSTRUCTIONS) if name == NAME else (),
    infer=lambda tree: lambda kernel: NAME,
    exported=lambda module: _NAMES,
    facts=frozenset({"VEC-"}),
)
