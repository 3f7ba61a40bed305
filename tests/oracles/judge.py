"""The tool's answers on a kernel and on its twin, against what CPython says."""

from __future__ import annotations

import re
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from tests.frontends import CPYTHON
from tests.oracles.isolated import Failure
from tests.oracles.kernels import PROBE_LINE, Kernel
from verifier.engine.analysis import analyze_file
from verifier.hardware import targets
from verifier.report.model import FileRequest

Side: TypeAlias = Literal["right", "wrong", "unknown", "crash", "hang"]

#: a kernel that is analysed before all others: what is read only once does not count for them
_FIRST = "import nki\n\n\n@nki.jit\ndef kernel(x):\n    return x\n"


@dataclass(frozen=True, slots=True)
class Task:
    """One text to analyse; ``twin`` says that it ought to be refuted."""

    text: str
    twin: bool
    seconds: float


@dataclass(frozen=True, slots=True)
class Answer:
    """What the tool says: ``side`` judges it, ``detail`` are its own words."""

    side: Side
    detail: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Judged:
    """A kernel with the answers on it and on its twin."""

    kernel: Kernel
    probe: Answer
    twin: Answer

    @property
    def right(self) -> bool:
        return self.probe.side == self.twin.side == "right"

    @property
    def wrong(self) -> bool:
        """Something is refuted that holds: the probe, or more of the twin than its assertion."""
        return self.probe.side == "wrong" or (
            self.twin.side == "wrong" and self.twin.detail[0] != "verified"
        )

    @property
    def unsound(self) -> bool:
        return self.twin.side == "wrong" and self.twin.detail[0] == "verified"

    @property
    def failed(self) -> bool:
        return self.probe.side in ("crash", "hang") or self.twin.side in ("crash", "hang")


def warm() -> None:
    """Load what every analysis needs, so that child processes find it loaded."""
    analyze(Task(_FIRST, False, 1.0))


def analyze(task: Task) -> Answer:
    """The tool's answer on one text, judged."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "kernel.py")
        path.write_text(task.text, encoding="utf-8")
        request = FileRequest(
            path=str(path),
            targets=(targets.DEFAULT,),
            timeout=task.seconds,
            ignore=CPYTHON,
        )
        result = analyze_file(request)
    if not result.kernels or result.kernels[0].status == "error":
        said = tuple(error.message for error in result.errors) or ("no kernel found",)
        return Answer("crash", said)
    kernel = result.kernels[0]
    status: str = kernel.status
    if status in ("conditional", "violated"):
        lines = task.text.splitlines()
        found = [d for d in result.diagnostics if d.verdict != "unknown"]
        said = tuple(f"{d.rule} at `{lines[d.span.line - 1].strip()}`: {d.message}" for d in found)
        here = any(
            d.rule == "partition-extent" and lines[d.span.line - 1].startswith(PROBE_LINE)
            for d in found
        )
        return Answer("right" if task.twin and here else "wrong", ("violated", *said))
    if status == "verified":
        return Answer("wrong" if task.twin else "right", ("verified",))
    reasons = tuple(reason.message for reason in kernel.reasons)
    unmodelled = tuple(f"unmodelled: {name}" for name in kernel.calls.unmodelled)
    return Answer("unknown", reasons or unmodelled or (status,))


def answered(result: Answer | Failure) -> Answer:
    """An answer in the place of none."""
    return result if isinstance(result, Answer) else Answer(result, (f"the analysis: {result}",))


def normalized(reason: str) -> str:
    """A reason without the names and numbers that make it one test's own."""
    reason = re.sub(r"`[^`]*`", "`…`", reason)
    reason = re.sub(r"'[^']*'", "'…'", reason)
    reason = re.sub(r'"[^"]*"', '"…"', reason)
    return re.sub(r"\d+", "N", reason)
