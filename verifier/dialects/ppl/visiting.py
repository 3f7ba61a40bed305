"""What the front end of PPL does with the text of a kernel, statement by statement.

It goes through the syntax tree (``CodeGenerator`` in ``compiler/code_generator.py`` of tpu_ppl
1.6.19). What it has no visitor for, it rejects, also where no run comes to it: only what is behind
an ``if`` that it decides itself and does not take it does not look at. Names it looks for in the
function, in the file and in a short list of built-in functions.
"""

from __future__ import annotations

import builtins
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from msgspec import Struct

from verifier.dialects.ppl import operands, regions
from verifier.dialects.ppl.binding_times import Stage
from verifier.dialects.ppl.compiling import is_loop, known, makes_constant, rejected
from verifier.source import ir
from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.python import modules
from verifier.symbolic.python.heap import UNBOUND
from verifier.symbolic.python.pins import TensorPin
from verifier.symbolic.python.vm import VM
from verifier.symbolic.tensors import Storage, View

#: functions of Python that the front end knows; others are no names to it
BUILTINS: Final = frozenset(
    {"range", "float", "int", "isinstance", "getattr", "print", "min", "max"}
)


#: functions that give a pointer a shape
#: methods that give a part of a tensor
_PARTS: Final = frozenset({"sub_view", "view"})
_DECLARING: Final = frozenset({"gtensor", "make_gtensor_permute"})


class _Fault(Struct, frozen=True):
    """What is rejected, where."""

    span: Span
    what: str
    fact: str = "PPL-C05"
    help: tuple[str, ...] = ()


class Visits:
    """The statements of one kernel and of the functions that it calls."""

    def __init__(self) -> None:
        #: functions that were looked through, and what was told of them
        self._entered: set[Span] = set()
        self._told: set[Span] = set()
        self._names: dict[Span, regions.Lost] = {}
        self._decided: dict[Span, E.Bool] = {}

    def before(self, vm: VM, stmt: ir.Stmt) -> None:
        """A statement that is about to be run."""
        function = vm.frame.function
        if function is None or not isinstance(function.definition, ir.FunctionDef):
            return
        definition = function.definition
        if definition.name_span not in self._entered:
            self._entered.add(definition.name_span)
            self._enter(vm, definition)
        if isinstance(stmt, ir.AnnAssign) and isinstance(stmt.target, ir.Name):
            if stmt.target.id in vm.scope().names:
                _reject(vm, _Fault(stmt.span, "a constant that is bound a second time"))
        for fault in _faults(vm, stmt):
            if fault.span not in self._told:
                _reject(vm, fault)
        operands.before(vm, stmt)
        if isinstance(stmt, ir.If):
            self._branches(vm, definition, stmt)
            self._tell(vm, _compiled(vm, (stmt,)))  # also what no run comes to

    def _tell(self, vm: VM, faults: Iterable[_Fault]) -> None:
        for fault in faults:
            if fault.span not in self._told:
                self._told.add(fault.span)
                _reject(vm, fault)

    def _enter(self, vm: VM, definition: ir.FunctionDef) -> None:
        self._tell(vm, (*_parameters(vm, definition), *_compiled(vm, definition.body)))
        lost = regions.lost(definition, lambda loop: is_loop(vm, loop, unrolled=True))
        self._names[definition.name_span] = lost
        for name in lost.behind_loops:
            rejected(
                vm,
                E.FALSE,
                name.span,
                f"`{name.id}` is bound outside of the loop",
                f"`{name.id}` is bound in a loop only, and not known behind it",
                "PPL-C04",
                ("bind it before the loop as well, to a value of the same type",),
            )

    def _branches(self, vm: VM, definition: ir.FunctionDef, stmt: ir.If) -> None:
        """What one branch alone binds is a name behind it if the front end decides the test."""
        self._decided[stmt.span] = known(vm, stmt.test.span, Stage.FRONT_END).condition
        for name, needed in self._names[definition.name_span].behind_branches:
            for choices in needed:
                if choices[-1] is not stmt:
                    continue
                decided = [self._decided.get(each.span, E.TRUE) for each in choices]
                if E.or_(*decided) is E.TRUE:
                    continue
                rejected(
                    vm,
                    E.or_(*decided),
                    name.span,
                    f"`{name.id}` is bound in both branches",
                    f"`{name.id}` is bound in one branch only, and not known behind it",
                    "PPL-C04",
                    ("bind it before the `if` as well, to a value of the same type",),
                )


def unused(vm: VM, stmt: ir.Assign) -> None:
    """A tensor that is declared for a pointer, and that nothing speaks of behind it."""
    function, call, target = vm.frame.function, stmt.value, stmt.targets[0]
    if function is None or not isinstance(function.definition, ir.FunctionDef):
        return
    if not isinstance(call, ir.Call) or not isinstance(target, ir.Name):
        return
    value = vm.scope().names.get(target.id)
    if not isinstance(value, View) or value.storage.buffer.on_chip or _is_part(call):
        return
    if ir.last_name(call.func) not in _DECLARING and _is_moved(vm, value.storage):
        return
    times = _named(vm, function.definition)
    # (a pointer that another tensor is declared for as well is used through that)
    pointers = [n.id for n in ir.own((call,)) if isinstance(n, ir.Name) and times[n.id] == 1]
    given = {p.name for p in function.definition.params}
    if not _leads_on(vm, function.definition, target.id) and not given.isdisjoint(pointers):
        what = f"`{target.id}` is declared, and nothing is read from it or stored to it"
        help = "read from it or store to it, or leave it out"
        _unused(vm, target.id, target.span, what, help, "error")


