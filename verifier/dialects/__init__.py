"""What gives meaning to the names and calls of kernel APIs, a package per dialect."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from verifier.symbolic.machine import Dialect


def _nki() -> Dialect:
    from verifier.dialects.nki import NkiDialect

    return NkiDialect()


def _okk() -> Dialect:
    from verifier.dialects.okk import OkkDialect

    return OkkDialect()


def _ppl() -> Dialect:
    from verifier.dialects.ppl import PplDialect

    return PplDialect()


#: the dialects that are interpreted, by the names that discovery gives them; each is imported when
#: a kernel of it is met
DIALECTS: Final[Mapping[str, Callable[[], Dialect]]] = {"nki": _nki, "okk": _okk, "ppl": _ppl}
