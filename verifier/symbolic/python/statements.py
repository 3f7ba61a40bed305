"""Statements: branching, assertions, exceptions, loops, definitions.

A statement returns if a path goes on behind it and raises :class:`Ended` if none does; paths that
leave it otherwise have landed where they are waited for (:mod:`.flow`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from verifier.source import ir, targets
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Expr
from verifier.symbolic.python import (
    annotated,
    binding,
    classes,
    decorators,
    guesses,
    handlers,
    imports,
    loops,
    names,
    patterns,
    whiles,
)
from verifier.symbolic.python.flow import Ended, Exit, Fault
from verifier.symbolic.python.functions import make_function
from verifier.symbolic.python.heap import UNBOUND
from verifier.symbolic.python.vm import VM
from verifier.symbolic.trace import AssumptionKind, LedgerKind
from verifier.symbolic.values import Opaque


def _expression(vm: VM, stmt: ir.ExprStmt) -> None:
    if not isinstance(stmt.value, ir.Const):
        vm.eval(stmt.value)


def _assign(vm: VM, stmt: ir.Assign) -> None:
    first = stmt.targets[0]
    if len(stmt.targets) == 1:
        _bind_value(vm, first, stmt.value)
        vm.dialect.assigned(vm, stmt)
        return
    value = vm.eval(stmt.value)
    for target in stmt.targets:
        binding.assign(vm, target, value, stmt.value.span)


def _bind_value(vm: VM, target: ir.Expr, node: ir.Expr) -> None:
    parts: tuple[ir.Expr, ...] = (target,)
    nodes: tuple[ir.Expr, ...] = (node,)
    if isinstance(target, ir.TupleExpr) and isinstance(node, ir.TupleExpr):
        whole = not any(isinstance(e, ir.Starred) for e in (*target.elements, *node.elements))
        if whole and len(target.elements) == len(node.elements):
            parts, nodes = target.elements, node.elements
    previous = vm.target_name
    values = []
    for part, each in zip(parts, nodes, strict=True):
        vm.target_name = _name_of(vm, part)
        values.append(vm.eval(each))
    vm.target_name = previous
    for part, value in zip(parts, values, strict=True):
        binding.assign(vm, part, value, node.span)


def _name_of(vm: VM, target: ir.Expr) -> str | None:
    """What a value is called that is bound to a target; the name of a result is its caller's."""
    frame, name = vm.frame, targets.called(target)
    if frame.result_name is None or frame.function is None:
        return name
    definition = frame.function.definition
    if isinstance(definition, ir.LambdaExpr) or targets.returned(definition.body) != name:
        return name
    return frame.result_name


def _annotated(vm: VM, stmt: ir.AnnAssign) -> None:
    if stmt.value is not None:
        _bind_value(vm, stmt.target, stmt.value)
    elif isinstance(stmt.target, (ir.Attribute, ir.Subscript)):
        vm.eval(stmt.target.value)
        if isinstance(stmt.target, ir.Subscript):
            vm.eval(stmt.target.index)
    annotated.of_variable(vm, stmt)
    if stmt.value is not None:
        annotated.of_tile(vm, stmt)


def _if(vm: VM, stmt: ir.If) -> None:
    test = vm.truth(vm.eval(stmt.test), stmt.test.span)
    vm.dialect.branch(vm, stmt, test)
    ended = vm.dialect.region(vm, stmt, False)

    def branch(body: Sequence[ir.Stmt]) -> None:
        vm.exec(body)
        ended(body)

    vm.fork(test, lambda: branch(stmt.body), lambda: branch(stmt.orelse))


def _return(vm: VM, stmt: ir.Return) -> None:
    previous, vm.target_name = vm.target_name, vm.frame.result_name
    value = vm.eval(stmt.value) if stmt.value is not None else None
    vm.target_name = previous
    vm.leave(Exit.RETURN, value, stmt.span)


def _break(vm: VM, stmt: ir.Break) -> None:
    vm.leave(Exit.BREAK)


def _continue(vm: VM, stmt: ir.Continue) -> None:
    vm.leave(Exit.CONTINUE)


def _nothing(vm: VM, stmt: ir.Stmt) -> None:
    return None


def _assert(vm: VM, stmt: ir.Assert) -> None:
    if vm.dialect.drops(vm, stmt):
        return
    value = vm.eval(stmt.test)
    text = vm.text(stmt.test.span)
    if isinstance(value, Opaque):
        if not value.harmless or _about_sizes(vm, stmt.test):
            vm.approximate(LedgerKind.ASSUMPTION, f"`{text}` is not followed", stmt.span)
        return
    condition = vm.truth(value, stmt.test.span)
    _bit_tests(vm, stmt.test, condition)
    if vm.catching:
        _assert_caught(vm, stmt, condition, text)
        return
    if vm.decide(condition) is False:
        guesses.refuted(vm, condition, stmt.span)
        guesses.failed(vm, stmt.span)
    vm.assume(condition, text, _blamed(vm, stmt.test.span), AssumptionKind.ASSERT)
    if condition is E.FALSE:
        raise Ended


def _about_sizes(vm: VM, test: ir.Expr) -> bool:
    """Whether a condition that is not followed may still exclude sizes: ``math.log2(n) > 3``."""
    stack: list[ir.Node] = [test]
    while stack:
        node = stack.pop()
        if isinstance(node, ir.Name) and names.known(vm, node.id):
            value = vm.eval(node)
            if isinstance(value, Expr) and not value.is_const:
                return True
        stack.extend(ir.children(node))
    return False


