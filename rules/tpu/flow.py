"""Who touches local memory, in program order, and which iterations come before which."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from rules.memory.cases import common_loops
from rules.tpu import kit
from verifier.hardware.chips import Chip
from verifier.layouts.strides import WORD_BYTES
from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.instruction import Trait
from verifier.symbolic.lanes import LocalTensor, Quad, Touch
from verifier.symbolic.memory.lives import exclusive
from verifier.symbolic.roles import Placed
from verifier.symbolic.tensors import Loop
from verifier.symbolic.trace import Operation, Trace


class Use(Struct, frozen=True, eq=False):
    """One operand in local memory that an operation reads, writes, or both."""

    operation: Operation
    touch: Touch
    tensor: LocalTensor

    @property
    def order(self) -> int:
        return self.operation.order

    @property
    def loops(self) -> tuple[Loop, ...]:
        return self.operation.loops

    @property
    def path(self) -> tuple[Bool, ...]:
        return self.operation.path

    @property
    def span(self) -> Span:
        return kit.span_of(self.operation, self.touch.role)

    @property
    def within(self) -> tuple[Bool, ...]:
        """The ranges of the loops around it."""
        return within(self.loops)

    @property
    def taken(self) -> LocalTensor:
        """What it takes of the tensor: a matrix may have fewer columns than a channel has room."""
        placed = self._placed
        columns = self.operation.value(placed.columns) if placed and placed.columns else None
        n, c, h, w = self.tensor.shape
        if not isinstance(columns, Expr) or E.le(w, columns) is E.TRUE:
            return self.tensor
        return replace(self.tensor, shape=(n, c, h, E.minimum(w, columns)))

    def taken_of(self, index: Quad, half: Expr) -> tuple[Bool, ...]:
        """That it takes an element of the tensor; ``half``: which part of its bytes is meant."""
        placed = self._placed
        n, c, _, w = index
        if placed is not None and placed.columns:
            columns = self.operation.value(placed.columns)
            if isinstance(columns, Expr):
                return (E.lt(c * self.tensor.shape[3] + w, columns),)
        if placed is not None and placed.layout == "2ic":
            image = kit.record(self.operation, "input_shape")
            if image is not None:
                return (E.lt(n * 2 + half, image[1]),)
        part = self.part(index)
        return () if part is None or part is E.TRUE else (part,)

    def part(self, index: Quad) -> Bool | None:
        """The part of what it reads that the description says, as of an element: an image may have
        rows that lie in no window. None: it may be any."""
        found: list[Bool | None] = []
        if self.touch.reads and not self.touch.writes:
            entries = kit.described(self.operation).footprint.reads_of(self.touch.role)
            found = [entry.where.holds(self.operation, index) for entry in entries]
        known = [part for part in found if part is not None]
        return None if len(known) < len(found) else E.or_(*known) if known else E.TRUE

    @property
    def whole(self) -> Bool:
        """When it takes all of its tensor: what it takes of the last element it takes of each."""
        n, c, h, w = (size - 1 for size in self.tensor.shape)
        return E.and_(*self.taken_of((n, c, h, w), E.const(1)))

    def end(self, chip: Chip) -> Expr:
        """The byte behind the last one that it takes in a lane, of one without negative strides.

        Weights of two input channels lie in pairs: of an odd number the last one lies alone.
        """
        end = kit.block(chip, self.taken).end
        placed = self._placed
        image = kit.record(self.operation, "input_shape")
        if placed is None or placed.layout != "2ic" or image is None:
            return end
        behind = E.or_(E.ge(self.tensor.strides[0], 1), E.le(self.tensor.shape[0], 1))
        alone = E.and_(E.eq(E.mod(image[1], 2), 1), behind)
        return end - E.ite(alone, WORD_BYTES, 0)

    @property
    def _placed(self) -> Placed | None:
        role = kit.described(self.operation).role(self.touch.role)
        return role.placed if role is not None else None


class Uses(Struct, frozen=True):
    """The uses of a trace, each list in program order."""

    reads: list[Use] = field(default_factory=list)
    writes: list[Use] = field(default_factory=list)
    #: uses that leave nothing of meaning: work tensors
    destroyed: list[Use] = field(default_factory=list)


class Instance(Struct, frozen=True):
    """A use in some iteration: the tensor then, and what holds of the iteration."""

    use: Use
    tensor: LocalTensor
    facts: tuple[Bool, ...]


_last: tuple[Trace, int, Uses] | None = None


def uses(trace: Trace) -> Uses:
    """The uses of local memory. The trace asked for last is kept: rules run one after another."""
    global _last
    if _last is None or _last[0] is not trace or _last[1] != len(trace.operations):
        out = Uses()
        for op in sorted(trace.operations, key=lambda op: op.order):
            for touch in op.touches:
                if isinstance(touch.tensor, LocalTensor):
                    use = Use(op, touch, touch.tensor)
                    if touch.reads:
                        out.reads.append(use)
                    if touch.writes:
                        (out.destroyed if touch.destroys else out.writes).append(use)
        _last = (trace, len(trace.operations), out)
    return _last[2]


def within(loops: Sequence[Loop]) -> tuple[Bool, ...]:
    return tuple(loop.within for loop in loops if loop.within is not E.TRUE)


def fresh(use: Use | Operation, kept: int) -> tuple[E.Substitution, list[Loop]]:
    """New indices for all but the outermost ``kept`` loops, and the loops that got them."""
    table: dict[E.Sym, E.Expr] = {}
    for loop in use.loops[kept:]:
        table[loop.symbol] = E.fresh(loop.name or "i", 0, loop.symbol.hi, E.Origin.LOOP)
    return E.Substitution(table), list(use.loops[kept:])


def extents(put: E.Substitution, loops: Sequence[Loop]) -> list[tuple[E.Sym, E.Expr]]:
    """The new indices of loops, and how many values each has."""
    found: list[tuple[E.Sym, E.Expr]] = []
    for loop in loops:
        symbol = put.expr(loop.index).as_atom()
        assert isinstance(symbol, E.Sym)
        found.append((symbol, put.expr(loop.trips)))
    return found


def at(use: Use, put: E.Substitution, *facts: Bool) -> Instance | None:
    """The use in the iteration that a substitution names; None if there is none."""
    held = [put.bool(fact) for fact in (*use.path, *use.within)]
    held += [E.ge(put.expr(loop.index), 0) for loop in use.loops]
    held += facts
    kept = tuple(fact for fact in dict.fromkeys(held) if fact is not E.TRUE)
    if any(fact is E.FALSE for fact in kept):
        return None
    return Instance(use, use.tensor.at(put), kept)


def reaches(write: Use, read: Use) -> Bool:
    """When a write whose tensor has all elements of a read's takes all of them that the read does:
    all of its tensor, or as much of the same one."""
    whole = write.whole
    if whole is E.TRUE or not kit.same_place(write.tensor, read.tensor):
        return whole
    n, c, h, w, half = (E.fresh(name, 0) for name in ("n", "c", "h", "w", "half"))
    wrote, wanted = (use.taken_of((n, c, h, w), half) for use in (write, read))
    inside = {loop.symbol for loop in write.loops}
    fixed = not any(symbol in inside for fact in wrote for symbol in fact.free())
    return E.TRUE if fixed and set(wrote) <= set(wanted) else whole


def anywhere(use: Use, kept: int) -> Instance | None:
    """The use in any iteration of all but the outermost ``kept`` loops."""
    put, _ = fresh(use, kept)
    return at(use, put)


def earlier(use: Use, later: Use, kept: int, beside: bool = False) -> Iterator[Instance]:
    """The ways in which a use comes before another, in one iteration of the outer ``kept`` loops:
    in the same iteration of what they share, or in an earlier one of a loop.

    ``beside``: nothing orders the two in the same iteration.
    """
    common = common_loops(use.loops, later.loops)
    if use.order < later.order and not beside and not exclusive(use.path, later.path):
        found = anywhere(use, common)
        if found is not None:
            yield found
    for level in range(kept, common):
        put, loops = fresh(use, level)
        found = at(use, put, E.lt(put.expr(loops[0].index), loops[0].index))
        if found is not None:
            yield found


def back(loops: Sequence[Loop], position: int, age: int) -> E.Substitution:
    """``age`` iterations ago of one loop."""
    loop = loops[position]
    return E.Substitution({loop.symbol: loop.index - age})


# ----------------------------------------------------------------------------- sections


def in_order(trace: Trace) -> list[Operation]:
    return sorted(trace.operations, key=lambda op: op.order)


class Section(Struct, frozen=True):
    """A parallel section: the operations from its start to its end.

    Where the end is reached in the next iteration of the loop that the start is in, or behind it,
    ``next`` has the operations of that iteration up to the end.
    """

    start: Operation
    inside: list[Operation]
    next: list[Operation]

    def all(self) -> list[tuple[Operation, bool]]:
        """Every operation, and whether it is of the next iteration."""
        return [*((op, False) for op in self.inside), *((op, True) for op in self.next)]

    def instance(self, use: Use, shifted: bool, rename: bool) -> Instance | None:
        """The operand in a section that starts in some iteration of the loops around the start;
        what the section repeats is in any iteration (``rename``: of indices of its own)."""
        outer = self.start.loops
        depth = min(len(outer), common_loops(use.loops, outer))
        table: dict[E.Sym, E.Expr] = {}
        if rename:
            for loop in use.loops[depth:]:
                table[loop.symbol] = E.fresh(loop.name or "i", 0, loop.symbol.hi, E.Origin.LOOP)
        facts: list[Bool] = []
        if shifted:
            last = outer[-1]
            table[last.symbol] = last.index + 1
        else:  # behind a loop: the section was started in its last iteration
            facts += [E.eq(loop.index, loop.trips - 1) for loop in outer[depth:]]
        return at(use, E.Substitution(table), *facts)


def from_whole_sections(trace: Trace) -> list[Operation]:
    """The operations behind the end of a section whose start is not among them."""
    ops = in_order(trace)
    for position, op in enumerate(ops):
        if Trait.STARTS_PARALLEL in op.traits:
            break
        if Trait.ENDS_PARALLEL in op.traits:
            return ops[position + 1 :]
    return ops


def sections(trace: Trace) -> Iterator[Section]:
    """The parallel sections, each with what its loops repeat."""
    ops = in_order(trace)
    for position, start in enumerate(ops):
        if Trait.STARTS_PARALLEL not in start.traits:
            continue
        inside: list[Operation] = []
        end: Operation | None = None
        for op in ops[position + 1 :]:
            if Trait.ENDS_PARALLEL in op.traits:
                end = op
                break
            inside.append(op)
        loops = start.loops
        around = (
            [] if end is not None and common_loops(end.loops, loops) == len(loops) else loops[-1:]
        )
        following: list[Operation] = []
        for op in ops[:position] if around else ():
            if common_loops(op.loops, loops) < len(loops):
                continue
            if Trait.ENDS_PARALLEL in op.traits:
                break
            following.append(op)
        else:
            following = []  # no end in the loop: the section just goes on
        yield Section(start, inside, following)
