"""Which functions of a project reach a device: those that call, themselves or through others,
what kernels are made of."""

from __future__ import annotations

import ast
import os
from collections.abc import Collection, Iterator
from pathlib import Path

from msgspec import Struct, field

from verifier.source.discovery import How, KernelEntry
from verifier.source.ir import Span
from verifier.source.project import Module, Project

_Place = tuple[str, int]


class Reaching(Struct):
    """Asks of functions whether they reach one of ``device``, by file and line of the ``def``."""

    project: Project
    device: dict[_Place, KernelEntry]
    _answers: dict[_Place, bool] = field(default_factory=dict)

    def entry(self, module: Module, name: str, span: Span) -> KernelEntry | None:
        """A top-level function as a kernel, if it reaches a device."""
        place = (os.path.abspath(span.path), span.line)  # noqa: PTH100
        if place in self.device:
            return self.device[place]
        if not self._reaches(module, name, place):
            return None
        dialect = next(iter(self.device.values())).dialect
        return KernelEntry(Path(span.path), name, span.line, span, dialect, How.NAMED, "")

    def _reaches(self, module: Module, name: str, place: _Place) -> bool:
        if place not in self._answers:
            self._answers[place] = False  # a function that calls itself adds nothing
            self._answers[place] = any(
                found in self.device or self._reaches(other, inner, found)
                for other, inner, found in self._called(module, name)
            )
        return self._answers[place]

    def _called(self, module: Module, name: str) -> Iterator[tuple[Module, str, _Place]]:
        """The functions of the project that a function calls by their names."""
        definition = _definition(module, name)
        for node in () if definition is None else ast.walk(definition):
            if isinstance(node, ast.Call):
                resolved = self._resolved(module, node.func)
                found = None if resolved is None else _definition(*resolved)
                if resolved is not None and found is not None:
                    yield (*resolved, (resolved[0].file, found.lineno))

    def _resolved(self, module: Module, node: ast.expr) -> tuple[Module, str] | None:
        if isinstance(node, ast.Name):
            found = self.project.resolve_name(module, node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            owner = self.project.resolve_name(module, node.value.id)
            if owner is None or owner[1] is not None:
                return None
            found = self.project.resolve_name(owner[0], node.attr)
        else:
            return None
        return None if found is None or found[1] is None else (found[0], found[1])


def _definition(module: Module, name: str) -> ast.FunctionDef | None:
    for node in module.syntax():
        if isinstance(node, ast.FunctionDef) and node.name == name:
            return node
    return None


def reaching(project: Project, entries: Collection[KernelEntry]) -> Reaching:
    """What asks whether functions reach one of some functions for a device."""
    return Reaching(project, {(os.path.abspath(e.path), e.line): e for e in entries})  # noqa: PTH100
