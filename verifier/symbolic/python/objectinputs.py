"""Inputs that are made of others: objects of the project's classes, members, tuples.

An annotation names the class of an object, or its default is an instance of it. The object is what
the class makes of inputs, one for each argument, which the report lists as an assumption; what its
constructor demands of them, the caller has kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, TypeAlias

from msgspec import Struct

from verifier.source import ir
from verifier.source.project import Module
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool
from verifier.symbolic.python import hierarchy, modules
from verifier.symbolic.python.fields import annotated, of_nki
from verifier.symbolic.python.flow import Ended
from verifier.symbolic.python.heap import UNBOUND, ObjectBox
from verifier.symbolic.python.inputs import InputKind, Parameter, Word, absent_name, is_text
from verifier.symbolic.python.library import enums
from verifier.symbolic.python.library.dataclass_fields import fields_of
from verifier.symbolic.python.library.enums import member_name
from verifier.symbolic.python.model import Class, Function
from verifier.symbolic.python.pins import argument_path, item_path
from verifier.symbolic.python.vm import VM
from verifier.symbolic.trace import AssumptionKind, LedgerKind
from verifier.symbolic.values import Guarded, Opaque, Ref

#: members of an enumeration that an input may be each of
_MEMBERS: Final = 32
#: objects inside objects
_DEPTH: Final = 4
#: what annotations call values that are no tensors, and that nothing here stands for
_TABLES: Final = frozenset(
    {"dict", "Dict", "Mapping", "MutableMapping", "defaultdict", "OrderedDict", "set", "Set",
     "frozenset", "FrozenSet", "Callable"}
)  # fmt: skip
#: likewise, of which only the fields of objects are meant: a parameter is told by its use
_LISTS: Final = frozenset({"list", "List", "Sequence", "Iterable", "Any", "object"})
_TUPLES: Final = frozenset({"tuple", "Tuple"})


class Noted(Struct, frozen=True):
    """An annotation, and the module whose names it speaks."""

    node: ir.Expr
    module: Module

    @property
    def present(self) -> Noted:
        """What it says of a value that is not None."""
        inner = _optional(self.node)
        return self if inner is None else Noted(inner, self.module)


#: the value of an input of which an annotation says something
Make: TypeAlias = Callable[[Parameter, Noted | None], object]


def of_annotation(vm: VM, p: Parameter, noted: Noted, make: Make) -> object:
    """What an annotation says that an input is; UNBOUND: nothing that is known here."""
    if noted.present is not noted:
        absent = E.bool_symbol(absent_name(p.name))
        with vm.guarded(E.not_(absent)):
            there = make(p, noted.present)
        return Guarded(((absent, None), (E.not_(absent), there)))
    items = _tuple_of(noted.node)
    if items is not None:
        p.kind = InputKind.TUPLE
        return tuple(_item(vm, p, k, Noted(t, noted.module), make) for k, t in enumerate(items))
    what = ir.last_name(noted.node.value if isinstance(noted.node, ir.Subscript) else noted.node)
    if what in _TABLES or (what in _LISTS and "." in p.name):
        return Opaque(f"`{p.name}`", given=True)
    if what in _TUPLES:
        p.kind = InputKind.TUPLE
        return p
    cls = _named(vm, noted)
    return of_class(vm, p, cls, make) if isinstance(cls, Class) else UNBOUND


def like(vm: VM, p: Parameter, default: Ref, make: Make) -> object:
    """Any value of the class that the default is an instance of; UNBOUND: it is not known."""
    box = vm.heap.get(default.id)
    if isinstance(box, ObjectBox) and isinstance(box.cls, Class):
        return of_class(vm, p, box.cls, make)
    return UNBOUND


def of_class(vm: VM, p: Parameter, cls: Class, make: Make) -> object:
    """Any member or instance of a class; UNBOUND: it is not known what these are."""
    if hierarchy.trait(cls, "enum") is not None:
        return _member(vm, p, cls)
    arguments = None if p.name.count(".") >= _DEPTH else _arguments(vm, cls)
    if arguments is None:
        return UNBOUND
    return _made(vm, p, cls, arguments, make)


def _item(vm: VM, p: Parameter, position: int, noted: Noted, make: Make) -> object:
    return make(_input(vm, p, item_path(p.name, position), noted), noted)


def _input(
    vm: VM, outer: Parameter, name: str, noted: Noted | None, default: object = UNBOUND
) -> Parameter:
    """One of the inputs that an input is made of."""
    text = "" if noted is None else vm.text(noted.node.span)
    kind = Word if isinstance(default, str) or is_text(text) else Parameter
    part = kind(
        name=name,
        span=outer.span,
        default=None if default is UNBOUND else default,
        has_default=default is not UNBOUND,
        annotation=text,
        pinned=vm.inputs.pinned.get(name),
    )
    vm.inputs.parameters[name] = part
    return part


# ------------------------------------------------------------------------ annotations


def _optional(node: ir.Expr) -> ir.Expr | None:
    """``X`` of ``Optional[X]``, ``X | None`` and ``Union[X, None]``."""
    if isinstance(node, ir.Subscript) and ir.last_name(node.value) == "Optional":
        return node.index
    options: Sequence[ir.Expr] = ()
    if isinstance(node, ir.BinOp) and node.op == "|":
        options = (node.left, node.right)
    elif isinstance(node, ir.Subscript) and ir.last_name(node.value) == "Union":
        options = node.index.elements if isinstance(node.index, ir.TupleExpr) else ()
    rest = [o for o in options if not (isinstance(o, ir.Const) and o.value is None)]
    return rest[0] if len(rest) == 1 and len(options) == 2 else None


def _tuple_of(node: ir.Expr) -> Sequence[ir.Expr] | None:
    """The types of the items of a tuple of known length."""
    if not isinstance(node, ir.Subscript) or ir.last_name(node.value) not in _TUPLES:
        return None
    items = node.index.elements if isinstance(node.index, ir.TupleExpr) else (node.index,)
    if any(isinstance(item, ir.Const) and item.value is ... for item in items):
        return None
    return items


def _named(vm: VM, noted: Noted) -> object:
    """The value that an annotation names, UNBOUND if it is no name of the project's."""
    path = _path(noted.node)
    if not path or path[0] not in noted.module.bindings:
        return UNBOUND
    mark = vm.mark()
    try:
        value = modules.global_value(vm, noted.module, path[0])
        for name in path[1:]:
            value = vm.attribute(value, name, noted.node.span)
    except Ended:
        value = UNBOUND
    if len(vm.checks) > mark.lengths[5]:  # the annotation is judged where it stands
        del vm.checks[mark.lengths[5] :]
        return UNBOUND
    return value


