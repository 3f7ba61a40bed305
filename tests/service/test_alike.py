"""Whatever is configured, the editor says what the command says: both ask the same service."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from tests.lsp.kernels import DOUBLE, HALVE
from verifier.cli.runner import RunOptions, run
from verifier.configuration.model import ConfigurationError, Overrides
from verifier.configuration.settings import Configurations
from verifier.lsp.analysis import Analysis
from verifier.lsp.messages import Check
from verifier.report.model import Diagnostic, FileError, deduplicate

TEXT = (HALVE + DOUBLE).replace(
    "    out =", "    # tilelint: ignore[oversized-tile] -- to be found unused\n    out =", 1
)

CONFIGURED = {
    "nothing": ("", Overrides()),
    "ignored": ('ignore = ["partition-extent"]', Overrides()),
    "selected": ('select = ["partition-extent"]', Overrides()),
    "both": ('select = ["suppression", "host"]\nignore = ["unused-suppression"]', Overrides()),
    "severity": (
        '[severity]\npartition-extent = "error"\nunused-suppression = "note"',
        Overrides(),
    ),
    "contract": ('[contracts]\nhalve = "(x: bf16[128, 512])"', Overrides()),
    "unfit contract": ('[contracts]\nhalve = "(y: bf16[128, 512])"', Overrides()),
    "narrowed": ("", Overrides(contracts=("halve(x: bf16[128, 512])",))),
    "excluded": ('exclude = ["k.py"]', Overrides()),
    "target": ('targets = ["trn1", "trn3"]', Overrides()),
    "above": ('select = ["host"]', Overrides(select=("partition-extent",))),
    "broken": ('select = ["no-such-rule"]\njobs = "x"', Overrides()),
}


def said(
    diagnostics: Iterable[Diagnostic], errors: Iterable[FileError]
) -> tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]:
    return (
        sorted(
            (d.rule, d.kernel, d.severity, d.verdict, d.message, d.span.line, d.suppressed or "")
            for d in deduplicate(diagnostics)
        ),
        sorted((Path(e.path).name, e.line, e.message, e.kind) for e in errors),
    )


@pytest.mark.parametrize("name", CONFIGURED)
def test_editor_and_command_agree(tmp_path: Path, name: str) -> None:
    configuration, overrides = CONFIGURED[name]
    (tmp_path / "tilelint.toml").write_text(configuration, encoding="utf-8")
    path = tmp_path / "k.py"
    path.write_text(TEXT, encoding="utf-8")
    answer = Analysis().check(Check(1, str(path), (str(tmp_path),), {}, overrides))
    assert answer.result is not None
    shown = said(answer.result.diagnostics, answer.result.errors)
    try:
        report = run(RunOptions((str(path),), Configurations(overrides)))
    except ConfigurationError as error:
        assert name == "broken"
        problems = [(Path(p.path).name, p.line, p.message, "usage") for p in error.problems]
        assert shown == ([], sorted(problems))
    else:
        assert shown == said(report.diagnostics, report.errors)
        assert bool(shown[1]) == (name == "unfit contract")


def test_the_configurations_of_the_example_differ(tmp_path: Path) -> None:
    """The comparison above is of something: each configuration changes what is said."""
    path = tmp_path / "k.py"
    path.write_text(TEXT, encoding="utf-8")
    found = set()
    for configuration, overrides in CONFIGURED.values():
        (tmp_path / "tilelint.toml").write_text(configuration, encoding="utf-8")
        answer = Analysis().check(Check(1, str(path), (str(tmp_path),), {}, overrides))
        assert answer.result is not None
        found.add(repr(said(answer.result.diagnostics, answer.result.errors)))
    assert len(found) > len(CONFIGURED) // 2
