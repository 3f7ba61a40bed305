"""``match``: patterns are tried in order, captures are bound when a whole pattern has matched."""

from __future__ import annotations

import collections
import collections.abc
from collections.abc import Callable, Sequence
from typing import Any, Final

from verifier.source import ir
from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool
from verifier.symbolic.python import hierarchy, names
from verifier.symbolic.python.heap import UNBOUND, DictBox, ListBox, ObjectBox, StateBox
from verifier.symbolic.python.inputs import InputKind, LazyShape, Parameter
from verifier.symbolic.python.model import AttributeDict, Class, HostType
from verifier.symbolic.python.terms import as_formula, join
from verifier.symbolic.python.vm import VM
from verifier.symbolic.values import ApiRef, ExternalRef, Guarded, Opaque, Range

#: what a pattern has captured, by name; None where it does not match
Captures = dict[str, object]

#: types that sequence and mapping patterns match, and what is a sequence for others only
_SEQUENCES: Final = (list, tuple, range, collections.deque, collections.abc.Sequence)
_TEXTS: Final = (str, bytes, bytearray)
_MAPPINGS: Final = (dict, collections.abc.Mapping)
#: built-in types whose one positional pattern is matched against the subject itself
_WHOLE: Final = (
    bool, bytearray, bytes, dict, float, frozenset, int, list, set, str, tuple,
)  # fmt: skip


def match_statement(vm: VM, stmt: ir.Match) -> None:
    """``match subject: case ...``."""
    subject = vm.eval(stmt.subject)
    _cases(vm, subject, stmt.cases)


def _cases(vm: VM, subject: object, cases: Sequence[ir.MatchCase]) -> None:
    if not cases:
        return
    case, others = cases[0], cases[1:]
    captured = match(vm, case.pattern, subject)
    matches = _where(captured, lambda value: value is not None)

    def taken() -> Bool:
        _bind(vm, captured)
        if case.guard is None:
            return E.TRUE
        return vm.truth(vm.eval(case.guard), case.guard.span)

    enters = vm.fork(matches, taken, lambda: E.FALSE)
    vm.fork(enters, lambda: vm.exec(case.body), lambda: _cases(vm, subject, others))


def _where(value: object, test: Callable[[object], bool]) -> Bool:
    """The condition under which a value passes a test of its cases."""
    if isinstance(value, Guarded):
        return E.or_(*(guard for guard, case in value.cases if test(case)))
    return E.truth(test(value))


def _bind(vm: VM, captured: object) -> None:
    """Bind what a pattern has captured, where it has matched."""
    cases = captured.cases if isinstance(captured, Guarded) else ((E.TRUE, captured),)
    held = [(guard, case) for guard, case in cases if isinstance(case, _Matched)]
    if not held:
        return
    for position, name in enumerate(held[0][1].names):
        value = held[-1][1].values[position]
        for guard, case in reversed(held[:-1]):
            value = join(guard, case.values[position], value)
        names.bind(vm, name, value)


class _Matched:
    """A match: the captured values, in the order of the names."""

    __slots__ = ("names", "values")

    def __init__(self, captures: Captures) -> None:
        self.names = tuple(sorted(captures))
        self.values = tuple(captures[name] for name in self.names)


# ------------------------------------------------------------------------ patterns


def match(vm: VM, pattern: ir.Pattern, subject: object) -> object:
    """What a pattern captures of a subject: None on the paths on which it does not match."""
    return _try(vm, [(pattern, subject)], {})


_Work = list[tuple[ir.Pattern, object]]


def _try(vm: VM, work: _Work, captures: Captures) -> object:
    """Match several patterns in turn, all of which have to."""
    if not work:
        return _Matched(captures)
    (pattern, subject), rest = work[0], work[1:]
    if isinstance(pattern, ir.MatchOr):
        return _alternatives(vm, pattern.patterns, subject, rest, captures)
    if isinstance(pattern, ir.MatchAs):
        made = dict(captures) if pattern.name is None else {**captures, pattern.name: subject}
        inner = [] if pattern.pattern is None else [(pattern.pattern, subject)]
        return _try(vm, [*inner, *rest], made)
    found = vm.each(subject, lambda one: _FORMS[type(pattern)](vm, pattern, one))
    return _go_on(vm, found, rest, captures)


