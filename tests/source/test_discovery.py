from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from verifier.source import ir
from verifier.source.commented import contract_comments
from verifier.source.discovery import (
    KernelEntry,
    discover,
    kernel_definition,
    kernels,
    scan,
)
from verifier.source.project import Module
from verifier.source.wrappers import Named

from .conftest import Plant


def entries(plant: Plant, tmp_path: Path, text: str) -> list[KernelEntry]:
    project = plant({"m.py": text})
    return kernels(project, project.module(tmp_path / "m.py"))


@pytest.mark.parametrize(
    ("head", "decorator", "dialect", "wrapper"),
    [
        ("import nki", "nki.jit", "nki", "nki.jit"),
        ("import nki as nki", "nki.jit()", "nki", "nki.jit"),
        ("import neuronxcc.nki as foo", "foo.jit", "nki", "neuronxcc.nki.jit"),
        ("import neuronxcc.nki", "neuronxcc.nki.baremetal()", "nki", "neuronxcc.nki.baremetal"),
        ("from neuronxcc import nki", "nki.benchmark(warmup=2)", "nki", "neuronxcc.nki.benchmark"),
        ("from nki import jit as j", "j", "nki", "nki.jit"),
        ("from neuronxcc.nki import profile", "profile(nth=3)", "nki", "neuronxcc.nki.profile"),
        ("from torch_neuronx import nki_jit", "nki_jit", "nki", "torch_neuronx.nki_jit"),
        (
            "from torch_neuronx.xla_impl.ops import nki_jit",
            "nki_jit()",
            "nki",
            "torch_neuronx.xla_impl.ops.nki_jit",
        ),
        ("import nki", "nki.trace", "nki", "nki.trace"),
        ("import nki", "nki.simulate", "nki", "nki.simulate"),
        ("import ppl", "ppl.jit", "ppl", "ppl.jit"),
        ("import ppl as p", "p.jit(tiling=cb)", "ppl", "ppl.jit"),
        ("import okk", "okk.kernel", "okk", "okk.kernel"),
        ("from nki import *", "jit", "nki", "nki.jit"),
        ("import nki\nlaunch = nki.jit", "launch", "nki", "nki.jit"),
        ("import nki\nlaunch = nki.jit(mode='t')", "launch", "nki", "nki.jit"),
        (
            "try:\n    import nki\nexcept ImportError:\n    nki = None",
            "nki.jit",
            "nki",
            "nki.jit",
        ),
    ],
)
def test_decorators(
    plant: Plant, tmp_path: Path, head: str, decorator: str, dialect: str, wrapper: str
) -> None:
    text = f"{head}\n@{decorator}\n@other.thing(1)\ndef kern(a, b):\n    return a\n"
    (entry,) = entries(plant, tmp_path, text)
    assert (entry.name, entry.dialect, entry.how.value) == ("kern", dialect, "decorator")
    assert entry.wrapper == wrapper
    assert entry.line == head.count("\n") + 4
    span = entry.name_span
    assert (span.line, span.column, span.end_column) == (entry.line, 4, 8)
    assert not entry.nested


@pytest.mark.parametrize(
    ("head", "decorator"),
    [
        ("import jax", "jax.jit"),
        ("from numba import jit", "jit"),
        ("import torch_neuronx", "torch_neuronx.trace"),
        ("import nki", "nki.compiler.skip_pass"),
        ("import nki", "nki.jit(f)"),
        ("", "jit"),
        ("import nki\nnki = 3\nimport jax as nki", "nki.jit"),
    ],
)
def test_other_decorators(plant: Plant, tmp_path: Path, head: str, decorator: str) -> None:
    text = f"{head}\n@{decorator}\ndef kern(a):\n    return a\n"
    assert entries(plant, tmp_path, text) == []


def test_literal_keywords(plant: Plant, tmp_path: Path) -> None:
    text = """\
    import nki
    @nki.compiler.skip_middle_end_transformations
    @nki.jit(platform_target="trn3", mode=pick(), levels=(1, -2), **more)
    def kern(a): return a
    """
    (entry,) = entries(plant, tmp_path, text)
    assert entry.keywords == {"platform_target": "trn3", "levels": (1, -2)}


