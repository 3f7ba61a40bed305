"""Imports that are executed: which modules they start, what they bind, and how they fail."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from typing import Final, TypeAlias

from verifier.source import ir, standard
from verifier.source.project import Module
from verifier.source.readings import Import
from verifier.symbolic import expr as E
from verifier.symbolic.python import missing, modules
from verifier.symbolic.python.attempts import attempt
from verifier.symbolic.python.heap import UNBOUND
from verifier.symbolic.python.vm import VM
from verifier.symbolic.values import ExternalRef, Guarded, ModuleRef

Bind: TypeAlias = Callable[[VM, str, object], None]

#: what may bind names of a module without naming them
_DYNAMIC: Final = re.compile(r"\b(globals|locals|vars|setattr|exec|__dict__|sys\.modules)\b")


def import_here(vm: VM, stmt: ir.Import | ir.ImportFrom, bind: Bind) -> None:
    """An import that runs: in a function, or in a module's body among other effects."""
    for alias in stmt.names:
        _start(vm, stmt, alias)
        if isinstance(stmt, ir.Import):
            bound = alias.asname or alias.name.partition(".")[0]
            bind(vm, bound, _module(vm, alias.name, bound, alias.asname is not None, stmt.span))
        elif alias.name == "*":
            _bind_all(vm, stmt, bind)
        else:
            bind(vm, alias.asname or alias.name, _from_module(vm, stmt, alias.name))


def import_named(vm: VM, name: str, span: ir.Span) -> object:
    """``importlib.import_module(name)`` of a name without leading dots."""
    _start_named(vm, Import(name, 0, None), span, foreseen=False)
    return _module(vm, name, name, True, span)


def _start(vm: VM, stmt: ir.Import | ir.ImportFrom, alias: ir.ImportAlias) -> None:
    """Run the modules that an import starts."""
    if isinstance(stmt, ir.Import):
        wanted = Import(alias.name, 0, None)
    else:
        wanted = Import(stmt.module, stmt.level, alias.name)
    _start_named(vm, wanted, stmt.span)


def _start_named(vm: VM, wanted: Import, span: ir.Span, foreseen: bool = True) -> None:
    """``foreseen``: the text of the program says that the modules are imported."""
    if vm.program is None:
        return
    for found in vm.program.starts(vm.frame.module, wanted):
        if str(found.path) in vm.modules:
            continue
        if vm.importing and (foreseen or vm.ordered or not vm.program.matters(found)):
            modules.started(vm, found, here=True)
        elif vm.program.matters(found):
            text = f"`{found.path.name}` changes other modules when the kernel imports it"
            vm.unfollowed(text, span)


# ------------------------------------------------------------------------ import module


def _module(vm: VM, name: str, bound: str, whole: bool, span: ir.Span) -> object:
    """What ``import name`` binds: the module if it has a name of its own, else its package."""
    module = vm.frame.module
    wanted = name if whole else bound
    found = vm.project.resolve_import(module, wanted)
    _check_parts(vm, name, span)
    if found is not None:
        return ModuleRef(str(found.path), found)
    place = modules.import_place(vm, module, span.line)
    error = standard.module_error(name) or missing.of_api(vm, name)
    imported = _check_external(vm, modules.external(vm, name, name, place), error, name, span)
    # (without `as` it is the package that has the name, whatever part of it was imported)
    return imported if wanted == name else modules.external(vm, wanted, wanted, place)


def _check_parts(vm: VM, name: str, span: ir.Span) -> None:
    """Whether a module of the project has the submodules that an import names."""
    names = name.split(".")
    owner = vm.project.resolve_import(vm.frame.module, names[0])
    for count in range(2, len(names) + 1):
        if owner is None:
            return
        part = ".".join(names[:count])
        found = vm.project.resolve_import(vm.frame.module, part)
        if found is None and not missing.may_have_part(owner, names[count - 1]):
            said = f"No module named '{part}'"
            if owner.path.name != "__init__.py":
                said += f"; '{'.'.join(names[: count - 1])}' is not a package"
            vm.absent(ModuleNotFoundError, said, span, part)
            return
        if found is None and vm.catching:
            # it may have been compiled, or be made by the package itself
            unknown = vm.unknown_bool(f"whether `{part}` can be imported is not known", span)
            vm.fault(ImportError, f"No module named '{part}'", span, when=unknown)
        owner = found


