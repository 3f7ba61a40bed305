"""Quantisation to packed elements with scales."""

from __future__ import annotations

from collections.abc import Iterator

from rules.nki import kinds, kit
from rules.nki.kit import check, register
from rules.nki.matmul.mx import scales_fit
from rules.nki.samples import kernel
from verifier.hardware import dtypes as dt
from verifier.hardware.targets import Target
from verifier.rulebase import On, Rule
from verifier.symbolic import expr as E
from verifier.symbolic.checks import Check
from verifier.symbolic.instruction import Trait
from verifier.symbolic.trace import Operation


def _quantize_shape(op: Operation, target: Target) -> Iterator[Check]:
    src, dst, scale = op.view("src"), op.view("dst"), op.view("dst_scale")
    if src is None:
        return
    yield check(
        op,
        "src",
        E.and_(
            kit.divisible(src.partitions, target.quadrant),
            E.le(src.partitions, target.partitions),
            kit.divisible(src.free, dt.PACK),
        ),
        f"partitions of src are a multiple of {target.quadrant} and src free size of {dt.PACK}",
        "src does not consist of whole scaling groups",
        "QMX03",
        values=(("partitions of src", src.partitions), ("src free size", src.free)),
    )
    if dst is not None:
        yield check(
            op,
            "dst",
            E.and_(E.eq(dst.partitions, src.partitions), E.eq(dst.free * dt.PACK, src.free)),
            "partitions of dst == partitions of src and "
            f"dst free size == src free size / {dt.PACK}",
            "dst does not have one packed element for four of src",
            "QMX04",
            values=(
                ("partitions of dst", dst.partitions),
                ("dst free size", dst.free),
                ("partitions of src", src.partitions),
                ("src free size", src.free),
            ),
            about=("dst", "src"),
        )
    if scale is not None:
        yield check(
            op,
            "dst_scale",
            E.and_(E.eq(scale.free * dt.PACK, src.free), scales_fit(scale, src, target)),
            "dst_scale has a quarter of the src free size and reaches into its last quadrant",
            "dst_scale does not match src",
            "QMX05",
            values=(
                ("partitions of dst_scale", scale.partitions),
                ("dst_scale free size", scale.free),
                ("partitions of src", src.partitions),
                ("src free size", src.free),
            ),
            about=("dst_scale", "src"),
        )


_QUANTIZE = """\
nisa.memset(dst=scale, value=0)
data = nl.ndarray(({p}, {q}), dtype=nl.float8_e4m3fn_x4, buffer=nl.sbuf)
nisa.quantize_mx(dst=data, src=x_tile, dst_scale=scale)
"""


register(
    Rule(
        id="quantize-shape",
        code="NKI626",
        family="vector",
        summary="MX quantisation reads whole groups and writes one scale per group",
        reason=(
            "A group is eight partitions of four elements: the source fills quadrants of 32 "
            "partitions, four elements become one packed element, and every group gets a scale."
        ),
        facts=("QMX03", "QMX04", "QMX05", "P15"),
        on=On.OPERATION,
        concerns=kinds.with_traits(Trait.QUANTISES),
        check=_quantize_shape,
        sources=("NKI ISA quantize_mx, tile size",),
        failing=kernel(
            "quantize",
            {"x": ((48, 256), "bfloat16")},
            ((48, 64), "uint8"),
            _QUANTIZE.format(p=48, q=64),
            target="trn3",
            into="scale",
        ),
        passing=kernel(
            "quantize",
            {"x": ((64, 256), "bfloat16")},
            ((64, 64), "uint8"),
            _QUANTIZE.format(p=64, q=64),
            target="trn3",
            into="scale",
        ),
    )
)
