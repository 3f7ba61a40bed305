"""What programs that launch kernels work with, besides what kernels do."""

from __future__ import annotations

from verifier.records import dataclass, field
from verifier.symbolic.python.model import Class, Function
from verifier.symbolic.values import ApiRef


@dataclass(frozen=True, slots=True)
class Array:
    """An array or tensor of a library, of which the shape and the type are known, but no element.

    ``dtype`` is canonical, None where it is not known.
    """

    shape: tuple[int, ...]
    dtype: str | None


@dataclass(frozen=True, slots=True)
class ArrayMethod:
    """A method of an array, found on one."""

    array: Array
    name: str


@dataclass(frozen=True, slots=True)
class ArrayFunction:
    """A function of an array library: ``library`` and ``name`` as the tables have them."""

    library: str
    name: str


@dataclass(frozen=True, slots=True)
class RandomSource:
    """What numbers are drawn from: ``numpy.random.default_rng()``."""


@dataclass(frozen=True, slots=True)
class Launcher:
    """A kernel that is launched when it is called; ``grid`` None: on what is not said."""

    function: Function
    grid: tuple[object, ...] | None = None


@dataclass(frozen=True, slots=True)
class Constructed:
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


@dataclass(frozen=True, slots=True)
class Definition:
    """``metafunc.definition``: the test with its marks."""

    metafunc: Metafunc


@dataclass(frozen=True, slots=True)
class HookMethod:
    """A method of what hooks are given."""

    owner: Metafunc | Definition
    name: str


@dataclass(frozen=True, slots=True)
class Mark:
    """``pytest.mark.name(*args, **keywords)``"""

    name: str
    args: tuple[object, ...] = ()
    keywords: tuple[tuple[str, object], ...] = ()
    #: whether it has been called: it is no decorator with arguments before
    called: bool = False


@dataclass(frozen=True, slots=True)
class Row:
    """``pytest.param(*values, marks=...)``"""

    values: tuple[object, ...]
    marks: object = ()


@dataclass(frozen=True, slots=True)
class Fixture:
    """A function that ``pytest.fixture`` has marked."""

    function: Function
    params: object = None


@dataclass(frozen=True, slots=True)
class Signature:
    """``inspect.signature(function)``"""

    function: Function


@dataclass(frozen=True, slots=True)
class SignatureParameter:
    """A parameter in a signature."""

    name: str
    default: object = field(compare=False)


@dataclass(frozen=True, slots=True)
class Nothing:
    """``inspect.Parameter.empty``"""


EMPTY = Nothing()
