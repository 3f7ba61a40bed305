"""What the lines of the numeric table are made of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import ml_dtypes
import numpy as np

from tests.benchmarks.numeric_theirs import Theirs

BF16: Final = np.dtype(ml_dtypes.bfloat16)
E5M2: Final = np.dtype(ml_dtypes.float8_e5m2)
E4M3: Final = np.dtype(ml_dtypes.float8_e4m3fn)
F32: Final = np.dtype(np.float32)
F16: Final = np.dtype(np.float16)

#: the tolerance of arithmetic whose operands, intermediates or results have this dtype: a few
#: units in the last place of what is rounded (8, 11 and 24 significant bits); float8: half of one,
#: of 4 significant bits
TOLERANCE: Final[dict[str, float]] = {
    "float32": 2e-5,
    "float16": 2e-3,
    "bfloat16": 2e-2,
    "float8": 2**-4,
}

Make = Callable[[Any], dict[str, Any]]


@dataclass(frozen=True)
class Entry:
    """One line of the table. ``tolerance``: a dtype of :data:`TOLERANCE`, or ``exact``.

    ``call``: the source of a kernel of this name that calls the one of ``path`` with settings that
    are not arrays. ``after``: what becomes of the results before they are compared. ``theirs``: a
    reference by the authors of the kernel, compared as well if torch is there.
    """

    path: str
    kernel: str
    make: Make
    reference: Callable[..., Any]
    tolerance: str = "float32"
    grid: tuple[int, ...] = ()
    target: str = "trn2"
    api: str | None = None
    call: str = ""
    after: Callable[[Any], Any] | None = None
    theirs: Theirs | None = None


# ------------------------------------------------------------------------------- inputs


def normal(dtype: Any = F32, **shapes: tuple[int, ...]) -> Make:
    """Standard normal tensors, by name."""

    def make(rng: Any) -> dict[str, Any]:
        return {k: rng.standard_normal(s, np.float32).astype(dtype) for k, s in shapes.items()}

    return make


def counted(dtype: Any, **shapes: tuple[int, ...]) -> Make:
    """Whole numbers in order: no two elements that are moved are alike (int8: nearly)."""

    def make(rng: Any) -> dict[str, Any]:
        return {k: np.arange(int(np.prod(s))).astype(dtype).reshape(s) for k, s in shapes.items()}

    return make


def plus(make: Make, **more: Any) -> Make:
    """The same and other arguments; callables are called with the generator."""

    def both(rng: Any) -> dict[str, Any]:
        out = make(rng)
        out.update({k: v(rng) if callable(v) else v for k, v in more.items()})
        return out

    return both


def f(x: Any) -> Any:
    """In double precision."""
    return np.asarray(x).astype(np.float64)
