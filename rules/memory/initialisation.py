"""Reading what was never written, and returning what was not written in full."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from enum import Enum
from math import prod

from msgspec.structs import replace

from rules.beta1 import TWINS
from rules.memory import counted, examples
from rules.memory.cases import Copy, contains, copy, covered_point, dominates
from rules.memory.defined import Flow
from rules.memory.formulas import numbers_of, pinned
from rules.memory.reading import Read, regions
from rules.memory.relief import Relief
from rules.memory.runtime import covered_there, enough_of, unmoved
from rules.memory.samples import determined, missed, possible
from rules.memory.shares import shared_out
from rules.memory.words import (
    allocation_note,
    coordinate_name,
    decides_note,
    element,
    partly_written,
    region,
    subject,
    write_note,
)
from verifier.hardware.catalogue import Hardware
from verifier.hardware.memories import Buffer
from verifier.hardware.targets import Target
from verifier.rulebase import Monitor, On, Replayed, Rule, Shown, Whose, register
from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.checks import Check, Note, Subject
from verifier.symbolic.effects import Effect
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.memory.events import (
    Filled,
    Returned,
    UndefinedLanes,
    UndefinedRead,
    Wasted,
)
from verifier.symbolic.memory.index import Access, Index, index, tensor
from verifier.symbolic.tensors import LoopKind, Mark, Storage, StorageKind, View
from verifier.symbolic.trace import Trace


def _exempt(storage: Storage) -> bool:
    return storage.initialised or storage.kind in (StorageKind.INPUT, StorageKind.CONSTANT)


def uninitialised_reads(trace: Trace, target: Target) -> Iterable[Check]:
    """What is undefined decides nothing: one check per read that decides.

    A check speaks of the first read of what is undefined; those about one read are one.
    """
    table = index(trace)
    flow = Flow.of(table, target)
    relief = Relief(flow)
    judged: list[Read] = []
    found: dict[int, list[Check]] = {}
    for read in flow.in_order():
        storage = read.access.view.storage
        if not read.decides or (_exempt(storage) and read.demand is E.TRUE):
            continue
        if read.demand is E.TRUE:
            yield _read_check(read, read, table, E.TRUE, "")
            continue
        reason = _reason(trace, read.demand, read.exact, read.blame, storage.name)
        if not reason and not read.exact:
            reason = _unfollowed(read)
        for source, demand in _shares(table, read, relief, reason):
            if source is read:
                if _said(judged, read):
                    yield _read_check(read, read, table, E.TRUE, "")
                    continue
                if read.fate is None or not read.sure:
                    judged.append(read)
            check = _read_check(read, source, table, E.or_(demand, read.replaced), reason)
            if reason and not read.exact:
                writes = [w.access for w in flow.writes.get(id(storage), ())]
                path = (*read.access.path, *read.access.given)
                known = table.assumed(read.access.order)
                held = covered_there(read.blame, writes, path, table, known, read.access)
                check = replace(check, runtime=held, required=_required(flow, read))
            found.setdefault(id(source), []).append(check)
            if read.replaced is not E.FALSE and not reason:
                # whoever reads it before something takes its place
                seen = E.or_(demand, E.not_(read.replaced))
                open_ = replace(check, predicate=seen, exact=False, reason=_unfollowed(read))
                found[id(source)].append(open_)
    for checks in found.values():
        yield from _together(checks)


def _required(flow: Flow, read: Read) -> Bool:
    """What a read demands for certain."""
    found = flow.at_most(read)
    return E.TRUE if found is None else E.or_(found[1].demand, found[1].replaced)


def _shares(table: Index, read: Read, relief: Relief, reason: str) -> list[tuple[Read, Bool]]:
    """The reads to speak of, with what has to hold so that nothing undefined decides by them.

    Where it is not decided (``reason``): the first of a tensor that is not written from end to end.
    """
    if not reason:
        return relief.shares(read)
    found = relief.origins(read)
    for origin in found:
        view = origin.access.view
        writes = table.uses(view.storage).writes
        if not writes or not view.exact or partly_written(view, writes):
            return [(origin, read.demand)]
    return [(found[0], read.demand)]


def _said(judged: list[Read], read: Read) -> bool:
    """Whether what is read was read before, where it decided too."""
    access = read.access
    return any(
        old.access.view.storage is access.view.storage
        and dominates(old.access, access)
        and contains(old.access.view, access.view)
        for old in judged
    )


def _together(checks: list[Check]) -> Iterator[Check]:
    """One check of all that are certain: the same elements decide in several places."""
    certain = [check for check in checks if not check.reason]
    yield from (check for check in checks if check.reason)
    if len(certain) <= 1:
        yield from certain
        return
    parts = (
        E.or_(*map(E.not_, (*(check.path or ()), *check.given)), check.predicate)
        for check in certain
    )
    yield replace(certain[0], predicate=E.and_(*parts), given=(), values=(), path=())


def _read_check(read: Read, origin: Read, table: Index, predicate: Bool, reason: str) -> Check:
    access, first = read.access, origin.access
    view, operation = access.view, first.operation
    uses = table.uses(first.view.storage)
    name = first.view.storage.name
    notes: list[Note] = []
    values: tuple[tuple[str, Expr], ...] = ()
    given: tuple[Bool, ...] = ()
    if predicate is not E.TRUE:
        given = access.ranges
        if view.exact:
            within = (
                E.and_(E.ge(c, 0), E.lt(c, n))
                for c, n in zip(view.coords, view.frame, strict=False)
            )
            given = (*given, *(fact for fact in within if fact is not E.TRUE))
            where = element(view, partly_written(view, table.uses(view.storage).writes))
            values = where.values
            given = (*given, *where.given)
        nearest = [write for write in uses.writes if write.order < first.order][-1:]
        notes = [write_note(write) for write in nearest or uses.writes[:1]]
        if origin is not read:
            notes.insert(0, Note(access.span, f"what became of it decides here: {read.why}"))
        notes.append(allocation_note(first.view.storage))
    when = _When.BEFORE_ALL
    if not uses.writes:
        when = _When.NEVER
    elif not origin.partly and (origin.demand is E.FALSE or origin.defined is E.FALSE):
        when = _When.BEFORE
    adder = operation.name.rpartition(".")[2] if first.target else ""
    fact = operation.generation.undefined
    if first.view.buffer is Buffer.REGISTER:
        fact = "NKI-REG06"
    found = _written_before(name, first.span, when, fact, adder)
    return replace(
        found,
        predicate=predicate,
        facts=tuple(dict.fromkeys((*found.facts, *_left_out(uses.writes)))),
        given=given,
        values=values,
        notes=tuple(notes),
        help=found.help if predicate is not E.TRUE else (),
        exact=not reason,
        reason=reason,
        path=(*access.path, *access.given),
        order=access.order,
    )


def _left_out(writes: Iterable[Access]) -> Iterator[str]:
    """What documents that functions leave elements of what they write as they were."""
    for write in writes:
        instruction = write.operation.instruction
        entries = instruction.footprint.writes_of(write.role) if instruction is not None else ()
        yield from (entry.keeps for entry in entries if entry.keeps)


class _When(Enum):
    """When something is read, seen from the writes of it."""

    NEVER = "is read, but nothing writes it"
    BEFORE = "is read before it is written"
    BEFORE_ALL = "is read before all of it was written"


def _written_before(name: str, span: Span, when: _When, fact: str, adder: str = "") -> Check:
    """What is read was written; ``adder``: the function that reads it in order to add to it."""
    added = f" (`{adder}` adds to it)" if adder else ""
    return Check(
        predicate=E.FALSE,
        span=span,
        text=f"every element of `{name}` read here was written before",
        message=f"`{name}` {when.value}{added}",
        facts=(fact,),
        help=("an allocation holds whatever was there before: write it, or load into it",),
    )


def undefined_read(event: UndefinedRead, target: Target) -> Iterator[Check]:
    """Something in a run hangs on what nothing wrote."""
    origin, use = event.origin, event.use
    when = _When.BEFORE_ALL if origin.partly else _When.BEFORE
    yield replace(
        _written_before(origin.name, origin.span, when, "NKI-B20"),
        notes=(
            *decides_note(origin.span, use, event.why),
            Note(origin.allocated, f"`{origin.name}` is allocated here"),
        ),
    )


def undefined_lanes(event: UndefinedLanes, target: Hardware) -> Iterator[Check]:
    """An operand of a run on a TPU reads what nothing wrote."""
    operation, role = event.operation, event.role
    view = operation.view(role)
    if view is None:
        return
    when = _When.BEFORE_ALL if event.partly else _When.BEFORE
    adder = operation.name.rpartition(".")[2]
    adds = operation.effect is Effect.ADDS and any(name == role for name, _ in operation.writes)
    span = operation.span_of(role)
    yield replace(
        _written_before(view.name, span, when, "PPL-B12", adder if adds else ""),
        notes=(*decides_note(span, event.use, event.why), allocation_note(view.storage)),
    )


def _reason(trace: Trace, predicate: Bool, exact: bool, blame: Access | None, name: str) -> str:
    """Why a predicate that does not hold proves nothing; empty if it does."""
    if predicate is E.TRUE:
        return ""
    if not exact and blame is not None:
        return _inexact(blame, name)
    if trace.unmodelled:
        return trace.unmodelled[0].may(f"may write `{name}`")
    return ""


def _unfollowed(read: Read) -> str:
    """Why a read that is not known exactly proves nothing, if no access is to blame."""
    name = read.access.view.storage.name
    if not read.sure and read.demand is not E.FALSE:
        return f"which elements of `{name}` are taken here is not known"
    if read.open or read.loosely:
        return f"whether what is undefined in `{name}` decides in a later iteration is not known"
    return f"what becomes of what is undefined in `{name}` is not followed"


def _inexact(blame: Access, name: str) -> str:
    if blame.view.indirect:
        return f"`{name}` is accessed at places that are known at run time only"
    if any(part.partial for part in regions(blame)):
        return f"`{blame.operation.name}` may leave elements of `{name}` as they were"
    if not blame.view.exact:
        return blame.view.reason or f"the address in `{name}` is not known exactly"
    return f"what `{blame.operation.name}` writes to `{name}` is too irregular to add up"


def unwritten_outputs(trace: Trace, target: Target) -> Iterable[Check]:
    """One check per returned tensor and return: every element is written.

    None for a kernel that ends in an error whatever its inputs: what it would have stored is not
    known. For inputs with which it comes to its end an error on the way of others excuses nothing.
    """
    if not trace.completes:
        return
    table = index(trace)
    if not trace.generation.returns:
        yield from _unwritten_parameters(table)
        return
    for path, views, span in trace.returns:
        seen: set[tuple[int, tuple[Expr, ...]]] = set()
        for view in views:
            storage = view.storage
            which = (id(storage), view.instance)  # one place may make several that are returned
            if which in seen or _exempt(storage) or not storage.buffer.off_chip:
                continue
            seen.add(which)
            yield _output_check(table, view, path, span)[0]
    yield from _unwritten_parameters(table)


def _unwritten_parameters(table: Index) -> Iterator[Check]:
    """One check per tensor of the caller's that a kernel writes and never reads, returned or not.

    A kernel may well mean to write a part of it: that is a warning, and none where no input is
    known for which it is whole, or where the kernel says nothing of its shape; and only parts that
    are boxes of that shape, at places that are linear in the loops, are added up: outputs that are
    put together otherwise are not judged. Where a kernel states the shape itself, nobody else tells
    that a part of it is left as it was, whatever it is put together of.
    """
    trace = table.trace
    states = trace.generation.states_inputs
    for uses in table.storages:
        storage = uses.storage
        if storage.kind is not StorageKind.INPUT or not uses.writes or uses.reads:
            continue
        view = uses.writes[-1].view
        if not states and not all(_linear(write) for write in uses.writes):
            continue
        found, point = _output_check(table, view, (), storage.span)
        if not states:
            places = dict(zip(point, storage.shape, strict=True))
            if found.reason or not determined(trace, storage.shape):
                continue
            if found.predicate is not E.TRUE and not possible(trace, found.predicate, places):
                continue
        written = write_note(uses.writes[-1])
        whole = _parameter_written(storage.name, uses.writes[-1].span)
        yield replace(
            whole,
            predicate=found.predicate,
            given=found.given,
            values=found.values,
            notes=(written,) if written.span != uses.writes[-1].span else (),
            exact=found.exact,
            reason=found.reason,
            required=found.required,
            path=found.path,
            order=found.order,
            severity=None if states else whole.severity,
        )
        there = storage.marks.get(Mark.ELEMENTS)
        if states and isinstance(there, Expr):
            yield _declared_whole(whole, storage, there)


def _declared_whole(whole: Check, storage: Storage, there: Expr) -> Check:
    """A kernel states all of what a contract says is there: it sees no more of it."""
    seen = E.const(1)
    for extent in storage.shape:
        seen = seen * extent
    return replace(
        whole,
        predicate=E.le(there, seen),
        values=(("elements there", there), ("elements that the kernel declares", seen)),
        path=(),
        severity=None,
    )


def _parameter_written(name: str, span: Span) -> Check:
    """A tensor of the caller's that is written is written everywhere, or it was meant."""
    return Check(
        predicate=E.FALSE,
        span=span,
        text=f"every element of `{name}` is written",
        message=f"not all of `{name}` is written",
        facts=("PPL-B13", "NKI-E30"),
        subject=Subject(given=name),
        help=("give every core its part, and handle the part that is left over",),
        severity="warning",
    )


