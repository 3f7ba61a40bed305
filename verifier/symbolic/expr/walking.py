"""Every part of a term."""

from __future__ import annotations

from collections.abc import Iterator

from verifier.symbolic.expr.terms import Atom, Bool, Expr


def walk(term: Bool | Expr) -> Iterator[Bool | Expr | Atom]:
    """Every subterm once, parents first."""
    seen: dict[int, None] = {}
    stack: list[Bool | Expr | Atom] = [term]
    while stack:
        item = stack.pop()
        if id(item) in seen:
            continue
        seen[id(item)] = None
        yield item
        children: list[Bool | Expr | Atom] = []
        if isinstance(item, Expr):
            children.extend(item.atoms())
        elif isinstance(item, Bool):
            if item.expr is not None:
                children.append(item.expr)
            children.extend(item.args)
        else:
            children.extend(item.children())
        stack.extend(reversed(children))
