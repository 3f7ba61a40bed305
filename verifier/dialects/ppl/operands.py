"""What the front end of PPL has for a value, and which operators such a value has.

To the front end a value is one of three objects: a constant (a literal, a parameter that it knows,
what is computed of those), a value of the run (what is assigned, and all that comes of it), or an
object of Python as it is (a number of the file, what ``int()`` gives, lists, names of the
language). Operators are methods of the first two classes (``constexpr`` and ``tensor`` in
``language/core.py`` of tpu_ppl 1.6.19), which do not have all that Python has and do not take what
is no object of theirs: there the compilation ends.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from verifier.dialects.ppl import isa, objects, wrapped
from verifier.dialects.ppl.binding_times import Stage
from verifier.dialects.ppl.compiling import (
    is_loop,
    known,
    rejected,
)
from verifier.source import ir
from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.pretty import pretty
from verifier.symbolic.python.heap import UNBOUND
from verifier.symbolic.python.model import Function
from verifier.symbolic.python.terms import as_formula
from verifier.symbolic.python.vm import VM
from verifier.symbolic.tensors import View
from verifier.symbolic.values import (
    ApiRef,
    Ratio,
    Ref,
)

#: what numbers of the front end have
_OF_NUMBERS: Final = frozenset({"value", "to", "type", "dtype", "handle", "shape", "numel"})
#: operators that tensors do not have (there is no ``create_splat`` for a number)
_NO_TENSORS: Final = frozenset({"//", "%", ">=", "<=", "!="})
#: calls of functions of Python: True where it runs on numbers of Python, False where what it
#: does is not followed
AS_PYTHON: Final = "a call of a function of Python"
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
        if objects.is_counted(vm, stmt.test):
            what = "a number as the condition of a `while`"
            _end(vm, E.FALSE, stmt.test.span, what, "compare it with a number")
    elif isinstance(stmt, ir.If):
        _tested(vm, stmt.test)
    elif isinstance(stmt, ir.For) and isinstance(stmt.iterable, ir.Call):
        for bound in stmt.iterable.args:
            if is_loop(vm, stmt, unrolled=True) and objects.is_number(vm, bound):
                what = "a number of Python as a bound of `static_range`"
                _end(vm, E.FALSE, bound.span, what, "wrap it: `pl.constexpr(...)`")


def assigned(vm: VM, stmt: ir.Assign) -> None:
    """What a statement has assigned: values of the device, lists, texts, dtypes, None."""
    target = stmt.targets[0]
    if isinstance(target, ir.TupleExpr):
        if isinstance(stmt.value, ir.ListExpr) or objects.is_list(vm, stmt.value):
            _end(vm, E.FALSE, stmt.value.span, "a list that is taken apart", "use a tuple")
        names = target.elements
    else:
        names = (target,)
    for name in names:
        if not isinstance(name, ir.Name):
            continue
        for guard, value in objects.cases(vm.scope().names.get(name.id, UNBOUND)):
            what = objects.no_value(value)
            if what and guard is not E.FALSE:
                _end(vm, E.not_(guard), stmt.value.span, what, "write it where it is used")
            elif isinstance(value, tuple) and not wrapped.sealed(vm, stmt.value):
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
    if as_formula(value) in (E.TRUE, E.FALSE) or any(objects.is_none(side) for side in sides):
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
        if any(isinstance(case, View) for _, case in objects.cases(value)):
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
        for guard, a in objects.cases(left)
        for also, b in objects.cases(right)
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
                fine = E.FALSE if objects.is_number(vm, part.value) else constant(vm, part.value)
                _end(vm, fine, part.value.span, f"{_run(vm, part.value)} in a text")
    elif isinstance(node, ir.Attribute):
        _read(vm, node)
    elif isinstance(node, ir.Call):
        _call(vm, node)


def _read(vm: VM, node: ir.Attribute) -> None:
    if node.attr == "T" and objects.is_named_tensor(vm, node.value):
        _end(vm, E.FALSE, node.span, "`.T` of a tensor of four dimensions")
    elif objects.is_number_of_front_end(vm, node.value) and node.attr not in _OF_NUMBERS:
        _end(vm, E.FALSE, node.span, f"`.{node.attr}` of a number")
    elif objects.is_number_of_front_end(vm, node.value):
        fixed = constant(vm, node.value)
        fine = fixed if node.attr == "value" else E.not_(fixed)
        which = "what only a run knows" if node.attr == "value" else "a constant"
        _end(vm, fine, node.span, f"`.{node.attr}` of {which}")
    elif node.attr == "shape" and objects.is_named_tensor(vm, node.value):
        rejected(
            vm,
            E.FALSE,
            node.span,
            "the front end knows the shape",
            f"the shape of `{vm.text(node.value.span)}` is one number, 1, to the front end",
            "PPL-C05",
            ("use the sizes that the tensor was made with",),
        )


def _call(vm: VM, node: ir.Call) -> None:
    if not isinstance(node.func, ir.Name):
        judge = _computed if objects.is_of_python(vm, node.func) else _performed
        judge(vm, node)
    elif node.func.id not in vm.scope().local:
        if node.func.id in objects.NUMBERS | _EXTREMES:
            _called(vm, node, node.func.id)
        elif node.func.id == "print":
            _printed(vm, node)
        elif objects.is_helper(vm, node.func):
            _helped(vm, node)


def _binary(vm: VM, op: str, left: ir.Expr, right: ir.Expr, span: Span) -> None:
    one, other = constant(vm, left), constant(vm, right)
    if op == "*" and objects.is_listed(vm, left):
        _end(vm, other, span, f"a list as many times as {_run(vm, right).rstrip(',')}")
        return
    if op == "**":
        _end(vm, E.and_(one, other), span, "a power of what only a run knows", "multiply")
    elif op in ("<<", ">>"):
        shown = "a constant that is shifted by what only a run knows"
        _end(vm, E.or_(E.not_(one), other), span, shown)
    both = E.and_(one, other)
    if op in _NO_TENSORS and (objects.is_tensor(vm, left) or objects.is_tensor(vm, right)):
        _end(vm, E.FALSE, span, f"`{op}` of tensors")
    elif op in ("+", "%") and (objects.is_fraction(vm, left) or objects.is_fraction(vm, right)):
        others = [each for each in (left, right) if not objects.is_fraction(vm, each)]
        if not any(objects.is_view(vm, each) for each in others):
            _end(vm, both, span, f"`{op}` of floats that only a run knows")
    for each, fine in ((left, other), (right, one)):
        if objects.is_beyond(objects.constant_value(vm, each)):
            _end(vm, fine, each.span, f"`{vm.text(each.span)}`, which 64 bits do not hold,")
    _mixed(vm, left, right)


def _item(vm: VM, node: ir.Subscript) -> None:
    """Lists are Python's own to the front end: an index, or a bound of a slice, is a constant."""
    if not objects.is_listed(vm, node.value):
        return
    index = node.index
    if objects.is_dict(vm, node.value):
        if isinstance(index, ir.Const):
            _end(vm, E.FALSE, node.span, "an item of a dict by a constant", "give it a name")
        return
    bounds = (index.lower, index.upper, index.step) if isinstance(index, ir.SliceExpr) else (index,)
    for each in bounds:
        if each is not None and not objects.is_number(vm, each):
            what = f"a list that is indexed by {_run(vm, each).rstrip(',')}"
            help = "use a counter of `static_range` itself: what is assigned is a value of the run"
            _end(vm, constant(vm, each), each.span, what, help)


