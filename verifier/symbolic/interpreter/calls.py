"""Calls: functions of the project are interpreted in place, API calls go to the dialect."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verifier.source import ir
from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.interpreter import (
    arithmetic,
    attributes,
    classes,
    coercions,
    frontend,
    records,
)
from verifier.symbolic.interpreter.heap import UNBOUND, DictBox, Item, ListBox, ObjectBox, Scope
from verifier.symbolic.interpreter.inputs import Parameter
from verifier.symbolic.machine import Arg, Call
from verifier.symbolic.trace import View
from verifier.symbolic.values import (
    ApiRef,
    Builtin,
    Class,
    DeviceLoop,
    Enumerator,
    ExternalRef,
    Function,
    Guarded,
    Opaque,
    Range,
    Ref,
    Register,
)

if TYPE_CHECKING:
    from verifier.symbolic.interpreter.vm import VM

#: calls of a function by itself that are followed, if it is not known where they end
MAX_RECURSION = 3

#: helpers that assert under another name are assumed to when their source is not on disk
_ASSERT_NAMES = ("kernel_assert", "assert_that", "check_assert")


def evaluate(vm: VM, node: ir.Call) -> object:
    """The value of a call expression."""
    hint, vm.target_name = vm.target_name, None
    callee = vm.eval(node.func)
    args: list[Arg] = []
    for arg in node.args:
        if isinstance(arg, ir.Starred):
            items = coercions.as_items(vm, vm.eval(arg.value), arg.span)
            if items is None:
                vm.approximate("opaque", "a starred argument of unknown length", arg.span)
            else:
                args.extend(Arg(item, arg.span) for item in items)
        else:
            args.append(Arg(vm.eval(arg), arg.span))
    keywords: dict[str, Arg] = {}
    for keyword in node.keywords:
        value = vm.eval(keyword.value)
        if keyword.name is not None:
            keywords[keyword.name] = Arg(value, keyword.value.span)
        elif isinstance(value, Ref):
            box = vm.heap.get(value.id)
            if isinstance(box, DictBox):
                for key, entry in box.items.items():
                    keywords[str(key)] = Arg(entry, keyword.value.span)
    vm.target_name = hint
    return call_value(vm, callee, tuple(args), keywords, node.span, vm.text(node.func.span))


def call_value(
    vm: VM, callee: object, args: tuple[Arg, ...], keywords: dict[str, Arg], span: Span, text: str
) -> object:
    """Call any value."""
    if isinstance(callee, Guarded):
        return arithmetic.lift1(vm, callee, lambda c: call_value(vm, c, args, keywords, span, text))
    if isinstance(callee, ApiRef):
        vm.trace.calls += 1
        return _device_call(vm, callee, args, keywords, span, text)
    if isinstance(callee, attributes.Method):
        call = Call(args, keywords, span, text, vm.target_name)
        return callee.call(call)
    if isinstance(callee, Function):
        return call_function(vm, callee, args, keywords, span)
    if isinstance(callee, Builtin):
        return _builtin(vm, callee, args, keywords, span)
    if isinstance(callee, Class):
        return classes.instantiate(vm, callee, args, keywords, span)
    if isinstance(callee, Ref):
        box = vm.heap.get(callee.id)
        if isinstance(box, ObjectBox) and isinstance(box.cls, Class):
            method = classes.method(vm, box.cls, "__call__")
            if isinstance(method, Function):
                return call_function(vm, method, (Arg(callee, span), *args), keywords, span)
    if isinstance(callee, ExternalRef):
        return _external(vm, callee, args, keywords, span)
    if isinstance(callee, Enumerator):
        return Opaque(f"the operator `{callee.name}` called", harmless=True)
    return _unknown(vm, callee, args, keywords, span, text)


def _device_call(
    vm: VM,
    api: ApiRef,
    args: tuple[Arg, ...],
    keywords: dict[str, Arg],
    span: Span,
    text: str,
) -> object:
    """A call of the kernel API; a path-dependent argument makes one call per case."""
    args = tuple(_merged(vm, arg) for arg in args)
    keywords = {name: _merged(vm, arg) for name, arg in keywords.items()}
    for position, arg in enumerate(args):
        value = arg.value
        if isinstance(value, Guarded):

            def one(case: object, position: int = position, arg: Arg = arg) -> object:
                changed = (*args[:position], Arg(case, arg.span), *args[position + 1 :])
                return _device_call(vm, api, changed, keywords, span, text)

            return arithmetic.lift1(vm, value, one)
    for name, arg in keywords.items():
        value = arg.value
        if isinstance(value, Guarded):

            def other(case: object, name: str = name, arg: Arg = arg) -> object:
                return _device_call(
                    vm, api, args, {**keywords, name: Arg(case, arg.span)}, span, text
                )

            return arithmetic.lift1(vm, value, other)
    call = Call(args, keywords, span, text, vm.target_name)
    result = vm.dialect.call(vm, api, call)
    return _device_loop(vm, result) if isinstance(result, DeviceLoop) else result


def _merged(vm: VM, arg: Arg) -> Arg:
    """One record for several that the path chooses from: an operation has one shape then."""
    if not isinstance(arg.value, Guarded):
        return arg
    return Arg(records.merged(vm, arg.value), arg.span)


def _device_loop(vm: VM, loop: DeviceLoop) -> object:
    """Run the body of a loop on the device once, for a fresh index (or register)."""
    from verifier.symbolic.interpreter import loops

    if not isinstance(loop.body, Function):
        vm.approximate("unmodelled", "the body of a device loop is not followed", loop.span)
        return None
    function, body = loop.body, loop.body.definition
    name = body.params[0].name if body.params else "i"
    count = E.fresh("iterations", 0)
    bounds = loop.bounds
    rng = (
        bounds if bounds is not None else Range(E.const(0), count, E.const(1), "dynamic", loop.span)
    )
    index: list[object] = []

    def run() -> str:
        given = index[-1] if bounds is not None else Register(name)
        call_function(vm, function, (Arg(given, loop.span),), {}, loop.span)
        return "normal"

    loops.run(vm, rng, index.append, run, name=name, span=loop.span, exposed=frozenset())
    return None


def _builtin(
    vm: VM, callee: Builtin, args: tuple[Arg, ...], keywords: dict[str, Arg], span: Span
) -> object:
    from verifier.symbolic.interpreter import builtins

    if callee.name in builtins.HOST:
        return builtins.call(vm, callee.name, args, keywords, span)
    values = [arg.value for arg in args]
    values += [arg.value for arg in keywords.values()]
    return callee.call(*values)


def _external(
    vm: VM, callee: ExternalRef, args: tuple[Arg, ...], keywords: dict[str, Arg], span: Span
) -> object:
    from verifier.symbolic.interpreter import builtins

    known = callee.path.startswith(("math.", "copy.", "dataclasses."))
    if known and callee.path in builtins.HOST:
        return builtins.call(vm, callee.path, args, keywords, span)
    last = callee.path.rpartition(".")[2]
    if last in _ASSERT_NAMES and args:
        condition = coercions.truth(vm, args[0].value, span)
        vm.assume(condition, vm.text(args[0].span), args[0].span, "assert")
        return None
    return _unknown(vm, callee, args, keywords, span, callee.path, callee.said)


def _unknown(
    vm: VM,
    callee: object,
    args: tuple[Arg, ...],
    keywords: dict[str, Arg],
    span: Span,
    text: str,
    said: str = "",
) -> object:
    """A call that leads nowhere we can see. With a tensor it may do anything to it.

    ``said`` names the callee in words; without it, ``text`` does.
    """
    if any(_touches_tensor(a.value) for a in (*args, *keywords.values())):
        vm.unmodelled(text or "a call", span)
    harmless = isinstance(callee, Opaque) and callee.harmless
    return Opaque(f"the result of {said or f'`{text}`'}", harmless)


def _touches_tensor(value: object) -> bool:
    if isinstance(value, (View, Function)):
        return True  # a function may be called there
    if isinstance(value, tuple):
        return any(_touches_tensor(item) for item in value)
    return isinstance(value, Parameter) and value.kind == "tensor"


# ------------------------------------------------------------------------ project functions


def call_function(
    vm: VM,
    function: Function,
    args: tuple[Arg, ...],
    keywords: dict[str, Arg],
    span: Span,
) -> object:
    """Interpret a function of the project in place; the value it returns on this path."""
    from verifier.symbolic.interpreter import statements
    from verifier.symbolic.interpreter.loops import rejoin
    from verifier.symbolic.interpreter.vm import MAX_DEPTH, DeadPathError, Frame

    if function.bound_self is not None:
        args = (Arg(function.bound_self, span), *args)
    if vm.depth >= MAX_DEPTH:
        vm.approximate("cap", f"calls nest deeper than {MAX_DEPTH}", span)
        return Opaque("a deeply nested call")
    definition = function.definition
    if _undecided_depth(vm, function) >= MAX_RECURSION:
        name = function.qualname or "a function"
        vm.approximate("cap", f"`{name}` calls itself deeper than is followed", span)
        return Opaque(f"the result of `{name}`, which calls itself")
    if frontend.compiled(vm):
        frontend.enter(vm, function, span)
    scope = Scope(parent=function.closure if isinstance(function.closure, int) else None)
    ref = vm.heap.new(scope)
    frame = Frame(function.module, ref.id, vm.path_length(), function=function)
    vm.frames.append(frame)
    hint, vm.target_name = vm.target_name, None
    vm.depth += 1
    try:
        _bind_arguments(vm, function, args, keywords, span)
        if isinstance(definition, ir.FunctionDef):
            _decorated(vm, definition)
        if isinstance(definition, ir.LambdaExpr):
            return vm.eval(definition.body)
        flow = statements.execute(vm, definition.body)
        if flow == "normal" or frame.returns:
            value = rejoin(vm, frame.returns, flow == "normal")
            vm.cut_path(frame.path_base)
            return value
        vm.cut_path(frame.path_base)
        raise DeadPathError
    finally:
        vm.depth -= 1
        vm.target_name = hint
        vm.frames.pop()
        vm.cut_path(frame.path_base)


def _undecided_depth(vm: VM, function: Function) -> int:
    """How often a function is running already, each time under conditions that are not settled."""
    bases = {f.path_base for f in vm.frames if _same_function(f.function, function)}
    return len(bases - {0})


def _same_function(one: Function | None, other: Function) -> bool:
    return one is not None and one.definition is other.definition


def _decorated(vm: VM, definition: ir.FunctionDef) -> None:
    """A decorator of the project may put anything in the function's place."""
    from verifier.symbolic.interpreter import names

    for decorator in definition.decorators:
        base = decorator.func if isinstance(decorator, ir.Call) else decorator
        root: ir.Expr = base
        while isinstance(root, ir.Attribute):
            root = root.value
        # Names of the class around a method are not in sight from here.
        seen = isinstance(root, ir.Name) and names.known(vm, root.id)
        if not seen or isinstance(vm.eval(base), (Function, Class)):
            text = f"the decorator `{vm.text(base.span)}` of `{definition.name}` is not followed"
            vm.approximate("skipped", text, definition.name_span)


