"""Functions of the project: making them, binding their arguments, running them in place."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from verifier.source import ir
from verifier.source.ir import Span
from verifier.source.scopes import Names, names_of
from verifier.symbolic.machine import Arg, Call
from verifier.symbolic.python import annotated, generators
from verifier.symbolic.python.flow import Frame, Wait
from verifier.symbolic.python.heap import UNBOUND, DictBox, Scope
from verifier.symbolic.python.model import Function
from verifier.symbolic.python.nesting import too_deep
from verifier.symbolic.python.rounds import in_rounds
from verifier.symbolic.python.summaries import summaries_of
from verifier.symbolic.python.vm import VM
from verifier.symbolic.values import Opaque, Ref

#: calls of a function by itself that are followed, if it is not known where they end
MAX_RECURSION = 3


def make_function(
    vm: VM, node: ir.FunctionDef | ir.LambdaExpr, name: str, prefix: str = ""
) -> Function:
    """A function that closes over the running block; its defaults are evaluated now."""
    defaults = tuple((p.name, vm.eval(p.default)) for p in node.params if p.default is not None)
    annotated.of_function(vm, node)
    frame = vm.frame
    scope = vm.scope()
    closure = Ref(frame.scope) if frame.function is not None or scope.skipped else None
    owner = frame.body_of if scope.skipped else None
    if owner is None and frame.function is not None:
        owner = frame.function.owner
    outer = frame.function.qualname + ".<locals>." if frame.function is not None else ""
    if frame.body_of is not None and scope.skipped:
        outer = frame.body_of.name + "."
    return Function(node, frame.module, closure, defaults, prefix or outer + name, owner)


def new_scope(vm: VM, own: Names, parent: int | None, names: dict[str, object]) -> Ref:
    """A scope for a block with these names of its own."""
    return vm.heap.new(
        Scope(
            names,
            parent,
            own.local,
            shared_global=own.declared_global,
            shared_outer=own.declared_nonlocal,
        )
    )


def call_function(vm: VM, function: Function, call: Call) -> object:
    """Interpret a function of the project in place; the value it returns on this path.

    Raises:
        Ended: every way through it raises.
    """
    if function.device and vm.importing:
        return Opaque(f"the result of a launch of `{function.qualname}`")
    given_up = too_deep(vm, call.span, lambda: _is_running(vm, function))
    if given_up is not None:
        return given_up
    if _undecided_depth(vm, function) >= MAX_RECURSION:
        name = function.qualname or "a function"
        return vm.unfollowed(f"`{name}` calls itself deeper than is followed", call.span)
    vm.dialect.enter(vm, function.definition, call.span)
    if vm.at_any_size:
        function = in_rounds(function)
    bound = bind_arguments(vm, function, call.args, call.keywords, call.span)
    if function.definition.is_generator:
        parent = function.closure.id if function.closure is not None else None
        scope = new_scope(vm, names_of(function.definition), parent, bound)
        return generators.of_function(vm, function, scope, call.span)
    summaries = summaries_of(vm)
    repeated = summaries.repeated(vm, function, bound)
    if repeated is None:
        return run_body(vm, function, bound, call.span)
    body = partial(run_body, vm, function, bound, call.span)
    return summaries.call(vm, function, repeated, body)


def run_body(vm: VM, function: Function, bound: dict[str, object], span: Span) -> object:
    """Run a function's body on bound arguments."""
    definition = function.definition
    parent = function.closure.id if function.closure is not None else None
    scope = new_scope(vm, names_of(definition), parent, bound)
    hint, vm.target_name = vm.target_name, None
    frame = Frame(function.module, scope.id, vm.path_length(), function, span, result_name=hint)
    vm.frames.append(frame)
    vm.depth += 1
    try:
        if isinstance(definition, ir.LambdaExpr):
            body = definition.body
            vm.target_name = hint
            return vm.gathered(Wait.CALL, lambda: vm.eval(body), cut=True)
        annotated.of_arguments(vm, definition, bound)
        block = definition.body
        return vm.gathered(Wait.CALL, lambda: vm.exec(block), cut=True)
    finally:
        vm.depth -= 1
        vm.target_name = hint
        vm.frames.pop()


