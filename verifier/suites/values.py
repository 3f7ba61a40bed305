"""What programs that launch kernels work with, besides what kernels do."""

from __future__ import annotations

from dataclasses import dataclass, field

from msgspec import Struct

from verifier.symbolic.python.model import Class, Function
from verifier.symbolic.values import ApiRef, Ref


class Array(Struct, frozen=True):
    """An array or tensor of a library, of which the shape and the type are known, but no element.

    ``dtype`` is canonical, None where it is not known. ``counts`` is where it stands what is known
    of its elements (:mod:`.counting`), None: nothing is.
    """

    shape: tuple[int, ...]
    dtype: str | None
    counts: Ref | None = None

    @property
    def alike(self) -> Array:
        """An array of the same shape and type, and other elements."""
        return self if self.counts is None else Array(self.shape, self.dtype)


class ArrayMethod(Struct, frozen=True):
    """A method of an array, found on one."""

    array: Array
    name: str


class ArrayFunction(Struct, frozen=True):
    """A function of an array library: ``library`` and ``name`` as the tables have them."""

    library: str
    name: str


class RandomSource(Struct, frozen=True):
    """What numbers are drawn from: ``numpy.random.default_rng()``."""


class Launcher(Struct, frozen=True):
    """A kernel that is launched when it is called; ``grid`` None: on what is not said.

    ``targets`` are those that were named when it was made.
    """

    function: Function
    grid: tuple[object, ...] | None = None
    targets: frozenset[str] = frozenset()


class Constructed(Struct, frozen=True):
    """What a class of a kernel API makes of arguments."""

    api: ApiRef
    args: tuple[object, ...]
    keywords: tuple[tuple[str, object], ...]


@dataclass(frozen=True, slots=True)
class Metafunc:
    """What ``pytest_generate_tests`` is given: a test, and where the rows go."""

    function: Function
    cls: Class | None
    names: tuple[str, ...]
    #: the names and the values that it is parametrised with
    tables: list[tuple[object, object]] = field(compare=False)


class Definition(Struct, frozen=True):
    """``metafunc.definition``: the test with its marks."""

    metafunc: Metafunc


class HookMethod(Struct, frozen=True):
    """A method of what hooks are given."""

    owner: Metafunc | Definition
    name: str


class Mark(Struct, frozen=True):
    """``pytest.mark.name(*args, **keywords)``"""

    name: str
    args: tuple[object, ...] = ()
    keywords: tuple[tuple[str, object], ...] = ()
    #: whether it has been called: it is no decorator with arguments before
    called: bool = False


class Row(Struct, frozen=True):
    """``pytest.param(*values, marks=...)``"""

    values: tuple[object, ...]
    marks: object = ()


class Fixture(Struct, frozen=True):
    """A function that ``pytest.fixture`` has marked."""

    function: Function
    params: object = None


class Signature(Struct, frozen=True):
    """``inspect.signature(function)``"""

    function: Function


@dataclass(frozen=True, slots=True)
class SignatureParameter:
    """A parameter in a signature."""

    name: str
    default: object = field(compare=False)


class Nothing(Struct, frozen=True):
    """``inspect.Parameter.empty``"""


EMPTY = Nothing()
