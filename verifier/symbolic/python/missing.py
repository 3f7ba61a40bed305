"""Imports that do not wait until they are asked for: those that fail, or hide what was bound."""

from __future__ import annotations

from collections.abc import Iterator

from verifier.source import standard
from verifier.source.order import Wanted
from verifier.source.project import Module
from verifier.symbolic.python.vm import VM


def chunks(vm: VM, module: Module) -> Iterator[int]:
    """The pieces of a module's text with imports that do not wait, and with what they hide."""
    assert vm.program is not None
    for chunk, wanted in vm.program.imports(module):
        if _fails(vm, module, wanted):
            yield chunk
        source = vm.project.resolve_import(module, wanted.module, wanted.level)
        if wanted.name == "*" and source is not None:
            hidden = module.bindings.keys() & names_of_star(source)
            if hidden:  # which of them a name has depends on the order
                yield chunk
            for name in hidden:
                yield from module.binding_chunks(name)


def names_of_star(source: Module) -> tuple[str, ...]:
    """The names that ``from source import *`` binds."""
    if source.exports is not None:
        return source.exports
    return tuple(name for name in source.bindings if not name.startswith("_"))


def of_running(vm: VM, module: Module, chunk: int) -> bool:
    """Whether a piece of a module's text imports names of a module that is still running."""
    assert vm.program is not None
    for place, wanted in vm.program.imports(module):
        if place == chunk and wanted.name is not None:
            source = vm.project.resolve_import(module, wanted.module, wanted.level)
            found = None if source is None else vm.modules.get(str(source.path))
            if found is not None and found.at is not None:
                return True
    return False


def _fails(vm: VM, module: Module, wanted: Wanted) -> bool:
    project, name = vm.project, wanted.name
    source = project.resolve_import(module, wanted.module, wanted.level)
    if name is None:
        if source is not None or wanted.level:
            return False
        if project.resolve_import(module, wanted.module.partition(".")[0]) is not None:
            return True
        return standard.module_error(wanted.module) is not None
    if name == "*" or project.resolve_from(module, wanted.module, wanted.level, name) is not None:
        return False
    if source is not None:
        return True
    return not wanted.level and standard.name_error(wanted.module, name) is not None
