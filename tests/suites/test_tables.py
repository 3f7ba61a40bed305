"""Which rows of values tests have, and what launches what."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.suites.conftest import Reading

Contracts = Callable[..., list[str]]

HEAD = """\
import functools
import numpy as np
import pytest
import nki
import nki.language as nl
from kernels import *
from kernels import Config, Mode, Pair, Plan, added, copied, helper
"""


def test_parametrised_tests_are_read_row_by_row(contracts: Contracts) -> None:
    text = """
ROWS = [(3, 70), pytest.param(5, 71, id="five"), pytest.param(7, 7, marks=pytest.mark.skip)]

@pytest.mark.parametrize("dtype", [np.float32, nl.bfloat16])
@pytest.mark.parametrize("rows, columns", [*ROWS, Pair(9, 72)])
def test_copies(rows, columns, dtype):
    copied(np.zeros((rows, columns), dtype=dtype))
"""
    assert contracts(HEAD + text) == [
        f"copied(source: {dtype}[{size}])"
        for size in ("3, 70", "5, 71", "9, 72")
        for dtype in ("float32", "bfloat16")
    ]


def test_tables_of_objects_and_dictionaries(contracts: Contracts) -> None:
    text = """
from dataclasses import dataclass

@dataclass
class Case:
    rows: int
    columns: int = 33
    dtype: object = np.float16

CASES = [Case(3), Case(5, columns=34, dtype=np.int32)]
SHAPES = [{"shape": (7, 8)}, dict(shape=(9, 10, 11))]

@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case.rows))
def test_objects(case):
    copied(np.ones([case.rows, case.columns]).astype(case.dtype))

def test_dictionaries():
    for each in SHAPES:
        copied(np.ones(**each))
"""
    assert contracts(HEAD + text) == [
        "copied(source: float16[3, 33])",
        "copied(source: float64[7, 8])",
        "copied(source: int32[5, 34])",
        "copied(source: float64[9, 10, 11])",
    ]


def test_marks_may_come_from_helpers_and_stand_on_classes(contracts: Contracts) -> None:
    text = """
def sizes(names, values):
    return pytest.mark.parametrize(names, values, ids=[str(v) for v in values])

def labelled(label):
    def decorator(cls):
        cls.label = label
        return getattr(pytest.mark, label)(cls)
    return decorator

@labelled("wide")
@sizes("width", [70, 90])
class TestWide:
    factor = 3

    @pytest.fixture
    def rows(self):
        return [self, 5][1]

    @staticmethod
    def _made(shape):
        return np.random.default_rng(3).normal(size=shape).astype(nl.bfloat16)

    @sizes(["height"], [[4]])
    def test_wide(self, width, height):
        copied(self._made((self.factor * height, width)))
"""
    assert contracts(HEAD + text) == [
        "copied(source: bfloat16[12, 70])",
        "copied(source: bfloat16[12, 90])",
    ]


def test_fixtures_give_data_or_nothing(contracts: Contracts) -> None:
    text = """
@pytest.fixture
def shape():
    return (6, 40)

def test_shape(shape, beside, device):
    device.run(copied, np.ones(shape))
    device.run(copied, np.ones((beside, 2)))
"""
    files = {"conftest.py": "import pytest\n\n@pytest.fixture()\ndef beside():\n    return 17\n"}
    assert contracts(HEAD + text, files) == [
        "copied(source: float64[6, 40])",
        "copied(source: float64[17, 2])",
    ]


LAUNCHES = {
    "called": "copied(x)",
    "by name": "copied(source=x)",
    "on a grid": "copied[2, n - 2](x)",
    "wrapped": "nki.baremetal(copied)(x)",
    "made a benchmark": "nki.benchmark(warmup=5, iters=3)(copied)[2, 1](x)",
    "simulated": "nki.simulate_kernel(copied[2, 1], x)",
    "of a library": "runner.measure(copied, [x], repeat=3)",
    "by a dictionary": "runner.run(copied, {'source': x})",
    "with keywords": "runner.run(kernel=copied, inputs={'source': x}, expected=(x, x))",
    "in an object": "runner.execute(Job(copied, {'source': x}))",
    "partly": "functools.partial(copied, x)()",
    "bound by a helper": "launched(copied, source=x)",
}


@pytest.mark.parametrize("launch", LAUNCHES.values(), ids=LAUNCHES)
def test_launches(launch: str, contracts: Contracts) -> None:
    text = f"""
