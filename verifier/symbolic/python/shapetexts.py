"""What people write of parameters: shapes in annotations, docstrings and comments; updates."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from verifier.hardware import dtypes as dt
from verifier.source import ir

#: dimensions that a tensor may have
MOST: Final = 8
#: ``w: [H]``
_ROW: Final = re.compile(r"\b(\w+)\s*:\s*\[\s*(\w+)\s*\]")
#: ``x.shape == [N, C]``
_EQUAL: Final = re.compile(r"\b(\w+)\.shape\s*(?:={1,2}|:|is)\s*[\[(]([\w\s*+/,.-]*)[\])]")
#: ``x: [B, S, H]``, ``x (tensor): of shape (n, k)``
_SHAPE: Final = re.compile(
    r"(?<![.\w])(\w+)\b[`'\"]?\s*(?:\([^()\[\]]*\)\s*)?(?::|=|--?|is|of|has)[^\n\[(]{0,60}?[\[(]"
    r"([\w\s*+/,.-]*,[\w\s*+/,.-]*)[\])]"
)
#: ``bf16[K, M]``, ``[B, S, H]``
_SIZES: Final = re.compile(r"\w*\[\s*([\w*+/.-]+(?:\s*,\s*[\w*+/.-]+)*)\s*,?\s*\]")
#: ``nt.mutable_tensor``, ``nt.tensor[nt.mutable]``
_UPDATED: Final = re.compile(r"\bmutable(_tensor)?\b")


def updated(annotation: str) -> bool:
    """Whether an annotation says that a kernel writes into the tensor that it is given."""
    return _UPDATED.search(annotation) is not None


def written(text: str) -> Iterator[tuple[str, int]]:
    """Shapes in a docstring: ``x: [B, S, H]``; the name and how many sizes there are."""
    for match in _ROW.finditer(text):
        yield match.group(1), 1
    for match in (*_EQUAL.finditer(text), *_SHAPE.finditer(text)):
        rank = _counted(match.group(2).split(","))
        if rank is not None:
            yield match.group(1), rank


def remarked(line: str) -> int | None:
    """The rank in a comment behind a parameter: ``x,  # [B, S, H]``."""
    _, mark, comment = line.partition("#")
    found = _SIZES.search(comment) if mark else None
    sizes = found.group(1).split(",") if found is not None else []
    return _counted(sizes) if len(sizes) > 1 else None  # `[in]` is no shape


def annotated(node: ir.Expr | None) -> int | None:
    """``nt.tensor[128, 512]``, ``"bf16[K, M]"``, ``Float[Tensor, "b s h"]``."""
    if isinstance(node, ir.Const) and isinstance(node.value, str):
        found = _SIZES.fullmatch(node.value.strip())
        if found is None or updated(node.value):
            return None
        return _counted(found.group(1).split(","))
    if not isinstance(node, ir.Subscript):
        return None
    parts = node.index.elements if isinstance(node.index, ir.TupleExpr) else ()
    if isinstance(node.value, ir.Attribute) and node.value.attr in ("tensor", "mutable_tensor"):
        named = [part.attr for part in parts or (node.index,) if isinstance(part, ir.Attribute)]
        beside = any(updated(name) or dt.canonical(name) is not None for name in named)
        return None if beside else len(parts) or 1
    last = parts[1].value if len(parts) == 2 and isinstance(parts[1], ir.Const) else None
    return _counted(last.split()) if isinstance(last, str) else None


def _counted(sizes: list[str]) -> int | None:
    """How many sizes there are, None if that is left open or cannot be."""
    sizes = [size.strip() for size in sizes if size.strip()]
    if any("..." in size or size.startswith("*") for size in sizes):
        return None
    return len(sizes) if 1 <= len(sizes) <= MOST else None
