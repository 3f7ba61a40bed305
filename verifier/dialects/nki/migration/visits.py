"""What runs of the kernels of a file know of its calls, and of what they returned.

The description of an instruction says what it returns: its ``result`` is asked once more, with a
symbol for each size of the operands: what it answers is in terms of the arguments.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from verifier.dialects.nki.heard import Heard
from verifier.dialects.nki.results import Shaped
from verifier.hardware import dtypes as dt
from verifier.hardware.memories import Buffer
from verifier.hardware.targets import Target
from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.instruction import Made
from verifier.symbolic.tensors import DType, Operand, View
from verifier.symbolic.trace import Operation
from verifier.symbolic.values import Enumerator
from verifier.symbolic.views.common import product

#: the place of something in a file: path, first and last line and column
Key = tuple[str, int, int, int, int]
#: a size: a number, or that of an axis of an argument, or the product of several
Size = int | tuple[tuple[str, int], ...]
#: whether a condition holds whenever an operation is come by
Holds = Callable[[Bool, Operation], bool]


class Recipe(Struct, frozen=True):
    """What a call returned, in terms of its arguments.

    ``shape``: sizes of axes, a number for none; ``like``: the argument that it has the whole shape
    of; ``asked``: whether an argument is its shape; ``dtype``: the argument that it has the dtype
    of, or ``named``: the dtype.
    """

    shape: tuple[Size, ...]
    like: str
    dtype: str
    named: str
    buffer: Buffer
    asked: bool = False


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
    kept: str | None = None
    #: arguments that are tiles indexed by tiles
    dynamic: tuple[Span, ...] = ()
    #: where arguments are
    buffers: Mapping[str, Buffer] = field(default_factory=dict)
    #: the zeros that it writes are what products of matrices are added to
    summed: bool = False
    #: such a product comes whatever the inputs are
    always: bool = False
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
    #: what says that a result is in private memory
    private: set[Span] = field(default_factory=set)

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
        writers: dict[int, list[Operation]] = {}
        for operation in operations:
            for _, view in operation.writes:
                writers.setdefault(id(view.storage), []).append(operation)
        for operation in operations:
            visit = _Visitor(operation, target, holds, writers).visit()
            self.known.setdefault(key_of(operation.span), []).append(visit)
            for operand in operation.operands.values():
                if operand.view is not None and operand.given:
                    self.tensors.add(key_of(operand.span))

    def at(self, span: Span, *names: str) -> list[Visit]:
        """The operations at a place, all or those of some names."""
        found = self.known.get(key_of(span), [])
        return [each for each in found if not names or each.name in names]


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
            self.kept(tiles),
            tuple(
                operand.span
                for operand in operation.operands.values()
                if operand.view is not None and operand.view.indices
            ),
            {role: view.buffer for role, view in views.items()},
            operation.name == "language.zeros" and self.summed(),
            operation.name == "language.zeros" and self.summed(always=True),
            self.others() if operation.name == "language.zeros" else (),
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
        if tile.buffer is not Buffer.PSUM:
            return False
        for writer in self.writers.get(id(tile.storage), ()):
            if writer.name in ("language.zeros", "isa.nc_matmul"):
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

    def summed(self, *, always: bool = False) -> bool:
        """Whether a matmul adds to all of a tile in PSUM; in every run that makes it, if asked."""
        zeros = self.operation
        tile = zeros.view("dst")
        if tile is None or not self._sum_alone(tile):
            return False
        around = {loop.symbol for loop in zeros.loops}
        for writer in self.writers.get(id(tile.storage), ()):
            target = writer.view("dst")
            if writer is zeros or target is None or writer.order < zeros.order:
                continue
            more = [loop for loop in writer.loops if loop.symbol not in around]
            inside = {loop.within for loop in more}
            path = [test for test in writer.path if test not in zeros.path and test not in inside]
            turns = not always or all(self.holds(E.le(1, loop.trips), zeros) for loop in more)
            whole = self.holds(E.eq(target.elements, tile.elements), zeros)
            if turns and whole and not path:
                return True
        return False

    # -- what was returned -------------------------------------------------------------------------

    def recipe(self) -> Recipe | None:
        """Symbols for sizes that differ wherever they may, else for those that are equal here."""
        return self._recipe(merge=False) or self._recipe(merge=True)

    def _recipe(self, *, merge: bool) -> Recipe | None:
        instruction = self.operation.instruction
        if instruction is None or instruction.result is None:
            return None
        sizes: dict[Expr, Size] = {}
        dtypes: dict[Expr, str] = {}
        operands: dict[str, Operand] = {}
        shapes: dict[str, tuple[Expr, ...]] = {}
        merged: dict[Expr, Expr] = {}
        for role, operand in self.operation.operands.items():
            view = operand.view
            if role in ("dst", "dtype"):
                continue
            if view is not None:
                own = tuple(self._symbol(role, k, size, merged, merge) for k, size in _axes(view))
                shapes[role] = own
                for axis, size in enumerate(own):
                    sizes.setdefault(size, ((role, axis),))
                fresh = E.symbol(f"type of the argument {role}", 0)
                code = merged.setdefault(view.dtype.code, fresh)
                dtypes.setdefault(code, role)
                axes = [replace(a, size=s) for a, s in zip(view.axes, own, strict=True)]
                view = replace(view, axes=tuple(axes), dtype=DType(code))
                operand = replace(operand, value=view)
            operands[role] = operand
        reader = _Reader(self.operation.api, self.target)
        made = instruction.result.of(reader, operands, self.operation.span)
        if made is None:
            return None
        if isinstance(instruction.result, Shaped):
            return Recipe((), "", "", made.dtype.name or "", made.buffer, asked=True)
        return self._told(made, sizes, dtypes, shapes)

    def _symbol(
        self, role: str, axis: int, size: Expr, merged: dict[Expr, Expr], merge: bool
    ) -> Expr:
        if size.is_const and size.const == 1:
            return size
        fresh = E.symbol(f"size {axis} of the argument {role}", 1)
        if merge or not size.is_const:
            return merged.setdefault(size, fresh)
        return fresh

    def _told(
        self,
        made: Made,
        sizes: Mapping[Expr, Size],
        dtypes: Mapping[Expr, str],
        shapes: Mapping[str, tuple[Expr, ...]],
    ) -> Recipe | None:
        known = dict(sizes)
        for role, own in shapes.items():
            for first, last in itertools.combinations(range(1, len(own) + 1), 2):
                total = E.const(1)
                for size in own[first:last]:
                    total = total * size
                known.setdefault(total, tuple((role, k) for k in range(first, last)))
        plain = (o.value for o in self.operation.operands.values() if o.given and o.view is None)
        numbers = [value for value in plain if not isinstance(value, Enumerator)]
        shape: list[Size] = []
        for size in made.shape:
            if size in known:
                shape.append(known[size])
            elif size.is_const and (size.const == 1 or not numbers):  # the instruction's own
                shape.append(size.const)
            else:
                return None
        result = self.operation.view("dst")
        like = next((role for role, own in shapes.items() if own == made.shape), "")
        dtype = dtypes.get(made.dtype.code, "")
        named = made.dtype.name or ("" if result is None else result.dtype.name) or ""
        if result is not None and result.buffer is not made.buffer:
            return None
        return Recipe(tuple(shape), like, dtype, "" if dtype else named, made.buffer)


def _axes(view: View) -> Iterator[tuple[int, Expr]]:
    yield from enumerate(view.shape)


def _extents(view: View) -> list[Expr]:
    return [size for size in view.shape if not (size.is_const and size.const == 1)]


class _Reader(Struct, frozen=True):
    """:class:`verifier.symbolic.instruction.Reader` over values that have been read before."""

    api: str
    target: Target

    def decide(self, condition: Bool) -> bool | None:
        return {E.TRUE: True, E.FALSE: False}.get(condition)

    def as_int(self, value: object, span: Span) -> Expr | None:
        if isinstance(value, Expr):
            return value
        return E.const(value) if type(value) is int else None

    def as_bool(self, value: object, span: Span) -> Bool | None:
        if isinstance(value, bool):
            return E.truth(value)
        return value if isinstance(value, Bool) else None

    def as_items(self, value: object, span: Span) -> tuple[object, ...] | None:
        return value if isinstance(value, tuple) else None

    def as_dtype(self, value: object, span: Span) -> DType | None:
        return value if isinstance(value, DType) else None
