"""Expressions: literals, names, operators, conditionals, displays, calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from verifier.source import ir, targets
from verifier.symbolic import expr as E
from verifier.symbolic.machine import Arg, Call
from verifier.symbolic.python import comprehensions, names, strings, yields
from verifier.symbolic.python.flow import Exit
from verifier.symbolic.python.functions import make_function
from verifier.symbolic.python.heap import UNBOUND, DictBox, ListBox, SetBox
from verifier.symbolic.python.integers import DIVISIONS
from verifier.symbolic.python.model import Class
from verifier.symbolic.python.terms import as_formula, join
from verifier.symbolic.python.vm import VM
from verifier.symbolic.values import Guarded, IndexMask, Opaque, Ref, SliceValue


def _constant(vm: VM, node: ir.Const) -> object:
    value = node.value
    if isinstance(value, int) and not isinstance(value, bool):
        return E.const(value)
    return value


def _binary(vm: VM, node: ir.BinOp) -> object:
    hint, vm.target_name = vm.target_name, None
    left, right = vm.eval(node.left), vm.eval(node.right)
    vm.target_name = hint
    if node.op in DIVISIONS:
        vm.dialect.divides(vm, node, left, right)
    return vm.binary(node.op, left, right, node.span)


def _attribute(vm: VM, node: ir.Attribute) -> object:
    return vm.attribute(vm.eval(node.value), names.mangled(vm, node.attr), node.span)


def _subscript(vm: VM, node: ir.Subscript) -> object:
    owner = vm.eval(node.value)
    return vm.item(owner, vm.eval(node.index), node.span)


def _slice(vm: VM, node: ir.SliceExpr) -> SliceValue:
    parts = [None if p is None else vm.eval(p) for p in (node.lower, node.upper, node.step)]
    return SliceValue(*parts)


def sequence(vm: VM, nodes: tuple[ir.Expr, ...]) -> tuple[object, ...]:
    """The values of a display's or a call's expressions, starred ones expanded."""
    out: list[object] = []
    for node in nodes:
        if not isinstance(node, ir.Starred):
            out.append(vm.eval(node))
            continue
        items = vm.items_of(vm.settled(vm.eval(node.value)), node.span)
        if items is None:
            vm.unfollowed("a starred sequence of unknown length", node.span)
        else:
            out.extend(items)
    return tuple(out)


def _tuple(vm: VM, node: ir.TupleExpr) -> object:
    return sequence(vm, node.elements)


def _list(vm: VM, node: ir.ListExpr) -> object:
    if not any(isinstance(element, ir.Starred) for element in node.elements):
        items = sequence(vm, node.elements)
        return vm.heap.new(ListBox.of(items))
    ref = vm.heap.new(ListBox())
    for element in node.elements:
        if isinstance(element, ir.Starred):
            _entered(vm, ref, "extend", vm.eval(element.value), element.span)
        else:
            _entered(vm, ref, "append", vm.eval(element), element.span)
    return ref


def _entered(vm: VM, ref: Ref, method: str, value: object, span: ir.Span) -> None:
    vm.call(vm.attribute(ref, method, span), (value,), span=span)


def _set(vm: VM, node: ir.SetExpr) -> object:
    ref = vm.heap.new(SetBox())
    if not any(isinstance(element, ir.Starred) for element in node.elements):
        for item in sequence(vm, node.elements):
            comprehensions.add_to_set(vm, ref, item, node.span)
        return ref
    for element in node.elements:
        if isinstance(element, ir.Starred):
            _entered(vm, ref, "update", vm.eval(element.value), element.span)
        else:
            comprehensions.add_to_set(vm, ref, vm.eval(element), node.span)
    return ref


def _dict(vm: VM, node: ir.DictExpr) -> object:
    ref = vm.heap.new(DictBox())
    for key, value in zip(node.keys, node.values, strict=True):
        if key is None:
            update = vm.attribute(ref, "update", node.span)
            vm.call(update, (vm.eval(value),), span=value.span)
            continue
        hint, vm.target_name = vm.target_name, None
        wanted = vm.eval(key)
        vm.target_name = targets.item(hint, key)
        made = vm.eval(value)
        vm.target_name = hint
        vm.set_item(ref, wanted, made, key.span)
    return ref


def _unary(vm: VM, node: ir.UnaryOp) -> object:
    value = vm.eval(node.operand)
    if node.op == "not":
        return value if _undecided(value) else E.not_(vm.truth(value, node.span))
    return vm.unary(node.op, value, node.span)


def _undecided(value: object) -> bool:
    return isinstance(value, Opaque)


#: whether two names are of one object
_IDENTITY: Final = frozenset({"is", "is not"})


def _compare(vm: VM, node: ir.Compare) -> object:
    left = vm.eval(node.left)
    if len(node.ops) == 1:
        value = vm.compare(node.ops[0], left, vm.eval(node.comparators[0]), node.span)
        return vm.dialect.identical(vm, node, value) if node.ops[0] in _IDENTITY else value
    return _chain(vm, node, 0, left)


def _chain(vm: VM, node: ir.Compare, position: int, left: object) -> object:
    """``a < b < c``: what is to the right is evaluated only if what is to the left holds."""
    right = vm.eval(node.comparators[position])
    value = vm.compare(node.ops[position], left, right, node.span)
    if position == len(node.ops) - 1:
        return value
    return _and(vm, value, lambda: _chain(vm, node, position + 1, right), node)


def _and(vm: VM, value: object, rest: Callable[[], object], node: ir.Expr) -> object:
    return _junction(vm, value, rest, node, stops=False)


def _junction(
    vm: VM, value: object, rest: Callable[[], object], node: ir.Expr, *, stops: bool
) -> object:
    """``value and rest`` (``stops`` False) or ``value or rest``."""
    if isinstance(value, IndexMask):
        vm.check(
            "beta1-mask",
            E.FALSE,
            node.span,
            "masks are joined by `&`",
            "`and`, `or` and chained comparisons ask for one truth value of a whole mask",
            facts=("NKI-X64",),
            help=("join the comparisons by `&`, each in parentheses",),
        )
        return vm.binary("|" if stops else "&", value, rest(), node.span)
    if isinstance(value, Opaque) and not value.harmless:
        value = vm.unknown_bool(f"a condition depends on {value.reason}", node.span)
    test = vm.truth(value, node.span)
    go_on = E.not_(test) if stops else test
    result = vm.fork(go_on, rest, lambda: _refined(vm, value))
    if isinstance(result, Guarded) and all(
        as_formula(v) is not None or isinstance(v, Opaque) for _, v in result.cases
    ):
        return _formula(vm, result, node)
    return result


def _formula(vm: VM, value: Guarded, node: ir.Expr) -> object:
    """Truth values on some paths and something that is not followed on others, as one condition."""
    joined: object = E.FALSE
    for guard, item in reversed(value.cases):
        joined = join(guard, vm.truth(item, node.span), joined)
    return joined


def _refined(vm: VM, value: object) -> object:
    return vm.settled(value)


def _bool_op(vm: VM, node: ir.BoolOp) -> object:
    """``and`` / ``or``: the operands themselves matter when they are not truth values."""

    def rest(position: int, value: object) -> object:
        if position == len(node.values):
            return value
        following = node.values[position]
        return _junction(
            vm,
            value,
            lambda: rest(position + 1, vm.eval(following)),
            node.values[position - 1],
            stops=node.op == "or",
        )

    return rest(1, vm.eval(node.values[0]))


def _conditional(vm: VM, node: ir.IfExpr) -> object:
    test = vm.truth(vm.eval(node.test), node.test.span)
    test = vm.dialect.conditional(vm, node, test)
    return vm.fork(test, lambda: vm.eval(node.body), lambda: vm.eval(node.orelse))


def _lambda(vm: VM, node: ir.LambdaExpr) -> object:
    waited = vm.awaited
    if waited is not None and waited.site is None and waited.definition.span == node.span:
        vm.awaited = None
        waited.enter(make_function(vm, waited.definition, waited.definition.name))
        # what the enclosing function does with it is no part of it
        vm.leave(Exit.RETURN, None, node.span)
    return make_function(vm, node, "<lambda>")


def _named(vm: VM, node: ir.NamedExpr) -> object:
    value = vm.eval(node.value)
    assert isinstance(node.target, ir.Name)
    names.bind_outside(vm, node.target.id, value)
    return value


def _starred(vm: VM, node: ir.Starred) -> object:
    return vm.unfollowed("a starred expression is not followed here", node.span)


def _unsupported(vm: VM, node: ir.UnsupportedExpr) -> object:
    return vm.unfollowed(f"`{node.kind}` is not followed", node.span)


# ------------------------------------------------------------------------ calls


def call(vm: VM, node: ir.Call) -> object:
    """The value of a call expression."""
    hint, vm.target_name = vm.target_name, None
    outer, vm.callee = vm.callee, node.func.span
    callee = vm.eval(node.func)
    vm.target_name, vm.callee = hint, outer
    return call_of(vm, node, callee)


def call_of(vm: VM, node: ir.Call, callee: object) -> object:
    """The value of a call expression whose function has been evaluated."""
    hint, vm.target_name = vm.target_name, targets.appended_to(node)
    args = _arguments(vm, node)
    keywords = _keywords(vm, node, hint if isinstance(callee, Class) else None)
    vm.target_name = hint
    made = Call(args, keywords, node.span, vm.text(node.func.span), hint)
    return vm.invoke(callee, made)


def _arguments(vm: VM, node: ir.Call) -> tuple[Arg, ...]:
    args: list[Arg] = []
    for arg in node.args:
        if isinstance(arg, ir.Starred):
            args.extend(Arg(item, arg.span) for item in sequence(vm, (arg,)))
        else:
            args.append(Arg(vm.eval(arg), arg.span))
    return tuple(args)


def _keywords(vm: VM, node: ir.Call, made: str | None) -> Mapping[str, Arg]:
    """The keywords of a call; ``made``: what the instance is called that it makes."""
    keywords: dict[str, Arg] = {}
    for keyword in node.keywords:
        vm.target_name = made and keyword.name and f"{made}.{keyword.name}"
        value = vm.eval(keyword.value)
        if keyword.name is not None:
            _keyword(vm, keywords, keyword.name, Arg(value, keyword.value.span))
            continue
        box = vm.box(vm.settled(value))
        if not isinstance(box, DictBox):
            vm.unfollowed("keywords from something that is no dictionary", keyword.span)
            continue
        for key, item in box.items.items():
            if not isinstance(key, str):
                vm.fault(TypeError, "keywords must be strings", keyword.span)
            elif isinstance(item, Guarded) and any(v is UNBOUND for _, v in item.cases):
                vm.unfollowed("a keyword that is there on some paths only", keyword.span)
            else:
                _keyword(vm, keywords, str(key), Arg(item, keyword.value.span))
    return keywords


def _keyword(vm: VM, keywords: dict[str, Arg], name: str, arg: Arg) -> None:
    if name in keywords:
        message = f"the keyword `{name}` is given twice"
        vm.fault(TypeError, message, arg.span, rule="call-signature")
    keywords[name] = arg


EXPRESSIONS: Final[dict[type[ir.Expr], Callable[[VM, Any], object]]] = {
    ir.Name: names.lookup,
    ir.Const: _constant,
    ir.BinOp: _binary,
    ir.Call: call,
    ir.Attribute: _attribute,
    ir.Subscript: _subscript,
    ir.SliceExpr: _slice,
    ir.TupleExpr: _tuple,
    ir.ListExpr: _list,
    ir.SetExpr: _set,
    ir.DictExpr: _dict,
    ir.UnaryOp: _unary,
    ir.Compare: _compare,
    ir.BoolOp: _bool_op,
    ir.IfExpr: _conditional,
    ir.LambdaExpr: _lambda,
    ir.NamedExpr: _named,
    ir.JoinedStr: strings.joined,
    ir.Comprehension: comprehensions.evaluate,
    ir.Yield: yields.yield_one,
    ir.YieldFrom: yields.yield_from,
    ir.Starred: _starred,
    ir.UnsupportedExpr: _unsupported,
}