@pytest.mark.parametrize(
    "call",
    [
        "nki.jit(plain)",
        "nki.baremetal()(plain)",
        "nki.benchmark(warmup=5)(plain)",
        "nki.jit(plain)(x, y)",
        "nki.jit(plain)[4](x)",
        "nki.simulate_kernel(plain, x)",
    ],
)
@pytest.mark.parametrize("place", ["{}", "def host(x):\n    out = {}\n", "class H:\n    k = {}\n"])
def test_wrapped(plant: Plant, tmp_path: Path, call: str, place: str) -> None:
    text = "import nki\ndef plain(a):\n    return a\n" + place.format(call) + "\n"
    (entry,) = entries(plant, tmp_path, text)
    assert (entry.name, entry.how.value, entry.line) == ("plain", "wrapped", 2)


def test_decorated_and_wrapped_is_listed_once(plant: Plant, tmp_path: Path) -> None:
    text = """\
    import nki
    run = nki.baremetal()(twice)
    @nki.jit
    def twice(a): return a
    nki.benchmark(warmup=1)(twice)
    """
    assert [(e.name, e.how.value) for e in entries(plant, tmp_path, text)] == [
        ("twice", "decorator")
    ]


def test_kernels_of_other_modules_are_kernels_there_too(plant: Plant, tmp_path: Path) -> None:
    """What makes one is said in its own module; an API's other decorators leave it what it is."""
    project = plant(
        {
            "stage.py": "import nki\n@nki.compiler.skip_some\n@nki.jit\ndef stage(x): return x\n",
            "host.py": """\
            from stage import stage as run

            def simulated(kernel):
                def inner(*args):
                    import nki as n
                    return n.simulate(kernel)(*args)
                return inner

            def measured(kernel, x):
                from nki import benchmark
                return benchmark(warmup=2)(kernel)(x)

            def drive(x):
                import nki as n
                measured(run, x)
                return n.simulate(run)(x), simulated(run)(x)
            """,
        }
    )
    found = discover(project, [project.module(tmp_path / n) for n in ("stage.py", "host.py")])
    assert [(e.name, e.how.value) for e in found] == [("stage", "decorator")]


def test_unknown_functions_are_not_wrapped(plant: Plant, tmp_path: Path) -> None:
    text = """\
    import nki
    from torch import thing
    def host(fn):
        nki.jit(fn)
        nki.jit(thing)
        nki.jit(missing)
        for inner in []:
            nki.jit(inner)
    """
    assert entries(plant, tmp_path, text) == []


def test_wrapped_imports_belong_to_their_module(plant: Plant, tmp_path: Path) -> None:
    project = plant(
        {
            "kerns.py": "def scale(a):\n    return a\n\ndef shift(a):\n    return a\n",
            "one.py": "import nki\nfrom kerns import scale\nrun = nki.jit(scale)\n",
            "two.py": "import nki, kerns\nnki.jit(kerns.scale); nki.jit(kerns.shift)\n",
        }
    )
    modules = [project.module(tmp_path / name) for name in ("one.py", "two.py", "kerns.py")]
    found = discover(project, modules)
    assert [(e.path.name, e.name, e.how.value) for e in found] == [
        ("kerns.py", "scale", "wrapped"),
        ("kerns.py", "shift", "wrapped"),
    ]
    definition = kernel_definition(project, found[1])
    assert isinstance(definition, ir.FunctionDef)
    assert definition.name == "shift"


def test_decorator_through_a_module_on_disk(plant: Plant, tmp_path: Path) -> None:
    project = plant(
        {
            "compat.py": "try:\n    from nki import jit\nexcept ImportError:\n    jit = None\n",
            "names.py": "from compat import jit as device\nimport neuronxcc.nki as n\n",
            "m.py": "import names\nfrom compat import jit\n"
            "@jit\ndef a(x): pass\n@names.device\ndef b(x): pass\n"
            "@names.n.baremetal()\ndef c(x): pass\n",
        }
    )
    found = kernels(project, project.module(tmp_path / "m.py"))
    assert [(e.name, e.wrapper) for e in found] == [
        ("a", "nki.jit"),
        ("b", "nki.jit"),
        ("c", "neuronxcc.nki.baremetal"),
    ]