def _check_external(vm: VM, value: object, error: str | None, name: str, span: ir.Span) -> object:
    """Whether an import of something that is not the project's fails: what it binds."""
    if not isinstance(value, ExternalRef):
        return value
    if error is not None:
        kind = ModuleNotFoundError if error.startswith("No module") else ImportError
        api = vm.dialect.root(value.imported) is not None
        return vm.absent(kind, error, span, name, api=api)
    package = value.imported.lstrip(".").partition(".")[0]
    if vm.catching and package not in sys.stdlib_module_names:
        unknown = vm.unknown_bool(f"whether `{package}` can be imported is not known", span)
        vm.fault(ImportError, f"No module named '{package}'", span, when=unknown)
    return value


# ------------------------------------------------------------------------ from module import


def _from_module(vm: VM, stmt: ir.ImportFrom, name: str) -> object:
    """What ``from module import name`` binds."""
    module = vm.frame.module
    source = vm.project.resolve_import(module, stmt.module, stmt.level)
    part = vm.project.resolve_from(module, stmt.module, stmt.level, name)
    if part is not None and part[1] is None:
        return ModuleRef(str(part[0].path), part[0])
    if source is not None and source is not module:
        value = _bound_in(vm, source, name, stmt.span)
        if value is not UNBOUND:
            return value
        if not _may_have_more(source, name):
            owner = modules.dotted_name(source)
            said = f"cannot import name '{name}' from '{owner}'"
            full = f"{owner}.{name}"
            return vm.absent(ImportError, said, stmt.span, full, source.bindings)
    elif part is not None:
        return modules.resolved(vm, *part)
    place = modules.import_place(vm, module, stmt.span.line)
    written = "." * stmt.level + stmt.module
    value = modules.external(vm, f"{stmt.module}.{name}", written, place)
    error = None
    if source is None and stmt.level:
        error = missing.of_project(module, stmt.module, stmt.level, name)
    elif source is None:
        error = missing.of_library(vm, stmt.module, name)
    if source is None and not stmt.level:
        why = vm.dialect.imports(vm, f"{stmt.module}.{name}")
        if why is not None and vm.catching:
            vm.fault(ImportError, why, stmt.span)
        if why is not None:
            vm.dialect.imported(vm, f"{stmt.module}.{name}", stmt.span)
    return _check_external(vm, value, error, f"{written}.{name}".lstrip("."), stmt.span)


def _bound_in(vm: VM, source: Module, name: str, span: ir.Span) -> object:
    """A name of a module of the project, :data:`UNBOUND` if it has none."""
    ref = ModuleRef(str(source.path), source)
    value = attempt(
        vm,
        lambda: modules.module_attribute(vm, ref, name, span),
        AttributeError,
        lambda error: UNBOUND,
    )
    if isinstance(value, Guarded):
        absent = E.or_(*(guard for guard, item in value.cases if item is UNBOUND))
        vm.fault(ImportError, f"cannot import name '{name}'", span, when=absent)
        return vm.settled(value)
    return value


def _may_have_more(source: Module, name: str) -> bool:
    """Whether a module may have a name that its text does not bind."""
    if source.errors or _DYNAMIC.search(source.text) is not None:
        return True
    return missing.may_have_part(source, name)


def _bind_all(vm: VM, stmt: ir.ImportFrom, bind: Bind) -> None:
    """``from module import *`` where it can be seen when it runs."""
    module = vm.frame.module
    source = vm.project.resolve_import(module, stmt.module, stmt.level)
    if not vm.importing:
        return
    library = missing.open_star(vm, module, stmt.module, stmt.level)
    if library is not None:
        modules.hide(vm, module, library)
    if source is None:
        for name in missing.exported(vm, stmt.module, module.bindings):
            bind(vm, name, modules.external(vm, f"{stmt.module}.{name}", stmt.module))
        return
    for name in missing.names_of_star(vm, source):
        value = modules.module_attribute(vm, ModuleRef(str(source.path), source), name, stmt.span)
        if value is not UNBOUND:
            bind(vm, name, value)
