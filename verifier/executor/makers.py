"""Decorators that make kernels of functions, as far as a dialect has none of its own."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable
from typing import Any

from verifier.executor.session import Kernel
from verifier.symbolic.values import ApiRef


def made_kernel(
    ref: ApiRef, args: tuple[Any, ...], keywords: dict[str, Any], *, typed: bool
) -> Any:
    """``@jit``, ``@jit(...)`` and, ``typed``, ``@kernel(Params)``: what tunes is left out."""
    if typed and args and isinstance(args[0], type):
        structure = args[0]
        return lambda function: Kernel(function, structure)
    if args and callable(args[0]):
        return _kernel(args[0], typed)
    return lambda function: _kernel(function, typed)


def _kernel(function: Callable[..., Any], typed: bool) -> Kernel:
    return Kernel(function, structure_of(function) if typed else None)


def structure_of(function: Callable[..., Any]) -> type | None:
    """The class of a kernel's only parameter, whose fields are its inputs; None if it has none."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return None
    if len(parameters) != 1:
        return None
    annotation = parameters[0].annotation
    if isinstance(annotation, str):
        annotation = getattr(function, "__globals__", {}).get(annotation.strip("'\""))
    if isinstance(annotation, type) and dataclasses.is_dataclass(annotation):
        return annotation
    return None