import runner
from dataclasses import dataclass

@dataclass
class Job:
    kernel: object
    inputs: object = None

def launched(kernel, **arguments):
    return kernel(**arguments)

def test_it():
    n = 3
    x = np.zeros((n, 70), np.float32)
    {launch}
"""
    grid = "[2, 1]" if "[2, " in launch else ""
    assert contracts(HEAD + text) == [f"copied{grid}(source: float32[3, 70])"]


def test_an_undecorated_function_is_launched_where_it_is_given_away(contracts: Contracts) -> None:
    text = """
def test_it(device):
    device.run(helper, {"tile": np.ones((96, 5), np.float32)})
    device.run(reference, {"tile": np.ones((97, 5), np.float32)})

def reference(tile, scale=1.0):
    return tile * scale
"""
    assert contracts(HEAD + text) == ["helper(tile: float32[96, 5], ...)"]


def test_scripts_and_modules(contracts: Contracts) -> None:
    text = """
def main(rows):
    copied(np.ones((rows, 2), np.uint8))

copied(np.ones((1, 2), np.uint8))

if __name__ == "__main__":
    main(3)
"""
    assert contracts(HEAD + text) == [
        "copied(source: uint8[1, 2])",
        "copied(source: uint8[3, 2])",
    ]


FAILURES = {
    "raises": "with pytest.raises(AssertionError):\n        {}",
    "raises, of a case": "with case.assertRaises(ValueError):\n        {}",
    "the test fails if it does not": "try:\n        {}\n    except ValueError:\n        return\n"
    "    assert False",
    "a manager that fails if it does not": "with failing(True):\n        {}",
    "two ways out": "with pytest.raises(ValueError):\n        if case.slow:\n            {0}\n"
    "            return\n        {0}",
}


@pytest.mark.parametrize("form", FAILURES.values(), ids=FAILURES)
def test_launches_that_are_to_fail_are_no_examples(form: str, contracts: Contracts) -> None:
    text = f"""
import contextlib

@contextlib.contextmanager
def failing(fails):
    try:
        yield
    except Exception:
        if not fails:
            raise
    else:
        assert not fails

def test_bad(case):
    {form.format("copied(np.ones((3, 70)))")}

def test_good():
    with failing(False):
        copied(np.ones((5, 71)))
"""
    assert contracts(HEAD + text) == ["copied(source: float64[5, 71])"]


def test_a_branch_that_fails_launches_nothing(contracts: Contracts) -> None:
    text = """
def test_it(device):
    if device.slow:
        copied(np.ones((3, 70)))
        raise RuntimeError
    copied(np.ones((5, 71)))
"""
    assert contracts(HEAD + text) == ["copied(source: float64[5, 71])"]


UNREAD = {
    "copied(np.ones(size))": "the fixture `size`",
    "copied(np.load('x.npy'))": "np.load",
    "copied(np.ones((3, 70)), 5)": "do not fit the parameters of `copied`",
    "copied[size](np.ones((3, 70)))": "the grid is not known",
    "copied(np.ones((3, 0)))": "without elements",
    "copied({'a': 3})": "which no contract can say",
    "assert 3 > 5": "it fails: 3 > 5",
}


@pytest.mark.parametrize("statement", UNREAD)
def test_what_is_not_evident_is_listed(statement: str, reading: Reading) -> None:
    found = reading(f"{HEAD}\ndef test_it(size):\n    {statement}\n")
    assert not found.presets
    (one,) = found.unread
    assert one.line == HEAD.count("\n") + 3
    assert one.program == "test_it" and UNREAD[statement] in one.reason


def test_a_table_that_is_not_evident_is_listed(reading: Reading) -> None:
    text = """