def partly_filled(event: Filled, target: Hardware) -> Iterator[Check]:
    """A parameter that a run has written in part, or has not come to write."""
    if event.missing:
        written = E.const(event.total - event.missing)
        values = ((f"{event.unit} of `{event.name}` written", written),)
        found = _parameter_written(event.name, event.span)
        severity = None if event.declared else found.severity
        yield replace(found, values=values, severity=severity)


def returned_unwritten(event: Returned, target: Target) -> Iterator[Check]:
    """A tensor that a run returns and has not written, or in part."""
    storage = event.storage
    if event.missing:
        size = prod(extent.const for extent in storage.shape)
        written = size - event.missing
        yield replace(
            _returned_written(storage, bool(written)),
            values=((f"elements of `{storage.name}` written", E.const(written)),),
            follows=event.writes,
        )


def nothing_filled(event: Wasted, target: Hardware) -> Iterator[Check]:
    """A run has written none of its buffers: no write of the kernel was come to."""
    yield Check(
        predicate=E.FALSE,
        span=event.span,
        text=f"`{event.kernel}` writes to a buffer",
        message=f"`{event.kernel}` writes to none of its buffers: its work is lost",
        severity="warning",
    )


def _linear(write: Access) -> bool:
    """Whether a write is in the declared shape, at places that divide no index of a loop."""
    own = {loop.symbol for loop in write.loops if loop.kind is not LoopKind.GRID}
    return write.view.frame == write.view.storage.shape and not any(
        isinstance(atom, E.Div) and own & set(atom.num.free())
        for coord in write.view.coords
        for atom in coord.atoms()
    )


