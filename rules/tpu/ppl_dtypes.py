"""Element types that the device functions of PPL compute with (catalogue, section e.2)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from rules.tpu.ppl_kit import (
    BF16,
    FIXED,
    FLOATS,
    FP8,
    FP16,
    FP32,
    INT4,
    INT8,
    INT16,
    INTS,
    SIGNED,
    UNSIGNED,
    bits,
    check,
    dtype_words,
    elementwise,
    function,
    number,
    tensors,
    tiu,
)
from verifier.dialects.names import PPL
from verifier.hardware.capabilities import Capability
from verifier.hardware.chips import Chip
from verifier.rulebase import Check, Rule, register
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool
from verifier.symbolic.tensors import View
from verifier.symbolic.trace import Operation

FLOAT_BINARY: Final = tiu("fadd fsub fmul")
INT_BINARY: Final = tiu("add sub mul")
DIVISIONS: Final = tiu("fdiv truediv")
ROOTS: Final = tiu("frsqrt fsqrt")
SFU: Final = tiu("fexp fsin_base fcos_base ftan_base farcsin_base farccos_base flog_base")
ROUNDS: Final = tiu("floor ceiling round")
BITWISE: Final = tiu("bitwise_and bitwise_or bitwise_xor")
COMPARES: Final = tiu("gt lt eq")
SELECTS: Final = tiu("gt_select lt_select eq_select")
SHIFTS: Final = tiu("shift logical_shift circular_shift")
EXTREMA: Final = tiu("maximum minimum")
SCALES: Final = tiu("fscale fbias fadd_sqr fsub_sqr")
SAME: Final = tiu("abs move")
VECTORS: Final = tiu("vc_min vc_max")

#: tan and arcsin are of float32 alone (TPU-B19)
_SINGLE: Final = tiu("ftan_base farcsin_base farccos_base")


def dtypes(op: Operation, chip: Chip) -> Iterator[Check]:
    """The checks of the row of the table that describes the function."""
    yield from _arithmetic(op, chip)
    yield from _comparisons(op)
    yield from _others(op, chip)


def _sources(op: Operation) -> list[tuple[str, View]]:
    return [(role, view) for role, view in tensors(op) if role not in ("dst", "out0", "out1")]


def _arithmetic(op: Operation, chip: Chip) -> Iterator[Check]:
    """Functions whose operands and result have one dtype."""
    name, target, sources = function(op), op.view("dst"), _sources(op)
    if name in ROOTS and not chip.has(Capability.HALF_ROOTS):
        yield from _among(op, FP32, "TPU-B18")
    if name in INT_BINARY:
        yield from _among(op, FIXED, "TPU-B02")
    if target is None:
        return
    if name in FLOAT_BINARY | DIVISIONS | ROOTS | ROUNDS:
        fp8 = chip.has(Capability.FLOAT8) and name in FLOAT_BINARY
        fact = _fact(name)
        yield from _among(op, FLOATS | FP8 if fp8 else FLOATS, fact)
        yield from _equal(op, target, sources, fact, FP8 if fp8 else frozenset())
    if name in SFU:
        yield from _among(op, FP32 if name in _SINGLE else FLOATS, "TPU-B19")
        yield from _equal(op, target, sources, "TPU-B19")
    if name in EXTREMA | SAME:
        yield from _equal(op, target, sources, "TPU-B05" if name in EXTREMA else "TPU-B09")
    if name in BITWISE | tiu("bitwise_not"):
        wanted = FIXED if name in BITWISE else INTS
        fact = "TPU-B07" if name in BITWISE else "TPU-B08"
        yield from _among(op, wanted, fact)
        yield from _same_width(op, target, sources, fact)
    if name in VECTORS:
        yield from _equal(op, target, sources, "TPU-B24")


def _comparisons(op: Operation) -> Iterator[Check]:
    """Comparisons and selections: what is compared, and what comes out."""
    name, target, sources = function(op), op.view("dst"), _sources(op)
    if name in COMPARES | SELECTS:
        yield from _not_among(op, INT4, "TPU-B12" if name in COMPARES else "TPU-B13")
        yield from _pair(op, "src0", "src1", "TPU-B12" if name in COMPARES else "TPU-B13")
    if name in COMPARES and target is not None:
        for role, view in sources[:1]:
            yield check(
                op,
                "dst",
                E.le(bits(target.dtype), bits(view.dtype)),
                f"dst is not wider than {role}",
                f"the result of `pl.{name}` is wider than its sources",
                "TPU-B12",
            )
    if name in SELECTS:
        yield from _pair(op, "src2", "src3", "TPU-B13")
        yield from _pair(op, "src2", "dst", "TPU-B13")


def _others(op: Operation, chip: Chip) -> Iterator[Check]:
    """Functions with a row of their own."""
    name, target, sources = function(op), op.view("dst"), _sources(op)
    if name in SHIFTS:
        yield from _among(op, INTS, "TPU-B11")
        yield from _shift(op, name)
    if name == "tiu.fmac":
        yield from _among(op, FLOATS if chip.has(Capability.HALF_SUMS) else FP32, "TPU-B04")
    if name == "tiu.cast":
        yield from _cast(op, target)
    if target is None:
        return
    if name == "tiu.sub_abs":
        yield from _differences(op, target, sources)
    if name == "tiu.mac":
        for role, view in sources:
            yield _one(op, role, view, INT8 | INT4, "TPU-B03")
        yield _one(op, "dst", target, INT16 | INT8, "TPU-B03")
    if name in SCALES:
        yield from _scales(op, chip, name, target, sources)
    if name == "tiu.fexp_part":
        yield from _exponents(op, target)


def _differences(op: Operation, target: View, sources: list[tuple[str, View]]) -> Iterator[Check]:
    yield from _among(op, FLOATS | INTS, "TPU-B17")
    for role, view in sources:
        yield check(
            op,
            role,
            E.or_(
                view.dtype.same(target.dtype),
                E.and_(view.dtype.among(INTS), target.dtype.among(INTS)),
            ),
            f"{role} has the dtype of dst, or both are integers",
            "`pl.tiu.sub_abs` has operands of different dtypes",
            "TPU-B17",
            views=(target,),
        )


def _scales(
    op: Operation, chip: Chip, name: str, target: View, sources: list[tuple[str, View]]
) -> Iterator[Check]:
    fp8 = FP8 if chip.has(Capability.FLOAT8_SCALES) else frozenset()
    yield from _among(op, FLOATS | fp8, _fact(name))
    for role, view in sources[:1]:
        fits = E.or_(target.dtype.same(view.dtype), target.dtype.among(FP32))
        yield check(
            op,
            "dst",
            fits,
            f"dst has the dtype of {role}, or float32",
            f"the result of `pl.{name}` is neither of the source's dtype nor float32",
            _fact(name),
        )


def _fact(name: str) -> str:
    rows = (
        (FLOAT_BINARY, "TPU-B01"),
        (DIVISIONS, "TPU-B06"),
        (ROOTS, "TPU-B18"),
        (ROUNDS, "TPU-B21"),
        (tiu("fscale fbias"), "TPU-B15"),
        (tiu("fadd_sqr fsub_sqr"), "TPU-B16"),
    )
    return next((fact for names, fact in rows if name in names), "TPU-B01")


def _one(op: Operation, role: str, view: View, wanted: frozenset[int], fact: str) -> Check:
    return check(
        op,
        role,
        view.dtype.among(wanted),
        f"{role} is {dtype_words(wanted)}",
        f"`pl.{function(op)}` does not take {role} of type {view.dtype.name or 'like that'}",
        fact,
        help=(f"it takes {dtype_words(wanted)}",),
    )


def _among(op: Operation, wanted: frozenset[int], fact: str) -> Iterator[Check]:
    for role, view in tensors(op):
        yield _one(op, role, view, wanted, fact)


def _not_among(op: Operation, refused: frozenset[int], fact: str) -> Iterator[Check]:
    for role, view in tensors(op):
        yield check(
            op,
            role,
            E.not_(view.dtype.among(refused)),
            f"{role} is not {dtype_words(refused)}",
            f"`pl.{function(op)}` does not take elements of four bits",
            fact,
        )


def _equal(
    op: Operation,
    target: View,
    sources: list[tuple[str, View]],
    fact: str,
    mixed: frozenset[int] = frozenset(),
) -> Iterator[Check]:
    """All operands of one dtype; operations with an operand among ``mixed`` are free in it."""
    free: Bool = E.or_(*(view.dtype.among(mixed) for _, view in sources)) if mixed else E.FALSE
    for role, view in sources:
        yield check(
            op,
            role,
            E.or_(view.dtype.same(target.dtype), free),
            f"{role} has the dtype of dst",
            f"`pl.{function(op)}` has operands of different dtypes: "
            f"{role} is {view.dtype.name or 'another'}, dst is {target.dtype.name or 'another'}",
            fact,
            views=(target,),
            help=("convert with `pl.tiu.cast` first",),
        )


def _same_width(
    op: Operation, target: View, sources: list[tuple[str, View]], fact: str
) -> Iterator[Check]:
    for role, view in sources:
        yield check(
            op,
            role,
            E.eq(bits(view.dtype), bits(target.dtype)),
            f"{role} is as wide as dst",
            f"`pl.{function(op)}` has operands of different widths",
            fact,
            views=(target,),
        )


def _pair(op: Operation, first: str, second: str, fact: str) -> Iterator[Check]:
    a, b = op.view(first), op.view(second)
    if a is not None and b is not None:
        yield check(
            op,
            first,
            a.dtype.same(b.dtype),
            f"{first} has the dtype of {second}",
            f"{first} and {second} of `pl.{function(op)}` have different dtypes",
            fact,
            views=(b,),
        )


def _shift(op: Operation, name: str) -> Iterator[Check]:
    source, amount, target = op.view("src"), op.view("shift"), op.view("dst")
    if amount is not None and source is not None:
        yield check(
            op,
            "shift",
            E.le(bits(amount.dtype), bits(source.dtype)),
            "shift is not wider than src",
            "the shift amounts are wider than what is shifted",
            "TPU-B11",
        )
    if name == "tiu.logical_shift":
        for role, view in (("src", source), ("dst", target)):
            if view is not None:
                yield _one(op, role, view, UNSIGNED, "TPU-B11")
    if name == "tiu.circular_shift" and source is not None and target is not None:
        yield from _same_width(op, target, [("src", source)], "TPU-B11")


def _exponents(op: Operation, target: View) -> Iterator[Check]:
    source = op.view("src")
    if source is None:
        return
    rows = ((FP32, INT32_OR_FLOAT), (FP16, SIGNED_16 | FP16), (BF16, SIGNED_16 | BF16))
    for given, wanted in rows:
        yield check(
            op,
            "dst",
            E.or_(E.not_(source.dtype.among(given)), target.dtype.among(wanted)),
            f"{dtype_words(given)} gives {dtype_words(wanted)}",
            f"the exponents of {dtype_words(given)} do not fit the result",
            "TPU-B20",
        )


INT32_OR_FLOAT: Final = (
    frozenset({code for code in SIGNED if code not in INT8 | INT16 | INT4}) | FP32
)
SIGNED_16: Final = SIGNED & INT16


def _cast(op: Operation, target: View | None) -> Iterator[Check]:
    """A conversion in place must not grow the elements."""
    source = op.view("src")
    if source is None or target is None or source.storage is not target.storage:
        return
    yield check(
        op,
        "dst",
        E.ge(bits(source.dtype), bits(target.dtype)),
        "a conversion in place does not grow the elements",
        "the conversion overwrites elements that it has not read yet",
        "TPU-B10",
    )


def iterations(op: Operation, chip: Chip) -> Iterator[Check]:
    """Steps of Newton's method are in range."""
    steps = number(op, "num_iter")
    if steps is None or not op.operands["num_iter"].given:
        return
    low, high, fact = (0, 4, "TPU-B06") if function(op) in DIVISIONS else (1, 4, "TPU-B18")
    yield check(
        op,
        "num_iter",
        E.and_(E.ge(steps, low), E.le(steps, high)),
        f"{low} <= num_iter <= {high}",
        f"`num_iter` of `pl.{function(op)}` is not between {low} and {high}",
        fact,
        values=(("num_iter", steps),),
    )


