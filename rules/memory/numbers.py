"""Which numbers tiles and registers hold that say where others lie, as far as the text says it.

What a kernel fills by itself it answers for: its numbers are compared with the tensors that they
are indices into. What it was given, and hands on as it is, is its caller's.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from verifier.hardware import dtypes as dt
from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.instruction import Trait
from verifier.symbolic.memory.content import filled, moved, skips
from verifier.symbolic.memory.index import Access, Index
from verifier.symbolic.roles import INDEX
from verifier.symbolic.tensors import Axis, Loop, LoopKind, Storage, StorageKind, View
from verifier.symbolic.trace import Operation
from verifier.symbolic.views import is_whole

#: how many writes lie between what sets a number and what it places, at most
_DEPTH: Final = 8
_LOOP: Final = E.Origin.LOOP

_Through = tuple[Operation, ...]


class Numbers(Struct, frozen=True):
    """What elements hold that one operation has set.

    ``value``: that number, for any symbols that ``within`` admits; None: not known, and ``reason``
    says why, or what the ``caller`` has given. ``exact``: each of these numbers is there.
    """

    span: Span
    value: Expr | None = None
    within: tuple[Bool, ...] = ()
    exact: bool = True
    caller: bool = False
    reason: str = ""


class _At(Struct, frozen=True):
    """Where elements are looked at: ``loops`` and the grid around, the path, program order."""

    loops: tuple[Loop, ...]
    path: tuple[Bool, ...]
    order: int


def numbers(table: Index, view: View, operation: Operation) -> list[Numbers]:
    """What the elements of a view hold when an operation looks at them."""
    return list(_held(table, view, _at(table, operation), ()))


def _at(table: Index, operation: Operation) -> _At:
    grid = table.trace.grid
    loops = (*grid, *(loop for loop in operation.loops if loop not in grid))
    return _At(loops, operation.path, operation.order)


def _held(table: Index, view: View, at: _At, through: _Through) -> Iterator[Numbers]:
    """``through``: the operations that hand on what is asked for, the nearest one first.

    One that hands on what it has written itself, in an earlier iteration, adds no numbers.
    """
    storage = view.storage
    span = view.span or storage.span
    if storage.kind is StorageKind.INPUT:
        yield Numbers(span, caller=True)
        return
    if storage.kind is StorageKind.CONSTANT or len(through) > _DEPTH:
        yield Numbers(span, reason=f"what `{storage.name}` holds is not followed")
        return
    last, sources = _writers(table.uses(storage).writes, view, at)
    if not sources and storage.initialised:  # else it holds nothing, which is said elsewhere
        yield Numbers(span, reason=f"nothing is seen to set `{storage.name}`")
    for write in sources:
        sole = write is last and len(sources) == 1
        if write.operation in through:
            continue
        for found in _written(table, write, view, through):
            if found.value is not None and not _fits(found, storage):
                reason = f"the numbers may not fit into `{storage.name}`"
                found = Numbers(found.span, reason=reason)
            yield replace(found, exact=found.exact and sole)


def _writers(writes: Sequence[Access], view: View, at: _At) -> tuple[Access | None, list[Access]]:
    """The last write that surely sets all of a view, and all that may have set what is there."""
    last = next(
        (
            write
            for write in reversed(writes)
            if write.order < at.order
            and write.loops == at.loops[: len(write.loops)]
            and all(fact in at.path for fact in write.path)
            and not write.given
            and not write.operation.adds
            and not skips(write.operation)
            and _covers(write.view, view)
        ),
        None,
    )
    if last is None:
        return None, list(writes)
    inner = len(last.loops) + 1
    found = [
        write
        for write in writes
        if write is last
        or last.order < write.order < at.order
        or (
            write.order > last.order
            and len(at.loops) >= inner
            and write.loops[:inner] == at.loops[:inner]
        )
    ]
    return last, [write for write in found if write is last or not _apart(write, view, at, inner)]


def _apart(write: Access, view: View, at: _At, inner: int) -> bool:
    """Whether a write is of no element of a view, whatever the rounds of the loops from the
    ``inner``-th on: earlier or later ones than that in which the view is read."""
    if not write.view.exact or not view.exact or write.view.frame != view.frame:
        return False
    pairs = zip(write.loops, at.loops, strict=False)
    common = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    once = {axis.symbol: E.const(0) for axis in view.axes if axis.size is E.const(1)}
    read = [E.Substitution(once).expr(coord) for coord in view.coords]
    rounds = [(k, step) for k in range(inner - 1, common) for step in (-1, 1)]
    if write.order < at.order:
        rounds.append((common, 0))  # in the same round
    for differing, step in rounds:
        put = {axis.symbol: _another(axis.symbol, axis.size) for axis in write.view.axes}
        for loop in write.loops[differing:]:
            put[loop.symbol] = _another(loop.symbol, loop.trips)
        if step:
            loop = write.loops[differing]
            most = loop.trips.const - 1 if loop.trips.is_const else None
            apart = E.const(1) if most == 1 else E.fresh("rounds", 1, most, _LOOP)
            put[loop.symbol] = loop.index + step * apart
        written = map(E.Substitution(put).expr, write.view.coords)
        if not any(E.eq(*pair) is E.FALSE for pair in zip(written, read, strict=True)):
            return False
    return True


def _another(symbol: E.Sym, count: Expr) -> Expr:
    """An index like that one, at another time; none if there is only one."""
    if count is E.const(1):
        return E.const(0)
    return E.fresh(symbol.name, symbol.lo, symbol.hi, _LOOP)


def _covers(write: View, read: View) -> bool:
    """Whether what is written is all that is read."""
    if not write.exact or write.mask is not E.TRUE or write.instance != read.instance:
        return False
    if is_whole(write):
        return True
    same = write.frame == read.frame and len(write.axes) == len(read.axes)
    if not same or not read.exact:
        return False
    names = {mine.symbol: theirs.index for mine, theirs in zip(write.axes, read.axes, strict=True)}
    put = E.Substitution(names)
    return write.shape == read.shape and all(
        put.expr(mine) is theirs for mine, theirs in zip(write.coords, read.coords, strict=True)
    )


def _written(table: Index, write: Access, read: View, through: _Through) -> Iterator[Numbers]:
    """What a write has put where a view is read, in every iteration that comes to it."""
    operation = write.operation
    within = (*(loop.within for loop in write.loops), *write.path, *write.given)
    number = filled(operation)
    if number is not None:
        yield Numbers(write.span, number, within)
        return
    if operation.instruction is not None and Trait.ENUMERATES in operation.instruction.traits:
        counted = _enumerated(write, read)
        if counted is not None:
            yield replace(counted, within=(*counted.within, *within))
            return
    if operation.instruction is not None and Trait.LOCATES in operation.instruction.traits:
        for found in _located(table, write, through):
            yield replace(found, within=(*found.within, *within))
        return
    source = _handed_on(operation)
    if source is None:
        name = operation.name.rpartition(".")[2]
        around = [loop for loop in write.loops if loop.kind is LoopKind.DYNAMIC]
        if any(_told(table, loop, through) for loop in around):
            yield Numbers(write.span, caller=True)  # so often as it says
            return
        yield Numbers(
            write.span,
            reason=f"`{name}` computes what `{read.storage.name}` holds, which is not followed",
        )
        return
    at = _At(write.loops, operation.path, operation.order)
    whole = is_whole(read) and is_whole(write.view)
    for found in _held(table, source, at, (*through, operation)):
        yield replace(found, within=(*found.within, *within), exact=found.exact and whole)


def _located(table: Index, write: Access, through: _Through) -> Iterator[Numbers]:
    """Positions in each partition of what is searched, where all is there that is looked for."""
    operation = write.operation
    data = operation.view("data")
    name = operation.name.rpartition(".")[2]
    if data is None:
        yield Numbers(write.span, reason=f"what `{name}` searches is not known")
        return
    place = _counting(data.free)
    yield Numbers(write.span, place.index, (place.within,), exact=False)
    held = list(_held(table, data, _at(table, operation), (*through, operation)))
    caller = bool(held) and all(each.caller for each in held)
    missing = f"whether `{name}` finds all that it looks for is not known"
    yield Numbers(write.span, caller=caller, reason="" if caller else missing)


def counted(table: Index, operation: Operation, span: Span) -> Numbers:
    """What the loops around an operation count that the device ends."""
    loops = [loop for loop in operation.loops if loop.kind is LoopKind.DYNAMIC]
    told = all(_told(table, loop, ()) for loop in loops)
    reason = "" if told else "how often the loop runs is computed in the kernel, and not followed"
    return Numbers(span, caller=told, reason=reason)


def _told(table: Index, loop: Loop, through: _Through) -> bool:
    """Whether a caller says how often a loop on the device runs."""
    for operation in table.trace.operations:
        if operation.span == loop.span:
            for _, view in operation.reads:
                found = list(_held(table, view, _at(table, operation), (*through, operation)))
                return bool(found) and all(each.caller for each in found)
    return False


def _handed_on(operation: Operation) -> View | None:
    """The tensor whose elements an operation hands on as they are, picked by an index or not."""
    role = moved(operation)
    traits = operation.instruction.traits if operation.instruction is not None else ()
    if Trait.REGISTERS in traits and len(operation.reads) == 1:
        role = operation.reads[0][0]
    if role is None:
        rest = [(name, view) for name, view in operation.reads if not name.endswith(INDEX)]
        if len(rest) == len(operation.reads) or len(rest) != 1:
            return None
        if moved(replace(operation, reads=tuple(rest))) is None:
            return None
        ((_, view),) = rest
        return view
    return next(view for name, view in operation.reads if name == role)


def _enumerated(write: Access, read: View) -> Numbers | None:
    """An affine function of the position, of all positions that are written.

    It is ``offset + partition * channel_multiplier + sum(index * step)``.
    """
    operation = write.operation
    pattern = operation.value("pattern")
    base = _whole(operation.value("offset"), 0)
    by_lane = _whole(operation.value("channel_multiplier"), 0)
    if not isinstance(pattern, tuple) or base is None or by_lane is None:
        return None
    pairs = [pair for pair in pattern if isinstance(pair, tuple) and len(pair) == 2]
    steps = [step for step, _ in pairs if isinstance(step, Expr)]
    counts = [count for _, count in pairs if isinstance(count, Expr)]
    if len(steps) < len(pattern) or len(counts) < len(pattern):
        return None
    sizes = (write.view.partitions, *counts)
    if read.exact and read.frame == write.view.frame == sizes and is_whole(write.view):
        axes = tuple(_counting(axis.size) for axis in read.axes)
        names = zip(read.axes, axes, strict=True)
        put = E.Substitution({old.symbol: new.index for old, new in names})
        places = tuple(map(put.expr, read.coords))  # those of the part that is read
        exact = True
    else:
        axes = tuple(_counting(size) for size in sizes)
        places, exact = tuple(axis.index for axis in axes), is_whole(read) and is_whole(write.view)
    value = base + by_lane * places[0]
    for step, place in zip(steps, places[1:], strict=True):
        value = value + step * place
    within = tuple(axis.within for axis in axes if axis.symbol in value.free())
    return Numbers(write.span, value, within, exact=exact)


def _whole(value: object, default: int) -> Expr | None:
    if value is None:
        return E.const(default)
    return value if isinstance(value, Expr) else E.const(value) if isinstance(value, int) else None


def _counting(size: Expr) -> Axis:
    last = size.const - 1 if size.is_const and size.const > 0 else None
    symbol = E.fresh("index", 0, last, E.Origin.AXIS).as_atom()
    assert isinstance(symbol, E.Sym)
    return Axis(symbol, size)


def _fits(found: Numbers, storage: Storage) -> bool:
    """Whether a tensor holds such numbers as they are."""
    assert found.value is not None
    name = storage.dtype.name
    ends = None if name is None else dt.WHOLE.get(name)
    if ends is None:
        return False
    if ends[1] >= dt.EXACT and not found.value.is_const:
        return True  # offsets into tensors are no larger
    low, high = E.bounds(found.value)
    return low is not None and high is not None and ends[0] <= low and high <= ends[1]


__all__ = ["Numbers", "counted", "numbers"]
