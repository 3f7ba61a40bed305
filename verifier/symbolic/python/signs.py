"""Which parameters a kernel's text takes to be negative at times: it says so by asking.

An integer parameter is a size or a count unless something says otherwise, and is assumed not to be
negative, which the report lists. Where the text compares it with less than nothing, or asks for its
amount, that would contradict what the author means.
"""

from __future__ import annotations

from collections.abc import Iterator

from verifier.source import ir

#: comparisons with 0 that ask for a sign; `> 0` and `<= 0` are asked of counts, too
_OF_SIGN = ("<", ">=")
_TURNED = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}


def negatives(definition: ir.FunctionDef) -> frozenset[str]:
    """The names that the body compares with negative numbers, or asks for the sign or amount of."""
    found: set[str] = set()
    for stmt in definition.body:
        for node in _below(stmt):
            if isinstance(node, ir.Compare):
                sides = (node.left, *node.comparators)
                for left, op, right in zip(sides, node.ops, sides[1:], strict=False):
                    found.update(_asked(left, op, right))
                    found.update(_asked(right, _TURNED.get(op, op), left))
            elif isinstance(node, ir.Call) and len(node.args) == 1:
                if isinstance(node.func, ir.Name) and node.func.id == "abs":
                    found.update(_name(node.args[0]))
    return frozenset(found)


def _asked(value: ir.Expr, op: str, limit: ir.Expr) -> Iterator[str]:
    number = _number(limit)
    if number is not None and (number < 0 or (number == 0 and op in _OF_SIGN)):
        yield from _name(value)
    elif isinstance(limit, (ir.TupleExpr, ir.ListExpr)) and op in ("in", "not in"):
        if any((_number(item) or 0) < 0 for item in limit.elements):
            yield from _name(value)


def _number(node: ir.Expr) -> int | None:
    if isinstance(node, ir.UnaryOp) and node.op == "-":
        inner = _number(node.operand)
        return None if inner is None else -inner
    if isinstance(node, ir.Const) and type(node.value) is int:
        return node.value
    return None


def _name(node: ir.Expr) -> Iterator[str]:
    if isinstance(node, ir.Name):
        yield node.id


def _below(node: ir.Node) -> Iterator[ir.Node]:
    yield node
    for child in ir.children(node):
        yield from _below(child)


__all__ = ["negatives"]
