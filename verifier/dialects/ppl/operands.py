"""What the front end of PPL has for a value, and which operators such a value has.

To the front end a value is one of three objects: a constant (a literal, a parameter that it knows,
what is computed of those), a value of the run (what is assigned, and all that comes of it), or an
object of Python as it is (a number of the file, what ``int()`` gives, lists, names of the
language). Operators are methods of the first two classes (``constexpr`` and ``tensor`` in
``language/core.py`` of tpu_ppl 1.6.19), which do not have all that Python has and do not take what
is no object of theirs: there the compilation ends.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from verifier.dialects.ppl import isa, wrapped
from verifier.dialects.ppl.binding_times import Stage
from verifier.dialects.ppl.compiling import is_loop, known, plain_global, rejected
from verifier.source import ir
from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.pretty import pretty
from verifier.symbolic.python.heap import UNBOUND
from verifier.symbolic.python.inputs import InputKind, Parameter
from verifier.symbolic.python.model import Builtin, Class, Function
from verifier.symbolic.python.terms import as_formula
from verifier.symbolic.python.vm import VM
from verifier.symbolic.tensors import View
from verifier.symbolic.values import ApiRef, Enumerator, Guarded, ModuleRef, Ratio, Ref

#: functions of Python that the front end calls as they are, which gives objects of Python
_NUMBERS: Final = frozenset({"int", "float", "isinstance"})
#: what numbers of the front end have
_OF_NUMBERS: Final = frozenset({"value", "to", "type", "dtype", "handle", "shape", "numel"})
#: those that are functions of the language to it
_EXTREMES: Final = frozenset({"min", "max"})


def parts(stmt: ir.Stmt) -> tuple[ir.Expr, ...]:
    """The expressions of a statement that it evaluates itself."""
    if isinstance(stmt, (ir.Assign, ir.AugAssign, ir.ExprStmt)):
        return (stmt.value,)
    if isinstance(stmt, (ir.AnnAssign, ir.Return)):
        return () if stmt.value is None else (stmt.value,)
    if isinstance(stmt, (ir.If, ir.While)):
        return (stmt.test,)
    if isinstance(stmt, ir.For):
        return (stmt.iterable,)
    return (stmt.test,) if isinstance(stmt, ir.Assert) else ()


def before(vm: VM, stmt: ir.Stmt) -> None:
    """What the operators of a statement are asked, before it is run."""
    for part in parts(stmt):
        if _has_any(vm, part):
            for node in _reached(vm, part):
                _asked(vm, node)
                wrapped.before(vm, node)
    if isinstance(stmt, ir.Return):
        wrapped.returned(vm, stmt)
    elif isinstance(stmt, ir.Assign):
        wrapped.taken_apart(vm, stmt)
    if isinstance(stmt, ir.AugAssign) and isinstance(stmt.target, ir.Name):
        _binary(vm, stmt.op, stmt.target, stmt.value, stmt.span)
    elif isinstance(stmt, ir.While):
        _end(
            vm,
            E.not_(constant(vm, stmt.test)),
            stmt.test.span,
            "a `while` whose condition is known then",
            "use `for` over `pl.static_range`",
        )
    elif isinstance(stmt, ir.If):
        _tested(vm, stmt.test)
    elif isinstance(stmt, ir.For) and isinstance(stmt.iterable, ir.Call):
        for bound in stmt.iterable.args:
            if is_loop(vm, stmt, unrolled=True) and _is_number(vm, bound):
                what = "a number of Python as a bound of `static_range`"
                _end(vm, E.FALSE, bound.span, what, "wrap it: `pl.constexpr(...)`")


def assigned(vm: VM, stmt: ir.Assign) -> None:
    """What a statement has assigned: values of the device, lists, texts, dtypes, None."""
    target = stmt.targets[0]
    if isinstance(target, ir.TupleExpr):
        if isinstance(stmt.value, ir.ListExpr) or _is_list(vm, stmt.value):
            _end(vm, E.FALSE, stmt.value.span, "a list that is taken apart", "use a tuple")
        names = target.elements
    else:
        names = (target,)
    for name in names:
        if not isinstance(name, ir.Name):
            continue
        for guard, value in _cases(vm.scope().names.get(name.id, UNBOUND)):
            what = _no_value(value)
            if what:
                _end(vm, E.not_(guard), stmt.value.span, what, "write it where it is used")
            elif isinstance(value, tuple):
                rejected(
                    vm,
                    E.not_(guard),
                    stmt.value.span,
                    "one value is assigned to one name",
                    f"of this tuple the front end assigns the first item alone to `{name.id}`",
                    "PPL-C05",
                    ("use a list, or as many names",),
                )


def identical(vm: VM, node: ir.Compare, value: object) -> None:
    """``a is b``: what stands for a value of the run is no object that a name of Python has."""
    sides = (node.left, node.comparators[0])
    if as_formula(value) in (E.TRUE, E.FALSE) or any(_is_none(side) for side in sides):
        return
    fine = E.and_(*(constant(vm, side) for side in sides))
    if fine is not E.TRUE:
        rejected(
            vm,
            fine,
            node.span,
            "the front end sees the values that Python has",
            f"`{node.ops[0]}` compares an object of the front end, and no value of the run",
            "PPL-C01",
            ("use `==`",),
        )


def constant(vm: VM, node: ir.Expr) -> Bool:
    """What has to be so for a value to be none of the run."""
    if isinstance(node, ir.Name):
        value = vm.scope().names.get(node.id, UNBOUND)
        if any(isinstance(case, View) for _, case in _cases(value)):
            return E.FALSE
    elif isinstance(node, ir.Compare) and node.ops[0] in ("is", "is not"):
        return E.TRUE
    elif isinstance(node, (ir.BinOp, ir.UnaryOp, ir.BoolOp, ir.Compare)):
        return E.and_(*(constant(vm, each) for each in _operands(node)))
    return known(vm, node.span, Stage.FRONT_END).condition


def divided(vm: VM, node: ir.BinOp | ir.AugAssign, left: object, right: object) -> None:
    """``left // right`` or ``left % right``: of values of the run a division of the device.

    It rounds towards zero (``create_sdiv`` and ``create_srem`` in ``language/semantic.py`` of
    tpu_ppl 1.6.19); the remainder has the sign of what is divided.
    """
    one, other = (
        (node.left, node.right) if isinstance(node, ir.BinOp) else (node.target, node.value)
    )
    alike = [
        E.or_(E.not_(E.and_(guard, also)), _rounds_down(E.lift(a), E.lift(b)))
        for guard, a in _cases(left)
        for also, b in _cases(right)
        if isinstance(a, (int, Expr)) and isinstance(b, (int, Expr))
    ]
    predicate = E.or_(E.and_(constant(vm, one), constant(vm, other)), E.and_(*alike))
    if predicate is E.TRUE:
        return
    text = vm.text(one.span)
    vm.check(
        "ppl-division",
        predicate,
        node.span,
        f"`{text}` is not negative where it is divided",
        f"`{node.op}` rounds towards zero on the device, and down in Python",
        facts=("PPL-C01",),
        values=tuple(
            (pretty(each), each)
            for each in (left, right)
            if isinstance(each, Expr) and not each.is_const
        ),
        help=("add a multiple of the divisor first, or use `pl.cdiv`",),
    )


def _rounds_down(a: Expr, b: Expr) -> Bool:
    """Whether a quotient that is rounded towards zero is rounded down, or not at all."""
    least, _ = E.bounds(b)
    even = E.eq(E.mod(a, b), 0) if least is not None and least > 0 else E.FALSE
    return E.or_(E.and_(E.ge(a, 0), E.ge(b, 0)), even)


# ------------------------------------------------------------------------------- what is asked


def _asked(vm: VM, node: ir.Expr) -> None:
    if isinstance(node, ir.BinOp):
        _binary(vm, node.op, node.left, node.right, node.span)
    elif isinstance(node, ir.Compare) and len(node.ops) == 1:
        _compared(vm, node)
    elif isinstance(node, ir.BoolOp) and len(node.values) == 2:
        _joined(vm, node)
    elif isinstance(node, ir.UnaryOp):
        _unary(vm, node)
    elif isinstance(node, ir.Subscript):
        _item(vm, node)
    elif isinstance(node, ir.JoinedStr):
        for part in node.parts:
            if isinstance(part, ir.FormattedValue):
                fine = E.FALSE if _is_number(vm, part.value) else constant(vm, part.value)
                _end(vm, fine, part.value.span, f"{_run(vm, part.value)} in a text")
    elif isinstance(node, ir.Attribute):
        if _is_wrapped(vm, node.value) and node.attr not in _OF_NUMBERS:
            _end(vm, E.FALSE, node.span, f"`.{node.attr}` of a number")
        elif node.attr == "shape" and _is_named_tensor(vm, node.value):
            rejected(
                vm,
                E.FALSE,
                node.span,
                "the front end knows the shape",
                f"the shape of `{vm.text(node.value.span)}` is one number, 1, to the front end",
                "PPL-C05",
                ("use the sizes that the tensor was made with",),
            )
    elif isinstance(node, ir.Call) and isinstance(node.func, ir.Name):
        if node.func.id in _NUMBERS | _EXTREMES and node.func.id not in vm.scope().local:
            _called(vm, node, node.func.id)
    elif isinstance(node, ir.Call):
        _performed(vm, node)


def _binary(vm: VM, op: str, left: ir.Expr, right: ir.Expr, span: Span) -> None:
    one, other = constant(vm, left), constant(vm, right)
    if op == "*" and _is_listed(vm, left):
        _end(vm, other, span, f"a list as many times as {_run(vm, right).rstrip(',')}")
        return
    if op == "**":
        _end(vm, E.and_(one, other), span, "a power of what only a run knows", "multiply")
    elif op in ("<<", ">>"):
        shown = "a constant that is shifted by what only a run knows"
        _end(vm, E.or_(E.not_(one), other), span, shown)
    _mixed(vm, left, right)


def _item(vm: VM, node: ir.Subscript) -> None:
    """Lists are Python's own to the front end: an index, or a bound of a slice, is a constant."""
    if not _is_listed(vm, node.value):
        return
    index = node.index
    bounds = (index.lower, index.upper, index.step) if isinstance(index, ir.SliceExpr) else (index,)
    for each in bounds:
        if each is not None and not _is_number(vm, each):
            what = f"a list that is indexed by {_run(vm, each).rstrip(',')}"
            help = "use a counter of `static_range` itself: what is assigned is a value of the run"
            _end(vm, constant(vm, each), each.span, what, help)


