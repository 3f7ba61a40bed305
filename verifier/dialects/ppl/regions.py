"""Names that loops and branches of the device bind.

A loop over ``range``, ``while``, and an ``if`` on what only a run knows are regions to the front
end. A name that was bound before one, and that it binds anew, is handed on as a value of the
device: it is one before and after, of one type (PPL-C04). A number is an integer, a float or a
truth value, a tensor has its element type, whatever its shape; lists, texts, None and what is known
when the kernel is compiled are no values of the device. A name that a loop alone binds is not known
behind it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final, cast

from msgspec import Struct

from verifier.dialects.ppl.binding_times import Stage
from verifier.dialects.ppl.compiling import is_loop, known, known_before, rejected
from verifier.source import ir
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.python.heap import UNBOUND
from verifier.symbolic.python.inputs import InputKind, Parameter
from verifier.symbolic.python.pins import ValuePin
from verifier.symbolic.python.vm import VM
from verifier.symbolic.tensors import DType, View
from verifier.symbolic.values import Enumerator, Guarded, OpaqueOf, Ratio, Ref

Ended = Callable[[Sequence[ir.Stmt]], None]
#: whether the front end itself runs a loop
Unrolled = Callable[[ir.For], bool]


class _Type(Struct, frozen=True):
    """What a value is to the front end; ``value``: whether it is one of the device."""

    words: str
    value: bool = True
    #: of a tensor
    dtype: DType | None = None


_INTEGER: Final = _Type("an integer")
_FLOAT: Final = _Type("a float")
_TRUTH: Final = _Type("a truth value")
_NUMBERS: Final = (_INTEGER, _FLOAT, _TRUTH)


def entered(vm: VM, stmt: ir.For | ir.While | ir.If) -> Ended:
    """Before a region: what is to be done where one of its bodies has come to its end."""
    scope = vm.scope().names
    unrolled = _unrolled(vm)
    names = frozenset(_bound(stmt.body, unrolled)) | (
        frozenset(_bound(stmt.orelse, unrolled)) if isinstance(stmt, ir.If) else frozenset()
    )
    names &= _there_before(vm, stmt)
    before = {n: v for n in names if (v := scope.get(n, UNBOUND)) is not UNBOUND}
    ends: list[dict[str, object]] = []

    def ended(body: Sequence[ir.Stmt]) -> None:
        now = vm.scope().names
        for name in sorted(before):
            value = now.get(name, UNBOUND)
            if (
                value is not UNBOUND
                and value is not before[name]
                and name in _bound(body, unrolled)
            ):
                _compare(vm, stmt, name, before[name], value)
        if isinstance(stmt, ir.If) and stmt.orelse:
            bound = sorted(frozenset(_bound(body, unrolled)) - before.keys())
            ends.append({n: v for n in bound if (v := now.get(n, UNBOUND)) is not UNBOUND})
            if len(ends) == 2:
                for name in sorted(ends[0].keys() & ends[1].keys()):
                    _compare(vm, stmt, name, ends[0][name], ends[1][name], branches=True)

    return ended


def _unrolled(vm: VM) -> Unrolled:
    return lambda loop: is_loop(vm, loop, unrolled=True)


def _bound(body: Sequence[ir.Stmt], unrolled: Unrolled) -> Iterator[str]:
    """The names that a body hands on to what is behind it, if they were there before it."""
    for node in ir.own(body):
        targets: Sequence[ir.Expr] = ()
        if isinstance(node, ir.Assign):
            targets = node.targets
        elif isinstance(node, (ir.AugAssign, ir.AnnAssign)) or (
            isinstance(node, ir.For) and not unrolled(node)
        ):
            targets = (node.target,)
        for target in targets:
            yield from _names(target)


def _names(target: ir.Expr) -> Iterator[str]:
    return (name.id for name in _targets(target))


def _targets(target: ir.Expr) -> Iterator[ir.Name]:
    """The names that an assignment to a target binds: what it reads besides is in subscripts."""
    if isinstance(target, ir.Name):
        yield target
    elif isinstance(target, (ir.TupleExpr, ir.ListExpr)):
        for each in target.elements:
            yield from _targets(each)
    elif isinstance(target, ir.Starred):
        yield from _targets(target.value)


def _compare(
    vm: VM,
    stmt: ir.For | ir.While | ir.If,
    name: str,
    before: object,
    now: object,
    *,
    branches: bool = False,
) -> None:
    """Both are values of the device, of one type."""
    found = list(_wrong(before, now, branches=branches))
    if not branches and (isinstance(before, Parameter) or _type(before) in _NUMBERS):
        constant = known_before(vm, name, stmt.span).condition
        what = "known when the kernel is compiled before"
        found.append((E.TRUE, (E.not_(constant), f"{what} and bound anew in it")))
    # an `if` that the front end decides is none of the device
    test = E.FALSE if isinstance(stmt, ir.For) else _decided(vm, stmt)
    where = "branch" if isinstance(stmt, ir.If) else "loop"
    for guard, (fine, text) in found:
        holds = E.or_(test, E.not_(guard), fine)
        if holds is E.TRUE:
            continue
        message = f"`{name}` is {text}"
        rejected(
            vm,
            holds,
            _place(stmt, name),
            f"`{name}` is of one type before and after the {where}",
            message if branches else message.replace(" before ", f" before the {where} ", 1),
            "PPL-C04",
            ("give it another name, or make both of one type",),
        )


def _wrong(
    before: object, now: object, *, branches: bool
) -> Iterator[tuple[Bool, tuple[Bool, str]]]:
    """What is wrong with two values, and in which cases; in all of them at once if it is in all."""
    found = [
        (guard, _problem(_type(first), _type(second), branches=branches))
        for one, first in _cases(before)
        for other, second in _cases(now)
        if (guard := E.and_(one, other)) is not E.FALSE
    ]
    if found and all(problem is not None and problem[0] is E.FALSE for _, problem in found):
        found = [(E.TRUE, found[0][1])]
    yield from ((guard, problem) for guard, problem in found if problem is not None)


def _decided(vm: VM, stmt: ir.While | ir.If) -> Bool:
    """Whether the front end decides an ``if`` itself; a loop it never does."""
    if isinstance(stmt, ir.While):
        return E.FALSE
    return known(vm, stmt.test.span, Stage.FRONT_END).condition


def _place(stmt: ir.For | ir.While | ir.If, name: str) -> ir.Span:
    """Where a region binds a name."""
    bodies = (*stmt.body, *stmt.orelse)
    for node in ir.own(bodies):
        if isinstance(node, (ir.Assign, ir.AugAssign, ir.For)):
            targets = node.targets if isinstance(node, ir.Assign) else (node.target,)
            for target in targets:
                if name in _names(target):
                    return target.span
    return stmt.span


def _problem(
    first: _Type | None, second: _Type | None, *, branches: bool
) -> tuple[Bool, str] | None:
    """When two types are one to the front end, and what is wrong where they are not."""
    if first is None or second is None:
        return None  # it is not followed, which is said elsewhere
    joint = "in one branch and {} in the other" if branches else "before and {} in it"
    text = f"{first.words} {joint.format(second.words)}"
    if first.value and second.value:
        if first.dtype is not None and second.dtype is not None:
            return first.dtype.same(second.dtype), text
        if first == second:
            return None
    return E.FALSE, text


def _cases(value: object) -> tuple[tuple[Bool, object], ...]:
    return value.cases if isinstance(value, Guarded) else ((E.TRUE, value),)


def _type(value: object) -> _Type | None:
    """What a value is to the front end; None: not known."""
    if isinstance(value, (bool, Bool)):
        return _TRUTH
    if isinstance(value, (int, Expr)):
        return _INTEGER
    if isinstance(value, (float, Ratio)) or (isinstance(value, OpaqueOf) and value.host is float):
        return _FLOAT
    if isinstance(value, View):
        return _Type(f"a tensor of {value.dtype.name or 'another type'}", dtype=value.dtype)
    if value is None or isinstance(value, str):
        return _Type("None" if value is None else "a text", value=False)
    if isinstance(value, Ref):
        return _Type("a list", value=False)
    if isinstance(value, (DType, Enumerator)):
        return _Type("a name of the language", value=False)
    return _of_input(value) if isinstance(value, Parameter) else None


def _of_input(p: Parameter) -> _Type | None:
    given = p.pinned.value if isinstance(p.pinned, ValuePin) else None
    if isinstance(given, (bool, int, float)):
        return _type(given)
    return {InputKind.INTEGER: _INTEGER, InputKind.FLAG: _TRUTH}.get(p.kind or InputKind.TENSOR)


# ------------------------------------------------- names that a loop or one branch alone binds

#: all of these have to be so: the front end decides one of the branches itself, the last of which
#: binds the name last
Needed = tuple[tuple[ir.If, ...], ...]


class Lost(Struct, frozen=True):
    """Where names are read that are not known any more."""

    behind_loops: tuple[ir.Name, ...]
    behind_branches: tuple[tuple[ir.Name, Needed], ...]


def lost(definition: ir.FunctionDef, unrolled: Unrolled) -> Lost:
    """Where a name is read that is bound in a loop only, or in one branch only, behind that."""
    names = _names_of(definition, unrolled)
    behind_loops = tuple(names.through(definition.body))
    return Lost(behind_loops, tuple(names.halves))


def _there_before(vm: VM, stmt: ir.Stmt) -> frozenset[str]:
    """The names that are known before a region, whatever conditions of a run there are."""
    function = vm.frame.function
    if function is None or not isinstance(function.definition, ir.FunctionDef):
        return frozenset()
    key = ("names before regions of", function.definition.name_span)
    if key not in vm.memo:
        names = _names_of(function.definition, _unrolled(vm))
        for _ in names.through(function.definition.body):
            pass
        vm.memo[key] = names.before
    return cast("dict[ir.Span, frozenset[str]]", vm.memo[key]).get(stmt.span, frozenset())


def _names_of(definition: ir.FunctionDef, unrolled: Unrolled) -> _Names:
    given = {p.name for p in definition.params}
    return _Names(unrolled, given, set(given), set(), {}, {}, [])


class _Names(Struct):
    """The names that are known at a place, and those that loops before it have bound.

    ``sure``: on every way there; ``half``: what it takes for those that one branch has bound;
    ``before``: those at the regions that were gone through; ``halves``: where half ones are read.
    """

    unrolled: Unrolled
    there: set[str]
    sure: set[str]
    gone: set[str]
    half: dict[str, Needed]
    before: dict[ir.Span, frozenset[str]]
    halves: list[tuple[ir.Name, Needed]]

    def through(self, body: Sequence[ir.Stmt]) -> Iterator[ir.Name]:
        for stmt in body:
            if isinstance(stmt, (ir.For, ir.While, ir.If)):
                self.before[stmt.span] = frozenset(self.sure)
            if isinstance(stmt, ir.For):
                yield from self._read(stmt.iterable)
                yield from self._loop(stmt, self.unrolled(stmt))
            elif isinstance(stmt, ir.While):
                yield from self._read(stmt.test)
                yield from self._loop(stmt, False)
            elif isinstance(stmt, ir.If):
                yield from self._read(stmt.test)
                yield from self._branches(stmt)
            elif not isinstance(stmt, (ir.FunctionDef, ir.ClassDef)):
                yield from self._read(stmt)
                self._bind(_bound((stmt,), self.unrolled))

    def _loop(self, stmt: ir.For | ir.While, unrolled: bool) -> Iterator[ir.Name]:
        target = frozenset(_names(stmt.target)) if isinstance(stmt, ir.For) else frozenset()
        if unrolled:
            self._bind(target)
            yield from self.through(stmt.body)
            return
        inside = self._copy()
        inside._bind(target)
        yield from inside.through(stmt.body)
        # (behind the loop its counter is no value any more)
        self.gone |= (inside.there - self.there) | target | inside.gone
        self.there -= target
        self.sure -= target

    def _copy(self) -> _Names:
        return _Names(
            self.unrolled,
            set(self.there),
            set(self.sure),
            set(self.gone),
            dict(self.half),
            self.before,
            self.halves,
        )

    def _branches(self, stmt: ir.If) -> Iterator[ir.Name]:
        one, other = self._copy(), self._copy()
        yield from one.through(stmt.body)
        yield from other.through(stmt.orelse)
        for name in (one.there | other.there) - (one.sure & other.sure):
            self._halve(name, stmt, one, other)
        # which is taken may be known when the kernel is compiled
        self.there, self.sure = one.there | other.there, one.sure & other.sure
        self.gone = (one.gone | other.gone) - self.there
        for name in self.sure:
            self.half.pop(name, None)

    def _halve(self, name: str, stmt: ir.If, one: _Names, other: _Names) -> None:
        """A name that not both branches have bound for certain: what is known of it behind them."""
        before = self.half.get(name) if name in self.there else None
        changed = [n for n in (one, other) if name in n.there and n.half.get(name) != before]
        changed += [n for n in (one, other) if name in n.sure and name not in self.sure]
        if not changed:
            return
        if before is not None:  # it may be there already, or this `if` is decided
            self.half[name] = tuple((*choices, stmt) for choices in before)
            return
        inner = [n.half[name] for n in changed if name in n.half]
        self.half[name] = (*(choices for needed in inner for choices in needed), (stmt,))

    def _bind(self, names: Iterator[str] | frozenset[str]) -> None:
        for name in names:
            self.there.add(name)
            self.sure.add(name)
            self.gone.discard(name)
            self.half.pop(name, None)

    def _read(self, node: ir.Node) -> Iterator[ir.Name]:
        targets: Sequence[ir.Expr] = ()
        if isinstance(node, ir.Assign):
            targets = node.targets
        elif isinstance(node, ir.AnnAssign):
            targets = (node.target,)
        bound = [name for target in targets for name in _targets(target)]
        for each in ir.own((node,)):
            if not isinstance(each, ir.Name) or each in bound:
                continue
            if each.id in self.gone:
                yield each
            elif each.id in self.half:
                self.halves.append((each, self.half[each.id]))


__all__ = ["Ended", "Lost", "Needed", "entered", "lost"]
