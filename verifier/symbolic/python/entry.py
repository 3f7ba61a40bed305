"""Running one kernel from its parameters to its return: the trace that rules judge."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from verifier.hardware.catalogue import Hardware
from verifier.source import ir
from verifier.source.discovery import Enclosing
from verifier.source.ir import Span
from verifier.source.project import Module, Project
from verifier.source.scopes import names_of
from verifier.source.sites import Site
from verifier.symbolic import expr as E
from verifier.symbolic.dialect import Dialect, Input
from verifier.symbolic.expr import Bool, Expr, Sym
from verifier.symbolic.generation import Generation
from verifier.symbolic.python import (
    annotated,
    contradictions,
    functions,
    hints,
    launched,
    modules,
    ranks,
    signs,
    suspended,
)
from verifier.symbolic.python.evidence import Hint
from verifier.symbolic.python.flow import (
    AbortedRunError,
    Ended,
    Escape,
    Frame,
    HostCheck,
    Landing,
    Wait,
)
from verifier.symbolic.python.given import initial_value
from verifier.symbolic.python.heap import UNBOUND, DictBox, Scope
from verifier.symbolic.python.inputs import (
    InputKind,
    Inputs,
    Parameter,
    Word,
    absent_name,
    if_given,
    is_text,
    packs,
)
from verifier.symbolic.python.kinds.inputs import doubts
from verifier.symbolic.python.language import language_of
from verifier.symbolic.python.model import Class, ClassMethod, Function, StaticMethod
from verifier.symbolic.python.objectinputs import Noted
from verifier.symbolic.python.pins import Pin, TensorPin, ValuePin
from verifier.symbolic.python.returned import Returned
from verifier.symbolic.python.sizes import Named, named
from verifier.symbolic.python.tied import tie_tensors
from verifier.symbolic.python.vm import VM, Awaited
from verifier.symbolic.trace import LATE, AssumptionKind, LedgerKind, Trace
from verifier.symbolic.values import ApiRef, BufferValue, Enumerator, Guarded, Opaque


class Request(Struct, frozen=True):
    """A kernel to run: its definition, and what a contract pins."""

    name: str
    definition: ir.FunctionDef
    module: Module
    #: the functions around a nested kernel, outermost first; their parameters are inputs too
    enclosing: tuple[Enclosing, ...] = ()
    pinned: Mapping[str, Pin] = field(default_factory=dict)
    grid: tuple[int, ...] | None = None
    #: where it becomes a kernel, if that is not the definition alone
    site: Site | None = None
    #: relations of a contract, over the symbols of its sizes
    conditions: tuple[tuple[Bool, str], ...] = ()
    #: nothing is known of the arguments: no kernel, but a function that may be called with anything
    opaque: bool = False
    #: loops of few trips go trip by trip
    exactly: bool = False
    #: what limits a size to a number, or to numbers below one, decides nothing
    at_any_size: bool = False
    #: of how many things nothing may be known: a run is given up at the next one
    at_most_unknown: int | None = None
    #: the ranks of tensors that are assumed where nothing settles them
    ranks: Mapping[str, int] = field(default_factory=dict)

    @property
    def definitions(self) -> tuple[ir.FunctionDef, ...]:
        """From the outermost one to the kernel's."""
        return (*(e.definition for e in self.enclosing), self.definition)

    def names_within(self, depth: int) -> frozenset[str]:
        """The parameters of the definitions inside the enclosing function number ``depth``."""
        inside = self.definitions[depth + 1 :]
        return frozenset(p.name for definition in inside for p in definition.params)


class Run(Struct):
    """A finished run. ``ranks`` are those of its tensors; ``ended`` why it stopped early."""

    trace: Trace
    checks: list[HostCheck]
    ranks: dict[str, int]
    ended: tuple[str, Span] | None
    inputs: Inputs
    #: why not all of what is returned could be looked into
    opaque_return: str = ""
    #: statements that were interpreted: how far it came
    steps: int = 0
    #: the kernel's own names for the sizes of its inputs
    sizes: Mapping[Sym, Named] = field(default_factory=dict)
    #: it ended early because its time was over
    late: bool = False

    def trips(self) -> tuple[Expr, ...]:
        """The trip counts of all loops around operations."""
        loops = {loop.index: loop.trips for o in self.trace.operations for loop in o.loops}
        return tuple(loops.values())


_NO_HINT: Final = Hint()
_NOTHING: Final[Mapping[str, object]] = {}
_STARRED: Final = (ir.ParamKind.STAR, ir.ParamKind.DOUBLE_STAR)

