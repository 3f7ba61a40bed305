"""What there is to know of a dialect without interpreting a kernel of it."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Protocol, TypeAlias

from msgspec import Struct

from verifier.hardware import catalogue
from verifier.hardware.catalogue import Hardware
from verifier.source.apis import KernelApi
from verifier.source.starts import Start
from verifier.symbolic.dialect import Dialect
from verifier.symbolic.generation import Generation
from verifier.symbolic.instruction import Instruction
from verifier.symbolic.python.vm import VM
from verifier.symbolic.values import ApiRef

#: why something does not fit a generation, and facts
Problem: TypeAlias = tuple[str, tuple[str, ...]]


#: what gives the statements of a file, the name of a kernel in it, the grid that a contract names
Shown: TypeAlias = Callable[[Callable[[], Sequence[ast.stmt]], str, Sequence[int]], tuple[str, ...]]


def _nothing(
    statements: Callable[[], Sequence[ast.stmt]], kernel: str, grid: Sequence[int]
) -> tuple[str, ...]:
    return ()


def _fits(generation: str, what: str) -> Problem | None:
    return None


def _calls_nothing(statements: Sequence[ast.stmt]) -> Iterable[tuple[ast.Call, str]]:
    return ()


def _exports_nothing(module: ApiRef) -> Iterable[str]:
    return ()


class Misuse(Struct, frozen=True):
    """Something in the text around kernels that is wrong: where, what must hold, what does not.

    ``path``: the file that it is in, empty: that of the kernel.
    """

    node: ast.expr
    text: str
    message: str
    facts: tuple[str, ...]
    rule: str
    severity: str | None = None
    path: str = ""


Launches: TypeAlias = Callable[
    [tuple[Start, ...], tuple[ast.stmt, ...], str, str, Hardware, Collection[str] | None],
    Iterable[Misuse],
]


def _doubts_nothing(statements: Sequence[ast.stmt]) -> Callable[[ast.AST], bool]:
    return lambda part: False


def _launches_well(
    starts: tuple[Start, ...],
    statements: tuple[ast.stmt, ...],
    kernel: str,
    generation: str,
    target: Hardware,
    names: Collection[str] | None,
) -> Iterable[Misuse]:
    return ()


class Rewrites(Protocol):
    """Changes a function in place: it does in Python what its compiler makes of it.

    ``named``: the name of an API that an expression is, if it is one; ``asserts``: whether its
    assertions are kept; ``helper``: whether other functions of its file call it; ``postponed``:
    whether its annotations are not evaluated.
    """

    def __call__(
        self,
        function: ast.FunctionDef,
        named: Callable[[ast.expr], ApiRef | None],
        *,
        asserts: bool,
        helper: bool,
        postponed: bool,
    ) -> None: ...


def _has_all(name: str, generation: str) -> bool:
    return True


class DialectDescriptor(Struct, frozen=True, kw_only=True):
    """A kernel API: its name, where it is imported from, its generations, and who interprets it."""

    name: str
    make: Callable[[], Dialect[VM]]
    #: whether its kernels run on a target, and the target when none is asked for
    runs: Callable[[Hardware], bool]
    target: str
    #: the targets that a kernel may be for, if its file shows that
    meant_for: Shown = _nothing
    #: how its kernels are told in a text
    api: KernelApi
    #: the generations of the API by name, oldest first; where kernels cannot tell any apart, it
    #: has one, of its own name
    generations: Mapping[str, Generation]
    #: the functions that are described, by canonical name
    instructions: Mapping[str, Instruction]
    #: the functions of an imported name, as an editor shows them: name, parameters, and what there
    #: is to say; the second argument is the text of the file
    functions: Callable[[str, str], Iterable[tuple[str, str, str]]]
    #: the generations that a file's kernels are written for, by their qualified names; that of the
    #: file is that of ``""``
    infer: Callable[[ast.Module], Callable[[str], str]]
    #: what a generation has against an import, and against a keyword of the decorator
    import_problem: Callable[[str, str], Problem | None] = _fits
    decorator_problem: Callable[[str, str], Problem | None] = _fits
    #: what the body of a module calls that only a kernel can call: the calls, the functions
    device_calls: Callable[[Sequence[ast.stmt]], Iterable[tuple[ast.Call, str]]] = _calls_nothing
    #: whether a part of a module asks the API for a name that not all generations have
    doubtful: Callable[[Sequence[ast.stmt]], Callable[[ast.AST], bool]] = _doubts_nothing
    #: what is wrong with how a file starts a kernel, seen from a generation and a target; with the
    #: calls that do, what the file says, and the names of the kernel's instructions, None where
    #: they are not all known
    launches: Launches = _launches_well
    #: the keyword of the decorator that names a target
    target_keyword: str = ""
    #: what frameworks call the number of a launch's programs that they are given with a kernel
    programs: frozenset[str] = frozenset()
    #: the modules that have the dtypes and memories
    language: tuple[str, ...] = ()
    #: whether a generation has a value by its canonical name, ``language.float8_e8m0fnu``
    has_value: Callable[[str, str], bool] = _has_all
    #: whether kernels are given the addresses of their buffers, not pointers or tensors
    by_address: bool = False
    #: what it is called before the name of a generation, or by itself where it has one only
    label: str
    #: the type of elements that kernels take to be meant where nothing is said
    floats: str
    #: whether flags and sizes are all that a kernel is given besides its buffers
    numbers_only: bool = False
    #: whether assertions of a kernel are checked by anybody, and else the keyword of the decorator
    #: with which they are
    asserts_kept: bool = True
    debug_keyword: str = ""
    #: makes of a kernel's text what does in Python what its compiler makes of it; None: the same
    rewrites: Rewrites | None = None
    #: what ``from module import *`` binds, for runs
    exported: Callable[[ApiRef], Iterable[str]] = _exports_nothing
    #: how the facts begin that speak of it
    facts: frozenset[str]

    @property
    def packages(self) -> frozenset[str]:
        """The packages that hold it; those of frameworks hold what makes kernels of it alone."""
        return frozenset(self.api.wrappers) - self.api.frameworks

    def of(self, generation: str) -> tuple[Dialect[VM], Generation]:
        """Who interprets a kernel of a generation, and that generation."""
        return self.make(), self.generations[generation]

    def spoken(self, generation: str) -> str:
        """A generation as it is spoken of: ``NKI 0.6``."""
        return f"{self.label} {generation}" if len(self.generations) > 1 else self.label

    def targets(
        self,
        asked: Iterable[str],
        kernel: str,
        statements: Callable[[], Sequence[ast.stmt]],
        keywords: Mapping[str, object],
        grid: Sequence[int],
    ) -> tuple[Hardware, ...]:
        """What a kernel is judged for, the first one first: what is named (:meth:`named`), or the
        default."""
        return self.named(asked, kernel, statements, keywords, grid) or self._running(
            (self.target,)
        )

    def named(
        self,
        asked: Iterable[str],
        kernel: str,
        statements: Callable[[], Sequence[ast.stmt]],
        keywords: Mapping[str, object],
        grid: Sequence[int],
    ) -> tuple[Hardware, ...]:
        """What is ``asked`` for and runs it, else what its decorator names, or what its file shows
        that it is meant for; nothing where nobody says.

        ``statements`` gives those of its file, ``keywords`` are the decorator's, ``grid`` is what
        is said of its launch elsewhere.
        """
        named = keywords.get(self.target_keyword)
        found = self._running(asked) or self._running([named] if isinstance(named, str) else ())
        return found or self._running(self.meant_for(statements, kernel, grid))

    def _running(self, names: Iterable[str]) -> tuple[Hardware, ...]:
        found = (catalogue.find(name) for name in names)
        return tuple(target for target in found if target is not None and self.runs(target))