def _compared(vm: VM, node: ir.Compare) -> None:
    left, right = node.left, node.comparators[0]
    if node.ops[0] in ("==", "!="):
        turned = E.or_(E.not_(constant(vm, left)), constant(vm, right))
        what = f"`{node.ops[0]}` with a constant before what only a run knows"
        _end(vm, turned, node.span, what, "write the constant behind it")
    if node.ops[0] in _NO_TENSORS and (objects.is_tensor(vm, left) or objects.is_tensor(vm, right)):
        _end(vm, E.FALSE, node.span, f"`{node.ops[0]}` of tensors")
    if node.ops[0] not in ("is", "is not"):
        _mixed(vm, left, right)


def _joined(vm: VM, node: ir.BoolOp) -> None:
    """Of values of the run each has to be a truth value; those of Python have no such operator."""
    left, right = node.values
    both = E.and_(constant(vm, left), constant(vm, right))
    for each, other in ((left, right), (right, left)):
        if objects.is_tensor(vm, each):
            _end(vm, E.FALSE, each.span, f"a tensor under `{node.op}`")
        elif objects.is_number(vm, each):
            truth = isinstance(each, ir.Call) and ir.last_name(each.func) == "isinstance"
            fine = E.not_(constant(vm, other)) if truth else E.FALSE
            _end(vm, fine, each.span, f"an object of Python under `{node.op}`")
        elif objects.is_counted(vm, each):
            what = f"a number under `{node.op}` with what only a run knows"
            _end(vm, both, each.span, what, "compare it with a number")


def _unary(vm: VM, node: ir.UnaryOp) -> None:
    inner = node.operand
    if node.op == "+":
        _end(vm, constant(vm, inner), node.span, "`+` before what only a run knows")
    elif node.op == "-" and objects.is_tensor(vm, inner):
        rejected(
            vm,
            E.FALSE,
            node.span,
            "the device negates the tensor",
            "`-` before a tensor turns all its bits: it does not negate it",
            "PPL-C05",
            ("subtract it from 0, or multiply it by -1",),
        )
    elif node.op == "~" and objects.is_tensor(vm, inner):
        value = vm.eval(inner)
        if isinstance(value, View) and value.dtype.among(objects.FLOATS) is E.TRUE:
            _end(vm, E.FALSE, node.span, "`~` before a tensor of floats")
    elif node.op == "not":
        if objects.is_tensor(vm, inner):
            _end(vm, E.FALSE, node.span, "`not` before a tensor")
        elif objects.is_number(vm, inner):
            _end(vm, E.FALSE, node.span, "`not` before a number of Python")
        elif objects.is_counted(vm, inner):
            what = "`not` before a number that only a run knows"
            _end(vm, constant(vm, inner), node.span, what, "compare it with a number")


