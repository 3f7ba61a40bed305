"""What is defined, and where what is undefined decides something.

An element is defined if the last write to it set it, and everything that this write carried into it
was defined. What is undefined may be moved and computed upon; nothing undefined may decide: be
stored where the caller sees it, be an index or a condition, or be folded into registers that keep
it. What is folded with something undefined is undefined.

Operations are gone through in program order. A read says of each of its elements whether it is
defined, as a formula; a write that carries what was read counts where that formula holds. What
comes round in a loop is taken to be defined at first, then wherever the round before found it to
be; it is known when a round finds no less than was taken. No round takes anything to be undefined
that is not. Where the rounds find less and less (what spreads from one iteration to the next), it
is gone through once more with less taken at a time: what is found to be defined then is so, too,
and what is left is not known.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace

from rules.memory.cases import (
    Copy,
    apart,
    common_loops,
    contains,
    covered,
    covered_point,
    depends_on,
    dominates,
    following,
    same_elements,
)
from rules.memory.formulas import Ranges, another, cases, demands_of, no_later, size, widened
from rules.memory.order import behind_barrier, waits
from rules.memory.reading import (
    Read,
    Seen,
    Write,
    destination,
    index_of,
    is_free,
    place_in,
    regions,
    there,
)
from rules.memory.registers import accumulating
from rules.memory.ways import Way, Ways
from verifier.hardware.memories import Buffer
from verifier.hardware.targets import Target
from verifier.symbolic import expr as E
from verifier.symbolic.effects import Carried, Folded
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.memory.index import Access
from verifier.symbolic.memory.index import Index as Table
from verifier.symbolic.regions import exists
from verifier.symbolic.tensors import LoopKind, StorageKind, View
from verifier.symbolic.units import parts, unit_of

#: by the identity of an operation, and the role
Operands: TypeAlias = Collection[tuple[int, str]]

#: parts of a formula that is carried on
_LARGEST = 64
#: writes to a tile, none of them under a condition, that are held against each other
_FEW = 4
#: how often a trace is gone through in order to know what comes round in its loops
_ROUNDS = 4
#: and how often of these before less is taken than was found
_EXACTLY = 2


class Flow(Struct):
    """What is defined in one trace."""

    table: Table
    #: what is found once for all that are settled of a trace
    ways: Ways
    reads: dict[int, list[Read]] = field(default_factory=dict)
    writes: dict[int, list[Write]] = field(default_factory=dict)
    #: the same reads, of which nothing was found yet
    _first: dict[int, list[Read]] = field(default_factory=dict)
    _phi: dict[int, Bool] = field(default_factory=dict)
    #: where less is said to be defined than is, as what comes round is not known: the flow that
    #: says of nothing that it is undefined unless it is
    most: Flow | None = None

    @staticmethod
    def of(table: Table, target: Target) -> Flow:
        flow = Flow(table, Ways(table))
        seen = Seen(table, {})
        used = list(accumulating(table.trace, target))
        for access, how in used:
            seen.lanes[id(access.operation)] = access.view
            if how.begins or how.adds:
                into = flow.writes.setdefault(id(access.view.storage), [])
                into.append(Write(access, False, adds=not how.begins))
        for uses in table.storages:
            flow.writes[id(uses.storage)] = [
                found for access in uses.writes for found in regions(access)
            ]
            for access in (*uses.reads, *uses.targets):
                found = flow.reads.setdefault(id(access.operation), [])
                found.extend(seen.reads(access))
        for access, how in used:
            if how.continues and how.to:
                # before what the data goes to: what is read out was there before
                out = flow.reads.setdefault(id(access.operation), [])
                out.extend(seen.read_out(access, how.to))
        first = flow._first = flow.reads
        if not flow._known(first, _ROUNDS, _ROUNDS):
            flow.most = Flow(table, flow.ways, flow.reads, flow.writes)
            for read in (read for reads in first.values() for read in reads):
                read.taken = E.TRUE
            flow._known(first, _EXACTLY, 2 * _ROUNDS)
        return flow

    def comes_round(self, access: Access) -> bool:
        """Whether an operation reads what it writes, by way of others in its loops, too."""
        todo, seen = [access.operation], {id(access.view.storage)}
        for operation in todo:
            for _, view in operation.reads:
                if view.storage is access.view.storage:
                    return True
                if id(view.storage) not in seen:
                    seen.add(id(view.storage))
                    writes = [write.access for write in self.writes.get(id(view.storage), ())]
                    todo += [w.operation for w in writes if common_loops(w.loops, access.loops)]
        return False

    def _known(self, first: dict[int, list[Read]], exactly: int, rounds: int) -> bool:
        """Whether some round finds no less than was taken of what comes round.

        Behind the rounds that go ``exactly`` by what the one before found, less is taken.
        """
        for number in range(rounds):
            self.reads = {at: [replace(read) for read in reads] for at, reads in first.items()}
            self.settle()
            if not self._taken(first, number >= exactly):
                return True
        return False

    def settle(self) -> None:
        """Settle all reads but those that are done or kept."""
        self._phi.clear()
        for operation in sorted(self.table.trace.operations, key=lambda op: op.order):
            for read in self.reads.get(id(operation), ()):
                if not (read.done or read.kept):
                    _Definition(self, read, read.access.view).settle()
                read.done = True

    def without(self, origins: Sequence[Read]) -> Flow | None:
        """The flow in which all that some reads are of was set: what was carried there may still be
        undefined. None: it is not known what comes round in its loops."""
        operands = {(id(each.access.operation), each.access.role) for each in origins}
        changed = self._dependent(operands)
        first: dict[int, list[Read]] = {}
        for at, reads in self.reads.items():
            first[at] = [
                replace(own, taken=E.TRUE, loosely=False, set=_is_of(read, operands))
                if id(read) in changed
                else replace(read, done=False, kept=True)
                for read, own in zip(reads, self._first[at], strict=True)
            ]
        flow = Flow(self.table, self.ways, {}, self.writes)
        return flow if flow._known(first, _ROUNDS, _ROUNDS) else None

    def _dependent(self, operands: Operands) -> set[int]:
        """Identities of the reads of operands, and of all that what these read may come to."""
        of_storage: dict[int, list[Read]] = {}
        for each in self.reads.values():
            for read in each:
                of_storage.setdefault(id(read.access.view.storage), []).append(read)
        found: set[int] = set()
        left = [
            read
            for operation, _ in sorted(operands)
            for read in self.reads[operation]
            if _is_of(read, operands)
        ]
        while left:
            read = left.pop()
            if id(read) not in found:
                found.add(id(read))
                for write in self.targets(read):
                    left += of_storage.get(id(write.access.view.storage), ())
        return found

    def _taken(self, first: dict[int, list[Read]], less: bool) -> bool:
        """Note what a round found of what comes round; whether it was less than was taken."""
        more = False
        for at, reads in self.reads.items():
            for read, again in zip(reads, first[at], strict=True):
                if read.open and not read.kept:
                    again.taken = widened(again.taken, read.defined) if less else read.defined
                    again.loosely = less
                    more = True
        return more

    def at_most(self, read: Read) -> tuple[Flow, Read] | None:
        """The same read where nothing is said to be undefined unless it is, if that is known."""
        if self.most is None or not read.loosely:
            return None
        at = id(read.access.operation)
        again = self.most.reads[at][next(k for k, r in enumerate(self.reads[at]) if r is read)]
        return (self.most, again) if again.decides and again.exact else None

    def loosely(self, write: Write) -> bool:
        """Whether more may be defined of what a write carries than is said."""
        return any(read.loosely for read in self.sources(write))

    def in_order(self) -> list[Read]:
        found = [read for reads in self.reads.values() for read in reads]
        return sorted(found, key=lambda read: read.access.order)

    def carried(self, write: Write) -> Bool:
        """That what a write carries is defined, for the element that its axes name."""
        found = self._phi.get(id(write))
        if found is not None:
            return found
        parts: list[Bool] = []
        final = True
        known = self.known(write)
        for read in self.sources(write):
            defined = read.defined
            if not read.done:
                read.assumed = True
                final = False
                defined = read.taken
            if defined is not E.TRUE:
                parts.append(_at_destination(read, write, defined, known)[0])
        phi = E.and_(*parts)
        if phi is not E.TRUE:
            phi = known.without(phi)
        if final:
            self._phi[id(write)] = phi
        return phi

    def spoils(self, write: Write) -> bool:
        """Whether a write that data picks elements for leaves something undefined in each: nothing
        ever writes what it takes them from."""
        return write.picked and any(
            source.defined is E.FALSE and not self.writes.get(id(source.access.view.storage))
            for source in self.sources(write)
        )

    def targets(self, read: Read) -> list[Write]:
        """The writes that a read is carried into."""
        operation = read.access.operation
        return [
            write
            for writes in self.writes.values()
            for write in writes
            if write.access.operation is operation
            and write.access.role.partition("[")[0] == read.to
        ]

    def sources(self, write: Write) -> list[Read]:
        """The reads that are carried into a write."""
        role = write.access.role.partition("[")[0]
        reads = self.reads.get(id(write.access.operation), ())
        return [read for read in reads if read.fate is not None and read.to == role]

    def known(self, write: Write) -> Ranges:
        return self.ways.ranges(write.access)


def _is_of(read: Read, operands: Operands) -> bool:
    return (id(read.access.operation), read.access.role) in operands


def _at_destination(read: Read, write: Write, defined: Bool, known: Ranges) -> tuple[Bool, bool]:
    """That a read's element is ``defined``, by the axes of the write that it is carried to.

    Of a line, that all of its elements are; not exact: it does not say how far they are.
    """
    fate, operation = read.fate, read.access.operation
    assert fate is not None
    index = index_of(write.access.view)
    place = place_in(fate, operation, index)
    axes = read.access.view.axes
    if place is None or len(place) != len(axes):
        return E.FALSE, True
    put: dict[E.Sym, Expr] = {
        axis.symbol: at for axis, at in zip(axes, place, strict=True) if at is not None
    }
    if isinstance(fate, Carried) and fate.sender:
        sender = operation.value(fate.sender)
        grid = next((loop for loop in read.access.loops if loop.kind is LoopKind.GRID), None)
        if not isinstance(sender, Expr):
            return E.FALSE, False
        if grid is not None:
            put[grid.symbol] = sender
    own = {id(axis.index): axis.size for axis in write.access.view.axes}
    # of what lies outside of the operand something else is said
    inside = [a.within for a, at in zip(axes, place, strict=True) if own.get(id(at)) is not a.size]
    inside += there(read.access.view)
    lost = [*read.access.given, read.access.view.mask, *inside, E.not_(defined)]
    line = [axis for axis, at in zip(axes, place, strict=True) if at is None]
    # where a tensor is worked on in place, the indices of both sides have the same names
    others = {a.symbol: another(a) for a in line}
    by = E.Substitution({**put, **{symbol: axis.index for symbol, axis in others.items()}})
    conditions = [by.bool(fact) for fact in lost]
    running = [axis.symbol for axis in others.values()]
    moved = [others.get(axis.symbol, axis) for axis in axes]
    if isinstance(fate, Folded) and fate.prefix:
        source = replace(read.access.view, axes=tuple(moved))
        conditions.append(no_later(source, write.access.view))
    if isinstance(fate, Folded) and fate.among is not None:
        for number, axis in ((k, a) for k, a in enumerate(moved) if place[k] is None):
            joins = fate.among(operation, number, axis.index, index[number])
            conditions.append(E.TRUE if joins is None else joins)
    if not any(symbol in fact.free() for symbol in running for fact in conditions):
        return E.not_(E.and_(*conditions)), True
    sizes = [(symbol, by.expr(axis.size)) for symbol, axis in zip(running, line, strict=True)]
    found, exact = exists(sizes, conditions, decide=known.known.decide)
    return E.not_(found), exact


def _running(read: Read) -> list[E.Sym]:
    """The axes along which a read is folded."""
    assert read.fate is not None
    target = destination(read.access.operation, read.fate.to)
    place = None
    if isinstance(read.fate, Folded) and target is not None:
        place = place_in(read.fate, read.access.operation, index_of(target))
    if place is None:
        return []
    axes = read.access.view.axes
    return [axis.symbol for axis, at in zip(axes, place, strict=True) if at is None]


# ----------------------------------------------------------------------- what is defined


class _Definition(Struct):
    """Settles one read.

    Of an element that other views write in parts, all parts have to be defined: each is settled by
    itself (``part``), as different writes may set them.
    """

    flow: Flow
    read: Read
    part: View

    @property
    def known(self) -> Ranges:
        return self.flow.ways.ranges(self.read.access)

    def settle(self) -> None:
        read = self.read
        last = self._last()
        demands: list[Bool] = []
        definitions: list[Bool] = []
        found: list[_Threat] = []
        read.blame, exact = None, True
        whole = read.access.view
        for part in parts(whole, unit_of(whole, (write.access.view for write in self._writes))):
            self.part = part
            formula, sure, blame = self._set() if last is None else self._set_since(last)
            threats, known = self._threats(last)
            demands += [formula, *(threat.demand for threat in threats)]
            definitions += [formula, *(threat.formula for threat in threats)]
            if not known:
                demands = definitions = [E.FALSE]
            read.partly = read.partly or (part is not whole and formula is not E.FALSE)
            read.blame = read.blame or blame
            exact = exact and sure and known
            found += threats
        read.demand, read.defined = E.and_(*demands), E.and_(*definitions)
        read.loosely = read.loosely or any(map(self.flow.loosely, self._writes))
        read.blame = read.blame or next((t.blame for t in found if not t.exact), None)
        if read.demand is not E.TRUE:
            read.exact = exact and all(threat.sure for threat in found)
            self._place(read.exact and all(threat.exact for threat in found))
        if read.loosely and read.demand is not E.TRUE:
            read.exact = False

    def _place(self, certain: bool) -> None:
        """Where what is undefined goes: a read that cannot be followed further decides."""
        read = self.read
        if read.fate is not None and not read.sure and read.demand is E.FALSE and not read.assumed:
            # whichever element is taken, it is undefined, and so is what is made of it
            read.why, read.demand = "", E.TRUE
            return
        if read.fate is None or read.decides:
            if not read.sure and read.demand is not E.FALSE:
                read.exact = False
            read.defined = E.TRUE
            if read.stored is not None:
                self._unless_overwritten(read.stored)
            return
        if not certain or size([read.defined], _LARGEST) > _LARGEST:
            # nothing is said of where it is carried to: what it carries has to be defined
            read.why, read.exact, read.defined = "it is carried on", False, E.TRUE
            return
        kept = isinstance(read.fate, Folded) and bool(read.fate.kept)
        if not kept and not self._told():
            # which lines are spoilt cannot be said: none may be
            read.why, read.exact, read.defined = "it is folded with others", False, E.TRUE
            return
        if read.assumed and self._less_than_taken():
            # more may be undefined than what is said of the reads that it comes round to
            read.why, read.exact, read.open = "it is carried on", False, True
            return
        if read.assumed and read.loosely:
            read.defined = read.taken  # it is found again, and says it in fewer words
        read.demand = E.TRUE
        along = set(_running(read)) & set(read.defined.free())
        if along and kept:
            read.why = "it is folded with what is defined"
            read.demand = E.or_(read.defined, E.not_(self._elsewhere(along)))

    def _unless_overwritten(self, stored: View) -> None:
        """What is stored counts where nothing takes its place before the kernel ends."""
        read, flow = self.read, self.flow
        store = replace(read.access, view=stored)
        writes = [w.access for w in flow.writes.get(id(stored.storage), ()) if w.sets]
        ways = [way for write in writes for way in following(write, store)]
        for write in writes:
            other, open_ = behind_barrier(flow.table.trace, write, store)
            ways += [other] if other is not None else []
            read.exact = read.exact and not open_
        if not ways:
            return
        formula, exact, _ = covered(ways, stored, self.known.known)
        if formula is E.FALSE and exact:
            return
        reads = flow.table.uses(stored.storage).reads
        if not all(waits(each.operation) for each in reads):  # before it is overwritten, maybe
            read.replaced, read.exact = formula, read.exact and exact
            return
        read.demand = E.or_(read.demand, formula)
        read.exact = read.exact and exact

    def _told(self) -> bool:
        """Whether it can be said which elements are undefined that it is carried to."""
        read, flow = self.read, self.flow
        return all(
            _at_destination(read, write, read.defined, flow.known(write))[1]
            for write in flow.targets(read)
        )

    def _less_than_taken(self) -> bool:
        taken, found = self.read.taken, self.read.defined
        known = [*map(set, demands_of(taken))]
        return taken is not found and not all(
            any(alternatives.issubset(part) for alternatives in known)
            or self.known.without(E.implies(taken, E.or_(*part))) is E.TRUE
            for part in demands_of(found)
        )

    def _elsewhere(self, along: set[E.Sym]) -> Bool:
        """That another element of the line is defined, and read."""
        access = self.read.access
        put = {symbol: E.fresh("t", 0, symbol.hi, E.Origin.AXIS) for symbol in along}
        inside = (axis.within for axis in access.view.axes if axis.symbol in along)
        held = E.and_(*inside, access.view.mask, self.read.defined)
        return E.Substitution(dict(put)).bool(held)

    @property
    def _writes(self) -> list[Write]:
        access = self.read.access
        writes = self.flow.writes.get(id(access.view.storage), [])
        if not access.target or isinstance(access.operation.effect, Bool):
            return writes  # where it adds under a condition, it sets in the other iterations
        return [write for write in writes if write.access.operation is not access.operation]

    def _set(self) -> tuple[Bool, bool, Access | None]:
        """That some write set the element: formula, exactness, what is to blame if inexact."""
        access = self.read.access
        view, storage = self.part, self.part.storage
        if storage.initialised or storage.kind in (StorageKind.INPUT, StorageKind.CONSTANT):
            return E.TRUE, True, None
        if self.read.set:
            return E.TRUE, True, None
        complete = [write for write in self._writes if not write.partial]
        data = (write for write in self._writes if write.partial)
        partial = next((w.access for w in data if not is_free(w, self.flow.table)), None)
        if any(self._wrote(write) is E.TRUE for write in complete):
            return E.TRUE, True, None
        if not complete:
            return E.FALSE, partial is None, partial
        # unconditional writes first: one of them often settles it
        sources = sorted(complete, key=lambda w: len(w.access.path))
        known = self.known.known
        if view.exact:
            formula, exact, blame = covered(self._ways(sources), view, known)
            formula = self.known.without(formula)
            if formula is E.TRUE or partial is None:
                return formula, exact, blame
            return formula, False, blame or partial
        # which element is read is known at run time only: everything has to be there
        point = tuple(E.fresh("x", 0, None, E.Origin.POINT) for _ in storage.shape)
        inside = [E.lt(x, extent) for x, extent in zip(point, storage.shape, strict=True)]
        formula, _, blame = covered_point(self._ways(sources), view, point, known)
        return E.or_(*(E.not_(fact) for fact in inside), formula), False, blame or access

    def _last(self) -> Write | None:
        """The last write that certainly set all that is read: nothing before it counts."""
        wrote = (w for w in reversed(self._writes) if w.sets and self._wrote(w) is not None)
        return next(wrote, None)

    def _set_since(self, last: Write) -> tuple[Bool, bool, Access | None]:
        """:meth:`_set` where a ``last`` write certainly set all that is read."""
        formula = self._wrote(last)
        assert formula is not None
        if formula is E.TRUE:
            return formula, True, None
        again, exact, blame = self._set_again(last, None)
        partial = (w.access for w in self._writes if w.partial and self._follows(w, last))
        blame = blame or next(partial, None)
        return E.or_(formula, again), exact and blame is None, blame

    def _wrote(self, write: Write) -> Bool | None:
        """That what a write that certainly wrote all that is read carried there is defined."""
        access = self.read.access
        if write.partial or not dominates(write.access, access):
            return None
        phi = self.flow.carried(write)
        if phi is E.TRUE:
            return phi if contains(write.access.view, access.view) else None
        same = None if self._shared else same_elements(write.access.view, access.view)
        return self.known.without(same.bool(phi)) if same is not None else None

    def _ways(self, writes: list[Write]) -> Iterator[Copy]:
        for write in writes:
            for access in self._refined(write):
                yield from self._before(access)

    @property
    def _shared(self) -> bool:
        """Whether what another program instance writes is seen here."""
        storage, trace = self.read.access.view.storage, self.flow.table.trace
        if storage.buffer is not Buffer.HBM or not trace.generation.hbm_private:
            return storage.buffer.off_chip or storage.buffer is Buffer.L2
        if storage.kind is StorageKind.INPUT:
            return True
        return trace.generation.hbm_returned and any(storage is x for x in self.flow.table.returned)

    def _refined(self, write: Write) -> list[Access]:
        """The write where what it carries is defined, a case each."""
        if not self._carries(write):
            return [write.access]
        carried = cases(self.flow.carried(write))
        return [self.flow.ways.given(write.access, case) for case in carried]

    def _carries(self, write: Write) -> bool:
        """Whether a write that comes before the read may carry something undefined."""
        sources = self.flow.sources(write)
        if all(source.done and source.defined is E.TRUE for source in sources):
            return False
        return bool(self._before(write.access))

    def _before(self, write: Access) -> list[Copy]:
        """The ways in which a write comes before the read."""
        ways, access = self.flow.ways, self.read.access
        if self._shared and write.order > access.order:
            if behind_barrier(self.flow.table.trace, write, access)[0] is not None:
                return []  # whoever writes it has waited for the one that reads
        return ways.before(write, access, private_grid=self._shared)

    # -- writes that undo it --------------------------------------------------------------

    def _threats(self, last: Write | None) -> tuple[list[_Threat], bool]:
        """The writes that may have carried something undefined there, after the ``last`` that
        certainly set all of it."""
        access = self.read.access
        found: list[_Threat] = []
        for write in self._writes:
            if last is not None and not self._follows(write, last):
                continue
            if not self._carries(write):
                continue
            phi = self.flow.carried(write)
            if phi is E.TRUE:
                continue
            if not access.view.exact:
                return [], False
            again: dict[int | None, tuple[Bool, bool, Access | None]] = {}
            for case in cases(E.not_(phi)):
                for way, level in self._levels(self.flow.ways.given(write.access, case)):
                    if level not in again:  # it is the same for all cases
                        again[level] = self._set_again(write, level)
                    threat = self._threat(write, way, *again[level][:2])
                    if threat.demand is not E.TRUE and not self._shared:
                        threat = self._unless_between(threat, write, way, level)
                    found.append(threat)
        return found, True

    def _levels(self, write: Access) -> list[Way]:
        """The ways in which a write comes before the read; and the loop of an earlier iteration."""
        if self._shared:
            return [(way, None) for way in self._before(write)]
        return self.flow.ways.levels(write, self.read.access)

    def _threat(self, write: Write, way: Copy, again: Bool, sure: bool) -> _Threat:
        different, known = apart(self.part, way.view)
        demand = E.or_(*map(E.not_, way.ranges), different, again)
        undone, exact, _ = covered([way], self.part)
        formula = E.or_(E.not_(self.known.without(undone)), again)
        if exact:
            demand = formula
        sure = sure and known and (not write.partial or self.flow.spoils(write))
        return _Threat(demand, formula, sure, sure and exact, write.access)

    def _unless_between(
        self, found: _Threat, undone: Write, way: Copy, level: int | None
    ) -> _Threat:
        """The threat of those iterations behind which nothing sets it before the read.

        :meth:`_set_again` says what does so behind each of them, this one what does behind some.
        """
        access, writes = self.read.access, self._writes
        if len(writes) > _FEW and not any(write.access.path for write in writes):
            return found  # what all iterations do, and often, :meth:`_set_again` says
        if level is None:
            level = common_loops(undone.access.loops, access.loops)
        ways: list[Copy] = []
        sure = True
        for write in writes:
            if write.access is undone.access and self.flow.comes_round(write.access):
                continue  # what it leaves undefined in one round it does in the next one too
            if write.partial:  # it may set it
                sure = sure and not self.flow.ways.between(write.access, way, level, access)
            for refined in self._refined(write) if write.sets else ():
                ways.extend(self.flow.ways.between(refined, way, level, access))
        known = self.flow.ways.along(access, way)
        again, exact, _ = covered(ways, self.part, known.known)
        again, sure = known.without(again), sure and exact
        if again is E.FALSE:
            return found if sure else replace(found, sure=False, exact=False)
        return self._threat(undone, self.flow.ways.unless(way, again), E.FALSE, sure)

    def _follows(self, write: Write, last: Write) -> bool:
        """Whether a write may come between the one that certainly set all and the read."""
        at, since, access = write.access, last.access, self.read.access
        if at.follows(since) and at.order < access.order:
            return True
        return common_loops(at.loops, access.loops) > len(since.loops)

    def _set_again(self, undone: Write, level: int | None) -> tuple[Bool, bool, Access | None]:
        """That it is set after it was undone, and before it is read; as :func:`covered`."""
        ways = self._afterwards(undone, level)
        return covered(ways, self.part, self.known.known)

    def _afterwards(self, undone: Write, level: int | None) -> Iterator[Copy]:
        """The ways in which a write comes after another one, and before the read."""
        access = self.read.access
        shared = common_loops(undone.access.loops, access.loops)
        for write in self._writes:
            if not write.sets:
                continue
            for refined in self._refined(write):
                after = write.access.follows(undone.access)
                inside = shared if level is None else level
                steady = not depends_on(refined, refined.loops[inside:])
                together = common_loops(refined.loops, undone.access.loops)
                if after and (steady or (level is None and together <= shared)):
                    yield from self.flow.ways.before(refined, access, inside=inside)
                elif level is not None:
                    yield from self.flow.ways.before(refined, access, inside=level + 1)


class _Threat(Struct, frozen=True):
    """A write that may have carried something undefined where it is read."""

    #: that it has not; other symbols in it stand for anything
    demand: Bool
    #: the same, free of other symbols; where not ``exact`` it does not say all
    formula: Bool
    sure: bool
    exact: bool
    blame: Access
