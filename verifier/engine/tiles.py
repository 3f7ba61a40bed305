"""The tiles of a kernel as an editor shows them: where each is made, and where it is used."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from msgspec import Struct, field

from verifier.hardware.catalogue import Hardware
from verifier.hardware.chips import Chip
from verifier.hardware.memories import Buffer
from verifier.hardware.targets import Target
from verifier.report.model import Span, Tile
from verifier.source import ir
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr, Sym
from verifier.symbolic.lanes import LocalTensor
from verifier.symbolic.memory.index import Index, index
from verifier.symbolic.memory.lifetime import Lifetime
from verifier.symbolic.memory.lives import exclusive, lifetimes
from verifier.symbolic.memory.sizes import banks, lane_bytes
from verifier.symbolic.pretty import name as shown
from verifier.symbolic.pretty import pretty
from verifier.symbolic.python.entry import Run
from verifier.symbolic.tensors import DType, Loop, Storage, View
from verifier.symbolic.trace import Operation
from verifier.symbolic.views.common import conjuncts

#: characters of a size, and facts about it, that somebody may read
_LONGEST: Final = 80
_FACTS: Final = 4


def tiles(run: Run, hardware: Hardware) -> tuple[Tile, ...]:
    """The tiles of a run, in the order of the text; of several at one place, the first.

    Shapes are in the kernel's own names. What is live is counted as the rules about capacity do.
    """
    found: dict[tuple[Span, bool], Tile] = {}
    for tile in _Run(run, hardware).tiles():
        found.setdefault((tile.span, tile.use), tile)
    return tuple(sorted(found.values(), key=lambda tile: (tile.span, tile.use)))


class _Range(Struct):
    """What is known about a size: its bounds, and what else is said."""

    low: int | None
    high: int | None
    facts: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        parts = []
        if self.low is not None and self.low == self.high:
            parts.append(f"= {self.low}")
        elif self.low is not None and self.high is not None:
            parts.append(f"{self.low} .. {self.high}")
        elif self.low is not None:
            parts.append(f">= {self.low}")
        elif self.high is not None:
            parts.append(f"<= {self.high}")
        parts += [f"`{fact}`" for fact in self.facts[:_FACTS]]
        return ", ".join(parts)


class _Run:
    def __init__(self, run: Run, hardware: Hardware) -> None:
        self._run = run
        self._hardware = hardware
        self._table: Index = index(run.trace)
        self._ranges: dict[Sym, _Range] = {}
        self._bounded: E.Substitution | None = None
        self._pinned = E.Substitution({})
        self._lives: dict[Buffer, list[Lifetime]] = {}
        self._texts: dict[Expr, str] = {}
        for item in run.trace.assumptions:
            for fact in conjuncts(item.condition):
                self._learn(fact, item.text)
        self._pinned = E.Substitution(
            {
                symbol: E.const(known.low)
                for symbol, known in self._ranges.items()
                if known.low is not None and known.low == known.high and symbol.domain is None
            }
        )

    def tiles(self) -> Iterable[Tile]:
        trace = self._run.trace
        for storage in trace.storages:
            yield self._made(storage)
        seen: set[ir.Span] = set()
        for operation in trace.operations:
            for operand in operation.operands.values():
                view = operand.view
                if view is not None and operand.given and operand.span not in seen:
                    seen.add(operand.span)
                    yield self._used(operation, operand.span, view)
            for touch in operation.touches:
                span = operation.span_of(touch.role)
                if isinstance(touch.tensor, LocalTensor) and span not in seen:
                    seen.add(span)
                    yield self._addressed(operation, touch.role, span, touch.tensor)

    # ----------------------------------------------------------------- one tile

    def _made(self, storage: Storage) -> Tile:
        life = next((x for x in self._of(storage.buffer) if x.storage is storage), None)
        point = storage.order if life is None else life.first
        size = self._size(storage)
        return Tile(
            span=_span(storage.span),
            name=storage.name,
            shape=tuple(map(self._text, storage.shape)),
            dtype=self._dtype(storage.dtype),
            buffer=storage.buffer.value,
            bytes_per_partition="" if size is None else self._quantity(size),
            live=self._live(storage.buffer, point, storage.path),
            known=self._known((*storage.shape, storage.dtype.code), storage.loops),
        )

    def _used(self, operation: Operation, span: ir.Span, view: View) -> Tile:
        size = view.free_bytes if view.buffer in (Buffer.SBUF, Buffer.PSUM) else None
        return Tile(
            span=_span(span),
            name=view.name,
            shape=tuple(map(self._text, view.shape)),
            dtype=self._dtype(view.dtype),
            buffer=view.buffer.value,
            bytes_per_partition="" if size is None else self._quantity(size),
            live=self._live(view.buffer, operation.order, operation.path),
            known=self._known((*view.shape, view.dtype.code), operation.loops),
            use=True,
        )

    def _addressed(
        self, operation: Operation, role: str, span: ir.Span, tensor: LocalTensor
    ) -> Tile:
        return Tile(
            span=_span(span),
            name=role,
            shape=tuple(map(self._text, tensor.shape)),
            dtype=self._dtype(tensor.dtype),
            buffer=Buffer.LOCAL.value,
            known=(
                ("address", self._text(tensor.address)),
                ("strides", ", ".join(map(self._text, tensor.strides))),
                *self._known(tensor.shape, operation.loops),
            ),
            use=True,
        )

    # ----------------------------------------------------------------- memory

    def _of(self, buffer: Buffer) -> list[Lifetime]:
        if not buffer.on_chip:
            return []
        if buffer not in self._lives:
            self._lives[buffer] = lifetimes(self._table, buffer)
        return self._lives[buffer]

    def _size(self, storage: Storage) -> Expr | None:
        """Bytes per partition, or per lane."""
        if storage.buffer in (Buffer.SBUF, Buffer.PSUM):
            return storage.bytes_per_partition
        if storage.buffer is Buffer.LOCAL and isinstance(self._hardware, Chip):
            return lane_bytes(self._hardware, storage) if len(storage.shape) == 4 else None
        return None

    def _live(self, buffer: Buffer, point: int, path: tuple[Bool, ...]) -> str:
        """What is live at a point of program order, and how much of it there is."""
        live = [
            life
            for life in self._of(buffer)
            if not exclusive(life.path, path) and E.FALSE not in (life.at(point), life.held(point))
        ]
        if not live:
            return ""
        hardware = self._hardware
        if buffer is Buffer.PSUM and isinstance(hardware, Target):
            sizes = [banks(life.storage, hardware) * life.copies for life in live]
            most, unit = hardware.psum_banks, "banks of PSUM"
        else:
            known = [(self._size(life.storage), life.copies) for life in live]
            sizes = [size * copies for size, copies in known if size is not None]
            if isinstance(hardware, Target):
                most, unit = hardware.sbuf_usable_bytes, "bytes per partition of SBUF"
            else:
                most, unit = hardware.local_bytes, "bytes per lane"
        total = E.const(0)
        for size in sizes:
            total = total + size
        tiles_ = "1 tile" if len(live) == 1 else f"{len(live)} tiles"
        return f"{self._quantity(total)} of {most} {unit}, in {tiles_}"

    # ----------------------------------------------------------------- words

    def _text(self, size: Expr, longest: int = _LONGEST) -> str:
        found = self._texts.get(size)
        if found is None:
            found = self._texts[size] = pretty(self._pinned.expr(size))
        return found if len(found) <= longest else "..."

    def _dtype(self, dtype: DType) -> str:
        return dtype.name or self._text(dtype.code)

    def _quantity(self, size: Expr) -> str:
        """A size, and the most that it can be."""
        size = self._pinned.expr(size)
        if size.is_const:
            return str(size.const)
        _, high = E.bounds(self._within.expr(size))
        text = self._text(size, 2 * _LONGEST)
        return text if high is None else f"{text} (at most {high})"

    @property
    def _within(self) -> E.Substitution:
        """Symbols with the bounds that the kernel demands."""
        if self._bounded is None:
            narrowed: dict[Sym, Expr] = {
                symbol: E.symbol(
                    f"{symbol.name} in {known.low} .. {known.high}", known.low, known.high
                )
                for symbol, known in self._ranges.items()
                if known.low is not None and known.high is not None and symbol.domain is None
            }
            self._bounded = E.Substitution(narrowed)
        return self._bounded

    def _range(self, symbol: Sym) -> _Range:
        found = self._ranges.get(symbol)
        if found is None:
            found = self._ranges[symbol] = _Range(symbol.lo, symbol.hi)
        return found

    def _learn(self, fact: Bool, text: str) -> None:
        """A bound of one symbol narrows it; anything else is said of each symbol in it."""
        term = fact.expr
        if (
            term is not None
            and fact.kind in (E.BoolKind.LE, E.BoolKind.EQ)
            and len(term.terms) == 1
        ):
            (mono, factor) = term.terms[0]
            if len(mono) == 1 and isinstance(mono[0], Sym):
                known = self._range(mono[0])
                if factor > 0 or (fact.kind is E.BoolKind.EQ and term.const % factor == 0):
                    high = -term.const // factor
                    known.high = high if known.high is None else min(known.high, high)
                if factor < 0 or (fact.kind is E.BoolKind.EQ and term.const % factor == 0):
                    low = -(term.const // factor)
                    known.low = low if known.low is None else max(known.low, low)
                return
        words = pretty(fact)
        if len(words) > _LONGEST:
            words = text
        for symbol in fact.free():
            known = self._range(symbol)
            if words and len(words) <= _LONGEST and words not in known.facts:
                known.facts.append(words)

    def _known(self, sizes: Sequence[Expr], loops: Sequence[Loop]) -> tuple[tuple[str, str], ...]:
        out: dict[str, str] = {}
        indices = {loop.symbol: loop for loop in (*self._run.trace.grid, *loops)}
        for size in sizes:
            for symbol in size.free():
                loop = indices.get(symbol)
                if loop is not None:
                    out.setdefault(shown(symbol), f"0 .. {self._text(loop.trips - 1)}")
                elif symbol.domain is not None:
                    out.setdefault(shown(symbol), " or ".join(symbol.domain[:_FACTS]))
                else:
                    text = str(self._range(symbol))
                    if text:
                        out.setdefault(shown(symbol), text)
        return tuple(out.items())


def _span(place: ir.Span) -> Span:
    return Span(place.path, place.line, place.column, place.end_line, place.end_column)
