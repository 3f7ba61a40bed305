"""The text of a kernel as Python that does what the front end makes of it, for runs."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Final

from verifier.dialects.ppl import isa, names, trailing
from verifier.dialects.ppl.binding_times import BindingTimes, Hangs, Stage, of_kernel
from verifier.dialects.ppl.trailing import Given
from verifier.symbolic.tensors import DType
from verifier.symbolic.values import ApiRef, Enumerator

#: asks the front end
_STATIC_ASSERT: Final = "pl.static_assert"


def rewrite(
    function: ast.FunctionDef,
    named: Callable[[ast.expr], ApiRef | None],
    *,
    asserts: bool,
    helper: bool,
    postponed: bool,
) -> None:
    """:class:`verifier.dialects.descriptor.Rewrites`.

    What other functions hand on to a ``helper`` is taken to be known when it is compiled.
    """
    times = of_kernel(function, named=named, postponed=postponed)
    rewriter = _Rewriter(times, named, asserts, helper)
    body = [rewriter.visit(inner) for inner in function.body]
    function.body = [ast.fix_missing_locations(inner) for inner in body]


class _Rewriter(ast.NodeTransformer):
    """Functions inside of functions are compiled on their own."""

    def __init__(
        self,
        times: BindingTimes,
        named: Callable[[ast.expr], ApiRef | None],
        asserts: bool,
        helper: bool,
    ) -> None:
        self._times = times
        self._named = named
        self._asserts = asserts
        self._helper = helper

    def visit_Assert(self, node: ast.Assert) -> ast.stmt:
        return node if self._asserts else ast.copy_location(ast.Pass(), node)

    def visit_Expr(self, node: ast.Expr) -> ast.stmt:
        """What is asked of the front end that it does not know is asked nowhere."""
        call = node.value
        if isinstance(call, ast.Call) and call.args:
            ref = self._named(call.func)
            if ref is not None and ref.name == _STATIC_ASSERT and self._open(call.args[0]):
                return ast.copy_location(ast.Pass(), node)
        self.generic_visit(node)
        return node

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        """``a if test else b`` is ``a`` where the front end does not know the test (PPL-C01)."""
        reasons = self._open(node.test)
        self.generic_visit(node)
        if reasons:
            made = ast.BoolOp(ast.Or(), [*reasons, node.test])
            node.test = ast.copy_location(made, node.test)
        return node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        """A function that sorts what it is given gets by name what is no operand.

        That wins over a keyword of the same name (``mul(x, 1, saturation=False)``: ``tiu.py``).
        """
        self.generic_visit(node)
        ref = self._named(node.func)
        instruction = None if ref is None else isa.find(ref.name)
        if instruction is None or not trailing.sorts(instruction):
            return node
        kinds = [self._kind(each) for each in node.args]
        given = {keyword.arg or "" for keyword in node.keywords}
        taken = trailing.taken(instruction, kinds, given)
        named = [keyword for keyword in node.keywords if keyword.arg not in taken.values()]
        node.keywords = named + [
            ast.copy_location(ast.keyword(name, node.args[k]), node.args[k])
            for k, name in taken.items()
        ]
        node.args = [each for k, each in enumerate(node.args) if k not in taken]
        return node

    def _kind(self, node: ast.expr) -> Given:
        ref = node.attr if isinstance(node, ast.Attribute) else ""
        value = names.value(ref) if ref else None
        if isinstance(value, DType) or value is names.VOID:
            return Given.DTYPE
        if isinstance(value, Enumerator):
            return Given.MODE if value.kind == "round" else Given.OPERAND
        if not self._times.is_wrapped(node) or self._times.sources(node, Stage.FRONT_END):
            return Given.OPERAND
        try:
            number = ast.literal_eval(node)
        except ValueError:
            return Given.CONSTANT
        truth = isinstance(number, (bool, int, float)) and int(number) in (0, 1)
        return Given.TRUTH if truth else Given.CONSTANT

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.stmt:
        return node

    def _open(self, node: ast.expr) -> list[ast.expr]:
        """Conditions, with any of which the front end does not know a value."""
        out: list[ast.expr] = []
        for how, name in sorted(self._times.sources(node, Stage.FRONT_END), key=str):
            if how is Hangs.ON_RUN:
                out.append(ast.Constant(True))
            elif how is Hangs.ON_TYPE:
                out.append(_parsed(f"isinstance({name}, (int, float))"))
            elif not self._helper:
                out.append(_parsed(f"{name} != 1"))
        return out


def _parsed(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


__all__ = ["rewrite"]
