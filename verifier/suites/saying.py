"""The arguments of a launch as a contract."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from verifier.configuration import contracts as tree
from verifier.configuration.showing import text_of
from verifier.source import apis
from verifier.source.ir import Span
from verifier.source.outline import BindingKind
from verifier.source.project import Module
from verifier.suites.given import whole
from verifier.suites.machine import Launched, SuiteVM
from verifier.suites.values import Array, Constructed
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.python import modules
from verifier.symbolic.python.concrete import to_host
from verifier.symbolic.python.fields import DEFAULT
from verifier.symbolic.python.heap import UNBOUND, ListBox, ObjectBox
from verifier.symbolic.python.library.dataclass_fields import (
    fields_of,
    has_default,
    held_by,
)
from verifier.symbolic.python.model import Class
from verifier.symbolic.tensors import DType
from verifier.symbolic.values import (
    ApiRef,
    BufferValue,
    Enumerator,
    ExternalRef,
    Guarded,
    Opaque,
    Ref,
)

#: of objects in objects and lists in lists
_DEPTH: Final = 12


class NotEvidentError(Exception):
    """An argument that is not known, or that no contract can say."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def contract_of(vm: SuiteVM, launched: Launched, targets: Sequence[str]) -> str:
    """The contract of a launch on targets, without the kernel's name before it.

    Raises:
        NotEvidentError: there is none.
    """
    module = launched.function.module
    say = _Saying(vm, module, launched.span)
    parameters = []
    for param in launched.function.definition.params:
        if param.name not in launched.arguments:
            continue
        value = vm.settled(launched.arguments[param.name])
        try:
            parameters.append(tree.Parameter(param.name, say.spec(value, 0)))
        except NotEvidentError as error:
            raise NotEvidentError(f"`{param.name}`: {error.reason}") from error
    left = len(parameters) < len(launched.function.definition.params)
    grid = _grid(vm, launched)
    return text_of(tree.Contract(None, grid, tuple(parameters), (), left, tuple(targets)))


def _grid(vm: SuiteVM, launched: Launched) -> tuple[tree.Expression, ...]:
    sizes = [whole(vm, vm.settled(size)) for size in launched.grid or ()]
    if any(size is None or size < 1 for size in sizes):
        raise NotEvidentError("the grid is not known")
    return tuple(tree.Int(size) for size in sizes if size is not None)