def _path(node: ir.Expr) -> tuple[str, ...]:
    if isinstance(node, ir.Name):
        return (node.id,)
    if isinstance(node, ir.Attribute):
        outer = _path(node.value)
        return (*outer, node.attr) if outer else ()
    if isinstance(node, ir.Const) and isinstance(node.value, str):
        parts = tuple(node.value.strip().split("."))
        return parts if all(part.isidentifier() for part in parts) else ()
    return ()


# ------------------------------------------------------------------------ members


def _member(vm: VM, p: Parameter, cls: Class) -> object:
    """Any member of an enumeration; UNBOUND if they are not told apart."""
    held = enums.members(cls)
    if held.is_flag or not 0 < len(held.own) <= _MEMBERS:
        return UNBOUND
    told: list[tuple[Bool, object]] = []
    for member in held.own:
        name = member_name(vm, member)
        assert name is not None
        told.append((vm.inputs.string_equals(p, name, name), member))
    return one_of(vm, p, told)


def one_of(
    vm: VM, p: Parameter, told: Sequence[tuple[Bool, object]], other: tuple[object, ...] = ()
) -> object:
    """The first value whose condition holds; ``other``: what it is where none does, if it may be.

    Where there is no other, it is assumed to be one of those that are told.
    """
    cases: list[tuple[Bool, object]] = []
    left: Bool = E.TRUE
    for here, value in told:
        last = not other and len(cases) == len(told) - 1
        cases.append((left if last else E.and_(left, here), value))
        if last:
            vm.assume(E.implies(left, here), "", p.span, AssumptionKind.TYPE)
        left = E.and_(left, E.not_(here))
    cases.extend((left, value) for value in other)
    return Guarded.of(cases)


