"""Modules of the project: their bodies, their names, and what their imports mean.

A module's body is run before anything is read from it. Statements whose only effect is to bind a
name once (definitions, imports, plain assignments) run when the name is first asked for, which no
program can tell from running them in order; all others run in order, see
:mod:`verifier.source.effects`.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from verifier.source import fragments, ir
from verifier.source.order import Order
from verifier.source.outline import BindingKind
from verifier.source.scopes import bound_by
from verifier.source.text import SourceError
from verifier.symbolic import expr as E
from verifier.symbolic.python import losses, missing
from verifier.symbolic.python.flow import Ended, Frame
from verifier.symbolic.python.heap import UNBOUND, Heap, ListBox, Scope
from verifier.symbolic.python.vm import VM, Globals
from verifier.symbolic.trace import LedgerEntry, LedgerKind
from verifier.symbolic.values import ExternalRef, FolderText, ModuleRef, Opaque, Ref

if TYPE_CHECKING:
    from verifier.source.project import Binding, Module


def started(vm: VM, module: Module, *, here: bool = False) -> Globals:
    """A module of the project, its body run; ``here``: by an import that is being executed."""
    key = str(module.path)
    found = vm.modules.get(key)
    if found is not None:
        return found
    program = vm.program
    if program is None:
        program = vm.program = Order(vm.project)
        vm.ordered = program.matters(module)
    found = vm.modules[key] = Globals(Ref(0), Ref(next(vm.heap.ids)), at=-1)
    vm.base[found.waiting.id] = Scope({})
    # what an import raises goes to the handlers around it
    straight = here and vm.importing and not vm.forking and not vm._loops
    outside = vm.outside()
    try:
        with _in_place() if straight else before_the_kernel(vm) as changed:
            found.scope = vm.heap.new(Scope(_own_names(vm, module)))
            _run_body(vm, module, found)
    except SourceError as error:
        vm.unfollowed(f"`{module.path.name}` cannot be read: {error}", vm.trace.span)
    except Ended:
        del vm.modules[key]  # who imports it again runs it again
        raise
    if changed or (straight and vm.outside() > outside):
        what = f"`{module.path.name}` is imported, or changes what it did not make, on some paths"
        vm.unfollowed(f"{what} only", vm.trace.span)
    return found


def _own_names(vm: VM, module: Module) -> dict[str, object]:
    """The names that a module has before its body runs."""
    name = dotted_name(module)
    own: dict[str, object] = {"__name__": name, "__file__": str(module.path)}
    if module.path.name != "__init__.py":
        return {**own, "__package__": name.rpartition(".")[0]}
    said = f"the folder of `{name}`"
    folder = FolderText(said, host=str, folder=os.path.dirname(module.file))  # noqa: PTH120
    return {**own, "__package__": name, "__path__": vm.heap.new(ListBox.of([folder]))}


@contextlib.contextmanager
def _in_place() -> Iterator[list[int]]:
    """Evaluate right here, as :func:`before_the_kernel` does elsewhere."""
    yield []


def dotted_name(module: Module) -> str:
    """The name under which a module is imported."""
    package = module.path.absolute().parent
    names = [] if module.path.stem == "__init__" else [module.path.stem]
    while (package / "__init__.py").is_file() and package.name:
        names.append(package.name)
        package = package.parent
    return ".".join(reversed(names)) or module.path.stem


def _run_body(vm: VM, module: Module, globals_: Globals) -> None:
    assert vm.program is not None
    running = set(module.effect_chunks)
    if vm.ordered:
        running.update(vm.program.running(module))
    running.update(missing.chunks(vm, module))
    globals_.ordered = frozenset(running)
    starting = dict(vm.program.starting(module))
    vm.frames.append(Frame(module, globals_.scope.id, 0))
    try:
        for chunk in sorted({*running, *starting}):
            globals_.at = chunk
            if chunk not in running:
                for found in starting[chunk]:
                    started(vm, found, here=True)
                if not missing.of_running(vm, module, chunk):
                    continue
                globals_.ordered |= {chunk}
            for statement in module.statements_of(chunk):
                _run_statement(vm, statement)
        globals_.at = None
    finally:
        vm.frames.pop()


def _run_statement(vm: VM, statement: ir.Stmt) -> None:
    """Run a statement of a module's body; what it may have done is unknown if it has no model."""
    trace = vm.trace
    traced = (trace.ledger, trace.assumptions, trace.unmodelled, trace.operations, trace.storages)
    noted = [(found, len(found)) for found in (*traced, vm.checks)]
    outside = vm.outside()
    before = _names_of(vm, vm.globals_of(vm.frame.module))
    try:
        vm.exec((statement,))
    except Ended:
        if vm.outside() > outside:  # an import in another module has a handler for it
            raise
    new = trace.ledger[noted[0][1] :]
    final = [entry for entry in new if entry.order == _FROM_THE_START]
    skipped = [e for e in new if e.kind is LedgerKind.SKIPPED and e.order != _FROM_THE_START]
    if not skipped:
        # what is not known of the module's data is unknown wherever a kernel uses it
        known = [e for e in new if e.symbols or e.kind is LedgerKind.RUNTIME]
        trace.ledger[noted[0][1] :] = [*final, *known]
        return
    certain = [check for check in vm.checks[noted[-1][1] :] if check.order <= skipped[0].order]
    for found, length in noted:
        del found[length:]  # nothing is blamed for what is not followed
    vm.checks.extend(certain)
    trace.ledger.extend(final)
    reason = skipped[0].message
    lost = losses.Losses(vm, lambda module, name: global_value(vm, module, name), before)
    lost.find(statement)
    if lost.everything:
        trace.ledger.append(
            LedgerEntry(LedgerKind.SKIPPED, reason, skipped[0].span, (), _FROM_THE_START)
        )
    _forget(vm, vm.frame.module, set(bound_by(statement)), reason)
    for owner, name in lost.rebound:
        _forget(vm, owner, {name}, reason)
    for key, globals_ in list(vm.modules.items()):
        names = {name for name, value in _names_of(vm, globals_).items() if lost.loses(value)}
        _forget(vm, vm.project.module(Path(key)), names, reason)


