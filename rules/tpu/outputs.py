"""What a kernel leaves in system memory: within the buffers, everywhere, and once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from msgspec import Struct
from msgspec.structs import replace

from rules.memory.cases import Copy, common_loops, copy, covered
from rules.tpu import buffers, flow, kit, pitch
from rules.tpu.examples import pair
from rules.tpu.kit import check, function, words
from verifier.dialects.names import OKK
from verifier.hardware.chips import Chip
from verifier.rulebase import Monitor, On, Replayed, Rule, Shown, register
from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.checks import Check, Note
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.lanes import SystemTensor, Touch
from verifier.symbolic.memory.events import Filled, Stored, Wasted
from verifier.symbolic.memory.index import Access
from verifier.symbolic.memory.known import Known
from verifier.symbolic.memory.lives import exclusive
from verifier.symbolic.tensors import Mark, Storage
from verifier.symbolic.trace import Operation, Trace

# ----------------------------------------------------------------------------- extents


def _is_declared(storage: Storage) -> bool:
    """Whether a contract says how large the buffer is."""
    return storage.marks.get(Mark.DECLARED) is True


def _system_extent(op: Operation, chip: Chip) -> Iterator[Check]:
    for touch, tensor in kit.system(op):
        storage = tensor.address.storage
        start, end = kit.system_block(tensor)
        role = words(touch.role)
        yield check(
            op,
            touch.role,
            E.ge(start, 0),
            f"{role} starts in `{storage.name}`",
            f"{role} of `{function(op)}` starts before `{storage.name}`",
            "OKK-F01",
            values=((f"first byte of {role}", start),),
        )
        if not _is_declared(storage):
            continue
        size = kit.bytes_of(storage)
        yield check(
            op,
            touch.role,
            E.le(end, size),
            f"{role} ends in `{storage.name}`",
            f"{role} of `{function(op)}` reaches beyond the end of `{storage.name}`",
            "OKK-F01",
            "BUG-01",
            values=(
                (f"first byte of {role}", start),
                (f"end of {role}", end),
                (f"bytes of {storage.name}", size),
            ),
            notes=(Note(storage.span, f"`{storage.name}` is a parameter"),),
            help=("the last part is often smaller than the others",),
        )


_CONTRACT = """\
import okk


# tilelint: contract (length: n, x: fp32[n], y: fp32[n])
@okk.kernel
def doubled(length: int, x: okk.SystemAddr, y: okk.SystemAddr):
    assert 1 <= length <= 20000
    okk.initialize()
    for i in range({trips}):
        part = {part}
        shape = okk.dim4(1, 1, 1, part)
        okk.gdma_32bit_cpy_S2L(0, x + i * 1000 * 4, shape, None, None)
        okk.bdc_mul_C(0, 0, 2.0, shape, None, None)
        okk.gdma_32bit_cpy_L2S(y + i * 1000 * 4, 0, shape, None, None)
    okk.poll()
