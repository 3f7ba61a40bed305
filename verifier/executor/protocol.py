"""What passes between the command and the process that runs a kernel: two JSON files."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any, Final

from msgspec import Struct, convert, field, to_builtins

from verifier.executor.arguments import Argument, ArgumentKind
from verifier.report import model as report

REQUEST: Final = "request.json"
REPLY: Final = "reply.json"
ARRAYS: Final = "arrays.npz"
#: where the process was when it ended, or when its time was up: a traceback
TRACE: Final = "trace.txt"
#: asks the process to write down where it is
ASK: Final = signal.SIGUSR1


class Request(Struct):
    """A kernel to run in a process of its own. ``timeout`` in seconds, ``memory`` in MB."""

    path: str
    name: str
    arguments: dict[str, Argument]
    target: str
    api_version: str | None = None
    grid: tuple[int, ...] = ()
    seed: int = 0
    shapes_only: bool = False
    keep_going: bool = False
    loop_order: str = "forward"
    timeout: float = 60.0
    memory: int = 4096

    def write(self, path: Path) -> None:
        path.write_text(json.dumps(to_builtins(self)), encoding="utf-8")

    @staticmethod
    def read(path: Path) -> Request:
        fields = json.loads(path.read_text(encoding="utf-8"))
        fields["arguments"] = {k: _argument(v) for k, v in fields["arguments"].items()}
        fields["grid"] = tuple(fields["grid"])
        return Request(**fields)


class Reply(Struct):
    """What came of it. ``ended``: kind, message, path, line (0: no line).

    ``doubts``: findings, if a check of all inputs has them, too. ``unsettled``: rules that were not
    decided everywhere in the run. ``cores``: on how many the kernel ran, and how many the chip has,
    where it asks which one it is on.
    """

    diagnostics: list[report.Diagnostic] = field(default_factory=list)
    doubts: list[report.Diagnostic] = field(default_factory=list)
    ended: tuple[str, str, str, int] | None = None
    outputs: list[tuple[str, tuple[int, ...]]] = field(default_factory=list)
    api_version: str = ""
    operations: int = 0
    unsettled: list[str] = field(default_factory=list)
    cores: tuple[int, int] | None = None

    def write(self, path: Path) -> None:
        part = path.with_suffix(".part")
        part.write_text(json.dumps(to_builtins(self)), encoding="utf-8")
        part.rename(path)

    @staticmethod
    def read(path: Path) -> Reply:
        fields = json.loads(path.read_text(encoding="utf-8"))
        for name in ("diagnostics", "doubts"):
            fields[name] = [_diagnostic(item) for item in fields[name]]
        if fields["ended"] is not None:
            fields["ended"] = tuple(fields["ended"])
        if fields["cores"] is not None:
            fields["cores"] = tuple(fields["cores"])
        fields["outputs"] = [(name, tuple(shape)) for name, shape in fields["outputs"]]
        return Reply(**fields)


def _argument(fields: dict[str, Any]) -> Argument:
    value = fields["value"]
    if isinstance(value, list):
        value = [_argument(item) if isinstance(item, dict) else item for item in value]
    kind = ArgumentKind(fields["kind"])
    if kind is ArgumentKind.TUPLE:
        kind, value = ArgumentKind.VALUE, tuple(value)
    return Argument(kind, value, fields["dtype"], tuple(fields["shape"]))


def _diagnostic(fields: dict[str, Any]) -> report.Diagnostic:
    fields["span"] = report.Span(**fields["span"])
    fields["labels"] = tuple(
        report.Label(report.Span(**label["span"]), label["text"]) for label in fields["labels"]
    )
    fields["subject"] = convert(fields["subject"], report.Subject | None)
    for name in ("facts", "notes", "help", "targets"):
        fields[name] = tuple(fields[name])
    return report.Diagnostic(**fields)
