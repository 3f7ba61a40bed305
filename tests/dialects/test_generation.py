"""Which generation a file is written for."""

from __future__ import annotations

import ast

import pytest

from verifier.dialects.nki import (
    generations_of,
    import_problem,
    infer_generation,
    jit_problem,
    scan_features,
)
from verifier.dialects.nki.generation import Use

NEW = "import nki\nimport nki.language as nl\nimport nki.isa as nisa\n"
BARE = "@nki.jit\ndef k(x):\n"
REDUCED = "nisa.tensor_scalar_reduce(dst=u, data=t, op0=nl.multiply, operand0=2.0, reduce_op=nl.add"


@pytest.mark.parametrize(
    ("source", "generation"),
    [
        ("import neuronxcc.nki as nki\nimport neuronxcc.nki.language as nl\n", "beta1"),
        ("from neuronxcc.nki.language import *\n", "beta1"),
        ("from torch_neuronx import nki_jit\n", "beta1"),
        (NEW, "0.3"),
        (NEW + "nisa.tensor_copy(dst=a, src=b, dtype=c)\n", "0.2"),
        (NEW + "@nki.jit(platform_target='trn2')\ndef k(x): pass\n", "0.2"),
        (NEW + "nisa.dma_copy(dst=a, src=b, dst_rmw_op=nl.add)\n", "0.2"),
        (NEW + "y = nl.exp(nl.load(x))\n", "0.3"),
        (NEW + "nisa.nc_matmul(a, b, c, accumulate=True)\n", "0.3"),
        (NEW + "nisa.dma_copy(dst=a, src=b, priority=1)\n", "0.4"),
        (NEW + "nisa.activate2(a, nl.exp, b, 1.0, 0.0, nl.multiply, nl.add)\n", "0.4"),
        (NEW + "n = nl.tile_size.psum_num_banks\n", "0.5"),
        (NEW + "nl.fori_loop(0, n, body)\n", "0.6"),
        (NEW + "import neuronxcc.starfish\n", "0.3"),
        (NEW + "@nki.jit\ndef k(x): y = x.permute((1, 0))\n", "0.5"),
        (NEW + "def f():\n t = nl.load(x)\n u = t[0:2].flatten_dims(0, 1)\n", "0.5"),
        (NEW + "def f():\n t = nl.load(x)\n u = t.reshape(s)[0:2].select(1, 3)\n", "0.5"),
        # of what may be a tensor: where nothing else tells
        (NEW + "def f(x): return x.permute((1, 0))\n", "0.5"),
        (NEW + "def f(x): return nl.load(x.slice(1, 0, 8), dtype=d, old=3)\n", "0.5"),
        (NEW + "def f(x): return nisa.tensor_copy(a, x.permute((1, 0)), dtype=c)\n", "0.2"),
        (NEW + "class V:\n def permute(s, a): pass\ndef f(x): return x.permute(0)\n", "0.3"),
        (NEW + "def f(x): return w.Tile(x).slice(1, 0, 8).permute((1, 0))\n", "0.3"),
        # a number for a member of an enumeration is a fault, and no sign of 0.2
        (NEW + "nisa.dma_copy(dst=a, src=b, dge_mode=3)\n", "0.3"),
        (
            NEW + "nisa.dma_copy(a, b, priority=1)\n@nki.jit\ndef k(x): x.reshape(new_shape=s)\n",
            "0.4",
        ),
        # a result in `nl.hbm` (NKI-M060): where nothing else tells
        (NEW + BARE + " o = nl.ndarray(s, nl.int8, buffer=nl.hbm)\n return o\n", "0.2"),
        (NEW + BARE + " o = nl.zeros(s, nl.int8, buffer=nl.hbm)\n return x, o\n", "0.2"),
        (NEW + BARE + " o = nl.ndarray(s, nl.int8, buffer=nl.hbm)\n return x\n", "0.3"),
        (NEW + "def f(x):\n o = nl.ndarray(s, nl.int8, buffer=nl.hbm)\n return o\n", "0.3"),
        (
            NEW
            + "nisa.dma_copy(a, b, priority=1)\n"
            + BARE
            + " o = nl.ndarray(s, nl.int8, buffer=nl.hbm)\n return o\n",
            "0.4",
        ),
        ("from nki.isa import topk as best\nbest(a, b, c, 8)\n", "0.6"),
        (NEW + f"{REDUCED})\n", "0.6"),
        (NEW + f"{REDUCED}, reduce_res=None)\n", "0.6"),
        (NEW + f"{REDUCED}, reduce_res=s)\n", "0.3"),
        (NEW + f"{REDUCED}, reduce_res=s, reduce_cmd=nisa.reduce_cmd.reduce)\n", "0.4"),
        (NEW + f"{REDUCED}, **more)\n", "0.3"),
        (NEW + "nisa.tensor_scalar_reduce(u, t, nl.multiply, 2.0, nl.add)\n", "0.6"),
        (NEW + "nisa.tensor_scalar_reduce(u, t, nl.multiply, 2.0, nl.add, None)\n", "0.6"),
        (NEW + "nisa.tensor_scalar_reduce(u, t, nl.multiply, 2.0, nl.add, *more)\n", "0.3"),
        (NEW + "nisa.tensor_copy(dst=a)\n", "0.3"),
        (NEW + "nl.arange(3)\n", "0.3"),
        (NEW + "t = nl.ndarray((nl.par_dim(96), 40), dtype=d, buffer=nl.sbuf)\n", "0.2"),
        # a fragment: what instructions return has operators in Beta 1 alone
        (BARE + " s = nl.zeros((8, 9), d)\n s += nl.matmul(a, b)\n", "beta1"),
        (BARE + " s = nl.load(x) * 2.0\n", "beta1"),
        (BARE + " t = nl.load(x)\n u = 1.0 - t\n", "beta1"),
        (BARE + " n = x.shape[0] * 2\n t = nl.load(x[0:n])\n", "0.3"),
        (BARE + " p = nl.program_id(0) * 2\n t = nl.load(x[p])\n", "0.3"),
        (NEW + "import neuronxcc.nki\nnl.arange(3)\nnl.load(x, mask=m)\n", "beta1"),
        (NEW + "import neuronxcc.nki\nnisa.nc_matmul(dst=a, stationary=b, moving=c)\n", "0.3"),
    ],
)
def test_inference(source: str, generation: str) -> None:
    assert infer_generation(scan_features(ast.parse(source))) == generation


