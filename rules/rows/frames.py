"""Kernels that differ in a few words: how rows of the catalogue are written down in short."""

from __future__ import annotations

import re
from textwrap import dedent, indent
from typing import Final, NamedTuple

from verifier.rulebase import Twin

#: what differs between the kernel that breaks a row and the one that keeps it
_CHOICE: Final = re.compile(r"\{\{(.*?)\|\|(.*?)\}\}", re.DOTALL)
_INPUT: Final = re.compile(r"(\w+): (\w+)\[([\d, ]*)\](@psum)?")

_TILE: Final = """\
    {name}_t = nl.ndarray(({shape}), dtype=nl.{dtype}, buffer=nl.sbuf)
    nisa.dma_copy(dst={name}_t, src={name})
"""
_PSUM: Final = """\
    {name}_p = nl.ndarray(({shape}), dtype=nl.{dtype}, buffer=nl.psum)
    nisa.tensor_copy(dst={name}_p, src={name}_t)
"""
_KERNEL: Final = """\
import nki
import nki.collectives as ncc
import nki.isa as nisa
import nki.language as nl
{before}

@nki.jit
def kernel({parameters}):
{asserts}    out = nl.ndarray(({shape}), dtype=nl.{dtype}, buffer=nl.shared_hbm)
{loads}{made}{body}
{stored}    return out
"""
_MADE: Final = "    r = nl.ndarray(({shape}), dtype=nl.{dtype}, buffer=nl.sbuf)\n"
_STORED: Final = "    nisa.dma_copy(dst=out, src=r)\n"

_BETA1: Final = """\
import neuronxcc.nki as nki
import neuronxcc.nki.compiler as ncc
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl
import numpy as np
{before}

@nki.jit
def kernel({parameters}):
{asserts}    out = nl.ndarray(({shape}), dtype=nl.{dtype}, buffer=nl.shared_hbm)
{loads}{body}
    return out
"""


class Row(NamedTuple):
    """Both kernels of a row in one text, and the rule that tells them apart.

    ``inputs``: tensors (``"x: float32[72, 90]"``), which are loaded into tiles ``x_t``, with
    ``@psum`` copied into tiles ``x_p`` of PSUM as well; behind a semicolon parameters as they stand
    in the signature. ``result``: the output, which is stored from a tile ``r`` (in Beta 1 by the
    body). A ``body`` that begins with ``#bare`` loads and stores what it needs. ``before``: what
    stands above the kernel.
    """

    rule: str
    fact: str
    inputs: str
    result: str
    body: str
    api: str = "0.5"
    target: str = "trn2"
    before: str = ""
    #: on how many cores both are launched
    cores: int = 1

    def twin(self) -> Twin:
        bad, good = (self._text(place) for place in (1, 2))
        return Twin(self.fact, bad, good, self.api, self.target)

    def tensors(self, place: int) -> list[tuple[str, str, tuple[int, ...]]]:
        """Names, dtypes and shapes of the inputs of the kernel that breaks it (1), keeps it (2)."""
        text, _, _ = self._chosen(self.inputs, place).partition(";")
        return [
            (name, dtype, tuple(map(int, sizes.split(","))))
            for name, dtype, sizes, _ in _INPUT.findall(text)
        ]

    @staticmethod
    def _chosen(text: str, place: int) -> str:
        return _CHOICE.sub(lambda found: found.group(place), text)

    def _text(self, place: int) -> str:
        def chosen(text: str) -> str:
            return self._chosen(text, place)

        tensors, _, others = chosen(self.inputs).partition(";")
        found = _INPUT.findall(tensors)
        inputs = [(name, dtype, _shape(sizes)) for name, dtype, sizes, _ in found]
        copied = {name for name, _, _, memory in found if memory}
        dtype, _, sizes = chosen(self.result).rstrip("]").partition("[")
        body = dedent(chosen(self.body)).strip("\n")
        beta1 = self.api == "beta1"
        bare = body.startswith("#bare")  # loads and stores are in the body
        load = "    {name}_t = nl.load({name})\n" if beta1 else _TILE
        return (_BETA1 if beta1 else _KERNEL).format(
            before=chosen(self.before),
            parameters=", ".join([*(name for name, _, _ in inputs), *filter(None, [others])]),
            asserts="".join(
                f"    assert {name}.shape == ({shape}) and {name}.dtype == nl.{of}\n"
                for name, of, shape in inputs
            ),
            shape=_shape(sizes),
            dtype=dtype,
            loads="".join(
                (load + (_PSUM if name in copied else "")).format(name=name, shape=shape, dtype=of)
                for name, of, shape in inputs
                if not bare
            ),
            made="" if bare else _MADE.format(shape=_shape(sizes), dtype=dtype),
            stored="" if bare else _STORED,
            body=indent(body, "    "),
        )


#: an input, the result of its shape, and the copy that makes it
INPUT: Final = "a: float32[96, 40]"
RESULT: Final = "float32[96, 40]"
COPIED: Final = "nisa.tensor_copy(dst=r, src=a_t)\n"


def beside(
    rule: str,
    fact: str,
    body: str,
    inputs: str = INPUT,
    api: str = "0.5",
    target: str = "trn2",
) -> Row:
    """A call whose result is not what the kernel stores: that is a copy of the input."""
    return Row(rule, fact, inputs, RESULT, f"{COPIED}{body}", api, target)


def made(name: str, shape: str, dtype: str = "float32", memory: str = "sbuf") -> str:
    """The allocation of a tile."""
    return f"{name} = nl.ndarray(({shape}), dtype=nl.{dtype}, buffer=nl.{memory})\n"


def _shape(sizes: str) -> str:
    """``(3,)`` and ``(3, 4)`` without their brackets."""
    return f"{sizes}," if sizes and "," not in sizes else sizes
