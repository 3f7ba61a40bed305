"""Planned repeats of plain copies and products: what their semantics do, with every case decided.

The layouts of a plan settle dtypes, extents and options; one call of NumPy is left. What depends
on offsets or on what was written is not settled: it is looked at in each call.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from verifier.executor.contents import SUM
from verifier.executor.flow import Direct
from verifier.executor.footprints import copied
from verifier.executor.memory import Bound
from verifier.executor.regions import Geometry
from verifier.executor.semantics.casts import F32, up
from verifier.hardware.capabilities import Capability
from verifier.hardware.engines import Engine
from verifier.symbolic import expr as E
from verifier.symbolic.effects import Effect
from verifier.symbolic.instruction import Trait
from verifier.symbolic.trace import Operation

if TYPE_CHECKING:
    from verifier.executor.machine import ConcreteMachine


def direct(
    machine: ConcreteMachine, operation: Operation, bounds: Mapping[str, Bound]
) -> Direct | None:
    """How to repeat an operation on operands of these layouts; None: by its semantics."""
    if machine.options.shapes_only or not all(
        isinstance(found.place, Geometry) for found in bounds.values()
    ):
        return None
    traits = operation.instruction.traits if operation.instruction is not None else frozenset()
    if Trait.MATMUL in traits and Trait.PACKED not in traits:
        return _product(machine, operation, bounds)
    role = copied(operation, bounds)
    if role is None:
        return None
    if operation.engine is Engine.SCALAR and not machine.target.has(Capability.COPY_ON_SCALAR):
        return None  # computes in float32
    source, target = bounds[role].place, bounds["dst"].place
    if source.dtype != target.dtype or source.shape != target.shape:
        return None
    return _copy(role)


def _given(operation: Operation, role: str) -> bool:
    """Whether an option says anything (``None`` and ``False`` do not)."""
    operand = operation.operands.get(role)
    value = None if operand is None else operand.value
    return value is not None and value is not False and value is not E.FALSE


def _copy(role: str) -> Direct:
    def copy(bounds: Mapping[str, Bound]) -> bool:
        source, target = bounds[role], bounds["dst"]
        origin, memory, place = source.memory, target.memory, target.place
        assert isinstance(place, Geometry) and isinstance(source.place, Geometry)
        window = origin.array(source.place)
        template = memory.template
        if place is template.whole:
            if template.on_chip and origin.lends and origin is not memory:
                memory.data = None
                memory.show(origin, window)
                memory.mark(place)
                return True
            memory.alias = None
        memory.writable(place)[...] = window
        memory.mark(place)
        return True

    return copy


def _product(
    machine: ConcreteMachine, operation: Operation, bounds: Mapping[str, Bound]
) -> Direct | None:
    how = operation.effect
    if bounds.keys() != {"dst", "stationary", "moving"} or not isinstance(how, Effect):
        return None
    if _given(operation, "is_transpose"):
        return None
    shapes = {role: found.place.shape for role, found in bounds.items()}
    # (performance modes speak of factors with more axes than two)
    if any(len(shape) != 2 for shape in shapes.values()) or bounds["dst"].place.dtype != "float32":
        return None
    rows, columns = size = (shapes["stationary"][1], shapes["moving"][1])
    if shapes["dst"] != (rows, columns):
        return None
    space: Any = np.empty(size, F32)

    def product(bounds: Mapping[str, Bound]) -> bool:
        target, left, right = bounds["dst"], bounds["stationary"], bounds["moving"]
        memory, place = target.memory, target.place
        assert isinstance(place, Geometry)
        assert isinstance(left.place, Geometry) and isinstance(right.place, Geometry)
        adds = how is Effect.ADDS
        if how is Effect.FIRST_SETS:
            held = memory.content.at(place)
            if not isinstance(held, int):
                return False
            adds = held >= SUM
        if memory is left.memory or memory is right.memory:
            return False
        stationary = up(left.memory.array(left.place)).T
        moving = up(right.memory.array(right.place))
        if not adds and place is memory.template.whole:
            memory.alias = None
            np.matmul(stationary, moving, out=memory.writable(place))
        else:
            found = memory.writable(place)
            np.matmul(stationary, moving, out=space)
            if adds:
                np.add(found, space, out=found)
            else:
                found[...] = space
        memory.mark(place)
        return True

    return product
