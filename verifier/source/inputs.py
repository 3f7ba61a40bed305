"""The names of a kernel's inputs, read off its definition."""

from __future__ import annotations

from verifier.source import ir
from verifier.source.project import Module, Project

#: classes between a structure and its last base; longer chains are cycles
_MAX_BASES = 16


def input_names(project: Project, module: Module, definition: ir.FunctionDef) -> tuple[str, ...]:
    """The parameters of a kernel, or the fields of the structure that is its only one.

    ``@okk.kernel(Params) def f(args)`` and ``def f(args: Params)`` are given a ``Params``.
    """
    if len(definition.params) == 1:
        annotation = definition.params[0].annotation
        given = [d.args[0] for d in definition.decorators if isinstance(d, ir.Call) and d.args]
        for node in (*given, *(() if annotation is None else (annotation,))):
            fields = _fields(project, module, node, 0)
            if fields:
                return fields
    return tuple(p.name for p in definition.params)


def _fields(project: Project, module: Module, node: ir.Expr, depth: int) -> tuple[str, ...]:
    """The annotated fields of the class that a name stands for, those of its bases first."""
    if not isinstance(node, ir.Name) or depth > _MAX_BASES:
        return ()
    found = project.resolve_name(module, node.id)
    owner, name = found if found is not None else (module, node.id)
    definition = owner.definition(name) if name is not None else None
    if not isinstance(definition, ir.ClassDef):
        return ()
    out: dict[str, None] = {}
    for base in definition.bases:
        out.update(dict.fromkeys(_fields(project, owner, base, depth + 1)))
    for stmt in definition.body:
        if isinstance(stmt, ir.AnnAssign) and isinstance(stmt.target, ir.Name):
            out[stmt.target.id] = None
    return tuple(out)
