"""What the compiler of a kernel knows where the interpreter stands (:mod:`.binding_times`)."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import Final, cast

from msgspec import Struct

from verifier.dialects.ppl import binding_times, names
from verifier.dialects.ppl.binding_times import (
    BindingTimes,
    Hangs,
    Named,
    Source,
    Sources,
    Stage,
    annotated_constant,
)
from verifier.source import ir, nodes
from verifier.source.ir import Span
from verifier.source.project import Module
from verifier.symbolic import expr as E
from verifier.symbolic.checks import Note
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.machine import Arg, Machine
from verifier.symbolic.pretty import pretty
from verifier.symbolic.python import annotated, modules
from verifier.symbolic.python.heap import UNBOUND
from verifier.symbolic.python.inputs import InputKind, Parameter
from verifier.symbolic.python.pins import TensorPin, ValuePin
from verifier.symbolic.python.vm import VM
from verifier.symbolic.values import ApiRef, Guarded, ModuleRef, Opaque

#: files that a name is followed through
_IMPORTS: Final = 8
#: a column behind all that a line holds
_BEHIND: Final = 1_000_000


class Knowledge(Struct, frozen=True):
    """What has to be so for the compiler to know something, and what only a run knows of it."""

    condition: Bool
    open: tuple[str, ...]


def known(vm: VM, span: Span, stage: Stage) -> Knowledge:
    """What is known of the expression at a place of the function that is running."""
    times = _times(vm, len(vm.frames) - 1)
    node = None if times is None else _expression(vm, times.function, span)
    if times is None or node is None:
        return Knowledge(E.FALSE, (vm.text(span),))
    return _knowledge(vm, times.sources(node, stage))


def is_wrapped(vm: VM, span: Span) -> bool:
    """Whether the front end has a ``constexpr`` object, whatever it holds, for the expression at a
    place of the function that is running."""
    times = _times(vm, len(vm.frames) - 1)
    node = None if times is None else _expression(vm, times.function, span)
    return times is not None and node is not None and times.is_wrapped(node)


def is_constant_argument(vm: VM, span: Span) -> bool:
    """Whether an argument is a ``constexpr`` object for certain; of the file's names as well."""
    if is_wrapped(vm, span):
        return known(vm, span, Stage.FRONT_END).condition is E.TRUE
    text = vm.text(span)
    return text.isidentifier() and text not in vm.scope().local and wrapped_global(vm, text)


def _knowledge(vm: VM, sources: Sources) -> Knowledge:
    held = [(source, _holds(vm, source)) for source in sorted(sources, key=_order)]
    missing = [name for (_, name), condition in held if condition is not E.TRUE]
    return Knowledge(E.and_(*(condition for _, condition in held)), tuple(dict.fromkeys(missing)))


def known_before(vm: VM, name: str, span: Span) -> Knowledge:
    """What is known of a name before the statement at a place of the function that is running."""
    times = _times(vm, len(vm.frames) - 1)
    if times is None:
        return Knowledge(E.FALSE, (name,))
    # behind all that stands above the statement, and in the loops around it
    node = ast.Name(name, ast.Load(), lineno=max(span.line - 1, 1), col_offset=_BEHIND)
    return _knowledge(vm, times.sources(node, Stage.FRONT_END))


def rejected(
    vm: VM,
    predicate: Bool,
    span: Span,
    text: str,
    message: str,
    fact: str,
    help: tuple[str, ...] = (),
    *,
    rule: str = "ppl-statement",
    notes: tuple[Note, ...] = (),
) -> None:
    """A check of what the front end compiles, whether a run comes to it or not.

    Only what is behind an ``if`` that it decides itself, and does not take, it does not look at.
    """

    def decided(condition: Bool) -> bool:
        given = {*(symbol.name for symbol in condition.free()), *condition.flags()}
        inputs = [vm.inputs.parameters.get(name) for name in given]
        return all(p is not None and p.constant for p in inputs)

    vm.check(
        rule,
        predicate,
        span,
        text,
        message,
        text_only=decided,
        facts=(fact,),
        help=help,
        notes=notes,
    )


