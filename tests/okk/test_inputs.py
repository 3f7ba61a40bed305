"""What kernels are given, and what contracts say about it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.okk.support import check, interpret, operations, tensor_of
from verifier.source.discovery import kernels
from verifier.source.project import Project
from verifier.symbolic import expr as E
from verifier.symbolic.lanes import SystemTensor
from verifier.symbolic.pretty import pretty
from verifier.symbolic.tensors import StorageKind

STRUCTURE = """\
@dataclass
class Scaling:
    result: okk.SystemAddr
    given: okk.SystemAddr
    rows: int
    twice: bool = False
    factor: float = 2.0


"""
BODY = """\
    shape = okk.dim4({0}rows, 3, 2, 10)
    okk.gdma_32bit_cpy_S2L(0, {0}given, shape, None, None)
    if {0}twice:
        okk.bdc_mul_C(0, 0, {0}factor, shape, None, None)
    okk.gdma_32bit_cpy_L2S({0}result, 0, shape, None, None)
"""
BY_DECORATOR = STRUCTURE + "@okk.kernel(Scaling)\ndef scaled(args):\n" + BODY.format("args.")
BY_ANNOTATION = STRUCTURE + "@okk.kernel\ndef scaled(args: Scaling):\n" + BODY.format("args.")
BY_PARAMETERS = (
    "@okk.kernel\ndef scaled(result: okk.SystemAddr, given: okk.SystemAddr, rows: int, twice: bool,"
    " factor: float):\n" + BODY.format("")
)
STARRED = ("from okk import *\n\n\n" + BY_DECORATOR).replace("okk.SystemAddr", "SystemAddr")


@pytest.mark.parametrize("text", [BY_DECORATOR, BY_ANNOTATION, BY_PARAMETERS, STARRED])
def test_inputs_are_named_as_users_name_them(tmp_path: Path, text: str) -> None:
    run = interpret(tmp_path, text)
    assert run.ended is None and not run.trace.ledger
    load, _, store = run.trace.operations
    source, target = tensor_of(load, "src"), tensor_of(store, "dst")
    assert isinstance(source, SystemTensor) and isinstance(target, SystemTensor)
    assert (source.address.storage.name, target.address.storage.name) == ("given", "result")
    assert pretty(source.shape[0]) == "rows"
    assert [s.kind for s in run.trace.storages] == [StorageKind.INPUT, StorageKind.INPUT]
    (flagged,) = operations(run, "bdc_mul_C")
    assert flagged.path == (E.bool_symbol("twice"),)


def test_what_has_no_annotation_is_what_it_is_used_as(tmp_path: Path) -> None:
    text = "@okk.kernel\ndef scaled(result, given, rows, twice, factor):\n" + BODY.format("")
    run = interpret(tmp_path, text)
    assert not [c for c in run.checks if c.rule == "okk-signature"]
    assert sorted(s.name for s in run.trace.storages) == ["given", "result"]


def test_a_structure_of_a_base_class_and_another_file(tmp_path: Path) -> None:
    (tmp_path / "common.py").write_text(
        "from dataclasses import dataclass\nimport okk\n\n\n@dataclass\nclass Base:\n"
        "    result: okk.SystemAddr\n    given: okk.SystemAddr\n",
        encoding="utf-8",
    )
    text = (
        "from common import Base\n\n\n@dataclass\nclass More(Base):\n    rows: int\n"
        "    twice: bool\n    factor: float\n\n\n@okk.kernel(More)\ndef scaled(args):\n"
        + BODY.format("args.")
    )
    assert len(interpret(tmp_path, text).trace.storages) == 2
    contract = "scaled(rows: 4, result: fp32[rows, 3, 2, 10])"
    (kernel,) = check(tmp_path, text, contract).kernels
    assert kernel.status != "error"


@pytest.mark.parametrize("text", [BY_DECORATOR, BY_ANNOTATION, BY_PARAMETERS, STARRED])
def test_contracts_speak_of_inputs(tmp_path: Path, text: str) -> None:
    contract = "scaled(result: fp32[rows, C, 2, 10], rows: 2..9, given: fp32[rows, C, 2, 10], "
    contract += "twice: True, factor: 0.5) where C == 3"
    (kernel,) = check(tmp_path, text, contract).kernels
    assert kernel.status != "error"
    assert "C == 3" in kernel.assumptions
    (tmp_path / "kernel.py").unlink()
    bad = check(tmp_path, text, "scaled(columns: 3)")
    assert [k.status for k in bad.kernels] == ["error"]
    assert "no parameter `columns`" in bad.errors[0].message


def test_a_buffer_has_the_extent_that_a_contract_says(tmp_path: Path) -> None:
    text = "# tilelint: contract (rows: 2..9, given: fp32[rows, 3, 2, 9])\n"
    text = BY_DECORATOR.replace("@okk.kernel", text + "@okk.kernel")
    found = [d for d in check(tmp_path, text).diagnostics if d.rule == "okk-system-extent"]
    assert [d.verdict for d in found] == ["always"]
    enough = text.replace("2, 9]", "2, 10]")
    found = [d for d in check(tmp_path, enough).diagnostics if d.rule == "okk-system-extent"]
    assert not found


def test_kernels_with_structures_are_listed(tmp_path: Path) -> None:
    path = tmp_path / "kernel.py"
    path.write_text("import okk\nfrom dataclasses import dataclass\n" + BY_DECORATOR, "utf-8")
    project = Project((tmp_path,))
    (entry,) = kernels(project, project.module(path))
    assert (entry.name, entry.dialect, entry.how.value) == ("scaled", "okk", "decorator")


def test_a_wrong_call_is_judged_and_the_rest_goes_on(tmp_path: Path) -> None:
    text = """\
