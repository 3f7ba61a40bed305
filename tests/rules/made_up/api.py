"""How its kernels are told in a text."""

from __future__ import annotations

from typing import Final

from verifier.source.apis import KernelApi

NAME: Final = "vec"
API: Final = KernelApi(
    dialect=NAME, wrappers={NAME: frozenset({"kernel"})}, shorthands={NAME: NAME}, words=(b"vec",)
)
