"""One instance of a launch, and what its calls leave behind to be repeated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import CodeType
from typing import Any
from weakref import WeakKeyDictionary

from msgspec import Struct

from verifier.executor.flow import Steps
from verifier.executor.memory import Memory, Template
from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.tensors import Mark


@dataclass(slots=True)
class Program:
    """One instance of an SPMD launch: its indices, the grid, and the tensors all share."""

    index: tuple[int, ...] = ()
    grid: tuple[int, ...] = ()
    #: tensors in shared memory, by how many were made before
    shared: list[Memory] = field(default_factory=list)
    made: int = 0
    #: barriers that it went through, and exchanges with the other core
    waited: int = 0
    #: those that put accesses of one tensor in order
    named: WeakKeyDictionary[Memory, int] = field(default_factory=WeakKeyDictionary)

    def wait(self, memory: Memory | None) -> None:
        """It goes through a barrier; ``memory``: what the accesses are of that this orders."""
        self.waited += 1
        if memory is not None:
            self.named[memory] = self.named.get(memory, 0) + 1

    def waited_for(self, memory: Memory) -> int:
        """How many of the barriers put the accesses of a tensor in order."""
        return self.waited - sum(self.named.values()) + self.named.get(memory, 0)


class Plan(Struct):
    """How to repeat a call. ``steps`` None: it only makes a tensor.

    A position among the tensors that are arguments is -1 for the one that the call makes.
    """

    steps: Steps | None
    #: role and position of its tensor
    roles: tuple[tuple[str, int], ...]
    template: Template | None
    name: str
    span: Span
    #: where the shape and the like of the tensor that it makes are written
    arguments: Mapping[str, Span]
    #: what the call says of the tensor that it makes
    marks: Mapping[Mark, object]
    filled: bool
    #: position of the tensor that is the result; None: the result is ``outcome``
    returns: int | None
    outcome: Any


class Plans:
    """Calls that can be repeated, for all runs of one kernel under the same conditions.

    ``kept``: the code whose addresses the keys name.
    """

    def __init__(self) -> None:
        self.calls: dict[tuple[Any, ...], Plan] = {}
        self.templates: dict[tuple[object, ...], Template] = {}
        self.kept: list[CodeType] = []
        self._token = E.const(1)

    def current(self) -> Plans:
        """These plans, or new ones if the terms in them have been forgotten."""
        return self if E.const(1) is self._token else Plans()