NESTED = """\
import nki

def outer(n):
    from torch_neuronx import nki_jit
    @nki.jit
    def inner(a):
        return a
    def plain(a):
        return a
    return nki_jit(plain)

class Tests:
    @nki.jit
    def method(self, a): return a
    def test(self):
        from torch_neuronx import nki_jit as device
        @device
        async  def \\
            late(a): return a

@nki_jit
def not_in_scope(a): return a
"""


def test_nested_and_scoped(plant: Plant, tmp_path: Path) -> None:
    project = plant({"m.py": NESTED})
    found = kernels(project, project.module(tmp_path / "m.py"))
    assert [(e.name, e.how.value, e.nested) for e in found] == [
        ("outer.inner", "decorator", True),
        ("outer.plain", "wrapped", True),
        ("Tests.method", "decorator", True),
        ("Tests.test.late", "decorator", True),
    ]
    lines = NESTED.split("\n")
    for entry in found:
        span = entry.name_span
        name = entry.name.rpartition(".")[2]
        assert lines[span.line - 1][span.column : span.end_column] == name
        definition = kernel_definition(project, entry)
        assert definition is not None
        assert (definition.name, definition.name_span) == (name, span)


def test_broken_kernels_are_listed_with_their_error(plant: Plant, tmp_path: Path) -> None:
    text = """\
    import nki
    @nki.jit(mode="x")
    def broken(a):
        return (a
    @nki.jit
    def sound(a):
        return a
    """
    broken, sound = entries(plant, tmp_path, text)
    assert broken.error is not None
    assert (broken.name, broken.line, broken.error.line) == ("broken", 3, 4)
    assert broken.keywords == {"mode": "x"}
    assert sound.error is None


def test_contract_comments(open_module: Callable[[str], Module]) -> None:
    module = open_module(
        """\
        # tilelint: contract (far: bf16[K])

        # about the kernel
        # tilelint: contract (a: bf16[K, M], b: bf16[K, N]) where K % 32 == 0
        # (continued)
        #tilelint:contract [2, 2](a: fp32[64, 96])
        @nki.jit(
            mode="x",  # tilelint: contract not alone on its line
        )
        # tilelint: contract (between: bf16[4])
        def kern(a, b):
            # tilelint: contract (inside: bf16[4])
            return a
        class C:
            # tilelint: contract (x: fp32[3])
            def m(self, x): pass
        def plain(a): pass
        """
    )
    assert contract_comments(module) == {
        "kern": [
            (4, "(a: bf16[K, M], b: bf16[K, N]) where K % 32 == 0"),
            (6, "[2, 2](a: fp32[64, 96])"),
            (10, "(between: bf16[4])"),
        ],
        "C.m": [(15, "(x: fp32[3])")],
    }


def bound(text: str, plant: Plant, tmp_path: Path) -> list[tuple[str, dict[str, object]]]:
    return [(e.name, dict(e.bound)) for e in entries(plant, tmp_path, text)]


HEAD = """\
import functools
import nki
from functools import partial
TILE = 64
def scale(a, tile, *, mode=None): return a
"""


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("nki.jit(partial(scale, tile=128))", {"tile": 128}),
        ("nki.jit(functools.partial(scale, mode='x'))(x, 3)", {"mode": "x"}),
        ("nki.jit(partial(scale, tile=TILE))", {"tile": Named(("TILE",))}),
        ("nki.jit(partial(partial(scale, tile=1), tile=2))", {"tile": 2}),
        ("nki.jit(mode='t')(partial(scale, mode=None))", {"mode": None}),
        ("half = partial(scale, tile=64)\nnki.jit(half)", {"tile": 64}),
        # what the text does not say may be anything
        ("nki.jit(partial(scale, tile=f()))", {}),
        ("nki.jit(partial(scale, **more))", {}),
    ],
)
def test_a_partial_is_wrapped(
    plant: Plant, tmp_path: Path, call: str, expected: dict[str, object]
) -> None:
    assert bound(HEAD + call + "\n", plant, tmp_path) == [("scale", expected)]


def test_a_name_of_a_function_is_no_name_of_its_module(plant: Plant, tmp_path: Path) -> None:
    text = HEAD + "def launch(x, TILE):\n    nki.jit(partial(scale, tile=TILE))(x)\n"
    assert bound(text, plant, tmp_path) == [("scale", {})]


