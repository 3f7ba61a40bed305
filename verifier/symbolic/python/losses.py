"""What a statement of a module that is not followed may have changed.

The statement, and the functions of the project that may have run in it or be called by those it
gives them to, are gone through: whatever they name may have been changed, with all that leads to
it. Where they may reach any name of a module, or change a library, nothing is known any more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final, TypeAlias

from verifier.source import ir
from verifier.source.outline import BindingKind
from verifier.source.project import Module
from verifier.symbolic.python.heap import UNBOUND, Box, ObjectBox, Scope, SetBox
from verifier.symbolic.python.model import Class, Function
from verifier.symbolic.python.parts import box_parts, parts
from verifier.symbolic.python.vm import VM
from verifier.symbolic.values import ApiRef, ExternalRef, ModuleRef, Opaque, Ref

#: what a name of a module, or ``module.name``, is bound to
Lookup: TypeAlias = Callable[[Module, str], object]

#: built-in functions that reach names which are not written
_REACHING: Final = frozenset({"__import__", "eval", "exec", "globals", "locals"})
#: attributes that do
_WAYS: Final = frozenset(
    {"__builtins__", "__globals__", "_getframe", "currentframe", "f_globals", "f_locals",
     "import_module", "reload"}
)  # fmt: skip
#: attributes that lead from a class to others
_KIN: Final = frozenset({"__base__", "__bases__", "__class__", "__mro__", "__subclasses__", "mro"})
#: built-in functions that do nothing to a class that they are given
_ASKING: Final = frozenset(
    {"callable", "getattr", "hasattr", "id", "isinstance", "issubclass", "print", "repr", "str"}
)
_SETTERS: Final = frozenset({"delattr", "setattr"})
#: where the names of what libraries have been given are kept, see :func:`is_patched`
_PATCHED: Final = "libraries that have been changed"


def is_patched(vm: VM, dotted: str) -> bool:
    """Whether a statement that is not followed may have changed a name of a library."""
    found = vm.memo.get(_PATCHED)
    if not isinstance(found, set):
        return False
    return any(dotted == path or dotted.startswith(f"{path}.") for path in found)


class Losses:
    """What is lost by one statement. ``values`` are of names that it binds anew, before it ran."""

    def __init__(self, vm: VM, lookup: Lookup, before: dict[str, object]) -> None:
        self._vm = vm
        self._lookup = lookup
        self._before = before
        self._here = vm.frame.module
        #: boxes, and functions and classes by identity, that may have been changed
        self._lost: set[object] = set()
        self._classes: list[Class] = []
        #: whether any class that is met may have been changed
        self._any_class = False
        self._done: set[int] = set()
        #: names whose value is not known, and whose bindings have been read
        self._opened: set[tuple[Module, str]] = set()
        self._values: list[object] = []
        self._kept: list[object] = []
        #: names that may be bound to something else
        self.rebound: set[tuple[Module, str]] = set()
        #: whether anything at all may have changed
        self.everything = False

    def find(self, statement: ir.Stmt) -> None:
        """Go through a statement, and through what may have run in it."""
        self._read(statement, self._here)
        while self._values and not self.everything:
            self._follow(self._values.pop())
        if self._any_class:
            self._lost.update(id(cls) for cls in self._classes)

    # -- values ----------------------------------------------------------------------

    def _follow(self, value: object) -> None:
        """What may be changed by who has a value, and the code that it may run."""
        vm = self._vm
        if isinstance(value, Ref):
            if value in self._lost or value.id in self._done:
                return
            self._done.add(value.id)
            box = vm.heap.find(value.id)
            if box is not None and not self._is_module(value):
                if _is_mutable(box):
                    self._lost.add(value)
                if not isinstance(box, Scope):
                    self._give_classes(box_parts(box))
                self._values.extend(_held(box))
            return
        if isinstance(value, (Function, Class)):
            if id(value) in self._done:
                return
            self._done.add(id(value))
            self._kept.append(value)
        if isinstance(value, Function):
            self._read(value.definition, value.module)
            outer = value.closure
            if any(isinstance(node, ir.Nonlocal) for node in _walk(value.definition)):
                while outer is not None:
                    self._lost.add(outer)
                    box = vm.heap.find(outer.id)
                    parent = box.parent if isinstance(box, Scope) else None
                    outer = None if parent is None else Ref(parent)
            self._values.extend(parts(value))
        elif isinstance(value, Class):
            self._classes.append(value)
            self._values.extend(_of_class(vm, value))
        else:
            if isinstance(value, tuple):
                self._give_classes(value)
            self._values.extend(parts(value))

    def _give_classes(self, values: Iterable[object]) -> None:
        """Classes that are handed on as they are may be changed."""
        for value in values:
            if isinstance(value, Class):
                self._lost.add(id(value))
                self._kept.append(value)

    def _is_module(self, ref: Ref) -> bool:
        return any(found.scope == ref for found in self._vm.modules.values())

    def loses(self, value: object) -> bool:
        """Whether a value leads to what may have been changed."""
        stack, seen = [value], set[object]()
        while stack:
            item = stack.pop()
            known: object = item if isinstance(item, Ref) else id(item)
            if known in self._lost:
                return True
            if known in seen:
                continue
            seen.add(known)
            if isinstance(item, Ref):
                box = self._vm.heap.find(item.id)
                if box is not None and not self._is_module(item):
                    stack.extend(_held(box))
            elif isinstance(item, Class):
                stack.extend(_of_class(self._vm, item))
            else:
                stack.extend(parts(item))
        return False

    # -- text ------------------------------------------------------------------------

    def _read(self, node: ir.Node, module: Module) -> None:
        quiet: set[int] = set()
        for item in _walk(node):
            if isinstance(item, ir.Name):
                self._name(item.id, module, id(item) in quiet)
            elif isinstance(item, ir.Attribute):
                quiet.add(id(item.value))
                self._attribute(item, module)
            elif isinstance(item, ir.Call):
                self._call(item, module, quiet)
            elif isinstance(item, ir.Global):
                self.rebound.update((module, name) for name in item.names)
            elif isinstance(item, (ir.Assign, ir.Delete)):
                self._stores(item.targets, module)
            elif isinstance(item, (ir.AnnAssign, ir.AugAssign)):
                self._stores((item.target,), module)
            elif isinstance(item, (ir.For, ir.With)):
                targets = (
                    [item.target]
                    if isinstance(item, ir.For)
                    else [w.target for w in item.items if w.target is not None]
                )
                self._stores(targets, module)

    def _name(self, name: str, module: Module, quiet: bool) -> None:
        value = self._lookup(module, name)
        if value is UNBOUND:
            self.everything = self.everything or name in _REACHING
            return
        if isinstance(value, Opaque) and value.lost and (module, name) not in self._opened:
            self._opened.add((module, name))
            for statement in module.statements_binding(name):  # what it may stand for
                self._read(statement, module)
        for found in (value, self._before.get(name) if module is self._here else None):
            self._values.append(found)
            if quiet:
                continue
            self._give_classes((found,))
            if isinstance(found, (ModuleRef, ExternalRef, ApiRef)):
                binding = module.binding(name)
                if isinstance(found, ModuleRef) or (binding and binding.kind is BindingKind.IMPORT):
                    self._change_library(found)

    def _attribute(self, node: ir.Attribute, module: Module) -> None:
        owner = self._owner(node.value, module)
        if isinstance(owner, ModuleRef) and owner.module is not None:
            self._values.append(self._lookup(owner.module, node.attr))
        modules = isinstance(owner, ExternalRef) and owner.path == "sys" and node.attr == "modules"
        ways = node.attr == "__dict__" and isinstance(owner, (ModuleRef, ExternalRef, ApiRef))
        if node.attr in _WAYS or modules or ways:
            self.everything = True
        if node.attr in _KIN:
            self._any_class = True

    def _owner(self, node: ir.Expr, module: Module) -> object:
        """What a chain of names stands for, as far as modules go."""
        if isinstance(node, ir.Name):
            return self._lookup(module, node.id)
        if not isinstance(node, ir.Attribute):
            return UNBOUND
        owner = self._owner(node.value, module)
        if isinstance(owner, ModuleRef) and owner.module is not None:
            return self._lookup(owner.module, node.attr)
        if isinstance(owner, ExternalRef):
            return ExternalRef(f"{owner.path}.{node.attr}", owner.imported, owner.where)
        return owner if isinstance(owner, (ApiRef, Class, Opaque)) else UNBOUND

    def _call(self, node: ir.Call, module: Module, quiet: set[int]) -> None:
        quiet.add(id(node.func))
        if isinstance(self._owner(node.func, module), (ExternalRef, Opaque)):
            given = [*node.args, *(keyword.value for keyword in node.keywords)]
            self.everything |= any(self._is_api(arg, module) for arg in given)
        if not isinstance(node.func, ir.Name):
            return
        name = node.func.id
        if self._lookup(module, name) is not UNBOUND:
            return
        if name in _ASKING:
            quiet.update(map(id, node.args))
            quiet.update(id(x) for a in node.args for x in ir.children(a))
        elif name == "vars" and not node.args:
            self.everything = True
        elif name in _SETTERS and node.args:
            quiet.add(id(node.args[0]))
            named = node.args[1] if len(node.args) > 1 else None
            attr = named.value if isinstance(named, ir.Const) else None
            self._store(node.args[0], str(attr) if isinstance(attr, str) else "", module)

    def _is_api(self, node: ir.Expr, module: Module) -> bool:
        """Whether a chain of names stands for something of a kernel API that can be changed."""
        value = self._owner(node.value if isinstance(node, ir.Attribute) else node, module)
        if isinstance(node, ir.Attribute) and isinstance(value, ApiRef):
            value = self._vm.dialect.attribute(self._vm, value, node.attr, node.span)
        return isinstance(value, ApiRef)

    def _stores(self, targets: Iterable[ir.Expr], module: Module) -> None:
        """What assignments to attributes, also those in tuples, may change."""
        stack = list(targets)
        while stack:
            target = stack.pop()
            if isinstance(target, ir.Attribute):
                self._store(target.value, target.attr, module)
            elif not isinstance(target, (ir.Name, ir.Subscript)):
                stack.extend(n for n in ir.children(target) if isinstance(n, ir.Expr))

    def _store(self, node: ir.Expr, attr: str, module: Module) -> None:
        owner = self._owner(node, module)
        if isinstance(owner, (ModuleRef, ApiRef)):
            self.everything = True
        elif isinstance(owner, ExternalRef):
            path = f"{owner.path}.{attr}" if attr else owner.path
            self._change_library(ExternalRef(path, owner.imported, owner.where))
        elif isinstance(owner, (Class, Function)):
            self._lost.add(id(owner))
            self._kept.append(owner)
        elif not (isinstance(node, ir.Name) and (node.id == "self" or owner is not UNBOUND)):
            self._any_class = True  # it may be one of them under another name

    def _change_library(self, value: ModuleRef | ExternalRef | ApiRef) -> None:
        vm = self._vm
        if isinstance(value, ExternalRef):
            known = (*vm.language.modules, "builtins")
            names = [value.path.rpartition(".")[0], value.path]
            if not any(name in known for name in names):
                found = vm.memo.setdefault(_PATCHED, set())
                assert isinstance(found, set)
                found.add(value.path)
                return
        self.everything = True


def _walk(node: ir.Node) -> Iterator[ir.Node]:
    """A node and all in it, owners before what they own."""
    stack = [node]
    while stack:
        item = stack.pop()
        yield item
        stack.extend(ir.children(item))


def _is_mutable(box: Box) -> bool:
    if isinstance(box, ObjectBox):
        return not _is_member(box)
    return not (isinstance(box, SetBox) and box.frozen) and not isinstance(box, Scope)


def _is_member(box: ObjectBox) -> bool:
    """Whether an object is a member of an enumeration."""
    return isinstance(box.cls, Class) and "enum" in box.cls.traits


def _held(box: Box) -> Iterator[object]:
    yield from box_parts(box)
    if isinstance(box, ObjectBox):
        yield box.cls


def _of_class(vm: VM, cls: Class) -> Iterator[object]:
    """What a class has, and what it derives from."""
    box = vm.heap.find(cls.namespace.id)
    if box is not None:
        yield from box_parts(box)
    yield from cls.ancestors
