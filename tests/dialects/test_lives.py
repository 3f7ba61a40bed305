"""What exists in some generations only, where it is asked for and not used."""

from __future__ import annotations

import pytest

from verifier.engine import analyze_source

HEAD = "import nki\nimport nki.isa as nisa\nimport nki.language as nl\n"
KERNEL = """{head}
@nki.jit
def k(x):
    assert x.shape == (96, 40) and x.dtype == nl.float32
    out = nl.ndarray((96, 40), dtype=x.dtype, buffer=nl.{memory})
    t = nl.ndarray((96, 40), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=t, src=x)
{body}
    nisa.dma_copy(dst=out, src=t)
    return out
"""


def said(
    body: str, api: str, head: str = HEAD, memory: str = "shared_hbm"
) -> list[tuple[str, str]]:
    """Rule and severity of what is reported of a kernel with some lines, and its status."""
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    source = KERNEL.format(head=head, body=lines, memory=memory)
    result = analyze_source(source, api_version=api, target="trn2")
    found: list[tuple[str, str]] = [(d.rule, d.severity) for d in result.diagnostics]
    return [*found, ("", result.kernels[0].status)]


@pytest.mark.parametrize("api", ["0.3", "0.4"])
def test_who_asks_whether_a_tensor_has_a_method_is_told(api: str) -> None:
    asked = "if hasattr(t, 'permute'):\n    t.permute((0, 1))"
    tried = "try:\n    t.permute((0, 1))\nexcept AttributeError:\n    pass"
    for body in (asked, tried):
        assert said(body, api)[-1] == ("", "verified"), body


def test_a_method_that_a_generation_alone_has_is_there() -> None:
    assert said("same = t.is_identity()", "0.4") == [("", "verified")]
    assert said("same = t.is_identity()", "0.5")[0] == ("api-removed", "error")
    assert said("same = t.is_contiguous()", "0.5") == [("", "verified")]


def test_results_may_be_in_private_memory_before_0_3() -> None:
    """NKI-B18, NKI-M060."""
    assert said("pass", "0.2", memory="hbm") == [("", "verified")]
    assert said("pass", "0.3", memory="hbm")[0] == ("output-buffer", "error")


def test_beta_1_is_warned_of_what_came_beside_it() -> None:
    body = "later = nl.gelu_apprx_sigmoid_dx"
    old = "import neuronxcc.nki as nki\nimport neuronxcc.nki.isa as nisa\n"
    old += "import neuronxcc.nki.language as nl\n"
    assert said(body, "beta1", old)[0] == ("api-removed", "warning")
    assert said(body, "0.2") == [("", "verified")]


@pytest.mark.parametrize(
    ("name", "lacking", "having"),
    [("fori_loop", "0.5", "0.6"), ("load", "0.2", "0.3"), ("is_sbuf", "0.2", "0.3")],
)
def test_a_function_is_there_or_not_whether_it_is_called_or_not(
    name: str, lacking: str, having: str
) -> None:
    imports = f"{HEAD}from nki.language import {name}\n"
    guarded = (
        f"{HEAD}try:\n    from nki.language import {name}\nexcept ImportError:\n    {name} = 0\n"
    )
    for api, expected in ((lacking, [("api-removed", "error")]), (having, [])):
        for body, head in ((f"f = nl.{name}", HEAD), ("pass", imports)):
            assert said(body, api, head)[:-1] == expected, (body, head, api)
        assert said("pass", api, guarded)[:-1] == []
        assert said(f"if hasattr(nl, '{name}'):\n    f = nl.{name}", api)[:-1] == []


def test_a_call_of_an_absent_function_is_reported_once() -> None:
    assert said("u = nl.load(x)", "0.2")[:-1] == [("api-removed", "error")]
    assert said("nl.arange(3)", "0.4")[:-1] == [("api-removed", "error")]


@pytest.mark.parametrize("code", ["a = nki.fooo", "nki.compile_me(t)", "p = nki.tile_size.pmax"])
def test_the_module_itself_is_closed(code: str) -> None:
    assert said(code, "0.6")[:-1] == [("no-attribute", "error")]
    assert said("a = nki.benchmark", "0.6")[:-1] == [("api-removed", "error")]
    assert said("a = nki.simulate", "0.6") == [("", "verified")]


def test_a_replica_group_is_a_list_of_lists() -> None:
    head = f"{HEAD}import nki.collectives as ncc\n"
    for ranks, expected in (("[0, 1]", [("api-signature", "error")]), ("[[0, 1]]", [])):
        assert said(f"group = ncc.ReplicaGroup({ranks})", "0.6", head)[:-1] == expected


def test_a_parameter_went_with_the_generation_that_dropped_it() -> None:
    code = "c = nl.shared_constant('weights.npy', dtype=nl.float32)"
    for api in ("0.3", "0.6"):
        source = KERNEL.format(head=HEAD, body=f"    {code}", memory="shared_hbm")
        (told,) = analyze_source(source, api_version=api, target="trn2").diagnostics
        assert told.message.endswith("since NKI 0.3")
