"""Rests of earlier loads in tiles (:mod:`rules.memory.rests`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from rules.memory import examples
from rules.memory.loaded import is_linear, load_of
from rules.memory.places import off_chip
from rules.memory.reading import destination, index_of
from rules.memory.rests import UNSURE, Placed, Region, Stale, stale
from rules.memory.steps import Step
from rules.memory.words import subject
from verifier.hardware.memories import Buffer
from verifier.hardware.targets import Target
from verifier.rulebase import Monitor, On, Replayed, Rule, Shown, register
from verifier.symbolic import expr as E
from verifier.symbolic.checks import Check, Note
from verifier.symbolic.effects import Index
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.memory.events import Rested
from verifier.symbolic.memory.index import Access, index, tensor
from verifier.symbolic.memory.index import Index as Table
from verifier.symbolic.tensors import Storage, StorageKind, View
from verifier.symbolic.trace import Operation, Trace
from verifier.symbolic.views.common import conjuncts

#: what was done to a part of a tile, by whether it was loaded
_DONE: Final = {True: ("brought", "loaded"), False: ("made", "computed")}


def stale_tiles(trace: Trace, target: Target) -> Iterable[Check]:
    """A check for each operand that may take a rest."""
    if trace.unmodelled or not trace.completes or trace.dies:
        return
    for found in stale(_steps(trace), _element, _makes):
        told = (found.fine, *found.given, *found.step.operation.path)
        if all(map(is_linear, told)):
            yield _check(found)


def _makes(step: Placed) -> bool:
    """Whether an operation computes its part of a tile in SBUF anew, as a load would bring it."""
    views = [view for _, view in step.operation.writes]
    in_place = len(views) == 1 and views[0].buffer is Buffer.SBUF
    return in_place and not step.operation.adds


def _element(operation: Operation, role: str) -> Index:
    target = destination(operation, role)
    return () if target is None else index_of(target)


# ----------------------------------------------------------------------------- tiles


def _steps(trace: Trace) -> list[Placed]:
    table = index(trace)
    seen = {id(storage) for storage in table.returned}
    reads: dict[int, list[Access]] = {}
    writes: dict[int, list[Access]] = {}
    for uses in table.storages:
        for access in uses.reads:
            reads.setdefault(id(access.operation), []).append(access)
        for access in uses.writes:
            writes.setdefault(id(access.operation), []).append(access)
    return [
        _step(op, reads.get(id(op), ()), writes.get(id(op), ()), seen, table)
        for op in sorted(trace.operations, key=lambda op: op.order)
    ]


def _step(
    op: Operation, reads: Sequence[Access], writes: Sequence[Access], seen: set[int], table: Table
) -> Placed:
    inside = [access for access in writes if access.view.buffer.on_chip]
    load = load_of(inside[0], table) if len(inside) == len(writes) == 1 else None
    taken = [access for access in reads if access.view.buffer.on_chip and load is None]
    outside = [a for a in writes if a not in inside and _is_seen(a.view.storage, seen)]
    return Step(
        op,
        tuple(_region(access.role, access.view, table) for access in taken),
        tuple(_region(access.role, access.view, table) for access in inside),
        () if load is None else (off_chip(load.source),),
        tuple(off_chip(access.view, access.role) for access in outside),
    )


def _is_seen(storage: Storage, returned: set[int]) -> bool:
    """Whether the caller sees what is stored there."""
    shared = storage.buffer is Buffer.SHARED_HBM or storage.kind is StorageKind.INPUT
    return shared or id(storage) in returned


def _region(role: str, view: View, table: Table) -> Region:
    place, loops, instance = id(view.storage), view.storage.loops, tensor(view)
    box = view.box if view.exact and not view.indirect else None
    sizes = None if box is None else _limited(view, [size for _, size in box])
    if box is None or sizes is None:
        return Region(role, place, (), (), (), loops, instance)
    begin = tuple(start for start, _ in box)
    axes = [_axis_of(coord, view) for coord in view.coords]
    filled = _is_filled(view.storage, table)
    return Region(role, place, begin, sizes, (), loops, instance, tuple(axes), filled)


def _axis_of(coord: Expr, view: View) -> int | None:
    free = coord.free()
    return next((k for k, axis in enumerate(view.axes) if axis.symbol in free), None)


def _limited(view: View, sizes: list[Expr]) -> tuple[Expr, ...] | None:
    """The sizes as far as a mask lets them be; None: it is not of that form."""
    for fact in conjuncts(view.mask):
        if fact is E.TRUE:
            continue
        found = _bound(fact, view)
        if found is None:
            return None
        axis, most = found
        for k, coord in enumerate(view.coords):
            if axis in coord.free():
                sizes[k] = E.minimum(sizes[k], most)
    return tuple(sizes)


def _bound(fact: Bool, view: View) -> tuple[E.Sym, Expr] | None:
    """The axis of which a mask says how far it goes, and how far."""
    if fact.kind is not E.BoolKind.LE or fact.expr is None:
        return None
    free = set(fact.free())
    axes = [axis.symbol for axis in view.axes if axis.symbol in free]
    if len(axes) != 1 or fact.expr.coefficient(axes[0]) != 1:
        return None
    rest = fact.expr - E.from_atom(axes[0])
    return None if axes[0] in rest.free() else (axes[0], 1 - rest)


def _is_filled(storage: Storage, table: Table) -> bool:
    """Whether a tile has one number everywhere, which is not zero, as long as it is there."""
    writes = table.uses(storage).writes
    if len(writes) != 1 or writes[0].operation.instruction is None:
        return False
    operation = writes[0].operation
    for entry in writes[0].operation.instruction.footprint.writes_of(writes[0].role):
        number: object = entry.constant
        if isinstance(number, str):
            operand = operation.operands.get(number)
            number = None if operand is None else operand.value
        if isinstance(number, Expr):
            number = number.const if number.is_const else None
        if isinstance(number, (int, float)) and number and not operation.reads:
            return True
    return False


# ----------------------------------------------------------------------------- what is said


def _check(found: Stale) -> Check:
    op, (written,) = found.step.operation, found.load.operation.writes
    storage = written[1].storage
    what, load = _function(op), _function(found.load.operation)
    loops = dict.fromkeys((*op.loops, *found.load.operation.loops))
    done, part = _DONE[bool(found.load.loads)]
    return Check(
        predicate=found.fine,
        span=op.span_of(found.read.role),
        text=f"`{what}` takes of `{_name_of(found)}` no more than was {done} last",
        message=f"`{what}` takes more of `{_name_of(found)}` than `{load}` has {done} last: the "
        "rest is what an earlier one has left",
        given=(*(loop.within for loop in loops), *found.given),
        values=(
            ("it takes", found.read.sizes[found.axis]),
            (f"{done} last", found.size),
        ),
        notes=(Note(found.load.operation.span, f"a part of `{storage.name}` is {part} here"),),
        help=(f"take what was {part} alone, or fill the rest each time",),
        subject=subject(storage),
        exact=found.sure,
        reason="" if found.sure else UNSURE,
        path=op.path,
        order=op.order,
    )


def _name_of(found: Stale) -> str:
    """What the tile is called that is taken."""
    view = next(view for role, view in found.step.operation.reads if role == found.read.role)
    return view.storage.name


def _function(operation: Operation) -> str:
    return operation.name.rpartition(".")[2]


def rest_in_run(event: Rested, target: Target) -> Iterator[Check]:
    """As :func:`stale_tiles`, of a run: that there is a rest is seen here, not what becomes of
    it."""
    name, load = event.storage.name, _function(event.load)
    done, part = _DONE[event.loaded]
    yield Check(
        predicate=E.FALSE,
        span=event.span,
        text=f"no more is taken of `{name}` than was {done} last",
        message=f"more of `{name}` is taken than `{load}` has {done} last: the rest is what an "
        "earlier one has left",
        notes=(Note(event.load.span, f"a part of `{name}` is {part} here"),),
        subject=subject(event.storage),
    )


register(
    Rule(
        id="stale-rest",
        code="MEM320",
        family="memory",
        summary="what is taken of a tile was brought by its last load",
        silent=True,
        reason=(
            "The last part of a loop is often smaller than the others. Behind it, in a tile that "
            "is used again, lies what the round before has left. Computing on it does no harm "
            "where nothing comes of it; a sum or a product that takes it in is wrong, and so is "
            "what is stored of it."
        ),
        facts=(),
        on=On.TRACE,
        check=stale_tiles,
        monitors=(Monitor(Rested, rest_in_run, meant=True),),
        replayed=Replayed(Shown.SUBJECT, whole=True),
        failing=examples.STALE_FAILING,
        passing=examples.STALE_PASSING,
    )
)
