"""What operations read and write, and what becomes of what they read: by their descriptions."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from msgspec import Struct
from msgspec.structs import replace

from rules.memory.cases import narrowed
from rules.memory.registers import registers_of
from verifier.hardware.memories import Buffer
from verifier.symbolic import expr as E
from verifier.symbolic.effects import ACCUMULATORS, Carried, Decides, Folded, Index, Line, Reads
from verifier.symbolic.expr import Bool
from verifier.symbolic.memory.content import stored_to
from verifier.symbolic.memory.deciding import USED, undescribed
from verifier.symbolic.memory.index import Access, is_matmul
from verifier.symbolic.memory.index import Index as Table
from verifier.symbolic.memory.known import Known
from verifier.symbolic.tensors import Axis, Storage, StorageKind, View
from verifier.symbolic.trace import Operation


class Read(Struct, eq=False):
    """A region that an operation reads, and what becomes of it.

    ``why``: what it decides, if it does. ``to``: the role that it is carried to. ``sure``: whether
    all of the region is read, as far as it is known.
    """

    access: Access
    why: str = ""
    fate: Carried | Folded | None = None
    to: str = ""
    sure: bool = True
    #: the part of a tensor of the caller's that it is stored to, by its own axes, if that may yet
    #: be overwritten before the caller sees it
    stored: View | None = None
    #: the element that its axes name is defined; free of all symbols but those of the access
    defined: Bool = E.TRUE
    #: what must hold where it decides; other symbols in it stand for anything
    demand: Bool = E.TRUE
    #: something takes its place where it is stored; but it may have been read before
    replaced: Bool = E.FALSE
    exact: bool = True
    blame: Access | None = None
    #: another read, earlier in the program, was taken to see what is defined because of this one
    assumed: bool = False
    #: what that one took to be defined; as ``defined``
    taken: Bool = E.TRUE
    #: less than that is: what is said of reads that it comes round to may not be all
    open: bool = False
    #: what it says is defined is so, and more may be: see :func:`.formulas.widened`
    loosely: bool = False
    #: of its elements a part is defined, in the bytes of each
    partly: bool = False
    #: it is asked what becomes of it where all of it was set, by whatever
    set: bool = False
    #: what is said of it was found before, and nothing that it hangs on has changed
    kept: bool = False
    done: bool = False

    @property
    def decides(self) -> bool:
        return bool(self.why)


class Write(Struct, eq=False):
    """A region that an operation writes; ``partial``: at most that, as data or flags say;
    ``picked``: of these data alone says which."""

    access: Access
    partial: bool
    #: data goes into accumulators beside what is there
    adds: bool = False
    picked: bool = False

    @property
    def sets(self) -> bool:
        """Whether nothing of what was there before is left in what it writes."""
        return not (self.partial or self.adds or self.access.operation.adds)


def index_of(view: View) -> Index:
    return tuple(axis.index for axis in view.axes)


def regions(access: Access) -> Iterator[Write]:
    """What a write writes, as its instruction says; a region for each condition."""
    instruction = access.operation.instruction
    entries = instruction.footprint.writes_of(access.role) if instruction is not None else ()
    if not entries:
        yield Write(access, False)
    for entry in entries:
        when = entry.when.holds(access.operation)
        where = entry.where.holds(access.operation, index_of(access.view))
        if when is E.FALSE or where is E.FALSE:
            continue
        partial = when is None or where is None or not entry.where.exact
        yield Write(narrowed(access, when, where), partial, picked=partial and when is not None)


def is_free(write: Write, table: Table) -> bool:
    """Whether what the caller gives picks what is written, once: it may leave out any of it.

    A condition that the kernel makes itself may be such that all of it is written, and conditions
    of several writes may add up to that.
    """
    access = write.access
    operation, storage = access.operation, access.view.storage
    footprint = operation.instruction.footprint if operation.instruction is not None else None
    if not write.picked or footprint is None or access.loops != storage.loops:
        return False
    if not any(entry.keeps for entry in footprint.writes_of(access.role)):
        return False
    others = (w for w in table.uses(storage).writes if w.operation is not operation)
    if any(part.partial for other in others for part in regions(other)):
        return False
    deciding = {entry.role for entry in footprint.reads if isinstance(entry.fate, Decides)}
    views = [view for role, view in operation.reads if role in deciding]
    return bool(views) and all(_is_given(view, table) for view in views)


def _is_given(view: View, table: Table) -> bool:
    """Whether it is moved from an input, and nothing else is written to it."""
    if view.storage.kind is StorageKind.INPUT:
        return not table.uses(view.storage).writes
    writes = table.uses(view.storage).writes
    if len(writes) != 1 or len(writes[0].operation.reads) != 1:
        return False
    [(_, source)] = writes[0].operation.reads
    instruction = writes[0].operation.instruction
    entries = instruction.footprint.reads if instruction is not None else ()
    moved = all(isinstance(entry.fate, Carried) and entry.fate.moved for entry in entries)
    return bool(entries) and moved and source.storage.kind is StorageKind.INPUT


class Seen:
    """Which storages the caller sees, and what the reads of a trace are because of that."""

    def __init__(self, table: Table, lanes: dict[int, View]) -> None:
        self._table = table
        #: the accumulators that an operation uses, by its identity
        self.lanes = lanes
        self._returned = {id(storage) for storage in table.returned}

    def reads(self, access: Access) -> Iterator[Read]:
        operation = access.operation
        if access.target:
            if is_matmul(operation) and not operation.generation.sums_by_operator:
                return  # it follows the accumulation protocol, which has its own rule
            why = _decides(access)
            if why:
                yield Read(access, why)
                return
            same = Carried(lambda call, index: index, access.role)
            yield from self._carried(access, same, True)
            return
        instruction = operation.instruction
        entries = instruction.footprint.reads_of(access.role) if instruction is not None else ()
        if not entries:
            yield Read(access, undescribed(access.role))
        for entry in entries:
            yield from self._entry(access, entry)

    def _entry(self, access: Access, entry: Reads) -> Iterator[Read]:
        when = entry.when.holds(access.operation)
        where = entry.where.holds(access.operation, index_of(access.view))
        if when is E.FALSE or where is E.FALSE:
            return
        sure = when is not None and where is not None and entry.where.exact
        part = narrowed(access, when, where)
        if isinstance(entry.fate, Decides):
            yield Read(part, entry.fate.why, sure=sure)
            return
        yield from self._carried(part, entry.fate, sure)
        registers = registers_of(access.operation)
        if registers is not None and registers.takes(access.operation, entry):
            fate = replace(entry.fate, to=ACCUMULATORS)
            if isinstance(fate, Folded):  # of a running result they keep the last
                fate = replace(fate, kept="", prefix=False)
            yield from self._carried(part, fate, sure)

    def read_out(self, access: Access, to: str) -> Iterator[Read]:
        """What accumulators hold goes into the result of a call that does not set them."""
        lane = Carried(lambda call, index: index[:1] or None, to)
        yield from self._carried(access, lane, True)

    def _carried(self, access: Access, fate: Carried | Folded, sure: bool) -> Iterator[Read]:
        target = self.lanes.get(id(access.operation)) if fate.to == ACCUMULATORS else None
        if target is None:
            target = destination(access.operation, fate.to)
        if target is None:
            yield Read(access, fate=fate, to=fate.to, sure=sure)
            return
        fits = fate.fits(access.operation)
        known = self._table.assumed(access.order).also(access.path, ())
        elsewhere = E.FALSE if known.decide(fits) is True else E.not_(fits)
        if self._visible(target.storage):
            why = stored_to(target.name)
            if elsewhere is not E.FALSE:
                whole = sure and self._all_go(access, target, known)
                yield Read(narrowed(access, elsewhere, None), why, sure=whole)
                access = narrowed(access, fits, None)
            stored = self._stored(access, fate, target)
            if stored is not None:  # what has no place there is not stored
                access = narrowed(access, None, E.and_(*_leaving(stored, known)))
            yield Read(access, why, sure=sure, stored=stored)
            return
        if not target.exact:
            yield Read(access, USED, sure=False)
            return
        place = place_in(fate, access.operation, index_of(target))
        if place is None or len(place) != len(access.view.axes) or not sure:
            yield Read(access, USED, fate, fate.to, sure=False)
            return
        if elsewhere is not E.FALSE:
            # where sizes are not what they have to be, any element may go anywhere
            other = narrowed(access, elsewhere, None)
            yield Read(other, USED, fate, fate.to, sure=False)
            access = narrowed(access, fits, None)
        yield Read(access, fate=fate, to=fate.to)

    def _all_go(self, access: Access, target: View, known: Known) -> bool:
        """Whether all elements go to a target of another shape, and nothing else ever does."""
        if access.operation.loops or target.mask is not E.TRUE or not target.exact:
            return False
        if len(self._table.uses(target.storage).writes) > 1:
            return False
        # of an operand that is larger it is not known either which part is taken
        whole = access.operation.view(access.role) or access.view
        there, here, given = (
            prod((a.size for a in v.axes), start=E.const(1)) for v in (target, access.view, whole)
        )
        return known.decide(E.and_(E.eq(there, here), E.eq(here, given))) is True

    def _stored(self, access: Access, fate: Carried | Folded, target: View) -> View | None:
        """A target by the axes of what is copied there; None: it is not known, or an input."""
        if target.storage.kind is StorageKind.INPUT or not target.exact:
            return None
        place = place_in(fate, access.operation, index_of(target))
        axes = access.view.axes
        if place is None or len(place) != len(axes):
            return None
        by: dict[E.Sym, Axis] = {}
        for axis, at in zip(axes, place, strict=True):
            symbol = None if at is None else at.as_atom()
            if isinstance(symbol, E.Sym):
                by[symbol] = axis
        wide = (axis.symbol for axis in target.axes if axis.size is not E.const(1))
        if any(symbol not in by for symbol in wide):
            return None
        put = E.Substitution({symbol: axis.index for symbol, axis in by.items()})
        return replace(
            target,
            axes=tuple(by.get(axis.symbol, axis) for axis in target.axes),
            coords=tuple(map(put.expr, target.coords)),
            mask=put.bool(target.mask),
        )

    def _visible(self, storage: Storage) -> bool:
        seen = storage.kind is StorageKind.INPUT or storage.buffer is Buffer.SHARED_HBM
        return seen or id(storage) in self._returned


def _decides(access: Access) -> str:
    """Why what an operation adds to has to be defined where it does."""
    instruction = access.operation.instruction
    writes = instruction.footprint.writes_of(access.role) if instruction is not None else ()
    return next((write.decides for write in writes if write.decides), "")


def destination(operation: Operation, role: str) -> View | None:
    return next((view for name, view in operation.writes if name.partition("[")[0] == role), None)


def _leaving(view: View, known: Known) -> Iterator[Bool]:
    """As :func:`there`, in each iteration, where the sizes of a tensor are numbers."""
    facts = known.also((axis.within for axis in view.axes), ())
    for coord, extent in zip(view.coords, view.frame, strict=False):
        if extent.is_const and not any(s.origin in E.GIVEN for s in coord.free()):
            inside = E.and_(E.ge(coord, 0), E.lt(coord, extent))
            if facts.decide(inside) is not True:
                yield inside


def there(view: View) -> Iterator[Bool]:
    """That an element is one of its tensor, along the dimensions that a view is sure to leave."""
    if not view.exact:
        return
    first = E.Substitution({axis.symbol: E.const(0) for axis in view.axes})
    last = E.Substitution({axis.symbol: axis.size - 1 for axis in view.axes})
    for coord, extent in zip(view.coords, view.frame, strict=False):
        ends = first.expr(coord), last.expr(coord)
        beyond = (end - extent for end in ends)
        if any(over.is_const and over.const >= 0 for over in beyond):
            yield E.lt(coord, extent)
        if any(end.is_const and end.const < 0 for end in ends):
            yield E.ge(coord, 0)


def place_in(fate: Carried | Folded, operation: Operation, index: Index) -> Line | None:
    """What goes into an element of the destination: an element, or a line of them."""
    if isinstance(fate, Folded):
        return fate.line(operation, index)
    return fate.source(operation, index)


__all__ = ["Read", "Seen", "Write", "destination", "index_of", "place_in", "regions", "there"]