def _go_on(vm: VM, found: object, rest: _Work, captures: Captures) -> object:
    """Go on where a pattern itself has matched, with the parts of the subject it leaves to match.

    Several ways of matching (a subject that depends on the path) are gone one by one.
    """
    if not isinstance(found, Guarded):
        if not isinstance(found, _Parts):
            return None
        return _try(vm, [*found.work, *rest], {**captures, **found.captures})
    (guard, case), others = found.cases[0], found.cases[1:]
    if not others:
        return _go_on(vm, case, rest, captures)
    return vm.fork(
        guard,
        lambda: _go_on(vm, case, rest, captures),
        lambda: _go_on(vm, Guarded(others), rest, captures),
    )


def _alternatives(
    vm: VM,
    patterns: Sequence[ir.Pattern],
    subject: object,
    rest: _Work,
    captures: Captures,
) -> object:
    """``a | b``: the first that matches is taken, whatever comes after it."""
    first, others = patterns[0], patterns[1:]
    here = _try(vm, [(first, subject)], {})
    matches = _where(here, lambda value: value is not None)

    def taken() -> object:
        made = dict(captures)
        cases = here.cases if isinstance(here, Guarded) else ((E.TRUE, here),)
        held = [(guard, case) for guard, case in cases if isinstance(case, _Matched)]
        for position, name in enumerate(held[0][1].names):
            value = held[-1][1].values[position]
            for guard, case in reversed(held[:-1]):
                value = join(guard, case.values[position], value)
            made[name] = value
        return _try(vm, rest, made)

    def otherwise() -> object:
        if not others:
            return None
        return _alternatives(vm, others, subject, rest, captures)

    return vm.fork(matches, taken, otherwise)


class _Parts:
    """A pattern's own test has passed: what of the subject is still to be matched."""

    __slots__ = ("captures", "work")

    def __init__(self, work: _Work | None = None, captures: Captures | None = None) -> None:
        self.work: _Work = work or []
        self.captures: Captures = captures or {}


def _if(vm: VM, test: Bool, then: Callable[[], object]) -> object:
    return vm.fork(test, then, lambda: None)


def _value(vm: VM, pattern: ir.MatchValue, subject: object) -> object:
    wanted = vm.eval(pattern.value)
    same = vm.truth(vm.compare("==", subject, wanted, pattern.span), pattern.span)
    return _if(vm, same, _Parts)


def _singleton(vm: VM, pattern: ir.MatchSingleton, subject: object) -> object:
    if isinstance(pattern.value, bool):
        formula = as_formula(subject)
        if formula is not None:
            return _if(vm, formula if pattern.value else E.not_(formula), _Parts)
    return _if(vm, vm.identical(subject, pattern.value, pattern.span), _Parts)


# ------------------------------------------------------------------------ sequences


def _sequence(vm: VM, pattern: ir.MatchSequence, subject: object) -> object:
    span = pattern.span
    is_one = _is_sequence(vm, subject)
    if is_one is None:
        what = vm.kind(subject).describe(vm, subject)
        is_sequence = vm.unknown_bool(f"whether {what} is a sequence", span)
        return _if(vm, is_sequence, lambda: _Parts(_unknown_parts(pattern.patterns, subject)))
    if not is_one:
        return None
    star = next((k for k, p in enumerate(pattern.patterns) if isinstance(p, ir.MatchStar)), None)
    count = len(pattern.patterns) - (star is not None)
    length = vm.length(subject, span)
    op = "==" if star is None else ">="
    fits = vm.truth(vm.compare(op, length, E.const(count), span), span)
    return _if(vm, fits, lambda: _items(vm, pattern, subject, star, length, span))


def _unknown_parts(patterns: Sequence[ir.Pattern], subject: object) -> _Work:
    return [
        (ir.MatchAs(p.span, None, p.name) if isinstance(p, ir.MatchStar) else p, subject)
        for p in patterns
    ]


def _is_sequence(vm: VM, subject: object) -> bool | None:
    """Whether a subject is a sequence in the sense of patterns; None: that is not known."""
    if isinstance(subject, (tuple, LazyShape, Range)):
        return True
    if isinstance(subject, Parameter):
        return True if subject.kind is InputKind.TUPLE else None
    box = vm.box(subject)
    if isinstance(box, ListBox):
        return True
    if isinstance(box, ObjectBox):
        if hierarchy.is_external(box.cls):
            return None
        hosts = [b.type for b in hierarchy.mro_of(box.cls) if isinstance(b, HostType)]
        return any(issubclass(h, _SEQUENCES) and not issubclass(h, _TEXTS) for h in hosts)
    if isinstance(subject, (Opaque, ExternalRef, ApiRef)):
        return None
    cls = vm.type_of(subject)
    if isinstance(cls, HostType):
        return issubclass(cls.type, _SEQUENCES) and not issubclass(cls.type, _TEXTS)
    return None


