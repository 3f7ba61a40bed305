"""Names: local, enclosing, of the module, imported, built in; and what is bound nowhere."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

from verifier.source import ir
from verifier.source.text import SourceError
from verifier.symbolic import expr as E
from verifier.symbolic.interpreter import arithmetic, builtins, classes
from verifier.symbolic.interpreter.heap import UNBOUND, Heap, Scope
from verifier.symbolic.interpreter.terms import join
from verifier.symbolic.values import ExternalRef, Function, Guarded, ModuleRef, Opaque

if TYPE_CHECKING:
    from verifier.source.project import Binding, Module
    from verifier.symbolic.interpreter.vm import VM


def lookup(vm: VM, node: ir.Name) -> object:
    """The value of a name; an unbound one is a violation on every path that gets here."""
    number: int | None = vm.frame.scope
    while number is not None:
        box = vm.heap.get(number)
        assert isinstance(box, Scope)
        value = box.names.get(node.id, UNBOUND)
        if isinstance(value, Guarded):
            return _bound_cases(vm, node, value)
        if value is not UNBOUND:
            return value
        number = box.parent
    value = module_global(vm, vm.frame.module, node.id)
    if value is not UNBOUND:
        return value
    value = builtins.find(node.id)
    if value is not UNBOUND:
        return value
    module = vm.frame.module
    if any(
        vm.project.resolve_import(module, s.module, s.level) is None for s in module.star_imports
    ):
        for star in module.star_imports:
            found = vm.dialect.root(f"{star.module}.{node.id}")
            if found is not None:
                return found
        missing = " or ".join(
            f"`{'.' * s.level}{s.module}`"
            for s in module.star_imports
            if vm.project.resolve_import(module, s.module, s.level) is None
        )
        return Opaque(f"`{node.id}`, which may come from {missing}, which is not found")
    if node.id in module.broken:
        return Opaque(f"`{node.id}`, whose definition does not parse")
    vm.check(
        "unbound-name",
        E.FALSE,
        node.span,
        f"`{node.id}` is bound",
        f"`{node.id}` is bound nowhere on this path",
    )
    vm.dies()
    return None


def known(vm: VM, name: str) -> bool:
    """Whether a name means something here; asking is no use of it."""
    number: int | None = vm.frame.scope
    while number is not None:
        box = vm.heap.get(number)
        assert isinstance(box, Scope)
        if box.names.get(name, UNBOUND) is not UNBOUND:
            return True
        number = box.parent
    if module_global(vm, vm.frame.module, name) is not UNBOUND:
        return True
    stars = vm.frame.module.star_imports
    if any(vm.dialect.root(f"{star.module}.{name}") is not None for star in stars):
        return True
    return builtins.find(name) is not UNBOUND


def _bound_cases(vm: VM, node: ir.Name, value: Guarded) -> object:
    """A name bound on some paths only: reading it elsewhere is a violation."""
    live = arithmetic.live_cases(vm, value)
    unbound = E.or_(*(g for g, v in live if v is UNBOUND))
    bound = [(g, v) for g, v in live if v is not UNBOUND]
    if unbound is not E.FALSE and vm.decide(unbound) is not False:
        vm.check(
            "unbound-name",
            E.not_(unbound),
            node.span,
            f"`{node.id}` is bound",
            f"`{node.id}` may be read before anything is bound to it",
        )
    if not bound:
        vm.dies()
    result = bound[-1][1]
    for guard, item in reversed(bound[:-1]):
        result = join(guard, item, result)
    return result


# ------------------------------------------------------------------------ module level


def module_global(vm: VM, module: Module, name: str) -> object:
    """The value of a module's global name, evaluated when first asked for."""
    key = (str(module.path), name)
    if key in vm.globals:
        return vm.globals[key]
    binding = module.binding(name)
    if binding is None:
        return _through_stars(vm, module, name)
    if key in vm._evaluating:
        return Opaque(f"`{name}`, which depends on itself")
    vm._evaluating.add(key)
    try:
        value = _evaluate_binding(vm, module, name, binding)
    except SourceError as error:
        vm.approximate("unmodelled", f"`{name}` cannot be read: {error}", vm.trace.span)
        value = Opaque(f"`{name}`, which cannot be read")
    finally:
        vm._evaluating.discard(key)
    vm.globals[key] = value
    return value


def _through_stars(vm: VM, module: Module, name: str) -> object:
    found = vm.project.resolve_name(module, name)
    if found is None:
        return UNBOUND
    return _resolved(vm, *found)


