"""The 36 errors of Beta 1: each has a rule, a kernel that breaks it and a name to look it up by."""

from __future__ import annotations

import json

import pytest

from rules.beta1 import TWINS
from rules.coverage import coverage
from rules.errors import ERRORS, OldError, look_up
from verifier.cli.main import main
from verifier.engine import analyze_source
from verifier.report.model import Diagnostic
from verifier.rulebase import all_rules


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: error.name)
def test_each_has_a_rule_and_an_example(error: OldError) -> None:
    [row] = [row for row in coverage() if row.fact == error.fact]
    assert row.rule is not None
    own = error.fact.removeprefix("NKI-")
    facts = {own, row.why.removeprefix("as NKI-")}
    if own == "E28":
        facts.add("X63")  # that row's half of index arrays
    shown = {rule: [t for t in twins if t.fact in facts] for rule, twins in TWINS.items()}
    by = {rule for rule, twins in shown.items() if twins}
    assert by and by <= set(row.rule.split(", "))
    assert all(t.api == "beta1" for twins in shown.values() for t in twins)


def test_the_examples_are_those_of_the_rules() -> None:
    rules = {rule.id: rule for rule in all_rules()}
    for name, twins in TWINS.items():
        assert set(twins) <= set(rules[name].twins), name


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: error.name)
def test_each_is_found_by_its_name(error: OldError) -> None:
    words = error.name.removeprefix("err_").split("_")
    camel = "E" + "".join(word.capitalize() for word in words)
    for text in (error.name, error.name.replace("_", "-"), f"nki.errors.{error.name}", camel):
        assert look_up(text) == (error,), text
    for said in error.said:
        assert error in look_up(f"Error: {said.replace('...', 'x[128, 512]')} y."), said


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("EOutOfBounds..", ["tensor_access_out_of_bound"]),
        ("err_num_partition", ["num_partition_exceed_arch_limit", "num_partition_mismatch"]),
        (
            "Error: Out-of-bound access for tensor `x` on dimension 1: index range [0, 4095] "
            "exceed dimension size of 4000",
            ["tensor_access_out_of_bound"],
        ),
        (
            "number of partitions 256 exceed architecture limitation of 128.",
            ["num_partition_exceed_arch_limit"],
        ),
        (
            "'tmp' is referenced outside of its parent scope ...",
            ["local_variable_used_out_of_scope"],
        ),
        ("no_such_error", []),
        ("E", []),
    ],
)
def test_a_part_of_a_name_or_a_message_will_do(text: str, names: list[str]) -> None:
    assert [error.name.removeprefix("err_") for error in look_up(text)] == names


def test_explain_takes_them(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "EOutOfBounds.."]) == 0
    text = capsys.readouterr().out
    assert "err_tensor_access_out_of_bound" in text and "NKI-E28" in text
    assert "`slice-bounds`" in text and "mask=" in text
    assert main(["explain", "err_num_partition"]) == 0
    text = capsys.readouterr().out
    assert "`partition-extent`" in text and "`partition-mismatch`" in text
    assert main(["explain", "err_unsupported_memory", "--format", "json"]) == 0
    [error] = json.loads(capsys.readouterr().out)["errors"]
    assert error["name"] == "err_unsupported_memory" and "operand-buffers" in error["rules"]
    assert main(["explain", "no_such_error"]) == 2


# ------------------------------------------------------------------------------- limits

HEAD = """\
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


"""
KERNEL = """\
@nki.jit
def kernel(x, rows):
    assert x.shape == (96, 40) and x.dtype == nl.float32
    assert rows.shape == (96, 1) and rows.dtype == nl.int32
    out = nl.ndarray((96, 40), dtype=nl.float32, buffer=nl.shared_hbm)
    row = nl.arange(96)[:, None]
    column = nl.arange(40)[None, :]
    tile = nl.load(x)
    nl.store(out, tile)
"""


def findings(body: str, before: str = "") -> list[Diagnostic]:
    lines = "".join(f"    {line}\n" for line in body.strip("\n").splitlines())
    result = analyze_source(f"{HEAD}{before}{KERNEL}{lines}    return out\n", api_version="beta1")
    assert not result.errors
    return list(result.diagnostics)


def found(body: str, before: str = "") -> set[str]:
    return {diagnostic.rule for diagnostic in findings(body, before)}


def test_a_loop_on_the_device_is_entered_without_a_condition() -> None:
    body = "count = nl.load(x[0:1, 0:1])\ngoing = {}\nwhile going:\n    going = count < 10.0"
    assert "device-condition" in found(body.format("count < 10.0"))
    # its condition is of the loop, whatever trip has made it
    assert {"device-condition", "beta1-scope"}.isdisjoint(found(body.format("True")))