def _filled(
    table: Index,
    view: View,
    writes: Sequence[Access],
    point: tuple[Expr, ...],
    path: tuple[Bool, ...],
) -> tuple[Bool, bool, Access | None]:
    """That something is written to an element: formula, exactness, what is to blame if inexact."""
    inside = [E.lt(x, extent) for x, extent in zip(point, view.storage.shape, strict=True)]
    held = {id(condition) for condition in path}
    parts = [part for write in writes for part in regions(write)]
    partial = next((part.access for part in parts if part.partial), None)
    if not parts:
        return E.FALSE, True, None

    def ways() -> Iterator[Copy]:
        for part in parts:
            found = None if part.partial else copy(part.access, 0, instance=tensor(view))
            if found is not None:
                kept = tuple(fact for fact in found.constraints if id(fact) not in held)
                yield Copy(found.access, found.view, found.private, kept)

    known = table.assumed(table.last).also((*path, *inside), ())
    found_ways = list(ways())
    predicate, exact, blame = covered_point(found_ways, view, point, known)
    if not exact and predicate is not E.TRUE and partial is None:
        cut = shared_out(found_ways, view, point, known)
        predicate = predicate if cut is None else E.or_(predicate, cut)
    if not exact and predicate is not E.TRUE and not any(part.partial for part in parts):
        sizes = numbers_of(table.trace)
        found = counted.written(view.storage, [part.access for part in parts], path, sizes)
        if found is not None:
            return found, True, None
    if partial is not None and predicate is not E.TRUE:
        return predicate, False, blame or partial
    return predicate, exact, blame


