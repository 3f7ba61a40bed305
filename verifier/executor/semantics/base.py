"""What the semantics of one instruction may see and do, and the table they register in.

A function of this package gives the numeric meaning of one canonical operation name::

    @semantics("isa.tensor_tensor")
    def tensor_tensor(op: Operation, io: IO) -> None: ...

It reads operands, computes on whole arrays, and writes results; memory, masks, initialisation and
dtypes of storage are the machine's business, behind :class:`IO`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from verifier.hardware.targets import Target
from verifier.symbolic.tensors import View
from verifier.symbolic.trace import Operation

Array: TypeAlias = NDArray[Any]


class IO(Protocol):
    """The operands of one operation. Items of lists are roles of their own: ``srcs[0]``."""

    @property
    def target(self) -> Target: ...

    @property
    def api(self) -> str:
        """Generation in force: ``beta1``, ``0.2`` ... ``0.6``."""
        ...

    @property
    def rng(self) -> np.random.Generator:
        """The random numbers of the run (reproducible from the run's seed)."""
        ...

    @property
    def state(self) -> dict[object, object]:
        """What engines remember between instructions (accumulator registers, registers)."""
        ...

    def has(self, role: str) -> bool:
        """Whether the operand is there and not None."""
        ...

    def read(self, role: str) -> Array:
        """The elements of a tensor operand, of the view's shape.

        The dtype is the storage's, or float32 where the storage is a narrower float. Masked-out
        elements hold anything. Not to be written to: it may be the memory itself.
        """
        ...

    def read_raw(self, role: str) -> Array:
        """As :meth:`read`, always in the storage's own dtype."""
        ...

    def write(self, role: str, array: Array, *, where: NDArray[np.bool_] | None = None) -> None:
        """Store a copy of an array of the view's shape (or that broadcasts to it).

        Converted to the storage's dtype by :func:`verifier.executor.semantics.casts.cast`; an
        array already of that dtype is stored bit for bit. Masked-out elements keep their value,
        and so do those that ``where`` (of the view's shape) leaves out: they do not become
        initialised.
        """
        ...

    def add(self, role: str, array: Array) -> None:
        """Add a float32 array of the view's shape to what is there."""
        ...

    def astray(self, role: str, what: str) -> None:
        """Tell that the numbers of an operand name what is not there; ``what`` says which."""
        ...

    def scalar(self, role: str) -> Any:
        """A number as a Python number, a tile as its array."""
        ...

    def value(self, role: str) -> Any:
        """The operand as bound: enumerator, number, flag, text, tuple; None when absent."""
        ...

    def view(self, role: str) -> View:
        """The view itself. Raises KeyError when the operand is not a tensor."""
        ...

    def shape(self, role: str) -> tuple[int, ...]:
        """The extents of a tensor operand."""
        ...

    def dtype(self, role: str) -> str:
        """The name of a tensor operand's dtype (see :mod:`verifier.hardware.dtypes`)."""
        ...

    def mask(self, role: str) -> NDArray[np.bool_] | None:
        """The elements of a tensor operand that take part; None: all of them."""
        ...

    def accumulates(self, role: str) -> bool | NDArray[np.bool_]:
        """Whether a write adds to what is there, by element where it differs.

        For ``nc_matmul``: the operation's ``accumulates`` made concrete; with
        ``first-overwrites`` the elements that an earlier matmul has written since the tile was
        last overwritten by anything else.
        """
        ...


class SemanticsMissing(Exception):  # noqa: N818 - named for what it says
    """The numbers of an instruction (or of one of its forms) are not modelled."""

    def __init__(self, name: str, detail: str = "") -> None:
        self.name = name
        self.detail = detail
        form = f" ({detail})" if detail else ""
        super().__init__(f"the executor does not run {name}{form}")


Function: TypeAlias = Callable[[Operation, IO], None]

# the engines make infinities and NaN without a word
_quiet = np.errstate(all="ignore")

#: every instruction with a numeric meaning, by canonical name
SEMANTICS: dict[str, Function] = {}


def semantics(*names: str) -> Callable[[Function], Function]:
    """Register a function under canonical names."""

    def register(function: Function) -> Function:
        for name in names:
            assert name not in SEMANTICS, name
            SEMANTICS[name] = _quiet(function)
        return function

    return register
