"""Calls of the device outside of kernels: in the body of a module (NKI-N12, NKI-G46)."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import Final

from verifier.dialects.nki import isa
from verifier.dialects.nki.binding import spoken
from verifier.dialects.nki.generation import canonical, imported

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
