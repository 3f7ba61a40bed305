"""From one file to its verdicts: discovery, interpretation, rules, solver, diagnostics."""

from __future__ import annotations

from verifier.engine.analysis import analyze_file, analyze_source

__all__ = ["analyze_file", "analyze_source"]