def _is_moved(vm: VM, storage: Storage) -> bool:
    """Whether something was read from a tensor or stored to it: by the function that gives it."""
    views = (view for op in vm.trace.operations for _, view in (*op.reads, *op.writes))
    return any(view.storage is storage for view in views)


def _leads_on(vm: VM, definition: ir.FunctionDef, name: str) -> bool:
    """Whether a name is spoken of other than to give it, or a part of it, names of which nothing
    speaks."""
    times = _named(vm, definition)
    left, seen = [name], {name}
    while left:
        at = left.pop()
        inside = 0
        for target, value in _renamed(vm, definition):
            found = sum(isinstance(n, ir.Name) and n.id == at for n in ir.own((value,)))
            inside += found
            if found and target not in seen:
                seen.add(target)
                left.append(target)
        assigned = sum(target == at for target, _ in _renamed(vm, definition))
        if times[at] > inside + (assigned or 1):
            return True
    return False


def _renamed(vm: VM, definition: ir.FunctionDef) -> list[tuple[str, ir.Expr]]:
    """The assignments to a name of another name, or of a part of a tensor."""
    key = ("names for names in", definition.name_span)
    if key not in vm.memo:
        vm.memo[key] = [
            (node.targets[0].id, node.value)
            for node in ir.own(definition.body)
            if isinstance(node, ir.Assign)
            and len(node.targets) == 1
            and isinstance(node.targets[0], ir.Name)
            and _is_part(node.value)
        ]
    found = vm.memo[key]
    assert isinstance(found, list)
    return found


def _is_part(value: ir.Expr) -> bool:
    if isinstance(value, ir.Call):
        function = value.func
        return isinstance(function, ir.Attribute) and function.attr in _PARTS
    return isinstance(value, (ir.Name, ir.Subscript))


def unnamed(vm: VM, definition: ir.FunctionDef) -> None:
    """Tensors that a kernel is given, and that nothing in it speaks of."""
    times = _named(vm, definition)
    for p in definition.params:
        if isinstance(vm.inputs.pinned.get(p.name), TensorPin) and not times[p.name]:
            what = f"the kernel is given `{p.name}`, and does nothing with it"
            help = "read from it or store to it, or leave it out"
            _unused(vm, p.name, p.span, what, help, "warning")


def _named(vm: VM, definition: ir.FunctionDef) -> Counter[str]:
    """How often the body of a function speaks of each name."""
    key = ("names in", definition.name_span)
    if key not in vm.memo:
        vm.memo[key] = Counter(n.id for n in ir.own(definition.body) if isinstance(n, ir.Name))
    times = vm.memo[key]
    assert isinstance(times, Counter)
    return times


def _unused(vm: VM, name: str, span: Span, message: str, help: str, severity: str) -> None:
    vm.check(
        "ppl-unused-tensor",
        E.FALSE,
        span,
        f"`{name}` is read or written",
        message,
        facts=("PPL-A03",),
        help=(help,),
        severity=severity,
    )


def _reject(vm: VM, fault: _Fault) -> None:
    message = f"{fault.what} cannot be compiled in a kernel"
    text = "the front end compiles it"
    rejected(vm, E.FALSE, fault.span, text, message, fault.fact, fault.help)


def _compiled(vm: VM, body: Sequence[ir.Stmt]) -> Iterator[_Fault]:
    """What is wrong with all that is compiled for certain, whatever a run comes to."""
    for stmt in body:
        if not isinstance(stmt, ir.Assert):  # (an assertion that is kept is one that is run)
            yield from _faults(vm, stmt)
        if isinstance(stmt, (ir.For, ir.While)):
            yield from _compiled(vm, stmt.body)
        elif isinstance(stmt, ir.If):
            if known(vm, stmt.test.span, Stage.FRONT_END).condition is E.FALSE:
                yield from _compiled(vm, (*stmt.body, *stmt.orelse))


def _parameters(vm: VM, definition: ir.FunctionDef) -> Iterator[_Fault]:
    """Annotations are looked up as well, and defaults are assignments first."""
    for parameter in definition.params:
        if parameter.annotation is None:
            continue
        yield from _of_names(vm, parameter.annotation)
        constant = makes_constant(vm, vm.frame.module, parameter.annotation)
        if parameter.default is not None and not constant:
            yield _Fault(
                parameter.annotation.span,
                "the default of a parameter with another annotation than `pl.constexpr`",
                help=("leave the annotation out",),
            )


def _faults(vm: VM, stmt: ir.Stmt) -> tuple[_Fault, ...]:
    """What is wrong with a statement itself, and with the expressions in it."""
    key = ("what PPL does not compile", stmt.span)
    if key not in vm.memo:
        vm.memo[key] = tuple(_found(vm, stmt))
    found = vm.memo[key]
    assert isinstance(found, tuple)
    return found


