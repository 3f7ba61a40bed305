"""Comments that are put into fixtures: they take the finding back, or are removed again."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fixes.support import copied, finish, mend, request
from tests.fixtures.support import bad, good
from tests.sweeps import part, thinned
from verifier.cli.fix import Again
from verifier.engine.suppressions import suppression_edit
from verifier.report.model import PRECONDITION, Edit
from verifier.source.edits import Replacement, replaced

SAMPLE = [
    path
    for path in good()
    if path.stem in ("matmul_tiled", "closure_steps", "factory_scale", "beta1_softmax", "row_norm")
    or path.stem in ("row_totals", "kernel_assert_helper")
]
FAULTY = part(bad(), 3, lambda path: [path.parent])
RULES = ("partition-extent", "dma-size", "slice-bounds", "okk-local-extent", "ppl-sub-view")


def applied(text: str, edit: Edit) -> str:
    place = edit.span
    new = Replacement(place.line, place.column, place.end_line, place.end_column, edit.text)
    return replaced(text, [new])


@pytest.mark.parametrize("path", FAULTY, ids=lambda path: path.stem)
def test_every_finding_can_be_suppressed(path: Path, tmp_path: Path) -> None:
    copy = copied(path, tmp_path)
    again, done = Again([request(copy)]), finish(copy)
    texts: dict[str, str] = {}
    for _ in range(9):
        (result,) = done(again(texts, [str(copy)]), texts)
        # what stands for others goes with them
        left = [d for d in result.diagnostics if d.suppressed is None and d.rule != PRECONDITION]
        assert not [d for d in left if "suppression" in d.rule]
        if not left:
            break
        name = left[0].span.path
        text = texts.get(name) or Path(name).read_text("utf-8")
        texts[name] = applied(text, suppression_edit(text, left[0].span, left[0].rule, "known"))
    assert not left and result.diagnostics
    assert PRECONDITION not in {d.rule for d in result.diagnostics}
    assert {d.suppressed for d in result.diagnostics} == {"known"}
    # a kernel that names no chip is checked for several, and may be right on others
    faults = [d for d in result.diagnostics if d.severity != "note"]
    on = {target for d in faults for target in d.targets}
    statuses = {kernel.status for kernel in result.kernels if kernel.target in on}
    assert statuses and statuses <= {"violated", "conditional"}


@given(
    path=st.sampled_from(SAMPLE),
    where=st.floats(0, 0.999),
    rules=st.lists(st.sampled_from(RULES), min_size=1, max_size=2, unique=True),
    alone=st.booleans(),
    end=st.sampled_from(["\n", "\r\n"]),
)
@settings(
    max_examples=10 // thinned(1),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_what_is_of_no_use_is_removed_again(
    path: Path, where: float, rules: list[str], alone: bool, end: str, tmp_path: Path
) -> None:
    copy = copied(path, tmp_path)
    original = path.read_text("utf-8").replace("\n", end)
    lines = original.split(end)
    number = int(where * (len(lines) - 1))
    comment = f"# tilelint: ignore[{', '.join(rules)}] -- of no use"
    if alone or not lines[number]:
        lines.insert(number, f"  {comment}")
    else:
        lines[number] += f"  {comment}"
    copy.write_bytes(end.join(lines).encode())
    fixing, before, after = mend(copy, write=True)
    assert not fixing.refused and not fixing.errors
    told = [d for d in before.diagnostics if d.rule == "unused-suppression"]
    assert not after.diagnostics or not told
    expected = original.encode() if told else end.join(lines).encode()
    assert copy.read_bytes() == expected
