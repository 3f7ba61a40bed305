"""Outside of kernels: calls that only a kernel can make (NKI-N12, NKI-G46), and names."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from verifier.dialects.nki import isa, names
from verifier.dialects.nki.binding import spoken
from verifier.dialects.nki.generation import canonical, imported
from verifier.dialects.nki.versions import GENERATIONS
from verifier.source import nodes

#: functions that no device runs and that make a tensor, or ask who runs the kernel
_INSIDE: Final = frozenset(
    f"language.{name}"
    for name in ("ndarray", "empty_like", "rand", "program_id", "num_programs", "program_ndim")
)
_SCOPES: Final = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def device_calls(statements: Sequence[ast.stmt]) -> Iterator[tuple[ast.Call, str]]:
    """The calls in a module's body that only a kernel can make, with the names of the functions.

    Functions of the module are left out: who calls them is not known.
    """
    _, aliases = imported(ast.Module(list(statements), []))
    pending: list[ast.AST] = list(reversed(statements))
    while pending:
        node = pending.pop()
        if isinstance(node, _SCOPES):
            continue
        if isinstance(node, ast.Call):
            name = canonical(node.func, aliases)
            if name is not None and (name in _INSIDE or isa.find(name) is not None):
                yield node, spoken(name)
        pending.extend(reversed(list(ast.iter_child_nodes(node))))


def doubtful(statements: Sequence[ast.stmt]) -> Callable[[ast.AST], bool]:
    """Whether a part of a module asks the API for a name that not all generations have.

    ``statements`` are those of the module.
    """
    _, aliases = imported(ast.Module(list(statements), []))

    def asks(part: ast.AST) -> bool:
        attributes = (n for n in nodes.walk(part) if isinstance(n, ast.Attribute))
        found = (canonical(node, aliases) for node in attributes)
        return any(name is not None and not _everywhere(name) for name in set(found))

    return asks


def _everywhere(name: str) -> bool:
    """Whether each generation has a name, as far as it is documented."""
    owner, _, attr = name.rpartition(".")
    known = names.closed(owner or "nki", attr)
    if known is not None and attr not in known:
        return False
    return all(names.value_in(name, g) and names.function_in(name, g) for g in GENERATIONS)
