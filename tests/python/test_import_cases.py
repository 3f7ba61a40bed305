"""Imports that fail, definitions that do something, names of another time: as CPython has them."""

from __future__ import annotations

import builtins
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from tests.python.support import imported, result_of
from verifier.engine.analysis import analyze_source
from verifier.symbolic.python.concrete import to_host

REGISTRY = """
LOG = []
NAMES = {}
def note(value):
    LOG.append(value)
    return int
def keep(function):
    LOG.append(function.__name__)
    return function
def named(name):
    def inner(function):
        NAMES[name] = function
        return function
    return inner
class Base:
    found = []
    count = 0
    def __init_subclass__(cls, **rest):
        Base.found.append(cls.__name__)
        cls.order = len(Base.found)
class Counting:
    made = 0
    def __init__(self):
        type(self).made += 1
class Name:
    def __set_name__(self, owner, name):
        LOG.append(name)
def default(value, seen=[]):
    seen.append(value)
    return len(seen)
"""

#: text of `main`, with the modules beside it behind lines of their own
PROGRAMS = {
    "a name that the standard library lacks": """
        try:
            from math import nothing_here
            result = 1
        except ImportError as error:
            result = type(error).__name__
    """,
    "names of several kinds that are not there": """
        import math, collections
        result = []
        try:
            import collections.abcx
        except ModuleNotFoundError:
            result.append(1)
        try:
            import math.sub
        except ImportError as error:
            result.append(str(error))
        try:
            from os.path import joinx
        except Exception:
            result.append(2)
        try:
            from functools import partial, not_there
        except ImportError:
            result.append(partial(max, 3)(4))
        try:
            math.not_there
        except AttributeError:
            result.append(3)
        result.append(hasattr(math, "pi"))
        result.append(hasattr(math, "po"))
        result.append(getattr(math, "po", 5))
        import collections.abc as known
        from os import path
        from collections import abc
        from xml import etree
    """,
    "a name that a module lacks": """
        try:
            from other import b
        except ImportError as error:
            b = 1
        try:
            import other.part
        except ImportError as error:
            c = type(error).__name__
        from other import a
        result = a, b, c
        # other.py
        a = 2
    """,
    "a module that fails": """
        log = []
        try:
            import failing
        except ValueError as error:
            log.append(str(error))
        try:
            import failing
        except ValueError as error:
            log.append(error.args)
        import registry
        result = log, registry.LOG
        # failing.py
        import registry
        registry.note("before")
        raise ValueError("no")
    """,
    "a module that fails inside of another": """
        try:
            import outer
        except KeyError as error:
            import registry
            result = error.args, registry.LOG
        # outer.py
        import registry
        registry.note("outer")
        import inner
        registry.note("never")
        # inner.py
        import registry
        registry.note("inner")
        {}["x"]
    """,
    "a module that imports itself in part": """
        try:
            import one
        except ImportError:
            result = "partially initialized"
        # one.py
        import two
        here = 1
        # two.py
        from one import here
    """,
    "modules that import each other as whole": """
        import one
        result = one.here, one.two.there()
        # one.py
        import two
        here = 1
        # two.py
        import one
        def there():
            return one.here
    """,
    "a name that is bound later": """
        try:
            result = later()
        except NameError:
            result = "not yet"
        def later():
            return 1
    """,
    "what decorators do": """
        import registry as r
        @r.keep
        def one(): pass
        @r.named("two")
        def two(): return 2
        @r.named("three")
        class Three:
            size = 3
        r.keep(lambda: 1)
        result = r.LOG, r.NAMES["two"](), r.NAMES["three"].size
    """,
    "what classes tell their base": """
        import registry
        from registry import Base
        class A(registry.Base): pass
        class B(Base): pass
        class C(A): pass
        result = Base.found, B.order, C.order
    """,
    "what instances and calls keep": """
        from registry import Counting, default, Name, LOG
        import elsewhere
        a = Counting()
        n = default(5)
        class Held:
            x = Name()
            y = Name()
        result = Counting.made, n, default(1), LOG, elsewhere.seen
        # elsewhere.py
        from registry import Counting, default
        Counting()
        seen = default(1), Counting.made
    """,
    "annotations": """
        from registry import note, LOG
        a: note("variable") = 1
        b: note("bare")
        class A:
            c: note("field") = 2
            def f(self, x: note("method")) -> note("result"): pass
        def f(p: note("p"), /, q: note("q") = note("default"), *r: note("r"), s: note("s"),
              **t: note("t")) -> note("return"):
            x: note("local") = 1
            return x
        f(1, s=1)
        A.d: note("attribute") = 5
        result = LOG
    """,
    "annotations that are postponed": """
        from __future__ import annotations
        from registry import note, LOG
        a: note("variable") = 1
        def f(x: note("x")) -> later: pass
        class A:
            c: note("field") = 2
        result = LOG
    """,
    "an annotation that is not there": """
        try:
            def f(x: not_there): pass
            result = 1
        except NameError:
            result = 2
    """,
    "bases and defaults": """
        from registry import note, LOG
        def base(name):
            note(name)
            return object
        class A(base("base")):
            def f(self, x=note("of a method")): pass
        def g(x=note("default"), *, y=note("keyword")): pass
        h = lambda x=note("lambda"): x
        result = LOG
    """,
    "a name of another time": """
        from state import count, items, bump
        import state
        state.count = 9
        state.items = [1]
        first = count, items, state.count
        bump()
        from state import count as after
        def other(): return 30
        state.bump = other
        result = first, after, bump() + 0, state.bump()
        # state.py
        count = 0
        items = []
        def bump():
            global count
            count += 1
            return count
    """,
    "a package that answers for its names": """
        import pack
        from pack import lazy
        result = [pack.lazy + lazy, getattr(pack, "nope", 2), hasattr(pack, "no"), pack.real]
        try:
            pack.never
        except AttributeError as error:
            result.append(error.args)
        result.append(pack.__name__)
        # pack/__init__.py
        real = 1
        def __getattr__(name):
            if name == "lazy":
                return 40
            raise AttributeError(name)
    """,
    "a loop at module level": """
        import registry as r
        for q in range(3):
            r.note(q)
        else:
            r.note(9)
        del q
        result = r.LOG, "q" in dir() if False else r.LOG[-1]
    """,
    "a module that is used in a loop first": """
        import plain
        total = 0
        for q in range(4):
            total += plain.size(q) + plain.SIZES[0]
        while total < 30:
            total += plain.size(1)
        result = total, plain.SIZES
        # plain.py
        SIZES = [3]
        def size(n): return n * 2
    """,
    "a guard around many": """
        try:
            import plain
            from plain import size, nope
        except ImportError:
            size, nope = plain.size, None
        finally:
            done = True
        result = size(2), nope, done
        # plain.py
        def size(n): return n * 2
    """,
    "names of modules": """
        import pack.part, plain
        result = pack.part.NAME, pack.NAME, plain.NAME
        # pack/__init__.py
        NAME = __name__
        # pack/part.py
        NAME = __name__
        # plain.py
        NAME = __name__
    """,
    "a name that everything of a module hides": """
        a = 1
        from plain import *
        c = 1
        result = a, b, c, d
        # plain.py
        a, b, c = 2, 3, 4
        def d(): pass
        d = 5
    """,
    "objects that change when they are asked": """
        import elsewhere
        from plain import HELD, tick, step, TURN
        result = HELD.size, elsewhere.size, tick(), step(), next(TURN)
        # plain.py
        class Held:
            n = 0
            @property
            def size(self):
                self.n += 1
                return self.n
            def __call__(self):
                self.n += 10
                return self.n
        def make():
            n = [0]
            def inner():
                n[0] += 1
                return n[0]
            return inner
        HELD, tick, inner, TURN = Held(), Held(), make(), iter([1, 2, 3])
        def step(): return inner()
        # elsewhere.py
        import plain
        from plain import HELD, tick, step
        size = HELD.size
        first = tick(), step(), next(plain.TURN)
    """,
    "aliases of lists": """
        from plain import TABLE, ROWS
        import plain
        for row in ROWS:
            TABLE.append(row)
        result = plain.TABLE is TABLE, plain.ROWS is ROWS, plain.TABLE, plain.both()
        # plain.py
        TABLE, ROWS = [], [1, 2]
        OTHER = TABLE
        def both(): return OTHER is TABLE, len(OTHER)
    """,
}