def _compared(vm: VM, node: ir.Compare) -> None:
    left, right = node.left, node.comparators[0]
    if node.ops[0] in ("==", "!="):
        turned = E.or_(E.not_(constant(vm, left)), constant(vm, right))
        what = f"`{node.ops[0]}` with a constant before what only a run knows"
        _end(vm, turned, node.span, what, "write the constant behind it")
    if node.ops[0] not in ("is", "is not"):
        _mixed(vm, left, right)


def _joined(vm: VM, node: ir.BoolOp) -> None:
    """Of values of the run each has to be a truth value; those of Python have no such operator."""
    left, right = node.values
    both = E.and_(constant(vm, left), constant(vm, right))
    for each, other in ((left, right), (right, left)):
        if _is_number(vm, each):
            truth = isinstance(each, ir.Call) and ir.last_name(each.func) == "isinstance"
            fine = E.not_(constant(vm, other)) if truth else E.FALSE
            _end(vm, fine, each.span, f"an object of Python under `{node.op}`")
        elif _is_counted(vm, each):
            what = f"a number under `{node.op}` with what only a run knows"
            _end(vm, both, each.span, what, "compare it with a number")


def _unary(vm: VM, node: ir.UnaryOp) -> None:
    inner = node.operand
    if node.op == "+":
        _end(vm, constant(vm, inner), node.span, "`+` before what only a run knows")
    elif node.op == "not":
        if _is_number(vm, inner):
            _end(vm, E.FALSE, node.span, "`not` before a number of Python")
        elif _is_counted(vm, inner):
            what = "`not` before a number that only a run knows"
            _end(vm, constant(vm, inner), node.span, what, "compare it with a number")