import elsewhere

@pytest.mark.parametrize("n", elsewhere.sizes())
def test_it(n):
    copied(np.ones((n, 70)))
"""
    found = reading(HEAD + text)
    (one,) = found.unread
    assert (one.line, one.program) == (HEAD.count("\n") + 5, "test_it")
    assert "the values of `parametrize` are not evident" in one.reason and not found.presets


def test_the_number_of_contracts_is_limited(reading: Reading) -> None:
    text = """
@pytest.mark.parametrize("n", range(1, 8))
def test_first(n):
    copied(np.ones((n, 70)))

def test_second():
    copied(np.ones((1, 70)))
    copied(np.ones((9, 71)))
"""
    found = reading(HEAD + text, most=3)
    ((kernel, presets),) = found.presets.items()
    assert [p.contract for p in presets] == [
        "(source: float64[1, 70])",
        "(source: float64[2, 70])",
        "(source: float64[9, 71])",
    ]
    assert found.left_out == {kernel: 5}


HOOK = """\
def pytest_generate_tests(metafunc):
    if "size" in metafunc.fixturenames:
        metafunc.parametrize("size", getattr(metafunc.function, "sizes"), ids=str)
    mark = metafunc.definition.get_closest_marker("combined")
    if mark is None:
        return
    given = mark.kwargs.copy()
    keep = given.pop("keep", None)
    rows = [(m, n) for m in given["m"] for n in given["n"] if keep(m, n)]
    metafunc.parametrize(list(given), rows)
"""


def test_a_project_parametrises_its_tests_itself(contracts: Contracts) -> None:
    text = """
def sized(*values):
    def decorator(function):
        setattr(function, "sizes", list(values))
        return function
    return decorator

@pytest.mark.combined(m=[3, 5], n=[70, 71], keep=lambda m, n: m + n != 75)
def test_combined(m, n):
    values = {k: v for k, v in locals().items()}
    copied(np.ones((values["m"], values["n"]), np.int8))

class TestSized:
    @sized(9, 11)
    def test_sized(self, size):
        copied(np.ones(size, np.int8))
"""
    assert contracts(HEAD + text, {"conftest.py": HOOK}) == [
        "copied(source: int8[3, 70])",
        "copied(source: int8[9])",
        "copied(source: int8[3, 71])",
        "copied(source: int8[11])",
        "copied(source: int8[5, 71])",
    ]


def test_a_function_that_reaches_the_device_through_another_module(contracts: Contracts) -> None:
    text = """
from entry import entry

def test_it(device):
    device.run(kernel=entry, reference=plain, inputs={"tile": np.ones((96, 5), np.float32)})
    device.check(plain, {"tile": np.ones((96, 5), np.float32)})

def plain(tile):
    return tile.sum()
"""
    files = {"entry.py": "import kernels\n\ndef entry(tile):\n    return kernels.helper(tile)\n"}
    assert contracts(HEAD + text, files) == ["entry(tile: float32[96, 5])"]


def test_arguments_that_are_made_later(contracts: Contracts) -> None:
    text = """
class Job:
    def __init__(self, kernel, make):
        self.kernel, self.make = kernel, make

def test_it(device):
    parts = np.ones((4, 96, 7), np.float32)
    device.execute(Job(copied, lambda rank: {"source": parts[rank]}))
"""
    assert contracts(HEAD + text) == ["copied(source: float32[96, 7])"]


def test_names_that_the_module_of_the_kernel_does_not_have(contracts: Contracts) -> None:
    files = {
        "pack/__init__.py": "",
        "pack/modes.py": "import enum\n\nclass Order(enum.Enum):\n    ROWS = 1\n",
    }
    text = """
from pack.modes import Order
from nki.collectives import ReplicaGroup

def test_it():
    x = np.zeros((3, 5), np.float32)
    added(x, x, mode=Order.ROWS, plan=ReplicaGroup([[0, 1]]))
