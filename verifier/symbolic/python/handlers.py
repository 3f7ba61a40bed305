"""``try``, ``with`` and ``raise``: exceptions on their way to whoever catches them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NoReturn

from verifier.source import ir
from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.python import binding, hierarchy, names
from verifier.symbolic.python.flow import Ended, Escape, Exit, Fault, Wait
from verifier.symbolic.python.heap import UNBOUND, ObjectBox
from verifier.symbolic.python.model import Class, HostType
from verifier.symbolic.python.vm import VM
from verifier.symbolic.values import ExternalRef, Guarded, Managed, Opaque, unsure


def throw(vm: VM, exception: object, span: Span, text: str, cause: object = UNBOUND) -> NoReturn:
    """``raise exception from cause`` where something may catch it."""
    exception = vm.settled(exception)
    if isinstance(exception, Guarded):
        vm.apart(exception, lambda one: throw(vm, one, span, text, cause))
        raise Ended
    if isinstance(exception, (HostType, Class)):
        exception = vm.call(exception, (), span=span)
    box = vm.box(exception)
    if not isinstance(box, ObjectBox) or not _is_exception(box.cls):
        if isinstance(exception, (Opaque, ExternalRef)):
            vm.unfollowed(f"`{text}` raises something that is not followed", span)
        else:
            vm.fault(TypeError, "exceptions derive from BaseException", span)
        raise Ended
    if cause is not UNBOUND:
        _chain(vm, exception, cause, span)
    error = _host_class(box.cls)
    fault = Fault(error, text, span, "uncaught-exception", text, demand=True)
    if issubclass(error, StopIteration) and not vm.catching and in_generator(vm):
        message = "generator raised StopIteration"  # which is CPython's own error then
        fault = Fault(RuntimeError, message, span, "uncaught-exception", message)
    vm.leave(Exit.RAISE, exception, span, fault)


def in_generator(vm: VM) -> bool:
    """Whether the code that runs is a generator's, or was called by one."""
    return any(frame.consumer is not None for frame in vm.frames)


def _chain(vm: VM, exception: object, cause: object, span: Span) -> None:
    """Note the cause of an exception."""
    cause = vm.settled(cause)
    if isinstance(cause, (HostType, Class)):
        cause = vm.call(cause, (), span=span)
    box = vm.box(cause)
    if cause is not None and not (isinstance(box, ObjectBox) and _is_exception(box.cls)):
        if not isinstance(cause, (Opaque, ExternalRef, Guarded)):
            vm.fault(TypeError, "exception causes must derive from BaseException", span)
    vm.set_attribute(exception, "__cause__", cause, span)
    vm.set_attribute(exception, "__suppress_context__", True, span)


def _is_exception(cls: object) -> bool:
    return hierarchy.derives_from_host(cls, BaseException) or hierarchy.is_external(cls)


def _host_class(cls: object) -> type[BaseException]:
    """The built-in exception that a class derives from."""
    for base in cls.mro if isinstance(cls, Class) else (cls,):
        if isinstance(base, HostType) and issubclass(base.type, BaseException):
            return base.type
    return BaseException


def reraise(vm: VM, span: Span) -> NoReturn:
    """``raise`` in a handler: what is being handled goes on."""
    if not vm.handled:
        said = ("No active exception to reraise",)
        vm.fault(RuntimeError, "no exception is being handled", span, args=said)
        raise Ended
    escape = vm.handled[-1]
    vm.leave(Exit.RAISE, escape.value, escape.span, escape.fault)


# ------------------------------------------------------------------------ try


def try_statement(vm: VM, stmt: ir.Try) -> None:
    """``try`` with handlers, ``else`` and ``finally``, on every way out."""
    if stmt.star:
        vm.unfollowed("`except*` is not followed", stmt.span)
    if not stmt.finalbody:
        _handled(vm, stmt)
        return
    last, leaves = stmt.finalbody, _leaves(stmt.finalbody)
    finally_(vm, lambda: _handled(vm, stmt), lambda: vm.exec(last), leaves)


