"""``importlib`` and ``pkgutil``: modules that are imported by names that are computed.

Which modules a package has is what is on disk; none of them is executed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.python import imports, probes
from verifier.symbolic.python.builtin import Table
from verifier.symbolic.python.concrete import payload
from verifier.symbolic.python.kind import Kind
from verifier.symbolic.python.kinds import blurred
from verifier.symbolic.python.vm import VM
from verifier.symbolic.values import FolderText, ModuleRef, Opaque, OpaqueOf

IMPORTLIB: Final = Table("importlib")
PKGUTIL: Final = Table("pkgutil")


@IMPORTLIB.add("import_module")
def _import_module(vm: VM, span: Span, name: object, package: object = None) -> object:
    def one(value: object) -> object:
        held, anchor = payload(vm, value), payload(vm, vm.settled(package))
        if not isinstance(held, str):
            known = probes.sample(vm, held)
            if known is not probes.UNSAMPLED and not isinstance(known, str):
                vm.fault(AttributeError, "the name of a module is a string", span)
            return vm.unfollowed("a module of a name that is not known is imported", span)
        if not held.startswith("."):
            return _absolute(vm, held, span)
        if anchor is None or anchor == "":
            message = "the 'package' argument is required to perform a relative import for "
            message += repr(held)
            vm.fault(TypeError, message, span, args=(message,))
        if not isinstance(anchor, str):
            return vm.unfollowed("a module of a package that is not known is imported", span)
        return _relative(vm, held, anchor, span)

    return vm.each(name, one)


def _absolute(vm: VM, name: str, span: Span) -> object:
    if not name:
        vm.fault(ValueError, "Empty module name", span, args=("Empty module name",))
    if not all(part.isidentifier() for part in name.split(".")):
        return vm.unfollowed(f"a module of the name `{name}` is imported", span)
    return imports.import_named(vm, name, span)


def _relative(vm: VM, name: str, package: str, span: Span) -> object:
    rest = name.lstrip(".")
    above = package.rsplit(".", len(name) - len(rest) - 1)
    if len(above) < len(name) - len(rest):
        message = "attempted relative import beyond top-level package"
        vm.fault(ImportError, message, span, args=(message,))
    return _absolute(vm, f"{above[0]}.{rest}" if rest else above[0], span)


@PKGUTIL.add("iter_modules")
def _iter_modules(vm: VM, span: Span, path: object = None, prefix: object = "") -> object:
    return _found(vm, _listed(vm, path, prefix, span), span)


@PKGUTIL.add("walk_packages")
def _walk_packages(
    vm: VM, span: Span, path: object = None, prefix: object = "", onerror: object = None
) -> object:
    """It imports a package when it is asked for what comes behind it; here all are imported first.

    That is the same for packages that neither change nor read what others may change.
    """
    if onerror is not None:
        return vm.unfollowed("`onerror` of `pkgutil.walk_packages()` is not followed", span)
    out: dict[str, bool] = {}
    stack = [*_listed(vm, path, prefix, span).items()][::-1]
    while stack:
        name, is_package = stack.pop()
        out[name] = is_package
        if is_package:
            module = _absolute(vm, name, span)
            if isinstance(module, ModuleRef) and module.module is not None:
                if vm.program is None or vm.program.matters(module.module):
                    vm.unfollowed(f"when `{name}` is imported is not followed", span)
            inner = vm.attribute(module, "__path__", span)
            stack += [*_listed(vm, inner, f"{name}.", span).items()][::-1]
    return _found(vm, out, span)


def _listed(vm: VM, path: object, prefix: object, span: Span) -> dict[str, bool]:
    """The modules in some folders, and whether each is a package."""
    before, held = payload(vm, vm.settled(prefix)), vm.settled(path)
    if isinstance(held, str):
        message = "path must be None or list of paths to look for modules in"
        vm.fault(ValueError, message, span)
    folders = None if held is None else vm.items_of(held, span)
    if folders is None or not isinstance(before, str):
        vm.unfollowed("which modules there are is not known", span)
        return {}
    found: dict[str, bool] = {}
    for folder in folders:
        parts = vm.project.parts(folder.folder) if isinstance(folder, FolderText) else None
        if parts is None:
            said = vm.kind(folder).describe(vm, folder)
            vm.unfollowed(f"which modules there are in {said} is not known", span)
        for name, is_package in parts or ():
            found.setdefault(before + name, is_package)
    return found


def _found(vm: VM, modules: Mapping[str, bool], span: Span) -> object:
    """What gives modules one after the other, as ``pkgutil`` describes them."""
    named = vm.language.modules["collections"]["namedtuple"]
    info = vm.call(named, ("ModuleInfo", "module_finder name ispkg"), span=span)
    finder = Opaque("what finds modules in a folder")
    made = [
        vm.call(info, (finder, name, E.truth(is_package)), span=span)
        for name, is_package in modules.items()
    ]
    return vm.call(vm.language.builtins["iter"], (tuple(made),), span=span)


MODULES: Final[dict[str, Mapping[str, object]]] = {"importlib": IMPORTLIB, "pkgutil": PKGUTIL}
KINDS: Final[dict[type, Kind[VM]]] = {FolderText: blurred.KINDS[OpaqueOf]}

__all__ = ["KINDS", "MODULES"]
