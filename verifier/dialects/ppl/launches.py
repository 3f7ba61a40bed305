"""How a file launches its kernels, and which chips they may be for, as far as that shows it.

``kernel[groups, cores](...)`` starts an instance on each of so many cores (PPL-A01): the chip has
as many. A file that shows no launch, or one of sizes that it does not say, is for any chip.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import NamedTuple

from verifier.dialects.descriptor import Misuse
from verifier.hardware.capabilities import Capability
from verifier.hardware.catalogue import Hardware
from verifier.hardware.chips import CHIPS, Chip
from verifier.source import nodes
from verifier.source.starts import Start

#: what the sizes of a grid count
_COUNTED = ("group", "core")


class Demand(NamedTuple):
    """What a launch asks of a chip: the number, what it may be at most, in words."""

    asked: int
    most: int
    text: str
    message: str


def demands(grid: Sequence[int | None], chip: Chip) -> Iterator[Demand]:
    """What a launch on ``(groups, cores)`` asks for; what is not known of it asks for nothing."""
    for counted, asked in zip(_COUNTED, grid, strict=False):
        if asked is not None:
            has = f"{chip.name} has {_number_of(chip.cores, 'core')}"
            message = f"the launch asks for {_number_of(asked, counted)}; {has}"
            yield Demand(asked, chip.cores, f"{counted}s <= {chip.cores}", message)


def _number_of(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"


def problems(
    starts: tuple[Start, ...],
    statements: tuple[ast.stmt, ...],
    kernel: str,
    generation: str,
    target: Hardware,
    names: Collection[str] | None,
) -> Iterator[Misuse]:
    """The launches of a kernel in its file that ask for more than the chip has."""
    if not isinstance(target, Chip):
        return
    for node, sizes in _launched(statements, kernel.rpartition(".")[2]):
        for demand in demands(sizes, target):
            if demand.asked > demand.most:
                yield Misuse(node, demand.text, demand.message, ("PPL-A01",), "ppl-core-count")


def targets(
    statements: Callable[[], Sequence[ast.stmt]], kernel: str, grid: Sequence[int]
) -> tuple[str, ...]:
    """The chips that have the cores of every launch, of as many launches as any chip has.

    ``grid``: what a contract says of the launch, empty if it says nothing.
    """
    short = kernel.rpartition(".")[2]
    wanted: list[Sequence[int | None]] = [grid]
    if not grid:
        wanted = [sizes for _, sizes in _launched(statements(), short)]
    known = [chip for chip in CHIPS.values() if chip.has(Capability.COMPILED_KERNELS)]
    fit = {chip.name: sum(_fits(chip, sizes) for sizes in wanted) for chip in known}
    return tuple(name for name, count in fit.items() if count == max(fit.values()))


def _fits(chip: Chip, grid: Sequence[int | None]) -> bool:
    return all(demand.asked <= demand.most for demand in demands(grid, chip))


def _launched(
    statements: Sequence[ast.stmt], kernel: str
) -> Iterator[tuple[ast.expr, Sequence[int | None]]]:
    """Every launch of a kernel in a file: what is said of the grid, and its sizes."""
    tree = ast.Module(body=list(statements), type_ignores=[])
    for node in nodes.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Subscript):
            launched = node.func.value
            name = launched.attr if isinstance(launched, ast.Attribute) else None
            name = launched.id if isinstance(launched, ast.Name) else name
            if name == kernel:
                at = node.func.slice
                sizes = at.elts if isinstance(at, ast.Tuple) else [at]
                yield at, [_number(tree, size) for size in sizes]


def _number(tree: ast.Module, size: ast.expr) -> int | None:
    """A number, or a name that only one number is ever given to."""
    if isinstance(size, ast.Constant):
        return size.value if type(size.value) is int else None
    if not isinstance(size, ast.Name):
        return None
    return _only_value(tree, size.id)


def _only_value(tree: ast.Module, name: str) -> int | None:
    """The number that all assignments of a name give to it, where nothing else binds it."""
    bound = plain = 0
    values: set[object] = set()
    for node in nodes.walk(tree):
        if isinstance(node, ast.Assign):
            mine = [t for t in node.targets if isinstance(t, ast.Name) and t.id == name]
            plain += len(mine)
            values |= {getattr(node.value, "value", None)} if mine else set()
        elif isinstance(node, ast.Name):
            bound += node.id == name and isinstance(node.ctx, ast.Store)
        elif isinstance(node, ast.arg):
            bound += node.arg == name
    (value,) = values if len(values) == 1 and bound == plain else (None,)
    return value if type(value) is int else None
