"""Which chips a kernel may be for, as far as its file shows how it is launched.

``kernel[groups, cores](...)`` starts an instance on each of so many cores (PPL-A01): the chip has
as many. A file that shows no launch, or one of sizes that it does not say, is for any chip.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Sequence

from verifier.hardware.capabilities import Capability
from verifier.hardware.chips import CHIPS, Chip


def targets(
    statements: Callable[[], Sequence[ast.stmt]], kernel: str, grid: Sequence[int]
) -> tuple[str, ...]:
    """The chips that have the cores of every launch, all chips if none has.

    ``grid``: what a contract says of the launch, empty if it says nothing.
    """
    short = kernel.rpartition(".")[2]
    wanted = [_cores(grid)] if grid else list(_launched(statements(), short))
    known = [chip for chip in CHIPS.values() if chip.has(Capability.COMPILED_KERNELS)]
    fit = [chip for chip in known if _fits(chip, wanted)]
    return tuple(chip.name for chip in fit or known)


def _fits(chip: Chip, wanted: Iterable[int | None]) -> bool:
    return all(cores is None or cores <= chip.cores for cores in wanted)


def _cores(grid: Sequence[int | None]) -> int | None:
    """Cores per group: 1 where only the groups are named; None: not known."""
    return grid[1] if len(grid) > 1 else 1


def _launched(statements: Sequence[ast.stmt], kernel: str) -> Iterable[int | None]:
    """The cores of every launch of a kernel in a file."""
    tree = ast.Module(body=list(statements), type_ignores=[])
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Subscript):
            launched = node.func.value
            name = launched.attr if isinstance(launched, ast.Attribute) else None
            name = launched.id if isinstance(launched, ast.Name) else name
            if name == kernel:
                at = node.func.slice
                sizes = at.elts if isinstance(at, ast.Tuple) else [at]
                yield _cores([_number(tree, size) for size in sizes])


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
    for node in ast.walk(tree):
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