def _bind_arguments(
    vm: VM,
    function: Function,
    args: tuple[Arg, ...],
    keywords: dict[str, Arg],
    span: Span,
) -> None:
    """Bind arguments to parameters as Python does; a mismatch is a violation."""
    from verifier.symbolic.interpreter import statements

    params = function.definition.params
    defaults = dict(function.defaults)
    rest = list(args)
    left = dict(keywords)
    name = function.qualname or "the function"
    for param in params:
        if param.kind == "*":
            value: object = tuple(arg.value for arg in rest)
            rest = []
        elif param.kind == "**":
            box = DictBox({key: arg.value for key, arg in left.items()})
            left = {}
            value = vm.heap.new(box)
        elif rest and param.kind != "keyword":
            value = rest.pop(0).value
            if param.name in left:
                _mismatch(vm, span, f"`{name}` gets `{param.name}` twice")
                del left[param.name]
        elif param.name in left:
            value = left.pop(param.name).value
        elif param.name in defaults:
            value = defaults[param.name]
        elif param.default is not None:
            value = vm.eval(param.default)
        else:
            _mismatch(vm, span, f"`{name}` needs an argument for `{param.name}`")
            value = Opaque(f"the missing argument `{param.name}`")
        statements.bind_name(vm, param.name, value)
    if rest:
        _mismatch(vm, span, f"`{name}` takes {len(params)} arguments, {len(args)} are given")
    for extra in left:
        _mismatch(vm, span, f"`{name}` has no parameter `{extra}`")


def _mismatch(vm: VM, span: Span, message: str) -> None:
    vm.check("call-signature", E.FALSE, span, "arguments fit the parameters", message)
    vm.dies()


__all__ = ["UNBOUND", "Item", "ListBox", "call_function", "call_value", "evaluate"]
