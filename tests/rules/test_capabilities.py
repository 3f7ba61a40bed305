"""Rules ask what a target can do, not which one it is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from verifier.engine import analyze_file
from verifier.hardware.capabilities import Capability
from verifier.hardware.chips import CHIPS
from verifier.hardware.targets import TARGETS
from verifier.report.model import FileRequest

RULES = Path(__file__).parents[2] / "rules"
#: what tells the chip with a library from those with a compiler
KINDS = {
    Capability.KERNEL_LIBRARY,
    Capability.COMPILED_KERNELS,
    Capability.STORAGE_MODES,
    Capability.GROUPED_WEIGHTS,
}
_ASKS = re.compile(r"\b(target|chip)\.(generation|isa|arch)\b|\.name\.startswith\(.(bm|sg|trn)")


def test_no_rule_asks_for_a_generation() -> None:
    found = [
        f"{path.name}:{number}"
        for path in RULES.rglob("*.py")
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if _ASKS.search(line)
    ]
    assert not found


def test_each_capability_is_had_by_some_and_not_by_all() -> None:
    tpus = [chip for chip in CHIPS.values() if chip.has(Capability.COMPILED_KERNELS)]
    for capability in Capability:
        chips = CHIPS.values() if capability in KINDS else tpus
        there = {chip.has(capability) for chip in chips}
        here = {target.has(capability) for target in TARGETS.values()}
        assert {True, False} in (there, here), capability
        assert {False} in (there, here), capability


@pytest.mark.parametrize(
    ("targets", "severities"),
    [((), {"warning"}), (("trn2",), {"error"}), (("trn3",), set[str]())],
)
def test_what_a_target_has_not_is_an_error_where_one_is_named(
    targets: tuple[str, ...], severities: set[str]
) -> None:
    path = RULES.parent / "fixtures" / "nki" / "bad" / "mx_on_trn2.py"
    request = FileRequest(path=str(path), targets=targets, select=("target-feature",))
    assert {found.severity for found in analyze_file(request).diagnostics} == severities
