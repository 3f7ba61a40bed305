"""The reference executor: kernels run on NumPy, judged by the same rules as ``check``.

``simulate`` is the way in from Python; it is imported when it is asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from verifier.executor.api import KernelError, KernelViolation, Simulation, simulate

__all__ = ["KernelError", "KernelViolation", "Simulation", "simulate"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        from verifier.executor import api

        return getattr(api, name)
    raise AttributeError(name)