def test_features_follow_aliases() -> None:
    features = scan_features(
        ast.parse("from nki import language as words\nimport nki.isa\nwords.load(x, dtype=d)\n")
    )
    assert Use("language.load", frozenset({"dtype"}), 1) in features.uses
    assert {"nki", "nki.language", "nki.isa"} <= features.imports


def test_the_old_package_ends_with_0_4() -> None:
    assert import_problem("0.3", "neuronxcc.nki") is None
    found = import_problem("0.4", "neuronxcc.nki.language")
    assert found is not None and "`nki.language`" in found[0]
    assert import_problem("0.6", "neuronxcc.starfish") is None


def test_platform_target_ends_with_0_3() -> None:
    assert jit_problem("0.2", "platform_target") is None
    assert jit_problem("0.3", "platform_target") is not None


def test_a_file_of_both_namespaces_has_kernels_of_both() -> None:
    generation = generations_of(
        ast.parse(
            "import nki\nimport neuronxcc.nki as old\nimport neuronxcc.nki.language as ol\n"
            "import nki.isa as nisa\nfrom nki import jit\n"
            "@old.jit\ndef first(a): ol.load(a, mask=m)\n"
            "@nki.jit(platform_target='trn2')\ndef second(a): nisa.dma_copy(dst=a, src=a)\n"
            "def test():\n    @jit\n    def third(a): pass\n"
            "def plain(a): pass\n"
        )
    )
    assert generation("first") == "beta1"
    assert generation("second") == generation("test.third") == "0.2"
    assert generation("plain") == generation("gone") == generation("") == "beta1"


def test_a_fallback_import_stands_for_both() -> None:
    text = (
        "try:\n    import nki\nexcept ImportError:\n    import neuronxcc.nki as nki\n"
        "@nki.jit\ndef k(x): nki.isa.nc_matmul(x, x, x, accumulate=True)\n"
    )
    generation = generations_of(ast.parse(text))
    assert generation("k") == generation("") == "0.3"
