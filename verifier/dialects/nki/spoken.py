"""What is said of a function while a call of it is written: its parameters, and what they take."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from verifier.dialects.nki import isa, names
from verifier.dialects.nki.generation import infer_generation, scan_features
from verifier.dialects.nki.signatures import lookup, table
from verifier.dialects.nki.versions import GENERATIONS
from verifier.dialects.spoken import described
from verifier.symbolic.values import ApiRef


def functions(dotted: str, text: str) -> Iterator[tuple[str, str, str]]:
    """The functions of an imported name (``nki.isa``): name, parameters, and what there is to say.

    ``text`` is the file that asks: it shows for which generation it is written.
    """
    owner = names.root(dotted)
    if not isinstance(owner, ApiRef):
        return
    generation = _generation(owner, text)
    start = f"{owner.name}." if owner.name else ""
    for full in sorted(table(generation)):
        short = full.removeprefix(start)
        if full.startswith(start) and "." not in short:
            signature = lookup(full, generation)
            yield short, str(signature or ""), described(short, signature, isa.find(full))


def _generation(owner: ApiRef, text: str) -> str:
    """The generation of a file, which may be half written."""
    if owner.generation == "beta1":
        return "beta1"
    try:
        return infer_generation(scan_features(ast.parse(text)))
    except (SyntaxError, ValueError, RecursionError):
        return GENERATIONS[-1]
