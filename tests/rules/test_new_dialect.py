"""A dialect is added by its package, two entries and the meanings of its instructions."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.commands import ROOT, python
from tests.rules.made_up.interpreter import DESCRIPTOR
from tests.trees import copied

_MADE_UP = ROOT / "tests/rules/made_up"
#: what is told of it in the files that list dialects: after what, and what
_ENTRIES = {
    "verifier/dialects/__init__.py": (
        "\nregister(APIS)\n",
        "from verifier.dialects.made_up.api import API as MADE_UP\n\nregister((MADE_UP,))\n",
    ),
    "verifier/dialects/registry.py": (
        "from verifier.dialects.descriptor import DialectDescriptor\n",
        "from verifier.dialects.made_up.interpreter import DESCRIPTOR as MADE_UP\n",
    ),
}
_END_OF_DIALECTS = "        ),\n    )\n}\n"

_MEANINGS = """

@semantics("vec.move")
def vec_move(op: Operation, io: IO) -> None:
    put(io, "dst", reading(io, "src"))


@semantics("vec.scale")
def vec_scale(op: Operation, io: IO) -> None:
    put(io, "dst", reading(io, "src") * np.float32(io.scalar("factor")))
"""

_RULES = '''"""Rules for the dialect that is made up."""

from __future__ import annotations

from collections.abc import Iterator

from verifier.hardware.targets import Target
from verifier.rulebase import On, Rule, register
from verifier.symbolic.checks import Check
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Expr
from verifier.symbolic.trace import Operation


def _factor(op: Operation, target: Target) -> Iterator[Check]:
    factor = op.value("factor")
    if isinstance(factor, Expr):
        yield Check(
            predicate=E.ge(factor, 1),
            span=op.span_of("factor"),
            text="factor >= 1",
            message="the factor is not positive",
            facts=("VEC-02", "NKI-P01"),
            values=(("factor", factor),),
        )


register(
    Rule(
        id="vec-factor",
        code="VEC101",
        family="operands",
        summary="factors are positive",
        reason="The unit counts them down.",
        facts=("VEC-02",),
        on=On.OPERATION,
        dialects=("vec",),
        concerns=lambda i: i.role("factor") is not None,
        check=_factor,
        sources=("none",),
        failing="",
        passing="",
    )
)
'''

_KERNEL = """
import vec


# tilelint: contract (x: fp32[64, 24], n: {least}..9)
@vec.kernel
def scaled(x, n):
    out = vec.output((64, 24))
    held = vec.tile((64, 40))
    vec.move(held[:, 0:{columns}], x)
    vec.{call}
    vec.move(out, held[:, 0:24])
    return out
"""
_SCALE = "scale(held[:, 0:24], held[:, 0:24], n)"


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program with a dialect more."""
    top = copied(tmp_path_factory.mktemp("dialect"))
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(_MADE_UP, top / "verifier/dialects/made_up", ignore=ignored)
    for name, (after, entry) in _ENTRIES.items():
        path = top / name
        head, mark, tail = path.read_text(encoding="utf-8").partition(after)
        assert mark, name
        path.write_text(f"{head}{mark}{entry}{tail}", encoding="utf-8")
    registry = top / "verifier/dialects/registry.py"
    head, mark, tail = registry.read_text(encoding="utf-8").partition(_END_OF_DIALECTS)
    assert mark
    entry = "        ),\n        MADE_UP,\n    )\n}\n"
    registry.write_text(f"{head}{entry}{tail}", encoding="utf-8")
    with (top / "verifier/executor/semantics/elementwise.py").open("a", encoding="utf-8") as file:
        file.write(_MEANINGS)
    (top / "rules/vec.py").write_text(_RULES, encoding="utf-8")
    return top


def written(folder: Path, **changes: object) -> Path:
    path = folder / "kernel.py"
    usual: dict[str, object] = {"least": 1, "columns": 24, "call": _SCALE}
    path.write_text(_KERNEL.format(**{**usual, **changes}), encoding="utf-8")
    return path


