"""Calls that do not fit their generation, and how that is said."""

from __future__ import annotations

import pytest

from tests.dialects.fake import FakeMachine, run
from verifier.dialects.nki.signatures import generations_with, lookup
from verifier.hardware.memories import Buffer
from verifier.symbolic.tensors import View
from verifier.symbolic.values import Enumerator, Range


def only(machine: FakeMachine) -> tuple[str, str]:
    (check,) = machine.checks
    return check.rule, check.check.message


def test_generations_build_on_each_other() -> None:
    positions = {
        generation: lookup("isa.dma_copy", generation).names.index("oob_mode")  # type: ignore[union-attr]
        for generation in ("0.2", "0.3", "0.4")
    }
    assert positions == {"0.2": 3, "0.3": 2, "0.4": 3}
    assert generations_with("isa.tensor_copy_dynamic_src") == ("beta1", "0.2", "0.3")
    assert generations_with("language.arange") == ("beta1",)
    assert generations_with("isa.topk") == ("0.6",)
    assert generations_with("language.load") == ("beta1", "0.3", "0.4", "0.5", "0.6")


@pytest.mark.parametrize(
    ("generation", "severity"), [("0.2", "note"), ("0.3", None), ("0.6", None)]
)
def test_dtype_of_tensor_copy(generation: str, severity: str | None) -> None:
    machine = FakeMachine(generation)
    source, target = machine.tile(8, 8), machine.tile(8, 8)
    run(machine, "isa.tensor_copy", dst=target, src=source, dtype=source.dtype)
    (check,) = machine.checks
    assert (check.rule, check.check.severity) == ("api-signature", severity)
    assert "N03" in check.check.facts and "dst" in check.check.help[0]
    assert machine.last.name == "isa.tensor_copy"


def test_mask_is_gone() -> None:
    machine = FakeMachine("0.2")
    run(machine, "isa.tensor_copy", machine.tile(8, 8), machine.tile(8, 8), mask=None)
    rule, message = only(machine)
    assert rule == "api-signature" and "`mask=`" in message


def test_misspelled_keyword_has_a_suggestion() -> None:
    machine = FakeMachine("0.4")
    tile = machine.tile(8, 8)
    add = Enumerator("op", "add")
    run(machine, "isa.tensor_reduce", tile, add, tile, 1, keep_dims=True)
    (check,) = machine.checks
    assert check.check.help == ("did you mean `keepdims`?",)


def test_keyword_of_another_generation() -> None:
    machine = FakeMachine("0.3")
    a, b = machine.tile(8, 8, buffer=Buffer.HBM), machine.tile(8, 8)
    run(machine, "isa.dma_copy", a, b, dst_rmw_op=None)
    assert "since NKI 0.3" in only(machine)[1]
    machine = FakeMachine("0.3")
    run(machine, "isa.dma_copy", a, b, priority=1)
    assert "from NKI 0.4 on" in only(machine)[1]


def test_value_returning_form_of_an_instruction() -> None:
    machine = FakeMachine("0.3")
    run(machine, "isa.reciprocal", machine.tile(8, 8))
    (check,) = machine.checks
    assert "M002" in check.check.facts and "pass it as `dst`" in check.check.help[0]
    assert [operation.name for operation in machine.operations] == ["missing"]


def test_too_many_arguments() -> None:
    machine = FakeMachine("0.3")
    tile = machine.tile(8, 8)
    run(machine, "isa.bn_stats", tile, tile, None, 4)
    assert "takes 3 positional arguments, 4 are given" in only(machine)[1]


def test_argument_given_twice() -> None:
    machine = FakeMachine("0.3")
    tile = machine.tile(8, 8)
    run(machine, "isa.bn_stats", tile, tile, dst=tile)
    assert "twice" in only(machine)[1]


def test_keyword_only_parameters_of_beta1() -> None:
    machine = FakeMachine("beta1")
    tile = machine.tile(8, 8)
    run(machine, "isa.dma_copy", tile, tile)
    assert {check.rule for check in machine.checks} == {"api-signature"}


def test_beta1_drops_unknown_keywords() -> None:
    machine = FakeMachine("beta1")
    result = run(machine, "isa.tensor_copy", machine.tile(8, 8), hint=3)
    assert isinstance(result, View) and not machine.checks


@pytest.mark.parametrize(
    ("name", "generation", "words"),
    [
        ("isa.tensor_copy_dynamic_src", "0.4", "does not exist since NKI 0.4"),
        ("language.load", "0.2", "does not exist since NKI 0.2"),
        ("isa.topk", "0.5", "exists from NKI 0.6 on"),
    ],
)
def test_names_that_a_generation_lacks(name: str, generation: str, words: str) -> None:
    machine = FakeMachine(generation)
    run(machine, name, machine.tile(8, 8))
    assert machine.checks[0].rule == "api-removed" and words in machine.checks[0].check.message


@pytest.mark.parametrize(
    ("name", "severity"), [("isa.tensor_scalar_cumulative", "warning"), ("isa.topk", None)]
)
def test_the_package_of_beta1_stays_in_later_sdks(name: str, severity: str | None) -> None:
    machine = FakeMachine("beta1")
    run(machine, name, machine.tile(8, 8))
    assert machine.checks[0].rule == "api-removed" and machine.checks[0].check.severity == severity


def test_a_removed_name_is_still_followed() -> None:
    machine = FakeMachine("0.3")
    run(machine, "language.arange", 16)
    assert [check.rule for check in machine.checks] == ["api-removed"]
    assert isinstance(run(machine, "language.static_range", 4), Range)


def test_unknown_functions_are_said_to_be_unmodelled() -> None:
    machine = FakeMachine("0.3")
    run(machine, "isa.tensor_fly", machine.tile(8, 8))
    assert machine.missing == ["nki.isa.tensor_fly"]


def test_names_of_buffers() -> None:
    for generation, problems in (("0.2", 0), ("0.3", 1)):
        machine = FakeMachine(generation)
        tile = run(machine, "language.ndarray", (8, 8), machine.tile(1, 1).dtype, "psum")
        assert isinstance(tile, View) and tile.buffer is Buffer.PSUM
        assert len(machine.checks) == problems


def test_enumerations_are_not_numbers() -> None:
    for generation, problems in (("0.2", 0), ("0.3", 1)):
        machine = FakeMachine(generation)
        run(machine, "isa.tensor_copy", machine.tile(8, 8), machine.tile(8, 8), engine=2)
        assert len(machine.checks) == problems


def test_a_position_that_moved() -> None:
    skip = Enumerator("oob_mode", "skip")
    for generation, problems in (("0.3", 0), ("0.4", 1)):
        machine = FakeMachine(generation)
        run(machine, "isa.dma_copy", machine.tile(8, 8), machine.tile(8, 8), skip)
        assert len(machine.checks) == problems


def test_a_simulated_kernel_is_given_its_arguments() -> None:
    machine = FakeMachine("beta1")
    run(machine, "simulate_kernel", None, machine.tile(8, 8), machine.tile(8, 8), n=2)
    assert not machine.checks
