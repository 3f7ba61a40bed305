"""Kernels that a front end compiles from their text, and does not run as Python (PPL).

What is written is Python; what the front end makes of some of it is not. Where it makes something
else, the interpreter does what the front end does, and says so. What the front end rejects is
reported at its place.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from verifier.dialects.ppl.binding_times import Stage
from verifier.dialects.ppl.compiling import is_compiled, is_constant, is_loop, known, rejected
from verifier.dialects.ppl.operands import AS_PYTHON
from verifier.source import ir
from verifier.source.ir import Span
from verifier.source.project import Module
from verifier.source.scopes import names_of_module
from verifier.symbolic import expr as E
from verifier.symbolic.checks import Note
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.machine import Arg
from verifier.symbolic.python.vm import VM
from verifier.symbolic.tensors import LoopKind
from verifier.symbolic.trace import LedgerKind
from verifier.symbolic.values import Range

#: methods of lists that change them
_MUTATORS = frozenset({"append", "extend", "insert", "pop", "remove", "clear", "update"})


def prepare(
    vm: VM, definition: ir.FunctionDef, module: Module, constants: Sequence[str]
) -> frozenset[Span]:
    """Before a kernel is entered: which inputs are chosen for it, what the front end rejects.

    Returns the assertions that it drops.
    """
    callback = _tiling(definition)
    if callback is not None:
        chosen = _tried(definition, module, callback)
        vm.trace.chosen = tuple(n for n in constants if chosen is None or n in chosen)
        if vm.trace.chosen:
            listed = ", ".join(f"`{name}`" for name in vm.trace.chosen)
            vm.approximate(
                LedgerKind.RUNTIME,
                f"the tiling callback chooses {listed} so that local memory suffices",
                definition.name_span,
            )
    return scan(vm, definition)


def constants(vm: VM, definition: ir.FunctionDef, module: Module) -> list[str]:
    """The parameters that are constants by their annotations."""
    return [
        p.name
        for p in definition.params
        if p.annotation is not None and is_constant(vm, module, p.annotation.span)
    ]


def enter(vm: VM, definition: ir.FunctionDef, span: Span) -> None:
    """Before a function is called: it has to be compiled as well (PPL-A01), unless it runs on what
    Python has."""
    if is_compiled(definition):
        return
    followed = vm.memo.get((AS_PYTHON, span))
    if followed is not None:
        vm.memo[AS_PYTHON, definition.name_span] = True
        if not followed:
            what = f"what `{definition.name}`, a function of Python, makes of constants is open"
            vm.approximate(LedgerKind.OPAQUE, what, span)
        return
    rejected(
        vm,
        E.FALSE,
        span,
        f"`{definition.name}` is decorated with `ppl.jit`",
        f"`{definition.name}` is a plain Python function: kernels call jit functions only",
        "PPL-A01",
        ("decorate it with `@ppl.jit`",),
        rule="ppl-plain-function",
        notes=(Note(definition.name_span, "defined here"),),
    )


def conditional(vm: VM, node: ir.IfExpr, test: Bool) -> Bool:
    """``a if test else b``: with a test that is not known when compiling, always ``a`` (C01)."""
    settled = known(vm, node.test.span, Stage.FRONT_END).condition
    if vm.decide(settled) is True or _alike(vm, node):
        return test
    vm.check(
        "ppl-conditional-expression",
        E.or_(settled, test),
        node.span,
        f"{vm.text(node.test.span)} (always)",
        "a conditional expression on a run-time value always takes its first alternative",
        facts=("PPL-C01", "PPL-A02"),
        help=("write an `if` statement, or make it arithmetic with `min` and `max`",),
    )
    return E.or_(E.not_(settled), test)


def _alike(vm: VM, node: ir.IfExpr) -> bool:
    """Whether both alternatives are the same, so that it does not matter which is taken."""
    if not (_is_plain(node.body) and _is_plain(node.orelse)):
        return False
    one, other = vm.eval(node.body), vm.eval(node.orelse)
    numbers = isinstance(one, (int, float)) and type(one) is type(other)
    return one is other or (numbers and repr(one) == repr(other))


def _is_plain(node: ir.Expr) -> bool:
    """Whether an expression does nothing and cannot fail."""
    if isinstance(node, ir.BinOp):
        return node.op in ("+", "-", "*") and _is_plain(node.left) and _is_plain(node.right)
    return isinstance(node, (ir.Const, ir.Name))


def backwards(vm: VM, stmt: ir.For, rng: Range) -> None:
    """``range(a, b, step)``: a step below zero is one that the front end knows (C04)."""
    call = stmt.iterable
    if rng.kind is LoopKind.STATIC or not isinstance(call, ir.Call) or len(call.args) < 3:
        return
    step = call.args[2]
    settled = known(vm, step.span, Stage.FRONT_END)
    if settled.condition is E.TRUE:
        return
    vm.check(
        "ppl-statement",
        E.or_(settled.condition, E.gt(rng.step, 0)),
        step.span,
        f"{vm.text(step.span)} > 0",
        "a step that is not known when the kernel is compiled is taken to be positive",
        facts=("PPL-C04", "PPL-A02"),
        values=((vm.text(step.span), rng.step),),
        help=("write the number into the call, or annotate the parameter with `pl.constexpr`",),
    )


def again(vm: VM, stmt: ir.For, rng: Range) -> None:
    """A loop that the front end runs: what it binds as a constant is bound once (C05)."""
    if not is_loop(vm, stmt, unrolled=True):
        return
    once = E.le(E.maximum(rng.stop - rng.start, rng.start - rng.stop), E.absolute(rng.step))
    for inner in _in_each_trip(vm, stmt.body):
        rejected(
            vm,
            once,
            inner.span,
            "the loop binds the constant once",
            "a constant that is bound in each trip of a loop cannot be compiled in a kernel",
            "PPL-C05",
            ("leave the annotation out, or write the value where it is used",),
        )


def _in_each_trip(vm: VM, body: Sequence[ir.Stmt]) -> Iterator[ir.AnnAssign]:
    """Constants that statements bind; under a condition, in which trips is open."""
    for stmt in body:
        if isinstance(stmt, ir.AnnAssign):
            yield stmt
        elif isinstance(stmt, ir.For):
            yield from _in_each_trip(vm, stmt.body)
        elif isinstance(stmt, ir.If):
            for inner in ir.own((*stmt.body, *stmt.orelse)):
                if isinstance(inner, ir.AnnAssign):
                    what = "in which trips a constant is bound is open"
                    vm.approximate(LedgerKind.OPAQUE, what, inner.span)


def settles(vm: VM, argument: Arg, what: str) -> Bool:
    """What has to be so for the front end to know an argument that it has to know."""
    found = known(vm, argument.span, Stage.FRONT_END)
    if found.condition is not E.TRUE:
        listed = ", ".join(f"`{name}`" for name in found.open)
        vm.check(
            "ppl-statement",
            found.condition,
            argument.span,
            f"{what} is known when the kernel is compiled",
            f"{what} hangs on {listed}, which is known in a run only",
            facts=("PPL-A02",),
            help=("a number that is assigned to a name is a value of the run from there on",),
        )
    return found.condition


def guard(vm: VM, stmt: ir.If, test: Bool) -> None:
    """``if n <= 0: pass``: what was meant to keep a core out does nothing."""
    if stmt.orelse or not all(isinstance(inner, ir.Pass) for inner in stmt.body):
        return
    vm.check(
        "ppl-empty-guard",
        E.not_(test),
        stmt.test.span,
        f"not ({vm.text(stmt.test.span)})",
        "the kernel goes on in the case that this `if` singles out",
        facts=("PPL-B09",),
        help=("put what follows under the opposite condition",),
    )


def inner_count(vm: VM, stmt: ir.For, rng: Range) -> tuple[Expr, str] | None:
    """The divisor that a loop over a product takes its counter apart with, and its name.

    ``for k in range(a * b)`` with ``k // b`` and ``k % b``: one of the factors is known to be no
    less than zero, so that both loops run or none does.
    """
    if rng.start is not E.const(0) or rng.step is not E.const(1) or rng.stop.is_const:
        return None
    changed = names_of_module(stmt.body).local
    for node in ir.own(stmt.body):
        right: ir.Expr | None = None
        if isinstance(node, (ir.BinOp,)) and node.op in ("//", "%"):
            right = node.right
        elif isinstance(node, ir.AugAssign) and node.op in ("//", "%"):
            right = node.value
        if not isinstance(right, ir.Name) or right.id in changed:
            continue
        count = vm.scope().names.get(right.id)
        if not isinstance(count, Expr) or count.is_const:
            continue
        outer = E.exact_quotient(rng.stop, count)
        if outer is None or outer.is_const:
            continue
        if vm.decide(E.ge(outer, 0)) is True or vm.decide(E.ge(count, 0)) is True:
            return count, right.id
    return None


# ------------------------------------------------------------------------------ tiling callbacks


def _tiling(definition: ir.FunctionDef) -> ir.Expr | None:
    for decorator in definition.decorators:
        if isinstance(decorator, ir.Call):
            for keyword in decorator.keywords:
                if keyword.name == "tiling" and not _is_none(keyword.value):
                    return keyword.value
    return None


def _is_none(node: ir.Expr) -> bool:
    return isinstance(node, ir.Const) and node.value is None


def _debug(definition: ir.FunctionDef) -> bool:
    """Whether assertions are kept (PPL-C02)."""
    for decorator in definition.decorators:
        if isinstance(decorator, ir.Call):
            for keyword in decorator.keywords:
                value = keyword.value
                if keyword.name == "debug" and isinstance(value, ir.Const):
                    return bool(value.value)
    return False


def _tried(definition: ir.FunctionDef, module: Module, callback: ir.Expr) -> set[str] | None:
    """The parameters that the callback assigns to before it calls; None if it is not followed.

    Its first parameter is the kernel, the others are the kernel's in order; what it passes on to
    the kernel from variables of its own counts as well.
    """
    if not isinstance(callback, ir.Name):
        return None
    found = module.definition(callback.id)
    if not isinstance(found, ir.FunctionDef):
        return None
    own = {p.name: q.name for p, q in zip(found.params[1:], definition.params, strict=False)}
    assigned: set[str] = set()
    local: set[str] = set()
    calls: list[ir.Call] = []
    for node in ir.own(found.body):
        if isinstance(node, ir.Call):
            calls.append(node)
        targets: Sequence[ir.Expr] = ()
        if isinstance(node, ir.Assign):
            targets = node.targets
        elif isinstance(node, (ir.AugAssign, ir.For)):
            targets = (node.target,)
        for target in targets:
            if isinstance(target, ir.Name) and target.id in own:
                assigned.add(own[target.id])
            elif isinstance(target, ir.Name):
                local.add(target.id)
    kernel = found.params[0].name if found.params else ""
    for call in calls:
        if isinstance(call.func, ir.Name) and call.func.id == kernel:
            assigned |= _passed_on(call, definition, local)
    return assigned


def _passed_on(call: ir.Call, definition: ir.FunctionDef, local: set[str]) -> set[str]:
    """The kernel's parameters that a call gives variables of the caller's own."""
    out: set[str] = set()
    for value, param in zip(call.args, definition.params, strict=False):
        if isinstance(value, ir.Starred):
            break
        if isinstance(value, ir.Name) and value.id in local:
            out.add(param.name)
    for keyword in call.keywords:
        value = keyword.value
        if keyword.name and isinstance(value, ir.Name) and value.id in local:
            out.add(keyword.name)
    return out


# ------------------------------------------------------------------------------ what is rejected


def scan(vm: VM, definition: ir.FunctionDef) -> frozenset[Span]:
    """Report the statements and expressions that the front end drops or rejects.

    Returns the assertions that it drops.
    """
    debug, dropped = _debug(definition), set[Span]()
    for node in ir.own(definition.body):
        if isinstance(node, ir.Assert) and not debug:
            dropped.add(node.span)
            vm.check(
                "ppl-dropped-assert",
                E.FALSE,
                node.span,
                "assertions are checked on the device",
                "this assertion is dropped when the kernel is compiled",
                facts=("PPL-C02",),
                help=(
                    "nothing keeps other inputs out: check it before the launch, and say it in a "
                    "contract: `# tilelint: contract (...) where ...`",
                ),
            )
    return frozenset(dropped)


def looped(vm: VM, node: ir.For) -> None:
    """The body of a loop of the device is visited twice; of one that is unrolled, in each trip."""
    if is_loop(vm, node, unrolled=True):
        return
    made: set[str] = set()  # anew in each visit
    for inner in ir.own(node.body):
        if isinstance(inner, ir.Assign):
            made.update(each.id for each in inner.targets if isinstance(each, ir.Name))
        call = inner.value if isinstance(inner, ir.ExprStmt) else None
        if (
            isinstance(call, ir.Call)
            and isinstance(call.func, ir.Attribute)
            and call.func.attr in _MUTATORS
            and isinstance(call.func.value, ir.Name)
            and call.func.value.id not in made
        ):
            vm.check(
                "ppl-loop-side-effect",
                E.FALSE,
                call.span,
                "the loop body has no side effects in Python",
                f"`.{call.func.attr}()` in a loop happens twice, whatever the trip count",
                facts=("PPL-C03",),
                help=("the body is visited twice when it is compiled, not once per iteration",),
            )


__all__ = [
    "again",
    "backwards",
    "conditional",
    "constants",
    "enter",
    "guard",
    "inner_count",
    "looped",
    "prepare",
    "scan",
    "settles",
]