def _leaves(body: Sequence[ir.Stmt]) -> bool:
    """Whether a ``finally`` may jump out, which drops the exception that it runs for."""
    jumps = (ir.Return, ir.Break, ir.Continue)
    return any(isinstance(node, jumps) for stmt in body for node in _below(stmt))


def _below(node: ir.Node) -> Iterator[ir.Node]:
    yield node
    for child in ir.children(node):
        yield from _below(child)


def finally_(
    vm: VM, body: Callable[[], None], last: Callable[[], None], catches: bool = False
) -> None:
    """Run ``body``, then ``last`` on each way out of it; each goes on where it was going.

    ``catches``: ``last`` may go elsewhere.
    """
    with vm.landing(Wait.ALWAYS, catches) as landing:
        alive = _alive(vm, body)
    base, escapes = landing.base, landing.escapes
    if not escapes:
        if not alive:
            raise Ended
        last()
        return
    ways = _grouped(escapes)
    _each_way(vm, base, ways, alive, last, None)


def _alive(vm: VM, body: Callable[[], None]) -> bool:
    try:
        body()
    except Ended:
        return False
    return True


def _grouped(escapes: Sequence[Escape]) -> list[list[Escape]]:
    """Escapes that go the same way, together; exceptions each on their own."""
    groups: list[list[Escape]] = []
    for escape in escapes:
        for group in groups:
            if escape.kind is not Exit.RAISE and group[0].kind is escape.kind:
                group.append(escape)
                break
        else:
            groups.append([escape])
    return groups


def _each_way(
    vm: VM,
    base: int,
    ways: list[list[Escape]],
    alive: bool,
    last: Callable[[], None],
    resume: Callable[[Escape], None] | None,
) -> None:
    """Go on from each group of escapes in turn, and from the end of the body if it is reached.

    ``resume`` handles the one escape of a group; without it, ``last`` runs and the path goes on
    where it was going.
    """
    normal, rest = vm.heap, vm.guard_since(base) if alive else E.FALSE
    vm.cut_path(base)
    sides: list[tuple[E.Bool, object]] = []
    for group in ways:
        guard = E.or_(*(escape.guard for escape in group))

        def side(group: list[Escape] = group) -> None:
            value = vm.rejoin(group, False)
            first = group[0]
            joined = Escape(first.kind, E.TRUE, vm.heap, value, first.span, first.fault)
            if resume is not None:
                resume(joined)
                return
            raised = joined.kind is Exit.RAISE  # a bare `raise` means it
            if raised:
                vm.handled.append(joined)
            try:
                last()
            finally:
                if raised:
                    vm.handled.pop()
            vm.leave(joined.kind, joined.value, joined.span, joined.fault)

        sides.append((guard, side))
    if alive:

        def through() -> None:
            vm.heap.adopt(normal.fork())
            if resume is None:
                last()

        sides.append((rest, through))
    _in_turn(vm, sides)


def _in_turn(vm: VM, sides: list[tuple[E.Bool, object]]) -> None:
    """Go each of several ways, which exclude each other and of which one is taken."""
    (guard, action), others = sides[0], sides[1:]
    assert callable(action)
    if not others:
        vm.narrow(guard)
        action()
        return
    if guard is E.TRUE:
        action()
        return
    vm.fork(guard, action, lambda: _in_turn(vm, others))


def _handled(vm: VM, stmt: ir.Try) -> None:
    """The body and, where it raises, the first handler that fits; else the ``else`` part."""
    if not stmt.handlers:
        vm.exec(stmt.body)
        vm.exec(stmt.orelse)
        return
    with vm.landing(Wait.HANDLERS, catches=True) as landing:
        alive = _alive(vm, lambda: vm.exec(stmt.body))
    if not landing.escapes:
        if not alive:
            raise Ended
        vm.exec(stmt.orelse)
        return
    ways = [[escape] for escape in landing.escapes]

    def resume(escape: Escape) -> None:
        _dispatch(vm, stmt.handlers, escape)

    if alive and stmt.orelse:
        _with_else(vm, stmt, landing.base, ways, resume)
        return
    _each_way(vm, landing.base, ways, alive, lambda: None, resume)