def _resolved(vm: VM, module: Module, name: str | None) -> object:
    if name is None:
        return ModuleRef(str(module.path), module)
    return module_global(vm, module, name)


def _evaluate_binding(vm: VM, module: Module, name: str, binding: Binding) -> object:
    if binding.kind == "import":
        if binding.module and vm.project.resolve_import(module, binding.module) is not None:
            found = vm.project.resolve_name(module, name)
            if found is not None and found[1] is None:
                return ModuleRef(str(found[0].path), found[0])
        dotted = binding.module or name
        return external(vm, dotted, dotted, _import_place(vm, module, binding.line))
    if binding.kind == "from":
        found = vm.project.resolve_from(
            module, binding.module, binding.level, binding.original or name
        )
        if found is not None and (found[0] is not module or found[1] != name):
            return _resolved(vm, *found)
        dotted = f"{binding.module}.{binding.original or name}"
        source = "." * binding.level + binding.module
        return external(vm, dotted, source, _import_place(vm, module, binding.line))
    return _run_at_module_level(vm, module, name, binding)


def _import_place(vm: VM, module: Module, line: int) -> str:
    """Where an import stands, in words."""
    elsewhere = str(module.path) != vm.trace.path
    return f"line {line} of {module.path.name}" if elsewhere else f"line {line}"


def external(vm: VM, dotted: str, imported: str = "", where: str = "") -> object:
    """What an import that is not on disk means: a kernel API, or a library that is not followed.

    ``imported`` and ``where`` tell of the import, see :class:`ExternalRef`.
    """
    value = vm.dialect.root(dotted)
    if value is None:
        value = vm.dialect.external(dotted)
    return value if value is not None else ExternalRef(dotted, imported, where)


def _run_at_module_level(vm: VM, module: Module, name: str, binding: Binding) -> object:
    """Run the top-level statements that bind the name, in a scope of the module's own."""
    from verifier.symbolic.interpreter import statements
    from verifier.symbolic.interpreter.vm import Frame

    definition = module.definition(name)
    if isinstance(definition, ir.FunctionDef):
        return Function(definition, module, qualname=name)
    number = vm.module_scopes.get(str(module.path))
    if number is None:
        number = vm.heap.new_base(Scope()).id
        vm.module_scopes[str(module.path)] = number
    with before_the_kernel(vm):
        vm.frames.append(Frame(module, number, 0))
        try:
            if isinstance(definition, ir.ClassDef):
                return classes.define(vm, definition, module)
            statements.execute(vm, module.statements_binding(name))
            scope = vm.heap.get(number)
            assert isinstance(scope, Scope)
            value = scope.names.get(name, UNBOUND)
            return Opaque(f"the global `{name}`") if value is UNBOUND else value
        finally:
            vm.frames.pop()


@contextlib.contextmanager
def before_the_kernel(vm: VM) -> Iterator[None]:
    """Evaluate what ran when its module was imported: its objects live below every path."""
    saved_heap, saved_path, saved_loops = vm.heap, list(vm._path), list(vm._loops)
    heap = Heap(vm.base, vm.heap.ids)
    vm.heap = heap
    vm.cut_path(0)
    vm._loops = []
    try:
        yield
    finally:
        vm.heap = saved_heap
        vm._path = saved_path
        vm._loops = saved_loops
        for box_number, box in heap.boxes.items():
            box.owner = 0
            vm.base[box_number] = box


def local_import(vm: VM, stmt: ir.Import | ir.ImportFrom) -> None:
    """An import inside a function."""
    from verifier.symbolic.interpreter import statements

    module = vm.frame.module
    where = _import_place(vm, module, stmt.span.line)
    for alias in stmt.names:
        if isinstance(stmt, ir.Import):
            bound = alias.asname or alias.name.partition(".")[0]
            wanted = alias.name if alias.asname else alias.name.partition(".")[0]
            found = vm.project.resolve_import(module, wanted)
            value = external(vm, wanted, wanted, where)
            if found is not None:
                value = ModuleRef(str(found.path), found)
        else:
            bound = alias.asname or alias.name
            resolved = vm.project.resolve_from(module, stmt.module, stmt.level, alias.name)
            value = (
                _resolved(vm, *resolved)
                if resolved is not None
                else external(
                    vm, f"{stmt.module}.{alias.name}", "." * stmt.level + stmt.module, where
                )
            )
        statements.bind_name(vm, bound, value)
