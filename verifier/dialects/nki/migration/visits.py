"""What runs of the kernels of a file know of its calls, and of what they returned."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final

from msgspec import Struct, field

from verifier.dialects.nki.heard import Heard
from verifier.dialects.nki.migration.recipes import Asked, Reading, Recipe
from verifier.hardware import dtypes as dt
from verifier.hardware.memories import Buffer
from verifier.hardware.targets import TARGETS, Target
from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.regions import coverage, point
from verifier.symbolic.tensors import DType, Operand, View
from verifier.symbolic.trace import Assumption, Operation
from verifier.symbolic.values import Enumerator
from verifier.symbolic.views.common import product, whole_of

#: the place of something in a file: path, first and last line and column
Key = tuple[str, int, int, int, int]
#: whether a condition holds whenever an operation is come by
Holds = Callable[[Bool, Operation], bool]


#: whether some conditions imply another one
Decide = Callable[[tuple[Bool, ...], Bool], "bool | None"]

_ONE: Final = (E.const(1),)
#: the sizes of a grid: of its axes, and how many these are
_SIZES: Final = ("num_programs(", "program_ndim(")


class Stored(Struct, frozen=True):
    """A store into a part of a tile: ``fits``: all axes are as long as those of the value;
    ``exact``: it holds the value bit by bit; ``sum_alone``: nothing but zeros and products of
    matrices is ever written to the tile."""

    buffer: Buffer
    value: Buffer | None
    rank: int
    fits: bool
    same_rank: bool
    same_type: bool
    exact: bool
    sum_alone: bool


class Visit(Struct, frozen=True):
    """What a run says of an operation.

    ``recipe``: of what it returned. ``alike``: its tiles have one shape. ``kept``: the dtype that
    a function of the same name has to be asked for; None: the one that it has, empty: not known.
    """

    name: str
    text: str
    ranks: Mapping[str, int]
    recipe: Recipe | None = None
    stored: Stored | None = None
    alike: bool = False
    #: the one of its two tiles that has the result's axes, the other one columns for some of them
    shaped: str = ""
    kept: str | None = None
    #: arguments that are tiles indexed by tiles
    dynamic: tuple[Span, ...] = ()
    #: where arguments are
    buffers: Mapping[str, Buffer] = field(default_factory=dict)
    #: the zeros that it writes are what products of matrices are added to
    summed: bool = False
    #: such a product comes whatever the inputs are
    always: bool = False
    #: some of them are told to add, the first one included
    told: bool = False
    #: where all that is written to such a tile is written
    writers: tuple[Span, ...] = ()
    #: what it writes holds integers
    integers: bool = False
    #: what it reads is one column of a tensor of two axes
    column: bool = False
    #: of a reduction: its result has the size that comes of the last axis, and of no other
    of_last: bool = False
    #: who runs it is not who it asks for
    elsewhere: bool = False


class Said(Struct, frozen=True):
    """A call as it was bound: the function, and where each argument stands and what is known of it
    (numbers, texts and members)."""

    name: str
    args: tuple[tuple[Span, tuple[object, ...]], ...]
    keywords: tuple[tuple[str, tuple[Span, tuple[object, ...]]], ...]


class Visits(Struct):
    """What is known of the operations at each place."""

    known: dict[Key, list[Visit]] = field(default_factory=dict)
    #: the places of all arguments that are tensors
    tensors: set[Key] = field(default_factory=set)
    #: the calls of functions of the API at each place, as they were bound
    calls: dict[Key, list[Said]] = field(default_factory=dict)
    #: what each argument was, as far as it is known
    given: dict[Key, list[object]] = field(default_factory=dict)
    #: the conditions of loops that go on while a register says so
    loops: dict[Key, Span] = field(default_factory=dict)
    #: how many axes each argument has that is a tensor
    ranks: dict[Key, set[int]] = field(default_factory=dict)
    #: what says that a result is in private memory
    private: set[Span] = field(default_factory=set)
    #: what the kernels are run for, if one is
    target: Target | None = None
    #: what is made of kernels before they are called
    launches: set[ast.expr] = field(default_factory=set)
    #: where a kernel asks for more programs than there are cores
    grids: set[Span] = field(default_factory=set)

    @property
    def cores(self) -> int:
        """On so many a kernel is launched at most."""
        known = TARGETS.values() if self.target is None else (self.target,)
        return max(target.lnc_max for target in known)

    def demands(self, assumptions: Iterable[Assumption], decide: Decide) -> None:
        """What a kernel asks for, as far as it is about the grid."""
        for assumption in assumptions:
            sizes = [s for s in assumption.condition.free() if s.name.startswith(_SIZES)]
            wanted = assumption.span is not None and [
                size
                for size in sizes
                if decide((assumption.condition,), E.lt(self._least(size), E.from_atom(size)))
            ]
            if wanted and assumption.span is not None:
                self.grids.add(assumption.span)

    def _least(self, size: E.Sym) -> Expr:
        return E.const(1 if size.name.startswith(_SIZES[1]) else self.cores)

    def hear(self, heard: Heard, returns: Iterable[View]) -> None:
        """What a run has come by, and what it returned."""
        for view in returns:
            span = view.storage.argument_spans.get("buffer")
            if span is not None and view.storage.buffer is Buffer.HBM:
                self.private.add(span)
        for name, call in heard.calls:
            said = Said(
                name,
                tuple((arg.span, _known(arg.value)) for arg in call.args),
                tuple((word, (arg.span, _known(arg.value))) for word, arg in call.keywords.items()),
            )
            each = self.calls.setdefault(key_of(call.span), [])
            if said not in each:
                each.append(said)
            for span, known in (*said.args, *(given for _, given in said.keywords)):
                values = self.given.setdefault(key_of(span), [])
                values += [value for value in known if value not in values]
        self.loops.update((key_of(span), span) for span in heard.loops)

    def said(self, span: Span) -> list[Said]:
        """The calls at a place."""
        return self.calls.get(key_of(span), [])

    def foreign(self) -> Iterator[tuple[Span, str]]:
        """Where operators of other libraries are given, and what they are called here."""
        for said in (each for calls in self.calls.values() for each in calls):
            for span, known in (*said.args, *(given for _, given in said.keywords)):
                for value in known:
                    if isinstance(value, Enumerator) and value.library:
                        yield span, value.written or value.name

    def values(self, span: Span) -> tuple[object, ...]:
        """What the argument at a place was."""
        return tuple(self.given.get(key_of(span), ()))

    def add(self, operations: Sequence[Operation], target: Target, holds: Holds) -> None:
        """The operations of one run, while its terms are good."""
        self.target = target
        writers: dict[int, list[Operation]] = {}
        for operation in operations:
            for _, view in operation.writes:
                writers.setdefault(id(view.storage), []).append(operation)
        for operation in (*operations, *_unsaid(operations, writers)):
            visit = _Visitor(operation, target, holds, writers).visit()
            self.known.setdefault(key_of(operation.span), []).append(visit)
            for operand in operation.operands.values():
                if operand.view is not None and operand.given:
                    self.tensors.add(key_of(operand.span))
                    self.ranks.setdefault(key_of(operand.span), set()).add(operand.view.rank)

    def at(self, span: Span, *names: str) -> list[Visit]:
        """The operations at a place, all or those of some names."""
        found = self.known.get(key_of(span), [])
        return [each for each in found if not names or each.name in names]


def _unsaid(
    operations: Sequence[Operation], writers: Mapping[int, list[Operation]]
) -> Iterator[Operation]:
    """Zeros that are no operations of their own: those of blocks of partitions."""
    seen: set[int] = set()
    for operation in operations:
        for _, view in operation.writes:
            storage = view.storage
            call = storage.argument_spans.get("call")
            if id(storage) in seen or not storage.initialised or call is None:
                continue
            seen.add(id(storage))
            if not any(_clears(each) for each in writers[id(storage)]):
                instance = tuple(loop.index for loop in storage.loops)
                made = whole_of(storage, instance)
                dst = Operand("dst", made, call, given=False)
                yield Operation(
                    name="language.zeros",
                    operands={"dst": dst},
                    span=call,
                    generation=operation.generation,
                    capabilities=operation.capabilities,
                    loops=storage.loops,
                    path=storage.path,
                    order=storage.order,
                    writes=(("dst", made),),
                )


def key_of(span: Span) -> Key:
    return span.path, span.line, span.column, span.end_line, span.end_column


def _known(value: object) -> tuple[object, ...]:
    """What an argument is, if it is a number, a text or a member of an enumeration."""
    if isinstance(value, Expr) and value.is_const:
        value = value.const
    return (value,) if isinstance(value, (int, float, str, Enumerator)) else ()


# ----------------------------------------------------------------------------- runs


class _Visitor(Struct, frozen=True):
    operation: Operation
    target: Target
    holds: Holds
    writers: Mapping[int, list[Operation]]

    def visit(self) -> Visit:
        operation = self.operation
        views = {role: o.view for role, o in operation.operands.items() if o.view is not None}
        dst = operation.operands.get("dst")
        returned = dst is not None and not dst.given and "dst" in views
        tiles = [view for role in ("x", "y") if (view := views.get(role)) is not None]
        return Visit(
            operation.name,
            operation.call_text,
            {role: view.rank for role, view in views.items()},
            self.recipe() if returned else None,
            self.stored() if operation.name in ("language.assign", "language.fill") else None,
            all(self.equal(tiles[0], view) for view in tiles[1:]),
            self.shaped(),
            self.kept(tiles),
            tuple(
                operand.span
                for operand in operation.operands.values()
                if operand.view is not None and operand.view.indices
            ),
            {role: view.buffer for role, view in views.items()},
            self.summed(),
            self.always(),
            self.told(),
            self.others() if _clears(operation) else (),
            self.integers(),
            operation.name == "language.load" and self.column(),
            operation.name == "isa.tensor_reduce" and self.of_last(),
            self.elsewhere(),
        )

    def elsewhere(self) -> bool:
        asked = self.operation.value("engine")
        named = asked.name if isinstance(asked, Enumerator) else None
        return named != self.operation.engine.value

    def of_last(self) -> bool:
        """Whether the result of a reduction is as large as without the last axis alone."""
        data, dst = self.operation.view("data"), self.operation.view("dst")
        if data is None or dst is None:
            return False
        sizes = data.shape[1:]
        kept = [product([*sizes[:k], *sizes[k + 1 :]]) for k in range(len(sizes))]
        fits = [self.holds(E.eq(dst.free, each), self.operation) for each in kept]
        return fits[-1:] == [True] and not any(fits[:-1])

    def shaped(self) -> str:
        """Which tile the other one is repeated to fit, along free axes."""
        views = [self.operation.view(role) for role in ("x", "y", "dst")]
        if any(view is None for view in views):
            return ""
        x, y, made = (view for view in views if view is not None)
        for role, whole, part in (("x", x, y), ("y", y, x)):
            fits = whole.rank == part.rank == made.rank and self.equal(whole, made)
            sizes = zip(whole.shape[1:], part.shape[1:], strict=fits)
            if fits and self._sizes(whole.shape[:1], part.shape[:1]):
                if all(self._sizes((b,), (a,)) or self._sizes((b,), _ONE) for a, b in sizes):
                    return role
        return ""

    def equal(self, one: View, other: View) -> bool:
        return one.rank == other.rank and self._sizes(one.shape, other.shape)

    def _sizes(self, one: Sequence[Expr], other: Sequence[Expr]) -> bool:
        return len(one) == len(other) and all(
            self.holds(E.eq(a, b), self.operation) for a, b in zip(one, other, strict=True)
        )

    def _same(self, one: DType, other: DType) -> bool:
        return self.holds(one.same(other), self.operation)

    def kept(self, tiles: Sequence[View]) -> str | None:
        made = self.operation.view("dst")
        if made is None or not tiles:
            return ""
        return None if self._same(made.dtype, tiles[0].dtype) else made.dtype.name or ""

    def stored(self) -> Stored | None:
        tile, value = self.operation.view("dst"), self.operation.view("value")
        if tile is None:
            return None
        if value is None:
            return Stored(tile.buffer, None, tile.rank, True, True, False, False, False)
        same = self._same(tile.dtype, value.dtype)
        return Stored(
            tile.buffer,
            value.buffer,
            tile.rank,
            self._sizes(_extents(tile), _extents(value)),
            tile.rank == value.rank,
            same,
            (same or value.dtype.name == "float32") and tile.buffer is value.buffer,
            self._sum_alone(tile),
        )

    def _sum_alone(self, tile: View) -> bool:
        """Whether nothing but zeros and products of matrices is ever written to a tile in PSUM."""
        if tile.buffer is not Buffer.PSUM:
            return False
        for writer in self.writers.get(id(tile.storage), ()):
            if writer.name == "isa.nc_matmul" or _clears(writer):
                continue
            value = writer.view("value")
            made = [] if value is None else self.writers.get(id(value.storage), [])
            products = bool(made) and all(each.name == "isa.nc_matmul" for each in made)
            if writer.name != "language.assign" or not products:
                return False
        return True

    def integers(self) -> bool:
        made = self.operation.view("dst")
        return made is not None and dt.DTYPES.get(made.dtype.name or "", (0, ""))[1] == "int"

    def column(self) -> bool:
        source = self.operation.view("src")
        if source is None or source.rank != len(source.frame) or source.rank != 2:
            return False
        return source.shape[1].is_const and source.shape[1].const == 1

    def others(self) -> tuple[Span, ...]:
        """Where else something is written to what it writes to."""
        tile = self.operation.view("dst")
        found = [] if tile is None else self.writers.get(id(tile.storage), [])
        return tuple(each.span for each in found if each is not self.operation)

    def summed(self) -> bool:
        """Whether it clears a tile in PSUM that products of matrices are added to after it."""
        tile = self.operation.view("dst")
        return tile is not None and _clears(self.operation) and bool(self._products(tile))

    def told(self) -> bool:
        tile = self.operation.view("dst")
        return tile is not None and any(map(_told_to_add, self._products(tile)))

    def always(self) -> bool:
        """Whether such products are added to all that it clears, in every run that comes by it, and
        nothing else is written there."""
        zeros = self.operation
        tile = zeros.view("dst")
        if tile is None or not _clears(zeros) or self.told() or not self._sum_alone(tile):
            return False
        around = {loop.symbol for loop in zeros.loops}
        at, inside_of = point(tile.frame)
        mine, _ = coverage(tile, at, (), ())
        covered: list[Bool] = []
        for writer in self._products(tile):
            view = writer.view("dst")
            assert view is not None
            more = [loop for loop in writer.loops if loop.symbol not in around]
            inside = {loop.within for loop in more}
            path = [test for test in writer.path if test not in zeros.path and test not in inside]
            if path or view.frame != tile.frame:
                continue
            formula, _ = coverage(view, at, more, ())
            covered.append(formula)
        return self.holds(E.or_(E.not_(inside_of), E.not_(mine), *covered), zeros)

    def _products(self, tile: View) -> list[Operation]:
        """The products that are added to a tile in PSUM after the operation."""
        if tile.buffer is not Buffer.PSUM:
            return []
        found: list[Operation] = []
        for writer in self.writers.get(id(tile.storage), ()):
            value = writer.view("value")
            made = [writer] if value is None else self.writers.get(id(value.storage), [])
            product = bool(made) and all(each.name == "isa.nc_matmul" for each in made)
            adds = all(_told_to_add(each) is not False for each in made)
            later = writer.order > self.operation.order
            if product and adds and later and writer.view("dst") is not None:
                found.append(writer)
        return found

    # -- what was returned -------------------------------------------------------------------------

    def recipe(self) -> Recipe | None:
        operation = self.operation
        if operation.instruction is None:
            return None
        reader = Reading(operation.api, self.target)
        result = operation.view("dst")
        asked = Asked(operation.instruction, operation.operands, reader, operation.span, result)
        return asked.recipe(lambda a, b: self.holds(E.eq(a, b), operation))


def _clears(operation: Operation) -> bool:
    """Whether an operation writes zeros, and nothing else."""
    if operation.name == "language.zeros":
        return True
    filling = ("language.full", "language.fill", "isa.memset")
    return operation.name in filling and any(
        (isinstance(value, Expr) and value.is_const and value.const == 0)
        or (isinstance(value, (int, float)) and not isinstance(value, bool) and value == 0)
        for role in ("value", "fill_value")
        if (operand := operation.operands.get(role)) is not None
        for value in (operand.value,)
    )


def _told_to_add(operation: Operation) -> bool | None:
    """Whether a product is told to add, or not, or sometimes; None: it is told nothing."""
    operand = operation.operands.get("accumulate")
    value = None if operand is None else operand.value
    return None if value is None else value is True or value is E.TRUE


def _extents(view: View) -> list[Expr]:
    return [size for size in view.shape if not (size.is_const and size.const == 1)]
