"""What reading a source has to know of the kernel APIs; each dialect says it of its own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec import Struct, field


class KernelApi(Struct, frozen=True, kw_only=True):
    """How kernels of one dialect are told in a text."""

    dialect: str
    #: the packages that a name of the dialect comes from, each with what makes a device entry point
    wrappers: Mapping[str, frozenset[str]]
    #: the modules that are the API's whatever a project has under their names, stubs of it, say
    modules: frozenset[str] = frozenset()
    #: those of the packages whose functions are the host's, but for those that make kernels
    frameworks: frozenset[str] = frozenset()
    #: packages without entry points whose decorators mark functions of kernels, too
    companions: frozenset[str] = frozenset()
    #: names that everybody imports modules of the API and names from them as, with what they are:
    #: see :mod:`.fragments`
    shorthands: Mapping[str, str] = field(default_factory=dict)
    #: names that a front end has without an import, with what they are
    provided: Mapping[str, str] = field(default_factory=dict)
    #: words one of which stands in every file with a kernel: see :func:`.text.may_hold_kernels`
    words: tuple[bytes, ...]
    #: a decorator may be called with the type of what the kernel is given
    typed: bool = False

    @property
    def makers(self) -> frozenset[str]:
        """The names of what makes a device entry point."""
        return frozenset(name for names in self.wrappers.values() for name in names)


class _Known:
    """The APIs that are registered, and what follows from them."""

    def __init__(self) -> None:
        self.by_package: dict[str, KernelApi] = {}
        self.words: tuple[bytes, ...] = ()
        self.libraries: frozenset[str] = frozenset()
        self.modules: frozenset[str] = frozenset()
        self.shorthands: dict[str, str] = {}
        self.provided: dict[str, str] = {}


_known = _Known()


def register(apis: Iterable[KernelApi]) -> None:
    """Have files searched for these APIs from now on: without any there would be no kernels."""
    for api in apis:
        _known.by_package.update(dict.fromkeys(api.wrappers, api))
        _known.words = tuple(dict.fromkeys((*_known.words, *api.words)))
        _known.shorthands.update(api.shorthands)
        _known.provided.update(api.provided)
        _known.modules |= api.modules
        _known.libraries |= api.companions.union(api.wrappers)


def by_package() -> Mapping[str, KernelApi]:
    """The APIs by the root packages that their names come from.

    Raises:
        RuntimeError: none is registered: whoever looks for kernels has to have loaded the dialects.
    """
    return _demand().by_package


def words() -> tuple[bytes, ...]:
    """Words one of which stands in every file with a kernel; raises as :func:`by_package`."""
    return _demand().words


def shorthands() -> Mapping[str, str]:
    """What names stand for that everybody imports modules as; raises as :func:`by_package`."""
    return _demand().shorthands


def provided() -> Mapping[str, str]:
    """What names stand for that front ends have; raises as :func:`by_package`."""
    return _demand().provided


def libraries() -> frozenset[str]:
    """The packages that kernels are made with; raises as :func:`by_package`."""
    return _demand().libraries


def modules() -> frozenset[str]:
    """The modules that kernels' imports mean whatever a project has under their names."""
    return _known.modules


def _demand() -> _Known:
    if not _known.by_package:
        raise RuntimeError("no kernel API is registered")
    return _known