def _called(vm: VM, node: ir.Call, name: str) -> None:
    if name in _NUMBERS:
        given = node.args[0] if node.args else None
        if given is None or _is_view(vm, given):
            return
        if name != "isinstance":
            what = f"`{name}` of what only a run knows"
            _end(vm, constant(vm, given), node.span, what, "leave it out")
        elif (fine := constant(vm, given)) is not E.TRUE:
            rejected(
                vm,
                fine,
                node.span,
                "the front end sees the number that Python has",
                "`isinstance` of what only a run knows is never true to the front end",
                "PPL-C01",
                ("leave it out: what is assigned, and what a kernel is given, is no `int` to it",),
            )
        return
    for keyword in node.keywords:
        _end(vm, E.FALSE, keyword.value.span, f"an argument of `{name}` that is given by name")
    views = [each for each in node.args if _is_view(vm, each)]
    if len(node.args) not in (2, 3) or (len(node.args) == 3 and not views):
        _end(vm, E.FALSE, node.span, f"`{name}` of {len(node.args)} numbers", "nest calls of two")
    for each in node.args:
        if _is_number(vm, each):
            what = f"`{name}` of a number of Python"
            _end(vm, E.FALSE, each.span, what, "wrap it: `pl.constexpr(...)`")
        elif not views and _is_fraction(vm, each):
            _end(vm, E.FALSE, each.span, f"`{name}` of a number that is no integer")


