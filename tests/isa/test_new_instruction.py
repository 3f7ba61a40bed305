"""An instruction is added by one description and its meaning: nothing else changes."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.commands import python
from tests.trees import copied


@dataclass(frozen=True)
class Case:
    """One instruction more of a dialect, and a kernel that uses it.

    ``good``: what stands in the kernel where nothing is wrong. ``changes``: what else may stand
    there, with the rules that it breaks. ``run``: a program that runs the kernel, with ``changed``
    in it, as ``kernel``. ``written``: an import and the beginning of a call. ``rules``: those that
    judge the instruction because of its description.
    """

    name: str
    described: str
    description: str
    meant: str
    meaning: str
    kernel: str
    good: dict[str, str]
    changes: dict[str, tuple[dict[str, str], set[str]]]
    changed: dict[str, str]
    run: str
    written: tuple[str, str]
    offered: tuple[str, str]
    rules: tuple[str, ...]


NKI = Case(
    name="isa.frobnicate",
    described="verifier/dialects/nki/isa/selections.py",
    description="""
FROBNICATE: Final = Instruction(
    name="isa.frobnicate",
    summary="dst = src with the elements of each partition in reverse order, times factor",
    signatures={"0.3": "dst*, src*, factor=1.0, op=None, name=None"},
    roles=(
        tile("dst", on_chip("NKI-BUF14")),
        tile(
            "src",
            on_chip("NKI-BUF14"),
            shape=Streams("dst", "NKI-CPY01"),
            dtypes=Types(FP32, "float32", "NKI-E03"),
        ),
        operator("op"),
    ),
    engines=Engines(Engine.VECTOR),
    operators=(admits("op", words("add multiply"), "NKI-T14"),),
    footprint=Footprint(reads=(folded("src"),), writes=written("dst")),
)
""",
    meant="verifier/executor/semantics/elementwise.py",
    meaning="""

@semantics("isa.frobnicate")
def frobnicate(op: Operation, io: IO) -> None:
    put(io, "dst", reading(io, "src")[:, ::-1] * np.float32(io.scalar("factor")))
""",
    kernel="""
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def kernel(x):
    assert x.shape == (64, 8) and x.dtype == nl.{dtype}
    out = nl.ndarray((64, 8), dtype=x.dtype, buffer=nl.shared_hbm)
    held = nl.ndarray((64, 8), dtype=x.dtype, buffer=nl.sbuf)
    turned = nl.ndarray((64, {columns}), dtype=x.dtype, buffer=nl.sbuf)
    {load}
    nisa.frobnicate(dst=turned, src={source}{more})
    nisa.dma_copy(dst=out, src=turned{part})
    return out
""",
    good={
        "dtype": "float32",
        "columns": "8",
        "load": "nisa.dma_copy(dst=held, src=x)",
        "source": "held",
        "more": "",
        "part": "",
    },
    changes={
        "good": ({}, set()),
        "signature": ({"more": ", speed=3"}, {"api-signature"}),
        "memory": ({"source": "x"}, {"operand-buffers"}),
        "dtype": ({"dtype": "bfloat16"}, {"operand-dtype"}),
        "shape": ({"columns": "16", "part": "[:, 0:8]"}, {"free-size-mismatch"}),
        "operator": ({"more": ", op=nl.divide"}, {"operator-kind"}),
        "undefined": (
            {"load": "nisa.dma_copy(dst=held[:, 0:4], src=x[:, 0:4])"},
            {"uninitialised-read"},
        ),
    },
    changed={"more": ", factor=2.0"},
    run="""
x = np.arange(512, dtype=np.float32).reshape(64, 8)
found = simulate(kernel)(x)
assert np.array_equal(found, x[:, ::-1] * 2), found
""",
    written=("import nki.isa as nisa", "nisa.frob"),
    offered=("frobnicate", "(dst, src, factor=1.0, op=None, name=None)"),
    rules=("operand-buffers", "operand-dtype", "operator-kind", "free-size-mismatch"),
)

PPL = Case(
    name="ppl.tiu.frobnicate",
    described="verifier/dialects/ppl/isa/elementwise.py",
    description="""
