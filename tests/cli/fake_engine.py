"""A stand-in for the analysis engine, so that these tests are about the command only.

It reads a file's directives: ``# error``, ``# warning``, ``# unknown`` make findings, ``# crash``
raises, ``# die`` kills the process, ``# pause`` and ``# sleep`` take long; the latter says so by a
file beside it.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path
from types import ModuleType

from verifier.report.model import (
    Diagnostic,
    FileRequest,
    FileResult,
    KernelReport,
    ObligationCounts,
    Reason,
    Severity,
    Span,
    Status,
)

KERNEL = "import nki\n@nki.jit\ndef {name}(x):\n    return x  # {what}\n"


def analyze_file(request: FileRequest, *, project: object) -> FileResult:
    text = Path(request.path).read_text(encoding="utf-8")
    if "# crash" in text:
        raise RuntimeError("something\nbroke")
    if "# die" in text:
        os.kill(os.getpid(), signal.SIGKILL)
    if "# pause" in text:
        time.sleep(0.3)
    if "# sleep" in text:
        Path(f"{request.path}.begun").touch()
        time.sleep(60)
    name = text.split("def ")[1].split("(")[0]
    severity: Severity | None = None
    for word in ("error", "warning"):
        if f"# {word}" in text:
            severity = "error" if word == "error" else "warning"
    diagnostics: tuple[Diagnostic, ...] = ()
    if severity:
        span = Span(request.path, 4, 4, 4, 12)
        message = " ".join([*request.targets, *request.select, *request.ignore, "found"])
        diagnostics = (
            Diagnostic("partition-extent", "", severity, "sometimes", message, span, name),
        )
    status: Status = "violated" if severity else "verified"
    reasons: tuple[Reason, ...] = ()
    if "# unknown" in text:
        status, reasons = "unknown", (Reason(request.path, 4, "a reason"),)
    target = request.targets[0] if request.targets else "trn2"
    counts = ObligationCounts(3, 2, int(bool(severity)), 0)
    kernel = KernelReport(
        request.path, name, 3, "nki", request.api_version or "0.6", target, status, counts,
        reasons=reasons,
    )  # fmt: skip
    statistics = {"queries": 2, "query_ms": [1.0, 2.0], "tiers": {"ranges": 3}}
    return FileResult(request.path, (kernel,), diagnostics, (), statistics)


def module() -> ModuleType:
    fake = ModuleType("verifier.engine")
    fake.__dict__["analyze_file"] = analyze_file
    fake.__dict__["project_of"] = lambda request, kept: None
    return fake


def write(project: Path, name: str, what: str = "fine") -> None:
    file = project / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(KERNEL.format(name=file.stem, what=what), encoding="utf-8")


if __name__ == "__main__":  # the command with this engine, in a process of its own
    sys.modules["verifier.engine"] = module()
    from verifier.cli.main import main

    sys.exit(main(sys.argv[1:]))
