"""Annotations: what is evaluated where a definition stands, for what that does.

What an annotation is worth matters to nobody here; that evaluating it may fail does. What a library
has a say in is taken to be written as the library wants it: nothing of the program's own changes.
"""

from __future__ import annotations

import sys
from typing import Final

from verifier.source import ir
from verifier.source.project import Module
from verifier.symbolic import expr as E
from verifier.symbolic.pretty import pretty
from verifier.symbolic.python import modules
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
    wanted, name = stmt.annotation, stmt.target
    if not isinstance(name, ir.Name) or not isinstance(wanted, ir.Subscript):
        return
    owner, value = wanted.value, _local(vm, name.id)
    kind = owner.attr if isinstance(owner, ir.Attribute) else getattr(owner, "id", "")
    if kind != "tensor" or not isinstance(value, View):
        return
    index = wanted.index
    items = index.elements if isinstance(index, ir.TupleExpr) else (index,)
    sizes = [_size(vm, item) for item in items]
    if None in sizes:
        return
    said = ", ".join(pretty(size) for size in sizes if size is not None)
    equal = [E.eq(a, b) for a, b in zip(sizes, value.shape, strict=False) if a is not None]
    # the ranks of inputs, and of what is made of them, may only be assumed
    if len(sizes) != value.rank:
        return
    compared = vm.dialect.compares_annotations(vm)
    if not compared and all(vm.decide(one) is not False for one in equal):
        return
    shape = ", ".join(map(pretty, value.shape))
    vm.check(
        _MISMATCH,
        E.and_(*equal) if compared else E.FALSE,
        wanted.span,
        f"the shape of {name.id} == ({said})",
        f"`{name.id}` is annotated as ({said}) and is ({shape})",
        values=tuple((f"{name.id}.shape[{k}]", size) for k, size in enumerate(value.shape)),
        facts=("NKI-L73", "NKI-E06") if compared else (),
        severity=None if compared else "warning",
    )


def _size(vm: VM, node: ir.Expr) -> E.Expr | None:
    """A size in an annotation, which nobody evaluates; None: not known."""
    if isinstance(node, ir.Const):
        return E.const(node.value) if type(node.value) is int else None
    if isinstance(node, ir.Name):
        value = _local(vm, node.id)
        return value if isinstance(value, E.Expr) else None
    if isinstance(node, ir.BinOp) and node.op in ("+", "-", "*"):
        left, right = _size(vm, node.left), _size(vm, node.right)
        if left is None or right is None:
            return None
        if node.op == "*":
            return left * right
        return left + right if node.op == "+" else left - right
    return None


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