def checked(tree: Path, path: Path, *more: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The report of the only kernel, and what is found."""
    done = python(
        *("-m", "verifier", "check", "--no-cache", "--format", "json", *more, path),
        cwd=tree,
        tree=tree,
    )
    assert done.stdout, done.stderr
    report = json.loads(done.stdout)
    assert report["errors"] == []
    [kernel] = report["kernels"]
    return kernel, report["diagnostics"]


def test_what_follows_from_its_descriptor_is_not_said_again() -> None:
    assert DESCRIPTOR.packages == {"vec"}
    assert DESCRIPTOR.spoken("vec") == "Vec"
    assert [target.name for target in DESCRIPTOR.targets((), "scaled", list, {}, ())] == ["trn2"]


def test_its_kernels_are_found(tree: Path, tmp_path: Path) -> None:
    listed = python("-m", "verifier", "kernels", written(tmp_path), cwd=tree, tree=tree).stdout
    assert "scaled" in listed and "vec" in listed


def test_its_kernels_are_verified(tree: Path, tmp_path: Path) -> None:
    kernel, found = checked(tree, written(tmp_path))
    assert (kernel["dialect"], kernel["api_version"], kernel["target"]) == ("vec", "vec", "trn2")
    assert (kernel["status"], found) == ("verified", [])
    assert kernel["calls"]["modelled"] == kernel["calls"]["total"] > 0


def test_a_rule_of_its_own_judges_them(tree: Path, tmp_path: Path) -> None:
    _, found = checked(tree, written(tmp_path, least=0), "--replay", "--ignore", "precondition")
    [finding] = found
    assert finding["rule"] == "vec-factor"
    assert finding["facts"] == ["02"]  # in short, and none of another dialect
    assert finding["counterexample"]["n"] == 0
    assert finding["replay"] == "confirmed"


@pytest.mark.parametrize(
    ("changes", "rule", "facts"),
    [
        ({"columns": "20"}, "uninitialised-read", ["01"]),
        ({"call": "scale(held[:, 0:24], held[:, 0:25], n)"}, "uninitialised-read", ["01"]),
        ({"call": "move(held, 1 / 0)"}, "division-by-zero", None),
    ],
    ids=["partly", "beyond", "python"],
)
def test_rules_of_everybody_judge_them(
    tree: Path, tmp_path: Path, changes: dict[str, str], rule: str, facts: list[str] | None
) -> None:
    _, found = checked(tree, written(tmp_path, **changes))
    assert rule in {finding["rule"] for finding in found}
    said = [finding["facts"] for finding in found if finding["rule"] == rule]
    assert facts is None or said == [facts]


def test_what_it_does_not_have_is_unknown(tree: Path, tmp_path: Path) -> None:
    for call in ("scale(held)", "tile(held)"):
        kernel, _ = checked(tree, written(tmp_path, call=call))
        assert kernel["status"] == "unknown"
        assert kernel["calls"]["unmodelled"]


def test_its_kernels_run(tree: Path, tmp_path: Path) -> None:
    program = f"""
import numpy as np
from verifier.executor import simulate
x = np.arange(64 * 24, dtype=np.float32).reshape(64, 24)
found = simulate({f"{written(tmp_path)}::scaled"!r})(x, 3)
assert np.array_equal(found, x * 3), found
"""
    done = python("-c", program, cwd=tree, tree=tree)
    assert done.returncode == 0, done.stderr


def test_what_it_means_nothing_for_is_refused(tree: Path, tmp_path: Path) -> None:
    path = written(tmp_path, call="scale(held)")
    done = python(
        *("-m", "verifier", "run", f"{path}::scaled", "--arg", "x=fp32[64,24]", "--arg", "n=3"),
        cwd=tree,
        tree=tree,
    )
    assert done.returncode == 2, done.stdout
    assert "vec.scale" in done.stdout + done.stderr


def test_its_functions_are_offered(tree: Path) -> None:
    program = (
        "from verifier.engine.functions import offered\n"
        "found = offered('import vec', 'vec.sc', 6)\n"
        "print([(each.name, each.parameters) for each in found])\n"
    )
    done = python("-c", program, cwd=tree, tree=tree)
    assert done.stdout.strip() == str([("scale", "(dst, src, factor=1)")]), done.stderr
