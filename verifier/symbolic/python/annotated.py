"""Annotations: what is evaluated where a definition stands, for what that does.

What an annotation is worth matters to nobody here; that evaluating it may fail does. What a library
has a say in is taken to be written as the library wants it: nothing of the program's own changes.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from verifier.source import ir
from verifier.source.ir import Span
from verifier.source.project import Module
from verifier.symbolic import expr as E
from verifier.symbolic.pretty import pretty
from verifier.symbolic.python import modules, ranks
from verifier.symbolic.python.heap import UNBOUND, ListBox, Scope
from verifier.symbolic.python.vm import VM
from verifier.symbolic.tensors import View
from verifier.symbolic.values import ApiRef, ExternalRef, Guarded, Opaque

_MISMATCH: Final = "annotation-mismatch"
#: positional-only parameters come after the others that are positional
_EVALUATED = (
    ir.ParamKind.POSITIONAL,
    ir.ParamKind.POSITIONAL_ONLY,
    ir.ParamKind.STAR,
    ir.ParamKind.KEYWORD,
    ir.ParamKind.DOUBLE_STAR,
)


def of_function(vm: VM, node: ir.FunctionDef | ir.LambdaExpr) -> None:
    """Evaluate the annotations of a definition, as CPython does after its defaults."""
    if isinstance(node, ir.LambdaExpr) or postponed(vm.frame.module):
        return
    for kind in _EVALUATED:
        for param in node.params:
            if param.kind is kind and param.annotation is not None:
                _evaluate(vm, param.annotation)
    if node.returns is not None:
        _evaluate(vm, node.returns)


def of_variable(vm: VM, stmt: ir.AnnAssign) -> None:
    """Evaluate the annotation of a variable, after its value; not in functions."""
    if vm.frame.function is not None and vm.frame.body_of is None:
        return
    if not postponed(vm.frame.module):
        _evaluate(vm, stmt.annotation)


def of_tile(vm: VM, stmt: ir.AnnAssign) -> None:
    """Compare the shape in the annotation of a local variable, ``t: nt.tensor[n, m]``, with that of
    its value. Where nobody else compares them, only what is wrong for every input is told, so that
    nothing hangs on a remark."""
    name = stmt.target
    value = _local(vm, name.id) if isinstance(name, ir.Name) else None
    sizes = _shape(stmt.annotation, lambda name: _local(vm, name))
    if not isinstance(name, ir.Name) or not isinstance(value, View) or sizes is None:
        return
    # the ranks of inputs, and of what is made of them, may only be assumed
    if len(sizes) == value.rank:
        compared = vm.dialect.compares_annotations(vm)
        facts = ("NKI-L73", "NKI-E06") if compared else ()
        span = stmt.annotation.span
        _compared(vm, name.id, span, sizes, value.shape, compared, "warning", facts)


def of_inputs(vm: VM, definition: ir.FunctionDef) -> None:
    """What the kernel and its contract settle of its inputs beside the shapes that it declares."""
    for param in definition.params:
        p, wanted = vm.inputs.parameters.get(param.name), param.annotation
        sizes = _shape(wanted, lambda name: _global(vm, name))
        if p is None or wanted is None or sizes is None:
            continue
        rank = ranks.known(vm, p)
        if rank is not None and rank != len(sizes):
            said = ", ".join(map(pretty, sizes))
            vm.check(
                _MISMATCH,
                E.FALSE,
                wanted.span,
                f"the shape of {p.name} == ({said})",
                f"`{p.name}` is annotated as ({said}) and has {rank} dimensions",
                facts=("NKI-L73",),
            )
        elif len(sizes) in p.views:
            shape = p.views[len(sizes)].shape
            _compared(vm, p.name, wanted.span, sizes, shape, False, None, ("NKI-L73",))


def of_arguments(vm: VM, definition: ir.FunctionDef, bound: Mapping[str, object]) -> None:
    """The tiles that a function is given beside the shapes that it declares."""
    for param in definition.params:
        value = bound.get(param.name)
        if not isinstance(param.annotation, ir.Subscript) or not isinstance(value, View):
            continue
        sizes = _shape(param.annotation, lambda name: _global(vm, name))
        if sizes is not None and len(sizes) == value.rank:
            span = param.annotation.span
            _compared(vm, param.name, span, sizes, value.shape, False, "warning")


def _shape(wanted: ir.Expr | None, named: Callable[[str], object]) -> tuple[E.Expr, ...] | None:
    """The shape in ``nt.tensor[n, m]``; None: it is no such annotation, or not known."""
    if not isinstance(wanted, ir.Subscript):
        return None
    owner, index = wanted.value, wanted.index
    kind = owner.attr if isinstance(owner, ir.Attribute) else getattr(owner, "id", "")
    items = index.elements if isinstance(index, ir.TupleExpr) else (index,)
    sizes = [_size(item, named) for item in items] if kind == "tensor" else [None]
    return tuple(size for size in sizes if size is not None) if None not in sizes else None


def _compared(
    vm: VM,
    name: str,
    span: Span,
    sizes: Sequence[E.Expr],
    shape: Sequence[E.Expr],
    compared: bool,
    severity: str | None,
    facts: tuple[str, ...] = (),
) -> None:
    """``compared``: the front end compares them, too."""
    equal = [E.eq(a, b) for a, b in zip(sizes, shape, strict=True)]
    if not compared and all(vm.decide(one) is not False for one in equal):
        return
    said, found = (", ".join(map(pretty, each)) for each in (sizes, shape))
    vm.check(
        _MISMATCH,
        E.and_(*equal) if compared else E.FALSE,
        span,
        f"the shape of {name} == ({said})",
        f"`{name}` is annotated as ({said}) and is ({found})",
        values=tuple((f"{name}.shape[{k}]", size) for k, size in enumerate(shape)),
        facts=facts,
        severity=None if compared else severity,
    )


def _size(node: ir.Expr, named: Callable[[str], object]) -> E.Expr | None:
    """A size in an annotation, which nobody evaluates; None: not known."""
    if isinstance(node, ir.Const):
        return E.const(node.value) if type(node.value) is int else None
    if isinstance(node, ir.Name):
        value = named(node.id)
        return value if isinstance(value, E.Expr) else None
    if isinstance(node, ir.BinOp) and node.op in ("+", "-", "*"):
        left, right = _size(node.left, named), _size(node.right, named)
        if left is None or right is None:
            return None
        if node.op == "*":
            return left * right
        return left + right if node.op == "+" else left - right
    return None


def _global(vm: VM, name: str) -> object:
    """What a name of the module is bound to: annotations of parameters are of the outside."""
    return modules.global_value(vm, vm.frame.module, name)


def _local(vm: VM, name: str) -> object:
    """What a local name is bound to on every path."""
    number = vm.frame.scope
    box = vm.heap.get(number) if number is not None else None
    return box.names.get(name) if isinstance(box, Scope) else None


def postponed(module: Module) -> bool:
    """Whether a module has ``from __future__ import annotations``."""
    found = module.all_bindings("annotations")
    return any(b.module == "__future__" and b.original == "annotations" for b in found)


#: what an annotation is that a library has a say in: nobody here knows what it refuses
_FOREIGN: Final = Opaque("a type of a library's")


def _evaluate(vm: VM, node: ir.Expr) -> None:
    """Evaluate an annotation, for its effects and errors."""
    if isinstance(node, ir.Name):
        if not _is_bound(vm, node.id):
            vm.eval(node)  # which faults
    elif not isinstance(node, (ir.Const, ir.LambdaExpr)):
        _value(vm, node)


def _value(vm: VM, node: ir.Expr) -> object:
    """What an annotation, or a part of one, is worth."""
    if isinstance(node, ir.Attribute):
        owner = _value(vm, node.value)
        return owner if owner is _FOREIGN else _known(vm.attribute(owner, node.attr, node.span))
    if isinstance(node, ir.Subscript):
        owner = _value(vm, node.value)
        index = _value(vm, node.index)
        return owner if owner is _FOREIGN else _known(vm.item(owner, index, node.span))
    if isinstance(node, ir.BinOp) and node.op == "|":
        sides = [_value(vm, side) for side in (node.left, node.right)]
        if any(side is _FOREIGN for side in sides):
            return _FOREIGN
        return _known(vm.binary("|", sides[0], sides[1], node.span))
    if isinstance(node, ir.Call) and _is_foreign(vm, node.func):
        for arg in (*node.args, *(keyword.value for keyword in node.keywords)):
            _evaluate(vm, arg)
        return _FOREIGN
    if isinstance(node, (ir.TupleExpr, ir.ListExpr)):
        elements = [_value(vm, element) for element in node.elements]
        whole = isinstance(node, ir.ListExpr)
        return vm.heap.new(ListBox.of(elements)) if whole else tuple(elements)
    return _known(vm.eval(node))


def _known(value: object) -> object:
    """A value, unless it is a library's."""
    if isinstance(value, ExternalRef):
        return value if value.path.partition(".")[0] in sys.stdlib_module_names else _FOREIGN
    return _FOREIGN if isinstance(value, (ApiRef, Opaque)) else value


def _is_foreign(vm: VM, node: ir.Expr) -> bool:
    """Whether what is called is a library's: that changes nothing of the program's own."""
    while isinstance(node, (ir.Attribute, ir.Subscript)):
        node = node.value
    if not isinstance(node, ir.Name) or not _is_bound(vm, node.id):
        return False
    return isinstance(vm.eval(node), (ApiRef, ExternalRef, Opaque))


def _is_bound(vm: VM, name: str) -> bool:
    """Whether a name is bound on every path, without evaluating what it is bound to."""
    number: int | None = vm.frame.scope
    while number is not None:
        box = vm.heap.get(number)
        assert isinstance(box, Scope)
        value = box.names.get(name, UNBOUND)
        if value is not UNBOUND:
            return not isinstance(value, Guarded)
        number = box.parent
    module = vm.frame.module
    return (
        modules.is_waiting(vm, module, name)
        or name in vm.language.builtins
        or modules.global_value(vm, module, name) is not UNBOUND
        or modules.elsewhere(vm, module, name) is not UNBOUND
    )
