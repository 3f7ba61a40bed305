"""Reductions along free axes."""

from __future__ import annotations

from collections.abc import Iterator

from rules.nki import kit, twins
from rules.nki.kit import check, register
from rules.nki.samples import kernel
from verifier.hardware.targets import Target
from verifier.rulebase import On, Rule
from verifier.symbolic import expr as E
from verifier.symbolic.checks import Check
from verifier.symbolic.instruction import Trait
from verifier.symbolic.trace import Operation


def _named(op: Operation) -> frozenset[int] | None:
    """The axes as the call names them; None if they are not known."""
    value, operand = op.value("axis"), op.operands.get("axis")
    if value is None and operand is not None and operand.known:
        return frozenset()  # None names no axis
    numbers = kit.integers(value)
    if numbers is None:
        single = kit.as_expr(value)
        numbers = None if single is None else (single,)
    if numbers is None or not all(number.is_const for number in numbers):
        return None
    return frozenset(number.const for number in numbers)


def reduced_axes(op: Operation, rank: int) -> frozenset[int] | None:
    """The reduced axes, counted from 0; None if they are not known."""
    named = _named(op)
    return None if named is None else frozenset(n + rank if n < 0 else n for n in named)


def _may_be_last(op: Operation, rank: int) -> bool:
    """Whether axis 1 of several free ones may stand for the last one: nothing says which it is."""
    rule = kit.described(op).reduces
    if rule is None or not rule.one or rank <= 2 or _named(op) != frozenset({1}):
        return False
    return op.generation.at_least(rule.one) and not op.generation.at_least(rule.before)


def _reduce_axes(op: Operation, target: Target) -> Iterator[Check]:
    role, rule = kit.described(op).footprint.reads[0].role, kit.described(op).reduces
    view = op.view(role)
    if view is None or rule is None:
        return
    fact = rule.fact
    axes = reduced_axes(op, view.rank)
    if axes is None:
        yield from kit.not_followed(op, "axis", fact)
        return
    written = ", ".join(map(str, sorted(axes))) or "none"
    yield check(
        op,
        "axis",
        E.truth(bool(axes) and 0 not in axes and all(0 <= axis < view.rank for axis in axes)),
        f"the reduced axes are free axes, 1 to {view.rank - 1} (they are {written})",
        "the reduction runs over the partition axis, or over an axis that is not there"
        if axes
        else "the reduction runs over no axis",
        fact,
        about=(role,),
        help=("transpose first, or reduce over partitions with a matmul by ones",),
    )
    old = not op.generation.at_least(rule.before)
    # the compiler of Beta 1 reorders free axes for functions of the language, as kernels that are
    # shipped show (against NKI-L50), and it does for instructions, too: what is documented of these
    # is not what stops a kernel
    if _may_be_last(op, view.rank):
        yield check(
            op,
            "axis",
            E.FALSE,
            f"axis 1 is the last of {view.rank} axes, or the second one",
            "axis 1 may stand for the last axis before NKI 0.3",
            "RED02",
            about=(role,),
            exact=False,
            reason=(
                f"axis 1 may stand for the last of {view.rank} axes before NKI 0.3, or for the "
                "second one"
            ),
        )
        return
    if old and not rule.loosely:
        return
    trailing = frozenset(range(view.rank - len(axes), view.rank))
    yield check(
        op,
        "axis",
        E.truth(axes == trailing and len(axes) <= target.access_dims),
        f"the reduced axes are the last ones (they are {written} of {view.rank})",
        "the reduced axes are not the innermost ones",
        rule.loosely if old else fact,
        # code that was written for the generations before
        *(("RED02",) if not old and axes == {1} and rule.loosely else ()),
        about=(role,),
        given=(E.truth(0 not in axes),),
        severity="note" if op.generation.fits_tiles else None,
        help=("permute the free axes of the view so that the reduced ones come last",),
    )


register(
    Rule(
        id="reduce-axes",
        code="NKI621",
        family="vector",
        summary="a reduction runs over the innermost free axes",
        reason=(
            "A lane folds its stream of elements and writes a value whenever the inner loops of "
            "the access pattern have run through. It can therefore reduce the innermost axes of a "
            "partition, and never across partitions, which are other lanes."
        ),
        facts=("RED01", "RED02", "RED08", "L50"),
        twins=twins.AXES,
        on=On.OPERATION,
        concerns=lambda instruction: instruction.reduces is not None,
        check=_reduce_axes,
        sources=("NKI ISA tensor_reduce", "NKI language sum"),
        failing=kernel(
            "sum_columns",
            {"x": ((64, 30), "float32")},
            ((64, 1), "float32"),
            "nisa.tensor_reduce(dst=result, op=nl.add, data=x_tile, axis=0)",
        ),
        passing=kernel(
            "sum_rows",
            {"x": ((64, 30), "float32")},
            ((64, 1), "float32"),
            "nisa.tensor_reduce(dst=result, op=nl.add, data=x_tile, axis=1)",
        ),
    )
)


def _reduce_result_shape(op: Operation, target: Target) -> Iterator[Check]:
    data, dst = op.view("data"), op.view("dst")
    if data is None or dst is None or not op.operands["dst"].given:
        return
    axes = reduced_axes(op, data.rank)
    if axes is None or 0 in axes:
        return
    kept = kit.product(data.shape[k] for k in range(1, data.rank) if k not in axes)
    fits, values = E.eq(dst.free, kept), [("elements that are kept", kept)]
    if _may_be_last(op, data.rank):
        other = kit.product(data.shape[1:-1])
        fits = E.or_(fits, E.eq(dst.free, other))
        values.append(("elements that are kept if axis 1 is the last one", other))
    yield check(
        op,
        "dst",
        E.eq(dst.partitions, data.partitions),
        "partitions of dst == partitions of data",
        "dst and data have different numbers of partitions",
        "RED03",
        values=(
            ("partitions of dst", dst.partitions),
            ("partitions of data", data.partitions),
        ),
        about=("dst", "data"),
    )
    yield check(
        op,
        "dst",
        fits,
        "dst free size == elements of data that are kept",
        "dst does not have one element per reduced row",
        "RED03",
        values=(("dst free size", dst.free), *values),
        about=("dst", "data"),
    )


register(
    Rule(
        id="reduce-result-shape",
        code="NKI622",
        family="vector",
        summary="the result of a reduction has the axes that are not reduced",
        reason=(
            "The reduction writes one element for each combination of the remaining free axes. A "
            "larger destination keeps old values, a smaller one cannot hold the result."
        ),
        facts=("RED03",),
        on=On.OPERATION,
        concerns=lambda i: i.reduces is not None and Trait.LANGUAGE not in i.traits,
        check=_reduce_result_shape,
        sources=("NKI ISA tensor_reduce, tile size",),
        failing=kernel(
            "group_max",
            {"x": ((128, 4, 50), "float32")},
            ((128, 1), "float32"),
            "nisa.tensor_reduce(dst=result, op=nl.maximum, data=x_tile, axis=2)",
        ),
        passing=kernel(
            "group_max",
            {"x": ((128, 4, 50), "float32")},
            ((128, 4), "float32"),
            "nisa.tensor_reduce(dst=result, op=nl.maximum, data=x_tile, axis=2)",
        ),
    )
)