#: the order of what is not followed before the kernel starts, and leaves nothing that is known
_FROM_THE_START: Final = -1


def _names_of(vm: VM, globals_: Globals) -> dict[str, object]:
    """What the names of a module are bound to, but for those that nobody has asked for yet."""
    scope = vm.heap.get(globals_.scope.id)
    assert isinstance(scope, Scope)
    return {**_waiting(vm, globals_), **scope.names}


def _forget(vm: VM, module: Module, names: set[str], reason: str) -> None:
    """Make what some global names are bound to unknown."""
    if not names:
        return
    scope = vm.heap.write(vm.modules[str(module.path)].scope.id)
    assert isinstance(scope, Scope)
    for name in names:
        scope.names[name] = Opaque(f"`{name}`: {reason}", lost=True)


@contextlib.contextmanager
def before_the_kernel(vm: VM) -> Iterator[list[int]]:
    """Evaluate what ran when its module was imported: its objects live below every path.

    What waits while a module's body runs is evaluated apart from the paths of that body, on which
    it does not depend. What it changed none the less is lost, and listed.
    """
    heap, path, loops = vm.heap, list(vm._path), list(vm._loops)
    landings, frames = vm.landings, vm.frames
    nested, forking = vm.importing, vm.forking
    if nested:
        vm.heap = heap.fork()
    else:
        vm.heap = Heap(vm.base, heap.ids)
        vm.heap.boxes = dict(vm.base)
    known = set(vm.heap.boxes) if nested else set()
    changed: list[int] = []
    vm.landings, vm.frames, vm.importing, vm.forking = [], list(frames[:1]), True, 0
    vm.cut_path(0)
    vm._loops = []
    try:
        yield changed
    finally:
        made = vm.heap
        vm.landings, vm.frames, vm.importing, vm.forking = landings, frames, nested, forking
        vm._path[:] = path
        vm._loops = loops
        vm.heap = heap
        for number, box in made.boxes.items():
            if number not in known:
                box.owner = 0
                vm.base[number] = box
            elif box is not heap.boxes.get(number):
                changed.append(number)


# ------------------------------------------------------------------------ names