def _items(
    vm: VM,
    pattern: ir.MatchSequence,
    subject: object,
    star: int | None,
    length: object,
    span: Span,
) -> object:
    patterns = pattern.patterns
    if star is None:
        return _Parts([(p, vm.item(subject, E.const(k), span)) for k, p in enumerate(patterns)])
    after = len(patterns) - star - 1
    before = [(p, vm.item(subject, E.const(k), span)) for k, p in enumerate(patterns[:star])]
    behind = [
        (p, vm.item(subject, vm.binary("-", length, E.const(after - k), span), span))
        for k, p in enumerate(patterns[star + 1 :])
    ]
    middle = patterns[star]
    assert isinstance(middle, ir.MatchStar)
    captures: Captures = {}
    if middle.name is not None:
        captures[middle.name] = _rest(vm, subject, star, after, span)
    return _Parts([*before, *behind], captures)


def _rest(vm: VM, subject: object, before: int, after: int, span: Span) -> object:
    """What a star takes, as a list."""
    items = vm.items_of(subject, span)
    if items is None:
        return vm.unfollowed("a star in a pattern takes an unknown number of items", span)
    return vm.heap.new(ListBox.of(items[before : len(items) - after]))


# ------------------------------------------------------------------------ mappings


def _mapping(vm: VM, pattern: ir.MatchMapping, subject: object) -> object:
    span = pattern.span
    source = _as_mapping(vm, subject)
    if source is None:
        if isinstance(subject, (Opaque, ExternalRef, ApiRef)) or _may_be_mapping(vm, subject):
            what = vm.kind(subject).describe(vm, subject)
            vm.unfollowed(f"whether {what} is a mapping is not followed", span)
        return None
    enough = vm.compare(">=", vm.length(source, span), E.const(len(pattern.keys)), span)
    return _if(vm, vm.truth(enough, span), lambda: _entries(vm, pattern, source))


def _entries(vm: VM, pattern: ir.MatchMapping, source: object) -> object:
    """The entries of a mapping that a pattern asks for, one after the other."""
    span = pattern.span
    keys = [vm.eval(key) for key in pattern.keys]

    def look(position: int, work: _Work) -> object:
        if position == len(keys):
            captures: Captures = {}
            if pattern.rest is not None:
                captures[pattern.rest] = _without(vm, source, keys, span)
            return _Parts(work, captures)
        key = keys[position]
        again = E.or_(*(vm.equal(other, key, span) for other in keys[:position]))
        vm.fault(ValueError, "mapping pattern checks duplicate key", span, when=again)
        there = vm.truth(vm.compare("in", key, source, span), span)
        return _if(
            vm,
            there,
            lambda: look(
                position + 1,
                [*work, (pattern.patterns[position], vm.item(source, key, span))],
            ),
        )

    return look(0, [])


def _as_mapping(vm: VM, subject: object) -> object:
    """The dictionary that a subject is or has in it; None if it is no mapping."""
    box = vm.box(subject)
    if isinstance(box, DictBox) or isinstance(subject, AttributeDict):
        return subject
    if isinstance(box, StateBox) and hierarchy.derives_from_host(vm.type_of(subject), dict):
        return subject
    if isinstance(box, ObjectBox) and isinstance(vm.box(box.payload), DictBox):
        names_ = ("__getitem__", "__contains__", "get", "keys")
        if not any(hierarchy.overrides(vm, box.cls, name) for name in names_):
            return box.payload
    return None


def _may_be_mapping(vm: VM, subject: object) -> bool:
    cls = vm.type_of(subject)
    hosts = [b.type for b in hierarchy.mro_of(cls) if isinstance(b, HostType)]
    if not hosts:
        return True  # it is not known what it is
    return any(issubclass(host, _MAPPINGS) for host in hosts) or hierarchy.is_external(cls)


