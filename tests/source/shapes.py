"""IR and syntax trees in one shape, so that lowering can be compared with CPython's parser."""

from __future__ import annotations

import ast
import sysconfig
import unicodedata
from collections.abc import Iterator
from pathlib import Path

from verifier.source import ir


def library(step: int, largest: int) -> list[Path]:
    """Some files of the standard library, the same ones in every run."""
    folder = Path(sysconfig.get_paths()["stdlib"])
    files = sorted(path for path in folder.glob("*.py") if path.stat().st_size < largest)
    return files[::step][:40]


def walk(value: ir.Node) -> Iterator[ir.Node]:
    stack = [value]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(ir.children(node))


def parameters(params: tuple[ir.Param, ...]) -> tuple[tuple[str, str], ...]:
    return tuple((param.kind.value, param.name) for param in params)


def parameters_of(arguments: ast.arguments) -> tuple[tuple[str, str], ...]:
    found = [("positional-only", a) for a in arguments.posonlyargs]
    found += [("positional", a) for a in arguments.args]
    found += [("*", arguments.vararg)] if arguments.vararg else []
    found += [("keyword", a) for a in arguments.kwonlyargs]
    found += [("**", arguments.kwarg)] if arguments.kwarg else []
    return tuple((kind, unicodedata.normalize("NFKC", a.arg)) for kind, a in found)