def test_partials_of_one_function_are_kernels_of_their_own(plant: Plant, tmp_path: Path) -> None:
    text = HEAD + "a = nki.jit(partial(scale, tile=1))\nb = nki.jit(partial(scale, tile=2))\n"
    assert bound(text, plant, tmp_path) == [("scale", {"tile": 1}), ("scale", {"tile": 2})]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("double = nki.jit(lambda a: scale(a, 2))", "double"),
        ("nki.jit(lambda a: scale(a, 2))(x)", "<lambda>"),
        ("two = lambda a: scale(a, 2)\ndouble = nki.jit(two)", "double"),
        ("def host(n):\n    f = nki.jit(lambda a: scale(a, n))\n    return f", "host.f"),
    ],
)
def test_a_lambda_is_wrapped(plant: Plant, tmp_path: Path, text: str, name: str) -> None:
    project = plant({"m.py": HEAD + text + "\n"})
    (entry,) = kernels(project, project.module(tmp_path / "m.py"))
    assert (entry.name, entry.nested) == (name, name.startswith("host"))
    definition = kernel_definition(project, entry)
    assert definition is not None
    assert [p.name for p in definition.params] == ["a"]
    (body,) = definition.body
    assert isinstance(body, ir.Return)


@pytest.mark.parametrize(
    "wrapper",
    [
        "def kernel(f):\n    return nki.jit(f)",
        "def kernel(f):\n    def run(*a):\n        return nki.jit(f)(*a)\n    return run",
        "kernel = partial(nki.jit, mode='t')",
    ],
)
@pytest.mark.parametrize(
    "use", ["@kernel\ndef add(a): return a", "def add(a): return a\nkernel(add)"]
)
def test_functions_that_wrap_what_they_are_given(
    plant: Plant, tmp_path: Path, wrapper: str, use: str
) -> None:
    assert bound(f"{HEAD}{wrapper}\n{use}\n", plant, tmp_path) == [("add", {})]


@pytest.mark.parametrize(
    "factory",
    [
        "def made(mode):\n    return nki.jit(mode=mode)",
        "def made(mode):\n    return partial(nki.jit, mode=mode)",
        "def made(mode):\n    def wrap(f):\n        return nki.jit(f)\n    return wrap",
    ],
)
def test_functions_that_make_wrappers(plant: Plant, tmp_path: Path, factory: str) -> None:
    text = f"{HEAD}{factory}\n@made('x')\ndef add(a): return a\n"
    assert bound(text, plant, tmp_path) == [("add", {})]


def test_launchers_are_given_kernels_at_any_place(plant: Plant, tmp_path: Path) -> None:
    text = HEAD + "def run(x, fn): return nki.jit(fn)(x)\nrun(x, scale)\nrun(x, fn=len)\n"
    assert bound(text, plant, tmp_path) == [("scale", {})]


def test_functions_that_wrap_nothing_are_no_wrappers(plant: Plant, tmp_path: Path) -> None:
    text = """
    import nki
    def kernel(f): return f
    def other(f, g): return nki.jit(g)
    def shadow(f):
        f = 3
        return nki.jit(f)
    @kernel
    def one(a): return a
    @other
    def two(a): return a
    @shadow
    def three(a): return a
    """
    assert bound(text, plant, tmp_path) == []


def test_wrappers_of_other_modules(plant: Plant, tmp_path: Path) -> None:
    project = plant(
        {
            "compat.py": "import nki\nkernel = nki.jit(mode='t')\ndef wrap(f): return nki.jit(f)\n",
            "m.py": """
            import nki.language as nl
            from compat import kernel, wrap
            @kernel
            def one(a): return a
            @wrap
            def two(a): return a
            def three(a): return a
            k = wrap(three)
            """,
        }
    )
    found = kernels(project, project.module(tmp_path / "m.py"))
    assert [e.name for e in found] == ["one", "two", "three"]


STARTED = """
import functools

import nki
import nki.isa as nisa
import pytest
from kernels import one as {name}


def inside():
    nisa.barrier()
    one(x)


def test_it_raises(x):
    one(x, 1)


def test_rows(x):
    with pytest.raises(ValueError):
        one(x, 2)
    {call}
"""