FROBNICATE: Final = function(
    "tiu.frobnicate",
    "dst = src with w in reverse order, times factor",
    "dst*, src*, |, factor=1",
    target(dtypes=types(FLOATS, "TPU-B19")),
    source(
        "src",
        types(FLOATS, "TPU-B19"),
        like("dst", "TPU-B19"),
        shape=elements(),
        lies=Lies("compact", "TPU-B15"),
    ),
    number("factor"),
    needs=(Capability.SDMA, "TPU-G01"),
)
""",
    meant="verifier/executor/semantics/tpu/ppl/elementwise.py",
    meaning="""

@meaning("ppl.tiu.frobnicate")
def _frobnicate(op: Operation, io: LaneIO) -> None:
    put(io, "dst", as_float(io, "src")[..., ::-1] * F32(io.value("factor")))
""",
    kernel="""
import ppl
import ppl.language as pl


# tilelint: contract (out_ptr: fp32[1, 24, 1, 84], src_ptr: fp32[1, 24, 1, 84])
@ppl.jit
def kernel(out_ptr, src_ptr):
    source = pl.gtensor([1, 24, 1, 84], pl.GLOBAL, src_ptr)
    target = pl.gtensor([1, 24, 1, 84], pl.GLOBAL, out_ptr)
    a = pl.make_tensor([{batches}, 24, 1, 84], pl.{dtype}{layout})
    b = pl.make_tensor([1, 24, 1, {columns}], pl.float32)
    {load}
    pl.tiu.frobnicate(b, {source}{more})
    pl.dma.store(target, b{part})
""",
    good={
        "batches": "1",
        "dtype": "float32",
        "layout": ", align_mode=pl.TPU_COMPACT",
        "columns": "84",
        "load": "pl.dma.load(a, source)",
        "source": "a",
        "more": "",
        "part": "",
    },
    changes={
        "good": ({}, set()),
        "signature": ({"more": ", speed=3"}, {"ppl-signature"}),
        "memory": ({"source": "source"}, {"ppl-transfer-memory", "ppl-lost-result"}),
        "dtype": (
            {"load": "pl.tiu.zero(a)", "dtype": "float16"},
            {"ppl-dtypes", "ppl-unused-tensor"},
        ),
        "shape": (
            {"columns": "90", "part": ".sub_view([1, 24, 1, 84], [0, 0, 0, 0])"},
            {"ppl-operand-shape"},
        ),
        "layout": (
            {
                "batches": "2",
                "layout": "",
                "load": "pl.tiu.zero(a)",
                "source": "a.sub_view([1, 24, 1, 84], [1, 0, 0, 0])",
            },
            {"ppl-operand-layout", "ppl-unused-tensor"},
        ),
        "undefined": ({"load": "pass"}, {"uninitialised-read", "ppl-unused-tensor"}),
    },
    changed={"more": ", factor=2"},
    run="""
x = np.arange(2016, dtype=np.float32).reshape(1, 24, 1, 84)
found = simulate(kernel).outcome(np.zeros_like(x), x).outputs[0]
assert np.array_equal(found, x[..., ::-1] * 2), found
""",
    written=("import ppl.language as pl", "pl.tiu.frob"),
    offered=("frobnicate", "(dst, src, *, factor=1)"),
    rules=("ppl-dtypes", "ppl-operand-shape", "ppl-operand-layout", "ppl-chip-function"),
)

OKK = Case(
    name="okk.bdc_frobnicate",
    described="verifier/dialects/okk/isa/network.py",
    description="""
from verifier.symbolic.roles import (Limit)

FROBNICATE: Final = function(
    "bdc_frobnicate",
    "129",
    "bdc",
    "dst = src with w in reverse order, times factor",
    writes(_rows("dst", shapes.shape)),
    reads(_rows("src", shapes.shape)),
    integer("factor", Limit(fact="OKK-N04", least=1, most=64), "the factor"),
    given("shape", Takes.QUAD),
    lanes=StartLanes(("OKK-C01", "ADR-12")),
)
""",
    meant="verifier/executor/semantics/tpu/okk.py",
    meaning="""

@meaning("okk.bdc_frobnicate")
def _frobnicate(op: Operation, io: LaneIO) -> None:
    io.write("dst", io.read("src")[..., ::-1] * _F32(io.value("factor")))
""",
    kernel="""
import okk


@okk.kernel
def kernel(output: okk.SystemAddr, source: okk.SystemAddr):
    okk.initialize()
    shape = okk.dim4(1, 24, 1, 32)
    {load}
    okk.bdc_frobnicate({result}, {place}, {factor}, shape{more})
    okk.gdma_32bit_cpy_L2S(output, {result}, shape, None, None)
    okk.poll()
