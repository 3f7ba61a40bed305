"""What fixtures give tests."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from verifier.source import ir
from verifier.source.project import Module, project_around
from verifier.source.text import SourceError
from verifier.suites.machine import SuiteVM
from verifier.suites.values import Array, Fixture
from verifier.symbolic.python import modules
from verifier.symbolic.python.flow import Ended
from verifier.symbolic.python.heap import UNBOUND, DictBox, ListBox, ObjectBox
from verifier.symbolic.python.hierarchy import lookup
from verifier.symbolic.python.model import Class
from verifier.symbolic.values import Guarded, Opaque


def value(vm: SuiteVM, module: Module, cls: Class | None, name: str) -> object:
    """What the fixture of a name gives, if that is data; UNBOUND if not, or if there is none.

    What a fixture makes of a service or a device is of no interest: a launch is recognised by what
    is given away.
    """
    found = UNBOUND if cls is None else lookup(vm, cls, name)
    for place in (module, *conftests(vm, module)):
        if isinstance(found, Fixture):
            break
        found = named(vm, place, name)
    if not isinstance(found, Fixture):
        return UNBOUND
    definition = found.function.definition
    assert isinstance(definition, ir.FunctionDef)
    if definition.is_generator or any(p.default is None for p in definition.params):
        return Opaque(f"the fixture `{name}`")
    given = vm.call(found.function, (), span=definition.span)
    return given if _is_data(vm, given) else Opaque(f"the fixture `{name}`")


def named(vm: SuiteVM, module: Module, name: str) -> object:
    try:
        return modules.global_value(vm, module, name)
    except (Ended, SourceError):
        return UNBOUND


def conftests(vm: SuiteVM, module: Module) -> Iterator[Module]:
    """The ``conftest.py`` beside a file and above it, nearest first."""
    folder = Path(os.path.abspath(module.path)).parent  # noqa: PTH100
    top = project_around(str(folder / "conftest.py"))
    while True:
        path = folder / "conftest.py"
        if path.is_file() and path != Path(module.path):
            with contextlib.suppress(SourceError):
                yield vm.project.module(path)
        if top is None or str(folder) == top or folder == folder.parent:
            return
        folder = folder.parent


def _is_data(vm: SuiteVM, given: object) -> bool:
    """Whether something is a number, a text, an array, or made of some."""
    stack, seen = [given], 0
    while stack:
        one = stack.pop()
        seen += 1
        box = vm.box(one)
        if isinstance(one, (Opaque, Guarded)) or isinstance(box, ObjectBox) or seen > 10_000:
            return False
        if isinstance(one, tuple):
            stack.extend(one)
        elif isinstance(box, ListBox):
            stack.extend(box.concrete or ())
        elif isinstance(box, DictBox):
            stack.extend(box.items.values())
        elif isinstance(one, Array):
            continue
    return True