class _Saying:
    """Values as a contract says them, for a kernel of one module."""

    def __init__(self, vm: SuiteVM, module: Module, span: Span) -> None:
        self.vm = vm
        self.module = module
        self.span = span

    def spec(self, value: object, depth: int) -> tree.Spec:
        """What a contract says of an input that is this value."""
        if depth > _DEPTH:
            raise NotEvidentError("it nests too deeply")
        if isinstance(value, Array):
            return _tensor(value)
        if value is None or isinstance(value, (bool, Bool)):
            return _literal(value)
        if isinstance(value, Expr):
            if not value.is_const:
                raise NotEvidentError(self.vm.because(value))
            return tree.IntSpec(tree.Int(value.const))
        if isinstance(value, str):
            return _text(value)
        if isinstance(value, DType):
            if value.name is None:
                raise NotEvidentError("the type is not known")
            return tree.TensorSpec((value.name,), None)
        if isinstance(value, tuple):
            return self._sequence("tuple", value, depth)
        if isinstance(value, (ApiRef, Enumerator, BufferValue)):
            return tree.NamedSpec(self._api(value))
        if isinstance(value, Constructed):
            args = tuple(self.spec(self.vm.settled(one), depth + 1) for one in value.args)
            keywords = self._keywords(dict(value.keywords), depth)
            return tree.ObjectSpec(self._api(value.api), args, keywords)
        if isinstance(value, Ref):
            return self._box(value, depth)
        if isinstance(value, Guarded):
            raise NotEvidentError("it depends on what is not known")
        if isinstance(value, (Opaque, ExternalRef)):
            raise NotEvidentError(value.said if isinstance(value, ExternalRef) else value.reason)
        return self._number(value)

    def _number(self, value: object) -> tree.Spec:
        held = to_host(self.vm, value)
        if not isinstance(held, float) or not math.isfinite(held):
            what = self.vm.kind(value).describe(self.vm, value)
            raise NotEvidentError(f"{what}, which no contract can say")
        return tree.FloatSpec(held)

    def _sequence(self, kind: str, items: tuple[object, ...], depth: int) -> tree.Spec:
        specs = tuple(self.spec(self.vm.settled(item), depth + 1) for item in items)
        return tree.SequenceSpec("list" if kind == "list" else "tuple", specs)

    # -- objects -------------------------------------------------------------------------

    def _box(self, ref: Ref, depth: int) -> tree.Spec:
        box = self.vm.box(ref)
        if isinstance(box, ListBox):
            items = box.concrete
            if items is None:
                raise NotEvidentError("the length of a list is not known")
            return self._sequence("list", items, depth)
        if not isinstance(box, ObjectBox) or not isinstance(box.cls, Class):
            what = self.vm.kind(ref).describe(self.vm, ref)
            raise NotEvidentError(f"{what}, which no contract can say")
        if "enum" in box.cls.traits:
            member = box.attributes.get("_name_")
            if not isinstance(member, str):
                raise NotEvidentError(f"a member of `{box.cls.name}` without a name")
            return tree.NamedSpec((*self._path(box.cls), member))
        return self._object(ref, box, box.cls, depth)

    def _object(self, ref: Ref, box: ObjectBox, cls: Class, depth: int) -> tree.Spec:
        path = self._path(cls)
        named = _fields(self.vm, cls, box)
        if named is None:
            made = self.vm.made.get(ref.id)
            if made is None or made.attributes != box.attributes:
                raise NotEvidentError(f"how an object of `{cls.name}` is made is not known")
            args = tuple(self.spec(self.vm.settled(value), depth + 1) for value in made.args)
            return tree.ObjectSpec(path, args, self._keywords(made.keywords, depth))
        return tree.ObjectSpec(path, (), self._keywords(named, depth))

    def _keywords(self, named: Mapping[str, object], depth: int) -> tuple[tree.Parameter, ...]:
        out = []
        for name, value in named.items():
            try:
                out.append(tree.Parameter(name, self.spec(self.vm.settled(value), depth + 1)))
            except NotEvidentError as error:
                raise NotEvidentError(f"`{name}`: {error.reason}") from error
        return tuple(out)

    # -- names ---------------------------------------------------------------------------

    def _path(self, cls: Class) -> tuple[str, ...]:
        """The name of a class where the kernel is defined."""
        for name, found, rest in self._known():
            if found is cls.module and rest is None:
                return (name, cls.name)
            if found is cls.module and rest == cls.name:
                return (name,)
        dotted = modules.dotted_name(cls.module)
        if self.vm.project.resolve_import(self.module, dotted) is cls.module:
            return (*dotted.split("."), cls.name)
        raise NotEvidentError(f"the module of the kernel has no name for `{cls.name}`")

    def _known(self) -> Iterator[tuple[str, Module, str | None]]:
        """What the names of the kernel's module stand for on disk, direct ones first."""
        project = self.vm.project
        found = []
        for name in self.module.bindings:
            resolved = project.resolve_name(self.module, name)
            if resolved is not None:
                found.append((name, *resolved))
        found.sort(key=lambda one: one[2] is None)
        return iter(found)

    def _api(self, value: ApiRef | Enumerator | BufferValue) -> tuple[str, ...]:
        """The name of a constant of a kernel API where the kernel is defined."""
        vm = self.vm
        for name, binding in self.module.bindings.items():
            if binding.kind is BindingKind.FROM:
                dotted = f"{binding.module}.{binding.original or name}"
            elif binding.kind is BindingKind.IMPORT:
                dotted = binding.module or name
            else:
                continue
            owner = vm.dialect.root(dotted)
            if owner == value:
                return (name,)
            if not isinstance(owner, ApiRef):
                continue
            for attr in _attributes(value):
                if vm.dialect.attribute(vm, owner, attr, self.span) == value:
                    return (name, attr)
        for package in apis.by_package():
            if isinstance(value, ApiRef) and vm.dialect.root(f"{package}.{value.name}") == value:
                return (package, *value.name.split("."))
        raise NotEvidentError("the module of the kernel has no name for a constant of the API")


def _attributes(value: ApiRef | Enumerator | BufferValue) -> tuple[str, ...]:
    """The names that a constant may have in a namespace."""
    if isinstance(value, BufferValue):
        return (value.buffer.value, value.buffer.name.lower())
    return (value.name.rpartition(".")[2],)


def _fields(vm: SuiteVM, cls: Class, box: ObjectBox) -> dict[str, object] | None:
    """The arguments that make an instance of a class of fields; None: it is none."""
    names = cls.traits.get("namedtuple")
    if isinstance(names, tuple) and isinstance(box.payload, tuple):
        return dict(zip(names, box.payload, strict=True))
    fields = fields_of(cls)
    if fields is None:
        return None
    out: dict[str, object] = {}
    for field in fields:
        if not field.init:
            continue
        value = box.attributes.get(field.name, UNBOUND)
        if value is UNBOUND:
            if has_default(vm, field):
                continue
            raise NotEvidentError(f"`{field.name}` is not there")
        default = held_by(vm, field.shown)[DEFAULT]
        if value is not default and not (_is_plain(value) and value == default):
            out[field.name] = value
    return out


def _is_plain(value: object) -> bool:
    """Whether equal values say the same."""
    return type(value) in (bool, str, float, tuple, Expr, type(None))


def _tensor(value: Array) -> tree.Spec:
    if not value.shape:
        raise NotEvidentError("an array without dimensions")
    if 0 in value.shape:
        raise NotEvidentError("an array without elements")
    dtypes = () if value.dtype is None else (value.dtype,)
    return tree.TensorSpec(dtypes, tuple(tree.Int(size) for size in value.shape))


def _literal(value: object) -> tree.Spec:
    if isinstance(value, Bool):
        if value is not E.TRUE and value is not E.FALSE:
            raise NotEvidentError("the truth value is not known")
        return tree.LiteralSpec(value is E.TRUE)
    assert value is None or isinstance(value, bool)
    return tree.LiteralSpec(value)


def _text(value: str) -> tree.Spec:
    if not value.isprintable():
        raise NotEvidentError("a text that no contract can say")
    return tree.StringSpec(value)


__all__ = ["NotEvidentError", "contract_of"]