@okk.kernel
def kernel(buffer: okk.SystemAddr):
    shape = okk.dim4(1, 2, 3, 4)
    {call}
    okk.bdc_neg(0, 0, shape, None, None)
"""
    wrong = {
        "okk.bdc_ngeate(0, 0, shape, None, None)": "`okk` has no `bdc_ngeate`",
        "okk.bdc_neg(0, buffer, shape, None, None)": "this is an address in system memory",
        "okk.bdc_neg(0, 0, None, None, None)": "`shape` of `okk.bdc_neg` must not be NULL",
        "okk.bdc_neg(0, 0, shape, 8, None)": "`dst_stride` of `okk.bdc_neg` must be a `dim4`",
        "okk.gdma_8bit_cpy_S2L(0, 0, shape, 0, 0)": "this is a local address",
        "okk.bdc_32bit_set_C(0, 1.0, shape, None)": "must be a constant such as",
        "okk.bdc_32bit_set_C(0, okk.x8.s8(1), shape, None)": "must be a constant such as",
        "okk.bdc_32bit_set_C(0, okk.x32.f64(1), shape, None)": "`x32` has no `f64`",
        "okk.bdc_max_pool2d(0, 0, shape, 2, 2, okk.dim2(1, 1), None)": "must be a `Padding`",
        "okk.dim4(1, 2, 3, 4, 5)": "`okk.dim4` has 4 fields, 5 are given",
        "okk.dim4(n=1, depth=2)": "`depth` is no field of it",
        "okk.compact_stride(0, 0, 0, 0)": "takes 3 arguments, 4 are given",
        "okk.poll(1)": "takes 0 arguments, 1 are given",
    }
    for call, message in wrong.items():
        run = interpret(tmp_path, text.format(call=call))
        said = [c.check.message for c in run.checks if c.rule == "okk-signature"]
        assert said and message in said[0], (call, said)
        assert run.trace.operations[-1].name == "okk.bdc_neg"


def test_null_is_none_or_zero(tmp_path: Path) -> None:
    text = """\
@okk.kernel
def kernel(buffer: okk.SystemAddr):
    shape = okk.dim4(1, 2, 3, 4)
    okk.bdc_neg(0, 0, shape, 0, okk.NULL)
    okk.bdc_neg(0, 0, shape, None, None)
"""
    run = interpret(tmp_path, text)
    assert not run.checks
    first, second = run.trace.operations
    assert [t.tensor.strides for t in first.touches] == [t.tensor.strides for t in second.touches]


def test_functions_of_the_runtime_are_not_modelled(tmp_path: Path) -> None:
    text = "@okk.kernel\ndef kernel(n: int):\n    okk.okk_local_mem_addr(0, 0)\n    okk.poll()\n"
    (kernel,) = check(tmp_path, text).kernels
    assert kernel.calls.unmodelled == ("okk_local_mem_addr",)
    assert kernel.status == "unknown"


def test_suppressions_and_host_rules(tmp_path: Path) -> None:
    text = "@okk.kernel\ndef kernel(n: int, k: int):\n    x = n // k\n    okk.initialize()\n"
    text += "    okk.poll()\n"
    assert "division-by-zero" in [d.rule for d in check(tmp_path, text).diagnostics]
    stated = text.replace("    x = ", "    okk.okkernel_assert(k >= 1)\n    x = ")
    result = check(tmp_path, stated)
    assert "division-by-zero" not in [d.rule for d in result.diagnostics]
    assert "k >= 1" in result.kernels[0].assumptions