# ------------------------------------------------------------------------ instances


class _Argument(Struct, frozen=True):
    """An argument of a constructor; ``default`` is UNBOUND where it has none."""

    name: str
    noted: Noted | None
    default: object


def _arguments(vm: VM, cls: Class) -> list[_Argument] | None:
    """What a class's constructor takes, each by its name; None: it is not known."""
    if hierarchy.is_external(cls):
        return None
    init = hierarchy.lookup(vm, cls, "__init__")
    if isinstance(init, Function):
        return _of_function(init)
    types = _annotations(cls)
    fields = fields_of(cls)
    if fields is None:
        record = of_nki(cls)
        return [_Argument(n, types.get(n), _explicit(vm, cls, n, d)) for n, d in record] or None
    out = []
    for field in fields:
        if field.only_init:
            return None
        if field.init:
            given = hierarchy.lookup(vm, cls, field.name)
            out.append(_Argument(field.name, types.get(field.name), given))
    return out


def _explicit(vm: VM, cls: Class, name: str, default: object) -> object:
    """The default that a class body gives a field; None stands for one that it does not."""
    return default if hierarchy.lookup(vm, cls, name) is not UNBOUND else UNBOUND


def _annotations(cls: Class) -> Mapping[str, Noted]:
    """The annotations of a class's fields, those of its bases too."""
    out: dict[str, Noted] = {}
    for base in reversed(cls.mro):
        if isinstance(base, Class) and base.definition is not None:
            for name, one in annotated(base.definition.body).items():
                assert one.annotation is not None
                out[name] = Noted(one.annotation, base.module)
    return out


def _of_function(init: Function) -> list[_Argument] | None:
    defaults = dict(init.defaults)
    out = []
    for param in init.definition.params[1:]:
        if param.kind in (ir.ParamKind.STAR, ir.ParamKind.DOUBLE_STAR):
            continue
        if param.kind is ir.ParamKind.POSITIONAL_ONLY:
            return None
        noted = None if param.annotation is None else Noted(param.annotation, init.module)
        out.append(_Argument(param.name, noted, defaults.get(param.name, UNBOUND)))
    return out


def _made(vm: VM, p: Parameter, cls: Class, arguments: Sequence[_Argument], make: Make) -> object:
    """What a class makes of inputs; UNBOUND, and nothing has happened, if that is not followed."""
    mark = vm.mark()
    before = set(vm.inputs.parameters)
    named = {}
    for argument in arguments:
        part = _input(vm, p, argument_path(p.name, argument.name), argument.noted, argument.default)
        named[argument.name] = make(part, argument.noted)
    base = vm.path_length()
    try:
        made = vm.call(cls, (), named, span=p.span)
    except Ended:
        made = UNBOUND
    lost = any(entry.kind is LedgerKind.SKIPPED for entry in vm.trace.ledger[mark.lengths[3] :])
    if not isinstance(made, Ref) or lost or vm.path_length() != base:
        vm.back_to(mark)
        for name in [name for name in vm.inputs.parameters if name not in before]:
            del vm.inputs.parameters[name]
        return UNBOUND
    for condition in _kept(vm, mark.lengths[5]):
        vm.assume(condition, "", p.span, AssumptionKind.TYPE)
    text = f"`{p.name}` is what `{cls.name}(...)` makes"
    vm.approximate(LedgerKind.CALLER, text, p.span)
    vm.given.add(made.id)
    return made


def _kept(vm: VM, start: int) -> Iterator[Bool]:
    """What a constructor that has come to its end did not fail for."""
    checks = vm.checks[start:]
    del vm.checks[start:]
    for noted in checks:
        if not noted.compiled:  # the caller's Python makes it, and no compiler looks at that
            yield E.implies(E.and_(*noted.path, *noted.check.given), noted.check.predicate)


__all__ = ["Noted", "like", "of_annotation", "one_of"]
