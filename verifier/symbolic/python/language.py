"""Python, put together from its parts. Nothing but the entry imports this module."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from types import ModuleType
from typing import Any, Final

from msgspec.structs import replace

from verifier.symbolic.dialect import Dialect
from verifier.symbolic.python import expressions, functions, generators, loops, statements
from verifier.symbolic.python.kind import Kind, Language
from verifier.symbolic.python.kinds import (
    absent,
    blurred,
    callables,
    constants,
    external,
    inputs,
    instances,
    iterators,
    mappings,
    numbers,
    sequences,
    sets,
    singletons,
    tensors,
    text,
    types,
    words,
)
from verifier.symbolic.python.library import (
    bytearrays,
    containers,
    contexts,
    core,
    dataclasses_,
    enums,
    functools_,
    importing,
    iteration,
    itertools_,
    namedtuples,
    numeric,
    objects,
    proxies,
    special,
    typing_,
)
from verifier.symbolic.python.vm import VM

#: everything that has tables of kinds, functions, methods or modules
PARTS: Final[tuple[ModuleType, ...]] = (
    numbers,
    text,
    singletons,
    sequences,
    mappings,
    sets,
    iterators,
    generators,
    instances,
    types,
    callables,
    tensors,
    inputs,
    words,
    external,
    absent,
    blurred,
    constants,
    core,
    numeric,
    iteration,
    itertools_,
    bytearrays,
    containers,
    proxies,
    dataclasses_,
    namedtuples,
    enums,
    objects,
    special,
    typing_,
    functools_,
    importing,
    contexts,
)


def entries(table: str, parts: Iterable[ModuleType] = PARTS) -> Iterator[tuple[Any, Any]]:
    """What the parts enter into a table (``KINDS``, ``BUILTINS``, ``CONSTRUCTORS``)."""
    for part in parts:
        held: Mapping[Any, Any] = getattr(part, table, {})
        yield from held.items()


def nested(table: str, parts: Iterable[ModuleType] = PARTS) -> Iterator[tuple[str, str, Any]]:
    """What the parts enter into tables of tables (``MODULES``, ``METHODS``), with the owner."""
    for owner, held in entries(table, parts):
        for name, value in held.items():
            yield owner, name, value


def _tables(table: str) -> dict[str, dict[str, Any]]:
    out: dict[str, dict[str, Any]] = {owner: {} for owner, _ in entries(table)}
    for owner, name, value in nested(table):
        out[owner][name] = value
    return out


PYTHON: Final = Language(
    expressions=expressions.EXPRESSIONS,
    statements=statements.STATEMENTS,
    kinds=dict(entries("KINDS")),
    default=Kind[VM](),
    builtins=dict(entries("BUILTINS")),
    modules=_tables("MODULES"),
    constructors=dict(entries("CONSTRUCTORS")),
    methods=_tables("METHODS"),
    iterate=loops.iterate,
    call_function=functions.call_function,
)


def language_of(dialect: Dialect[VM]) -> Language[VM]:
    """Python with the values that a dialect adds to it."""
    own = dialect.kinds()
    return replace(PYTHON, kinds={**PYTHON.kinds, **own}) if own else PYTHON
