"""From one file to its verdicts: discovery, interpretation, rules, solver, diagnostics."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from verifier.engine.analysis import analyze_file, analyze_source, project_of

__all__ = ["analyze_file", "analyze_source", "project_of"]


def __getattr__(name: str) -> object:
    """Import the analysis when it is asked for: what is known already needs none of it."""
    if name in __all__:
        from verifier.engine import analysis

        return getattr(analysis, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
