"""Functions of `nki.language`, and assignments to parts of tiles."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Final

from rules.beta1 import TWINS
from rules.nki import kinds, kit
from rules.nki.kit import check, register
from rules.nki.samples import variants
from verifier.hardware.targets import Target
from verifier.rulebase import On, Rule
from verifier.symbolic import expr as E
from verifier.symbolic.checks import Check
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.instruction import Instruction, Trait
from verifier.symbolic.roles import Takes
from verifier.symbolic.tensors import View
from verifier.symbolic.trace import Operation


def _repeats(instruction: Instruction) -> bool:
    """Whether it makes a tile of a shape that is asked for out of another tile."""
    asked = any("shape*" in (text or "") for text in instruction.signatures.values())
    return asked and bool(instruction.footprint.reads)


def _asked_shape(op: Operation) -> Iterator[Check]:
    """What is made has a shape that is asked for, and the tile that it is made of fits it."""
    dst = op.view("dst")
    if dst is None:
        return
    for read in kit.described(op).footprint.reads:
        view = op.view(read.role)
        if view is not None:
            yield check(
                op,
                read.role,
                E.and_(
                    E.truth(view.rank == dst.rank),
                    kit.broadcastable(view.shape, dst.shape),
                    *(E.ge(extent, 1) for extent in dst.shape),
                ),
                f"the dimensions of {read.role} are those of the shape, or 1",
                f"{read.role} cannot be repeated to that shape",
                "L30",
                values=(
                    (f"partitions of {read.role}", view.partitions),
                    (f"{read.role} free size", view.free),
                    ("partitions of the shape", dst.partitions),
                    ("free size of the shape", dst.free),
                ),
                about=(read.role,),
            )


def _identity(op: Operation) -> Iterator[Check]:
    size, dst = kit.as_expr(op.value(kit.described(op).square)), op.view("dst")
    if size is not None and dst is not None:
        square = E.and_(*(E.eq(extent, size) for extent in dst.shape))
        yield check(
            op,
            "dst",
            square if dst.rank == 2 else E.FALSE,
            "dst has n rows and n columns",
            "the identity matrix does not have the shape of dst",
            "L12",
            values=(("n", size), ("partitions of dst", dst.partitions)),
            about=("dst",),
        )


def _of_two(instruction: Instruction) -> bool:
    """Whether it computes on two tiles or numbers, element by element, or weighs a tile."""
    if instruction.role("w") is not None or _repeats(instruction) or instruction.square:
        return True
    vectors = [role.name for role in instruction.roles if role.takes is Takes.VECTOR]
    return vectors == ["x", "y"] and instruction.role("condition") is None


_SYMBOLS: Final = frozenset({"+", "-", "*", "/", "%", "**", "&", "|", "^", "<<", ">>"})


def _weights(op: Operation) -> Iterator[Check]:
    """What x is multiplied by, element by element, when it is normalised."""
    x, weights = op.view("x"), op.view("w")
    if x is not None and weights is not None:
        yield check(
            op,
            "w",
            kit.broadcastable(weights.shape, x.shape),
            "w has the shape of x, or is repeated along dimensions of size 1",
            "the shapes of x and w do not go together",
            "L52",
            values=(
                ("partitions of w", weights.partitions),
                ("w free size", weights.free),
                ("partitions of x", x.partitions),
                ("x free size", x.free),
            ),
            about=("x", "w"),
        )


def _language_shapes(op: Operation, target: Target) -> Iterator[Check]:
    if op.view("w") is not None:
        yield from _weights(op)
        return
    if kit.described(op).square:
        yield from _identity(op)
        return
    if _repeats(kit.described(op)):
        yield from _asked_shape(op)
        return
    x, y = op.view("x"), op.view("y")
    if x is None or y is None:
        return
    strict = not op.generation.fits_language
    if strict:
        predicate = kit.same_shape(x.shape, y.shape)
        text = "x and y have the same shape"
    else:
        pairs = list(zip(reversed(x.shape), reversed(y.shape), strict=False))
        predicate = E.and_(*(E.or_(E.eq(a, b), E.eq(a, 1), E.eq(b, 1)) for a, b in pairs))
        text = "the dimensions of x and y are equal or 1"
        if op.call_text in _SYMBOLS:
            predicate = E.and_(predicate, E.eq(x.partitions, y.partitions))
            text += ", and their partitions are equal"
    severity = "warning" if strict else None
    yield check(
        op,
        "y",
        predicate,
        text,
        "x and y do not have the same shape"
        if strict
        else "the shapes of x and y do not go together",
        "L40" if strict else "P17",
        values=(
            ("partitions of x", x.partitions),
            ("x free size", x.free),
            ("partitions of y", y.partitions),
            ("y free size", y.free),
        ),
        about=("x", "y"),
        severity=severity,
        help=(
            _instead(x, y) if strict else "use .broadcast_to to repeat a row over the partitions",
        ),
    )


def _instead(x: View, y: View) -> str:
    if x.rank != y.rank:
        return "`.reshape` gives a tile the shape of the other one"
    return "nisa.tensor_scalar applies one value per partition to a tile"


_LANGUAGE_BROADCAST = variants(
    """\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def add_row(matrix, row):
    assert matrix.shape == (64, 250) and row.shape == (1, 250)
    out = nl.ndarray((64, 250), dtype=matrix.dtype, buffer=nl.shared_hbm)
    tile = nl.load(matrix)