def _found(vm: VM, stmt: ir.Stmt) -> Iterator[_Fault]:
    own = operands.parts(stmt)
    for node in (stmt, *_compiled_nodes(own)):
        what = _unsupported(node)
        if what:
            yield _Fault(node.span, what)
    if isinstance(stmt, ir.AnnAssign) and not makes_constant(vm, vm.frame.module, stmt.annotation):
        help = ("leave the annotation out",)
        what = "an assignment with another annotation than `pl.constexpr`"
        yield _Fault(stmt.annotation.span, what, help=help)
    if isinstance(stmt, (ir.For, ir.While)) and stmt.orelse:
        yield _Fault(stmt.span, "`else` of a loop", "PPL-C04")
    if isinstance(stmt, ir.While) or (
        isinstance(stmt, ir.For) and not is_loop(vm, stmt, unrolled=True)
    ):
        for inner in ir.own(stmt.body):
            if isinstance(inner, ir.Return):
                yield _Fault(stmt.span, "`return` inside a loop")
                break
            if isinstance(inner, ir.AnnAssign):
                yield _Fault(inner.span, "a constant that is bound in a loop")
    if isinstance(stmt, ir.For):
        if not is_loop(vm, stmt):
            what = "a loop over something else than a range"
            yield _Fault(stmt.iterable.span, what, "PPL-C04")
        elif isinstance(stmt.iterable, ir.Call) and stmt.iterable.keywords:
            yield _Fault(
                stmt.iterable.keywords[0].value.span,
                "an argument of a range that is given by name",
                "PPL-C04",
                ("give it by its place: by name it is dropped",),
            )
    for each in own:
        yield from _of_names(vm, each)


def _compiled_nodes(body: Sequence[ir.Node]) -> Iterator[ir.Node]:
    """The nodes below that the front end comes to: of ``a if test else b`` it takes one."""
    for node in body:
        yield node
        if isinstance(node, ir.IfExpr):
            yield from _compiled_nodes((node.test,))
        else:
            yield from _compiled_nodes(tuple(ir.children(node)))


def _of_names(vm: VM, node: ir.Expr) -> Iterator[_Fault]:
    """Built-in functions that the front end does not know."""
    for each in _compiled_nodes((node,)):
        if not isinstance(each, ir.Name) or each.id in BUILTINS or not hasattr(builtins, each.id):
            continue
        if each.id in vm.scope().local:
            continue
        if modules.global_value(vm, vm.frame.module, each.id) is UNBOUND:
            yield _Fault(each.span, f"`{each.id}`, which is no name of the language,", "PPL-A06")


#: what the front end has nothing for, of which the catalogue names the first ones
_UNKNOWN: Final[dict[type[ir.Node], str]] = {
    ir.Break: "`break`",
    ir.Continue: "`continue`",
    ir.With: "`with`",
    ir.Try: "`try`",
    ir.LambdaExpr: "`lambda`",
    ir.Raise: "`raise`",
    ir.ClassDef: "`class`",
    ir.FunctionDef: "a function inside of a function",
    ir.Delete: "`del`",
    ir.DictExpr: "a dictionary",
    ir.SetExpr: "a set",
    ir.Comprehension: "a comprehension",
    ir.Starred: "`*` before a value",
    ir.NamedExpr: "`:=`",
    ir.Yield: "`yield`",
    ir.YieldFrom: "`yield`",
    ir.Global: "`global`",
    ir.Nonlocal: "`nonlocal`",
    ir.Import: "`import`",
    ir.ImportFrom: "`import`",
    ir.Match: "`match`",
}


def _unsupported(node: ir.Node) -> str:
    for kind, text in _UNKNOWN.items():
        if isinstance(node, kind):
            return text
    if isinstance(node, ir.Compare) and node.ops[0] in ("in", "not in"):
        return f"`{node.ops[0]}`"
    if isinstance(node, ir.BinOp) and node.op == "@":
        return "`@`"
    if isinstance(node, ir.Compare) and len(node.ops) > 1:
        return "a chained comparison"
    if isinstance(node, ir.BoolOp) and len(node.values) > 2:
        return f"`{node.op}` of more than two operands"
    if isinstance(node, ir.Assign):
        if len(node.targets) > 1:
            return "an assignment to several targets"
        if isinstance(node.targets[0], ir.Subscript):
            return "an assignment to a subscript"
        if isinstance(node.targets[0], ir.Attribute):
            return "an assignment to an attribute"
        if isinstance(node.targets[0], ir.ListExpr):
            return "an assignment to a list of targets"
        if isinstance(node.targets[0], ir.TupleExpr) and any(
            not isinstance(each, ir.Name) for each in node.targets[0].elements
        ):
            return "an assignment to targets inside of targets"
    if isinstance(node, ir.AugAssign) and not isinstance(node.target, ir.Name):
        return "an augmented assignment to something else than a name"
    return ""


__all__ = ["BUILTINS", "Visits", "unnamed", "unused"]
