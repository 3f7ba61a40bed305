"""Modules that outlive a project: what is read of a file serves as long as the file is the same."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Iterator, MutableMapping
from typing import Final

from verifier.source.project import Module

#: modules that are kept: those of the states that files were in last, so many of each file
_MODULES: Final = 512
_STATES: Final = 3


class RecentModules(MutableMapping[tuple[str, str], Module]):
    """The modules that were used last, by absolute path and digest: see :class:`Project`."""

    def __init__(self) -> None:
        self._modules: OrderedDict[tuple[str, str], Module] = OrderedDict()
        self._states: dict[str, deque[tuple[str, str]]] = {}

    def __getitem__(self, key: tuple[str, str]) -> Module:
        found = self._modules[key]
        self._modules.move_to_end(key)
        return found

    def __setitem__(self, key: tuple[str, str], module: Module) -> None:
        self._modules[key] = module
        self._modules.move_to_end(key)
        states = self._states.setdefault(key[0], deque())
        if key not in states:
            states.append(key)
            if len(states) > _STATES:
                self._modules.pop(states.popleft(), None)
        while len(self._modules) > _MODULES:
            self._modules.popitem(last=False)

    def __delitem__(self, key: tuple[str, str]) -> None:
        del self._modules[key]

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return iter(self._modules)

    def __len__(self) -> int:
        return len(self._modules)
