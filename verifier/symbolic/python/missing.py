"""Imports that do not wait until they are asked for: those that fail, or hide what was bound."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from verifier.hardware import dtypes as dt
from verifier.source import standard
from verifier.source.project import Module
from verifier.source.readings import Import
from verifier.symbolic.python.faults import meant
from verifier.symbolic.python.vm import VM
from verifier.symbolic.values import ApiRef


def chunks(vm: VM, module: Module) -> Iterator[int]:
    """The pieces of a module's text with imports that do not wait, and with what they hide."""
    assert vm.program is not None
    for chunk, wanted in vm.program.imports(module):
        if _fails(vm, module, wanted):
            yield chunk
        source = vm.project.resolve_import(module, wanted.module, wanted.level)
        if wanted.name == "*" and open_star(vm, module, wanted.module, wanted.level) is not None:
            yield chunk
        if wanted.name == "*" and source is None:
            for name in exported(vm, wanted.module, module.bindings):
                yield chunk
                yield from module.binding_chunks(name)
        elif wanted.name == "*" and source is not None:
            hidden = module.bindings.keys() & set(names_of_star(vm, source))
            if hidden:  # which of them a name has depends on the order
                yield chunk
            for name in hidden:
                yield from module.binding_chunks(name)


def names_of_star(vm: VM, source: Module, seen: frozenset[str] = frozenset()) -> tuple[str, ...]:
    """The names that ``from source import *`` binds, as far as they are on disk."""
    if source.exports is not None:
        return source.exports
    names = dict.fromkeys(name for name in source.bindings if not name.startswith("_"))
    for star in source.star_imports:
        found = vm.project.resolve_import(source, star.module, star.level)
        if found is not None and found.file not in seen:
            names.update(dict.fromkeys(names_of_star(vm, found, seen | {source.file})))
    return tuple(names)


def exported(vm: VM, library: str, names: Iterable[str]) -> list[str]:
    """Those of some names that ``from library import *`` binds, if we know what it binds."""
    known = standard.exports(library)
    if known is not None:
        return [name for name in names if name in known]
    return [
        name
        for name in names
        if not name.startswith("_") and vm.dialect.root(f"{library}.{name}") is not None
    ]


def open_star(
    vm: VM, module: Module, name: str, level: int, seen: frozenset[str] = frozenset()
) -> str | None:
    """The library that is not found from which ``from name import *`` may bind any name."""
    source = vm.project.resolve_import(module, name, level)
    if source is None:
        if not level and (standard.exports(name) is not None or vm.dialect.root(name) is not None):
            return None
        return "." * level + name
    if source.exports is not None or source.file in seen:
        return None
    for star in source.star_imports:
        found = open_star(vm, source, star.module, star.level, seen | {source.file})
        if found is not None:
            return found
    return None


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


#: parts of a package that a build makes
_BUILT: Final = re.compile(r"_.*|.*version.*|.*_pb2(_grpc)?")


def may_have_part(package: Module, name: str) -> bool:
    """Whether a package may have a part that is not there as text: compiled, or yet to be built."""
    if package.path.name != "__init__.py":
        return False
    return _may_be_in(package.path.parent, name)


def _may_be_in(folder: Path, name: str) -> bool:
    if _BUILT.fullmatch(name) is not None or not folder.is_dir():
        return True
    return any(each.name.partition(".")[0] == name for each in folder.iterdir())


def of_project(module: Module, dotted: str, level: int, name: str) -> str | None:
    """What ``from ..dotted import name`` fails with where that is not on disk; None: it may not."""
    folder = module.path.absolute().parent
    for _ in range(level - 1):
        folder = folder.parent
    parts = dotted.split(".") if dotted else [name]
    for count, part in enumerate(parts, 1):
        if not _may_be_in(folder, part):
            return f"No module named '{'.' * level}{'.'.join(parts[:count])}'"
        folder /= part
        if not folder.is_dir():
            return None
    return None


def of_api(vm: VM, dotted: str, name: str = "") -> str | None:
    """What ``from dotted import name``, or ``import dotted``, of a kernel API fails with."""
    owner, attr = (dotted, name) if name else dotted.rpartition(".")[::2]
    value = vm.dialect.root(owner) if owner and attr and not attr.startswith("_") else None
    if not isinstance(value, ApiRef) or vm.dialect.root(f"{owner}.{attr}") is not None:
        return None
    known = vm.dialect.closed(value, attr)
    if known is None:
        return None
    if not name:  # what is documented of a namespace is its names, not all that is in its folder
        known = frozenset(each for each in known if _has_names(vm, f"{owner}.{each}"))
    near = "".join(f"; {line}" for line in meant(attr, known))
    if name:
        return f"cannot import name '{name}' from '{dotted}'{near}"
    return f"No module named '{dotted}'{near}" if near else None


def of_library(vm: VM, dotted: str, name: str) -> str | None:
    """What ``from dotted import name`` of Python, NumPy or a kernel API fails with."""
    found = standard.name_error(dotted, name) or of_api(vm, dotted, name)
    if found is None and not dt.library_has(dotted, name):
        return f"cannot import name '{name}' from '{dotted}'"
    return found


def _has_names(vm: VM, dotted: str) -> bool:
    value = vm.dialect.root(dotted)
    return isinstance(value, ApiRef) and vm.dialect.closed(value, "") is not None


def _fails(vm: VM, module: Module, wanted: Import) -> bool:
    project, name = vm.project, wanted.name
    source = project.resolve_import(module, wanted.module, wanted.level)
    if name is None:
        if source is not None or wanted.level:
            return False
        if project.resolve_import(module, wanted.module.partition(".")[0]) is not None:
            return True
        return (standard.module_error(wanted.module) or of_api(vm, wanted.module)) is not None
    if name == "*" or project.resolve_from(module, wanted.module, wanted.level, name) is not None:
        return False
    if source is not None:
        return True
    if wanted.level:
        return of_project(module, wanted.module, wanted.level, name) is not None
    found = of_library(vm, wanted.module, name)
    return (found or vm.dialect.imports(vm, f"{wanted.module}.{name}")) is not None
