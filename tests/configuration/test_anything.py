"""Whatever a configuration says, the answer is settings or mistakes with lines."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from verifier.configuration.grammar import parse
from verifier.configuration.model import ConfigurationError, Resolved
from verifier.configuration.settings import Configurations
from verifier.configuration.table import SETTINGS, said_of
from verifier.rulebase import all_rules
from verifier.service.policy import Policy

# once, not inside the first example
all_rules()
parse("k()")

WORDS = st.sampled_from(
    ["", "trn2", "0.6", "matmul", "all", "note", "gemm", "a/::gemm", "(a: bf16[K])", "gemm(a: 3)",
     "!", "/", "x\\", "**", "[", "\0", "k/*.py", "..", "~", "é" * 40]
)  # fmt: skip
VALUES = st.recursive(
    WORDS | st.integers(-2, 3) | st.floats() | st.booleans(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=6,
)
KEYS = st.sampled_from([*(setting.key for setting in SETTINGS), "overrides", "other"])
OVERRIDE = st.dictionaries(KEYS | st.just("paths"), VALUES, max_size=3)


def toml(value: Any) -> str:
    """A value in one line."""
    if isinstance(value, dict):
        inner = ", ".join(f"{json.dumps(key)} = {toml(v)}" for key, v in value.items())
        return f"{{ {inner} }}"
    if isinstance(value, list):
        return f"[{', '.join(map(toml, value))}]"
    return repr(value) if isinstance(value, float) else json.dumps(value)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=st.dictionaries(KEYS, VALUES | st.lists(OVERRIDE, max_size=2), max_size=4))
def test_settings_or_mistakes(root: Path, content: dict[str, Any]) -> None:
    lines = [f"{key} = {toml(value)}" for key, value in content.items()]
    (root / "tilelint.toml").write_text("\n".join(lines), encoding="utf-8")
    found: Resolved | None = None
    try:
        found = Configurations().for_file("k/gemm.py")
    except ConfigurationError as error:
        for problem in error.problems:
            assert 1 <= problem.line <= len(lines)
            assert "\n" not in str(problem)
    if found is None:
        return
    policy = Policy(Configurations())
    policy.settled("k/gemm.py")
    policy.request("k/gemm.py", ())
    for said in said_of(found).values():
        for entry in said.entries:
            assert entry.origin.source == "default" or 1 <= entry.origin.line <= len(lines)


@pytest.mark.parametrize("path", ["", ".", "..", "/", "a\0b.py", "x" * 5000])
def test_any_path(root: Path, path: str) -> None:
    assert Configurations().for_file(path).settings.timeout == 60