def _without(vm: VM, source: object, keys: Sequence[object], span: Span) -> object:
    """A new dictionary without some keys."""
    rest = vm.call(vm.attribute(source, "copy", span), (), span=span)
    for key in keys:
        vm.set_item(rest, key, UNBOUND, span)
    return rest


# ------------------------------------------------------------------------ classes


def _class(vm: VM, pattern: ir.MatchClass, subject: object) -> object:
    span = pattern.span
    cls = vm.settled(vm.eval(pattern.cls))
    cls = hierarchy.origin_of(cls)
    if isinstance(cls, (Opaque, ExternalRef, ApiRef, Guarded)):
        vm.unfollowed("whether a value is an instance of a class that is not followed", span)
        return None
    if not isinstance(cls, (Class, HostType)):
        what = vm.kind(cls).describe(vm, cls)
        vm.fault(TypeError, f"called match pattern must be a class, not {what}", span)
        return None
    from_builtin = vm.language.builtins["isinstance"]
    is_one = vm.truth(vm.call(from_builtin, (subject, cls), span=span), span)
    return _if(vm, is_one, lambda: _attributes(vm, pattern, subject, cls))


def _attributes(vm: VM, pattern: ir.MatchClass, subject: object, cls: object) -> object:
    span = pattern.span
    work: _Work = []
    wanted: list[tuple[str, ir.Pattern]] = []
    if pattern.patterns:
        if _takes_whole(vm, cls):
            if len(pattern.patterns) > 1:
                _too_many(vm, cls, 1, len(pattern.patterns), span)
            work.append((pattern.patterns[0], subject))
        else:
            args = _match_args(vm, cls, len(pattern.patterns), span)
            wanted.extend(zip(args, pattern.patterns, strict=False))
    wanted.extend(zip(pattern.names, pattern.named, strict=True))
    return _look_up(vm, subject, wanted, work, frozenset(), span)


def _look_up(
    vm: VM,
    subject: object,
    wanted: Sequence[tuple[str, ir.Pattern]],
    work: _Work,
    seen: frozenset[str],
    span: Span,
) -> object:
    if not wanted:
        return _Parts(work)
    (name, pattern), others = wanted[0], wanted[1:]
    if name in seen:
        vm.fault(TypeError, f"the pattern has the attribute `{name}` twice", span)
    from_builtin = vm.language.builtins["getattr"]
    found = vm.call(from_builtin, (subject, name, _ABSENT), span=span)
    there = _where(found, lambda value: value is not _ABSENT)

    def go_on() -> object:
        value = found
        if isinstance(found, Guarded):
            value = vm.settled(Guarded(tuple((g, v) for g, v in found.cases if v is not _ABSENT)))
        return _look_up(vm, subject, others, [*work, (pattern, value)], seen | {name}, span)

    return _if(vm, there, go_on)


class _Absent:
    """An attribute that a subject does not have."""

    __slots__ = ()


_ABSENT: Final = _Absent()


def _takes_whole(vm: VM, cls: object) -> bool:
    """Whether the one positional pattern of a class is for the subject itself."""
    if hierarchy.lookup(vm, cls, "__match_args__") is not UNBOUND:
        return False
    return any(hierarchy.derives_from_host(cls, host) for host in _WHOLE)


def _match_args(vm: VM, cls: object, count: int, span: Span) -> tuple[str, ...]:
    value = hierarchy.lookup(vm, cls, "__match_args__")
    value = () if value is UNBOUND else vm.settled(value)
    if not isinstance(value, tuple) or not all(isinstance(name, str) for name in value):
        if not isinstance(value, (tuple, Guarded, Opaque, hierarchy.Inherited)):
            vm.fault(TypeError, "__match_args__ must be a tuple", span)
        vm.unfollowed("the positional patterns of a class are not followed", span)
        return ()
    if len(value) < count:
        _too_many(vm, cls, len(value), count, span)
    return tuple(str(name) for name in value[:count])


def _too_many(vm: VM, cls: object, takes: int, count: int, span: Span) -> None:
    what = hierarchy.described(cls)
    message = f"{what}() accepts {takes} positional sub-patterns ({count} given)"
    vm.fault(TypeError, message, span)


_FORMS: Final[dict[type[ir.Pattern], Callable[[VM, Any, object], object]]] = {
    ir.MatchValue: _value,
    ir.MatchSingleton: _singleton,
    ir.MatchSequence: _sequence,
    ir.MatchMapping: _mapping,
    ir.MatchClass: _class,
}
