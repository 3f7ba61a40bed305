"""The contracts that the tests and scripts of a project show its kernels to be launched under."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from verifier.dialects.registry import DIALECTS
from verifier.hardware import catalogue
from verifier.source.discovery import KernelEntry, discover, scan
from verifier.source.ir import Span
from verifier.source.project import Module, Project
from verifier.source.text import SourceError
from verifier.suites.dialect import SuiteDialect, local_names
from verifier.suites.machine import Found, SuiteVM, decide
from verifier.suites.programs import Outcome, Unread, programs
from verifier.suites.reaching import reaching
from verifier.symbolic import expr as E
from verifier.symbolic.python.heap import Scope
from verifier.symbolic.python.inputs import Inputs
from verifier.symbolic.python.language import language_of
from verifier.symbolic.python.model import Builtin
from verifier.symbolic.trace import Trace

#: contracts of a kernel that are kept, if not asked for otherwise
MOST: Final = 8


class Preset(Struct, frozen=True):
    """A contract of a kernel, without its name, and the launches that it stands for."""

    contract: str
    #: the file and the name of the program
    path: str
    program: str
    line: int
    #: the targets that the contract names
    targets: tuple[str, ...] = ()


class Readings(Struct):
    """What was found: presets by kernel, how many more there were, and what cannot be read."""

    presets: dict[KernelEntry, list[Preset]] = field(default_factory=dict)
    left_out: dict[KernelEntry, int] = field(default_factory=dict)
    unread: list[Unread] = field(default_factory=list)
    #: rows of tests that were not run
    rows_left_out: int = 0


def read(
    project: Project,
    files: Sequence[Path],
    kernels: Collection[KernelEntry],
    device: Collection[KernelEntry] = (),
    most: int = MOST,
) -> Readings:
    """What the programs in ``files`` launch of ``kernels``, each contract once.

    ``device`` are functions for a device that the text does not call kernels.
    """
    vm = machine(project, files[0] if files else Path(), kernels, device)
    readings = Readings()
    found: dict[KernelEntry, list[list[Preset]]] = {}
    for path in files:
        try:
            module = project.module(path)
        except SourceError as error:
            readings.unread.append(Unread(str(path), error.line, "the file", error.message))
            continue
        for outcome in programs(vm, module):
            readings.unread += outcome.unread
            readings.rows_left_out += outcome.left_out
            for kernel, presets in _by_kernel(outcome, module).items():
                found.setdefault(kernel, []).append(presets)
    for kernel in sorted(found, key=lambda k: (str(k.path), k.line)):
        chosen = list(_in_turn(found[kernel]))
        readings.presets[kernel] = chosen[:most]
        if len(chosen) > most:
            readings.left_out[kernel] = len(chosen) - most
    return readings


def _by_kernel(outcome: Outcome, module: Module) -> dict[KernelEntry, list[Preset]]:
    out: dict[KernelEntry, list[Preset]] = {}
    for example in outcome.examples:
        place = str(module.path), outcome.name, example.span.line
        preset = Preset(example.contract, *place, example.targets)
        out.setdefault(example.kernel, []).append(preset)
    return out


def _in_turn(programs_: Sequence[Sequence[Preset]]) -> Iterator[Preset]:
    """The presets of several programs, one of each in turn, each contract once."""
    said: set[str] = set()
    for position in range(max(map(len, programs_), default=0)):
        for presets in programs_:
            if position < len(presets) and presets[position].contract not in said:
                said.add(presets[position].contract)
                yield presets[position]


class Launchable(Struct, frozen=True):
    """The kernels of modules, and the functions for a device that are not called kernels there."""

    kernels: tuple[KernelEntry, ...]
    device: tuple[KernelEntry, ...]


def launchable(project: Project, modules: Sequence[Module]) -> Launchable:
    """What of some modules may be launched."""
    kernels = discover(project, modules)
    known = {(os.path.abspath(k.path), k.line) for k in kernels}  # noqa: PTH100
    device: list[KernelEntry] = []
    for module in modules:
        names = scan(project, module).device
        for entry in scan(project, module, named=names).kernels if names else ():
            if (os.path.abspath(entry.path), entry.line) not in known:  # noqa: PTH100
                device.append(entry)
    return Launchable(tuple(kernels), tuple(device))


def machine(
    project: Project,
    path: Path,
    kernels: Collection[KernelEntry],
    device: Collection[KernelEntry] = (),
) -> SuiteVM:
    """What runs the programs of files; ``path`` is one of them."""
    E.fresh_context()
    names = {kernel.dialect for kernel in (*kernels, *device)} or set(DIALECTS)
    descriptors = [DIALECTS[name] for name in DIALECTS if name in names]
    first = descriptors[0]
    dialect = SuiteDialect([descriptor.make() for descriptor in descriptors])
    span = Span(str(path), 1, 0, 1, 0)
    generation = [*first.generations.values()][-1]
    language = language_of(dialect)
    own = {"locals": Builtin.of("locals", local_names)}
    vm = SuiteVM(
        replace(language, builtins={**language.builtins, **own}),
        dialect,
        project=project,
        hardware=catalogue.find(first.target),
        generation=generation,
        trace=Trace("", str(path), span, generation, dialect.name),
        inputs=Inputs(),
        decide=decide,
    )
    vm.kernels = {(os.path.abspath(k.path), k.line): k for k in kernels}  # noqa: PTH100
    vm.device = reaching(project, (*kernels, *device))
    vm.reasons = {}
    vm.asked = {}
    vm.found = Found()
    vm.made = {}
    vm.top = next(vm.heap.ids)
    vm.base[vm.top] = Scope({})
    return vm


__all__ = ["MOST", "Launchable", "Preset", "Readings", "launchable", "machine", "read"]