def _performed(vm: VM, node: ir.Call) -> None:
    """Functions that may be called without a destination tell its place by what they are given."""
    numbers = [each for each in node.args if _is_number(vm, each)]
    if not numbers:
        return
    callee = vm.eval(node.func)
    instruction = isa.find(callee.name) if isinstance(callee, ApiRef) else None
    if instruction is not None and instruction.result is not None:
        what = f"a number of Python as an operand of `{vm.text(node.func.span)}`"
        _end(vm, E.FALSE, numbers[0].span, what, "wrap it: `pl.constexpr(...)`")


def _mixed(vm: VM, left: ir.Expr, right: ir.Expr) -> None:
    """Numbers of Python have no operators with constants, nor those with them."""
    for number, other in ((left, right), (right, left)):
        if _is_number(vm, number) and _is_wrapped(vm, other):
            what = f"`{vm.text(number.span)}`, a number of Python, together with a constant"
            help = "wrap it: `pl.constexpr(...)`, or write the number"
            _end(vm, E.not_(constant(vm, other)), number.span, what, help)


def _tested(vm: VM, test: ir.Expr) -> None:
    """An ``if`` that the front end decides asks for a truth value, an integer or None."""
    value: object = UNBOUND
    if isinstance(test, ir.Const):
        value = test.value
    elif isinstance(test, ir.Name):
        value = vm.eval(test)
    shown = {float: "a float", Ratio: "a float", str: "a text", tuple: "a tuple", Ref: "a list"}
    what = next((text for kind, text in shown.items() if isinstance(value, kind)), "")
    if what:
        _end(vm, E.not_(constant(vm, test)), test.span, f"{what} as the test of an `if`")


# ------------------------------------------------------------------------- what a value is


def _is_number(vm: VM, node: ir.Expr) -> bool:
    """Whether it is a number of Python as it is."""
    if isinstance(node, ir.Name):
        return node.id not in vm.scope().local and plain_global(vm, node.id)
    if isinstance(node, ir.Call) and isinstance(node.func, ir.Name):
        return node.func.id in _NUMBERS and node.func.id not in vm.scope().local
    if isinstance(node, ir.UnaryOp):
        return node.op != "not" and _is_number(vm, node.operand)
    if isinstance(node, ir.BinOp):
        return _is_number(vm, node.left) and _is_number(vm, node.right)
    return False


def _is_wrapped(vm: VM, node: ir.Expr) -> bool:
    """Whether it is a number that is a constant or a value of the run."""
    if isinstance(node, ir.Const):
        return isinstance(node.value, (bool, int, float))
    if isinstance(node, ir.Name):
        values = _cases(vm.scope().names.get(node.id, UNBOUND))
        return all(_type(value) is not None for _, value in values)
    if isinstance(node, ir.UnaryOp):
        return _is_wrapped(vm, node.operand)
    if isinstance(node, ir.BinOp):
        return _is_wrapped(vm, node.left) and _is_wrapped(vm, node.right)
    return False


def _is_counted(vm: VM, node: ir.Expr) -> bool:
    """Whether it is a number, and no truth value, for certain."""
    if isinstance(node, ir.Const):
        return isinstance(node.value, (int, float)) and not isinstance(node.value, bool)
    if isinstance(node, ir.Name):
        types = [_type(value) for _, value in _cases(vm.scope().names.get(node.id, UNBOUND))]
        return all(each in (int, float) for each in types)
    if isinstance(node, ir.BinOp):
        return node.op in ("+", "-", "*", "//", "%") and _is_counted(vm, node.left)
    return isinstance(node, ir.UnaryOp) and node.op == "-" and _is_counted(vm, node.operand)


def _is_fraction(vm: VM, node: ir.Expr) -> bool:
    if isinstance(node, ir.Const):
        return isinstance(node.value, float)
    if isinstance(node, ir.Name):
        values = _cases(vm.scope().names.get(node.id, UNBOUND))
        return all(_type(value) is float for _, value in values)
    return isinstance(node, ir.BinOp) and node.op == "/"


def _is_none(node: ir.Expr) -> bool:
    return isinstance(node, ir.Const) and node.value is None


