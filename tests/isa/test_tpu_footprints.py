"""What a description of a TPU's instruction says is read and written is what its meaning does.

Every operation of kernels that are drawn is done twice: on what is there, and with all bytes
changed that are not said to be read. What is said to be written comes out the same, and no other
byte changes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.differential.drawing import numbered, of_dialect
from tests.differential.judging import on_numbers
from verifier.dialects.names import OKK, PPL
from verifier.dialects.registry import DIALECTS
from verifier.executor import tpu_operation
from verifier.executor.lanes import Array, Block, ByteMemory, Place
from verifier.executor.semantics.tpu.base import Function
from verifier.executor.tpu_operation import LaneOperands
from verifier.symbolic.trace import Operation

Mask = NDArray[np.bool_]

#: what is flipped of a byte that is not said to be read
_FLIPPED = 0xA5
#: bytes beside those that are used in each lane that are looked at as well
_BESIDE = 64
_COMPUTED = tpu_operation._computed


class _Window:
    """The bytes ``first`` to ``last`` of every lane of a memory; a buffer is one lane."""

    def __init__(self, memory: ByteMemory, lane: int, places: list[Place]) -> None:
        self.memory = memory
        self.lane = lane
        ends = [end for place in places for block in place.blocks for end in self._ends(block)]
        self.first = max(0, min(ends) - _BESIDE)
        self.last = min(lane, max(ends) + 8 + _BESIDE)
        shape = (memory.size // lane, self.last - self.first)
        self.read, self.written, self.destroyed = (np.zeros(shape, np.bool_) for _ in range(3))

    def of(self, data: Array) -> Array:
        return data[: self.memory.size].reshape(-1, self.lane)[:, self.first : self.last]

    def _ends(self, block: Block) -> Iterator[int]:
        start = block.offset % self.lane
        yield start
        steps = zip(block.shape, block.steps, strict=True)
        yield start + sum((n - 1) * (step % self.lane) for n, step in steps)

    def _moved(self, step: int) -> int:
        lanes, within = divmod(step, self.lane)
        return lanes * (self.last - self.first) + within

    def mark(self, mask: Mask, place: Place) -> None:
        """Mark the bytes of a tensor."""
        for block in place.blocks:
            offset = self._moved(block.offset) - self.first
            steps = (*map(self._moved, block.steps), 1)
            np.ndarray((*block.shape, place.itemsize), np.bool_, mask, offset, steps)[...] = True

    def content(self) -> Array:
        """The bytes as a meaning reads them."""
        memory = self.memory
        data = self.of(memory.materialise()).copy()
        if memory.tracked and not memory.full:
            data[self.of(memory._record()) == 0] = 0xFF
        return data


def _windows(operation: Operation, operands: LaneOperands) -> list[_Window]:
    """The memories that an operation uses, with what is said of their bytes."""
    used = list(tpu_operation._used(operands.machine, operation))
    places: dict[int, tuple[ByteMemory, list[Place]]] = {}
    for each in used:
        for memory, place in each.parts:
            places.setdefault(id(memory), (memory, []))[1].append(place)
    local = operands.machine.state.get("local memory")
    lane = operands.chip.local_bytes
    found = {
        key: _Window(memory, lane if memory is local else memory.size, those)
        for key, (memory, those) in places.items()
    }
    for each in used:
        for memory, place in each.parts:
            window = found[id(memory)]
            for does, mask in (
                (each.reads, window.read),
                (each.writes, window.written),
                (each.destroys, window.destroyed),
            ):
                if does:
                    window.mark(mask, place)
    return list(found.values())


def _is_plain(operation: Operation, operands: LaneOperands) -> bool:
    """Whether all operands go forward within their tensors, and fill the words of several numbers.

    Of a part that leaves its tensor only what is within counts, which is reported; and words of
    numbers count as words, whatever their dummies are.
    """
    if "_packed_" in operation.name and operands.value("shape")[0] % 4:
        return False
    used = list(tpu_operation._used(operands.machine, operation))
    blocks = [block for each in used for _, place in each.parts for block in place.blocks]
    if any(step < 0 for block in blocks for step in block.steps):
        return False
    views = [each for each in used if operation.view(each.role) is not None]
    return all(each.parts[0][1].shape == each.region.place.shape for each in views)


@dataclass
class _Observer:
    """Does operations twice, in the place of the executor, which does them once."""

    seen: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)

    def __call__(self, function: Function, operation: Operation, operands: LaneOperands) -> None:
        if not _is_plain(operation, operands):
            _COMPUTED(function, operation, operands)
            return
        windows = _windows(operation, operands)
        before = [window.content() for window in windows]
        _COMPUTED(function, operation, operands)
        self.seen[operation.name] += 1
        after, records = [], []
        for window, content in zip(windows, before, strict=True):
            data, record = (
                window.of(window.memory.materialise()),
                window.of(window.memory._record()),
            )
            after.append(data.copy())
            records.append(record.copy())
            content[~window.read] ^= _FLIPPED
            data[...] = content
            record[...] = 1
        _COMPUTED(function, operation, operands)
        for window, content, expected, known in zip(windows, before, after, records, strict=True):
            data = window.of(window.memory.materialise())
            plain = window.written & ~window.destroyed
            if (data != content)[~window.written & ~window.destroyed].any():
                self.wrong.append(f"{operation.call_text} writes more than is said")
            if (data != expected)[plain].any():
                self.wrong.append(f"{operation.call_text} reads more, or writes less, than is said")
            data[...] = expected
            window.of(window.memory._record())[...] = known


@pytest.mark.parametrize("dialect", [OKK, PPL])
def test_an_operation_does_what_is_said(dialect: str, monkeypatch: pytest.MonkeyPatch) -> None:
    observer = _Observer()
    monkeypatch.setattr(tpu_operation, "_computed", observer)
    on_numbers(numbered(number) for number in islice(of_dialect(dialect, 0), 320))
    assert observer.wrong == []
    described = set(DIALECTS[dialect].instructions)
    assert len(described & set(observer.seen)) > len(described) // 2