_DOUBLED: Final = elementwise("pl.tiu.fmul(b, a, 2.0)")
_ROOT: Final = elementwise("pl.tiu.frsqrt(b, a, num_iter=3)", dtype="fp32")

register(
    Rule(
        id="ppl-dtypes",
        code="PPL040",
        family=PPL,
        summary="device functions get elements that they compute with",
        reason=(
            "Arithmetic on floats and on integers are different instructions, most of which want "
            "all operands of one type; the checker that would say so exists for the models of some "
            "chips only, and not at all for BM1684X."
        ),
        facts=(
            *("TPU-B01", "TPU-B02", "TPU-B03", "TPU-B04", "TPU-B05", "TPU-B06", "TPU-B07"),
            *("TPU-B08", "TPU-B09", "TPU-B10", "TPU-B11", "TPU-B12", "TPU-B13", "TPU-B15"),
            *("TPU-B16", "TPU-B17", "TPU-B18", "TPU-B19", "TPU-B20", "TPU-B21", "TPU-B24"),
        ),
        on="operation",
        check=dtypes,
        failing=elementwise("pl.tiu.fmul(b, a, 2.0)", dtype="fp16", out="fp32"),
        passing=_DOUBLED,
        dialects=(PPL,),
    )
)

register(
    Rule(
        id="ppl-iterations",
        code="PPL041",
        family=PPL,
        summary="iterative functions take up to four steps",
        reason="The number of steps has a small field in the instruction.",
        facts=("TPU-B06", "TPU-B18"),
        on="operation",
        operations=("ppl.tiu.fdiv", "ppl.tiu.frsqrt", "ppl.tiu.fsqrt"),
        check=iterations,
        failing=_ROOT.replace("num_iter=3", "num_iter=5"),
        passing=_ROOT,
        dialects=(PPL,),
    )
)