def _is_view(vm: VM, node: ir.Expr) -> bool:
    """Whether it may be a tensor: names that hold one, and what calls give."""
    if isinstance(node, ir.Name):
        value = vm.scope().names.get(node.id, UNBOUND)
        return any(isinstance(case, View) for _, case in _cases(value))
    return isinstance(node, (ir.Call, ir.Subscript))


def _is_named_tensor(vm: VM, node: ir.Expr) -> bool:
    """Whether it is a tensor, and not one of global memory that no name was given yet."""
    if isinstance(node, ir.Call):
        return ir.last_name(node.func) in ("sub_view", "view", "make_tensor")
    return isinstance(node, ir.Name) and _is_view(vm, node)


def _is_list(vm: VM, node: ir.Expr) -> bool:
    return isinstance(node, ir.Name) and isinstance(vm.scope().names.get(node.id), Ref)


def _is_listed(vm: VM, node: ir.Expr) -> bool:
    """Whether it is a list or a tuple of Python for certain."""
    if isinstance(node, ir.Name):
        local = node.id in vm.scope().local
        value = vm.eval(node) if not local else vm.scope().names.get(node.id, UNBOUND)
        return all(isinstance(each, (Ref, tuple)) for _, each in _cases(value))
    if isinstance(node, ir.Subscript) and isinstance(node.index, ir.Const):
        return _is_listed(vm, node.value) and isinstance(vm.eval(node), (Ref, tuple))
    return isinstance(node, (ir.ListExpr, ir.TupleExpr))


def _type(value: object) -> type | None:
    """Of a number; None: it is none, or nobody knows."""
    if isinstance(value, (bool, Bool)):
        return bool
    if isinstance(value, (int, Expr)):
        return int
    if isinstance(value, (float, Ratio)):
        return float
    if isinstance(value, Parameter):
        return {InputKind.INTEGER: int, InputKind.FLAG: bool}.get(value.kind or InputKind.TENSOR)
    return None


def _no_value(value: object) -> str:
    """What cannot be assigned to a name."""
    if isinstance(value, Enumerator) and value.kind != "dtype":
        return f"`pl.{value.name}` as the value of a name"
    if isinstance(value, (Function, Builtin, Class, ModuleRef, ApiRef)):
        return "a function as the value of a name"
    if isinstance(value, complex) or value is ...:
        return "such a value of a name"
    return ""


def _cases(value: object) -> Sequence[tuple[Bool, object]]:
    return value.cases if isinstance(value, Guarded) else ((E.TRUE, value),)


# ------------------------------------------------------------------------------- the text


def _has_any(vm: VM, part: ir.Expr) -> bool:
    """Whether an expression has operators at all."""
    key = ("operators in", part.span)
    if key not in vm.memo:
        operators = (ir.BinOp, ir.Compare, ir.BoolOp, ir.UnaryOp, ir.Subscript)
        kinds = (*operators, ir.JoinedStr, ir.Call, ir.Attribute)
        vm.memo[key] = any(isinstance(node, kinds) for node in ir.own((part,)))
    return vm.memo[key] is True


def _reached(vm: VM, node: ir.Expr) -> Iterator[ir.Expr]:
    """The expressions that the front end comes to for certain, outer ones first."""
    if isinstance(node, ir.IfExpr):
        yield from _reached(vm, node.test)
        if constant(vm, node.test) is E.FALSE:
            yield from _reached(vm, node.body)
        return
    yield node
    for child in ir.children(node):
        if isinstance(child, ir.Expr):
            yield from _reached(vm, child)
        elif isinstance(child, (ir.Keyword, ir.FormattedValue)):
            yield from _reached(vm, child.value)


def _operands(node: ir.Expr) -> tuple[ir.Expr, ...]:
    if isinstance(node, ir.BinOp):
        return node.left, node.right
    if isinstance(node, ir.UnaryOp):
        return (node.operand,)
    if isinstance(node, ir.BoolOp):
        return node.values
    return (node.left, *node.comparators) if isinstance(node, ir.Compare) else ()


def _run(vm: VM, node: ir.Expr) -> str:
    return f"`{vm.text(node.span)}`, which only a run knows,"


def _end(vm: VM, fine: Bool, span: Span, what: str, help: str = "") -> None:
    if fine is not E.TRUE:
        message = f"{what} cannot be compiled in a kernel"
        text = "the front end compiles it"
        rejected(vm, fine, span, text, message, "PPL-C05", (help,) if help else ())


__all__ = ["assigned", "before", "constant", "identical", "parts"]
