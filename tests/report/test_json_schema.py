"""The published schema of the JSON output is that of the types that read it, and says all that is
printed."""

from __future__ import annotations

import copy
import io
import json
import os
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from msgspec.structs import replace

from tests.sweeps import examples
from verifier.cli.runner import RunOptions, run
from verifier.configuration.model import Overrides
from verifier.configuration.settings import Configurations
from verifier.report import json_format
from verifier.report.fingerprints import fingerprinted
from verifier.report.json_reader import _Document
from verifier.report.model import RunReport
from verifier.report.text import Options

from .samples import REPORT, SOURCES
from .strategies import reports
from .test_json_reader import PARTS

FIXTURES = Path(__file__).parents[2] / "fixtures"
PUBLISHED = Path(json_format.__file__).with_name("report.schema.json")

validators = pytest.importorskip("jsonschema.validators")


def schema() -> dict[str, Any]:
    """The JSON schema of the documents that are read."""
    _, parts = msgspec.json.schema_components([_Document], ref_template="#/$defs/{name}")
    text = json.dumps({"$ref": "#/$defs/_Document", "$defs": parts})
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"tilelint check --format json, schema_version {json_format.SCHEMA_VERSION}",
        **json.loads(text.replace('"_', '"').replace("/_", "/")),
    }


def _strict() -> Any:
    """The schema where nothing may be printed that it does not name."""
    found = copy.deepcopy(schema())
    for part in found["$defs"].values():
        part["additionalProperties"] = False
    kind = validators.validator_for(found)
    kind.check_schema(found)
    return kind(found)


STRICT = _strict()


def faults(report: RunReport, *, verbose: bool = True) -> list[str]:
    stream = io.StringIO()
    json_format.render(report, stream, Options(version="1.2.3", statistics=True, verbose=verbose))
    document = json.loads(stream.getvalue())
    return [f"{e.json_path}: {e.message[:200]}" for e in STRICT.iter_errors(document)]


def test_the_published_schema_is_that_of_the_reader() -> None:
    text = json.dumps(schema(), indent=2) + "\n"
    if os.environ.get("TILELINT_UPDATE_SNAPSHOTS") == "1":
        PUBLISHED.write_text(text, encoding="utf-8")
    assert PUBLISHED.read_text(encoding="utf-8") == text


def test_a_report_keeps_to_the_schema() -> None:
    assert faults(replace(fingerprinted(REPORT, SOURCES.get), **PARTS)) == []
    assert faults(RunReport(), verbose=False) == []


@settings(max_examples=examples(40), deadline=None)
@given(reports())
def test_any_report_keeps_to_the_schema(report: RunReport) -> None:
    assert faults(report) == []


def test_what_is_found_keeps_to_the_schema() -> None:
    names = ("nki/bad/output_tail.py", "ppl/bad/crossed_depths.py", "okk/bad/silent_return.py")
    paths = tuple(str(FIXTURES / name) for name in names)
    report = run(RunOptions(paths, Configurations(Overrides(isolated=True)), statistics=True))
    assert {kernel.status for kernel in report.kernels} & {"conditional", "violated"}
    assert faults(report) == []


def test_a_fault_is_seen() -> None:
    stream = io.StringIO()
    json_format.render(REPORT, stream, Options(version="1.2.3"))
    document = json.loads(stream.getvalue())
    for change in ({"schema_version": 1}, {"kernels": None}, {"more": 1}):
        assert list(STRICT.iter_errors({**document, **change})), change
