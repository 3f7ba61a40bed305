"""Kernel APIs that a module has from another one of the project by ``from shared import *``."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from verifier.source import apis, footprint
from verifier.source.outline import Binding
from verifier.source.project import Module, Project


def api_imports(project: Project, module: Module) -> Mapping[str, Binding]:
    """The names of a module that star imports of modules on disk bind to a kernel API.

    Each with the import that binds it there, as if it stood in the module itself.
    """
    found: dict[str, Binding] = {}
    _gather(project, module, found, {module.file})
    return {name: binding for name, binding in found.items() if name not in module.bindings}


def spelled_out(project: Project, module: Module) -> list[ast.stmt]:
    """The imports of :func:`api_imports` as statements."""
    return [
        ast.Import([ast.alias(".".join(filter(None, (b.module, b.original))), name)])
        for name, b in api_imports(project, module).items()
    ]


def _gather(project: Project, module: Module, found: dict[str, Binding], seen: set[str]) -> None:
    """The last star import that gives a name counts, and what a module binds before what it has
    from others."""
    packages = apis.by_package()
    for star in reversed(module.star_imports):
        source = project.resolve_import(module, star.module, star.level)
        if source is None or source.file in seen:
            continue
        seen.add(source.file)
        footprint.note_whole(source.file)
        exports = source.exports
        for name, binding in source.bindings.items():
            given = not name.startswith("_") if exports is None else name in exports
            root = binding.module.partition(".")[0] if binding.kind.imports else ""
            if given and binding.level == 0 and root in packages:
                found.setdefault(name, binding)
        if exports is None:
            _gather(project, source, found, seen)