@pytest.mark.parametrize(
    ("name", "call", "given"),
    [
        ("one", "one(x, [3])", 2),
        ("one", "one[2](x)", 1),
        ("renamed", "renamed(x, 3, sizes=[4])", 3),
        ("one", "again = one\n    again(x)", 1),
        ("one", "functools.partial(one, 3)(x)", 2),
        ("one", "nki.jit(one)(x)", 1),
        ("one", "one.with_schedule([])", 1),
        ("one", "one = print\n    one(x)", 0),
        ("one", "other(x)", 0),
    ],
)
def test_starts_of_a_kernel_in_another_file(
    plant: Plant, tmp_path: Path, name: str, call: str, given: int
) -> None:
    kernel = "import nki\n\n\n@nki.jit\ndef one(x, *sizes):\n    return x\n"
    project = plant({"kernels.py": kernel, "m.py": STARTED.format(name=name, call=call)})
    module, other = (project.module(tmp_path / file) for file in ("kernels.py", "m.py"))
    found = scan(project, module, [other])
    starts = found.starts_of(found.kernels[0])
    host = [start for start in starts if start.host]
    assert [len(start.given) for start in host] == ([given] if given else [])
    assert all(start.path == str(other.path) for start in starts)


@pytest.mark.parametrize(
    ("text", "name", "place"),
    [
        ("@nki.jit\n@half\ndef add(a): return a", "add", (6, 1)),
        ("@nki.jit(mode='t')\n@rows(3)\ndef add(a): return a", "add", (6, 1)),
        ("def add(a): return a\nk = nki.jit(half(add))", "k", (7, 4)),
        ("@half\ndef add(a): return a\nk = nki.jit(add)", "k", (8, 4)),
        ("k = nki.jit(rows(4))", "k", (6, 4)),
        ("def j(f): return nki.jit(half(f))\n@j\ndef add(a): return a", "add", (7, 1)),
        ("def j(f):\n  g = half(f)\n  return nki.jit(g)\n@j\ndef add(a): return a", "add", (9, 1)),
        ("@nki.benchmark()\n@nki.jit\ndef add(a): return a", "add", None),
        ("@half\n@nki.jit\ndef add(a): return a", "add", None),
        ("def j(f): return nki.jit(f)\n@j\ndef add(a): return a", "add", None),
    ],
)
def test_where_something_is_made_of_a_function_first(
    plant: Plant, tmp_path: Path, text: str, name: str, place: tuple[int, int] | None
) -> None:
    head = "import nki\ndef half(f): return lambda a: f(a[0])\ndef rows(n):\n"
    head += "  def inner(a): return a\n  return inner\n"
    (entry,) = entries(plant, tmp_path, head + text)
    found = None if entry.site is None else (entry.site.line, entry.site.column)
    assert (entry.name, found) == (name, place)


MAKER = """
import nki

ROWS = 3


def make(rows):
    @nki.jit
    def k(x):
        return x[rows]

    return k


{calls}
"""


@pytest.mark.parametrize(
    ("calls", "names"),
    [
        ("", ["make.k"]),
        ("one = make(64)\ntwo = make(ROWS)", ["one", "two"]),
        ("def run(x):\n    return make(64)(x), make(32)(x)", ["run.k", "run.k:16"]),
        # what the text does not say once and for all is any value
        ("def run(x, n):\n    return make(n)(x)", ["make.k"]),
        ("one = make(64)\ndef run(x, n):\n    return make(n)(x)", ["make.k", "one"]),
        ("one = make(64)\nother = make", ["make.k", "one"]),
        ("for n in (2, 3):\n    print(make(n))", ["make.k"]),
    ],
)
def test_kernels_that_a_function_makes(
    plant: Plant, tmp_path: Path, calls: str, names: list[str]
) -> None:
    found = entries(plant, tmp_path, MAKER.format(calls=calls))
    assert sorted(entry.name for entry in found) == names


def test_a_function_that_another_file_calls_makes_any_kernel(plant: Plant, tmp_path: Path) -> None:
    project = plant(
        {
            "m.py": MAKER.format(calls="one = make(64)"),
            "other.py": "from m import make\n\n\ndef run(x, n):\n    return make(n)(x)\n",
        }
    )
    module, other = (project.module(tmp_path / file) for file in ("m.py", "other.py"))
    assert [e.name for e in scan(project, module).kernels] == ["one"]
    assert sorted(e.name for e in scan(project, module, [other]).kernels) == ["make.k", "one"]
