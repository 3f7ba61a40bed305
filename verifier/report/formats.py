"""The output formats by name. A renderer's module is imported when it is used.

To add a format: a module with ``render(report, stream, options)``, and its name here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TextIO, TypeAlias

from verifier.report.model import RunReport
from verifier.report.text import Options

Renderer: TypeAlias = Callable[[RunReport, TextIO, Options], None]

FORMATS: Mapping[str, str] = {
    "full": "verifier.report.full",
    "concise": "verifier.report.concise",
    "json": "verifier.report.json_format",
    "sarif": "verifier.report.sarif",
    "github": "verifier.report.github",
    "junit": "verifier.report.junit",
}

#: Formats that need an optional package: its module, and the extra that brings it.
NEEDS: Mapping[str, tuple[str, str]] = {"junit": ("junitparser", "junit")}


def renderer(name: str) -> Renderer:
    """The renderer of a format; KeyError for an unknown name."""
    render: Renderer = import_module(FORMATS[name]).render
    return render