def test_the_first_trip_of_a_loop_that_is_entered_is_gone() -> None:
    body = "count = nl.load(x[0:1, 0:1])\nwhile True:\n    nl.store(out, tail)\n    {}: break"
    told = [d for d in findings(body.format("if count < 3.0")) if d.severity == "error"]
    assert {"unbound-name", "device-condition"} <= {d.rule for d in told}


@pytest.mark.parametrize("picks", ["dma_copy", "load"])
def test_a_grid_beside_an_index_of_the_device_is_one_for_a_copy_only(picks: str) -> None:
    body = "p, f = nl.mgrid[0:96, 0:40]\nindex = nl.load(rows)\n"
    if picks == "load":
        assert found(f"{body}nl.store(out, nl.load(x[index[p, 0], f]))") == {"beta1-runtime-index"}
    else:
        body += "into = nl.ndarray((96, 40), dtype=nl.float32, buffer=nl.sbuf)\n"
        copy = "nisa.dma_copy(dst=into[p, f], src=x[index[p, 0], f])\nnl.store(out, into)"
        assert "beta1-runtime-index" not in found(body + copy)


@pytest.mark.parametrize(
    ("mask", "fits"),
    [
        ("column < 20", True),
        ("row + 2 * column + 1 < x.shape[1]", True),
        ("(row < 3) & (column < 20)", True),
        ("x.shape[0] % 4 == 0", True),
        ("column < x.shape[0] // 3", True),
        ("column // 2 < 10", False),
        ("row * column < 10", False),
        ("~((row < 3) & (column < 20))", False),
    ],
)
def test_masks_are_affine(mask: str, fits: bool) -> None:
    store = f"nl.store(out[row, column], tile[row, column], mask={mask})"
    assert ("beta1-mask" not in found(store)) is fits


def test_branches_on_what_the_trace_knows_have_no_tensors_of_their_own() -> None:
    body = "if {}:\n    more = nl.load(x)\nelse:\n    more = tile\nnl.store(out, more)"
    assert found(body.format("x.shape[0] > 3")) == set()
    inside = "\n".join(f"    {line}" for line in body.format("k > 3").splitlines())
    assert "beta1-scope" in found(f"for k in nl.sequential_range(8):\n{inside}")


def test_a_loop_that_is_unrolled_keeps_what_it_makes() -> None:
    body = "for k in nl.{}(4):\n    more = nl.load(x)\nnl.store(out, more)"
    assert "beta1-scope" in found(body.format("affine_range"))
    assert "beta1-scope" not in found(body.format("static_range"))


def test_functions_of_a_module_may_be_called_from_kernels() -> None:
    helper = "def ones():\n    return nl.ones((96, 40), dtype=nl.float32, buffer=nl.sbuf)\n\n\n"
    assert found("nl.store(out, tile + ones())", helper) == set()
    assert found("", f"{helper}ONES = nl.ones((96, 40), nl.float32, buffer=nl.sbuf)\n\n\n") == {
        "outside-kernel"
    }


def test_a_kernel_of_the_older_form_writes_its_parameters() -> None:
    text = (
        HEAD + "@nki.jit\ndef kernel(x, out):\n    nl.store(out[0:8, 0:8], nl.load(x[0:8, 0:8]))\n"
    )
    [told] = [d for d in analyze_source(text).diagnostics if d.rule == "parameter-update"]
    assert (told.severity, told.facts) == ("note", ("B26", "E09"))


def test_the_compiler_splits_what_the_vector_engine_transposes() -> None:
    turned = "nl.store(out, nisa.nc_transpose(nisa.nc_transpose({}, engine=nisa.engine.vector)))"
    assert found(turned.format("tile")) == set()


@pytest.mark.parametrize(("use", "severity"), [("line[...]", "error"), ("line", "note")])
def test_a_tile_is_looked_at_where_it_is_used(use: str, severity: str) -> None:
    made = "    line = nl.ndarray((96,), dtype=nl.float32, buffer=nl.sbuf)\n"
    text = f"{HEAD}{KERNEL}{made}    {use} = nl.load(x[0:96, 0])\n    nl.store(out, tile)\n"
    [told] = [d for d in analyze_source(text).diagnostics if d.rule == "tile-rank"]
    assert told.severity == severity


@pytest.mark.parametrize("op", ["tile - tile", "-tile", "tile < 3.0"])
def test_tiles_have_no_operators_since_beta_1(op: str) -> None:
    text = f"{HEAD}{KERNEL}    nl.store(out, {op})\n    return out\n".replace("neuronxcc.", "")
    text = text.replace("    row = nl.arange(96)[:, None]\n", "")
    text = text.replace("    column = nl.arange(40)[None, :]\n", "")
    result = analyze_source(text, api_version="0.3")
    [told] = [d for d in result.diagnostics if d.rule == "api-removed"]
    assert told.facts == ("L55",)
    assert "L55" not in {fact for d in findings(f"nl.store(out, {op})") for fact in d.facts}