def _blamed(vm: VM, span: ir.Span) -> ir.Span:
    """Where a demand is made: at the call of a helper that does nothing but demand."""
    frame = vm.frame
    function = frame.function
    if frame.called is None or function is None or isinstance(function.definition, ir.LambdaExpr):
        return span
    body = [
        s
        for s in function.definition.body
        if not (isinstance(s, ir.ExprStmt) and isinstance(s.value, ir.Const))
    ]
    if len(body) == 1 and isinstance(body[0], (ir.Assert, ir.If)) and frame.called.path:
        return frame.called
    return span


def _assert_caught(vm: VM, stmt: ir.Assert, condition: E.Bool, text: str) -> None:
    def fails() -> None:
        args = () if stmt.message is None else (vm.eval(stmt.message),)
        fault = _demand(vm, AssertionError, text, stmt.test.span)
        vm.raised(vm.exception(AssertionError, args), fault)

    vm.fork(condition, lambda: None, fails)


def _demand(vm: VM, error: type[BaseException], text: str, span: ir.Span) -> Fault:
    return Fault(error, text, span, "uncaught-exception", text, demand=True)


def _bit_tests(vm: VM, test: ir.Expr, condition: E.Bool) -> None:
    """``n & 128 == 0`` as a precondition: hardly ever what is meant."""
    if isinstance(test, ir.BoolOp):
        for part in test.values:
            _bit_tests(vm, part, condition)
        return
    if not (isinstance(test, ir.Compare) and test.ops == ("==",)):
        return
    left, right = test.left, test.comparators[0]
    if not (isinstance(left, ir.BinOp) and left.op == "&" and isinstance(right, ir.Const)):
        return
    if not isinstance(left.left, ir.Name) or right.value != 0:
        return
    bit = vm.eval(left.right)
    number = vm.as_int(vm.eval(left.left), left.left.span)
    if not isinstance(bit, Expr) or not bit.is_const or number is None:
        return
    size = bit.const
    if size < 2 or size & (size - 1):
        return
    name = vm.text(left.left.span)
    vm.check(
        "bit-test-divisibility",
        E.eq(number % size, 0),
        test.span,
        f"{name} % {size} == 0",
        f"`{vm.text(test.span)}` tests one bit of `{name}`, not whether it is a multiple of {size}",
        given=(condition,),
        values=((name, number),),
        help=(f"write `{name} % {size} == 0`",),
    )


# ------------------------------------------------------------------------ exceptions


def _raise(vm: VM, stmt: ir.Raise) -> None:
    text = f"not reached: {vm.text(stmt.span)}"
    guesses.failed(vm, stmt.span)
    if not vm.catching and not handlers.in_generator(vm):
        vm.assume(E.FALSE, text, _blamed(vm, stmt.span), AssumptionKind.ASSERT)
        raise Ended
    if stmt.exception is None:
        handlers.reraise(vm, stmt.span)
    exception = vm.eval(stmt.exception)
    cause = UNBOUND if stmt.cause is None else vm.eval(stmt.cause)
    handlers.throw(vm, exception, stmt.span, text, cause)


def _unsupported(vm: VM, stmt: ir.UnsupportedStmt) -> None:
    vm.unfollowed(f"`{stmt.kind}` is not followed", stmt.span)


# ------------------------------------------------------------------------ definitions


def _function(vm: VM, stmt: ir.FunctionDef) -> None:
    if stmt.is_async:
        names.bind(vm, stmt.name, vm.unfollowed("`async def` is not followed", stmt.span))
        return
    waited = vm.awaited
    entered = waited is not None and waited.site is None and waited.definition is stmt
    given = [] if entered else decorators.evaluated(vm, stmt.decorators)
    made = make_function(vm, stmt, stmt.name)
    if vm.importing:
        vm.memo["made", stmt.span] = made
    names.bind(vm, stmt.name, decorators.applied(vm, given, made))
    if entered:
        assert waited is not None
        vm.awaited = None
        waited.enter(made)
        # What the enclosing function does with its kernel is no part of the kernel.
        vm.leave(Exit.RETURN, None, stmt.span)


def _class(vm: VM, stmt: ir.ClassDef) -> None:
    given = decorators.evaluated(vm, stmt.decorators)
    names.bind(vm, stmt.name, decorators.applied(vm, given, classes.define(vm, stmt)))


def _import(vm: VM, stmt: ir.Import | ir.ImportFrom) -> None:
    imports.import_here(vm, stmt, names.bind)


def _delete(vm: VM, stmt: ir.Delete) -> None:
    for target in stmt.targets:
        binding.delete(vm, target)


STATEMENTS: Final[dict[type[ir.Stmt], Callable[[VM, Any], None]]] = {
    ir.Assign: _assign,
    ir.ExprStmt: _expression,
    ir.AugAssign: binding.augmented,
    ir.AnnAssign: _annotated,
    ir.For: loops.for_statement,
    ir.While: whiles.while_statement,
    ir.If: _if,
    ir.Return: _return,
    ir.Assert: _assert,
    ir.Raise: _raise,
    ir.Break: _break,
    ir.Continue: _continue,
    ir.FunctionDef: _function,
    ir.ClassDef: _class,
    ir.With: handlers.with_statement,
    ir.Try: handlers.try_statement,
    ir.Match: patterns.match_statement,
    ir.Import: _import,
    ir.ImportFrom: _import,
    ir.Delete: _delete,
    ir.Pass: _nothing,
    ir.Global: _nothing,
    ir.Nonlocal: _nothing,
    ir.UnsupportedStmt: _unsupported,
}

__all__ = ["STATEMENTS", "UNBOUND"]