def global_value(vm: VM, module: Module, name: str) -> object:
    """The value of a module's global name, :data:`UNBOUND` if its body binds none."""
    globals_ = started(vm, module)
    scope = vm.heap.get(globals_.scope.id)
    assert isinstance(scope, Scope)
    if name in scope.names:
        return scope.names[name]  # UNBOUND if it has been deleted
    waiting = _waiting(vm, globals_)
    if name in waiting:
        return waiting[name]
    binding = module.binding(name)
    if binding is None:
        found = vm.project.resolve_name(module, name)
        if found is not None:
            return resolved(vm, *found)
        implied = fragments.meaning(module, name)
        if implied is not None:
            return external(vm, implied)
        if name not in vm.language.builtins and fragments.is_fragment(module):
            return Opaque(f"`{name}`, which is bound nowhere in this fragment")
        hidden = globals_.hiding and name in vm.language.builtins
        return _hidden(name, globals_.hiding) if hidden else UNBOUND
    if not _is_pending(module, name, globals_):
        return UNBOUND  # not bound yet
    return _evaluated(vm, module, name, binding, globals_)


def _waiting(vm: VM, globals_: Globals) -> dict[str, object]:
    """What has been asked for of the names that are bound when somebody asks."""
    box = vm.base[globals_.waiting.id]
    assert isinstance(box, Scope)
    return box.names


def _is_pending(module: Module, name: str, globals_: Globals) -> bool:
    """Whether a name is bound as soon as it is asked for."""
    if not module.is_deferred(name):
        return False
    chunks = module.binding_chunks(name)
    if globals_.ordered is not None and any(chunk in globals_.ordered for chunk in chunks):
        return False
    return globals_.at is None or any(chunk < globals_.at for chunk in chunks)


def is_waiting(vm: VM, module: Module, name: str) -> bool:
    """Whether a global name is bound to something that nobody has asked for yet."""
    globals_ = started(vm, module)
    scope = vm.heap.get(globals_.scope.id)
    assert isinstance(scope, Scope)
    if name in scope.names or module.binding(name) is None:
        return False
    return _is_pending(module, name, globals_)


def _evaluated(vm: VM, module: Module, name: str, binding: Binding, globals_: Globals) -> object:
    if name in globals_.running:
        return Opaque(f"`{name}`, which depends on itself")
    globals_.running.add(name)
    try:
        with before_the_kernel(vm):
            value = _bound(vm, module, name, binding, globals_)
    except SourceError as error:
        vm.approximate(LedgerKind.UNMODELLED, f"`{name}` cannot be read: {error}", vm.trace.span)
        value = Opaque(f"`{name}`, which cannot be read")
    finally:
        globals_.running.discard(name)
    _waiting(vm, globals_)[name] = value
    return value


def _bound(vm: VM, module: Module, name: str, binding: Binding, globals_: Globals) -> object:
    if binding.kind is BindingKind.IMPORT:
        if binding.module and vm.project.resolve_import(module, binding.module) is not None:
            found = vm.project.resolve_name(module, name)
            if found is not None and found[1] is None:
                return ModuleRef(str(found[0].path), found[0])
        dotted = binding.module or name
        return external(vm, dotted, dotted, import_place(vm, module, binding.line))
    if binding.kind is BindingKind.FROM:
        return _from_import(vm, module, name, binding)
    vm.frames.append(Frame(module, globals_.scope.id, 0))
    try:
        with contextlib.suppress(Ended):
            vm.exec(module.statements_binding(name))
        scope = vm.heap.get(globals_.scope.id)
        assert isinstance(scope, Scope)
        value = scope.names.get(name, UNBOUND)
        return Opaque(f"the global `{name}`") if value is UNBOUND else value
    finally:
        vm.frames.pop()


def _from_import(vm: VM, module: Module, name: str, binding: Binding) -> object:
    original = binding.original or name
    found = vm.project.resolve_from(module, binding.module, binding.level, original)
    if found is not None and (found[0] is not module or found[1] != name):
        return resolved(vm, *found)
    dotted = f"{binding.module}.{original}"
    source = "." * binding.level + binding.module
    return external(vm, dotted, source, import_place(vm, module, binding.line))


def resolved(vm: VM, module: Module, name: str | None) -> object:
    if name is None:
        return ModuleRef(str(module.path), module)
    value = global_value(vm, module, name)
    if value is UNBOUND:
        value = elsewhere(vm, module, name)
    return Opaque(f"`{name}` of `{module.path.name}`") if value is UNBOUND else value