-    line = nl.load(row)
+    line = nl.load(row).broadcast_to((64, 250))
    nl.store(out, tile + line)
    return out
"""
)


register(
    Rule(
        id="language-broadcast",
        code="NKI404",
        family="elementwise",
        summary="tiles combined by a function of nki.language have shapes that go together",
        reason=(
            "From NKI 0.3 on, binary functions do not broadcast: both tiles have the same shape. "
            "In Beta 1 a dimension of size 1 is repeated, along the partition axis by functions "
            "only: operators do not, since that moves data between lanes."
        ),
        facts=("L12", "L30", "L40", "L52", "P17", "OQ27"),
        on=On.OPERATION,
        concerns=_of_two,
        check=_language_shapes,
        sources=("NKI 0.3 and 0.4 known issues", "Beta 1 known issues, unsupported syntax"),
        failing=_LANGUAGE_BROADCAST.failing,
        passing=_LANGUAGE_BROADCAST.passing,
    )
)


def _where_shapes(op: Operation, target: Target) -> Iterator[Check]:
    """Tiles of one shape; in Beta 1, as NumPy has it, dimensions of size 1 are repeated.

    Of fewer dimensions a tile would have its partitions along a free dimension of the others.
    """
    condition = op.view("condition")
    tiles = {role: op.view(role) for role in ("x", "y")}
    for role, view in tiles.items():
        if view is None or condition is None:
            continue
        same = kit.same_shape(view.shape, condition.shape)
        text = f"{role} has the shape of condition"
        if op.generation.fits_language:
            same, text = (
                _alike(view, condition),
                f"{role} and condition are of shapes that broadcast",
            )
        yield check(
            op,
            role,
            same,
            text,
            f"{role} and condition have different shapes",
            "L33",
            values=(
                (f"partitions of {role}", view.partitions),
                (f"{role} free size", view.free),
                ("partitions of condition", condition.partitions),
                ("condition free size", condition.free),
            ),
            about=(role, "condition"),
        )
    x, y = tiles.values()
    if x is not None and y is not None and op.generation.fits_language:
        yield check(
            op,
            "y",
            _alike(x, y),
            "x and y are of shapes that broadcast",
            "x and y have different shapes",
            "L33",
            about=("x", "y"),
        )


def _alike(one: View, other: View) -> Bool:
    """That two tiles are of as many dimensions, which are equal or 1."""
    if one.rank != other.rank:
        return E.FALSE
    pairs = zip(one.shape, other.shape, strict=True)
    return E.and_(*(E.or_(E.eq(a, b), E.eq(a, 1), E.eq(b, 1)) for a, b in pairs))


_WHERE_SHAPES = variants(
    """\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def mask_scores(keep, scores, floor):
    assert keep.shape == (128, 96) and scores.shape == (128, 96)