""",
    good={
        "load": "okk.gdma_32bit_cpy_S2L(0, source, shape, None, None)",
        "result": "1024",
        "place": "0",
        "factor": "3",
        "more": "",
    },
    changes={
        "good": ({}, set()),
        # a call that does not fit writes nothing, and takes nothing that was loaded
        "signature": (
            {"more": ", 3"},
            {"okk-signature", "okk-uninitialised-read", "okk-lost-result"},
        ),
        "memory": (
            {"place": "source"},
            {"okk-signature", "okk-uninitialised-read", "okk-lost-result"},
        ),
        "alignment": ({"result": "1028"}, {"okk-address-alignment"}),
        "lane": ({"result": "okk.local_mem_size_per_npu() + 1024"}, {"okk-start-lane"}),
        "number": ({"factor": "65"}, {"okk-scalar-range"}),
        "undefined": ({"load": "pass"}, {"okk-uninitialised-read"}),
    },
    changed={"factor": "2"},
    run="""
x = np.arange(768, dtype=np.float32).reshape(1, 24, 1, 32)
found = simulate(kernel).outcome(np.zeros_like(x), x).outputs[0]
assert np.array_equal(found, x[..., ::-1] * 2), found
""",
    written=("import okk", "okk.bdc_frob"),
    offered=("bdc_frobnicate", "(dst_addr, src_addr, factor, shape)"),
    rules=(),
)

CASES = {"nki": NKI, "ppl": PPL, "okk": OKK}


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program with one instruction more of each dialect."""
    top = copied(tmp_path_factory.mktemp("program"))
    for case in CASES.values():
        described = top / case.described
        text = described.read_text(encoding="utf-8")
        head, mark, tail = text.partition("\nINSTRUCTIONS: Final = (\n")
        assert mark, case.described
        more = f"{head}\n{case.description}{mark}    FROBNICATE,\n{tail}"
        described.write_text(more, encoding="utf-8")
        meant = top / case.meant
        meant.write_text(meant.read_text(encoding="utf-8") + case.meaning, encoding="utf-8")
    return top


def ran(tree: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return python(*arguments, cwd=tree, tree=tree)


def written(case: Case, folder: Path, changes: dict[str, str]) -> Path:
    path = folder / "kernel.py"
    path.write_text(case.kernel.format(**{**case.good, **changes}), encoding="utf-8")
    return path


CHECKED = [(name, what) for name, case in CASES.items() for what in case.changes]


@pytest.mark.parametrize(("name", "what"), CHECKED)
def test_it_is_checked(tree: Path, tmp_path: Path, name: str, what: str) -> None:
    case = CASES[name]
    changes, rules = case.changes[what]
    path = written(case, tmp_path, changes)
    # one chip: not all have what the instruction of PPL needs
    on = ("--target", "bm1684x") if case is PPL else ()
    found = ran(tree, "-m", "verifier", "check", "--no-cache", "--format", "json", *on, str(path))
    report: dict[str, Any] = json.loads(found.stdout)
    errors = {item["rule"] for item in report["diagnostics"] if item["severity"] == "error"}
    assert errors == rules
    assert all(not kernel["calls"]["unmodelled"] for kernel in report["kernels"])


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_it_runs(tree: Path, tmp_path: Path, case: Case) -> None:
    path = written(case, tmp_path, case.changed)
    head = "import numpy as np\nfrom verifier.executor import simulate\n"
    done = ran(tree, "-c", f"{head}kernel = {f'{path}::kernel'!r}\n{case.run}")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_it_is_offered_while_it_is_written(tree: Path, case: Case) -> None:
    text, line = case.written
    program = (
        "from verifier.engine.functions import offered\n"
        f"found = offered({text!r}, {line!r}, {len(line)})\n"
        "print([(each.name, each.parameters) for each in found])\n"
    )
    assert str([case.offered]) in ran(tree, "-c", program).stdout


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_rules_that_enforce_its_facts_list_it(tree: Path, case: Case) -> None:
    program = (
        "from verifier.rulebase import all_rules\n"
        f"print([rule.id for rule in all_rules() if {case.name!r} in rule.operations])\n"
    )
    done = ran(tree, "-c", program)
    for rule in case.rules:
        assert f"'{rule}'" in done.stdout