def _taken_whole(
    table: Index,
    view: View,
    writes: Sequence[Access],
    point: tuple[Expr, ...],
    path: tuple[Bool, ...],
    blame: Access | None,
) -> str:
    """What is assumed of a tensor that is returned, where the data says where it is written."""
    known = table.assumed(table.last)
    inside = tuple(E.lt(x, extent) for x, extent in zip(point, view.storage.shape, strict=True))

    def unmoved_too() -> bool:
        still = [*map(unmoved, writes)]
        found, exact, _ = _filled(table, view, still, point, path)
        if exact and known.also((*path, *inside), ()).decide(found):
            return True
        if any(part.partial for write in still for part in regions(write)):
            return False
        return counted.written(view.storage, still, path, numbers_of(table.trace)) is E.TRUE

    return covered_there(blame, writes, path, table, known, unmoved_too=unmoved_too)


def _output_check(
    table: Index, view: View, path: tuple[Bool, ...], span: Span
) -> tuple[Check, tuple[E.Sym, ...]]:
    """That all of a tensor is written; and the symbols that name an element of it."""
    name = view.storage.name
    there = _there(table.trace, view)
    writes = [
        write
        for write in table.uses(view.storage).writes
        if not view.instance or copy(write, 0, instance=tensor(view)) is not None
    ]
    view = _at_its_instance(view)
    storage = view.storage
    whole = replace(
        view, frame=storage.shape, frame_partition=storage.partition_axis, axes=(), coords=()
    )
    point = tuple(
        E.fresh(coordinate_name(whole, position), 0, None, E.Origin.POINT)
        for position in range(len(storage.shape))
    )
    inside = tuple(E.lt(x, extent) for x, extent in zip(point, storage.shape, strict=True))
    predicate, exact, blame = _filled(table, view, writes, point, (*path, *there))
    reason = _reason(table.trace, predicate, exact, blame, name)
    notes: list[Note] = []
    if writes:
        notes.append(write_note(writes[-1]))
    notes += [Note(span, "returned here"), *_which(view)]
    held = "" if exact else _taken_whole(table, view, writes, point, (*path, *there), blame)
    required = E.TRUE
    if not exact and blame is not None and not table.trace.unmodelled:
        if not blame.view.indirect:
            required = missed(table.trace, view.storage, writes, path)
        elif not _exempt(storage):
            required = enough_of(writes, storage, table)
    part = region(writes[-1], pinned(table.trace)) if len(writes) == 1 else ""
    found = _returned_written(storage, bool(writes))
    check = replace(
        found,
        predicate=predicate,
        message=f"{found.message}: only {part} are stored" if part else found.message,
        given=(*inside, *there),
        values=tuple(
            (coordinate_name(whole, position), point[position])
            for position in partly_written(whole, writes)
        ),
        notes=tuple(notes),
        exact=not reason,
        reason=reason,
        runtime=held,
        required=required,
        path=path,
        order=table.last + 1,
        follows=tuple(write.span for write in writes),
    )
    symbols = (coordinate.as_atom() for coordinate in point)
    return check, tuple(symbol for symbol in symbols if isinstance(symbol, E.Sym))