def written(folder: Path, program: str) -> None:
    """Put the modules of a program into a folder."""
    (folder / "registry.py").write_text(REGISTRY, encoding="utf-8")
    name, lines = "main.py", list[str]()
    for line in [*textwrap.dedent(program).splitlines(), "# end.py"]:
        if line.startswith("# ") and line.endswith(".py"):
            path = folder / name
            path.parent.mkdir(exist_ok=True)
            path.write_text("\n".join(lines) + "\n", encoding="utf-8")
            name, lines = line[2:], []
        else:
            lines.append(line)


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_cpython_does(tmp_path: Path, name: str) -> None:
    written(tmp_path, PROGRAMS[name])
    vm, value = imported(tmp_path)
    assert not vm.trace.ledger, vm.trace.ledger
    assert not vm.checks, vm.checks
    assert to_host(vm, value) == result_of(tmp_path)


#: programs whose import fails, and with what
FAILING = {
    "a name of the standard library": ("from math import nothing_here", ImportError),
    "a module of the standard library": ("import collections.abcx", ImportError),
    "a part of what is no package": ("import os.path.more", ImportError),
    "a name of a module": ("from registry import nothing", ImportError),
    "a part of a module": ("import registry.part", ImportError),
    "a name in a module that is imported": (
        "import other\n# other.py\nfrom math import nothing_here\n",
        ImportError,
    ),
    "an attribute": ("import math\nx = math.nothing_here", AttributeError),
    "a division": ("x = 1 // 0", ZeroDivisionError),
    "a division in a module": ("import other\n# other.py\nx = 1 // 0", ZeroDivisionError),
    "a key": ("x = {'a': 1}['b']", KeyError),
    "an index": ("T = (1, 2)\nx = T[5]", IndexError),
    "a name": ("x = nothing_here", NameError),
    "a name in an annotation": ("def f(x: nothing_here): pass", NameError),
    "a name of later": ("def f(x=SIZE): pass\nSIZE = 1", NameError),
    "a base": ("class A(nothing_here): pass", NameError),
    "a base that cannot be one": ("class A(bool): pass", TypeError),
    "a decorator": ("@nothing_here\ndef f(): pass", NameError),
    "a data class": (
        "from dataclasses import dataclass\n@dataclass\nclass A:\n    x: int = 1\n    y: int\n",
        TypeError,
    ),
    "a sum": ("x = 1 + 'a'", TypeError),
}


