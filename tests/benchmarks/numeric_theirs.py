"""nki-library's own references, as its tests use them: its torch files, and NumPy in its tests.

They need torch: ``pip install torch==2.13.0`` for the CPU, in an environment of its own if you
like (the project itself does not use it). Files are loaded as kernels are: with the executor's
own ``nki`` in place of the SDK's.
"""

from __future__ import annotations

import importlib.util
import inspect
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import ml_dtypes
import numpy as np

#: a reference's own names (enumerations, for example) by name
Names = dict[str, Any]


@dataclass(frozen=True)
class Theirs:
    """What a test of the library compares a kernel with.

    ``path``: the file in the library; ``name``: the function. ``rtol`` and ``atol``: what that
    test allows, ``|a - b| <= atol + rtol * max(|b|)``, of each result (``rtol``: one for each,
    or one for all). ``given``: more arguments; ``renamed``: parameters with another name there.
    ``results``: their keys if it returns a dictionary. ``compared``: what of our results is
    compared. ``narrow``: it calculates in the dtype of its arguments and not in float32.
    """

    path: str
    name: str
    rtol: float | tuple[float, ...]
    atol: float
    given: Callable[[Names], dict[str, Any]] = lambda names: {}
    renamed: tuple[tuple[str, str], ...] = ()
    results: tuple[str, ...] = ()
    compared: Callable[[Any], Any] | None = None
    narrow: bool = False

    def allowed(self, number: int) -> tuple[float, float]:
        rtol = self.rtol[number] if isinstance(self.rtol, tuple) else self.rtol
        return rtol, self.atol


def available() -> bool:
    return importlib.util.find_spec("torch") is not None


def wanted(root: Path, theirs: Theirs, arguments: dict[str, Any]) -> list[Any]:
    """What the reference says that a kernel returns; ``root``: the library."""
    import torch

    torch.set_num_threads(1)
    function = _load(root, theirs.path, theirs.name)
    keywords = {dict(theirs.renamed).get(k, k): v for k, v in arguments.items()}
    if "torch" in Path(theirs.path).stem:
        keywords = {k: _tensor(v, theirs.narrow) for k, v in keywords.items()}
    keywords.update(theirs.given(function.__globals__))
    known = inspect.signature(function).parameters
    out = function(**{k: v for k, v in keywords.items() if k in known})
    if isinstance(out, dict):
        out = [out[key] for key in theirs.results]
    parts = out if isinstance(out, (list, tuple)) else [out]
    return [_array(part) for part in parts if part is not None]


@cache
def _load(root: Path, path: str, name: str) -> Any:
    from verifier.executor.api import load_kernel
    from verifier.executor.loader import generation_of
    from verifier.hardware import targets

    if "neuron_dtypes" not in sys.modules:  # of the SDK: casts, for references in NumPy
        module: Any = ModuleType("neuron_dtypes")
        module.static_cast = _cast
        sys.modules["neuron_dtypes"] = module
    target = targets.find("trn2")
    assert target is not None
    source = str(root / "src")
    sys.path.insert(0, source)
    try:
        return load_kernel(root / path, name, target, generation_of(root / path)).function
    finally:
        sys.path.remove(source)


def _cast(value: Any, dtype: Any) -> Any:
    from verifier.executor.semantics.casts import NUMPY

    name: str = getattr(dtype, "name", "")
    return value.astype(NUMPY.get(name, dtype))


def _tensor(value: Any, narrow: bool) -> Any:
    """As the library's tests convert arrays: float16 and bfloat16 become float32."""
    import torch

    if not isinstance(value, np.ndarray):
        return value
    if value.dtype == np.uint32:
        value = value.astype(np.int32)
    if value.dtype == ml_dtypes.bfloat16:
        wide = torch.from_numpy(value.astype(np.float32))
        return wide.to(torch.bfloat16) if narrow else wide
    return torch.from_numpy(value.astype(np.float32) if value.dtype == np.float16 else value)


def _array(value: Any) -> Any:
    import torch

    if isinstance(value, torch.Tensor):
        return (value.float() if value.dtype == torch.bfloat16 else value).numpy()
    return np.asarray(value)
