"""The NKI dialect: what names, calls and operators of a kernel mean, in every generation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from verifier.dialects.binding import Bound
from verifier.dialects.nki import (
    beta1,
    deviceloops,
    frontend,
    groups,
    host,
    isa,
    keys,
    methods,
    names,
    operators,
    orders,
    sequencers,
)
from verifier.dialects.nki.binding import (
    REMOVED_RULE,
    bind,
    check_function,
    check_value,
    signature_of,
    spoken,
)
from verifier.dialects.nki.emission import perform, present
from verifier.dialects.nki.heard import Heard
from verifier.dialects.nki.versions import newer
from verifier.source import ir
from verifier.source.ir import Span
from verifier.source.project import Module
from verifier.symbolic import absent, views
from verifier.symbolic import expr as E
from verifier.symbolic.dialect import GridAxis
from verifier.symbolic.expr import Bool
from verifier.symbolic.instruction import Instruction, Trait
from verifier.symbolic.machine import Arg, Call, Machine
from verifier.symbolic.python import modules
from verifier.symbolic.python.inputs import Parameter
from verifier.symbolic.python.kind import Kind
from verifier.symbolic.python.machine import DeviceMachine
from verifier.symbolic.python.model import Class, Function
from verifier.symbolic.python.plain import PlainDialect
from verifier.symbolic.python.shapetexts import updated
from verifier.symbolic.python.vm import VM
from verifier.symbolic.tensors import LoopKind, View
from verifier.symbolic.trace import Block, LedgerKind
from verifier.symbolic.values import (
    ApiRef,
    DeviceData,
    HostUse,
    Missing,
    Opaque,
    SliceValue,
)


def _to_be_written(
    machine: Machine, instruction: Instruction | None, bound: Bound, call: Call
) -> Call:
    """Of a call that does not fit the tensors that it would write, listed ones too."""
    written = () if instruction is None else instruction.footprint.writes
    given: list[Arg] = []
    for operand in (bound.operands.get(write.role) for write in written):
        if operand is not None:
            items = machine.as_items(operand.value, operand.span)
            given += [Arg(item, operand.span) for item in items or (operand.value,)]
    return Call(tuple(given), {}, call.span, call.text)


#: the annotation of a parameter that a Beta 1 kernel updates
_UPDATED: Final = "typing.mutable_tensor"
#: where what decides is known; whether it is an index array
_KNOWN: Final = {False: "is known on the device alone", True: "has one value for each element"}


def _undecidable(use: HostUse, data: DeviceData) -> tuple[tuple[str, ...], str]:
    """What says that the host cannot decide by ``data``, and what to write instead."""
    if data is DeviceData.ARRAY:
        return ("X66", "E10"), "give the condition to the instructions as `mask=`"
    if use is HostUse.ENTRY:
        return ("G49", "E36"), (
            "enter the loop without a condition, and compute the condition at the end of its body"
        )
    if data is DeviceData.INDEX and use is not HostUse.CONDITION:
        return ("G37", "REG07"), "read the index as it is, as an offset: `.ap(scalar_offset=...)`"
    if use is HostUse.ARITHMETIC and data is not DeviceData.TENSOR:
        return ("G37", "REG07"), "compute it in a tile of one element, and load the register again"
    help_ = (
        "compute both, and choose with `nl.where` or a mask; loop with `nl.dynamic_range` or "
        "`nl.while_loop`"
    )
    return ("G38", "G39", "E05", "E12") if data is DeviceData.TENSOR else ("G37", "REG07"), help_


class NkiDialect(PlainDialect):
    """:class:`verifier.symbolic.machine.Dialect` for NKI Beta 1 and 0.2 to 0.6."""

    name = "nki"

    def __init__(self, heard: Heard | None = None) -> None:
        """``heard``: what is to be told of the run."""
        self._heard = heard
        self._scanned: set[Span] = set()
        self._order = deviceloops.Order()
        #: whether a dictionary was given a key that is no text
        self._keyed = False
        #: the package of the instruction that came first, None once another one was reported
        self._package: str | None = ""

    def root(self, dotted: str) -> object | None:
        """The value of an imported dotted name (``nki.language``), or None if it is not of NKI."""
        return names.root(dotted)

    def external(self, path: str) -> object | None:
        """What a name of NumPy or a dtype library means to kernels, or None."""
        return names.external(path)

    def tensor_truth(self, machine: Machine, span: Span, *, optional: bool = False) -> bool | None:
        """No generation takes a tensor as a condition, in whole or in part (NKI-G38, NKI-E05).

        What may be None may be asked for being there: Beta 1 documents that it refuses that, and
        nothing says what compilers since do.
        """
        if optional and machine.api != "beta1":
            text = "whether a compiler takes a tensor for true is not documented: write `!= None`"
            machine.approximate(LedgerKind.OPAQUE, text, span)
            return True
        self.on_device(machine, HostUse.CONDITION, DeviceData.TENSOR, "a tensor", span)
        return None

    def on_device(
        self,
        machine: Machine,
        use: HostUse,
        data: DeviceData,
        what: str,
        span: Span,
        held: Sequence[View] = (),
    ) -> object:
        """A kernel is traced before its data is there: no generation has a value for the host."""
        in_tensor = data is DeviceData.TENSOR
        if use is HostUse.ARITHMETIC and not newer(machine.api, "0.4"):
            return None  # nothing is said of it before (NKI-G37)
        # loops on the device are written so: in Beta 1 on tensors, once entered, later on registers
        # (NKI-LP06)
        entered = use is HostUse.LOOP
        taken = entered or (use is HostUse.ENTRY and not in_tensor)
        taken = taken and (machine.api == "beta1" or data is DeviceData.REGISTER)
        if taken:
            if self._heard is not None and data is DeviceData.REGISTER:
                self._heard.loops.append(span)
            self._order.check(machine, span)
            sequencers.decide(machine, held, span)
        else:
            if use is HostUse.ENTRY and machine.api != "beta1":
                use = HostUse.LOOP
            facts, help_ = _undecidable(use, data)
            machine.check(
                "device-condition",
                E.FALSE,
                span,
                "what decides is known when the kernel is traced",
                f"{use.value} depends on {what}, which {_KNOWN[data is DeviceData.ARRAY]}",
                facts=facts,
                help=(help_,),
            )
        return Opaque(f"{use.value} of {what}")

    def branch(self, machine: VM, stmt: ir.If, test: Bool) -> None:
        """Beta 1 keeps a block of its own for what depends on a loop."""
        atoms = test.free() if isinstance(test, Bool) else frozenset()
        if machine.api == "beta1" and any(atom.origin is E.Origin.LOOP for atom in atoms):
            function = machine.frame.function
            around = machine.trace.span if function is None else function.definition.span
            machine.trace.blocks[stmt.span] = Block(stmt.span, around)
            if machine.awaited is None:  # else it is the host's, around the kernel
                beta1.goes_on(machine, stmt)

    def launched(self, machine: VM, kernel: Function, span: Span) -> None:
        """Beta 1 takes no grid of programs inside of a program (NKI-L62)."""
        if machine.api == "beta1" and not machine.importing and machine.awaited is None:
            machine.check(
                "nested-grid",
                E.FALSE,
                span,
                f"`{kernel.name}` is called without a grid",
                f"`{kernel.name}` is given a launch grid inside of a kernel",
                facts=("NKI-L62", "NKI-E21"),
                help=(f"call `{kernel.name}(...)`, in a loop if it is to run several times",),
            )

    def compares_annotations(self, machine: VM) -> bool:
        """Beta 1 did (NKI-L73)."""
        return machine.api == "beta1"

    def parameter(self, machine: VM, p: Parameter, annotation: ir.Expr | None) -> object | None:
        """Beta 1 updates parameters that are annotated so (NKI-B26)."""
        said = updated(p.annotation)
        if isinstance(annotation, ir.Name) and not said:
            meant = modules.global_value(machine, machine.frame.module, annotation.id)
            said = isinstance(meant, ApiRef) and meant.name == _UPDATED
        if said:
            machine.trace.mutable.add(p.name)
        return None

    def attribute(self, machine: Machine, owner: ApiRef, attr: str, span: Span) -> object | None:
        """``owner.attr``, or None if NKI has no such name."""
        full = f"{owner.name}.{attr}"
        never = names.NEVER.get(full)
        if never is not None:
            instead, facts = never
            text, message = f"{spoken(full)} exists", f"no NKI has `{spoken(full)}`"
            machine.check(REMOVED_RULE, E.FALSE, span, text, message, facts=facts, help=(instead,))
            return Missing(f"`{spoken(full)}`", api=True)
        reading = isinstance(machine, VM)
        asked = isinstance(machine, VM) and machine.catching
        if asked and not names.value_in(full, machine.api):
            return None
        check_value(machine, full, span)
        found = names.attribute(owner, attr, machine.target)
        if isinstance(found, ApiRef) and reading and not names.function_in(found.name, machine.api):
            if asked:
                return None
            assert isinstance(machine, VM)
            if not machine.importing and machine.callee != span:  # a call says so itself
                check_function(machine, found.name, spoken(found.name), span)
        return found

    def imports(self, machine: Machine, dotted: str) -> str | None:
        """Why the generation in force cannot import a name that others have, or None."""
        found = names.imported(dotted, machine.api)
        return None if found is None else f"cannot import name '{dotted.rpartition('.')[2]}'"

    def imported(self, machine: Machine, dotted: str, span: Span) -> None:
        """A name is imported: one that the generation does not have is a finding."""
        found = names.imported(dotted, machine.api)
        if found is not None:
            full, function = found
            if function:
                check_function(machine, full, spoken(full), span)
            else:
                check_value(machine, full, span)

    def call(self, machine: Machine, api: ApiRef, call: Call) -> object:
        """A call of an API function: an operation, a tensor, a range ... or what it stands for."""
        if api.name == "collectives.ReplicaGroup":
            return groups.replica_group(machine, call)
        if api.name in host.HARMLESS_CLASSES:
            return Opaque(call.text, harmless=True)
        if api.name in names.ARRAY_MAKERS:
            array = host.numpy_array(machine, api.name, call)
            return array if array is not None else Opaque(f"the array made by {call.text}")
        if api.name in names.ARRAY_COPIES:
            array = host.numpy_copy(machine, api.name, call)
            return array if array is not None else Opaque(f"the array made by {call.text}")
        handler = host.HANDLERS.get(api.name)
        instruction = isa.find(api.name)
        if handler is None and instruction is None:
            machine.unmodelled(spoken(api.name), call.span)
            return Opaque(f"the result of {call.text}, which is not modelled")
        self._issued(machine, instruction, api, call)
        signature = signature_of(machine, api.name, call)
        if signature is None:
            machine.unmodelled(spoken(api.name), call.span)
            return Opaque(f"the result of {call.text}, which has no signature")
        bound = bind(machine, signature, call)
        if not bound.complete:
            wrote = _to_be_written(machine, instruction, bound, call)
            absent.writes(machine, wrote, all_of_them=True)
            return Missing(f"the result of {call.text} without its arguments", api=True)
        if api.name == deviceloops.ORDERED:
            return self._order.section()
        if api.name in deviceloops.LOOPS:
            self._order.check(machine, call.span)
        if api.name == deviceloops.MOVE or (instruction and instruction.footprint.registers):
            deviceloops.check_frozen(machine, bound)
        elif instruction is not None and Trait.REGISTERS in instruction.traits:
            deviceloops.check_stored(machine, bound)
        deviceloops.check(machine, api.name, bound, call)
        if handler is not None:
            return handler(machine, bound, call)
        assert instruction is not None
        bound = present(machine, instruction, bound, call)
        if api.name == "language.broadcast_to" and signature.generation == "beta1":
            # a view in Beta 1, a copy when the function came back in 0.3
            view = machine.as_view(bound.value("src"), bound.span("src", call.span))
            shape = bound.operands["shape"]
            if view is not None:
                forwarded = Call((), {"shape": Arg(shape.value, shape.span)}, call.span, call.text)
                return methods.METHODS["broadcast_to"](machine, view, forwarded)
        return perform(machine, instruction, bound.operands, call.span, call.text, call.target_name)

    def _issued(
        self, machine: Machine, instruction: Instruction | None, api: ApiRef, call: Call
    ) -> None:
        """An instruction is of a kernel, and a kernel of one of the packages (NKI-G42)."""
        if self._heard is not None:
            self._heard.calls.append((api.name, call))
        if instruction is None:
            return
        if isinstance(machine, VM) and machine.importing:
            frontend.outside(machine, call.text, call.span)
            return
        package = "neuronxcc.nki" if api.generation == "beta1" else "nki"
        if self._package in ("", package):
            self._package = package
        elif self._package is not None:
            machine.check(
                REMOVED_RULE,
                E.FALSE,
                call.span,
                "a kernel is written with one of the packages `neuronxcc.nki` and `nki`",
                f"`{call.text}` is of `{package}`, in a kernel of `{self._package}`",
                facts=("G42",),
                help=("import all of it from `nki`",),
            )
            self._package = None

    def api_subscript(self, machine: Machine, api: ApiRef, index: object, span: Span) -> object:
        """``nl.mgrid[...]``; other names (``nt.tensor[...]``) are annotations."""
        if isinstance(index, ApiRef) and index.name == "typing.mutable":
            return ApiRef(_UPDATED, api.generation)
        if api.name != "language.mgrid":
            return Opaque(f"{api.name}[...]", harmless=True)
        signature_of(machine, "language.arange", Call((), {}, span, "nl.mgrid"))
        items = index if isinstance(index, tuple) else (index,)
        slices = []
        for item in items:
            if not isinstance(item, SliceValue):
                machine.approximate(
                    LedgerKind.OPAQUE, "an index of `mgrid` that is not a slice", span
                )
                return Opaque("an index grid that is not followed")
            start = machine.as_int(item.start, span) if item.start is not None else None
            stop = machine.as_int(item.stop, span) if item.stop is not None else None
            if stop is None or (start is None and item.start is not None):
                machine.approximate(
                    LedgerKind.OPAQUE, "a slice of `mgrid` that is not followed", span
                )
                return Opaque("an index grid that is not followed")
            slices.append((start if start is not None else stop - stop, stop))
        return views.mgrid(machine, slices)

    def view_attribute(self, machine: Machine, view: View, attr: str, span: Span) -> object | None:
        """Data attributes of tensors; None if there is no such attribute."""
        return methods.attribute(machine, view, attr, span)

    def view_method(self, machine: Machine, view: View, method: str, call: Call) -> object | None:
        """Methods of tensors; None if there is no such method."""
        return methods.method(machine, view, method, call)

    def subscript(self, machine: Machine, view: View, index: object, span: Span) -> object:
        """``tensor[index]``."""
        if isinstance(machine, VM):
            frontend.nested_slice(machine, view, span)
        items = index if isinstance(index, tuple) else (index,)
        items = tuple(keys.told(machine, view, items, span))
        index = items if isinstance(index, tuple) else items[0]
        wrong = keys.checked(machine, view, items, span)
        if wrong is not None:
            return wrong
        if machine.api == "beta1":
            beta1.both_indices(machine, view, items, span)
        part = views.subscript(machine, view, index, span, generation=machine.api)
        if machine.api == "beta1":
            beta1.extents(machine, part.shape, f"a part of `{view.name}`", span)
        return part

    def operator(
        self, machine: Machine, op: str, left: object, right: object, span: Span
    ) -> object | None:
        """A Python operator with a tile or an index array as operand."""
        return operators.operator(machine, op, left, right, span)

    def store(
        self,
        machine: Machine,
        target: View,
        value: object,
        op: str | None,
        span: Span,
        value_span: Span,
    ) -> None:
        """``target[...] = value`` or ``target[...] op= value``."""
        operators.store(machine, target, value, op, span, value_span)

    # -- the front end ----------------------------------------------------------------------------

    def prepare(self, machine: VM, definition: ir.FunctionDef, module: Module) -> None:
        """What the compiler does not know of Python is rejected."""
        for axis, size in enumerate(machine.grid_sizes or ()):
            if size > 1:
                machine.grid(axis, asked=False)
        frontend.prepare(machine, definition)

    def enter(self, machine: VM, definition: ir.FunctionDef | ir.LambdaExpr, span: Span) -> None:
        """A function is compiled as well: looked through once, and no kernel of its own."""
        if not machine.importing and definition.span not in self._scanned:
            self._scanned.add(definition.span)
            frontend.enter(machine, definition, span)

    def computes(self, machine: VM, path: str, given: Sequence[object], span: Span) -> None:
        """A library of the host is given a tile."""
        frontend.compute(machine, path, given, span)

    def keyed(self, machine: VM, key: object, span: Span, *, stored: bool = True) -> None:
        """Keys are texts; an entry that the kernel made itself was told of where it did."""
        if not machine.importing and (stored or not self._keyed):
            found = frontend.keyed(machine, key, span)
            self._keyed = self._keyed or (stored and found)

    def instantiate(self, machine: VM, cls: Class, span: Span) -> None:
        """An object is one of NKI's."""
        if not machine.importing:
            frontend.instantiate(machine, cls, span)

    def operates(self, machine: VM, cls: Class, method: str, span: Span) -> None:
        """Members of enumerations are equal, or not."""
        if not machine.importing:
            frontend.operates(machine, cls, span)

    def traced_once(self, machine: VM, kind: LoopKind) -> bool:
        """Beta 1 traces the body of a loop once (NKI-LP12)."""
        return machine.api == "beta1" and kind in (
            LoopKind.AFFINE,
            LoopKind.SCHEDULED,
            LoopKind.SEQUENTIAL,
            LoopKind.RANGE,
        )

    def grid_axis(self, machine: DeviceMachine, number: int) -> GridAxis:
        """An axis of the SPMD grid: any in Beta 1, the cores of one chip later."""
        index, count = f"program_id({number})", f"num_programs({number})"
        sizes = machine.grid_sizes
        if sizes is not None:
            return GridAxis(index, count, E.const(sizes[number] if number < len(sizes) else 1))
        if machine.api == "beta1":
            return GridAxis(index, count, E.symbol(count, 1, origin=E.Origin.GRID))
        most = machine.target.lnc_max if number == 0 else 1
        return GridAxis(index, count, E.symbol(count, 1, most, origin=E.Origin.GRID))

    def kinds(self) -> Mapping[type, Kind[VM]]:
        """Instructions that were issued."""
        return orders.KINDS

    def view_names(self, machine: Machine | None = None) -> frozenset[str] | None:
        """Data attributes and methods of tensors, of all generations or of that in force."""
        return methods.NAMES if machine is None else methods.members(machine.api)

    def closed(self, owner: ApiRef, attr: str) -> frozenset[str] | None:
        """The names of a namespace of NKI, of all generations; None if it may have ``attr``."""
        return names.closed(owner.name, attr)