-    assert floor.shape == (128, 95)
+    assert floor.shape == (128, 96)
    out = nl.ndarray((128, 96), dtype=scores.dtype, buffer=nl.shared_hbm)
    nl.store(out, nl.where(nl.load(keep), nl.load(scores), nl.load(floor)))
    return out
"""
)


register(
    Rule(
        id="where-shapes",
        code="NKI405",
        family="elementwise",
        summary="nl.where selects between tiles of the condition's shape",
        reason=(
            "The condition holds one truth value per element; the tiles it selects from have an "
            "element for each of them."
        ),
        facts=("L33",),
        on=On.OPERATION,
        concerns=kinds.both(kinds.with_traits(Trait.LANGUAGE), kinds.taking("condition")),
        check=_where_shapes,
        sources=("NKI language where",),
        failing=_WHERE_SHAPES.failing,
        passing=_WHERE_SHAPES.passing,
    )
)


def _same_but_ones(a: tuple[Expr, ...], b: tuple[Expr, ...]) -> Bool:
    """Whether two shapes are one once extents of 1 are left out: they may be left out or added."""
    one = E.const(1)
    a, b = (tuple(extent for extent in shape if extent is not one) for shape in (a, b))
    # what both begin and end with is the same in both, be it 1 or not
    while a and b and a[0] is b[0]:
        a, b = a[1:], b[1:]
    while a and b and a[-1] is b[-1]:
        a, b = a[:-1], b[:-1]
    return E.or_(
        *(
            E.and_(
                *(E.eq(a[i], b[j]) for i, j in zip(kept, others, strict=True)),
                *(E.eq(extent, 1) for i, extent in enumerate(a) if i not in kept),
                *(E.eq(extent, 1) for j, extent in enumerate(b) if j not in others),
            )
            for count in range(min(len(a), len(b)) + 1)
            for kept in combinations(range(len(a)), count)
            for others in combinations(range(len(b)), count)
        )
    )


def _assignment_shape(op: Operation, target: Target) -> Iterator[Check]:
    dst, value = op.view("dst"), op.view("value")
    if dst is None or value is None:
        return
    yield check(
        op,
        "value",
        E.or_(
            kit.broadcastable(value.shape, dst.shape),
            _same_but_ones(value.shape, dst.shape),
        ),
        "the value has the shape of the target, or dimensions of size 1",
        "the assigned value does not fit the target",
        "X69",
        values=(
            *((f"target dimension {k}", extent) for k, extent in enumerate(dst.shape)),
            *((f"value dimension {k}", extent) for k, extent in enumerate(value.shape)),
        ),
        about=("dst", "value"),
    )


_ASSIGNMENT_SHAPE = variants(
    """\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def collect(x):
-    assert x.shape == (128, 200)
+    assert x.shape == (128, 100)
    out = nl.ndarray((128, 100), dtype=x.dtype, buffer=nl.shared_hbm)
    buffer = nl.ndarray((128, 100), dtype=x.dtype, buffer=nl.sbuf)
    tile = nl.load(x)
    buffer[...] = nl.exp(tile)
    nl.store(out, buffer)
    return out
"""
)


register(
    Rule(
        id="assignment-shape",
        code="NKI406",
        family="elementwise",
        summary="a tile assigned into another has its shape, or is repeated to it",
        reason=(
            "An assignment writes every element of its target. A value with a dimension of size 1 "
            "is repeated along it; the other way round, elements of the value would be lost."
        ),
        facts=("X69",),
        on=On.OPERATION,
        concerns=lambda i: not i.signatures and kinds.taking("value", Takes.TILE)(i),
        check=_assignment_shape,
        sources=("Beta 1 errors, store destination smaller than the other shape",),
        twins=TWINS["assignment-shape"],
        failing=_ASSIGNMENT_SHAPE.failing,
        passing=_ASSIGNMENT_SHAPE.passing,
    )
)
