"""Matrix multiplication of PPL: forms, types and options per chip (catalogue, section e.4)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from rules.tpu.ppl_dtypes import types
from rules.tpu.ppl_kit import (
    FP32,
    INT32,
    PRODUCTS,
    check,
    dtype_words,
    equal,
    example,
    flag,
    function,
    having,
    implies,
    product,
)
from verifier.dialects.names import PPL
from verifier.hardware.capabilities import Capability
from verifier.hardware.chips import Chip
from verifier.rulebase import On, Rule, register
from verifier.symbolic import expr as E
from verifier.symbolic.checks import Check
from verifier.symbolic.expr import Expr
from verifier.symbolic.instruction import Trait
from verifier.symbolic.tensors import DType
from verifier.symbolic.trace import Operation


def shapes(op: Operation, chip: Chip) -> Iterator[Check]:
    """Rows, columns and the sum of left, right and result go together."""
    left, right, target = op.view("left"), op.view("right"), op.view("dst")
    yield from biases(op, chip)
    if left is None or right is None or target is None:
        return
    a, b, out = left.shape, right.shape, target.shape
    ltrans, rtrans = flag(op, "ltrans"), flag(op, "rtrans")
    if Trait.SECOND_PRODUCTS in op.traits:
        both = E.and_(ltrans, rtrans)
        m = E.ite(ltrans, a[3], a[1])
        k = E.ite(ltrans, a[1], a[3])
        k_right = E.ite(rtrans, b[3], b[1])
        n = E.ite(rtrans, b[1], b[3])
        turned = E.or_(both, flag(op, "rst_trans"))
        rows, columns = E.ite(turned, n, m), E.ite(turned, m, n)
        yield _equal(op, "right", "k of right", k_right, "k of left", k, "TPU-D10")
        yield _equal(op, "dst", "rows of dst", out[1], "rows of the product", rows, "TPU-D10")
        yield _equal(
            op, "dst", "columns of dst", out[3], "columns of the product", columns, "TPU-D10"
        )
        for role, shape in (("left", a), ("right", b), ("dst", out)):
            yield check(
                op,
                role,
                E.and_(E.eq(shape[0], 1), E.eq(shape[2], 1)),
                f"{role} is (1, rows, 1, columns)",
                f"{role} of `pl.{function(op)}` has more than one batch or row of pixels",
                "TPU-D10",
                values=((f"n of {role}", shape[0]), (f"h of {role}", shape[2])),
            )
        return
    k = E.ite(ltrans, a[0], a[1] * a[3])
    m = E.ite(ltrans, a[1] * a[3], a[0])
    yield _equal(op, "right", "rows of right", b[0], "columns of left", k, "TPU-D01")
    yield _equal(op, "dst", "rows of dst", out[0], "rows of left", m, "TPU-D01")
    yield _equal(
        op, "dst", "columns of dst", out[1] * out[3], "columns of right", b[1] * b[3], "TPU-D01"
    )


def _equal(op: Operation, role: str, what: str, a: Expr, other: str, b: Expr, fact: str) -> Check:
    views = (op.view("left"), op.view("right"))
    relation = "do not go with"
    return equal(op, role, what, a, other, b, fact, relation=relation, views=views)


def biases(op: Operation, chip: Chip) -> Iterator[Check]:
    """A bias has a number for each column of the right matrix."""
    bias, right = op.view("bias"), op.view("right")
    if bias is None or right is None:
        return
    b = right.shape
    second = Trait.SECOND_PRODUCTS in op.traits
    columns = E.ite(flag(op, "rtrans"), b[1], b[3]) if second else b[1] * b[3]
    mine = product(bias.shape)
    yield check(
        op,
        "bias",
        E.eq(mine, columns),
        "bias has a number for each column of right",
        f"the bias of `pl.{function(op)}` has not one number for each column",
        "TPU-D02",
        values=(("elements of bias", mine), ("columns of right", columns)),
        views=(right,),
        exact=False,
        reason="which shapes a bias may have is not documented",
    )


def forms(op: Operation, chip: Chip) -> Iterator[Check]:
    """Transposition, accumulation and other options that the chip has."""
    name = function(op)
    if Trait.SECOND_PRODUCTS not in op.traits:
        return
    ltrans, rtrans = flag(op, "ltrans"), flag(op, "rtrans")
    yield check(
        op,
        "ltrans",
        implies(ltrans, rtrans),
        "ltrans only with rtrans",
        f"`pl.{name}` cannot transpose the left matrix alone",
        "TPU-D12",
    )
    yield from _sums(op)
    if chip.has(Capability.PRODUCT_OPTIONS):
        return
    yield check(
        op,
        "result_add",
        implies(flag(op, "result_add"), E.not_(rtrans)),
        "result_add without rtrans",
        f"{chip.name} cannot add to the result with a transposed right matrix",
        "TPU-D15",
    )
    for option in ("do_relu", "do_rq", "saturate"):
        if option in op.operands:
            yield check(
                op,
                option,
                E.not_(flag(op, option)),
                f"no {option}",
                f"`pl.{name}` on {chip.name} has no {option}",
                "TPU-D16",
            )
    yield check(
        op,
        "bias",
        E.truth(op.view("bias") is None),
        "no bias",
        f"`pl.{name}` on {chip.name} has no bias",
        "TPU-D16",
    )


def _sums(op: Operation) -> Iterator[Check]:
    """What is added to is of the wide type, as the call states it and as it is."""
    name = function(op)
    adds = flag(op, "result_add")
    target = op.view("dst")
    if target is not None:
        wanted = INT32 if Trait.INTEGERS in op.traits else FP32
        yield check(
            op,
            "result_add",
            implies(adds, target.dtype.among(wanted)),
            f"result_add with {dtype_words(wanted)}",
            f"`pl.{name}` adds to a result of {dtype_words(wanted)} only",
            "TPU-D15",
            views=(target,),
        )
        stated = op.value("out_dtype")
        if isinstance(stated, DType):
            yield check(
                op,
                "out_dtype",
                implies(adds, stated.among(wanted)),
                f"result_add with out_dtype of {dtype_words(wanted)}",
                f"`pl.{name}` adds to a result of {dtype_words(wanted)} only",
                "TPU-D15",
                views=(target,),
            )


def element_types(op: Operation, chip: Chip) -> Iterator[Check]:
    """Types of the operands; the type of results that a call states is that of its result."""
    yield from types(op, chip)
    target, stated = op.view("dst"), op.value("out_dtype")
    if target is not None and isinstance(stated, DType):
        yield check(
            op,
            "out_dtype",
            target.dtype.same(stated),
            "out_dtype is the type of dst",
            f"`pl.{function(op)}` is asked for results of another type than its result has",
            "TPU-D14",
            views=(target,),
            severity="warning",
        )


_PRODUCT: Final = example(
    """
