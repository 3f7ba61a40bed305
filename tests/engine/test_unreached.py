"""Functions that no kernel reaches: what is wrong with them whatever they are given."""

from __future__ import annotations

import pytest

from verifier.engine import analyze_source

_HEAD = "import nki\nimport nki.isa as nisa\nimport nki.language as nl\n\n\n"


def found(text: str) -> list[tuple[str, int, str]]:
    result = analyze_source(_HEAD + text)
    assert not result.errors
    return [(d.rule, d.span.line - 5, d.kernel) for d in result.diagnostics]


@pytest.mark.parametrize(
    ("body", "rule"),
    [
        ("    nisa.dma_copy(dst=dst, src=src, dge_mode=1)\n", "api-signature"),
        ("    nisa.dma_copy(dst=dst, source=src)\n", "api-signature"),
        ("    nl.store(dst, scaled)\n", "unbound-name"),
        ("    nl.store(dst, nl.load(src))\n", ""),
        ("    return sized(dst)\n", "unbound-name"),
        # what depends on the arguments may be right for some
        ("    nisa.tensor_copy(dst=dst[0:300], src=src[5])\n", ""),
        ("    nisa.nc_transpose(dst=dst, data=src)\n", ""),
        ("    print(__name__, __file__, len(dst))\n", ""),
        ("    import os\n    return [os.path.join(a, dst) for a in src]\n", ""),
        ("    def sized(x):\n        return x\n    return sized(dst)\n", ""),
        # lines that are not come to
        ("    return dst\n    return sized(dst)\n", ""),
    ],
)
def test_a_function_that_nothing_calls(body: str, rule: str) -> None:
    expected = [(rule, 1 + body[: body.rfind("    ")].count("\n") + 1, "move")] if rule else []
    assert sorted(set(found(f"def move(dst, src):\n{body}"))) == expected


def test_what_a_kernel_reaches_is_judged_there_only() -> None:
    helper = "def move(dst, src):\n    nisa.dma_copy(dst=dst, src=src, dge_mode=1)\n\n"
    kernel = (
        "@nki.jit\ndef kernel(x):\n    out = nl.ndarray((3, 5), dtype=x.dtype, "
        "buffer=nl.shared_hbm)\n    assert x.shape == (3, 5)\n    move(out, x)\n    return out\n"
    )
    assert [(d[0], d[2]) for d in found(helper + kernel)] == [("api-signature", "kernel")]
    again = helper + kernel + "\n" + helper.replace("move", "other")
    assert {(d[0], d[2]) for d in found(again)} == {
        ("api-signature", "kernel"),
        ("api-signature", "other"),
    }


def test_a_default_of_none_may_be_given_or_not() -> None:
    text = "def made(x, manager=None):\n    if manager is None:\n        manager = Manager(0)\n"
    assert found(text + "    return manager\n") == [("unbound-name", 3, "made")]
    text = text.replace("Manager(0)", "x")
    assert found(text + "    return manager.pool\n") == []


def test_a_file_without_a_kernel_api_is_not_looked_at() -> None:
    text = "import torch\n\n\ndef made(x):\n    return Manager(x)\n"
    assert not analyze_source(text).diagnostics


HOST = (
    "@nki.jit\ndef kernel(x):\n    assert x.shape == (3, 5) and x.dtype == nl.float32\n"
    "    out = nl.ndarray((3, 5), dtype=x.dtype, buffer=nl.shared_hbm)\n"
    "    t = nl.load(x)\n    nl.store(out, t)\n    return out\n\n\n"
)


@pytest.mark.parametrize(
    ("body", "rule"),
    [
        ("    return nki.simulate_kernel(kernel, a)\n", "api-removed"),
        ("    return nki.benchmark(warmup=1)(kernel)(a)\n", "api-removed"),
        ("    return a.astype(nl.flaot32)\n", "no-attribute"),
        ("    return nki.simulate(kernel)(a)\n", ""),
        ("    return a.astype(nl.float32), nki.__version__\n", ""),
        ("    if hasattr(nki, 'benchmark'):\n        return nki.benchmark(kernel)(a)\n", ""),
        ("    try:\n        nki.benchmark\n    except AttributeError:\n        return a\n", ""),
    ],
)
def test_a_function_of_the_host_asks_for_what_there_is(body: str, rule: str) -> None:
    told = found(f"{HOST}def launch(a):\n{body}")
    assert [(d[0], d[2]) for d in told] == ([(rule, "launch")] if rule else [])


def test_a_function_of_the_host_is_none_of_the_device() -> None:
    """Kernels are launched there, whatever it asks for."""
    text = f"{_HEAD}{HOST}def launch(a):\n    return nki.simulate(kernel)(a), nki.benchmark\n"
    result = analyze_source(text)
    assert {d.rule for d in result.diagnostics} == {"api-removed"}
    assert not result.unreached
