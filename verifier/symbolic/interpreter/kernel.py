"""Running one kernel from its parameters to its return: the trace that rules judge."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from verifier.hardware.catalogue import Hardware
from verifier.source import ir
from verifier.source.discovery import Enclosing
from verifier.source.ir import Span
from verifier.source.project import Module, Project
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool
from verifier.symbolic.interpreter import arguments, arithmetic, coercions, frontend, statements
from verifier.symbolic.interpreter.heap import DictBox, Scope
from verifier.symbolic.interpreter.inputs import (
    Inputs,
    Parameter,
    Pinned,
    RankConflictError,
    RankNeededError,
)
from verifier.symbolic.interpreter.loops import rejoin
from verifier.symbolic.interpreter.vm import VM, AbortedRunError, Awaited, Frame, HostCheck
from verifier.symbolic.machine import Dialect
from verifier.symbolic.trace import Trace, View
from verifier.symbolic.values import Function, Guarded, Opaque, PendingAdd, Ref

#: ranks tried for a tensor parameter whose rank nothing settles
FREE_RANKS = (2, 3, 4)
#: checks that fail for certain where a tensor has another number of dimensions than is needed
_RANK_RULES = frozenset(("unpack-mismatch", "slice-bounds", "view-precondition", "list-index"))
#: restarts to learn ranks before the kernel is given up
MAX_RESTARTS = 24
#: runs with ranks that do not fit before they count like others
MAX_UNFIT = 6


@dataclass(frozen=True, slots=True)
class Request:
    """A kernel to run: its definition, and what a contract pins."""

    name: str
    definition: ir.FunctionDef
    module: Module
    #: the functions around a nested kernel, outermost first; their parameters are inputs too
    enclosing: tuple[Enclosing, ...] = ()
    pinned: Mapping[str, Pinned] = field(default_factory=dict)
    grid: tuple[int, ...] | None = None
    #: relations of a contract, over the symbols of its sizes
    conditions: tuple[tuple[Bool, str], ...] = ()

    def names_within(self, depth: int) -> frozenset[str]:
        """The parameters of the definitions inside the enclosing function number ``depth``."""
        inside = [*(e.definition for e in self.enclosing[depth + 1 :]), self.definition]
        return frozenset(p.name for definition in inside for p in definition.params)


@dataclass(slots=True)
class Run:
    """One finished run. ``ranks`` are the choices it depends on; ``ended`` why it stopped early."""

    trace: Trace
    checks: list[HostCheck]
    ranks: dict[str, int]
    ended: tuple[str, Span] | None
    inputs: Inputs
    #: what sequences of returned values could not be seen through
    opaque_return: bool = False
    #: other choices of ranks were left out: what is said holds for this one
    narrowed: bool = False

    #: statements that were interpreted: how far it came
    steps: int = 0

    def misfits(self) -> bool:
        """Whether it fails whatever the sizes, as it does if a rank was chosen wrongly.

        A kernel that looks at the number of dimensions means each of them: nothing misfits then.
        """
        if self.inputs.measured:
            return False
        return any(c.predicate is E.FALSE and c.rule in _RANK_RULES for c in self.checks)


Decide = Callable[[tuple[Bool, ...], Bool], "bool | None"]


def run_all(
    project: Project,
    dialect: Dialect,
    hardware: Hardware,
    api: str,
    request: Request,
    decide: Decide,
    deadline: float | None = None,
) -> list[Run]:
    """The runs that the kernel's open ranks ask for: one, or up to three choices of ranks.

    A choice that contradicts the kernel's assertions is not admitted and left out, and so is one
    with which the kernel could never run (it unpacks or indexes more dimensions than there are)
    if it can with another: that is a demand on the rank, not a fault. A run that goes on after
    ``deadline`` (of ``time.monotonic()``) ends there and says so.
    """
    hinted = _hinted_ranks(request.definition)
    pending: list[dict[str, int]] = [hinted]
    open_ranks: dict[str, None] = {}
    done: list[Run] = []
    refused: list[Run] = []
    unfit: list[Run] = []
    tried: set[tuple[tuple[str, int], ...]] = set()
    fixed: set[str] = set()
    restarts = 0
    while pending and restarts < MAX_RESTARTS and len(done) < len(FREE_RANKS):
        ranks = pending.pop(0)
        key = tuple(sorted(ranks.items()))
        if key in tried:
            continue
        tried.add(key)
        restarts += 1
        try:
            run = _run_once(
                project, dialect, hardware, api, request, decide, ranks, fixed, deadline
            )
            impossible = any(a.condition is E.FALSE for a in run.trace.assumptions)
            if impossible and (open_ranks or ranks):
                refused.append(run)
            elif open_ranks and run.misfits() and len(unfit) < MAX_UNFIT:
                unfit.append(run)
            else:
                done.append(run)
            if impossible and ranks is hinted:
                pending.append({})  # the text's hint contradicts what the kernel asserts
        except RankNeededError as need:
            choices = [r for r in FREE_RANKS if r >= need.at_least] or [need.at_least]
            # tensors whose ranks nothing settles mostly go together: the same rank first
            others = [ranks[n] for n in ranks if n in open_ranks]
            choices.sort(key=lambda rank: rank not in others[:1])
            open_ranks[need.name] = None
            pending[:0] = [{**ranks, need.name: rank} for rank in choices]
        except RankConflictError as conflict:
            other = {**ranks, conflict.name: conflict.rank}
            if tuple(sorted(other.items())) in tried:  # it fits nothing: say what does not fit
                fixed.add(conflict.name)
                tried.discard(key)
                other = ranks
            pending.insert(0, other)
    return _fitting(done, unfit) or refused[:1]


def _fitting(done: list[Run], unfit: list[Run]) -> list[Run]:
    """The runs whose ranks fit; if none does, those that come furthest."""
    if not unfit:
        return done
    furthest = max(run.steps for run in unfit)
    kept = done or [run for run in unfit if run.steps == furthest][: len(FREE_RANKS)]
    for run in kept:
        run.narrowed = len(kept) < len(done) + len(unfit)
    return kept


def _hinted_ranks(definition: ir.FunctionDef) -> dict[str, int]:
    """Ranks that the text shows: ``a, b = x.shape``, else ``x[i, j]``, anywhere in the kernel."""
    names = {p.name for p in definition.params}
    out: dict[str, int] = {}
    indexed: dict[str, int] = {}
    stack: list[ir.Stmt] = list(definition.body)
    while stack:
        stmt = stack.pop(0)
        for name, arity in _subscripts(stmt, names):
            indexed[name] = max(indexed.get(name, 0), arity)
        if isinstance(stmt, ir.Assign) and isinstance(stmt.value, ir.Attribute):
            owner = stmt.value.value
            target = stmt.targets[0]
            if (
                stmt.value.attr == "shape"
                and isinstance(owner, ir.Name)
                and owner.id in names
                and isinstance(target, (ir.TupleExpr, ir.ListExpr))
                and not any(isinstance(e, ir.Starred) for e in target.elements)
            ):
                out.setdefault(owner.id, len(target.elements))
        if isinstance(stmt, (ir.If, ir.For, ir.While)):
            stack.extend((*stmt.body, *stmt.orelse))
    return {**indexed, **out}


def _subscripts(root: ir.Node, names: set[str]) -> list[tuple[str, int]]:
    """``(name, number of indices)`` of each ``name[i, j, ...]`` without an ellipsis in a node."""
    out: list[tuple[str, int]] = []
    stack: list[object] = [root]
    while stack:
        node = stack.pop()
        if isinstance(node, ir.Subscript) and isinstance(node.value, ir.Name):
            index = node.index
            if node.value.id in names and isinstance(index, ir.TupleExpr):
                constants = [e.value for e in index.elements if isinstance(e, ir.Const)]
                if not any(value is None or value is Ellipsis for value in constants):
                    out.append((node.value.id, len(index.elements)))
        if isinstance(node, (tuple, list)):
            stack.extend(node)
        elif isinstance(node, ir.Node) and not isinstance(node, (ir.FunctionDef, ir.ClassDef)):
            stack.extend(
                getattr(node, slot)
                for cls in type(node).__mro__
                for slot in getattr(cls, "__slots__", ())
                if slot != "span"
            )
    return out


def _run_once(
    project: Project,
    dialect: Dialect,
    hardware: Hardware,
    api: str,
    request: Request,
    decide: Decide,
    ranks: dict[str, int],
    fixed: set[str],
    deadline: float | None,
) -> Run:
    definition = request.definition
    trace = Trace(
        kernel=request.name,
        path=str(request.module.path),
        span=definition.name_span,
        api=api,
        dialect=dialect.name,
    )
    inputs = Inputs(ranks=ranks, fixed=frozenset(fixed))
    vm = VM(project, dialect, hardware, api, trace, inputs, decide, request.grid, deadline)
    for condition, text in request.conditions:
        vm.assume(condition, text, definition.name_span, "contract")
    ended: tuple[str, Span] | None = None
    entry = _Entry(vm, request)
    if frontend.compiled(vm):
        frontend.prepare(vm, definition, request.module)
    try:
        entry.start()
        if vm.awaited is not None:
            ended = ("the enclosing function does not come to this kernel", definition.name_span)
    except AbortedRunError as stop:
        trace.dies = True
        ended = (stop.reason, stop.span)
    except RecursionError:
        trace.dies = True
        ended = ("the kernel nests too deeply to interpret", definition.name_span)
    for _, views, _ in trace.returns:
        for view in views:
            view.storage.returned = True
    trace.storages.extend(inputs.storages)
    trace.opaque_return = entry.opaque or ended is not None
    return Run(trace, vm.checks, ranks, ended, inputs, entry.opaque, steps=vm.steps)


class _Entry:
    """The way into a kernel: through the functions around it, each on inputs of its own."""

    def __init__(self, vm: VM, request: Request) -> None:
        self.vm = vm
        self.request = request
        self.opaque = False

    def start(self) -> None:
        """Interpret the outermost definition."""
        outer = [e.definition for e in self.request.enclosing]
        first = [*outer, self.request.definition][0]
        name = first.name if outer else self.request.name
        self._enter(Function(first, self.request.module, qualname=name), 0)

    def _enter(self, function: Function, depth: int) -> None:
        vm, definition = self.vm, function.definition
        assert isinstance(definition, ir.FunctionDef)
        closure = function.closure if isinstance(function.closure, int) else None
        scope = vm.heap.new(Scope(parent=closure))
        frame = Frame(function.module, scope.id, vm.path_length(), function=function)
        vm.frames.append(frame)
        try:
            self._bind_parameters(function, depth)
            inner = [*(e.definition for e in self.request.enclosing), self.request.definition]
            if depth + 1 < len(inner):
                vm.awaited = Awaited(inner[depth + 1], lambda made: self._enter(made, depth + 1))
                statements.execute(vm, definition.body)
                return
            flow = statements.execute(vm, definition.body)
            vm.cut_path(frame.path_base)  # an earlier return knows nothing of what came after it
            for escape in frame.returns:
                with vm.guarded(escape.guard):
                    place = escape.span or definition.name_span
                    views, seen = _returned(vm, escape.value, place)
                    self.opaque = self.opaque or not seen
                    vm.trace.returns.append((vm.path, views, place))
            if flow == "normal" and frame.returns:
                vm.trace.returns.append((vm.path, (), definition.name_span))
            rejoin(vm, frame.returns, flow == "normal")
        finally:
            vm.frames.pop()
            vm.cut_path(frame.path_base)

    def _bind_parameters(self, function: Function, depth: int) -> None:
        vm, request = self.vm, self.request
        definition = function.definition
        assert isinstance(definition, ir.FunctionDef)
        defaults = dict(function.defaults)
        enclosing = request.enclosing[depth] if depth < len(request.enclosing) else None
        structure = arguments.structure_of(vm, definition) if enclosing is None else None
        if structure is not None:
            inputs = arguments.instance(vm, structure, request.pinned, initial_value)
            statements.bind_name(vm, definition.params[0].name, inputs)
            return
        for position, param in enumerate(definition.params):
            if enclosing is not None and enclosing.method and position == 0:
                statements.bind_name(vm, param.name, Opaque(f"the object `{param.name}`"))
                continue
            if param.default is None:
                default = None
            elif param.name in defaults:
                default = defaults[param.name]
            else:
                default = vm.eval(param.default)
            annotation = vm.text(param.annotation.span) if param.annotation is not None else ""
            name = param.name
            if enclosing is not None and name in request.names_within(depth):
                name = f"{definition.name}.{name}"  # hidden by a parameter further in
            p = Parameter(
                name=name,
                span=param.span,
                default=default,
                has_default=param.default is not None,
                annotation=annotation,
                pinned=request.pinned.get(name),
            )
            vm.inputs.parameters[name] = p
            value = arguments.typed(vm, p, param.annotation, initial_value)
            statements.bind_name(vm, param.name, value)


def initial_value(vm: VM, p: Parameter) -> object:
    """What a parameter's name is bound to when the kernel starts."""
    if p.pinned is not None and p.pinned.kind == "value":
        value = p.pinned.value
        if isinstance(value, bool) or value is None or isinstance(value, (str, float)):
            name = coercions.as_dtype(vm, value, p.span) if isinstance(value, str) else None
            return name if name is not None and "dtype" in p.name else value
        if isinstance(value, int):
            return E.const(value)
        if isinstance(value, tuple):
            return tuple(E.const(x) if isinstance(x, int) else x for x in value)
    if p.pinned is not None:
        return p
    if p.has_default and p.default is None:
        absent = E.bool_symbol(f"{p.name} is None")
        return Guarded(((absent, None), (E.not_(absent), p)))
    if isinstance(p.default, (bool, Bool)) or p.annotation == "bool":
        return vm.inputs.flag(p)
    if isinstance(p.default, float) or p.annotation == "float":
        return Opaque(f"the float `{p.name}`", harmless=True)
    if p.annotation == "int":
        return vm.inputs.integer(p)
    return p


def _returned(vm: VM, value: object, span: Span) -> tuple[tuple[View, ...], bool]:
    """The tensors in a returned value, and whether all of it could be seen."""
    views: list[View] = []
    seen = True
    visited: set[int] = set()  # a list may hold itself
    stack = [value]
    while stack:
        item = stack.pop(0)
        if isinstance(item, View):
            views.append(item)
        elif isinstance(item, PendingAdd):
            views.append(item.view)
        elif isinstance(item, tuple):
            stack.extend(item)
        elif isinstance(item, Guarded):
            stack.extend(v for _, v in arithmetic.live_cases(vm, item))
        elif isinstance(item, Ref):
            if item.id in visited:
                continue
            visited.add(item.id)
            box = vm.heap.get(item.id)
            if isinstance(box, DictBox):
                stack.extend(box.items.values())
                continue
            inner = coercions.as_items(vm, item, span)
            if inner is not None:
                stack.extend(inner)
            else:
                seen = False
        elif isinstance(item, Parameter):
            if item.kind in (None, "tensor"):  # what is only handed back is a tensor
                views.append(vm.inputs.tensor(item))
        elif isinstance(item, Opaque):
            seen = False
    return tuple(views), seen
