"""The accumulation protocol of PSUM: who starts a sum, and who starts the next one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Struct
from msgspec.structs import replace

from rules.memory import examples
from rules.memory.cases import (
    Copy,
    apart,
    before,
    between,
    common_loops,
    contains,
    copy,
    covered,
    depends_on,
    dominates,
    other_element,
    preceding,
    renewed,
)
from rules.memory.loaded import is_linear
from rules.memory.product_blocks import takes_other_block
from rules.memory.sums import Fault, fault
from rules.memory.words import allocation_note, element, subject
from verifier.hardware.capabilities import Capability
from verifier.hardware.memories import Buffer
from verifier.hardware.targets import Target, first_with
from verifier.rulebase import Monitor, On, Rule, register
from verifier.symbolic import expr as E
from verifier.symbolic.checks import Check, Note
from verifier.symbolic.effects import Effect
from verifier.symbolic.expr import Bool
from verifier.symbolic.memory.content import Content, written
from verifier.symbolic.memory.events import Added
from verifier.symbolic.memory.index import (
    Access,
    Index,
    Uses,
    accumulation,
    index,
    is_matmul,
    is_tensor_engine,
    tensor,
)
from verifier.symbolic.memory.known import Known
from verifier.symbolic.pretty import operand
from verifier.symbolic.tensors import Loop, LoopKind
from verifier.symbolic.trace import Trace

#: ways in which a sum may have been used before it is added to, for one multiplication
_MOST_WAYS = 64


def accumulation_protocol(trace: Trace, target: Target) -> Iterable[Check]:
    """Checks per matmul into PSUM.

    Where a sum is written ``+=``, the compiler makes the first one overwrite.
    """
    for uses in index(trace).storages:
        if uses.storage.buffer is not Buffer.PSUM:
            continue
        if trace.generation.sums_by_operator:
            for access in uses.sums:
                yield from _added_to_data(access, uses, target)
            continue
        for access in uses.targets:
            if is_matmul(access.operation):
                yield _started(access, uses, target)
        for access in uses.writes:
            if is_matmul(access.operation) and access.operation.adds:
                yield from _foreign(access, uses, target)
                yield from _in_part(access, uses, target)
                yield from _stale(access, uses, target)
                yield from _of_another_block(access, uses, target, index(trace))


def _sums(uses: Uses) -> list[Access]:
    return [write for write in uses.writes if is_tensor_engine(write.operation)]


def _effect(access: Access) -> Effect:
    """What a matmul does that may add."""
    effect = access.operation.effect
    return effect if isinstance(effect, Effect) else Effect.ADDS


def _started(access: Access, uses: Uses, target: Target) -> Check:
    """``accumulate=True`` continues a sum that another matmul started.

    Where something else wrote there is no sum either, but that is said by :func:`_foreign`.
    """
    name = uses.storage.name
    wrong = fault(Content.NOTHING, Effect.ADDS, target, name)
    assert wrong is not None
    others = [w for w in uses.writes if w.operation is not access.operation]
    exact, reason = True, ""
    predicate: Bool
    if any(dominates(w, access) and contains(w.view, access.view) for w in others):
        predicate = E.TRUE
    else:
        ways = (way for w in uses.writes for way in before(w, access))
        predicate, exact, _ = covered(
            ways, access.view, Known((*access.path, *access.ranges), access.loops)
        )
        if not access.view.exact:
            predicate, exact = E.FALSE, False
        if not exact:
            reason = f"where `{name}` was written is not known exactly"
    where = element(access.view)
    return Check(
        predicate=predicate,
        span=access.operation.span_of("accumulate"),
        text=wrong.text,
        message=wrong.message,
        facts=(wrong.fact,),
        given=(*access.ranges, *where.given) if predicate is not E.TRUE else (),
        values=where.values,
        notes=(allocation_note(uses.storage),),
        help=("start the sum with accumulate=False, or leave accumulate at None",),
        exact=exact,
        reason=reason,
        path=(*access.path, *access.given),
        order=access.order,
    )


def _foreign(access: Access, uses: Uses, target: Target) -> Iterator[Check]:
    """A sum never continues what something else than a matmul wrote."""
    for write in uses.writes:
        if is_tensor_engine(write.operation):
            continue
        what = write.operation.name.rpartition(".")[2]
        content = written(write.operation)
        wrong = fault(content, _effect(access), target, uses.storage.name, what)
        if wrong is None:
            continue
        for level, found in sorted(preceding(write, access), key=_depth, reverse=True):
            yield _foreign_check(access, uses, wrong, write, found, level)


def _added_to_data(access: Access, uses: Uses, target: Target) -> Iterator[Check]:
    """``+=`` of a product onto data: whether the data is kept is said nowhere (NKI-M136).

    Zeros go either way. Where the compiler lets the Tensor Engine add, data of others is lost; it
    may add with another engine instead.
    """
    for found in _foreign(access, uses, target):
        if found.severity is None:
            yield replace(
                found,
                exact=False,
                reason=f"whether `+=` keeps data in `{uses.storage.name}` is not documented",
                help=("add the product to the data in another tile",),
            )


def _depth(way: tuple[int, Copy]) -> int:
    return way[0]


def _foreign_check(
    access: Access, uses: Uses, wrong: Fault, write: Access, found: Copy, level: int
) -> Check:
    """``found`` shares one iteration of the outermost ``level`` loops."""
    name = uses.storage.name
    what = write.operation.name.rpartition(".")[2]
    since = [*_sums(uses), *(w for w in uses.writes if written(w.operation) is Content.SUM)]
    if wrong.severity is None:  # of zeros that came after it, the check of those speaks
        since += [w for w in uses.writes if written(w.operation) is Content.ZEROS]
    predicate, exact = renewed(access, since, found, level)
    given = (*access.ranges, *found.ranges)
    if isinstance(access.operation.effect, Bool):
        given = (*given, access.operation.effect)
    where = element(access.view)
    message, values = wrong.message, where.values
    help_text = (
        f"drop the `{what}`: the first matmul of a sum overwrites its target "
        "(accumulate=False or None)"
    )
    if level < common_loops(write.loops, access.loops):
        loop = access.loops[level]
        called = loop.name or "i"
        message = f"{message} in an earlier iteration of `{called}`"
        values = (*values, (f"trips of `{called}`", loop.trips))
        help_text = (
            f"let `{what}` write into another tile than `{name}`, or pass accumulate=False to the "
            "first matmul after it"
        )
    return Check(
        predicate=predicate,
        span=access.span,
        text=wrong.text,
        message=message,
        facts=(wrong.fact,),
        given=(*given, *where.given),
        values=values,
        notes=(Note(write.operation.span, f"`{name}` is written by `{what}` here"),),
        help=(help_text,),
        severity=wrong.severity,
        exact=exact,
        reason="" if exact else f"where `{name}` was written is not known exactly",
        path=access.path,
        order=access.order,
    )


# -- sums of one region, members of another ----------------------------------------------


def _in_part(access: Access, uses: Uses, target: Target) -> Iterator[Check]:
    """With ``accumulate=None`` a matmul goes on with a sum everywhere, or begins one everywhere.

    Of any two of its elements: what it adds to at the first, it adds to at the second.
    """
    wrong = fault(Content.PART, _effect(access), target, uses.storage.name)
    if wrong is None:
        return
    name = uses.storage.name
    foreign = [write for write in uses.writes if not is_tensor_engine(write.operation)]
    second = other_element(access.view)
    there = (*(axis.within for axis in second.axes), second.mask)
    known = Known((*access.path, *access.ranges, *there), access.loops)
    begun: tuple[Bool, bool] | None = None
    parts: list[Bool] = []
    exact, first = access.view.exact, None
    for level, found in (way for old in _sums(uses) for way in preceding(old, access)):
        if contains(found.view, access.view):
            continue  # where it went on, it was everywhere
        gone, sure = renewed(access, foreign, found, level)
        if gone is E.TRUE:
            continue
        if begun is None:
            ways = (way for write in uses.writes for way in before(write, access))
            formula, covers, _ = covered(ways, second, known)
            begun = formula, covers
        if begun[0] is E.TRUE:
            return
        if len(parts) == _MOST_WAYS:
            parts, exact = [E.FALSE], False
            break
        first = first or found.access
        parts.append(E.or_(*(E.not_(fact) for fact in found.ranges), gone, begun[0]))
        exact = exact and sure and begun[1]
    if first is None:
        return
    where = element(access.view)
    yield Check(
        predicate=E.and_(*parts),
        span=access.span,
        text=wrong.text,
        message=wrong.message,
        facts=(wrong.fact,),
        given=tuple(dict.fromkeys((*access.ranges, *there, *where.given))),
        values=where.values,
        notes=(Note(first.operation.span, "the sum is begun here"),),
        help=("write apart what is summed apart, or begin each sum with accumulate=False",),
        exact=exact,
        reason="" if exact else f"where `{name}` was written is not known exactly",
        path=access.path,
        order=access.order,
    )


# -- sums that were used, and are added to ---------------------------------------------


class _Use(Struct, frozen=True, eq=False):
    """A read of a sum before a matmul adds to it: in this iteration, or in one before of a loop."""

    read: Access
    copy: Copy
    #: depth of the loop of which it is an earlier iteration; None: the same iteration
    level: int | None
    #: how many loops the read and the matmul go through together
    shared: int


def _uses_before(access: Access, uses: Uses) -> Iterator[_Use]:
    instance = tensor(access.view)
    for read in uses.reads:
        shared = common_loops(read.loops, access.loops)
        precedes = read.order < access.order
        if precedes:
            found = copy(read, shared, instance=instance)
            if found is not None:
                yield _Use(read, found, None, shared)
        for level in reversed(range(shared)):
            loop = access.loops[level]
            if loop.kind is LoopKind.GRID or loop in uses.storage.loops:
                continue
            if precedes and not depends_on(read, read.loops[level:shared]):
                continue  # the read of this iteration comes later, and reads the same
            found = copy(read, level, below=loop.index, instance=instance)
            if found is not None:
                yield _Use(read, found, level, level)


def _stale(access: Access, uses: Uses, target: Target) -> Iterator[Check]:
    """With ``accumulate=None`` a tile that is used again goes on adding."""
    wrong = fault(Content.USED, _effect(access), target, uses.storage.name)
    if wrong is None:
        return
    found: list[_Use] = []
    parts: list[Bool] = []
    exact = access.view.exact
    told: set[int] = set()
    for use in _uses_before(access, uses):
        if use.level in told:
            continue  # there is no earlier iteration, or that is said already
        if len(found) == _MOST_WAYS:
            parts, exact = [E.FALSE], False
            break
        plain = _every_iteration(access, uses, use)
        if plain is not None and use.level is not None:
            told.add(use.level)
            yield _stale_check(access, uses, wrong, use, plain, True)
            continue
        kept, known = _kept(access, uses, use)
        if kept is not E.TRUE:
            found.append(use)
            parts.append(kept)
            exact = exact and known
    if found:
        yield _stale_check(access, uses, wrong, found[0], E.and_(*parts), exact)


def _of_another_block(access: Access, uses: Uses, target: Target, table: Index) -> Iterator[Check]:
    """With a flag that says where sums begin, a tile is used, and goes on with another block.

    That is meant where the next terms are of other parts of what is summed over (a running sum that
    is looked at now and then). Terms of the same parts, for other rows or columns of the result,
    are those of another sum.
    """
    wrong = fault(Content.USED, Effect.ADDS, target, uses.storage.name, another=True)
    adds = accumulation(access.operation)
    if wrong is None or adds is E.FALSE:
        return
    if adds is not E.TRUE:
        access = replace(access, given=(*access.given, adds), reaches={})
    for use in _uses_before(access, uses):
        if use.level is None or not takes_other_block(access, access.loops[use.level], table):
            continue
        kept, known = _kept(access, uses, use)
        if known and kept is not E.TRUE and is_linear(kept):
            found = _stale_check(access, uses, wrong, use, kept, True)
            yield replace(found, subject=subject(uses.storage))
            return


def _every_iteration(access: Access, uses: Uses, use: _Use) -> Loop | None:
    """The loop, if each of its iterations uses all of the sum and nothing in it begins anew."""
    if use.level is None or use.read.order < access.order:
        return None
    loop = access.loops[use.level]
    if depends_on(access, access.loops[use.level :]) or not access.view.exact:
        return None
    if use.read.path != access.path or depends_on(use.read, use.read.loops[use.level :]):
        return None
    anew = any(
        not write.operation.adds or isinstance(write.operation.effect, Bool)
        for write in uses.writes
        if use.level < len(write.loops) and write.loops[use.level] is loop
    )
    return loop if not anew and contains(use.read.view, access.view) else None


def _kept(access: Access, uses: Uses, use: _Use) -> tuple[Bool, bool]:
    """Whether a use is of other elements, or of no sum, or a sum is begun after it; exactness."""
    different, exact = apart(access.view, use.copy.view)
    if different is E.TRUE:
        return E.TRUE, True
    begun, known = _begun_since(access, uses, use)
    if begun is E.TRUE:
        return E.TRUE, True
    unsummed: list[Bool] = []
    for old in _sums_before(access, uses, use):
        other, sure = apart(access.view, old.view)
        unsummed.append(E.or_(*(E.not_(fact) for fact in old.ranges), other))
        exact = exact and sure
    if not unsummed:
        return E.TRUE, True
    given = (E.not_(fact) for fact in use.copy.ranges)
    return E.or_(*given, different, begun, E.and_(*unsummed)), exact and known


def _begun_since(access: Access, uses: Uses, use: _Use) -> tuple[Bool, bool]:
    """Whether something overwrites the element of ``access`` after the use; and exactness."""
    ways: list[Copy] = []
    for write in uses.writes:
        adds = write.operation.effect
        if isinstance(adds, Bool):
            write = replace(write, given=(*write.given, E.not_(adds)), reaches={})
        elif write.operation.adds:
            continue
        ways += between(write, use.copy, use.shared, access)
    known = Known((*access.path, *access.ranges), access.loops)
    begun, exact, _ = covered(ways, access.view, known)
    return begun, exact


def _sums_before(access: Access, uses: Uses, use: _Use) -> Iterator[Copy]:
    """The sums that a use may have seen."""
    instance = tensor(access.view)
    for old in _sums(uses):
        shared = min(use.shared, common_loops(old.loops, access.loops))
        if old.order < use.read.order or use.level is not None:
            found = copy(old, shared, instance=instance)
            if found is not None:
                yield found
            continue
        for level in range(shared):
            loop = access.loops[level]
            if loop.kind is LoopKind.GRID or loop in uses.storage.loops:
                continue
            found = copy(old, level, below=loop.index, instance=instance)
            if found is not None:
                yield found


def _stale_check(
    access: Access, uses: Uses, wrong: Fault, use: _Use, held: Bool | Loop, exact: bool
) -> Check:
    storage = uses.storage
    name = storage.name
    message, text = wrong.message, wrong.text
    given = access.ranges
    help_text = "pass accumulate=False to the first matmul of each sum"
    notes = [Note(use.read.span, "the sum is used here")]
    values: tuple[tuple[str, E.Expr], ...] = ()
    predicate = held if isinstance(held, Bool) else E.le(held.trips, 1)
    if use.level is not None:
        loop = access.loops[use.level]
        called = loop.name or "i"
        message = (
            f"from the second iteration of `{called}` on, this matmul adds to the sum of the "
            f"iteration before: nothing resets `{name}`"
        )
        help_text = f"allocate `{name}` inside the loop over `{called}`, or {help_text}"
        notes.append(Note(storage.span, f"`{name}` is allocated here, outside the loop"))
        values = ((f"trips of `{called}`", loop.trips),)
        if isinstance(held, Loop):
            text = f"{operand(loop.trips)} <= 1"
            given = tuple(other.within for other in access.loops[: use.level])
            inner = dict.fromkeys(
                (*access.loops[use.level + 1 :], *use.read.loops[use.level + 1 :])
            )
            given += tuple(E.ge(other.trips, 1) for other in inner)
    else:
        help_text = f"sum into another tile, or {help_text}"
    return Check(
        predicate=predicate,
        span=access.span,
        text=text,
        message=message,
        facts=(wrong.fact,),
        given=given,
        values=values,
        notes=tuple(notes),
        help=(help_text,),
        exact=exact,
        reason=""
        if exact
        else access.view.reason or f"where `{name}` is used is not known exactly",
        path=access.path,
        order=access.order,
    )


def added_to_used(event: Added, target: Target) -> Iterator[Check]:
    """As :func:`_of_another_block`, of a run: that the sum was used is seen here, not of what."""
    storage, operation = event.storage, event.operation
    wrong = fault(event.content, Effect.ADDS, target, storage.name, another=True)
    if wrong is not None and event.content is Content.USED and operation.effect is Effect.ADDS:
        yield Check(
            predicate=E.FALSE,
            span=operation.span,
            text=wrong.text,
            message=wrong.message,
            facts=(wrong.fact,),
            notes=(allocation_note(storage),),
            subject=subject(storage),
        )


def added(event: Added, target: Target) -> Iterator[Check]:
    """The multiplication of a run into a place with some content."""
    operation = event.operation
    effect = operation.effect if isinstance(operation.effect, Effect) else Effect.ADDS
    wrong = fault(event.content, effect, target, event.storage.name, event.writer)
    if wrong is not None:
        begins = event.content is Content.NOTHING
        yield Check(
            predicate=E.FALSE,
            span=operation.span_of("accumulate") if begins else operation.span,
            text=wrong.text,
            message=wrong.message,
            facts=(wrong.fact,),
            notes=(allocation_note(event.storage),),
            severity=wrong.severity,
        )


register(
    Rule(
        id="psum-accumulation",
        code="MEM305",
        family="memory",
        summary="a sum in PSUM starts from nothing but what belongs to it",
        silent=True,
        reason=(
            "The Tensor Engine keeps one flag per PSUM location: the first matmul overwrites, "
            "later ones add. A tile that is reused without accumulate=False goes on with the old "
            "sum; adding to what another engine wrote is undefined before "
            f"{first_with(Capability.SUM_ON_ANY_CONTENT).name}."
        ),
        facts=("NKI-MMU25", "NKI-MMU26", "NKI-MMU27", "NKI-MMU28", "NKI-MMX14", "NKI-B23"),
        on=On.TRACE,
        check=accumulation_protocol,
        monitors=(Monitor(Added, added), Monitor(Added, added_to_used, meant=True)),
        failing=examples.ACCUMULATION_FAILING,
        passing=examples.ACCUMULATION_PASSING,
    )
)
