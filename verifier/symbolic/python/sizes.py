"""The names that a kernel gives the sizes of its inputs: ``K`` of ``K, M = lhsT.shape``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from msgspec import Struct

from verifier.source import ir
from verifier.source.scopes import bound_by, names_of_module
from verifier.symbolic.expr import Expr, Origin, Sym


class Named(Struct, frozen=True):
    """A name for a size, and the statement that binds it."""

    name: str
    span: ir.Span


def named(definition: ir.FunctionDef, values: Mapping[str, object]) -> dict[Sym, Named]:
    """The names that stand for one input's size throughout, by the sizes that they are bound to.

    ``values`` are those of the kernel's names when it ends. A name that is bound more than once, or
    under a condition, may mean something else elsewhere and is none. The first name counts.
    """
    bindings = Counter(n for s in definition.body for n in names_of_module((s,)).local)
    parameters = {param.name for param in definition.params}
    found: dict[Sym, Named] = {}
    for statement in definition.body:
        if not isinstance(statement, (ir.Assign, ir.AnnAssign)):
            continue
        for name in sorted(bound_by(statement)):
            value = values.get(name)
            if (
                name.startswith("_")
                or bindings[name] != 1
                or name in parameters
                or not isinstance(value, Expr)
            ):
                continue
            atom = value.as_atom()
            if isinstance(atom, Sym) and atom.origin is Origin.INPUT:
                found.setdefault(atom, Named(name, statement.span))
    return found
