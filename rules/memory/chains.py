"""Accumulators of engines: what they hold that a call goes on from.

The Scalar and the Vector Engine have one accumulator for each lane, which all functions that
accumulate share. A chain of calls sets them, adds to them any number of times, and reads them out;
no other user comes in between. The symbolic check asks what an accumulator holds on each way in
which one call may come before another; a run keeps it per lane.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from rules.memory import examples
from rules.memory.cases import (
    Copy,
    before,
    between,
    common_loops,
    contains,
    covered,
    dominates,
    preceding,
    renewed,
)
from rules.memory.registers import file_of, lane, lanes_of, registers_of
from verifier.hardware.targets import Target
from verifier.rulebase import Monitor, On, Replayed, Rule, Shown, register
from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.checks import Check, Note
from verifier.symbolic.effects import Accumulation
from verifier.symbolic.expr import Bool
from verifier.symbolic.memory.content import Held
from verifier.symbolic.memory.events import Accumulated, Unread
from verifier.symbolic.memory.index import Access, Index, index
from verifier.symbolic.memory.known import Known
from verifier.symbolic.tensors import Axis, Storage, View
from verifier.symbolic.trace import Operation, Trace


class Fault(Struct, frozen=True):
    """What is wrong with a call that goes on from what accumulators hold."""

    facts: tuple[str, ...]
    text: str
    message: str
    help: str


def fault(held: Held, operation: Operation, used: Accumulation) -> Fault | None:
    """Whether a call is wrong where the accumulators of its engine hold that."""
    if not used.continues:
        return None
    name = _short(operation)
    does = "adds to" if used.adds else "reads"
    anew = "pass reduce_cmd=reset_reduce to the first call of a chain"
    if used.alters:
        return Fault(
            _cited("NKI-AC05", operation),
            "the accumulators are read out by a call that does not alter them",
            f"`{used.to}` is read out of accumulators that `{name}` with `idle` may alter",
            "pass reduce_cmd=reset_reduce, or leave out the tile for the result",
        )
    if not held.by:
        return Fault(
            _cited("NKI-AC04", operation),
            f"a call resets the accumulators before `{name}` {does} them",
            f"`{name}` {does} accumulators that nothing has reset",
            anew,
        )
    if held.altered:
        return Fault(
            _cited("NKI-AC05", operation),
            "the accumulators are set anew after a call that may alter them",
            f"`{name}` {does} accumulators that `{held.by}` with `idle` may have altered",
            anew,
        )
    mixed = bool(held.operator and used.operator) and held.operator != used.operator
    if held.by == name and not mixed:
        return None
    other = f"`{held.by}` with `{held.operator}`" if held.by == name else f"`{held.by}`"
    return Fault(
        _cited("NKI-AC03", operation, held),
        f"no other user of the accumulators comes into the chain of `{name}`",
        f"`{name}` {does} accumulators that {other} has set",
        "read a chain out before the engine accumulates something else",
    )


def ended_fault(operation: Operation) -> Fault:
    """A call goes on where another chain has ended the one that its result holds a part of."""
    name = _short(operation)
    return Fault(
        _cited("NKI-AC03", operation),
        f"no other chain has ended the one that is read out into the result of `{name}`",
        f"`{name}` goes on from what another chain has begun; what its own had added up is lost",
        "read a chain out before the engine accumulates something else, or add results up",
    )


class _Call(Struct, frozen=True, eq=False):
    """A call that uses accumulators; ``used`` None: how is not followed."""

    access: Access
    used: Accumulation | None

    @property
    def begins(self) -> bool:
        return self.used is not None and self.used.begins

    @property
    def left(self) -> Held | None:
        """What the accumulators hold after it, if it sets or alters them."""
        return None if self.used is None else Held.after(self.access.operation, self.used)

    def result(self, table: Index) -> Access | None:
        """What they are read out into."""
        operation, to = self.access.operation, self.used.to if self.used is not None else ""
        view = operation.view(to) if to else None
        writes = () if view is None else table.uses(view.storage).writes
        return next((w for w in writes if w.operation is operation and w.role == to), None)


def chains(trace: Trace, target: Target) -> Iterator[Check]:
    """Checks per call that goes on from what others left."""
    table = index(trace)
    for found in _calls(trace, target).values():
        for call in found:
            if call.used is None or call.used.continues:
                yield from _continued(call, found)
        first = {call: _first_read(call, found) for call in found}
        for call in found:
            if call.used is not None and call.used.continues:
                yield from _in_turns(call, first, table)


def _calls(trace: Trace, target: Target) -> dict[str, list[_Call]]:
    """The calls that use accumulators, by engine, in program order."""
    calls: dict[str, list[_Call]] = {}
    files: dict[str, Storage] = {}
    for operation in sorted(trace.operations, key=lambda op: op.order):
        registers = registers_of(operation)
        if registers is None:
            continue
        used = registers.used(operation)
        if used == Accumulation(operator=used.operator if used is not None else ""):
            continue
        file = files.setdefault(registers.name, file_of(registers.name, trace, target))
        access = lanes_of(operation, registers, file, trace)
        calls.setdefault(registers.name, []).append(_Call(access, used))
    return calls


# -- what a call goes on from ------------------------------------------------------------


def _continued(call: _Call, calls: Sequence[_Call]) -> Iterator[Check]:
    if call.used is None:
        yield _open(call, "what is done with accumulators is not followed")
        return
    operation, used = call.access.operation, call.used
    wrong = fault(Held(), operation, used)
    assert wrong is not None
    if used.alters:
        yield _check(call, wrong, E.FALSE, True)
        return
    unfollowed = [each for each in calls if each.used is None]
    if any(True for each in unfollowed for _ in preceding(each.access, call.access)):
        # it may have set them
        yield _open(call, "what an earlier call does with accumulators is not followed")
    else:
        yield _begun(call, calls, wrong)
    for other in calls:
        if other.used is None:
            continue
        held = other.left
        wrong = fault(held, operation, used) if held is not None else None
        if wrong is None:
            continue
        sets = [each.access for each in calls if _suits(each, call)]
        for level, way in preceding(other.access, call.access):
            formula, exact = renewed(call.access, sets, way, level)
            given = (*call.access.ranges, *way.ranges)
            yield _between(call, other, wrong, formula, exact, given, level)


def _in_turns(call: _Call, first: Mapping[_Call, bool | None], table: Index) -> Iterator[Check]:
    """What a call goes on from is its own chain, if its result holds a part of that.

    Its own chain: one that was read out first into that result, which nothing has taken or written
    since. ``first`` is as in :func:`_first_read`, for all calls of the engine.
    """
    result = call.result(table)
    if result is None or first[call]:
        return
    wrong, access = ended_fault(call.access.operation), call.access
    uses = table.uses(result.view.storage)
    begins = [each for each in first if each.begins]
    owners = [each for each in first if first[each] is not False]
    own = {id(each.access.operation) for each in first if not first[each]}
    followed = all(each is not None for each in first.values())
    taken = [*uses.reads, *uses.targets]
    taken += [write for write in uses.writes if id(write.operation) not in own]
    known = Known((*access.path, *access.ranges), access.loops)
    for begin in (found for each in owners if (found := each.result(table)) is not None):
        if begin.view.storage is not result.view.storage:
            continue
        for level, way in preceding(begin, result):
            over, exact = renewed(result, taken, way, level)
            if over is E.TRUE:
                continue
            # another chain is set, and read out
            ended, sure = E.TRUE, True
            for those in (begins, owners):
                ways = (w for each in those for w in between(each.access, way, level, access))
                part, follows, _ = covered(ways, access.view, known)
                ended, sure = E.and_(ended, part if follows else E.TRUE), sure and follows
            if ended is E.FALSE:
                continue
            formula = E.implies(ended, over)
            given = (*access.ranges, *result.ranges, *way.ranges)
            yield _check(call, wrong, formula, exact and sure and followed, given)


def _first_read(call: _Call, calls: Sequence[_Call]) -> bool | None:
    """Whether a call is the first to read a chain out; None: that hangs on more than is followed.

    A reset that is read out nowhere begins the chain of whatever it is read out into first: that
    may be the tile of an earlier chain, which is begun once more.
    """
    used = call.used
    if used is None or not used.to or used.begins:
        return used is not None and used.begins and bool(used.to)
    reads = [each for each in calls if each.used is not None and each.used.to]
    begins = [each for each in calls if each.begins]
    bare = [each for each in begins if each not in reads]
    if not any(_last(each, (*reads, *bare), call) for each in bare):
        return False
    return None if any(_last(each, begins, call) for each in reads) else True


def _last(earlier: _Call, ends: Sequence[_Call], later: _Call) -> bool:
    """Whether a call may come before another one with none of ``ends`` in between."""
    access = later.access
    for level, way in preceding(earlier.access, access):
        formula, _ = renewed(access, [end.access for end in ends], way, level)
        known = Known((*access.path, *access.ranges, *way.ranges), (*access.loops, *way.private))
        if known.decide(formula) is not True:
            return True
    return False


def _suits(other: _Call, call: _Call) -> bool:
    """Whether a call sets accumulators for another one to go on from."""
    held = other.left
    assert call.used is not None
    return held is not None and fault(held, call.access.operation, call.used) is None


def _begun(call: _Call, calls: Sequence[_Call], wrong: Fault) -> Check:
    """Something has set the accumulators of all lanes, or altered them, which is said elsewhere."""
    access = call.access
    others = [each.access for each in calls if each.left is not None and each is not call]
    if any(dominates(other, access) and contains(other.view, access.view) for other in others):
        return _check(call, wrong, E.TRUE, True)
    ways = (way for other in others for way in before(other, access))
    known = Known((*access.path, *access.ranges), access.loops)
    formula, exact, _ = covered(ways, access.view, known)
    return _check(call, wrong, formula, exact and access.view.exact, access.ranges)


def _check(
    call: _Call, wrong: Fault, predicate: Bool, exact: bool, given: tuple[Bool, ...] = ()
) -> Check:
    access = call.access
    return Check(
        predicate=predicate,
        span=_place(access.operation),
        text=wrong.text,
        message=wrong.message,
        facts=wrong.facts,
        given=given if predicate is not E.TRUE else (),
        help=(wrong.help,),
        exact=exact,
        reason="" if exact else access.view.reason or "which call comes before is not known",
        path=access.path,
        order=access.order,
    )


def _between(
    call: _Call,
    other: _Call,
    wrong: Fault,
    predicate: Bool,
    exact: bool,
    given: tuple[Bool, ...],
    level: int,
) -> Check:
    """``other`` comes before ``call``: ``level`` is how many loops share their iteration."""
    found = _check(call, wrong, predicate, exact, given)
    place = Note(other.access.span, f"`{_short(other.access.operation)}` uses them here")
    found = replace(found, notes=(place,))
    if level == common_loops(other.access.loops, call.access.loops):
        return found
    loop = call.access.loops[level]
    called = loop.name or "i"
    return replace(
        found,
        message=f"{wrong.message}, in an earlier iteration of `{called}`",
        values=((f"trips of `{called}`", loop.trips),),
    )


def _open(call: _Call, reason: str) -> Check:
    access = call.access
    return Check(
        predicate=E.FALSE,
        span=_place(access.operation),
        text="a chain of calls that accumulate is not interrupted",
        message="what the accumulators hold is not known",
        facts=("NKI-AC03",),
        exact=False,
        reason=reason,
        path=access.path,
        order=access.order,
    )


# -- what is accumulated for nothing -----------------------------------------------------


def unread_chains(trace: Trace, target: Target) -> Iterator[Check]:
    """Checks per call that adds up on demand: it is read out before it is set anew, or the end."""
    for calls in _calls(trace, target).values():
        kept = [call for call in calls if _keeps(call)]
        if not kept or any(call.used is None for call in calls):
            continue
        ends = [*(call.access for call in calls if call.begins), _end(kept[0], trace)]
        reads = [each.access for each in calls if each.begins or (each.used and each.used.to)]
        for call in kept:
            for end in ends:
                good = [access for access in reads if access is not end]
                for level, way in preceding(call.access, end):
                    formula, exact = renewed(end, good, way, level)
                    yield _lost(call, end, way, formula, exact)


def _keeps(call: _Call) -> bool:
    """Whether a call adds to accumulators because it is told to, and does not read them out."""
    used, operation = call.used, call.access.operation
    registers = registers_of(operation)
    assert registers is not None
    return used is not None and used.adds and not used.to and operation.given(registers.command)


def _end(call: _Call, trace: Trace) -> Access:
    """All accumulators of an engine when the kernel is over."""
    file = call.access.view.storage
    last = max((operation.order for operation in trace.operations), default=0) + 1
    over = Operation("", {}, trace.span, trace.generation, (), (), last)
    axis = Axis(lane(), file.shape[0])
    view = View(
        storage=file,
        instance=(),
        frame=file.shape,
        frame_partition=0,
        axes=(axis,),
        coords=(axis.index,),
        dtype=file.dtype,
    )
    return Access(over, "", view, trace.grid)


def _lost(call: _Call, later: Access, way: Copy, predicate: Bool, exact: bool) -> Check:
    operation = call.access.operation
    wrong = _unread_fault(operation)
    return Check(
        predicate=predicate,
        span=_place(operation),
        text=wrong.text,
        message=wrong.message,
        facts=wrong.facts,
        given=(*later.ranges, *way.ranges),
        help=(wrong.help,),
        exact=exact,
        reason="" if exact else "which call comes next is not known",
        path=later.path,
        order=max(later.order, call.access.order),
    )


def _unread_fault(operation: Operation) -> Fault:
    name = _short(operation)
    return Fault(
        _cited("NKI-AC06", operation),
        f"what `{name}` adds up is read out",
        f"what `{name}` adds up in the accumulators is never read out",
        "pass a tile as reduce_res to the last call of the chain",
    )


# -- both --------------------------------------------------------------------------------


def _short(operation: Operation) -> str:
    return operation.name.rpartition(".")[2]


def _cited(fact: str, operation: Operation, held: Held | None = None) -> tuple[str, ...]:
    """A fact, and those about the functions that are concerned."""
    registers = registers_of(operation)
    own = registers.facts if registers is not None else ()
    return tuple(dict.fromkeys((fact, *own, *(held.facts if held is not None else ()))))


def _place(operation: Operation) -> Span:
    registers = registers_of(operation)
    assert registers is not None
    return (
        operation.span_of(registers.command)
        if operation.given(registers.command)
        else operation.span
    )


def accumulated(event: Accumulated, target: Target) -> Iterator[Check]:
    """A call of a run that goes on from what accumulators hold."""
    wrong = fault(event.held, event.operation, event.used)
    if wrong is None and event.ended:
        wrong = ended_fault(event.operation)
    if wrong is not None:
        yield Check(
            predicate=E.FALSE,
            span=_place(event.operation),
            text=wrong.text,
            message=wrong.message,
            facts=wrong.facts,
            help=(wrong.help,),
        )


def unread(event: Unread, target: Target) -> Iterator[Check]:
    """What a call of a run has added up for nothing."""
    wrong = _unread_fault(event.operation)
    yield Check(
        predicate=E.FALSE,
        span=_place(event.operation),
        text=wrong.text,
        message=wrong.message,
        facts=wrong.facts,
        help=(wrong.help,),
    )


register(
    Rule(
        id="accumulator-chain",
        code="MEM313",
        family="memory",
        summary="a call that goes on from accumulators goes on from what its own chain left there",
        silent=True,
        reason=(
            "The Scalar and the Vector Engine keep one accumulator per lane between instructions, "
            "which all functions that accumulate share. `reduce` adds to whatever is there: what "
            "was never reset, what another chain left, or what a call with `idle` has altered on "
            "the Vector Engine."
        ),
        facts=(
            "NKI-AC03",
            "NKI-AC04",
            "NKI-AC05",
        ),
        enforces=lambda i: i.footprint.accumulators.facts if i.footprint.accumulators else (),
        on=On.TRACE,
        check=chains,
        monitors=(Monitor(Accumulated, accumulated),),
        sources=("NKI ISA activation, exponential, select_reduce, tensor_scalar_reduce",),
        failing=examples.CHAIN_FAILING,
        passing=examples.CHAIN_PASSING,
        twins=examples.CHAIN_TWINS,
    )
)

register(
    Rule(
        id="accumulator-unread",
        code="MEM314",
        family="memory",
        summary="what a chain of calls adds up in accumulators is read out",
        severity="warning",
        reason=(
            "Without a tile as reduce_res the result of a reduction stays in the accumulators of "
            "the engine. If no later call of the chain reads it out before they are set anew, and "
            "before the kernel ends, it is lost."
        ),
        facts=("NKI-AC06",),
        enforces=lambda i: i.footprint.accumulators.facts if i.footprint.accumulators else (),
        on=On.TRACE,
        check=unread_chains,
        monitors=(Monitor(Unread, unread),),
        replayed=Replayed(Shown.AT_THE_END, whole=True),
        sources=("NKI ISA activation, tensor_scalar_reduce",),
        failing=examples.UNREAD_FAILING,
        passing=examples.UNREAD_PASSING,
    )
)
