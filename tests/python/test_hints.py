"""What the text of a kernel shows about its parameters."""

from __future__ import annotations

import textwrap

import pytest

from tests.python.support import PLACE
from verifier.source import ir
from verifier.source.project import Project
from verifier.source.sources import Sources
from verifier.symbolic.python.evidence import Hint
from verifier.symbolic.python.hints import read


def hints(text: str) -> dict[str, Hint]:
    project = Project([PLACE], Sources({str(PLACE): textwrap.dedent(text)}))
    module = project.module(PLACE)
    definition = module.definition("kernel")
    assert isinstance(definition, ir.FunctionDef)
    return read(project, module, definition)


def ranks(body: str, head: str = "def kernel(x, y):") -> tuple[int, ...]:
    """The ranks of ``x`` that a body shows."""
    return hints(f"{head}\n{textwrap.indent(textwrap.dedent(body), '    ')}\n")["x"].ranks


BODIES = [
    ("a, b, c = x.shape", (3,)),
    ("[a, b] = x.shape", (2,)),
    ("a, *b = x.shape", ()),
    ("a, b, c, *d = x.shape", (3,)),
    ("(a, b), c = x.shape, 1", (2,)),
    ("s = x.shape\na, b, c = s", (3,)),
    ("s = tuple(x.shape)\na, b, c = s", (3,)),
    ("a = x[0, 1, 2]", (3,)),
    ("a = x[0, ..., 2]", ()),
    ("a = x[0, None]", ()),
    ("a = x[0]", ()),
    ("assert len(x.shape) == 4", (4,)),
    ("assert x.ndim == 3", (3,)),
    ("n = x.ndim\nassert n == 3", (3,)),
    ("rank = 5\nassert x.ndim == rank", (5,)),
    ("if x.ndim != 3: raise ValueError", (3,)),
    ("assert x.ndim in (2, 3)", (2, 3)),
    ("assert x.ndim not in (2, 3)", (2, 3)),
    ("assert x.ndim > 3", ()),
    ("assert x.shape == (1, 2, 3)", (3,)),
    ("a = x.shape[3]", (4,)),
    ("a = x.shape[-4]", (4,)),
    ("a = x.shape[:3]", (3,)),
    ("x = y\na, b, c = x.shape", ()),
    ("for x in y: a, b, c = x.shape", ()),
    ("z = x[0]\na, b = z.shape", (3,)),
    ("z = x[0:2]\na, b = z.shape", (2,)),
    ("z = nl.load(x)\na, b, c = z.shape", (3,)),
    ("z = nl.zeros(x.shape)\na, b, c = z.shape", (3,)),
    ("assert x.shape == y.shape\na, b, c = y.shape", (3,)),
    ("a, b = x.shape\nc, d, e = x.shape", (2, 3)),
    ("pass", ()),
]


@pytest.mark.parametrize(("body", "expected"), BODIES)
def test_ranks_in_a_body(body: str, expected: tuple[int, ...]) -> None:
    assert ranks(body) == expected


def test_the_surest_comes_first() -> None:
    text = '''
        def kernel(x: nt.tensor[1, 2, 3, 4]):
            """x: [A, B]"""
            a, b, c = x.shape
            d = x[0, 1, 2, 3, 4]
    '''
    assert hints(text)["x"].ranks == (3, 4, 5, 2)


@pytest.mark.parametrize(
    ("annotation", "expected"),
    [
        ("nt.tensor[nt.mutable]", ()),
        ("'tensor[mutable]'", ()),
        ("nt.tensor[nl.float32]", ()),
        ("nt.mutable_tensor[72, 40]", (2,)),
        ("nt.tensor[sizes.rows, 40]", (2,)),
    ],
)
def test_what_is_no_size_says_nothing(annotation: str, expected: tuple[int, ...]) -> None:
    assert hints(f"def kernel(x: {annotation}): pass")["x"].ranks == expected


def test_what_a_function_of_the_project_shows() -> None:
    text = """
        def rows(tile, rank=3):
            assert len(tile.shape) == rank
        def measured(other): rows(other, 4)
        def kernel(x, y, z):
            rows(x)
            measured(other=y)
            rows(z[0])
    """
    found = hints(text)
    assert [found[name].ranks for name in "xyz"] == [(3,), (4,), (4,)]


def test_a_function_that_calls_itself() -> None:
    text = """
        def turn(tile): turn(tile)
        def kernel(x): turn(x)
    """
    assert hints(text)["x"].ranks == ()


def test_parameters_as_large_as_each_other() -> None:
    text = """
        def kernel(x, y, z):
            assert x.ndim == y.ndim == z.ndim
            a, b, c = z.shape
    """
    assert {hint.ranks for hint in hints(text).values()} == {(3,)}


def test_a_parameter_that_is_no_tensor() -> None:
    text = """
        def kernel(x, y, z):
            if x is None: x = (1, 2)
            if y is None: y = ((1, 2), (3, 4))
            a, b = z[0]
    """
    found = hints(text)
    assert [found[name].sequence for name in "xyz"] == ["flat", "nested", "nested"]
    assert hints("def kernel(x): pass")["x"].sequence is None


def test_comments_and_docstrings() -> None:
    text = '''
        def kernel(
            x,  # [B, S, H]
            y,  # the second one
            z, w,  # [A, B]
        ):
            """A kernel.

            y: [K, M], z (tensor): of shape (a, b, c)
            w: [H]
            """
    '''
    found = hints(text)
    assert [found[name].ranks for name in "xyzw"] == [(3,), (2,), (3,), (1,)]


def test_strings_beside_a_function() -> None:
    text = '''
        """Adds. x: [A, B, C], y: [D, E, F]"""
        import nki
        """
        expect: z.shape == [n]
        """
        def kernel(x, y, z):
            """y: [A, B]"""
    '''
    found = hints(text)
    assert [found[name].ranks for name in "xyz"] == [(3,), (2, 3), (1,)]


def test_integers_that_a_kernel_asserts() -> None:
    text = """
        def kernel(a, b, c, d, e, f):
            size = 3
            assert isinstance(a, int)
            assert isinstance(b, int) or b is None, "which axis"
            assert isinstance(c, int) or isinstance(c, tuple)
            d = 4
            assert isinstance(d, int)
            assert isinstance(e, int) or a is None
            if size: return
            assert isinstance(f, int)
    """
    found = hints(text)
    assert [found[name].asserted for name in "abcdef"] == ["int", "int | None", "", "", "", ""]
    assert hints(f"int = float\n{textwrap.dedent(text)}")["a"].asserted == ""