"""
_UP = "(length + 999) // 1000"
_REST = "min(1000, length - i * 1000)"

register(
    Rule(
        id="okk-system-extent",
        code="OKK401",
        family=OKK,
        summary="transfers stay within the buffers of system memory",
        silent=True,
        reason=(
            "The device writes wherever it is told. A part that reaches beyond its buffer "
            "overwrites what the host keeps there. How large buffers are is known from the "
            "kernel's contract."
        ),
        facts=("OKK-F01", "BUG-01", "BUG-03"),
        on=On.OPERATION,
        check=_system_extent,
        dialects=(OKK,),
        sources=("OKKernel manual, gdma",),
        failing=_CONTRACT.format(trips=_UP, part="1000"),
        passing=_CONTRACT.format(trips=_UP, part=_REST),
    )
)

# ----------------------------------------------------------------------------- coverage


class _Moved(Struct, frozen=True):
    """One operand of a transfer in system memory."""

    operation: Operation
    touch: Touch
    tensor: SystemTensor

    @property
    def storage(self) -> Storage:
        return self.tensor.address.storage


def _moved(trace: Trace) -> list[_Moved]:
    return [
        _Moved(op, touch, tensor)
        for op in sorted(trace.operations, key=lambda op: op.order)
        for touch, tensor in kit.system(op)
    ]


def coverage(trace: Trace, chip: Chip) -> Iterable[Check]:
    """Per buffer that the kernel only writes, and way to end: every element is written, as far as a
    contract says which there are."""
    if not trace.completes:
        return
    moved = _moved(trace)
    storages = {id(item.storage): item.storage for item in moved if item.touch.writes}
    for storage in storages.values():
        mine = [item for item in moved if item.storage is storage]
        if any(item.touch.reads for item in mine):
            continue
        if not _is_declared(storage):
            yield from _without_gaps(mine)
            continue
        ends = trace.returns or [((), (), trace.span)]
        for path, _, _ in ends:
            yield _covered(trace, storage, mine, path)


def _without_gaps(writes: list[_Moved]) -> Iterator[Check]:
    """What is stored lies together: how large a buffer is nobody says."""
    store, name = writes[0], writes[0].storage.name
    span = kit.span_of(store.operation, store.touch.role)
    for found in pitch.only_store([(item.operation, item.tensor) for item in writes]):
        predicate = found.without_gap
        of = "rows" if found.loop is None else "rounds"
        yield replace(
            _written(name, span),
            predicate=predicate,
            message=f"between what is stored of two {of}, elements of `{name}` are left out",
            given=() if predicate is E.TRUE else found.given,
            values=(
                (f"bytes between two {of}", found.step),
                ("bytes that are stored together", found.length),
            ),
            notes=() if found.loop is None else (Note(found.loop.span, "the loop is here"),),
            exact=False,
            reason=f"whether what lies between two {of} belongs to `{name}` no contract says",
            path=store.operation.path,
            order=store.operation.order,
        )


def _covered(trace: Trace, storage: Storage, writes: list[_Moved], path: tuple[Bool, ...]) -> Check:
    name = storage.name
    last = max(item.operation.order for item in writes) + 1
    many = len(storage.shape) > 1
    names = [
        f"index {k} of `{name}`" if many else f"element of `{name}`"
        for k in range(len(storage.shape))
    ]
    pairs = [(item.operation, item.tensor) for item in writes]
    missing = buffers.first_missing(storage, pairs, path)
    if missing is None:
        found = _somewhere(trace, storage, writes, path)
    else:
        found = _Found(E.truth(not missing), tuple(map(E.const, missing)))
    reason = found.reason
    if found.predicate is not E.TRUE and not reason and trace.unmodelled:
        reason = trace.unmodelled[0].may(f"may write `{name}`")
    store = writes[-1]
    required = E.TRUE
    if found.reason and not trace.unmodelled:
        required = buffers.missed(trace, storage, pairs, path)
    return replace(
        _written(name, kit.span_of(store.operation, store.touch.role)),
        predicate=found.predicate,
        given=found.given,
        values=tuple(zip(names, found.at, strict=False)),
        notes=(Note(storage.span, f"`{name}` is a parameter"),),
        exact=not reason,
        reason=reason,
        required=required,
        path=path,
        order=last,
    )


class _Found(Struct, frozen=True):
    """When the element of a buffer that is ``at`` some indices is written.

    ``given``: what holds of the symbols that name it; ``reason``: why that may be too much to ask.
    """

    predicate: Bool
    at: tuple[Expr, ...] = ()
    given: tuple[Bool, ...] = ()
    reason: str = ""


def _somewhere(
    trace: Trace, storage: Storage, writes: list[_Moved], path: tuple[Bool, ...]
) -> _Found:
    """When one of the writes has an element: seen in the rows in which that can be said, if there
    are some, else in those of the buffer."""
    pairs = [(item.operation, item.tensor) for item in writes]
    ways = (_in_rows(trace, frame, writes, path) for frame in buffers.frames(storage, pairs))
    first = next(ways)
    return next((found for found in (first, *ways) if not found.reason), first)


def _in_rows(
    trace: Trace, frame: buffers.Frame, writes: list[_Moved], path: tuple[Bool, ...]
) -> _Found:
    held = {id(condition) for condition in path}
    facts = [item.condition for item in trace.assumptions]
    point = tuple(E.fresh("element", 0, None, E.Origin.POINT) for _ in frame.shape)
    inside = tuple(E.lt(x, extent) for x, extent in zip(point, frame.shape, strict=True))
    known = Known((*facts, *path, *inside))
    ways: list[Copy] = []
    doubt = ""
    for item in writes:
        op = item.operation
        here = known.also((*op.path, *flow.within(op.loops)), op.loops)
        found = buffers.placed(item.storage, frame, item.tensor, here, op.loops)
        doubt = doubt or ("" if found.exact else found.view.reason)
        way = copy(Access(op, item.touch.role, found.view, op.loops, (found.fits,)), 0)
        if way is not None:
            kept = tuple(fact for fact in way.constraints if id(fact) not in held)
            ways.append(Copy(way.access, way.view, way.private, kept))
    storage = writes[0].storage
    at = buffers.indices(storage, frame, point)
    if not ways:
        return _Found(E.FALSE, at, inside, doubt)
    predicate, exact, blame = covered(ways, buffers.element(storage, frame, point), known)
    if predicate is E.TRUE or (exact and not doubt):
        return _Found(predicate, at, inside)
    reason = blame.view.reason if blame is not None else ""
    doubt = doubt or f"what is written to `{storage.name}` is too irregular to add up"
    return _Found(predicate, at, inside, reason or doubt)


def _written(name: str, span: Span) -> Check:
    """All of a buffer is written."""
    return Check(
        predicate=E.FALSE,
        span=span,
        text=f"every element of `{name}` is written",
        message=f"not all of `{name}` is written",
        facts=("BUG-01", "BUG-04"),
        help=("handle the part that is left over, on every path through the kernel",),
    )


def partly_filled(event: Filled, chip: Chip) -> Iterator[Check]:
    """A buffer that a run has not written everywhere; how large it is only a contract says."""
    if event.missing:
        values = ((f"{event.unit} of `{event.name}` not written", E.const(event.missing)),)
        yield replace(_written(event.name, event.span), values=values)


register(
    Rule(
        id="okk-output-coverage",
        code="OKK402",
        family=OKK,
        summary="every element of a declared output is written",
        silent=True,
        reason=(
            "What the kernel does not store keeps the values that the host's buffer had. A tail "
            "that is dropped, computed twice or stored at another place leaves a gap. How large "
            "the output is must be declared in a contract."
        ),
        facts=("BUG-01", "BUG-04", "BUG-06"),
        on=On.TRACE,
        check=coverage,
        monitors=(Monitor(Filled, partly_filled, meant=True),),
        replayed=Replayed(Shown.AT_THE_END, whole=True),
        dialects=(OKK,),
        sources=("OKKernel manual, demo",),
        failing=_CONTRACT.format(trips="length // 1000", part="1000"),
        passing=_CONTRACT.format(trips=_UP, part=_REST),
    )
)

# ----------------------------------------------------------------------------- nothing at all


def nothing_stored(event: Wasted, chip: Chip) -> Iterator[Check]:
    """A run has stored nothing."""
    yield Check(
        predicate=E.FALSE,
        span=event.span,
        text=f"`{event.kernel}` writes to a buffer",
        message=f"`{event.kernel}` writes to none of its buffers: its work is lost",
    )


def early_returns(trace: Trace, chip: Chip) -> Iterable[Check]:
    """Per return: something was stored before it, if the kernel ever stores anything."""
    if not trace.completes or trace.unmodelled:
        return
    stores = [item for item in _moved(trace) if item.touch.writes]
    if not stores:
        return
    for path, _, span in trace.returns:
        held = {id(fact) for fact in path}
        cases: list[Bool] = []
        for item in stores:
            inner = {loop.symbol for loop in item.operation.loops}
            facts = [fact for fact in item.operation.path if id(fact) not in held]
            # of a loop some iteration is enough: what it depends on is not looked at
            cases.append(E.and_(*(f for f in facts if inner.isdisjoint(f.free()))))
        predicate = E.or_(*cases)
        inputs = [symbol for fact in (*path, predicate) for symbol in fact.free()]
        sizes = tuple(
            E.ge(E.from_atom(symbol), 1)
            for symbol in dict.fromkeys(inputs)
            if symbol.origin is E.Origin.INPUT and symbol.domain is None
        )
        yield Check(
            predicate=predicate,
            span=span,
            text="something is stored before the kernel returns",
            message=f"`{trace.kernel}` returns here without having stored a result",
            facts=("BUG-04",),
            given=sizes,
            help=("compute the result in this case, too, or assert that it does not occur",),
            path=path,
            order=min(item.operation.order for item in stores),
        )


_EARLY = """\
@@
okk.initialize()
shape = okk.dim4(1, channels, 6, 6)
okk.gdma_32bit_cpy_S2L(0, x, shape, None, None)
okk.bdc_relu(0, 0, shape, None, None)
okk.gdma_32bit_cpy_L2S(y, 0, shape, None, None)
okk.poll()
"""
_EARLY_PAIR = pair(
    "rectified",
    "channels: int, x: okk.SystemAddr, y: okk.SystemAddr",
    "assert 1 <= channels <= 1000\n" + _EARLY,
    "if channels > 512:\n    return",
    "okk.OKKERNEL_LOG('%d channels', channels)",
)

register(
    Rule(
        id="okk-early-return",
        code="OKK403",
        family=OKK,
        summary="a kernel does not return before it has stored a result",
        reason=(
            "A case that is not implemented and returns leaves the output as it was, and the host "
            "is not told. Returning for empty inputs is fine."
        ),
        facts=("BUG-04",),
        on=On.TRACE,
        check=early_returns,
        monitors=(Monitor(Wasted, nothing_stored, meant=True),),
        replayed=Replayed(Shown.AT_THE_END),
        severity="warning",
        dialects=(OKK,),
        sources=("OKKernel manual, demo",),
        failing=_EARLY_PAIR[0],
        passing=_EARLY_PAIR[1],
    )
)

# ----------------------------------------------------------------------------- twice


def written_twice(trace: Trace, chip: Chip) -> Iterable[Check]:
    """Per two stores to a buffer that is never read: the later is not all within the earlier."""
    moved = _moved(trace)
    read = {id(item.storage) for item in moved if item.touch.reads}
    stores = [
        item
        for item in moved
        if item.touch.writes
        and id(item.storage) not in read
        and item.operation.instruction is not None
        and item.operation.instruction.footprint.reads
    ]
    calls = Counter(item.operation.span for item in stores)
    for position, first in enumerate(stores):
        for second in stores[position + 1 :]:
            if first.storage is not second.storage:
                continue
            if first.operation.span == second.operation.span:
                continue  # a loop that stores again, or a part at a time
            if exclusive(first.operation.path, second.operation.path):
                continue
            if not _same(first.tensor, second.tensor):
                yield _again(first, second)
            elif calls[first.operation.span] == calls[second.operation.span] == 1:
                yield from _stored_over(trace, chip, first, second)


def written_again_in_run(event: Stored, chip: Chip) -> Iterator[Check]:
    """As :func:`written_twice`, of all stores of a run."""
    yield from (c for c in written_twice(event.trace, chip) if c.predicate is not E.TRUE)


def _same(a: SystemTensor, b: SystemTensor) -> bool:
    """Whether two stores are to the very same place."""
    sizes = zip((*a.shape, *a.strides), (*b.shape, *b.strides), strict=True)
    return a.address.offset is b.address.offset and all(x is y for x, y in sizes)


def _stored_over(trace: Trace, chip: Chip, first: _Moved, second: _Moved) -> Iterator[Check]:
    """A store to the very same place, of other values, whenever there is the one before."""
    one, other = first.operation, second.operation
    always = set(map(id, other.path)) <= set(map(id, one.path))
    if not always or one.loops != other.loops or _same_values(trace, chip, one, other):
        return
    yield replace(
        _again(first, second),
        predicate=E.FALSE,
        message=f"other values were stored to this place of `{first.storage.name}` before, and "
        "nothing has read them",
        given=flow.within(other.loops),
        help=("store to another place, or leave the store before out",),
    )


def _same_values(trace: Trace, chip: Chip, one: Operation, other: Operation) -> bool:
    """Whether two stores may take the same from local memory: from one place, as it was."""
    mine, theirs = ([tensor for _, tensor in kit.local(op)] for op in (one, other))
    if not mine or len(mine) != len(theirs):
        return True
    pairs = list(zip(mine, theirs, strict=True))
    if not all(kit.same_place(a, b) for a, b in pairs):
        return False
    between = (
        tensor
        for op in trace.operations
        if one.order < op.order < other.order
        for touch, tensor in kit.local(op)
        if touch.writes
    )
    blocks = [kit.block(chip, place) for place, _ in pairs]
    return all(
        kit.places_apart(chip, kit.block(chip, tensor), place) is E.TRUE
        for tensor in between
        for place in blocks
    )


def _again(first: _Moved, second: _Moved) -> Check:
    one, other = first.operation, second.operation
    name = first.storage.name
    common = common_loops(one.loops, other.loops)
    table: dict[E.Sym, Expr] = {}
    for loop in one.loops[common:]:
        table[loop.symbol] = E.fresh(loop.name or "i", 0, loop.symbol.hi, E.Origin.LOOP)
    put = E.Substitution(table)
    earlier = first.tensor.at(put)
    a0, a1 = kit.system_block(earlier)
    b0, b1 = kit.system_block(second.tensor)
    predicate: Bool = E.or_(E.lt(b0, a0), E.gt(b1, a1))
    if not kit.is_continuous(earlier):
        predicate = E.TRUE  # what lies between its elements may be the other's
    facts = (*flow.within(one.loops), *one.path)
    return Check(
        predicate=predicate,
        span=kit.span_of(other, second.touch.role),
        text=f"this store writes elements of `{name}` that were not written before",
        message=f"all that is stored to `{name}` here was written before",
        facts=("BUG-01",),
        given=()
        if predicate is E.TRUE
        else (*(put.bool(fact) for fact in facts), *flow.within(other.loops)),
        values=(
            ("first byte stored here", b0),
            ("end of it", b1),
            ("first byte stored before", a0),
            ("end of that", a1),
        ),
        notes=(Note(kit.span_of(one, first.touch.role), "the store before"),),
        help=("offsets of a tail count what is done already, not what is left",),
        severity="warning",
        path=other.path,
        order=max(one.order, other.order),
    )


_TAIL = """\
assert 2001 <= length <= 3999
okk.initialize()
full = okk.dim4(1, 20, 1, 100)
okk.gdma_32bit_cpy_S2L(0, x, full, None, None)
okk.gdma_32bit_cpy_L2S(y, 0, full, None, None)
rest = length - 2000
tail = okk.dim4(1, 1, 1, rest)
okk.gdma_32bit_cpy_S2L(0, x + @@ * 4, tail, None, None)
okk.gdma_32bit_cpy_L2S(y + @@ * 4, 0, tail, None, None)
okk.poll()
"""
_TWICE = pair("moved", "length: int, x: okk.SystemAddr, y: okk.SystemAddr", _TAIL, "rest", "2000")

register(
    Rule(
        id="okk-written-twice",
        code="OKK404",
        family=OKK,
        summary="no store writes only what another one has written",
        reason=(
            "A store whose elements all were stored before does not belong there: its offset is "
            "wrong, and the elements that it was meant for are never written. Where other values "
            "go to the very same place, those stored before were for nothing. Tails that overlap "
            "the part before them, the same values once more, and buffers that are read in "
            "between are fine."
        ),
        facts=("BUG-01",),
        on=On.TRACE,
        check=written_twice,
        monitors=(Monitor(Stored, written_again_in_run),),
        severity="warning",
        dialects=(OKK,),
        sources=("OKKernel manual, demo",),
        failing=_TWICE[0],
        passing=_TWICE[1],
    )
)
