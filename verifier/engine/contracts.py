"""Contracts made effective: what they pin, and the relations they state, in symbols."""

from __future__ import annotations

from collections.abc import Sequence

from verifier.configuration import contracts as tree
from verifier.configuration.contracts import Contract
from verifier.source import ir
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.python.inputs import Pinned


class ContractMismatchError(Exception):
    """A contract that does not fit the kernel: an unknown parameter or name."""


class Effect:
    """What one contract says about one kernel, as symbols."""

    def __init__(
        self,
        contract: Contract,
        definition: ir.FunctionDef,
        enclosing: Sequence[ir.FunctionDef] = (),
        inputs: Sequence[str] = (),
    ) -> None:
        """``enclosing``: the functions around a nested kernel, whose parameters are inputs too.
        ``inputs``: the fields of what the kernel is given, where that is a structure.

        Raises:
            ContractMismatchError: a parameter or a name does not exist.
        """
        self.pinned: dict[str, Pinned] = {}
        self.conditions: list[tuple[Bool, str]] = []
        self.grid: tuple[int, ...] | None = None
        self._names: dict[str, Expr] = {}
        own = inputs or tuple(p.name for p in definition.params)
        self._parameters = {*own, *(p.name for d in enclosing for p in d.params)}
        for parameter in contract.parameters:
            if parameter.name not in self._parameters:
                raise ContractMismatchError(
                    f"`{definition.name}` has no parameter `{parameter.name}`"
                )
        self._bind_sizes(contract)
        # What is said about integers first: sizes of buffers may be parameters themselves.
        buffers = [p for p in contract.parameters if isinstance(p.spec, tree.TensorSpec)]
        numbers = [p for p in contract.parameters if not isinstance(p.spec, tree.TensorSpec)]
        for parameter in (*numbers, *buffers):
            pinned = self._pin(parameter.name, parameter.spec)
            if pinned is not None:
                self.pinned[parameter.name] = pinned
        for comparison in contract.conditions:
            self._condition(comparison)
        if contract.grid:
            sizes = [self._expr(size) for size in contract.grid]
            if not all(size.is_const for size in sizes):
                raise ContractMismatchError("the sizes of a launch grid must be plain integers")
            self.grid = tuple(size.const for size in sizes)

    def _bind_sizes(self, contract: Contract) -> None:
        """A size name stands for the parameter of that name, else the first dimension it is
        written at."""
        for parameter in contract.parameters:
            spec = parameter.spec
            if not isinstance(spec, tree.TensorSpec) or spec.shape is None:
                continue
            for axis, size in enumerate(spec.shape):
                known = {*self._names, *self._parameters}
                if isinstance(size, tree.Name) and size.id not in known:
                    symbol = E.symbol(f"{parameter.name}.shape[{axis}]", lo=1)
                    self._names[size.id] = symbol
        for name in contract.free_names():
            if name.id not in self._parameters:
                raise ContractMismatchError(f"`{name.id}` is not a size or a parameter")

    def _expr(self, node: tree.Expression) -> Expr:
        if isinstance(node, tree.Int):
            return E.const(node.value)
        if isinstance(node, tree.Name):
            known = self._names.get(node.id)
            if known is not None:
                return known
            pinned = self.pinned.get(node.id)
            if pinned is not None and isinstance(pinned.value, int):
                return E.const(pinned.value)
            if pinned is not None and isinstance(pinned.value, tuple) and pinned.kind == "range":
                return E.symbol(node.id, *pinned.value)
            return E.symbol(node.id, lo=0)
        if isinstance(node, tree.Negate):
            return -self._expr(node.operand)
        left, right = self._expr(node.left), self._expr(node.right)
        if node.op == "+":
            return left + right
        if node.op == "-":
            return left - right
        if node.op == "*":
            return left * right
        return left // right if node.op == "//" else left % right

    def _pin(self, name: str, spec: tree.Spec) -> Pinned | None:
        if isinstance(spec, tree.TensorSpec):
            return Pinned("tensor", self._shape(name, spec), spec.dtype)
        if isinstance(spec, tree.RangeSpec):
            lower, upper = self._expr(spec.lower), self._expr(spec.upper)
            if lower.is_const and upper.is_const:
                return Pinned("range", value=(lower.const, upper.const))
            symbol = E.symbol(name, lo=0)
            self.conditions.append((E.ge(symbol, lower), f"{name} >= {tree.show(spec.lower)}"))
            self.conditions.append((E.le(symbol, upper), f"{name} <= {tree.show(spec.upper)}"))
            return None
        if isinstance(spec, tree.IntSpec):
            value = self._expr(spec.value)
            if value.is_const:
                return Pinned("value", value=value.const)
            self.conditions.append(
                (E.eq(E.symbol(name, lo=0), value), f"{name} == {tree.show(spec.value)}")
            )
            return None
        if isinstance(spec, (tree.FloatSpec, tree.StringSpec, tree.LiteralSpec)):
            return Pinned("value", value=spec.value)
        if isinstance(spec, tree.SequenceSpec):
            return Pinned("value", value=tuple(self._plain(x) for x in spec.elements))
        return None

    def _plain(self, spec: tree.Spec) -> object:
        if isinstance(spec, tree.IntSpec):
            value = self._expr(spec.value)
            return value.const if value.is_const else value
        if isinstance(spec, (tree.FloatSpec, tree.StringSpec, tree.LiteralSpec)):
            return spec.value
        if isinstance(spec, tree.SequenceSpec):
            return tuple(self._plain(x) for x in spec.elements)
        return None

    def _shape(self, name: str, spec: tree.TensorSpec) -> tuple[Expr | None, ...] | None:
        if spec.shape is None:
            return None
        out: list[Expr | None] = []
        for size in spec.shape:
            if isinstance(size, tree.Anything):
                out.append(None)
                continue
            extent = self._expr(size)
            out.append(extent)
            positive = E.ge(extent, 1)
            if positive is not E.TRUE:
                self.conditions.append((positive, f"{tree.show(size)} >= 1"))
        return tuple(out)

    def _condition(self, comparison: tree.Comparison) -> None:
        build = {"==": E.eq, "!=": E.ne, "<": E.lt, "<=": E.le, ">": E.gt, ">=": E.ge}
        operands = [self._expr(operand) for operand in comparison.operands]
        parts = [
            build[op](a, b)
            for op, a, b in zip(comparison.ops, operands, operands[1:], strict=False)
        ]
        self.conditions.append((E.and_(*parts), tree.show_comparison(comparison)))


__all__ = ["Contract", "ContractMismatchError", "Effect"]