def _there(trace: Trace, view: View) -> tuple[Bool, ...]:
    """That a returned tensor is one of those that its place makes, and an element of its list."""
    facts: dict[Bool, None] = {}
    at: dict[E.Sym, Expr] = {}
    for loop, which in zip(view.storage.loops, view.instance, strict=False):
        trips = E.Substitution(at).expr(loop.trips)
        facts.update(dict.fromkeys((E.ge(which, 0), E.lt(which, trips))))
        at[loop.symbol] = which
    left = [symbol for which in view.instance for symbol in which.free()]
    for symbol in left:
        count = trace.elements.get(symbol)
        if count is not None:
            facts[E.lt(E.from_atom(symbol), count)] = None
            left += count.free()
    facts.pop(E.TRUE, None)
    return tuple(facts)


def _which(view: View) -> Iterator[Note]:
    """A note that tells a tensor from others that its place makes."""
    loops = zip(view.storage.loops, view.instance, strict=False)
    trips = [f"{loop.name or 'i'} = {which.const}" for loop, which in loops if which.is_const]
    if trips:
        yield Note(view.storage.span, f"the one that is made where {', '.join(trips)}")


def _at_its_instance(view: View) -> View:
    """The view of a tensor with the shape that this one has of those that its place makes."""
    loops = zip(view.storage.loops, view.instance, strict=False)
    at = E.Substitution({loop.symbol: which for loop, which in loops})
    shape = tuple(map(at.expr, view.storage.shape))
    if shape == view.storage.shape:
        return view
    return replace(view, storage=replace(view.storage, shape=shape))


