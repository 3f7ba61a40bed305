"""Whether it can be seen in which order the modules of a program run, and which statements then do.

Most modules only define things: nothing is lost if a module runs when something of it is asked for,
and a statement when its name is. A program in which one module changes another is different: there
every import runs where it stands, and so does each statement that reads a name.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Final

from verifier.source import footprint
from verifier.source.project import EFFECTS, Module, Project
from verifier.source.readings import Import, Reading

#: functions that look for modules, and a call that names one
_LOOKING: Final = ("iter_modules", "walk_packages")
_CALL: Final = re.compile(r"\bimport_module\(\s*['\"](\w[\w.]*)['\"]")


class Order:
    """The order of execution in the modules of one project."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._shared: dict[tuple[str, str], bool] = {}
        self._matters: dict[str, bool] = {}

    def matters(self, module: Module) -> bool:
        """Whether some module of the program of ``module`` changes another one when it runs."""
        known = self._matters.get(module.file)
        if known is None:
            reached = self._reached(module)
            known = len(reached) > 1 and any(self._reaches_out(each) for each in reached)
            self._matters[module.file] = known
        return known

    def running(self, module: Module) -> tuple[int, ...]:
        """The chunks of a module that run in order where the order of modules matters."""
        out = []
        for reading in module.readings():
            moving = any(not self._is_foreign(module, name) for name in reading.reads)
            ours = any(self.starts(module, wanted) for wanted in reading.imports)
            if reading.effect or reading.assigns or moving or ours:
                out.append(reading.chunk)
        return tuple(dict.fromkeys(out))

    def imports(self, module: Module) -> Iterator[tuple[int, Import]]:
        """The imports that run when a module does, each with its chunk."""
        for reading in module.readings():
            for wanted in reading.imports:
                yield reading.chunk, wanted

    def starting(self, module: Module) -> Mapping[int, list[Module]]:
        """The modules of the project that a module's imports start, by chunk."""
        out: dict[int, list[Module]] = {}
        for chunk, wanted in self.imports(module):
            found = self.starts(module, wanted)
            if found:
                out.setdefault(chunk, []).extend(found)
        return out

    def starts(self, module: Module, wanted: Import) -> list[Module]:
        """The modules of the project that an import starts, in order."""
        project = self._project
        names = wanted.module.split(".") if wanted.module else []
        packages = [".".join(names[: k + 1]) for k in range(len(names))]
        tried = [wanted.module] if wanted.level else packages
        found = [project.resolve_import(module, name, wanted.level) for name in tried]
        if wanted.name is not None and wanted.name != "*":
            part = project.resolve_from(module, wanted.module, wanted.level, wanted.name)
            if part is not None and part[1] is None:
                found.append(part[0])
        return list({m.file: m for m in found if m is not None}.values())

    # -- the program -----------------------------------------------------------------

    def _reached(self, module: Module) -> Collection[Module]:
        """The modules of the project that a module's imports lead to, itself among them."""
        known: dict[str, Module] = {}
        stack = [module]
        while stack:
            item = stack.pop()
            if item.file not in known:
                known[item.file] = item
                footprint.note_name(item.file, EFFECTS)
                for reading in item.readings():
                    for wanted in reading.imports:
                        stack.extend(self.starts(item, wanted))
                for wanted in self._computed(item):
                    stack.extend(self.starts(item, wanted))
        return known.values()

    def _computed(self, module: Module) -> Iterator[Import]:
        """What a module may import by names that it computes: those that are easy to see.

        What is not seen here is told when it is imported.
        """
        if not module.words.isdisjoint(_LOOKING):
            folder = module.path.absolute().parent
            for name, _ in self._project.parts(str(folder)) or ():
                yield Import("", 1, name)
        if "import_module" in module.words:
            for found in _CALL.finditer(module.text):
                yield Import(found[1], 0, None)

    def _reaches_out(self, module: Module) -> bool:
        """Whether a statement that a module runs may change, or depend on, another one's state."""
        readings = module.readings()
        for reading in readings:
            if any(self._is_shared(module, *one) for one in reading.calls | reading.loads):
                return True
            if reading.effect and any(_is_import(module, name) for name in reading.changes):
                return True
            used = _closure(readings, reading.uses) if reading.effect else set()
            if any(self._is_shared(module, name) for name in used):
                return True
        return False

    def _is_shared(self, module: Module, name: str, attribute: str = "") -> bool:
        """Whether an imported name, or what a module has under it, is or touches shared data."""
        found = self._meant(module, name)
        if found is not None and found[1] is None and attribute:
            owner = found[0]
            found = self._project.resolve_name(owner, attribute) or (owner, attribute)
        if found is None:
            return False
        owner, original = found
        if original is None:
            return True
        key = (owner.file, original)
        known = self._shared.get(key)
        if known is None:
            self._shared[key] = False  # for what refers to itself
            readings = owner.readings()
            used = _closure(readings, frozenset({original}))
            moving = [r for r in readings if (r.assigns or r.effect) and not r.constant]
            data = {name for reading in moving for name in reading.binds}
            touched = {name for reading in readings for name in reading.touches}
            # data that its own module leaves alone is shared with who gets at it from outside
            shared = (data & touched) | (data & {original})
            shared.update(name for r in readings for name in r.binds if r.stateful)
            shared.update(name for reading in readings for name in reading.rebinds)
            known = not used.isdisjoint(shared) or any(
                self._is_shared(owner, n) for n in used if n != original
            )
            self._shared[key] = known
        return known

    # -- names -----------------------------------------------------------------------

    def _is_foreign(self, module: Module, name: str) -> bool:
        return _is_import(module, name) and self._meant(module, name) is None

    def _meant(self, module: Module, name: str) -> tuple[Module, str | None] | None:
        """What of the project's an imported name stands for."""
        if not _is_import(module, name):
            return None
        found = self._project.resolve_name(module, name)
        return None if found is None or found[0] is module else found


def _is_import(module: Module, name: str) -> bool:
    binding = module.bindings.get(name)
    return binding is not None and binding.kind.imports


def _closure(readings: Iterable[Reading], names: frozenset[str]) -> set[str]:
    """Names, and all that the definitions of names among them mention."""
    uses: dict[str, set[str]] = {}
    for reading in readings:
        for name in reading.binds:
            uses.setdefault(name, set()).update(reading.uses)
    out: set[str] = set()
    stack = list(names)
    while stack:
        name = stack.pop()
        if name not in out:
            out.add(name)
            stack.extend(uses.get(name, ()))
    return out