def constant_block(machine: Machine, name: str, given: Arg, memory: tuple[Expr, ...]) -> None:
    """The memory shape of a tensor is made of what is known when the kernel is compiled (B07)."""
    if not isinstance(machine, VM):
        return
    found = known(machine, given.span, Stage.OPTIMISER)
    if found.condition is E.TRUE:
        return
    listed = ", ".join(f"`{each}`" for each in found.open)
    machine.check(
        "ppl-dynamic-block",
        found.condition,
        given.span,
        f"the memory shape of `{name}` is constant",
        f"the memory shape of `{name}` depends on {listed}",
        facts=("PPL-B07",),
        values=tuple((pretty(size), size) for size in memory if not size.is_const),
        help=("annotate block sizes with `pl.constexpr`, and pass the rest as the real shape",),
    )


def _order(source: Source) -> tuple[int, str]:
    return source[0].value, source[1]


def _holds(vm: VM, source: Source) -> Bool:
    how, name = source
    if how is Hangs.ON_ONE:
        return _is_one(vm, vm.inputs.parameters.get(name))
    if how is Hangs.ON_TYPE:
        value = vm.scope().names.get(name)
        number = isinstance(value, (Expr, Bool, int, float, Guarded, Opaque, Parameter))
        return E.truth(not number)
    return E.FALSE


def _is_one(vm: VM, p: Parameter | None) -> Bool:
    """Whether an input is the number 1, with which a kernel is compiled anew (PPL-A02)."""
    if p is None or (isinstance(p.pinned, ValuePin) and type(p.pinned.value) is not int):
        return E.FALSE
    if p.kind is not InputKind.INTEGER and not isinstance(p.pinned, ValuePin):
        return E.FALSE
    if isinstance(p.pinned, TensorPin) and p.pinned.dtype == "bool_":
        return E.FALSE  # of a scalar it is the type
    return E.eq(vm.inputs.integer(p), 1)


# ----------------------------------------------------------------------------------- the text


def _times(vm: VM, position: int) -> BindingTimes | None:
    """What is known in a function that is running; None if its text is not found."""
    frame = vm.frames[position] if position >= 0 else None
    if frame is None or frame.function is None:
        return None
    definition = frame.function.definition
    if not isinstance(definition, ir.FunctionDef):
        return None
    function = _function(vm, frame.module, definition)
    if function is None:
        return None
    if definition.name_span == vm.trace.span:
        key = ("binding times of", definition.name_span)
        if key not in vm.memo:  # it is asked for before each statement
            vm.memo[key] = binding_times.of_kernel(
                function,
                _find(vm, frame.module),
                _named(vm, frame.module),
                postponed=annotated.postponed(frame.module),
            )
        return cast(BindingTimes, vm.memo[key])
    caller = _times(vm, position - 1)
    if caller is None or frame.called is None:
        return None
    call = _expression(vm, caller.function, frame.called)
    return caller.called(function, call) if isinstance(call, ast.Call) else None


def is_constant(vm: VM, module: Module, annotation: Span) -> bool:
    """Whether the annotation of a kernel's parameter says that it is a constant."""
    postponed = annotated.postponed(module)
    return annotated_constant(_parsed(vm, annotation), _named(vm, module), postponed=postponed)


def makes_constant(vm: VM, module: Module, annotation: ir.Expr) -> bool:
    """Whether ``name: annotation = value`` makes a constant: the annotation is evaluated there."""
    value = _value(vm, module, _parsed(vm, annotation.span))
    return isinstance(value, ApiRef) and value.name == f"pl.{binding_times.CONSTANT}"


