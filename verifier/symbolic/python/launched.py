"""What becomes a kernel where decorators or calls make something of a function before."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from verifier.source import ir
from verifier.source.project import Module
from verifier.source.scopes import bound_by
from verifier.source.sites import Site
from verifier.symbolic.python import modules
from verifier.symbolic.python.flow import Ended, Frame
from verifier.symbolic.python.heap import UNBOUND
from verifier.symbolic.python.model import ClassMethod, Function, Partial, StaticMethod
from verifier.symbolic.python.vm import VM
from verifier.symbolic.values import ExternalRef, Opaque

_STARRED: Final = (ir.ParamKind.STAR, ir.ParamKind.DOUBLE_STAR)
_BY_PLACE: Final = (ir.ParamKind.POSITIONAL_ONLY, ir.ParamKind.POSITIONAL)


class Launched(Struct, frozen=True):
    """A function that is run on the device, and what is bound of its arguments before."""

    function: Function
    given: dict[str, object]


def at(vm: VM, site: Site) -> object:
    """The value that becomes a kernel at a place of a module, :data:`UNBOUND` if none does."""
    module = vm.project.module(Path(site.path))
    statements = module.statements_at(site.line)
    around = [s for s in statements if s.span.line <= site.line <= s.span.end_line] or statements
    modules.started(vm, module)
    with suppress(Ended):
        for name in dict.fromkeys(name for s in around for name in bound_by(s)):
            modules.global_value(vm, module, name)
    found = _recorded(vm, site)
    if found is UNBOUND:
        _evaluate(vm, module, site, around)
        found = _recorded(vm, site)
    return found


def _recorded(vm: VM, site: Site) -> object:
    """What became a kernel there; several things are none that is known."""
    values = [value for places, value in vm.launched if site.place in places]
    if not values:
        return UNBOUND
    if all(_alike(value, values[0]) for value in values):
        return values[0]
    return Opaque("one of several functions")


def _alike(one: object, other: object) -> bool:
    if isinstance(one, Function) and isinstance(other, Function):
        return replace(one, device=False) == replace(other, device=False) or (
            (one.definition, one.closure, one.defaults)
            == (other.definition, other.closure, other.defaults)
        )
    return one is other


def _evaluate(
    vm: VM, module: Module, site: Site, around: tuple[ir.Stmt, ...] | list[ir.Stmt]
) -> None:
    """Make the kernel that a function of the module makes of what all of it knows.

    Of calls that begin at the same place, ``make(f)(x)``, the first one that makes it counts: what
    is done with it is no part of it.
    """
    for node in reversed([*_calls(around, site)]):
        with modules.before_the_kernel(vm):
            vm.frames.append(Frame(module, vm.globals_of(module).scope.id, 0))
            try:
                with suppress(Ended):
                    vm.eval(node)
            finally:
                vm.frames.pop()
        if _recorded(vm, site) is not UNBOUND:
            return


def _calls(around: Iterable[ir.Stmt], site: Site) -> Iterator[ir.Call]:
    """The calls that begin at a place, the outermost first."""
    stack: list[ir.Node] = [*around]
    while stack:
        node = stack.pop()
        if isinstance(node, ir.Call) and (node.span.line, node.span.column) == site.place[1:]:
            yield node
        stack.extend(reversed([*ir.children(node)]))


def entered(vm: VM, value: object) -> Launched | str:
    """The function behind a value that became a kernel, or why it is not known."""
    given: dict[str, object] = {}
    while isinstance(value, (StaticMethod, ClassMethod, Partial)):
        if isinstance(value, Partial):
            inner = value.function
            if not isinstance(inner, Function):
                return "what a partial is made of is not followed"
            names = [p.name for p in inner.definition.params if p.kind in _BY_PLACE]
            given |= dict(zip(names, value.args, strict=False)) | dict(value.keywords)
        value = value.function
    if isinstance(value, Function):
        node = value.definition
        if isinstance(node, ir.LambdaExpr):
            block = ir.Block.of((ir.Return(node.body.span, node.body),))
            made = ir.FunctionDef(node.span, "<lambda>", node.params, block, (), node.span)
            value = replace(value, definition=made)
        return Launched(value, given)
    if isinstance(value, Opaque):
        return value.reason
    if isinstance(value, ExternalRef):
        return f"{value.said} is not followed"
    if value is UNBOUND:
        return "nothing becomes a kernel there"
    return "it is no function of the project"


def parameters(function: Function, decorated: ir.FunctionDef) -> Iterator[ir.Param]:
    """The inputs of what is launched: the names of its own parameters, and what ``*args`` and
    ``**keywords`` hand on to the function that it is made of."""
    own = function.definition.params
    if function.definition.span == decorated.span:
        yield from own
        return
    named = {p.name for p in own}
    places = sum(p.kind in _BY_PLACE for p in own)
    kinds = {p.kind for p in own}
    yield from (p for p in own if p.kind not in _STARRED)
    inner = [p for p in decorated.params if p.kind not in _STARRED]
    by_place = [p for p in inner if p.kind in _BY_PLACE]
    if ir.ParamKind.STAR in kinds:
        yield from by_place[places:]
    if ir.ParamKind.DOUBLE_STAR in kinds:
        rest = [p for p in inner if p.kind not in _BY_PLACE]
        rest += [] if ir.ParamKind.STAR in kinds else by_place
        yield from (p for p in rest if p.name not in named)