def bind_global(vm: VM, module: Module, name: str, value: object) -> None:
    """``global name`` and an assignment to it."""
    globals_ = started(vm, module)
    global_value(vm, module, name)  # what the body binds is bound before
    scope = vm.heap.write(globals_.scope.id)
    assert isinstance(scope, Scope)
    scope.names[name] = value


def hide(vm: VM, module: Module, library: str) -> None:
    """``from library import *``, of one that is not found: any name bound so far may be another."""
    globals_ = vm.globals_of(module)
    globals_.hiding = library
    waiting = {name for name in module.bindings if is_waiting(vm, module, name)}
    scope = vm.heap.write(globals_.scope.id)
    assert isinstance(scope, Scope)
    for name in (*scope.names, *waiting):
        if not name.startswith("_"):
            scope.names[name] = _hidden(name, library)


def _hidden(name: str, library: str) -> Opaque:
    return Opaque(f"`{name}`, which may come from `{library}`, which is not found", lost=True)


def elsewhere(vm: VM, module: Module, name: str) -> object:
    """What a name may be that nothing on disk binds: a star import, a definition that is broken."""
    stars = module.star_imports
    missing = [s for s in stars if vm.project.resolve_import(module, s.module, s.level) is None]
    if missing:
        for star in stars:
            found = vm.dialect.root(f"{star.module}.{name}")
            if found is None:
                found = vm.language.modules.get(star.module, {}).get(name)
            if found is not None:
                return found
        listed = " or ".join(f"`{'.' * s.level}{s.module}`" for s in missing)
        return Opaque(f"`{name}`, which may come from {listed}, which is not found")
    if name in module.broken:
        return Opaque(f"`{name}`, whose definition does not parse")
    return UNBOUND


def module_attribute(vm: VM, ref: ModuleRef, name: str, span: ir.Span) -> object:
    """``module.name``, :data:`UNBOUND` if there is none."""
    if ref.module is None:
        return external(vm, f"{ref.path}.{name}")
    value = global_value(vm, ref.module, name)
    if value is UNBOUND:
        sub = vm.project.resolve_from(ref.module, "", 1, name)
        if sub is not None and sub[1] is None:
            return ModuleRef(str(sub[0].path), sub[0])
        value = elsewhere(vm, ref.module, name)
        part = f"{dotted_name(ref.module)}.{name}"
        if value is UNBOUND and _is_imported(vm.frame.module, part):
            return external(vm, part, part)  # a part that is not on disk: it may be compiled
        if value is UNBOUND:
            # a module of the project in the place of a kernel API: what it leaves out is the API's
            stands_for = vm.dialect.root(part)
            value = UNBOUND if stands_for is None else stands_for
        hook = global_value(vm, ref.module, "__getattr__")
        if value is UNBOUND and hook is not UNBOUND and name != "__getattr__":
            return vm.call(hook, (name,), span=span)
    return value


def _is_imported(module: Module, part: str) -> bool:
    """Whether a module's text imports a part of a package, anywhere: ``import package.part``."""
    return re.search(rf"\bimport\b[^\n]*\b{re.escape(part)}\b", module.text) is not None


# ------------------------------------------------------------------------ imports


def import_place(vm: VM, module: Module, line: int) -> str:
    """Where an import stands, in words."""
    other = str(module.path) != vm.trace.path
    return f"line {line} of {module.path.name}" if other else f"line {line}"


def external(vm: VM, dotted: str, imported: str = "", where: str = "") -> object:
    """What an import that is not on disk means.

    A kernel API, a part of the standard library that has a model, or a library that is not
    followed. ``imported`` and ``where`` tell of the import, see :class:`ExternalRef`.
    """
    if losses.is_patched(vm, dotted):
        return Opaque(f"`{dotted}`, which a statement that is not followed may change", lost=True)
    value = vm.dialect.root(dotted)
    if value is None:
        value = vm.dialect.external(dotted)
    if value is not None:
        return value
    owner, _, attr = dotted.rpartition(".")
    if owner in vm.language.modules and attr in vm.language.modules[owner]:
        known = vm.language.modules[owner][attr]
        # a term is of one analysis, the tables are of all
        return E.const(known) if type(known) is int else known
    return ExternalRef(dotted, imported, where)
