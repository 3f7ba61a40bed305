"""Expressions: literals, names, operators, conditionals, comprehensions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verifier.source import ir
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.interpreter import (
    arithmetic,
    attributes,
    coercions,
    frontend,
    liveness,
    names,
)
from verifier.symbolic.interpreter import heap as H
from verifier.symbolic.interpreter.heap import UNBOUND, DictBox, Item, ListBox
from verifier.symbolic.interpreter.terms import as_formula, join
from verifier.symbolic.values import Function, Guarded, IndexMask, Opaque, SliceValue

if TYPE_CHECKING:
    from verifier.symbolic.interpreter.vm import VM


def evaluate(vm: VM, node: ir.Expr) -> object:
    """The value of an expression."""
    if isinstance(node, ir.Name):
        return names.lookup(vm, node)
    if isinstance(node, ir.Const):
        return _constant(node.value)
    if isinstance(node, ir.BinOp):
        hint, vm.target_name = vm.target_name, None
        left, right = vm.eval(node.left), vm.eval(node.right)
        vm.target_name = hint
        return arithmetic.binary(vm, node.op, left, right, node.span)
    if isinstance(node, ir.Call):
        from verifier.symbolic.interpreter import calls

        return calls.evaluate(vm, node)
    if isinstance(node, ir.Attribute):
        return attributes.get(vm, vm.eval(node.value), node.attr, node.span)
    if isinstance(node, ir.Subscript):
        owner = vm.eval(node.value)
        return attributes.item(vm, owner, index_value(vm, node.index), node.span)
    if isinstance(node, (ir.TupleExpr,)):
        return _sequence(vm, node.elements)
    if isinstance(node, (ir.ListExpr, ir.SetExpr)):
        items = _sequence(vm, node.elements)
        kind = "list" if isinstance(node, ir.ListExpr) else "set"
        return vm.heap.new(ListBox(tuple(Item(x) for x in items), kind))
    if isinstance(node, ir.UnaryOp):
        return _unary(vm, node)
    if isinstance(node, ir.Compare):
        return _compare(vm, node)
    if isinstance(node, ir.BoolOp):
        return _bool_op(vm, node)
    if isinstance(node, ir.IfExpr):
        return _conditional(vm, node)
    if isinstance(node, ir.JoinedStr):
        return _joined(vm, node)
    if isinstance(node, ir.SliceExpr):
        return slice_value(vm, node)
    if isinstance(node, ir.DictExpr):
        return _dict(vm, node)
    if isinstance(node, ir.LambdaExpr):
        defaults = tuple((p.name, vm.eval(p.default)) for p in node.params if p.default is not None)
        return Function(node, vm.frame.module, vm.frame.scope, None, defaults, "<lambda>")
    if isinstance(node, ir.Comprehension):
        return _comprehension(vm, node)
    if isinstance(node, ir.NamedExpr):
        from verifier.symbolic.interpreter import statements

        value = vm.eval(node.value)
        statements.assign(vm, node.target, value, node.span)
        return value
    if isinstance(node, ir.Starred):
        return vm.eval(node.value)
    if isinstance(node, (ir.Yield, ir.YieldFrom)):
        return Opaque("`yield`")
    kind = node.kind if isinstance(node, ir.UnsupportedExpr) else type(node).__name__
    return Opaque(f"`{kind}`")


def _constant(value: object) -> object:
    if isinstance(value, bool) or value is None or value is Ellipsis:
        return value
    if isinstance(value, int):
        return E.const(value)
    if isinstance(value, (float, str)):
        return value
    return Opaque(f"a {type(value).__name__} literal", harmless=True)


def _sequence(vm: VM, nodes: tuple[ir.Expr, ...]) -> tuple[object, ...]:
    out: list[object] = []
    for node in nodes:
        if isinstance(node, ir.Starred):
            items = coercions.as_items(vm, vm.eval(node.value), node.span)
            if items is None:
                vm.approximate("opaque", "a starred sequence of unknown length", node.span)
            else:
                out.extend(items)
        else:
            out.append(vm.eval(node))
    return tuple(out)


def slice_value(vm: VM, node: ir.SliceExpr) -> SliceValue:
    parts = [None if p is None else vm.eval(p) for p in (node.lower, node.upper, node.step)]
    return SliceValue(*parts)


def index_value(vm: VM, node: ir.Expr) -> object:
    """The index of a subscript: one value, or a tuple of values and slices."""
    if isinstance(node, ir.TupleExpr):
        return _sequence(vm, node.elements)
    return vm.eval(node)


def _unary(vm: VM, node: ir.UnaryOp) -> object:
    value = vm.eval(node.operand)
    if node.op == "not":
        if isinstance(value, Opaque):
            return value
        return E.not_(coercions.truth(vm, value, node.span))
    return arithmetic.unary(vm, node.op, value, node.span)


def _compare(vm: VM, node: ir.Compare) -> object:
    left = vm.eval(node.left)
    parts: list[Bool] = []
    for op, right_node in zip(node.ops, node.comparators, strict=True):
        right = vm.eval(right_node)
        result = arithmetic.compare(vm, op, left, right, node.span)
        if len(node.ops) == 1:
            return result
        formula = as_formula(result)
        if formula is None:
            return result
        parts.append(formula)
        left = right
    return E.and_(*parts)


def _bool_op(vm: VM, node: ir.BoolOp) -> object:
    """``and`` / ``or``: the operands themselves matter when they are not truth values."""
    value = vm.eval(node.values[0])
    for position, rest in enumerate(node.values[1:], 1):
        if isinstance(value, IndexMask):
            return Opaque("`and`/`or` on a mask")
        if isinstance(value, Opaque) and not value.harmless:
            value = coercions.unknown_bool(vm, value.reason, node.values[position - 1].span)
        test = coercions.truth(vm, value, node.values[position - 1].span)
        go_on = test if node.op == "and" else E.not_(test)
        known = vm.decide(go_on)
        if known is False:
            return value
        if known is True:
            value = vm.eval(rest)
            continue
        start = vm.heap
        side = start.fork()
        vm.heap = side
        with vm.guarded(go_on):
            other = vm.eval(rest)
        vm.heap = start
        H.merge(start, go_on, side, start.fork(), join)
        if isinstance(other, Opaque) and as_formula(value) is not None:
            if other.harmless:
                other = coercions.unknown_bool(vm, other.reason, rest.span)
            else:
                other = coercions.truth(vm, other, rest.span)
        if isinstance(value, Guarded):
            value = _refine(vm, value, E.not_(go_on))
        value = join(go_on, other, value)
    return value


def _refine(vm: VM, value: Guarded, condition: Bool) -> object:
    """The cases of a value that a condition leaves."""
    with vm.guarded(condition):
        live = arithmetic.live_cases(vm, value)
    if len(live) == 1:
        return live[0][1]
    return Guarded(tuple(live)) if live else value


def _conditional(vm: VM, node: ir.IfExpr) -> object:
    test = coercions.truth(vm, vm.eval(node.test), node.test.span)
    if frontend.compiled(vm) and not frontend.is_constant(vm, test):
        return frontend.conditional(vm, node, test)
    known = vm.decide(test)
    if known is not None:
        return vm.eval(node.body if known else node.orelse)
    start = vm.heap
    then_heap, else_heap = start.fork(), start.fork()
    vm.heap = then_heap
    with vm.guarded(test):
        then = vm.eval(node.body)
    vm.heap = else_heap
    with vm.guarded(E.not_(test)):
        other = vm.eval(node.orelse)
    vm.heap = start
    H.merge(start, test, then_heap, else_heap, join)
    return join(test, then, other)


def _joined(vm: VM, node: ir.JoinedStr) -> object:
    out = []
    for part in node.parts:
        if isinstance(part, str):
            out.append(part)
            continue
        value = vm.eval(part.value)
        if isinstance(value, str):
            out.append(value)
        elif isinstance(value, Expr) and value.is_const:
            out.append(str(value.const))
        else:
            return Opaque("a formatted string", harmless=True)
    return "".join(out)


def _dict(vm: VM, node: ir.DictExpr) -> object:
    box = DictBox()
    for key_node, value_node in zip(node.keys, node.values, strict=True):
        value = vm.eval(value_node)
        if key_node is None:
            continue
        key = attributes.key_of(vm.eval(key_node))
        if key is not None:
            box.items[key] = value
    return vm.heap.new(box)


def _comprehension(vm: VM, node: ir.Comprehension) -> object:
    """A comprehension is the loop that builds it."""
    if len(node.generators) > 3:
        return Opaque("a deeply nested comprehension")
    result = vm.heap.new(DictBox() if node.kind == "dict" else ListBox())
    saved = dict(vm.scope().names)

    def level(depth: int) -> str:
        from verifier.symbolic.interpreter import statements

        if depth == len(node.generators):
            if node.kind == "dict" and node.key is not None:
                key = attributes.key_of(vm.eval(node.key))
                box = vm.heap.write(result.id)
                if isinstance(box, DictBox) and key is not None:
                    box.items[key] = vm.eval(node.element)
            else:
                attributes.append(vm, result, vm.eval(node.element))
            return "normal"
        generator = node.generators[depth]

        def body() -> str:
            for condition in generator.conditions:
                test = coercions.truth(vm, vm.eval(condition), condition.span)
                known = vm.decide(test)
                if known is False:
                    return "normal"
                if known is None:
                    vm.approximate(
                        "skipped", "a comprehension's condition is not followed", condition.span
                    )
            return level(depth + 1)

        return statements.iterate(
            vm,
            vm.eval(generator.iterable),
            lambda value: statements.assign(vm, generator.target, value, generator.span),
            body,
            name="i",
            span=generator.span,
            exposed=frozenset(),
        )

    level(0)
    scope = vm.heap.write(vm.frame.scope)
    assert isinstance(scope, H.Scope)
    for name in liveness.assigned([]) | _bound_by(node):
        old = saved.get(name, UNBOUND)
        if old is UNBOUND:
            scope.names.pop(name, None)
        else:
            scope.names[name] = old
    return result


def _bound_by(node: ir.Comprehension) -> frozenset[str]:
    out: set[str] = set()
    for generator in node.generators:
        stack = [generator.target]
        while stack:
            target = stack.pop()
            if isinstance(target, ir.Name):
                out.add(target.id)
            elif isinstance(target, (ir.TupleExpr, ir.ListExpr)):
                stack.extend(target.elements)
    return frozenset(out)