@pytest.mark.parametrize("name", FAILING)
def test_what_fails_when_it_is_imported(tmp_path: Path, name: str) -> None:
    program, error = FAILING[name]
    written(tmp_path, program)
    command = [sys.executable, "-c", "import main"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    raised = [line.split(":")[0] for line in done.stderr.splitlines()][-1]
    assert done.returncode and issubclass(getattr(builtins, raised), error)
    vm, _ = imported(tmp_path)
    assert vm.checks or vm.trace.ledger


def test_a_library_may_put_names_into_modules_without_a_model(tmp_path: Path) -> None:
    """As compilers do with ``logging.OFF``."""
    written(tmp_path, "import logging\nx = logging.OFF\nresult = 1")
    vm, value = imported(tmp_path)
    assert not vm.checks and to_host(vm, value) == 1


@pytest.mark.parametrize("name", FAILING)
def test_what_fails_goes_to_a_handler(tmp_path: Path, name: str) -> None:
    program, error = FAILING[name]
    body, _, rest = program.partition("# other.py")
    guarded = textwrap.indent(body, "    ")
    text = f"try:\n{guarded}\n    result = 0\nexcept {error.__name__}:\n    result = 1\n"
    written(tmp_path, text + (f"# other.py\n{rest}" if rest else ""))
    vm, value = imported(tmp_path)
    assert not vm.checks and not vm.trace.ledger
    assert to_host(vm, value) == result_of(tmp_path) == 1


@pytest.mark.parametrize(
    ("line", "missing"),
    [
        ("import nki.languag", "nki.languag"),
        ("import nki.isa, nki.langage", "nki.langage"),
        ("import nki.collective", "nki.collective"),
        ("import nki.collectives", None),
        ("import nki.isa, nki.language", None),
    ],
)
def test_parts_of_a_kernel_api_that_no_name_is_given_to(line: str, missing: str | None) -> None:
    result = analyze_source(
        f"import nki\nimport nki.isa as nisa\nimport nki.language as nl\n{line}\n\n\n"
        "@nki.jit\n"
        "def k(x):\n"
        "    assert x.shape == (96, 40)\n"
        "    t = nl.ndarray((96, 40), dtype=x.dtype, buffer=nl.sbuf)\n"
        "    nisa.dma_copy(dst=t, src=x)\n"
        "    y = nl.ndarray((96, 40), dtype=x.dtype, buffer=nl.shared_hbm)\n"
        "    nisa.dma_copy(dst=y, src=t)\n"
        "    return y\n"
    )
    told = [(each.span.line, each.message.partition(";")[0]) for each in result.diagnostics]
    assert told == ([] if missing is None else [(4, f"No module named '{missing}'")])