def _with_else(
    vm: VM,
    stmt: ir.Try,
    base: int,
    ways: list[list[Escape]],
    resume: Callable[[Escape], None],
) -> None:
    """The ``else`` part runs where the body came to its end, not where a handler did."""
    raised = E.or_(*(escape.guard for group in ways for escape in group))
    rest, normal = vm.guard_since(base), vm.heap
    vm.cut_path(base)

    def went_through() -> None:
        vm.heap.adopt(normal.fork())
        vm.narrow(rest)
        vm.exec(stmt.orelse)

    vm.fork(
        raised,
        lambda: _each_way(vm, vm.path_length(), ways, False, lambda: None, resume),
        went_through,
    )


def _dispatch(vm: VM, handlers: Sequence[ir.Handler], escape: Escape) -> None:
    """Go to the first handler that takes the exception, or on with it."""
    if not handlers:
        vm.uncaught(escape)
    handler, others = handlers[0], handlers[1:]
    takes = E.TRUE if handler.type is None else _takes(vm, handler.type, escape.value)
    vm.fork(
        takes,
        lambda: _handle(vm, handler, escape),
        lambda: _dispatch(vm, others, escape),
    )


def _takes(vm: VM, node: ir.Expr, exception: object) -> E.Bool:
    """Whether an exception is of a class that a handler names."""

    def one(wanted: object) -> E.Bool:
        named = wanted if isinstance(wanted, tuple) else (wanted,)
        return E.or_(*[_is_of(vm, exception, cls, node.span) for cls in named])

    return vm.each(vm.eval(node), one)


def _is_of(vm: VM, exception: object, cls: object, span: Span) -> E.Bool:
    if isinstance(cls, Guarded):
        return vm.each(cls, lambda one: _is_of(vm, exception, one, span))
    if isinstance(cls, (HostType, Class)) and not _is_exception(cls):
        what = "catching classes that do not inherit from BaseException is not allowed"
        vm.fault(TypeError, what, span)
    if isinstance(cls, (HostType, Class)):
        actual = vm.type_of(exception)
        if isinstance(actual, (HostType, Class)) and not hierarchy.is_external(actual):
            return E.truth(hierarchy.derives(actual, cls))
    elif not isinstance(cls, (Opaque, ExternalRef)) and vm.kind(cls).complete:
        what = f"{vm.kind(cls).describe(vm, cls)} is caught, which is no class of exceptions"
        vm.fault(TypeError, what, span)
    asked = vm.language.builtins["isinstance"]
    return vm.truth(vm.call(asked, (exception, cls), span=span), span)


def _handle(vm: VM, handler: ir.Handler, escape: Escape) -> None:
    if handler.name is not None:
        names.bind(vm, handler.name, escape.value)
    vm.handled.append(escape)

    def clean() -> None:
        if handler.name is not None:
            names.bind(vm, handler.name, UNBOUND)

    try:
        if handler.name is None:
            vm.exec(handler.body)
        else:
            finally_(vm, lambda: vm.exec(handler.body), clean)
    finally:
        vm.handled.pop()


# ------------------------------------------------------------------------ with


def with_statement(vm: VM, stmt: ir.With) -> None:
    """``with``: each manager is left on every way out, the last one first."""
    _with_items(vm, stmt, stmt.items)


