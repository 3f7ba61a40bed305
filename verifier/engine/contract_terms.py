"""What a contract's expressions are as symbols, whatever its names stand for."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from verifier.configuration import contracts as tree
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.python.integers import order


def integer(
    node: tree.Expression,
    leaf: Callable[[tree.Leaf], Expr],
    truth: Callable[[tree.Condition], Bool],
) -> Expr:
    """The integer that an expression is; ``leaf`` and ``truth`` know its names and conditions."""

    def read(part: tree.Expression) -> Expr:
        return integer(part, leaf, truth)

    if isinstance(node, tree.Int):
        return E.const(node.value)
    if isinstance(node, tree.Leaf):
        return leaf(node)
    if isinstance(node, tree.Negate):
        return -read(node.operand)
    if isinstance(node, tree.Extreme):
        return (E.minimum if node.function == "min" else E.maximum)(*map(read, node.args))
    if isinstance(node, tree.Either):
        return E.ite(truth(node.test), read(node.then), read(node.other))
    left, right = read(node.left), read(node.right)
    if node.op == "+":
        return left + right
    if node.op == "-":
        return left - right
    if node.op == "*":
        return left * right
    return left // right if node.op == "//" else left % right


def compared(said: tree.Comparison, read: Callable[[tree.Expression], Expr]) -> Iterator[Bool]:
    """Each of the comparisons that ``a < b <= c`` is made of."""
    operands = [read(operand) for operand in said.operands]
    for op, left, right in zip(said.ops, operands, operands[1:], strict=False):
        yield order(op, left, right)


__all__ = ["compared", "integer"]