def _returned_written(storage: Storage, partly: bool) -> Check:
    """Every element of what is returned was written; ``partly``: some of them were."""
    name = storage.name
    message = f"`{name}` is returned, but nothing is stored to it"
    help_text = "store the result to it before returning it"
    if partly:
        message = f"`{name}` is returned, but not all of it is written"
        help_text = "handle the part that is left over, or assert that nothing is"
    return Check(
        predicate=E.FALSE,
        span=storage.span,
        text=f"every element of `{name}` is written before it is returned",
        message=message,
        facts=("NKI-B19", "NKI-E30"),
        subject=subject(storage),
        help=(help_text,),
    )


register(
    Rule(
        id="uninitialised-read",
        code="MEM301",
        family="memory",
        summary="every element that an operation reads was written before",
        silent=True,
        reason=(
            "An allocation does not initialise memory: on the device the elements hold whatever "
            "was there before, so results differ from run to run. The usual cause is a loop with "
            "`n // tile` trips that fills a buffer of `n` columns."
        ),
        facts=(
            "NKI-B20",
            "NKI-REG06",
            "NKI-SHF07",
            "NKI-NZC04",
            "NKI-CPP05",
            "NKI-MMU22",
            "PPL-B12",
        ),
        on=On.TRACE,
        whose=Whose.OF_TENSORS,
        check=uninitialised_reads,
        monitors=(
            Monitor(UndefinedRead, undefined_read),
            Monitor(UndefinedLanes, undefined_lanes),
        ),
        replayed=Replayed(whole=True),
        failing=examples.UNINITIALISED_FAILING,
        passing=examples.UNINITIALISED_PASSING,
        twins=examples.UNINITIALISED_TWINS,
    )
)

register(
    Rule(
        id="output-not-written",
        code="MEM302",
        family="memory",
        summary="every element of a returned tensor is stored",
        silent=True,
        reason=(
            "What the kernel does not store stays uninitialised in the caller's tensor. A trip "
            "count that rounds down drops the last, partial tile without a sound."
        ),
        facts=("NKI-B19", "NKI-E30", "PPL-B13"),
        on=On.TRACE,
        whose=Whose.OF_TENSORS,
        check=unwritten_outputs,
        monitors=(
            Monitor(Returned, returned_unwritten),
            Monitor(Filled, partly_filled, meant=True),
            Monitor(Wasted, nothing_filled, meant=True),
        ),
        replayed=Replayed(Shown.SUBJECT, whole=True),
        twins=TWINS["output-not-written"],
        failing=examples.OUTPUT_FAILING,
        passing=examples.OUTPUT_PASSING,
    )
)