Decide = Callable[[tuple[Bool, ...], Bool], "bool | None"]


def interpreted(
    project: Project,
    dialect: Dialect[VM],
    hardware: Hardware,
    generation: Generation,
    request: Request,
    decide: Decide,
    deadline: float | None = None,
    within: AbstractContextManager[None] | None = None,
) -> Run:
    """The run of the kernel.

    One that goes on after ``deadline`` (of ``time.process_time()``) ends there and says so: what it
    has traced stays, but for loops whose generic trip is not confirmed. ``within`` may end the run
    anywhere.
    """
    entry = _entry(project, dialect, hardware, generation, request, decide, deadline)
    with within or nullcontext():
        entry.run()
    return _finished(entry)


def inputs_of(
    project: Project,
    dialect: Dialect[VM],
    hardware: Hardware,
    generation: Generation,
    request: Request,
) -> tuple[ir.Param, ...]:
    """The inputs of a kernel that is made of a function at its site."""
    entry = _entry(project, dialect, hardware, generation, request, lambda facts, claim: None, None)
    entry.looking = True
    entry.run()
    return entry.params


def _entry(
    project: Project,
    dialect: Dialect[VM],
    hardware: Hardware,
    generation: Generation,
    request: Request,
    decide: Decide,
    deadline: float | None,
) -> _Entry:
    trace = Trace(
        kernel=request.name,
        path=str(request.module.path),
        span=request.definition.name_span,
        generation=generation,
        dialect=dialect.name,
    )
    vm = VM(
        language_of(dialect),
        dialect,
        project=project,
        hardware=hardware,
        generation=generation,
        trace=trace,
        inputs=Inputs(packed=packs(hardware, request.module), pinned=request.pinned),
        decide=decide,
        deadline=deadline,
    )
    vm.grid_sizes = request.grid
    vm.exactly = request.exactly
    vm.at_any_size = request.at_any_size
    vm.at_most_unknown = request.at_most_unknown
    return _Entry(vm, request)


def _find_idle(trace: Trace) -> None:
    """Mark the tensors of a kernel that no call takes and that it does not return."""
    if trace.dies or trace.unmodelled or any(e.kind is LedgerKind.SKIPPED for e in trace.ledger):
        return  # what is not followed may use anything
    taken = {id(v.storage) for op in trace.operations for _, v in (*op.reads, *op.writes)}
    for storage in trace.storages:
        storage.idle = not storage.returned and id(storage) not in taken


def _finished(entry: _Entry) -> Run:
    """What a run has come to."""
    vm, trace, inputs = entry.vm, entry.vm.trace, entry.vm.inputs
    suspended.forget_all(vm)
    ended = entry.ended
    late = not entry.done and (ended is None or ended[0] is LATE)
    if late:
        ended = (_how_far(vm), vm.at)
    if not entry.done:
        trace.dies, trace.completes = True, False
        if vm.unsettled:
            vm.back_to(vm.unsettled[0])
    vm.checks.extend(doubts(vm))
    tie_tensors(vm)
    _unlike_default(vm)
    for _, views, _ in trace.returns:
        for view in views:
            view.storage.returned = True
    if trace.generation.looks_at_uses:
        _find_idle(trace)
    trace.storages.extend(inputs.storages)
    trace.opaque_return = bool(entry.opaque) or ended is not None
    found = _ranks(vm)
    return Run(trace, vm.checks, found, ended, inputs, entry.opaque, vm.steps, entry.sizes, late)


def _unlike_default(vm: VM) -> None:
    """What is used as a number or a tensor, and is a name of an API by default, which is none."""
    for p in vm.inputs.parameters.values():
        if p.kind in (InputKind.INTEGER, InputKind.TENSOR) and p.pinned is None:
            if isinstance(p.default, (ApiRef, BufferValue, Enumerator)):
                used = "a number" if p.kind is InputKind.INTEGER else "a tensor"
                vm.unfollowed(f"`{p.name}` is used as {used}, which its default is not", p.span)


def _how_far(vm: VM) -> str:
    """Where a run stands whose time is over."""
    calls = "1 device call" if vm.trace.calls == 1 else f"{vm.trace.calls} device calls"
    return f"{LATE}: the run ends here, after {vm.steps} statements and {calls}"