lefts = pl.gtensor([1, rows, 1, 60], pl.GLOBAL, left_ptr)
rights = pl.gtensor([1, 60, 1, 48], pl.GLOBAL, right_ptr)
target = pl.gtensor([1, rows, 1, 48], pl.GLOBAL, out_ptr)
a = pl.make_tensor([1, rows, 1, 60], pl.float16)
b = pl.make_tensor([1, 60, 1, 48], pl.float16)
c = pl.make_tensor([1, rows, 1, 48], pl.float32)
pl.dma.load(a, lefts)
pl.dma.load(b, rights)
pl.tiu.zero(c)
pl.tiu.fmm2(c, a, b, result_add=True, out_dtype=pl.float32)
pl.dma.store(target, c)
""",
    "out_ptr, left_ptr, right_ptr, rows: pl.constexpr",
    "rows: 1..64, out_ptr: fp32[1, rows, 1, 48], left_ptr: fp16[1, rows, 1, 60], "
    "right_ptr: fp16[1, 60, 1, 48]",
)

for _id, _code, _summary, _reason, _facts, _check, _failing in (
    (
        "ppl-matmul-shape",
        "PPL060",
        "rows and columns of a matrix product go together",
        "The instruction takes rows along c and columns along w and does not compare the three "
        "shapes; what does not fit is computed from other data.",
        ("TPU-D01", "TPU-D10"),
        shapes,
        _PRODUCT.replace("pl.tiu.fmm2(c, a, b,", "pl.tiu.fmm2(c, a, b, rtrans=True,"),
    ),
    (
        "ppl-matmul-form",
        "PPL061",
        "the chip has the form of matrix product that is asked for",
        "The left matrix is transposed only together with the right one; sums go into the wide "
        "type; BM1684X has neither bias nor relu, and no sums with a transposed right matrix.",
        ("TPU-D12", "TPU-D15", "TPU-D16"),
        forms,
        _PRODUCT.replace("[1, rows, 1, 48], pl.float32", "[1, rows, 1, 48], pl.float16").replace(
            "fp32[1, rows", "fp16[1, rows"
        ),
    ),
    (
        "ppl-matmul-dtypes",
        "PPL062",
        "the chip multiplies matrices of these types",
        "BM1684X multiplies float16 and bfloat16 with its second matrix instruction, float32 with "
        "the first one only; eight-bit floats exist from BM1690 on.",
        ("TPU-D04", "TPU-D14", "TPU-D17"),
        element_types,
        _PRODUCT.replace("pl.float16", "pl.float32").replace("fp16[", "fp32["),
    ),
):
    register(
        Rule(
            id=_id,
            code=_code,
            family=PPL,
            summary=_summary,
            reason=_reason,
            facts=_facts,
            on=On.OPERATION,
            concerns=having(*PRODUCTS),
            check=_check,
            failing=_failing,
            passing=_PRODUCT,
            dialects=(PPL,),
        )
    )