"""
    assert contracts(HEAD + text, files) == [
        "added(x: float32[3, 5], y: float32[3, 5], mode: pack.modes.Order.ROWS, "
        "plan: nki.collectives.ReplicaGroup([[0, 1]]), ...)"
    ]


def test_a_table_that_takes_too_long_leaves_the_others_their_time(
    contracts: Contracts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("verifier.suites.machine.SECONDS", 0.05)
    text = """
def endless(k):
    names = []
    while len(names) < 100_000:
        k = k // 2 if k % 2 == 0 else 3 * k + 1
        names.append(f"{k}")
    return names

class TestCopies:
    @pytest.mark.parametrize("rows, ids", [(3, 1)], ids=endless(27))
    def test_long(self, rows, ids):
        copied(np.zeros((rows, 70)))

    @pytest.mark.parametrize("rows", [5])
    def test_short(self, rows):
        copied(np.zeros((rows, 71), dtype=np.float32))
"""
    assert contracts(HEAD + text) == ["copied(source: float32[5, 71])"]


TARGETS = {
    "mark": ("@pytest.mark.trn3\n", "copied(x)", " on trn3"),
    "mark-of": ("@pytest.mark.platforms([Chip.THREE, Chip.OLD])\n", "copied(x)", " on trn1, trn3"),
    "mark-without": ("@pytest.mark.platforms(exclude=[Chip.OLD])\n", "copied(x)", " on trn2, trn3"),
    "mark-of-row": (
        "@pytest.mark.parametrize('k', [pytest.param(1, marks=pytest.mark.trn1)])\n",
        "copied(x)",
        " on trn1",
    ),
    "values-of-rows": ("@pytest.mark.parametrize('k', ['trn3'])\n", "copied(x)", ""),
    "argument": ("", "device.run(copied, x, target='trn1')", " on trn1"),
    "in-an-object": (
        "@pytest.mark.trn1\n", "device.run(Options(copied, {'source': x}, Chip.THREE))", " on trn3"
    ),
    "made-before": ("", "device.compile(copied, platform='trn3')(x)", " on trn3"),
    "grid-after": ("", "device.compile(copied, platform='trn3')[2](x)", "[2] on trn3"),
    "programs": ("", "device.run(copied, x, lnc=2)", "[2] "),
    "programs-in-an-object": (
        "", "device.run(Options(copied, {'source': x}, Chip.THREE, 1))", "[1] on trn3"
    ),
    "programs-and-a-grid": ("", "device.run(copied[2], x, logical_nc_config=1)", "[2] "),
    "nothing": ("@pytest.mark.slow\n", "device.run(copied, x, mode='fast')", ""),
    "skipped-if": (
        "@pytest.mark.skipif(platform.find() != 'trn3', reason='new')\n", "copied(x)", " on trn3"
    ),
    "skipped-inside": (
        "", "device.kind is Chip.OLD and pytest.skip('old')\n    copied(x)", " on trn2, trn3"
    ),
    "skipped-among": (
        "", "if device.kind not in (Chip.OLD, Chip.THREE): pytest.skip()\n    copied(x)",
        " on trn1, trn3",
    ),
    "branches": (
        "", "if device.kind == 'trn2':\n        copied(x)", " on trn2"
    ),
}  # fmt: skip


@pytest.mark.parametrize(("marks", "launch", "said"), TARGETS.values(), ids=TARGETS)
def test_targets(marks: str, launch: str, said: str, contracts: Contracts) -> None:
    text = f"""
import enum
from dataclasses import dataclass
import platform

class Chip(enum.Enum):
    OLD = "trn1"
    THREE = "TRN3"
    NEXT = "trn3_next"

@dataclass
class Options:
    kernel: object
    inputs: dict
    chip: Chip
    logical_nc_config: int = None

{marks}def test_it(device, k=1):
    x = np.zeros((3, 70), dtype=nl.bfloat16)
    {launch}
"""
    grid, _, targets = said.partition(" ")
    targets = f" {targets}" if targets else ""
    assert contracts(HEAD + text) == [f"copied{grid}(source: bfloat16[3, 70]){targets}"]