def _called(vm: VM, node: ir.Call, name: str) -> None:
    if name in objects.NUMBERS:
        given = node.args[0] if node.args else None
        if given is None or objects.is_view(vm, given):
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
    views = [each for each in node.args if objects.is_view(vm, each)]
    if len(node.args) not in (2, 3) or (len(node.args) == 3 and not views):
        _end(vm, E.FALSE, node.span, f"`{name}` of {len(node.args)} numbers", "nest calls of two")
    for each in node.args:
        if objects.is_number(vm, each):
            what = f"`{name}` of a number of Python"
            _end(vm, E.FALSE, each.span, what, "wrap it: `pl.constexpr(...)`")
        elif not views and objects.is_fraction(vm, each):
            _end(vm, E.FALSE, each.span, f"`{name}` of a number that is no integer")


def _performed(vm: VM, node: ir.Call) -> None:
    """Functions that may be called without a destination tell its place by what they are given."""
    numbers = [each for each in node.args if objects.is_number(vm, each)]
    beyond = [each for each in node.args if objects.is_beyond(objects.constant_value(vm, each))]
    if not numbers and not beyond:
        return
    callee = vm.eval(node.func)
    instruction = isa.find(callee.name) if isinstance(callee, ApiRef) else None
    if instruction is not None and beyond:
        _end(vm, E.FALSE, beyond[0].span, "a number that 64 bits do not hold")
    if numbers and instruction is not None and instruction.result is not None:
        what = f"a number of Python as an operand of `{vm.text(node.func.span)}`"
        _end(vm, E.FALSE, numbers[0].span, what, "wrap it: `pl.constexpr(...)`")


def _printed(vm: VM, node: ir.Call) -> None:
    """``print`` takes a text first (``device_print`` in ``language/core.py``)."""
    first = node.args[0] if node.args else None
    value = vm.scope().names.get(first.id) if isinstance(first, ir.Name) else None
    text = isinstance(first, ir.JoinedStr) or (
        isinstance(first, ir.Const) and isinstance(first.value, str) and first.value.isascii()
    )
    if not text and not isinstance(value, str):
        _end(vm, E.FALSE, node.span, "`print` of something else than a text of ASCII first")
    for keyword in node.keywords:
        _end(vm, E.FALSE, keyword.value.span, f"`print` with a keyword `{keyword.name}`")


def _helped(vm: VM, node: ir.Call) -> None:
    """A function of Python runs as it is: on numbers of Python it gives one. What it does with
    constants, which have operators among themselves only, is not followed."""
    given = [*node.args, *(keyword.value for keyword in node.keywords)]
    if all(objects.is_number(vm, each) for each in given):
        vm.memo[AS_PYTHON, node.span] = True
    elif all(constant(vm, each) is E.TRUE for each in given):
        assert isinstance(node.func, ir.Name)
        function = vm.eval(node.func)
        assert isinstance(function, Function)
        if not _has_literals(function.definition):
            vm.memo[AS_PYTHON, node.span] = False


def _has_literals(definition: ir.FunctionDef | ir.LambdaExpr) -> bool:
    """Whether a function has an operator with a number that is written there."""
    body = definition.body if isinstance(definition, ir.FunctionDef) else (definition.body,)
    pairs = [
        (n.left, n.right) if isinstance(n, ir.BinOp) else (n.left, *n.comparators)
        for n in ir.own(body)
        if isinstance(n, (ir.BinOp, ir.Compare))
    ]
    return any(isinstance(each, ir.Const) for pair in pairs for each in pair)


def _computed(vm: VM, node: ir.Call) -> None:
    """A function of a library of Python is given objects of the front end: of constants it takes
    integers (``__index__``), of values of the run nothing."""
    for each in node.args:
        if objects.is_number(vm, each):
            continue
        fine = E.FALSE if objects.is_fraction(vm, each) else constant(vm, each)
        what = f"`{vm.text(node.func.span)}` of what is no integer that is known then"
        _end(vm, fine, each.span, what)


def _mixed(vm: VM, left: ir.Expr, right: ir.Expr) -> None:
    """Numbers of Python have no operators with constants, nor those with them."""
    for number, other in ((left, right), (right, left)):
        if objects.is_number(vm, number) and objects.is_number_of_front_end(vm, other):
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
    if isinstance(test, ir.ListExpr):
        _end(vm, E.FALSE, test.span, "a list as the test of an `if`")
    if what:
        _end(vm, E.not_(constant(vm, test)), test.span, f"{what} as the test of an `if`")


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


__all__ = ["AS_PYTHON", "assigned", "before", "constant", "identical", "parts"]