def _with_items(vm: VM, stmt: ir.With, items: tuple[ir.WithItem, ...]) -> None:
    if not items:
        vm.exec(stmt.body)
        return
    item, others = items[0], items[1:]
    manager = vm.settled(vm.eval(item.context))
    if isinstance(manager, Managed):
        manager.enter()
        if item.target is not None:
            binding.assign(vm, item.target, None, item.span)
        finally_(vm, lambda: _with_items(vm, stmt, others), manager.leave)
        return
    if isinstance(manager, Opaque) and manager.given:
        vm.caller_gives(item.span, "is a context manager")
    if not isinstance(vm.box(manager), ObjectBox):
        _foreign(vm, stmt, item, others, manager)
        return
    enter = _special(vm, manager, "__enter__", item.span)
    leave = _special(vm, manager, "__exit__", item.span)
    entered = vm.call(enter, (), span=item.span)

    def body() -> None:
        if item.target is not None:
            binding.assign(vm, item.target, entered, item.span)
        _with_items(vm, stmt, others)

    _managed(vm, body, leave, item.span)


def _special(vm: VM, manager: object, name: str, span: Span) -> object:
    """A special method of a manager's class."""
    cls = vm.type_of(manager)
    found = hierarchy.bind(vm, hierarchy.lookup(vm, cls, name), manager, cls, span)
    if found is not UNBOUND:
        return found
    what = f"{vm.kind(manager).describe(vm, manager)} is no context manager: no `{name}`"
    if not hierarchy.is_external(cls):
        vm.fault(TypeError, what, span)  # an AttributeError before 3.11
    return vm.unfollowed(what, span)


def _foreign(
    vm: VM,
    stmt: ir.With,
    item: ir.WithItem,
    others: tuple[ir.WithItem, ...],
    manager: object,
) -> None:
    """A manager that is not of the project: it changes nothing of the program's own.

    Whether it swallows an exception is not known.
    """
    if not isinstance(manager, (Opaque, ExternalRef)):
        what = vm.kind(manager).describe(vm, manager)
        vm.unfollowed(f"`with` on {what} is not followed", item.span)
    said = vm.kind(manager).describe(vm, manager)
    vm.may_raise(said, item.span)
    with vm.landing(Wait.HANDLERS, catches=True) as landing:

        def body() -> None:
            if item.target is not None:
                binding.assign(vm, item.target, manager, item.span)
            _with_items(vm, stmt, others)

        alive = _alive(vm, body)
    if not landing.escapes:
        if not alive:
            raise Ended
        return

    def resume(escape: Escape) -> None:
        swallows = vm.unknown_bool(f"whether {said} swallows an exception", item.span)
        vm.fork(swallows, lambda: None, lambda: vm.uncaught(escape))

    ways = [[escape] for escape in landing.escapes]
    _each_way(vm, landing.base, ways, alive, lambda: None, resume)


def _managed(vm: VM, body: Callable[[], None], leave: object, span: Span) -> None:
    with vm.landing(Wait.ALWAYS, catches=True) as landing:
        alive = _alive(vm, body)
    nothing = (None, None, None)
    if not landing.escapes:
        if not alive:
            raise Ended
        vm.call(leave, nothing, span=span)
        return

    def resume(escape: Escape) -> None:
        if escape.kind is not Exit.RAISE:
            vm.call(leave, nothing, span=span)
            vm.leave(escape.kind, escape.value, escape.span, escape.fault)
        cls = vm.type_of(escape.value)
        trace = unsure("a traceback")
        swallowed = vm.call(leave, (cls, escape.value, trace), span=span)
        vm.fork(vm.truth(swallowed, span), lambda: None, lambda: vm.uncaught(escape))

    ways = _grouped(landing.escapes)
    if alive:
        ended = landing.base
        normal, rest = vm.heap, vm.guard_since(ended)
        raised = E.or_(*(escape.guard for escape in landing.escapes))
        vm.cut_path(ended)

        def went_through() -> None:
            vm.heap.adopt(normal.fork())
            vm.narrow(rest)
            vm.call(leave, nothing, span=span)

        vm.fork(
            raised,
            lambda: _each_way(vm, vm.path_length(), ways, False, lambda: None, resume),
            went_through,
        )
        return
    _each_way(vm, landing.base, ways, False, lambda: None, resume)


__all__ = ["finally_", "in_generator", "reraise", "throw", "try_statement", "with_statement"]
