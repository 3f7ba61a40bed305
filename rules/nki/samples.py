"""Examples of the smaller rules: kernels that differ in one instruction share one frame."""

from __future__ import annotations

from collections.abc import Mapping
from textwrap import dedent, indent
from typing import NamedTuple

Shape = tuple[int, ...]


class Examples(NamedTuple):
    """A kernel that breaks a rule, and the same kernel mended."""

    failing: str
    passing: str


def variants(text: str) -> Examples:
    """Both kernels out of one text, written as a diff.

    A line that begins with ``-`` is in the one that breaks the rule only, a line with ``+`` takes
    its place; all others are in both.
    """
    lines = text.splitlines(keepends=True)
    return Examples(
        failing="".join(line.removeprefix("-") for line in lines if not line.startswith("+")),
        passing="".join(line.removeprefix("+") for line in lines if not line.startswith("-")),
    )


_FRAME = """\
{header}import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def {name}({parameters}):
{asserts}    out = nl.ndarray({shape}, dtype=nl.{dtype}, buffer=nl.shared_hbm)
{loads}    {result} = nl.ndarray({shape}, dtype=nl.{dtype}, buffer=nl.sbuf)
{body}
    nisa.dma_copy(dst=out, src={result})
    return out
"""


def kernel(
    name: str,
    inputs: Mapping[str, tuple[Shape, str]],
    result: tuple[Shape, str],
    body: str,
    *,
    target: str = "",
    into: str = "result",
) -> str:
    """A kernel that loads each input ``x`` into a tile ``x_tile``, runs ``body``, stores ``into``.

    ``inputs`` and ``result`` give shapes and the names of dtypes.
    """
    asserts = "".join(
        f"    assert {key}.shape == {shape} and {key}.dtype == nl.{dtype}\n"
        for key, (shape, dtype) in inputs.items()
    )
    loads = "".join(
        f"    {key}_tile = nl.ndarray({shape}, dtype=nl.{dtype}, buffer=nl.sbuf)\n"
        f"    nisa.dma_copy(dst={key}_tile, src={key})\n"
        for key, (shape, dtype) in inputs.items()
    )
    return _FRAME.format(
        header=f"# target: {target}\n" if target else "",
        name=name,
        parameters=", ".join(inputs),
        asserts=asserts,
        shape=result[0],
        dtype=result[1],
        loads=loads,
        result=into,
        body=indent(dedent(body).strip("\n"), "    "),
    )