def _ranks(vm: VM) -> dict[str, int]:
    """The ranks of the tensors that have one on all paths."""
    out = {}
    for name, p in vm.inputs.parameters.items():
        if p.rank is None and len(p.views) == 1:
            p.rank = next(iter(p.views))
        if p.rank is None and not p.views and p.kind is InputKind.TENSOR:
            with suppress(AbortedRunError):
                p.rank = ranks.known(vm, p)  # only its shape is asked for
        if p.rank is not None and p.kind is InputKind.TENSOR:
            out[name] = p.rank
            _say_once(vm, p, p.rank)
    return out


def _say_once(vm: VM, p: Parameter, rank: int) -> None:
    """What follows from the rank of a tensor is not said beside it."""
    count = vm.inputs.rank_symbol(p)
    implied = [E.ge(count, least) for least in range(2, rank + 1)]
    assumptions = vm.trace.assumptions
    if any(a.condition is E.eq(count, rank) for a in assumptions):
        for position, assumption in enumerate(assumptions):
            said = assumption.condition
            parts = said.args if said.kind is E.BoolKind.OR else (said,)
            if any(part is condition for part in parts for condition in implied):
                assumptions[position] = replace(assumption, text="")


class _Entry:
    """The way into a kernel: through the functions around it, each on inputs of its own."""

    def __init__(self, vm: VM, request: Request) -> None:
        self.vm = vm
        self.request = request
        self.opaque = ""
        self.entered = False
        self.sizes: dict[Sym, Named] = {}
        #: the inputs of what is launched
        self.params: tuple[ir.Param, ...] = ()
        #: only the inputs are asked for
        self.looking = False
        #: why the run ended early, and where; whether it came to its end
        self.ended: tuple[str, Span] | None = None
        self.done = False

    def run(self) -> None:
        """Run the kernel, as far as that goes."""
        vm, definition = self.vm, self.request.definition
        try:
            for condition, text in self.request.conditions:
                vm.assume(condition, text, definition.name_span, AssumptionKind.CONTRACT)
            vm.dialect.prepare(vm, definition, self.request.module)
            self._start()
            if vm.awaited is not None or not self.entered:
                text = "the enclosing function does not come to this kernel"
                self.ended = (text, definition.name_span)
            self.done = True
        except AbortedRunError as stop:
            self.ended = (stop.reason, stop.span)
        except RecursionError:
            self.ended = ("the kernel nests too deeply to interpret", definition.name_span)

    def _start(self) -> None:
        """Interpret the outermost definition."""
        site = self.request.site
        if site is not None and not self.request.enclosing:
            self._launch(launched.at(self.vm, site), 0)
            return
        function = self._outermost()
        if function is not None:
            self._enter(function, 0)

    def _launch(self, value: object, depth: int) -> None:
        """Run what became the kernel."""
        found = launched.entered(self.vm, value)
        site = self.request.site
        assert site is not None
        if isinstance(found, str):
            self.entered = True
            text = f"what {site.text} launches is not known: {found}"
            self.ended = (text, self.request.definition.name_span)
            return
        params = launched.parameters(found.function, self.request.definition)
        self.params = tuple(p for p in params if p.name not in found.given)
        self.entered = True
        if not self.looking:
            self._enter(found.function, depth, found.given)

    def _outermost(self) -> Function | None:
        """The outermost function as its module has made it, before any decorator."""
        vm, request = self.vm, self.request
        first = request.definitions[0]
        module = self._module()
        globals_ = modules.started(vm, module)
        found = self._in_class(first)
        made = vm.memo.get(("made", first.span)) if found is None else found
        if isinstance(made, Function):
            return made
        with modules.before_the_kernel(vm):
            vm.frames.append(Frame(module, globals_.scope.id, 0))
            try:
                name = first.name if request.enclosing else request.name
                return functions.make_function(vm, first, name)
            except Ended:
                return None  # a default cannot be evaluated, which is reported
            finally:
                vm.frames.pop()

    def _module(self) -> Module:
        """The module of the outermost definition: kernels may be launched in other modules."""
        site = self.request.site
        if site is None or not self.request.enclosing:
            return self.request.module
        return self.vm.project.module(Path(site.path))

    def _in_class(self, definition: ir.FunctionDef) -> Function | None:
        """The function in the namespace of the classes around it, None if there is no class."""
        vm, request = self.vm, self.request
        outer = request.name.split(".")
        if len(outer) < 2 or definition.name == outer[0]:
            return None
        with suppress(Ended):
            value = modules.global_value(vm, self._module(), outer[0])
            for name in outer[1:]:
                if not isinstance(value, Class):
                    break
                scope = vm.heap.get(value.namespace.id)
                assert isinstance(scope, Scope)
                value = scope.names.get(name, UNBOUND)
                if isinstance(value, (StaticMethod, ClassMethod)):
                    value = value.function
                if isinstance(value, Function) and value.name == definition.name:
                    return value if value.definition.span == definition.span else None
        return None

    def _enter(
        self, function: Function, depth: int, given: Mapping[str, object] = _NOTHING
    ) -> None:
        """Run a function of the chain; a kernel is called outside of all that is around it."""
        vm, definition = self.vm, function.definition
        assert isinstance(definition, ir.FunctionDef)
        landings, vm.landings = vm.landings, []
        parent = function.closure.id if function.closure is not None else None
        scope = functions.new_scope(vm, names_of(definition), parent, {})
        vm.frames.append(Frame(function.module, scope.id, vm.path_length(), function))
        base = vm.path_length()
        try:
            bound = self._arguments(function, depth, given)
            box = vm.heap.write(scope.id)
            assert isinstance(box, Scope)
            box.names.update(bound)
            inner = self.request.definitions
            if depth + 1 < len(inner):
                vm.awaited = Awaited(
                    inner[depth + 1],
                    lambda made: self._enter(made, depth + 1),
                    self.request.site if depth + 2 == len(inner) else None,
                    lambda value: self._launch(value, depth + 1),
                )
                with suppress(Ended), vm.landing(Wait.CALL):
                    vm.exec(definition.body)
            else:
                self.entered = True
                self._run(definition)
        finally:
            vm.landings = landings
            vm.frames.pop()
            vm.cut_path(base)

    def _run(self, definition: ir.FunctionDef) -> None:
        """The kernel itself: what it returns on which path."""
        vm = self.vm
        if definition.is_generator or definition.is_async:
            vm.unfollowed("a kernel that is a generator is not followed", definition.name_span)
            return
        with vm.landing(Wait.CALL) as landing:
            alive = True
            try:
                vm.exec(definition.body)
            except Ended:
                alive = False
        vm.trace.completes = alive or bool(landing.escapes)
        # What narrows the path at the end is known there only.
        rest = vm.path
        last = vm.heap if alive or not landing.escapes else landing.escapes[-1].heap
        scope = last.get(vm.frames[-1].scope)
        if isinstance(scope, Scope):
            self.sizes = named(definition, scope.names)
        self._returns(definition, landing)
        if vm.trace.completes:
            annotated.of_inputs(vm, definition)
        if alive and landing.escapes:
            vm.trace.returns.append((rest, (), definition.name_span))

    def _returns(self, definition: ir.FunctionDef, landing: Landing) -> None:
        vm, last = self.vm, self.vm.heap
        vm.cut_path(landing.base)
        for escape in landing.escapes:
            with vm.guarded(escape.guard):
                self._returned(escape, escape.span or definition.name_span)
        vm.heap = last

    def _returned(self, escape: Escape, place: Span) -> None:
        vm = self.vm
        vm.heap = escape.heap
        for guard, value in vm.cases(escape.value):
            with vm.guarded(guard):
                found = Returned(vm, place).of(value)
                self.opaque = self.opaque or found.unseen
                vm.trace.elements.update(found.elements)
                none = E.and_(*map(E.not_, found.views))
                if none is not E.FALSE:
                    found.views[none] = []
                for under, views in found.views.items():
                    with vm.guarded(under):
                        vm.trace.returns.append((vm.path, tuple(views), place))

    # -- arguments -----------------------------------------------------------------------

    def _arguments(
        self, function: Function, depth: int, given: Mapping[str, object] = _NOTHING
    ) -> dict[str, object]:
        """What the parameters of a function of the chain are bound to."""
        vm, request, definition = self.vm, self.request, function.definition
        assert isinstance(definition, ir.FunctionDef)
        enclosing = request.enclosing[depth] if depth < len(request.enclosing) else None
        if enclosing is None and not request.opaque:
            decorators = request.definition.decorators
            fields = vm.dialect.arguments(
                vm, replace(definition, decorators=decorators), self._declared
            )
            if fields is not None:
                return dict(fields)
        if enclosing is not None or request.site is None:
            return self._inputs(function, definition.params, enclosing, depth)
        found = {**self._inputs(function, self.params, None, depth), **given}
        if definition.span == request.definition.span:
            return found
        return self._handed_on(function, found)

    def _handed_on(self, function: Function, found: Mapping[str, object]) -> dict[str, object]:
        """The arguments of what is launched: some of the inputs are in its starred parameters."""
        own = {p.name for p in function.definition.params}
        places = [p.name for p in self.params if p.kind is not ir.ParamKind.KEYWORD]
        out = {name: value for name, value in found.items() if name in own}
        rest = [name for name in found if name not in own]
        for p in function.definition.params:
            if p.kind is ir.ParamKind.STAR:
                out[p.name] = tuple(found[name] for name in rest if name in places)
                rest = [name for name in rest if name not in places]
        for p in function.definition.params:
            if p.kind is ir.ParamKind.DOUBLE_STAR:
                out[p.name] = self.vm.heap.new(DictBox({name: found[name] for name in rest}))
        return out

    def _inputs(
        self,
        function: Function,
        params: Iterable[ir.Param],
        enclosing: Enclosing | None,
        depth: int,
    ) -> dict[str, object]:
        """The inputs that parameters are."""
        vm, request, definition = self.vm, self.request, function.definition
        assert isinstance(definition, ir.FunctionDef)
        params = [*params]
        named = {p.name for p in params if p.kind not in _STARRED}
        settled = not request.opaque and enclosing is None and all(map(self._is_settled, named))
        guesses = {} if settled else hints.read(vm.project, function.module, definition)
        signed = signs.negatives(definition)
        hidden = request.names_within(depth) if enclosing is not None else frozenset()
        defaults = dict(function.defaults)
        if enclosing is None and request.site is not None:
            inner = vm.memo.get(("made", request.definition.span))
            if not settled:
                own = hints.read(vm.project, request.module, request.definition)
                guesses = {**own, **guesses}
            signed = signed | signs.negatives(request.definition)
            if isinstance(inner, Function):
                defaults = {**dict(inner.defaults), **defaults}
        out: dict[str, object] = {}
        for position, param in enumerate(params):
            if enclosing is not None and enclosing.method and position == 0:
                out[param.name] = Opaque(f"the object `{param.name}`", given=True)
                continue
            if param.kind in _STARRED:
                text = f"the arguments `{param.kind.value}{param.name}`"
                out[param.name] = Opaque(text, given=True)
                continue
            if request.opaque:
                out[param.name] = _anything(param.name, defaults.get(param.name, UNBOUND))
                continue
            name = param.name
            if name in hidden:
                name = f"{definition.name}.{name}"  # hidden by a parameter further in
            made = Input(
                name,
                param.span,
                param.annotation,
                defaults.get(param.name),
                param.default is not None,
            )
            hint = guesses.get(param.name, _NO_HINT)
            if name in request.ranks:
                hint = replace(hint, ranks=(request.ranks[name], *hint.ranks))
            out[param.name] = self._declared(made, hint, param.name in signed)
        return out

    def _is_settled(self, name: str) -> bool:
        """Whether a contract says what an input is, and of which rank: nobody asks for hints."""
        pin = self.vm.inputs.pinned.get(name)
        return pin is not None and not (isinstance(pin, TensorPin) and pin.shape is None)

    def _declared(self, made: Input, hint: Hint = _NO_HINT, signed: bool = False) -> object:
        """The value of an input."""
        vm = self.vm
        annotation = vm.text(made.annotation.span) if made.annotation is not None else hint.asserted
        if made.has_default and made.default is None:
            annotation = if_given(annotation)
        make = Word if isinstance(made.default, str) or is_text(annotation) else Parameter
        p = make(
            name=made.name,
            span=made.span,
            default=made.default,
            has_default=made.has_default,
            annotation=annotation,
            hints=hint.ranks,
            first=hint.first,
            pinned=vm.inputs.pinned.get(made.name),
            signed=signed,
        )
        vm.inputs.parameters[made.name] = p
        absent = isinstance(p.pinned, ValuePin) and p.pinned.value is None
        known = None if absent else vm.dialect.parameter(vm, p, made.annotation)
        if known is not None:
            contradictions.address(p)
            return known
        noted = None if made.annotation is None else Noted(made.annotation, vm.frame.module)
        return initial_value(vm, p, noted, hint.sequence)


def _anything(name: str, default: object) -> object:
    """An argument of which nothing is known but that it may be left out."""
    given = Opaque(f"the argument `{name}`")
    if default is not None:
        return given
    absent = E.bool_symbol(absent_name(name))
    return Guarded(((absent, None), (E.not_(absent), given)))


__all__ = ["Decide", "HostCheck", "Request", "Run", "inputs_of", "interpreted"]