def _is_running(vm: VM, function: Function) -> bool:
    """Whether a call of a function is one that it makes itself."""
    running = (f.function for f in vm.frames if f.function is not None)
    return any(each.definition is function.definition for each in running)


def _undecided_depth(vm: VM, function: Function) -> int:
    """How often a function is running already, each time under conditions that are not settled."""
    bases = {
        f.path_base
        for f in vm.frames
        if f.function is not None and f.function.definition is function.definition
    }
    return len(bases - {0})


# ------------------------------------------------------------------------ arguments


def bind_arguments(
    vm: VM, function: Function, args: tuple[Arg, ...], keywords: Mapping[str, Arg], span: Span
) -> dict[str, object]:
    """What each parameter is bound to, as Python binds them; a mismatch is a fault."""
    return _Binding(vm, function, span).bind(args, keywords)


class _Binding:
    """One call's arguments on their way to the parameters."""

    def __init__(self, vm: VM, function: Function, span: Span) -> None:
        self.vm = vm
        self.function = function
        self.span = span
        self.params = function.definition.params
        self.name = function.qualname or "the function"
        self.out: dict[str, object] = {}

    def bind(self, args: tuple[Arg, ...], keywords: Mapping[str, Arg]) -> dict[str, object]:
        rest = [arg.value for arg in args]
        self._positional(rest, keywords)
        left = self._named(keywords)
        self._defaults()
        gathered = next((p.name for p in self.params if p.kind is ir.ParamKind.DOUBLE_STAR), None)
        if gathered is not None:
            box = DictBox({key: arg.value for key, arg in left.items()})
            self.out[gathered] = self.vm.heap.new(box)
        else:
            for extra in left:
                self._mismatch(f"`{self.name}` has no parameter `{extra}`")
        return self.out

    def _positional(self, rest: list[object], keywords: Mapping[str, Arg]) -> None:
        takes = [
            p
            for p in self.params
            if p.kind in (ir.ParamKind.POSITIONAL_ONLY, ir.ParamKind.POSITIONAL)
        ]
        for param, value in zip(takes, rest, strict=False):
            self.out[param.name] = value
            if param.name in keywords and param.kind is ir.ParamKind.POSITIONAL:
                self._mismatch(f"`{self.name}` gets `{param.name}` twice")
        more = rest[len(takes) :]
        star = next((p.name for p in self.params if p.kind is ir.ParamKind.STAR), None)
        if star is not None:
            self.out[star] = tuple(more)
        elif more:
            self._mismatch(f"`{self.name}` takes {len(takes)} arguments, {len(rest)} are given")

    def _named(self, keywords: Mapping[str, Arg]) -> dict[str, Arg]:
        left = dict(keywords)
        for param in self.params:
            if param.kind in (ir.ParamKind.POSITIONAL, ir.ParamKind.KEYWORD) and param.name in left:
                self.out.setdefault(param.name, left.pop(param.name).value)
        return left

    def _defaults(self) -> None:
        defaults = dict(self.function.defaults)
        for param in self.params:
            if param.name in self.out or param.kind in (
                ir.ParamKind.STAR,
                ir.ParamKind.DOUBLE_STAR,
            ):
                continue
            value = defaults.get(param.name, UNBOUND)
            if value is UNBOUND:
                self._mismatch(f"`{self.name}` needs an argument for `{param.name}`")
                value = Opaque(f"the missing argument `{param.name}`")
            self.out[param.name] = value

    def _mismatch(self, message: str) -> None:
        self.vm.fault(
            TypeError,
            message,
            self.span,
            rule="call-signature",
            text="arguments fit the parameters",
        )