def is_loop(vm: VM, loop: ir.For, *, unrolled: bool = False) -> bool:
    """Whether a loop is over a range; ``unrolled``: over one that the front end runs."""
    key = ("range of", loop.iterable.span)
    if key not in vm.memo:
        node = _parsed(vm, loop.iterable.span)
        module = vm.frame.module
        kind = ""
        if isinstance(node, ast.Call):
            local = isinstance(node.func, ast.Name) and node.func.id in vm.scope().local
            if not local and binding_times.is_unrolled(node, _named(vm, module)):
                kind = binding_times.UNROLLED
            elif not local and _is_builtin(vm, module, node.func, "range"):
                kind = "range"
        vm.memo[key] = kind
    return vm.memo[key] == binding_times.UNROLLED if unrolled else bool(vm.memo[key])


def _is_builtin(vm: VM, module: Module, node: ast.expr, name: str) -> bool:
    value = _value(vm, module, node)
    if value is UNBOUND:
        return isinstance(node, ast.Name) and node.id == name
    return value is vm.language.builtins[name]


def plain_global(vm: VM, name: str) -> bool:
    """Whether a name of the file is a number that no ``constexpr`` wraps."""
    module = vm.frame.module
    key = ("plain number", module.path, name)
    if key not in vm.memo:
        value = modules.global_value(vm, module, name)
        number = isinstance(value, (bool, int, float)) or (
            isinstance(value, Expr) and value.is_const
        )
        vm.memo[key] = number and _is_plain(*_home(vm, module, name))
    return vm.memo[key] is True


def _home(vm: VM, module: Module, name: str) -> tuple[Sequence[ast.stmt] | None, str]:
    """The statements of the file in which a name gets its value, and its name there; None: that
    of a library."""
    for _ in range(_IMPORTS):
        imported = next(
            (
                (node, alias)
                for node in module.syntax()
                if isinstance(node, ast.ImportFrom)
                for alias in node.names
                if name == (alias.asname or alias.name)
            ),
            None,
        )
        if imported is None:
            break
        node, alias = imported
        found = vm.project.resolve_from(module, node.module or "", node.level, alias.name)
        if found is None or found[1] is None:
            return None, alias.name
        module, name = found[0], found[1]
    return module.syntax(), name


def wrapped_global(vm: VM, name: str) -> bool:
    """Whether a name of the file is a constant: it is bound to ``pl.constexpr(...)`` alone."""
    module = vm.frame.module
    statements, name = _home(vm, module, name)
    bound = list(_bound_in(statements or (), name))
    return bool(bound) and all(
        isinstance(value, ast.Call)
        and isinstance(ref := _value(vm, module, value.func), ApiRef)
        and ref.name == f"pl.{binding_times.CONSTANT}"
        for value in bound
    )


def is_compiled(definition: ir.FunctionDef | ir.LambdaExpr) -> bool:
    """Whether a function is decorated with ``jit``."""
    if not isinstance(definition, ir.FunctionDef):
        return False
    names = (ir.last_name(d.func if isinstance(d, ir.Call) else d) for d in definition.decorators)
    return "jit" in names


def _is_plain(statements: Sequence[ast.stmt] | None, name: str) -> bool:
    """Whether all that a file binds a name to are numbers and what operators make of numbers."""
    if statements is None:
        return True
    bound = list(_bound_in(statements, name))
    kinds = (ast.Constant, ast.BinOp, ast.UnaryOp, ast.operator, ast.unaryop)
    return bool(bound) and all(
        value is not None and all(isinstance(each, kinds) for each in ast.walk(value))
        for value in bound
    )


def _bound_in(statements: Sequence[ast.stmt], name: str) -> Iterator[ast.expr | None]:
    """All that the statements of a file bind a name to."""
    for node in statements:
        if isinstance(node, ast.Assign):
            for target in node.targets:
                yield from _parts(target, node.value, name)
        elif isinstance(node, (ast.AnnAssign, ast.AugAssign)):
            yield from _parts(node.target, node.value, name)


