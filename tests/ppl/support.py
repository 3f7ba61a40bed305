"""Kernels of PPL as the command judges them, and as the interpreter follows them."""

from __future__ import annotations

from pathlib import Path

from verifier.dialects.ppl import PplDialect
from verifier.dialects.ppl.versions import GENERATION
from verifier.engine.analysis import analyze_file
from verifier.hardware import catalogue
from verifier.report import model as report
from verifier.solver.solver import Solver
from verifier.source.discovery import kernel_definition, kernels
from verifier.source.project import Project
from verifier.symbolic import expr as E
from verifier.symbolic.python.entry import Request, Run, interpreted

HEADER = "import ppl\nimport ppl.language as pl\n\n\n"


def check(folder: Path, text: str, target: str = "bm1690") -> report.FileResult:
    """The report of a kernel's file."""
    path = folder / "kernel.py"
    path.write_text(HEADER + text, encoding="utf-8")
    return analyze_file(report.FileRequest(path=str(path), targets=(target,)))


def rules(result: report.FileResult) -> dict[str, str]:
    """Rule -> verdict of the findings; nothing else went wrong."""
    assert not result.errors, result.errors
    return {d.rule: d.verdict for d in result.diagnostics}


def one(result: report.FileResult, rule: str) -> report.Diagnostic:
    """The only finding of a rule."""
    found = [d for d in result.diagnostics if d.rule == rule]
    assert len(found) == 1, [(d.rule, d.message) for d in result.diagnostics]
    return found[0]


def status(result: report.FileResult) -> list[tuple[str, str]]:
    return [(kernel.name, kernel.status) for kernel in result.kernels]


def interpret(folder: Path, text: str, target: str = "bm1690") -> Run:
    """The only run of the only kernel of a text."""
    path = folder / "kernel.py"
    path.write_text(HEADER + text, encoding="utf-8")
    E.fresh_context()
    project = Project((folder,))
    module = project.module(path)
    (entry,) = kernels(project, module)
    definition = kernel_definition(project, entry)
    hardware = catalogue.find(target)
    assert definition is not None and hardware is not None
    request = Request(entry.name, definition, module)
    return interpreted(project, PplDialect(), hardware, GENERATION, request, Solver().decide)
