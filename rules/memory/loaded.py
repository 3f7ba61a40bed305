"""What tiles are loaded with: from where, by what, and whether something else brings it as well."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from rules.memory.cases import Copy, common_loops, copy, covered
from rules.memory.places import put_in
from verifier.hardware.memories import Buffer
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr, Sym
from verifier.symbolic.memory.content import moved
from verifier.symbolic.memory.index import Access, Index, tensor
from verifier.symbolic.memory.known import Known
from verifier.symbolic.tensors import Loop, LoopKind, StorageKind, View
from verifier.symbolic.trace import Operation


class Load(Struct, frozen=True):
    """``write``: where it comes to a tile. ``operation`` brings it, from the part ``source`` of a
    tensor off chip."""

    write: Access
    operation: Operation
    source: View


def load_of(write: Access, table: Index) -> Load | None:
    """The load by which a tile gets what is written to it, at once or as the value of a call; None:
    it is none."""
    operation = write.operation
    role = moved(operation)
    source = None if role is None else operation.view(role)
    if source is None or write.view.buffer is not Buffer.SBUF:
        return None
    if source.buffer.off_chip:
        return Load(write, operation, source)
    uses = table.uses(source.storage)
    if source.storage.kind is not StorageKind.RESULT or len(uses.writes) != 1:
        return None
    made = uses.writes[0]
    if made.loops != write.loops or made.path != write.path:
        return None
    found = load_of(made, table)
    return None if found is None else replace(found, write=write)


def brought_again(load: Load, way: Copy, level: int, table: Index) -> Bool:
    """When something else brings the element of a load that the axes of its source name, too.

    ``way``: the load as it is looked at, in one iteration of the outermost ``level`` loops.
    """
    loops, at = load.write.loops, way.at
    put = E.Substitution(
        {loop.symbol: index for loop, index in zip(loops[level:], at, strict=True)}
    )
    source = put_in(load.source, put)
    if not source.exact or source.indirect:
        return E.TRUE
    here = (*(loop.index for loop in loops[:level]), *at)
    ways: list[Copy] = []
    for read in table.uses(source.storage).reads:
        if not (read.view.exact and not read.view.indirect):
            return E.TRUE
        if read.operation is load.operation:
            ways += _otherwise(read, here, source) if not _once(load, loops) else ()
            continue
        programs = common_loops(read.loops, _grid(loops))
        found = copy(read, programs, instance=tensor(source))
        ways += [found] if found is not None else []
    known = Known((*way.ranges, *(axis.within for axis in source.axes)), loops)
    formula, exact, _ = covered(ways, source, known)
    return formula if exact else E.TRUE


def _grid(loops: tuple[Loop, ...]) -> tuple[Loop, ...]:
    return tuple(loop for loop in loops if loop.kind is LoopKind.GRID)


def _once(load: Load, loops: tuple[Loop, ...]) -> bool:
    """Whether each round surely loads a part of its own: its place goes on with every index."""
    inner = {loop.symbol for loop in loops if loop.kind is not LoopKind.GRID}
    found: set[Sym] = set()
    for coord in load.source.coords:
        for mono, _ in coord.terms:
            if len(mono) == 1 and isinstance(mono[0], Sym):
                found.add(mono[0])
            elif any(symbol in inner for atom in mono for symbol in E.from_atom(atom).free()):
                return False
    return inner <= found


def _otherwise(read: Access, here: tuple[Expr, ...], source: View) -> Iterator[Copy]:
    """A load in other iterations than that at the indices ``here``."""
    programs = len(_grid(read.loops))
    found = copy(read, programs, instance=tensor(source))
    same: list[Bool] = []
    for mine, its in zip(() if found is None else found.at, here[programs:], strict=False):
        for other in (E.lt(mine, its), E.gt(mine, its)):
            assert found is not None
            facts = (*found.constraints, *same, other)
            yield dataclasses.replace(found, constraints=facts)
        same.append(E.eq(mine, its))


def is_linear(term: Bool | Expr) -> bool:
    """Whether no two of its symbols are multiplied or divided by each other."""
    if isinstance(term, Bool):
        inner = term.expr is None or is_linear(term.expr)
        return inner and all(map(is_linear, term.args))
    return all(len(mono) <= 1 and all(map(_is_linear, mono)) for mono, _ in term.terms)


def _is_linear(atom: E.Atom) -> bool:
    if isinstance(atom, E.Div) and not atom.den.is_const:
        return False
    return all(map(is_linear, atom.children()))


__all__ = ["Load", "brought_again", "is_linear", "load_of"]