def _parts(target: ast.expr, value: ast.expr | None, name: str) -> Iterator[ast.expr | None]:
    """What an assignment binds a name to; None: a part of what is not written out."""
    if isinstance(target, ast.Name):
        if target.id == name:
            yield value
    elif isinstance(target, (ast.Tuple, ast.List)):
        spread = any(isinstance(n, ast.Starred) for n in ast.walk(target))
        values: Sequence[ast.expr | None] = [None] * len(target.elts)
        if isinstance(value, (ast.Tuple, ast.List)) and not spread:
            values = value.elts if len(value.elts) == len(values) else values
        for each, part in zip(target.elts, values, strict=True):
            yield from _parts(each, part, name)
    elif isinstance(target, ast.Starred):
        yield from _parts(target.value, None, name)


def _named(vm: VM, module: Module) -> Named:
    """The names of the API, by what the names of a module stand for."""

    def named(node: ast.expr) -> ApiRef | None:
        value = _value(vm, module, node)
        return value if isinstance(value, ApiRef) else None

    return named


def _value(vm: VM, module: Module, node: ast.expr) -> object:
    """What a dotted name stands for in a module; None: nothing that has a name."""
    if isinstance(node, ast.Name):
        return modules.global_value(vm, module, node.id)
    if not isinstance(node, ast.Attribute):
        return None
    owner = _value(vm, module, node.value)
    if isinstance(owner, ApiRef):
        return names.attribute(owner, node.attr)
    if isinstance(owner, ModuleRef) and owner.module is not None:
        return modules.global_value(vm, owner.module, node.attr)
    return None


def _find(vm: VM, module: Module) -> binding_times.Find:
    key = ("functions of", module.path)
    if key not in vm.memo:
        vm.memo[key] = binding_times.of_file(module.syntax())
    return cast(binding_times.Find, vm.memo[key])


def _function(vm: VM, module: Module, definition: ir.FunctionDef) -> ast.FunctionDef | None:
    """The syntax tree of a function."""
    key = ("syntax of", definition.name_span)
    if key not in vm.memo:
        vm.memo[key] = next(
            (
                node
                for statement in module.syntax()
                for node in nodes.statements(statement)
                if isinstance(node, ast.FunctionDef)
                and (node.name, node.lineno) == (definition.name, definition.name_span.line)
            ),
            None,
        )
    found = vm.memo[key]
    return found if isinstance(found, ast.FunctionDef) else None


def _expression(vm: VM, function: ast.FunctionDef, span: Span) -> ast.expr | None:
    """The expression at a place of a function."""
    found = _expressions(vm, function).get((span.line, span.column, span.end_line, span.end_column))
    if found is not None:
        return found
    # columns count bytes there, and parentheses are part of an expression here
    try:
        node = _parsed(vm, span)
    except (SyntaxError, ValueError):
        return None
    for inner in ast.walk(node):
        if isinstance(inner, ast.expr):
            inner.lineno, inner.col_offset = span.line, span.column
            inner.end_lineno, inner.end_col_offset = span.end_line, span.end_column
    return node


_Place = tuple[int, int, int | None, int | None]


def _expressions(vm: VM, function: ast.FunctionDef) -> dict[_Place, ast.expr]:
    """The expressions of a function by line and column of their beginnings and ends."""
    key = ("expressions of", function)
    if key not in vm.memo:
        found: dict[_Place, ast.expr] = {}
        for node in nodes.walk(function):
            if isinstance(node, ast.expr):
                ends = (node.end_lineno, node.end_col_offset)
                found.setdefault((node.lineno, node.col_offset, *ends), node)
        vm.memo[key] = found
    return cast(dict[_Place, ast.expr], vm.memo[key])


def _parsed(vm: VM, span: Span) -> ast.expr:
    """The expression at a place of the text."""
    return ast.parse(f"({vm.text(span)})", mode="eval").body


__all__ = [
    "Knowledge",
    "constant_block",
    "is_compiled",
    "is_constant",
    "is_constant_argument",
    "is_loop",
    "is_wrapped",
    "known",
    "known_before",
    "makes_constant",
    "plain_global",
    "rejected",
    "wrapped_global",
]
