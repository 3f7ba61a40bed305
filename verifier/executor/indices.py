"""Index arrays of Beta 1 as kernels hold them, and the operators of what stands for arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from verifier.executor import places
from verifier.executor.access import integer
from verifier.executor.findings import UnsupportedError
from verifier.executor.offsets import Indices, Located
from verifier.symbolic import views
from verifier.symbolic.values import IndexGrid, IndexMask, IndexTensor

if TYPE_CHECKING:
    from verifier.executor.machine import ConcreteMachine


class IndexProxy(Indices):
    """An index array of Beta 1, a mask, or a grid of index arrays."""

    __slots__ = ("inner", "machine")
    __array_ufunc__ = None

    def __init__(self, machine: ConcreteMachine, inner: object) -> None:
        self.machine = machine
        self.inner = inner

    def _binary(self, op: str, other: object, *, swapped: bool = False) -> Any:
        a, b = (other, self) if swapped else (self, other)
        span = places.here().span
        result = self.machine.dialect.operator(
            self.machine, op, self.machine.inward(a), self.machine.inward(b), span
        )
        if result is None:
            raise UnsupportedError(f"`{op}` on an index array has no meaning", span)
        return self.machine.outward(result)

    def __neg__(self) -> Any:
        span = places.here().span
        found = self.machine.dialect.operator(self.machine, "-", self.inner, None, span)
        return self.machine.outward(found)

    def __getitem__(self, index: object) -> Any:
        span = places.here().span
        if isinstance(self.inner, IndexGrid):
            if isinstance(index, int):
                return IndexProxy(self.machine, self.inner.parts[index])
            raise UnsupportedError("an index grid is indexed with an integer", span)
        assert isinstance(self.inner, IndexTensor)
        found = views.index_subscript(self.machine, self.inner, self.machine.inward(index), span)
        if found is None:
            raise UnsupportedError("what an index array is indexed with is not followed", span)
        return IndexProxy(self.machine, found)

    def __iter__(self) -> Iterator[IndexProxy]:
        if not isinstance(self.inner, IndexGrid):
            raise TypeError("an index array is not iterated over")
        return iter([IndexProxy(self.machine, part) for part in self.inner.parts])

    def __getattr__(self, name: str) -> Any:
        if isinstance(self.inner, IndexGrid):
            part = views.grid_part(self.inner, name)
            if part is not None:
                return IndexProxy(self.machine, part)
        if name == "shape" and isinstance(self.inner, (IndexTensor, IndexMask)):
            sizes = [1] * self.inner.ndim
            for position, axis in self.inner.axes:
                sizes[position] = integer(axis.size)
            return tuple(sizes)
        raise AttributeError(name)

    def __eq__(self, other: object) -> Any:
        return self._binary("==", other) if compares(other) else NotImplemented

    def __ne__(self, other: object) -> Any:
        return self._binary("!=", other) if compares(other) else NotImplemented

    __hash__ = object.__hash__


def compares(other: object) -> bool:
    """Whether ``==`` is one element by element; to anything else Python just says no."""
    return isinstance(other, (Located, int, float, Indices)) and not isinstance(other, bool)


_OPERATORS = {
    "add": "+",
    "sub": "-",
    "mul": "*",
    "truediv": "/",
    "floordiv": "//",
    "mod": "%",
    "pow": "**",
    "and": "&",
    "or": "|",
    "xor": "^",
    "lshift": "<<",
    "rshift": ">>",
}
_COMPARISONS = {"lt": "<", "le": "<=", "gt": ">", "ge": ">="}


def operators(cls: type) -> None:
    def plain(op: str, swapped: bool) -> Callable[[Any, object], Any]:
        def method(self: Any, other: object) -> Any:
            return self._binary(op, other, swapped=swapped)

        return method

    for name, op in _OPERATORS.items():
        setattr(cls, f"__{name}__", plain(op, False))
        setattr(cls, f"__r{name}__", plain(op, True))
    for name, op in _COMPARISONS.items():
        setattr(cls, f"__{name}__", plain(op, False))


operators(IndexProxy)
